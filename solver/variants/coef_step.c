/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two directions of coef.c. Either takes two products with K a step: H
 * d one for K d and one more, a nonlinear conjugate gradient one for K d and
 * one for the gradient where it leads.
 */
#include "solver/variants/coef.h"

enum { COEF_STEPS = 2000 }; /* of conjugate gradients, in one direction */

/* By how much the residual of conjugate gradients falls in the norm of M^-1. */
static const double coef_accuracy = 0.3;

/* ---- Newton directions ---- */

/* One step of conjugate gradients; rz is r'z before and after. False: the clock
 * ended it. */
static bool coef_advance(struct coef *c, struct deflation *m, double *rz)
{
    size_t n = c->n;
    double *kp = c->kz, *hp = c->kx;
    if (!coef_product(c, c->p, c->precision, kp))
        return false;
    deflation_add(&c->deflation, c->p, kp);
    coef_weigh(c, kp, c->x);
    if (!coef_product(c, c->x, c->precision, hp))
        return false;
    double curvature = dot(n, c->p, c->p) + dot(n, c->x, kp);
    double a = *rz / curvature, old = *rz;
    for (size_t i = 0; i < n; i++) {
        c->d[i] += a * c->p[i];
        c->kd[i] += a * kp[i];
        c->res[i] -= a * (c->p[i] + hp[i]);
    }
    deflation_solve(m, c->res, c->z);
    *rz = dot(n, c->res, c->z);
    for (size_t i = 0; i < n; i++)
        c->p[i] = c->z[i] + *rz / old * c->p[i];
    return true;
}

/* d with (I + K V K) d = res, about, and K d. */
static enum klr_status coef_gradients(struct coef *c)
{
    size_t n = c->n;
    enum klr_status status = KLR_CONVERGED;
    for (size_t i = 0; i < n; i++)
        c->d[i] = c->kd[i] = 0;
    long long before = c->progress.iterations;
    struct deflation *m = coef_preconditioner(c);
    if (!m || !deflation_weigh(m, c->w))
        return c->problem->clock->status;
    deflation_solve(m, c->res, c->z);
    memcpy(c->p, c->z, n * sizeof *c->p);
    double rz = dot(n, c->res, c->z);
    double goal = coef_accuracy * coef_accuracy * rz;
    for (int step = 0; step < COEF_STEPS && rz > goal; step++) {
        status = clock_check(c->problem->clock, c->problem->params,
                             &c->progress, coef_gap, c);
        if (status != KLR_CONVERGED || !coef_advance(c, m, &rz))
            break;
    }
    if (m == &c->deflation)
        c->products += (double)(c->progress.iterations - before);
    return gravest(status, c->problem->clock->status);
}

static enum klr_status coef_newton(struct coef *c)
{
    for (size_t i = 0; i < c->n; i++)
        c->res[i] = -c->r[i];
    return coef_gradients(c);
}

static enum klr_status coef_foresee(struct coef *c, double factor)
{
    const double *y = c->problem->y;
    for (size_t i = 0; i < c->n; i++) {
        double t = c->loss.shift - y[i] * (c->u[i] - c->at.rho);
        c->z[i] = (1 - 1 / factor) * y[i] * t;
        c->w[i] *= factor;
    }
    c->total *= factor;
    coef_weigh(c, c->z, c->x);
    if (!coef_product(c, c->x, c->precision, c->res))
        return c->problem->clock->status;
    for (size_t i = 0; i < c->n; i++)
        c->res[i] -= c->r[i];
    return coef_gradients(c);
}

/* ---- the nonlinear conjugate gradient ---- */

static enum klr_status coef_conjugate(struct coef *c)
{
    size_t n = c->n;
    if (!deflation_weigh(&c->deflation, c->w))
        return c->problem->clock->status;
    deflation_solve(&c->deflation, c->r, c->z);
    double turn = dot(n, c->r, c->z) - dot(n, c->last, c->z);
    double b = c->norm > 0 ? fmax(turn / c->norm, 0) : 0;
    for (size_t i = 0; i < n; i++)
        c->d[i] = b * c->d[i] - c->z[i];
    if (!(dot(n, c->d, c->r) < 0))
        for (size_t i = 0; i < n; i++)
            c->d[i] = -c->z[i];
    memcpy(c->last, c->r, n * sizeof *c->last);
    c->norm = dot(n, c->r, c->z);
    if (coef_product(c, c->d, c->precision, c->kd)) {
        deflation_add(&c->deflation, c->d, c->kd);
        return KLR_CONVERGED;
    }
    memset(c->d, 0, n * sizeof *c->d);
    return c->problem->clock->status;
}
