#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-3-Clause
#
# Mika, Smola & Schoelkopf, An improved training algorithm for kernel Fisher
# discriminants: Figure 2 and Table 1. Called as the head of Papers.pm says.
#
# Protocol of the paper (section 6): USPS, 7291 digits to train on and 2007 to
# test on, 256 features as they are, ten machines of one digit against the rest,
# P = |a|^2, kernel exp(-|x-z|^2 / w), 59 candidates a step, the one of the best
# objective. Figure 2: w = 0.3 * 256, C = 1 (-c 1/C), seconds of training, means
# over the ten machines, for the tolerances 1e-1, 1e-2, 1e-3 and for the exact
# problem. Table 1: C in 1e-3, 1e-4, 1e-5, w in 0.3, 0.4, 0.5 times 256, at most
# 500 kernels a machine, stop by the mean improvement over five steps; the least
# error on the test set, with the model's threshold and with that of a linear
# SVM on the outputs of the training set.
#
# Where the paper leaves it open:
# - the figure's numbers are not printed, only the exponents: about 3 of the
#   exact problem, about 3/2 of the greedy one, "for large sample sizes": here
#   the slope over the sizes from 1000 on is given. The samples are stratified.
# - the baseline of 3.7 % (Mika et al. 2000) is an expansion in the first 3000
#   examples, with the optimised threshold: --points, at the parameters that the
#   smallest tolerance chose with it.
# - candidates are random: Table 1 has medians of three seeds, and the
#   parameters of the least one.
# - the mean improvement over five steps is that of a step. Were it that of all
#   five, which is a fifth of the tolerance here, the errors at 1e-1 and 1e-2
#   would be 9.1 and 5.1 %: the paper's lie between both readings.
use strict;
use warnings;
use FindBin ();
use lib $FindBin::Bin;
use Papers;

begin();

my $features = 256;
my @greedy = qw(-s kfd -a greedy --regularizer coef --link none);
my @exact = qw(-s kfd -a exact --regularizer coef --link none);

# ---- Figure 2 ----

my @sizes = quick() ? (250, 500, 1000) : (500, 1000, 2000, 4000, 7291);
my @digits = quick() ? (0) : (0 .. 9);
my @accuracies = ('exact', 0.1, 0.01, 0.001);

# Labels are digits + 1.
sub digit_fit
{
    my ($n, $digit, $accuracy) = @_;
    my $rows = set_rows('usps');
    if ($n < @$rows) {
        my (undef, $chosen) = sample(labels($rows), $n, 1);
        $rows = [ @$rows[@$chosen] ];
    }
    my $one = $digit + 1;
    my $dir = scratch();
    put_rows("$dir/train", [ map { s/^(\S+)/$1 == $one ? '+1' : '-1'/er }
        @$rows ]);
    my $said = train($accuracy eq 'exact' ? @exact : (@greedy, '-e', $accuracy),
        '-g', 1 / (0.3 * $features), qw(-c 1), "$dir/train",
        "$dir/model")->[0];
    return { seconds => $said->{seconds}{train}, kernels => $said->{n_sv},
        status => $said->{status} };
}

my $figure = results(map { my $n = $_; map { my $accuracy = $_; map {
    my $digit = $_;
    [ "mika/figure/$accuracy/$digit-$n", sub { digit_fit($n, $digit, $accuracy)
        } ] } @digits } @accuracies } @sizes);

# Mean seconds and kernels of the machines for a size.
sub at_size
{
    my ($accuracy, $n) = @_;
    my @fit = map { $figure->{"mika/figure/$accuracy/$_-$n"} } @digits;
    my ($absent) = grep { $_->{absent} } @fit;
    return { absent => $absent->{absent} } if $absent;
    return { seconds => mean(map { $_->{seconds} } @fit),
        kernels => mean(map { $_->{kernels} } @fit),
        ended => !grep { $_->{status} ne 'converged' } @fit };
}

sub figure_row
{
    my ($accuracy) = @_;
    my (@cells, @points);
    for my $n (@sizes) {
        my $at = at_size($accuracy, $n);
        push @cells, $at->{absent} // sprintf '%s%.3f (%.0f)',
            $at->{ended} ? '' : '> ', $at->{seconds}, $at->{kernels};
        push @points, [ log $n, log $at->{seconds} ]
            if $at->{ended} && $n >= (quick() ? 250 : 1000);
    }
    return [ $accuracy, @cells, $accuracy eq 'exact' ? 'about 3' : 'about 1.5',
        number('%.2f', slope(@points)) ];
}

my $text = "### Figure 2: seconds of training (kernels) against examples\n\nThe"
    . " paper's exact problem is a quadratic program for an interior point"
    . " method.\n\n"
    . table([ 'tolerance', @sizes, 'exponent, paper', 'ours' ],
    map { figure_row($_) } @accuracies);

# ---- Table 1 ----

# Tolerance: error in % with the model's threshold, with the SVM's.
my %table1 = (0.1 => [ 10.4, 10.3 ], 0.01 => [ 6.4, 6.3 ],
    0.005 => [ 5.3, 5.3 ], 0.001 => [ 3.9, 3.8 ]);
my @tolerances = quick() ? (0.1, 0.01) : (0.1, 0.01, 0.005, 0.001);
my @thresholds = qw(model svm);
my @grid = map { my $c = $_; map { [ $c, $_ ] } quick() ? 0.5
    : (0.3, 0.4, 0.5) } quick() ? 1e3 : (1e3, 1e4, 1e5);

sub ten_machines
{
    my ($tolerance, $threshold, $c, $width, $seed) = @_;
    return machines($threshold, $c, $width, '--seed', $seed, '-e', $tolerance,
        qw(--max-basis 500));
}

sub machines
{
    my ($threshold, $c, $width, @points) = @_;
    my $rows = set_rows('usps');
    my $dir = scratch();
    my $count = quick() ? 1000 : @$rows;
    put_rows("$dir/train", $rows, [ 0 .. $count - 1 ]);
    put_rows("$dir/test", set_rows('usps.t'));
    my $said = train(@greedy, qw(--multiclass ova --threshold), $threshold,
        '-c', $c, '-g', 1 / ($width * $features), @points, "$dir/train",
        "$dir/model")->[0];
    return { error => 1 - predict("$dir/test", "$dir/model")->{accuracy},
        points => $said->{n_sv}, seconds => $said->{seconds}{train} };
}

sub machines_name
{
    return sprintf 'mika/usps/%g-%s/c%g-w%g-seed%d', @_;
}

sub machines_job
{
    my (@case) = @_;
    return [ machines_name(@case), sub { ten_machines(@case) } ];
}

my @cases = map { my $tolerance = $_; map { [ $tolerance, $_ ] } @thresholds }
    @tolerances;
my @seeds = quick() ? (1) : (1 .. 3);
my $fits = results(map { my $case = $_; map { my $point = $_; map {
    machines_job(@$case, @$point, $_) } @seeds } @grid } @cases);

# What the seeds have at a point, and why one has nothing.
sub seeded
{
    my ($case, $point) = @_;
    my @fit = map { $fits->{ machines_name(@$case, @$point, $_) } } @seeds;
    my ($absent) = grep { $_->{absent} } @fit;
    return { absent => $absent->{absent} } if $absent;
    return { map { my $what = $_; ($what => median(map { $_->{$what} } @fit)) }
        qw(error points seconds) };
}

# The point of least error, and what it has; none unless all are there.
sub chosen
{
    my ($case) = @_;
    my @tried = map { [ $_, seeded($case, $_) ] } @grid;
    my ($absent) = map { $_->[1]{absent} // () } @tried;
    return (undef, { absent => $absent }) if $absent;
    return @{ (sort { $a->[1]{error} <=> $b->[1]{error} } @tried)[0] };
}

# Error in %, points and seconds, or why there are none, and the parameters.
sub cells
{
    my ($point, $fit) = @_;
    return (($fit->{absent}) x 3, '-') if $fit->{absent};
    return (number('%.1f', 100 * $fit->{error}), $fit->{points},
        number('%.1f', $fit->{seconds}),
        sprintf('%g, %g', 1 / $point->[0], $point->[1]));
}

# The baseline: the first examples as points.
sub baseline
{
    my ($point) = @_;
    my $count = quick() ? 300 : 3000;
    my $dir = scratch();
    open my $file, '>', "$dir/points" or die "$dir/points: $!\n";
    print $file map {"$_\n"} 1 .. $count;
    close $file or die "$dir/points: $!\n";
    return machines('svm', @$point, '--points', "$dir/points");
}

my ($fixed) = chosen([ $tolerances[-1], 'svm' ]);
my $first3000 = results($fixed ? [ sprintf('mika/usps/first/c%g-w%g', @$fixed),
    sub { baseline($fixed) } ] : ());
my ($first) = values %$first3000;

my @rows = map { my ($tolerance, $threshold) = @$_;
    [ $tolerance, $threshold, $table1{$tolerance}[ $threshold eq 'svm' ],
        cells(chosen($_)) ] } @cases;
push @rows, [ 'first 3000', 'svm', 3.7,
    cells($fixed, $first // { absent => 'not run' }) ];
$text .= "\n### Table 1: error on USPS, %\n\nThe least over the parameters,"
    . " median of the seeds; points are those that any of the ten machines"
    . " has.\n\n"
    . table([ 'tolerance', 'threshold', 'paper', 'ours', 'points', 'seconds',
    'C, w/256' ], @rows);

publish('Mika, Smola & Schoelkopf: sparse greedy KFD', $text);
