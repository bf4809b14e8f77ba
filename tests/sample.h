/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small problem, its solution, and what the definitions say of that solution.
 * To be included after solver.c, up to the room of models at least.
 */
#ifndef KLR_TESTS_SAMPLE_H
#define KLR_TESTS_SAMPLE_H

#include <stdio.h>

#include "tests/larger.h"

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

/* The defaults, but for gamma and C. */
static inline struct klr_params sample_params(double gamma, double cost)
{
    struct klr_params params;
    klr_params_init(&params);
    params.gamma = klr_reals_of(gamma);
    params.cost = klr_reals_of(cost);
    return params;
}

/* The problem of the n rows that are there. */
static void sample_close(struct sample *s, size_t n)
{
    s->start[n] = n * FEATURES;
    s->problem = (struct klr_problem){.n = n,
                                      .dimension = FEATURES,
                                      .label = s->label,
                                      .start = s->start,
                                      .index = s->index,
                                      .value = s->value};
}

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
    sample_close(s, n);
}

/* The rows of the problem that are in fold f of the partition, or all others,
 * in the order of the partition. */
static inline void sample_fold(struct sample *part,
                               const struct klr_problem *problem,
                               const struct partition *partition, size_t f,
                               bool inside)
{
    size_t n = 0;
    for (size_t cell = 0; cell < partition->k * partition->folds; cell++)
        for (size_t p = partition->begin[cell]; p < partition->begin[cell + 1];
             p++) {
            size_t row = partition->order[p];
            if ((cell % partition->folds == f) != inside)
                continue;
            part->label[n] = problem->label[row];
            part->start[n] = n * FEATURES;
            memcpy(part->index + n * FEATURES, problem->index + row * FEATURES,
                   FEATURES * sizeof *part->index);
            memcpy(part->value + n * FEATURES, problem->value + row * FEATURES,
                   FEATURES * sizeof *part->value);
            n++;
        }
    sample_close(part, n);
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

/* Values by the definitions, for coefficients beta by row, and rho. A logistic
 * model names a dual point: the coefficients themselves, or where they are not
 * feasible alpha_i = C sigma(-y_i f_i) of its decision values. */
struct truth {
    double primal, dual, violation, sum;
};

/* (K beta)_i */
static void sample_product(const struct sample *s,
                           const struct klr_kernel *kernel, const double *beta,
                           double *u)
{
    for (size_t i = 0; i < s->problem.n; i++) {
        u[i] = 0;
        for (size_t j = 0; j < s->problem.n; j++)
            u[i] += beta[j] * kernel_of(kernel, s->value + i * FEATURES,
                                        s->value + j * FEATURES);
    }
}

static double logistic_dual(const struct sample *s, double c,
                            const double *beta, const double *u)
{
    double dual = 0;
    for (size_t i = 0; i < s->problem.n; i++) {
        double a = s->label[i] * beta[i];
        if (!(a > 0 && a < c))
            return -INFINITY;
        dual -= 0.5 * beta[i] * u[i] + a * log(a / c) + (c - a) * log1p(-a / c);
    }
    return dual;
}

static inline struct truth evaluate(const struct sample *s, const double *beta,
                                    double rho, const struct klr_params *params,
                                    const struct klr_kernel *kernel)
{
    struct truth truth = {0};
    double u[MOST], g[MOST] = {0}, kg[MOST];
    double most = -INFINITY, least = INFINITY, c = params->cost.value[0],
           edge = 1e-9 * c;
    sample_product(s, kernel, beta, u);
    for (size_t i = 0; i < s->problem.n; i++) {
        double y = s->label[i], a = y * beta[i], up, f = y * (u[i] - rho);
        truth.sum += beta[i];
        truth.primal += 0.5 * beta[i] * u[i];
        if (params->model == KLR_MODEL_SVM) {
            truth.primal += c * fmax(0, 1 - f);
            truth.dual += a - 0.5 * beta[i] * u[i];
            up = y - u[i];
        } else {
            truth.primal += c * log1p(exp(-f));
            g[i] = y * c / (1 + exp(f));
            up = -u[i] - y * log(a / (c - a));
        }
        if (y > 0 ? a < c - edge : a > edge)
            most = larger_of(most, up);
        if (y > 0 ? a > edge : a < c - edge)
            least = fmin(least, up);
    }
    if (params->model != KLR_MODEL_SVM) {
        sample_product(s, kernel, g, kg);
        truth.dual =
            fmax(logistic_dual(s, c, beta, u), logistic_dual(s, c, g, kg));
    }
    truth.violation = params->no_bias ? 2 * fmax(most, -least) : most - least;
    return truth;
}

/* All examples in one fold. */
static const struct fold_plan deal_none = {.folds = 1, .parts = 1};

/* Train a model of two classes, without a link; beta (n) in the order of the
 * rows. */
static inline struct solution
solve(const struct sample *s, const struct klr_params *given, double *beta)
{
    struct klr_params params = *given;
    struct klr_model *model = NULL;
    struct klr_report report = {0};
    struct klr_error err = {0};
    params.link = KLR_LINK_NONE;
    params.calibration = KLR_CALIBRATION_CV;
    memset(beta, 0, s->problem.n * sizeof *beta);
    if (klr_train(&s->problem, &params, &model, &report, &err)) {
        printf("Bail out! %s\n", err.message);
        exit(1);
    }
    for (size_t i = 0; i < model->n_sv; i++)
        beta[model->sv_row[i]] = model->coef[i];
    struct solution solution = {
        .rho = model->rho[0],
        .primal = report.primal,
        .dual = report.dual,
        .iterations = report.iterations,
        .status = report.machines,
        .doubt = report.doubt,
        .lambda_bound = report.lambda_bound,
        .basis = report.basis,
    };
    klr_model_free(model);
    return solution;
}

/* As that, with so little memory that no tile of K is kept. */
static inline struct solution solve_untiled(const struct sample *s,
                                            const struct klr_params *given,
                                            double *beta)
{
    struct klr_params params = *given;
    params.cache_mb = 1e-6;
    return solve(s, &params, beta);
}

/* output (n): decision values of the rows in fold f of a partition of two
 * classes, in double by a solution for the others, whose violation is
 * returned. */
static inline double sample_decide(const struct klr_problem *problem,
                                   const struct partition *partition, size_t f,
                                   const struct klr_params *params,
                                   double *output)
{
    static struct sample rest;
    static double beta[MOST];
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    sample_fold(&rest, problem, partition, f, false);
    struct solution solution = solve(&rest, params, beta);
    struct truth truth = evaluate(&rest, beta, solution.rho, params, &kernel);
    for (size_t c = 0; c < 2; c++)
        for (size_t p = partition->begin[c * partition->folds + f];
             p < partition->begin[c * partition->folds + f + 1]; p++) {
            size_t i = partition->order[p];
            output[i] = -solution.rho;
            for (size_t j = 0; j < rest.problem.n; j++)
                output[i] +=
                    beta[j] * kernel_of(&kernel, problem->value + i * FEATURES,
                                        rest.value + j * FEATURES);
        }
    return truth.violation;
}

#endif
