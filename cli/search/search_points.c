/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The points of a search: they are validated as those of a grid are, without a
 * second validation of the best, since the model that follows is trained in
 * full anyway.
 *
 * Validation errs, and where it cannot tell points apart it is as likely to
 * take one that fits too closely. A larger C therefore has to pay: each
 * doubling must lower the loss by 5 % / sqrt(rows).
 */
#include "cli/search/search_parts.h"

#include <math.h>
#include <stdio.h>

#include "base/machine/system.h"
#include "base/memory.h"

static const double search_doubling = 0.05;

double cli_search_rounded(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.3g", value);
    klr_read_real(text, &value);
    return value;
}

struct klr_reals cli_search_around(double middle, double step, bool searched)
{
    struct klr_reals all = klr_reals_of(middle);
    if (!searched)
        return all;
    all.value[0] = cli_search_rounded(middle / step);
    all.value[1] = middle;
    all.value[2] = cli_search_rounded(middle * step);
    all.count = 3;
    return all;
}

/* ---- Comparison ---- */

/* True of the points that are compared now: from s->first on those of this
 * scaling. */
static bool is_rival(const struct search *s, size_t t)
{
    return s->stage[s->point[t].stage].scale == s->stage[s->now].scale;
}

static double loss_of(enum klr_metric metric, double value)
{
    bool loss = metric == KLR_METRIC_LOG_LOSS || metric == KLR_METRIC_BRIER ||
                metric == KLR_METRIC_ECE;
    return loss ? value : 1 - value;
}

double cli_search_badness(const struct search *s, size_t t)
{
    const struct search_point *point = &s->point[t];
    double value = klr_metric_value(s->metric, &s->values[t]);
    double rows = (double)s->stage[point->stage].problem->n;
    double doublings = log2(point->cost);
    if (isnan(value))
        return (double)INFINITY;
    return loss_of(s->metric, value) *
           exp(search_doubling * doublings / sqrt(rows));
}

/* Equals are told apart by C, and then by their order. */
static bool is_better(const struct search *s, size_t a, size_t b)
{
    double one = cli_search_badness(s, a), other = cli_search_badness(s, b);
    double c = s->point[a].cost, d = s->point[b].cost;
    return one < other || (one == other && (c < d || (c == d && a < b)));
}

/* The metric that compares these points, if they have any values. */
static void settle_metric(struct search *s)
{
    size_t count = s->count - s->first;
    const struct klr_metric_values *values = &s->values[s->first];
    enum klr_metric metric = klr_metric_among(s->metric, values, count);
    size_t best = klr_best_values(metric, values, count);
    if (isnan(klr_metric_value(metric, &values[best])))
        return;
    cli_warn_metric(s->program, s->metric, metric);
    s->metric = metric;
}

static void find_best(struct search *s)
{
    settle_metric(s);
    s->best = s->count - 1;
    for (size_t t = s->first; t < s->count; t++)
        if (is_rival(s, t) && is_better(s, t, s->best))
            s->best = t;
}

/* ---- Validation ---- */

/* Values that are searched have three digits: a step up and down again may miss
 * the last one. */
static bool is_same(double a, double b, bool searched)
{
    return searched ? fabs(a - b) <= 0.02 * b : a == b;
}

static bool is_gamma_of(const struct search *s, size_t t, double gamma)
{
    return isnan(gamma) || is_same(s->point[t].gamma, gamma, s->any_gamma);
}

static bool is_known(const struct search *s, double gamma, double cost)
{
    for (size_t t = s->first; t < s->count; t++)
        if (is_rival(s, t) && is_gamma_of(s, t, gamma) &&
            is_same(s->point[t].cost, cost, s->any_cost))
            return true;
    return false;
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
        s->point[s->count] = (struct search_point){s->now, one.gamma.value[0],
                                                   one.cost.value[0]};
        s->values[s->count++] = validation->values[t];
    }
    if (s->count > s->first)
        find_best(s);
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
    params.folds = s->stage[s->now].folds;
    params.loo = params.folds == 0;
    params.part = true;
    if (s->limit > 0)
        params.time_limit = fmax(s->limit - (klr_seconds() - s->begin), 1e-9);
    return params;
}

int cli_search_try(struct search *s, const struct klr_reals *gamma,
                   const struct klr_reals *cost, struct klr_error *err)
{
    struct klr_reals costs = unknown_costs(s, gamma, cost);
    struct klr_validation validation;
    if (!costs.count || s->ended != KLR_CONVERGED)
        return 0;
    struct klr_params params = compared(s, gamma, &costs);
    int code = klr_cross_validate(s->stage[s->now].problem, &params, false,
                                  &validation, err);
    if (!code)
        code = add_points(s, &params, &validation, err);
    klr_validation_free(&validation);
    return code;
}

/* ---- Around the best point ---- */

struct search_extent {
    double low_gamma, high_gamma, low_cost, high_cost;
};

/* The least and largest gamma, and cost at the best point's gamma. */
static struct search_extent extent(const struct search *s)
{
    const struct search_point *best = &s->point[s->best];
    struct search_extent e = {best->gamma, best->gamma, best->cost, best->cost};
    for (size_t t = s->first; t < s->count; t++) {
        const struct search_point *p = &s->point[t];
        if (!is_rival(s, t))
            continue;
        e.low_gamma = fmin(e.low_gamma, p->gamma);
        e.high_gamma = fmax(e.high_gamma, p->gamma);
        if (is_gamma_of(s, t, best->gamma)) {
            e.low_cost = fmin(e.low_cost, p->cost);
            e.high_cost = fmax(e.high_cost, p->cost);
        }
    }
    return e;
}

/* The value a step beyond the edge that `value` is at; NaN: at none. */
static double beyond(double value, double low, double high, double step)
{
    return value == low    ? cli_search_rounded(low / step)
           : value == high ? cli_search_rounded(high * step)
                           : (double)NAN;
}

/* True if the best point lies at an edge of costs or gammas: then *gamma and
 * *cost are what lies beyond. */
static bool beyond_edge(const struct search *s, double step,
                        struct klr_reals *gamma, struct klr_reals *cost)
{
    const struct search_point *best = &s->point[s->best];
    struct search_extent e = extent(s);
    double c = beyond(best->cost, e.low_cost, e.high_cost, step);
    double g = beyond(best->gamma, e.low_gamma, e.high_gamma, step);
    *gamma = klr_reals_of(best->gamma);
    *cost = klr_reals_of(c);
    if (s->any_cost && !isnan(c))
        return true;
    *gamma = klr_reals_of(g);
    *cost = cli_search_around(best->cost, step, s->any_cost);
    return s->any_gamma && !isnan(g);
}

int cli_search_go_on(struct search *s, double step, int moves,
                     struct klr_error *err)
{
    struct klr_reals gamma, cost;
    int code = 0;
    for (int i = 0;
         i < moves && !code && s->count > s->first &&
         s->ended == KLR_CONVERGED && beyond_edge(s, step, &gamma, &cost);
         i++)
        code = cli_search_try(s, &gamma, &cost, err);
    return code;
}

int cli_search_neighbours(struct search *s, double g, double c, double step,
                          struct klr_error *err)
{
    struct klr_reals at = cli_search_around(c, step, s->any_cost);
    struct klr_reals above = at, below = at, gamma = klr_reals_of(g);
    if (s->any_cost) {
        above.value[0] = at.value[1];
        above.value[1] = at.value[2];
        above.count = below.count = 2;
    }
    int code = cli_search_try(s, &gamma, &at, err);
    gamma = klr_reals_of(cli_search_rounded(g / step));
    if (!code && s->any_gamma)
        code = cli_search_try(s, &gamma, &above, err);
    gamma = klr_reals_of(cli_search_rounded(g * step));
    if (!code && s->any_gamma)
        code = cli_search_try(s, &gamma, &below, err);
    return code;
}
