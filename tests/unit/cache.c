/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The row cache against a model that keeps every row and an explicit list of
 * keys by age.
 */
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "kernel.h"
#include "tests/tap.h"

enum { KEYS = 40, LENGTH = 33 };

/* Bytes for `rows` rows of `length` doubles: tables are 16 bytes a key. */
static size_t room(size_t rows, size_t length)
{
    return rows * length * sizeof(double) + KEYS * 16;
}

/* Element `column` of the row of `key`. */
static double element(size_t key, size_t column)
{
    return (double)(1000 * key + column);
}

struct model {
    struct klr_cache *cache;
    size_t bytes, rows; /* of the arena; rows that fit */
    size_t length;
    size_t column[LENGTH];  /* every column that there ever was has a number */
    size_t columns;         /* so many */
    size_t from[LENGTH];    /* the last change of columns */
    size_t age[KEYS], used; /* cached keys, the most recent first */
};

static void model_touch(struct model *model, size_t key, bool *hit)
{
    size_t at = 0;
    while (at < model->used && model->age[at] != key)
        at++;
    *hit = at < model->used;
    if (at == model->used && model->used < model->rows)
        model->used++;
    if (at >= model->used)
        at = model->used - 1;
    memmove(model->age + 1, model->age, at * sizeof *model->age);
    model->age[0] = key;
}

/* Ask for a row as the model does; false if anything differs. */
static bool model_row(struct model *model, size_t key)
{
    bool hit = klr_cache_holds(model->cache, key), expected, right = true;
    model_touch(model, key, &expected);
    double *row = klr_cache_row(model->cache, key);
    for (size_t c = 0; c < model->length; c++) {
        if (hit)
            right = right && row[c] == element(key, model->column[c]);
        else
            row[c] = element(key, model->column[c]);
    }
    return right && hit == expected;
}

static void model_create(struct model *model, size_t rows)
{
    *model = (struct model){.bytes = rows * LENGTH * sizeof(double),
                            .rows = rows,
                            .length = LENGTH,
                            .columns = LENGTH};
    for (size_t c = 0; c < LENGTH; c++)
        model->column[c] = c;
    klr_cache_create(&model->cache, KEYS, LENGTH, sizeof(double),
                     room(rows, LENGTH), NULL);
}

static uint64_t state = 7;

static size_t below(size_t n)
{
    state = state * UINT64_C(6364136223846793005) + 1442695041;
    return (size_t)(state >> 33) % n;
}

static bool model_run(struct model *model, int steps)
{
    bool right = true;
    for (int t = 0; t < steps; t++) /* some keys more often than others */
        right = model_row(model, below(1 + below(KEYS))) && right;
    return right;
}

static void model_fill(void *context, const size_t *key, void *const *row,
                       size_t count)
{
    const struct model *model = context;
    for (size_t q = 0; q < count; q++)
        for (size_t t = 0; t < model->length; t++)
            if (model->from[t] == KLR_NO_COLUMN)
                ((double *)row[q])[t] = element(key[q], model->column[t]);
}

/* Of the old columns `keep` in 10 stay; new ones come between them with a
 * chance of `add` in 10 each, while there is room. */
static void model_remap(struct model *model, size_t keep, size_t add)
{
    size_t column[LENGTH], length = 0;
    for (size_t c = 0;;) {
        size_t left = model->length - c;
        if (below(10) < add && length + left < LENGTH) {
            model->from[length] = KLR_NO_COLUMN;
            column[length++] = model->columns++;
        } else if (left == 0) {
            break;
        } else {
            if (below(10) < keep) {
                model->from[length] = c;
                column[length++] = model->column[c];
            }
            c++;
        }
    }
    memcpy(model->column, column, sizeof column);
    model->length = length;
    model->rows = length ? model->bytes / (length * sizeof(double)) : KEYS;
    if (model->rows > KEYS)
        model->rows = KEYS;
    if (model->used > model->rows)
        model->used = model->rows;
    klr_cache_remap(model->cache, model->from, length, add ? model_fill : NULL,
                    model);
}

/* Rows that were cached still are, whole, and in their order. */
static bool model_survives(struct model *model)
{
    bool all = true;
    size_t used = model->used;
    for (size_t a = 0; a < used; a++) /* oldest first: the order stays */
        all = model_row(model, model->age[used - 1]) && all;
    return all;
}

static void test_order(size_t rows)
{
    static const size_t keep[] = {7, 5, 0, 10, 5, 7, 3, 10};
    static const size_t add[] = {0, 0, 10, 0, 3, 1, 9, 0};
    struct model model;
    model_create(&model, rows);
    ok(model_run(&model, 5000), "%zu rows: hits, misses and contents", rows);
    for (size_t t = 0; t < sizeof keep / sizeof *keep; t++) {
        model_remap(&model, keep[t], add[t]);
        ok(model_survives(&model), "remapped to %zu columns, %zu rows fit",
           model.length, model.rows);
        ok(model_run(&model, 2000), "and are used");
    }
    klr_cache_free(model.cache);
}

/* A row stays where it is until as many other keys as fit have been asked for;
 * to look whether it is there makes it no younger. */
static void test_stay(size_t rows)
{
    struct klr_cache *cache = NULL;
    bool right = true;
    klr_cache_create(&cache, KEYS, LENGTH, sizeof(double), room(rows, LENGTH),
                     NULL);
    right = klr_cache_room(cache) == rows;
    for (size_t first = 0; first + rows < KEYS; first++) {
        double *held = klr_cache_row(cache, first);
        held[0] = element(first, 0);
        for (size_t q = 1; q < rows; q++)
            *(double *)klr_cache_row(cache, first + q) = 0;
        right = right && klr_cache_holds(cache, first) &&
                held[0] == element(first, 0);
        klr_cache_row(cache, first + rows);
        right = right && !klr_cache_holds(cache, first);
    }
    ok(right, "of %zu rows the least recent goes", rows);
    klr_cache_free(cache);
}

/* The case of two rows, in any order. */
static void test_two_rows(void)
{
    struct klr_cache *cache = NULL;
    bool right = true;
    klr_cache_create(&cache, KEYS, LENGTH, sizeof(double), room(2, LENGTH),
                     NULL);
    size_t previous = 0;
    double *held = klr_cache_row(cache, previous);
    held[0] = element(previous, 0);
    for (int t = 0; t < 1000; t++) {
        size_t key = below(KEYS);
        double *row = klr_cache_row(cache, key);
        row[0] = element(key, 0);
        right = right && held[0] == element(previous, 0) &&
                (row == held) == (key == previous);
        held = row;
        previous = key;
    }
    ok(right, "the two most recent rows stay");
    klr_cache_free(cache);
}

static void test_elements(void)
{
    struct klr_cache *cache = NULL;
    const size_t keep[] = {1, 2, 4};
    bool right = true;
    ok(!klr_cache_create(&cache, 5, 5, sizeof(float), 1 << 20, NULL),
       "rows of floats, room for all");
    for (size_t key = 0; key < 5; key++) {
        float *row = klr_cache_row(cache, key);
        for (size_t c = 0; c < 5; c++)
            row[c] = (float)element(key, c);
    }
    klr_cache_remap(cache, keep, 3, NULL, NULL);
    for (size_t key = 0; key < 5; key++) {
        right = right && klr_cache_holds(cache, key);
        float *row = klr_cache_row(cache, key);
        for (size_t c = 0; c < 3; c++)
            right = right && row[c] == (float)element(key, keep[c]);
    }
    ok(right, "some columns stay");
    klr_cache_remap(cache, keep, 0, NULL, NULL);
    ok(klr_cache_holds(cache, 3) && klr_cache_row(cache, 3),
       "no columns at all");
    klr_cache_free(cache);
    ok(klr_cache_free(NULL) == NULL, "free accepts NULL");
}

static void test_limit(void)
{
    struct klr_cache *cache;
    struct klr_error err;
    ok(klr_cache_create(&cache, 1000, 1 << 20, sizeof(float), (8 << 20) + 15999,
                        &err) == KLR_E_LIMIT &&
           !cache,
       "less than two rows and the tables: refused");
    ok(!strcmp(err.message, "the row cache needs at least 9 MB (-m)"), "%s",
       err.message);
    ok(!klr_cache_create(&cache, 1000, 1 << 20, sizeof(float),
                         (8 << 20) + 16000, &err),
       "two rows and the tables: enough");
    klr_cache_free(cache);
    ok(klr_cache_create(&cache, 1, (size_t)-1 / 8, sizeof(double), 1 << 20,
                        &err) == KLR_E_LIMIT,
       "sizes do not overflow");
}

int main(void)
{
    test_order(2);
    test_order(5);
    test_order(20);
    test_order(KEYS);
    test_stay(2);
    test_stay(7);
    test_two_rows();
    test_elements();
    test_limit();
    return done_testing();
}
