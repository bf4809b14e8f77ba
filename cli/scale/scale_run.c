/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What klr-scale learns of features and labels from the rows of a data set.
 */
#include "cli/scale/scale_run.h"

#include <math.h>

int cli_scaling_learn(struct cli_scaling *scaling, struct klr_reader *reader,
                      klr_rows_fn *told, void *context, struct klr_error *err)
{
    struct klr_row row;
    struct klr_limits *y = &scaling->y;
    int got;
    y->min = HUGE_VAL;
    y->max = -HUGE_VAL;
    while ((got = klr_reader_next(reader, &row, err)) == 1) {
        if (klr_scaling_see_row(&scaling->features, row.count, row.index,
                                row.value, err))
            return KLR_E_MEMORY;
        if (row.has_label) {
            y->min = fmin(y->min, row.label);
            y->max = fmax(y->max, row.label);
        }
        told(scaling->features.rows, context);
    }
    if (got < 0)
        return -got;
    if (scaling->features.rows == 0)
        return klr_fail(err, KLR_E_DATA, "no examples");
    if (scaling->has_y && y->min > y->max)
        return klr_fail(err, KLR_E_DATA, "no labels to scale");
    int code = klr_scaling_settle(&scaling->features, err);
    return code ? code : klr_input_rewind(klr_reader_input(reader), err);
}
