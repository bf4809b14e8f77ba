/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What tests of the kernel's unit share. To be included after kernel.c.
 */
#ifndef KLR_TESTS_KERNELS_H
#define KLR_TESTS_KERNELS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 1;

static double uniform(void) /* [0, 1) */
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695041;
    return (double)(random_state >> 11) * 0x1p-53;
}

/* The workspace of a single caller, zeroed for every call. */
static void *room_for(const struct klr_points *p)
{
    static _Alignas(64) char room[1 << 22];
    size_t bytes = klr_gram_workspace(p);
    if (bytes > sizeof room)
        abort();
    return memset(room, 0, bytes);
}

static struct klr_set whole(const struct klr_range *range)
{
    return (struct klr_set){range, 1, range->end - range->begin};
}

static const char *const cpus[] = {"portable", "avx2", "avx512"};

/* Compute with one of them; false if it is not there. */
static bool choose_cpu(int level)
{
    unsetenv("KLR_CPU");
    if (level > (int)klr_cpu())
        return false;
    setenv("KLR_CPU", cpus[level], 1);
    return true;
}

#endif
