# SPDX-License-Identifier: BSD-3-Clause
#
# Programs for 64-bit ARM write the bytes that those for this processor do, if
# this one adds products that are not rounded: models, answers of a validation
# and predictions. Run by `make check-arm64`; $KLR_CROSS is their folder.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;
use Judge;

my $folder = $ENV{KLR_CROSS} // die "KLR_CROSS is not set\n";
my $emulator = peer('qemu-aarch64');
plan skip_all => 'qemu-aarch64 is not installed' unless $emulator;
my $processor = -e '/proc/cpuinfo' ? get('/proc/cpuinfo') : '';
plan skip_all => 'this processor rounds products'
    unless $processor =~ /^flags.* fma .* avx2 /m;

my $dir = scratch();
my $three = put("$dir/three",
    clusters(seed => 3, labels => [ 1, 2, 3 ], n => 150, d => 4));

# What two runs of klr-train and klr-predict leave.
sub written
{
    my ($program, $options, $data) = @_;
    my @runs = (
        run([ $program->('klr-train'), '-q', split(' ', $options), $data,
            "$dir/model" ]),
        run([ $program->('klr-predict'), '-q', $data, "$dir/model",
            "$dir/answers" ])
    );
    is($_->{exit}, 0, $options) or diag($_->{err}) for @runs;
    return join '', (map { $_->{out} } @runs),
        map { get("$dir/$_") } qw(model answers);
}

sub native { return $_[0] }
sub emulated { return ($emulator, "$folder/$_[0]") }

for my $case (
    (map { [ $_, 'heart_scale' ] }
        '-s klr', '-s klr -c 1e4 -g 1', '-s klr -t 0', '-s klr -t 1 -r 1',
        '-s klr -t 5', '-s klr -a smo', '-s klr -a trirls', '-s klr --basis 30',
        '-s klr --regularizer coef', '-s sklr', '-s svm -b 1',
        '-s svm -t 3 -r -1', '-s kfd', '-s kfd -a greedy', '-s ivm',
        '-s lhalf', '--scale standard',
        '-v 3 -g 0.1,1 -c 1,10'),
    (map { [ $_, $three ] } '-s klr', '--multiclass softmax',
        '-s svm -b 1 --multiclass ddag', '--multiclass softmax --basis 20')
) {
    my ($options, $data) = @$case;
    my ($here, $there) = map { written($_, $options, $data) }
        \&native, \&emulated;
    cmp_ok(length $here, '>', 100, "$options: there is something to compare");
    is($there eq $here ? 'same' : 'differ', 'same', "$options: the same bytes");
}
done_testing();
