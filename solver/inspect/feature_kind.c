/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kind of features that a problem has says how they are to be scaled.
 */
#include "solver/data/data.h"

#include "base/features/feature_table.h"

const char *const klr_feature_kind_names[] = {
    "binary",         "of one scale",      "sparse",
    "within -1 .. 1", "of several scales", NULL};

/* The largest |value| of each feature that occurs, in the order of their
 * numbers. */
static double *largest_values(const struct klr_problem *problem,
                              struct klr_feature_table *table,
                              struct klr_error *err)
{
    struct klr_features x = problem_features(problem);
    double space[KLR_PACKED_COLUMNS];
    size_t number;
    for (size_t i = 0; i < x.n; i++) {
        struct klr_feature_row row = klr_features_row(&x, i, space);
        for (size_t k = 0; k < row.count; k++)
            if (klr_feature_table_add(table, row.index[k], &number, err))
                return NULL;
    }
    double *most = klr_zalloc(table->count, sizeof *most, err);
    for (size_t i = 0; i < x.n && most; i++) {
        struct klr_feature_row row = klr_features_row(&x, i, space);
        for (size_t k = 0; k < row.count; k++) {
            number = klr_feature_table_find(table, row.index[k]);
            most[number] = fmax(most[number], fabs(row.value[k]));
        }
    }
    return most;
}

/* True if nearly all features that are not always 0 reach near 1. */
static int reach_bounds(const struct klr_problem *problem, bool *reach,
                        struct klr_error *err)
{
    const double near = 0.9, all = 0.9;
    struct klr_feature_table table = {0};
    double *most = largest_values(problem, &table, err);
    size_t used = 0, wide = 0;
    for (size_t k = 0; k < table.count && most; k++) {
        used += most[k] > 0;
        wide += most[k] >= near;
    }
    *reach = (double)wide >= all * (double)used;
    klr_feature_table_free(&table);
    klr_free(most);
    return most ? 0 : KLR_E_MEMORY;
}

int klr_problem_feature_kind(const struct klr_problem *problem,
                             enum klr_feature_kind *kind, struct klr_error *err)
{
    const double few = 0.05; /* of the entries: zeros are to stay */
    struct klr_features x = problem_features(problem);
    double space[KLR_PACKED_COLUMNS];
    size_t filled = 0;
    double cells = (double)problem->n * problem->dimension;
    bool binary = true, bounded = true, reach = false;
    for (size_t i = 0; i < x.n; i++) {
        struct klr_feature_row row = klr_features_row(&x, i, space);
        for (size_t k = 0; k < row.count; k++) {
            double value = row.value[k];
            filled += value != 0;
            binary = binary && (value == 0 || value == 1);
            bounded = bounded && fabs(value) <= 1;
        }
    }
    if (!binary && bounded && reach_bounds(problem, &reach, err))
        return KLR_E_MEMORY;
    *kind = binary                         ? KLR_FEATURES_BINARY
            : bounded && reach             ? KLR_FEATURES_BOUNDED
            : (double)filled < few * cells ? KLR_FEATURES_SPARSE
            : bounded                      ? KLR_FEATURES_NARROW
                                           : KLR_FEATURES_GENERAL;
    return 0;
}
