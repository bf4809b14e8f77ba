/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options that stand in no field of a table: weights of classes; and those of
 * the model that --from names, which is to be made smaller as it was trained.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "cli/train/training_run.h"

int cli_train_take_weight(const char *name, const char *value, void *context,
                          struct klr_error *err)
{
    struct cli_train *train = context;
    struct klr_params *params = &train->params;
    struct klr_weight weight = {.label = name + 1};
    char quoted[KLR_QUOTED_SIZE];
    if (!*weight.label)
        return klr_fail(err, KLR_E_USAGE,
                        "option -w: write the label directly after it, as in "
                        "-w-1 2");
    if (!klr_read_real(value, &weight.weight))
        return klr_fail(err, KLR_E_USAGE, "option -%.40s: %s is not a number",
                        name, klr_quote(quoted, value));
    if (KLR_GROW(params->weight, train->weight_capacity, params->n_weights + 1,
                 err))
        return KLR_E_MEMORY;
    params->weight[params->n_weights++] = weight;
    return 0;
}

/* ---- the options of a model ---- */

enum { CLI_OPTION_SIZE = 40 };

/* On the command line, be it the default. */
static bool is_given(const struct cli_train *train, const char *name)
{
    char word[CLI_OPTION_SIZE];
    snprintf(word, sizeof word, " %s ", name);
    return train->given.text && strstr(train->given.text, word);
}

/* An option that the model fixes: what is given must be the same. */
static int check_same(const struct cli_train *train,
                      const struct klr_option *option, const char *value,
                      struct klr_error *err)
{
    struct klr_params model;
    struct klr_text ours = {0}, theirs = {0};
    klr_params_init(&model);
    int code = klr_option_read(option, value, &model, err);
    klr_option_put(option, &train->params, &ours);
    klr_option_put(option, &model, &theirs);
    if (!ours.text || !theirs.text)
        code = klr_fail(err, KLR_E_MEMORY, "out of memory");
    else if (!code && strcmp(ours.text, theirs.text) != 0)
        code = klr_fail(err, KLR_E_USAGE,
                        "option --%s: the model (--from) has %s, not %s",
                        option->name, theirs.text, ours.text);
    klr_free(ours.text);
    klr_free(theirs.text);
    return code;
}

/* "gamma", "0.5" of the model; texts that stay. */
static int take_option(struct cli_train *train, const char *name,
                       const char *value, bool weights, struct klr_error *err)
{
    static const char *const fixed[] = {"model", "kernel", "degree",
                                        "gamma", "coef0",  NULL};
    static const char *const problem[] = {
        "string-labels", "cost",       "lambda",      "box",   "no-bias",
        "positive",      "link",       "calibrate",   "prior", "prior-correct",
        "balance",       "multiclass", "regularizer", NULL};
    const struct klr_option *option = klr_option_find(klr_train_options, name);
    if (!option)
        return weights && name[0] == 'w'
                   ? cli_train_take_weight(name, value, train, err)
                   : 0;
    bool given = is_given(train, name);
    if (given && cli_is_listed(name, fixed))
        return check_same(train, option, value, err);
    if (given || !(cli_is_listed(name, fixed) || cli_is_listed(name, problem)))
        return 0;
    return klr_option_read(option, value, &train->params, err);
}

/* Words "name=value". A label may have a "=" in it, its weight has none. */
static int take_options(struct cli_train *train, char *text,
                        struct klr_error *err)
{
    bool weights = train->params.n_weights == 0;
    int code = 0;
    while (!code && *text) {
        char *end = text + strcspn(text, " "), *next = end + (*end == ' ');
        *end = '\0';
        char *equals = strchr(text, '=');
        if (equals) {
            *equals = '\0';
            if (!klr_option_find(klr_train_options, text)) {
                *equals = '=';
                equals = strrchr(text, '=');
                *equals = '\0';
            }
            code = take_option(train, text, equals + 1, weights, err);
        }
        text = next;
    }
    return code;
}

/* ---- what does not go with --from ---- */

/* The first option that is given and none of the list; NULL: there is none. */
static const char *find_other(const struct cli_train *train,
                              const char *const *list)
{
    for (const struct klr_option *option = klr_train_options; option->name;
         option++)
        if (is_given(train, option->name) && !cli_is_listed(option->name, list))
            return option->name;
    if (train->params.n_weights)
        return "w";
    return train->options.weights         ? "weights"
           : train->options.feature_names ? "feature-names"
           : train->options.sv_indices    ? "sv-indices"
                                          : NULL;
}

/* Options of a training, where the model is but projected. */
static int check_projected(const struct cli_train *train, bool trains,
                           struct klr_error *err)
{
    static const char *const used[] = {
        "model", "kernel", "degree", "gamma",   "coef0",      "string-labels",
        "basis", "seed",   "memory", "threads", "time-limit", NULL};
    const char *other = trains ? NULL : find_other(train, used);
    if (!other)
        return 0;
    return klr_fail(err, KLR_E_USAGE,
                    "option -%s%s: only klr and sklr are trained again, other "
                    "models (--from) are projected as they are",
                    strcmp(other, "w") == 0 ? "" : "-", other);
}

static int check_others(const struct cli_train *train, struct klr_error *err)
{
    const struct cli_train_options *o = &train->options;
    const char *other = o->automatic                 ? "auto"
                        : o->check_kernel            ? "check-kernel"
                        : o->scale != KLR_SCALE_NONE ? "scale"
                                                     : NULL;
    if (!other)
        return 0;
    return klr_fail(err, KLR_E_USAGE,
                    "--from and --%s exclude each other: the model has its "
                    "own",
                    other);
}

int cli_train_take_model(struct cli_train *train, struct klr_error *err)
{
    int code = check_others(train, err);
    if (!code)
        code = klr_model_load(&train->from, train->options.from, err);
    if (!code)
        code = klr_model_options(train->from, &train->from_text, err);
    if (code)
        return code;
    bool trains = strncmp(train->from_text.text, "model=klr ", 10) == 0 ||
                  strncmp(train->from_text.text, "model=sklr ", 11) == 0;
    code = check_projected(train, trains, err);
    return code ? code : take_options(train, train->from_text.text, err);
}
