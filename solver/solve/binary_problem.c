/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Binary problems: what they must not be, and how often their K serves.
 */
#include "solver/solve/solve.h"

static struct losses problem_losses(const struct binary_problem *problem,
                                    const struct loss *loss, const double *cost)
{
    return (struct losses){loss, problem->n, problem->y, cost,
                           problem->op->pool};
}

/* sum beta = 0 needs totals of alpha that both classes can have. */
static int problem_check_box(const struct binary_problem *problem,
                             const struct loss *loss, double c,
                             struct klr_error *err)
{
    double lower[2] = {0, 0}, upper[2] = {0, 0};
    if (loss->box == 0)
        return 0;
    for (size_t i = 0; i < problem->n; i++) {
        double cost = c * problem->weight[i], box = loss_box(loss, cost);
        if (!(box < cost / 2))
            return klr_fail(err, KLR_E_USAGE,
                            "option --box: %g is not less than half of C = %g",
                            loss->box, cost / loss_examples(loss, cost));
        lower[problem->y[i] > 0] += box;
        upper[problem->y[i] > 0] += cost - box;
    }
    if (!problem->params->no_bias &&
        (lower[0] > upper[1] || lower[1] > upper[0]))
        return klr_fail(err, KLR_E_USAGE,
                        "option --box: %g times the examples of one class "
                        "exceeds what those of the other can outweigh, %g",
                        loss->box, fmin(upper[0], upper[1]));
    return 0;
}

static struct submatrix problem_matrix(const struct binary_problem *problem)
{
    return (struct submatrix){problem->op, problem->set};
}

static bool problem_shares_tiles(const struct binary_problem *problem)
{
    const size_t most = 7000;
    return !problem->whole && problem->op->n <= most;
}
