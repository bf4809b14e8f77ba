/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products with dense matrices, as the preconditioner of the Newton method
 * needs them: those that a processor's arithmetic limits in register blocks,
 * with fused multiplication where there is one; those that memory limits
 * without, which leaves their bits to be the same everywhere.
 */
#include "kernel/parts.h"

enum {
    DENSE_LINE = 16,  /* floats that come from memory together */
    DENSE_CHUNK = 64, /* rows in the nearer caches, terms of a float sum */
    DENSE_WIDE = 16,  /* columns divided by a triangle at once */
    DENSE_ROWS = 4,   /* rows that a sweep takes at once */
    DENSE_PARTS = 8   /* partial sums of a row in a sweep */
};

#if defined __x86_64__
#define NAME(x)             x##_avx2
#define TARGET              AVX2
#define BYTES               32
#define ROWS                6
#define DOWN                4
#define ACROSS              3
#define FMA(a, b, c)        ((floats)_mm256_fmadd_ps((a), (b), (c)))
#define FMA_DOUBLE(a, b, c) ((doubles)_mm256_fmadd_pd((a), (b), (c)))
#define DOUBLED(p)          ((doubles)_mm256_cvtps_pd(_mm_loadu_ps(p)))
#include "kernel/simd/dense.h"

#define NAME(x)             x##_avx512
#define TARGET              AVX512
#define BYTES               64
#define ROWS                12
#define DOWN                8
#define ACROSS              3
#define FMA(a, b, c)        ((floats)_mm512_fmadd_ps((a), (b), (c)))
#define FMA_DOUBLE(a, b, c) ((doubles)_mm512_fmadd_pd((a), (b), (c)))
#define DOUBLED(p)          ((doubles)_mm512_cvtps_pd(_mm256_loadu_ps(p)))
#include "kernel/simd/dense.h"
#endif

#define NAME(x) x##_portable
#define TARGET
#define BYTES  16
#define ROWS   6
#define DOWN   4
#define ACROSS 2
#if defined __aarch64__
#define FMA(a, b, c)        ((floats)vfmaq_f32((c), (a), (b)))
#define FMA_DOUBLE(a, b, c) ((doubles)vfmaq_f64((c), (a), (b)))
#else
#define FMA(a, b, c)        ((a) * (b) + (c))
#define FMA_DOUBLE(a, b, c) ((a) * (b) + (c))
#endif
#include "kernel/simd/dense.h"

const struct klr_dense *klr_dense(void)
{
#if defined __x86_64__
    switch (klr_cpu()) {
    case KLR_CPU_AVX512:
        return &dense_products_avx512;
    case KLR_CPU_AVX2:
        return &dense_products_avx2;
    default:
        break;
    }
#endif
    return &dense_products_portable;
}
