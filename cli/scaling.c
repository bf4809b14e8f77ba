/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What klr-scale learns of features from the rows of a data set.
 */
#include "cli/scaling.h"

#include <math.h>

#include "base/memory.h"

void cli_scaling_free(struct cli_scaling *scaling)
{
    for (size_t i = 0; i < scaling->pages; i++)
        klr_free(scaling->page[i]);
    klr_free(scaling->page);
    klr_free(scaling->column);
}

/* ---- Features by index ---- */

int cli_scaling_page(struct cli_scaling *scaling, int index,
                     struct klr_error *err)
{
    size_t page = (size_t)index / CLI_PAGE;
    if (page >= scaling->pages) {
        struct cli_feature **grown = klr_grow(
            scaling->page, &scaling->page_room, page + 1, sizeof *grown, err);
        if (!grown)
            return KLR_E_MEMORY;
        scaling->page = grown;
        while (scaling->pages <= page)
            grown[scaling->pages++] = NULL;
    }
    scaling->page[page] = klr_zalloc(CLI_PAGE, sizeof **scaling->page, err);
    return scaling->page[page] ? 0 : KLR_E_MEMORY;
}

/* The first feature of index `*index` or more that was seen, and its index;
 * NULL: there is none. */
static struct cli_feature *next_feature(const struct cli_scaling *scaling,
                                        size_t *index)
{
    for (; *index / CLI_PAGE < scaling->pages; ++*index) {
        struct cli_feature *page = scaling->page[*index / CLI_PAGE];
        if (page && page[*index % CLI_PAGE].count)
            return &page[*index % CLI_PAGE];
        if (!page)
            *index += CLI_PAGE - 1;
    }
    return NULL;
}

/* ---- Statistics ---- */

/* Mean and sum of squares after Welford (1962). */
void cli_feature_see(struct cli_feature *feature, double value, bool moments)
{
    if (feature->count++ == 0) {
        feature->min = feature->max = value;
    } else {
        feature->min = value < feature->min ? value : feature->min;
        feature->max = value > feature->max ? value : feature->max;
    }
    if (moments) {
        double distance = value - feature->mean;
        feature->mean += distance / (double)feature->count;
        feature->deviation += distance * (value - feature->mean);
    }
}

static int see_row(struct cli_scaling *scaling, const struct klr_row *row,
                   struct klr_error *err)
{
    bool moments = scaling->standardize;
    for (size_t i = 0; i < row->count; i++) {
        struct cli_feature *feature =
            cli_scaling_feature(scaling, row->index[i], err);
        if (!feature)
            return KLR_E_MEMORY;
        cli_feature_see(feature, row->value[i], moments);
    }
    if (row->has_label) {
        scaling->y.min = fmin(scaling->y.min, row->label);
        scaling->y.max = fmax(scaling->y.max, row->label);
    }
    scaling->rows++;
    return 0;
}

/* The rows that lack a feature have a 0: `rows` values in all. */
static void see_zeros(struct cli_feature *feature, size_t rows)
{
    double n = (double)rows, count = (double)feature->count;
    if (feature->count < rows) {
        feature->min = fmin(feature->min, 0);
        feature->max = fmax(feature->max, 0);
        feature->deviation +=
            feature->mean * feature->mean * count * (n - count) / n;
        feature->mean *= count / n;
    }
    feature->deviation = sqrt(feature->deviation / n);
}

/* ---- Columns ---- */

int cli_scaling_add(struct cli_scaling *scaling, int index, double from,
                    double to, struct klr_error *err)
{
    struct cli_column *grown =
        klr_grow(scaling->column, &scaling->column_room, scaling->columns + 1,
                 sizeof *grown, err);
    if (!grown)
        return KLR_E_MEMORY;
    scaling->column = grown;
    grown[scaling->columns++] = (struct cli_column){index, from, to};
    struct cli_feature *feature = cli_scaling_feature(scaling, index, err);
    if (!feature)
        return KLR_E_MEMORY;
    feature->column = scaling->columns;
    return 0;
}

/* Columns of the features that were seen to change. */
static int add_columns(struct cli_scaling *scaling, struct klr_error *err)
{
    int code = 0;
    struct cli_feature *f;
    for (size_t i = 0; !code && (f = next_feature(scaling, &i)); i++) {
        f->known = true;
        see_zeros(f, scaling->rows);
        if (f->min < f->max && !scaling->standardize)
            code = cli_scaling_add(scaling, (int)i, f->min, f->max, err);
        else if (f->min < f->max && f->deviation > 0)
            code = cli_scaling_add(scaling, (int)i, f->mean, f->deviation, err);
    }
    return code;
}

int cli_scaling_learn(struct cli_scaling *scaling, struct klr_reader *reader,
                      struct klr_error *err)
{
    struct klr_row row;
    int got;
    scaling->y.min = HUGE_VAL;
    scaling->y.max = -HUGE_VAL;
    while ((got = klr_reader_next(reader, &row, err)) == 1)
        if (see_row(scaling, &row, err))
            return KLR_E_MEMORY;
    if (got < 0)
        return -got;
    if (scaling->rows == 0)
        return klr_fail(err, KLR_E_DATA, "no examples");
    if (scaling->has_y && scaling->y.min > scaling->y.max)
        return klr_fail(err, KLR_E_DATA, "no labels to scale");
    int code = add_columns(scaling, err);
    return code ? code : klr_input_rewind(klr_reader_input(reader), err);
}

size_t cli_scaling_unknown(struct cli_scaling *scaling, size_t rows, int *least)
{
    size_t unknown = 0;
    struct cli_feature *f;
    for (size_t i = 0; (f = next_feature(scaling, &i)); i++) {
        if (f->known)
            continue;
        see_zeros(f, rows);
        if (f->min < f->max && unknown++ == 0)
            *least = (int)i;
    }
    return unknown;
}
