/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Validation: folds, metrics, grids.
 */
#ifndef KLR_SOLVER_VALIDATE_H
#define KLR_SOLVER_VALIDATE_H

#include "solver/train/train.h"

/* ---- a fold, for all C at one gamma and lambda: see fold.c ---- */

/* The contribution of a fold to a point. */
struct fold_point {
    struct klr_metrics *metrics; /* NULL at first; to be freed in any case */
    struct klr_report report;
    bool lost; /* an answer is not known: it has no values */
};

/* Which fold, how many are at work side by side, and when the first began. */
struct fold_task {
    size_t fold, abreast;
    double begin;
};

/* `params` are settled, with one gamma and lambda, those of the operator, which
 * counts from 0. points (cost.count); held_out is that of all folds, or NULL:
 * not wanted. Where the clock ends it, the status of the points tells, and
 * metrics may lack examples. */
static int fold_validate(struct klr_operator *op,
                         const struct klr_problem *problem,
                         const struct klr_params *params,
                         const struct partition *partition,
                         struct fold_task task, struct fold_point *points,
                         struct klr_held_out *held_out, struct klr_error *err);
/* points (count) get what another fold adds to them. */
static int fold_join(struct fold_point *points, const struct fold_point *more,
                     size_t count, struct klr_error *err);
/* NULL, or what a fold adds to so many points; returns NULL. */
static struct fold_point *fold_points_free(struct fold_point *points,
                                           size_t count);
/* The bytes that fold_validate allocates beside its solver. Up to fold_beside
 * of them belong to params_beside; the rest comes off the tiles. */
static double fold_bytes(const struct klr_params *params,
                         const struct partition *partition);
static const double fold_beside = 24 * 1048576.0;
/* For the predictions of all folds; free it in any case. */
static int held_out_create(struct klr_held_out *held_out,
                           const struct klr_params *params,
                           const struct partition *partition,
                           struct klr_error *err);
static void held_out_free(struct klr_held_out *held_out);

/* ---- metrics: see metrics.c ---- */

/* KLR_E_USAGE if the metric has no value for k classes, or for a model that has
 * no probabilities. */
static int metric_check(enum klr_metric metric, size_t k, bool probable,
                        struct klr_error *err);

/* Set *sparsest to the point with the fewest support vectors among the `most`
 * best by the metric. values and report are (count). Of equals by the metric
 * the sparser one comes first, then the earlier one. KLR_E_MEMORY. */
static int metric_sparsest(enum klr_metric metric,
                           const struct klr_metric_values *values,
                           const struct klr_report *report, size_t count,
                           size_t most, size_t *sparsest,
                           struct klr_error *err);

/* The field of a metric, which is not KLR_METRIC_AUTO. */
static double *metric_field(enum klr_metric metric,
                            struct klr_metric_values *values);
/* Make all values NaN: those of a point that is not solved. */
static void values_forget(struct klr_metric_values *values);

/* Add the metrics of other examples, with the same classes. */
static int metrics_join(struct klr_metrics *metrics,
                        const struct klr_metrics *more, struct klr_error *err);

/* ---- standard errors: see standard_error.c ---- */

enum { METRICS = KLR_METRIC_ECE + 1 };

/* Mean and spread of each metric over folds, all zero at first. */
struct fold_spread {
    double count[METRICS], mean[METRICS];
    double square[METRICS]; /* sum of squares of the distances from the mean */
};

static void spread_add(struct fold_spread *spread,
                       const struct klr_metric_values *values);
static void spread_errors(const struct fold_spread *spread,
                          struct klr_metric_values *error);

#endif
