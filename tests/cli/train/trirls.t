#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# TR-KLR and TR-IRLS from the command line: what they report is judged by the
# independent evaluator, and depends on the data and -c alone.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;
use Judge;

my $dir = scratch();
put("$dir/heart", get('heart_scale'));
put("$dir/three", clusters(seed => 5, labels => [ 1, 2, 3 ], n => 150, d => 4));

sub train
{
    my @arguments = map { split } @_;
    return run([ 'klr-train', '-a', 'trirls', @arguments ], cwd => $dir);
}

# ---- early by default, later with -e ----

my $exact = printed_json(run([ 'klr-train', split / /,
    "-q --json --no-bias -c 4 -g 0.1 $dir/heart $dir/exact" ]));
my $last = 1e300;
for my $case ([ '', 1 ], [ '-e 0.01', 2 ], [ '-e 1e-4', 3 ]) {
    my ($options, $least) = @$case;
    my $report = printed_json(
        train("-q --json -c 4 -g 0.1 $options heart model"));
    is($report->{solver}, 'trirls', "solver of '$options'");
    is($report->{status}, 'converged', "status of '$options'");
    cmp_ok($report->{iterations}, '>=', $least, "systems of '$options'");
    my ($judged) = evaluate('klr', "$dir/heart", "$dir/model", 4);
    ok(abs($judged->{primal} / $report->{objective} - 1) < 1e-6,
        "objective of '$options'") or diag(explain($judged, $report));
    ok($report->{objective} < $last
            && $report->{objective} > $exact->{objective} * (1 - 1e-6)
            && $report->{dual} < $exact->{objective} * (1 + 1e-6),
        "the optimum lies below the objective of '$options' and not below "
            . 'its dual') or diag(explain($exact, $report));
    $last = $report->{objective};
}
cmp_ok($last, '<', $exact->{objective} * 1.01, 'and is near in the end');
like(get("$dir/model"), qr/^rho 0$/m, 'no bias');
unlike(get("$dir/model"), qr/nan|inf/i, 'only numbers in the model');

# ---- the linear kernel: no entry of K ----

my $linear = printed_json(train('-q --json -t 0 -e 1e-6 heart model'));
is($linear->{kernel_evals}, 0, 'TR-IRLS computes no entry of K');
$exact = printed_json(run([ 'klr-train', split / /,
    "-q --json --no-bias -t 0 $dir/heart $dir/exact" ]));
ok(abs($linear->{objective} / $exact->{objective} - 1) < 2e-6,
    'and finds the optimum') or diag(explain($exact, $linear));

# ---- weights of classes are C_i / C ----

printed_json(train('-q --json --keep-sv -c 4 -e 1e-6 -t 0 -w1 2 '
        . '-w-1 0.5 heart model'));
my ($judged) = evaluate('klr', "$dir/heart", "$dir/model", 4, '1=2', '-1=0.5');
printed_json(run([ 'klr-train', split / /, '-q --json --keep-sv --no-bias '
    . "-t 0 -c 4 -w1 2 -w-1 0.5 $dir/heart $dir/exact" ]));
my ($best) = evaluate('klr', "$dir/heart", "$dir/exact", 4, '1=2', '-1=0.5');
ok(abs($judged->{primal} / $best->{primal} - 1) < 2e-6, 'class weights')
    or diag(explain($judged, $best));

# ---- the same bytes ----

for my $data ('heart', 'three') {
    for my $kernel ('-t 2 -g 0.3', '-t 0') {
        train("-q -c 3 $kernel -j 1 $data one");
        train("-q -c 3 $kernel -j 3 -m 0.2 $data other");
        is(get("$dir/other"), get("$dir/one"),
            "$data, $kernel: whatever -j and -m are");
        train("-q -c 0.3,3 $kernel $data path");
        is(get("$dir/path.3"), get("$dir/one"),
            "$data, $kernel: whatever else -c has");
    }
}
my $run = run([ 'klr-predict', "$dir/three", "$dir/one", "$dir/output" ]);
like($run->{out}, qr/^Accuracy = [6-9]\d/, 'three classes are told apart');

# ---- limits, and what is refused ----

$run = train('--json -c 10 -e 1e-6 --max-iter 1 heart model');
is($run->{exit}, 0, 'a limit is no failure');
like($run->{err}, qr/warning: the limit of iterations/, 'but is told');
is(printed_json($run)->{iterations}, 1, 'and kept');

# Entries of 1e60 are no floats; the squares of 1e180 no doubles.
my $huge = printed_json(train('-q --json -c 1 -t 1 -g 1e20 heart model'));
cmp_ok($huge->{objective}, '<', 0.6 * 270 * log 2, 'a large kernel');
$huge = printed_json(train('-q --json -t 1 -g 1e60 heart model'));
is($huge->{status}, 'precision_limit', 'a kernel that is too large');

put("$dir/matrix", "1 0:1 1:1 2:9 3:2\n-1 0:2 1:9 2:1 4:2\n"
    . "1 0:3 1:2 3:1 4:9\n-1 0:4 2:2 3:9 4:1\n");
$run = train('-t 4 -c 10 matrix model');
is($run->{exit}, 1, 'an indefinite matrix is an error');
like($run->{err}, qr/not positive semidefinite to rounding: use -a smo/,
    'that says so');

done_testing();
