/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Machines whose training examples are of one class: without a bias the problem
 * has a finite optimum, which is worked out here by Newton's method in long
 * double; with one it has none.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/eliminate.h"
#include "tests/sample.h"
#include "tests/tap.h"

enum { ROWS = 14, OTHERS = ROWS - 1 };

/* The decision value of row 0 by the optimum of
 *   1/2 beta'K beta + C sum_i log(1 + e^(lambda - y f_i)),  f = K beta,
 * on the other rows, which all have y = -1. With p = sigma(lambda + f) it is
 * where beta = -C p. */
static double optimum(const struct sample *s, const struct klr_kernel *kernel,
                      double c, double lambda)
{
    long double beta[OTHERS] = {0}, system[OTHERS][OTHERS], step[OTHERS];
    long double value = 0;
    for (int round = 0; round < 60; round++) {
        for (size_t i = 0; i < OTHERS; i++) {
            long double f = 0;
            for (size_t j = 0; j < OTHERS; j++)
                f += beta[j] * kernel_of(kernel, s->value + (i + 1) * FEATURES,
                                         s->value + (j + 1) * FEATURES);
            long double p = 1 / (1 + expl(-lambda - f));
            step[i] = -c * p - beta[i];
            for (size_t j = 0; j < OTHERS; j++)
                system[i][j] =
                    (i == j) + c * p * (1 - p) *
                                   kernel_of(kernel,
                                             s->value + (i + 1) * FEATURES,
                                             s->value + (j + 1) * FEATURES);
        }
        eliminate(OTHERS, OTHERS, *system, 1, step);
        for (size_t i = 0; i < OTHERS; i++)
            beta[i] += step[i];
    }
    for (size_t j = 0; j < OTHERS; j++)
        value += beta[j] *
                 kernel_of(kernel, s->value, s->value + (j + 1) * FEATURES);
    return (double)value;
}

static struct klr_params params_for(int model, int solver, int kernel)
{
    struct klr_params params;
    klr_params_init(&params);
    params.model = model;
    params.solver = solver;
    params.kernel = kernel;
    params.link = KLR_LINK_SIGMA;
    params.gamma = klr_reals_of(0.5);
    params.cost = klr_reals_of(3);
    if (model == KLR_MODEL_SKLR)
        params.lambda = klr_reals_of(0.4);
    params.eps = 1e-9;
    params.no_bias = true;
    params.folds = ROWS;
    return params;
}

/* The decision value of row 0 where its fold is held out. */
static double held_out(const struct sample *s, const struct klr_params *params)
{
    struct klr_validation validation;
    struct klr_error err;
    if (klr_cross_validate(&s->problem, params, true, &validation, &err)) {
        printf("# %s\n", err.message);
        return NAN;
    }
    double f = validation.held_out.decision[0];
    klr_validation_free(&validation);
    return f;
}

static void test_no_bias(const struct sample *s, int model, int solver,
                         int kernel)
{
    struct klr_params params = params_for(model, solver, kernel);
    struct klr_kernel used = params_kernel(&params, FEATURES);
    double want = optimum(s, &used, 3, model == KLR_MODEL_SKLR ? 0.4 : 0);
    double f = held_out(s, &params);
    ok(fabs(f - want) < 1e-4, "%s by %s, kernel %d: f = %g, %g",
       klr_model_names[model], klr_solver_names[solver], kernel, f, want);
}

/* Both solvers of another regularizer come to one answer, which is no constant.
 */
static void test_coef(const struct sample *s)
{
    double f[2];
    for (int i = 0; i < 2; i++) {
        struct klr_params params = params_for(
            KLR_MODEL_KLR, i ? KLR_SOLVER_CG : KLR_SOLVER_NEWTON, KLR_RBF);
        params.regularizer = KLR_REGULARIZER_COEF;
        f[i] = held_out(s, &params);
    }
    ok(fabs(f[0] - f[1]) < 1e-4 && fabs(f[0] + log(ROWS)) > 0.1,
       "coef: f = %g, %g", f[0], f[1]);
}

/* With a bias, (n + 1) : 1 by the rule of succession. */
static void test_bias(const struct sample *s)
{
    struct klr_params params =
        params_for(KLR_MODEL_KLR, KLR_SOLVER_NEWTON, KLR_RBF);
    params.no_bias = false;
    double f = held_out(s, &params);
    ok(fabs(f + log(ROWS)) < 1e-12, "with a bias: f = %g", f);
}

int main(void)
{
    static struct sample s;
    sample_make(&s, ROWS);
    for (size_t i = 0; i < ROWS; i++)
        s.label[i] = i == 0 ? 1 : -1;
    for (int kernel = KLR_LINEAR; kernel <= KLR_RBF; kernel += KLR_RBF) {
        test_no_bias(&s, KLR_MODEL_KLR, KLR_SOLVER_NEWTON, kernel);
        test_no_bias(&s, KLR_MODEL_KLR, KLR_SOLVER_SMO1, kernel);
        test_no_bias(&s, KLR_MODEL_KLR, KLR_SOLVER_TRIRLS, kernel);
        test_no_bias(&s, KLR_MODEL_SKLR, KLR_SOLVER_NEWTON, kernel);
        test_no_bias(&s, KLR_MODEL_SKLR, KLR_SOLVER_SMO1, kernel);
    }
    test_coef(&s);
    test_bias(&s);
    return done_testing();
}
