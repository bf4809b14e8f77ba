/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A softmax in the span of few kernels, against Newton's method on all its
 * coefficients and thresholds at once, in long double: without a basis, by
 * elimination, from the definition alone.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/eliminate.h"
#include "tests/sample.h"
#include "tests/tap.h"

enum { ROWS = 120, POINTS = 24, CLASSES = 5, WIDE = (POINTS + 1) * CLASSES };

/* x are k columns: coefficients of the points, then -rho, unless there is no
 * bias. */
struct judge {
    size_t n, m, k, size; /* size: of a column */
    size_t class[MOST], points[MOST];
    long double cost[MOST];
    long double kernel[MOST][POINTS]; /* all examples, the points */
    long double x[WIDE], objective;
};

/* The points are those that have coefficients. */
static void judge_make(struct judge *j, const struct sample *s,
                       const struct klr_params *params, size_t classes,
                       double *const *beta)
{
    *j = (struct judge){.n = s->problem.n, .k = classes};
    for (size_t i = 0; i < j->n; i++) {
        bool point = false;
        for (size_t c = 0; c < classes; c++)
            point = point || beta[c][i] != 0;
        if (point && j->m < POINTS)
            j->points[j->m++] = i;
    }
    j->size = j->m + !params->no_bias;
    for (size_t i = 0; i < j->n; i++) {
        j->class[i] = (size_t)s->label[i];
        j->cost[i] = (long double)params->cost.value[0] *
                     (params->example_weight ? params->example_weight[i] : 1);
        for (size_t p = 0; p < j->m; p++) {
            long double square = 0;
            for (int d = 0; d < FEATURES; d++) {
                long double x = s->value[i * FEATURES + (size_t)d];
                x -= s->value[j->points[p] * FEATURES + (size_t)d];
                square += x * x;
            }
            j->kernel[i][p] = expl(-params->gamma.value[0] * square);
        }
    }
}

/* p (k) of example i; returns minus the log of that of its class. */
static long double judge_row(const struct judge *j, const long double *x,
                             size_t i, long double *p)
{
    long double sum = 0, most = -INFINITY;
    for (size_t c = 0; c < j->k; c++) {
        p[c] = j->size > j->m ? x[c * j->size + j->m] : 0;
        for (size_t q = 0; q < j->m; q++)
            p[c] += x[c * j->size + q] * j->kernel[i][q];
        most = fmaxl(most, p[c]);
    }
    long double own = p[j->class[i]];
    for (size_t c = 0; c < j->k; c++)
        sum += p[c] = expl(p[c] - most);
    for (size_t c = 0; c < j->k; c++)
        p[c] /= sum;
    return most + logl(sum) - own;
}

static long double judge_objective(const void *context, const long double *x)
{
    const struct judge *j = context;
    long double sum = 0, p[CLASSES];
    for (size_t c = 0; c < j->k; c++)
        for (size_t a = 0; a < j->m; a++)
            for (size_t b = 0; b < j->m; b++)
                sum += 0.5L * x[c * j->size + a] * x[c * j->size + b] *
                       j->kernel[j->points[a]][b];
    for (size_t i = 0; i < j->n; i++)
        sum += j->cost[i] * judge_row(j, x, i, p);
    return sum;
}

/* The regularizer's part of h and of the step, minus the slope; the sum of the
 * thresholds, which changes nothing, is to stay. */
static void judge_regularize(const struct judge *j, long double h[WIDE][WIDE],
                             long double *step)
{
    for (size_t c = 0; c < j->k; c++)
        for (size_t a = 0; a < j->m; a++)
            for (size_t b = 0; b < j->m; b++) {
                long double entry = j->kernel[j->points[a]][b];
                h[c * j->size + a][c * j->size + b] += entry;
                step[c * j->size + a] -= entry * j->x[c * j->size + b];
            }
    for (size_t c = 0; c < j->k && j->size > j->m; c++)
        for (size_t d = 0; d < j->k; d++)
            h[c * j->size + j->m][d * j->size + j->m] += 1;
}

static void judge_add_row(const struct judge *j, size_t i,
                          long double h[WIDE][WIDE], long double *step)
{
    long double p[CLASSES], v[POINTS + 1];
    judge_row(j, j->x, i, p);
    for (size_t a = 0; a < j->size; a++)
        v[a] = a < j->m ? j->kernel[i][a] : 1;
    for (size_t c = 0; c < j->k; c++)
        for (size_t a = 0; a < j->size; a++) {
            long double *row = h[c * j->size + a];
            step[c * j->size + a] +=
                j->cost[i] * ((c == j->class[i]) - p[c]) * v[a];
            for (size_t d = 0; d < j->k; d++)
                for (size_t b = 0; b < j->size; b++)
                    row[d * j->size + b] +=
                        j->cost[i] * p[c] * ((c == d) - p[d]) * v[a] * v[b];
        }
}

/* One Newton step, halved until it lowers the objective. */
static bool judge_step(struct judge *j)
{
    static long double h[WIDE][WIDE];
    long double step[WIDE] = {0}, next[WIDE];
    memset(h, 0, sizeof h);
    judge_regularize(j, h, step);
    for (size_t i = 0; i < j->n; i++)
        judge_add_row(j, i, h, step);
    eliminate(j->k * j->size, WIDE, *h, 1, step);
    return descend(judge_objective, j, j->k * j->size, step, next, j->x,
                   &j->objective);
}

static long double judge_least(struct judge *j)
{
    j->objective = judge_objective(j, j->x);
    for (int step = 0; step < 60 && judge_step(j); step++)
        ;
    return j->objective;
}

/* The objective of what was found, and the largest difference of one of its
 * probabilities from those at j->x. */
static long double judge_found(const struct judge *j, double *const *beta,
                               const double *rho, double *off)
{
    long double x[WIDE], p[CLASSES], best[CLASSES];
    for (size_t c = 0; c < j->k; c++) {
        for (size_t q = 0; q < j->m; q++)
            x[c * j->size + q] = beta[c][j->points[q]];
        if (j->size > j->m)
            x[c * j->size + j->m] = -(long double)rho[c];
    }
    *off = 0;
    for (size_t i = 0; i < j->n; i++) {
        judge_row(j, x, i, p);
        judge_row(j, j->x, i, best);
        for (size_t c = 0; c < j->k; c++)
            *off = larger_of(*off, (double)fabsl(p[c] - best[c]));
    }
    return judge_objective(j, x);
}

/* ---- the solver's own interface ---- */

/* The machines of a softmax, and what they refer to. */
struct machines {
    struct klr_params params;
    struct klr_operator op;
    struct klr_pool *pool;
    struct klr_range all;
    struct clock clock;
    struct binary_problem problem[CLASSES];
    double y[CLASSES][MOST], weight[MOST];
};

static void machines_create(struct machines *w, const struct sample *s,
                            const struct klr_params *given, size_t classes,
                            const bool *points)
{
    struct klr_features x = problem_features(&s->problem);
    struct klr_error err;
    *w = (struct machines){.params = *given, .all = {0, x.n}};
    struct klr_kernel kernel = params_kernel(&w->params, FEATURES);
    clock_start(&w->clock, 1);
    if (klr_pool_create(&w->pool, 2, &err) ||
        operator_create(&w->op, &kernel, &x, NULL, w->pool, 0, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t c = 0; c < classes; c++) {
        w->problem[c] = (struct binary_problem){.op = &w->op,
                                                .set = set_of(&w->all, 1),
                                                .n = x.n,
                                                .y = w->y[c],
                                                .weight = w->weight,
                                                .given = points,
                                                .params = &w->params,
                                                .clock = &w->clock,
                                                .whole = true};
        for (size_t i = 0; i < x.n; i++) {
            w->y[c][i] = s->label[i] == (double)c ? 1 : -1;
            w->weight[i] = given->example_weight ? given->example_weight[i] : 1;
        }
    }
    clock_next(&w->clock, classes, x.n);
}

static void machines_free(struct machines *w)
{
    operator_free(&w->op);
    klr_pool_free(w->pool);
}

struct found {
    struct solution first; /* of the report of all */
    double store[CLASSES][MOST], rho[CLASSES];
    double *beta[CLASSES];
};

static void solve_columns(const struct sample *s,
                          const struct klr_params *given, size_t classes,
                          const bool *points, struct found *found)
{
    static struct machines w;
    struct klr_error err;
    struct solution solution[CLASSES] = {{0}}, *each[CLASSES];
    machines_create(&w, s, given, classes, points);
    for (size_t c = 0; c < classes; c++) {
        found->beta[c] = found->store[c];
        solution[c].beta = found->store[c];
        each[c] = &solution[c];
    }
    if (subspace_solve_softmax(w.problem, classes, each, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t c = 0; c < classes; c++)
        found->rho[c] = solution[c].rho;
    found->first = solution[0];
    machines_free(&w);
}

/* ---- tests ---- */

static void sample_classes(struct sample *s, size_t n, size_t classes)
{
    sample_make(s, n);
    for (size_t i = 0; i < n; i++) {
        size_t c = i % 7 % classes;
        s->label[i] = (double)c;
        s->value[i * FEATURES + c] += 0.7;
    }
}

static struct klr_params basis_params(double cost, long long points)
{
    struct klr_params params = sample_params(0.5, cost);
    params.multiclass = KLR_SOFTMAX;
    params.regularizer = KLR_REGULARIZER_KERNEL;
    params.basis = points;
    params.eps = 1e-6;
    return params;
}

/* Every fourth example is a point, so that each class has some. */
static void choose(size_t n, bool *points)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        points[i] = i % 4 == 1 && count < POINTS;
        count += points[i];
    }
}

static void check(const struct sample *s, const struct klr_params *params,
                  size_t classes, const char *name)
{
    static struct judge j;
    static struct found found;
    bool points[MOST];
    double off;
    choose(s->problem.n, points);
    solve_columns(s, params, classes, points, &found);
    judge_make(&j, s, params, classes, found.beta);
    double least = (double)judge_least(&j);
    double is = (double)judge_found(&j, found.beta, found.rho, &off);
    const struct solution *first = &found.first;
    double gap = (first->primal - first->dual) / first->primal;
    ok(first->status == KLR_CONVERGED && j.m == POINTS &&
           first->basis.points == POINTS,
       "%s: converged, %zu points", name, j.m);
    ok(gap >= 0 && gap <= 1e-6 && is - least <= gap * is + 1e-12 * is,
       "%s: %.2g above the least, at most %.2g", name, (is - least) / is, gap);
    ok(gap <= 1e3 * (is - least) / is + 1e-11, "%s: ... closely", name);
    ok(fabs(first->primal / is - 1) < 1e-10 &&
           first->dual <= least * (1 + 1e-12),
       "%s: objectives as reported, %.9g", name, is);
    ok(off < 1e-3, "%s: probabilities are off by %.2g", name, off);
    ok(first->basis.passes <= 30, "%s: %g passes", name, first->basis.passes);
}

static void test_solutions(void)
{
    static struct sample s;
    static double weight[MOST];
    char name[64];
    for (size_t i = 0; i < MOST; i++)
        weight[i] = 0.25 + (double)(i % 5);
    for (size_t k = 2; k <= CLASSES; k += k == 3 ? 2 : 1) {
        sample_classes(&s, ROWS, k);
        for (double cost = 0.1; cost < 2000; cost *= 100) {
            struct klr_params params = basis_params(cost, 0);
            snprintf(name, sizeof name, "%zu classes, C = %g", k, cost);
            check(&s, &params, k, name);
        }
        struct klr_params params = basis_params(3, 0);
        params.example_weight = weight;
        snprintf(name, sizeof name, "%zu classes, weights", k);
        check(&s, &params, k, name);
        params.no_bias = 1;
        snprintf(name, sizeof name, "%zu classes, weights, no bias", k);
        check(&s, &params, k, name);
    }
}

/* -1/2 g'K_NM K_MM^-1 K_MN g of a column (n; k). */
static long double judge_form(const struct judge *j, const double *g)
{
    static long double matrix[POINTS][POINTS];
    long double v[POINTS] = {0}, solved[POINTS], sum = 0;
    for (size_t a = 0; a < j->m; a++) {
        for (size_t i = 0; i < j->n; i++)
            v[a] += j->kernel[i][a] * g[i * j->k];
        solved[a] = v[a];
        for (size_t b = 0; b < j->m; b++)
            matrix[a][b] = j->kernel[j->points[a]][b];
    }
    eliminate(j->m, POINTS, *matrix, 1, solved);
    for (size_t a = 0; a < j->m; a++)
        sum -= 0.5L * v[a] * solved[a];
    return sum;
}

/* D of dual (n, k), from the definition; *least becomes the least of its
 * probabilities, *sum the largest sum of a column or row. */
static long double judge_dual(const struct judge *j, const double *dual,
                              long double *least, long double *sum)
{
    long double value = 0, column[CLASSES] = {0};
    *least = INFINITY;
    *sum = 0;
    for (size_t c = 0; c < j->k; c++)
        value += judge_form(j, dual + c);
    for (size_t i = 0; i < j->n; i++) {
        long double row = 0;
        for (size_t c = 0; c < j->k; c++) {
            long double g = dual[i * j->k + c];
            long double p = (c == j->class[i]) - g / j->cost[i];
            value -= p > 0 ? j->cost[i] * p * logl(p) : 0;
            *least = fminl(*least, p);
            row += g;
            column[c] += g;
        }
        *sum = fmaxl(*sum, fabsl(row));
    }
    for (size_t c = 0; c < j->k; c++)
        *sum = fmaxl(*sum, fabsl(column[c]));
    return value;
}

/* The coefficients of all columns, as a subspace has them. */
static void found_take(struct found *found, const struct subspace *sub)
{
    *found = (struct found){0};
    for (size_t c = 0; c < sub->columns; c++) {
        double *v = sub->v;
        memcpy(v, sub->w + c * sub->m, sub->m * sizeof *v);
        panels_backward(&sub->r, v);
        for (size_t k = 0; k < sub->m; k++)
            found->store[c][sub->member[k]] = v[k];
        found->beta[c] = found->store[c];
        found->rho[c] = sub->all.rho[c];
    }
}

/* Where the solver ends early, the point of its dual is feasible, and the gap
 * that it tells is that of the definition. */
static void test_gap(size_t classes, double cost, double eps)
{
    static struct machines w;
    static struct judge j;
    static struct sample s;
    static struct found found;
    struct klr_params params = basis_params(cost, 0);
    bool points[MOST];
    struct subspace sub;
    struct klr_error err;
    long double least, sum;
    double off;
    sample_classes(&s, ROWS, classes);
    choose(ROWS, points);
    machines_create(&w, &s, &params, classes, points);
    if (subspace_begin(&sub, w.problem, 1, classes, &err) ||
        subspace_draw(&sub, ROWS, &err))
        printf("Bail out! %s\n", err.message);
    subspace_fit_sample(&sub, 0.5);
    subspace_newton(&sub, eps);
    found_take(&found, &sub);
    judge_make(&j, &s, &params, classes, found.beta);
    long double dual = judge_dual(&j, sub.dual, &least, &sum);
    long double primal = judge_found(&j, found.beta, found.rho, &off);
    double gap = (double)((primal - dual) / primal);
    ok(least >= 0 && sum < 1e-9L * (long double)cost * ROWS,
       "%zu classes, C = %g: a point of the dual, sums %.2Lg", classes, cost,
       sum);
    ok(gap > 0 && fabs(gap - sub.gap) < 1e-3 * gap + 1e-11,
       "... whose gap is told, %.6g: %.6g", gap, sub.gap);
    subspace_free(&sub);
    machines_free(&w);
}

/* Two columns: f_1 - f_2 = 2 K b_1 - (rho_1 - rho_2), and twice the objective
 * is that of klr at 2 C. */
static void test_two_classes(bool no_bias)
{
    static struct sample s;
    static struct found found;
    struct klr_params params = basis_params(3, 0), half = params;
    struct klr_model *model;
    struct klr_report report;
    struct klr_error err;
    bool points[MOST];
    size_t row[MOST], count = 0;
    double worst = 0, opposite = 0;
    sample_classes(&s, ROWS, 2);
    choose(ROWS, points);
    for (size_t i = 0; i < ROWS; i++)
        if (points[i])
            row[count++] = i;
    params.no_bias = half.no_bias = no_bias;
    params.eps = half.eps = 1e-11;
    half.multiclass = KLR_OVO;
    half.cost = klr_reals_of(6);
    half.points = row;
    half.n_points = count;
    solve_columns(&s, &params, 2, points, &found);
    if (klr_train(&s.problem, &half, &model, &report, &err))
        printf("Bail out! %s\n", err.message);
    double sign = model->label[0] == 0 ? 1 : -1;
    for (size_t i = 0; i < ROWS; i++)
        opposite =
            larger_of(opposite, fabs(found.beta[0][i] + found.beta[1][i]));
    for (size_t e = 0; e < model->n_sv; e++)
        worst = larger_of(worst, fabs(2 * found.beta[0][model->sv_row[e]] -
                                      sign * model->coef[e]));
    ok(fabs(2 * found.first.primal / report.primal - 1) < 1e-9,
       "two classes: half of klr's objective at 2 C");
    ok(opposite < 1e-9 && worst < 1e-3, "... half its coefficients: %.2g, %.2g",
       opposite, worst);
    ok(fabs(found.rho[0] - found.rho[1] - sign * model->rho[0]) < 1e-4,
       "... and thresholds");
    klr_model_free(model);
}

/* With as many points as there are examples the model is the exact one. */
static void test_all_points(void)
{
    static struct sample s;
    struct klr_report few, all;
    struct klr_model *one, *other = NULL;
    struct klr_error err;
    sample_classes(&s, ROWS, 4);
    struct klr_params params = basis_params(2, ROWS);
    params.eps = 1e-9;
    params.basis_choice = KLR_BASIS_UNIFORM;
    int code = klr_train(&s.problem, &params, &one, &few, &err);
    params.basis = params.basis_choice = 0;
    if (code || klr_train(&s.problem, &params, &other, &all, &err))
        printf("Bail out! %s\n", err.message);
    ok(few.basis.points > ROWS / 2 && fabs(few.primal / all.primal - 1) < 1e-8,
       "all points: the objective of all, %.9g", few.primal);
    ok(few.basis.full_gap < 1e-6, "... and a bound that tells it: %.2g",
       few.basis.full_gap);
    klr_model_free(one);
    klr_model_free(other);
}

/* How far the objective may be above that of all examples, of all rows. */
static void test_bound(void)
{
    static struct sample s;
    struct klr_report few, all;
    struct klr_model *model;
    struct klr_error err;
    sample_classes(&s, MOST, 4);
    for (double cost = 0.1; cost < 200; cost *= 10) {
        struct klr_params params = basis_params(cost, 30);
        params.basis_bound = KLR_BOUND_EXACT;
        int code = klr_train(&s.problem, &params, &model, &few, &err);
        klr_model_free(model);
        params.basis = params.basis_bound = 0;
        if (code || klr_train(&s.problem, &params, &model, &all, &err))
            printf("Bail out! %s\n", err.message);
        klr_model_free(model);
        double above = (few.primal - all.primal) / few.primal;
        ok(above <= few.basis.full_gap + 1e-6 &&
               few.basis.full_gap <= 2 * above + 2e-6,
           "C = %g: %.3g above that of all points, at most %.3g", cost, above,
           few.basis.full_gap);
    }
}

/* Classes far apart, whose losses are tiny against their costs: gap and bound
 * keep the digits of the losses, for a basis and for all examples. */
static void test_apart(double cost)
{
    static struct sample s;
    struct klr_report few, all;
    struct klr_model *model;
    struct klr_error err;
    struct klr_params params = basis_params(cost, ROWS);
    sample_classes(&s, ROWS, 3);
    for (size_t i = 0; i < ROWS; i++)
        s.value[i * FEATURES + (size_t)s.label[i]] += 30;
    params.kernel = KLR_LINEAR;
    int code = klr_train(&s.problem, &params, &model, &few, &err);
    klr_model_free(model);
    params.basis = 0;
    if (code || klr_train(&s.problem, &params, &model, &all, &err))
        printf("Bail out! %s\n", err.message);
    klr_model_free(model);
    ok(few.status == KLR_CONVERGED && all.status == KLR_CONVERGED,
       "classes apart, C = %g: converged, as of all examples", cost);
    double above = (few.primal - all.primal) / few.primal;
    ok(few.basis.full_gap >= 0 && above <= few.basis.full_gap + 1e-6 &&
           few.basis.full_gap <= 2 * above + 2e-6,
       "... %.3g above that of all points, at most %.3g", above,
       few.basis.full_gap);
}

/* A bound is not above the objective itself. */
static void test_far_from_all(void)
{
    static struct sample s;
    struct klr_params params = basis_params(1e15, 5);
    struct klr_report report;
    struct klr_model *model;
    struct klr_error err;
    sample_classes(&s, MOST, 3);
    if (klr_train(&s.problem, &params, &model, &report, &err))
        printf("Bail out! %s\n", err.message);
    ok(report.basis.full_gap > 0.9 && report.basis.full_gap <= 1,
       "far from all points: at most all of it is lost, %g",
       report.basis.full_gap);
    klr_model_free(model);
}

int main(void)
{
    test_solutions();
    for (size_t k = 2; k <= CLASSES; k++)
        for (double cost = 0.1; cost < 2000; cost *= 10)
            test_gap(k, cost, 0.1);
    test_two_classes(false);
    test_two_classes(true);
    test_all_points();
    test_bound();
    for (double cost = 1; cost < 1e10; cost *= 1e3)
        test_apart(cost);
    test_far_from_all();
    return done_testing();
}
