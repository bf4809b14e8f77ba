/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Standard errors of metrics over the folds of a cross validation: the standard
 * deviation of the values of m folds, with m - 1 in its denominator, over
 * sqrt(m). The training sets of folds overlap, so that it is an estimate, which
 * tends to be small. Folds at which a metric has no value do not count.
 */
#include "solver/validate/validate.h"

/* Welford (1962): one value more. */
static void spread_add(struct fold_spread *spread,
                       const struct klr_metric_values *values)
{
    for (int m = KLR_METRIC_ACCURACY; m < METRICS; m++) {
        double value = klr_metric_value((enum klr_metric)m, values);
        if (isnan(value))
            continue;
        double distance = value - spread->mean[m];
        spread->count[m] += 1;
        spread->mean[m] += distance / spread->count[m];
        spread->square[m] += distance * (value - spread->mean[m]);
    }
}

static void spread_errors(const struct fold_spread *spread,
                          struct klr_metric_values *error)
{
    values_forget(error);
    for (int m = KLR_METRIC_ACCURACY; m < METRICS; m++) {
        double count = spread->count[m];
        if (count > 1)
            *metric_field((enum klr_metric)m, error) =
                sqrt(spread->square[m] / (count - 1) / count);
    }
}
