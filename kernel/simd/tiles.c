/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The template of tiles, once for each type of numbers and instruction set, and
 * the choice among them. Doubles, which are few, have no copy of their own for
 * AVX-512. Values depend on the vectors' width in no way; those of floats
 * depend on the instruction set in that portable code on x86 rounds products.
 */
#include "kernel/parts.h"

/* Elements i, j, k, l of a and b, one after the other. */
#if defined __clang__
#define SHUFFLE(places, a, b, i, j, k, l)                                      \
    __builtin_shufflevector((a), (b), i, j, k, l)
#else
#define SHUFFLE(places, a, b, i, j, k, l)                                      \
    __builtin_shuffle((a), (b), (places){i, j, k, l})
#endif

#if defined __x86_64__
#define BYTE_LOOKUP(table, v)                                                  \
    _mm256_shuffle_epi8(                                                       \
        _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(table))), \
        (__m256i)(v))
#endif

/* ---- floats ---- */

static const float float_powers[] = {0x1.44138ap-12f,
                                     0x1.5f089p-9f,
                                     0x1.3b2a54p-6f,
                                     0x1.c6af6cp-4f,
                                     0x1.ebfbep-2f,
                                     0x1.62e43p+0f,
                                     2.0f};
static const float float_tanhs[] = {0x1.224fcep-9f, -0x1.0f1266p-7f,
                                    0x1.644a1ep-6f, -0x1.ba02aap-5f,
                                    0x1.1110d8p-3f, -0x1.555556p-2f};

#define REAL          float
#define INTEGER       int32_t
#define STORE(points) ((points)->narrow)
#define COLUMNS       FLOAT_PANEL
#define LINES(points) ((points)->narrow.lines)
#define ABREAST       FLOAT_SPREAD
#define TURN          RUN
#define POINT         23
#define LOWEST        (-126)
#define POWERS        float_powers
#define TANHS         float_tanhs
#define FIXED16

#if defined __x86_64__
#define NAME(x)      x##_float_avx2
#define TARGET       AVX2
#define BYTES        32
#define ROWS         6
#define FMA(a, b, c) ((reals)_mm256_fmadd_ps((a), (b), (c)))
#define MOST(a, b)   ((reals)_mm256_max_ps((a), (b)))
#define LOOKUP       BYTE_LOOKUP
#define WIDEN(bytes)                                                           \
    ((reals)_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(                           \
        _mm_loadl_epi64((const __m128i *)(const void *)(bytes)))))
#include "kernel/simd/tile.h"

#define NAME(x)      x##_float_avx512
#define TARGET       AVX512
#define BYTES        64
#define ROWS         12
#define FMA(a, b, c) ((reals)_mm512_fmadd_ps((a), (b), (c)))
#define MOST(a, b)   ((reals)_mm512_max_ps((a), (b)))
#define LOOKUP       BYTE_LOOKUP
#define WIDEN(bytes)                                                           \
    ((reals)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(                           \
        _mm_loadu_si128((const __m128i *)(const void *)(bytes)))))
#define HALVES(units) ((NAME(halves))_mm512_cvtepi32_epi16((__m512i)(units)))
#include "kernel/simd/tile.h"
#endif

#define NAME(x) x##_float_portable
#define TARGET
#define BYTES 16
#define ROWS  6
#if defined __aarch64__
#define FMA(a, b, c) ((reals)vfmaq_f32((c), (a), (b)))
#else
#define FMA(a, b, c) ((a) * (b) + (c))
#endif
#define MOST(a, b) NAME(choose)((a) > (b), (a), (b))
#include "kernel/simd/tile.h"

#undef REAL
#undef INTEGER
#undef STORE
#undef COLUMNS
#undef LINES
#undef ABREAST
#undef TURN
#undef POINT
#undef LOWEST
#undef POWERS
#undef TANHS
#undef FIXED16

/* ---- doubles ---- */

static const double double_powers[] = {
    0x1.e9d46849d2e53p-31, 0x1.e6064444fbff5p-27, 0x1.b524faaabf1f4p-23,
    0x1.62bfd47509c10p-19, 0x1.ffcbfc6724c7fp-16, 0x1.4309130970a49p-12,
    0x1.5d87fe78a523dp-9,  0x1.3b2ab6fba1dd7p-6,  0x1.c6b08d704a0c2p-4,
    0x1.ebfbdff82c598p-2,  0x1.62e42fefa39efp+0,  2.0};
static const double double_tanhs[] = {
    0x1.9612ddd16e1f8p-18,  -0x1.fbe597eb50556p-16, 0x1.80af28e35f54bp-14,
    -0x1.f154ccf0fa8c1p-13, 0x1.3513b08507a86p-11,  -0x1.7d9d731d306cbp-10,
    0x1.d6d3794c99c9bp-9,   -0x1.226e33c32dd91p-7,  0x1.664f4879d1e41p-6,
    -0x1.ba1ba1ba01e2cp-5,  0x1.1111111111028p-3,   -0x1.5555555555555p-2};
static const double double_logs[] = {
    0x1.4b0a26c5f2aefp-3, 0x1.687a6e7c95176p-4, 0x1.eb905e8575054p-4,
    0x1.10ac75dc602b1p-3, 0x1.3b18b294bebf9p-3, 0x1.745cf0b0e03bdp-3,
    0x1.c71c727143318p-3, 0x1.24924923d44c6p-2, 0x1.999999999a3ddp-2,
    0x1.5555555555555p-1};

#define REAL          double
#define INTEGER       int64_t
#define STORE(points) (*(points))
#define COLUMNS       PANEL
#define LINES(points) ((points)->width)
#define ABREAST       SPREAD
#define TURN          SIZE_MAX /* sizes of points are summed up like this */
#define POINT         52
#define LOWEST        (-1022)
#define POWERS        double_powers
#define TANHS         double_tanhs
#define LOGS          double_logs

#if defined __x86_64__
#define NAME(x)      x##_double_avx2
#define TARGET       AVX2
#define BYTES        32
#define ROWS         6
#define FMA(a, b, c) ((a) * (b) + (c))
#define MOST(a, b)   ((reals)_mm256_max_pd((a), (b)))
#define LOOKUP       BYTE_LOOKUP
#define WIDEN(bytes)                                                           \
    ((reals)_mm256_cvtepi32_pd(                                                \
        _mm_cvtepu8_epi32(_mm_loadu_si32((const void *)(bytes)))))
#include "kernel/simd/tile.h"

#endif

#define NAME(x) x##_double_portable
#define TARGET
#define BYTES        16
#define ROWS         6
#define FMA(a, b, c) ((a) * (b) + (c))
#define MOST(a, b)   NAME(choose)((a) > (b), (a), (b))
#include "kernel/simd/tile.h"

#undef REAL
#undef INTEGER
#undef STORE
#undef COLUMNS
#undef LINES
#undef ABREAST
#undef TURN
#undef POINT
#undef LOWEST
#undef POWERS
#undef TANHS
#undef LOGS

static const struct gram_tiles *tiles_choose(enum klr_precision precision)
{
    bool floats = precision == KLR_FLOAT;
#if defined __x86_64__
    switch (klr_cpu()) {
    case KLR_CPU_AVX512:
        return floats ? &tiles_float_avx512 : &tiles_double_avx2;
    case KLR_CPU_AVX2:
        return floats ? &tiles_float_avx2 : &tiles_double_avx2;
    default:
        break;
    }
#endif
    return floats ? &tiles_float_portable : &tiles_double_portable;
}

void klr_logistic(size_t n, const double *z, double *p, double *rest,
                  double *loss)
{
    const struct gram_tiles *tiles = tiles_choose(KLR_DOUBLE);
    size_t whole = n / SPAN * SPAN;
    tiles->logistic(whole, z, p, rest, loss);
    if (whole == n)
        return;
    double last[4][SPAN] = {{0}};
    size_t bytes = (n - whole) * sizeof *z;
    memcpy(last[0], z + whole, bytes);
    tiles->logistic(n - whole, last[0], last[1], last[2],
                    loss ? last[3] : NULL);
    memcpy(p + whole, last[1], bytes);
    memcpy(rest + whole, last[2], bytes);
    if (loss)
        memcpy(loss + whole, last[3], bytes);
}
