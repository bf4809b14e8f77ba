/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decomposition of the dual: sequential minimal optimisation.
 */
#ifndef KLR_SOLVER_SMO_H
#define KLR_SOLVER_SMO_H

#include "solver/solve/solve.h"

/* KLR_E_USAGE where the box of an sklr is empty. */
static solve_fn smo_solve;
/* A bound of the gap at C where nothing violates by more than the tolerance. */
static double smo_bound(const struct binary_problem *problem, double c);

#endif
