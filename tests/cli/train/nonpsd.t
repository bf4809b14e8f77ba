#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# Kernels that are not positive semidefinite: the check of the kernel matrix,
# and klr with the regularizer beta'beta.
use strict;
use warnings;
use Test::More;
use lib 'tests/cli/lib';
use Judge;
use KLR;

my $dir = scratch();
my $heart = 'heart_scale';

# ---- the check ----

my @checks = (
    # options, kind
    ['-t rbf', 'positive definite'],
    ['-t linear', 'positive semidefinite'],
    ['-t polynomial -d 0', 'positive semidefinite'], # ones
    ['-t sigmoid -r -2', 'conditionally positive definite'],
    ['-t sigmoid -r 0.5', 'indefinite'],
    ['-t linear --multiclass softmax', 'positive semidefinite'],
);
for my $check (@checks) {
    my ($options, $kind) = @$check;
    my $run =
        run(['klr-train', '--check-kernel', split(/ /, $options), $heart]);
    is($run->{exit}, 0, "$options: exit status");
    like($run->{out}, qr/\Akernel matrix: \Q$kind\E; smallest eigenvalue \S+, /,
        "$options: $kind");
    is(() = $run->{out} =~ /\n/g, 1, "$options: one line");
}

my $json = printed_json(run(['klr-train', '--check-kernel', '--json', '-t', 3,
    '-r', -2, $heart]));
is($json->{kernel_matrix}, 'conditionally positive definite', 'JSON: kind');
cmp_ok($json->{least}, '<', -100, 'JSON: smallest eigenvalue');
cmp_ok($json->{centred_least}, '>', $json->{tolerance}, 'JSON: on sum 0');
is($json->{negative}, 1, 'JSON: one is negative');
is($json->{method}, 'tridiagonalisation', 'JSON: method');
is($json->{n}, 270, 'JSON: examples');
ok(!-e 'heart_scale.model', 'no model is written');

# Labels do not matter; more examples than are decomposed are estimated.
my $many = put("$dir/many", join '', map { sprintf "%d 1:%.6f 2:%.6f\n", $_,
    cos(3 * $_), sin(7 * $_) } 1 .. 2100);
$json = printed_json(run(['klr-train', '--check-kernel', '--json', '-t', 3,
    '-g', 1, $many]));
is($json->{method}, 'lanczos', 'many examples: estimates');
is($json->{kernel_matrix}, 'indefinite', 'many examples: indefinite');
cmp_ok($json->{least}, '<', -1, 'many examples: smallest eigenvalue');

# No vector of one element sums to 0; no zero is negative.
my $one = put("$dir/one", "1 1:2\n");
is(run(['klr-train', '--check-kernel', '-t', 0, $one])->{out},
    'kernel matrix: positive definite; smallest eigenvalue 4 (all 1 by '
        . "tridiagonalisation, 0 negative)\n", 'one example');
my $zeros = put("$dir/zeros", "1\n2\n2\n");
is(run(['klr-train', '--check-kernel', '-t', 0, $zeros])->{out},
    'kernel matrix: positive semidefinite; smallest eigenvalue 0, on vectors '
        . "of sum 0 0 (all 3 by tridiagonalisation, 0 negative)\n",
    'a matrix of zeros');

for my $wrong (["$heart $dir/m", 'there is no model'],
    ["-v 5 $heart", 'there is nothing to validate (-v)']) {
    my ($arguments, $message) = @$wrong;
    my $run = run(['klr-train', '--check-kernel', split(/ /, $arguments)]);
    is($run->{exit}, 2, "$message: usage");
    is($run->{err}, 'klr-train: option --check-kernel: nothing is trained, '
        . "$message\n", "$message: message");
}

# ---- the regularizer beta'beta ----

for my $solver ('newton', 'cg') {
    my @options = ('-a', $solver, qw(--regularizer coef -t sigmoid -r -0.5));
    my $run = run(['klr-train', '--json', @options, $heart, "$dir/$solver"]);
    is($run->{exit}, 0, "$solver: exit status");
    my $report = printed_json($run);
    is($report->{solver}, $solver, "$solver: solver");
    cmp_ok($report->{gap}, '<=', 1e-6, "$solver: gap");
    is($report->{n_sv}, 270, "$solver: all examples are support vectors");
    $run = run(['klr-predict', $heart, "$dir/$solver", "$dir/$solver.out"]);
    my ($accuracy) = $run->{out} =~ /^Accuracy = ([0-9.]+)%/m;
    cmp_ok($accuracy, '>', 82, "$solver: accuracy $accuracy");
    $run = run(['klr-train', @options, qw(-q -v 5 -c), "0.1,1", $heart,
        "$dir/$solver"]);
    like($run->{out}, qr/^Cross Validation Accuracy = 8\d/m, "$solver: -v");
}

# The first probability of each row.
sub probabilities
{
    my (undef, @rows) = split /\n/, get($_[0]);
    return map { (split ' ', $_)[1] } @rows;
}

my @rows = probabilities("$dir/newton.out");
my @other = probabilities("$dir/cg.out");
my ($most) = sort { $b <=> $a } map { abs($rows[$_] - $other[$_]) } 0 .. 269;
cmp_ok($most, '<', 1e-3, "both solvers give the same probabilities ($most)");

run(['klr-train', qw(-q -t sigmoid --regularizer coef -w1 2 -c), "1,10",
    '-j', 2, $heart, "$dir/path"]);
run(['klr-train', qw(-q -t sigmoid --regularizer coef -w1 2 -c), 1,
    '-j', 1, $heart, "$dir/single"]);
is(get("$dir/path.1"), get("$dir/single"), 'the first of a path, any threads');

# ---- the limit of the sigmoid kernel ----

# Lin & Lin, Theorem 8: an svm by tanh(g u'v + r) with C / (1 + tanh r) tends to
# that by exp(2 g u'v) with C.
{
    my $model = "$dir/limit";
    my @decisions;
    for my $case ([ -c => 1, -t => 'exponential' ],
        [ -c => 1 / (1 - 0.9999877116507956), -t => 'sigmoid', -r => -6 ])
    {
        run([ qw(klr-train -q -s svm -g 0.05 -e 1e-6), @$case, $heart, $model ]);
        my @rows = split /\n/, run([ qw(klr-predict --decision), $heart,
            $model, '/dev/stdout' ])->{out} =~ s/^Accuracy.*//mr;
        push @decisions, [ map { (split)[1] } @rows ];
    }
    my ($limit, $near) = @decisions;
    my ($far) = sort { $b <=> $a } map { abs($limit->[$_] - $near->[$_]) }
        0 .. 269;
    is(scalar @$limit, 270, 'decision values by the exponential kernel');
    cmp_ok($far, '<', 1e-3, "those of the sigmoid kernel tend to them ($far)");
    cmp_ok($far, '>', 0, 'without being the same');
}

# ---- precomputed kernels ----

# A matrix of points (x, y) of two classes, by a function of two of them.
sub matrix
{
    my ($name, $kernel) = @_;
    my @x = map { [ cos(3 * $_) + $_ % 2, sin(7 * $_) ] } 1 .. 40;
    return put("$dir/$name", join '', map { my $i = $_;
        ($i % 2) . ' 0:' . ($i + 1) . join('', map { sprintf ' %d:%.10g',
            $_ + 1, $kernel->(@{ $x[$i] }, @{ $x[$_] }) } 0 .. $#x) . "\n" }
        0 .. $#x);
}
# The negative distance is conditionally positive definite: its dual is a bound
# where the sum of the coefficients is 0. tanh is indefinite, and has none.
my $distance = matrix('distance',
    sub { -sqrt(($_[0] - $_[2])**2 + ($_[1] - $_[3])**2) });
my $tanh = matrix('tanh', sub {
    my $sum = exp(2 * ($_[0] * $_[2] + $_[1] * $_[3] + 0.5));
    return ($sum - 1) / ($sum + 1);
});
for my $case ([ '-a smo', 1, 0 ], [ '-a smo1', 1, 0 ], [ '-s svm', 1, 0 ],
    [ '-s sklr -l 0.1 -a smo', 1, 0 ], [ '-a smo1 --no-bias', 0, 0 ],
    [ '-a smo -v 3', 1, 0 ], [ '--regularizer coef', 1, 1 ])
{
    my ($options, @gap) = @$case;
    for my $data ($distance, $tanh) {
        my $json = printed_json(run([ qw(klr-train -q --json -t precomputed),
            split(/ /, $options), $data, $options =~ /-v/ ? () : "$dir/m" ]));
        my ($dual, $gap) = @$json{qw(dual gap)};
        my $name = "$options, " . ($data eq $tanh ? 'tanh' : 'distance');
        my $constant = $options =~ /svm/ ? 40 # 2 sum C_i of a class, of two
            : 30 * 40 * log(2) * ($options =~ /-v/ ? 2 : 1);
        my $shifted = $options =~ /sklr/; # log(1 + e^0.1)
        $constant *= log(1 + exp 0.1) / log 2 if $shifted;
        my $worse = !defined $gap && $json->{objective} > $constant;
        is($json->{status}, $worse ? 'precision_limit' : 'converged',
            "$name: status");
        like(join(' ', @{ $json->{warnings} }), $worse
            ? qr/not positive semidefinite.*: do not rely on its answers/
            : qr/^(?:one point alone[^;]*)?$/, "$name: warnings");
        ok(shift @gap
            ? abs($gap) < 1e-2 && $dual <= $json->{objective}
            : !defined $gap && !defined $dual, "$name: gap");
    }
}

# Of a sigmoid kernel of few examples all eigenvalues tell. A gap that is there is
# that of the same model by the matrix, and none is where they tell nothing.
my $few = put("$dir/few", join '', (split /^/, get($heart))[ 0 .. 99 ]);
my @example = map { [ split ' ' ] } split /\n/, get($few);
my @x = map { my $row = $_; +{ map { split /:/ } @$row[ 1 .. $#$row ] } } @example;
sub tanh_of
{
    my ($i, $j, $r) = @_;
    my $sum = $r;
    $sum += $x[$i]{$_} * ($x[$j]{$_} // 0) / 13 for keys %{ $x[$i] };
    return (exp(2 * $sum) - 1) / (exp(2 * $sum) + 1);
}
for my $case ([ '-s klr', -2, 1 ], [ '-s svm', -2, 1 ], [ '-s klr -v 3', -2, 1 ],
    [ '-s svm --no-bias', -2, 0 ], [ '-s klr', 0.5, 0 ], [ '-s klr -c 1', -0.35 ])
{
    my ($options, $r, $has_gap) = @$case;
    my @train = (qw(klr-train -q --json -e 1e-7), split(' ', $options));
    my @model = $options =~ /-v/ ? () : "$dir/m";
    my $json = printed_json(run([ @train, qw(-t sigmoid -r), $r, $few, @model ]));
    my $name = "sigmoid, r = $r, $options";
    ok(defined $json->{gap} == defined $json->{dual}, "$name: a dual for a gap");
    ok($has_gap ? $json->{gap} >= 0 && $json->{gap} < 1e-5 : !defined $json->{gap},
        "$name: " . ($json->{gap} // 'none')) if defined $has_gap;
    next if defined $has_gap && !$has_gap;
    put("$dir/matrix", join '', map { my $i = $_; join(' ', $example[$i][0],
            '0:' . ($i + 1), map { sprintf '%d:%.17g', $_ + 1, tanh_of($i, $_, $r) }
            0 .. $#x) . "\n" } 0 .. $#x);
    my $other = printed_json(run([ @train, qw(-a smo -t 4), "$dir/matrix", @model ]));
    cmp_ok(abs($json->{dual} / $other->{dual} - 1), '<', 1e-6,
        "$name: as by the matrix, a gap of $json->{gap}");
}
# Of more examples a bound of the least eigenvalue does, in good time for up to
# 10000: the gap is that of all eigenvalues or more, and what points at larger -e
# and smaller ones have is within it.
my $many_few = put("$dir/501", clusters(seed => 1, labels => [ 0, 1 ], n => 501,
    d => 3));
for my $case ([ '-r -2 -g 0.01 -c 1', 1e-5 ], [ '-r -1 -g 0.1 -c 0.1', 0.1 ],
    [ '-r 0 -g 1 -c 30', undef ], [ '-r -2 -g 0.01 -c 1 --time-limit 100', undef ])
{
    my ($options, $most) = @$case;
    my @told = map { printed_json(run([ qw(klr-train -q --json -t sigmoid -e), $_,
        split(' ', $options), $many_few, "$dir/m" ])) } 1e-2, 1e-6;
    my ($rough, $fine) = @told;
    my $name = "501 examples, $options";
    is(2, scalar(grep { !defined $_->{gap} && !defined $_->{dual} } @told),
        "$name: no gap") if !defined $most;
    next if !defined $most;
    cmp_ok($fine->{gap}, '<', $most, "$name: the gap");
    cmp_ok($fine->{gap}, '>', 0, "$name: which is more than 0");
    cmp_ok($rough->{dual}, '<=', $fine->{objective}, "$name: the dual is a bound");
    cmp_ok($rough->{gap}, '>=', $fine->{gap} - 1e-12, "$name: a rougher one");
}

# ---- Nearly positive semidefinite ----

# Of a matrix of an RBF kernel with errors the best point is not known, however
# near solvers come to a stationary one: the gap that is told covers what better
# points there are. By smo from other starts, of larger C, some are found.
sub rough
{
    my ($error) = @_;
    my $random = uniform(7);
    my @e = map { [ map { $error * (2 * $random->() - 1) } 0 .. 39 ] } 0 .. 39;
    my $at = -1;
    return matrix("rough.$error", sub {
        $at++;
        my ($i, $j) = sort { $a <=> $b } int($at / 40), $at % 40;
        return exp(-0.1 * (($_[0] - $_[2])**2 + ($_[1] - $_[3])**2))
            + $e[$i][$j];
    });
}
my @precomputed = qw(klr-train -q --json -t precomputed);
for my $case ([ 1e-9, '', 'converged' ], [ 3e-4, '', 'precision_limit' ],
    [ 3e-4, '-a smo', 'converged' ], [ 3e-4, '-s kfd', 'precision_limit' ],
    [ 3e-4, '--multiclass softmax', 'precision_limit' ])
{
    my ($error, $options, $status) = @$case;
    my $json = printed_json(run([ @precomputed, (split ' ', $options),
        rough($error), "$dir/m" ]));
    my $name = "errors of $error, $options";
    is($json->{status}, $status, "$name: status");
    ok($error < 1e-6 ? $json->{gap} < 1e-6
        : $json->{gap} > 1e-4 && $json->{gap} < 0.5, "$name: $json->{gap}");
    ok($json->{dual} <= $json->{objective}, "$name: the dual is below");
    like(join(' ', @{ $json->{warnings} }), $status eq 'converged' ? qr/^$/
        : qr/not positive semidefinite.*: the model is usable but not optimal/,
        "$name: warnings");
}
# What the smallest eigenvalue may hide is in the gap, half of it at least where
# Lanczos iterations look for it, of more than 500 examples; twice as much in a
# softmax. smo keeps no blocks of K that the iterations could use.
for my $case ([ 510, 2, 1 / 2, 0.5 ], [ 510, 2, 1 / 2, 0.5, '-a smo' ],
    [ 300, 2, 1 / 2, 0.98 ], [ 60, 2, 1 / 2, 0.98 ], [ 60, 3, 1, 0.98 ])
{
    my ($n, $classes, $share, $part, $options) = @$case;
    $options //= '--multiclass softmax';
    my $random = uniform(3);
    my @x = map { [ map { 4 * $random->() - 2 } 1 .. 6 ] } 1 .. $n;
    my (@k, $text);
    for my $i (0 .. $n - 1) {
        for my $j (0 .. $i) {
            my $square = 0;
            $square += ($x[$i][$_] - $x[$j][$_])**2 for 0 .. 5;
            $k[$i][$j] = $k[$j][$i] = exp(-0.1 * $square)
                + ($n < 100 ? 1e-2 : 4e-4) * (2 * $random->() - 1);
        }
    }
    for my $i (0 .. $n - 1) {
        $text .= join(' ', int($classes * ($x[$i][0] + 2) / 4),
            '0:' . ($i + 1), map { $_ + 1 . ":$k[$i][$_]" } 0 .. $n - 1) . "\n";
    }
    my $data = put("$dir/large", $text);
    my $json = printed_json(run([ @precomputed, qw(-c 1), split(' ', $options),
        $data, "$dir/m" ]));
    my $least = printed_json(run([ qw(klr-train --check-kernel --json -t
            precomputed), $data ]))->{centred_least};
    my $hidden = -$least * $n * $share / $json->{objective};
    my $name = "$n rows, $classes classes, $options";
    cmp_ok($hidden, '>', 1e-3, "$name: an eigenvalue of $least");
    cmp_ok($json->{gap}, '>=', $part * $hidden, "$name: a gap of $json->{gap}");
    cmp_ok($json->{gap}, '<=', 1.01 * $hidden, "$name: and no more");
}
for my $options ('-a smo -c 1e4', '-s ivm', '-a smo --gap 1e-5 -c 1000') {
    my $json = printed_json(run([ @precomputed, (split ' ', $options),
        rough(1e-2), "$dir/m" ]));
    is($json->{status}, 'precision_limit', "$options: status");
    ok(!defined $json->{gap} && !defined $json->{dual}, "$options: no gap");
    like($json->{warnings}[0], qr/^the kernel matrix is not positive semidef/,
        "$options: a warning");
}
my $points = put("$dir/points", join '', map { "$_\n" } 1 .. 10);
for my $options ('--basis 10', "--points $points") {
    my $some = printed_json(run([ @precomputed, (split ' ', $options),
        rough(3e-4), "$dir/m" ]));
    is($some->{status}, 'converged', "$options: status");
    cmp_ok($some->{gap}, '<', 1e-6, "$options: the gap is that of the points");
    ok(!defined $some->{basis}{full_gap}, "$options: no bound to all examples");
}

# Three classes: one problem a pair.
my $three = put("$dir/three", join '', map { sprintf "%d 1:%.6f 2:%.6f\n",
    $_ % 3, cos(2.1 * ($_ % 3)) + 0.3 * sin(5 * $_), sin(2.1 * ($_ % 3))
    + 0.3 * cos(3 * $_) } 1 .. 90);
my $run = run(['klr-train', '--json', qw(-t sigmoid --regularizer coef),
    '-a', 'newton', $three, "$dir/three.model"]);
cmp_ok(printed_json($run)->{gap}, '<=', 1e-6, 'three classes: gap');

# Features that tell nothing: an svm that stops by its tolerance may be above
# the best constant by as much, which is not the fault of rounding.
my $draw = uniform(11);
my $noise = put("$dir/noise", join '', map {
    join(' ', $draw->() < 0.3 ? 1 : 0, map {
        "$_:" . (int(3 * $draw->()) - 1) } 1 .. 3) . "\n" } 1 .. 60);
for my $c (0.003, 0.01, 0.1, 1) {
    $run = run([ qw(klr-train -q --json -s svm --regularizer coef -t 0 -c), $c,
        $noise, "$dir/noise.model" ]);
    is("$run->{err}" . printed_json($run)->{status}, 'converged',
        "noise at C = $c");
}

done_testing();
