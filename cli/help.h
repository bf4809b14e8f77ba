/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the parts of cli/ only.
 */
#ifndef KLR_CLI_HELP_H
#define KLR_CLI_HELP_H

#include "cli/cli.h"

/* Options that every program has; ended by NULL. */
extern const struct klr_option cli_common_options[];

void cli_print_help(const struct cli_program *program); /* on stdout */

#endif
