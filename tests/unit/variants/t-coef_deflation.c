/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The preconditioner for the regularizer beta'beta against its definition with
 * dense matrices, for an indefinite K, and its bits for any number of threads.
 */
#define SOLVER_FLOOR 5
#include "solver.c"

#include "tests/larger.h"
#include "tests/tap.h"

static uint64_t state = 20261129;

static double uniform(void)
{
    return 2 * random_unit(&state) - 1;
}

enum { MOST = 1200, LARGE = 4 };
static double k[MOST * MOST], weight[MOST];

/* A small symmetric matrix, and a few large parts of either sign. */
static void make_matrix(size_t n)
{
    double part[LARGE][MOST];
    for (size_t i = 0; i < n; i++) {
        weight[i] = random_unit(&state);
        for (size_t c = 0; c < LARGE; c++)
            part[c][i] = 3 * uniform() / sqrt((double)n);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.5 * uniform() / sqrt((double)n);
            for (size_t c = 0; c < LARGE; c++)
                sum += (c % 2 ? -2.0 : 1.0) * part[c][i] * part[c][j];
            k[i * n + j] = k[j * n + i] = sum;
        }
}

static void multiply(size_t n, const double *x, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = dot(n, k + i * n, x);
}

/* out = x + K V K x */
static void hessian_multiply(size_t n, bool bias, const double *x, double *out)
{
    static double kx[MOST];
    double sum = 0, total = 0;
    multiply(n, x, kx);
    for (size_t i = 0; i < n; i++) {
        sum += weight[i] * kx[i];
        total += weight[i];
    }
    for (size_t i = 0; i < n; i++)
        kx[i] = weight[i] * (kx[i] - (bias ? sum / total : 0));
    multiply(n, kx, out);
    for (size_t i = 0; i < n; i++)
        out[i] += x[i];
}

struct made {
    struct klr_operator op;
    struct klr_params params;
    struct binary_problem problem;
    struct deflation m;
    struct klr_arena arena;
};

/* With that many directions, each close to the one before. */
static void made_create(struct made *made, size_t n, size_t directions,
                        bool bias, struct klr_pool *pool)
{
    static double x[MOST], kx[MOST];
    struct klr_error err;
    memset(made, 0, sizeof *made);
    klr_params_init(&made->params);
    made->params.no_bias = !bias;
    made->op.pool = pool;
    made->problem = (struct binary_problem){
        .op = &made->op, .n = n, .params = &made->params};
    if (deflation_create(&made->m, &made->problem, COEF_ROOM, &made->arena,
                         &err))
        printf("Bail out! %s\n", err.message);
    state = 7;
    memset(x, 0, sizeof x);
    for (size_t d = 0; d < directions; d++) {
        for (size_t i = 0; i < n; i++)
            x[i] = 0.99 * x[i] + uniform();
        multiply(n, x, kx);
        deflation_add(&made->m, x, kx);
    }
    deflation_weigh(&made->m, weight);
}

static double element(const struct deflation *m, const float *a, size_t i,
                      size_t c)
{
    size_t band = c / KLR_BAND * KLR_BAND;
    return (double)a[band * m->n + i * KLR_BAND + c - band];
}

static void test_columns(size_t n, size_t directions)
{
    static double q[2][MOST], kq[MOST];
    struct made made;
    double crooked = 0, off = 0, size = 0;
    made_create(&made, n, directions, true, NULL);
    size_t rank = made.m.rank;
    ok(rank == directions, "%zu directions, %zu columns", directions, rank);
    for (size_t a = 0; a < rank; a++) {
        for (size_t i = 0; i < n; i++)
            q[0][i] = element(&made.m, made.m.q, i, a);
        multiply(n, q[0], kq);
        for (size_t i = 0; i < n; i++) {
            off =
                larger_of(off, fabs(kq[i] - element(&made.m, made.m.z, i, a)));
            size = larger_of(size, fabs(kq[i]));
        }
        for (size_t b = 0; b <= a; b++) {
            for (size_t i = 0; i < n; i++)
                q[1][i] = element(&made.m, made.m.q, i, b);
            crooked = larger_of(crooked, fabs(dot(n, q[0], q[1]) - (a == b)));
        }
    }
    ok(crooked < 1e-6, "they are orthonormal to %.1g", crooked);
    ok(off < 1e-5 * size, "and their products with K known to %.1g", off);
    deflation_add(&made.m, q[0], kq);
    ok(made.m.rank == rank, "what is in their span adds no column");
    klr_arena_free(&made.arena);
}

/* The part of x in the span of Q. */
static void take_out(const struct deflation *m, double *x)
{
    for (int turn = 0; turn < 3; turn++)
        for (size_t c = 0; c < m->rank; c++) {
            double sum = 0;
            for (size_t i = 0; i < m->n; i++)
                sum += x[i] * element(m, m->q, i, c);
            for (size_t i = 0; i < m->n; i++)
                x[i] -= sum * element(m, m->q, i, c);
        }
}

/* H on the span of Q: for x = Q a, Q'H M^-1 x = a. */
static void test_span(size_t n, size_t directions, bool bias)
{
    static double x[MOST], solved[MOST], back[MOST], beside[MOST];
    struct made made;
    double worst = 0, moved = 0;
    made_create(&made, n, directions, bias, NULL);
    memset(x, 0, sizeof x);
    for (size_t c = 0; c < made.m.rank; c++) {
        double a = uniform();
        for (size_t i = 0; i < n; i++)
            x[i] += a * element(&made.m, made.m.q, i, c);
    }
    deflation_solve(&made.m, x, solved);
    hessian_multiply(n, bias, solved, back);
    for (size_t i = 0; i < n; i++)
        back[i] -= x[i];
    for (size_t c = 0; c < made.m.rank; c++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += back[i] * element(&made.m, made.m.q, i, c);
        worst = larger_of(worst, fabs(sum));
    }
    ok(worst < 1e-4, "%zu of %zu columns, %s bias: H on their span up to %.1g",
       made.m.rank, n, bias ? "a" : "no", worst);
    for (size_t i = 0; i < n; i++)
        x[i] = uniform();
    take_out(&made.m, x);
    memcpy(back, x, n * sizeof *x);
    for (size_t c = 0; c < made.m.rank; c++)
        for (size_t i = 0; i < n; i++)
            x[i] += 1e8 * element(&made.m, made.m.q, i, c);
    deflation_solve(&made.m, x, beside);
    take_out(&made.m, beside);
    for (size_t i = 0; i < n; i++)
        moved = larger_of(moved, fabs(beside[i] - back[i]));
    ok(moved < 1e-4,
       "and the identity beside it, whatever is in it, up to %.1g", moved);
    klr_arena_free(&made.arena);
}

/* Large weights: nearly nothing of an x in the span may be left, and x'M^-1 x
 * must not be lost in what Q lacks of being orthonormal. */
static void test_stiff(size_t n, size_t directions)
{
    static double x[MOST], solved[MOST];
    struct made made;
    for (size_t i = 0; i < n; i++)
        weight[i] *= 1e12;
    made_create(&made, n, directions, true, NULL);
    memset(x, 0, sizeof x);
    for (size_t c = 0; c < made.m.rank; c++)
        for (size_t i = 0; i < n; i++)
            x[i] += element(&made.m, made.m.q, i, c);
    deflation_solve(&made.m, x, solved);
    double form = dot(n, x, solved) / dot(n, x, x);
    ok(form > 0 && form < 1e-10, "weights of 1e12 leave %.1g of it", form);
    for (size_t i = 0; i < n; i++)
        weight[i] /= 1e12;
    klr_arena_free(&made.arena);
}

/* H by columns of K, where weights are of these examples alone: of another one
 * that is a copy, and of one that joins later. */
static void test_kernels(size_t n, size_t count, bool bias)
{
    static double x[MOST], hx[MOST], solved[MOST], kept[MOST];
    static size_t place[MOST];
    struct made made;
    double worst = 0, size = 0;
    memcpy(kept, weight, sizeof kept);
    for (size_t j = 0; j < n; j++) /* and K stays symmetric */
        k[j] = k[j * n] = k[n + j];
    k[0] = k[1] = k[n + 1];
    made_create(&made, n, 0, bias, NULL);
    made.m.place = place;
    for (size_t i = 0; i < n; i++)
        weight[i] = i < count ? 1e3 * weight[i] : 0;
    for (size_t i = 0; i < count; i++) {
        deflation_add_column(&made.m, i, k + i * n);
        if (i == count / 2)
            deflation_weigh(&made.m, weight);
    }
    ok(made.m.rank == count - 1, "%zu columns of %zu are different",
       made.m.rank, count);
    deflation_weigh(&made.m, weight);
    for (size_t i = 0; i < n; i++)
        x[i] = uniform();
    hessian_multiply(n, bias, x, hx);
    deflation_solve(&made.m, hx, solved);
    for (size_t i = 0; i < n; i++) {
        worst = larger_of(worst, fabs(solved[i] - x[i]));
        size = larger_of(size, fabs(hx[i]));
    }
    ok(worst < 1e-6 * size && size > 10,
       "%s bias: M is H by columns of K, up to %.1g of %.1g", bias ? "a" : "no",
       worst, size);
    memcpy(weight, kept, sizeof kept);
    klr_arena_free(&made.arena);
}

static void test_threads(size_t n, size_t directions)
{
    static double x[MOST], out[2][MOST];
    struct klr_error err;
    for (size_t i = 0; i < n; i++)
        x[i] = uniform();
    for (int t = 0; t < 2; t++) {
        struct klr_pool *pool = NULL;
        struct made made;
        if (klr_pool_create(&pool, 1 + 2 * t, &err))
            printf("Bail out! %s\n", err.message);
        made_create(&made, n, directions, true, pool);
        deflation_solve(&made.m, x, out[t]);
        klr_arena_free(&made.arena);
        klr_pool_free(pool);
    }
    ok(memcmp(out[0], out[1], n * sizeof *x) == 0,
       "three threads: the same bits");
    ok(memcmp(out[0], x, n * sizeof *x) != 0, "which are not those of M = I");
}

int main(void)
{
    make_matrix(MOST);
    test_columns(MOST, 60);
    test_span(MOST, 20, false);
    test_span(MOST, 60, true);
    test_stiff(MOST, 60);
    test_threads(MOST, 60);
    test_kernels(MOST, 40, true);
    test_kernels(MOST, 100, false);
    make_matrix(2 * KLR_BAND);
    test_span(2 * KLR_BAND, 2 * KLR_BAND, true);
    return done_testing();
}
