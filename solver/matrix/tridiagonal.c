/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Householder tridiagonalisation of K with double entries (Golub & Van Loan,
 * Matrix Computations, 8.3), begun with the reflection that takes the vector of
 * ones to the first axis: what follows the first row and column of T = Q'K Q
 * has the eigenvalues of K on the vectors of sum 0. And eigenvalues of T, by
 * bisection on the number of negative pivots of T - x.
 */
#include <float.h>

#include "solver/matrix/matrix.h"

/* ---- a dense matrix ---- */

/* p (n) = A v from `first` on, A symmetric, its lower triangle row-major. */
static void dense_symmetric(size_t n, size_t first, const double *a,
                            const double *v, double *p)
{
    enum { PARTS = 4 };
    memset(p + first, 0, (n - first) * sizeof *p);
    for (size_t i = first; i < n; i++) {
        const double *restrict row = a + i * n;
        double sum[PARTS] = {0}, own = v[i];
        size_t j = first;
        for (; j + PARTS <= i; j += PARTS)
            for (size_t q = 0; q < PARTS; q++) {
                sum[q] += row[j + q] * v[j + q];
                p[j + q] += row[j + q] * own;
            }
        for (; j < i; j++) {
            sum[0] += row[j] * v[j];
            p[j] += row[j] * own;
        }
        p[i] += (sum[0] + sum[1]) + (sum[2] + sum[3]) + row[i] * own;
    }
}

/* A = H A H from `first` on, H = I - 2 v v'/v'v the reflection that takes x =
 * v + r e_first to r e_first: r = -sign(x_first) |x|. v holds x, then v, or a
 * multiple, since what roundings leave of a column may be so small that its
 * square is 0. p (n) is workspace. Returns r. */
static double dense_reflect(size_t n, size_t first, double *a, double *v,
                            double *p)
{
    size_t left = n - first;
    double largest = 0;
    int exponent;
    for (size_t i = first; i < n; i++)
        largest = fmax(largest, fabs(v[i]));
    frexp(largest, &exponent);
    for (size_t i = first; i < n && exponent < 0; i++)
        v[i] = ldexp(v[i], -exponent);
    double norm = sqrt(dot(left, v + first, v + first));
    double r = v[first] > 0 ? -norm : norm;
    if (norm == 0)
        return 0;
    v[first] -= r;
    double scale = 2 / dot(left, v + first, v + first);
    dense_symmetric(n, first, a, v, p);
    double half = 0.5 * scale * scale * dot(left, p + first, v + first);
    for (size_t i = first; i < n; i++)
        p[i] = scale * p[i] - half * v[i];
    for (size_t i = first; i < n; i++) {
        double *restrict row = a + i * n, vi = v[i], pi = p[i];
        for (size_t j = first; j <= i; j++)
            row[j] -= vi * p[j] + pi * v[j];
    }
    return exponent < 0 ? ldexp(r, exponent) : r;
}

static bool dense_entries(const struct submatrix *k, double *a)
{
    size_t n = k->set.size, row[KLR_STRIP];
    bool whole = true;
    for (size_t i = 0, count; i < n && whole; i += count) {
        count = n - i < KLR_STRIP ? n - i : KLR_STRIP;
        for (size_t j = 0; j < count; j++)
            row[j] = i + j;
        whole =
            operator_rows(k->op, row, count, k->set, KLR_DOUBLE, a + i * n, n);
    }
    return whole;
}

static bool tridiagonalise(const struct submatrix *k, double *const work[3],
                           double *d, double *e, bool goes_on(void *),
                           void *context)
{
    size_t n = k->set.size;
    double *a = work[0], *v = work[1], *p = work[2];
    if (!dense_entries(k, a))
        return false;
    for (size_t i = 0; i < n; i++)
        v[i] = 1;
    dense_reflect(n, 0, a, v, p);
    for (size_t j = 0; j + 1 < n; j++) {
        if (!goes_on(context))
            return false;
        for (size_t i = j + 1; i < n; i++)
            v[i] = a[i * n + j];
        e[j] = dense_reflect(n, j + 1, a, v, p);
    }
    for (size_t i = 0; i < n; i++)
        d[i] = a[i * n + i];
    return true;
}

/* ---- eigenvalues of a tridiagonal one ---- */

static size_t tridiagonal_count(const struct tridiagonal *t, double x)
{
    size_t count = 0;
    double pivot = 1;
    for (size_t i = 0; i < t->n; i++) {
        double e = i > 0 ? t->e[i - 1] : 0;
        pivot = t->d[i] - x - (e == 0 ? 0 : e * e / pivot);
        if (pivot == 0)
            pivot = -1e-300;
        count += pivot < 0;
    }
    return count;
}

/* A bound on the absolute eigenvalues: Gershgorin's. */
static double tridiagonal_bound(const struct tridiagonal *t)
{
    double bound = 0;
    for (size_t i = 0; i < t->n; i++) {
        double sum = fabs(t->d[i]);
        sum += i > 0 ? fabs(t->e[i - 1]) : 0;
        sum += i + 1 < t->n ? fabs(t->e[i]) : 0;
        bound = fmax(bound, sum);
    }
    return bound;
}

/* The eigenvalue that `below` others are less than, in ascending order. */
static double tridiagonal_value(const struct tridiagonal *t, size_t below)
{
    double high = tridiagonal_bound(t), low = -high;
    for (int step = 0; step < 200; step++) {
        double x = 0.5 * (low + high);
        if (x <= low || x >= high)
            break;
        *(tridiagonal_count(t, x) > below ? &high : &low) = x;
    }
    return 0.5 * (low + high);
}

static struct klr_extremes tridiagonal_extremes(const struct tridiagonal *t)
{
    if (t->n == 0)
        return (struct klr_extremes){NAN, NAN};
    return (struct klr_extremes){tridiagonal_value(t, 0),
                                 tridiagonal_value(t, t->n - 1)};
}

static double tridiagonal_rounding(const struct tridiagonal *t)
{
    return ldexp((double)t->n * tridiagonal_bound(t), -52) + DBL_MIN;
}
