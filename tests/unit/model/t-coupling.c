/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairwise coupling against a minimiser that only evaluates the objective, and
 * against the optimality conditions in long double.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/tap.h"

enum { MOST = 8, MANY = 100 };

static uint64_t state = 12345;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* p (k) by the pairs of r (k, k). */
static void couple(size_t k, const double *r, double *p)
{
    static double first[MANY * MANY], second[MANY * MANY];
    static double work[MANY * (MANY + 2)];
    size_t pair = 0;
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++, pair++) {
            first[pair] = r[i * k + j];
            second[pair] = r[j * k + i];
        }
    couple_pairwise(k, first, second, p, work);
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
    double r[MOST * MOST] = {0}, p[MOST];
    double worst = 0, worst_sum = 0, least = 1;
    for (int trial = 0; trial < 40; trial++) {
        long double q[MOST];
        double sum = 0;
        random_pairs(k, scale, extreme, r);
        couple(k, r, p);
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
    double worst = 0;
    p[3] = 1 - p[2] - p[1] - p[0];
    for (size_t i = 0; i < K; i++)
        for (size_t j = 0; j < K; j++)
            r[i * K + j] = p[i] / (p[i] + p[j]);
    couple(K, r, q);
    for (size_t i = 0; i < K; i++)
        worst = larger_of(worst, fabs(q[i] / p[i] - 1));
    ok(worst < 1e-9, "small probabilities keep their digits: %.1e", worst);
}

/* The optimality conditions, solved in long double. */
static void solve_long(size_t k, const double *r, long double *b)
{
    static long double a[MANY + 1][MANY + 1];
    memset(a, 0, sizeof a);
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
    static double r[MANY * MANY];
    double p[MANY], height[MANY], worst = 0, least = 1;
    for (int trial = 0; trial < (k > MOST ? 3 : 300); trial++) {
        long double q[MANY + 1];
        for (size_t i = 0; i < k; i++)
            height[i] = 20 * uniform();
        for (size_t i = 0; i < k; i++)
            for (size_t j = i + 1; j < k; j++) {
                double f = (height[i] - height[j]) * (0.5 + uniform());
                r[i * k + j] = sigmoid(f);
                r[j * k + i] = sigmoid(-f);
            }
        couple(k, r, p);
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
    double p[MOST];
    double two[4] = {0, 1e-300, 1, 0};
    couple(2, two, p);
    ok(p[0] == 1e-300 && p[1] == 1, "two classes: (r_01, r_10) as they are");

    double cycle[9] = {0, 1, 0, 0, 0, 1, 1, 0, 0};
    couple(3, cycle, p);
    ok(fabs(p[0] - 1.0 / 3) < 1e-15 && fabs(p[1] - 1.0 / 3) < 1e-15,
       "three classes that beat each other in a ring share evenly");

    double wins[9] = {0, 0, 0, 1, 0, 1, 1, 0, 0};
    couple(3, wins, p);
    ok(p[0] == 0 && p[1] == 1 && p[2] == 0,
       "a class that beats all has it all");
}

int main(void)
{
    test_extremes();
    test_consistent();
    for (size_t k = 3; k <= MOST; k++)
        test_small(k);
    test_small(30);
    test_small(MANY);
    for (size_t k = 2; k <= MOST; k++) {
        test_coupling(k, 3, 0);
        test_coupling(k, 30, 0);
        test_coupling(k, 3, 0.4);
        test_coupling(k, 3, 1);
    }
    return done_testing();
}
