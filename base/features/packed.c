/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/features/packed.h"

#include <math.h>
#include <string.h>

enum { DIGITS = 26, POINTS = 22, ZEROS = 9 }; /* bits of N; range of s */

/* 10^s, for s + ZEROS, is down / up: one of them is 1. */
static const double up[] = {1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1, 1,
                            1,   1,   1,   1,   1,   1,   1,   1,   1,   1, 1,
                            1,   1,   1,   1,   1,   1,   1,   1,   1,   1};
static const double down[] = {1,    1,    1,    1,    1,    1,    1,    1,
                              1,    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,
                              1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14,
                              1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The largest s with 2^exponent 10^s < 2^26, or almost: log10 2 is nearly
 * 78913 / 2^18. */
static int points_of(int exponent)
{
    const long long unit = 1 << 18, log = 78913;
    long long points = (DIGITS - exponent + unit) * log / unit - log;
    return points > POINTS ? POINTS : (int)points;
}

bool klr_pack(double value, uint32_t *word)
{
    const double whole = 0x1.8p52; /* added, it leaves no fraction */
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int points = points_of((int)(bits >> 52 & 2047) - 1022);
    if (points < -ZEROS) /* also of what is not finite */
        return false;
    double high = up[points + ZEROS], low = down[points + ZEROS];
    double size = fabs(value), number = points < 0 ? size / high : size * low;
    number = number + whole - whole;
    double back = points < 0 ? number * high : number / low;
    if (!(number < 1 << DIGITS) || back != size)
        return false;
    *word = (uint32_t)(bits >> 63) << 31 |
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
