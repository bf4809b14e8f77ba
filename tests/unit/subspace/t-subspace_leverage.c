/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A sample by leverage: scores are what the definition says, the sample stands
 * for all examples, and at a large C its Hessian preconditions in a fraction of
 * the products that one of an even sample takes.
 */
#define SOLVER_FLOOR 5
#include "solver.c"

#include "tests/tap.h"

enum { N = 6000, D = 2, POINTS = 40, SAMPLE = 1024 };

static double y[N], weight[N], value[N * D], score[N], exact[N];
static size_t start[N + 1];
static int row_index[N * D];
static uint64_t state = 11;

static double uniform(void)
{
    return (double)(random_next(&state) >> 11) / 9007199254740992.0;
}

/* A disc in a square; few examples are near its border. */
static struct klr_features make_examples(void)
{
    for (size_t i = 0; i < N; i++) {
        double square = 0;
        for (size_t d = 0; d < D; d++) {
            value[i * D + d] = 2 * uniform() - 1;
            square += value[i * D + d] * value[i * D + d];
            row_index[i * D + d] = (int)d + 1;
        }
        y[i] = square < 0.4 ? 1 : -1;
        weight[i] = 1;
        start[i + 1] = (i + 1) * D;
    }
    return (struct klr_features){N, D, start, row_index, value, NULL};
}

/* W_i b_i'h^-1 b_i */
static void find_leverage(struct subspace *s)
{
    size_t pitch = sample_pitch(s);
    double *x = klr_alloc(pitch * KLR_BAND, sizeof *x, NULL);
    double *b = klr_zalloc(pitch, sizeof *b, NULL);
    for (size_t first = 0; x && b && first < N; first += KLR_BAND) {
        size_t rows = band_rows(N, first);
        subspace_whiten(s, 0, NULL, first, rows, x);
        for (size_t r = 0; r < rows; r++) {
            for (size_t k = 0; k < s->m; k++)
                b[k] = x[k * KLR_BAND + r];
            panels_forward(&s->h[0], b);
            exact[first + r] = s->all.curve[first + r] * dot(s->m, b, b);
        }
    }
    klr_free(x);
    klr_free(b);
}

static void test_scores(struct subspace *s)
{
    uint64_t random = 3;
    double sum = 0, all = 0, off = 0;
    ok(leverage_scores(s, &random, score), "scores");
    find_leverage(s);
    for (size_t i = 0; i < N; i++) {
        sum += score[i];
        all += exact[i];
        off += fabs(score[i] - exact[i]);
    }
    ok(fabs(sum / all - 1) < 0.3 && off < 0.6 * all,
       "... sum up to %.3g, leverages to %.3g, off by %.3g", sum, all, off);
}

/* Products for a direction to a thousandth. */
static size_t count_products(struct subspace *s)
{
    size_t products = 0;
    subspace_direction(s, &s->all, 1e-3, INFINITY, &products);
    return products;
}

static void test_sample(struct subspace *s, size_t even)
{
    double stands[2] = {0}, size[2] = {0};
    bool ascends = true;
    s->renewed = true;
    ok(subspace_renew(s) && s->sample.n <= sample_most(SAMPLE, 2, N),
       "a sample of %zu", s->sample.n);
    for (size_t k = 0; k < s->sample.n; k++) {
        ascends = ascends && (k == 0 || s->row[k] > s->row[k - 1]);
        stands[sample_class(s, s->row[k])] += s->share[k];
    }
    for (size_t i = 0; i < N; i++)
        size[y[i] > 0]++;
    ok(ascends, "... in ascending order");
    for (int c = 0; c < 2; c++)
        ok(fabs(stands[c] / size[c] - 1) < 0.15,
           "... stands for %.0f examples of %.0f", stands[c], size[c]);
    size_t products = count_products(s);
    ok(2 * products < even, "... by which %zu products do, evenly drawn %zu",
       products, even);
}

int main(void)
{
    struct klr_features x = make_examples();
    struct klr_params params;
    struct klr_operator op = {0};
    struct clock clock;
    struct klr_error err = {0};
    struct klr_range all = {0, N};
    struct subspace s = {0};
    size_t products = 0;
    klr_params_init(&params);
    params.gamma = klr_reals_of(4);
    params.cost = klr_reals_of(1e6);
    params.basis = POINTS;
    struct klr_kernel kernel = params_kernel(&params, D);
    struct binary_problem problem = {.op = &op,
                                     .set = set_of(&all, 1),
                                     .n = N,
                                     .y = y,
                                     .weight = weight,
                                     .params = &params,
                                     .clock = &clock};
    clock_start(&clock, 1);
    if (operator_create(&op, &kernel, &x, NULL, NULL, 1 << 20, &err) ||
        subspace_begin(&s, &problem, 1, 1, &err) ||
        subspace_draw(&s, SAMPLE, &err))
        printf("Bail out! %s\n", err.message);
    subspace_start(&s, 1e6);
    subspace_fit_sample(&s, sample_gap);
    restricted_begin(&s, 1e-3);
    for (int step = 0; step < 100 && !(s.gap < 1e-2); step++)
        restricted_step(&s, KLR_FLOAT, 1e-3, &products);
    subspace_draw(&s, SAMPLE, &err);
    s.renewed = false;
    restricted_slope(&s, KLR_FLOAT);
    ok(s.gap < 1e-2 && subspace_renew(&s), "near the solution, gap %.2g",
       s.gap);
    size_t even = count_products(&s);
    test_scores(&s);
    test_sample(&s, even);
    subspace_free(&s);
    operator_free(&op);
    return done_testing();
}
