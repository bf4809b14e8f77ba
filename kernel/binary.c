/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Binary features: those that have one value where they are not 0, so that a
 * sum of products is a number of features times one constant. Four features of
 * a column are a nibble, which selects what they share with a left row from a
 * table of 16 bytes: one instruction does so for SPAN columns.
 */
#include "kernel/parts.h"

/* Groups of features that are looked up in the time of one feature of a row
 * that is spread out, beside many others or few. */
enum { LOOKUPS = 4, LOOKUPS_FEW = 12 };

static size_t binary_groups(const struct klr_points *b)
{
    return (b->width + LOOKUP_BITS - 1) / LOOKUP_BITS;
}

static bool row_is_binary(const struct klr_points *points, size_t p,
                          double value)
{
    if (!points->value)
        return points->common == value;
    for (size_t q = points->start[p]; q < points->start[p + 1]; q++)
        if (points->value[q] != value)
            return false;
    return true;
}

static bool rows_are_binary(const struct klr_points *a, const size_t *row,
                            size_t count, const struct klr_points *b)
{
    bool binary = b->nibble != NULL;
    for (size_t r = 0; r < count && binary; r++)
        binary = row_is_binary(a, row[r], b->common);
    return binary;
}

static bool binary_pays(const struct klr_points *points, size_t nonzeros,
                        bool few)
{
    size_t most = (few ? LOOKUPS_FEW : LOOKUPS) * nonzeros;
    return fabs(points->common) > 0 && points->term == PRODUCT &&
           tiles_choose(KLR_FLOAT)->binary &&
           points->width <= DIRECT_FEATURES &&
           binary_groups(points) * points->origin.x.n <= most;
}

static bool binary_serves(const struct klr_points *points)
{
    return points->form == SPARSE && points->narrow.tiles &&
           points->narrow.exact && points->narrow.term == PRODUCT;
}

static int binary_create(struct klr_points *points, struct klr_error *err)
{
    size_t groups = binary_groups(points);
    points->nibble =
        klr_zalloc((points->n + SPAN - 1) / SPAN * SPAN, groups, err);
    if (!points->nibble)
        return KLR_E_MEMORY;
    for (size_t p = 0; p < points->n; p++)
        for (size_t q = points->start[p]; q < points->start[p + 1]; q++) {
            size_t k = (size_t)points->column[q];
            size_t at = (p / SPAN * groups + k / LOOKUP_BITS) * SPAN + p % SPAN;
            points->nibble[at] |= (uint8_t)(1 << k % LOOKUP_BITS);
        }
    return 0;
}

/* Tables of the left rows: what a feature adds to the bytes of the nibbles that
 * have it, eight bytes in a word from the lowest. */
static void binary_load(const struct tile *t)
{
    static const uint64_t has[LOOKUP_BITS][2] = {
        {UINT64_C(0x0100010001000100), UINT64_C(0x0100010001000100)},
        {UINT64_C(0x0101000001010000), UINT64_C(0x0101000001010000)},
        {UINT64_C(0x0101010100000000), UINT64_C(0x0101010100000000)},
        {0, UINT64_C(0x0101010101010101)},
    };
    const struct klr_points *a = t->a;
    size_t groups = binary_groups(t->b);
    size_t rows = (t->count + t->left - 1) / t->left * t->left;
    memset(t->table, 0, rows * groups * sizeof has[0]);
    for (size_t r = 0; r < t->count; r++) {
        uint64_t *table =
            t->table + 2 * (r / t->left * t->left * groups + r % t->left);
        size_t end = a->start[t->row[r] + 1];
        for (size_t q = a->start[t->row[r]]; q < end; q++) {
            size_t k = (size_t)a->column[q];
            uint64_t *entry = table + 2 * (k / LOOKUP_BITS * t->left);
            entry[0] += has[k % LOOKUP_BITS][0];
            entry[1] += has[k % LOOKUP_BITS][1];
        }
    }
}
