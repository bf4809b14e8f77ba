/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel classifiers with probabilities: read examples, train, save and load
 * models, predict, validate.
 *
 * Inputs are plain structs, results are opaque. Functions return 0 or a code
 * of base/error.h and describe a failure in their last argument: KLR_E_MEMORY,
 * and what is named at each. An object that is made into *out is the caller's,
 * who gives it to the _free or _close beside it, which take NULL, too; after a
 * failure *out is NULL. Nothing here exits, prints, reads the locale or keeps
 * global state; two threads may use different objects at the same time, and
 * predictors of one model.
 *
 * Primary:    klr_problem_read, klr_problem_scale, klr_params_init, klr_train,
 *             klr_model_save, klr_model_load, klr_predictor_create,
 *             klr_predict
 * Secondary:  klr_params_check, klr_cross_validate, klr_best_values,
 *             klr_metrics_*, klr_kernel_spectrum, klr_problem_spread
 * Tertiary:   klr_reader_*, klr_label_text, klr_model_*
 *
 * Notation (docs/NOTATION.md): n examples x_i with y_i = +1 or -1, Gram matrix
 * K, coefficients beta, decision value f(x) = sum_j beta_j k(x_j, x) - rho.
 */
#ifndef KLR_SOLVER_H
#define KLR_SOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/input.h"
#include "base/numbers.h"
#include "base/option.h"
#include "base/output.h"
#include "kernel.h"

#define KLR_VERSION "0.1.0"

/* ---- Labels ---- */

/* Classes have labels, which are numbers. Where files have names in their place
 * (KLR_READ_NAMES), a label is the index of its name, from 0 in ascending
 * order, byte by byte. NULL: labels are the numbers of the files. */
struct klr_names;

/* How a label is written: its name, or the number into `number`. */
const char *klr_label_text(const struct klr_names *names, double label,
                           char number[KLR_REAL_SIZE]);

/* ---- Examples ---- */

/* One line of a data file. Slices of `line.text`; valid until the next row. */
struct klr_row {
    struct klr_line line;
    bool has_label;
    double label;           /* 0 with KLR_READ_NAMES: then it is the text */
    const char *label_text; /* as written, label_length bytes */
    size_t label_length;
    size_t count;         /* features */
    const int *index;     /* (count), ascending */
    const double *value;  /* (count) */
    const char *features; /* text of the features, without a comment */
    size_t features_length;
    bool has_qid; /* "qid:" was there and was passed over */
};

enum klr_reader_flags {
    KLR_READ_UNLABELLED = 1, /* rows may lack the label: a first token with a
                                colon is a feature */
    KLR_READ_INDEX_ZERO = 2, /* allow index 0 (precomputed kernels) */
    KLR_READ_KEEP = 4,       /* klr_input_open's `keep` */
    KLR_READ_NAMES = 8,      /* labels are names, not numbers */
    KLR_READ_GIVEN = 16,     /* a model says which of both they are: for what is
                                said of labels that are missing, or names */
};

/* The tokenizer of svmlight lines: "label index:value ... # comment". Blank
 * lines and lines of comment only are passed over. docs/FORMAT.md, section 1,
 * gives the grammar and what is refused. */
struct klr_reader;

/* KLR_E_IO. */
int klr_reader_open(struct klr_reader **out, const char *path, int flags,
                    struct klr_error *err);
/* 1 and *row, 0 at the end, or minus a code: KLR_E_IO; KLR_E_DATA with line and
 * column of the offending token, which the message quotes. */
int klr_reader_next(struct klr_reader *reader, struct klr_row *row,
                    struct klr_error *err);
/* True if the next klr_reader_next will have to wait for its row: what stands
 * in front of it has been passed over, the moment to flush one's own output. */
bool klr_reader_would_block(struct klr_reader *reader);
/* The input behind: for klr_input_text and _rewind. */
struct klr_input *klr_reader_input(struct klr_reader *reader);
struct klr_reader *klr_reader_close(struct klr_reader *reader); /* NULL */

/* A data set in memory, rows as in the file. Fill it by klr_problem_read, or
 * by hand, with NULL for what may be so. */
struct klr_problem {
    size_t n;
    int dimension; /* largest index, 0 if there are no features */
    bool has_qid;
    double *label;           /* (n) */
    struct klr_names *names; /* of the labels, or NULL */
    size_t *start;           /* (n + 1) */
    int *index;              /* (start[n]) */
    double *value;           /* (start[n]) */
    long *line;              /* (n) line numbers, or NULL */
    int64_t *text;    /* (n) where the features stand in the input, or NULL */
    uint32_t *length; /* (n) their length in bytes; UINT32_MAX: too long to
                         be copied, to be formatted from the numbers; or NULL */
    struct klr_reader *reader;   /* open on the input, for the text; or NULL */
    struct klr_scaling *scaling; /* by klr_problem_scale, or NULL */
};

/* Read `path` ("-": stdin), with that many threads, 0 as for klr_pool_create,
 * or one if there can be no pool. KLR_E_IO; KLR_E_DATA for malformed lines and
 * for a file without examples. *problem is empty after a failure. */
int klr_problem_read(struct klr_problem *problem, const char *path, int flags,
                     long long threads, struct klr_error *err);
/* What klr_problem_read has filled, which is empty then. */
void klr_problem_free(struct klr_problem *problem);

/* Scale the features of a problem that was read, once, as klr-scale --exact
 * does: to [-1, 1] or to zero mean and unit deviation over all its examples.
 * Models trained on it scale what they are asked about alike. KLR_E_DATA for
 * values that are scaled out of range. A failure leaves it as it was. */
enum klr_scale { KLR_SCALE_NONE, KLR_SCALE_MINMAX, KLR_SCALE_STANDARD };
extern const char *const klr_scale_names[]; /* "none", ..., NULL */
int klr_problem_scale(struct klr_problem *problem, enum klr_scale how,
                      struct klr_error *err);

struct klr_params;

/* How examples lie by an RBF or Laplacian kernel with the gamma that params
 * leave open, 1 / dimension. Far: of 20 examples more than half have a kernel
 * below e^-5 with each of 1000 others, or of all if there are fewer. Near:
 * these differ, but all such kernels are above 1 - 1e-6. Then the features want
 * scaling, or params another gamma. Fewer examples than 20, other kernels, and
 * a gamma that is given, are well. */
enum klr_spread { KLR_SPREAD_WELL, KLR_SPREAD_FAR, KLR_SPREAD_NEAR };
enum klr_spread klr_problem_spread(const struct klr_problem *problem,
                                   const struct klr_params *params);

/* ---- Training ---- */

/* What is minimised: docs/ALGORITHMS.md has the objectives. */
enum klr_model_type {
    KLR_MODEL_KLR,  /* kernel logistic regression: Keerthi et al. (2005) */
    KLR_MODEL_SKLR, /* its sparse variant: Consolo et al. */
    KLR_MODEL_SVM,  /* C-SVC: Lin & Lin (2003), (1) */
    KLR_MODEL_KFD,  /* kernel Fisher discriminant: Mika et al. (2001) */
    KLR_MODEL_IVM,  /* klr on points chosen one by one: Zhu & Hastie (2005) */
    KLR_MODEL_LHALF /* klr with an l1/2 regularizer: Xu et al. */
};
/* How; not every solver trains every model: see solver/systems.c. */
enum klr_solver_type {
    KLR_SOLVER_AUTO,
    KLR_SOLVER_SMO,      /* two coefficients at a time, to second order */
    KLR_SOLVER_NEWTON,   /* truncated Newton */
    KLR_SOLVER_SMO1,     /* Keerthi's smo, to first order */
    KLR_SOLVER_TRIRLS,   /* TR-KLR and TR-IRLS: Maalouf et al. (2011) */
    KLR_SOLVER_CG,       /* nonlinear conjugate gradients */
    KLR_SOLVER_EXACT,    /* kfd in all kernels */
    KLR_SOLVER_GREEDY,   /* ivm, and kfd in few kernels */
    KLR_SOLVER_THRESHOLD /* lhalf by half thresholding */
};
enum klr_regularizer {
    KLR_REGULARIZER_AUTO,
    KLR_REGULARIZER_KERNEL, /* beta'K beta */
    KLR_REGULARIZER_COEF,   /* beta'beta */
};
/* The kernel that joins a greedy kfd: the one of the smallest objective, or of
 * the largest dual infeasibility; Mika et al. (2001), section 4.1.1. */
enum klr_selection { KLR_SELECTION_OBJECTIVE, KLR_SELECTION_INFEASIBILITY };
/* rho of a kfd: where both class means are equally far, or that of a linear svm
 * on the outputs; Mika et al. (2001), section 6. */
enum klr_threshold { KLR_THRESHOLD_MODEL, KLR_THRESHOLD_SVM };
enum klr_multiclass {
    KLR_OVO,     /* one machine for each pair of classes */
    KLR_OVA,     /* one machine for each class against the rest */
    KLR_DDAG,    /* as KLR_OVO, answers by elimination of classes */
    KLR_SOFTMAX, /* a machine for each class, trained together; klr only */
};
/* What makes probabilities of decision values f. */
enum klr_link {
    KLR_LINK_AUTO,       /* by the model: see params.c */
    KLR_LINK_NONE,       /* no probabilities */
    KLR_LINK_SIGMA,      /* 1 / (1 + e^-f) */
    KLR_LINK_SHRUNK,     /* sklr: f / (1 + lambda/2) in place of f */
    KLR_LINK_CONSISTENT, /* sklr: what its loss estimates */
    KLR_LINK_FITTED,     /* a slope */
    KLR_LINK_PLATT,      /* a slope and an intercept */
    KLR_LINK_CHECKED,    /* sigma, or platt where that is better */
    KLR_LINK_GAUSSIAN    /* normal densities of f in either class */
};
/* The decision values that a link is fitted on. */
enum klr_calibration {
    KLR_CALIBRATION_CV,      /* of examples that are held out in turn */
    KLR_CALIBRATION_HOLDOUT, /* of the first of these parts alone */
    KLR_CALIBRATION_TRAINING /* of the training set by its own model */
};
extern const char *const klr_multiclass_names[];  /* "ovo", ..., NULL */
extern const char *const klr_link_names[];        /* "auto", ..., NULL */
extern const char *const klr_calibration_names[]; /* "cv", ..., NULL */
extern const char *const klr_model_names[];       /* "klr", ..., NULL */
extern const char *const klr_solver_names[];      /* "auto", ..., NULL */
extern const char *const klr_regularizer_names[]; /* "auto", ..., NULL */

struct klr_weight {
    const char *label; /* as on a command line; 1 and +1 are the same one,
                          where labels are not names */
    double weight;     /* > 0: C of that class is cost * weight */
};

/* Why training ended; of several binary problems, what comes last here. */
enum klr_status {
    KLR_CONVERGED,
    KLR_PRECISION_LIMIT, /* eps is below what rounding allows */
    KLR_ITERATION_LIMIT,
    KLR_MEMORY_LIMIT, /* -m holds no larger basis */
    KLR_TIME_LIMIT,
    KLR_INTERRUPTED, /* progress() asked to stop */
};
extern const char *const klr_status_names[]; /* "converged", ..., NULL */

/* How far a solver has come. */
struct klr_progress {
    size_t problem, problems; /* binary problem, from 1, of so many */
    long long iterations;     /* of this binary problem */
    double violation, target; /* of the KKT conditions, 0 or infinite until it
                                 is known; where it stops */
    double gap;               /* relative duality gap; NaN if not known */
    double objective;         /* primal; 0 if it is not known on the way */
    double seconds;           /* since training began */
    size_t points;            /* of several gammas or lambdas, else 0 ... */
    double done;              /* ... and the share of its work that is done */
};
/* Called at most some ten times a second, in klr_cross_validate by each fold
 * that is at work and whenever one begins; by one thread at a time, which there
 * need not be the caller's. Nonzero: stop with what there is. */
typedef int klr_progress_fn(const struct klr_progress *, void *context);

/* Ranges and defaults of the numbers: klr_train_options. */
struct klr_params {
    int model;              /* enum klr_model_type, -s */
    int solver;             /* enum klr_solver_type, -a */
    int regularizer;        /* enum klr_regularizer, --regularizer */
    int kernel;             /* enum klr_kernel_type, -t */
    long long degree;       /* -d */
    struct klr_reals gamma; /* -g; 0: 1 / number of features; more than one with
                               folds only: a grid */
    double coef0;           /* -r */
    struct klr_reals cost;  /* -c; more than one: a path */
    struct klr_reals lambda; /* -l, sklr: shift of the loss; NaN: C / 10; more
                                than one with folds only: a grid */
    double box;              /* --box, sklr: alpha in [box, C_i - box] */
    int no_bias;             /* --no-bias: rho = 0 */
    int keep_bounded;        /* --keep-bounded, sklr: alpha = box is kept */
    int lambda_bound;        /* --lambda-bound, sklr: to be reported */
    int threshold;           /* enum klr_threshold, --threshold, kfd */
    int selection;        /* enum klr_selection, --selection, kfd by greedy */
    double eps;           /* -e; NaN: the solver's default. newton, cg: relative
                              duality gap (1e-6; newton with the regularizer
                              kernel, for points of a grid with folds: 1e-3);
                              exact: the same (1e-14); smo:
                              svm, LIBSVM's tolerance on the KKT conditions;
                              klr, Keerthi's tau, in log-odds (1e-3); trirls:
                              relative change of the deviance (2.5); greedy:
                              relative fall of the objective, or mean dual
                              infeasibility over that at first (1e-3);
                              threshold: difference of the slopes of loss and
                              regularizer, over the latter (1e-3) */
    double gap;           /* --gap: relative duality gap to stop at, in place
                              of the conditions of eps; 0: by these */
    double cache_mb;      /* -m, MB; 0: what the problem needs, at most a
                              quarter of klr_memory_limit() */
    long long threads;    /* -j; 0: as klr_pool_create chooses */
    int shrinking;        /* -h */
    long long max_basis;  /* --max-basis, points of a greedy model, at most;
                              0: no limit */
    long long candidates; /* --candidates, for the next one; 0: all, less:
                              59 */
    long long window;     /* --window, greedy: steps, for eps; 0: 1, kfd 5 */
    int multiclass;       /* enum klr_multiclass, --multiclass */
    int probability;      /* -b; svm: 1 asks for KLR_LINK_PLATT */
    int link;             /* enum klr_link, --link */
    int calibration;      /* enum klr_calibration, --calibrate */
    long long folds;      /* -v; 0: none */
    int loo;              /* --loo: approximate leave-one-out in place of
                             folds */
    long long seed;       /* --seed: folds, parts for links, candidates */
    const size_t *fold;   /* (n) the fold of each example, below `folds`, the
                              caller's; NULL: they are dealt */
    int metric;           /* enum klr_metric, --metric: see klr_best_values;
                              klr_cross_validate refuses one that has no value
                              for the model or the classes */
    long long max_iter;   /* --max-iter, per binary problem; 0: the method's */
    double time_limit;    /* --time-limit, seconds for all; 0: no limit */
    int string_labels;    /* --string-labels: labels are names, those of
                              `positive` and `weight` as well as the data's */
    const char *positive; /* --positive LABEL: the class of p in a two-class
                              problem; NULL: the larger label */
    struct klr_weight *weight; /* (n_weights) -wLABEL, owned by the caller; of
                                  one label the last holds */
    size_t n_weights;
    int balance; /* --balance: times n / (k n_c), of the n_c examples of a
                    class among all n */
    const double *example_weight; /* (n) > 0, --weights: C of an example is that
                                     of its class times this; the caller's;
                                     NULL: 1 */
    double prior;      /* --prior, gaussian link: of the first of two classes;
                          NaN: the share of its examples, weighted */
    int prior_correct; /* --prior-correct: log-odds are those without the
                          weights of classes */
    klr_progress_fn *progress; /* or NULL */
    void *context;
};

/* The parameters that are a number, a choice, a flag or a string, each with its
 * letter, name, range, default and help, as klr_params_init, klr_params_check
 * and the command line read them. Ends with an entry whose name is NULL. */
extern const struct klr_option klr_train_options[];

void klr_params_init(struct klr_params *params);
/* 0, or KLR_E_USAGE with a sentence that names the option. */
int klr_params_check(const struct klr_params *params, struct klr_error *err);

struct klr_model;

/* What training did, summed over its binary problems; the objectives are sums,
 * `gap` is the largest relative duality gap (primal - dual) / |primal| of a
 * binary problem; NaN where there is none: lhalf, a greedy kfd of drawn
 * candidates, kernels that are not PSD with the regularizer kernel. Primal
 * and dual are those of the maximised dual: primal >= dual; LIBSVM prints
 * obj = -dual. Of folds the objectives themselves, not the gap, may err by what
 * float entries leave open. */
struct klr_report {
    enum klr_solver_type solver; /* what "auto" became */
    enum klr_status status;   /* the gravest of all, and of the solutions ... */
    enum klr_status machines; /* ... without those that links are fitted to */
    double primal, dual, gap;
    long long iterations; /* smo, threshold: steps; newton, cg, exact: products
                             with K; trirls: linear systems; greedy: points */
    double passes;        /* entries of K multiplied or produced, over n^2 */
    double precond_flops; /* newton, exact: operations of preconditioners, over
                             2 n^2, which is a pass's */
    unsigned long long kernel_evals; /* entries of K computed */
    size_t n_sv;                     /* support vectors */
    double lambda_bound; /* sklr, if asked for: Consolo (36), the largest of
                            its binary problems */
    double seconds; /* with several C, these, passes and kernel_evals are those
                       of all of them together; newton, cg and exact count
                       iterations, and precond_flops, from the first C on */
};

/* Train on all of `problem`, a model for each C: model and report have
 * cost.count elements. Along several C solvers go upwards, from each solution
 * to the next: a model is as exact as that of its C alone, but not the same to
 * the last bit. Of several gammas or lambdas, which klr_params_check lets pass
 * where folds or loo are asked for, the first is taken.
 *
 * Errors as klr_params_check and klr_pool_create; KLR_E_USAGE for labels of
 * params that no example has, and for weights of an example that are out of
 * range, or take C there; KLR_E_LIMIT for too small a cache_mb; KLR_E_DATA for
 * one class only, for labels that look like regression targets (more than 1000
 * distinct ones, or more than n/3 when n > 30), for kernels that overflow, or
 * turn out not to be PSD where the solver needs that, or, of a kfd, do not tell
 * the means of the classes apart, and for precomputed ones as
 * klr_points_create.
 *
 * A model refers to the problem's examples and text until it is freed: free the
 * models first. */
int klr_train(const struct klr_problem *problem, const struct klr_params *,
              struct klr_model **model, struct klr_report *report,
              struct klr_error *err);

/* ---- The kernel matrix ---- */

/* Of the kernel matrix K of all examples: Lin & Lin (2003), sections 2, 3. */
enum klr_definiteness {
    KLR_DEFINITE,
    KLR_SEMIDEFINITE,
    KLR_CONDITIONALLY_DEFINITE, /* v'K v > 0 for all v != 0 with sum v = 0 */
    KLR_CONDITIONALLY_SEMIDEFINITE,
    KLR_INDEFINITE,
};
extern const char
    *const klr_definiteness_names[]; /* "positive definite", ... */

struct klr_extremes {
    double least, most;
};

struct klr_spectrum {
    size_t n;
    bool exact; /* else estimates, of which a negative one is certain */
    enum klr_definiteness kind;
    struct klr_extremes whole;   /* eigenvalues of K */
    struct klr_extremes centred; /* of K on the vectors of sum 0; NaN: n = 1 */
    size_t negative;             /* eigenvalues of K; 0 where not exact */
    double tolerance; /* what rounding may do: values of this size are 0 */
    long long steps;  /* columns reduced, or products with K */
    double seconds;
    enum klr_status status; /* but for KLR_CONVERGED there is no answer */
};

/* Up to 2000 examples by decomposing K, beyond by estimates. Of the parameters
 * the kernel, memory, threads and limit of time count, and progress, which is
 * asked whether to stop. Labels are not looked at. KLR_E_USAGE for parameters
 * out of range; KLR_E_LIMIT as klr_train; KLR_E_DATA for a kernel that
 * overflows. */
int klr_kernel_spectrum(const struct klr_problem *problem,
                        const struct klr_params *params,
                        struct klr_spectrum *out, struct klr_error *err);

/* ---- Models ---- */

struct klr_model *klr_model_free(struct klr_model *model); /* NULL */

enum klr_save_flags { KLR_SAVE_SV_INDICES = 1 };

/* Write in the format of docs/FORMAT.md, section 2. The caller commits.
 * Features are copied from the training file if it has not been written to
 * since. */
int klr_model_save(const struct klr_model *model, struct klr_output *out,
                   int flags, struct klr_error *err);

/* Read and check every byte. KLR_E_IO; KLR_E_MODEL with the line. */
int klr_model_load(struct klr_model **out, const char *path,
                   struct klr_error *err);

size_t klr_model_classes(const struct klr_model *model);
const double *klr_model_labels(const struct klr_model *model); /* (classes) */
/* Of the labels, or NULL. */
const struct klr_names *klr_model_label_names(const struct klr_model *model);
/* The label of a row that was read with klr_model_reader_flags: NaN if it has
 * none, -1 for a name that the model does not know. */
double klr_model_label_of(const struct klr_model *model,
                          const struct klr_row *row);
size_t klr_model_machines(const struct klr_model *model); /* binary problems */
size_t klr_model_n_sv(const struct klr_model *model);
bool klr_model_has_probabilities(const struct klr_model *model);
int klr_model_reader_flags(const struct klr_model *model); /* for test data */
/* Of a precomputed kernel the largest serial number of a support vector, which
 * is the last column that rows are asked for; 0 of others. */
int klr_model_last_serial(const struct klr_model *model);

/* ---- Prediction ---- */

struct klr_predictor; /* a model made ready; refers to the model */

/* `threads` as in klr_params. Errors as klr_pool_create, and of the support
 * vectors as klr_points_create. */
int klr_predictor_create(struct klr_predictor **out,
                         const struct klr_model *model, long long threads,
                         struct klr_error *err);
struct klr_predictor *klr_predictor_free(struct klr_predictor *); /* NULL */

/* For every row of x, as it is before any scaling of the model's: the predicted
 * label; decision values, one per machine: pairs of classes in the order (0,1),
 * (0,2) .. (k-2,k-1), positive for the first; or classes, positive for that one
 * and not the rest; and class probabilities. Any output may be NULL. Models
 * with probabilities answer with the most probable class, others by votes, by
 * the largest decision value, or by elimination; ties go to the class first in
 * the model. KLR_E_USAGE for probabilities of a model without; KLR_E_DATA with
 * the row of x, from 1, as its line where features or decision values overflow,
 * a scaled value is out of range, or a precomputed row has no serial number. */
int klr_predict(struct klr_predictor *predictor, const struct klr_features *x,
                double *label,       /* (n) */
                double *decision,    /* (n, machines), row-major */
                double *probability, /* (n, classes), row-major */
                struct klr_error *err);

/* ---- Metrics ---- */

/* Running sums over predictions. Memory stays bounded: the area under the ROC
 * curve is exact up to a million distinct scores, beyond that neighbouring
 * scores are merged. */
struct klr_metrics;

/* Each is NaN where it is not defined, and without probabilities where it needs
 * them. Labels that the model does not know count as one more class, which it
 * never answers with; probabilities are judged on known labels only. */
struct klr_metric_values {
    unsigned long long count, correct;
    double accuracy; /* correct / count, in [0, 1] */
    double balanced; /* mean over the true classes of the share that is right */
    double log_loss; /* mean of -log p(true class) */
    double brier;    /* mean of sum_k (p_k - [k is true])^2; two classes:
                        (p - y)^2, half of that sum */
    double auc;      /* two classes, else NaN; by decision value */
    double f1;       /* of the first of two classes; more: mean over classes */
    double mcc;      /* Matthews' correlation coefficient; for any number of
                        classes Gorodkin's (2004) */
    double ece;      /* expected calibration error, of the probability of the
                        answer, in 15 bins of equal width */
};

enum klr_metric {
    KLR_METRIC_AUTO, /* log loss where it is known, else accuracy */
    KLR_METRIC_ACCURACY,
    KLR_METRIC_BALANCED,
    KLR_METRIC_LOG_LOSS,
    KLR_METRIC_BRIER,
    KLR_METRIC_AUC,
    KLR_METRIC_F1,
    KLR_METRIC_MCC,
    KLR_METRIC_ECE,
};
extern const char *const klr_metric_names[]; /* "auto", "accuracy", ..., NULL */

/* The metric itself, or what "auto" is for these values. */
enum klr_metric klr_metric_settle(enum klr_metric metric,
                                  const struct klr_metric_values *values);
double klr_metric_value(enum klr_metric metric,
                        const struct klr_metric_values *values);

/* `labels` (classes) in the model's order, the first is the positive one. */
int klr_metrics_create(struct klr_metrics **out, size_t classes,
                       const double *labels, struct klr_error *err);
struct klr_metrics *klr_metrics_free(struct klr_metrics *); /* NULL */

/* One prediction; KLR_E_USAGE where `predicted` is none of the labels.
 * `probability` (classes) or NULL; `score` orders the examples of a two-class
 * model, else ignored. */
int klr_metrics_add(struct klr_metrics *metrics, double truth, double predicted,
                    const double *probability, double score,
                    struct klr_error *err);
void klr_metrics_values(struct klr_metrics *metrics,
                        struct klr_metric_values *values);

size_t klr_metrics_classes(const struct klr_metrics *metrics);
const double *klr_metrics_labels(const struct klr_metrics *); /* (classes) */
/* (classes + 1, classes): how many of each true class, in the last row of other
 * labels, were predicted as each class. */
const unsigned long long *
klr_metrics_confusion(const struct klr_metrics *metrics);

/* ---- Validation ---- */

/* What each example was answered by a model trained without its fold. */
struct klr_held_out {
    size_t n, classes, decisions; /* how many of each there are */
    size_t *fold;                 /* (n) from 0; loo: one for each example */
    double *label;                /* (n) predicted */
    double *decision;             /* (n, decisions) as klr_predict's */
    double *probability;          /* (n, classes); NULL: the model has none */
};

/* Points of a grid: gamma by gamma, in each lambda by lambda, C by C. */
struct klr_validation {
    size_t count, best;               /* points; the first best by the metric */
    struct klr_metric_values *values; /* (count) */
    struct klr_report *report;        /* (count); points of one gamma and lambda
                                         have what these cost in all, in which
                                         kernel_evals may depend on threads; but
                                         the best: what it cost by itself */
    struct klr_metrics *metrics;      /* of the best point; NULL: stopped */
    struct klr_held_out held_out;     /* of the best point, if asked for */
};

size_t klr_params_points(const struct klr_params *params);
/* Whether they ask for klr_cross_validate: folds or loo. */
bool klr_params_validate(const struct klr_params *params);
/* The parameters with the gamma, lambda and C of that point alone. */
struct klr_params klr_params_point(const struct klr_params *params,
                                   size_t point);

/* params->folds-fold cross validation at every point, stratified and seeded by
 * params->seed unless params->fold says which fold an example is in: each
 * example is predicted by a model trained without its fold. Folds are the same
 * at all points. With params->loo the model is that of all examples, and what
 * it would answer without the one is estimated: Cawley & Talbot (2008). *out is
 * empty after a failure, else to be freed. Errors as klr_train; KLR_E_USAGE for
 * no folds, for folds that the examples do not have, and for a metric without
 * a value, too, KLR_E_LIMIT where the time for leave-one-out was too short.
 *
 * What eps leaves open depends on the points before, and several are validated
 * by folds to a larger one where it is left to the solver. The best of them is
 * validated once more, as if it were the only one; a time limit counts anew. */
int klr_cross_validate(const struct klr_problem *problem,
                       const struct klr_params *params, bool held_out,
                       struct klr_validation *out, struct klr_error *err);
void klr_validation_free(struct klr_validation *validation);

/* The first of those that are best by the metric: losses and errors are small,
 * the others large. A number is better than NaN. */
size_t klr_best_values(enum klr_metric metric,
                       const struct klr_metric_values *values, size_t count);

#endif
