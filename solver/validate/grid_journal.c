/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The journal of a grid. A gamma that it recalls has its values already;
 * another is kept there by the thread that ends it. Of other gammas it may
 * recall what folds add. A journal of one fold keeps that fold of each cell,
 * and no gamma is validated.
 */
#include "solver/validate/grid.h"

/* The results of a gamma. */
static struct klr_results grid_results(const struct grid *grid, size_t row)
{
    size_t first = row * grid->lambdas * grid->costs;
    return (struct klr_results){grid->values + first, grid->error + first,
                                grid->report + first};
}

static void grid_recall(struct grid *grid)
{
    const struct klr_journal *journal = grid->journal;
    for (size_t g = 0; g < grid->params->gamma.count; g++) {
        struct grid_row *row = &grid->row[g];
        row->recalled =
            journal && journal->recall(grid->params->gamma.value[g],
                                       grid_results(grid, g), journal->context);
        row->left = grid->lambdas * grid_turns(grid);
        for (size_t l = 0; l < grid->lambdas && !row->recalled; l++)
            grid->todo[grid->tasks++] = g * grid->lambdas + l;
    }
}

static int grid_keep(struct grid *grid, size_t row, struct klr_error *err)
{
    struct klr_results results = grid_results(grid, row);
    size_t count = grid->lambdas * grid->costs, solved = 0;
    int code = 0;
    pthread_mutex_lock(&grid->team.lock);
    bool whole = ++grid->row[row].completed == grid->lambdas && grid->journal;
    while (whole && solved < count && point_is_solved(&results.report[solved]))
        solved++;
    if (whole && solved == count && !grid->team.code)
        code = grid->journal->keep(grid->params->gamma.value[row], results,
                                   grid->journal->context, err);
    pthread_mutex_unlock(&grid->team.lock);
    return code;
}

static int grid_recall_fold(struct grid *grid, size_t cell, size_t fold,
                            struct fold_point **points, struct klr_error *err)
{
    const struct klr_journal *journal = grid->journal;
    const struct klr_part_result *kept = NULL;
    const struct partition *partition = grid->partition;
    struct fold_point *made = *points = NULL;
    double gamma = grid->params->gamma.value[cell / grid->lambdas];
    int code = 0;
    pthread_mutex_lock(&grid->team.lock);
    if (journal && journal->recall_fold &&
        !journal->recall_fold(gamma, cell % grid->lambdas, fold, &kept,
                              journal->context))
        kept = NULL;
    if (kept && !grid->cell[cell].fold)
        code = grid_cell_begin(grid, &grid->cell[cell], err);
    pthread_mutex_unlock(&grid->team.lock);
    if (!kept || code)
        return code;
    if (!(made = *points = klr_zalloc(grid->costs, sizeof *made, err)))
        return KLR_E_MEMORY;
    for (size_t t = 0; t < grid->costs && !code; t++) {
        made[t].report = kept[t].report;
        if (!(code = klr_metrics_create(&made[t].metrics, partition->k,
                                        partition->label, err)))
            code = klr_metrics_add_numbers(made[t].metrics, kept[t].number,
                                           kept[t].count, err);
    }
    return code;
}

static int grid_keep_fold(struct grid *grid, size_t cell, size_t fold,
                          bool recalled, struct fold_point *points,
                          struct klr_error *err)
{
    const struct klr_journal *journal = grid->journal;
    double gamma = grid->params->gamma.value[cell / grid->lambdas];
    size_t costs = grid->costs, solved = 0;
    struct klr_part_result *results = klr_zalloc(costs, sizeof *results, err);
    int code = results ? 0 : KLR_E_MEMORY;
    for (size_t t = 0; t < costs && !code; t++) {
        solved += point_is_solved(&points[t].report) && !points[t].lost;
        results[t].report = points[t].report;
        grid->report[cell * costs + t] = points[t].report;
        grid_forget(grid, cell * costs + t);
        code = klr_metrics_numbers(points[t].metrics, &results[t].number,
                                   &results[t].count, err);
    }
    grid->cell[cell].complete = true;
    if (!code && solved == costs && !recalled)
        code = journal->keep_fold(gamma, cell % grid->lambdas, fold, results,
                                  journal->context, err);
    klr_part_results_free(results, costs);
    fold_points_free(points, costs);
    return code;
}
