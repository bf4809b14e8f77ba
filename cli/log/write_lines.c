/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines of a log as they are written.
 */
#include "cli/log/log_parts.h"

#include <math.h>

static void report_numbers(const struct klr_report *report,
                           double number[LOG_NUMBERS])
{
    double *next = number + OF_REPORT;
    number[0] = report->machines;
    number[1] = report->doubt;
    number[2] = (double)report->n_sv;
    number[3] = report->gap;
    number[4] = report->fall;
    number[5] = report->size;
    number[6] = (double)report->notes;
    for (size_t i = 0; i < KLR_NOTES; i++, next += OF_NOTE) {
        const struct klr_note *note = &report->note[i];
        next[0] = note->kind;
        next[1] = note->first;
        next[2] = note->second;
        next[3] = (double)note->fold;
        next[4] = note->part;
    }
}

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
    write_array(out, "report", number, OF_REPORT + OF_NOTE * notes);
    fputc('}', out);
}

void cli_log_write_head(const struct cli_log *log)
{
    fprintf(log->file, "%s%s%s%s}}\n", head_begin,
            log->train->problem_text.text, head_files,
            log->train->files_text.text);
}

void cli_log_write_gamma(const struct cli_log *log, size_t row,
                         struct klr_results results)
{
    const struct klr_params *params = &log->train->params;
    FILE *out = log->file;
    size_t points = log->points;
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
static void write_results(const struct cli_log *log, const char *key,
                          const struct klr_part_result *results)
{
    const struct klr_params *params = &log->train->params;
    FILE *out = log->file;
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

void cli_log_write_fold(const struct cli_log *log, double gamma, size_t lambda,
                        size_t fold, const struct klr_part_result *results)
{
    fputc('{', log->file);
    cli_write_json_real(log->file, "gamma", gamma, "");
    fprintf(log->file, ", \"lambda_number\": %zu, \"fold\": %zu", lambda + 1,
            fold + 1);
    write_results(log, "sums", results);
}

void cli_log_write_pair(const struct cli_log *log, double gamma, size_t pair,
                        size_t pairs, const struct klr_part_result *results)
{
    fputc('{', log->file);
    cli_write_json_real(log->file, "gamma", gamma, "");
    fprintf(log->file, ", \"pair\": %zu, \"pairs\": %zu", pair + 1, pairs);
    write_results(log, "numbers", results);
}
