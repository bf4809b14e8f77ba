/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A hash table with open addressing; at least half of its slots are free. Rows
 * have their features in the same order, mostly: the one numbered next to the
 * last is looked for first.
 */
#include "base/features/feature_table.h"

#include <stdlib.h>

#include "base/memory.h"

enum { SLOTS_FIRST = 64 };

/* The slot that holds the feature, or the free one where it belongs. */
static size_t table_slot(const struct klr_feature_table *table, int feature)
{
    /* Fibonacci hashing (Knuth, vol. 3, section 6.4) with linear probing */
    uint64_t hash = (uint64_t)feature * UINT64_C(0x9e3779b97f4a7c15);
    size_t s = (size_t)(hash >> 32) & (table->slots - 1);
    while (table->slot[s] && table->feature[table->slot[s] - 1] != feature)
        s = (s + 1) & (table->slots - 1);
    return s;
}

/* The slots come anew from the features: those before go first. */
static int table_resize(struct klr_feature_table *table, size_t slots,
                        struct klr_error *err)
{
    klr_free(table->slot);
    table->slots = 0;
    table->slot = klr_zalloc(slots, sizeof *table->slot, err);
    if (!table->slot)
        return KLR_E_MEMORY;
    table->slots = slots;
    for (size_t i = 0; i < table->count; i++)
        table->slot[table_slot(table, table->feature[i])] = (uint32_t)(i + 1);
    return 0;
}

int klr_feature_table_add(struct klr_feature_table *table, int feature,
                          size_t *number, struct klr_error *err)
{
    size_t count = table->count, slots = table->slots;
    *number = table->next;
    if (*number >= count || table->feature[*number] != feature)
        *number = klr_feature_table_find(table, feature);
    table->next = *number + 1;
    if (*number < count)
        return 0;
    if (KLR_GROW(table->feature, table->room, count + 1, err) ||
        (2 * (count + 1) > slots &&
         table_resize(table, slots ? 2 * slots : SLOTS_FIRST, err)))
        return KLR_E_MEMORY;
    table->slot[table_slot(table, feature)] = (uint32_t)(count + 1);
    table->feature[table->count++] = feature;
    return 0;
}

size_t klr_feature_table_find(const struct klr_feature_table *table,
                              int feature)
{
    size_t number = table->slots ? table->slot[table_slot(table, feature)] : 0;
    return number ? number - 1 : table->count;
}

static int compare_features(const void *a, const void *b)
{
    const struct klr_numbered_feature *v = a, *w = b;
    return (v->feature > w->feature) - (v->feature < w->feature);
}

void klr_feature_table_sort(const struct klr_feature_table *table,
                            struct klr_numbered_feature *sorted)
{
    for (size_t i = 0; i < table->count; i++)
        sorted[i] = (struct klr_numbered_feature){table->feature[i], i};
    if (table->count > 1)
        qsort(sorted, table->count, sizeof *sorted, compare_features);
}

void klr_feature_table_free(struct klr_feature_table *table)
{
    klr_free(table->feature);
    klr_free(table->slot);
    *table = (struct klr_feature_table){0};
}
