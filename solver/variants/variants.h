/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Other solvers of kernel logistic regression, and of svm.
 */
#ifndef KLR_SOLVER_VARIANTS_H
#define KLR_SOLVER_VARIANTS_H

#include "solver/solve/solve.h"

/* For the regularizer beta'beta and any symmetric K: klr and svm by a truncated
 * Newton method, and klr by nonlinear conjugate gradients. */
static solve_fn coef_newton_solve, coef_cg_solve;
static double coef_bytes(size_t n);
/* klr without bias, as Maalouf et al. have it; KLR_E_DATA as newton_solve. */
static solve_fn trirls_solve;
static double trirls_bytes(size_t n);

#endif
