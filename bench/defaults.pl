#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-3-Clause
#
# How well the default C of a model serves, on the default gamma: for each C
# what its test log loss is to that of the best point of a grid, by five folds,
# and its accuracy to that of svm-train by default.
#
#   KLR_DATA=FOLDER bench/defaults.pl [--raw] [-n ROWS] [-s SPLITS] [-v]
#       [-m "OPTIONS"]... [SET]...
#
# At most ROWS rows (2000) of a set count; half of them are trained on, drawn
# SPLITS times (3). Features are scaled to -1 .. 1, or as they are (--raw). -m
# has the options of a model, such as "-s kfd", and may be repeated. A line for
# each C, and one for no -c: sets with at least svm-train's accuracy, the mean
# of what accuracy is above it, the mean of the log loss, that over the grid's,
# and the geometric mean of the ratios; -v prints each set before.
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
my ($most, $splits, $raw, $verbose, @models) = (2000, 3);
my $grid = '-c 2^-3:2^13:x4 -g 2^-11:2^3:x4';
GetOptions(
    'n=i' => \$most,
    's=i' => \$splits,
    'raw' => \$raw,
    'v'   => \$verbose,
    'grid=s' => \$grid,
    'm=s' => \@models
) or exit 2;
@models = ('-s klr', '-s klr --multiclass softmax') if !@models;
my @sets = @ARGV ? @ARGV : qw(
    a1a banana banknote bupa coil2000 dermatology diabetes ecoli german.numer
    glass haberman heart image ionosphere iris letter magic monk2 monk3
    new-thyroid ringnorm segment sonar spambase splice twogauss_gen twonorm usps
    waveform waveform_bin wdbc wine);
my @costs = qw(1 3 10 30 100 300);
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
    must(@train, '-c', join(',', @costs), "$dir/train", "$dir/model");
    must(@train, "$dir/train", "$dir/model.default");
    must(@train, '-v', 5, split(' ', $grid), "$dir/train", "$dir/model.grid");
    return map { [ judged("model.$_") ] } @costs, 'default', 'grid';
}

sub svm_accuracy
{
    must('svm-train', '-q', "$dir/train", "$dir/svm");
    my $said = must('svm-predict', "$dir/test", "$dir/svm", "$dir/answers");
    my ($accuracy) = $said =~ /Accuracy = ([\d.]+)%/ or die $said;
    return $accuracy / 100;
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
    printf "  %s %.4f %.4f", ((@costs, 'default', 'grid')[$_],
        @{ $of->{$model}[$_] }) for 0 .. $#{ $of->{$model} };
    print "\n";
    return;
}

sub print_model
{
    my ($model, @all) = @_;
    my $n = @all;
    printf "%s, %d sets, grid %.4f\n%8s %9s %10s %8s %8s %9s\n", $model, $n,
        sum_of(map { $_->{$model}[-1][1] } @all) / $n, 'C', 'as svm',
        'above svm', 'loss', 'ratio', 'geometric';
    for my $i (0 .. @costs) {
        my $as = grep { $_->{$model}[$i][0] >= $_->{svm} - 1e-9 } @all;
        my $above = sum_of(map { $_->{$model}[$i][0] - $_->{svm} } @all) / $n;
        my $loss = sum_of(map { $_->{$model}[$i][1] } @all);
        my $grid = sum_of(map { $_->{$model}[-1][1] } @all);
        my $log = sum_of(map {
            log($_->{$model}[$i][1] / $_->{$model}[-1][1]) } @all);
        printf "%8s %6d/%-2d %10.4f %8.4f %8.3f %9.3f\n",
            (@costs, 'default')[$i], $as, $n, $above, $loss / $n, $loss / $grid,
            exp($log / $n);
    }
    return;
}

sub sum_of
{
    my $sum = 0;
    $sum += $_ for @_;
    return $sum;
}

my @all;
for my $set (@sets) {
    push @all, measure_set($set);
    if ($verbose) {
        print_set($all[-1], $_) for @models;
    }
}
print_model($_, @all) for @models;
