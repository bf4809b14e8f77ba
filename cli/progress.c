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
#include <sys/ioctl.h>
#include <unistd.h>

enum { LINE_SIZE = 192, USUAL_COLUMNS = 80, MOST_WRITTEN = 32 * 1024 };
static const double seconds_before_line = 1, seconds_between_lines = 10;
static const double seconds_before_drawing = 0.1;

static bool on_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

/* The characters that fit into a line without a wrap. */
static int terminal_width(void)
{
    struct winsize size;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
    return (known && size.ws_col > 0 ? size.ws_col : USUAL_COLUMNS) - 1;
}

/* The state of the solver, or the name of the phase. */
static void compose_work(char work[LINE_SIZE], const struct klr_progress *now)
{
    char violation[32] = "", gap[32] = "", objective[40] = "";
    if (now->phase) {
        snprintf(work, LINE_SIZE, "%s", now->phase);
        return;
    }
    if (now->violation > 0 && isfinite(now->violation)) /* it is known */
        snprintf(violation, sizeof violation, ", violation %.1e",
                 now->violation);
    if (isfinite(now->gap))
        snprintf(gap, sizeof gap, ", gap %.1e", now->gap);
    if (now->objective != 0)
        snprintf(objective, sizeof objective, ", objective %.6g",
                 now->objective);
    snprintf(work, LINE_SIZE, "%lld iteration%s%s%s%s", now->iterations,
             klr_plural((size_t)now->iterations), violation, objective, gap);
}

static void compose(char line[LINE_SIZE], const char *name,
                    const struct klr_progress *now)
{
    char work[LINE_SIZE];
    char problem[64] = "";
    double left = now->seconds * (1 - now->done) / now->done;
    if (now->points > 1) {
        snprintf(problem, sizeof problem, "some %.0f s left", left);
        snprintf(line, LINE_SIZE, "%s: %zu points, %.0f%% done, %.1f s, %s",
                 name, now->points, 100 * now->done, now->seconds,
                 now->done > 0 ? problem : "time left unknown");
        return;
    }
    if (now->problems > 1)
        snprintf(problem, sizeof problem, "problem %zu/%zu, ", now->problem,
                 now->problems);
    compose_work(work, now);
    snprintf(line, LINE_SIZE, "%s: %s%.1f s, %.100s", name, problem,
             now->seconds, work);
}

static void draw(struct cli_progress *progress, const char *line,
                 double seconds)
{
    if (seconds < seconds_before_drawing)
        return;
    fprintf(stderr, "\r%.*s\033[K", terminal_width(), line);
    progress->shown = true;
}

int cli_progress(const struct klr_progress *now, void *context)
{
    struct cli_progress *progress = context;
    char line[LINE_SIZE];
    if (progress->quiet)
        return cli_signal() != 0;
    compose(line, progress->name, now);
    if (on_terminal()) {
        draw(progress, line, now->seconds);
    } else if (now->seconds >= seconds_before_line &&
               now->seconds >= progress->next &&
               progress->written + LINE_SIZE <= MOST_WRITTEN) {
        progress->written += (size_t)fprintf(stderr, "%s\n", line);
        progress->next = now->seconds + seconds_between_lines;
    }
    return cli_signal() != 0;
}

void cli_progress_rows(struct cli_progress *progress, const char *what,
                       unsigned long long rows, double seconds)
{
    char line[LINE_SIZE];
    if (progress->quiet || seconds < progress->next)
        return;
    progress->next = seconds + seconds_before_drawing;
    if (!on_terminal())
        return;
    snprintf(line, sizeof line, "%s: %llu %s, %.1f s", progress->name, rows,
             what, seconds);
    draw(progress, line, seconds);
}

void cli_progress_end(struct cli_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
    progress->next = 0;
}
