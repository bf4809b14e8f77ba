/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A start for the Newton method at the next C: where P is least in the span of
 * the last points of the path. Their products with K are known, so that it
 * takes none.
 *
 * With u_a = K beta_a, a point sum_a c_a beta_a and rho optimal there, P has
 * the slopes u_a'(beta - g) by c_a. The matrix of its second derivatives is
 *
 *   H_ab = beta_a'u_b + sum_i W_i (u_ai - m_a) (u_bi - m_b)
 *
 * where the means m, weighted by W, stand for what rho does. For the columns of
 * a softmax their coupling is left out, which makes H too large: steps are
 * shorter, and still descend.
 */
#include "solver/newton/newton_parts.h"

enum { SPAN_STEPS = 20 };

struct span {
    const struct known *point; /* (count) */
    size_t count;
    double slope[NEWTON_KNOWN];
    double h[NEWTON_KNOWN][NEWTON_KNOWN]; /* H above the diagonal; its factor */
    double step[NEWTON_KNOWN];
};

/* Keeps the present point, or its dual point if that has a smaller P, in place
 * of the one known for longest. */
static void span_keep(struct newton *nt)
{
    bool dual = nt->primal_g < nt->primal;
    if (nt->known_count < NEWTON_KNOWN)
        nt->known_count++;
    struct known last = nt->known[NEWTON_KNOWN - 1];
    for (size_t a = NEWTON_KNOWN; --a > 0;)
        nt->known[a] = nt->known[a - 1];
    size_t bytes = nt->size * sizeof *last.beta;
    memcpy(last.beta, dual ? nt->g : nt->beta, bytes);
    memcpy(last.u, dual ? nt->kg : nt->u, bytes);
    last.precision = nt->precision;
    nt->known[0] = last;
}

/* out_i = W_i (x_i - m), with m = 0 without a bias. */
static void span_weigh(const struct newton *nt, const double *x, double *out)
{
    for (size_t c = 0; c < nt->columns; c++) {
        double sum = 0, total = 0;
        for (size_t i = c; i < nt->size; i += nt->columns) {
            double w = nt->s[i] * nt->s[i];
            out[i] = w * x[i];
            sum += out[i];
            total += w;
        }
        double mean = nt->bias && total > 0 ? sum / total : 0;
        for (size_t i = c; i < nt->size; i += nt->columns)
            out[i] -= mean * (nt->s[i] * nt->s[i]);
    }
}

/* Slopes and H at the present point, whose gradient is known. */
static void span_form(const struct newton *nt, struct span *span)
{
    double *weighted = nt->x;
    for (size_t a = 0; a < span->count; a++) {
        const double *u = span->point[a].u;
        span->slope[a] = dot(nt->size, u, nt->e);
        span_weigh(nt, u, weighted);
        for (size_t b = 0; b <= a; b++)
            span->h[b][a] = dot(nt->size, span->point[b].beta, u) +
                            dot(nt->size, span->point[b].u, weighted);
    }
}

/* step = -H^-1 slope. H of points that hardly differ is not singular: it is
 * that of a diagonal larger by a few roundings. */
static bool span_solve(struct span *span)
{
    double pivot[NEWTON_KNOWN];
    struct hessian h = {.rank = span->count,
                        .unpenalised = span->count,
                        .room = NEWTON_KNOWN,
                        .factor = *span->h,
                        .pivot = pivot};
    for (size_t a = 0; a < span->count; a++) {
        span->h[a][a] *= 1 + 1e-12;
        span->step[a] = -span->slope[a];
    }
    if (!hessian_factor(&h, 0))
        return false;
    hessian_forward(&h, span->step);
    hessian_backward(&h, span->step);
    return true;
}

/* The first of t = 1, 1/2, 1/4 ... with a smaller P; false if there is none. */
static bool span_move(struct newton *nt, const struct span *span)
{
    size_t bytes = nt->size * sizeof *nt->x;
    for (double t = 1; t > 1e-3; t /= 2) {
        memcpy(nt->x, nt->beta, bytes);
        memcpy(nt->kx, nt->u, bytes);
        for (size_t a = 0; a < span->count; a++)
            for (size_t i = 0; i < nt->size; i++) {
                nt->x[i] += t * span->step[a] * span->point[a].beta[i];
                nt->kx[i] += t * span->step[a] * span->point[a].u[i];
            }
        newton_copy(nt, nt->rho_x, nt->rho);
        double primal = newton_value(nt, nt->x, nt->kx, nt->rho_x);
        if (primal < nt->primal) {
            memcpy(nt->beta, nt->x, bytes);
            memcpy(nt->u, nt->kx, bytes);
            newton_copy(nt, nt->rho, nt->rho_x);
            nt->primal = primal;
            return true;
        }
    }
    return false;
}

static void span_descend(struct newton *nt, const struct known *point,
                         size_t count, double enough)
{
    struct span span = {.point = point, .count = count};
    double fall = INFINITY;
    for (int step = 0;
         count > 0 && step < SPAN_STEPS && fall > enough * fabs(nt->primal);
         step++) {
        nt->functions->gradient(nt);
        span_form(nt, &span);
        if (!span_solve(&span) || !span_move(nt, &span))
            break;
        fall = -dot(count, span.slope, span.step);
    }
}

static void span_start(struct newton *nt)
{
    const double enough = 1e-3; /* of P */
    newton_evaluate(nt);
    span_descend(nt, nt->known, nt->known_count, enough);
    /* products of different precision do not mix: a new one will be due */
    for (size_t a = 0; a < nt->known_count; a++)
        if (nt->known[a].precision != nt->direction.precision)
            nt->precision = nt->known[a].precision;
}
