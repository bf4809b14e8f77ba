/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How good predictions are, in lines or for JSON; what is not known has no line
 * or is null.
 */
#include "cli/cli.h"

#include <math.h>

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

void cli_json_real(const char *key, double value, const char *after)
{
    char text[KLR_REAL_SIZE] = "null";
    if (isfinite(value))
        klr_format_real(text, value);
    printf("\"%s\": %s%s", key, text, after);
}
