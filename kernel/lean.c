/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dense points that floats serve, without a copy of their features as doubles.
 * For entries in doubles the columns and left rows of a tile are put together
 * from the features that the points were made of, in the thread's workspace;
 * the arithmetic on them is the same, and so are the entries.
 */
#include "kernel/parts.h"

enum { LEAN_COLUMNS = 128 }; /* a multiple of SPAN: put together at once */

/* Binary features need no doubles, products with X all of them. */
static void lean_create(struct klr_points *points, const struct klr_features *x,
                        const size_t *order)
{
    if (points->form != DENSE || !points->narrow.tiles || points->nibble ||
        points->kernel.type == KLR_LINEAR)
        return;
    points->lean = true;
    points->source = *x;
    points->order = order;
    points->panel = klr_free(points->panel);
    points->outside = klr_free(points->outside);
    if (points->kernel.type != KLR_SIGMOID)
        points->size = klr_free(points->size);
}

/* Position p, at `at` of a panel (.., width, PANEL) of zeros. Returns its size,
 * as points_fill has it. */
static double lean_put(const struct klr_points *points, size_t p, double *panel,
                       size_t at)
{
    const struct klr_features *x = &points->source;
    const struct map *map = &points->map;
    size_t row = points->order ? points->order[p] : p, number = 0;
    double space[KLR_PACKED_COLUMNS], size = 0;
    struct klr_feature_row from = klr_features_row(x, row, space);
    panel += at / PANEL * PANEL * points->width + at % PANEL;
    for (size_t k = 0; k < from.count; k++) {
        if (from.value[k] == 0)
            continue;
        number = map_seek(map->feature, number, map->count, from.index[k]);
        panel[number * PANEL] = from.value[k];
        size += term_size(points->term, from.value[k]);
    }
    return term_is_difference(points->term) ? 0 : size;
}

/* Doubles of a panel with so many rows; tiles read what follows. */
static size_t lean_elements(const struct klr_points *points, size_t rows)
{
    return ((rows + PANEL - 1) / PANEL * points->width + 1) * PANEL;
}

static size_t lean_bytes(const struct klr_points *b)
{
    size_t columns = lean_elements(b, LEAN_COLUMNS);
    size_t rows = lean_elements(b, PACKED_ROWS);
    size_t sizes = LEAN_COLUMNS + SPAN + PACKED_ROWS;
    return b->lean ? (columns + rows + sizes) * sizeof(double) : 0;
}

/* The left rows of a tile become `rows`, which are stored; `work` is zero at
 * first, and again after lean_clear. */
static void lean_rows(struct tile *t, struct lean_rows *rows, double *work)
{
    const struct klr_points *a = t->a;
    double *panel = work + lean_elements(a, LEAN_COLUMNS);
    double *size = panel + lean_elements(a, PACKED_ROWS);
    rows->points = *a;
    for (size_t r = 0; r < t->count; r++) {
        size[r] = lean_put(a, t->row[r], panel, r);
        rows->row[r] = r;
    }
    rows->points.panel = panel;
    rows->points.size = size;
    t->a = &rows->points;
    t->row = rows->row;
}

static void lean_clear(const struct lean_rows *rows, size_t count)
{
    size_t elements = lean_elements(&rows->points, count);
    memset(rows->points.panel, 0, elements * sizeof(double));
}

/* A tile in doubles, loaded: some columns at a time. */
static void lean_tile(const struct tile *t)
{
    const struct klr_points *b = t->b;
    struct klr_points part = *b;
    struct tile now = *t;
    size_t first = t->begin / SPAN * SPAN;
    now.b = &part;
    part.panel = t->columns;
    part.size = part.panel + lean_elements(b, LEAN_COLUMNS) +
                lean_elements(b, PACKED_ROWS) + PACKED_ROWS;
    for (; first < t->end; first += LEAN_COLUMNS) {
        size_t begin = first < t->begin ? t->begin : first;
        size_t end =
            first + LEAN_COLUMNS < t->end ? first + LEAN_COLUMNS : t->end;
        for (size_t p = begin; p < end; p++)
            part.size[p - first] = lean_put(b, p, part.panel, p - first);
        now.begin = begin - first;
        now.end = end - first;
        now.at = t->at + (begin - t->begin);
        b->tiles->dense(&now);
        memset(part.panel, 0,
               lean_elements(b, end - first) * sizeof *part.panel);
    }
}

/* ---- some of the rows ---- */

int klr_points_pick(struct klr_points **out, const struct klr_points *points,
                    const size_t *position, size_t count, struct klr_error *err)
{
    struct klr_features picked = {0};
    struct klr_arena arena = {0};
    size_t *row = NULL;
    *out = NULL;
    if (!points->lean)
        return 0;
    int code = KLR_TAKE(&arena, row, count, 1, err) ? 0 : KLR_E_MEMORY;
    for (size_t i = 0; i < count && !code; i++)
        row[i] = points->order ? points->order[position[i]] : position[i];
    if (!code)
        code = klr_features_pick(&picked, &points->source, row, count, &arena,
                                 err);
    if (!code)
        code = klr_points_create_like(out, points, &picked, NULL, err);
    klr_arena_free(&arena);
    return code;
}
