/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decomposition of the dual: sequential minimal optimisation.
 */
#ifndef KLR_SOLVER_SMO_H
#define KLR_SOLVER_SMO_H

#include "solver/solve/solve.h"

/* KLR_E_USAGE where the box of an sklr is empty. */
static solve_fn smo_solve;

#endif
