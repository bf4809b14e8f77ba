/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is learnt of features from rows, and how it scales them.
 */
#include "base/features/scaling.h"

#include <float.h>
#include <math.h>

#include "base/memory.h"

void klr_scaling_free(struct klr_scaling *scaling)
{
    klr_feature_table_free(&scaling->features);
    klr_free(scaling->feature);
    klr_free(scaling->column);
}

/* ---- Features by index ---- */

struct klr_scaling_feature *klr_scaling_feature(struct klr_scaling *scaling,
                                                int index,
                                                struct klr_error *err)
{
    size_t before = scaling->features.count, number;
    if (klr_feature_table_add(&scaling->features, index, &number, err) ||
        KLR_GROW(scaling->feature, scaling->feature_room,
                 scaling->features.count, err))
        return NULL;
    if (number == before)
        scaling->feature[number] = (struct klr_scaling_feature){0};
    return &scaling->feature[number];
}

/* ---- Statistics ---- */

/* The unit grows to the power of 2 below or at |value|. */
static void grow_unit(struct klr_scaling_feature *feature, double value)
{
    double unit = fmax(scalbn(1, ilogb(value)), DBL_MIN);
    double ratio = feature->unit / unit;
    feature->mean *= ratio;
    feature->deviation *= ratio * ratio;
    feature->unit = unit;
}

/* Mean and sum of squares after Welford (1962). */
static void see_moments(struct klr_scaling_feature *feature, double value)
{
    if (fabs(value) >= 2 * feature->unit)
        grow_unit(feature, value);
    value /= feature->unit;
    double distance = value - feature->mean;
    feature->mean += distance / (double)feature->count;
    feature->deviation += distance * (value - feature->mean);
}

void klr_scaling_see(struct klr_scaling_feature *feature, double value,
                     bool moments)
{
    if (feature->count++ == 0) {
        feature->min = feature->max = value;
    } else {
        feature->min = value < feature->min ? value : feature->min;
        feature->max = value > feature->max ? value : feature->max;
    }
    if (moments)
        see_moments(feature, value);
}

int klr_scaling_see_row(struct klr_scaling *scaling, size_t count,
                        const int *index, const double *value,
                        struct klr_error *err)
{
    bool moments = scaling->standardize;
    for (size_t i = 0; i < count; i++) {
        struct klr_scaling_feature *feature =
            klr_scaling_feature(scaling, index[i], err);
        if (!feature)
            return KLR_E_MEMORY;
        klr_scaling_see(feature, value[i], moments);
    }
    scaling->rows++;
    return 0;
}

/* The rows that lack a feature have a 0: `rows` values in all. */
static void see_zeros(struct klr_scaling_feature *feature, size_t rows)
{
    double n = (double)rows, count = (double)feature->count;
    if (feature->count < rows) {
        feature->min = fmin(feature->min, 0);
        feature->max = fmax(feature->max, 0);
        feature->deviation +=
            feature->mean * feature->mean * count * (n - count) / n;
        feature->mean *= count / n;
    }
    feature->mean *= feature->unit;
    feature->deviation =
        fmin(sqrt(feature->deviation / n) * feature->unit, DBL_MAX);
}

/* ---- Columns ---- */

int klr_scaling_add(struct klr_scaling *scaling, int index, double from,
                    double to, struct klr_error *err)
{
    if (KLR_GROW(scaling->column, scaling->column_room, scaling->columns + 1,
                 err))
        return KLR_E_MEMORY;
    scaling->column[scaling->columns++] =
        (struct klr_scaling_column){index, from, to};
    struct klr_scaling_feature *feature =
        klr_scaling_feature(scaling, index, err);
    if (!feature)
        return KLR_E_MEMORY;
    feature->column = scaling->columns;
    return 0;
}

int klr_scaling_settle(struct klr_scaling *scaling, struct klr_error *err)
{
    size_t count = scaling->features.count;
    struct klr_numbered_feature *sorted = klr_alloc(count, sizeof *sorted, err);
    int code = sorted ? 0 : KLR_E_MEMORY;
    if (!code)
        klr_feature_table_sort(&scaling->features, sorted);
    for (size_t i = 0; i < count && !code; i++) {
        struct klr_scaling_feature *f = &scaling->feature[sorted[i].number];
        int index = sorted[i].feature;
        if (f->count == 0)
            continue;
        f->known = true;
        see_zeros(f, scaling->rows);
        if (f->min < f->max && !scaling->standardize)
            code = klr_scaling_add(scaling, index, f->min, f->max, err);
        else if (f->min < f->max && f->deviation > 0)
            code = klr_scaling_add(scaling, index, f->mean, f->deviation, err);
    }
    klr_free(sorted);
    return code;
}

size_t klr_scaling_unknown(struct klr_scaling *scaling, size_t rows, int *least)
{
    size_t unknown = 0;
    for (size_t i = 0; i < scaling->features.count; i++) {
        struct klr_scaling_feature *f = &scaling->feature[i];
        int index = scaling->features.feature[i];
        if (f->count == 0 || f->known)
            continue;
        see_zeros(f, rows);
        if (f->min < f->max && (unknown++ == 0 || index < *least))
            *least = index;
    }
    return unknown;
}

/* ---- Scaling ---- */

/* In the order of svm-scale's operations; halved where they overflow. */
double klr_limits_map(struct klr_limits to, double v)
{
    if (v == to.min)
        return to.lower;
    if (v == to.max)
        return to.upper;
    double mapped =
        to.lower + (to.upper - to.lower) * (v - to.min) / (to.max - to.min);
    if (!isfinite(mapped)) {
        double part = (v / 2 - to.min / 2) / (to.max / 2 - to.min / 2);
        mapped = to.lower * (1 - part) + to.upper * part;
    }
    return mapped;
}

/* Halved where the difference overflows. */
static double standardize(const struct klr_scaling_column *column, double v)
{
    double distance = v - column->from;
    return isfinite(distance) ? distance / column->to
                              : (v / 2 - column->from / 2) / (column->to / 2);
}

int klr_scaling_map(const struct klr_scaling *scaling,
                    const struct klr_scaling_column *column, double v,
                    double *scaled, struct klr_error *err)
{
    struct klr_limits to = {scaling->lower, scaling->upper, column->from,
                            column->to};
    *scaled =
        scaling->standardize ? standardize(column, v) : klr_limits_map(to, v);
    if (isfinite(*scaled))
        return 0;
    return klr_fail(err, KLR_E_DATA,
                    "feature %d: the value %g is scaled out of range",
                    column->index, v);
}

/* The loops are two since one that chose at each value took 3 % more of a
 * training that reads its rows often. */
void klr_scaling_map_row(const struct klr_scaling *scaling, double *value)
{
    const struct klr_scaling_column *column = scaling->column;
    size_t columns = scaling->columns;
    struct klr_limits to = {scaling->lower, scaling->upper, 0, 0};
    for (size_t c = 0; c < columns && scaling->standardize; c++)
        value[c] = standardize(&column[c], value[c]);
    for (size_t c = 0; c < columns && !scaling->standardize; c++) {
        to.min = column[c].from;
        to.max = column[c].to;
        value[c] = klr_limits_map(to, value[c]);
    }
}
