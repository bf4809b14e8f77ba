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
    size_t *place, rows;   /* (rows) those of Z that are not 0; NULL: all */
    const double *weight;  /* (n) W, the caller's, while M is formed */
    double *factor;        /* (room, room) R, upper: R'R = I + Z'V Z */
    double *sum;           /* (groups, room) of Q'x */
    double *part, *solved; /* (room) workspace */
    double *mean;          /* (room) of the rows of Z, by W; then workspace */
    double *x;             /* (n) workspace */
    struct klr_pool *pool; /* the operator's */
    const struct klr_dense *dense;
};

/* With room for so many columns at most. It is the arena's. */
static int deflation_create(struct deflation *m,
                            const struct binary_problem *problem, size_t most,
                            struct klr_arena *arena, struct klr_error *err);
static double deflation_bytes(size_t n, size_t most);
/* M for the weights W (n). False: the pool's watch ended it, and M = I. */
static bool deflation_weigh(struct deflation *m, const double *weight);
/* out (n) = M^-1 x. */
static void deflation_solve(struct deflation *m, const double *x, double *out);
/* x (n), with K x, joins Q, if there is room and x is not in its span; M stays
 * until the next weights. */
static void deflation_add(struct deflation *m, const double *x,
                          const double *kx);
/* k (n), the i-th column of K, joins Q, if there is room and it is not in its
 * span, and row i of Z becomes k'Q; its other rows are 0 but for those of other
 * columns. A deflation has columns, with room for their places, or directions,
 * never both. */
static void deflation_add_column(struct deflation *m, size_t i,
                                 const double *k);
/* M = I from now on. */
static void deflation_drop(struct deflation *m);

/* ---- the same by columns of K: see coef_columns.c ---- */

struct coef_columns {
    struct deflation m;
    bool *has;   /* (n) that are in it */
    double *row; /* (16, n) workspace */
};

static int coef_columns_create(struct coef_columns *columns,
                               const struct binary_problem *problem,
                               struct klr_arena *arena, struct klr_error *err);
static double coef_columns_bytes(size_t n);

/* ---- the method ---- */

struct coef;

/* The columns that W asks for, where they are few, and directions without them
 * have taken as long as they will; else the directions. NULL: the clock ended
 * that. */
static struct deflation *coef_preconditioner(struct coef *c);

/* A direction of descent d from the present point, and K d. Ends early with a
 * status of the clock: d is then what has been found so far, maybe 0. */
typedef enum klr_status coef_direction(struct coef *c);

/* A point; of an svm all is divided by the width, objectives by its square. */
struct coef_at {
    double width;     /* see coef_point.c; 1 but for an svm */
    double rho;       /* optimal for u */
    double primal;    /* P(beta, rho), of an svm of the smooth loss */
    double objective; /* P(beta, rho) of the model itself at its last C */
    double gap;       /* of the smooth loss, 1/2 r'r */
    double excess;    /* what the hinge losses add to it */
    bool exact;       /* u and kg are products with double entries */
};

enum { COEF_POINT = 4 }; /* vectors: beta, u, g, K g */

struct coef_kept {
    struct coef_at at;
    double *point; /* (COEF_POINT, n) */
};

struct coef {
    const struct binary_problem *problem;
    size_t n;
    bool bias;
    double eps; /* relative duality gap to reach */
    coef_direction *direction;
    int patience; /* directions without a smaller gap, where M = I */
    double value; /* C of this step of the path */
    enum klr_precision precision; /* of entries in steps */
    bool blurred;                 /* floats will not do on this path */
    bool narrows;                 /* the width of an svm: at the C asked for */
    struct loss loss;
    struct deflation deflation;  /* the preconditioner M, by directions, */
    struct coef_columns columns; /* and by columns */
    double products; /* of directions by the former, less the latter's cost */
    double square;   /* the mean of |K_i|^2 over a few rows */
    struct klr_arena arena; /* of all vectors below, (n) each */
    double *cost;           /* C_i */
    double *point;          /* (COEF_POINT, n): */
    double *beta, *u;       /* the point, u = K beta */
    double *g, *kg;         /* the dual point, K g */
    double *w, total;       /* W_i, and their sum */
    double *r;              /* beta - K g, the gradient of P */
    double *d, *kd;         /* the direction, K d */
    double *last;           /* r at the last direction of coef_conjugate */
    double *x, *kx;         /* workspace */
    double *p, *res; /* of conjugate gradients: the direction, the residual */
    double *z, *kz;  /* M^-1 of the residual or of r; K p */
    double norm; /* r'M^-1 r at the last direction of coef_conjugate, or 0 */
    struct coef_at at;
    double bound;          /* the best of the dual at these costs; NaN: none */
    double fall;           /* of P in the last step; NaN: none at this C */
    struct coef_kept best; /* of an svm: of the smallest gap at this C */
    struct coef_kept misled; /* where the preconditioner has led */
    struct klr_progress progress;
};

static bool coef_product(struct coef *c, const double *x,
                         enum klr_precision precision, double *out);
/* out = (W - w w' / sum W) in; without a bias W in. */
static void coef_weigh(const struct coef *c, const double *in, double *out);

/* ---- ... its point: see coef_point.c ---- */

/* The relative gap; of a struct coef, for the clock. */
static double coef_gap(void *solver);
static double coef_gap_at(const struct coef_at *at);
/* The objective in units of the model. */
static double coef_objective_at(const struct coef_at *at);
static bool coef_has_hinge(const struct coef *c);
/* The objective of the dual, in units of c->at.objective. */
static double coef_dual(const struct coef *c);
/* Losses at the present C and width. */
static void coef_set_loss(struct coef *c);
/* Another width of the same point, whose loss is to be set. */
static void coef_set_width(struct coef *c, double width);
/* The best rho for u (n). */
static double coef_rho(const struct coef *c, const double *u);
/* Evaluate the point. False if the clock ends it; beta and u stay as they are.
 * K g is carried along: */
static bool coef_look(struct coef *c);
/* u and K g of double entries. With a hinge g stays, a point of the dual to
 * judge beta by: at a small width it would follow each bit of u. */
static bool coef_anchor(struct coef *c);
/* The first look at a C or a width, with u anew if its last bits count. */
static bool coef_begin(struct coef *c);
/* Where the clock ended that: P, and of the dual what was known. */
static void coef_unseen(struct coef *c);
static void coef_keep(const struct coef *c, struct coef_kept *kept);
static void coef_return(struct coef *c, const struct coef_kept *kept);

/* ---- ... its steps: see coef_step.c, coef_descend.c ---- */

/* Newton's: (I + K W K) d = -r by conjugate gradients. */
static coef_direction coef_newton;
/* Newton's of an svm to a width that is smaller by `factor`: alpha stays there,
 * to first order, and 1 - y_i f_i becomes as much smaller. */
static enum klr_status coef_foresee(struct coef *c, double factor);
/* -M^-1 r and the last direction, Polak & Ribiere. */
static coef_direction coef_conjugate;
static enum klr_status coef_clock(struct coef *c);
/* Steps at the present costs until the relative gap is the target. */
static enum klr_status coef_descend(struct coef *c);

#endif
