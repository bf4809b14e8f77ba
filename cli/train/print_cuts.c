/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Thresholds on the probability of the first of two classes, by what was
 * answered in a validation: for klr-predict --threshold.
 */
#include "cli/train/training_run.h"

#include <math.h>
#include <stdio.h>

static const struct {
    const char *name, *key;
} cut_names[KLR_CUTS] = {
    [KLR_CUT_F1] = {"F1", "f1"},
    [KLR_CUT_MCC] = {"MCC", "mcc"},
    [KLR_CUT_BALANCED] = {"balanced accuracy", "balanced_accuracy"},
    [KLR_CUT_COST] = {"cost", "cost"},
};

/* Held-out answers of many classes would take much memory, for nothing. */
static bool has_two_classes(const struct klr_problem *problem)
{
    double first = problem->label[0], second = first;
    for (size_t i = 0; i < problem->n; i++) {
        double label = problem->label[i];
        if (label != first && label != second && second != first)
            return false;
        second = label == first ? second : label;
    }
    return second != first;
}

bool cli_train_wants_cuts(const struct cli_train *train)
{
    const struct cli_train_options *options = &train->options;
    bool asked = options->json || options->metrics || options->error_cost;
    return asked && has_two_classes(&train->problem);
}

static void print_cuts(const struct klr_cut *cut, int count)
{
    for (int by = 0; by < count; by++)
        if (!isnan(cut[by].value))
            printf("Best threshold by %s = %.6g (%.6g)\n", cut_names[by].name,
                   cut[by].threshold, cut[by].value);
}

static void json_cuts(const struct klr_cut *cut, int count)
{
    fputs("\"thresholds\": {", stdout);
    for (int by = 0; by < count; by++) {
        printf("%s\"%s\": {", by ? ", " : "", cut_names[by].key);
        cli_json_real("threshold", cut[by].threshold, ", ");
        cli_json_real("value", cut[by].value, "}");
    }
    fputs("}, ", stdout);
}

int cli_train_cuts(const struct cli_train *train,
                   const struct klr_validation *validation,
                   struct klr_error *err)
{
    const struct klr_held_out *held_out = &validation->held_out;
    const double *label = klr_metrics_labels(validation->metrics);
    int count = train->options.error_cost ? KLR_CUTS : KLR_CUT_COST;
    struct klr_cut cut[KLR_CUTS];
    if (!cli_train_wants_cuts(train) || !held_out->probability)
        return train->options.error_cost
                   ? klr_fail(err, KLR_E_USAGE,
                              "option --error-cost: only probabilities of two "
                              "classes have thresholds")
                   : 0;
    int code = klr_best_cuts(&train->problem, held_out, label[0], train->cost,
                             cut, err);
    if (!code)
        (train->options.json ? json_cuts : print_cuts)(cut, count);
    return code;
}
