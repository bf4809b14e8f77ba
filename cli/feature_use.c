/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether the features of a test set are those of its model. A feature that is
 * in a share p of the one and in none of m rows of the other has a probability
 * of (1 - p)^m to be so by chance.
 */
#include "cli/cli.h"

#include <math.h>
#include <stdint.h>

#include "base/memory.h"

struct cli_feature_counts {
    uint32_t vectors, rows; /* that have it; UINT32_MAX: as many or more */
};

static void count_up(uint32_t *count)
{
    *count += *count < UINT32_MAX;
}

/* NULL without memory. */
static struct cli_feature_counts *use_counts(struct cli_feature_use *use,
                                             int index, struct klr_error *err)
{
    size_t before = use->features.count, number;
    if (klr_feature_table_add(&use->features, index, &number, err) ||
        KLR_GROW(use->counts, use->room, use->features.count, err))
        return NULL;
    if (number == before)
        use->counts[number] = (struct cli_feature_counts){0, 0};
    return &use->counts[number];
}

int cli_feature_use_add(struct cli_feature_use *use,
                        const struct klr_features *x, bool vectors,
                        struct klr_error *err)
{
    for (size_t t = x->start[0]; t < x->start[x->n]; t++) {
        if (x->value[t] == 0)
            continue;
        struct cli_feature_counts *counts = use_counts(use, x->index[t], err);
        if (!counts)
            return KLR_E_MEMORY;
        count_up(vectors ? &counts->vectors : &counts->rows);
    }
    *(vectors ? &use->vectors : &use->rows) += x->n;
    return 0;
}

int cli_feature_use_know(struct cli_feature_use *use, const int *index,
                         size_t count, struct klr_error *err)
{
    for (size_t f = 0; f < count; f++) {
        struct cli_feature_counts *counts = use_counts(use, index[f], err);
        if (!counts)
            return KLR_E_MEMORY;
        count_up(&counts->vectors);
    }
    return 0;
}

bool cli_feature_use_knows(const struct cli_feature_use *use, int index)
{
    size_t number = klr_feature_table_find(&use->features, index);
    return number < use->features.count && use->counts[number].vectors > 0;
}

void cli_feature_use_free(struct cli_feature_use *use)
{
    klr_feature_table_free(&use->features);
    klr_free(use->counts);
    *use = (struct cli_feature_use){0};
}

/* True if `count` of `all` have the feature and none of `others`, which happens
 * by chance for one in a million such features. */
static bool use_differs(unsigned long long count, unsigned long long all,
                        unsigned long long others)
{
    double share = (double)count / ((double)all + 1);
    return (double)others * log1p(-share) < log(1e-6);
}

static void some_add(struct cli_some_features *some, int index)
{
    if (some->count++ == 0 || (size_t)index < some->first)
        some->first = (size_t)index;
}

void cli_feature_use_compare(const struct cli_feature_use *use,
                             struct cli_some_features *missing,
                             struct cli_some_features *unseen)
{
    *missing = *unseen = (struct cli_some_features){0, 0};
    for (size_t f = 0; f < use->features.count; f++) {
        const struct cli_feature_counts *c = &use->counts[f];
        if (!c->rows && use_differs(c->vectors, use->vectors, use->rows))
            some_add(missing, use->features.feature[f]);
        if (!c->vectors && use_differs(c->rows, use->rows, use->vectors))
            some_add(unseen, use->features.feature[f]);
    }
}
