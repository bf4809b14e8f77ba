/* SPDX-License-Identifier: BSD-3-Clause
 *
 * svm with the regularizer beta'beta, against its duality written out: g solves
 * K g = beta, by elimination in long double, must be feasible, and its dual
 * objective that of beta.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/eliminate.h"
#include "tests/sample.h"
#include "tests/tap.h"

enum { N = 60 };

static struct klr_params svm_params(bool rbf, double cost, bool no_bias)
{
    struct klr_params params;
    klr_params_init(&params);
    params.model = KLR_MODEL_SVM;
    params.regularizer = KLR_REGULARIZER_COEF;
    params.kernel = rbf ? KLR_RBF : KLR_SIGMOID;
    params.gamma = klr_reals_of(1);
    params.coef0 = rbf ? 0 : 0.5;
    params.cost.value[0] = cost;
    params.no_bias = no_bias;
    params.eps = 1e-7;
    return params;
}

static void test_optimum(const struct sample *s, struct klr_params params)
{
    static long double k[N][N], lower[N][N];
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    double beta[MOST], cost = params.cost.value[0];
    long double g[N], primal = 0, dual = 0, sum = 0, outside = 0;
    struct solution solution = solve(s, &params, beta);
    for (size_t i = 0; i < N; i++) {
        g[i] = beta[i];
        for (size_t j = 0; j < N; j++)
            k[i][j] = lower[i][j] = kernel_of(&kernel, s->value + i * FEATURES,
                                              s->value + j * FEATURES);
    }
    for (size_t i = 0; i < N; i++) {
        long double f = -solution.rho;
        for (size_t j = 0; j < N; j++)
            f += k[i][j] * beta[j];
        primal +=
            0.5L * beta[i] * beta[i] + cost * fmaxl(0, 1 - s->label[i] * f);
    }
    eliminate(N, N, *lower, 1, g);
    for (size_t i = 0; i < N; i++) {
        long double alpha = s->label[i] * g[i];
        outside = fmaxl(outside, fmaxl(-alpha, alpha - cost));
        sum += g[i];
        dual += alpha - 0.5L * beta[i] * beta[i];
    }
    ok(solution.status == KLR_CONVERGED &&
           fabs(solution.primal / (double)primal - 1) < 1e-9 &&
           fabs(solution.dual / (double)dual - 1) < 1e-6,
       "%s, C = %g: objectives as reported", klr_kernel_names[kernel.type],
       cost);
    ok(fabsl(primal - dual) < 1e-5L * primal && outside < 1e-6L * cost,
       "gap %.1Lg, outside of the box by %.1Lg", (primal - dual) / primal,
       outside / cost);
    ok(params.no_bias ? solution.rho == 0 && fabsl(sum) > 1e-3L * cost
                      : fabsl(sum) < 1e-6L * cost,
       "rho %g, sum of g %.1Lg", solution.rho, sum);
}

/* A path of C is that of its values alone, and K K is formed once. */
static void test_path(const struct sample *s)
{
    struct klr_params params = svm_params(true, 1, false), one = params;
    struct klr_model *model[2], *alone = NULL;
    struct klr_report report[2], single;
    struct klr_error err = {0};
    params.cost = (struct klr_reals){.count = 2, .value = {1, 30}};
    one.cost = klr_reals_of(30);
    if (klr_train(&s->problem, &params, model, report, &err) ||
        klr_train(&s->problem, &one, &alone, &single, &err))
        printf("Bail out! %s\n", err.message);
    ok(fabs(report[1].primal / single.primal - 1) < 1e-6 &&
           report[1].gap < 1e-5,
       "C = 30 behind C = 1: objective %.8g, alone %.8g", report[1].primal,
       single.primal);
    ok(report[0].kernel_evals == report[1].kernel_evals &&
           report[0].kernel_evals < 4 * single.kernel_evals,
       "K K is formed once: %llu entries", report[0].kernel_evals);
    klr_model_free(model[0]);
    klr_model_free(model[1]);
    klr_model_free(alone);
}

/* Stopped before K K is there: beta is 0, and the objective that of f = 0. */
static void test_stopped(const struct sample *s)
{
    struct klr_params params = svm_params(true, 2, false);
    struct klr_model *model;
    struct klr_report report;
    struct klr_error err = {0};
    params.time_limit = 1e-9;
    if (klr_train(&s->problem, &params, &model, &report, &err))
        printf("Bail out! %s\n", err.message);
    ok(report.status == KLR_TIME_LIMIT && report.primal == 2.0 * N &&
           isnan(report.gap) && report.n_sv == 0,
       "no time: objective %g", report.primal);
    klr_model_free(model);
}

int main(void)
{
    static struct sample s;
    sample_make(&s, N);
    for (int no_bias = 0; no_bias < 2; no_bias++)
        for (int rbf = 0; rbf < 2; rbf++) {
            test_optimum(&s, svm_params(rbf, 0.1, no_bias));
            test_optimum(&s, svm_params(rbf, 3, no_bias));
        }
    test_path(&s);
    test_stopped(&s);
    return done_testing();
}
