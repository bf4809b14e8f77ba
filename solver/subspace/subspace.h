/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel logistic regression in the span of the kernels of few points.
 */
#ifndef KLR_SOLVER_SUBSPACE_H
#define KLR_SOLVER_SUBSPACE_H

#include "solver/solve/solve.h"

/* On params->basis points that it chooses, or on those that are given. primal
 * and dual are those of the problem restricted to the span; solution->basis has
 * what the objective may be above that of all points. It fills in the shift. */
static solve_fn subspace_solve;
/* The same for machines that share their points: params->basis in all. */
static solve_all_fn subspace_solve_all;
static choose_fn subspace_choose_points;

#endif
