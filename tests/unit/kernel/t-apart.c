/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Columns that lie apart from each other have the entries, to the last bit,
 * that they have among all columns: of every kind of examples, of floats and of
 * doubles by turns in one workspace, with and without doubles that are kept.
 */
#include "kernel.c"

#include <stdio.h>

#include "tests/kinds.h"
#include "tests/tap.h"

enum { MOST = 128, TRIALS = 12 };

static size_t below(size_t n)
{
    return (size_t)(uniform() * (double)n);
}

/* About every third position, each a range, but for one range of several. */
static struct klr_set columns_apart(size_t n, struct klr_range *range)
{
    struct klr_set set = {range, 0, 0};
    size_t from = below(n), to = from + below(n - from);
    for (size_t j = 0; j < n; j++) {
        size_t end = j == from && to > from ? to : j + 1;
        if (end == j + 1 && uniform() < 0.6)
            continue;
        range[set.count++] = (struct klr_range){j, end};
        set.size += end - j;
        j = end;
    }
    return set;
}

/* The entries of `whole` (count, n) at the positions of a set. */
static void entries_pick(const char *from, size_t count, size_t n,
                         struct klr_set set, size_t bytes, char *out)
{
    for (size_t r = 0; r < count; r++)
        for (size_t q = 0; q < set.count; q++) {
            size_t size = (set.range[q].end - set.range[q].begin) * bytes;
            memcpy(out, from + (r * n + set.range[q].begin) * bytes, size);
            out += size;
        }
}

static bool agree(const struct klr_points *points, void *work)
{
    static double all[MOST * MOST], expected[MOST * MOST], found[MOST * MOST];
    struct klr_range range[MOST], every = {0, points->n};
    size_t row[MOST], n = points->n;
    bool unit =
        points->kernel.type == KLR_RBF || points->kernel.type == KLR_LAPLACIAN;
    enum klr_precision precision = unit && uniform() < 0.3 ? KLR_FIXED16
                                   : uniform() < 0.5       ? KLR_FLOAT
                                                           : KLR_DOUBLE;
    size_t count = uniform() < 0.2 ? below(APART_ROWS) + 1 : below(n) + 1;
    for (size_t r = 0; r < count; r++)
        row[r] = below(n);
    struct klr_set set = columns_apart(n, range);
    klr_gram_rows(points, row, count, points, whole(&every), precision, all, n,
                  work);
    klr_gram_rows(points, row, count, points, set, precision, found, set.size,
                  work);
    size_t bytes = klr_precision_bytes(precision);
    entries_pick((const char *)all, count, n, set, bytes, (char *)expected);
    return memcmp(expected, found, count * set.size * bytes) == 0;
}

static void check(const char *name, const struct klr_points *points)
{
    bool equal = true;
    void *work = room_for(points);
    for (int trial = 0; trial < TRIALS; trial++)
        equal = agree(points, work) && equal;
    ok(equal, "%s, %s", name, klr_kernel_names[points->kernel.type]);
}

static void check_kind(const struct kind *kind, const struct klr_kernel *kernel)
{
    struct sample s;
    struct klr_points *points;
    char name[64];
    sample_make(&s, kind);
    if (!klr_points_create(&points, kernel, &s.view, NULL, NULL, NULL))
        check(kind->name, points);
    klr_points_free(points);
    snprintf(name, sizeof name, "%s, lean", kind->name);
    if (!klr_points_create_lean(&points, kernel, &s.view, NULL, NULL, NULL) &&
        points->lean)
        check(name, points);
    klr_points_free(points);
    sample_free(&s);
}

int main(void)
{
    static const struct klr_kernel kernel[] = {
        {KLR_RBF, 0, 0.1, 0},          {KLR_LAPLACIAN, 0, 0.1, 0},
        {KLR_POLYNOMIAL, 2, 0.1, 1},   {KLR_LINEAR, 0, 0, 0},
        {KLR_EXPONENTIAL, 0, 1e-3, 0},
    };
    for (int cpu = 0; cpu < 3; cpu++)
        for (size_t k = 0; k < KINDS && choose_cpu(cpu); k++)
            for (size_t t = 0; t < sizeof kernel / sizeof *kernel; t++)
                check_kind(&kinds[k], &kernel[t]);
    return done_testing();
}
