/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Models in memory, and how they answer: model.c and predict.c.
 */
#ifndef KLR_SOLVER_MODEL_H
#define KLR_SOLVER_MODEL_H

#include "solver/multiclass.h"

enum { MODEL_FORMAT = 1 }; /* version of our own section of the file */

/* Support vectors are grouped by class, and have a coefficient for each machine
 * in which their class takes part. Where machines are classes, these are all of
 * them, in their order. Of pairs, in LIBSVM's arrangement, that of class a's
 * vectors in the problem of classes (a, b) stands in row b - 1 if a < b, in row
 * b if a > b. */
struct klr_model {
    enum klr_model_type type;
    enum klr_multiclass multiclass; /* KLR_OVO for two classes */
    struct klr_kernel kernel;
    size_t k, machines, columns; /* classes; see multiclass.c */
    double *label;               /* (k) */
    struct klr_names *names;     /* of the labels, or NULL */
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
    } record;
};

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
