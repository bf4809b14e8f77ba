/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Steps of coef.c at one C: the line search, and how the hinge loss of svm is
 * approached.
 */
#include "solver/variants/coef.h"

enum { COEF_ANCHORS = 20 }; /* times that the gap is confirmed in double */

/* A step that raises P by more than that of itself is one of rounding. */
static const double coef_rise = 1e-3;
/* The width of the smoothed hinge falls once the gap is less than that of the
 * excess that the width leaves, by a factor of this at most. */
static const double coef_part = 0.5, coef_narrowing = 10;
/* Below that of the width rounding is all there is. */
static const double coef_least_width = 1e-12;

/* ---- the line search ---- */

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
        double w = alpha * sigmoid(margin - c->loss.shift);
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
    for (size_t i = 0; i < c->n && t > 0; i++) {
        c->beta[i] += t * c->d[i];
        c->u[i] += t * c->kd[i];
    }
}

/* Its length; 0 if rounding leaves no step to make. beta and u before it stay
 * in p and kz: a step that is far too long cannot be subtracted again. */
static double coef_step(struct coef *c)
{
    const size_t bytes = c->n * sizeof *c->beta;
    double t = dot(c->n, c->r, c->d) < 0 ? coef_root(c) : 0;
    memcpy(c->p, c->beta, bytes);
    memcpy(c->kz, c->u, bytes);
    coef_move(c, t);
    return t;
}

static void coef_step_back(struct coef *c)
{
    memcpy(c->beta, c->p, c->n * sizeof *c->beta);
    memcpy(c->u, c->kz, c->n * sizeof *c->u);
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

/* ---- steps ---- */

/* To a width that is smaller by as much as the target asks for, and along the
 * direction that this has at once. */
static enum klr_status coef_narrow(struct coef *c)
{
    double most = 0.6 * c->progress.target * c->at.objective;
    double factor = fmin(fmax(c->at.excess / most, 2), coef_narrowing);
    enum klr_status status = coef_foresee(c, factor);
    coef_set_width(c, c->at.width / factor);
    coef_set_loss(c);
    for (size_t i = 0; i < c->n; i++) {
        c->r[i] *= factor;
        c->d[i] *= factor;
        c->kd[i] *= factor;
    }
    coef_move(c, status == KLR_CONVERGED ? coef_root(c) : 0);
    return status;
}

/* Steps at the present costs and width until the relative gap is the target, or
 * to a width that is not narrow enough for that. */
static enum klr_status coef_steps(struct coef *c)
{
    double best = INFINITY;
    int idle = 0, anchors = 0;
    c->fall = NAN;
    c->norm = 0;
    if (!coef_begin(c))
        return c->problem->clock->status;
    for (;;) {
        if (c->narrows && coef_gap(c) < coef_gap_at(&c->best.at))
            coef_keep(c, &c->best);
        if (coef_gap(c) <= c->progress.target) {
            if (c->at.exact || c->progress.target > c->eps)
                return KLR_CONVERGED;
            if (++anchors > COEF_ANCHORS)
                return KLR_PRECISION_LIMIT;
            if (!coef_anchor(c))
                return c->problem->clock->status;
            best = INFINITY;
            if (coef_gap(c) > c->progress.target && !coef_look(c))
                return c->problem->clock->status;
            continue;
        }
        if (c->at.gap <= coef_part * c->at.excess)
            return KLR_CONVERGED;
        idle = c->at.gap < best ? 0 : idle + 1;
        best = fmin(best, c->at.gap);
        if (idle > coef_patience(c))
            return KLR_PRECISION_LIMIT;
        enum klr_status status = coef_clock(c);
        if (status == KLR_CONVERGED)
            status = c->direction(c);
        double before = c->at.primal, length = coef_step(c);
        if (status == KLR_CONVERGED && length == 0)
            return KLR_PRECISION_LIMIT;
        bool known = coef_look(c);
        c->fall = before - c->at.primal;
        if (!(c->fall >= -coef_rise * before)) {
            coef_step_back(c);
            return coef_look(c) ? KLR_PRECISION_LIMIT
                                : c->problem->clock->status;
        }
        if (!known || status != KLR_CONVERGED)
            return gravest(status, c->problem->clock->status);
    }
}

/* With double entries where floats do not do. */
static enum klr_status coef_steps_at_last(struct coef *c)
{
    enum klr_status status = coef_steps(c);
    if (status != KLR_PRECISION_LIMIT || c->precision == KLR_DOUBLE ||
        clock_stopped(c->problem->clock))
        return status;
    c->precision = KLR_DOUBLE;
    return coef_steps(c);
}

/* Where the width falls, the gap of an svm grows at first: the best point is
 * the answer where a limit ends that. */
static enum klr_status coef_descend(struct coef *c)
{
    enum klr_status status = coef_steps_at_last(c);
    while (status == KLR_CONVERGED && coef_gap(c) > c->progress.target) {
        status = c->at.width < coef_least_width ? KLR_PRECISION_LIMIT
                                                : coef_narrow(c);
        if (status == KLR_CONVERGED)
            status = coef_steps_at_last(c);
    }
    if (status != KLR_CONVERGED && c->narrows &&
        coef_gap(c) > coef_gap_at(&c->best.at))
        coef_return(c, &c->best);
    return status;
}
