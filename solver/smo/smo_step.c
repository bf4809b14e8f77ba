/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A step of SMO: how far an alpha can go, and a pair of beta moved along its
 * line, with s of the examples in work.
 */
#include "solver/smo/smo_parts.h"

static const double smo_margin = 1e-12;   /* mu */
static const double smo_near = 1e-7;      /* of C: see smo_curvature ... */
static const double smo_near_most = 1e-5; /* ... from 0 */

/* ---- one example ---- */

/* The distance that alpha keeps from an end of its range, with numbers of
 * `size` there. */
static double smo_kept(const struct smo *smo, const struct smo_example *e,
                       double size)
{
    return smo->loss.model == KLR_MODEL_SVM
               ? 0
               : fmax(loss_box(&smo->loss, e->cost), smo_margin * size);
}

static double smo_lower(const struct smo *smo, const struct smo_example *e)
{
    return smo_kept(smo, e, fmin(e->cost, 1));
}

static double smo_upper(const struct smo *smo, const struct smo_example *e)
{
    return e->cost - smo_kept(smo, e, e->cost);
}

static double smo_room(const struct smo *smo, const struct smo_example *e,
                       double sign)
{
    if (e->cost == 0)
        return INFINITY;
    return e->y * sign > 0 ? smo_upper(smo, e) - e->alpha
                           : e->alpha - smo_lower(smo, e);
}

static unsigned char smo_side(const struct smo *smo,
                              const struct smo_example *e)
{
    int side = (smo_room(smo, e, 1) > 0 ? SMO_CAN_RISE : 0) |
               (smo_room(smo, e, -1) > 0 ? SMO_CAN_FALL : 0);
    if (smo->loops && side != (SMO_CAN_RISE | SMO_CAN_FALL))
        side = 0;
    return (unsigned char)side;
}

/* psi'' for the choice of j, bounded. Near 0 and C psi'' is so large that an
 * example which should leave there promises hardly anything, and would wait
 * until all others are optimal. But alphas that belong next to 0 do not grow
 * with C: a bound by a part of a large C would have them chosen again and
 * again, for steps that hardly move them. */
static double smo_curvature(const struct smo *smo, const struct smo_example *e)
{
    double low = fmin(smo_near * e->cost, smo_near_most);
    double high = (1 - smo_near) * e->cost;
    return conjugate_curvature(&smo->loss, fmin(fmax(e->alpha, low), high),
                               e->cost);
}

static bool smo_move(struct smo *smo, size_t i, double t, double room)
{
    if (i == smo->n)
        return false;
    struct smo_example *e = &smo->example[i];
    double before = e->alpha,
           old = conjugate_slope(&smo->loss, e->alpha, e->cost);
    if (fabs(t) >= room)
        e->alpha = e->y * t > 0 ? smo_upper(smo, e) : smo_lower(smo, e);
    else
        e->alpha += e->y * t;
    smo->s[i] -= e->y * (conjugate_slope(&smo->loss, e->alpha, e->cost) - old);
    smo->hessian[i] = e->diagonal + smo_curvature(smo, e);
    smo->side[i] = smo_side(smo, e);
    return e->alpha != before;
}

/* (K beta)_i */
static double smo_product(const struct smo *smo, size_t i)
{
    if (i == smo->n)
        return 0;
    const struct smo_example *e = &smo->example[i];
    return -smo->s[i] - e->y * conjugate_slope(&smo->loss, e->alpha, e->cost);
}

/* ---- a step ---- */

/* smo1: a tenth of tau, Keerthi, after (5.1). */
static double smo_accuracy(const struct smo *smo)
{
    return (smo->first_order ? 0.05 : 0.01) * smo->eps;
}

static bool smo_step(struct smo *smo, size_t *next, size_t j, const void *row_i)
{
    size_t i = *next, n = smo->n;
    const struct smo_example none = {.cost = 0};
    const struct smo_example ei = i < n ? smo->example[i] : none;
    const struct smo_example ej = j < n ? smo->example[j] : none;
    if (!row_i)
        row_i = smo_row(smo, i);
    const void *row_j = smo_row(smo, j);
    if (clock_stopped(smo->problem->clock))
        return false;
    double kij = j < n ? smo_entry(row_i, smo->precision, j) : 0;
    double room_i = smo_room(smo, &ei, 1), room_j = smo_room(smo, &ej, -1);
    struct smo_line line = {
        .loss = &smo->loss,
        .i = ei,
        .j = ej,
        .eta = ei.diagonal + ej.diagonal - 2 * kij,
        .slope = smo_product(smo, i) - smo_product(smo, j),
        .psi_i = conjugate_value(&smo->loss, ei.alpha, ei.cost),
        .psi_j = conjugate_value(&smo->loss, ej.alpha, ej.cost),
    };
    double t = line_step(&line, fmin(room_i, room_j), smo_accuracy(smo));
    bool moved = smo_move(smo, i, t, room_i);
    moved |= smo_move(smo, j, -t, room_j);
    if (moved) {
        *next = smo_update(smo, t, row_i, row_j);
        smo->progress.iterations++;
    }
    return moved;
}
