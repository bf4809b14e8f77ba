/* SPDX-License-Identifier: BSD-3-Clause
 *
 * klr-train: fit a model to a training set, or validate the parameters on it.
 * Several costs give several models, or with validation that of the best.
 *
 * Whatever can be refused is refused before the data are read, the model's
 * file included. A signal during training ends it early with a usable model;
 * before, it ends the program.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/system.h"
#include "cli/train/search.h"
#include "cli/train/training_run.h"
#include "solver.h"

/* In the order of enum klr_scale, and CLI_SCALE_AUTO. */
static const char *const train_scales[] = {"none", "minmax", "standard", "auto",
                                           NULL};

static const struct klr_option train_table[] = {
    {.type = KLR_FLAG,
     .name = "auto",
     .offset = offsetof(struct cli_train_options, automatic),
     .also = "tune search automatic",
     .help = "choose scaling, gamma and C, as far as they are not given, by "
             "validation (3 folds, of few examples --loo as well; or -v), and "
             "train with them"},
    {.type = KLR_STRING,
     .name = "folds-file",
     .argument = "FILE",
     .offset = offsetof(struct cli_train_options, folds_file),
     .help = "instead of -v: a number for each example, a line each; equal "
             "numbers are a fold"},
    {.type = KLR_STRING,
     .name = "cv-out",
     .argument = "FILE",
     .offset = offsetof(struct cli_train_options, cv_out),
     .help = "write what was predicted of each example, with its fold and "
             "label"},
    {.type = KLR_STRING,
     .name = "log",
     .argument = "FILE",
     .offset = offsetof(struct cli_train_options, log),
     .also = "checkpoint",
     .help = "of a grid, keep the results of each gamma in FILE once they are "
             "all known, a line of JSON each"},
    {.type = KLR_FLAG,
     .name = "resume",
     .offset = offsetof(struct cli_train_options, resume),
     .also = "continue restart",
     .help = "go on from the --log of a run that was stopped, if there is one"},
    {.type = KLR_STRING,
     .name = "part",
     .argument = "FILE",
     .offset = offsetof(struct cli_train_options, part),
     .help = "these points are a part of a grid: --log FILE --resume, and "
             "nothing is chosen, trained or printed (klr-grid --plan)"},
    {.type = KLR_INTEGER,
     .name = "only-fold",
     .argument = "K",
     .offset = offsetof(struct cli_train_options, only_fold),
     .max = 1e9,
     .help = "with --part: fold K of -v alone, counted from 1 (klr-grid --plan "
             "--by-fold)"},
    {.type = KLR_FLAG,
     .name = "check-kernel",
     .offset = offsetof(struct cli_train_options, check_kernel),
     .group = "Kernel matrix",
     .help = "train nothing: tell whether the kernel matrix is positive "
             "semidefinite, is so conditionally, or neither"},
    {.type = KLR_REPEATED,
     .letter = 'w',
     .name = "",
     .argument = "LABEL WEIGHT",
     .group = "Classes",
     .help = "the cost of errors on LABEL is C * WEIGHT"},
    {.type = KLR_STRING,
     .name = "weights",
     .argument = "FILE",
     .offset = offsetof(struct cli_train_options, weights),
     .also = "sample-weight sample-weights",
     .help = "C of an example is multiplied by its number in FILE, a line "
             "each"},
    {.type = KLR_STRING,
     .name = "points",
     .argument = "FILE",
     .offset = offsetof(struct cli_train_options, points),
     .group = "Solver",
     .help = "ivm, kfd by greedy, klr: a model has the kernels of these rows "
             "of the training set, a number a line, from 1"},
    {.type = KLR_STRING,
     .name = "from",
     .argument = "MODEL",
     .offset = offsetof(struct cli_train_options, from),
     .also = "compress reduce",
     .help = "with --basis M: a smaller model than MODEL, on M of its support "
             "vectors; klr is trained again on them, other models are "
             "projected"},
    {.type = KLR_CHOICE,
     .name = "scale",
     .argument = "HOW",
     .offset = offsetof(struct cli_train_options, scale),
     .preset = CLI_SCALE_AUTO,
     .choices = train_scales,
     .also = "standardize normalize",
     .group = "Features",
     .help = "minmax: each to -1 .. 1, standard: to zero mean and unit "
             "deviation, before training and by the model again; none; auto: "
             "what --auto chooses, else none (default %s)"},
    {.type = KLR_STRING,
     .name = "feature-names",
     .argument = "FILE",
     .offset = offsetof(struct cli_train_options, feature_names),
     .help = "the model keeps these names, a line for each feature from 1 on"},
    {.type = KLR_FLAG,
     .letter = 'q',
     .name = "quiet",
     .offset = offsetof(struct cli_train_options, quiet),
     .group = "Output",
     .help = "no progress, no summary"},
    {.type = KLR_FLAG,
     .name = "metrics",
     .offset = offsetof(struct cli_train_options, metrics),
     .help = "with -v, all metrics there are, the confusion matrix, and the "
             "thresholds that are best by some of them"},
    {.type = KLR_STRING,
     .name = "error-cost",
     .argument = "FP,FN",
     .offset = offsetof(struct cli_train_options, error_cost),
     .help = "with -v, the threshold of the least cost, too, where taking the "
             "second of two classes for the first costs FP, and the first for "
             "the second FN"},
    {.type = KLR_FLAG,
     .name = "json",
     .offset = offsetof(struct cli_train_options, json),
     .help = "what training did, on stdout, as a line of JSON"},
    {.type = KLR_FLAG,
     .name = "stamp",
     .offset = offsetof(struct cli_train_options, stamp),
     .help = "the model says its date and command line, too (klr-info)"},
    {.type = KLR_FLAG,
     .name = "sv-indices",
     .offset = offsetof(struct cli_train_options, sv_indices),
     .help = "list the rows of the support vectors in the model"},
    {.type = KLR_FLAG,
     .name = "keep-sv",
     .offset = offsetof(struct cli_train_options, keep_sv),
     .help = "keep the support vectors of a linear model, which is else one "
             "vector of weights"},
    {.name = NULL},
};

static const char train_examples[] =
    "Examples\n"
    "  klr-train heart_scale              the model becomes heart_scale.model\n"
    "  klr-train -v 5 -c 10 heart_scale   accuracy by cross validation\n"
    "  klr-train -v 5 -c 0.01:1000:x10 heart_scale\n"
    "                                     the model of the best C\n"
    "  klr-train -v 5 -g 2^-7:2:x4 -c 0.1:100:x10 heart_scale\n"
    "                                     and of the best gamma\n"
    "  klr-train --auto heart_scale       gamma and C are chosen\n"
    "  klr-train -s svm -t linear data -  a linear svm on stdout\n";

/* ---- The command line ---- */

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

/* Check --log, --resume and --part. */
static int check_log(const struct cli_train *train, const char *given,
                     struct klr_error *err)
{
    const struct cli_train_options *options = &train->options;
    bool validates = klr_params_validate(&train->params);
    if ((options->log || options->part) && !validates)
        return klr_fail(err, KLR_E_USAGE,
                        "option --%s: only validation (-v) has a grid",
                        options->log ? "log" : "part");
    if (options->resume && !options->log)
        return klr_fail(err, KLR_E_USAGE,
                        "option --resume: it goes on from a --log");
    if (options->only_fold && (!options->part || train->params.loo))
        return klr_fail(err, KLR_E_USAGE,
                        "option --only-fold: it is a fold of -v, for a --part");
    if (options->log && !options->part &&
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

/* Settle what only --auto leaves open. */
static void settle_options(struct cli_train *train)
{
    train->cost_is_given =
        train->params.cost.count > 1 || !isnan(train->params.cost.value[0]);
    klr_params_fill(&train->params);
    if (train->options.scale == CLI_SCALE_AUTO && !train->options.automatic)
        train->options.scale = KLR_SCALE_NONE;
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

/* LIBSVM passes the name over as well. */
static void warn_idle_name(const struct cli_train *train,
                           const struct cli_program *program, const char *given)
{
    if (given && !train->models && !cli_train_unwanted(given))
        cli_warn(program, "one point alone is validated: %s is not written",
                 given);
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

/* -1, or the exit status: everything that can be refused without the data. */
static int prepare(struct cli_train *train, const struct cli_program *program,
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

/* ---- The data ---- */

/* Errors of the data name the file; those of the options do not. */
static int fail_training(const struct cli_train *train,
                         const struct cli_program *program,
                         const struct klr_error *err)
{
    return cli_fail(
        program,
        err->code == KLR_E_DATA || err->code == KLR_E_IO ? train->data : NULL,
        err);
}

/* A file, if there is one, has as many values as there are examples. */
static int check_count(const struct cli_train *train, const char *path,
                       size_t count, const char *what, struct klr_error *err)
{
    if (!path || count == train->problem.n)
        return 0;
    return klr_fail(err, KLR_E_DATA,
                    "%s of %zu example%s, but the data have %zu", what, count,
                    klr_plural(count), train->problem.n);
}

/* Every feature has a name, if there are names. */
static int name_features(struct cli_train *train, struct klr_error *err)
{
    const struct klr_names *names = train->features;
    if (!names && train->from)
        names = klr_model_features(train->from);
    size_t count = klr_names_count(names);
    int dimension = train->problem.dimension;
    train->problem.features = names;
    if (!names || count >= (size_t)dimension)
        return 0;
    return klr_fail(err, KLR_E_DATA,
                    "%zu name%s, but the data have a feature %d", count,
                    klr_plural(count), dimension);
}

/* While the data are read; `context` is a struct cli_train. */
static void tell_rows(unsigned long long rows, void *context)
{
    struct cli_train *train = context;
    cli_progress_rows(&train->progress, "rows read", rows,
                      klr_seconds() - train->seconds.begin);
}

/* A search scales what is left to it. */
static int scale_features(struct cli_train *train, struct klr_error *err)
{
    int scale = train->options.scale;
    if (train->from)
        return klr_problem_scale_as(&train->problem, train->from, err);
    return scale == CLI_SCALE_AUTO
               ? 0
               : klr_problem_scale(&train->problem, (enum klr_scale)scale, err);
}

static int read_data(struct cli_train *train, const struct cli_program *program)
{
    struct klr_error err;
    double begin = train->seconds.begin = klr_seconds();
    int scale = train->options.scale, flags = KLR_READ_PACKED;
    if (train->models && (scale == KLR_SCALE_NONE || scale == CLI_SCALE_AUTO))
        flags |= KLR_READ_KEEP;
    if (train->params.string_labels)
        flags |= KLR_READ_NAMES;
    int code =
        klr_problem_read_told(&train->problem, train->data, flags,
                              train->params.threads, tell_rows, train, &err);
    cli_progress_end(&train->progress);
    if (code)
        return fail_training(train, program, &err);
    if (cli_train_search_scale(train, &err) || scale_features(train, &err))
        return fail_training(train, program, &err);
    train->seconds.read = klr_seconds() - begin;
    if (check_count(train, train->options.folds_file, train->folds.n, "folds",
                    &err))
        return cli_fail(program, train->options.folds_file, &err);
    if (check_count(train, train->options.weights, train->weights.n, "weights",
                    &err))
        return cli_fail(program, train->options.weights, &err);
    if (name_features(train, &err))
        return cli_fail(program,
                        train->features ? train->options.feature_names
                                        : train->options.from,
                        &err);
    if (cli_train_warn_data(train, program, &err) ||
        (!train->options.automatic && cli_train_describe(train, &err)))
        return cli_fail(program, NULL, &err);
    return -1;
}

/* ---- Training ---- */

/* After every run: its time, the end of its progress, its failure. */
static int conclude(struct cli_train *train, const struct cli_program *program,
                    double begin, int code, const struct klr_error *err)
{
    train->seconds.train += klr_seconds() - begin;
    cli_progress_end(&train->progress);
    return code ? fail_training(train, program, err) : CLI_OK;
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

static int fit(struct cli_train *train, const struct cli_program *program)
{
    struct klr_error err;
    double begin = klr_seconds();
    int code = train->from
                   ? klr_compress(train->from, &train->problem, &train->params,
                                  train->model, train->report, &err)
                   : klr_train(&train->problem, &train->params, train->model,
                               train->report, &err);
    int status = conclude(train, program, begin, code, &err);
    if (status == CLI_OK) {
        cli_train_warn(train, program, train->report, train->params.cost.count,
                       KLR_INTERRUPTED, "the model is usable but not optimal");
        cli_train_warn_empty(train, program);
        cli_train_notes(train, program, train->report,
                        train->params.cost.count);
    }
    for (size_t t = 0; t < train->models && status == CLI_OK; t++)
        status = save(train, program, t);
    if (status == CLI_OK && !train->options.quiet)
        cli_train_summary(train, program);
    if (status == CLI_OK && !train->options.json)
        cli_train_bounds(train);
    return status;
}

static int fit_and_report(struct cli_train *train,
                          const struct cli_program *program)
{
    int status = fit(train, program);
    if (status == CLI_OK && train->options.json)
        cli_train_json_models(train, program);
    return status;
}

/* ---- Validation ---- */

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
    int status = fit(train, program);
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

static int validate(struct cli_train *train, const struct cli_program *program)
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
    int status = conclude(train, program, begin, code, &err);
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

static void tell_resumed(const struct cli_program *program, const char *path,
                         size_t known, size_t gammas)
{
    fprintf(stderr, "%s: ", program->name);
    cli_print_visibly(stderr, path);
    fprintf(stderr, " has %zu of %zu gamma%s\n", known, gammas,
            klr_plural(gammas));
}

/* As validate, with its log, if there is to be one. */
static int validate_logged(struct cli_train *train,
                           const struct cli_program *program)
{
    const char *path = cli_log_path(train);
    struct klr_error err;
    struct cli_log *log = NULL;
    if (!path)
        return validate(train, program);
    if (cli_log_open(&log, train, &err)) {
        cli_log_close(log);
        return cli_fail(program, path, &err);
    }
    struct klr_journal journal = cli_log_journal(log);
    size_t gammas = train->params.gamma.count, known = cli_log_count(log);
    train->params.journal = &journal;
    train->params.part = train->options.part != NULL;
    if (known > 0 && !train->options.quiet)
        tell_resumed(program, path, known, gammas);
    int status = validate(train, program);
    train->params.journal = NULL;
    cli_log_close(log);
    return status;
}

/* ---- The kernel matrix ---- */

static int check_kernel(struct cli_train *train,
                        const struct cli_program *program)
{
    struct klr_error err;
    struct klr_spectrum spectrum;
    train->progress.quiet = true; /* it has no violation */
    if (klr_kernel_spectrum(&train->problem, &train->params, &spectrum, &err))
        return fail_training(train, program, &err);
    if (spectrum.status != KLR_CONVERGED)
        cli_warn(program, "the check of the kernel was stopped: no answer");
    else
        cli_print_spectrum(program, &spectrum, train->options.json);
    return CLI_OK;
}

/* Train with the parameters that a search finds. */
static int search(struct cli_train *train, const struct cli_program *program)
{
    struct klr_error err;
    if (cli_train_search(train, program, &err))
        return fail_training(train, program, &err);
    return cli_signal() ? CLI_OK : fit_and_report(train, program);
}

static int run(struct cli_train *train, const struct cli_program *program,
               const char *const *operand)
{
    int status = prepare(train, program, operand);
    train->progress.name = program->name;
    train->progress.quiet = train->options.quiet;
    if (status < 0)
        status = read_data(train, program);
    if (status >= 0)
        return status;
    warn_idle_name(train, program, operand[1]);
    klr_keep_freed();
    train->params.progress = cli_progress;
    train->params.context = &train->progress;
    cli_defer_signals();
    status = train->options.check_kernel ? check_kernel(train, program)
             : train->options.automatic  ? search(train, program)
             : klr_params_validate(&train->params)
                 ? validate_logged(train, program)
                 : fit_and_report(train, program);
    if (status == CLI_OK && cli_signal())
        status = CLI_INTERRUPTED + cli_signal();
    return status;
}

/* For --stamp; -1, or the exit status. */
static int take_command(struct cli_train *train,
                        const struct cli_program *program, char **argv)
{
    struct klr_error err;
    klr_text_put(&train->command, program->name);
    while (*++argv)
        klr_text_put_shell(&train->command, *argv);
    if (!train->command.failed)
        return -1;
    klr_fail(&err, KLR_E_MEMORY, "out of memory");
    return cli_fail(program, NULL, &err);
}

int main(int argc, char **argv)
{
    static struct cli_train train; /* too large for a small stack */
    struct klr_text warnings = {0};
    const char *operand[3];
    const struct cli_program program = {
        .name = "klr-train",
        .purpose = "Train a kernel classifier that answers with probabilities.",
        .operands = "training_set [model]",
        .min_operands = 1,
        .max_operands = 2,
        .tables = (const struct klr_option *const[]){klr_train_options,
                                                     train_table, NULL},
        .bases = (void *const[]){&train.params, &train.options},
        .repeated = cli_train_take_weight,
        .context = &train,
        .examples = train_examples,
        .given = &train.given,
        .warnings = &warnings,
    };
    cli_catch_signals();
    klr_params_init(&train.params);
    int status = cli_parse(&program, argc, argv, operand);
    if (status < 0 && train.options.stamp)
        status = take_command(&train, &program, argv);
    if (status < 0)
        status = cli_finish(&program, run(&train, &program, operand));
    klr_model_free(train.from);
    klr_free(train.from_text.text);
    klr_free(train.given.text);
    for (size_t t = 0; t < KLR_REALS_MOST; t++) {
        klr_model_free(train.model[t]);
        klr_free(train.path[t]);
    }
    cli_folds_free(&train.folds);
    klr_free(train.weights.value);
    klr_names_free(train.features);
    klr_free(train.points.value);
    klr_problem_free(&train.problem);
    klr_free(train.params.weight);
    klr_free(train.problem_text.text);
    klr_free(train.files_text.text);
    klr_free(train.command.text);
    klr_free(warnings.text);
    klr_free(train.search_text.text);
    return status;
}
