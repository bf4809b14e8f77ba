/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is said of the spectrum of a kernel matrix: against matrices whose
 * eigenvalues are known, and against Jacobi's method.
 */
#define SOLVER_FLOOR 7
#include "solver.c"
#include "solver/inspect/spectrum.c"

#include "tests/sample.h"
#include "tests/stop.h"
#include "tests/tap.h"

static struct klr_params spectrum_params(enum klr_kernel_type kernel)
{
    struct klr_params params;
    klr_params_init(&params);
    params.kernel = (int)kernel;
    return params;
}

static struct klr_spectrum find(const struct klr_problem *problem,
                                const struct klr_params *params, bool exact)
{
    struct klr_spectrum found;
    struct klr_error err = {0};
    if (spectrum_find(problem, params, exact, &found, &err))
        printf("Bail out! %s\n", err.message);
    return found;
}

/* ---- given matrices ---- */

enum { GIVEN = 30 };

typedef double entry_of(size_t n, size_t i, size_t j);

static struct klr_spectrum find_given(size_t n, entry_of *entry, bool exact)
{
    static double label[GIVEN], value[GIVEN * (GIVEN + 1)];
    static size_t start[GIVEN + 1];
    static int index[GIVEN * (GIVEN + 1)];
    struct klr_params params = spectrum_params(KLR_PRECOMPUTED);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        index[at] = 0;
        value[at++] = (double)(i + 1);
        for (size_t j = 0; j < n; j++) {
            index[at] = (int)j + 1;
            value[at++] = entry(n, i, j);
        }
        start[i + 1] = at;
    }
    struct klr_problem problem = {.n = n,
                                  .dimension = (int)n,
                                  .label = label,
                                  .start = start,
                                  .index = index,
                                  .value = value};
    return find(&problem, &params, exact);
}

static double string(size_t n, size_t i, size_t j)
{
    (void)n;
    return i == j ? 2 : i + 1 == j || j + 1 == i ? -1 : 0;
}

/* -(x - x')^2 of points on a line: rank 1 on vectors of sum 0. */
static double square(size_t n, size_t i, size_t j)
{
    double d = (double)i - (double)j;
    (void)n;
    return -d * d;
}

/* -|x - x'|: definite on vectors of sum 0. */
static double distance(size_t n, size_t i, size_t j)
{
    (void)n;
    return -fabs((double)i - (double)j);
}

static double ones(size_t n, size_t i, size_t j)
{
    (void)n;
    (void)i;
    (void)j;
    return 1;
}

/* Lin & Lin, section 2. */
static double two(size_t n, size_t i, size_t j)
{
    (void)n;
    return i != j ? 0 : i == 0 ? 1 : -1;
}

static double three(size_t n, size_t i, size_t j)
{
    static const double k[3][3] = {{1, 2, -1}, {2, 1, -1}, {-1, -1, 0}};
    (void)n;
    return k[i][j];
}

static double minus_one(size_t n, size_t i, size_t j)
{
    (void)n;
    (void)i;
    (void)j;
    return -1;
}

static void test_given(void)
{
    const double pi = acos(-1);
    static const struct {
        const char *name;
        size_t n;
        entry_of *entry;
        enum klr_definiteness kind;
        size_t negative;
    } cases[] = {
        {"a string", GIVEN, string, KLR_DEFINITE, 0},
        {"ones", GIVEN, ones, KLR_SEMIDEFINITE, 0},
        {"minus ones", GIVEN, minus_one, KLR_CONDITIONALLY_SEMIDEFINITE, 1},
        {"squares", GIVEN, square, KLR_CONDITIONALLY_SEMIDEFINITE, 1},
        {"distances", GIVEN, distance, KLR_CONDITIONALLY_DEFINITE, 1},
        {"diag(1, -1)", 2, two, KLR_CONDITIONALLY_SEMIDEFINITE, 1},
        {"three examples", 3, three, KLR_INDEFINITE, 2},
        {"one example", 1, minus_one, KLR_CONDITIONALLY_DEFINITE, 1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct klr_spectrum s = find_given(cases[c].n, cases[c].entry, true);
        ok(s.kind == cases[c].kind && s.negative == cases[c].negative,
           "%s: %s, %zu negative", cases[c].name,
           klr_definiteness_names[s.kind], s.negative);
    }
    struct klr_spectrum s = find_given(GIVEN, string, true);
    ok(fabs(s.whole.least - (2 - 2 * cos(pi / (GIVEN + 1)))) < 1e-13 &&
           fabs(s.whole.most - (2 + 2 * cos(pi / (GIVEN + 1)))) < 1e-13,
       "a string: %.15g to %.15g", s.whole.least, s.whole.most);
    s = find_given(GIVEN, minus_one, true);
    ok(fabs(s.whole.least + GIVEN) < 1e-12 && s.negative == 1 &&
           fabs(s.centred.least) < s.tolerance,
       "minus ones: %g, and %.1g on vectors of sum 0", s.whole.least,
       s.centred.least);
    /* -1 of (1, -1, 0); those of (1, 1) / 2^1/2 and the third example have the
     * sum 3 and the product -2 */
    s = find_given(3, three, true);
    double root = sqrt(9 + 8);
    ok(fabs(s.whole.least + 1) < 1e-14 &&
           fabs(s.whole.most - (3 + root) / 2) < 1e-14 && s.negative == 2,
       "three examples: %g to %.15g", s.whole.least, s.whole.most);
}

/* ---- Jacobi's method ---- */

enum { SMALL = 48 };

/* The eigenvalues of a, ascending; a is lost. */
static void jacobi(size_t n, double a[SMALL][SMALL], double *value)
{
    for (int sweep = 0; sweep < 60; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                if (fabs(a[p][q]) < 1e-300)
                    continue;
                double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
                double t = (theta < 0 ? -1 : 1) /
                           (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (size_t k = 0; k < n; k++) {
                    double x = a[k][p], y = a[k][q];
                    a[k][p] = c * x - s * y;
                    a[k][q] = s * x + c * y;
                }
                for (size_t k = 0; k < n; k++) {
                    double x = a[p][k], y = a[q][k];
                    a[p][k] = c * x - s * y;
                    a[q][k] = s * x + c * y;
                }
            }
    for (size_t i = 0; i < n; i++) {
        size_t k = i;
        for (; k > 0 && value[k - 1] > a[i][i]; k--)
            value[k] = value[k - 1];
        value[k] = a[i][i];
    }
}

static void test_jacobi(double gamma, double coef0)
{
    static struct sample s;
    static double whole[SMALL][SMALL], centred[SMALL][SMALL];
    double value[SMALL], on_zero[SMALL], mean[SMALL] = {0}, all = 0;
    struct klr_params params = spectrum_params(KLR_SIGMOID);
    params.gamma = klr_reals_of(gamma);
    params.coef0 = coef0;
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    sample_make(&s, SMALL);
    for (size_t i = 0; i < SMALL; i++)
        for (size_t j = 0; j < SMALL; j++) {
            whole[i][j] = kernel_of(&kernel, s.value + i * FEATURES,
                                    s.value + j * FEATURES);
            mean[i] += whole[i][j] / SMALL;
            all += whole[i][j] / SMALL / SMALL;
        }
    /* P K P, and an eigenvalue far above all others for the vector of ones */
    for (size_t i = 0; i < SMALL; i++)
        for (size_t j = 0; j < SMALL; j++)
            centred[i][j] = whole[i][j] - mean[i] - mean[j] + all + 100;
    jacobi(SMALL, whole, value);
    jacobi(SMALL, centred, on_zero);
    struct klr_spectrum found = find(&s.problem, &params, true);
    size_t negative = 0;
    while (negative < SMALL && value[negative] < -1e-12)
        negative++;
    ok(fabs(found.whole.least - value[0]) < 1e-12 &&
           fabs(found.whole.most - value[SMALL - 1]) < 1e-12,
       "sigmoid, gamma = %g, r = %g: %g to %g", gamma, coef0, found.whole.least,
       found.whole.most);
    ok(fabs(found.centred.least - on_zero[0]) < 1e-12 &&
           fabs(found.centred.most - on_zero[SMALL - 2]) < 1e-12,
       "on vectors of sum 0: %g to %g", found.centred.least,
       found.centred.most);
    ok(found.negative == negative, "%zu eigenvalues are negative",
       found.negative);
}

/* ---- estimates ---- */

static void test_estimates(const struct sample *s, enum klr_kernel_type kernel,
                           double gamma, double coef0)
{
    struct klr_params params = spectrum_params(kernel);
    params.gamma = klr_reals_of(gamma);
    params.coef0 = coef0;
    struct klr_spectrum exact = find(&s->problem, &params, true);
    struct klr_spectrum found = find(&s->problem, &params, false);
    double near = 10 * found.tolerance;
    ok(found.tolerance < 1e-4 &&
           fabs(found.whole.least - exact.whole.least) < near &&
           fabs(found.centred.least - exact.centred.least) < near &&
           fabs(found.whole.most - exact.whole.most) < 1e-5 * exact.whole.most,
       "%s, gamma = %g, r = %g: Lanczos finds %g, %g in place of %g, %g",
       klr_kernel_names[kernel], gamma, coef0, found.whole.least,
       found.centred.least, exact.whole.least, exact.centred.least);
    /* what is 0 to an estimate may have a sign */
    ok(found.kind == exact.kind ||
           (found.kind == KLR_SEMIDEFINITE && exact.kind == KLR_DEFINITE) ||
           (found.kind == KLR_CONDITIONALLY_SEMIDEFINITE &&
            exact.kind == KLR_CONDITIONALLY_DEFINITE),
       "%s, then %s", klr_definiteness_names[found.kind],
       klr_definiteness_names[exact.kind]);
}

/* The parameters that count are checked, and no others. */
static void test_refused(const struct klr_problem *problem)
{
    struct klr_error err = {0};
    struct klr_spectrum out;
    struct klr_params params = spectrum_params(KLR_RBF);
    params.gamma = klr_reals_of(-1);
    ok(klr_kernel_spectrum(problem, &params, &out, &err) == KLR_E_USAGE &&
           strstr(err.message, "-g"),
       "%s", err.message);
    params.gamma = klr_reals_of(1);
    params.kernel = KLR_KERNEL_TYPES;
    ok(klr_kernel_spectrum(problem, &params, &out, &err) == KLR_E_USAGE, "%s",
       err.message);
    params.kernel = KLR_RBF;
    params.model = -1;
    ok(klr_kernel_spectrum(problem, &params, &out, &err) == 0,
       "no look at the model");
}

int main(void)
{
    static struct sample sample;
    (void)evaluate;
    (void)solve;
    sample_make(&sample, MOST);
    test_given();
    test_jacobi(1, 0);
    test_jacobi(0.2, -2);
    test_jacobi(3, 1);
    test_estimates(&sample, KLR_RBF, 0.5, 0);
    test_estimates(&sample, KLR_RBF, 20, 0);
    test_estimates(&sample, KLR_LINEAR, 0.5, 0);
    test_estimates(&sample, KLR_SIGMOID, 0.5, 0.5);
    test_estimates(&sample, KLR_SIGMOID, 0.5, -2);
    test_refused(&sample.problem);
    struct klr_params params = spectrum_params(KLR_RBF);
    params.progress = stop_at_once;
    ok(find(&sample.problem, &params, true).status == KLR_INTERRUPTED &&
           find(&sample.problem, &params, false).status == KLR_INTERRUPTED,
       "interrupted");
    return done_testing();
}
