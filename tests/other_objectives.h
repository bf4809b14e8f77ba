/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Objectives of a discriminant and of a softmax: see the head of evaluate.c.
 *
 * Fisher discriminants, Mika (3), w_i = C_i / C, c = C, f = K beta - rho:
 *
 *   P = 1/2 sum w_i (f_i - y_i)^2 + R / (2c),  R = beta'K beta or beta'beta,
 *
 * where the mean of f_i - y_i is 0 in each class. With R = beta'K beta what is
 * optimal has q_i = f_i + beta_i / (c w_i) the same for a class, and P is above
 * the optimum by 1/2 sum w_i (q_i - mean of q)^2 at most.
 *
 * Softmax: P = 1/2 sum_c b_c'K b_c - sum_i C_i log p_i,y(i), and with g_ic =
 * C_i ([c = y(i)] - p_ic) D = -1/2 sum_c g_c'K g_c - sum_i C_i sum_c p_ic log
 * p_ic, where sum_i g_ic = 0; of that point, and of beta where it is g of other
 * probabilities, each with its sums made 0, the larger D counts.
 */
#ifndef KLR_TESTS_OTHER_OBJECTIVES_H
#define KLR_TESTS_OTHER_OBJECTIVES_H

#include "tests/objectives.h"

static void print_field(const char *name, real value)
{
    if (isfinite(value))
        printf(",\"%s\":%.17Lg", name, value);
    else
        printf(",\"%s\":null", name);
}

static void print_objectives(real primal, real lower, real zero, real off)
{
    print_field("primal", primal);
    print_field("dual", lower);
    print_field("model_gap", (primal - lower) / primal);
    print_field("zero", zero);
    print_field("off", off);
    puts("}");
}

/* ---- a discriminant ---- */

/* The means of a vector in both classes, the negative one first. */
static void class_means(const struct pair *p, const real *weight,
                        const real *value, real mean[2])
{
    real total[2] = {0, 0};

    mean[0] = mean[1] = 0;
    for (size_t i = 0; i < p->n; i++) {
        mean[p->y[i] > 0] += weight[i] * value[i];
        total[p->y[i] > 0] += weight[i];
    }
    mean[0] /= total[0];
    mean[1] /= total[1];
}

static void fisher_report(const struct pair *p, const struct loss *loss, real c)
{
    bool coef = loss->penalty == COEF_NORM;
    real *weight = take(p->n, sizeof *weight), *q = take(p->n, sizeof *q);
    real errors = 0, excess = 0, mean[2];

    for (size_t i = 0; i < p->n; i++) {
        real f = p->u[i] - p->rho;

        weight[i] = p->cost[i] / c;
        errors += weight[i] * (f - p->y[i]) * (f - p->y[i]);
        q[i] = f - p->y[i];
    }
    class_means(p, weight, q, mean);
    real off = fmaxl(fabsl(mean[0]), fabsl(mean[1]));
    for (size_t i = 0; i < p->n; i++)
        q[i] += p->y[i] + p->beta[i] / (c * weight[i]);
    class_means(p, weight, q, mean);
    for (size_t i = 0; i < p->n; i++) {
        real d = q[i] - mean[p->y[i] > 0];
        excess += weight[i] * d * d;
    }
    real primal =
        errors / 2 + quadratic(p->n, p->beta, coef ? p->beta : p->u) / c;
    printf("{\"n\":%zu", p->n);
    print_objectives(primal, coef ? NAN : primal - excess / 2, NAN, off);
    free(weight);
    free(q);
}

/* ---- all classes together ---- */

struct together {
    size_t n, k;
    size_t *class;   /* (n) */
    real *cost;      /* (n) */
    real *beta;      /* (n, k) */
    real *entry;     /* (n, n) */
    const real *rho; /* (k) */
};

static struct together together_new(size_t n, const struct model *m)
{
    return (struct together){
        .n = n,
        .k = m->k,
        .class = take(n, sizeof(size_t)),
        .cost = take(n, sizeof(real)),
        .beta = take(n * m->k, sizeof(real)),
        .entry = take(n * n, sizeof(real)),
        .rho = m->rho,
    };
}

static void together_free(struct together *t)
{
    free(t->class);
    free(t->cost);
    free(t->beta);
    free(t->entry);
}

/* out (n, k) = K v; returns sum_c v_c'K v_c. */
static real together_product(const struct together *t, const real *v, real *out)
{
    real sum = 0;

    for (size_t i = 0; i < t->n; i++)
        for (size_t c = 0; c < t->k; c++) {
            real dot = 0;
            for (size_t j = 0; j < t->n; j++)
                dot += t->entry[i * t->n + j] * v[j * t->k + c];
            out[i * t->k + c] = dot;
            sum += v[i * t->k + c] * dot;
        }
    return sum;
}

/* p_ic of a dual point. */
static real together_share(const struct together *t, const real *g, size_t i,
                           size_t c)
{
    return (c == t->class[i]) - g[i * t->k + c] / t->cost[i];
}

/* C_i times the least p_ic, at least 0: row i can give that to each class. */
static real together_reserve(const struct together *t, const real *g, size_t i)
{
    real least = 1;
    for (size_t c = 0; c < t->k; c++)
        least = fminl(least, together_share(t, g, i, c));
    return t->cost[i] * fmaxl(least, 0);
}

/* Make the sums of g over the rows of each class 0. Rows give in proportion
 * to what they have, so that p is no less than 0 for it, and sums over classes
 * stay as they are. */
static void together_balance(const struct together *t, real *g)
{
    real *reserve = take(t->n, sizeof *reserve), total = 0;

    for (size_t i = 0; i < t->n; i++)
        total += reserve[i] = together_reserve(t, g, i);
    for (size_t c = 0; c < t->k && total > 0; c++) {
        real sum = 0;
        for (size_t i = 0; i < t->n; i++)
            sum += g[i * t->k + c];
        for (size_t i = 0; i < t->n; i++)
            g[i * t->k + c] -= sum * (reserve[i] / total);
    }
    free(reserve);
}

/* D of a point once its sums are 0; -infinite if that is none. `room` has n k
 * numbers. */
static real together_dual(const struct together *t, real *g, real *room)
{
    real entropies = 0;

    together_balance(t, g);
    for (size_t c = 0; c < t->k; c++) {
        real sum = 0, size = 0;
        for (size_t i = 0; i < t->n; i++) {
            real p = together_share(t, g, i, c);
            if (p < 0 || p > 1)
                return -INFINITY;
            entropies -= p > 0 ? t->cost[i] * p * logl(p) : 0;
            sum += g[i * t->k + c];
            size += fabsl(g[i * t->k + c]);
        }
        if (fabsl(sum) > 1e-12L * size)
            return -INFINITY;
    }
    return entropies - together_product(t, g, room) / 2;
}

static void together_report(const struct together *t)
{
    size_t k = t->k;
    real *u = take(t->n * k, sizeof *u), *g = take(t->n * k, sizeof *g);
    real form = together_product(t, t->beta, u), primal = form / 2;
    real zero = 0;

    for (size_t i = 0; i < t->n; i++) {
        real *f = u + i * k, most = -INFINITY, sum = 0;
        for (size_t c = 0; c < k; c++)
            most = fmaxl(most, f[c] -= t->rho[c]);
        for (size_t c = 0; c < k; c++)
            sum += expl(f[c] - most);
        sum = most + logl(sum);
        primal += t->cost[i] * (sum - f[t->class[i]]);
        zero += t->cost[i] * logl((real)k);
        for (size_t c = 0; c < k; c++) {
            real p = expl(f[c] - sum);
            g[i * k + c] = t->cost[i] * ((c == t->class[i]) - p);
        }
    }
    real lower = fmaxl(together_dual(t, g, u), together_dual(t, t->beta, u));
    printf("{\"n\":%zu", t->n);
    print_objectives(primal, lower, zero, 0);
    free(u);
    free(g);
}

#endif
