/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of a search share.
 */
#ifndef KLR_CLI_SEARCH_PARTS_H
#define KLR_CLI_SEARCH_PARTS_H

#include "cli/search/search.h"

enum {
    SEARCH_COARSE,      /* few points, far apart */
    SEARCH_OTHER_SCALE, /* the best of these by another scaling */
    SEARCH_FINE,        /* around the best point of both */
    SEARCH_STAGES
};

/* The rows and folds that the points of a stage are validated on. */
struct search_stage {
    struct klr_problem copy; /* of some rows, or all; empty: there is none */
    const struct klr_problem *problem; /* the copy, or the training set */
    enum klr_scale scale;
    long long folds; /* 0: leave-one-out */
    double unit;  /* klr_problem_unit_gamma where gamma is searched, else 1 */
    size_t first; /* its first point */
};

struct search_point {
    size_t stage;
    double gamma, cost;
};

struct search {
    struct cli_train *train;
    const struct cli_program *program;
    struct search_stage stage[SEARCH_STAGES];
    size_t now;                       /* the stage that points are added to */
    bool any_gamma, any_cost;         /* are searched */
    enum klr_metric metric;           /* the user's, if points have it */
    size_t count, n_points, n_values; /* points, and their capacities */
    struct search_point *point;       /* (count) */
    struct klr_metric_values *values; /* (count) */
    size_t first, best;               /* of the points that are compared now */
    double begin, limit;              /* seconds for the search; 0: no limit */
    enum klr_status ended; /* KLR_CONVERGED: nothing has ended it early */
};

/* `value` to three digits, so that what is printed is the value itself. */
double cli_search_rounded(double value);
/* The gammas or costs a step below, at, and above `middle`; `middle` alone
 * where nothing is searched. */
struct klr_reals cli_search_around(double middle, double step, bool searched);
/* How bad a point is among those of stages with as many rows: its loss, or 1
 * minus its share of right answers, raised by its C. INFINITY for a metric
 * without a value. */
double cli_search_badness(const struct search *s, size_t t);
/* Validate all pairs of a gamma and a cost that are not known among the rivals:
 * the points from s->first on that have the scaling of this stage. Let s->best
 * be the least bad of these. Errors as
 * klr_cross_validate. */
int cli_search_try(struct search *s, const struct klr_reals *gamma,
                   const struct klr_reals *cost, struct klr_error *err);
/* As long as the best point lies at an edge, but at most `moves` times, try
 * those a step beyond. Errors as klr_cross_validate. */
int cli_search_go_on(struct search *s, double step, int moves,
                     struct klr_error *err);
/* Try (g, c), its neighbours in C, and those in gamma which lie along the ridge
 * of good points, on which C falls as gamma grows. Errors as
 * klr_cross_validate. */
int cli_search_neighbours(struct search *s, double g, double c, double step,
                          struct klr_error *err);

/* Tell on stderr what will be tried, unless the user wants quiet. */
void cli_search_tell_plan(const struct search *s);
/* Likewise what was chosen. */
void cli_search_tell_choice(const struct search *s);
/* Write train->search_text, a member of a JSON object and a comma.
 * KLR_E_MEMORY. */
int cli_search_describe(struct search *s, struct klr_error *err);

/* Train on a basis if klr of all examples would take long, and say so. Errors
 * as klr_train_forecast. */
int cli_search_basis(struct search *s, struct klr_error *err);

/* The number of rows that a stage will see, and its folds, 0 for leave-one-out.
 * Where all parameters are given there is no fine stage, and the first one does
 * as that would. */
size_t cli_search_rows(const struct search *s, size_t stage);
long long cli_search_folds(const struct search *s, size_t stage);
bool cli_search_tries_scales(const struct search *s);

#endif
