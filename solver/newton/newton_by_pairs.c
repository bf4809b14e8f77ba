/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where steps of all examples give way to pairs of them. At a large lambda the
 * losses of an sklr bend within 1 / lambda of the margin, and are lines beyond,
 * as a hinge: a parabola holds as far as no example passes the bend, so that
 * steps of Newton's method become many. Those of SMO, each to the end of its
 * line, become few: most examples stay at the ends of their box.
 *
 * The dual point g is where SMO begins, and its point the next one of Newton's
 * method, whose dual point it is itself.
 */
#include "solver/newton/newton_parts.h"
#include "solver/smo/smo.h"

enum {
    PAIRS_AFTER = 2,   /* steps at one C */
    PAIRS_MOST = 4096, /* examples: rows of a quarter of them are at hand */
};

/* From this lambda on. */
static const double pairs_shift = 30;

static double newton_sparse_bytes(size_t n)
{
    return newton_bytes(n) + (n <= PAIRS_MOST ? smo_improve_bytes(n) : 0);
}

static bool pairs_are_due(const struct newton *nt, int step)
{
    return step == PAIRS_AFTER + 1 && nt->columns == 1 && nt->loss.box > 0 &&
           nt->loss.shift >= pairs_shift && nt->n <= PAIRS_MOST;
}

/* The point becomes that of SMO. Where the clock ends that before the first of
 * its steps, or memory does, the point stays. */
static void newton_by_pairs(struct newton *nt)
{
    const size_t bytes = nt->size * sizeof *nt->beta;
    const double near = 1e-3; /* on the way along a path */
    struct smo_point point = {.loss = nt->loss,
                              .cost = nt->cost,
                              .beta = nt->x,
                              .u = nt->kx,
                              .gap = fmin(0.5 * nt->progress.target, near)};
    if (!newton_product(nt, nt->g, KLR_DOUBLE, nt->kx))
        return;
    memcpy(nt->x, nt->g, bytes);
    if (smo_improve(nt->problem, &point, NULL))
        return;
    memcpy(nt->beta, nt->x, bytes);
    memcpy(nt->u, nt->kx, bytes);
    newton_evaluate(nt);
    nt->progress.iterations += point.steps / (long long)nt->n + 1;
    nt->precision = nt->coarsest_reliable = KLR_DOUBLE;
    nt->fall = 0;
}
