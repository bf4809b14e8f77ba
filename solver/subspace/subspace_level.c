/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A level between the sample and all examples, where these are many: some of
 * the sheets, evenly spread, whose examples stand by their costs for those of
 * the sheets that follow. These have C_i = 0, and sweeps pass them over. Points
 * grow on the level, and Newton's method begins there: what would take most
 * sweeps over all examples takes them over a part. A class of few examples is
 * in it whole.
 */
#include "solver/subspace/subspace_parts.h"

enum {
    LEVEL_POINT = 128, /* examples of the level for a point */
    LEVEL_LEAST = 4,   /* times as many there must be in all */
    LEVEL_SHEETS = 4   /* that a class has in it, or it is there whole */
};
/* Where Newton's method on the level may end: its objective is off by more. */
static const double level_gap = 0.5;

/* Take the sheets of classes that have few examples here, and the sheet behind
 * each, which stands for what follows. */
static void level_take_few(struct subspace *s, size_t step)
{
    size_t *size = s->part;
    sample_count(s, size);
    for (size_t i = 0; i < s->n; i++)
        if (size[sample_class(s, i)] < LEVEL_SHEETS * step * SHEET)
            s->level[i / SHEET] = s->level[i / SHEET + 1] = 1;
}

/* A sheet that is taken stands for itself and for what follows up to the next
 * one. */
static void level_weigh(struct subspace *s, size_t sheets)
{
    size_t from = 0;
    for (size_t sheet = 1; sheet <= sheets; sheet++) {
        if (sheet < sheets && s->level[sheet] == 0)
            continue;
        size_t begin = from * SHEET, end = sheet * SHEET;
        size_t own = (from + 1) * SHEET;
        end = end < s->n ? end : s->n;
        own = own < s->n ? own : s->n;
        s->level[from] = (double)(end - begin) / (double)(own - begin);
        from = sheet;
    }
}

static int level_create(struct subspace *s, struct klr_error *err)
{
    size_t step = s->n / (LEVEL_POINT * (s->most + 1));
    size_t sheets = (s->n + SHEET - 1) / SHEET;
    s->level = klr_free(s->level);
    if (step < LEVEL_LEAST)
        return 0;
    if (!(s->level = klr_zalloc(sheets + 1, sizeof *s->level, err)))
        return KLR_E_MEMORY;
    for (size_t sheet = 0; sheet < sheets; sheet += step)
        s->level[sheet] = 1;
    for (size_t q = 0; q < s->machines; q++) {
        subspace_turn(s, q);
        level_take_few(s, step);
    }
    level_weigh(s, sheets);
    return 0;
}

static void level_costs(struct subspace *s, bool enter)
{
    const double *times = s->sweep.times = enter ? s->level : NULL;
    for (size_t i = 0; i < s->n; i++)
        s->all.cost[i] =
            s->c * s->problem->weight[i] * (times ? times[i / SHEET] : 1);
}

static double subspace_cost(const struct subspace *s, size_t i)
{
    return s->sweep.times ? s->c * s->problem->weight[i] : s->all.cost[i];
}

static bool level_approach(struct subspace *s)
{
    if (!s->level)
        return true;
    level_costs(s, true);
    bool whole = subspace_approach(s, level_gap);
    level_costs(s, false);
    return whole;
}
