/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The start of the Newton method from a subset: which examples it has, and what
 * becomes of its solution.
 */
#define SOLVER_FLOOR 5
#include "solver.c"

#include "tests/larger.h"
#include "tests/tap.h"

static uint64_t state = 20240607;

static double uniform(void)
{
    return (double)(random_next(&state) >> 11) / 9007199254740992.0;
}

/* ALL positions, of which a problem lacks some: HOLE of the first class. */
enum { ALL = 5400, HOLE = 400, N = ALL - HOLE, FEW = 1500, FIRST = 2600 };

static const struct klr_range ranges[] = {{0, 700}, {700 + HOLE, ALL}};

struct fixture {
    struct klr_params params;
    struct klr_operator op;
    struct clock clock;
    struct binary_problem problem;
    double value[2 * ALL], y[N], weight[N], beta[N];
    size_t start[ALL + 1];
    int index[2 * ALL];
};

/* Two classes that overlap; labels which mean nothing; blocks of a class
 * that are far from all others; classes apart, but for one example in RARE that
 * lies among those of the other class. */
enum kind { OVERLAP, NOISE, APART, EASY };
enum { RARE = 179 };

static void fixture_make(struct fixture *f, enum kind kind, double gamma,
                         double c, size_t budget)
{
    struct klr_error err;
    const struct klr_kernel kernel = {.type = KLR_RBF, .gamma = gamma};
    state = 20240607;
    for (size_t p = 0; p < ALL; p++) {
        double shift = kind == OVERLAP && p < FIRST ? 0.4 : 0;
        if (kind == APART)
            shift = 9 * (double)(p / KLR_TILE) + (p < FIRST ? 4 : 0);
        if (kind == EASY)
            shift = (p < FIRST) != (p % RARE == 0) ? 1.5 : 0;
        f->start[p] = 2 * p;
        for (size_t d = 0; d < 2; d++) {
            f->index[2 * p + d] = (int)d + 1;
            f->value[2 * p + d] = uniform() + shift;
        }
    }
    f->start[ALL] = (size_t)2 * ALL;
    for (size_t i = 0; i < N; i++) {
        f->y[i] = i < FIRST - HOLE ? 1 : -1;
        f->weight[i] = 0.5 + uniform();
    }
    struct klr_features x = {ALL, 2, f->start, f->index, f->value, NULL};
    klr_params_init(&f->params);
    f->params.cost.value[0] = c;
    f->params.regularizer = KLR_REGULARIZER_KERNEL;
    f->params.eps = 1e-6;
    clock_start(&f->clock, 1);
    if (operator_create(&f->op, &kernel, &x, NULL, NULL, budget, &err))
        printf("Bail out! %s\n", err.message);
    f->problem = (struct binary_problem){.op = &f->op,
                                         .set = set_of(ranges, 2),
                                         .n = N,
                                         .y = f->y,
                                         .weight = f->weight,
                                         .params = &f->params,
                                         .clock = &f->clock};
}

static struct solution fixture_solve(struct fixture *f)
{
    struct klr_error err;
    struct solution solution = {.beta = f->beta};
    if (newton_solve(&f->problem, &solution, &err))
        printf("Bail out! %s\n", err.message);
    return solution;
}

/* ---- the examples ---- */

/* True if each block of each class is taken whole, or not at all. */
static bool blocks_are_whole(const struct binary_problem *all,
                             const bool *taken)
{
    bool whole = true;
    for (size_t i = 1; i < all->n; i++) {
        size_t p = set_position(all->set, i);
        size_t before = set_position(all->set, i - 1);
        if (p / KLR_TILE == before / KLR_TILE && all->y[i] == all->y[i - 1])
            whole = whole && taken[i] == taken[i - 1];
    }
    return whole;
}

static void test_choice(const struct fixture *f)
{
    static bool taken[N];
    struct subset s;
    struct klr_error err;
    const struct binary_problem *all = &f->problem, *p = &s.problem;
    double total[2] = {0, 0}, weight[2] = {0, 0};
    bool same = true;
    if (subset_create(&s, all, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t k = 0; k < p->n; k++) {
        size_t i = s.row[k];
        same = same && !taken[i] && (k == 0 || i > s.row[k - 1]) &&
               p->y[k] == all->y[i] &&
               set_position(p->set, k) == set_position(all->set, i);
        taken[i] = true;
        weight[p->y[k] > 0] += p->weight[k];
    }
    for (size_t i = 0; i < all->n; i++)
        total[all->y[i] > 0] += all->weight[i];
    ok(same && p->n == p->set.size, "examples of the subset are those of all");
    ok(p->n > N / 5 && p->n < N / 3, "about a quarter of them: %zu", p->n);
    ok(blocks_are_whole(all, taken), "in whole blocks");
    ok(fabs(weight[0] / total[0] - 1) < 1e-12 &&
           fabs(weight[1] / total[1] - 1) < 1e-12,
       "each class has the weight of all");
    ok(subset_serves(&s, all->n), "it serves");
    subset_free(&s);
}

static void test_few(const struct fixture *f)
{
    struct subset s;
    struct klr_error err;
    struct klr_range first = {0, FEW}, last = {ALL - FEW, ALL};
    struct binary_problem few = f->problem, one = f->problem;
    few.set = set_of(&first, 1);
    few.n = FEW / 2;
    one.set = set_of(&last, 1);
    one.n = FEW;
    one.y = f->y + N - FEW;
    if (subset_create(&s, &few, &err))
        printf("Bail out! %s\n", err.message);
    ok(!subset_serves(&s, few.n), "few examples have no subset that serves");
    subset_free(&s);
    if (subset_create(&s, &one, &err))
        printf("Bail out! %s\n", err.message);
    ok(!subset_serves(&s, one.n), "nor has one class");
    subset_free(&s);
}

/* ---- the start ---- */

struct start {
    bool served;
    double primal, zero; /* P there, and of beta = 0 */
    double error;        /* of u */
    long long spent;     /* products that led there */
    long long products;  /* of the first look at the gap there */
    double accuracy;     /* of the first step */
};

static void start_look(struct newton *nt, struct start *start)
{
    long long before = nt->progress.iterations;
    nt->progress.target = nt->eps;
    nt->progress.violation = nt->plan.before = INFINITY;
    nt->plan.accuracy = 0.1;
    newton_look(nt, true);
    start->products = nt->progress.iterations - before;
    newton_plan(nt, 1);
    start->accuracy = nt->direction.accuracy;
}

static struct start start_of(struct fixture *f)
{
    struct newton nt;
    struct klr_error err;
    struct start start = {0};
    double c = f->params.cost.value[0];
    const struct place from = {0}, to = {c, loss_of(&f->params, c)};
    if (newton_create(&nt, &f->problem, 1, &err))
        printf("Bail out! %s\n", err.message);
    if (subset_start(&nt, &to, &start.served, &err))
        printf("Bail out! %s\n", err.message);
    start.spent = nt.progress.iterations;
    operator_apply(&f->op, f->problem.set, f->problem.set, nt.beta, 1,
                   KLR_DOUBLE, nt.kx);
    for (size_t i = 0; i < N; i++)
        start.error = larger_of(start.error, fabs(nt.kx[i] - nt.u[i]));
    nt.loss = to.loss;
    newton_set(&nt, c, &from, &to);
    newton_evaluate(&nt);
    start.primal = nt.primal;
    start_look(&nt, &start);
    memset(nt.beta, 0, N * sizeof *nt.beta);
    memset(nt.u, 0, N * sizeof *nt.u);
    newton_evaluate(&nt);
    start.zero = nt.primal;
    newton_free(&nt);
    return start;
}

static void test_start(struct fixture *f)
{
    struct start start = start_of(f);
    double best = fixture_solve(f).primal;
    ok(start.served && start.primal >= best &&
           start.primal - best < 0.05 * (start.zero - best),
       "the start has P = %g, from %g to %g", start.primal, start.zero, best);
    ok(start.error < 1e-4, "u = K beta, but for %g", start.error);
    ok(start.products == 0 && fabs(start.accuracy - 0.03) < 1e-15,
       "it needs no look at the gap, but a better step: %lld products, %g",
       start.products, start.accuracy);
}

static void test_doubtful(struct fixture *f)
{
    struct start start = start_of(f);
    ok(start.served && start.products == 1 &&
           fabs(start.accuracy - 0.1) < 1e-15,
       "a worse one does: P = %g of %g, %lld products, %g", start.primal,
       start.zero, start.products, start.accuracy);
}

static void test_misled(struct fixture *f)
{
    struct start start = start_of(f);
    ok(!start.served && fabs(start.primal - start.zero) < 1e-9 * start.zero &&
           start.error == 0,
       "where examples tell nothing of each other, the start is 0: %g, %g",
       start.primal, start.zero);
    ok(start.products == 1, "with a look at the gap");
    ok(fixture_solve(f).status == KLR_CONVERGED,
       "and the method does its work");
}

/* At a large C the few examples on the wrong side hold nearly all of alpha.
 * Those that are not drawn join the subset: then it speaks for all, and most
 * products are of few rows. */
static void test_easy(struct fixture *f)
{
    struct start start = start_of(f);
    double passes = f->op.passes;
    struct solution solution = fixture_solve(f);
    passes = f->op.passes - passes;
    ok(start.served && start.products == 0 &&
           start.primal < 1.02 * solution.primal,
       "examples of large alpha join the subset: P = %g of %g", start.primal,
       solution.primal);
    ok(solution.status == KLR_CONVERGED && passes < 10,
       "classes that are well apart but for few examples take %g passes",
       passes);
}

static void test_tiles(struct fixture *f, struct fixture *kept)
{
    fixture_solve(f);
    fixture_solve(kept);
    ok(memcmp(f->beta, kept->beta, sizeof f->beta) == 0,
       "the same bits with tiles kept");
}

/* Stopped at the start, where D = 0 is all that is known, and in the steps
 * after it, the answer has its gap: P and D enclose the optimum, of `best`. */
static void test_stopped(struct fixture *f, double best)
{
    double highest = 0;
    int stops = 0, enclosed = 0;
    long long spent = start_of(f).spent;
    for (int more = 0; more < 3; more++) {
        f->params.max_iter = spent + more;
        struct solution solution = fixture_solve(f);
        stops += solution.status == KLR_ITERATION_LIMIT;
        enclosed += solution.dual >= 0 && solution.dual <= best &&
                    solution.primal >= best - 1e-6 * best;
        highest = larger_of(highest, solution.dual);
    }
    ok(stops >= 2 && enclosed == 3 && highest > 0.9 * best,
       "stopped at the start and after it: D up to %g of %g", highest, best);
}

static void test_limit(struct fixture *f)
{
    f->params.max_iter = 3;
    struct solution solution = fixture_solve(f);
    ok(solution.status == KLR_ITERATION_LIMIT && solution.iterations <= 6,
       "products of the subset count: %lld", solution.iterations);
}

int main(void)
{
    static struct fixture plain, kept, doubtful, noise, apart, easy, easy_kept;
    fixture_make(&plain, OVERLAP, 5, 1, 0);
    fixture_make(&kept, OVERLAP, 5, 1, (size_t)1 << 30);
    fixture_make(&doubtful, OVERLAP, 300, 10, (size_t)1 << 30);
    fixture_make(&noise, NOISE, 300, 10000, (size_t)1 << 30);
    fixture_make(&apart, APART, 5, 100, (size_t)1 << 30);
    fixture_make(&easy, EASY, 5, 1000, 0);
    fixture_make(&easy_kept, EASY, 5, 1000, (size_t)1 << 30);
    test_choice(&plain);
    test_few(&plain);
    test_start(&plain);
    test_tiles(&plain, &kept);
    test_doubtful(&doubtful);
    test_misled(&noise);
    test_misled(&apart);
    test_easy(&easy);
    test_tiles(&easy, &easy_kept);
    test_stopped(&kept, fixture_solve(&plain).primal);
    test_limit(&kept);
    operator_free(&plain.op);
    operator_free(&kept.op);
    operator_free(&doubtful.op);
    operator_free(&noise.op);
    operator_free(&apart.op);
    operator_free(&easy.op);
    operator_free(&easy_kept.op);
    return done_testing();
}
