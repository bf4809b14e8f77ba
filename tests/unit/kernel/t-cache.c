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
    size_t rows;            /* that fit */
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
    for (size_t c = 0; c < LENGTH; c++) {
        if (hit)
            right = right && row[c] == element(key, c);
        else
            row[c] = element(key, c);
    }
    return right && hit == expected;
}

static void model_create(struct model *model, size_t rows)
{
    *model = (struct model){.rows = rows};
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

static void test_order(size_t rows)
{
    struct model model;
    model_create(&model, rows);
    ok(model_run(&model, 5000), "%zu rows: hits, misses and contents", rows);
    klr_cache_free(model.cache);
}

/* Room for 3 of at most 20 rows doubles when 2 x 3 rows came again, then when
 * 2 x 6 did since it was full, and so on; rows that come for the first time do
 * not count. */
static void test_growth(void)
{
    static const size_t rooms[] = {3, 6, 12, 20},
                        misses[] = {0, 6, 2 + 12, 5 + 24};
    struct model model;
    bool right = true;
    model_create(&model, 20);
    klr_cache_begin(model.cache, 3, 2);
    model.rows = 3;
    for (size_t key = 0; key < KEYS; key++)
        right = model_row(&model, key) && right;
    ok(right && klr_cache_room(model.cache) == 3, "new rows need no more room");
    for (size_t t = 1, key = 0; t < sizeof rooms / sizeof *rooms; t++) {
        for (size_t again = 1; again <= misses[t]; again++, key++) {
            right = right && klr_cache_room(model.cache) == rooms[t - 1];
            if (again == misses[t])
                model.rows = rooms[t];
            right = model_row(&model, key % KEYS) && right;
        }
        ok(right && klr_cache_room(model.cache) == rooms[t],
           "%zu rows that came again make room for %zu", misses[t], rooms[t]);
    }
    ok(model_run(&model, 5000) && klr_cache_room(model.cache) == 20,
       "there is no room beyond the arena");
    klr_cache_free(model.cache);
}

/* Rows of another length have the room in bytes that there was. */
static void test_reshape(void)
{
    struct model model;
    model_create(&model, 20);
    klr_cache_begin(model.cache, 3, 2);
    model.rows = 3;
    bool right = model_run(&model, 6);
    klr_cache_reshape(model.cache, LENGTH / 3);
    for (size_t key = 0; key < KEYS; key++)
        right = right && !klr_cache_holds(model.cache, key);
    ok(right && klr_cache_room(model.cache) == 9,
       "shorter rows: room for more");
    for (size_t key = 0; key < 9; key++)
        for (size_t c = 0; c < LENGTH / 3; c++)
            ((double *)klr_cache_row(model.cache, key))[c] = element(key, c);
    for (size_t key = 0; key < 9; key++) {
        right = right && klr_cache_holds(model.cache, key);
        const double *row = klr_cache_row(model.cache, key);
        for (size_t c = 0; c < LENGTH / 3; c++)
            right = right && row[c] == element(key, c);
    }
    ok(right, "which all stay");
    klr_cache_reshape(model.cache, LENGTH);
    model.used = 0;
    ok(klr_cache_room(model.cache) == 3 && model_run(&model, 6),
       "as long again: as few");
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
    bool right = true;
    ok(!klr_cache_create(&cache, 5, 5, sizeof(float), 1 << 20, NULL),
       "rows of floats, room for all");
    for (size_t key = 0; key < 5; key++) {
        float *row = klr_cache_row(cache, key);
        for (size_t c = 0; c < 5; c++)
            row[c] = (float)element(key, c);
    }
    for (size_t key = 0; key < 5; key++) {
        right = right && klr_cache_holds(cache, key);
        float *row = klr_cache_row(cache, key);
        for (size_t c = 0; c < 5; c++)
            right = right && row[c] == (float)element(key, c);
    }
    ok(right, "and all stay");
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
    test_growth();
    test_reshape();
    test_stay(2);
    test_stay(7);
    test_two_rows();
    test_elements();
    test_limit();
    return done_testing();
}
