/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Features that occur, numbered as they are met first. Memory follows the
 * features in use, however far apart their indices are.
 */
#ifndef KLR_BASE_FEATURE_TABLE_H
#define KLR_BASE_FEATURE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* All zero at first; free it in any case. */
struct klr_feature_table {
    size_t count, room;
    size_t next;    /* the number after the last one that was asked for */
    int *feature;   /* (count) the index of each number */
    size_t slots;   /* a power of two, or 0 */
    uint32_t *slot; /* (slots) numbers from 1; 0: free */
};

/* *number becomes that of the feature, which is added if it is new.
 * KLR_E_MEMORY, and then the table is to be freed. */
int klr_feature_table_add(struct klr_feature_table *table, int feature,
                          size_t *number, struct klr_error *err);
/* The number of a feature; `count` for one that does not occur. */
size_t klr_feature_table_find(const struct klr_feature_table *table,
                              int feature);
/* All features (count), ascending. */
struct klr_numbered_feature {
    int feature;
    size_t number;
};
void klr_feature_table_sort(const struct klr_feature_table *table,
                            struct klr_numbered_feature *sorted);
void klr_feature_table_free(struct klr_feature_table *table);

#endif
