# SPDX-License-Identifier: BSD-3-Clause
#
# Every recipe of the cookbook prints what the book shows.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use Documents;
use KLR;

plan skip_all => 'python3 is not installed' unless peer('python3');

cook($_) for recipes();

done_testing();
