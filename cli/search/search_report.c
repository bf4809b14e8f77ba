/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a search tells: its plan, its choice, and all of it as JSON.
 */
#include "cli/search/search_parts.h"

#include <math.h>
#include <stdio.h>

/* ---- The plan ---- */

enum { VALIDATION_SIZE = 40 };

static const char *validation_text(long long folds, char text[VALIDATION_SIZE])
{
    if (folds)
        snprintf(text, VALIDATION_SIZE, "%lld folds", folds);
    else
        snprintf(text, VALIDATION_SIZE, "leave-one-out");
    return text;
}

static size_t coarse_points(const struct search *s)
{
    const struct klr_params *params = &s->train->params;
    return (s->any_gamma ? 3 : params->gamma.count) *
           (s->any_cost ? 3 : params->cost.count);
}

static size_t fine_points(const struct search *s)
{
    if (!s->any_gamma && !s->any_cost)
        return 0;
    return s->any_gamma && s->any_cost ? 7 : 3;
}

static long long trainings(long long folds, size_t points)
{
    return (folds ? folds : 1) * (long long)points;
}

static void tell_scale(const struct search *s)
{
    const struct cli_train *train = s->train;
    bool tries = cli_search_tries_scales(s);
    fprintf(stderr, "%s: auto: features are %s, scale %s\n", s->program->name,
            klr_feature_kind_names[train->kind],
            tries ? "minmax or standard"
                  : klr_scale_names[train->options.scale]);
}

void cli_search_tell_plan(const struct search *s)
{
    size_t n = s->train->problem.n, points = coarse_points(s);
    size_t other = !cli_search_tries_scales(s) ? 0 : s->any_cost ? 3 : 1;
    long long folds = cli_search_folds(s, SEARCH_COARSE);
    long long fine = cli_search_folds(s, SEARCH_FINE);
    char text[VALIDATION_SIZE];
    if (s->train->options.quiet)
        return;
    tell_scale(s);
    fprintf(stderr, "%s: auto: %zu point%s by %s on %zu of %zu rows",
            s->program->name, points, klr_plural(points),
            validation_text(folds, text), cli_search_rows(s, SEARCH_COARSE), n);
    if (other)
        fprintf(stderr, ", %zu with the other scale", other);
    if (fine_points(s))
        fprintf(stderr, ", then about %zu by %s on %zu rows", fine_points(s),
                validation_text(fine, text), cli_search_rows(s, SEARCH_FINE));
    fprintf(stderr, ": some %lld trainings\n",
            trainings(folds, points + other) + trainings(fine, fine_points(s)));
}

/* ---- The choice ---- */

void cli_search_tell_choice(const struct search *s)
{
    char gamma[48] = "", text[VALIDATION_SIZE];
    if (s->train->options.quiet || !s->count)
        return;
    const struct search_point *best = &s->point[s->best];
    const struct search_stage *stage = &s->stage[best->stage];
    if (!isnan(best->gamma))
        snprintf(gamma, sizeof gamma, "gamma = %.6g, ", best->gamma);
    fprintf(stderr,
            "%s: auto: scale %s, %sC = %.6g: %s %.6g by %s, of %zu points\n",
            s->program->name, klr_scale_names[s->train->options.scale], gamma,
            best->cost, klr_metric_names[s->metric],
            klr_metric_value(s->metric, &s->values[s->best]),
            validation_text(stage->folds, text), s->count);
}

/* ---- JSON ---- */

static void put_real(struct klr_text *text, const char *key, double value,
                     const char *after)
{
    char number[KLR_REAL_SIZE] = "null";
    if (isfinite(value))
        klr_format_real(number, value);
    klr_text_putf(text, "\"%s\": %s%s", key, number, after);
}

static void describe_point(const struct search *s, size_t t,
                           struct klr_text *text)
{
    const struct search_point *point = &s->point[t];
    const struct search_stage *stage = &s->stage[point->stage];
    klr_text_putf(text, "{\"scale\": \"%s\", ", klr_scale_names[stage->scale]);
    put_real(text, "gamma", point->gamma, ", ");
    put_real(text, "c", point->cost, ", ");
    klr_text_putf(text, "\"rows\": %zu, \"folds\": %lld, \"loo\": %s, ",
                  stage->problem->n,
                  stage->folds ? stage->folds : (long long)stage->problem->n,
                  stage->folds ? "false" : "true");
    put_real(text, "value", klr_metric_value(s->metric, &s->values[t]), "}");
}

int cli_search_describe(struct search *s, struct klr_error *err)
{
    struct cli_train *train = s->train;
    struct klr_text *text = &train->search_text;
    if (!s->count)
        return 0;
    klr_text_putf(text,
                  "\"auto\": {\"scale\": \"%s\", \"features\": \"%s\", "
                  "\"metric\": \"%s\", \"basis\": %s, \"best\": %zu, "
                  "\"points\": [",
                  klr_scale_names[train->options.scale],
                  klr_feature_kind_names[train->kind],
                  klr_metric_names[s->metric],
                  train->params.basis ? "true" : "false", s->best);
    for (size_t t = 0; t < s->count; t++) {
        klr_text_put(text, t ? ", " : "");
        describe_point(s, t, text);
    }
    klr_text_put(text, "]}, ");
    return text->failed ? klr_fail(err, KLR_E_MEMORY, "out of memory") : 0;
}
