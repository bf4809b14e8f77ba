/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products K v with vectors of which few elements are not 0, and mostly the
 * same ones from product to product: sums of columns of K, which are kept as
 * floats, one behind the other as they come. Where there is no room for more,
 * all are forgotten and those that are needed come again: none of a vector that
 * has too many elements itself.
 *
 * Strips of a sum are tasks of the pool; its terms come in the order in which
 * the columns are kept, whoever adds them up.
 */
#include "solver/gram/gram.h"

enum {
    COLUMNS_TURN = 512, /* elements of the sum */
    COLUMNS_ABREAST = 4 /* columns that are added together */
};

static size_t columns_pitch(size_t n)
{
    return (n + 7) / 8 * 8;
}

static size_t columns_room(size_t n, size_t bytes)
{
    return bytes / (columns_pitch(n) * sizeof(float));
}

static int columns_alloc(struct columns *c, struct submatrix k, size_t bytes,
                         struct klr_arena *arena, struct klr_error *err)
{
    size_t n = k.set.size, room = columns_room(n, bytes);
    *c = (struct columns){
        .k = k, .dense = klr_dense(), .pitch = columns_pitch(n), .room = room};
    if (!KLR_TAKE(arena, c->place, n, 1, err) ||
        !KLR_TAKE(arena, c->position, n, 1, err) ||
        !KLR_TAKE(arena, c->weight, room, 1, err))
        return KLR_E_MEMORY;
    columns_forget(c);
    return 0;
}

static double columns_bytes(size_t n, size_t bytes)
{
    return 2.0 * (double)n * sizeof(size_t) +
           (double)columns_room(n, bytes) * sizeof(double);
}

static void columns_forget(struct columns *c)
{
    c->kept = 0;
    for (size_t i = 0; i < c->k.set.size; i++)
        c->place[i] = c->k.set.size;
}

/* Make room for the columns of v. If there is too little, all columns are
 * forgotten: their order decides the order of sums, so none may stay behind.
 * False if v alone has more than there is room for. */
static bool columns_make_room(struct columns *c, const double *v)
{
    size_t n = c->k.set.size, count = 0, missing = 0;
    for (size_t i = 0; i < n; i++) {
        count += v[i] != 0;
        missing += v[i] != 0 && c->place[i] == n;
    }
    if (c->kept + missing > c->room)
        columns_forget(c);
    return count <= c->room;
}

/* The weights of the columns; those that are missing are fetched. */
static bool columns_weigh(struct columns *c, const double *v)
{
    struct klr_set set = c->k.set;
    size_t end = c->kept;
    memset(c->weight, 0, c->room * sizeof *c->weight);
    for (size_t i = 0; i < set.size; i++) {
        if (v[i] == 0)
            continue;
        if (c->place[i] == set.size) {
            c->position[end - c->kept] = set_position(set, i);
            c->place[i] = end++;
        }
        c->weight[c->place[i]] = v[i];
    }
    if (!operator_rows(c->k.op, c->position, end - c->kept, set, KLR_FLOAT,
                       c->value + c->kept * c->pitch, c->pitch)) {
        columns_forget(c);
        return false;
    }
    c->kept = end;
    return true;
}

struct columns_sum {
    const struct columns *columns;
    double *out;
};

/* Columns without a weight are passed over where they are side by side. */
static void columns_task(void *context, size_t task, size_t thread)
{
    const struct columns_sum *s = context;
    const struct columns *c = s->columns;
    size_t begin = task * COLUMNS_TURN, left = c->k.set.size - begin;
    size_t elements = left < COLUMNS_TURN ? left : COLUMNS_TURN;
    double sum[COLUMNS_TURN] = {0};
    (void)thread;
    for (size_t k = 0, count; k < c->kept; k += count) {
        bool any = false;
        left = c->kept - k;
        count = left < COLUMNS_ABREAST ? left : COLUMNS_ABREAST;
        for (size_t q = 0; q < count; q++)
            any = any || c->weight[k + q] != 0;
        if (any)
            c->dense->gemv_t(count, columns_pitch(elements),
                             c->value + k * c->pitch + begin, c->pitch,
                             c->weight + k, sum);
    }
    memcpy(s->out + begin, sum, elements * sizeof *sum);
}

static bool columns_multiply(struct columns *c, const double *v, double *out)
{
    struct columns_sum sum = {c, out};
    return columns_make_room(c, v) && columns_weigh(c, v) &&
           klr_pool_run(c->k.op->pool,
                        (c->k.set.size + COLUMNS_TURN - 1) / COLUMNS_TURN,
                        columns_task, &sum);
}
