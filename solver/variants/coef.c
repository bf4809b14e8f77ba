/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel logistic regression and support vector machines with the regularizer
 * beta'beta, convex for any symmetric kernel: Lin & Lin (2003), (33) and
 * section 7.
 *
 *   minimise  P(beta, rho) = 1/2 beta'beta + sum_i loss_i(y_i (u_i - rho)),
 *             u = K beta
 *
 * This is a linear model whose features are the rows of K. Let g_i = y_i
 * alpha_i, alpha_i = C_i sigma(-y_i (u_i - rho)). Where rho is optimal sum g =
 * 0, so that |g| is feasible for the dual
 *
 *   maximise  D(alpha) = -1/2 |K g|^2 - sum_i psi_i(alpha_i)
 *
 * and, since loss and conjugate meet in alpha_i, P - D = 1/2 |beta - K g|^2:
 * half the square of the gradient of P, r = beta - K g, is a rigorous gap. It
 * is a sum of squares and loses no digits. An svm is the limit of such
 * problems: see coef_point.c.
 *
 * KLR-NT: a truncated Newton method, the Hessian being I + K W K with W_i =
 * alpha_i (1 - alpha_i / C_i), or with rho eliminated I + K (W - w w' / sum W)
 * K. KLR-CG: nonlinear conjugate gradients. Both take the preconditioner of
 * coef_deflation.c, and search P along d for the root of its slope: K d is
 * known and rho cheap, so that takes no product.
 *
 * u and K g are carried along in products of the changes of beta and g. When
 * the gap has been reached, and before every answer, they are formed anew from
 * double entries; what is left after that is a new problem for smaller changes,
 * so that products of floats do to most gaps.
 *
 * C is reached along a path, warm started, as in newton.c.
 */
#include "solver/variants/coef.h"

enum {
    COEF_VECTORS = 15,
    COEF_ROOM = 480,  /* directions of the preconditioner */
    COEF_KEPT = 2,    /* points: the best one, and the misled one */
    COEF_FACTOR = 10, /* from C to C of the path */
    COEF_LOST = 2     /* C in a row that are lost: the next is the last */
};

/* ---- the path ---- */

/* The first C of the path to `cost`: so small that K hardly bends the solution,
 * C_0 max w_i v <= 1, v the variance of the features, which are rows of K: the
 * means of K_i'K_i less that of K_i'K_j, over a few of them. */
static double coef_first_cost(struct coef *c, double cost)
{
    enum { ROWS = 16 };
    const struct binary_problem *b = c->problem;
    size_t n = c->n, rows = n < ROWS ? n : ROWS;
    double most = 0, spread = 0, *row = c->x, *mean = c->kx;
    memset(mean, 0, n * sizeof *mean);
    for (size_t q = 0; q < rows; q++) {
        if (!operator_row(b->op, b->set, q * n / rows, row))
            return cost;
        spread += dot(n, row, row) / (double)rows;
        for (size_t i = 0; i < n; i++)
            mean[i] += row[i] / (double)rows;
    }
    c->square = spread;
    spread -= dot(n, mean, mean);
    for (size_t i = 0; i < n; i++)
        most = fmax(most, b->weight[i]);
    while (cost * most * spread > 1 && cost > 1e-300)
        cost /= COEF_FACTOR;
    return cost;
}

/* How far float entries put decision values off, about: each errs by 2^-24 of
 * itself, independently of the others. Where K is huge they may fit the labels
 * by these errors alone. */
static double coef_blur(const struct coef *c)
{
    double size = c->square / (double)c->n; /* of an entry, squared */
    return ldexp(sqrt(size * dot(c->n, c->beta, c->beta)), -24);
}

static void coef_set_cost(struct coef *c, double cost)
{
    const double most = 0.01;
    c->value = cost;
    c->bound = (double)NAN;
    c->blurred = c->blurred || coef_blur(c) > most;
    c->precision = c->blurred ? KLR_DOUBLE : KLR_FLOAT;
    c->products = 0;
    c->best.at = (struct coef_at){.objective = 1, .gap = INFINITY};
    coef_set_loss(c);
}

/* True if steps have come to an end with the preconditioner, which rounding can
 * spoil where K is huge: without it they may lead on. */
static bool coef_is_misled(const struct coef *c, enum klr_status status)
{
    return status == KLR_PRECISION_LIMIT && c->deflation.room > 0 &&
           !clock_stopped(c->problem->clock);
}

/* From `cost` through larger ones to C = `to`; a stop on the way leaves what
 * was reached, as a point of the problem at that C. Where steps end with all of
 * the gap left, K has lost its digits, and larger C ask for more of them. */
static enum klr_status coef_approach(struct coef *c, double cost, double to)
{
    enum klr_status status = coef_clock(c);
    int lost = 0;
    c->progress.target = fmax(c->eps, 0.1);
    c->narrows = false;
    coef_set_width(c, 1);
    for (; cost < 0.99 * to && status == KLR_CONVERGED && lost < COEF_LOST;
         cost *= COEF_FACTOR) {
        coef_set_cost(c, cost);
        status = coef_descend(c);
        if (coef_is_misled(c, status)) {
            c->at.exact = false; /* at this C */
            return status;
        }
        bool all = status == KLR_PRECISION_LIMIT && coef_gap(c) >= 1;
        lost = all ? lost + 1 : 0;
        status = coef_clock(c);
    }
    c->narrows = coef_has_hinge(c);
    coef_set_cost(c, to);
    c->progress.target = c->eps;
    if (status == KLR_CONVERGED)
        status = coef_descend(c);
    else
        c->at.exact = false;
    if (!c->at.exact && !coef_anchor(c)) {
        coef_unseen(c);
        return c->problem->clock->status;
    }
    return status;
}

/* In units of the model; alpha must not be outside of its box by rounding. */
static void coef_restore_units(struct coef *c)
{
    const double *y = c->problem->y;
    coef_set_width(c, 1);
    for (size_t i = 0; i < c->n; i++) {
        double most = c->value * c->problem->weight[i];
        c->g[i] = y[i] * fmin(y[i] * c->g[i], most);
    }
}

static int coef_finish(struct coef *c, enum klr_status status,
                       struct solution *solution, struct klr_error *err)
{
    double least = coef_dual(c) * c->at.width * c->at.width;
    double fall = c->fall / c->at.primal;
    coef_restore_units(c);
    struct point point = {
        .c = c->value,
        .status = status,
        .iterations = c->progress.iterations,
        .fall = fall,
        .beta = c->beta,
        .rho = c->at.rho,
        .u = c->u,
        .g = c->g,
        .kg = c->kg,
        .precision = KLR_DOUBLE,
        .dual = c->at.exact ? DUAL_GRADIENT : DUAL_NONE,
        .least = least,
        .target = c->eps,
    };
    return point_finish(c->problem, &point, solution, err);
}

/* From beta = 0 without the preconditioner. Where that does not come as far as
 * the exact point at C = `to` there is, that point stays. */
static enum klr_status coef_approach_plainly(struct coef *c, double cost,
                                             double to)
{
    coef_keep(c, &c->misled);
    deflation_drop(&c->deflation);
    deflation_drop(&c->columns.m);
    memset(c->point, 0, COEF_POINT * c->n * sizeof *c->point);
    c->at.rho = 0;
    c->blurred = false;
    enum klr_status status = coef_approach(c, cost, to);
    if (status != KLR_CONVERGED && c->misled.at.exact &&
        coef_objective_at(&c->at) > coef_objective_at(&c->misled.at))
        coef_return(c, &c->misled);
    return status;
}

/* Where steps to C = `to` have come to an end: Newton directions from there on
 * instead of conjugate ones, and no preconditioner at last. */
static enum klr_status coef_approach_anew(struct coef *c, double first,
                                          double to)
{
    coef_direction *direction = c->direction;
    enum klr_status status = KLR_PRECISION_LIMIT;
    if (direction == coef_conjugate) {
        c->direction = coef_newton;
        status = coef_approach(c, to, to);
        c->direction = direction;
    }
    return coef_is_misled(c, status) ? coef_approach_plainly(c, first, to)
                                     : status;
}

static int coef_path(struct coef *c, struct solution *solution,
                     struct klr_error *err)
{
    const struct klr_reals *path = &c->problem->params->cost;
    double first = coef_first_cost(c, path->value[0]), cost = first;
    int code = 0;
    for (size_t t = 0; t < path->count && !code; t++) {
        clock_path(c->problem->clock, t, path->count);
        enum klr_status status = coef_approach(c, cost, path->value[t]);
        if (coef_is_misled(c, status))
            status = coef_approach_anew(c, first, path->value[t]);
        code = coef_finish(c, status, &solution[t], err);
        cost = path->value[t] * COEF_FACTOR;
    }
    return code;
}

/* ---- start and end ---- */

static double coef_bytes(size_t n)
{
    return (double)n * (COEF_VECTORS + COEF_KEPT * COEF_POINT) *
               sizeof(double) +
           deflation_bytes(n, COEF_ROOM) + coef_columns_bytes(n);
}

static int coef_solve(const struct binary_problem *problem,
                      coef_direction *direction, int patience,
                      struct solution *solution, struct klr_error *err)
{
    size_t n = problem->n;
    struct coef c = {.problem = problem,
                     .n = n,
                     .bias = !problem->params->no_bias,
                     .eps = problem->params->eps,
                     .at = {.width = 1},
                     .direction = direction,
                     .patience = patience};
    double **const vector[COEF_VECTORS] = {&c.beta, &c.u,  &c.g, &c.kg, &c.cost,
                                           &c.w,    &c.r,  &c.d, &c.kd, &c.last,
                                           &c.x,    &c.kx, &c.p, &c.z,  &c.kz};
    int code = klr_take_vectors(&c.arena, n, vector, COEF_VECTORS, err);
    c.point = c.beta; /* where u, g and kg are next to it */
    c.res = c.last;   /* of one direction each */
    if (!code)
        code =
            deflation_create(&c.deflation, problem, COEF_ROOM, &c.arena, err);
    if (!code)
        code = coef_columns_create(&c.columns, problem, &c.arena, err);
    if (!code && (!KLR_TAKE(&c.arena, c.best.point, COEF_POINT, n, err) ||
                  !KLR_TAKE(&c.arena, c.misled.point, COEF_POINT, n, err)))
        code = KLR_E_MEMORY;
    if (!code)
        code = coef_path(&c, solution, err);
    klr_arena_free(&c.arena);
    return code;
}

static int coef_newton_solve(const struct binary_problem *problem,
                             struct solution *solution, struct klr_error *err)
{
    return coef_solve(problem, coef_newton, 20, solution, err);
}

static int coef_cg_solve(const struct binary_problem *problem,
                         struct solution *solution, struct klr_error *err)
{
    return coef_solve(problem, coef_conjugate, 1000, solution, err);
}
