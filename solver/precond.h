/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The preconditioner of the Newton method: see precond.c.
 */
#ifndef KLR_SOLVER_PRECOND_H
#define KLR_SOLVER_PRECOND_H

#include "solver/internal.h"

struct precond {
    size_t n, rank;        /* examples; columns of L */
    size_t limit, most;    /* of the rank: at present, and ever */
    double worth;          /* of a product saved, against the usual one */
    bool shared;           /* K is at hand, and serves several folds */
    size_t stride;         /* of the rows of L and of the factor */
    float *l;              /* (n, rank) row-major */
    size_t *pivot;         /* (rank) the examples its columns are of */
    double *factor;        /* (rank, rank) R, upper, with R'R = I + L'L */
    const double *s;       /* (n) roots of the weights, the caller's */
    double *zs, szs;       /* (n) M^-1 s; s'M^-1 s */
    double *root;          /* (n) S of L */
    double *scale;         /* (n) D^-1: M is D (I + L L') D */
    double *scaled;        /* (n) workspace */
    bool built, stale;     /* there is an L to keep; for other weights */
    double *fs;            /* (rank) (I + L'L)^-1 L's */
    double *residual;      /* (n) diagonal of S K S - L L' */
    double left;           /* its sum where all pivots were chosen for S */
    double *diagonal;      /* (n) K_ii */
    double *work;          /* (groups, most) partial sums of L'x */
    float *column;         /* (KLR_PANEL, n) K[pivots, :] */
    double *lines;         /* (most, KLR_PANEL) rows of L, of candidates */
    float *panel;          /* (most, KLR_PANEL) the same, negative, of pivots */
    double flops;          /* operations of all builds and solutions so far */
    struct klr_pool *pool; /* the operator's */
    const struct klr_dense *dense; /* products for this processor */
};

/* Diagonal elements of S K S that are less do not matter beside the 1 of I. */
static const double precond_least = 1e-2;

/* The largest rank that an L of 32 MB may have; of up to 64 MB, where that is
 * soon built. */
static size_t precond_most(size_t n);
static size_t precond_more(size_t n);
/* With ranks up to `most`; free it in any case. */
static int precond_create(struct precond *m, const struct binary *problem,
                          size_t most, struct klr_error *err);
static void precond_free(struct precond *m);
static double precond_bytes(size_t n, size_t most);
/* The next L is built anew. If this one was for the last weights, its rank was
 * too low: from now on the limit is doubled, and products saved count for more.
 */
static void precond_raise(struct precond *m);
/* For the roots s (n) of the weights, which must stay until the next build. */
static void precond_build(struct precond *m, const struct binary *problem,
                          const double *s);
/* The same, but L may be kept for weights that differ little. */
static void precond_prepare(struct precond *m, const struct binary *problem,
                            const double *s);
/* More columns of L, block by block, one block at least: see pivots.c. */
static void precond_grow(struct precond *m, const struct binary *problem);
/* The trace of S K S - L L'. */
static double precond_trace(const struct precond *m);
/* Whether building L takes longer than a product with K. */
static bool precond_is_dear(const struct precond *m);
/* out = the inverse of M on the subspace s'out = 0, applied to in. */
static void precond_solve(struct precond *m, const double *in, double *out);
/* out = the inverse of M, applied to in. */
static void precond_invert(struct precond *m, const double *in, double *out);
/* The same for functions: nearly the inverse of I + sum_i w_i k_i k_i', where
 * k_i = K(x_i, .) and W = S^2, with a bias W - w w'/ s's in its place. It takes
 * h = sum_i s_i x_i k_i to h plus the combination with coefficients t (rank) of
 * the pivots' kernels, and leaves what is orthogonal to these as it is. Returns
 * about the inner product of both functions. */
static double precond_function(struct precond *m, bool bias, const double *x,
                               double *t);

#endif
