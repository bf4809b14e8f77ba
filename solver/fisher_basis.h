/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bases of few kernels for Fisher discriminants, and kernels that may join
 * them: what fisher_basis.c, fisher_candidates.c and fisher_greedy.c share.
 */
#ifndef KLR_SOLVER_FISHER_BASIS_H
#define KLR_SOLVER_FISHER_BASIS_H

#include "solver/fisher.h"

enum {
    CANDIDATES = 4 * KLR_SLIM, /* judged together, at most */
    BASIS_STRIP = 128, /* examples whose part of U stays in the nearer caches */
    BASIS_BLOCK = KLR_BAND * BASIS_STRIP
};

/* ---- candidates: see fisher_candidates.c ---- */

/* Weighted sums over examples, of candidates: by class; of squares. */
struct moment {
    double sum[2][CANDIDATES], square[CANDIDATES];
};

/* Kernels that may join. */
struct candidates {
    struct klr_operator *op;
    struct klr_set set;
    size_t n, groups;        /* of examples that are summed over together */
    size_t count, panels;    /* loaded as floats; panels of KLR_SLIM, */
    const size_t *index;     /* (count) the caller's: which */
    float *row;              /* (CANDIDATES, n) */
    float shift[CANDIDATES]; /* the mean of each */
    float *column;           /* (panels, n, KLR_SLIM) rows less shift */
    struct moment *moment;   /* (groups) */
    double *exact;           /* (CANDIDATES or machines, and one, n) */
    double *work;            /* sums by group; first of all groups: U'k of those
                               judged, by bands and panels, or of one */
    size_t work_room;
};

static int candidates_create(struct candidates *c, const struct binary *problem,
                             size_t machines, struct klr_error *err);
static void candidates_free(struct candidates *c);
static double candidates_bytes(size_t n);
/* As floats, to be judged together, at most CANDIDATES; as doubles, into exact
 * rows from `row` on. */
static void candidates_load(struct candidates *c, const size_t *index,
                            size_t count);
static void candidates_load_exact(struct candidates *c, size_t row,
                                  const size_t *index, size_t count);
/* c->work has `size` elements at least. */
static int candidates_work(struct candidates *c, size_t size,
                           struct klr_error *err);

/* ---- bases: see fisher_basis.c ---- */

struct basis_part {
    size_t kernel;  /* the one that came with it */
    double z;       /* mean+ q - mean- q */
    double mean[2]; /* of q in each class, the positive one first */
};

struct basis {
    const struct binary *problem;
    double penalty;      /* C = 1/c */
    const double *ridge; /* (n) C R_jj, the caller's */
    bool kernel;         /* R = K */
    double total[2];     /* weight of each class */
    size_t count, bands; /* functions; bands of KLR_BAND that have room */
    size_t width;        /* n, and what fills up the last strip */
    struct basis_part *part;
    float **band; /* (bands) U, strip by strip of examples: high and low parts
                     of the functions of the band, (2, KLR_BAND, strip) */
    float **met;  /* (bands) l of kernels that are judged, (n, KLR_BAND) of the
                     functions of the band; NULL: not kept */
    double *coef; /* A by columns, the k-th of k + 1 elements */
    double *line; /* (bands * KLR_BAND) l of the kernel to be taken */
    size_t part_room, band_room, met_room, coef_room, line_room;
    bool recalls; /* l is kept */
    double sum;   /* S */
};

/* A kernel beside the first functions of a basis. */
struct judgement {
    double norm, residual; /* (k, k); what the functions leave of it */
    double gradient;       /* mean+ k - mean- k - l'z */
    size_t count;          /* the functions */
    bool known;            /* false at first, all else being 0 */
    bool exact;            /* of doubles alone */
};

static void basis_create(struct basis *basis, const struct binary *problem,
                         double penalty, const double *ridge, bool recalls);
static void basis_free(struct basis *basis);
/* With room for another band. */
static double basis_bytes(const struct basis *basis);
/* False if what the basis leaves of a kernel is rounding. */
static bool basis_adds(double residual, double norm);
/* The judgement of exact row q; c->work holds l; u (width) is workspace. */
static int basis_judge_exact(const struct basis *basis, struct candidates *c,
                             size_t q, size_t kernel, double *u,
                             struct judgement *judgement,
                             struct klr_error *err);
/* Append the kernel of exact row q, if it adds anything. u (width), zeros
 * behind n elements: the new function's U. */
static int basis_take(struct basis *basis, struct candidates *c, size_t q,
                      size_t kernel, double *u, bool *taken,
                      struct klr_error *err);
/* All (n): sum_k z_k q_k at the examples; its coefficients A z; and delta less
 * sum_k z_k U_k, where delta'f = mean+ f - mean- f. */
static void basis_outputs(const struct basis *basis, double *f);
static void basis_coefficients(const struct basis *basis, double *beta);
static void basis_dual(const struct basis *basis, double *s);

/* Examples are summed over in groups of so many, a multiple of BASIS_STRIP. */
static size_t basis_group(size_t n);
static size_t basis_groups(size_t n);
/* Class 0 is the positive one. */
static size_t basis_class(const struct basis *basis, size_t i);
/* High part of the functions of band t, (KLR_BAND, BASIS_STRIP), at the strip
 * of example i; the low part is BASIS_BLOCK behind it. */
static float *basis_block(const struct basis *basis, size_t t, size_t i);

/* ---- judgements ---- */

/* The kernel, which has the product l = U'k with it, meets function k. */
static void judgement_meet(const struct basis *basis, size_t kernel, size_t k,
                           double l, struct judgement *j);
/* judgement (n), of which those of the candidates loaded go on from where they
 * are; the fewest functions are asked for where candidates that have met as
 * many stand side by side. */
static int candidates_judge(struct candidates *c, const struct basis *basis,
                            struct judgement *judgement, struct klr_error *err);
/* False if floats cannot tell enough. */
static bool judgement_is_clear(const struct judgement *j);
/* The same with the least residual and the steepest gradient that the kernel
 * may have if floats cannot tell. */
static struct judgement judgement_promise(const struct basis *basis,
                                          const struct judgement *j);

#endif
