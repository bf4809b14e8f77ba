/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What klr-train warns of before it trains: features that want scaling, and
 * classes that are too small for the folds.
 */
#include "cli/train/training_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

/* ---- The kernel ---- */

/* "by the default gamma " or "by gamma = 5 "; "" of a kernel without one. */
static void spread_cause(const struct klr_params *params, double gamma,
                         char text[CLI_POINT_SIZE])
{
    char number[KLR_REAL_SIZE];
    klr_format_real(number, gamma);
    if (params->kernel == KLR_LINEAR)
        *text = '\0';
    else if (isnan(gamma) || gamma == 0)
        snprintf(text, CLI_POINT_SIZE, "by the default gamma ");
    else
        snprintf(text, CLI_POINT_SIZE, "by gamma = %s ", number);
}

static void warn_spread(const struct cli_train *train,
                        const struct cli_program *program, const char *name)
{
    const struct klr_params *params = &train->params;
    const struct klr_reals *gamma = &params->gamma, *cost = &params->cost;
    const char *scale =
        train->options.scale ? "" : "scale the features (--scale), or ";
    char cause[CLI_POINT_SIZE], number[KLR_REAL_SIZE];
    switch (klr_problem_spread(&train->problem, params)) {
    case KLR_SPREAD_FAR:
        spread_cause(params, gamma->value[0], cause);
        cli_warn(program,
                 "%s: %sexamples are too far apart to tell of each other: "
                 "%schoose a smaller -g",
                 name, cause, scale);
        break;
    case KLR_SPREAD_NEAR:
        spread_cause(params, gamma->value[gamma->count - 1], cause);
        klr_format_real(number, cost->value[cost->count - 1]);
        cli_warn(program,
                 "%s: %sexamples are too near each other to be told apart at "
                 "C = %s: %schoose a larger %s-c",
                 name, cause, number, scale,
                 params->kernel == KLR_LINEAR ? "" : "-g or ");
        break;
    case KLR_SPREAD_SAME:
        cli_warn(program,
                 "%s: all examples have the same features: the model tells "
                 "nothing but how frequent the classes are",
                 name);
        break;
    default:
        break;
    }
}

/* ---- Folds ---- */

struct example {
    double label;
    size_t fold;
};

static int compare_examples(const void *a, const void *b)
{
    const struct example *x = a, *y = b;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return (x->fold > y->fold) - (x->fold < y->fold);
}

/* Classes with the same trouble: the first of them and its size. */
struct few {
    size_t classes, examples;
    double label;
};

static void few_add(struct few *few, double label, size_t examples)
{
    if (few->classes++ == 0) {
        few->label = label;
        few->examples = examples;
    }
}

static void few_warn(const struct few *few, const struct cli_train *train,
                     const struct cli_program *program, const char *trouble)
{
    char number[KLR_REAL_SIZE], others[64] = "";
    if (!few->classes)
        return;
    if (few->classes > 1)
        snprintf(others, sizeof others, "; and %zu more like it",
                 few->classes - 1);
    cli_warn(program, "%s: class %s has %zu example%s, %s%s",
             cli_input_name(train->data),
             klr_label_text(train->problem.names, few->label, number),
             few->examples, klr_plural(few->examples), trouble, others);
}

/* Examples sorted by class and, where folds are given, by fold. */
static struct example *sort_examples(const struct cli_train *train,
                                     struct klr_error *err)
{
    size_t n = train->problem.n;
    const size_t *fold = train->params.fold;
    struct example *example = klr_alloc(n, sizeof *example, err);
    for (size_t i = 0; example && i < n; i++)
        example[i] = (struct example){.label = train->problem.label[i],
                                      .fold = fold ? fold[i] : 0};
    if (example)
        qsort(example, n, sizeof *example, compare_examples);
    return example;
}

/* Warn of classes that lie in one fold alone, so that its training part lacks
 * them, and of classes that do not reach every fold that was dealt, unless each
 * example is its own fold. */
static int warn_folds(const struct cli_train *train,
                      const struct cli_program *program, struct klr_error *err)
{
    struct few lacking = {0}, fewer = {0};
    size_t n = train->problem.n, folds = (size_t)train->params.folds;
    struct example *example;
    if (!folds || folds > n)
        return 0;
    if (!(example = sort_examples(train, err)))
        return KLR_E_MEMORY;
    for (size_t i = 0, next; i < n; i = next) {
        double label = example[i].label;
        for (next = i; next < n && example[next].label == label; next++)
            ;
        bool given = train->params.fold;
        if (given ? example[i].fold == example[next - 1].fold : next - i == 1)
            few_add(&lacking, label, next - i);
        else if (!given && next - i < folds && folds < n)
            few_add(&fewer, label, next - i);
    }
    klr_free(example);
    few_warn(&lacking, train, program,
             "in one fold alone: the model that is asked about it has not "
             "seen the class");
    few_warn(&fewer, train, program, "fewer than there are folds");
    return 0;
}

/* ---- Time ---- */

const char *cli_train_time(double seconds, char text[CLI_TIME_SIZE])
{
    double minutes = ceil(seconds / 60), hours = minutes / 60;
    if (minutes < 90)
        snprintf(text, CLI_TIME_SIZE, "%.0f minute%s", minutes,
                 klr_plural((size_t)minutes));
    else if (hours < 36)
        snprintf(text, CLI_TIME_SIZE, "%.0f hours", hours);
    else
        snprintf(text, CLI_TIME_SIZE, "%.0f days", fmin(hours / 24, 1e9));
    return text;
}

/* Where a basis would save minutes. Training tells what is wrong with the data.
 */
static int warn_time(const struct cli_train *train,
                     const struct cli_program *program, struct klr_error *err)
{
    const double longest = 600, less = 0.5, short_work = 1e9;
    const struct klr_params *params = &train->params;
    double n = (double)train->problem.n;
    double work =
        n * n * (1 + (double)params->folds) * (double)klr_params_points(params);
    struct klr_forecast forecast;
    char all[CLI_TIME_SIZE], basis[CLI_TIME_SIZE];
    if (work < short_work || train->options.automatic)
        return 0;
    int code = klr_train_forecast(&train->problem, params, &forecast, err);
    if (!code && forecast.all > longest && forecast.basis < less * forecast.all)
        cli_warn(program,
                 "%s: %s of all %zu examples takes about %s; --basis auto "
                 "would take about %s",
                 cli_input_name(train->data), klr_model_names[params->model],
                 train->problem.n, cli_train_time(forecast.all, all),
                 cli_train_time(forecast.basis, basis));
    return code == KLR_E_MEMORY ? code : 0;
}

/* ---- All of them ---- */

int cli_train_warn_data(const struct cli_train *train,
                        const struct cli_program *program,
                        struct klr_error *err)
{
    const char *name = cli_input_name(train->data);
    if (train->problem.has_qid)
        cli_warn(program, "%s: qid is ignored", name);
    if (train->params.kernel != KLR_PRECOMPUTED &&
        klr_problem_has_serials(&train->problem))
        cli_warn(program,
                 "%s: feature 0 is the number of the example: -t precomputed "
                 "trains on a kernel matrix",
                 name);
    if (!train->options.automatic)
        warn_spread(train, program, name);
    int code = warn_folds(train, program, err);
    if (!code && !train->options.check_kernel)
        code = warn_time(train, program, err);
    return code;
}
