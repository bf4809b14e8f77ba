/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The level of examples that stand for others: costs that sum to those of all,
 * a class of few that is there whole, and none where examples are few.
 */
#define SOLVER_FLOOR 5
#include "solver.c"

#include "tests/tap.h"

enum { MOST_N = 60000 };

static double y[MOST_N], weight[MOST_N], cost[MOST_N];
static size_t part[2];

/* A level for m points; the first `few` examples are of the other class. */
static void make(struct subspace *s, struct binary_problem *problem, size_t n,
                 size_t few, size_t m)
{
    *problem = (struct binary_problem){.n = n, .y = y, .weight = weight};
    *s = (struct subspace){.problem = problem,
                           .machines = 1,
                           .columns = 1,
                           .classes = 2,
                           .part = part,
                           .n = n,
                           .most = m,
                           .c = 3,
                           .all = {.n = n, .cost = cost}};
    for (size_t i = 0; i < n; i++) {
        y[i] = i < few ? 1 : -1;
        weight[i] = 2;
    }
    ok(level_create(s, NULL) == 0, "%zu examples, %zu points", n, m);
}

static void check_costs(size_t n, size_t few, size_t m, bool whole)
{
    struct binary_problem problem;
    struct subspace s;
    double sum = 0, first = 0;
    size_t taken = 0, lost = 0;
    make(&s, &problem, n, few, m);
    level_costs(&s, true);
    for (size_t i = 0; i < n; i++) {
        sum += cost[i];
        taken += cost[i] > 0;
        first += i < few ? cost[i] : 0;
    }
    ok(s.level && fabs(sum / (6 * (double)n) - 1) < 1e-12,
       "... the sum of the costs is that of all");
    ok(taken >= 128 * m && taken <= 128 * (m + 1) * 5 / 4 + few + 2048,
       "... of %zu examples", taken);
    ok(!whole || first == 6 * (double)few, "... with few whole");
    ok(subspace_cost(&s, n - 1) == 6, "... a sample has the costs of all");
    level_costs(&s, false);
    for (size_t i = 0; i < n; i++)
        lost += cost[i] != 6;
    ok(lost == 0 && !s.sweep.times, "... which come back");
    klr_free(s.level);
}

int main(void)
{
    struct binary_problem problem;
    struct subspace s;
    check_costs(60000, 30000, 60, false);
    check_costs(59999, 2048, 60, true);
    check_costs(40001, 5, 20, true);
    check_costs(52227, 25000, 60, false); /* its last sheet is cut off */
    make(&s, &problem, 60000, 30000, 200);
    ok(!s.level, "... have none");
    return done_testing();
}
