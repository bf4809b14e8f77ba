# SPDX-License-Identifier: BSD-3-Clause
#
# Every allocation that a program makes itself fails alone. Run by `make
# check-oom`.
use strict;
use warnings;
use lib 'tests/cli/lib', 'tests/oom';
use Test::More;
use Allocations;

allocations_fail(env => {}, least => 4);

done_testing();
