/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel Fisher discriminants by the definition, Mika (3)-(3b), with weights:
 * dense, in long double. With multipliers v of (3a) and l+, l- of (3b),
 *
 *   v_i = w_i (l - xi_i),  xi = K a + b - y,  1'v = 0,  sum w_i xi_i = 0
 *
 * in each class, and a / c = v where R = a'Ka, K v where R = |a|^2: equations
 * in a, b, l+ and l-. To be included after solver.c and tests/tap.h.
 */
#ifndef KLR_TESTS_FISHER_H
#define KLR_TESTS_FISHER_H

#include "tests/larger.h"
#include "tests/eliminate.h"

/* A data set with weights, its kernel in long double, and the truth. */
struct dense {
    size_t n;
    double *y, *weight;
    long double *k;      /* (n, n) */
    long double *system; /* (n + 3, n + 4) */
    long double *f;      /* (n) decision values */
    long double objective;
};

static void *need(size_t count, size_t size)
{
    struct klr_error err;
    void *block = klr_zalloc(count, size, &err);
    if (!block)
        printf("Bail out! %s\n", err.message);
    return block;
}

static long double dense_entry(const struct klr_problem *x,
                               const struct klr_kernel *kernel, size_t i,
                               size_t j)
{
    long double dot = 0, square = 0;
    size_t a = x->start[i], b = x->start[j];
    while (a < x->start[i + 1] || b < x->start[j + 1]) {
        bool left = b == x->start[j + 1] ||
                    (a < x->start[i + 1] && x->index[a] <= x->index[b]);
        bool right = a == x->start[i + 1] ||
                     (b < x->start[j + 1] && x->index[b] <= x->index[a]);
        long double u = left ? x->value[a++] : 0;
        long double v = right ? x->value[b++] : 0;
        dot += u * v;
        square += (u - v) * (u - v);
    }
    if (kernel->type == KLR_RBF)
        return expl(-kernel->gamma * square);
    dot = kernel->gamma * dot + kernel->coef0;
    return kernel->type == KLR_SIGMOID ? tanhl(dot) : powl(dot, kernel->degree);
}

static struct dense dense_create(const struct klr_problem *x,
                                 const struct klr_kernel *kernel)
{
    size_t n = x->n;
    struct dense d = {.n = n};
    d.y = need(n, sizeof *d.y);
    d.weight = need(n, sizeof *d.weight);
    d.k = need(n * n, sizeof *d.k);
    d.system = need((n + 3) * (n + 4), sizeof *d.system);
    d.f = need(n, sizeof *d.f);
    for (size_t i = 0; i < n; i++) {
        d.y[i] = x->label[i] > 0 ? 1 : -1;
        d.weight[i] = 1;
        for (size_t j = 0; j < n; j++)
            d.k[i * n + j] = dense_entry(x, kernel, i, j);
    }
    return d;
}

static void dense_free(struct dense *d)
{
    klr_free(d->y);
    klr_free(d->weight);
    klr_free(d->k);
    klr_free(d->system);
    klr_free(d->f);
}

/* The coefficient of unknown j (a, b, l+, l-) in -v_i, without w_i y_i, over
 * w_i. */
static long double dense_effect(const struct dense *d, size_t i, size_t j)
{
    if (j < d->n)
        return d->k[i * d->n + j];
    return j == d->n ? 1 : -(j == d->n + (d->y[i] > 0 ? 1 : 2));
}

/* row (n + 4) += factor * (-v_i = 0), with `unknowns` of them. */
static void dense_add(const struct dense *d, long double factor, size_t i,
                      size_t unknowns, long double *row)
{
    factor *= d->weight[i];
    for (size_t j = 0; j < unknowns; j++)
        row[j] += factor * dense_effect(d, i, j);
    row[d->n + 3] += factor * d->y[i];
}

static void dense_fill(struct dense *d, double c, bool coef)
{
    size_t n = d->n, m = n + 3, wide = m + 1;
    memset(d->system, 0, m * wide * sizeof *d->system);
    for (size_t p = 0; p < n; p++) {
        long double *row = d->system + p * wide;
        for (size_t i = coef ? 0 : p; i < (coef ? n : p + 1); i++)
            dense_add(d, coef ? d->k[p * n + i] : 1, i, m, row);
        row[p] += 1 / (long double)c;
        /* 1'v = 0; xi has no part of l */
        dense_add(d, 1, p, m, d->system + n * wide);
        dense_add(d, 1, p, n + 1,
                  d->system + (n + (d->y[p] > 0 ? 1 : 2)) * wide);
    }
}

static long double dense_norm(const struct dense *d, const long double *a,
                              size_t stride, bool coef)
{
    long double sum = 0;
    for (size_t i = 0; i < d->n; i++)
        for (size_t j = coef ? i : 0; j < (coef ? i + 1 : d->n); j++)
            sum +=
                a[i * stride] * a[j * stride] * (coef ? 1 : d->k[i * d->n + j]);
    return sum;
}

static void dense_solve(struct dense *d, double c, bool coef)
{
    size_t n = d->n, m = n + 3, wide = m + 1;
    const long double *x = d->system + m;
    dense_fill(d, c, coef);
    eliminate(m, wide, d->system, wide, d->system + m);
    d->objective = dense_norm(d, x, wide, coef) / (2 * c);
    for (size_t i = 0; i < n; i++) {
        d->f[i] = 0;
        for (size_t j = 0; j <= n; j++)
            d->f[i] += dense_effect(d, i, j) * x[j * wide];
        long double xi = d->f[i] - d->y[i];
        d->objective += d->weight[i] * xi * xi / 2;
    }
}

/* ---- the solver ---- */

struct setting {
    struct klr_params params;
    struct klr_pool *pool;
    size_t budget;
};

static struct klr_params fisher_params(int regularizer, double cost)
{
    struct klr_params params;
    klr_params_init(&params);
    params.model = KLR_MODEL_KFD;
    params.regularizer = regularizer;
    params.cost.value[0] = cost;
    return params;
}

static struct setting setting_of(int regularizer, double cost)
{
    struct klr_params params = fisher_params(regularizer, cost);
    params.eps = 1e-14;
    return (struct setting){.params = params, .budget = (size_t)1 << 30};
}

/* Machines with the y and weights of d[m]; solution[m][t] and beta of all. */
static int fisher_run(const struct setting *s, const struct klr_problem *data,
                      const struct klr_kernel *kernel, const struct dense *d,
                      size_t machines, struct solution *const *solution,
                      struct klr_error *err)
{
    struct klr_operator op;
    struct clock clock;
    struct binary_problem problem[3];
    struct klr_features x = problem_features(data);
    struct klr_range all = {0, data->n};
    if (operator_create(&op, kernel, &x, NULL, s->pool, s->budget, err))
        printf("Bail out! %s\n", err->message);
    clock_start(&clock, 1);
    for (size_t m = 0; m < machines; m++)
        problem[m] = (struct binary_problem){.op = &op,
                                             .set = set_of(&all, 1),
                                             .n = data->n,
                                             .y = d[m].y,
                                             .weight = d[m].weight,
                                             .params = &s->params,
                                             .clock = &clock};
    int code = fisher_solve(problem, machines, solution, err);
    operator_free(&op);
    return code;
}

static struct solution fisher_one(const struct setting *s,
                                  const struct klr_problem *data,
                                  const struct klr_kernel *kernel,
                                  const struct dense *d)
{
    struct klr_error err;
    struct solution solution = {.beta = need(data->n, sizeof(double))};
    struct solution *const list = &solution;
    if (fisher_run(s, data, kernel, d, 1, &list, &err))
        printf("Bail out! %s\n", err.message);
    return solution;
}

/* Decision values against the dense ones; class means against 1 and -1. */
struct distance {
    double worst, mean;
};

static struct distance compare(const struct dense *d,
                               const struct solution *solution)
{
    struct distance distance = {0, 0};
    long double sum[2] = {0, 0}, weight[2] = {0, 0};
    for (size_t i = 0; i < d->n; i++) {
        long double f = -(long double)solution->rho;
        for (size_t j = 0; j < d->n; j++)
            f += d->k[i * d->n + j] * solution->beta[j];
        distance.worst = larger_of(distance.worst, (double)fabsl(f - d->f[i]));
        sum[d->y[i] > 0] += d->weight[i] * (f - d->y[i]);
        weight[d->y[i] > 0] += d->weight[i];
    }
    for (int c = 0; c < 2; c++)
        distance.mean =
            larger_of(distance.mean, (double)fabsl(sum[c] / weight[c]));
    return distance;
}

/* Objectives are those of the class means that there are, and go with the
 * square of what is between these: they are off by twice as much as the means,
 * relative to 1. */
static void check(const struct dense *d, const struct solution *s,
                  const char *name)
{
    struct distance distance = compare(d, s);
    double objective = (double)d->objective, drift = 2 * distance.mean;
    ok(s->status == KLR_CONVERGED && distance.worst < 1e-6,
       "%s: decision values within %.1e after %lld products", name,
       distance.worst, s->iterations);
    ok(distance.mean < 1e-10, "%s: class means within %.1e", name,
       distance.mean);
    ok(fabs(s->primal - objective) < 1e-8 * objective &&
           s->dual <= objective * (1 + drift + 1e-12) &&
           s->dual > objective * (1 - 1e-8),
       "%s: objective within %.1e, dual within %.1e", name,
       s->primal / objective - 1, 1 - s->dual / objective);
}

static void test_data(const char *path)
{
    struct klr_problem data;
    struct klr_error err;
    if (klr_problem_read(&data, path, 0, 1, &err))
        printf("Bail out! %s: %s\n", path, err.message);
    struct klr_kernel kernel = {.type = KLR_RBF, .gamma = 1.0 / data.dimension};
    struct dense d = dense_create(&data, &kernel);
    for (int r = KLR_REGULARIZER_KERNEL; r <= KLR_REGULARIZER_COEF; r++)
        for (double c = 0.1; c < 200; c *= c < 1 ? 10 : 100) {
            char name[640];
            struct setting s = setting_of(r, c);
            struct solution solution = fisher_one(&s, &data, &kernel, &d);
            snprintf(name, sizeof name, "%s, %s, c = %g", path,
                     klr_regularizer_names[r], c);
            dense_solve(&d, c, r == KLR_REGULARIZER_COEF);
            check(&d, &solution, name);
            klr_free(solution.beta);
        }
    dense_free(&d);
    klr_problem_free(&data);
}

#endif
