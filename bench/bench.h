/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the benchmarks share: a clock and the median.
 */
#ifndef KLR_BENCH_BENCH_H
#define KLR_BENCH_BENCH_H

#include <stdlib.h>
#include <time.h>

/* Processor time of this process, all its threads; others may share the
 * core. */
static inline double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The values are sorted; of an even number the upper of the two. */
static inline double median(double *value, int count)
{
    qsort(value, (size_t)count, sizeof *value, ascending);
    return value[count / 2];
}

#endif
