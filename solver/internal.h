/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of solver.c share. The way of the data:
 *
 *   file -> svmlight -> problem -> layout, operator -> smo -> model -> links
 *
 * Parts are included by solver.c in reading order; each includes this header,
 * so that it also parses on its own (make check-parts).
 */
#ifndef KLR_SOLVER_INTERNAL_H
#define KLR_SOLVER_INTERNAL_H

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/scaling.h"
#include "base/system.h"
#include "base/threads.h"
#include "solver.h"

/* ---- names of classes: see names.c ---- */

static struct klr_names *names_free(struct klr_names *names); /* NULL */
static size_t names_count(const struct klr_names *names); /* 0 of NULL, too */
/* Its index, if it is known. */
static bool names_find(const struct klr_names *names, const char *text,
                       size_t length, size_t *index);
/* The same; it becomes known, and the first one makes *at, which is NULL. */
static int names_add(struct klr_names **at, const char *text, size_t length,
                     size_t *index, struct klr_error *err);
/* Names come into ascending order, byte by byte, and with them labels (n). */
static int names_sort(struct klr_names *names, size_t n, double *label,
                      struct klr_error *err);
/* Added to *out, NULL at first; to be freed in any case. */
static int names_copy(struct klr_names **out, const struct klr_names *names,
                      struct klr_error *err);
/* The label that a text names; `names` may be NULL, for numbers. */
static bool label_read(const struct klr_names *names, const char *text,
                       double *label);

/* ---- sums ---- */

/* a'b (n), in order. */
static inline double dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* ---- svmlight: tokens of lines, and the features in them ---- */

/* Features of rows one behind the other. */
struct rows {
    size_t count;            /* features so far */
    size_t n_index, n_value; /* capacities */
    int *index;
    double *value;
};

/* Whether a token can be the name of a class: printable UTF-8 without what is
 * something else in a line. */
static bool line_is_name(const char *p, const char *end);
/* Room for `count` more features. */
static int rows_reserve(struct rows *rows, size_t count, struct klr_error *err);
/* Append the features that begin at *at and go on to the end of the line or to
 * a comment, indices ascending from `least`; *at becomes the end of the last
 * one. KLR_E_DATA with the column of a token that is none. */
static int line_features(const struct klr_line *line, const char **at,
                         int least, struct rows *rows, struct klr_error *err);

/* ---- scaling: see scaling.c ---- */

static struct klr_scaling *scaling_free(struct klr_scaling *scaling); /* NULL */
/* What it takes to scale, not to learn; to be freed in any case. */
static int scaling_copy(struct klr_scaling **out,
                        const struct klr_scaling *scaling,
                        struct klr_error *err);
/* x scaled, into `out`, with start (n + 1). KLR_E_DATA with a row, from 1. */
static int scale_features(const struct klr_scaling *scaling,
                          const struct klr_features *x, struct rows *out,
                          size_t *start, struct klr_error *err);

/* ---- links: from decision values to probabilities ---- */

static double sigmoid(double z);  /* 1 / (1 + e^-z) */
static double softplus(double z); /* log(1 + e^z) */
/* p (k) = e^f / sum e^f; f may be p. Returns log sum e^f. */
static double softmax(size_t k, const double *f, double *p);

enum link_kind { LINK_LOGISTIC, LINK_CONSISTENT, LINK_GAUSSIAN };

/* The log-odds of decision value f, with z = -(a f + b):
 *   logistic    z, so that p = 1 / (1 + exp(a f + b)), as LIBSVM has it
 *   consistent  log sigma(c + z) - log sigma(c - z)
 *   gaussian    z - c f^2 */
struct link {
    enum link_kind kind;
    double a, b, c;
};

/* As model files call them: "logistic", ..., NULL */
static const char *const model_link_names[] = {"logistic", "consistent",
                                               "gaussian", NULL};
/* The log-odds themselves, in the kind of an enum klr_link. */
static struct link link_neutral(int link);
static double link_log_odds(const struct link *link, double f);
/* How fast they change with f, about. */
static double link_slope(const struct link *link, double f);

/* Class probabilities p (k) from pairwise ones, r (k, k) with r_ij + r_ji = 1:
 * the second method of Wu, Lin & Weng (2004), solved exactly. `work` has
 * (k + 1)^2 + (k + 1) elements. */
static void couple_pairwise(size_t k, const double *r, double *p, double *work);

/* ---- layout: the order in which examples are worked on ---- */

/* How examples are dealt: into folds of the cross validation, which do not
 * depend on the parts, and each fold into parts; 1 where there is no need. */
struct deal {
    size_t folds, parts;
    uint64_t seed;
    const size_t *fold; /* (n) below `folds`: an example's; NULL: dealt too */
};

/* What a training does without: the examples of fold `fold` (folds: none), and
 * part `part` of all the other folds (parts: none). */
struct hole {
    size_t fold, part;
};

/* Examples stably sorted by class, in the model's order of labels, within a
 * class by fold, and within a fold by part. What is left beside a hole is a
 * short list of ranges. */
struct layout {
    size_t n, k;   /* examples, classes */
    double *label; /* (k): two classes: positive first; more: ascending */
    const struct klr_names *names; /* the problem's */
    size_t *order;                 /* (n) row of the problem at each position */
    size_t folds, parts;
    size_t *begin; /* (k * folds * parts + 1) first position of class c, fold
                      f, part p: begin[(c * folds + f) * parts + p] */
};

/* `positive` may be NULL. Folds are dealt stratified and seeded. Errors as
 * klr_train; KLR_E_USAGE for a given fold that is none. */
static int layout_create(struct layout *layout, const struct klr_problem *,
                         const char *positive, struct deal deal,
                         struct klr_error *err);
static void layout_free(struct layout *layout);
static const struct deal deal_none = {.folds = 1, .parts = 1};
/* The class whose label an option names; KLR_E_USAGE if there is none. */
static int layout_find(const struct layout *layout, const char *option,
                       const char *text, size_t *class, struct klr_error *err);
/* The first position of class c. */
static size_t layout_begin(const struct layout *layout, size_t c);

/* Ranges of class `c` that a training without the hole has, or that the part
 * of the hole has, if it has one, else its fold, are appended to
 * range[*count]: at most folds + 1. Returns their size. */
static size_t layout_kept(const struct layout *layout, size_t c,
                          struct hole hole, struct klr_range *range,
                          size_t *count);
static size_t layout_held(const struct layout *layout, size_t c,
                          struct hole hole, struct klr_range *range,
                          size_t *count);

/* splitmix64; and uniform in 0..bound-1. */
static uint64_t random_next(uint64_t *state);
static size_t random_below(uint64_t *state, size_t bound);

/* ---- operator: K as solvers see it ---- */

/* Rows worked on at once: what is computed stays in the nearer caches. */
enum { KLR_STRIP = 64 };

/* Blocks of columns that few rows are computed on at once, at most. */
enum { KLR_SPAN = 8 };

/* The positions of a set in one block of KLR_TILE positions: `size` of them,
 * the first is `begin`, in range[range]; `offset` is its index in the set. */
struct piece {
    size_t size, range, begin, offset;
};

/* A part of K: float or double entries, `pitch` apart from row to row. */
struct strip {
    const void *entry;
    enum klr_precision precision;
    size_t pitch, rows, cols;
};

/* What one thread works with. */
struct tile_work {
    void *gram;             /* of klr_gram */
    void *strip;            /* entries computed */
    double *side;           /* (4, KLR_SLICE, KLR_TILE) of klr_tile_multiply */
    struct klr_range *rows; /* (KLR_TILE) cut from sets */
    struct klr_range *cols; /* (KLR_SPAN * KLR_TILE) */
    unsigned long long evaluations;
};

/* The first tiles, which are kept once they have been computed. */
struct kept {
    size_t stored;
    char *tile;            /* (stored, KLR_TILE, KLR_TILE) entries */
    unsigned char *filled; /* (stored) */
};

/* The lower triangle of K in square tiles of KLR_TILE positions, row by row. */
struct tiles {
    const struct klr_points *points;
    size_t n, blocks, threads;
    struct kept kept[2];    /* of floats, and of doubles */
    struct tile_work *work; /* (threads) */
    klr_tile_multiply *multiply;
};

static int tiles_create(struct tiles *tiles, const struct klr_points *points,
                        size_t threads, size_t budget, struct klr_error *err);
static void tiles_free(struct tiles *tiles);
/* piece (blocks): the set's part in each block. */
static void tiles_divide(const struct tiles *tiles, struct klr_set set,
                         struct piece *piece);
static size_t tiles_size(const struct tiles *tiles, size_t i, size_t j);
/* Compute the tile of blocks i >= j, if it is one to be kept and is not yet. */
static void tiles_fill(struct tiles *tiles, enum klr_precision precision,
                       size_t i, size_t j, size_t thread);
/* The float entries of row i in the columns, all of `block`, if their tile is
 * filled. */
static bool tiles_copy_row(const struct tiles *tiles, size_t i, size_t block,
                           struct klr_set cols, float *out);

/* Positions first .. first + count - 1 of a set's part in `block`. */
struct cut {
    struct klr_set set;
    size_t block;
    const struct piece *piece;
    size_t first, count;
};

/* Its ranges, into `range` (KLR_TILE). */
static struct klr_set cut_ranges(struct cut cut, struct klr_range *range);

/* K[rows of left, cols] from a tile that is filled, if left is NULL and the
 * block of rows is not above that of cols, or computed, into the thread's
 * workspace. */
static struct strip tiles_strip(struct tiles *tiles, size_t thread,
                                const struct klr_points *left, struct cut rows,
                                struct cut cols, enum klr_precision precision);
/* forward (rows, m) += strip v, v (cols, m); backward (cols, m) += strip' w,
 * w (rows, m); either pair may be NULL. Rows of m elements everywhere. */
static void strip_multiply(const struct tiles *tiles, size_t thread,
                           const struct strip *strip, size_t m, const double *v,
                           double *forward, const double *w, double *backward);

struct klr_operator {
    struct klr_kernel kernel;
    struct klr_points *points;
    size_t n;
    unsigned long long evaluations; /* kernel entries computed so far */
    double passes;         /* entries multiplied or produced, over n^2 */
    struct klr_pool *pool; /* or NULL */
    struct tiles tiles;
    struct piece *row, *col; /* (blocks) of the sets of a product */
    size_t *met;             /* (blocks) those that have positions */
    atomic_size_t *turn;     /* (blocks) contributions they have got */
    size_t groups;           /* linear kernel: partial sums of X'V, else 0 */
    double *partial;         /* (groups, width, KLR_SLICE) */
};

/* Tiles are kept in at most `budget` bytes; neither that nor the pool, which
 * stays the caller's and may be NULL, changes a result. */
static int operator_create(struct klr_operator *op, const struct klr_kernel *,
                           const struct klr_features *x, const size_t *order,
                           struct klr_pool *pool, size_t budget,
                           struct klr_error *err);
static void operator_free(struct klr_operator *op);

/* out (|rows|, m) = K[rows, cols] V, V (|cols|, m), both row-major; sums are
 * accumulated in double, in a fixed order, over entries of the precision; of
 * the linear kernel, over features in double. */
static void operator_apply(struct klr_operator *op, struct klr_set rows,
                           struct klr_set cols, const double *v, size_t m,
                           enum klr_precision precision, double *out);

/* out[q] (|cols|) = K[i[q], cols], float or double as `precision` says, for
 * q < count. Several rows cost less each than a single one. */
static void operator_rows_to(struct klr_operator *op, const size_t *i,
                             size_t count, struct klr_set cols,
                             enum klr_precision precision, void *const *out);
/* The same, with `stride` elements from row to row. */
static void operator_rows(struct klr_operator *op, const size_t *i,
                          size_t count, struct klr_set cols,
                          enum klr_precision precision, void *out,
                          size_t stride);
static void operator_row(struct klr_operator *op, size_t i, struct klr_set cols,
                         enum klr_precision precision, void *out);

static void operator_diagonal(const struct klr_operator *op, struct klr_set set,
                              double *out);

/* out (x.n, m) = K[x, cols] V for other examples x, prepared by
 * klr_points_create_like. */
static void operator_cross(struct klr_operator *op, const struct klr_points *x,
                           struct klr_set cols, const double *v, size_t m,
                           enum klr_precision precision, double *out);

static struct klr_set set_of(const struct klr_range *range, size_t count);
/* The position of the i-th of a set. */
static size_t set_position(struct klr_set set, size_t i);

/* ---- binary problems and their solvers ---- */

/* min 1/2 beta'K beta + sum_i loss_i(y_i f_i), over the examples `set` of the
 * operator, local index 0..n-1 in their order; for each C of params->cost. */
struct binary {
    struct klr_operator *op;
    struct klr_set set;
    size_t n;
    const double *y;      /* (n) +1 or -1 */
    const double *weight; /* (n) C_i / C */
    const struct klr_params *params;
    struct clock *clock;
};

struct solution {
    double *beta; /* (n), owned by the caller */
    double rho;
    double primal, dual;
    double lambda_bound; /* where params ask for it */
    long long iterations;
    double flops;                 /* of preconditioners */
    enum klr_precision precision; /* of the entries behind the objectives */
    enum klr_status status;
};

/* Time, interruption and progress of a whole run. */
struct clock {
    double begin, next_report;
    size_t problem, problems;
    bool interrupted;
};

static void clock_start(struct clock *clock, size_t problems);
/* KLR_CONVERGED: go on; else why to stop. The solver keeps `iterations`,
 * `violation`, `target` and, where it knows it, `objective` of its progress;
 * the rest is filled in when a report is due, the relative gap by gap(solver),
 * unless gap is NULL: not known. */
static enum klr_status clock_check(struct clock *clock,
                                   const struct klr_params *params,
                                   struct klr_progress *progress,
                                   double (*gap)(void *), void *solver);

/* Solve by the model and options of problem->params, for each C of its path;
 * solution (cost.count): beta (n) of each is the caller's, the rest is filled
 * in; dual is NaN where there is none. */
typedef int solve_fn(const struct binary *problem, struct solution *solution,
                     struct klr_error *err);

/* The same for problems[0..machines-1], which differ in y and weight alone,
 * solution[m] (cost.count) for each. */
typedef int solve_all_fn(const struct binary *problems, size_t machines,
                         struct solution *const *solution,
                         struct klr_error *err);

/* KLR_E_USAGE where the box of an sklr is empty. */
static solve_fn smo_solve;
/* For the logistic loss and positive semidefinite K, by a truncated Newton
 * method; KLR_E_DATA where K turns out to be indefinite. */
static solve_fn newton_solve;
/* What that allocates for n examples, in bytes, K aside. */
static double newton_bytes(size_t n);
/* The same for a softmax of several columns. */
static solve_all_fn softmax_solve;
static double softmax_bytes(size_t n, size_t columns);
/* For the regularizer beta'beta and any symmetric K: by a truncated Newton
 * method, and by nonlinear conjugate gradients. */
static solve_fn coef_newton_solve, coef_cg_solve;
static double coef_bytes(size_t n);
/* On import points, chosen greedily; dual is that of all points. */
static solve_fn ivm_solve;
/* The same for the logistic loss without bias, as Maalouf et al. have it. */
static solve_fn trirls_solve;
static double trirls_bytes(size_t n);
/* Kernel Fisher discriminants; the objectives are those of Mika (3), with
 * weights: see fisher.c. KLR_E_DATA where K turns out to be indefinite and the
 * regularizer needs it not to be, or does not tell the classes apart. */
static solve_fn fisher_solve;
static solve_all_fn fisher_solve_all;
static double fisher_bytes(size_t n);

/* ---- kernel Fisher discriminants in few kernels: see fisher_greedy.c ---- */

/* For any regularizer; KLR_E_DATA where no kernel tells the classes apart,
 * KLR_E_LIMIT where -m has no room for the kernels that are taken. */
static solve_fn greedy_solve;
static int greedy_solve_all(const struct binary *problems, size_t machines,
                            struct solution *const *solution,
                            struct klr_error *err);

/* u = K beta (n); *rho is the threshold of the constraints on the class means,
 * and becomes the one that params->threshold asks for. */
static int fisher_threshold(const struct binary *problem, const double *u,
                            double *rho, struct klr_error *err);

/* solution[t].lambda_bound becomes (36) of Consolo for each C: about from that
 * lambda on the smaller class is all at the upper end of the box. `solve`
 * trains the problem. */
static int lambda_bound(const struct binary *problem, solve_fn *solve,
                        struct solution *solution, struct klr_error *err);
/* To a stationary point; dual is NaN. */
static solve_fn lhalf_solve;
static double lhalf_bytes(size_t n);

/* ---- systems: which solver trains which model: see systems.c ---- */

/* What --gap means to a solver: nothing, or a stop, or another -e. */
enum system_gap { GAP_NONE, GAP_STOPS, GAP_IS_EPS };
enum system_bias { BIAS_EITHER, BIAS_ALWAYS, BIAS_NEVER };

struct system {
    enum klr_model_type model;
    enum klr_solver_type solver;
    enum klr_regularizer regularizer;
    bool needs_psd; /* takes positive semidefinite kernels only */
    enum system_bias bias;
    enum system_gap gap;
    bool leave_out; /* leave-one-out has a closed form, of kernels that are
                       positive semidefinite */
    double eps;     /* where -e is not given */
    solve_fn *solve;
    /* NULL: nothing is gained by it. */
    solve_all_fn *solve_all;
    double (*bytes)(size_t n); /* allocated for n examples, beside tiles of K;
                                  NULL: works on a cache of its rows */
    /* The machines of a softmax, which are one problem, and the bytes for n
     * examples of k classes; NULL: it cannot. */
    solve_all_fn *softmax;
    double (*softmax_bytes)(size_t n, size_t k);
};

/* The first system that the parameters admit; where there is none, NULL and
 * KLR_E_USAGE. */
static const struct system *system_of(const struct klr_params *params,
                                      struct klr_error *err);

/* ---- dense triangles: see triangle.c ---- */

/* In place, upper triangle of a (n, n; pitch): a = R'R, with pivots raised to
 * the least one where they are smaller; false if one was. */
static bool triangle_factor(const struct klr_dense *dense, size_t n,
                            size_t pitch, double *a, double least);
/* inverse (n, n; pitch), zeros at first, = R^-T, a lower triangle. */
static void triangle_invert(const struct klr_dense *dense, size_t n,
                            size_t pitch, const double *r, double *inverse);
/* to (rows, cols; pitch), at most KLR_BAND each, -= A'B for A (inner, rows) and
 * B (inner, cols); where they are one matrix, its upper triangle. */
static void band_reduce(const struct klr_dense *dense, size_t inner,
                        const double *a, const double *b, size_t pitch,
                        size_t rows, size_t cols, double *to);

/* ---- the preconditioner of the Newton method: see precond.c ---- */

struct precond {
    size_t n, rank;        /* examples; columns of L */
    size_t limit, most;    /* of the rank: at present, and ever */
    double worth;          /* of a product saved, against the usual one */
    size_t stride;         /* of the rows of L and of the factor */
    float *l;              /* (n, rank) row-major */
    size_t *pivot;         /* (rank) the examples its columns are of */
    double *factor;        /* (rank, rank) R, upper, with R'R = I + L'L */
    const double *s;       /* (n) roots of the weights, the caller's */
    double *zs, szs;       /* (n) M^-1 s; s'M^-1 s */
    double *root;          /* (n) S of L */
    double *scale;         /* (n) D^-1: M is D (I + L L') D */
    double *scaled;        /* (n) workspace */
    bool built, stale;     /* there is an L to keep; for other weights */
    double *fs;            /* (rank) (I + L'L)^-1 L's */
    double *residual;      /* (n) diagonal of S K S - L L' */
    double *diagonal;      /* (n) K_ii */
    double *work;          /* (groups, most) partial sums of L'x */
    float *column;         /* (KLR_PANEL, n) K[candidates, :] */
    double *lines;         /* (most, KLR_PANEL) rows of L, of candidates */
    float *panel;          /* (most, KLR_PANEL) the same, negative, of pivots */
    double flops;          /* operations of all builds and solutions so far */
    struct klr_pool *pool; /* the operator's */
    const struct klr_dense *dense; /* products for this processor */
};

static int precond_create(struct precond *m, const struct binary *problem,
                          struct klr_error *err);
static void precond_free(struct precond *m);
static double precond_bytes(size_t n);
/* The largest rank there may be; the same with a smaller one. */
static size_t precond_most(size_t n);
static int precond_create_within(struct precond *m,
                                 const struct binary *problem, size_t most,
                                 struct klr_error *err);
static double precond_bytes_within(size_t n, size_t most);
/* Do not keep L. Was it built for the last weights, double the limit of the
 * rank for the builds to come; more of it pays then. */
static void precond_raise(struct precond *m);
/* For the roots s (n) of the weights, which must stay until the next build. */
static void precond_build(struct precond *m, const struct binary *problem,
                          const double *s);
/* The same, but L may be kept for weights that differ little. */
static void precond_prepare(struct precond *m, const struct binary *problem,
                            const double *s);
/* out = the inverse of M on the subspace s'out = 0, applied to in. */
static void precond_solve(struct precond *m, const double *in, double *out);
/* out = the inverse of M, applied to in. */
static void precond_invert(struct precond *m, const double *in, double *out);
/* The same for functions, h = sum_i s_i x_i K(x_i, .): nearly the inverse of
 * I + sum_i w_i K(x_i, .) K(x_i, .)', W = S^2, or with a bias W - w w'/ s's,
 * takes h to the function with coefficients t (rank) more for the pivots, and
 * is the identity across their kernels. Returns what is about the product of
 * both functions. */
static double precond_function(struct precond *m, bool bias, const double *x,
                               double *t);

/* ---- the same for the columns of a softmax: see coupled.c ---- */

struct coupled {
    size_t n, columns;
    bool bias;
    struct precond *column; /* (columns) */
    const double *cost;     /* (n) C_i, the caller's */
    const double *s;        /* (n, columns) roots of C_i p_ic, the caller's */
    double *root;           /* (columns, n) roots of C_i p_ic (1 - p_ic) */
    double *from, *to;      /* (n) workspace */
    double *projected;      /* (n, columns) workspace */
    double *laplacian;      /* (columns, columns), factored */
    double *sum;            /* (columns) workspace */
};

static int coupled_create(struct coupled *m, const struct binary *problem,
                          size_t columns, const double *cost,
                          struct klr_error *err);
static void coupled_free(struct coupled *m);
static double coupled_bytes(size_t n, size_t columns);
static void coupled_raise(struct coupled *m);
/* For the roots s (n, columns), rows of 0 are left out; they must stay until
 * the next build. */
static void coupled_build(struct coupled *m, const struct binary *problem,
                          const double *s);
/* out (n, columns), of the subspace of the steps. */
static void coupled_solve(struct coupled *m, const double *in, double *out);
/* C_i p_ic (1 - p_ic) from the roots s (k) of an example. */
static double coupled_weight(size_t k, const double *s, double cost, size_t c);
/* Operations so far. */
static double coupled_flops(const struct coupled *m);

/* The Laplacian of a graph of k nodes with the weights w (k, k) >= 0,
 * symmetric, whose diagonal is not looked at: factored in place; x (k), whose
 * sum is 0, becomes the solution of sum 0, where an isolated node has 0. */
static void laplacian_factor(size_t k, double *w);
static void laplacian_solve(size_t k, const double *w, double *x);

/* ---- a preconditioner of full rank: see cholesky.c ---- */

enum { CHOLESKY_VECTORS = KLR_SLIM }; /* solved for at once, at most */

struct cholesky {
    size_t n, blocks;
    float *tile;     /* (blocks (blocks + 1) / 2, KLR_TILE, KLR_TILE) L */
    float *row;      /* (KLR_TILE, n) of K */
    float *panel;    /* (blocks, KLR_TILE, KLR_TILE) of rows of L */
    double *block;   /* (2, KLR_TILE, KLR_TILE) on the diagonal */
    float *vector;   /* (blocks, KLR_TILE, CHOLESKY_VECTORS), and a block */
    const double *s; /* (n) roots of the weights, the caller's */
    size_t column;   /* of tiles that is worked on */
    double flops;    /* operations so far */
    const struct klr_dense *dense;
    struct klr_pool *pool; /* the operator's */
};

static int cholesky_create(struct cholesky *m, const struct binary *problem,
                           struct klr_error *err);
static void cholesky_free(struct cholesky *m);
static double cholesky_bytes(size_t n);
/* Column j of tiles, all before it being there, for the roots s (n) of the
 * weights; false: I + S K S does not seem positive definite to floats. */
static bool cholesky_factor(struct cholesky *m, const struct binary *problem,
                            const double *s, size_t j);
/* x[c] (n) = the inverse of I + S K S applied to it, c < count <=
 * CHOLESKY_VECTORS. */
static void cholesky_solve(struct cholesky *m, size_t count, double *const *x);

/* ---- the step of the Newton method: see direction.c ---- */

struct direction {
    const struct binary *problem;
    size_t n, columns, size; /* size: n * columns */
    double accuracy;         /* fall of the residual of conjugate gradients */
    enum klr_precision precision; /* of their products */
    bool indefinite;        /* a direction of negative curvature was met */
    struct precond precond; /* of one column */
    struct coupled coupled; /* of several */
    struct klr_progress *progress; /* for the clock, with gap(solver) */
    double (*gap)(void *);
    void *solver;
    double *diagonal;        /* (n) K_ii */
    const double *cost;      /* (n) C_i, the caller's */
    double *s;               /* S, the caller's: see direction_solve */
    int steps;               /* of conjugate gradients, at last */
    double *total;           /* (columns) sum W; infinite without bias */
    const double *e, *q;     /* beta - g, K e; the caller's */
    bool partial;            /* rows of negligible weight are left out */
    bool functions;          /* the form of the last step: see coupled.c */
    double rz;               /* in that form, <r, z> of the last step */
    size_t *row;             /* (n) rows kept; from the end those left out */
    struct klr_set in;       /* their positions */
    struct klr_range *range; /* (n) of these */
    double *store;           /* all vectors below, (n, columns) each */
    double *v, *kv;          /* v, K S v; then S v, K S v */
    double *r, *z, *p, *kp, *t, *packed;
};

/* The caller has zeroed *d and keeps accuracy, precision, progress, gap and
 * solver. */
static int direction_create(struct direction *d, const struct binary *problem,
                            size_t columns, const double *cost,
                            struct klr_error *err);
static void direction_free(struct direction *d);
static double direction_bytes(size_t n, size_t columns);
/* More rank for the preconditioner from now on; its operations so far. */
static void direction_raise(struct direction *d);
static double direction_flops(const struct direction *d);
/* d->v, the step from g, and d->kv. Of one column s (n) are the roots of the
 * weights, of several s (n, columns) those of C_i p_ic. It becomes 0 where rows
 * are left out. Ends early with a status of the clock, or with `indefinite`. */
static enum klr_status direction_solve(struct direction *d, double *s,
                                       const double *e, const double *q);
/* out = K x on the rows kept and 0 on the others, which x has 0 too. */
static void direction_product(struct direction *d, const double *x,
                              double *out);
/* As direction_start() and direction_step(), for functions: see coupled.c. Both
 * name about <r, z>. */
static double coupled_start(struct direction *d);
static bool coupled_step(struct direction *d, double *norm);

/* ---- Hessians of fits on few columns: see hessian.c ---- */

struct hessian {
    size_t n, rank, room;  /* examples; functions, and how many fit */
    size_t free;           /* functions without penalty, the first ones */
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
/* H but for its shift. */
static void hessian_form(struct hessian *h);
/* F; false if H is not positive definite. */
static bool hessian_factor(struct hessian *h, double shift);
/* x (rank) = F^-1 x, and F^-T x. */
static void hessian_forward(const struct hessian *h, double *x);
static void hessian_backward(const struct hessian *h, double *x);
/* The next row of h->factor holds what H has there, left of its diagonal, which
 * is `square`: it becomes one of F. False as above. */
static bool hessian_extend(struct hessian *h, double square);

/* ---- losses and their conjugates: see loss.c ---- */

struct loss {
    enum klr_model_type model;
    double shift; /* lambda */
    double box;   /* box <= alpha_i <= C_i - box */
};

/* At the value `cost` of C. */
static struct loss loss_of(const struct klr_params *params, double cost);
/* 0, or KLR_E_USAGE if the box admits no alpha with sum beta = 0, at the value
 * `c` of C. */
static int loss_check(const struct loss *loss, const struct binary *problem,
                      double c, struct klr_error *err);
/* The loss at the margin y f of an example with C_i = cost; the alpha where its
 * dual is reached, for logistic losses. */
static double loss_value(const struct loss *loss, double margin, double cost);
static double loss_alpha(const struct loss *loss, double margin, double cost);
/* sum_i loss_i(y_i (u_i - rho)), all (n); with 1/2 beta'u, u = K beta, P. */
static double losses_sum(const struct loss *loss, size_t n, const double *y,
                         const double *cost, const double *u, double rho);
static double primal_value(const struct loss *loss, size_t n, const double *y,
                           const double *cost, const double *beta,
                           const double *u, double rho);
/* What the losses and their conjugates at alpha sum up to. */
struct loss_sums {
    double losses, conjugates;
};
/* At u and rho, for logistic losses: g_i = y_i alpha_i and the curvature W_i of
 * the loss, 0 where the box cuts alpha off and the loss is linear, all (n). */
static struct loss_sums loss_gradient(const struct loss *loss, size_t n,
                                      const double *y, const double *cost,
                                      const double *u, double rho, double *g,
                                      double *w);
static double conjugate_value(const struct loss *loss, double alpha,
                              double cost);
static double conjugate_slope(const struct loss *loss, double alpha,
                              double cost);
static double conjugate_curvature(const struct loss *loss, double alpha,
                                  double cost);
/* argmin over rho of sum_i loss_i(y_i (u_i - rho)), u = K beta, for logistic
 * losses; `start` may be near it. */
static double best_rho(const struct loss *loss, size_t n, const double *y,
                       const double *cost, const double *u, double start);

/* ---- model ---- */

enum { MODEL_FORMAT = 1 }; /* version of our own section of the file */

/* Support vectors are grouped by class, and have a coefficient for each machine
 * in which their class takes part. One against the rest: that is a coefficient
 * for each machine, in their order. Pairs, in LIBSVM's arrangement: that of
 * class a's vectors in the problem of classes (a, b) stands in row b - 1 if
 * a < b, in row b if a > b. */
struct klr_model {
    enum klr_model_type type;
    enum klr_multiclass multiclass; /* KLR_OVO for two classes */
    struct klr_kernel kernel;
    size_t k, machines, columns; /* classes; see multiclass.c */
    double *label;               /* (k) */
    struct klr_names *names;     /* of the labels, or NULL */
    double *rho;                 /* (machines) */
    struct link *link;           /* (machines), of one kind, or NULL */
    size_t n_sv;
    size_t *class_sv; /* (k) support vectors of each class */
    double *coef;     /* (columns, n_sv) row-major */
    size_t *start;    /* (n_sv + 1) the vectors' features, rows in CSR */
    int *index;
    double *value;
    int dimension;
    struct klr_scaling *scaling; /* which the vectors have been through; rows
                                    have not; or NULL */

    /* Of a trained model only, else NULL or 0. */
    const struct klr_problem *problem; /* where the vectors' text is */
    size_t *sv_row;                    /* (n_sv) row in the problem, from 0 */
    bool has_record;
    struct record { /* the model's own section */
        enum klr_solver_type solver;
        enum klr_status status;
        double eps, cost, lambda, box, gap;
        bool bias;
        long long iterations;
    } record;
};

/* ---- several classes as binary problems: see multiclass.c ---- */

/* What all machines of a training share. */
struct training {
    const struct klr_params *params; /* settled */
    const struct system *system;
    const struct layout *layout;
    struct klr_operator *op;
    enum klr_multiclass multiclass;
    double *class_weight; /* (k) C of each class, over C */
    double *weight;       /* (n) C_i / C */
    double *diagonal;     /* (n) K_ii */
    double most;          /* max |K_ii| */
    bool leave_out;       /* groups and ensembles have a shift */
    struct clock clock;
};

/* Machines that work on the same examples, and what came of them. */
struct group {
    size_t first, machines; /* of the model's machines */
    size_t classes;         /* in the group */
    size_t *class;          /* (classes); y = +1 for class[m] in machine m */
    struct klr_range *range;
    struct klr_set set;        /* its examples, class by class */
    size_t stride;             /* of y and beta: all examples there are */
    double *y;                 /* (machines, stride) */
    double *weight;            /* (n) C_i / C */
    size_t count;              /* values of C */
    double *beta;              /* (machines, count, stride) */
    struct solution *solution; /* (machines, count) */
    struct link *link;         /* (machines, count) */
    double *shift; /* (machines, count, stride) of group_leave_out, or NULL */
};

/* All machines of a model for each C, by position of the examples. */
struct ensemble {
    size_t count, machines, columns; /* values of C; as struct klr_model */
    struct group group;              /* in work */
    double *coef;      /* (n, count, columns) as struct klr_model, transposed */
    double *rho;       /* (count, machines) */
    struct link *link; /* (count, machines) */
    double *shift;     /* as coef: what decision values change by where their
                          example is left out; or NULL */
    double scale;      /* max of sum_j beta_j^2 |K_jj| over machines and C */
};

/* `params` are settled. */
static int training_create(struct training *training, struct klr_operator *op,
                           const struct klr_params *params,
                           const struct layout *layout, struct klr_error *err);
static void training_free(struct training *training);
/* Of the entries of K for decision values by coefficients of that scale. */
static enum klr_precision training_precision(const struct training *training,
                                             double scale);

/* What the parameters ask for; two classes are one pair in any case. */
static enum klr_multiclass multiclass_of(const struct klr_params *params,
                                         size_t k);
static bool machines_are_classes(enum klr_multiclass multiclass);
static size_t machine_count(enum klr_multiclass multiclass, size_t k);
/* Coefficients that a support vector has. */
static size_t machine_columns(enum klr_multiclass multiclass, size_t k);
/* The problem of classes a < b among the k(k-1)/2, and back. */
static size_t pair_index(size_t k, size_t a, size_t b);
static void pair_classes(size_t k, size_t index, size_t *a, size_t *b);

static size_t group_count(const struct training *training);
static int group_create(struct group *group, const struct training *training,
                        struct klr_error *err);
static void group_free(struct group *group);
/* Work on the g-th group of the model. */
static void group_choose(struct group *group, const struct training *training,
                         size_t g);
/* y of class c in a machine. */
static double group_sign(const struct group *group, size_t machine, size_t c);
/* Solve for each C, without the examples of the hole. */
static int group_solve(struct group *group, struct training *training,
                       struct hole hole, struct klr_error *err);

static int ensemble_create(struct ensemble *ensemble,
                           const struct training *training,
                           struct klr_error *err);
static void ensemble_free(struct ensemble *ensemble);
/* All machines, without the examples of the fold; report (count) gets what
 * their solutions add. */
static int ensemble_train(struct ensemble *ensemble, struct training *training,
                          size_t fold, struct klr_report *report,
                          struct klr_error *err);

static void report_start(struct klr_report *report);
static void report_add(struct klr_report *report, const struct solution *);
static void report_finish(struct klr_report *report, const struct training *);

/* ---- links fitted on decision values: see calibrate.c ---- */

enum { CALIBRATION_PARTS = 5 };

static bool link_is_fitted(int link);
/* Into how many parts a training set is dealt for its links. */
static size_t calibration_parts(const struct klr_params *params);
/* group_solve without a fold, and the links. */
static int group_train(struct group *group, struct training *training,
                       size_t fold, struct klr_error *err);

/* output (n, machines, count) at the positions `held`, by the solutions that
 * the group has. */
static int group_decide(const struct group *group, struct training *training,
                        struct klr_set held, double *output,
                        struct klr_error *err);

/* ---- approximate leave-one-out: see loo.c ---- */

/* group->shift: what leaving out an example changes its decision values by, in
 * kernel logistic regression. KLR_E_DATA where K is not positive semidefinite,
 * KLR_E_LIMIT when the time is over; 0 after an interruption, of which the
 * solutions tell. */
static int group_leave_out(struct group *group, struct training *training,
                           struct klr_error *err);
/* What that allocates, for the largest group, in bytes. */
static double loo_bytes(const struct klr_params *params,
                        const struct layout *layout, size_t threads);

/* ---- parameters: see params.c ---- */

/* With what they leave open: the solver, its eps, the link. */
static struct klr_params params_settle(const struct klr_params *params);
/* Bytes that solvers may use for K. */
static size_t params_budget(const struct klr_params *params);
/* The kernel of the parameters for data of that dimension: gamma set. */
static struct klr_kernel params_kernel(const struct klr_params *params,
                                       int dimension);

/* ---- training: see train.c ---- */

static struct klr_features problem_features(const struct klr_problem *problem);
/* operator_create on a problem, within the memory of the parameters; errors
 * name the line of its file, or the MB that are needed. */
static int problem_operator(struct klr_operator *op,
                            const struct klr_problem *problem,
                            const struct klr_params *params,
                            const struct klr_kernel *kernel,
                            const struct layout *layout, struct klr_pool *pool,
                            struct klr_error *err);

/* ---- answers: see predict.c ---- */

/* Add products (n, columns) with coefficients of class c to decision
 * (n, machines). */
static void add_products(enum klr_multiclass multiclass, size_t k, size_t c,
                         size_t n, const double *product, double *decision);
/* The label for decision (machines); the class probabilities (k) too unless
 * NULL. `work` has model_answer_work(k) elements. */
static double model_answer(const struct klr_model *model,
                           const double *decision, double *probability,
                           double *work);
static size_t model_answer_work(size_t k);

/* ---- validation of all C at one gamma and lambda: see validate.c ---- */

struct cell_result {
    struct klr_metric_values *values; /* (cost.count) the caller's */
    struct klr_report *report;        /* (cost.count) the caller's */
    struct klr_metrics **metrics;  /* NULL: not wanted; else there is one C */
    struct klr_held_out *held_out; /* as metrics */
};

/* `params` are settled, with one gamma and lambda, those of the operator.
 * fold_done(context) is called after each fold. What result->metrics and
 * held_out become is the caller's to free in any case. */
static int cell_validate(struct klr_operator *op,
                         const struct klr_problem *problem,
                         const struct klr_params *params,
                         const struct layout *layout, void (*fold_done)(void *),
                         void *context, struct cell_result *result,
                         struct klr_error *err);
static void held_out_free(struct klr_held_out *held_out);

/* ---- metrics: see metrics.c ---- */

/* Of no predictions at all. */
static const struct klr_metric_values metric_values_unknown = {
    0, 0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
/* KLR_E_USAGE if the metric has no value for k classes, or for a model that has
 * no probabilities. */
static int metric_check(enum klr_metric metric, size_t k, bool probable,
                        struct klr_error *err);

#endif
