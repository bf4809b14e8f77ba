/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The baseline of Keerthi et al. (2005), Table 2: limited-memory BFGS (Nocedal
 * & Wright, Algorithm 7.5) with five pairs on the primal problem (1.5),
 *
 *   P(beta, rho) = 1/2 beta'K beta + C sum log(1 + e^(-y_i f_i)),
 *   f = K beta - rho,  K_ij = exp(-gamma |x_i - x_j|^2),
 *
 * from beta_i = y_i C / m, m the examples of its class, until P is as small as
 * what another solver reached, but for the rounding of its sums, 1e-10 of it.
 *
 *   lbfgs DATA GAMMA C OBJECTIVE SECONDS
 *
 * prints a line of JSON: objective, iterations, seconds without reading, and
 * whether the objective was reached. Labels are positive or not; K is kept, in
 * double. Along a direction f is linear in the step, so the search for one that
 * meets the weak Wolfe conditions costs no product with K; its halving and
 * doubling is Lewis & Overton's.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

enum { PAIRS = 5, DIMENSION = 300, STEPS_MOST = 60 };

struct problem {
    size_t n;
    double *x;      /* (n, DIMENSION) */
    double *y;      /* (n) +1 or -1 */
    double *kernel; /* (n, n) */
    double cost;
};

/* beta and, behind it, rho: (n + 1); u = K beta: (n). */
struct point {
    double *v, *u, *gradient;
    double value;
};

static void *need(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (!p) {
        fputs("lbfgs: no memory\n", stderr);
        exit(1);
    }
    return p;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* ---- The problem ---- */

static void read_row(char *line, double *x, double *y)
{
    char *at;
    *y = strtod(line, &at) > 0 ? 1 : -1;
    for (;;) {
        long index = strtol(at, &at, 10);
        if (*at != ':' || index < 1 || index > DIMENSION)
            return;
        x[index - 1] = strtod(at + 1, &at);
    }
}

static bool read_problem(struct problem *p, const char *path)
{
    char *line = NULL;
    size_t size = 0, room = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    while (getline(&line, &size, file) > 0) {
        if (p->n == room) {
            room = room ? 2 * room : 256;
            p->x = realloc(p->x, room * DIMENSION * sizeof *p->x);
            p->y = realloc(p->y, room * sizeof *p->y);
            if (!p->x || !p->y)
                exit(1);
        }
        double *x = p->x + p->n * DIMENSION;
        memset(x, 0, DIMENSION * sizeof *x);
        read_row(line, x, &p->y[p->n++]);
    }
    free(line);
    fclose(file);
    return p->n > 0;
}

static void fill_kernel(struct problem *p, double gamma)
{
    p->kernel = need(p->n * p->n, sizeof *p->kernel);
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j <= i; j++) {
            const double *a = p->x + i * DIMENSION, *b = p->x + j * DIMENSION;
            double sum = 0;
            for (int k = 0; k < DIMENSION; k++)
                sum += (a[k] - b[k]) * (a[k] - b[k]);
            p->kernel[i * p->n + j] = p->kernel[j * p->n + i] =
                exp(-gamma * sum);
        }
}

/* out = K v */
static void product(const struct problem *p, const double *v, double *out)
{
    for (size_t i = 0; i < p->n; i++)
        out[i] = dot(p->kernel + i * p->n, v, p->n);
}

/* P and, for the point at + t d with ku = K d, its slope along d. */
static double along(const struct problem *p, const struct point *at,
                    const double *d, const double *ku, double t, double *slope)
{
    size_t n = p->n;
    double dku = dot(d, ku, n), vku = dot(at->v, ku, n);
    double value = 0.5 * (dot(at->v, at->u, n) + t * (2 * vku + t * dku));
    *slope = vku + t * dku;
    for (size_t i = 0; i < n; i++) {
        double f = at->u[i] + t * ku[i] - at->v[n] - t * d[n];
        double z = -p->y[i] * f;
        value += p->cost * (fmax(z, 0) + log1p(exp(-fabs(z))));
        *slope -= p->cost * p->y[i] * (ku[i] - d[n]) / (1 + exp(-z));
    }
    return value;
}

/* K (beta - s), sum s with s_i = C y_i sigma(-y_i f_i). */
static void gradient(const struct problem *p, struct point *at, double *rest)
{
    size_t n = p->n;
    at->gradient[n] = 0;
    for (size_t i = 0; i < n; i++) {
        double f = at->u[i] - at->v[n];
        double s = p->cost * p->y[i] / (1 + exp(p->y[i] * f));
        rest[i] = at->v[i] - s;
        at->gradient[n] += s;
    }
    product(p, rest, at->gradient);
}

/* ---- The method ---- */

struct memory {
    double *s[PAIRS], *z[PAIRS], curvature[PAIRS];
    size_t count; /* pairs ever kept; the last PAIRS of them are there */
};

/* d = -H gradient, by the two loops of Algorithm 7.4. */
static void direction(const struct memory *m, const double *g, double *d,
                      size_t size)
{
    double a[PAIRS];
    size_t first = m->count > PAIRS ? m->count - PAIRS : 0;
    for (size_t i = 0; i < size; i++)
        d[i] = -g[i];
    for (size_t k = m->count; k-- > first;) {
        size_t at = k % PAIRS;
        a[at] = dot(m->s[at], d, size) / m->curvature[at];
        for (size_t i = 0; i < size; i++)
            d[i] -= a[at] * m->z[at][i];
    }
    if (m->count) {
        size_t at = (m->count - 1) % PAIRS;
        double scale = m->curvature[at] / dot(m->z[at], m->z[at], size);
        for (size_t i = 0; i < size; i++)
            d[i] *= scale;
    }
    for (size_t k = first; k < m->count; k++) {
        size_t at = k % PAIRS;
        double b = dot(m->z[at], d, size) / m->curvature[at];
        for (size_t i = 0; i < size; i++)
            d[i] += (a[at] - b) * m->s[at][i];
    }
}

/* A step that meets the weak Wolfe conditions, or 0. */
static double search(const struct problem *p, const struct point *at,
                     const double *d, const double *ku)
{
    double low = 0, high = INFINITY, t = 1, begin, slope;
    double value = along(p, at, d, ku, 0, &begin);
    for (int i = 0; i < STEPS_MOST && begin < 0; i++) {
        if (along(p, at, d, ku, t, &slope) > value + 1e-4 * t * begin)
            high = t;
        else if (slope < 0.9 * begin)
            low = t;
        else
            return t;
        t = isinf(high) ? 2 * t : 0.5 * (low + high);
    }
    return low;
}

/* Move by t d and keep the pair of differences. */
static void move(const struct problem *p, struct point *at, struct memory *m,
                 const double *d, const double *ku, double t, double *rest)
{
    size_t k = m->count % PAIRS, size = p->n + 1;
    double ignored;
    at->value = along(p, at, d, ku, t, &ignored);
    for (size_t i = 0; i < size; i++) {
        m->s[k][i] = t * d[i];
        m->z[k][i] = -at->gradient[i];
        at->v[i] += t * d[i];
        if (i < p->n)
            at->u[i] += t * ku[i];
    }
    gradient(p, at, rest);
    for (size_t i = 0; i < size; i++)
        m->z[k][i] += at->gradient[i];
    m->curvature[k] = dot(m->s[k], m->z[k], size);
    if (m->curvature[k] > 0)
        m->count++;
}

static void start(const struct problem *p, struct point *at, double *rest)
{
    double count[2] = {0, 0}, ignored;
    at->v = need(p->n + 1, sizeof *at->v);
    at->u = need(p->n, sizeof *at->u);
    at->gradient = need(p->n + 1, sizeof *at->gradient);
    for (size_t i = 0; i < p->n; i++)
        count[p->y[i] > 0]++;
    for (size_t i = 0; i < p->n; i++)
        at->v[i] = p->y[i] * p->cost / count[p->y[i] > 0];
    product(p, at->v, at->u);
    gradient(p, at, rest);
    at->value = along(p, at, rest, at->u, 0, &ignored);
}

int main(int argc, char **argv)
{
    struct problem p = {0};
    struct point at = {0};
    struct memory m = {0};
    long iterations = 0;
    if (argc != 6 || !read_problem(&p, argv[1])) {
        fputs("usage: lbfgs DATA GAMMA C OBJECTIVE SECONDS\n", stderr);
        return 2;
    }
    double begin = cpu_seconds(), most = atof(argv[5]);
    double goal = atof(argv[4]) * (1 + 1e-10);
    p.cost = atof(argv[3]);
    fill_kernel(&p, atof(argv[2]));
    for (int k = 0; k < PAIRS; k++) {
        m.s[k] = need(p.n + 1, sizeof(double));
        m.z[k] = need(p.n + 1, sizeof(double));
    }
    double *d = need(p.n + 1, sizeof *d), *ku = need(p.n, sizeof *ku);
    double *rest = need(p.n + 1, sizeof *rest);
    start(&p, &at, rest);
    while (at.value > goal && cpu_seconds() - begin < most) {
        direction(&m, at.gradient, d, p.n + 1);
        product(&p, d, ku);
        double t = search(&p, &at, d, ku);
        if (t == 0)
            break;
        move(&p, &at, &m, d, ku, t, rest);
        iterations++;
    }
    printf("{\"objective\": %.17g, \"iterations\": %ld, \"seconds\": %.6f, "
           "\"reached\": %s}\n",
           at.value, iterations, cpu_seconds() - begin,
           at.value <= goal ? "true" : "false");
    return 0;
}
