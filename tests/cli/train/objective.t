# SPDX-License-Identifier: BSD-3-Clause
#
# Training finds the optimum: judged by the independent evaluator and against
# LIBSVM's objectives. The whole matrix of sets, kernels and costs is
# tests/long/objective_long.t.
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
    # The shifted loss: a = C sigma(lambda - 2a). With lambda = 1, a = 1/2:
    # C = 1, and P = D = 1/2 + 2 log 2.
    my ($sklr) = evaluate('sklr', $data, $model->(0.5), 1, 1, 0);
    ok(abs($sklr->{primal} - 0.5 - 2 * log 2) < 1e-13
            && abs($sklr->{gap}) < 1e-13 && abs($sklr->{violation}) < 1e-13,
        'evaluator: shifted loss in closed form') or diag(explain($sklr));
    # C = 1, lambda = 0: a = sigma(-2a) < 0.4, so that a box from 0.4 on holds
    # it there: P = D = -0.32 - 2 G(0.4).
    my $box = -0.32 - 2 * (0.4 * log(0.4) + 0.6 * log 0.6);
    ($sklr) = evaluate('sklr', $data, $model->(0.4), 1, 0, 0.4);
    ok(abs($sklr->{primal} - $box) < 1e-13 && abs($sklr->{gap}) < 1e-13
            && $sklr->{violation} <= 0 && $sklr->{excess} <= 1e-15,
        'evaluator: boxed loss in closed form') or diag(explain($sklr));
    ($sklr) = evaluate('sklr', $data, $model->(0.39), 1, 0, 0.4);
    ok($sklr->{excess} > 0.009, 'evaluator: coefficients below the box');
    # Left out of the model they are there again for the dual, not the primal.
    put("$dir/none", "svm_type c_svc\nkernel_type linear\nnr_class 2\n"
        . "total_sv 0\nrho 0\nlabel 1 -1\nnr_sv 0 0\nSV\n");
    ($sklr) = evaluate('sklr', $data, "$dir/none", 1, 0, 0.4);
    ok(abs($sklr->{primal} - 2 * log 2) < 1e-13
            && abs($sklr->{dual} - $box) < 1e-13 && $sklr->{n_sv} == 0,
        'evaluator: a model without those at the lower end of the box');
    # No bias, x = +1 and x = -3: w = a_1 + 3 a_2 = 1 where a_i = C sigma(-w
    # |x_i|) for C = 1 / (sigma(-1) + 3 sigma(-3)), and sum beta = a_1 - a_2 is
    # not 0.
    my $far = put("$dir/far", "1 1:1\n-1 1:-3\n");
    my @alpha = map { 1 / (1 + exp $_) } 1, 3;
    $cost = 1 / ($alpha[0] + 3 * $alpha[1]);
    @alpha = map { sprintf '%.17g', $cost * $_ } @alpha;
    put("$dir/free", "svm_type c_svc\nkernel_type linear\nnr_class 2\n"
        . "total_sv 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\nSV\n"
        . "$alpha[0] 1:1\n-$alpha[1] 1:-3\n");
    ($klr) = evaluate('klr', $far, "$dir/free", $cost, '--no-bias');
    ok(abs($klr->{gap}) < 1e-13 && $klr->{violation} < 1e-13
            && $klr->{best_rho} == 0 && $klr->{sum_beta} > 0.1,
        'evaluator: no bias, in closed form') or diag(explain($klr));
    ($klr) = evaluate('klr', $far, "$dir/free", 2 * $cost, '--no-bias');
    ok($klr->{gap} > 0.01 && $klr->{violation} > 0.1,
        'evaluator: it is no optimum for another cost');
    ($klr) = evaluate('klr', $far, "$dir/free", $cost);
    ok($klr->{primal_best} < $klr->{primal} - 0.01 && $klr->{best_rho} != 0,
        'evaluator: nor with bias');
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

# The shifted and boxed loss of sklr, by both solvers: costs from where hardly
# anything is learnt to where most examples are at an end of the box; weights,
# duplicates, a box that takes part of everything, no bias.
my %costs = (newton => [ 0.1, 1, 100 ], smo => [ 0.1, 1, 100, 1e4 ]);
for my $solver (sort keys %costs) {
    for my $cost (@{ $costs{$solver} }) {
        my @shifts = grep { $cost > 1 || $_ < 1 } 0, 1, $cost / 10;
        sklr_cell($dir, 'even', "$dir/even", $solver, cost => $cost,
            lambda => $_) for @shifts, $cost;
    }
    sklr_cell($dir, 'twice', "$dir/twice", $solver, cost => 8, lambda => 0.8);
    sklr_cell($dir, 'skewed', "$dir/skewed", $solver, cost => 4, lambda => 2,
        weights => { 3 => 0.5, 7 => 2 });
    sklr_cell($dir, 'even', "$dir/even", $solver, cost => 4, lambda => $_,
        box => 1, coarse => 1) for 0, 4;
    sklr_cell($dir, 'heart_scale', 'heart_scale', $solver, cost => $_,
        lambda => $_ / 10) for 1, 10;
}

# What of an answer is beyond the lower end of the box, which a kernel of rank 1
# leads to, is not left out: the gap would be some 7e-4.
{
    my $line = put("$dir/line", join '', map {
        my $i = $_;
        join(' ', $i == 1 ? -1 : 1, map { "$_:" . $i * $_ / 150 } 1 .. 8) . "\n"
    } 0 .. 149);
    logistic_cell($dir, 'line', $line, solver => 'newton', cost => 2,
        options => [qw(-s sklr -t linear -c 2 -l 100)],
        judge => [ 'sklr', 100, 1e-5 ]);
}

# By smo also where C, or the weight of a class, is so large that alphas which
# belong next to 0 are far less than a small part of it.
for my $case ([ 1e6, 1 ], [ 100, 1000 ], [ 1e4, 1e4 ]) {
    my ($cost, $weight) = @$case;
    logistic_cell($dir, "weight $weight", 'heart_scale', solver => 'smo',
        cost => $cost, judge => [ 'klr', "1=$weight" ],
        options => [ qw(-g 0.05 --max-iter 50000 -w1), $weight, -c => $cost ]);
}

# Without bias: klr, and sklr, by newton.
for my $name (qw(even skewed)) {
    for my $cost (0.125, 8, 1000) {
        logistic_cell($dir, $name, "$dir/$name", solver => 'newton', free => 1,
            cost => $cost, judge => [ 'klr', '--no-bias' ],
            options => [ qw(-s klr --no-bias -g 0.125 -c), $cost ]);
        sklr_cell($dir, $name, "$dir/$name", 'newton', cost => $cost,
            lambda => $_, no_bias => 1) for 0.5, $cost / 10;
    }
}

# A kernel of which the model knows, too: entries are those of exp(2 gamma u'v).
for my $model (qw(svm klr)) {
    my $said = trained("$dir/skewed", "$dir/grown", '-s', $model,
        qw(-t exponential -g 0.1 -c 2));
    my ($judged) = evaluate($model, "$dir/skewed", "$dir/grown", 2);
    cmp_ok(abs($judged->{primal} / $said->{objective} - 1), '<', 1e-7,
        "$model, exponential kernel: objective");
}

# ---- entries that hardly differ ----

# They are rounded alike: floats put the objective off by 1e-5 where independent
# errors would by 1e-8.
sub near
{
    my ($k, $n) = @_;
    my $next = uniform(2);
    return put("$dir/near", join '', map { my $c = $_ % $k;
        join(' ', $c, map { sprintf '%d:%.4f', $_, $next->() - 0.5 + 0.3 * ($k
                - 1 - 2 * $c) } 1 .. 3) . "\n" } 0 .. $n - 1);
}
my @near = qw(klr-train -q --json -t polynomial -g 6e-8 -r 1 -c 8);
for my $options ('-a newton', '-a smo -e 0.1') {
    my $run = run([ @near, split(' ', $options), near(2, 400), "$dir/m" ]);
    my $said = printed_json($run);
    my ($judged) = evaluate('klr', "$dir/near", "$dir/m", 8);
    is($said->{status}, 'converged', "near examples, $options");
    cmp_ok(abs($judged->{primal} / $said->{objective} - 1), '<', 2e-7,
        'the objective of the file');
}

# The objective of a softmax by its definition.
{
    my $run = run([ @near, qw(--multiclass softmax), near(3, 300), "$dir/m" ]);
    my ($head, $rows) = get("$dir/m") =~ /\A(.*?)^SV\n(.*?)^klr_format/ms;
    my @rho = split ' ', $head =~ /^rho (.*)/m && $1;
    my @class = split ' ', $head =~ /^label (.*)/m && $1;
    my (@beta, @x);
    for (split /\n/, $rows) {
        push @beta, [ /(\S+) (\S+) (\S+) 1:/ ];
        push @x, [ /:(\S+)/g ];
    }
    my %at; # rows of the data are support vectors, all of them
    push @{ $at{ join ' ', @{ $x[$_] } } }, $_ for 0 .. $#x;
    my $primal = 0;
    for (split /\n/, get("$dir/near")) {
        my ($label) = /^(\S+)/;
        my ($i) = @{ $at{ join ' ', /:(\S+)/g } };
        my @u = (0) x 3;
        for my $j (0 .. $#x) {
            my $product = 0;
            $product += $x[$i][$_] * $x[$j][$_] for 0 .. 2;
            my $entry = (6e-8 * $product + 1)**3 - 1; # columns have the sum 0
            $u[$_] += $entry * $beta[$j][$_] for 0 .. 2;
        }
        my $total = 0;
        $total += exp($u[$_] - $rho[$_]) for 0 .. 2;
        my ($own) = grep { $class[$_] == $label } 0 .. 2;
        $primal += 8 * (log($total) - $u[$own] + $rho[$own]);
        $primal += 0.5 * $beta[$i][$_] * $u[$_] for 0 .. 2;
    }
    my $said = printed_json($run)->{objective};
    cmp_ok(abs($primal / $said - 1), '<', 2e-7, "near examples, softmax: $said");
}

# And svm: the gap is less than what -e leaves open, and no sum of beta is 0.
for my $cost (0.125, 8, 1000) {
    run([ qw(klr-train -q -s svm --no-bias -g 0.125 -e 1e-6 -c), $cost,
        "$dir/skewed", "$dir/free" ]);
    my ($svm) = evaluate('svm', "$dir/skewed", "$dir/free", $cost, '--no-bias');
    cmp_ok(abs $svm->{gap}, '<', 1e-5, "svm without bias, C = $cost: gap");
    cmp_ok(abs $svm->{sum_beta}, '>', 1e-3, 'beta may have any sum');
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
        -c => 1, -e => '1e-5');
    my ($judged) = evaluate('klr', "$dir/gram", "$dir/model", 1);
    ok($judged->{model_gap} <= 1e-6,
        "precomputed: gap $judged->{model_gap}");
    my $linear = trained("$dir/even", "$dir/model", -s => 'klr', -t => 0,
        -c => 1, -e => '1e-5');
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

# Where C is too large for the digits of K a step may raise P: those after it
# make up for that, or the best point stands for the last one, which is no worse
# than beta = 0.
{
    my $run = run(['klr-train', qw(--json -q -g 1e-3 -c 1e10 heart_scale),
            "$dir/steep"]);
    is(printed_json($run)->{status}, 'converged', 'a step that raises P');
    my $data = put("$dir/wide", <<'.');
1 1:0.789870703 2:27.4054403 3:-4.92289001
-1 1:10.56614 2:4.52093255 3:0.159854037
-1 1:-17.8148536 2:13.5697054 3:1.96420807
1 1:2.97235617 2:1.96119902 3:-0.193414769
1 1:13.4358351 2:-18.4985878 3:0.702179244
1 1:22.8510192 2:0.367168355 3:2.82435422
.
    $run = run(['klr-train', qw(--json -q --keep-sv -t linear -c 1e12), $data,
            "$dir/wide.model"]);
    is(printed_json($run)->{status}, 'precision_limit', 'digits are lost');
    my ($wide) = evaluate('klr', $data, "$dir/wide.model", 1e12);
    my $zero = 1e12 * (4 * log(6 / 4) + 2 * log(6 / 2));
    cmp_ok($wide->{primal}, '<=', $zero, 'the answer is no worse than 0');
}

done_testing();
