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

static double curve_total(const struct fit *fit)
{
    double total = 0;
    for (size_t i = 0; i < fit->n; i++)
        total += fit->curve[i];
    return total;
}

static void two_bend(const struct subspace *s, const struct fit *fit,
                     const double *u, double *t)
{
    double total = curve_total(fit), mean = 0;
    if (subspace_has_bias(s) && total > 0)
        mean = dot(fit->n, fit->curve, u) / total;
    for (size_t i = 0; i < fit->n; i++)
        t[i] = fit->curve[i] * (u[i] - mean);
}

/* alpha of g - t dual, cut off at the box. */
static double two_alpha(const struct subspace *s, double t, const double *dual,
                        size_t i, double *beyond)
{
    const struct fit *fit = &s->all;
    double alpha = fit->y[i] * (fit->g[i] - t * dual[i]);
    double least = loss_least(&s->loss, fit->cost[i]);
    double cut = fmin(fmax(alpha, least), fit->cost[i] - least);
    *beyond = fabs(alpha - cut);
    return cut;
}

/* How far alpha is from the ends of the box. */
static double two_room(const struct subspace *s, double alpha, size_t i)
{
    double cost = s->all.cost[i], least = loss_least(&s->loss, cost);
    return fmax(fmin(alpha - least, cost - least - alpha), 0);
}

/* The largest s <= t that is feasible. */
static double two_step(const struct subspace *s, double t, const double *dual)
{
    const struct fit *fit = &s->all;
    double step = t;
    for (size_t i = 0; i < s->n; i++) {
        double change = fit->y[i] * dual[i], alpha = fit->y[i] * fit->g[i];
        double least = loss_least(&s->loss, fit->cost[i]);
        double most = fit->cost[i] - least;
        if (alpha - step * change < least)
            step = (alpha - least) / change;
        else if (alpha - step * change > most)
            step = (alpha - most) / change;
    }
    return step;
}

/* Among many examples some are so near an end of their box that any step takes
 * them out. These are cut off at the end, and others that have room make up for
 * that in the sum, if this moves the point by less than a shorter step would.
 * Without a box alpha changes in proportion to itself, and only long steps are
 * too long. */
static double two_follow(const struct subspace *s, double t, double *dual,
                         double *moved)
{
    const double *y = s->all.y;
    double beyond, sum = 0, room = 0, off = 0, square = 0;
    for (size_t i = 0; i < s->n; i++) {
        double alpha = two_alpha(s, t, dual, i, &beyond);
        sum += subspace_has_bias(s) ? y[i] * alpha : 0;
        room += two_room(s, alpha, i);
        off += beyond;
    }
    for (size_t k = 0; k < s->m; k++)
        square += s->slope[k] * s->slope[k];
    double step = two_step(s, t, dual);
    double left = s->loss.box > 0 ? (t - step) * sqrt(square) : 0;
    *moved = (off + fabs(sum)) * sqrt(s->size);
    bool cuts = *moved < left && fabs(sum) < room;
    step = cuts ? t : step;
    *moved = cuts ? *moved : 0;
    for (size_t i = 0; i < s->n; i++) {
        double alpha = two_alpha(s, step, dual, i, &beyond);
        double back = cuts ? sum / room * two_room(s, alpha, i) : 0;
        dual[i] = y[i] * alpha - back;
    }
    return step;
}

static double two_excess(const struct subspace *s)
{
    struct losses all = two_all(s, &s->all);
    return losses_gap(&all, s->all.u, *s->all.rho, s->dual, 0).excess;
}

/* A place between `base`, at t = 0, and the dual point. */
struct two_way {
    const struct subspace *s;
    const double *base;
    double t;
};

/* sum: of the conjugates, and minus their slope along t. */
static void conjugate_part(const void *context, size_t begin, size_t end,
                           double *sum)
{
    const struct two_way *way = context;
    const struct subspace *s = way->s;
    for (size_t i = begin; i < end; i++) {
        double cost = s->all.cost[i];
        double from = cost > 0 ? way->base[s->all.y[i] > 0] : 0;
        double change = fabs(s->dual[i]) - from;
        double alpha = from + way->t * change;
        sum[0] += conjugate_value(&s->loss, alpha, cost);
        if (alpha > 0 && alpha < cost)
            sum[1] -= change * conjugate_slope(&s->loss, alpha, cost);
    }
}

static double two_conjugate(const struct subspace *s, const double *base,
                            double t, double *slope)
{
    struct two_way way = {s, base, t};
    double sum[PART_SUMS];
    sum_parts(s->problem->op->pool, s->n, conjugate_part, &way, sum);
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
