/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the parts of the room. With z_1 .. z_m the points, K_MM = R'R and
 * B = K_NM R^-1, (n, m), which is never formed for all examples:
 *
 *   minimise over w (m) and rho  P = 1/2 w'w + sum_i C_i log(1 + e^(-y_i f_i)),
 *   f = B w - rho;   beta = R^-1 w on the points, 0 elsewhere.
 *
 * With the loss of sklr in its place, whose curve is 0 where the box cuts alpha
 * off, all is the same but for the bounds of alpha: see loss.c.
 */
#ifndef KLR_SOLVER_SUBSPACE_PARTS_H
#define KLR_SOLVER_SUBSPACE_PARTS_H

#include "solver/matrix/matrix.h"
#include "solver/subspace/subspace.h"

/* ---- K of points and all examples: see subspace_sweep.c ---- */

enum {
    SHEET = 512,           /* examples whose entries are computed together */
    SHEETS = 4,            /* of a task, and of a partial sum */
    SWEEP_VECTORS = 2,     /* of a sweep, but for columns of a softmax */
    SUBSPACE_START = 32,   /* points that growth begins with, ... */
    SUBSPACE_OF_CLASS = 4, /* ... or so many for each of several classes */
    SUBSPACE_FEW = 512     /* points: so few have their Hessian by doubles */
};

struct point_sweep {
    const struct binary_problem *problem;
    size_t count, room;     /* points; most of them */
    size_t vectors;         /* that they are multiplied with at once, at most */
    const size_t *position; /* (count) theirs, in any order */
    struct klr_points *left; /* copies of them during a run, or NULL */
    float *kept;             /* (sheets, room, SHEET) K, or NULL */
    size_t *filled;          /* (sheets) points whose entries are kept */
    const double *times;     /* (sheets) 0: passed over, with u = 0; or NULL */
    size_t pitch;            /* bytes of a thread's part of work */
    char *work;              /* (threads) entries of a sheet */
    struct klr_range *range; /* (threads, ranges of the set) */
    double *partial;         /* (tasks, vectors, room) */
    double *entries;         /* what was multiplied so far */
};

/* Create a sweep over K of up to `room` points, for up to `vectors` vectors. It
 * keeps the entries if all of them fit into `budget` bytes; no result depends
 * on that. Free it in any case. */
static int point_sweep_create(struct point_sweep *s,
                              const struct binary_problem *problem,
                              const size_t *position, size_t room,
                              size_t vectors, double budget, double *entries,
                              struct klr_error *err);
static void point_sweep_free(struct point_sweep *s);
/* Bytes without those that are kept, and of these. */
static double point_sweep_bytes(const struct binary_problem *problem,
                                size_t room, size_t vectors);
static double point_sweep_kept_bytes(const struct binary_problem *problem,
                                     size_t room);

/* A vector of a sweep: u = K'v for v (points), where that is not NULL; then sum
 * (points) = K t, where that is not NULL. Without a t, u times the weights of
 * the product is in its place. */
struct sweep_vector {
    const double *v;
    double *u;
    const double *t;
    double *sum;
};

/* All of them in one sweep. Elements of u and t are `step` apart. */
struct point_sweep_product {
    struct point_sweep *sweep;
    enum klr_precision precision;
    size_t count, step;
    const struct sweep_vector *vector; /* (count) */
    const double *weight;              /* (n) */
};

/* False: the pool's watch ended it. */
static bool point_sweep_run(struct point_sweep_product *p);

/* ---- losses of some examples: see subspace_loss.c, subspace_softmax.c ---- */

struct fit {
    size_t n, columns;      /* columns: 1, or the classes of a softmax */
    const double *y;        /* (n) whoever creates it has that */
    double *cost;           /* (n) C_i, of a sample times what it stands for */
    double *u, *g;          /* (n, columns) f + rho; y alpha, or C ([y] - p) */
    double *curve;          /* (n, columns) W, or p of a softmax */
    double *next;           /* (n, columns) u after a step; workspace */
    double *rho;            /* (columns), the subspace's: at u */
    double losses;          /* at u */
    struct softmax softmax; /* of several columns; y is of no use then */
};

/* Without a rho, which stays. Free it in any case. */
static int fit_create(struct fit *fit, const double *y, size_t n,
                      size_t columns, struct klr_error *err);
static void fit_free(struct fit *fit);

struct subspace;

/* The functions that depend on the loss: of two classes, or of a softmax, for
 * which W_i = C_i (diag p - p p') couples the columns. */
struct subspace_functions {
    /* The losses at u (n, columns) and rho (columns), which becomes the best
     * one, from near it. */
    double (*losses)(const struct subspace *, const struct fit *,
                     const double *u, double *rho);
    /* g, curve and losses at fit->u and rho. */
    void (*gradient)(const struct subspace *, struct fit *);
    /* W of example i, an element and a root of it: S S' = W, (columns,
     * columns). */
    double (*curvature)(const struct fit *, size_t i, size_t c, size_t d);
    void (*root)(const struct fit *, size_t i, double *s);
    /* The curve of the sample becomes that of all examples. */
    void (*renew)(struct subspace *);
    /* t = W (u - 1 mean'), (n, columns); with a bias of sum 0 by the mean. */
    void (*bend)(const struct subspace *, const struct fit *, const double *u,
                 double *t);
    /* dual = g - s dual for the largest s <= t that is feasible; returns s. Or
     * s = t, and the dual point is moved to where it is feasible, in the space
     * of the kernel by *moved at most. */
    double (*follow)(const struct subspace *, double t, double *dual,
                     double *moved);
    /* How far the losses at all examples are above the dual's, with |rho' sum
     * dual|. */
    double (*excess)(const struct subspace *);
    /* Minus the part without K of D at alpha = base + t (that of dual - base),
     * and, of D, its slope along t. base (2) is one value for each class, of
     * one example, 0 of a softmax. */
    double (*conjugate)(const struct subspace *, const double *base, double t,
                        double *slope);
    /* The log loss of example i. */
    double (*loss_of)(const struct subspace *, size_t i);
    /* Rounding of decision values by `error`: see certificate.c. */
    void (*rounding)(const struct subspace *, double error,
                     struct certificate *);
    /* The losses of the best constant. */
    double (*constant)(struct subspace *);
};

static const struct subspace_functions subspace_two_classes, subspace_softmax;

/* ---- the solver's state ---- */

enum { SUBSPACE_VECTORS = 10 };

/* Draws one example from each of `wanted` equal parts of a class; or at steps
 * of 1 of the sum of chances. */
struct draw {
    size_t size, wanted;
    size_t seen, part, pick, end;
    double sum, next;
};

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
    const struct subspace_functions *functions;
    struct loss loss;
    size_t columns; /* of w: 1, or the classes of a softmax */
    size_t classes; /* 2, or the same */
    double c;
    double *level;     /* (sheets) what each example stands for, or NULL */
    size_t n, m, most; /* examples; points, now and at most */
    size_t *member;    /* (most) local index of the points */
    size_t *position;  /* (most) theirs in the operator */
    double tolerance;  /* of the pivots of K_MM, relative to K_ii */
    double size;       /* max |K_ii| */
    struct panels r;   /* R */
    struct panels *h;  /* (columns) the factors of the preconditioner */
    bool have_h;       /* there are those, */
    bool formed;       /* at the point of the last direction of the sample */
    bool renewed;      /* for the last direction of all examples */
    enum klr_precision directions; /* of products with H of all examples */
    double *rho;                   /* (2, columns) of all, of the sample */
    double *next_rho;              /* (columns) workspace */
    struct draw *draw;             /* (classes) workspace of sample_rows */
    size_t *part;                  /* (classes) likewise, of subspace_draw */
    struct sweep_vector *vector;   /* (sweep.vectors) workspace */
    double *least;                 /* (most) */
    double *store;                 /* the following, (columns, m) each: */
    double *w, *slope;             /* coefficients; w - B'g */
    double *bg, *bw;               /* B'g; B'W 1 */
    double *x, *rest;              /* the step; -slope - H x */
    double *z, *q, *hq, *v;
    struct point_sweep sweep;
    struct fit all;              /* of all examples */
    double *du, *dual;           /* (n, columns) B x; the dual point */
    double bdual;                /* |B'dual|^2 */
    struct fit sample;           /* of a sample of them */
    size_t *row;                 /* (sample.n) local index, ascending */
    double *sample_y;            /* (sample.n) */
    double *share;               /* (sample.n) examples that each stands for */
    float *b;                    /* (sample.n, panels_bands(m) KLR_BAND) B */
    float *scaled;               /* workspace, some of its rows, weighted */
    double *gathered;            /* likewise, parts of B't */
    double *white;               /* (threads) workspace of whiten_task */
    size_t wanted;               /* about so many are to be in the sample */
    double *sample_column;       /* (n) workspace, of several columns */
    double objective, gap;       /* of all; gap / objective */
    double entries;              /* multiplied by sweeps */
    double chosen_entries;       /* of these, by the choice of points */
    double flops;                /* of preconditioners */
    size_t hessians;             /* formed at this C */
    enum klr_basis_end end;      /* why there are no more points */
    double excess, excess_error; /* as struct klr_basis_report has them */
    struct klr_progress progress;
};

/* Make room for so many points. Those that there are stay, with w and R; the
 * sample and the preconditioner do not. KLR_E_MEMORY, KLR_E_LIMIT. */
static int subspace_make_room(struct subspace *s, size_t most,
                              struct klr_error *err);
/* True where the memory of -m allows for so many. */
static bool subspace_fits(const struct subspace *s, size_t most);
/* How many examples of a sample that many points need. */
static size_t sample_wanted(size_t m);
/* Where Newton's method on the sample may end. */
static const double sample_gap = 1e-2;
/* u = B w, unless w is NULL, and out = B't, unless that is, of all columns. */
static bool subspace_multiply(struct subspace *s, enum klr_precision precision,
                              const double *w, double *u, const double *t,
                              double *out);
/* A sweep of that many vectors, of elements side by side. */
static bool subspace_sweep(struct subspace *s, enum klr_precision precision,
                           size_t count, const struct sweep_vector *vector);
/* True where the solver is to go on. */
static bool subspace_goes_on(struct subspace *s);
static bool subspace_has_bias(const struct subspace *s);
/* The mean of u by W, one column; 0 without a bias. */
static double curve_mean(const struct subspace *s, const struct fit *fit,
                         const double *u);
/* The position of an example in the operator, and its K_ii. */
static size_t subspace_place(const struct subspace *s, size_t i);
static double subspace_diagonal(const struct subspace *s, size_t i);
/* Elements of w. */
static size_t subspace_length(const struct subspace *s);
/* rho, g, curve and losses at fit->u. */
static void subspace_evaluate(const struct subspace *s, struct fit *fit);
/* x = -H^-1 slope and du = B x, with the Hessian H of the fit, by conjugate
 * gradients from 0, until e'M^-1 e has fallen by accuracy^2 and |e|^2 / 2 is at
 * most `distance`. *products becomes their number. False if it was ended. */
static bool subspace_direction(struct subspace *s, struct fit *fit,
                               double accuracy, double distance,
                               size_t *products);
/* Take t x for the first of t = 1, 1/2 .. that lowers the objective of the fit,
 * w'w / 2 included; du is B x. Returns t. */
static double subspace_search(struct subspace *s, struct fit *fit,
                              const double *du);

/* Create a subspace with room for params->basis points, or all examples, but
 * with no point yet; for as many machines as share it, or as many columns of a
 * softmax. Free it in any case. */
static int subspace_create(struct subspace *s,
                           const struct binary_problem *problem,
                           size_t machines, size_t columns,
                           struct klr_error *err);
static void subspace_free(struct subspace *s);

/* ---- machines that share points: see subspace_share.c ---- */

/* Problems that differ in y alone, the first being s->problem. */
static int subspace_share(struct subspace *s,
                          const struct binary_problem *problems,
                          size_t machines, struct klr_error *err);
static void share_free(struct subspace *s);
/* Room for w of so many points; those that there are stay. */
static int share_room(struct subspace *s, size_t most, struct klr_error *err);
/* The bytes that it allocates. */
static double share_bytes(size_t machines, size_t n, size_t most);
/* Work on machine q, as it was kept; keep it as it is. */
static void subspace_turn(struct subspace *s, size_t q);
static void subspace_keep(struct subspace *s, size_t q);
/* How many g there are that points grow for: of machines, or of columns. */
static size_t subspace_targets(const struct subspace *s);
/* (n) target q: g of machine q as it was kept, or of column q as it is now.
 * Elements are s->columns apart. */
static const double *subspace_target(const struct subspace *s, size_t q);

/* ---- points: see subspace_choose.c, subspace_grow.c ---- */

/* The first m points of member become those of the subspace. A point that
 * others span already leaves, and m falls. If the clock ends it, only the first
 * `before` points are left, which were there before. KLR_E_MEMORY. */
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
/* At most `wanted` of about so many candidates join the points: those that
 * lower |(1 - Pi) sum_i g_i k_i|^2 most, summed over targets g at all examples.
 * w is 0 on them. False if few did, as the others were spanned already, or if
 * it was ended. */
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
static size_t sample_most(size_t wanted, size_t classes, size_t n);
static int subspace_draw(struct subspace *s, size_t wanted,
                         struct klr_error *err);
static void subspace_forget_sample(struct subspace *s);
/* The bytes that one for m points takes. */
static double sample_bytes(const struct subspace *s, size_t m);
/* size (classes) of the classes. */
static void sample_count(const struct subspace *s, size_t *size);
/* Draw wanted[c] rows of class c, for two of y = -1 and 1, no more than there
 * are, ascending. Each stands for `share` examples of its class, unless that is
 * NULL. Returns how many they are. */
static size_t sample_rows(const struct subspace *s, uint64_t random,
                          const size_t *wanted, size_t *row, double *share);
/* B q of the sample, for q and u as of w and fit->u; out = B't. */
static void sample_values(struct subspace *s, const double *q, double *u);
static void sample_gather(struct subspace *s, const double *t, double *out);
/* Take Newton steps on the sample, from w on, until the objective is within
 * `eps`, relatively, of the least. h is then that of one of the points on the
 * way, or of the last C. False if it was ended. */
static bool subspace_fit_sample(struct subspace *s, double eps);
/* Form and factor h = I + B'(W - W 1 1'W / 1'W 1) B of the sample's B and W;
 * for several columns one of each, with the diagonal of W there. */
static bool subspace_precondition(struct subspace *s);
/* Form h anew before products with all examples, if it is an old one and if
 * that costs less than the products it saves. */
static bool subspace_refresh(struct subspace *s);
/* Form h anew with the W that all examples have at the sample's rows. If h had
 * been renewed for the last direction, too, and that took long all the same,
 * draw another sample. */
static bool subspace_renew(struct subspace *s);
/* x (panels_bands(m) KLR_BAND, KLR_BAND) = R^-T K[points, examples], rows of B
 * transposed: of the examples row[first ..], or first .. where row is NULL; at
 * most KLR_BAND of them. Within a task of `thread`. */
static void subspace_whiten(const struct subspace *s, size_t thread,
                            const size_t *row, size_t first, size_t rows,
                            double *x);
/* z = the inverse of h times x, as w; of several columns less their mean. */
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

/* Approach the optimum by floats alone, until the gap is `eps` or the objective
 * hardly falls. False if it was ended. */
static bool subspace_approach(struct subspace *s, double eps);

/* To a relative gap of `eps`; KLR_CONVERGED, or why not. */
static enum klr_status subspace_newton(struct subspace *s, double eps);

/* ---- leave-one-out: see subspace_loo.c ---- */

/* The shift of the columns' solutions at the t-th C: by what leaving out an
 * example changes its decision values while the points are held. 0 if the clock
 * ends it, NaN if rounding leaves no answer. KLR_E_MEMORY. */
static int subspace_leave_out(struct subspace *s, size_t t,
                              struct solution *const *solution,
                              struct klr_error *err);
/* The bytes that it allocates, of so many columns. */
static double leave_out_bytes(const struct binary_problem *problem, size_t m,
                              size_t columns);

/* ---- all points: see subspace_bound.c ---- */

/* By how much the objective may be above that of all points, from all rows of K
 * or from a sample of them. */
static int subspace_bound(struct subspace *s, bool all,
                          struct klr_basis_report *report,
                          struct klr_error *err);

#endif
