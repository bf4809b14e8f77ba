#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# Kernels that are not positive semidefinite: the check of the kernel matrix,
# and klr with the regularizer beta'beta.
use strict;
use warnings;
use Test::More;
use lib 'tests/cli/lib';
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

# Three classes: one problem a pair.
my $three = put("$dir/three", join '', map { sprintf "%d 1:%.6f 2:%.6f\n",
    $_ % 3, cos(2.1 * ($_ % 3)) + 0.3 * sin(5 * $_), sin(2.1 * ($_ % 3))
    + 0.3 * cos(3 * $_) } 1 .. 90);
my $run = run(['klr-train', '--json', qw(-t sigmoid --regularizer coef),
    '-a', 'newton', $three, "$dir/three.model"]);
cmp_ok(printed_json($run)->{gap}, '<=', 1e-6, 'three classes: gap');

done_testing();
