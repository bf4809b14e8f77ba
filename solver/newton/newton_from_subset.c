/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A start for the Newton method: the solution on a quarter of the examples,
 * found in the same way. A product with their part of K is a sixteenth of a
 * whole one, so that the steps which lead near the optimum, and those along a
 * path of C, cost next to nothing.
 *
 * Every fourth block of the positions of a class is drawn, more often where a
 * class has few: what is computed are whole tiles of K, to be kept. C_i is
 * multiplied by what the class lacks. The losses are then about those of all
 * examples, and the decision values, which are what the start is about, too.
 *
 * At a large C few examples may hold nearly all of alpha, and those drawn say
 * nothing of the others. Where P of all is far above that of the subset, the
 * examples of the largest alpha there join it for certain, with their own C_i;
 * those drawn stand for the rest. Such a subset is solved from the present
 * point, and the next one after it, as long as that helps.
 */
#include "solver/newton/newton_parts.h"

enum {
    SUBSET_BINS = 256,
    SUBSET_CERTAIN = 32, /* the part of all that may be certain, at most */
    SUBSET_ROUNDS = 5
};

/* |alpha_i k_i|^2 of the others sum up to at most so much of P. */
static const double subset_rest = 1e-3;

/* P of all over that of a subset which speaks for all. */
static const double subset_near = 1.25;

enum subset_part { PART_OUT, PART_DRAWN, PART_CERTAIN };

struct subset {
    struct binary_problem problem;
    unsigned char *part;     /* (n) of all: see subset_part */
    size_t *row;             /* (n) its examples among all */
    struct klr_range *range; /* (n) */
    double *y, *weight;      /* (n) */
    double lack[2];          /* weight of the class over that drawn */
};

static double subset_bytes(size_t n)
{
    return (double)n *
           (1 + sizeof(size_t) + sizeof(struct klr_range) + 2 * sizeof(double));
}

static void subset_free(struct subset *s)
{
    klr_free(s->part);
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

/* Draw blocks of examples. */
static void subset_draw(struct subset *s, const struct binary_problem *all)
{
    size_t stride[2];
    struct walk w = walk_start(all->set);
    for (; w.i < all->n; walk_step(&w))
        walk_class(&w, all->y);
    for (int c = 0; c < 2; c++)
        stride[c] = subset_stride(w.count[c]);
    for (w = walk_start(all->set); w.i < all->n; walk_step(&w)) {
        bool class = walk_class(&w, all->y);
        if (w.count[class] % stride[class] == stride[class] / 2)
            s->part[w.i] = PART_DRAWN;
    }
}

/* Set `lack`: examples drawn stand for all that are not certain. */
static void subset_compare(struct subset *s, const struct binary_problem *all)
{
    double total[2] = {0, 0}, drawn[2] = {0, 0};
    for (size_t i = 0; i < all->n; i++) {
        bool class = all->y[i] > 0;
        if (s->part[i] != PART_CERTAIN)
            total[class] += all->weight[i];
        if (s->part[i] == PART_DRAWN)
            drawn[class] += all->weight[i];
    }
    for (int c = 0; c < 2; c++)
        s->lack[c] = total[c] / drawn[c];
}

/* The problem of the examples drawn and those that are certain. */
static void subset_form(struct subset *s, const struct binary_problem *all)
{
    struct binary_problem *p = &s->problem;
    p->set = (struct klr_set){.range = s->range};
    subset_compare(s, all);
    for (struct walk w = walk_start(all->set); w.i < all->n; walk_step(&w)) {
        size_t k = p->set.size;
        bool class = all->y[w.i] > 0, certain = s->part[w.i] == PART_CERTAIN;
        if (s->part[w.i] == PART_OUT)
            continue;
        s->y[k] = all->y[w.i];
        s->weight[k] = all->weight[w.i] * (certain ? 1 : s->lack[class]);
        subset_take(s, &w);
    }
    p->n = p->set.size;
}

/* Its problem; free it in any case. */
static int subset_create(struct subset *s, const struct binary_problem *all,
                         struct klr_error *err)
{
    size_t n = all->n;
    *s = (struct subset){.problem = *all};
    if (!(s->part = klr_zalloc(n, sizeof *s->part, err)) ||
        !(s->row = klr_alloc(n, sizeof *s->row, err)) ||
        !(s->range = klr_alloc(n, sizeof *s->range, err)) ||
        !(s->y = klr_alloc(n, sizeof *s->y, err)) ||
        !(s->weight = klr_alloc(n, sizeof *s->weight, err)))
        return KLR_E_MEMORY;
    s->problem.y = s->y;
    s->problem.weight = s->weight;
    subset_draw(s, all);
    subset_form(s, all);
    return 0;
}

/* True if the subset is small enough to save time, and has both classes. */
static bool subset_serves(const struct subset *s, size_t n)
{
    return s->problem.n <= n / 2 && isfinite(s->lack[0]) &&
           isfinite(s->lack[1]);
}

/* ---- examples that are certain ---- */

/* |alpha_i k_i|^2 of the dual point. */
static double subset_square(const struct newton *nt, size_t i)
{
    return nt->g[i] * nt->g[i] * nt->direction.diagonal[i];
}

/* In powers of two, the largest first. */
static size_t subset_bin(const struct newton *nt, size_t i)
{
    int exponent;
    double square = subset_square(nt, i);
    frexp(square, &exponent);
    exponent = SUBSET_BINS / 2 - exponent;
    if (!(square > 0) || exponent >= SUBSET_BINS)
        return SUBSET_BINS - 1;
    return exponent < 0 ? 0 : (size_t)exponent;
}

/* The first bin of examples that need not be certain: the others do, or there
 * is no room for more. */
static size_t subset_end(const struct subset *s, const struct newton *nt)
{
    double sum[SUBSET_BINS] = {0}, rest = 0;
    size_t count[SUBSET_BINS] = {0}, needed = SUBSET_BINS, end = 0, taken = 0;
    for (size_t i = 0; i < nt->n; i++) {
        size_t bin = subset_bin(nt, i);
        sum[bin] += subset_square(nt, i);
        count[bin] += s->part[i] != PART_CERTAIN;
        taken += s->part[i] == PART_CERTAIN;
    }
    while (needed > 0 &&
           rest + sum[needed - 1] <= subset_rest * fabs(nt->primal))
        rest += sum[--needed];
    while (end < needed && taken + count[end] <= nt->n / SUBSET_CERTAIN)
        taken += count[end++];
    return end;
}

/* Examples become certain, by alpha at the present point of all. False if there
 * are no new ones. */
static bool subset_add(struct subset *s, struct newton *nt)
{
    bool added = false;
    nt->functions->gradient(nt);
    size_t end = subset_end(s, nt);
    for (size_t i = 0; i < nt->n; i++)
        if (s->part[i] != PART_CERTAIN && subset_bin(nt, i) < end) {
            s->part[i] = PART_CERTAIN;
            added = true;
        }
    if (added)
        subset_form(s, nt->problem);
    return added;
}

/* ---- the start ---- */

/* K times its solution at all examples: its own ones have that already. False:
 * the clock ended it. */
static bool subset_multiply(const struct subset *s, const struct newton *sub,
                            struct newton *nt)
{
    const struct binary_problem *all = nt->problem, *p = &s->problem;
    struct direction *d = &nt->direction; /* whose workspace is free */
    size_t count = 0, others = 0;
    for (struct walk w = walk_start(all->set); w.i < all->n; walk_step(&w))
        if (s->part[w.i] == PART_OUT) {
            count =
                set_append(d->range, count, (struct klr_range){w.p, w.p + 1});
            d->row[others++] = w.i;
        }
    struct klr_set rest = {d->range, count, others};
    if (!operator_apply(all->op, rest, p->set, sub->beta, 1, nt->precision,
                        nt->x))
        return false;
    for (size_t k = 0; k < others; k++)
        nt->u[d->row[k]] = nt->x[k];
    for (size_t k = 0; k < p->n; k++)
        nt->u[s->row[k]] = sub->u[k];
    return true;
}

/* Make the subset's solution a point of all examples. Returns P there over P of
 * the subset, or infinity if P is larger than `zero`, that of beta = 0: then
 * the subset misleads about the other examples. If the clock ends it, the
 * solution is the answer, and its P is not known. */
static double subset_spread(const struct subset *s, const struct newton *sub,
                            double zero, struct newton *nt)
{
    const struct binary_problem *p = &s->problem;
    for (size_t k = 0; k < p->n; k++)
        nt->beta[s->row[k]] = sub->beta[k];
    nt->progress.iterations = sub->progress.iterations + 1;
    nt->direction.precond.flops += sub->direction.precond.flops;
    newton_copy(nt, nt->rho, sub->rho);
    if (!subset_multiply(s, sub, nt)) {
        nt->unproven = dot(p->n, sub->beta, sub->beta) > 0;
        return INFINITY;
    }
    newton_evaluate(nt);
    return nt->primal < zero ? nt->primal / sub->primal : INFINITY;
}

/* Begin the subset at the present point of all examples. */
static void subset_restrict(const struct subset *s, const struct newton *nt,
                            const struct place *to, struct newton *sub)
{
    sub->loss = to->loss;
    for (size_t k = 0; k < s->problem.n; k++) {
        sub->beta[k] = nt->beta[s->row[k]];
        sub->u[k] = nt->u[s->row[k]];
    }
}

/* Solve for the subset: the first one along a path from 0, later ones from the
 * present point. *ratio is that of subset_spread. */
static int subset_solve(const struct subset *s, struct newton *nt,
                        const struct place *to, double zero, bool first,
                        double *ratio, struct klr_error *err)
{
    struct newton sub;
    const struct place from = {0};
    double cost = to->cost;
    int code = newton_create(&sub, &s->problem, 1, err);
    sub.is_start = true;
    sub.eps = fmax(nt->eps, 0.1);
    sub.progress.iterations = nt->progress.iterations;
    if (!code && first)
        code = newton_begin(&sub, to, &cost, err);
    if (!code) {
        if (!first)
            subset_restrict(s, nt, to, &sub);
        newton_approach(&sub, cost, &from, to);
        *ratio = subset_spread(s, &sub, zero, nt);
        if (sub.direction.distrusted)
            direction_distrust(&nt->direction);
    }
    newton_free(&sub);
    return code;
}

/* One subset after the other, until P of all is near that of the subset, or
 * another one does not bring it much nearer. */
static int subset_rounds(struct subset *s, struct newton *nt,
                         const struct place *to, double *ratio,
                         struct klr_error *err)
{
    const double good = 1.02;
    double before = INFINITY, zero = nt->primal;
    int code = subset_solve(s, nt, to, zero, true, ratio, err);
    if (*ratio <= subset_near)
        return code;
    for (int round = 1; !code && round < SUBSET_ROUNDS; round++) {
        bool much = isinf(before) || *ratio - 1 < 0.5 * (before - 1);
        if (*ratio <= good || !much || clock_stopped(nt->problem->clock) ||
            !subset_add(s, nt) || !subset_serves(s, nt->n))
            break;
        before = *ratio;
        code = subset_solve(s, nt, to, zero, false, ratio, err);
    }
    return code;
}

/* Back to beta = 0, before the first C. */
static void subset_leave(struct newton *nt)
{
    nt->loss = (struct loss){0};
    memset(nt->beta, 0, nt->size * sizeof *nt->beta);
    memset(nt->u, 0, nt->size * sizeof *nt->u);
}

/* If P is near that of the subset, the subset speaks for all, and the dual
 * point g would tell nothing new. If P is far above, the subset is of no use.
 */
static int subset_start(struct newton *nt, const struct place *to, bool *served,
                        struct klr_error *err)
{
    const double far = 3;
    const struct place from = {0};
    struct subset subset;
    double ratio = INFINITY;
    int code = subset_create(&subset, nt->problem, err);
    if (!code && subset_serves(&subset, nt->n)) {
        nt->loss = to->loss;
        newton_set(nt, to->cost, &from, to);
        newton_evaluate(nt);
        code = subset_rounds(&subset, nt, to, &ratio, err);
    }
    *served = ratio < far || nt->unproven;
    nt->plan.from_subset = nt->beta_is_dual = ratio < subset_near;
    if (!*served)
        subset_leave(nt);
    subset_free(&subset);
    if (newton_bytes(subset.problem.n) > 0.25 * params_beside)
        klr_give_back(); /* what follows is allocated already */
    return code;
}
