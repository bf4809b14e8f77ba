/* SPDX-License-Identifier: BSD-3-Clause
 *
 * klr-predict: apply a model to a test set, in one pass.
 *
 * Rows are gathered while input is there, a batch of them is predicted at once,
 * and the answers are handed on before the program waits for more: it works in
 * a pipe a row at a time, and its memory does not depend on the test set.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "cli/predict/predict_run.h"
#include "solver.h"

static const char *const predict_switch[] = {"0", "1", "auto", NULL};
static const char *const predict_ids[] = {"none", "comment", "first", NULL};

static const struct klr_option predict_table[] = {
    {.type = KLR_CHOICE,
     .letter = 'b',
     .name = "probability",
     .argument = "0|1",
     .offset = offsetof(struct cli_predict_options, probability),
     .preset = PREDICT_AUTO,
     .choices = predict_switch,
     .group = "Predictions",
     .help = "1: a label and one probability per class; 0: labels only "
             "(default %s: 1 where the model has probabilities)"},
    {.type = KLR_FLAG,
     .name = "decision",
     .offset = offsetof(struct cli_predict_options, decision),
     .help = "a label and the decision value of every machine: of a pair of "
             "classes, positive for the first, or of a class against others"},
    {.type = KLR_REAL,
     .name = "threshold",
     .argument = "P",
     .offset = offsetof(struct cli_predict_options, threshold),
     .preset = (double)NAN,
     .min = 0,
     .max = 1,
     .help = "two classes: answer the first where its probability is P at "
             "least"},
    {.type = KLR_STRING,
     .name = "cost",
     .argument = "COSTS",
     .offset = offsetof(struct cli_predict_options, cost),
     .help = "answer what costs least: FP,FN, of taking the second of two "
             "classes for the first and the first for the second, or a file"},
    {.type = KLR_FLAG,
     .name = "unlabelled",
     .offset = offsetof(struct cli_predict_options, unlabelled),
     .help = "rows may lack the label"},
    {.type = KLR_FLAG,
     .name = "keep-going",
     .offset = offsetof(struct cli_predict_options, keep_going),
     .help = "every line is a row, and one that cannot be read is answered by "
             "?; then the exit status is 1"},
    {.type = KLR_FLAG,
     .name = "no-header",
     .offset = offsetof(struct cli_predict_options, no_header),
     .help = "no line of labels before the answers"},
    {.type = KLR_CHOICE,
     .name = "id",
     .argument = "WHERE",
     .offset = offsetof(struct cli_predict_options, id),
     .choices = predict_ids,
     .help = "what names a row goes through to its answer: its comment, or a "
             "word that is its first (default %s)"},
    {.type = KLR_INTEGER,
     .letter = 'j',
     .name = "threads",
     .argument = "N",
     .offset = offsetof(struct cli_predict_options, threads),
     .min = 1,
     .max = KLR_THREADS_MAX,
     .also = "jobs n-jobs nthreads n-threads nproc",
     .help = "threads (default: KLR_THREADS, else OMP_NUM_THREADS, else the "
             "processors there are)"},
    {.type = KLR_FLAG,
     .letter = 'q',
     .name = "quiet",
     .offset = offsetof(struct cli_predict_options, quiet),
     .group = "Metrics",
     .help = "print none"},
    {.type = KLR_FLAG,
     .name = "metrics",
     .offset = offsetof(struct cli_predict_options, metrics),
     .help = "print all there are, and the confusion matrix"},
    {.type = KLR_FLAG,
     .name = "json",
     .offset = offsetof(struct cli_predict_options, json),
     .help = "all on stdout, as a line of JSON; needs an output file"},
    {.name = NULL},
};

static const char predict_examples[] =
    "Examples\n"
    "  klr-predict test model output      metrics on stdout\n"
    "  klr-predict test model             predictions on stdout\n"
    "  ... | klr-predict --unlabelled - model | ...\n";

/* ---- The program ---- */

/* The parts of the command line that do not go together. */
static int check_options(const struct cli_predict *predict,
                         struct klr_error *err)
{
    const struct cli_predict_options *options = &predict->options;
    if (options->decision && options->probability == PREDICT_PROBABILITIES)
        return klr_fail(err, KLR_E_USAGE,
                        "--decision and -b 1 exclude each other");
    if (!isnan(options->threshold) && options->cost)
        return klr_fail(err, KLR_E_USAGE,
                        "--threshold and --cost exclude each other");
    if (options->metrics && options->quiet)
        return klr_fail(err, KLR_E_USAGE,
                        "--metrics and -q exclude each other");
    if (options->json && klr_output_is_stdout(predict->output))
        return klr_fail(err, KLR_E_USAGE,
                        "--json and the predictions cannot both go to stdout");
    if (strcmp(predict->data, "-") == 0 &&
        strcmp(predict->model_path, "-") == 0)
        return klr_fail(err, KLR_E_USAGE,
                        "test set and model cannot both come from stdin");
    if (options->cost && strcmp(options->cost, "-") == 0)
        return klr_fail(err, KLR_E_USAGE,
                        "option --cost: a file of costs is not read from "
                        "stdin");
    return 0;
}

static int run(struct cli_predict *predict, const char *const *operand)
{
    struct klr_error err;
    predict->data = operand[0];
    predict->model_path = operand[1];
    predict->output = operand[2] ? operand[2] : "-";
    const char *const read[] = {predict->data, predict->model_path,
                                predict->options.cost};
    if (check_options(predict, &err))
        return cli_fail(predict->program, NULL, &err);
    if (klr_output_check(predict->output, read, 3, &err))
        return cli_fail(predict->program, cli_output_name(predict->output),
                        &err);
    int status = cli_predict_load(predict);
    if (status < 0)
        status = cli_predict_open(predict);
    if (status < 0)
        status = cli_predict_all(predict);
    return status < 0 ? cli_predict_finish(predict) : status;
}

int main(int argc, char **argv)
{
    struct cli_predict predict = {0};
    struct klr_text warnings = {0};
    const struct klr_option *const tables[] = {predict_table, NULL};
    void *const bases[] = {&predict.options};
    const struct cli_program program = {
        .name = "klr-predict",
        .purpose = "Predict labels and class probabilities.",
        .operands = "test_set model [output]",
        .min_operands = 2,
        .max_operands = 3,
        .tables = tables,
        .bases = bases,
        .examples = predict_examples,
        .warnings = &warnings,
    };
    const char *operand[4];
    cli_catch_signals();
    int status = cli_parse(&program, argc, argv, operand);
    if (status >= 0)
        return status;
    predict.program = &program;
    status = run(&predict, operand);
    klr_output_abandon(predict.out);
    klr_reader_close(predict.reader);
    klr_metrics_free(predict.metrics);
    klr_predictor_free(predict.predictor);
    klr_model_free(predict.model);
    cli_batch_free(&predict.batch);
    cli_feature_use_free(&predict.use);
    cli_answers_free(&predict.answers);
    klr_free(predict.cost);
    status = cli_finish(&program, status);
    klr_free(warnings.text);
    return status;
}
