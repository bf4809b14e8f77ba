/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The search of --auto, in three stages: a coarse grid around a gamma of the
 * features' scale; its best point once more with the features scaled another
 * way; and a finer grid around the best of both. Samples serve where there are
 * many rows: a stage has to find a neighbourhood, and the last one no more than
 * its middle. What a user gives is not searched.
 */
#include "cli/search/search_parts.h"

#include <math.h>
#include <stdio.h>

#include "base/machine/system.h"
#include "base/memory.h"

enum {
    SEARCH_FOLDS = 3,
    SEARCH_FOLDS_OF_FEW = 5,
    SEARCH_COARSE_ROWS = 500, /* of a sample, about, up to 1000 rows 300 */
    SEARCH_COARSE_ROWS_OF_LESS = 300,
    SEARCH_LESS = 1000,
    SEARCH_FINE_ROWS = 4000,
    SEARCH_FEW = 300, /* rows up to which folds tell too little */
    SEARCH_MOVES = 3, /* beyond an edge */
    SEARCH_TURNS = 4, /* to neighbours of the best point */
    SEARCH_TURNS_OF_FEW = 2
};

/* The steps of a stage, in gamma and C. */
static const double search_coarse = 8, search_fine = 2;

/* How much better another scaling must be, at one point. */
static const double search_scale_gain = 0.02;

static bool kernel_is_searched(int kernel)
{
    return kernel == KLR_RBF || kernel == KLR_LAPLACIAN ||
           kernel == KLR_EXPONENTIAL;
}

/* ---- Options and scaling ---- */

int cli_train_search_check(struct cli_train *train, struct klr_error *err)
{
    const struct cli_train_options *options = &train->options;
    struct klr_params *params = &train->params;
    const char *other = options->log            ? "log"
                        : options->part         ? "part"
                        : options->cv_out       ? "cv-out"
                        : options->metrics      ? "metrics"
                        : options->error_cost   ? "error-cost"
                        : options->check_kernel ? "check-kernel"
                        : params->sparsest      ? "sparsest"
                                                : NULL;
    if (!options->automatic)
        return 0;
    if (other)
        return klr_fail(err, KLR_E_USAGE, "--auto and --%s exclude each other",
                        other);
    train->folds_are_left = !params->folds && !params->loo;
    if (train->folds_are_left)
        params->folds = SEARCH_FOLDS;
    return 0;
}

/* Pixels and answers of yes and no have one scale, and sparse features would
 * lose their zeros. For others both scalings are tried. */
int cli_train_search_scale(struct cli_train *train, struct klr_error *err)
{
    if (!train->options.automatic)
        return 0;
    int code = klr_problem_feature_kind(&train->problem, &train->kind, err);
    bool tries = train->params.kernel != KLR_PRECOMPUTED &&
                 (train->kind == KLR_FEATURES_NARROW ||
                  train->kind == KLR_FEATURES_GENERAL);
    if (train->options.scale == CLI_SCALE_AUTO && !tries)
        train->options.scale = KLR_SCALE_NONE;
    return code;
}

bool cli_search_tries_scales(const struct search *s)
{
    return s->train->options.scale == CLI_SCALE_AUTO;
}

/* ---- Rows and folds ---- */

static bool is_few(const struct search *s)
{
    return s->train->problem.n <= SEARCH_FEW;
}

/* True of a stage that the answer depends on. */
static bool is_fine(const struct search *s, size_t stage)
{
    return stage == SEARCH_FINE || (!s->any_gamma && !s->any_cost);
}

/* A sample where there are many more rows than that, and nothing is given for
 * each. */
size_t cli_search_rows(const struct search *s, size_t stage)
{
    const struct klr_params *params = &s->train->params;
    size_t n = s->train->problem.n;
    size_t most = is_fine(s, stage) ? SEARCH_FINE_ROWS
                  : n > SEARCH_LESS ? SEARCH_COARSE_ROWS
                                    : SEARCH_COARSE_ROWS_OF_LESS;
    bool sampled = n > most + 2 * most / 5 && !params->example_weight &&
                   !params->fold && !params->n_points &&
                   params->kernel != KLR_PRECOMPUTED;
    return sampled ? most : n;
}

static bool has_leave_one_out(const struct klr_params *given)
{
    struct klr_params params = *given;
    struct klr_error err;
    params.folds = 0;
    params.loo = true;
    return klr_params_check(&params, &err) == 0;
}

/* The closed form of leave-one-out is optimistic where C is large. It is
 * therefore left to the fine stage, after folds have found the neighbourhood.
 */
long long cli_search_folds(const struct search *s, size_t stage)
{
    const struct klr_params *params = &s->train->params;
    long long folds = params->folds, n = (long long)s->train->problem.n;
    if (!s->train->folds_are_left)
        return folds;
    if (is_fine(s, stage) && is_few(s))
        folds = has_leave_one_out(params) ? 0 : SEARCH_FOLDS_OF_FEW;
    return folds < n ? folds : n;
}

/* ---- Stages ---- */

/* The stage that points are now added to. It has a copy of the rows if it sees
 * some alone, or scales them in its own way. */
static int stage_begin(struct search *s, size_t stage, enum klr_scale scale,
                       struct klr_error *err)
{
    struct cli_train *train = s->train;
    struct search_stage *now = &s->stage[s->now = stage];
    size_t rows = cli_search_rows(s, stage);
    bool all = rows == train->problem.n, scales = cli_search_tries_scales(s);
    int code = 0;
    now->problem = &train->problem;
    now->scale = scales ? scale : (enum klr_scale)train->options.scale;
    now->folds = cli_search_folds(s, stage);
    now->first = s->count;
    if (!all || scales) {
        code = klr_problem_sample(&now->copy, &train->problem, rows,
                                  train->params.seed, err);
        now->problem = &now->copy;
    }
    if (!code && scales)
        code = klr_problem_scale(&now->copy, scale, err);
    if (!code)
        now->unit =
            s->any_gamma
                ? klr_problem_unit_gamma(
                      now->problem, (enum klr_kernel_type)train->params.kernel)
                : 1;
    return code;
}

/* The gamma of a point for the features of this stage. */
static double gamma_of(const struct search *s, const struct search_point *point)
{
    double unit = s->stage[point->stage].unit, now = s->stage[s->now].unit;
    return s->any_gamma && now != unit
               ? cli_search_rounded(point->gamma * now / unit)
               : point->gamma;
}

static int search_coarsely(struct search *s, struct klr_error *err)
{
    const struct klr_params *params = &s->train->params;
    int code = stage_begin(s, SEARCH_COARSE, KLR_SCALE_MINMAX, err);
    double middle = cli_search_rounded(s->stage[s->now].unit / 4);
    struct klr_reals gamma = params->gamma, cost = params->cost;
    if (s->any_gamma)
        gamma = cli_search_around(middle, search_coarse, true);
    if (s->any_cost)
        cost = cli_search_around(8, search_coarse, true);
    if (!code)
        code = cli_search_try(s, &gamma, &cost, err);
    return code ? code : cli_search_go_on(s, search_coarse, SEARCH_MOVES, err);
}

static bool is_over(const struct search *s)
{
    return s->count == 0 || s->ended != KLR_CONVERGED;
}

/* Try the best point with the other scaling, and go back unless that is much
 * better. */
static int search_other_scale(struct search *s, struct klr_error *err)
{
    if (is_over(s) || !cli_search_tries_scales(s))
        return 0;
    size_t middle = s->best, first = s->first;
    double cost = s->point[middle].cost, bad = cli_search_badness(s, middle);
    int code = stage_begin(s, SEARCH_OTHER_SCALE, KLR_SCALE_STANDARD, err);
    if (code)
        return code;
    struct klr_reals gamma = klr_reals_of(gamma_of(s, &s->point[middle]));
    struct klr_reals costs =
        cli_search_around(cost, search_coarse, s->any_cost);
    s->first = s->count;
    code = cli_search_try(s, &gamma, &costs, err);
    if (s->count > s->first &&
        cli_search_badness(s, s->best) < (1 - search_scale_gain) * bad)
        return code;
    s->first = first;
    s->best = middle;
    return code;
}

/* From now on the training set has the scaling of the best point. */
static int settle_scale(struct search *s, struct klr_error *err)
{
    struct cli_train *train = s->train;
    if (!cli_search_tries_scales(s))
        return 0;
    enum klr_scale scale =
        s->count ? s->stage[s->point[s->best].stage].scale : KLR_SCALE_MINMAX;
    train->options.scale = (int)scale;
    return klr_problem_scale(&train->problem, scale, err);
}

/* Points of another stage count if that validates on the same rows, by the same
 * folds. */
static void compare_with(struct search *s, size_t stage)
{
    const struct search_stage *now = &s->stage[s->now];
    const struct search_stage *before = &s->stage[stage];
    bool same =
        before->problem->n == now->problem->n && before->folds == now->folds;
    s->first = same ? before->first : s->count;
}

/* The best point's neighbours, and those of the best of these, as long as there
 * is a better one. */
static int search_finely(struct search *s, struct klr_error *err)
{
    if (is_over(s) || (!s->any_gamma && !s->any_cost))
        return 0;
    struct search_point middle = s->point[s->best];
    int code = stage_begin(s, SEARCH_FINE, KLR_SCALE_NONE, err);
    if (code)
        return code;
    compare_with(s, middle.stage);
    middle.gamma = gamma_of(s, &middle);
    int turns = is_few(s) ? SEARCH_TURNS_OF_FEW : SEARCH_TURNS;
    size_t best = SIZE_MAX; /* none yet */
    for (int i = 0; i < turns && !code && !is_over(s); i++) {
        code = cli_search_neighbours(s, middle.gamma, middle.cost, search_fine,
                                     err);
        if (s->best == best)
            break;
        best = s->best;
        middle = s->point[best];
    }
    return code;
}

/* ---- The search ---- */

static struct search begin(struct cli_train *train,
                           const struct cli_program *program)
{
    const struct klr_params *params = &train->params;
    return (struct search){
        .train = train,
        .program = program,
        .begin = klr_seconds(),
        .metric = (enum klr_metric)params->metric,
        .limit = 0.8 * params->time_limit, /* training has the rest */
        .any_gamma = kernel_is_searched(params->kernel) &&
                     params->gamma.count == 1 && isnan(params->gamma.value[0]),
        .any_cost = !train->cost_is_given};
}

static int search_stages(struct search *s, struct klr_error *err)
{
    int code = search_coarsely(s, err);
    if (!code)
        code = search_other_scale(s, err);
    if (!code)
        code = settle_scale(s, err);
    return code ? code : search_finely(s, err);
}

/* The parameters become those of the best point, and no longer validate. */
static void take_best(struct search *s, double spent)
{
    struct klr_params *params = &s->train->params;
    if (s->count > 0) {
        params->gamma = klr_reals_of(s->point[s->best].gamma);
        params->cost = klr_reals_of(s->point[s->best].cost);
    } else {
        *params = klr_params_point(params, 0);
    }
    params->folds = params->loo = 0;
    params->fold = NULL;
    params->metric = KLR_METRIC_AUTO;
    if (params->time_limit > 0)
        params->time_limit = fmax(params->time_limit - spent, 1e-9);
}

static void warn_ended(const struct search *s)
{
    bool interrupted = s->ended == KLR_INTERRUPTED;
    if (s->ended == KLR_CONVERGED)
        return;
    cli_warn(s->program, "auto: %s: %s",
             interrupted ? "the search was interrupted"
                         : "the limit of time was reached",
             !s->count     ? "no point was finished"
             : interrupted ? "no model is trained"
                           : "the best of the points so far is trained");
}

int cli_train_search(struct cli_train *train, const struct cli_program *program,
                     struct klr_error *err)
{
    struct search s = begin(train, program);
    cli_search_tell_plan(&s);
    int code = search_stages(&s, err);
    cli_progress_end(&train->progress);
    if (!code) {
        warn_ended(&s);
        cli_search_tell_choice(&s);
        take_best(&s, klr_seconds() - s.begin);
        code = cli_search_basis(&s, err);
    }
    if (!code)
        code = cli_search_describe(&s, err);
    train->seconds.train += klr_seconds() - s.begin;
    for (size_t i = 0; i < SEARCH_STAGES; i++)
        klr_problem_free(&s.stage[i].copy);
    klr_free(s.point);
    klr_free(s.values);
    return code;
}
