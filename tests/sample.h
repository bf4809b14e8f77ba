/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small problem, its solution by the solvers' own interface, and what the
 * definitions say of that solution. To be included after solver.c.
 */
#ifndef KLR_TESTS_SAMPLE_H
#define KLR_TESTS_SAMPLE_H

#include <stdio.h>

static uint64_t state = 20240601;

static double uniform(void)
{
    return (double)(random_next(&state) >> 11) / 9007199254740992.0;
}

enum { MOST = 240, FEATURES = 5 };

struct sample {
    struct klr_problem problem;
    double label[MOST], value[MOST * FEATURES];
    size_t start[MOST + 1];
    int index[MOST * FEATURES];
};

static void sample_make(struct sample *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double y = i % 3 == 0 ? 1 : -1;
        s->label[i] = y;
        s->start[i] = i * FEATURES;
        for (int d = 0; d < FEATURES; d++) {
            s->index[i * FEATURES + (size_t)d] = d + 1;
            s->value[i * FEATURES + (size_t)d] =
                2 * uniform() - 1 + 0.4 * y * (d == 0);
        }
    }
    s->start[n] = n * FEATURES;
    s->problem = (struct klr_problem){.n = n,
                                      .dimension = FEATURES,
                                      .label = s->label,
                                      .start = s->start,
                                      .index = s->index,
                                      .value = s->value};
}

static double kernel_of(const struct klr_kernel *kernel, const double *a,
                        const double *b)
{
    double dot = 0, square = 0;
    for (int d = 0; d < FEATURES; d++) {
        dot += a[d] * b[d];
        square += (a[d] - b[d]) * (a[d] - b[d]);
    }
    return kernel->type == KLR_RBF ? exp(-kernel->gamma * square)
           : kernel->type == KLR_LINEAR
               ? dot
               : tanh(kernel->gamma * dot + kernel->coef0);
}

/* What the definitions say of coefficients beta by row, and of rho. */
struct truth {
    double primal, dual, violation, sum;
};

static struct truth evaluate(const struct sample *s, const double *beta,
                             double rho, const struct klr_params *params,
                             const struct klr_kernel *kernel)
{
    struct truth truth = {0};
    double most = -INFINITY, least = INFINITY, c = params->cost.value[0],
           edge = 1e-9 * c;
    for (size_t i = 0; i < s->problem.n; i++) {
        double u = 0, y = s->label[i], a = y * beta[i], up;
        for (size_t j = 0; j < s->problem.n; j++)
            u += beta[j] * kernel_of(kernel, s->value + i * FEATURES,
                                     s->value + j * FEATURES);
        truth.sum += beta[i];
        truth.primal += 0.5 * beta[i] * u;
        truth.dual -= 0.5 * beta[i] * u;
        if (params->model == KLR_MODEL_SVM) {
            truth.primal += c * fmax(0, 1 - y * (u - rho));
            truth.dual += a;
            up = y - u;
        } else {
            truth.primal += c * log1p(exp(-y * (u - rho)));
            truth.dual -= a * log(a / c) + (c - a) * log(1 - a / c);
            up = -u - y * log(a / (c - a));
        }
        if (y > 0 ? a < c - edge : a > edge)
            most = fmax(most, up);
        if (y > 0 ? a > edge : a < c - edge)
            least = fmin(least, up);
    }
    truth.violation = most - least;
    return truth;
}

/* Train by the internal interface with tiles in `budget` bytes; beta in the
 * order of the rows. */
static struct solution solve_within(const struct sample *s,
                                    const struct klr_params *given,
                                    size_t budget, double *beta)
{
    const struct klr_params settled = params_settle(given), *params = &settled;
    struct layout layout;
    struct klr_operator op = {0};
    struct training training = {0};
    struct pair pair;
    struct klr_error err = {0};
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    struct klr_features x = problem_features(&s->problem);
    if (layout_create(&layout, &s->problem, NULL, 1, 0, &err) ||
        operator_create(&op, &kernel, &x, layout.order, NULL, budget, &err) ||
        training_create(&training, &op, params, &layout, &err) ||
        pair_alloc(&pair, s->problem.n, &err) ||
        pair_solve(&training, 0, 1, 1, &pair, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t p = 0; p < s->problem.n; p++)
        beta[layout.order[p]] = pair.solution.beta[p];
    struct solution solution = pair.solution;
    pair_free(&pair);
    training_free(&training);
    operator_free(&op);
    layout_free(&layout);
    return solution;
}

static struct solution solve(const struct sample *s,
                             const struct klr_params *params, double *beta)
{
    return solve_within(s, params, 0, beta);
}

#endif
