/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ten million random spellings of numbers, bit for bit against strtod: the
 * kinds that data files hold, and those that are hard to round.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "tests/tap.h"

static uint64_t state = 88172645463325252;

static uint64_t draw(uint64_t limit)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (state * 2685821657736338717) % limit;
}

static char *digits(char *p, uint64_t count)
{
    while (count-- > 0)
        *p++ = (char)('0' + draw(10));
    return p;
}

/* [-+]ddd.ddd[e[-+]dd], digits and exponents of many lengths. */
static void spell_any(char *p)
{
    uint64_t most = draw(8) ? 10 : 40;
    if (draw(3) == 0)
        *p++ = "+-"[draw(2)];
    p = digits(p, 1 + draw(most));
    if (draw(4)) {
        *p++ = '.';
        p = digits(p, draw(most));
    }
    if (draw(3) == 0)
        p += sprintf(p, "%c%d", "eE"[draw(2)],
                     (int)draw(draw(2) ? 60 : 700) - (draw(2) ? 30 : 350));
    *p = '\0';
}

static double random_double(void)
{
    double value;
    do {
        uint64_t bits = draw(UINT64_MAX);
        memcpy(&value, &bits, sizeof value);
    } while (value != value || value - value != 0);
    return value;
}

/* The shortest and longer spellings of a random double. */
static void spell_double(char *p)
{
    sprintf(p, "%.*g", 15 + (int)draw(8), random_double());
}

/* Halfway between two doubles: 54 bits, the last one set, over 2^0 .. 2^60, all
 * digits written; some raised by a digit far behind, some scaled. */
static void spell_tie(char *p)
{
    uint64_t m = (1ULL << 53) + draw(1ULL << 53);
    int shift = (int)draw(61);
    p += sprintf(p, "%.*Lf", shift,
                 (long double)(m | 1) / (long double)(1ULL << shift));
    if (draw(2)) {
        p += sprintf(p, "%s", shift ? "" : ".");
        p = digits(p, draw(20));
        *p++ = '1';
        *p = '\0';
    }
    if (draw(2))
        sprintf(p, "e%d", (int)draw(50) - 25);
}

int main(void)
{
    enum { COUNT = 10000000 };
    static void (*const kinds[])(char *) = {spell_any, spell_any, spell_double,
                                            spell_tie};
    int bad = 0;
    char text[1024];
    for (int i = 0; i < COUNT; i++) {
        double value = -77;
        kinds[i % 4](text);
        const char *end = text + strlen(text);
        double expected = strtod(text, NULL);
        if (klr_parse_real(text, end, &value) != end ||
            memcmp(&value, &expected, sizeof value)) {
            bad++;
            if (bad < 20)
                printf("# %s: %.17g, but strtod %.17g\n", text, value,
                       expected);
        }
    }
    ok(bad == 0, "%d random spellings agree with strtod", COUNT);
    return done_testing();
}
