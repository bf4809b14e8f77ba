/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums over examples: every one is in one part, and no bit depends on threads;
 * losses, gradients and the gap against sums of the definitions.
 */
#define SOLVER_FLOOR 1
#include "solver.c"

#include "tests/tap.h"

enum { N = 40000, MANY = 1200000 };

static double y[N], cost[N], u[N], g[2][N], w[2][N];

static uint64_t state = 12345;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* ---- parts ---- */

/* sum: of the indices, how many there are, and whether a part is empty. Maxima:
 * of the indices, and minus these. */
static void count_part(const void *context, size_t begin, size_t end,
                       double *sum)
{
    for (size_t i = begin; i < end; i++) {
        sum[0] += (double)i;
        part_raise(&sum[PART_SUMS], (double)i);
        part_raise(&sum[PART_SUMS + 1], -(double)i);
    }
    sum[1] += (double)(end - begin);
    sum[2] += begin >= end;
    (void)context;
}

static void test_parts(struct klr_pool *pool)
{
    static const size_t sizes[] = {0, 1, 4096, 4097, 32768, 40000, MANY};
    for (size_t q = 0; q < sizeof sizes / sizeof *sizes; q++) {
        double n = (double)sizes[q], sum[PART_VALUES] = {1, 1, 1, 1, 1, 1, 1};
        const double *most = sum + PART_SUMS;
        sum_parts(pool, sizes[q], count_part, NULL, sum);
        ok(sum[0] == n * (n - 1) / 2 && sum[1] == n && sum[2] == 0 &&
               sum[3] == 0,
           "%.0f examples are each in one part", n);
        ok(most[0] == (n > 0 ? n - 1 : -INFINITY) &&
               most[1] == (n > 0 ? 0 : -INFINITY) && most[2] == -INFINITY,
           "... and the largest is found");
    }
}

/* ---- losses ---- */

static bool same_bits(const struct losses *one, const struct losses *all)
{
    struct loss_sums a = losses_gradient(one, u, 0.1, g[0], w[0]);
    struct loss_sums b = losses_gradient(all, u, 0.1, g[1], w[1]);
    struct losses_gap p = losses_gap(one, u, 0.1, g[0], 1e-3);
    struct losses_gap q = losses_gap(all, u, 0.1, g[0], 1e-3);
    return a.losses == b.losses && a.conjugates == b.conjugates &&
           !memcmp(g[0], g[1], sizeof *g) && !memcmp(w[0], w[1], sizeof *w) &&
           losses_sum(one, u, 0.1) == losses_sum(all, u, 0.1) &&
           best_rho(one, u, 3) == best_rho(all, u, 3) &&
           !memcmp(&p, &q, sizeof p);
}

/* The gap of the dual point g[0] moved a little, by the definitions, where the
 * box cuts nothing off. */
static void test_gap(const struct losses *all, double rho, double error)
{
    long double excess = 0, worst = 0, squares = 0, sum = 0;
    for (size_t i = 0; i < N; i++) {
        long double c = cost[i], share = (long double)(y[i] * g[0][i]) / c;
        long double z = all->loss->shift - y[i] * (u[i] - rho), at[3];
        long double psi = share * logl(share) + (1 - share) * log1pl(-share);
        long double loss[3];
        for (int k = 0; k < 3; k++) {
            long double x = z + (k - 1) * (long double)error;
            loss[k] = c * (x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x)));
            at[k] = loss[k] + c * psi - share * c * x;
        }
        excess += at[1];
        worst += fmaxl(at[0], at[2]);
        squares += 0.25L * (loss[2] - loss[0]) * (loss[2] - loss[0]);
        sum += g[0][i];
    }
    struct losses_gap found = losses_gap(all, u, rho, g[0], error);
    long double gap = excess + fabsl(rho * sum);
    ok(fabsl(found.excess - gap) <= 1e-11L * gap, "excess %g", found.excess);
    ok(fabsl(found.effect - (worst - excess)) <= 1e-6L * (worst - excess),
       "what an error of %g hides of it: %g", error, found.effect);
    ok(fabsl(found.blur - sqrtl(squares)) <= 1e-9L * sqrtl(squares),
       "what such errors make of the losses: %g", found.blur);
    struct losses_gap none = losses_gap(all, u, rho, NULL, error);
    ok(none.excess == 0 && none.effect == 0 && none.blur == found.blur,
       "... without a point of the dual, too");
    none = losses_gap(all, u, rho, g[0], 0);
    ok(none.excess == found.excess && none.effect == 0 && none.blur == 0,
       "nothing of these without an error");
}

/* ---- rho ---- */

/* A slope that is steep at 0 and even on either side: Newton's steps go from 10
 * to -10 and back. */
static void test_circle(void)
{
    enum { SIDE = 40 };
    const struct loss loss = {.model = KLR_MODEL_KLR};
    struct losses all = {&loss, 2 * SIDE + 2, y, cost, NULL};
    for (size_t i = 0; i < all.n; i++) {
        bool steep = i >= 2 * SIDE;
        y[i] = i % 2 ? 1 : -1;
        u[i] = steep ? 0 : (double)i + 0.5 - SIDE;
        cost[i] = steep ? 10 : 1;
    }
    for (double start = 9.5; start <= 10.5; start += 0.25) {
        double rho = best_rho(&all, u, start);
        ok(fabs(rho) < 1e-8, "from %g to the root, %g", start, rho);
    }
}

static bool is_three_times(double x, double one)
{
    return fabs(x - 3 * one) <= 1e-14 * fabs(x);
}

/* Examples of one margin and of one cost, each in its box. */
static void test_several(void)
{
    const struct loss several = {KLR_MODEL_SKLR, 2, 0.1, 1};
    struct loss one = several;
    one.unit = 0;
    for (double margin = -4; margin <= 8; margin += 1.5) {
        double value = loss_value(&one, margin, 1),
               alpha = loss_alpha(&one, margin, 1);
        ok(is_three_times(loss_value(&several, margin, 3), value) &&
               is_three_times(loss_alpha(&several, margin, 3), alpha) &&
               is_three_times(conjugate_value(&several, 3 * alpha, 3),
                              conjugate_value(&one, alpha, 1)),
           "three examples are one at a margin of %g", margin);
    }
}

int main(void)
{
    struct klr_pool *pool;
    const struct loss losses[] = {{KLR_MODEL_KLR, 0, 0, 0},
                                  {KLR_MODEL_SKLR, 0.7, 1e-3, 0},
                                  {KLR_MODEL_SKLR, 0.7, 1e-3, 0.5}};
    ok(!klr_pool_create(&pool, 3, NULL), "three threads");
    test_parts(NULL);
    test_parts(pool);
    for (size_t i = 0; i < N; i++) {
        y[i] = uniform() < 0.3 ? 1 : -1;
        cost[i] = 0.5 + uniform();
        u[i] = 4 * uniform() - 2 + y[i];
    }
    for (size_t m = 0; m < sizeof losses / sizeof *losses; m++) {
        struct losses one = {&losses[m], N, y, cost, NULL}, all = one;
        all.pool = pool;
        ok(same_bits(&one, &all), "%s: the same bits with threads",
           klr_model_names[losses[m].model]);
        for (size_t i = 0; i < N; i++)
            g[0][i] *= 0.9 + 0.05 * uniform();
        test_gap(&all, 0.3, 1e-3);
    }
    klr_pool_free(pool);
    test_circle();
    test_several();
    return done_testing();
}
