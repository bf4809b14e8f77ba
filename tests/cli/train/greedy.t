#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# Sparse greedy Fisher discriminants from the command line: options, what is
# reported, and what is refused.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Cwd 'abs_path';
use KLR;
use Test::More;

my $heart = abs_path('heart_scale');
my $dir = scratch();

sub train
{
    my ($model, @options) = @_;
    my $run = run(['klr-train', '--json', '--link', 'none', @options, $heart,
            $model], cwd => $dir);
    is($run->{exit}, 0, "@options: exit status") or diag $run->{err};
    my %value = $run->{out} =~ /"(\w+)": ?("[^"]*"|[^,{}]+)/g;
    return \%value;
}

my @greedy = qw(-s kfd -a greedy);
my $exact = train('x', qw(-s kfd -a exact --regularizer coef));
my $drawn = train('d', @greedy);
my $all = train('a', @greedy, qw(--candidates 0));
my $few = train('f', @greedy, qw(--max-basis 12));
my $svm = train('t', @greedy, qw(--threshold svm));

cmp_ok($drawn->{objective}, '>', $exact->{objective},
    'few kernels cost something');
cmp_ok($drawn->{objective}, '<', 1.05 * $exact->{objective}, '... but little');
cmp_ok($drawn->{n_sv}, '<', 100, 'of 270 kernels');
is($drawn->{dual}, 'null', 'no bound where candidates are drawn');
cmp_ok($all->{dual}, '<=', $exact->{objective},
    'a bound where all are looked at');
cmp_ok($all->{objective}, '>=', $exact->{objective}, '... of the optimum');
is($few->{n_sv}, 12, '--max-basis');
cmp_ok($few->{objective}, '>', $drawn->{objective}, '... costs more');
is($svm->{objective}, $drawn->{objective},
    '--threshold leaves the objective alone');
my ($own, $other) = map { get("$dir/$_") =~ /^rho (\S+)/m } qw(d t);
cmp_ok($own, '!=', $other, '... and changes the threshold');

train('j1', @greedy, qw(-j 1));
train('j3', @greedy, qw(-j 3));
is(get("$dir/j1"), get("$dir/j3"),
    'the same bytes by one and by three threads');
train("w$_", @greedy, '--window', $_) for 1, 5;
is(get("$dir/j1"), get("$dir/w5"), 'improvements are averaged over five steps');
isnt(get("$dir/j1"), get("$dir/w1"), '... and not taken from one');
train('s2', @greedy, qw(--seed 2));
isnt(get("$dir/j1"), get("$dir/s2"), 'another seed draws others');
my $worst = train('i', @greedy, qw(--selection infeasibility -e 0.1));
cmp_ok($worst->{n_sv}, '>', 5, '--selection infeasibility');

# Rows that are given are the support vectors, of any classes and in any order.
put("$dir/points", "# every ninth\n" . join '', map { 9 * $_ . "\n" }
    reverse 1 .. 30);
for my $case ([qw(-s kfd)], [qw(-s ivm)],
    [qw(-s kfd -a greedy --regularizer kernel)])
{
    my $given = train('p', @$case, qw(--points points --sv-indices));
    my @rows = sort { $a <=> $b }
        split ' ', get("$dir/p") =~ m{^sv_indices (.*)}m ? $1 : '';
    is("@rows", join(' ', map { 9 * $_ } 1 .. 30), "@$case: support vectors");
    is($given->{solver}, '"greedy"', "@$case: by greedy");
}
put("$dir/row", "5\n271\n");
put("$dir/zero", "5\n 0\n");
put("$dir/none", "# none\n");
for my $case (
    [ 'row', 1, 'row: there is no example 271 of 270' ],
    [ 'zero', 1, "zero:2:2: '0' is not the number of a row, from 1" ],
    [ 'none', 1, 'none: there are no rows in it' ],
    [ 'no', 1, 'no: cannot open: No such file or directory' ],
    [ 'points', 2, 'option --points: svm by smo takes no points', '-s', 'svm' ],
    [ 'points', 2, 'option --points: kfd by exact takes no points; solvers '
        . 'that do: greedy', qw(-s kfd -a exact) ],
    [ 'points', 2, 'option --points: nothing is left to choose or to stop by '
        . '--max-basis, --window, --candidates, --selection or -e',
        qw(-s ivm --max-basis 5) ],
) {
    my ($file, $exit, $message, @options) = @$case;
    @options = qw(-s kfd) unless @options;
    my $run = run([ 'klr-train', @options, '--points', $file, $heart, 'm' ],
        cwd => $dir);
    is("$run->{exit} $run->{err}", "$exit klr-train: $message\n",
        "--points $file @options");
}

my ($kept, $computed) = map {
    train('m', @greedy, qw(--candidates 0 --max-basis 40), -m => $_)
} 50, 0.02;
cmp_ok($kept->{kernel_evals}, '<', 0.2 * $computed->{kernel_evals},
    'all candidates: entries of the kernel matrix are kept');

for my $case (
    [[qw(--selection infeasibility)], 'selection',
        'only kfd by greedy has rules'],
    [[qw(--threshold svm)], 'threshold', 'only a kfd model has a choice'],
    [[qw(--candidates 5)], 'candidates', 'only greedy solvers choose points'],
    )
{
    my ($options, $name, $message) = @$case;
    my $run = run(['klr-train', @$options, $heart, 'no'], cwd => $dir);
    is("$run->{exit} $run->{err}", "2 klr-train: option --$name: $message\n",
        "@$options for klr");
}

done_testing();
