/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parts of K, kept in tiles or computed: what gram_tiles.c gives to operator.c.
 */
#ifndef KLR_SOLVER_GRAM_TILES_H
#define KLR_SOLVER_GRAM_TILES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/threads.h"
#include "kernel.h"

/* Rows worked on at once: what is computed stays in the nearer caches. */
enum { KLR_STRIP = 64 };

/* Blocks of columns that few rows are computed on at once, at most. */
enum { KLR_SPAN = 8 };

/* The positions of a set in one block of KLR_TILE positions: `size` of them,
 * the first is `begin`, in range[range]; `offset` is its index in the set. */
struct block_slice {
    size_t size, range, begin, offset;
};

/* A part of K: entries of the precision, KLR_TILE apart from row to row. */
struct strip {
    const void *entry;
    enum klr_precision precision;
    size_t rows, cols;
};

/* The workspace of one thread. */
struct tile_work {
    void *gram;             /* of klr_gram */
    void *strip;            /* entries computed */
    void *across;           /* and their transpose, as large */
    double *side;           /* (4, KLR_SLICE, KLR_TILE) of klr_tile_multiply */
    struct klr_range *rows; /* (KLR_TILE) cut from sets */
    struct klr_range *cols; /* (KLR_SPAN * KLR_TILE) */
    unsigned long long evaluations;
};

/* The first tiles, which are kept once they have been computed so often that
 * keeping them pays. */
struct tile_store {
    size_t stored;
    char *tile;           /* (stored, KLR_TILE, KLR_TILE) entries */
    size_t *slot;         /* (stored) where there, in the order of filling */
    atomic_uchar *state;  /* (stored) enum fill */
    atomic_uint *asked;   /* (stored) rows of it that were computed */
    atomic_size_t filled; /* tiles that have a slot */
    atomic_ullong ready;  /* nanoseconds until the last of them had memory, */
    atomic_ullong spent;  /* and until their entries were computed */
};

/* In place of a patience: what the memory of tiles has cost, in products. */
enum { TILES_MEASURED = 255 };

/* The lower triangle of K in square tiles of KLR_TILE positions, row by row. */
struct gram_tiles {
    const struct klr_points *points;
    bool symmetric; /* K_ij = K_ji to the last bit */
    size_t n, blocks, threads;
    unsigned patience[3];    /* products that compute a tile of that precision
                               before it is kept; or TILES_MEASURED */
    unsigned rows_patience;  /* rows of a tile that are computed one by one
                               before it is kept; 0: it is not for rows */
    struct tile_store *kept; /* (3) of each precision */
    bool shared;             /* kept is another's */
    struct tile_work *work;  /* (threads) */
    klr_tile_multiply *multiply;
};

static int tiles_create(struct gram_tiles *tiles,
                        const struct klr_points *points, size_t threads,
                        size_t budget, struct klr_error *err);
/* Let other threads use the same tiles of K, while `tiles` lives. */
static int tiles_share(struct gram_tiles *share, const struct gram_tiles *tiles,
                       struct klr_error *err);
/* Many products will come: tiles are kept when they are first computed. */
static void tiles_keep_at_once(struct gram_tiles *tiles);
/* The most bytes that kept tiles may take. */
static double tiles_bytes(const struct gram_tiles *tiles);
/* The pool, or NULL, helps. */
static void tiles_free(struct gram_tiles *tiles, struct klr_pool *pool);
/* Divide the budget anew, before any tile is filled: from tiles of `first` on
 * to finer ones. */
static int tiles_keep(struct gram_tiles *tiles, enum klr_precision first,
                      size_t budget, struct klr_error *err);
/* Another budget, for tiles of one precision alone. Where they cannot be had
 * there are none; where they are as many as before they stay. */
static void tiles_keep_only(struct gram_tiles *tiles,
                            enum klr_precision precision, size_t budget);
/* piece (blocks): the set's part in each block. */
static void tiles_divide(const struct gram_tiles *tiles, struct klr_set set,
                         struct block_slice *piece);
static size_t tiles_size(const struct gram_tiles *tiles, size_t i, size_t j);
/* True where a product with that tile computes it as often as the patience has
 * it: it is to be kept from now on. */
static bool tiles_are_due(struct gram_tiles *tiles,
                          enum klr_precision precision, size_t i, size_t j);
/* A row in that tile is asked for: where it is not kept it will be computed. */
static void tiles_ask_row(struct gram_tiles *tiles,
                          enum klr_precision precision, size_t i, size_t j);
/* True where so many rows were asked for that the tile is to be kept. */
static bool tiles_rows_are_due(const struct gram_tiles *tiles,
                               enum klr_precision precision, size_t i,
                               size_t j);
/* Compute the tile of blocks i >= j, if it is one to be kept and is not yet, or
 * wait for the thread that does. */
static void tiles_fill(struct gram_tiles *tiles, enum klr_precision precision,
                       size_t i, size_t j, size_t thread);
/* The entries of row i in the columns, all of `block`, if their tile of that
 * precision is filled. */
static bool tiles_copy_row(const struct gram_tiles *tiles,
                           enum klr_precision precision, size_t i, size_t block,
                           struct klr_set cols, char *out);

/* Positions first .. first + count - 1 of a set's part in `block`. */
struct block_iterator {
    struct klr_set set;
    size_t block;
    const struct block_slice *piece;
    size_t first, count;
};

/* The part is gone through cut by cut: block_next takes the next one, of `most`
 * positions at most, and is false behind the last. Cuts end where ranges do, so
 * that nothing needs to be gathered, unless ranges are short. */
static struct block_iterator block_start(struct klr_set set, size_t block,
                                         const struct block_slice *piece);
static bool block_next(struct block_iterator *cut, size_t most);
/* Its ranges, into `range` (KLR_TILE). */
static struct klr_set block_ranges(struct block_iterator cut,
                                   struct klr_range *range);

/* K[rows of left, cols] from a tile that is filled, if left is NULL and the
 * block of rows is not above that of cols, or computed, into the thread's
 * workspace. */
static struct strip tiles_strip(struct gram_tiles *tiles, size_t thread,
                                const struct klr_points *left,
                                struct block_iterator rows,
                                struct block_iterator cols,
                                enum klr_precision precision);
/* forward (rows, m) += strip v, v (cols, m); backward (cols, m) += strip' w,
 * w (rows, m); either pair may be NULL. Rows of m elements everywhere. */
static void strip_multiply(const struct gram_tiles *tiles, size_t thread,
                           const struct strip *strip, size_t m, const double *v,
                           double *forward, const double *w, double *backward);

#endif
