/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of K that are asked for again and again: tiles are kept of them where
 * that pays, and no bit of a row depends on that.
 */
#if defined(__GNUC__) /* headers of rooms declare statics of other parts */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include "solver/data/sets.c"
#include "solver/gram/gram_tiles.c"

#include "solver/gram/operator_tiles.c"

#include "solver/gram/operator_linear.c"

#include "solver/gram/operator.c"

#include "solver/gram/operator_sparse.c"

#include "solver/gram/operator_rows.c"

#include "solver/gram/columns.c"

#include "tests/larger.h"
#include "tests/tap.h"

enum { N = 600, D = 40, PATIENCE = 2 * KLR_TILE, DRAWN = 30 };

static double x[N * D], row[DRAWN * N], plain[DRAWN * N];
static int feature[N * D];
static size_t start[N + 1], drawn[DRAWN];
static struct klr_pool *pool[2];

static uint64_t state = 3;

static uint64_t next(void)
{
    state = state * UINT64_C(6364136223846793005) + 1442695041;
    return state >> 33;
}

static struct klr_features make_features(int width)
{
    size_t columns = (size_t)width;
    for (size_t t = 0; t < N * columns; t++) {
        x[t] = (double)next() * 0x1p-30 - 1;
        feature[t] = (int)(t % columns) + 1;
        start[t / columns + 1] = t + 1;
    }
    return (struct klr_features){N, width, start, feature, x, NULL};
}

static void create(struct klr_operator *op, const struct klr_features *features,
                   struct klr_pool *threads, size_t budget)
{
    const struct klr_kernel kernel = {.type = KLR_RBF, .gamma = 0.05};
    if (operator_create(op, &kernel, features, NULL, threads, budget, NULL))
        printf("Bail out! no memory\n");
}

/* Rows of a draw, in the columns of `set`. */
static void ask(struct klr_operator *op, struct klr_set set,
                enum klr_precision precision, double *out)
{
    operator_rows(op, drawn, DRAWN, set, precision, out, N);
}

static void draw(void)
{
    for (size_t q = 0; q < DRAWN; q++)
        drawn[q] = (size_t)(next() % N);
}

/* How many draws compute anything, and whether all rows are as those of an
 * operator that keeps nothing. */
static size_t computing(struct klr_operator *op, struct klr_operator *none,
                        struct klr_set set, enum klr_precision precision,
                        bool *same)
{
    size_t last = 0;
    *same = true;
    for (size_t t = 1; t <= 200; t++) {
        unsigned long long before = op->evaluations;
        memset(row, 0, sizeof row);
        memset(plain, 0, sizeof plain);
        draw();
        ask(op, set, precision, row);
        ask(none, set, precision, plain);
        *same = *same && memcmp(row, plain, sizeof row) == 0;
        last = op->evaluations > before ? t : last;
    }
    return last;
}

/* The last block has few rows: its tile comes late. */
static void test_kept(const struct klr_features *features, struct klr_set set,
                      enum klr_precision precision)
{
    unsigned long long count[2];
    for (size_t t = 0; t < 2; t++) {
        struct klr_operator op, none;
        bool same;
        state = 7;
        create(&op, features, pool[t], SIZE_MAX);
        create(&none, features, pool[0], 0);
        op.tiles.rows_patience = none.tiles.rows_patience = PATIENCE;
        size_t draws = computing(&op, &none, set, precision, &same);
        ok(same, "%zu threads: rows of what is kept", t + 1);
        ok(draws > PATIENCE / DRAWN / 2 && draws < 150,
           "%zu draws compute entries", draws);
        count[t] = op.evaluations;
        operator_yield(&op, 1e9, 2e9);
        ok(tiles_bytes(&op.tiles) > 0, "tiles within a budget stay");
        operator_yield(&op, 1e9, 1e9);
        ok(tiles_bytes(&op.tiles) == 0, "others are given up");
        ask(&op, set, precision, row);
        ask(&none, set, precision, plain);
        ok(memcmp(row, plain, sizeof row) == 0, "rows without tiles");
        operator_free(&op);
        operator_free(&none);
    }
    ok(count[0] == count[1], "as many entries, %llu, by two threads", count[1]);
}

static unsigned patience_of(int width)
{
    struct klr_features features = make_features(width);
    struct klr_operator op;
    create(&op, &features, NULL, 0);
    unsigned patience = op.tiles.rows_patience;
    operator_free(&op);
    return patience;
}

int main(void)
{
    const struct klr_range all = {0, N}, part[] = {{3, 250}, {400, 590}};
    for (size_t t = 0; t < 2; t++)
        klr_pool_create(&pool[t], (long)t + 1, NULL);
    ok(patience_of(4) == 0, "rows of few features are computed");
    struct klr_features features = make_features(D);
    test_kept(&features, set_of(&all, 1), KLR_DOUBLE);
    test_kept(&features, set_of(&all, 1), KLR_FLOAT);
    test_kept(&features, set_of(part, 2), KLR_DOUBLE);
    for (size_t t = 0; t < 2; t++)
        klr_pool_free(pool[t]);
    return done_testing();
}
