/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the three programs share: command line, messages, signals, progress.
 */
#ifndef KLR_CLI_CLI_H
#define KLR_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/numbers.h"
#include "base/option.h"
#include "solver.h"

enum {
    CLI_OK = 0,
    CLI_FAILURE = 1,      /* a runtime or data error */
    CLI_USAGE = 2,        /* the command line is wrong */
    CLI_INTERRUPTED = 128 /* + the signal's number */
};

/* Option tables (ended by NULL) and beside each the struct it fills. */
struct cli_program {
    const char *name;     /* "klr-train" */
    const char *purpose;  /* one line for help */
    const char *operands; /* "training_set [model]", for usage */
    int min_operands, max_operands;
    const struct klr_option *const *tables;
    void *const *bases;
    /* Takes a KLR_REPEATED option: `name` is its letter, with what is attached
     * to it ("w1") where the option has no long name; `value` its argument,
     * called once for each. 0 or KLR_E_USAGE. May be NULL. */
    int (*repeated)(const char *name, const char *value, void *context,
                    struct klr_error *err);
    void *context;
    const char *examples; /* shown at the end of help, or NULL */
};

/* Presets all structs, then reads the command line. "-x value", "--name value"
 * and "--name=value"; options and operands in any order; "--" ends options;
 * "-" is an operand. --help and --version print to stdout. Without any
 * argument: a short usage on stderr, CLI_USAGE.
 * Returns -1 to go on, else the exit status. operand[] (max_operands + 1) gets
 * the operands, ended by NULL. */
int cli_parse(const struct cli_program *program, int argc, char **argv,
              const char **operand);

/* "NAME: FILE:line:column: message" on stderr (file may be NULL; "-" becomes
 * "stdin"), and the exit status for the code: CLI_USAGE or CLI_FAILURE. */
int cli_fail(const struct cli_program *program, const char *file,
             const struct klr_error *err);
/* How messages call a file that is read, "-" being "stdin", and one that is
 * written, "-" being "stdout". */
const char *cli_input_name(const char *path);
const char *cli_output_name(const char *path);
void cli_warn(const struct cli_program *program, const char *format, ...)
    KLR_PRINTF(2, 3);

/* What is no printable UTF-8, as names of files may have it, as \xNN. */
void cli_print_visibly(FILE *out, const char *text);

/* From now on signals that would end the program, SIGTERM as SIGXCPU, remove
 * unfinished output files and exit at once with 128 + their number; one ignored
 * at the start stays so. SIGPIPE and SIGXFSZ are ignored, so that a closed pipe
 * and a file beyond the limit of its size are errors of the write. */
void cli_catch_signals(void);
/* From now on the first is only remembered, the second exits. */
void cli_defer_signals(void);
int cli_signal(void); /* the signal that came, or 0 */

/* A klr_progress_fn: on a terminal one line redrawn, elsewhere, after the first
 * second, a line at most every ten and at most 32 KB in all; stops after a
 * signal. `context` is a struct cli_progress, zero but for its name. */
struct cli_progress {
    const char *name; /* of the program */
    bool quiet;
    bool shown;     /* a line stands on the terminal */
    double next;    /* line, in seconds from the start */
    size_t written; /* bytes */
};
int cli_progress(const struct klr_progress *progress, void *context);
/* On a terminal alone, ten times a second: how many rows have had their turn
 * after so many seconds. */
void cli_progress_rows(struct cli_progress *progress, unsigned long long rows,
                       double seconds);
void cli_progress_end(struct cli_progress *progress); /* clears the line */

/* Labels as they are printed, all of a model's. */
struct cli_answers {
    size_t classes;
    const double *label;           /* (classes) the caller's */
    char (*number)[KLR_REAL_SIZE]; /* (classes) */
    const char **text;             /* (classes) */
    bool named;                    /* they are names, else numbers */
};

/* `names` may be NULL, and stays the caller's. */
int cli_answers_create(struct cli_answers *answers, size_t classes,
                       const double *label, const struct klr_names *names,
                       struct klr_error *err);
void cli_answers_free(struct cli_answers *answers);
/* One of the labels. */
const char *cli_label_text(const struct cli_answers *answers, double label);
/* The line that names the columns of probabilities. */
void cli_write_names(struct klr_output *out, const struct cli_answers *answers);
/* The end of a line: a label of these, probabilities (classes) unless NULL,
 * decision values (decisions) unless NULL. */
void cli_write_answer(struct klr_output *out, const struct cli_answers *answers,
                      double label, const double *probability,
                      const double *decision, size_t decisions);

/* Values of examples from a file, a line each. */
struct cli_values {
    size_t size;      /* of a value, in bytes */
    const char *what; /* a line must be: "a number above 0" */
    /* Reads text .. end, which has no blanks at its ends, into *value; returns
     * `end` if all of it is a value, anything else if it is none. */
    const char *(*parse)(const char *text, const char *end, void *value);
    size_t n;
    void *value; /* (n) */
};

/* Into n and value; KLR_E_DATA with the line of what is no value. `value` is to
 * be freed in any case. */
int cli_values_read(struct cli_values *values, const char *path,
                    struct klr_error *err);
/* Weights: doubles above 0. */
int cli_weights_read(struct cli_values *weights, const char *path,
                     struct klr_error *err);

/* Folds of examples, from a file. */
struct cli_folds {
    size_t n;          /* examples */
    long long *number; /* (n) as in the file */
    size_t count;      /* folds */
    long long *name;   /* (count) the numbers, ascending */
    size_t *fold;      /* (n) indices of name */
};

/* KLR_E_DATA with the line of what is no number, and for less than two folds.
 * To be freed in any case. */
int cli_folds_read(struct cli_folds *folds, const char *path,
                   struct klr_error *err);
void cli_folds_free(struct cli_folds *folds);

/* What was predicted for examples of labels `truth` (n), by a model of these
 * labels. `folds` names the folds, if it is of n examples, else they are
 * numbers from 1. */
int cli_write_held_out(const char *path, const struct klr_held_out *held_out,
                       const double *truth, const struct cli_answers *answers,
                       const struct cli_folds *folds, struct klr_error *err);

/* The metrics but for the accuracy, a line each, of those that are known: log
 * loss, Brier score and AUC, or `all`. */
void cli_print_metrics(FILE *out, const struct klr_metric_values *values,
                       bool all);
/* `answers` are the labels of the metrics. */
void cli_print_confusion(FILE *out, const struct klr_metrics *metrics,
                         const struct cli_answers *answers);
/* Examples with a label that the metrics have not. */
unsigned long long cli_count_others(const struct klr_metrics *metrics);
/* "gamma = 0.5, C = 10": the parameters of the t-th point that vary over the
 * grid, or ""; returns the length. */
enum { CLI_POINT_SIZE = 128 };
size_t cli_point_text(const struct klr_params *params, size_t t,
                      char text[CLI_POINT_SIZE]);
/* A row for each point of a validation, with the parameters that vary, and in
 * columns the accuracy, these three and the metric, or `all`; that of the best
 * is marked, and told again in a line. */
void cli_print_table(FILE *out, const struct klr_params *params,
                     const struct klr_validation *validation, bool all);

/* A line of text or of JSON on stdout. */
void cli_print_spectrum(const struct klr_spectrum *spectrum, bool json);

/* '"key": value' on stdout for a line of JSON; null if the value is not finite.
 * `after` follows. */
void cli_json_real(const char *key, double value, const char *after);
/* All metrics, likewise. */
void cli_json_metrics(const struct klr_metric_values *values,
                      const char *after);
/* "labels", "confusion", an array of rows, one for each true label, and
 * "other_labels", how many examples have none of these. */
void cli_json_confusion(const struct klr_metrics *metrics,
                        const struct cli_answers *answers, const char *after);

/* Write out what stdout holds; a failure (a full disk, a closed pipe) is
 * reported and gives CLI_FAILURE, else `status` is returned. */
int cli_finish(const struct cli_program *program, int status);

#endif
