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

#include "base/memory.h"
#include "base/numbers.h"
#include "base/system.h"
#include "cli/train.h"
#include "solver.h"

static const struct klr_option train_table[] = {
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
     .help = "C of an example is multiplied by its number in FILE, a line "
             "each"},
    {.type = KLR_CHOICE,
     .name = "scale",
     .argument = "HOW",
     .offset = offsetof(struct cli_train_options, scale),
     .choices = klr_scale_names,
     .group = "Features",
     .help = "minmax: each to -1 .. 1, standard: to zero mean and unit "
             "deviation, before training and by the model again (default %s)"},
    {.type = KLR_FLAG,
     .letter = 'q',
     .name = "quiet",
     .offset = offsetof(struct cli_train_options, quiet),
     .group = "Output",
     .help = "no progress, no summary"},
    {.type = KLR_FLAG,
     .name = "metrics",
     .offset = offsetof(struct cli_train_options, metrics),
     .help = "with -v, all metrics there are, and the confusion matrix"},
    {.type = KLR_FLAG,
     .name = "json",
     .offset = offsetof(struct cli_train_options, json),
     .help = "what training did, on stdout, as a line of JSON"},
    {.type = KLR_FLAG,
     .name = "sv-indices",
     .offset = offsetof(struct cli_train_options, sv_indices),
     .help = "list the rows of the support vectors in the model"},
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
    "  klr-train -s svm -t linear data -  a linear svm on stdout\n";

/* ---- The command line ---- */

/* -wLABEL WEIGHT. */
static int take_weight(const char *name, const char *value, void *context,
                       struct klr_error *err)
{
    struct cli_train *train = context;
    struct klr_params *params = &train->params;
    struct klr_weight weight = {.label = name + 1};
    char quoted[KLR_QUOTED_SIZE];
    if (!*weight.label)
        return klr_fail(err, KLR_E_USAGE,
                        "option -w: the label stands right behind it: -wLABEL "
                        "WEIGHT");
    if (!klr_read_real(value, &weight.weight))
        return klr_fail(err, KLR_E_USAGE, "option -%.40s: %s is not a number",
                        name, klr_quote(quoted, value));
    if (KLR_GROW(params->weight, train->weight_capacity, params->n_weights + 1,
                 err))
        return KLR_E_MEMORY;
    params->weight[params->n_weights++] = weight;
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

/* What stdout cannot take, and stdin cannot name. */
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
    if (klr_params_validate(&train->params))
        return klr_fail(err, KLR_E_USAGE,
                        "the results of -v and the model cannot both go to "
                        "stdout");
    if (train->models > 1)
        return klr_fail(err, KLR_E_USAGE,
                        "the models of several costs cannot all go to stdout");
    return 0;
}

/* Only one file can come from stdin. */
static int check_stdin(const struct cli_train *train, struct klr_error *err)
{
    const char *path[] = {train->options.weights, train->options.folds_file,
                          train->data};
    static const char *const name[] = {"weights", "folds", "training set"};
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

/* What only a validation has, and what stdout cannot take beside it; what
 * --check-kernel does not do. */
static int check_mode(const struct cli_train *train, const char *given,
                      struct klr_error *err)
{
    const char *cv_out = train->options.cv_out;
    bool validates = klr_params_validate(&train->params);
    if (!validates && (train->options.metrics || cv_out))
        return klr_fail(err, KLR_E_USAGE,
                        "option %s: only validation (-v) has them",
                        cv_out ? "--cv-out" : "--metrics");
    if (cv_out && klr_output_is_stdout(cv_out))
        return klr_fail(err, KLR_E_USAGE,
                        "the results of -v and the predictions cannot both go "
                        "to stdout");
    if (train->options.scale && train->params.kernel == KLR_PRECOMPUTED)
        return klr_fail(err, KLR_E_USAGE,
                        "option --scale: a precomputed kernel has no features");
    if (train->options.check_kernel && (given || validates))
        return klr_fail(err, KLR_E_USAGE,
                        "option --check-kernel: nothing is trained, there is "
                        "%s",
                        given ? "no model" : "nothing to validate (-v)");
    return 0;
}

/* What files other than the data have; -1, or the exit status. */
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
    return code ? cli_fail(program, code == KLR_E_USAGE ? NULL : file, &err)
                : -1;
}

/* The models that there will be, and their names. */
static int name_models(struct cli_train *train, const char *given,
                       struct klr_error *err)
{
    size_t points = klr_params_points(&train->params);
    bool validates = klr_params_validate(&train->params);
    if (train->options.check_kernel || (validates && points == 1)) {
        if (train->options.sv_indices)
            return klr_fail(err, KLR_E_USAGE,
                            "option --sv-indices: no model is written");
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

/* Whether files can be written, and would replace none that are read; -1, or
 * the exit status. */
static int check_outputs(const struct cli_train *train,
                         const struct cli_program *program)
{
    struct klr_error err;
    const char *cv_out = train->options.cv_out;
    const char *const other[] = {train->data, train->options.weights,
                                 train->options.folds_file, cv_out};
    if (cv_out && klr_output_check(cv_out, other, 3, &err))
        return cli_fail(program, cv_out, &err);
    for (size_t t = 0; t < train->models; t++)
        if (klr_output_check(train->path[t], other, 4, &err))
            return cli_fail(program, cli_output_name(train->path[t]), &err);
    return -1;
}

/* -1, or the exit status: everything that can be refused without the data. */
static int prepare(struct cli_train *train, const struct cli_program *program,
                   const char *const *operand)
{
    struct klr_error err;
    train->data = operand[0];
    if (check_stdin(train, &err))
        return cli_fail(program, NULL, &err);
    int status = read_files(train, program);
    if (status >= 0)
        return status;
    if (klr_params_check(&train->params, &err) ||
        check_mode(train, operand[1], &err) ||
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

static const char *const spread_texts[] = {
    NULL,
    "most examples are far from all others",
    "all examples are near each other",
};

static int read_data(struct cli_train *train, const struct cli_program *program)
{
    struct klr_error err;
    double begin = klr_seconds();
    int flags = train->models && !train->options.scale ? KLR_READ_KEEP : 0;
    if (train->params.kernel == KLR_PRECOMPUTED)
        flags |= KLR_READ_INDEX_ZERO;
    if (train->params.string_labels)
        flags |= KLR_READ_NAMES;
    if (klr_problem_read(&train->problem, train->data, flags,
                         train->params.threads, &err))
        return fail_training(train, program, &err);
    if (klr_problem_scale(&train->problem, (enum klr_scale)train->options.scale,
                          &err))
        return fail_training(train, program, &err);
    train->seconds.read = klr_seconds() - begin;
    if (check_count(train, train->options.folds_file, train->folds.n, "folds",
                    &err))
        return cli_fail(program, train->options.folds_file, &err);
    if (check_count(train, train->options.weights, train->weights.n, "weights",
                    &err))
        return cli_fail(program, train->options.weights, &err);
    const char *name = cli_input_name(train->data);
    if (train->problem.has_qid)
        cli_warn(program, "%s: qid is ignored", name);
    const char *spread =
        spread_texts[klr_problem_spread(&train->problem, &train->params)];
    if (spread)
        cli_warn(program,
                 "%s: by the default gamma %s: scale the features (--scale), "
                 "or choose -g",
                 name, spread);
    return -1;
}

/* ---- Training ---- */

/* After every run: its time, the end of its progress, its failure, or the
 * warnings of its reports, in which `what` are the consequences. */
static int conclude(struct cli_train *train, const struct cli_program *program,
                    double begin, int code, const struct klr_error *err,
                    const struct klr_report *report, size_t count,
                    const char *what)
{
    train->seconds.train += klr_seconds() - begin;
    cli_progress_end(&train->progress);
    if (code)
        return fail_training(train, program, err);
    cli_train_warn(train, program, report, count, what);
    return CLI_OK;
}

static int save(struct cli_train *train, const struct cli_program *program,
                size_t t)
{
    struct klr_error err;
    struct klr_output *out;
    double begin = klr_seconds();
    int flags = train->options.sv_indices ? KLR_SAVE_SV_INDICES : 0;
    int code = klr_output_open(&out, train->path[t], &err);
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
    int code = klr_train(&train->problem, &train->params, train->model,
                         train->report, &err);
    int status = conclude(train, program, begin, code, &err, train->report,
                          train->params.cost.count,
                          "the model is usable but not optimal");
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
        cli_train_json_models(train);
    return status;
}

/* ---- Validation ---- */

/* The model of the best point is that of training with its parameters alone. */
static int refit(struct cli_train *train, const struct cli_program *program,
                 size_t best)
{
    train->params = klr_params_point(&train->params, best);
    int status = fit(train, program);
    if (status == CLI_OK && train->options.json) {
        fputs("\"refit\": ", stdout);
        cli_train_json_model(train, 0);
        fputs("}, ", stdout);
    }
    return status;
}

/* The metrics, and the predictions of the best point. */
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
    if (cv_out &&
        cli_write_held_out(cv_out, &validation->held_out, train->problem.label,
                           answers, &train->folds, &err))
        return cli_fail(program, cv_out, &err);
    return CLI_OK;
}

static int report_validation(struct cli_train *train,
                             const struct cli_program *program,
                             const struct klr_validation *validation)
{
    struct klr_error err;
    struct cli_answers answers;
    const struct klr_metrics *metrics = validation->metrics;
    int code = cli_answers_create(&answers, klr_metrics_classes(metrics),
                                  klr_metrics_labels(metrics),
                                  train->problem.names, &err);
    int status = code ? cli_fail(program, NULL, &err)
                      : write_validation(train, program, validation, &answers);
    cli_answers_free(&answers);
    if (status == CLI_OK && train->models)
        status = refit(train, program, validation->best);
    if (!code && train->options.json) { /* also of what failed behind it */
        cli_train_json_end(train);
        putchar('\n');
    }
    return status;
}

static int validate(struct cli_train *train, const struct cli_program *program)
{
    struct klr_error err;
    struct klr_validation validation;
    double begin = klr_seconds();
    int code =
        klr_cross_validate(&train->problem, &train->params,
                           train->options.cv_out != NULL, &validation, &err);
    int status = conclude(train, program, begin, code, &err, validation.report,
                          cli_signal() ? 0 : validation.count,
                          "the models are not optimal");
    if (status == CLI_OK && cli_signal())
        cli_warn(program, "training was interrupted: no results");
    else if (status == CLI_OK)
        status = report_validation(train, program, &validation);
    klr_validation_free(&validation);
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
        cli_print_spectrum(&spectrum, train->options.json);
    return CLI_OK;
}

static int run(struct cli_train *train, const struct cli_program *program,
               const char *const *operand)
{
    int status = prepare(train, program, operand);
    if (status < 0)
        status = read_data(train, program);
    if (status >= 0)
        return status;
    klr_keep_freed();
    train->progress.name = program->name;
    train->progress.quiet = train->options.quiet;
    train->params.progress = cli_progress;
    train->params.context = &train->progress;
    cli_defer_signals();
    status = train->options.check_kernel ? check_kernel(train, program)
             : klr_params_validate(&train->params)
                 ? validate(train, program)
                 : fit_and_report(train, program);
    if (status == CLI_OK && cli_signal())
        status = CLI_INTERRUPTED + cli_signal();
    if (status == CLI_OK)
        warn_idle_name(train, program, operand[1]);
    return status;
}

int main(int argc, char **argv)
{
    struct cli_train train = {.models = 0};
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
        .repeated = take_weight,
        .context = &train,
        .examples = train_examples,
    };
    cli_catch_signals();
    klr_params_init(&train.params);
    int status = cli_parse(&program, argc, argv, operand);
    if (status < 0)
        status = cli_finish(&program, run(&train, &program, operand));
    for (size_t t = 0; t < KLR_REALS_MOST; t++) {
        klr_model_free(train.model[t]);
        klr_free(train.path[t]);
    }
    cli_folds_free(&train.folds);
    klr_free(train.weights.value);
    klr_problem_free(&train.problem);
    klr_free(train.params.weight);
    return status;
}
