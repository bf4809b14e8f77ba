/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What klr-train refuses before it reads the data: options that do not go
 * together, files beside the data, outputs that cannot be written.
 */
#include "cli/train/training_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/log/log.h"
#include "cli/search/search.h"

/* ---- Options ---- */

/* Settle what only --auto leaves open. */
static void settle_options(struct cli_train *train)
{
    train->cost_is_given =
        train->params.cost.count > 1 || !isnan(train->params.cost.value[0]);
    klr_params_fill(&train->params);
    if (train->options.scale == CLI_SCALE_AUTO && !train->options.automatic)
        train->options.scale = KLR_SCALE_NONE;
}

/* Only one file can come from stdin. */
static int check_stdin(const struct cli_train *train, struct klr_error *err)
{
    const char *path[] = {
        train->options.weights,       train->options.folds_file,
        train->options.feature_names, train->options.points,
        train->options.from,          train->data};
    static const char *const name[] = {"weights", "folds", "names",
                                       "points",  "model", "training set"};
    const char *taken = NULL;
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        if (!path[i] || strcmp(path[i], "-") != 0)
            continue;
        if (taken)
            return klr_fail(err, KLR_E_USAGE,
                            "%s and %s cannot both come from stdin", taken,
                            name[i]);
        taken = name[i];
    }
    return 0;
}

/* Refuse options that only a validation has, outputs that would meet on stdout,
 * and what --check-kernel does not do. */
static int check_mode(struct cli_train *train, const char *given,
                      struct klr_error *err)
{
    const char *cv_out = train->options.cv_out;
    const char *error_cost = train->options.error_cost;
    bool validates = klr_params_validate(&train->params);
    if (!validates && (train->options.metrics || cv_out || error_cost))
        return klr_fail(err, KLR_E_USAGE,
                        "option %s: only validation (-v) has them",
                        cv_out       ? "--cv-out"
                        : error_cost ? "--error-cost"
                                     : "--metrics");
    if (error_cost && !cli_costs_parse(error_cost, train->cost))
        return klr_fail(err, KLR_E_USAGE,
                        "option --error-cost: two costs, FP,FN, are needed, "
                        "not below 0 and not both 0");
    if (cv_out && klr_output_is_stdout(cv_out))
        return klr_fail(err, KLR_E_USAGE,
                        "the results of -v and the predictions cannot both go "
                        "to stdout");
    int scale = train->options.scale;
    bool scales = scale != KLR_SCALE_NONE && scale != CLI_SCALE_AUTO;
    if ((scales || train->options.feature_names) &&
        train->params.kernel == KLR_PRECOMPUTED)
        return klr_fail(err, KLR_E_USAGE,
                        "option %s: a precomputed kernel has no features",
                        scales ? "--scale" : "--feature-names");
    if (train->options.check_kernel && (given || validates))
        return klr_fail(err, KLR_E_USAGE,
                        "option --check-kernel: nothing is trained, there is "
                        "%s",
                        given ? "no model" : "nothing to validate (-v)");
    return 0;
}

/* True of a training whose pairs of classes have a log. */
static bool has_pairs(const struct cli_train *train)
{
    const struct klr_params *params = &train->params;
    return (params->multiclass == KLR_OVO || params->multiclass == KLR_DDAG) &&
           !params->basis && !params->lambda_bound && !train->options.from &&
           !train->options.check_kernel && !train->options.automatic;
}

/* Check --log, --resume and --part. */
static int check_log(const struct cli_train *train, const char *given,
                     struct klr_error *err)
{
    const struct cli_train_options *options = &train->options;
    bool validates = klr_params_validate(&train->params);
    if ((options->log || options->part) && !validates && !has_pairs(train))
        return klr_fail(
            err, KLR_E_USAGE,
            "option --%s: it keeps a grid (-v), or the pairs of "
            "classes of a training by ovo or ddag, without --basis, "
            "--from and --lambda-bound",
            options->log ? "log" : "part");
    if (options->part && !validates && !options->only_pair)
        return klr_fail(err, KLR_E_USAGE,
                        "option --part: of a grid (-v), or with --only-pair");
    if (options->only_pair && (!options->part || validates))
        return klr_fail(err, KLR_E_USAGE,
                        "option --only-pair: it is one of a training without "
                        "-v, for a --part");
    if (options->resume && !options->log)
        return klr_fail(err, KLR_E_USAGE,
                        "option --resume: it goes on from a --log");
    if (options->only_fold && (!options->part || train->params.loo))
        return klr_fail(err, KLR_E_USAGE,
                        "option --only-fold: it is a fold of -v, for a --part");
    if (options->log && !options->part && validates &&
        klr_params_points(&train->params) == 1)
        return klr_fail(err, KLR_E_USAGE,
                        "option --log: one point alone is no grid");
    if (options->part &&
        (given || options->log || options->json || options->cv_out ||
         options->metrics || options->error_cost || options->sv_indices))
        return klr_fail(err, KLR_E_USAGE,
                        "option --part: nothing is chosen, there is no %s",
                        given             ? "model"
                        : options->log    ? "other log"
                        : options->cv_out ? "file of predictions"
                                          : "output");
    return 0;
}

/* ---- Files beside the data ---- */

/* The folds of a file become the parameters'. */
static int read_folds(struct cli_train *train, struct klr_error *err)
{
    const char *path = train->options.folds_file;
    if (!path)
        return 0;
    if (train->params.folds)
        return klr_fail(err, KLR_E_USAGE,
                        "--folds-file and -v exclude each other: the file says "
                        "how many folds there are");
    int code = cli_folds_read(&train->folds, path, err);
    train->params.folds = (long long)train->folds.count;
    train->params.fold = train->folds.fold;
    return code;
}

static int read_weights(struct cli_train *train, struct klr_error *err)
{
    const char *path = train->options.weights;
    int code = path ? cli_weights_read(&train->weights, path, err) : 0;
    train->params.example_weight = train->weights.value;
    return code;
}

static int read_points(struct cli_train *train, struct klr_error *err)
{
    const char *path = train->options.points;
    int code = path ? cli_points_read(&train->points, path, err) : 0;
    train->params.points = train->points.value;
    train->params.n_points = train->points.n;
    return code;
}

/* Read the files other than the data. -1, or the exit status. */
static int read_files(struct cli_train *train,
                      const struct cli_program *program)
{
    struct klr_error err;
    const char *file = train->options.folds_file;
    int code = read_folds(train, &err);
    if (!code) {
        file = train->options.weights;
        code = read_weights(train, &err);
    }
    if (!code) {
        file = train->options.points;
        code = read_points(train, &err);
    }
    if (!code && train->options.feature_names) {
        file = train->options.feature_names;
        code = klr_names_read(&train->features, file, &err);
    }
    if (!code && train->options.from) {
        file = train->options.from;
        code = cli_train_take_model(train, &err);
    }
    return code ? cli_fail(program, code == KLR_E_USAGE ? NULL : file, &err)
                : -1;
}

/* ---- Outputs ---- */

/* Refuse two outputs to stdout, and a model without a name for data from
 * stdin. */
static int check_streams(const struct cli_train *train, const char *given,
                         struct klr_error *err)
{
    if (!given && strcmp(train->data, "-") == 0)
        return klr_fail(err, KLR_E_USAGE,
                        "training from stdin needs the name of a model");
    if (!given || !klr_output_is_stdout(given))
        return 0;
    if (train->options.json)
        return klr_fail(err, KLR_E_USAGE,
                        "--json and the model cannot both go to stdout");
    if (train->params.lambda_bound)
        return klr_fail(err, KLR_E_USAGE,
                        "the bound and the model cannot both go to stdout");
    if (klr_params_validate(&train->params) && !train->options.automatic)
        return klr_fail(err, KLR_E_USAGE,
                        "the results of -v and the model cannot both go to "
                        "stdout");
    if (train->models > 1)
        return klr_fail(err, KLR_E_USAGE,
                        "the models of several costs cannot all go to stdout");
    return 0;
}

/* <basename>.model in the current folder, as svm-train names it; of several
 * models each has ".C" behind it; /dev/null takes them all. */
static int name_model(struct cli_train *train, const char *given, size_t t,
                      struct klr_error *err)
{
    const char *slash = strrchr(train->data, '/');
    const char *base = slash ? slash + 1 : train->data;
    char cost[KLR_REAL_SIZE] = "";
    if (train->models > 1 && !(given && cli_train_unwanted(given)))
        klr_format_real(cost, train->params.cost.value[t]);
    const char *stem = given ? given : base, *dot = *cost ? "." : "";
    size_t room = strlen(stem) + sizeof ".model." + KLR_REAL_SIZE;
    if (!(train->path[t] = klr_alloc(room, 1, err)))
        return KLR_E_MEMORY;
    snprintf(train->path[t], room, "%s%s%s%s", stem, given ? "" : ".model", dot,
             cost);
    return 0;
}

/* The models that there will be, and their names. */
static int name_models(struct cli_train *train, const char *given,
                       struct klr_error *err)
{
    bool searches = train->options.automatic;
    size_t points = searches ? 1 : klr_params_points(&train->params);
    bool validates = !searches && klr_params_validate(&train->params);
    if (train->options.check_kernel || train->options.part ||
        (validates && points == 1)) {
        if (train->options.sv_indices || train->options.keep_sv)
            return klr_fail(
                err, KLR_E_USAGE, "option --%s: no model is written",
                train->options.sv_indices ? "sv-indices" : "keep-sv");
        return 0;
    }
    train->models = validates ? 1 : points;
    int code = check_streams(train, given, err);
    for (size_t t = 0; t < train->models && !code; t++)
        code = name_model(train, given, t, err);
    return code;
}

/* Check that files can be written, and would replace none that are read. -1, or
 * the exit status. */
static int check_outputs(const struct cli_train *train,
                         const struct cli_program *program)
{
    struct klr_error err;
    const char *cv_out = train->options.cv_out;
    const char *log = cli_log_path(train);
    const char *const other[] = {train->data,
                                 train->options.weights,
                                 train->options.folds_file,
                                 train->options.feature_names,
                                 train->options.points,
                                 train->options.from,
                                 cv_out,
                                 log};
    if (log && cli_log_check(train, other, 7, &err))
        return cli_fail(program, log, &err);
    if (cv_out && klr_output_check(cv_out, other, 6, &err))
        return cli_fail(program, cv_out, &err);
    for (size_t t = 0; t < train->models; t++)
        if (klr_output_check(train->path[t], other, 8, &err))
            return cli_fail(program, cli_output_name(train->path[t]), &err);
    return -1;
}

/* ---- All of it ---- */

int cli_train_prepare(struct cli_train *train,
                      const struct cli_program *program,
                      const char *const *operand)
{
    struct klr_error err;
    train->data = operand[0];
    settle_options(train);
    if (check_stdin(train, &err))
        return cli_fail(program, NULL, &err);
    int status = read_files(train, program);
    if (status >= 0)
        return status;
    if (cli_train_search_check(train, &err) ||
        (train->from ? klr_compress_check(train->from, &train->params, &err)
                     : klr_params_check(&train->params, &err)) ||
        check_mode(train, operand[1], &err) ||
        check_log(train, operand[1], &err) ||
        name_models(train, operand[1], &err))
        return cli_fail(program, NULL, &err);
    return check_outputs(train, program);
}
