/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bound of how negative K is, against its definition: with that much on its
 * diagonal K, on vectors of sum 0 where these alone count, has a Cholesky
 * factorisation.
 */
#define SOLVER_FLOOR 5
#include "solver.c"

#include "tests/tap.h"

enum { ROWS = 300, FEATURES = 5 };
static double value[ROWS * FEATURES], matrix[ROWS][ROWS];
static size_t start[ROWS + 1];
static int feature[ROWS * FEATURES];

static struct klr_features examples(size_t n)
{
    uint64_t random = 20240601;
    for (size_t i = 0; i < n * FEATURES; i++) {
        value[i] = 2 * random_unit(&random) - 1;
        feature[i] = (int)(i % FEATURES) + 1;
    }
    for (size_t i = 0; i <= n; i++)
        start[i] = i * FEATURES;
    return (struct klr_features){n, FEATURES, start, feature, value, NULL};
}

static double entry(const struct klr_kernel *kernel, size_t i, size_t j)
{
    double product = 0, square = 0;
    for (size_t d = 0; d < FEATURES; d++) {
        double x = value[i * FEATURES + d], z = value[j * FEATURES + d];
        product += x * z;
        square += (x - z) * (x - z);
    }
    product = kernel->gamma * product + kernel->coef0;
    return kernel->type == KLR_RBF       ? exp(-kernel->gamma * square)
           : kernel->type == KLR_SIGMOID ? tanh(product)
                                         : pow(product, kernel->degree);
}

/* P K P or K, and `more` on its diagonal. */
static void form(const struct klr_kernel *kernel, size_t n, bool centred,
                 double more)
{
    static double mean[ROWS];
    double all = 0;
    for (size_t i = 0; i < n; i++) {
        mean[i] = 0;
        for (size_t j = 0; j < n; j++) {
            matrix[i][j] = entry(kernel, i, j);
            mean[i] += matrix[i][j] / (double)n;
        }
        all += mean[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            matrix[i][j] +=
                (centred ? all - mean[i] - mean[j] : 0) + (i == j ? more : 0);
}

static bool is_definite(size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (!(matrix[k][k] > 0))
            return false;
        for (size_t i = k + 1; i < n; i++)
            for (size_t j = k + 1; j <= i; j++)
                matrix[i][j] -= matrix[i][k] * matrix[j][k] / matrix[k][k];
    }
    return true;
}

static double bound_of(const struct klr_kernel *kernel,
                       const struct klr_features *x, bool centred)
{
    struct klr_operator op;
    struct klr_error err;
    struct klr_range all = {0, x->n};
    double bound = (double)NAN;
    if (operator_create(&op, kernel, x, NULL, NULL, 0, &err) ||
        shortfall_bound((struct submatrix){&op, set_of(&all, 1)}, centred,
                        8 << 20, &bound, &err))
        printf("Bail out! %s\n", err.message);
    operator_free(&op);
    return bound;
}

/* The least that the diagonal needs, to two digits. */
static double needed(const struct klr_kernel *kernel, size_t n, bool centred)
{
    double low = 0, high = 1e6;
    while (high > 1e-12 && high - low > 0.01 * high) {
        double middle = low > 0 ? sqrt(low * high) : 1e-3 * high;
        form(kernel, n, centred, middle);
        if (is_definite(n))
            high = middle;
        else
            low = middle;
    }
    return high;
}

static const struct {
    struct klr_kernel kernel;
    bool centred;
    double most; /* of the bound */
    const char *name;
} cases[] = {
    {{.type = KLR_RBF, .gamma = 0.01}, false, 1e-6, "RBF, of low rank"},
    {{.type = KLR_RBF, .gamma = 50}, false, 16 * 18, "RBF, of full rank"},
    {{.type = KLR_POLYNOMIAL, .degree = 1, .gamma = 1, .coef0 = -5},
     true,
     1e-9,
     "x'z - 5, conditionally"},
    {{.type = KLR_POLYNOMIAL, .degree = 1, .gamma = 1, .coef0 = -5},
     false,
     INFINITY,
     "x'z - 5"},
    {{.type = KLR_POLYNOMIAL, .degree = 3, .gamma = 1, .coef0 = -0.3},
     true,
     INFINITY,
     "(x'z - 0.3)^3"},
    {{.type = KLR_SIGMOID, .gamma = 0.02, .coef0 = -3},
     true,
     1e-6,
     "tanh(0.02 x'z - 3), conditionally"},
    {{.type = KLR_SIGMOID, .gamma = 0.02, .coef0 = -0.8},
     true,
     1e-3,
     "tanh(0.02 x'z - 0.8), nearly so"},
    {{.type = KLR_SIGMOID, .gamma = 1, .coef0 = 0.5},
     true,
     INFINITY,
     "tanh(x'z + 0.5)"},
};

static void test_bounds(size_t n)
{
    struct klr_features x = examples(n);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct klr_kernel *kernel = &cases[c].kernel;
        bool centred = cases[c].centred;
        double bound = bound_of(kernel, &x, centred);
        double least = needed(kernel, n, centred);
        form(kernel, n, centred, bound + 1e-11);
        ok(is_definite(n) && bound < cases[c].most,
           "%s, %zu examples: at most %.2g below 0, %.2g are enough",
           cases[c].name, n, bound, least);
    }
}

/* No element is left over, and none of zeros. */
static void test_few(void)
{
    struct klr_kernel sigmoid = {.type = KLR_SIGMOID, .gamma = 1, .coef0 = -9};
    struct klr_kernel zero = {.type = KLR_SIGMOID};
    struct klr_features one = examples(1), some = examples(20);
    double bound = bound_of(&sigmoid, &one, true);
    ok(bound == 0, "of one example none has the sum 0: %g", bound);
    bound = bound_of(&sigmoid, &one, false);
    ok(bound >= 1 - 1e-7 && bound < 32, "one example of -1: %g", bound);
    ok(bound_of(&zero, &some, true) == 0 && bound_of(&zero, &some, false) == 0,
       "zeros");
}

int main(void)
{
    test_bounds(40);
    test_bounds(ROWS);
    test_few();
    return done_testing();
}
