/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How klr-scale scales a data set: learnt from its rows, or as a range file
 * says it (docs/FORMAT.md, section 3).
 */
#ifndef KLR_CLI_SCALING_H
#define KLR_CLI_SCALING_H

#include "base/features/scaling.h"
#include "solver.h"

/* All zero at first. */
struct cli_scaling {
    struct klr_scaling features;
    bool has_y; /* labels are scaled */
    struct klr_limits y;
};

/* See all rows; then columns are those features that change. `reader` keeps
 * its text and starts again. Calls told(rows, context) after each. KLR_E_DATA
 * where there is nothing to learn. */
int cli_scaling_learn(struct cli_scaling *scaling, struct klr_reader *reader,
                      klr_rows_fn *told, void *context, struct klr_error *err);

void cli_ranges_write(const struct cli_scaling *scaling,
                      struct klr_output *out);
/* Into a scaling that is all zero; KLR_E_DATA with the line. */
int cli_ranges_restore(struct cli_scaling *scaling, const char *path,
                       struct klr_error *err);

/* ---- rows that are scaled: see scaled_rows.c ---- */

/* How a column of the scaling is written. */
struct cli_column_text {
    char name[16]; /* "index:" */
    size_t length;
    size_t zero; /* where what is written for 0 begins in `zeros` */
    /* Columns before this one that write something for 0, that cannot. */
    size_t nonzeros, beyond;
};

/* A label and how it is written; few labels come again and again. */
struct cli_label_text {
    double label;
    int length;
    char text[KLR_REAL_SIZE];
};
enum { CLI_LABEL_TEXTS = 64 };

/* The first three fields are set, all else is 0. */
struct cli_scaled_rows {
    struct cli_scaling *scaling; /* features that it lacks are noted there */
    bool exact, string_labels;   /* how numbers are written; labels are names */
    struct cli_column_text *text; /* (columns + 1); the last is an end */
    char *zeros; /* what is written for 0, column after column */
    size_t zeros_length, zeros_capacity;
    struct cli_label_text label[CLI_LABEL_TEXTS];
    size_t nonzeros_read, nonzeros_written;
    bool has_qid;
};

/* Before the first row, once the columns are known; free it in any case.
 * KLR_E_MEMORY. */
int cli_scaled_rows_prepare(struct cli_scaled_rows *w, struct klr_error *err);
/* Write a row as a line. KLR_E_DATA with the line; KLR_E_MEMORY. */
int cli_scaled_rows_put(struct cli_scaled_rows *w, struct klr_output *out,
                        const struct klr_row *row, struct klr_error *err);
void cli_scaled_rows_free(struct cli_scaled_rows *w);

#endif
