/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows in: klr-predict gathers them into a batch while input is there.
 */
#include "cli/predict/predict_run.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* A batch is full with so many rows, features or decision values. */
enum { BATCH_ROWS = 1024, BATCH_FEATURES = 1 << 20, BATCH_VALUES = 1 << 20 };

int cli_batch_create(struct cli_batch *batch, const struct klr_model *model,
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

void cli_batch_free(struct cli_batch *batch)
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

/* The name of the row, wherever it is, becomes that of the next row. */
static int batch_name(struct cli_batch *batch, const struct klr_row *row,
                      int id, struct klr_error *err)
{
    struct klr_line name = row->line;
    size_t begin = batch->id[batch->rows];
    const char *mark = memchr(name.text, '#', (size_t)(name.end - name.text));
    if (id == PREDICT_FIRST) {
        name.text = row->id;
        name.end = row->id + row->id_length;
    } else {
        name.text = id == PREDICT_COMMENT && mark ? mark + 1 : name.end;
    }
    klr_line_trim(&name);
    size_t length = (size_t)(name.end - name.text);
    if (KLR_GROW(batch->text, batch->text_room, begin + length, err))
        return KLR_E_MEMORY;
    memcpy(batch->text + begin, name.text, length);
    batch->id[batch->rows + 1] = begin + length;
    return 0;
}

static int batch_add(struct cli_batch *batch, const struct klr_row *row,
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

void cli_predict_tell_bad(struct cli_predict *predict, size_t i,
                          const struct klr_error *err)
{
    cli_progress_end(&predict->progress);
    cli_fail(predict->program, predict->data, err);
    predict->batch.bad[i] = true;
    predict->bad++;
}

/* Count the row if it has a feature that the model lacks. */
static void note_unseen(struct cli_predict *predict, const struct klr_row *row)
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
static int batch_next(struct cli_predict *predict, struct klr_error *err)
{
    struct klr_row row = {.count = 0};
    struct klr_error refusal;
    struct cli_batch *batch = &predict->batch;
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
        cli_predict_tell_bad(predict, batch->rows - 1, &refusal);
    else if (predict->use.features.count > 0)
        note_unseen(predict, &row);
    predict->has_qid |= row.has_qid;
    return 1;
}

int cli_batch_read(struct cli_predict *predict, struct klr_error *err)
{
    struct cli_batch *batch = &predict->batch;
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
