/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is learnt of features from rows, and how it scales them.
 */
#include "base/scaling.h"

#include <float.h>
#include <math.h>

#include "base/memory.h"

void klr_scaling_free(struct klr_scaling *scaling)
{
    for (size_t i = 0; i < scaling->pages; i++)
        klr_free(scaling->page[i]);
    klr_free(scaling->page);
    klr_free(scaling->column);
}

/* ---- Features by index ---- */

int klr_scaling_page(struct klr_scaling *scaling, int index,
                     struct klr_error *err)
{
    size_t page = (size_t)index / KLR_SCALING_PAGE;
    if (page >= scaling->pages) {
        if (KLR_GROW(scaling->page, scaling->page_room, page + 1, err))
            return KLR_E_MEMORY;
        while (scaling->pages <= page)
            scaling->page[scaling->pages++] = NULL;
    }
    scaling->page[page] =
        klr_zalloc(KLR_SCALING_PAGE, sizeof **scaling->page, err);
    return scaling->page[page] ? 0 : KLR_E_MEMORY;
}

/* The first feature of index `*index` or more that was seen, and its index;
 * NULL: there is none. */
static struct klr_scaling_feature *
next_feature(const struct klr_scaling *scaling, size_t *index)
{
    for (; *index / KLR_SCALING_PAGE < scaling->pages; ++*index) {
        struct klr_scaling_feature *page =
            scaling->page[*index / KLR_SCALING_PAGE];
        if (page && page[*index % KLR_SCALING_PAGE].count)
            return &page[*index % KLR_SCALING_PAGE];
        if (!page)
            *index += KLR_SCALING_PAGE - 1;
    }
    return NULL;
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
    int code = 0;
    struct klr_scaling_feature *f;
    for (size_t i = 0; !code && (f = next_feature(scaling, &i)); i++) {
        f->known = true;
        see_zeros(f, scaling->rows);
        if (f->min < f->max && !scaling->standardize)
            code = klr_scaling_add(scaling, (int)i, f->min, f->max, err);
        else if (f->min < f->max && f->deviation > 0)
            code = klr_scaling_add(scaling, (int)i, f->mean, f->deviation, err);
    }
    return code;
}

size_t klr_scaling_unknown(struct klr_scaling *scaling, size_t rows, int *least)
{
    size_t unknown = 0;
    struct klr_scaling_feature *f;
    for (size_t i = 0; (f = next_feature(scaling, &i)); i++) {
        if (f->known)
            continue;
        see_zeros(f, rows);
        if (f->min < f->max && unknown++ == 0)
            *least = (int)i;
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
