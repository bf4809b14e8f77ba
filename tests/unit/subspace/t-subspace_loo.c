/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leave-one-out on a basis, of klr and sklr: against weighted least squares
 * that are solved anew without each example, from the definition alone; against
 * trainings without each; against that of all kernels; and where it is ended.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/eliminate.h"
#include "tests/sample.h"
#include "tests/stop.h"
#include "tests/tap.h"

enum { N = 110, POINTS = 25, WIDE = N + 2 };

static struct klr_params loo_params(double cost, long long points)
{
    struct klr_params params;
    klr_params_init(&params);
    params.gamma = klr_reals_of(0.5);
    params.eps = 1e-15;
    params.loo = 1;
    params.cost = klr_reals_of(cost);
    params.basis = points;
    return params;
}

/* ---- the definition ---- */

/* A machine: its examples, their losses as weighted squares, of the curvature w
 * and the slope w f - wz, and its points. */
struct machine {
    const struct sample *s;
    struct klr_kernel kernel;
    bool bias;
    size_t n, row[N], m, point[N];
    double w[N], wz[N];
};

static double entry(const struct machine *m, size_t i, size_t j)
{
    return kernel_of(&m->kernel, m->s->value + i * FEATURES,
                     m->s->value + j * FEATURES);
}

/* Minimise beta'K beta / 2 + sum_i W_i f_i^2 / 2 - (W z)_i f_i without the row
 * `out` as an example and as a point; returns the answer for it. */
static double least_squares(const struct machine *m, size_t out)
{
    static long double a[WIDE * WIDE];
    long double row[WIDE], answer;
    size_t point[N], count = 0;
    for (size_t k = 0; k < m->m; k++)
        if (m->point[k] != out)
            point[count++] = m->point[k];
    size_t size = count + m->bias, wide = size + 1;
    memset(a, 0, sizeof a);
    row[count] = 1;
    for (size_t i = 0; i < m->n; i++) {
        for (size_t k = 0; k < count; k++)
            row[k] = entry(m, m->row[i], point[k]);
        for (size_t e = 0; e < size * size && m->row[i] != out; e++)
            a[e / size * wide + e % size] +=
                m->w[i] * row[e / size] * row[e % size];
        for (size_t k = 0; k < size && m->row[i] != out; k++)
            a[k * wide + size] += row[k] * m->wz[i];
    }
    for (size_t e = 0; e < count * count; e++)
        a[e / count * wide + e % count] +=
            entry(m, point[e / count], point[e % count]);
    eliminate(size, wide, a, wide, a + size);
    answer = m->bias ? a[count * wide + size] : 0;
    for (size_t k = 0; k < count; k++)
        answer += a[k * wide + size] * entry(m, out, point[k]);
    return (double)answer;
}

/* ---- against it ---- */

/* y of class c in machine q; 0: it is not there. */
static double sign_in(const struct klr_model *model, size_t q, size_t c)
{
    size_t a = q, b = q;
    if (model->multiclass == KLR_OVA)
        return c == q ? 1 : -1;
    pair_classes(model->k, q, &a, &b);
    return c == a ? 1 : c == b ? -1 : 0;
}

/* The machine's part of the coefficients of class c. */
static const double *column_of(const struct klr_model *model, size_t q,
                               size_t c)
{
    size_t a, b;
    if (model->multiclass == KLR_OVA)
        return model->coef + q * model->n_sv;
    pair_classes(model->k, q, &a, &b);
    return model->coef + (c == a ? b - 1 : a) * model->n_sv;
}

static size_t class_of(const struct klr_model *model, double label)
{
    size_t c = 0;
    while (model->label[c] != label)
        c++;
    return c;
}

/* Machine q; f (N, machines) are the decision values of the model. */
static void machine_make(struct machine *m, const struct sample *s,
                         const struct klr_params *params,
                         const struct klr_model *model, size_t q,
                         const double *f)
{
    *m = (struct machine){.s = s,
                          .kernel = params_kernel(params, FEATURES),
                          .bias = !params->no_bias};
    for (size_t i = 0; i < N; i++) {
        double y = sign_in(model, q, class_of(model, s->label[i]));
        bool sparse = params->model == KLR_MODEL_SKLR;
        double shift = sparse ? params->lambda.value[0] : 0;
        double box = sparse ? params->box : 0;
        double value = f[i * model->machines + q];
        double p = 1 / (1 + exp(y * value - shift));
        double cost = params->cost.value[0] *
                      (params->example_weight ? params->example_weight[i] : 1);
        double alpha = fmin(fmax(cost * p, box), cost - box);
        if (y == 0)
            continue;
        m->row[m->n] = i;
        m->w[m->n] = alpha == cost * p ? cost * p * (1 - p) : 0;
        m->wz[m->n] = m->w[m->n] * value + y * alpha;
        m->n++;
    }
    for (size_t i = 0; i < model->n_sv; i++) {
        size_t row = model->sv_row[i], c = class_of(model, s->label[row]);
        if (sign_in(model, q, c) != 0 && column_of(model, q, c)[i] != 0)
            m->point[m->m++] = row;
    }
}

/* How far what is told of the machines is from the definition. */
static double apart(const struct sample *s, const struct klr_params *params,
                    const struct klr_held_out *held_out)
{
    static double f[N * 3];
    static struct machine m;
    struct klr_error err;
    struct klr_features x = problem_features(&s->problem);
    struct klr_model *model;
    struct klr_report report;
    struct klr_predictor *predictor;
    double worst = 0;
    if (klr_train(&s->problem, params, &model, &report, &err) ||
        klr_predictor_create(&predictor, model, 1, &err) ||
        klr_predict(predictor, &x, NULL, f, NULL, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t q = 0; q < model->machines; q++) {
        machine_make(&m, s, params, model, q, f);
        for (size_t i = 0; i < m.n; i++) {
            size_t at = m.row[i] * model->machines + q;
            double right = least_squares(&m, m.row[i]);
            worst = larger_of(worst, fabs(held_out->decision[at] - right) /
                                         fmax(1, fabs(right)));
        }
    }
    klr_predictor_free(predictor);
    klr_model_free(model);
    return worst;
}

static void validate(const struct sample *s, const struct klr_params *params,
                     struct klr_validation *v)
{
    struct klr_error err;
    if (klr_cross_validate(&s->problem, params, true, v, &err))
        printf("Bail out! %s\n", err.message);
}

static void test_definition(const struct sample *s,
                            const struct klr_params *params, const char *name)
{
    struct klr_validation v;
    validate(s, params, &v);
    double worst = apart(s, params, &v.held_out);
    ok(worst < 1e-6, "%s: %.1e from least squares without each", name, worst);
    klr_validation_free(&v);
}

static void test_definitions(const struct sample *s)
{
    static double weight[N];
    char name[64];
    for (int choice = 0; choice < 2; choice++)
        for (double cost = 0.1; cost < 2000; cost *= 20) {
            struct klr_params params = loo_params(cost, POINTS);
            params.basis_choice = choice;
            snprintf(name, sizeof name, "%s, C = %g",
                     choice ? "uniform" : "grown", cost);
            test_definition(s, &params, name);
        }
    struct klr_params params = loo_params(2, 47);
    test_definition(s, &params, "47 points and a bias");
    params = loo_params(2, 48);
    test_definition(s, &params, "48 points and a bias");
    params.no_bias = 1;
    test_definition(s, &params, "no bias");
    for (size_t i = 0; i < N; i++)
        weight[i] = 0.25 + (double)(i % 5);
    params = loo_params(2, POINTS);
    params.example_weight = weight;
    test_definition(s, &params, "weights");
}

/* The shifted loss, where it bends and where it is linear. */
static void test_shifted(const struct sample *s)
{
    char name[64];
    for (double box = 0; box < 0.3; box += 0.1)
        for (double cost = 1; cost < 200; cost *= 10) {
            struct klr_params params = loo_params(cost, POINTS);
            params.model = KLR_MODEL_SKLR;
            params.link = KLR_LINK_CONSISTENT;
            params.lambda = klr_reals_of(0.1 * cost);
            params.box = box * cost;
            snprintf(name, sizeof name, "sklr, C = %g, box %g", cost,
                     params.box);
            test_definition(s, &params, name);
        }
}

static void test_classes(struct sample *s)
{
    struct klr_params params = loo_params(2, POINTS);
    for (size_t i = 0; i < N; i++)
        s->label[i] = (double)(i * i % 7 % 3);
    test_definition(s, &params, "three classes by pairs");
    params.multiclass = KLR_OVA;
    test_definition(s, &params, "one against the rest");
}

/* ---- a softmax, by its definition ---- */

enum { CLASSES = 3, SOFT_POINTS = 50, SOFT = CLASSES * (SOFT_POINTS + 1) };

/* The losses as quadratic forms f'W f / 2 - t'f, and the points. */
struct together {
    const struct sample *s;
    struct klr_kernel kernel;
    bool bias;
    size_t m, point[N];
    double w[N][CLASSES][CLASSES], t[N][CLASSES];
};

/* Adds example i, by its decision values f. */
static void together_add(struct together *m, size_t i, size_t y, double cost,
                         const double *f)
{
    double p[CLASSES], sum = 0;
    for (size_t c = 0; c < CLASSES; c++)
        sum += p[c] = exp(f[c] - f[y]);
    for (size_t c = 0; c < CLASSES; c++) {
        m->t[i][c] = cost * ((c == y) - p[c] / sum);
        for (size_t d = 0; d < CLASSES; d++) {
            m->w[i][c][d] = cost * p[c] / sum * ((c == d) - p[d] / sum);
            m->t[i][c] += m->w[i][c][d] * f[d];
        }
    }
}

/* Minimise sum_c beta_c'K beta_c / 2 and the quadratic forms without the row
 * `out` as an example and as a point; answer (CLASSES), of mean 0, is for it.
 * The first class has the threshold 0. */
static void together_answer(const struct together *m, size_t out,
                            double *answer)
{
    static long double a[SOFT * (SOFT + 1)];
    long double row[SOFT_POINTS + 1], mean = 0;
    size_t point[N], count = 0;
    for (size_t k = 0; k < m->m; k++)
        if (m->point[k] != out)
            point[count++] = m->point[k];
    size_t size = count + m->bias, all = CLASSES * size, wide = all + 1;
    memset(a, 0, all * wide * sizeof *a);
    for (size_t i = 0; i < N; i++) {
        row[count] = 1;
        for (size_t k = 0; k < count; k++)
            row[k] = kernel_of(&m->kernel, m->s->value + i * FEATURES,
                               m->s->value + point[k] * FEATURES);
        for (size_t r = 0; r < all && i != out; r++) {
            size_t c = r / size;
            a[r * wide + all] += row[r % size] * m->t[i][c];
            for (size_t q = 0; q < all; q++)
                a[r * wide + q] +=
                    row[r % size] * row[q % size] * m->w[i][c][q / size];
        }
    }
    for (size_t r = 0; r < all; r++)
        for (size_t k = 0; k < count && r % size < count; k++)
            a[r * wide + r / size * size + k] +=
                kernel_of(&m->kernel, m->s->value + point[r % size] * FEATURES,
                          m->s->value + point[k] * FEATURES);
    if (m->bias)
        a[count * wide + count] += 1;
    eliminate(all, wide, a, wide, a + all);
    for (size_t c = 0; c < CLASSES; c++) {
        long double f = m->bias ? a[(c * size + count) * wide + all] : 0;
        for (size_t k = 0; k < count; k++)
            f += a[(c * size + k) * wide + all] *
                 kernel_of(&m->kernel, m->s->value + out * FEATURES,
                           m->s->value + point[k] * FEATURES);
        answer[c] = (double)f;
        mean += f / CLASSES;
    }
    for (size_t c = 0; c < CLASSES; c++)
        answer[c] -= (double)mean;
}

/* The largest difference of decision values, but for their mean. */
static double together_apart(const struct together *m, const double *decision)
{
    double worst = 0, right[CLASSES];
    size_t step = m->m > 20 ? 10 : 1; /* it takes time */
    for (size_t i = 0; i < N; i += step) {
        const double *f = decision + i * CLASSES;
        together_answer(m, i, right);
        for (size_t c = 0; c < CLASSES; c++) {
            double off = f[c] - (f[0] + f[1] + f[2]) / CLASSES - right[c];
            worst = larger_of(worst, fabs(off) / fmax(1, fabs(right[c])));
        }
    }
    return worst;
}

static void test_softmax_definition(const struct sample *s,
                                    const struct klr_params *params,
                                    const char *name)
{
    static double f[N * CLASSES];
    static struct together m;
    struct klr_validation v;
    struct klr_error err;
    struct klr_features x = problem_features(&s->problem);
    struct klr_model *model;
    struct klr_report report;
    struct klr_predictor *predictor;
    if (klr_train(&s->problem, params, &model, &report, &err) ||
        klr_predictor_create(&predictor, model, 1, &err) ||
        klr_predict(predictor, &x, NULL, f, NULL, &err))
        printf("Bail out! %s\n", err.message);
    m = (struct together){.s = s,
                          .kernel = params_kernel(params, FEATURES),
                          .bias = !params->no_bias,
                          .m = model->n_sv};
    memcpy(m.point, model->sv_row, m.m * sizeof *m.point);
    for (size_t i = 0; i < N; i++)
        together_add(&m, i, class_of(model, s->label[i]),
                     params->cost.value[0] * (params->example_weight
                                                  ? params->example_weight[i]
                                                  : 1),
                     f + i * CLASSES);
    validate(s, params, &v);
    double worst = together_apart(&m, v.held_out.decision);
    ok(worst < 1e-6, "softmax, %s: %.1e from least squares without each", name,
       worst);
    klr_validation_free(&v);
    klr_predictor_free(predictor);
    klr_model_free(model);
}

static void test_softmax(const struct sample *s)
{
    static double weight[N];
    char name[64];
    struct klr_params params;
    for (double cost = 0.1; cost < 2000; cost *= 20) {
        params = loo_params(cost, 20);
        params.multiclass = KLR_SOFTMAX;
        snprintf(name, sizeof name, "C = %g", cost);
        test_softmax_definition(s, &params, name);
    }
    params.cost = klr_reals_of(2);
    params.no_bias = 1;
    test_softmax_definition(s, &params, "no bias");
    params.no_bias = 0;
    for (size_t i = 0; i < N; i++)
        weight[i] = 0.25 + (double)(i % 5);
    params.example_weight = weight;
    test_softmax_definition(s, &params, "weights");
    params.basis = SOFT_POINTS;
    test_softmax_definition(s, &params, "points of two bands");
}

/* ---- against others ---- */

/* Where all examples are points the answers are those of all kernels. */
static void test_all(const struct sample *s)
{
    for (int no_bias = 0; no_bias < 2; no_bias++)
        for (double cost = 0.1; cost < 2000; cost *= 20) {
            struct klr_params params = loo_params(cost, N);
            struct klr_validation v, w;
            double worst = 0;
            params.no_bias = no_bias;
            validate(s, &params, &v);
            params.basis = 0;
            validate(s, &params, &w);
            for (size_t i = 0; i < N; i++)
                worst = larger_of(worst, fabs(v.held_out.decision[i] -
                                              w.held_out.decision[i]));
            ok(worst < 1e-6, "all are points, C = %g, %s: %.1e from exact klr",
               cost, no_bias ? "no bias" : "a bias", worst);
            klr_validation_free(&v);
            klr_validation_free(&w);
        }
}

/* Trainings without each example, which is none of the given points then. */
static void test_trainings(const struct sample *s, int model, int multiclass)
{
    static size_t points[POINTS], fold[N];
    for (size_t i = 0; i < N; i++)
        fold[i] = i;
    for (size_t k = 0; k < POINTS; k++)
        points[k] = k * N / POINTS;
    /* a softmax of two classes is a machine of twice its C */
    double least = multiclass == KLR_SOFTMAX ? 0.05 : 0.1;
    for (double cost = least; cost < 200 * least; cost *= 10) {
        struct klr_params params = loo_params(cost, 0);
        struct klr_validation v, w;
        params.model = model;
        params.multiclass = multiclass;
        if (model == KLR_MODEL_SKLR)
            params.link = KLR_LINK_CONSISTENT;
        params.points = points;
        params.n_points = POINTS;
        validate(s, &params, &v);
        params.loo = 0;
        params.folds = N;
        params.fold = fold;
        validate(s, &params, &w);
        double ratio = v.values->log_loss / w.values->log_loss;
        ok(fabs(ratio - 1) < 0.01,
           "%s, %s, C = %g: log loss %.6f, of %d trainings %.6f",
           klr_model_names[model], klr_multiclass_names[multiclass], cost,
           v.values->log_loss, N, w.values->log_loss);
        klr_validation_free(&v);
        klr_validation_free(&w);
    }
}

/* Threads change no bit, and neither do other values of C before it. */
static void test_threads(const struct sample *s, int multiclass)
{
    struct klr_params params = loo_params(2, 60);
    struct klr_validation v, w;
    size_t size = N * sizeof(double);
    params.multiclass = multiclass;
    params.threads = 1;
    validate(s, &params, &v);
    params.threads = 3;
    validate(s, &params, &w);
    ok(memcmp(v.held_out.decision, w.held_out.decision,
              size * v.held_out.decisions) == 0,
       "one thread and three give the same answers");
    klr_validation_free(&w);
    params.cost = (struct klr_reals){.count = 3, .value = {0.02, 2, 20}};
    validate(s, &params, &w);
    ok(fabs(v.values->log_loss / w.values[1].log_loss - 1) < 1e-6,
       "one of several C: as alone");
    klr_validation_free(&v);
    klr_validation_free(&w);
}

static void test_stops(const struct sample *s)
{
    struct klr_error err;
    struct klr_params params = loo_params(2, POINTS);
    struct klr_validation v;
    params.time_limit = 1e-9;
    ok(klr_cross_validate(&s->problem, &params, false, &v, &err) == 0 &&
           v.report->status == KLR_TIME_LIMIT,
       "no time: told");
    klr_validation_free(&v);
    params = loo_params(2, POINTS);
    params.progress = stop_at_once;
    ok(klr_cross_validate(&s->problem, &params, false, &v, &err) == 0 &&
           v.report->status == KLR_INTERRUPTED,
       "an interruption: told");
    klr_validation_free(&v);
}

/* Three classes by their features, but for every ninth label. */
static void learnable(struct sample *s)
{
    for (size_t i = 0; i < N; i++) {
        const double *x = s->value + i * FEATURES;
        s->label[i] = x[0] > 0.3 ? 0 : x[1] > 0 ? 1 : 2;
        if (i % 9 == 0)
            s->label[i] = (double)(i % 3);
    }
}

int main(void)
{
    static struct sample s;
    sample_make(&s, N);
    test_definitions(&s);
    test_shifted(&s);
    test_all(&s);
    test_trainings(&s, KLR_MODEL_KLR, KLR_OVO);
    test_trainings(&s, KLR_MODEL_SKLR, KLR_OVO);
    test_threads(&s, KLR_OVO);
    test_stops(&s);
    test_classes(&s);
    test_softmax(&s);
    learnable(&s);
    test_trainings(&s, KLR_MODEL_KLR, KLR_SOFTMAX);
    test_threads(&s, KLR_SOFTMAX);
    return done_testing();
}
