#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# Kernels of finite entries whose products overflow: an error, not a model of
# numbers that are none. The inputs were found by check-fuzz.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;

my $linear = <<'DATA';
+1 1:0.5 2:-1 3:0.25
-1 1:-0.5 2:1 3:0.5
+1 1:0.75 2:-0.5 3:0
-1 1:-1 2:0.25 3:-0.25
+1 1:0.25 2:-0.75 3:1
-1 1:0.125 2:0.5 3:-1
+1 1:1 2:0.1 3:0.2
-1 1:-0.3 2:-0.4 3:-0.6
+1 1:-0.2 2:-1e154 3:0.3
-1 1:0.6 2:0.8 3:-0.7
DATA

my $dir = scratch();
put("$dir/linear", $linear);

my @few = qw(--max-iter 100);
for my $options (\@few, [ @few, qw(-c 100) ], [ @few, qw(-a smo -c 100) ],
    [qw(-w1 1e300 -w-1 1e300)])
{
    my $run = run([ qw(klr-train -q --json -t 0), @$options, 'linear',
            'model' ], cwd => $dir);
    my $at = "@$options" =~ /-c (\S+)/ ? $1 : 10;
    my $refused = $run->{exit} == 1 && !-e "$dir/model" && $run->{err} eq
        "klr-train: linear: the objective overflows at C = $at: scale the "
        . "features, or choose a smaller -c or smaller weights\n";
    my $usable = $run->{exit} == 0
        && $run->{out} =~ /"objective": -?\d/
            && run([ 'klr-predict', 'linear', 'model',
            'out' ], cwd => $dir)->{exit} == 0;
    ok($refused || $usable, "linear @$options: refused, or a model of numbers")
        or diag("exit $run->{exit}: $run->{err}");
    unlink "$dir/model";
}

# Where no gain of a step is a number, there are no more steps, but what is
# reached is not optimal.
put("$dir/matrix", <<'DATA');
1 0:1 1:2 2:-1 3:-9e307 4:-1e308 5:1 6:-1e308
1 0:3 1:-9e307 2:-0.25 3:1 4:-0.5 5:0.25 6:-0.5
-1 0:2 1:-1 2:3 3:-0.25 4:1 5:-1 6:0.5
-1 0:4 1:-1e308 2:1 3:-0.5 4:2 5:-0.75 6:0.25
1 0:5 1:1 2:-1 3:0.25 4:-0.75 5:2 6:-0.25
-1 0:6 1:-1e308 2:0.5 3:-0.5 4:0.25 5:-0.25 6:1
DATA
my $run = run([ qw(klr-train --json -s svm -t precomputed -b 1 matrix model) ],
    cwd => $dir);
is($run->{exit}, 0, 'an svm of 1e308 ends') or diag($run->{err});
like($run->{out}, qr/"status": "precision_limit"/, 'and says how');

# Decision values whose reciprocals overflow tell nothing of a slope.
put("$dir/tiny", join '', map { $_ % 3 . " 1:$_ 2:-1\n" } 1 .. 60);
for my $options (qw(svm sklr)) {
    $run = run([ qw(klr-train -q -b 1 -c 1e-300 -g 1e-300 -s), $options,
            qw(--box 1e-301 tiny model) ], cwd => $dir);
    is($run->{exit}, 0, "$options of 1e-300") or diag($run->{err});
    $run = run([ qw(klr-predict tiny model out) ], cwd => $dir);
    is($run->{exit}, 0, 'its model is one of numbers') or diag($run->{err});
}

# Examples to be answered may be far larger than those of the model: what counts
# is their inner product with these.
put("$dir/small", "+1 1:1 2:0.5\n-1 1:-1 2:0.25\n+1 1:0.5\n-1 1:-0.5 2:1\n");
run([ qw(klr-train -q -t 1 -d 3 -g 1 small model) ], cwd => $dir);
for my $case ([ '1e80', 0, '' ], [ '1e110', 1, 'klr-predict: stdin:2: the '
        . 'features are so large that the polynomial kernel overflows; '
        . "scale the data\n" ])
{
    my ($value, $exit, $message) = @$case;
    $run = run([ qw(klr-predict -q - model) ], cwd => $dir,
        stdin => "1 1:1\n1 1:$value\n");
    is($run->{err}, $message, "a cube of $value");
    is($run->{exit}, $exit, 'exit status');
}

# At such a C the shares of alpha that smo starts between have a product of 0.
put("$dir/four", "1 1:1\n1 1:2\n-1 1:-1\n-1 1:-2\n");
$run = run([ qw(klr-train -q -a smo --max-iter 100 -g 1 -c 1e250 four model) ],
    cwd => $dir);
ok($run->{exit} == 0 || $run->{err} eq
        'klr-train: four: the objective overflows at C = 1e+250: scale the '
        . "features, or choose a smaller -c or smaller weights\n",
    'smo ends at a C of 1e250') or diag($run->{err});

# What the hinge sets aside comes back with products that are no numbers.
my $overflows = '1 klr-train: matrix: the objective overflows at C = 1e+100: '
    . "scale the features, or choose a smaller -c or smaller weights\n";
put("$dir/matrix", <<'DATA');
1 0:1 1:2e300 2:-1e300 3:1e300 4:-2e300
-1 0:2 1:-1e300 2:0 3:0 4:-1e300
1 0:3 1:1e300 2:0 3:0 4:0
-1 0:4 1:-2e300 2:-1e300 3:0 4:1e300
DATA
$run = run([ qw(klr-train -q -s svm -t precomputed -c 1e100 matrix model) ],
    cwd => $dir);
is("$run->{exit} $run->{err}", $overflows, 'an svm that shrinks ends');

# The objective of a discriminant is 0 where its inverse overflows; rho is none.
put("$dir/matrix", "1 0:1 1:1e154 2:0\n-1 0:2 1:0 2:-1e300\n");
for my $threshold (qw(model svm)) {
    $run = run([ qw(klr-train -q -s kfd -a greedy -t precomputed -c 1e100
                --threshold), $threshold, qw(matrix model) ], cwd => $dir);
    is("$run->{exit} $run->{err}", $overflows, "a threshold by $threshold");
}

# Where C is what overflows, features are not all that there is to blame.
$run = run([ qw(klr-train -q -s sklr -c 1e300 four model) ], cwd => $dir);
is("$run->{exit} $run->{err}",
    '1 klr-train: four: the objective overflows at C = 1e+300: scale the '
        . "features, or choose a smaller -c or smaller weights\n",
    'a C of 1e300');
is(run([ qw(klr-train -q -s sklr -c), '1e300,1e301,1', qw(four model) ],
        cwd => $dir)->{err}, $run->{err}, 'of several the first is named');

# A discriminant weighs its regularizer by 1 / C. Positive semidefinite kernels
# lose that to rounding, precomputed ones never had it.
put("$dir/heart", get('heart_scale'));
for my $case (
    [ '-s kfd -c 1e-300', 'the objective overflows at C = 1e-300: scale the '
        . 'features, or choose a larger -c or larger weights' ],
    [ '-s kfd -c 1e200', 'no discriminant: rounding errors leave nothing of the '
        . 'regularizer at C = 1e+200; choose a smaller -c' ],
    [ '-t polynomial -r 1e12 -c 1', 'rounding errors of the kernel matrix are too '
        . 'large: scale the features, or choose a smaller -g or -r' ],
)
{
    my ($options, $says) = @$case;
    $run = run([ qw(klr-train -q), split(' ', $options), qw(heart model) ],
        cwd => $dir);
    is("$run->{exit} $run->{err}", "1 klr-train: heart: $says\n", $options);
}
# Where all digits of K are lost a larger C is not approached step by step.
my ($small, $large) = map { printed_json(run([ qw(klr-train -q --json --no-bias
            -t polynomial -r 1e50), -c => $_, qw(heart model) ],
        cwd => $dir))->{iterations} } 1e-10, 1e10;
cmp_ok($large, '<', $small + 20, 'C over twenty decades');
put("$dir/matrix", "1 0:1 1:1 2:9 3:2\n-1 0:2 1:9 2:1 4:2\n"
    . "1 0:3 1:2 3:1 4:9\n-1 0:4 2:2 3:9 4:1\n");
for my $case ([ '', '-a smo' ], [ '-s kfd', '--regularizer coef' ]) {
    my ($options, $use) = @$case;
    $run = run([ qw(klr-train -q -t 4 -c 10), split(' ', $options),
            qw(matrix model) ], cwd => $dir);
    is($run->{err}, 'klr-train: matrix: the kernel matrix is not positive '
        . "semidefinite to rounding: use $use\n", "indefinite $options");
}

# Of several points those that cannot be solved have no values; the others do.
for my $case ([ 'a C', '-s sklr -c 1,1e300 four' ],
    [ 'a gamma', '-t polynomial -g 1,1e200 heart' ])
{
    my ($name, $options) = @$case;
    $run = run([ qw(klr-train -q -v 2 --json), split(' ', $options), 'none' ],
        cwd => $dir);
    is($run->{exit}, 0, "$name that overflows") or diag($run->{err});
    my $json = printed_json($run);
    my ($good, $lost) = @{ $json->{values} };
    is("$good->{status} $lost->{status}", 'converged precision_limit',
        "$name: status");
    ok(defined $good->{log_loss} && !defined $lost->{log_loss}, "$name: values");
    is("$json->{best_c} " . ($json->{best_gamma} // ''),
        "$good->{c} " . ($good->{gamma} // ''), "$name: the other is the best");
}
my @command = (qw(klr-train -q -v 2 -t polynomial -g), "1,1e200", qw(heart none));
$run = run([ @command, qw(--log log) ], cwd => $dir);
like($run->{out}, qr/^1e\+200(?: +-)+$/m, 'a hole in the table');
is(run([ @command, qw(--log log --resume) ], cwd => $dir)->{out}, $run->{out},
    'the same resumed');
is(run([ @command, qw(-j 3) ], cwd => $dir)->{out}, $run->{out},
    'by three threads');
$run = run([ qw(klr-train -q -v 2 -t polynomial -g), "1e200,1e250", qw(heart none) ],
    cwd => $dir);
is("$run->{exit} $run->{out}$run->{err}", '1 klr-train: heart:1: the features are '
        . "so large that the polynomial kernel overflows; scale the data\n",
    'no point can be solved');

done_testing();
