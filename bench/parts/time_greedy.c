/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sparse greedy Fisher discriminants, one against the rest for every label, all
 * of them at once: Mika, Smola & Schoelkopf (2001), section 6. Prints seconds
 * of training, kernels of each machine, the sum of objectives, and with TEST
 * the error of the largest output. OPTION=VALUE are long options of klr-train;
 * rows=N takes the first N examples.
 *
 *   make build/klr.a
 *   cc -D_GNU_SOURCE -O2 -I. -ffp-contract=off -pthread \
 *      bench/parts/time_greedy.c build/klr.a -lm -o build/greedy
 *   build/greedy TRAIN [TEST] gamma=0.0078125 cost=1000 max-basis=500
 */
#if defined(__GNUC__) /* statics of which few are used */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include "solver.c"

#include <stdio.h>

struct bench {
    struct klr_params params;
    const char *file[2];
    struct klr_problem data[2];
    struct partition partition;
    struct klr_pool *pool;
    struct klr_operator op;
    struct klr_range all;
    size_t machines;
    double *y, *weight, *beta, *outputs; /* beta (n, machines) */
    struct binary_problem *problem;
    struct solution *solution, **solutions;
    struct clock clock;
};

static _Noreturn void give_up(const struct klr_error *err)
{
    fprintf(stderr, "greedy: %s\n", err->message);
    exit(1);
}

static void bench_option(struct bench *b, char *argument, size_t *rows)
{
    struct klr_error err = {0};
    char *value = strchr(argument, '=');
    const struct klr_option *option = klr_train_options;
    if (!value) {
        b->file[b->file[0] != NULL] = argument;
        return;
    }
    *value++ = 0;
    if (strcmp(argument, "rows") == 0) {
        *rows = strtoul(value, NULL, 10);
        return;
    }
    while (option->name && strcmp(option->name, argument) != 0)
        option++;
    if (!option->name)
        klr_fail(&err, KLR_E_USAGE, "no option %s", argument);
    if (err.code || klr_option_read(option, value, &b->params, &err))
        give_up(&err);
}

static void bench_create(struct bench *b)
{
    struct klr_error err = {0};
    struct klr_features x = problem_features(&b->data[0]);
    struct klr_kernel kernel = params_kernel(&b->params, b->data[0].dimension);
    size_t n = x.n, m;
    if (partition_create(&b->partition, &b->data[0], NULL,
                         (struct fold_plan){1, 1, 0, NULL}, &err) ||
        klr_pool_create(&b->pool, b->params.threads, &err) ||
        operator_create(&b->op, &kernel, &x, b->partition.order, b->pool, 0,
                        &err))
        give_up(&err);
    b->machines = m = b->partition.k;
    b->all = (struct klr_range){0, n};
    if (!(b->y = klr_alloc(n * m, sizeof *b->y, &err)) ||
        !(b->weight = klr_alloc(n, sizeof *b->weight, &err)) ||
        !(b->beta = klr_alloc(2 * n * m, sizeof *b->beta, &err)) ||
        !(b->problem = klr_alloc(m, sizeof *b->problem, &err)) ||
        !(b->solution = klr_zalloc(m, sizeof *b->solution, &err)) ||
        !(b->solutions = klr_alloc(m, sizeof(void *), &err)))
        give_up(&err);
    for (size_t k = 0; k < m; k++) {
        b->problem[k] = (struct binary_problem){.op = &b->op,
                                                .set = set_of(&b->all, 1),
                                                .n = n,
                                                .y = b->y + k * n,
                                                .weight = b->weight,
                                                .params = &b->params,
                                                .clock = &b->clock};
        b->solution[k].beta = b->beta + (m + k) * n;
        b->solutions[k] = &b->solution[k];
        for (size_t i = 0; i < n; i++) {
            size_t row = b->partition.order[i];
            b->weight[i] = 1;
            b->y[k * n + i] =
                b->data[0].label[row] == b->partition.label[k] ? 1 : -1;
        }
    }
}

static void bench_train(struct bench *b)
{
    struct klr_error err = {0};
    double sum = 0, begin = klr_seconds();
    clock_start(&b->clock, 1);
    if (greedy_solve(b->problem, b->machines, b->solutions, &err))
        give_up(&err);
    printf("%zu examples, %.3f s, kernels", b->data[0].n,
           klr_seconds() - begin);
    for (size_t k = 0; k < b->machines; k++) {
        printf(" %lld", b->solution[k].iterations);
        sum += b->solution[k].primal;
    }
    printf(", objective %.9g, kernel entries %llu\n", sum, b->op.evaluations);
}

static void bench_test(struct bench *b)
{
    struct klr_error err = {0};
    struct klr_features x = problem_features(&b->data[1]);
    struct klr_points *points;
    size_t n = b->data[0].n, m = b->machines, wrong = 0;
    double *f = klr_alloc(x.n * m, sizeof *f, &err);
    for (size_t i = 0; i < n * m; i++)
        b->beta[i] = b->beta[(m + i % m) * n + i / m];
    if (!f || klr_points_create_like(&points, b->op.points, &x, NULL, &err))
        give_up(&err);
    operator_cross(&b->op, points, b->problem->set, b->beta, m, KLR_FLOAT, f);
    for (size_t i = 0; i < x.n; i++) {
        size_t best = 0;
        for (size_t k = 0; k < m; k++) {
            f[i * m + k] -= b->solution[k].rho;
            if (f[i * m + k] > f[i * m + best])
                best = k;
        }
        wrong += b->partition.label[best] != b->data[1].label[i];
    }
    printf("error %.2f %%\n", 100.0 * (double)wrong / (double)x.n);
    klr_points_free(points);
    klr_free(f);
}

static void bench_free(struct bench *b)
{
    klr_free(b->y);
    klr_free(b->weight);
    klr_free(b->beta);
    klr_free(b->problem);
    klr_free(b->solution);
    klr_free(b->solutions);
    operator_free(&b->op);
    klr_pool_free(b->pool);
    partition_free(&b->partition);
    klr_problem_free(&b->data[0]);
    klr_problem_free(&b->data[1]);
}

int main(int argc, char **argv)
{
    struct bench b = {.file = {NULL}};
    struct klr_error err = {0};
    size_t rows = 0;
    klr_params_init(&b.params);
    b.params.model = KLR_MODEL_KFD;
    b.params.solver = KLR_SOLVER_GREEDY;
    for (int i = 1; i < argc; i++)
        bench_option(&b, argv[i], &rows);
    b.params = params_settle(&b.params);
    if (!b.file[0])
        klr_fail(&err, KLR_E_USAGE, "which data?");
    for (int i = 0; i < 2; i++)
        if (err.code ||
            (b.file[i] && klr_problem_read(&b.data[i], b.file[i], 0, 1, &err)))
            give_up(&err);
    if (rows > 0 && rows < b.data[0].n)
        b.data[0].n = rows;
    bench_create(&b);
    bench_train(&b);
    if (b.file[1])
        bench_test(&b);
    bench_free(&b);
    return 0;
}
