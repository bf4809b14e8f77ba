# SPDX-License-Identifier: BSD-3-Clause
#
# Approximate leave-one-out: against trainings without each example, the
# predictions it leaves, the grid it chooses from, and what has none.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use List::Util qw(sum);
use KLR;
use Judge;

my $dir = scratch();
put("$dir/heart", get('heart_scale'));
my $classes = clusters(seed => 11, labels => [ 4, -2, 7 ], n => 90, d => 3,
    zeros => 0);
put("$dir/three", $classes);
put("$dir/each", join '', map {"$_\n"} 1 .. 270);

sub train { return run([ 'klr-train', '-q', map { split } @_ ], cwd => $dir) }

# ---- One point ----

{
    my $run = train('--loo -c 1 --cv-out cv heart');
    is("$run->{exit}$run->{err}", '0', '--loo');
    my @lines = ('Cross Validation Accuracy = \S+%', 'Log loss = \S+',
        'Brier score = \S+', 'AUC = \S+');
    like($run->{out}, qr/\A@{[join '\n', @lines]}\n\z/,
        'prints what -v does');
    ok(!-e "$dir/heart.model", 'and leaves no model');
    my ($header, @rows) = map { [ split ' ' ] } split /\n/, get("$dir/cv");
    is("@$header", 'fold true labels 1 -1', 'predictions: the header');
    is(join(' ', map { $_->[0] } @rows), join(' ', 1 .. 270),
        'each example is a fold');
    my $json = printed_json(train('--loo -c 1 --json heart'));
    my $loss = sum(map { -log($_->[1] > 0 ? $_->[3] : $_->[4]) } @rows) / @rows;
    cmp_ok(abs($loss - $json->{log_loss}), '<', 1e-7,
        'they are what is measured');
    is("$json->{loo} $json->{folds}", '1 270', 'JSON says what it was');
    my $exact = printed_json(train('--folds-file each -c 1 --json heart'));
    ok(!$exact->{loo}, 'as of folds');
    cmp_ok(abs($json->{log_loss} / $exact->{log_loss} - 1), '<', 0.005,
        'log loss of trainings without each');
    cmp_ok(abs($json->{accuracy} - $exact->{accuracy}), '<', 0.01, 'accuracy');
    my $first = get("$dir/cv");
    train("--loo -c 1 -j $_ --cv-out cv heart") && is(get("$dir/cv"), $first,
        "the same bytes with -j $_") for 1, 3;
    train('--loo -c 1 -m 2 --cv-out cv heart');
    is(get("$dir/cv"), $first, 'and in little memory');
}

# Each solver that finds the optimum, with and without a bias.
{
    my %loss;
    for my $options ('-a newton', '-a smo -e 1e-5', '-a smo1 -e 1e-5',
        '-a newton --no-bias', '-a smo1 -e 1e-5 --no-bias')
    {
        my $json = printed_json(train("--loo --json -c 5 $options heart"));
        my $bias = $options =~ /bias/ ? 'without' : 'with';
        $loss{$bias} //= $json->{log_loss};
        cmp_ok(abs($json->{log_loss} - $loss{$bias}), '<', 1e-5, $options);
    }
    cmp_ok(abs($loss{with} - $loss{without}), '>', 1e-5, 'which counts');
}

# ---- On a basis ----

put("$dir/points", join '', map { 6 * $_ + 1 . "\n" } 0 .. 44);
for my $case ([ '--points points', 0.002 ], [ '--basis 45', 0.03 ],
    [ '--basis 45 --basis-choice uniform', 0.03 ])
{
    my ($options, $most) = @$case;
    my $json = printed_json(train("--loo -c 1 --json $options heart"));
    my $exact = printed_json(train("--folds-file each -c 1 --json $options heart"));
    cmp_ok(abs($json->{log_loss} / $exact->{log_loss} - 1), '<', $most,
        "$options: log loss of trainings without each");
    is($json->{n_sv}, 45, '... of so many points');
}
{
    my %loss = map { $_ => printed_json(
            train("--loo --json -e 1e-11 $_ heart"))->{log_loss} }
        '', '--basis 270', '--basis 45 -c 0.1';
    cmp_ok(abs($loss{''} - $loss{'--basis 270'}), '<', 1e-6,
        'all examples are points: as without a basis');
    my $grid = printed_json(train('--loo --json -e 1e-11 --basis 45 -c 0.1'
                . ' -g 0.02,0.076923076923076927 heart'));
    cmp_ok(abs($grid->{values}[1]{log_loss} - $loss{'--basis 45 -c 0.1'}),
        '<', 1e-6, 'a point of a grid is as alone');
    train('--loo --basis 45 --cv-out cv heart');
    my $first = get("$dir/cv");
    train("--loo --basis 45 $_ --cv-out cv heart") && is(get("$dir/cv"),
        $first, "the same bytes with $_") for '-j 1', '-j 3', '-m 1';
    my $auto = printed_json(train('--loo --json --basis auto heart'));
    cmp_ok($auto->{basis}{points}, '<=', 135, '--basis auto');
    is($auto->{loo}, 1, '... too');
}

# ---- A grid ----

{
    my $grid = '-c 0.01,1,100 -g 0.02,0.2';
    my $run = train("--loo --metrics $grid heart model");
    is("$run->{exit}$run->{err}", '0', 'a grid');
    is(scalar(() = $run->{out} =~ /Cross/g), 1, 'one line says Cross');
    my $json = printed_json(train("--loo --json $grid heart other"));
    is(scalar @{ $json->{values} }, 6, 'values of all points');
    my ($best) = sort { $a->{log_loss} <=> $b->{log_loss} }
        @{ $json->{values} };
    is("$json->{best_c} $json->{best_gamma}", "$best->{c} $best->{gamma}",
        'the best is the best');
    train("-c $json->{best_c} -g $json->{best_gamma} heart alone");
    is(get("$dir/model"), get("$dir/alone"), 'and its model saved');
    my $one = printed_json(train(
        "--loo --json -c $best->{c} -g $best->{gamma} heart"));
    is($one->{log_loss}, $json->{log_loss}, 'and what it is alone');
    my $fine = printed_json(train("--loo --json -e 1e-6 $grid heart"));
    is_deeply($json->{values}, $fine->{values}, 'all at a gap of 1e-6');
    $json = printed_json(train("--loo --json -e 1e-11 $grid heart"));
    for my $point (@{ $json->{values} }[ 0, 4 ]) {
        $one = printed_json(train("--loo --json -e 1e-11 -c $point->{c}"
            . " -g $point->{gamma} heart"));
        cmp_ok(abs($one->{log_loss} - $point->{log_loss}), '<', 1e-5,
            "C = $point->{c}, gamma = $point->{gamma}: as alone");
    }
}

# ---- Several classes, weights ----

put("$dir/eachof", join '', map {"$_\n"} 1 .. 90);
put("$dir/weights", join '', map { 1 + $_ % 3 . "\n" } 1 .. 90);
for my $options ('', '--multiclass ova', '--multiclass ddag',
    '--weights weights',
    '-w7 4', '--balance')
{
    my $loo = printed_json(train("--loo --json $options three"));
    my $exact = printed_json(
        train("--folds-file eachof --json $options three"));
    cmp_ok(abs($loo->{log_loss} / $exact->{log_loss} - 1), '<', 0.02,
        "three classes $options: log loss $loo->{log_loss}");
}

# ---- Refusals ----

for my $case (
    [ 'it takes the place of folds (-v)', '-v 5' ],
    [ 'it takes the place of folds (-v)', '--folds-file each' ],
    (map { [ 'only klr with the regularizer kernel, by newton, smo or smo1,'
                . ' and sklr on a basis have a closed form', $_ ] } '-s svm',
        '-s sklr', '-s kfd', '-s lhalf', '-a trirls', '--regularizer coef'),
    [ 'a softmax has no closed form but on a basis (--basis); ovo, ova and ddag '
        . 'have one', '--multiclass softmax' ],
    [ 'the kernel must be positive semidefinite', '-a smo -t sigmoid' ],
    [ 'a platt link is fitted on all examples; sigma and none are not fitted',
        '--link platt' ],
)
{
    my ($message, $options) = @$case;
    my $run = train("--loo $options heart");
    is("$run->{exit} $run->{out}$run->{err}",
        "2 klr-train: option --loo: $message\n", "$options: $message");
}
{
    my $run = train('--loo -m 0.1 heart');
    is("$run->{exit} $run->{err}",
        "1 klr-train: option --loo: 270 examples need"
        . " at least 1 MB (-m)\n", 'too little memory');
}

# A C at which rounding leaves no answers has a warning and no values; alone it
# is refused. A softmax on a basis comes to that soonest.
{
    my $options = '--loo --basis 40 --multiclass softmax';
    my $lost = 'decision values are lost in rounding errors';
    my $run = train("$options -c 1,1e16 --metrics three model");
    my ($warning) = $run->{err} =~ /warning: (C = 1e\+16: [^:;]*)/;
    is($warning, "C = 1e+16: $lost", 'a C without answers: a warning');
    like($run->{out}, qr/^ *1e\+16(?: +-){8}$/m, '... and no values');
    $run = train("$options -c 1e16 three");
    is("$run->{exit} $run->{err}", "1 klr-train: three: option --loo: $lost"
        . " at C = 1e+16\n", '... and alone a refusal');
}

done_testing();
