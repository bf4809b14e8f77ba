/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cross validation at every point of a grid of gammas, lambdas and values of C.
 * A gamma has one operator, which its lambdas, values of C, folds and machines
 * share. Where what several gammas need fits into the memory they are worked on
 * side by side, a thread each; else one after the other, by all threads. That
 * does not change a result.
 *
 * Within eps, a point depends on the path to it, and what a point needs to be
 * chosen is less than what it needs to be the answer. The best of several is
 * therefore validated once more, as if it were the only one.
 */
#include "solver/internal.h"

#include "solver/multiclass.h"
#include "solver/validate.h"

#include <pthread.h>

/* What failed at a gamma. */
struct grid_row {
    int code;
    struct klr_error err;
};

struct grid {
    const struct klr_problem *problem;
    const struct klr_params *params; /* settled */
    const struct layout *layout;
    double eps;              /* of points that are not the answer yet, or 0 */
    struct klr_pool *pool;   /* of the operators; NULL: gammas side by side */
    struct klr_params share; /* params with what memory a gamma may use */
    struct klr_validation *out;
    struct grid_row *row; /* (gammas) */
    pthread_mutex_t lock; /* of what follows, and of progress */
    double begin;
    size_t cells, folds_done; /* of this run */
    bool stopped;
};

/* ---- Progress ---- */

static int grid_progress(const struct klr_progress *now, void *context)
{
    struct grid *grid = context;
    const struct klr_params *params = grid->params;
    struct klr_progress all = *now;
    size_t cells = grid->cells;
    pthread_mutex_lock(&grid->lock);
    all.seconds = klr_seconds() - grid->begin;
    all.points = cells > 1 ? grid->out->count : 0;
    all.done = (double)grid->folds_done / (double)(cells * grid->layout->folds);
    if (!grid->stopped)
        grid->stopped = params->progress(&all, params->context);
    bool stopped = grid->stopped;
    pthread_mutex_unlock(&grid->lock);
    return stopped;
}

static void grid_fold_done(void *context)
{
    struct grid *grid = context;
    pthread_mutex_lock(&grid->lock);
    grid->folds_done++;
    pthread_mutex_unlock(&grid->lock);
}

/* ---- Rows ---- */

/* The parameters of a cell, with the time that is left. */
static struct klr_params grid_params(struct grid *grid, size_t point)
{
    struct klr_params params = klr_params_point(&grid->share, point);
    params.cost = grid->params->cost;
    if (params.progress) {
        params.progress = grid_progress;
        params.context = grid;
    }
    if (params.time_limit > 0)
        params.time_limit =
            fmax(params.time_limit - (klr_seconds() - grid->begin), 1e-9);
    return params;
}

static bool grid_stopped(struct grid *grid)
{
    pthread_mutex_lock(&grid->lock);
    bool stopped = grid->stopped;
    pthread_mutex_unlock(&grid->lock);
    return stopped;
}

/* Points that an interruption leaves out: metrics of no predictions at all. */
static void grid_skip(struct grid *grid, size_t point)
{
    static const struct klr_metric_values unknown = {.accuracy = NAN,
                                                     .balanced = NAN,
                                                     .log_loss = NAN,
                                                     .brier = NAN,
                                                     .auc = NAN,
                                                     .f1 = NAN,
                                                     .mcc = NAN,
                                                     .ece = NAN};
    for (size_t t = 0; t < grid->params->cost.count; t++) {
        grid->out->values[point + t] = unknown;
        report_start(&grid->out->report[point + t]);
        grid->out->report[point + t].machines = KLR_INTERRUPTED;
        grid->out->report[point + t].status = KLR_INTERRUPTED;
    }
}

/* Leave-one-out's memory comes off what the operator may use. */
static int grid_set_aside(const struct grid *grid, struct klr_params *params,
                          struct klr_error *err)
{
    if (!params->loo)
        return 0;
    double bytes = (double)params_budget(params);
    double need = loo_bytes(params, grid->layout, klr_pool_size(grid->pool));
    if (bytes <= need)
        return klr_fail(err, KLR_E_LIMIT,
                        "option --loo: %zu examples need at least %.0f MB (-m)",
                        grid->problem->n, ceil(need / 1048576));
    params->cache_mb = (bytes - need) / 1048576;
    return 0;
}

/* Of one gamma, that of the parameters; to be freed in any case. */
static int grid_operator(const struct grid *grid,
                         const struct klr_params *given,
                         struct klr_operator *op, struct klr_error *err)
{
    struct klr_params params = *given;
    struct klr_kernel kernel = params_kernel(given, grid->problem->dimension);
    int code = grid_set_aside(grid, &params, err);
    return code ? code
                : problem_operator(op, grid->problem, &params, &kernel,
                                   grid->layout, grid->pool, err);
}

static void grid_turn(void *context, size_t index, size_t thread)
{
    struct grid *grid = context;
    struct grid_row *row = &grid->row[index];
    size_t cells = grid->params->lambda.count;
    size_t first = index * cells, costs = grid->params->cost.count;
    struct klr_params params = grid_params(grid, first * costs);
    struct klr_operator op = {0};
    (void)thread;
    row->code = grid_operator(grid, &params, &op, &row->err);
    for (size_t l = 0; l < cells && !row->code; l++) {
        size_t point = (first + l) * costs;
        params = grid_params(grid, point);
        struct cell_result result = {.values = grid->out->values + point,
                                     .report = grid->out->report + point};
        if (first + l > 0 && grid_stopped(grid))
            grid_skip(grid, point);
        else
            row->code = cell_validate(&op, grid->problem, &params, grid->layout,
                                      grid_fold_done, grid, &result, &row->err);
    }
    operator_free(&op);
}

/* ---- The grid ---- */

/* Threads that can have all that a gamma may use each, tiles and what its
 * solver allocates: so none of them goes without. Of a greedy solver, whose
 * model ends where its memory does, each gamma has all the memory there is. */
static size_t grid_abreast(const struct klr_params *params,
                           const struct layout *layout,
                           const struct klr_pool *pool)
{
    double n = (double)layout->n;
    double need = 0.5 * n * (n + KLR_TILE) * sizeof(float) +
                  solver_bytes(params, layout->n, layout->k);
    if (params->loo)
        need += loo_bytes(params, layout, 1);
    double room = (double)params_budget(params) / need;
    size_t threads = klr_pool_size(pool), gammas = params->gamma.count;
    threads = threads < gammas ? threads : gammas;
    if (params->solver == KLR_SOLVER_GREEDY || room < (double)threads)
        return 1;
    return threads;
}

static int grid_run(struct grid *grid, struct klr_pool *pool,
                    struct klr_error *err)
{
    size_t gammas = grid->params->gamma.count;
    size_t abreast = grid_abreast(grid->params, grid->layout, pool);
    grid->share = *grid->params;
    grid->share.eps = fmax(grid->eps, grid->share.eps);
    grid->share.cache_mb =
        (double)params_budget(grid->params) / 1048576.0 / (double)abreast;
    grid->pool = abreast > 1 ? NULL : pool;
    grid->cells = gammas * grid->params->lambda.count;
    klr_pool_run(abreast > 1 ? pool : NULL, gammas, grid_turn, grid);
    for (size_t g = 0; g < gammas; g++)
        if (grid->row[g].code) {
            if (err)
                *err = grid->row[g].err;
            return grid->row[g].code;
        }
    grid->out->best = klr_best_values((enum klr_metric)grid->params->metric,
                                      grid->out->values, grid->out->count);
    return 0;
}

/* The point by itself, with time of its own: the answers, too, if they are
 * wanted. */
static int grid_point(struct grid *grid, struct klr_pool *pool, size_t point,
                      bool held_out, struct klr_error *err)
{
    struct klr_validation *out = grid->out;
    struct klr_operator op = {0};
    struct cell_result result = {.values = out->values + point,
                                 .report = out->report + point,
                                 .metrics = &out->metrics,
                                 .held_out = held_out ? &out->held_out : NULL};
    grid->share = *grid->params;
    grid->pool = pool;
    grid->cells = 1;
    grid->folds_done = 0;
    grid->begin = klr_seconds();
    struct klr_params params = grid_params(grid, point);
    params.cost = klr_reals_of(
        grid->params->cost.value[point % grid->params->cost.count]);
    int code = grid_operator(grid, &params, &op, err);
    if (!code)
        code = cell_validate(&op, grid->problem, &params, grid->layout,
                             grid_fold_done, grid, &result, err);
    operator_free(&op);
    return code;
}

static int grid_create(struct grid *grid, struct klr_error *err)
{
    struct klr_validation *out = grid->out;
    size_t gammas = grid->params->gamma.count;
    out->count = klr_params_points(grid->params);
    if (!(out->values = klr_zalloc(out->count, sizeof *out->values, err)) ||
        !(out->report = klr_zalloc(out->count, sizeof *out->report, err)) ||
        !(grid->row = klr_zalloc(gammas, sizeof *grid->row, err)))
        return KLR_E_MEMORY;
    return 0;
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
    const struct klr_params settled = params_settle(given), *params = &settled;
    size_t folds = params->loo ? 1 : (size_t)params->folds;
    struct deal deal = {folds, calibration_parts(params),
                        (uint64_t)params->seed, params->fold};
    struct layout layout = {0};
    struct klr_pool *pool = NULL;
    struct grid grid = {.problem = problem,
                        .params = params,
                        .layout = &layout,
                        .eps = params_grid_eps(given),
                        .out = out,
                        .begin = klr_seconds()};
    pthread_mutex_init(&grid.lock, NULL);
    if ((code = layout_create(&layout, problem, params->positive, deal, err)) ||
        (code = metric_check((enum klr_metric)params->metric, layout.k,
                             params->link != KLR_LINK_NONE, err)) ||
        (code = klr_pool_create(&pool, params->threads, err)) ||
        (code = grid_create(&grid, err)))
        goto done;
    if (out->count > 1)
        code = grid_run(&grid, pool, err);
    if (!code && !grid.stopped)
        code = grid_point(&grid, pool, out->best, held_out, err);
done:
    klr_free(grid.row);
    pthread_mutex_destroy(&grid.lock);
    klr_pool_free(pool);
    layout_free(&layout);
    if (code)
        klr_validation_free(out);
    return code;
}

void klr_validation_free(struct klr_validation *validation)
{
    klr_free(validation->values);
    klr_free(validation->report);
    klr_metrics_free(validation->metrics);
    held_out_free(&validation->held_out);
    *validation = (struct klr_validation){0};
}
