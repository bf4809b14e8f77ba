# SPDX-License-Identifier: BSD-3-Clause
#
# The whole matrix of tests/cli/train/objective.t: seven sets, four costs, three
# kernels. Arguments choose sets: prove tests/long/objective_long.t :: heart a1a
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;
use Judge;

plan skip_all => 'KLR_DATA is not set' unless data('heart.svm');

my $dir = scratch();
my @sets = @ARGV ? @ARGV
    : qw(heart diabetes german.numer ionosphere sonar splice a1a);

for my $name (@sets) {
    my $data = scaled($dir, $name);
    ok($data, "$name is there") or next;
    for my $cost (0.125, 1, 8, 128) {
        for my $kernel (0 .. 2) {
            klr_cell($dir, $name, $data, $kernel, $cost);
            SKIP: {
                skip 'svm-train is not installed', 2 unless peer('svm-train');
                svm_cell($dir, $name, $data, $kernel, $cost);
            }
        }
    }
}

done_testing();
