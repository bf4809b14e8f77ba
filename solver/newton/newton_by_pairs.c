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
    PAIRS_AFTER = 2, /* steps at one C */
    PAIRS_AFTER_OF_MANY = 8,
    PAIRS_FEW = 4096, /* examples */
    PAIRS_EACH = 250, /* pairs an example, at most */
    PAIRS_EACH_OF_MANY = 40,
    PAIRS_ROWS = 64, /* of K at hand, at least */
};

/* From this lambda on; of many examples, where the gap is still above this. */
static const double pairs_shift = 30, pairs_gap = 0.01;

/* Bytes for rows of K: all of them, if they fit into what is left of the memory
 * beside -m. */
static double pairs_cache(size_t n)
{
    double left =
        params_beside - newton_bytes(n) - point_bytes(n) - smo_improve_bytes(n);
    return fmax(fmin(smo_rows_bytes(n, n), left),
                smo_rows_bytes(n, PAIRS_ROWS));
}

static double newton_sparse_bytes(size_t n)
{
    return newton_bytes(n) + smo_improve_bytes(n) + pairs_cache(n);
}

/* Once at one C. Not in a subset's start: newton_sparse_bytes counts those of
 * all examples. With many examples most rows of K are computed again, and eight
 * steps of Newton's method mostly bring the gap near its target. */
static bool pairs_are_due(const struct newton *nt, int step)
{
    bool few = nt->n <= PAIRS_FEW;
    return nt->loss.shift >= pairs_shift && nt->loss.box > 0 &&
           !nt->plan.paired && !nt->pairs_fail && !nt->is_start &&
           nt->columns == 1 &&
           step > (few ? PAIRS_AFTER : PAIRS_AFTER_OF_MANY) &&
           (few || nt->progress.violation > pairs_gap);
}

/* x = g, of a sum that is 0 to the last digits, which SMO keeps: rho is no more
 * exact than u, and a large W_i makes much of that. The example that is
 * farthest from the ends of its box takes it. */
static void pairs_begin(struct newton *nt)
{
    double sum = 0, most = -INFINITY;
    size_t inner = 0;
    for (size_t i = 0; i < nt->n; i++) {
        double alpha = fabs(nt->g[i]);
        double room = fmin(alpha, nt->cost[i] - alpha);
        if (room > most) {
            most = room;
            inner = i;
        }
        sum += nt->g[i];
        nt->x[i] = nt->g[i];
    }
    if (nt->bias)
        nt->x[inner] -= sum;
}

/* The point becomes that of SMO. Where the clock or memory ends that, or pairs
 * become too many, it stays, and SMO has no turn at the next C. */
static void newton_by_pairs(struct newton *nt)
{
    const size_t bytes = nt->size * sizeof *nt->beta;
    const double near = 1e-3; /* on the way along a path */
    const long long n = (long long)nt->n;
    struct smo_point point = {
        .loss = nt->loss,
        .cost = nt->cost,
        .beta = nt->x,
        .u = nt->kx,
        .gap = fmin(0.5 * nt->progress.target, near),
        .most = n * (n <= PAIRS_FEW ? PAIRS_EACH : PAIRS_EACH_OF_MANY),
        .cache = pairs_cache(nt->n)};
    nt->plan.paired = true;
    pairs_begin(nt);
    if (!newton_product(nt, nt->x, KLR_DOUBLE, nt->kx))
        return;
    nt->pairs_fail = smo_improve(nt->problem, &point, NULL) || !point.reached;
    if (nt->pairs_fail)
        return;
    memcpy(nt->beta, nt->x, bytes);
    memcpy(nt->u, nt->kx, bytes);
    newton_evaluate(nt);
    nt->progress.iterations += point.steps / n + 1;
    nt->precision = nt->coarsest_reliable = KLR_DOUBLE;
    nt->fall = 0;
}
