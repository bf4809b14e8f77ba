/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which points span the subspace, and the factor R of their kernels. What is
 * spanned by the points before, to the tolerance, is no point: then the
 * subspace is that of all that were chosen, and R keeps its digits.
 */
#include "solver/subspace/subspace_parts.h"

/* K_MM, being formed. */
struct point_span {
    struct subspace *s;
    size_t *order; /* (n) the points' numbers, (m) in the set's order */
    struct klr_range *range; /* (m) */
    struct klr_set set;      /* the points */
    bool *drop;              /* (m) */
};

/* The points as a set. */
static void span_sort(struct point_span *span)
{
    const struct subspace *s = span->s;
    size_t ranges = 0;
    memset(span->order, 0, s->n * sizeof *span->order);
    for (size_t k = 0; k < s->m; k++)
        span->order[s->member[k]] = k + 1;
    for (size_t i = 0, k = 0; i < s->n; i++) {
        if (span->order[i] == 0)
            continue;
        size_t at = subspace_place(s, i);
        span->range[ranges++] = (struct klr_range){at, at + 1};
        span->order[k++] = span->order[i] - 1; /* k <= i */
    }
    span->set = (struct klr_set){span->range, ranges, s->m};
}

/* Some rows of K_MM into the upper triangle of R; sheets of sweeps are at rest.
 */
static void span_task(void *context, size_t task, size_t thread)
{
    const struct point_span *span = context;
    struct subspace *s = span->s;
    const size_t m = s->m, first = task * KLR_BAND, rows = band_rows(m, first);
    void *sheet = s->sweep.work + thread * s->sweep.pitch;
    double *row = sheet;
    operator_block(s->problem->op, thread, s->position + first, rows, span->set,
                   KLR_DOUBLE, row, m);
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < m; k++)
            if (span->order[k] >= first + r)
                *panels_at(&s->r, first + r, span->order[k]) = row[r * m + k];
}

/* Points that are dropped leave the list. */
static void span_drop(struct subspace *s, const bool *drop)
{
    size_t kept = 0;
    for (size_t k = 0; k < s->m; k++)
        if (!drop[k]) {
            s->member[kept] = s->member[k];
            s->position[kept++] = s->position[k];
        }
    s->m = kept;
}

/* Form R of the first m points, leaving out those that it drops. False if the
 * pool's watch ended it. */
static bool span_factor(struct point_span *span, struct klr_pool *pool)
{
    struct subspace *s = span->s;
    memset(span->drop, 0, s->m * sizeof *span->drop);
    memset(s->r.value, 0, panels_size(s->m) * sizeof(double));
    for (size_t k = 0; k < s->m; k++) {
        s->position[k] = subspace_place(s, s->member[k]);
        s->least[k] = s->tolerance * subspace_diagonal(s, s->member[k]);
    }
    s->r.n = s->m;
    s->r.pool = pool;
    span_sort(span);
    bool whole = klr_pool_run(pool, panels_bands(s->m), span_task, span);
    operator_count(s->problem->op, 0, 0);
    whole = whole && panels_factor(&s->r, s->least, span->drop);
    if (whole)
        span_drop(s, span->drop);
    return whole;
}

static int subspace_span(struct subspace *s, size_t before,
                         struct klr_error *err)
{
    struct klr_pool *pool = s->m > KLR_BAND ? s->problem->op->pool : NULL;
    struct point_span span = {.s = s,
                              .order = klr_alloc(s->n, sizeof *span.order, err),
                              .range = klr_alloc(s->m, sizeof *span.range, err),
                              .drop = klr_alloc(s->m, sizeof *span.drop, err)};
    bool failed = !span.order || !span.range || !span.drop;
    if (!failed && !span_factor(&span, pool)) {
        s->m = before;
        span_factor(&span, NULL);
    }
    s->sweep.count = s->m;
    s->have_h = false;
    klr_free(span.order);
    klr_free(span.range);
    klr_free(span.drop);
    return failed ? KLR_E_MEMORY : 0;
}

/* ---- choices ---- */

/* Classes that points are to be of: each machine has its own, and so has each
 * column. */
static size_t choose_classes(const struct subspace *s)
{
    size_t targets = subspace_targets(s);
    return targets > 1 ? targets : 2;
}

static bool choose_is_of(const struct subspace *s, size_t i, size_t class)
{
    return subspace_targets(s) > 1 ? s->problems[class].y[i] > 0
                                   : (s->problem->y[i] > 0) == (class == 0);
}

/* `wanted` random examples of a class, or of all (SIZE_MAX), join those chosen.
 */
static void choose_some(struct subspace *s, size_t *item, size_t class,
                        size_t wanted, uint64_t *random)
{
    size_t count = 0;
    for (size_t i = 0; i < s->n; i++)
        if (class == SIZE_MAX || choose_is_of(s, i, class))
            item[count++] = i;
    count = random_choose(random, item, count, wanted);
    memcpy(s->member + s->m, item, count * sizeof *item);
    s->m += count;
}

/* part (classes), their sizes, become as equal parts of `wanted` as they allow.
 */
static void choose_parts(size_t *part, size_t classes, size_t wanted)
{
    size_t low = 0, high = wanted, sum = 0;
    while (low < high) {
        size_t level = low + (high - low + 1) / 2;
        sum = 0;
        for (size_t q = 0; q < classes; q++)
            sum += part[q] < level ? part[q] : level;
        if (sum <= wanted)
            low = level;
        else
            high = level - 1;
    }
    sum = 0;
    for (size_t q = 0; q < classes; q++)
        sum += part[q] < low ? part[q] : low;
    for (size_t q = 0; q < classes; q++)
        if (part[q] > low)
            part[q] = low + (sum++ < wanted);
}

/* As many of each class, but no more than there are. */
static int choose_balanced(struct subspace *s, size_t *item, size_t wanted,
                           uint64_t *random, struct klr_error *err)
{
    size_t classes = choose_classes(s);
    size_t *part = klr_zalloc(classes, sizeof *part, err);
    if (!part)
        return KLR_E_MEMORY;
    for (size_t q = 0; q < classes; q++)
        for (size_t i = 0; i < s->n; i++)
            part[q] += choose_is_of(s, i, q);
    choose_parts(part, classes, wanted);
    for (size_t q = 0; q < classes; q++)
        choose_some(s, item, q, part[q], random);
    klr_free(part);
    return 0;
}

static void choose_given(struct subspace *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->problem->given[i])
            s->member[s->m++] = i;
}

/* Points that growth begins with: a few of each class. */
static size_t choose_start(const struct subspace *s)
{
    size_t few = SUBSPACE_OF_CLASS * subspace_targets(s);
    return few > SUBSPACE_START ? few : SUBSPACE_START;
}

/* So many, or as many as there are to be. */
static int choose_first(struct subspace *s, struct klr_error *err)
{
    int choice = s->problem->params->basis_choice;
    uint64_t random = (uint64_t)s->problem->params->seed;
    bool grows = choice == KLR_BASIS_GROW && s->most > choose_start(s);
    size_t wanted = grows ? choose_start(s) : s->most;
    size_t *item = klr_alloc(s->n, sizeof *item, err);
    if (!item)
        return KLR_E_MEMORY;
    int code = 0;
    s->m = 0;
    if (s->problem->given)
        choose_given(s);
    else if (choice == KLR_BASIS_UNIFORM)
        choose_some(s, item, SIZE_MAX, s->most, &random);
    else
        code = choose_balanced(s, item, wanted, &random, err);
    klr_free(item);
    return code ? code : subspace_span(s, 0, err);
}

/* All machines at w = 0. */
static void choose_begin(struct subspace *s, double c)
{
    for (size_t q = 0; q < s->machines; q++) {
        subspace_turn(s, q);
        subspace_start(s, c);
        memcpy(s->sample.rho, s->all.rho, s->columns * sizeof *s->rho);
        subspace_keep(s, q);
    }
}

/* The size of the basis, and room for it; where time is over before that is
 * known, the points and the w so far stay. */
static int choose_size(struct subspace *s, double c, struct klr_error *err)
{
    size_t size = s->most;
    choose_begin(s, c);
    int code = choose_first(s, err);
    if (!code)
        code = subspace_find_size(s, &size, err);
    if (code || s->end == KLR_BASIS_CUT)
        return code;
    s->m = 0;
    /* As if that size had been asked for. */
    memset(s->all.rho, 0, s->columns * sizeof *s->rho);
    for (size_t q = 0; s->shared && q < s->machines; q++)
        s->shared[q].rho = s->shared[q].sample_rho = 0;
    return subspace_make_room(s, size, err);
}

static int subspace_choose(struct subspace *s, double c, struct klr_error *err)
{
    const struct klr_params *params = s->problem->params;
    int code = 0;
    if (params->basis == KLR_BASIS_AUTO)
        code = choose_size(s, c, err);
    if (code || s->end == KLR_BASIS_CUT)
        return code;
    code = level_create(s, err);
    s->sweep.times = s->level;
    choose_begin(s, c);
    if (!code)
        code = choose_first(s, err);
    if (!code && !s->problem->given && params->basis_choice == KLR_BASIS_GROW)
        code = subspace_grow(s, err);
    s->sweep.times = NULL;
    return code;
}
