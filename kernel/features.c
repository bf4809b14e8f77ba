/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of features, however they are stored.
 */
#include "kernel/parts.h"

#include "base/features/scaling.h"

static size_t packed_features(const struct klr_packed *packed)
{
    return packed->scaling ? packed->scaling->columns : packed->columns;
}

/* In place: a feature's number is never before the feature. */
static void packed_scale(const struct klr_packed *packed, double *value)
{
    const struct klr_scaling *scaling = packed->scaling;
    for (size_t c = 0; c < scaling->columns; c++)
        value[c] = value[packed->index[c] - packed->first];
    klr_scaling_map_row(scaling, value);
}

struct klr_feature_row klr_features_row(const struct klr_features *x, size_t i,
                                        double *space)
{
    const struct klr_packed *packed = x->packed;
    if (!packed) {
        size_t begin = x->start[i];
        return (struct klr_feature_row){x->start[i + 1] - begin,
                                        x->index + begin, x->value + begin};
    }
    klr_unpack(packed->columns, packed->value + i * packed->columns, space);
    if (packed->scaling)
        packed_scale(packed, space);
    return (struct klr_feature_row){packed_features(packed), packed->index,
                                    space};
}

static size_t features_size(const struct klr_features *x, size_t i)
{
    return x->packed ? packed_features(x->packed)
                     : x->start[i + 1] - x->start[i];
}

size_t klr_features_count(const struct klr_features *x)
{
    if (x->n == 0)
        return 0;
    return x->packed ? x->n * packed_features(x->packed)
                     : x->start[x->n] - x->start[0];
}

size_t klr_features_starts(const struct klr_features *x, const size_t *row,
                           size_t n, size_t *start)
{
    start[0] = 0;
    for (size_t i = 0; i < n; i++)
        start[i + 1] = start[i] + features_size(x, row[i]);
    return start[n];
}

void klr_features_copy(const struct klr_features *x, const size_t *row,
                       size_t n, const size_t *start, int *index, double *value)
{
    double space[KLR_PACKED_COLUMNS];
    for (size_t i = 0; i < n; i++) {
        struct klr_feature_row from = klr_features_row(x, row[i], space);
        memcpy(index + start[i], from.index, from.count * sizeof *index);
        memcpy(value + start[i], from.value, from.count * sizeof *value);
    }
}

int klr_features_pick(struct klr_features *out, const struct klr_features *x,
                      const size_t *row, size_t n, struct klr_arena *arena,
                      struct klr_error *err)
{
    size_t *start, size;
    int *index;
    double *value;
    if (!KLR_TAKE(arena, start, n + 1, 1, err))
        return KLR_E_MEMORY;
    size = klr_features_starts(x, row, n, start);
    if (!KLR_TAKE(arena, index, size, 1, err) ||
        !KLR_TAKE(arena, value, size, 1, err))
        return KLR_E_MEMORY;
    klr_features_copy(x, row, n, start, index, value);
    *out = (struct klr_features){.n = n,
                                 .dimension = x->dimension,
                                 .start = start,
                                 .index = index,
                                 .value = value};
    return 0;
}
