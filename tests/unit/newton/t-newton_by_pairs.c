/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairs in place of steps of all examples, where lambda is large.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/solve_inside.h"
#include "tests/stop.h"
#include "tests/tap.h"

static struct sample s;

static struct klr_params sparse_params(double cost, double lambda)
{
    struct klr_params params = sample_params(0.7, cost);
    params.model = KLR_MODEL_SKLR;
    params.lambda = klr_reals_of(lambda);
    params.keep_bounded = 1;
    params.regularizer = KLR_REGULARIZER_KERNEL;
    params.solver = KLR_SOLVER_NEWTON;
    params.eps = 1e-6;
    return params;
}

static struct solution solved_by(solve_fn *solver, struct klr_params params,
                                 double *beta)
{
    if (solver == smo_solve) {
        params.solver = KLR_SOLVER_SMO;
        params.eps = 1e-3;
        params.gap = 1e-9;
    }
    return solve_inside(solver, &s, &params, 1 << 20, beta);
}

static double sum_of(const double *v)
{
    double sum = 0;
    for (size_t i = 0; i < s.problem.n; i++)
        sum += v[i];
    return sum;
}

/* The solution is SMO's, whatever lambda, as far as floats of K tell. Steps of
 * Newton's method alone do not get there in a hundred where it is large. */
static void test_solutions(void)
{
    static const double lambda[] = {1, 30, 3e3, 1e6};
    double own[MOST], other[MOST];
    for (size_t k = 0; k < sizeof lambda / sizeof *lambda; k++)
        for (int no_bias = 0; no_bias < 2; no_bias++) {
            struct klr_params params = sparse_params(1e6, lambda[k]);
            params.no_bias = no_bias;
            struct solution newton = solved_by(newton_solve, params, own);
            struct solution smo = solved_by(smo_solve, params, other);
            double gap = (newton.primal - newton.dual) / newton.primal;
            ok(newton.status == KLR_CONVERGED && gap <= 1e-6,
               "lambda %g, bias %d: converged, gap %g", lambda[k], !no_bias,
               gap);
            ok(fabs(newton.primal - smo.primal) <= 3e-6 * smo.primal,
               "P %.10g, %.10g by smo", newton.primal, smo.primal);
            ok(no_bias || fabs(sum_of(own)) <= 1e-9 * 1e6, "sum %g",
               sum_of(own));
        }
}

/* ---- from a point ---- */

struct improvement {
    double start, end; /* P - D over P */
    double off;        /* of u, relative */
    double sum;        /* of beta */
    bool inside;       /* the box */
    struct smo_point point;
    double beta[MOST], u[MOST], cost[MOST];
};

/* Excesses over P, rho the best. */
static double gap_of(const struct binary_problem *problem,
                     const struct improvement *m)
{
    struct losses all = problem_losses(problem, &m->point.loss, m->cost);
    double rho = best_rho(&all, m->u, 0);
    return losses_gap(&all, m->u, rho, m->beta, 0).excess /
           primal_value(&all, m->beta, m->u, rho);
}

/* From alpha of the same sum in both classes. */
static void improve(const struct klr_params *params, double gap,
                    struct improvement *m)
{
    struct klr_operator op = {0};
    struct clock clock;
    struct klr_error err = {0};
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    struct klr_features x = problem_features(&s.problem);
    struct klr_range all;
    double weight[MOST], exact[MOST], c = params->cost.value[0];
    struct binary_problem binary =
        sample_binary(&s, params, &op, &all, weight, &clock);
    if (operator_create(&op, &kernel, &x, NULL, NULL, 0, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t i = 0; i < binary.n; i++) {
        m->cost[i] = c;
        m->beta[i] = s.label[i] > 0 ? 0.2 * c : -0.1 * c;
    }
    sample_product(&s, &kernel, m->beta, m->u);
    m->point = (struct smo_point){.loss = loss_of(params, c),
                                  .cost = m->cost,
                                  .beta = m->beta,
                                  .u = m->u,
                                  .gap = gap,
                                  .most = PAIRS_EACH * MOST,
                                  .cache = 0x1p20};
    m->start = gap_of(&binary, m);
    if (smo_improve(&binary, &m->point, &err))
        printf("Bail out! %s\n", err.message);
    m->end = gap_of(&binary, m);
    sample_product(&s, &kernel, m->beta, exact);
    m->off = 0;
    m->inside = true;
    for (size_t i = 0; i < binary.n; i++) {
        double alpha = s.label[i] * m->beta[i];
        m->off = larger_of(m->off, fabs(m->u[i] - exact[i]) / c);
        m->inside = m->inside && alpha > 0 && alpha < c;
    }
    m->sum = sum_of(m->beta);
    operator_free(&op);
}

static void test_improvement(void)
{
    static struct improvement m;
    struct klr_params params = sparse_params(1e4, 100);
    for (double gap = 1e-1; gap > 1e-9; gap *= 1e-3) {
        improve(&params, gap, &m);
        ok(m.start > 0.1 && m.end <= gap, "from a gap of %g to %g, %g is asked",
           m.start, m.end, gap);
        ok(m.inside && fabs(m.sum) <= 1e-9 * 1e4, "a point of the dual: sum %g",
           m.sum);
        ok(m.off <= 1e-12, "its product is off by %g", m.off);
        ok(m.point.reached && m.point.steps > 0, "%lld steps", m.point.steps);
    }
    improve(&params, 1e-300, &m);
    ok(!m.point.reached && m.end == m.start, "a gap that is out of reach");
    params.progress = stop_at_once;
    improve(&params, 1e-8, &m);
    ok(!m.point.reached && m.end == m.start, "one that is stopped");
}

/* ---- when ---- */

static void test_when(void)
{
    struct newton nt = {.n = PAIRS_FEW, .columns = 1};
    const int step = PAIRS_AFTER + 1, late = PAIRS_AFTER_OF_MANY + 1;
    nt.loss = (struct loss){
        .model = KLR_MODEL_SKLR, .shift = pairs_shift, .box = 1e-6};
    ok(pairs_are_due(&nt, step), "a large lambda");
    ok(!pairs_are_due(&nt, step - 1), "not at first");
    nt.plan.paired = true;
    ok(!pairs_are_due(&nt, step + 1), "nor twice");
    nt.plan.paired = false;
    nt.is_start = true;
    ok(!pairs_are_due(&nt, step), "nor for a start");
    nt.is_start = false;
    nt.n++;
    nt.progress.violation = 2 * pairs_gap;
    ok(!pairs_are_due(&nt, late - 1), "of many examples later");
    ok(pairs_are_due(&nt, late) && pairs_are_due(&nt, late + 5), "not never");
    nt.progress.violation = 0.5 * pairs_gap;
    ok(!pairs_are_due(&nt, late), "and with a small gap not at all");
    nt.n--;
    nt.loss.shift *= 0.99;
    ok(!pairs_are_due(&nt, step), "nor with a small lambda");
}

/* A dual point whose sum is not 0 to the last digits, which the first of the
 * examples, at the ends of their boxes, have no room for. */
static void test_begin(void)
{
    double g[] = {1e-5, -1e-5, 600, -1000, 400 + 3e-6}, x[5], cost[5];
    struct newton nt = {.n = 5, .bias = true, .g = g, .x = x, .cost = cost};
    for (size_t i = 0; i < 5; i++)
        cost[i] = 1000;
    pairs_begin(&nt);
    double sum = x[0] + x[1] + x[2] + x[3] + x[4];
    ok(fabs(sum) <= 1e-12, "where SMO begins alpha have the sum %g", sum);
    ok(x[0] == g[0] && x[1] == g[1] && x[3] == g[3], "ends of boxes stay");
    nt.bias = false;
    pairs_begin(&nt);
    ok(memcmp(x, g, sizeof g) == 0, "without a bias all of them do");
}

int main(void)
{
    sample_make(&s, 180);
    test_solutions();
    test_begin();
    test_improvement();
    test_when();
    return done_testing();
}
