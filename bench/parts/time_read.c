/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How fast data files are read into memory, as klr-train reads them: 10^6 bytes
 * of the file in a second of one core, median of five after one that warms the
 * page cache; and how much resident memory that first one took at most.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "bench/bench.h"
#include "solver.h"

enum { RUNS = 5 };

/* In 10^6 bytes, at most so far. */
static double resident(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024 / 1e6;
}

static size_t features(const struct klr_problem *problem)
{
    return problem->packed ? problem->n * problem->packed->columns
                           : problem->start[problem->n];
}

/* Seconds to read `path`, negative if it cannot be read. */
static double time_read(const char *path, struct klr_problem *problem)
{
    struct klr_error err;
    double begin = cpu_seconds();
    if (klr_problem_read(problem, path, KLR_READ_PACKED | KLR_READ_KEEP, 1,
                         &err)) {
        fprintf(stderr, "%s:%ld:%ld: %s\n", path, err.line, err.column,
                err.message);
        return -1;
    }
    return cpu_seconds() - begin;
}

static int report(const char *path)
{
    struct stat status;
    struct klr_problem problem;
    double seconds[RUNS], memory = resident();
    if (stat(path, &status) != 0)
        return perror(path), 1;
    for (int run = -1; run < RUNS; run++) {
        double elapsed = time_read(path, &problem);
        if (elapsed < 0)
            return 1;
        seconds[run < 0 ? 0 : run] = elapsed;
        if (run < 0)
            memory = resident() - memory;
        if (run < RUNS - 1)
            klr_problem_free(&problem);
    }
    double mb = (double)status.st_size / 1e6;
    printf("%8.1f MB/s  %6.1f MB  %8zu rows  %9zu features  %6.1f MB taken  "
           "%s\n",
           mb / median(seconds, RUNS), mb, problem.n, features(&problem),
           memory, path);
    klr_problem_free(&problem);
    return 0;
}

int main(int argc, char **argv)
{
    int status = 0;
    for (int i = 1; i < argc; i++)
        status |= report(argv[i]);
    return status;
}
