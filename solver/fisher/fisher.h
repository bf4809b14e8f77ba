/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel Fisher discriminants, of all kernels or of few.
 */
#ifndef KLR_SOLVER_FISHER_H
#define KLR_SOLVER_FISHER_H

#include "solver/solve/solve.h"

/* Kernel Fisher discriminants; the objectives are those of Mika (3), with
 * weights: see fisher.c. KLR_E_DATA if K turns out to be indefinite where the
 * regularizer needs it not to be, or if K does not tell the classes apart. */
static solve_all_fn fisher_solve;
static double fisher_bytes(size_t n);
/* Fisher discriminants in few kernels, for any regularizer: see
 * fisher_greedy.c. KLR_E_DATA where no kernel tells the classes apart,
 * KLR_E_LIMIT where -m has no room for the kernels taken. */
static solve_all_fn greedy_solve;

/* ---- thresholds: see fisher_threshold.c ---- */

/* u = K beta (n); *rho is the threshold of the constraints on the class means,
 * and becomes the one that params->threshold asks for. */
static int fisher_threshold(const struct binary_problem *problem,
                            const double *u, double *rho,
                            struct klr_error *err);
/* Time was over before anything was known: the shares of the classes. */
static void fisher_share(const struct binary_problem *problem,
                         struct solution *solution);

/* False if there is no discriminant. That is so if `scale`, the common factor
 * of beta, is not positive. It is so, too, if decision values of about 1 are
 * sums of such large terms, beta times kernel values up to `largest`, that
 * rounding alone separates the class means. Then the solution becomes the
 * shares of the classes: beta is 0 and f the mean of y. */
static bool fisher_tells(const struct binary_problem *problem, double scale,
                         double largest, struct solution *solution);

/* ---- objectives: see fisher_gap.c ---- */

/* Set the objectives of a solution at C = 1/c, and judge it. Its beta, rho of
 * the constraints, precision, status and doubt are set before. f (n) is K beta
 * by products of that precision, but for `drift`. No entry of K is above
 * `size`. `dual` is NaN where there is none. `target` is the relative gap to
 * reach, or 0, which accepts any. */
static void fisher_certify(const struct binary_problem *problem, double c,
                           const double *f, double size, double drift,
                           double dual, double target,
                           struct solution *solution);

#endif
