/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How fast data files are read into memory: 10^6 bytes of the file in a
 * second of one core, median of five after one that warms the page cache.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "bench/bench.h"
#include "solver.h"

enum { RUNS = 5 };

/* Seconds to read `path`, negative if it cannot be read. */
static double time_read(const char *path, struct klr_problem *problem)
{
    struct klr_error err;
    double begin = cpu_seconds();
    if (klr_problem_read(problem, path, 0, 1, &err)) {
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
    double seconds[RUNS];
    if (stat(path, &status) != 0)
        return perror(path), 1;
    for (int run = -1; run < RUNS; run++) {
        double elapsed = time_read(path, &problem);
        if (elapsed < 0)
            return 1;
        seconds[run < 0 ? 0 : run] = elapsed;
        if (run < RUNS - 1)
            klr_problem_free(&problem);
    }
    double mb = (double)status.st_size / 1e6;
    printf("%8.1f MB/s  %6.1f MB  %8zu rows  %9zu features  %s\n",
           mb / median(seconds, RUNS), mb, problem.n, problem.start[problem.n],
           path);
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
