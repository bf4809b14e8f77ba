/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/packed.h"

#include <math.h>

enum { DIGITS = 26, POINTS = 22, ZEROS = 9 }; /* bits of N; range of s */

static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                             1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                             1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static double scaled_down(double number, int points)
{
    return points >= 0 ? number / ten[points] : number * ten[-points];
}

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
    double number = nearbyint(scaled_down(size, -points));
    if (!(number < ldexp(1, DIGITS)) || scaled_down(number, points) != size)
        return false;
    *word = (uint32_t)(signbit(value) != 0) << 31 |
            (uint32_t)(points + ZEROS) << DIGITS | (uint32_t)number;
    return true;
}

double klr_unpack(uint32_t word)
{
    int points = (int)(word >> DIGITS & 31) - ZEROS;
    double number = word & ((UINT32_C(1) << DIGITS) - 1);
    double size = scaled_down(number, points);
    return word >> 31 ? -size : size;
}
