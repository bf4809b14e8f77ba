/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Examples that repeat each other: the same features, class, fold and part.
 * They share a position, where the sum of their weights makes them one: their
 * losses are of one decision value, and at the optimum of an objective in
 * beta'K beta it is all the same how their coefficients share the sum.
 */
#include "solver/data/data.h"

/* A position for each example, found by a hash table of positions. */
struct repeats {
    struct klr_features x; /* of the problem */
    uint64_t *hash;        /* (n) of each row */
    size_t *position;      /* (n) of the examples in their order */
    size_t *first;         /* (positions) row that was met first */
    size_t positions;      /* so far */
    uint64_t *slot;        /* (mask + 1) positions, from 1, with the upper bits
                              of the hash above them; 0: free */
    size_t mask;
    struct klr_arena arena; /* all that is allocated */
};

enum {
    REPEATS_ROWS = 4096, /* that a thread hashes at once */
    REPEATS_AHEAD = 32   /* slots are far apart: asked for together */
};

static const uint64_t repeats_positions = (UINT64_C(1) << 40) - 1;

static uint64_t row_hash(size_t count, const int *index, const double *value)
{
    uint64_t hash = klr_hash(0, index, count * sizeof *index);
    return klr_hash(hash, value, count * sizeof *value);
}

static uint64_t features_hash(const struct klr_features *x, size_t row)
{
    double space[KLR_PACKED_COLUMNS];
    struct klr_feature_row f = klr_features_row(x, row, space);
    return row_hash(f.count, f.index, f.value);
}

static bool features_equal(const struct klr_features *x, size_t row,
                           const struct klr_features *z, size_t other)
{
    double space[2][KLR_PACKED_COLUMNS];
    struct klr_feature_row a = klr_features_row(x, row, space[0]);
    struct klr_feature_row b = klr_features_row(z, other, space[1]);
    return a.count == b.count &&
           !memcmp(a.index, b.index, a.count * sizeof *a.index) &&
           !memcmp(a.value, b.value, a.count * sizeof *a.value);
}

/* The position of the row: a new one, unless one from `begin` on has the same
 * features. */
static size_t repeats_find(struct repeats *r, size_t row, uint64_t hash,
                           size_t begin)
{
    size_t s = (size_t)hash & r->mask;
    hash &= ~repeats_positions;
    for (; r->slot[s]; s = (s + 1) & r->mask) {
        size_t position = (size_t)(r->slot[s] & repeats_positions) - 1;
        if ((r->slot[s] & ~repeats_positions) == hash && position >= begin &&
            features_equal(&r->x, r->first[position], &r->x, row))
            return position;
    }
    r->first[r->positions] = row;
    r->slot[s] = hash | ++r->positions;
    return r->positions - 1;
}

/* The positions of a few rows at once. */
static void repeats_find_all(struct repeats *r, const size_t *row, size_t count,
                             size_t begin, size_t *position)
{
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(&r->slot[(size_t)r->hash[row[i]] & r->mask]);
    for (size_t i = 0; i < count; i++)
        position[i] = repeats_find(r, row[i], r->hash[row[i]], begin);
}

static void repeats_hash_task(void *context, size_t task, size_t thread)
{
    const struct repeats *r = context;
    size_t begin = task * REPEATS_ROWS, end = begin + REPEATS_ROWS;
    for (size_t row = begin; row < end && row < r->x.n; row++)
        r->hash[row] = features_hash(&r->x, row);
    (void)thread;
}

static int repeats_create(struct repeats *r, const struct klr_problem *problem,
                          struct klr_error *err)
{
    struct klr_arena *arena = &r->arena;
    size_t n = problem->n, slots = 64;
    while (slots < 2 * n)
        slots *= 2;
    *r = (struct repeats){.x = problem_features(problem), .mask = slots - 1};
    if (!KLR_TAKE(arena, r->hash, n, 1, err) ||
        !KLR_TAKE(arena, r->position, n, 1, err) ||
        !KLR_TAKE(arena, r->first, n + 1, 1, err) ||
        !KLR_TAKE_ZERO(arena, r->slot, slots, 1, err))
        return KLR_E_MEMORY;
    return 0;
}

/* A position for each example, cell by cell; `begin` (cells + 1) becomes that
 * of positions. */
static void repeats_number(struct repeats *r, const struct partition *partition,
                           size_t *begin)
{
    size_t cells = partition->k * partition->folds * partition->parts;
    for (size_t c = 0; c < cells; c++) {
        size_t next, end = partition->begin[c + 1];
        begin[c] = r->positions;
        for (size_t i = partition->begin[c]; i < end; i = next) {
            next = end - i < REPEATS_AHEAD ? end : i + REPEATS_AHEAD;
            repeats_find_all(r, partition->order + i, next - i, begin[c],
                             r->position + i);
        }
    }
    begin[cells] = r->positions;
}

/* Counting sort of the examples by position: stable. */
static void partition_share(struct partition *partition,
                            const struct repeats *r, size_t *row, size_t *first)
{
    size_t n = partition->n;
    memset(first, 0, (r->positions + 1) * sizeof *first);
    for (size_t i = 0; i < n; i++)
        first[r->position[i] + 1]++;
    for (size_t p = 0; p < r->positions; p++)
        first[p + 1] += first[p];
    for (size_t i = 0; i < n; i++)
        row[first[r->position[i]]++] = partition->order[i];
    for (size_t p = r->positions; p > 0; p--)
        first[p] = first[p - 1];
    first[0] = 0;
    memcpy(partition->order, r->first, r->positions * sizeof *partition->order);
    partition->n = r->positions;
    partition->row = row;
    partition->first = first;
}

static int partition_merge(struct partition *partition,
                           const struct klr_problem *problem,
                           struct klr_pool *pool, struct klr_error *err)
{
    const double worth = 0.9; /* positions an example, at most */
    size_t cells = partition->k * partition->folds * partition->parts,
           n = partition->n;
    size_t *begin = klr_alloc(cells + 1, sizeof *begin, err);
    size_t *row = klr_alloc(n, sizeof *row, err), *first = NULL;
    struct repeats r;
    int code = repeats_create(&r, problem, err);
    if (!code && (!begin || !row))
        code = KLR_E_MEMORY;
    if (!code) {
        klr_pool_run_all(pool, n / REPEATS_ROWS + 1, repeats_hash_task, &r);
        repeats_number(&r, partition, begin);
    }
    bool pays = !code && (double)r.positions <= worth * (double)n;
    if (pays && !(first = klr_alloc(r.positions + 1, sizeof *first, err)))
        code = KLR_E_MEMORY;
    if (pays && !code) {
        partition_share(partition, &r, row, first);
        memcpy(partition->begin, begin, (cells + 1) * sizeof *begin);
        row = NULL;
    }
    klr_arena_free(&r.arena);
    klr_free(begin);
    klr_free(row);
    return code;
}

static size_t partition_rows(const struct partition *partition, size_t p,
                             const size_t **row)
{
    *row = partition->first ? partition->row + partition->first[p]
                            : partition->order + p;
    return partition->first ? partition->first[p + 1] - partition->first[p] : 1;
}

static size_t partition_examples(const struct partition *partition,
                                 struct klr_range range)
{
    return partition->first
               ? partition->first[range.end] - partition->first[range.begin]
               : range.end - range.begin;
}

/* The features of the positions, in their order. */
static int partition_features(const struct partition *partition,
                              const struct klr_problem *problem,
                              struct klr_features *features,
                              struct klr_arena *arena, struct klr_error *err)
{
    struct klr_features x = problem_features(problem);
    return klr_features_pick(features, &x, partition->order, partition->n,
                             arena, err);
}
