# SPDX-License-Identifier: BSD-3-Clause
#
# From an allocation on that a program makes itself all of them fail. Run by
# `make check-oom`.
use strict;
use warnings;
use lib 'tests/cli/lib', 'tests/oom';
use Test::More;
use Allocations;

allocations_fail(env => { FAILALLOC_EVER => 1 }, least => 4);

done_testing();
