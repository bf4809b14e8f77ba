/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The preconditioner of a linear kernel of sparse rows against its definition:
 * I + S X_T X_T' S with the features T that weigh most.
 */
#define SOLVER_FLOOR 4
#include "solver.c"

#include "tests/larger.h"
#include "tests/tap.h"

enum { N = 400, EACH = 4, WIDTH = 1000 };

static uint64_t state = 7;
static double value[N * EACH], root[N], dense[N][WIDTH], weight[WIDTH];
static int feature[N * EACH];
static size_t start[N + 1];

static double uniform(void)
{
    return (double)(random_next(&state) >> 11) / 9007199254740992.0;
}

/* Rows of EACH features of `width`, the first ones more often, of values that
 * floats hold. */
static struct klr_features examples(size_t width)
{
    memset(dense, 0, sizeof dense);
    for (size_t i = 0, at = 0; i < N; i++) {
        start[i] = at;
        while (at < start[i] + EACH) {
            size_t from = at - start[i], part = width / EACH;
            size_t j =
                from * part + (size_t)((double)part * uniform() * uniform());
            value[at] = floor(16 * uniform() - 8) / 8 + 0.0625;
            dense[i][j] = value[at];
            feature[at++] = (int)j + 1;
        }
        root[i] = i % 9 == 0 ? 0 : 3 * uniform();
    }
    start[N] = N * EACH;
    return (struct klr_features){N, WIDTH, start, feature, value, NULL};
}

static void weigh(struct klr_set set)
{
    size_t i = 0;
    memset(weight, 0, sizeof weight);
    for (size_t r = 0; r < set.count; r++)
        for (size_t p = set.range[r].begin; p < set.range[r].end; p++, i++)
            for (size_t f = 0; f < WIDTH; f++)
                weight[f] += root[i] * root[i] * dense[p][f] * dense[p][f];
}

/* Whether a feature is among the LEADING_MOST of the largest weights. */
static bool leads(size_t j)
{
    size_t before = 0;
    for (size_t f = 0; f < WIDTH; f++)
        before += weight[f] > weight[j];
    return before < LEADING_MOST && weight[j] > precond_least;
}

/* How far M out - in is from a multiple of s, and s'out from 0. */
static double solve_error(struct klr_set set, const double *in,
                          const double *out)
{
    static double m[N];
    double along = 0, norm = 0, multiple = 0, worst = 0, u;
    for (size_t i = 0; i < set.size; i++)
        m[i] = out[i] - in[i];
    weigh(set);
    for (size_t j = 0; j < WIDTH; j++) {
        if (!leads(j))
            continue;
        u = 0;
        for (size_t i = 0; i < set.size; i++)
            u += root[i] * dense[set_position(set, i)][j] * out[i];
        for (size_t i = 0; i < set.size; i++)
            m[i] += root[i] * dense[set_position(set, i)][j] * u;
    }
    for (size_t i = 0; i < set.size; i++) {
        along += root[i] * out[i];
        norm += root[i] * root[i];
        multiple += root[i] * m[i];
    }
    for (size_t i = 0; i < set.size; i++)
        worst = larger_of(worst, fabs(m[i] - multiple / norm * root[i]));
    return fmax(worst, fabs(along));
}

static void test_definition(size_t width, struct klr_set set)
{
    static double in[N], out[2][N];
    const struct klr_kernel linear = {.type = KLR_LINEAR};
    struct klr_features x = examples(width);
    bool good = true;
    for (size_t i = 0; i < N; i++)
        in[i] = 2 * uniform() - 1;
    for (int t = 0; t < 2; t++) {
        struct klr_error err;
        struct klr_pool *pool = NULL;
        struct klr_operator op;
        struct precond m;
        struct klr_arena arena = {0};
        good = good && !klr_pool_create(&pool, t ? 3 : 1, &err) &&
               !operator_create(&op, &linear, &x, NULL, pool, 0, &err) &&
               leading_serves(&op) &&
               !precond_create(&m, (struct submatrix){&op, set},
                               precond_most(set.size), false, &arena, &err) &&
               precond_prepare(&m, root) && op.evaluations == 0;
        if (!good)
            break;
        precond_solve(&m, in, out[t]);
        klr_arena_free(&arena);
        operator_free(&op);
        klr_pool_free(pool);
    }
    ok(good, "%zu features, %zu rows: built without K", width, set.size);
    double error = good ? solve_error(set, in, out[0]) : INFINITY;
    ok(error < 1e-11, "the inverse, to %.1e", error);
    ok(memcmp(out[0], out[1], set.size * sizeof **out) == 0,
       "the same bits by any number of threads");
}

int main(void)
{
    const struct klr_range all = {0, N},
                           some[] = {{3, 100}, {140, 141}, {200, 390}};
    const struct klr_set part = {some, 3, 97 + 1 + 190};
    test_definition(100, set_of(&all, 1));
    test_definition(100, part);
    test_definition(WIDTH, set_of(&all, 1));
    test_definition(WIDTH, part);
    return done_testing();
}
