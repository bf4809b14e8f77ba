# SPDX-License-Identifier: BSD-3-Clause
#
# 2014 random trainings at the edges: see tests/cli/train/certificates.t. SEEDS
# has other seeds than 2, each of which draws as many.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use Certificates;
use KLR;

certified(scratch(), $_, 106) for split ' ', $ENV{SEEDS} // 2;

done_testing();
