/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The logistic function against long double, and pairwise coupling against a
 * minimiser that only evaluates the objective.
 */
#define SOLVER_FLOOR 4
#include "solver.c"

#include "tests/larger.h"
#include "tests/tap.h"

enum { MOST = 8, WORK = (MOST + 1) * (MOST + 2) };

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

static long double objective(size_t k, const double *r, const long double *p)
{
    long double sum = 0;
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++) {
            long double d = r[j * k + i] * p[i] - r[i * k + j] * p[j];
            sum += d * d;
        }
    return sum;
}

/* Moves mass between two classes, each time to the vertex of the parabola
 * through three values of the objective, until nothing moves. */
static void minimise(size_t k, const double *r, long double *p)
{
    long double moved = 1;
    for (size_t i = 0; i < k; i++)
        p[i] = 1.0L / (long double)k;
    for (int round = 0; round < 20000 && moved > 1e-17L; round++) {
        moved = 0;
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < k; j++) {
                if (i == j)
                    continue;
                long double a = p[i], b = p[j], f[3];
                for (int s = 0; s < 3; s++) {
                    p[i] = a + (s - 1);
                    p[j] = b - (s - 1);
                    f[s] = objective(k, r, p);
                }
                long double t = (f[0] - f[2]) / (f[0] + f[2] - 2 * f[1]) / 2;
                t = fmaxl(fminl(t, b), -a);
                p[i] = a + t;
                p[j] = b - t;
                moved = fmaxl(moved, fabsl(t));
            }
    }
}

/* `extreme` is the share of pairs with r_ij = 0 or 1. */
static void random_pairs(size_t k, double scale, double extreme, double *r)
{
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++) {
            double f = scale * (2 * uniform() - 1);
            if (uniform() < extreme)
                f = f > 0 ? 1000 : -1000;
            r[i * k + j] = sigmoid(f);
            r[j * k + i] = sigmoid(-f);
        }
}

static void test_coupling(size_t k, double scale, double extreme)
{
    double r[MOST * MOST] = {0}, p[MOST], work[WORK];
    double worst = 0, worst_sum = 0, least = 1;
    for (int trial = 0; trial < 40; trial++) {
        long double q[MOST];
        double sum = 0;
        random_pairs(k, scale, extreme, r);
        couple_pairwise(k, r, p, work);
        minimise(k, r, q);
        for (size_t i = 0; i < k; i++) {
            worst = larger_of(worst, (double)fabsl(p[i] - q[i]));
            least = fmin(least, p[i]);
            sum += p[i];
        }
        worst_sum = larger_of(worst_sum, fabs(sum - 1));
    }
    ok(worst < 1e-12 && worst_sum < 1e-12 && least >= 0,
       "%zu classes, |f| < %g, %g extreme: error %.1e, sum %.1e, least %.1e", k,
       scale, extreme, worst, worst_sum, least);
}

/* r_ij = p_i / (p_i + p_j) has the answer p, whatever its scale. */
static void test_consistent(void)
{
    enum { K = 4 };
    double p[K] = {1e-22, 1e-9, 0.25, 0}, r[K * K], q[K];
    double work[(K + 1) * (K + 2)], worst = 0;
    p[3] = 1 - p[2] - p[1] - p[0];
    for (size_t i = 0; i < K; i++)
        for (size_t j = 0; j < K; j++)
            r[i * K + j] = p[i] / (p[i] + p[j]);
    couple_pairwise(K, r, q, work);
    for (size_t i = 0; i < K; i++)
        worst = larger_of(worst, fabs(q[i] / p[i] - 1));
    ok(worst < 1e-9, "small probabilities keep their digits: %.1e", worst);
}

/* The optimality conditions, solved in long double. */
static void solve_long(size_t k, const double *r, long double *b)
{
    enum { M = MOST + 1 };
    long double a[M][M] = {{0}};
    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j < k; j++) {
            long double rji = r[j * k + i], rij = r[i * k + j];
            if (j != i) {
                a[i][i] += rji * rji;
                a[i][j] = -rji * rij;
            }
        }
        a[i][k] = a[k][i] = 1;
        b[i] = 0;
    }
    b[k] = 1;
    for (size_t c = 0; c <= k; c++) {
        size_t pivot = c;
        for (size_t i = c; i <= k; i++)
            pivot = fabsl(a[i][c]) > fabsl(a[pivot][c]) ? i : pivot;
        for (size_t j = 0; j <= k; j++) {
            long double swap = a[c][j];
            a[c][j] = a[pivot][j];
            a[pivot][j] = swap;
        }
        long double swap = b[c];
        b[c] = b[pivot];
        b[pivot] = swap;
        for (size_t i = 0; i <= k; i++) {
            long double factor = i == c ? 0 : a[i][c] / a[c][c];
            for (size_t j = c; j <= k; j++)
                a[i][j] -= factor * a[c][j];
            b[i] -= factor * b[c];
        }
    }
    for (size_t i = 0; i <= k; i++)
        b[i] /= a[i][i];
}

/* Classes on a line: pairwise log-odds are differences, each with an error. */
static void test_small(size_t k)
{
    double r[MOST * MOST] = {0}, p[MOST], work[WORK], height[MOST];
    double worst = 0, least = 1;
    for (int trial = 0; trial < 300; trial++) {
        long double q[MOST + 1];
        for (size_t i = 0; i < k; i++)
            height[i] = 20 * uniform();
        for (size_t i = 0; i < k; i++)
            for (size_t j = i + 1; j < k; j++) {
                double f = (height[i] - height[j]) * (0.5 + uniform());
                r[i * k + j] = sigmoid(f);
                r[j * k + i] = sigmoid(-f);
            }
        couple_pairwise(k, r, p, work);
        solve_long(k, r, q);
        for (size_t i = 0; i < k; i++) {
            least = fmin(least, p[i]);
            if (p[i] > 1e-10)
                worst = larger_of(worst, (double)fabsl(p[i] / q[i] - 1));
        }
    }
    ok(worst < 1e-10, "%zu classes, down to %.1e: relative error %.1e", k,
       least, worst);
}

static void test_extremes(void)
{
    double work[WORK], p[MOST];
    double two[4] = {0, 1e-300, 1, 0};
    couple_pairwise(2, two, p, work);
    ok(p[0] == 1e-300 && p[1] == 1, "two classes: (r_01, r_10) as they are");

    double cycle[9] = {0, 1, 0, 0, 0, 1, 1, 0, 0};
    couple_pairwise(3, cycle, p, work);
    ok(fabs(p[0] - 1.0 / 3) < 1e-15 && fabs(p[1] - 1.0 / 3) < 1e-15,
       "three classes that beat each other in a ring share evenly");

    double wins[9] = {0, 0, 0, 1, 0, 1, 1, 0, 0};
    couple_pairwise(3, wins, p, work);
    ok(p[0] == 0 && p[1] == 1 && p[2] == 0,
       "a class that beats all has it all");
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
    const struct loss loss = {KLR_MODEL_SKLR, 2, 0.5};
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
    test_extremes();
    test_consistent();
    for (size_t k = 3; k <= MOST; k++)
        test_small(k);
    for (size_t k = 2; k <= MOST; k++) {
        test_coupling(k, 3, 0);
        test_coupling(k, 30, 0);
        test_coupling(k, 3, 0.4);
        test_coupling(k, 3, 1);
    }
    test_logistic();
    test_logistic_ends();
    return done_testing();
}
