# SPDX-License-Identifier: BSD-3-Clause
#
# Runs whose allocations fail, for once.t, ever.t and libc.t. A run whose
# allocation failed must end with exit status 1 and one line that says so, leave
# no block behind, and each file as it was or as a sound run leaves it.
package Allocations;
use strict;
use warnings;
use Exporter 'import';
use Test::More;
use KLR;
use Judge;

our @EXPORT = qw(allocations_fail);

my $library = preload('failalloc.so');
my $dir = scratch();

# A preload library and a sanitizer's own allocator do not go together.
plan skip_all => 'no failalloc.so' unless $library;

put("$dir/two", clusters(seed => 6, labels => [ 1, -1 ], n => 30, d => 3));
put("$dir/more", clusters(seed => 9, labels => [ 1, -1 ], n => 400, d => 2));
put("$dir/three", clusters(seed => 7, labels => [ 1, 2, 3 ], n => 36, d => 3));
# Examples of three classes take turns: each fold has all of them.
put("$dir/words", join '', map { my $i = $_;
    (1, -1)[ $i % 2 ] . join('', map { ' ' . (40 * $_ + $i * $_ % 37) . ':1' }
        1 .. 5) . "\n" } 1 .. 40);
put("$dir/repeated", join '', map { (1, -1)[ $_ % 2 ] . ' 1:' . $_ % 6 . "\n" }
    1 .. 30);
put("$dir/folds", join '', map { int($_ / 3) % 3 . "\n" } 0 .. 35);
put("$dir/weights", join '', map { 1 + $_ % 4 . "\n" } 1 .. 36);
put("$dir/points", join '', map { 3 * $_ . "\n" . (3 * $_ - 1) . "\n" }
    1 .. 12);
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
die 'pairs' if run([ qw(klr-train -q --log), "$dir/pairs", "$dir/three",
        "$dir/of_pairs" ])->{exit};
die 'klr-scale' if run([ 'klr-scale', '-s', "$dir/range", "$dir/two" ])->{exit};

# Each case works in the folder $dir/out, empty at first but for `old`.
my %case = (
    'klr, two classes' => [ 'klr-train', '-q', '-s', 'klr', "$dir/two", 'old' ],
    'svm, three classes' => [ 'klr-train', '-q', '-s', 'svm', '-w2', 2,
        "$dir/three", 'old' ],
    'warnings in JSON' =>
        [ qw(klr-train -q --json --max-iter 1 -c), '1,2', "$dir/two", 'old' ],
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
    'svm with another regularizer' => [ qw(klr-train -q -s svm),
        qw(--regularizer coef -t exponential -g 0.1), "$dir/two", 'old' ],
    'given points' => [ qw(klr-train -q -s kfd --points), "$dir/points",
        "$dir/three", 'old' ],
    'given import points' => [ qw(klr-train -q -s ivm --points), "$dir/points",
        "$dir/three", 'old' ],
    'the sparsest' => [ qw(klr-train -q -s svm -v 2 --sparsest 2 -c),
        '0.1,1', "$dir/two", 'old' ],
    'the best of a path' =>
        [ 'klr-train', '-q', -v => 2, -c => '0.1,1', "$dir/two", 'old' ],
    'with scaling and weights' => [ qw(klr-train -q --scale standard --balance),
        '--weights', "$dir/weights", "$dir/three", 'old' ],
    'predict, scaled' => [ 'klr-predict', "$dir/three", "$dir/scaled.three",
        'old' ],
    'names' => [ qw(klr-train -q --string-labels -wclass2 2), '--feature-names',
        put("$dir/features", join '', map {"f$_\n"} 1 .. 60), "$dir/names",
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
    'klr of words' => [ qw(klr-train -q -t linear), "$dir/words", 'old' ],
    'svm of words' =>
        [ qw(klr-train -q -s svm -t linear --keep-sv), "$dir/words", 'old' ],
    'examples that repeat each other' =>
        [ qw(klr-train -q), "$dir/repeated", 'old' ],
    'klr on a basis' =>
        [ qw(klr-train -q --basis 40 -c), '0.1,1', "$dir/three", 'old' ],
    'klr on a basis that finds its size' =>
        [ qw(klr-train -q -g 9 --basis auto), "$dir/more", 'old' ],
    'leave-one-out on a basis' =>
        [ qw(klr-train -q --basis 9 --loo --cv-out loo), "$dir/three" ],
    'a softmax on a basis' => [ qw(klr-train -q --multiclass softmax --basis),
        40, "$dir/three", 'old' ],
    'leave-one-out of a softmax on a basis' => [ qw(klr-train -q --loo),
        qw(--multiclass softmax --basis 9), "$dir/three" ],
    'sklr on a basis' => [ qw(klr-train -q -s sklr -c 9 --basis 9),
        "$dir/three", 'old' ],
    'a softmax on a basis that finds its size' => [ qw(klr-train -q),
        qw(--multiclass softmax --basis auto), "$dir/three", 'old' ],
    'a basis of one against the rest' => [ qw(klr-train -q --basis 9),
        qw(--multiclass ova), "$dir/three", 'old' ],
    'a smaller klr' => [ qw(klr-train -q --basis 9 --from), "$dir/klr.three",
        "$dir/three", 'old' ],
    'a smaller svm' => [ qw(klr-train -q --basis 5 --from), "$dir/svm.three",
        "$dir/three", 'old' ],
    'pairs of a log' => [ qw(klr-train -q --resume --log), "$dir/pairs",
        "$dir/three", 'old' ],
    'a kernel that may be indefinite' => [ qw(klr-train -q -t sigmoid -r -2),
        "$dir/two", 'old' ],
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

# These do without kept kernel entries that they cannot have.
my %spares = map { $_ => 1 } 'kfd, greedy, of all kernels', 'klr on a basis',
    'klr on a basis that finds its size', 'leave-one-out on a basis',
    'a basis of one against the rest', 'a softmax on a basis',
    'a softmax on a basis that finds its size', 'a smaller klr',
    'leave-one-out of a softmax on a basis', 'sklr on a basis',
    'a smaller svm';

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
            LD_PRELOAD => $library,
            FAILALLOC_REPORT => "$dir/report",
            KLR_THREADS => 2, %fail
        });
    my $report = -e "$dir/report" ? get("$dir/report") : '';
    @$run{qw(allocations failed live)} =
        $report =~ /^allocations (\d+) failed (\d+) live (\d+)$/;
    $run->{out} =~ s/"seconds": \{.*?\}//g; # these differ from run to run
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
    my $said = $run->{err} =~ s/^klr-[a-z]+: warning: .*\n//mgr;
    return "says: $run->{err}" unless $said =~
        /\A[^\n]*(out of memory|Cannot allocate)[^\n]*\n\z/i;
    my %whole = map { $_ => 1 } "$dir/out/old=old\n",
        split /\|/, $sound->{files};
    my @files = split /\|/, $run->{files};
    return "files: $run->{files}" if grep { !$whole{$_} } @files
        or !grep { m{/old=} } @files;
    return '';
}

# Every allocation of every case, of which each has `least` at least, fails,
# number N for every N. `env` goes to every run. Where a failure may be
# `spared`, success with the right output is as good. $KLR_CASES is a
# regular expression of the cases to run. Returns how many allocations there are.
sub allocations_fail
{
    my (%how) = @_;
    my $total = 0;
    my $some = $ENV{KLR_CASES} // '';
    for my $name (sort grep {/$some/} keys %case) {
        my $command = $case{$name};
        my $sound = attempt($command);
        is($sound->{exit}, 0, "$name: runs") or diag($sound->{err});
        is($sound->{live}, 0, "$name: everything is freed");
        my $count = attempt($command, %{ $how{env} })->{allocations} // 0;
        cmp_ok($count, '>=', $how{least}, "$name: allocations are counted");
        $total += $count;
        my ($spared, @bad) = (0);
        for my $at (1 .. $count) {
            my $run =
                attempt($command, FAILALLOC_AT => $at, %{ $how{env} });
            my $why = wrong($run, $sound, $how{spared} || $spares{$name});
            $spared ||= $run->{exit} == 0;
            push @bad, "$at: $why" if $why;
        }
        ok(!@bad, "$name: each of $count allocations fails")
            or diag(join "\n", splice @bad, 0, 20);
        ok($spared, "$name: not all are missed")
            if $spares{$name} && !%{ $how{env} };
    }
    return $total;
}

1;
