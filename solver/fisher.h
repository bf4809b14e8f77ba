/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel Fisher discriminants, of all kernels or of few: see
 * fisher_threshold.c.
 */
#ifndef KLR_SOLVER_FISHER_H
#define KLR_SOLVER_FISHER_H

#include "solver/systems.h"

/* u = K beta (n); *rho is the threshold of the constraints on the class means,
 * and becomes the one that params->threshold asks for. */
static int fisher_threshold(const struct binary *problem, const double *u,
                            double *rho, struct klr_error *err);

#endif
