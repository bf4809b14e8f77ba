/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A weight for each example: solutions meet the conditions of an optimum,
 * written out from the definition with C_i = C w_i; how weights of classes and
 * of examples come together, and what is refused. (tests/unit/fisher/t-fisher.c
 * has discriminants, tests/cli/data/weights.t what weights 2 and 3 amount to.)
 */
#define SOLVER_FLOOR 1
#include "solver.c"
#include "solver/train/weights.c"

#include "tests/larger.h"
#include "tests/sample.h"
#include "tests/tap.h"

enum { N = 90 };

static double weight[N];
static const struct klr_kernel rbf = {.type = KLR_RBF, .gamma = 0.5};

static struct klr_params weighted(int model, int solver, int regularizer)
{
    struct klr_params params;
    klr_params_init(&params);
    params.model = model;
    params.solver = solver;
    params.regularizer = regularizer;
    params.gamma = klr_reals_of(0.5);
    params.cost = klr_reals_of(4);
    params.example_weight = weight;
    if (model == KLR_MODEL_SKLR)
        params.lambda = klr_reals_of(1.5);
    params.keep_bounded = model == KLR_MODEL_SKLR;
    return params;
}

/* The slopes y_i alpha_i of the loss at the decision values u - rho. */
static void slopes(const struct sample *s, const struct klr_params *params,
                   const double *u, double rho, double *g)
{
    bool sparse = params->model == KLR_MODEL_SKLR;
    double lambda = sparse ? params->lambda.value[0] : 0;
    double box = sparse ? params->box : 0;
    for (size_t i = 0; i < N; i++) {
        double y = s->label[i], c = params->cost.value[0] * weight[i];
        double alpha = c / (1 + exp(y * (u[i] - rho) - lambda));
        g[i] = y * fmin(fmax(alpha, box), c - box);
    }
}

/* By how much the gradient misses 0, relative to the part of the loss in it:
 *   beta'K beta    beta - g; at import points, in these alone, K (beta - g)
 *   beta'beta      beta - K g
 *   |beta|^(1/2)   1 / (2 |beta|^(1/2)) - K g where beta is not 0 */
static double violation(const struct sample *s, const struct klr_params *params,
                        const double *beta, double rho)
{
    double u[MOST], g[MOST] = {0}, kg[MOST], e[MOST], ke[MOST];
    double most = 0, sum = 0, size = 0;
    sample_product(s, &rbf, beta, u);
    slopes(s, params, u, rho, g);
    for (size_t i = 0; i < N; i++)
        e[i] = beta[i] - g[i];
    sample_product(s, &rbf, g, kg);
    sample_product(s, &rbf, e, ke);
    for (size_t i = 0; i < N; i++) {
        double root = 2 * sqrt(fabs(beta[i])) * (beta[i] > 0 ? 1 : -1);
        double miss = params->model == KLR_MODEL_IVM     ? ke[i] / kg[i]
                      : params->model == KLR_MODEL_LHALF ? 1 - root * kg[i]
                      : params->regularizer == KLR_REGULARIZER_COEF
                          ? (beta[i] - kg[i]) / 10
                          : e[i] / params->cost.value[0];
        most = beta[i] != 0 ? fmax(most, fabs(miss)) : most;
        sum += g[i];
        size += fabs(g[i]);
    }
    return fmax(most, params->no_bias ? 0 : fabs(sum) / size);
}

static void test_optimum(const struct sample *s, struct klr_params params,
                         double bound)
{
    double beta[MOST];
    struct solution solution = solve(s, &params, beta);
    double miss = violation(s, &params, beta, solution.rho);
    ok(solution.status == KLR_CONVERGED && miss <= bound,
       "%s by %s: %s, stationary up to %.2g", klr_model_names[params.model],
       klr_solver_names[params.solver], klr_status_names[solution.status],
       miss);
}

static void test_solvers(const struct sample *s)
{
    static const struct {
        int model, solver, regularizer, no_bias;
        double eps, bound;
    } cases[] = {
        {KLR_MODEL_KLR, KLR_SOLVER_NEWTON, 0, 0, 1e-12, 1e-5},
        {KLR_MODEL_KLR, KLR_SOLVER_NEWTON, 0, 1, 1e-12, 1e-5},
        {KLR_MODEL_KLR, KLR_SOLVER_SMO, 0, 0, 1e-7, 1e-6},
        {KLR_MODEL_KLR, KLR_SOLVER_SMO1, 0, 0, 1e-7, 1e-6},
        {KLR_MODEL_KLR, KLR_SOLVER_SMO1, 0, 1, 1e-7, 1e-6},
        {KLR_MODEL_KLR, KLR_SOLVER_TRIRLS, 0, 1, 1e-9, 1e-3},
        {KLR_MODEL_KLR, KLR_SOLVER_NEWTON, KLR_REGULARIZER_COEF, 0, 1e-12,
         1e-5},
        {KLR_MODEL_KLR, KLR_SOLVER_CG, KLR_REGULARIZER_COEF, 0, 1e-12, 1e-5},
        {KLR_MODEL_SKLR, KLR_SOLVER_NEWTON, 0, 0, 1e-12, 1e-5},
        {KLR_MODEL_SKLR, KLR_SOLVER_SMO, 0, 0, 1e-7, 1e-6},
        {KLR_MODEL_SKLR, KLR_SOLVER_SMO1, 0, 0, 1e-7, 1e-6},
        {KLR_MODEL_IVM, KLR_SOLVER_GREEDY, 0, 0, 1e-3, 1e-5},
        {KLR_MODEL_LHALF, KLR_SOLVER_THRESHOLD, 0, 0, 1e-4, 2e-4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct klr_params params =
            weighted(cases[i].model, cases[i].solver, cases[i].regularizer);
        params.no_bias = cases[i].no_bias;
        params.eps = cases[i].eps;
        params.max_iter = cases[i].solver == KLR_SOLVER_TRIRLS ? 10000 : 0;
        test_optimum(s, params, cases[i].bound);
    }
}

/* LIBSVM's dual: sum beta = 0, 0 <= alpha_i <= C w_i, and the examples that may
 * go up have no larger y_i - u_i than those that may go down. */
static void test_svm(const struct sample *s)
{
    double beta[MOST], u[MOST], up = -INFINITY, down = INFINITY, sum = 0;
    bool inside = true;
    struct klr_params params = weighted(KLR_MODEL_SVM, KLR_SOLVER_SMO, 0);
    params.eps = 1e-6;
    solve(s, &params, beta);
    sample_product(s, &rbf, beta, u);
    size_t ends = 0;
    for (size_t i = 0; i < N; i++) {
        double y = s->label[i], alpha = y * beta[i], c = 4 * weight[i];
        inside = inside && alpha >= 0 && alpha <= c;
        ends += alpha == c;
        sum += beta[i];
        if (y > 0 ? alpha < c : alpha > 0)
            up = larger_of(up, y - u[i]);
        if (y > 0 ? alpha > 0 : alpha < c)
            down = fmin(down, y - u[i]);
    }
    ok(inside && fabs(sum) < 1e-10 && up - down <= 1.1e-6,
       "svm: violation %.2g", up - down);
    ok(ends > 3, "svm: %zu examples at the ends of boxes of their own", ends);
}

/* The weights at the positions of the rows. */
static int weights_of(const struct sample *s, const struct klr_params *params,
                      double *out, struct klr_error *err)
{
    struct partition partition;
    double class_weight[2], position_weight[N];
    if (partition_create(&partition, &s->problem, NULL, deal_none, err))
        printf("Bail out! %s\n", err->message);
    int code = class_weights(params, &partition, class_weight, err);
    if (!code)
        code = example_weights(params, &partition, class_weight,
                               position_weight, err);
    for (size_t p = 0; p < N && !code; p++)
        out[partition.order[p]] = position_weight[p];
    partition_free(&partition);
    return code;
}

static void test_together(const struct sample *s)
{
    double got[N], worst = 0;
    struct klr_error err;
    struct klr_weight classes[] = {{"1", 3}, {"-1", 0.25}};
    struct klr_params params = weighted(KLR_MODEL_KLR, KLR_SOLVER_NEWTON, 0);
    params.weight = classes;
    params.n_weights = 2;
    params.balance = true;
    ok(!weights_of(s, &params, got, &err), "weights of all kinds");
    for (size_t i = 0; i < N; i++) {
        /* a third is positive */
        double side = s->label[i] > 0 ? 3 * 1.5 : 0.25 * 0.75;
        worst = larger_of(worst, fabs(got[i] - side * weight[i]));
    }
    ok(worst < 1e-14, "their product: %.2g", worst);
    params.example_weight = NULL;
    params.balance = false;
    ok(!weights_of(s, &params, got, &err) && got[0] == 3 && got[1] == 0.25,
       "of classes alone");
}

static void test_refused(const struct sample *s)
{
    static const double bad[] = {0, -1, NAN, INFINITY};
    double got[N], kept = weight[7];
    struct klr_params params = weighted(KLR_MODEL_KLR, KLR_SOLVER_NEWTON, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct klr_error err = {0};
        weight[7] = bad[i];
        ok(weights_of(s, &params, got, &err) == KLR_E_USAGE &&
               strstr(err.message, "example 8"),
           "%g: %s", bad[i], err.message);
    }
    weight[7] = kept;
}

int main(void)
{
    static struct sample s;
    sample_make(&s, N);
    for (size_t i = 0; i < N; i++)
        weight[i] = 0.2 + 3 * uniform() * uniform();
    (void)evaluate; /* without weights */
    test_solvers(&s);
    test_svm(&s);
    test_together(&s);
    test_refused(&s);
    return done_testing();
}
