# SPDX-License-Identifier: BSD-3-Clause
#
# Every system writes the same bytes whatever the number of threads and the
# memory for K are, and by AVX2 those by AVX-512, where the processor has it:
# models, and the answers of a validation. Both sets have more examples than a
# tile has rows, and of the memories one holds all tiles, one none, one some.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;
use Judge;

my $dir = scratch();
my $three = put("$dir/three",
    clusters(seed => 3, labels => [ 1, 2, 3 ], n => 300, d => 4));

my @systems = (
    '-s klr', '-s klr -t 0 --no-bias', '-s klr -a smo', '-s klr -a smo1',
    '-s klr -a trirls', '-s klr --regularizer coef',
    '-s klr --regularizer coef -a cg', '-s klr -c 0.1,10',
    '-s sklr -c 10', '-s sklr -a smo -c 10', '-s svm', '-s svm -b 1',
    '-s kfd', '-s kfd --regularizer coef', '-s kfd -a greedy',
    '-s kfd -a greedy --regularizer kernel --candidates 0 --max-basis 20',
    '-s kfd -a greedy --candidates 0 --max-basis 20',
    '-s ivm --max-basis 20', '-s lhalf -c 0.1,1',
    '-s klr --basis 60 -c 1,10',
);
my @several = (
    '-s klr', '-s klr --multiclass ova', '-s svm --multiclass ddag',
    '-s sklr --multiclass ova', '-s kfd --multiclass ova',
    '-s kfd -a greedy --multiclass ova', '-s ivm --max-basis 9',
    '-s kfd -a greedy --multiclass ova --candidates 0 --max-basis 20',
    '-s lhalf --multiclass ova', '-s svm -b 1', '-s kfd', '-s lhalf',
    '-s klr --regularizer coef -c 1,10', '-s sklr -c 10',
    '-s klr --basis 20 --multiclass ova',
);
# An ivm wants 1 MB for its own.
my @ways = ([ 1, 50 ], [ 2, 0.02 ], [ 3, 0.6 ], [ 2, 50, 'avx2' ]);

# All files that a training leaves in a new folder.
sub bytes
{
    my ($options, $data, $threads, $memory, $cpu) = @_;
    my $folder = scratch();
    $memory = 1 if $options =~ /-s ivm/ && $memory < 1;
    my $run = run([ qw(klr-train -q), split(' ', $options), -j => $threads,
            -m => $memory, $data, "$folder/model" ],
        env => { KLR_CPU => $cpu // '' });
    is($run->{exit}, 0, "$options -j $threads -m $memory")
        or diag($run->{err});
    return join '', $run->{out}, map { get($_) } sort glob "$folder/*";
}

sub same
{
    my ($options, $data) = @_;
    my ($first, @rest) = map { bytes($options, $data, @$_) } @ways;
    cmp_ok(length $first, '>', 100, "$options: there is something to compare");
    ok(!(grep { $_ ne $first } @rest), "$options: the same bytes");
}

same($_, 'heart_scale') for @systems;
same($_, $three) for @several;
same('-v 2 -s kfd -g 0.05,0.2 -c 1,10', $three);
same('-v 3 -s sklr --link sigma -g 0.05,0.1 -l 0,1 -c 10', 'heart_scale');

# Threads have a pair each of many classes; what is counted does not tell.
my $six = put("$dir/six",
    clusters(seed => 6, labels => [ 1 .. 6 ], n => 900, d => 4));
for my $options ('-s klr -c 1,1000', '-s sklr -c 10', '-s svm -b 1', '-s kfd',
    '-v 3 -s klr')
{
    my @said = map {
        my $run = run([ qw(klr-train -q --json -m 20 -j),
            $_, split(' ', $options), $six, "$dir/model" ]);
        $run->{out} =~ s/"seconds": \{.*?\}//gr;
    } 1, 2, 3, 8;
    like($said[0], qr/"kernel_evals": [1-9]/, "six classes, $options: counts");
    is($said[$_], $said[0], "six classes, $options: the same") for 1 .. 3;
}

# Greedy models that the memory ends, not in proportion to threads.
@ways = ([ 1, 1 ], [ 3, 1 ]);
same('-v 2 -s ivm -e 1e-15 -c 100 -g 0.5,2', 'heart_scale');

done_testing();
