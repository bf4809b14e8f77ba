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

# Each run of a case works in a folder of its own, empty at first but for `old`.
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
        "$dir/two", 'old' ],
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

# What run `number` left in the folder `all`: out, err, and its files, beside
# what is known of it.
sub left
{
    my ($all, $number, %run) = @_;
    $run{$_} = get("$all/$number.$_") for qw(out err);
    $run{out} =~ s/"seconds": \{.*?\}//g; # these differ from run to run
    my $names = "$all/$number/";
    $run{files} =
        join '|', map { substr($_, length $names) . '=' . get($_) }
        sort glob("$names\{,.}*[a-z]*");
    return \%run;
}

# The runs of a command: the sound one, then those whose allocation number 1, 2
# ... fails. Each has exit, allocations, failed, live, out, err, files.
sub runs_of
{
    my ($command, %env) = @_;
    my $all = File::Temp->newdir(DIR => $dir);
    my $run = run($command,
        env => {
            LD_PRELOAD => $library,
            FAILALLOC_EACH => "$all",
            KLR_THREADS => 2, %env
        });
    die "$run->{exit}: $run->{err}" if $run->{exit};
    my $number = 0;
    my @runs;
    for my $line (split /\n/, get("$all/runs")) {
        my %run;
        @run{qw(exit allocations failed live)} = split / /, $line;
        push @runs, left($all, $number++, %run);
    }
    return @runs;
}

# Why a run whose allocation failed, one that may be spared or not, is not as it
# should be, or ''.
sub wrong
{
    my ($run, $sound, $spared) = @_;
    return "did not end by itself: $run->{exit}" if $run->{exit} < 0;
    return "$run->{live} blocks not freed" if $run->{live};
    return '' if $spared && $run->{exit} == 0 && $run->{out} eq $sound->{out}
        && $run->{files} eq $sound->{files};
    return "exit $run->{exit}: $run->{err}" if $run->{exit} != 1;
    my $said = $run->{err} =~ s/^klr-[a-z]+: warning: .*\n//mgr;
    return "says: $run->{err}" unless $said =~
        /\A[^\n]*(out of memory|Cannot allocate)[^\n]*\n\z/i;
    my %whole = map { $_ => 1 } "old=old\n", split /\|/, $sound->{files};
    my @files = split /\|/, $run->{files};
    return "files: $run->{files}" if grep { !$whole{$_} } @files
        or !grep {/^old=/} @files;
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
        my ($sound, @runs) = runs_of($case{$name}, %{ $how{env} });
        is($sound->{exit}, 0, "$name: runs") or diag($sound->{err});
        is($sound->{live}, 0, "$name: everything is freed");
        cmp_ok($sound->{allocations}, '>=', $how{least},
            "$name: allocations are counted");
        is(@runs, $sound->{allocations}, "$name: each of them has a run");
        $total += @runs;
        my $may = $how{spared} || $spares{$name};
        my @why = map { wrong($_, $sound, $may) } @runs;
        my @bad = map { $_ + 1 . ": $why[$_]" } grep { $why[$_] } 0 .. $#why;
        ok(!@bad, "$name: each of " . @runs . ' allocations fails')
            or diag(join "\n", splice @bad, 0, 20);
        ok((grep { $_->{exit} == 0 } @runs) > 0, "$name: not all are missed")
            if $spares{$name} && !%{ $how{env} };
    }
    return $total;
}

1;
