/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of kernel.c share. The way of an entry of the Gram matrix:
 *
 *   features -> map, points -> sums over features -> values -> gram
 *
 * A block of left rows is spread out in a workspace, feature by feature; the
 * sums of its products (or distances) with the columns follow, and then the
 * kernel function of these sums. Each sum runs over the features in ascending
 * order with one accumulator, and each of its terms is symmetric in the two
 * examples: so an entry depends on its two examples alone, K_ij = K_ji to the
 * last bit, and vector lanes hold different entries, never parts of one.
 *
 * Parts are included by kernel.c in reading order; each includes this header,
 * so that it also parses on its own (make check-parts).
 */
#ifndef KLR_KERNEL_INTERNAL_H
#define KLR_KERNEL_INTERNAL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/memory.h"
#include "kernel.h"

enum {
    PANEL = 8,            /* columns stored side by side in dense form */
    BLOCK = 4,            /* left rows worked on at once */
    CHUNK = 256,          /* columns worked on at once; a multiple of PANEL */
    PITCH = CHUNK + PANEL /* of their sums: vectors may end behind them */
};

#define INLINE static inline __attribute__((always_inline))

/* ---- vectors: the width of one instruction set ---- */

enum { VECTOR_BYTES = 16, LANES = VECTOR_BYTES / (int)sizeof(double) };

typedef double vector
    __attribute__((vector_size(VECTOR_BYTES), aligned(8), __may_alias__));
typedef int64_t vector_bits
    __attribute__((vector_size(VECTOR_BYTES), aligned(8), __may_alias__));

INLINE vector vector_all(double x)
{
    return x - (vector){0};
}

INLINE vector vector_abs(vector x)
{
    return (vector)((vector_bits)x & INT64_MAX);
}

/* ---- map: features that occur, numbered in ascending order ---- */

/* A hash table with open addressing; at least half of its slots are free. */
struct map {
    size_t slots; /* a power of two */
    size_t count; /* features */
    int *feature; /* (slots) or MAP_FREE */
    int *number;  /* (slots) 0..count-1 */
};

enum { MAP_FREE = -1 };

/* The features with a value other than 0 in x. KLR_E_MEMORY. */
static int map_create(struct map *map, const struct klr_features *x,
                      struct klr_error *err);
static void map_free(struct map *map);
static int map_number(const struct map *map, int feature); /* -1: not there */

/* ---- points ---- */

enum form { DENSE, SPARSE, MATRIX };

/* What is summed over the features u, v of two examples. Distances are
 * (size_i + size_j) + scale * sum, so that they come out by two ways: */
enum term {
    PRODUCT,  /* u v; |x-z|^2 with size |x|^2, scale -2 */
    SQUARE,   /* (u-v)^2; |x-z|^2 with size 0, scale 1 */
    ABSOLUTE, /* |u-v|; |x-z|_1 with size 0, scale 1 */
    OVERLAP   /* |u|+|v|-|u-v|; |x-z|_1 with size |x|_1, scale -1. A feature
                 that one of them lacks adds nothing, as in a product */
};

/* ---- float arithmetic ---- */

enum {
    FLOAT_PANEL = 16, /* columns stored side by side in dense form */
    SPAN = 32,        /* a multiple of it; columns are stored up to one */
    RUN = 32,         /* dense features summed up before they are added on */
    SPREAD = 32,      /* left rows side by side in sparse form, or half of it */
    LOOKUP_ROWS = 8,  /* left rows of binary features side by side */
    LOOKUP_BITS = 4,  /* binary features looked up at once */
    PACKED_ROWS = 96, /* dense left rows worked on at once, if they take */
    PACKED_BYTES = 128 << 10, /* no more than this, or */
    SPREAD_BYTES = 512 << 10  /* SPREAD sparse ones */
};

/* From here on 2^x would leave the normal numbers. */
#define POWER_LEAST (-126.0f)
/* e^(-2 x) = 2^(TANH_RATE x) */
#define TANH_RATE (-0x1.715476p+1f)

/* The kernel of sums of scaled features; the Laplacian kernel counts as RBF,
 * the difference being in the sums. */
struct value {
    enum klr_kernel_type type;
    int degree;
    float gamma, coef0; /* RBF: 2^(gamma D) */
};

/* Features (x - centre) * scale as floats, if float arithmetic on them keeps
 * the accuracy; n is that of the points, rounded up to SPAN. */
struct narrow {
    const struct tiles *tiles; /* for this processor; NULL: not to be used */
    enum term term;
    struct value value;
    double scale;    /* a power of 2 */
    double gamma;    /* |gamma| of the scaled features */
    double *centre;  /* (width), DENSE distances only */
    bool dithered;   /* its last digits are random */
    bool exact;      /* no operation rounds: the features are multiples of */
    int grid;        /* 2^grid */
    bool *fits;      /* (n) whether the row has the accuracy */
    float *size;     /* (n) as in points */
    float *panel;    /* DENSE: (n / FLOAT_PANEL, width, FLOAT_PANEL) */
    float *values;   /* SPARSE: (start[n]) */
    uint8_t *nibble; /* binary features: (n / SPAN, groups, SPAN), one bit for
                        each feature of a group; else NULL */
    float common;    /* the value that they all have */
};

struct klr_points {
    struct klr_kernel kernel;
    size_t n;
    enum form form;
    enum term term;
    bool compensated; /* products are summed in twice the precision */
    size_t terms;     /* the most features that a row has */
    double radius;    /* the largest |x_i| */
    size_t width;     /* features in use; MATRIX: columns */
    struct map map;   /* these features; empty in points made like others */
    double *size;     /* (n + PANEL); what a row adds to distances, with its
                         features outside the map; inner products: |x_i|^2 */
    double *panel;    /* DENSE: (n / PANEL, width, PANEL) */
    size_t *start;    /* SPARSE: (n + 1) rows in CSR */
    int *column;      /* (start[n]) numbers of the features, ascending */
    double *value;    /* (start[n]) */
    int *serial;      /* MATRIX: (n) serial numbers */
    double *matrix;   /* (n, width) by positions of the points made for */
    struct narrow narrow;
};

static bool kernel_is_distance(const struct klr_kernel *kernel);
static double kernel_power(double base, int degree);
/* Whether row i of a takes compensated products with the columns of b. Rows
 * from elsewhere may be larger than those of b. */
static bool points_compensate(const struct klr_points *a, size_t i,
                              const struct klr_points *b);

/* ---- points of precomputed kernels ---- */

/* Points whose columns are the positions of `base`; NULL: their own. */
static int matrix_create(struct klr_points *points,
                         const struct klr_points *base,
                         const struct klr_features *x, const size_t *order,
                         struct klr_error *err);

/* ---- sums over features ---- */

/* The `count` (1 or BLOCK) rows `row` of a, spread out in `work`
 * (width, BLOCK), which is 0 between calls in sparse form. */
static void left_load(const struct klr_points *a, const size_t *row,
                      size_t count, const struct klr_points *b, double *work);
static void left_clear(const struct klr_points *a, const size_t *row,
                       size_t count, const struct klr_points *b, double *work);

/* sums[r][c], r < count, for the columns begin + c, c < width; `begin` is a
 * multiple of PANEL in dense form; width <= CHUNK. */
static void block_sums(const struct klr_points *a, const size_t *row,
                       size_t count, const struct klr_points *b, size_t begin,
                       size_t width, double sums[BLOCK][PITCH],
                       const double *work);

/* gamma x'z + coef0 with the error of one rounding, for column `j` of b and the
 * r-th of `count` rows loaded. */
static double compensated_argument(const struct klr_points *b, size_t count,
                                   size_t r, size_t j, const double *work);

/* A block of the Gram matrix in floats: the `count` rows `row` of a and the
 * columns begin <= j < end of b; out is the first row's. */
struct tile {
    const struct klr_points *a, *b;
    struct value value;
    const size_t *row;
    size_t count, begin, end;
    float
        *work; /* left rows: DENSE: blocks (width, left), else (width, left) */
    uint64_t *table; /* of binary features: blocks (groups, left, 16 bytes): how
                        many a nibble shares with the row */
    size_t left;     /* rows side by side */
    float *out;
    size_t stride;
};

/* The code for one instruction set. */
struct tiles {
    size_t rows; /* of a dense register block; a single row stands alone */
    void (*dense)(const struct tile *);
    void (*sparse)(const struct tile *);
    void (*binary)(const struct tile *); /* or NULL */
};

static const struct tiles *tiles_choose(void);
/* Groups of LOOKUP_BITS features. */
static size_t binary_groups(const struct klr_points *b);

/* Decide whether floats serve for these points, whose doubles are stored, and
 * store them; base: the points on the right, or NULL. KLR_E_MEMORY. */
static int narrow_create(struct klr_points *points,
                         const struct klr_points *base, struct klr_error *err);
static void narrow_free(struct narrow *narrow);

/* The most rows of a that one tile takes. */
static size_t narrow_rows(const struct klr_points *b);
static size_t narrow_workspace(const struct klr_points *b);

/* At most narrow_rows rows of a against all columns, as floats. */
static void narrow_gram(const struct klr_points *a, const size_t *row,
                        size_t count, const struct klr_points *b,
                        struct klr_set cols, float *out, size_t stride,
                        float *work);

/* ---- values: from sums to the kernel ---- */

/* The kernel of row i of a and columns begin + c, c < width, of b, in place of
 * their sums (which are read up to a multiple of LANES). */
static void values_of_distances(const struct klr_points *a, size_t i,
                                const struct klr_points *b, size_t begin,
                                size_t width, double *sums);
static void values_of_products(const struct klr_kernel *kernel, size_t width,
                               double *sums);
/* The same from compensated arguments. */
static void values_of_arguments(const struct klr_kernel *kernel, size_t width,
                                double *arguments);

#endif
