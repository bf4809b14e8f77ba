/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Validation at every point of a grid of gammas, lambdas and values of C. A
 * gamma has one operator, whose tiles its lambdas, values of C, folds and
 * machines share. What is done at once is a fold at one gamma and lambda, a
 * cell, along all values of C. Where that pays, and memory allows for it,
 * threads have a fold each; else one comes after the other, by all threads.
 * That does not change a result.
 */
#include "solver/validate/grid.h"

/* ---- progress ---- */

/* A fold at work, for its reports. */
struct grid_reports {
    struct grid *grid;
    double done; /* its share in grid->doing */
};

static size_t grid_only(const struct grid *grid)
{
    return grid->journal ? grid->journal->only : 0;
}

static size_t grid_turns(const struct grid *grid)
{
    return grid_only(grid) ? 1 : grid->folds;
}

static size_t grid_tasks(const struct grid *grid)
{
    return grid->tasks * grid_turns(grid);
}

static int grid_progress(const struct klr_progress *now, void *context)
{
    struct grid_reports *reports = context;
    struct grid *grid = reports->grid;
    struct klr_progress all = *now;
    pthread_mutex_lock(&grid->team.lock);
    grid->doing += now->done - reports->done;
    reports->done = now->done;
    all.seconds = klr_seconds() - grid->begin;
    all.points = grid->cells > 1 ? grid->tasks * grid->costs : 0;
    all.done =
        ((double)grid->folds_done + grid->doing) / (double)grid_tasks(grid);
    bool stopped = team_tell(&grid->team, &all);
    pthread_mutex_unlock(&grid->team.lock);
    return stopped;
}

/* ---- what the clock leaves out ---- */

static enum klr_status grid_over(const struct grid *grid)
{
    double limit = grid->params->time_limit;
    if (grid->team.stopped)
        return KLR_INTERRUPTED;
    return limit > 0 && klr_seconds() - grid->begin >= limit ? KLR_TIME_LIMIT
                                                             : KLR_CONVERGED;
}

static bool point_is_solved(const struct klr_report *report)
{
    return report->status < KLR_TIME_LIMIT;
}

static void grid_forget(struct grid *grid, size_t point)
{
    values_forget(&grid->values[point]);
    values_forget(&grid->error[point]);
}

static void grid_report_unsolved(const struct grid *grid,
                                 enum klr_status status,
                                 struct klr_report *report)
{
    report_start(report);
    report->solver = (enum klr_solver_type)grid->params->solver;
    report->primal = report->dual = report->gap = (double)NAN;
    report->status = report->machines = status;
}

/* The points of a cell whose folds did not all have their turn. */
static void grid_skip(struct grid *grid, size_t cell)
{
    for (size_t t = 0; t < grid->costs; t++) {
        grid_forget(grid, cell * grid->costs + t);
        grid_report_unsolved(
            grid, grid->team.stopped ? KLR_INTERRUPTED : KLR_TIME_LIMIT,
            &grid->report[cell * grid->costs + t]);
    }
}

/* ---- points that cannot be solved ---- */

/* True if a refusal does not end the run: points that are compared are refused
 * one by one, and have no values then. The refusal of the first fold is kept,
 * in case no point can be solved. */
static bool grid_spares(struct grid *grid, size_t cell, size_t fold, int code,
                        const struct klr_error *err)
{
    size_t number = 1 + cell * grid->folds + fold;
    if (code != KLR_E_DATA || grid->metrics)
        return false;
    pthread_mutex_lock(&grid->team.lock);
    if (!grid->refused || number < grid->refused) {
        grid->refused = number;
        grid->refusal = err ? *err : grid->refusal;
    }
    pthread_mutex_unlock(&grid->team.lock);
    return true;
}

/* points (costs): none has answers. */
static int grid_lose(const struct grid *grid, struct fold_point *points,
                     size_t costs, struct klr_error *err)
{
    int code = 0;
    for (size_t t = 0; t < costs && !code; t++) {
        klr_metrics_free(points[t].metrics);
        code = klr_metrics_create(&points[t].metrics, grid->partition->k,
                                  grid->partition->label, err);
        grid_report_unsolved(grid, KLR_PRECISION_LIMIT, &points[t].report);
        report_lose(&points[t].report);
        points[t].lost = true;
    }
    return code;
}

/* Each C for itself, since one of them was refused. */
static int grid_fold_apart(const struct grid *grid, struct klr_operator *op,
                           const struct klr_params *params,
                           struct fold_task task, struct fold_point *points,
                           struct klr_error *err)
{
    int code = 0;
    for (size_t t = 0; t < grid->costs && !code; t++) {
        struct klr_params one = *params;
        one.cost = klr_reals_of(params->cost.value[t]);
        klr_metrics_free(points[t].metrics);
        points[t] = (struct fold_point){0};
        code = grid->costs == 1
                   ? KLR_E_DATA
                   : fold_validate(op, grid->problem, &one, grid->partition,
                                   task, &points[t], NULL, err);
        if (code == KLR_E_DATA)
            code = grid_lose(grid, &points[t], 1, err);
    }
    return code;
}

/* ---- a fold of a cell ---- */

/* The parameters of a cell, with the time that was left when it began. */
static struct klr_params grid_params(struct grid *grid, size_t cell)
{
    struct klr_params params =
        klr_params_point(&grid->share, cell * grid->costs);
    params.cost = grid->params->cost;
    if (params.time_limit > 0)
        params.time_limit = fmax(
            params.time_limit - (grid->cell[cell].begin - grid->begin), 1e-9);
    return params;
}

/* Leave-one-out's memory comes off what the operator may use. */
static int grid_set_aside(const struct grid *grid, struct klr_params *params,
                          struct klr_error *err)
{
    if (!params->loo)
        return 0;
    double bytes = (double)params_budget(params);
    double need = loo_bytes(params, grid->partition, klr_pool_size(grid->pool));
    if (bytes <= need)
        return klr_fail(err, KLR_E_LIMIT,
                        "option --loo: %zu examples need at least %.0f MB (-m)",
                        grid->problem->n, ceil(need / 1048576));
    params->cache_mb = (bytes - need) / 1048576;
    return 0;
}

/* Create the operator of a row; free it in any case. */
static int grid_operator(const struct grid *grid,
                         const struct klr_params *given,
                         struct klr_operator *op, struct klr_error *err)
{
    struct klr_params params = *given;
    int code = grid_set_aside(grid, &params, err);
    return code ? code
                : problem_operator(op, grid->problem, &params, grid->partition,
                                   grid->pool, err);
}

/* points (costs). By itself it works with the operator of its row. */
static int grid_fold(struct grid *grid, size_t cell, size_t fold,
                     struct fold_point *points, struct klr_error *err)
{
    struct klr_operator *op = &grid->row[cell / grid->lambdas].op;
    struct klr_params params = grid_params(grid, cell);
    struct grid_reports reports = {grid, 0};
    struct klr_operator share = {0};
    struct fold_task task = {fold, grid->threads, grid->cell[cell].begin};
    int code = 0;
    if (!grid->pool) {
        code = operator_share(&share, op, err);
        op = &share;
    }
    op->passes = 0;
    op->evaluations = 0;
    if (params.progress) {
        params.progress = grid_progress;
        params.context = &reports;
    }
    if (!code)
        code = fold_validate(op, grid->problem, &params, grid->partition, task,
                             points, grid->held_out, err);
    if (grid_spares(grid, cell, fold, code, err))
        code = grid_fold_apart(grid, op, &params, task, points, err);
    operator_free(&share);
    pthread_mutex_lock(&grid->team.lock);
    grid->doing -= reports.done;
    pthread_mutex_unlock(&grid->team.lock);
    return code;
}

/* ---- tasks ---- */

/* Finish the points of a cell, whose folds are all joined. The point that is
 * the answer hands its metrics over if it has all predictions, even if it was
 * cut. */
static void grid_finish(struct grid *grid, size_t cell)
{
    struct fold_point *all = grid->cell[cell].fold[0];
    for (size_t t = 0; t < grid->costs; t++) {
        struct klr_metric_values *values =
            &grid->values[cell * grid->costs + t];
        grid->report[cell * grid->costs + t] = all[t].report;
        klr_metrics_values(all[t].metrics, values);
        spread_errors(&grid->cell[cell].spread[t],
                      &grid->error[cell * grid->costs + t]);
        bool whole =
            grid->metrics && values->count == grid->partition->examples;
        if (all[t].lost || (!whole && !point_is_solved(&all[t].report)))
            grid_forget(grid, cell * grid->costs + t);
        if (whole) {
            *grid->metrics = all[t].metrics;
            all[t].metrics = NULL;
        }
    }
}

static void grid_spread(const struct grid *grid, struct grid_cell *c,
                        const struct fold_point *points)
{
    for (size_t t = 0; t < grid->costs; t++) {
        struct klr_metric_values values;
        klr_metrics_values(points[t].metrics, &values);
        spread_add(&c->spread[t], &values);
    }
}

/* Under the grid's lock: join what folds add, in their order, as far as all
 * folds before are known. */
static int grid_join(const struct grid *grid, struct grid_cell *c,
                     struct klr_error *err)
{
    int code = 0;
    for (; c->joined < grid->folds && c->fold[c->joined] && !code;
         c->joined++) {
        struct fold_point **more = &c->fold[c->joined];
        grid_spread(grid, c, *more);
        if (c->joined == 0)
            continue;
        code = fold_join(c->fold[0], *more, grid->costs, err);
        *more = fold_points_free(*more, grid->costs);
    }
    return code;
}

static void grid_cell_free(const struct grid *grid, struct grid_cell *c)
{
    for (size_t f = 0; c->fold && f < grid->folds; f++)
        fold_points_free(c->fold[f], grid->costs);
    c->fold = klr_free(c->fold);
    c->spread = klr_free(c->spread);
}

/* A cell that fails has nothing: another thread may begin it before it hears of
 * the failure. */
static int grid_cell_begin(const struct grid *grid, struct grid_cell *c,
                           struct klr_error *err)
{
    c->begin = klr_seconds();
    c->fold = klr_zalloc(grid->folds, sizeof *c->fold, err);
    c->spread = klr_zalloc(grid->costs, sizeof *c->spread, err);
    if (c->fold && c->spread)
        return 0;
    grid_cell_free(grid, c);
    return KLR_E_MEMORY;
}

/* *go tells if the fold is to be done. If so, its cell has begun, and its row
 * has an operator. */
static int grid_enter(struct grid *grid, size_t cell, bool *go,
                      struct klr_error *err)
{
    struct grid_cell *c = &grid->cell[cell];
    struct grid_row *row = &grid->row[cell / grid->lambdas];
    struct team *team = &grid->team;
    int code = 0;
    pthread_mutex_lock(&team->lock);
    while (!row->made && grid->rows_at_work == grid->rows_most && !team->code)
        pthread_cond_wait(&team->ended, &team->lock);
    *go = !team->code && grid_over(grid) == KLR_CONVERGED;
    if (*go && !c->fold)
        code = grid_cell_begin(grid, c, err);
    if (*go && !code && !row->made) {
        struct klr_params params = grid_params(grid, cell);
        code = grid_operator(grid, &params, &row->op, err);
        row->made = !code;
        grid->rows_at_work += row->made;
        if (code)
            operator_free(&row->op);
    }
    pthread_mutex_unlock(&team->lock);
    return code;
}

static void grid_row_free(struct grid *grid, struct grid_row *row)
{
    if (row->made)
        operator_free(&row->op);
    grid->rows_at_work -= row->made;
    row->made = false;
}

/* ---- the turn of a fold ---- */

/* Leave a fold. The last one of a cell makes its points, the last one of a row
 * frees K. `points` is NULL if the fold was not done. */
static int grid_leave(struct grid *grid, size_t cell, size_t fold,
                      bool recalled, struct fold_point *points,
                      struct klr_error *err)
{
    struct grid_cell *c = &grid->cell[cell];
    struct grid_row *row = &grid->row[cell / grid->lambdas];
    int code = 0;
    pthread_mutex_lock(&grid->team.lock);
    grid->folds_done++;
    if (points && grid_only(grid)) {
        code = grid_keep_fold(grid, cell, fold, recalled, points, err);
    } else if (points) {
        c->fold[fold] = points;
        code = grid_join(grid, c, err);
    }
    bool whole =
        !grid_only(grid) && points && !code && c->joined == grid->folds;
    c->complete = c->complete || whole;
    if (--row->left == 0)
        grid_row_free(grid, row);
    pthread_mutex_unlock(&grid->team.lock);
    if (whole) {
        grid_finish(grid, cell);
        grid_cell_free(grid, c);
        code = grid_keep(grid, cell / grid->lambdas, err);
    }
    return code;
}

/* The largest gammas come first: as a rule they take longest, and threads end
 * together. If time is short they come last, so that the others are done. */
static size_t grid_order(const struct grid *grid, size_t index)
{
    size_t last = grid->tasks - 1;
    return grid->todo[grid->params->time_limit > 0 ? index : last - index];
}

/* A unit of the team. */
static int grid_unit(void *context, size_t unit, size_t member,
                     struct klr_error *err)
{
    struct grid *grid = context;
    size_t turns = grid_turns(grid), cell = grid_order(grid, unit / turns);
    size_t fold = grid_only(grid) ? grid_only(grid) - 1 : unit % turns;
    struct fold_point *points = NULL;
    bool go = false;
    int code = grid_recall_fold(grid, cell, fold, &points, err);
    bool recalled = points;
    if (!code && !recalled)
        code = grid_enter(grid, cell, &go, err);
    bool refused = go && grid_spares(grid, cell, fold, code, err);
    if (refused || (go && !code)) {
        points = klr_zalloc(grid->costs, sizeof *points, err);
        code = !points   ? KLR_E_MEMORY
               : refused ? grid_lose(grid, points, grid->costs, err)
                         : grid_fold(grid, cell, fold, points, err);
    }
    if (code)
        fold_points_free(points, grid->costs);
    (void)member;
    return code ? code : grid_leave(grid, cell, fold, recalled, points, err);
}

/* ---- the grid ---- */

/* True if folds are to be divided among threads. At least half of the threads
 * must have a fold each, or products be so small that several threads gain
 * nothing. Not divided are
 * - a single point, the answer: all threads work at it, and counts do not
 *   depend on which thread meets a tile first;
 * - a system that works alone;
 * - the linear kernel, whose sum of features may be large. */
static bool grid_divides(const struct grid *grid, size_t abreast,
                         size_t threads)
{
    const size_t small = (size_t)8 * KLR_TILE;
    return abreast > 1 && grid->cells * grid->costs > 1 &&
           (2 * abreast >= threads || grid->partition->n <= small) &&
           !system_works_alone(system_of(grid->params, NULL)) &&
           grid->params->kernel != KLR_LINEAR;
}

/* How many gammas folds of so many threads can belong to, with one for a
 * straggler. A solver that shares no tiles has a cache for each thread. */
static size_t grid_rows(const struct grid *grid, size_t threads, double solver)
{
    size_t rows = solver > 0 ? threads / grid->folds + 2 : threads;
    return rows < threads ? rows : threads;
}

/* Divide folds among as many threads as there is memory for. Each fold may use
 * what it can come to need, so that none goes without: what its solver
 * allocates, and the tiles of all gammas at work, or a cache of that size. */
static void grid_divide(struct grid *grid, struct klr_pool *pool)
{
    const struct klr_params *params = grid->params;
    const struct partition *partition = grid->partition;
    double n = (double)partition->n, budget = (double)params_budget(params);
    double tiles = 0.5 * n * (n + KLR_TILE) * sizeof(float);
    double solver = solver_bytes(params, partition->n, partition->k);
    double loo = params->loo ? loo_bytes(params, partition, 1) : 0;
    double fold = fold_bytes(params, partition), beyond = fold - fold_beside;
    double own = solver + loo + fold, each = 0;
    size_t all = klr_pool_size(pool), threads = all;
    if (threads > grid_tasks(grid))
        threads = grid_tasks(grid);
    for (;; threads--) {
        grid->rows_most = grid_rows(grid, threads, solver);
        each = (budget - (double)threads * own) / (double)grid->rows_most;
        if (threads == 1 || each >= tiles)
            break;
    }
    bool apart = grid_divides(grid, threads, all);
    grid->threads = apart ? threads : 1;
    grid->pool = apart ? NULL : pool;
    grid->share = *params;
    if (apart) /* the operator's takes off again what is not for tiles */
        grid->share.cache_mb =
            (each + loo + fmax(solver - params_beside, 0)) / 1048576;
    else if (beyond > 0)
        grid->share.cache_mb = fmax(budget - beyond, 1) / 1048576;
}

static int grid_create(struct grid *grid, struct klr_error *err)
{
    size_t gammas = grid->params->gamma.count;
    if (!(grid->row = klr_zalloc(gammas, sizeof *grid->row, err)) ||
        !(grid->todo = klr_alloc(grid->cells, sizeof *grid->todo, err)) ||
        !(grid->cell = klr_zalloc(grid->cells, sizeof *grid->cell, err)))
        return KLR_E_MEMORY;
    grid_recall(grid);
    return 0;
}

static void grid_free(struct grid *grid)
{
    for (size_t c = 0; grid->cell && c < grid->cells; c++)
        grid_cell_free(grid, &grid->cell[c]);
    for (size_t g = 0; grid->row && g < grid->params->gamma.count; g++)
        grid_row_free(grid, &grid->row[g]);
    grid->row = klr_free(grid->row);
    grid->todo = klr_free(grid->todo);
    grid->cell = klr_free(grid->cell);
}

/* At every point of the parameters. */
static int grid_run(struct grid *grid, struct klr_pool *pool,
                    struct klr_error *err)
{
    grid->lambdas = grid->params->lambda.count;
    grid->costs = grid->params->cost.count;
    grid->folds = grid->partition->folds;
    grid->cells = grid->params->gamma.count * grid->lambdas;
    grid->begin = klr_seconds();
    int code = grid_create(grid, err);
    if (!code && grid->tasks > 0) {
        grid_divide(grid, pool);
        grid->team = (struct team){.params = grid->params,
                                   .units = grid_tasks(grid),
                                   .unit = grid_unit,
                                   .context = grid};
        code = team_run(&grid->team, pool, grid->threads, err);
    }
    for (size_t c = 0; c < grid->cells && !code; c++)
        if (!grid->cell[c].complete && !grid->row[c / grid->lambdas].recalled)
            grid_skip(grid, c);
    grid_free(grid);
    return code;
}
