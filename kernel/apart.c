/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Columns that lie apart from each other. A tile computes SPAN neighbours in
 * the time of one of them: for many dense left rows columns of short ranges are
 * first put side by side, in the thread's workspace.
 */
#include "kernel/parts.h"

enum {
    APART_ROWS = 8, /* left rows for which that pays, where ranges have */
    APART_MEAN = 8, /* fewer columns than this, on average */
    APART_BYTES = 256 << 10
};

/* SPAN columns and their sizes; vectors may end behind the last. */
static size_t apart_bytes(const struct klr_points *b)
{
    size_t lines = b->width;
    if (b->narrow.tiles && b->narrow.lines > lines)
        lines = b->narrow.lines;
    size_t bytes = (lines + 3) * SPAN * sizeof(double);
    return b->form == DENSE && bytes <= APART_BYTES ? bytes : 0;
}

static bool apart_pays(const struct tile *t, struct klr_set cols)
{
    return t->count >= APART_ROWS && cols.count * APART_MEAN > cols.size &&
           apart_bytes(t->b) > 0;
}

/* Column p of b becomes that of the panel at `at`: floats, or doubles. */
static void apart_narrow(const struct klr_points *b, size_t p, float *panel,
                         size_t at)
{
    size_t lines = b->narrow.lines;
    const float *from = b->narrow.panel +
                        p / FLOAT_PANEL * FLOAT_PANEL * lines + p % FLOAT_PANEL;
    panel += at / FLOAT_PANEL * FLOAT_PANEL * lines + at % FLOAT_PANEL;
    for (size_t k = 0; k < lines; k++)
        panel[k * FLOAT_PANEL] = from[k * FLOAT_PANEL];
}

static void apart_wide(const struct klr_points *b, size_t p, double *panel,
                       size_t at)
{
    size_t lines = b->width;
    const double *from = b->panel + p / PANEL * PANEL * lines + p % PANEL;
    panel += at / PANEL * PANEL * lines + at % PANEL;
    for (size_t k = 0; k < lines; k++)
        panel[k * PANEL] = from[k * PANEL];
}

/* The columns `position` (count) as 0 .. count - 1 of `part`. */
static void apart_put(const struct tile *t, bool in_float,
                      const size_t *position, size_t count,
                      struct klr_points *part)
{
    const struct klr_points *b = t->b;
    float *narrow_size = t->apart, *narrow_panel = narrow_size + 2 * SPAN;
    double *size = t->apart, *panel = size + 2 * SPAN;
    *part = *b;
    part->lean = false;
    part->narrow.size = narrow_size;
    part->narrow.panel = narrow_panel;
    part->size = size;
    part->panel = panel;
    if (b->lean && !in_float)
        memset(panel, 0, b->width * SPAN * sizeof *panel);
    for (size_t c = 0; c < count; c++) {
        size_t p = position[c];
        if (in_float) {
            narrow_size[c] = b->narrow.size[p];
            apart_narrow(b, p, narrow_panel, c);
            continue;
        }
        size[c] = b->size[p];
        if (b->lean)
            lean_put(b, p, panel, c);
        else
            apart_wide(b, p, panel, c);
    }
}

/* A tile of those columns. */
static void apart_tile(const struct tile *t, bool in_float,
                       const size_t *position, size_t count)
{
    struct klr_points part;
    struct tile now = *t;
    apart_put(t, in_float, position, count, &part);
    now.b = &part;
    now.begin = 0;
    now.end = count;
    (in_float ? t->b->narrow.tiles : t->b->tiles)->dense(&now);
}
