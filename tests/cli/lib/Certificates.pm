# SPDX-License-Identifier: BSD-3-Clause
#
# Random trainings, small and at the edges, and what the evaluator says of what
# is called converged: see certified().
package Certificates;
use strict;
use warnings;
use Exporter 'import';
use JSON::PP ();
use Judge;
use KLR;
use Test::More;

our @EXPORT = qw(certified);

# Kinds of the evaluator, with options, and the gap that is asked for: in parts
# of the objective, or, by the violation that ends them, in parts of all C_i.
# no_dual: the file does not tell the dual point: that of a sparse model has the
# coefficients left out, that of a greedy one is none of the evaluator's.
my @solvers = (
    { kind => 'klr', asked => 1e-6, options => [qw(-a newton)] },
    { kind => 'klr', asked => 1e-6, options => [qw(-a newton --no-bias)] },
    { kind => 'klr', costs => 5e-7, options => [qw(-a smo)] },
    { kind => 'klr', costs => 5e-7, options => [qw(-a smo1)] },
    { kind => 'klr', costs => 5e-7, options => [qw(-a smo1 --no-bias)] },
    { kind => 'klr', options => [qw(-a trirls --no-bias)] },
    { kind => 'klr', options => [qw(-s ivm)] },
    { kind => 'coef', asked => 1e-6,
        options => [qw(-a newton --regularizer coef)] },
    { kind => 'coef', asked => 1e-6, options => [qw(-a cg --regularizer coef)] },
    { kind => 'sklr', no_dual => 1, options => [qw(-s sklr -a newton)] },
    { kind => 'sklr', asked => 1e-6,
        options => [qw(-s sklr -a newton --keep-bounded)] },
    { kind => 'sklr', no_dual => 1, options => [qw(-s sklr -a smo)] },
    { kind => 'svm', costs => 1e-3, options => [qw(-s svm)] },
    { kind => 'lhalf', options => [qw(-s lhalf)] },
    { kind => 'kfd', options => [qw(-s kfd -a exact)] },
    { kind => 'kfd-coef', options => [qw(-s kfd -a exact --regularizer coef)] },
    { kind => 'kfd', no_dual => 1,
        options => [qw(-s kfd -a greedy --regularizer kernel)] },
    { kind => 'kfd-coef', no_dual => 1, options => [qw(-s kfd -a greedy)] },
    { kind => 'softmax', asked => 1e-6, options => [qw(--multiclass softmax)] },
);

# Overlapping classes of at least two examples, with an offset.
sub examples
{
    my ($random, $k) = @_;
    my $n = 2 * $k + int 30 * $random->();
    my $d = 1 + int 4 * $random->();
    my $offset = $random->() < 0.3 ? 0 : 10**(12 * $random->());
    return join '', map {
        my $y = $_ < 2 * $k ? $_ % $k : int $k * $random->();
        join(' ', $y, map {
            my $shift = $_ == 1 || $random->() < 0.5 ? $offset : 0;
            sprintf '%d:%.10g', $_, $shift + 0.8 * $y + 2 * $random->() - 1
        } 1 .. $d) . "\n"
    } 0 .. $n - 1;
}

# 1, or a power of ten between 1e-9 and 1e9.
sub wide
{
    my ($random) = @_;
    return $random->() < 0.5 ? 1 : 10**(18 * $random->() - 9);
}

sub kernel
{
    my ($random) = @_;
    my $kernel = (0, 0, 1, 1, 2, 5)[ 6 * $random->() ];
    return (-t => 0) if $kernel == 0;
    my @options = (-t => $kernel, -g => wide($random));
    return @options if $kernel > 1;
    my $coef0 = $random->() < 0.5 ? 1 : 10**(300 * $random->());
    return (@options, -d => 1 + int(3 * $random->()), -r => $coef0);
}

# What is not as reported, of a model called converged: names, or nothing. No
# objective is below 0 where there is no box, and so no dual bound counts. The
# gap asked for is a part of each machine's own objective, which a box may make
# negative.
sub faults
{
    my ($solver, $report, @judged) = @_;
    my ($primal, $size, $dual, $zero, @faults) = (0, 0, 0, 0);
    my $told = !$solver->{no_dual} && defined $report->{dual};
    for my $pair (@judged) {
        $primal += $pair->{primal} // 'inf';
        $size += abs($pair->{primal} // 'inf');
        $told &&= defined $pair->{dual};
        my $lower = $pair->{dual} // 0;
        $dual += $lower > 0 || $solver->{kind} eq 'sklr' ? $lower : 0;
        $zero += $pair->{zero} // 'inf';
    }
    my $costs = $zero / ($solver->{kind} eq 'svm' ? 1 : log 2);
    my $asked = $solver->{costs} ? $solver->{costs} * $costs
        : ($solver->{asked} // 9**9**9) * $size;
    my $near = 1e-6 * abs $primal;
    push @faults, 'objective'
        unless abs($primal - $report->{objective}) <= $near;
    push @faults, 'dual' if $told && $report->{dual} > $dual + $near;
    push @faults, 'gap' if $solver->{asked} || $solver->{costs}
        and $primal - $dual > 1.001 * $asked + 1e-12 * abs $primal;
    push @faults, 'zero' if $primal > $zero * (1 + 1e-9);
    return @faults;
}

# What is judged but for the pairs of classes that are said to have no
# discriminant: they have no coefficients, and the means are not where they
# ought to be.
sub discriminants
{
    my ($report, @judged) = @_;
    my $none = grep {/answered by their shares:/} @{ $report->{warnings} };
    my @with = grep { !($_->{off} && $_->{off} > 0.5) } @judged;
    return $none && @judged - @with == $none ? @with : @judged;
}

# One training; its status.
sub certify
{
    my ($dir, $solver, $random) = @_;
    my $classes = $solver->{kind} eq 'softmax' || $random->() < 0.15 ? 3 : 2;
    my $data = put("$dir/data", examples($random, $classes));
    my ($cost, $weight) = (wide($random), sprintf '%.3f', 0.1 + $random->());
    my @options = (@{ $solver->{options} }, kernel($random), -c => $cost,
        -w1 => $weight, '--max-iter' => 20000);
    my $box = $cost > 1e-3 ? 1e-5 : 1e-3 * $cost;
    my @sparse = $solver->{kind} eq 'sklr' ? ($cost / 10, $box) : ();
    push @options, -l => $sparse[0], '--box' => $sparse[1] if @sparse;
    my $run = run([ 'klr-train', '-q', '--json', '--keep-sv', @options, $data,
        "$dir/model" ]);
    if ($run->{exit}) {
        is($run->{exit}, 1, "@options: an error") or diag($run->{err});
        return 'error';
    }
    my $report = JSON::PP::decode_json($run->{out});
    return $report->{status} if $report->{status} ne 'converged';
    return 'shares' if $solver->{kind} =~ /^kfd/ && !$report->{n_sv};
    my @free = grep { $_ eq '--no-bias' } @options;
    my @judged = evaluate($solver->{kind}, $data, "$dir/model", $cost, @sparse,
        @free, "1=$weight");
    @judged = discriminants($report, @judged);
    my @faults = faults($solver, $report, @judged);
    is("@faults", '', "@options: converged")
        or diag(get($data), $run->{out}, map { JSON::PP::encode_json($_) } @judged);
    return 'converged';
}

# `rounds` trainings by each solver: wherever one is called converged, the
# evaluator finds its objective and dual as reported, the gap asked for, and an
# objective that is not above that of f = 0. Each solver converges sometimes.
sub certified
{
    my ($dir, $seed, $rounds) = @_;
    my $random = uniform($seed);
    for my $solver (@solvers) {
        my %count;
        $count{ certify($dir, $solver, $random) }++ for 1 .. $rounds;
        my $all = join ', ', map {"$_ $count{$_}"} sort keys %count;
        ok($count{converged}, "@{ $solver->{options} }: $all");
    }
    return;
}

1;
