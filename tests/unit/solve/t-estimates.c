/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Estimates of memory, by which tiles of K get what solvers leave: they are
 * what is allocated, but for a few numbers that do not depend on n.
 */
#include "base/memory.h"

#include <string.h>

/* Bytes that were allocated, whether or not they have been freed. */
static size_t allocated_bytes;

static void *counted_take(struct klr_arena *arena, size_t count, size_t size,
                          struct klr_error *err)
{
    allocated_bytes += count * size;
    return klr_take(arena, count, size, err);
}

static void *counted_take_zero(struct klr_arena *arena, size_t count,
                               size_t size, struct klr_error *err)
{
    allocated_bytes += count * size;
    return klr_take_zero(arena, count, size, err);
}

static int counted_vectors(struct klr_arena *arena, size_t n,
                           double **const *vector, size_t count,
                           struct klr_error *err)
{
    allocated_bytes += n * count * sizeof(double);
    return klr_take_vectors(arena, n, vector, count, err);
}

static void *counted_alloc(size_t count, size_t size, struct klr_error *err)
{
    allocated_bytes += count * size;
    return klr_alloc(count, size, err);
}

static void *counted_zalloc(size_t count, size_t size, struct klr_error *err)
{
    allocated_bytes += count * size;
    return klr_zalloc(count, size, err);
}

#define klr_take         counted_take
#define klr_take_zero    counted_take_zero
#define klr_take_vectors counted_vectors
#define klr_alloc        counted_alloc
#define klr_zalloc       counted_zalloc
#define SOLVER_FLOOR     6
#include "solver.c"

#include "tests/solve_inside.h"
#include "tests/tap.h"

static struct sample s;

static bool is_near(double found, double estimate, double few)
{
    return found >= estimate && found - estimate <= few;
}

/* ---- solvers ---- */

/* The operator itself counts for nobody. */
static double operator_taken(const struct klr_params *params)
{
    struct klr_operator op = {0};
    struct klr_error err;
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    struct klr_features x = problem_features(&s.problem);
    allocated_bytes = 0;
    if (operator_create(&op, &kernel, &x, NULL, NULL, 0, &err))
        printf("Bail out! %s\n", err.message);
    operator_free(&op);
    return (double)allocated_bytes;
}

static double solver_taken(solve_fn *solver, int regularizer, double eps,
                           bool no_bias)
{
    double beta[MOST];
    struct klr_params params = sample_params(0.5, 1);
    params.regularizer = regularizer;
    params.eps = eps;
    params.no_bias = no_bias;
    double op = operator_taken(&params);
    allocated_bytes = 0;
    solve_inside(solver, &s, &params, 0, beta);
    return (double)allocated_bytes - op;
}

/* A newton has room for subsets, which few examples have no use for. */
static void test_solvers(size_t n)
{
    const int kernel = KLR_REGULARIZER_KERNEL, coef = KLR_REGULARIZER_COEF;
    double point = point_bytes(n);
    double vectors = (double)n * NEWTON_VECTORS * sizeof(double);
    sample_make(&s, n);
    double found = solver_taken(newton_solve, kernel, 1e-6, false);
    double estimate = newton_bytes(n) + point - vectors - subset_bytes(n);
    ok(is_near(found, estimate, 64), "newton, %zu: %.0f, %.0f by estimate", n,
       found, estimate);
    estimate = trirls_bytes(n) + point;
    found = solver_taken(trirls_solve, kernel, 2.5, true);
    ok(found == estimate, "trirls, %zu: %.0f, %.0f", n, found, estimate);
    estimate = coef_bytes(n) + point;
    found = solver_taken(coef_newton_solve, coef, 1e-6, false);
    ok(found == estimate, "coef, %zu: %.0f, %.0f", n, found, estimate);
    found = solver_taken(coef_cg_solve, coef, 1e-6, false);
    ok(found == estimate, "cg, %zu: %.0f, %.0f", n, found, estimate);
}

/* The cache of rows aside, which grows as rows come. */
static void test_pairs(size_t n)
{
    struct klr_params params = sample_params(0.5, 100);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    struct klr_features x = problem_features(&s.problem);
    struct klr_operator op = {0};
    struct klr_range all;
    struct clock clock;
    struct klr_error err;
    double weight[MOST], cost[MOST], beta[MOST], u[MOST] = {0};
    params.model = KLR_MODEL_SKLR;
    struct binary_problem problem =
        sample_binary(&s, &params, &op, &all, weight, &clock);
    for (size_t i = 0; i < n; i++) {
        cost[i] = 100;
        beta[i] = s.label[i] > 0 ? 20 : -10;
    }
    struct smo_point point = {.loss = loss_of(&params, 100),
                              .cost = cost,
                              .beta = beta,
                              .u = u,
                              .gap = 1e-3,
                              .most = 250 * MOST,
                              .cache = 0x1p20};
    if (operator_create(&op, &kernel, &x, NULL, NULL, 0, &err))
        printf("Bail out! %s\n", err.message);
    allocated_bytes = 0;
    int code = smo_improve(&problem, &point, &err);
    double estimate = smo_improve_bytes(n);
    ok(!code && is_near((double)allocated_bytes, estimate, 64),
       "pairs, %zu: %zu, %.0f", n, allocated_bytes, estimate);
    operator_free(&op);
}

/* ---- parts of them ---- */

static void test_parts(size_t n)
{
    struct klr_params params = sample_params(0.5, 1);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    struct klr_features x = problem_features(&s.problem);
    struct klr_range all = {0, n};
    struct klr_operator op = {0};
    struct klr_arena arena = {0};
    struct precond precond;
    struct cholesky cholesky;
    struct columns columns;
    struct klr_error err;
    if (operator_create(&op, &kernel, &x, NULL, NULL, 0, &err))
        printf("Bail out! %s\n", err.message);
    struct submatrix k = {&op, set_of(&all, 1)};
    allocated_bytes = 0;
    int code = precond_create(&precond, k, 50, false, &arena, &err);
    ok(!code && (double)allocated_bytes == precond_bytes(n, 50),
       "a preconditioner, %zu: %zu, %.0f", n, allocated_bytes,
       precond_bytes(n, 50));
    allocated_bytes = 0;
    code = cholesky_create(&cholesky, k, &arena, &err);
    ok(!code && is_near((double)allocated_bytes, cholesky_bytes(n), 64),
       "a Cholesky factor, %zu: %zu, %.0f", n, allocated_bytes,
       cholesky_bytes(n));
    allocated_bytes = 0;
    code = columns_alloc(&columns, k, 100000, &arena, &err);
    ok(!code && (double)allocated_bytes == columns_bytes(n, 100000),
       "columns, %zu: %zu, %.0f", n, allocated_bytes, columns_bytes(n, 100000));
    klr_arena_free(&arena);
    operator_free(&op);
}

int main(void)
{
    (void)evaluate;
    for (size_t n = 60; n <= MOST; n += 90) {
        test_solvers(n);
        test_pairs(n);
        test_parts(n);
    }
    return done_testing();
}
