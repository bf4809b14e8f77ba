/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The size of a basis of machines that share it, against that of one machine:
 * for two that tell the same classes apart all sums are twice as large. Where
 * the search ends early the model is that of the points so far.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/solve_inside.h"
#include "tests/tap.h"

/* Ends a run at one of its checks, each of which becomes a report. */
struct stop {
    struct clock *clock;
    int left;
};

static int stop_later(const struct klr_progress *progress, void *context)
{
    struct stop *stop = context;
    stop->clock->next_report = 0;
    (void)progress;
    return stop->left-- == 0;
}

/* The first machine's, after so many checks (-1: all of them). */
static struct solution solve_shared(const struct sample *s,
                                    const struct klr_params *given,
                                    size_t machines, int checks)
{
    static double beta[2][MOST], label[MOST], weight[MOST];
    struct klr_params own = *given, *params = &own;
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    struct klr_features x = problem_features(&s->problem);
    struct klr_operator op = {0};
    struct klr_range all;
    struct clock clock;
    struct klr_error err = {0};
    struct solution found[2] = {{.beta = beta[0]}, {.beta = beta[1]}};
    struct solution *solution[] = {&found[0], &found[1]};
    struct binary_problem problem[2];
    struct stop stop = {&clock, checks};
    own.progress = checks < 0 ? NULL : stop_later;
    own.context = &stop;
    problem[0] = problem[1] =
        sample_binary(s, params, &op, &all, weight, &clock);
    for (size_t i = 0; i < s->problem.n; i++)
        label[i] = -s->label[i];
    problem[1].y = label;
    if (operator_create(&op, &kernel, &x, NULL, NULL, 0, &err) ||
        subspace_solve_all(problem, machines, solution, &err))
        printf("Bail out! %s\n", err.message);
    operator_free(&op);
    return found[0];
}

static bool is_twice(double x, double one)
{
    return fabs(x - 2 * one) <= 0.2 * one;
}

static struct klr_params auto_params(double gamma, double cost)
{
    struct klr_params params;
    klr_params_init(&params);
    params.gamma = klr_reals_of(gamma);
    params.cost = klr_reals_of(cost);
    params.basis = KLR_BASIS_AUTO;
    params.basis_tol = 1e-4;
    params.eps = 1e-6;
    return params;
}

static void test_twice(const struct sample *s, double gamma, double cost)
{
    struct klr_params params = auto_params(gamma, cost);
    struct klr_basis_report one = solve_shared(s, &params, 1, -1).basis;
    struct klr_basis_report two = solve_shared(s, &params, 2, -1).basis;
    ok(one.points == two.points && one.end == two.end,
       "gamma %g: %zu points of two machines, %zu of one", gamma, two.points,
       one.points);
    ok(is_twice(two.excess, one.excess) &&
           is_twice(two.excess_error, one.excess_error),
       "... and the excess of both, %.3g +- %.2g, is twice that, %.3g +- %.2g",
       two.excess, two.excess_error, one.excess, one.excess_error);
}

/* The mean log loss of all examples. */
static double sample_loss(const struct sample *s,
                          const struct klr_params *params,
                          const struct solution *solution)
{
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    size_t n = s->problem.n;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double f = -solution->rho;
        for (size_t j = 0; j < n; j++)
            f += solution->beta[j] * kernel_of(&kernel, s->value + i * FEATURES,
                                               s->value + j * FEATURES);
        sum += softplus(-s->label[i] * f);
    }
    return sum / (double)n;
}

/* Wherever it ends the answers are better than shares of the classes, but for
 * what examples that are held out say of these. */
static void test_cut(const struct sample *s, size_t machines)
{
    struct klr_params params = auto_params(2, 1);
    double worst = 0, first = 0, last = 0;
    size_t cut = 0;
    for (int checks = 0;; checks++) {
        struct solution found = solve_shared(s, &params, machines, checks);
        if (found.status != KLR_INTERRUPTED)
            break;
        double loss = sample_loss(s, &params, &found);
        first = checks == 0 ? loss : first;
        worst = fmax(worst, loss);
        if (found.basis.end == KLR_BASIS_CUT) {
            last = loss;
            cut++;
        }
    }
    ok(cut > 4 && worst < first + 0.01 && last < 0.9 * first,
       "%zu machines, cut off at %zu places: losses %.3f at once, %.3f at last,"
       " %.3f at most",
       machines, cut, first, last, worst);
}

/* A sample whose values have not been formed in time changes nothing. */
static void test_unformed(const struct sample *s)
{
    static double weight[MOST];
    struct klr_params params = auto_params(2, 1);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    struct klr_features x = problem_features(&s->problem);
    struct klr_operator op = {0};
    struct klr_range all;
    struct clock clock;
    struct klr_error err = {0};
    struct subspace sub;
    struct binary_problem problem =
        sample_binary(s, &params, &op, &all, weight, &clock);
    params.basis = 20;
    if (operator_create(&op, &kernel, &x, NULL, NULL, 0, &err) ||
        subspace_begin(&sub, &problem, 1, 1, &err) ||
        subspace_draw(&sub, s->problem.n, &err))
        printf("Bail out! %s\n", err.message);
    double rho = *sub.sample.rho, first = sub.w[0];
    for (size_t i = 0; i < sub.sample.n * panels_bands(sub.m) * KLR_BAND; i++)
        sub.b[i] = 1000;
    clock.status = KLR_TIME_LIMIT;
    bool whole = subspace_fit_sample(&sub, sample_gap);
    ok(!whole && *sub.sample.rho == rho && sub.w[0] == first,
       "values that are not formed: rho %g stays, %g", rho, *sub.sample.rho);
    subspace_free(&sub);
    operator_free(&op);
}

int main(void)
{
    static struct sample s;
    sample_make(&s, 160);
    test_twice(&s, 0.045, 1);
    test_twice(&s, 8.7, 1);
    test_twice(&s, 5, 10);
    test_unformed(&s);
    test_cut(&s, 1);
    test_cut(&s, 2);
    return done_testing();
}
