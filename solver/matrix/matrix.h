/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Matrices that are factored: triangles, preconditioners, small Hessians.
 */
#ifndef KLR_SOLVER_MATRIX_H
#define KLR_SOLVER_MATRIX_H

#include "base/machine/vectors.h"
#include "solver/gram/gram.h"

/* ---- dense triangles: see triangle.c ---- */

/* Factor the upper triangle of a (n, n; pitch) in place: a = R'R. Pivots below
 * `least` are raised to it; false if one was. */
static bool triangle_factor(const struct klr_dense *dense, size_t n,
                            size_t pitch, double *a, double least);
/* inverse (n, n; pitch), zeros at first, = R^-T, a lower triangle. */
static void triangle_invert(const struct klr_dense *dense, size_t n,
                            size_t pitch, const double *r, double *inverse);
/* Likewise for few rows, without products of bands. */
static bool band_factor(size_t rows, size_t pitch, double *a, double least);
/* x (n) = R^-1 R^-T x. */
static void triangle_solve(size_t n, size_t pitch, const double *r, double *x);
/* The bands a <= b of number `index` in an upper triangle of bands. */
static void triangle_bands(size_t index, size_t *a, size_t *b);
/* How many of n rows are in the band that begins at `first`. */
static size_t band_rows(size_t n, size_t first);
/* to (rows, cols; pitch), at most KLR_BAND each, -= A'B for A (inner, rows) and
 * B (inner, cols); where they are one matrix, its upper triangle. */
static void band_reduce(const struct klr_dense *dense, size_t inner,
                        const double *a, const double *b, size_t pitch,
                        size_t rows, size_t cols, double *to);

/* ---- triangles in panels: see panel_triangle.c ---- */

/* An upper triangle R (n, n): a panel holds KLR_BAND columns of it, from row 0
 * to its diagonal, row-major, so that products of panels read memory in order.
 * Elements behind the last column are 0. */
struct panels {
    size_t n;
    bool raised;           /* pivots, by panels_factor */
    double *value;         /* (panels_size(n)) */
    struct klr_pool *pool; /* or NULL */
    const struct klr_dense *dense;
};

static size_t panels_size(size_t n);
static size_t panels_bands(size_t n);
/* The element in row r and column c >= r. */
static double *panels_at(const struct panels *p, size_t r, size_t c);
/* Factor in place: the symmetric matrix whose upper triangle p has becomes R'R.
 * A pivot of row r that is not above least[r] is raised to it; or, if `drop`
 * (n) is not NULL, the row is marked as dropped and left out of R. False: the
 * pool's watch ended it. */
static bool panels_factor(struct panels *p, const double *least, bool *drop);
/* x (n) = R^-T x, and R^-1 x. */
static void panels_forward(const struct panels *p, double *x);
static void panels_backward(const struct panels *p, double *x);
/* As panels_forward, for x (panels_bands(n) KLR_BAND, KLR_BAND), of
 * which n rows count. */
static void panels_divide(const struct panels *p, double *x);
/* Likewise for x that is 0 above row `from`, a multiple of KLR_BAND, and has
 * the rows from there on. */
static void panels_divide_from(const struct panels *p, size_t from, double *x);

/* ---- a preconditioner of low rank: see lowrank.c ---- */

struct precond {
    struct submatrix matrix;         /* K of the examples */
    size_t n, rank;                  /* examples; columns of L */
    size_t limit, most;              /* of the rank: at present, and ever */
    double weight_of_saved_products; /* against that of the usual ones */
    double least;      /* residual diagonal of a pivot: more than that */
    bool shared;       /* K is at hand, and serves several folds */
    size_t pitch;      /* of the rows of L in a band */
    float *l;          /* (n, rank) in bands of columns, each row-major */
    size_t stride;     /* of the rows of the factor */
    size_t *pivot;     /* (rank) the examples its columns are of */
    double *factor;    /* (rank, rank) R, upper, with R'R = I + L'L */
    const double *s;   /* (n) roots of the weights, the caller's */
    double *zs, szs;   /* (n) M^-1 s; s'M^-1 s */
    double *root;      /* (n) S of L */
    double *scale;     /* (n) D^-1: M is D (I + L L') D */
    double *scaled;    /* (n) workspace */
    bool built, stale; /* there is an L to keep; for other weights */
    double *fs;        /* (rank) (I + L'L)^-1 L's */
    double *residual;  /* (n) diagonal of S K S - L L' */
    double left;       /* its sum where all pivots were chosen for S */
    double *diagonal;  /* (n) K_ii */
    double *work;      /* (groups, most) partial sums of L'x */
    float *column;     /* (KLR_PANEL, n) K[pivots, :] */
    double *lines;     /* (most, KLR_PANEL) rows of L, of candidates */
    float *panel;      /* (most, KLR_PANEL) the same, negative, of pivots */
    struct leading *leading; /* L of a linear kernel of sparse rows, in place of
                                that by pivots; NULL: there is none */
    double flops;            /* operations of all builds and solutions so far */
    struct klr_pool *pool;   /* the operator's */
    const struct klr_dense *dense; /* products for this processor */
};

/* Diagonal elements of S K S - L L' that are less do not matter beside the 1 of
 * I, as a rule, though a thousand examples may have them in common. */
static const double precond_least = 3e-4;

/* The largest rank that an L of 32 MB may have; of up to 64 MB, where that is
 * soon built. */
static size_t precond_most(size_t n);
static size_t precond_more(size_t n);
/* With ranks up to `most`; `shared`: K is at hand, and serves several folds.
 * It is the arena's. */
static int precond_create(struct precond *m, struct submatrix matrix,
                          size_t most, bool shared, struct klr_arena *arena,
                          struct klr_error *err);
static double precond_bytes(size_t n, size_t most);
/* The next L is built anew. If this one was built for the last weights, its
 * rank was too low: from now on the limit is twice as large, and products saved
 * count for more. */
static void precond_raise(struct precond *m);
/* For the roots s (n) of the weights, which must stay until the next build.
 * False: it was ended by the pool's watch, and there is none. */
static bool precond_build(struct precond *m, const double *s);
/* As precond_build, but L may be kept for weights that differ little. */
static bool precond_prepare(struct precond *m, const double *s);
/* L_ik; those of the row that follow it in its band of KLR_BAND columns are
 * beside it. */
static float *precond_at(const struct precond *m, size_t i, size_t k);
/* More columns of L, block by block, at least one: see lowrank_pivots.c. */
static bool precond_grow(struct precond *m);
/* The trace of S K S - L L'. */
static double precond_trace(const struct precond *m);
/* True if building L takes longer than a product with K. */
static bool precond_is_dear(const struct precond *m);
/* out = the inverse of M on the subspace s'out = 0, applied to in. */
static void precond_solve(struct precond *m, const double *in, double *out);
/* out = the inverse of M, applied to in. */
static void precond_invert(struct precond *m, const double *in, double *out);
/* K is nearly Q = F F' with F = S^-1 L, S the weights' roots that L was built
 * for: out (n) = F w, w (rank) filled up with zeros to a multiple of 8, and w =
 * F'x. Not for a linear kernel of sparse rows. */
static void precond_expand(struct precond *m, const double *w, double *out);
static void precond_gather(struct precond *m, const double *x, double *w);
/* out = the inverse of I + F'(W - w w'/ s's)F, W = S^2, applied to in (rank);
 * without a bias that of I + F'W F. */
static void precond_solve_small(struct precond *m, bool bias, const double *in,
                                double *out);
/* Apply nearly the inverse of I + sum_i w_i k_i k_i' to a function, where k_i =
 * K(x_i, .) and W = S^2; with a bias W - w w'/ s's is in place of W. The
 * function h = sum_i s_i x_i k_i goes to h plus the combination of the pivots'
 * kernels with the coefficients t (rank); functions orthogonal to these kernels
 * stay as they are. Returns about the inner product of h and the result. */
static double precond_function(struct precond *m, bool bias, const double *x,
                               double *t);

/* ---- its L for a linear kernel: see lowrank_features.c ---- */

enum { LEADING_MOST = 256, LEADING_BAND = 16 };

struct leading {
    size_t most, count;  /* features: at most, and in T */
    size_t width;        /* features there are */
    double *weight;      /* (width) sum_i W_i x_ij^2 */
    double *sorted;      /* (width) workspace */
    uint16_t *number;    /* (width) of those in T, ascending; else `most` */
    size_t *begin;       /* (n + 1) rows of X_T: */
    uint16_t *column;    /* (begin[n]) numbers, ascending */
    float *value;        /* (begin[n]) */
    const size_t *start; /* the rows of X */
    const int *feature;
    const double *x;
};

/* True where the kernel is linear and rows are sparse. */
static bool leading_serves(const struct klr_operator *op);
/* The arena's. */
static int leading_create(struct leading **out, struct submatrix matrix,
                          struct klr_arena *arena, struct klr_error *err);
static void leading_build(struct leading *lead, struct klr_set set,
                          const double *s);
static void leading_project(const struct leading *lead, const double *s,
                            size_t begin, size_t end, const double *x,
                            double *w);
static void leading_expand(const struct leading *lead, const double *s,
                           size_t begin, size_t end, const double *w,
                           double *out);
static void leading_gram(const struct leading *lead, size_t n, const double *s,
                         size_t first, size_t end, double *gram, size_t stride);

/* ---- a preconditioner of full rank: see cholesky.c ---- */

enum { CHOLESKY_VECTORS = KLR_SLIM }; /* solved for at once, at most */

struct cholesky {
    struct submatrix matrix; /* K of the examples */
    size_t n, blocks;
    float *tile; /* (blocks (blocks + 1) / 2, KLR_TILE, KLR_TILE) L */
    struct klr_range *range; /* (set.count) of the rows below */
    double *row;             /* (KLR_TILE, n) of K, from the diagonal on */
    float *panel;            /* (blocks, KLR_TILE, KLR_TILE) of rows of L */
    double *block;           /* (2, KLR_TILE, KLR_TILE) on the diagonal */
    float *fresh;            /* (threads, KLR_TILE, KLR_TILE) */
    float *vector;   /* (blocks, KLR_TILE, CHOLESKY_VECTORS), and a block */
    const double *s; /* (n) roots of the weights, the caller's */
    size_t column;   /* of tiles that is worked on */
    double flops;    /* operations so far */
    const struct klr_dense *dense;
    struct klr_pool *pool; /* the operator's */
};

/* The arena's. */
static int cholesky_create(struct cholesky *m, struct submatrix matrix,
                           struct klr_arena *arena, struct klr_error *err);
/* With one thread; each other one has a tile more. */
static double cholesky_bytes(size_t n);
/* Column j of tiles, all before it being there, for the roots s (n) of the
 * weights; false: I + S K S does not seem positive definite to floats, or the
 * pool's watch ended it. */
static bool cholesky_factor(struct cholesky *m, const double *s, size_t j);
/* x[c] (n) = the inverse of I + S K S applied to it, c < count <=
 * CHOLESKY_VECTORS. */
static void cholesky_solve(struct cholesky *m, size_t count, double *const *x);

/* ---- Hessians of fits on few columns: see small_hessian.c ---- */

struct hessian {
    size_t n, rank, room;  /* examples; functions, and how many fit */
    size_t unpenalised;    /* functions without penalty, the first ones */
    const double *basis;   /* (rank, pitch) B by columns, the caller's */
    size_t pitch;          /* of the basis */
    const double *root;    /* (n) S, S^2 = W, the caller's */
    const double *scale;   /* (rank) D, the caller's; NULL: I */
    double *scaled;        /* (n, room + KLR_BAND) S B D; then the caller's */
    double *factor;        /* (room, room) H, upper, and F, lower */
    double *pivot;         /* (room) the diagonal of F */
    struct klr_pool *pool; /* the operator's */
    const struct klr_dense *dense;
};

/* The caller keeps n, rank, free, basis, root, scale, pool and dense. */
static int hessian_alloc(struct hessian *h, size_t room, struct klr_error *err);
static void hessian_free(struct hessian *h);
static double hessian_bytes(size_t n, size_t room);
/* The elements from row to row of h->scaled. */
static size_t hessian_stride(const struct hessian *h);
/* H but for its shift; false if the pool's watch ended that. */
static bool hessian_form(struct hessian *h);
/* F; false if H is not positive definite. */
static bool hessian_factor(struct hessian *h, double shift);
/* x (rank) = F^-1 x, and F^-T x. */
static void hessian_forward(const struct hessian *h, double *x);
static void hessian_backward(const struct hessian *h, double *x);
/* The next row of h->factor holds what H has there, left of its diagonal, which
 * is `square`: it becomes one of F. False as above. */
static bool hessian_extend(struct hessian *h, double square);

/* ---- all of a spectrum: see tridiagonal.c ---- */

/* diagonal d (n), beside it e (n - 1) */
struct tridiagonal {
    size_t n;
    const double *d, *e;
};

/* How many eigenvalues are less than x. */
static size_t tridiagonal_count(const struct tridiagonal *t, double x);
/* A bound on the absolute eigenvalues. */
static double tridiagonal_bound(const struct tridiagonal *t);
/* Rounding moves eigenvalues by some n 2^-53 times the largest; and the zeros
 * of a zero matrix are not negative either. */
static double tridiagonal_rounding(const struct tridiagonal *t);
/* NaN where n = 0. */
static struct klr_extremes tridiagonal_extremes(const struct tridiagonal *t);

/* T, in d (n) and e (n - 1), has the eigenvalues of K (n, n), and those of K on
 * the vectors of sum 0 beyond its first row and column, in some 4/3 n^3
 * operations. work: (n, n), (n) and (n). False: goes_on, which is asked before
 * each step, has ended it, or the pool's watch. */
static bool tridiagonalise(const struct submatrix *k, double *const work[3],
                           double *d, double *e, bool goes_on(void *),
                           void *context);

/* ---- the ends of one: see lanczos.c ---- */

/* Lanczos iterations on K of some examples; the caller keeps all but `cut`. */
struct lanczos {
    struct submatrix k;      /* of n examples */
    bool centred;            /* on the vectors of sum 0 */
    size_t steps;            /* at most */
    double tolerance, share; /* it ends where ends move by less from look to
                                 look, or by less than a share of them */
    double *d, *e;           /* (steps) */
    double *q, *w, *before;  /* (n) */
    bool (*goes_on)(void *); /* asked before each step, with the context */
    void *context;
    bool cut; /* the pool's watch has ended it */
};

/* The least value is not below the least eigenvalue but for rounding, the
 * largest not above the largest one: what is negative is certain, what is not
 * is an estimate. NaN: it was stopped. */
static struct klr_extremes lanczos(struct lanczos *l);

/* ---- a bound of one: see shortfall.c ---- */

/* v'K v >= -*bound |v|^2 for all v, those of sum 0 if `centred`; NaN where the
 * pool's watch ended it, or K overflows. In the time of a few products with K,
 * and about so many bytes: the more, the closer. KLR_E_MEMORY. */
static int shortfall_bound(struct submatrix k, bool centred, double bytes,
                           double *bound, struct klr_error *err);

#endif
