/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products K v with vectors of which few elements are not 0, and mostly the
 * same ones from product to product: sums of columns of K, which are kept as
 * floats, one behind the other as they come. Where there is no room for more,
 * all are forgotten and those that are needed come again: none of a vector that
 * has too many elements itself.
 *
 * Strips of a sum are turns of the pool; its terms come in the order in which
 * the columns are kept, whoever adds them up.
 */
#include "solver/internal.h"

#include "solver/columns.h"

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

static int columns_alloc(struct columns *c, const struct binary *problem,
                         size_t bytes, struct klr_error *err)
{
    size_t n = problem->n, room = columns_room(n, bytes);
    *c = (struct columns){.problem = problem,
                          .dense = klr_dense(),
                          .pitch = columns_pitch(n),
                          .room = room};
    if (!(c->place = klr_alloc(n, sizeof *c->place, err)) ||
        !(c->position = klr_alloc(n, sizeof *c->position, err)) ||
        !(c->weight = klr_alloc(room, sizeof *c->weight, err)))
        return KLR_E_MEMORY;
    columns_forget(c);
    return 0;
}

static void columns_free(struct columns *c)
{
    klr_free(c->place);
    klr_free(c->position);
    klr_free(c->weight);
}

static double columns_bytes(size_t n, size_t bytes)
{
    return 2.0 * (double)n * sizeof(size_t) +
           (double)columns_room(n, bytes) * sizeof(double);
}

static void columns_forget(struct columns *c)
{
    c->kept = 0;
    for (size_t i = 0; i < c->problem->n; i++)
        c->place[i] = c->problem->n;
}

/* Room for the columns of v; false if there is too little even for them alone.
 * All are forgotten then, too: sums depend on the order in which columns came.
 */
static bool columns_make_room(struct columns *c, const double *v)
{
    size_t n = c->problem->n, count = 0, missing = 0;
    for (size_t i = 0; i < n; i++) {
        count += v[i] != 0;
        missing += v[i] != 0 && c->place[i] == n;
    }
    if (c->kept + missing > c->room)
        columns_forget(c);
    return count <= c->room;
}

/* The weights of the columns; those that are missing are fetched. */
static void columns_weigh(struct columns *c, const double *v)
{
    const struct binary *b = c->problem;
    size_t end = c->kept;
    memset(c->weight, 0, c->room * sizeof *c->weight);
    for (size_t i = 0; i < b->n; i++) {
        if (v[i] == 0)
            continue;
        if (c->place[i] == b->n) {
            c->position[end - c->kept] = set_position(b->set, i);
            c->place[i] = end++;
        }
        c->weight[c->place[i]] = v[i];
    }
    operator_rows(b->op, c->position, end - c->kept, b->set, KLR_FLOAT,
                  c->value + c->kept * c->pitch, c->pitch);
    c->kept = end;
}

struct columns_sum {
    const struct columns *columns;
    double *out;
};

/* Columns without a weight are passed over where they are side by side. */
static void columns_turn(void *context, size_t turn, size_t thread)
{
    const struct columns_sum *s = context;
    const struct columns *c = s->columns;
    size_t begin = turn * COLUMNS_TURN, left = c->problem->n - begin;
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
            c->dense->project(count, columns_pitch(elements),
                              c->value + k * c->pitch + begin, c->pitch,
                              c->weight + k, sum);
    }
    memcpy(s->out + begin, sum, elements * sizeof *sum);
}

static bool columns_multiply(struct columns *c, const double *v, double *out)
{
    struct columns_sum sum = {c, out};
    if (!columns_make_room(c, v))
        return false;
    columns_weigh(c, v);
    klr_pool_run(c->problem->op->pool,
                 (c->problem->n + COLUMNS_TURN - 1) / COLUMNS_TURN,
                 columns_turn, &sum);
    return true;
}
