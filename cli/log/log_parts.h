/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of this room share.
 */
#ifndef KLR_CLI_LOG_PARTS_H
#define KLR_CLI_LOG_PARTS_H

#include "cli/log/log.h"

/* The head of a log, around what it is about. */
static const char head_begin[] = "{\"klr_log\": 1, \"problem\": {";
static const char head_files[] = "}, \"files\": {";

/* Results of a pair of classes. */
struct kept_pair {
    size_t pair;
    struct klr_part_result *results; /* (costs) owned */
};

/* A log while a run reads and writes it. */
struct cli_log {
    const struct cli_train *train;
    FILE *file;
    size_t points; /* of a gamma */
    bool known[KLR_REALS_MOST];
    struct klr_metric_values *values, *error; /* (gammas, points) */
    struct klr_report *report;                /* (gammas, points) */
    size_t costs, folds, cells;               /* gammas times lambdas */
    struct klr_part_result **fold; /* (cells, folds) owned, of (costs) results;
                                      NULL: not known */
    size_t pairs, room;
    struct kept_pair *pair; /* (pairs) ascending */
};

/* The numbers kept of a point besides its values: those of its report, and of
 * its notes. */
enum { OF_REPORT = 7, OF_NOTE = 5 };
enum { LOG_NUMBERS = OF_REPORT + OF_NOTE * KLR_NOTES };

/* Where a gamma stands among those of the grid, or their count. */
size_t cli_log_row(const struct cli_log *log, double gamma);
/* The place of a fold, or NULL: the grid has no such one. */
struct klr_part_result **cli_log_fold(const struct cli_log *log, double gamma,
                                      size_t lambda, size_t fold);

/* ---- Lines: see write_lines.c, read_lines.c ---- */

void cli_log_write_head(const struct cli_log *log);
/* The values of all points of a gamma. */
void cli_log_write_gamma(const struct cli_log *log, size_t row,
                         struct klr_results results);
/* Those of a fold, and those of a pair of classes, for each C. */
void cli_log_write_fold(const struct cli_log *log, double gamma, size_t lambda,
                        size_t fold, const struct klr_part_result *results);
void cli_log_write_pair(const struct cli_log *log, double gamma, size_t pair,
                        size_t pairs, const struct klr_part_result *results);

/* Read all lines, pairs in any order; *end is where the last whole one ends.
 * KLR_E_DATA with the line, if the file is no log or one of another problem;
 * KLR_E_IO. */
int cli_log_read(struct cli_log *log, off_t *end, struct klr_error *err);

#endif
