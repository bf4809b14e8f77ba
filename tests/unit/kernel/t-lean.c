/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Points without doubles, and copies of some of them side by side: all entries
 * have the bits that they have by points that keep their doubles, packed or
 * not, however a block is cut.
 */
#include "kernel.c"

#include <stdio.h>

#include "tests/tap.h"

enum { N = 333, D = 7, SOME = 45 };

struct set {
    double value[N * D];
    uint32_t word[N * D];
    size_t start[N + 1], order[N];
    int index[N * D];
    struct klr_packed packed;
    struct klr_features plain, dense;
};

static uint64_t state = 7;

static uint64_t chance(void)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return state >> 33;
}

/* Six digits each, some of them 0, and in a random order. */
static void set_make(struct set *s)
{
    for (size_t i = 0; i < N * D; i++) {
        double value = (double)(chance() % 2000001) / 1e6 - 1;
        s->value[i] = chance() % 10 ? value : 0;
        s->index[i] = (int)(i % D) + 2;
        if (!klr_pack(s->value[i], &s->word[i])) {
            s->value[i] = 0.5;
            klr_pack(0.5, &s->word[i]);
        }
    }
    for (size_t i = 0; i <= N; i++)
        s->start[i] = i * D;
    for (size_t i = 0; i < N; i++) {
        size_t j = chance() % (i + 1);
        s->order[i] = s->order[j];
        s->order[j] = i;
    }
    s->packed =
        (struct klr_packed){.columns = D, .index = s->index, .value = s->word};
    s->plain =
        (struct klr_features){N, D + 1, s->start, s->index, s->value, NULL};
    s->dense = (struct klr_features){N, D + 1, NULL, NULL, NULL, &s->packed};
}

/* Columns in two ranges that begin and end anywhere. */
static struct klr_set columns(struct klr_range range[2])
{
    size_t a = chance() % 100, b = 100 + chance() % 100;
    range[0] = (struct klr_range){a, a + 1 + chance() % (b - a)};
    range[1] = (struct klr_range){b + 1, b + 2 + chance() % (N - b - 1)};
    return (struct klr_set){range, 2,
                            range[0].end - a + range[1].end - range[1].begin};
}

/* Entries of lean points; `left` has the rows of `row` in their order, or is
 * lean itself. */
static void lean_entries(const struct klr_points *lean,
                         const struct klr_points *left, const size_t *row,
                         size_t count, struct klr_set set,
                         enum klr_precision precision, double *out, void *work)
{
    struct klr_range all = {0, count};
    if (left == lean)
        klr_gram_rows(lean, row, count, lean, set, precision, out, set.size,
                      work);
    else
        klr_gram(left, all, lean, set, precision, out, set.size, work);
}

/* True if both give the same block of some rows, also in a workspace that has
 * served for others. */
static bool agree(const struct klr_points *full, const struct klr_points *lean,
                  const struct klr_points *left, const size_t *row,
                  size_t count, enum klr_precision precision)
{
    static double here[SOME * N], there[SOME * N];
    struct klr_range range[2], before[2];
    struct klr_set set = columns(range), other = columns(before);
    size_t last = N - 1;
    void *work = klr_zalloc(1, klr_gram_workspace(full), NULL);
    void *lean_work = klr_zalloc(1, klr_gram_workspace(lean), NULL);
    bool equal = work && lean_work;
    klr_gram_rows(full, row, count, full, set, precision, here, set.size, work);
    lean_entries(lean, lean, &last, 1, other, precision, there, lean_work);
    lean_entries(lean, left, row, count, set, precision, there, lean_work);
    equal = equal && !memcmp(here, there,
                             count * set.size * klr_precision_bytes(precision));
    klr_free(work);
    klr_free(lean_work);
    return equal;
}

static void check(const char *name, const struct set *s,
                  const struct klr_kernel *kernel, const size_t *order,
                  bool packed)
{
    struct klr_points *full = NULL, *lean = NULL, *picked = NULL;
    const struct klr_features *x = packed ? &s->dense : &s->plain;
    size_t row[SOME];
    bool right =
        !klr_points_create(&full, kernel, &s->plain, order, NULL, NULL) &&
        !klr_points_create_lean(&lean, kernel, x, order, NULL, NULL);
    ok(right && lean->lean && !lean->panel, "%s: doubles are given up", name);
    for (int trial = 0; trial < 30 && right; trial++) {
        size_t count = trial % 3 == 0 ? 1 : 1 + chance() % SOME;
        for (size_t r = 0; r < count; r++)
            row[r] = chance() % N;
        right = !klr_points_pick(&picked, lean, row, count, NULL) && picked;
        for (int p = KLR_FLOAT; p <= KLR_DOUBLE && right; p++)
            right =
                agree(full, lean, lean, row, count, (enum klr_precision)p) &&
                agree(full, lean, picked, row, count, (enum klr_precision)p);
        picked = klr_points_free(picked);
    }
    ok(right, "... and entries are the same");
    klr_points_free(full);
    klr_points_free(lean);
}

/* Where doubles are needed, points keep them, and none are picked. */
static void check_kept(const struct set *s, struct klr_kernel kernel,
                       const char *name)
{
    struct klr_points *points = NULL, *picked = NULL;
    size_t row = 0;
    ok(!klr_points_create_lean(&points, &kernel, &s->plain, NULL, NULL, NULL) &&
           !points->lean,
       "%s: doubles are kept", name);
    ok(!klr_points_pick(&picked, points, &row, 1, NULL) && !picked,
       "... and no rows picked");
    klr_points_free(points);
}

int main(void)
{
    static struct set s;
    static const struct klr_kernel kernel[] = {
        {KLR_RBF, 0, 0.5, 0},         {KLR_LAPLACIAN, 0, 0.5, 0},
        {KLR_POLYNOMIAL, 1, 0.5, 1},  {KLR_SIGMOID, 0, 0.01, 0.1},
        {KLR_EXPONENTIAL, 0, 0.2, 0},
    };
    set_make(&s);
    for (size_t k = 0; k < sizeof kernel / sizeof *kernel; k++)
        for (int packed = 0; packed < 2; packed++)
            check(klr_kernel_names[kernel[k].type], &s, &kernel[k], s.order,
                  packed);
    check("rows as they are", &s, &kernel[0], NULL, true);
    check_kept(&s, (struct klr_kernel){KLR_LINEAR, 0, 0, 0}, "linear");
    check_kept(&s, (struct klr_kernel){KLR_RBF, 0, 1e9, 0}, "a huge gamma");
    return done_testing();
}
