/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Half thresholding against a search for the minimum, and its solutions against
 * the conditions of a stationary point, written out from the definition.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/solve_inside.h"
#include "tests/stop.h"
#include "tests/tap.h"

static struct klr_params lhalf_params(double cost)
{
    struct klr_params params = sample_params(0.5, cost);
    params.model = KLR_MODEL_LHALF;
    return params;
}

/* ---- the operator ---- */

static long double proximal(long double b, double z, double eta)
{
    return (b - z) * (b - z) / (2 * eta) + sqrtl(fabsl(b));
}

/* The least value on a fine grid between 0 and z, where the minimum lies. */
static long double search(double z, double eta)
{
    enum { GRID = 20000 };
    long double least = proximal(0, z, eta);
    for (int i = 1; i <= GRID; i++)
        least = fminl(least, proximal((long double)z * i / GRID, z, eta));
    return least;
}

static void test_operator(void)
{
    static const double etas[] = {1e-6, 0.01, 1, 300};
    int zeros = 0;
    for (int e = 0; e < 4; e++) {
        double eta = etas[e], worst = 0;
        double threshold = cbrt(54.0) / 4 * pow(2 * eta, 2.0 / 3);
        for (int i = -40; i <= 40; i++) {
            double z = threshold * (i + 0.5) / 10;
            double b = half_threshold(z, eta);
            long double least = search(z, eta);
            zeros += b == 0;
            worst = larger_of(worst, (double)(proximal(b, z, eta) / least - 1));
        }
        ok(worst <= 1e-12, "eta = %g: no point is lower: %.2g", eta, worst);
    }
    ok(zeros == 4 * 20, "0 up to the threshold: %d", zeros);
}

/* ---- solutions ---- */

/* The objective by the definition; the largest violation of stationarity. */
static double judge(const struct sample *s, const struct klr_params *params,
                    const double *beta, double rho, double *violation)
{
    size_t n = s->problem.n;
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    double u[MOST], g[MOST] = {0}, kg[MOST], c = params->cost.value[0];
    double objective = 0, sum = 0, scale = 0;
    *violation = 0;
    sample_product(s, &kernel, beta, u);
    for (size_t i = 0; i < n; i++) {
        double margin = s->label[i] * (u[i] - rho);
        objective += c * log1p(exp(-margin)) + sqrt(fabs(beta[i]));
        g[i] = c * s->label[i] / (1 + exp(margin));
        sum += g[i];
        scale += fabs(g[i]);
    }
    sample_product(s, &kernel, g, kg);
    for (size_t i = 0; i < n; i++) {
        double root = sqrt(fabs(beta[i])), sign = beta[i] > 0 ? 1 : -1;
        if (beta[i] != 0)
            *violation =
                larger_of(*violation, fabs(1 - 2 * root * sign * kg[i]));
    }
    if (!params->no_bias)
        *violation = larger_of(*violation, fabs(sum) / scale);
    return objective;
}

static void test_solution(const struct sample *s, struct klr_params params)
{
    double beta[MOST], violation, c = params.cost.value[0];
    struct solution solution = solve_untiled(s, &params, beta);
    double objective = judge(s, &params, beta, solution.rho, &violation);
    size_t count = 0;
    for (size_t i = 0; i < s->problem.n; i++)
        count += beta[i] != 0;
    ok(solution.status == KLR_CONVERGED && violation <= 1.2e-3,
       "C = %g, kernel %d: %s, stationary up to %.2g", c, params.kernel,
       klr_status_names[solution.status], violation);
    ok(fabs(objective - solution.primal) <= 1e-9 * objective &&
           isnan(solution.dual),
       "C = %g, kernel %d: the objective as reported", c, params.kernel);
    ok(count > 0 && count < s->problem.n / 2,
       "C = %g, kernel %d: %zu of %zu coefficients", c, params.kernel, count,
       s->problem.n);
}

/* No solution where training is cut short is below a later one. */
static void test_fall(const struct sample *s)
{
    struct klr_params params = lhalf_params(30);
    double beta[MOST], before = INFINITY, violation;
    bool falls = true;
    for (long long steps = 1; steps <= 400; steps += 1 + steps / 2) {
        params.max_iter = steps;
        struct solution solution = solve_untiled(s, &params, beta);
        double now = judge(s, &params, beta, solution.rho, &violation);
        falls = falls && now <= before * (1 + 1e-6);
        before = now;
    }
    ok(falls, "the objective falls from step to step");
}

/* Nothing pays: the bias alone, at the odds of the classes. */
static void test_nothing(const struct sample *s)
{
    struct klr_params params = lhalf_params(1e-4);
    double beta[MOST], positive = 0, sum = 0;
    struct solution solution = solve_untiled(s, &params, beta);
    for (size_t i = 0; i < s->problem.n; i++) {
        positive += s->label[i] > 0;
        sum += fabs(beta[i]);
    }
    double odds = log(positive / ((double)s->problem.n - positive));
    ok(solution.status == KLR_CONVERGED && sum == 0 &&
           fabs(solution.rho + odds) < 1e-9,
       "at a small C no coefficient pays");
}

/* No coefficient is left on its way to 0. */
static void test_remains(void)
{
    struct klr_problem problem;
    struct klr_params params = lhalf_params(10);
    struct klr_model *model = NULL;
    struct klr_report report;
    struct klr_error err;
    double least = INFINITY;
    params.gamma = klr_reals_of(0.01);
    params.link = KLR_LINK_NONE;
    if (klr_problem_read(&problem, "heart_scale", 0, 1, &err) ||
        klr_train(&problem, &params, &model, &report, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t i = 0; i < model->n_sv; i++)
        least = fmin(least, fabs(model->coef[i]));
    ok(report.status == KLR_CONVERGED && least > 1e-9,
       "heart_scale: %s, coefficients from %g on",
       klr_status_names[report.status], least);
    klr_model_free(model);
    klr_problem_free(&problem);
}

static void test_stops(const struct sample *s)
{
    struct klr_params params = lhalf_params(10);
    struct klr_progress told = {0};
    double beta[MOST], again[MOST];
    solve_untiled(s, &params, beta);
    solve(s, &params, again);
    ok(memcmp(beta, again, s->problem.n * sizeof *beta) == 0,
       "the same bits with tiles kept");
    params.max_iter = 7;
    struct solution solution = solve_untiled(s, &params, beta);
    ok(solution.status == KLR_ITERATION_LIMIT && solution.iterations == 7,
       "an iteration is a step of thresholding");
    params.max_iter = 0;
    params.progress = stop_at_once;
    params.context = &told;
    solution = solve_inside(lhalf_solve, s, &params, 0, beta);
    ok(solution.status == KLR_INTERRUPTED &&
           fabs(told.objective - solution.primal) <= 1e-9 * solution.primal,
       "interrupted, having told the objective");
}

/* The values of C before one do not change its model by a bit. */
static void test_path(const struct sample *s)
{
    struct klr_params params = lhalf_params(30);
    struct klr_model *alone, *path[2];
    struct klr_report one, two[2];
    struct klr_error err;
    if (klr_train(&s->problem, &params, &alone, &one, &err))
        printf("Bail out! %s\n", err.message);
    params.cost = (struct klr_reals){.count = 2, .value = {1e-3, 30}};
    if (klr_train(&s->problem, &params, path, two, &err))
        printf("Bail out! %s\n", err.message);
    ok(path[0]->n_sv == 0 && alone->n_sv > 0, "%zu coefficients",
       path[1]->n_sv);
    ok(one.iterations == two[1].iterations && one.primal == two[1].primal &&
           *alone->rho == *path[1]->rho && alone->n_sv == path[1]->n_sv &&
           !memcmp(alone->coef, path[1]->coef,
                   alone->n_sv * sizeof *alone->coef),
       "the same after a smaller C");
    klr_model_free(alone);
    klr_model_free(path[0]);
    klr_model_free(path[1]);
}

int main(void)
{
    static struct sample sample;
    struct klr_params params = lhalf_params(1);
    (void)evaluate; /* of the other regularizer */
    sample_make(&sample, MOST);
    test_operator();
    test_solution(&sample, lhalf_params(1));
    test_solution(&sample, lhalf_params(30));
    test_solution(&sample, lhalf_params(1000));
    params.kernel = KLR_SIGMOID;
    params.coef0 = -0.5;
    test_solution(&sample, params);
    params.kernel = KLR_RBF;
    params.no_bias = 1;
    test_solution(&sample, params);
    test_fall(&sample);
    test_nothing(&sample);
    test_remains();
    test_stops(&sample);
    test_path(&sample);
    return done_testing();
}
