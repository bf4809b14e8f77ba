/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nanoseconds for an entry of the Gram matrix of a data file: one row against
 * all, or four or twelve together, as SMO asks for them, and blocks of 64 rows
 * by 256 columns, as products and prediction do. Medians of seven runs, in time
 * of the processor.
 *
 *   make build/klr.a
 *   cc -O2 -D_GNU_SOURCE -I. bench/parts/time_gram.c build/klr.a -lm \
 *       -o build/gram
 *   build/gram DATA [KERNEL [GAMMA [COEF0 [DEGREE]]]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "bench/bench.h"
#include "kernel.h"
#include "solver.h"

enum { RUNS = 7, ROWS = 64, COLS = 256, TOGETHER = 12, SOME = 240 };

struct bench {
    struct klr_points *points;
    size_t n, together; /* rows of a call */
    void *out, *workspace;
};

/* Entries computed by one run. */
typedef double bench_fn(struct bench *bench, enum klr_precision precision);

static double by_rows(struct bench *bench, enum klr_precision precision)
{
    struct klr_range all = {0, bench->n};
    struct klr_set cols = {&all, 1, bench->n};
    size_t rows = 0, row[TOGETHER];
    for (size_t i = 0; rows < SOME; rows += bench->together) {
        for (size_t r = 0; r < bench->together; r++)
            row[r] = i = (i + 7919) % bench->n; /* neighbours may be alike */
        klr_gram_rows(bench->points, row, bench->together, bench->points, cols,
                      precision, bench->out, bench->n, bench->workspace);
    }
    return (double)rows * (double)bench->n;
}

static double by_blocks(struct bench *bench, enum klr_precision precision)
{
    size_t rows = bench->n < ROWS ? bench->n : ROWS;
    size_t blocks = 0;
    for (size_t j = 0; j < bench->n; j += COLS, blocks++) {
        struct klr_range piece = {j, j + COLS < bench->n ? j + COLS : bench->n};
        klr_gram(bench->points, (struct klr_range){0, rows}, bench->points,
                 (struct klr_set){&piece, 1, piece.end - piece.begin},
                 precision, bench->out, COLS, bench->workspace);
    }
    return (double)rows * (double)bench->n;
}

/* Median nanoseconds for an entry. */
static double measure(struct bench *bench, bench_fn *run,
                      enum klr_precision precision)
{
    double ns[RUNS];
    for (int r = 0; r < RUNS; r++) {
        double begin = cpu_seconds(), entries = run(bench, precision);
        ns[r] = 1e9 * (cpu_seconds() - begin) / entries;
    }
    return median(ns, RUNS);
}

/* So many rows a call. */
static double rows_of(struct bench *bench, size_t together,
                      enum klr_precision precision)
{
    bench->together = together;
    return measure(bench, by_rows, precision);
}

static int bench_kernel(const struct klr_kernel *kernel,
                        const struct klr_features *x, struct klr_error *err)
{
    struct bench bench = {.n = x->n};
    size_t least = ROWS * COLS, rows = TOGETHER * x->n;
    size_t room = rows > least ? rows : least;
    double begin = cpu_seconds();
    int code = klr_points_create(&bench.points, kernel, x, NULL, NULL, err);
    double seconds = cpu_seconds() - begin;
    bench.out = klr_alloc(room, sizeof(double), err);
    bench.workspace =
        code ? NULL : klr_zalloc(1, klr_gram_workspace(bench.points), err);
    if (bench.workspace && bench.out)
        printf("%-11s %9.3f %8.2f %8.2f %8.2f %8.2f %10.2f %10.2f\n",
               klr_kernel_names[kernel->type], seconds,
               rows_of(&bench, 1, KLR_FLOAT), rows_of(&bench, 4, KLR_FLOAT),
               rows_of(&bench, TOGETHER, KLR_FLOAT),
               rows_of(&bench, 1, KLR_DOUBLE),
               measure(&bench, by_blocks, KLR_FLOAT),
               measure(&bench, by_blocks, KLR_DOUBLE));
    klr_points_free(bench.points);
    klr_free(bench.out);
    klr_free(bench.workspace);
    return code;
}

int main(int argc, char **argv)
{
    struct klr_error err = {0};
    struct klr_problem data;
    if (argc < 2) {
        fputs("usage: gram DATA [KERNEL [GAMMA [COEF0 [DEGREE]]]]\n", stderr);
        return 2;
    }
    if (klr_problem_read(&data, argv[1], 0, 1, &err)) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    struct klr_kernel kernel = {
        .gamma = argc > 3 ? atof(argv[3]) : 1.0 / (data.dimension + !data.n),
        .coef0 = argc > 4 ? atof(argv[4]) : 0,
        .degree = argc > 5 ? atoi(argv[5]) : 3,
    };
    struct klr_features x = {data.n,     data.dimension, data.start,
                             data.index, data.value,     NULL};
    printf("%s: %zu x %d, %.1f features a row\n", argv[1], data.n,
           data.dimension, (double)data.start[data.n] / (double)data.n);
    printf("%-11s %9s %35s %21s\n%-11s %9s %8s %8s %8s %8s %10s %10s\n", "",
           "prepare", "rows, ns an entry", "blocks, ns an entry", "kernel", "s",
           "1 float", "4", "12", "1 double", "float", "double");
    int code = 0;
    for (int type = 0; type < KLR_KERNEL_TYPES && !code; type++) {
        kernel.type = (enum klr_kernel_type)type;
        if (argc > 2 ? !strcmp(argv[2], klr_kernel_names[type])
                     : type != KLR_PRECOMPUTED)
            code = bench_kernel(&kernel, &x, &err);
    }
    if (code)
        fprintf(stderr, "%s:%ld: %s\n", argv[1], err.line, err.message);
    klr_problem_free(&data);
    return code != 0;
}
