#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-3-Clause
#
# What --auto chooses, and at what price, against the grid of 110 points that
# LIBSVM's script takes by default, in one klr-train with five folds on features
# scaled to -1 .. 1. A line for each data set: test log loss of either, their
# ratio, seconds of processor of either, their ratio; then the mean and the
# worst of the ratios of loss and the median of those of time.
#
#   KLR_DATA=FOLDER bench/auto.pl [-n ROWS] [-s SPLITS] [SET]...
#
# At most ROWS rows (10000) of a set count; half of them are trained on, drawn
# SPLITS times (1).
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
my ($most, $splits) = (10000, 1);
GetOptions('n=i' => \$most, 's=i' => \$splits) or exit 2;
my @sets = @ARGV ? @ARGV : qw(
    a1a banana banknote bupa coil2000 dermatology diabetes ecoli german.numer
    glass haberman heart image ionosphere segment sonar spambase splice twonorm
    wdbc wine);
my $dir = scratch();

# The log loss on the test set and the seconds of processor of a training.
sub measured
{
    my (@options) = @_;
    my @before = times;
    my $run = run([ 'klr-train', '-q', '-j', 1, @options, "$dir/train",
        "$dir/model" ]);
    my @after = times;
    die "@options: $run->{err}" if $run->{exit};
    my $test = run([ 'klr-predict', '-q', '--json', "$dir/test", "$dir/model",
        '/dev/null' ]);
    die $test->{err} if $test->{exit};
    return JSON::PP::decode_json($test->{out})->{log_loss},
        $after[2] + $after[3] - $before[2] - $before[3];
}

my (@loss, @time);
printf "%-14s %8s %8s %7s %8s %8s %7s\n", 'set', 'auto', 'grid', 'ratio', 's',
    's', 'ratio';
for my $set (@sets) {
    my @sum = (0) x 4;
    for my $seed (1 .. $splits) {
        split_rows($set, $seed, $most, "$dir/train", "$dir/test");
        my @auto = measured('--auto');
        my @grid = measured('--scale', 'minmax', '-v', 5, '-c', '2^-5:2^15:x4',
            '-g', '2^-15:2^3:x4');
        my @one = (@auto, @grid);
        $sum[$_] += $one[$_] / $splits for 0 .. 3;
    }
    push @loss, $sum[0] / $sum[2];
    push @time, $sum[1] / $sum[3];
    printf "%-14s %8.4f %8.4f %7.4f %8.2f %8.2f %7.3f\n", $set, @sum[ 0, 2 ],
        $loss[-1], @sum[ 1, 3 ], $time[-1];
}
my $mean = 0;
$mean += $_ / @loss for @loss;
my ($worst) = sort { $b <=> $a } @loss;
printf "mean loss %.4f, worst %.4f, median time %.3f of the grid's\n", $mean,
    $worst, median(@time);
