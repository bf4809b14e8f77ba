/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/packed.h"

#include <math.h>

enum { DIGITS = 26, POINTS = 22, ZEROS = 9 }; /* bits of N; range of s */

/* 10^s, for s + ZEROS, is down / up: one of them is 1. */
static const double up[] = {1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1, 1,
                            1,   1,   1,   1,   1,   1,   1,   1,   1,   1, 1,
                            1,   1,   1,   1,   1,   1,   1,   1,   1,   1};
static const double down[] = {1,    1,    1,    1,    1,    1,    1,    1,
                              1,    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,
                              1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14,
                              1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The largest s with 2^exponent 10^s < 2^26, or almost. */
static int points_of(int exponent)
{
    double points = floor((DIGITS - exponent) * 0.30102999);
    return points > POINTS ? POINTS : (int)points;
}

bool klr_pack(double value, uint32_t *word)
{
    int exponent;
    double size = fabs(value);
    frexp(size, &exponent);
    int points = size > 0 ? points_of(exponent) : 0;
    if (!(size < HUGE_VAL) || points < -ZEROS)
        return false;
    double high = up[points + ZEROS], low = down[points + ZEROS];
    double number = nearbyint(size / high * low);
    if (!(number < ldexp(1, DIGITS)) || number * high / low != size)
        return false;
    *word = (uint32_t)(signbit(value) != 0) << 31 |
            (uint32_t)(points + ZEROS) << DIGITS | (uint32_t)number;
    return true;
}

/* Two at a time: the division takes longest. */
typedef double pair
    __attribute__((vector_size(16), aligned(sizeof(double)), __may_alias__));

static pair unpack_pair(uint32_t a, uint32_t b)
{
    static const double sign[] = {1, -1}; /* no branch: it would be random */
    const uint32_t most = (UINT32_C(1) << DIGITS) - 1;
    unsigned s = a >> DIGITS & 31, t = b >> DIGITS & 31;
    const pair number = {sign[a >> 31] * (double)(int32_t)(a & most),
                         sign[b >> 31] * (double)(int32_t)(b & most)};
    return number * (pair){up[s], up[t]} / (pair){down[s], down[t]};
}

void klr_unpack(size_t count, const uint32_t *word, double *value)
{
    for (size_t k = 0; k + 1 < count; k += 2)
        *(pair *)(value + k) = unpack_pair(word[k], word[k + 1]);
    if (count % 2)
        value[count - 1] = unpack_pair(word[count - 1], word[count - 1])[0];
}
