/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Certificates: decision values of float entries become double where that
 * matters, at few examples beside a hinge, and tell what all of them would.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/solve_inside.h"
#include "tests/tap.h"

/* Two classes that are apart, or not. */
static void sample_shift(struct sample *s, double by)
{
    for (size_t i = 0; i < s->problem.n; i++)
        for (int d = 0; d < 2; d++)
            s->value[i * FEATURES + (size_t)d] += by * s->label[i];
}

struct found {
    double primal, gap, effect, rho;
    unsigned long long entries; /* of K, that it took */
};

/* Appraise coarse values u, refined where they matter or formed anew. */
static struct found appraise(const struct binary_problem *problem,
                             const struct point *point, const double *coarse,
                             double error)
{
    struct appraisal a;
    struct klr_error err;
    unsigned long long before = problem->op->evaluations;
    if (appraisal_create(&a, problem, point, &err))
        printf("Bail out! %s\n", err.message);
    a.precision = KLR_DOUBLE;
    a.anew = true;
    a.coarse = coarse;
    a.error = error;
    a.rho = point->rho;
    if (appraisal_all(&a, &err))
        printf("Bail out! %s\n", err.message);
    klr_free(a.store);
    return (struct found){a.c.primal, a.c.gap, a.c.effect, a.rho,
                          problem->op->evaluations - before};
}

/* The solution of a sample, blurred by `error`. */
static void check(double by, enum klr_model_type model, double error,
                  const char *name)
{
    static struct sample s;
    static double beta[MOST], u[MOST], weight[MOST];
    struct klr_params params = sample_params(0.3, 2);
    struct klr_operator op;
    struct clock clock;
    struct klr_error err;
    sample_make(&s, MOST);
    sample_shift(&s, by);
    params.model = (int)model;
    params.eps = 1e-3;
    params.solver = KLR_SOLVER_SMO;
    params.regularizer = KLR_REGULARIZER_KERNEL;
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    struct klr_features x = problem_features(&s.problem);
    struct klr_range all;
    struct solution solution = {.beta = beta};
    struct binary_problem problem =
        sample_binary(&s, &params, &op, &all, weight, &clock);
    problem.whole = true;
    if (operator_create(&op, &kernel, &x, NULL, NULL, 0, &err) ||
        smo_solve(&problem, &solution, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t i = 0; i < MOST; i++) /* others come near the hinge */
        beta[i] *= 1 - error;
    operator_apply(&op, problem.set, problem.set, beta, 1, KLR_DOUBLE, u);
    for (size_t i = 0; i < MOST; i++)
        u[i] += error * (2 * uniform() - 1);
    struct point point = {.c = 2,
                          .status = KLR_CONVERGED,
                          .beta = beta,
                          .rho = solution.rho + error,
                          .precision = KLR_FLOAT,
                          .dual = DUAL_BETA,
                          .bound = INFINITY};
    struct found refined = appraise(&problem, &point, u, error);
    struct found anew = appraise(&problem, &point, NULL, 0);
    ok(fabs(refined.primal - anew.primal) <= 1e-12 * anew.primal &&
           fabs(refined.gap - anew.gap) <= 1e-12 * anew.primal &&
           fabs(refined.rho - anew.rho) <= 1e-12 &&
           fabs(refined.effect - anew.effect) <= 1e-12 * anew.primal,
       "%s: P %.12g, gap %.3g, as of all entries", name, refined.primal,
       refined.gap);
    bool few = model == KLR_MODEL_SVM && by > 0;
    ok(few ? 3 * refined.entries < anew.entries
           : refined.entries >= anew.entries,
       "%s: %llu entries of %llu", name, refined.entries, anew.entries);
    operator_free(&op);
}

int main(void)
{
    check(0.8, KLR_MODEL_SVM, 1e-6, "few support vectors");
    check(0.8, KLR_MODEL_SVM, 1e-2, "coarse values");
    check(0, KLR_MODEL_SVM, 1e-6, "many support vectors");
    check(0.8, KLR_MODEL_KLR, 1e-6, "a loss that is nowhere flat");
    return done_testing();
}
