# SPDX-License-Identifier: BSD-3-Clause
#
# 2014 random trainings at the edges: see tests/cli/train/certificates.t.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use Certificates;
use KLR;

certified(scratch(), 2, 106);

done_testing();
