/* SPDX-License-Identifier: BSD-3-Clause
 *
 * klr-train: fit a model to a training set, or validate the parameters on it.
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
#include "cli/cli.h"
#include "solver.h"

/* Options that are the program's, not the library's. */
struct train_options {
    int quiet, json, sv_indices;
};

struct train {
    struct klr_params params;
    struct train_options options;
    size_t weight_capacity;
    const char *data;
    char *model_path; /* owned */
    struct klr_problem problem;
    struct klr_model *model;
    struct klr_report report;
    struct {
        double read, train, write;
    } seconds;
    struct cli_progress progress;
};

static const struct klr_option train_table[] = {
    {.type = KLR_REPEATED,
     .letter = 'w',
     .name = "",
     .argument = "LABEL WEIGHT",
     .group = "Classes",
     .help = "the cost of errors on LABEL is C * WEIGHT"},
    {.type = KLR_FLAG,
     .letter = 'q',
     .name = "quiet",
     .offset = offsetof(struct train_options, quiet),
     .group = "Output",
     .help = "no progress, no summary"},
    {.type = KLR_FLAG,
     .name = "json",
     .offset = offsetof(struct train_options, json),
     .help = "what training did, on stdout, as a line of JSON"},
    {.type = KLR_FLAG,
     .name = "sv-indices",
     .offset = offsetof(struct train_options, sv_indices),
     .help = "list the rows of the support vectors in the model"},
    {.name = NULL},
};

static const char train_examples[] =
    "Examples\n"
    "  klr-train heart_scale              the model becomes heart_scale.model\n"
    "  klr-train -v 5 -c 10 heart_scale   accuracy by cross validation\n"
    "  klr-train -s svm -t linear data -  a linear svm on stdout\n";

/* ---- The command line ---- */

/* -wLABEL WEIGHT: labels are compared as numbers, the last weight holds. */
static int take_weight(const char *name, const char *value, void *context,
                       struct klr_error *err)
{
    struct train *train = context;
    struct klr_params *params = &train->params;
    struct klr_weight weight;
    char quoted[KLR_QUOTED_SIZE];
    size_t i = 0;
    if (!klr_read_real(name + 1, &weight.label))
        return klr_fail(err, KLR_E_USAGE, "option -w: %s is not a label",
                        klr_quote(quoted, name + 1));
    if (!klr_read_real(value, &weight.weight))
        return klr_fail(err, KLR_E_USAGE, "option -%.40s: %s is not a number",
                        name, klr_quote(quoted, value));
    while (i < params->n_weights && params->weight[i].label != weight.label)
        i++;
    struct klr_weight *grown = klr_grow(params->weight, &train->weight_capacity,
                                        i + 1, sizeof *params->weight, err);
    if (!grown)
        return KLR_E_MEMORY;
    params->weight = grown;
    params->weight[i] = weight;
    if (i == params->n_weights)
        params->n_weights++;
    return 0;
}

/* <basename>.model in the current folder, as svm-train names it. */
static int choose_model_path(struct train *train, const char *given,
                             struct klr_error *err)
{
    static const char suffix[] = ".model";
    const char *slash = strrchr(train->data, '/');
    const char *base = slash ? slash + 1 : train->data;
    if (!given && strcmp(train->data, "-") == 0)
        return klr_fail(err, KLR_E_USAGE,
                        "training from stdin needs the name of a model");
    if (given)
        train->model_path = klr_strdup(given, err);
    else
        train->model_path = klr_alloc(strlen(base) + sizeof suffix, 1, err);
    if (!train->model_path)
        return KLR_E_MEMORY;
    if (!given)
        sprintf(train->model_path, "%s%s", base, suffix);
    if (train->options.json && strcmp(train->model_path, "-") == 0)
        return klr_fail(err, KLR_E_USAGE,
                        "--json and the model cannot both go to stdout");
    return 0;
}

/* -1, or the exit status: everything that can be refused without the data. */
static int prepare(struct train *train, const struct cli_program *program,
                   const char *const *operand)
{
    struct klr_error err;
    int code = klr_params_check(&train->params, &err);
    train->data = operand[0];
    if (code || train->params.folds)
        return code ? cli_fail(program, NULL, &err) : -1;
    if (choose_model_path(train, operand[1], &err))
        return cli_fail(program, NULL, &err);
    if (klr_output_check(train->model_path, &err))
        return cli_fail(program, cli_output_name(train->model_path), &err);
    return -1;
}

/* ---- The data ---- */

/* Errors of the data name the file; those of the options do not. */
static int fail_training(const struct train *train,
                         const struct cli_program *program,
                         const struct klr_error *err)
{
    return cli_fail(
        program,
        err->code == KLR_E_DATA || err->code == KLR_E_IO ? train->data : NULL,
        err);
}

static int read_data(struct train *train, const struct cli_program *program)
{
    struct klr_error err;
    double begin = klr_seconds();
    int flags = train->params.folds ? 0 : KLR_READ_KEEP;
    if (train->params.kernel == KLR_PRECOMPUTED)
        flags |= KLR_READ_INDEX_ZERO;
    if (klr_problem_read(&train->problem, train->data, flags, &err))
        return fail_training(train, program, &err);
    train->seconds.read = klr_seconds() - begin;
    if (train->problem.has_qid)
        cli_warn(program, "%s: qid is ignored",
                 strcmp(train->data, "-") == 0 ? "stdin" : train->data);
    return -1;
}

/* ---- Reports ---- */

static void warn_of_status(const struct cli_program *program,
                           const struct klr_report *report, const char *what)
{
    static const char *const reasons[] = {
        [KLR_ITERATION_LIMIT] = "the limit of iterations was reached",
        [KLR_TIME_LIMIT] = "the limit of time was reached",
        [KLR_INTERRUPTED] = "training was interrupted",
        [KLR_PRECISION_LIMIT] = "rounding errors allow no smaller violation",
    };
    char gap[48] = "";
    if (isfinite(report->gap) && report->status != KLR_PRECISION_LIMIT)
        snprintf(gap, sizeof gap, " (relative duality gap %.2g)", report->gap);
    if (report->status != KLR_CONVERGED)
        cli_warn(program, "%s: %s%s", reasons[report->status], what, gap);
}

static void print_summary(const struct train *train,
                          const struct cli_program *program)
{
    const struct klr_report *report = &train->report;
    fprintf(stderr, "%s: %zu examples, %d features: %s after %lld iterations\n",
            program->name, train->problem.n, train->problem.dimension,
            klr_status_names[report->status], report->iterations);
    fprintf(stderr, "%s: objective %.10g, ", program->name, report->primal);
    if (isfinite(report->gap))
        fprintf(stderr, "relative duality gap %.2g, ", report->gap);
    fprintf(stderr, "%zu support vectors\n", report->n_sv);
    fprintf(stderr, "%s: model saved to %s\n", program->name,
            cli_output_name(train->model_path));
}

/* The keys that training and validation share; the caller closes the line. */
static void json_begin(const struct train *train)
{
    const struct klr_report *report = &train->report;
    printf("{\"model\": \"%s\", \"solver\": \"%s\", \"status\": \"%s\", ",
           klr_model_names[train->params.model],
           klr_solver_names[report->solver], klr_status_names[report->status]);
    cli_json_real("objective", report->primal, ", ");
    cli_json_real("dual", report->dual, ", ");
    cli_json_real("gap", report->gap, ", ");
    printf("\"iterations\": %lld, ", report->iterations);
    cli_json_real("passes", report->passes, ", ");
    printf("\"kernel_evals\": %llu, \"n\": %zu, ", report->kernel_evals,
           train->problem.n);
}

static void json_end(const struct train *train)
{
    printf("\"seconds\": {\"read\": %.6f, \"train\": %.6f, \"write\": %.6f}}\n",
           train->seconds.read, train->seconds.train, train->seconds.write);
}

/* ---- Validation ---- */

static void print_validation(const struct train *train,
                             const struct klr_metric_values *values)
{
    if (!train->options.json) {
        printf("Cross Validation Accuracy = %g%%\n", 100 * values->accuracy);
        cli_print_metrics(stdout, values);
        return;
    }
    json_begin(train);
    printf("\"folds\": %lld, ", train->params.folds);
    cli_json_real("accuracy", values->accuracy, ", ");
    cli_json_real("log_loss", values->log_loss, ", ");
    cli_json_real("brier", values->brier, ", ");
    cli_json_real("auc", values->auc, ", ");
    json_end(train);
}

static int validate(struct train *train, const struct cli_program *program)
{
    struct klr_error err;
    struct klr_metric_values values;
    double begin = klr_seconds();
    int code = klr_cross_validate(&train->problem, &train->params, &values,
                                  &train->report, &err);
    train->seconds.train = klr_seconds() - begin;
    cli_progress_end(&train->progress);
    if (code)
        return fail_training(train, program, &err);
    warn_of_status(program, &train->report,
                   cli_signal() ? "no results" : "the models are not optimal");
    if (!cli_signal())
        print_validation(train, &values);
    return CLI_OK;
}

/* ---- Training ---- */

static int save(struct train *train, const struct cli_program *program)
{
    struct klr_error err;
    struct klr_output *out;
    double begin = klr_seconds();
    int flags = train->options.sv_indices ? KLR_SAVE_SV_INDICES : 0;
    int code = klr_output_open(&out, train->model_path, &err);
    if (!code) {
        code = klr_model_save(train->model, out, flags, &err);
        if (code)
            klr_output_abandon(out);
        else
            code = klr_output_commit(out, &err);
    }
    train->seconds.write = klr_seconds() - begin;
    return code ? cli_fail(program, cli_output_name(train->model_path), &err)
                : CLI_OK;
}

static int fit(struct train *train, const struct cli_program *program)
{
    struct klr_error err;
    double begin = klr_seconds();
    int code = klr_train(&train->problem, &train->params, &train->model,
                         &train->report, &err);
    train->seconds.train = klr_seconds() - begin;
    cli_progress_end(&train->progress);
    if (code)
        return fail_training(train, program, &err);
    warn_of_status(program, &train->report,
                   "the model is usable but not optimal");
    int status = save(train, program);
    if (status)
        return status;
    if (!train->options.quiet)
        print_summary(train, program);
    if (train->options.json) {
        json_begin(train);
        printf("\"n_sv\": %zu, ", train->report.n_sv);
        json_end(train);
    }
    return CLI_OK;
}

static int run(struct train *train, const struct cli_program *program,
               const char *const *operand)
{
    int status = prepare(train, program, operand);
    if (status < 0)
        status = read_data(train, program);
    if (status >= 0)
        return status;
    train->progress.name = program->name;
    train->progress.quiet = train->options.quiet;
    train->params.progress = cli_progress;
    train->params.context = &train->progress;
    cli_defer_signals();
    status =
        train->params.folds ? validate(train, program) : fit(train, program);
    if (status == CLI_OK && cli_signal())
        status = CLI_INTERRUPTED + cli_signal();
    return status;
}

int main(int argc, char **argv)
{
    struct train train = {.model = NULL};
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
    klr_model_free(train.model);
    klr_problem_free(&train.problem);
    klr_free(train.model_path);
    klr_free(train.params.weight);
    return status;
}
