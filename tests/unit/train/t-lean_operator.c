/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who keeps doubles of dense rows: a training that asks for them often, and one
 * of few numbers; not newton on many, nor klr on a basis.
 */
#define SOLVER_FLOOR 7
#include "solver.c"

#include "tests/tap.h"

enum { FEW = 9900, MANY = 10000, COLUMNS = 100 };

static double value[MANY * COLUMNS], label[MANY];

static void fill(void)
{
    uint64_t state = 3;
    for (size_t t = 0; t < MANY * COLUMNS; t++)
        value[t] = (double)(random_next(&state) % 1999) / 1000 - 0.9995;
    for (size_t i = 0; i < MANY; i++)
        label[i] = i % 2 ? 1 : -1;
}

/* True if the points of n rows have no doubles: then they can be picked. */
static bool is_lean(size_t n, const struct klr_params *given)
{
    struct klr_error err;
    struct klr_problem problem;
    struct klr_operator op = {0};
    struct klr_points *picked = NULL;
    const struct klr_params params = params_settle(given);
    const size_t first = 0;
    bool lean =
        !klr_problem_dense(&problem, n, COLUMNS, value, 1, label, &err) &&
        !problem_operator(&op, &problem, &params, NULL, NULL, &err) &&
        !klr_points_pick(&picked, op.points, &first, 1, &err) && picked;
    klr_points_free(picked);
    operator_free(&op);
    klr_problem_free(&problem);
    return lean;
}

int main(void)
{
    struct klr_params params;
    klr_params_init(&params);
    params.cache_mb = 20;
    fill();
    ok(is_lean(MANY, &params), "newton on many numbers keeps no doubles");
    ok(!is_lean(FEW, &params), "on few it does");
    params.basis = 10;
    ok(is_lean(FEW, &params), "klr on a basis keeps none of few either");
    params.basis = 0;
    params.folds = 5;
    ok(!is_lean(MANY, &params), "a validation keeps them");
    params.folds = 0;
    params.solver = KLR_SOLVER_SMO;
    ok(!is_lean(MANY, &params), "and so does smo");
    return done_testing();
}
