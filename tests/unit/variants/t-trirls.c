/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TR-KLR and TR-IRLS against the same two loops written out with dense
 * matrices, in the paper's letters: z, V, alpha and, of the linear kernel, the
 * weights of the features.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/solve_inside.h"
#include "tests/stop.h"
#include "tests/tap.h"

enum { N = 60 };

static struct klr_params trirls_params(int kernel, double cost, double eps)
{
    struct klr_params params;
    klr_params_init(&params);
    params.solver = KLR_SOLVER_TRIRLS;
    params.kernel = kernel;
    params.gamma = klr_reals_of(4);
    params.cost.value[0] = cost;
    params.eps = eps;
    return params;
}

/* ---- the two loops, on columns B of the design: f = B a ---- */

struct textbook {
    size_t n, m;                   /* rows; unknowns */
    double design[N][N];           /* B: K, or X */
    double penalty[N][N];          /* lambda K, or lambda I */
    double y[N], weight[N];        /* 0 or 1; of the classes */
    double matrix[N][N], right[N]; /* of the normal equations */
    double a[N], f[N];
};

static void textbook_values(struct textbook *t)
{
    for (size_t i = 0; i < t->n; i++) {
        t->f[i] = 0;
        for (size_t j = 0; j < t->m; j++)
            t->f[i] += t->design[i][j] * t->a[j];
    }
}

static double textbook_deviance(const struct textbook *t)
{
    double sum = 0;
    for (size_t i = 0; i < t->n; i++) {
        double p = 1 / (1 + exp(-t->f[i]));
        sum -=
            2 * t->weight[i] * (t->y[i] * log(p) + (1 - t->y[i]) * log(1 - p));
    }
    return sum;
}

/* B'V B + penalty and B'V z. */
static void textbook_equations(struct textbook *t)
{
    double v[N], z[N];
    for (size_t i = 0; i < t->n; i++) {
        double p = 1 / (1 + exp(-t->f[i]));
        v[i] = t->weight[i] * p * (1 - p);
        z[i] = t->f[i] + (t->y[i] - p) / (p * (1 - p));
    }
    for (size_t j = 0; j < t->m; j++) {
        t->right[j] = 0;
        for (size_t i = 0; i < t->n; i++)
            t->right[j] += t->design[i][j] * v[i] * z[i];
        for (size_t k = 0; k < t->m; k++) {
            t->matrix[j][k] = t->penalty[j][k];
            for (size_t i = 0; i < t->n; i++)
                t->matrix[j][k] += t->design[i][j] * v[i] * t->design[i][k];
        }
    }
}

/* Algorithm 2 with its slips put right, from the present a; returns the number
 * of its steps. */
static int textbook_conjugate(struct textbook *t, double eps)
{
    double r[N], d[N], ad[N], square = 0, least;
    for (size_t j = 0; j < t->m; j++) {
        r[j] = t->right[j];
        for (size_t k = 0; k < t->m; k++)
            r[j] -= t->matrix[j][k] * t->a[k];
        d[j] = r[j];
        square += r[j] * r[j];
    }
    least = square;
    int steps = 0, idle = 0;
    for (; sqrt(square) > eps && steps < 200 && idle < 3; steps++) {
        double curvature = 0, old = square;
        for (size_t j = 0; j < t->m; j++) {
            ad[j] = 0;
            for (size_t k = 0; k < t->m; k++)
                ad[j] += t->matrix[j][k] * d[k];
            curvature += d[j] * ad[j];
        }
        square = 0;
        for (size_t j = 0; j < t->m; j++) {
            t->a[j] += old / curvature * d[j];
            r[j] -= old / curvature * ad[j];
            square += r[j] * r[j];
        }
        for (size_t j = 0; j < t->m; j++)
            d[j] = r[j] + square / old * d[j];
        idle = square < least ? 0 : idle + 1;
        least = fmin(least, square);
    }
    return steps;
}

/* Algorithm 1 from zero; returns the number of its steps, and of those of
 * Algorithm 2. */
static int textbook_solve(struct textbook *t, double eps1, double eps2,
                          int most, int *inner)
{
    int steps = 0;
    double change = INFINITY, last;
    memset(t->a, 0, sizeof t->a);
    textbook_values(t);
    last = textbook_deviance(t);
    for (*inner = 0; change > eps1 && steps < most; steps++) {
        textbook_equations(t);
        *inner += textbook_conjugate(t, eps2);
        textbook_values(t);
        double now = textbook_deviance(t);
        change = fabs(last - now) / now;
        last = now;
    }
    return steps;
}

static void textbook_make(struct textbook *t, const struct sample *s,
                          const struct klr_params *params)
{
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    double lambda = 1 / params->cost.value[0];
    bool linear = kernel.type == KLR_LINEAR;
    memset(t, 0, sizeof *t);
    t->n = s->problem.n;
    t->m = linear ? FEATURES : t->n;
    for (size_t i = 0; i < t->n; i++) {
        t->y[i] = s->label[i] > 0;
        t->weight[i] = 1;
        for (size_t w = 0; w < params->n_weights; w++)
            if (atof(params->weight[w].label) == s->label[i])
                t->weight[i] = params->weight[w].weight;
        for (size_t j = 0; j < t->m; j++)
            t->design[i][j] = linear
                                  ? s->value[i * FEATURES + j]
                                  : kernel_of(&kernel, s->value + i * FEATURES,
                                              s->value + j * FEATURES);
    }
    for (size_t j = 0; j < t->m; j++)
        for (size_t k = 0; k < t->m; k++)
            t->penalty[j][k] =
                lambda * (linear ? (double)(j == k) : t->design[j][k]);
}

static double largest_difference(const struct textbook *t, const double *u)
{
    double most = 0, scale = 0;
    for (size_t i = 0; i < t->n; i++) {
        most = larger_of(most, fabs(t->f[i] - u[i]));
        scale = larger_of(scale, fabs(t->f[i]));
    }
    return most / scale;
}

/* ---- as printed ---- */

static struct klr_report train(const struct klr_problem *problem,
                               const struct klr_params *params)
{
    struct klr_model *model;
    struct klr_report report;
    struct klr_error err = {0};
    if (klr_train(problem, params, &model, &report, &err)) {
        printf("Bail out! %s\n", err.message);
        exit(1);
    }
    klr_model_free(model);
    return report;
}

/* Products with K: two for each system and one for the dual; for each step of
 * conjugate gradients one with `rest`, and one with d, unless by TR-IRLS, which
 * has it from the last. */
static double products_of(int kernel, int steps, int inner)
{
    return 2 * steps + 1 + inner * (kernel == KLR_LINEAR ? 1 : 2);
}

/* Decision values are those of the textbook, and so are the numbers of steps,
 * unless its eps2 is 0 and rounding ends them. */
static void test_printed(const struct sample *s, struct klr_params params,
                         double eps1, double eps2, const char *name)
{
    static struct textbook t;
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    double beta[N], u[N];
    int inner, most = params.max_iter ? (int)params.max_iter : 30;
    textbook_make(&t, s, &params);
    int steps = textbook_solve(&t, eps1, eps2, most, &inner);
    struct solution solution = solve_untiled(s, &params, beta);
    sample_product(s, &kernel, beta, u);
    double difference = largest_difference(&t, u);
    ok(solution.iterations == steps && difference < 1e-5 && solution.rho == 0,
       "%s, C = %g: %lld steps of %d, differs by %.2g", name,
       params.cost.value[0], solution.iterations, steps, difference);
    double counted = train(&s->problem, &params).passes;
    double expected = products_of(params.kernel, steps, inner);
    if (eps2 > 0)
        ok(fabs(counted - expected) < 1e-6, "%g products for %d inner steps",
           counted, inner);
}

static void test_as_printed(const struct sample *s)
{
    for (double cost = 0.1; cost < 2000; cost *= 1.5) {
        struct klr_params params = trirls_params(KLR_RBF, cost, (double)NAN);
        test_printed(s, params, 2.5, 0.005, "TR-KLR");
        params.eps = 10;
        test_printed(s, params, 10, 0.005, "TR-KLR, -e 10");
        params.eps = 0.5;
        params.gamma = klr_reals_of(8);
        test_printed(s, params, 0.5, 0.001, "TR-KLR, -e 0.5");
        params.eps = (double)NAN;
        params.kernel = KLR_LINEAR;
        test_printed(s, params, 2.5, 0.005, "TR-IRLS");
        params.eps = 0.01;
        test_printed(s, params, 0.01, 0.005 * 0.01 / 2.5, "TR-IRLS, -e 0.01");
    }
}

/* Features of many sizes and three examples far off: residuals that rise on
 * their way down, and end conjugate gradients early. */
static void test_idle(struct sample *s)
{
    for (size_t t = 0; t < s->start[s->problem.n]; t++)
        s->value[t] *= pow(1.83846, (double)(t % FEATURES));
    for (size_t t = 0; t < 3 * FEATURES; t++)
        s->value[t] *= 30;
    struct klr_params params = trirls_params(KLR_LINEAR, 1000, 0.01);
    test_printed(s, params, 0.01, 0.005 * 0.01 / 2.5, "TR-IRLS, badly scaled");
}

/* The tolerances apart: one step solved all but exactly. */
static void test_one_step(const struct sample *s)
{
    struct klr_weight weight[] = {{"1", 3}, {"-1", 0.5}};
    struct klr_params params = trirls_params(KLR_RBF, 5, 1e-3);
    params.max_iter = 1;
    test_printed(s, params, 1e-3, 0, "one step");
    params.weight = weight;
    params.n_weights = 2;
    test_printed(s, params, 1e-3, 0, "one step, class weights");
    params.kernel = KLR_LINEAR;
    test_printed(s, params, 1e-3, 0, "one step, linear, class weights");
}

/* ---- the optimum ---- */

static void test_optimum(const struct sample *s, struct klr_params params,
                         double reach)
{
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    double beta[MOST];
    struct solution solution = solve_untiled(s, &params, beta);
    struct truth truth = evaluate(s, beta, 0, &params, &kernel);
    double gap = (truth.primal - truth.dual) / truth.primal;
    double told = (solution.primal - solution.dual) / solution.primal;
    ok(solution.status == KLR_CONVERGED && gap <= reach && told <= 2 * reach,
       "-t %d: %s, gap %.2g, %.2g reported", params.kernel,
       klr_status_names[solution.status], gap, told);
    ok(fabs(truth.primal - solution.primal) < 1e-12 * truth.primal,
       "-t %d: the objective as reported", params.kernel);
    params.solver = KLR_SOLVER_NEWTON;
    params.no_bias = true;
    params.eps = 1e-7;
    double primal = solve_untiled(s, &params, beta).primal;
    ok(fabs(primal - solution.primal) < 2 * reach * primal,
       "-t %d: the optimum of newton --no-bias", params.kernel);
}

/* Early or late, the dual point bounds the optimum from below, and its value
 * is that of the definition. */
static void test_bound(const struct sample *s)
{
    struct klr_params params = trirls_params(KLR_RBF, 10, (double)NAN);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    double beta[MOST], u[MOST], g[MOST], kg[MOST];
    struct solution solution = solve_untiled(s, &params, beta);
    sample_product(s, &kernel, beta, u);
    for (size_t i = 0; i < s->problem.n; i++)
        g[i] = s->label[i] * 10 / (1 + exp(s->label[i] * u[i]));
    sample_product(s, &kernel, g, kg);
    double dual = logistic_dual(s, 10, g, kg);
    ok(fabs(dual - solution.dual) < 1e-12 * fabs(dual),
       "ended early: a dual objective of %g", dual);
    params.solver = KLR_SOLVER_NEWTON;
    params.no_bias = true;
    double optimum = solve_untiled(s, &params, beta).primal;
    ok(solution.dual < optimum && optimum < solution.primal,
       "ended early: %g in (%g, %g)", optimum, solution.dual, solution.primal);
}

/* ---- descent and limits ---- */

/* Float entries of a K that is singular but for rounding lead astray. */
static void test_descent(const struct sample *s)
{
    struct klr_params params = trirls_params(KLR_RBF, 1e4, 1e-9);
    double last = INFINITY, beta[MOST];
    bool falls = true;
    params.gamma = klr_reals_of(1e-3);
    for (params.max_iter = 1; params.max_iter <= 12; params.max_iter++) {
        double primal = solve_untiled(s, &params, beta).primal;
        falls = falls && primal <= last;
        last = primal;
    }
    ok(falls, "the objective never rises: %g at last", last);
}

/* A step of some hundred times the best length is halved until it helps; one
 * in the wrong direction is not made. */
static void test_halving(void)
{
    enum { SHORT = 2 };
    double y[SHORT] = {1, -1}, cost[SHORT] = {1, 1}, start[SHORT] = {0, 0};
    for (double sign = -1; sign <= 1; sign += 2) {
        double beta[SHORT] = {64 * sign, -64 * sign};
        double u[SHORT] = {64 * sign, -64 * sign};
        struct klr_operator none = {0};
        struct binary_problem problem = {.op = &none, .n = SHORT, .y = y};
        struct trirls tr = {.problem = &problem,
                            .n = SHORT,
                            .cost = cost,
                            .beta = beta,
                            .u = u,
                            .last = start,
                            .klast = start};
        /* K = I: P = t^2 + 2 log(1 + e^-t) at (t, -t) is less than at 0, 2 log
         * 2, for 0 < t < 0.93 */
        bool lower = trirls_halve(&tr, 2 * log(2));
        double t = sign > 0 ? 0.5 : 0;
        ok(lower == (sign > 0) && beta[0] == t && u[1] == -t &&
               fabs(tr.primal - t * t - 2 * log1p(exp(-t))) < 1e-15 &&
               fabs(tr.losses - 2 * log1p(exp(-t))) < 1e-15,
           "from %g to %g", 64 * sign, beta[0]);
    }
}

/* A diagonal K with as many eigenvalues as examples takes as many steps. */
static void test_most(void)
{
    enum { WIDE = 400 };
    static double label[WIDE], value[WIDE];
    static size_t start[WIDE + 1];
    static int index[WIDE];
    for (int i = 0; i < WIDE; i++) {
        label[i] = i % 2 ? 1 : -1;
        index[i] = i + 1;
        value[i] = sqrt(i + 1);
        start[i + 1] = (size_t)i + 1;
    }
    struct klr_problem problem = {.n = WIDE,
                                  .dimension = WIDE,
                                  .label = label,
                                  .start = start,
                                  .index = index,
                                  .value = value};
    struct klr_params params = trirls_params(KLR_POLYNOMIAL, 0.1, (double)NAN);
    params.gamma = klr_reals_of(1);
    params.degree = 1;
    double counted = train(&problem, &params).passes;
    ok(counted == products_of(KLR_POLYNOMIAL, 1, 200),
       "conjugate gradients end after 200 steps: %g products", counted);
}

/* Only the products that judge a step are of double entries. */
static void test_entries(const struct sample *s)
{
    struct klr_params params = trirls_params(KLR_RBF, 10, (double)NAN);
    params.max_iter = 1;
    struct klr_report early = train(&s->problem, &params);
    params.eps = 1e-3;
    struct klr_report late = train(&s->problem, &params);
    ok(late.passes > early.passes && late.kernel_evals == early.kernel_evals,
       "%g products, then %g, of %llu entries", early.passes, late.passes,
       late.kernel_evals);
}

/* A K that is indefinite by rounding alone is none; one that is so by little
 * more, -2e-5 beside 2, is, although P and D do not tell. */
static void test_rounding(const struct sample *s)
{
    double label[] = {1, -1}, value[] = {1, 1, 1 + 2e-5, 2, 1 + 2e-5, 1};
    size_t start[] = {0, 3, 6};
    int index[] = {0, 1, 2, 0, 1, 2};
    struct klr_problem problem = {.n = 2,
                                  .dimension = 2,
                                  .label = label,
                                  .start = start,
                                  .index = index,
                                  .value = value};
    struct klr_params params = trirls_params(KLR_RBF, 10, 1e-6);
    struct klr_model *model;
    struct klr_report report;
    struct klr_error err = {0};
    params.gamma = klr_reals_of(1e-6);
    ok(train(&s->problem, &params).status == KLR_PRECISION_LIMIT,
       "rounding ends the steps, no more");
    params = trirls_params(KLR_PRECOMPUTED, 1, 1e-3);
    ok(klr_train(&problem, &params, &model, &report, &err) == KLR_E_DATA,
       "an eigenvalue of -2e-5: %s", err.message);
}

static void test_stops(const struct sample *s)
{
    struct klr_params params = trirls_params(KLR_RBF, 100, 1e-6);
    double beta[MOST], start = 100 * log(2) * (double)s->problem.n;
    params.max_iter = 2;
    struct solution solution = solve_untiled(s, &params, beta);
    ok(solution.status == KLR_ITERATION_LIMIT && solution.iterations == 2,
       "limit of steps: %lld taken", solution.iterations);
    params.max_iter = 0;
    params.gamma = klr_reals_of(0.1);
    solution = solve_untiled(s, &params, beta);
    ok(solution.status == KLR_ITERATION_LIMIT && solution.iterations == 30,
       "30 steps where none is given: %lld taken", solution.iterations);
    params.progress = stop_at_once;
    solution = solve_inside(trirls_solve, s, &params, 0, beta);
    ok(solution.status == KLR_INTERRUPTED && solution.primal < start,
       "interrupted, with %g of %g", solution.primal, start);
    params.progress = NULL;
    params.time_limit = 1e-9;
    solution = solve_inside(trirls_solve, s, &params, 0, beta);
    ok(solution.status == KLR_TIME_LIMIT && solution.primal < start,
       "out of time, with %g of %g", solution.primal, start);
}

int main(void)
{
    static struct sample small, sample;
    sample_make(&small, N);
    sample_make(&sample, MOST);
    test_as_printed(&small);
    test_one_step(&small);
    struct klr_params params = trirls_params(KLR_LINEAR, 10, 1e-7);
    test_optimum(&sample, params, 1e-9);
    params.kernel = KLR_RBF;
    params.gamma = klr_reals_of(4);
    params.eps = 1e-4;
    test_optimum(&sample, params, 1e-4);
    test_bound(&sample);
    test_descent(&sample);
    test_halving();
    test_most();
    test_entries(&sample);
    test_rounding(&small);
    test_stops(&sample);
    test_idle(&small);
    return done_testing();
}
