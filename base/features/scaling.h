/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How features are scaled: linearly to common limits, or to zero mean and unit
 * deviation (docs/FORMAT.md, section 3). It is learnt from rows of features, or
 * given column by column. Memory is that of the features that occur.
 *
 * A feature that a row lacks is 0, and is scaled as such; features that never
 * change have no column, and are left out.
 */
#ifndef KLR_BASE_SCALING_H
#define KLR_BASE_SCALING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/features/feature_table.h"

/* From [min, max] to [lower, upper]. */
struct klr_limits {
    double lower, upper, min, max;
};

/* Statistics of a feature, from the rows seen so far. */
struct klr_scaling_feature {
    bool known;             /* it was there when columns were made */
    size_t count;           /* rows that have it */
    double min, max;        /* over those rows */
    double unit;            /* a power of 2: all |values| are below 2 of it */
    double mean, deviation; /* while rows are being seen in units, lest they
                               overflow or underflow, and deviation is the sum
                               of squared distances from the mean */
    size_t column;          /* its place from 1; 0: it has none */
};

/* A feature that is kept. */
struct klr_scaling_column {
    int index;
    double from, to; /* min and max, or mean and deviation */
};

/* All zero at first, but for what the caller sets. */
struct klr_scaling {
    bool standardize;    /* to zero mean and unit deviation, not to limits; the
                            caller's */
    double lower, upper; /* limits of the features, the caller's */
    size_t rows;         /* that were seen */
    struct klr_scaling_column *column; /* (columns), ascending */
    size_t columns;
    struct klr_feature_table features;
    struct klr_scaling_feature *feature; /* (features.count) by number */
    size_t feature_room, column_room;
};

void klr_scaling_free(struct klr_scaling *scaling);

/* ---- Learning ---- */

/* The feature, which is created where it is new, until the next one is; NULL
 * without memory. */
struct klr_scaling_feature *klr_scaling_feature(struct klr_scaling *scaling,
                                                int index,
                                                struct klr_error *err);

/* One more value of a feature; `moments`: mean and deviation too. */
void klr_scaling_see(struct klr_scaling_feature *feature, double value,
                     bool moments);

/* One more row. KLR_E_MEMORY. */
int klr_scaling_see_row(struct klr_scaling *scaling, size_t count,
                        const int *index, const double *value,
                        struct klr_error *err);

/* Once, when all rows have been seen: columns are those features that change.
 * KLR_E_MEMORY. */
int klr_scaling_settle(struct klr_scaling *scaling, struct klr_error *err);

/* Append a column, of a larger index than those before it. KLR_E_MEMORY. */
int klr_scaling_add(struct klr_scaling *scaling, int index, double from,
                    double to, struct klr_error *err);

/* Features not known that change, among `rows` rows, and, if there are any, the
 * least of them. To be asked once, when all have been seen. */
size_t klr_scaling_unknown(struct klr_scaling *scaling, size_t rows,
                           int *least);

/* ---- Scaling ---- */

/* The value v scaled, min and max to just lower and upper; may be infinite. */
double klr_limits_map(struct klr_limits to, double v);
/* The value v of a column becomes *scaled; KLR_E_DATA, without a line, where
 * that is out of range. */
int klr_scaling_map(const struct klr_scaling *scaling,
                    const struct klr_scaling_column *column, double v,
                    double *scaled, struct klr_error *err);
/* Likewise for a value of each column, in place, all of which are in range. */
void klr_scaling_map_row(const struct klr_scaling *scaling, double *value);

#endif
