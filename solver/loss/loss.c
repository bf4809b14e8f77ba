/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The losses of the models, as functions of the margin z = y f, and their
 * conjugates psi, as functions of the dual variable alpha:
 *
 *   primal   P = 1/2 beta'K beta + sum_i loss_i(y_i f_i)
 *   dual     minimise  1/2 beta'K beta + sum_i psi_i(alpha_i),
 *            beta_i = alpha_i y_i, sum_i beta_i = 0,
 *            box <= alpha_i <= C_i - box; D is minus the minimum.
 *
 *          loss_i(z)            psi(alpha)                     source
 *   svm    C max(0, 1 - z)      -alpha                         Lin & Lin (2003)
 *                                                              (2)
 *   klr    C log(1 + e^-z)      C G(alpha/C), G(d) =           Keerthi et al.
 *                               d log d + (1-d) log(1-d)       (2005), (2.7),
 *                                                              (2.8)
 *   sklr   C log(1 + e^(l-z))   C G(alpha/C) - l alpha,        Consolo (22);
 *          with linear tails    box <= alpha <= C - box        l is lambda
 *
 * The box of sklr gives its loss slopes between -box and -(C - box): the loss
 * is max over alpha of alpha (l - z) - C G(alpha/C), reached by the logistic
 * alpha = C sigma(l - z) cut off at the box. m examples of one margin, each of
 * cost C, are one of cost m C and of m times the box: an alpha each is best.
 */
#include "solver/loss/loss.h"

static struct loss loss_of(const struct klr_params *params, double cost)
{
    struct loss loss = {.model = (enum klr_model_type)params->model};
    if (loss.model == KLR_MODEL_SKLR) {
        loss.shift = klr_params_lambda(params, cost);
        loss.box = params->box;
        loss.unit = params_have_weights(params) ? 0 : cost;
    }
    return loss;
}

/* C G(alpha / C) */
static double entropy(double alpha, double cost)
{
    double d = alpha / cost;
    return d > 0 && d < 1 ? cost * (d * log(d) + (1 - d) * log1p(-d)) : 0;
}

static double loss_examples(const struct loss *loss, double cost)
{
    return loss->unit > 0 ? cost / loss->unit : 1;
}

static double loss_box(const struct loss *loss, double cost)
{
    return loss->box == 0 ? 0 : loss->box * loss_examples(loss, cost);
}

static double loss_least(const struct loss *loss, double cost)
{
    double box = loss_box(loss, cost), half = 0.5 * cost;
    return box < half ? box : half;
}

static double least_dual(const struct loss *loss)
{
    return loss->box == 0 ? 0 : -INFINITY;
}

/* alpha within the box; fmin() and fmax() would be calls. */
static double loss_cut(const struct loss *loss, double alpha, double cost)
{
    double least = loss_least(loss, cost), most = cost - least;
    alpha = alpha < least ? least : alpha;
    return alpha > most ? most : alpha;
}

static double loss_alpha(const struct loss *loss, double margin, double cost)
{
    return loss_cut(loss, cost * sigmoid(loss->shift - margin), cost);
}

/* The loss where alpha = C sigma(z) is cut off to `cut`; z = shift - margin and
 * `value` = log(1 + e^z). */
static double loss_of_alpha(double alpha, double cut, double z, double value,
                            double cost)
{
    return cut == alpha ? cost * value : cut * z - entropy(cut, cost);
}

static struct loss_at loss_at(const struct loss *loss, double margin,
                              double cost)
{
    double z = loss->shift - margin;
    double rest = loss->model == KLR_MODEL_SVM ? 0 : softplus(-fabs(z));
    return (struct loss_at){cost, margin, z, (z > 0 ? z : 0) + rest,
                            (z < 0 ? -z : 0) + rest};
}

static double value_at(const struct loss *loss, const struct loss_at *at)
{
    if (loss->model == KLR_MODEL_SVM)
        return at->cost * fmax(0, 1 - at->margin);
    if (loss->box == 0)
        return at->cost * at->up;
    double alpha = at->cost * sigmoid(at->z);
    return loss_of_alpha(alpha, loss_cut(loss, alpha, at->cost), at->z, at->up,
                         at->cost);
}

static double loss_value(const struct loss *loss, double margin, double cost)
{
    struct loss_at at = loss_at(loss, margin, cost);
    return value_at(loss, &at);
}

static double conjugate_value(const struct loss *loss, double alpha,
                              double cost)
{
    if (loss->model == KLR_MODEL_SVM)
        return -alpha;
    return entropy(alpha, cost) - loss->shift * alpha;
}

static struct dual_at dual_at(const struct loss *loss, double alpha,
                              double cost)
{
    struct dual_at d = {alpha, cost - alpha, 0, 0};
    if (loss->model != KLR_MODEL_SVM && d.alpha > 0)
        d.log_alpha = log(alpha / cost);
    if (loss->model != KLR_MODEL_SVM && d.rest > 0)
        d.log_rest = log1p(-alpha / cost);
    return d;
}

/* C times the divergence of alpha / C from sigma(z): logs of either share, next
 * to 0, keep all their digits. */
static double logistic_excess(const struct dual_at *d, const struct loss_at *at)
{
    double excess = 0;
    if (d->alpha > 0)
        excess += d->alpha * (d->log_alpha + at->down);
    if (d->rest > 0)
        excess += d->rest * (d->log_rest + at->up);
    return excess < 0 ? 0 : excess;
}

static double hinge_excess(const struct dual_at *d, const struct loss_at *at)
{
    return at->margin < 1 ? d->rest * (1 - at->margin)
                          : d->alpha * (at->margin - 1);
}

static double excess_at(const struct loss *loss, const struct dual_at *d,
                        const struct loss_at *at)
{
    if (!(d->alpha >= 0 && d->rest >= 0))
        return INFINITY;
    if (loss->model == KLR_MODEL_SVM)
        return hinge_excess(d, at);
    double excess = logistic_excess(d, at);
    if (loss->box == 0)
        return excess;
    double best = at->cost * sigmoid(at->z);
    double cut = loss_cut(loss, best, at->cost);
    if (cut == best)
        return excess;
    struct dual_at end = dual_at(loss, cut, at->cost);
    return excess - logistic_excess(&end, at);
}

/* psi'(alpha) */
static double conjugate_slope(const struct loss *loss, double alpha,
                              double cost)
{
    return loss->model == KLR_MODEL_SVM
               ? -1
               : log(alpha / (cost - alpha)) - loss->shift;
}

/* psi''(alpha) */
static double conjugate_curvature(const struct loss *loss, double alpha,
                                  double cost)
{
    return loss->model == KLR_MODEL_SVM ? 0 : cost / (alpha * (cost - alpha));
}
