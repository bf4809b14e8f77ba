/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Limits of time and iterations, interruption, and progress of a run.
 */
#include "solver/internal.h"

const char *const klr_status_names[] = {"converged",
                                        "precision_limit",
                                        "iteration_limit",
                                        "memory_limit",
                                        "time_limit",
                                        "interrupted",
                                        NULL};

static void clock_start(struct clock *clock, size_t problems)
{
    memset(clock, 0, sizeof *clock);
    clock->begin = klr_seconds();
    clock->problems = problems;
}

static enum klr_status gravest(enum klr_status a, enum klr_status b)
{
    return a > b ? a : b;
}

static void clock_next(struct clock *clock, size_t problems, size_t n)
{
    clock->problem += problems;
    clock->work += (double)problems * ((double)n * (double)n);
}

/* Of the limit of time, up to the end of the present problem. */
static double clock_share(const struct clock *clock)
{
    const double common = 0.25;
    if (!(clock->work < clock->total))
        return 1;
    return common + (1 - common) * clock->work / clock->total;
}

static enum klr_status clock_status(const struct clock *clock,
                                    const struct klr_params *params)
{
    if (clock->interrupted)
        return KLR_INTERRUPTED;
    return params->time_limit > 0 &&
                   klr_seconds() - clock->begin >= params->time_limit
               ? KLR_TIME_LIMIT
               : KLR_CONVERGED;
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
    if (params->time_limit > 0 &&
        progress->seconds >= clock_share(clock) * params->time_limit)
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
