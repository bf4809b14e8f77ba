/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hessians of fits on few columns: see hessian.c.
 */
#ifndef KLR_SOLVER_HESSIAN_H
#define KLR_SOLVER_HESSIAN_H

#include "solver/internal.h"

struct hessian {
    size_t n, rank, room;  /* examples; functions, and how many fit */
    size_t free;           /* functions without penalty, the first ones */
    const double *basis;   /* (rank, pitch) B by columns, the caller's */
    size_t pitch;          /* of the basis */
    const double *root;    /* (n) S, S^2 = W, the caller's */
    const double *scale;   /* (rank) D, the caller's; NULL: I */
    double *scaled;        /* (n, room + KLR_BAND) S B D; then the caller's */
    double *factor;        /* (room, room) H, upper, and F, lower */
    double *pivot;         /* (room) the diagonal of F */
    struct klr_pool *pool; /* the operator's */
    const struct klr_dense *dense;
};

/* The caller keeps n, rank, free, basis, root, scale, pool and dense. */
static int hessian_alloc(struct hessian *h, size_t room, struct klr_error *err);
static void hessian_free(struct hessian *h);
static double hessian_bytes(size_t n, size_t room);
/* The elements from row to row of h->scaled. */
static size_t hessian_stride(const struct hessian *h);
/* H but for its shift. */
static void hessian_form(struct hessian *h);
/* F; false if H is not positive definite. */
static bool hessian_factor(struct hessian *h, double shift);
/* x (rank) = F^-1 x, and F^-T x. */
static void hessian_forward(const struct hessian *h, double *x);
static void hessian_backward(const struct hessian *h, double *x);
/* The next row of h->factor holds what H has there, left of its diagonal, which
 * is `square`: it becomes one of F. False as above. */
static bool hessian_extend(struct hessian *h, double square);

#endif
