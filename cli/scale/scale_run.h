/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How klr-scale scales a data set: learnt from its rows, or as a range file
 * says it (docs/FORMAT.md, section 3).
 */
#ifndef KLR_CLI_SCALING_H
#define KLR_CLI_SCALING_H

#include "base/scaling.h"
#include "solver.h"

/* All zero at first. */
struct cli_scaling {
    struct klr_scaling features;
    bool has_y; /* labels are scaled */
    struct klr_limits y;
};

/* See all rows; then columns are those features that change. `reader` keeps
 * its text and starts again. Calls told(rows, context) after each. KLR_E_DATA
 * where there is nothing to learn. */
int cli_scaling_learn(struct cli_scaling *scaling, struct klr_reader *reader,
                      klr_rows_fn *told, void *context, struct klr_error *err);

void cli_ranges_write(const struct cli_scaling *scaling,
                      struct klr_output *out);
/* Into a scaling that is all zero; KLR_E_DATA with the line. */
int cli_ranges_restore(struct cli_scaling *scaling, const char *path,
                       struct klr_error *err);

#endif
