/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Metrics against their definitions: the area under the ROC curve against the
 * count of all pairs, and beyond the capacity against the exact area; what
 * follows from the confusion matrix against sums over the examples, and both
 * against values by hand.
 */
#include <float.h>

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

/* Scores of all sizes and signs, in the order of qsort, each with its counts;
 * or of like size. */
static void test_sorting(size_t n, bool alike, const char *what)
{
    static const double extreme[] = {0,       -0.0,     INFINITY, -INFINITY,
                                     DBL_MAX, -DBL_MAX, 5e-324,   -5e-324};
    enum { EXTREMES = sizeof extreme / sizeof *extreme };
    struct bin *bin = malloc(n * sizeof *bin);
    double *score = malloc(n * sizeof *score);
    bool same = bin && score;
    for (size_t i = 0; i < n && same; i++) {
        score[i] = alike ? 1 - uniform() / 2
                   : i % 16 < EXTREMES
                       ? extreme[i % 16]
                       : ldexp(uniform() - 0.5, (int)(i % 2000) - 1000);
        bin[i] = (struct bin){score[i], 1, 2};
        memcpy(&bin[i].negative, &score[i], sizeof *score);
    }
    if (same) {
        bins_sort(bin, n, BIN_SHIFT);
        qsort(score, n, sizeof *score, compare_labels);
    }
    for (size_t i = 0; i < n && same; i++)
        same = bin[i].score == score[i] && bin[i].positive == 1 &&
               !memcmp(&bin[i].negative, &bin[i].score, sizeof *score);
    ok(same, "%s, sorted", what);
    free(bin);
    free(score);
}

/* Positive scores u^(1/2), negative ones u: P(positive > negative) = 2/3. More
 * than twice as many scores as are kept exactly, in an order that a merge must
 * not spoil, at once or in two halves; scores from a regular grid give an exact
 * area. */
static void test_merging(size_t parts)
{
    struct klr_metrics *metrics[2];
    struct klr_metric_values values;
    struct klr_error err;
    size_t n = 5u << 20, stride = 1999993; /* coprime to n */
    int code = 0;
    for (size_t part = 0; part < parts; part++)
        klr_metrics_create(&metrics[part], 2, two, &err);
    for (size_t i = 0, j = 0; i < n; i++, j = (j + stride) % n) {
        double u = ((double)j + 0.5) / (double)n;
        code |= klr_metrics_add(metrics[i * parts / n], j % 2 ? 1 : -1, 1, NULL,
                                j % 2 ? sqrt(u) : u, &err);
    }
    if (parts > 1) {
        code |= metrics_join(metrics[0], metrics[1], &err);
        klr_metrics_free(metrics[1]);
    }
    ok(metrics[0]->bins <= METRICS_ARENA, "in %zu bins", metrics[0]->bins);
    klr_metrics_values(metrics[0], &values);
    ok(!code && values.count == n, "%zu scores are taken", n);
    ok(fabs(values.auc - 2.0 / 3) < 2e-6, "area off by %.1e after merging",
       values.auc - 2.0 / 3);
    klr_metrics_free(metrics[0]);
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

/* ---- Answers alone ---- */

static struct klr_metrics *metrics_of(size_t k, const double *label)
{
    struct klr_metrics *metrics;
    struct klr_error err;
    if (klr_metrics_create(&metrics, k, label, &err))
        printf("Bail out! %s\n", err.message);
    return metrics;
}

/* Add `count` examples of that true and predicted label. */
static void add(struct klr_metrics *metrics, double truth, double answer,
                int count)
{
    struct klr_error err;
    for (int i = 0; i < count; i++)
        klr_metrics_add(metrics, truth, answer, NULL, 0, &err);
}

static struct klr_metric_values end(struct klr_metrics *metrics)
{
    struct klr_metric_values values;
    klr_metrics_values(metrics, &values);
    klr_metrics_free(metrics);
    return values;
}

static bool near(double x, double y)
{
    return fabs(x - y) < 1e-14 * (1 + fabs(y));
}

static void test_by_hand(void)
{
    struct klr_metrics *metrics = metrics_of(3, three);
    static const int cell[3][3] = {{2, 1, 0}, {0, 3, 1}, {1, 0, 2}};
    bool same = true;
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++)
            add(metrics, three[i], three[j], cell[i][j]);
    const unsigned long long *found = klr_metrics_confusion(metrics);
    for (size_t i = 0; i < 12; i++)
        same = same && found[i] == (i < 9 ? (unsigned)cell[i / 3][i % 3] : 0);
    ok(same && klr_metrics_classes(metrics) == 3 &&
           klr_metrics_labels(metrics)[2] == 5,
       "the confusion matrix");
    struct klr_metric_values values = end(metrics);
    ok(near(values.balanced, 25.0 / 36) && near(values.f1, 25.0 / 36) &&
           near(values.mcc, 6.0 / 11),
       "three classes: balanced %g, F1 %g, MCC %g", values.balanced, values.f1,
       values.mcc);

    metrics = metrics_of(2, two);
    add(metrics, 1, 1, 6);
    add(metrics, 1, -1, 2);
    add(metrics, -1, 1, 1);
    add(metrics, -1, -1, 11);
    values = end(metrics);
    ok(near(values.balanced, (6.0 / 8 + 11.0 / 12) / 2) &&
           near(values.f1, 2 * 6.0 / 7 * 6 / 8 / (6.0 / 7 + 6.0 / 8)) &&
           near(values.mcc, (6 * 11 - 2 * 1) / sqrt(8.0 * 12 * 7 * 13)),
       "two classes: balanced %g, F1 %g, MCC %g", values.balanced, values.f1,
       values.mcc);
}

/* Nothing of a class, or no answer with it. */
static void test_degenerate(void)
{
    struct klr_metrics *metrics = metrics_of(2, two);
    add(metrics, 1, -1, 3);
    add(metrics, -1, -1, 5);
    struct klr_metric_values values = end(metrics);
    ok(values.balanced == 0.5 && values.f1 == 0 && isnan(values.mcc) &&
           values.auc == 0.5,
       "one class predicted");
    metrics = metrics_of(2, two);
    add(metrics, -1, -1, 3);
    add(metrics, -1, 1, 1);
    values = end(metrics);
    ok(values.balanced == 0.75 && values.f1 == 0 && isnan(values.mcc) &&
           isnan(values.auc),
       "one class there");
    metrics = metrics_of(2, two);
    add(metrics, -1, -1, 4);
    values = end(metrics);
    ok(values.accuracy == 1 && values.balanced == 1 && isnan(values.f1) &&
           isnan(values.mcc) && isnan(values.ece),
       "nothing positive at all");
    metrics = metrics_of(3, three);
    add(metrics, 1, 1, 4);
    add(metrics, 5, 5, 2);
    values = end(metrics);
    ok(values.f1 == 1 && values.mcc == 1 && values.balanced == 1,
       "all right, one class of three missing");
    values = end(metrics_of(3, three));
    ok(isnan(values.f1) && isnan(values.mcc) && isnan(values.balanced) &&
           isnan(values.ece),
       "of nothing");
    struct klr_error err;
    metrics = metrics_of(2, two);
    ok(klr_metrics_add(metrics, 1, 3, NULL, 0, &err) == KLR_E_USAGE,
       "an answer that is no label: %s", err.message);
    klr_metrics_free(metrics);
}

enum { EXAMPLES = 400, LABELS = 4 };

static const double four[LABELS + 1] = {-2, 0, 3, 7, 9}; /* 9: unknown */

/* Examples of four classes and of one more that is never the answer. */
struct drawn {
    size_t truth[EXAMPLES], answer[EXAMPLES];
    double p[EXAMPLES][LABELS];
};

static void draw_make(struct drawn *draw)
{
    for (size_t i = 0; i < EXAMPLES; i++) {
        double sum = 0;
        draw->truth[i] = (size_t)(5 * uniform());
        draw->answer[i] = 0;
        for (size_t c = 0; c < LABELS; c++) {
            draw->p[i][c] = pow(uniform(), 6) + 0.3 * (c == draw->truth[i]);
            sum += draw->p[i][c];
        }
        for (size_t c = 0; c < LABELS; c++) {
            draw->p[i][c] /= sum;
            if (draw->p[i][c] > draw->p[i][draw->answer[i]])
                draw->answer[i] = c;
        }
    }
}

/* Covariance of the indicators of two labellings, summed over classes. */
static double covariance(const size_t *x, const size_t *y)
{
    double sum = 0;
    for (size_t c = 0; c <= LABELS; c++) {
        double mean_x = 0, mean_y = 0;
        for (size_t i = 0; i < EXAMPLES; i++) {
            mean_x += (x[i] == c) / (double)EXAMPLES;
            mean_y += (y[i] == c) / (double)EXAMPLES;
        }
        for (size_t i = 0; i < EXAMPLES; i++)
            sum += ((x[i] == c) - mean_x) * ((y[i] == c) - mean_y);
    }
    return sum;
}

/* F1 by precision and recall, and the balanced accuracy. */
static void shares(const struct drawn *draw, double *f1, double *balanced)
{
    *f1 = *balanced = 0;
    for (size_t c = 0; c <= LABELS; c++) {
        double right = 0, truth = 0, answer = 0;
        for (size_t i = 0; i < EXAMPLES; i++) {
            right += draw->truth[i] == c && draw->answer[i] == c;
            truth += draw->truth[i] == c;
            answer += draw->answer[i] == c;
        }
        double precision = answer > 0 ? right / answer : 0;
        double recall = right / truth;
        *balanced += recall / (LABELS + 1);
        if (right > 0)
            *f1 += 2 * precision * recall / (precision + recall) / (LABELS + 1);
    }
}

/* Interval by interval, over examples of known labels: the share of right
 * answers against the mean of their probabilities. */
static double calibration(const struct drawn *draw)
{
    double error = 0, known = 0;
    for (int b = 0; b < 15; b++) {
        double count = 0, right = 0, sure = 0;
        for (size_t i = 0; i < EXAMPLES; i++) {
            double p = draw->p[i][draw->answer[i]];
            if (draw->truth[i] == LABELS || p < b / 15.0 ||
                (p >= (b + 1) / 15.0 && b < 14))
                continue;
            count++;
            right += draw->truth[i] == draw->answer[i];
            sure += p;
        }
        known += count;
        if (count > 0)
            error += count * fabs(right / count - sure / count);
    }
    return error / known;
}

static void test_definitions(void)
{
    static struct drawn draw;
    struct klr_error err;
    struct klr_metrics *metrics = metrics_of(LABELS, four);
    double f1, balanced;
    draw_make(&draw);
    for (size_t i = 0; i < EXAMPLES; i++)
        klr_metrics_add(metrics, four[draw.truth[i]], four[draw.answer[i]],
                        draw.p[i], 0, &err);
    struct klr_metric_values values = end(metrics);
    shares(&draw, &f1, &balanced);
    double mcc = covariance(draw.truth, draw.answer) /
                 sqrt(covariance(draw.truth, draw.truth) *
                      covariance(draw.answer, draw.answer));
    ok(fabs(values.f1 - f1) < 1e-12, "F1 %.6f", values.f1);
    ok(fabs(values.balanced - balanced) < 1e-12, "balanced accuracy %.6f",
       values.balanced);
    ok(fabs(values.mcc - mcc) < 1e-12, "MCC %.6f", values.mcc);
    ok(fabs(values.ece - calibration(&draw)) < 1e-12, "ECE %.6f", values.ece);
}

static void test_calibration(void)
{
    struct klr_error err;
    struct klr_metrics *metrics = metrics_of(2, two);
    static const double sure[2] = {1, 0}, p[2] = {0.9, 0.1},
                        q[2] = {0.39, 0.61}, edge[2] = {0.8, 0.2},
                        inside[2] = {0.84, 0.16};
    klr_metrics_add(metrics, 1, 1, p, 0, &err);
    klr_metrics_add(metrics, -1, 1, p, 0, &err);
    klr_metrics_add(metrics, -1, -1, q, 0, &err);
    klr_metrics_add(metrics, 1, 1, sure, 0, &err);
    klr_metrics_add(metrics, 8, 1, sure, 0, &err); /* not looked at */
    klr_metrics_add(metrics, 1, 1, edge, 0, &err); /* 12/15 */
    klr_metrics_add(metrics, -1, 1, inside, 0, &err);
    struct klr_metric_values values = end(metrics);
    ok(near(values.ece, (0.8 + 0.39 + 0 + 0.64) / 6), "ECE by hand: %g",
       values.ece);
}

/* ---- Joined ---- */

/* Examples in two parts have the metrics of all together. */
static void test_join(size_t k, const double *labels)
{
    struct klr_metrics *all, *part[2];
    struct klr_metric_values a, b;
    struct klr_error err;
    klr_metrics_create(&all, k, labels, &err);
    klr_metrics_create(&part[0], k, labels, &err);
    klr_metrics_create(&part[1], k, labels, &err);
    for (size_t i = 0; i < 300; i++) {
        double p[3], sum = 0, truth = i % 50 ? labels[i % k] : 77;
        for (size_t c = 0; c < k; c++)
            sum += p[c] = uniform();
        for (size_t c = 0; c < k; c++)
            p[c] /= sum;
        double answer = labels[(size_t)(uniform() * (double)k)];
        double score = floor(9 * uniform());
        struct klr_metrics *its = part[i > 100];
        klr_metrics_add(all, truth, answer, i % 7 ? p : NULL, score, &err);
        klr_metrics_add(its, truth, answer, i % 7 ? p : NULL, score, &err);
    }
    ok(!metrics_join(part[0], part[1], &err) &&
           all->judged == part[0]->judged &&
           !memcmp(all->confusion, part[0]->confusion,
                   k * (k + 1) * sizeof *all->confusion),
       "two parts have the confusion of all, of %zu classes", k);
    klr_metrics_values(all, &a);
    klr_metrics_values(part[0], &b);
    ok(near(a.log_loss, b.log_loss) && near(a.brier, b.brier) &&
           near(a.ece, b.ece) && (k > 2 || a.auc == b.auc),
       "and the log loss, %g, and what else is a sum", b.log_loss);
    klr_metrics_free(all);
    klr_metrics_free(part[0]);
    klr_metrics_free(part[1]);
}

/* ---- The best ---- */

static void best(const char *what, size_t expected, enum klr_metric metric,
                 const struct klr_metric_values *values)
{
    size_t found = klr_best_values(metric, values, 3);
    ok(found == expected, "%s: %zu", what, found);
}

static void test_best(void)
{
    struct klr_metric_values v[3] = {
        {.accuracy = 0.9, .log_loss = 0.5, .brier = 0.2, .auc = NAN, .f1 = 0.3},
        {.accuracy = 0.7, .log_loss = 0.4, .brier = 0.1, .auc = 0.6, .f1 = 0.5},
        {.accuracy = 0.8, .log_loss = 0.4, .brier = 0.1, .auc = 0.5, .f1 = 0.4},
    };
    best("the first of the lowest log loss", 1, KLR_METRIC_AUTO, v);
    best("accuracy", 0, KLR_METRIC_ACCURACY, v);
    best("Brier score", 1, KLR_METRIC_BRIER, v);
    best("AUC: a number is better than none", 1, KLR_METRIC_AUC, v);
    best("F1", 1, KLR_METRIC_F1, v);
    v[2].log_loss = 0.3;
    v[0].auc = 0.7;
    v[0].balanced = v[1].mcc = v[2].ece = -0.1;
    best("the last", 2, KLR_METRIC_LOG_LOSS, v);
    best("a record that is not beaten", 0, KLR_METRIC_AUC, v);
    best("balanced accuracy", 1, KLR_METRIC_BALANCED, v);
    best("MCC", 0, KLR_METRIC_MCC, v);
    best("ECE", 2, KLR_METRIC_ECE, v);
    v[0].accuracy = v[0].log_loss = NAN;
    best("log loss, after a point that is not solved", 2, KLR_METRIC_AUTO, v);
    for (size_t i = 0; i < 3; i++)
        v[i].mcc = NAN;
    best("log loss where none has an MCC", 2, KLR_METRIC_MCC, v);
    v[0].accuracy = 0.9;
    v[0].log_loss = v[1].log_loss = v[2].log_loss = NAN;
    best("without probabilities, the accuracy", 0, KLR_METRIC_AUTO, v);
    v[1].accuracy = v[2].accuracy = 0.95;
    best("the first of the highest", 1, KLR_METRIC_AUTO, v);
    ok(klr_best_values(KLR_METRIC_AUTO, v, 1) == 0, "one is the best");
}

int main(void)
{
    test_sums();
    test_by_hand();
    test_degenerate();
    test_definitions();
    test_calibration();
    test_best();
    test_area(500, 1000000);
    test_area(800, 20);
    test_area(700, 2);
    test_sorting(1, false, "one score");
    test_sorting(20000, false, "scores of all sizes");
    test_sorting(20000, true, "scores whose highest byte is the same");
    test_repeated();
    test_merging(1);
    test_merging(2);
    test_join(2, two);
    test_join(3, three);
    return done_testing();
}
