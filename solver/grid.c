/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cross validation at every point of a grid of gammas, lambdas and values of C.
 * A gamma has one operator, whose tiles its lambdas, values of C, folds and
 * machines share. What is done at once is a fold at one gamma and lambda, a
 * cell, along all values of C. Where that pays, and memory allows for it,
 * threads have a fold each; else one comes after the other, by all threads.
 * That does not change a result.
 *
 * Within eps, a point depends on the path to it, and what a point needs to be
 * chosen is less than what it needs to be the answer. The best of several is
 * therefore validated once more, as if it were the only one.
 */
#include "solver/internal.h"

#include "solver/multiclass.h"
#include "solver/validate.h"

#include <pthread.h>
#include <stdatomic.h>

/* A gamma. */
struct grid_row {
    struct klr_operator op;
    bool made;
    size_t left; /* folds of its cells that have not had their turn */
};

/* A gamma and lambda. */
struct grid_cell {
    double begin;             /* of the first of its folds */
    struct fold_point **fold; /* (folds, costs) what they add, once known, and
                                 to the first's those joined; NULL: not begun */
    size_t joined;            /* folds, the first ones */
};

struct grid {
    const struct klr_problem *problem;
    const struct klr_params *params; /* settled */
    const struct layout *layout;
    struct klr_pool *pool;   /* of the operators; NULL: folds side by side */
    struct klr_params share; /* params with the memory of a row */
    size_t lambdas, costs, folds, cells;
    size_t threads;                   /* at most, that have a fold each */
    size_t rows_most;                 /* that may have an operator at once */
    struct grid_row *row;             /* (gammas) */
    struct grid_cell *cell;           /* (cells) */
    struct klr_metric_values *values; /* (cells, costs) the caller's */
    struct klr_report *report;        /* (cells, costs) the caller's */
    struct klr_held_out *held_out;    /* the caller's, of one point, or NULL */
    struct klr_metrics **metrics;     /* the same */
    double begin;
    atomic_size_t begun;  /* folds */
    pthread_mutex_t lock; /* of the following, rows, cells and progress */
    pthread_cond_t freed; /* an operator */
    size_t rows_at_work;  /* which have one */
    size_t folds_done;
    bool stopped;
    int code; /* of the first failure */
    struct klr_error err;
};

/* ---- progress ---- */

static int grid_progress(const struct klr_progress *now, void *context)
{
    struct grid *grid = context;
    const struct klr_params *params = grid->params;
    struct klr_progress all = *now;
    pthread_mutex_lock(&grid->lock);
    all.seconds = klr_seconds() - grid->begin;
    all.points = grid->cells > 1 ? grid->cells * grid->costs : 0;
    all.done = (double)grid->folds_done / (double)(grid->cells * grid->folds);
    if (!grid->stopped)
        grid->stopped = params->progress(&all, params->context);
    bool stopped = grid->stopped;
    pthread_mutex_unlock(&grid->lock);
    return stopped;
}

/* Points that an interruption leaves out: metrics of no predictions at all. */
static void grid_skip(struct grid *grid, size_t cell)
{
    static const struct klr_metric_values unknown = {.accuracy = NAN,
                                                     .balanced = NAN,
                                                     .log_loss = NAN,
                                                     .brier = NAN,
                                                     .auc = NAN,
                                                     .f1 = NAN,
                                                     .mcc = NAN,
                                                     .ece = NAN};
    for (size_t t = 0; t < grid->costs; t++) {
        struct klr_report *report = &grid->report[cell * grid->costs + t];
        grid->values[cell * grid->costs + t] = unknown;
        report_start(report);
        report->machines = KLR_INTERRUPTED;
        report->status = KLR_INTERRUPTED;
    }
}

/* ---- a fold of a cell ---- */

/* The parameters of a cell, with the time that was left when it began. */
static struct klr_params grid_params(struct grid *grid, size_t cell)
{
    struct klr_params params =
        klr_params_point(&grid->share, cell * grid->costs);
    params.cost = grid->params->cost;
    if (params.progress) {
        params.progress = grid_progress;
        params.context = grid;
    }
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
    double need = loo_bytes(params, grid->layout, klr_pool_size(grid->pool));
    if (bytes <= need)
        return klr_fail(err, KLR_E_LIMIT,
                        "option --loo: %zu examples need at least %.0f MB (-m)",
                        grid->problem->n, ceil(need / 1048576));
    params->cache_mb = (bytes - need) / 1048576;
    return 0;
}

/* Of a row; to be freed in any case. */
static int grid_operator(const struct grid *grid,
                         const struct klr_params *given,
                         struct klr_operator *op, struct klr_error *err)
{
    struct klr_params params = *given;
    int code = grid_set_aside(grid, &params, err);
    return code ? code
                : problem_operator(op, grid->problem, &params, grid->layout,
                                   grid->pool, err);
}

/* points (costs). By itself it works with the operator of its row. */
static int grid_fold(struct grid *grid, size_t cell, size_t fold,
                     struct fold_point *points, struct klr_error *err)
{
    struct klr_operator *op = &grid->row[cell / grid->lambdas].op;
    struct klr_params params = grid_params(grid, cell);
    struct klr_operator share = {0};
    struct fold_turn turn = {fold, grid->threads, grid->cell[cell].begin};
    int code = 0;
    if (!grid->pool) {
        code = operator_share(&share, op, err);
        op = &share;
    }
    op->passes = 0;
    op->evaluations = 0;
    if (!code)
        code = fold_validate(op, grid->problem, &params, grid->layout, turn,
                             points, grid->held_out, err);
    operator_free(&share);
    return code;
}

/* ---- turns ---- */

/* The points of a cell, whose folds are all joined. */
static void grid_finish(struct grid *grid, size_t cell)
{
    struct fold_point *all = grid->cell[cell].fold[0];
    for (size_t t = 0; t < grid->costs; t++) {
        size_t point = cell * grid->costs + t;
        grid->report[point] = all[t].report;
        klr_metrics_values(all[t].metrics, &grid->values[point]);
        if (grid->metrics) {
            *grid->metrics = all[t].metrics;
            all[t].metrics = NULL;
        }
    }
}

/* Under the grid's lock: what folds add, in their order, as far as all before
 * them are known. */
static int grid_join(const struct grid *grid, struct grid_cell *c,
                     struct klr_error *err)
{
    int code = 0;
    for (; c->joined < grid->folds && c->fold[c->joined] && !code; c->joined++)
        if (c->joined > 0) {
            struct fold_point **more = &c->fold[c->joined];
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
}

/* Whether the fold is to be done: its cell has begun then, and its row has an
 * operator. The first cell is finished in any case. */
static bool grid_enter(struct grid *grid, size_t cell, bool first)
{
    struct grid_cell *c = &grid->cell[cell];
    struct grid_row *row = &grid->row[cell / grid->lambdas];
    pthread_mutex_lock(&grid->lock);
    while (!row->made && grid->rows_at_work == grid->rows_most)
        pthread_cond_wait(&grid->freed, &grid->lock);
    bool go = !grid->code && (first || !grid->stopped);
    if (go && !c->fold) {
        c->begin = klr_seconds();
        c->fold = klr_zalloc(grid->folds, sizeof *c->fold, &grid->err);
        grid->code = c->fold ? 0 : KLR_E_MEMORY;
        go = c->fold != NULL;
    }
    if (go && !row->made) {
        struct klr_params params = grid_params(grid, cell);
        grid->code = grid_operator(grid, &params, &row->op, &grid->err);
        row->made = go = !grid->code;
        grid->rows_at_work += row->made;
    }
    pthread_mutex_unlock(&grid->lock);
    return go;
}

/* The last fold of a cell makes its points, the last of a row frees K. The
 * first failure is kept. */
static void grid_leave(struct grid *grid, size_t cell, size_t fold,
                       struct fold_point *points, int code,
                       const struct klr_error *err)
{
    struct grid_cell *c = &grid->cell[cell];
    struct grid_row *row = &grid->row[cell / grid->lambdas];
    pthread_mutex_lock(&grid->lock);
    grid->folds_done++;
    if (code && !grid->code) {
        grid->code = code;
        grid->err = *err;
    }
    if (points) {
        c->fold[fold] = points;
        if (!grid->code)
            grid->code = grid_join(grid, c, &grid->err);
    }
    bool complete = points && !grid->code && c->joined == grid->folds;
    if (--row->left == 0) {
        operator_free(&row->op);
        grid->rows_at_work -= row->made;
        pthread_cond_broadcast(&grid->freed);
    }
    pthread_mutex_unlock(&grid->lock);
    if (complete) {
        grid_finish(grid, cell);
        grid_cell_free(grid, c);
    }
}

/* The largest gammas first: as a rule they take longest, and threads end
 * together. Where time is short they come last, so that others are done. */
static size_t grid_order(const struct grid *grid, size_t index)
{
    return grid->params->time_limit > 0 ? index : grid->cells - 1 - index;
}

static void grid_turn(struct grid *grid, size_t index)
{
    size_t cell = grid_order(grid, index / grid->folds);
    size_t fold = index % grid->folds;
    struct fold_point *points = NULL;
    struct klr_error err;
    int code = 0;
    if (grid_enter(grid, cell, index < grid->folds)) {
        points = klr_zalloc(grid->costs, sizeof *points, &err);
        code =
            points ? grid_fold(grid, cell, fold, points, &err) : KLR_E_MEMORY;
        if (code)
            points = fold_points_free(points, grid->costs);
    }
    grid_leave(grid, cell, fold, points, code, &err);
}

static size_t grid_turns(const struct grid *grid)
{
    return grid->cells * grid->folds;
}

/* What a thread does: the next fold, as long as there is one. */
static void grid_work(void *context, size_t index, size_t thread)
{
    struct grid *grid = context;
    size_t turn = 0;
    while ((turn = atomic_fetch_add(&grid->begun, 1)) < grid_turns(grid))
        grid_turn(grid, turn);
    (void)index;
    (void)thread;
}

/* ---- the grid ---- */

/* Whether folds are to be divided among threads: where as many have one each as
 * is half of all at least, or products are so small that several threads gain
 * nothing by them. A single point, the answer, is one thing that all work at:
 * what is counted does not depend on who meets a tile first. A greedy solver,
 * whose model ends where its memory does, has all the memory there is, and the
 * linear kernel one sum of features, which may be many. */
static bool grid_divides(const struct grid *grid, size_t abreast,
                         size_t threads)
{
    const size_t small = (size_t)8 * KLR_TILE;
    return abreast > 1 && grid->cells * grid->costs > 1 &&
           (2 * abreast >= threads || grid->layout->n <= small) &&
           grid->params->solver != KLR_SOLVER_GREEDY &&
           grid->params->kernel != KLR_LINEAR;
}

/* Gammas that folds of so many threads can be of, a straggler's besides; a
 * solver that shares no tiles has a cache for each thread. */
static size_t grid_rows(const struct grid *grid, size_t threads, double solver)
{
    size_t rows = solver > 0 ? threads / grid->folds + 2 : threads;
    return rows < threads ? rows : threads;
}

/* To as many threads as memory does for. A thread's fold has all that it may
 * use, so that none goes without: what its solver allocates, and the tiles of
 * all gammas at work, or a cache of that size. */
static void grid_divide(struct grid *grid, struct klr_pool *pool)
{
    const struct klr_params *params = grid->params;
    const struct layout *layout = grid->layout;
    double n = (double)layout->n, budget = (double)params_budget(params);
    double tiles = 0.5 * n * (n + KLR_TILE) * sizeof(float);
    double solver = solver_bytes(params, layout->n, layout->k);
    double loo = params->loo ? loo_bytes(params, layout, 1) : 0;
    double own = solver + loo + fold_bytes(params, layout), each = 0;
    size_t all = klr_pool_size(pool), threads = all;
    if (threads > grid_turns(grid))
        threads = grid_turns(grid);
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
}

static int grid_create(struct grid *grid, struct klr_error *err)
{
    size_t gammas = grid->params->gamma.count;
    if (!(grid->row = klr_zalloc(gammas, sizeof *grid->row, err)) ||
        !(grid->cell = klr_zalloc(grid->cells, sizeof *grid->cell, err)))
        return KLR_E_MEMORY;
    for (size_t g = 0; g < gammas; g++)
        grid->row[g].left = grid->lambdas * grid->folds;
    return 0;
}

static void grid_free(struct grid *grid)
{
    for (size_t c = 0; grid->cell && c < grid->cells; c++)
        grid_cell_free(grid, &grid->cell[c]);
    grid->row = klr_free(grid->row);
    grid->cell = klr_free(grid->cell);
}

/* At every point of the parameters. */
static int grid_run(struct grid *grid, struct klr_pool *pool,
                    struct klr_error *err)
{
    grid->lambdas = grid->params->lambda.count;
    grid->costs = grid->params->cost.count;
    grid->folds = grid->layout->folds;
    grid->cells = grid->params->gamma.count * grid->lambdas;
    grid->begin = klr_seconds();
    grid_divide(grid, pool);
    int code = grid_create(grid, err);
    if (!code) {
        pthread_mutex_init(&grid->lock, NULL);
        pthread_cond_init(&grid->freed, NULL);
        klr_pool_run(pool, grid->threads, grid_work, grid);
        pthread_cond_destroy(&grid->freed);
        pthread_mutex_destroy(&grid->lock);
        code = grid->code;
        if (code && err)
            *err = grid->err;
    }
    for (size_t c = 0; c < grid->cells && !code; c++)
        if (grid->cell[c].joined < grid->folds)
            grid_skip(grid, c);
    grid_free(grid);
    return code;
}

/* Of several points, those that are not the answer yet, at a larger eps. */
static int grid_choose(const struct klr_problem *problem,
                       const struct layout *layout,
                       const struct klr_params *settled, double eps,
                       struct klr_pool *pool, struct klr_validation *out,
                       bool *stopped, struct klr_error *err)
{
    struct klr_params params = *settled;
    struct grid grid = {.problem = problem,
                        .params = &params,
                        .layout = layout,
                        .values = out->values,
                        .report = out->report};
    params.eps = fmax(eps, params.eps);
    int code = grid_run(&grid, pool, err);
    *stopped = grid.stopped;
    if (!code)
        out->best = klr_best_values((enum klr_metric)params.metric, out->values,
                                    out->count);
    return code;
}

/* The best by itself, with time of its own. */
static int grid_answer(const struct klr_problem *problem,
                       const struct layout *layout,
                       const struct klr_params *settled, struct klr_pool *pool,
                       struct klr_validation *out, bool held_out,
                       struct klr_error *err)
{
    struct klr_params params = klr_params_point(settled, out->best);
    struct grid grid = {.problem = problem,
                        .params = &params,
                        .layout = layout,
                        .values = out->values + out->best,
                        .report = out->report + out->best,
                        .metrics = &out->metrics,
                        .held_out = held_out ? &out->held_out : NULL};
    int code =
        held_out ? held_out_create(&out->held_out, &params, layout, err) : 0;
    return code ? code : grid_run(&grid, pool, err);
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
    bool stopped = false;
    out->count = klr_params_points(params);
    if ((code = layout_create(&layout, problem, params->positive, deal, err)) ||
        (code = metric_check((enum klr_metric)params->metric, layout.k,
                             params->link != KLR_LINK_NONE, err)) ||
        (code = klr_pool_create(&pool, params->threads, err)))
        goto done;
    code = KLR_E_MEMORY;
    if (!(out->values = klr_zalloc(out->count, sizeof *out->values, err)) ||
        !(out->report = klr_zalloc(out->count, sizeof *out->report, err)))
        goto done;
    code = out->count > 1
               ? grid_choose(problem, &layout, params, params_grid_eps(given),
                             pool, out, &stopped, err)
               : 0;
    if (!code && !stopped)
        code = grid_answer(problem, &layout, params, pool, out, held_out, err);
done:
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
