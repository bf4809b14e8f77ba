/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel logistic regression in the span of the kernels of few points.
 */
#ifndef KLR_SOLVER_SUBSPACE_H
#define KLR_SOLVER_SUBSPACE_H

#include "solver/solve/solve.h"

/* Solve problems that share their points: params->basis that they choose, or
 * those that are given. primal and dual are those of the problem restricted to
 * the span; solution->basis tells by how much the objective may be above that
 * of all points. It fills in the shift. */
static solve_all_fn subspace_solve_all;
/* For the columns of a softmax, likewise. */
static solve_all_fn subspace_solve_softmax;
static choose_fn subspace_choose_points;

/* The rest of an expansion f = sum_i beta_i k_i on few of its kernels. */
struct projection {
    size_t points;
    double square;   /* |f|^2 in the space of the kernel */
    double distance; /* |f - its projection|^2 */
};

/* Project an expansion: beta (n) becomes its coefficients in the span of at
 * most params->basis of its kernels. beta stays as it is if it has no more
 * kernels, or if the clock ends the projection. */
static int subspace_project(const struct binary_problem *problem, double *beta,
                            struct projection *out, struct klr_error *err);

#endif
