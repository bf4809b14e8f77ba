/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The regularizer beta'beta: against objectives written out from their
 * definitions, and against Newton's method with dense matrices in long double.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/sample.h"
#include "tests/stop.h"
#include "tests/tap.h"

static struct klr_params coef_params(enum klr_solver_type solver, double cost)
{
    struct klr_params params;
    klr_params_init(&params);
    params.solver = (int)solver;
    params.regularizer = KLR_REGULARIZER_COEF;
    params.kernel = KLR_SIGMOID;
    params.gamma = klr_reals_of(1);
    params.coef0 = -0.5;
    params.cost.value[0] = cost;
    return params;
}

static double weight_of(const struct klr_params *params, double label)
{
    for (size_t w = 0; w < params->n_weights; w++)
        if (atof(params->weight[w].label) == label)
            return params->weight[w].weight;
    return 1;
}

/* P and D from their definitions, D at the dual point of beta and rho; `sum`
 * is what keeps it from being feasible. */
static struct truth coef_truth(const struct sample *s, const double *beta,
                               double rho, const struct klr_params *params)
{
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    struct truth truth = {0};
    double u[MOST], g[MOST] = {0}, kg[MOST];
    sample_product(s, &kernel, beta, u);
    for (size_t i = 0; i < s->problem.n; i++) {
        double y = s->label[i], f = y * (u[i] - rho);
        double c = params->cost.value[0] * weight_of(params, y);
        double alpha = c / (1 + exp(f));
        g[i] = y * alpha;
        truth.sum += g[i];
        truth.primal += 0.5 * beta[i] * beta[i] + c * log1p(exp(-f));
        truth.dual -= alpha * log(alpha / c) + (c - alpha) * log1p(-alpha / c);
    }
    sample_product(s, &kernel, g, kg);
    for (size_t i = 0; i < s->problem.n; i++)
        truth.dual -= 0.5 * kg[i] * kg[i];
    return truth;
}

static struct solution coef_solution(const struct sample *s,
                                     const struct klr_params *params,
                                     double *beta)
{
    return solve(s, params, beta);
}

static const char *solver_name(const struct klr_params *params)
{
    return klr_solver_names[params->solver];
}

static void test_gap(const struct sample *s, struct klr_params params)
{
    double beta[MOST], cost = params.cost.value[0];
    struct solution solution = coef_solution(s, &params, beta);
    struct truth truth = coef_truth(s, beta, solution.rho, &params);
    double gap = (truth.primal - truth.dual) / truth.primal;
    ok(solution.status == KLR_CONVERGED && gap > -1e-12 && gap <= 1.01e-6,
       "%s, C = %g: gap %.2g after %lld products", solver_name(&params), cost,
       gap, solution.iterations);
    ok(fabs(truth.primal - solution.primal) < 1e-12 * truth.primal &&
           fabs(truth.dual - solution.dual) < 1e-10 * truth.primal,
       "%s, C = %g: objectives as reported", solver_name(&params), cost);
    ok(params.no_bias ? solution.rho == 0
                      : fabs(truth.sum) < 1e-9 * cost * MOST,
       "%s, C = %g: %s", solver_name(&params), cost,
       params.no_bias ? "no bias" : "the dual point is feasible");
}

/* ---- a textbook solution ---- */

enum { SMALL = 40, WIDE = SMALL + 1 };

/* x = A^-1 x by Gaussian elimination with pivoting. */
static void dense_solve(size_t n, long double a[WIDE][WIDE], long double *x)
{
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++)
            if (fabsl(a[i][k]) > fabsl(a[best][k]))
                best = i;
        for (size_t j = 0; j < n; j++) {
            long double t = a[k][j];
            a[k][j] = a[best][j];
            a[best][j] = t;
        }
        long double t = x[k];
        x[k] = x[best];
        x[best] = t;
        for (size_t i = k + 1; i < n; i++) {
            long double part = a[i][k] / a[k][k];
            for (size_t j = k; j < n; j++)
                a[i][j] -= part * a[k][j];
            x[i] -= part * x[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++)
            x[k] -= a[k][j] * x[j];
        x[k] /= a[k][k];
    }
}

/* Lin & Lin (33) in the variables (beta, b), b = -rho, by damped Newton steps;
 * the Hessian is theirs, I~ + K~ diag(W) K~', K~ being K with a row of ones. */
static long double dense_minimum(const struct sample *s,
                                 const struct klr_params *params,
                                 long double *z)
{
    static long double wide[WIDE][SMALL], hessian[WIDE][WIDE];
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    long double step[WIDE], f[SMALL], value = INFINITY, c;
    for (size_t i = 0; i < SMALL; i++)
        for (size_t j = 0; j <= SMALL; j++)
            wide[j][i] = j == SMALL
                             ? 1
                             : kernel_of(&kernel, s->value + i * FEATURES,
                                         s->value + j * FEATURES);
    memset(z, 0, WIDE * sizeof *z);
    memset(step, 0, sizeof step);
    for (int round = 0; round < 200; round++) {
        long double t = 1, next, old[WIDE];
        memcpy(old, z, sizeof old);
        for (int halved = 0; halved < 60; halved++, t /= 2) {
            next = 0;
            for (size_t j = 0; j <= SMALL; j++) {
                z[j] = old[j] + t * step[j];
                next += j < SMALL ? z[j] * z[j] / 2 : 0;
            }
            for (size_t i = 0; i < SMALL; i++) {
                f[i] = 0;
                for (size_t j = 0; j <= SMALL; j++)
                    f[i] += wide[j][i] * z[j];
                c = params->cost.value[0] * weight_of(params, s->label[i]);
                next += c * log1pl(expl(-s->label[i] * f[i]));
            }
            if (next < value)
                break;
        }
        if (!(next < value))
            break;
        value = next;
        memset(hessian, 0, sizeof hessian);
        for (size_t j = 0; j <= SMALL; j++) {
            step[j] = j < SMALL ? -z[j] : 0;
            hessian[j][j] = j < SMALL;
        }
        for (size_t i = 0; i < SMALL; i++) {
            c = params->cost.value[0] * weight_of(params, s->label[i]);
            long double p = 1 / (1 + expl(s->label[i] * f[i]));
            for (size_t j = 0; j <= SMALL; j++) {
                step[j] += c * s->label[i] * p * wide[j][i];
                for (size_t k = 0; k <= SMALL; k++)
                    hessian[j][k] += c * p * (1 - p) * wide[j][i] * wide[k][i];
            }
        }
        dense_solve(WIDE, hessian, step);
    }
    return value;
}

static void test_dense(struct klr_params params)
{
    static struct sample s;
    double beta[MOST], worst = 0;
    long double z[WIDE];
    sample_make(&s, SMALL);
    params.eps = 1e-12;
    long double least = dense_minimum(&s, &params, z);
    struct solution solution = coef_solution(&s, &params, beta);
    for (size_t i = 0; i < SMALL; i++)
        worst = larger_of(worst, fabs(beta[i] - (double)z[i]));
    ok(fabsl(solution.primal - least) <= 1e-12L * least,
       "%s, C = %g: the dense minimum, %.12g", solver_name(&params),
       params.cost.value[0], (double)least);
    ok(worst < 1e-4 && fabs(solution.rho + (double)z[SMALL]) < 1e-4,
       "%s, C = %g: its coefficients up to %.1g, its rho", solver_name(&params),
       params.cost.value[0], worst);
}

/* ---- the rest of the contract ---- */

static void test_kernels(const struct sample *s)
{
    struct klr_params params = coef_params(KLR_SOLVER_NEWTON, 10);
    params.kernel = KLR_RBF;
    test_gap(s, params);
    params.kernel = KLR_LINEAR;
    test_gap(s, params);
    params.kernel = KLR_SIGMOID;
    params.coef0 = 2;
    test_gap(s, params);
}

static void test_weights(const struct sample *s)
{
    struct klr_weight weight[] = {{"1", 5}, {"-1", 0.5}};
    struct klr_params params = coef_params(KLR_SOLVER_NEWTON, 3);
    params.weight = weight;
    params.n_weights = 2;
    test_gap(s, params);
    test_dense(params);
}

static void test_bits(const struct sample *s)
{
    struct klr_params params = coef_params(KLR_SOLVER_NEWTON, 10);
    double beta[MOST], kept[MOST];
    solve(s, &params, beta);
    coef_solution(s, &params, kept);
    ok(memcmp(beta, kept, s->problem.n * sizeof *beta) == 0,
       "the same bits with tiles kept");
}

/* Each C of a path is solved as well as alone. */
static void test_path(const struct sample *s)
{
    struct klr_params params = coef_params(KLR_SOLVER_NEWTON, 0.1);
    params.cost = (struct klr_reals){.count = 3, .value = {0.1, 7, 7000}};
    struct klr_model *model[3];
    struct klr_report report[3];
    struct klr_error err = {0};
    double beta[MOST];
    int code = klr_train(&s->problem, &params, model, report, &err);
    ok(code == 0, "a path %s", err.message);
    for (size_t t = 0; t < 3 && !code; t++) {
        struct klr_params one = coef_params(KLR_SOLVER_NEWTON, 0);
        one.cost.value[0] = params.cost.value[t];
        double alone = coef_solution(s, &one, beta).primal;
        ok(report[t].gap <= 1e-6 &&
               fabs(report[t].primal - alone) <= 1e-6 * alone,
           "C = %g: gap %.2g", params.cost.value[t], report[t].gap);
        klr_model_free(model[t]);
    }
}

/* K of 240 examples is large in few directions. Once these are known a step
 * takes few products, at any C. */
static void test_products(const struct sample *s, enum klr_solver_type solver,
                          double cost, long long most)
{
    struct klr_params params = coef_params(solver, cost);
    double beta[MOST];
    params.kernel = KLR_RBF;
    params.gamma = klr_reals_of(0.1);
    struct solution solution = coef_solution(s, &params, beta);
    ok(solution.status == KLR_CONVERGED && solution.iterations < most,
       "%s, C = %g: %lld products", solver_name(&params), cost,
       solution.iterations);
}

/* Cubic polynomials of features around 1000, which leave floats no digits, and
 * doubles few. Floats would fit any labels by their errors alone, along a path
 * that says nothing of the kernel: objectives of 1e48 have been. Products of
 * double entries tell sooner that no digit is left, and P is no more than
 * `loss` for each unit of C, where constants have log 2 or 1. */
static void test_huge(enum klr_model_type model, double loss)
{
    enum { FEW = 60 };
    static struct sample s;
    double beta[MOST], worst = 0;
    long long most = 0;
    sample_make(&s, FEW);
    for (size_t i = 0; i < FEW * FEATURES; i++)
        s.value[i] += 1000;
    for (double cost = 1e-3; cost < 1e5; cost *= 3) {
        struct klr_params params = coef_params(KLR_SOLVER_NEWTON, cost);
        params.model = (int)model;
        params.kernel = KLR_POLYNOMIAL;
        params.degree = 3;
        params.coef0 = 1;
        struct solution solution = coef_solution(&s, &params, beta);
        worst = larger_of(worst, solution.primal / (cost * FEW));
        most = solution.iterations > most ? solution.iterations : most;
    }
    const char *name = klr_model_names[model];
    ok(worst < loss, "%s, no digits: at most %.2g for each unit of C", name,
       worst);
    ok(most < 35000, "%s, no digits: at most %lld products", name, most);
}

/* A gap that nothing reaches, and a limit that ends what is then tried without
 * the preconditioner: the better point stays. */
static void test_kept(const struct sample *s, enum klr_solver_type solver,
                      long long limit)
{
    struct klr_params params = coef_params(solver, 1000);
    double beta[MOST];
    params.kernel = KLR_RBF;
    params.gamma = klr_reals_of(0.1);
    double least = coef_solution(s, &params, beta).primal;
    params.eps = 1e-60;
    params.max_iter = limit;
    struct solution solution = coef_solution(s, &params, beta);
    struct truth truth = coef_truth(s, beta, solution.rho, &params);
    ok(solution.status == KLR_ITERATION_LIMIT &&
           solution.primal < least * (1 + 1e-9),
       "%s: the better point stays, %.12g, after %lld products",
       solver_name(&params), solution.primal, solution.iterations);
    ok(fabs(truth.primal - solution.primal) < 1e-12 * truth.primal &&
           fabs(truth.dual - solution.dual) < 1e-10 * truth.primal,
       "%s: with its own objectives", solver_name(&params));
}

/* Large features, whose K has a norm of some 1e6. */
static void test_large(enum klr_solver_type solver)
{
    static struct sample s;
    sample_make(&s, MOST);
    for (size_t i = 0; i < MOST * FEATURES; i++)
        s.value[i] *= 100;
    struct klr_params params = coef_params(solver, 1e6);
    params.kernel = KLR_LINEAR;
    test_gap(&s, params);
}

static void test_stops(const struct sample *s, enum klr_solver_type solver)
{
    struct klr_params params = coef_params(solver, 1000);
    double beta[MOST];
    params.max_iter = 30;
    struct solution solution = coef_solution(s, &params, beta);
    struct truth truth = coef_truth(s, beta, solution.rho, &params);
    ok(solution.status == KLR_ITERATION_LIMIT && solution.iterations <= 36,
       "%s: iteration limit after %lld products", solver_name(&params),
       solution.iterations);
    ok(fabs(truth.primal - solution.primal) < 1e-12 * truth.primal &&
           truth.primal > truth.dual * (1 + 1e-6) &&
           truth.primal < 1000 * log(2) * MOST,
       "%s: what was reached is judged by the costs asked for",
       solver_name(&params));
    params.max_iter = 0;
    params.progress = stop_at_once;
    solution = coef_solution(s, &params, beta);
    ok(solution.status == KLR_INTERRUPTED && isfinite(solution.primal),
       "%s: interrupted", solver_name(&params));
}

int main(void)
{
    static struct sample sample;
    static const enum klr_solver_type solvers[] = {KLR_SOLVER_NEWTON,
                                                   KLR_SOLVER_CG};
    (void)evaluate; /* of the other regularizer */
    sample_make(&sample, MOST);
    for (int k = 0; k < 2; k++) {
        for (double cost = 0.01; cost < 1e3; cost *= 100)
            test_gap(&sample, coef_params(solvers[k], cost));
        struct klr_params params = coef_params(solvers[k], 1);
        test_dense(params);
        params.no_bias = 1;
        test_gap(&sample, params);
        test_stops(&sample, solvers[k]);
        /* without a preconditioner there are 255 and 1035 */
        test_products(&sample, solvers[k], 1000, 150);
        test_large(solvers[k]);
        test_kept(&sample, solvers[k], 300);
    }
    /* slopes have to be those of r, whatever K d is off by */
    test_products(&sample, KLR_SOLVER_NEWTON, 1e7, 500);
    /* where conjugate directions lead nowhere, Newton's do */
    test_products(&sample, KLR_SOLVER_CG, 1e7, 3000);
    test_gap(&sample, coef_params(KLR_SOLVER_NEWTON, 1e6));
    test_dense(coef_params(KLR_SOLVER_NEWTON, 1e4));
    test_kernels(&sample);
    test_weights(&sample);
    test_bits(&sample);
    test_huge(KLR_MODEL_KLR, 0.4);
    test_huge(KLR_MODEL_SVM, 2);
    test_path(&sample);
    return done_testing();
}
