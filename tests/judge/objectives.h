/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Objectives and optimality conditions of a binary problem: see the head of
 * evaluate.c.
 */
#ifndef KLR_TESTS_OBJECTIVES_H
#define KLR_TESTS_OBJECTIVES_H

#include <math.h>

#include "tests/judge/read.h"

enum penalty { KERNEL_NORM, COEF_NORM, HALF_NORM }; /* b'Kb, b'b, |b|_1/2 */

struct loss {
    enum penalty penalty;
    bool logistic;
    real shift, box;
    bool bias;
    bool fisher; /* squares: see other_objectives.h */
};

/* One pair of classes, on the rows of these classes. The model's coefficients
 * are beta, the dual point is beta_dual. */
struct pair {
    size_t n;
    const struct vector **x; /* (n) */
    real *y, *cost, *beta, *u, *beta_dual, *u_dual;
    real rho;
};

static real sigma(real z)
{
    return z > 0 ? 1 / (1 + expl(-z)) : expl(z) / (1 + expl(z));
}

/* C G(alpha / C); NaN outside of [0, C]. */
static real entropy(real alpha, real cost)
{
    real d = alpha / cost;

    if (d == 0 || d == 1)
        return 0;
    return d > 0 && d < 1 ? cost * (d * logl(d) + (1 - d) * log1pl(-d)) : NAN;
}

/* Where the loss at a margin is reached: logistic losses. */
static real best_alpha(const struct loss *loss, real margin, real cost)
{
    real alpha = cost * sigma(loss->shift - margin);

    return fminl(fmaxl(alpha, loss->box), cost - loss->box);
}

static real loss_at(const struct loss *loss, real margin, real cost)
{
    real z = loss->shift - margin;

    if (!loss->logistic)
        return margin < 1 ? cost * (1 - margin) : 0;
    real alpha = best_alpha(loss, margin, cost);
    if (alpha == cost * sigma(z)) /* inside the box: no cancellation */
        return cost * (z < 0 ? log1pl(expl(z)) : log1pl(expl(-z)) + z);
    return alpha * z - entropy(alpha, cost);
}

static real quadratic(size_t n, const real *beta, const real *u)
{
    real sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += beta[i] * u[i];
    return sum / 2;
}

static real penalty(const struct pair *p, const struct loss *loss)
{
    real sum = 0;

    if (loss->penalty == KERNEL_NORM)
        return quadratic(p->n, p->beta, p->u);
    if (loss->penalty == COEF_NORM)
        return quadratic(p->n, p->beta, p->beta);
    for (size_t i = 0; i < p->n; i++)
        sum += sqrtl(fabsl(p->beta[i]));
    return sum;
}

static real primal(const struct pair *p, const struct loss *loss, real rho)
{
    real sum = penalty(p, loss);

    for (size_t i = 0; i < p->n; i++)
        sum += loss_at(loss, p->y[i] * (p->u[i] - rho), p->cost[i]);
    return sum;
}

static real dual(const struct pair *p, const struct loss *loss)
{
    bool coef = loss->penalty == COEF_NORM;
    real sum = -quadratic(p->n, coef ? p->u_dual : p->beta_dual, p->u_dual);

    if (loss->penalty == HALF_NORM)
        return NAN;
    for (size_t i = 0; i < p->n; i++) {
        real alpha = p->beta_dual[i] * p->y[i];

        if (loss->logistic)
            sum += loss->shift * alpha - entropy(alpha, p->cost[i]);
        else
            sum += alpha;
    }
    return sum;
}

/* Slope of the logistic primal in rho; increasing. */
static real slope(const struct pair *p, const struct loss *loss, real rho)
{
    real sum = 0;

    for (size_t i = 0; i < p->n; i++)
        sum +=
            p->y[i] * best_alpha(loss, p->y[i] * (p->u[i] - rho), p->cost[i]);
    return sum;
}

static real best_rho_logistic(const struct pair *p, const struct loss *loss)
{
    real low = p->u[0], high = p->u[0];

    for (size_t i = 0; i < p->n; i++) {
        low = fminl(low, p->u[i]);
        high = fmaxl(high, p->u[i]);
    }
    low -= 100 + loss->shift;
    high += 100 + loss->shift;
    for (int step = 0; step < 100; step++) {
        real middle = (low + high) / 2;

        if (slope(p, loss, middle) < 0)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

struct kink {
    real at, rise;
};

static int kink_compare(const void *a, const void *b)
{
    const struct kink *s = a, *t = b;

    return (s->at > t->at) - (s->at < t->at);
}

/* The hinge primal is piecewise linear in rho, with kinks at u_i - y_i. */
static real best_rho_hinge(const struct pair *p)
{
    struct kink *kinks = take(p->n, sizeof *kinks);
    real rise = 0, rho = 0;

    for (size_t i = 0; i < p->n; i++) {
        kinks[i] = (struct kink){p->u[i] - p->y[i], p->cost[i]};
        rise -= p->y[i] < 0 ? p->cost[i] : 0;
    }
    qsort(kinks, p->n, sizeof *kinks, kink_compare);
    for (size_t i = 0; i < p->n && rise < 0; i++) {
        rho = kinks[i].at;
        rise += kinks[i].rise;
    }
    free(kinks);
    return rho;
}

static real best_rho(const struct pair *p, const struct loss *loss)
{
    if (!loss->bias)
        return 0;
    return loss->logistic ? best_rho_logistic(p, loss) : best_rho_hinge(p);
}

/* Keerthi (3.2), (3.11): half the spread of H; for the hinge LIBSVM's
 * m(alpha) - M(alpha), that is b_up - b_low over the points that may move.
 * Those at an end of the box, but for rounding, move one way only, Consolo
 * (27); klr has none. */
static real violation(const struct pair *p, const struct loss *loss)
{
    real up = -INFINITY, low = INFINITY;

    for (size_t i = 0; i < p->n; i++) {
        real alpha = p->beta_dual[i] * p->y[i], cost = p->cost[i];
        real h = p->u_dual[i] - p->y[i], edge = loss->box * (1 + 1e-9L);
        bool more = alpha<cost - edge, less = alpha> edge;

        if (loss->logistic)
            h = p->u_dual[i] +
                p->y[i] * (logl(alpha / (cost - alpha)) - loss->shift);
        if (loss->logistic && loss->box == 0)
            more = less = true;
        if (p->y[i] > 0 ? less : more) /* beta_i may become less */
            up = fmaxl(up, h);
        if (p->y[i] > 0 ? more : less)
            low = fminl(low, h);
    }
    if (!loss->bias)
        return fmaxl(up, -low);
    return loss->logistic ? (up - low) / 2 : up - low;
}

static real excess(const struct pair *p, const struct loss *loss)
{
    real largest = -INFINITY;

    for (size_t i = 0; i < p->n; i++) {
        real alpha = p->beta_dual[i] * p->y[i], cost = p->cost[i];
        real over = fmaxl(loss->box - alpha, alpha - (cost - loss->box));

        largest = fmaxl(largest, over / cost);
    }
    return largest;
}

#endif
