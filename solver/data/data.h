/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Examples: files read and scaled, classes with names, and the order in which
 * solvers work on the examples.
 */
#ifndef KLR_SOLVER_DATA_H
#define KLR_SOLVER_DATA_H

#include "solver/internal.h"

/* ---- names of classes and features: see names.c ---- */

/* The index of a name; false if there is no such name. */
static bool names_find(const struct klr_names *names, const char *text,
                       size_t length, size_t *index);
/* The index of a name, which is added if it is new; *at is created if NULL.
 * KLR_E_MEMORY. */
static int names_add(struct klr_names **at, const char *text, size_t length,
                     size_t *index, struct klr_error *err);
/* Sort the names, byte by byte; labels (n) become their new indices. */
static int names_sort(struct klr_names *names, size_t n, double *label,
                      struct klr_error *err);
/* Into *out, NULL at first; to be freed in any case. */
static int names_copy(struct klr_names **out, const struct klr_names *names,
                      struct klr_error *err);
/* False where a label that is written as an integer, text .. end, is not told
 * from others: from 2^53 on several of them are one double. */
static bool label_is_told(const char *text, const char *end, double label);
/* The label that a text names; `names` may be NULL, for numbers. */
static bool label_read(const struct klr_names *names, const char *text,
                       double *label);

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

/* True if the token is a valid name of a class: printable UTF-8 without any of
 * : , ; and #. */
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
 * a comment; *at becomes the end of the last one. KLR_E_DATA with the column of
 * a token that is none. */
static int line_features(const struct klr_line *line, const char **at,
                         struct rows *rows, struct klr_error *err);

/* ---- scaling: see problem_scaling.c ---- */

static struct klr_scaling *scaling_free(struct klr_scaling *scaling); /* NULL */
/* Copy the columns, which are all that applying a scaling takes. Free *out in
 * any case. */
static int scaling_copy(struct klr_scaling **out,
                        const struct klr_scaling *scaling,
                        struct klr_error *err);
/* The features of a problem become scaled by `scaling`, which is the problem's
 * own then; not after a failure. KLR_E_DATA, KLR_E_MEMORY. */
static int problem_apply_scaling(struct klr_problem *problem,
                                 struct klr_scaling *scaling,
                                 struct klr_error *err);
/* x scaled, into `out`, with start (n + 1). KLR_E_DATA with a row, from 1. */
static int scale_features(const struct klr_scaling *scaling,
                          const struct klr_features *x, struct rows *out,
                          size_t *start, struct klr_error *err);

static struct klr_packed *packed_free(struct klr_packed *packed); /* NULL */
/* Where the features of row i stand in the input, for i = n the end of the last
 * ones; -1: that is not known. Up to the next row's there is what else stands
 * in the lines between. */
static int64_t problem_text(const struct klr_problem *problem, size_t i);
/* The features of a problem; the arrays stay its own. */
static struct klr_features problem_features(const struct klr_problem *problem);

/* ---- equal rows: see repeats.c ---- */

static uint64_t row_hash(size_t count, const int *index, const double *value);
static uint64_t features_hash(const struct klr_features *x, size_t row);
/* True if both rows have the same indices and values, bit by bit. */
static bool features_equal(const struct klr_features *x, size_t row,
                           const struct klr_features *z, size_t other);

/* ---- sets of positions: see sets.c ---- */

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

/* ---- partition: the order of the examples, see partition.c ---- */

/* How examples are dealt: into folds of the cross validation, which do not
 * depend on the parts, and each fold into parts; 1 where there is no need. */
struct fold_plan {
    size_t folds, parts;
    uint64_t seed;
    const size_t *fold; /* (n) below `folds`: an example's; NULL: dealt too */
};

/* The examples held out of a training: fold `fold` (folds: none), and part
 * `part` of all the other folds (parts: none). */
struct held_out {
    size_t fold, part;
};

/* Examples stably sorted by class, in the model's order of labels, within a
 * class by fold, and within a fold by part. A training set without the examples
 * held out is a short list of ranges. */
struct partition {
    size_t n, k; /* positions, classes */
    size_t examples;
    double *label; /* (k): two classes: positive first; more: ascending */
    const struct klr_names *names; /* the problem's */
    size_t *order;                 /* (n) row of the problem at each position */
    size_t *row;   /* (examples) rows position by position, and ... */
    size_t *first; /* (n + 1) ... where those of each begin; both NULL where
                       every example has a position of its own */
    size_t folds, parts;
    size_t *begin; /* (k * folds * parts + 1) first position of class c, fold
                      f, part p: begin[(c * folds + f) * parts + p] */
};

/* `positive` may be NULL. Folds are dealt stratified and seeded. Errors as
 * klr_train; KLR_E_USAGE for a given fold that is none. */
static int partition_create(struct partition *partition,
                            const struct klr_problem *, const char *positive,
                            struct fold_plan plan, struct klr_error *err);
static void partition_free(struct partition *partition);

/* Let examples of a class, fold and part that have the same features share a
 * position, if that leaves less than nine tenths of the positions. */
static int partition_merge(struct partition *partition,
                           const struct klr_problem *, struct klr_pool *,
                           struct klr_error *err);
/* The rows of a position; returns how many there are. */
static size_t partition_rows(const struct partition *partition, size_t p,
                             const size_t **row);
/* How many examples a range of positions has. */
static size_t partition_examples(const struct partition *partition,
                                 struct klr_range range);
/* The features of all positions in their order, which the arena frees. */
static int partition_features(const struct partition *partition,
                              const struct klr_problem *,
                              struct klr_features *features,
                              struct klr_arena *arena, struct klr_error *err);
/* The class whose label an option names; KLR_E_USAGE if there is none. */
static int partition_find(const struct partition *partition, const char *option,
                          const char *text, size_t *class,
                          struct klr_error *err);
/* The first position of class c. */
static size_t partition_begin(const struct partition *partition, size_t c);
static size_t partition_size(const struct partition *partition, size_t c);

/* Append ranges of class c to range[*count], at most folds + 1. partition_kept
 * appends the examples that are trained on; partition_held those that are held
 * out, which are a part, or a fold where there is no part. */
static void partition_kept(const struct partition *partition, size_t c,
                           struct held_out held_out, struct klr_range *range,
                           size_t *count);
static void partition_held(const struct partition *partition, size_t c,
                           struct held_out held_out, struct klr_range *range,
                           size_t *count);

/* ---- order and chance: see random.c ---- */

/* For qsort: doubles, ascending. */
static int compare_labels(const void *a, const void *b);
/* splitmix64 */
static uint64_t random_next(uint64_t *state);
/* In [0, 1), a multiple of 2^-53. */
static double random_unit(uint64_t *state);
/* Bring a random choice of the items to their front; returns how many these
 * are: `wanted`, or all if there are fewer. */
static size_t random_choose(uint64_t *state, size_t *item, size_t count,
                            size_t wanted);

#endif
