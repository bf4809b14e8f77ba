/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Systems of linear equations and steps of Newton's method, as tests write them
 * out from definitions.
 */
#ifndef KLR_TESTS_ELIMINATE_H
#define KLR_TESTS_ELIMINATE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline void eliminate_swap(long double *a, long double *b)
{
    long double swap = *a;
    *a = *b;
    *b = swap;
}

/* A x = b by elimination with row pivots: rows of a (m, m) are `wide` apart,
 * elements of b (m), which becomes x, `step`. */
static inline void eliminate(size_t m, size_t wide, long double *a, size_t step,
                             long double *b)
{
    for (size_t k = 0; k < m; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < m; i++)
            if (fabsl(a[i * wide + k]) > fabsl(a[best * wide + k]))
                best = i;
        for (size_t j = 0; j < m && best != k; j++)
            eliminate_swap(&a[k * wide + j], &a[best * wide + j]);
        eliminate_swap(&b[k * step], &b[best * step]);
        for (size_t i = k + 1; i < m; i++) {
            long double factor = a[i * wide + k] / a[k * wide + k];
            for (size_t j = k; j < m; j++)
                a[i * wide + j] -= factor * a[k * wide + j];
            b[i * step] -= factor * b[k * step];
        }
    }
    for (size_t k = m; k-- > 0;) {
        for (size_t j = k + 1; j < m; j++)
            b[k * step] -= a[k * wide + j] * b[j * step];
        b[k * step] /= a[k * wide + k];
    }
}

typedef long double objective_fn(const void *context, const long double *x);

/* x (m) becomes x + t step for the first t of 1, 1/2 .. at which f is less than
 * *objective, which follows; false: there is none. `next` (m) is workspace. */
static inline bool descend(objective_fn *f, const void *context, size_t m,
                           const long double *step, long double *next,
                           long double *x, long double *objective)
{
    for (long double t = 1; t > 1e-6L; t /= 2) {
        for (size_t k = 0; k < m; k++)
            next[k] = x[k] + t * step[k];
        long double least = f(context, next);
        if (least >= *objective)
            continue;
        memcpy(x, next, m * sizeof *x);
        *objective = least;
        return true;
    }
    return false;
}

#endif
