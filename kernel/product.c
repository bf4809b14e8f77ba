/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tile of the Gram matrix times vectors from the right and from the left in
 * one sweep over its entries, which then costs what reading them costs. Entries
 * are widened to double before they are multiplied.
 *
 * Order of the sums, whatever the width of the vectors, the number of rows and
 * of vectors taken at once: a row's sum has QUAD parts, one for the columns of
 * each remainder, that are added at the end; a column's sum runs down the rows.
 */
#include "kernel/internal.h"

enum {
    QUAD = 4,             /* columns taken at once */
    PARTS = QUAD / LANES, /* vectors that hold them */
    PRODUCT_ROWS = 4      /* rows taken at once, with one vector */
};

typedef float narrow
    __attribute__((vector_size(VECTOR_BYTES / 2), aligned(4), __may_alias__));

/* QUAD entries from element `at` on; where less than that are left, zeros. */
INLINE void quad_load(const void *tile, enum klr_precision precision, size_t at,
                      size_t left, vector quad[PARTS])
{
    float rest_narrow[QUAD] = {0};
    double rest[QUAD] = {0};
    const float *single = (const float *)tile + at;
    const double *wide = (const double *)tile + at;
    if (left < QUAD && precision == KLR_FLOAT)
        single = memcpy(rest_narrow, single, left * sizeof *single);
    else if (left < QUAD)
        wide = memcpy(rest, wide, left * sizeof *wide);
    for (size_t p = 0; p < PARTS; p++)
        quad[p] =
            precision == KLR_FLOAT
                ? __builtin_convertvector(((const narrow *)single)[p], vector)
                : ((const vector *)wide)[p];
}

/* The columns j .. j + QUAD - 1 of `rows` rows from element `at` on. */
INLINE void quad_multiply(const void *tile, enum klr_precision precision,
                          const size_t rows, const size_t m, size_t at,
                          size_t pitch, size_t j, size_t left_over,
                          const double *right,
                          vector sum[PRODUCT_ROWS][KLR_SLICE][PARTS],
                          const double *left, double *backward)
{
    vector entry[PRODUCT_ROWS][PARTS];
    for (size_t r = 0; r < rows; r++)
        quad_load(tile, precision, at + r * pitch + j, left_over, entry[r]);
    for (size_t c = 0; c < m; c++)
        for (size_t p = 0; p < PARTS; p++) {
            const size_t plane = c * KLR_TILE + j + p * LANES;
            if (right)
                for (size_t r = 0; r < rows; r++)
                    sum[r][c][p] +=
                        entry[r][p] * *(const vector *)(right + plane);
            if (left) {
                vector down = *(vector *)(backward + plane);
                for (size_t r = 0; r < rows; r++)
                    down += entry[r][p] * vector_all(left[c * KLR_TILE + r]);
                *(vector *)(backward + plane) = down;
            }
        }
}

/* `rows` rows from row i on. */
INLINE void rows_multiply(const void *tile, enum klr_precision precision,
                          const size_t rows, const size_t m, size_t i,
                          size_t pitch, size_t w, const double *right,
                          double *forward, const double *left, double *backward)
{
    vector sum[PRODUCT_ROWS][KLR_SLICE][PARTS] = {{{{0}}}};
    size_t at = i * pitch, j = 0;
    if (left)
        left += i;
    for (; j + QUAD <= w; j += QUAD)
        quad_multiply(tile, precision, rows, m, at, pitch, j, QUAD, right, sum,
                      left, backward);
    if (j < w)
        quad_multiply(tile, precision, rows, m, at, pitch, j, w - j, right, sum,
                      left, backward);
    for (size_t r = 0; right && r < rows; r++)
        for (size_t c = 0; c < m; c++) {
            double part[QUAD];
            memcpy(part, sum[r][c], sizeof part);
            forward[c * KLR_TILE + i + r] =
                (part[0] + part[2]) + (part[1] + part[3]);
        }
}

/* What is constant here makes a loop of its own. */
INLINE void multiply(const void *tile, enum klr_precision precision,
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
        rows_multiply(tile, precision, 1, m, i, pitch, w, right, forward, left,
                      backward);
}

INLINE void multiply_sides(const void *tile, enum klr_precision precision,
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

void klr_tile_multiply(const void *tile, enum klr_precision precision,
                       size_t pitch, size_t h, size_t w, size_t m,
                       const double *right, double *forward, const double *left,
                       double *backward)
{
    if (precision == KLR_FLOAT && m == 1)
        multiply_sides(tile, KLR_FLOAT, pitch, h, w, 1, right, forward, left,
                       backward);
    else if (precision == KLR_FLOAT)
        multiply_sides(tile, KLR_FLOAT, pitch, h, w, KLR_SLICE, right, forward,
                       left, backward);
    else if (m == 1)
        multiply_sides(tile, KLR_DOUBLE, pitch, h, w, 1, right, forward, left,
                       backward);
    else
        multiply_sides(tile, KLR_DOUBLE, pitch, h, w, KLR_SLICE, right, forward,
                       left, backward);
}
