/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Limits of time and iterations, interruption, and progress of a run.
 *
 * Solvers ask before each step, and the watch of the pool asks before each
 * turn, so that a product with K, too, ends between two of its tiles. What
 * ended a problem holds until the next one begins, an interruption for all: so
 * whatever a solver does after that ends at once.
 */
#include "solver/solve/solve.h"

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

/* The time of all problems may be left where that of one is over. */
static void clock_lift(struct clock *clock)
{
    if (clock->status == KLR_TIME_LIMIT)
        clock->status = KLR_CONVERGED;
}

static void clock_next(struct clock *clock, size_t problems, size_t n)
{
    clock->problem += problems;
    clock->own = (double)problems * ((double)n * (double)n);
    clock->work += clock->own;
    clock->part = 0;
    clock->between = false;
    clock->last = (struct klr_progress){.gap = (double)NAN};
    clock_lift(clock);
}

static void clock_path(struct clock *clock, size_t t, size_t count)
{
    clock->part = (double)t / (double)count;
}

static void clock_between(struct clock *clock, const char *phase)
{
    clock->between = true;
    clock->part = 1;
    clock->last = (struct klr_progress){.phase = phase, .gap = (double)NAN};
    clock_lift(clock);
}

/* The share of the time limit up to the end of the present problem. */
static double clock_share(const struct clock *clock)
{
    const double common = 0.25;
    if (clock->between || !(clock->work < clock->total))
        return 1;
    return common + (1 - common) * clock->work / clock->total;
}

static enum klr_status clock_status(const struct clock *clock,
                                    const struct klr_params *params)
{
    if (clock->status == KLR_INTERRUPTED)
        return KLR_INTERRUPTED;
    return params->time_limit > 0 &&
                   klr_seconds() - clock->begin >= params->time_limit
               ? KLR_TIME_LIMIT
               : KLR_CONVERGED;
}

static bool clock_stopped(const struct clock *clock)
{
    return clock->status != KLR_CONVERGED;
}

/* True if a report is due, unless there is a reason to stop. */
static bool clock_look(struct clock *clock, const struct klr_params *params,
                       double now)
{
    if (!clock_stopped(clock) && params->time_limit > 0 &&
        now - clock->begin >= clock_share(clock) * params->time_limit)
        clock->status = KLR_TIME_LIMIT;
    return !clock_stopped(clock) && params->progress &&
           now >= clock->next_report;
}

static void clock_report(struct clock *clock, const struct klr_params *params,
                         double now)
{
    enum { REPORTS_PER_SECOND = 10 };
    struct klr_progress *last = &clock->last;
    clock->next_report = now + 1.0 / REPORTS_PER_SECOND;
    size_t unit = clock->unit > 0 ? clock->unit : 1;
    last->problem = (clock->problem + unit - 1) / unit;
    last->problems = clock->problems / unit;
    last->seconds = now - clock->begin;
    double work = clock->work - (1 - clock->part) * clock->own - clock->first;
    last->done = clock->span > 0 ? fmin(work / clock->span, 1) : 0;
    if (params->progress(last, params->context))
        clock->status = KLR_INTERRUPTED;
}

static enum klr_status clock_check(struct clock *clock,
                                   const struct klr_params *params,
                                   struct klr_progress *progress,
                                   double (*gap)(void *), void *solver)
{
    double now = klr_seconds();
    const struct klr_progress old = clock->last;
    if (params->max_iter > 0 && progress->iterations >= params->max_iter)
        return KLR_ITERATION_LIMIT;
    bool due = clock_look(clock, params, now);
    clock->last = *progress;
    clock->last.gap = gap && (due || clock->gap_is_old) ? gap(solver) : old.gap;
    clock->gap_is_old = false;
    if (clock->between)
        clock->last.phase = old.phase;
    if (due)
        clock_report(clock, params, now);
    return clock->status;
}

/* A klr_pool_ends: of the solver it has what was told at the last check. */
static bool clock_ends(void *context)
{
    struct clock *clock = context;
    const struct klr_params *params = clock->params;
    if (clock_stopped(clock))
        return true;
    if (!params->progress && !(params->time_limit > 0))
        return false;
    double now = klr_seconds();
    if (clock_look(clock, params, now)) {
        clock_report(clock, params, now);
        clock->gap_is_old = true;
    }
    return clock_stopped(clock);
}

static void clock_watch(struct clock *clock, const struct klr_params *params,
                        struct klr_pool *pool)
{
    clock->params = params;
    if (pool)
        klr_pool_watch(pool, clock_ends, clock);
}

static void clock_leave(struct klr_pool *pool)
{
    if (pool)
        klr_pool_watch(pool, NULL, NULL);
}
