/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of SMO share: see smo.c.
 */
#ifndef KLR_SOLVER_SMO_PARTS_H
#define KLR_SOLVER_SMO_PARTS_H

#include "solver/smo/smo.h"

enum {
    SMO_FETCH = 12,   /* rows computed together, at most */
    SMO_TURNS = 8,    /* times that examples are set aside, at most */
    SMO_OFTEN = 1000, /* steps between these, at least */
    SMO_SHARE =
        4096, /* examples that a thread goes through at once, at least */
};

enum smo_side { SMO_CAN_RISE = 1, SMO_CAN_FALL = 2 }; /* beta_i can */

struct smo_example {
    size_t local;    /* index in the binary problem: the key of its row */
    size_t position; /* in the operator */
    double y, cost, diagonal /* K_ii */, alpha;
};

struct smo {
    const struct binary_problem *problem;
    struct loss loss;
    double size;        /* of the largest entries of K, nearly */
    double eps;         /* stop when max s_i - min s_j <= eps */
    bool first_order;   /* j of the smallest s_j: smo1 */
    bool loops;         /* the two loops of smo_keerthi.c in place of the box */
    bool single;        /* no bias: one variable a step */
    double most, least; /* s that can rise, and fall: in the last step */
    size_t n, active;   /* examples; those in work stand first */
    enum klr_cpu cpu;
    struct smo_example *example; /* (n) */
    double *s;                   /* (n), valid for those in work */
    double *hessian;             /* (n) K_ii + psi_i'', see smo_curvature */
    unsigned char *side;         /* (n) enum smo_side */
    struct smo *spare;           /* the same arrays, to permute into */
    struct smo_turn {            /* examples were set aside */
        double *alpha;           /* (n) as it was then, by local index */
        size_t end;              /* those in work before: theirs end there */
    } turn[SMO_TURNS];
    size_t turns;               /* since all were in work */
    void *zero;                 /* (n) the row of no example */
    struct klr_cache *cache;    /* rows with all columns */
    struct klr_cache *gathered; /* rows with those in work, if some are not */
    unsigned char *unused; /* (n) by local index: the row came unasked and has
                              not been asked for since */
    struct smo_ahead {
        size_t fetched, used; /* such rows of late; those asked for since */
        size_t single, wait;  /* rows that came alone, and will, before others
                                 are tried again */
    } ahead;
    enum klr_precision precision; /* of the cached rows */
    bool stale;      /* time ended before s of all examples was known again */
    long long steps; /* for the costs before */
    struct smo_advance {
        long long last;   /* iterations at the last look */
        double dual;      /* the largest so far, */
        double growth;    /* of it since the look before, relative */
        double violation; /* the least that has counted as less */
        int idle;         /* looks since either got better */
    } advance;
    struct klr_progress progress;
    struct klr_arena arena; /* all that is allocated, but for the cache */
};

/* ---- the step along a line: see smo_line.c ---- */

/* f(t) - f(0) along beta_i + t, beta_j - t. */
struct smo_line {
    const struct loss *loss;
    struct smo_example i, j; /* of cost 0: there is none */
    double eta;              /* K_ii + K_jj - 2 K_ij */
    double slope;            /* of the quadratic part at 0 */
    double psi_i, psi_j;     /* psi at 0 */
};

/* The step t for slope(0) < 0 and ends at t = room. If f is convex along the
 * line it is the minimiser, with |slope| <= accuracy, or the end; otherwise a
 * local minimiser, or the end, with f(t) < f(0). */
static double line_step(const struct smo_line *line, double room,
                        double accuracy);

/* ---- the start: see smo_start.c ---- */

/* alpha at the first C. */
static void smo_start(struct smo *smo);
/* From the solution for another C, times `ratio`: products go with alpha. */
static void smo_scale(struct smo *smo, double ratio);
/* s (n) = -K beta, zeros at first; why it was stopped: by the clock, or, if it
 * may be, by its limit of iterations. */
static enum klr_status smo_products(struct smo *smo, bool may_stop, double *s);
/* Logistic losses: alpha, and s = -K beta, come nearer to the optimum. */
static void smo_stretch(struct smo *smo);
/* s from s = -K beta, and what else belongs to alpha. */
static void smo_begin(struct smo *smo);
/* The solution where it was stopped before K beta was known: that for K = 0. */
static int smo_finish_at_start(struct smo *smo, double c,
                               enum klr_status status,
                               struct solution *solution,
                               struct klr_error *err);

/* ---- the start of a linear svm: see smo_linear.c ---- */

static bool smo_starts_linear(const struct smo *smo);
/* alpha comes near the optimum, or as near as the clock lets it; sum beta is 0
 * with a bias, and s = -K beta. KLR_E_MEMORY. */
static int smo_start_linear(struct smo *smo, struct klr_error *err);

/* ---- rows: see smo_rows.c ---- */

static size_t smo_element(const struct smo *smo); /* bytes of an entry */
/* Work with the first `active` examples. */
static void smo_set_active(struct smo *smo, size_t active);
/* The row of i, with the columns in work; zeros for n. It stays until another
 * row but one has been asked for. */
static const void *smo_row(struct smo *smo, size_t i);

/* Compute rows together, into the cache, which has none of them: at most
 * SMO_FETCH, and no more than it has room for. The last ones stay longest.
 * False: the clock ended that. */
static bool smo_put_rows(struct smo *smo, const size_t *index, size_t count);
/* The rows of a few examples come to the cache together, if they are not there.
 * First those that are there become the latest, so that none of them goes.
 * False: the clock ended that. */
static bool smo_have_rows(struct smo *smo, const size_t *index, size_t count);
/* A row that the cache holds, with all columns. */
static const void *smo_whole_row(struct smo *smo, size_t i);

/* ---- loops over a row: see smo_sweep.c ---- */

/* s above `rise` violates where beta can rise; below `fall`, where it can
 * fall. */
struct smo_bounds {
    double rise, fall;
};

/* Entry k of a row. */
static inline double smo_entry(const void *row, enum klr_precision precision,
                               size_t k);
/* argmax of s over those that can rise; n if there are none. */
static size_t smo_first(const struct smo *smo);
/* s -= t (K_i - K_j); returns smo_first of it. */
static size_t smo_update(struct smo *smo, double t, const void *row_i,
                         const void *row_j);
/* s (n) -= t K_i, all columns. */
static void smo_subtract(const struct smo *smo, double t, const void *row_i,
                         double *s);
/* The partner that promises most to i; n if none violates by more than eps. By
 * the row of i, or, if that is NULL, to first order: the smallest s. For i = n,
 * against 0 and half of eps. *least is the smallest s that can fall. */
static size_t smo_second(const struct smo *smo, size_t i, const void *row,
                         double *least);
/* The first example from `begin` on whose s is beyond one of the bounds; end if
 * there is none. *sides, of enum smo_side, tells which. */
static size_t smo_violator(const struct smo *smo, size_t begin, size_t end,
                           const struct smo_bounds *bounds, int *sides);
/* The largest s that can rise and the smallest that can fall; without bias, the
 * farther one from 0 and its mirror image. */
static void smo_extremes(const struct smo *smo, double *most, double *least);

/* ---- the step: see smo_step.c ---- */

/* The ends of alpha. */
static double smo_lower(const struct smo *smo, const struct smo_example *e);
static double smo_upper(const struct smo *smo, const struct smo_example *e);
/* How far beta_i can go in the direction sign; of no example, without end. */
static double smo_room(const struct smo *smo, const struct smo_example *e,
                       double sign);
/* Move beta_i by t, where `room` is as far as it can go; keeps s, hessian and
 * side of that example right but for the term K beta of s. False if alpha stays
 * as it is. */
static bool smo_move(struct smo *smo, size_t i, double t, double room);
/* The sides of an example; in two loops none for one near its boundary. */
static unsigned char smo_side(const struct smo *smo,
                              const struct smo_example *e);
/* The slope that a step may leave. */
static double smo_accuracy(const struct smo *smo);
/* Raise beta_i, lower beta_j for i = *next, which becomes the next i; one of
 * them may be n, none. The row of i may be NULL: not at hand. False if rounding
 * leaves no step to make, or the clock ended a row. */
static bool smo_step(struct smo *smo, size_t *next, size_t j,
                     const void *row_i);
/* (K beta)_i; 0 of no example. */
static double smo_product(const struct smo *smo, size_t i);

/* ---- objectives, gap, solution: see smo_gap.c ---- */

/* Objectives as they stand, by s of the examples in work; for those set aside s
 * is as it was when they were. */
struct smo_values {
    double primal, dual;
};
static struct smo_values smo_objectives(const struct smo *smo);

/* The relative gap; `solver` is a struct smo. */
static double smo_gap(void *solver);
/* True if a gap is asked for, and reached: Keerthi (3.13). */
static bool smo_gap_reached(struct smo *smo);
/* The violation to stop at. */
static double smo_tolerance(const struct klr_params *params);
/* The solution for C = c; errors as point_finish. */
static int smo_finish(struct smo *smo, double c, enum klr_status status,
                      struct solution *solution, struct klr_error *err);

/* ---- the loop: see smo.c ---- */

/* Why to stop, if there is a reason. */
static enum klr_status smo_clock(struct smo *smo);

/* ---- the outer loop: see smo_keerthi.c ---- */

/* Try to move each example near its boundary. True if any moved, or may. */
static bool smo_outer(struct smo *smo, enum klr_status *status);

/* ---- shrinking: see smo_shrink.c ---- */

/* Set aside what is at a bound and beyond the extremes of the others, if that
 * pays. KLR_E_MEMORY. */
static int smo_shrink(struct smo *smo, double most, double least,
                      struct klr_error *err);
/* All examples in their original order, with s anew where it was not kept, or,
 * where the clock ends that, stale. */
static int smo_restore(struct smo *smo, struct klr_error *err);
/* Look at all examples again and go on with those that matter. *optimal tells
 * that nothing violates by more than eps: then all stay in work. */
static int smo_resume(struct smo *smo, bool *optimal, struct klr_error *err);

#endif
