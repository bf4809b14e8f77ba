/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Truncated Newton methods for logistic losses.
 */
#ifndef KLR_SOLVER_NEWTON_H
#define KLR_SOLVER_NEWTON_H

#include "solver/solve/solve.h"

/* For the logistic loss and positive semidefinite K, by a truncated Newton
 * method; KLR_E_DATA where K turns out to be indefinite. */
static solve_fn newton_solve;
/* The bytes that newton_solve allocates for n examples, K aside. */
static double newton_bytes(size_t n);
/* An sklr takes more, as SMO may have a turn. */
static double newton_sparse_bytes(size_t n);
/* As newton_solve and newton_bytes, for a softmax of several columns. */
static solve_all_fn softmax_solve;
static double softmax_bytes(size_t n, size_t columns);

#endif
