/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Running metrics of predictions.
 *
 * The area under the ROC curve is the share of pairs (positive, negative) in
 * which the positive one has the larger score, ties counting one half. Scores
 * are kept as bins (score, positives, negatives): new ones are appended, and
 * when the arena is full it is sorted and equal scores become one bin. If more
 * than BINS remain, neighbours are merged two by two, which makes a tie of at
 * most every second bin: an error of the order of 1 / BINS.
 */
#include "solver/internal.h"

enum { METRICS_BINS = 1 << 20, METRICS_ARENA = 2 * METRICS_BINS };

struct bin {
    double score;
    unsigned long long positive, negative;
};

struct klr_metrics {
    size_t k;
    double *label; /* (k) */
    unsigned long long count, correct;
    unsigned long long judged; /* with a known label and probabilities */
    double log_loss, brier;    /* sums over them */
    struct bin *bin;
    size_t bins, capacity;
};

int klr_metrics_create(struct klr_metrics **out, size_t classes,
                       const double *labels, struct klr_error *err)
{
    struct klr_metrics *metrics = klr_zalloc(1, sizeof *metrics, err);
    *out = NULL;
    if (!metrics)
        return KLR_E_MEMORY;
    metrics->label = klr_alloc(classes, sizeof *labels, err);
    if (!metrics->label) {
        klr_metrics_free(metrics);
        return KLR_E_MEMORY;
    }
    memcpy(metrics->label, labels, classes * sizeof *labels);
    metrics->k = classes;
    *out = metrics;
    return 0;
}

struct klr_metrics *klr_metrics_free(struct klr_metrics *metrics)
{
    if (!metrics)
        return NULL;
    klr_free(metrics->label);
    klr_free(metrics->bin);
    return klr_free(metrics);
}

/* ---- Bins ---- */

static int bin_compare(const void *a, const void *b)
{
    double x = ((const struct bin *)a)->score;
    double y = ((const struct bin *)b)->score;
    return (x > y) - (x < y);
}

static void bin_add(struct bin *bin, const struct bin *other)
{
    bin->positive += other->positive;
    bin->negative += other->negative;
}

/* Sort; one bin per score. */
static void bins_compact(struct klr_metrics *metrics)
{
    struct bin *bin = metrics->bin;
    size_t kept = 0;
    if (!metrics->bins)
        return;
    qsort(bin, metrics->bins, sizeof *bin, bin_compare);
    for (size_t i = 1; i < metrics->bins; i++)
        if (bin[i].score == bin[kept].score)
            bin_add(&bin[kept], &bin[i]);
        else
            bin[++kept] = bin[i];
    metrics->bins = kept + 1;
}

/* Of sorted bins, merge (0, 1), (2, 3) ...; a pair takes its first score. */
static void bins_halve(struct klr_metrics *metrics)
{
    struct bin *bin = metrics->bin;
    size_t half = 0;
    for (size_t i = 0; i < metrics->bins; i += 2) {
        bin[half] = bin[i];
        if (i + 1 < metrics->bins)
            bin_add(&bin[half], &bin[i + 1]);
        half++;
    }
    metrics->bins = half;
}

static int bins_append(struct klr_metrics *metrics, double score, bool positive,
                       struct klr_error *err)
{
    if (metrics->bins == METRICS_ARENA) {
        bins_compact(metrics);
        if (metrics->bins > METRICS_BINS)
            bins_halve(metrics);
    }
    struct bin *grown = klr_grow(metrics->bin, &metrics->capacity,
                                 metrics->bins + 1, sizeof *grown, err);
    if (!grown)
        return KLR_E_MEMORY;
    metrics->bin = grown;
    grown[metrics->bins++] = (struct bin){
        .score = score,
        .positive = positive,
        .negative = !positive,
    };
    return 0;
}

/* NaN unless both classes have been seen. */
static double bins_area(const struct klr_metrics *metrics)
{
    double positive = 0, negative = 0, area = 0;
    for (size_t i = 0; i < metrics->bins; i++) {
        const struct bin *bin = &metrics->bin[i];
        double p = (double)bin->positive, n = (double)bin->negative;
        area += p * (negative + n / 2);
        positive += p;
        negative += n;
    }
    return positive > 0 && negative > 0 ? area / positive / negative
                                        : (double)NAN;
}

/* ---- Sums ---- */

/* Index of a label; k if the model does not know it. */
static size_t metrics_class(const struct klr_metrics *metrics, double label)
{
    size_t c = 0;
    while (c < metrics->k && metrics->label[c] != label)
        c++;
    return c;
}

static void metrics_judge(struct klr_metrics *metrics, size_t truth,
                          const double *probability)
{
    /* The smallest positive double instead of 0: the loss stays finite. */
    double p = fmax(probability[truth], 4.9406564584124654e-324);
    double sum = 0;
    for (size_t c = 0; c < metrics->k; c++) {
        double d = probability[c] - (c == truth);
        sum += d * d;
    }
    metrics->judged++;
    metrics->log_loss -= log(p);
    metrics->brier += metrics->k == 2 ? sum / 2 : sum;
}

int klr_metrics_add(struct klr_metrics *metrics, double truth, double predicted,
                    const double *probability, double score,
                    struct klr_error *err)
{
    size_t c = metrics_class(metrics, truth);
    metrics->count++;
    if (c == metrics->k)
        return 0;
    metrics->correct += truth == predicted;
    if (probability)
        metrics_judge(metrics, c, probability);
    return metrics->k == 2 ? bins_append(metrics, score, c == 0, err) : 0;
}

void klr_metrics_values(struct klr_metrics *metrics,
                        struct klr_metric_values *values)
{
    double judged = (double)metrics->judged;
    bins_compact(metrics);
    *values = (struct klr_metric_values){
        .count = metrics->count,
        .correct = metrics->correct,
        .accuracy = metrics->count
                        ? (double)metrics->correct / (double)metrics->count
                        : (double)NAN,
        .log_loss = judged > 0 ? metrics->log_loss / judged : (double)NAN,
        .brier = judged > 0 ? metrics->brier / judged : (double)NAN,
        .auc = bins_area(metrics),
    };
}
