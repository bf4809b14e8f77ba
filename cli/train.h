/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run of klr-train, and what is told of it: see cli/train.c.
 */
#ifndef KLR_CLI_TRAIN_H
#define KLR_CLI_TRAIN_H

#include "cli/cli.h"
#include "solver.h"

/* Options that are the program's, not the library's. */
struct cli_train_options {
    int check_kernel, quiet, json, sv_indices, metrics, scale;
    const char *folds_file, *cv_out, *weights;
};

struct cli_train {
    struct klr_params params;
    struct cli_train_options options;
    size_t weight_capacity;
    const char *data;
    size_t models;              /* to be written */
    char *path[KLR_REALS_MOST]; /* (models) owned */
    struct klr_problem problem;
    struct klr_model *model[KLR_REALS_MOST];
    struct klr_report report[KLR_REALS_MOST]; /* for each C */
    struct cli_folds folds;                   /* of --folds-file */
    struct cli_values weights;                /* of --weights */
    struct {
        double read, train, write;
    } seconds;
    struct cli_progress progress;
};

/* Whether a model of this name is trained for what is told of it alone. */
bool cli_train_unwanted(const char *path);
/* Of `count` reports that are not of converged solvers, the first few in full;
 * `what` are the consequences. */
void cli_train_warn(const struct cli_train *train,
                    const struct cli_program *program,
                    const struct klr_report *report, size_t count,
                    const char *what);
/* On stderr: one model in three lines, several in one each. */
void cli_train_summary(const struct cli_train *train,
                       const struct cli_program *program);
/* What --lambda-bound asks for. */
void cli_train_bounds(const struct cli_train *train);

/* Metrics of the best point, after a table where there are several. */
void cli_train_validation(const struct cli_train *train,
                          const struct klr_validation *validation,
                          const struct cli_answers *answers);

/* ---- JSON on stdout ---- */

/* An object for each model; an array where there are several. */
void cli_train_json_models(const struct cli_train *train);
/* The beginnings of an object: of the t-th model, of a validation; ... */
void cli_train_json_model(const struct cli_train *train, size_t t);
void cli_train_json_validation(const struct cli_train *train,
                               const struct klr_validation *validation,
                               const struct cli_answers *answers);
/* ... and the end of one, which has the times. */
void cli_train_json_end(const struct cli_train *train);

#endif
