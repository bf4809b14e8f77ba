/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The size of a basis of machines that share it, against that of one machine:
 * for two that tell the same classes apart all sums are twice as large.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/solve_inside.h"
#include "tests/tap.h"

static struct klr_basis_report solve_shared(const struct sample *s,
                                            const struct klr_params *params,
                                            size_t machines)
{
    static double beta[2][MOST], label[MOST], weight[MOST];
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    struct klr_features x = problem_features(&s->problem);
    struct klr_operator op = {0};
    struct klr_range all;
    struct clock clock;
    struct klr_error err = {0};
    struct solution found[2] = {{.beta = beta[0]}, {.beta = beta[1]}};
    struct solution *solution[] = {&found[0], &found[1]};
    struct binary_problem problem[2];
    problem[0] = problem[1] =
        sample_binary(s, params, &op, &all, weight, &clock);
    for (size_t i = 0; i < s->problem.n; i++)
        label[i] = -s->label[i];
    problem[1].y = label;
    if (operator_create(&op, &kernel, &x, NULL, NULL, 0, &err) ||
        subspace_solve_all(problem, machines, solution, &err))
        printf("Bail out! %s\n", err.message);
    operator_free(&op);
    return found[0].basis;
}

static bool is_twice(double x, double one)
{
    return fabs(x - 2 * one) <= 0.2 * one;
}

static void test_twice(const struct sample *s, double gamma, double cost)
{
    struct klr_params params;
    klr_params_init(&params);
    params.gamma = klr_reals_of(gamma);
    params.cost = klr_reals_of(cost);
    params.basis = KLR_BASIS_AUTO;
    params.basis_tol = 1e-4;
    params.eps = 1e-6;
    struct klr_basis_report one = solve_shared(s, &params, 1);
    struct klr_basis_report two = solve_shared(s, &params, 2);
    ok(one.points == two.points && one.end == two.end,
       "gamma %g: %zu points of two machines, %zu of one", gamma, two.points,
       one.points);
    ok(is_twice(two.excess, one.excess) &&
           is_twice(two.excess_error, one.excess_error),
       "... and the excess of both, %.3g +- %.2g, is twice that, %.3g +- %.2g",
       two.excess, two.excess_error, one.excess, one.excess_error);
}

int main(void)
{
    static struct sample s;
    sample_make(&s, 160);
    test_twice(&s, 0.045, 1);
    test_twice(&s, 8.7, 1);
    test_twice(&s, 5, 10);
    return done_testing();
}
