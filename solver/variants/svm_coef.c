/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Support vector machines with the regularizer beta'beta, convex for any
 * symmetric kernel: Lin & Lin (2003), section 7,
 *
 *   minimise  P(beta, rho) = 1/2 beta'beta + sum_i C_i max(0, 1 - y_i f_i),
 *             f = K beta - rho
 *
 * Its features are the rows of K, so that the dual is that of an svm with the
 * kernel matrix K K, which is positive semidefinite: SMO solves it for g, g_i =
 * y_i alpha_i, and beta = K g. Hardly any beta is 0. K K is formed once for all
 * C, by blocks of rows, and kept: 8 n^2 bytes, and 12 n^2 more for a while.
 */
#include "solver/smo/smo.h"
#include "solver/variants/variants.h"

enum { SQUARE_ROWS = 64 }; /* formed together */

/* K K as rows of a precomputed kernel. */
struct square {
    const struct binary_problem *problem;
    size_t *start;         /* (n + 1) */
    int *index;            /* (n, n + 1) */
    double *value;         /* (n, n + 1) */
    double *row, *product; /* (SQUARE_ROWS, n), (n, SQUARE_ROWS) */
    double *turned;        /* (n, SQUARE_ROWS) */
    struct klr_operator op;
    enum klr_status status;
    struct klr_arena arena; /* all that is allocated */
};

static double svm_coef_bytes(size_t n)
{
    double entries = (double)n * (double)(n + 1);
    return entries * (2 * sizeof(double) + sizeof(int)) +
           3.0 * SQUARE_ROWS * sizeof(double) * (double)n;
}

/* Rows from `first` on, `count` of them: (K K)_q = K K_q, as K is symmetric. */
static void square_rows(struct square *s, size_t first, size_t count)
{
    const struct binary_problem *b = s->problem;
    size_t n = b->n, position[SQUARE_ROWS];
    for (size_t q = 0; q < count; q++)
        position[q] = set_position(b->set, first + q);
    operator_rows(b->op, position, count, b->set, KLR_DOUBLE, s->row, n);
    for (size_t i = 0; i < n; i++)
        for (size_t q = 0; q < count; q++)
            s->turned[i * count + q] = s->row[q * n + i];
    operator_apply(b->op, b->set, b->set, s->turned, count, KLR_DOUBLE,
                   s->product);
    for (size_t q = 0; q < count; q++) {
        size_t at = (first + q) * (n + 1);
        s->start[first + q] = at;
        s->index[at] = 0;
        s->value[at] = (double)(first + q + 1);
        for (size_t i = 0; i < n; i++) {
            s->index[at + i + 1] = (int)i + 1;
            s->value[at + i + 1] = s->product[i * count + q];
        }
    }
}

static int square_alloc(struct square *s, struct klr_error *err)
{
    struct klr_arena *arena = &s->arena;
    size_t n = s->problem->n;
    if (!KLR_TAKE(arena, s->start, n + 1, 1, err) ||
        !KLR_TAKE(arena, s->index, n, n + 1, err) ||
        !KLR_TAKE(arena, s->value, n, n + 1, err) ||
        !KLR_TAKE(arena, s->row, n, SQUARE_ROWS, err) ||
        !KLR_TAKE(arena, s->turned, n, SQUARE_ROWS, err) ||
        !KLR_TAKE(arena, s->product, n, SQUARE_ROWS, err))
        return KLR_E_MEMORY;
    return 0;
}

/* s->op, unless s->status tells why not; operator_free in any case. */
static int square_create(struct square *s, struct klr_error *err)
{
    const struct klr_kernel matrix = {.type = KLR_PRECOMPUTED};
    const struct binary_problem *b = s->problem;
    struct klr_progress progress = {.violation = INFINITY};
    size_t n = b->n, now;
    int code = square_alloc(s, err);
    for (size_t i = 0; i < n && !code && !s->status; i += now) {
        now = n - i < SQUARE_ROWS ? n - i : SQUARE_ROWS;
        square_rows(s, i, now);
        s->status = clock_check(b->clock, b->params, &progress, NULL, NULL);
    }
    if (!code && !s->status) {
        s->start[n] = n * (n + 1);
        struct klr_features x = {n, (int)n, s->start, s->index, s->value, NULL};
        code = operator_create(&s->op, &matrix, &x, NULL, b->op->pool, 0, err);
    }
    klr_arena_free(&s->arena);
    return code;
}

/* The solution where K K was not formed in time: beta = 0. */
static void svm_coef_stop(const struct binary_problem *b, double c,
                          enum klr_status status, struct solution *solution)
{
    double *beta = solution->beta;
    *solution =
        (struct solution){.beta = beta, .dual = (double)NAN, .status = status};
    for (size_t i = 0; i < b->n; i++) {
        beta[i] = 0;
        solution->primal += c * b->weight[i];
    }
}

/* beta = K g of the solution g of the dual. */
static int svm_coef_finish(const struct binary_problem *b, double c,
                           struct solution *solution, struct klr_error *err)
{
    double *beta = klr_alloc(b->n, sizeof *beta, err);
    double *g = klr_alloc(b->n, sizeof *g, err);
    int code = beta && g ? 0 : KLR_E_MEMORY;
    if (!code) {
        memcpy(g, solution->beta, b->n * sizeof *g);
        code = support_product(b, g, KLR_DOUBLE, beta, err);
    }
    if (!code && clock_stopped(b->clock))
        svm_coef_stop(b, c, b->clock->status, solution);
    else if (!code)
        code = point_finish(b,
                            &(struct point){
                                .c = c,
                                .status = solution->status,
                                .doubt = solution->doubt,
                                .iterations = solution->iterations,
                                .fall = solution->fall,
                                .beta = beta,
                                .rho = solution->rho,
                                .g = g,
                                .kg = beta,
                                .precision = KLR_DOUBLE,
                                .dual = DUAL_GRADIENT,
                                .target = b->params->gap,
                                .bound = smo_bound(b, c),
                            },
                            solution, err);
    klr_free(beta);
    klr_free(g);
    return code;
}

static int svm_coef_solve(const struct binary_problem *problem,
                          struct solution *solution, struct klr_error *err)
{
    const struct klr_reals *cost = &problem->params->cost;
    struct square square = {.problem = problem};
    struct klr_range all = {0, problem->n};
    struct klr_params params = *problem->params;
    struct binary_problem dual = *problem;
    int code = square_create(&square, err);
    /* rows are cached in what forming K K has left */
    params.regularizer = KLR_REGULARIZER_KERNEL;
    params.cache_mb = svm_coef_bytes(problem->n) / 1048576 -
                      pow((double)problem->n, 2) * sizeof(double) / 1048576;
    dual.params = &params;
    dual.op = &square.op;
    dual.set = set_of(&all, 1);
    if (!code && !square.status)
        code = smo_solve(&dual, solution, err);
    problem->op->evaluations += square.op.evaluations;
    operator_free(&square.op);
    for (size_t t = 0; t < cost->count && !code; t++) {
        if (square.status)
            svm_coef_stop(problem, cost->value[t], square.status, &solution[t]);
        else
            code = svm_coef_finish(problem, cost->value[t], &solution[t], err);
    }
    return code;
}
