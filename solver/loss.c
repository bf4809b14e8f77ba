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
 * alpha = C sigma(l - z) cut off at the box.
 */
#include "solver/internal.h"

static struct loss loss_of(const struct klr_params *params, double cost)
{
    struct loss loss = {.model = (enum klr_model_type)params->model};
    if (loss.model == KLR_MODEL_SKLR) {
        loss.shift = isnan(params->lambda.value[0]) ? cost / 10
                                                    : params->lambda.value[0];
        loss.box = params->box;
    }
    return loss;
}

/* sum beta = 0 needs totals of alpha that both classes can have. */
static int loss_check(const struct loss *loss, const struct binary *problem,
                      double c, struct klr_error *err)
{
    double lower[2] = {0, 0}, upper[2] = {0, 0};
    if (loss->box == 0)
        return 0;
    for (size_t i = 0; i < problem->n; i++) {
        double cost = c * problem->weight[i];
        if (!(loss->box < cost / 2))
            return klr_fail(err, KLR_E_USAGE,
                            "option --box: %g is not less than half of C = %g",
                            loss->box, cost);
        lower[problem->y[i] > 0] += loss->box;
        upper[problem->y[i] > 0] += cost - loss->box;
    }
    if (!problem->params->no_bias &&
        (lower[0] > upper[1] || lower[1] > upper[0]))
        return klr_fail(err, KLR_E_USAGE,
                        "option --box: %g times the examples of one class "
                        "exceeds what those of the other can outweigh, %g",
                        loss->box, fmin(upper[0], upper[1]));
    return 0;
}

/* C G(alpha / C) */
static double entropy(double alpha, double cost)
{
    double d = alpha / cost;
    return d > 0 && d < 1 ? cost * (d * log(d) + (1 - d) * log1p(-d)) : 0;
}

static double loss_alpha(const struct loss *loss, double margin, double cost)
{
    double alpha = cost * sigmoid(loss->shift - margin);
    return fmin(fmax(alpha, loss->box), cost - loss->box);
}

static double loss_value(const struct loss *loss, double margin, double cost)
{
    if (loss->model == KLR_MODEL_SVM)
        return cost * fmax(0, 1 - margin);
    double z = loss->shift - margin, alpha = cost * sigmoid(z);
    double cut = loss_alpha(loss, margin, cost);
    return cut == alpha ? cost * softplus(z) : cut * z - entropy(cut, cost);
}

static double primal_value(const struct loss *loss, size_t n, const double *y,
                           const double *cost, const double *beta,
                           const double *u, double rho)
{
    double quadratic = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        quadratic += beta[i] * u[i];
        sum += loss_value(loss, y[i] * (u[i] - rho), cost[i]);
    }
    return 0.5 * quadratic + sum;
}

static double conjugate_value(const struct loss *loss, double alpha,
                              double cost)
{
    if (loss->model == KLR_MODEL_SVM)
        return -alpha;
    return entropy(alpha, cost) - loss->shift * alpha;
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

/* By Newton's method kept inside a bracket. The derivative, sum_i y_i alpha_i
 * with alpha_i = C_i sigma(shift - y_i (u_i - rho)) within the box, grows with
 * rho. At rho = min u - t it is negative and at max u + t positive, once t
 * outweighs the shift, the ratio of the class weights, and the box. Keerthi et
 * al. (2005), below (3.14). */
static double best_rho(const struct loss *loss, size_t n, const double *y,
                       const double *cost, const double *u)
{
    double low = u[0], high = u[0], weight[2] = {0, 0}, most = 0;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, u[i]);
        high = fmax(high, u[i]);
        weight[y[i] > 0] += cost[i];
        most = fmax(most, cost[i]);
    }
    double room = 1 + loss->shift + fabs(log(weight[0] / weight[1]));
    if (loss->box > 0)
        room += log(most / loss->box);
    low -= room;
    high += room;
    double rho = 0.5 * (low + high);
    for (int step = 0; step < 200; step++) {
        double slope = 0, curvature = 0;
        for (size_t i = 0; i < n; i++) {
            double p = sigmoid(loss->shift - y[i] * (u[i] - rho));
            double alpha = cost[i] * p;
            double cut = fmin(fmax(alpha, loss->box), cost[i] - loss->box);
            slope += y[i] * cut;
            curvature += cut == alpha ? alpha * (1 - p) : 0;
        }
        if (slope > 0)
            high = rho;
        else
            low = rho;
        double next = rho - slope / curvature;
        if (!(next > low && next < high))
            next = 0.5 * (low + high);
        if (fabs(next - rho) <= 1e-15 * (1 + fabs(rho)))
            break;
        rho = next;
    }
    return rho;
}
