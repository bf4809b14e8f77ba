#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-3-Clause
#
# How well a default of C serves, with the default gamma: test log loss beside
# that of the best point of a grid by five folds, and accuracy beside that of
# svm-train by default.
#
#   KLR_DATA=FOLDER bench/defaults.pl [--raw] [-n ROWS] [-s SPLITS] [-v]
#       [-m "OPTIONS"]... [-c C,C,...] [--grid "OPTIONS"] [SET]...
#
# At most ROWS rows (2000) of a set count; half of them are trained on, drawn
# SPLITS times (1). Features are scaled to -1 .. 1, or stay as they are (--raw).
# -m has the options of a model, and may be repeated; --grid has those of the
# grid. For each C, and for none: sets with at least svm-train's accuracy, the
# mean difference of accuracy, the mean log loss, that over the grid's, and the
# geometric mean of the ratios. -v prints each set before, accuracy and log loss.
use strict;
use warnings;
use FindBin ();
use lib "$FindBin::Bin/../tests/cli/lib", $FindBin::Bin;
use Getopt::Long qw(GetOptions);
use JSON::PP     ();
use KLR;
use Splits;

chdir "$FindBin::Bin/.." or die "$FindBin::Bin/..: $!\n";
$| = 1;
$ENV{KLR_DATA}
    or die "KLR_DATA is not set: it names the folder of the data sets\n";
my ($most, $splits, $raw, $verbose, @models) = (2000, 1);
my ($costs, $grid) = ('1,3,10,30,100', '-c 2^-3:2^13:x4 -g 2^-11:2^3:x4');
GetOptions(
    'n=i'    => \$most,
    's=i'    => \$splits,
    'raw'    => \$raw,
    'v'      => \$verbose,
    'm=s'    => \@models,
    'c=s'    => \$costs,
    'grid=s' => \$grid
) or exit 2;
@models = ('-s klr', '-s klr --multiclass softmax') if !@models;
my @sets = @ARGV ? @ARGV : qw(
    a1a banana banknote bupa coil2000 dermatology diabetes ecoli german.numer
    glass haberman heart image ionosphere iris letter magic monk2 monk3
    new-thyroid ringnorm segment sonar spambase splice twogauss_gen twonorm usps
    waveform waveform_bin wdbc wine);
my @costs = split /,/, $costs;
my @names = (@costs, 'default', 'grid');
my $dir = scratch();

sub must
{
    my (@command) = @_;
    my $run = run(\@command);
    die "@command: $run->{err}" if $run->{exit};
    return $run->{out};
}

sub halves
{
    my ($set, $seed) = @_;
    my @half = map {"$dir/$_"} qw(train test);
    split_rows($set, $seed, $most, @half);
    return if $raw;
    put("$_.all", get($_)) for @half;
    put("$half[0]", must(qw(klr-scale -l -1 -u 1 -s), "$dir/range",
        "$half[0].all"));
    put("$half[1]", must('klr-scale', '-r', "$dir/range", "$half[1].all"));
    return;
}

# Accuracy and log loss on the test set.
sub judged
{
    my ($model) = @_;
    my $test = JSON::PP::decode_json(must(qw(klr-predict -q --json),
        "$dir/test", "$dir/$model", '/dev/null'));
    return @$test{qw(accuracy log_loss)};
}

# By each C, by no -c and by the grid, in that order: accuracy, log loss.
sub measured
{
    my (@model) = @_;
    my @train = ('klr-train', '-q', '-j', 1, @model);
    must(@train, '-c', $costs, "$dir/train", "$dir/model");
    must(@train, "$dir/train", "$dir/model.default");
    must(@train, '-v', 5, split(' ', $grid), "$dir/train", "$dir/model.grid");
    return map { [ judged("model.$_") ] } @names;
}

sub svm_accuracy
{
    must('svm-train', '-q', "$dir/train", "$dir/svm");
    my $said = must('svm-predict', "$dir/test", "$dir/svm", "$dir/answers");
    my ($right, $n) = $said =~ m{Accuracy = .* \((\d+)/(\d+)\)} or die $said;
    return $right / $n;
}

# $sum{model}[i] is [accuracy, log loss] of C, default or grid, over the splits.
sub measure_set
{
    my ($set) = @_;
    my ($svm, %sum) = (0);
    for my $seed (1 .. $splits) {
        halves($set, $seed);
        $svm += svm_accuracy() / $splits;
        for my $model (@models) {
            my @one = measured(split ' ', $model);
            for my $i (0 .. $#one) {
                $sum{$model}[$i][$_] += $one[$i][$_] / $splits for 0, 1;
            }
        }
    }
    return { set => $set, svm => $svm, %sum };
}

sub print_set
{
    my ($of, $model) = @_;
    printf "%-14s svm %.4f", $of->{set}, $of->{svm};
    printf "  %s %.4f %.4f", $names[$_], @{ $of->{$model}[$_] }
        for 0 .. $#names;
    print "\n";
    return;
}

sub mean
{
    my $sum = 0;
    $sum += $_ / @_ for @_;
    return $sum;
}

sub print_model
{
    my ($model, @all) = @_;
    my $grid = mean(map { $_->{$model}[-1][1] } @all);
    printf "%s, %d sets, the grid's log loss %.4f\n%8s %9s %9s %8s %7s %9s\n",
        $model, scalar @all, $grid, 'C', 'as svm', 'above', 'log loss', 'ratio',
        'geometric';
    for my $i (0 .. $#names - 1) {
        my $as = grep { $_->{$model}[$i][0] >= $_->{svm} - 1e-9 } @all;
        my $loss = mean(map { $_->{$model}[$i][1] } @all);
        printf "%8s %9d %9.4f %8.4f %7.3f %9.3f\n", $names[$i], $as,
            mean(map { $_->{$model}[$i][0] - $_->{svm} } @all), $loss,
            $loss / $grid, exp mean(map {
            log($_->{$model}[$i][1] / $_->{$model}[-1][1]) } @all);
    }
    return;
}

my @all;
for my $set (@sets) {
    push @all, measure_set($set);
    if ($verbose) {
        print_set($all[-1], $_) for @models;
    }
}
print_model($_, @all) for @models;
