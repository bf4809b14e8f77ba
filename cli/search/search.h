/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters that --auto chooses: see cli/search/search.c.
 */
#ifndef KLR_CLI_SEARCH_H
#define KLR_CLI_SEARCH_H

#include "cli/train/training_run.h"

/* With --auto, refuse what has no meaning then, and let there be folds.
 * KLR_E_USAGE. */
int cli_train_search_check(struct cli_train *train, struct klr_error *err);

/* With --auto, choose the scaling of the features that were read, unless it is
 * given, or is to be searched: then it remains CLI_SCALE_AUTO. KLR_E_MEMORY. */
int cli_train_search_scale(struct cli_train *train, struct klr_error *err);

/* Search the scaling, gamma and C, as far as they are left open. Scale the
 * training set, and set train->params to the best point, without folds, and to
 * a basis if klr of all examples would take long. It tells the plan and the
 * choice on stderr, and writes train->search_text, a member of a JSON object
 * and a comma. Where the clock or a signal ends it, the best finished point is
 * taken. Errors as klr_cross_validate and klr_problem_scale. */
int cli_train_search(struct cli_train *train, const struct cli_program *program,
                     struct klr_error *err);

#endif
