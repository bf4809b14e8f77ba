/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cross validation: the points of a grid are compared, and the best of them is
 * the answer.
 *
 * Within eps, a point depends on the path to it, and what a point needs to be
 * chosen is less than what it needs to be the answer. The best of several is
 * therefore validated once more, as if it were the only one: at a smaller eps,
 * with links that are fitted to all examples. What it was chosen by stays
 * beside the values of the others.
 *
 * A point that the clock cut in any of its folds is not solved: it has no
 * values, and is not chosen. Neither has one that overflows or that rounding
 * makes senseless, in any of its folds. If all do, or the answer does, the run
 * fails.
 */
#include "solver/validate/grid.h"

static int validation_create(struct klr_validation *out, struct klr_error *err)
{
    if (!(out->values = klr_zalloc(out->count, sizeof *out->values, err)) ||
        !(out->error = klr_zalloc(out->count, sizeof *out->error, err)) ||
        !(out->report = klr_zalloc(out->count, sizeof *out->report, err)))
        return KLR_E_MEMORY;
    return 0;
}

/* The first of the best points that are solved, if any is, or the sparsest. */
static int validation_choose(struct klr_validation *out,
                             const struct klr_params *params,
                             struct klr_error *err)
{
    enum klr_metric metric = (enum klr_metric)params->metric;
    size_t first = 0;
    int code = 0;
    while (first < out->count && !point_is_solved(&out->report[first]))
        first++;
    for (size_t t = first; t < out->count; t++)
        out->solved += point_is_solved(&out->report[t]);
    if (params->sparsest)
        code = metric_sparsest(metric, out->values, out->report, out->count,
                               (size_t)params->sparsest, &out->best, err);
    else
        out->best = klr_best_values(metric, out->values, out->count);
    if (out->solved > 0 && !point_is_solved(&out->report[out->best]))
        out->best = first; /* the metric has no value at any */
    return code;
}

static bool has_values(const struct klr_validation *out)
{
    size_t t = 0;
    while (t < out->count && out->values[t].count == 0)
        t++;
    return t < out->count;
}

/* Validate several points, of which none is the answer yet. */
static int grid_choose(const struct klr_problem *problem,
                       const struct partition *partition,
                       const struct klr_params *settled, double eps,
                       struct klr_pool *pool, struct klr_validation *out,
                       bool *stopped, struct klr_error *err)
{
    const double share =
        0.8; /* of the limit of time: the answer has the rest */
    struct klr_params params = *settled;
    struct grid grid = {.problem = problem,
                        .params = &params,
                        .partition = partition,
                        .journal = params.journal,
                        .values = out->values,
                        .error = out->error,
                        .report = out->report};
    params.eps = fmax(eps, params.eps);
    params.time_limit *= share;
    calibration_compare(&params, partition);
    int code = grid_run(&grid, pool, err);
    *stopped = grid.team.stopped;
    if (!code && grid.refused && !grid_only(&grid) && !has_values(out)) {
        code = KLR_E_DATA;
        if (err)
            *err = grid.refusal;
    }
    if (!code)
        code = validation_choose(out, &params, err);
    return code;
}

/* Validate the best point by itself. If several points were validated and the
 * clock cuts this, what is known of it stays. */
static int grid_answer(const struct klr_problem *problem,
                       const struct partition *partition,
                       const struct klr_params *settled, struct klr_pool *pool,
                       struct klr_validation *out, bool held_out,
                       struct klr_error *err)
{
    struct klr_params params = klr_params_point(settled, out->best);
    struct klr_metric_values values = {0}, error = {0};
    struct klr_report report = {0};
    struct grid grid = {.problem = problem,
                        .params = &params,
                        .partition = partition,
                        .values = &values,
                        .error = &error,
                        .report = &report,
                        .metrics = &out->metrics,
                        .held_out = held_out ? &out->held_out : NULL};
    int code =
        held_out ? held_out_create(&out->held_out, &params, partition, err) : 0;
    if (!code)
        code = grid_run(&grid, pool, err);
    if (code)
        return code;
    if (point_is_solved(&report) && values.count < partition->examples)
        return klr_fail(err, KLR_E_DATA, "%s%s at C = %g",
                        params.loo ? "option --loo: " : "",
                        report.doubt == KLR_DOUBT_INDEFINITE
                            ? "the kernel matrix is not positive semidefinite "
                              "to rounding"
                            : "decision values are lost in rounding errors",
                        params.cost.value[0]);
    if (out->count == 1) {
        *out->values = values;
        *out->error = error;
        out->solved += point_is_solved(&report);
    }
    if (out->count == 1 || point_is_solved(&report)) {
        out->answer = values;
        out->answer_error = error;
        out->report[out->best] = report;
    } else {
        out->metrics = klr_metrics_free(out->metrics);
    }
    return 0;
}

static int journal_check(const struct klr_journal *journal, size_t folds,
                         struct klr_error *err)
{
    if (!journal || journal->only <= folds)
        return 0;
    return klr_fail(err, KLR_E_USAGE, "there is no fold %zu: there are %zu",
                    journal->only, folds);
}

int klr_cross_validate(const struct klr_problem *problem,
                       const struct klr_params *given, bool held_out,
                       struct klr_validation *out, struct klr_error *err)
{
    *out = (struct klr_validation){0};
    int code = klr_params_check(given, err);
    if (!code && !klr_params_validate(given))
        code = klr_fail(err, KLR_E_USAGE, "option -v: it asks for no folds");
    if (code)
        return code;
    struct klr_params settled = params_settle(given), *params = &settled;
    size_t folds = params->loo ? 1 : (size_t)params->folds;
    struct fold_plan plan = {folds, calibration_parts(params),
                             (uint64_t)params->seed, params->fold};
    struct partition partition = {0};
    struct klr_pool *pool = NULL;
    bool stopped = false;
    double begin = klr_seconds();
    out->count = klr_params_points(params);
    bool compares = out->count > 1 || params->part;
    if ((code = validation_create(out, err)) ||
        (code = klr_pool_create(&pool, params->threads, err)) ||
        (code = training_partition(&partition, problem, params, plan, pool,
                                   err)) ||
        (code = journal_check(params->journal, partition.folds, err)) ||
        (code = metric_check((enum klr_metric)params->metric, partition.k,
                             params->link != KLR_LINK_NONE, err)))
        goto done;
    if (compares)
        code = grid_choose(problem, &partition, params, params_grid_eps(given),
                           pool, out, &stopped, err);
    out->answer = out->values[out->best];
    out->answer_error = out->error[out->best];
    if (settled.time_limit > 0)
        settled.time_limit =
            fmax(settled.time_limit - (klr_seconds() - begin), 1e-9);
    if (!code && !stopped && !params->part && (out->solved > 0 || !compares))
        code =
            grid_answer(problem, &partition, params, pool, out, held_out, err);
    if (!code && !compares) /* else a model follows, which has the note */
        report_note_classes(out->report, params, &partition);
done:
    klr_pool_free(pool);
    partition_free(&partition);
    if (code)
        klr_validation_free(out);
    return code;
}

void klr_validation_free(struct klr_validation *validation)
{
    klr_free(validation->values);
    klr_free(validation->error);
    klr_free(validation->report);
    klr_metrics_free(validation->metrics);
    held_out_free(&validation->held_out);
    *validation = (struct klr_validation){0};
}
