/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The float template, once for each instruction set, and the choice among them.
 * Values depend on the vectors' width in no way, and on the instruction set in
 * that portable code on x86 rounds products.
 */
#include "kernel/internal.h"

#if defined __x86_64__
#include <immintrin.h>

#define NAME(x)      x##_avx2
#define TARGET       __attribute__((target("avx2,fma")))
#define BYTES        32
#define ROWS         6
#define FMA(a, b, c) ((floats)_mm256_fmadd_ps((a), (b), (c)))
#define MOST(a, b)   ((floats)_mm256_max_ps((a), (b)))
#include "kernel/tile.h"

#define NAME(x)      x##_avx512
#define TARGET       __attribute__((target("avx512f,avx2,fma")))
#define BYTES        64
#define ROWS         12
#define FMA(a, b, c) ((floats)_mm512_fmadd_ps((a), (b), (c)))
#define MOST(a, b)   ((floats)_mm512_max_ps((a), (b)))
#include "kernel/tile.h"
#endif

#define NAME(x) x##_portable
#define TARGET
#define BYTES 16
#define ROWS  6
#if defined __aarch64__
#include <arm_neon.h>
#define FMA(a, b, c) ((floats)vfmaq_f32((c), (a), (b)))
#else
#define FMA(a, b, c) ((a) * (b) + (c))
#endif
#define MOST(a, b) NAME(choose)((a) > (b), (a), (b))
#include "kernel/tile.h"

static const struct tiles *tiles_choose(void)
{
#if defined __x86_64__
    switch (klr_cpu()) {
    case KLR_CPU_AVX512:
        return &tiles_avx512;
    case KLR_CPU_AVX2:
        return &tiles_avx2;
    default:
        break;
    }
#endif
    return &tiles_portable;
}
