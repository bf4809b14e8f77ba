/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A library for LD_PRELOAD whose clock runs ten times as fast, so that nobody
 * has to wait for what a program says after a second.
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    const long haste = 10, second = 1000000000;
    int code = (int)syscall(SYS_clock_gettime, clock, now);
    if (code || clock != CLOCK_MONOTONIC)
        return code;
    long parts = haste * now->tv_nsec;
    now->tv_sec = haste * now->tv_sec + parts / second;
    now->tv_nsec = parts % second;
    return 0;
}
