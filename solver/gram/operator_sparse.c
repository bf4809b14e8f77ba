/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products with vectors that are 0 at most examples, as those of sparse models
 * are.
 */
#include "solver/gram/gram.h"

/* Whole tiles, which serve twice, cost a quarter or less of columns that lie
 * apart in sparse rows, entry by entry. */
enum { SPARSE_FEW = 8 };

static void chosen_free(struct chosen *chosen)
{
    klr_free(chosen->range);
    klr_free(chosen->v);
}

static int chosen_create(struct chosen *chosen, struct klr_set set,
                         const bool *wanted, const double *v, size_t m,
                         struct klr_error *err)
{
    size_t size = 0, ranges = 0, count = 0, i;
    for (i = 0; i < set.size; i++)
        count += wanted[i];
    *chosen =
        (struct chosen){.range = klr_alloc(count, sizeof *chosen->range, err),
                        .v = klr_alloc(count, m * sizeof *chosen->v, err)};
    if (!chosen->range || !chosen->v)
        return KLR_E_MEMORY;
    for (size_t r = i = 0; r < set.count; r++)
        for (size_t p = set.range[r].begin; p < set.range[r].end; p++, i++)
            if (wanted[i]) {
                struct klr_range one = {p, p + 1};
                memcpy(chosen->v + size++ * m, v + i * m, m * sizeof *v);
                ranges = set_append(chosen->range, ranges, one);
            }
    chosen->set = (struct klr_set){chosen->range, ranges, size};
    return 0;
}

/* The rows of V (n, m) that are not 0: how many, and, unless marked is NULL,
 * which. */
static size_t support_find(const double *v, size_t n, size_t m, bool *marked)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t c = 0;
        while (c < m && v[i * m + c] == 0)
            c++;
        if (marked)
            marked[i] = c < m;
        count += c < m;
    }
    return count;
}

static int operator_apply_sparse(struct klr_operator *op, struct klr_set rows,
                                 struct klr_set cols, const double *v, size_t m,
                                 enum klr_precision precision, double *out,
                                 bool *whole, struct klr_error *err)
{
    struct chosen chosen = {0};
    if (SPARSE_FEW * support_find(v, cols.size, m, NULL) >= cols.size) {
        *whole = operator_apply(op, rows, cols, v, m, precision, out);
        return 0;
    }
    bool *marked = klr_alloc(cols.size, sizeof *marked, err);
    int code = marked ? 0 : KLR_E_MEMORY;
    if (!code) {
        support_find(v, cols.size, m, marked);
        code = chosen_create(&chosen, cols, marked, v, m, err);
    }
    *whole = !code &&
             operator_apply(op, rows, chosen.set, chosen.v, m, precision, out);
    chosen_free(&chosen);
    klr_free(marked);
    return code;
}
