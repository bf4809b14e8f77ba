/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of features, however they are stored.
 */
#include "kernel/parts.h"

struct klr_feature_row klr_features_row(const struct klr_features *x, size_t i,
                                        double *space)
{
    const struct klr_packed *packed = x->packed;
    if (!packed) {
        size_t begin = x->start[i];
        return (struct klr_feature_row){x->start[i + 1] - begin,
                                        x->index + begin, x->value + begin};
    }
    const uint32_t *word = packed->value + i * packed->columns;
    for (size_t k = 0; k < packed->columns; k++)
        space[k] = klr_unpack(word[k]);
    return (struct klr_feature_row){packed->columns, packed->index, space};
}

static size_t features_size(const struct klr_features *x, size_t i)
{
    return x->packed ? x->packed->columns : x->start[i + 1] - x->start[i];
}

size_t klr_features_count(const struct klr_features *x)
{
    if (x->n == 0)
        return 0;
    return x->packed ? x->n * x->packed->columns : x->start[x->n] - x->start[0];
}

int klr_features_pick(struct klr_features *out, const struct klr_features *x,
                      const size_t *row, size_t n, struct klr_arena *arena,
                      struct klr_error *err)
{
    double space[KLR_PACKED_COLUMNS], *value;
    size_t *start, end = 0;
    int *index;
    for (size_t i = 0; i < n; i++)
        end += features_size(x, row[i]);
    if (!KLR_TAKE(arena, start, n + 1, 1, err) ||
        !KLR_TAKE(arena, index, end, 1, err) ||
        !KLR_TAKE(arena, value, end, 1, err))
        return KLR_E_MEMORY;
    start[0] = 0;
    for (size_t i = 0; i < n; i++) {
        struct klr_feature_row from = klr_features_row(x, row[i], space);
        memcpy(index + start[i], from.index, from.count * sizeof *index);
        memcpy(value + start[i], from.value, from.count * sizeof *value);
        start[i + 1] = start[i] + from.count;
    }
    *out = (struct klr_features){.n = n,
                                 .dimension = x->dimension,
                                 .start = start,
                                 .index = index,
                                 .value = value};
    return 0;
}
