/* SPDX-License-Identifier: BSD-3-Clause
 *
 * 1000 random small sets by all ways: see tests/random_sets.h.
 */
#include "solver.c"

#include "tests/random_sets.h"

int main(void)
{
    for (unsigned long long first = 1; first < 1000; first += 100)
        test_random_sets(first, 100, WAYS_MOST);
    test_ways_seen();
    return done_testing();
}
