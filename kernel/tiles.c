/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The float template, once for each instruction set, and the choice among them.
 * Values depend on the vectors' width in no way, and on the instruction set in
 * that portable code on x86 rounds products.
 */
#include "kernel/internal.h"

/* Four floats, on any processor. */
typedef float four __attribute__((vector_size(16), aligned(4), __may_alias__));
typedef int32_t four_bits __attribute__((vector_size(16)));

#if defined __x86_64__
#include <immintrin.h>

#define BYTE_LOOKUP(table, v)                                                  \
    _mm256_shuffle_epi8(                                                       \
        _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(table))), \
        (__m256i)(v))

#define NAME(x)      x##_avx2
#define TARGET       __attribute__((target("avx2,fma")))
#define BYTES        32
#define ROWS         6
#define FMA(a, b, c) ((floats)_mm256_fmadd_ps((a), (b), (c)))
#define MOST(a, b)   ((floats)_mm256_max_ps((a), (b)))
#define LOOKUP       BYTE_LOOKUP
#define WIDEN(bytes)                                                           \
    ((floats)_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(                          \
        _mm_loadl_epi64((const __m128i *)(const void *)(bytes)))))
#include "kernel/tile.h"

#define NAME(x)      x##_avx512
#define TARGET       __attribute__((target("avx512f,avx2,fma")))
#define BYTES        64
#define ROWS         12
#define FMA(a, b, c) ((floats)_mm512_fmadd_ps((a), (b), (c)))
#define MOST(a, b)   ((floats)_mm512_max_ps((a), (b)))
#define LOOKUP       BYTE_LOOKUP
#define WIDEN(bytes)                                                           \
    ((floats)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(                          \
        _mm_loadu_si128((const __m128i *)(const void *)(bytes)))))
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
