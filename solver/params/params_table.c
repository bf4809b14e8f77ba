/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of training: one table gives each its letter, name, range,
 * default and help. klr_params_init, klr_params_check and the command line
 * read it. Letters and meanings are LIBSVM's where LIBSVM has them.
 */
#include "solver/params/params.h"

#define KLR_PARAM(field) offsetof(struct klr_params, field)
#define KLR_ABOVE_0      .min = 0, .above_min = true, .max = HUGE_VAL

/* The models in the order of enum klr_model_type: name, LIBSVM's number, and
 * the default of C, see docs/PERFORMANCE.md, "The default of C". LIBSVM's -s 0
 * is C-SVC. */
#define PARAMS_MODELS(MODEL)                                                   \
    MODEL("klr", "", 30)                                                       \
    MODEL("sklr", "", 30)                                                      \
    MODEL("svm", "0", 1)                                                       \
    MODEL("kfd", "", 10)                                                       \
    MODEL("ivm", "", 30)                                                       \
    MODEL("lhalf", "", 3)
#define MODEL_NAME(name, number, cost)      name,
#define MODEL_NUMBER(name, number, cost)    number,
#define MODEL_COST(name, number, cost)      cost,
#define MODEL_COST_TEXT(name, number, cost) name " " #cost ", "
#define MODEL_NAMES                         PARAMS_MODELS(MODEL_NAME)
#define MODEL_NUMBERS                       PARAMS_MODELS(MODEL_NUMBER)
#define MODEL_COSTS                         PARAMS_MODELS(MODEL_COST)
#define MODEL_COSTS_TEXT                    PARAMS_MODELS(MODEL_COST_TEXT)

const char *const klr_model_names[] = {MODEL_NAMES NULL};
static const char *const params_model_numbers[] = {MODEL_NUMBERS NULL};
static const double params_model_costs[] = {MODEL_COSTS};

/* In the order of enum klr_solver_type. */
const char *const klr_solver_names[] = {
    "auto", "smo",   "newton", "smo1",      "trirls",
    "cg",   "exact", "greedy", "threshold", NULL,
};

/* In the order of their enums. */
const char *const klr_multiclass_names[] = {"ovo", "ova", "ddag", "softmax",
                                            NULL};
const char *const klr_link_names[] = {
    "auto",   "none",  "sigma",   "shrunk",   "consistent",
    "fitted", "platt", "checked", "gaussian", NULL,
};
const char *const klr_calibration_names[] = {
    "cv",
    "holdout",
    "training",
    NULL,
};

const char *const klr_metric_names[] = {
    "auto", "accuracy", "balanced", "logloss", "brier",
    "auc",  "f1",       "mcc",      "ece",     NULL,
};

/* In the order of enum klr_regularizer. */
const char *const klr_regularizer_names[] = {"auto", "kernel", "coef", "half",
                                             NULL};

/* In the order of enum klr_kernel_type, whose values are LIBSVM's. */
static const char *const params_kernel_numbers[] = {
    "0", "1", "2", "3", "4", "5", "6", NULL,
};

/* In the orders of enum klr_selection and enum klr_threshold. */
static const char *const params_selections[] = {"objective", "infeasibility",
                                                NULL};
static const char *const params_thresholds[] = {"model", "svm", NULL};

/* In the orders of enum klr_basis_choice and enum klr_basis_bound. */
static const char *const params_basis_choices[] = {"grow", "uniform",
                                                   "balanced", NULL};
static const char *const params_basis_bounds[] = {"sample", "exact", "none",
                                                  NULL};

const char *const klr_basis_end_names[] = {"asked",  "enough", "cut",
                                           "memory", "large",  NULL};

static const char *const params_switch[] = {"0", "1", NULL};

const struct klr_option klr_train_options[] = {
    {.type = KLR_CHOICE,
     .letter = 's',
     .name = "model",
     .argument = "MODEL",
     .offset = KLR_PARAM(model),
     .preset = KLR_MODEL_KLR,
     .choices = klr_model_names,
     .aliases = params_model_numbers,
     .also = "svm-type type loss",
     .group = "Model",
     .help = "klr: kernel logistic regression; sklr: its sparse variant, "
             "the loss shifted by lambda; ivm: klr on points chosen one by "
             "one; lhalf: klr with an l1/2 regularizer; svm (or 0): C-SVC; "
             "kfd: kernel Fisher discriminant "
             "(default %s)"},
    {.type = KLR_REALS,
     .letter = 'c',
     .name = "cost",
     .argument = "C",
     .offset = KLR_PARAM(cost),
     .preset = NAN,
     KLR_ABOVE_0,
     .also = "C penalty",
     .help = "cost of the errors (default: " MODEL_COSTS_TEXT
             "svm's as in LIBSVM); at 1 the probabilities of klr stay near the "
             "shares of the classes\n"
             "several, 0.1,1,10 or 0.01:1000:x10: a model each,\n"
             "with -v that of the best"},
    {.type = KLR_REALS,
     .letter = 'l',
     .name = "lambda",
     .argument = "LAMBDA",
     .offset = KLR_PARAM(lambda),
     .preset = NAN,
     .min = 0,
     .max = HUGE_VAL,
     .unit = 'c',
     .help = "sklr: shift of the loss, 0.1c: a tenth of C (default 0.1c); with "
             "-v a list or range, as of -c, 0.01c:1c:x10"},
    {.type = KLR_REAL,
     .name = "box",
     .argument = "GAMMA",
     .offset = KLR_PARAM(box),
     .preset = 1e-5,
     .min = 0,
     .max = HUGE_VAL,
     .help = "sklr: coefficients stay between GAMMA and C - GAMMA (default "
             "%s; 0: no box)"},
    {.type = KLR_FLAG,
     .name = "no-bias",
     .offset = KLR_PARAM(no_bias),
     .help = "klr, sklr, svm, ivm, lhalf: decision values without a "
             "constant, rho = 0 (klr and sklr not by smo; trirls always)"},
    {.type = KLR_CHOICE,
     .name = "threshold",
     .argument = "NAME",
     .offset = KLR_PARAM(threshold),
     .choices = params_thresholds,
     .help = "kfd: model, where both class means are equally far; svm: that "
             "of a linear svm on the training outputs (default %s)"},
    {.type = KLR_FLAG,
     .name = "keep-bounded",
     .offset = KLR_PARAM(keep_bounded),
     .help = "sklr: the model keeps the examples at the lower end of the box"},
    {.type = KLR_FLAG,
     .name = "lambda-bound",
     .offset = KLR_PARAM(lambda_bound),
     .help = "sklr: print about from which lambda on the smaller class is all "
             "at the upper end of the box"},
    {.type = KLR_FLAG,
     .name = "string-labels",
     .offset = KLR_PARAM(string_labels),
     .help = "labels are names, not numbers, ordered byte by byte"},
    {.type = KLR_STRING,
     .name = "positive",
     .argument = "LABEL",
     .offset = KLR_PARAM(positive),
     .also = "pos-label positive-class",
     .help = "the first class of two (default: the larger label, or the name "
             "that comes last)"},
    {.type = KLR_CHOICE,
     .letter = 'b',
     .name = "probability",
     .argument = "0|1",
     .offset = KLR_PARAM(probability),
     .choices = params_switch,
     .help = "1: an svm with probabilities, --link platt; the other models "
             "have them anyway"},
    {.type = KLR_CHOICE,
     .name = "link",
     .argument = "LINK",
     .offset = KLR_PARAM(link),
     .choices = klr_link_names,
     .help = "from decision values f to log-odds (default %s: klr, ivm, "
             "lhalf sigma, sklr fitted, kfd checked, svm none):\n"
             "none        no probabilities\n"
             "sigma       f\n"
             "shrunk      sklr: f / (1 + lambda/2)\n"
             "consistent  sklr: what its loss estimates\n"
             "fitted      a slope times f\n"
             "platt       a slope times f, and an intercept\n"
             "checked     sigma, of kfd gaussian, unless platt is better\n"
             "gaussian    normal densities of f in each class"},
    {.type = KLR_CHOICE,
     .name = "calibrate",
     .argument = "HOW",
     .offset = KLR_PARAM(calibration),
     .choices = klr_calibration_names,
     .help = "fitted links see decision values by cross validation (cv), of "
             "a fifth held out (holdout), of the training set by its own model "
             "(training) (default %s)"},
    {.type = KLR_REAL,
     .name = "prior",
     .argument = "P",
     .offset = KLR_PARAM(prior),
     .preset = NAN,
     KLR_ABOVE_0,
     .help = "gaussian link: the probability of the first of two classes, "
             "below 1 (default: its share of the examples)"},
    {.type = KLR_FLAG,
     .name = "prior-correct",
     .offset = KLR_PARAM(prior_correct),
     .help = "probabilities for classes as frequent as in the data, whatever "
             "their weights"},
    {.type = KLR_FLAG,
     .name = "balance",
     .offset = KLR_PARAM(balance),
     .also = "balanced class-weight class-weights",
     .help = "each class weighs as much as any other: its C is multiplied by "
             "n / (k n_c)"},
    {.type = KLR_CHOICE,
     .name = "multiclass",
     .argument = "HOW",
     .offset = KLR_PARAM(multiclass),
     .choices = klr_multiclass_names,
     .also = "multi-class decision-function-shape",
     .help = "several classes: each pair (ovo), each against the rest (ova), "
             "pairs by elimination (ddag), klr of all at once (softmax) "
             "(default %s)"},
    {.type = KLR_CHOICE,
     .letter = 't',
     .name = "kernel",
     .argument = "KERNEL",
     .offset = KLR_PARAM(kernel),
     .preset = KLR_RBF,
     .choices = klr_kernel_names,
     .aliases = params_kernel_numbers,
     .group = "Kernel",
     .help = "by number or name (default %s):\n"
             "0 linear       u'v\n"
             "1 polynomial   (gamma u'v + coef0)^degree\n"
             "2 rbf          exp(-gamma |u-v|^2)\n"
             "3 sigmoid      tanh(gamma u'v + coef0)\n"
             "4 precomputed  the data give the kernel\n"
             "5 laplacian    exp(-gamma |u-v|_1)\n"
             "6 exponential  exp(2 gamma u'v)"},
    {.type = KLR_INTEGER,
     .letter = 'd',
     .name = "degree",
     .argument = "DEGREE",
     .offset = KLR_PARAM(degree),
     .preset = 3,
     .min = 0,
     .max = 1000,
     .help = "degree of the polynomial kernel (default %s)"},
    {.type = KLR_REALS,
     .letter = 'g',
     .name = "gamma",
     .argument = "GAMMA",
     .offset = KLR_PARAM(gamma),
     .preset = NAN,
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .help = "gamma of the kernel, above 0; of polynomial and sigmoid kernels "
             "below 0 as well (default: 1 / number of features); with -v a "
             "list or range, as of -c"},
    {.type = KLR_REAL,
     .letter = 'r',
     .name = "coef0",
     .argument = "COEF0",
     .offset = KLR_PARAM(coef0),
     .preset = 0,
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .help = "coef0 of the kernel (default %s)"},
    {.type = KLR_CHOICE,
     .letter = 'a',
     .name = "algorithm",
     .argument = "SOLVER",
     .offset = KLR_PARAM(solver),
     .preset = KLR_SOLVER_AUTO,
     .choices = klr_solver_names,
     .also = "solver method",
     .group = "Solver",
     .help = "smo, newton (klr, sklr, svm), smo1 (klr, sklr), trirls (klr), "
             "cg (klr with --regularizer coef), exact (kfd), greedy (ivm, "
             "kfd), threshold (lhalf) or auto: newton for klr and sklr where "
             "the kernel allows it, else smo; exact for kfd, greedy for ivm, "
             "threshold for lhalf (default %s)"},
    {.type = KLR_CHOICE,
     .name = "regularizer",
     .argument = "NAME",
     .offset = KLR_PARAM(regularizer),
     .choices = klr_regularizer_names,
     .help = "kernel: beta'K beta; coef: beta'beta, convex for any symmetric "
             "kernel (kfd; klr by newton or cg; svm by newton); half: sum "
             "|beta|^(1/2) (lhalf); auto: half for lhalf, coef by cg, for svm "
             "by newton and for kfd by greedy, else kernel (default %s)"},
    {.type = KLR_REAL,
     .letter = 'e',
     .name = "epsilon",
     .argument = "EPS",
     .offset = KLR_PARAM(eps),
     .preset = (double)NAN,
     KLR_ABOVE_0,
     .also = "tol tolerance stop",
     .help = "when to stop; newton, cg: relative duality gap (default 1e-6; "
             "newton with the regularizer kernel, where -v compares: 1e-3); "
             "exact: the same (default 1e-12; where -v compares: 1e-6); smo: "
             "violation of the optimality conditions, klr: in log-odds "
             "(default 0.001); trirls: relative change of the deviance "
             "(default 2.5); greedy: relative fall of the objective (default "
             "0.001); threshold: difference of the slopes of loss and "
             "regularizer, relative to the latter (default 0.001)"},
    {.type = KLR_REAL,
     .name = "gap",
     .argument = "GAP",
     .offset = KLR_PARAM(gap),
     .preset = 0,
     KLR_ABOVE_0,
     .help = "smo, smo1, newton, cg, exact: stop at this relative duality gap "
             "instead"},
    {.type = KLR_CHOICE,
     .name = "selection",
     .argument = "RULE",
     .offset = KLR_PARAM(selection),
     .choices = params_selections,
     .help = "kfd by greedy: the kernel of the smallest objective or of the "
             "largest dual infeasibility; of either -e bounds the mean "
             "relative change, or size, over --window (default %s)"},
    {.type = KLR_CHOICE,
     .letter = 'h',
     .name = "shrinking",
     .argument = "0|1",
     .offset = KLR_PARAM(shrinking),
     .preset = 1,
     .choices = params_switch,
     .help = "shrinking of svm (default %s)"},
    {.type = KLR_INTEGER,
     .name = "max-basis",
     .argument = "N",
     .offset = KLR_PARAM(max_basis),
     .min = 1,
     .max = INT32_MAX,
     .help = "greedy: points of the model, at most (default: no limit)"},
    {.type = KLR_INTEGER,
     .name = "basis",
     .argument = "M|auto",
     .offset = KLR_PARAM(basis),
     .min = 1,
     .max = INT32_MAX,
     .word = "auto",
     .word_value = KLR_BASIS_AUTO,
     .help =
         "klr, sklr: M points have coefficients, in place of all examples; the "
         "gap is that of this problem; auto: as many as --basis-tol asks "
         "for (default: all examples)"},
    {.type = KLR_REAL,
     .name = "basis-tol",
     .argument = "X",
     .offset = KLR_PARAM(basis_tol),
     .preset = (double)NAN,
     KLR_ABOVE_0,
     .help = "--basis auto: log loss that all examples may gain over the "
             "points (default 0.001)"},
    {.type = KLR_CHOICE,
     .name = "basis-choice",
     .argument = "HOW",
     .offset = KLR_PARAM(basis_choice),
     .choices = params_basis_choices,
     .help = "points of --basis: grow, by doubling, those that lower the "
             "bound to all examples most; uniform, drawn; balanced, drawn, as "
             "many of each class (default %s); given ones: --points"},
    {.type = KLR_CHOICE,
     .name = "basis-bound",
     .argument = "HOW",
     .offset = KLR_PARAM(basis_bound),
     .choices = params_basis_bounds,
     .help = "how far the objective may be above that of all examples: by a "
             "sample of rows of the kernel matrix, exact by all of them, or "
             "none (default %s)"},
    {.type = KLR_INTEGER,
     .name = "candidates",
     .argument = "N",
     .offset = KLR_PARAM(candidates),
     .preset = -1,
     .min = 0,
     .max = INT32_MAX,
     .help = "greedy: points tried for the next one, drawn at random; 0: all "
             "(default 59)"},
    {.type = KLR_INTEGER,
     .name = "window",
     .argument = "N",
     .offset = KLR_PARAM(window),
     .min = 1,
     .max = INT32_MAX,
     .help = "greedy: steps over which -e looks (default 1; kfd: 5)"},
    {.type = KLR_REAL,
     .letter = 'm',
     .name = "memory",
     .argument = "MB",
     .offset = KLR_PARAM(cache_mb),
     .preset = 0,
     KLR_ABOVE_0,
     .also = "cache cache-size cachesize",
     .help = "memory for the kernel (default: what it needs, at most a quarter "
             "of the memory there is)"},
    {.type = KLR_INTEGER,
     .letter = 'j',
     .name = "threads",
     .argument = "N",
     .offset = KLR_PARAM(threads),
     .min = 1,
     .max = KLR_THREADS_MAX,
     .also = "jobs n-jobs nthreads n-threads nproc",
     .help = "threads (default: KLR_THREADS, else OMP_NUM_THREADS, else the "
             "processors there are)"},
    {.type = KLR_INTEGER,
     .name = "max-iter",
     .argument = "N",
     .offset = KLR_PARAM(max_iter),
     .min = 1,
     .max = HUGE_VAL,
     .help = "iterations of a binary problem after which to stop (default: no "
             "limit, but of newton 100 Newton steps at one C; trirls: 30; smo, "
             "smo1: 1e7 or, if that is more, 100 for each example)"},
    {.type = KLR_REAL,
     .name = "time-limit",
     .argument = "SECONDS",
     .offset = KLR_PARAM(time_limit),
     KLR_ABOVE_0,
     .help = "seconds of training after which to stop (default: no limit)"},
    {.type = KLR_INTEGER,
     .letter = 'v',
     .name = "validate",
     .argument = "N",
     .offset = KLR_PARAM(folds),
     .min = 2,
     .max = INT32_MAX,
     .also =
         "fold folds nfolds n-folds kfold k-fold cv crossval cross-validation",
     .group = "Validation",
     .help = "N-fold stratified cross validation; of one cost, without a "
             "model"},
    {.type = KLR_FLAG,
     .name = "loo",
     .offset = KLR_PARAM(loo),
     .help = "klr, sklr on a basis: instead of -v, approximate leave-one-out: "
             "one training "
             "for each cost, without folds"},
    {.type = KLR_INTEGER,
     .name = "seed",
     .argument = "N",
     .offset = KLR_PARAM(seed),
     .preset = 1,
     .min = 0,
     .max = HUGE_VAL,
     .also = "random-state random-seed",
     .help = "of the division into folds, and of candidates (default %s)"},
    {.type = KLR_CHOICE,
     .name = "metric",
     .argument = "METRIC",
     .offset = KLR_PARAM(metric),
     .choices = klr_metric_names,
     .also = "score scoring",
     .help = "by which the best of several points is chosen: accuracy, "
             "balanced, logloss, brier, auc, f1, mcc, ece, or auto: logloss "
             "where there are probabilities, else accuracy (default %s)"},
    {.type = KLR_INTEGER,
     .name = "sparsest",
     .argument = "K",
     .offset = KLR_PARAM(sparsest),
     .min = 1,
     .max = INT32_MAX,
     .help = "of the K best points, choose the one with the fewest support "
             "vectors (default: the best)"},
    {.name = NULL},
};
