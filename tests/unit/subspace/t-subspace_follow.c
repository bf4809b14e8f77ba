/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The way from y alpha = g to a dual point of two classes: as far as the box
 * allows, no farther, and with a sum of 0 at its end, if there is a bias.
 */
#define SOLVER_FLOOR 5
#include "solver.c"

#include "tests/larger.h"
#include "tests/tap.h"

enum { MOST_N = 40000 };

static double y[MOST_N], cost[MOST_N], g[MOST_N], way[MOST_N], dual[MOST_N];

struct follow_case {
    const char *name;
    size_t n, pair; /* examples; the two that end the way, or n */
    double box, t;
    bool no_bias, upper;
};

/* g within the box, and a way, both of sum 0. One example, `pair`, is so near
 * an end of its box that the way ends there, at 1/4; the next ends it at 3/4.
 */
static void make(const struct follow_case *c)
{
    for (size_t i = 0; i < c->n; i++) {
        y[i] = i % 2 ? 1 : -1;
        cost[i] = 4 + (double)(i / 2 % 3);
        g[i] = y[i] * (1 + (double)(i / 2 % 7) / 8);
        way[i] = y[i] * ((double)(i / 2 % 5) / 8 - 0.25);
    }
    for (size_t i = c->pair; i < c->n && i < c->pair + 2; i++) {
        double from_end = c->box + (i == c->pair ? 1 : 3);
        g[i] = y[i] * (c->upper ? cost[i] - from_end : from_end);
        way[i] = y[i] * (c->upper ? -4 : 4);
    }
    for (size_t k = 2; c->pair < c->n && k < 5; k += 2) {
        size_t i = (c->pair + k + c->upper) % c->n;
        g[i] += y[i];
    }
}

/* By how much alpha is out of its box, at most. */
static double outside(const struct follow_case *c, const double *point)
{
    double worst = 0;
    for (size_t i = 0; i < c->n; i++) {
        double alpha = y[i] * point[i];
        worst = larger_of(worst, c->box - alpha);
        worst = larger_of(worst, alpha - (cost[i] - c->box));
    }
    return worst;
}

static void check(const struct follow_case *c, struct klr_pool *pool,
                  double slope, double expected)
{
    struct klr_params params = {.no_bias = c->no_bias};
    struct klr_operator op = {.pool = pool};
    struct binary_problem problem = {.n = c->n, .op = &op, .params = &params};
    struct subspace s = {
        .problem = &problem, .n = c->n, .m = 1, .size = 1, .slope = &slope};
    double moved, sum = 0, off = 0;
    s.loss.box = c->box;
    s.all = (struct fit){.n = c->n, .y = y, .cost = cost, .g = g};
    make(c);
    memcpy(dual, way, sizeof dual);
    double t = subspace_two_classes.follow(&s, c->t, dual, &moved);
    for (size_t i = 0; i < c->n; i++) {
        sum += dual[i];
        off += fabs(dual[i] - (g[i] - t * way[i]));
    }
    ok(t == expected, "%s: a step of %g", c->name, t);
    ok(outside(c, dual) <= 0, "... in the box");
    ok(c->no_bias || fabs(sum) < 1e-9, "... of sum 0");
    ok(moved > 0 ? off > 0 && off < moved + 1e-9 : off == 0,
       "... moved by %.3g: %g", off, moved);
}

int main(void)
{
    static const struct follow_case cases[] = {
        {"nothing in the way", 1000, 1000, 0, 1, false, false},
        {"the lower end", 1000, 10, 0, 1, false, false},
        {"the upper end", 1000, 10, 0, 1, false, true},
        {"the last of many", MOST_N, MOST_N - 2, 0, 1, false, true},
        {"the first of many", MOST_N, 0, 0, 1, false, false},
        {"a narrower box", 1000, 500, 0.25, 1, false, true},
        {"without a bias", 1000, 500, 0.25, 1, true, false},
        {"a short way", 1000, 500, 0.25, 0.125, false, false},
    };
    struct klr_pool *pool;
    klr_pool_create(&pool, 3, NULL);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const struct follow_case *c = &cases[k];
        bool ends = c->pair < c->n && c->t > 0.25;
        check(c, k % 2 ? pool : NULL, 0, ends ? 0.25 : c->t);
    }
    /* to cut off moves the point by 6 at most, a shorter step by 3/4 of it */
    check(&cases[5], NULL, 1e3, 1);
    check(&cases[6], pool, 1e3, 1);
    check(&cases[5], NULL, 1, 0.25);
    klr_pool_free(pool);
    return done_testing();
}
