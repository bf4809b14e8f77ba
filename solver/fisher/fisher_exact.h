/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exact kernel Fisher discriminants: what fisher_gap.c, fisher_inverse.c,
 * fisher_descent.c and fisher.c share, with the letters of the latter's head.
 */
#ifndef KLR_SOLVER_FISHER_EXACT_H
#define KLR_SOLVER_FISHER_EXACT_H

#include "solver/fisher/fisher.h"
#include "solver/matrix/matrix.h"

enum {
    FISHER_MACHINES = 12, /* side by side, at most */
    FISHER_FULL = 10000   /* examples with a preconditioner of full rank */
};

struct exact {
    const struct binary_problem *problem;
    double *e;        /* (n) sum 0: the solution up to its scale */
    double *ke;       /* (n) K e; of R = |a|^2 alone */
    double *value;    /* (n) f = Q e */
    double *r;        /* (n) residual 1+ - (Q + D) e - mu 1, mu so far */
    double *p, *kp;   /* (n) direction, and K p */
    double *q;        /* (n) Q p; then the residual preconditioned, z */
    double weight;    /* of all examples */
    double rz, start; /* r'z, and at the last anchor */
    double drift_bound,
        drift_bound_e;  /* lengths of the steps since then: of e or, where R =
                           |a|^2, of ke; and of e there */
    double scale, rho;  /* t, -b */
    double primal, gap; /* of e */
    double form;        /* e'Q e */
    double anchored;    /* gap at the last anchor */
    bool indefinite;    /* a direction of negative curvature was met */
    long long products;
};

struct fisher {
    const struct binary_problem *problem; /* the first machine's */
    size_t n, machines;
    bool coef;        /* R = |a|^2 */
    double c;         /* of this step of the path */
    double eps, goal; /* the gap asked for, and what steps go on to */
    bool indefinite;  /* so it was in double, too */
    enum klr_precision precision; /* of products of conjugate gradients, */
    enum klr_precision rounded;   /* at first, */
    enum klr_precision exact;     /* and of anchors; */
    enum klr_precision anchor;    /* of the last one */
    bool full;                    /* cholesky is what preconditions; */
    bool completes;               /* it will, where steps are many: */
    bool lags;                    /* they are */
    bool hard;                    /* they were, at a C before */
    struct cholesky cholesky;     /* of few examples, or empty */
    struct precond precond;
    double largest;         /* |K_ii| */
    double heaviest;        /* w_i */
    double *s;              /* (n) S */
    double *ones;           /* (n) N^-1 1, N the preconditioner */
    double total;           /* 1'N^-1 1 */
    double *in, *out;       /* (n, columns) of products */
    struct klr_arena arena; /* all that is allocated */
    struct exact machine[FISHER_MACHINES];
    struct klr_progress progress;
};

/* ---- what e is worth: see fisher_gap.c ---- */

/* D_ii */
static double exact_penalty(const struct fisher *f, const struct exact *m,
                            size_t i);
/* Scale, threshold and objectives, from value and r; 0 and infinite where the
 * positive class has not the larger mean of Q e. */
static void exact_judge(const struct fisher *f, struct exact *m);
/* Relative; the largest one of a struct fisher, for the clock. */
static double exact_gap(const struct exact *m);
static double fisher_gap(void *solver);
/* The mean error of an element of products whose steps have that length in all:
 * float entries of K err by some 2^-24 of the largest, independently of each
 * other. */
static double exact_error(const struct fisher *f, const struct exact *m,
                          double way);
/* The part of P that such errors hide from the gap: those of decision values,
 * and K e - ke, which is not 0 any more. */
static double exact_hidden(const struct fisher *f, const struct exact *m);

/* ---- N^-1: see fisher_inverse.c ---- */

/* Prepare the present c. Of no use if the status is to stop: the clock is asked
 * for it while the preconditioner is factored. */
static int fisher_prepare(struct fisher *f, enum klr_status *status,
                          struct klr_error *err);
/* z = N^-1 r on 1'z = 0, into q. The part of r that this takes away stays away:
 * else it would drown the rest. */
static void fisher_precondition(struct fisher *f, size_t count,
                                struct exact *const *machine);
/* Steps that take as long as a factorisation. */
static double fisher_worth(const struct fisher *f);
/* True if N is to be of full rank from the first step on. */
static bool fisher_begins_full(const struct fisher *f);
/* One of full rank takes the place of one of low rank, if there can be one. */
static enum klr_status fisher_complete(struct fisher *f);

/* ---- anchors and steps: see fisher_descent.c ---- */

/* Form r anew by exact products, and begin again from there. False: the clock
 * ended them, and all is as it was. */
static bool fisher_anchor(struct fisher *f);
/* Steps from where the residuals are, until all gaps are `target`, or until a
 * preconditioner of full rank would take less time than the steps to come. */
static enum klr_status fisher_descend(struct fisher *f, double target);
/* The status of the clock. */
static enum klr_status fisher_check(struct fisher *f);

#endif
