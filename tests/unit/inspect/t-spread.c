/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When the kernel is too near to the identity, or to a constant. Examples have
 * one feature each, of size a, so that all distances are the same: 2 a^2, or
 * 2 a in the 1-norm.
 */
#include <math.h>

#include "solver.h"
#include "tests/tap.h"

enum { N = 40, ROWS = 20 };

static struct klr_params options(enum klr_kernel_type kernel)
{
    struct klr_params params;
    klr_params_init(&params);
    params.kernel = (int)kernel;
    params.cost = klr_reals_of(1);
    return params;
}

static enum klr_spread spread(size_t n, double a,
                              const struct klr_params *params)
{
    static size_t start[N + 1];
    static int index[N];
    static double value[N];
    struct klr_problem p = {.n = n,
                            .dimension = (int)n,
                            .start = start,
                            .index = index,
                            .value = value};
    for (size_t i = 0; i < n; i++) {
        index[i] = (int)i + 1;
        value[i] = a;
        start[i + 1] = i + 1;
    }
    return klr_problem_spread(&p, params);
}

/* The size at which all values of the kernel are k, by gamma 1 / n. */
static double size_of(enum klr_kernel_type kernel, double k)
{
    double distance = -log(k) * N;
    return kernel == KLR_RBF ? sqrt(distance / 2) : distance / 2;
}

static void test_edges(enum klr_kernel_type kernel, const char *name)
{
    struct klr_params params = options(kernel);
    double far = 1.0 / N - 3.0 / (ROWS * (N - 1)), near = 0.5 / N;
    ok(spread(N, size_of(kernel, 0.99 * far), &params) == KLR_SPREAD_FAR &&
           spread(N, size_of(kernel, 1.01 * far), &params) == KLR_SPREAD_WELL,
       "%s: far where the others count less than the example", name);
    ok(spread(N, size_of(kernel, 1 - 0.99 * near), &params) ==
               KLR_SPREAD_NEAR &&
           spread(N, size_of(kernel, 1 - 1.01 * near), &params) ==
               KLR_SPREAD_WELL,
       "%s: near where C n (1 - K) is below 1/2", name);
}

/* C, at its largest, and weights make up for small distances. */
static void test_cost(void)
{
    struct klr_params params = options(KLR_RBF);
    struct klr_weight weight = {.label = "1", .weight = 100};
    double weights[N], near = size_of(KLR_RBF, 1 - 0.01 / N);
    for (size_t i = 0; i < N; i++)
        weights[i] = 100;
    ok(spread(N, near, &params) == KLR_SPREAD_NEAR, "near at C = 1");
    params.example_weight = weights;
    ok(spread(N, near, &params) == KLR_SPREAD_WELL, "weights of examples");
    params.example_weight = NULL;
    params.weight = &weight;
    params.n_weights = 1;
    ok(spread(N, near, &params) == KLR_SPREAD_WELL, "weights of classes");
    params.n_weights = 0;
    params.cost = (struct klr_reals){.count = 2, .value = {1, 100}};
    ok(spread(N, near, &params) == KLR_SPREAD_WELL, "the largest C");
    params.cost = klr_reals_of(1e-3);
    ok(spread(N, size_of(KLR_RBF, 0.5), &params) == KLR_SPREAD_NEAR,
       "a small C makes any distances small");
}

static void test_gammas(void)
{
    struct klr_params params = options(KLR_RBF);
    params.gamma = klr_reals_of(1e9);
    ok(spread(N, 1, &params) == KLR_SPREAD_FAR, "a gamma of 1e9");
    params.gamma = klr_reals_of(1e-12);
    ok(spread(N, 1, &params) == KLR_SPREAD_NEAR, "a gamma of 1e-12");
    params.gamma = (struct klr_reals){.count = 2, .value = {1e-12, 1e9}};
    ok(spread(N, 1, &params) == KLR_SPREAD_WELL,
       "a grid from one to the other");
}

static void test_models(void)
{
    struct klr_params params = options(KLR_RBF);
    params.model = KLR_MODEL_KFD;
    ok(spread(N, 1e-6, &params) == KLR_SPREAD_WELL, "kfd takes any scale");
    params.model = KLR_MODEL_LHALF;
    ok(spread(N, size_of(KLR_RBF, 1 - 1.5e-4), &params) == KLR_SPREAD_NEAR &&
           spread(N, size_of(KLR_RBF, 1 - 1.6e-4), &params) == KLR_SPREAD_WELL,
       "lhalf: near where C n sqrt(1 - K) is below 1/2");
    params.model = KLR_MODEL_KLR;
    params.regularizer = KLR_REGULARIZER_COEF;
    ok(spread(N, size_of(KLR_RBF, 1 - 0.017), &params) == KLR_SPREAD_NEAR &&
           spread(N, size_of(KLR_RBF, 1 - 0.018), &params) == KLR_SPREAD_WELL,
       "beta'beta: near where C n^2 (1 - K)^2 is below 1/2");
}

static void test_others(void)
{
    struct klr_params params = options(KLR_LINEAR);
    ok(spread(N, sqrt(0.49 / N), &params) == KLR_SPREAD_NEAR &&
           spread(N, sqrt(0.51 / N), &params) == KLR_SPREAD_WELL &&
           spread(N, 1e9, &params) == KLR_SPREAD_WELL,
       "linear: half of |u - v|^2 in place of 1 - K, and never far");
    params = options(KLR_RBF);
    ok(spread(8, 1e9, &params) == KLR_SPREAD_WELL &&
           spread(9, 1e9, &params) == KLR_SPREAD_FAR,
       "that eight examples are far may be chance");
    double few = sqrt(0.5 / 20 * 2 / 2);
    ok(spread(2, 0.99 * few, &params) == KLR_SPREAD_NEAR &&
           spread(2, 1.02 * few, &params) == KLR_SPREAD_WELL,
       "two examples are near where twenty like them would be");
    ok(spread(1, 1, &params) == KLR_SPREAD_WELL, "one example is not judged");
}

/* Differences that are lost in the kernel are no equality. */
static void test_same(void)
{
    for (int type = 0; type < KLR_KERNEL_TYPES; type++) {
        struct klr_params params = options((enum klr_kernel_type)type);
        bool judged = type != KLR_PRECOMPUTED;
        params.coef0 = 1;
        ok(spread(N, 0, &params) ==
                   (judged ? KLR_SPREAD_SAME : KLR_SPREAD_WELL) &&
               spread(N, 1e-300, &params) ==
                   (judged ? KLR_SPREAD_NEAR : KLR_SPREAD_WELL) &&
               spread(N, 5e-324, &params) ==
                   (judged ? KLR_SPREAD_NEAR : KLR_SPREAD_WELL),
           "%s: equal, or nearly", klr_kernel_names[type]);
        params.coef0 = 1e60;
        ok(type != KLR_POLYNOMIAL || spread(N, 1, &params) == KLR_SPREAD_WELL,
           "what a large coef0 hides may be enough");
        params.model = KLR_MODEL_KFD;
        ok(spread(N, 0, &params) == KLR_SPREAD_WELL, "kfd says so itself");
    }
}

/* Kernels of u'v, which is a^2 of an example with itself, else 0. By gamma g
 * they are near where C n |K_ii - K_ij| is below 1/2. */
static void test_products(void)
{
    const double edge = 0.5 / N, gammas[] = {1, -2};
    for (size_t i = 0; i < 2; i++) {
        double g = gammas[i];
        struct {
            enum klr_kernel_type kernel;
            double coef0, at; /* a^2 at the edge */
        } kernel[] = {
            {KLR_POLYNOMIAL, 0, cbrt(edge) / fabs(g)},
            {KLR_POLYNOMIAL, 1, (cbrt(1 + (g > 0 ? edge : -edge)) - 1) / g},
            {KLR_SIGMOID, 0, atanh(edge) / fabs(g)},
            {KLR_EXPONENTIAL, 0, log1p(edge) / (2 * g)},
        };
        for (size_t k = 0; k < (g > 0 ? 4 : 3); k++) {
            struct klr_params params = options(kernel[k].kernel);
            params.gamma = klr_reals_of(g);
            params.coef0 = kernel[k].coef0;
            ok(spread(N, sqrt(0.99 * kernel[k].at), &params) ==
                       KLR_SPREAD_NEAR &&
                   spread(N, sqrt(1.01 * kernel[k].at), &params) ==
                       KLR_SPREAD_WELL &&
                   spread(N, sqrt(3 / fabs(g)), &params) == KLR_SPREAD_WELL,
               "%s, gamma %g, coef0 %g: near, never far",
               klr_kernel_names[params.kernel], g, params.coef0);
        }
    }
    struct klr_params params = options(KLR_SIGMOID);
    params.gamma = (struct klr_reals){.count = 2, .value = {-1, 1e-12}};
    ok(spread(N, 1, &params) == KLR_SPREAD_WELL, "the largest gamma in size");
    params = options(KLR_PRECOMPUTED);
    ok(spread(N, 1e-9, &params) == KLR_SPREAD_WELL, "precomputed: not judged");
}

int main(void)
{
    test_edges(KLR_RBF, "rbf");
    test_edges(KLR_LAPLACIAN, "laplacian");
    test_cost();
    test_gammas();
    test_models();
    test_others();
    test_same();
    test_products();
    return done_testing();
}
