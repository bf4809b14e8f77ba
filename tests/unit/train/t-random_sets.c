/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Some of the random sets of tests/random_sets.h; tests/long has all.
 */
#define SOLVER_FLOOR 7
#include "solver.c"

#include "tests/random_sets.h"

int main(void)
{
    test_random_sets(1, 60, 40);
    test_ways_seen();
    return done_testing();
}
