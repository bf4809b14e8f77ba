/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the method for the regularizer beta'beta share: see
 * klr_coef.c.
 */
#ifndef KLR_SOLVER_KLR_COEF_H
#define KLR_SOLVER_KLR_COEF_H

#include "solver/variants/variants.h"

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
    int patience; /* directions without a smaller gap */
    struct loss loss;
    struct klr_arena arena; /* of all vectors below, (n) each */
    double *cost;           /* C_i of this step of the path */
    double *beta, *u;       /* the point, u = K beta */
    double *g, *kg;         /* the dual point, K g */
    double *w, total;       /* W_i, and their sum */
    double *r;              /* beta - K g, the gradient of P */
    double *d, *kd;         /* the direction, K d */
    double *last;           /* r at the last direction of coef_conjugate */
    double *x, *kx;         /* workspace */
    double *p, *z, *res;
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
/* -r and the last direction, Polak & Ribiere. */
static coef_direction coef_conjugate;

#endif
