/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows as klr-scale writes them. A feature that a row lacks is 0, which may be
 * scaled to something else: all that columns write for 0 is prepared once, so
 * that a row copies what stands between two of its features.
 */
#include "cli/scale/scale_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* ---- Numbers as text ---- */

static int format_feature(const struct cli_scaled_rows *w,
                          char text[KLR_REAL_SIZE], double v)
{
    return w->exact ? klr_format_real(text, v) : klr_format_six(text, v);
}

/* "%.17g", as svm-scale writes labels. */
static const struct cli_label_text *format_label(struct cli_scaled_rows *w,
                                                 double label)
{
    uint64_t bits;
    memcpy(&bits, &label, sizeof bits);
    struct cli_label_text *text =
        &w->label[(bits * 0x9E3779B97F4A7C15) >> 58]; /* of 64 */
    if (text->length == 0 || memcmp(&text->label, &label, sizeof label) != 0) {
        text->label = label;
        text->length =
            w->exact ? klr_format_real(text->text, label)
                     : snprintf(text->text, sizeof text->text, "%.17g", label);
    }
    return text;
}

/* ---- Columns ---- */

/* The value v of column i, scaled. */
static int map_feature(const struct cli_scaled_rows *w, size_t i, double v,
                       double *scaled, struct klr_error *err)
{
    const struct klr_scaling *features = &w->scaling->features;
    return klr_scaling_map(features, &features->column[i], v, scaled, err);
}

/* Append what column i writes for 0, which is scaled to `zero`. */
static int prepare_zero(struct cli_scaled_rows *w, size_t i, double zero,
                        struct klr_error *err)
{
    const struct cli_column_text *text = &w->text[i];
    char number[KLR_REAL_SIZE];
    int length = format_feature(w, number, zero);
    size_t need = w->zeros_length + text->length + (size_t)length + 1;
    if (KLR_GROW(w->zeros, w->zeros_capacity, need, err))
        return KLR_E_MEMORY;
    char *zeros = w->zeros + w->zeros_length;
    memcpy(zeros, text->name, text->length);
    memcpy(zeros + text->length, number, (size_t)length);
    zeros[text->length + (size_t)length] = ' ';
    w->zeros_length = need;
    return 0;
}

int cli_scaled_rows_prepare(struct cli_scaled_rows *w, struct klr_error *err)
{
    size_t columns = w->scaling->features.columns;
    size_t nonzeros = 0, beyond = 0;
    struct cli_column_text *text = klr_alloc(columns + 1, sizeof *text, err);
    if (!text)
        return KLR_E_MEMORY;
    w->text = text;
    for (size_t i = 0; i < columns; i++) {
        text[i].length = (size_t)sprintf(
            text[i].name, "%d:", w->scaling->features.column[i].index);
        text[i].zero = w->zeros_length;
        text[i].nonzeros = nonzeros;
        text[i].beyond = beyond;
        double zero;
        if (map_feature(w, i, 0, &zero, NULL))
            beyond++;
        else if (zero != 0 && prepare_zero(w, i, zero, err))
            return KLR_E_MEMORY;
        nonzeros += w->zeros_length > text[i].zero;
    }
    text[columns].zero = w->zeros_length;
    text[columns].nonzeros = nonzeros;
    text[columns].beyond = beyond;
    return 0;
}

/* ---- Rows ---- */

/* Columns begin <= i < end, which the row lacks. */
static int put_zeros(struct cli_scaled_rows *w, struct klr_output *out,
                     size_t begin, size_t end, struct klr_error *err)
{
    const struct cli_column_text *from = &w->text[begin];
    const struct cli_column_text *to = &w->text[end];
    double zero;
    int code = 0;
    if (from->beyond != to->beyond)
        while (!(code = map_feature(w, begin, 0, &zero, err)))
            begin++;
    if (code || from->zero == to->zero)
        return code;
    klr_put(out, w->zeros + from->zero, to->zero - from->zero);
    w->nonzeros_written += to->nonzeros - from->nonzeros;
    return 0;
}

/* The value v of column i. */
static int put_feature(struct cli_scaled_rows *w, struct klr_output *out,
                       size_t i, double v, struct klr_error *err)
{
    const struct cli_column_text *name = &w->text[i];
    char text[sizeof name->name + KLR_REAL_SIZE];
    double scaled;
    int code = map_feature(w, i, v, &scaled, err);
    if (code || scaled == 0)
        return code;
    memcpy(text, name->name, sizeof name->name);
    size_t length = name->length;
    length += (size_t)format_feature(w, text + length, scaled);
    text[length++] = ' ';
    klr_put(out, text, length);
    w->nonzeros_written++;
    return 0;
}

/* A feature that the range file lacks is watched: whether it changes. */
static int put_features(struct cli_scaled_rows *w, struct klr_output *out,
                        const struct klr_row *row, struct klr_error *err)
{
    size_t next = 0; /* column */
    for (size_t i = 0; i < row->count; i++) {
        double v = row->value[i];
        struct klr_scaling_feature *feature =
            klr_scaling_feature(&w->scaling->features, row->index[i], err);
        if (!feature)
            return KLR_E_MEMORY;
        if (!feature->known)
            klr_scaling_see(feature, v, false);
        if (feature->column == 0)
            continue;
        int code = put_zeros(w, out, next, feature->column - 1, err);
        next = feature->column;
        if (!code)
            code = put_feature(w, out, next - 1, v, err);
        if (code)
            return code;
    }
    w->nonzeros_read += row->count;
    return put_zeros(w, out, next, w->scaling->features.columns, err);
}

/* Names stay as they are. */
static int put_label(struct cli_scaled_rows *w, struct klr_output *out,
                     const struct klr_row *row, struct klr_error *err)
{
    double label = row->label;
    if (w->scaling->has_y)
        label = klr_limits_map(w->scaling->y, label);
    if (!isfinite(label))
        return klr_fail(err, KLR_E_DATA, "the label %g is scaled out of range",
                        row->label);
    if (w->string_labels) {
        klr_put(out, row->label_text, row->label_length);
    } else {
        const struct cli_label_text *text = format_label(w, label);
        klr_put(out, text->text, (size_t)text->length);
    }
    klr_put(out, " ", 1);
    return 0;
}

int cli_scaled_rows_put(struct cli_scaled_rows *w, struct klr_output *out,
                        const struct klr_row *row, struct klr_error *err)
{
    int code = row->has_label ? put_label(w, out, row, err) : 0;
    if (!code)
        code = put_features(w, out, row, err);
    w->has_qid |= row->has_qid;
    if (code == KLR_E_DATA)
        err->line = row->line.number;
    klr_put(out, "\n", 1);
    return code;
}

void cli_scaled_rows_free(struct cli_scaled_rows *w)
{
    klr_free(w->text);
    klr_free(w->zeros);
}
