/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel classifiers with probabilities: read examples, train, save and load
 * models, predict, validate.
 *
 * Inputs are plain structs, results are opaque. Functions return 0 or a code of
 * base/error.h and describe a failure in their last argument: KLR_E_MEMORY, and
 * what is named at each. An object made into *out belongs to the caller, who
 * frees it by the _free or _close function beside it; these accept NULL. After
 * a failure *out is NULL. Nothing here exits, prints, reads the locale or keeps
 * global state. Two threads may use different objects at the same time, and
 * different predictors of one model.
 *
 * Primary:    klr_problem_read, klr_problem_dense, klr_problem_sparse,
 *             klr_problem_scale, klr_params_init, klr_train, klr_model_save,
 *             klr_model_load, klr_predictor_create, klr_predict
 * Secondary:  klr_params_set, klr_params_check, klr_cross_validate,
 *             klr_best_values, klr_metrics_*, klr_kernel_spectrum,
 *             klr_problem_spread, klr_train_forecast, klr_compress
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
#include "base/files/input.h"
#include "base/numbers.h"
#include "base/option.h"
#include "base/files/output.h"
#include "kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KLR_VERSION "0.1.0"

/* That of the library which is there when the program runs. */
const char *klr_version(void);

/* ---- Labels ---- */

/* Classes have numeric labels. Where files have names instead (KLR_READ_NAMES),
 * a label is the index of its name, from 0, in ascending order of bytes. A NULL
 * pointer to klr_names means that labels are the numbers of the files. */
struct klr_names;

/* How a label is written: its name, or the number into `number`. */
const char *klr_label_text(const struct klr_names *names, double label,
                           char number[KLR_REAL_SIZE]);

/* Features may have names, too; the first name is that of feature 1. The file
 * has one name a line: docs/FORMAT.md, section 4. KLR_E_IO; KLR_E_DATA with the
 * line of an invalid or repeated name. *names is NULL after a failure. */
int klr_names_read(struct klr_names **names, const char *path,
                   struct klr_error *err);
struct klr_names *klr_names_free(struct klr_names *names); /* NULL */
size_t klr_names_count(const struct klr_names *names);     /* 0 of NULL, too */
/* The i-th, from 0. */
const char *klr_names_text(const struct klr_names *names, size_t i);

/* ---- Examples ---- */

/* One line of a data file. The pointers are into `line.text` and stay valid
 * until the next row is read. */
struct klr_row {
    struct klr_line line;
    const char *id; /* KLR_READ_ID: id_length bytes */
    size_t id_length;
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
    KLR_READ_KEEP = 2,       /* klr_input_open's `keep` */
    KLR_READ_NAMES = 4,      /* labels are names, not numbers */
    KLR_READ_BLANK = 16,     /* every line is a row, blank ones and comments */
    KLR_READ_ID = 32,        /* a word before the label is the row's name */
    KLR_READ_PACKED = 64,    /* klr_problem_read may fill `packed` in place of
                                `start`, `index` and `value`: where all rows
                                have the same features, one after the other, of
                                few digits. `line` may be NULL: then lines are
                                those of the rows, from 1 */
    KLR_READ_GIVEN = 8,      /* a model says if labels are names: messages about
                                labels name klr-predict's options */
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
/* True if the next klr_reader_next will have to wait for its input; blank lines
 * and comments before the row have been passed over. A filter flushes its own
 * output then. */
bool klr_reader_would_block(struct klr_reader *reader);
/* The input that the reader reads, for klr_input_text and klr_input_rewind. */
struct klr_input *klr_reader_input(struct klr_reader *reader);
struct klr_reader *klr_reader_close(struct klr_reader *reader); /* NULL */

/* The position in the input is kept of every so many rows. */
enum { KLR_TEXT_ROWS = 16 };

/* A data set in memory, rows as in the file. Fill it by klr_problem_read, by
 * klr_problem_dense or klr_problem_sparse, or by hand; members that say "or
 * NULL" may be NULL. */
struct klr_problem {
    size_t n;
    int dimension; /* largest index, 0 if there are no features */
    bool has_zero; /* there is a feature of index 0 */
    bool has_qid;
    double *label;           /* (n) */
    struct klr_names *names; /* of the labels, or NULL */
    size_t *start;           /* (n + 1) */
    int *index;              /* (start[n]) */
    double *value;           /* (start[n]) */
    long *line;              /* (n) line numbers, or NULL */
    int64_t *text;    /* (n / KLR_TEXT_ROWS + 1) where the features of every
                         KLR_TEXT_ROWS-th row stand in the input, or NULL */
    uint32_t *offset; /* (n + 1) bytes from there to those of each row; at last
                         to the end of all; UINT32_MAX: too far, the row is to
                         be formatted from the numbers; or NULL */
    struct klr_reader *reader;   /* open on the input, for the text; or NULL */
    struct klr_scaling *scaling; /* by klr_problem_scale, or NULL */
    uint64_t hash; /* of labels, indices and values as they were read, in their
                      order; 0: not known */
    const struct klr_names *features; /* names of as many features, at least, as
                                         `dimension`, which models keep; the
                                         caller's, or NULL */
    struct klr_packed *packed;        /* kernel.h; or NULL */
};

/* Read `path` ("-": stdin) with `threads` threads: 0 as for klr_pool_create;
 * one if no pool can be made. KLR_E_IO; KLR_E_DATA for malformed lines and for
 * a file without examples. *problem is empty after a failure. */
int klr_problem_read(struct klr_problem *problem, const char *path, int flags,
                     long long threads, struct klr_error *err);
/* Like klr_problem_read, and calls told(rows, context) now and then as it
 * reads. */
typedef void klr_rows_fn(unsigned long long rows, void *context);
int klr_problem_read_told(struct klr_problem *problem, const char *path,
                          int flags, long long threads, klr_rows_fn *told,
                          void *context, struct klr_error *err);
/* From arrays, which are copied: column j of x (n, columns), row-major, is
 * feature first + j. `first` is 1, or 0 for a precomputed kernel: then the
 * first column has serial numbers. `label` (n), or NULL: all are 0, for rows
 * that are only predicted. *problem is empty after a failure. KLR_E_DATA for no
 * examples, and for a number that is not finite: its row and column, from 1,
 * are the line and column of err. KLR_E_USAGE for too many columns. */
int klr_problem_dense(struct klr_problem *problem, size_t n, size_t columns,
                      const double *x, int first, const double *label,
                      struct klr_error *err);
/* From sparse rows, which are copied too. Errors as above, and KLR_E_DATA for
 * indices that do not ascend; the column of err is the place within the row. */
int klr_problem_sparse(struct klr_problem *problem,
                       const struct klr_features *x, const double *label,
                       struct klr_error *err);
/* Free what one of these four functions allocated; the problem is empty then.
 */
void klr_problem_free(struct klr_problem *problem);

/* True if feature 0 of every example is its number in the file, from 1: so data
 * of a precomputed kernel are written. */
bool klr_problem_has_serials(const struct klr_problem *problem);

/* KLR_E_DATA if the labels are not those of classes: all are the same, or
 * nearly each example has its own. klr_train fails likewise. */
int klr_problem_check_labels(const struct klr_problem *problem,
                             struct klr_error *err);

/* Scale the features of a problem that was read, as klr-scale --exact does: to
 * [-1, 1], or to zero mean and unit deviation over all its examples. Call it
 * once. Models trained on the problem apply the same scaling when they predict.
 * KLR_E_DATA if a scaled value is out of range. A failure leaves the problem as
 * it was. */
enum klr_scale { KLR_SCALE_NONE, KLR_SCALE_MINMAX, KLR_SCALE_STANDARD };
extern const char *const klr_scale_names[]; /* "none", ..., NULL */
int klr_problem_scale(struct klr_problem *problem, enum klr_scale how,
                      struct klr_error *err);

struct klr_params;

/* Judge the scale of the features for the kernel of params, by the mean of the
 * kernel over pairs of examples (docs/ALGORITHMS.md, on scales):
 * - FAR: at the smallest gamma K is nearly the identity; all other examples
 *   together tell less of an example than it tells itself.
 * - NEAR: at the largest gamma and C, K is nearly constant; decision values
 *   cannot differ by more than about 1/2. Never of a kfd, which takes any
 *   scale.
 * - SAME: K is constant, since all examples are equal. Never of a kfd.
 * - WELL: none of these, or the kernel is precomputed. Only RBF and Laplacian
 *   kernels can be FAR. */
enum klr_spread {
    KLR_SPREAD_WELL,
    KLR_SPREAD_FAR,
    KLR_SPREAD_NEAR,
    KLR_SPREAD_SAME
};
enum klr_spread klr_problem_spread(const struct klr_problem *problem,
                                   const struct klr_params *params);

/* Kinds of features, for their scaling: all 0 or 1; within -1 .. 1, and nearly
 * all of them reach near an end; others, of which fewer than a twentieth of the
 * entries are not 0; within -1 .. 1; or others. KLR_E_MEMORY. */
enum klr_feature_kind {
    KLR_FEATURES_BINARY,
    KLR_FEATURES_BOUNDED,
    KLR_FEATURES_SPARSE,
    KLR_FEATURES_NARROW,
    KLR_FEATURES_GENERAL
};
extern const char *const klr_feature_kind_names[]; /* "binary", ..., NULL */
int klr_problem_feature_kind(const struct klr_problem *problem,
                             enum klr_feature_kind *kind,
                             struct klr_error *err);
/* 1 / the mean of |u - v|^2, of a Laplacian kernel |u - v|_1, over pairs of
 * examples: a gamma around which to search. 1 if all examples are equal. */
double klr_problem_unit_gamma(const struct klr_problem *problem,
                              enum klr_kernel_type kernel);
/* Draw about `size` rows by `seed` into *sample, each class by its share, but
 * at least ten rows of it or all. The rows keep their order. The sample is a
 * copy of labels and features alone; klr_problem_free frees it, and it is
 * empty after a failure. KLR_E_MEMORY. */
int klr_problem_sample(struct klr_problem *sample,
                       const struct klr_problem *problem, size_t size,
                       long long seed, struct klr_error *err);

/* ---- Training ---- */

/* The objective to minimise; docs/ALGORITHMS.md has them all. */
enum klr_model_type {
    KLR_MODEL_KLR,  /* kernel logistic regression: Keerthi et al. (2005) */
    KLR_MODEL_SKLR, /* its sparse variant: Consolo et al. */
    KLR_MODEL_SVM,  /* C-SVC: Lin & Lin (2003), (1) */
    KLR_MODEL_KFD,  /* kernel Fisher discriminant: Mika et al. (2001) */
    KLR_MODEL_IVM,  /* klr on points chosen one by one: Zhu & Hastie (2005) */
    KLR_MODEL_LHALF /* klr with an l1/2 regularizer: Xu et al. */
};
/* The method. Each solver trains certain models: see solver/train/systems.c. */
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
    KLR_REGULARIZER_HALF    /* sum |beta|^(1/2): lhalf */
};
/* The rule by which a greedy kfd adds a kernel: smallest objective, or largest
 * dual infeasibility; Mika et al. (2001), section 4.1.1. */
enum klr_selection { KLR_SELECTION_OBJECTIVE, KLR_SELECTION_INFEASIBILITY };
/* The threshold rho of a kfd: midway between the class means, or that of a
 * linear svm trained on the decision values; Mika et al. (2001), section 6. */
enum klr_threshold { KLR_THRESHOLD_MODEL, KLR_THRESHOLD_SVM };
/* How klr or sklr on a basis chooses its points, and how it bounds the
 * objective of all examples. */
enum { KLR_BASIS_AUTO = -1 };
enum klr_basis_choice {
    KLR_BASIS_GROW,    /* those that lower the bound to all examples most */
    KLR_BASIS_UNIFORM, /* drawn */
    KLR_BASIS_BALANCED /* drawn, as many of either class */
};
enum klr_basis_bound {
    KLR_BOUND_SAMPLE, /* an estimate from some rows of K */
    KLR_BOUND_EXACT,  /* by all of K */
    KLR_BOUND_NONE
};
enum klr_multiclass {
    KLR_OVO,     /* one machine for each pair of classes */
    KLR_OVA,     /* one machine for each class against the rest */
    KLR_DDAG,    /* as KLR_OVO, answers by elimination of classes */
    KLR_SOFTMAX, /* a machine for each class, trained together; klr only */
};
/* The link turns decision values f into probabilities. */
enum klr_link {
    KLR_LINK_AUTO,       /* by the model: see params.c */
    KLR_LINK_NONE,       /* no probabilities */
    KLR_LINK_SIGMA,      /* 1 / (1 + e^-f) */
    KLR_LINK_SHRUNK,     /* sklr: f / (1 + lambda/2) in place of f */
    KLR_LINK_CONSISTENT, /* sklr: what its loss estimates */
    KLR_LINK_FITTED,     /* a slope */
    KLR_LINK_PLATT,      /* a slope and an intercept */
    KLR_LINK_CHECKED,    /* sigma, of kfd gaussian, or platt where better */
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

/* Why training ended. Of several binary problems the status that comes last
 * here is reported. */
enum klr_status {
    KLR_CONVERGED,
    KLR_PRECISION_LIMIT, /* rounding allows no better, or leaves a doubt */
    KLR_ITERATION_LIMIT,
    KLR_MEMORY_LIMIT, /* -m holds no larger basis */
    KLR_TIME_LIMIT,
    KLR_INTERRUPTED, /* progress() asked to stop */
};
extern const char *const klr_status_names[]; /* "converged", ..., NULL */

/* Why a solution is not called converged, or what more is wrong with one that a
 * limit ended. Of several doubts the one that comes last here is reported. */
enum klr_doubt {
    KLR_DOUBT_NONE,
    KLR_DOUBT_GAP,        /* its gap is above what was asked for */
    KLR_DOUBT_RANK,       /* a greedy solver: kernels that are left differ by
                           rounding alone from sums of those taken */
    KLR_DOUBT_ROUNDING,   /* its decision values are not known well enough */
    KLR_DOUBT_CONSTANT,   /* its objective is above that of a constant model */
    KLR_DOUBT_INDEFINITE, /* so it is, or its gap is, since the kernel matrix is
                             not positive semidefinite */
};

/* How far a solver has come. */
struct klr_progress {
    size_t problem, problems; /* binary problem, from 1, of so many */
    long long iterations;     /* of this binary problem */
    double violation, target; /* of the KKT conditions, 0 or infinite until it
                                 is known; where it stops */
    double gap;               /* relative duality gap; NaN if not known */
    double objective;         /* primal; 0 if it is not known on the way */
    double seconds;           /* since training began */
    const char *phase;        /* "links", ...; NULL: a solver is at work */
    size_t points;            /* of several gammas or lambdas, else 0 */
    double done;              /* the share of the work that is done, about */
};
/* Called at most about ten times a second; klr_cross_validate calls it for each
 * fold at work, and whenever a fold begins. It is called by one thread at a
 * time, not necessarily the caller's. A nonzero result asks to stop with the
 * solution so far. */
typedef int klr_progress_fn(const struct klr_progress *, void *context);

/* Ranges and defaults of the numbers: klr_train_options. */
struct klr_params {
    int model;        /* enum klr_model_type, -s */
    int solver;       /* enum klr_solver_type, -a */
    int regularizer;  /* enum klr_regularizer, --regularizer */
    int kernel;       /* enum klr_kernel_type, -t */
    long long degree; /* -d */
    struct klr_reals
        gamma;    /* -g; NaN: 1 / number of features; more than one with
                               folds only: a grid */
    double coef0; /* -r */
    struct klr_reals cost;   /* -c; NaN: the model's default, see
                                klr_params_fill; more than one: a path */
    struct klr_reals lambda; /* -l, sklr: shift of the loss; in_unit: over C;
                                NaN: C / 10; more than one with folds only: a
                                grid */
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
    const size_t *points; /* (n_points) --points, greedy, klr or sklr: the rows,
                             from 0, the kernels of which a model has, all of
                             them; the caller's; NULL: it chooses */
    size_t n_points;
    long long basis;      /* --basis, points of klr or sklr; 0: all are;
                             KLR_BASIS_AUTO: as many as basis_tol asks for */
    double basis_tol;     /* --basis-tol, of KLR_BASIS_AUTO: log loss that all
                             examples may gain over the points; NaN: 0.001 */
    int basis_choice;     /* enum klr_basis_choice, --basis-choice */
    int basis_bound;      /* enum klr_basis_bound, --basis-bound */
    long long window;     /* --window, greedy: steps, for eps; 0: 5 of kfd,
                             1 of ivm, which then, where eps is not given
                             either, asks examples held out as well */
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
    long long sparsest;   /* --sparsest K: of the K points best by the metric
                              the one of fewest support vectors; 0: the best */
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
    const struct klr_journal *journal; /* of validation, pairs; or NULL */
    int part; /* --part: this grid is a part of a larger one. No point of it is
                 chosen or validated once more */
};

/* The parameters that are a number, a choice, a flag or a string, each with its
 * letter, name, range, default and help. klr_params_init, klr_params_check and
 * the command line read this table. It ends with an entry whose name is
 * NULL. */
extern const struct klr_option klr_train_options[];

void klr_params_init(struct klr_params *params);
/* Set the parameter with that long name, "cost", from text as on the command
 * line: "0.1,1,10". A flag takes any text; a string is kept, not copied.
 * KLR_E_USAGE for an unknown name or a value that is refused, as
 * klr_option_read says. */
int klr_params_set(struct klr_params *params, const char *name,
                   const char *text, struct klr_error *err);
/* 0, or KLR_E_USAGE with a sentence that names the option. */
int klr_params_check(const struct klr_params *params, struct klr_error *err);

/* Replace a cost that is not given by the default of the model, which --help of
 * klr-train lists. Training and validation do so by themselves. */
void klr_params_fill(struct klr_params *params);

struct klr_model;

/* Facts that users should know of a machine, or of a class. */
enum klr_note_kind {
    KLR_NOTE_NONE,
    KLR_NOTE_MEANS,  /* kfd: the kernel does not tell the means of two classes
                        apart; they are answered by their shares */
    KLR_NOTE_DIGITS, /* the same, since its values are so large that the digits
                        which may do so are lost */
    KLR_NOTE_SINGLE, /* no decision value of the class's only example can be
                        held out: a fitted link is the shares */
    KLR_NOTE_POINTS, /* none of the points that are given is an example of two
                        classes, which are answered by their shares */
    KLR_NOTE_COST,   /* as KLR_NOTE_MEANS, since C is so large that rounding
                        errors leave nothing of the regularizer */
};
struct klr_note {
    enum klr_note_kind kind;
    double first, second; /* labels; NaN: no class, or all the others */
    size_t fold;          /* of a validation, from 1; 0: none */
    bool part;            /* where a part is held out, for a link */
};
enum { KLR_NOTES = 3 };

/* Why a basis has no more points. Of several binary problems the last one here
 * is reported. */
enum klr_basis_end {
    KLR_BASIS_ASKED,  /* so many were asked for */
    KLR_BASIS_ENOUGH, /* all examples would gain less than the tolerance */
    KLR_BASIS_CUT,    /* the time was over before that was known */
    KLR_BASIS_MEMORY, /* -m holds no more */
    KLR_BASIS_LARGE   /* no small model exists: a sixth of the examples is not
                         enough, or all of them take less time */
};
extern const char *const klr_basis_end_names[]; /* "asked", ..., NULL */

/* Klr or sklr on a basis. For several binary problems these are sums, but
 * points, the gap and the excess are the largest. */
struct klr_basis_report {
    size_t points;        /* 0: there is no basis */
    double passes;        /* of n m entries, after the points were chosen */
    double choice_passes; /* the same for their choice */
    size_t sample;        /* examples that precondition */
    size_t hessians;      /* formed of them */
    double full_gap; /* that of all examples is smaller by at most this share of
                        the objective; NaN: not known */
    double full_gap_error; /* standard error of that; 0: it is exact */
    enum klr_basis_end end;
    double excess;       /* of KLR_BASIS_AUTO: log loss that all examples would
                            gain, an estimate, of machines that share points
                            their sum; NaN: not known */
    double excess_error; /* its standard error */
};

/* The choice of klr_compress. */
struct klr_projection_report {
    size_t vectors;  /* support vectors of the model; 0: nothing was chosen */
    size_t points;   /* of the machine that has most */
    double square;   /* |f|^2 in the space of the kernel, and ... */
    double distance; /* ... |f - its projection|^2, of the machine where that is
                        the largest part; NaN and 0 where nothing is lost */
    size_t compared; /* examples that both models have answered, or a sample, */
    size_t changed;  /* and those of them whose answer is another one; 0 where
                        klr is trained again */
};

/* The report of a training, over all its binary problems. `primal` and `dual`
 * are sums of the objectives, primal >= dual (LIBSVM prints obj = -dual). `gap`
 * is the largest relative duality gap, (primal - dual) / |primal|, of a binary
 * problem. It is NaN without a dual bound: for lhalf, for a greedy kfd of drawn
 * candidates, and with the regularizer kernel where K is far from positive
 * semidefinite. With a kernel that may not be so, up to 10000 examples are
 * looked at; of more, or with a limit of time, there is none. In cross
 * validation `primal` and `dual` may come from float entries of K and err by
 * their rounding; `gap` does not. */
struct klr_report {
    enum klr_solver_type solver; /* what "auto" became */
    enum klr_status status;   /* the gravest of all, and of the solutions ... */
    enum klr_status machines; /* ... without those that links are fitted to */
    double primal, dual, gap;
    enum klr_doubt doubt; /* of all solutions */
    double fall; /* of an objective in the last step, relative to it; the
                    largest; NaN: not known */
    double size; /* the largest |K_ij|, or nearly; 0: not known */
    long long iterations; /* smo, threshold: steps; newton, cg, exact: products
                             with K; trirls: linear systems; greedy: points */
    double passes;        /* entries of K multiplied or produced, over n^2 */
    double precond_flops; /* newton, exact: operations of preconditioners, over
                             2 n^2, which is a pass's */
    unsigned long long kernel_evals; /* entries of K computed; of very many
                                        examples what memory costs decides how
                                        many of them are kept */
    size_t n_sv;                     /* support vectors; of folds their sum */
    size_t different; /* examples, where those that repeat each other are one:
                         fewer than all if they were solved as one */
    struct klr_basis_report basis;
    struct klr_projection_report projection; /* of klr_compress */
    double lambda_bound; /* sklr, if asked for: Consolo (36), the largest of
                            its binary problems */
    size_t notes;        /* of which there are the first ones */
    struct klr_note note[KLR_NOTES];
    double seconds; /* with several C, these, passes and kernel_evals are those
                       of all of them together; newton, cg and exact count
                       iterations, and precond_flops, from the first C on */
};

/* Train on all of `problem`, a model for each C; model and report have
 * cost.count elements. Solvers go from the smallest C to the largest and start
 * from the solution before. So a model is as exact as if its C were the only
 * one, but not the same to the last bit. Of several gammas or lambdas, which
 * klr_params_check accepts only with folds or loo, the first is taken.
 *
 * With params->journal pairs of classes that it recalls are not trained again,
 * and others are kept once they are solved for each C; there are no models with
 * journal->only_pair. Where points are shared, by a basis, and with bounds of
 * lambda nothing is recalled or kept.
 *
 * Errors as klr_params_check and klr_pool_create, and
 * - KLR_E_USAGE for labels in params that no example has, for weights of an
 *   example that are out of range or put C out of range, and for a pair that
 *   there is not;
 * - KLR_E_LIMIT for a cache_mb that is too small;
 * - KLR_E_DATA for a single class, and for labels that look like regression
 *   targets (more than 1000 distinct ones, or more than n/3 when n > 30);
 * - KLR_E_DATA for kernels that overflow, or turn out not to be PSD where the
 *   solver needs that, and for precomputed ones as klr_points_create.
 *
 * A model refers to the problem's examples and text until it is freed: free the
 * models first. */
int klr_train(const struct klr_problem *problem, const struct klr_params *,
              struct klr_model **model, struct klr_report *report,
              struct klr_error *err);

/* The options that a model from a file was trained with, as far as it says:
 * "model=klr kernel=rbf gamma=0.5 cost=10 link=platt w1=5", the last one being
 * the weight of class 1. `text` is empty at first. KLR_E_MEMORY. */
int klr_model_options(const struct klr_model *model, struct klr_text *text,
                      struct klr_error *err);
/* Scale the features of a problem as the model does, if it does. Errors as
 * klr_problem_scale. */
int klr_problem_scale_as(struct klr_problem *problem,
                         const struct klr_model *model, struct klr_error *err);
/* A smaller model than `from`, which is from a file, on params->basis support
 * vectors of it for each machine; docs/ALGORITHMS.md, on compression. Klr and
 * sklr are trained again on them, a model for each C, by params and the
 * problem, which is the training set of `from`, scaled as it does; other models
 * are projected, and model[0] is the only one.
 *
 * The kernel is that of `from`, params->model must be its. Errors as
 * klr_compress_check, which looks at parameters alone, and klr_train;
 * KLR_E_DATA where the problem is not the training set. */
int klr_compress(const struct klr_model *from,
                 const struct klr_problem *problem,
                 const struct klr_params *params, struct klr_model **model,
                 struct klr_report *report, struct klr_error *err);
int klr_compress_check(const struct klr_model *from,
                       const struct klr_params *params, struct klr_error *err);

/* Seconds that a training, or a validation, is about to take: within a factor
 * of some two to four, on the threads of params. */
struct klr_forecast {
    double all;   /* klr or sklr as params ask for it */
    double basis; /* the same with KLR_BASIS_AUTO */
};

/* NaN where params ask for anything but these by newton without a basis, or for
 * a linear or precomputed kernel, leave-one-out or a softmax. Errors as
 * klr_train. */
int klr_train_forecast(const struct klr_problem *problem,
                       const struct klr_params *params,
                       struct klr_forecast *out, struct klr_error *err);

/* ---- The kernel matrix ---- */

/* Definiteness of the kernel matrix K of all examples: Lin & Lin (2003),
 * sections 2 and 3. */
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

/* Compute the spectrum of K: exactly up to 2000 examples, by estimates beyond.
 * Of params the kernel, memory, threads, time limit and progress count;
 * progress is asked whether to stop. Labels are ignored. KLR_E_USAGE for
 * parameters out of range; KLR_E_LIMIT as klr_train; KLR_E_DATA for a kernel
 * that overflows. */
int klr_kernel_spectrum(const struct klr_problem *problem,
                        const struct klr_params *params,
                        struct klr_spectrum *out, struct klr_error *err);

/* ---- Models ---- */

struct klr_model *klr_model_free(struct klr_model *model); /* NULL */

/* Have the model say when and by what command it came to be: a line each, of
 * printable characters. KLR_E_MEMORY. */
int klr_model_stamp(struct klr_model *model, const char *date,
                    const char *command, struct klr_error *err);

/* SV_INDICES lists the rows of the support vectors in the file. VECTORS keeps
 * the support vectors of a linear model, which SV_INDICES does as well. */
enum klr_save_flags { KLR_SAVE_SV_INDICES = 1, KLR_SAVE_VECTORS = 2 };

/* Write in the format of docs/FORMAT.md, section 2. The caller commits. A
 * linear model is written as one vector for each machine, its weights, unless
 * the flags ask for its support vectors. Features are copied from the training
 * file if it has not been written to since. */
int klr_model_save(const struct klr_model *model, struct klr_output *out,
                   int flags, struct klr_error *err);

/* Read and check every byte. KLR_E_IO; KLR_E_MODEL with the line. */
int klr_model_load(struct klr_model **out, const char *path,
                   struct klr_error *err);
/* Like klr_model_load, and calls told(support vectors, context) after each. */
int klr_model_load_told(struct klr_model **out, const char *path,
                        klr_rows_fn *told, void *context,
                        struct klr_error *err);

size_t klr_model_classes(const struct klr_model *model);
const double *klr_model_labels(const struct klr_model *model); /* (classes) */
/* The names of the labels, or NULL. */
const struct klr_names *klr_model_label_names(const struct klr_model *model);
/* The names of the features, or NULL. */
const struct klr_names *klr_model_features(const struct klr_model *model);
/* Set *index (*count) to the features of the scaling, ascending; NULL and 0
 * without a scaling. The caller frees *index in any case. KLR_E_MEMORY. */
int klr_model_scaled(const struct klr_model *model, int **index, size_t *count,
                     struct klr_error *err);
/* The label of a row that was read with klr_model_reader_flags. NaN if the row
 * has none, -1 for a name that the model does not know. */
double klr_model_label_of(const struct klr_model *model,
                          const struct klr_row *row);
size_t klr_model_machines(const struct klr_model *model); /* binary problems */
size_t klr_model_n_sv(const struct klr_model *model);
/* True if its vectors are the weights of a linear model, one for each machine.
 */
bool klr_model_has_weights(const struct klr_model *model);
/* The support vectors of a model from a file, owned by the model, in the
 * features of data rows. Empty (n = 0) where they are not: for precomputed
 * kernels and for models with a scaling. */
struct klr_features klr_model_vectors(const struct klr_model *model);
bool klr_model_has_probabilities(const struct klr_model *model);
/* Names of klr_kernel_names, klr_multiclass_names; "ovo" for two classes. */
const char *klr_model_kernel(const struct klr_model *model);
const char *klr_model_multiclass(const struct klr_model *model);
/* True if its kernel falls to 0 with the distance: RBF, Laplacian. */
bool klr_model_is_local(const struct klr_model *model);
/* The score of klr_metrics_add for an example with decision values `decision`
 * (machines). With two classes it is the log-odds of the first class, or the
 * decision value where the model has no probabilities. */
double klr_model_score(const struct klr_model *model, const double *decision);
int klr_model_reader_flags(const struct klr_model *model); /* for test data */
/* For a precomputed kernel the largest serial number of a support vector: test
 * rows need columns up to it. 0 for other kernels. */
int klr_model_last_serial(const struct klr_model *model);

/* ---- Prediction ---- */

struct klr_predictor; /* a model made ready; refers to the model */

/* `threads` as in klr_params. Errors as klr_pool_create, and as
 * klr_points_create for the support vectors. */
int klr_predictor_create(struct klr_predictor **out,
                         const struct klr_model *model, long long threads,
                         struct klr_error *err);
struct klr_predictor *klr_predictor_free(struct klr_predictor *); /* NULL */

/* Predict every row of x; the rows are not scaled yet, whether or not the model
 * scales. Any output may be NULL. A decision value is one per machine. Machines
 * of pairs of classes come in the order (0,1), (0,2) .. (k-2,k-1) and are
 * positive for the first class of the pair; machines of one class against the
 * rest are positive for that class.
 *
 * Models with probabilities answer with the most probable class, others by
 * votes, by the largest decision value, or by elimination. Ties go to the class
 * that comes first in the model.
 *
 * KLR_E_USAGE for probabilities of a model without. KLR_E_DATA, with the row of
 * x from 1 as its line, where features or decision values overflow, a scaled
 * value is out of range, or a precomputed row has no serial number. */
int klr_predict(struct klr_predictor *predictor, const struct klr_features *x,
                double *label,       /* (n) */
                double *decision,    /* (n, machines), row-major */
                double *probability, /* (n, classes), row-major */
                struct klr_error *err);

/* *far is true if the row, the only one of x, is far from the training set: the
 * kernel with each support vector is below e^-5. Only for models that are
 * local. Errors as klr_predict. */
int klr_predictor_is_far(struct klr_predictor *predictor,
                         const struct klr_features *x, bool *far,
                         struct klr_error *err);

/* The label of the answer with the least expected cost under the probabilities
 * (classes). cost (classes, classes), row-major: the row is the true class, the
 * column the answer. Ties go to the class that comes first. */
double klr_decide(const struct klr_model *model, const double *cost,
                  const double *probability);

/* ---- Metrics ---- */

/* Running sums over predictions. Memory stays bounded: the area under the ROC
 * curve is exact up to a million distinct scores; beyond that neighbouring
 * scores are merged. */
struct klr_metrics;

/* A value is NaN where it is not defined, or where it needs probabilities and
 * there are none. Labels that the model does not know count as one more class,
 * which is never predicted; probabilities are judged on known labels only. */
struct klr_metric_values {
    unsigned long long count, correct;
    double accuracy; /* correct / count, in [0, 1] */
    double balanced; /* mean over the true classes of the share that is right */
    double log_loss; /* mean of -log p(true class) */
    double brier;    /* mean of sum_k (p_k - [k is true])^2; two classes:
                        (p - y)^2, half of that sum */
    double auc;      /* two classes, else NaN; by the score */
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

/* The metric itself; for KLR_METRIC_AUTO the one that it stands for with these
 * values. */
enum klr_metric klr_metric_settle(enum klr_metric metric,
                                  const struct klr_metric_values *values);
double klr_metric_value(enum klr_metric metric,
                        const struct klr_metric_values *values);

/* The metric that these points are compared by: where none of them has a value
 * of it, and for KLR_METRIC_AUTO, log loss if any has one, else accuracy. */
enum klr_metric klr_metric_among(enum klr_metric metric,
                                 const struct klr_metric_values *values,
                                 size_t count);

/* `labels` (classes) in the model's order; the first is the positive one. */
int klr_metrics_create(struct klr_metrics **out, size_t classes,
                       const double *labels, struct klr_error *err);
struct klr_metrics *klr_metrics_free(struct klr_metrics *); /* NULL */

/* Add one prediction. KLR_E_USAGE where `predicted` is none of the labels.
 * `probability` (classes) or NULL. `score`, as from klr_model_score, orders the
 * examples of a two-class model, else it is ignored. */
int klr_metrics_add(struct klr_metrics *metrics, double truth, double predicted,
                    const double *probability, double score,
                    struct klr_error *err);
void klr_metrics_values(struct klr_metrics *metrics,
                        struct klr_metric_values *values);

size_t klr_metrics_classes(const struct klr_metrics *metrics);
const double *klr_metrics_labels(const struct klr_metrics *); /* (classes) */
/* Counts (classes + 1, classes): rows are true classes, the last row all other
 * labels; columns are predicted classes. */
const unsigned long long *
klr_metrics_confusion(const struct klr_metrics *metrics);
/* All that the metrics are made of, as *count finite numbers, which the caller
 * frees by klr_free. KLR_E_MEMORY: then *numbers is NULL. */
int klr_metrics_numbers(struct klr_metrics *metrics, double **numbers,
                        size_t *count, struct klr_error *err);
/* Add what klr_metrics_numbers gave of metrics with the same classes.
 * KLR_E_DATA: it cannot have given these; the metrics are of no use then. */
int klr_metrics_add_numbers(struct klr_metrics *metrics, const double *numbers,
                            size_t count, struct klr_error *err);

/* ---- Validation ---- */

/* The prediction for each example by a model trained without its fold. */
struct klr_held_out {
    size_t n, classes, decisions; /* how many of each there are */
    size_t *fold;                 /* (n) from 0; loo: one for each example */
    double *label;                /* (n) predicted */
    double *decision;             /* (n, decisions) as klr_predict's */
    double *probability;          /* (n, classes); NULL: the model has none */
};

/* Points of a grid: gamma by gamma, in each lambda by lambda, C by C. */
struct klr_validation {
    size_t count, best;               /* points; the one that was chosen: the
                                         first best by the metric, or, with
                                         params->sparsest, of the K best, where
                                         of equals that of fewer support
                                         vectors goes first, the sparsest */
    size_t solved;                    /* points that no limit of time and no
                                         interruption cut; others have a status
                                         that says so and, of several, values
                                         that are NaN, and are not the best */
    struct klr_metric_values *values; /* (count) */
    struct klr_metric_values *error;  /* (count) of each metric its standard
                                         error, of the mean of folds; NaN where
                                         fewer than two have a value */
    struct klr_report *report;        /* (count); points of one gamma and lambda
                                         have what these cost in all, in which
                                         kernel_evals may depend on threads; but
                                         the best: what it cost by itself */
    struct klr_metrics *metrics;      /* of the best point; NULL: the clock
                                         ended before all was predicted */
    struct klr_held_out held_out;     /* of the best point, if asked for */

    /* Of the best point validated by itself, with standard errors; where the
     * clock ended that, values[best] and error[best]. */
    struct klr_metric_values answer, answer_error;
};

/* Results of a validation at all points of a gamma: lambda by lambda, C by C.
 */
struct klr_results {
    struct klr_metric_values *values, *error;
    struct klr_report *report;
};

/* The part that a fold has in a point, the numbers of klr_metrics_numbers; or
 * that a pair of classes has in a model, numbers for klr_train alone. Of its
 * report a pair keeps the status. */
struct klr_part_result {
    double *number; /* (count) */
    size_t count;
    struct klr_report report;
};
/* Free `count` results in an array of the heap, or NULL. Returns NULL. */
void *klr_part_results_free(struct klr_part_result *results, size_t count);

/* Keeps results gamma by gamma, so that a later validation can go on from them;
 * or those of a single fold, from which validations make gammas; or machines of
 * pairs of classes, of which a later training makes a model. Its functions are
 * called by one thread at a time. */
struct klr_journal {
    /* True if the results of this gamma were kept: then it fills them in. */
    bool (*recall)(double gamma, struct klr_results results, void *context);
    /* Called when all points of a gamma are solved. Returns 0, or a code that
     * ends the validation. */
    int (*keep)(double gamma, struct klr_results results, void *context,
                struct klr_error *err);
    void *context;
    /* The fold, from 1, that is validated alone: its results are kept, and no
     * point is solved by them. 0: all folds are. */
    size_t only;
    /* As recall and keep, of a fold from 0, where all C at the gamma and the
     * lambda of this index have results (cost.count), which stay the owner's.
     * keep_fold is called with `only`. recall_fold may be NULL. */
    bool (*recall_fold)(double gamma, size_t lambda, size_t fold,
                        const struct klr_part_result **results, void *context);
    int (*keep_fold)(double gamma, size_t lambda, size_t fold,
                     const struct klr_part_result *results, void *context,
                     struct klr_error *err);
    /* Likewise for klr_train, if it trains pairs of classes: each of them, from
     * 0, of so many. `only_pair`, from 1, is trained alone, and no model
     * comes of it; 0: all are. recall_pair may be NULL: then none is asked for
     * or kept. */
    size_t only_pair;
    bool (*recall_pair)(double gamma, size_t pair,
                        const struct klr_part_result **results, void *context);
    int (*keep_pair)(double gamma, size_t pair, size_t pairs,
                     const struct klr_part_result *results, void *context,
                     struct klr_error *err);
};

/* The criterion by which a threshold is best, and its value there. */
enum {
    KLR_CUT_F1,
    KLR_CUT_MCC,
    KLR_CUT_BALANCED, /* accuracy */
    KLR_CUT_COST,
    KLR_CUTS
};
struct klr_cut {
    double threshold, value;
};
/* Set best[KLR_CUTS] to the best threshold by each criterion, for two classes
 * with probabilities. A threshold is on the probability of the class with the
 * label `first`; of equally good ones it is the largest. cost[0] is the cost of
 * taking the second class for the first, cost[1] that of taking the first for
 * the second. KLR_E_MEMORY. */
int klr_best_cuts(const struct klr_problem *problem,
                  const struct klr_held_out *held_out, double first,
                  const double *cost, struct klr_cut *best,
                  struct klr_error *err);

size_t klr_params_points(const struct klr_params *params);
/* True if the parameters ask for klr_cross_validate: folds or loo. */
bool klr_params_validate(const struct klr_params *params);
/* The first lambda at C = cost, as a number. */
double klr_params_lambda(const struct klr_params *params, double cost);
/* The parameters with the gamma, lambda and C of that point of the grid
 * alone. */
struct klr_params klr_params_point(const struct klr_params *params,
                                   size_t point);

/* Cross validation with params->folds folds at every point of the grid: each
 * example is predicted by a model trained without its fold. Folds are
 * stratified and drawn by params->seed, unless params->fold gives the fold of
 * each example; they are the same at all points.
 *
 * With params->loo the model is trained once on all examples, and its answer
 * for each example without that one is estimated: Cawley & Talbot (2008).
 *
 * *out is empty after a failure; otherwise free it by klr_validation_free.
 * Errors as klr_train; also KLR_E_USAGE for no folds, for folds that no example
 * is in, and for a metric without a value.
 *
 * Within eps a result depends on the points before it. By folds several points
 * are validated to a larger eps, where eps is left to the solver, and with many
 * examples links of KLR_CALIBRATION_CV are fitted to one part alone. The best
 * of them is validated once more, as if it were the only one; a fifth of the
 * time limit is kept for that.
 *
 * With params->journal the gammas that it recalls are not validated again, and
 * each of the others is kept as soon as all its points are solved. With
 * params->part there is no best; out->solved counts the points that are solved,
 * or, with journal->only, those at which that fold is. KLR_E_USAGE if there is
 * no such fold. */
int klr_cross_validate(const struct klr_problem *problem,
                       const struct klr_params *params, bool held_out,
                       struct klr_validation *out, struct klr_error *err);
void klr_validation_free(struct klr_validation *validation);

/* The index of the best values by klr_metric_among of the metric: the smallest
 * of a loss or an error, the largest of the others. Of equals the first; any
 * number is better than NaN. */
size_t klr_best_values(enum klr_metric metric,
                       const struct klr_metric_values *values, size_t count);

/* ---- Other languages ---- */

/* The size of a struct, "klr_params", or where a field begins in it,
 * "klr_params.fold", in bytes: for callers that cannot read this header.
 * SIZE_MAX for names that are not in the table of inspect/struct_places.c. */
size_t klr_struct_place(const char *name);

#ifdef __cplusplus
}
#endif

#endif
