/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Validation: what validate.c and metrics.c give to grid.c.
 */
#ifndef KLR_SOLVER_VALIDATE_H
#define KLR_SOLVER_VALIDATE_H

#include "solver/internal.h"

/* ---- a fold, for all C at one gamma and lambda: see validate.c ---- */

/* What it adds to a point. */
struct fold_point {
    struct klr_metrics *metrics; /* NULL at first; to be freed in any case */
    struct klr_report report;
};

/* Which fold, how many are at work side by side, and when the first began. */
struct fold_turn {
    size_t fold, abreast;
    double begin;
};

/* `params` are settled, with one gamma and lambda, those of the operator, which
 * counts from 0. points (cost.count); held_out is that of all folds, or NULL:
 * not wanted. */
static int fold_validate(struct klr_operator *op,
                         const struct klr_problem *problem,
                         const struct klr_params *params,
                         const struct layout *layout, struct fold_turn turn,
                         struct fold_point *points,
                         struct klr_held_out *held_out, struct klr_error *err);
/* points (count) get what another fold adds to them. */
static int fold_join(struct fold_point *points, const struct fold_point *more,
                     size_t count, struct klr_error *err);
/* NULL, or what a fold adds to so many points; returns NULL. */
static struct fold_point *fold_points_free(struct fold_point *points,
                                           size_t count);
/* What fold_validate allocates beside what its solver does. */
static double fold_bytes(const struct klr_params *params,
                         const struct layout *layout);
/* For the predictions of all folds; free it in any case. */
static int held_out_create(struct klr_held_out *held_out,
                           const struct klr_params *params,
                           const struct layout *layout, struct klr_error *err);
static void held_out_free(struct klr_held_out *held_out);

/* ---- metrics: see metrics.c ---- */

/* KLR_E_USAGE if the metric has no value for k classes, or for a model that has
 * no probabilities. */
static int metric_check(enum klr_metric metric, size_t k, bool probable,
                        struct klr_error *err);

/* Those of other examples, of the same classes, come on top. */
static int metrics_join(struct klr_metrics *metrics,
                        const struct klr_metrics *more, struct klr_error *err);

#endif
