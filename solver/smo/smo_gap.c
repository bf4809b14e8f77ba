/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where SMO stands: objectives, the gap between them, what it may be at the
 * end, and the solution that is handed on.
 */
#include "solver/smo/smo_parts.h"

/* Spare arrays, of the problem as loss.c takes it. */
struct smo_vectors {
    double *u, *y, *cost, *beta; /* (n) */
};

static struct smo_vectors smo_vectors(const struct smo *smo)
{
    struct smo_vectors v = {
        .u = smo->spare->s,
        .y = smo->spare->hessian,
        .cost = (double *)smo->spare->example,
    };
    v.beta = v.cost + smo->n;
    for (size_t k = 0; k < smo->n; k++) {
        const struct smo_example *e = &smo->example[k];
        v.u[k] = smo_product(smo, k);
        v.y[k] = e->y;
        v.cost[k] = e->cost;
        v.beta[k] = e->y * e->alpha;
    }
    return v;
}

static struct losses smo_losses(const struct smo *smo,
                                const struct smo_vectors *v)
{
    return (struct losses){&smo->loss, smo->n, v->y, v->cost,
                           smo->problem->op->pool};
}

static double smo_rho(const struct smo *smo, const struct smo_vectors *v)
{
    struct losses all = smo_losses(smo, v);
    if (smo->single)
        return 0;
    return smo->loss.model == KLR_MODEL_SVM ? hinge_rho(&all, v->beta, v->u, 0)
                                            : best_rho(&all, v->u, 0);
}

static struct smo_values smo_objectives(const struct smo *smo)
{
    struct smo_vectors v = smo_vectors(smo);
    struct losses all = smo_losses(smo, &v);
    double quadratic = dot(smo->n, v.beta, v.u), conjugate = 0;
    for (size_t k = 0; k < smo->n; k++)
        conjugate += conjugate_value(&smo->loss, v.y[k] * v.beta[k], v.cost[k]);
    return (struct smo_values){
        primal_value(&all, v.beta, v.u, smo_rho(smo, &v)),
        -0.5 * quadratic - conjugate};
}

/* The relative gap, for progress. */
static double smo_gap(void *solver)
{
    struct smo_values now = smo_objectives(solver);
    return (now.primal - now.dual) / fabs(now.primal);
}

/* Keerthi (3.13), where a gap is asked for */
static bool smo_gap_reached(struct smo *smo)
{
    double gap = smo->problem->params->gap;
    return gap > 0 && smo_gap(smo) <= gap;
}

/* Keerthi's tau bounds half the violation, (3.11). The gap is of second order
 * in the violation, so for a gap its root is asked for; a hinge's gap is of
 * first order. */
static double smo_tolerance(const struct klr_params *params)
{
    bool hinge = params->model == KLR_MODEL_SVM;
    double eps = params->eps;
    if (params->gap > 0)
        eps = fmin(eps, hinge ? params->gap : sqrt(params->gap));
    return hinge ? eps : 2 * eps;
}

/* No margin is farther than eps from where its alpha belongs. That adds C_i eps
 * at most to a hinge, and C_i eps^2 / 8 to a logistic loss, whose curvature is
 * C_i / 4 at most. */
static double smo_bound(const struct binary_problem *problem, double c)
{
    double eps = smo_tolerance(problem->params), sum = 0;
    for (size_t i = 0; i < problem->n; i++)
        sum += c * problem->weight[i];
    bool hinge = problem->params->model == KLR_MODEL_SVM;
    return sum * (hinge ? eps : eps * eps / 8);
}

/* How far u may be off. Each step rounds s once, and changes two alpha by C_i
 * at most, which is rounded too. */
static double smo_drift(const struct smo *smo, const struct smo_vectors *v)
{
    double steps = (double)(smo->steps + smo->progress.iterations);
    double most = 0, cost = 0;
    for (size_t k = 0; k < smo->n; k++) {
        most = fmax(most, fabs(v->u[k]) + fabs(smo->s[k]));
        cost = fmax(cost, v->cost[k]);
    }
    return ldexp(steps * (2 * most + 4 * cost * smo->size), -53);
}

static bool smo_is_empty(const struct smo *smo)
{
    size_t k = 0;
    while (k < smo->n && smo->example[k].alpha == 0)
        k++;
    return k == smo->n;
}

/* A logistic loss that the clock has ended is no worse than a constant: steps
 * raise the dual, and may raise the primal first. */
static int smo_finish(struct smo *smo, double c, enum klr_status status,
                      struct solution *solution, struct klr_error *err)
{
    bool cut = clock_stopped(smo->problem->clock);
    if (cut && smo_is_empty(smo))
        return smo_finish_at_start(smo, c, status, solution, err);
    struct smo_vectors v = smo_vectors(smo);
    struct point point = {
        .c = c,
        .status = status,
        .iterations = smo->progress.iterations,
        .fall = smo->advance.growth,
        .beta = v.beta,
        .rho = smo_rho(smo, &v),
        .u = smo->stale ? NULL : v.u,
        .drift = smo_drift(smo, &v),
        .precision = smo->precision,
        .dual = DUAL_BETA,
        .target = smo->problem->params->gap,
        .bound = smo_bound(smo->problem, c),
    };
    int code = point_finish(smo->problem, &point, solution, err);
    if (cut && !code && smo->loss.model != KLR_MODEL_SVM &&
        solution->doubt == KLR_DOUBT_CONSTANT)
        return smo_finish_at_start(smo, c, status, solution, err);
    return code;
}
