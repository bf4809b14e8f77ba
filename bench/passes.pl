#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-3-Clause
#
# What klr costs the Newton method, in passes over the kernel matrix: ten sets,
# three widths of the RBF kernel, five costs. A line for each, then the bars:
# the median of passes, the most up to C = 100 and of all, and that every
# relative duality gap is at most 1e-6. Exits with 1 if a bar is missed.
#
#   KLR_DATA=FOLDER bench/passes.pl [--evaluate none|some|all] [--threads N]
#       [--gamma 1/d,0.5] [--cost 0.1,1] [--lambda SHARE] [SET]...
#
# --lambda: sklr in the place of klr, with lambda so many times C; its models
# keep the examples at the lower end of the box, as its dual does. No bar is set
# for its passes.
#
# A pass is n^2 entries of K produced or multiplied, the columns of the
# preconditioner included; flops are those of the preconditioner over 2 n^2.
# --evaluate: which models of n <= 8000 examples the independent evaluator
# judges, in long double: some (default) is gamma 0.5, C 1000 of each set.
use strict;
use warnings;
use FindBin ();
use lib "$FindBin::Bin/../tests/cli/lib";
use Getopt::Long qw(GetOptions);
use JSON::PP ();
use KLR;
use List::Util qw(sum);

chdir "$FindBin::Bin/.." or die "$FindBin::Bin/..: $!\n";
$| = 1;

my %option = (evaluate => 'some', threads => 1, gamma => '1/d,0.5,2',
    cost => '0.1,1,10,100,1000');
GetOptions(\%option, qw(evaluate=s threads=i gamma=s cost=s lambda=f))
    && $option{evaluate} =~ /^(?:none|some|all)$/
    or die "the head of $0 says how to call it\n";
die "KLR_DATA is not set: it names the folder of the data sets\n"
    unless defined $ENV{KLR_DATA};
my @sets = @ARGV ? @ARGV
    : qw(banana spambase magic twonorm ringnorm waveform_bin image splice usps
    coil2000);
my $dir = scratch();
my $share = $option{lambda};
my @model = defined $share
    ? (qw(-s sklr --link none --keep-bounded -l), "${share}c") : qw(-s klr);

# The relative gap of the saved model, NaN where none could be found.
sub judged_gap
{
    my ($data, $cost) = @_;
    my $run = run([ tool('evaluate'), $model[1], $data, "$dir/model", $cost,
        defined $share ? ($share * $cost, 1e-5) : () ]);
    return 'NaN' if $run->{exit};
    return JSON::PP::decode_json($run->{out})->{model_gap} // 'NaN';
}

sub cell
{
    my ($set, $gamma, $cost) = @_;
    my $run = run([ qw(klr-train -q --json -a newton), @model, '-j',
        $option{threads}, '-c', $cost, $gamma eq '1/d' ? () : (-g => $gamma),
        "$dir/$set", "$dir/model" ]);
    die "klr-train on $set: $run->{err}" if $run->{exit};
    my $result = JSON::PP::decode_json($run->{out});
    my $judge = $result->{n} <= 8000 && ($option{evaluate} eq 'all'
        || $option{evaluate} eq 'some' && $gamma eq '0.5' && $cost == 1000);
    return { %$result, set => $set, cost => $cost, gamma => $gamma,
        judged => $judge ? judged_gap("$dir/$set", $cost) : undef };
}

# The q-th quantile of the numbers.
sub quantile
{
    my ($q, @number) = @_;
    @number = sort { $a <=> $b } @number;
    my $at = $q * $#number;
    my $low = int $at;
    my $high = $low < $#number ? $low + 1 : $low;
    return $number[$low] + ($at - $low) * ($number[$high] - $number[$low]);
}

sub summary
{
    my ($which, @cell) = @_;
    my @passes = map { $_->{passes} } @cell;
    printf "%s, %d cells: sum %.0f, median %.1f, p90 %.1f, most %.1f\n",
        $which, scalar @cell, sum(@passes),
        map { quantile($_, @passes) } 0.5, 0.9, 1;
    return;
}

my $missed = 0;

sub bar
{
    my ($what, $value, $most) = @_;
    my $pass = defined $value && $value <= $most;
    printf "%s: %s %.3g, at most %g\n", $pass ? 'pass' : 'MISSED', $what,
        $value // 'NaN', $most;
    $missed += !$pass;
    return;
}

my $format = "%-12s %6s %5s %6s %8s %9s %8s %9s %9s %8s %s\n";
printf $format,
    qw(set n gamma C passes products flops gap judged seconds status);
my @cells;
for my $set (@sets) {
    my $run = run([ 'bench/prepare.sh', $set, $dir ]);
    die "$set: $run->{err}" if $run->{exit};
    for my $gamma (split /,/, $option{gamma}) {
        for my $cost (split /,/, $option{cost}) {
            my $c = cell($set, $gamma, $cost);
            my $flops = $c->{precond_flops};
            printf $format, $set, $c->{n}, $gamma, $cost,
                sprintf('%.1f', $c->{passes}), $c->{iterations},
                defined $flops ? sprintf('%.1f', $flops) : '-',
                sprintf('%.2e', $c->{gap}),
                defined $c->{judged} ? sprintf('%.2e', $c->{judged}) : '-',
                sprintf('%.2f', $c->{seconds}{train}), $c->{status};
            push @cells, $c;
        }
    }
}

my @moderate = grep { $_->{cost} <= 100 } @cells;
print "\n";
summary('C <= 100', @moderate) if @moderate;
summary('all', @cells);
my @passes = map { $_->{passes} } @cells;
if (!defined $share) {
    bar('median of passes', quantile(0.5, @passes), 20);
    bar('most passes, C <= 100', quantile(1, map { $_->{passes} } @moderate),
        60) if @moderate;
    bar('most passes', quantile(1, @passes), 100);
}
bar('largest gap reported', quantile(1, map { $_->{gap} // 'inf' } @cells),
    1e-6);
my @judged = map { $_->{judged} // () } @cells;
bar('largest gap judged', quantile(1, map { $_ eq 'NaN' ? 'inf' : $_ } @judged),
    1e-6) if @judged;
exit($missed > 0);
