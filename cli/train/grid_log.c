/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The log of a grid: docs/FORMAT.md, section 7. A line is written at once and
 * made durable before it counts; one that ends without a line feed was cut off,
 * and is taken back. Lines of the head may come again: logs of the parts of a
 * grid, one behind the other, are a log of it. So are those of its folds, whose
 * lines have what a fold adds to each C at a gamma and lambda. A training by
 * pairs of classes has a log, too: its lines have the machines of a pair.
 */
#include "cli/train/training_run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

/* The head of a log, around what it is about. */
static const char head_begin[] = "{\"klr_log\": 1, \"problem\": {";
static const char head_files[] = "}, \"files\": {";

struct kept_pair {
    size_t pair;
    struct klr_part_result *results; /* (costs) owned */
};

struct cli_log {
    const struct cli_train *train;
    FILE *file;
    size_t points; /* of a gamma */
    bool known[KLR_REALS_MOST];
    struct klr_metric_values *values, *error; /* (gammas, points) */
    struct klr_report *report;                /* (gammas, points) */
    size_t costs, folds, cells;               /* gammas times lambdas */
    struct klr_part_result **fold; /* (cells, folds) owned, of (costs) results;
                                      NULL: not known */
    size_t pairs, room;
    struct kept_pair *pair; /* (pairs) ascending */
};

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

/* ---- Numbers of a report ---- */

enum { LOG_NUMBERS = 7 + 5 * KLR_NOTES };

/* The numbers kept of a point besides its values. */
static void report_numbers(const struct klr_report *report,
                           double number[LOG_NUMBERS])
{
    double *next = number + 7;
    number[0] = report->machines;
    number[1] = report->doubt;
    number[2] = (double)report->n_sv;
    number[3] = report->gap;
    number[4] = report->fall;
    number[5] = report->size;
    number[6] = (double)report->notes;
    for (size_t i = 0; i < KLR_NOTES; i++, next += 5) {
        const struct klr_note *note = &report->note[i];
        next[0] = note->kind;
        next[1] = note->first;
        next[2] = note->second;
        next[3] = (double)note->fold;
        next[4] = note->part;
    }
}

/* True if a report can have these numbers. */
static bool numbers_fit(const double number[LOG_NUMBERS])
{
    const double most = 9007199254740992; /* 2^53 */
    bool fit = number[0] >= 0 && number[0] <= KLR_INTERRUPTED &&
               number[1] >= 0 && number[1] <= KLR_DOUBT_INDEFINITE &&
               number[2] >= 0 && number[2] <= most && number[6] >= 0 &&
               number[6] <= most;
    for (size_t i = 7; i < LOG_NUMBERS; i += 5)
        fit = fit && number[i] >= 0 && number[i] <= KLR_NOTE_POINTS &&
              number[i + 3] >= 0 && number[i + 3] <= most;
    return fit;
}

static void numbers_report(const double number[LOG_NUMBERS],
                           struct klr_report *report)
{
    const double *next = number + 7;
    report->machines = (enum klr_status)number[0];
    report->doubt = (enum klr_doubt)number[1];
    report->n_sv = (size_t)number[2];
    report->gap = number[3];
    report->fall = number[4];
    report->size = number[5];
    report->notes = (size_t)number[6];
    for (size_t i = 0; i < KLR_NOTES; i++, next += 5)
        report->note[i] =
            (struct klr_note){(enum klr_note_kind)next[0], next[1], next[2],
                              (size_t)next[3], next[4] != 0};
}

/* ---- Lines out ---- */

static void write_array(FILE *out, const char *key, const double *number,
                        size_t count)
{
    char text[KLR_REAL_SIZE];
    fprintf(out, ", \"%s\": [", key);
    for (size_t i = 0; i < count; i++) {
        if (isfinite(number[i]))
            klr_format_real(text, number[i]);
        fprintf(out, "%s%s", i ? ", " : "",
                isfinite(number[i]) ? text : "null");
    }
    fputc(']', out);
}

static void write_numbers(FILE *out, const struct klr_report *report)
{
    double number[LOG_NUMBERS];
    size_t notes =
        report->notes < KLR_NOTES ? report->notes : (size_t)KLR_NOTES;
    report_numbers(report, number);
    write_array(out, "report", number, 7 + 5 * notes);
    fputc('}', out);
}

static void write_gamma(FILE *out, const struct klr_params *params, size_t row,
                        struct klr_results results)
{
    size_t points = params->lambda.count * params->cost.count;
    fputc('{', out);
    cli_write_json_real(out, "gamma", params->gamma.value[row],
                        ", \"values\": [");
    for (size_t t = 0; t < points; t++) {
        struct klr_params one = klr_params_point(params, row * points + t);
        fputs(t ? ", " : "", out);
        cli_train_write_point(out, &one, &results.report[t], &results.values[t],
                              &results.error[t]);
        write_numbers(out, &results.report[t]);
    }
    fputs("]}\n", out);
}

/* The values of a line, C by C, and the end of it. `key` has their numbers. */
static void write_results(FILE *out, const struct klr_params *params,
                          const char *key,
                          const struct klr_part_result *results)
{
    char text[KLR_REAL_SIZE];
    fputs(", \"values\": [", out);
    for (size_t t = 0; t < params->cost.count; t++) {
        klr_format_real(text, params->cost.value[t]);
        fprintf(out, "%s{\"status\": \"%s\", \"c\": %s", t ? ", " : "",
                klr_status_names[results[t].report.status], text);
        write_array(out, key, results[t].number, results[t].count);
        write_numbers(out, &results[t].report);
    }
    fputs("]}\n", out);
}

static void write_fold(FILE *out, const struct klr_params *params, double gamma,
                       size_t lambda, size_t fold,
                       const struct klr_part_result *results)
{
    fputc('{', out);
    cli_write_json_real(out, "gamma", gamma, "");
    fprintf(out, ", \"lambda_number\": %zu, \"fold\": %zu", lambda + 1,
            fold + 1);
    write_results(out, params, "sums", results);
}

static void write_pair(FILE *out, const struct klr_params *params, double gamma,
                       size_t pair, size_t pairs,
                       const struct klr_part_result *results)
{
    fputc('{', out);
    cli_write_json_real(out, "gamma", gamma, "");
    fprintf(out, ", \"pair\": %zu, \"pairs\": %zu", pair + 1, pairs);
    write_results(out, params, "numbers", results);
}

/* To the disk. */
static int log_sync(struct cli_log *log, struct klr_error *err)
{
    if (fflush(log->file) || fsync(fileno(log->file)))
        return fail_system(err, "cannot write the log");
    return 0;
}

/* Where a gamma stands among those of the grid, or their count. */
static size_t log_row(const struct cli_log *log, double gamma)
{
    const struct klr_reals *all = &log->train->params.gamma;
    size_t row = 0;
    while (row < all->count && all->value[row] != gamma &&
           !(isnan(all->value[row]) && isnan(gamma)))
        row++;
    return row;
}

static int log_keep(double gamma, struct klr_results results, void *context,
                    struct klr_error *err)
{
    struct cli_log *log = context;
    write_gamma(log->file, &log->train->params, log_row(log, gamma), results);
    return log_sync(log, err);
}

static bool log_recall(double gamma, struct klr_results results, void *context)
{
    const struct cli_log *log = context;
    size_t row = log_row(log, gamma), points = log->points;
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

/* The place of a fold, or NULL: the grid has no such one. */
static struct klr_part_result **
log_fold(const struct cli_log *log, double gamma, size_t lambda, size_t fold)
{
    size_t row = log_row(log, gamma), lambdas = log->train->params.lambda.count;
    if (row == log->train->params.gamma.count || lambda >= lambdas ||
        fold >= log->folds)
        return NULL;
    return &log->fold[(row * lambdas + lambda) * log->folds + fold];
}

static int log_keep_fold(double gamma, size_t lambda, size_t fold,
                         const struct klr_part_result *results, void *context,
                         struct klr_error *err)
{
    struct cli_log *log = context;
    write_fold(log->file, &log->train->params, gamma, lambda, fold, results);
    return log_sync(log, err);
}

static bool log_recall_fold(double gamma, size_t lambda, size_t fold,
                            const struct klr_part_result **results,
                            void *context)
{
    struct klr_part_result **place = log_fold(context, gamma, lambda, fold);
    *results = place ? *place : NULL;
    return *results;
}

static int log_keep_pair(double gamma, size_t pair, size_t pairs,
                         const struct klr_part_result *results, void *context,
                         struct klr_error *err)
{
    struct cli_log *log = context;
    write_pair(log->file, &log->train->params, gamma, pair, pairs, results);
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
        log_row(log, gamma) > 0 || !log->pairs
            ? NULL
            : bsearch(&wanted, log->pair, log->pairs, sizeof wanted,
                      compare_pairs);
    *results = found ? found->results : NULL;
    return found;
}

/* ---- Lines in ---- */

/* The rest of a line that is still to be read. */
struct cursor {
    const char *at, *end;
};

/* Past the next place where `text` stands; false if there is none. */
static bool skip_past(struct cursor *line, const char *text)
{
    size_t length = strlen(text);
    const char *found =
        memmem(line->at, (size_t)(line->end - line->at), text, length);
    if (found)
        line->at = found + length;
    return found;
}

static bool read_number(struct cursor *line, double *value)
{
    *value = (double)NAN;
    if (line->end - line->at >= 4 && memcmp(line->at, "null", 4) == 0) {
        line->at += 4;
        return true;
    }
    const char *end = klr_parse_real(line->at, line->end, value);
    line->at = end ? end : line->at;
    return end;
}

/* That of a key, the next one of this name. */
static bool read_member(struct cursor *line, const char *key, double *value)
{
    char text[48];
    snprintf(text, sizeof text, "\"%s\": ", key);
    return skip_past(line, text) && read_number(line, value);
}

static bool read_metrics(struct cursor *line, struct klr_metric_values *values)
{
    return read_member(line, "accuracy", &values->accuracy) &&
           read_member(line, "log_loss", &values->log_loss) &&
           read_member(line, "brier", &values->brier) &&
           read_member(line, "auc", &values->auc) &&
           read_member(line, "balanced_accuracy", &values->balanced) &&
           read_member(line, "f1", &values->f1) &&
           read_member(line, "mcc", &values->mcc) &&
           read_member(line, "ece", &values->ece);
}

static bool read_status(struct cursor *line, struct klr_report *report)
{
    if (!skip_past(line, "\"status\": \""))
        return false;
    for (int i = 0; klr_status_names[i]; i++) {
        size_t length = strlen(klr_status_names[i]);
        if ((size_t)(line->end - line->at) > length &&
            memcmp(line->at, klr_status_names[i], length) == 0 &&
            line->at[length] == '"') {
            report->status = (enum klr_status)i;
            return true;
        }
    }
    return false;
}

/* The next number of an array, of which there may be more. */
static bool read_next(struct cursor *line, double *value, bool *more)
{
    bool read = read_number(line, value);
    *more = read && line->end - line->at >= 2 && *line->at == ',';
    line->at += *more ? 2 : 0;
    return read && line->at < line->end && (*more || *line->at == ']');
}

static bool read_numbers(struct cursor *line, struct klr_report *report)
{
    double number[LOG_NUMBERS] = {0};
    bool more = skip_past(line, "\"report\": ["), read = more;
    for (size_t i = 0; more && i < LOG_NUMBERS; i++)
        read = read_next(line, &number[i], &more);
    if (!read || more || !numbers_fit(number))
        return false;
    numbers_report(number, report);
    return true;
}

/* A line of a gamma; one that is not of this grid is left out. */
static bool read_gamma(struct cli_log *log, struct cursor line)
{
    double gamma, cost;
    if (!read_member(&line, "gamma", &gamma))
        return false;
    size_t row = log_row(log, gamma), first = row * log->points;
    if (row == log->train->params.gamma.count)
        return true;
    for (size_t t = first; t < first + log->points; t++) {
        struct klr_params one = klr_params_point(&log->train->params, t);
        if (!read_status(&line, &log->report[t]) ||
            !read_member(&line, "c", &cost) || cost != one.cost.value[0] ||
            !read_metrics(&line, &log->values[t]) ||
            !skip_past(&line, "\"standard_error\": {") ||
            !read_metrics(&line, &log->error[t]) ||
            !read_numbers(&line, &log->report[t]))
            return false;
    }
    log->known[row] = true;
    return line.end - line.at == 4 && memcmp(line.at, "]}]}", 4) == 0;
}

/* *read tells whether there is such an array: of finite numbers, or of nulls,
 * too. */
static int read_array(struct cursor *line, const char *key, bool nulls,
                      struct klr_part_result *result, bool *read,
                      struct klr_error *err)
{
    char text[16];
    size_t capacity = 0;
    snprintf(text, sizeof text, "\"%s\": [", key);
    bool more = *read = skip_past(line, text);
    while (more) {
        if (KLR_GROW(result->number, capacity, result->count + 1, err))
            return KLR_E_MEMORY;
        double *value = &result->number[result->count++];
        *read = read_next(line, value, &more) && (nulls || isfinite(*value));
        more = more && *read;
    }
    return 0;
}

/* Results for each C, up to the end of the line, into *out. */
static int read_results(const struct cli_log *log, struct cursor *line,
                        const char *key, bool nulls,
                        struct klr_part_result **out, bool *read,
                        struct klr_error *err)
{
    const struct klr_params *params = &log->train->params;
    size_t count = params->cost.count;
    double cost;
    struct klr_part_result *results = *out =
        klr_zalloc(count, sizeof *results, err);
    int code = results ? 0 : KLR_E_MEMORY;
    *read = true;
    for (size_t t = 0; t < count && *read && !code; t++) {
        *read = read_status(line, &results[t].report) &&
                read_member(line, "c", &cost) && cost == params->cost.value[t];
        if (*read)
            code = read_array(line, key, nulls, &results[t], read, err);
        *read = *read && !code && read_numbers(line, &results[t].report);
    }
    *read =
        *read && line->end - line->at == 4 && memcmp(line->at, "]}]}", 4) == 0;
    return code;
}

/* Take the line of a fold, which *read tells; a line that is not of this grid,
 * or repeats one, is left out. */
static int read_fold(struct cli_log *log, struct cursor line, bool *read,
                     struct klr_error *err)
{
    double gamma, lambda, fold;
    *read = read_member(&line, "gamma", &gamma) &&
            read_member(&line, "lambda_number", &lambda) &&
            read_member(&line, "fold", &fold) && lambda >= 1 && fold >= 1 &&
            lambda <= KLR_REALS_MOST && fold <= (double)log->folds;
    struct klr_part_result **place =
        *read ? log_fold(log, gamma, (size_t)lambda - 1, (size_t)fold - 1)
              : NULL;
    if (!place || *place)
        return 0;
    return read_results(log, &line, "sums", false, place, read, err);
}

/* Take the line of a pair, likewise. */
static int read_pair(struct cli_log *log, struct cursor line, bool *read,
                     struct klr_error *err)
{
    double gamma, pair;
    *read = read_member(&line, "gamma", &gamma) &&
            read_member(&line, "pair", &pair) && pair >= 1 && pair <= 0x1p53;
    if (!*read || log_row(log, gamma) > 0)
        return 0;
    if (KLR_GROW(log->pair, log->room, log->pairs + 1, err))
        return KLR_E_MEMORY;
    struct kept_pair *place = &log->pair[log->pairs++];
    place->pair = (size_t)pair - 1;
    return read_results(log, &line, "numbers", true, &place->results, read,
                        err);
}

/* Ascending, each once. */
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

static bool has_key(struct cursor line, const char *key)
{
    return skip_past(&line, key);
}

/* A head that was cut off counts as far as it goes. */
static bool is_head(const struct klr_line *line)
{
    size_t begin = sizeof head_begin - 1;
    size_t length = (size_t)(line->end - line->text);
    if (!line->whole && length < begin)
        begin = length;
    return length >= begin && memcmp(line->text, head_begin, begin) == 0;
}

static int fail_foreign(const struct klr_line *line, struct klr_error *err)
{
    return klr_fail_at(err, KLR_E_DATA, line->number, 0,
                       "not a log of klr-train");
}

/* The line of the head is of this problem, else the error says why. */
static int check_head(const struct cli_log *log, const struct klr_line *line,
                      struct klr_error *err)
{
    char difference[CLI_DIFFERENCE_SIZE];
    const char *begin = line->text + sizeof head_begin - 1, *end = NULL;
    if (is_head(line))
        end = memmem(begin, (size_t)(line->end - begin), head_files,
                     sizeof head_files - 1);
    if (!end)
        return fail_foreign(line, err);
    size_t length = (size_t)(end - begin);
    char *other = klr_alloc(length + 1, 1, err);
    if (!other)
        return KLR_E_MEMORY;
    memcpy(other, begin, length);
    other[length] = '\0';
    bool differs =
        cli_train_difference(other, log->train->problem_text.text, difference);
    klr_free(other);
    return differs
               ? klr_fail_at(err, KLR_E_DATA, line->number, 0,
                             "the log is of another problem: %s", difference)
               : 0;
}

static int read_line(struct cli_log *log, const struct klr_line *line,
                     struct klr_error *err)
{
    struct cursor all = {line->text, line->end};
    if (line->number == 1 || is_head(line))
        return check_head(log, line, err);
    bool read = false, is_fold = has_key(all, "\"lambda_number\": ");
    bool is_pair = has_key(all, "\"pair\": ");
    int code = is_fold   ? read_fold(log, all, &read, err)
               : is_pair ? read_pair(log, all, &read, err)
                         : 0;
    if (code)
        return code;
    if (!read && (is_fold || is_pair || !read_gamma(log, all)))
        return klr_fail_at(err, KLR_E_DATA, line->number, 0,
                           "not a line of the log of this problem");
    return 0;
}

/* All lines; *end is where the last whole one ends. */
static int log_read(struct cli_log *log, off_t *end, struct klr_error *err)
{
    struct klr_input *input;
    struct klr_line line;
    int got = 1,
        code = klr_input_open(&input, cli_log_path(log->train), false, err);
    while (!code && (got = klr_input_line(input, &line, err)) == 1) {
        if (!line.whole)
            break;
        code = read_line(log, &line, err);
        *end = (off_t)line.offset + (line.end - line.text) + 1;
        *end += *line.end == '\r';
    }
    if (!code && got == 1 && line.number == 1 && !is_head(&line))
        code = fail_foreign(&line, err);
    klr_input_close(input);
    log_sort_pairs(log);
    return code ? code : got < 0 ? -got : 0;
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

int cli_log_open(struct cli_log **out, const struct cli_train *train,
                 struct klr_error *err)
{
    struct cli_log *log = *out = klr_zalloc(1, sizeof *log, err);
    off_t end = 0;
    if (!log)
        return KLR_E_MEMORY;
    log->train = train;
    int code = log_create(log, err);
    if (!code)
        code = log_read(log, &end, err);
    if (code)
        return code;
    if (ftruncate(fileno(log->file), end))
        return fail_system(err, "cannot write the log");
    if (end > 0)
        return 0;
    fprintf(log->file, "%s%s%s%s}}\n", head_begin, train->problem_text.text,
            head_files, train->files_text.text);
    return log_sync(log, err);
}

struct cli_log *cli_log_close(struct cli_log *log)
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

size_t cli_log_count(const struct cli_log *log)
{
    size_t count = log->pairs;
    for (size_t g = 0; g < KLR_REALS_MOST; g++)
        count += log->known[g];
    return count;
}

struct klr_journal cli_log_journal(struct cli_log *log)
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
    size_t known = cli_log_count(log);
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

int cli_train_logged(struct cli_train *train, const struct cli_program *program,
                     int step(struct cli_train *train,
                              const struct cli_program *program))
{
    const char *path = cli_log_path(train);
    struct klr_error err;
    struct cli_log *log = NULL;
    if (!path)
        return step(train, program);
    if (cli_log_open(&log, train, &err)) {
        cli_log_close(log);
        return cli_fail(program, path, &err);
    }
    struct klr_journal journal = cli_log_journal(log);
    train->params.journal = &journal;
    train->params.part = train->options.part != NULL;
    if (cli_log_count(log) > 0 && !train->options.quiet)
        tell_resumed(program, log);
    int status = step(train, program);
    train->params.journal = NULL;
    cli_log_close(log);
    return status;
}
