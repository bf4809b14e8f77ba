/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Newton method in 16-bit entries: answers are those of the true kernel,
 * whatever is kept of K, and finer entries come where fixed16, or floats, do
 * not do.
 */
#define SOLVER_FLOOR 5
#include "solver.c"

#include "tests/tap.h"

enum { N = 1900, D = 3, COSTS = 2 };

static uint64_t state = 20261122;
static double value[N * D], y[N], weight[N], beta[COSTS][N], first[COSTS][N];
static int feature[N * D];
static size_t start[N + 1];
static const struct klr_range all = {0, N};

/* Two classes that overlap. */
static struct klr_features features(void)
{
    for (size_t i = 0; i < N; i++) {
        y[i] = i < N / 3 ? 1 : -1;
        weight[i] = i % 2 ? 1 : 0.5;
        start[i + 1] = (i + 1) * D;
        for (size_t d = 0; d < D; d++) {
            feature[i * D + d] = (int)d + 1;
            value[i * D + d] = (double)(random_next(&state) >> 11) * 0x1p-53 +
                               (y[i] > 0 ? 0.3 : 0);
        }
    }
    return (struct klr_features){N, D, start, feature, value, NULL};
}

static int solve(struct klr_operator *op, const struct klr_params *params,
                 struct solution *solution)
{
    struct clock clock;
    struct klr_error err;
    const struct binary_problem problem = {.op = op,
                                           .set = set_of(&all, 1),
                                           .n = N,
                                           .y = y,
                                           .weight = weight,
                                           .params = params,
                                           .clock = &clock};
    clock_start(&clock, 1);
    for (size_t t = 0; t < COSTS; t++)
        solution[t] = (struct solution){.beta = beta[t]};
    return newton_solve(&problem, solution, &err);
}

/* The relative gap of a dual point, by entries in double. */
static double true_gap(struct klr_operator *op, const struct loss *loss,
                       double c, const double *point)
{
    static double u[N], cost[N];
    double conjugates = 0, sum = 0;
    operator_apply(op, set_of(&all, 1), set_of(&all, 1), point, 1, KLR_DOUBLE,
                   u);
    for (size_t i = 0; i < N; i++) {
        cost[i] = c * weight[i];
        sum += point[i];
        if (!(y[i] * point[i] >= 0 && y[i] * point[i] <= cost[i]))
            return INFINITY;
        conjugates += conjugate_value(loss, y[i] * point[i], cost[i]);
    }
    struct losses losses = {loss, N, y, cost, NULL};
    double rho = best_rho(&losses, u, 0);
    double primal = primal_value(&losses, point, u, rho);
    double dual = -0.5 * dot(N, point, u) - conjugates;
    return fabs(sum) <= 1e-9 * c * N ? (primal - dual) / fabs(primal)
                                     : INFINITY;
}

static size_t filled(const struct klr_operator *op, enum klr_precision p)
{
    size_t count = 0;
    for (size_t t = 0; t < op->tiles.kept[p].stored; t++)
        count += atomic_load(&op->tiles.kept[p].state[t]) == FILL_DONE;
    return count;
}

/* Tiles of both kinds, whatever their memory costs here. */
static bool keeps_at_once(struct klr_operator *op)
{
    op->tiles.patience[KLR_FIXED16] = op->tiles.patience[KLR_FLOAT] = 0;
    return false;
}

/* At each C: the precision in which its answer is judged. Products with floats
 * are dear beside those of 16-bit entries: the first C asks for one, after
 * `most`. */
static void test_ladder(const struct klr_features *x, double from, double to,
                        enum klr_precision last, long long most)
{
    const size_t tile = (size_t)KLR_TILE * KLR_TILE * 2;
    const size_t budget[] = {36 * tile, 0, 5 * tile, SIZE_MAX / 2};
    const struct klr_kernel kernel = {.type = KLR_RBF, .gamma = 2};
    const double cost[COSTS] = {from, to};
    struct klr_params params;
    struct klr_error err;
    klr_params_init(&params);
    params.cost.count = COSTS;
    memcpy(params.cost.value, cost, sizeof cost);
    params.regularizer = KLR_REGULARIZER_KERNEL;
    params.eps = 1e-6;
    for (size_t b = 0; b < sizeof budget / sizeof *budget; b++) {
        struct klr_operator op;
        struct klr_pool *pool = NULL;
        struct solution solution[COSTS];
        if (klr_pool_create(&pool, (long long)b + 1, &err) ||
            operator_create(&op, &kernel, x, NULL, pool, budget[b], &err) ||
            operator_prefer_fixed16(&op, budget[b], &err) ||
            (b == 0 && keeps_at_once(&op)) || solve(&op, &params, solution))
            printf("Bail out! %s\n", err.message);
        bool gaps = true;
        for (size_t t = 0; t < COSTS && b == 0; t++) {
            struct loss loss = loss_of(&params, cost[t]);
            double gap = true_gap(&op, &loss, cost[t], beta[t]);
            double told = (solution[t].primal - solution[t].dual) /
                          fabs(solution[t].primal);
            gaps = gaps && gap <= params.eps && fabs(gap - told) <= 1e-8;
            printf("# C %g: gap %.2e, as told %.2e, %lld products\n", cost[t],
                   gap, told, solution[t].iterations);
        }
        if (b == 0) {
            memcpy(first, beta, sizeof first);
            ok(gaps, "gaps are those of the kernel");
            ok(filled(&op, KLR_FIXED16) == 36 &&
                   solution[0].precision == KLR_FLOAT &&
                   solution[COSTS - 1].precision == last,
               "fixed16, then floats%s", last == KLR_DOUBLE ? ", doubles" : "");
            ok(solution[0].iterations <= most, "%lld products at C = %g",
               solution[0].iterations, from);
        }
        ok(!memcmp(first, beta, sizeof first), "%zu MB, %zu threads",
           budget[b] >> 20, klr_pool_size(pool));
        operator_free(&op);
        klr_pool_free(pool);
    }
}

int main(void)
{
    struct klr_features x = features();
    test_ladder(&x, 1e-5, 1e-4, KLR_FLOAT, 2);
    test_ladder(&x, 1, 8, KLR_FLOAT, 10);
    test_ladder(&x, 8, 1e3, KLR_DOUBLE, 10);
    return done_testing();
}
