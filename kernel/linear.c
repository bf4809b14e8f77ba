/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products with the matrix X of the features themselves: with the linear kernel
 * K V = X (X'V), at the price of the numbers stored instead of n^2 entries.
 * Dense rows stand PANEL side by side; where a range does not fill its panel,
 * the other rows take part with coefficients of zero.
 */
#include "kernel/internal.h"

typedef double two __attribute__((vector_size(16), aligned(8), __may_alias__));

size_t klr_points_width(const struct klr_points *points)
{
    return points->width;
}

size_t klr_points_stored(const struct klr_points *points)
{
    return points->form == SPARSE ? points->start[points->n]
                                  : points->n * points->width;
}

/* z (width, KLR_SLICE) += X' V of the rows begin .. end-1 of one panel. */
static void panel_multiply(const struct klr_points *points, size_t begin,
                           size_t end, const double *v, size_t pitch, size_t m,
                           double *z)
{
    double side[KLR_SLICE][PANEL] = {{0}};
    const double *x = points->panel + begin / PANEL * PANEL * points->width;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < m; c++)
            side[c][i % PANEL] = v[(i - begin) * pitch + c];
    for (size_t k = 0; k < points->width; k++, x += PANEL)
        for (size_t c = 0; c < m; c++) {
            double sum = 0;
#pragma GCC unroll 8
            for (size_t r = 0; r < PANEL; r++)
                sum += x[r] * side[c][r];
            z[k * KLR_SLICE + c] += sum;
        }
}

/* out = X Z for the rows begin .. end-1 of one panel. */
static void panel_expand(const struct klr_points *points, size_t begin,
                         size_t end, const double *z, size_t m, double *out,
                         size_t pitch)
{
    const double *x = points->panel + begin / PANEL * PANEL * points->width;
    for (size_t c = 0; c < m; c++) {
        two sum[PANEL / 2] = {{0}};
        double side[PANEL];
        for (size_t k = 0; k < points->width; k++)
#pragma GCC unroll 4
            for (size_t r = 0; r < PANEL / 2; r++)
                sum[r] += *(const two *)(x + k * PANEL + 2 * r) *
                          z[k * KLR_SLICE + c];
        memcpy(side, sum, sizeof side);
        for (size_t i = begin; i < end; i++)
            out[(i - begin) * pitch + c] = side[i % PANEL];
    }
}

static void sparse_multiply(const struct klr_points *points, size_t i,
                            const double *v, size_t m, double *z)
{
    for (size_t t = points->start[i]; t < points->start[i + 1]; t++)
        for (size_t c = 0; c < m; c++)
            z[(size_t)points->column[t] * KLR_SLICE + c] +=
                points->value[t] * v[c];
}

static void sparse_expand(const struct klr_points *points, size_t i,
                          const double *z, size_t m, double *out)
{
    double sum[KLR_SLICE] = {0};
    for (size_t t = points->start[i]; t < points->start[i + 1]; t++)
        for (size_t c = 0; c < m; c++)
            sum[c] +=
                points->value[t] * z[(size_t)points->column[t] * KLR_SLICE + c];
    memcpy(out, sum, m * sizeof *out);
}

/* Where the rows from i on that share its panel end. */
static size_t panel_end(size_t i, struct klr_range rows)
{
    size_t end = i / PANEL * PANEL + PANEL;
    return end < rows.end ? end : rows.end;
}

void klr_points_multiply(const struct klr_points *points, struct klr_range rows,
                         const double *v, size_t pitch, size_t m, double *z)
{
    for (size_t i = rows.begin, end; i < rows.end; i = end) {
        const double *vi = v + (i - rows.begin) * pitch;
        end = points->form == DENSE ? panel_end(i, rows) : i + 1;
        if (points->form == DENSE)
            panel_multiply(points, i, end, vi, pitch, m, z);
        else
            sparse_multiply(points, i, vi, m, z);
    }
}

void klr_points_expand(const struct klr_points *points, struct klr_range rows,
                       const double *z, size_t m, double *out, size_t pitch)
{
    for (size_t i = rows.begin, end; i < rows.end; i = end) {
        double *to = out + (i - rows.begin) * pitch;
        end = points->form == DENSE ? panel_end(i, rows) : i + 1;
        if (points->form == DENSE)
            panel_expand(points, i, end, z, m, to, pitch);
        else
            sparse_expand(points, i, z, m, to);
    }
}
