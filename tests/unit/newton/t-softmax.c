/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multinomial logistic regression against its definitions, in long double, and
 * with two classes against ordinary logistic regression.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/sample.h"
#include "tests/stop.h"
#include "tests/tap.h"

enum { CLASSES = 4, ROWS = 120 };

static void sample_classes(struct sample *s, size_t classes)
{
    sample_make(s, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        size_t c = i % 7 % classes;
        s->label[i] = (double)c;
        s->value[i * FEATURES + c] += 0.7;
    }
}

static struct klr_params softmax_params(double cost)
{
    struct klr_params params = sample_params(0.5, cost);
    params.multiclass = KLR_SOFTMAX;
    return params;
}

/* ---- the definitions ---- */

struct view { /* of a model, by row */
    long double beta[ROWS][CLASSES], u[ROWS][CLASSES], rho[CLASSES];
};

static void view_model(const struct sample *s, const struct klr_model *model,
                       struct view *v)
{
    memset(v, 0, sizeof *v);
    for (size_t j = 0; j < model->n_sv; j++)
        for (size_t c = 0; c < CLASSES; c++)
            v->beta[model->sv_row[j]][c] = model->coef[c * model->n_sv + j];
    for (size_t c = 0; c < CLASSES; c++)
        v->rho[c] = model->rho[c];
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < ROWS; j++) {
            long double entry =
                kernel_of(&model->kernel, s->value + i * FEATURES,
                          s->value + j * FEATURES);
            for (size_t c = 0; c < CLASSES; c++)
                v->u[i][c] += entry * v->beta[j][c];
        }
}

struct facts {
    double primal, dual;  /* of the definitions; dual of the coefficients */
    double slope;         /* largest derivative by a threshold */
    double columns, rows; /* largest sums of coefficients of each */
};

static struct facts facts_of(const struct sample *s, const struct view *v,
                             const double *cost)
{
    struct facts facts = {0};
    long double primal = 0, dual = 0, sum[CLASSES] = {0}, slope[CLASSES] = {0};
    for (size_t i = 0; i < ROWS; i++) {
        size_t y = (size_t)s->label[i];
        long double c_i = cost[y], total = 0, row = 0, f[CLASSES];
        for (size_t c = 0; c < CLASSES; c++) {
            long double p = (c == y) - v->beta[i][c] / c_i;
            f[c] = v->u[i][c] - v->rho[c];
            total += expl(f[c]);
            row += v->beta[i][c];
            sum[c] += v->beta[i][c];
            primal += v->beta[i][c] * v->u[i][c] / 2;
            dual -= v->beta[i][c] * v->u[i][c] / 2;
            dual -= p > 0 ? c_i * p * logl(p) : INFINITY;
        }
        primal += c_i * (logl(total) - f[y]);
        for (size_t c = 0; c < CLASSES; c++)
            slope[c] += c_i * ((c == y) - expl(f[c]) / total);
        facts.rows = larger_of(facts.rows, fabs((double)row));
    }
    for (size_t c = 0; c < CLASSES; c++) {
        facts.slope = larger_of(facts.slope, fabs((double)slope[c]));
        facts.columns = larger_of(facts.columns, fabs((double)sum[c]));
    }
    facts.primal = (double)primal;
    facts.dual = (double)dual;
    return facts;
}

/* ---- whole solutions ---- */

static struct klr_model *trained(const struct sample *s,
                                 const struct klr_params *params,
                                 struct klr_report *report)
{
    struct klr_error err = {0};
    struct klr_model *model = NULL;
    if (klr_train(&s->problem, params, &model, report, &err))
        printf("Bail out! %s\n", err.message);
    return model;
}

/* The coefficients are a feasible point of the dual, and so name a gap. */
static void check(const struct sample *s, const struct klr_params *params,
                  const double *weight, const char *name)
{
    static struct view view;
    struct klr_report report;
    struct klr_model *model = trained(s, params, &report);
    double cost[CLASSES], most = 0, c = params->cost.value[0];
    for (size_t a = 0; a < CLASSES; a++) {
        cost[a] = c * weight[a];
        most = larger_of(most, cost[a]);
    }
    view_model(s, model, &view);
    struct facts facts = facts_of(s, &view, cost);
    double gap = (facts.primal - facts.dual) / facts.primal;
    ok(report.status == KLR_CONVERGED && gap > -1e-12 && gap <= 1.1e-6,
       "%s: gap %.2g after %lld products", name, gap, report.iterations);
    ok(fabs(facts.primal - report.primal) < 2e-6 * facts.primal &&
           fabs(facts.dual - report.dual) < 2e-6 * facts.primal,
       "%s: objectives as reported, %.9g", name, report.primal);
    ok(facts.rows < 1e-12 * most * ROWS &&
           (params->no_bias || facts.columns < 1e-12 * most * ROWS),
       "%s: sums of coefficients %.2g, %.2g", name, facts.rows, facts.columns);
    double rho = 0, size = 0;
    for (size_t a = 0; a < CLASSES; a++) {
        rho += model->rho[a];
        size = larger_of(size, fabs(model->rho[a]));
    }
    ok(params->no_bias
           ? size == 0
           : fabs(rho) < 1e-12 * (1 + size) && facts.slope < 2e-5 * most * ROWS,
       "%s: thresholds of sum %.2g and slope %.2g", name, rho, facts.slope);
    klr_model_free(model);
}

static void test_solutions(const struct sample *s)
{
    static const double even[CLASSES] = {1, 1, 1, 1};
    static const double costs[] = {0.01, 1, 100, 1e4, 1e8};
    for (size_t t = 0; t < sizeof costs / sizeof *costs; t++) {
        char name[32];
        struct klr_params params = softmax_params(costs[t]);
        snprintf(name, sizeof name, "C = %g", costs[t]);
        check(s, &params, even, name);
    }
    struct klr_params params = softmax_params(10);
    params.no_bias = true;
    check(s, &params, even, "no bias");
    params = softmax_params(10);
    params.kernel = KLR_LINEAR;
    check(s, &params, even, "linear");
    params.cost.value[0] = 1e6;
    check(s, &params, even, "linear, C = 1e6");
    struct klr_weight weights[] = {{"1", 5}, {"3", 0.2}};
    static const double uneven[CLASSES] = {1, 5, 1, 0.2};
    params = softmax_params(10);
    params.weight = weights;
    params.n_weights = 2;
    check(s, &params, uneven, "weights");
}

/* Conjugate gradients for functions take a third of the products that those of
 * newton_step.c takes, 177, where floats allow them. */
static void test_products(const struct sample *s)
{
    struct klr_params params = softmax_params(1e4);
    struct klr_report report;
    klr_model_free(trained(s, &params, &report));
    ok(report.iterations < 90, "C = 1e4: %lld products", report.iterations);
}

/* Each model of a path is as exact as that of its C alone. */
static void test_path(const struct sample *s)
{
    struct klr_params params = softmax_params(1);
    struct klr_model *model[3];
    struct klr_report report[3], alone;
    struct klr_error err = {0};
    params.cost = (struct klr_reals){.count = 3, .value = {0.5, 5, 500}};
    if (klr_train(&s->problem, &params, model, report, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t t = 0; t < 3; t++) {
        struct klr_params one = softmax_params(params.cost.value[t]);
        klr_model_free(trained(s, &one, &alone));
        ok(report[t].gap <= 1e-6 &&
               fabs(report[t].primal - alone.primal) < 2e-6 * alone.primal,
           "path, C = %g: %.9g", params.cost.value[t], report[t].primal);
        klr_model_free(model[t]);
    }
}

/* Two classes, of the labels 1 and -1, by one problem. */
static void solve_together(struct sample *s, const struct klr_params *params,
                           struct solution *const *solution)
{
    static double y[2][ROWS], weight[ROWS];
    struct klr_operator op = {0};
    struct clock clock;
    struct klr_error err = {0};
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    struct klr_features x = problem_features(&s->problem);
    struct klr_range all = {0, ROWS};
    struct binary_problem machine[2];
    for (size_t i = 0; i < ROWS; i++) {
        s->label[i] = y[0][i] = s->label[i] > 0 ? 1 : -1;
        y[1][i] = -y[0][i];
        weight[i] = 1;
    }
    for (size_t c = 0; c < 2; c++)
        machine[c] = (struct binary_problem){.op = &op,
                                             .set = set_of(&all, 1),
                                             .n = ROWS,
                                             .y = y[c],
                                             .weight = weight,
                                             .params = params,
                                             .clock = &clock};
    clock_start(&clock, 1);
    if (operator_create(&op, &kernel, &x, NULL, NULL, 0, &err) ||
        softmax_solve(machine, 2, solution, &err))
        printf("Bail out! %s\n", err.message);
    operator_free(&op);
}

/* One problem for the machines of two classes, which --multiclass leaves to
 * ordinary logistic regression. */
static void test_two_classes(bool no_bias)
{
    static struct sample s;
    static double beta[2][MOST], ordinary[MOST];
    struct klr_params params = softmax_params(5);
    params.no_bias = no_bias;
    params.eps = 1e-10;
    params.regularizer = KLR_REGULARIZER_KERNEL;
    sample_classes(&s, 2);
    struct solution machine[2] = {{.beta = beta[0]}, {.beta = beta[1]}};
    struct solution *const machines[2] = {machine, machine + 1};
    solve_together(&s, &params, machines);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    params.multiclass = KLR_OVO;
    params.cost = klr_reals_of(10);
    struct solution solution = solve(&s, &params, ordinary);
    double worst = 0;
    for (size_t i = 0; i < ROWS; i++) {
        worst = larger_of(worst, fabs(2 * beta[0][i] - ordinary[i]));
        worst = larger_of(worst, fabs(2 * beta[1][i] + ordinary[i]));
    }
    double rho = machine[0].rho - machine[1].rho;
    ok(worst < 1e-4 && fabs(rho - solution.rho) < 1e-4,
       "bias %d: twice the coefficients are klr's at 2 C: %.2g, rho %.6g, %.6g",
       !no_bias, worst, rho, solution.rho);
    struct truth truth = evaluate(&s, ordinary, solution.rho, &params, &kernel);
    ok(fabs(2 * machine[0].primal - truth.primal) < 1e-9 * truth.primal,
       "twice the objective is klr's at 2 C: %.12g", truth.primal);
}

static void test_same_bits(const struct sample *s)
{
    struct klr_params params = softmax_params(10);
    struct klr_report report;
    params.threads = 1;
    struct klr_model *one = trained(s, &params, &report);
    params.threads = 3;
    struct klr_model *three = trained(s, &params, &report);
    ok(one->n_sv == three->n_sv &&
           memcmp(one->coef, three->coef,
                  one->n_sv * CLASSES * sizeof *one->coef) == 0 &&
           memcmp(one->rho, three->rho, CLASSES * sizeof *one->rho) == 0,
       "the same bits for any number of threads");
    klr_model_free(one);
    klr_model_free(three);
}

/* ---- stops and refusals ---- */

static void test_stops(const struct sample *s)
{
    struct klr_params params = softmax_params(1000);
    struct klr_report report;
    params.max_iter = 10;
    klr_model_free(trained(s, &params, &report));
    ok(report.status == KLR_ITERATION_LIMIT && report.iterations <= 14 &&
           report.primal > report.dual,
       "iteration limit after %lld products", report.iterations);
    params.max_iter = 0;
    struct klr_progress last;
    params.progress = stop_at_once;
    params.context = &last;
    klr_model_free(trained(s, &params, &report));
    ok(report.status == KLR_INTERRUPTED, "interrupted");
    ok(last.problem == 1 && last.problems == 1,
       "all classes are a problem: %zu of %zu", last.problem, last.problems);
}

/* Parameters that are refused, and the first words of the reason. */
static void test_refusals(void)
{
    struct klr_error err;
    struct klr_params params = softmax_params(1);
    params.model = KLR_MODEL_SVM;
    ok(klr_params_check(&params, &err) == KLR_E_USAGE &&
           strstr(err.message, "option --multiclass"),
       "svm: %s", err.message);
    params = softmax_params(1);
    params.link = KLR_LINK_PLATT;
    ok(klr_params_check(&params, &err) == KLR_E_USAGE &&
           strstr(err.message, "option --link"),
       "platt: %s", err.message);
    params = softmax_params(1);
    params.kernel = KLR_SIGMOID;
    ok(klr_params_check(&params, &err) == KLR_E_USAGE &&
           strstr(err.message, "option -t"),
       "sigmoid: %s", err.message);
    params = softmax_params(1);
    params.solver = KLR_SOLVER_SMO;
    ok(klr_params_check(&params, &err) == KLR_E_USAGE &&
           strstr(err.message, "smo does not train a softmax"),
       "smo: %s", err.message);
}

/* ---- Laplacians ---- */

/* For weights between 1e-30 and 1, L x = b for each edge, to all digits. */
static void test_laplacian(void)
{
    enum { K = 6 };
    double w[K * K] = {0}, factor[K * K], worst = 0;
    for (size_t a = 0; a < K; a++)
        for (size_t b = a + 1; b < K; b++)
            w[a * K + b] = pow(10, -30 * uniform());
    memcpy(factor, w, sizeof w);
    laplacian_factor(K, factor);
    for (size_t from = 1; from < K; from++) {
        double x[K] = {0};
        x[0] = 1;
        x[from] = -1;
        laplacian_solve(K, factor, x);
        for (size_t a = 0; a < K; a++) {
            double flow = 0, size = 0;
            for (size_t b = 0; b < K; b++) {
                double edge = w[a < b ? a * K + b : b * K + a];
                flow += b == a ? 0 : edge * (x[a] - x[b]);
                size += b == a ? 0 : edge * (fabs(x[a]) + fabs(x[b]));
            }
            double want = a == 0 ? 1 : a == from ? -1 : 0;
            worst = larger_of(worst, fabs(flow - want) / (1 + size));
        }
    }
    ok(worst < 1e-14, "the Laplacian of weak edges: %.2g", worst);
}

/* ---- thresholds ---- */

/* Where all probabilities are 0 or 1 to begin with: at the optimum the mean
 * probabilities are the shares of the classes. */
static void test_far_thresholds(void)
{
    enum { N = 40, K = 3 };
    double u[N][K], cost[N], rho[K], sum[K] = {0};
    struct softmax sm;
    size_t most = 0;
    if (softmax_create(&sm, N, K, NULL))
        printf("Bail out! no memory\n");
    sm.cost = cost;
    for (size_t i = 0; i < N; i++) {
        sm.class[i] = i % 8 % K;
        cost[i] = 2;
        for (size_t c = 0; c < K; c++)
            u[i][c] = 600 * (double)c + 300 * uniform();
    }
    for (double start = -1000; start <= 1000; start += 500) {
        rho[0] = start;
        rho[1] = 0;
        rho[2] = -start;
        softmax_rho(&sm, *u, rho);
        memset(sum, 0, sizeof sum);
        for (size_t i = 0; i < N; i++) {
            size_t y = sm.class[i];
            double f[K], total = 0;
            for (size_t c = 0; c < K; c++)
                f[c] = exp(u[i][c] - rho[c] - (u[i][y] - rho[y]));
            for (size_t c = 0; c < K; c++)
                total += f[c];
            for (size_t c = 0; c < K; c++)
                sum[c] += (c == y) - f[c] / total;
        }
        for (size_t c = 0; c < K; c++)
            most += !(fabs(sum[c]) < 1e-9);
    }
    softmax_free(&sm);
    ok(most == 0, "thresholds from afar: %.2g, %.2g, %.2g", sum[0], sum[1],
       sum[2]);
}

int main(void)
{
    static struct sample sample;
    sample_classes(&sample, CLASSES);
    test_laplacian();
    test_far_thresholds();
    test_solutions(&sample);
    test_products(&sample);
    test_path(&sample);
    test_two_classes(false);
    test_two_classes(true);
    test_same_bits(&sample);
    test_stops(&sample);
    test_refusals();
    return done_testing();
}
