/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operator against plain loops over the entries.
 */
#if defined(__GNUC__) /* internal.h declares statics of other parts */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include "solver/operator.c"

#include "tests/tap.h"

enum { N = 611, D = 6, M = 7, LEFT = 131 };

static double x[N * D];
static int feature[N * D];
static size_t start[N + 1];
static double gram[N * N]; /* K */
static float rounded[N * N];
static double v[N * M], out[N * M], expected[N * M];

static uint64_t state = 3;

static double uniform(void)
{
    state = state * UINT64_C(6364136223846793005) + 1442695041;
    return (double)(state >> 11) * 0x1p-52 - 1;
}

static struct klr_features make_features(void)
{
    for (size_t t = 0; t < N * D; t++) {
        x[t] = uniform();
        feature[t] = (int)(t % D) + 1;
        start[t / D + 1] = t + 1;
    }
    for (size_t t = 0; t < N * M; t++)
        v[t] = uniform();
    return (struct klr_features){N, D, start, feature, x};
}

/* expected (|rows|, m) = K[rows, cols] V in the order of the set. */
static void multiply(const size_t *row, size_t rows, const size_t *col,
                     size_t cols, size_t m, enum klr_precision precision)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < m; c++) {
            double sum = 0;
            for (size_t j = 0; j < cols; j++) {
                size_t at = row[i] * N + col[j];
                sum +=
                    (precision == KLR_FLOAT ? (double)rounded[at] : gram[at]) *
                    v[j * m + c];
            }
            expected[i * m + c] = sum;
        }
}

static size_t positions(struct klr_set set, size_t *position)
{
    size_t count = 0;
    for (size_t q = 0; q < set.count; q++)
        for (size_t i = set.range[q].begin; i < set.range[q].end; i++)
            position[count++] = i;
    return count;
}

static void check(struct klr_operator *op, const char *name,
                  struct klr_set rows, struct klr_set cols)
{
    static size_t row[N], col[N];
    size_t r = positions(rows, row), c = positions(cols, col);
    ok(r == rows.size && c == cols.size, "%s: sizes of sets", name);
    for (size_t m = 1; m <= M; m += 2)
        for (int p = 0; p < 2; p++) {
            enum klr_precision precision = p ? KLR_DOUBLE : KLR_FLOAT;
            unsigned long long before = op->evaluations;
            multiply(row, r, col, c, m, precision);
            memset(out, 0xff, sizeof out);
            operator_apply(op, rows, cols, v, m, precision, out);
            ok(!memcmp(out, expected, r * m * sizeof *out),
               "%s: %zu vectors, %s", name, m, p ? "double" : "float");
            ok(op->evaluations == before + r * c, "evaluations are counted");
        }
}

static void test_apply(struct klr_operator *op)
{
    const struct klr_range all = {0, N}, odd[] = {{5, 77}, {80, 81}, {300, N}};
    struct klr_range single[N / 2], cut[3] = {{0, 100}, {100, 100}, {100, N}};
    for (size_t q = 0; q < N / 2; q++)
        single[q] = (struct klr_range){2 * q, 2 * q + 1};
    check(op, "all", set_of(&all, 1), set_of(&all, 1));
    check(op, "cut in three", set_of(cut, 3), set_of(cut, 3));
    check(op, "rectangle", set_of(&all, 1), set_of(odd, 3));
    check(op, "some rows", set_of(odd, 3), set_of(&all, 1));
    check(op, "every second", set_of(odd, 1), set_of(single, N / 2));
    check(op, "no columns", set_of(odd, 2), set_of(odd, 0));
    check(op, "no rows", set_of(odd, 0), set_of(odd, 2));
}

static void test_entries(struct klr_operator *op)
{
    const struct klr_range odd[] = {{5, 77}, {80, 81}, {300, N}};
    struct klr_set set = set_of(odd, 3);
    static size_t col[N];
    static float narrow[N];
    bool wide_right = true, narrow_right = true, diagonal_right = true;
    unsigned long long before = op->evaluations;
    positions(set, col);
    operator_row(op, 200, set, KLR_DOUBLE, out);
    operator_row(op, 200, set, KLR_FLOAT, narrow);
    ok(op->evaluations == before + 2 * set.size, "rows are counted");
    for (size_t j = 0; j < set.size; j++) {
        wide_right = wide_right && out[j] == gram[200 * N + col[j]];
        narrow_right = narrow_right && narrow[j] == rounded[200 * N + col[j]];
    }
    ok(wide_right, "a row of doubles");
    ok(narrow_right, "a row of floats");
    operator_diagonal(op, set, out);
    for (size_t j = 0; j < set.size; j++)
        diagonal_right = diagonal_right && out[j] == gram[col[j] * (N + 1)];
    ok(diagonal_right, "the diagonal");
}

/* The first rows as other examples: the products are those of apply. */
static void test_cross(struct klr_operator *op, struct klr_features other)
{
    static size_t row[N];
    struct klr_range all = {0, N};
    struct klr_points *left = NULL;
    other.n = LEFT;
    ok(!klr_points_create_like(&left, op->points, &other, NULL),
       "other examples");
    positions(set_of(&all, 1), row);
    for (int p = 0; p < 2; p++) {
        enum klr_precision precision = p ? KLR_DOUBLE : KLR_FLOAT;
        unsigned long long before = op->evaluations;
        multiply(row, LEFT, row, N, M, precision);
        operator_cross(op, left, v, M, precision, out);
        ok(!memcmp(out, expected, LEFT * M * sizeof *out),
           "products with them, %s", p ? "double" : "float");
        ok(op->evaluations == before + (unsigned long long)LEFT * N,
           "evaluations are counted");
    }
    klr_points_free(left);
}

int main(void)
{
    struct klr_kernel kernel = {KLR_RBF, 0, 0.5, 0};
    struct klr_features features = make_features();
    struct klr_range all = {0, N};
    struct klr_operator op;
    struct klr_error err;
    if (!ok(!operator_create(&op, &kernel, &features, NULL, &err), "create"))
        return done_testing();
    ok(op.n == N && op.evaluations == 0, "nothing computed yet");
    klr_gram(op.points, all, op.points, set_of(&all, 1), KLR_DOUBLE, gram, N,
             op.workspace);
    for (size_t t = 0; t < N * N; t++)
        rounded[t] = (float)gram[t];
    test_apply(&op);
    test_entries(&op);
    test_cross(&op, features);
    operator_free(&op);

    kernel = (struct klr_kernel){KLR_PRECOMPUTED, 0, 0, 0};
    ok(operator_create(&op, &kernel, &features, NULL, &err) == KLR_E_DATA &&
           !op.points && !op.tile,
       "a failure leaves nothing: %s", err.message);
    return done_testing();
}
