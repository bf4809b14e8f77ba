/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dense positive definite matrices A = R'R in double, R upper triangular, in
 * bands of KLR_BAND rows: from a band the products with those above are
 * subtracted, then it is divided by its triangle on the diagonal. Both are for
 * the processor's vectors; the triangle itself is small.
 */
#include "solver/matrix/matrix.h"

static void band_reduce(const struct klr_dense *dense, size_t inner,
                        const double *a, const double *b, size_t pitch,
                        size_t rows, size_t cols, double *to)
{
    double out[KLR_BAND * KLR_BAND];
    dense->gram(inner, a, b, KLR_DOUBLE, pitch, rows, cols, out);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = a == b ? i : 0; j < cols; j++)
            to[i * pitch + j] -= out[i * KLR_BAND + j];
}

static bool band_factor(size_t rows, size_t pitch, double *a, double least)
{
    bool definite = true;
    for (size_t k = 0; k < rows; k++) {
        double *row = a + k * pitch;
        definite = definite && row[k] > least;
        row[k] = sqrt(fmax(row[k], least));
        double f = 1 / row[k];
        for (size_t j = k + 1; j < rows; j++)
            row[j] *= f;
        for (size_t i = k + 1; i < rows; i++)
            for (size_t j = i; j < rows; j++)
                a[i * pitch + j] -= row[i] * row[j];
    }
    return definite;
}

static size_t band_rows(size_t n, size_t first)
{
    return n - first < KLR_BAND ? n - first : KLR_BAND;
}

static bool triangle_factor(const struct klr_dense *dense, size_t n,
                            size_t pitch, double *a, double least)
{
    bool definite = true;
    for (size_t k = 0; k < n; k += KLR_BAND) {
        size_t rows = band_rows(n, k), right = k + rows;
        double *band = a + k * pitch;
        for (size_t j = k; j < n && k > 0; j += KLR_BAND)
            band_reduce(dense, k, a + k, a + j, pitch, rows, band_rows(n, j),
                        band + j);
        definite = band_factor(rows, pitch, band + k, least) && definite;
        if (right < n)
            dense->divide(rows, band + k, pitch, n - right, band + right,
                          pitch);
    }
    return definite;
}

static void triangle_invert(const struct klr_dense *dense, size_t n,
                            size_t pitch, const double *r, double *inverse)
{
    for (size_t k = 0; k < n; k += KLR_BAND) {
        size_t rows = band_rows(n, k);
        double *band = inverse + k * pitch;
        for (size_t i = 0; i < rows; i++)
            band[i * pitch + k + i] = 1;
        for (size_t j = 0; j < k; j += KLR_BAND)
            band_reduce(dense, k - j, r + j * pitch + k,
                        inverse + j * pitch + j, pitch, rows, KLR_BAND,
                        band + j);
        dense->divide(rows, r + k * pitch + k, pitch, k + rows, band, pitch);
    }
}

static void triangle_solve(size_t n, size_t pitch, const double *restrict r,
                           double *restrict x)
{
    for (size_t k = 0; k < n; k++) {
        const double *restrict row = r + k * pitch;
        x[k] /= row[k];
        for (size_t j = k + 1; j < n; j++)
            x[j] -= row[j] * x[k];
    }
    for (size_t k = n; k-- > 0;) {
        const double *row = r + k * pitch + k;
        x[k] = (x[k] - dot(n - k - 1, row + 1, x + k + 1)) / row[0];
    }
}

static void triangle_bands(size_t index, size_t *a, size_t *b)
{
    for (*a = index, *b = 0; *a > *b; ++*b)
        *a -= *b + 1;
}
