/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Doubles in four bytes: all decimals of up to seven digits, and never another
 * number in place of what was given.
 */
#include "base/features/packed.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* 1 if the number comes back, 0 if it is refused, -1 if another one comes. */
static int returns(double value)
{
    uint32_t word;
    double back;
    if (!klr_pack(value, &word))
        return 0;
    klr_unpack(1, &word, &back);
    return same_bits(back, value) ? 1 : -1;
}

static uint64_t state = 1;

static uint64_t chance(void)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return state >> 20;
}

/* Decimals as text has them, from 10^-15 to 10^16. */
static void check_decimals(void)
{
    int lost = 0;
    for (int i = 0; i < 300000; i++) {
        char text[40];
        int digits = 1 + (int)(chance() % 7), most = 1;
        for (int k = 0; k < digits; k++)
            most *= 10;
        int number = (int)(chance() % (uint64_t)most);
        snprintf(text, sizeof text, "%s%de%d", chance() % 2 ? "-" : "", number,
                 (int)(chance() % 25) - 15);
        if (returns(strtod(text, NULL)) != 1 && lost++ == 0)
            printf("# %s does not come back\n", text);
    }
    ok(lost == 0, "decimals of up to seven digits come back");
}

static void check_largest(void)
{
    ok(returns(KLR_PACKED_MOST) == 1 && returns(-KLR_PACKED_MOST) == 1 &&
           returns(KLR_PACKED_MOST + 1e9) == 0,
       "the largest number comes back, and no larger one");
}

/* All bits at random, and neighbours of decimals. */
static void check_others(void)
{
    int wrong = 0, kept = 0;
    for (int i = 0; i < 300000; i++) {
        uint64_t bits = chance() << 32 ^ chance();
        double value;
        memcpy(&value, &bits, sizeof value);
        wrong += returns(value) < 0;
        value = (double)(chance() % 1000000 + 1) / 1e6;
        wrong += returns(nextafter(value, 2)) < 0;
        kept += returns(nextafter(value, 2)) > 0;
    }
    ok(wrong == 0, "no other number comes back");
    ok(kept == 0, "neighbours of decimals are refused");
}

int main(void)
{
    static const double packed[] = {0,     -0.0,    1,        -1,     0.5,
                                    1e-22, 67108e3, 67108863, 1234e9, 1e-5};
    static const double refused[] = {1.0 / 3,    M_PI,    1e300,    5e-324,
                                     0x1p53 - 1, -1e-100, INFINITY, 16777.2165};
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        ok(returns(packed[i]) == 1, "%.17g is packed", packed[i]);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        ok(returns(refused[i]) == 0, "%.17g is refused", refused[i]);
    ok(returns(NAN) == 0, "NaN is refused");
    check_decimals();
    check_largest();
    check_others();
    return done_testing();
}
