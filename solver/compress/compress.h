/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A trained model on few of its support vectors.
 */
#ifndef KLR_SOLVER_COMPRESS_H
#define KLR_SOLVER_COMPRESS_H

#include "solver/subspace/subspace.h"
#include "solver/train/train.h"

struct compression {
    const struct klr_model *model; /* from a file */
    const struct klr_problem *problem;
    struct klr_params params; /* settled */
    struct klr_pool *pool;
    struct klr_operator op; /* on its support vectors */
    struct clock clock;
    double *one;             /* (n_sv) 1 */
    struct klr_range *range; /* (n_sv) vectors of a machine, */
    size_t *place;           /* (n_sv) where their coefficients stand, */
    double *beta;            /* (n_sv) and these */
    double *coef;            /* (columns, n_sv) of the projections */
    struct klr_projection_report report;
    struct klr_arena arena; /* all that is allocated */
};

/* Train klr again on the vectors that have coefficients, which are examples of
 * the problem: a model for each C. KLR_E_DATA where they are not. */
static int compress_refit(struct compression *c, struct klr_model **model,
                          struct klr_report *report, struct klr_error *err);

#endif
