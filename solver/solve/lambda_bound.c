/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How far lambda of an sklr makes sense: Consolo et al., Proposition 1. With
 * alpha(0) the solution for lambda = 0 and M the class of fewer examples, all
 * examples where both have as many, from
 *
 *   lambda = max over i in M of  y_i sum_j (C_j - box - alpha_j(0)) y_j K_ij
 *
 * on, (36), all alpha_i of M are said to be at the upper end of the box. (36)
 * stands there without y_i, which its proof has. The proof leaves out the
 * threshold, and what a logistic alpha needs to come to its end: it is a guide.
 */
#include "solver/solve/solve.h"

/* At the value `c` of C, given beta of alpha(0); rest and product (n) are
 * workspace. */
static double bound_at(const struct binary_problem *problem, double c,
                       const double *beta, double *rest, double *product)
{
    const struct loss loss = loss_of(problem->params, c);
    size_t n = problem->n;
    double bound = -INFINITY, size[2] = {0, 0};
    for (size_t j = 0; j < n; j++) {
        double cost = c * problem->weight[j];
        size[problem->y[j] > 0] += loss_examples(&loss, cost);
        rest[j] = problem->y[j] * (cost - loss_box(&loss, cost)) - beta[j];
    }
    if (!operator_apply(problem->op, problem->set, problem->set, rest, 1,
                        KLR_DOUBLE, product))
        return (double)NAN;
    for (size_t i = 0; i < n; i++)
        if (2 * size[problem->y[i] > 0] <= size[0] + size[1])
            bound = fmax(bound, problem->y[i] * product[i]);
    return bound;
}

static int lambda_bound(const struct binary_problem *problem, solve_fn *solve,
                        struct solution *solution, struct klr_error *err)
{
    size_t n = problem->n, count = problem->params->cost.count;
    struct klr_params params = *problem->params;
    struct binary_problem unshifted = *problem;
    struct solution *zero = klr_zalloc(count, sizeof *zero, err);
    double *beta = klr_alloc(count * n, sizeof *beta, err);
    double *work = klr_alloc(2 * n, sizeof *work, err);
    int code = zero && beta && work ? 0 : KLR_E_MEMORY;
    params.lambda = klr_reals_of(0);
    params.keep_bounded = true;
    unshifted.params = &params;
    for (size_t t = 0; t < count && !code; t++)
        zero[t].beta = beta + t * n;
    if (!code)
        code = solve(&unshifted, zero, err);
    for (size_t t = 0; t < count && !code; t++)
        solution[t].lambda_bound = bound_at(problem, params.cost.value[t],
                                            zero[t].beta, work, work + n);
    klr_free(zero);
    klr_free(beta);
    klr_free(work);
    return code;
}
