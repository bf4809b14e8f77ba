/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two directions of klr_coef.c. Either takes two products with K a step: H
 * d one for K d and one more, a nonlinear conjugate gradient one for K d and
 * one for the gradient where it leads.
 */
#include "solver/variants/klr_coef.h"

enum { COEF_STEPS = 2000 }; /* of conjugate gradients, in one direction */

static const double coef_accuracy = 0.3; /* fall of their residual */

/* ---- the Newton direction ---- */

static enum klr_status coef_newton(struct coef *c)
{
    size_t n = c->n;
    double *ap = c->kx;
    enum klr_status status = KLR_CONVERGED;
    for (size_t i = 0; i < n; i++) {
        c->d[i] = c->kd[i] = 0;
        c->p[i] = c->res[i] = -c->r[i];
    }
    double rz = dot(n, c->res, c->res), goal = coef_accuracy * coef_accuracy;
    goal *= rz;
    for (int step = 0; step < COEF_STEPS && rz > goal; step++) {
        status = clock_check(c->problem->clock, c->problem->params,
                             &c->progress, coef_gap, c);
        if (status != KLR_CONVERGED)
            break;
        if (!coef_product(c, c->p, KLR_FLOAT, c->z)) /* K p */
            break;
        coef_weigh(c, c->z, c->x);
        if (!coef_product(c, c->x, KLR_FLOAT, ap))
            break;
        double curvature = dot(n, c->p, c->p) + dot(n, c->x, c->z);
        double a = rz / curvature, old = rz;
        for (size_t i = 0; i < n; i++) {
            c->d[i] += a * c->p[i];
            c->kd[i] += a * c->z[i];
            c->res[i] -= a * (c->p[i] + ap[i]);
        }
        rz = dot(n, c->res, c->res);
        for (size_t i = 0; i < n; i++)
            c->p[i] = c->res[i] + rz / old * c->p[i];
    }
    return gravest(status, c->problem->clock->status);
}

/* ---- the nonlinear conjugate gradient ---- */

static enum klr_status coef_conjugate(struct coef *c)
{
    size_t n = c->n;
    double norm = dot(n, c->last, c->last);
    double turn = dot(n, c->r, c->r) - dot(n, c->r, c->last);
    double b = norm > 0 ? fmax(turn / norm, 0) : 0;
    for (size_t i = 0; i < n; i++)
        c->d[i] = b * c->d[i] - c->r[i];
    if (!(dot(n, c->d, c->r) < 0))
        for (size_t i = 0; i < n; i++)
            c->d[i] = -c->r[i];
    memcpy(c->last, c->r, n * sizeof *c->last);
    if (coef_product(c, c->d, KLR_FLOAT, c->kd))
        return KLR_CONVERGED;
    memset(c->d, 0, n * sizeof *c->d);
    return c->problem->clock->status;
}
