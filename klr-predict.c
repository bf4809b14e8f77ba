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
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/system.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "solver.h"

/* The distance from all support vectors is measured for the first FAR_FIRST
 * rows, and for each FAR_STEP-th row after them. */
enum { FAR_FIRST = 1000, FAR_STEP = 16 };

/* A batch is full with so many rows, features or decision values. */
enum { BATCH_ROWS = 1024, BATCH_FEATURES = 1 << 20, BATCH_VALUES = 1 << 20 };

enum { WITHOUT, WITH, AUTO };  /* -b */
enum { NONE, COMMENT, FIRST }; /* --id */

struct predict_options {
    int probability; /* -b */
    int decision, unlabelled, quiet, json, metrics;
    long long threads;
    int keep_going, no_header;
    int id; /* --id */
    double threshold;
    const char *cost;
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
    bool *bad;     /* (room) it cannot be answered */
    size_t *id;    /* (room + 1) where its name begins in `text` */
    char *text;
    size_t text_room;
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
    struct cli_feature_use use;
    struct cli_answers answers;
    double *cost; /* (classes, classes) by which to answer, or NULL */
    struct cli_progress progress;
    double begin; /* of reading the model, or the rows, in seconds */
    unsigned long long rows;
    int dimension;                 /* largest index of all rows */
    unsigned long long bad;        /* rows without an answer */
    unsigned long long far, asked; /* rows far from all support vectors, of
                                      those that this was asked of */
    struct {
        unsigned long long rows; /* with features that the model lacks */
        int feature;             /* the first of them ... */
        long line;               /* ... and where it is */
    } unseen;
    bool has_qid;
};

static const char *const predict_switch[] = {"0", "1", "auto", NULL};
static const char *const predict_ids[] = {"none", "comment", "first", NULL};

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
    {.type = KLR_REAL,
     .name = "threshold",
     .argument = "P",
     .offset = offsetof(struct predict_options, threshold),
     .preset = (double)NAN,
     .min = 0,
     .max = 1,
     .help = "two classes: answer the first where its probability is P at "
             "least"},
    {.type = KLR_STRING,
     .name = "cost",
     .argument = "COSTS",
     .offset = offsetof(struct predict_options, cost),
     .help = "answer what costs least: FP,FN, of taking the second of two "
             "classes for the first and the first for the second, or a file"},
    {.type = KLR_FLAG,
     .name = "unlabelled",
     .offset = offsetof(struct predict_options, unlabelled),
     .help = "rows may lack the label"},
    {.type = KLR_FLAG,
     .name = "keep-going",
     .offset = offsetof(struct predict_options, keep_going),
     .help = "every line is a row, and one that cannot be read is answered by "
             "?; then the exit status is 1"},
    {.type = KLR_FLAG,
     .name = "no-header",
     .offset = offsetof(struct predict_options, no_header),
     .help = "no line of labels before the answers"},
    {.type = KLR_CHOICE,
     .name = "id",
     .argument = "WHERE",
     .offset = offsetof(struct predict_options, id),
     .choices = predict_ids,
     .help = "what names a row goes through to its answer: its comment, or a "
             "word that is its first (default %s)"},
    {.type = KLR_INTEGER,
     .letter = 'j',
     .name = "threads",
     .argument = "N",
     .offset = offsetof(struct predict_options, threads),
     .min = 1,
     .max = KLR_THREADS_MAX,
     .also = "jobs n-jobs nthreads n-threads nproc",
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

/* Read the costs of --cost, or see that the model can do with --threshold. */
static int read_costs(struct predict *predict, struct klr_error *err)
{
    const struct predict_options *options = &predict->options;
    size_t classes = klr_model_classes(predict->model);
    if (isnan(options->threshold) && !options->cost)
        return 0;
    if (!klr_model_has_probabilities(predict->model))
        return klr_fail(err, KLR_E_USAGE,
                        "option --%s: the model has no probabilities",
                        options->cost ? "cost" : "threshold");
    if (options->cost)
        return cli_costs_read(&predict->cost, options->cost, &predict->answers,
                              err);
    if (classes != 2)
        return klr_fail(err, KLR_E_USAGE,
                        "option --threshold: the model has %zu classes, not "
                        "two",
                        classes);
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
                   (batch->bad = klr_alloc(rows, sizeof(bool), err)) &&
                   (batch->id = klr_zalloc(rows + 1, sizeof *batch->id, err)) &&
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
    klr_free(batch->bad);
    klr_free(batch->id);
    klr_free(batch->text);
    klr_free(batch->label);
    klr_free(batch->decision);
    klr_free(batch->probability);
}

/* True of a file that begins as models do. */
static bool is_model(const char *path)
{
    static const char first[] = "svm_type ";
    char begin[sizeof first] = "";
    struct stat status;
    FILE *file = stat(path, &status) == 0 && S_ISREG(status.st_mode)
                     ? fopen(path, "r")
                     : NULL;
    if (file) {
        bool whole = fread(begin, sizeof first - 1, 1, file) == 1;
        fclose(file);
        return whole && strcmp(begin, first) == 0;
    }
    return false;
}

static int fail_load(const struct predict *predict, const struct klr_error *err)
{
    struct klr_error order = *err;
    if (err->code == KLR_E_MODEL && is_model(predict->data))
        klr_fail_at(&order, err->code, err->line, err->column,
                    "%s (%.40s is a model; the order is %s)", err->message,
                    predict->data, predict->program->operands);
    return cli_fail(predict->program, predict->model_path, &order);
}

/* The features of its support vectors, or, scaled, those of the scaling. How
 * many examples had a feature is told by neither weights nor a scaling. */
static int add_known(struct predict *predict, struct klr_error *err)
{
    struct klr_features vectors = klr_model_vectors(predict->model);
    int *index;
    size_t count;
    if (vectors.n && klr_model_has_weights(predict->model))
        return cli_feature_use_know(&predict->use, vectors.index,
                                    vectors.start[vectors.n], err);
    if (vectors.n)
        return cli_feature_use_add(&predict->use, &vectors, true, err);
    int code = klr_model_scaled(predict->model, &index, &count, err);
    if (!code)
        code = cli_feature_use_know(&predict->use, index, count, err);
    klr_free(index);
    return code;
}

/* `context` is a struct predict. */
static void tell_vectors(unsigned long long vectors, void *context)
{
    struct predict *predict = context;
    cli_progress_rows(&predict->progress, "support vectors read", vectors,
                      klr_seconds() - predict->begin);
}

static int read_model(struct predict *predict, struct klr_error *err)
{
    predict->begin = klr_seconds();
    predict->progress = (struct cli_progress){
        .name = predict->program->name,
        .quiet = predict->options.quiet,
    };
    int code = klr_model_load_told(&predict->model, predict->model_path,
                                   tell_vectors, predict, err);
    cli_progress_end(&predict->progress);
    return code;
}

/* -1, or the exit status. */
static int load(struct predict *predict)
{
    struct klr_error err;
    int code = read_model(predict, &err);
    if (code)
        return fail_load(predict, &err);
    const struct klr_model *model = predict->model;
    if ((code = check_model(predict, &err)) ||
        (code = klr_predictor_create(&predict->predictor, model,
                                     predict->options.threads, &err)) ||
        (code = klr_metrics_create(&predict->metrics, klr_model_classes(model),
                                   klr_model_labels(model), &err)) ||
        (code = cli_answers_create(&predict->answers, klr_model_classes(model),
                                   klr_model_labels(model),
                                   klr_model_label_names(model), &err)) ||
        (code = add_known(predict, &err)) ||
        (code = batch_create(&predict->batch, model, &err)))
        return cli_fail(predict->program, NULL, &err);
    if ((code = read_costs(predict, &err)))
        return cli_fail(predict->program,
                        code == KLR_E_USAGE ? NULL : predict->options.cost,
                        &err);
    return -1;
}

static int open_files(struct predict *predict)
{
    struct klr_error err;
    int flags = klr_model_reader_flags(predict->model) | KLR_READ_GIVEN;
    if (predict->options.unlabelled)
        flags |= KLR_READ_UNLABELLED;
    if (predict->options.keep_going)
        flags |= KLR_READ_BLANK;
    if (predict->options.id == FIRST)
        flags |= KLR_READ_ID;
    if (klr_reader_open(&predict->reader, predict->data, flags, &err))
        return cli_fail(predict->program, predict->data, &err);
    if (klr_output_open(&predict->out, predict->output, &err))
        return cli_fail(predict->program, cli_output_name(predict->output),
                        &err);
    return -1;
}

/* ---- Rows in ---- */

/* The name of the row, wherever it is, becomes that of the next row. */
static int batch_name(struct batch *batch, const struct klr_row *row, int id,
                      struct klr_error *err)
{
    struct klr_line name = row->line;
    size_t begin = batch->id[batch->rows];
    const char *mark = memchr(name.text, '#', (size_t)(name.end - name.text));
    if (id == FIRST) {
        name.text = row->id;
        name.end = row->id + row->id_length;
    } else {
        name.text = id == COMMENT && mark ? mark + 1 : name.end;
    }
    klr_line_trim(&name);
    size_t length = (size_t)(name.end - name.text);
    if (KLR_GROW(batch->text, batch->text_room, begin + length, err))
        return KLR_E_MEMORY;
    memcpy(batch->text + begin, name.text, length);
    batch->id[batch->rows + 1] = begin + length;
    return 0;
}

static int batch_add(struct batch *batch, const struct klr_row *row,
                     double label, struct klr_error *err)
{
    size_t need = batch->features + row->count;
    if (KLR_GROW(batch->index, batch->index_room, need, err) ||
        KLR_GROW(batch->value, batch->value_room, need, err))
        return KLR_E_MEMORY;
    for (size_t k = 0; k < row->count; k++) {
        batch->index[batch->features + k] = row->index[k];
        batch->value[batch->features + k] = row->value[k];
    }
    if (row->count && row->index[row->count - 1] > batch->dimension)
        batch->dimension = row->index[row->count - 1];
    batch->truth[batch->rows] = label;
    batch->line[batch->rows] = row->line.number;
    batch->bad[batch->rows] = false;
    batch->start[++batch->rows] = batch->features = need;
    return 0;
}

/* A row that cannot be answered: its place in the batch is. */
static void tell_bad(struct predict *predict, size_t i,
                     const struct klr_error *err)
{
    cli_progress_end(&predict->progress);
    cli_fail(predict->program, predict->data, err);
    predict->batch.bad[i] = true;
    predict->bad++;
}

/* Count the row if it has a feature that the model lacks. */
static void note_unseen(struct predict *predict, const struct klr_row *row)
{
    size_t f = 0;
    while (f < row->count &&
           cli_feature_use_knows(&predict->use, row->index[f]))
        f++;
    if (f == row->count)
        return;
    if (predict->unseen.rows++ == 0) {
        predict->unseen.feature = row->index[f];
        predict->unseen.line = row->line.number;
    }
}

/* The next row into the batch; as klr_reader_next. */
static int batch_next(struct predict *predict, struct klr_error *err)
{
    struct klr_row row = {.count = 0};
    struct klr_error refusal;
    struct batch *batch = &predict->batch;
    int got = klr_reader_next(predict->reader, &row, &refusal);
    bool bad = predict->options.keep_going && got == -KLR_E_DATA;
    if (got != 1 && !bad) {
        *err = refusal;
        return got;
    }
    if (bad)
        row.count = 0;
    double label = bad ? (double)NAN : klr_model_label_of(predict->model, &row);
    int code = batch_name(batch, &row, predict->options.id, err);
    code = code ? code : batch_add(batch, &row, label, err);
    if (code)
        return -code;
    if (bad)
        tell_bad(predict, batch->rows - 1, &refusal);
    else if (predict->use.features.count > 0)
        note_unseen(predict, &row);
    predict->has_qid |= row.has_qid;
    return 1;
}

/* Gather rows until the batch is full or the next one would have to be waited
 * for. 1: there may be more, 0: the end, or minus a code. */
static int batch_read(struct predict *predict, struct klr_error *err)
{
    struct batch *batch = &predict->batch;
    int got = 1;
    batch->rows = batch->features = 0;
    batch->dimension = 0;
    while (batch->rows < batch->room && batch->features < BATCH_FEATURES) {
        got = batch_next(predict, err);
        if (got != 1 || klr_reader_would_block(predict->reader))
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
    const char *name = batch->text + batch->id[i];
    size_t length = batch->id[i + 1] - batch->id[i];
    if (options->id == FIRST) {
        klr_put(predict->out, name, length);
        klr_put(predict->out, " ", 1);
    }
    if (batch->bad[i])
        klr_puts(predict->out, "?");
    else
        cli_write_answer(
            predict->out, &predict->answers, batch->label[i],
            options->probability == WITH ? batch->probability + i * classes
                                         : NULL,
            options->decision ? batch->decision + i * machines : NULL,
            machines);
    if (options->id == COMMENT && length) {
        klr_puts(predict->out, " # ");
        klr_put(predict->out, name, length);
    }
    klr_put(predict->out, "\n", 1);
}

static int judge_row(struct predict *predict, size_t i, struct klr_error *err)
{
    const struct batch *batch = &predict->batch;
    size_t classes = klr_model_classes(predict->model);
    size_t machines = klr_model_machines(predict->model);
    if (isnan(batch->truth[i]) || batch->bad[i])
        return 0;
    return klr_metrics_add(
        predict->metrics, batch->truth[i], batch->label[i],
        batch->probability ? batch->probability + i * classes : NULL,
        klr_model_score(predict->model, batch->decision + i * machines), err);
}

/* Predict the rows from `begin` up to `end`, or to the first that cannot be:
 * *end becomes its place, and the error names its line. */
static int batch_predict(struct predict *predict, size_t begin, size_t *end,
                         struct klr_error *err)
{
    struct batch *batch = &predict->batch;
    size_t classes = klr_model_classes(predict->model);
    size_t machines = klr_model_machines(predict->model);
    struct klr_features x = {
        .n = *end - begin,
        .dimension = batch->dimension,
        .start = batch->start + begin,
        .index = batch->index,
        .value = batch->value,
    };
    int code = klr_predict(
        predict->predictor, &x, batch->label + begin,
        batch->decision + begin * machines,
        batch->probability ? batch->probability + begin * classes : NULL, err);
    if (!code && predict->use.vectors)
        return cli_feature_use_add(&predict->use, &x, false, err);
    if (!code || !err->line)
        return code;
    struct klr_error earlier;
    *end = begin + (size_t)err->line - 1;
    err->line = batch->line[*end];
    if (*end > begin && batch_predict(predict, begin, end, &earlier))
        *err = earlier;
    return err->code;
}

/* Ask whether the row is far, if it is one of those that are asked. */
static int ask_far(struct predict *predict, size_t i, struct klr_error *err)
{
    const struct batch *batch = &predict->batch;
    struct klr_features x = {
        .n = 1,
        .dimension = batch->dimension,
        .start = batch->start + i,
        .index = batch->index,
        .value = batch->value,
    };
    bool far = false;
    if (batch->bad[i] || !klr_model_is_local(predict->model) ||
        (predict->rows >= FAR_FIRST && predict->rows % FAR_STEP))
        return 0;
    int code = klr_predictor_is_far(predict->predictor, &x, &far, err);
    predict->far += far;
    predict->asked++;
    return code;
}

/* Answer row i as --cost or --threshold asks for, if one does. */
static void decide(struct predict *predict, size_t i)
{
    const struct batch *batch = &predict->batch;
    double threshold = predict->options.threshold;
    const double *p =
        batch->probability + i * klr_model_classes(predict->model);
    if (predict->cost)
        batch->label[i] = klr_decide(predict->model, predict->cost, p);
    else
        batch->label[i] = klr_model_labels(predict->model)[*p < threshold];
}

/* Write and judge the answers of the rows i .. end. */
static int finish_rows(struct predict *predict, size_t i, size_t end,
                       struct klr_error *err)
{
    const struct batch *batch = &predict->batch;
    bool decides = predict->cost || !isnan(predict->options.threshold);
    int code = 0;
    for (; i < end && !code; i++) {
        if (decides && !batch->bad[i])
            decide(predict, i);
        write_row(predict, i);
        code = judge_row(predict, i, err);
        code = code ? code : ask_far(predict, i, err);
        predict->rows++;
    }
    return code;
}

/* Answer the batch, or, where a row has no answer, those before it. Errors of a
 * row name its line. */
static int batch_answer(struct predict *predict, struct klr_error *err)
{
    struct batch *batch = &predict->batch;
    struct klr_error late;
    int code = 0;
    for (size_t i = 0, end; i < batch->rows && !code; i = end) {
        for (end = i; end < batch->rows && !batch->bad[end];)
            end++;
        code = end > i ? batch_predict(predict, i, &end, err) : 0;
        if (code && !err->line)
            break; /* nothing is known of any row */
        if (code && predict->options.keep_going) {
            tell_bad(predict, end, err);
            code = 0;
        }
        end += end < batch->rows && batch->bad[end];
        int other = finish_rows(predict, i, end, code ? &late : err);
        code = code ? code : other;
    }
    if (batch->dimension > predict->dimension)
        predict->dimension = batch->dimension;
    return code;
}

/* -1, or the exit status. Whatever goes wrong, the rows before it have gone
 * out where the output is a pipe. */
static int predict_all(struct predict *predict)
{
    struct klr_error err = {0}, late;
    int got = 1;
    predict->begin = klr_seconds();
    if (klr_output_is_stdout(predict->output) && isatty(STDOUT_FILENO))
        predict->progress.quiet = true;
    if (predict->options.probability == WITH && !predict->options.no_header)
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
        cli_progress_rows(&predict->progress, "rows", predict->rows,
                          klr_seconds() - predict->begin);
    }
    cli_progress_end(&predict->progress);
    return got < 0 ? cli_fail(predict->program, predict->data, &err) : -1;
}

/* ---- Metrics ---- */

/* The share of rows that are far from all support vectors; NaN: of none is it
 * known. */
static double far_share(const struct predict *predict)
{
    return predict->asked ? (double)predict->far / (double)predict->asked
                          : (double)NAN;
}

/* That rows are not like those of the training set. */
static void warn_strange(const struct predict *predict, const char *data)
{
    int feature = predict->unseen.feature;
    const struct klr_names *names = klr_model_features(predict->model);
    bool named = feature > 0 && (size_t)feature <= klr_names_count(names);
    if (predict->unseen.rows && !predict->use.vectors) /* else it is told */
        cli_warn(predict->program,
                 "%s: rows with features that the model lacks: %llu, the first "
                 "in line %ld: %d%s%s%s",
                 data, predict->unseen.rows, predict->unseen.line, feature,
                 named ? " (" : "",
                 named ? klr_names_text(names, (size_t)feature - 1) : "",
                 named ? ")" : "");
    if (predict->far)
        cli_warn(predict->program,
                 "%s: rows far from all support vectors: %.3g%%", data,
                 100 * far_share(predict));
}

static void print_metrics(struct predict *predict)
{
    struct klr_metric_values values;
    FILE *stream = klr_output_is_stdout(predict->output) ? stderr : stdout;
    klr_metrics_values(predict->metrics, &values);
    double cost = predict->options.cost
                      ? cli_mean_cost(predict->metrics, predict->cost)
                      : (double)NAN;
    if (predict->options.json) {
        printf("{\"rows\": %llu, \"labelled\": %llu, \"correct\": %llu, ",
               predict->rows, values.count, values.correct);
        cli_json_metrics(&values, ", ");
        if (predict->options.cost)
            cli_json_real("cost", cost, ", ");
        if (predict->options.keep_going)
            printf("\"bad\": %llu, ", predict->bad);
        printf("\"unseen_rows\": %llu, ", predict->unseen.rows);
        cli_json_real("far", far_share(predict), ", ");
        cli_json_confusion(predict->metrics, &predict->answers, ", ");
        cli_json_warnings(predict->program, "}\n");
    } else if (values.count && !predict->options.quiet) {
        fprintf(stream, "Accuracy = %g%% (%llu/%llu) (classification)\n",
                100 * values.accuracy, values.correct, values.count);
        cli_print_metrics(stream, &values, predict->options.metrics);
        if (predict->options.cost && !isnan(cost))
            fprintf(stream, "Cost = %.6g\n", cost);
        if (predict->options.metrics)
            cli_print_confusion(stream, predict->metrics, &predict->answers);
    }
}

static void warn_features(const struct predict *predict, const char *data)
{
    struct cli_some_features missing, unseen;
    if (!predict->use.vectors)
        return;
    cli_feature_use_compare(&predict->use, &missing, &unseen);
    if (missing.count)
        cli_warn(predict->program,
                 "%s: no row has features that the model knows: %zu, the first "
                 "is %zu",
                 data, missing.count, missing.first);
    if (unseen.count)
        cli_warn(predict->program,
                 "%s: rows have features that the model does not know: %zu, "
                 "the first is %zu",
                 data, unseen.count, unseen.first);
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
    warn_features(predict, data);
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
    const char *single = cli_single_answer(predict->metrics, &predict->answers);
    if (single && !predict->options.quiet)
        cli_warn(predict->program, "%s: " CLI_SINGLE_ANSWER, data, single);
    if (!predict->options.quiet && !predict->options.json)
        warn_strange(predict, data);
    print_metrics(predict);
    return predict->bad ? CLI_FAILURE : CLI_OK;
}

/* ---- The program ---- */

static int run(struct predict *predict, const char *const *operand)
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
    batch_free(&predict.batch);
    cli_feature_use_free(&predict.use);
    cli_answers_free(&predict.answers);
    klr_free(predict.cost);
    status = cli_finish(&program, status);
    klr_free(warnings.text);
    return status;
}
