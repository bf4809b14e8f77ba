# SPDX-License-Identifier: BSD-3-Clause
#
# klr-scale beside svm-scale on every data set in $KLR_DATA.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;
use SvmScale;

my $svm_scale = peer('svm-scale');
plan skip_all => 'svm-scale is not installed' unless $svm_scale;
plan skip_all => 'KLR_DATA is not set' unless defined $ENV{KLR_DATA};
my @files = glob "$ENV{KLR_DATA}/*.svm";
plan skip_all => 'there are no data sets in KLR_DATA' unless @files;

for my $file (@files) {
    compare_scaling($svm_scale, $file, @$_)
        for [], [qw(-l 0)], [qw(-l 0.1 -u 0.9 -y 0 1)],
        [qw(-l -0.37 -u 11.3 -y -1.7 2.9)];
}

done_testing();
