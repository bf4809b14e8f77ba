/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines of a log as they are read.
 */
#include "cli/log/log_parts.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* True if a report can have these numbers. */
static bool numbers_fit(const double number[LOG_NUMBERS])
{
    const double most = 9007199254740992; /* 2^53 */
    bool fit = number[0] >= 0 && number[0] <= KLR_INTERRUPTED &&
               number[1] >= 0 && number[1] <= KLR_DOUBT_INDEFINITE &&
               number[2] >= 0 && number[2] <= most && number[6] >= 0 &&
               number[6] <= most;
    for (size_t i = OF_REPORT; i < LOG_NUMBERS; i += OF_NOTE)
        fit = fit && number[i] >= 0 && number[i] <= KLR_NOTE_POINTS &&
              number[i + 3] >= 0 && number[i + 3] <= most;
    return fit;
}

static void numbers_report(const double number[LOG_NUMBERS],
                           struct klr_report *report)
{
    const double *next = number + OF_REPORT;
    report->machines = (enum klr_status)number[0];
    report->doubt = (enum klr_doubt)number[1];
    report->n_sv = (size_t)number[2];
    report->gap = number[3];
    report->fall = number[4];
    report->size = number[5];
    report->notes = (size_t)number[6];
    for (size_t i = 0; i < KLR_NOTES; i++, next += OF_NOTE)
        report->note[i] =
            (struct klr_note){(enum klr_note_kind)next[0], next[1], next[2],
                              (size_t)next[3], next[4] != 0};
}

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
    size_t row = cli_log_row(log, gamma), first = row * log->points;
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
        *read ? cli_log_fold(log, gamma, (size_t)lambda - 1, (size_t)fold - 1)
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
    if (!*read || cli_log_row(log, gamma) > 0)
        return 0;
    if (KLR_GROW(log->pair, log->room, log->pairs + 1, err))
        return KLR_E_MEMORY;
    struct kept_pair *place = &log->pair[log->pairs++];
    place->pair = (size_t)pair - 1;
    return read_results(log, &line, "numbers", true, &place->results, read,
                        err);
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

int cli_log_read(struct cli_log *log, off_t *end, struct klr_error *err)
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
    return code ? code : got < 0 ? -got : 0;
}
