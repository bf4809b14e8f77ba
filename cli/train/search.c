/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The search of --auto: a coarse grid around a gamma of the features' scale,
 * on a sample where there are many rows, and a finer one around its best point,
 * on all rows. Either goes on beyond an edge as long as the best point lies
 * there. What a user gives is not searched. Points are compared by folds or by
 * leave-one-out, as those of a grid are: without a second validation of the
 * best, since the model that follows is trained in full anyway.
 */
#include "cli/train/search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"

enum {
    SEARCH_FOLDS = 3,
    SEARCH_SAMPLE = 500,  /* rows of the coarse stage, about */
    SEARCH_SAMPLED = 700, /* rows from which on there is a sample */
    SEARCH_MOVES = 3      /* beyond an edge, of each stage */
};

/* The steps of the stages, in gamma and C; the second is the root of the
 * first. */
static const double search_coarse = 8, search_fine = 2.8284271247461903;

struct search_point {
    double gamma, cost;
    bool sampled;
    enum klr_status status;
};

struct search {
    struct cli_train *train;
    const struct cli_program *program;
    struct klr_problem sample;
    const struct klr_problem *problem; /* what is validated now */
    bool any_gamma, any_cost;          /* are searched */
    double unit;
    size_t count, n_points, n_values; /* points, and their capacities */
    struct search_point *point;
    struct klr_metric_values *values;
    size_t first, best;    /* of the points of this stage */
    double begin, limit;   /* seconds for the search; 0: no limit */
    enum klr_status ended; /* KLR_CONVERGED: nothing has ended it early */
};

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
        return klr_fail(err, KLR_E_USAGE,
                        "options --auto and --%s exclude each other", other);
    if (!params->folds && !params->loo)
        params->folds = SEARCH_FOLDS;
    return 0;
}

/* Pixels and answers of yes and no have one scale, and sparse features would
 * lose their zeros. Of the others those that have bounds keep them. */
static enum klr_scale scale_of(enum klr_feature_kind kind)
{
    switch (kind) {
    case KLR_FEATURES_NARROW:
        return KLR_SCALE_MINMAX;
    case KLR_FEATURES_GENERAL:
        return KLR_SCALE_STANDARD;
    default:
        return KLR_SCALE_NONE;
    }
}

int cli_train_search_scale(struct cli_train *train, struct klr_error *err)
{
    if (!train->options.automatic)
        return 0;
    int code = klr_problem_feature_kind(&train->problem, &train->kind, err);
    if (train->options.scale == CLI_SCALE_AUTO)
        train->options.scale = train->params.kernel == KLR_PRECOMPUTED
                                   ? KLR_SCALE_NONE
                                   : (int)scale_of(train->kind);
    return code;
}

/* ---- Points ---- */

static struct klr_reals reals(const double *value, size_t count)
{
    struct klr_reals all = klr_reals_of(value[0]);
    for (all.count = 0; all.count < count; all.count++)
        all.value[all.count] = value[all.count];
    return all;
}

static bool is_known(const struct search *s, double gamma, double cost)
{
    for (size_t t = s->first; t < s->count; t++)
        if ((s->point[t].gamma == gamma || !s->any_gamma) &&
            s->point[t].cost == cost)
            return true;
    return false;
}

/* To three digits, so that what is printed is the value itself. */
static double rounded(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.3g", value);
    klr_read_real(text, &value);
    return value;
}

/* The costs that are still to be tried at one gamma or more. */
static struct klr_reals unknown_costs(const struct search *s,
                                      const struct klr_reals *gamma,
                                      const struct klr_reals *cost)
{
    struct klr_reals left = klr_reals_of(0);
    left.count = 0;
    for (size_t t = 0; t < cost->count; t++) {
        bool known = true;
        for (size_t g = 0; g < gamma->count; g++)
            known = known && is_known(s, gamma->value[g], cost->value[t]);
        if (!known)
            left.value[left.count++] = cost->value[t];
    }
    return left;
}

static int add_points(struct search *s, const struct klr_params *params,
                      const struct klr_validation *validation,
                      struct klr_error *err)
{
    size_t need = s->count + validation->count;
    if (KLR_GROW(s->point, s->n_points, need, err) ||
        KLR_GROW(s->values, s->n_values, need, err))
        return KLR_E_MEMORY;
    for (size_t t = 0; t < validation->count; t++) {
        struct klr_params one = klr_params_point(params, t);
        enum klr_status status = validation->report[t].status;
        if (status >= KLR_TIME_LIMIT) {
            s->ended = status;
            continue;
        }
        s->point[s->count] =
            (struct search_point){one.gamma.value[0], one.cost.value[0],
                                  s->problem == &s->sample, status};
        s->values[s->count++] = validation->values[t];
    }
    enum klr_metric metric = (enum klr_metric)params->metric;
    if (s->count > s->first)
        s->best = s->first + klr_best_values(metric, s->values + s->first,
                                             s->count - s->first);
    return 0;
}

/* The parameters of the comparison: of a grid without an answer. */
static struct klr_params compared(const struct search *s,
                                  const struct klr_reals *gamma,
                                  const struct klr_reals *cost)
{
    struct klr_params params = s->train->params;
    params.gamma = *gamma;
    params.cost = *cost;
    params.part = true;
    if (s->limit > 0)
        params.time_limit = fmax(s->limit - (klr_seconds() - s->begin), 1e-9);
    return params;
}

/* Validate all pairs that are not known yet. */
static int try_points(struct search *s, const struct klr_reals *gamma,
                      const struct klr_reals *cost, struct klr_error *err)
{
    struct klr_reals costs = unknown_costs(s, gamma, cost);
    struct klr_validation validation;
    if (!costs.count || s->ended != KLR_CONVERGED)
        return 0;
    struct klr_params params = compared(s, gamma, &costs);
    int code = klr_cross_validate(s->problem, &params, false, &validation, err);
    if (!code)
        code = add_points(s, &params, &validation, err);
    klr_validation_free(&validation);
    return code;
}

/* ---- Stages ---- */

/* Values a step below, at, and above `middle`; it alone where nothing is
 * searched. */
static struct klr_reals around(double middle, double step, bool searched)
{
    const double value[] = {rounded(middle / step), middle,
                            rounded(middle * step)};
    return searched ? reals(value, 3) : klr_reals_of(middle);
}

/* True if the best point of the stage is the first or last at its place, in
 * gamma or C: then *gamma and *cost are what lies beyond. */
static bool beyond_edge(const struct search *s, double step,
                        struct klr_reals *gamma, struct klr_reals *cost)
{
    const struct search_point *best = &s->point[s->best];
    double low_g = best->gamma, high_g = best->gamma;
    double low_c = best->cost, high_c = best->cost;
    for (size_t t = s->first; t < s->count; t++) {
        const struct search_point *p = &s->point[t];
        low_g = fmin(low_g, p->gamma);
        high_g = fmax(high_g, p->gamma);
        if (p->gamma == best->gamma || !s->any_gamma) {
            low_c = fmin(low_c, p->cost);
            high_c = fmax(high_c, p->cost);
        }
    }
    *gamma = klr_reals_of(best->gamma);
    *cost = klr_reals_of(best->cost);
    if (s->any_cost && (best->cost == low_c || best->cost == high_c)) {
        *cost = klr_reals_of(
            rounded(best->cost == low_c ? low_c / step : high_c * step));
        return true;
    }
    if (s->any_gamma && (best->gamma == low_g || best->gamma == high_g)) {
        *gamma = klr_reals_of(
            rounded(best->gamma == low_g ? low_g / step : high_g * step));
        *cost = around(best->cost, step, s->any_cost);
        return true;
    }
    return false;
}

static int go_on(struct search *s, double step, struct klr_error *err)
{
    struct klr_reals gamma, cost;
    int code = 0;
    for (int i = 0;
         i < SEARCH_MOVES && !code && s->count > s->first &&
         s->ended == KLR_CONVERGED && beyond_edge(s, step, &gamma, &cost);
         i++)
        code = try_points(s, &gamma, &cost, err);
    return code;
}

static int search_coarsely(struct search *s, struct klr_error *err)
{
    const double scale[] = {1.0 / 32, 1.0 / 4, 2};
    const double cost[] = {1, 8, 64};
    double gamma[3];
    for (size_t i = 0; i < 3; i++)
        gamma[i] = rounded(scale[i] * s->unit);
    const struct klr_params *params = &s->train->params;
    struct klr_reals gammas = s->any_gamma ? reals(gamma, 3) : params->gamma;
    struct klr_reals costs = s->any_cost ? reals(cost, 3) : params->cost;
    int code = try_points(s, &gammas, &costs, err);
    return code ? code : go_on(s, search_coarse, err);
}

/* The costs to try below, at and above the gamma of a point: good points lie
 * along a ridge on which C falls as gamma grows. */
static void ridge(const struct search *s, const struct search_point *middle,
                  struct klr_reals cost[3])
{
    double c = middle->cost;
    const double low[] = {rounded(c / search_fine), c};
    const double high[] = {c, rounded(c * search_fine)};
    cost[1] = around(c, search_fine, s->any_cost);
    cost[0] = s->any_cost ? reals(high, 2) : cost[1];
    cost[2] = s->any_cost ? reals(low, 2) : cost[1];
}

/* On all rows. Where the first stage had them too, its points count. */
static int search_finely(struct search *s, struct klr_error *err)
{
    if (s->count == 0 || s->ended != KLR_CONVERGED)
        return 0;
    struct search_point middle = s->point[s->best];
    double g = middle.gamma;
    struct klr_reals gamma = klr_reals_of(g), cost[3];
    ridge(s, &middle, cost);
    if (s->problem == &s->sample)
        s->first = s->count;
    s->problem = &s->train->problem;
    int code = try_points(s, &gamma, &cost[1], err);
    gamma = klr_reals_of(rounded(g / search_fine));
    if (!code && s->any_gamma)
        code = try_points(s, &gamma, &cost[0], err);
    gamma = klr_reals_of(rounded(g * search_fine));
    if (!code && s->any_gamma)
        code = try_points(s, &gamma, &cost[2], err);
    return code ? code : go_on(s, search_fine, err);
}

/* ---- What is told ---- */

static void tell_plan(const struct search *s)
{
    const struct cli_train *train = s->train;
    const struct klr_params *params = &train->params;
    size_t gammas = s->any_gamma ? 3 : params->gamma.count;
    size_t costs = s->any_cost ? 3 : params->cost.count;
    size_t more = s->any_gamma ? 7 : 3;
    if (train->options.quiet)
        return;
    fprintf(stderr, "%s: auto: scale %s, features are %s\n", s->program->name,
            klr_scale_names[train->options.scale],
            klr_feature_kind_names[train->kind]);
    fprintf(stderr, "%s: auto: %zu points on %zu of %zu rows", s->program->name,
            gammas * costs, s->problem->n, train->problem.n);
    if (s->any_gamma || s->any_cost || s->problem == &s->sample)
        fprintf(stderr, ", then about %zu on all", more);
    else
        more = 0;
    if (params->loo)
        fputs(", each by leave-one-out\n", stderr);
    else
        fprintf(stderr, ", each by %lld folds: some %lld trainings\n",
                params->folds,
                params->folds * (long long)(gammas * costs + more));
}

static void tell_choice(const struct search *s)
{
    const struct search_point *best = &s->point[s->best];
    enum klr_metric metric = klr_metric_settle(
        (enum klr_metric)s->train->params.metric, &s->values[s->best]);
    char gamma[48] = "";
    if (s->train->options.quiet)
        return;
    if (!isnan(best->gamma))
        snprintf(gamma, sizeof gamma, "gamma = %.6g, ", best->gamma);
    fprintf(stderr, "%s: auto: %sC = %.6g: %s %.6g, the best of %zu points\n",
            s->program->name, gamma, best->cost, klr_metric_names[metric],
            klr_metric_value(metric, &s->values[s->best]), s->count - s->first);
}

static void put_real(struct klr_text *text, const char *key, double value,
                     const char *after)
{
    char number[KLR_REAL_SIZE] = "null";
    if (isfinite(value))
        klr_format_real(number, value);
    klr_text_putf(text, "\"%s\": %s%s", key, number, after);
}

/* The search as a member of the JSON object. */
static int describe(struct search *s, struct klr_error *err)
{
    struct cli_train *train = s->train;
    struct klr_text *text = &train->search_text;
    enum klr_metric metric = klr_metric_settle(
        (enum klr_metric)train->params.metric, &s->values[s->best]);
    klr_text_putf(text,
                  "\"auto\": {\"scale\": \"%s\", \"features\": \"%s\", "
                  "\"folds\": %lld, \"loo\": %s, \"sample\": %zu, "
                  "\"metric\": \"%s\", \"best\": %zu, \"points\": [",
                  klr_scale_names[train->options.scale],
                  klr_feature_kind_names[train->kind], train->params.folds,
                  train->params.loo ? "true" : "false",
                  s->sample.n ? s->sample.n : train->problem.n,
                  klr_metric_names[metric], s->best);
    for (size_t t = 0; t < s->count; t++) {
        const struct search_point *p = &s->point[t];
        klr_text_put(text, t ? ", {" : "{");
        put_real(text, "gamma", p->gamma, ", ");
        put_real(text, "c", p->cost, ", ");
        klr_text_putf(text, "\"rows\": %zu, ",
                      p->sampled ? s->sample.n : train->problem.n);
        put_real(text, "value", klr_metric_value(metric, &s->values[t]), "}");
    }
    klr_text_put(text, "]}, ");
    return text->failed ? klr_fail(err, KLR_E_MEMORY, "out of memory") : 0;
}

/* ---- The search ---- */

/* Draw the sample where there are many rows, and nothing is given for each. */
static int begin(struct search *s, struct klr_error *err)
{
    struct cli_train *train = s->train;
    struct klr_params *params = &train->params;
    s->problem = &train->problem;
    s->begin = klr_seconds();
    s->limit = 0.8 * params->time_limit; /* training has the rest */
    s->any_gamma = kernel_is_searched(params->kernel) &&
                   params->gamma.count == 1 && isnan(params->gamma.value[0]);
    s->any_cost = !train->cost_is_given;
    s->unit = s->any_gamma
                  ? klr_problem_unit_gamma(s->problem,
                                           (enum klr_kernel_type)params->kernel)
                  : 1;
    if (s->problem->n <= SEARCH_SAMPLED || params->example_weight ||
        params->fold || params->n_points || params->kernel == KLR_PRECOMPUTED)
        return 0;
    int code = klr_problem_sample(&s->sample, s->problem, SEARCH_SAMPLE,
                                  params->seed, err);
    if (!code)
        s->problem = &s->sample;
    return code;
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
    struct search s = {.train = train, .program = program};
    int code = begin(&s, err);
    if (!code) {
        tell_plan(&s);
        code = search_coarsely(&s, err);
    }
    if (!code)
        code = search_finely(&s, err);
    cli_progress_end(&train->progress);
    if (!code && s.count > 0) {
        warn_ended(&s);
        tell_choice(&s);
        code = describe(&s, err);
    } else if (!code) {
        warn_ended(&s);
    }
    if (!code)
        take_best(&s, klr_seconds() - s.begin);
    train->seconds.train += klr_seconds() - s.begin;
    klr_problem_free(&s.sample);
    klr_free(s.point);
    klr_free(s.values);
    return code;
}
