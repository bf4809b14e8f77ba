/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Newton method where the preconditioner foresees the next points: what
 * these are worth, judged by products of doubles, and when it must not be
 * believed.
 */
#define SOLVER_FLOOR 5
#include "solver.c"

#include "tests/larger.h"
#include "tests/tap.h"

static uint64_t state = 20240611;

static double uniform(void)
{
    return (double)(random_next(&state) >> 11) / 9007199254740992.0;
}

enum { N = 6000, FEATURES = 10 };

struct fixture {
    struct klr_params params;
    struct klr_operator op;
    struct clock clock;
    struct binary_problem problem;
    struct klr_range all;
    struct newton nt;
    double value[FEATURES * N], y[N], weight[N], product[N];
    size_t start[N + 1];
    int index[FEATURES * N];
};

/* Two classes that overlap, at C = 1; a sparse model if there is a box. */
static void fixture_make(struct fixture *f, double gamma, double box, bool bias)
{
    struct klr_error err;
    const struct klr_kernel kernel = {.type = KLR_RBF, .gamma = gamma};
    state = 20240611;
    for (size_t i = 0; i < N; i++) {
        f->y[i] = i < N / 3 ? 1 : -1;
        f->weight[i] = 0.5 + uniform();
        f->start[i] = i * FEATURES;
        for (size_t d = 0; d < FEATURES; d++) {
            f->index[i * FEATURES + d] = (int)d + 1;
            f->value[i * FEATURES + d] = uniform() + 0.1 * (i < N / 3);
        }
    }
    f->start[N] = (size_t)FEATURES * N;
    struct klr_features x = {N, FEATURES, f->start, f->index, f->value, NULL};
    klr_params_init(&f->params);
    f->params.cost.value[0] = 1;
    f->params.regularizer = KLR_REGULARIZER_KERNEL;
    f->params.eps = 1e-6;
    f->params.no_bias = !bias;
    f->params.model = box > 0 ? KLR_MODEL_SKLR : KLR_MODEL_KLR;
    f->params.box = box;
    f->params.example_weight = f->weight;
    clock_start(&f->clock, 1);
    if (operator_create(&f->op, &kernel, &x, NULL, NULL, 0, &err))
        printf("Bail out! %s\n", err.message);
    f->all = (struct klr_range){0, N};
    f->problem = (struct binary_problem){.op = &f->op,
                                         .set = set_of(&f->all, 1),
                                         .n = N,
                                         .whole = true,
                                         .y = f->y,
                                         .weight = f->weight,
                                         .params = &f->params,
                                         .clock = &f->clock};
}

/* From beta = 0, at the only C. */
static void fixture_begin(struct fixture *f)
{
    const struct place from = {0}, to = {1, loss_of(&f->params, 1)};
    struct klr_error err;
    if (newton_create(&f->nt, &f->problem, 1, &err))
        printf("Bail out! %s\n", err.message);
    f->nt.loss = to.loss;
    newton_set(&f->nt, to.cost, &from, &to);
    newton_evaluate(&f->nt);
    f->nt.plan = plan_start(&f->nt.plan, false);
    f->nt.progress.target = f->params.eps;
    f->nt.progress.violation = INFINITY;
}

static void fixture_free(struct fixture *f)
{
    newton_free(&f->nt);
    operator_free(&f->op);
}

/* F F' z for z, elementwise. */
static void test_model(struct fixture *f)
{
    struct precond *m = &f->nt.direction.precond;
    static double w[1100], out[N];
    double worst = 0;
    for (size_t i = 0; i < N; i++)
        f->product[i] = uniform() - 0.5;
    precond_gather(m, f->product, w);
    for (size_t k = 0; k < m->rank; k++) {
        double sum = 0, size = 0;
        for (size_t i = 0; i < N; i++) {
            double term =
                f->product[i] / m->root[i] * (double)*precond_at(m, i, k);
            sum += term;
            size += fabs(term);
        }
        worst = larger_of(worst, fabs(sum - w[k]) / size);
    }
    ok(worst < 1e-12, "F'x is off by %.2g", worst);
    precond_expand(m, w, out);
    worst = 0;
    for (size_t i = 0; i < N; i++) {
        double sum = 0, size = 0;
        for (size_t k = 0; k < m->rank; k++) {
            double term = w[k] * (double)*precond_at(m, i, k) / m->root[i];
            sum += term;
            size += fabs(term);
        }
        worst = larger_of(worst, fabs(sum - out[i]) / size);
    }
    ok(worst < 1e-12, "F w is off by %.2g", worst);
}

/* (I + F'(W - w w'/ s's)F) out - in, W = S^2 of L. */
static void test_small(struct fixture *f, bool bias)
{
    struct precond *m = &f->nt.direction.precond;
    static double in[1100], out[1100], back[1100], v[N];
    double total = 0, sum = 0, worst = 0;
    for (size_t k = 0; k < m->rank; k++)
        in[k] = uniform() - 0.5;
    precond_solve_small(m, bias, in, out);
    precond_expand(m, out, v);
    for (size_t i = 0; i < N; i++) {
        double weight = m->root[i] * m->root[i];
        total += weight;
        sum += weight * v[i];
    }
    for (size_t i = 0; i < N; i++)
        v[i] = m->root[i] * m->root[i] * (v[i] - (bias ? sum / total : 0));
    precond_gather(m, v, back);
    for (size_t k = 0; k < m->rank; k++)
        worst = larger_of(worst, fabs(out[k] + back[k] - in[k]));
    ok(worst < 1e-6, "(I + F'W F)^-1 is off by %.2g", worst);
}

/* A smooth kernel: a product or two lead from beta = 0 to a gap that doubles
 * confirm, by a dual point that is one. A box cuts `cut` examples off. */
static void test_points(struct fixture *f, double box, size_t cut, bool bias)
{
    struct newton *nt = &f->nt;
    fixture_make(f, 0.1, box, bias);
    fixture_begin(f);
    ok(nt->direction.foresees, "few features, many examples: worth it");
    bool reached = newton_foresee(nt) || nt->beta_is_dual;
    long long products = nt->progress.iterations;
    struct losses all = problem_losses(&f->problem, &nt->loss, nt->cost);
    double sum = 0, outside = 0;
    size_t ends = 0;
    for (size_t i = 0; i < N; i++) {
        double alpha = f->y[i] * nt->beta[i], left = nt->cost[i] - alpha;
        double least = box - 1e-15 * nt->cost[i];
        sum += nt->beta[i];
        outside += !(alpha > 0 && left > 0 && alpha >= least && left >= least);
        ends += alpha <= 1.001 * box || left <= 1.001 * box;
    }
    ok(ends >= cut && (box > 0 || ends == 0), "%zu at an end", ends);
    operator_apply(&f->op, f->problem.set, f->problem.set, nt->beta, 1,
                   KLR_DOUBLE, f->product);
    double rho = bias ? best_rho(&all, f->product, 0) : 0;
    double primal = primal_value(&all, nt->beta, f->product, rho);
    double dual = -0.5 * dot(N, nt->beta, f->product);
    for (size_t i = 0; i < N; i++)
        dual -= conjugate_value(&nt->loss, fabs(nt->beta[i]), nt->cost[i]);
    ok(reached && products <= 4, "%lld products reach the gap", products);
    ok(outside == 0 && (!bias || fabs(sum) < 1e-6),
       "a point of the dual: %g outside, sum %.2g", outside, sum);
    ok(primal - dual > -1e-8 * primal && primal - dual <= 1.1e-6 * primal,
       "doubles find a gap of %.2g", (primal - dual) / primal);
    test_model(f);
    test_small(f, bias);
    fixture_free(f);
}

/* L knows next to nothing of a K that is near I: no product is spent on
 * that, beta stays, and it is not asked again. */
static void test_distrust(struct fixture *f)
{
    fixture_make(f, 3, 0, true);
    fixture_begin(f);
    double before = f->nt.primal;
    bool asked = f->nt.direction.foresees, reached = newton_foresee(&f->nt);
    ok(asked && !reached && f->nt.progress.iterations == 0 &&
           f->nt.primal == before,
       "%lld products", f->nt.progress.iterations);
    ok(f->nt.direction.distrusted && !f->nt.direction.foresees &&
           f->nt.direction.precond.weight_of_saved_products == 1,
       "L is what a preconditioner needs from then on");
    fixture_free(f);
}

/* A product that takes no longer than sweeps over L is not to be saved. */
static void test_cheap(struct fixture *f)
{
    fixture_make(f, 0.1, 0, true);
    f->problem.whole = false;
    fixture_begin(f);
    ok(!f->nt.direction.foresees && !newton_foresee(&f->nt) &&
           f->nt.progress.iterations == 0,
       "nothing to foresee where K is at hand");
    fixture_free(f);
}

/* The limit ends a training between two products, at a better point than
 * beta = 0. */
static void test_stopped(struct fixture *f)
{
    static double beta[N];
    struct solution solution = {.beta = beta};
    struct klr_error err;
    fixture_make(f, 0.1, 0, true);
    fixture_begin(f);
    double zero = f->nt.primal;
    newton_free(&f->nt);
    if (newton_solve(&f->problem, &solution, &err))
        printf("Bail out! %s\n", err.message);
    double least = solution.primal;
    f->params.max_iter = solution.iterations - 1;
    if (newton_solve(&f->problem, &solution, &err))
        printf("Bail out! %s\n", err.message);
    ok(solution.status == KLR_ITERATION_LIMIT && solution.primal < zero &&
           solution.primal >= least * (1 - 1e-6) && solution.dual <= least,
       "%s: P = %g between %g and %g, D = %g",
       klr_status_names[solution.status], solution.primal, least, zero,
       solution.dual);
    operator_free(&f->op);
}

int main(void)
{
    static struct fixture f;
    test_points(&f, 0, 0, true);
    test_points(&f, 0, 0, false);
    test_points(&f, 0.2, N / 10, true);
    test_points(&f, 0.2, N / 10, false);
    test_distrust(&f);
    test_cheap(&f);
    test_stopped(&f);
    return done_testing();
}
