/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A preconditioner of full rank: see cholesky.c.
 */
#ifndef KLR_SOLVER_CHOLESKY_H
#define KLR_SOLVER_CHOLESKY_H

#include "solver/internal.h"

enum { CHOLESKY_VECTORS = KLR_SLIM }; /* solved for at once, at most */

struct cholesky {
    size_t n, blocks;
    float *tile; /* (blocks (blocks + 1) / 2, KLR_TILE, KLR_TILE) L */
    struct klr_range *range; /* (set.count) of the rows below */
    double *row;             /* (KLR_TILE, n) of K, from the diagonal on */
    float *panel;            /* (blocks, KLR_TILE, KLR_TILE) of rows of L */
    double *block;           /* (2, KLR_TILE, KLR_TILE) on the diagonal */
    float *vector;   /* (blocks, KLR_TILE, CHOLESKY_VECTORS), and a block */
    const double *s; /* (n) roots of the weights, the caller's */
    size_t column;   /* of tiles that is worked on */
    double flops;    /* operations so far */
    const struct klr_dense *dense;
    struct klr_pool *pool; /* the operator's */
};

static int cholesky_create(struct cholesky *m, const struct binary *problem,
                           struct klr_error *err);
static void cholesky_free(struct cholesky *m);
static double cholesky_bytes(size_t n);
/* Column j of tiles, all before it being there, for the roots s (n) of the
 * weights; false: I + S K S does not seem positive definite to floats. */
static bool cholesky_factor(struct cholesky *m, const struct binary *problem,
                            const double *s, size_t j);
/* x[c] (n) = the inverse of I + S K S applied to it, c < count <=
 * CHOLESKY_VECTORS. */
static void cholesky_solve(struct cholesky *m, size_t count, double *const *x);

#endif
