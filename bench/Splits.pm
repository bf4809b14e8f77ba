# SPDX-License-Identifier: BSD-3-Clause
#
# The halves of a data set that benchmarks train and test on. They are seeded,
# so that they are the same everywhere.
package Splits;
use strict;
use warnings;
use Exporter 'import';
use KLR qw(get put);

our @EXPORT = qw(split_rows);

my $state;

sub random
{
    $state = ($state * 1103515245 + 12345) % 2147483648;
    return $state / 2147483648;
}

# Draw at most so many rows of a file of $KLR_DATA, and write half of them to
# the first path and the others to the second.
sub split_rows
{
    my ($set, $seed, $most, $train, $test) = @_;
    my @rows = split /^/, get("$ENV{KLR_DATA}/$set.svm");
    $state = $seed;
    for my $i (reverse 1 .. $#rows) {
        my $j = int(($i + 1) * random());
        @rows[ $i, $j ] = @rows[ $j, $i ];
    }
    splice @rows, $most if @rows > $most;
    my @first = splice @rows, 0, @rows / 2;
    put($train, join '', @first);
    put($test,  join '', @rows);
    return;
}

1;
