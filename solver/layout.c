/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of the examples: stably sorted by class, in the order of the
 * model's labels, within a class by fold of the cross validation, and within a
 * fold by part: models of a fold's complement are calibrated on models without
 * one part of it. Every subset that a solver works on is then a short list of
 * ranges.
 */
#include "solver/internal.h"

static int compare_labels(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The distinct labels ascending into label (n); returns how many. */
static size_t layout_distinct(const struct klr_problem *problem, double *label)
{
    size_t k = 0;
    memcpy(label, problem->label, problem->n * sizeof *label);
    qsort(label, problem->n, sizeof *label, compare_labels);
    for (size_t i = 0; i < problem->n; i++)
        if (k == 0 || label[i] != label[k - 1])
            label[k++] = label[i];
    return k;
}

static int layout_check_labels(size_t n, size_t k, bool named,
                               struct klr_error *err)
{
    if (k < 2)
        return klr_fail(err, KLR_E_DATA,
                        "all examples have the same label: two classes are "
                        "needed");
    if (k > 1000 || (n > 30 && k > n / 3))
        return klr_fail(err, KLR_E_DATA,
                        "%zu distinct labels in %zu examples look like "
                        "%s, not like classes",
                        k, n,
                        named ? "names of examples" : "regression targets");
    return 0;
}

static int layout_find(const struct layout *layout, const char *option,
                       const char *text, size_t *class, struct klr_error *err)
{
    char quoted[KLR_QUOTED_SIZE];
    double label;
    bool read = label_read(layout->names, text, &label);
    for (*class = 0; read && *class < layout->k; ++*class)
        if (layout->label[*class] == label)
            return 0;
    return klr_fail(err, KLR_E_USAGE, "option %s: no example has the label %s",
                    option, klr_quote(quoted, text));
}

/* Two classes: `positive` comes first, or the larger label. */
static int layout_positive(struct layout *layout, const char *positive,
                           struct klr_error *err)
{
    size_t first = 1;
    if (positive && layout->k > 2)
        return klr_fail(err, KLR_E_USAGE,
                        "option --positive: the data have %zu classes, not two",
                        layout->k);
    if (layout->k > 2)
        return 0;
    if (positive && layout_find(layout, "--positive", positive, &first, err))
        return KLR_E_USAGE;
    double label = layout->label[first];
    layout->label[first] = layout->label[0];
    layout->label[0] = label;
    return 0;
}

static size_t layout_class_of(const struct layout *layout, double label)
{
    if (layout->k == 2)
        return label != layout->label[0];
    const double *found =
        bsearch(&label, layout->label, layout->k, sizeof label, compare_labels);
    return (size_t)(found - layout->label);
}

/* splitmix64: a full-period generator with a 64-bit state. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in 0..bound-1, without bias. */
static size_t random_below(uint64_t *state, size_t bound)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % bound, z;
    do
        z = random_next(state);
    while (z >= limit);
    return (size_t)(z % bound);
}

static size_t random_choose(uint64_t *state, size_t *item, size_t count,
                            size_t wanted)
{
    if (wanted >= count)
        return count;
    for (size_t k = 0; k < wanted; k++) {
        size_t pick = k + random_below(state, count - k), moved = item[k];
        item[k] = item[pick];
        item[pick] = moved;
    }
    return wanted;
}

/* Turn class numbers cell[i], times the cells of a class, into cell numbers:
 * each class is shuffled and dealt like cards to the folds, unless these are
 * given, and what a fold gets to its parts, the next class going on where the
 * last one ended, so that what is dealt differs by one example at most. `dealt`
 * (folds) is zero at first, `member` (n) is workspace. */
static void layout_deal(const struct layout *layout, const struct deal *deal,
                        size_t *cell, size_t *member, size_t *dealt)
{
    size_t next = 0, folds = layout->folds, parts = layout->parts;
    uint64_t state = deal->seed;
    for (size_t c = 0; c < layout->k; c++) {
        size_t count = 0;
        for (size_t i = 0; i < layout->n; i++)
            if (cell[i] == c * folds * parts)
                member[count++] = i;
        for (size_t left = count; left > 1; left--) {
            size_t pick = random_below(&state, left), last = member[left - 1];
            member[left - 1] = member[pick];
            member[pick] = last;
        }
        for (size_t i = 0; i < count; i++, next++) {
            size_t f = deal->fold ? deal->fold[member[i]] : next % folds;
            cell[member[i]] += f * parts + dealt[f]++ % parts;
        }
    }
}

static int layout_check_folds(const struct layout *layout, const size_t *fold,
                              struct klr_error *err)
{
    size_t n = layout->n, folds = layout->folds;
    if (folds > n)
        return klr_fail(err, KLR_E_USAGE,
                        "option -v: %zu folds need at least as many examples, "
                        "not %zu",
                        folds, n);
    for (size_t i = 0; fold && i < n; i++)
        if (fold[i] >= folds)
            return klr_fail(err, KLR_E_USAGE,
                            "example %zu: of %zu folds there is no fold %zu",
                            i + 1, folds, fold[i]);
    return 0;
}

/* Counting sort of the examples by cell: stable. */
static void layout_sort(struct layout *layout, const size_t *cell)
{
    size_t cells = layout->k * layout->folds * layout->parts;
    for (size_t i = 0; i < layout->n; i++)
        layout->begin[cell[i] + 1]++;
    for (size_t c = 0; c < cells; c++)
        layout->begin[c + 1] += layout->begin[c];
    for (size_t i = 0; i < layout->n; i++)
        layout->order[layout->begin[cell[i]]++] = i;
    for (size_t c = cells; c > 0; c--)
        layout->begin[c] = layout->begin[c - 1];
    layout->begin[0] = 0;
}

static int layout_create(struct layout *layout,
                         const struct klr_problem *problem,
                         const char *positive, struct deal deal,
                         struct klr_error *err)
{
    size_t n = problem->n, folds = deal.folds, *cell = NULL, *dealt = NULL;
    size_t cells = folds * deal.parts; /* of a class */
    int code = KLR_E_MEMORY;
    memset(layout, 0, sizeof *layout);
    layout->n = n;
    layout->names = problem->names;
    layout->folds = folds;
    layout->parts = deal.parts;
    if (!(layout->label = klr_alloc(n, sizeof *layout->label, err)) ||
        !(layout->order = klr_alloc(n, sizeof *layout->order, err)) ||
        !(cell = klr_alloc(n, sizeof *cell, err)))
        goto done;
    layout->k = layout_distinct(problem, layout->label);
    if ((code = layout_check_labels(n, layout->k, layout->names, err)) ||
        (code = layout_positive(layout, positive, err)) ||
        (code = layout_check_folds(layout, deal.fold, err)))
        goto done;
    code = KLR_E_MEMORY;
    layout->begin =
        klr_zalloc(layout->k * cells + 1, sizeof *layout->begin, err);
    dealt = klr_zalloc(folds, sizeof *dealt, err);
    if (!layout->begin || !dealt)
        goto done;
    for (size_t i = 0; i < n; i++)
        cell[i] = layout_class_of(layout, problem->label[i]) * cells;
    if (cells > 1)
        layout_deal(layout, &deal, cell, layout->order, dealt);
    layout_sort(layout, cell);
    code = 0;
done:
    klr_free(cell);
    klr_free(dealt);
    if (code)
        layout_free(layout);
    return code;
}

static void layout_free(struct layout *layout)
{
    klr_free(layout->label);
    klr_free(layout->order);
    klr_free(layout->begin);
    memset(layout, 0, sizeof *layout);
}

static size_t layout_begin(const struct layout *layout, size_t c)
{
    return layout->begin[c * layout->folds * layout->parts];
}

static size_t layout_size(const struct layout *layout, size_t c)
{
    return layout_begin(layout, c + 1) - layout_begin(layout, c);
}

static bool hole_has(const struct layout *layout, struct hole hole, size_t fold,
                     size_t part)
{
    if (hole.part == layout->parts)
        return fold == hole.fold;
    return fold != hole.fold && part == hole.part;
}

/* Append the cells of class c inside or outside the hole; neighbours become
 * one range. */
static void layout_cells(const struct layout *layout, size_t c,
                         struct hole hole, bool inside, struct klr_range *range,
                         size_t *count)
{
    const size_t *begin = layout->begin + c * layout->folds * layout->parts;
    size_t first = *count;
    for (size_t f = 0; f < layout->folds; f++)
        for (size_t p = 0; p < layout->parts; p++, begin++) {
            bool within = hole_has(layout, hole, f, p);
            if (begin[0] == begin[1] || within != inside ||
                (!inside && f == hole.fold))
                continue;
            *count = first + set_append(range + first, *count - first,
                                        (struct klr_range){begin[0], begin[1]});
        }
}

static void layout_kept(const struct layout *layout, size_t c, struct hole hole,
                        struct klr_range *range, size_t *count)
{
    layout_cells(layout, c, hole, false, range, count);
}

static void layout_held(const struct layout *layout, size_t c, struct hole hole,
                        struct klr_range *range, size_t *count)
{
    layout_cells(layout, c, hole, true, range, count);
}
