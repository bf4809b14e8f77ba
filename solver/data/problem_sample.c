/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A stratified sample of a problem: each class has its share of the rows, and
 * at least SAMPLE_OF_CLASS of them, so that folds of a rare class stay
 * possible.
 */
#include "solver/data/data.h"

enum { SAMPLE_OF_CLASS = 10 };

struct labelled_row {
    double label;
    size_t row;
};

static int compare_labelled(const void *a, const void *b)
{
    const struct labelled_row *x = a, *y = b;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int compare_positions(const void *a, const void *b)
{
    const size_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* How many rows of a class of `count` among n go into a sample of `size`. */
static size_t sample_share(size_t count, size_t n, size_t size)
{
    double share = (double)count * (double)size / (double)n;
    size_t least = count < SAMPLE_OF_CLASS ? count : (size_t)SAMPLE_OF_CLASS;
    size_t wanted = (size_t)(share + 0.5);
    return wanted > least ? wanted : least;
}

/* Bring the rows of the sample to the front of row (n), ascending; returns how
 * many there are. Each class is drawn for itself, seeded by its first row: the
 * draw does not depend on the names of classes. */
static size_t sample_choose(const struct labelled_row *sorted, size_t n,
                            size_t size, uint64_t seed, size_t *row)
{
    size_t chosen = 0;
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i; next < n && sorted[next].label == sorted[i].label;
             next++)
            row[chosen + next - i] = sorted[next].row;
        uint64_t state = seed + sorted[i].row;
        chosen += random_choose(&state, row + chosen, next - i,
                                sample_share(next - i, n, size));
    }
    qsort(row, chosen, sizeof *row, compare_positions);
    return chosen;
}

static int sample_copy(struct klr_problem *sample,
                       const struct klr_problem *problem, const size_t *row,
                       size_t n, struct klr_error *err)
{
    struct klr_features x = problem_features(problem);
    size_t entries;
    *sample = (struct klr_problem){.dimension = problem->dimension,
                                   .has_zero = problem->has_zero};
    if (!(sample->label = klr_alloc(n, sizeof *sample->label, err)) ||
        !(sample->start = klr_alloc(n + 1, sizeof *sample->start, err)))
        return KLR_E_MEMORY;
    entries = klr_features_starts(&x, row, n, sample->start);
    if (!(sample->index = klr_alloc(entries, sizeof *sample->index, err)) ||
        !(sample->value = klr_alloc(entries, sizeof *sample->value, err)) ||
        names_copy(&sample->names, problem->names, err))
        return KLR_E_MEMORY;
    klr_features_copy(&x, row, n, sample->start, sample->index, sample->value);
    for (size_t i = 0; i < n; i++)
        sample->label[i] = problem->label[row[i]];
    sample->n = n;
    return 0;
}

int klr_problem_sample(struct klr_problem *sample,
                       const struct klr_problem *problem, size_t size,
                       long long seed, struct klr_error *err)
{
    size_t n = problem->n;
    struct labelled_row *sorted = klr_alloc(n, sizeof *sorted, err);
    size_t *row = klr_alloc(n, sizeof *row, err);
    int code = sorted && row ? 0 : KLR_E_MEMORY;
    *sample = (struct klr_problem){0};
    for (size_t i = 0; i < n && !code; i++)
        sorted[i] = (struct labelled_row){problem->label[i], i};
    if (!code) {
        qsort(sorted, n, sizeof *sorted, compare_labelled);
        size_t chosen = sample_choose(sorted, n, size, (uint64_t)seed, row);
        code = sample_copy(sample, problem, row, chosen, err);
    }
    if (code)
        klr_problem_free(sample);
    klr_free(sorted);
    klr_free(row);
    return code;
}
