/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The point of coef.c: its loss, objective, gradient and gap.
 *
 * The loss of an svm is smoothed, with t = 1 - y_i f_i, to
 *
 *   C_i width log(1 + e^(t / width))
 *
 * which is the hinge loss as the width vanishes. All of beta, u, rho, g, K g
 * and C_i is kept divided by the width, and objectives by its square: that is
 * the problem of an sklr with lambda = 1 / width. Its alpha is a point of the
 * svm's own dual. Beside the gap of the smooth problem, 1/2 |r|^2, the svm's
 * has the excess of the hinge losses,
 *
 *   sum_i C_i max(0, t_i) - alpha_i t_i = sum_i C_i |t_i| sigma(-|t_i| / width)
 *
 * at most 0.28 C_i width each.
 */
#include "solver/variants/coef.h"

static bool coef_product(struct coef *c, const double *x,
                         enum klr_precision precision, double *out)
{
    const struct binary_problem *b = c->problem;
    c->progress.iterations++;
    return operator_apply(b->op, b->set, b->set, x, 1, precision, out);
}

static double coef_gap_at(const struct coef_at *at)
{
    return (at->gap + at->excess) / fabs(at->objective);
}

static double coef_objective_at(const struct coef_at *at)
{
    return at->objective * at->width * at->width;
}

static double coef_gap(void *solver)
{
    const struct coef *c = solver;
    return coef_gap_at(&c->at);
}

static double coef_dual(const struct coef *c)
{
    return c->at.objective - c->at.gap - c->at.excess;
}

/* ---- the loss ---- */

static bool coef_has_hinge(const struct coef *c)
{
    return c->problem->params->model == KLR_MODEL_SVM;
}

static void coef_set_loss(struct coef *c)
{
    c->loss = loss_of(c->problem->params, c->value);
    if (coef_has_hinge(c))
        c->loss =
            (struct loss){.model = KLR_MODEL_SKLR, .shift = 1 / c->at.width};
    for (size_t i = 0; i < c->n; i++)
        c->cost[i] = c->value / c->at.width * c->problem->weight[i];
}

static void coef_set_width(struct coef *c, double width)
{
    double factor = c->at.width / width;
    for (size_t k = 0; k < COEF_POINT * c->n; k++)
        c->point[k] *= factor;
    c->at.rho *= factor;
    c->at.width = width;
}

/* The objective, and the excess of the hinge losses at any point of the dual;
 * while C or the width is far from the last one, those of the smooth loss. */
static void coef_measure(struct coef *c)
{
    c->at.objective = c->at.primal;
    c->at.excess = 0;
    if (!c->narrows)
        return;
    double sum = 0;
    c->at.objective = 0.5 * dot(c->n, c->beta, c->beta);
    for (size_t i = 0; i < c->n; i++) {
        double y = c->problem->y[i], alpha = y * c->g[i], cost = c->cost[i];
        sum += c->g[i];
        double t = c->loss.shift - y * (c->u[i] - c->at.rho);
        c->at.objective += cost * fmax(0, t);
        c->at.excess += t > 0 ? (cost - alpha) * t : -alpha * t;
    }
    c->at.excess += fabs(c->at.rho * sum);
}

/* ---- the point ---- */

static double coef_rho(const struct coef *c, const double *u)
{
    struct losses all = problem_losses(c->problem, &c->loss, c->cost);
    return c->bias ? best_rho(&all, u, c->at.rho) : 0;
}

/* rho and P of beta and u; g there, its change into x, and W. At a small width
 * the last bit of rho leaves a sum of g: it is taken from where W is. */
static void coef_evaluate(struct coef *c)
{
    double sum = 0;
    c->at.rho = coef_rho(c, c->u);
    memcpy(c->x, c->g, c->n * sizeof *c->x);
    struct losses all = problem_losses(c->problem, &c->loss, c->cost);
    struct loss_sums sums = losses_gradient(&all, c->u, c->at.rho, c->g, c->w);
    c->at.primal = 0.5 * dot(c->n, c->beta, c->beta) + sums.losses;
    c->total = 0;
    for (size_t i = 0; i < c->n; i++) {
        sum += c->g[i];
        c->total += c->w[i];
    }
    double share = c->bias && c->total > 0 ? sum / c->total : 0;
    share = fmax(-1, fmin(share, 1)); /* keeps alpha within its box */
    for (size_t i = 0; i < c->n; i++) {
        c->g[i] -= share * c->w[i];
        c->x[i] = c->g[i] - c->x[i];
    }
    coef_measure(c);
}

/* r and the gap, from kg. */
static void coef_judge(struct coef *c)
{
    for (size_t i = 0; i < c->n; i++)
        c->r[i] = c->beta[i] - c->kg[i];
    c->at.gap = 0.5 * dot(c->n, c->r, c->r);
    double square = c->at.width * c->at.width;
    c->bound = fmax(c->bound, coef_dual(c) * square);
    c->progress.violation = coef_gap(c);
    c->progress.objective = coef_objective_at(&c->at);
}

/* With K g carried along. */
static bool coef_look(struct coef *c)
{
    coef_evaluate(c);
    if (!coef_product(c, c->x, c->precision, c->kx))
        return false;
    for (size_t i = 0; i < c->n; i++)
        c->kg[i] += c->kx[i];
    c->at.exact = false;
    coef_judge(c);
    return true;
}

static bool coef_form_u(struct coef *c)
{
    if (!coef_product(c, c->beta, KLR_DOUBLE, c->kx))
        return false;
    memcpy(c->u, c->kx, c->n * sizeof *c->u);
    return true;
}

static bool coef_begin(struct coef *c)
{
    if ((c->precision == KLR_DOUBLE || c->at.width < 1) && !coef_form_u(c))
        return false;
    if (c->precision == KLR_DOUBLE) { /* K g, too, is formed anew */
        memset(c->g, 0, c->n * sizeof *c->g);
        memset(c->kg, 0, c->n * sizeof *c->kg);
    }
    return coef_look(c);
}

static bool coef_anchor(struct coef *c)
{
    if (!coef_form_u(c))
        return false;
    if (!coef_has_hinge(c))
        coef_evaluate(c);
    if (!coef_product(c, c->g, KLR_DOUBLE, c->kx))
        return false;
    memcpy(c->kg, c->kx, c->n * sizeof *c->kg);
    coef_measure(c);
    c->at.exact = true;
    coef_judge(c);
    return true;
}

static void coef_unseen(struct coef *c)
{
    coef_evaluate(c);
    c->at.gap =
        c->at.objective - c->at.excess - c->bound / (c->at.width * c->at.width);
}

static void coef_weigh(const struct coef *c, const double *in, double *out)
{
    double mean = 0;
    if (c->bias && c->total > 0)
        mean = dot(c->n, c->w, in) / c->total;
    for (size_t i = 0; i < c->n; i++)
        out[i] = c->w[i] * (in[i] - mean);
}

/* ---- kept points ---- */

static void coef_keep(const struct coef *c, struct coef_kept *kept)
{
    memcpy(kept->point, c->point, COEF_POINT * c->n * sizeof *kept->point);
    kept->at = c->at;
}

static void coef_return(struct coef *c, const struct coef_kept *kept)
{
    memcpy(c->point, kept->point, COEF_POINT * c->n * sizeof *kept->point);
    c->at = kept->at;
    coef_set_loss(c);
}
