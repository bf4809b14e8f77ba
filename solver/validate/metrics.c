/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Running metrics of predictions: sums over the examples, among them a
 * confusion matrix, from which all metrics of labels alone follow. Its last row
 * has the examples of labels that the model does not know: one class more,
 * which is never predicted.
 *
 * The area under the ROC curve is the share of pairs (positive, negative) in
 * which the positive one has the larger score, ties counting one half. Scores
 * are kept as bins (score, positives, negatives): new ones are appended, and
 * when the arena is full it is sorted and equal scores become one bin. If more
 * than BINS remain, neighbours are merged two by two, which makes a tie of at
 * most every second bin: an error of the order of 1 / BINS.
 */
#include "solver/validate/validate.h"

enum { METRICS_BINS = 1 << 20, METRICS_ARENA = 2 * METRICS_BINS };
enum { METRICS_STEPS = 15 }; /* of the calibration error */

struct bin {
    double score;
    unsigned long long positive, negative;
};

struct klr_metrics {
    size_t k;
    double *label;                 /* (k) */
    unsigned long long *confusion; /* (k + 1, k): true class, predicted class */
    unsigned long long judged;     /* with a known label and probabilities */
    double log_loss, brier;        /* sums over them */
    double excess[METRICS_STEPS];  /* sum of [right] - p(answer), by p(answer):
                                      step s has those in [s, s + 1) / 15 */
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
    metrics->confusion =
        klr_zalloc(classes + 1, classes * sizeof *metrics->confusion, err);
    if (!metrics->label || !metrics->confusion) {
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
    klr_free(metrics->confusion);
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

/* A byte of an integer in the order of the scores. */
static size_t bin_byte(const struct bin *bin, int shift)
{
    const uint64_t sign = (uint64_t)1 << 63;
    uint64_t bits;
    memcpy(&bits, &bin->score, sizeof bits);
    bits = bits & sign ? ~bits : bits | sign;
    return bits >> shift & 255;
}

enum { BIN_BYTE = 256, BIN_SHIFT = 56 }; /* values of a byte; the highest */

/* Those of each value of the byte together, value v before end[v]. */
static void bins_divide(struct bin *bin, size_t n, int shift, size_t *end)
{
    size_t next[BIN_BYTE], begin = 0;
    memset(end, 0, BIN_BYTE * sizeof *end);
    for (size_t i = 0; i < n; i++)
        end[bin_byte(&bin[i], shift)]++;
    for (size_t v = 0; v < BIN_BYTE; v++) {
        next[v] = begin;
        begin = end[v] += begin;
    }
    for (size_t v = 0; v < BIN_BYTE; v++)
        while (next[v] < end[v]) {
            struct bin *from = &bin[next[v]], moved = *from;
            struct bin *to = &bin[next[bin_byte(from, shift)]++];
            *from = *to;
            *to = moved;
        }
}

/* In place, by the byte at `shift` and those below it (American flag sort): of
 * many in less time than by qsort, and without its memory. */
static void bins_sort(struct bin *bin, size_t n, int shift)
{
    enum { FEW = 32 };
    size_t end[BIN_BYTE], begin = 0;
    if (n <= FEW)
        qsort(bin, n, sizeof *bin, bin_compare);
    if (n <= FEW || shift < 0)
        return; /* without a byte that is left all are equal */
    bins_divide(bin, n, shift, end);
    for (size_t v = 0; v < BIN_BYTE; begin = end[v++])
        bins_sort(bin + begin, end[v] - begin, shift - 8);
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
    bins_sort(bin, metrics->bins, BIN_SHIFT);
    for (size_t i = 1; i < metrics->bins; i++)
        if (bin[i].score == bin[kept].score)
            bin_add(&bin[kept], &bin[i]);
        else
            bin[++kept] = bin[i];
    metrics->bins = kept + 1;
}

/* Merge the sorted bins (0, 1), (2, 3) ...; a pair takes its first score. */
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

/* Room for one more. */
static void bins_bound(struct klr_metrics *metrics)
{
    if (metrics->bins < METRICS_ARENA)
        return;
    bins_compact(metrics);
    while (metrics->bins > METRICS_BINS)
        bins_halve(metrics);
}

static int bins_append(struct klr_metrics *metrics, double score, bool positive,
                       struct klr_error *err)
{
    bins_bound(metrics);
    if (KLR_GROW(metrics->bin, metrics->capacity, metrics->bins + 1, err))
        return KLR_E_MEMORY;
    metrics->bin[metrics->bins++] = (struct bin){
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
                          size_t answer, const double *probability)
{
    /* The smallest positive double instead of 0: the loss stays finite. */
    double p = fmax(probability[truth], 4.9406564584124654e-324);
    double sum = 0, sure = fmin(probability[answer], 1);
    size_t step = (size_t)(sure * METRICS_STEPS);
    for (size_t c = 0; c < metrics->k; c++) {
        double d = probability[c] - (c == truth);
        sum += d * d;
    }
    metrics->judged++;
    metrics->log_loss -= log(p);
    metrics->brier += metrics->k == 2 ? sum / 2 : sum;
    metrics->excess[step < METRICS_STEPS ? step : METRICS_STEPS - 1] +=
        (truth == answer) - sure;
}

int klr_metrics_add(struct klr_metrics *metrics, double truth, double predicted,
                    const double *probability, double score,
                    struct klr_error *err)
{
    size_t c = metrics_class(metrics, truth);
    size_t answer = metrics_class(metrics, predicted);
    if (answer == metrics->k)
        return klr_fail(err, KLR_E_USAGE, "no class has the label %.15g",
                        predicted);
    metrics->confusion[c * metrics->k + answer]++;
    if (c == metrics->k)
        return 0;
    if (probability)
        metrics_judge(metrics, c, answer, probability);
    return metrics->k == 2 ? bins_append(metrics, score, c == 0, err) : 0;
}

static int metrics_join(struct klr_metrics *metrics,
                        const struct klr_metrics *more, struct klr_error *err)
{
    size_t k = metrics->k, bins = metrics->bins + more->bins;
    if (KLR_GROW(metrics->bin, metrics->capacity, bins, err))
        return KLR_E_MEMORY;
    for (size_t b = 0; b < more->bins; b++)
        metrics->bin[metrics->bins++] = more->bin[b];
    bins_bound(metrics);
    for (size_t cell = 0; cell < (k + 1) * k; cell++)
        metrics->confusion[cell] += more->confusion[cell];
    for (size_t step = 0; step < METRICS_STEPS; step++)
        metrics->excess[step] += more->excess[step];
    metrics->judged += more->judged;
    metrics->log_loss += more->log_loss;
    metrics->brier += more->brier;
    return 0;
}

/* ---- As numbers ---- */

/* Judged, log loss, Brier score, excess, confusion matrix; then three numbers
 * for each bin. */
static size_t metrics_fixed(const struct klr_metrics *metrics)
{
    return 3 + METRICS_STEPS + (metrics->k + 1) * metrics->k;
}

/* Finite, in the same order. */
static double bounded(double score)
{
    return fmax(-DBL_MAX, fmin(score, DBL_MAX));
}

int klr_metrics_numbers(struct klr_metrics *metrics, double **numbers,
                        size_t *count, struct klr_error *err)
{
    size_t cells = (metrics->k + 1) * metrics->k;
    bins_compact(metrics);
    *count = metrics_fixed(metrics) + 3 * metrics->bins;
    double *next = *numbers = klr_alloc(*count, sizeof *next, err);
    if (!next)
        return KLR_E_MEMORY;
    *next++ = (double)metrics->judged;
    *next++ = metrics->log_loss;
    *next++ = metrics->brier;
    for (size_t step = 0; step < METRICS_STEPS; step++)
        *next++ = metrics->excess[step];
    for (size_t cell = 0; cell < cells; cell++)
        *next++ = (double)metrics->confusion[cell];
    for (size_t b = 0; b < metrics->bins; b++) {
        *next++ = bounded(metrics->bin[b].score);
        *next++ = (double)metrics->bin[b].positive;
        *next++ = (double)metrics->bin[b].negative;
    }
    return 0;
}

static bool is_count(double value)
{
    return value >= 0 && value <= 9007199254740992 && value == floor(value);
}

/* Numbers from `first` on, each `step`, are counts. */
static bool are_counts(const double *numbers, size_t first, size_t count,
                       size_t step)
{
    while (first < count && is_count(numbers[first]))
        first += step;
    return first >= count;
}

int klr_metrics_add_numbers(struct klr_metrics *metrics, const double *numbers,
                            size_t count, struct klr_error *err)
{
    size_t fixed = metrics_fixed(metrics), cells = 3 + METRICS_STEPS;
    if (count < fixed || (count - fixed) % 3 || !is_count(numbers[0]) ||
        !are_counts(numbers, cells, fixed, 1) ||
        !are_counts(numbers, fixed + 1, count, 3) ||
        !are_counts(numbers, fixed + 2, count, 3))
        return klr_fail(err, KLR_E_DATA, "not the sums of a fold");
    metrics->judged += (unsigned long long)numbers[0];
    metrics->log_loss += numbers[1];
    metrics->brier += numbers[2];
    for (size_t step = 0; step < METRICS_STEPS; step++)
        metrics->excess[step] += numbers[3 + step];
    for (size_t i = cells; i < fixed; i++)
        metrics->confusion[i - cells] += (unsigned long long)numbers[i];
    size_t bins = (count - fixed) / 3;
    if (KLR_GROW(metrics->bin, metrics->capacity, metrics->bins + bins, err))
        return KLR_E_MEMORY;
    for (const double *next = numbers + fixed; bins > 0; bins--, next += 3)
        metrics->bin[metrics->bins++] = (struct bin){
            next[0], (unsigned long long)next[1], (unsigned long long)next[2]};
    bins_bound(metrics);
    return 0;
}

/* ---- Of the confusion matrix ---- */

/* Counts of the confusion matrix for one class, or for all. */
struct tally {
    double truth, answer; /* examples of the class; answers with it */
    double right;         /* both */
};

/* Class k: the labels that the model does not know. */
static struct tally tally_of(const struct klr_metrics *metrics, size_t c)
{
    size_t k = metrics->k;
    const unsigned long long *confusion = metrics->confusion;
    struct tally tally = {0};
    for (size_t j = 0; j < k; j++)
        tally.truth += (double)confusion[c * k + j];
    if (c == k)
        return tally;
    for (size_t i = 0; i <= k; i++)
        tally.answer += (double)confusion[i * k + c];
    tally.right = (double)confusion[c * k + c];
    return tally;
}

/* A mean, NaN of nothing. */
static double mean_of(double sum, double count)
{
    return count > 0 ? sum / count : (double)NAN;
}

/* The harmonic mean of precision and recall, 2 right / (truth + answer); of two
 * classes that of the first, of more the mean over those that occur. */
static double confusion_f1(const struct klr_metrics *metrics)
{
    size_t k = metrics->k;
    double sum = 0, count = 0;
    for (size_t c = 0; c < (k == 2 ? 1 : k + 1); c++) {
        struct tally tally = tally_of(metrics, c);
        if (tally.truth + tally.answer > 0) {
            sum += 2 * tally.right / (tally.truth + tally.answer);
            count++;
        }
    }
    return mean_of(sum, count);
}

static double confusion_balanced(const struct klr_metrics *metrics)
{
    double sum = 0, count = 0;
    for (size_t c = 0; c <= metrics->k; c++) {
        struct tally tally = tally_of(metrics, c);
        if (tally.truth > 0) {
            sum += tally.right / tally.truth;
            count++;
        }
    }
    return mean_of(sum, count);
}

/* Gorodkin (2004), with r examples right of n, t_c of class c, a_c answers:
 * (n r - sum t_c a_c) / sqrt((n^2 - sum t_c^2) (n^2 - sum a_c^2)). NaN where
 * all are of one class, or all answers. */
static double confusion_mcc(const struct klr_metrics *metrics)
{
    double n = 0, right = 0, both = 0, truths = 0, answers = 0;
    for (size_t c = 0; c <= metrics->k; c++) {
        struct tally tally = tally_of(metrics, c);
        n += tally.truth;
        right += tally.right;
        both += tally.truth * tally.answer;
        truths += tally.truth * tally.truth;
        answers += tally.answer * tally.answer;
    }
    double spread = (n * n - truths) * (n * n - answers);
    return spread > 0 ? (n * right - both) / sqrt(spread) : (double)NAN;
}

/* ---- Values ---- */

static double metrics_calibration(const struct klr_metrics *metrics)
{
    double sum = 0;
    for (size_t step = 0; step < METRICS_STEPS; step++)
        sum += fabs(metrics->excess[step]);
    return mean_of(sum, (double)metrics->judged);
}

void klr_metrics_values(struct klr_metrics *metrics,
                        struct klr_metric_values *values)
{
    double judged = (double)metrics->judged;
    unsigned long long count = 0, correct = 0;
    size_t k = metrics->k;
    for (size_t cell = 0; cell < (k + 1) * k; cell++)
        count += metrics->confusion[cell];
    for (size_t c = 0; c < k; c++)
        correct += metrics->confusion[c * k + c];
    bins_compact(metrics);
    *values = (struct klr_metric_values){
        .count = count,
        .correct = correct,
        .accuracy = mean_of((double)correct, (double)count),
        .balanced = confusion_balanced(metrics),
        .log_loss = mean_of(metrics->log_loss, judged),
        .brier = mean_of(metrics->brier, judged),
        .auc = bins_area(metrics),
        .f1 = confusion_f1(metrics),
        .mcc = confusion_mcc(metrics),
        .ece = metrics_calibration(metrics),
    };
}

size_t klr_metrics_classes(const struct klr_metrics *metrics)
{
    return metrics->k;
}

const double *klr_metrics_labels(const struct klr_metrics *metrics)
{
    return metrics->label;
}

const unsigned long long *
klr_metrics_confusion(const struct klr_metrics *metrics)
{
    return metrics->confusion;
}

/* ---- The best ---- */

/* In the order of enum klr_metric. */
#define METRIC(field) offsetof(struct klr_metric_values, field)

static const struct metric {
    size_t offset; /* in struct klr_metric_values */
    bool loss;     /* small values are the good ones */
    bool probable; /* of probabilities */
} metric_table[] = {
    [KLR_METRIC_ACCURACY] = {METRIC(accuracy), false, false},
    [KLR_METRIC_BALANCED] = {METRIC(balanced), false, false},
    [KLR_METRIC_LOG_LOSS] = {METRIC(log_loss), true, true},
    [KLR_METRIC_BRIER] = {METRIC(brier), true, true},
    [KLR_METRIC_AUC] = {METRIC(auc), false, false},
    [KLR_METRIC_F1] = {METRIC(f1), false, false},
    [KLR_METRIC_MCC] = {METRIC(mcc), false, false},
    [KLR_METRIC_ECE] = {METRIC(ece), true, true},
};

static int metric_check(enum klr_metric metric, size_t k, bool probable,
                        struct klr_error *err)
{
    if (metric_table[metric].probable && !probable)
        return klr_fail(err, KLR_E_USAGE,
                        "option --metric: %s needs probabilities, which -b 1 "
                        "or --link gives a model",
                        klr_metric_names[metric]);
    if (metric == KLR_METRIC_AUC && k != 2)
        return klr_fail(err, KLR_E_USAGE,
                        "option --metric: auc is of two classes; the data have "
                        "%zu",
                        k);
    return 0;
}

enum klr_metric klr_metric_settle(enum klr_metric metric,
                                  const struct klr_metric_values *values)
{
    if (metric != KLR_METRIC_AUTO)
        return metric;
    return isnan(values->log_loss) ? KLR_METRIC_ACCURACY : KLR_METRIC_LOG_LOSS;
}

double klr_metric_value(enum klr_metric metric,
                        const struct klr_metric_values *values)
{
    size_t offset = metric_table[klr_metric_settle(metric, values)].offset;
    return *(const double *)(const void *)((const char *)values + offset);
}

static double *metric_field(enum klr_metric metric,
                            struct klr_metric_values *values)
{
    return (double *)(void *)((char *)values + metric_table[metric].offset);
}

static void values_forget(struct klr_metric_values *values)
{
    *values = (struct klr_metric_values){0};
    for (int m = KLR_METRIC_ACCURACY; m < METRICS; m++)
        *metric_field((enum klr_metric)m, values) = (double)NAN;
}

static bool any_has(enum klr_metric metric,
                    const struct klr_metric_values *values, size_t count)
{
    size_t t = 0;
    while (t < count && isnan(klr_metric_value(metric, &values[t])))
        t++;
    return t < count;
}

enum klr_metric klr_metric_among(enum klr_metric metric,
                                 const struct klr_metric_values *values,
                                 size_t count)
{
    if (metric != KLR_METRIC_AUTO && any_has(metric, values, count))
        return metric;
    return any_has(KLR_METRIC_LOG_LOSS, values, count) ? KLR_METRIC_LOG_LOSS
                                                       : KLR_METRIC_ACCURACY;
}

size_t klr_best_values(enum klr_metric metric,
                       const struct klr_metric_values *values, size_t count)
{
    size_t best = 0;
    metric = klr_metric_among(metric, values, count);
    bool loss = metric_table[metric].loss;
    for (size_t t = 1; t < count; t++) {
        double value = klr_metric_value(metric, &values[t]);
        double record = klr_metric_value(metric, &values[best]);
        if ((loss ? value < record : value > record) ||
            (isnan(record) && !isnan(value)))
            best = t;
    }
    return best;
}

/* A point by its rank: better by the metric, sparser, earlier. */
struct ranked {
    double loss; /* the smaller, the better; infinite where not known */
    size_t n_sv, point;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->loss != y->loss)
        return x->loss < y->loss ? -1 : 1;
    if (x->n_sv != y->n_sv)
        return x->n_sv < y->n_sv ? -1 : 1;
    return x->point < y->point ? -1 : 1;
}

static int metric_sparsest(enum klr_metric metric,
                           const struct klr_metric_values *values,
                           const struct klr_report *report, size_t count,
                           size_t most, size_t *sparsest, struct klr_error *err)
{
    struct ranked *rank = klr_alloc(count, sizeof *rank, err);
    size_t best = 0;
    if (!rank)
        return KLR_E_MEMORY;
    metric = klr_metric_among(metric, values, count);
    int sign = metric_table[metric].loss ? 1 : -1;
    for (size_t t = 0; t < count; t++) {
        double value = klr_metric_value(metric, &values[t]);
        rank[t] = (struct ranked){isnan(value) ? INFINITY : sign * value,
                                  report[t].n_sv, t};
    }
    qsort(rank, count, sizeof *rank, compare_ranked);
    for (size_t r = 1; r < count && r < most; r++)
        if (rank[r].n_sv < rank[best].n_sv && isfinite(rank[r].loss))
            best = r;
    *sparsest = rank[best].point;
    klr_free(rank);
    return 0;
}
