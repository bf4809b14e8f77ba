/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vectors of doubles.
 */
#ifndef KLR_BASE_VECTORS_H
#define KLR_BASE_VECTORS_H

#include <stddef.h>

/* a'b (n), as four sums of every fourth term. */
static inline double dot(size_t n, const double *a, const double *b)
{
    double sum[4] = {0};
    size_t i = 0, whole = n - n % 4;
    for (; i < whole; i += 4) {
        sum[0] += a[i] * b[i];
        sum[1] += a[i + 1] * b[i + 1];
        sum[2] += a[i + 2] * b[i + 2];
        sum[3] += a[i + 3] * b[i + 3];
    }
    for (; i < n; i++)
        sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

#endif
