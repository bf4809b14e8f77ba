#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# What is reported holds for the file: objectives and gaps at the edges of what
# doubles hold, where a solver may believe what rounding errors tell it.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use Certificates;
use Judge;
use KLR;

my $dir = scratch();
my $random = uniform(3);

# Two or more classes that overlap, with a column that has an offset.
sub offset_rows
{
    my ($offset, $n, $classes) = @_;
    return join '', map {
        my $y = $_ % ($classes // 2);
        sprintf "%d 1:%.10g 2:%.6f 3:%.6f\n", $y,
            $offset * (1 + 3e-5 * $random->()), $y + 2 * $random->(),
            $random->()
    } 1 .. $n;
}

# What a run says: its line of JSON, and its warnings.
sub told
{
    my (@options) = @_;
    my $run = run([ 'klr-train', qw(-q --json --keep-sv), @options,
            "$dir/model" ]);
    is($run->{exit}, 0, "@options: exit status") or diag($run->{err});
    return (printed_json($run), $run->{err});
}

# A run that is not called converged, and says why and what to do.
sub doubts
{
    my ($why, @options) = @_;
    my ($json, $err) = told(@options);
    is($json->{status}, 'precision_limit', "@options: status");
    like($err, $why, "@options: a warning");
    like(get("$dir/model"), qr/^status precision_limit$/m, "@options: model");
    return $json;
}

my $lost = qr/decision values are lost in rounding errors: do not rely on/;

# ---- A column in seconds ----

my $clock = put("$dir/clock", offset_rows(1.7e9, 20));
for my $options ('-a smo', '-a newton', '-s ivm', '-a trirls',
    '-a newton --regularizer coef') {
    doubts(qr/$lost its answers; scale the features/, qw(-t 0),
        split(/ /, $options), $clock);
}
my $svm = run([ 'klr-train', qw(-q --keep-sv -t 0 -s svm --max-iter 10000),
    $clock, "$dir/model" ]);
like($svm->{err}, qr/iterations was reached: .*which tells nothing/,
    'svm: stopped at a gap of nearly 1');
my ($scaled) = told(qw(-t 0 -a smo -c 1 --scale standard), $clock);
is($scaled->{status}, 'converged', 'scaled: status');
cmp_ok($scaled->{objective}, '<', 20 * log 2, 'scaled: objective');

# So large that no kernel tells examples apart: what ends at once, since nothing
# seems to lower the objective, has not converged.
my $large = put("$dir/large", join '', map {
    my $y = $_ % 2;
    sprintf "%d 1:%.17g 2:%.6f\n", $y, 1e15 + 4 * $y + int(8 * $random->()),
        $random->()
} 1 .. 40);
for my $options ('-s ivm', '-a trirls') {
    doubts(qr/$lost its answers; scale the features/, qw(-t 0),
        split(/ /, $options), $large);
}

# What no double reaches: the model is as good as any, and steps end.
for my $options ('-e', '--gap', '-a smo --gap', '-s sklr --gap', '-s svm -e',
    '-s svm --gap', '-s svm -h 0 -e', '--basis 20 -e')
{
    my $json = doubts(qr/rounding errors allow no smaller .* is usable/,
        split(/ /, $options), 1e-300, 'heart_scale');
    cmp_ok($json->{gap}, '<', 1e-9, "$options: as good as any");
    cmp_ok($json->{iterations}, '<', 1e6, "$options: ends");
}
my $few = put("$dir/few", join '', (split /^/, get('heart_scale'))[ 0 .. 29 ]);
my $idle = doubts(qr/allow no smaller violation/, qw(-s svm -e 1e-300), $few);
cmp_ok($idle->{iterations}, '<', 1e6, 'svm: ends with examples set aside');

# What -e allows an svm at a large C may be more than its objective.
for my $case ([ '-c 1,1e8', qr/^klr-train: warning: C = 100000000: the violat/ ],
    [ '-c 1e8', qr/ gap of 1, which tells nothing of the model: .*--gap\n\z/ ],
    [ '-c 100', qr/\A\z/ ], [ '-c 1e6 --gap 1e-3', qr/\A\z/ ])
{
    my ($options, $warning) = @$case;
    my $run = run([ qw(klr-train -q -s svm), (split ' ', $options),
        'heart_scale', "$dir/model" ]);
    like($run->{err}, $warning, "svm $options: warnings");
}

# What a limit ended may still be worse than a constant: the zero model of the
# svm has 240.
for my $case ([ 3, 240.1, 500, 'do not rely on its answers' ],
    [ 30, 0, 239.9, 'the model is usable but not optimal' ])
{
    my ($steps, $least, $most, $says) = @$case;
    my ($json, $err) = told(qw(-s svm --max-iter), $steps, 'heart_scale');
    is($json->{status}, 'iteration_limit', "$steps steps: status");
    cmp_ok($json->{objective}, '>', $least, "$steps steps: not less");
    cmp_ok($json->{objective}, '<', $most, "$steps steps: not more");
    like($err, qr/iterations was reached: $says/, "$steps steps: a warning");
}

# Nor does a limit hide that rounding made a model worthless, and where no
# product was left to tell, that is said.
for my $case ([ '-t 0 -c 1 --max-iter 30', $clock, 'do not rely on its answers' ],
    [ '-s kfd --time-limit 1e-9', 'heart_scale',
        'nothing tells how good the model is' ])
{
    my ($options, $data, $says) = @$case;
    my ($json, $err) = told(split(/ /, $options), $data);
    like($json->{status}, qr/^(?:iteration|time)_limit$/, "$options: status");
    like($err, qr/was reached: $says/, "$options: a warning");
}

# What the file has, not what steps summed up to.
my $far = put("$dir/far", offset_rows(1e6, 20));
for my $solver (qw(smo newton)) {
    my ($json) = told(qw(-t 0 -c 1 -a), $solver, $far);
    my ($judged) = evaluate('klr', $far, "$dir/model", 1);
    cmp_ok(abs($json->{objective} / $judged->{primal} - 1), '<', 1e-4,
        "$solver at 1e6: the objective of the file");
    next if $json->{status} ne 'converged';
    cmp_ok($judged->{model_gap}, '<=', 1e-6, "$solver at 1e6: the gap");
}

# Rows of SMO are of floats, products by features are not.
my $away = put("$dir/away", join '', map {"$_\n"} '0 1:30.08031084',
    '1 1:30.46033226', '0 1:29.08018668', '1 1:29.37348568', '0 1:28.70355963');
my ($rows) = told(qw(-t 0 -a smo1 -c 1 -w1 1.082), $away);
my ($away_judged) = evaluate('klr', $away, "$dir/model", 1, '1=1.082');
cmp_ok(abs($rows->{objective} / $away_judged->{primal} - 1), '<', 1e-9,
    'rows of floats: the objective of the file');

# f = K beta - rho is no better than u and rho are rounded: the dual point that
# is formed of it errs by C times as much, and again by K.
my $slope = uniform(1);
my $steep = put("$dir/steep", join '', map {
    sprintf "%d 1:%.7f\n", $_ % 2, 625 + 0.6 * ($_ % 2) + 2 * $slope->()
} 1 .. 40);
doubts($lost, qw(-a cg --regularizer coef -t 0 -c 3e7), $steep);

# ---- coef0 ----

my $plain = put("$dir/plain", offset_rows(1, 60));
for my $coef0 (1e20, 1e60, 1e100) {
    for my $solver (qw(newton smo)) {
        my @options = (qw(-t 1 -d 3 -g 1 -r), $coef0, '-a', $solver);
        my $run = run([ 'klr-train', qw(-q --json --keep-sv), @options, $plain,
            "$dir/model" ]);
        if ($run->{exit}) {
            like($run->{err}, qr/overflows/, "@options: an error");
            next;
        }
        is(printed_json($run)->{status}, 'precision_limit',
            "@options: status");
        like($run->{err}, qr/choose a smaller coef0 \(-r\)/,
            "@options: what to do");
    }
}

# A constant that leaves nothing of the features: the optimum of what is left
# need not be that of the kernel.
my $three = put("$dir/three", <<'END');
0 1:722804.3346 2:-0.4706209244 3:-0.7933164005
1 1:722806.7707 2:1.59440273 3:722806.8963
2 1:722806.0555 2:722806.8188 3:1.320822761
0 1:722805.1076 2:722804.2736 3:-0.9970597522
1 1:722806.4562 2:1.055452614 3:722806.7673
2 1:722807.4825 2:722806.6296 3:722806.0333
2 1:722806.4145 2:722806.778 3:0.6005441234
1 1:722806.4187 2:0.6445520228 3:722805.9728
2 1:722806.5457 2:1.510135273 3:722807.7925
2 1:722807.2123 2:1.157111364 3:1.899794981
END
doubts($lost, qw(--multiclass softmax -t 1 -g 1 -d 1 -w1 0.446),
    qw(-r 1.08082610335528e+94 -c 0.096503574071566), $three);

# Where floats drown the regularizer, machines that a link is fitted without a
# part for are solved by doubles.
{
    my ($json, $err) = told(qw(-s kfd --link platt -c 1e6 -g 1e-4 heart_scale));
    is("$json->{status}$err", 'converged', 'kfd at a large C, with a link');
}

# Where a large gap is allowed, objectives are exact all the same.
{
    my $blurred = put("$dir/blurred",
        clusters(seed => 7, labels => [ 1, -1 ], n => 1000, d => 8));
    my @kfd = (qw(-s kfd --link none -g 1.5), $blurred);
    my (undef, $err) = told(qw(--max-iter 1 -c 1000), @kfd);
    like($err, qr/was reached: nothing tells how good the model is/,
        'no constant to compare a discriminant with');
    my ($exact) = told(@kfd);
    cmp_ok($exact->{precond_flops}, '<', 50,
        'nothing is factored, though the gap falls slowly at first');
    for my $eps (1e-2, 1e-4) {
        my ($json, $err) = told('-e', $eps, @kfd);
        is("$json->{status}$err", 'converged', "kfd to a gap of $eps");
        cmp_ok($json->{gap}, '<=', $eps, 'which it has');
        cmp_ok(abs($json->{dual} / $exact->{objective} - 1), '<=', $eps,
            'below the optimum');
        cmp_ok($json->{objective}, '>=', $exact->{objective} * (1 - 1e-12),
            'and above');
    }
}

# ---- Solvers that choose kernels ----

my $ranked = put("$dir/ranked", offset_rows(1e6, 40));
for my $options ('-s kfd -a greedy', '-s ivm') {
    my $json = doubts(qr/rounding errors.*; scale the features/, qw(-t 0),
        split(/ /, $options), $ranked);
    cmp_ok($json->{n_sv}, '<', 3, "$options: it ends for want of kernels");
}

# Where the span of few kernels is all there is, that is the optimum.
for my $options ('-s kfd -a greedy --regularizer kernel', '-s ivm -e 1e-9') {
    my ($json) = told(qw(-t 0), split(/ /, $options), $plain);
    is($json->{status}, 'converged', "$options: rank 3, converged");
}

# Coefficients of 1e9 and more, whose norm is lost.
my $ones = put("$dir/ones", join '', map {
    sprintf "%d 1:%.8f\n", $_ % 2, 30 + ($_ % 2) + 2 * $random->()
} 1 .. 12);
doubts($lost, qw(-s kfd -a greedy --regularizer kernel -c 10),
    qw(-t 1 -g 1e-10 -d 2 -r 1), $ones);

# Rounds of ivm end by the losses of examples that are held out, not by one
# small step: on rings that many points tell apart.
my $rings = put("$dir/rings", join '', map {
    my ($x, $z) = (4 * $random->(), 4 * $random->());
    my $y = (int($x) + int($z)) % 2;
    $y = 1 - $y if $random->() < 0.05;
    sprintf "%d 1:%.5f 2:%.5f\n", $y, $x, $z
} 1 .. 1500);
my @ivm = (qw(-s ivm -g 4 -c 10), $rings);
my ($full) = told(qw(-g 4 -c 10), $rings);
my ($held) = told(@ivm);
my ($step) = told(qw(-e 1e-3), @ivm);
cmp_ok($held->{n_sv}, '>', $step->{n_sv}, 'more points than by one step');
cmp_ok($held->{objective}, '<', 1.1 * $full->{objective},
    'nearly the objective of all points');

# ---- Large and small C ----

my $cube = put("$dir/cube", "0\n0 3:1\n0 2:1\n1 2:1 3:1\n1 1:1\n1 1:1 3:1\n"
        . "2 1:1 2:1\n2 1:1 2:1 3:1\n");
for my $c (1e40, 1e120, 1e200, 1e300) {
    my ($huge) = told(qw(-s lhalf -c), $c, $cube);
    cmp_ok($huge->{objective}, '<', 1e6, "lhalf at $c: not the empty model");
}

# Precision that is used up ends smo soon.
my ($box, $said) =
    told(qw(-s sklr -a smo -e 1e-13 -c 100 --box 1e-13), $plain);
like($box->{status}, qr/^(converged|precision_limit)$/, 'a tiny box: status');
cmp_ok($box->{iterations}, '<', 1e6, 'a tiny box: it ends');

# Where steps by float entries come to nothing, those by doubles still gain.
my ($finer) = told(qw(-s svm -t 0 -c 512), 'heart_scale');
is($finer->{status}, 'converged', 'an svm goes on with doubles');

# An end by the limit of steps is not called one by rounding.
my ($ended) = told(qw(-s sklr -c 1e6 --basis 20), 'heart_scale');
is($ended->{status}, 'iteration_limit', 'a basis that takes all its steps');

# ---- A dual that tells nothing ----

my $run = run([ 'klr-train', qw(-q --json -c 1e6 -g 5 --max-iter 3), $plain,
    "$dir/model" ]);
like($run->{err}, qr/which tells nothing of the model/,
    'a gap of nearly 1: said');

# ---- Random trainings ----

certified($dir, 1, 4);

done_testing();
