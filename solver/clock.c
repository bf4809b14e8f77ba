/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Limits of time and iterations, interruption, and progress of a run.
 */
#include "solver/internal.h"

const char *const klr_status_names[] = {"converged",       "precision_limit",
                                        "iteration_limit", "time_limit",
                                        "interrupted",     NULL};

static void clock_start(struct clock *clock, size_t problems)
{
    memset(clock, 0, sizeof *clock);
    clock->begin = klr_seconds();
    clock->problems = problems;
}

static enum klr_status clock_check(struct clock *clock,
                                   const struct klr_params *params,
                                   struct klr_progress *progress,
                                   double (*gap)(void *), void *solver)
{
    enum { REPORTS_PER_SECOND = 10 };
    double now = klr_seconds();
    progress->seconds = now - clock->begin;
    if (params->max_iter > 0 && progress->iterations >= params->max_iter)
        return KLR_ITERATION_LIMIT;
    if (params->time_limit > 0 && progress->seconds >= params->time_limit)
        return KLR_TIME_LIMIT;
    if (clock->interrupted)
        return KLR_INTERRUPTED;
    if (params->progress && now >= clock->next_report) {
        clock->next_report = now + 1.0 / REPORTS_PER_SECOND;
        progress->problem = clock->problem;
        progress->problems = clock->problems;
        progress->gap = gap ? gap(solver) : (double)NAN;
        clock->interrupted = params->progress(progress, params->context);
    }
    return clock->interrupted ? KLR_INTERRUPTED : KLR_CONVERGED;
}
