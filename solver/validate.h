/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Validation: what validate.c and metrics.c give to grid.c.
 */
#ifndef KLR_SOLVER_VALIDATE_H
#define KLR_SOLVER_VALIDATE_H

#include "solver/internal.h"

/* ---- all C at one gamma and lambda: see validate.c ---- */

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

/* KLR_E_USAGE if the metric has no value for k classes, or for a model that has
 * no probabilities. */
static int metric_check(enum klr_metric metric, size_t k, bool probable,
                        struct klr_error *err);

#endif
