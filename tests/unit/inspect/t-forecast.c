/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long a training takes: in proportion to what it does, and about as long
 * as it does.
 */
#include <math.h>
#include <stdlib.h>

#include "solver.h"
#include "tests/tap.h"

enum { N = 100000, FEATURES = 3 };

static double value[N * FEATURES], label[N];

static struct klr_forecast forecast(size_t n, const struct klr_params *params)
{
    struct klr_problem problem;
    struct klr_forecast out = {-1, -1};
    struct klr_error err = {.code = 0};
    int code =
        klr_problem_dense(&problem, n, FEATURES, value, 1, label, &err) ||
        klr_train_forecast(&problem, params, &out, &err);
    ok(!code, "%zu examples: %s", n, code ? err.message : "told");
    klr_problem_free(&problem);
    return out;
}

static bool near(double a, double b)
{
    return fabs(a / b - 1) < 0.01;
}

static void test_proportions(struct klr_params params)
{
    struct klr_forecast one = forecast(N, &params);
    struct klr_forecast half = forecast(N / 2, &params);
    ok(one.all > 10 && one.all < 1000, "klr of %d examples: %g s", N, one.all);
    ok(one.basis > 1 && one.basis < one.all, "on a basis %g s", one.basis);
    ok(near(one.all, 4 * half.all), "the square of the examples");
    ok(one.basis < 2 * half.basis, "on a basis in proportion to them");
    params.cache_mb = 100;
    ok(forecast(N, &params).all > one.all, "longer where K is not kept");
    params.cache_mb = 1e5;
    params.threads = 2;
    ok(near(forecast(N, &params).all, one.all / 2), "two threads");
    params.threads = 1;
    params.model = KLR_MODEL_SKLR;
    params.link = KLR_LINK_SHRUNK;
    double sparse = forecast(N, &params).all;
    ok(sparse > one.all && sparse < 2 * one.all, "an sklr takes longer");
    params.link = KLR_LINK_FITTED;
    ok(forecast(N, &params).all > 4 * sparse,
       "with a link that is fitted, too");
    params.model = KLR_MODEL_KLR;
    params.link = KLR_LINK_AUTO;
    params.folds = 10;
    ok(near(forecast(N, &params).all, 8.1 * one.all), "ten folds");
    params.gamma = klr_reals_of(1);
    params.gamma.value[params.gamma.count++] = 2;
    ok(near(forecast(N, &params).all, 16.2 * one.all), "two gammas");
    params.link = KLR_LINK_PLATT;
    ok(near(forecast(N, &params).all, 1.64 * 16.2 * one.all),
       "compared by links of a fifth");
    params.gamma.count = 1;
    ok(near(forecast(N, &params).all, 4.2 * 8.1 * one.all),
       "which one gamma has of all");
}

static void test_others(const struct klr_params *given)
{
    struct klr_params params = *given;
    params.basis = 100;
    ok(isnan(forecast(1000, &params).all), "a basis: no forecast");
    params = *given;
    params.model = KLR_MODEL_SVM;
    ok(isnan(forecast(1000, &params).all), "an svm: none");
    params = *given;
    params.kernel = KLR_LINEAR;
    ok(isnan(forecast(1000, &params).all), "a linear kernel: none");
    params = *given;
    params.loo = 1;
    ok(isnan(forecast(1000, &params).all), "leave-one-out: none");
}

int main(void)
{
    struct klr_params params;
    klr_params_init(&params);
    params.threads = 1;
    params.cache_mb = 1e5;
    srand(1);
    for (size_t i = 0; i < N; i++) {
        label[i] = rand() % 2;
        for (size_t j = 0; j < FEATURES; j++)
            value[i * FEATURES + j] = rand() % 1000;
    }
    test_proportions(params);
    test_others(&params);
    return done_testing();
}
