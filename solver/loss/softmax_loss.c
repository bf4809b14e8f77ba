/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loss of a softmax, C_i [log sum_c exp(f_ic) - f_i,y(i)] with f_ic = u_ic
 * - rho_c, and the thresholds where the sum of losses is least.
 */
#include "solver/loss/loss.h"

enum {
    SOFTMAX_VECTORS = 4,
    SOFTMAX_FAR = 10 /* thresholds change by no more at once, at first */
};

static int softmax_create(struct softmax *sm, size_t n, size_t columns,
                          struct klr_error *err)
{
    double *store =
        klr_alloc((columns + SOFTMAX_VECTORS) * columns, sizeof *store, err);
    *sm = (struct softmax){.n = n, .columns = columns, .p = store};
    sm->class = klr_zalloc(n, sizeof *sm->class, err);
    if (!store || !sm->class)
        return KLR_E_MEMORY;
    sm->slope = store + columns;
    sm->step = store + 2 * columns;
    sm->best = store + 3 * columns;
    sm->w = store + SOFTMAX_VECTORS * columns;
    return 0;
}

static void softmax_free(struct softmax *sm)
{
    klr_free(sm->class);
    klr_free(sm->p);
}

static void softmax_set_class(const struct softmax *sm, size_t c,
                              const double *y)
{
    for (size_t i = 0; i < sm->n; i++)
        if (y[i] > 0)
            sm->class[i] = c;
}

/* From decision values less that of y(i), so that a small loss has all its
 * digits. */
static double softmax_row(const struct softmax *sm, size_t i, const double *u,
                          const double *rho)
{
    size_t k = sm->columns, y = sm->class[i];
    const double *row = u + i * k;
    for (size_t c = 0; c < k; c++)
        sm->p[c] = row[c] - row[y] - (rho[c] - rho[y]);
    return softmax(k, sm->p, sm->p);
}

static double softmax_residual(const struct softmax *sm, size_t i, size_t c)
{
    double sum = 0;
    if (c != sm->class[i])
        return -sm->p[c];
    for (size_t b = 0; b < sm->columns; b++)
        sum += b == c ? 0 : sm->p[b];
    return sum;
}

static double softmax_losses(const struct softmax *sm, const double *u,
                             const double *rho)
{
    double sum = 0;
    for (size_t i = 0; i < sm->n; i++)
        sum += sm->cost[i] * softmax_row(sm, i, u, rho);
    return sum;
}

static double softmax_constant(const struct softmax *sm, bool bias)
{
    double *share = sm->slope, total = 0, sum = 0;
    memset(share, 0, sm->columns * sizeof *share);
    for (size_t i = 0; i < sm->n; i++) {
        share[sm->class[i]] += sm->cost[i];
        total += sm->cost[i];
    }
    if (!bias)
        return total * log((double)sm->columns);
    for (size_t c = 0; c < sm->columns; c++)
        sum -= share[c] > 0 ? share[c] * log(share[c] / total) : 0;
    return sum;
}

/* ---- thresholds ---- */

/* The loss at rho, its slope and Hessian, a Laplacian. Returns the largest
 * element of the slope. */
static double softmax_slope(const struct softmax *sm, const double *u,
                            const double *rho, double *loss)
{
    size_t k = sm->columns;
    double most = 0;
    memset(sm->slope, 0, k * sizeof *sm->slope);
    memset(sm->w, 0, k * k * sizeof *sm->w);
    *loss = 0;
    for (size_t i = 0; i < sm->n; i++) {
        double cost = sm->cost[i];
        *loss += cost * softmax_row(sm, i, u, rho);
        for (size_t a = 0; a < k; a++) {
            double weight = cost * sm->p[a];
            sm->slope[a] += cost * softmax_residual(sm, i, a);
            for (size_t b = a + 1; b < k; b++)
                sm->w[a * k + b] += weight * sm->p[b];
        }
    }
    for (size_t c = 0; c < k; c++)
        most = fmax(most, fabs(sm->slope[c]));
    return most;
}

/* The Newton step of a Laplacian with a little more weight on all edges: far
 * from the optimum, where probabilities are 0 and 1 and the loss is all but
 * linear, it is `far` at most; near it the weight vanishes with the slope. */
static void softmax_newton(const struct softmax *sm, double slope, double far)
{
    size_t k = sm->columns;
    for (size_t a = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++)
            sm->w[a * k + b] += slope / (far * (double)k);
    laplacian_factor(k, sm->w);
    memcpy(sm->step, sm->slope, k * sizeof *sm->step);
    laplacian_solve(k, sm->w, sm->step);
}

/* Find rho by Newton's method with halved steps; the loss is convex in rho.
 * Near the optimum, where the loss changes no more, the slope tells if a step
 * is good, with as many digits as the loss has beside the costs. No part of a
 * step is better than the whole there, but for rounding. */
static void softmax_rho(const struct softmax *sm, const double *u, double *rho)
{
    enum { STEPS = 200, HALVINGS = 30 };
    const double near = 1e-12; /* a fall of the loss, relatively */
    size_t k = sm->columns;
    double far = SOFTMAX_FAR, total = 0;
    double loss, slope = softmax_slope(sm, u, rho, &loss);
    for (size_t i = 0; i < sm->n; i++)
        total += sm->cost[i];
    for (int step = 0;
         step < STEPS && slope > fmin(1e-15 * total, 1e-14 * loss); step++) {
        double length = 2, next = INFINITY, change = 0, old = loss;
        softmax_newton(sm, slope, far);
        memcpy(sm->best, rho, k * sizeof *rho);
        double fall = 0.5 * dot(k, sm->slope, sm->step);
        int halvings = fall > near * loss ? HALVINGS : 1;
        for (int half = 0; half < halvings; half++) {
            length /= 2;
            for (size_t c = 0; c < k; c++)
                rho[c] = sm->best[c] - length * sm->step[c];
            next = softmax_slope(sm, u, rho, &loss);
            change = loss - old;
            if (change < 0 || next < slope)
                break;
        }
        if (!(change < 0 || next < slope)) {
            memcpy(rho, sm->best, k * sizeof *rho);
            break;
        }
        slope = next;
        far *= length == 1 ? 2 : length;
    }
}
