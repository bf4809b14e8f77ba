/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where features of sparse left rows stand. A workspace has a line for each of
 * them, the rows side by side. Of few features each has its own line, which a
 * column finds at once. Of many that would be far more memory than the data:
 * there only features of the rows at hand have lines, and a row that has more
 * than there is room for is searched where it is stored. Terms without a line
 * are products with 0, so that sums have the same bits in each way.
 *
 * Mapped lines: of each word of 64 features those in `used` have lines one
 * after the other, the first of them line[word] - 1.
 */
#include "kernel/parts.h"

static bool lines_are_mapped(const struct klr_points *b)
{
    return b->form == SPARSE && b->width > DIRECT_FEATURES;
}

static size_t lines_map_bytes(const struct klr_points *b)
{
    size_t words = b->width / 64 + 1;
    return lines_are_mapped(b) ? words * (sizeof(uint64_t) + sizeof(uint32_t))
                               : 0;
}

static void lines_place_map(struct tile *t, void *map)
{
    t->used = map;
    t->line = (uint32_t *)(t->used + t->b->width / 64 + 1);
}

/* ---- mapped lines ---- */

static void lines_map(const struct tile *t)
{
    const struct klr_points *a = t->a;
    uint32_t lines = 0;
    for (size_t r = 0; r < t->count; r++)
        for (size_t q = a->start[t->row[r]]; q < a->start[t->row[r] + 1]; q++)
            t->used[a->column[q] / 64] |= UINT64_C(1) << a->column[q] % 64;
    for (size_t r = 0; r < t->count; r++)
        for (size_t q = a->start[t->row[r]]; q < a->start[t->row[r] + 1]; q++) {
            int word = a->column[q] / 64;
            if (t->line[word])
                continue;
            t->line[word] = lines + 1;
            lines += (uint32_t)__builtin_popcountll(t->used[word]);
        }
}

static void lines_unmap(const struct tile *t)
{
    const struct klr_points *a = t->a;
    for (size_t r = 0; r < t->count; r++)
        for (size_t q = a->start[t->row[r]]; q < a->start[t->row[r] + 1]; q++) {
            t->used[a->column[q] / 64] = 0;
            t->line[a->column[q] / 64] = 0;
        }
}

INLINE size_t lines_find(const struct tile *t, int feature)
{
    uint64_t used = t->used[feature / 64], bit = UINT64_C(1) << feature % 64;
    if (!(used & bit))
        return NO_LINE;
    return t->line[feature / 64] - 1 +
           (size_t)__builtin_popcountll(used & (bit - 1));
}
