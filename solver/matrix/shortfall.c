/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How far K falls short of being positive semidefinite, at most, where all its
 * eigenvalues would take too long: a pivoted Cholesky factorisation of what has
 * few large eigenvalues ends where a residual diagonal element is as much below
 * 0 as any is above. Then K = L L' + E, and v'K v >= -|E| |v|^2.
 *
 * On vectors of sum 0 a matrix does the same as K that is 0 in its first row
 * and column, K_ij - K_i0 - K_0j + K_00, and positive semidefinite if K is so
 * conditionally. Its factor needs no projection.
 *
 * The Frobenius norm of E is at least |E|. Its square is the mean of |E w|^2
 * over vectors w of independent elements at random with mean 0 and deviation 1.
 * Sixteen times the root of the mean of four such squares is more than the
 * norm, but for one E in 30,000 at most, of rank 1, of which the norm is |E|.
 */
#include <float.h>

#include "solver/matrix/matrix.h"

enum { SHORTFALL_PROBES = 4 };

/* Columns of L, in so many bytes; 8 sqrt(n) take as long as a few products with
 * K. */
static size_t shortfall_most(size_t n, double bytes)
{
    double room = bytes / (sizeof(double) * (double)n);
    double most = fmin(8 * sqrt((double)n), room);
    return most > 1 ? (size_t)fmin(most, (double)n) : 1;
}

struct shortfall {
    struct submatrix k;
    bool centred;
    size_t n, rank, most;
    double *first;         /* (n) K_0j where centred, else 0 */
    double *left;          /* (n) the residual diagonal */
    double *row;           /* (n) */
    double *l;             /* (n, most), of which rank columns count */
    double *probe, *image; /* (n, SHORTFALL_PROBES) */
};

static int shortfall_create(struct shortfall *s, double bytes,
                            struct klr_arena *arena, struct klr_error *err)
{
    size_t n = s->n = s->k.set.size;
    s->most = shortfall_most(n, bytes);
    return KLR_TAKE(arena, s->first, n, 1, err) &&
                   KLR_TAKE(arena, s->left, n, 1, err) &&
                   KLR_TAKE(arena, s->row, n, 1, err) &&
                   KLR_TAKE(arena, s->l, n, s->most, err) &&
                   KLR_TAKE(arena, s->probe, n, SHORTFALL_PROBES, err) &&
                   KLR_TAKE(arena, s->image, n, SHORTFALL_PROBES, err)
               ? 0
               : KLR_E_MEMORY;
}

/* The first row and the diagonal; false: the pool's watch ended it. */
static bool shortfall_begin(struct shortfall *s)
{
    operator_diagonal(s->k.op, s->k.set, s->left);
    memset(s->first, 0, s->n * sizeof *s->first);
    if (!s->centred)
        return true;
    if (!operator_row(s->k.op, s->k.set, 0, s->first))
        return false;
    for (size_t i = 1; i < s->n; i++)
        s->left[i] += s->first[0] - 2 * s->first[i];
    s->left[0] = 0;
    return true;
}

/* The next column of L, by that pivot; false as above. */
static bool shortfall_column(struct shortfall *s, size_t pivot)
{
    const double *own = s->l + pivot * s->most;
    double root = sqrt(s->left[pivot]);
    double shift = s->first[0] - s->first[pivot];
    if (!operator_row(s->k.op, s->k.set, pivot, s->row))
        return false;
    for (size_t i = 0; i < s->n; i++) {
        double *line = s->l + i * s->most;
        double entry = s->row[i] - s->first[i] + shift;
        double next = (entry - dot(s->rank, line, own)) / root;
        s->row[i] = next;
        s->left[i] -= next * next;
    }
    for (size_t i = 0; i < s->n; i++)
        s->l[i * s->most + s->rank] = s->row[i];
    s->left[pivot] = 0;
    s->rank++;
    return true;
}

/* L; false as above. */
static bool shortfall_factor(struct shortfall *s)
{
    double rounding = 0;
    for (size_t i = 0; i < s->n; i++)
        rounding = fmax(rounding, fabs(s->left[i]));
    rounding *= DBL_EPSILON * (double)s->n;
    for (s->rank = 0; s->rank < s->most;) {
        size_t pivot = 0;
        double least = -rounding;
        for (size_t i = 0; i < s->n; i++) {
            pivot = s->left[i] > s->left[pivot] ? i : pivot;
            least = fmin(least, s->left[i]);
        }
        if (!(s->left[pivot] > -least))
            break;
        if (!shortfall_column(s, pivot))
            return false;
    }
    return true;
}

/* image = K probe, of K as L is of; false as above. */
static bool shortfall_product(struct shortfall *s)
{
    enum { M = SHORTFALL_PROBES };
    uint64_t random = 1;
    double sum[M] = {0}, rest[M] = {0};
    for (size_t t = 0; t < s->n * M; t++)
        s->probe[t] = sqrt(12) * (random_unit(&random) - 0.5);
    if (!operator_apply(s->k.op, s->k.set, s->k.set, s->probe, M, KLR_DOUBLE,
                        s->image))
        return false;
    for (size_t i = 0; i < s->n; i++)
        for (size_t q = 0; q < M; q++) {
            sum[q] += s->probe[i * M + q];
            rest[q] += s->first[i] * s->probe[i * M + q];
        }
    for (size_t i = 0; i < s->n; i++)
        for (size_t q = 0; q < M; q++)
            s->image[i * M + q] +=
                (s->first[0] - s->first[i]) * sum[q] - rest[q];
    return true;
}

/* image -= L L' probe */
static void shortfall_reduce(struct shortfall *s)
{
    enum { M = SHORTFALL_PROBES };
    for (size_t k = 0; k < s->rank; k++) {
        double w[M] = {0};
        for (size_t i = 0; i < s->n; i++)
            for (size_t q = 0; q < M; q++)
                w[q] += s->l[i * s->most + k] * s->probe[i * M + q];
        for (size_t i = 0; i < s->n; i++)
            for (size_t q = 0; q < M; q++)
                s->image[i * M + q] -= s->l[i * s->most + k] * w[q];
    }
}

static int shortfall_bound(struct submatrix k, bool centred, double bytes,
                           double *bound, struct klr_error *err)
{
    struct shortfall s = {.k = k, .centred = centred};
    struct klr_arena arena = {0};
    int code = shortfall_create(&s, bytes, &arena, err);
    *bound = (double)NAN;
    if (!code && shortfall_begin(&s) && shortfall_factor(&s) &&
        shortfall_product(&s)) {
        size_t size = s.n * SHORTFALL_PROBES;
        shortfall_reduce(&s);
        *bound = 16 * sqrt(dot(size, s.image, s.image) / SHORTFALL_PROBES);
    }
    klr_arena_free(&arena);
    return code;
}
