/* SPDX-License-Identifier: BSD-3-Clause
 *
 * klr-train validates its parameters: at one point, or at all points of a grid,
 * which may have a log, and then trains a model with the best of them.
 */
#include "cli/train/training_run.h"

#include <math.h>
#include <stdio.h>

#include "base/machine/system.h"
#include "base/memory.h"
#include "base/numbers.h"

/* The model of the best point is that of training with its parameters alone, in
 * the time that is left. */
static int refit(struct cli_train *train, const struct cli_program *program,
                 const struct klr_validation *validation)
{
    train->params = klr_params_point(&train->params, validation->best);
    if (train->params.time_limit > 0)
        train->params.time_limit =
            fmax(train->params.time_limit - train->seconds.train, 1e-9);
    if (validation->solved == 0)
        cli_warn(program, "the model is that of the first point");
    klr_give_back();
    int status = cli_train_fit(train, program);
    if (status == CLI_OK && train->options.json) {
        fputs("\"refit\": ", stdout);
        cli_train_json_model(train, 0);
        fputs("}, ", stdout);
    }
    return status;
}

/* The metrics, and the predictions of the best point, if they are there. */
static int write_validation(struct cli_train *train,
                            const struct cli_program *program,
                            const struct klr_validation *validation,
                            const struct cli_answers *answers)
{
    struct klr_error err;
    const char *cv_out = train->options.cv_out;
    if (train->options.json)
        cli_train_json_validation(train, validation, answers);
    else
        cli_train_validation(train, validation, answers);
    if (validation->metrics)
        cli_train_warn_validation(train, program, validation, answers);
    if (validation->metrics && cli_train_cuts(train, validation, &err))
        return cli_fail(program, NULL, &err);
    if (cv_out && !validation->metrics)
        cli_warn(program, "%s is not written", cv_out);
    else if (cv_out && cli_write_held_out(cv_out, &validation->held_out,
                                          train->problem.label, answers,
                                          &train->folds, &err))
        return cli_fail(program, cv_out, &err);
    return CLI_OK;
}

static int report_validation(struct cli_train *train,
                             const struct cli_program *program,
                             const struct klr_validation *validation)
{
    struct klr_error err;
    struct cli_answers answers = {0};
    const struct klr_metrics *metrics = validation->metrics;
    int code = metrics
                   ? cli_answers_create(&answers, klr_metrics_classes(metrics),
                                        klr_metrics_labels(metrics),
                                        train->problem.names, &err)
                   : 0;
    int status = code ? cli_fail(program, NULL, &err)
                      : write_validation(train, program, validation, &answers);
    cli_answers_free(&answers);
    if (status == CLI_OK && train->models && !cli_signal())
        status = refit(train, program, validation);
    if (!code && train->options.json) { /* also of what failed behind it */
        cli_train_json_end(train, program);
        putchar('\n');
    }
    return status;
}

int cli_train_validate(struct cli_train *train,
                       const struct cli_program *program)
{
    const double share = 0.8; /* of the limit of time: training has the rest */
    struct klr_error err;
    struct klr_validation validation;
    struct klr_params params = train->params;
    double begin = klr_seconds();
    params.time_limit *= train->models ? share : 1;
    int code =
        klr_cross_validate(&train->problem, &params,
                           train->options.cv_out || cli_train_wants_cuts(train),
                           &validation, &err);
    int status = cli_train_conclude(train, program, begin, code, &err);
    if (status == CLI_OK) {
        cli_train_warn_cut(train, program, &validation);
        cli_train_notes(train, program, validation.report, validation.count);
    }
    if (status == CLI_OK && train->options.part)
        status = validation.solved < validation.count ? CLI_FAILURE : CLI_OK;
    else if (status == CLI_OK)
        status = report_validation(train, program, &validation);
    klr_validation_free(&validation);
    return status;
}
