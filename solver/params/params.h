/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters of training: what follows from them alone.
 */
#ifndef KLR_SOLVER_PARAMS_H
#define KLR_SOLVER_PARAMS_H

#include "solver/internal.h"

/* ---- parameters: see params.c ---- */

/* C where -c is not given, for the table of systems and for --help: see
 * docs/PERFORMANCE.md, "The default of C". */
#define PARAMS_COST_LOGISTIC         30 /* of klr, sklr, ivm */
#define PARAMS_COST_HALF             3
#define PARAMS_COST_KFD              10
#define PARAMS_COST_SVM              1 /* LIBSVM's */
#define PARAMS_COST_COEF             1 /* klr: the regularizer coef */
#define PARAMS_DIGITS(number)        #number
#define PARAMS_COST_OF(name, models) models " " PARAMS_DIGITS(name)
#define PARAMS_COSTS                                                           \
    PARAMS_COST_OF(PARAMS_COST_LOGISTIC, "klr, sklr, ivm")                     \
    PARAMS_COST_OF(PARAMS_COST_HALF, "; lhalf")                                \
    PARAMS_COST_OF(PARAMS_COST_KFD, "; kfd")                                   \
    PARAMS_COST_OF(PARAMS_COST_SVM, "; svm")                                   \
    PARAMS_COST_OF(PARAMS_COST_COEF, "; klr by --regularizer coef")

/* True where few points, chosen or given, are to have coefficients of klr. */
static bool params_on_basis(const struct klr_params *params);
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
