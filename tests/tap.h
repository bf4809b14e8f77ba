/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Test Anything Protocol for unit tests: each is a program run by prove.
 */
#ifndef KLR_TESTS_TAP_H
#define KLR_TESTS_TAP_H

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <execinfo.h>
#endif

static int tap_count, tap_failed;

/* Where the test is, to stderr: addr2line -f tells the functions. */
static void tap_trace(void)
{
#ifdef __GLIBC__
    void *frame[64];
    backtrace_symbols_fd(frame, backtrace(frame, 64), STDERR_FILENO);
#endif
}

static void tap_late(int signal)
{
    (void)signal;
    tap_trace();
    _exit(1);
}

/* A test that runs for $KLR_LIMIT seconds waits for ever, and fails. The first
 * backtrace loads what the handler needs. */
__attribute__((constructor)) static void tap_limit(void)
{
    const char *limit = getenv("KLR_LIMIT");
#ifdef __GLIBC__
    void *frame[1];
    backtrace(frame, 1);
#endif
    if (limit && signal(SIGALRM, tap_late) != SIG_ERR)
        alarm((unsigned)atoi(limit));
}

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
