/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The baseline of Keerthi et al. (2005), Table 2: kernel logistic regression by
 * limited memory BFGS on the primal, (1.5),
 *
 *   E(beta, b) = 1/2 beta'K beta + C sum_i log(1 + exp(-y_i (u_i - b))),
 *   u = K beta,  dE/dbeta = K (beta - g),  dE/db = sum_i g_i,
 *   g_i = y_i C / (1 + exp(y_i (u_i - b))),
 *
 * with five pairs, from alpha_i = C / m for the m examples of a class, RBF
 * kernel. An evaluation takes two products with K, which is kept in doubles.
 * Ends when E <= TARGET, the objective that another solver has reached, as in
 * the paper; without one, or with 0, when the gradient has fallen to 1e-8 of
 * its first size; or when rounding hides every step. The larger label is y =
 * +1. Prints iterations, products, seconds without K, and the objective.
 *
 *   make build/klr.a
 *   cc -D_GNU_SOURCE -O3 -I. -pthread bench/lbfgs.c build/klr.a -lm \
 *      -o build/lbfgs
 *   build/lbfgs DATA C GAMMA [TARGET [LIMIT_SECONDS]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "solver.h"

enum { PAIRS = 5 };

struct point {
    double *x, *gradient; /* (n + 1): beta, b */
    double value;
};

struct lbfgs {
    size_t n;
    double c, *y, *k;    /* (n), (n, n) */
    double *u, *e;       /* (n) K beta, beta - g */
    double *d, *store;   /* (n + 1) the direction; all vectors */
    struct point at, to; /* where it is, and on the line from there */
    double *s[PAIRS], *z[PAIRS], rho[PAIRS]; /* changes of x and gradient */
    long pairs, products, iterations;
};

static double dot(size_t n, const double *a, const double *b)
{
    double part[8] = {0}, sum = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t t = 0; t < 8; t++)
            part[t] += a[i + t] * b[i + t];
    for (; i < n; i++)
        sum += a[i] * b[i];
    for (size_t t = 0; t < 8; t++)
        sum += part[t];
    return sum;
}

static void product(struct lbfgs *l, const double *x, double *out)
{
    for (size_t i = 0; i < l->n; i++)
        out[i] = dot(l->n, l->k + i * l->n, x);
    l->products++;
}

static void evaluate(struct lbfgs *l, struct point *p)
{
    double loss = 0, sum = 0, b = p->x[l->n];
    product(l, p->x, l->u);
    for (size_t i = 0; i < l->n; i++) {
        double z = l->y[i] * (l->u[i] - b), t = exp(-fabs(z));
        double g = l->y[i] * l->c * (z > 0 ? t : 1) / (1 + t);
        loss += l->c * (log1p(t) + (z < 0 ? -z : 0));
        l->e[i] = p->x[i] - g;
        sum += g;
    }
    p->value = 0.5 * dot(l->n, p->x, l->u) + loss;
    product(l, l->e, p->gradient);
    p->gradient[l->n] = sum;
}

/* d = minus the inverse Hessian of the last pairs, times the gradient, in two
 * loops. */
static void direction(struct lbfgs *l)
{
    size_t n = l->n + 1;
    double weight[PAIRS];
    long first = l->pairs > PAIRS ? l->pairs - PAIRS : 0;
    for (size_t i = 0; i < n; i++)
        l->d[i] = -l->at.gradient[i];
    for (long q = l->pairs - 1; q >= first; q--) {
        const double *s = l->s[q % PAIRS], *z = l->z[q % PAIRS];
        double w = l->rho[q % PAIRS] * dot(n, s, l->d);
        weight[q % PAIRS] = w;
        for (size_t i = 0; i < n; i++)
            l->d[i] -= w * z[i];
    }
    if (l->pairs > 0) {
        const double *z = l->z[(l->pairs - 1) % PAIRS];
        double scale = 1 / (l->rho[(l->pairs - 1) % PAIRS] * dot(n, z, z));
        for (size_t i = 0; i < n; i++)
            l->d[i] *= scale;
    }
    for (long q = first; q < l->pairs; q++) {
        const double *s = l->s[q % PAIRS], *z = l->z[q % PAIRS];
        double w = l->rho[q % PAIRS] * dot(n, z, l->d);
        for (size_t i = 0; i < n; i++)
            l->d[i] += (weight[q % PAIRS] - w) * s[i];
    }
}

/* To a point of the line that meets the weak Wolfe conditions, by doubling and
 * bisection; false if there is none within rounding. */
static bool search(struct lbfgs *l)
{
    size_t n = l->n + 1;
    double slope = dot(n, l->at.gradient, l->d), low = 0, high = INFINITY;
    double t =
        l->pairs > 0 ? 1 : 1 / sqrt(dot(n, l->at.gradient, l->at.gradient));
    for (int step = 0; step < 60 && slope < 0; step++) {
        for (size_t i = 0; i < n; i++)
            l->to.x[i] = l->at.x[i] + t * l->d[i];
        evaluate(l, &l->to);
        if (!(l->to.value <= l->at.value + 1e-4 * t * slope))
            high = t;
        else if (dot(n, l->to.gradient, l->d) < 0.9 * slope)
            low = t;
        else
            return true;
        t = isinf(high) ? 2 * t : 0.5 * (low + high);
    }
    return false;
}

/* The pair of this step; on to its end. */
static void keep(struct lbfgs *l)
{
    size_t n = l->n + 1, q = (size_t)(l->pairs % PAIRS);
    for (size_t i = 0; i < n; i++) {
        l->s[q][i] = l->to.x[i] - l->at.x[i];
        l->z[q][i] = l->to.gradient[i] - l->at.gradient[i];
    }
    double curvature = dot(n, l->s[q], l->z[q]);
    struct point old = l->at;
    l->at = l->to;
    l->to = old;
    if (curvature > 0) {
        l->rho[q] = 1 / curvature;
        l->pairs++;
    }
}

/* Why it ended. */
static const char *minimise(struct lbfgs *l, double target, double limit)
{
    double begin = klr_seconds();
    evaluate(l, &l->at);
    double least = 1e-16 * dot(l->n + 1, l->at.gradient, l->at.gradient);
    for (;;) {
        if (target > 0 && l->at.value <= target)
            return "target reached";
        if (dot(l->n + 1, l->at.gradient, l->at.gradient) <= least)
            return "gradient small";
        if (limit > 0 && klr_seconds() - begin > limit)
            return "time limit";
        direction(l);
        if (!search(l))
            return "no step";
        keep(l);
        l->iterations++;
    }
}

static int prepare(struct lbfgs *l, const struct klr_problem *data,
                   double gamma, struct klr_error *err)
{
    struct klr_kernel kernel = {.type = KLR_RBF, .gamma = gamma};
    struct klr_features x = {data->n, data->dimension, data->start, data->index,
                             data->value};
    struct klr_points *points = NULL;
    size_t n = data->n, room = n + 1, count[2] = {0, 0};
    int code = klr_points_create(&points, &kernel, &x, NULL, err);
    void *work = code ? NULL : klr_zalloc(1, klr_gram_workspace(points), err);
    l->n = n;
    l->k = klr_alloc(n * n, sizeof *l->k, err);
    l->store = klr_zalloc((8 + 2 * PAIRS) * room, sizeof *l->store, err);
    if (code || !work || !l->k || !l->store) {
        code = KLR_E_MEMORY;
        goto done;
    }
    double **vector[8] = {&l->y,    &l->u,           &l->e,    &l->d,
                          &l->at.x, &l->at.gradient, &l->to.x, &l->to.gradient};
    for (size_t t = 0; t < 8; t++)
        *vector[t] = l->store + t * room;
    for (size_t q = 0; q < PAIRS; q++) {
        l->s[q] = l->store + (8 + q) * room;
        l->z[q] = l->store + (8 + PAIRS + q) * room;
    }
    struct klr_range all = {0, n};
    klr_gram(points, all, points, (struct klr_set){&all, 1, n}, KLR_DOUBLE,
             l->k, n, work);
    double largest = data->label[0];
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, data->label[i]);
    for (size_t i = 0; i < n; i++) {
        l->y[i] = data->label[i] == largest ? 1 : -1;
        count[l->y[i] > 0]++;
    }
    for (size_t i = 0; i < n; i++)
        l->at.x[i] = l->y[i] * l->c / (double)count[l->y[i] > 0];
done:
    klr_free(work);
    klr_points_free(points);
    return code;
}

int main(int argc, char **argv)
{
    struct klr_problem data = {.n = 0};
    struct klr_error err = {.code = 0};
    struct lbfgs l = {.n = 0};
    if (argc < 4) {
        fputs("usage: lbfgs DATA C GAMMA [TARGET [LIMIT_SECONDS]]\n", stderr);
        return 2;
    }
    l.c = atof(argv[2]);
    int code = klr_problem_read(&data, argv[1], 0, &err);
    if (!code)
        code = prepare(&l, &data, atof(argv[3]), &err);
    if (!code) {
        double begin = klr_seconds();
        const char *why = minimise(&l, argc > 4 ? atof(argv[4]) : 0,
                                   argc > 5 ? atof(argv[5]) : 0);
        printf("%s: %ld iterations, %ld products, %.3f s, objective %.10g\n",
               why, l.iterations, l.products, klr_seconds() - begin,
               l.at.value);
    } else {
        fprintf(stderr, "lbfgs: %s: %s\n", argv[1], err.message);
    }
    klr_free(l.k);
    klr_free(l.store);
    klr_problem_free(&data);
    return code != 0;
}
