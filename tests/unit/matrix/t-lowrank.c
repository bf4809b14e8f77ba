/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The preconditioner of the Newton method against its definition, and its bits
 * for any number of threads.
 */
#define SOLVER_FLOOR 5
#include "solver.c"

#include "tests/larger.h"
#include "tests/tap.h"

static uint64_t state = 20240601;

static double uniform(void)
{
    return (double)(random_next(&state) >> 11) / 9007199254740992.0;
}

enum { MOST = 1500, FEATURES = 5 };
static const struct klr_kernel rbf = {.type = KLR_RBF, .gamma = 0.5};
static double value[MOST * FEATURES], root[MOST], out[2][MOST];
static double change[MOST]; /* D: of the roots since L was built */
static size_t start[MOST + 1];
static int feature[MOST * FEATURES];

/* n examples, every `different` of them different. */
static struct klr_features examples(size_t n, size_t different)
{
    for (size_t i = 0; i < n * FEATURES; i++) {
        value[i] = i < different * FEATURES ? 2 * uniform() - 1
                                            : value[i - different * FEATURES];
        feature[i] = (int)(i % FEATURES) + 1;
    }
    for (size_t i = 0; i <= n; i++)
        start[i] = i * FEATURES;
    return (struct klr_features){n, FEATURES, start, feature, value, NULL};
}

struct built {
    struct klr_operator op;
    struct klr_range all;
    struct binary_problem problem;
    struct precond m;
    struct klr_arena arena;
};

static bool fold; /* whether examples are those of a fold */

/* Built for the weights root^2, with rank `rank` where that is allowed. */
static void built_create(struct built *b, const struct klr_features *features,
                         size_t rank, struct klr_pool *pool)
{
    struct klr_error err;
    *b = (struct built){.all = {0, features->n}};
    if (operator_create(&b->op, &rbf, features, NULL, pool, 0, &err))
        printf("Bail out! %s\n", err.message);
    b->problem = (struct binary_problem){
        .op = &b->op,
        .set = set_of(&b->all, 1),
        .n = features->n,
        .whole = !fold,
    };
    if (precond_create(&b->m, problem_matrix(&b->problem),
                       precond_most(features->n),
                       problem_shares_tiles(&b->problem), &b->arena, &err))
        printf("Bail out! %s\n", err.message);
    while (b->m.limit < b->m.most && b->m.limit < rank)
        precond_raise(&b->m);
    precond_build(&b->m, root);
    for (size_t i = 0; i < MOST; i++)
        change[i] = 1;
}

static void built_free(struct built *b)
{
    klr_arena_free(&b->arena);
    operator_free(&b->op);
}

static double factor_product(const struct precond *m, size_t i, size_t j)
{
    double sum = 0;
    for (size_t k = 0; k <= i && k <= j; k++)
        sum += m->factor[k * m->stride + i] * m->factor[k * m->stride + j];
    return sum;
}

/* An element of R'R - I - L'L */
static double factor_error(const struct precond *m, size_t i, size_t j)
{
    double sum = factor_product(m, i, j) - (double)(i == j);
    for (size_t p = 0; p < m->n; p++)
        sum -= (double)*precond_at(m, p, i) * (double)*precond_at(m, p, j);
    return sum;
}

/* R'R = I + L'L, within 1e-13 of the lengths of both columns, within `beside`
 * where these are of two bands. */
static void check_factor(const struct precond *m, double beside)
{
    double worst[2] = {0, 0};
    for (size_t i = 0; i < m->rank; i++)
        for (size_t j = i; j < m->rank; j++) {
            bool off = i / KLR_BAND != j / KLR_BAND;
            double error = fabs(factor_error(m, i, j));
            error /= sqrt(factor_product(m, i, i) * factor_product(m, j, j));
            worst[off] = larger_of(worst[off], error);
        }
    ok(worst[0] < 1e-13 && worst[1] < beside,
       "R'R = I + L'L: %g, beside the diagonal %g", worst[0], worst[1]);
}

/* S K S - L L' >= 0 has the diagonal `residual` and, where that is nearly 0,
 * no other entries. */
static double residual_error(struct built *b)
{
    const struct precond *m = &b->m;
    static float row[MOST];
    double worst = 0;
    for (size_t i = 0; i < m->n; i++) {
        operator_rows(&b->op, &i, 1, b->problem.set, KLR_FLOAT, row, 0);
        for (size_t j = 0; j < m->n; j++) {
            double sum = root[i] * root[j] * (double)row[j];
            for (size_t k = 0; k < m->rank; k++)
                sum -=
                    (double)*precond_at(m, i, k) * (double)*precond_at(m, j, k);
            if (i == j)
                sum -= m->residual[i];
            else
                sum = fabs(sum) - sqrt(m->residual[i] * m->residual[j]);
            worst = larger_of(worst, i == j ? fabs(sum) : sum);
        }
    }
    return worst;
}

/* out = M^-1 in, M = D (I + L E^-1 L') D, E = R'R - L'L, with s'out = 0: M out
 * - in is a multiple of s. E is I but for the rounding of floats. */
static double solve_error(struct precond *m, const double *in)
{
    double *z = out[0], along = 0, norm = 0, multiple = 0, worst = 0;
    double *p = out[1], u[MOST], v[MOST];
    precond_solve(m, in, z);
    for (size_t k = 0; k < m->rank; k++) {
        u[k] = 0;
        for (size_t i = 0; i < m->n; i++)
            u[k] += (double)*precond_at(m, i, k) * change[i] * z[i];
    }
    for (size_t k = 0; k < m->rank; k++) {
        v[k] = u[k];
        for (size_t j = 0; j < m->rank; j++)
            v[k] -= factor_error(m, k, j) * u[j];
    }
    for (size_t i = 0; i < m->n; i++) {
        p[i] = change[i] * change[i] * z[i] - in[i];
        for (size_t k = 0; k < m->rank; k++)
            p[i] += change[i] * (double)*precond_at(m, i, k) * v[k];
        along += root[i] * z[i];
        norm += root[i] * root[i];
        multiple += root[i] * p[i];
    }
    for (size_t i = 0; i < m->n; i++)
        worst = larger_of(worst, fabs(p[i] - multiple / norm * root[i]));
    return fmax(worst, fabs(along));
}

static void test_definition(void)
{
    struct klr_features features = examples(300, 300);
    struct built b;
    for (size_t i = 0; i < 300; i++)
        root[i] = i % 7 == 0 ? 0 : 10 * uniform();
    built_create(&b, &features, 150, NULL);
    ok(b.m.rank > KLR_BAND && b.m.rank < 300, "rank %zu of 300", b.m.rank);
    check_factor(&b.m, ldexp(1, -22));
    double error = residual_error(&b);
    ok(error < 1e-3, "what S K S - L L' leaves: %g", error);
    ok(b.m.flops > 300.0 * (double)(b.m.rank * b.m.rank), "%g operations",
       b.m.flops);
    error = solve_error(&b.m, value);
    ok(error < 1e-9, "M z = in, s'z = 0: %g", error);
    built_free(&b);
}

/* A smooth kernel, whose residuals soon are small beside 1, but of one sign for
 * all: what is left in the direction of a few vectors is next to nothing, too.
 */
static void test_smooth(void)
{
    enum { N = 1500 };
    struct klr_features features = examples(N, N);
    for (size_t i = 0; i < N * FEATURES; i++)
        value[i] *= 0.3;
    struct built b;
    for (size_t i = 0; i < N; i++)
        root[i] = 0.5;
    built_create(&b, &features, 0, NULL);
    static float row[N];
    double most = 0, sum = 0;
    for (size_t i = 0; i < N; i++)
        most = larger_of(most, b.m.residual[i]);
    for (size_t i = 0; i < N; i++) { /* 1'(S K S - L L')1 / n */
        operator_rows(&b.op, &i, 1, b.problem.set, KLR_FLOAT, row, 0);
        for (size_t j = 0; j < N; j++) {
            sum += root[i] * root[j] * (double)row[j] / N;
            for (size_t k = 0; k < b.m.rank; k++)
                sum -= (double)*precond_at(&b.m, i, k) *
                       (double)*precond_at(&b.m, j, k) / N;
        }
    }
    ok(b.m.rank < b.m.limit && most < 1e-3 && fabs(sum) < 0.03,
       "rank %zu leaves %g, %g along (1, .., 1)", b.m.rank, most, sum);
    built_free(&b);
}

/* With large weights floats are too coarse beside the diagonal, too. */
static void test_large(void)
{
    struct klr_features features = examples(300, 300);
    struct built b;
    for (size_t i = 0; i < 300; i++)
        root[i] = 3000 * uniform();
    built_create(&b, &features, 150, NULL);
    ok(b.m.rank > KLR_BAND, "large weights: rank %zu", b.m.rank);
    check_factor(&b.m, 1e-13);
    built_free(&b);
}

/* Pivots are kept for other weights while they leave little and building takes
 * long. */
static void test_rescaled(void)
{
    enum { N = 300 };
    struct klr_features features = examples(N, N);
    struct built b;
    for (size_t i = 0; i < N; i++)
        root[i] = 5 + 5 * uniform();
    root[0] = root[1] = 0;
    built_create(&b, &features, 140, NULL);
    size_t rank = b.m.rank, first = b.m.pivot[0], limit = b.m.limit;
    double flops = b.m.flops;
    for (size_t i = 2; i < N; i++)
        root[i] *= i % 5 ? 0.9 : 0.2;
    precond_prepare(&b.m, root);
    ok(b.m.rank >= rank && b.m.pivot[0] == first, "pivots are kept: rank %zu",
       b.m.rank);
    check_factor(&b.m, ldexp(1, -22));
    double error = residual_error(&b);
    ok(error < 1e-3, "what S K S - L L' leaves: %g", error);
    error = solve_error(&b.m, value);
    ok(error < 1e-9, "M z = in, s'z = 0: %g", error);
    ok(b.m.flops - flops < flops, "%g operations after %g", b.m.flops - flops,
       flops);
    precond_raise(&b.m);
    precond_prepare(&b.m, root);
    ok(b.m.limit == limit && !b.m.stale, "they do not do: all are chosen anew");
    root[0] = root[1] = 30;
    precond_prepare(&b.m, root);
    ok(!b.m.stale, "nor where rows had no weight");
    error = residual_error(&b);
    ok(error < 1e-3, "what S K S - L L' leaves: %g", error);
    built_free(&b);
}

/* Where folds share K fewer columns pay, and pivots are kept however soon they
 * could be chosen anew. */
static void test_shared(void)
{
    enum { N = 300 };
    struct klr_features features = examples(N, N);
    struct klr_operator op = {.n = 7000};
    struct binary_problem many = {.op = &op}, all = {.op = &op, .whole = true};
    size_t rank[2];
    for (int shared = 0; shared < 2; shared++) {
        struct built b;
        fold = shared;
        for (size_t i = 0; i < N; i++)
            root[i] = 1 + uniform();
        built_create(&b, &features, 0, NULL);
        rank[shared] = b.m.rank;
        for (size_t i = 0; i < N; i++)
            root[i] *= i % 5 ? 0.9 : 0.2;
        precond_prepare(&b.m, root);
        ok(!precond_is_dear(&b.m) && b.m.stale == shared, "%zu pivots: %s",
           rank[shared], shared ? "kept" : "chosen anew");
        double error = residual_error(&b);
        ok(error < 1e-3, "what S K S - L L' leaves: %g", error);
        built_free(&b);
    }
    ok(rank[1] < rank[0], "%zu columns instead of %zu", rank[1], rank[0]);
    ok(problem_shares_tiles(&many) && !problem_shares_tiles(&all),
       "folds of 7000 examples share K");
    op.n++;
    ok(!problem_shares_tiles(&many), "of more it might not be at hand");
    fold = false;
}

/* L is kept for weights that change little, those too small to matter by any
 * factor. */
static void test_kept(void)
{
    enum { N = 300 };
    struct klr_features features = examples(N, N);
    struct built b;
    for (size_t i = 0; i < N; i++)
        root[i] = i % 7 == 0 ? 0.01 : 1 + 10 * uniform();
    built_create(&b, &features, 0, NULL);
    size_t rank = b.m.rank, limit = b.m.limit;
    double flops = b.m.flops;
    for (size_t i = 0; i < N; i++) {
        change[i] = 0.8 + 0.75 * uniform();
        root[i] *= change[i];
        if (i % 7 == 0) {
            root[i] = i % 2 ? 0 : 0.09;
            change[i] = 1;
        }
    }
    precond_prepare(&b.m, root);
    double error = solve_error(&b.m, value);
    ok(b.m.rank == rank && b.m.flops - flops < flops / 10 && error < 1e-9,
       "L is kept: M z = in, s'z = 0: %g", error);
    precond_raise(&b.m);
    precond_prepare(&b.m, root);
    ok(b.m.limit == limit && b.m.flops > 1.5 * flops,
       "it does not do: L is built once more");
    for (int gone = 0; gone < 2; gone++) {
        double before = b.m.flops;
        root[1] *= gone ? 0 : 2.1;
        precond_prepare(&b.m, root);
        ok(b.m.rank == rank && b.m.flops - before > 0.9 * flops, "%s: anew",
           gone ? "one weight is 0" : "one weight has changed much");
    }
    precond_raise(&b.m);
    precond_prepare(&b.m, root);
    ok(b.m.limit == 2 * limit && b.m.rank > rank, "nor that: of rank %zu",
       b.m.rank);
    built_free(&b);
}

/* With equal examples and weights of 0 there are fewer pivots; with weights of
 * 0 alone none, and M = I. */
static void test_degenerate(void)
{
    struct klr_features features = examples(240, 10);
    struct built b;
    memset(root, 0, sizeof root);
    built_create(&b, &features, 240, NULL);
    precond_solve(&b.m, value, out[0]);
    ok(b.m.rank == 0 && !memcmp(value, out[0], 240 * sizeof *value),
       "no weight: M = I");
    built_free(&b);
    for (size_t i = 0; i < 240; i++)
        root[i] = i % 3 ? 5 : 0;
    built_create(&b, &features, 240, NULL);
    ok(b.m.rank == 10, "ten different examples have rank %zu", b.m.rank);
    built_free(&b);
}

/* to = W u, or with a bias W u less s^2 times the mean of u by W. */
static void weigh(size_t n, bool bias, const double *u, double *to)
{
    double total = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        total += root[i] * root[i];
        sum += root[i] * root[i] * u[i];
    }
    for (size_t i = 0; i < n; i++)
        to[i] = root[i] * root[i] * (u[i] - (bias ? sum / total : 0));
}

/* Ten different examples span all functions: there the preconditioner takes h,
 * of coefficients S x, to the z with z + W K z = S x as functions. */
static void test_function(bool bias)
{
    enum { N = 240 };
    struct klr_features features = examples(N, 10);
    struct built b;
    double in[N], t[N], z[N], u[N], wu[N], rest[N], worst = 0, product = 0;
    for (size_t i = 0; i < N; i++) {
        root[i] = i % 3 ? 5 * uniform() : 0;
        in[i] = uniform() - 0.3;
    }
    built_create(&b, &features, N, NULL);
    double norm = precond_function(&b.m, bias, in, t);
    for (size_t i = 0; i < N; i++)
        z[i] = root[i] * in[i];
    for (size_t k = 0; k < b.m.rank; k++)
        z[b.m.pivot[k]] += t[k];
    operator_apply(&b.op, b.problem.set, b.problem.set, z, 1, KLR_DOUBLE, u);
    weigh(N, bias, u, wu);
    for (size_t i = 0; i < N; i++) {
        wu[i] += z[i] - root[i] * in[i];
        product += root[i] * in[i] * u[i];
    }
    operator_apply(&b.op, b.problem.set, b.problem.set, wu, 1, KLR_DOUBLE,
                   rest);
    for (size_t i = 0; i < N; i++)
        worst = larger_of(worst, fabs(rest[i]));
    ok(worst < 1e-3 && fabs(norm / product - 1) < 1e-4,
       "functions%s: off by %.2g, product %g", bias ? " with a bias" : "",
       worst, product);
    built_free(&b);
}

/* More examples than a strip and a group of rows have. */
static void test_threads(void)
{
    struct klr_features features = examples(MOST, MOST);
    struct klr_error err;
    size_t rank = 0;
    bool same = true;
    for (size_t i = 0; i < MOST; i++)
        root[i] = 3 * uniform();
    for (long long threads = 1; threads <= 3; threads++) {
        struct klr_pool *pool;
        struct built b;
        if (klr_pool_create(&pool, threads, &err))
            printf("Bail out! %s\n", err.message);
        built_create(&b, &features, 250, pool);
        precond_solve(&b.m, value, out[threads > 1]);
        same = same && (threads == 1 || (b.m.rank == rank &&
                                         !memcmp(out[0], out[1], sizeof *out)));
        rank = b.m.rank;
        built_free(&b);
        klr_pool_free(pool);
    }
    ok(same && rank > 100, "rank %zu: the same bits for 1, 2, 3 threads", rank);
}

/* Bytes of L, in MB: 32, of 25000 examples and more up to 64, of very many not
 * so; a step of the Newton method is known to take them. */
static void test_memory(void)
{
    static const struct {
        size_t n, most, more;
    } of[] = {{500, 500, 500},   {8192, 1024, 1024}, {19020, 441, 441},
              {25000, 335, 474}, {32561, 257, 515},  {65536, 128, 256},
              {98304, 85, 128},  {131072, 64, 64},   {1000000, 8, 8},
              {100000000, 1, 1}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        size_t n = of[i].n, most = precond_most(n), more = precond_more(n);
        ok(most == of[i].most && more == of[i].more &&
               direction_bytes(n, 1) > precond_bytes(n, more),
           "%zu examples: %zu columns, or %zu", n, most, more);
    }
}

int main(void)
{
    test_definition();
    test_smooth();
    test_large();
    test_kept();
    test_rescaled();
    test_shared();
    test_degenerate();
    test_function(false);
    test_function(true);
    test_threads();
    test_memory();
    return done_testing();
}
