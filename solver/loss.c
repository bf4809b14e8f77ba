/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The losses of the models, as functions of the margin y f, and their
 * conjugates psi, as functions of the dual variable alpha in [0, C]:
 *
 *   primal   P = 1/2 beta'K beta + sum_i C_i loss(y_i f_i)
 *   dual     minimise  1/2 beta'K beta + sum_i psi_i(alpha_i),
 *            beta_i = alpha_i y_i, sum_i beta_i = 0; D is minus the minimum.
 *
 *            loss(z)            psi(alpha)            source
 *   svm      max(0, 1 - z)      -alpha                Lin & Lin (2003), (2)
 *   klr      log(1 + e^-z)      C G(alpha / C),       Keerthi et al. (2005),
 *                               G(d) = d log d +      (2.7), (2.8)
 *                                 (1-d) log(1-d)
 */
#include "solver/internal.h"

static double loss_value(enum klr_model_type model, double margin)
{
    return model == KLR_MODEL_SVM ? fmax(0, 1 - margin) : softplus(-margin);
}

static double conjugate_value(enum klr_model_type model, double alpha,
                              double cost)
{
    if (model == KLR_MODEL_SVM)
        return -alpha;
    double d = alpha / cost;
    return d > 0 && d < 1 ? cost * (d * log(d) + (1 - d) * log1p(-d)) : 0;
}

/* psi'(alpha) */
static double conjugate_slope(enum klr_model_type model, double alpha,
                              double cost)
{
    return model == KLR_MODEL_SVM ? -1 : log(alpha / (cost - alpha));
}

/* psi''(alpha) */
static double conjugate_curvature(enum klr_model_type model, double alpha,
                                  double cost)
{
    return model == KLR_MODEL_SVM ? 0 : cost / (alpha * (cost - alpha));
}

/* argmin over rho of sum_i C_i log(1 + exp(-y_i (u_i - rho))), by Newton's
 * method kept inside a bracket. The derivative, sum_i C_i y_i p_i with
 * p_i = sigma(-y_i (u_i - rho)), grows with rho; at rho = min u - t it is
 * negative and at rho = max u + t positive once t outweighs the ratio of the
 * class weights. Keerthi et al. (2005), below (3.14). */
static double best_rho(size_t n, const double *y, const double *cost,
                       const double *u)
{
    double low = u[0], high = u[0], weight[2] = {0, 0};
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, u[i]);
        high = fmax(high, u[i]);
        weight[y[i] > 0] += cost[i];
    }
    double room = 1 + fabs(log(weight[0] / weight[1]));
    low -= room;
    high += room;
    double rho = 0.5 * (low + high);
    for (int step = 0; step < 200; step++) {
        double slope = 0, curvature = 0;
        for (size_t i = 0; i < n; i++) {
            double p = sigmoid(-y[i] * (u[i] - rho));
            slope += cost[i] * y[i] * p;
            curvature += cost[i] * p * (1 - p);
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
