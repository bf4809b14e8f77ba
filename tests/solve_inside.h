/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The solution of a sample by the interface between a training and its solver:
 * with parameters that klr_train refuses, or that the solver's own clock stops.
 * To be included after solver.c, whole or up to the room of training.
 */
#ifndef KLR_TESTS_SOLVE_INSIDE_H
#define KLR_TESTS_SOLVE_INSIDE_H

#include "tests/sample.h"

/* With tiles in `budget` bytes; beta in the order of the rows. */
static struct solution solve_within(const struct sample *s,
                                    const struct klr_params *given,
                                    size_t budget, double *beta)
{
    const struct klr_params settled = params_settle(given), *params = &settled;
    struct partition partition;
    struct klr_operator op = {0};
    struct training training = {0};
    struct machine_group group = {0};
    struct klr_error err = {0};
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    struct klr_features x = problem_features(&s->problem);
    if (partition_create(&partition, &s->problem, NULL, deal_none, &err) ||
        operator_create(&op, &kernel, &x, partition.order, NULL, budget,
                        &err) ||
        training_create(&training, &op, params, &partition, &err) ||
        group_create(&group, &training, &err))
        printf("Bail out! %s\n", err.message);
    group_choose(&group, &training, 0);
    if (group_solve(&group, &training, (struct held_out){1, 1}, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t p = 0; p < s->problem.n; p++)
        beta[partition.order[p]] = group.beta[p];
    struct solution solution = group.solution[0];
    group_free(&group);
    training_free(&training);
    operator_free(&op);
    partition_free(&partition);
    return solution;
}

static struct solution solve_inside(const struct sample *s,
                                    const struct klr_params *params,
                                    double *beta)
{
    return solve_within(s, params, 0, beta);
}

#endif
