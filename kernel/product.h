/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: a tile times vectors for one instruction set. Whoever includes it
 * defines
 *
 *   NAME(x)   x with the suffix of the instruction set
 *   TARGET    the function attribute that admits its instructions
 *   BYTES     of a vector: 16 or 32
 *
 * There is no fused multiplication here, which would make sums depend on the
 * instruction set and saves little where memory is what is waited for.
 */
#define LOCAL    static inline __attribute__((always_inline)) TARGET
#define LANES_OF (BYTES / (int)sizeof(double))
#define PARTS    (QUAD / LANES_OF) /* vectors that hold a quad */

typedef double NAME(doubles)
    __attribute__((vector_size(BYTES), aligned(8), __may_alias__));
typedef float NAME(halves)
    __attribute__((vector_size(BYTES / 2), aligned(4), __may_alias__));
#define doubles        NAME(doubles)
#define halves         NAME(halves)
#define quad_load      NAME(quad_load)
#define line_prefetch  NAME(line_prefetch)
#define quad_multiply  NAME(quad_multiply)
#define rows_multiply  NAME(rows_multiply)
#define row_multiply   NAME(row_multiply)
#define multiply       NAME(multiply)
#define multiply_sides NAME(multiply_sides)

/* QUAD entries from element `at` on; where less than that are left, zeros. */
LOCAL void quad_load(const void *tile, enum klr_precision precision, size_t at,
                     size_t left, doubles quad[PARTS])
{
    float rest_narrow[QUAD] = {0};
    double rest[QUAD] = {0};
    const float *single = (const float *)tile + at;
    const double *wide = (const double *)tile + at;
    if (left < QUAD && precision == KLR_FLOAT)
        single = memcpy(rest_narrow, single, left * sizeof *single);
    else if (left < QUAD)
        wide = memcpy(rest, wide, left * sizeof *wide);
#pragma GCC unroll 4
    for (size_t p = 0; p < PARTS; p++)
        quad[p] =
            precision == KLR_FLOAT
                ? __builtin_convertvector(((const halves *)single)[p], doubles)
                : ((const doubles *)wide)[p];
}

/* Have the entries from `at` on fetched, which may be beyond the tile: rows are
 * too short for the processor to notice by itself that they follow each other.
 * Doubles were computed just now. */
LOCAL void line_prefetch(const void *tile, enum klr_precision precision,
                         size_t at)
{
    if (precision == KLR_FLOAT)
        __builtin_prefetch(
            (const void *)((uintptr_t)tile + at * sizeof(float)));
}

/* The columns j .. j + QUAD - 1 of `rows` rows from element `at` on. */
LOCAL void quad_multiply(const void *tile, enum klr_precision precision,
                         const size_t rows, const size_t m, size_t at,
                         size_t pitch, size_t j, size_t left_over,
                         const double *right,
                         doubles sum[PRODUCT_ROWS][KLR_SLICE][PARTS],
                         const double *left, double *backward)
{
    doubles entry[PRODUCT_ROWS][PARTS];
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++)
        quad_load(tile, precision, at + r * pitch + j, left_over, entry[r]);
    if (right)
#pragma GCC unroll 4
        for (size_t c = 0; c < m; c++)
#pragma GCC unroll 4
            for (size_t p = 0; p < PARTS; p++) {
                const size_t plane = c * KLR_TILE + j + p * LANES_OF;
#pragma GCC unroll 4
                for (size_t r = 0; r < rows; r++)
                    sum[r][c][p] +=
                        entry[r][p] * *(const doubles *)(right + plane);
            }
    if (left)
#pragma GCC unroll 4
        for (size_t c = 0; c < m; c++)
#pragma GCC unroll 4
            for (size_t p = 0; p < PARTS; p++) {
                const size_t plane = c * KLR_TILE + j + p * LANES_OF;
                doubles down = *(doubles *)(backward + plane);
#pragma GCC unroll 4
                for (size_t r = 0; r < rows; r++)
                    down +=
                        entry[r][p] * (left[c * KLR_TILE + r] - (doubles){0});
                *(doubles *)(backward + plane) = down;
            }
}

/* `rows` rows from row i on. */
LOCAL void rows_multiply(const void *tile, enum klr_precision precision,
                         const size_t rows, const size_t m, size_t i,
                         size_t pitch, size_t w, const double *right,
                         double *forward, const double *left, double *backward)
{
    doubles sum[PRODUCT_ROWS][KLR_SLICE][PARTS] = {{{{0}}}};
    size_t at = i * pitch, j = 0;
    if (left)
        left += i;
    for (; j + QUAD <= w; j += QUAD) {
        for (size_t r = 0; j % LINE == 0 && r < rows; r++)
            line_prefetch(tile, precision, at + (rows + r) * pitch + j);
        quad_multiply(tile, precision, rows, m, at, pitch, j, QUAD, right, sum,
                      left, backward);
    }
    if (j < w)
        quad_multiply(tile, precision, rows, m, at, pitch, j, w - j, right, sum,
                      left, backward);
#pragma GCC unroll 4
    for (size_t r = 0; right && r < rows; r++)
#pragma GCC unroll 4
        for (size_t c = 0; c < m; c++) {
            double part[QUAD];
            memcpy(part, sum[r][c], sizeof part);
            forward[c * KLR_TILE + i + r] =
                (part[0] + part[2]) + (part[1] + part[3]);
        }
}

/* A row that is left over, in a tile that is not whole: no loop of its own. */
static __attribute__((noinline)) TARGET void
row_multiply(const void *tile, enum klr_precision precision, const size_t m,
             size_t i, size_t pitch, size_t w, const double *right,
             double *forward, const double *left, double *backward)
{
    rows_multiply(tile, precision, 1, m, i, pitch, w, right, forward, left,
                  backward);
}

/* What is constant here makes a loop of its own. Doubles, which take longer to
 * compute than to multiply, have one loop for either side and for both. */
LOCAL void multiply(const void *tile, enum klr_precision precision,
                    size_t pitch, size_t h, size_t w, const size_t m,
                    const double *right, double *forward, const double *left,
                    double *backward)
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
                          const double *right, double *forward,
                          const double *left, double *backward)
{
    if (right && left)
        multiply(tile, precision, pitch, h, w, m, right, forward, left,
                 backward);
    else if (right)
        multiply(tile, precision, pitch, h, w, m, right, forward, NULL, NULL);
    else
        multiply(tile, precision, pitch, h, w, m, NULL, NULL, left, backward);
}

TARGET static void NAME(product)(const void *tile, enum klr_precision precision,
                                 size_t pitch, size_t h, size_t w, size_t m,
                                 const double *right, double *forward,
                                 const double *left, double *backward)
{
    if (precision == KLR_FLOAT && m == 1)
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

#undef quad_load
#undef line_prefetch
#undef quad_multiply
#undef rows_multiply
#undef row_multiply
#undef multiply
#undef multiply_sides
#undef doubles
#undef halves
#undef LOCAL
#undef LANES_OF
#undef PARTS
#undef NAME
#undef TARGET
#undef BYTES
