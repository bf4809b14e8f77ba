/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The log of a run of klr-train, a line for each gamma, fold or pair of
 * classes: docs/FORMAT.md, section 7.
 */
#ifndef KLR_CLI_LOG_H
#define KLR_CLI_LOG_H

#include "cli/train/training_run.h"

/* The file of --log or --part; NULL: there is none. */
const char *cli_log_path(const struct cli_train *train);
/* Fail before data are read if the file of --log is there already, unless
 * --resume or --part is given. KLR_E_USAGE, KLR_E_IO. */
int cli_log_check(const struct cli_train *train, const char *const *others,
                  size_t count, struct klr_error *err);
/* Take a last step with the log, if there is to be one: with what it has, which
 * is read first, but for a last line that was not written whole. The exit
 * status. */
int cli_log_run(struct cli_train *train, const struct cli_program *program,
                int step(struct cli_train *train,
                         const struct cli_program *program));

#endif
