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
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/system.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "solver.h"

/* A batch is full with so many rows, features or decision values. */
enum { BATCH_ROWS = 1024, BATCH_FEATURES = 1 << 20, BATCH_VALUES = 1 << 20 };

enum { WITHOUT, WITH, AUTO }; /* -b */

struct predict_options {
    int probability; /* -b */
    int decision, unlabelled, quiet, json, metrics;
    long long threads;
};

/* Rows that wait for their answers. */
struct batch {
    size_t rows, features, room; /* room: for so many rows */
    int dimension;               /* largest index */
    size_t *start;               /* (room + 1) */
    int *index;
    double *value;
    size_t index_room, value_room;
    double *truth; /* (room) label of the row, NaN without one */
    long *line;    /* (room) where the row stands */
    /* The answers. */
    double *label;       /* (room) */
    double *decision;    /* (room, machines) */
    double *probability; /* (room, classes); NULL: the model has none */
};

struct predict {
    struct predict_options options;
    const struct cli_program *program;
    const char *data, *model_path, *output;
    struct klr_model *model;
    struct klr_predictor *predictor;
    struct klr_metrics *metrics;
    struct klr_reader *reader;
    struct klr_output *out;
    struct batch batch;
    struct cli_answers answers;
    struct cli_progress progress;
    unsigned long long rows;
    int dimension; /* largest index of all rows */
    bool has_qid;
};

static const char *const predict_switch[] = {"0", "1", "auto", NULL};

static const struct klr_option predict_table[] = {
    {.type = KLR_CHOICE,
     .letter = 'b',
     .name = "probability",
     .argument = "0|1",
     .offset = offsetof(struct predict_options, probability),
     .preset = AUTO,
     .choices = predict_switch,
     .group = "Predictions",
     .help = "1: a label and one probability per class; 0: labels only "
             "(default %s: 1 where the model has probabilities)"},
    {.type = KLR_FLAG,
     .name = "decision",
     .offset = offsetof(struct predict_options, decision),
     .help = "a label and the decision value of every machine: of a pair of "
             "classes, positive for the first, or of a class against others"},
    {.type = KLR_FLAG,
     .name = "unlabelled",
     .offset = offsetof(struct predict_options, unlabelled),
     .help = "rows may lack the label"},
    {.type = KLR_INTEGER,
     .letter = 'j',
     .name = "threads",
     .argument = "N",
     .offset = offsetof(struct predict_options, threads),
     .min = 1,
     .max = KLR_THREADS_MAX,
     .help = "threads (default: KLR_THREADS, else OMP_NUM_THREADS, else the "
             "processors there are)"},
    {.type = KLR_FLAG,
     .letter = 'q',
     .name = "quiet",
     .offset = offsetof(struct predict_options, quiet),
     .group = "Metrics",
     .help = "print none"},
    {.type = KLR_FLAG,
     .name = "metrics",
     .offset = offsetof(struct predict_options, metrics),
     .help = "print all there are, and the confusion matrix"},
    {.type = KLR_FLAG,
     .name = "json",
     .offset = offsetof(struct predict_options, json),
     .help = "all on stdout, as a line of JSON; needs an output file"},
    {.name = NULL},
};

static const char predict_examples[] =
    "Examples\n"
    "  klr-predict test model output      metrics on stdout\n"
    "  klr-predict test model             predictions on stdout\n"
    "  ... | klr-predict --unlabelled - model | ...\n";

/* ---- Making ready ---- */

/* The parts of the command line that do not go together. */
static int check_options(const struct predict *predict, struct klr_error *err)
{
    const struct predict_options *options = &predict->options;
    if (options->decision && options->probability == WITH)
        return klr_fail(err, KLR_E_USAGE,
                        "--decision and -b 1 exclude each "
                        "other");
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
    return 0;
}

static int check_model(struct predict *predict, struct klr_error *err)
{
    bool probable = klr_model_has_probabilities(predict->model);
    int *wanted = &predict->options.probability;
    if (*wanted == WITH && !probable)
        return klr_fail(err, KLR_E_USAGE,
                        "-b 1: the model has no probabilities");
    if (*wanted == AUTO)
        *wanted = probable && !predict->options.decision ? WITH : WITHOUT;
    return 0;
}

static int batch_create(struct batch *batch, const struct klr_model *model,
                        struct klr_error *err)
{
    size_t machines = klr_model_machines(model),
           classes = klr_model_classes(model);
    size_t rows = BATCH_VALUES / machines, size = sizeof(double);
    bool probable = klr_model_has_probabilities(model);
    rows = rows > BATCH_ROWS ? BATCH_ROWS : rows ? rows : 1;
    batch->room = rows;
    return (batch->start = klr_zalloc(rows + 1, sizeof *batch->start, err)) &&
                   (batch->truth = klr_alloc(rows, size, err)) &&
                   (batch->line = klr_alloc(rows, sizeof(long), err)) &&
                   (batch->label = klr_alloc(rows, size, err)) &&
                   (batch->decision = klr_alloc(rows, machines * size, err)) &&
                   (!probable ||
                    (batch->probability = klr_alloc(rows, classes * size, err)))
               ? 0
               : KLR_E_MEMORY;
}

static void batch_free(struct batch *batch)
{
    klr_free(batch->start);
    klr_free(batch->index);
    klr_free(batch->value);
    klr_free(batch->truth);
    klr_free(batch->line);
    klr_free(batch->label);
    klr_free(batch->decision);
    klr_free(batch->probability);
}

/* -1, or the exit status. */
static int load(struct predict *predict)
{
    struct klr_error err;
    int code = klr_model_load(&predict->model, predict->model_path, &err);
    if (code)
        return cli_fail(predict->program, predict->model_path, &err);
    const struct klr_model *model = predict->model;
    if ((code = check_model(predict, &err)) ||
        (code = klr_predictor_create(&predict->predictor, model,
                                     predict->options.threads, &err)) ||
        (code = klr_metrics_create(&predict->metrics, klr_model_classes(model),
                                   klr_model_labels(model), &err)) ||
        (code = cli_answers_create(&predict->answers, klr_model_classes(model),
                                   klr_model_labels(model),
                                   klr_model_label_names(model), &err)) ||
        (code = batch_create(&predict->batch, model, &err)))
        return cli_fail(predict->program, NULL, &err);
    return -1;
}

static int open_files(struct predict *predict)
{
    struct klr_error err;
    int flags = klr_model_reader_flags(predict->model) | KLR_READ_GIVEN;
    if (predict->options.unlabelled)
        flags |= KLR_READ_UNLABELLED;
    if (klr_reader_open(&predict->reader, predict->data, flags, &err))
        return cli_fail(predict->program, predict->data, &err);
    if (klr_output_open(&predict->out, predict->output, &err))
        return cli_fail(predict->program, cli_output_name(predict->output),
                        &err);
    return -1;
}

/* ---- Rows in ---- */

static int batch_add(struct batch *batch, const struct klr_row *row,
                     double label, struct klr_error *err)
{
    size_t need = batch->features + row->count;
    if (KLR_GROW(batch->index, batch->index_room, need, err) ||
        KLR_GROW(batch->value, batch->value_room, need, err))
        return KLR_E_MEMORY;
    memcpy(batch->index + batch->features, row->index,
           row->count * sizeof *row->index);
    memcpy(batch->value + batch->features, row->value,
           row->count * sizeof *row->value);
    if (row->count && row->index[row->count - 1] > batch->dimension)
        batch->dimension = row->index[row->count - 1];
    batch->truth[batch->rows] = label;
    batch->line[batch->rows] = row->line.number;
    batch->start[++batch->rows] = batch->features = need;
    return 0;
}

/* Gather rows until the batch is full or the next one would have to be waited
 * for. 1: there may be more, 0: the end, or minus a code. */
static int batch_read(struct predict *predict, struct klr_error *err)
{
    struct batch *batch = &predict->batch;
    struct klr_row row;
    int got = 1;
    batch->rows = batch->features = 0;
    batch->dimension = 0;
    while (batch->rows < batch->room && batch->features < BATCH_FEATURES) {
        got = klr_reader_next(predict->reader, &row, err);
        if (got != 1)
            break;
        int code = batch_add(batch, &row,
                             klr_model_label_of(predict->model, &row), err);
        if (code)
            return -code;
        predict->has_qid |= row.has_qid;
        if (klr_reader_would_block(predict->reader))
            break;
    }
    return got;
}

/* ---- Predictions out ---- */

static void write_row(struct predict *predict, size_t i)
{
    const struct batch *batch = &predict->batch;
    const struct predict_options *options = &predict->options;
    size_t classes = klr_model_classes(predict->model);
    size_t machines = klr_model_machines(predict->model);
    cli_write_answer(
        predict->out, &predict->answers, batch->label[i],
        options->probability == WITH ? batch->probability + i * classes : NULL,
        options->decision ? batch->decision + i * machines : NULL, machines);
}

static int judge_row(struct predict *predict, size_t i, struct klr_error *err)
{
    const struct batch *batch = &predict->batch;
    size_t classes = klr_model_classes(predict->model);
    size_t machines = klr_model_machines(predict->model);
    if (isnan(batch->truth[i]))
        return 0;
    return klr_metrics_add(predict->metrics, batch->truth[i], batch->label[i],
                           batch->probability ? batch->probability + i * classes
                                              : NULL,
                           batch->decision[i * machines], err);
}

/* Answer the batch, or, where a row has no answer, those before it. Errors of a
 * row name its line. */
static int batch_answer(struct predict *predict, struct klr_error *err)
{
    struct batch *batch = &predict->batch;
    struct klr_features x = {
        .n = batch->rows,
        .dimension = batch->dimension,
        .start = batch->start,
        .index = batch->index,
        .value = batch->value,
    };
    int code = klr_predict(predict->predictor, &x, batch->label,
                           batch->decision, batch->probability, err);
    if (code && err->line) {
        struct klr_error first;
        batch->rows = (size_t)err->line - 1;
        err->line = batch->line[batch->rows];
        if (batch->rows && batch_answer(predict, &first))
            *err = first;
        return err->code;
    }
    for (size_t i = 0; !code && i < batch->rows; i++) {
        write_row(predict, i);
        code = judge_row(predict, i, err);
    }
    predict->rows += batch->rows;
    if (batch->dimension > predict->dimension)
        predict->dimension = batch->dimension;
    return code;
}

/* -1, or the exit status. Whatever goes wrong, the rows before it have gone
 * out where the output is a pipe. */
static int predict_all(struct predict *predict)
{
    struct klr_error err = {0}, late;
    double begin = klr_seconds();
    int got = 1;
    predict->progress = (struct cli_progress){
        .name = predict->program->name,
        .quiet =
            predict->options.quiet || klr_output_is_stdout(predict->output),
    };
    if (predict->options.probability == WITH)
        cli_write_names(predict->out, &predict->answers);
    while (got == 1) {
        got = batch_read(predict, &err);
        if (predict->batch.rows && batch_answer(predict, &late)) {
            got = -late.code;
            err = late; /* of a row before one that cannot be read */
        }
        bool waiting = klr_reader_would_block(predict->reader);
        if ((waiting || got < 0) && klr_output_flush(predict->out, &late)) {
            cli_progress_end(&predict->progress);
            return cli_fail(predict->program, cli_output_name(predict->output),
                            &late);
        }
        cli_progress_rows(&predict->progress, predict->rows,
                          klr_seconds() - begin);
    }
    cli_progress_end(&predict->progress);
    return got < 0 ? cli_fail(predict->program, predict->data, &err) : -1;
}

/* ---- Metrics ---- */

static void print_metrics(struct predict *predict)
{
    struct klr_metric_values values;
    FILE *stream = klr_output_is_stdout(predict->output) ? stderr : stdout;
    klr_metrics_values(predict->metrics, &values);
    if (predict->options.json) {
        printf("{\"rows\": %llu, \"labelled\": %llu, \"correct\": %llu, ",
               predict->rows, values.count, values.correct);
        cli_json_metrics(&values, ", ");
        cli_json_confusion(predict->metrics, &predict->answers, "}\n");
    } else if (values.count && !predict->options.quiet) {
        fprintf(stream, "Accuracy = %g%% (%llu/%llu) (classification)\n",
                100 * values.accuracy, values.correct, values.count);
        cli_print_metrics(stream, &values, predict->options.metrics);
        if (predict->options.metrics)
            cli_print_confusion(stream, predict->metrics, &predict->answers);
    }
}

static int finish(struct predict *predict)
{
    struct klr_error err;
    const char *data = cli_input_name(predict->data);
    int code = klr_output_commit(predict->out, &err);
    predict->out = NULL;
    if (code)
        return cli_fail(predict->program, cli_output_name(predict->output),
                        &err);
    if (predict->has_qid)
        cli_warn(predict->program, "%s: qid is ignored", data);
    if (!predict->rows)
        cli_warn(predict->program, "%s: no rows", data);
    int last = klr_model_last_serial(predict->model);
    if (predict->rows && predict->dimension < last)
        cli_warn(predict->program,
                 "%s: no row has a column beyond %d, but the model asks for "
                 "those up to %d: they count as 0",
                 data, predict->dimension, last);
    unsigned long long others = cli_count_others(predict->metrics);
    if (others && !predict->options.quiet && !predict->options.json)
        cli_warn(predict->program,
                 "%s: examples with a label that the model lacks: %llu", data,
                 others);
    print_metrics(predict);
    return CLI_OK;
}

/* ---- The program ---- */

static int run(struct predict *predict, const char *const *operand)
{
    struct klr_error err;
    predict->data = operand[0];
    predict->model_path = operand[1];
    predict->output = operand[2] ? operand[2] : "-";
    if (check_options(predict, &err))
        return cli_fail(predict->program, NULL, &err);
    if (klr_output_check(predict->output, operand, 2, &err))
        return cli_fail(predict->program, cli_output_name(predict->output),
                        &err);
    int status = load(predict);
    if (status < 0)
        status = open_files(predict);
    if (status < 0)
        status = predict_all(predict);
    return status < 0 ? finish(predict) : status;
}

int main(int argc, char **argv)
{
    struct predict predict = {0};
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
    batch_free(&predict.batch);
    cli_answers_free(&predict.answers);
    return cli_finish(&program, status);
}
