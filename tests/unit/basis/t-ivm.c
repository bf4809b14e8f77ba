/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Import vector machines, against rounds of the definition: for every candidate
 * the Newton step of the coefficients beta and rho themselves, by Gaussian
 * elimination, without a basis.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/eliminate.h"
#include "tests/solve_inside.h"
#include "tests/stop.h"
#include "tests/tap.h"

enum { N = 40, WIDE = N + 1 };

static struct klr_params ivm_params(double cost)
{
    struct klr_params params = sample_params(0.5, cost);
    params.model = KLR_MODEL_IVM;
    return params;
}

/* ---- rounds by the definition ---- */

/* Coefficients of points[0..m-1], then -rho. */
struct ivm_fit {
    double x[WIDE], objective;
};

struct brute {
    const double *y, *kernel; /* (N, N) */
    double cost;
    size_t points[N], m;
};

static double brute_value(const struct brute *b, size_t i, const double *x)
{
    double f = x[b->m];
    for (size_t k = 0; k < b->m; k++)
        f += x[k] * b->kernel[i * N + b->points[k]];
    return f;
}

static double brute_objective(const struct brute *b, const double *x)
{
    double sum = 0;
    for (size_t k = 0; k < b->m; k++)
        for (size_t l = 0; l < b->m; l++)
            sum +=
                0.5 * x[k] * x[l] * b->kernel[b->points[k] * N + b->points[l]];
    for (size_t i = 0; i < N; i++)
        sum += b->cost * log1p(exp(-b->y[i] * brute_value(b, i, x)));
    return sum;
}

/* One Newton step of all coefficients; halved while it does not lower the
 * objective, if `safe`. */
static void brute_step(const struct brute *b, struct ivm_fit *fit, bool safe)
{
    static long double hessian[WIDE][WIDE];
    long double slope[WIDE] = {0};
    size_t n = b->m + 1;
    memset(hessian, 0, sizeof hessian);
    for (size_t k = 0; k < b->m; k++)
        for (size_t l = 0; l < b->m; l++) {
            double entry = b->kernel[b->points[k] * N + b->points[l]];
            hessian[k][l] = entry;
            slope[k] -= (long double)(entry * fit->x[l]);
        }
    for (size_t i = 0; i < N; i++) {
        double p = 1 / (1 + exp(b->y[i] * brute_value(b, i, fit->x)));
        double row[WIDE];
        for (size_t k = 0; k < n; k++)
            row[k] = k < b->m ? b->kernel[i * N + b->points[k]] : 1;
        for (size_t k = 0; k < n; k++) {
            slope[k] += (long double)(b->cost * b->y[i] * p * row[k]);
            for (size_t l = 0; l < n; l++)
                hessian[k][l] +=
                    (long double)(b->cost * p * (1 - p) * row[k] * row[l]);
        }
    }
    eliminate(n, WIDE, *hessian, 1, slope);
    for (double t = 1; t > 1e-6; t /= 2) {
        struct ivm_fit next = *fit;
        for (size_t k = 0; k < n; k++)
            next.x[k] += t * (double)slope[k];
        next.objective = brute_objective(b, next.x);
        if (!safe || next.objective < fit->objective) {
            *fit = next;
            return;
        }
    }
}

/* The rounds that end with m points; objective (m + 1) after each. */
static void brute_rounds(struct brute *b, size_t m, double *objective)
{
    struct ivm_fit fit = {.objective = brute_objective(b, (double[WIDE]){0})};
    for (b->m = 0;; b->m++) {
        for (int step = 0; step < 30; step++)
            brute_step(b, &fit, true);
        objective[b->m] = fit.objective;
        if (b->m == m)
            return;
        size_t best = N;
        double least = INFINITY;
        fit.x[b->m + 1] = fit.x[b->m];
        fit.x[b->m] = 0;
        for (size_t j = 0; j < N; j++) {
            struct brute more = *b;
            struct ivm_fit next = fit;
            bool in = false;
            for (size_t k = 0; k < b->m; k++)
                in = in || b->points[k] == j;
            more.points[more.m++] = j;
            if (in)
                continue;
            brute_step(&more, &next, false);
            if (next.objective < least) {
                least = next.objective;
                best = j;
            }
        }
        b->points[b->m] = best;
    }
}

/* ---- tests ---- */

static void test_rounds(const struct sample *s, double cost)
{
    enum { POINTS = 8 };
    static double kernel[N * N];
    struct klr_params params = ivm_params(cost);
    struct klr_kernel rbf = params_kernel(&params, FEATURES);
    struct brute b = {.y = s->label, .kernel = kernel, .cost = cost};
    double beta[MOST], objective[POINTS + 1], before = INFINITY;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            kernel[i * N + j] = kernel_of(&rbf, s->value + i * FEATURES,
                                          s->value + j * FEATURES);
    brute_rounds(&b, POINTS, objective);
    params.candidates = N;
    params.eps = 1e-9;
    bool same = true, close = true, falls = true;
    for (size_t m = 1; m <= POINTS; m++) {
        params.max_basis = (long long)m;
        struct solution solution = solve(s, &params, beta);
        size_t count = 0;
        for (size_t i = 0; i < N; i++)
            count += beta[i] != 0;
        same = same && count == m && solution.status == KLR_CONVERGED;
        for (size_t k = 0; k < m; k++)
            same = same && beta[b.points[k]] != 0;
        close = close &&
                fabs(solution.primal - objective[m]) <= 1e-8 * objective[m];
        falls = falls && solution.primal < before;
        before = solution.primal;
    }
    ok(same, "C = %g: the points of %d rounds", cost, POINTS);
    ok(close, "C = %g: their objectives", cost);
    ok(falls, "C = %g: which fall", cost);
}

/* In the kernels of given points the solution is that of Newton's method on
 * their coefficients. */
static void test_given(const struct sample *s, double cost)
{
    static double kernel[N * N];
    static const size_t points[] = {31, 2, 3, 17, 30, 2, 39, 8};
    struct klr_params params = ivm_params(cost);
    struct klr_kernel rbf = params_kernel(&params, FEATURES);
    struct brute b = {.y = s->label, .kernel = kernel, .cost = cost};
    struct ivm_fit fit = {.objective = 0};
    double beta[MOST], most = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            kernel[i * N + j] = kernel_of(&rbf, s->value + i * FEATURES,
                                          s->value + j * FEATURES);
    params.points = points;
    params.n_points = sizeof points / sizeof *points;
    for (size_t k = 0; k < params.n_points; k++)
        if (k != 5) /* 2 again */
            b.points[b.m++] = points[k];
    fit.objective = brute_objective(&b, fit.x);
    for (int step = 0; step < 100; step++)
        brute_step(&b, &fit, true);
    struct solution solution = solve(s, &params, beta);
    size_t count = 0;
    for (size_t i = 0; i < N; i++)
        count += beta[i] != 0;
    for (size_t k = 0; k < b.m; k++)
        most = larger_of(most, fabs(beta[b.points[k]] - fit.x[k]));
    ok(count == b.m && solution.status == KLR_CONVERGED &&
           fabs(solution.primal / fit.objective - 1) < 1e-9,
       "C = %g: %zu points that are given, objective %.9g", cost, count,
       solution.primal);
    ok(most < 1e-3 * cost && fabs(solution.rho + fit.x[b.m]) < 1e-3,
       "C = %g: their coefficients, up to %.1g", cost, most);
}

static void test_given_refused(const struct sample *s)
{
    static const size_t points[] = {0, N};
    struct klr_params params = ivm_params(1);
    struct klr_model *model;
    struct klr_report report;
    struct klr_error err = {0};
    params.points = points;
    params.n_points = 2;
    int code = klr_train(&s->problem, &params, &model, &report, &err);
    ok(code == KLR_E_USAGE && !model, "%s", err.message);
}

/* With all points in, it is kernel logistic regression. */
static void test_optimum(const struct sample *s, double cost, bool no_bias)
{
    struct klr_params params = ivm_params(cost);
    double beta[MOST];
    params.eps = 1e-14;
    params.window = 20;
    params.no_bias = no_bias;
    struct solution sparse = solve(s, &params, beta);
    struct klr_kernel rbf = params_kernel(&params, FEATURES);
    struct truth truth = evaluate(s, beta, sparse.rho, &params, &rbf);
    params.model = KLR_MODEL_KLR;
    params.eps = 1e-9;
    params.window = 0;
    struct solution full = solve(s, &params, beta);
    ok(fabs(sparse.primal - full.primal) <= 1e-8 * full.primal &&
           fabs(truth.primal - sparse.primal) <= 1e-9 * full.primal,
       "C = %g%s: %lld points reach the optimum of klr, up to %.1g", cost,
       no_bias ? " without bias" : "", sparse.iterations,
       sparse.primal / full.primal - 1);
    ok(fabs(sparse.primal - sparse.dual) <= 1e-7 * full.primal,
       "C = %g: and so does the dual", cost);
}

/* Objective and gap are those of the coefficients; the gap is no smaller than
 * what sparsity costs. */
static void test_report(const struct sample *s, double cost)
{
    struct klr_params params = ivm_params(cost);
    struct klr_kernel rbf = params_kernel(&params, FEATURES);
    double beta[MOST], full[MOST];
    struct solution solution = solve(s, &params, beta);
    struct truth truth = evaluate(s, beta, solution.rho, &params, &rbf);
    params.model = KLR_MODEL_KLR;
    params.eps = 1e-9;
    double least = solve(s, &params, full).primal;
    ok(fabs(truth.primal - solution.primal) <= 1e-9 * truth.primal,
       "C = %g: the objective of %lld points", cost, solution.iterations);
    ok(fabs(truth.dual - solution.dual) <= 1e-8 * truth.primal,
       "C = %g: the dual of theirs", cost);
    ok(solution.dual <= least && least <= solution.primal,
       "C = %g: the optimum of klr lies between them", cost);
}

static void test_stops(const struct sample *s)
{
    struct klr_params params = ivm_params(10);
    double beta[MOST], again[MOST];
    size_t bytes = sizeof *beta * s->problem.n;
    params.max_iter = 3;
    struct solution solution = solve(s, &params, beta);
    ok(solution.status == KLR_ITERATION_LIMIT && solution.iterations == 3,
       "an iteration is a point");
    params.max_iter = 0;
    struct solution first = solve(s, &params, beta);
    params.seed = 2;
    solve(s, &params, again);
    ok(memcmp(beta, again, bytes) != 0, "another seed, other points");
    params.window = 5;
    ok(solve(s, &params, again).primal < first.primal,
       "a window of five rounds goes on longer");
}

/* The solver alone, with what klr_train would have filled in. */
static void test_alone(const struct sample *s)
{
    struct klr_params params = ivm_params(10);
    struct klr_progress told = {0};
    double beta[MOST], again[MOST];
    params.eps = 1e-3;
    params.candidates = 59;
    solve_inside(ivm_solve, s, &params, 0, beta);
    solve_inside(ivm_solve, s, &params, (size_t)1 << 30, again);
    ok(memcmp(beta, again, sizeof *beta * s->problem.n) == 0,
       "the same bits with tiles kept");
    params.progress = stop_at_once;
    params.context = &told;
    struct solution solution = solve_inside(ivm_solve, s, &params, 0, beta);
    ok(solution.status == KLR_INTERRUPTED && isfinite(solution.primal),
       "interrupted, with a model");
    ok(fabs(told.objective - solution.primal) <= 1e-9 * solution.primal,
       "which was told of: %g", told.objective);
}

/* Twice the same examples: their span is full before all are in. */
static void test_copies(void)
{
    static struct sample s;
    sample_make(&s, 60);
    memcpy(s.value + 30 * FEATURES, s.value, 30 * FEATURES * sizeof *s.value);
    memcpy(s.label + 30, s.label, 30 * sizeof *s.label);
    struct klr_params params = ivm_params(10);
    double beta[MOST];
    params.eps = 1e-14;
    params.window = 50;
    struct solution solution = solve(&s, &params, beta);
    ok(solution.status == KLR_CONVERGED && solution.iterations == 30 &&
           solution.primal - solution.dual < 1e-9 * solution.primal,
       "copies add nothing: %lld of 60 points", solution.iterations);
}

/* Too little memory for all import points is as good as a limit of as many as
 * it holds. */
static void test_memory(const struct sample *s)
{
    struct klr_params params = ivm_params(100);
    struct klr_model *model, *other;
    struct klr_report report, limited;
    struct klr_error err = {0};
    params.cache_mb = 0.2;
    if (klr_train(&s->problem, &params, &model, &report, &err))
        printf("Bail out! %s\n", err.message);
    params.cache_mb = 0;
    params.max_basis = report.iterations;
    if (klr_train(&s->problem, &params, &other, &limited, &err))
        printf("Bail out! %s\n", err.message);
    ok(report.status == KLR_MEMORY_LIMIT && limited.status == KLR_CONVERGED,
       "a basis of %lld ends where memory does", report.iterations);
    ok(report.primal == limited.primal && report.n_sv == limited.n_sv,
       "its model is that of --max-basis");
    klr_model_free(model);
    klr_model_free(other);
    params.cache_mb = 0.05;
    int code = klr_train(&s->problem, &params, &model, &report, &err);
    ok(code == KLR_E_LIMIT && !model, "too little memory: %s", err.message);
}

int main(void)
{
    static struct sample small, sample;
    sample_make(&small, N);
    sample_make(&sample, MOST);
    test_rounds(&small, 0.1);
    test_rounds(&small, 1);
    test_rounds(&small, 100);
    test_given(&small, 1);
    test_given(&small, 100);
    test_given_refused(&small);
    test_optimum(&small, 1, false);
    test_optimum(&small, 1000, false);
    test_optimum(&small, 10, true);
    test_report(&sample, 0.1);
    test_report(&sample, 10);
    test_stops(&sample);
    test_alone(&sample);
    test_copies();
    test_memory(&sample);
    return done_testing();
}
