/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the parts of cross validation only: a grid of points, see grid.c.
 */
#ifndef KLR_SOLVER_GRID_H
#define KLR_SOLVER_GRID_H

#include "solver/validate/validate.h"

/* A gamma. */
struct grid_row {
    struct klr_operator op;
    bool made;        /* op is */
    bool recalled;    /* by the journal */
    size_t left;      /* folds of its cells that have not had their turn */
    size_t completed; /* cells */
};

/* A gamma and lambda. */
struct grid_cell {
    double begin;               /* of the first of its folds */
    struct fold_point **fold;   /* (folds, costs) what they add, once known, and
                                 to the first's those joined; NULL: not begun */
    size_t joined;              /* folds, the first ones */
    bool complete;              /* all are joined, or the only one is known */
    struct fold_spread *spread; /* (costs) of these */
};

struct grid {
    const struct klr_problem *problem;
    const struct klr_params *params; /* settled */
    const struct partition *partition;
    struct klr_pool *pool;   /* of the operators; NULL: folds side by side */
    struct klr_params share; /* params with the memory of a row */
    const struct klr_journal *journal; /* or NULL */
    size_t lambdas, costs, folds, cells;
    size_t *todo, tasks;    /* (tasks) cells that are not recalled, ascending */
    size_t threads;         /* at most, that have a fold each */
    size_t rows_most;       /* that may have an operator at once */
    struct grid_row *row;   /* (gammas) */
    struct grid_cell *cell; /* (cells) */
    struct klr_metric_values *values; /* (cells, costs) the caller's */
    struct klr_metric_values *error;  /* (cells, costs) the caller's */
    struct klr_report *report;        /* (cells, costs) the caller's */
    struct klr_held_out *held_out;    /* the caller's, of one point, or NULL */
    struct klr_metrics **metrics;     /* the same */
    double begin;
    struct team team;    /* a unit is a fold; its lock is of what follows, and
                            of rows and cells */
    size_t rows_at_work; /* which have an operator */
    size_t folds_done;
    double doing;             /* shares of the folds at work that are done */
    size_t refused;           /* 1 + number of the first fold that was, or 0 */
    struct klr_error refusal; /* its error */
};

/* Validate at every point of the parameters: values, error and report get what
 * comes of it. problem, params, partition and these are set, journal, held_out
 * and metrics where they are wanted, all else 0. Nothing is to be freed. */
static int grid_run(struct grid *grid, struct klr_pool *pool,
                    struct klr_error *err);

/* The fold, from 1, that is validated alone; 0: all are. */
static size_t grid_only(const struct grid *grid);
/* The folds of a cell that have their turn. */
static size_t grid_turns(const struct grid *grid);
/* False where the clock cut a point: then it has no values. */
static bool point_is_solved(const struct klr_report *report);
static void grid_forget(struct grid *grid, size_t point);
/* The clock of a cell starts; its folds have none of their results yet. */
static int grid_cell_begin(const struct grid *grid, struct grid_cell *c,
                           struct klr_error *err);

/* ---- the journal: see grid_journal.c ---- */

/* Find the cells that are to be validated: all but those of recalled gammas. */
static void grid_recall(struct grid *grid);
/* A cell is complete; with its last one a gamma is, and is kept if all its
 * points are solved. */
static int grid_keep(struct grid *grid, size_t row, struct klr_error *err);
/* The gamma, lambda and fold are recalled: then *points are made of that, else
 * NULL. */
static int grid_recall_fold(struct grid *grid, size_t cell, size_t fold,
                            struct fold_point **points, struct klr_error *err);
/* Under the grid's lock: the only fold of a cell, which is kept if all its
 * points are solved and it is not `recalled`. Frees the points. */
static int grid_keep_fold(struct grid *grid, size_t cell, size_t fold,
                          bool recalled, struct fold_point *points,
                          struct klr_error *err);

#endif
