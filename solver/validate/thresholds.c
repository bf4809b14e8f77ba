/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Thresholds on the probability of the first of two classes, from what held-out
 * examples were answered: an example is taken for that class where its
 * probability is the threshold at least.
 *
 * Sorted by their probabilities, from the largest, the examples before a cut
 * are those taken for the class; equal probabilities cannot be cut apart.
 */
#include "solver/validate/validate.h"

struct cut_example {
    double p;
    bool positive;
};

/* Where the first `taken` examples are taken for the class. */
struct split {
    double positive, negative; /* examples of either class */
    double right, wrong;       /* of these, those that are taken */
};

static int judged_compare(const void *a, const void *b)
{
    double x = ((const struct cut_example *)a)->p,
           y = ((const struct cut_example *)b)->p;
    return (x < y) - (x > y);
}

/* 2 right / (positive + taken). */
static double cut_f1(const struct split *split, const double *cost)
{
    (void)cost;
    return 2 * split->right / (split->positive + split->right + split->wrong);
}

/* Matthews' coefficient; 0 where all examples are taken, or none. */
static double cut_mcc(const struct split *split, const double *cost)
{
    double taken = split->right + split->wrong;
    double n = split->positive + split->negative;
    double spread = split->positive * split->negative * taken * (n - taken);
    (void)cost;
    return spread > 0
               ? (n * split->right - split->positive * taken) / sqrt(spread)
               : 0;
}

static double cut_balanced(const struct split *split, const double *cost)
{
    (void)cost;
    return (split->right / split->positive + 1 -
            split->wrong / split->negative) /
           2;
}

/* Minus the mean cost, so that the largest is best. */
static double cut_cost(const struct split *split, const double *cost)
{
    double n = split->positive + split->negative;
    return -(cost[0] * split->wrong +
             cost[1] * (split->positive - split->right)) /
           n;
}

static double (*const cut_values[KLR_CUTS])(const struct split *,
                                            const double *) = {
    [KLR_CUT_F1] = cut_f1,
    [KLR_CUT_MCC] = cut_mcc,
    [KLR_CUT_BALANCED] = cut_balanced,
    [KLR_CUT_COST] = cut_cost,
};

/* Halfway to the next example, whose probability is smaller. */
static double cut_threshold(const struct cut_example *judged, size_t n,
                            size_t taken)
{
    double above = taken ? judged[taken - 1].p : 1;
    double below = taken < n ? judged[taken].p : 0;
    double middle = below + (above - below) / 2;
    return middle > below || taken == n ? middle : above;
}

static void cuts_compare(const struct cut_example *judged, size_t n,
                         const double *cost, struct split split,
                         struct klr_cut *best)
{
    for (size_t taken = 0; taken <= n; taken++) {
        bool tied =
            taken && taken < n && judged[taken].p == judged[taken - 1].p;
        if (taken) {
            split.right += judged[taken - 1].positive;
            split.wrong += !judged[taken - 1].positive;
        }
        for (int by = 0; by < KLR_CUTS && !tied; by++) {
            double value = cut_values[by](&split, cost);
            if (taken && !(value > best[by].value))
                continue;
            best[by].value = value;
            best[by].threshold = cut_threshold(judged, n, taken);
        }
    }
}

int klr_best_cuts(const struct klr_problem *problem,
                  const struct klr_held_out *held_out, double first,
                  const double *cost, struct klr_cut *best,
                  struct klr_error *err)
{
    size_t n = held_out->n;
    struct split split = {0};
    struct cut_example *judged = klr_alloc(n, sizeof *judged, err);
    if (!judged)
        return KLR_E_MEMORY;
    for (size_t i = 0; i < n; i++) {
        bool positive = problem->label[i] == first;
        judged[i] =
            (struct cut_example){held_out->probability[2 * i], positive};
        split.positive += positive;
        split.negative += !positive;
    }
    qsort(judged, n, sizeof *judged, judged_compare);
    cuts_compare(judged, n, cost, split, best);
    best[KLR_CUT_COST].value *= -1;
    klr_free(judged);
    return 0;
}
