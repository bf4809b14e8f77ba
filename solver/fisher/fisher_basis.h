/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bases of few kernels for Fisher discriminants, and kernels that may join
 * them: what fisher_basis.c, fisher_candidates.c, fisher_scan.c and
 * fisher_greedy.c share.
 */
#ifndef KLR_SOLVER_FISHER_BASIS_H
#define KLR_SOLVER_FISHER_BASIS_H

#include "solver/fisher/fisher.h"
#include "solver/matrix/matrix.h"

enum {
    PANELS = 4,                     /* of candidates, */
    CANDIDATES = PANELS * KLR_SLIM, /* judged together, at most */
    BASIS_STRIP = 128, /* examples whose part of U stays in the nearer caches */
    BASIS_BLOCK = KLR_BAND * BASIS_STRIP
};

/* ---- candidates: see fisher_candidates.c ---- */

/* Kernels that may join. */
struct candidates {
    struct klr_operator *op;
    struct klr_set set;
    size_t n;
    size_t count, panels;    /* loaded as floats; panels of KLR_SLIM, */
    const size_t *index;     /* (count) the caller's: which */
    float *row;              /* (CANDIDATES, n) */
    float shift[CANDIDATES]; /* the mean of each */
    float *column;           /* (panels, n, KLR_SLIM) rows less shift */
    double *exact;           /* (max(CANDIDATES, machines) + 1, n) */
};

/* The arena's; *c is all zero. */
static int candidates_create(struct candidates *c,
                             const struct binary_problem *problem,
                             size_t machines, struct klr_arena *arena,
                             struct klr_error *err);
static double candidates_bytes(size_t n);
/* Compute the kernels index (count): as floats, at most CANDIDATES, to be
 * judged together; as doubles, into exact rows from `row` on. False: the clock
 * ended that. */
static bool candidates_load(struct candidates *c, const size_t *index,
                            size_t count);
static bool candidates_load_exact(struct candidates *c, size_t row,
                                  const size_t *index, size_t count);

/* ---- bases: see fisher_basis.c ---- */

struct basis_part {
    size_t kernel;  /* the one that came with it */
    double z;       /* mean+ q - mean- q */
    double mean[2]; /* of q in each class, the positive one first */
};

struct basis {
    const struct binary_problem *problem;
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
                     functions of the band; empty unless recalls */
    double *coef; /* A by columns, the k-th of k + 1 elements */
    double *line; /* (bands * KLR_BAND) -l of the kernel to be taken, scaled */
    bool pending; /* the last function, u, is orthogonalised only once: it is to
                     become scale (u + U rest), with the means `smooth` */
    double *pending_correction; /* (bands * KLR_BAND) */
    double scale, smooth[2];
    size_t part_room, band_room, met_room, coef_room, line_room, pending_room;
    bool recalls; /* l is kept */
    double sum;   /* S */
};

/* A kernel k against the first functions of a basis; all zero at first. */
struct judgement {
    double norm, residual; /* (k, k), and that less l'l */
    double gradient;       /* mean+ k - mean- k - l'z */
    size_t count;          /* of the functions */
    bool known;            /* the norm is, and the means in the gradient */
    bool exact;            /* computed of doubles alone */
};

static void basis_create(struct basis *basis,
                         const struct binary_problem *problem, double penalty,
                         const double *ridge, bool recalls);
static void basis_free(struct basis *basis);
/* With room for another band. */
static double basis_bytes(const struct basis *basis);
/* False if what the basis leaves of a kernel is rounding. */
static bool basis_adds(double residual, double norm);
/* All (n): sum_k z_k q_k at the examples; its coefficients A z; and delta less
 * sum_k z_k U_k, where delta'f = mean+ f - mean- f. */
static void basis_outputs(const struct basis *basis, double *f);
static void basis_coefficients(const struct basis *basis, double *beta);
static void basis_dual(const struct basis *basis, double *s);

/* Class 0 is the positive one. */
static size_t basis_class(const struct basis *basis, size_t i);
/* High part of the functions of band t, (KLR_BAND, BASIS_STRIP), at the strip
 * of example i; the low part is BASIS_BLOCK behind it. */
static float *basis_block(const struct basis *basis, size_t t, size_t i);
/* Leave off the last function if it is rough. */
static void basis_drop(struct basis *basis);
/* Room for one more function. */
static int basis_grow(struct basis *basis, struct klr_error *err);

/* ---- scans through U: see fisher_scan.c ---- */

/* Weighted sums over examples, of candidates: by class; of squares. */
struct moment {
    double sum[2][CANDIDATES], square[CANDIDATES];
};

/* The work of one scan through the functions of a basis. */
struct scan {
    struct basis *basis;
    const struct candidates *c;
    const struct klr_dense *dense;
    /* a kernel, by its exact row (n); NULL: none */
    const double *row;
    size_t kernel;
    double norm, mean[2]; /* (k, k); of its classes */
    double scale;         /* what it is multiplied by */
    bool joins;           /* with U line added, it is stored as the next one */
    double *sum; /* (groups, bands * KLR_BAND + 1) U'v and u'v for what is left
                    of it, u, and v = u / w; in the end the first group has the
                    sums over all examples */
    /* candidates, all that are loaded; false: none */
    bool judges;
    size_t met[PANELS];    /* functions that all of a panel have met */
    bool fresh[PANELS];    /* some of a panel are not known yet */
    double *product;       /* U'k by groups, bands and panels, */
    struct moment *moment; /* (groups) and these; summed up likewise */
    size_t sum_room, product_room;
};

enum {
    SCAN_PANEL = KLR_BAND * KLR_SLIM, /* products of a band with a panel, */
    SCAN_BAND = PANELS * SCAN_PANEL   /* and with all of them */
};

/* *s is all zero; free it in any case. */
static int scan_create(struct scan *s, struct basis *basis,
                       const struct candidates *c, struct klr_error *err);
static void scan_free(struct scan *s);
/* Room for all that a scan gives. */
static int scan_grow(struct scan *s, struct klr_error *err);
/* The next scan is of the kernel in exact row q of the candidates alone, and
 * does not let it join. */
static void scan_kernel(struct scan *s, size_t q, size_t kernel);
/* Scans through several bases, for which there is room. A last function that
 * is rough becomes smooth first. False: the clock ended them; bases are left
 * without what is rough. */
static bool scan_all(struct scan *const *s, size_t count,
                     struct klr_pool *pool);
/* Only that. */
static void scan_smooth(struct scan *s);
/* Groups of examples that are summed over together. */
static size_t scan_groups(size_t n);

/* Have the kernel of scan_kernel join in the next scan; both set line and
 * scale. basis_begin recalls l from the judgement by floats; it is false if l
 * was not kept or is too coarse. Then basis_begin_exact, after a scan, takes l
 * from the sums of that scan. */
static bool basis_begin(struct scan *s);
static void basis_begin_exact(struct scan *s);
/* After the scan: the new function, which is rough; false if the kernel adds
 * nothing. */
static bool basis_join(struct scan *s);
/* The judgement of exact row q. */
static int basis_judge_exact(struct scan *s, size_t q, size_t kernel,
                             struct judgement *judgement,
                             struct klr_error *err);

/* ---- judgements ---- */

/* Function k is added to the judgement of the kernel, l being their product
 * U_k'k. */
static void judgement_meet(const struct basis *basis, size_t kernel, size_t k,
                           double l, struct judgement *j);
/* Before a scan and after it: ask for what the judgements (n) of the candidates
 * loaded lack, and add it to them. A panel asks for all that one of its
 * candidates lacks: those that have met as many should stand side by side. */
static void candidates_ask(struct scan *s, const struct judgement *judgement);
static void candidates_judge(const struct scan *s, struct judgement *judgement);
/* False if floats cannot tell enough. */
static bool judgement_is_clear(const struct judgement *j);
/* The judgement with the least residual and the steepest gradient that the
 * errors of floats leave possible. */
static struct judgement judgement_promise(const struct basis *basis,
                                          const struct judgement *j);

#endif
