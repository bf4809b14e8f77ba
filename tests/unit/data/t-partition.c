/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of the examples: classes, folds, labels.
 */
#define SOLVER_FLOOR 4
#include "solver.c"

#include "tests/tap.h"

enum { N = 103 };

static const struct fold_plan deal_none = {.folds = 1, .parts = 1};

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
static bool is_sorted(const struct partition *partition, const double *label)
{
    for (size_t c = 0; c < partition->k * partition->folds; c++)
        for (size_t p = partition->begin[c]; p < partition->begin[c + 1]; p++) {
            if (label[partition->order[p]] !=
                partition->label[c / partition->folds])
                return false;
            if (p > partition->begin[c] &&
                partition->order[p] < partition->order[p - 1])
                return false;
        }
    return partition->begin[partition->k * partition->folds] == partition->n;
}

static void test_labels(void)
{
    double two[] = {-1, 1, -1, -1, 1}, three[] = {3, 1, 2, 1, 3, 2.5, 2};
    struct klr_problem problem = problem_of(two, 5);
    struct partition partition;
    struct klr_error err;
    ok(partition_create(&partition, &problem, NULL, deal_none, &err) == 0 &&
           partition.label[0] == 1 && partition.label[1] == -1,
       "two classes: the larger label is first");
    ok(is_permutation(partition.order, 5) && is_sorted(&partition, two),
       "sorted by class, stably");
    partition_free(&partition);
    ok(partition_create(&partition, &problem, "-1", deal_none, &err) == 0 &&
           partition.label[0] == -1 && partition.label[1] == 1 &&
           is_sorted(&partition, two),
       "--positive comes first");
    partition_free(&partition);
    ok(partition_create(&partition, &problem, "7", deal_none, &err) ==
           KLR_E_USAGE,
       "--positive must occur: %s", err.message);
    problem = problem_of(three, 7);
    ok(partition_create(&partition, &problem, NULL, deal_none, &err) == 0 &&
           partition.k == 4 && partition.label[0] == 1 &&
           partition.label[2] == 2.5 && is_sorted(&partition, three),
       "more classes: ascending, decimals allowed");
    partition_free(&partition);
    ok(partition_create(&partition, &problem, "1", deal_none, &err) ==
           KLR_E_USAGE,
       "--positive with four classes: %s", err.message);
}

/* Labels are indices of names. */
static void test_names(void)
{
    double two[] = {0, 0, 1, 0, 1}, three[] = {0, 1, 1, 2, 0, 2}, many[N];
    struct klr_problem problem = problem_of(two, 5);
    struct partition partition;
    struct klr_error err;
    size_t index, c;
    const char *const name[] = {"b", "a", "+1"};
    for (size_t i = 0; i < 3; i++)
        names_add(&problem.names, name[i], strlen(name[i]), &index, &err);
    struct klr_names *names = problem.names;
    ok(partition_create(&partition, &problem, NULL, deal_none, &err) == 0 &&
           partition.label[0] == 1 && partition.label[1] == 0 &&
           is_sorted(&partition, two),
       "two names: the larger one is first");
    partition_free(&partition);
    ok(partition_create(&partition, &problem, "b", deal_none, &err) == 0 &&
           partition.label[0] == 0 && partition.label[1] == 1 &&
           is_sorted(&partition, two),
       "--positive comes first");
    ok(partition_find(&partition, "-w", "a", &c, &err) == 0 && c == 1 &&
           partition_find(&partition, "-w", "bb", &c, &err) == KLR_E_USAGE &&
           partition_find(&partition, "-w", "0", &c, &err) == KLR_E_USAGE,
       "options name classes, not indices: %s", err.message);
    partition_free(&partition);
    problem = problem_of(three, 6);
    problem.names = names;
    ok(partition_create(&partition, &problem, NULL, deal_none, &err) == 0 &&
           partition.k == 3 && partition.label[0] == 0 &&
           partition.label[2] == 2 &&
           partition_find(&partition, "-w", "+1", &c, &err) == 0 && c == 2 &&
           partition_find(&partition, "-w", "1", &c, &err) == KLR_E_USAGE,
       "more names: ascending, and byte for byte");
    partition_free(&partition);
    for (size_t i = 0; i < N; i++)
        many[i] = (double)(i % 40);
    problem = problem_of(many, N);
    problem.names = names;
    ok(partition_create(&partition, &problem, NULL, deal_none, &err) ==
               KLR_E_DATA &&
           strstr(err.message, "names of examples"),
       "%s", err.message);
    klr_names_free(names);
}

static void test_refusals(void)
{
    double same[] = {1, 1, 1}, target[N];
    struct klr_problem problem = problem_of(same, 3);
    struct partition partition;
    struct klr_error err;
    ok(partition_create(&partition, &problem, NULL, deal_none, &err) ==
           KLR_E_DATA,
       "one class: %s", err.message);
    for (size_t i = 0; i < N; i++)
        target[i] = (double)(i % 40);
    problem = problem_of(target, N);
    ok(partition_create(&partition, &problem, NULL, deal_none, &err) ==
           KLR_E_DATA,
       "regression targets: %s", err.message);
    for (size_t i = 0; i < N; i++)
        target[i] = (double)(i % 34);
    ok(partition_create(&partition, &problem, NULL, deal_none, &err) == 0,
       "n/3 classes are accepted");
    partition_free(&partition);
    double each[3000];
    for (size_t i = 0; i < 3000; i++)
        each[i] = (double)(i * 7 % 1501);
    problem = problem_of(each, 3000);
    ok(klr_problem_check_labels(&problem, &err) == KLR_E_DATA &&
           strstr(err.message, "1501 distinct labels in 3000 examples"),
       "no more than 1000: %s", err.message);
    for (size_t i = 0; i < 3000; i++)
        each[i] = (double)(i * 7 % 1000);
    ok(klr_problem_check_labels(&problem, &err) == 0, "... are accepted");
    double few[] = {1, 2, 1};
    problem = problem_of(few, 3);
    ok(partition_create(&partition, &problem, NULL,
                        (struct fold_plan){4, 1, 0, NULL}, &err) == KLR_E_USAGE,
       "more folds than examples: %s", err.message);
}

/* Sizes of folds, in all and within a class, differ by one at most. */
static bool is_balanced(const struct partition *partition)
{
    size_t low = SIZE_MAX, high = 0;
    for (size_t f = 0; f < partition->folds; f++) {
        size_t total = 0;
        for (size_t c = 0; c < partition->k; c++) {
            const size_t *begin = partition->begin + c * partition->folds;
            size_t size = begin[f + 1] - begin[f];
            size_t share =
                (begin[partition->folds] - begin[0]) / partition->folds;
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
    struct partition a, b, c;
    struct klr_error err;
    for (size_t i = 0; i < N; i++)
        label[i] = i % 7 == 0 ? 2 : i % 3 == 0 ? 1 : 0;
    partition_create(&a, &problem, NULL, (struct fold_plan){5, 1, 1, NULL},
                     &err);
    partition_create(&b, &problem, NULL, (struct fold_plan){5, 1, 1, NULL},
                     &err);
    partition_create(&c, &problem, NULL, (struct fold_plan){5, 1, 2, NULL},
                     &err);
    ok(is_permutation(a.order, N) && is_sorted(&a, label),
       "folds: sorted by class and fold");
    ok(is_balanced(&a) && is_balanced(&c), "folds are stratified");
    ok(memcmp(a.order, b.order, N * sizeof *a.order) == 0,
       "same seed, same folds");
    ok(memcmp(a.order, c.order, N * sizeof *a.order) != 0,
       "other seed, other folds");
    for (size_t leave = 0; leave <= a.folds; leave++) {
        struct klr_range range[6];
        size_t count = 0;
        partition_kept(&a, 1, (struct held_out){leave, 1}, range, &count);
        size_t size = set_of(range, count).size;
        size_t whole = a.begin[2 * 5] - a.begin[5];
        size_t hole =
            leave < 5 ? a.begin[5 + leave + 1] - a.begin[5 + leave] : 0;
        bool good = size == whole - hole && count >= 1 && count <= 2;
        for (size_t r = 0; good && leave < 5 && r < count; r++)
            good = range[r].end <= a.begin[5 + leave] ||
                   range[r].begin >= a.begin[5 + leave + 1];
        ok(good, "class without fold %zu: %zu of %zu", leave, size, whole);
    }
    partition_free(&a);
    partition_free(&b);
    partition_free(&c);
}

/* Positions that ranges of all classes have, counted. */
static void count_positions(const struct partition *partition,
                            struct held_out held_out, bool held, int *times)
{
    struct klr_range range[8];
    for (size_t c = 0; c < partition->k; c++) {
        size_t count = 0;
        if (held)
            partition_held(partition, c, held_out, range, &count);
        else
            partition_kept(partition, c, held_out, range, &count);
        for (size_t r = 0; r < count; r++)
            for (size_t p = range[r].begin; p < range[r].end; p++)
                times[p]++;
    }
}

/* The complement of a fold is the union of its parts, each of which is held
 * once and kept beside all others; folds are those without parts. */
static void test_parts(void)
{
    double label[N];
    struct klr_problem problem = problem_of(label, N);
    struct partition a, b;
    struct klr_error err;
    for (size_t i = 0; i < N; i++)
        label[i] = i % 7 == 0 ? 2 : i % 3 == 0 ? 1 : 0;
    partition_create(&a, &problem, NULL, (struct fold_plan){4, 3, 9, NULL},
                     &err);
    partition_create(&b, &problem, NULL, (struct fold_plan){4, 1, 9, NULL},
                     &err);
    bool fold_of[2][4][N] = {{{false}}};
    for (size_t cell = 0; cell < a.k * 4 * 3; cell++)
        for (size_t p = a.begin[cell]; p < a.begin[cell + 1]; p++)
            fold_of[0][cell / 3 % 4][a.order[p]] = true;
    for (size_t cell = 0; cell < b.k * 4; cell++)
        for (size_t p = b.begin[cell]; p < b.begin[cell + 1]; p++)
            fold_of[1][cell % 4][b.order[p]] = true;
    ok(memcmp(fold_of[0], fold_of[1], sizeof fold_of[0]) == 0,
       "folds do not depend on parts");
    for (size_t f = 0; f <= 4; f++) {
        int held[N] = {0}, kept[N] = {0}, own[N] = {0};
        bool good = true;
        for (size_t p = 0; p < 3; p++) {
            count_positions(&a, (struct held_out){f, p}, true, held);
            count_positions(&a, (struct held_out){f, p}, false, kept);
        }
        count_positions(&a, (struct held_out){f, 3}, false, own);
        for (size_t p = 0; p < N; p++) {
            bool in = f == 4 || !fold_of[0][f][a.order[p]];
            good = good && held[p] == in && kept[p] == 2 * in && own[p] == in;
        }
        ok(good, "parts of the complement of fold %zu", f);
    }
    partition_free(&a);
    partition_free(&b);
}

/* Folds and parts of classes that are called otherwise are the same ones. */
static void test_renamed(void)
{
    static const double name[2][4] = {{1, 2, 3, 4}, {3, 9, -1, 2}};
    double label[N];
    size_t held[2][N];
    struct klr_problem problem = problem_of(label, N);
    struct partition partition;
    struct klr_error err;
    for (size_t k = 2; k <= 4; k++) {
        for (size_t w = 0; w < 2; w++) {
            for (size_t i = 0; i < N; i++)
                label[i] = name[w][(i + 5) % 7 % k];
            partition_create(&partition, &problem, NULL,
                             (struct fold_plan){5, 3, 1, NULL}, &err);
            for (size_t cell = 0; cell < k * 15; cell++)
                for (size_t p = partition.begin[cell];
                     p < partition.begin[cell + 1]; p++)
                    held[w][partition.order[p]] = cell % 15;
            partition_free(&partition);
        }
        ok(memcmp(held[0], held[1], sizeof held[0]) == 0,
           "%zu classes: the same folds and parts by other names", k);
    }
}

/* Each example lies in the fold that was given, whatever the seed; its parts
 * are dealt. */
static void test_given_folds(void)
{
    double label[N];
    size_t fold[N], least = N, most = 0;
    struct klr_problem problem = problem_of(label, N);
    struct partition partition;
    struct klr_error err;
    bool same = true;
    for (size_t i = 0; i < N; i++) {
        label[i] = (double)(i % 3);
        fold[i] = i * i % 5 == 1 ? 3 : i % 2;
    }
    partition_create(&partition, &problem, NULL,
                     (struct fold_plan){4, 2, 7, fold}, &err);
    for (size_t cell = 0; cell < 3 * 4 * 2; cell++)
        for (size_t p = partition.begin[cell]; p < partition.begin[cell + 1];
             p++)
            same = same && fold[partition.order[p]] == cell / 2 % 4 &&
                   label[partition.order[p]] == (double)(cell / 8);
    for (size_t part = 0; part < 2; part++) {
        size_t size = 0;
        for (size_t c = 0; c < 3; c++) {
            const size_t *begin = partition.begin + (c * 4 + 3) * 2 + part;
            size += begin[1] - begin[0];
        }
        least = size < least ? size : least;
        most = size > most ? size : most;
    }
    ok(same && is_permutation(partition.order, N), "folds that are given");
    ok(most - least <= 1, "have parts of %zu and %zu", least, most);
    partition_free(&partition);
    fold[N - 1] = 4;
    ok(partition_create(&partition, &problem, NULL,
                        (struct fold_plan){4, 1, 7, fold}, &err) == KLR_E_USAGE,
       "a fold that does not exist: %s", err.message);
}

int main(void)
{
    test_given_folds();
    test_labels();
    test_names();
    test_refusals();
    test_folds();
    test_parts();
    test_renamed();
    return done_testing();
}
