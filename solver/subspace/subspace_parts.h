/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the parts of the room. With z_1 .. z_m the points, K_MM = R'R and
 * B = K_NM R^-1, (n, m), which is never formed for all examples:
 *
 *   minimise over w (m) and rho  P = 1/2 w'w + sum_i C_i log(1 + e^(-y_i f_i)),
 *   f = B w - rho;   beta = R^-1 w on the points, 0 elsewhere.
 */
#ifndef KLR_SOLVER_SUBSPACE_PARTS_H
#define KLR_SOLVER_SUBSPACE_PARTS_H

#include "solver/matrix/matrix.h"
#include "solver/subspace/subspace.h"

/* ---- K of points and all examples: see subspace_sweep.c ---- */

enum {
    SHEET = 512,           /* examples whose entries are computed together */
    SHEETS = 4,            /* of a task, and of a partial sum */
    SWEEP_VECTORS = 2,     /* that points' kernels are summed with at once */
    SUBSPACE_START = 32,   /* points that growth begins with, ... */
    SUBSPACE_OF_CLASS = 4, /* ... or so many for each of several machines */
    SUBSPACE_FEW = 512     /* points: so few have their Hessian by doubles */
};

struct point_sweep {
    const struct binary_problem *problem;
    size_t count, room;      /* points; most of them */
    const size_t *position;  /* (count) theirs, in any order */
    struct klr_points *left; /* copies of them during a run, or NULL */
    float *kept;             /* (sheets, room, SHEET) K, or NULL */
    size_t *filled;          /* (sheets) points whose entries are kept */
    const double *times;     /* (sheets) 0: passed over, with u = 0; or NULL */
    size_t pitch;            /* bytes of a thread's part of work */
    char *work;              /* (threads) entries of a sheet, sums */
    struct klr_range *range; /* (threads, ranges of the set) */
    double *partial;         /* (tasks, SWEEP_VECTORS, room) */
    double *entries;         /* what was multiplied so far */
};

/* For up to `room` points; entries are kept in `budget` bytes where all of them
 * fit: results are the same. Free it in any case. */
static int point_sweep_create(struct point_sweep *s,
                              const struct binary_problem *problem,
                              const size_t *position, size_t room,
                              double budget, double *entries,
                              struct klr_error *err);
static void point_sweep_free(struct point_sweep *s);
/* Bytes without those that are kept, and of these. */
static double point_sweep_bytes(const struct binary_problem *problem,
                                size_t room);
static double point_sweep_kept_bytes(const struct binary_problem *problem,
                                     size_t room);

/* In one sweep: u (n) = K' v for v (count), where that is not NULL; then
 * sum[q] (count) = K t[q], for t[q] (n), or `weight` (n) times u in place of
 * t[0]. */
struct point_sweep_product {
    struct point_sweep *sweep;
    enum klr_precision precision;
    const double *v;
    double *u;
    const double *weight;
    const double *t[SWEEP_VECTORS];
    double *sum[SWEEP_VECTORS];
};

/* False: the pool's watch ended it. */
static bool point_sweep_run(struct point_sweep_product *p);

/* ---- losses of some examples ---- */

struct fit {
    size_t n;
    double *y, *cost;      /* (n) C_i, of a sample times what it stands for */
    double *u, *g, *curve; /* (n) f + rho; y alpha; W */
    double *next;          /* (n) u after a step */
    double rho, losses;    /* at u */
};

static int fit_create(struct fit *fit, size_t n, struct klr_error *err);
static void fit_free(struct fit *fit);

/* ---- the solver's state ---- */

enum { SUBSPACE_VECTORS = 11 };

/* A machine of several that share their points, while others are worked on. */
struct shared_machine {
    double *w;              /* (most) */
    double *g;              /* (n) of the last fit that points grow by */
    double rho, sample_rho; /* at all examples, at the sample */
};

struct subspace {
    const struct binary_problem *problem;  /* the one that is worked on */
    const struct binary_problem *problems; /* (machines) that share points */
    size_t machines;
    struct shared_machine *shared; /* (machines) NULL: there is one alone */
    struct loss loss;
    double c;
    double *level;      /* (sheets) what each example stands for, or NULL */
    size_t n, m, most;  /* examples; points, now and at most */
    size_t *member;     /* (most) local index of the points */
    size_t *position;   /* (most) theirs in the operator */
    size_t *place;      /* (n) positions of the examples */
    double tolerance;   /* of the pivots of K_MM, relative to K_ii */
    double *diagonal;   /* (n) K_ii */
    double size;        /* max |K_ii| */
    struct panels r, h; /* R; the factor of the preconditioner */
    bool have_h;        /* there is one */
    double *store;      /* the following, (most) each: */
    double *w, *slope;  /* coefficients; w - B'g */
    double *bg, *bw;    /* B'g; B'W 1 */
    double *x, *rest;   /* the step; -slope - H x */
    double *z, *q, *hq, *v, *least;
    struct point_sweep sweep;
    struct fit all;              /* of all examples */
    double *du, *dual;           /* (n) B x; the dual point */
    double bdual;                /* |B'dual|^2 */
    struct fit sample;           /* of a sample of them */
    size_t *row;                 /* (sample.n) local index, ascending */
    double *share;               /* (sample.n) examples that each stands for */
    float *b;                    /* (sample.n, panels_bands(m) KLR_BAND) B */
    float *scaled;               /* some of its rows, weighted */
    double objective, gap;       /* of all; gap / objective */
    double entries;              /* multiplied by sweeps */
    double chosen_entries;       /* of these, by the choice of points */
    double flops;                /* of preconditioners */
    size_t hessians;             /* formed at this C */
    enum klr_basis_end end;      /* why there are no more points */
    double excess, excess_error; /* as struct klr_basis_report has them */
    struct klr_progress progress;
};

/* Room for so many points: those that there are stay, with w and R, the sample
 * and the preconditioner do not. KLR_E_MEMORY, KLR_E_LIMIT. */
static int subspace_make_room(struct subspace *s, size_t most,
                              struct klr_error *err);
/* True where the memory of -m allows for so many. */
static bool subspace_fits(const struct subspace *s, size_t most);
/* How many examples of a sample that many points need. */
static size_t sample_wanted(size_t m);
/* Where Newton's method on the sample may end. */
static const double sample_gap = 1e-2;
/* True where the solver is to go on. */
static bool subspace_goes_on(struct subspace *s);
static bool subspace_has_bias(const struct subspace *s);
/* rho, g, W and losses at fit->u. */
static void subspace_evaluate(const struct subspace *s, struct fit *fit);
/* The first of t = 1, 1/2 .. by which x along du lowers the objective of the
 * fit, w'w / 2 included, is taken; returns t. */
static double subspace_search(struct subspace *s, struct fit *fit,
                              const double *du);

/* With room for params->basis points, or all examples, but none yet; for as
 * many machines as share them. Free it in any case. */
static int subspace_create(struct subspace *s,
                           const struct binary_problem *problem,
                           size_t machines, struct klr_error *err);
static void subspace_free(struct subspace *s);

/* ---- machines that share points: see subspace_share.c ---- */

/* Problems that differ in y alone, the first being s->problem. */
static int subspace_share(struct subspace *s,
                          const struct binary_problem *problems,
                          size_t machines, struct klr_error *err);
static void share_free(struct subspace *s);
/* The bytes that it allocates. */
static double share_bytes(size_t machines, size_t n, size_t most);
/* Work on machine q, as it was kept; keep it as it is. */
static void subspace_turn(struct subspace *s, size_t q);
static void subspace_keep(struct subspace *s, size_t q);
/* (n) g of machine q as it was kept, or of the only one as it is. */
static const double *subspace_target(const struct subspace *s, size_t q);

/* ---- points: see subspace_choose.c, subspace_grow.c ---- */

/* The first m points of member become those of the subspace, without those that
 * others span already; m falls. Where the clock ends that, the first `before`,
 * which were its points, stay alone. KLR_E_MEMORY. */
static int subspace_span(struct subspace *s, size_t before,
                         struct klr_error *err);
/* The losses at C, of the best constant at first. */
static void subspace_start(struct subspace *s, double c);
/* All points, by params->basis_choice or as they are given, at the value c. */
static int subspace_choose(struct subspace *s, double c, struct klr_error *err);
/* From those that there are, by doubling. */
static int subspace_grow(struct subspace *s, struct klr_error *err);
/* Candidates for so many points; `least` of them where these are few. */
static size_t growth_candidates(size_t wanted, size_t least);
/* At most `wanted` points join, of about so many candidates, that lower
 * |(1 - Pi) sum_i g_i k_i|^2 most, summed over machines, for their g at all
 * examples; w is 0 on them. False: few did, the others being spanned already;
 * or it was ended. */
static bool subspace_join(struct subspace *s, size_t wanted, size_t candidates,
                          uint64_t *random, struct klr_error *err, int *code);
/* Likewise to twice the points, or s->most. */
static bool subspace_double(struct subspace *s, uint64_t *random,
                            struct klr_error *err, int *code);
/* *size: as many points as all examples would gain less than the tolerance
 * over: see subspace_size.c. The points and w are of no use then, and the costs
 * are to be set anew. */
static int subspace_find_size(struct subspace *s, size_t *size,
                              struct klr_error *err);

/* ---- a sample of the examples: see subspace_sample.c ---- */

/* Draw about `wanted` of them, at most so many of n, and form B. */
static size_t sample_most(size_t wanted, size_t n);
static int subspace_draw(struct subspace *s, size_t wanted,
                         struct klr_error *err);
static void subspace_forget_sample(struct subspace *s);
/* Draw wanted[c] rows of the class of y = -1 and 1, no more than there are,
 * ascending. Each stands for `share` examples of its class, unless that is
 * NULL. Returns how many they are. */
static size_t sample_rows(const struct subspace *s, uint64_t random,
                          const size_t wanted[2], size_t *row, double *share);
/* Newton's method on the sample from w on until the objective is within `eps`,
 * relatively, of the least. h is that of its last point. False: it was ended.
 */
static bool subspace_fit_sample(struct subspace *s, double eps);
/* h = I + B'(W - W 1 1'W / 1'W 1) B, factored, by the sample's B and W.
 */
static bool subspace_precondition(struct subspace *s);
/* The same by W of all examples there. */
static bool subspace_renew(struct subspace *s);
/* x (panels_bands(m) KLR_BAND, KLR_BAND) = R^-T K[points, examples], rows of B
 * transposed: of the examples row[first ..], or first .. where row is NULL; at
 * most KLR_BAND of them. Within a task of `thread`. */
static void subspace_whiten(const struct subspace *s, size_t thread,
                            const size_t *row, size_t first, size_t rows,
                            double *x);
/* h = 0 of that size, at most m + 1; then h += A'A for A (rows, size to whole
 * bands). False: the pool's watch ended it. */
static void subspace_start_hessian(struct subspace *s, size_t size);
static bool subspace_add_square(struct subspace *s, const void *a, size_t rows,
                                enum klr_precision precision);
/* z (m) = the inverse of h times x. */
static void subspace_invert(const struct subspace *s, const double *x,
                            double *z);

/* ---- some examples for all: see subspace_level.c ---- */

/* s->level, where it pays for s->most points. */
static int level_create(struct subspace *s, struct klr_error *err);
/* The costs at s->c: of the level, if there is one, from now on, or of all. */
static void level_costs(struct subspace *s, bool enter);
/* C_i of an example of the sample. */
static double subspace_cost(const struct subspace *s, size_t i);
/* From w on nearer to the solution, by the level, which is left then. False: it
 * was ended. */
static bool level_approach(struct subspace *s);

/* ---- the method: see subspace_newton.c ---- */

/* By floats alone, to a gap of `eps` or where the objective hardly falls.
 * False: it was ended. */
static bool subspace_approach(struct subspace *s, double eps);

/* To a relative gap of `eps`; KLR_CONVERGED, or why not. */
static enum klr_status subspace_newton(struct subspace *s, double eps);

/* ---- leave-one-out: see subspace_loo.c ---- */

/* shift (n) = what leaving out an example changes its decision value by, the
 * points being held; 0 where the clock ends it. h is lost. KLR_E_MEMORY. */
static int subspace_leave_out(struct subspace *s, double *shift,
                              struct klr_error *err);
/* The bytes that it allocates. */
static double leave_out_bytes(const struct binary_problem *problem, size_t m);

/* ---- all points: see subspace_bound.c ---- */

/* By how much the objective may be above that of all points: by all rows of K,
 * or a sample of them. */
static int subspace_bound(struct subspace *s, bool all,
                          struct klr_basis_report *report,
                          struct klr_error *err);

#endif
