# SPDX-License-Identifier: BSD-3-Clause
#
# A table as a company may have of its customers: quotes, commas within them,
# blanks, missing values, dates and a rare category. examples/churn.csv is one of
# 1000 rows.
package Churn;
use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(churn_table);

my @PLANS = (('basic') x 50, ('plus') x 30, ('family, large') x 20);
my @PLACES = qw(north south east west);
my %RISK = (basic => 0.5, plus => -0.5, 'family, large' => -1, 'old "S"' => 3);

# The same on every machine: Park and Miller's generator.
my $state;

sub uniform
{
    $state = $state * 16807 % 2147483647;
    return $state / 2147483647;
}

sub one_of { return $_[ int(@_ * uniform()) ] }

sub quoted
{
    my ($text) = @_;
    return $text =~ /[",]/ ? '"' . $text =~ s/"/""/gr . '"' : $text;
}

sub churn_row
{
    my ($number) = @_;
    my $plan = uniform() < 0.01 ? 'old "S"' : one_of(@PLANS);
    my $year = 2015 + int(10 * uniform());
    my $age = 18 + int(60 * uniform());
    my $fee = 5 + int(4000 * uniform()) / 100;
    my $calls = int(8 * uniform()**2);
    my $risk = $RISK{$plan} + ($year - 2021) / 2 + $calls - 2
        + ($fee > 25 ? 1 : -1) * ($age < 40 ? 1.5 : -0.5);
    my $leaves = uniform() < 1 / (1 + exp(-1.5 * $risk));
    my $joined = sprintf '%d-%02d-%02d', $year, 1 + int(12 * uniform()),
        1 + int(28 * uniform());
    my @row = (sprintf('C%05d', $number), $joined, $plan, one_of(@PLACES),
        uniform() < 0.05 ? one_of('', 'NA') : $age, $fee, " $calls",
        $leaves ? 'yes' : 'no');
    return join(',', map { quoted($_) } @row) . "\n";
}

# The header, and so many rows.
sub churn_table
{
    my ($rows) = @_;
    $state = 1;
    return "customer,joined,plan,place,age,monthly fee,calls,left\n",
        map { churn_row($_) } 1 .. $rows;
}

1;
