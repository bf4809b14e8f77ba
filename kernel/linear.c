/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products with the matrix X of the features themselves: with the linear kernel
 * K V = X (X'V), at the price of the numbers stored instead of n^2 entries.
 * Dense rows stand PANEL side by side; where a range does not fill its panel,
 * the other rows take part with coefficients of zero.
 */
#include "kernel/parts.h"

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

bool klr_points_rows(const struct klr_points *points, const size_t **start,
                     const int **column, const double **value)
{
    *start = points->start;
    *column = points->column;
    *value = points->value;
    return points->form == SPARSE;
}

/* z (width, m) += X' V of the rows begin .. end-1 of one panel. */
INLINE void panel_multiply(const struct klr_points *points, size_t begin,
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
            z[k * m + c] += sum;
        }
}

/* out = X Z for the rows begin .. end-1 of one panel. */
INLINE void panel_expand(const struct klr_points *points, size_t begin,
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
                sum[r] += *(const two *)(x + k * PANEL + 2 * r) * z[k * m + c];
        memcpy(side, sum, sizeof side);
        for (size_t i = begin; i < end; i++)
            out[(i - begin) * pitch + c] = side[i % PANEL];
    }
}

INLINE void sparse_multiply(const struct klr_points *points, size_t i,
                            const double *v, size_t m, double *z)
{
    for (size_t t = points->start[i]; t < points->start[i + 1]; t++)
        for (size_t c = 0; c < m; c++)
            z[(size_t)points->column[t] * m + c] += points->value[t] * v[c];
}

INLINE void sparse_expand(const struct klr_points *points, size_t i,
                          const double *z, size_t m, double *out)
{
    double sum[KLR_SLICE] = {0};
    for (size_t t = points->start[i]; t < points->start[i + 1]; t++)
        for (size_t c = 0; c < m; c++)
            sum[c] += points->value[t] * z[(size_t)points->column[t] * m + c];
    memcpy(out, sum, m * sizeof *out);
}

/* Where the rows from i on that share its panel end. */
static size_t panel_end(size_t i, struct klr_range rows)
{
    size_t end = i / PANEL * PANEL + PANEL;
    return end < rows.end ? end : rows.end;
}

INLINE void rows_multiply(const struct klr_points *points,
                          struct klr_range rows, const double *v, size_t pitch,
                          size_t m, double *z)
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

INLINE void rows_expand(const struct klr_points *points, struct klr_range rows,
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

/* One column, as most products have, is worth a loop of its own. */
void klr_points_multiply(const struct klr_points *points, struct klr_range rows,
                         const double *v, size_t pitch, size_t m, double *z)
{
    if (m == 1)
        rows_multiply(points, rows, v, pitch, 1, z);
    else
        rows_multiply(points, rows, v, pitch, m, z);
}

void klr_points_expand(const struct klr_points *points, struct klr_range rows,
                       const double *z, size_t m, double *out, size_t pitch)
{
    if (m == 1)
        rows_expand(points, rows, z, 1, out, pitch);
    else
        rows_expand(points, rows, z, m, out, pitch);
}
