/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shrinking (hinge only): variables at a bound that cannot take part in a step
 * are set aside. Examples in work stand first, in their original order; behind
 * them those set aside, turn by turn, the first at the end. Cached rows keep
 * all columns: a whole row costs less to compute than a quarter of its columns
 * scattered over it. Steps gather those in work, see smo_rows.c, which pays if
 * they are few; such rows are cached, too.
 *
 * s of the examples set aside stays as it was, and the alphas of that time are
 * kept. To know s again takes the rows of alphas that have changed since: steps
 * have asked for them, and most are still in the cache.
 */
#include "solver/smo/smo_parts.h"

/* The part of the examples in work that may stay there if others are set aside.
 */
static const double smo_worth = 0.7;

/* Put example `from` of a into place `to` of b. */
static void smo_copy(const struct smo *a, size_t from, struct smo *b, size_t to)
{
    b->example[to] = a->example[from];
    b->s[to] = a->s[from];
    b->hessian[to] = a->hessian[from];
    b->side[to] = a->side[from];
}

/* The first `count` examples of the spare arrays become the current ones. */
static void smo_take_spare(struct smo *smo, size_t count)
{
    for (size_t k = 0; k < count; k++)
        smo_copy(smo->spare, k, smo, k);
}

/* True if an example is idle: at a bound, and beyond all others. It can only
 * fall and its s is above `most`, or only rise and its s is below `least`. */
static bool smo_is_idle(const struct smo *smo, size_t k, double most,
                        double least)
{
    return (smo->side[k] == SMO_CAN_FALL && smo->s[k] > most) ||
           (smo->side[k] == SMO_CAN_RISE && smo->s[k] < least);
}

/* Keep the alphas of this time. */
static int smo_remember(struct smo *smo, struct klr_error *err)
{
    struct smo_turn *turn = &smo->turn[smo->turns];
    if (!turn->alpha && !KLR_TAKE(&smo->arena, turn->alpha, smo->n, 1, err))
        return KLR_E_MEMORY;
    for (size_t k = 0; k < smo->n; k++)
        turn->alpha[smo->example[k].local] = smo->example[k].alpha;
    turn->end = smo->active;
    smo->turns++;
    return 0;
}

/* True if examples may be set aside. To take them back costs the rows of all
 * alphas that have changed. In the first n steps a row may have been asked for
 * once only, and be gone by then; so no more rows may be in work than steps ask
 * for anyway. The room of the cache must not count: no result may depend on it.
 */
static bool smo_can_make_up(const struct smo *smo, size_t kept)
{
    return kept <= 2 * SMO_OFTEN ||
           smo->progress.iterations >= (long long)smo->n;
}

static int smo_shrink(struct smo *smo, double most, double least,
                      struct klr_error *err)
{
    size_t count = smo->active, kept = 0, aside = 0;
    for (size_t k = 0; k < count; k++)
        kept += !smo_is_idle(smo, k, most, least);
    if ((double)kept > smo_worth * (double)count || smo->turns == SMO_TURNS ||
        !smo_can_make_up(smo, kept))
        return 0;
    if (smo_remember(smo, err))
        return KLR_E_MEMORY;
    kept = 0;
    for (size_t k = 0; k < count; k++)
        smo_copy(smo, k, smo->spare,
                 smo_is_idle(smo, k, most, least) ? count - ++aside : kept++);
    smo_take_spare(smo, count);
    smo_set_active(smo, kept);
    return 0;
}

/* True if alpha is not what it was at every turn. */
static bool smo_has_changed(const struct smo *smo, const struct smo_example *e)
{
    size_t q = 0;
    while (q < smo->turns && smo->turn[q].alpha[e->local] == e->alpha)
        q++;
    return q < smo->turns;
}

/* The rows of some alphas that have changed. */
struct smo_changes {
    struct smo *smo;
    struct klr_shares aside; /* the examples that are */
    size_t count, index[SMO_FETCH];
    const void *row[SMO_FETCH];
};

/* s of some of those set aside, by a row: each lacks what has changed since its
 * turn. */
static void smo_make_up(struct smo *smo, size_t i, const void *row,
                        struct klr_range some)
{
    const struct smo_example *e = &smo->example[i];
    for (size_t q = 0; q < smo->turns; q++) {
        const struct smo_turn *turn = &smo->turn[q];
        double t = e->y * (e->alpha - turn->alpha[e->local]);
        size_t begin = q + 1 < smo->turns ? turn[1].end : smo->active;
        size_t end = turn->end < some.end ? turn->end : some.end;
        begin = begin > some.begin ? begin : some.begin;
        for (size_t k = begin; k < end && t != 0; k++)
            smo->s[k] -=
                t * smo_entry(row, smo->precision, smo->example[k].local);
    }
}

static void make_up_task(void *context, size_t task, size_t thread)
{
    const struct smo_changes *c = context;
    size_t begin, end = klr_share(c->aside, task, &begin);
    struct klr_range some = {c->smo->active + begin, c->smo->active + end};
    for (size_t q = 0; q < c->count; q++)
        smo_make_up(c->smo, c->index[q], c->row[q], some);
    (void)thread;
}

/* Bring s of the examples set aside up to date, by the rows of all alphas that
 * have changed. False if the clock ended that. */
static bool smo_make_up_all(struct smo *smo)
{
    struct smo_changes c = {
        .smo = smo,
        .aside = klr_shares_of(smo->n - smo->active, SMO_SHARE, SIZE_MAX)};
    size_t room = klr_cache_room(smo->cache);
    size_t most = room < SMO_FETCH ? room : SMO_FETCH;
    for (size_t i = 0; i < smo->n; i++) {
        if (smo_has_changed(smo, &smo->example[i]))
            c.index[c.count++] = i;
        if (c.count == 0 || (c.count < most && i + 1 < smo->n))
            continue;
        if (!smo_have_rows(smo, c.index, c.count))
            return false;
        for (size_t q = 0; q < c.count; q++)
            c.row[q] = smo_whole_row(smo, c.index[q]);
        if (!klr_pool_run(smo->problem->op->pool, c.aside.count, make_up_task,
                          &c))
            return false;
        c.count = 0;
    }
    return true;
}

/* As smo_make_up_all, for a linear kernel, whose products are cheap. */
static int smo_make_up_linear(struct smo *smo, struct klr_error *err)
{
    double *product = klr_zalloc(smo->n, sizeof *product, err);
    if (!product)
        return KLR_E_MEMORY;
    smo->stale = smo_products(smo, false, product) != KLR_CONVERGED;
    for (size_t k = smo->active; k < smo->n && !smo->stale; k++) {
        const struct smo_example *e = &smo->example[k];
        double slope = conjugate_slope(&smo->loss, e->alpha, e->cost);
        smo->s[k] = product[e->local] - e->y * slope;
    }
    klr_free(product);
    return 0;
}

/* All examples in their original order. */
static void smo_reorder(struct smo *smo)
{
    for (size_t k = 0; k < smo->n; k++)
        smo_copy(smo, k, smo->spare, smo->example[k].local);
    smo_take_spare(smo, smo->n);
    smo_set_active(smo, smo->n);
    smo->turns = 0;
}

static int smo_restore(struct smo *smo, struct klr_error *err)
{
    int code = 0;
    if (smo->active == smo->n)
        return 0;
    if (smo->problem->op->groups)
        code = smo_make_up_linear(smo, err);
    else
        smo->stale = !smo_make_up_all(smo);
    smo_reorder(smo);
    return code;
}

static int smo_resume(struct smo *smo, bool *optimal, struct klr_error *err)
{
    double most, least;
    int code = smo_restore(smo, err);
    *optimal = false;
    if (code || clock_stopped(smo->problem->clock))
        return code;
    smo_extremes(smo, &most, &least);
    *optimal = !(most - least > smo->eps); /* nor a number: no step is left */
    return *optimal ? 0 : smo_shrink(smo, most, least, err);
}
