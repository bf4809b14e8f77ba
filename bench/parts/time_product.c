/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products of a data file's RBF kernel matrix with a vector, from tiles that
 * are kept and from tiles computed anew, on one thread and on more: seconds,
 * nanoseconds for each of the n^2 entries, and GB/s of float entries (each of
 * the triangle counted once). Then rows of the matrix, so many at once:
 * nanoseconds an entry. Medians of seven.
 *
 *   make build/klr.a
 *   cc -D_GNU_SOURCE -O2 -I. -pthread bench/parts/time_product.c build/klr.a \
 *      -lm -o build/product
 *   build/product DATA [GAMMA [THREADS [VECTORS]]]
 */
#if defined(__GNUC__) /* statics of which few are used */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include "solver/gram/gram_tiles.c"

#include "solver/gram/operator_tiles.c"

#include "solver/gram/operator_linear.c"

#include "solver/gram/operator.c"

#include "solver/gram/operator_rows.c"

#include <stdio.h>

#include "bench/bench.h"

enum { RUNS = 7 };

static double measure(struct klr_operator *op, enum klr_precision precision,
                      const double *v, size_t m, double *out)
{
    struct klr_range all = {0, op->n};
    struct klr_set set = set_of(&all, 1);
    double seconds[RUNS];
    operator_apply(op, set, set, v, m, precision, out);
    for (int r = 0; r < RUNS; r++) {
        double begin = klr_seconds();
        operator_apply(op, set, set, v, m, precision, out);
        seconds[r] = klr_seconds() - begin;
    }
    return median(seconds, RUNS);
}

static void print_line(size_t threads, const char *name, double seconds,
                       size_t n)
{
    double entries = (double)n * (double)n;
    printf("%zu thread%s %-18s %9.4f s %8.3f ns %8.2f GB/s\n", threads,
           threads > 1 ? "s" : " ", name, seconds, 1e9 * seconds / entries,
           1e-9 * entries / 2 * sizeof(float) / seconds);
}

/* Rows from all over the matrix, `count` at once. */
static int bench_rows(struct klr_operator *op, size_t threads, size_t count,
                      struct klr_error *err)
{
    struct klr_range all = {0, op->n};
    double seconds[RUNS];
    size_t row[KLR_STRIP];
    float *out = klr_alloc(count * op->n, sizeof *out, err);
    if (!out)
        return KLR_E_MEMORY;
    for (size_t r = 0; r < RUNS; r++) {
        for (size_t q = 0; q < count; q++)
            row[q] = (7919 * q + r) % op->n;
        double begin = klr_seconds();
        operator_rows(op, row, count, set_of(&all, 1), KLR_FLOAT, out, op->n);
        seconds[r] = klr_seconds() - begin;
    }
    printf("%zu thread%s %2zu row%s %32.3f ns\n", threads,
           threads > 1 ? "s" : " ", count, count > 1 ? "s" : " ",
           1e9 * median(seconds, RUNS) / (double)count / (double)op->n);
    klr_free(out);
    return 0;
}

static int bench(const struct klr_kernel *kernel, const struct klr_features *x,
                 size_t threads, size_t m, struct klr_error *err)
{
    struct klr_pool *pool = NULL;
    struct klr_operator kept = {0}, computed = {0};
    double *v = klr_zalloc(x->n * m, sizeof *v, err);
    double *out = klr_alloc(x->n * m, sizeof *out, err);
    int code = v && out ? klr_pool_create(&pool, (long long)threads, err)
                        : KLR_E_MEMORY;
    for (size_t i = 0; !code && i < x->n * m; i++)
        v[i] = (double)(i % 1000) - 499.5;
    if (code ||
        (code = operator_create(&kept, kernel, x, NULL, pool,
                                klr_memory_limit() / 2, err)) ||
        (code = operator_create(&computed, kernel, x, NULL, pool, 0, err)))
        goto done;
    print_line(threads, "kept", measure(&kept, KLR_FLOAT, v, m, out), x->n);
    print_line(threads, "computed", measure(&computed, KLR_FLOAT, v, m, out),
               x->n);
    print_line(threads, "computed, double",
               measure(&computed, KLR_DOUBLE, v, m, out), x->n);
    for (size_t count = 1; count <= 24 && !code; count += count == 1 ? 11 : 12)
        code = bench_rows(&computed, threads, count, err);
done:
    operator_free(&kept);
    operator_free(&computed);
    klr_pool_free(pool);
    klr_free(v);
    klr_free(out);
    return code;
}

int main(int argc, char **argv)
{
    struct klr_error err = {0};
    struct klr_problem data;
    if (argc < 2) {
        fputs("usage: product DATA [GAMMA [THREADS [VECTORS]]]\n", stderr);
        return 2;
    }
    if (klr_problem_read(&data, argv[1], 0, 1, &err)) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    struct klr_kernel kernel = {
        .type = KLR_RBF,
        .gamma = argc > 2 ? atof(argv[2]) : 1.0 / (data.dimension + !data.n),
    };
    struct klr_features x = {data.n,     data.dimension, data.start,
                             data.index, data.value,     NULL};
    int threads = argc > 3 ? atoi(argv[3]) : (int)klr_processors();
    size_t m = argc > 4 ? (size_t)atoi(argv[4]) : 1;
    printf("%s: %zu x %d, %zu vectors\n", argv[1], data.n, data.dimension, m);
    int code = 0;
    for (int t = 1; t <= threads && !code; t *= 2)
        code = bench(&kernel, &x, (size_t)t, m, &err);
    if (code)
        fprintf(stderr, "%s\n", err.message);
    klr_problem_free(&data);
    return code != 0;
}
