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
#include "solver/loss/loss.h"

enum { LOGISTIC_BLOCK = 128 };

static struct loss loss_of(const struct klr_params *params, double cost)
{
    struct loss loss = {.model = (enum klr_model_type)params->model};
    if (loss.model == KLR_MODEL_SKLR) {
        loss.shift = klr_params_lambda(params, cost);
        loss.box = params->box;
    }
    return loss;
}

/* C G(alpha / C) */
static double entropy(double alpha, double cost)
{
    double d = alpha / cost;
    return d > 0 && d < 1 ? cost * (d * log(d) + (1 - d) * log1p(-d)) : 0;
}

static double loss_least(const struct loss *loss, double cost)
{
    double half = 0.5 * cost;
    return loss->box < half ? loss->box : half;
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

static double loss_value(const struct loss *loss, double margin, double cost)
{
    if (loss->model == KLR_MODEL_SVM)
        return cost * fmax(0, 1 - margin);
    double z = loss->shift - margin, value = softplus(z);
    if (loss->box == 0)
        return cost * value;
    double alpha = cost * sigmoid(z);
    return loss_of_alpha(alpha, loss_cut(loss, alpha, cost), z, value, cost);
}

/* ---- all examples ---- */

/* A block of examples: z = shift - margin, and klr_logistic of it. */
struct logistic {
    double z[LOGISTIC_BLOCK], p[LOGISTIC_BLOCK], rest[LOGISTIC_BLOCK];
    double value[LOGISTIC_BLOCK];
};

/* Fill the block with the examples from `first` on; returns how many. */
static size_t logistic_fill(struct logistic *l, const struct loss *loss,
                            size_t n, size_t first, const double *y,
                            const double *u, double rho, bool values)
{
    size_t count = n - first < LOGISTIC_BLOCK ? n - first : LOGISTIC_BLOCK;
    for (size_t k = 0; k < count; k++)
        l->z[k] = loss->shift - y[first + k] * (u[first + k] - rho);
    klr_logistic(count, l->z, l->p, l->rest, values ? l->value : NULL);
    return count;
}

static double losses_sum(const struct loss *loss, size_t n, const double *y,
                         const double *cost, const double *u, double rho)
{
    struct logistic l;
    double sum = 0;
    if (loss->model == KLR_MODEL_SVM) {
        for (size_t i = 0; i < n; i++)
            sum += loss_value(loss, y[i] * (u[i] - rho), cost[i]);
        return sum;
    }
    for (size_t i = 0, count; i < n; i += count) {
        count = logistic_fill(&l, loss, n, i, y, u, rho, true);
        for (size_t k = 0; k < count; k++) {
            double c = cost[i + k], alpha = c * l.p[k];
            sum += loss_of_alpha(alpha, loss_cut(loss, alpha, c), l.z[k],
                                 l.value[k], c);
        }
    }
    return sum;
}

static double primal_value(const struct loss *loss, size_t n, const double *y,
                           const double *cost, const double *beta,
                           const double *u, double rho)
{
    return 0.5 * dot(n, beta, u) + losses_sum(loss, n, y, cost, u, rho);
}

static struct loss_sums loss_gradient(const struct loss *loss, size_t n,
                                      const double *y, const double *cost,
                                      const double *u, double rho, double *g,
                                      double *w)
{
    struct logistic l;
    struct loss_sums sums = {0, 0};
    for (size_t i = 0, count; i < n; i += count) {
        count = logistic_fill(&l, loss, n, i, y, u, rho, true);
        for (size_t k = 0; k < count; k++) {
            double c = cost[i + k], alpha = c * l.p[k];
            double cut = loss_cut(loss, alpha, c);
            double value = loss_of_alpha(alpha, cut, l.z[k], l.value[k], c);
            sums.losses += value;
            /* psi(alpha) from what the loss is, the largest -alpha margin -
             * psi: C G(p) would lose all digits near its ends */
            sums.conjugates -= cut * (loss->shift - l.z[k]) + value;
            g[i + k] = y[i + k] * cut;
            w[i + k] = cut == alpha ? alpha * l.rest[k] : 0;
        }
    }
    return sums;
}

static double conjugate_value(const struct loss *loss, double alpha,
                              double cost)
{
    if (loss->model == KLR_MODEL_SVM)
        return -alpha;
    return entropy(alpha, cost) - loss->shift * alpha;
}

/* C times the divergence of alpha / C from sigma(z): logs of either share, next
 * to 0, keep all their digits. */
static double logistic_excess(double alpha, double z, double cost)
{
    double rest = cost - alpha, excess = 0;
    if (!(alpha >= 0 && rest >= 0))
        return INFINITY;
    if (alpha > 0)
        excess += alpha * (log(alpha / cost) + softplus(-z));
    if (rest > 0)
        excess += rest * (log1p(-alpha / cost) + softplus(z));
    return fmax(excess, 0);
}

static double loss_excess(const struct loss *loss, double alpha, double margin,
                          double cost)
{
    if (loss->model == KLR_MODEL_SVM) {
        if (!(alpha >= 0 && alpha <= cost))
            return INFINITY;
        return margin < 1 ? (cost - alpha) * (1 - margin)
                          : alpha * (margin - 1);
    }
    double z = loss->shift - margin, excess = logistic_excess(alpha, z, cost);
    double best = cost * sigmoid(z), cut = loss_cut(loss, best, cost);
    return cut == best ? excess : excess - logistic_excess(cut, z, cost);
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

/* sum_i y_i alpha_i, the derivative of the losses by rho, and its own. */
static double rho_slope(const struct loss *loss, size_t n, const double *y,
                        const double *cost, const double *u, double rho,
                        double *curvature)
{
    struct logistic l;
    double slope = 0;
    *curvature = 0;
    for (size_t i = 0, count; i < n; i += count) {
        count = logistic_fill(&l, loss, n, i, y, u, rho, false);
        for (size_t k = 0; k < count; k++) {
            double alpha = cost[i + k] * l.p[k];
            double cut = loss_cut(loss, alpha, cost[i + k]);
            slope += y[i + k] * cut;
            *curvature += cut == alpha ? alpha * l.rest[k] : 0;
        }
    }
    return slope;
}

/* Where the optimal rho is: with alpha_i = C_i sigma(shift - y_i (u_i - rho))
 * within the box, the slope grows with rho. At rho = min u - t it is negative
 * and at max u + t positive, once t outweighs the shift, the ratio of the class
 * weights, and the box. Keerthi et al. (2005), below (3.14). */
static void rho_bracket(const struct loss *loss, size_t n, const double *y,
                        const double *cost, const double *u, double *low,
                        double *high)
{
    double weight[2] = {0, 0}, most = 0;
    *low = *high = u[0];
    for (size_t i = 0; i < n; i++) {
        *low = u[i] < *low ? u[i] : *low;
        *high = u[i] > *high ? u[i] : *high;
        weight[y[i] > 0] += cost[i];
        most = cost[i] > most ? cost[i] : most;
    }
    double room = 1 + loss->shift + fabs(log(weight[0]) - log(weight[1]));
    if (loss->box > 0)
        room += log(most / loss->box);
    *low -= room;
    *high += room;
}

/* By Newton's method. A step of d leaves d^2 / 2 at most, since no logistic
 * curvature changes faster than by its own size; where d is larger than 1 it is
 * kept inside the bracket, and where there is a box, which can make that wrong.
 */
static double best_rho(const struct loss *loss, size_t n, const double *y,
                       const double *cost, const double *u, double start)
{
    double low = -INFINITY, high = INFINITY, rho = start;
    for (int step = 0; step < 200; step++) {
        double curvature;
        double slope = rho_slope(loss, n, y, cost, u, rho, &curvature);
        double next = rho - slope / curvature, last = rho;
        bool near = fabs(next - last) <= 1 && loss->box == 0;
        if (isinf(low - high) && !near)
            rho_bracket(loss, n, y, cost, u, &low, &high);
        if (slope > 0)
            high = fmin(high, rho);
        else
            low = fmax(low, rho);
        bool inside = next >= low && next <= high;
        rho = inside ? next : 0.5 * (low + high);
        double enough = 1e-15 * (1 + fabs(rho));
        if (inside && loss->box == 0)
            enough = fmax(enough, 1e-8);
        if (fabs(rho - last) <= enough)
            break;
    }
    return rho;
}

static double hinge_rho(size_t n, const double *y, const double *cost,
                        const double *beta, const double *u, double start)
{
    double high = INFINITY, low = -INFINITY, sum = 0;
    size_t on_margin = 0, support = 0;
    for (size_t i = 0; i < n; i++) {
        double alpha = y[i] * beta[i], rho = u[i] - y[i];
        bool rises = y[i] > 0 ? alpha < cost[i] : alpha > 0;
        bool falls = y[i] > 0 ? alpha > 0 : alpha < cost[i];
        support += beta[i] != 0;
        if (rises && falls) {
            sum += rho;
            on_margin++;
        }
        if (rises)
            high = fmin(high, rho);
        if (falls)
            low = fmax(low, rho);
    }
    if (support == 0)
        return start;
    return on_margin > 0 ? sum / (double)on_margin : 0.5 * (low + high);
}
