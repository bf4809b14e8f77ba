/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Newton's method on all examples, with the Hessian of the sample as its
 * preconditioner; of several columns see subspace_softmax.c. rho is always the
 * best for w, so that sum g = 0, and
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

static size_t subspace_length(const struct subspace *s)
{
    return s->columns * s->m;
}

static void subspace_evaluate(const struct subspace *s, struct fit *fit)
{
    fit->losses = s->functions->losses(s, fit, fit->u, fit->rho);
    s->functions->gradient(s, fit);
}

static double subspace_search(struct subspace *s, struct fit *fit,
                              const double *du)
{
    const double rounding = 1e-12, least = 1e-9;
    struct klr_pool *pool = s->problem->op->pool;
    size_t size = fit->n * fit->columns, length = subspace_length(s);
    double ww = dot(length, s->w, s->w), wx = dot(length, s->w, s->x);
    double xx = dot(length, s->x, s->x), objective = 0.5 * ww + fit->losses;
    double t = 1;
    for (;; t /= 2) {
        add_parts(pool, size, fit->u, t, du, fit->next);
        memcpy(s->next_rho, fit->rho, fit->columns * sizeof *s->next_rho);
        double next = 0.5 * (ww + t * (2 * wx + t * xx)) +
                      s->functions->losses(s, fit, fit->next, s->next_rho);
        if (next <= objective + rounding * fabs(objective))
            break;
        if (t < least)
            return 0;
    }
    for (size_t k = 0; k < length; k++)
        s->w[k] += t * s->x[k];
    double *last = fit->u;
    fit->u = fit->next;
    fit->next = last;
    return t;
}

/* ---- sweeps ---- */

static bool subspace_sweep(struct subspace *s, enum klr_precision precision,
                           size_t count, const struct sweep_vector *vector)
{
    struct point_sweep_product p = {&s->sweep, precision, count,
                                    1,         vector,    s->all.curve};
    return point_sweep_run(&p);
}

static bool subspace_multiply(struct subspace *s, enum klr_precision precision,
                              const double *w, double *u, const double *t,
                              double *out)
{
    struct point_sweep_product p = {&s->sweep,  precision, s->columns,
                                    s->columns, s->vector, NULL};
    if (w)
        memcpy(s->v, w, subspace_length(s) * sizeof *w);
    for (size_t c = 0; c < s->columns; c++) {
        double *v = s->v + c * s->m;
        if (w)
            panels_backward(&s->r, v);
        s->vector[c] =
            (struct sweep_vector){.v = w ? v : NULL,
                                  .u = w ? u + c : NULL,
                                  .t = out ? t + c : NULL,
                                  .sum = out ? out + c * s->m : NULL};
    }
    bool whole = point_sweep_run(&p);
    for (size_t c = 0; c < s->columns && out; c++)
        panels_forward(&s->r, out + c * s->m);
    return whole;
}

/* Compute the slope; for one column also B'W 1, of the entries that products
 * with H have: else H would not be symmetric. */
static bool restricted_slope(struct subspace *s, enum klr_precision precision)
{
    const struct sweep_vector vector[] = {{.t = s->all.g, .sum = s->bg},
                                          {.t = s->all.curve, .sum = s->bw}};
    bool curve = subspace_has_bias(s) && s->columns == 1;
    bool both = curve && precision == s->directions;
    memset(s->bw, 0, s->m * sizeof *s->bw);
    if (!(both
              ? subspace_sweep(s, precision, 2, vector)
              : subspace_multiply(s, precision, NULL, NULL, s->all.g, s->bg)) ||
        (curve && !both && !subspace_sweep(s, s->directions, 1, vector + 1)))
        return false;
    if (both)
        panels_forward(&s->r, s->bg);
    if (curve)
        panels_forward(&s->r, s->bw);
    for (size_t k = 0; k < subspace_length(s); k++)
        s->slope[k] = s->w[k] - s->bg[k];
    return true;
}

/* For one column: hq = H q, and u = B q at all examples, in one sweep. */
static bool restricted_column(struct subspace *s, double *u)
{
    const struct sweep_vector vector = {.v = s->v, .u = u, .sum = s->hq};
    memcpy(s->v, s->q, s->m * sizeof *s->q);
    panels_backward(&s->r, s->v);
    bool whole = subspace_sweep(s, s->directions, 1, &vector);
    panels_forward(&s->r, s->hq);
    double mean = curve_mean(s, &s->all, u);
    for (size_t k = 0; k < s->m; k++)
        s->hq[k] += s->q[k] - mean * s->bw[k];
    return whole;
}

/* Likewise for several columns, by two products, the means of columns being
 * taken between them; on a sample or on all examples. */
static bool restricted_columns(struct subspace *s, const struct fit *fit,
                               double *u)
{
    bool all = fit == &s->all;
    if (!all)
        sample_values(s, s->q, u);
    else if (!subspace_multiply(s, s->directions, s->q, u, NULL, NULL))
        return false;
    s->functions->bend(s, fit, u, s->dual);
    if (!all)
        sample_gather(s, s->dual, s->hq);
    else if (!subspace_multiply(s, s->directions, NULL, NULL, s->dual, s->hq))
        return false;
    for (size_t k = 0; k < subspace_length(s); k++)
        s->hq[k] += s->q[k];
    return true;
}

/* ---- a step ---- */

static bool subspace_direction(struct subspace *s, struct fit *fit,
                               double accuracy, double distance,
                               size_t *products)
{
    size_t length = subspace_length(s), size = fit->n * fit->columns;
    double *u = fit->next;
    memset(s->x, 0, length * sizeof *s->x);
    memset(s->du, 0, size * sizeof *s->du);
    for (size_t k = 0; k < length; k++)
        s->rest[k] = -s->slope[k];
    subspace_invert(s, s->rest, s->z);
    memcpy(s->q, s->z, length * sizeof *s->q);
    double ez = dot(length, s->rest, s->z), first = ez;
    for (*products = 0; *products < RESTRICTED_PRODUCTS && ez > 0;) {
        if (!(s->columns == 1 && fit == &s->all
                  ? restricted_column(s, u)
                  : restricted_columns(s, fit, u)))
            return false;
        ++*products;
        s->progress.iterations += fit == &s->all;
        double step = ez / dot(length, s->q, s->hq), before = ez;
        for (size_t k = 0; k < length; k++) {
            s->x[k] += step * s->q[k];
            s->rest[k] -= step * s->hq[k];
        }
        add_parts(s->problem->op->pool, size, s->du, step, u, s->du);
        subspace_invert(s, s->rest, s->z);
        ez = dot(length, s->rest, s->z);
        if (!(ez > accuracy * accuracy * first) &&
            !(dot(length, s->rest, s->rest) > 2 * distance))
            break;
        if (!subspace_goes_on(s))
            return false;
        for (size_t k = 0; k < length; k++)
            s->q[k] = s->z[k] + ez / before * s->q[k];
    }
    return true;
}

/* ---- the gap ---- */

/* With 1/2 |w - B'dual|^2, at u and its best rho; relative. */
static double restricted_gap(struct subspace *s, double distance)
{
    size_t length = subspace_length(s);
    subspace_evaluate(s, &s->all);
    double gap = distance + s->functions->excess(s);
    s->objective = 0.5 * dot(length, s->w, s->w) + s->all.losses;
    s->gap = s->objective != 0 ? gap / fabs(s->objective) : 0;
    s->progress.violation = s->progress.gap = s->gap;
    s->progress.objective = s->objective;
    return s->gap;
}

/* The gap by what is known after a step. */
static void restricted_estimate(struct subspace *s, double t)
{
    double square = 0, moved;
    s->functions->bend(s, &s->all, s->du, s->dual);
    double step = s->functions->follow(s, t, s->dual, &moved);
    for (size_t k = 0; k < subspace_length(s); k++) {
        double d =
            (1 - step) * s->slope[k] + (t - step) * s->x[k] - step * s->rest[k];
        square += d * d;
    }
    if (moved > 0)
        square = pow(sqrt(square) + moved, 2);
    restricted_gap(s, 0.5 * square);
}

/* The gap by a sweep of double entries, which give u, too. */
static bool restricted_confirm(struct subspace *s)
{
    size_t length = subspace_length(s);
    double distance = 0;
    if (!subspace_multiply(s, KLR_DOUBLE, s->w, s->all.u, s->dual, s->z))
        return false;
    for (size_t k = 0; k < length; k++)
        distance += 0.5 * (s->w[k] - s->z[k]) * (s->w[k] - s->z[k]);
    s->bdual = dot(length, s->z, s->z);
    restricted_gap(s, distance);
    return true;
}

/* ---- the method ---- */

/* How exactly a step is solved for: to a tenth far from the end, else as the
 * gap that is asked for needs. */
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
    bool renews = *products > RESTRICTED_MANY && !s->sweep.times;
    if (renews && !subspace_renew(s))
        return false;
    s->renewed = renews;
    double accuracy = restricted_accuracy(s, eps), distance = INFINITY;
    if (precision == KLR_DOUBLE)
        distance = fmax(0.1 * eps * fabs(s->objective),
                        0.5e-4 * dot(subspace_length(s), s->slope, s->slope));
    if (!subspace_direction(s, &s->all, accuracy, distance, products))
        return false;
    if (precision == KLR_DOUBLE &&
        !subspace_multiply(s, precision, s->x, s->du, NULL, NULL))
        return false;
    restricted_estimate(s, subspace_search(s, &s->all, s->du));
    return true;
}

/* How the steps ended, as `limit` says unless the clock did. A step that was
 * not made has left no trace in w, u and g, and g is the dual point, unless the
 * clock ended it. */
static enum klr_status restricted_end(struct subspace *s, enum klr_status limit)
{
    enum klr_status status = clock_check(s->problem->clock, s->problem->params,
                                         &s->progress, NULL, NULL);
    memcpy(s->dual, s->all.g, s->n * s->columns * sizeof *s->dual);
    if (!clock_stopped(s->problem->clock) && restricted_confirm(s))
        return status ? status : limit;
    return s->problem->clock->status;
}

/* True if the objective has fallen by more than that share of it. */
static bool restricted_falls(const struct subspace *s, double before,
                             double share)
{
    return s->objective < before &&
           (isinf(before) || before - s->objective > share * fabs(before));
}

/* u and g at w, of floats. */
static bool restricted_begin(struct subspace *s, double eps)
{
    s->directions = KLR_FLOAT;
    s->gap = INFINITY;
    s->progress.target = eps;
    s->progress.violation = INFINITY;
    if (!subspace_multiply(s, KLR_FLOAT, s->w, s->all.u, NULL, NULL))
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
        if (s->gap <= eps || !restricted_falls(s, before, fall))
            break;
        before = s->objective;
    }
    return goes_on;
}

/* The gain of steps. */
struct restricted_gain {
    double gap, objective; /* the least, when there was a gain last */
    size_t vain;           /* steps since then */
};

static const struct restricted_gain restricted_none = {INFINITY, INFINITY, 0};

static void restricted_count(const struct subspace *s,
                             struct restricted_gain *g)
{
    const double fall = 1e-6; /* of an objective that is far from its end */
    bool gains =
        s->gap < 0.5 * g->gap || restricted_falls(s, g->objective, fall);
    g->vain++;
    if (!gains)
        return;
    g->vain = 0;
    g->gap = fmin(g->gap, s->gap);
    g->objective = fmin(g->objective, s->objective);
}

/* Steps are by floats until these say that the end is near, or gain no more;
 * then by doubles. The problem is a slightly different one then, and gains
 * count anew. If a step by doubles does not halve the gap, the float entries of
 * H misled it: directions are by doubles, too, from then on. */
static enum klr_status subspace_newton(struct subspace *s, double eps)
{
    enum klr_precision precision = KLR_FLOAT;
    struct restricted_gain gain = restricted_none;
    /* after a level, h is to be renewed by the weights of all examples */
    size_t products = s->level ? RESTRICTED_MANY + 1 : 0;
    int step = 0;
    if (!restricted_begin(s, eps))
        return s->problem->clock->status;
    for (; step < RESTRICTED_STEPS && gain.vain < RESTRICTED_VAIN; step++) {
        double before = s->gap;
        if (!restricted_step(s, precision, eps, &products) ||
            (precision == KLR_DOUBLE && !restricted_confirm(s)))
            break;
        restricted_count(s, &gain);
        if (precision == KLR_DOUBLE && !(s->gap < 0.5 * before))
            s->directions = KLR_DOUBLE;
        if (precision == KLR_FLOAT &&
            (s->gap <= eps || gain.vain == RESTRICTED_VAIN)) {
            precision = KLR_DOUBLE;
            gain = restricted_none;
            if (!restricted_confirm(s))
                break;
        }
        if (precision == KLR_DOUBLE && s->gap <= eps)
            return KLR_CONVERGED;
        if (!subspace_goes_on(s))
            break;
    }
    return restricted_end(s, step < RESTRICTED_STEPS ? KLR_PRECISION_LIMIT
                                                     : KLR_ITERATION_LIMIT);
}
