/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dense points that floats serve, without a copy of their features as doubles.
 * For entries in doubles the columns and left rows of a tile are put together
 * from the features that the points were made of, in the thread's workspace;
 * the arithmetic on them is the same, and so are the entries.
 */
#include "kernel/parts.h"

enum { LEAN_COLUMNS = 128 }; /* a multiple of SPAN: put together at once */

/* Products with X need all doubles. */
static bool lean_serves(const struct klr_points *points)
{
    return points->form == DENSE && points->narrow.tiles &&
           points->kernel.type != KLR_LINEAR;
}

/* Position p, at `at` of a panel (.., width, PANEL) of zeros. */
static void lean_put(const struct klr_points *points, size_t p, double *panel,
                     size_t at)
{
    const int *feature = points->origin.map->feature;
    double space[KLR_PACKED_COLUMNS];
    struct klr_feature_row from = origin_row(points, p, space);
    size_t number = 0;
    panel += at / PANEL * PANEL * points->width + at % PANEL;
    for (size_t k = 0; k < from.count; k++) {
        if (from.value[k] == 0)
            continue;
        while (feature[number] < from.index[k])
            number++;
        panel[number * PANEL] = from.value[k];
    }
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
    return b->lean ? (columns + rows + PACKED_ROWS) * sizeof(double) : 0;
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
        lean_put(a, t->row[r], panel, r);
        size[r] = a->size[t->row[r]];
        rows->row[r] = r;
    }
    rows->points.panel = panel;
    t->left_size = size;
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
    for (; first < t->end; first += LEAN_COLUMNS) {
        size_t begin = first < t->begin ? t->begin : first;
        size_t end =
            first + LEAN_COLUMNS < t->end ? first + LEAN_COLUMNS : t->end;
        for (size_t p = begin; p < end; p++)
            lean_put(b, p, part.panel, p - first);
        now.right_size = b->size + first;
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
        row[i] = points->origin.order ? points->origin.order[position[i]]
                                      : position[i];
    if (!code)
        code = klr_features_pick(&picked, &points->origin.x, row, count, &arena,
                                 err);
    if (!code)
        code = klr_points_create_like(out, points, &picked, NULL, err);
    klr_arena_free(&arena);
    return code;
}
