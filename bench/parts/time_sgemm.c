/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tiles of an RBF kernel beside OpenBLAS's sgemm, which computes their inner
 * products alone: 256 rows by 256 columns of random examples, for several
 * numbers of features, on one core. Medians of interleaved runs, in time of the
 * processor. This program alone needs OpenBLAS.
 *
 *   make build/klr.a && cc -O2 -D_GNU_SOURCE -I. bench/parts/time_sgemm.c \
 *       build/klr.a -lopenblas -lm -o build/sgemm
 *   OPENBLAS_NUM_THREADS=1 build/sgemm
 */
#include <cblas.h>
#include <stdio.h>

#include "base/memory.h"
#include "bench/bench.h"
#include "kernel.h"

enum { TILE = 256, MOST = 1024, RUNS = 15, COLUMNS = 2048 };

struct bench {
    float *x;      /* (COLUMNS, width) */
    size_t *start; /* the same in rows of features */
    int *index;
    double *value;
    float *out;      /* (TILE, TILE) */
    void *workspace; /* of klr_gram */
};

/* Features in [0, 1). */
static void fill(struct bench *bench, size_t width)
{
    unsigned state = 1;
    for (size_t t = 0; t < COLUMNS * width; t++) {
        state = state * 1664525u + 1013904223u;
        bench->x[t] = (float)(state >> 8) * 0x1p-24f;
        bench->value[t] = (double)bench->x[t];
        bench->index[t] = (int)(t % width) + 1;
        bench->start[t / width] = t - t % width;
    }
    bench->start[COLUMNS] = COLUMNS * width;
}

/* Nanoseconds for an entry, of the first TILE rows and all columns. */
static double run_sgemm(struct bench *bench, size_t width)
{
    const int tile = TILE, d = (int)width;
    double begin = cpu_seconds();
    for (size_t j = 0; j < COLUMNS; j += TILE)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, tile, tile, d, 1,
                    bench->x, d, bench->x + j * width, d, 0, bench->out, tile);
    return 1e9 * (cpu_seconds() - begin) / (TILE * COLUMNS);
}

static double run_gram(struct bench *bench, const struct klr_points *points)
{
    struct klr_range rows = {0, TILE};
    double begin = cpu_seconds();
    for (size_t j = 0; j < COLUMNS; j += TILE) {
        struct klr_range range = {j, j + TILE};
        klr_gram(points, rows, points, (struct klr_set){&range, 1, TILE},
                 KLR_FLOAT, bench->out, TILE, bench->workspace);
    }
    return 1e9 * (cpu_seconds() - begin) / (TILE * COLUMNS);
}

static int compare(struct bench *bench, size_t width)
{
    struct klr_kernel rbf = {KLR_RBF, 0, 0.5 / (double)width, 0};
    struct klr_features view = {COLUMNS,      (int)width,   bench->start,
                                bench->index, bench->value, NULL};
    struct klr_points *points;
    double sgemm[RUNS], gram[RUNS];
    fill(bench, width);
    if (klr_points_create(&points, &rbf, &view, NULL, NULL, NULL))
        return 1;
    bench->workspace = klr_zalloc(1, klr_gram_workspace(points), NULL);
    for (int r = 0; r < RUNS && bench->workspace; r++) {
        sgemm[r] = run_sgemm(bench, width);
        gram[r] = run_gram(bench, points);
    }
    int code = !bench->workspace;
    if (!code) {
        double s = median(sgemm, RUNS), g = median(gram, RUNS);
        printf("%8zu %10.2f %10.2f %10.1f %10.1f %10.2f\n", width, s, g,
               2 * (double)width / s, 2 * (double)width / g, s / g);
    }
    klr_free(bench->workspace);
    klr_points_free(points);
    return code;
}

int main(void)
{
    static const size_t widths[] = {10, 32, 64, 123, 256, 512, MOST};
    struct bench bench = {
        .x = klr_alloc(COLUMNS * MOST, sizeof(float), NULL),
        .start = klr_alloc(COLUMNS + 1, sizeof(size_t), NULL),
        .index = klr_alloc(COLUMNS * MOST, sizeof(int), NULL),
        .value = klr_alloc(COLUMNS * MOST, sizeof(double), NULL),
        .out = klr_alloc(TILE * TILE, sizeof(float), NULL),
    };
    int code =
        !bench.x || !bench.start || !bench.index || !bench.value || !bench.out;
    printf("%8s %21s %21s\n%8s %10s %10s %10s %10s %10s\n", "", "ns an entry",
           "GFLOP/s", "features", "sgemm", "rbf", "sgemm", "rbf", "speed");
    for (size_t t = 0; t < sizeof widths / sizeof *widths && !code; t++)
        code = compare(&bench, widths[t]);
    klr_free(bench.x);
    klr_free(bench.start);
    klr_free(bench.index);
    klr_free(bench.value);
    klr_free(bench.out);
    return code;
}
