/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Logistic losses on few kernels.
 */
#ifndef KLR_SOLVER_BASIS_H
#define KLR_SOLVER_BASIS_H

#include "solver/solve/solve.h"

/* On import points, chosen greedily; dual is that of all points. */
static solve_fn ivm_solve;
/* With the l1/2 regularizer, to a stationary point; dual is NaN. */
static solve_fn lhalf_solve;
static double lhalf_bytes(size_t n);

#endif
