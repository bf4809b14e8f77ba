/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Features that occur, numbered from 0 in ascending order: work and memory
 * follow the features in use, whatever the largest index. They are found by
 * searching, from one of a row to the next.
 */
#include "kernel/parts.h"

static int map_compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static int map_create(struct map *map, const struct klr_features *x,
                      struct klr_error *err)
{
    struct klr_feature_table table = {0};
    size_t number, most = x->packed ? x->packed->columns : SIZE_MAX;
    int code = 0;
    for (size_t i = 0; i < x->n && table.count < most && !code; i++) {
        double space[KLR_PACKED_COLUMNS];
        struct klr_feature_row row = klr_features_row(x, i, space);
        for (size_t k = 0; k < row.count && !code; k++)
            if (row.value[k] != 0)
                code =
                    klr_feature_table_add(&table, row.index[k], &number, err);
    }
    if (!code) {
        map->count = table.count;
        map->feature = table.feature;
        table.feature = NULL;
        if (map->count > 1)
            qsort(map->feature, map->count, sizeof *map->feature, map_compare);
    }
    klr_feature_table_free(&table);
    return code;
}

static void map_free(struct map *map)
{
    klr_free(map->feature);
}

/* By steps that double, then by halves (Bentley & Yao, 1976). */
INLINE size_t map_seek(const int *ascending, size_t from, size_t end, int least)
{
    size_t step = 1;
    if (from == end || ascending[from] >= least)
        return from;
    for (; step < end - from && ascending[from + step] < least; step *= 2)
        from += step;
    size_t high = step < end - from ? from + step : end;
    while (high - from > 1) {
        size_t middle = from + (high - from) / 2;
        if (ascending[middle] < least)
            from = middle;
        else
            high = middle;
    }
    return high;
}
