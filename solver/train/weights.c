/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Weights: of classes, of examples, and what both make of C.
 */
#include "solver/train/train.h"

#include <float.h>

/* -wLABEL, times n / (k n_c) where classes are balanced. */
static int class_weights(const struct klr_params *params,
                         const struct partition *partition, double *weight,
                         struct klr_error *err)
{
    for (size_t c = 0; c < partition->k; c++)
        weight[c] = 1;
    for (size_t w = 0; w < params->n_weights; w++) {
        size_t c;
        if (partition_find(partition, "-w", params->weight[w].label, &c, err))
            return KLR_E_USAGE;
        weight[c] = params->weight[w].weight;
    }
    for (size_t c = 0; c < partition->k && params->balance; c++) {
        struct klr_range class = {partition_begin(partition, c),
                                  partition_begin(partition, c + 1)};
        double size = (double)partition_examples(partition, class);
        weight[c] *= (double)partition->examples / (double)partition->k / size;
    }
    return 0;
}

/* A normal number, as divisions by it and its parts want, and n of them have a
 * sum. */
static bool has_range(double x, size_t n)
{
    return x >= DBL_MIN && x <= DBL_MAX / (double)n;
}

/* The weight of an example, and each C_i with it. */
static int check_cost(const struct klr_params *params, size_t n, size_t row,
                      double weight, struct klr_error *err)
{
    const struct klr_reals *cost = &params->cost;
    if (!has_range(weight, n))
        return klr_fail(err, KLR_E_USAGE,
                        "option %s: the weight of example %zu, %g in all, is "
                        "out of range",
                        params->n_weights > 0 ? "-w" : "--weights", row + 1,
                        weight);
    for (size_t t = 0; t < cost->count; t++) {
        double c = weight * cost->value[t];
        if (!has_range(c, n))
            return klr_fail(err, KLR_E_USAGE,
                            "option -c: C of example %zu, %g with its weights, "
                            "is out of range",
                            row + 1, c);
    }
    return 0;
}

/* By position, the sum over its examples. */
static int example_weights(const struct klr_params *params,
                           const struct partition *partition,
                           const double *class_weight, double *weight,
                           struct klr_error *err)
{
    const double *given = params->example_weight;
    for (size_t c = 0; c < partition->k; c++)
        for (size_t p = partition_begin(partition, c);
             p < partition_begin(partition, c + 1); p++) {
            const size_t *row;
            size_t count = partition_rows(partition, p, &row);
            weight[p] = 0;
            for (size_t i = 0; i < count; i++) {
                double own = class_weight[c] * (given ? given[row[i]] : 1);
                if (check_cost(params, partition->examples, row[i], own, err))
                    return KLR_E_USAGE;
                weight[p] += own;
            }
        }
    return 0;
}
