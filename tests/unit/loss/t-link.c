/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The logistic function against long double, and links at the edges.
 */
#define SOLVER_FLOOR 1
#include "solver.c"

#include "tests/larger.h"
#include "tests/tap.h"

static uint64_t state = 12345;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

static void test_sigmoid(void)
{
    double worst = 0, worst_loss = 0;
    for (double z = -700; z <= 700; z += 0.37) {
        long double e = expl(-(long double)z), s = 1 / (1 + e);
        long double loss = z > 0 ? z + log1pl(e) : log1pl(expl(z));
        worst = larger_of(worst, (double)(fabsl(sigmoid(z) - s) / s));
        worst_loss =
            larger_of(worst_loss, (double)(fabsl(softplus(z) - loss) / loss));
    }
    ok(worst < 1e-15 * 4, "sigmoid, relative error %.1e", worst);
    ok(worst_loss < 1e-15 * 4, "softplus, relative error %.1e", worst_loss);
    ok(sigmoid(1e308) == 1 && sigmoid(-1e308) == 0,
       "sigmoid does not overflow");
    ok(softplus(1e308) == 1e308 && softplus(-1e308) == 0,
       "softplus does not overflow");
    ok(sigmoid(0) == 0.5 && sigmoid(-40) > 0,
       "sigmoid in the middle and below");
    bool same = true;
    for (double z = -700; z <= 700; z += 0.37) {
        double p, rest;
        sigmoids(z, &p, &rest);
        same = same && p == sigmoid(z) && rest == sigmoid(-z);
    }
    ok(same, "both sides at once");
}

enum { ARGUMENTS = 4001 };

/* In units of the last place of numbers as large as `wanted`. */
static double error_of(double value, long double wanted)
{
    double size = (double)wanted;
    return (double)fabsl(value - wanted) / (nextafter(size, INFINITY) - size);
}

static void logistic_of(enum klr_cpu cpu, double (*at)[ARGUMENTS])
{
    setenv("KLR_CPU", cpu == KLR_CPU_PORTABLE ? "portable" : "", 1);
    klr_logistic(ARGUMENTS, at[0], at[1], at[2], at[3]);
    unsetenv("KLR_CPU");
}

static void test_logistic(void)
{
    static double at[4][ARGUMENTS], portable[4][ARGUMENTS];
    double scale[] = {1e-9, 1, 30, 1400}, worst[3] = {0, 0, 0};
    for (size_t i = 0; i < ARGUMENTS; i++)
        portable[0][i] = at[0][i] = scale[i % 4] * (uniform() - 0.5);
    logistic_of(klr_cpu(), at);
    logistic_of(KLR_CPU_PORTABLE, portable);
    for (size_t i = 0; i < ARGUMENTS; i++) {
        long double z = at[0][i], e = expl(-fabsl(z)), above = 1 / (1 + e);
        long double p = z > 0 ? above : e * above;
        long double rest = z > 0 ? e * above : above;
        worst[0] = larger_of(worst[0], error_of(at[1][i], p));
        worst[1] = larger_of(worst[1], error_of(at[2][i], rest));
        worst[2] =
            larger_of(worst[2], error_of(at[3][i], fmaxl(z, 0) + log1pl(e)));
    }
    ok(fmax(worst[0], fmax(worst[1], worst[2])) < 4,
       "logistic functions of many: %.1f, %.1f and %.1f units", worst[0],
       worst[1], worst[2]);
    ok(memcmp(at, portable, sizeof at) == 0, "the same bits by portable code");
}

static void test_logistic_ends(void)
{
    double z[] = {0, NAN, INFINITY, -INFINITY, 1e308, -800}, p[6], rest[6];
    double loss[6], again[6];
    klr_logistic(6, z, p, rest, loss);
    ok(p[0] == 0.5 && rest[0] == 0.5 && loss[0] == log(2), "at 0");
    ok(isnan(p[1]) && isnan(rest[1]) && isnan(loss[1]), "at no number");
    ok(p[2] == 1 && rest[2] == 0 && isinf(loss[2]) && p[3] == 0 &&
           rest[3] == 1 && loss[3] == 0,
       "at both infinities");
    ok(p[4] == 1 && loss[4] == 1e308 && p[5] == 0 && rest[5] == 1 &&
           loss[5] == 0,
       "far from 0");
    klr_logistic(6, z, again, z, NULL);
    ok(memcmp(p, again, sizeof p) == 0 && memcmp(rest, z, sizeof z) == 0,
       "in place and without losses");
}

/* Decision values and parameters as large as damaged models have them: squares
 * and products overflow, and may not meet as infinities of both signs. */
static void test_overflow(void)
{
    static const struct link link[] = {{LINK_GAUSSIAN, -21, -0.5, -0.6},
                                       {LINK_GAUSSIAN, 1e300, 0, -1e300},
                                       {LINK_GAUSSIAN, -1e300, 1e308, 4},
                                       {LINK_LOGISTIC, -1e300, 1, 0},
                                       {LINK_CONSISTENT, -1e300, 1, 2}};
    const double decision[] = {-1e308, -1e20, 0, 1e20, 1e308};
    bool finite = true, right = true;
    for (size_t i = 0; i < sizeof link / sizeof *link; i++)
        for (size_t j = 0; j < 5; j++)
            finite = finite && isfinite(link_log_odds(&link[i], decision[j]));
    for (int j = 0; j < 5; j += 4) /* the square decides */
        right = right && link_log_odds(&link[0], decision[j]) > 1e300 &&
                link_log_odds(&link[2], decision[j]) < -1e300;
    ok(finite && right, "log-odds that overflow are the largest numbers");
}

/* An example of C_i = 0 is not there, whatever the box. */
static void test_left_out(void)
{
    const struct loss loss = {KLR_MODEL_SKLR, 2, 0.5, 0};
    const double y[] = {1, -1, 1}, u[] = {-3, 0.5, 40}, cost[3] = {0};
    double g[3], w[3], most = 0;
    struct losses all = {&loss, 3, y, cost, NULL};
    struct loss_sums sums = losses_gradient(&all, u, 0.1, g, w);
    for (int i = 0; i < 3; i++) {
        most = larger_of(most, fabs(g[i]) + fabs(w[i]));
        most = larger_of(most, fabs(loss_value(&loss, y[i] * u[i], 0)));
        struct loss_at at = loss_at(&loss, y[i] * u[i], 0);
        struct dual_at dual = dual_at(&loss, 0, 0);
        most = larger_of(most, excess_at(&loss, &dual, &at));
    }
    ok(most == 0 && sums.losses == 0 && sums.conjugates == 0,
       "an example without cost has neither loss nor slope");
    ok(loss_alpha(&loss, 40, 4) == 0.5 && loss_alpha(&loss, -40, 4) == 3.5,
       "one with a cost has its box");
}

int main(void)
{
    test_sigmoid();
    test_left_out();
    test_overflow();
    test_logistic();
    test_logistic_ends();
    return done_testing();
}
