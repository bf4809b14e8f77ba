/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How good predictions are, in lines, in a table or for JSON; what is not known
 * has no line, no column, or is null.
 */
#include "cli/cli.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"

/* The name of a metric in lines, in the titles of tables and in JSON, and how
 * it is shown: in per cent where the unit is 100. */
static const struct column {
    enum klr_metric metric;
    bool usual; /* shown where --metrics is not given */
    const char *name, *title, *key;
    double unit;
    int decimals, width; /* in tables */
} metric_columns[] = {
    {KLR_METRIC_ACCURACY, true, "Accuracy", "accuracy", "accuracy", 100, 4, 9},
    {KLR_METRIC_LOG_LOSS, true, "Log loss", "log loss", "log_loss", 1, 6, 10},
    {KLR_METRIC_BRIER, true, "Brier score", "Brier", "brier", 1, 6, 10},
    {KLR_METRIC_AUC, true, "AUC", "AUC", "auc", 1, 6, 10},
    {KLR_METRIC_BALANCED, false, "Balanced accuracy", "balanced",
     "balanced_accuracy", 100, 4, 9},
    {KLR_METRIC_F1, false, "F1", "F1", "f1", 1, 6, 10},
    {KLR_METRIC_MCC, false, "MCC", "MCC", "mcc", 1, 6, 10},
    {KLR_METRIC_ECE, false, "ECE", "ECE", "ece", 1, 6, 10},
};

enum { COLUMNS = sizeof metric_columns / sizeof *metric_columns };

static const char *column_mark(const struct column *column)
{
    return column->unit > 1 ? "%" : "";
}

/* ---- Lines ---- */

void cli_print_metrics(FILE *out, const struct klr_metric_values *values,
                       bool all)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        const struct column *column = &metric_columns[c];
        double value = klr_metric_value(column->metric, values);
        if (column->metric != KLR_METRIC_ACCURACY && !isnan(value) &&
            (all || column->usual))
            fprintf(out, "%s = %.6g%s\n", column->name, column->unit * value,
                    column_mark(column));
    }
}

/* ---- The confusion matrix ---- */

/* Columns that a text takes, a character in each. */
static int text_width(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += (*text & 0xC0) != 0x80;
    return width;
}

/* Width of the cells: that of the labels and of the counts. */
static int cell_width(const struct klr_metrics *metrics,
                      const struct cli_answers *answers)
{
    size_t k = klr_metrics_classes(metrics);
    const unsigned long long *count = klr_metrics_confusion(metrics);
    int width = (int)strlen("other");
    for (size_t c = 0; c < k; c++) {
        int length = text_width(answers->text[c]);
        width = length > width ? length : width;
    }
    for (size_t cell = 0; cell < (k + 1) * k; cell++) {
        int length = snprintf(NULL, 0, "%llu", count[cell]);
        width = length > width ? length : width;
    }
    return width;
}

unsigned long long cli_count_others(const struct klr_metrics *metrics)
{
    size_t k = klr_metrics_classes(metrics);
    const unsigned long long *count = klr_metrics_confusion(metrics) + k * k;
    unsigned long long others = 0;
    for (size_t c = 0; c < k; c++)
        others += count[c];
    return others;
}

const char *cli_single_answer(const struct klr_metrics *metrics,
                              const struct cli_answers *answers)
{
    size_t k = klr_metrics_classes(metrics), truths = 0, answered = 0, one = 0;
    const unsigned long long *count = klr_metrics_confusion(metrics);
    for (size_t i = 0; i < k; i++) {
        unsigned long long row = 0, column = count[k * k + i];
        for (size_t j = 0; j < k; j++) {
            row += count[i * k + j];
            column += count[j * k + i];
        }
        truths += row > 0;
        answered += column > 0;
        if (column > 0)
            one = i;
    }
    return truths > 1 && answered == 1 ? answers->text[one] : NULL;
}

static void print_cell(FILE *out, int width, const char *text)
{
    fprintf(out, "%*s%s", width - text_width(text), "", text);
}

void cli_print_confusion(FILE *out, const struct klr_metrics *metrics,
                         const struct cli_answers *answers)
{
    size_t k = klr_metrics_classes(metrics);
    size_t rows = cli_count_others(metrics) ? k + 1 : k;
    const unsigned long long *count = klr_metrics_confusion(metrics);
    int width = cell_width(metrics, answers);
    fprintf(out,
            "Confusion matrix, true labels in rows, predicted ones in "
            "columns\n%*s",
            width, "");
    for (size_t c = 0; c < k; c++)
        print_cell(out, width + 2, answers->text[c]);
    fputc('\n', out);
    for (size_t r = 0; r < rows; r++) {
        print_cell(out, width, r < k ? answers->text[r] : "other");
        for (size_t c = 0; c < k; c++)
            fprintf(out, "  %*llu", width, *count++);
        fputc('\n', out);
    }
}

/* ---- Tables ---- */

/* The parameters that a grid can vary. */
static const struct parameter {
    const char *name, *in_unit; /* titles, of plain numbers and others */
    size_t offset;              /* in struct klr_params */
} parameters[] = {
    {"gamma", "", offsetof(struct klr_params, gamma)},
    {"lambda", "lambda/C", offsetof(struct klr_params, lambda)},
    {"C", "", offsetof(struct klr_params, cost)},
};

enum { PARAMETERS = sizeof parameters / sizeof *parameters };

static const struct klr_reals *
parameter_values(const struct klr_params *params,
                 const struct parameter *parameter)
{
    return (const void *)((const char *)params + parameter->offset);
}

static const char *parameter_title(const struct klr_params *params,
                                   const struct parameter *parameter)
{
    return parameter_values(params, parameter)->in_unit ? parameter->in_unit
                                                        : parameter->name;
}

/* A table of `count` values, and which metrics are its columns. */
struct table {
    const struct klr_metric_values *values, *error; /* (count) */
    size_t count;
    bool column[COLUMNS], error_column[COLUMNS];
};

static bool has_value(const struct klr_metric_values *values, size_t count,
                      enum klr_metric metric)
{
    for (size_t t = 0; t < count; t++)
        if (!isnan(klr_metric_value(metric, &values[t])))
            return true;
    return false;
}

/* Choose the accuracy and each wanted metric that some point has a value of;
 * with standard errors for the metric that decides, or for `all`. */
static void choose_columns(struct table *table, enum klr_metric metric,
                           bool all)
{
    const struct klr_metric_values *values = table->values;
    enum klr_metric decides = klr_metric_among(metric, values, table->count);
    for (size_t c = 0; c < COLUMNS; c++) {
        const struct column *column = &metric_columns[c];
        bool wanted = all || column->usual || column->metric == metric;
        table->column[c] =
            column->metric == KLR_METRIC_ACCURACY ||
            (wanted && has_value(values, table->count, column->metric));
        table->error_column[c] =
            table->column[c] && (all || column->metric == decides) &&
            has_value(table->error, table->count, column->metric);
    }
}

void cli_warn_metric(const struct cli_program *program, enum klr_metric asked,
                     enum klr_metric chooses)
{
    if (asked != KLR_METRIC_AUTO && asked != chooses)
        cli_warn(program, "no point has a value of the metric %s: %s chooses",
                 klr_metric_names[asked], klr_metric_names[chooses]);
}

enum { VECTORS_WIDTH = 8, ERROR_WIDTH = 7 };

static void print_titles(FILE *out, const struct table *table)
{
    for (size_t c = 0; c < COLUMNS; c++)
        if (table->column[c])
            fprintf(out, "  %*s%*s", metric_columns[c].width,
                    metric_columns[c].title,
                    table->error_column[c] ? ERROR_WIDTH + 2 : 0,
                    table->error_column[c] ? "s.e." : "");
    fprintf(out, "  %*s\n", VECTORS_WIDTH, "SVs");
}

static void print_cell_of(FILE *out, const struct column *column, int width,
                          int decimals, double value)
{
    const char *mark = column_mark(column);
    if (isnan(value))
        fprintf(out, "  %*s", width, "-");
    else
        fprintf(out, "  %*.*f%s", width - (int)strlen(mark), decimals,
                column->unit * value, mark);
}

static void print_cells(FILE *out, const struct table *table, size_t t)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        const struct column *column = &metric_columns[c];
        enum klr_metric metric = column->metric;
        if (table->column[c])
            print_cell_of(out, column, column->width, column->decimals,
                          klr_metric_value(metric, &table->values[t]));
        if (table->error_column[c])
            print_cell_of(out, column, ERROR_WIDTH, column->decimals - 2,
                          klr_metric_value(metric, &table->error[t]));
    }
}

static bool varies(const struct klr_params *params,
                   const struct parameter *parameter)
{
    return parameter_values(params, parameter)->count > 1;
}

static int parameter_width(const struct klr_params *params,
                           const struct parameter *parameter)
{
    const struct klr_reals *reals = parameter_values(params, parameter);
    char text[KLR_REAL_SIZE];
    int width = (int)strlen(parameter_title(params, parameter));
    for (size_t i = 0; i < reals->count; i++) {
        int length = klr_format_real(text, reals->value[i]);
        width = length > width ? length : width;
    }
    return width;
}

/* The row of a point. */
static void print_point(FILE *out, const struct klr_params *params,
                        const struct table *table, size_t t)
{
    struct klr_params one = klr_params_point(params, t);
    char text[KLR_REAL_SIZE];
    const char *between = "";
    for (size_t i = 0; i < PARAMETERS; i++)
        if (varies(params, &parameters[i])) {
            klr_format_real(text,
                            parameter_values(&one, &parameters[i])->value[0]);
            fprintf(out, "%s%*s", between,
                    parameter_width(params, &parameters[i]), text);
            between = "  ";
        }
    print_cells(out, table, t);
}

double cli_mean_vectors(const struct klr_params *params,
                        const struct klr_report *report)
{
    return (double)report->n_sv / (double)(params->loo ? 1 : params->folds);
}

size_t cli_point_text(const struct klr_params *params, size_t t,
                      char text[CLI_POINT_SIZE])
{
    struct klr_params one = klr_params_point(params, t);
    char real[KLR_REAL_SIZE];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < PARAMETERS; i++)
        if (varies(params, &parameters[i])) {
            klr_format_real(real,
                            parameter_values(&one, &parameters[i])->value[0]);
            used +=
                (size_t)snprintf(text + used, CLI_POINT_SIZE - used,
                                 "%s%s = %s", used ? ", " : "",
                                 parameter_title(params, &parameters[i]), real);
        }
    return used;
}

static void print_vectors(FILE *out, double mean, bool known)
{
    if (known)
        fprintf(out, "  %*.1f", VECTORS_WIDTH, mean);
    else
        fprintf(out, "  %*s", VECTORS_WIDTH, "-");
}

void cli_print_table(FILE *out, const struct klr_params *params,
                     const struct klr_validation *validation, bool all)
{
    struct table table = {.values = validation->values,
                          .error = validation->error,
                          .count = validation->count};
    char best[CLI_POINT_SIZE];
    const char *between = "";
    choose_columns(&table, (enum klr_metric)params->metric, all);
    for (size_t i = 0; i < PARAMETERS; i++)
        if (varies(params, &parameters[i])) {
            fprintf(out, "%s%*s", between,
                    parameter_width(params, &parameters[i]),
                    parameter_title(params, &parameters[i]));
            between = "  ";
        }
    print_titles(out, &table);
    for (size_t t = 0; t < validation->count; t++) {
        print_point(out, params, &table, t);
        bool is_best = validation->solved > 0 && t == validation->best;
        print_vectors(out, cli_mean_vectors(params, &validation->report[t]),
                      !isnan(validation->values[t].accuracy));
        fputs(is_best ? "  *\n" : "\n", out);
    }
    cli_point_text(params, validation->best, best);
    if (validation->solved > 0)
        fprintf(out, "Best %s\n", best);
}

/* ---- JSON ---- */

void cli_write_json_real(FILE *out, const char *key, double value,
                         const char *after)
{
    char text[KLR_REAL_SIZE] = "null";
    if (isfinite(value))
        klr_format_real(text, value);
    fprintf(out, "\"%s\": %s%s", key, text, after);
}

void cli_json_real(const char *key, double value, const char *after)
{
    cli_write_json_real(stdout, key, value, after);
}

void cli_write_json_metrics(FILE *out, const struct klr_metric_values *values,
                            const char *after)
{
    for (size_t c = 0; c < COLUMNS; c++)
        cli_write_json_real(out, metric_columns[c].key,
                            klr_metric_value(metric_columns[c].metric, values),
                            c + 1 < COLUMNS ? ", " : after);
}

void cli_json_metrics(const struct klr_metric_values *values, const char *after)
{
    cli_write_json_metrics(stdout, values, after);
}

/* A number, or a string: of what JSON escapes names have these two alone. */
static void json_label(const struct cli_answers *answers, size_t c)
{
    const char *text = answers->text[c];
    if (!answers->named) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text; text++)
        printf("%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    putchar('"');
}

void cli_json_confusion(const struct klr_metrics *metrics,
                        const struct cli_answers *answers, const char *after)
{
    size_t k = klr_metrics_classes(metrics);
    const unsigned long long *count = klr_metrics_confusion(metrics);
    fputs("\"labels\": [", stdout);
    for (size_t c = 0; c < k; c++) {
        fputs(c ? ", " : "", stdout);
        json_label(answers, c);
    }
    fputs("], \"confusion\": [", stdout);
    for (size_t cell = 0; cell < k * k; cell++)
        printf("%s%llu%s",
               cell % k ? ", "
               : cell   ? ", ["
                        : "[",
               count[cell], (cell + 1) % k ? "" : "]");
    printf("], \"other_labels\": %llu%s", cli_count_others(metrics), after);
}
