/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses of some examples, and those of two classes: see loss.c.
 */
#include "solver/subspace/subspace_parts.h"

static int fit_create(struct fit *fit, const double *y, size_t n,
                      size_t columns, struct klr_error *err)
{
    double **vector[] = {&fit->u, &fit->g, &fit->curve, &fit->next};
    *fit = (struct fit){.y = y, .n = n, .columns = columns, .rho = fit->rho};
    if (!(fit->cost = klr_alloc(n, sizeof(double), err)))
        return KLR_E_MEMORY;
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        if (!(*vector[i] = klr_alloc(n, columns * sizeof(double), err)))
            return KLR_E_MEMORY;
    int code = columns > 1 ? softmax_create(&fit->softmax, n, columns, err) : 0;
    fit->softmax.cost = fit->cost;
    return code;
}

static void fit_free(struct fit *fit)
{
    double *vector[] = {fit->cost, fit->u, fit->g, fit->curve, fit->next};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        klr_free(vector[i]);
    softmax_free(&fit->softmax);
    *fit = (struct fit){.rho = fit->rho};
}

/* ---- two classes ---- */

static struct losses two_all(const struct subspace *s, const struct fit *fit)
{
    return (struct losses){&s->loss, fit->n, fit->y, fit->cost,
                           s->problem->op->pool};
}

static double two_losses(const struct subspace *s, const struct fit *fit,
                         const double *u, double *rho)
{
    struct losses all = two_all(s, fit);
    *rho = subspace_has_bias(s) ? best_rho(&all, u, *rho) : 0;
    return losses_sum(&all, u, *rho);
}

static void two_gradient(const struct subspace *s, struct fit *fit)
{
    struct losses all = two_all(s, fit);
    fit->losses =
        losses_gradient(&all, fit->u, *fit->rho, fit->g, fit->curve).losses;
}

static double two_curvature(const struct fit *fit, size_t i, size_t c, size_t d)
{
    (void)c;
    (void)d;
    return fit->curve[i];
}

static void two_root(const struct fit *fit, size_t i, double *s)
{
    *s = sqrt(fit->curve[i]);
}

static void two_renew(struct subspace *s)
{
    for (size_t i = 0; i < s->sample.n; i++)
        s->sample.curve[i] = s->all.curve[s->row[i]] * s->share[i];
}

/* Weights W and values u of examples, their mean, and what becomes W (u -
 * mean). */
struct curve_at {
    const double *curve, *u;
    double mean, *t;
};

/* sum: of W and of W u. */
static void curve_part(const void *context, size_t begin, size_t end,
                       double *sum)
{
    const struct curve_at *at = context;
    for (size_t i = begin; i < end; i++)
        sum[0] += at->curve[i];
    sum[1] += dot(end - begin, at->curve + begin, at->u + begin);
}

static double curve_mean(const struct subspace *s, const struct fit *fit,
                         const double *u)
{
    const struct curve_at at = {fit->curve, u, 0, NULL};
    double sum[PART_VALUES];
    if (!subspace_has_bias(s))
        return 0;
    sum_parts(s->problem->op->pool, fit->n, curve_part, &at, sum);
    return sum[0] > 0 ? sum[1] / sum[0] : 0;
}

static void bend_part(const void *context, size_t begin, size_t end,
                      double *sum)
{
    const struct curve_at *at = context;
    (void)sum;
    for (size_t i = begin; i < end; i++)
        at->t[i] = at->curve[i] * (at->u[i] - at->mean);
}

static void two_bend(const struct subspace *s, const struct fit *fit,
                     const double *u, double *t)
{
    const struct curve_at at = {fit->curve, u, curve_mean(s, fit, u), t};
    double sum[PART_VALUES];
    sum_parts(s->problem->op->pool, fit->n, bend_part, &at, sum);
}

/* The point g - t dual of the dual, which takes the place of dual once it is
 * feasible: each alpha is cut off at its box, and gives up the share `back` of
 * its room. */
struct two_way {
    const struct subspace *s;
    double *dual; /* (n) */
    double t, back;
};

/* alpha at t, and the ends of its box. */
static double two_alpha(const struct two_way *way, size_t i, double *least,
                        double *most)
{
    const struct fit *fit = &way->s->all;
    *least = loss_least(&way->s->loss, fit->cost[i]);
    *most = fit->cost[i] - *least;
    return fit->y[i] * (fit->g[i] - way->t * way->dual[i]);
}

static double two_cut(double alpha, double least, double most)
{
    alpha = alpha < least ? least : alpha;
    return alpha > most ? most : alpha;
}

/* How far alpha is from the ends of the box. */
static double two_room(double alpha, double least, double most)
{
    double room = alpha - least < most - alpha ? alpha - least : most - alpha;
    return room > 0 ? room : 0;
}

/* sum: of y alpha, cut off, of the room of each, of what is cut off. Maximum:
 * minus the largest step, up to t, that cuts nothing. */
static void two_step_part(const void *context, size_t begin, size_t end,
                          double *sum)
{
    const struct two_way *way = context;
    const double *y = way->s->all.y, *g = way->s->all.g;
    double step = way->t, least, most;
    for (size_t i = begin; i < end; i++) {
        double alpha = two_alpha(way, i, &least, &most);
        double cut = two_cut(alpha, least, most);
        sum[0] += y[i] * cut;
        sum[1] += two_room(cut, least, most);
        if (alpha == cut)
            continue;
        sum[2] += fabs(alpha - cut);
        double limit = (y[i] * g[i] - cut) / (y[i] * way->dual[i]);
        step = limit < step ? limit : step;
    }
    part_raise(&sum[PART_SUMS], -step);
}

static void two_point_part(const void *context, size_t begin, size_t end,
                           double *sum)
{
    const struct two_way *way = context;
    const double *y = way->s->all.y;
    double least, most;
    (void)sum;
    for (size_t i = begin; i < end; i++) {
        double alpha = two_alpha(way, i, &least, &most);
        double cut = two_cut(alpha, least, most);
        way->dual[i] = y[i] * cut - way->back * two_room(cut, least, most);
    }
}

/* Among many examples some are so near an end of their box that any step takes
 * them out. These are cut off at the end, and others that have room make up for
 * that in the sum, if this moves the point by less than a shorter step would.
 * Without a box alpha changes in proportion to itself, and only long steps are
 * too long. */
static double two_follow(const struct subspace *s, double t, double *dual,
                         double *moved)
{
    struct two_way way = {s, dual, t, 0};
    struct klr_pool *pool = s->problem->op->pool;
    double sum[PART_VALUES], square = dot(s->m, s->slope, s->slope);
    sum_parts(pool, s->n, two_step_part, &way, sum);
    double left = subspace_has_bias(s) ? sum[0] : 0, room = sum[1];
    double step = -sum[PART_SUMS];
    double shorter = s->loss.box > 0 ? (t - step) * sqrt(square) : 0;
    *moved = (sum[2] + fabs(left)) * sqrt(s->size);
    bool cuts = *moved < shorter && fabs(left) < room;
    *moved = cuts ? *moved : 0;
    way.back = cuts ? left / room : 0;
    way.t = cuts ? t : step;
    sum_parts(pool, s->n, two_point_part, &way, sum);
    return way.t;
}

static double two_excess(const struct subspace *s)
{
    struct losses all = two_all(s, &s->all);
    return losses_gap(&all, s->all.u, *s->all.rho, s->dual, 0).excess;
}

/* A place between `base`, at t = 0, and the dual point. */
struct two_place {
    const struct subspace *s;
    const double *base;
    double t;
};

/* sum: of the conjugates, and minus their slope along t. */
static void conjugate_part(const void *context, size_t begin, size_t end,
                           double *sum)
{
    const struct two_place *place = context;
    const struct subspace *s = place->s;
    for (size_t i = begin; i < end; i++) {
        double cost = s->all.cost[i];
        double from = cost > 0 ? place->base[s->all.y[i] > 0] *
                                     loss_examples(&s->loss, cost)
                               : 0;
        double change = fabs(s->dual[i]) - from;
        double alpha = from + place->t * change;
        sum[0] += conjugate_value(&s->loss, alpha, cost);
        if (alpha > 0 && alpha < cost)
            sum[1] -= change * conjugate_slope(&s->loss, alpha, cost);
    }
}

static double two_conjugate(const struct subspace *s, const double *base,
                            double t, double *slope)
{
    struct two_place place = {s, base, t};
    double sum[PART_VALUES];
    sum_parts(s->problem->op->pool, s->n, conjugate_part, &place, sum);
    *slope = sum[1];
    return sum[0];
}

/* By the log-odds that the loss estimates, log sigma(lambda + f) - log
 * sigma(lambda - f): f itself where lambda is 0. */
static double two_loss_of(const struct subspace *s, size_t i)
{
    double z = s->all.y[i] * (s->all.u[i] - *s->all.rho), l = s->loss.shift;
    return softplus(softplus(-l - z) - softplus(z - l));
}

static void two_rounding(const struct subspace *s, double error,
                         struct certificate *c)
{
    struct losses all = two_all(s, &s->all);
    struct losses_gap found =
        losses_gap(&all, s->all.u, *s->all.rho, s->dual, error);
    c->effect += found.effect;
    c->blur = found.blur;
}

static double two_constant(struct subspace *s)
{
    double rho = 0;
    memset(s->du, 0, s->n * sizeof *s->du);
    return two_losses(s, &s->all, s->du, &rho);
}

static const struct subspace_functions subspace_two_classes = {
    two_losses,    two_gradient, two_curvature, two_root,
    two_renew,     two_bend,     two_follow,    two_excess,
    two_conjugate, two_loss_of,  two_rounding,  two_constant};
