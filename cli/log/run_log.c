/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The log of a grid: docs/FORMAT.md, section 7. A line is written at once and
 * made durable before it counts; one that ends without a line feed was cut off,
 * and is taken back. Lines of the head may come again: logs of the parts of a
 * grid, one behind the other, are a log of it. So are those of its folds, whose
 * lines have what a fold adds to each C at a gamma and lambda. A training by
 * pairs of classes has a log, too: its lines have the machines of a pair.
 */
#include "cli/log/log_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

const char *cli_log_path(const struct cli_train *train)
{
    return train->options.part ? train->options.part : train->options.log;
}

static int fail_system(struct klr_error *err, const char *what)
{
    return klr_fail(err, KLR_E_IO, "%s: %s", what, strerror(errno));
}

int cli_log_check(const struct cli_train *train, const char *const *others,
                  size_t count, struct klr_error *err)
{
    const char *path = cli_log_path(train);
    struct stat status;
    int code = klr_output_check(path, others, count, err);
    if (code)
        return code;
    bool exists = stat(path, &status) == 0;
    if (klr_output_is_stdout(path) || (exists && !S_ISREG(status.st_mode)))
        return klr_fail(err, KLR_E_IO, "a log is a file");
    return !exists || !status.st_size || train->options.resume ||
                   train->options.part
               ? 0
               : klr_fail(err, KLR_E_IO,
                          "there is a log already: --resume goes on from it");
}

/* To the disk. */
static int log_sync(struct cli_log *log, struct klr_error *err)
{
    if (fflush(log->file) || fsync(fileno(log->file)))
        return fail_system(err, "cannot write the log");
    return 0;
}

size_t cli_log_row(const struct cli_log *log, double gamma)
{
    const struct klr_reals *all = &log->train->params.gamma;
    size_t row = 0;
    while (row < all->count && all->value[row] != gamma &&
           !(isnan(all->value[row]) && isnan(gamma)))
        row++;
    return row;
}

struct klr_part_result **cli_log_fold(const struct cli_log *log, double gamma,
                                      size_t lambda, size_t fold)
{
    size_t row = cli_log_row(log, gamma),
           lambdas = log->train->params.lambda.count;
    if (row == log->train->params.gamma.count || lambda >= lambdas ||
        fold >= log->folds)
        return NULL;
    return &log->fold[(row * lambdas + lambda) * log->folds + fold];
}

/* ---- What a run keeps and recalls ---- */

static int log_keep(double gamma, struct klr_results results, void *context,
                    struct klr_error *err)
{
    struct cli_log *log = context;
    cli_log_write_gamma(log, cli_log_row(log, gamma), results);
    return log_sync(log, err);
}

static bool log_recall(double gamma, struct klr_results results, void *context)
{
    const struct cli_log *log = context;
    size_t row = cli_log_row(log, gamma), points = log->points;
    if (row == log->train->params.gamma.count || !log->known[row])
        return false;
    memcpy(results.values, log->values + row * points,
           points * sizeof *results.values);
    memcpy(results.error, log->error + row * points,
           points * sizeof *results.error);
    memcpy(results.report, log->report + row * points,
           points * sizeof *results.report);
    return true;
}

static int log_keep_fold(double gamma, size_t lambda, size_t fold,
                         const struct klr_part_result *results, void *context,
                         struct klr_error *err)
{
    struct cli_log *log = context;
    cli_log_write_fold(log, gamma, lambda, fold, results);
    return log_sync(log, err);
}

static bool log_recall_fold(double gamma, size_t lambda, size_t fold,
                            const struct klr_part_result **results,
                            void *context)
{
    struct klr_part_result **place = cli_log_fold(context, gamma, lambda, fold);
    *results = place ? *place : NULL;
    return *results;
}

static int log_keep_pair(double gamma, size_t pair, size_t pairs,
                         const struct klr_part_result *results, void *context,
                         struct klr_error *err)
{
    struct cli_log *log = context;
    cli_log_write_pair(log, gamma, pair, pairs, results);
    return log_sync(log, err);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct kept_pair *p = a, *q = b;
    return (p->pair > q->pair) - (p->pair < q->pair);
}

static bool log_recall_pair(double gamma, size_t pair,
                            const struct klr_part_result **results,
                            void *context)
{
    const struct cli_log *log = context;
    const struct kept_pair wanted = {pair, NULL};
    const struct kept_pair *found =
        cli_log_row(log, gamma) > 0 || !log->pairs
            ? NULL
            : bsearch(&wanted, log->pair, log->pairs, sizeof wanted,
                      compare_pairs);
    *results = found ? found->results : NULL;
    return found;
}

/* ---- The log ---- */

static int log_create(struct cli_log *log, struct klr_error *err)
{
    size_t all = klr_params_points(&log->train->params);
    const struct klr_params *params = &log->train->params;
    size_t rows = params->gamma.count, size = sizeof *log->fold;
    log->folds = (size_t)params->folds;
    log->costs = params->cost.count;
    log->cells = rows * params->lambda.count;
    log->points = all / rows;
    if (!(log->fold = klr_zalloc(log->cells, (log->folds + 1) * size, err)) ||
        !(log->values = klr_zalloc(all, sizeof *log->values, err)) ||
        !(log->error = klr_zalloc(all, sizeof *log->error, err)) ||
        !(log->report = klr_zalloc(all, sizeof *log->report, err)))
        return KLR_E_MEMORY;
    int file = open(cli_log_path(log->train),
                    O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0)
        return fail_system(err, "cannot open the log");
    if (!(log->file = fdopen(file, "a"))) {
        close(file);
        return fail_system(err, "cannot open the log");
    }
    if (flock(file, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return klr_fail(err, KLR_E_IO, "another run writes this log");
    return 0;
}

/* Pairs ascending, each once. */
static void log_sort_pairs(struct cli_log *log)
{
    size_t kept = 0;
    if (log->pairs > 0)
        qsort(log->pair, log->pairs, sizeof *log->pair, compare_pairs);
    for (size_t i = 0; i < log->pairs; i++)
        if (i > 0 && log->pair[i].pair == log->pair[kept - 1].pair)
            klr_part_results_free(log->pair[i].results, log->costs);
        else
            log->pair[kept++] = log->pair[i];
    log->pairs = kept;
}

/* Close *out in any case. A last line that was not written whole is cut off. */
static int log_open(struct cli_log **out, const struct cli_train *train,
                    struct klr_error *err)
{
    struct cli_log *log = *out = klr_zalloc(1, sizeof *log, err);
    off_t end = 0;
    if (!log)
        return KLR_E_MEMORY;
    log->train = train;
    int code = log_create(log, err);
    if (!code)
        code = cli_log_read(log, &end, err);
    log_sort_pairs(log);
    if (code)
        return code;
    if (ftruncate(fileno(log->file), end))
        return fail_system(err, "cannot write the log");
    if (end > 0)
        return 0;
    cli_log_write_head(log);
    return log_sync(log, err);
}

static struct cli_log *log_close(struct cli_log *log)
{
    if (!log)
        return NULL;
    if (log->file)
        fclose(log->file);
    for (size_t f = 0; log->fold && f < log->cells * log->folds; f++)
        klr_part_results_free(log->fold[f], log->costs);
    for (size_t p = 0; p < log->pairs; p++)
        klr_part_results_free(log->pair[p].results, log->costs);
    klr_free(log->fold);
    klr_free(log->pair);
    klr_free(log->values);
    klr_free(log->error);
    klr_free(log->report);
    return klr_free(log);
}

/* How many gammas of this grid, or pairs, the log has. */
static size_t log_count(const struct cli_log *log)
{
    size_t count = log->pairs;
    for (size_t g = 0; g < KLR_REALS_MOST; g++)
        count += log->known[g];
    return count;
}

static struct klr_journal log_journal(struct cli_log *log)
{
    const struct cli_train *train = log->train;
    if (!klr_params_validate(&train->params))
        return (struct klr_journal){.context = log,
                                    .only_pair =
                                        (size_t)train->options.only_pair,
                                    .recall_pair = log_recall_pair,
                                    .keep_pair = log_keep_pair};
    return (struct klr_journal){.recall = log_recall,
                                .keep = log_keep,
                                .context = log,
                                .only = (size_t)train->options.only_fold,
                                .recall_fold = log_recall_fold,
                                .keep_fold = log_keep_fold};
}

/* ---- A run with it ---- */

static void tell_resumed(const struct cli_program *program,
                         const struct cli_log *log)
{
    size_t known = log_count(log);
    size_t gammas = log->train->params.gamma.count;
    fprintf(stderr, "%s: ", program->name);
    cli_print_visibly(stderr, cli_log_path(log->train));
    if (klr_params_validate(&log->train->params))
        fprintf(stderr, " has %zu of %zu gamma%s\n", known, gammas,
                klr_plural(gammas));
    else
        fprintf(stderr, " has %zu pair%s of classes\n", known,
                klr_plural(known));
}

int cli_log_run(struct cli_train *train, const struct cli_program *program,
                int step(struct cli_train *train,
                         const struct cli_program *program))
{
    const char *path = cli_log_path(train);
    struct klr_error err;
    struct cli_log *log = NULL;
    if (!path)
        return step(train, program);
    if (log_open(&log, train, &err)) {
        log_close(log);
        return cli_fail(program, path, &err);
    }
    struct klr_journal journal = log_journal(log);
    train->params.journal = &journal;
    train->params.part = train->options.part != NULL;
    if (log_count(log) > 0 && !train->options.quiet)
        tell_resumed(program, log);
    int status = step(train, program);
    train->params.journal = NULL;
    log_close(log);
    return status;
}
