/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel function of the sums. Exponentials, which dominate when there are
 * few features, are computed in vectors with the last bit or so uncertain,
 * and depend on their argument alone.
 */
#include "kernel/internal.h"

/* Where the exponent of e^x would leave the normal numbers. */
#define EXP_LEAST (-708.0)

/* e^x for x <= 0, within 2 units in the last place; e^0 = 1 exactly, and 0
 * below e^-708. x = n log 2 + r with |r| <= log(2)/2, then Taylor's series up
 * to r^13 / 13!, which is good to 4e-18; 1 + (r + ..) is summed last. */
INLINE vector vector_exp(vector x)
{
    const double to_integer = 0x1.8p52; /* adding it rounds to integers */
    const double log2_high = 0x1.62e42fefa0000p-1; /* n * this is exact */
    const double log2_low = 0x1.cf79abc9e3b39p-40;
    vector_bits vanishes = x < EXP_LEAST;
    x = (vector)(((vector_bits)x & ~vanishes) |
                 ((vector_bits)vector_all(EXP_LEAST) & vanishes));
    vector n = x * 0x1.71547652b82fep+0 + to_integer;
    vector_bits scale = ((vector_bits)n << 52) + (INT64_C(1023) << 52);
    n -= to_integer;
    vector r = x - n * log2_high - n * log2_low;
    vector r2 = r * r, r4 = r2 * r2;
    /* r^2 (1/2! + r/3! + .. + r^11/13!) in pairs of pairs */
    vector p0 = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
    vector p1 = (1.0 / 720 + r * (1.0 / 5040)) +
                r2 * (1.0 / 40320 + r * (1.0 / 362880));
    vector p2 = (1.0 / 3628800 + r * (1.0 / 39916800)) +
                r2 * (1.0 / 479001600 + r * (1.0 / 6227020800.0));
    vector power = 1.0 + (r + r2 * (p0 + r4 * (p1 + r4 * p2)));
    return (vector)((vector_bits)(power * (vector)scale) & ~vanishes);
}

static void values_of_distances(const struct klr_points *a, size_t i,
                                const struct klr_points *b, size_t begin,
                                size_t width, double *sums)
{
    vector scale = vector_all(b->term == PRODUCT   ? -2.0
                              : b->term == OVERLAP ? -1.0
                                                   : 1.0);
    vector gamma = vector_all(b->kernel.gamma), size = vector_all(a->size[i]);
    const double *sizes = b->size + begin;
    for (size_t c = 0; c < width; c += LANES) {
        vector *sum = (vector *)(sums + c);
        vector distance = (size + *(const vector *)(sizes + c)) + scale * *sum;
        distance = (vector)((vector_bits)distance & ~(distance < 0));
        *sum = vector_exp(-gamma * distance);
    }
}

static void values_of_arguments(const struct klr_kernel *kernel, size_t width,
                                double *arguments)
{
    if (kernel->type == KLR_SIGMOID)
        for (size_t c = 0; c < width; c++)
            arguments[c] = tanh(arguments[c]);
    else
        for (size_t c = 0; c < width; c++)
            arguments[c] = kernel_power(arguments[c], kernel->degree);
}

static void values_of_products(const struct klr_kernel *kernel, size_t width,
                               double *sums)
{
    if (kernel->type == KLR_LINEAR)
        return;
    for (size_t c = 0; c < width; c++)
        sums[c] = kernel->gamma * sums[c] + kernel->coef0;
    values_of_arguments(kernel, width, sums);
}
