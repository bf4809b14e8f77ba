/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Newton method and its preconditioner, against evaluations written out
 * from the definitions.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/sample.h"
#include "tests/stop.h"
#include "tests/tap.h"

/* ---- the preconditioner ---- */

/* z = the inverse of M on s'z = 0 means: s'z = 0, and M z - in is a multiple of
 * s. With full rank M is I + S K S. */
static void test_preconditioner(const struct sample *s)
{
    enum { N = MOST };
    static double root[N], in[N], z[N], beta[N];
    struct klr_kernel kernel = {.type = KLR_RBF, .gamma = 0.5};
    struct klr_features x = problem_features(&s->problem);
    struct klr_operator op;
    struct klr_error err;
    struct klr_range all = {0, N};
    struct precond m;
    struct klr_arena arena = {0};
    operator_create(&op, &kernel, &x, NULL, NULL, 0, &err);
    struct binary_problem problem = {
        .op = &op, .set = set_of(&all, 1), .n = N, .whole = true};
    if (precond_create(&m, problem_matrix(&problem), precond_most(N), false,
                       &arena, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t i = 0; i < N; i++) {
        root[i] = i % 7 == 0 ? 0 : 10 * uniform();
        in[i] = uniform() - 0.5;
    }
    precond_build(&m, root);
    size_t low = m.rank;
    while (m.limit < m.most)
        precond_raise(&m);
    precond_build(&m, root);
    ok(low < m.rank && m.rank <= N, "raised from rank %zu to %zu", low, m.rank);
    precond_solve(&m, in, z);
    double along = 0, norm = 0, worst = 0, multiple = 0;
    for (size_t i = 0; i < N; i++) {
        along += root[i] * z[i];
        norm += root[i] * root[i];
    }
    for (size_t i = 0; i < N; i++) {
        double sum = z[i];
        for (size_t j = 0; j < N; j++)
            sum += root[i] * root[j] * z[j] *
                   kernel_of(&kernel, s->value + i * FEATURES,
                             s->value + j * FEATURES);
        beta[i] = sum - in[i];
        multiple += root[i] * beta[i] / norm;
    }
    for (size_t i = 0; i < N; i++)
        worst = larger_of(worst, fabs(beta[i] - multiple * root[i]));
    ok(fabs(along) < 1e-9, "the constraint holds: %g", along);
    ok(worst < 0.02, "M z = in up to what the rank leaves: %g", worst);
    klr_arena_free(&arena);
    operator_free(&op);
}

/* ---- whole solutions ---- */

static struct klr_params newton_params(double cost)
{
    struct klr_params params = sample_params(0.5, cost);
    params.solver = KLR_SOLVER_NEWTON;
    return params;
}

static void test_solution(const struct sample *s, double cost, int most)
{
    struct klr_params params = newton_params(cost);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    double beta[MOST];
    struct solution solution = solve(s, &params, beta);
    struct truth truth = evaluate(s, beta, solution.rho, &params, &kernel);
    double gap = (truth.primal - truth.dual) / truth.primal;
    ok(solution.status == KLR_CONVERGED && gap > -1e-9 && gap <= 1.1e-6,
       "C = %g: gap %.2g after %lld products", cost, gap, solution.iterations);
    ok(solution.iterations <= most, "C = %g: %d do", cost, most);
    ok(fabs(truth.sum) < 1e-9 * cost * MOST, "C = %g: the sum is %.2g", cost,
       truth.sum);
    ok(fabs(truth.primal - solution.primal) < 2e-6 * truth.primal &&
           fabs(truth.dual - solution.dual) < 2e-6 * truth.primal,
       "C = %g: objectives as reported", cost);
    params.solver = KLR_SOLVER_SMO;
    double primal = solve(s, &params, beta).primal;
    ok(fabs(primal - truth.primal) < 3e-6 * primal,
       "C = %g: the same optimum as SMO's", cost);
}

/* P - D where beta is feasible in the dual, infinite where it is not. A new
 * product is that of a beta whose sum is 0. */
static void test_own_point(struct newton *nt)
{
    const double *y = nt->problem->y;
    double sum[2] = {0, 0}, dual = 0, worst = 0, left = 0;
    for (size_t i = 0; i < MOST; i++) {
        nt->beta[i] = y[i] * (0.1 + uniform());
        sum[y[i] > 0] += fabs(nt->beta[i]);
    }
    newton_product(nt, nt->beta, nt->precision, nt->u);
    newton_evaluate(nt);
    nt->functions->gradient(nt);
    ok(isinf(newton_excess(nt)), "the sum of beta is not 0");
    memcpy(nt->x, nt->beta, sizeof(double) * MOST);
    newton_refresh(nt);
    for (size_t i = 0; i < MOST; i++)
        left += nt->beta[i];
    ok(fabs(left) < 1e-12 * MOST, "now it is %g", left);
    memcpy(nt->beta, nt->x, sizeof(double) * MOST);
    for (size_t i = 0; i < MOST; i++)
        nt->beta[i] *= sum[0] / sum[y[i] > 0];
    newton_refresh(nt);
    nt->functions->gradient(nt);
    for (size_t i = 0; i < MOST; i++) {
        double d = fabs(nt->beta[i]) / nt->cost[i];
        worst = larger_of(worst, d);
        dual -= 0.5 * nt->beta[i] * nt->u[i] +
                nt->cost[i] * (d * log(d) + (1 - d) * log(1 - d));
    }
    double excess = newton_excess(nt);
    ok(worst < 1 && fabs(nt->primal - dual - excess) < 1e-9 * nt->primal,
       "P - D is %g, found from beta alone %g", nt->primal - dual, excess);
    for (size_t i = 0; i < MOST; i++)
        nt->beta[i] /= 0.99 * worst;
    newton_refresh(nt);
    nt->functions->gradient(nt);
    ok(isinf(newton_excess(nt)), "one alpha is beyond its C");
}

/* With a box, written out, which cuts about half of g off. Beyond an
 * end, but for rounding, beta is no point of the dual. */
static void test_own_point_in_box(struct newton *nt)
{
    const double *y = nt->problem->y;
    struct loss before = nt->loss;
    double expected = 0;
    size_t cut = 0;
    nt->loss = (struct loss){.model = KLR_MODEL_SKLR, .shift = 0.7, .box = 2};
    nt->bias = false;
    nt->rho[0] = 0;
    for (size_t i = 0; i < MOST; i++) {
        double alpha = i % 3 ? 2.1 + 5.8 * uniform() : 2, c = nt->cost[i];
        nt->u[i] = 10 * (uniform() - 0.5);
        nt->beta[i] = y[i] * alpha;
        double margin = y[i] * nt->u[i], d = alpha / c;
        double best = c / (1 + exp(margin - 0.7));
        double end = best < 2 ? 2 : best > c - 2 ? c - 2 : best, at = end / c;
        cut += end != best;
        expected += c * (d * log(d) + (1 - d) * log(1 - d)) -
                    c * (at * log(at) + (1 - at) * log(1 - at)) +
                    (alpha - end) * (margin - 0.7);
    }
    nt->functions->gradient(nt);
    double excess = newton_excess(nt);
    ok(cut > MOST / 4 && fabs(excess - expected) < 1e-9 * expected,
       "P - D is %g, %g with %zu at the ends of a box", expected, excess, cut);
    nt->beta[0] = y[0] * 2 * (1 - 1e-15);
    ok(isfinite(newton_excess(nt)), "rounding does not count");
    nt->beta[0] = y[0] * 2 * (1 - 1e-11);
    ok(isinf(newton_excess(nt)), "one alpha is below its box");
    nt->beta[0] = y[0] * 8 * (1 + 1e-11);
    ok(isinf(newton_excess(nt)), "it is above");
    nt->loss = before;
    nt->bias = true;
}

/* A whole step ends where the box does, to the last bit, from wherever it
 * began. */
static void test_ends(struct newton *nt)
{
    struct direction *d = &nt->direction;
    struct loss before = nt->loss;
    size_t off = 0;
    nt->loss.box = 1e-5;
    for (size_t i = 0; i < MOST; i++) {
        nt->beta[i] = nt->problem->y[i] * 10 * uniform();
        nt->g[i] = nt->problem->y[i] * 1e-5;
        nt->e[i] = nt->beta[i] - nt->g[i];
        d->v[i] = d->kv[i] = nt->q[i] = 0;
    }
    newton_move(nt, 1);
    for (size_t i = 0; i < MOST; i++)
        off += nt->beta[i] != nt->g[i];
    ok(off == 0, "%zu examples are off the end of the box", off);
    nt->loss = before;
}

/* The weights of long steps are those of parabolas that touch the losses and
 * are nowhere below them, for examples on the wrong side of the margin. */
static void test_majorise(struct newton *nt)
{
    const double *y = nt->problem->y, rho = nt->rho[0] = 0.3;
    double lowest = INFINITY, changed = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < MOST; i++)
        nt->u[i] = 20 * (uniform() - 0.5);
    logistic_gradient(nt);
    memcpy(nt->x, nt->s, sizeof(double) * MOST);
    logistic_majorise(nt);
    for (size_t i = 0; i < MOST; i++) {
        double margin = y[i] * (nt->u[i] - rho), w = nt->s[i] * nt->s[i];
        double value = loss_value(&nt->loss, margin, nt->cost[i]);
        if (margin >= 0)
            changed = larger_of(changed, fabs(nt->s[i] - nt->x[i]));
        for (double d = -30; d <= 30 && margin < 0; d += 0.5)
            lowest = fmin(lowest,
                          value - y[i] * nt->g[i] * d + 0.5 * w * d * d -
                              loss_value(&nt->loss, margin + d, nt->cost[i]));
        wrong += margin < 0;
    }
    ok(wrong > MOST / 4 && lowest > -1e-9, "%zu parabolas are above by %g",
       wrong, lowest);
    ok(changed == 0, "other weights stay");
}

/* Plan the step at such a gap, after one from a gap before. Returns true if
 * weights are those of long steps. */
static bool plan(struct newton *nt, double gap, double before)
{
    nt->progress.target = 1e-6;
    nt->progress.violation = gap;
    nt->plan.before = before;
    nt->plan.accuracy = 0.1;
    logistic_gradient(nt);
    memcpy(nt->x, nt->s, sizeof(double) * MOST);
    newton_plan(nt, 1);
    return memcmp(nt->x, nt->s, sizeof(double) * MOST) != 0;
}

static void test_plan(struct newton *nt)
{
    const double *accuracy = &nt->direction.accuracy;
    bool far = plan(nt, 2, 10), slow = plan(nt, 2, 3), near = plan(nt, 0.5, 10);
    bool unknown = plan(nt, 1, INFINITY); /* D = 0 */
    ok(far && unknown && !slow && !near,
       "weights of long steps far from the optimum, while these gain");
    nt->plan.majorised = true;
    nt->plan.length = 1;
    bool plain = plan(nt, 2, 3), whole = plan(nt, 2, 3);
    nt->plan.length = 0.5;
    bool cut = plan(nt, 2, 3), gained = !plan(nt, 2, 3);
    ok(!plain && !whole && cut && gained,
       "and again after a step without them that was cut short");
    nt->plan.from_subset = true;
    plan(nt, 1, INFINITY);
    ok(fabs(*accuracy - 0.03) < 1e-15 && nt->plan.accuracy == 0.1 &&
           !nt->plan.from_subset,
       "one step from what a subset tells is more accurate: %g", *accuracy);
    plan(nt, 3e-6, 1);
    ok(*accuracy > nt->plan.accuracy && *accuracy * *accuracy * 3e-6 < 1e-6,
       "what may be the last step is left at %.2g", *accuracy);
    double enough = nt->direction.enough / 2;
    ok(enough > 0.1e-6 * nt->primal && enough < 0.5e-6 * nt->primal,
       "or at a residual that adds %.2g to the gap", enough / nt->primal);
    plan(nt, 1e-3, 1);
    ok(*accuracy == nt->plan.accuracy && nt->plan.accuracy == 0.1 &&
           nt->direction.enough == 0,
       "another is not");
    plan(nt, 3e-6, 1e-5);
    ok(*accuracy == nt->plan.accuracy && nt->plan.accuracy < 0.1 &&
           nt->direction.enough == 0,
       "after one that gained little, more is asked for");
}

/* Conjugate gradients end at their accuracy, or where the residual is small
 * enough for the gap; but not before the first. */
static void test_arrived(void)
{
    double r[] = {0.01, 0.01}, s[] = {1, 1}, none = INFINITY, two = 2;
    struct direction d = {.partial = true, .enough = 1e-3, .columns = 1};
    d.n = 2;
    d.r = r;
    d.s = s;
    d.total = &none;
    bool first = direction_arrived(&d, 1e-4, 1e-6);
    d.steps = 1;
    bool enough = direction_arrived(&d, 1e-4, 1e-6);
    r[0] = r[1] = 0.1;
    bool more = direction_arrived(&d, 1e-4, 1e-6);
    d.total = &two;
    bool along = direction_arrived(&d, 1e-2, 1e-6);
    d.enough = 0;
    bool asked = direction_arrived(&d, 1e-4, 1e-3);
    bool less = direction_arrived(&d, 1e-4, 1e-6);
    ok(!first && enough && !more && along && asked && !less,
       "an end by the gap, after one step, or by accuracy");
}

/* Near the optimum the residual tells the gap that a step will leave. */
static void test_left(struct newton *nt)
{
    struct direction *d = &nt->direction;
    double left = 0;
    d->accuracy = 0.1;
    d->enough = 0;
    for (size_t i = 0; i < MOST; i++)
        nt->beta[i] = nt->problem->y[i];
    for (int step = 0; step < 6; step++) {
        newton_refresh(nt);
        nt->functions->gradient(nt);
        newton_product(nt, nt->e, KLR_DOUBLE, nt->q);
        direction_solve(d, nt->s, nt->e, nt->q, true);
        left = direction_left(d, NAN) / 2;
        newton_line_search(nt);
    }
    newton_refresh(nt);
    nt->functions->gradient(nt);
    double gap = newton_excess(nt);
    ok(fabs(gap / left - 1) < 0.1, "a gap of %g was foretold, it is %g", left,
       gap);
}

/* A step back restores the point with its product, and P there, as far as
 * digits go. */
static void test_return(struct newton *nt)
{
    double beta = 0, u = 0;
    newton_refresh(nt);
    nt->best.primal = INFINITY;
    nt->coarsest_reliable = KLR_DOUBLE;
    newton_keep(nt);
    double primal = nt->primal, rho = nt->rho[0];
    for (size_t i = 0; i < MOST; i++) {
        nt->x[i] = nt->beta[i];
        nt->kx[i] = nt->u[i];
        nt->beta[i] = uniform();
        nt->u[i] = uniform();
    }
    newton_evaluate(nt);
    bool moved = fabs(nt->primal - primal) > 0.1 * primal;
    newton_return(nt);
    for (size_t i = 0; i < MOST; i++) {
        beta = larger_of(beta, fabs(nt->beta[i] - nt->x[i]));
        u = larger_of(u, fabs(nt->u[i] - nt->kx[i]));
    }
    ok(moved && beta <= 1e-12 && u <= 1e-4,
       "back but for %.1g in beta, %.1g in u", beta, u);
    ok(fabs(nt->primal - primal) <= 1e-6 * primal &&
           fabs(nt->rho[0] - rho) <= 1e-4,
       "P = %g, rho = %g", nt->primal, nt->rho[0]);
}

/* The step from beta to beta - a e. */
static void set_step(struct newton *nt, double a)
{
    struct direction *d = &nt->direction;
    newton_refresh(nt);
    logistic_gradient(nt);
    newton_product(nt, nt->e, KLR_DOUBLE, nt->q);
    d->e = nt->e;
    d->q = nt->q;
    for (size_t i = 0; i < MOST; i++) {
        d->v[i] = (1 - a) * nt->e[i];
        d->kv[i] = (1 - a) * nt->q[i];
    }
}

/* A point far beyond g: a little of the way to it pays, which is trusted unless
 * products for steps are coarser than those of P. */
static void test_line(struct newton *nt)
{
    struct direction *d = &nt->direction;
    const enum klr_precision precision = d->precision;
    set_step(nt, 1e4);
    double primal = nt->primal, first = nt->beta[0];
    nt->coarsest_reliable = KLR_DOUBLE;
    d->precision = KLR_FLOAT;
    ok(!newton_line_search(nt) && nt->beta[0] == first &&
           nt->primal == primal && nt->fall == 0,
       "little of a step found by floats is no step");
    d->precision = KLR_DOUBLE;
    ok(newton_line_search(nt) && nt->primal < primal &&
           nt->fall == primal - nt->primal,
       "of one found by doubles it is: P = %g, was %g", nt->primal, primal);
    d->precision = precision;
    nt->coarsest_reliable = precision;
}

/* The part of a step -a e that a line search goes. P falls by `share` of what
 * its slope promises of the whole of it; the point stays. */
static double line_taken(struct newton *nt, double a, double *share)
{
    set_step(nt, a);
    double before = nt->beta[0], primal = nt->primal;
    *share = (newton_along(nt, 1) - primal) / direction_slope(&nt->direction);
    newton_line_search(nt);
    double part = (before - nt->beta[0]) / (a * nt->e[0]);
    for (size_t i = 0; i < MOST; i++)
        nt->beta[i] += a * part * nt->e[i];
    return part;
}

/* Steps are gone whole, and half where P would fall by less than a third. */
static void test_part(struct newton *nt)
{
    double share, a = 1e-3, part = line_taken(nt, a, &share);
    ok(fabs(part - 1) < 1e-9 && share > 0.9, "a short step: %g of it", part);
    while (part > 0.9 && a < 1e6)
        part = line_taken(nt, a *= 1.02, &share);
    ok(fabs(part - 0.5) < 1e-9 && share > 0.2 && share < 0.34,
       "a step by which P falls by %g: %g of it", share, part);
}

/* Floats do for a gap of 1e-6 here, and for objectives to 2e-6: a model asks
 * for more, a fold and a start do not. */
static void test_blurred(struct newton *nt, struct binary_problem *problem)
{
    const double eps = nt->eps, target = nt->progress.target;
    double sum = 0;
    for (size_t i = 0; i < MOST; i++) {
        nt->g[i] = 1;
        nt->s[i] = 1e-6;
        sum += nt->direction.diagonal[i];
    }
    nt->primal = ldexp(sum, -23) / 2e-6;
    nt->progress.target = nt->eps = 1e-6;
    for (int whole = 0; whole < 2; whole++) {
        problem->whole = whole;
        ok(newton_blurred(nt, KLR_FLOAT, 1e-7) == whole &&
               !newton_blurred(nt, KLR_FLOAT, 1e-3) &&
               newton_blurred(nt, KLR_FIXED16, 1e-7) &&
               !newton_blurred(nt, KLR_DOUBLE, 1e-7),
           "objectives of %s", whole ? "a model" : "a fold");
    }
    nt->is_start = true;
    bool blurred = newton_blurred(nt, KLR_FLOAT, 1e-7);
    nt->primal /= 10;
    ok(!blurred && newton_blurred(nt, KLR_FLOAT, 1e-7), "and of a start");
    nt->is_start = false;
    nt->eps = eps;
    nt->progress.target = target;
}

/* A look after a step that was worth this part of P, from a gap. Whether it
 * took no product: P is the gap's bound then, and its value a guess. */
static bool is_guess(struct newton *nt, double part, double gap)
{
    long long before = nt->progress.iterations;
    nt->fall = part * nt->primal;
    nt->progress.violation = gap;
    newton_look(nt, false);
    double found = nt->progress.violation;
    return nt->progress.iterations == before && newton_gap(nt) == 1 &&
           fabs(found - 0.1 * part) < 1e-15;
}

/* As long as steps are worth much the gap is a guess, unless it was large, or
 * beta is a dual point. */
static void test_far(struct newton *nt)
{
    const double target = nt->progress.target, *y = nt->problem->y;
    nt->coarsest_reliable = nt->direction.precision;
    nt->progress.target = 1e-6;
    for (size_t i = 0; i < MOST; i++)
        nt->beta[i] = 0.01 * uniform();
    newton_refresh(nt);
    ok(is_guess(nt, 0.002, 9), "far from the optimum a gap is a guess");
    ok(!is_guess(nt, 0.002, 11) && nt->dual_is_evaluated &&
           nt->progress.violation == newton_gap(nt),
       "from a large one it is found: %g", newton_gap(nt));
    ok(!is_guess(nt, 0.0005, 9) && nt->dual_is_evaluated &&
           nt->progress.violation == newton_gap(nt),
       "as it is nearer to the optimum: %g", newton_gap(nt));
    nt->progress.target = 1e-9;
    ok(!is_guess(nt, 0.0005, 9), "however small the gap to reach");
    nt->progress.target = target;
    double sum[2] = {0, 0};
    for (size_t i = 0; i < MOST; i++)
        sum[y[i] > 0] += 0.01;
    for (size_t i = 0; i < MOST; i++)
        nt->beta[i] = 0.01 * y[i] * sum[y[i] < 0];
    newton_refresh(nt);
    bool guess = is_guess(nt, 0.002, 9);
    ok(!guess && !nt->dual_is_evaluated && nt->dual > 0 &&
           nt->progress.violation == newton_gap(nt),
       "of a dual point it is known: %g", newton_gap(nt));
}

/* Where both ask for double products from the first step on, a C has a larger P
 * than the one before it, which is no step that raised P. */
static void test_path(const struct sample *s)
{
    struct klr_params params = newton_params(1e6);
    struct klr_model *model[2];
    struct klr_report report[2];
    struct klr_error err;
    params.cost.count = 2;
    params.cost.value[1] = 1e7;
    if (klr_train(&s->problem, &params, model, report, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t t = 0; t < 2; t++) {
        ok(report[t].status == KLR_CONVERGED && report[t].gap <= 1e-6,
           "C = %g of a path: gap %.2g after %lld products",
           params.cost.value[t], report[t].gap, report[t].iterations);
        klr_model_free(model[t]);
    }
}

/* Stopped at its first step, a point worse than beta = 0 is not the answer. */
static void test_stopped(struct newton *nt)
{
    double most = 0;
    for (size_t i = 0; i < MOST; i++)
        nt->beta[i] = 100 * uniform();
    newton_refresh(nt);
    enum klr_status status = newton_descend(nt);
    for (size_t i = 0; i < MOST; i++)
        most = larger_of(most, fabs(nt->beta[i]));
    ok(status == KLR_ITERATION_LIMIT && most == 0, "%s, beta at most %g",
       klr_status_names[status], most);
}

struct ending {
    struct clock *clock;
    int asked;
};

/* Goes on when it is asked first, and no more. */
static int end_later(const struct klr_progress *progress, void *context)
{
    struct ending *ending = context;
    (void)progress;
    ending->clock->next_report = 0;
    return ++ending->asked == 2;
}

/* Conjugate gradients end within a product, which is then none, and there is no
 * other: of all rows, or of some, whose start takes one. */
static void test_ended(struct newton *nt, struct klr_params *params, bool some)
{
    struct direction *d = &nt->direction;
    struct ending ending = {nt->problem->clock, 0};
    struct klr_operator *op = nt->problem->op;
    *ending.clock = (struct clock){0};
    params->max_iter = 0;
    params->progress = end_later;
    params->context = &ending;
    d->accuracy = 1e-6;
    newton_refresh(nt);
    nt->functions->gradient(nt);
    newton_dual_point(nt, KLR_DOUBLE);
    for (size_t i = 0; i < MOST; i++)
        nt->s[i] = some && i % 2 ? 1e-6 : 1;
    precond_prepare(&d->precond, nt->s);
    long long before = nt->progress.iterations;
    klr_pool_create(&op->pool, 1, NULL);
    clock_watch(ending.clock, params, op->pool);
    enum klr_status status = direction_solve(d, nt->s, nt->e, nt->q, true);
    op->pool = klr_pool_free(op->pool);
    long long products = nt->progress.iterations - before;
    ok(status == KLR_INTERRUPTED && ending.asked == 2 && !d->indefinite &&
           d->partial == some && products == d->partial,
       "%s after %lld products, with %zu rows", klr_status_names[status],
       products, d->in.size);
}

/* No point of the span around the start has a smaller P, but for what the start
 * leaves undone. */
static void test_span(struct newton *nt)
{
    double least = INFINITY;
    for (size_t a = 0; a < NEWTON_KNOWN + 1; a++) {
        for (size_t i = 0; i < MOST; i++)
            nt->beta[i] = nt->problem->y[i] * uniform();
        newton_refresh(nt);
        nt->primal_g = INFINITY;
        span_keep(nt);
    }
    span_start(nt);
    double start = nt->primal;
    for (int round = 0; round < 300; round++) {
        memcpy(nt->x, nt->beta, sizeof(double) * MOST);
        memcpy(nt->kx, nt->u, sizeof(double) * MOST);
        for (size_t a = 0; a < NEWTON_KNOWN; a++) {
            double t = (round % 2 ? 0.2 : 0.02) * (uniform() - 0.5);
            for (size_t i = 0; i < MOST; i++) {
                nt->x[i] += t * nt->known[a].beta[i];
                nt->kx[i] += t * nt->known[a].u[i];
            }
        }
        least = fmin(least, newton_value(nt, nt->x, nt->kx, nt->rho_x));
    }
    ok(start <= least * (1 + 1e-3), "the start has P = %g, near it %g", start,
       least);
}

/* The solver's inside, at C = 10. */
static void test_inside(const struct sample *s)
{
    struct klr_params params = newton_params(10);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    struct klr_features x = problem_features(&s->problem);
    struct klr_operator op;
    struct klr_error err;
    struct klr_range all = {0, MOST};
    static double weight[MOST];
    struct place from = {0}, to = {10, loss_of(&params, 10)};
    struct clock clock = {0};
    struct newton nt;
    for (size_t i = 0; i < MOST; i++)
        weight[i] = 1;
    operator_create(&op, &kernel, &x, NULL, NULL, 0, &err);
    struct binary_problem problem = {.op = &op,
                                     .set = set_of(&all, 1),
                                     .n = MOST,
                                     .y = s->problem.label,
                                     .weight = weight,
                                     .clock = &clock,
                                     .params = &params};
    if (newton_create(&nt, &problem, 1, &err))
        printf("Bail out! %s\n", err.message);
    newton_set(&nt, to.cost, &from, &to);
    test_own_point(&nt);
    test_own_point_in_box(&nt);
    test_majorise(&nt);
    test_plan(&nt);
    test_return(&nt);
    test_line(&nt);
    test_part(&nt);
    test_blurred(&nt, &problem);
    test_far(&nt);
    test_span(&nt);
    test_left(&nt);
    params.max_iter = 1;
    test_stopped(&nt);
    test_ends(&nt);
    test_ended(&nt, &params, false);
    test_ended(&nt, &params, true);
    newton_free(&nt);
    operator_free(&op);
}

/* Tiles that are kept or not, and float or double, change nothing they must
 * not. */
static void test_variants(const struct sample *s)
{
    struct klr_params params = newton_params(10);
    double beta[MOST], untiled[MOST];
    solve(s, &params, beta);
    solve_untiled(s, &params, untiled);
    ok(memcmp(beta, untiled, s->problem.n * sizeof *beta) == 0,
       "the same bits with tiles kept");
}

static void test_linear(const struct sample *s)
{
    struct klr_params params = newton_params(1);
    params.kernel = KLR_LINEAR;
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    double beta[MOST];
    struct solution solution = solve(s, &params, beta);
    struct truth truth = evaluate(s, beta, solution.rho, &params, &kernel);
    ok(truth.primal - truth.dual <= 1.1e-6 * truth.primal,
       "the linear kernel: gap %.2g",
       (truth.primal - truth.dual) / truth.primal);
}

static void test_stops(const struct sample *s)
{
    struct klr_params params = newton_params(100);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    double beta[MOST];
    params.max_iter = 10;
    struct solution solution = solve(s, &params, beta);
    struct truth truth = evaluate(s, beta, solution.rho, &params, &kernel);
    ok(solution.status == KLR_ITERATION_LIMIT && solution.iterations <= 14,
       "iteration limit after %lld products", solution.iterations);
    ok(fabs(truth.primal - solution.primal) < 1e-4 * truth.primal &&
           truth.primal > truth.dual,
       "what was reached is judged by the costs asked for");
    params.max_iter = 0;
    params.progress = stop_at_once;
    ok(solve(s, &params, beta).status == KLR_INTERRUPTED, "interrupted");
}

/* A precomputed matrix is taken on trust until it proves indefinite. */
static void test_indefinite(void)
{
    double label[] = {1, -1, 1, -1};
    size_t start[] = {0, 5, 10, 15, 20};
    int columns[20];
    double entries[20];
    static const double k[4][4] = {
        {1, 9, 2, 0}, {9, 1, 0, 2}, {2, 0, 1, 9}, {0, 2, 9, 1}};
    for (int i = 0; i < 4; i++) {
        columns[5 * i] = 0;
        entries[5 * i] = i + 1;
        for (int j = 0; j < 4; j++) {
            columns[5 * i + j + 1] = j + 1;
            entries[5 * i + j + 1] = k[i][j];
        }
    }
    struct klr_problem problem = {.n = 4,
                                  .dimension = 4,
                                  .label = label,
                                  .start = start,
                                  .index = columns,
                                  .value = entries};
    struct klr_params params = newton_params(10);
    struct klr_model *model;
    struct klr_report report;
    struct klr_error err = {0};
    params.kernel = KLR_PRECOMPUTED;
    int code = klr_train(&problem, &params, &model, &report, &err);
    ok(code == KLR_E_DATA && !model, "an indefinite matrix: %s", err.message);
    params.solver = KLR_SOLVER_SMO;
    code = klr_train(&problem, &params, &model, &report, &err);
    ok(code == 0, "SMO takes it");
    klr_model_free(model);
}

int main(void)
{
    static struct sample sample;
    sample_make(&sample, MOST);
    test_preconditioner(&sample);
    test_arrived();
    test_solution(&sample, 0.01, 2);
    test_solution(&sample, 1, 8);
    test_solution(&sample, 100, 16);
    test_solution(&sample, 10000, 40);
    test_path(&sample);
    test_variants(&sample);
    test_inside(&sample);
    test_linear(&sample);
    test_stops(&sample);
    test_indefinite();
    return done_testing();
}
