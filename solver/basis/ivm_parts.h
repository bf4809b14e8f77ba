/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the import vector machine share: see ivm.c.
 */
#ifndef KLR_SOLVER_IVM_PARTS_H
#define KLR_SOLVER_IVM_PARTS_H

#include "solver/matrix/matrix.h"
#include "solver/solve/solve.h"

struct ivm {
    const struct binary_problem *problem;
    size_t n;
    struct loss loss;
    double *cost;             /* (n) C_i, or 0 while an example is held out */
    double *held;             /* (n) C_i of those held out, else 0 */
    double held_total;        /* their sum; 0: none is */
    struct hessian h;         /* of the fit; h.free: the bias is a function */
    double *basis;            /* (room, h.pitch) b_k(x_i), and KLR_BAND more */
    size_t *member;           /* (room) local index of import points */
    double *w, *slope, *step; /* (room) coefficients, gradient, Newton step */
    double *past;             /* (2 room) the objective of so many points */
    double *lost;             /* (2 room) losses of the examples held out */
    size_t *left;             /* (n) candidates */
    size_t candidates;        /* how many */
    double *residual;         /* (n) K_ii - |b(x_i)|^2 */
    double *diagonal;         /* (n) K_ii */
    double *f, *g, *root;     /* (n) f; g; root of W */
    double *factored;         /* (n) root of the W that h is factored at */
    double *df, *tried;       /* (n) change of f; f that is tried */
    double *row;              /* (KLR_BAND, n) v of a batch */
    double *mixed;            /* (room, KLR_BAND) B'WV */
    double *partial;          /* (blocks, KLR_BAND) losses of a batch */
    struct klr_progress progress;
    struct klr_arena arena; /* all that is allocated */
};

/* The losses by costs (n) of the fit, or of the examples held out. */
static struct losses ivm_losses(const struct ivm *ivm, const double *cost);
/* w'w / 2, for coefficients w + t step, without that of the bias. */
static double ivm_penalty(const struct ivm *ivm, double t);
static enum klr_status ivm_clock(struct ivm *ivm);
/* Set *best to the candidate whose step reaches the smallest objective; the
 * candidates drawn stand first in ivm->left. See ivm_candidates.c. */
static enum klr_status ivm_choose(struct ivm *ivm, size_t drawn, size_t *best);

#endif
