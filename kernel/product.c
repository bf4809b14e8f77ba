/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tile of the Gram matrix times vectors from the right and from the left in
 * one sweep over its entries, which then costs what reading them costs. Entries
 * are widened to double before they are multiplied.
 *
 * Order of the sums, whatever the instruction set, the number of rows and of
 * vectors taken at once: a row's sum has QUAD parts, one for the columns of
 * each remainder, that are added at the end; a column's sum runs down the rows.
 */
#include "kernel/internal.h"

enum {
    QUAD = 4,        /* columns taken at once */
    LINE = 16,       /* floats that come from memory together */
    PRODUCT_ROWS = 4 /* rows taken at once, with one vector */
};

#if defined __x86_64__
#define NAME(x) x##_avx2
#define TARGET  __attribute__((target("avx2")))
#define BYTES   32
#include "kernel/product.h"
#endif

#define NAME(x) x##_portable
#define TARGET
#define BYTES 16
#include "kernel/product.h"

klr_tile_multiply *klr_tile_multiplier(void)
{
#if defined __x86_64__
    if (klr_cpu() >= KLR_CPU_AVX2)
        return product_avx2;
#endif
    return product_portable;
}
