/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The solution of a sample by its solver alone, which only its own clock stops:
 * that of a training would stop before. To be included after solver.c, up to
 * the room of models at least.
 */
#ifndef KLR_TESTS_SOLVE_INSIDE_H
#define KLR_TESTS_SOLVE_INSIDE_H

#include "tests/sample.h"

/* All of the sample as a problem of two classes with an operator to be made;
 * weight (MOST) is workspace, where all become 1. */
static struct binary_problem sample_binary(const struct sample *s,
                                           const struct klr_params *params,
                                           struct klr_operator *op,
                                           struct klr_range *all,
                                           double *weight, struct clock *clock)
{
    size_t n = s->problem.n;
    *all = (struct klr_range){0, n};
    for (size_t i = 0; i < n; i++)
        weight[i] = 1;
    clock_start(clock, 1);
    return (struct binary_problem){.op = op,
                                   .set = set_of(all, 1),
                                   .n = n,
                                   .y = s->label,
                                   .weight = weight,
                                   .params = params,
                                   .clock = clock};
}

/* `params` leave nothing open. Tiles of K take `budget` bytes; beta (n) is in
 * the order of the rows. */
static struct solution solve_inside(solve_fn *solver, const struct sample *s,
                                    const struct klr_params *params,
                                    size_t budget, double *beta)
{
    struct klr_operator op = {0};
    struct clock clock;
    struct klr_error err = {0};
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    struct klr_features x = problem_features(&s->problem);
    struct klr_range all;
    struct solution solution = {.beta = beta};
    double weight[MOST];
    struct binary_problem binary =
        sample_binary(s, params, &op, &all, weight, &clock);
    if (operator_create(&op, &kernel, &x, NULL, NULL, budget, &err) ||
        solver(&binary, &solution, &err))
        printf("Bail out! %s\n", err.message);
    operator_free(&op);
    return solution;
}

#endif
