/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Columns that lie apart from each other. A tile computes SPAN neighbours in
 * the time of one of them: for many left rows columns of short ranges are first
 * put side by side, in the thread's workspace. Sparse rows are computed one by
 * one anyway.
 */
#include "kernel/parts.h"

enum {
    APART_ROWS = 8, /* left rows for which that pays, where ranges have */
    APART_MEAN = 8, /* fewer columns than this, on average */
    APART_BYTES = 256 << 10,
    APART_SIZES = 2 * SPAN * sizeof(double) /* vectors end behind the last */
};

/* Sizes of SPAN columns, and their features or groups of them. */
static size_t apart_bytes(const struct klr_points *b)
{
    size_t lines = b->width, bytes = 0;
    if (b->narrow.tiles && b->narrow.lines > lines)
        lines = b->narrow.lines;
    if (b->form == DENSE)
        bytes = (lines + 1) * SPAN * sizeof(double);
    else if (b->nibble)
        bytes = binary_groups(b) * SPAN;
    return bytes > 0 && bytes <= APART_BYTES ? APART_SIZES + bytes : 0;
}

/* True if the columns of a tile, of binary features or not, are to be put side
 * by side. */
static bool apart_pays(const struct tile *t, bool binary, struct klr_set cols)
{
    return t->count >= APART_ROWS && cols.count * APART_MEAN > cols.size &&
           (binary || t->b->form == DENSE) && apart_bytes(t->b) > 0;
}

/* Column p of panels (.., lines, panel) becomes the column `at` of others. */
INLINE void apart_copy(const void *panels, size_t p, void *others, size_t at,
                       size_t lines, const size_t panel, const size_t element)
{
    const char *from = panels;
    char *to = others;
    from += (p / panel * panel * lines + p % panel) * element;
    to += (at / panel * panel * lines + at % panel) * element;
    for (size_t k = 0; k < lines; k++)
        memcpy(to + k * panel * element, from + k * panel * element, element);
}

/* The features of columns `position` (count) in `space`, for `part`. */
static void apart_features(const struct klr_points *b, bool in_float,
                           bool binary, const size_t *position, size_t count,
                           void *space, struct klr_points *part)
{
    bool lean = b->lean && !in_float && !binary;
    part->lean = false;
    part->nibble = space;
    part->panel = space;
    part->narrow.panel = space;
    if (lean)
        memset(space, 0, b->width * SPAN * sizeof(double));
    for (size_t c = 0; c < count; c++)
        if (binary)
            apart_copy(b->nibble, position[c], space, c, binary_groups(b), SPAN,
                       1);
        else if (in_float)
            apart_copy(b->narrow.panel, position[c], space, c, b->narrow.lines,
                       FLOAT_PANEL, sizeof(float));
        else if (lean)
            lean_put(b, position[c], space, c);
        else
            apart_copy(b->panel, position[c], space, c, b->width, PANEL,
                       sizeof(double));
}

/* A tile of those columns. */
static void apart_tile(const struct tile *t, bool in_float, bool binary,
                       const size_t *position, size_t count)
{
    const struct klr_points *b = t->b;
    const struct gram_tiles *tiles = in_float ? b->narrow.tiles : b->tiles;
    struct klr_points part = *b;
    struct tile now = *t;
    now.right_size = t->apart;
    for (size_t c = 0; c < count; c++)
        if (in_float)
            ((float *)t->apart)[c] =
                ((const float *)t->right_size)[position[c]];
        else
            ((double *)t->apart)[c] =
                ((const double *)t->right_size)[position[c]];
    apart_features(b, in_float, binary, position, count,
                   (char *)t->apart + APART_SIZES, &part);
    now.b = &part;
    now.begin = 0;
    now.end = count;
    (binary ? tiles->binary : tiles->dense)(&now);
}
