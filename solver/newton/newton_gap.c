/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Newton method: objectives and gap, which point of the dual it is formed
 * of, and how fine the products are. See newton.c, which has the notation.
 */
#include "solver/newton/newton_parts.h"

enum { NEWTON_MORE = 3 }; /* steps for g after the gap is reached */

/* ---- objectives ---- */

static double newton_value(const struct newton *nt, const double *beta,
                           const double *u, double *rho)
{
    if (nt->bias)
        nt->functions->best_rho(nt, u, rho);
    return nt->functions->primal(nt, beta, u, rho);
}

static void newton_evaluate(struct newton *nt)
{
    nt->primal = newton_value(nt, nt->beta, nt->u, nt->rho);
}

static bool newton_product(struct newton *nt, const double *x,
                           enum klr_precision precision, double *out)
{
    const struct binary_problem *b = nt->problem;
    nt->progress.iterations++;
    return operator_apply(b->op, b->set, b->set, x, nt->columns, precision,
                          out);
}

/* Compute u = K beta anew, and P. With a bias the columns of beta are to have
 * sum 0. Many conjugate gradients lose that to rounding, later steps keep the
 * wrong sum, and P is not least there; so the sum is taken off. It stays if
 * steps for functions have found beta: their columns may have any sum. */
static bool newton_refresh(struct newton *nt)
{
    const size_t bytes = nt->size * sizeof *nt->beta;
    memcpy(nt->x, nt->beta, bytes);
    for (size_t c = 0; c < nt->columns && nt->bias; c++) {
        double sum = 0, size = 0;
        for (size_t i = c; i < nt->size; i += nt->columns) {
            sum += nt->beta[i];
            size += fabs(nt->beta[i]);
        }
        bool anything = nt->columns > 1 && !(fabs(sum) < 1e-9 * size);
        for (size_t i = c; i < nt->size && !anything; i += nt->columns)
            nt->x[i] -= sum / (double)nt->n;
    }
    if (!newton_product(nt, nt->x, nt->precision, nt->kx))
        return false;
    memcpy(nt->beta, nt->x, bytes);
    memcpy(nt->u, nt->kx, bytes);
    newton_evaluate(nt);
    return true;
}

/* ---- the gap ---- */

/* The gap of the dual point g alone. */
static bool newton_dual_is_good(const struct newton *nt)
{
    return nt->dual_is_evaluated &&
           nt->primal_g - nt->dual <= nt->eps * fabs(nt->primal_g);
}

static bool newton_answer_is_dual(const struct newton *nt)
{
    return newton_dual_is_good(nt) || nt->primal_g <= nt->primal;
}

/* The relative gap of the answer: of beta or of the dual point g, whichever has
 * the smaller P. */
static double newton_gap(void *solver)
{
    const struct newton *nt = solver;
    double primal = fmin(nt->primal, nt->primal_g);
    return (primal - nt->dual) / fabs(primal);
}

/* True if the gap is reached. Steps for functions leave a beta that is not
 * feasible in the dual, so the answer is to be g. It is a step or two behind,
 * and gets up to NEWTON_MORE steps to reach the gap, too. */
static bool newton_settled(struct newton *nt)
{
    const double target = nt->progress.target;
    if (!(fabs(newton_gap(nt)) <= target))
        return false;
    return !nt->direction.functions || target > nt->eps ||
           newton_dual_is_good(nt) || ++nt->plan.settled > NEWTON_MORE;
}

/* sum_i x_i^2 K_ii */
static double newton_scale(const struct newton *nt, const double *x)
{
    const double *diagonal = nt->direction.diagonal;
    double sum = 0;
    for (size_t i = 0; i < nt->size; i++)
        sum += x[i] * x[i] * diagonal[i / nt->columns];
    return sum;
}

/* rho, P and D of the dual point, given its product. */
static void newton_judge(struct newton *nt)
{
    nt->primal_g = newton_value(nt, nt->g, nt->kg, nt->rho_g);
    nt->dual = -0.5 * dot(nt->size, nt->g, nt->kg) - nt->conjugate;
}

static double entry_variance(enum klr_precision precision)
{
    return precision == KLR_FIXED16 ? KLR_FIXED16_ERROR * KLR_FIXED16_ERROR
                                    : ldexp(1, -46);
}

/* Float entries err by some 2^-23 sqrt(K_ii K_jj), 16-bit entries by
 * KLR_FIXED16_ERROR, independently of each other, hence (K g)_i by h_i with
 * h_i^2 = 2^-46 K_ii sum_j g_j^2 K_jj. Near the optimum the first-order terms
 * of P and of D cancel in the gap, which errs by 1/2 sum W_i h_i^2; the
 * objectives themselves err by 2^-23 sum g_i^2 K_ii. True if the gap could not
 * be told from that, or is small enough to end with objectives of a model that
 * err by more than they may, or of 16-bit entries at all. Those of a start may
 * err by more. */
static bool newton_blurred(const struct newton *nt,
                           enum klr_precision precision, double gap)
{
    const double variance = entry_variance(precision);
    const double error = nt->is_start ? 1e-5 : fmin(nt->eps, certificate_exact);
    double g = newton_scale(nt, nt->g), s = newton_scale(nt, nt->s);
    double size = fabs(nt->primal);
    gap = fmax(gap, nt->progress.target);
    return precision != KLR_DOUBLE &&
           (!(0.5 * variance * g * s <= 0.1 * gap * size) ||
            (gap <= nt->eps &&
             (precision == KLR_FIXED16 ||
              (nt->problem->whole && ldexp(g, -23) > error * size))));
}

/* True if beta has reached its gap with g, but may lose it where double entries
 * take the place of these, as in the certificate of a model: g_i moves by W_i
 * h_i then, and the gap by 1/2 sum (W_i h_i)^2 K_ii. */
static bool newton_wavers(struct newton *nt, enum klr_precision precision)
{
    double target = nt->progress.target, moved = 0;
    if (target > nt->eps || newton_answer_is_dual(nt) ||
        fabs(newton_gap(nt)) > target)
        return false;
    for (size_t i = 0; i < nt->size; i++)
        moved += pow(
            nt->s[i] * nt->s[i] * nt->direction.diagonal[i / nt->columns], 2);
    moved *= entry_variance(precision) * newton_scale(nt, nt->g);
    return !(0.5 * moved <= 0.1 * target * fabs(nt->primal));
}

/* True if a softmax has reached its gap, but entries of this precision put its
 * objective off. The certificate of one column sees to that itself. */
static bool newton_is_biased(struct newton *nt, enum klr_precision precision)
{
    bool dual = newton_answer_is_dual(nt);
    if (precision == KLR_DOUBLE || nt->columns == 1 || !nt->problem->whole ||
        !(fabs(newton_gap(nt)) <= nt->eps))
        return false;
    return !(objective_bias(nt->problem, nt->columns, dual ? nt->g : nt->beta,
                            dual ? nt->kg : nt->u,
                            nt->x) <= certificate_exact * fabs(nt->primal));
}

/* alpha_i may leave its box by this part of C_i, as beta is rounded. */
static const double newton_slack = 5e-16;

/* Loss, conjugate and alpha z of example i: C_i times the divergence of alpha_i
 * / C_i from that of g; where the box cuts g_i off, W_i = 0, more than that. */
static double newton_excess_of(const struct newton *nt, size_t i, double alpha)
{
    double cost = nt->cost[i], left = cost - alpha;
    double g = fabs(nt->g[i]); /* W_i = g_i (C_i - g_i) / C_i */
    double left_g = nt->s[i] * nt->s[i] / g * cost;
    if (left_g > 0)
        return alpha * log(alpha / g) + left * log(left / left_g);
    if (nt->loss.box == 0)
        return INFINITY;
    double margin = nt->problem->y[i] * (nt->u[i] - nt->rho[0]);
    struct loss_at at = loss_at(&nt->loss, margin, cost);
    struct dual_at dual = dual_at(&nt->loss, alpha, cost);
    return excess_at(&nt->loss, &dual, &at);
}

/* P(beta, rho) - D(|beta|), infinite where beta is no point of the dual: a sum
 * free of K and of cancellation. */
static double newton_excess(const struct newton *nt)
{
    double excess = 0, sum = 0, size = 0;
    for (size_t i = 0; i < nt->n; i++) {
        double alpha = nt->problem->y[i] * nt->beta[i];
        double cost = nt->cost[i], left = cost - alpha;
        double least = loss_least(&nt->loss, cost) - newton_slack * cost;
        if (!(alpha > 0 && left > 0) || alpha < least || left < least)
            return INFINITY;
        excess += newton_excess_of(nt, i, alpha);
        sum += nt->beta[i];
        size += alpha;
    }
    return !nt->bias || fabs(sum) <= 1e-12 * size ? excess : INFINITY;
}

/* The product of the dual point of (beta, rho), which the gradient has
 * formed, and both objectives. u is carried along in products of newton_step.c,
 * and must be of the same K as q: between two of them the terms of first order
 * would not cancel. */
static bool newton_dual_point(struct newton *nt, enum klr_precision precision)
{
    bool carried = precision != KLR_DOUBLE && nt->precision == precision;
    nt->precision = precision;
    if (!carried) {
        if (!newton_refresh(nt))
            return false;
        nt->functions->gradient(nt);
    }
    if (!newton_product(nt, nt->e, precision, nt->q))
        return false;
    for (size_t i = 0; i < nt->size; i++)
        nt->kg[i] = nt->u[i] - nt->q[i];
    newton_judge(nt);
    return true;
}

/* Compute the gap from floats where steps are of 16-bit entries. Only K g is
 * formed of floats, and with it u = K g + q, since e is small. */
static bool newton_correct(struct newton *nt)
{
    if (!newton_product(nt, nt->g, KLR_FLOAT, nt->kg))
        return false;
    for (size_t i = 0; i < nt->size; i++)
        nt->u[i] = nt->kg[i] + nt->q[i];
    newton_evaluate(nt);
    newton_judge(nt);
    return true;
}

/* Take beta for the dual point if it is feasible: D takes no product then,
 * unless u is to be of finer entries than those of steps. False if beta is
 * infeasible or has gained little on the last step, which may be the fault of
 * floats: g tells more then. With `must` an infeasible beta gives D = 0. */
static bool newton_own_point(struct newton *nt, bool must)
{
    double excess = newton_excess(nt);
    double gap = excess / fabs(nt->primal), last = nt->progress.violation;
    if (!must && !(gap <= fmax(nt->progress.target, 0.1 * last)))
        return false;
    while (newton_blurred(nt, nt->coarsest_reliable, fmin(gap, 1)))
        nt->coarsest_reliable++;
    if (nt->coarsest_reliable == KLR_DOUBLE ||
        nt->coarsest_reliable > nt->direction.precision) {
        nt->precision = nt->coarsest_reliable;
        if (!newton_refresh(nt))
            return false;
        nt->functions->gradient(nt);
        excess = newton_excess(nt);
    }
    if (!must && isinf(excess))
        return false;
    nt->dual_is_evaluated = false;
    nt->primal_g = INFINITY;
    nt->dual = fmax(nt->primal - excess, least_dual(&nt->loss));
    memset(nt->q, 0, nt->size * sizeof *nt->q);
    return true;
}

/* Evaluate the dual point g, by finer entries where coarse ones will not do: at
 * the last steps, or at a large C. */
static bool newton_look_further(struct newton *nt)
{
    enum klr_precision steps = nt->direction.precision,
                       *p = &nt->coarsest_reliable;
    nt->dual_is_evaluated = true;
    while (newton_blurred(nt, *p, nt->progress.violation))
        ++*p;
    if (*p == KLR_FLOAT && steps == KLR_FIXED16 &&
        !newton_product(nt, nt->e, KLR_FIXED16, nt->q))
        return false;
    for (;; ++*p) {
        bool corrects = *p == KLR_FLOAT && steps == KLR_FIXED16;
        if (!(corrects ? newton_correct(nt) : newton_dual_point(nt, *p)))
            return false;
        double gap = newton_gap(nt);
        if (*p == KLR_DOUBLE ||
            !(gap < -nt->progress.target || newton_blurred(nt, *p, gap) ||
              newton_wavers(nt, *p) || newton_is_biased(nt, *p)))
            return true;
    }
}

/* True if the last step lowered P by so much that the gap cannot be small yet,
 * so that g is not worth its product. A large gap is always computed: long
 * steps are taken only as long as it falls. */
static bool newton_is_far(const struct newton *nt)
{
    const double large = 10, target = nt->progress.target;
    return nt->fall > fmax(1e3 * target, 1e-3) * fabs(nt->primal) &&
           nt->progress.violation <= large;
}

static bool newton_unseen(struct newton *nt)
{
    nt->dual_is_evaluated = false;
    nt->primal_g = INFINITY;
    nt->dual = nt->bound;
    return false;
}

/* Look at the gap. After a step beta is tried for the dual point first, as it
 * mostly has a larger D than g. With new costs it is tried only if it had the
 * smaller P at the costs before, or comes from a subset that spoke for all:
 * then g would tell nothing new. Far from the optimum, where beta is no dual
 * point, the gap is a guess, a tenth of what the last step gained; not with a
 * box, where D = 0 is no bound. */
static bool newton_look(struct newton *nt, bool first)
{
    enum klr_precision steps = nt->direction.precision;
    bool zero = nt->columns == 1 && nt->loss.box == 0;
    bool far = !first && newton_is_far(nt);
    nt->functions->gradient(nt);
    nt->coarsest_reliable =
        nt->coarsest_reliable > steps ? nt->coarsest_reliable : steps;
    if (nt->columns > 1 || (first && !nt->beta_is_dual) ||
        !newton_own_point(nt, zero && (first || far))) {
        if (!newton_look_further(nt))
            return newton_unseen(nt);
        nt->beta_is_dual =
            nt->beta_is_dual || (first && nt->primal < nt->primal_g);
    }
    nt->progress.violation = newton_gap(nt);
    if (zero && far && !(nt->dual > 0))
        nt->progress.violation = 0.1 * nt->fall / fabs(nt->primal);
    nt->bound = nt->dual;
    return true;
}
