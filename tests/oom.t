# SPDX-License-Identifier: BSD-3-Clause
#
# Every allocation of a run fails: number N alone, then N and all after it, for
# every N. The run must end with exit status 1 and one line that says so, leave
# no block behind, and each file as it was or as a sound run leaves it. Run by
# `make check-oom`.
#
# Allocations are the programs' own. A second round counts those of libc too
# (buffers of stdio): there a failure need not matter, so success with the right
# output is as good.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;
use Judge;

my $library = tool('failalloc.so');
my $dir = scratch();

# A preload library and a sanitizer's own allocator do not go together.
plan skip_all => "no $library" unless -e $library;

put("$dir/two", clusters(seed => 6, labels => [ 1, -1 ], n => 30, d => 3));
put("$dir/three", clusters(seed => 7, labels => [ 1, 2, 3 ], n => 36, d => 3));
put("$dir/folds", join '', map { $_ % 3 . "\n" } 1 .. 36);
put("$dir/weights", join '', map { 1 + $_ % 4 . "\n" } 1 .. 36);
put("$dir/names", get("$dir/three") =~ s/^(?=\d)/class/mgr);
put("$dir/broken", get("$dir/two") . "1 1:x\n");
for my $case ([ 'klr', 'two' ], [ 'svm', 'three' ], [ 'klr', 'three' ]) {
    my ($model, $data) = @$case;
    my $run = run([ 'klr-train', '-q', '-s', $model, "$dir/$data",
            "$dir/$model.$data" ]);
    die $run->{err} if $run->{exit};
}
die 'scaled' if run([ qw(klr-train -q --scale minmax), "$dir/three",
        "$dir/scaled.three" ])->{exit};
die 'names' if run([ qw(klr-train -q --string-labels), "$dir/names",
        "$dir/named" ])->{exit};
die 'klr-scale' if run([ 'klr-scale', '-s', "$dir/range", "$dir/two" ])->{exit};

# Each case works in the folder $dir/out, empty at first but for `old`.
my %case = (
    'klr, two classes' => [ 'klr-train', '-q', '-s', 'klr', "$dir/two", 'old' ],
    'svm, three classes' => [ 'klr-train', '-q', '-s', 'svm', '-w2', 2,
        "$dir/three", 'old' ],
    'report' => [ 'klr-train', '-q', '-h', 0, '--json', '-s', 'svm',
        '--sv-indices', "$dir/three", 'old' ],
    'validation' => [ 'klr-train', '-q', '-s', 'klr', '-v', 3, "$dir/three" ],
    'validation by folds of a file' => [ qw(klr-train -q --cv-out old),
        '--folds-file', "$dir/folds", "$dir/three" ],
    'sklr without bias' =>
        [ 'klr-train', '-q', qw(-s sklr --no-bias), "$dir/two", 'old' ],
    'leave-one-out' => [ qw(klr-train -q --loo --cv-out loo), "$dir/three" ],
    'softmax' =>
        [ qw(klr-train -q --multiclass softmax), "$dir/three", 'old' ],
    'path' => [ 'klr-train', '-q', -c => '0.1,1', "$dir/two", 'old' ],
    'the best of a path' =>
        [ 'klr-train', '-q', -v => 2, -c => '0.1,1', "$dir/two", 'old' ],
    'with scaling and weights' => [ qw(klr-train -q --scale standard --balance),
        '--weights', "$dir/weights", "$dir/three", 'old' ],
    'predict, scaled' => [ 'klr-predict', "$dir/three", "$dir/scaled.three",
        'old' ],
    'names' => [ qw(klr-train -q --string-labels -wclass2 2), "$dir/names",
        'old' ],
    'validation of names' => [ qw(klr-train -q --string-labels -v 3 --cv-out
            old), "$dir/names" ],
    'predict names' => [ 'klr-predict', '--json', "$dir/names", "$dir/named",
        'old' ],
    'a grid' => [ qw(klr-train -q -v 2 --cv-out old), -g => '0.1,1',
        -c => '0.1,1', "$dir/two" ],
    'kfd, each against the rest' =>
        [ qw(klr-train -q -s kfd --multiclass ova), "$dir/three", 'old' ],
    'kfd, regularizer coef, threshold' => [ qw(klr-train -q -s kfd),
        qw(--regularizer coef --threshold svm), "$dir/two", 'old' ],
    'kfd, greedy' => [ qw(klr-train -q -s kfd -a greedy --max-basis 5),
        qw(--candidates 9), "$dir/two", 'old' ],
    'kfd, greedy, of all kernels' => [ qw(klr-train -q -s kfd -a greedy),
        qw(--max-basis 5 --calibrate holdout), "$dir/two", 'old' ],
    'ivm' => [ qw(klr-train -q -s ivm --max-basis 5), "$dir/two", 'old' ],
    'lhalf' => [ qw(klr-train -q -s lhalf), -c => '0.1,1', "$dir/two", 'old' ],
    'trirls' => [ qw(klr-train -q -a trirls), "$dir/two", 'old' ],
    'klr, regularizer coef' =>
        [ qw(klr-train -q --regularizer coef), "$dir/two", 'old' ],
    'klr by cg' =>
        [ qw(klr-train -q --regularizer coef -a cg), "$dir/two", 'old' ],
    'svm with probabilities, scaled' => [ qw(klr-train -q -s svm -b 1),
        qw(--scale minmax), "$dir/two", 'old' ],
    'check of the kernel' => [ qw(klr-train -q --check-kernel), "$dir/two" ],
    'predict probabilities' =>
        [ 'klr-predict', "$dir/three", "$dir/klr.three", 'old' ],
    'predict labels' =>
        [ 'klr-predict', "$dir/three", "$dir/svm.three", 'old' ],
    'predict, two classes' =>
        [ 'klr-predict', '-b', 1, "$dir/two", "$dir/klr.two", 'old' ],
    'scale' => [ 'klr-scale', '-l', 0, '-s', 'old', "$dir/two" ],
    'restore' => [ 'klr-scale', '-r', "$dir/range", "$dir/two" ],
    'standardize' => [ 'klr-scale', '--standardize', "$dir/two" ],
);

# These do without tiles that they cannot have.
my %spares = ('kfd, greedy, of all kernels' => 1);

# One run in a fresh folder: exit, out, err, the counts, and what is there
# after.
sub attempt
{
    my ($command, %fail) = @_;
    my $folder = "$dir/out";
    mkdir $folder;
    put("$folder/old", "old\n");
    my $path = bin($command->[0]);
    my $cwd = POSIX::getcwd();
    $path = "$cwd/$path" unless $path =~ m{^/};
    my $run = run([ $path, @$command[ 1 .. $#$command ] ],
        cwd => $folder,
        env => {
            LD_PRELOAD => $library =~ m{^/} ? $library : "$cwd/$library",
            FAILALLOC_REPORT => "$dir/report",
            KLR_THREADS => 2, %fail
        });
    my $report = -e "$dir/report" ? get("$dir/report") : '';
    @$run{qw(allocations failed live)} =
        $report =~ /^allocations (\d+) failed (\d+) live (\d+)$/;
    $run->{out} =~ s/"seconds": \{.*?\}//; # these differ from run to run
    my @files = glob("$folder/{,.}*[a-z]*");
    $run->{files} = join '|', map { "$_=" . get($_) } sort @files;
    unlink "$dir/report", @files;
    rmdir $folder or die "$folder: $!";
    return $run;
}

# Why a run whose allocation failed, one that may be spared or not, is not as it
# should be, or ''.
sub wrong
{
    my ($run, $sound, $spared) = @_;
    return 'did not end by itself' unless defined $run->{live};
    return "$run->{live} blocks not freed" if $run->{live};
    return '' if $spared && $run->{exit} == 0 && $run->{out} eq $sound->{out}
        && $run->{files} eq $sound->{files};
    return "exit $run->{exit}: $run->{err}" if $run->{exit} != 1;
    return "says: $run->{err}" unless $run->{err} =~
        /\A[^\n]*(out of memory|Cannot allocate)[^\n]*\n\z/i;
    my %whole = map { $_ => 1 } "$dir/out/old=old\n",
        split /\|/, $sound->{files};
    my @files = split /\|/, $run->{files};
    return "files: $run->{files}" if grep { !$whole{$_} } @files
        or !grep { m{/old=} } @files;
    return '';
}

for my $name (sort keys %case) {
    my $command = $case{$name};
    my $sound = attempt($command);
    is($sound->{exit}, 0, "$name: runs") or diag($sound->{err});
    is($sound->{live}, 0, "$name: everything is freed");
    cmp_ok($sound->{allocations} // 0, '>', 3,
        "$name: allocations are counted");
    for my $all (0, 1) {
        my @fail = $all ? (FAILALLOC_ALL => 1) : ();
        my $count = attempt($command, @fail)->{allocations} // 0;
        my ($spared, @bad) = (0);
        for my $at (1 .. $count) {
            for my $ever ([], [ FAILALLOC_EVER => 1 ]) {
                my $run = attempt($command, FAILALLOC_AT => $at, @$ever, @fail);
                my $why = wrong($run, $sound, $all || $spares{$name});
                $spared ||= $run->{exit} == 0;
                push @bad, "$at" . (@$ever ? ' on: ' : ': ') . $why if $why;
            }
        }
        my $who = $all ? ' of libc too' : '';
        ok(!@bad, "$name: $count allocations$who fail, once and for ever")
            or diag(join "\n", splice @bad, 0, 20);
        ok($spared, "$name: not all are missed") if !$all && $spares{$name};
    }
}

done_testing();
