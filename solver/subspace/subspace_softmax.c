/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The losses of a softmax in the span of few kernels, a column of w for each
 * class. With p_i the probabilities of example i and g_ic = C_i ([c = y(i)] -
 * p_ic), W_i = C_i (diag p_i - p_i p_i') couples the columns:
 *
 *   slope = w - B'g,   H x = x + B'W (B x - 1 mean'),   L mean = sum_i W_i B x
 *
 * where L = sum_i W_i is the Laplacian of a graph of the classes. It keeps the
 * sum of g at 0 in each column. So sum_c w_c = 0 stays.
 *
 * A point of the dual is g~_ic = C_i ([c = y(i)] - p~_ic), p~_i a distribution,
 * with sum_i g~_ic = 0 for each c. By Fenchel and Young
 *
 *   P(w, rho) - D(g~) = 1/2 sum_c |w_c - B'g~_c|^2 + sum_i C_i KL(p~_i || p_i)
 *
 * g~ = g - s W (B x - 1 mean') has the same form as that of two classes: see
 * subspace_newton.c.
 */
#include "solver/subspace/subspace_parts.h"

static double softmax_fit_losses(const struct subspace *s,
                                 const struct fit *fit, const double *u,
                                 double *rho)
{
    if (subspace_has_bias(s))
        softmax_rho(&fit->softmax, u, rho);
    return softmax_losses(&fit->softmax, u, rho);
}

static void softmax_fit_gradient(const struct subspace *s, struct fit *fit)
{
    const struct softmax *sm = &fit->softmax;
    size_t k = fit->columns;
    (void)s;
    for (size_t i = 0; i < fit->n; i++) {
        softmax_row(sm, i, fit->u, fit->rho);
        memcpy(fit->curve + i * k, sm->p, k * sizeof *sm->p);
        for (size_t c = 0; c < k; c++)
            fit->g[i * k + c] = fit->cost[i] * softmax_residual(sm, i, c);
    }
}

/* [c = d] - p_c. 1 - p_c is the sum of the others: what is near 0 keeps its
 * digits. */
static double softmax_rest(const struct fit *fit, size_t i, size_t c, size_t d)
{
    size_t k = fit->columns;
    const double *p = fit->curve + i * k;
    double others = 0;
    if (c != d)
        return -p[c];
    for (size_t e = 0; e < k; e++)
        others += e == c ? 0 : p[e];
    return others;
}

/* C_i p_d ([c = d] - p_c) */
static double softmax_curvature(const struct fit *fit, size_t i, size_t c,
                                size_t d)
{
    return fit->cost[i] * fit->curve[i * fit->columns + d] *
           softmax_rest(fit, i, c, d);
}

/* With s = C_i^(1/2) (I - p 1') diag p^(1/2), s s' = C_i (diag p - p p'). */
static void softmax_root(const struct fit *fit, size_t i, double *s)
{
    size_t k = fit->columns;
    for (size_t e = 0; e < k * k; e++)
        s[e] = sqrt(fit->cost[i] * fit->curve[i * k + e % k]) *
               softmax_rest(fit, i, e / k, e % k);
}

static void softmax_renew(struct subspace *s)
{
    size_t k = s->columns;
    for (size_t i = 0; i < s->sample.n; i++)
        memcpy(s->sample.curve + i * k, s->all.curve + s->row[i] * k,
               k * sizeof *s->sample.curve);
}

/* ---- the Hessian ---- */

/* t_i = W_i u_i */
static void bend_row(const struct fit *fit, size_t i, const double *u,
                     double *t)
{
    size_t k = fit->columns;
    const double *p = fit->curve + i * k;
    double mean = dot(k, p, u);
    for (size_t c = 0; c < k; c++)
        t[c] = fit->cost[i] * p[c] * (u[c] - mean);
}

/* L mean = sum_i t_i. */
static void bend_mean(const struct fit *fit, const double *t, double *mean)
{
    const struct softmax *sm = &fit->softmax;
    size_t k = fit->columns;
    memset(mean, 0, k * sizeof *mean);
    memset(sm->w, 0, k * k * sizeof *sm->w);
    for (size_t i = 0; i < fit->n; i++) {
        const double *p = fit->curve + i * k;
        for (size_t a = 0; a < k; a++) {
            mean[a] += t[i * k + a];
            for (size_t b = a + 1; b < k; b++)
                sm->w[a * k + b] += fit->cost[i] * p[a] * p[b];
        }
    }
    laplacian_factor(k, sm->w);
    laplacian_solve(k, sm->w, mean);
}

static void softmax_bend(const struct subspace *s, const struct fit *fit,
                         const double *u, double *t)
{
    const struct softmax *sm = &fit->softmax;
    size_t k = fit->columns;
    for (size_t i = 0; i < fit->n; i++)
        bend_row(fit, i, u + i * k, t + i * k);
    if (!subspace_has_bias(s))
        return;
    bend_mean(fit, t, sm->slope);
    for (size_t i = 0; i < fit->n; i++) {
        bend_row(fit, i, sm->slope, sm->step);
        for (size_t c = 0; c < k; c++)
            t[i * k + c] -= sm->step[c];
    }
}

/* ---- the dual ---- */

/* p (k) of a point of the dual times t, of example i: with that of y(i) it sums
 * to 1. Returns the sum of the others, which has all its digits. */
static double dual_row(const struct subspace *s, size_t i, double t, double *p)
{
    const struct fit *fit = &s->all;
    size_t k = s->columns, y = fit->softmax.class[i];
    double others = 0, cost = fit->cost[i] > 0 ? fit->cost[i] : 1;
    for (size_t c = 0; c < k; c++) {
        p[c] = -t * s->dual[i * k + c] / cost;
        others += c == y ? 0 : p[c];
    }
    p[y] = fmax(1 - others, 0);
    return others;
}

static double softmax_follow(const struct subspace *s, double t, double *dual,
                             double *moved)
{
    const struct fit *fit = &s->all;
    *moved = 0;
    size_t k = s->columns;
    double step = t;
    for (size_t e = 0; e < s->n * k; e++) {
        double most = fit->cost[e / k] * fit->curve[e]; /* C p */
        if (most + step * dual[e] < 0)
            step = most / -dual[e];
    }
    for (size_t i = 0; i < s->n; i++) {
        size_t y = fit->softmax.class[i];
        double *row = dual + i * k, others = 0;
        for (size_t c = 0; c < k; c++)
            row[c] =
                fmin(fit->g[i * k + c] - step * row[c], c == y ? INFINITY : 0);
        for (size_t c = 0; c < k; c++)
            others += c == y ? 0 : row[c];
        row[y] = -others;
    }
    return step;
}

/* q log(q / p) - q + p, not negative, for q = p + change: of a small change it
 * keeps digits that C would make much of. */
static double divergence(double q, double p, double log_p, double change)
{
    double part = change / p;
    if (fabs(part) < 0.5)
        return p * ((1 + part) * log1p(part) - part);
    return (q > 0 ? q * (log(q) - log_p) : 0) - q + p;
}

/* C_i KL(p~_i || p_i) as a sum of such terms. 1 - p of y(i) is the sum of the
 * others, and so its change is what they lose. */
static double excess_row(const struct subspace *s, size_t i)
{
    const struct fit *fit = &s->all;
    const struct softmax *sm = &fit->softmax;
    size_t k = s->columns, y = sm->class[i];
    const double *u = fit->u + i * k;
    double *dual = sm->step, sum = 0, lost = 0;
    double loss = softmax_row(sm, i, fit->u, fit->rho);
    dual_row(s, i, 1, dual);
    for (size_t c = 0; c < k; c++)
        lost += c == y ? 0 : sm->p[c] - dual[c];
    for (size_t c = 0; c < k; c++) {
        double log_p = u[c] - u[y] - (fit->rho[c] - fit->rho[y]) - loss;
        double change = c == y ? lost : dual[c] - sm->p[c];
        sum += divergence(dual[c], sm->p[c], log_p, change);
    }
    return fit->cost[i] * fmax(sum, 0);
}

static double softmax_excess(const struct subspace *s)
{
    double *total = s->all.softmax.slope, excess = 0;
    size_t k = s->columns;
    memset(total, 0, k * sizeof *total);
    for (size_t i = 0; i < s->n; i++) {
        excess += excess_row(s, i);
        for (size_t c = 0; c < k; c++)
            total[c] += s->dual[i * k + c];
    }
    for (size_t c = 0; c < k; c++)
        excess += fabs(s->all.rho[c] * total[c]);
    return excess;
}

static double softmax_conjugate(const struct subspace *s, const double *base,
                                double t, double *slope)
{
    const struct fit *fit = &s->all;
    (void)base;
    double *p = fit->softmax.step, sum = 0;
    size_t k = s->columns;
    *slope = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t y = fit->softmax.class[i];
        double others = dual_row(s, i, t, p);
        for (size_t c = 0; c < k; c++) {
            double log_p = p[c] > 0 ? log(p[c]) : 0;
            if (c == y && others < 0.5)
                log_p = log1p(-others);
            sum += fit->cost[i] * p[c] * log_p;
            *slope += s->dual[i * k + c] * log_p;
        }
    }
    return sum;
}

/* ---- the verdict ---- */

static double softmax_loss_of(const struct subspace *s, size_t i)
{
    return softmax_row(&s->all.softmax, i, s->all.u, s->all.rho);
}

/* The loss of i changes by C_i d^2 / 2 at most where it was least, if all of
 * its decision values err by d. */
static void softmax_rounding(const struct subspace *s, double error,
                             struct certificate *c)
{
    double total = 0, length = sqrt(dot(s->n * s->columns, s->dual, s->dual));
    for (size_t i = 0; i < s->n; i++)
        total += s->all.cost[i];
    c->effect = 0.5 * total * error * error;
    c->blur = error * length;
}

static double softmax_fit_constant(struct subspace *s)
{
    return softmax_constant(&s->all.softmax, subspace_has_bias(s));
}

static const struct subspace_functions subspace_softmax = {
    softmax_fit_losses, softmax_fit_gradient, softmax_curvature,
    softmax_root,       softmax_renew,        softmax_bend,
    softmax_follow,     softmax_excess,       softmax_conjugate,
    softmax_loss_of,    softmax_rounding,     softmax_fit_constant};
