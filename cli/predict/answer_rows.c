/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Answers out: klr-predict answers batch after batch, writes and judges what
 * each row gets. Errors of a row name its line, and those before it have gone
 * out.
 */
#include "cli/predict/predict_run.h"

#include <math.h>
#include <unistd.h>

#include "base/machine/system.h"
#include "base/numbers.h"

/* The distance from all support vectors is measured for the first FAR_FIRST
 * rows, and for each FAR_STEP-th row after them. */
enum { FAR_FIRST = 1000, FAR_STEP = 16 };

static void write_row(struct cli_predict *predict, size_t i)
{
    const struct cli_batch *batch = &predict->batch;
    const struct cli_predict_options *options = &predict->options;
    size_t classes = klr_model_classes(predict->model);
    size_t machines = klr_model_machines(predict->model);
    const char *name = batch->text + batch->id[i];
    size_t length = batch->id[i + 1] - batch->id[i];
    if (options->id == PREDICT_FIRST) {
        klr_put(predict->out, name, length);
        klr_put(predict->out, " ", 1);
    }
    if (batch->bad[i])
        klr_puts(predict->out, "?");
    else
        cli_write_answer(predict->out, &predict->answers, batch->label[i],
                         options->probability == PREDICT_PROBABILITIES
                             ? batch->probability + i * classes
                             : NULL,
                         options->decision ? batch->decision + i * machines
                                           : NULL,
                         machines);
    if (options->id == PREDICT_COMMENT && length) {
        klr_puts(predict->out, " # ");
        klr_put(predict->out, name, length);
    }
    klr_put(predict->out, "\n", 1);
}

static int judge_row(struct cli_predict *predict, size_t i,
                     struct klr_error *err)
{
    const struct cli_batch *batch = &predict->batch;
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
static int batch_predict(struct cli_predict *predict, size_t begin, size_t *end,
                         struct klr_error *err)
{
    struct cli_batch *batch = &predict->batch;
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
static int ask_far(struct cli_predict *predict, size_t i, struct klr_error *err)
{
    const struct cli_batch *batch = &predict->batch;
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
static void decide(struct cli_predict *predict, size_t i)
{
    const struct cli_batch *batch = &predict->batch;
    double threshold = predict->options.threshold;
    const double *p =
        batch->probability + i * klr_model_classes(predict->model);
    if (predict->cost)
        batch->label[i] = klr_decide(predict->model, predict->cost, p);
    else
        batch->label[i] = klr_model_labels(predict->model)[*p < threshold];
}

/* Write and judge the answers of the rows i .. end. */
static int finish_rows(struct cli_predict *predict, size_t i, size_t end,
                       struct klr_error *err)
{
    const struct cli_batch *batch = &predict->batch;
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
static int batch_answer(struct cli_predict *predict, struct klr_error *err)
{
    struct cli_batch *batch = &predict->batch;
    struct klr_error late;
    int code = 0;
    for (size_t i = 0, end; i < batch->rows && !code; i = end) {
        for (end = i; end < batch->rows && !batch->bad[end];)
            end++;
        code = end > i ? batch_predict(predict, i, &end, err) : 0;
        if (code && !err->line)
            break; /* nothing is known of any row */
        if (code && predict->options.keep_going) {
            cli_predict_tell_bad(predict, end, err);
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

int cli_predict_all(struct cli_predict *predict)
{
    struct klr_error err = {0}, late;
    int got = 1;
    predict->begin = klr_seconds();
    if (klr_output_is_stdout(predict->output) && isatty(STDOUT_FILENO))
        predict->progress.quiet = true;
    if (predict->options.probability == PREDICT_PROBABILITIES &&
        !predict->options.no_header)
        cli_write_names(predict->out, &predict->answers);
    while (got == 1) {
        got = cli_batch_read(predict, &err);
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
