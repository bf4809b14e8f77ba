/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of the examples: classes, folds, labels.
 */
#include "solver.c"

#include "tests/tap.h"

enum { N = 103 };

static struct klr_problem problem_of(double *label, size_t n)
{
    return (struct klr_problem){.n = n, .label = label};
}

static bool is_permutation(const size_t *order, size_t n)
{
    bool *seen = calloc(n, sizeof *seen), good = true;
    for (size_t i = 0; i < n; i++) {
        good = good && order[i] < n && !seen[order[i]];
        if (order[i] < n)
            seen[order[i]] = true;
    }
    free(seen);
    return good;
}

/* Every cell holds its class, in the order of the file. */
static bool is_sorted(const struct layout *layout, const double *label)
{
    for (size_t c = 0; c < layout->k * layout->folds; c++)
        for (size_t p = layout->begin[c]; p < layout->begin[c + 1]; p++) {
            if (label[layout->order[p]] != layout->label[c / layout->folds])
                return false;
            if (p > layout->begin[c] && layout->order[p] < layout->order[p - 1])
                return false;
        }
    return layout->begin[layout->k * layout->folds] == layout->n;
}

static void test_labels(void)
{
    double two[] = {-1, 1, -1, -1, 1}, three[] = {3, 1, 2, 1, 3, 2.5, 2};
    struct klr_problem problem = problem_of(two, 5);
    struct layout layout;
    struct klr_error err;
    ok(layout_create(&layout, &problem, NULL, 1, 0, &err) == 0 &&
           layout.label[0] == 1 && layout.label[1] == -1,
       "two classes: the larger label is first");
    ok(is_permutation(layout.order, 5) && is_sorted(&layout, two),
       "sorted by class, stably");
    layout_free(&layout);
    ok(layout_create(&layout, &problem, "-1", 1, 0, &err) == 0 &&
           layout.label[0] == -1 && layout.label[1] == 1 &&
           is_sorted(&layout, two),
       "--positive comes first");
    layout_free(&layout);
    ok(layout_create(&layout, &problem, "7", 1, 0, &err) == KLR_E_USAGE,
       "--positive must occur: %s", err.message);
    problem = problem_of(three, 7);
    ok(layout_create(&layout, &problem, NULL, 1, 0, &err) == 0 &&
           layout.k == 4 && layout.label[0] == 1 && layout.label[2] == 2.5 &&
           is_sorted(&layout, three),
       "more classes: ascending, decimals allowed");
    layout_free(&layout);
    ok(layout_create(&layout, &problem, "1", 1, 0, &err) == KLR_E_USAGE,
       "--positive with four classes: %s", err.message);
}

static void test_refusals(void)
{
    double same[] = {1, 1, 1}, target[N];
    struct klr_problem problem = problem_of(same, 3);
    struct layout layout;
    struct klr_error err;
    ok(layout_create(&layout, &problem, NULL, 1, 0, &err) == KLR_E_DATA,
       "one class: %s", err.message);
    for (size_t i = 0; i < N; i++)
        target[i] = (double)(i % 40);
    problem = problem_of(target, N);
    ok(layout_create(&layout, &problem, NULL, 1, 0, &err) == KLR_E_DATA,
       "regression targets: %s", err.message);
    for (size_t i = 0; i < N; i++)
        target[i] = (double)(i % 34);
    ok(layout_create(&layout, &problem, NULL, 1, 0, &err) == 0,
       "n/3 classes are accepted");
    layout_free(&layout);
    double few[] = {1, 2, 1};
    problem = problem_of(few, 3);
    ok(layout_create(&layout, &problem, NULL, 4, 0, &err) == KLR_E_USAGE,
       "more folds than examples: %s", err.message);
}

/* Sizes of folds, in all and within a class, differ by one at most. */
static bool is_balanced(const struct layout *layout)
{
    size_t low = SIZE_MAX, high = 0;
    for (size_t f = 0; f < layout->folds; f++) {
        size_t total = 0;
        for (size_t c = 0; c < layout->k; c++) {
            const size_t *begin = layout->begin + c * layout->folds;
            size_t size = begin[f + 1] - begin[f];
            size_t share = (begin[layout->folds] - begin[0]) / layout->folds;
            if (size < share || size > share + 1)
                return false;
            total += size;
        }
        low = total < low ? total : low;
        high = total > high ? total : high;
    }
    return high - low <= 1;
}

static void test_folds(void)
{
    double label[N];
    struct klr_problem problem = problem_of(label, N);
    struct layout a, b, c;
    struct klr_error err;
    for (size_t i = 0; i < N; i++)
        label[i] = i % 7 == 0 ? 2 : i % 3 == 0 ? 1 : 0;
    layout_create(&a, &problem, NULL, 5, 1, &err);
    layout_create(&b, &problem, NULL, 5, 1, &err);
    layout_create(&c, &problem, NULL, 5, 2, &err);
    ok(is_permutation(a.order, N) && is_sorted(&a, label),
       "folds: sorted by class and fold");
    ok(is_balanced(&a) && is_balanced(&c), "folds are stratified");
    ok(memcmp(a.order, b.order, sizeof label) == 0, "same seed, same folds");
    ok(memcmp(a.order, c.order, sizeof label) != 0, "other seed, other folds");
    for (size_t leave = 0; leave <= a.folds; leave++) {
        struct klr_range range[2];
        size_t count = 0, size = layout_class(&a, 1, leave, range, &count);
        size_t whole = a.begin[2 * 5] - a.begin[5];
        size_t hole =
            leave < 5 ? a.begin[5 + leave + 1] - a.begin[5 + leave] : 0;
        bool good = size == whole - hole && count >= 1 && count <= 2;
        for (size_t r = 0; good && leave < 5 && r < count; r++)
            good = range[r].end <= a.begin[5 + leave] ||
                   range[r].begin >= a.begin[5 + leave + 1];
        ok(good, "class without fold %zu: %zu of %zu", leave, size, whole);
    }
    layout_free(&a);
    layout_free(&b);
    layout_free(&c);
}

int main(void)
{
    test_labels();
    test_refusals();
    test_folds();
    return done_testing();
}
