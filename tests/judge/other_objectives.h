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
 * p_ic, where sum_i g_ic = 0. beta is nearly such a point, too: the largest D
 * between the two counts, each with its sums made 0.
 */
#ifndef KLR_TESTS_OTHER_OBJECTIVES_H
#define KLR_TESTS_OTHER_OBJECTIVES_H

#include "tests/judge/objectives.h"

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

/* C_i times the lesser p_i of two classes, at least 0: row i can give that to
 * either. */
static real together_reserve(const struct together *t, const real *g, size_t i,
                             size_t a, size_t b)
{
    real least = fminl(together_share(t, g, i, a), together_share(t, g, i, b));
    return t->cost[i] * fmaxl(least, 0);
}

/* Move as much from the sum of class a to that of class b as makes one of them
 * 0, or half of what there is. Rows give in proportion to what they have, so
 * that p is no less than 0 for it, and sums over classes stay as they are. */
static void together_move(const struct together *t, real *g, size_t a, size_t b)
{
    real sum[2] = {0, 0}, total = 0, *reserve = take(t->n, sizeof *reserve);

    for (size_t i = 0; i < t->n; i++) {
        sum[0] += g[i * t->k + a];
        sum[1] += g[i * t->k + b];
        total += reserve[i] = together_reserve(t, g, i, a, b);
    }
    real amount = fminl(fminl(sum[0], -sum[1]), total / 2);
    for (size_t i = 0; i < t->n && amount > 0; i++) {
        g[i * t->k + a] -= amount * (reserve[i] / total);
        g[i * t->k + b] += amount * (reserve[i] / total);
    }
    free(reserve);
}

/* Make the sums of g over the rows of each class 0. */
static void together_balance(const struct together *t, real *g)
{
    for (size_t a = 0; a < t->k; a++)
        for (size_t b = 0; b < t->k; b++)
            if (a != b)
                together_move(t, g, a, b);
}

/* For sums that are not quite 0 D is too large by that at most, at an optimum
 * whose rho is no more than twice the model's; infinite if they are far off. */
static real together_unbalanced(const struct together *t, const real *g)
{
    real error = 0;

    for (size_t c = 0; c < t->k; c++) {
        real sum = 0, size = 0;
        for (size_t i = 0; i < t->n; i++) {
            sum += g[i * t->k + c];
            size += fabsl(g[i * t->k + c]);
        }
        error +=
            fabsl(sum) > 1e-10L * size ? INFINITY : 2 * fabsl(sum * t->rho[c]);
    }
    return error;
}

/* sum_c a_c'K b_c for columns whose sums are 0, of entries less those of row
 * and column 0: a large constant of the kernel is gone. */
static real together_form(const struct together *t, const real *a,
                          const real *b)
{
    const real *entry = t->entry;
    real sum = 0;

    for (size_t i = 0; i < t->n; i++)
        for (size_t j = 0; j < t->n; j++) {
            real dot = 0;
            for (size_t c = 0; c < t->k; c++)
                dot += a[i * t->k + c] * b[j * t->k + c];
            sum += dot * ((entry[i * t->n + j] - entry[j]) -
                          (entry[i * t->n] - entry[0]));
        }
    return sum;
}

/* -sum_i C_i sum_c p_ic log p_ic of g + s d; -infinite if that has no p. */
static real together_entropy(const struct together *t, const real *g, real s,
                             const real *d)
{
    real sum = 0;

    for (size_t i = 0; i < t->n; i++)
        for (size_t c = 0; c < t->k; c++) {
            size_t at = i * t->k + c;
            real q = (g[at] + s * d[at]) / t->cost[i];
            real p = (c == t->class[i]) - q;
            if (p < 0 || p > 1)
                return -INFINITY;
            if (p > 0)
                sum -=
                    t->cost[i] * p * (c == t->class[i] ? log1pl(-q) : logl(-q));
        }
    return sum;
}

/* No p_ic is less than 0, and sums over classes are 0. */
static void together_clip(const struct together *t, real *g)
{
    for (size_t i = 0; i < t->n; i++) {
        real *row = g + i * t->k, *own = row + t->class[i];
        *own = 0;
        for (size_t c = 0; c < t->k; c++)
            if (row + c != own) {
                row[c] = fminl(row[c], 0);
                *own -= row[c];
            }
    }
}

/* The largest D on the way from g to the other point, each once its sums are 0,
 * or of one of them; -infinite if neither is a point of the dual. */
static real together_dual(const struct together *t, real *g, real *other)
{
    real low = 0, high = 1, d[2], off, more;

    together_clip(t, other);
    together_balance(t, g);
    together_balance(t, other);
    off = together_unbalanced(t, g);
    more = together_unbalanced(t, other);
    for (size_t at = 0; at < t->n * t->k; at++) {
        g[at] = isfinite(off) ? g[at] : other[at];
        other[at] = isfinite(more) ? other[at] - g[at] : 0;
    }
    off = isfinite(off) && isfinite(more) ? off + more : fminl(off, more);
    real gg = together_form(t, g, g), gd = together_form(t, g, other);
    real dd = together_form(t, other, other);
    for (int step = 0; step < 200; step++) {
        real s[2] = {low + (high - low) / 3, high - (high - low) / 3};
        for (int e = 0; e < 2; e++)
            d[e] = together_entropy(t, g, s[e], other) - gg / 2 - s[e] * gd -
                   s[e] * s[e] * dd / 2;
        if (d[0] < d[1])
            low = s[0];
        else
            high = s[1];
    }
    return fmaxl(together_entropy(t, g, 0, other) - gg / 2, d[0]) - off;
}

static void together_report(const struct together *t)
{
    size_t k = t->k;
    real *u = take(t->n * k, sizeof *u), *g = take(t->n * k, sizeof *g);
    real form = together_product(t, t->beta, u), primal = form / 2;
    real zero = 0;

    for (size_t i = 0; i < t->n; i++) {
        real *f = u + i * k, most, others = 0;
        size_t y = t->class[i];
        for (size_t c = 0; c < k; c++)
            f[c] -= t->rho[c];
        most = f[y];
        for (size_t c = 0; c < k; c++)
            most = fmaxl(most, f[c]);
        for (size_t c = 0; c < k; c++)
            others += c == y ? 0 : expl(f[c] - most);
        real mine = expl(f[y] - most);
        g[i * k + y] = 0;
        for (size_t c = 0; c < k; c++)
            if (c != y) {
                g[i * k + c] =
                    -t->cost[i] * expl(f[c] - most) / (mine + others);
                g[i * k + y] -= g[i * k + c];
            }
        primal +=
            t->cost[i] *
            (most == f[y] ? log1pl(others) : most + logl(mine + others) - f[y]);
        zero += t->cost[i] * logl((real)k);
    }
    real lower = together_dual(t, g, t->beta);
    printf("{\"n\":%zu", t->n);
    print_objectives(primal, lower, zero, 0);
    free(u);
    free(g);
}

#endif
