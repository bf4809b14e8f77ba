/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tile of the Gram matrix times vectors from the right and from the left in
 * one sweep over its entries, which then costs what reading them costs. Entries
 * are widened to double before they are multiplied; fixed16, which are coarser
 * than the sums of floats over a tile, to float.
 *
 * Order of the sums, whatever the instruction set, the number of rows and of
 * vectors taken at once: a row's sum has GROUP parts, one for the columns of
 * each remainder, that are added at the end; a column's sum runs down the rows.
 * AVX2 and 64-bit ARM add products that are not rounded.
 */
#include "kernel/parts.h"

enum {
    LINE = 64,       /* bytes that come from memory together */
    PRODUCT_ROWS = 4 /* rows taken at once, with one vector */
};

#if defined __x86_64__
#define NAME(x)      x##_half_avx2
#define TARGET       AVX2
#define BYTES        32
#define REAL         float
#define GROUP        KLR_GROUP
#define FMA(a, b, c) ((reals)_mm256_fmadd_ps((a), (b), (c)))
#define WIDEN(p)                                                               \
    ((ints)_mm256_cvtepu16_epi32(                                              \
        _mm_loadu_si128((const __m128i *)(const void *)(p))))
#include "kernel/simd/product.h"

#define NAME(x)      x##_avx2
#define FIXED16      product_half_avx2
#define TARGET       AVX2
#define BYTES        32
#define REAL         double
#define GROUP        4
#define FMA(a, b, c) ((reals)_mm256_fmadd_pd((a), (b), (c)))
#define REALS(p)                                                               \
    ((reals)_mm256_cvtps_pd(_mm_loadu_ps((const float *)(const void *)(p))))
#include "kernel/simd/product.h"
#endif

#define NAME(x) x##_half_portable
#define TARGET
#define BYTES 16
#define REAL  float
#define GROUP KLR_GROUP
#if defined __aarch64__
#define FMA(a, b, c) ((reals)vfmaq_f32((c), (a), (b)))
#endif
#include "kernel/simd/product.h"

#define NAME(x) x##_portable
#define FIXED16 product_half_portable
#define TARGET
#define BYTES 16
#define REAL  double
#define GROUP 4
#if defined __aarch64__
#define FMA(a, b, c) ((reals)vfmaq_f64((c), (a), (b)))
#endif
#include "kernel/simd/product.h"

klr_tile_multiply *klr_tile_multiplier(void)
{
#if defined __x86_64__
    if (klr_cpu() >= KLR_CPU_AVX2)
        return product_avx2;
#endif
    return product_portable;
}
