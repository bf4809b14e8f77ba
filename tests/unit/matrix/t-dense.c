/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dense products, for each instruction set that this processor has, and dense
 * triangles, against sums written out in long double.
 */
#define SOLVER_FLOOR 4
#include "solver.c"

#include "tests/larger.h"
#include "tests/tap.h"

static uint64_t state = 20240601;

static double uniform(void)
{
    return (double)(random_next(&state) >> 11) / 9007199254740992.0;
}

static const char *const sets[] = {"portable", "avx2", "avx512"};
enum { SETS = 3, H = 67, K = 150 };

static float left[H * K], right[K * KLR_PANEL], tall[K * K];
static double wide[K * K], x[K], w[K];

static void fill_floats(float *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)(2 * uniform() - 1);
}

static void fill_doubles(double *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = 2 * uniform() - 1;
}

/* ---- dense products ---- */

/* H is no multiple of any register block. */
static void test_panel(const char *set)
{
    const struct klr_dense *dense = klr_dense();
    static float once[H * KLR_PANEL], divided[H * KLR_PANEL];
    double worst = 0;
    for (size_t i = 0; i < H * KLR_PANEL; i++)
        once[i] = divided[i] = (float)i;
    dense->gemm_32(H, K, left, K, right, once);
    for (size_t i = 0, rows; i < H; i += rows) {
        rows = H - i < 1 + i % 17 ? H - i : 1 + i % 17;
        dense->gemm_32(rows, K, left + i * K, K, right,
                       divided + i * KLR_PANEL);
    }
    for (size_t i = 0; i < H; i++)
        for (size_t c = 0; c < KLR_PANEL; c++) {
            long double sum = (long double)(i * KLR_PANEL + c);
            for (size_t k = 0; k < K; k++)
                sum += (long double)left[i * K + k] * right[k * KLR_PANEL + c];
            worst =
                larger_of(worst, fabs((double)(once[i * KLR_PANEL + c] - sum)) /
                                     (20 + fabs((double)sum)));
        }
    ok(worst < 2e-6, "%s: out += A B in floats: %g", set, worst);
    ok(!memcmp(once, divided, sizeof once), "%s: however the rows are divided",
       set);
}

/* K is no multiple of any register block either. */
static void test_slim(const char *set)
{
    const struct klr_dense *dense = klr_dense();
    static float out[2][K * KLR_SLIM];
    double worst = 0;
    for (size_t i = 0; i < K * KLR_SLIM; i++)
        out[0][i] = out[1][i] = (float)i;
    dense->gemm_16(H, K, left, K, false, right, out[0]);
    dense->gemm_16(K, H, left, K, true, right, out[1]);
    for (int turned = 0; turned < 2; turned++)
        for (size_t i = 0; i < (turned ? K : H); i++)
            for (size_t c = 0; c < KLR_SLIM; c++) {
                long double sum = (long double)(i * KLR_SLIM + c);
                for (size_t k = 0; k < (turned ? H : K); k++)
                    sum += (long double)left[turned ? k * K + i : i * K + k] *
                           right[k * KLR_SLIM + c];
                double off = (double)(out[turned][i * KLR_SLIM + c] - sum);
                worst = larger_of(worst, fabs(off) / (20 + fabs((double)sum)));
            }
    ok(worst < 2e-6, "%s: out += A B and A'B of few columns: %g", set, worst);
}

/* Products of floats, summed up in floats over some rows. */
static void test_cross(const char *set)
{
    const struct klr_dense *dense = klr_dense();
    static double fine[KLR_BAND * KLR_BAND], rounded[KLR_BAND * KLR_BAND];
    static const size_t counts[] = {1, 13, KLR_BAND};
    double worst = 0;
    for (size_t inner = 0; inner < K; inner += 37)
        for (size_t c = 0; c < 9; c++) {
            size_t rows = counts[c / 3], cols = counts[c % 3];
            dense->gram(inner, tall + 3, tall + 60, KLR_FLOAT, K, rows, cols,
                        fine);
            dense->syrk_rounded(inner, tall + 3, tall + 60, K, rows, cols,
                                rounded);
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < cols; j++) {
                    size_t at = i * KLR_BAND + j;
                    worst = larger_of(worst, fabs(rounded[at] - fine[at]));
                }
        }
    ok(worst > 0 && worst < ldexp(1, -22) * K / 3,
       "%s: A'B in floats, then doubles: %g", set, worst);
}

/* |A'B| against the sums of its definition, above the diagonal if A is B. */
static double gram_error(const struct klr_dense *dense, size_t inner,
                         enum klr_precision precision, size_t a, size_t b,
                         size_t rows, size_t cols)
{
    static double out[KLR_BAND * KLR_BAND];
    double worst = 0;
    if (precision == KLR_FLOAT)
        dense->gram(inner, tall + a, tall + b, precision, K, rows, cols, out);
    else
        dense->gram(inner, wide + a, wide + b, precision, K, rows, cols, out);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = a == b ? i : 0; j < cols; j++) {
            long double sum = 0;
            for (size_t k = 0; k < inner; k++) {
                size_t p = k * K + a + i, q = k * K + b + j;
                sum += precision == KLR_FLOAT ? (long double)tall[p] * tall[q]
                                              : (long double)wide[p] * wide[q];
            }
            worst =
                larger_of(worst, fabs((double)(out[i * KLR_BAND + j] - sum)));
        }
    return worst;
}

static void test_gram(const char *set)
{
    const struct klr_dense *dense = klr_dense();
    double worst = 0;
    for (int p = KLR_FLOAT; p <= KLR_DOUBLE; p++) {
        enum klr_precision precision = (enum klr_precision)p;
        for (size_t inner = 0; inner <= K; inner += 30) {
            worst = larger_of(worst, gram_error(dense, inner, precision, 0, 0,
                                                KLR_BAND, KLR_BAND));
            worst = larger_of(worst, gram_error(dense, inner, precision, 48, 96,
                                                KLR_BAND, KLR_BAND));
            worst =
                larger_of(worst, gram_error(dense, inner, precision, 3, 3,
                                            1 + inner % 47, 1 + inner % 47));
            worst = larger_of(worst, gram_error(dense, inner, precision, 5, 96,
                                                KLR_BAND - 1, 1 + inner % 45));
        }
    }
    ok(worst < 1e-13, "%s: A'B in doubles: %g", set, worst);
}

static double diagonal[KLR_BAND];

/* |R'X - B| for X = R^-T B, (rows, cols) of `wide`, whose upper triangle with a
 * larger diagonal is R; and what became of elements that are not X's. */
static double divide_error(const struct klr_dense *dense, size_t rows,
                           size_t cols)
{
    static double out[KLR_BAND * K];
    double worst = 0;
    memcpy(out, wide, sizeof out);
    for (size_t i = 0; i < rows; i++)
        wide[i * K + i] = 20;
    dense->divide(rows, wide, K, cols, out, K);
    for (size_t i = 0; i < KLR_BAND; i++)
        for (size_t j = 0; j < K; j++) {
            long double sum = i < rows && j < cols ? 0 : out[i * K + j];
            for (size_t k = 0; k <= i && i < rows && j < cols; k++)
                sum += (long double)wide[k * K + i] * out[k * K + j];
            double before = i == j ? diagonal[i] : wide[i * K + j];
            worst = larger_of(worst, fabs((double)sum - before));
        }
    for (size_t i = 0; i < rows; i++)
        wide[i * K + i] = diagonal[i];
    return worst;
}

static void test_divide(const char *set)
{
    static const size_t rows[] = {0, 1, 5, KLR_BAND - 1, KLR_BAND};
    static const size_t cols[] = {0, 1, 15, 16, 17, K};
    const struct klr_dense *dense = klr_dense();
    double worst = 0;
    for (size_t i = 0; i < KLR_BAND; i++)
        diagonal[i] = wide[i * K + i];
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof cols / sizeof *cols; c++)
            worst = larger_of(worst, divide_error(dense, rows[r], cols[c]));
    ok(worst < 1e-14, "%s: R^-T X: %g", set, worst);
}

/* bits: (K + H) of the two sweeps, from the first set on the same. */
static void test_sweeps(const char *set, double *bits, bool first)
{
    const struct klr_dense *dense = klr_dense();
    static double out[K + H];
    const size_t cols = 136;
    double worst = 0;
    for (size_t i = 0; i < K + H; i++)
        out[i] = 1; /* they add to that */
    dense->gemv_t(H, cols, left, K, x, out);
    dense->expand(H, cols, left, K, w, out + K);
    for (size_t k = 0; k < K; k++) {
        long double sum = 1;
        for (size_t i = 0; k < cols && i < H; i++)
            sum += (long double)left[i * K + k] * x[i];
        worst = larger_of(worst, fabs((double)(out[k] - sum)));
    }
    for (size_t i = 0; i < H; i++) {
        long double sum = 1;
        for (size_t k = 0; k < cols; k++)
            sum += (long double)left[i * K + k] * w[k];
        worst = larger_of(worst, fabs((double)(out[K + i] - sum)));
    }
    ok(worst < 1e-13, "%s: A'x and A w in doubles: %g", set, worst);
    if (first)
        memcpy(bits, out, sizeof out);
    ok(!memcmp(bits, out, sizeof out), "%s: the same bits everywhere", set);
}

static void test_dense(void)
{
    static double bits[K + H];
    fill_floats(left, H * K);
    fill_floats(right, K * KLR_PANEL);
    fill_floats(tall, K * K);
    fill_doubles(wide, K * K);
    fill_doubles(x, K);
    fill_doubles(w, K);
    for (int set = 0; set < SETS; set++) {
        setenv("KLR_CPU", sets[set], 1);
        test_panel(sets[set]);
        test_slim(sets[set]);
        test_gram(sets[set]);
        test_cross(sets[set]);
        test_divide(sets[set]);
        test_sweeps(sets[set], bits, set == 0);
    }
    unsetenv("KLR_CPU");
}

/* ---- triangles ---- */

/* A'A + shift I, its upper triangle, from the first n rows of `wide`. */
static void definite(size_t n, double shift, double *a)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < K; j++) {
            double sum = i == j ? shift : 0;
            for (size_t k = 0; j < n && k < n; k++)
                sum += wide[k * K + i] * wide[k * K + j];
            a[i * K + j] = j < i ? NAN : sum;
        }
}

/* |R'R - A| / |A|, and |L R' - I|, the largest elements of each. */
static void check_triangle(size_t n)
{
    static double a[K * K], r[K * K], inverse[K * K];
    double worst = 0, off = 0;
    definite(n, 1, a);
    memcpy(r, a, sizeof r);
    memset(inverse, 0, sizeof inverse);
    ok(triangle_factor(klr_dense(), n, K, r, 0.5), "%zu rows: definite", n);
    triangle_invert(klr_dense(), n, K, r, inverse);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            long double sum = 0, one = 0;
            for (size_t k = 0; k <= i && i <= j; k++)
                sum += (long double)r[k * K + i] * r[k * K + j];
            for (size_t k = j; k <= i; k++)
                one += (long double)inverse[i * K + k] * r[j * K + k];
            worst =
                i <= j ? fmax(worst, fabs((double)sum - a[i * K + j])) : worst;
            off = larger_of(off, fabs((double)one - (i == j)));
        }
    ok(worst < 1e-13, "%zu rows: R'R: %g", n, worst);
    ok(off < 1e-13, "%zu rows: R^-T: %g", n, off);
}

/* A small pivot among others, in any band. */
static void check_pivots(size_t small)
{
    static double a[K * K];
    const size_t n = 100;
    memset(a, 0, sizeof a);
    for (size_t i = 0; i < n; i++)
        a[i * K + i] = i == small ? 0.25 : 4;
    ok(triangle_factor(klr_dense(), n, K, a, 0.125), "pivots above the least");
    ok(a[small * K + small] == 0.5, "the root of a pivot");
    a[small * K + small] = 0.25;
    ok(!triangle_factor(klr_dense(), n, K, a, 1), "a pivot below the least");
    ok(a[small * K + small] == 1, "... is raised to it");
    a[small * K + small] = NAN;
    ok(!triangle_factor(klr_dense(), n, K, a, 1), "no number is below");
}

static void test_triangle(void)
{
    check_triangle(1);
    check_triangle(KLR_BAND);
    check_triangle(2 * KLR_BAND + 5);
    check_pivots(3);
    check_pivots(70);
}

int main(void)
{
    test_dense();
    test_triangle();
    return done_testing();
}
