/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run of klr-train: its steps, and what is told of it.
 */
#ifndef KLR_CLI_TRAIN_H
#define KLR_CLI_TRAIN_H

#include "base/text.h"
#include "cli/cli.h"
#include "solver.h"

/* Options that are the program's, not the library's. */
struct cli_train_options {
    int check_kernel, quiet, json, sv_indices, keep_sv, metrics, scale, resume,
        stamp, automatic;
    const char *folds_file, *cv_out, *weights, *feature_names, *error_cost,
        *points, *log, *part, *from;
    long long only_fold, only_pair; /* 0: all */
};

/* Of the option --scale, beside enum klr_scale: it is left to --auto. */
enum { CLI_SCALE_AUTO = KLR_SCALE_STANDARD + 1 };

struct cli_train {
    struct klr_params params;
    struct cli_train_options options;
    size_t weight_capacity;
    const char *data;
    size_t models;              /* to be written */
    char *path[KLR_REALS_MOST]; /* (models) owned */
    struct klr_problem problem;
    struct klr_model *model[KLR_REALS_MOST];
    struct klr_report report[KLR_REALS_MOST]; /* for each C */
    struct cli_folds folds;                   /* of --folds-file */
    struct cli_values weights;                /* of --weights */
    struct klr_names *features;               /* of --feature-names */
    struct cli_values points;                 /* of --points */
    struct klr_model *from;                   /* of --from, and ... */
    struct klr_text from_text;                /* ... its options */
    struct {
        double begin, read, train, write;
    } seconds;
    struct cli_progress progress;
    double cost[2];          /* of --error-cost */
    struct klr_text given;   /* options: see struct cli_program */
    struct klr_text command; /* of --stamp */
    struct klr_text problem_text, files_text; /* see problem_text.c */
    bool cost_is_given, folds_are_left;       /* the latter to --auto */
    enum klr_feature_kind kind;  /* of the features as read, with --auto */
    struct klr_text search_text; /* see search.h */
};

/* ---- The steps: -1 to go on, or the exit status ---- */

/* Refuse all that can be refused without the data: see prepare_run.c. */
int cli_train_prepare(struct cli_train *train,
                      const struct cli_program *program,
                      const char *const *operand);
/* Read the training set: see read_data.c. */
int cli_train_read_data(struct cli_train *train,
                        const struct cli_program *program);

/* ---- The last step: the exit status ---- */

/* Train and write the models: see fit_models.c. */
int cli_train_fit(struct cli_train *train, const struct cli_program *program);
/* And print them as JSON if that is asked for. */
int cli_train_fit_and_report(struct cli_train *train,
                             const struct cli_program *program);
/* Validate, and train the best of several points: see validate_points.c. */
int cli_train_validate(struct cli_train *train,
                       const struct cli_program *program);
/* After every run: its time, the end of its progress, its failure. */
int cli_train_conclude(struct cli_train *train,
                       const struct cli_program *program, double begin,
                       int code, const struct klr_error *err);
/* As cli_fail: errors of the data name the file; those of the options do not.
 */
int cli_train_fail(const struct cli_train *train,
                   const struct cli_program *program,
                   const struct klr_error *err);

/* ---- What is told of it: see run_report.c ---- */

/* True if a model of this name is not kept (/dev/null): only its report
 * counts. */
bool cli_train_unwanted(const char *path);
/* Warn of those of `count` reports whose solvers did not converge, for reasons
 * up to `most`, the first few in full. `what` names the consequences. */
void cli_train_warn(const struct cli_train *train,
                    const struct cli_program *program,
                    const struct klr_report *report, size_t count,
                    enum klr_status most, const char *what);
/* Warn of models of smo whose gap tells nothing, though they converged. */
void cli_train_warn_far(const struct cli_train *train,
                        const struct cli_program *program);
/* Warn of models for which there was no time at all. */
void cli_train_warn_empty(const struct cli_train *train,
                          const struct cli_program *program);
/* Warn of a validation that did not converge, and of what the clock left
 * out. */
void cli_train_warn_cut(const struct cli_train *train,
                        const struct cli_program *program,
                        const struct klr_validation *validation);
/* Warnings of the notes that reports have. */
void cli_train_notes(const struct cli_train *train,
                     const struct cli_program *program,
                     const struct klr_report *report, size_t count);
/* Warn of doubtful data, before training. KLR_E_MEMORY. */
int cli_train_warn_data(const struct cli_train *train,
                        const struct cli_program *program,
                        struct klr_error *err);
/* "40 minutes", "3 hours", "2 days". */
enum { CLI_TIME_SIZE = 32 };
const char *cli_train_time(double seconds, char text[CLI_TIME_SIZE]);
/* Warn of a doubtful choice of parameters; `answers` are the labels of the
 * metrics. */
void cli_train_warn_validation(const struct cli_train *train,
                               const struct cli_program *program,
                               const struct klr_validation *validation,
                               const struct cli_answers *answers);
/* On stderr: one model in three lines, several in one each. */
void cli_train_summary(const struct cli_train *train,
                       const struct cli_program *program);
/* Print the bounds that --lambda-bound asks for. */
void cli_train_bounds(const struct cli_train *train);

/* Print the metrics of the best point, after a table where there are several
 * points; nothing where no metric is known. */
void cli_train_validation(const struct cli_train *train,
                          const struct klr_validation *validation,
                          const struct cli_answers *answers);

/* True if a validation is to print thresholds. */
bool cli_train_wants_cuts(const struct cli_train *train);
/* Print the thresholds of the best point: lines, or for JSON "thresholds" and a
 * comma. Nothing unless there are two classes with probabilities. */
int cli_train_cuts(const struct cli_train *train,
                   const struct klr_validation *validation,
                   struct klr_error *err);

/* True if the list, up to a NULL, has the name. */
bool cli_is_listed(const char *name, const char *const *list);

/* Load the model of --from, and take from it what options leave open.
 * KLR_E_USAGE where these contradict it. */
int cli_train_take_model(struct cli_train *train, struct klr_error *err);
/* -wLABEL WEIGHT, named "wLABEL"; `context` is a struct cli_train. KLR_E_USAGE.
 */
int cli_train_take_weight(const char *name, const char *value, void *context,
                          struct klr_error *err);

/* ---- What is validated: see problem_text.c ---- */

/* Put into train->problem_text, to be freed in any case, the members of a JSON
 * object without its braces: all that the results of a gamma depend on, but
 * gamma. Equal texts mean equal results. Put into files_text, likewise, the
 * files of the command line that a training with these options needs.
 * KLR_E_MEMORY. */
int cli_train_describe(struct cli_train *train, struct klr_error *err);
/* Write the first member in which the text of another problem differs, as "seed
 * is 1, here 2"; false if there is none. */
enum { CLI_DIFFERENCE_SIZE = 160 };
bool cli_train_difference(const char *other, const char *ours,
                          char text[CLI_DIFFERENCE_SIZE]);

/* ---- JSON on stdout ---- */

/* Write gamma and lambda where they are given, each with a comma; `before`
 * stands before each key, such as "best_"; null unless `known`. */
void cli_train_write_parameters(FILE *out, const struct klr_params *one,
                                const char *before, bool known);
/* The beginning of the object of a point, without its end. */
void cli_train_write_point(FILE *out, const struct klr_params *one,
                           const struct klr_report *report,
                           const struct klr_metric_values *values,
                           const struct klr_metric_values *error);

/* An object for each model; an array where there are several. */
void cli_train_json_models(const struct cli_train *train,
                           const struct cli_program *program);
/* The beginnings of an object: of the t-th model, of a validation; ... */
void cli_train_json_model(const struct cli_train *train, size_t t);
void cli_train_json_validation(const struct cli_train *train,
                               const struct klr_validation *validation,
                               const struct cli_answers *answers);
/* ... and the end of one, which has the warnings and the times. */
void cli_train_json_end(const struct cli_train *train,
                        const struct cli_program *program);

#endif
