/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The step of the Newton method, and its preconditioner for several columns:
 * what newton_step.c and softmax_precond.c share.
 */
#ifndef KLR_SOLVER_NEWTON_STEP_H
#define KLR_SOLVER_NEWTON_STEP_H

#include "solver/matrix/matrix.h"
#include "solver/newton/newton.h"

/* ---- the preconditioner of a softmax: see softmax_precond.c ---- */

struct coupled {
    size_t n, columns;
    bool bias;
    struct precond *column; /* (columns) */
    const double *cost;     /* (n) C_i, the caller's */
    const double *s;        /* (n, columns) roots of C_i p_ic, the caller's */
    double *root;           /* (columns, n) roots of C_i p_ic (1 - p_ic) */
    double *from, *to;      /* (n) workspace */
    double *projected;      /* (n, columns) workspace */
    double *laplacian;      /* (columns, columns), factored */
    double *sum;            /* (columns) workspace */
};

/* The arena's. */
static int coupled_create(struct coupled *m,
                          const struct binary_problem *problem, size_t columns,
                          const double *cost, struct klr_arena *arena,
                          struct klr_error *err);
static double coupled_bytes(size_t n, size_t columns);
static void coupled_raise(struct coupled *m);
/* For the roots s (n, columns), rows of 0 are left out; they must stay until
 * the next build. False as precond_build. */
static bool coupled_build(struct coupled *m, const double *s);
/* out (n, columns), of the subspace of the steps. */
static void coupled_solve(struct coupled *m, const double *in, double *out);
/* C_i p_ic (1 - p_ic) from the roots s (k) of an example. */
static double coupled_weight(size_t k, const double *s, double cost, size_t c);
/* Operations so far. */
static double coupled_flops(const struct coupled *m);

/* ---- the step: see newton_step.c ---- */

/* L is too small for more examples to foresee what is to come. */
enum { FORESIGHT_MOST = 1 << 16 };

struct direction {
    const struct binary_problem *problem;
    size_t n, columns, size; /* size: n * columns */
    double accuracy;         /* fall of the residual of conjugate gradients, */
    double enough;           /* or twice the gap that it may leave */
    enum klr_precision precision; /* of their products */
    bool indefinite;        /* a direction of negative curvature was met */
    bool foresees;          /* L is to tell what is to come, */
    bool distrusted;        /* which it has turned out not to know */
    struct precond precond; /* of one column */
    struct coupled coupled; /* of several */
    struct klr_progress *progress; /* for the clock, with gap(solver) */
    double (*gap)(void *);
    void *solver;
    enum klr_status status; /* of the clock, in the last step */
    double *diagonal;       /* (n) K_ii */
    const double *cost;     /* (n) C_i, the caller's */
    double *s;              /* S, the caller's: see direction_solve */
    int steps;              /* of conjugate gradients, in the last solve */
    double *total;          /* (columns) sum W; infinite without bias */
    const double *e;        /* beta - g, the caller's */
    double *q;              /* K e, the caller's */
    bool known;             /* q is K e; else it is 0, and kv lacks it */
    bool partial;           /* rows of negligible weight are left out */
    bool functions;    /* the form of the last step: see softmax_precond.c */
    double rz;         /* in that form, <r, z> of the last step */
    size_t *row;       /* (n) rows kept; from the end those left out */
    struct klr_set in; /* their positions */
    struct klr_range *range; /* (n) of these */
    double *v, *kv;          /* (n, columns) v, K S v; then S v, K S v */
    double *r, *z, *p, *kp, *t, *packed; /* (n, columns) */
};

/* The arena's. The caller has zeroed *d and keeps accuracy, enough,
 * precision, progress, gap and solver. */
static int direction_create(struct direction *d,
                            const struct binary_problem *problem,
                            size_t columns, const double *cost,
                            struct klr_arena *arena, struct klr_error *err);
static double direction_bytes(size_t n, size_t columns);
/* More rank for the preconditioner from now on; its operations so far. */
static void direction_raise(struct direction *d);
static double direction_flops(const struct direction *d);
/* L is not to be relied on any more to foresee. */
static void direction_distrust(struct direction *d);
/* True if a step with the roots s (n) of the weights, of one column, and the
 * present accuracy would leave out rows. */
static bool direction_leaves_out(struct direction *d, double *s);
/* Solve for the step from g, into d->v, and K times it, into d->kv.
 * - s: for one column the roots (n) of the weights, for several the roots (n,
 *   columns) of C_i p_ic. It becomes 0 in rows that are left out.
 * - e: (n, columns).
 * - q: K e if it is known, else zeros. Then q becomes K e where that is needed;
 *   otherwise kv lacks K e.
 * Ends early with a status of the clock. The step is of no use then, nor where
 * d->indefinite is set. */
static enum klr_status direction_solve(struct direction *d, double *s,
                                       const double *e, double *q, bool known);
/* out = K x on the rows kept and 0 on the others, which x has 0 too; false
 * where the clock ends it, see d->status. */
static bool direction_product(struct direction *d, const double *x,
                              double *out);
/* As direction_start() and direction_step(), for functions: see
 * softmax_precond.c. What stands for r'z is about <r, z>. */
static double coupled_start(struct direction *d);
static bool coupled_step(struct direction *d, double *norm);

#endif
