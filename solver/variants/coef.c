/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel logistic regression with the regularizer beta'beta, convex for any
 * symmetric kernel: Lin & Lin (2003), (33).
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
 * is a sum of squares and loses no digits.
 *
 * KLR-NT: a truncated Newton method, the Hessian being I + K W K with W_i =
 * alpha_i (1 - alpha_i / C_i), or with rho eliminated I + K (W - w w' / sum W)
 * K. KLR-CG: nonlinear conjugate gradients. Both take the preconditioner of
 * coef_deflation.c, and search P along d for the root of its slope: K d is
 * known and rho cheap, so that takes no product.
 *
 * u and K g are carried along in products with float entries, of the changes of
 * beta and g. When the gap has been reached, and before every answer, they are
 * formed anew from double entries; what is left after that is a new problem for
 * smaller changes, so that float products do to most gaps.
 *
 * C is reached along a path, warm started, as in newton.c.
 */
#include "solver/variants/coef.h"

enum {
    COEF_VECTORS = 15,
    COEF_POINT = 4,    /* of them are a point */
    COEF_FACTOR = 10,  /* from C to C of the path */
    COEF_ANCHORS = 20, /* times that the gap is confirmed in double */
};

/* A step that raises P by more than that of itself is one of rounding. */
static const double coef_rise = 1e-3;

/* ---- the point ---- */

static bool coef_product(struct coef *c, const double *x,
                         enum klr_precision precision, double *out)
{
    const struct binary_problem *b = c->problem;
    c->progress.iterations++;
    return operator_apply(b->op, b->set, b->set, x, 1, precision, out);
}

static double coef_gap(void *solver)
{
    const struct coef *c = solver;
    return c->gap / fabs(c->primal);
}

static double coef_rho(const struct coef *c, const double *u)
{
    struct losses all = problem_losses(c->problem, &c->loss, c->cost);
    return c->bias ? best_rho(&all, u, c->rho) : 0;
}

/* rho and P of beta and u; g there, its change into x, and W. */
static void coef_evaluate(struct coef *c)
{
    c->rho = coef_rho(c, c->u);
    memcpy(c->x, c->g, c->n * sizeof *c->x);
    struct losses all = problem_losses(c->problem, &c->loss, c->cost);
    struct loss_sums sums = losses_gradient(&all, c->u, c->rho, c->g, c->w);
    c->primal = 0.5 * dot(c->n, c->beta, c->beta) + sums.losses;
    c->total = 0;
    for (size_t i = 0; i < c->n; i++) {
        c->x[i] = c->g[i] - c->x[i];
        c->total += c->w[i];
    }
}

/* r and the gap, from kg. */
static void coef_judge(struct coef *c)
{
    for (size_t i = 0; i < c->n; i++)
        c->r[i] = c->beta[i] - c->kg[i];
    c->gap = 0.5 * dot(c->n, c->r, c->r);
    c->bound = c->primal - c->gap;
    c->progress.violation = coef_gap(c);
    c->progress.objective = c->primal;
}

/* Evaluate the point, with K g carried along. False if the clock ends it; beta
 * and u stay as they are. */
static bool coef_look(struct coef *c)
{
    coef_evaluate(c);
    if (!coef_product(c, c->x, KLR_FLOAT, c->kx))
        return false;
    for (size_t i = 0; i < c->n; i++)
        c->kg[i] += c->kx[i];
    c->exact = false;
    coef_judge(c);
    return true;
}

/* All of the point anew, or, where the clock ends that, as coef_look. */
static bool coef_anchor(struct coef *c)
{
    const size_t bytes = c->n * sizeof *c->u;
    if (!coef_product(c, c->beta, KLR_DOUBLE, c->kx))
        return false;
    memcpy(c->u, c->kx, bytes);
    coef_evaluate(c);
    if (!coef_product(c, c->g, KLR_DOUBLE, c->kx))
        return false;
    memcpy(c->kg, c->kx, bytes);
    c->exact = true;
    coef_judge(c);
    return true;
}

/* Where the clock ended that: P, and of the dual what was known. */
static void coef_unseen(struct coef *c)
{
    coef_evaluate(c);
    c->gap = c->primal - c->bound;
}

static void coef_weigh(const struct coef *c, const double *in, double *out)
{
    double mean = 0;
    if (c->bias && c->total > 0)
        mean = dot(c->n, c->w, in) / c->total;
    for (size_t i = 0; i < c->n; i++)
        out[i] = c->w[i] * (in[i] - mean);
}

/* ---- steps ---- */

/* The slope of P along beta + t d, rho optimal there, and its derivative. */
static double coef_slope(struct coef *c, double t, double *curvature)
{
    const double *y = c->problem->y;
    double slope = dot(c->n, c->r, c->d), along = 0, total = 0;
    for (size_t i = 0; i < c->n; i++)
        c->kx[i] = c->u[i] + t * c->kd[i];
    double rho = coef_rho(c, c->kx);
    *curvature = 0;
    for (size_t i = 0; i < c->n; i++) {
        double margin = y[i] * (c->kx[i] - rho);
        double alpha = loss_alpha(&c->loss, margin, c->cost[i]);
        double w = alpha * sigmoid(margin);
        slope += t * c->d[i] * c->d[i];
        slope -= (y[i] * alpha - c->g[i]) * c->kd[i];
        *curvature += c->d[i] * c->d[i] + w * c->kd[i] * c->kd[i];
        along += w * c->kd[i];
        total += w;
    }
    if (c->bias && total > 0)
        *curvature -= along * along / total;
    return slope;
}

/* The t at which the slope has all but vanished, by Newton's method in a
 * bracket. P is convex, but its values would not tell small steps apart. */
static double coef_root(struct coef *c)
{
    double curvature, low = 0, high = INFINITY, t = 0;
    double slope = coef_slope(c, 0, &curvature), last = INFINITY;
    double goal = 0.01 * fabs(slope);
    for (int step = 0; step < 100 && slope != 0; step++) {
        double next = t - slope / curvature;
        if (!(next > low && next < high) || fabs(slope) > 0.5 * last)
            next = isinf(high) ? fmax(2 * t, next) : 0.5 * (low + high);
        if (next == t || !isfinite(next))
            break;
        t = next;
        last = fabs(slope);
        slope = coef_slope(c, t, &curvature);
        if (fabs(slope) <= goal)
            break;
        *(slope < 0 ? &low : &high) = t;
    }
    return t;
}

static void coef_move(struct coef *c, double t)
{
    for (size_t i = 0; i < c->n; i++) {
        c->beta[i] += t * c->d[i];
        c->u[i] += t * c->kd[i];
    }
}

/* Its length; 0 if rounding leaves no step to make. */
static double coef_step(struct coef *c)
{
    double t = dot(c->n, c->r, c->d) < 0 ? coef_root(c) : 0;
    if (t > 0)
        coef_move(c, t);
    return t;
}

static enum klr_status coef_clock(struct coef *c)
{
    return clock_check(c->problem->clock, c->problem->params, &c->progress,
                       coef_gap, c);
}

/* With the preconditioner fewer steps have to do. */
static int coef_patience(const struct coef *c)
{
    const int most = 50;
    return c->deflation.room > 0 && c->patience > most ? most : c->patience;
}

/* Steps at the present costs until the relative gap is the target. */
static enum klr_status coef_descend(struct coef *c)
{
    double best = INFINITY;
    int idle = 0, anchors = 0;
    c->fall = NAN;
    c->norm = 0;
    if (!coef_look(c))
        return c->problem->clock->status;
    for (;;) {
        if (coef_gap(c) <= c->progress.target) {
            if (c->exact || c->progress.target > c->eps)
                return KLR_CONVERGED;
            if (++anchors > COEF_ANCHORS)
                return KLR_PRECISION_LIMIT;
            if (!coef_anchor(c))
                return c->problem->clock->status;
            best = INFINITY;
            continue;
        }
        idle = c->gap < best ? 0 : idle + 1;
        best = fmin(best, c->gap);
        if (idle > coef_patience(c))
            return KLR_PRECISION_LIMIT;
        enum klr_status status = coef_clock(c);
        if (status == KLR_CONVERGED)
            status = c->direction(c);
        double before = c->primal, length = coef_step(c);
        if (status == KLR_CONVERGED && length == 0)
            return KLR_PRECISION_LIMIT;
        bool known = coef_look(c);
        c->fall = before - c->primal;
        if (!(c->fall >= -coef_rise * before)) {
            coef_move(c, -length);
            return KLR_PRECISION_LIMIT;
        }
        if (!known || status != KLR_CONVERGED)
            return gravest(status, c->problem->clock->status);
    }
}

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
    spread -= dot(n, mean, mean);
    for (size_t i = 0; i < n; i++)
        most = fmax(most, b->weight[i]);
    while (cost * most * spread > 1 && cost > 1e-300)
        cost /= COEF_FACTOR;
    return cost;
}

static void coef_set_cost(struct coef *c, double cost)
{
    c->loss = loss_of(c->problem->params, cost);
    c->bound = (double)NAN;
    for (size_t i = 0; i < c->n; i++)
        c->cost[i] = cost * c->problem->weight[i];
}

/* True if steps have come to an end with the preconditioner, which rounding can
 * spoil where K is huge: without it they may lead on. */
static bool coef_is_misled(const struct coef *c, enum klr_status status)
{
    return status == KLR_PRECISION_LIMIT && c->deflation.room > 0 &&
           !clock_stopped(c->problem->clock);
}

/* From `cost` through larger ones to C = `to`; a stop on the way leaves what
 * was reached, as a point of the problem at that C. */
static enum klr_status coef_approach(struct coef *c, double cost, double to)
{
    enum klr_status status = coef_clock(c);
    c->progress.target = fmax(c->eps, 0.1);
    for (; cost < 0.99 * to && status == KLR_CONVERGED; cost *= COEF_FACTOR) {
        coef_set_cost(c, cost);
        status = coef_descend(c);
        if (coef_is_misled(c, status)) {
            c->exact = false; /* at this C */
            return status;
        }
        status = coef_clock(c);
    }
    coef_set_cost(c, to);
    c->progress.target = c->eps;
    if (status == KLR_CONVERGED)
        status = coef_descend(c);
    else
        c->exact = false;
    if (!c->exact && !coef_anchor(c)) {
        coef_unseen(c);
        return c->problem->clock->status;
    }
    return status;
}

static int coef_finish(const struct coef *c, double cost,
                       enum klr_status status, struct solution *solution,
                       struct klr_error *err)
{
    struct point point = {
        .c = cost,
        .status = status,
        .iterations = c->progress.iterations,
        .fall = c->fall / c->primal,
        .beta = c->beta,
        .rho = c->rho,
        .u = c->u,
        .g = c->g,
        .kg = c->kg,
        .precision = KLR_DOUBLE,
        .dual = c->exact ? DUAL_GRADIENT : DUAL_NONE,
        .least = c->primal - c->gap,
        .target = c->eps,
    };
    return point_finish(c->problem, &point, solution, err);
}

/* The point becomes (beta, u, g, kg) from `from`, or 0 where that is NULL. */
static void coef_put(struct coef *c, const double *from)
{
    double *const part[] = {c->beta, c->u, c->g, c->kg};
    for (size_t k = 0; k < COEF_POINT; k++)
        if (from)
            memcpy(part[k], from + k * c->n, c->n * sizeof *from);
        else
            memset(part[k], 0, c->n * sizeof *part[k]);
}

/* From beta = 0 without the preconditioner. Where that does not come as far as
 * the exact point at C = `to` there is, that point stays. */
static enum klr_status coef_approach_plainly(struct coef *c, double cost,
                                             double to)
{
    const struct coef before = *c;
    const double *const part[] = {c->beta, c->u, c->g, c->kg};
    for (size_t k = 0; k < COEF_POINT; k++)
        memcpy(c->kept + k * c->n, part[k], c->n * sizeof *c->kept);
    deflation_drop(&c->deflation);
    coef_put(c, NULL);
    c->rho = 0;
    enum klr_status status = coef_approach(c, cost, to);
    if (status == KLR_CONVERGED || !before.exact || c->primal <= before.primal)
        return status;
    coef_put(c, c->kept);
    c->rho = before.rho;
    c->primal = before.primal;
    c->gap = before.gap;
    c->exact = true;
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
        code = coef_finish(c, path->value[t], status, &solution[t], err);
        cost = path->value[t] * COEF_FACTOR;
    }
    return code;
}

/* ---- start and end ---- */

static double coef_bytes(size_t n)
{
    return (double)n * (COEF_VECTORS + COEF_POINT) * sizeof(double) +
           deflation_bytes(n);
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
                     .direction = direction,
                     .patience = patience};
    double **const vector[COEF_VECTORS] = {
        &c.cost, &c.beta, &c.u, &c.g,  &c.kg, &c.w, &c.r, &c.d,
        &c.kd,   &c.last, &c.x, &c.kx, &c.p,  &c.z, &c.kz};
    int code = klr_take_vectors(&c.arena, n, vector, COEF_VECTORS, err);
    c.res = c.last; /* of one direction each */
    if (!code)
        code = deflation_create(&c.deflation, problem, &c.arena, err);
    if (!code && !KLR_TAKE(&c.arena, c.kept, COEF_POINT, n, err))
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
