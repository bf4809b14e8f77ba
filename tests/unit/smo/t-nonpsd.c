/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SMO with kernels that are not positive semidefinite, Lin & Lin (2003),
 * section 6: it ends, at a stationary point, and every step lowers the
 * objective. Kernel, objective and conditions are written out here.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/tap.h"

enum { MOST = 300, WIDE = 128 };

static const double coef0s[] = {-2, -0.5, 0.5, 2};

/* Examples with dense features, scaled to [-1, 1] where they are beyond. */
struct set {
    const char *name;
    struct klr_problem problem;
    size_t n, width;
    double x[MOST][WIDE];
    double k[MOST][MOST], y[MOST];
};

/* The first examples, at most `rows`. */
static bool set_read(struct set *s, const char *name, const char *path,
                     size_t rows)
{
    struct klr_error err = {0};
    memset(s, 0, sizeof *s);
    s->name = name;
    if (klr_problem_read(&s->problem, path, 0, 1, &err)) {
        ok(false, "%s: %s", path, err.message);
        return false;
    }
    s->n = s->problem.n = s->problem.n < rows ? s->problem.n : rows;
    s->width = (size_t)s->problem.dimension;
    double most[WIDE] = {0};
    for (size_t t = 0; t < s->problem.start[s->n]; t++) {
        double *largest = &most[s->problem.index[t]];
        *largest = larger_of(*largest, fabs(s->problem.value[t]));
    }
    for (size_t i = 0; i < s->n; i++) {
        for (size_t t = s->problem.start[i]; t < s->problem.start[i + 1]; t++) {
            int f = s->problem.index[t];
            s->problem.value[t] /= fmax(most[f], 1);
            s->x[i][f] = s->problem.value[t];
        }
        s->y[i] = s->problem.label[i] > 0 ? 1 : -1;
        s->problem.label[i] = s->y[i];
    }
    return true;
}

static void set_kernel(struct set *s, const struct klr_params *params)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j <= i; j++) {
            double dot_product = 0;
            for (size_t f = 0; f <= s->width; f++)
                dot_product += s->x[i][f] * s->x[j][f];
            s->k[i][j] = s->k[j][i] =
                tanh(params->gamma.value[0] * dot_product + params->coef0);
        }
}

/* alpha of a trained model, by row. */
static bool set_train(const struct set *s, const struct klr_params *params,
                      double *alpha, struct klr_report *report)
{
    struct klr_model *model;
    struct klr_error err = {0};
    memset(alpha, 0, s->n * sizeof *alpha);
    if (klr_train(&s->problem, params, &model, report, &err)) {
        ok(false, "%s: %s", s->name, err.message);
        return false;
    }
    for (size_t v = 0; v < model->n_sv; v++)
        alpha[model->sv_row[v]] = s->y[model->sv_row[v]] * model->coef[v];
    klr_model_free(model);
    return true;
}

/* What is minimised, Lin & Lin (2) or its logistic counterpart, and by how much
 * the conditions (21) are violated. */
struct judged {
    double value, violation, infeasible;
};

static struct judged set_judge(const struct set *s,
                               const struct klr_params *params,
                               const double *alpha)
{
    bool hinge = params->model == KLR_MODEL_SVM;
    double c = params->cost.value[0], edge = 2e-12 * c, sum = 0, outside = 0;
    double most = -INFINITY, least = INFINITY;
    struct judged judged = {0};
    for (size_t i = 0; i < s->n; i++) {
        double u = 0, a = alpha[i], slope;
        for (size_t j = 0; j < s->n; j++)
            u += s->k[i][j] * s->y[j] * alpha[j];
        judged.value += 0.5 * s->y[i] * a * u;
        if (hinge) {
            judged.value -= a;
            slope = -1;
        } else {
            judged.value += a * log(a / c) + (c - a) * log1p(-a / c);
            slope = log(a / (c - a));
        }
        double up = -u - s->y[i] * slope;
        if (s->y[i] > 0 ? a < c - edge : a > edge)
            most = larger_of(most, up);
        if (s->y[i] > 0 ? a > edge : a < c - edge)
            least = fmin(least, up);
        sum += s->y[i] * a;
        outside = larger_of(outside, fmax(-a, a - c));
    }
    judged.violation = most - least;
    judged.infeasible = fmax(fabs(sum) / c, outside / c);
    return judged;
}

static struct klr_params smo_params(enum klr_model_type model, double cost)
{
    struct klr_params params;
    klr_params_init(&params);
    params.model = (int)model;
    params.solver = KLR_SOLVER_SMO;
    params.kernel = KLR_SIGMOID;
    params.cost.value[0] = cost;
    return params;
}

/* The objective of the best model with a constant decision value. */
static double set_constant(const struct set *s, enum klr_model_type model,
                           double cost)
{
    double size[2] = {0, 0}, sum = 0;
    for (size_t i = 0; i < s->n; i++)
        size[s->y[i] > 0] += cost;
    if (model == KLR_MODEL_SVM)
        return 2 * fmin(size[0], size[1]);
    for (int side = 0; side < 2; side++)
        sum -= size[side] * log(size[side] / (size[0] + size[1]));
    return sum;
}

/* True if v'(K + d I) v >= 0 where sum v = 0: by a Cholesky factor of the
 * matrix of K_ij - K_i0 - K_0j + K_00, but for rounding. */
static bool set_is_conditional(const struct set *s, double d)
{
    static double m[MOST][MOST];
    const double tiny = 1e-10;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j <= i; j++)
            m[i][j] = s->k[i][j] - s->k[i][0] - s->k[0][j] + s->k[0][0] +
                      d * (1 + (i == j));
    for (size_t j = 1; j < s->n; j++) {
        if (m[j][j] < -tiny)
            return false;
        double root = m[j][j] > tiny ? sqrt(m[j][j]) : INFINITY;
        for (size_t i = j; i < s->n; i++)
            m[i][j] /= root;
        for (size_t i = j + 1; i < s->n; i++)
            for (size_t l = j + 1; l <= i; l++)
                m[i][l] -= m[i][j] * m[l][j];
    }
    return true;
}

/* It ended at a stationary point, which may be worse than a constant: nothing
 * is called converged then. */
static bool is_stationary(const struct klr_report *report)
{
    return report->status == KLR_CONVERGED ||
           (report->status == KLR_PRECISION_LIMIT &&
            report->doubt == KLR_DOUBT_INDEFINITE);
}

/* A gap is told of conditionally semidefinite kernels; else at most one that d
 * makes larger by d n C^2 / 2, where K + d I is such a kernel. */
static bool set_is_certain(const struct set *s, const struct klr_report *report,
                           double cost)
{
    double gap = report->primal - report->dual;
    if (set_is_conditional(s, 0))
        return gap >= 0 && gap < 1e-2 * report->primal;
    return isnan(gap) ||
           set_is_conditional(s, 2 * gap / ((double)s->n * cost * cost));
}

/* Every (gamma, coef0) of the grid. */
static void test_stationary(struct set *s, enum klr_model_type model,
                            double cost)
{
    static double alpha[MOST];
    struct klr_params params = smo_params(model, cost);
    double eps = model == KLR_MODEL_SVM ? 1e-3 : 2e-3, worst = 0, off = 0;
    int ended = 0, certain = 0, known = 0, doubted = 0, above = 0, agree = 0;
    double near = eps * cost * (double)s->n; /* what a violation may leave */
    for (int g = 0; g < 2; g++)
        for (int r = 0; r < 4; r++) {
            struct klr_report report;
            params.gamma = klr_reals_of(g ? 1 : 1 / (double)s->width);
            params.coef0 = coef0s[r];
            set_kernel(s, &params);
            if (!set_train(s, &params, alpha, &report))
                return;
            struct judged judged = set_judge(s, &params, alpha);
            bool doubt = report.status == KLR_PRECISION_LIMIT;
            double excess = report.primal - set_constant(s, model, cost);
            ended += is_stationary(&report);
            doubted += doubt;
            above += excess > near;
            agree += doubt ? excess > 0 : excess <= near;
            known += set_is_conditional(s, 0);
            certain += set_is_certain(s, &report, cost);
            worst = larger_of(worst, judged.violation);
            off = larger_of(off, judged.infeasible);
        }
    ok(ended == 8, "%s, %s, C = %g: %d of 8 end", s->name,
       klr_model_names[model], cost, ended);
    ok(agree == 8, "%s, %s, C = %g: %d are worse than a constant, %d told so",
       s->name, klr_model_names[model], cost, above, doubted);
    ok(worst < 1.2 * eps, "%s, %s, C = %g: stationary within %.2g", s->name,
       klr_model_names[model], cost, worst);
    ok(off < 1e-9, "%s, %s, C = %g: feasible within %.1g", s->name,
       klr_model_names[model], cost, off);
    ok(certain == 8 && known > 0,
       "%s, %s, C = %g: a gap of %d kernels, conditionally semidefinite",
       s->name, klr_model_names[model], cost, known);
}

/* Examples of the norm 1, so that K_ii = tanh(1 - 1) = 0: the diagonal tells
 * nothing of the size of K, nor of what its rounding does at a large C. */
static void test_hollow(void)
{
    static struct set s;
    static double alpha[MOST];
    struct klr_report report;
    struct klr_params params = smo_params(KLR_MODEL_SVM, 1e5);
    if (!set_read(&s, "heart_scale", "heart_scale", MOST))
        return;
    for (size_t i = 0; i < s.n; i++) {
        double norm = sqrt(dot(WIDE, s.x[i], s.x[i]));
        for (size_t f = 0; f < WIDE; f++)
            s.x[i][f] /= norm;
        for (size_t t = s.problem.start[i]; t < s.problem.start[i + 1]; t++)
            s.problem.value[t] /= norm;
    }
    params.gamma = klr_reals_of(1);
    params.coef0 = -1;
    set_kernel(&s, &params);
    if (set_train(&s, &params, alpha, &report)) {
        struct judged judged = set_judge(&s, &params, alpha);
        ok(is_stationary(&report) && judged.violation < 1.2e-3,
           "K_ii = 0, C = 1e5: stationary within %.2g", judged.violation);
    }
    klr_problem_free(&s.problem);
}

/* Stop after one step, after two, ...: each point is lower than the last. */
static void test_falling(struct set *s, enum klr_model_type model, double cost,
                         double gamma, double coef0)
{
    enum { STEPS = 150 };
    static double alpha[MOST];
    struct klr_params params = smo_params(model, cost);
    struct klr_report report;
    double last = INFINITY;
    int steps, rises = 0;
    params.gamma = klr_reals_of(gamma);
    params.coef0 = coef0;
    set_kernel(s, &params);
    for (steps = 1; steps <= STEPS; steps++) {
        params.max_iter = steps;
        if (!set_train(s, &params, alpha, &report))
            return;
        if (is_stationary(&report))
            break;
        double value = set_judge(s, &params, alpha).value;
        rises += !(value < last);
        last = value;
    }
    ok(rises == 0 && steps > 20,
       "%s, %s, C = %g, gamma = %g, r = %g: every one of %d steps lowers the "
       "objective",
       s->name, klr_model_names[model], cost, gamma, coef0, steps - 1);
}

/* There are pairs of negative curvature: K_ii + K_jj < 2 K_ij. */
static void test_concave(struct set *s)
{
    struct klr_params params = smo_params(KLR_MODEL_SVM, 1);
    size_t concave = 0;
    params.gamma = klr_reals_of(1);
    params.coef0 = 0.5;
    set_kernel(s, &params);
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < i; j++)
            concave += s->k[i][i] + s->k[j][j] < 2 * s->k[i][j];
    ok(concave > 0, "%s: %zu pairs are concave", s->name, concave);
}

static const enum klr_model_type models[] = {KLR_MODEL_SVM, KLR_MODEL_KLR};

static void test_set(const char *name, const char *path, size_t rows)
{
    static struct set s;
    if (!set_read(&s, name, path, rows))
        return;
    for (int m = 0; m < 2; m++)
        for (double cost = 1; cost <= 100; cost *= 100)
            test_stationary(&s, models[m], cost);
    klr_problem_free(&s.problem);
}

static void test_steps(void)
{
    static struct set s;
    if (!set_read(&s, "heart_scale", "heart_scale", 150))
        return;
    test_concave(&s);
    for (int m = 0; m < 2; m++) {
        for (int r = 0; r < 4; r++)
            test_falling(&s, models[m], 10, 1 / (double)s.width, coef0s[r]);
        test_falling(&s, models[m], 10, 1, 0.5);
        test_stationary(&s, models[m], 1e4);
    }
    klr_problem_free(&s.problem);
}

int main(void)
{
    static const char *const names[] = {"diabetes", "german.numer", "a1a"};
    const char *folder = getenv("KLR_DATA");
    test_set("heart_scale", "heart_scale", MOST);
    test_steps();
    test_hollow();
    for (int t = 0; t < 3; t++) {
        char path[1024];
        if (!folder) {
            ok(true, "%s # SKIP KLR_DATA is not set", names[t]);
            continue;
        }
        snprintf(path, sizeof path, "%s/%s.svm", folder, names[t]);
        test_set(names[t], path, 150);
    }
    return done_testing();
}
