/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Examples of a precomputed kernel: a matrix by positions. Feature 0 of a row
 * is the serial number of its example, feature s the kernel with the example
 * of serial number s, 0 if it is not there: K(x, z) = x[serial(z)]. The support
 * vectors of a model are bare: they have their serial numbers only, which is
 * enough for the right side. The matrix of a training set must be symmetric,
 * but for the rounding of what wrote it.
 */
#include "kernel/parts.h"

/* The value of feature `index` in a row. Rows are complete more often than
 * not, and then feature s stands at s. */
static double matrix_lookup(const struct klr_features *x, size_t row, int index)
{
    size_t begin = x->start[row], end = x->start[row + 1];
    if ((size_t)index < end - begin && x->index[begin + (size_t)index] == index)
        return x->value[begin + (size_t)index];
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (x->index[middle] < index)
            begin = middle + 1;
        else
            end = middle;
    }
    bool found = begin < x->start[row + 1] && x->index[begin] == index;
    return found ? x->value[begin] : 0;
}

/* Check that a row has feature 0 and, on the right side, where it counts, that
 * it is a serial number. */
static int matrix_serial(const struct klr_features *x, size_t row, bool right,
                         int *serial, struct klr_error *err)
{
    size_t begin = x->packed ? 0 : x->start[row];
    int most = x->dimension > 0 ? x->dimension : INT32_MAX;
    if (x->packed || begin == x->start[row + 1] || x->index[begin] != 0)
        return klr_fail_at(err, KLR_E_DATA, (long)row + 1, 0,
                           "a precomputed kernel needs 0:SERIAL as the first "
                           "feature of every row");
    double value = x->value[begin];
    if (!right)
        return 0;
    if (!(value >= 1 && value <= most) || value != floor(value))
        return klr_fail_at(err, KLR_E_DATA, (long)row + 1, 0,
                           "serial number %.15g is not an integer from 1 to "
                           "%d%s",
                           value, most,
                           x->dimension > 0 ? ", the last column" : "");
    *serial = (int)value;
    return 0;
}

static bool matrix_is_bare(const struct klr_features *x)
{
    return klr_features_count(x) == x->n;
}

/* True if two values of K_pj are equal up to rounding, relative to the largest
 * of them, K_pp and K_jj. A small K_pj may have any error relative to itself.
 */
static bool matrix_agree(const struct klr_points *points, size_t p, size_t j,
                         double here, double there)
{
    const double rounding = 1e-3, *m = points->matrix;
    size_t n = points->width;
    double diagonal = fmax(fabs(m[p * n + p]), fabs(m[j * n + j]));
    double size = fmax(fmax(fabs(here), fabs(there)), diagonal);
    return !(fabs(here - there) > rounding * size);
}

/* A row of the serial number of row p that has another value at j, or n. */
static size_t matrix_twin(const struct klr_points *points, size_t p, size_t j)
{
    const double *m = points->matrix;
    size_t n = points->width, q = 0;
    while (q < n && (points->serial[q] != points->serial[p] ||
                     matrix_agree(points, p, j, m[p * n + j], m[q * n + j])))
        q++;
    return q;
}

static long matrix_line(const size_t *order, size_t p)
{
    return (long)(order ? order[p] : p) + 1;
}

/* Rows p and j are not symmetric, perhaps as one has the number of another. */
static int matrix_refuse(const struct klr_points *points, const size_t *order,
                         size_t p, size_t j, struct klr_error *err)
{
    const double *m = points->matrix;
    const int *serial = points->serial;
    size_t n = points->width, pair[] = {p, j, p};
    for (int k = 0; k < 2; k++) {
        size_t a = pair[k], b = pair[k + 1], q = matrix_twin(points, a, b);
        long line = matrix_line(order, a);
        if (q < n && matrix_line(order, q) > line)
            line = matrix_line(order, q);
        if (q < n)
            return klr_fail_at(err, KLR_E_DATA, line, 0,
                               "two rows have the serial number %d, with "
                               "K(%d,%d) = %.6g and %.6g",
                               serial[a], serial[a], serial[b], m[a * n + b],
                               m[q * n + b]);
    }
    return klr_fail_at(err, KLR_E_DATA, matrix_line(order, p), 0,
                       "the kernel matrix is not symmetric: K(%d,%d) = %.6g, "
                       "but K(%d,%d) = %.6g",
                       serial[p], serial[j], m[p * n + j], serial[j], serial[p],
                       m[j * n + p]);
}

/* In the order of the rows: the first that does not agree with one before it is
 * named. */
static int matrix_check(const struct klr_points *points, const size_t *order,
                        const size_t *position, struct klr_error *err)
{
    const double *m = points->matrix;
    size_t n = points->width;
    for (size_t row = 0; row < n; row++)
        for (size_t before = 0; before < row; before++) {
            size_t p = position ? position[row] : row;
            size_t j = position ? position[before] : before;
            if (!matrix_agree(points, p, j, m[p * n + j], m[j * n + p]))
                return matrix_refuse(points, order, p, j, err);
        }
    return 0;
}

static int matrix_serials(struct klr_points *points, const size_t *position,
                          const struct klr_features *x, bool right,
                          struct klr_error *err)
{
    int code = 0;
    points->serial = klr_zalloc(x->n, sizeof(int), err);
    if (!points->serial)
        return KLR_E_MEMORY;
    for (size_t row = 0; row < x->n && !code; row++)
        code =
            matrix_serial(x, row, right,
                          &points->serial[position ? position[row] : row], err);
    return code;
}

static int matrix_fill(struct klr_points *points, const int *serial,
                       const struct klr_features *x, const size_t *order,
                       struct klr_error *err)
{
    if (points->width > SIZE_MAX / sizeof(double))
        return klr_fail(err, KLR_E_MEMORY, "too many examples");
    points->matrix = klr_alloc(x->n, points->width * sizeof(double), err);
    if (!points->matrix)
        return KLR_E_MEMORY;
    for (size_t p = 0; p < x->n; p++)
        for (size_t j = 0; j < points->width; j++)
            points->matrix[p * points->width + j] =
                matrix_lookup(x, order ? order[p] : p, serial[j]);
    return 0;
}

static int matrix_create(struct klr_points *points,
                         const struct klr_points *base,
                         const struct klr_features *x, const size_t *order,
                         struct klr_error *err)
{
    const struct klr_points *right = base ? base : points;
    size_t *position;
    int code = points_positions(&position, order, x->n, err);
    points->form = MATRIX;
    points->n = x->n;
    points->width = matrix_is_bare(x) ? 0 : right->n;
    if (!code)
        code = matrix_serials(points, position, x, !base, err);
    if (!code)
        code = matrix_fill(points, right->serial, x, order, err);
    if (!code && !base)
        code = matrix_check(points, order, position, err);
    klr_free(position);
    return code;
}
