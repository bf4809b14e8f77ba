# SPDX-License-Identifier: BSD-3-Clause
#
# Every allocation that libc makes for itself (buffers of stdio) fails alone:
# there a failure need not matter. Run by `make check-oom`.
use strict;
use warnings;
use lib 'tests/cli/lib', 'tests/oom';
use Test::More;
use Allocations;

my $count = allocations_fail(
    env => { FAILALLOC_LIBC => 1 },
    least => 0,
    spared => 1
);
cmp_ok($count, '>', 20, "libc has $count of its own");

done_testing();
