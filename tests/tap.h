/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Test Anything Protocol for unit tests: each is a program run by prove.
 */
#ifndef KLR_TESTS_TAP_H
#define KLR_TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 3))) static bool ok(bool pass,
                                                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%sok %d - ", pass ? "" : "not ", ++tap_count);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
    tap_failed += !pass;
    fflush(stdout);
    return pass;
}

/* To be returned by main. */
static int done_testing(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}

#endif
