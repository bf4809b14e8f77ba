/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exact kernel logistic regression, plain or sparse, by a truncated Newton
 * method, the modern form of Maalouf, Trafalis & Adrianto (2011):
 *
 *   minimise  P(beta, rho) = 1/2 beta'K beta + sum_i loss_i(y_i (u_i - rho)),
 *             u = K beta,  the losses of loss.c
 *
 * At (beta, rho), rho optimal, or 0 in a model without bias, let g_i = y_i
 * alpha_i with the alpha_i where the loss meets its conjugate, W_i = alpha_i (1
 * - alpha_i / C_i) its curvature, 0 where the box cuts it off, and S =
 * diag(sqrt W). Since rho is optimal, sum g_i = 0: |g| is a feasible point of
 * the dual, Keerthi et al. (2005), (2.8), Consolo (22), and gives a rigorous
 * duality gap at the price of one product, q = K (beta - g). The Newton point
 * is g + S v, with v of newton_step.c. K is linear along the line to the Newton
 * point, so the line search needs no product.
 *
 * The first steps are those of a quarter of the examples: see
 * newton_from_subset.c. Where that has no use, C is reached along a path, warm
 * started: from zero at a large C the steps would shrink to nothing. Shift and
 * box grow with C. Products are summed in double over float entries, or of
 * 16-bit entries; u and q, and with them the gap, are formed from finer entries
 * as soon as coarse ones could spoil a tenth of the gap to reach.
 *
 * The answer is the dual point g where its own gap is small enough: 0 < |g_i| <
 * C_i and sum g = 0 hold exactly; else beta. At a large C and for K of fast
 * decay K g has lost all digits when P(beta) and D(g) have met.
 */
#include "solver/newton/newton_parts.h"

enum {
    NEWTON_STEPS = 100,  /* at one C */
    NEWTON_PATIENCE = 5, /* steps after which to try harder */
    NEWTON_LONG = 5,     /* steps of conjugate gradients: ask for more rank */
    NEWTON_FACTOR = 10,  /* from C to C of the path */
    NEWTON_LOST = 2,     /* C in a row that are lost: the next is the last */
};

/* ---- one column ---- */

static double logistic_primal(const struct newton *nt, const double *beta,
                              const double *u, const double *rho)
{
    struct losses all = problem_losses(nt->problem, &nt->loss, nt->cost);
    return primal_value(&all, beta, u, rho[0]);
}

static void logistic_rho(const struct newton *nt, const double *u, double *rho)
{
    struct losses all = problem_losses(nt->problem, &nt->loss, nt->cost);
    rho[0] = best_rho(&all, u, rho[0]);
}

/* g, the roots of the weights, e and the part of the dual objective without K.
 */
static void logistic_gradient(struct newton *nt)
{
    struct losses all = problem_losses(nt->problem, &nt->loss, nt->cost);
    nt->conjugate =
        losses_gradient(&all, nt->u, nt->rho[0], nt->g, nt->s).conjugates;
    for (size_t i = 0; i < nt->n; i++) {
        nt->s[i] = sqrt(nt->s[i]);
        nt->e[i] = nt->beta[i] - nt->g[i];
    }
}

/* On the wrong side of the margin W_i says little of a long step: it is next to
 * 0 where alpha_i is next to C_i. The parabola that touches the loss there and
 * at the mirror image of the margin is nowhere below it, since log cosh z is
 * concave in z^2 (Jaakkola & Jordan 2000); with z = lambda - y_i f_i > 0 its
 * curvature is
 *   (alpha(z) - alpha(-z)) / (2 z) = (2 alpha_i - C_i) / (2 z) */
static void logistic_majorise(struct newton *nt)
{
    for (size_t i = 0; i < nt->n; i++) {
        double y = nt->problem->y[i];
        double z = nt->loss.shift - y * (nt->u[i] - nt->rho[0]);
        if (z > 0)
            nt->s[i] = fmax(nt->s[i],
                            sqrt((2 * y * nt->g[i] - nt->cost[i]) / (2 * z)));
    }
}

/* Which dual point the answer has. DUAL_NONE if the clock ended the evaluation:
 * then there is a bound alone. */
static enum dual_point logistic_point_kind(const struct newton *nt, bool dual)
{
    if (!dual && !nt->dual_is_evaluated && clock_stopped(nt->problem->clock))
        return DUAL_NONE;
    return dual || !nt->dual_is_evaluated ? DUAL_BETA : DUAL_GRADIENT;
}

static int logistic_finish(const struct newton *nt, size_t t,
                           enum klr_status status,
                           struct solution *const *solution,
                           struct klr_error *err)
{
    bool dual = newton_answer_is_dual(nt);
    struct point point = {
        .c = nt->problem->params->cost.value[t],
        .status = status,
        .iterations = nt->progress.iterations,
        .fall = nt->fall / nt->primal,
        .beta = dual ? nt->g : nt->beta,
        .rho = dual ? nt->rho_g[0] : nt->rho[0],
        .u = dual           ? nt->kg
             : nt->unproven ? NULL
                            : nt->u,
        .g = nt->g,
        .kg = nt->kg,
        .precision = operator_precision(nt->problem->op, nt->coarsest_reliable),
        .dual = logistic_point_kind(nt, dual),
        .least = nt->dual,
        .target = nt->eps,
    };
    return point_finish(nt->problem, &point, &solution[0][t], err);
}

static const struct newton_functions logistic_functions = {
    logistic_primal, logistic_rho, logistic_gradient, logistic_majorise,
    logistic_finish};

/* ---- steps ---- */

static void newton_copy(const struct newton *nt, double *to, const double *from)
{
    memcpy(to, from, nt->columns * sizeof *to);
}

/* P at beta + t (g + S v - beta), x and kx, with the best rho there, rho_x. */
static double newton_along(struct newton *nt, double t)
{
    const struct direction *d = &nt->direction;
    for (size_t i = 0; i < nt->size; i++) {
        nt->x[i] = nt->beta[i] + t * (d->v[i] - nt->e[i]);
        nt->kx[i] = nt->u[i] + t * (d->kv[i] - nt->q[i]);
    }
    newton_copy(nt, nt->rho_x, nt->rho);
    return newton_value(nt, nt->x, nt->kx, nt->rho_x);
}

/* To t on that line. At t = 1 examples that the box cuts off are at its ends,
 * to the last bit. */
static void newton_move(struct newton *nt, double t)
{
    const struct direction *d = &nt->direction;
    bool ends = t == 1 && nt->loss.box > 0;
    for (size_t i = 0; i < nt->size; i++) {
        nt->beta[i] =
            ends ? nt->g[i] + d->v[i] : nt->beta[i] + t * (d->v[i] - nt->e[i]);
        nt->u[i] += t * (d->kv[i] - nt->q[i]);
    }
}

/* On the line from beta to the Newton point, of t = 1, 1/2, 1/4 ... the first
 * with a smaller P than before and not a larger one than the next; false if
 * there is none. Where P falls by a third of what its slope promises, the
 * parabola through both is least at 3 t / 4 or beyond, and the next is no
 * better. A point found by coarser products than P is formed of must not be so
 * far off that only a little of the way to it pays. */
static bool newton_line_search(struct newton *nt)
{
    const struct direction *d = &nt->direction;
    const double least = d->precision < nt->coarsest_reliable ? 0.1 : 1e-8;
    const double start = nt->primal, slope = direction_slope(d);
    double best = 0;
    for (double t = 1; t > least; t /= 2) {
        double primal = newton_along(nt, t);
        if (primal < nt->primal) {
            best = t;
            nt->primal = primal;
            newton_copy(nt, nt->rho, nt->rho_x);
            if (primal - start <= t * slope / 3)
                break;
        } else if (best > 0) {
            break;
        }
    }
    nt->fall = start - nt->primal;
    nt->plan.length = best;
    if (best == 0)
        return false;
    newton_move(nt, best);
    return true;
}

/* No P is below 0 but by rounding, or where a box gives the losses tails that
 * fall for ever. */
static bool newton_is_possible(const struct newton *nt)
{
    return nt->primal >= 0 || nt->loss.box > 0;
}

/* The point of the smallest P: beta = 0, or what products in double have told.
 * At a large C a step may raise P, since the product carried along the line had
 * lost its digits; those after it mostly make up for that. */
static void newton_keep(struct newton *nt)
{
    if (nt->coarsest_reliable != KLR_DOUBLE || !newton_is_possible(nt) ||
        !(nt->primal < nt->best.primal))
        return;
    struct newton_point *best = &nt->best;
    memcpy(best->beta, nt->beta, nt->size * sizeof *best->beta);
    memcpy(best->u, nt->u, nt->size * sizeof *best->u);
    newton_copy(nt, best->rho, nt->rho);
    best->primal = nt->primal;
}

static void newton_keep_zero(struct newton *nt)
{
    struct newton_point *best = &nt->best;
    memset(best->beta, 0, nt->size * sizeof *best->beta);
    memset(best->u, 0, nt->size * sizeof *best->u);
    newton_copy(nt, best->rho, nt->rho);
    best->primal = newton_value(nt, best->beta, best->u, best->rho);
}

static void newton_return(struct newton *nt)
{
    memcpy(nt->beta, nt->best.beta, nt->size * sizeof *nt->beta);
    memcpy(nt->u, nt->best.u, nt->size * sizeof *nt->u);
    newton_copy(nt, nt->rho, nt->best.rho);
    nt->primal = nt->best.primal;
    newton_look(nt, false);
}

/* If the target was not reached, the answer is the point of the smallest P. */
static enum klr_status newton_end(struct newton *nt, enum klr_status status)
{
    bool least = newton_is_possible(nt) && nt->primal <= nt->best.primal;
    if (status != KLR_CONVERGED && !least)
        newton_return(nt);
    return status;
}

/* The plan at new costs. On the way along a path rougher steps will do. */
static struct newton_plan plan_start(const struct newton_plan *last,
                                     bool on_the_way)
{
    return (struct newton_plan){.before = INFINITY,
                                .length = 1,
                                .accuracy = on_the_way ? 0.3 : 0.1,
                                .from_subset = last->from_subset};
}

/* The accuracy of conjugate gradients. It rises every few steps, and if the
 * gap, below 0.1, falls slowly. If the gap falls fast, no more is asked for
 * than makes this step the last one, as the gap falls by its square; a small
 * gap asks for just that. After the start from a subset it is higher: the
 * residual is mostly that of the other examples, and soon gone. */
static double plan_accuracy(struct newton_plan *plan, double gap, double target,
                            bool late)
{
    const double small = 1e-4;
    bool slow = gap > 0.1 * plan->before;
    double last = sqrt(0.1 * target / fabs(gap));
    if (late || (slow && plan->before < 0.1))
        plan->accuracy = fmax(0.1 * plan->accuracy, 1e-8);
    double accuracy = plan->accuracy;
    if (!slow)
        accuracy = fabs(gap) < small ? last : fmax(accuracy, last);
    return plan->from_subset ? 0.3 * accuracy : accuracy;
}

/* Conjugate gradients may end, whatever their accuracy, where half of this is
 * left of the gap, a part of the target: see direction_left. It is 0 far from
 * the optimum, where the next gap has other sources, and once steps have needed
 * more accuracy than at first. */
static double plan_enough(const struct newton_plan *plan, double gap,
                          double target, double primal)
{
    const double part = 0.4, near = 1e-3;
    bool last = fabs(gap) < near && plan->accuracy >= 0.1;
    return last ? 2 * part * target * fabs(primal) : 0;
}

/* True if the weights are to be those of newton_functions.majorise: if the gap
 * is 1 or more, as after D = 0, and was halved, or if a step with plain weights
 * had to be cut short. */
static bool plan_majorises(const struct newton_plan *plan, double gap)
{
    return gap >= 1 && (gap <= 0.5 * plan->before ||
                        (!plan->majorised && plan->length < 1));
}

/* Plan the next step. The preconditioner gets more rank if the last step took
 * many conjugate gradients, and every few steps while the gap falls slowly. */
static void newton_plan(struct newton *nt, int step)
{
    struct newton_plan *plan = &nt->plan;
    struct direction *d = &nt->direction;
    double gap = nt->progress.violation;
    bool late = step % NEWTON_PATIENCE == 0, slow = gap > 0.1 * plan->before;
    if (d->steps > NEWTON_LONG || (late && slow))
        direction_raise(d);
    d->accuracy = plan_accuracy(plan, gap, nt->progress.target, late);
    d->enough = plan_enough(plan, gap, nt->progress.target, nt->primal);
    plan->majorised = nt->functions->majorise && plan_majorises(plan, gap);
    plan->from_subset = false;
    plan->before = gap;
    if (plan->majorised)
        nt->functions->majorise(nt);
}

/* Take Newton steps at the present costs from an evaluated point, until the
 * relative gap reaches the target; where pairs do better they have a turn. If
 * no step lowers P, or K seems indefinite, coarse products have misled: finer
 * ones follow. */
static enum klr_status newton_descend(struct newton *nt)
{
    struct direction *d = &nt->direction;
    nt->plan = plan_start(&nt->plan, nt->progress.target > nt->eps);
    nt->progress.violation = INFINITY;
    nt->coarsest_reliable = KLR_FIXED16;
    nt->fall = NAN;
    newton_keep_zero(nt);
    if (newton_foresee(nt))
        return KLR_CONVERGED;
    for (int step = 1;; step++) {
        if (!newton_look(nt, step == 1))
            return newton_end(nt, nt->problem->clock->status);
        newton_keep(nt);
        if (newton_settled(nt))
            return KLR_CONVERGED;
        if (step > NEWTON_STEPS)
            return newton_end(nt, KLR_ITERATION_LIMIT);
        if (pairs_are_due(nt, step)) {
            newton_by_pairs(nt);
            continue;
        }
        newton_plan(nt, step);
        enum klr_status status =
            direction_solve(d, nt->s, nt->e, nt->q, nt->dual_is_evaluated);
        if (status != KLR_CONVERGED)
            return newton_end(nt, status);
        if (!d->indefinite && newton_line_search(nt))
            continue;
        if (d->precision == KLR_DOUBLE && nt->plan.accuracy <= 1e-6)
            return newton_end(nt, KLR_PRECISION_LIMIT);
        nt->plan.accuracy = fmin(nt->plan.accuracy, 1e-2) * 1e-2;
        d->precision += d->precision != KLR_DOUBLE;
        d->indefinite = false;
    }
}

/* ---- the path ---- */

/* The first C of the path to C: at most C, so small that K hardly bends the
 * solution, C_0 max w_i (mean K_ii - mean K_ij) <= 1. (C, K) and (C/s, s K) are
 * one problem. The means are taken over a few rows. */
static double newton_first_cost(const struct newton *nt, double cost,
                                double *row)
{
    enum { ROWS = 16 };
    const struct binary_problem *b = nt->problem;
    double most = 0, diagonal = 0, off = 0;
    size_t rows = nt->n < ROWS ? nt->n : ROWS;
    for (size_t i = 0; i < nt->n; i++) {
        diagonal += nt->direction.diagonal[i] / (double)nt->n;
        most = fmax(most, b->weight[i]);
    }
    for (size_t i = 0; i < rows; i++) {
        if (!operator_row(b->op, b->set, i * nt->n / rows, row))
            return cost;
        for (size_t k = 0; k < nt->n; k++)
            off += row[k] / (double)(nt->n * rows);
    }
    while (cost * most * (diagonal - off) > 1 && cost > 1e-300)
        cost /= NEWTON_FACTOR;
    return cost;
}

/* With a large shift, decision values are of its size. */
static void newton_set(struct newton *nt, double cost, const struct place *from,
                       const struct place *to)
{
    double share = (cost - from->cost) / (to->cost - from->cost);
    double old = nt->loss.shift;
    nt->loss = to->loss;
    nt->loss.shift =
        from->loss.shift + share * (to->loss.shift - from->loss.shift);
    nt->loss.box = from->loss.box + share * (to->loss.box - from->loss.box);
    nt->loss.unit = to->loss.unit > 0 ? cost : 0;
    double scale = (1 + nt->loss.shift) / (1 + old);
    nt->bound = (double)NAN;
    for (size_t i = 0; i < nt->n; i++)
        nt->cost[i] = cost * nt->problem->weight[i];
    for (size_t i = 0; i < nt->size; i++) {
        nt->beta[i] *= scale;
        nt->u[i] *= scale;
    }
}

static enum klr_status newton_clock(struct newton *nt)
{
    return clock_check(nt->problem->clock, nt->problem->params, &nt->progress,
                       newton_gap, nt);
}

/* At the present costs. */
static enum klr_status newton_minimise(struct newton *nt)
{
    span_start(nt);
    enum klr_status status = newton_descend(nt);
    span_keep(nt);
    return status;
}

/* The clock ended the path: the answer is what was reached, as a point of the
 * problem at its end, or beta = 0 if that is better. */
static enum klr_status newton_stop(struct newton *nt, enum klr_status status)
{
    newton_unseen(nt);
    if (nt->unproven) {
        nt->primal = (double)NAN;
        return status;
    }
    newton_evaluate(nt);
    newton_keep_zero(nt);
    return newton_end(nt, status);
}

/* True if K has lost its digits at one C of a path: steps have ended with
 * nearly all of the gap left, and P, which was `before` at the last C, is no
 * smaller for its C. A larger C asks for more digits. */
static bool newton_is_lost(struct newton *nt, enum klr_status status,
                           double before)
{
    return status != KLR_CONVERGED && !(newton_gap(nt) < 0.99) &&
           !(nt->primal < 0.999 * NEWTON_FACTOR * before);
}

static enum klr_status newton_approach(struct newton *nt, double cost,
                                       const struct place *from,
                                       const struct place *to)
{
    enum klr_status status = newton_clock(nt);
    int lost = 0;
    nt->progress.target = fmax(nt->eps, 0.1);
    for (; cost < 0.99 * to->cost && status == KLR_CONVERGED &&
           lost < NEWTON_LOST;
         cost *= NEWTON_FACTOR) {
        double before = nt->primal;
        newton_set(nt, cost, from, to);
        lost = newton_is_lost(nt, newton_minimise(nt), before) ? lost + 1 : 0;
        status =
            nt->direction.indefinite ? KLR_PRECISION_LIMIT : newton_clock(nt);
    }
    newton_set(nt, to->cost, from, to);
    nt->progress.target = nt->eps;
    if (status == KLR_CONVERGED)
        return newton_minimise(nt);
    if (clock_stopped(nt->problem->clock))
        return newton_stop(nt, status);
    newton_evaluate(nt);
    nt->beta_is_dual = false;
    newton_look(nt, true);
    return status;
}

/* One column alone has a start from a subset. */
static int newton_begin(struct newton *nt, const struct place *to, double *cost,
                        struct klr_error *err)
{
    bool served = false;
    int code = nt->columns > 1 ? 0 : subset_start(nt, to, &served, err);
    *cost = served ? to->cost : newton_first_cost(nt, to->cost, nt->x);
    return code;
}

static int newton_path(struct newton *nt, struct solution *const *solution,
                       struct klr_error *err)
{
    const struct klr_params *params = nt->problem->params;
    struct place from = {0}, to = {0};
    double cost = 0;
    for (size_t t = 0; t < params->cost.count; t++, from = to) {
        clock_path(nt->problem->clock, t, params->cost.count);
        to.cost = params->cost.value[t];
        to.loss = loss_of(params, to.cost);
        int code = t == 0 ? newton_begin(nt, &to, &cost, err) : 0;
        if (code)
            return code;
        enum klr_status status = newton_approach(nt, cost, &from, &to);
        code = nt->functions->finish(nt, t, status, solution, err);
        if (code)
            return code;
        solution[0][t].flops = direction_flops(&nt->direction);
        cost = to.cost * NEWTON_FACTOR;
    }
    return 0;
}

/* ---- start and end ---- */

/* Each subset is half as large as the one before it. The preconditioner of a
 * subset is freed before that of all examples is built. */
static double newton_bytes(size_t n)
{
    double vectors = (double)n * NEWTON_VECTORS * sizeof(double);
    return 2 * (vectors + subset_bytes(n)) + direction_bytes(n, 1);
}

static int newton_create(struct newton *nt,
                         const struct binary_problem *problem, size_t columns,
                         struct klr_error *err)
{
    size_t n = problem->n, size = n * columns;
    const struct klr_params *params = problem->params;
    memset(nt, 0, sizeof *nt);
    nt->problem = problem;
    nt->n = n;
    nt->columns = columns;
    nt->size = size;
    nt->bias = !params->no_bias;
    nt->eps = params->eps;
    nt->bound = (double)NAN;
    nt->functions = &logistic_functions;
    nt->direction.progress = &nt->progress;
    nt->direction.gap = newton_gap;
    nt->direction.solver = nt;
    double **const vector[] = {
        &nt->cost, &nt->beta, &nt->u, &nt->g,  &nt->kg,        &nt->s,
        &nt->e,    &nt->q,    &nt->x, &nt->kx, &nt->best.beta, &nt->best.u};
    double **const rho[] = {&nt->rho, &nt->rho_g, &nt->rho_x, &nt->best.rho};
    int code = klr_take_vectors(&nt->arena, size, vector,
                                sizeof vector / sizeof *vector, err);
    for (size_t a = 0; a < NEWTON_KNOWN && !code; a++) {
        double **const known[] = {&nt->known[a].beta, &nt->known[a].u};
        code = klr_take_vectors(&nt->arena, size, known, 2, err);
    }
    if (!code)
        code = klr_take_vectors(&nt->arena, columns, rho, 4, err);
    if (!code)
        code = direction_create(&nt->direction, problem, columns, nt->cost,
                                &nt->arena, err);
    nt->precision = nt->direction.precision;
    return code ? code : foresight_create(nt, err);
}

static void newton_free(struct newton *nt)
{
    klr_arena_free(&nt->arena);
}

static int newton_run(struct newton *nt, struct solution *const *solution,
                      struct klr_error *err)
{
    int code = newton_path(nt, solution, err);
    if (code)
        return code;
    if (nt->direction.indefinite || newton_gap(nt) < -1e-4)
        return operator_refuse(
            nt->problem->op,
            nt->columns > 1 ? "--multiclass ovo -a smo" : "-a smo", err);
    return 0;
}

static int newton_solve(const struct binary_problem *problem,
                        struct solution *solution, struct klr_error *err)
{
    struct newton nt;
    const struct klr_reals *cost = &problem->params->cost;
    int code = newton_create(&nt, problem, 1, err);
    for (size_t t = 0; !code && t < cost->count; t++) {
        struct loss loss = loss_of(problem->params, cost->value[t]);
        code = problem_check_box(problem, &loss, cost->value[t], err);
    }
    if (!code)
        code = newton_run(&nt, &solution, err);
    newton_free(&nt);
    return code;
}
