/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How features are scaled: learnt from data, or as a range file says it
 * (docs/FORMAT.md, section 3). Memory is that of the features that occur.
 */
#ifndef KLR_CLI_SCALING_H
#define KLR_CLI_SCALING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "solver.h"

/* From [min, max] to [lower, upper]. */
struct cli_limits {
    double lower, upper, min, max;
};

/* What is seen of a feature. */
struct cli_feature {
    bool known;             /* by the first pass or the range file */
    size_t count;           /* rows that have it */
    double min, max;        /* over those rows */
    double mean, deviation; /* deviation: sum of squares until all is seen */
    size_t column;          /* its place from 1; 0: it is not written */
};

/* A feature that is written. */
struct cli_column {
    int index;
    double from, to; /* min and max, or mean and deviation */
};

enum { CLI_PAGE = 1024 }; /* features */

/* All zero at first. */
struct cli_scaling {
    bool standardize;    /* to zero mean and unit deviation, not to limits */
    double lower, upper; /* limits of the features */
    bool has_y;          /* labels are scaled */
    struct cli_limits y;
    size_t rows;               /* that were seen */
    struct cli_column *column; /* (columns), ascending */
    size_t columns;
    /* Features by index: pages that exist where an index was seen. */
    struct cli_feature **page;
    size_t pages, page_room, column_room;
};

void cli_scaling_free(struct cli_scaling *scaling);

/* The page that `index` is on, created where it is new. KLR_E_MEMORY. */
int cli_scaling_page(struct cli_scaling *scaling, int index,
                     struct klr_error *err);

/* The feature, which is created where it is new; NULL without memory. Asked for
 * each value of the data, hence inline. */
static inline struct cli_feature *
cli_scaling_feature(struct cli_scaling *scaling, int index,
                    struct klr_error *err)
{
    size_t page = (size_t)index / CLI_PAGE;
    if ((page >= scaling->pages || !scaling->page[page]) &&
        cli_scaling_page(scaling, index, err))
        return NULL;
    return &scaling->page[page][(size_t)index % CLI_PAGE];
}

/* One more value of a feature; `moments`: mean and deviation too. */
void cli_feature_see(struct cli_feature *feature, double value, bool moments);

/* See all rows; then columns are those features that change. `reader` keeps
 * its text and starts again. KLR_E_DATA where there is nothing to learn. */
int cli_scaling_learn(struct cli_scaling *scaling, struct klr_reader *reader,
                      struct klr_error *err);

/* Features not known that change, among `rows` rows, and the least of them. */
size_t cli_scaling_unknown(struct cli_scaling *scaling, size_t rows,
                           int *least);

/* Append a column. */
int cli_scaling_add(struct cli_scaling *scaling, int index, double from,
                    double to, struct klr_error *err);

int cli_ranges_save(const struct cli_scaling *scaling, const char *path,
                    struct klr_error *err);
/* Into a scaling that is all zero; KLR_E_DATA with the line. */
int cli_ranges_restore(struct cli_scaling *scaling, const char *path,
                       struct klr_error *err);

#endif
