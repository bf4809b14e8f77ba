/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several classes as binary problems, and what is found of each: its solution,
 * its link, its changes where an example is left out.
 */
#ifndef KLR_SOLVER_MULTICLASS_H
#define KLR_SOLVER_MULTICLASS_H

#include "solver/internal.h"

/* ---- machines, groups and ensembles: see multiclass.c ---- */

/* What all machines of a training share. */
struct training {
    const struct klr_params *params; /* settled */
    const struct system *system;
    const struct layout *layout;
    struct klr_operator *op;
    enum klr_multiclass multiclass;
    double *class_weight; /* (k) C of each class, over C */
    double *weight;       /* (n) C_i / C */
    double *diagonal;     /* (n) K_ii */
    double most;          /* max |K_ii| */
    bool leave_out;       /* groups and ensembles have a shift */
    struct clock clock;
};

/* Machines that work on the same examples, and what came of them. */
struct group {
    size_t first, machines; /* of the model's machines */
    size_t classes;         /* in the group */
    size_t *class;          /* (classes); y = +1 for class[m] in machine m */
    struct klr_range *range;
    struct klr_set set;        /* its examples, class by class */
    size_t stride;             /* of y and beta: all examples there are */
    double *y;                 /* (machines, stride) */
    double *weight;            /* (n) C_i / C */
    size_t count;              /* values of C */
    double *beta;              /* (machines, count, stride) */
    struct solution *solution; /* (machines, count) */
    struct link *link;         /* (machines, count) */
    double *shift; /* (machines, count, stride) of group_leave_out, or NULL */
};

/* All machines of a model for each C, by position of the examples. */
struct ensemble {
    size_t count, machines, columns; /* values of C; as struct klr_model */
    double *coef;      /* (n, count, columns) as struct klr_model, transposed */
    double *rho;       /* (count, machines) */
    struct link *link; /* (count, machines) */
    double *shift;     /* as coef: what decision values change by where their
                          example is left out; or NULL */
    double scale;      /* max of sum_j beta_j^2 |K_jj| over machines and C */
};

/* `params` are settled, *training is all zero; free it in any case. */
static int training_create(struct training *training, struct klr_operator *op,
                           const struct klr_params *params,
                           const struct layout *layout, struct klr_error *err);
static void training_free(struct training *training);
/* Of the entries of K for decision values by coefficients of that scale. */
static enum klr_precision training_precision(const struct training *training,
                                             double scale);

/* What the parameters ask for; two classes are one pair in any case. */
static enum klr_multiclass multiclass_of(const struct klr_params *params,
                                         size_t k);
static bool machines_are_classes(enum klr_multiclass multiclass);
static size_t machine_count(enum klr_multiclass multiclass, size_t k);
/* Coefficients that a support vector has. */
static size_t machine_columns(enum klr_multiclass multiclass, size_t k);
/* The problem of classes a < b among the k(k-1)/2. */
static size_t pair_index(size_t k, size_t a, size_t b);

/* y of class c in a machine. */
static double group_sign(const struct group *group, size_t machine, size_t c);
/* The examples beside the hole, their signs and weights. */
static void group_fill(struct group *group, const struct training *training,
                       struct hole hole);
/* Solve for each C, without the examples of the hole. */
static int group_solve(struct group *group, struct training *training,
                       struct hole hole, struct klr_error *err);

/* Machines of a group, and the examples of the largest one, over all folds. */
static size_t group_machines(enum klr_multiclass multiclass, size_t k);
static size_t group_largest(enum klr_multiclass multiclass,
                            const struct layout *layout);
/* How many groups the machines make. Free one in any case; work on the g-th. */
static size_t group_count(const struct training *training);
static int group_create(struct group *group, const struct training *training,
                        struct klr_error *err);
static void group_free(struct group *group);
static void group_choose(struct group *group, const struct training *training,
                         size_t g);

/* ---- ensembles: see ensemble.c ---- */

/* Free it in any case. */
static int ensemble_create(struct ensemble *ensemble,
                           const struct training *training,
                           struct klr_error *err);
static void ensemble_free(struct ensemble *ensemble);
/* All machines, without the examples of the fold; report (count) gets what
 * their solutions add. */
static int ensemble_train(struct ensemble *ensemble, struct training *training,
                          size_t fold, struct klr_report *report,
                          struct klr_error *err);

static void report_start(struct klr_report *report);
static void report_add(struct klr_report *report,
                       const struct solution *solution);
static void report_finish(struct klr_report *report, const struct training *);
/* Of problems that were finished apart. */
static void report_join(struct klr_report *report,
                        const struct klr_report *more);

/* ---- links fitted on decision values: see calibrate.c ---- */

enum { CALIBRATION_PARTS = 5 };

static bool link_is_fitted(int link);
/* Into how many parts a training set is dealt for its links. */
static size_t calibration_parts(const struct klr_params *params);
/* How many of them are decided by machines trained without them. */
static size_t calibration_solves(const struct klr_params *params);
/* group_solve without a fold, and the links. */
static int group_train(struct group *group, struct training *training,
                       size_t fold, struct klr_error *err);

/* output (n, machines, count) at the positions `held`, by the solutions that
 * the group has. */
static int group_decide(const struct group *group, struct training *training,
                        struct klr_set held, double *output,
                        struct klr_error *err);

/* ---- approximate leave-one-out: see loo.c ---- */

/* group->shift: what leaving out an example changes its decision values by, in
 * kernel logistic regression. KLR_E_DATA where K is not positive semidefinite,
 * KLR_E_LIMIT when the time is over; 0 after an interruption, of which the
 * solutions tell. */
static int group_leave_out(struct group *group, struct training *training,
                           struct klr_error *err);
/* What that allocates, for the largest group, in bytes. */
static double loo_bytes(const struct klr_params *params,
                        const struct layout *layout, size_t threads);

#endif
