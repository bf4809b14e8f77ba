/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The worst of many errors, for tests.
 */
#ifndef KLR_TESTS_LARGER_H
#define KLR_TESTS_LARGER_H

/* The larger one, or the one that is no number: fmax() would pass it over, and
 * a test of the worst error would hold. */
static inline double larger_of(double a, double b)
{
    return a != a || b <= a ? a : b;
}

#endif
