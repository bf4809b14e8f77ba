/* SPDX-License-Identifier: BSD-3-Clause
 *
 * K as solvers see it: products, rows, columns, diagonal.
 */
#ifndef KLR_SOLVER_GRAM_H
#define KLR_SOLVER_GRAM_H

#include "solver/data/data.h"
#include "solver/gram/gram_tiles.h"

/* ---- operator: K as solvers see it ---- */

struct klr_operator {
    struct klr_kernel kernel;
    struct klr_points *points;
    size_t n;
    unsigned long long evaluations; /* kernel entries computed so far */
    double passes;         /* entries multiplied or produced, over n^2 */
    struct klr_pool *pool; /* or NULL */
    struct gram_tiles tiles;
    struct block_slice *row, *col; /* (blocks) of the sets of a product */
    size_t *active_blocks;         /* (blocks) those that have positions */
    atomic_size_t *turn;           /* (blocks) contributions they have got */
    size_t groups;         /* linear kernel: partial sums of X'V, else 0 */
    double *partial;       /* (groups, width, KLR_SLICE) */
    bool fixed16;          /* products of 16-bit entries are to be preferred */
    bool fill_whole_tiles; /* tiles are computed whole, to be kept */
    struct klr_operator *origin; /* whose points and tiles it shares; the pool
                                    is own; or NULL */
    _Atomic double dent; /* of an origin: see train/dent.c; NaN: not known */
};

/* Tiles are kept in at most `budget` bytes; neither that nor the pool, which
 * stays the caller's and may be NULL, changes a result. */
static int operator_create(struct klr_operator *op, const struct klr_kernel *,
                           const struct klr_features *x, const size_t *order,
                           struct klr_pool *pool, size_t budget,
                           struct klr_error *err);
/* As operator_create, on points of klr_points_create_lean: x and order stay. */
static int operator_create_lean(struct klr_operator *op,
                                const struct klr_kernel *,
                                const struct klr_features *x,
                                const size_t *order, struct klr_pool *pool,
                                size_t budget, struct klr_error *err);
/* As operator_create, on points of klr_points_create_for_rows. */
static int operator_create_for_rows(struct klr_operator *op,
                                    const struct klr_kernel *,
                                    const struct klr_features *x,
                                    const size_t *order, struct klr_pool *pool,
                                    size_t budget, struct klr_error *err);
/* A second operator on the points and tiles of op, for products by one other
 * thread at the same time. op must outlive it; free it in any case. */
static int operator_share(struct klr_operator *share, struct klr_operator *op,
                          struct klr_error *err);
/* Prefer 16-bit entries, for entries in 0..1 and before any product; tiles are
 * kept of 16-bit entries first. operator_free in any case. */
static int operator_prefer_fixed16(struct klr_operator *op, size_t budget,
                                   struct klr_error *err);
/* Another budget, for tiles of that precision alone. Where they cannot be had
 * there are none; where they are as many as before they stay. */
static void operator_keep(struct klr_operator *op, enum klr_precision precision,
                          size_t budget);
/* Keep no tiles any more where they and so many bytes are beyond the budget. */
static void operator_yield(struct klr_operator *op, double bytes,
                           double budget);
static void operator_free(struct klr_operator *op);
/* KLR_E_DATA: K has turned out not to be positive semidefinite. A precomputed
 * one is not; of other kernels, which are, rounding errors are too large.
 * `instead` takes any matrix: "-a smo". */
static int operator_refuse(const struct klr_operator *op, const char *instead,
                           struct klr_error *err);

/* The precision that a product has where this one is asked for. */
static enum klr_precision operator_precision(const struct klr_operator *op,
                                             enum klr_precision asked);

/* The functions below that return bool end early, between two tiles, where the
 * pool's watch says so. Then they return false, and their output is of no use.
 *
 * out (|rows|, m) = K[rows, cols] V, V (|cols|, m), both row-major. Entries
 * have the precision; sums are accumulated in double, in a fixed order. The
 * linear kernel sums over features instead, in double. */
static bool operator_apply(struct klr_operator *op, struct klr_set rows,
                           struct klr_set cols, const double *v, size_t m,
                           enum klr_precision precision, double *out);

/* As operator_apply; where few rows of V are not 0, by these alone. *whole is
 * what that returns. KLR_E_MEMORY. */
static int operator_apply_sparse(struct klr_operator *op, struct klr_set rows,
                                 struct klr_set cols, const double *v, size_t m,
                                 enum klr_precision precision, double *out,
                                 bool *whole, struct klr_error *err);

/* Some of a set's examples: their positions, and their rows of V (|set|, m). */
struct chosen {
    struct klr_set set; /* set.size of them */
    struct klr_range *range;
    double *v;
};

/* Take those that are wanted (|set|). Free it in any case; KLR_E_MEMORY. */
static int chosen_create(struct chosen *chosen, struct klr_set set,
                         const bool *wanted, const double *v, size_t m,
                         struct klr_error *err);
static void chosen_free(struct chosen *chosen);

/* Have entries of the set computed that are to be kept, as a product does. */
static bool operator_fill(struct klr_operator *op, struct klr_set set,
                          enum klr_precision precision);

/* out[q] (|cols|) = K[i[q], cols], float or double as `precision` says, for
 * q < count. Several rows cost less each than a single one. */
static bool operator_rows_to(struct klr_operator *op, const size_t *i,
                             size_t count, struct klr_set cols,
                             enum klr_precision precision, void *const *out);
/* As operator_rows_to, into one block with `stride` elements from row to
 * row. */
static bool operator_rows(struct klr_operator *op, const size_t *i,
                          size_t count, struct klr_set cols,
                          enum klr_precision precision, void *out,
                          size_t stride);
/* The row of the i-th of a set: out (|set|) = K[set_position(set, i), set]. */
static bool operator_row(struct klr_operator *op, struct klr_set set, size_t i,
                         double *out);

/* Within a task of `thread`: out (count, |cols|; stride) = K[i, cols] of these
 * positions i in any order, computed, whatever tiles there are. */
/* Likewise for the rows of other points, prepared for those of op. */
static void operator_block_of(struct klr_operator *op, size_t thread,
                              const struct klr_points *left,
                              struct klr_range rows, struct klr_set cols,
                              enum klr_precision precision, void *out,
                              size_t stride);
static void operator_block(struct klr_operator *op, size_t thread,
                           const size_t *i, size_t count, struct klr_set cols,
                           enum klr_precision precision, void *out,
                           size_t stride);
/* After it: what threads have computed, and rows x cols entries multiplied or
 * produced. */
static void operator_count(struct klr_operator *op, size_t rows, size_t cols);

static void operator_diagonal(const struct klr_operator *op, struct klr_set set,
                              double *out);

/* out (x.n, m) = K[x, cols] V for other examples x, prepared by
 * klr_points_create_like. */
static void operator_cross(struct klr_operator *op, const struct klr_points *x,
                           struct klr_set cols, const double *v, size_t m,
                           enum klr_precision precision, double *out);

/* ---- a principal submatrix ---- */

/* K[set, set], of set.size examples. */
struct submatrix {
    struct klr_operator *op;
    struct klr_set set;
};

/* ---- products with vectors of few elements: see columns.c ---- */

struct columns {
    struct submatrix k;
    const struct klr_dense *dense;
    float *value;       /* (room, pitch) the caller's */
    size_t pitch, room; /* elements from column to column; columns at most */
    size_t kept;        /* columns there are */
    size_t *place;      /* (n) where that of an example is; n: it is not kept */
    size_t *position;   /* (n) of those to come */
    double *weight;     /* (room) elements of the vector */
};

/* For as many columns as `bytes` hold, the arena's. The caller keeps value, so
 * many bytes, which it may use for other things, too, if columns_forget() comes
 * before the next product. */
static int columns_alloc(struct columns *c, struct submatrix k, size_t bytes,
                         struct klr_arena *arena, struct klr_error *err);
static double columns_bytes(size_t n, size_t bytes);
static void columns_forget(struct columns *c);
/* out (n) = K v of float entries; false and no column kept, if v has more
 * elements that are not 0 than there is room for, or the pool's watch ended it.
 */
static bool columns_multiply(struct columns *c, const double *v, double *out);

#endif
