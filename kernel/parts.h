/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of kernel.c share. The way of an entry of the Gram matrix:
 *
 *   features -> map, points, narrow -> tiles -> gram
 *
 * A block of left rows is spread out in a workspace, feature by feature; the
 * sums of its products (or distances) with the columns follow, and then the
 * kernel function of these sums. Each sum runs over the features in ascending
 * order with one accumulator, and each of its terms is symmetric in the two
 * examples. So an entry depends on its two examples alone, and K_ij = K_ji to
 * the last bit. Vector lanes hold different entries, never parts of one.
 *
 * Doubles are computed without fused multiplication, hence with the same bits
 * by every instruction set; floats with it, where there is one.
 *
 * Parts are included by kernel.c in reading order; each includes this header,
 * so that it also parses on its own (make check-parts).
 */
#ifndef KLR_KERNEL_INTERNAL_H
#define KLR_KERNEL_INTERNAL_H

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/features/feature_table.h"
#include "base/features/packed.h"
#include "base/machine/cpu.h"
#include "base/memory.h"
#include "kernel.h"

#define LOG2_E 0x1.71547652b82fep+0

#define CONVERT __builtin_convertvector

#define INLINE static inline __attribute__((always_inline))

#if defined __x86_64__
#include <immintrin.h>

#define AVX2   __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx2,fma")))
#elif defined __aarch64__
#include <arm_neon.h>
#endif

/* ---- map: features that occur, numbered in ascending order ---- */

struct map {
    size_t count;
    int *feature; /* (count), ascending: where one stands is its number */
};

/* The features with a value other than 0 in x. KLR_E_MEMORY. */
static int map_create(struct map *map, const struct klr_features *x,
                      struct klr_error *err);
static void map_free(struct map *map);
/* The first of ascending[from .. end) that is not below `least`, or end. */
INLINE size_t map_seek(const int *ascending, size_t from, size_t end,
                       int least);

/* ---- points ---- */

enum form { DENSE, SPARSE, MATRIX };

/* The term that is summed over the features u, v of two examples. Distances are
 * (size_i + size_j) + scale * sum, in one of two ways: */
enum term {
    PRODUCT,  /* u v; |x-z|^2 with size |x|^2, scale -2 */
    SQUARE,   /* (u-v)^2; |x-z|^2 with size 0, scale 1 */
    ABSOLUTE, /* |u-v|; |x-z|_1 with size 0, scale 1 */
    OVERLAP   /* |u|+|v|-|u-v|; |x-z|_1 with size |x|_1, scale -1. A feature
                 that one of them lacks adds nothing, as in a product */
};

/* ---- arithmetic ---- */

enum {
    PANEL = 8, /* columns stored side by side in dense form, as doubles */
    FLOAT_PANEL = 16,  /* and as floats */
    SPAN = 32,         /* a multiple of both; columns are stored up to one */
    RUN = 24,          /* dense floats summed up before they are added on */
    ROW_SHARES = 16,   /* of all rows, at most: what is summed up by each */
    TURN_ROWS = 256,   /* a multiple of SPAN: made by one thread at once */
    SPREAD = 16,       /* left rows side by side in sparse form, as doubles, */
    FLOAT_SPREAD = 32, /* and as floats; or half or a quarter of it */
    LOOKUP_ROWS = 8,   /* left rows of binary features side by side */
    LOOKUP_BITS = 4,   /* binary features looked up at once */
    PACKED_ROWS = 96,  /* dense left rows worked on at once, if they */
    PACKED_BYTES = 128 << 10, /* take no more than this, or */
    SPREAD_BYTES = 512 << 10, /* that many sparse ones */
    DIRECT_FEATURES = 16384   /* in sparse form each has a line, up to these */
};

enum { FIXED16_UNITS = 65535 };

/* e^(-2 x) = 2^(TANH_RATE x) */
#define TANH_RATE (-2 * LOG2_E)

/* The kernel of sums, of scaled features perhaps; the Laplacian kernel counts
 * as RBF, the difference being in the sums. */
struct formula {
    enum klr_kernel_type type;
    int degree;
    double gamma, coef0; /* RBF: 2^(gamma D) */
};

/* What a row adds to the bound of an error of K_ij, in units of the clause of
 * kernel.h: the mean of both rows' `mean`, and the geometric mean of their
 * `product`. */
struct row_error {
    double mean, product;
};

/* The entries of a row that floats serve: all; but for some with rows that
 * stand out as well, which are computed in doubles; none. */
enum fit { FITS, OUTLYING, UNFIT };

/* A row that stands out. */
struct outlier {
    size_t position;
    struct row_error error;
};

/* Features (x - centre) * scale as floats, if float arithmetic on them keeps
 * the accuracy; n is that of the points, rounded up to SPAN. */
struct narrow {
    const struct gram_tiles
        *tiles; /* for this processor; NULL: not to be used */
    enum term term;
    struct formula formula;
    double scale;   /* a power of 2 */
    double gamma;   /* |gamma| of the scaled features */
    double *centre; /* (width), DENSE distances only */
    bool dithered;  /* its last digits are random */
    bool exact;     /* no operation rounds: the features are multiples of */
    int grid;       /* 2^grid */
    struct row_error worst;  /* the most of any row */
    uint8_t *fit;            /* (n) enum fit */
    struct outlier *outlier; /* (outliers) by position */
    size_t outliers;
    bool cancels; /* DENSE distances by products are formed run by run, */
    float *size;  /* (n) as in points; then of the last run alone, */
    float *rough; /* (n) |x|^2 beside a term SQUARE, or NULL: what distances by
                     products are for, which serve for fixed16 alone */
    size_t lines; /* of a panel: features, and then sizes of the other runs,
                     each behind its features */
    float *panel; /* DENSE: (n / FLOAT_PANEL, lines, FLOAT_PANEL) */
    float *value; /* SPARSE: as in points */
    float common; /* as in points */
};

/* Rows that points are made of: order[p] of x is position p; NULL: row p. */
struct origin {
    struct klr_features x;
    const size_t *order;
    const struct map *map; /* of the points on the right */
    double *room;          /* (threads, width) for rows in dense form, while
                              points are made */
};

struct klr_points {
    struct klr_pool *pool; /* while they are made; NULL then, too: one thread */
    struct origin origin; /* the same, and of lean points as long as they are */
    struct klr_kernel kernel;
    size_t n;
    enum form form;
    enum term term;
    bool compensated; /* products are summed in twice the precision */
    size_t terms;     /* the most features that a row has */
    double radius;    /* the largest |x_i| */
    double rounding;  /* of double entries, relative to the largest: a bound */
    size_t width;     /* features in use; MATRIX: columns */
    struct map map;   /* these features; empty in points made like others */
    double *size;     /* (n) what a row adds to distances, with its features
                         outside the map; inner products: |x_i|^2. The n of
                         arrays that tiles use is rounded up to SPAN */
    double *outside;  /* (n) the share of it of features outside the map */
    double *growth;   /* (n) exponential kernel: what the entries of an RBF
                         kernel are multiplied by; else NULL */
    double *panel;    /* DENSE: (n / PANEL, width, PANEL); of lean points NULL:
                         doubles come from their origin */
    size_t *start;    /* SPARSE: (n + 1) rows in CSR */
    int *column;      /* (start[n]) numbers of the features, ascending */
    double *value;    /* (start[n]), or NULL: all are `common` */
    int *serial;      /* MATRIX: (n) serial numbers */
    double *matrix;   /* (n, width) by positions of the points made for */
    uint8_t *nibble;  /* binary features: (n / SPAN, groups, SPAN), one bit for
                         each feature of a group; else NULL */
    double common;    /* the value of all nonzeros; NaN: they differ; 0: there
                         are none, or the points are made like others */
    const struct gram_tiles *tiles; /* of doubles, for this processor */
    struct narrow narrow;
    bool lean;
};

/* Position p as it was given. */
static struct klr_feature_row origin_row(const struct klr_points *points,
                                         size_t p, double *space);
/* Its features in dense form, in the room of a thread, until the next one's. */
static const double *origin_dense(const struct klr_points *points, size_t p,
                                  size_t thread);
/* How many turns of TURN_ROWS rows the points make, and the rows of one. */
static size_t points_turns(const struct klr_points *points);
static struct klr_range points_task(const struct klr_points *points,
                                    size_t index);
static bool kernel_is_distance(const struct klr_kernel *kernel);
/* The kernel as a function of sums, with this gamma. */
static struct formula kernel_formula(const struct klr_kernel *kernel,
                                     double gamma);
/* True if row i of a needs compensated products with the columns of b. Rows of
 * other points may be larger than those of b. */
static bool points_compensate(const struct klr_points *a, size_t i,
                              const struct klr_points *b);

/* Where the rows of x stand, position[order[p]] = p, to be freed by the caller;
 * NULL without an order, since p is row p then. KLR_E_MEMORY. */
static int points_positions(size_t **position, const size_t *order, size_t n,
                            struct klr_error *err);

/* ---- points of precomputed kernels ---- */

/* Points whose columns are the positions of `base`; NULL: their own. */
static int matrix_create(struct klr_points *points,
                         const struct klr_points *base,
                         const struct klr_features *x, const size_t *order,
                         struct klr_error *err);

/* ---- tiles ---- */

/* How the columns of a sparse tile find the features of its left rows; see
 * lines.c. */
enum lookup { DIRECT, MAPPED, SEARCHED };

/* A block of the Gram matrix: the `count` rows `row` of a and the columns
 * begin <= j < end of b. Left rows are spread out,
 * feature by feature: DENSE: register blocks (width, their rows); SPARSE:
 * (lines, left), zeros between calls; SEARCHED: one row, not spread out. */
struct tile {
    const struct klr_points *a, *b;
    struct formula formula;
    const size_t *row;
    size_t count, begin, end;
    void *work;      /* left rows */
    uint64_t *table; /* of binary features: blocks (groups, left, 16 bytes): how
                        many a nibble shares with the row */
    size_t left;     /* rows side by side, SPARSE */
    enum term term;  /* and sizes that go with it, of the points a and b, */
    const void *left_size, *right_size; /* in the numbers of the tile */
    bool fixed16;                       /* what its floats are rounded to */
    enum lookup lookup;
    uint64_t *used;   /* MAPPED: (words of 64 features), zeros between calls */
    uint32_t *line;   /* MAPPED: the same */
    double *columns;  /* where b is lean: lean_bytes, zeros between calls */
    void *apart;      /* apart_bytes */
    void *const *out; /* (count) rows, */
    size_t at;        /* and where in them column `begin` belongs */
};

/* The code for one instruction set and type of numbers. */
struct gram_tiles {
    size_t rows;   /* of a dense register block, at most */
    size_t spread; /* left rows side by side in sparse form, at most */
    /* the sums of products or overlaps of each row with itself, as its size */
    void (*sizes)(const struct klr_points *);
    void (*load)(const struct tile *);
    void (*clear)(const struct tile *);
    void (*dense)(const struct tile *);
    void (*sparse)(const struct tile *);
    void (*binary)(const struct tile *); /* or NULL */
    /* the kernel of `sums` (SPAN), of one row and the columns from `begin` on,
     * to where it belongs */
    void (*values)(const struct tile *, size_t row, size_t begin, void *sums);
    /* klr_logistic of n numbers, and of those behind them up to a multiple of
     * SPAN; NULL for floats */
    void (*logistic)(size_t n, const double *z, double *p, double *rest,
                     double *loss);
};

static const struct gram_tiles *tiles_choose(enum klr_precision precision);

/* ---- lines of sparse left rows ---- */

/* True if only the features of the present left rows have lines. */
static bool lines_are_mapped(const struct klr_points *b);
/* Bytes of the map of lines, and where it stands. */
static size_t lines_map_bytes(const struct klr_points *b);
static void lines_place_map(struct tile *t, void *map);
/* Lines for the features of the left rows, and no more. */
static void lines_map(const struct tile *t);
static void lines_unmap(const struct tile *t);
/* The mapped line of a feature, or NO_LINE. */
#define NO_LINE SIZE_MAX
INLINE size_t lines_find(const struct tile *t, int feature);

/* ---- sums that tiles cannot give ---- */

/* True if row i of a and the columns of b need them. */
static bool sums_are_careful(const struct klr_points *a, size_t i,
                             const struct klr_points *b);
/* A tile of such a row, loaded. */
static void careful_tile(struct tile *t);

/* ---- binary features ---- */

/* Groups of LOOKUP_BITS features. */
static size_t binary_groups(const struct klr_points *b);
/* True if all `nonzeros` features have one value, and looking up costs less
 * than going through those of each row, a few rows at a time or many. */
static bool binary_pays(const struct klr_points *points, size_t nonzeros,
                        bool few);
/* True if points that are stored may be looked up: no sum is rounded. */
static bool binary_serves(const struct klr_points *points);
/* Store them as such. KLR_E_MEMORY. */
static int binary_create(struct klr_points *points, struct klr_error *err);
static bool rows_are_binary(const struct klr_points *a, const size_t *row,
                            size_t count, const struct klr_points *b);
static void binary_load(const struct tile *t);

/* ---- points without doubles ---- */

/* Left rows of a tile, put together. */
struct lean_rows {
    struct klr_points points;
    size_t row[PACKED_ROWS];
};

/* True if the points can do without their doubles. */
static bool lean_serves(const struct klr_points *points);

/* ---- floats ---- */

/* Decide whether floats serve for these points, whose doubles are stored, and
 * store them. KLR_E_MEMORY. */
static int narrow_create(struct klr_points *points, struct klr_error *err);
/* As it was decided for `base`, the points on the right. */
static int narrow_create_like(struct klr_points *points,
                              const struct klr_points *base,
                              struct klr_error *err);
static void narrow_free(struct narrow *narrow);
/* Row p, one that stands out. */
static const struct outlier *narrow_outlier(const struct klr_points *points,
                                            size_t p);
/* True if the entry of these two is to be computed in doubles. */
static bool outliers_meet(const struct narrow *narrow, const struct outlier *x,
                          const struct outlier *z);

#endif
