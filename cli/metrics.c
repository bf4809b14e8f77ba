/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How good predictions are, in lines, in a table or for JSON; what is not known
 * has no line, no column, or is null.
 */
#include "cli/cli.h"

#include <math.h>
#include <string.h>

#include "base/numbers.h"

static void print_value(FILE *out, const char *name, double value)
{
    if (!isnan(value))
        fprintf(out, "%s = %.6g\n", name, value);
}

void cli_print_metrics(FILE *out, const struct klr_metric_values *values)
{
    print_value(out, "Log loss", values->log_loss);
    print_value(out, "Brier score", values->brier);
    print_value(out, "AUC", values->auc);
}

/* ---- Tables ---- */

/* A metric of struct klr_metric_values, times `unit`. */
static const struct column {
    const char *name;
    size_t offset;
    double unit;
    const char *mark;
    int decimals, width;
} columns[] = {
    {"accuracy", offsetof(struct klr_metric_values, accuracy), 100, "%", 4, 9},
    {"log loss", offsetof(struct klr_metric_values, log_loss), 1, "", 6, 10},
    {"Brier", offsetof(struct klr_metric_values, brier), 1, "", 6, 10},
    {"AUC", offsetof(struct klr_metric_values, auc), 1, "", 6, 10},
};

static double value_of(const struct column *column,
                       const struct klr_metric_values *values)
{
    return *(const double *)(const void *)((const char *)values +
                                           column->offset);
}

/* Titles where values is NULL; `known` tells which columns there are. */
static void print_row(FILE *out, const char *first, int width,
                      const struct klr_metric_values *values,
                      const struct klr_metric_values *known)
{
    fprintf(out, "%*s", width, first);
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        const struct column *column = &columns[c];
        int left = column->width - (int)strlen(column->mark);
        if (isnan(value_of(column, known)))
            continue;
        if (values)
            fprintf(out, "  %*.*f%s", left, column->decimals,
                    column->unit * value_of(column, values), column->mark);
        else
            fprintf(out, "  %*s", column->width, column->name);
    }
    fputc('\n', out);
}

void cli_print_table(FILE *out, const char *name,
                     const struct klr_reals *parameter,
                     const struct klr_metric_values *values)
{
    char text[KLR_REAL_SIZE];
    int width = (int)strlen(name);
    for (size_t t = 0; t < parameter->count; t++) {
        int length = klr_format_real(text, parameter->value[t]);
        width = length > width ? length : width;
    }
    print_row(out, name, width, NULL, values);
    for (size_t t = 0; t < parameter->count; t++) {
        klr_format_real(text, parameter->value[t]);
        print_row(out, text, width, &values[t], values);
    }
}

/* ---- JSON ---- */

void cli_json_real(const char *key, double value, const char *after)
{
    char text[KLR_REAL_SIZE] = "null";
    if (isfinite(value))
        klr_format_real(text, value);
    printf("\"%s\": %s%s", key, text, after);
}

void cli_json_metrics(const struct klr_metric_values *values, const char *after)
{
    cli_json_real("accuracy", values->accuracy, ", ");
    cli_json_real("log_loss", values->log_loss, ", ");
    cli_json_real("brier", values->brier, ", ");
    cli_json_real("auc", values->auc, after);
}
