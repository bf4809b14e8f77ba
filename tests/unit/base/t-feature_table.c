/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Features that occur have the numbers in which they are met.
 */
#include "base/features/feature_table.h"

#include <limits.h>
#include <stdbool.h>

#include "tests/tap.h"

enum { FEATURES = 9, MANY = 5000 };

/* `feature` gets a number, and it is `expected`. */
static bool adds(struct klr_feature_table *table, int feature, size_t expected)
{
    struct klr_error err;
    size_t number;
    return klr_feature_table_add(table, feature, &number, &err) == 0 &&
           number == expected;
}

int main(void)
{
    static const int added[FEATURES] = {7,  0,       INT_MAX, 4096,       63,
                                        64, 1000000, 4095,    INT_MAX - 1};
    static const int others[] = {1, 62, 65, 128, 4097, 999999, INT_MAX - 2};
    struct klr_feature_table table = {0};
    bool good = klr_feature_table_find(&table, 5) == 0;
    ok(good, "there may be none");
    for (size_t i = 0; i < FEATURES; i++)
        good = good && adds(&table, added[i], i);
    for (size_t i = 0; i < FEATURES; i++)
        good = good && adds(&table, added[i], i);
    ok(good && table.count == FEATURES, "each counts once");
    for (size_t i = 0; i < FEATURES; i++)
        good = good && table.feature[i] == added[i] &&
               klr_feature_table_find(&table, added[i]) == i;
    ok(good, "and is found by its number");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        good = good && klr_feature_table_find(&table, others[i]) == FEATURES;
    ok(good, "others are not");
    klr_feature_table_free(&table);

    /* Far apart: a multiple of 2^18 each, so that low bits do not differ. */
    for (int i = 0; i < MANY; i++)
        good =
            good && adds(&table, (int)((long)i << 18 & INT_MAX) + i, (size_t)i);
    ok(good && table.slots <= 4 * MANY, "many far apart take little room");
    klr_feature_table_free(&table);
    return done_testing();
}
