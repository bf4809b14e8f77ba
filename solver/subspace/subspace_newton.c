/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Newton's method on all examples, with the Hessian of the sample as its
 * preconditioner. rho is always the best for w, so that sum g = 0, and
 *
 *   slope r = w - B'g,   H = I + B'(W - W 1 1'W / 1'W 1) B.
 *
 * Conjugate gradients solve H x = -r to a residual e = -r - H x. A product is
 * one sweep: K W u follows from u = K'v example by example; the correction for
 * the bias needs B'W 1, once a step, and the number W'u.
 *
 * The gap. For a point g~ of the dual, sum g~ = 0, 0 <= y_i g~_i <= C_i,
 *
 *   P(w, rho) - D(g~) = 1/2 |w - B'g~|^2 + sum_i excess_i(y_i g~_i, y_i f_i).
 *
 * After the step t x, g~ = g - s W (B x - its mean by W) with s = t, or the
 * largest s that keeps alpha~ feasible, has
 *
 *   w + t x - B'g~ = (1 - s) r + (t - s) x - s e,
 *
 * all known: no product. 1/2 |r|^2, the gap of g itself, is larger by orders.
 *
 * Entries are floats at first. Once the gap seems small enough, a sweep of
 * double entries tells it: u = K'beta and B'g~ anew. Where it is not, slopes,
 * gaps and B x are by doubles from then on, and conjugate gradients by floats.
 * B x of floats would be off by more than the step gains: the error of an entry
 * counts |g| times there.
 */
#include "solver/subspace/subspace_parts.h"

enum {
    RESTRICTED_STEPS = 100,
    RESTRICTED_PRODUCTS = 200, /* of a step */
    RESTRICTED_MANY = 4,       /* products after which h is to be renewed */
    RESTRICTED_VAIN = 3        /* steps that gain nothing */
};

static bool subspace_has_bias(const struct subspace *s)
{
    return !s->problem->params->no_bias;
}

static bool subspace_goes_on(struct subspace *s)
{
    return clock_check(s->problem->clock, s->problem->params, &s->progress,
                       NULL, NULL) == KLR_CONVERGED;
}

/* ---- losses of some examples ---- */

static int fit_create(struct fit *fit, size_t n, struct klr_error *err)
{
    double **vector[] = {&fit->y, &fit->cost,  &fit->u,
                         &fit->g, &fit->curve, &fit->next};
    *fit = (struct fit){.n = n};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        if (!(*vector[i] = klr_alloc(n, sizeof(double), err)))
            return KLR_E_MEMORY;
    return 0;
}

static void fit_free(struct fit *fit)
{
    double *vector[] = {fit->y, fit->cost,  fit->u,
                        fit->g, fit->curve, fit->next};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        klr_free(vector[i]);
    *fit = (struct fit){0};
}

static double fit_rho(const struct subspace *s, const struct fit *fit,
                      const double *u)
{
    return subspace_has_bias(s)
               ? best_rho(&s->loss, fit->n, fit->y, fit->cost, u, fit->rho)
               : 0;
}

static void subspace_evaluate(const struct subspace *s, struct fit *fit)
{
    fit->rho = fit_rho(s, fit, fit->u);
    fit->losses = loss_gradient(&s->loss, fit->n, fit->y, fit->cost, fit->u,
                                fit->rho, fit->g, fit->curve)
                      .losses;
}

static double subspace_search(struct subspace *s, struct fit *fit,
                              const double *du)
{
    const double rounding = 1e-12, least = 1e-9;
    double ww = dot(s->m, s->w, s->w), wx = dot(s->m, s->w, s->x);
    double xx = dot(s->m, s->x, s->x), objective = 0.5 * ww + fit->losses;
    double t = 1;
    for (;; t /= 2) {
        for (size_t i = 0; i < fit->n; i++)
            fit->next[i] = fit->u[i] + t * du[i];
        double rho = fit_rho(s, fit, fit->next);
        double next =
            0.5 * (ww + t * (2 * wx + t * xx)) +
            losses_sum(&s->loss, fit->n, fit->y, fit->cost, fit->next, rho);
        if (next <= objective * (1 + rounding))
            break;
        if (t < least)
            return 0;
    }
    for (size_t k = 0; k < s->m; k++)
        s->w[k] += t * s->x[k];
    memcpy(fit->u, fit->next, fit->n * sizeof *fit->u);
    return t;
}

/* ---- sweeps ---- */

/* u = B w, and out = B't unless that is NULL. */
static bool restricted_sweep(struct subspace *s, enum klr_precision precision,
                             const double *w, double *u, const double *t,
                             double *out)
{
    struct point_sweep_product p = {.sweep = &s->sweep,
                                    .precision = precision,
                                    .v = s->v,
                                    .u = u,
                                    .t = {t},
                                    .sum = {out}};
    memcpy(s->v, w, s->m * sizeof *w);
    panels_backward(&s->r, s->v);
    bool whole = point_sweep_run(&p);
    if (out)
        panels_forward(&s->r, out);
    return whole;
}

/* sum[q] = B't[q], of which the second pair may be NULL. */
static bool restricted_gather(struct subspace *s, enum klr_precision precision,
                              const double *const t[SWEEP_VECTORS],
                              double *const sum[SWEEP_VECTORS])
{
    struct point_sweep_product p = {.sweep = &s->sweep,
                                    .precision = precision,
                                    .t = {t[0], t[1]},
                                    .sum = {sum[0], sum[1]}};
    bool whole = point_sweep_run(&p);
    for (size_t q = 0; q < SWEEP_VECTORS && sum[q]; q++)
        panels_forward(&s->r, sum[q]);
    return whole;
}

/* The slope; and B'W 1 of floats, as products with H are: or H would not be
 * symmetric. */
static bool restricted_slope(struct subspace *s, enum klr_precision precision)
{
    bool bias = subspace_has_bias(s), both = bias && precision == KLR_FLOAT;
    const double *const t[] = {s->all.g, both ? s->all.curve : NULL};
    const double *const more[] = {s->all.curve, NULL};
    double *const sum[] = {s->bg, both ? s->bw : NULL};
    double *const more_sum[] = {s->bw, NULL};
    memset(s->bw, 0, s->m * sizeof *s->bw);
    if (!restricted_gather(s, precision, t, sum) ||
        (bias && !both && !restricted_gather(s, KLR_FLOAT, more, more_sum)))
        return false;
    for (size_t k = 0; k < s->m; k++)
        s->slope[k] = s->w[k] - s->bg[k];
    return true;
}

/* hq = H q, and u = B q of all examples; `total` is the sum of W. */
static bool restricted_multiply(struct subspace *s, double total, double *u)
{
    struct point_sweep_product p = {.sweep = &s->sweep,
                                    .precision = KLR_FLOAT,
                                    .v = s->v,
                                    .u = u,
                                    .weight = s->all.curve,
                                    .sum = {s->hq}};
    memcpy(s->v, s->q, s->m * sizeof *s->q);
    panels_backward(&s->r, s->v);
    bool whole = point_sweep_run(&p);
    panels_forward(&s->r, s->hq);
    double along = subspace_has_bias(s) && total > 0
                       ? dot(s->n, s->all.curve, u) / total
                       : 0;
    for (size_t k = 0; k < s->m; k++)
        s->hq[k] += s->q[k] - along * s->bw[k];
    return whole;
}

/* ---- a step ---- */

static double curve_total(const struct fit *fit)
{
    double total = 0;
    for (size_t i = 0; i < fit->n; i++)
        total += fit->curve[i];
    return total;
}

/* x and B x, until e'M^-1 e has fallen by accuracy^2 and |e|^2 / 2 is at most
 * `distance`; *products are those. False: it was ended. */
static bool restricted_direction(struct subspace *s, double accuracy,
                                 double distance, size_t *products)
{
    double total = curve_total(&s->all), *u = s->all.next;
    memset(s->x, 0, s->m * sizeof *s->x);
    memset(s->du, 0, s->n * sizeof *s->du);
    for (size_t k = 0; k < s->m; k++)
        s->rest[k] = -s->slope[k];
    subspace_invert(s, s->rest, s->z);
    memcpy(s->q, s->z, s->m * sizeof *s->q);
    double ez = dot(s->m, s->rest, s->z), first = ez;
    for (*products = 0; *products < RESTRICTED_PRODUCTS && ez > 0;) {
        if (!restricted_multiply(s, total, u))
            return false;
        ++*products;
        s->progress.iterations++;
        double step = ez / dot(s->m, s->q, s->hq), before = ez;
        for (size_t k = 0; k < s->m; k++) {
            s->x[k] += step * s->q[k];
            s->rest[k] -= step * s->hq[k];
        }
        for (size_t i = 0; i < s->n; i++)
            s->du[i] += step * u[i];
        subspace_invert(s, s->rest, s->z);
        ez = dot(s->m, s->rest, s->z);
        if (!(ez > accuracy * accuracy * first) &&
            !(dot(s->m, s->rest, s->rest) > 2 * distance))
            break;
        if (!subspace_goes_on(s))
            return false;
        for (size_t k = 0; k < s->m; k++)
            s->q[k] = s->z[k] + ez / before * s->q[k];
    }
    return true;
}

/* ---- the gap ---- */

/* dual = g - step (its change), `step` being the largest up to t for which it
 * is feasible. Returns that. */
static double restricted_dual(struct subspace *s, double t)
{
    const struct fit *fit = &s->all;
    double total = curve_total(fit), mean = 0, step = t;
    if (subspace_has_bias(s) && total > 0)
        mean = dot(s->n, fit->curve, s->du) / total;
    for (size_t i = 0; i < s->n; i++) {
        double change = fit->y[i] * fit->curve[i] * (s->du[i] - mean);
        double alpha = fit->y[i] * fit->g[i];
        s->dual[i] = fit->y[i] * change;
        if (alpha - step * change < 0)
            step = alpha / change;
        else if (alpha - step * change > fit->cost[i])
            step = (alpha - fit->cost[i]) / change;
    }
    for (size_t i = 0; i < s->n; i++) {
        double alpha = fit->y[i] * (fit->g[i] - step * s->dual[i]);
        s->dual[i] = fit->y[i] * fmin(fmax(alpha, 0), fit->cost[i]);
    }
    return step;
}

/* With 1/2 |w - B'dual|^2, at u and its best rho; relative. */
static double restricted_gap(struct subspace *s, double distance)
{
    struct fit *fit = &s->all;
    double sum = 0, gap = distance;
    subspace_evaluate(s, fit);
    for (size_t i = 0; i < s->n; i++) {
        gap += loss_excess(&s->loss, fit->y[i] * s->dual[i],
                           fit->y[i] * (fit->u[i] - fit->rho), fit->cost[i]);
        sum += s->dual[i];
    }
    s->objective = 0.5 * dot(s->m, s->w, s->w) + fit->losses;
    gap += fabs(fit->rho * sum);
    s->gap = s->objective > 0 ? gap / s->objective : 0;
    s->progress.violation = s->progress.gap = s->gap;
    s->progress.objective = s->objective;
    return s->gap;
}

/* The gap by what is known after a step. */
static void restricted_estimate(struct subspace *s, double t)
{
    double distance = 0, step = restricted_dual(s, t);
    for (size_t k = 0; k < s->m; k++) {
        double d =
            (1 - step) * s->slope[k] + (t - step) * s->x[k] - step * s->rest[k];
        distance += 0.5 * d * d;
    }
    restricted_gap(s, distance);
}

/* The gap by a sweep of double entries, which give u, too. */
static bool restricted_confirm(struct subspace *s)
{
    double distance = 0;
    if (!restricted_sweep(s, KLR_DOUBLE, s->w, s->all.u, s->dual, s->z))
        return false;
    for (size_t k = 0; k < s->m; k++)
        distance += 0.5 * (s->w[k] - s->z[k]) * (s->w[k] - s->z[k]);
    s->bdual = dot(s->m, s->z, s->z);
    restricted_gap(s, distance);
    return true;
}

/* ---- the method ---- */

/* How far a step is solved for: far from the end a tenth; else what the gap
 * that is asked for needs. */
static double restricted_accuracy(const struct subspace *s, double eps)
{
    const double usual = 0.1, near = 1e-3;
    if (!(s->gap < near))
        return usual;
    return fmax(fmin(usual, sqrt(0.1 * eps / s->gap)), 1e-6);
}

/* A step with slopes of that precision; false: it was ended. */
static bool restricted_step(struct subspace *s, enum klr_precision precision,
                            double eps, size_t *products)
{
    if (!restricted_slope(s, precision))
        return false;
    if (*products > RESTRICTED_MANY && !s->sweep.times && !subspace_renew(s))
        return false;
    double accuracy = restricted_accuracy(s, eps), distance = INFINITY;
    if (precision == KLR_DOUBLE)
        distance = fmax(0.1 * eps * s->objective,
                        0.5e-4 * dot(s->m, s->slope, s->slope));
    if (!restricted_direction(s, accuracy, distance, products))
        return false;
    if (precision == KLR_DOUBLE &&
        !restricted_sweep(s, precision, s->x, s->du, NULL, NULL))
        return false;
    restricted_estimate(s, subspace_search(s, &s->all, s->du));
    return true;
}

/* Where steps end. What is left undone of one is not in w, u and g: but for the
 * clock, g is the point of the dual. */
static enum klr_status restricted_end(struct subspace *s)
{
    enum klr_status status = clock_check(s->problem->clock, s->problem->params,
                                         &s->progress, NULL, NULL);
    memcpy(s->dual, s->all.g, s->n * sizeof *s->dual);
    if (!clock_stopped(s->problem->clock) && restricted_confirm(s))
        return status ? status : KLR_PRECISION_LIMIT;
    return s->problem->clock->status;
}

/* By doubles as well where floats say that the end is near, or get no nearer.
 * False: it was ended. */
static bool restricted_check(struct subspace *s, double eps,
                             enum klr_precision *precision, size_t *vain)
{
    bool look = *precision == KLR_DOUBLE || s->gap <= eps;
    if (*precision == KLR_FLOAT && *vain == RESTRICTED_VAIN) {
        look = true;
        *vain = 0;
    }
    if (!look)
        return true;
    *precision = KLR_DOUBLE;
    return restricted_confirm(s);
}

/* u and g at w, of floats. */
static bool restricted_begin(struct subspace *s, double eps)
{
    s->gap = INFINITY;
    s->progress.target = eps;
    s->progress.violation = INFINITY;
    if (!restricted_sweep(s, KLR_FLOAT, s->w, s->all.u, NULL, NULL))
        return false;
    subspace_evaluate(s, &s->all);
    return true;
}

static bool subspace_approach(struct subspace *s, double eps)
{
    const double fall = 1e-3;
    size_t products = 0;
    double before = INFINITY;
    bool goes_on = restricted_begin(s, eps);
    for (int step = 0; goes_on && step < RESTRICTED_STEPS; step++) {
        goes_on = restricted_step(s, KLR_FLOAT, eps, &products) &&
                  subspace_goes_on(s);
        if (s->gap <= eps || !(s->objective < (1 - fall) * before))
            break;
        before = s->objective;
    }
    return goes_on;
}

static enum klr_status subspace_newton(struct subspace *s, double eps)
{
    enum klr_precision precision = KLR_FLOAT;
    const double fall = 1e-4; /* of an objective that is far from its end */
    size_t products = s->level ? RESTRICTED_MANY + 1 : 0, vain = 0;
    double least = INFINITY, lowest = INFINITY;
    if (!restricted_begin(s, eps))
        return s->problem->clock->status;
    for (int step = 0; step < RESTRICTED_STEPS && vain < RESTRICTED_VAIN;
         step++) {
        if (!restricted_step(s, precision, eps, &products))
            break;
        bool gains = s->gap < 0.5 * least || s->objective < (1 - fall) * lowest;
        vain = gains ? 0 : vain + 1;
        least = fmin(least, s->gap);
        lowest = fmin(lowest, s->objective);
        if (!restricted_check(s, eps, &precision, &vain))
            break;
        if (precision == KLR_DOUBLE && s->gap <= eps)
            return KLR_CONVERGED;
        if (!subspace_goes_on(s))
            break;
    }
    return restricted_end(s);
}
