# SPDX-License-Identifier: BSD-3-Clause
#
# Training finds the optimum: judged by the independent evaluator and against
# LIBSVM's objectives. The whole matrix of sets, kernels and costs is
# tests/long/objective.t.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;
use Judge;

my $dir = scratch();

# The evaluator itself, where the solution is known in closed form: x = +1 and
# x = -1 with the linear kernel. By symmetry rho = 0, beta = (a, -a), f(+1) = 2a
# and 1/2 beta'K beta = 2 a^2.
{
    my $data = put("$dir/two", "1 1:1\n-1 1:-1\n");
    my $model = sub {
        my ($a) = @_;
        return put("$dir/two.model", "svm_type c_svc\nkernel_type linear\n"
            . "nr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\nSV\n"
            . "$a 1:1\n-$a 1:-1\n");
    };
    # Hinge with C = 1: the margin constraint 2a = 1 is met, P = D = 1/2.
    my ($svm) = evaluate('svm', $data, $model->(0.5), 1);
    is_deeply([ @$svm{qw(n n_sv sum_beta primal dual gap violation)} ],
        [ 2, 2, 0, 0.5, 0.5, 0, 0 ], 'evaluator: hinge in closed form');
    # Hinge with C = 1/4: both at the bound, P = 1/8 + 1/4 = 2/4 - 1/8.
    ($svm) = evaluate('svm', $data, $model->(0.25), 0.25);
    is_deeply([ @$svm{qw(primal dual)} ], [ 0.375, 0.375 ],
        'evaluator: hinge at its bound');
    ok($svm->{violation} <= 0, 'evaluator: no violation there');
    ($svm) = evaluate('svm', $data, $model->(0.25), 0.2);
    ok($svm->{excess} > 0.2, 'evaluator: coefficients beyond C are seen');
    # Logistic: a = C sigma(-2a). With a = 1/2: C = (1 + e) / 2.
    my $cost = (1 + exp 1) / 2;
    my ($klr) = evaluate('klr', $data, $model->(0.5), $cost);
    my $value = 0.5 + 2 * $cost * log(1 + exp -1);
    ok(abs($klr->{primal} - $value) < 1e-13 && abs($klr->{gap}) < 1e-13
            && abs($klr->{violation}) < 1e-13,
        'evaluator: logistic loss in closed form') or diag(explain($klr));
    ($klr) = evaluate('klr', $data, $model->(0.4), $cost);
    ok($klr->{gap} > 1e-3 && $klr->{violation} > 0.1,
        'evaluator: it is no optimum elsewhere');
    # Weights of the classes enter C_i: alpha_i = C_i sigma(-y_i f_i) again.
    ($klr) = evaluate('klr', $data, $model->(0.5), 2 * $cost, '1=0.5',
        '-1=0.5');
    ok(abs($klr->{gap}) < 1e-13, 'evaluator: class weights');
}

# Ours on generated data: every kernel, weights, several classes, duplicates.
my %set = (
    even => clusters(seed => 1, labels => [ 1, -1 ], n => 160, d => 6),
    skewed => clusters(seed => 2, labels => [ 3, 3, 3, 3, 7 ], n => 150, d => 4,
        zeros => 0.5),
);
$set{twice} = $set{skewed}
    . join "\n", (split /\n/, $set{skewed})[ 0 .. 59 ], '';
put("$dir/$_", $set{$_}) for keys %set;

for my $name (sort keys %set) {
    for my $kernel (0 .. 2, 5) {
        klr_cell($dir, $name, "$dir/$name", $kernel, $_) for 0.125, 8;
    }
}

for my $model (qw(klr svm)) {
    my $eps = 1e-6;
    my @options = (-s => $model, -g => 0.125, -c => 4, -w3 => 0.5, -w7 => 2,
        -e => $eps);
    trained("$dir/skewed", "$dir/model", @options);
    my ($judged) = evaluate($model, "$dir/skewed", "$dir/model", 4, '3=0.5',
        '7=2');
    ok($judged->{model_gap} <= 1e-6 && $judged->{excess} <= 0,
        "$model with class weights: gap $judged->{model_gap}");
}

put("$dir/classes",
    clusters(seed => 3, labels => [ 5, 2, 9, 2 ], n => 160, d => 4));
for my $model (qw(klr svm)) {
    my $eps = 1e-6;
    my $ours = trained("$dir/classes", "$dir/model", -s => $model, -g => 0.125,
        -c => 2, -e => $eps) // next;
    my @judged = evaluate($model, "$dir/classes", "$dir/model", 2);
    is_deeply([ map {"$_->{positive} $_->{negative}"} @judged ],
        [ '2 5', '2 9', '5 9' ], "$model: three pairs, ascending");
    my ($dual, $gap) = (0, 0);
    for my $pair (@judged) {
        $dual += $pair->{dual};
        $gap = $pair->{model_gap} if $pair->{model_gap} > $gap;
    }
    ok($gap <= 1e-6 && abs($ours->{dual} - $dual) <= 1e-6 * abs $dual,
        "$model: every pair of three classes is solved (gap $gap)");
}

# A precomputed kernel is the kernel it was computed from.
{
    my @x = map { { /(\d+):(\S+)/g } } my @rows = split /\n/, $set{even};
    my $text = '';
    for my $i (0 .. $#x) {
        $text .= ($rows[$i] =~ /^(\S+)/)[0] . ' 0:' . ($i + 1);
        for my $j (0 .. $#x) {
            my $dot = 0;
            $dot += $x[$i]{$_} * ($x[$j]{$_} // 0) for keys %{ $x[$i] };
            $text .= sprintf ' %d:%.17g', $j + 1, $dot;
        }
        $text .= "\n";
    }
    put("$dir/gram", $text);
    my $given = trained("$dir/gram", "$dir/model", -s => 'klr', -t => 4,
        -e => '1e-5');
    my ($judged) = evaluate('klr', "$dir/gram", "$dir/model", 1);
    ok($judged->{model_gap} <= 1e-6,
        "precomputed: gap $judged->{model_gap}");
    my $linear = trained("$dir/even", "$dir/model", -s => 'klr', -t => 0,
        -e => '1e-5');
    ok($given && $linear && abs($given->{dual} - $linear->{dual})
            <= 1e-6 * abs $linear->{dual}, 'precomputed equals linear');
}

SKIP: {
    skip 'svm-train is not installed', 1 unless peer('svm-train');
    for my $name (sort keys %set) {
        for my $kernel (0 .. 2) {
            svm_cell($dir, $name, "$dir/$name", $kernel, $_) for 0.125, 8;
        }
    }
    skip 'KLR_DATA is not set', 1 unless data('heart.svm');
    for my $name (qw(heart sonar)) {
        my $data = scaled($dir, $name);
        for my $cell ([ 0, 1 ], [ 1, 8 ], [ 2, 1 ], [ 2, 128 ]) {
            svm_cell($dir, $name, $data, @$cell);
            klr_cell($dir, $name, $data, @$cell);
        }
    }
}

done_testing();
