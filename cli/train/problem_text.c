/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The problem that is validated, as the members of a JSON object: the version,
 * data and files by their hashes, and the options. Options that change no
 * result are left out, and so is gamma: each has results of its own.
 */
#include "cli/train/training_run.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

bool cli_is_listed(const char *name, const char *const *list)
{
    while (*list && strcmp(name, *list) != 0)
        list++;
    return *list;
}

/* True for an option that changes the results of a gamma and is told in any
 * case, or was given. */
static bool is_told(const struct klr_option *option, const void *base)
{
    static const char *const aside[] = {"gamma",  "memory",       "threads",
                                        "metric", "lambda-bound", "time-limit",
                                        NULL};
    static const char *const usual[] = {"model",    "kernel", "cost",
                                        "validate", "seed",   NULL};
    return !cli_is_listed(option->name, aside) &&
           (cli_is_listed(option->name, usual) ||
            klr_option_is_given(option, base));
}

static void put_option(struct klr_text *text, const struct klr_option *option,
                       const void *base)
{
    struct klr_text value = {0};
    klr_text_putf(text, ", \"%s\": ", option->name);
    if (option->type == KLR_FLAG) {
        klr_text_put(text, "true");
        return;
    }
    klr_option_put(option, base, &value);
    klr_text_put_json(text, value.text ? value.text : "");
    text->failed = text->failed || value.failed;
    klr_free(value.text);
}

static void put_hash(struct klr_text *text, const char *key, const void *data,
                     size_t bytes)
{
    char hash[KLR_HASH_SIZE];
    if (!bytes)
        return;
    klr_hash_text(hash, klr_hash(0, data, bytes));
    klr_text_putf(text, ", \"%s\": \"%s\"", key, hash);
}

/* The member of a -wLABEL. */
static void put_weight(struct klr_text *text, const struct klr_weight *weight)
{
    struct klr_text key = {0};
    char number[KLR_REAL_SIZE];
    klr_format_real(number, weight->weight);
    klr_text_put(&key, "-w");
    klr_text_put(&key, weight->label);
    klr_text_put(text, ", ");
    klr_text_put_json(text, key.text ? key.text : "");
    klr_text_putf(text, ": \"%s\"", number);
    text->failed = text->failed || key.failed;
    klr_free(key.text);
}

static void put_files(struct klr_text *text, const struct cli_train *train)
{
    const struct cli_train_options *options = &train->options;
    const char *const path[] = {options->weights, options->feature_names,
                                options->points, options->folds_file};
    static const char *const name[] = {"weights", "feature-names", "points",
                                       "folds-file"};
    klr_text_put(text, "\"training_set\": ");
    klr_text_put_json(text, train->data);
    for (size_t i = 0; i < sizeof path / sizeof *path; i++)
        if (path[i]) {
            klr_text_putf(text, ", \"%s\": ", name[i]);
            klr_text_put_json(text, path[i]);
        }
}

int cli_train_describe(struct cli_train *train, struct klr_error *err)
{
    struct klr_text *text = &train->problem_text;
    char hash[KLR_HASH_SIZE];
    klr_hash_text(hash, train->problem.hash);
    klr_text_putf(text,
                  "\"version\": \"%s\", \"n\": %zu, \"data\": \"%s\", "
                  "\"scale\": \"%s\"",
                  KLR_VERSION, train->problem.n, hash,
                  klr_scale_names[train->options.scale]);
    for (const struct klr_option *option = klr_train_options; option->name;
         option++)
        if (is_told(option, &train->params))
            put_option(text, option, &train->params);
    for (size_t i = 0; i < train->params.n_weights; i++)
        put_weight(text, &train->params.weight[i]);
    put_hash(text, "weights", train->weights.value,
             train->weights.n * sizeof(double));
    put_hash(text, "folds-file", train->folds.fold,
             train->folds.n * sizeof *train->folds.fold);
    put_hash(text, "points", train->points.value,
             train->points.n * sizeof(size_t));
    put_files(&train->files_text, train);
    return text->failed || train->files_text.failed
               ? klr_fail(err, KLR_E_MEMORY, "out of memory")
               : 0;
}

/* A slice of a text. */
struct part {
    const char *text, *end;
};

/* A member of an object of numbers and strings: "key": value. */
struct member {
    struct part key, value; /* with their quotes */
};

static bool same(struct part a, struct part b)
{
    size_t length = (size_t)(a.end - a.text);
    return length == (size_t)(b.end - b.text) &&
           memcmp(a.text, b.text, length) == 0;
}

static struct part unquoted(struct part part)
{
    bool quoted = part.end - part.text >= 2 && *part.text == '"';
    return (struct part){part.text + quoted, part.end - quoted};
}

/* The string or number at `text`. */
static struct part part_at(const char *text)
{
    const char *end = text;
    bool quoted = *text == '"';
    for (end += quoted; *end && (quoted ? *end != '"' : *end != ','); end++)
        end += *end == '\\' && end[1];
    return (struct part){text, end + (quoted && *end)};
}

/* The member at *at, which is moved to the next one; false at the end. */
static bool next_member(const char **at, struct member *member)
{
    if (!**at)
        return false;
    member->key = part_at(*at);
    member->value.text = member->value.end = member->key.end;
    if (strncmp(member->key.end, ": ", 2) == 0)
        member->value = part_at(member->key.end + 2);
    *at = member->value.end;
    *at += strspn(*at, ", ");
    return member->value.end > member->key.end;
}

static bool find_member(const char *text, struct part key,
                        struct member *member)
{
    while (next_member(&text, member))
        if (same(member->key, key))
            return true;
    return false;
}

/* Find the first member of one text that another lacks or has otherwise;
 * `reversed`: the other text is ours. */
static bool differs(const char *one, const char *another, bool reversed,
                    char text[CLI_DIFFERENCE_SIZE])
{
    static const char missing[] = "not given";
    struct member a, b;
    while (next_member(&one, &a)) {
        if (!find_member(another, a.key, &b))
            b.value = (struct part){missing, missing + sizeof missing - 1};
        if (same(a.value, b.value))
            continue;
        struct part there = unquoted(reversed ? b.value : a.value);
        struct part here = unquoted(reversed ? a.value : b.value);
        struct part key = unquoted(a.key);
        snprintf(text, CLI_DIFFERENCE_SIZE, "%.*s is %.*s, here %.*s",
                 (int)(key.end - key.text), key.text,
                 (int)(there.end - there.text), there.text,
                 (int)(here.end - here.text), here.text);
        return true;
    }
    return false;
}

bool cli_train_difference(const char *other, const char *ours,
                          char text[CLI_DIFFERENCE_SIZE])
{
    return differs(other, ours, false, text) ||
           differs(ours, other, true, text);
}
