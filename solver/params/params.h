/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters of training: what follows from them alone.
 */
#ifndef KLR_SOLVER_PARAMS_H
#define KLR_SOLVER_PARAMS_H

#include "solver/internal.h"

/* By enum klr_model_type, C where -c is not given: see params_table.c. */
static const double params_model_costs[KLR_MODEL_LHALF + 1];

/* ---- parameters: see params.c ---- */

/* True where few points, chosen or given, are to have coefficients of klr. */
static bool params_on_basis(const struct klr_params *params);
/* True if C_i may be other than C, by classes or by examples. */
static bool params_have_weights(const struct klr_params *params);
/* Bytes that solvers may use for K; beside them a program takes so many for
 * what is not K, vectors and preconditioners, whatever -m says. */
static size_t params_budget(const struct klr_params *params);
static const double params_beside = 48 * 1048576.0;
/* KLR_E_LIMIT: n examples need that budget. */
static int params_refuse_budget(size_t n, double bytes, struct klr_error *err);
/* The kernel of the parameters for data of that dimension: gamma set. */
static struct klr_kernel params_kernel(const struct klr_params *params,
                                       int dimension);

#endif
