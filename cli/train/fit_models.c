/* SPDX-License-Identifier: BSD-3-Clause
 *
 * klr-train trains a model for each C, and writes them.
 */
#include "cli/train/training_run.h"

#include <time.h>

#include "base/machine/system.h"

int cli_train_fail(const struct cli_train *train,
                   const struct cli_program *program,
                   const struct klr_error *err)
{
    return cli_fail(
        program,
        err->code == KLR_E_DATA || err->code == KLR_E_IO ? train->data : NULL,
        err);
}

int cli_train_conclude(struct cli_train *train,
                       const struct cli_program *program, double begin,
                       int code, const struct klr_error *err)
{
    train->seconds.train += klr_seconds() - begin;
    cli_progress_end(&train->progress);
    return code ? cli_train_fail(train, program, err) : CLI_OK;
}

/* The command as a shell would take it, and the date. */
static int stamp(struct cli_train *train, struct klr_model *model,
                 struct klr_error *err)
{
    char date[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (!train->options.stamp)
        return 0;
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return klr_model_stamp(model, date, train->command.text, err);
}

static int save(struct cli_train *train, const struct cli_program *program,
                size_t t)
{
    struct klr_error err;
    struct klr_output *out;
    double begin = klr_seconds();
    int flags = (train->options.sv_indices ? KLR_SAVE_SV_INDICES : 0) |
                (train->options.keep_sv ? KLR_SAVE_VECTORS : 0);
    int code = stamp(train, train->model[t], &err);
    if (code)
        return cli_fail(program, NULL, &err);
    code = klr_output_open(&out, train->path[t], &err);
    if (!code) {
        code = klr_model_save(train->model[t], out, flags, &err);
        if (code)
            klr_output_abandon(out);
        else
            code = klr_output_commit(out, &err);
    }
    train->seconds.write += klr_seconds() - begin;
    return code ? cli_fail(program, cli_output_name(train->path[t]), &err)
                : CLI_OK;
}

/* A part has no model: is it solved? */
static int part_status(const struct cli_train *train)
{
    for (size_t t = 0; t < train->params.cost.count; t++)
        if (train->report[t].status >= KLR_TIME_LIMIT)
            return CLI_FAILURE;
    return CLI_OK;
}

int cli_train_fit(struct cli_train *train, const struct cli_program *program)
{
    struct klr_error err;
    double begin = klr_seconds();
    int code = train->from
                   ? klr_compress(train->from, &train->problem, &train->params,
                                  train->model, train->report, &err)
                   : klr_train(&train->problem, &train->params, train->model,
                               train->report, &err);
    int status = cli_train_conclude(train, program, begin, code, &err);
    if (status == CLI_OK) {
        cli_train_warn(train, program, train->report, train->params.cost.count,
                       KLR_INTERRUPTED, "the model is usable but not optimal");
        cli_train_warn_far(train, program);
        cli_train_warn_empty(train, program);
        cli_train_notes(train, program, train->report,
                        train->params.cost.count);
    }
    if (status == CLI_OK && train->options.part)
        return part_status(train);
    for (size_t t = 0; t < train->models && status == CLI_OK; t++)
        status = save(train, program, t);
    if (status == CLI_OK && !train->options.quiet)
        cli_train_summary(train, program);
    if (status == CLI_OK && !train->options.json)
        cli_train_bounds(train);
    return status;
}

int cli_train_fit_and_report(struct cli_train *train,
                             const struct cli_program *program)
{
    int status = cli_train_fit(train, program);
    if (status == CLI_OK && train->options.json)
        cli_train_json_models(train, program);
    return status;
}
