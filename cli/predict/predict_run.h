/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run of klr-predict, and its steps.
 */
#ifndef KLR_CLI_PREDICT_H
#define KLR_CLI_PREDICT_H

#include "cli/cli.h"
#include "solver.h"

/* For -b. */
enum { PREDICT_LABELS, PREDICT_PROBABILITIES, PREDICT_AUTO };
/* For --id. */
enum { PREDICT_NO_ID, PREDICT_COMMENT, PREDICT_FIRST };

struct cli_predict_options {
    int probability; /* -b */
    int decision, unlabelled, quiet, json, metrics;
    long long threads;
    int keep_going, no_header;
    int id; /* --id */
    double threshold;
    const char *cost;
};

/* Rows that wait for their answers. */
struct cli_batch {
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

struct cli_predict {
    struct cli_predict_options options;
    const struct cli_program *program;
    const char *data, *model_path, *output;
    struct klr_model *model;
    struct klr_predictor *predictor;
    struct klr_metrics *metrics;
    struct klr_reader *reader;
    struct klr_output *out;
    struct cli_batch batch;
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

/* Read the model and make ready what depends on it: see load_model.c. -1, or
 * the exit status. */
int cli_predict_load(struct cli_predict *predict);
/* Open the test set and the output. -1, or the exit status. */
int cli_predict_open(struct cli_predict *predict);
/* Answer all rows: see answer_rows.c. -1, or the exit status. Whatever goes
 * wrong, the rows before it have gone out where the output is a pipe. */
int cli_predict_all(struct cli_predict *predict);
/* Commit the output, warn and print metrics: see predict_report.c. The exit
 * status. */
int cli_predict_finish(struct cli_predict *predict);

/* ---- rows that wait: see read_rows.c ---- */

/* Free it in any case. KLR_E_MEMORY. */
int cli_batch_create(struct cli_batch *batch, const struct klr_model *model,
                     struct klr_error *err);
void cli_batch_free(struct cli_batch *batch);
/* Gather rows until the batch is full or the next one would have to be waited
 * for. 1: there may be more, 0: the end, or minus a code. */
int cli_batch_read(struct cli_predict *predict, struct klr_error *err);
/* Row i of the batch cannot be answered. */
void cli_predict_tell_bad(struct cli_predict *predict, size_t i,
                          const struct klr_error *err);

#endif
