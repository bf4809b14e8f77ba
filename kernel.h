/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel functions, blocks of the Gram matrix, and the LRU cache of its rows.
 *
 * Accuracy, for every entry and whatever the scale of the features, against
 * the kernel of the exact features: |K - K_exact| <= 1e-6 max(1, |K_exact|);
 * for the linear, polynomial and exponential kernels 1e-6 sqrt(K_ii K_jj), or
 * the rounding of K_exact, which is more where a polynomial is not semidefinite
 * and K_ii is almost 0.
 */
#ifndef KLR_KERNEL_H
#define KLR_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/threads.h"

#ifdef __cplusplus
extern "C" {
#endif

/* u'v is the inner product. Numbers and names are the values of -t. */
enum klr_kernel_type {
    KLR_LINEAR,      /* u'v */
    KLR_POLYNOMIAL,  /* (gamma u'v + coef0)^degree */
    KLR_RBF,         /* exp(-gamma |u-v|_2^2) */
    KLR_SIGMOID,     /* tanh(gamma u'v + coef0); symmetric, not PSD */
    KLR_PRECOMPUTED, /* given: feature 0 is the serial number of an example,
                        feature s is the kernel with example number s, 0 if
                        it is not there */
    KLR_LAPLACIAN,   /* exp(-gamma |u-v|_1) */
    KLR_EXPONENTIAL, /* exp(2 gamma u'v): Lin & Lin (2003), (17) */
    KLR_KERNEL_TYPES
};

struct klr_kernel {
    enum klr_kernel_type type;
    int degree;   /* >= 0 */
    double gamma; /* > 0 for RBF, Laplacian and exponential; any for others */
    double coef0;
};

/* "linear", "polynomial", "rbf", "sigmoid", "precomputed" (as LIBSVM's model
 * files spell them), "laplacian", "exponential", NULL. */
extern const char *const klr_kernel_names[KLR_KERNEL_TYPES + 1];

/* True if the type and parameters guarantee a positive semidefinite Gram
 * matrix (a precomputed one is taken on trust). */
bool klr_kernel_is_psd(const struct klr_kernel *kernel);

/* n examples, sparse rows: those of row i are index[start[i] .. start[i+1]),
 * ascending, and the values beside them; or packed, see below. Indices start at
 * 1; index 0 occurs with the precomputed kernel only. A view: owns nothing. */
struct klr_features {
    size_t n;
    int dimension; /* the largest index, at least */
    const size_t *start;
    const int *index;
    const double *value;
    const struct klr_packed *packed; /* in place of these three, or NULL */
};

/* Rows that all have the same features, one after the other, 1 at least, with
 * numbers of base/features/packed.h. They may be scaled as they are unpacked:
 * then the features are those of the scaling, each of which has a number. */
enum { KLR_PACKED_COLUMNS = 1024 }; /* at most */
struct klr_scaling;
struct klr_packed {
    size_t columns;
    int *index;      /* (columns) one after the other; scaled: (features) */
    uint32_t *value; /* (n, columns) */
    const struct klr_scaling *scaling; /* the caller's, or NULL */
    int first;                         /* scaled: that of the first column */
};

/* Row i. What is unpacked is put into `space` (KLR_PACKED_COLUMNS). */
struct klr_feature_row {
    size_t count;
    const int *index;
    const double *value;
};
struct klr_feature_row klr_features_row(const struct klr_features *x, size_t i,
                                        double *space);
/* How many features all rows have together. */
size_t klr_features_count(const struct klr_features *x);
/* Copies of n rows, not packed: start (n + 1) first, whose last element is
 * returned, then index and value, as many as that. */
size_t klr_features_starts(const struct klr_features *x, const size_t *row,
                           size_t n, size_t *start);
void klr_features_copy(const struct klr_features *x, const size_t *row,
                       size_t n, const size_t *start, int *index,
                       double *value);
/* Such copies in arrays that the arena frees. KLR_E_MEMORY. */
struct klr_arena;
int klr_features_pick(struct klr_features *out, const struct klr_features *x,
                      const size_t *row, size_t n, struct klr_arena *arena,
                      struct klr_error *err);

/* Positions begin <= i < end. */
struct klr_range {
    size_t begin, end;
};

/* A set of positions: disjoint ascending ranges. A view: owns nothing. */
struct klr_set {
    const struct klr_range *range;
    size_t count; /* of ranges */
    size_t size;  /* of positions in all of them */
};

/* Examples made ready for one kernel: dense or sparse, whichever is faster, and
 * with a way of computing that keeps the accuracy above; both follow from the
 * features and the kernel alone. Owns copies of all it needs. */
struct klr_points;

/* Prepare x; position p holds row order[p], or row p where order is NULL. The
 * pool may be NULL; it helps and is not kept. *out is NULL after a failure.
 * KLR_E_MEMORY; KLR_E_DATA, with the row number from 1 as the line:
 * - a precomputed row has no valid serial number, or differs from its column by
 *   more than rounding;
 * - the features are so large that an inner product or polynomial overflows.
 */
int klr_points_create(struct klr_points **out, const struct klr_kernel *kernel,
                      const struct klr_features *x, const size_t *order,
                      struct klr_pool *pool, struct klr_error *err);

/* As klr_points_create, for those who ask for few rows at a time: dense form is
 * taken more often. Entries are the same to the accuracy above. */
int klr_points_create_for_rows(struct klr_points **out,
                               const struct klr_kernel *kernel,
                               const struct klr_features *x,
                               const size_t *order, struct klr_pool *pool,
                               struct klr_error *err);

/* As klr_points_create, but where floats serve for dense rows their doubles may
 * not be kept: they are taken from x and order, which must stay then, arrays
 * included, as long as the points do. Entries are the same; those in doubles
 * take longer, for a few rows much longer. Such points stand on the left of
 * themselves only. */
int klr_points_create_lean(struct klr_points **out,
                           const struct klr_kernel *kernel,
                           const struct klr_features *x, const size_t *order,
                           struct klr_pool *pool, struct klr_error *err);

/* Copies of lean points at `count` positions, side by side, as the left
 * argument of klr_gram(.., points, ..). Entries are those of the positions, and
 * take less time, since positions may be far from each other. *out is NULL
 * where points are not lean, and after a failure. KLR_E_MEMORY. */
int klr_points_pick(struct klr_points **out, const struct klr_points *points,
                    const size_t *position, size_t count,
                    struct klr_error *err);

/* Prepare x in a form that pairs with `base`, as the left argument of
 * klr_gram(x, .., base, ..). x may have features that base has not. Errors as
 * above; a precomputed row may have any serial number, and values. */
int klr_points_create_like(struct klr_points **out,
                           const struct klr_points *base,
                           const struct klr_features *x, struct klr_pool *pool,
                           struct klr_error *err);

struct klr_points *klr_points_free(struct klr_points *points); /* NULL */

size_t klr_points_count(const struct klr_points *points);
/* How many entries of K are computed in the time of writing one to memory that
 * is new to the process, about. */
double klr_points_price(const struct klr_points *points);
/* A bound of the error of double entries, relative to the largest entry; at
 * least 2^-53. */
double klr_points_rounding(const struct klr_points *points);

/* KLR_FIXED16 is fixed point of 16 bits, uint16_t: multiples of 1/65535 near
 * entries in 0..1, those of the RBF and the Laplacian kernel. They are at most
 * three quarters of a unit off, and about KLR_FIXED16_ERROR in the root mean
 * square. Those with points made like others may be a unit away from those that
 * the points have with themselves. */
enum klr_precision { KLR_FIXED16, KLR_FLOAT, KLR_DOUBLE };
#define KLR_FIXED16_ERROR (0.3 / 65535)

static inline size_t klr_precision_bytes(enum klr_precision precision)
{
    return precision == KLR_DOUBLE  ? sizeof(double)
           : precision == KLR_FLOAT ? sizeof(float)
                                    : sizeof(uint16_t);
}

/* The block K[rows of a, cols of b] into out, row-major with `stride` elements
 * from row to row; out has the type that `precision` says. Floats come from
 * float arithmetic where that keeps the accuracy above, else they are rounded
 * doubles. Columns follow each other without gaps. Every entry depends on its
 * two examples alone: any partition into blocks gives the same bits, and
 * K_ij = K_ji to the last bit. A dozen rows cost less each than one.
 * Points are not changed: threads may share them, each with a workspace of its
 * own. */
void klr_gram(const struct klr_points *a, struct klr_range rows,
              const struct klr_points *b, struct klr_set cols,
              enum klr_precision precision, void *out, size_t stride,
              void *workspace);

/* As klr_gram, for the `count` rows `row` of a, in any order. */
void klr_gram_rows(const struct klr_points *a, const size_t *row, size_t count,
                   const struct klr_points *b, struct klr_set cols,
                   enum klr_precision precision, void *out, size_t stride,
                   void *workspace);

/* As klr_gram_rows, each row to a place of its own: out[r] (|cols|). */
void klr_gram_rows_to(const struct klr_points *a, const size_t *row,
                      size_t count, const struct klr_points *b,
                      struct klr_set cols, enum klr_precision precision,
                      void *const *out, void *workspace);

/* Bytes of workspace for calls with the right argument `b`, a multiple of 64.
 * The caller aligns them to 64 and zeroes them once; then they are left alone
 * between calls and serve for b only. */
size_t klr_gram_workspace(const struct klr_points *b);

/* out[i] = K_ii of the positions in `set`, in order. */
void klr_gram_diagonal(const struct klr_points *points, struct klr_set set,
                       double *out, void *workspace);

/* ---- Products ----
 * Vectors are taken by up to KLR_SLICE at once. */
enum { KLR_TILE = 256, KLR_SLICE = 4, KLR_GROUP = 8 };

/* Multiply a tile T (h, w) by m vectors, 1 or KLR_SLICE, from either side. h
 * and w are at most KLR_TILE; rows of T are `pitch` elements apart.
 *   forward (m, KLR_TILE)  = right T'   for right (m, KLR_TILE), or both NULL.
 *   backward (m, KLR_TILE) = left T     for left (m, KLR_TILE), or both NULL.
 * Rows of forward, right, backward and left have h, w, w and h elements that
 * count. After its w elements `right` holds zeros up to a multiple of
 * KLR_GROUP. Products and sums are of doubles (of floats for fixed point), in
 * an order that depends on h and w alone. */
typedef void klr_tile_multiply(const void *tile, enum klr_precision precision,
                               size_t pitch, size_t h, size_t w, size_t m,
                               const double *right, double *forward,
                               const double *left, double *backward);
/* The fastest multiplier of this processor. The last bits of its results depend
 * on whether it rounds products before adding them. */
klr_tile_multiply *klr_tile_multiplier(void);

/* The features in use make a matrix X (n, width), except with precomputed
 * kernels. klr_points_stored tells how many of its elements are stored. */
size_t klr_points_width(const struct klr_points *points);
size_t klr_points_stored(const struct klr_points *points);

/* The rows of points that are sparse: those of row i are column[start[i] ..
 * start[i + 1]), numbers of features in ascending order, and the values beside
 * them. False where they are dense. */
bool klr_points_rows(const struct klr_points *points, const size_t **start,
                     const int **column, const double **value);
/* z += X[rows]' V and out = X[rows] Z, for m <= KLR_SLICE columns: v, out
 * (|rows|, m; pitch apart), z (width, m). Points made like others share their
 * width. */
void klr_points_multiply(const struct klr_points *points, struct klr_range rows,
                         const double *v, size_t pitch, size_t m, double *z);
void klr_points_expand(const struct klr_points *points, struct klr_range rows,
                       const double *z, size_t m, double *out, size_t pitch);

/* ---- Dense products ---- Matrices are row-major, `pitch` elements from row to
 * row. Every element of a result is summed in an order that depends on the
 * inner dimension alone, so rows may be divided among calls and threads in any
 * way. */
enum { KLR_PANEL = 32, KLR_SLIM = 16, KLR_BAND = 48 };

struct klr_dense {
    /* out (rows, KLR_PANEL) += A (rows, inner; pitch) B (inner, KLR_PANEL) */
    void (*gemm_32)(size_t rows, size_t inner, const float *a, size_t pitch,
                    const float *b, float *out);
    /* out (rows, KLR_SLIM) += A B (inner, KLR_SLIM) for A as above, or
     * transposed: A (inner, rows; pitch), A' B. */
    void (*gemm_16)(size_t rows, size_t inner, const float *a, size_t pitch,
                    bool transposed, const float *b, float *out);
    /* out (KLR_BAND, KLR_BAND), of which rows x cols count, = A'B for A (inner,
     * rows) and B (inner, cols) of float or double elements; where they are one
     * matrix, its upper triangle. Products and sums are of doubles. */
    void (*gram)(size_t inner, const void *a, const void *b,
                 enum klr_precision precision, size_t pitch, size_t rows,
                 size_t cols, double *out);
    /* As gram for floats, but rounded: products are summed in floats over 64
     * rows, and only these sums in doubles. Every row of a and b must have
     * KLR_BAND elements to read. */
    void (*syrk_rounded)(size_t inner, const float *a, const float *b,
                         size_t pitch, size_t rows, size_t cols, double *out);
    /* x (rows, cols; to) = R^-T x for an upper triangle R (rows, rows; pitch)
     * of at most KLR_BAND rows. */
    void (*divide)(size_t rows, const double *r, size_t pitch, size_t cols,
                   double *x, size_t to);
    /* gemv_t: out (cols) += A'x; expand: out (rows) += A w. A is (rows, cols),
     * cols a multiple of 8; the bits are the same on every processor. */
    void (*gemv_t)(size_t rows, size_t cols, const float *a, size_t pitch,
                   const double *x, double *out);
    void (*expand)(size_t rows, size_t cols, const float *a, size_t pitch,
                   const double *w, double *out);
};
/* The fastest functions of this processor. The last bits of gemm_32, gemm_16,
 * gram and syrk_rounded depend on whether it fuses multiplication and
 * addition. */
const struct klr_dense *klr_dense(void);

/* ---- The logistic function ---- For each z (n): p = 1 / (1 + e^-z), rest = 1
 * - p = 1 / (1 + e^z) and, unless loss is NULL, loss = log(1 + e^z). Each is
 * within 4 units in the last place, with the same bits on every processor. p
 * and rest below 2^-1022 become 0; NaN stays NaN. z may be p, rest or loss. */
void klr_logistic(size_t n, const double *z, double *p, double *rest,
                  double *loss);

/* ---- The row cache ----
 * Least recently used rows of one symmetric matrix, in a fixed arena. */
struct klr_cache;

/* Room for rows of `length` elements of `element` bytes with keys 0..keys-1 in
 * at most `bytes`; less than two rows is KLR_E_LIMIT (the message names the MB
 * that are needed). Memory is touched only as rows come. *out is NULL after a
 * failure. */
int klr_cache_create(struct klr_cache **out, size_t keys, size_t length,
                     size_t element, size_t bytes, struct klr_error *err);

struct klr_cache *klr_cache_free(struct klr_cache *cache); /* NULL */

/* The row of `key`, which becomes the most recently used; the caller fills its
 * `length` elements where it was not there. The pointer stays valid until as
 * many other keys have been asked for as there is room for rows. */
void *klr_cache_row(struct klr_cache *cache, size_t key);

/* Forget all rows. From now on they have `length` elements, at most as many as
 * at first, and as much room as before, in bytes. */
void klr_cache_reshape(struct klr_cache *cache, size_t length);

/* True if the row of `key` is cached. Does not count as a use of the row. */
bool klr_cache_holds(const struct klr_cache *cache, size_t key);

/* How many rows there is room for, at least two. */
size_t klr_cache_room(const struct klr_cache *cache);

/* Begin with room for `rows` rows rather than for all that fit. Call it before
 * any row is asked for. The room doubles when the rows that were dropped and
 * asked for again have cost as much as new memory, which is `price` rows for
 * each row of room. So the total cost is at most about twice that of the better
 * choice: keep all, or keep few. */
void klr_cache_begin(struct klr_cache *cache, size_t rows, double price);

#ifdef __cplusplus
}
#endif

#endif
