/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the Newton method for one column of coefficients, with the losses of
 * loss.c, shares with that for the columns of a softmax: see newton.c.
 */
#ifndef KLR_SOLVER_NEWTON_PARTS_H
#define KLR_SOLVER_NEWTON_PARTS_H

#include "solver/newton/newton_step.h"

/* A C of the path. */
struct place {
    double cost;
    struct loss loss;
};

enum {
    NEWTON_KNOWN = 4, /* points of the path that are kept */
    NEWTON_VECTORS = 12 + 2 * NEWTON_KNOWN
};

/* A point of the path, or a direction. */
struct known {
    double *beta, *u; /* (n, columns) */
    enum klr_precision precision;
};

/* (beta, rho) and what follows from it. */
struct newton_point {
    double *beta, *u; /* (n, columns); u = K beta */
    double *rho;      /* (columns) */
    double primal;    /* P(beta, rho) */
};

/* How the next step is made, by what the steps before it have come to. */
struct newton_plan {
    double before;    /* the gap before the last step */
    double length;    /* of the last step, 1 to the Newton point */
    double accuracy;  /* of steps, unless one will be the last */
    bool majorised;   /* the last step was made with s of parabolas */
    bool from_subset; /* beta is a subset's, which spoke for all */
    bool paired;      /* SMO has had its turn: see pairs below */
    int settled;      /* steps since the gap was reached: for g */
};

/* K as L of the preconditioner has it: see newton_foresee.c. */
struct foresight {
    struct known move[2]; /* to the dual point foreseen; the last movement */
    size_t moves;         /* of these */
    /* (rank) F'D; the slope, the residual of conjugate gradients, what they
     * have solved, their direction, its image, and the step */
    double *z, *slope, *r, *solved, *p, *image, *step;
    double rho, value; /* at z: the best rho, and V, what is to be least */
    double first;      /* V at z = 0 */
};

struct newton;

/* The functions that depend on the loss. */
struct newton_functions {
    /* P(beta, rho), u = K beta. */
    double (*primal)(const struct newton *, const double *beta, const double *u,
                     const double *rho);
    /* rho (columns), from which the search may start, becomes the best for u;
     * called with a bias only. */
    void (*best_rho)(const struct newton *, const double *u, double *rho);
    /* g, s, e and conjugate, at u and rho. */
    void (*gradient)(struct newton *);
    /* After gradient, for steps far from the optimum: s of parabolas that touch
     * the losses and are nowhere below them; NULL: there are none. */
    void (*majorise)(struct newton *);
    /* The solutions of all columns for the t-th C, where it ended so. What is
     * of all columns together stands with the first one's. */
    int (*finish)(const struct newton *, size_t t, enum klr_status status,
                  struct solution *const *solution, struct klr_error *err);
};

struct newton {
    const struct binary_problem *problem;
    const struct newton_functions *functions;
    size_t n, columns, size; /* of coefficients; n * columns */
    bool bias;
    bool is_start;                /* a subset's, for all to start from */
    double eps;                   /* relative duality gap to reach */
    struct loss loss;             /* of this step of the path */
    enum klr_precision precision; /* of u and q */
    enum klr_precision coarsest_reliable; /* coarser ones do not do any more */
    struct direction direction;
    struct klr_arena arena; /* of all vectors below, (n, columns) each */
    double *cost;           /* (n) C_i of this step of the path */
    double *beta, *u;       /* the point, u = K beta */
    double *g, *kg;         /* the dual point, K g */
    double *s, *e, *q;      /* sqrt W, see newton_step.c; beta - g; K e */
    double *x, *kx;         /* a point on the line of the search, and K x */
    struct known known[NEWTON_KNOWN]; /* the latest first */
    size_t known_count;
    double *rho;            /* (columns), as those below; optimal for u */
    double *rho_g, *rho_x;  /* optimal for K g and K x */
    double primal;          /* P(beta, rho) */
    double primal_g, dual;  /* P(g, rho_g) and D(g) */
    double bound;           /* the last D at these costs; NaN: there is none */
    double conjugate;       /* the part of -D without K */
    bool dual_is_evaluated; /* q, kg and P(g) are known */
    bool beta_is_dual;      /* at a new C, g tells less than beta */
    bool pairs_fail;        /* SMO has not come to an end: see pairs below */
    bool unproven;          /* beta is a subset's, and time ended before u */
    double fall;            /* of P in the last step */
    struct newton_point best; /* where P was smallest at these costs */
    struct newton_plan plan;
    struct foresight foresight;
    struct klr_progress progress;
    const struct softmax *softmax; /* of several columns: see softmax.c */
};

/* For one column the functions are those of loss.c; free it in any case. */
static int newton_create(struct newton *nt,
                         const struct binary_problem *problem, size_t columns,
                         struct klr_error *err);
static void newton_free(struct newton *nt);
/* Fill solution[column] (cost.count); errors as newton_solve. */
static int newton_run(struct newton *nt, struct solution *const *solution,
                      struct klr_error *err);

/* ---- objectives and gap: see newton_gap.c ---- */

/* rho becomes the best one for u; P (beta, rho). */
static double newton_value(const struct newton *nt, const double *beta,
                           const double *u, double *rho);
/* rho and P for the present beta, u and costs. */
static void newton_evaluate(struct newton *nt);
/* The relative gap of the answer: that of (beta, rho) or of the dual point,
 * whichever has the smaller P. */
static double newton_gap(void *solver);
/* The bound known where the clock ended an evaluation of the dual: the last
 * D. */
static bool newton_unseen(struct newton *nt);
/* Forms g, s and e, and either q, K g and D or what tells the gap without a
 * product; the violation becomes the gap, or a guess far from the optimum.
 * `first`: the costs are new. False: the clock ended a product; beta, u and P
 * are as before, and D is the last one. */
static bool newton_look(struct newton *nt, bool first);
/* True if the gap is small enough, and that of the answer too. Call it once
 * after each evaluation of the gap. */
static bool newton_settled(struct newton *nt);
/* True if the answer is the dual point, since only that is good enough; else it
 * is beta. */
static bool newton_answer_is_dual(const struct newton *nt);

/* ---- the path ---- */

/* The problem at C, between `from` and `to`: shift and box lie between theirs
 * in proportion, and beta and u grow with the shift. */
static void newton_set(struct newton *nt, double cost, const struct place *from,
                       const struct place *to);
/* A start for the path to `to`, and the C of its first point. */
static int newton_begin(struct newton *nt, const struct place *to, double *cost,
                        struct klr_error *err);
/* From C = cost, between those of `from` and `to`, to that of `to`; a stop on
 * the way leaves what was reached, as a point of the problem there. */
static enum klr_status newton_approach(struct newton *nt, double cost,
                                       const struct place *from,
                                       const struct place *to);
/* Asks the clock, which tells how far this is. */
static enum klr_status newton_clock(struct newton *nt);
/* beta, u and rho of a start at `to`, from a subset of the examples, if one
 * serves: see newton_from_subset.c. */
static int subset_start(struct newton *nt, const struct place *to, bool *served,
                        struct klr_error *err);
/* The bytes that subset_start allocates for n examples, its vectors of the
 * method aside. */
static double subset_bytes(size_t n);
/* to = from, thresholds (columns). */
static void newton_copy(const struct newton *nt, double *to,
                        const double *from);
/* Keep a point of the path; start, evaluated, from where P is least in the span
 * of those kept, or about so: see newton_from_path.c. */
static void span_keep(struct newton *nt);
static void span_start(struct newton *nt);
/* The present point, whose P is known, moves along some points or directions to
 * where P is least, until a step lowers it by no more than `enough` of P. */
static void span_descend(struct newton *nt, const struct known *point,
                         size_t count, double enough);

/* ---- pairs: see newton_by_pairs.c ---- */

/* True if this step at the present costs is one for SMO. */
static bool pairs_are_due(const struct newton *nt, int step);
/* From the dual point to a point of SMO, near the optimum. */
static void newton_by_pairs(struct newton *nt);

/* ---- points that the preconditioner foresees: see newton_foresee.c ---- */

/* Goes on from the present point as long as a product with K at least halves
 * the gap; the violation is an estimate of it then. True if the target is
 * reached, by the point and the dual point g. Nothing is done where steps by
 * conjugate gradients are better. */
static bool newton_foresee(struct newton *nt);
/* Its vectors, the arena's, in a newton that is created otherwise: 32 bytes for
 * each of at most FORESIGHT_MOST examples, which newton_bytes leaves aside. */
static int foresight_create(struct newton *nt, struct klr_error *err);

#endif
