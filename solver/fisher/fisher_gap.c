/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an e is worth, for exact kernel Fisher discriminants: scale, threshold,
 * objectives and gap by its residual, and what the errors of products hide of
 * the gap. See fisher.c.
 */
#include "solver/fisher/fisher_exact.h"

static double exact_penalty(const struct fisher *f, const struct exact *m,
                            size_t i)
{
    return 1 / (f->c * m->problem->weight[i]);
}

/* The objectives for scale and threshold given; mean[y > 0] of the residual. */
static void exact_objectives(const struct fisher *f, struct exact *m,
                             const double *mean)
{
    double errors = 0, form = 0, gap = 0;
    for (size_t i = 0; i < f->n; i++) {
        double y = m->problem->y[i], w = m->problem->weight[i];
        double value = m->value[i], off = m->r[i] - mean[y > 0];
        double xi = m->scale * value - m->rho - y;
        errors += w * xi * xi;
        form += f->coef ? m->ke[i] * m->ke[i] : m->e[i] * value;
        gap += w * off * off;
    }
    double square = m->scale * m->scale;
    m->primal = 0.5 * (errors + square * form / f->c);
    m->gap = 0.5 * square * gap;
    m->form = form;
}

static void exact_judge(const struct fisher *f, struct exact *m)
{
    double weight[2] = {0, 0}, value[2] = {0, 0}, mean[2] = {0, 0};
    for (size_t i = 0; i < f->n; i++) {
        size_t class = m->problem->y[i] > 0;
        double w = m->problem->weight[i];
        weight[class] += w;
        value[class] += w * m->value[i];
        mean[class] += w * m->r[i];
    }
    for (size_t class = 0; class < 2; class ++) {
        value[class] /= weight[class];
        mean[class] /= weight[class];
    }
    m->primal = m->gap = INFINITY;
    m->scale = m->rho = m->form = 0;
    if (value[1] > value[0]) {
        m->scale = 2 / (value[1] - value[0]);
        m->rho = m->scale * value[1] - 1;
        exact_objectives(f, m, mean);
    }
}

static double exact_gap(const struct exact *m)
{
    return isinf(m->primal) ? INFINITY : m->gap / m->primal;
}

static double fisher_gap(void *solver)
{
    const struct fisher *f = solver;
    double most = -INFINITY;
    for (size_t k = 0; k < f->machines; k++)
        most = fmax(most, exact_gap(&f->machine[k]));
    return most;
}

static double exact_error(const struct fisher *f, const struct exact *m,
                          double way)
{
    static const int bits[] = {
        [KLR_FIXED16] = 17, [KLR_FLOAT] = 24, [KLR_DOUBLE] = 53};
    return ldexp(f->largest * m->scale * way, -bits[f->precision]);
}

static double exact_hidden(const struct fisher *f, const struct exact *m)
{
    double value = exact_error(f, m, m->drift_bound);
    double off = exact_error(f, m, m->drift_bound_e);
    return 0.5 * (m->weight * value * value + (double)f->n / f->c * off * off) /
           m->primal;
}

/* The larger of the two class means of xi, in size; both should be 0. */
static double fisher_offset(const struct binary_problem *problem,
                            const double *f, double rho)
{
    double sum[2] = {0, 0}, weight[2] = {0, 0};
    for (size_t i = 0; i < problem->n; i++) {
        size_t class = problem->y[i] > 0;
        sum[class] += problem->weight[i] * (f[i] - rho - problem->y[i]);
        weight[class] += problem->weight[i];
    }
    return fmax(fabs(sum[0] / weight[0]), fabs(sum[1] / weight[1]));
}

/* Constraints that do not hold move all decision values of a class by as much.
 * Rounding of the means may do so, too. */
static void fisher_certify(const struct binary_problem *problem, double c,
                           const double *f, double size, double drift,
                           double dual, double target,
                           struct solution *solution)
{
    const bool coef = problem->params->regularizer == KLR_REGULARIZER_COEF;
    const double *a = solution->beta;
    double error = decision_rounding(problem, a, size, solution->precision) +
                   value_rounding(problem->n, f, solution->rho) + drift;
    double total = 0, errors = 0, form = 0, slope = 0;
    double own = coef ? 0 : error * sqrt(dot(problem->n, a, a)); /* of a'f */
    error = fmax(error, fisher_offset(problem, f, solution->rho));
    for (size_t i = 0; i < problem->n; i++) {
        double w = problem->weight[i];
        double xi = f[i] - solution->rho - problem->y[i];
        total += w;
        errors += w * xi * xi;
        slope += w * w * xi * xi;
        form += coef ? a[i] * a[i] : a[i] * f[i];
    }
    double primal = 0.5 * (errors + form / c);
    solution->size = size;
    certify(solution, &(struct certificate){
                          .primal = primal,
                          .gap = primal - dual,
                          .target = target > 0 ? target * primal : INFINITY,
                          .blur = sqrt(slope) * error +
                                  0.5 * total * error * error + 0.5 * own / c,
                          .constant = INFINITY,
                          .asked = target > 0,
                      });
}
