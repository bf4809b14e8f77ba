/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The outer loop of SMO as Keerthi et al. (2005), section 5, have it, for klr.
 *
 * The logistic psi' is infinite at 0 and C, so alpha keeps a margin: see smo.c.
 * An example that a step takes to an end of that is near its boundary (NBG in
 * the paper): s_i tells little there, its side is 0, and the inner loop, the
 * steps of smo_descend, chooses among the others (NG). Once these are optimal,
 * (3.11), the outer loop tries to move each example near its boundary with i_up
 * or i_low as its partner. Those that move are back in the inner loop; if none
 * does, the whole is optimal.
 *
 * Without bias a step moves one variable: there is no partner.
 */
#include "solver/smo/smo_parts.h"

/* The partner, i_up or i_low, with which an example that moves in the direction
 * `sign` violates the conditions the more: if it does not violate with that
 * one, it does not with the other. n if there is none, as all examples are near
 * their boundaries. */
static size_t outer_partner(const struct smo *smo, double sign)
{
    size_t best = smo->n;
    for (size_t k = 0; k < smo->n && !smo->single; k++)
        if (smo->side[k] == (SMO_CAN_RISE | SMO_CAN_FALL) &&
            (best == smo->n || sign * smo->s[k] < sign * smo->s[best]))
            best = k;
    return best;
}

/* The direction in which example k, near its boundary, could move. 0 if no move
 * lowers the dual by more than a step leaves undone, or if there is no partner.
 */
static double outer_sign(const struct smo *smo, size_t k, const size_t *partner)
{
    double sign = smo_room(smo, &smo->example[k], 1) > 0 ? 1 : -1;
    size_t other = partner[sign > 0];
    if (other == smo->n && !smo->single)
        return 0;
    double s = smo->single ? 0 : smo->s[other];
    return sign * (smo->s[k] - s) > smo_accuracy(smo) ? sign : 0;
}

/* Called when all examples are near their boundaries, and none is left for a
 * partner: they become partners of each other until they have moved. */
static bool outer_release(struct smo *smo)
{
    double most, least;
    smo->loops = false;
    for (size_t k = 0; k < smo->n; k++)
        smo->side[k] = smo_side(smo, &smo->example[k]);
    smo->loops = true;
    smo_extremes(smo, &most, &least);
    return most - least > smo->eps;
}

static bool smo_outer(struct smo *smo, enum klr_status *status)
{
    size_t partner[2] = {outer_partner(smo, -1), outer_partner(smo, 1)};
    bool moved = false;
    if (partner[0] == smo->n && !smo->single)
        return outer_release(smo);
    for (size_t k = 0; k < smo->n && *status == KLR_CONVERGED; k++) {
        double sign = smo->side[k] ? 0 : outer_sign(smo, k, partner);
        if (sign == 0)
            continue;
        size_t i = sign > 0 ? k : partner[0], j = sign > 0 ? partner[1] : k;
        bool step = smo_step(smo, &i, j, NULL);
        *status = smo->problem->clock->status;
        if (!step)
            continue;
        moved = true;
        partner[0] = outer_partner(smo, -1);
        partner[1] = outer_partner(smo, 1);
        *status = smo_clock(smo);
    }
    return moved;
}
