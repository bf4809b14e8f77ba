/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the three programs share: command line, messages, signals, progress.
 */
#ifndef KLR_CLI_CLI_H
#define KLR_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/features/feature_table.h"
#include "base/numbers.h"
#include "base/option.h"
#include "base/text.h"
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
    const char *examples;      /* shown at the end of help, or NULL */
    struct klr_text *given;    /* gets " name " of each option that is given; to
                                  be freed; or NULL */
    struct klr_text *warnings; /* keeps those of cli_warn as JSON has them; to
                                  be freed; NULL: they are not kept */
};

/* Presets all structs, then reads the command line. "-x value", "--name value"
 * and "--name=value"; options and operands in any order; "--" ends options;
 * "-" is an operand. --help and --version print to stdout. Without any
 * argument: a short usage on stderr, CLI_USAGE.
 * A stack that is too small is refused.
 * Returns -1 to go on, else the exit status. operand[] (max_operands + 1) gets
 * the operands, ended by NULL. */
int cli_parse(const struct cli_program *program, int argc, char **argv,
              const char **operand);

/* "NAME: FILE:line:column: message" on stderr (file may be NULL; "-" becomes
 * "stdin"), and the exit status for the code: CLI_USAGE or CLI_FAILURE; of
 * KLR_E_PIPE that of SIGPIPE, and nothing is said. */
int cli_fail(const struct cli_program *program, const char *file,
             const struct klr_error *err);
/* How messages call a file that is read, "-" being "stdin", and one that is
 * written, "-" being "stdout". */
const char *cli_input_name(const char *path);
const char *cli_output_name(const char *path);
void cli_warn(const struct cli_program *program, const char *format, ...)
    KLR_PRINTF(2, 3);
/* "warnings": [...] for a line of JSON, and `after`: all of them so far. null,
 * if memory was too short to keep them: cli_finish fails then. */
void cli_json_warnings(const struct cli_program *program, const char *after);

/* Print a text, such as a name of a file, with \xNN for each byte that is not
 * printable UTF-8. */
void cli_print_visibly(FILE *out, const char *text);

/* From now on signals that would end the program, all but those of a crash,
 * remove unfinished output files and exit at once with 128 + their number; one
 * ignored at the start stays so. SIGPIPE and SIGXFSZ are ignored, so that a
 * closed pipe and a file beyond the limit of its size become errors of the
 * write. A closed pipe ends the program as the signal would, without a
 * message. */
void cli_catch_signals(void);
/* From now on the first is only remembered, the second exits. */
void cli_defer_signals(void);
int cli_signal(void); /* the signal that came, or 0 */

/* A klr_progress_fn. On a terminal it redraws one line, cut to fit. Elsewhere
 * it prints a line at most every ten seconds, after the first second, and at
 * most 32 KB in all. It asks to stop after a signal. `context` is a struct
 * cli_progress, zero but for its name. */
struct cli_progress {
    const char *name; /* of the program */
    bool quiet;
    bool shown;     /* a line stands on the terminal */
    double next;    /* line, in seconds from the start */
    size_t written; /* bytes */
};
int cli_progress(const struct klr_progress *progress, void *context);
/* Show on a terminal, ten times a second, how many rows are done after so many
 * seconds; `what` names what is counted. */
void cli_progress_rows(struct cli_progress *progress, const char *what,
                       unsigned long long rows, double seconds);
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
/* Write the end of a line, without its line feed: the label, then probabilities
 * (classes) and decision values (decisions); either may be NULL. */
void cli_write_answer(struct klr_output *out, const struct cli_answers *answers,
                      double label, const double *probability,
                      const double *decision, size_t decisions);

/* Counts of the features of a model's support vectors and of a test set's rows.
 * All zero at first. */
struct cli_feature_use {
    struct klr_feature_table features;
    struct cli_feature_counts *counts; /* (features.count) */
    size_t room;
    unsigned long long vectors, rows;
};
struct cli_some_features {
    size_t count, first; /* the least index */
};

/* Vectors of the model, or rows of the test set. KLR_E_MEMORY. */
int cli_feature_use_add(struct cli_feature_use *use,
                        const struct klr_features *x, bool vectors,
                        struct klr_error *err);
/* Features (count) that the model knows otherwise; true of one that it knows.
 * */
int cli_feature_use_know(struct cli_feature_use *use, const int *index,
                         size_t count, struct klr_error *err);
bool cli_feature_use_knows(const struct cli_feature_use *use, int index);
/* Features on one side that one would expect on the other: missing in the test
 * set, and unseen by the model. */
void cli_feature_use_compare(const struct cli_feature_use *use,
                             struct cli_some_features *missing,
                             struct cli_some_features *unseen);
void cli_feature_use_free(struct cli_feature_use *use);

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

/* Read the file into n and value; KLR_E_DATA names a line that is no value.
 * Free `value` in any case. */
int cli_values_read(struct cli_values *values, const char *path,
                    struct klr_error *err);
/* Weights: doubles above 0. */
int cli_weights_read(struct cli_values *weights, const char *path,
                     struct klr_error *err);

/* Rows of the data: size_t, from 0. KLR_E_DATA for none, too. */
int cli_points_read(struct cli_values *points, const char *path,
                    struct klr_error *err);

/* Folds of examples, from a file. */
struct cli_folds {
    size_t n;          /* examples */
    long long *number; /* (n) as in the file */
    size_t count;      /* folds */
    long long *name;   /* (count) the numbers, ascending */
    size_t *fold;      /* (n) indices of name */
};

/* KLR_E_DATA for a line that is no number, and for fewer than two folds. Free
 * it in any case. */
int cli_folds_read(struct cli_folds *folds, const char *path,
                   struct klr_error *err);
void cli_folds_free(struct cli_folds *folds);

/* Write the held-out predictions of examples with the labels `truth` (n).
 * `folds` has the numbers of the folds if it is of n examples; else they are
 * numbered from 1. KLR_E_IO, KLR_E_MEMORY. */
int cli_write_held_out(const char *path, const struct klr_held_out *held_out,
                       const double *truth, const struct cli_answers *answers,
                       const struct cli_folds *folds, struct klr_error *err);

/* Print a line for each known metric but the accuracy: log loss, Brier score
 * and AUC, or `all` metrics. */
void cli_print_metrics(FILE *out, const struct klr_metric_values *values,
                       bool all);
/* `answers` are the labels of the metrics. */
void cli_print_confusion(FILE *out, const struct klr_metrics *metrics,
                         const struct cli_answers *answers);
/* Examples with a label that the metrics have not. */
unsigned long long cli_count_others(const struct klr_metrics *metrics);
/* The label given to all examples although they have several, or NULL; and the
 * warning about it. */
const char *cli_single_answer(const struct klr_metrics *metrics,
                              const struct cli_answers *answers);
#define CLI_SINGLE_ANSWER                                                      \
    "all examples are answered as class %s: "                                  \
    "the accuracy is the share of that class"
/* Warn if points were to be compared by one metric, and another one does it:
 * see klr_metric_among. */
void cli_warn_metric(const struct cli_program *program, enum klr_metric asked,
                     enum klr_metric chooses);
/* Write the parameters of point t that vary over the grid, as "gamma = 0.5, C =
 * 10", or ""; returns the length. */
enum { CLI_POINT_SIZE = 128 };
size_t cli_point_text(const struct klr_params *params, size_t t,
                      char text[CLI_POINT_SIZE]);
/* Support vectors of the models of the folds, in the mean. */
double cli_mean_vectors(const struct klr_params *params,
                        const struct klr_report *report);
/* Print a row for each point of a validation. The columns are the parameters
 * that vary, the accuracy, the metrics above and the one that decides, its
 * standard error, and the number of support vectors; with `all`, all metrics
 * and their errors. "-" stands for what is not known. The best point is marked,
 * and has a line of its own below. */
void cli_print_table(FILE *out, const struct klr_params *params,
                     const struct klr_validation *validation, bool all);

/* A line of text, or of JSON with the program's warnings, on stdout. */
void cli_print_spectrum(const struct cli_program *program,
                        const struct klr_spectrum *spectrum, bool json);

/* Print '"key": value' and `after` on stdout for a line of JSON; null for a
 * value that is not finite. */
void cli_json_real(const char *key, double value, const char *after);
void cli_write_json_real(FILE *out, const char *key, double value,
                         const char *after);
/* All metrics, likewise. */
void cli_json_metrics(const struct klr_metric_values *values,
                      const char *after);
void cli_write_json_metrics(FILE *out, const struct klr_metric_values *values,
                            const char *after);
/* Print three members: "labels"; "confusion", an array with a row for each true
 * label; and "other_labels", the number of examples that have none of these. */
void cli_json_confusion(const struct klr_metrics *metrics,
                        const struct cli_answers *answers, const char *after);

/* ---- Costs of errors ---- */

/* Read "FP,FN": the costs of taking the second of two classes for the first,
 * and the first for the second; not negative, not both 0. False for other
 * texts. */
bool cli_costs_parse(const char *text, double cost[2]);
/* Read such a text, or a file as docs/FORMAT.md, section 4, has it, into *cost
 * (classes, classes), to be freed in any case. KLR_E_USAGE for a text where
 * there are more classes, KLR_E_DATA and KLR_E_IO for a file. */
int cli_costs_read(double **cost, const char *given,
                   const struct cli_answers *answers, struct klr_error *err);
/* The mean cost over the examples whose label the model knows; NaN without
 * any. */
double cli_mean_cost(const struct klr_metrics *metrics, const double *cost);

/* Write out what stdout holds; a failure (a full disk) is reported and gives
 * CLI_FAILURE, as do warnings that were not kept for want of memory. A closed
 * pipe gives the exit status of SIGPIPE, else `status` is returned. */
int cli_finish(const struct cli_program *program, int status);

#endif
