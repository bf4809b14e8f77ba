/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Order and chance: comparison of labels, random numbers.
 */
#include "solver/data/data.h"

static int compare_labels(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* splitmix64: a full-period generator with a 64-bit state. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in 0..bound-1, without bias. */
static size_t random_below(uint64_t *state, size_t bound)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % bound, z;
    do
        z = random_next(state);
    while (z >= limit);
    return (size_t)(z % bound);
}

static double random_unit(uint64_t *state)
{
    return ldexp((double)(random_next(state) >> 11), -53);
}

static size_t random_choose(uint64_t *state, size_t *item, size_t count,
                            size_t wanted)
{
    if (wanted >= count)
        return count;
    for (size_t k = 0; k < wanted; k++) {
        size_t pick = k + random_below(state, count - k), moved = item[k];
        item[k] = item[pick];
        item[pick] = moved;
    }
    return wanted;
}
