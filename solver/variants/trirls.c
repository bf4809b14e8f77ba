/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TR-KLR and TR-IRLS as Maalouf, Trafalis & Adrianto (2011) have them: logistic
 * regression without bias by iteratively reweighted least squares, each solved
 * by truncated conjugate gradients, and both loops ended early.
 *
 *   minimise  sum_i w_i log(1 + e^(-y_i u_i)) + lambda/2 beta'K beta,   (18)
 *             u = K beta,  lambda = 1/C
 *
 * which is P / C with the P of loss.c. In the units of P, with g_i = y_i C_i
 * sigma(-y_i u_i) and W_i = C_i p_i (1 - p_i), the equations (24) for the step
 * x from beta are
 *
 *   (K W K + K) x = K (g - beta)
 *
 * and ask for no division by W as the adjusted response z does. `rest` is what
 * x leaves of g - beta, so K rest is the residual.
 *
 * TR-KLR takes plain conjugate gradients. TR-IRLS takes them for the weights
 * w = X'beta of the linear kernel, (X'W X + 1) X'x = X'(g - beta), where the
 * residual is X'rest with the square rest'K rest: directions that begin as
 * rest, not as K rest, are the coefficients of its directions. So w is never
 * formed, and K = X X' costs as much as the features that are there.
 *
 * P never rises: a step that would raise it is halved, which is not in print.
 * The deviance that ends the reweighting is twice the sum of the losses alone.
 */
#include "solver/variants/variants.h"

#include <float.h>

enum {
    TRIRLS_VECTORS = 11,
    TRIRLS_STEPS = 30,     /* of reweighting, without --max-iter */
    TRIRLS_CG_STEPS = 200, /* for one of these */
    TRIRLS_IDLE = 3,       /* steps in a row without a smaller residual */
    TRIRLS_HALVINGS = 40
};

/* epsilon_2, or this part of -e where that is less; of 2.5 it is the same. */
static const double trirls_residual = 0.005, trirls_part = 0.002;

struct trirls {
    const struct binary_problem *problem;
    size_t n;
    bool linear;     /* TR-IRLS */
    bool indefinite; /* K is not positive semidefinite */
    double goal;     /* norm of the residual to reach, in units of P */
    double noise;    /* the least eigenvalue of K that rounding explains */
    enum klr_precision precision; /* of conjugate gradients */
    struct loss loss;
    struct klr_arena arena; /* of all vectors below, (n) each */
    double *cost;           /* C_i */
    double *beta, *u;       /* the point, K beta */
    double *last, *klast;   /* the point before the step, and K times it */
    double *g, *weight;     /* y_i alpha_i; W_i */
    double *rest, *r;       /* K rest = r: the residual */
    double *d, *kd;         /* direction; K d */
    double primal, losses;  /* P(beta), and the losses in it */
    double fall;            /* of P in the last step, relative to it */
    struct klr_progress progress;
};

static bool trirls_product(const struct trirls *tr, const double *x,
                           enum klr_precision precision, double *out)
{
    const struct binary_problem *b = tr->problem;
    return operator_apply(b->op, b->set, b->set, x, 1, precision, out);
}

/* P, and the losses in it, at the present point. */
static void trirls_evaluate(struct trirls *tr)
{
    struct losses all = problem_losses(tr->problem, &tr->loss, tr->cost);
    tr->primal = primal_value(&all, tr->beta, tr->u, 0);
    tr->losses = tr->primal - 0.5 * dot(tr->n, tr->beta, tr->u);
    tr->progress.objective = tr->primal;
}

/* ---- Algorithm 2: conjugate gradients ---- */

/* g, W and g - beta at the present point. */
static void trirls_reweight(struct trirls *tr)
{
    struct losses all = problem_losses(tr->problem, &tr->loss, tr->cost);
    losses_gradient(&all, tr->u, 0, tr->g, tr->weight);
    for (size_t i = 0; i < tr->n; i++)
        tr->rest[i] = tr->g[i] - tr->beta[i];
}

/* One step along d; false where the curvature is not positive, or the clock
 * ends a product. */
static bool trirls_advance(struct trirls *tr, double square)
{
    size_t n = tr->n;
    double curvature = 0;
    if (!tr->linear && !trirls_product(tr, tr->d, tr->precision, tr->kd))
        return false;
    double kernel = dot(n, tr->d, tr->kd);
    for (size_t i = 0; i < n; i++)
        curvature += tr->weight[i] * tr->kd[i] * tr->kd[i];
    curvature += kernel;
    if (!(curvature > 0)) {
        tr->indefinite = kernel < -tr->noise * dot(n, tr->d, tr->d);
        return false;
    }
    double step = square / curvature;
    for (size_t i = 0; i < n; i++) {
        tr->beta[i] += step * tr->d[i];
        tr->rest[i] -= step * (tr->weight[i] * tr->kd[i] + tr->d[i]);
    }
    return trirls_product(tr, tr->rest, tr->precision, tr->r);
}

/* d and K d of the next step, from the residual and the last ones. */
static void trirls_task(struct trirls *tr, const double *z, double ratio)
{
    for (size_t i = 0; i < tr->n; i++) {
        tr->d[i] = z[i] + ratio * tr->d[i];
        tr->kd[i] = tr->r[i] + ratio * tr->kd[i];
    }
}

/* Move beta until the residual is small, or does not get smaller. rest'K rest
 * may be below 0 by rounding. */
static enum klr_status trirls_conjugate(struct trirls *tr)
{
    const struct binary_problem *b = tr->problem;
    const double *z = tr->linear ? tr->rest : tr->r; /* rest'K rest, |r|^2 */
    enum klr_status status = KLR_CONVERGED;
    if (!trirls_product(tr, tr->rest, tr->precision, tr->r))
        return b->clock->status;
    double square = dot(tr->n, tr->r, z), least = square;
    memcpy(tr->d, z, tr->n * sizeof *z);
    memcpy(tr->kd, tr->r, tr->n * sizeof *z);
    for (int step = 0, idle = 0;
         !(square <= tr->goal * tr->goal) && step < TRIRLS_CG_STEPS &&
         idle < TRIRLS_IDLE && status == KLR_CONVERGED;
         step++) {
        double last = square;
        if (!trirls_advance(tr, square))
            return gravest(KLR_PRECISION_LIMIT, b->clock->status);
        square = dot(tr->n, tr->r, z);
        trirls_task(tr, z, square / last);
        idle = square < least ? 0 : idle + 1;
        least = fmin(least, square);
        status = clock_check(b->clock, b->params, &tr->progress, NULL, NULL);
    }
    return status;
}

/* ---- Algorithm 1: reweighting ---- */

static void trirls_return(struct trirls *tr)
{
    memcpy(tr->beta, tr->last, tr->n * sizeof *tr->beta);
    memcpy(tr->u, tr->klast, tr->n * sizeof *tr->u);
    trirls_evaluate(tr);
}

/* Go half the way back to the last point until P is not larger than there.
 * False if nothing is left of the step, and the point is the last one. */
static bool trirls_halve(struct trirls *tr, double last)
{
    for (int k = 0; k < TRIRLS_HALVINGS; k++) {
        trirls_evaluate(tr);
        if (tr->primal <= last)
            return true;
        for (size_t i = 0; i < tr->n; i++) {
            tr->beta[i] = 0.5 * (tr->beta[i] + tr->last[i]);
            tr->u[i] = 0.5 * (tr->u[i] + tr->klast[i]);
        }
    }
    trirls_return(tr);
    return false;
}

/* Solve a weighted least squares problem, and tell by how much of itself the
 * deviance has changed. Conjugate gradients use float entries where floats hold
 * K; what they come to is judged by double ones. */
static enum klr_status trirls_step(struct trirls *tr)
{
    double primal = tr->primal, losses = tr->losses;
    memcpy(tr->last, tr->beta, tr->n * sizeof *tr->beta);
    memcpy(tr->klast, tr->u, tr->n * sizeof *tr->u);
    trirls_reweight(tr);
    enum klr_status status = trirls_conjugate(tr);
    if (!trirls_product(tr, tr->beta, KLR_DOUBLE, tr->u)) {
        trirls_return(tr);
        return tr->problem->clock->status;
    }
    bool lower = trirls_halve(tr, primal);
    tr->progress.violation = fabs(losses - tr->losses) / tr->losses;
    tr->fall = (primal - tr->primal) / tr->primal;
    tr->progress.iterations++;
    return status == KLR_CONVERGED && !lower ? KLR_PRECISION_LIMIT : status;
}

static enum klr_status trirls_descend(struct trirls *tr)
{
    const struct klr_params *params = tr->problem->params;
    long long most = params->max_iter > 0 ? params->max_iter : TRIRLS_STEPS;
    enum klr_status status = KLR_CONVERGED;
    tr->progress.iterations = 0;
    tr->progress.violation = INFINITY;
    tr->fall = NAN;
    trirls_evaluate(tr);
    while (status == KLR_CONVERGED && tr->progress.violation > params->eps)
        status = tr->progress.iterations < most ? trirls_step(tr)
                                                : KLR_ITERATION_LIMIT;
    return status;
}

static int trirls_finish(const struct trirls *tr, double c,
                         enum klr_status status, struct solution *solution,
                         struct klr_error *err)
{
    struct point point = {
        .c = c,
        .status = status,
        .iterations = tr->progress.iterations,
        .fall = tr->fall,
        .beta = tr->beta,
        .u = tr->u,
        .precision = KLR_DOUBLE,
        .dual = DUAL_GRADIENT,
        .least = NAN,
        .bound = INFINITY,
    };
    return point_finish(tr->problem, &point, solution, err);
}

/* ---- start and end ---- */

static double trirls_bytes(size_t n)
{
    return (double)n * TRIRLS_VECTORS * sizeof(double);
}

static int trirls_create(struct trirls *tr,
                         const struct binary_problem *problem,
                         struct klr_error *err)
{
    size_t n = problem->n;
    double trace = 0;
    memset(tr, 0, sizeof *tr);
    tr->problem = problem;
    tr->n = n;
    tr->linear = problem->op->kernel.type == KLR_LINEAR;
    tr->progress.target = problem->params->eps;
    double **const vector[TRIRLS_VECTORS] = {
        &tr->cost,   &tr->beta, &tr->u, &tr->last, &tr->klast, &tr->g,
        &tr->weight, &tr->rest, &tr->r, &tr->d,    &tr->kd};
    if (klr_take_vectors(&tr->arena, n, vector, TRIRLS_VECTORS, err))
        return KLR_E_MEMORY;
    operator_diagonal(problem->op, problem->set, tr->d);
    for (size_t i = 0; i < n; i++)
        trace += fabs(tr->d[i]);
    tr->noise = ldexp(trace, -22);
    tr->precision = trace < FLT_MAX ? KLR_FLOAT : KLR_DOUBLE;
    return 0;
}

/* At C = cost, from 0: ended early, a solution depends on where it began. */
static void trirls_begin(struct trirls *tr, double cost)
{
    const struct binary_problem *b = tr->problem;
    double residual = fmin(trirls_residual, trirls_part * b->params->eps);
    tr->loss = loss_of(b->params, cost);
    tr->goal = residual * cost;
    for (size_t i = 0; i < tr->n; i++) {
        tr->cost[i] = cost * b->weight[i];
        tr->beta[i] = tr->u[i] = 0;
    }
}

static int trirls_solve(const struct binary_problem *problem,
                        struct solution *solution, struct klr_error *err)
{
    struct trirls tr;
    const struct klr_reals *cost = &problem->params->cost;
    int code = trirls_create(&tr, problem, err);
    for (size_t t = 0; t < cost->count && !code; t++) {
        clock_path(problem->clock, t, cost->count);
        trirls_begin(&tr, cost->value[t]);
        enum klr_status status = trirls_descend(&tr);
        code = trirls_finish(&tr, cost->value[t], status, &solution[t], err);
        double gap = solution[t].primal - solution[t].dual;
        if (!code && (tr.indefinite || gap < -1e-4 * solution[t].primal))
            code = operator_refuse(problem->op, "-a smo", err);
    }
    klr_arena_free(&tr.arena);
    return code;
}
