/* SPDX-License-Identifier: BSD-3-Clause
 *
 * svm with the regularizer beta'beta, against its dual with dense matrices: K K
 * in long double, by steps of one or two alpha, to a gap far below that which
 * is asked for.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/sample.h"
#include "tests/stop.h"
#include "tests/tap.h"

enum { N = 60 };

static const double asked = 1e-6; /* the default gap */

static long double k[N][N], square[N][N];

static struct klr_params svm_params(enum klr_kernel_type kernel, double cost,
                                    bool no_bias)
{
    struct klr_params params;
    klr_params_init(&params);
    params.model = KLR_MODEL_SVM;
    params.regularizer = KLR_REGULARIZER_COEF;
    params.kernel = (int)kernel;
    params.gamma = klr_reals_of(1);
    params.coef0 = kernel == KLR_SIGMOID ? 0.5 : 0;
    params.cost.value[0] = cost;
    params.no_bias = no_bias;
    return params;
}

static void fill_matrices(const struct sample *s,
                          const struct klr_params *params)
{
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            k[i][j] = kernel_of(&kernel, s->value + i * FEATURES,
                                s->value + j * FEATURES);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            square[i][j] = 0;
            for (size_t q = 0; q < N; q++)
                square[i][j] += k[i][q] * k[q][j];
        }
}

/* How far g_i may go up or down: 0 <= y_i g_i <= c_i. */
static long double room_up(double y, double c, long double g)
{
    return y > 0 ? c - g : -g;
}

static long double room_down(double y, double c, long double g)
{
    return y > 0 ? g : c + g;
}

/* max D(g) = sum |g_i| - 1/2 g'K K g: the best pair that moves against each
 * other or, without bias, each g_i in turn. */
static long double dual_maximum(const struct sample *s, const double *c,
                                bool no_bias)
{
    long double g[N] = {0}, slope[N], value = 0;
    for (size_t i = 0; i < N; i++)
        slope[i] = s->label[i];
    for (long step = 0; step < 2000000; step++) {
        size_t up = N, down = N;
        for (size_t i = 0; i < N; i++) {
            double y = s->label[i];
            if (room_up(y, c[i], g[i]) > 0 && (up == N || slope[i] > slope[up]))
                up = i;
            if (room_down(y, c[i], g[i]) > 0 &&
                (down == N || slope[i] < slope[down]))
                down = i;
        }
        bool rises =
            up < N && (!no_bias || down == N || slope[up] > -slope[down]);
        size_t one = rises ? up : down, two = no_bias ? N : down;
        long double sign = rises ? 1 : -1;
        long double gain = sign * slope[one] - (two < N ? slope[two] : 0);
        if (gain < 1e-13L)
            break;
        long double bend = square[one][one];
        long double most = rises ? room_up(s->label[one], c[one], g[one])
                                 : room_down(s->label[one], c[one], g[one]);
        if (two < N) {
            bend += square[two][two] - 2 * square[one][two];
            most = fminl(most, room_down(s->label[two], c[two], g[two]));
        }
        long double t = sign * fminl(gain / fmaxl(bend, 1e-18L), most);
        g[one] += t;
        if (two < N)
            g[two] -= t;
        for (size_t i = 0; i < N; i++)
            slope[i] -= t * (square[i][one] - (two < N ? square[i][two] : 0));
    }
    for (size_t i = 0; i < N; i++)
        value += 0.5L * g[i] * (s->label[i] + slope[i]);
    return value;
}

static void test_optimum(const struct sample *s, struct klr_params params)
{
    double beta[MOST], c[N], cost = params.cost.value[0];
    long double primal = 0;
    struct solution solution = solve(s, &params, beta);
    fill_matrices(s, &params);
    for (size_t i = 0; i < N; i++) {
        long double f = -solution.rho;
        c[i] = cost;
        for (size_t w = 0; w < params.n_weights; w++)
            if (atof(params.weight[w].label) == s->label[i])
                c[i] *= params.weight[w].weight;
        for (size_t j = 0; j < N; j++)
            f += k[i][j] * beta[j];
        primal +=
            0.5L * beta[i] * beta[i] + c[i] * fmaxl(0, 1 - s->label[i] * f);
    }
    long double dual = dual_maximum(s, c, params.no_bias);
    ok(solution.status == KLR_CONVERGED && solution.iterations < 200 &&
           fabs(solution.primal / (double)primal - 1) < 1e-9,
       "%s, C = %g: the objective, %.9g, as reported after %lld products",
       klr_kernel_names[params.kernel], cost, (double)primal,
       solution.iterations);
    ok(primal - dual < 1.01L * asked * primal &&
           primal - dual > -1e-9L * primal,
       "%s: %.2Lg above the optimum", params.no_bias ? "no bias" : "bias",
       (primal - dual) / primal);
    ok(solution.dual <= (double)dual * (1 + 1e-9) &&
           solution.primal - solution.dual <= asked * solution.primal,
       "which its dual bounds from below: gap %.2g",
       1 - solution.dual / solution.primal);
}

/* Each C of a path is solved as well as alone, whatever came before. */
static void test_path(const struct sample *s)
{
    struct klr_params params = svm_params(KLR_RBF, 1, false), one = params;
    struct klr_model *model[2], *alone = NULL;
    struct klr_report report[2], single;
    struct klr_error err = {0};
    params.cost = (struct klr_reals){.count = 2, .value = {1, 30}};
    one.cost = klr_reals_of(30);
    if (klr_train(&s->problem, &params, model, report, &err) ||
        klr_train(&s->problem, &one, &alone, &single, &err))
        printf("Bail out! %s\n", err.message);
    ok(fabs(report[1].primal / single.primal - 1) < 2e-6 &&
           report[0].gap <= 1e-6 && report[1].gap <= 1e-6,
       "C = 30 behind C = 1: objective %.8g, alone %.8g", report[1].primal,
       single.primal);
    klr_model_free(model[0]);
    klr_model_free(model[1]);
    klr_model_free(alone);
}

/* Stopped at once: beta is 0, and the objective that of a constant. */
static void test_stopped(const struct sample *s)
{
    struct klr_params params = svm_params(KLR_RBF, 2, false);
    double beta[MOST];
    params.progress = stop_at_once;
    struct solution solution = solve(s, &params, beta);
    ok(solution.status == KLR_INTERRUPTED && solution.primal <= 2.0 * N &&
           dot(N, beta, beta) == 0,
       "no time: objective %g", solution.primal);
}

/* Wherever a limit ends steps, what is said of the point is so; and a gap that
 * was small before the hinge became narrower has not been lost. */
static void test_limits(const struct sample *s, double cost)
{
    struct klr_params params = svm_params(KLR_RBF, cost, false);
    double beta[MOST], worst = 0, least = INFINITY, grown = 0, last = INFINITY;
    int steps = 0;
    fill_matrices(s, &params);
    for (bool done = false; !done; steps++) {
        long double primal = 0;
        params.max_iter = 2 * steps + 1;
        struct solution solution = solve(s, &params, beta);
        for (size_t i = 0; i < N; i++) {
            long double f = -solution.rho;
            for (size_t j = 0; j < N; j++)
                f += k[i][j] * beta[j];
            primal +=
                0.5L * beta[i] * beta[i] + cost * fmaxl(0, 1 - s->label[i] * f);
        }
        worst = larger_of(worst, fabs(solution.primal / (double)primal - 1));
        done = solution.status == KLR_CONVERGED || steps > 100;
        last = (solution.primal - solution.dual) / solution.primal;
        least = fmin(least, last);
        if (least < 0.02)
            grown = larger_of(grown, last / least);
        if (!done && solution.status != KLR_ITERATION_LIMIT)
            worst = INFINITY;
    }
    ok(worst < 1e-9 && steps > 5 && last < asked,
       "%d limits: objectives off by at most %.1g", steps, worst);
    ok(grown < 1.5, "gaps at most %.1f times a former one", grown);
}

/* A gap that needs a width whose margins are told apart by their last bits, at
 * many C: alpha is within its box then, with a sum of 0. */
static void test_fine(const struct sample *s)
{
    int count = 0, reached = 0;
    for (double cost = 0.01; cost < 1000; cost *= 1.7)
        for (int no_bias = 0; no_bias < 2; no_bias++, count++) {
            struct klr_params params = svm_params(KLR_RBF, cost, no_bias);
            double beta[MOST];
            params.eps = 1e-9;
            struct solution solution = solve(s, &params, beta);
            double gap = solution.primal - solution.dual;
            reached += solution.status == KLR_CONVERGED &&
                       gap <= 1e-9 * solution.primal;
        }
    ok(reached == count, "%d of %d gaps of 1e-9", reached, count);
}

int main(void)
{
    static struct sample s;
    static const enum klr_kernel_type kernels[] = {KLR_RBF, KLR_SIGMOID};
    sample_make(&s, N);
    for (int no_bias = 0; no_bias < 2; no_bias++)
        for (int t = 0; t < 2; t++)
            for (double cost = 0.01; cost < 200; cost *= 10) {
                struct klr_params params =
                    svm_params(kernels[t], cost, no_bias);
                test_optimum(&s, params);
            }
    struct klr_params weighted = svm_params(KLR_RBF, 1, false);
    struct klr_weight weight[] = {{"1", 5}, {"-1", 0.5}};
    weighted.weight = weight;
    weighted.n_weights = 2;
    test_optimum(&s, weighted);
    test_path(&s);
    test_stopped(&s);
    for (double cost = 1; cost < 2000; cost *= 10)
        test_limits(&s, cost);
    test_fine(&s);
    return done_testing();
}
