/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Approximate leave-one-out: against weighted least squares that are solved
 * anew without each example, against trainings without each example, for any
 * number of threads, and where it has to give up.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/eliminate.h"
#include "tests/sample.h"
#include "tests/stop.h"
#include "tests/tap.h"

enum { N = 70, COSTS = 3 };

static struct klr_params loo_params(double eps)
{
    struct klr_params params;
    klr_params_init(&params);
    params.gamma = klr_reals_of(0.5);
    params.eps = eps;
    params.loo = 1;
    params.cost = (struct klr_reals){.count = COSTS, .value = {0.1, 2, 300}};
    return params;
}

/* The examples of a machine: where the logistic loss of each has its slope and
 * curvature at f. */
struct machine {
    size_t n, row[N];
    double w[N], z[N];
};

/* The answer for the one left out, of the weighted least squares of the others:
 * K alpha + W^-1 alpha + b = z, 1'alpha = 0 or b = 0. */
static double least_squares(const struct sample *s,
                            const struct klr_kernel *kernel,
                            const struct machine *m, size_t out, bool bias)
{
    static long double a[(N + 1) * (N + 2)];
    size_t n = m->n, w = n + 2;
    long double answer;
    memset(a, 0, sizeof a);
    for (size_t i = 0; i < n; i++) {
        long double *line = a + i * w;
        const double *x = s->value + m->row[i] * FEATURES;
        for (size_t j = 0; j < n; j++)
            line[j] = kernel_of(kernel, x, s->value + m->row[j] * FEATURES);
        line[i] += 1 / m->w[i];
        line[n] = 1;
        line[n + 1] = m->z[i];
        if (i == out)
            memset(line, 0, w * sizeof *line);
        line[out] = i == out;
        a[n * w + i] = bias && i != out;
    }
    a[n * w + n] = !bias;
    eliminate(n + 1, w, a, w, a + n + 1);
    answer = a[n * w + n + 1];
    for (size_t j = 0; j < n; j++)
        if (j != out)
            answer += a[j * w + n + 1] *
                      kernel_of(kernel, s->value + m->row[out] * FEATURES,
                                s->value + m->row[j] * FEATURES);
    return (double)answer;
}

/* y of a row in the machine of classes a and b, or of a against the rest; 0: it
 * is not there. */
static double sign_in(double label, double a, double b, bool rest)
{
    return label == a ? 1 : label == b || rest ? -1 : 0;
}

/* How far what is written of machine m is from the definition;
 * f (N, machines) are the decision values of the model itself. */
static double apart(const struct sample *s, const struct klr_params *params,
                    const struct klr_held_out *h, const double *label, size_t m,
                    const double *f)
{
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    struct machine machine = {0};
    bool rest = params->multiclass == KLR_OVA;
    size_t a = m, b = m, k = h->decisions;
    double worst = 0;
    if (!rest)
        pair_classes(h->classes, m, &a, &b);
    for (size_t i = 0; i < N; i++) {
        double y = sign_in(s->label[i], label[a], label[b], rest);
        double weight =
            s->label[i] == atof(params->weight->label) && params->n_weights
                ? params->weight->weight
                : 1;
        double z = f[i * k + m], q = 1 / (1 + exp(y * z));
        double w = params->cost.value[0] * weight * q * (1 - q);
        if (y == 0) {
            double found = h->decision[i * k + m];
            worst = larger_of(worst, fabs(found - z));
            continue;
        }
        machine.row[machine.n] = i;
        machine.w[machine.n] = w;
        machine.z[machine.n++] = z + y / (1 - q);
    }
    for (size_t i = 0; i < machine.n; i++) {
        double found = h->decision[machine.row[i] * k + m];
        double right = least_squares(s, &kernel, &machine, i, !params->no_bias);
        worst = larger_of(worst, fabs(found - right) / fmax(1, fabs(right)));
    }
    return worst;
}

static void test_definition(const struct sample *s, struct klr_params params,
                            const char *name)
{
    struct klr_error err;
    struct klr_weight none = {"0", 1};
    struct klr_features x = problem_features(&s->problem);
    static double f[N * 3];
    bool each = true;
    if (!params.weight)
        params.weight = &none;
    for (size_t t = 0; t < COSTS; t++) {
        struct klr_params one = klr_params_point(&params, t);
        struct klr_validation v;
        struct klr_model *model;
        struct klr_report report;
        struct klr_predictor *predictor;
        double worst = 0;
        if (klr_cross_validate(&s->problem, &one, true, &v, &err) ||
            klr_train(&s->problem, &one, &model, &report, &err) ||
            klr_predictor_create(&predictor, model, 1, &err) ||
            klr_predict(predictor, &x, NULL, f, NULL, &err))
            printf("Bail out! %s\n", err.message);
        for (size_t m = 0; m < v.held_out.decisions; m++)
            worst = larger_of(worst, apart(s, &one, &v.held_out,
                                           klr_model_labels(model), m, f));
        ok(worst < 2e-5, "%s, C = %g: %.1e from least squares without each",
           name, one.cost.value[0], worst);
        each = each && v.held_out.n == N;
        for (size_t i = 0; i < N && each; i++)
            each = v.held_out.fold[i] == i;
        klr_predictor_free(predictor);
        klr_model_free(model);
        klr_validation_free(&v);
    }
    ok(each, "%s: each is a fold", name);
}

/* The closed form starts from an optimum by the definitions. */
static void test_premise(const struct sample *s)
{
    struct klr_params params = loo_params(1e-12);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    double beta[N];
    params.cost = klr_reals_of(2);
    struct solution solution = solve(s, &params, beta);
    struct truth truth = evaluate(s, beta, solution.rho, &params, &kernel);
    ok(truth.violation < 1e-4 && fabs(truth.sum) < 1e-9,
       "optimal to %.1e in log-odds", truth.violation);
}

/* Examples that know nothing of each other: without itself each is answered by
 * 0, however far from its optimum the model is. */
static void test_strangers(const struct sample *s)
{
    struct klr_error err;
    struct klr_params params = loo_params(1e-3);
    struct klr_validation v;
    double worst = 0;
    params.no_bias = 1;
    params.gamma = klr_reals_of(1e6);
    params.cost = klr_reals_of(1e10);
    if (klr_cross_validate(&s->problem, &params, true, &v, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t i = 0; i < N; i++)
        worst = larger_of(worst, fabs(v.held_out.decision[i]));
    ok(worst == 0, "strangers answer by %g", worst);
    klr_validation_free(&v);
}

/* Where C does not overfit by far, the log loss is that of N trainings. */
static void test_trainings(const struct sample *s)
{
    struct klr_error err;
    struct klr_params params = loo_params(1e-9);
    struct klr_validation v, w;
    size_t fold[N];
    for (size_t i = 0; i < N; i++)
        fold[i] = i;
    params.cost.value[2] = 10;
    int code = klr_cross_validate(&s->problem, &params, false, &v, &err);
    params.loo = 0;
    params.folds = N;
    params.fold = fold;
    if (code || klr_cross_validate(&s->problem, &params, false, &w, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t t = 0; t < COSTS; t++) {
        double ratio = v.values[t].log_loss / w.values[t].log_loss;
        ok(fabs(ratio - 1) < 0.02 && v.values[t].count == N,
           "C = %g: log loss %.6f, of %d trainings %.6f", params.cost.value[t],
           v.values[t].log_loss, N, w.values[t].log_loss);
    }
    klr_validation_free(&v);
    klr_validation_free(&w);
}

/* No bit depends on threads, and of gammas side by side each is what it is
 * alone. */
static void test_threads(const struct sample *s)
{
    struct klr_error err;
    struct klr_params params = loo_params(1e-6);
    struct klr_validation v, w;
    params.gamma = (struct klr_reals){.count = 2, .value = {0.1, 0.5}};
    params.threads = 1;
    int code = klr_cross_validate(&s->problem, &params, true, &v, &err);
    params.threads = 3;
    if (code || klr_cross_validate(&s->problem, &params, true, &w, &err))
        printf("Bail out! %s\n", err.message);
    size_t rows = s->problem.n * sizeof(double), values = sizeof *v.values;
    ok(v.best == w.best && memcmp(v.values, w.values, 2 * COSTS * values) == 0,
       "one thread and three give the same metrics");
    ok(memcmp(v.held_out.decision, w.held_out.decision, rows) == 0,
       "and the same answers");
    klr_validation_free(&w);
    size_t first = v.best / COSTS * COSTS;
    params.gamma = klr_reals_of(params.gamma.value[v.best / COSTS]);
    if (klr_cross_validate(&s->problem, &params, true, &w, &err))
        printf("Bail out! %s\n", err.message);
    ok(memcmp(v.values + first, w.values, COSTS * values) == 0 &&
           memcmp(v.held_out.decision, w.held_out.decision, rows) == 0,
       "gammas side by side and one alone too");
    klr_validation_free(&v);
    klr_validation_free(&w);
}

/* Reports tell of refusals, of a limit of time and of an interruption. */
static void test_stops(const struct sample *s)
{
    struct klr_error err = {0};
    struct klr_validation v;
    struct klr_params params = loo_params(1e-6);
    params.time_limit = 1e-9;
    ok(klr_cross_validate(&s->problem, &params, false, &v, &err) == 0 &&
           !v.metrics && v.solved == 0 && v.report[0].status == KLR_TIME_LIMIT,
       "no time leaves points unsolved");
    klr_validation_free(&v);
    params = loo_params(1e-6);
    params.progress = stop_at_once;
    ok(klr_cross_validate(&s->problem, &params, false, &v, &err) == 0 &&
           v.report[0].status == KLR_INTERRUPTED &&
           v.report[2].status == KLR_INTERRUPTED,
       "an interruption is told");
    klr_validation_free(&v);
    params = loo_params(1e-6);
    params.cache_mb = 0.05;
    ok(klr_cross_validate(&s->problem, &params, false, &v, &err) == KLR_E_LIMIT,
       "%s", err.message);
}

/* A given matrix that is not positive semidefinite, but is so where sum beta =
 * 0, by a solver that takes any. */
static void test_indefinite(void)
{
    enum { SIZE = 2 };
    static const double k[SIZE][SIZE] = {{1, -30}, {-30, 1}};
    double label[SIZE] = {1, -1}, value[SIZE * (SIZE + 1)];
    size_t start[SIZE + 1] = {0};
    int index[SIZE * (SIZE + 1)];
    for (size_t i = 0; i < SIZE; i++) {
        start[i + 1] = (i + 1) * (SIZE + 1);
        for (size_t j = 0; j <= SIZE; j++) {
            index[start[i] + j] = (int)j;
            value[start[i] + j] = j == 0 ? (double)i + 1 : k[i][j - 1];
        }
    }
    struct klr_problem problem = {.n = SIZE,
                                  .dimension = SIZE,
                                  .label = label,
                                  .start = start,
                                  .index = index,
                                  .value = value};
    struct klr_error err = {0};
    struct klr_validation v;
    struct klr_params params = loo_params(1e-3);
    params.solver = KLR_SOLVER_SMO;
    params.kernel = KLR_PRECOMPUTED;
    params.gamma = klr_reals_of(0);
    params.cost = klr_reals_of(1);
    ok(klr_cross_validate(&problem, &params, false, &v, &err) == KLR_E_DATA,
       "%s", err.message);
    params.cost = (struct klr_reals){.count = 2, .value = {1e-3, 1}};
    if (klr_cross_validate(&problem, &params, false, &v, &err))
        printf("Bail out! %s\n", err.message);
    ok(v.best == 0 && v.values[0].count == SIZE &&
           isnan(v.values[1].log_loss) && isnan(v.values[1].accuracy) &&
           isnan(v.values[1].f1),
       "among others such a point has no values");
    ok(v.report[1].status == KLR_PRECISION_LIMIT &&
           v.report[1].doubt == KLR_DOUBT_INDEFINITE,
       "and a doubt");
    klr_validation_free(&v);
}

int main(void)
{
    static struct sample s;
    struct klr_weight heavy = {"1", 3};
    struct klr_params params = loo_params(1e-12);
    sample_make(&s, N);
    test_definition(&s, params, "klr");
    params.no_bias = 1;
    test_definition(&s, params, "no bias");
    params = loo_params(1e-12);
    params.cost =
        (struct klr_reals){.count = COSTS, .value = {1e10, 1e14, 1e30}};
    test_definition(&s, params, "C beyond sense");
    params = loo_params(1e-12);
    params.weight = &heavy;
    params.n_weights = 1;
    test_definition(&s, params, "a class weighs more");
    test_premise(&s);
    test_strangers(&s);
    test_trainings(&s);
    test_threads(&s);
    test_stops(&s);
    for (size_t i = 0; i < N; i++)
        s.label[i] = (double)(i * i % 7 % 3);
    test_definition(&s, loo_params(1e-12), "three classes by pairs");
    params = loo_params(1e-12);
    params.multiclass = KLR_OVA;
    test_definition(&s, params, "one against the rest");
    test_indefinite();
    return done_testing();
}
