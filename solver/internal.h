/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of solver.c share. The way of the data:
 *
 *   file -> svmlight -> problem -> layout, operator -> solver -> model -> links
 *
 * Parts are included by solver.c in reading order; each includes this header,
 * so that it also parses on its own (make check-parts), and those that it takes
 * more from: systems.h is what solvers give to training, multiclass.h,
 * model.h and validate.h what is made of their solutions; others are named for
 * the part that they tell of, or for those that share them.
 */
#ifndef KLR_SOLVER_INTERNAL_H
#define KLR_SOLVER_INTERNAL_H

#include <math.h>
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
#include "solver/strips.h"

/* ---- names of classes: see names.c ---- */

static struct klr_names *names_free(struct klr_names *names); /* NULL */
static size_t names_count(const struct klr_names *names); /* 0 of NULL, too */
/* The index of a name; false if there is no such name. */
static bool names_find(const struct klr_names *names, const char *text,
                       size_t length, size_t *index);
/* The same, of a name that is added if need be; *at is created where NULL. */
static int names_add(struct klr_names **at, const char *text, size_t length,
                     size_t *index, struct klr_error *err);
/* Sort the names, byte by byte; labels (n) become their new indices. */
static int names_sort(struct klr_names *names, size_t n, double *label,
                      struct klr_error *err);
/* Into *out, NULL at first; to be freed in any case. */
static int names_copy(struct klr_names **out, const struct klr_names *names,
                      struct klr_error *err);
/* The label that a text names; `names` may be NULL, for numbers. */
static bool label_read(const struct klr_names *names, const char *text,
                       double *label);

/* ---- sums ---- */

/* a'b (n), as four sums of every fourth term. */
static inline double dot(size_t n, const double *a, const double *b)
{
    double sum[4] = {0};
    size_t i = 0, whole = n - n % 4;
    for (; i < whole; i += 4) {
        sum[0] += a[i] * b[i];
        sum[1] += a[i + 1] * b[i + 1];
        sum[2] += a[i + 2] * b[i + 2];
        sum[3] += a[i + 3] * b[i + 3];
    }
    for (; i < n; i++)
        sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* ---- svmlight: tokens of lines, and the features in them ---- */

/* Features of rows one behind the other. */
struct rows {
    size_t count;            /* features so far */
    size_t n_index, n_value; /* capacities */
    int *index;
    double *value;
};

struct klr_reader {
    struct klr_input *input;
    int flags;
    struct rows rows;
};

/* Whether a token can be the name of a class: printable UTF-8 without what is
 * something else in a line. */
static bool line_is_name(const char *p, const char *end);
/* KLR_E_DATA at a token that is no finite number, with the reason. */
static int line_refuse_number(const struct klr_line *line, const char *token,
                              const char *end, struct klr_error *err);
/* Room for `count` more features. */
static int rows_reserve(struct rows *rows, size_t count, struct klr_error *err);
/* Blank, or of comment only. */
static bool line_is_void(const char *p, const char *end);
/* Features that p .. end can have, at most. */
static size_t line_most(const char *p, const char *end);
/* row->line becomes a row, its features appended. KLR_E_DATA. */
static int line_parse(int flags, struct rows *rows, struct klr_row *row,
                      struct klr_error *err);
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
static void normalise(size_t k, double *p); /* to a sum of 1 */

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
/* Finite where f is, so that differences are numbers. */
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
/* The class whose label an option names; KLR_E_USAGE if there is none. */
static int layout_find(const struct layout *layout, const char *option,
                       const char *text, size_t *class, struct klr_error *err);
/* The first position of class c. */
static size_t layout_begin(const struct layout *layout, size_t c);
static size_t layout_size(const struct layout *layout, size_t c);

/* Append to range[*count] the ranges, at most folds + 1, of the examples of
 * class c that a training without the hole has; or of those in the hole's part,
 * or in its fold where it has no part. */
static void layout_kept(const struct layout *layout, size_t c, struct hole hole,
                        struct klr_range *range, size_t *count);
static void layout_held(const struct layout *layout, size_t c, struct hole hole,
                        struct klr_range *range, size_t *count);

/* For qsort: doubles, ascending. */
static int compare_labels(const void *a, const void *b);
/* splitmix64 */
static uint64_t random_next(uint64_t *state);
/* Bring a random choice of the items to their front; returns how many these
 * are: `wanted`, or all if there are fewer. */
static size_t random_choose(uint64_t *state, size_t *item, size_t count,
                            size_t wanted);

/* ---- operator: K as solvers see it ---- */

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
    bool halves;             /* products of halves are to be preferred */
    bool eager;              /* tiles are computed whole, to be kept */
};

/* Tiles are kept in at most `budget` bytes; neither that nor the pool, which
 * stays the caller's and may be NULL, changes a result. */
static int operator_create(struct klr_operator *op, const struct klr_kernel *,
                           const struct klr_features *x, const size_t *order,
                           struct klr_pool *pool, size_t budget,
                           struct klr_error *err);
/* The same K, with its tiles, for products beside those of op, which is to
 * outlive it, by one thread: free it in any case. */
static int operator_share(struct klr_operator *share,
                          const struct klr_operator *op, struct klr_error *err);
/* Prefer halves, for entries in 0..1 and before any product; tiles are kept of
 * halves first. operator_free in any case. */
static int operator_halve(struct klr_operator *op, size_t budget,
                          struct klr_error *err);
/* Another budget, for tiles of that precision alone. Where they cannot be had
 * there are none; where they are as many as before they stay. */
static void operator_keep(struct klr_operator *op, enum klr_precision precision,
                          size_t budget);
static void operator_free(struct klr_operator *op);

/* out (|rows|, m) = K[rows, cols] V, V (|cols|, m), both row-major; sums are
 * accumulated in double, in a fixed order, over entries of the precision; of
 * the linear kernel, over features in double. */
static void operator_apply(struct klr_operator *op, struct klr_set rows,
                           struct klr_set cols, const double *v, size_t m,
                           enum klr_precision precision, double *out);

/* The same with rows = cols = set. Before each tile the caller's thread asks
 * goes_on(context): once that says no, the product ends, out is of no use, and
 * false is returned. */
static bool operator_try(struct klr_operator *op, struct klr_set set,
                         const double *v, size_t m,
                         enum klr_precision precision, bool (*goes_on)(void *),
                         void *context, double *out);

/* Have entries of the set computed that are to be kept, as a product does. */
static void operator_fill(struct klr_operator *op, struct klr_set set,
                          enum klr_precision precision);

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
/* The row of the i-th of a set: out (|set|) = K[set_position(set, i), set]. */
static void operator_row(struct klr_operator *op, struct klr_set set, size_t i,
                         double *out);

static void operator_diagonal(const struct klr_operator *op, struct klr_set set,
                              double *out);

/* out (x.n, m) = K[x, cols] V for other examples x, prepared by
 * klr_points_create_like. */
static void operator_cross(struct klr_operator *op, const struct klr_points *x,
                           struct klr_set cols, const double *v, size_t m,
                           enum klr_precision precision, double *out);

static struct klr_set set_of(const struct klr_range *range, size_t count);
/* Append `more` to range (count), or lengthen the last one where that adjoins;
 * returns how many there are then. */
static size_t set_append(struct klr_range *range, size_t count,
                         struct klr_range more);
/* A set without its first i, whose ranges are put into range (set.count). */
static struct klr_set set_after(struct klr_set set, size_t i,
                                struct klr_range *range);
/* The position of the i-th of a set. */
static size_t set_position(struct klr_set set, size_t i);

/* ---- binary problems ---- */

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
    bool whole; /* of the training set, not of folds or parts of it */
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
    enum klr_status link_status; /* of what its link is fitted to */
};

/* Time, interruption and progress of a whole run. */
struct clock {
    double begin, next_report;
    size_t problem, problems;
    double work, total; /* of the problems begun, and of all, in squares of
                           their examples; 0: not known */
    bool interrupted;
};

static void clock_start(struct clock *clock, size_t problems);
/* Of two reasons to stop: the last in their order stands for both. */
static enum klr_status gravest(enum klr_status a, enum klr_status b);
/* Begin so many problems, each of n examples. Where the total is known, they
 * have a quarter of the limit of time, and of the rest the share that they and
 * the problems before have in the work, so that those to come have time left.
 */
static void clock_next(struct clock *clock, size_t problems, size_t n);
/* Of all problems: KLR_TIME_LIMIT, KLR_INTERRUPTED, or to go on. */
static enum klr_status clock_status(const struct clock *clock,
                                    const struct klr_params *params);
/* KLR_CONVERGED: go on; else why to stop. The solver keeps `iterations`,
 * `violation`, `target` and, where it knows it, `objective` of its progress;
 * the rest is filled in when a report is due, the relative gap by gap(solver),
 * unless gap is NULL: not known. */
static enum klr_status clock_check(struct clock *clock,
                                   const struct klr_params *params,
                                   struct klr_progress *progress,
                                   double (*gap)(void *), void *solver);

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

/* ---- parameters: see params.c ---- */

/* With what they leave open: the solver, its eps, the link. */
static struct klr_params params_settle(const struct klr_params *params);
/* For the points of a grid, whose best is validated once more, a larger eps;
 * 0: there is none. */
static double params_grid_eps(const struct klr_params *params);
/* Bytes that solvers may use for K; beside them a program takes so many for
 * what is not K, vectors and preconditioners, whatever -m says. */
static size_t params_budget(const struct klr_params *params);
static const double params_beside = 48 * 1048576.0;
/* KLR_E_LIMIT: n examples need that budget. */
static int params_refuse_budget(size_t n, double bytes, struct klr_error *err);
/* The kernel of the parameters for data of that dimension: gamma set. */
static struct klr_kernel params_kernel(const struct klr_params *params,
                                       int dimension);

/* ---- training: see train.c ---- */

static struct klr_features problem_features(const struct klr_problem *problem);
/* What the solver of the parameters allocates for n examples of k classes
 * beside tiles of K; 0 where it keeps none. */
static double solver_bytes(const struct klr_params *params, size_t n, size_t k);
/* operator_create on a problem, within the memory of the parameters; errors
 * name the line of its file, or the MB that are needed. */
static int problem_operator(struct klr_operator *op,
                            const struct klr_problem *problem,
                            const struct klr_params *params,
                            const struct layout *layout, struct klr_pool *pool,
                            struct klr_error *err);

#endif
