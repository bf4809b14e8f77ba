/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bases of few kernels for Fisher discriminants, and kernels that may join
 * them: what fisher_basis.c and fisher_greedy.c share.
 */
#ifndef KLR_SOLVER_FISHER_BASIS_H
#define KLR_SOLVER_FISHER_BASIS_H

#include "solver/internal.h"

/* Weighted sums over rows, of KLR_BAND columns: by class; of squares. */
struct moment {
    double sum[2][KLR_BAND], square[KLR_BAND];
};

/* Kernels k_j as rows and as columns: see fisher_basis.c. */
struct candidates {
    struct klr_operator *op;
    struct klr_set set;
    size_t n, groups;       /* of rows that are summed over together */
    size_t count;           /* loaded, */
    size_t index[KLR_BAND]; /* their j */
    double *row;            /* (KLR_BAND, n) */
    double shift[KLR_BAND]; /* the mean of each */
    size_t first, used;     /* those that the columns hold */
    double *column;         /* (n, KLR_BAND) less shift */
    struct moment *moment;  /* (groups) */
    double *product;        /* (groups, bands, KLR_BAND, KLR_BAND) U'k */
    size_t product_room;
};

static int candidates_create(struct candidates *c, const struct binary *problem,
                             struct klr_error *err);
static void candidates_free(struct candidates *c);
static double candidates_bytes(size_t n);
/* `count` kernels, at most KLR_BAND; and which of them become columns. */
static void candidates_load(struct candidates *c, const size_t *index,
                            size_t count);
static void candidates_use(struct candidates *c, size_t first, size_t used);

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
    size_t count, bands; /* functions; bands of columns that have room */
    struct basis_part *part;
    double **band; /* (bands) U, (n, KLR_BAND) each */
    double *coef;  /* A by columns, the k-th of k + 1 elements */
    double *line;  /* (2, bands * KLR_BAND) l of a candidate; a correction */
    size_t part_room, band_room, coef_room, line_room;
    double sum; /* S */
};

/* A kernel beside a basis. */
struct judgement {
    double norm, residual; /* (k, k); what the basis leaves of it */
    double gradient;       /* mean+ k - mean- k - l'z */
};

static void basis_create(struct basis *basis, const struct binary *problem,
                         double penalty, const double *ridge);
static void basis_free(struct basis *basis);
/* With room for another band. */
static double basis_bytes(const struct basis *basis);
/* False if what the basis leaves of a kernel is rounding. */
static bool basis_adds(double residual, double norm);
/* judgement (c->used) of the candidates in use. */
static int basis_judge(const struct basis *basis, struct candidates *c,
                       struct judgement *judgement, struct klr_error *err);
/* Keep l of candidate q of those judged, and its column (n). */
static void basis_remember(struct basis *basis, const struct candidates *c,
                           size_t q, double *column);
/* Append the one remembered, of that norm, if it adds anything; u is its
 * column, and then the new function's. */
static int basis_take(struct basis *basis, struct candidates *c, size_t kernel,
                      double *u, double norm, bool *taken,
                      struct klr_error *err);
/* The judgement of kernel i after the last function joined, which has the
 * product l = U'k with it. */
static void basis_downdate(const struct basis *basis, size_t i, double l,
                           struct judgement *judgement);
/* All (n): sum_k z_k q_k at the examples; its coefficients A z; and delta less
 * sum_k z_k U_k, where delta'f = mean+ f - mean- f. */
static void basis_outputs(const struct basis *basis, double *f);
static void basis_coefficients(const struct basis *basis, double *beta);
static void basis_dual(const struct basis *basis, double *s);

#endif
