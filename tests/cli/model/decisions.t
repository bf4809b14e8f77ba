# SPDX-License-Identifier: BSD-3-Clause
#
# Decisions at a threshold and at a cost, and the thresholds that a validation
# tells, against what a loop over all of them finds.
use strict;
use warnings;
use lib 'tests/cli/lib';
use List::Util qw(max min sum);
use Test::More;
use KLR;

my $dir = scratch();
my $model = "$dir/model";
run([ qw(klr-train -q -g 0.05 heart_scale), $model ]);

sub predict { return run([ 'klr-predict', @_ ]) }
sub rows { return map { [split] } grep { !/^labels/ } split /\n/, $_[0] }

my @truth = map { /^\+?(\S+)/ } split /\n/, get('heart_scale');
my @plain = rows(predict('heart_scale', $model)->{out});

# ---- Two classes ----

my $third = $plain[100][1]; # of an example, which is to be taken, too
for my $p (0, 0.2, $third, 0.9, 1) {
    my @rows = rows(predict('--threshold', $p, 'heart_scale', $model)->{out});
    is_deeply(\@rows, [ map { [ $_->[1] >= $p ? 1 : -1, @$_[ 1, 2 ] ] } @plain ],
        "--threshold $p");
}

sub mean_cost { my ($p, $fp, $fn, $rows) = @_;
    return sum(map { my $answer = $rows->[$_][1] >= $p ? 1 : -1;
        $answer == $truth[$_] ? 0 : $answer == 1 ? $fp : $fn }
        0 .. $#truth) / @truth }

my $run = predict('--json', '--cost', '1,4', 'heart_scale', $model, "$dir/o");
cmp_ok(abs(printed_json($run)->{cost} - mean_cost(0.2, 1, 4, \@plain)), '<',
    1e-12, '--cost 1,4 is the threshold 0.2');
is(get("$dir/o"), predict('--threshold', 0.2, 'heart_scale', $model)->{out},
    'with the same answers');
my $matrix = put("$dir/costs", "labels -1 1\n0 1\n\n 4 0\n");
is(predict('--cost', $matrix, 'heart_scale', $model)->{out}, get("$dir/o"),
    'and so is a file, its labels in another order');

# ---- Three classes ----

my @three = map { my $c = $_;
    map { sprintf "%s 1:%d 2:%d\n", qw(a b c)[$c], $_ % 7 + 2 * $c,
        ($_ * $_) % 5 - $c } 1 .. 20 } 0 .. 2;
my $three = put("$dir/three", join '', @three);
run([ qw(klr-train -q --string-labels -g 0.05), $three, "$dir/names" ]);
my @cost = ([ 0, 1, 9 ], [ 2, 0, 1 ], [ 0.5, 3, 0 ]);
put("$dir/nine", "labels a b c\n" . join '', map {"@$_\n"} @cost);
$run = predict('--cost', "$dir/nine", $three, "$dir/names");
my $differ = 0;
my @rows = rows($run->{out});
for my $row (@rows) {
    my ($answer, @p) = @$row;
    my @sum = map { my $j = $_; sum(map { $cost[$_][$j] * $p[$_] } 0 .. 2) }
        0 .. 2;
    my ($least) = grep { $sum[$_] == min(@sum) } 0 .. 2;
    $differ++ if $answer ne (qw(a b c))[$least];
}
is($differ, 0, 'the answer of the least cost');
isnt($run->{out}, predict($three, "$dir/names")->{out},
    'is not always the most probable');
my $paid = sum(map { $cost[ int($_ / 20) ][ ord($rows[$_][0]) - ord 'a' ] }
    0 .. 59) / 60;
like($run->{err}, qr/^Cost = @{[ sprintf '%.6g', $paid ]}$/m, 'the mean cost');

# ---- Refusals ----

run([ qw(klr-train -q -s svm -g 0.05 heart_scale), "$dir/svm" ]);
for my $case (
    [ 2, 'option --threshold: the model has no probabilities',
        '--threshold', 0.2, 'heart_scale', "$dir/svm" ],
    [ 2, 'option --threshold: the model has 3 classes, not two',
        '--threshold', 0.2, $three, "$dir/names" ],
    [ 2, 'option --cost: FP,FN is of two classes; the model has 3: a file has '
            . 'their costs', '--cost', '1,2', $three, "$dir/names" ],
    [ 2, '--threshold and --cost exclude each other',
        '--threshold', 0.2, '--cost', '1,2', 'heart_scale', $model ],
    [ 1, '0,0: cannot open: No such file or directory',
        '--cost', '0,0', 'heart_scale', $model ],
    map { my $bad = scratch() . '/bad'; [ 1, "$bad$_->[0]", '--cost',
            put($bad, $_->[1]), 'heart_scale', $model ] }
        ( [ ":1:1: 'label' is not the word labels", "label 1 -1\n" ],
        [ ":1:10: '2' is no label of the model", "labels 1 2\n" ],
        [ ":1:10: '1' is a repeated label", "labels 1 1\n" ],
        [ ':1: the costs of 2 classes are 2 labels and as many rows of as many '
                . 'numbers', "labels 1\n" ],
        [ ":2:3: '-1' is not a cost, a number from 0 on", "labels 1 -1\n0 -1\n" ],
        [ ": 1 row of costs, but 2 classes", "labels 1 -1\n0 1\n" ],
        [ ':4: the costs of 2 classes are 2 labels and as many rows of as many '
                . 'numbers', "labels 1 -1\n" . "0 1\n" x 3 ])
    )
{
    my ($exit, $message, @command) = @$case;
    $run = predict(@command);
    is("$run->{exit} $run->{err}", "$exit klr-predict: $message\n", $message);
}

# ---- The best thresholds of a validation ----

$run = run([ qw(klr-train -q --json -v 5 -g 0.05 --error-cost), '1,5',
        '--cv-out', "$dir/held", 'heart_scale' ]);
my $cuts = printed_json($run)->{thresholds};
my @held = map { [ @$_[ 2, 3, 4 ] ] }
    map { [split] } grep { !/^fold/ } split /\n/, get("$dir/held");
my @above = (sort { $a <=> $b } map { $_->[1] } @held);
my %value = (
    f1 => sub { my ($tp, $fp, $fn) = @_; 2 * $tp / (2 * $tp + $fp + $fn) },
    balanced_accuracy => sub { my ($tp, $fp, $fn, $tn) = @_;
        ($tp / ($tp + $fn) + $tn / ($tn + $fp)) / 2 },
    mcc => sub { my ($tp, $fp, $fn, $tn) = @_;
        my $all = ($tp + $fp) * ($tp + $fn) * ($tn + $fp) * ($tn + $fn);
        $all ? ($tp * $tn - $fp * $fn) / sqrt $all : 0 },
    cost => sub { my ($tp, $fp, $fn) = @_; -($fp + 5 * $fn) / @truth });

sub value_at
{
    my ($by, $p) = @_;
    my @count = (0) x 4;
    for my $i (0 .. $#truth) { # right and wrong positives, negatives
        my $taken = $held[$i][1] >= $p;
        my $right = $taken == ($truth[$i] == 1);
        $count[ $taken ? ($right ? 0 : 1) : ($right ? 3 : 2) ]++;
    }
    return $value{$by}->(@count);
}
for my $by (sort keys %value) {
    my $best = max(map { value_at($by, $_) } @above, 1.1);
    my $sign = $by eq 'cost' ? -1 : 1;
    cmp_ok(abs($best - $sign * $cuts->{$by}{value}), '<', 1e-12,
        "$by: nothing is better");
    cmp_ok(abs($best - value_at($by, $cuts->{$by}{threshold})), '<', 1e-12,
        "$by: as it is at its threshold");
}
like(run([ qw(klr-train -q --metrics --loo -g 0.05 heart_scale) ])->{out},
    qr/^Best threshold by F1 = 0\.\d+ \(0\.\d+\)\nBest threshold by MCC /m,
    'in lines');
unlike(run([ qw(klr-train -q -v 5 -g 0.05 heart_scale) ])->{out}, qr/threshold/,
    'only where they are asked for');
ok(!exists printed_json(run([ qw(klr-train -q --json --string-labels -v 3),
    $three ]))->{thresholds}, 'three classes have none');
like(run([ qw(klr-train -q -s svm -v 3 --error-cost), '1,2', 'heart_scale' ])
        ->{err}, qr/^klr-train: option --error-cost: only probabilities of two/,
    'nor has a model without probabilities');
is(run([ qw(klr-train -q --error-cost 1 -v 5 heart_scale) ])->{exit}, 2,
    'one cost is too few');
is(run([ qw(klr-train -q --error-cost), '1,2', 'heart_scale', "$dir/x" ])->{err},
    "klr-train: option --error-cost: only validation (-v) has them\n",
    'without a validation');

# ---- klr-plot cost ----

SKIP: {
    skip 'python3 is not installed', 2 unless peer('python3');
    $run = run([ qw(tools/klr-plot cost --cost), '1,5', "$dir/held" ]);
    my ($least, $at) = $run->{out} =~ /least cost = (\S+) at (\S+)\n\z/;
    cmp_ok(abs($least - $cuts->{cost}{value}), '<', 1e-6, 'klr-plot: the cost');
    cmp_ok(abs($at - $cuts->{cost}{threshold}), '<', 1e-6, 'and its threshold');
}

done_testing();
