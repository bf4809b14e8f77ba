/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Metrics against their definitions: the area under the ROC curve against the
 * count of all pairs, and beyond the capacity against the exact area.
 */
#include "solver.c"

#include "tests/tap.h"

static uint64_t state = 99;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

static const double two[] = {1, -1}, three[] = {1, 2, 5};

static void test_area(size_t n, int levels)
{
    struct klr_metrics *metrics;
    struct klr_metric_values values;
    struct klr_error err;
    double *score = malloc(n * sizeof *score), wins = 0, pairs = 0;
    int *positive = malloc(n * sizeof *positive);
    klr_metrics_create(&metrics, 2, two, &err);
    for (size_t i = 0; i < n; i++) {
        positive[i] = uniform() < 0.3;
        score[i] = floor(levels * (uniform() + 0.2 * positive[i]));
        klr_metrics_add(metrics, positive[i] ? 1 : -1, 1, NULL, score[i], &err);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (positive[i] && !positive[j]) {
                pairs++;
                wins += score[i] > score[j] ? 1 : 0.5 * (score[i] == score[j]);
            }
    klr_metrics_values(metrics, &values);
    ok(fabs(values.auc - wins / pairs) < 1e-14,
       "area of %zu scores on %d levels: %.6f", n, levels, values.auc);
    ok(isnan(values.log_loss) && isnan(values.brier),
       "no loss without probabilities");
    klr_metrics_free(metrics);
    free(score);
    free(positive);
}

/* Positive scores u^(1/2), negative ones u: P(positive > negative) = 2/3. Twice
 * as many scores as are kept exactly, in an order that a merge must not spoil;
 * scores from a regular grid give an exact area. */
static void test_merging(void)
{
    struct klr_metrics *metrics;
    struct klr_metric_values values;
    struct klr_error err;
    size_t n = 5u << 20, stride = 1999993; /* coprime to n */
    int code = 0;
    klr_metrics_create(&metrics, 2, two, &err);
    for (size_t i = 0, j = 0; i < n; i++, j = (j + stride) % n) {
        double u = ((double)j + 0.5) / (double)n;
        code |= klr_metrics_add(metrics, j % 2 ? 1 : -1, 1, NULL,
                                j % 2 ? sqrt(u) : u, &err);
    }
    klr_metrics_values(metrics, &values);
    ok(!code && values.count == n, "%zu scores are taken", n);
    ok(metrics->bins <= METRICS_ARENA, "in %zu bins", metrics->bins);
    ok(fabs(values.auc - 2.0 / 3) < 2e-6, "area off by %.1e after merging",
       values.auc - 2.0 / 3);
    klr_metrics_free(metrics);
}

/* More than the arena holds, but few distinct scores: nothing is merged. */
static void test_repeated(void)
{
    struct klr_metrics *metrics;
    struct klr_metric_values values;
    struct klr_error err;
    klr_metrics_create(&metrics, 2, two, &err);
    for (size_t i = 0; i < 5000000; i++)
        klr_metrics_add(metrics, i % 5 < 2 ? 1 : -1, 1, NULL,
                        (double)(i % 5 < 2 ? i % 2 + 1 : i % 3), &err);
    klr_metrics_values(metrics, &values);
    /* positives on 1, 2; negatives on 0, 1, 2, alike: (1.5 + 2.5) / 6 */
    ok(fabs(values.auc - 4.0 / 6) < 1e-6, "repeated scores: %.9f", values.auc);
    klr_metrics_free(metrics);
}

static void test_sums(void)
{
    struct klr_metrics *metrics;
    struct klr_metric_values values;
    struct klr_error err;
    double p[3] = {0.5, 0.25, 0.25}, none[3] = {0, 1, 0};
    klr_metrics_create(&metrics, 3, three, &err);
    klr_metrics_values(metrics, &values);
    ok(values.count == 0 && isnan(values.accuracy) && isnan(values.auc),
       "nothing is known about nothing");
    klr_metrics_add(metrics, 1, 1, p, 0, &err);
    klr_metrics_add(metrics, 5, 1, p, 0, &err);
    klr_metrics_add(metrics, 7, 1, p, 0, &err); /* a label nobody knows */
    klr_metrics_values(metrics, &values);
    ok(values.count == 3 && values.correct == 1 &&
           fabs(values.accuracy - 1.0 / 3) < 1e-15,
       "an unknown label counts as wrong");
    ok(fabs(values.log_loss - (log(2) + log(4)) / 2) < 1e-15, "log loss");
    ok(fabs(values.brier - (0.375 + 0.875) / 2) < 1e-15,
       "Brier score of three classes");
    ok(isnan(values.auc), "no area with three classes");
    klr_metrics_add(metrics, 1, 2, none, 0, &err);
    klr_metrics_values(metrics, &values);
    ok(isfinite(values.log_loss) && values.log_loss > 240,
       "a true class of probability 0 costs much, not everything");
    klr_metrics_free(metrics);

    double q[2] = {0.7, 0.3};
    klr_metrics_create(&metrics, 2, two, &err);
    klr_metrics_add(metrics, 1, 1, q, 0.8, &err);
    klr_metrics_add(metrics, -1, 1, q, 0.8, &err);
    klr_metrics_values(metrics, &values);
    ok(fabs(values.brier - (0.09 + 0.49) / 2) < 1e-15,
       "Brier score of two classes is (p - y)^2");
    ok(values.auc == 0.5 && values.correct == 1, "a tie is half a pair");
    klr_metrics_free(metrics);
}

int main(void)
{
    test_sums();
    test_area(500, 1000000);
    test_area(800, 20);
    test_area(700, 2);
    test_repeated();
    test_merging();
    return done_testing();
}
