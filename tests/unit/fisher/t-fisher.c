/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exact kernel Fisher discriminants against dense solutions from the
 * definition.
 */
#if defined(__GNUC__) /* statics of sample.h of which few are used */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/sample.h"
#include "tests/stop.h"
#include "tests/tap.h"

#include "tests/discriminants.h"

static const struct klr_kernel rbf = {.type = KLR_RBF, .gamma = 0.5};

/* ---- the preconditioner of full rank ---- */

enum {
    TILES = 600, /* examples of several tiles, the last one not whole */
    MANY = 900   /* for which a preconditioner of low rank is tried first */
};

static struct klr_problem tiles_make(size_t n)
{
    static double label[MANY], value[MANY * FEATURES];
    static int index[MANY * FEATURES];
    static size_t start[MANY + 1];
    for (size_t i = 0; i < n * FEATURES; i++) {
        index[i] = (int)(i % FEATURES) + 1;
        value[i] = 2 * uniform() - 1;
        label[i / FEATURES] = value[i] > 0 ? 1 : -1;
        start[i / FEATURES + 1] = i + 1;
    }
    return (struct klr_problem){.n = n,
                                .dimension = FEATURES,
                                .label = label,
                                .start = start,
                                .index = index,
                                .value = value};
}

/* (I + S K S) z - in, at most, for z = the inverse of it applied to in. */
static double cholesky_residual(const struct klr_problem *x, const double *root,
                                const double *in, const double *z)
{
    double worst = 0;
    for (size_t i = 0; i < x->n; i++) {
        double sum = z[i] - in[i];
        for (size_t j = 0; j < x->n; j++)
            sum += root[i] * root[j] * z[j] *
                   kernel_of(&rbf, x->value + i * FEATURES,
                             x->value + j * FEATURES);
        worst = larger_of(worst, fabs(sum));
    }
    return worst;
}

static bool factor_all(struct cholesky *m, const double *root)
{
    bool definite = true;
    for (size_t j = 0; j < m->blocks && definite; j++)
        definite = cholesky_factor(m, root, j);
    return definite;
}

/* One vector and several. */
static void test_cholesky(void)
{
    enum { N = TILES, VECTORS = 6 };
    static double root[N], in[VECTORS][N], z[VECTORS][N];
    static double again[N], *const to = again;
    struct klr_problem data = tiles_make(TILES);
    struct klr_features x = problem_features(&data);
    struct klr_range all = {0, N};
    struct klr_operator op;
    struct klr_pool *pool = NULL;
    struct cholesky m;
    struct klr_arena arena = {0};
    struct klr_error err;
    struct binary_problem problem = {.op = &op, .set = set_of(&all, 1), .n = N};
    if (operator_create(&op, &rbf, &x, NULL, NULL, 0, &err) ||
        cholesky_create(&m, problem_matrix(&problem), &arena, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t i = 0; i < N; i++) {
        root[i] = 3 * uniform();
        for (size_t c = 0; c < VECTORS; c++)
            z[c][i] = in[c][i] = uniform() - 0.5;
    }
    ok(factor_all(&m, root), "I + S K S is factored");
    double *const vector[] = {z[0], z[1], z[2], z[3], z[4], z[5]};
    cholesky_solve(&m, 1, vector);
    cholesky_solve(&m, VECTORS - 1, vector + 1);
    double worst = 0;
    for (size_t c = 0; c < VECTORS; c++)
        worst = larger_of(worst, cholesky_residual(&data, root, in[c], z[c]));
    ok(worst < 1e-3, "residuals of %d vectors: %g", VECTORS, worst);
    klr_arena_free(&arena);
    operator_free(&op);
    if (klr_pool_create(&pool, 3, &err) ||
        operator_create(&op, &rbf, &x, NULL, pool, 0, &err) ||
        cholesky_create(&m, problem_matrix(&problem), &arena, &err))
        printf("Bail out! %s\n", err.message);
    memcpy(again, in[0], sizeof again);
    factor_all(&m, root);
    cholesky_solve(&m, 1, &to);
    ok(memcmp(again, z[0], sizeof again) == 0,
       "the same bits from three threads");
    klr_arena_free(&arena);
    operator_free(&op);
    klr_pool_free(pool);
}

/* ---- weights, paths, several machines ---- */

/* A solution at this c against the definition. */
static void check_at(struct dense *d, const struct klr_problem *x,
                     const struct klr_kernel *kernel, int regularizer, double c,
                     const char *name)
{
    struct setting setting = setting_of(regularizer, c);
    struct solution solution = fisher_one(&setting, x, kernel, d);
    dense_solve(d, c, regularizer == KLR_REGULARIZER_COEF);
    check(d, &solution, name);
    klr_free(solution.beta);
}

/* Weights against the definition; an example of weight 2 is as two of them. */
static void test_weights(const struct sample *s)
{
    struct klr_problem part = s->problem;
    part.n = 100;
    struct dense d = dense_create(&part, &rbf);
    for (size_t i = 0; i < part.n; i++)
        d.weight[i] = i % 7 == 0 ? 2 : d.y[i] > 0 ? 1 : 0.25;
    for (int r = KLR_REGULARIZER_KERNEL; r <= KLR_REGULARIZER_COEF; r++)
        check_at(&d, &part, &rbf, r, 10, "weights");
    dense_free(&d);
}

static void test_copies(const struct sample *s)
{
    enum { N = 60, TWICE = 20 };
    static struct sample copies;
    copies = *s;
    for (size_t i = 0; i < TWICE; i++) {
        copies.label[N + i] = s->label[i];
        memcpy(copies.value + (N + i) * FEATURES, s->value + i * FEATURES,
               FEATURES * sizeof *s->value);
    }
    struct klr_problem twice = s->problem, once = s->problem;
    once.n = N;
    twice.n = N + TWICE;
    twice.label = copies.label;
    twice.value = copies.value;
    struct dense weighted = dense_create(&once, &rbf);
    struct dense copied = dense_create(&twice, &rbf);
    struct setting setting = setting_of(KLR_REGULARIZER_KERNEL, 3);
    for (size_t i = 0; i < TWICE; i++)
        weighted.weight[i] = 2;
    struct solution a = fisher_one(&setting, &once, &rbf, &weighted);
    struct solution b = fisher_one(&setting, &twice, &rbf, &copied);
    double worst = fabs(a.rho - b.rho);
    for (size_t i = 0; i < N; i++)
        worst = larger_of(worst, fabs(a.beta[i] - b.beta[i] -
                                      (i < TWICE ? b.beta[N + i] : 0)));
    ok(worst < 1e-6 && fabs(a.primal - b.primal) < 1e-9 * a.primal,
       "an example of weight 2 is two examples: coefficients within %.1e",
       worst);
    klr_free(a.beta);
    klr_free(b.beta);
    dense_free(&weighted);
    dense_free(&copied);
}

/* One label against the rest, for three labels, along two costs, with weights
 * that differ from machine to machine. */
static void test_machines(const struct sample *s)
{
    enum { N = 150 };
    struct klr_problem part = s->problem;
    part.n = N;
    struct dense d[3];
    struct setting setting = setting_of(KLR_REGULARIZER_KERNEL, 0.5);
    struct solution all[3][2], *const list[] = {all[0], all[1], all[2]};
    double *beta = need(3 * 2 * N, sizeof *beta);
    struct klr_error err;
    setting.params.cost.count = 2;
    setting.params.cost.value[1] = 50;
    for (size_t m = 0; m < 3; m++) {
        d[m] = dense_create(&part, &rbf);
        for (size_t i = 0; i < N; i++) {
            d[m].y[i] = i % 3 == m ? 1 : -1;
            d[m].weight[i] = m == 2 && i % 3 == m ? 4 : 1;
        }
        for (size_t t = 0; t < 2; t++)
            all[m][t].beta = beta + (2 * m + t) * N;
    }
    if (fisher_run(&setting, &part, &rbf, d, 3, list, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t m = 0; m < 3; m++)
        for (size_t t = 0; t < 2; t++) {
            char name[64];
            snprintf(name, sizeof name, "machine %zu of 3, c = %g", m,
                     setting.params.cost.value[t]);
            dense_solve(&d[m], setting.params.cost.value[t], false);
            check(&d[m], &all[m][t], name);
        }
    for (size_t m = 0; m < 3; m++)
        dense_free(&d[m]);
    klr_free(beta);
}

/* ---- limits ---- */

/* However early the end, the constraints hold, and the bounds are bounds; what
 * has no time to go on factors nothing. */
static void test_stops(const struct sample *s)
{
    struct dense d = dense_create(&s->problem, &rbf);
    struct setting setting = setting_of(KLR_REGULARIZER_COEF, 100);
    dense_solve(&d, 100, true);
    for (int stop = 0; stop < 4; stop++) {
        static const char *const name[] = {"a gap of 0.1", "one product",
                                           "an interruption", "no time"};
        setting.params.eps = stop == 0 ? 0.1 : 1e-14;
        setting.params.max_iter = stop == 1;
        setting.params.progress = stop == 2 ? stop_at_once : NULL;
        setting.params.time_limit = stop == 3 ? 1e-9 : 0;
        struct solution solution = fisher_one(&setting, &s->problem, &rbf, &d);
        enum klr_status status[] = {KLR_CONVERGED, KLR_ITERATION_LIMIT,
                                    KLR_INTERRUPTED, KLR_TIME_LIMIT};
        ok(solution.status == status[stop] &&
               compare(&d, &solution).mean < 1e-10,
           "%s: class means within %.1e", name[stop],
           compare(&d, &solution).mean);
        ok(solution.primal > (double)d.objective &&
               solution.dual < (double)d.objective,
           "%s: the optimum lies between %g and %g", name[stop], solution.dual,
           solution.primal);
        ok((solution.flops > 0) == (stop < 2), "%s: %g operations on factors",
           name[stop], solution.flops);
        klr_free(solution.beta);
    }
    dense_free(&d);
}

/* At the first report, before anything is factored, the time is over. */
static int time_out(const struct klr_progress *progress, void *context)
{
    (void)progress;
    ((struct setting *)context)->params.time_limit = 1e-9;
    return 0;
}

/* A factor is not waited for. */
static void test_factoring(void)
{
    struct klr_problem data = tiles_make(TILES);
    struct dense d = dense_create(&data, &rbf);
    struct setting setting = setting_of(KLR_REGULARIZER_KERNEL, 100);
    setting.params.progress = time_out;
    setting.params.context = &setting;
    struct solution solution = fisher_one(&setting, &data, &rbf, &d);
    double n = TILES, all = n * n * n / 3, mean = compare(&d, &solution).mean;
    ok(solution.status == KLR_TIME_LIMIT && solution.flops > 0 &&
           solution.flops < 0.8 * all,
       "the end of time while factoring, after %.0f %% of it",
       100 * solution.flops / all);
    ok(mean < 1e-10 && solution.dual < solution.primal,
       "class means within %.1e, and bounds", mean);
    klr_free(solution.beta);
    dense_free(&d);
}

/* Neither the number of threads nor kept tiles change a bit. */
static void test_threads(const struct sample *s)
{
    struct dense d = dense_create(&s->problem, &rbf);
    struct setting setting = setting_of(KLR_REGULARIZER_KERNEL, 10);
    struct solution one = fisher_one(&setting, &s->problem, &rbf, &d);
    struct klr_error err;
    setting.budget = 0;
    if (klr_pool_create(&setting.pool, 3, &err))
        printf("Bail out! %s\n", err.message);
    struct solution three = fisher_one(&setting, &s->problem, &rbf, &d);
    ok(one.rho == three.rho &&
           memcmp(one.beta, three.beta, d.n * sizeof *one.beta) == 0,
       "the same bits from three threads without tiles");
    klr_pool_free(setting.pool);
    klr_free(one.beta);
    klr_free(three.beta);
    dense_free(&d);
}

/* A large c, and one beside which K is nothing. */
static void test_extremes(const struct sample *s)
{
    struct klr_problem part = s->problem;
    part.n = 80;
    struct dense d = dense_create(&part, &rbf);
    for (int r = KLR_REGULARIZER_KERNEL; r <= KLR_REGULARIZER_COEF; r++)
        for (int i = -9; i < 7; i += 15) {
            char name[64];
            snprintf(name, sizeof name, "%s, c = 1e%d",
                     klr_regularizer_names[r], i);
            check_at(&d, &part, &rbf, r, pow(10, i), name);
        }
    dense_free(&d);
}

/* The preconditioners tell almost all of the matrix. */
static void test_products(const struct sample *s)
{
    struct dense d = dense_create(&s->problem, &rbf);
    for (int r = KLR_REGULARIZER_KERNEL; r <= KLR_REGULARIZER_COEF; r++)
        for (double c = 1; c < 2e3; c *= 1000) {
            struct setting setting = setting_of(r, c);
            struct solution solution =
                fisher_one(&setting, &s->problem, &rbf, &d);
            long long most = r == KLR_REGULARIZER_KERNEL ? 2 : 10;
            ok(solution.iterations <= most, "%s, c = %g: %lld products",
               klr_regularizer_names[r], c, solution.iterations);
            klr_free(solution.beta);
        }
    dense_free(&d);
}

/* ---- kernels ---- */

/* u'v - 1/2 may be indefinite, but is not where sum e = 0: products of floats,
 * with a preconditioner of low rank, and anchors. */
static void test_anchors(const struct sample *s)
{
    struct klr_kernel shifted = {
        .type = KLR_POLYNOMIAL, .degree = 1, .gamma = 1, .coef0 = -0.5};
    struct dense d = dense_create(&s->problem, &shifted);
    for (int r = KLR_REGULARIZER_KERNEL; r <= KLR_REGULARIZER_COEF; r++)
        for (double c = 0.1; c < 200; c *= 10)
            check_at(&d, &s->problem, &shifted, r, c, "low rank");
    dense_free(&d);
}

/* How far r is from the residual of e, but for a shift of all. */
static long double residual_error(const struct dense *d, const struct exact *m)
{
    long double worst = 0, shift = 0;
    for (size_t i = 0; i < d->n; i++) {
        long double r = (d->y[i] > 0) - (long double)m->e[i];
        for (size_t j = 0; j < d->n; j++)
            r -= d->k[i * d->n + j] * m->e[j];
        shift = i == 0 ? r - m->r[0] : shift;
        worst = fmaxl(worst, fabsl(r - m->r[i] - shift));
    }
    return worst;
}

/* The solver's inside for one machine. */
struct inside {
    struct dense d;
    struct setting setting;
    struct klr_range all;
    struct klr_operator op;
    struct binary_problem problem;
    struct fisher f;
};

static void inside_create(struct inside *in, const struct sample *s)
{
    struct klr_features x = problem_features(&s->problem);
    struct klr_error err;
    in->d = dense_create(&s->problem, &rbf);
    in->setting = setting_of(KLR_REGULARIZER_KERNEL, 1);
    in->all = (struct klr_range){0, in->d.n};
    in->problem = (struct binary_problem){.op = &in->op,
                                          .set = set_of(&in->all, 1),
                                          .n = in->d.n,
                                          .y = in->d.y,
                                          .weight = in->d.weight,
                                          .params = &in->setting.params};
    if (operator_create(&in->op, &rbf, &x, NULL, NULL, 0, &err) ||
        fisher_create(&in->f, &in->problem, 1, &err))
        printf("Bail out! %s\n", err.message);
}

static void inside_free(struct inside *in)
{
    klr_arena_free(&in->f.arena);
    operator_free(&in->op);
    dense_free(&in->d);
}

/* At a change to doubles r is formed anew, but where no float made it, neither
 * in steps nor at an anchor. */
static void test_exactness(const struct sample *s)
{
    struct inside in;
    inside_create(&in, s);
    struct fisher *f = &in.f;
    struct exact *m = &f->machine[0];
    f->precision = KLR_FLOAT;
    fisher_be_exact(f);
    ok(f->precision == KLR_DOUBLE && m->products == 0, "nothing to undo");
    exact_guess(m);
    f->precision = KLR_FLOAT;
    m->drift_bound = 1;
    fisher_be_exact(f);
    long double worst = residual_error(&in.d, m);
    ok(f->precision == KLR_DOUBLE && m->products == 1 && m->drift_bound == 0 &&
           worst < 1e-13L,
       "a residual of floats is gone: within %.1Le", worst);
    f->exact = f->precision = KLR_FLOAT;
    fisher_anchor(f);
    long double before = residual_error(&in.d, m);
    f->exact = KLR_DOUBLE;
    fisher_be_exact(f);
    worst = residual_error(&in.d, m);
    ok(m->products == 3 && before > 1e-12L && worst < 1e-13L,
       "so is one of an anchor of floats: within %.1Le, before %.1Le", worst,
       before);
    inside_free(&in);
}

/* What floats get wrong is no reason to give up: doubles follow, from 0. */
static void test_floats_astray(const struct sample *s)
{
    struct inside in;
    inside_create(&in, s);
    struct fisher *f = &in.f;
    struct exact *m = &f->machine[0];
    enum klr_status status = KLR_CONVERGED;
    exact_guess(m);
    m->form = -1;
    f->anchor = KLR_FLOAT;
    bool doubted = !fisher_sound(f);
    f->anchor = KLR_DOUBLE;
    ok(doubted && fisher_sound(f), "a negative form is the fault of floats");
    for (size_t i = 0; i < in.d.n; i++)
        m->e[i] *= -1e9;
    f->exact = f->precision = KLR_FLOAT;
    fisher_anchor(f);
    bool raised = fisher_raise(f, &status);
    ok(raised && f->precision == KLR_DOUBLE && dot(in.d.n, m->e, m->e) == 0 &&
           m->r[0] == (in.d.y[0] > 0),
       "doubles begin at 0 where floats led astray");
    ok(!fisher_raise(f, &status), "and are the last");
    inside_free(&in);
}

/* The gap that is asked of machines without a part of the examples falls with
 * C. */
static void test_parts_gap(const struct sample *s)
{
    const double c[] = {1, 1e8}, gap[] = {1e-8, 1e-10};
    struct inside in;
    inside_create(&in, s);
    for (int part = 0; part < 2; part++) {
        in.problem.part = part;
        for (int k = 0; k < 2; k++) {
            fisher_set(&in.f, c[k]);
            double asked = part ? gap[k] : in.setting.params.eps;
            ok(fabs(in.f.eps / asked - 1) < 1e-12 && in.f.goal < in.f.eps,
               "C = %g, %s: a gap of %g", c[k], part ? "a part" : "all",
               in.f.eps);
        }
    }
    inside_free(&in);
}

/* One of low rank, and, where steps by it are many, one of full rank. Machines
 * without a part, for links, have a larger gap, and no doubles but where C is
 * large. Products of 16-bit entries come to the same optimum. */
static void test_completion(void)
{
    static double y[MANY], weight[MANY], beta[MANY];
    const struct klr_kernel narrow = {.type = KLR_RBF, .gamma = 5};
    struct setting setting = setting_of(KLR_REGULARIZER_KERNEL, 1);
    struct klr_problem data = tiles_make(MANY);
    struct klr_features x = problem_features(&data);
    struct klr_range all = {0, MANY};
    struct klr_operator op;
    struct klr_error err;
    struct clock clock = {0};
    struct binary_problem problem = {.op = &op,
                                     .set = set_of(&all, 1),
                                     .n = MANY,
                                     .y = y,
                                     .weight = weight,
                                     .params = &setting.params,
                                     .clock = &clock};
    const bool hard[] = {false, true, true, true, false};
    const double cost[] = {1e-2, 1e4, 100, 1e5, 1e-2};
    double primal = 0;
    for (size_t i = 0; i < MANY; i++) {
        y[i] = data.label[i];
        weight[i] = 1;
    }
    if (operator_create(&op, &narrow, &x, NULL, NULL, 0, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t k = 0; k < 5; k++) {
        struct fisher f;
        struct solution solution = {.beta = beta}, *out = &solution;
        bool floats = k == 2;
        problem.part = k == 2 || k == 3;
        if (k == 4 && operator_prefer_fixed16(&op, 0, &err))
            printf("Bail out! %s\n", err.message);
        setting.params.cost.value[0] = cost[k];
        clock_start(&clock, 1);
        if (fisher_create(&f, &problem, 1, &err) || fisher_path(&f, &out, &err))
            printf("Bail out! %s\n", err.message);
        ok(f.full == hard[k] && f.hard == hard[k],
           "C = %g: the preconditioner is of %s rank", cost[k],
           hard[k] ? "full" : "low");
        double gap = (solution.primal - solution.dual) / solution.primal;
        ok(solution.status == KLR_CONVERGED && gap < (floats ? 1e-8 : 1e-12) &&
               (gap > 1e-12) == floats &&
               solution.precision == (floats ? KLR_FLOAT : KLR_DOUBLE),
           "its gap is %.1e, by %s", gap,
           solution.precision == KLR_FLOAT ? "floats" : "doubles");
        primal = k == 0 ? solution.primal : primal;
        double off = fabs(solution.primal - primal) / primal;
        if (k == 4)
            ok(f.rounded == KLR_FIXED16 && off < 1e-12,
               "16-bit entries: the same optimum within %.1e", off);
        klr_arena_free(&f.arena);
    }
    operator_free(&op);
}

static void test_sigmoid(const struct sample *s)
{
    struct klr_kernel sigmoid = {
        .type = KLR_SIGMOID, .gamma = 0.5, .coef0 = -0.5};
    struct dense d = dense_create(&s->problem, &sigmoid);
    for (double c = 0.1; c < 200; c *= 10)
        check_at(&d, &s->problem, &sigmoid, KLR_REGULARIZER_COEF, c,
                 "an indefinite kernel");
    dense_free(&d);
}

/* Rows of a precomputed matrix (4, 4). */
static int train_matrix(const double *k, int regularizer, char *message)
{
    double label[] = {1, -1, 1, -1}, entries[20];
    size_t start[] = {0, 5, 10, 15, 20};
    int columns[20];
    for (int i = 0; i < 20; i++) {
        columns[i] = i % 5;
        entries[i] = i % 5 ? k[4 * (i / 5) + i % 5 - 1] : i / 5 + 1;
    }
    struct klr_problem problem = {.n = 4,
                                  .dimension = 4,
                                  .label = label,
                                  .start = start,
                                  .index = columns,
                                  .value = entries};
    struct klr_params params = fisher_params(regularizer, 10);
    struct klr_model *model;
    struct klr_report report;
    struct klr_error err = {0};
    params.kernel = KLR_PRECOMPUTED;
    int code = klr_train(&problem, &params, &model, &report, &err);
    snprintf(message, 256, "%s", err.message);
    klr_model_free(model);
    return code;
}

static void test_matrices(void)
{
    static const double indefinite[] = {1, 9, 2, 0, 9, 1, 0, 2,
                                        2, 0, 1, 9, 0, 2, 9, 1};
    static const double same[] = {1, 1, 1, 1, 1, 1, 1, 1,
                                  1, 1, 1, 1, 1, 1, 1, 1};
    char message[256];
    int code = train_matrix(indefinite, KLR_REGULARIZER_KERNEL, message);
    ok(code == KLR_E_DATA && strstr(message, "coef"),
       "an indefinite matrix: %s", message);
    code = train_matrix(indefinite, KLR_REGULARIZER_COEF, message);
    ok(code == 0, "the other regularizer takes it");
    for (int r = KLR_REGULARIZER_KERNEL; r <= KLR_REGULARIZER_COEF; r++) {
        code = train_matrix(same, r, message);
        ok(code == 0, "equal examples: no discriminant, and no failure");
    }
}

/* Classes of the same point: no rounding parts them, nor makes the kernel
 * indefinite. */
static void test_same(int positive, int negative, double at, double c)
{
    double label[9], value[9];
    int index[9];
    size_t start[10] = {0};
    for (int i = 0; i < positive + negative; i++) {
        label[i] = i < positive ? 1 : -1;
        value[i] = at;
        index[i] = 1;
        start[i + 1] = (size_t)i + 1;
    }
    struct klr_problem problem = {.n = (size_t)(positive + negative),
                                  .dimension = 1,
                                  .label = label,
                                  .start = start,
                                  .index = index,
                                  .value = value};
    for (int r = KLR_REGULARIZER_KERNEL; r <= KLR_REGULARIZER_COEF; r++) {
        struct klr_params params = fisher_params(r, c);
        struct klr_model *model;
        struct klr_report report;
        struct klr_error err = {0};
        params.kernel = KLR_LINEAR;
        params.link = KLR_LINK_NONE;
        int code = klr_train(&problem, &params, &model, &report, &err);
        double f = positive - negative;
        ok(code == 0 && report.notes == 1 &&
               report.note->kind == KLR_NOTE_MEANS && report.n_sv == 0 &&
               fabs(model->rho[0] + f / (positive + negative)) < 1e-15,
           "%d and %d times %g, %s, c = %g: the mean of y", positive, negative,
           at, klr_regularizer_names[r], c);
        klr_model_free(model);
    }
}

/* Far from the origin, products are all digits that a double has. */
static void test_far(const struct sample *s)
{
    static double value[MOST * FEATURES];
    struct klr_problem far = s->problem;
    struct klr_params params = fisher_params(KLR_REGULARIZER_KERNEL, 1);
    struct klr_model *model;
    struct klr_report report;
    struct klr_error err = {0};
    far.value = value;
    params.kernel = KLR_LINEAR;
    for (size_t i = 0; i < far.n * FEATURES; i++)
        value[i] = s->value[i] + 1e8;
    int code = klr_train(&far, &params, &model, &report, &err);
    ok(code == 0 && report.note->kind == KLR_NOTE_DIGITS,
       "features near 1e8: noted %zu times", report.notes);
    klr_model_free(model);
}

int main(void)
{
    static struct sample sample;
    sample_make(&sample, MOST);
    test_cholesky();
    test_data("heart_scale");
    test_weights(&sample);
    test_copies(&sample);
    test_machines(&sample);
    test_stops(&sample);
    test_factoring();
    test_threads(&sample);
    test_extremes(&sample);
    test_products(&sample);
    test_anchors(&sample);
    test_exactness(&sample);
    test_floats_astray(&sample);
    test_parts_gap(&sample);
    test_completion();
    test_sigmoid(&sample);
    test_matrices();
    test_same(1, 3, 1, 0.1);
    test_same(2, 7, 0.1, 1);
    test_same(3, 6, 0.1, 0.1);
    test_far(&sample);
    return done_testing();
}
