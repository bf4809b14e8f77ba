/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keerthi's SMO against a dense textbook version of it written here, whole
 * solutions against the definitions, the duality gap as a stop, and the bound
 * on lambda.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/sample.h"
#include "tests/stop.h"
#include "tests/tap.h"

static struct klr_params smo1_params(double cost)
{
    struct klr_params params = sample_params(0.5, cost);
    params.solver = KLR_SOLVER_SMO1;
    return params;
}

/* ---- the textbook ---- */

/* K of the sample; F_i, alpha and beta as in the paper. */
struct textbook {
    size_t n;
    double c, k[MOST][MOST], f[MOST], alpha[MOST];
    const double *y;
};

static void textbook_start(struct textbook *b, const struct sample *s,
                           const struct klr_kernel *kernel, double c)
{
    double count[2] = {0, 0};
    b->n = s->problem.n;
    b->c = c;
    b->y = s->label;
    for (size_t i = 0; i < b->n; i++)
        count[b->y[i] > 0]++;
    for (size_t i = 0; i < b->n; i++) {
        b->alpha[i] = c / count[b->y[i] > 0];
        for (size_t j = 0; j < b->n; j++)
            b->k[i][j] = kernel_of(kernel, s->value + i * FEATURES,
                                   s->value + j * FEATURES);
    }
    for (size_t i = 0; i < b->n; i++) {
        b->f[i] = 0;
        for (size_t j = 0; j < b->n; j++)
            b->f[i] += b->alpha[j] * b->y[j] * b->k[i][j];
    }
}

/* H_i with beta_i moved by t, and F_i by `shift`. */
static double textbook_h(const struct textbook *b, size_t i, double t,
                         double shift)
{
    double a = b->alpha[i] + t * b->y[i];
    return b->f[i] + shift + b->y[i] * log(a / (b->c - a));
}

/* How far beta_i can go up or down. */
static double textbook_room(const struct textbook *b, size_t i, double sign)
{
    return sign * b->y[i] > 0 ? b->c - b->alpha[i] : b->alpha[i];
}

/* Lower beta_i and raise beta_j to H_i = H_j, by bisection alone; with i = j
 * beta_i to H_i = 0, from either side. */
static void textbook_step(struct textbook *b, size_t i, size_t j)
{
    bool alone = i == j;
    double sign = alone && textbook_h(b, i, 0, 0) < 0 ? -1 : 1;
    double low = 0, high = textbook_room(b, i, -sign);
    double eta = alone ? b->k[i][i] : b->k[i][i] + b->k[j][j] - 2 * b->k[i][j];
    if (!alone)
        high = fmin(high, textbook_room(b, j, 1));
    for (int step = 0; step < 200; step++) {
        double t = 0.5 * (low + high);
        double h = sign * textbook_h(b, i, -sign * t, -sign * t * eta);
        if (!alone)
            h -= textbook_h(b, j, t, 0);
        *(h > 0 ? &low : &high) = t;
    }
    b->alpha[i] -= sign * low * b->y[i];
    if (!alone)
        b->alpha[j] += low * b->y[j];
    for (size_t k = 0; k < b->n; k++)
        b->f[k] -= low * (sign * b->k[k][i] - (alone ? 0 : b->k[k][j]));
}

/* Steps until H is within 2 tau, or |H| within tau where one variable moves. */
static int textbook_descend(struct textbook *b, double tau, bool alone,
                            int most)
{
    for (int steps = 0;; steps++) {
        size_t up = 0, down = 0, worst = 0;
        for (size_t i = 0; i < b->n; i++) {
            double h = textbook_h(b, i, 0, 0);
            up = h > textbook_h(b, up, 0, 0) ? i : up;
            down = h < textbook_h(b, down, 0, 0) ? i : down;
            worst = fabs(h) > fabs(textbook_h(b, worst, 0, 0)) ? i : worst;
        }
        double high = textbook_h(b, up, 0, 0), low = textbook_h(b, down, 0, 0);
        if (alone)
            high = fabs(textbook_h(b, worst, 0, 0)), low = -high;
        if (high - low <= 2 * tau || steps == most)
            return steps;
        if (alone)
            textbook_step(b, worst, worst);
        else
            textbook_step(b, up, down);
    }
}

/* The same pairs from the same start: alpha agrees while both are exact, and
 * so does the number of steps to a tolerance. */
static void test_textbook(const struct sample *s, double cost, int no_bias)
{
    static struct textbook book;
    struct klr_params params = smo1_params(cost);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    double beta[MOST], worst = 0;
    params.no_bias = no_bias;
    params.eps = 1e-9;
    params.max_iter = 100;
    solve(s, &params, beta);
    textbook_start(&book, s, &kernel, cost);
    textbook_descend(&book, 1e-9, no_bias, 100);
    for (size_t i = 0; i < s->problem.n; i++)
        worst = larger_of(worst, fabs(book.alpha[i] - book.y[i] * beta[i]));
    ok(worst < 1e-6 * cost, "C = %g%s: alpha after 100 steps within %.1g", cost,
       no_bias ? " without bias" : "", worst);
    params.eps = 1e-3;
    params.max_iter = 0;
    long long steps = solve(s, &params, beta).iterations;
    textbook_start(&book, s, &kernel, cost);
    int expected = textbook_descend(&book, 1e-3, no_bias, 100000);
    ok(fabs((double)steps / expected - 1) < 0.05,
       "C = %g%s: %lld steps, textbook %d", cost,
       no_bias ? " without bias" : "", steps, expected);
}

/* ---- whole solutions ---- */

static void test_solution(const struct sample *s, double cost)
{
    struct klr_params params = smo1_params(cost);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    double beta[MOST];
    params.eps = 1e-5;
    struct solution solution = solve(s, &params, beta);
    struct truth truth = evaluate(s, beta, solution.rho, &params, &kernel);
    double gap = (truth.primal - truth.dual) / truth.primal;
    ok(solution.status == KLR_CONVERGED && gap > -1e-8 && gap < 1e-8 &&
           truth.violation < 2.1e-5 && fabs(truth.sum) < 1e-9 * cost,
       "C = %g: gap %.2g, KKT conditions within %.2g", cost, gap,
       truth.violation);
    ok(fabs(truth.primal - solution.primal) < 1e-7 * truth.primal &&
           fabs(truth.dual - solution.dual) < 1e-7 * truth.primal,
       "C = %g: objectives as reported", cost);
    params.solver = KLR_SOLVER_NEWTON;
    params.eps = 1e-8;
    double primal = solve(s, &params, beta).primal;
    ok(fabs(primal - truth.primal) < 2e-8 * primal,
       "C = %g: the optimum of the Newton method", cost);
}

/* Without bias and in the box: the optimum of the Newton method. */
static void test_others(const struct sample *s, int model, int no_bias,
                        double cost, double lambda)
{
    struct klr_params params = smo1_params(cost);
    double beta[MOST];
    params.model = model;
    params.no_bias = no_bias;
    params.lambda =
        klr_reals_of(model == KLR_MODEL_SKLR ? lambda : (double)NAN);
    params.eps = 1e-5;
    struct solution solution = solve(s, &params, beta);
    params.solver = KLR_SOLVER_NEWTON;
    params.eps = 1e-8;
    double primal = solve(s, &params, beta).primal;
    ok(solution.status == KLR_CONVERGED &&
           fabs(primal - solution.primal) < 1e-6 * primal &&
           solution.primal - solution.dual < 1e-6 * primal &&
           (solution.rho == 0) == no_bias,
       "%s%s C = %g, lambda = %g: off by %.1g", klr_model_names[model],
       no_bias ? " without bias" : "", cost, lambda,
       (solution.primal - primal) / primal);
}

/* ---- near the boundaries ---- */

/* A boundary that a line shows, and a slope so steep that log-odds go beyond
 * those of mu: many examples end near their boundaries. */
static void test_boundaries(void)
{
    static struct sample s;
    struct klr_params params = smo1_params(1);
    double beta[MOST];
    size_t near = 0;
    sample_make(&s, 60);
    for (size_t i = 0; i < s.problem.n; i++) {
        double *x = s.value + i * FEATURES;
        s.label[i] = x[0] + 0.02 * x[1] > 0 ? 1 : -1;
        for (int d = 0; d < FEATURES; d++)
            x[d] *= d == 0 ? 100 : 1;
    }
    params.kernel = KLR_LINEAR;
    params.eps = 1e-4;
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    struct solution solution = solve(&s, &params, beta);
    struct truth truth = evaluate(&s, beta, solution.rho, &params, &kernel);
    for (size_t i = 0; i < s.problem.n; i++)
        near += fabs(beta[i]) <= smo_margin || fabs(beta[i]) >= 1 - smo_margin;
    double gap = (truth.primal - truth.dual) / truth.primal;
    ok(solution.status == KLR_CONVERGED && near > 20 && gap > -1e-7 &&
           gap < 1e-6,
       "%zu examples near a boundary: gap %.2g after %lld steps", near, gap,
       solution.iterations);
}

enum { FEW = 8 };

/* A matrix of kernel values k (n, n), and every other label 1. */
struct matrix {
    struct klr_problem problem;
    double k[FEW][FEW], label[FEW], value[FEW * (FEW + 1)];
    size_t start[FEW + 1];
    int index[FEW * (FEW + 1)];
};

static void matrix_problem(struct matrix *m, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        m->label[i] = i % 2 ? -1 : 1;
        m->start[i] = i * (n + 1);
        for (size_t j = 0; j <= n; j++) {
            m->index[i * (n + 1) + j] = (int)j;
            m->value[i * (n + 1) + j] = j ? m->k[i][j - 1] : (double)(i + 1);
        }
    }
    m->start[n] = n * (n + 1);
    m->problem = (struct klr_problem){.n = n,
                                      .dimension = (int)n,
                                      .label = m->label,
                                      .start = m->start,
                                      .index = m->index,
                                      .value = m->value};
}

/* At C = 10; beta (n) of its rows. A stationary point that is worse than a
 * constant is one: see t-nonpsd.c. */
static enum klr_status matrix_train(const struct matrix *m, double *beta)
{
    struct klr_params params = smo1_params(10);
    struct klr_model *model;
    struct klr_report report;
    struct klr_error err = {0};
    params.kernel = KLR_PRECOMPUTED;
    params.max_iter = 10000;
    if (klr_train(&m->problem, &params, &model, &report, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t v = 0; v < model->n_sv; v++)
        beta[model->sv_row[v]] = model->coef[v];
    klr_model_free(model);
    return report.doubt == KLR_DOUBT_INDEFINITE ? KLR_CONVERGED : report.status;
}

/* Two examples of a negative definite kernel end at C both: no partner is left
 * for either, and none of them can move. */
static void test_release(void)
{
    static struct matrix m = {.k = {{-30, 0}, {0, -30}}};
    double beta[2], most = 10 - 10 * smo_margin;
    matrix_problem(&m, 2);
    enum klr_status status = matrix_train(&m, beta);
    ok(status == KLR_CONVERGED && beta[0] == most && beta[1] == -most,
       "both at their boundaries");
}

/* max s_i - min s_j of the i that can rise and j that can fall, and |sum beta|
 * beside it. */
static double matrix_violation(const struct matrix *m, const double *beta)
{
    double most = -INFINITY, least = INFINITY, sum = 0;
    for (size_t i = 0; i < m->problem.n; i++) {
        double y = m->label[i], a = y * beta[i], s = -y * log(a / (10 - a));
        for (size_t j = 0; j < m->problem.n; j++)
            s -= m->k[i][j] * beta[j];
        sum += beta[i];
        if (y > 0 ? a < 10 - 1e-8 : a > 1e-8)
            most = larger_of(most, s);
        if (y > 0 ? a > 1e-8 : a < 10 - 1e-8)
            least = fmin(least, s);
    }
    return most - least + fabs(sum);
}

/* Kernels of which most are negative take most examples to a boundary, then
 * some back, when others have moved. */
static void test_returns(void)
{
    static struct matrix m;
    double beta[FEW], worst = 0;
    int converged = 0, rounds = 300;
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < FEW; i++)
            for (size_t j = 0; j <= i; j++)
                m.k[i][j] = m.k[j][i] =
                    100 * (2 * uniform() - 1 - (i == j ? 1 : 0));
        matrix_problem(&m, FEW);
        if (matrix_train(&m, beta) != KLR_CONVERGED)
            continue;
        converged++;
        worst = larger_of(worst, matrix_violation(&m, beta));
    }
    ok(converged > 0.99 * rounds && worst < 2.1e-3,
       "indefinite kernels: %d of %d solved, to %.2g", converged, rounds,
       worst);
}

/* ---- the gap as a stop ---- */

static void test_gap(const struct sample *s, int model, int solver)
{
    static const double gaps[] = {0.1, 1e-3, 1e-6};
    struct klr_params params = smo1_params(10);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    double beta[MOST];
    long long steps = 0;
    params.model = model;
    params.solver = solver;
    for (int t = 0; t < 3; t++) {
        params.gap = gaps[t];
        struct solution solution = solve(s, &params, beta);
        struct truth truth = evaluate(s, beta, solution.rho, &params, &kernel);
        double gap = (truth.primal - truth.dual) / truth.primal;
        ok(solution.status == KLR_CONVERGED && gap > -1e-7 &&
               gap < 1.001 * gaps[t] && solution.iterations > steps,
           "%s by %s to a gap of %g: %.2g after %lld steps",
           klr_model_names[model], klr_solver_names[solver], gaps[t], gap,
           solution.iterations);
        steps = solution.iterations;
    }
}

/* ---- the box of sparse models ---- */

/* Every third example is of the first class: two out of three, of both classes
 * alike, with labels times `sign`. */
static void sample_equal(struct sample *equal, const struct sample *s,
                         double sign)
{
    size_t n = 0;
    *equal = *s;
    for (size_t i = 0; i < s->problem.n; i++) {
        if (i % 3 == 2)
            continue;
        equal->label[n] = sign * s->label[i];
        memcpy(equal->value + n * FEATURES, s->value + i * FEATURES,
               FEATURES * sizeof *s->value);
        n++;
    }
    sample_close(equal, n);
}

/* Consolo (36) from alpha(0) of the Newton method: over the class that has at
 * most half of the examples. */
static void test_lambda_bound(const struct sample *s, double cost)
{
    struct klr_params params = smo1_params(cost);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    double beta[MOST], largest = -INFINITY;
    size_t size[2] = {0, 0};
    params.model = KLR_MODEL_SKLR;
    params.lambda_bound = 1;
    params.eps = 1e-7;
    double bound = solve(s, &params, beta).lambda_bound;
    params.solver = KLR_SOLVER_NEWTON;
    params.lambda_bound = 0;
    params.keep_bounded = 1;
    params.lambda = klr_reals_of(0);
    params.eps = 1e-10;
    solve(s, &params, beta);
    for (size_t i = 0; i < s->problem.n; i++)
        size[s->label[i] > 0]++;
    for (size_t i = 0; i < s->problem.n; i++) {
        double sum = 0;
        for (size_t j = 0; j < s->problem.n; j++)
            sum += (s->label[j] * (cost - 1e-5) - beta[j]) *
                   kernel_of(&kernel, s->value + i * FEATURES,
                             s->value + j * FEATURES);
        if (2 * size[s->label[i] > 0] <= s->problem.n)
            largest = larger_of(largest, s->label[i] * sum);
    }
    ok(fabs(bound - largest) < 1e-5 * cost, "C = %g: lambda bound %.9g, %.9g",
       cost, bound, largest);
}

/* Examples at the lower end are dropped, and rho is the best for the others; or
 * kept with beta = +-box. */
static void test_keep_bounded(const struct sample *s)
{
    struct klr_params params = smo1_params(10);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    double kept[MOST], beta[MOST], u[MOST], cost[MOST];
    size_t dropped = 0, wrong = 0;
    params.model = KLR_MODEL_SKLR;
    params.box = 0.3;
    double rho = solve(s, &params, beta).rho, primal[3];
    const struct loss loss = loss_of(&params, 10);
    struct losses all = {&loss, s->problem.n, s->label, cost, NULL};
    sample_product(s, &kernel, beta, u);
    for (size_t i = 0; i < s->problem.n; i++)
        cost[i] = 10;
    for (int t = 0; t < 3; t++)
        primal[t] = primal_value(&all, beta, u, rho + 1e-3 * (t - 1));
    ok(primal[1] < primal[0] && primal[1] < primal[2],
       "no rho near %g is better", rho);
    params.keep_bounded = 1;
    solve(s, &params, kept);
    for (size_t i = 0; i < s->problem.n; i++) {
        dropped += beta[i] == 0;
        wrong += kept[i] != (beta[i] == 0 ? s->label[i] * params.box : beta[i]);
    }
    ok(dropped > 10 && wrong == 0, "%zu examples at the lower end, kept",
       dropped);
}

/* ---- stops, weights, bits ---- */

static void test_stops(const struct sample *s)
{
    struct klr_params params = smo1_params(10);
    double beta[MOST];
    for (int no_bias = 0; no_bias < 2; no_bias++) {
        params.no_bias = no_bias;
        params.max_iter = 10;
        struct solution solution = solve(s, &params, beta);
        ok(solution.status == KLR_ITERATION_LIMIT &&
               solution.iterations == 10 && solution.primal >= solution.dual,
           "iteration limit");
        params.max_iter = 0;
        params.progress = stop_at_once;
        solution = solve(s, &params, beta);
        ok(solution.status == KLR_INTERRUPTED && isfinite(solution.primal) &&
               (solution.rho == 0) == no_bias,
           "interrupted");
        params.progress = NULL;
    }
}

static void test_same_bits(const struct sample *s)
{
    struct klr_params params = smo1_params(10);
    double beta[MOST], other[MOST];
    for (int no_bias = 0; no_bias < 2; no_bias++) {
        params.no_bias = no_bias;
        params.cache_mb = 0;
        solve(s, &params, beta);
        params.cache_mb = 0.01; /* a few rows */
        solve(s, &params, other);
        ok(!memcmp(beta, other, s->problem.n * sizeof *beta),
           "the same bits with few rows");
    }
}

/* One class weighs 20 times the other; labels 1 and -1. */
static void test_weights(const struct sample *s)
{
    struct klr_weight weight = {.label = "1", .weight = 0.05};
    struct klr_params params = smo1_params(10);
    double beta[MOST], most = 0;
    params.weight = &weight;
    params.n_weights = 1;
    params.eps = 1e-5;
    struct solution solution = solve(s, &params, beta);
    for (size_t i = 0; i < s->problem.n; i++)
        most = larger_of(most, beta[i]);
    params.solver = KLR_SOLVER_NEWTON;
    params.eps = 1e-8;
    double primal = solve(s, &params, beta).primal;
    ok(solution.status == KLR_CONVERGED && most < 0.5 &&
           fabs(primal - solution.primal) < 1e-6 * primal,
       "class weights: off by %.1g", (solution.primal - primal) / primal);
}

/* ---- the choice to first order ---- */

static void test_choice(void)
{
    enum { N = 300 };
    static double sample_s[N];
    static unsigned char side[N];
    struct klr_operator none = {0};
    struct binary_problem problem = {.op = &none};
    bool same = true;
    for (int round = 0; round < 200; round++) {
        struct smo smo = {.problem = &problem,
                          .n = N,
                          .active = N - (size_t)round % 7,
                          .eps = 0.2,
                          .cpu = round % 2 ? klr_cpu() : KLR_CPU_PORTABLE,
                          .s = sample_s,
                          .hessian = sample_s,
                          .side = side};
        size_t best = N, i = round % 3 ? 5 : N;
        double least, smallest = INFINITY;
        for (size_t k = 0; k < N; k++) {
            sample_s[k] = round % 5 ? 2 * uniform() - 1 : 0.09;
            side[k] = (unsigned char)(4 * uniform());
        }
        double from = i < N ? sample_s[i] : 0, eps = i < N ? 0.2 : 0.1;
        for (size_t k = 0; k < smo.active; k++)
            if (side[k] >= SMO_CAN_FALL && sample_s[k] < smallest) {
                smallest = sample_s[k];
                best = from - sample_s[k] > eps ? k : N;
            }
        same = same && smo_second(&smo, i, NULL, &least) == best &&
               least == smallest;
    }
    ok(same, "the partner to first order, or the one that moves alone");
}

int main(void)
{
    static struct sample sample;
    sample_make(&sample, MOST);
    for (int no_bias = 0; no_bias < 2; no_bias++) {
        test_textbook(&sample, 0.3, no_bias);
        test_textbook(&sample, 30, no_bias);
    }
    test_solution(&sample, 0.1);
    test_solution(&sample, 10);
    test_solution(&sample, 1000);
    test_others(&sample, KLR_MODEL_KLR, 1, 0.1, 0);
    test_others(&sample, KLR_MODEL_KLR, 1, 100, 0);
    for (int no_bias = 0; no_bias < 2; no_bias++) {
        test_others(&sample, KLR_MODEL_SKLR, no_bias, 10, 0);
        test_others(&sample, KLR_MODEL_SKLR, no_bias, 10, 1);
        test_others(&sample, KLR_MODEL_SKLR, no_bias, 10, 10);
    }
    test_boundaries();
    test_release();
    test_returns();
    test_gap(&sample, KLR_MODEL_KLR, KLR_SOLVER_SMO);
    test_gap(&sample, KLR_MODEL_KLR, KLR_SOLVER_SMO1);
    test_gap(&sample, KLR_MODEL_KLR, KLR_SOLVER_NEWTON);
    test_gap(&sample, KLR_MODEL_SVM, KLR_SOLVER_SMO);
    test_lambda_bound(&sample, 0.5);
    test_lambda_bound(&sample, 20);
    for (int sign = -1; sign < 2; sign += 2) {
        static struct sample equal;
        sample_equal(&equal, &sample, sign);
        test_lambda_bound(&equal, 20);
    }
    test_keep_bounded(&sample);
    test_stops(&sample);
    test_same_bits(&sample);
    test_weights(&sample);
    test_choice();
    return done_testing();
}
