/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Features that occur, numbered from 0 in ascending order: work and memory
 * follow the features in use, whatever the largest index.
 */
#include "kernel/internal.h"

/* The slot that holds `feature`, or the free one where it belongs. */
static size_t map_slot(const struct map *map, int feature)
{
    /* Fibonacci hashing (Knuth, vol. 3, section 6.4) with linear probing */
    uint64_t hash = (uint64_t)feature * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = (size_t)(hash >> 32) & (map->slots - 1);
    while (map->feature[slot] != feature && map->feature[slot] != MAP_FREE)
        slot = (slot + 1) & (map->slots - 1);
    return slot;
}

static int map_resize(struct map *map, size_t slots, struct klr_error *err)
{
    struct map old = *map;
    map->feature = klr_alloc(slots, sizeof *map->feature, err);
    if (!map->feature) {
        map->feature = old.feature;
        return KLR_E_MEMORY;
    }
    map->slots = slots;
    for (size_t s = 0; s < slots; s++)
        map->feature[s] = MAP_FREE;
    for (size_t s = 0; s < old.slots; s++)
        if (old.feature[s] != MAP_FREE)
            map->feature[map_slot(map, old.feature[s])] = old.feature[s];
    klr_free(old.feature);
    return 0;
}

static int map_insert(struct map *map, int feature, struct klr_error *err)
{
    size_t slot = map_slot(map, feature);
    if (map->feature[slot] == feature)
        return 0;
    map->feature[slot] = feature;
    map->count++;
    return 2 * map->count <= map->slots ? 0
                                        : map_resize(map, 4 * map->slots, err);
}

static int map_compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static int map_enumerate(struct map *map, struct klr_error *err)
{
    int *sorted = klr_alloc(map->count, sizeof *sorted, err);
    map->number = klr_alloc(map->slots, sizeof *map->number, err);
    if (sorted && map->number) {
        size_t count = 0;
        for (size_t s = 0; s < map->slots; s++)
            if (map->feature[s] != MAP_FREE)
                sorted[count++] = map->feature[s];
        qsort(sorted, count, sizeof *sorted, map_compare);
        for (size_t c = 0; c < count; c++)
            map->number[map_slot(map, sorted[c])] = (int)c;
    }
    int code = sorted && map->number ? 0 : KLR_E_MEMORY;
    klr_free(sorted);
    return code;
}

static int map_create(struct map *map, const struct klr_features *x,
                      struct klr_error *err)
{
    int code = map_resize(map, 64, err);
    for (size_t i = 0; i < x->n && !code; i++)
        for (size_t t = x->start[i]; t < x->start[i + 1] && !code; t++)
            if (x->value[t] != 0)
                code = map_insert(map, x->index[t], err);
    return code ? code : map_enumerate(map, err);
}

static void map_free(struct map *map)
{
    klr_free(map->feature);
    klr_free(map->number);
}

static int map_number(const struct map *map, int feature)
{
    size_t slot = map_slot(map, feature);
    return map->feature[slot] == feature ? map->number[slot] : -1;
}
