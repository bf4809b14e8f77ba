/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The training set of klr-train: read, scaled, its features named, and compared
 * with the files that tell something of each example.
 */
#include "cli/train/training_run.h"

#include "base/machine/system.h"
#include "base/numbers.h"
#include "cli/search/search.h"

/* A file, if there is one, has as many values as there are examples. */
static int check_count(const struct cli_train *train, const char *path,
                       size_t count, const char *what, struct klr_error *err)
{
    if (!path || count == train->problem.n)
        return 0;
    return klr_fail(err, KLR_E_DATA,
                    "%s of %zu example%s, but the data have %zu", what, count,
                    klr_plural(count), train->problem.n);
}

static int check_points(const struct cli_train *train, struct klr_error *err)
{
    const size_t *row = train->points.value;
    for (size_t i = 0; i < train->points.n; i++)
        if (row[i] >= train->problem.n)
            return klr_fail(err, KLR_E_DATA, "there is no example %zu of %zu",
                            row[i] + 1, train->problem.n);
    return 0;
}

/* Every feature has a name, if there are names. */
static int name_features(struct cli_train *train, struct klr_error *err)
{
    const struct klr_names *names = train->features;
    if (!names && train->from)
        names = klr_model_features(train->from);
    size_t count = klr_names_count(names);
    int dimension = train->problem.dimension;
    train->problem.features = names;
    if (!names || count >= (size_t)dimension)
        return 0;
    return klr_fail(err, KLR_E_DATA,
                    "%zu name%s, but the data have a feature %d", count,
                    klr_plural(count), dimension);
}

/* Files beside the data fit them. -1, or the exit status. */
static int check_files(struct cli_train *train,
                       const struct cli_program *program)
{
    const struct cli_train_options *options = &train->options;
    struct klr_error err;
    const char *file = options->folds_file;
    int code = check_count(train, file, train->folds.n, "folds", &err);
    if (!code) {
        file = options->weights;
        code = check_count(train, file, train->weights.n, "weights", &err);
    }
    if (!code) {
        file = options->points;
        code = check_points(train, &err);
    }
    if (!code) {
        file = train->features ? options->feature_names : options->from;
        code = name_features(train, &err);
    }
    return code ? cli_fail(program, file, &err) : -1;
}

/* While the data are read; `context` is a struct cli_train. */
static void tell_rows(unsigned long long rows, void *context)
{
    struct cli_train *train = context;
    cli_progress_rows(&train->progress, "rows read", rows,
                      klr_seconds() - train->seconds.begin);
}

/* Packed rows keep all values, others those that are not 0. */
static size_t values_kept(const struct klr_problem *problem)
{
    struct klr_features x = {
        .n = problem->n, .start = problem->start, .packed = problem->packed};
    return klr_features_count(&x);
}

/* Scale the features, unless a search is to choose how. Warn where zeros become
 * other values, and the features several times as many. */
static int scale_features(struct cli_train *train,
                          const struct cli_program *program,
                          struct klr_error *err)
{
    enum { TIMES = 8 };
    int scale = train->options.scale, code = 0;
    struct klr_problem *problem = &train->problem;
    size_t before = values_kept(problem);
    if (train->from)
        code = klr_problem_scale_as(problem, train->from, err);
    else if (scale != CLI_SCALE_AUTO)
        code = klr_problem_scale(problem, (enum klr_scale)scale, err);
    size_t after = values_kept(problem);
    if (!code && after / TIMES > before)
        cli_warn(program,
                 "%s: zeros are scaled too: %zu value%s before, %zu after; "
                 "sparse features are better left as they are",
                 cli_input_name(train->data), before, klr_plural(before),
                 after);
    return code;
}

int cli_train_read_data(struct cli_train *train,
                        const struct cli_program *program)
{
    struct klr_error err;
    double begin = train->seconds.begin = klr_seconds();
    int scale = train->options.scale, flags = KLR_READ_PACKED;
    if (train->models && (scale == KLR_SCALE_NONE || scale == CLI_SCALE_AUTO))
        flags |= KLR_READ_KEEP;
    if (train->params.string_labels)
        flags |= KLR_READ_NAMES;
    int code =
        klr_problem_read_told(&train->problem, train->data, flags,
                              train->params.threads, tell_rows, train, &err);
    cli_progress_end(&train->progress);
    if (code)
        return cli_train_fail(train, program, &err);
    if (cli_train_search_scale(train, &err) ||
        scale_features(train, program, &err))
        return cli_train_fail(train, program, &err);
    train->seconds.read = klr_seconds() - begin;
    int status = check_files(train, program);
    if (status >= 0)
        return status;
    if (!train->options.check_kernel &&
        klr_problem_check_labels(&train->problem, &err))
        return cli_train_fail(train, program, &err);
    if (cli_train_warn_data(train, program, &err) ||
        (!train->options.automatic && cli_train_describe(train, &err)))
        return cli_fail(program, NULL, &err);
    return -1;
}
