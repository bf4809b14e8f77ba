/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a model came to be, as it says itself: the version, hashes of its data
 * and weights, and the options as they were settled. Those that it says by keys
 * of their own are left out, and those that change no model.
 */
#include "solver/train/train.h"

static bool is_listed(const char *name, const char *const *list)
{
    while (*list && strcmp(name, *list) != 0)
        list++;
    return *list;
}

static bool option_is_said(const struct klr_option *option,
                           const struct klr_params *params)
{
    static const char *const aside[] = {
        "model",   "cost",   "lambda",   "box",          "kernel",
        "degree",  "gamma",  "coef0",    "epsilon",      "algorithm",
        "no-bias", "memory", "threads",  "time-limit",   "validate",
        "loo",     "metric", "sparsest", "lambda-bound", "string-labels",
        NULL};
    static const char *const greedy[] = {"candidates", "window", NULL};
    return klr_option_is_given(option, params) &&
           !is_listed(option->name, aside) &&
           (system_of(params, NULL)->chooses ||
            !is_listed(option->name, greedy));
}

/* "link=sigma seed=2 w1=5". */
static void put_options(struct klr_text *text, const struct klr_params *settled)
{
    struct klr_params params = *settled;
    char number[KLR_REAL_SIZE];
    if (params.candidates == LLONG_MAX)
        params.candidates = 0;
    for (const struct klr_option *option = klr_train_options; option->name;
         option++)
        if (option_is_said(option, settled)) {
            klr_text_putf(text, "%s%s=", text->length ? " " : "", option->name);
            klr_option_put(option, &params, text);
        }
    for (size_t i = 0; i < params.n_weights; i++) {
        klr_format_real(number, params.weight[i].weight);
        klr_text_put(text, text->length ? " w" : "w");
        klr_text_put(text, params.weight[i].label);
        klr_text_putf(text, "=%s", number);
    }
}

static int say_hash(struct klr_model *model, enum model_saying saying,
                    uint64_t hash, struct klr_error *err)
{
    char text[KLR_HASH_SIZE];
    klr_hash_text(text, hash);
    return model_say(model, saying, text, err);
}

static int model_describe(struct klr_model *model,
                          const struct klr_problem *problem,
                          const struct klr_params *params,
                          struct klr_error *err)
{
    struct klr_text options = {0};
    const double *weight = params->example_weight;
    model->record.examples = problem->n;
    int code = model_say(model, SAYS_VERSION, KLR_VERSION, err);
    if (!code && problem->hash)
        code = say_hash(model, SAYS_DATA, problem->hash, err);
    if (!code && weight)
        code = say_hash(model, SAYS_WEIGHTS,
                        klr_hash(0, weight, problem->n * sizeof *weight), err);
    put_options(&options, params);
    if (!code && options.failed)
        code = klr_fail(err, KLR_E_MEMORY, "out of memory");
    if (!code && options.length)
        code = model_say(model, SAYS_OPTIONS, options.text, err);
    klr_free(options.text);
    return code;
}
