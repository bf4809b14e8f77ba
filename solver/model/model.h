/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Models in memory, how they answer, and the machines they consist of.
 */
#ifndef KLR_SOLVER_MODEL_H
#define KLR_SOLVER_MODEL_H

#include "solver/data/data.h"
#include "solver/loss/loss.h"

/* ---- machines of several classes: see classes.c ---- */

/* The parameters' way with several classes; two classes are always one pair. */
static enum klr_multiclass multiclass_of(const struct klr_params *params,
                                         size_t k);
static bool machines_are_classes(enum klr_multiclass multiclass);
static size_t machine_count(enum klr_multiclass multiclass, size_t k);
/* Coefficients that a support vector has. */
static size_t machine_columns(enum klr_multiclass multiclass, size_t k);
/* The problem of classes a < b among the k(k-1)/2. */
static size_t pair_index(size_t k, size_t a, size_t b);

/* The classes of the pair with that index. */
static void pair_classes(size_t k, size_t index, size_t *a, size_t *b);

/* ---- probabilities of pairs put together: see coupling.c ---- */

/* Class probabilities p (k) from those of pairs (k(k-1)/2): of the first class
 * and of the second. The second method of Wu, Lin & Weng (2004), solved
 * exactly. `work` has couple_work(k) elements. */
static void couple_pairwise(size_t k, const double *first, const double *second,
                            double *p, double *work);
static size_t couple_work(size_t k);

/* ---- models: see model.c, model_answer.c ---- */

enum { MODEL_FORMAT = 1 }; /* version of our own section of the file */

/* The words of its own section: see describe.c. */
enum model_saying {
    SAYS_VERSION,
    SAYS_DATA,
    SAYS_WEIGHTS,
    SAYS_OPTIONS,
    SAYS_DATE,
    SAYS_COMMAND,
    SAYINGS
};

/* Support vectors are grouped by class, and have a coefficient for each machine
 * in which their class takes part. Where machines are classes, these are all of
 * them, in their order. Of pairs, in LIBSVM's arrangement, that of class a's
 * vectors in the problem of classes (a, b) stands in row b - 1 if a < b, in row
 * b if a > b. */
struct klr_model {
    enum klr_model_type type;
    enum klr_multiclass multiclass; /* KLR_OVO for two classes */
    struct klr_kernel kernel;
    size_t k, machines, columns; /* classes; see groups.c */
    double *label;               /* (k) */
    struct klr_names *names;     /* of the labels, or NULL */
    struct klr_names *features;  /* names of features, or NULL */
    double *rho;                 /* (machines) */
    struct link *link;           /* (machines), of one kind, or NULL */
    size_t n_sv;
    size_t *class_sv; /* (k) support vectors of each class */
    double *coef;     /* (columns, n_sv) row-major */
    size_t *start;    /* (n_sv + 1) the vectors' features, rows in CSR; NULL in
                         a trained model, whose vectors are the problem's */
    int *index;       /* (start[n_sv]) likewise */
    double *value;    /* (start[n_sv]) likewise */
    int dimension;    /* of these features; likewise 0 */
    struct klr_scaling *scaling; /* which the vectors have been through; rows
                                    have not; or NULL */

    const struct klr_problem *problem; /* which has the vectors of a trained
                                          model; of one from a file NULL */
    size_t *sv_row;  /* (n_sv) row in the problem, from 0; of a model from a
                        file what that says, or NULL */
    bool has_record; /* LIBSVM's models have none */
    struct record {  /* the model's own section */
        enum klr_solver_type solver;
        enum klr_status status;
        double eps, cost, lambda, box, gap;
        bool bias;
        long long iterations;
        size_t examples;     /* that it was trained on; 0: not known */
        char *says[SAYINGS]; /* or NULL */
    } record;
};

/* ---- weights of linear models: see model_weights.c ---- */

/* The weights of the features in the decision value of each machine. */
struct weights {
    struct klr_feature_table features; /* of the support vectors */
    size_t machines;
    double *value; /* (features, machines) */
};

/* The weights of a model with the linear kernel; free them in any case.
 * KLR_E_MEMORY. */
static int weights_create(struct weights *weights,
                          const struct klr_model *model, struct klr_error *err);
static void weights_free(struct weights *weights);
/* decision (machines) += w'x for a row of x. */
static void weights_decide(const struct weights *weights,
                           const struct klr_features *x, size_t row,
                           double *decision);
/* True if the support vectors of a linear model are the weights of its
 * machines, one each. */
static bool model_has_weights(const struct klr_model *model);
/* *folded becomes the same model with such vectors, and shares the rest; free
 * it in any case. KLR_E_MEMORY. */
static int model_fold(const struct klr_model *model, struct klr_model *folded,
                      struct klr_error *err);
static void model_fold_free(struct klr_model *folded);
/* KLR_E_MEMORY. */
static int model_say(struct klr_model *model, enum model_saying saying,
                     const char *text, struct klr_error *err);

/* True if vector sv has a coefficient but 0 in coef (columns, n_sv). */
static bool model_uses(const struct klr_model *model, const double *coef,
                       size_t sv);
/* *out becomes the same model, one from a file, with other coefficients coef
 * (columns, n_sv): vectors that have none but 0 are left out. Its gap is not
 * known then. KLR_E_MEMORY. */
static int model_subset(struct klr_model **out, const struct klr_model *model,
                        const double *coef, struct klr_error *err);

/* The support vectors; of a trained model all examples, some of which they are.
 */
static struct klr_features model_features(const struct klr_model *model);

/* Add products (n, columns) with coefficients of class c to decision
 * (n, machines). */
static void add_products(enum klr_multiclass multiclass, size_t k, size_t c,
                         size_t n, const double *product, double *decision);
/* The label for decision (machines); the class probabilities (k) too unless
 * NULL. `work` has model_answer_work(k) elements. */
static double model_answer(const struct klr_model *model,
                           const double *decision, double *probability,
                           double *work);
static size_t model_answer_work(size_t k);

#endif
