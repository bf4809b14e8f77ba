/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A start for the Newton method: the solution on a quarter of the examples,
 * found in the same way. A product with their part of K is a sixteenth of a
 * whole one, so that the steps which lead near the optimum, and those along a
 * path of C, cost next to nothing.
 *
 * Every fourth block of the positions of a class is taken, more often where a
 * class has few: what is computed are whole tiles of K, to be kept. C_i is
 * multiplied by what the class lacks. The losses are then about those of all
 * examples, and the decision values, which are what the start is about, too.
 */
#include "solver/newton.h"

struct subset {
    struct binary problem;
    size_t *row;             /* (n) its examples among all */
    struct klr_range *range; /* (n) */
    double *y, *weight;      /* (n) */
    double lack[2];          /* weight of the class over that taken */
};

static double subset_bytes(size_t n)
{
    return (double)n *
           (sizeof(size_t) + sizeof(struct klr_range) + 2 * sizeof(double));
}

static void subset_free(struct subset *s)
{
    klr_free(s->row);
    klr_free(s->range);
    klr_free(s->y);
    klr_free(s->weight);
}

/* ---- which examples ---- */

/* Goes through all examples. */
struct walk {
    struct klr_set set;
    size_t range, i, p;       /* the i-th, at position p */
    size_t count[2], last[2]; /* blocks met of each class, and the last one */
};

static struct walk walk_start(struct klr_set set)
{
    return (struct walk){.set = set, .p = set.range[0].begin};
}

/* The class of the present example, whose block is counted. */
static bool walk_class(struct walk *w, const double *y)
{
    bool class = y[w->i] > 0;
    size_t block = w->p / KLR_TILE;
    if (w->count[class] == 0 || block != w->last[class])
        w->count[class]++;
    w->last[class] = block;
    return class;
}

static void walk_step(struct walk *w)
{
    w->i++;
    if (++w->p == w->set.range[w->range].end && w->i < w->set.size)
        w->p = w->set.range[++w->range].begin;
}

/* One of how many blocks of a class is taken. */
static size_t subset_stride(size_t blocks)
{
    return blocks >= 8 ? 4 : blocks >= 4 ? 2 : 1;
}

static void subset_take(struct subset *s, const struct walk *w)
{
    struct klr_set *set = &s->problem.set;
    s->row[set->size++] = w->i;
    set->count =
        set_append(s->range, set->count, (struct klr_range){w->p, w->p + 1});
}

/* The examples, and what they lack. */
static void subset_choose(struct subset *s, const struct binary *all)
{
    size_t stride[2];
    double total[2] = {0, 0}, taken[2] = {0, 0};
    struct walk w = walk_start(all->set);
    for (; w.i < all->n; walk_step(&w))
        total[walk_class(&w, all->y)] += all->weight[w.i];
    for (int c = 0; c < 2; c++)
        stride[c] = subset_stride(w.count[c]);
    for (w = walk_start(all->set); w.i < all->n; walk_step(&w)) {
        bool class = walk_class(&w, all->y);
        if (w.count[class] % stride[class] != stride[class] / 2)
            continue;
        subset_take(s, &w);
        taken[class] += all->weight[w.i];
    }
    for (int c = 0; c < 2; c++)
        s->lack[c] = total[c] / taken[c];
}

/* Its problem; free it in any case. */
static int subset_create(struct subset *s, const struct binary *all,
                         struct klr_error *err)
{
    size_t n = all->n;
    struct binary *p = &s->problem;
    *s = (struct subset){.problem = *all};
    if (!(s->row = klr_alloc(n, sizeof *s->row, err)) ||
        !(s->range = klr_alloc(n, sizeof *s->range, err)) ||
        !(s->y = klr_alloc(n, sizeof *s->y, err)) ||
        !(s->weight = klr_alloc(n, sizeof *s->weight, err)))
        return KLR_E_MEMORY;
    p->set = (struct klr_set){.range = s->range};
    subset_choose(s, all);
    p->n = p->set.size;
    p->y = s->y;
    p->weight = s->weight;
    for (size_t k = 0; k < p->n; k++) {
        size_t i = s->row[k];
        s->y[k] = all->y[i];
        s->weight[k] = all->weight[i] * s->lack[all->y[i] > 0];
    }
    return 0;
}

/* Whether it is small enough to spare something, and has both classes. */
static bool subset_serves(const struct subset *s, size_t n)
{
    return s->problem.n <= n / 2 && isfinite(s->lack[0]) &&
           isfinite(s->lack[1]);
}

/* ---- the start ---- */

/* Its solution as a point of all examples; false where P there is larger than
 * at beta = 0, to which it returns then, or far above that of the subset: what
 * it says of other examples is misleading. Where P is near that, it speaks
 * for all, and g would tell nothing new. */
static bool subset_spread(const struct subset *s, const struct newton *sub,
                          const struct place *to, struct newton *nt)
{
    const struct binary *all = nt->problem, *p = &s->problem;
    const struct place from = {0};
    const double near = 1.25, far = 3;
    size_t bytes = nt->size * sizeof *nt->beta;
    nt->loss = to->loss;
    newton_set(nt, to->cost, &from, to);
    newton_evaluate(nt);
    double zero = nt->primal;
    for (size_t k = 0; k < p->n; k++)
        nt->beta[s->row[k]] = sub->beta[k];
    operator_apply(all->op, all->set, p->set, sub->beta, 1, nt->precision,
                   nt->u);
    newton_evaluate(nt);
    nt->progress.iterations = sub->progress.iterations + 1;
    nt->direction.precond.flops += sub->direction.precond.flops;
    if (nt->primal < fmin(zero, far * sub->primal)) {
        nt->spread = nt->ahead = nt->primal < near * sub->primal;
        return true;
    }
    nt->loss = from.loss;
    memset(nt->beta, 0, bytes);
    memset(nt->u, 0, bytes);
    return false;
}

static int subset_solve(const struct subset *s, struct newton *nt,
                        const struct place *to, bool *served,
                        struct klr_error *err)
{
    struct newton sub;
    const struct place from = {0};
    double cost;
    int code = newton_create(&sub, &s->problem, 1, err);
    sub.eps = fmax(nt->eps, 0.1);
    sub.progress.iterations = nt->progress.iterations;
    if (!code)
        code = newton_begin(&sub, to, &cost, err);
    if (!code) {
        newton_approach(&sub, cost, &from, to);
        *served = subset_spread(s, &sub, to, nt);
    }
    newton_free(&sub);
    return code;
}

static int subset_start(struct newton *nt, const struct place *to, bool *served,
                        struct klr_error *err)
{
    struct subset subset;
    int code = subset_create(&subset, nt->problem, err);
    *served = false;
    if (!code && subset_serves(&subset, nt->n))
        code = subset_solve(&subset, nt, to, served, err);
    subset_free(&subset);
    return code;
}
