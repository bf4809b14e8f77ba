/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parts of the limit of time for one problem after the other, and what reports
 * tell that come amid a step.
 */
#define SOLVER_FLOOR 4
#include "solver.c"

#include "tests/tap.h"

/* The status of the clock at that share of the time limit. */
static enum klr_status check_at(struct clock *clock, double share)
{
    struct klr_params params;
    struct klr_progress progress = {0};
    klr_params_init(&params);
    params.time_limit = 1e6;
    clock->begin = klr_seconds() - share * params.time_limit;
    return clock_check(clock, &params, &progress, NULL, NULL);
}

static void test_shares(void)
{
    struct clock clock;
    const double end[] = {0.25 + 0.75 * 1 / 6, 0.25 + 0.75 * 3 / 6, 1};
    const size_t problems[] = {1, 2, 3};
    clock_start(&clock, 6);
    clock.total = 6 * 4.0;
    for (int p = 0; p < 3; p++) {
        clock_next(&clock, problems[p], 2);
        ok(check_at(&clock, end[p] - 0.001) == KLR_CONVERGED &&
               check_at(&clock, end[p] + 0.001) == KLR_TIME_LIMIT,
           "the problems up to %zu of 6 end at %g of the limit", clock.problem,
           end[p]);
    }
    clock_start(&clock, 6);
    clock_next(&clock, 1, 2);
    ok(check_at(&clock, 0.999) == KLR_CONVERGED &&
           check_at(&clock, 1.001) == KLR_TIME_LIMIT,
       "without a total each has all of it");
}

static int keep_report(const struct klr_progress *progress, void *context)
{
    *(struct klr_progress *)context = *progress;
    return 0;
}

static double gap_of(void *solver)
{
    return *(double *)solver;
}

/* Products take nearly all of the time, so most reports are due in one. They
 * tell the step that the solver has come to, and a gap of the last few. */
static void test_reports(void)
{
    struct klr_params params;
    struct klr_progress progress = {0}, told = {0};
    struct clock clock;
    double gap = 0.5;
    klr_params_init(&params);
    params.progress = keep_report;
    params.context = &told;
    clock_start(&clock, 1);
    clock_next(&clock, 1, 2);
    clock_watch(&clock, &params, NULL);
    clock.next_report = INFINITY;
    progress.iterations = 1;
    clock_check(&clock, &params, &progress, gap_of, &gap);
    clock.next_report = 0;
    clock_ends(&clock);
    ok(told.iterations == 1 && told.problem == 1 && isnan(told.gap),
       "a report amid a step has its number");
    for (int step = 2; step < 4; step++) {
        clock.next_report = INFINITY;
        progress.iterations = step;
        gap /= 2;
        clock_check(&clock, &params, &progress, gap_of, &gap);
    }
    clock.next_report = 0;
    clock_ends(&clock);
    ok(told.iterations == 3 && told.gap == 0.25,
       "and the gap of the step after the last report");
    clock_between(&clock, "links");
    clock_check(&clock, &params, &progress, NULL, NULL);
    clock.next_report = 0;
    clock_ends(&clock);
    ok(strcmp(told.phase ? told.phase : "none", "links") == 0 &&
           isnan(told.gap),
       "between problems they tell the phase");
}

int main(void)
{
    test_shares();
    test_reports();
    return done_testing();
}
