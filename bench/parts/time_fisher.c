/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exact kernel Fisher discriminants of each class against the rest, all in one
 * block solve: seconds from features to coefficients, also of processor, and
 * products and gap of the machine that took most. The RBF kernel; medians.
 * Beside it, with the same kernel and targets, bench/parts/time_fisher.py.
 *
 *   make build/klr.a
 *   cc -D_GNU_SOURCE -O2 -I. -pthread bench/parts/time_fisher.c build/klr.a \
 *      -lm -o build/fisher
 *   build/fisher DATA GAMMA C [THREADS [kernel|coef [RUNS]]]
 */
#if defined(__GNUC__) /* statics of which few are used */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include "solver.c"

#include <stdio.h>

#include "bench/bench.h"

enum { RUNS_MOST = 21 };

struct machines {
    size_t count;
    struct binary_problem *problem; /* (count) */
    struct solution *solution;      /* (count) */
    struct solution **list;         /* (count) */
    double *y, *weight, *beta;      /* (count, n), (n), (count, n) */
};

static int machines_create(struct machines *m,
                           const struct partition *partition,
                           const struct binary_problem *shared,
                           struct klr_error *err)
{
    size_t n = partition->n, k = m->count = partition->k;
    if (!(m->problem = klr_alloc(k, sizeof *m->problem, err)) ||
        !(m->solution = klr_alloc(k, sizeof *m->solution, err)) ||
        !(m->list = klr_alloc(k, sizeof *m->list, err)) ||
        !(m->y = klr_alloc(k * n, sizeof *m->y, err)) ||
        !(m->weight = klr_alloc(n, sizeof *m->weight, err)) ||
        !(m->beta = klr_alloc(k * n, sizeof *m->beta, err)))
        return KLR_E_MEMORY;
    for (size_t i = 0; i < n; i++)
        m->weight[i] = 1;
    for (size_t c = 0; c < k; c++) {
        double *y = m->y + c * n;
        for (size_t i = 0; i < n; i++)
            y[i] = i >= partition_begin(partition, c) &&
                           i < partition_begin(partition, c + 1)
                       ? 1
                       : -1;
        m->problem[c] = *shared;
        m->problem[c].y = y;
        m->problem[c].weight = m->weight;
        m->solution[c] = (struct solution){.beta = m->beta + c * n};
        m->list[c] = &m->solution[c];
    }
    return 0;
}

static void machines_free(struct machines *m)
{
    klr_free(m->problem);
    klr_free(m->solution);
    klr_free(m->list);
    klr_free(m->y);
    klr_free(m->weight);
    klr_free(m->beta);
}

static int bench(const struct klr_problem *data,
                 const struct klr_params *params, double *seconds,
                 struct klr_error *err)
{
    struct klr_kernel kernel = params_kernel(params, data->dimension);
    struct klr_features x = problem_features(data);
    struct klr_range all = {0, data->n};
    struct klr_pool *pool = NULL;
    struct klr_operator op = {0};
    struct partition partition = {0};
    struct machines m = {0};
    struct clock clock;
    double begin = klr_seconds(), cpu = cpu_seconds(), gap = 0;
    long long products = 0;
    clock_start(&clock, 1);
    struct binary_problem shared = {.op = &op,
                                    .set = set_of(&all, 1),
                                    .n = data->n,
                                    .params = params,
                                    .clock = &clock};
    int code = partition_create(&partition, data, NULL,
                                (struct fold_plan){1, 1, 0, NULL}, err);
    if (code || (code = klr_pool_create(&pool, params->threads, err)) ||
        (code = operator_create(&op, &kernel, &x, partition.order, pool,
                                params_budget(params), err)) ||
        (code = machines_create(&m, &partition, &shared, err)) ||
        (code = fisher_solve(m.problem, m.count, m.list, err)))
        goto done;
    *seconds = klr_seconds() - begin;
    cpu = cpu_seconds() - cpu;
    for (size_t c = 0; c < m.count; c++) {
        const struct solution *s = &m.solution[c];
        gap = fmax(gap, (s->primal - s->dual) / s->primal);
        if (s->iterations > products)
            products = s->iterations;
    }
    printf(
        "%zu machines, %lld products, %.1f passes, gap %.1e: %.3f s, %.3f s of "
        "processor\n",
        m.count, products, op.passes, gap, *seconds, cpu);
done:
    machines_free(&m);
    operator_free(&op);
    klr_pool_free(pool);
    partition_free(&partition);
    return code;
}

int main(int argc, char **argv)
{
    struct klr_error err = {0};
    struct klr_problem data;
    struct klr_params params;
    double seconds[RUNS_MOST];
    if (argc < 4) {
        fputs("usage: fisher DATA GAMMA C [THREADS [kernel|coef [RUNS]]]\n",
              stderr);
        return 2;
    }
    klr_params_init(&params);
    params.model = KLR_MODEL_KFD;
    params.gamma.value[0] = atof(argv[2]);
    params.cost.value[0] = atof(argv[3]);
    params.threads = argc > 4 ? atoi(argv[4]) : 1;
    if (argc > 5 && strcmp(argv[5], "coef") == 0)
        params.regularizer = KLR_REGULARIZER_COEF;
    params = params_settle(&params);
    int runs = argc > 6 ? atoi(argv[6]) : 5;
    runs = runs < RUNS_MOST ? runs : RUNS_MOST;
    int code = klr_problem_read(&data, argv[1], 0, 1, &err);
    for (int r = 0; r < runs && !code; r++)
        code = bench(&data, &params, &seconds[r], &err);
    if (code) {
        fprintf(stderr, "fisher: %s: %s\n", argv[1], err.message);
        return 1;
    }
    printf("median %.3f s\n", median(seconds, runs));
    klr_problem_free(&data);
    return 0;
}
