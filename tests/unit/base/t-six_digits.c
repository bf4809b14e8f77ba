/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Six digits against printf's %g, ties and powers of ten included.
 */
#include "base/numbers.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

static bool agrees(double v)
{
    char text[KLR_REAL_SIZE], expected[KLR_REAL_SIZE];
    int length = klr_format_six(text, v);
    snprintf(expected, sizeof expected, "%g", v);
    if (length == (int)strlen(expected) &&
        !memcmp(text, expected, (size_t)length))
        return true;
    printf("# %.*s, but %s\n", length, text, expected);
    return false;
}

static bool agrees_around(double v)
{
    return agrees(v) && agrees(nextafter(v, 0)) && agrees(nextafter(v, 1e9)) &&
           agrees(-v);
}

/* k + 1/2 units of the sixth digit: exact ties where they are binary, and the
 * nearest doubles to ties where they are not. */
static void test_ties(void)
{
    int bad = 0;
    for (double unit = 1; unit > 1e-10; unit /= 10)
        for (int k = 100000; k < 1000000; k += 997)
            bad += !agrees_around((k + 0.5) * unit);
    for (int bits = 1; bits < 30; bits++)
        for (int k = 1; k < 3000; k++)
            bad += !agrees_around(ldexp(k, -bits));
    ok(bad == 0, "ties and their neighbours (%d differ)", bad);
}

static void test_powers(void)
{
    static const double power[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1,
                                   10,   100,  1e3,  1e4,  1e5,  1e6,  1e7};
    int bad = 0;
    for (size_t i = 0; i < sizeof power / sizeof *power; i++)
        for (int k = 1; k < 10; k++)
            bad += !agrees_around(k * power[i]) +
                   !agrees_around(power[i] * 0.9999995) +
                   !agrees_around(power[i] * 0.99999949999999);
    ok(bad == 0, "powers of ten and their neighbours (%d differ)", bad);
}

static void test_random(void)
{
    uint64_t state = 88172645463325252;
    int bad = 0;
    for (int i = 0; i < 1000000; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        double unit = (double)(state >> 11) / 9007199254740992.0;
        double v = unit * 2 - 1;
        if (i % 4 == 1)
            v = exp(v * 16);
        else if (i % 4 == 2)
            v = floor(unit * 1e7) / 1e7;
        else if (i % 4 == 3)
            memcpy(&v, &state, sizeof v);
        bad += isfinite(v) && !agrees(v);
    }
    ok(bad == 0, "random numbers (%d differ)", bad);
}

int main(void)
{
    test_ties();
    test_powers();
    test_random();
    return done_testing();
}
