/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Training: the systems, what they leave open, and all machines of a model.
 */
#ifndef KLR_SOLVER_TRAIN_H
#define KLR_SOLVER_TRAIN_H

#include <pthread.h>

#include "solver/model/model.h"
#include "solver/solve/solve.h"

/* ---- systems ---- */

/* The meaning of --gap to a solver: none, a condition to stop, another -e. */
enum system_gap { GAP_NONE, GAP_STOPS, GAP_IS_EPS };
enum system_bias { BIAS_EITHER, BIAS_ALWAYS, BIAS_NEVER };
/* Examples that repeat each other may be one, with the sum of their weights:
 * never, always, or where these are 1 each, so that the sum tells how many they
 * are. */
enum system_merge { MERGE_NEVER, MERGE_ALWAYS, MERGE_UNWEIGHTED };
/* The closed form of leave-one-out, of kernels that are positive semidefinite:
 * there is none; that of all kernels, see loo.c; or the solver's own. */
enum system_leave_out { LEAVE_OUT_NONE, LEAVE_OUT_KERNELS, LEAVE_OUT_SOLVER };

struct system {
    enum klr_model_type model;
    enum klr_solver_type solver;
    enum klr_regularizer regularizer;
    bool needs_psd; /* takes positive semidefinite kernels only */
    enum system_bias bias;
    enum system_gap gap;
    enum system_merge merge;
    bool on_basis;  /* in the span of few kernels */
    bool chooses;   /* points one by one, or takes those that are given */
    double fixed16; /* where products of 16-bit entries are of use, the largest
                       curvature of the loss over C_i; else 0 */
    enum system_leave_out leave_out;
    double eps;      /* where -e is not given */
    double grid_eps; /* the same for the points of a grid, or 0: as eps */
    /* One of them: machine by machine, or those of a group together. */
    solve_fn *solve;
    solve_all_fn *solve_all;
    choose_fn *choose; /* of points that all pairs share; NULL: it is theirs */
    double (*bytes)(size_t n); /* allocated for n examples, beside tiles of K;
                                  NULL: works on a cache of its rows, or asks
                                  for tiles itself */
    /* Trains the machines of a softmax, which are one problem; NULL: it cannot.
     * The bytes are for n examples of k classes. */
    solve_all_fn *softmax;
    double (*softmax_bytes)(size_t n, size_t k);
};

/* The first system that the parameters admit; where there is none, NULL and
 * KLR_E_USAGE. */
static const struct system *system_of(const struct klr_params *params,
                                      struct klr_error *err);

/* True if the model ends when its memory does, or keeps in memory what fits.
 * Then it has all memory, and no other is trained beside it. */
static bool system_works_alone(const struct system *system);

/* ---- parameters settled: see settle.c ---- */

/* With what they leave open: the solver, its eps, the link. */
static struct klr_params params_settle(const struct klr_params *params);
/* For the points of a grid, whose best is validated once more, a larger eps;
 * 0: there is none. */
static double params_grid_eps(const struct klr_params *params);

/* ---- what a model says of its training: see describe.c ---- */

/* `params` are settled. KLR_E_MEMORY. */
static int model_describe(struct klr_model *model,
                          const struct klr_problem *problem,
                          const struct klr_params *params,
                          struct klr_error *err);

/* ---- training: see train.c ---- */

/* The bytes that the solver of the parameters allocates for n examples of k
 * classes, beside tiles of K; 0 where it keeps no tiles. */
static double solver_bytes(const struct klr_params *params, size_t n, size_t k);
/* partition_create, where examples share positions if the system allows it. */
static int training_partition(struct partition *partition,
                              const struct klr_problem *problem,
                              const struct klr_params *params,
                              struct fold_plan plan, struct klr_pool *pool,
                              struct klr_error *err);
/* operator_create on a problem, within the memory of the parameters; errors
 * name the line of its file, or the MB that are needed. */
static int problem_operator(struct klr_operator *op,
                            const struct klr_problem *problem,
                            const struct klr_params *params,
                            const struct partition *partition,
                            struct klr_pool *pool, struct klr_error *err);

/* ---- machines, groups and ensembles: see groups.c ---- */

/* Data that all machines of a training share. */
struct training {
    const struct klr_params *params; /* settled */
    const struct system *system;
    const struct partition *partition;
    struct klr_operator *op;
    enum klr_multiclass multiclass;
    double *class_weight; /* (k) C of each class, over C */
    double *weight;       /* (n) C_i / C */
    bool *given;          /* (n) points that a model has; NULL: it chooses */
    bool *chosen;     /* (parts + 1, n) points that pairs share, of trainings
                             without a part and of that of all; NULL: none */
    bool *is_chosen;  /* (parts + 1) they are known */
    double *diagonal; /* (n) K_ii */
    double most;      /* max |K_ii| */
    double dent;      /* how far below 0 an eigenvalue of K is; 0: none is, as
                         far as is known; NaN: that is not known */
    bool leave_out;   /* groups and ensembles have a shift */
    double taken;     /* bytes of params_beside that a fold has */
    const struct klr_journal *journal; /* of pairs; or NULL */
    struct clock clock;
    struct klr_arena arena; /* all that is allocated */
};

/* Machines that work on the same examples, and what came of them. */
struct machine_group {
    size_t first, machines; /* of the model's machines */
    size_t classes;         /* in the group */
    size_t *class;          /* (classes); y = +1 for class[m] in machine m */
    struct klr_range *range;
    struct klr_set set;        /* its examples, class by class */
    size_t stride;             /* of y and beta: all examples there are */
    double *y;                 /* (machines, stride) */
    double *weight;            /* (n) C_i / C */
    bool *given;               /* (n) points that it has, or NULL */
    size_t count;              /* values of C */
    double *beta;              /* (machines, count, stride) */
    struct solution *solution; /* (machines, count) */
    struct link *link;         /* (machines, count) */
    double *shift; /* (machines, count, stride) of group_leave_out, or NULL */
    struct klr_arena arena; /* all that is allocated */
};

/* All machines of a model for each C, by position of the examples. */
struct trained_machines {
    size_t count, machines, columns; /* values of C; as struct klr_model */
    double *coef;      /* (n, count, columns) as struct klr_model, transposed */
    double *rho;       /* (count, machines) */
    struct link *link; /* (count, machines) */
    double *shift;     /* as coef: what decision values change by where their
                          example is left out; or NULL */
    double scale;      /* max of sum_j beta_j^2 |K_jj| over machines and C */
    struct klr_arena arena; /* all that is allocated */
};

/* `params` are settled, *training is all zero but for a journal; free it in any
 * case. */
static int training_create(struct training *training, struct klr_operator *op,
                           const struct klr_params *params,
                           const struct partition *partition,
                           struct klr_error *err);
static void training_free(struct training *training);
/* The work of all problems, in squares of their examples: by params, partition
 * and multiclass alone. */
static double training_work(const struct training *training);
/* The precision of entries of K that decision values need, for coefficients of
 * that scale. */
static enum klr_precision training_precision(const struct training *training,
                                             double scale);

/* ---- ... of a K that may not be positive semidefinite: see dent.c ---- */

/* training->dent. */
static int training_find_dent(struct training *training, struct klr_error *err);
/* Lower the dual of a solution at that C by what the dent may hide of it. */
static void dent_judge(const struct training *training,
                       const struct binary_problem *binary, double cost,
                       struct solution *s);

/* y of class c in a machine. */
static double group_sign(const struct machine_group *group, size_t machine,
                         size_t c);
/* The sign that all examples of a machine with a bias have; 0 if they differ,
 * or if there is no bias: then one class has a finite optimum, too. 1 where
 * there are no examples, with which no solver is called. */
static double single_class_sign(const struct machine_group *group,
                                const struct klr_params *params,
                                size_t machine);
/* The weights of the sides y = -1 and y = +1. */
static void group_sizes(const struct machine_group *group, size_t machine,
                        double size[2]);
/* Fill in the examples that are not held out, their signs and weights. */
static void group_fill(struct machine_group *group,
                       const struct training *training,
                       struct held_out held_out);
/* Solve for each C, without the examples held out. */
static int group_solve(struct machine_group *group, struct training *training,
                       struct held_out held_out, struct klr_error *err);

/* Machines of a group, and the examples of the largest one, over all folds. */
static size_t group_machines(enum klr_multiclass multiclass, size_t k);
static size_t group_largest(enum klr_multiclass multiclass,
                            const struct partition *partition);
/* How many groups the machines make. Free one in any case; work on the g-th. */
static size_t group_count(const struct training *training);
static int group_create(struct machine_group *group,
                        const struct training *training, struct klr_error *err);
static void group_free(struct machine_group *group);
static void group_choose(struct machine_group *group,
                         const struct training *training, size_t g);
/* The problem of a machine, on the examples that group_fill gave the group. */
static struct binary_problem group_binary(const struct machine_group *group,
                                          struct training *training,
                                          size_t machine);

/* ---- the journal of pairs: see pair_journal.c ---- */

/* The pair, from 1, that is trained alone; 0: all are. */
static size_t training_only_pair(const struct training *training);
/* KLR_E_USAGE: there is no such pair. */
static int pair_check(const struct training *training, struct klr_error *err);
/* Have the group's pair as the journal recalls it, if it does. KLR_E_DATA:
 * these are not the numbers of this pair. */
static int pair_recall(struct machine_group *group, struct training *training,
                       bool *recalled, struct klr_error *err);
/* Keep the pair, if there is a journal for it and it is solved: its reports,
 * one for each C, say so. */
static int pair_keep(const struct machine_group *group,
                     const struct training *training,
                     const struct klr_report *report, struct klr_error *err);

/* ---- points that all pairs share: see shared_points.c ---- */

/* Where pairs are to share them, room for training->chosen. */
static int shared_points_create(struct training *training,
                                struct klr_error *err);
/* Have the points chosen, unless they are known or pairs share none; *passes is
 * what that took. Never by several members at once: systems with points work
 * alone. */
static int shared_points_choose(struct training *training,
                                struct held_out held_out, double *passes,
                                struct klr_error *err);

/* ---- teams: see team.c ---- */

/* One unit of work by a member of a team, 0 .. members-1. */
typedef int team_unit(void *context, size_t unit, size_t member,
                      struct klr_error *err);

/* Threads that take one unit after the other, in ascending order. */
struct team {
    const struct klr_params *params; /* the caller's: for its progress */
    size_t units;
    team_unit *unit;
    void *context;
    pthread_mutex_t lock; /* of what follows, and of what members share */
    pthread_cond_t ended; /* a unit */
    size_t begun;         /* units */
    bool stopped;         /* by the caller's progress */
    int code;             /* of the first failure */
    struct klr_error err;
};

/* Run all units by so many members; the first four fields are set, others 0.
 * After a failure no unit begins. Returns the first failure. A single member is
 * the caller's thread, and its units may use the pool. */
static int team_run(struct team *team, struct klr_pool *pool, size_t members,
                    struct klr_error *err);
/* Under the lock: tell the caller's progress; true: it has asked to stop. */
static bool team_tell(struct team *team, const struct klr_progress *now);

/* ---- ensembles: see ensemble.c ---- */

/* Free it in any case. */
static int ensemble_create(struct trained_machines *ensemble,
                           const struct training *training,
                           struct klr_error *err);
static void ensemble_free(struct trained_machines *ensemble);
/* All machines, without the examples of the fold; report (count) gets what
 * their solutions add. */
static int ensemble_train(struct trained_machines *ensemble,
                          struct training *training, size_t fold,
                          struct klr_report *report, struct klr_error *err);

/* True if the example at a position is a support vector of the model of the
 * t-th C; and how many of the n examples are. */
static bool ensemble_uses(const struct trained_machines *ensemble,
                          size_t position, size_t t);
static size_t ensemble_vectors(const struct trained_machines *ensemble,
                               size_t n, size_t t);

static void report_start(struct klr_report *report);
/* Its model has examples without an answer. */
static void report_lose(struct klr_report *report);
/* Solution s of the group, of a training without the fold. */
static void report_add(struct klr_report *report,
                       const struct machine_group *group,
                       const struct training *training, size_t fold, size_t s);
/* Note the classes that a fitted link is of no use for. */
static void report_note_classes(struct klr_report *report,
                                const struct klr_params *params,
                                const struct partition *partition);
static void report_finish(struct klr_report *report, const struct training *);
/* Add a report on problems that were finished apart. */
static void report_join(struct klr_report *report,
                        const struct klr_report *more);

/* ---- links fitted on decision values: see calibrate.c ---- */

enum {
    CALIBRATION_PARTS = 5,
    CALIBRATION_SAMPLE = 256 /* examples that tell the level of a model */
};

static bool link_is_fitted(int link);
/* The link whose form links of the parameters have. */
static int link_form(const struct klr_params *params);
/* Into how many parts a training set is dealt for its links. */
static size_t calibration_parts(const struct klr_params *params);
/* How many of them are decided by machines trained without them. */
static size_t calibration_solves(const struct klr_params *params);
/* Where points of a validation are compared, links of many examples are fitted
 * to one part of them, in place of all in turn. */
static void calibration_compare(struct klr_params *params,
                                const struct partition *partition);
/* group_solve without a fold, and the links. */
static int group_train(struct machine_group *group, struct training *training,
                       size_t fold, struct klr_error *err);

/* output (n, machines, count) at the positions `held`, by the solutions that
 * the group has; as it was where the clock ends that. */
static int group_decide(const struct machine_group *group,
                        struct training *training, struct klr_set held,
                        double *output, struct klr_error *err);

/* ---- approximate leave-one-out: see loo.c ---- */

/* group->shift: what leaving out an example changes its decision values by, in
 * kernel logistic regression; NaN where K is not positive semidefinite to
 * rounding, which the doubt tells. Where the clock ends it, the status of the
 * solutions does. */
static int group_leave_out(struct machine_group *group,
                           struct training *training, struct klr_error *err);
/* The bytes that group_leave_out allocates for the largest group; 0 where the
 * solver itself leaves examples out. */
static double loo_bytes(const struct klr_params *params,
                        const struct partition *partition, size_t threads);

#endif
