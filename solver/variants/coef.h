/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the method for the regularizer beta'beta share: see
 * coef.c.
 */
#ifndef KLR_SOLVER_COEF_H
#define KLR_SOLVER_COEF_H

#include "solver/matrix/matrix.h"
#include "solver/variants/variants.h"

/* ---- the preconditioner: see coef_deflation.c ---- */

struct deflation {
    size_t n, rank, room; /* columns of Q, and how many there may be */
    size_t ready;         /* columns that M has; 0: M = I */
    bool bias;
    float *q, *z;          /* (n, room) in bands of columns */
    const double *weight;  /* (n) W, the caller's, while M is formed */
    double *factor;        /* (room, room) R, upper: R'R = I + Z'V Z */
    double *sum;           /* (groups, room) of Q'x */
    double *part, *solved; /* (room) workspace */
    double *mean;          /* (room) of the rows of Z, by W; then workspace */
    double *x;             /* (n) workspace */
    struct klr_pool *pool; /* the operator's */
    const struct klr_dense *dense;
};

/* It is the arena's. */
static int deflation_create(struct deflation *m,
                            const struct binary_problem *problem,
                            struct klr_arena *arena, struct klr_error *err);
static double deflation_bytes(size_t n);
/* M for the weights W (n). False: the pool's watch ended it, and M = I. */
static bool deflation_weigh(struct deflation *m, const double *weight);
/* out (n) = M^-1 x. */
static void deflation_solve(struct deflation *m, const double *x, double *out);
/* x (n), with K x, joins Q, if there is room and x is not in its span; M stays
 * until the next weights. */
static void deflation_add(struct deflation *m, const double *x,
                          const double *kx);
/* M = I from now on. */
static void deflation_drop(struct deflation *m);

/* ---- the method ---- */

struct coef;

/* A direction of descent d from the present point, and K d. Ends early with a
 * status of the clock: d is then what has been found so far, maybe 0. */
typedef enum klr_status coef_direction(struct coef *c);

struct coef {
    const struct binary_problem *problem;
    size_t n;
    bool bias;
    double eps; /* relative duality gap to reach */
    coef_direction *direction;
    int patience; /* directions without a smaller gap, where M = I */
    struct loss loss;
    struct deflation deflation; /* the preconditioner M */
    struct klr_arena arena;     /* of all vectors below, (n) each */
    double *cost;               /* C_i of this step of the path */
    double *beta, *u;           /* the point, u = K beta */
    double *g, *kg;             /* the dual point, K g */
    double *w, total;           /* W_i, and their sum */
    double *r;                  /* beta - K g, the gradient of P */
    double *d, *kd;             /* the direction, K d */
    double *last;               /* r at the last direction of coef_conjugate */
    double *x, *kx;             /* workspace */
    double *p, *res; /* of conjugate gradients: the direction, the residual */
    double *z, *kz;  /* M^-1 of the residual or of r; K p */
    double norm;  /* r'M^-1 r at the last direction of coef_conjugate, or 0 */
    double *kept; /* (4, n) beta, u, g, kg of an exact point */
    double rho, primal; /* rho optimal for u, P(beta, rho) */
    double gap;         /* 1/2 r'r */
    double bound;       /* the last P - gap at these costs; NaN: none */
    double fall;        /* of P in the last step; NaN: none at this C */
    bool exact;         /* u and kg are products with double entries */
    struct klr_progress progress;
};

static bool coef_product(struct coef *c, const double *x,
                         enum klr_precision precision, double *out);
/* out = (W - w w' / sum W) in; without a bias W in. */
static void coef_weigh(const struct coef *c, const double *in, double *out);
/* The relative gap; of a struct coef, for the clock. */
static double coef_gap(void *solver);

/* Newton's: (I + K W K) d = -r by conjugate gradients. */
static coef_direction coef_newton;
/* -M^-1 r and the last direction, Polak & Ribiere. */
static coef_direction coef_conjugate;

#endif
