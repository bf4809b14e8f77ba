/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel logistic regression in the span of few points, and its sparse variant,
 * against Newton's method on the coefficients and the threshold themselves, in
 * long double: without a basis, by elimination, from the definition alone.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/eliminate.h"
#include "tests/sample.h"
#include "tests/tap.h"

enum { N = 60, WIDE = MOST + 1 };

/* The problem restricted to points[0..m-1]; x are their coefficients, then
 * -rho, unless there is no bias. */
struct judge {
    size_t n, m, size;
    const double *y;
    long double shift, box; /* of the loss of sklr */
    double cost[MOST];
    size_t points[MOST];
    long double kernel[MOST][MOST]; /* all examples, the points */
    long double x[WIDE], objective;
};

static void judge_make(struct judge *j, const struct sample *s,
                       const struct klr_params *params)
{
    double gamma = params->gamma.value[0];
    j->n = s->problem.n;
    j->y = s->label;
    j->size = j->m + !params->no_bias;
    j->shift = j->box = 0;
    if (params->model == KLR_MODEL_SKLR) {
        j->shift = params->lambda.value[0];
        j->box = params->box;
    }
    for (size_t i = 0; i < j->n; i++) {
        j->cost[i] = params->cost.value[0] *
                     (params->example_weight ? params->example_weight[i] : 1);
        for (size_t k = 0; k < j->m; k++) {
            long double square = 0;
            for (int d = 0; d < FEATURES; d++) {
                long double x = s->value[i * FEATURES + (size_t)d];
                x -= s->value[j->points[k] * FEATURES + (size_t)d];
                square += x * x;
            }
            j->kernel[i][k] = expl(-gamma * square);
        }
    }
}

static long double judge_f(const struct judge *j, const long double *x,
                           size_t i)
{
    long double f = j->size > j->m ? x[j->m] : 0;
    for (size_t k = 0; k < j->m; k++)
        f += x[k] * j->kernel[i][k];
    return f;
}

/* The slope, negated, of the loss at the margin z. */
static long double judge_alpha(const struct judge *j, long double z, size_t i)
{
    long double alpha = j->cost[i] / (1 + expl(z - j->shift));
    return fminl(fmaxl(alpha, j->box), j->cost[i] - j->box);
}

/* The logistic loss, or where the box ends that the line of its slope there:
 * max over alpha of alpha (shift - z) - C G(alpha / C), G(d) = d log d +
 * (1 - d) log(1 - d). */
static long double judge_loss(const struct judge *j, long double z, size_t i)
{
    long double cost = j->cost[i], alpha = judge_alpha(j, z, i),
                t = j->shift - z;
    if (alpha > j->box && alpha < cost - j->box)
        return cost * (t > 0 ? t + log1pl(expl(-t)) : log1pl(expl(t)));
    long double d = alpha / cost;
    return alpha * t -
           (d > 0 && d < 1 ? cost * (d * logl(d) + (1 - d) * log1pl(-d)) : 0);
}

static long double judge_objective(const void *context, const long double *x)
{
    const struct judge *j = context;
    long double sum = 0;
    for (size_t k = 0; k < j->m; k++)
        for (size_t l = 0; l < j->m; l++)
            sum += 0.5L * x[k] * x[l] * j->kernel[j->points[k]][l];
    for (size_t i = 0; i < j->n; i++) {
        sum += judge_loss(j, j->y[i] * judge_f(j, x, i), i);
    }
    return sum;
}

/* One Newton step, halved until it lowers the objective. */
static bool judge_step(struct judge *j)
{
    static long double h[WIDE][WIDE];
    long double step[WIDE] = {0}, next[WIDE];
    memset(h, 0, sizeof h);
    for (size_t k = 0; k < j->m; k++)
        for (size_t l = 0; l < j->m; l++) {
            h[k][l] = j->kernel[j->points[k]][l];
            step[k] -= h[k][l] * j->x[l];
        }
    for (size_t i = 0; i < j->n; i++) {
        long double alpha = judge_alpha(j, j->y[i] * judge_f(j, j->x, i), i);
        bool bends = alpha > j->box && alpha < j->cost[i] - j->box;
        long double w = bends ? alpha * (1 - alpha / j->cost[i]) : 0;
        for (size_t k = 0; k < j->size; k++) {
            long double a = k < j->m ? j->kernel[i][k] : 1;
            step[k] += j->y[i] * alpha * a;
            for (size_t l = 0; l < j->size; l++)
                h[k][l] += w * a * (l < j->m ? j->kernel[i][l] : 1);
        }
    }
    if (j->size > j->m) /* all losses may be linear at once */
        h[j->m][j->m] = fmaxl(h[j->m][j->m], 1e-2L);
    eliminate(j->size, WIDE, *h, 1, step);
    return descend(judge_objective, j, j->size, step, next, j->x,
                   &j->objective);
}

/* The least objective in the kernels of the examples with coefficients. */
static long double judge_least(struct judge *j, const struct sample *s,
                               const struct klr_params *params,
                               const double *beta)
{
    memset(j->x, 0, sizeof j->x);
    j->m = 0;
    for (size_t i = 0; i < s->problem.n; i++)
        if (beta[i] != 0)
            j->points[j->m++] = i;
    judge_make(j, s, params);
    j->objective = judge_objective(j, j->x);
    for (int step = 0; step < 60 && judge_step(j); step++)
        ;
    return j->objective;
}

/* The objective of the coefficients and rho that were found. */
static long double judge_found(const struct judge *j, const double *beta,
                               double rho)
{
    long double x[WIDE];
    for (size_t k = 0; k < j->m; k++)
        x[k] = beta[j->points[k]];
    x[j->m] = -(long double)rho;
    return judge_objective(j, x);
}

/* ---- tests ---- */

static struct klr_params basis_params(double cost, long long points)
{
    struct klr_params params;
    klr_params_init(&params);
    params.gamma = klr_reals_of(0.5);
    params.cost = klr_reals_of(cost);
    params.basis = points;
    return params;
}

static void check(const struct sample *s, const struct klr_params *params,
                  const char *name)
{
    static struct judge j;
    double beta[MOST], full[MOST];
    struct solution solution = solve_untiled(s, params, beta);
    double least = (double)judge_least(&j, s, params, beta);
    double found = (double)judge_found(&j, beta, solution.rho);
    double size = fabs(found), gap = (solution.primal - solution.dual) / size;
    ok(solution.status == KLR_CONVERGED && gap <= 1e-6 && gap >= 0,
       "%s: converged, gap %.2g", name, gap);
    ok(fabs(found / solution.primal - 1) < 1e-10,
       "%s: the objective is that of the coefficients", name);
    ok(least <= found + 1e-12 * size && found - least <= 1e-6 * size,
       "%s: %.1g above the least of the points", name, (found - least) / size);
    ok(solution.dual <= least + 1e-11 * size, "%s: the dual is below", name);
    struct klr_params all = *params;
    all.basis = 0;
    all.n_points = 0;
    all.basis_choice = all.basis_bound = 0;
    all.basis_tol = (double)NAN;
    all.eps = 1e-9;
    all.keep_bounded = params->model == KLR_MODEL_SKLR;
    double whole = solve_untiled(s, &all, full).primal;
    double above = (found - whole) / size;
    ok(above <= solution.basis.full_gap + 1e-9 &&
           solution.basis.full_gap <= 2 * above + 2e-6,
       "%s: %.3g above that of all points, at most %.3g", name, above,
       solution.basis.full_gap);
}

static void test_choices(const struct sample *s)
{
    static const char *const names[] = {"grown", "uniform", "balanced"};
    static double weight[MOST];
    char name[64];
    for (size_t i = 0; i < MOST; i++)
        weight[i] = 0.25 + (double)(i % 5);
    for (int choice = 0; choice < 3; choice++)
        for (double cost = 0.1; cost < 2000; cost *= 100) {
            struct klr_params params = basis_params(cost, 40);
            params.basis_choice = choice;
            snprintf(name, sizeof name, "%s, C = %g", names[choice], cost);
            check(s, &params, name);
        }
    struct klr_params params = basis_params(2, 30);
    params.no_bias = 1;
    check(s, &params, "without bias");
    params.no_bias = 0;
    params.example_weight = weight;
    check(s, &params, "with weights");
}

/* The shifted loss with its linear tails; a box so large that most examples are
 * at an end of it, and objectives below 0. */
static void test_shifted(const struct sample *s)
{
    static const double box[] = {0, 1e-5, 0.04, 0.3};
    static double weight[MOST];
    char name[64];
    struct klr_params params;
    for (size_t i = 0; i < MOST; i++)
        weight[i] = 1 + (double)(i % 5);
    for (size_t b = 0; b < sizeof box / sizeof *box; b++)
        for (double cost = 1; cost < 200; cost *= 10) {
            params = basis_params(cost, 40);
            params.model = KLR_MODEL_SKLR;
            params.lambda = klr_reals_of(0.1 * cost);
            params.box = box[b] * (b > 1 ? cost : 1);
            snprintf(name, sizeof name, "sklr, C = %g, box %g", cost,
                     params.box);
            check(s, &params, name);
        }
    params.no_bias = 1;
    check(s, &params, "sklr without bias");
    params.no_bias = 0;
    params.example_weight = weight;
    check(s, &params, "sklr with weights");
    params = basis_params(10, KLR_BASIS_AUTO);
    params.model = KLR_MODEL_SKLR;
    params.lambda = klr_reals_of(1);
    check(s, &params, "sklr of a size that is found");
}

/* With few points the dual of all examples is best where alpha shrinks: a path
 * that leads to a point in the box. A class is rare, so that the box alone is
 * not feasible, with a bias; without one the path ends far from 0. A large box
 * makes its way there matter. */
static void test_shrinking(void)
{
    const struct {
        double cost, box;
    } some[] = {{10, 0},   {10, 0.3}, {10, 0.6},
                {10, 0.9}, {10, 1.2}, {1000, 51.2}};
    static struct sample s;
    static struct judge j;
    double beta[MOST];
    sample_make(&s, 160);
    for (size_t i = 0; i < s.problem.n; i++)
        s.label[i] = i % 8 == 0 ? 1 : -1;
    for (int bias = 0; bias < 2; bias++)
        for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
            struct klr_params params = basis_params(some[k].cost, 4);
            double box = some[k].box;
            params.model = KLR_MODEL_SKLR;
            params.lambda = klr_reals_of(1);
            params.box = box;
            params.no_bias = !bias;
            struct solution solution = solve_untiled(&s, &params, beta);
            judge_least(&j, &s, &params, beta);
            double found = (double)judge_found(&j, beta, solution.rho);
            params.basis = 0;
            params.keep_bounded = 1;
            double whole = solve_untiled(&s, &params, beta).primal;
            double above = (found - whole) / fabs(found);
            double told = solution.basis.full_gap;
            ok(above <= told + 1e-9 && (told < 3 * above || !bias || box > 2),
               "four points, box %g, %s: %.3g above all, at most %.3g", box,
               bias ? "a bias" : "no bias", above, told);
        }
}

/* The size of a basis is found by the log loss of the link consistent. */
static void test_loss_of(void)
{
    double y[] = {1, -1, 1, -1}, u[] = {0.3, 2, -700, -40}, rho = 0.5;
    double worst = 0;
    struct subspace s = {.all = {.y = y, .u = u, .rho = &rho}};
    for (int shift = 0; shift < 4; shift++) {
        struct link link = link_neutral(KLR_LINK_CONSISTENT);
        link.c = shift;
        s.loss.shift = shift;
        for (size_t i = 0; i < 4; i++) {
            double odds = link_log_odds(&link, u[i] - rho);
            double loss = softplus(-y[i] * odds);
            worst = larger_of(worst,
                              fabs(subspace_two_classes.loss_of(&s, i) - loss) /
                                  fmax(loss, 1e-3));
        }
    }
    ok(worst < 1e-12, "log losses by the link consistent: %g", worst);
}

/* Kernels so wide that few points span all, and C so large that decision values
 * by float entries are off by more than a step gains. */
static void test_wide(const struct sample *s)
{
    char name[64];
    for (double cost = 1e3; cost < 1e7; cost *= 10) {
        struct klr_params params = basis_params(cost, 60);
        params.gamma = klr_reals_of(0.05);
        snprintf(name, sizeof name, "a wide kernel, C = %g", cost);
        check(s, &params, name);
    }
}

/* A size that is found ends at half of so few examples, or at what suffices. */
static void test_size(const struct sample *s)
{
    double beta[MOST];
    struct klr_params params = basis_params(1, KLR_BASIS_AUTO);
    check(s, &params, "a size that is found");
    params.gamma = klr_reals_of(20);
    struct solution solution = solve_untiled(s, &params, beta);
    ok(solution.basis.end == KLR_BASIS_LARGE &&
           solution.basis.points == s->problem.n / 2,
       "... for a narrow kernel: none is small");
    params.gamma = klr_reals_of(0.5);
    params.basis_tol = 1;
    check(s, &params, "... for a loss of 1");
    solution = solve_untiled(s, &params, beta);
    ok(solution.basis.points <= 64, "... one of the first two");
    params.basis_tol = (double)NAN;
    params.gamma = klr_reals_of(1e-3);
    params.cost = klr_reals_of(10);
    check(s, &params, "... for a wide kernel");
    solution = solve_untiled(s, &params, beta);
    ok(solution.basis.end == KLR_BASIS_ENOUGH, "... which it suffices");
}

/* Copies among points that are given are one point. */
static void test_given(struct sample *s)
{
    static const size_t points[] = {31, 2, 3, 17, 30, 2, 39, 8};
    struct klr_params params = basis_params(3, 0);
    double beta[MOST];
    size_t count = 0;
    memcpy(s->value + 30 * FEATURES, s->value + 2 * FEATURES,
           FEATURES * sizeof *s->value);
    params.points = points;
    params.n_points = sizeof points / sizeof *points;
    check(s, &params, "points that are given");
    solve_untiled(s, &params, beta);
    for (size_t i = 0; i < s->problem.n; i++)
        count += beta[i] != 0;
    ok(count == 6, "copies among them are one: %zu", count);
}

/* With as many points as there are examples, or more, the model is the one of
 * all; with one it is still optimal. */
static void test_ends(struct sample *s)
{
    double beta[MOST];
    struct klr_params params = basis_params(1, 1);
    check(s, &params, "one point");
    for (size_t i = 0; i < s->problem.n; i++)
        s->value[i * FEATURES + 4] = 7; /* a constant feature */
    params = basis_params(1, 0);
    params.eps = 1e-9;
    double least = solve_untiled(s, &params, beta).primal;
    for (long long m = N; m < 200; m += 100) {
        params = basis_params(1, m);
        params.eps = 1e-9;
        struct solution solution = solve_untiled(s, &params, beta);
        ok(fabs(solution.primal / least - 1) < 1e-8,
           "%lld points of %d examples: the optimum of all", m, N);
    }
}

/* A class of three examples among 200. */
static void test_rare(void)
{
    static struct sample s;
    sample_make(&s, 200);
    for (size_t i = 0; i < 200; i++)
        s.label[i] = i % 70 == 5 ? 1 : -1;
    struct klr_params params = basis_params(10, 20);
    check(&s, &params, "a class of three");
}

/* Class q of the model against the rest, on all its points: the objective; *gap
 * becomes how far it is above the least, relatively. */
static double check_rest(const struct sample *all,
                         const struct klr_model *model,
                         const struct klr_params *params, size_t q, double *gap)
{
    static struct judge j;
    static struct sample s;
    double beta[MOST] = {0};
    s = *all;
    sample_close(&s, all->problem.n);
    for (size_t i = 0; i < s.problem.n; i++)
        s.label[i] = all->label[i] == model->label[q] ? 1 : -1;
    for (size_t i = 0; i < model->n_sv; i++)
        beta[model->sv_row[i]] = model->coef[q * model->n_sv + i];
    double least = (double)judge_least(&j, &s, params, beta);
    double found = (double)judge_found(&j, beta, model->rho[q]);
    *gap = (found - least) / found;
    return found;
}

/* Machines of one against the rest have the same points, and each the best
 * function on them. Of a choice that knows of one class alone others gain less.
 */
static void test_shared(struct sample *s)
{
    static const char *const names[] = {"grown", "uniform", "balanced"};
    double objective[3];
    for (size_t i = 0; i < s->problem.n; i++)
        s->label[i] = (double)(i * i % 7 % 4);
    for (int choice = 0; choice < 3; choice++) {
        struct klr_params params = basis_params(3, 50);
        struct klr_model *model;
        struct klr_report report;
        struct klr_error err;
        double sum = 0, worst = 0, gap;
        params.multiclass = KLR_OVA;
        params.basis_choice = choice;
        if (klr_train(&s->problem, &params, &model, &report, &err))
            printf("Bail out! %s\n", err.message);
        for (size_t q = 0; q < model->k; q++) {
            sum += check_rest(s, model, &params, q, &gap);
            worst = larger_of(worst, gap);
        }
        ok(model->n_sv == 50 && report.basis.points == 50,
           "%s, shared: %zu support vectors", names[choice], model->n_sv);
        ok(report.status == KLR_CONVERGED && worst < 1e-6,
           "%s, shared: each is %.1g above the least, at most", names[choice],
           worst);
        ok(fabs(sum / report.primal - 1) < 1e-9,
           "%s, shared: the objective is the sum of all", names[choice]);
        objective[choice] = sum;
        klr_model_free(model);
    }
    ok(objective[0] < objective[1] && objective[0] < objective[2],
       "points that grow for all machines are the best: %.4g, %.4g, %.4g",
       objective[0], objective[1], objective[2]);
}

int main(void)
{
    static struct sample s;
    sample_make(&s, 160);
    test_choices(&s);
    test_shifted(&s);
    test_loss_of();
    test_shrinking();
    test_wide(&s);
    test_size(&s);
    test_rare();
    sample_make(&s, 160);
    test_shared(&s);
    sample_make(&s, N);
    test_given(&s);
    sample_make(&s, N);
    test_ends(&s);
    return done_testing();
}
