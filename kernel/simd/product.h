/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: a tile times vectors for one instruction set. Whoever includes it
 * defines
 *
 *   NAME(x)   x with the suffix of the instruction set
 *   TARGET    the function attribute that admits its instructions
 *   BYTES     of a vector: 16 or 32
 *   REAL      what it computes with: double, or float for fixed16 alone
 *   GROUP     columns taken at once: 4 with double, KLR_GROUP with float
 *   FIXED16    the product for fixed16, where REAL is double
 *   WIDEN(p)  the integers of the fixed16 at p, if compilers need to be told
 *   REALS(p)  of the floats at p, the same: compilers convert half a vector
 *   FMA       a b + c, if there is an instruction for it
 */
#define LOCAL    static inline __attribute__((always_inline)) TARGET
#define LANES_OF (BYTES / (int)sizeof(REAL))
#define PARTS    (GROUP / LANES_OF) /* vectors that hold a group */
#define VECTOR(type)                                                           \
    __attribute__((vector_size(LANES_OF * sizeof(type)),                       \
                   aligned(sizeof(type)), __may_alias__))

typedef REAL NAME(reals) VECTOR(REAL);
typedef double NAME(doubles) VECTOR(double);
typedef float NAME(floats) VECTOR(float);
typedef int32_t NAME(ints) VECTOR(int32_t);
typedef uint16_t NAME(fixed16) VECTOR(uint16_t);
#define reals          NAME(reals)
#define doubles        NAME(doubles)
#define floats         NAME(floats)
#define ints           NAME(ints)
#define fixed16        NAME(fixed16)
#define group_load     NAME(group_load)
#define plane_narrow   NAME(plane_narrow)
#define plane_widen    NAME(plane_widen)
#define line_prefetch  NAME(line_prefetch)
#define group_multiply NAME(group_multiply)
#define rows_multiply  NAME(rows_multiply)
#define row_multiply   NAME(row_multiply)
#define multiply       NAME(multiply)
#define multiply_sides NAME(multiply_sides)

#ifndef FMA
#define FMA(a, b, c) ((a) * (b) + (c))
#endif
#ifndef WIDEN
#define WIDEN(p) CONVERT(*(p), ints)
#endif
#ifndef REALS
#define REALS(p) CONVERT(*(p), reals)
#endif

/* GROUP entries from element `at` on; where less than that are left, zeros. */
LOCAL void group_load(const void *tile, enum klr_precision precision, size_t at,
                      size_t left, reals group[PARTS])
{
    const size_t element = klr_precision_bytes(precision);
    double rest[GROUP] = {0};
    const void *from = (const char *)tile + at * element;
    if (left < GROUP)
        from = memcpy(rest, from, left * element);
#pragma GCC unroll 4
    for (size_t p = 0; p < PARTS; p++)
        group[p] = precision == KLR_FIXED16
                       ? CONVERT(WIDEN((const fixed16 *)from + p), reals)
                   : precision == KLR_FLOAT
                       ? REALS((const floats *)from + p)
                       : CONVERT(((const doubles *)from)[p], reals);
}

/* Have the entries from `at` on fetched, maybe beyond the tile: of the rows to
 * come as they lie in memory, although these will be taken column by column.
 * What is asked for in order the processor goes on to fetch by itself. */
LOCAL void line_prefetch(const void *tile, enum klr_precision precision,
                         size_t at)
{
    __builtin_prefetch(
        (const void *)((uintptr_t)tile + at * klr_precision_bytes(precision)));
}

/* The columns j .. j + GROUP - 1 of `rows` rows from element `at` on; factor,
 * or NULL, holds what they are multiplied by from the left. */
LOCAL void group_multiply(const void *tile, enum klr_precision precision,
                          const size_t rows, const size_t m, size_t at,
                          size_t pitch, size_t j, size_t left_over,
                          const REAL *right,
                          reals sum[PRODUCT_ROWS][KLR_SLICE][PARTS],
                          const reals factor[PRODUCT_ROWS][KLR_SLICE],
                          REAL *backward)
{
    reals entry[PRODUCT_ROWS][PARTS];
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++)
        group_load(tile, precision, at + r * pitch + j, left_over, entry[r]);
    if (right)
#pragma GCC unroll 4
        for (size_t c = 0; c < m; c++)
#pragma GCC unroll 4
            for (size_t p = 0; p < PARTS; p++) {
                const size_t plane = c * KLR_TILE + j + p * LANES_OF;
#pragma GCC unroll 4
                for (size_t r = 0; r < rows; r++)
                    sum[r][c][p] =
                        FMA(entry[r][p], *(const reals *)(right + plane),
                            sum[r][c][p]);
            }
    if (factor)
#pragma GCC unroll 4
        for (size_t c = 0; c < m; c++)
#pragma GCC unroll 4
            for (size_t p = 0; p < PARTS; p++) {
                const size_t plane = c * KLR_TILE + j + p * LANES_OF;
                reals down = *(reals *)(backward + plane);
#pragma GCC unroll 4
                for (size_t r = 0; r < rows; r++)
                    down = FMA(entry[r][p], factor[r][c], down);
                *(reals *)(backward + plane) = down;
            }
}

/* The sum of the parts of a row, by fixed16. */
LOCAL REAL NAME(parts_sum)(const reals sum[PARTS])
{
    REAL part[GROUP];
#pragma GCC unroll 4
    for (size_t p = 0; p < PARTS; p++)
        memcpy(part + p * LANES_OF, &sum[p], sizeof sum[p]);
#pragma GCC unroll 4
    for (size_t width = GROUP / 2; width > 0; width /= 2)
#pragma GCC unroll 4
        for (size_t q = 0; q < width; q++)
            part[q] += part[q + width];
    return part[0];
}

/* `rows` rows from row i on. */
LOCAL void rows_multiply(const void *tile, enum klr_precision precision,
                         const size_t rows, const size_t m, size_t i,
                         size_t pitch, size_t w, const REAL *right,
                         REAL *forward, const REAL *left, REAL *backward)
{
    const size_t line = LINE / klr_precision_bytes(precision);
    reals sum[PRODUCT_ROWS][KLR_SLICE][PARTS] = {{{{0}}}};
    reals from_left[PRODUCT_ROWS][KLR_SLICE];
    const reals(*factor)[KLR_SLICE] = left ? from_left : NULL;
    size_t at = i * pitch, j = 0;
    size_t ahead = at + rows * pitch, edge = ahead + w; /* of rows to come */
#pragma GCC unroll 4
    for (size_t r = 0; left && r < rows; r++)
#pragma GCC unroll 4
        for (size_t c = 0; c < m; c++)
            from_left[r][c] = left[c * KLR_TILE + i + r] - (reals){0};
    for (; j + line <= w; j += line) {
        for (size_t r = 0; r < rows; r++, ahead += line) {
            if (ahead >= edge) {
                edge += pitch;
                ahead = edge - w;
            }
            line_prefetch(tile, precision, ahead);
        }
        for (size_t g = 0; g < line; g += GROUP)
            group_multiply(tile, precision, rows, m, at, pitch, j + g, GROUP,
                           right, sum, factor, backward);
    }
    for (; j < w; j += GROUP)
        group_multiply(tile, precision, rows, m, at, pitch, j,
                       w - j < GROUP ? w - j : GROUP, right, sum, factor,
                       backward);
#pragma GCC unroll 4
    for (size_t r = 0; right && r < rows; r++)
#pragma GCC unroll 4
        for (size_t c = 0; c < m; c++)
            forward[c * KLR_TILE + i + r] = NAME(parts_sum)(sum[r][c]);
}

/* A row that is left over, in a tile that is not whole: no loop of its own. */
static __attribute__((noinline)) TARGET void
row_multiply(const void *tile, enum klr_precision precision, const size_t m,
             size_t i, size_t pitch, size_t w, const REAL *right, REAL *forward,
             const REAL *left, REAL *backward)
{
    rows_multiply(tile, precision, 1, m, i, pitch, w, right, forward, left,
                  backward);
}

/* Each combination of constant arguments makes a loop of its own. Doubles,
 * which take longer to compute than to multiply, have one loop for one side and
 * for both. */
LOCAL void multiply(const void *tile, enum klr_precision precision,
                    size_t pitch, size_t h, size_t w, const size_t m,
                    const REAL *right, REAL *forward, const REAL *left,
                    REAL *backward)
{
    const size_t step = m == 1 ? PRODUCT_ROWS : PRODUCT_ROWS / 2;
    size_t i = 0;
    for (size_t c = 0; left && c < m; c++)
        memset(backward + c * KLR_TILE, 0, KLR_TILE * sizeof *backward);
    for (; i + step <= h; i += step)
        rows_multiply(tile, precision, step, m, i, pitch, w, right, forward,
                      left, backward);
    for (; i < h; i++)
        row_multiply(tile, precision, m, i, pitch, w, right, forward, left,
                     backward);
}

LOCAL void multiply_sides(const void *tile, enum klr_precision precision,
                          size_t pitch, size_t h, size_t w, const size_t m,
                          const REAL *right, REAL *forward, const REAL *left,
                          REAL *backward)
{
    if (right && left)
        multiply(tile, precision, pitch, h, w, m, right, forward, left,
                 backward);
    else if (right)
        multiply(tile, precision, pitch, h, w, m, right, forward, NULL, NULL);
    else
        multiply(tile, precision, pitch, h, w, m, NULL, NULL, left, backward);
}

#ifdef FIXED16
TARGET static void NAME(product)(const void *tile, enum klr_precision precision,
                                 size_t pitch, size_t h, size_t w, size_t m,
                                 const double *right, double *forward,
                                 const double *left, double *backward)
{
    if (precision == KLR_FIXED16)
        FIXED16(tile, pitch, h, w, m, right, forward, left, backward);
    else if (precision == KLR_FLOAT && m == 1)
        multiply_sides(tile, KLR_FLOAT, pitch, h, w, 1, right, forward, left,
                       backward);
    else if (precision == KLR_FLOAT)
        multiply_sides(tile, KLR_FLOAT, pitch, h, w, KLR_SLICE, right, forward,
                       left, backward);
    else if (m == 1)
        multiply(tile, KLR_DOUBLE, pitch, h, w, 1, right, forward, left,
                 backward);
    else
        multiply(tile, KLR_DOUBLE, pitch, h, w, KLR_SLICE, right, forward, left,
                 backward);
}
#undef FIXED16
#else
/* Planes of a vector from double to float, in whole groups with the zeros that
 * fill the last one, and back, in whole `floats`. */
LOCAL void plane_narrow(const double *from, size_t count, float *to)
{
    size_t end = (count + GROUP - 1) / GROUP * GROUP;
    for (size_t j = 0; j < end; j += LANES_OF)
        *(floats *)(to + j) = CONVERT(*(const doubles *)(from + j), floats);
}

LOCAL void plane_widen(const float *from, size_t count, double *to)
{
    for (size_t j = 0; j < count; j += LANES_OF)
        *(doubles *)(to + j) = CONVERT(*(const floats *)(from + j), doubles) *
                               (1.0 / FIXED16_UNITS);
}

/* One vector after the other: memory is what is waited for. */
TARGET static void NAME(product)(const void *tile, size_t pitch, size_t h,
                                 size_t w, size_t m, const double *right,
                                 double *forward, const double *left,
                                 double *backward)
{
    float from[2][KLR_TILE], to[2][KLR_TILE];
    for (size_t c = 0; c < m * KLR_TILE; c += KLR_TILE) {
        if (right)
            plane_narrow(right + c, w, from[0]);
        if (left)
            plane_narrow(left + c, h, from[1]);
        multiply_sides(tile, KLR_FIXED16, pitch, h, w, 1,
                       right ? from[0] : NULL, to[0], left ? from[1] : NULL,
                       to[1]);
        if (right)
            plane_widen(to[0], h, forward + c);
        if (left)
            plane_widen(to[1], w, backward + c);
    }
}
#endif

#undef VECTOR
#undef reals
#undef doubles
#undef floats
#undef ints
#undef fixed16
#undef group_load
#undef plane_narrow
#undef plane_widen
#undef line_prefetch
#undef group_multiply
#undef rows_multiply
#undef row_multiply
#undef multiply
#undef multiply_sides
#undef LOCAL
#undef LANES_OF
#undef PARTS
#undef NAME
#undef TARGET
#undef BYTES
#undef REAL
#undef GROUP
#undef WIDEN
#undef REALS
#undef FMA
