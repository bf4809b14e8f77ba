/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The solvers, and which of them trains which model: see systems.c.
 */
#ifndef KLR_SOLVER_SYSTEMS_H
#define KLR_SOLVER_SYSTEMS_H

#include "solver/internal.h"

/* ---- solvers ---- */

/* Solve by the model and options of problem->params, for each C of its path;
 * solution (cost.count): beta (n) of each is the caller's, the rest is filled
 * in; dual is NaN where there is none. */
typedef int solve_fn(const struct binary *problem, struct solution *solution,
                     struct klr_error *err);

/* The same for problems[0..machines-1], which differ in y and weight alone,
 * solution[m] (cost.count) for each. */
typedef int solve_all_fn(const struct binary *problems, size_t machines,
                         struct solution *const *solution,
                         struct klr_error *err);

/* KLR_E_USAGE where the box of an sklr is empty. */
static solve_fn smo_solve;
/* For the logistic loss and positive semidefinite K, by a truncated Newton
 * method; KLR_E_DATA where K turns out to be indefinite. */
static solve_fn newton_solve;
/* What that allocates for n examples, in bytes, K aside. */
static double newton_bytes(size_t n);
/* The same for a softmax of several columns. */
static solve_all_fn softmax_solve;
static double softmax_bytes(size_t n, size_t columns);
/* For the regularizer beta'beta and any symmetric K: by a truncated Newton
 * method, and by nonlinear conjugate gradients. */
static solve_fn coef_newton_solve, coef_cg_solve;
static double coef_bytes(size_t n);
/* On import points, chosen greedily; dual is that of all points. */
static solve_fn ivm_solve;
/* klr without bias, as Maalouf et al. have it; KLR_E_DATA as newton_solve. */
static solve_fn trirls_solve;
static double trirls_bytes(size_t n);
/* Kernel Fisher discriminants; the objectives are those of Mika (3), with
 * weights: see fisher.c. KLR_E_DATA where K turns out to be indefinite and the
 * regularizer needs it not to be, or does not tell the classes apart. */
static solve_all_fn fisher_solve;
static double fisher_bytes(size_t n);
/* The same in few kernels, see fisher_greedy.c, for any regularizer; KLR_E_DATA
 * where no kernel tells the classes apart, KLR_E_LIMIT where -m has no room for
 * the kernels that are taken. */
static solve_all_fn greedy_solve;
/* With the l1/2 regularizer, to a stationary point; dual is NaN. */
static solve_fn lhalf_solve;
static double lhalf_bytes(size_t n);

/* solution[t].lambda_bound becomes (36) of Consolo for each C: about from that
 * lambda on the smaller class is all at the upper end of the box. `solve`
 * trains the problem. */
static int lambda_bound(const struct binary *problem, solve_fn *solve,
                        struct solution *solution, struct klr_error *err);

/* ---- systems ---- */

/* What --gap means to a solver: nothing, or a stop, or another -e. */
enum system_gap { GAP_NONE, GAP_STOPS, GAP_IS_EPS };
enum system_bias { BIAS_EITHER, BIAS_ALWAYS, BIAS_NEVER };

struct system {
    enum klr_model_type model;
    enum klr_solver_type solver;
    enum klr_regularizer regularizer;
    bool needs_psd; /* takes positive semidefinite kernels only */
    enum system_bias bias;
    enum system_gap gap;
    bool leave_out;  /* leave-one-out has a closed form, of kernels that are
                       positive semidefinite */
    double eps;      /* where -e is not given */
    double grid_eps; /* the same for the points of a grid, or 0: as eps */
    /* One of them: machine by machine, or those of a group together. */
    solve_fn *solve;
    solve_all_fn *solve_all;
    double (*bytes)(size_t n); /* allocated for n examples, beside tiles of K;
                                  NULL: works on a cache of its rows, or asks
                                  for tiles itself */
    /* The machines of a softmax, which are one problem, and the bytes for n
     * examples of k classes; NULL: it cannot. */
    solve_all_fn *softmax;
    double (*softmax_bytes)(size_t n, size_t k);
};

/* The first system that the parameters admit; where there is none, NULL and
 * KLR_E_USAGE. */
static const struct system *system_of(const struct klr_params *params,
                                      struct klr_error *err);

#endif
