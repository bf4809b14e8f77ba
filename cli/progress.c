/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress on stderr. On a terminal one line is redrawn; elsewhere lines are
 * few and bounded, for nobody may be reading: a pipe that fills up would stop
 * the training.
 */
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"

enum { LINE_SIZE = 80, MOST_WRITTEN = 32 * 1024 };
static const double seconds_between_lines = 10;

static bool on_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

static void compose(char line[LINE_SIZE], const char *name,
                    const struct klr_progress *now)
{
    char problem[64] = "", gap[32] = "";
    if (now->problems > 1)
        snprintf(problem, sizeof problem, "problem %zu/%zu, ", now->problem,
                 now->problems);
    if (!isnan(now->gap))
        snprintf(gap, sizeof gap, ", gap %.1e", now->gap);
    snprintf(line, LINE_SIZE,
             "%s: %s%ld iterations, violation %.1e > %.1e%s, "
             "%.1f s",
             name, problem, now->iterations, now->violation, now->target, gap,
             now->seconds);
}

int cli_progress(const struct klr_progress *now, void *context)
{
    struct cli_progress *progress = context;
    char line[LINE_SIZE];
    double seconds = klr_seconds();
    bool terminal = !progress->quiet && on_terminal();
    bool due = !progress->quiet && seconds >= progress->next &&
               progress->written + LINE_SIZE <= MOST_WRITTEN;
    if (terminal || due)
        compose(line, progress->name, now);
    if (terminal) {
        fprintf(stderr, "\r%s\033[K", line);
        progress->shown = true;
    } else if (due) {
        progress->written += (size_t)fprintf(stderr, "%s\n", line);
        progress->next = seconds + seconds_between_lines;
    }
    return cli_signal() != 0;
}

void cli_progress_end(struct cli_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
