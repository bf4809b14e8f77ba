/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses, the step along a line, and whole solutions, against evaluations that
 * are written out here from the definitions.
 */
#include "solver.c"

#include "tests/sample.h"
#include "tests/tap.h"

static const struct loss logistic = {.model = KLR_MODEL_KLR};

/* ---- losses ---- */

/* psi(alpha) = max over z of -alpha z - C loss(z), at alpha = -C loss'(z). */
static void test_conjugates(void)
{
    double worst = 0, below = 0;
    for (int i = 0; i < 1000; i++) {
        double z = 20 * uniform() - 10, cost = 5 * uniform() + 0.01;
        double alpha = cost / (1 + exp(z));
        double value = conjugate_value(&logistic, alpha, cost);
        double line = -alpha * z - cost * log1p(exp(-z));
        double other = 20 * uniform() - 10;
        worst = fmax(worst, fabs(value - line) / (1 + fabs(line)));
        below = fmax(below, -alpha * other - cost * log1p(exp(-other)) - value);
    }
    ok(worst < 1e-12 && below < 1e-12, "the logistic conjugate: %g %g", worst,
       below);
    double h = 1e-6, a = 0.3, c = 2;
    double slope = (conjugate_value(&logistic, a + h, c) -
                    conjugate_value(&logistic, a - h, c)) /
                   (2 * h);
    double curvature = (conjugate_slope(&logistic, a + h, c) -
                        conjugate_slope(&logistic, a - h, c)) /
                       (2 * h);
    ok(fabs(slope - conjugate_slope(&logistic, a, c)) < 1e-8 &&
           fabs(curvature - conjugate_curvature(&logistic, a, c)) < 1e-6,
       "its derivatives");
}

static double loss_at(size_t n, const double *y, const double *cost,
                      const double *u, double rho)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += cost[i] * softplus(-y[i] * (u[i] - rho));
    return sum;
}

static void test_best_rho(void)
{
    enum { N = 50 };
    double y[N], cost[N], u[N], scale[] = {1e-3, 1, 1e3};
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < N; i++) {
            y[i] = i < 5 ? 1 : -1;
            cost[i] = i < 5 ? 0.01 : 7;
            u[i] = scale[round] * (uniform() - 0.5);
        }
        double rho = best_rho(&logistic, N, y, cost, u);
        double here = loss_at(N, y, cost, u, rho), h = 1e-3;
        ok(here <= loss_at(N, y, cost, u, rho + h) &&
               here <= loss_at(N, y, cost, u, rho - h),
           "best rho at scale %g: %g", scale[round], rho);
    }
}

/* ---- the step along a line ---- */

static void test_line(void)
{
    int falls = 0, steps = 0, flat = 0, convex = 0;
    for (int round = 0; round < 2000; round++) {
        double c = 0.1 + 10 * uniform();
        struct smo_line line = {
            .loss = &logistic,
            .i = {.y = uniform() < 0.5 ? 1 : -1, .cost = c},
            .j = {.y = uniform() < 0.5 ? 1 : -1, .cost = c},
            .eta = 40 * uniform() - 20,
        };
        struct smo smo = {.loss = logistic};
        line.i.alpha = c * (0.001 + 0.998 * uniform());
        line.j.alpha = c * (0.001 + 0.998 * uniform());
        line.psi_i = conjugate_value(&logistic, line.i.alpha, c);
        line.psi_j = conjugate_value(&logistic, line.j.alpha, c);
        line.slope = -line_slope(&line, 0) - 5 * uniform() - 1e-3;
        double room =
            fmin(smo_room(&smo, &line.i, 1), smo_room(&smo, &line.j, -1));
        double t = line_step(&line, room, 1e-10);
        steps++;
        falls += t > 0 && t <= room && line_value(&line, t) < 0;
        if (line.eta >= 0) {
            convex++;
            flat += t == room ? line_slope(&line, t) <= 0
                              : fabs(line_slope(&line, t)) < 1e-9;
        }
    }
    ok(falls == steps, "every step lowers the dual: %d of %d", falls, steps);
    ok(flat == convex && convex > 500, "convex lines: exact minimisers");
}

/* ---- whole solutions ---- */

static void test_solution(struct sample *s, int model, double cost, double eps,
                          double gap)
{
    struct klr_params params;
    double beta[MOST];
    klr_params_init(&params);
    params.solver = KLR_SOLVER_SMO;
    params.model = model;
    params.cost.value[0] = cost;
    params.eps = eps;
    params.gamma = 0.5;
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    struct solution solution = solve(s, &params, beta);
    struct truth truth = evaluate(s, beta, solution.rho, &params, &kernel);
    const char *name = klr_model_names[model];
    double relative = (truth.primal - truth.dual) / truth.primal;
    ok(solution.status == KLR_CONVERGED && relative >= -1e-9 && relative < gap,
       "%s C = %g: gap %.2g", name, cost, relative);
    ok(fabs(truth.primal - solution.primal) < 1e-6 * truth.primal &&
           fabs(truth.dual - solution.dual) < 1e-6 * truth.primal,
       "%s C = %g: objectives as reported", name, cost);
    ok(truth.violation < 2 * eps + 1e-5 && fabs(truth.sum) < 1e-9 * cost,
       "%s C = %g: KKT conditions within %.2g", name, cost, truth.violation);
}

/* Shrinking and the size of the cache change no result but by rounding, the
 * cache not one bit. */
static void test_variants(struct sample *s)
{
    struct klr_params params;
    double beta[MOST], other[MOST], least[MOST];
    klr_params_init(&params);
    params.solver = KLR_SOLVER_SMO;
    params.model = KLR_MODEL_SVM;
    params.cost.value[0] = 10;
    params.eps = 1e-5;
    params.gamma = 0.5;
    double dual = solve(s, &params, beta).dual;
    params.cache_mb = 0.01; /* a few rows */
    solve(s, &params, least);
    ok(memcmp(beta, least, s->problem.n * sizeof *beta) == 0,
       "the same bits with a small cache");
    params.shrinking = 0;
    double without = solve(s, &params, other).dual;
    ok(fabs(dual - without) < 1e-6 * dual, "the same without shrinking: %g",
       dual - without);
}

/* Lin & Lin, section 6: a stationary point for any symmetric kernel. */
static void test_indefinite(struct sample *s)
{
    static const double coef0[] = {-2, 0.5, 2};
    struct klr_params params;
    double beta[MOST];
    klr_params_init(&params);
    params.solver = KLR_SOLVER_SMO;
    params.kernel = KLR_SIGMOID;
    params.gamma = 1;
    params.cost.value[0] = 10;
    for (int model = KLR_MODEL_KLR; model <= KLR_MODEL_SVM; model += 2)
        for (int r = 0; r < 3; r++) {
            params.model = model;
            params.coef0 = coef0[r];
            struct klr_kernel kernel = params_kernel(&params, FEATURES);
            struct solution solution = solve(s, &params, beta);
            struct truth truth =
                evaluate(s, beta, solution.rho, &params, &kernel);
            ok(solution.status == KLR_CONVERGED && truth.violation < 3e-3,
               "%s, sigmoid kernel with r = %g: stationary within %.2g",
               klr_model_names[model], coef0[r], truth.violation);
        }
}

static int stop_at_once(const struct klr_progress *progress, void *context)
{
    *(struct klr_progress *)context = *progress;
    return 1;
}

static void test_stops(struct sample *s)
{
    struct klr_params params;
    struct klr_progress seen = {0};
    double beta[MOST];
    klr_params_init(&params);
    params.solver = KLR_SOLVER_SMO;
    params.max_iter = 10;
    struct solution solution = solve(s, &params, beta);
    ok(solution.status == KLR_ITERATION_LIMIT && solution.iterations == 10 &&
           solution.primal >= solution.dual,
       "iteration limit");
    params.max_iter = 0;
    params.time_limit = 1e-9;
    solution = solve(s, &params, beta);
    ok(solution.status == KLR_TIME_LIMIT && isfinite(solution.rho),
       "time limit");
    params.time_limit = 0;
    params.progress = stop_at_once;
    params.context = &seen;
    solution = solve(s, &params, beta);
    ok(solution.status == KLR_INTERRUPTED && seen.problem == 1 &&
           seen.problems == 1,
       "interrupted by progress()");
}

int main(void)
{
    static struct sample sample;
    test_conjugates();
    test_best_rho();
    test_line();
    sample_make(&sample, MOST);
    test_solution(&sample, KLR_MODEL_SVM, 0.5, 1e-4, 1e-4);
    test_solution(&sample, KLR_MODEL_SVM, 50, 1e-4, 1e-3);
    test_solution(&sample, KLR_MODEL_KLR, 0.5, 1e-5, 1e-9);
    test_solution(&sample, KLR_MODEL_KLR, 50, 1e-5, 1e-9);
    test_variants(&sample);
    test_indefinite(&sample);
    test_stops(&sample);
    return done_testing();
}
