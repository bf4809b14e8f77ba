/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The threshold of a Fisher discriminant that a linear support vector machine
 * gives: against the minimum of F(w, b) over a fine search in w, for each of
 * which every point where F has a kink in b is tried, and against LIBSVM.
 */
#define SOLVER_FLOOR 5
#include "solver.c"

#include "tests/larger.h"
#include "tests/tap.h"

#include <stdio.h>

enum { MOST = 60 };

static uint64_t state = 7;

static double uniform(void)
{
    return ldexp((double)(random_next(&state) >> 11), -53);
}

static double objective(const struct binary_problem *p, const double *u,
                        double w, double b)
{
    double sum = 0.5 * w * w;
    for (size_t i = 0; i < p->n; i++)
        sum += p->weight[i] * fmax(0, 1 - p->y[i] * (w * u[i] + b));
    return sum;
}

/* The smallest F at w; the middle of the kinks where it is reached. */
static double best_bias(const struct binary_problem *p, const double *u,
                        double w, double *b)
{
    double best = INFINITY, low = 0, high = 0;
    for (size_t i = 0; i < p->n; i++) {
        double at = p->y[i] - w * u[i], value = objective(p, u, w, at);
        if (value < best * (1 - 1e-12)) {
            best = value;
            low = high = at;
        } else if (value < best * (1 + 1e-12)) {
            low = fmin(low, at);
            high = larger_of(high, at);
        }
    }
    *b = 0.5 * (low + high);
    return best;
}

/* By thirds: the smallest F at w is convex. */
static double threshold_by_force(const struct binary_problem *p,
                                 const double *u)
{
    double low = 0, high = 1e3, b;
    for (int k = 0; k < 400; k++) {
        double one = low + (high - low) / 3, two = high - (high - low) / 3;
        if (best_bias(p, u, one, &b) <= best_bias(p, u, two, &b))
            high = two;
        else
            low = one;
    }
    best_bias(p, u, high, &b);
    return -b / high;
}

static void fill(struct binary_problem *p, double *y, double *weight, double *u,
                 size_t positive, double spread, double heavier)
{
    for (size_t i = 0; i < p->n; i++) {
        y[i] = i < positive ? 1 : -1;
        weight[i] = i < positive ? heavier : 1;
        u[i] = y[i] + spread * (uniform() + uniform() + uniform() - 1.5);
    }
}

static void test_search(size_t n, size_t positive, double spread,
                        double heavier)
{
    double y[MOST], weight[MOST], u[MOST], rho = 99, keep = 99;
    struct klr_params params = {.threshold = KLR_THRESHOLD_SVM};
    struct binary_problem p = {
        .n = n, .y = y, .weight = weight, .params = &params};
    struct klr_error err = {0};
    fill(&p, y, weight, u, positive, spread, heavier);
    fisher_threshold(&p, u, &rho, &err);
    double truth = threshold_by_force(&p, u);
    ok(fabs(rho - truth) < 1e-6,
       "%zu of %zu positive, spread %g, weight %g: %.9g, by force %.9g",
       positive, n, spread, heavier, rho, truth);
    params.threshold = KLR_THRESHOLD_MODEL;
    fisher_threshold(&p, u, &keep, &err);
    ok(keep == 99, "no search where nobody asked for one");
}

/* Two examples, apart by 2 d: the middle between them. */
static void test_middle(void)
{
    double y[] = {1, -1, -1}, weight[] = {1, 1, 1}, u[] = {3, 0.5, -7};
    double rho = 0;
    struct klr_params params = {.threshold = KLR_THRESHOLD_SVM};
    struct binary_problem p = {
        .n = 3, .y = y, .weight = weight, .params = &params};
    struct klr_error err = {0};
    fisher_threshold(&p, u, &rho, &err);
    ok(fabs(rho - 1.75) < 1e-12, "the largest margin: %.15g", rho);
}

/* Beside positive examples that weigh too much to be on the wrong side, the
 * others are nothing to the walk, which ends with no point left: 1/2 w^2 +
 * sum_- C_i max(0, 2 + w (u_i - 1)) is least at w = 7/16. */
static void test_heavy(void)
{
    double y[] = {1, 1, -1, -1}, weight[] = {1e12, 1e12, 0.125, 0.125};
    double u[] = {2, 1, 1.5, -3}, rho = 0;
    struct klr_params params = {.threshold = KLR_THRESHOLD_SVM};
    struct binary_problem p = {
        .n = 4, .y = y, .weight = weight, .params = &params};
    struct klr_error err = {0};
    fisher_threshold(&p, u, &rho, &err);
    ok(fabs(rho + 9.0 / 7) < 1e-9, "all the weight in one class: %.15g", rho);
}

/* Outputs that do not order the classes leave the threshold alone. */
static void test_flat(void)
{
    double y[] = {1, -1, 1, -1}, weight[] = {1, 1, 1, 1}, rho = 0.25;
    double same[] = {1, 1, 1, 1}, wrong[] = {-1, 1, -1, 1};
    struct klr_params params = {.threshold = KLR_THRESHOLD_SVM};
    struct binary_problem p = {
        .n = 4, .y = y, .weight = weight, .params = &params};
    struct klr_error err = {0};
    fisher_threshold(&p, same, &rho, &err);
    ok(rho == 0.25, "equal outputs");
    fisher_threshold(&p, wrong, &rho, &err);
    ok(rho == 0.25, "outputs of the wrong sign");
}

/* LIBSVM on the same outputs, to its own tolerance. */
static void test_libsvm(void)
{
    double y[MOST], weight[MOST], u[MOST], rho = 0, w = 0, offset = 0;
    struct klr_params params = {.threshold = KLR_THRESHOLD_SVM};
    struct binary_problem p = {
        .n = MOST, .y = y, .weight = weight, .params = &params};
    struct klr_error err = {0};
    char path[] = "/tmp/klr-threshold-XXXXXX", line[256];
    int file = mkstemp(path);
    if (file < 0 || system("command -v svm-train >/dev/null") != 0) {
        ok(true, "LIBSVM # SKIP no svm-train here");
        return;
    }
    fill(&p, y, weight, u, 25, 2.5, 1);
    FILE *out = fdopen(file, "w");
    for (size_t i = 0; i < p.n; i++)
        fprintf(out, "%g 1:%.17g\n", y[i], u[i]);
    fclose(out);
    snprintf(line, sizeof line,
             "svm-train -q -t 0 -e 1e-9 %s %s.model && cat %s.model", path,
             path, path);
    FILE *in = popen(line, "r");
    bool vectors = false;
    while (fgets(line, sizeof line, in)) {
        double coefficient, value;
        if (sscanf(line, "rho %lf", &offset) == 1)
            continue;
        vectors = vectors || strncmp(line, "SV", 2) == 0;
        if (vectors && sscanf(line, "%lf 1:%lf", &coefficient, &value) == 2)
            w += coefficient * value;
    }
    pclose(in);
    snprintf(line, sizeof line, "%s.model", path);
    remove(line);
    remove(path);
    fisher_threshold(&p, u, &rho, &err);
    ok(fabs(rho - offset / w) < 1e-5, "LIBSVM: %.9g, here %.9g", offset / w,
       rho);
}

int main(void)
{
    test_search(40, 20, 1, 1);
    test_search(MOST, 10, 2, 1);
    test_search(MOST, 25, 3, 1);
    test_search(MOST, 15, 3, 4);
    test_search(41, 30, 2.5, 0.3);
    test_middle();
    test_heavy();
    test_flat();
    test_libsvm();
    return done_testing();
}
