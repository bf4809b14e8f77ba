/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Elementary functions of kernels, what overflows, kernels that are given, and
 * tiles of entries times vectors.
 */
#include "kernel.c"

#include <stdio.h>

#include "tests/larger.h"
#include "tests/kernels.h"
#include "tests/tap.h"

/* ---- elementary functions, overflow ---- */

static void test_power(void)
{
    ok(kernel_power(-3, 5) == -243 && kernel_power(0, 0) == 1 &&
           kernel_power(10, 400) == INFINITY,
       "powers by squaring");
}

/* 2^x and tanh x of SPAN numbers by each instruction set, for both types. */
#define ELEMENTARY(real, suffix, target, bytes)                                \
    static target void elementary_##real##_##suffix(                           \
        const double *x, double *powers, double *tanhs)                        \
    {                                                                          \
        enum { LANES_ = bytes / (int)sizeof(real), MOST_ = SPAN / LANES_ };    \
        enum { GROUP_ = MOST_ < 4 ? MOST_ : 4 };                               \
        for (size_t at = 0; at < SPAN; at += LANES_ * GROUP_) {                \
            reals_##real##_##suffix a[4], b[4], e[4];                          \
            for (int q = 0; q < GROUP_; q++)                                   \
                for (int c = 0; c < LANES_; c++)                               \
                    a[q][c] = b[q][c] =                                        \
                        (real)x[at + (size_t)(q * LANES_ + c)];                \
            for (int q = 0; q < GROUP_; q++)                                   \
                e[q] = (real)TANH_RATE * abs_##real##_##suffix(b[q]);          \
            powers_##real##_##suffix(GROUP_, a);                               \
            powers_##real##_##suffix(GROUP_, e);                               \
            for (int q = 0; q < GROUP_; q++)                                   \
                b[q] = tanh_##real##_##suffix(b[q], e[q]);                     \
            for (int q = 0; q < GROUP_; q++)                                   \
                for (int c = 0; c < LANES_; c++) {                             \
                    powers[at + (size_t)(q * LANES_ + c)] = (double)a[q][c];   \
                    tanhs[at + (size_t)(q * LANES_ + c)] = (double)b[q][c];    \
                }                                                              \
        }                                                                      \
    }

ELEMENTARY(float, portable, , 16)
ELEMENTARY(double, portable, , 16)
#if defined __x86_64__
ELEMENTARY(float, avx2, AVX2, 32)
ELEMENTARY(double, avx2, AVX2, 32)
ELEMENTARY(float, avx512, AVX512, 64)
#endif

/* Numbers of a type: digits, the lowest exponent, and functions of them. */
struct numbers {
    const char *name;
    int digits, lowest;
    void (*function)(const double *x, double *powers, double *tanhs);
};

/* The error in units of the last place of the exact value. */
static double ulps(const struct numbers *numbers, double value,
                   long double exact)
{
    int exponent;
    frexpl(exact, &exponent);
    exponent = exponent < numbers->lowest + 1 ? numbers->lowest + 1 : exponent;
    return (double)(fabsl((long double)value - exact) /
                    ldexpl(1, exponent - numbers->digits));
}

static void check_elementary(const struct numbers *numbers)
{
    double most_power = 0, most_tanh = 0, x[SPAN], powers[SPAN], tanhs[SPAN];
    double far = -numbers->lowest - 1;
    bool odd = true;
    for (int t = 0; t < 20000; t++) {
        for (int q = 0; q < SPAN; q += 2) { /* all magnitudes, or up to far */
            double size =
                t % 2 ? far * uniform() : pow(2, 156 * uniform() - 149);
            size = numbers->digits == 24 ? (double)(float)size : size;
            x[q] = -fmin(size, far);
            x[q + 1] = -x[q];
        }
        numbers->function(x, powers, tanhs);
        for (int q = 0; q < SPAN; q++) {
            long double exact = tanhl((long double)x[q]);
            odd = odd && (q % 2 == 0 || tanhs[q] == -tanhs[q - 1]);
            most_tanh = larger_of(most_tanh, ulps(numbers, tanhs[q], exact));
            exact = exp2l((long double)x[q]);
            if (x[q] <= 0)
                most_power =
                    larger_of(most_power, ulps(numbers, powers[q], exact));
        }
    }
    ok(most_power <= 2, "%s: 2^x within 2 ulp: %.3f", numbers->name,
       most_power);
    ok(most_tanh <= 2, "%s: tanh within 2 ulp: %.3f", numbers->name, most_tanh);
    ok(odd, "tanh is odd");
    memset(x, 0, sizeof x);
    x[1] = -INFINITY, x[2] = -far - 0.6, x[3] = INFINITY, x[4] = -1e30;
    numbers->function(x, powers, tanhs);
    ok(powers[0] == 1 && powers[1] == 0 && powers[2] == 0 && powers[4] == 0,
       "2^0 = 1, 0 half a power above the lowest");
    ok(tanhs[0] == 0 && tanhs[1] == -1 && tanhs[3] == 1 && tanhs[4] == -1,
       "tanh(0) = 0, +-1 far away");
}

static void test_elementary(void)
{
    static const struct numbers all[][2] = {
        {{"float, portable", 24, -126, elementary_float_portable},
         {"double, portable", 53, -1022, elementary_double_portable}},
#if defined __x86_64__
        {{"float, avx2", 24, -126, elementary_float_avx2},
         {"double, avx2", 53, -1022, elementary_double_avx2}},
        {{"float, avx512", 24, -126, elementary_float_avx512},
         {"double, avx2", 53, -1022, elementary_double_avx2}},
#endif
    };
    for (int level = 0; level < 3 && choose_cpu(level); level++) {
        check_elementary(&all[level][0]);
        check_elementary(&all[level][1]);
    }
}

static void test_overflow(void)
{
    double x[4] = {1, 2, 1e200, -1e200}, gram[4];
    int index[4] = {1, 2, 1, 2};
    size_t start[3] = {0, 2, 4};
    struct klr_features view = {2, 2, start, index, x, NULL};
    static const struct klr_kernel bad[] = {{KLR_LINEAR, 0, 0, 0},
                                            {KLR_POLYNOMIAL, 3, 1e-200, 0},
                                            {KLR_SIGMOID, 0, 1e-200, 0}};
    struct klr_points *p;
    struct klr_error err;
    for (int t = 0; t < 3; t++) {
        int code = klr_points_create(&p, &bad[t], &view, NULL, NULL, &err);
        ok(code == KLR_E_DATA && err.line == 2 && !p, "%s", err.message);
    }
    x[2] = 1e60, x[3] = 1;
    struct klr_kernel cubic = {KLR_POLYNOMIAL, 3, 1, 0};
    ok(klr_points_create(&p, &cubic, &view, NULL, NULL, &err) == KLR_E_DATA,
       "a polynomial that overflows: %s", err.message);
    x[2] = 1e200;
    struct klr_kernel rbf = {KLR_RBF, 0, 1, 0};
    struct klr_range all = {0, 2};
    ok(!klr_points_create(&p, &rbf, &view, NULL, NULL, &err),
       "rbf takes 1e200");
    klr_gram(p, all, p, whole(&all), KLR_DOUBLE, gram, 2, room_for(p));
    ok(gram[0] == 1 && gram[1] == 0 && gram[2] == 0 && gram[3] == 1,
       "infinite distances vanish, equal points do not");
    klr_points_free(p);
    x[2] = 3e150, x[3] = -1.4e150;
    struct klr_kernel sigmoid = {KLR_SIGMOID, 0, 1e-150, 0};
    ok(!klr_points_create(&p, &sigmoid, &view, NULL, NULL, &err),
       "a sigmoid takes squares of 1e301");
    klr_gram(p, all, p, whole(&all), KLR_DOUBLE, gram, 2, room_for(p));
    ok(fabs(gram[1] - tanh(0.2)) < 1e-14 && gram[2] == gram[1] && gram[3] == 1,
       "and answers with numbers: %.17g %.17g", gram[1], gram[3]);
    klr_points_free(p);
    struct klr_features none = {0, 0, start, index, x, NULL};
    ok(!klr_points_create(&p, &rbf, &none, NULL, NULL, &err) &&
           klr_points_count(p) == 0,
       "no examples at all");
    klr_points_free(p);
}

static void test_psd(void)
{
    static const struct {
        struct klr_kernel kernel;
        bool psd;
    } cases[] = {
        {{KLR_LINEAR, 0, 0, 0}, true},
        {{KLR_POLYNOMIAL, 3, 1, 1}, true},
        {{KLR_POLYNOMIAL, 3, 1, -1}, false},
        {{KLR_POLYNOMIAL, 2, -1, 0}, false},
        {{KLR_RBF, 0, 1, 0}, true},
        {{KLR_SIGMOID, 0, 1, 0}, false},
        {{KLR_PRECOMPUTED, 0, 0, 0}, true},
        {{KLR_LAPLACIAN, 0, 1, 0}, true},
        {{KLR_EXPONENTIAL, 0, 1, 0}, true},
    };
    for (size_t t = 0; t < sizeof cases / sizeof *cases; t++)
        ok(klr_kernel_is_psd(&cases[t].kernel) == cases[t].psd,
           "%s: semidefinite or not", klr_kernel_names[cases[t].kernel.type]);
}

/* ---- precomputed ---- */

static const struct klr_kernel given = {KLR_PRECOMPUTED, 0, 0, 0};

static void test_precomputed(void)
{
    /* three examples with serial numbers 2, 3, 1; row 1 leaves out a zero */
    static const size_t start[] = {0, 4, 7, 11};
    static const int index[] = {0, 1, 2, 3, 0, 2, 3, 0, 1, 2, 3};
    static const double value[] = {2, .1, .2, .3, 3, .3, .4, 1, .5, .1, 0};
    struct klr_features x = {3, 3, start, index, value, NULL};
    const double expected[9] = {.2, .3, .1, .3, .4, 0, .1, 0, .5};
    const size_t order[] = {2, 0, 1};
    struct klr_points *p, *left, *bare;
    struct klr_range all = {0, 3}, last = {1, 3}, row = {0, 1};
    double gram[9], diagonal[2];
    float part[2];

    ok(!klr_points_create(&p, &given, &x, NULL, NULL, NULL), "a given kernel");
    klr_gram(p, all, p, whole(&all), KLR_DOUBLE, gram, 3, room_for(p));
    ok(!memcmp(gram, expected, sizeof gram), "entries by serial number");
    klr_gram(p, row, p, whole(&last), KLR_FLOAT, part, 2, room_for(p));
    ok(part[0] == .3f && part[1] == .1f, "as float");
    static const size_t scattered[] = {2, 0};
    klr_gram_rows(p, scattered, 2, p, whole(&all), KLR_DOUBLE, gram, 3,
                  room_for(p));
    ok(!memcmp(gram, expected + 6, 3 * sizeof *gram) &&
           !memcmp(gram + 3, expected, 3 * sizeof *gram),
       "rows in any order");
    klr_gram_diagonal(p, whole(&last), diagonal, room_for(p));
    ok(diagonal[0] == .4 && diagonal[1] == .5, "diagonal");
    klr_points_free(p);

    ok(!klr_points_create(&p, &given, &x, order, NULL, NULL),
       "in another order");
    klr_gram(p, all, p, whole(&all), KLR_DOUBLE, gram, 3, room_for(p));
    for (size_t t = 0; t < 9; t++)
        if (gram[t] != expected[order[t / 3] * 3 + order[t % 3]])
            gram[0] = NAN;
    ok(gram[0] == .5, "entries by position");
    klr_points_free(p);

    /* support vectors: serial numbers 3 and 1 alone; a row to be tested */
    static const size_t bare_start[] = {0, 1, 2}, test_start[] = {0, 3};
    static const int bare_index[] = {0, 0}, test_index[] = {0, 1, 3};
    static const double bare_value[] = {3, 1}, test_value[] = {0, 7, 8};
    struct klr_features sv = {2, 0, bare_start, bare_index, bare_value, NULL};
    struct klr_features test = {1, 3, test_start, test_index, test_value, NULL};
    struct klr_range pair = {0, 2};
    ok(!klr_points_create(&bare, &given, &sv, NULL, NULL, NULL),
       "serials alone");
    ok(!klr_points_create_like(&left, bare, &test, NULL, NULL),
       "a row to test");
    klr_gram(left, row, bare, whole(&pair), KLR_DOUBLE, gram, 2,
             room_for(bare));
    ok(gram[0] == 8 && gram[1] == 7, "its kernels with the support vectors");
    klr_gram(bare, pair, bare, whole(&pair), KLR_DOUBLE, gram, 2,
             room_for(bare));
    ok(gram[0] == 0 && gram[3] == 0, "what is not there counts 0");
    klr_points_free(left);
    klr_points_free(bare);
}

static void test_precomputed_refusals(void)
{
    static const size_t start[] = {0, 2, 4};
    static const struct {
        int first;
        double serial;
        const char *message;
    } cases[] = {
        {1, 2,
         "a precomputed kernel needs 0:SERIAL as the first feature of "
         "every row"},
        {0, 0,
         "serial number 0 is not an integer from 1 to 2, the last column"},
        {0, -1,
         "serial number -1 is not an integer from 1 to 2, the last column"},
        {0, 1.5,
         "serial number 1.5 is not an integer from 1 to 2, the last column"},
        {0, 3,
         "serial number 3 is not an integer from 1 to 2, the last column"},
        {0, 1e300,
         "serial number 1e+300 is not an integer from 1 to 2, the last column"},
    };
    for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
        int index[] = {0, 1, cases[t].first, 2};
        double value[] = {1, 1, cases[t].serial, 1};
        struct klr_features x = {2, 2, start, index, value, NULL};
        struct klr_points *p;
        struct klr_error err;
        int code = klr_points_create(&p, &given, &x, NULL, NULL, &err);
        ok(code == KLR_E_DATA && err.line == 2 && !p &&
               !strcmp(err.message, cases[t].message),
           "refused: %s", err.message);
    }
}

/* ---- tiles times vectors ---- */

enum { PRODUCT_MOST = 40, PRODUCT_PITCH = PRODUCT_MOST + 3 };

/* Vectors beside a tile, all of them (KLR_SLICE, KLR_TILE). */
struct sides {
    double right[KLR_SLICE * KLR_TILE], forward[KLR_SLICE * KLR_TILE];
    double left[KLR_SLICE * KLR_TILE], backward[KLR_SLICE * KLR_TILE];
};

/* Leave NaN on the stack for the functions that are called next. */
static __attribute__((noinline)) void spoil_stack(void)
{
    volatile unsigned char stack[1 << 14];
    for (size_t i = 0; i < sizeof stack; i++)
        stack[i] = 0xff;
}

/* Small integers, whose sums no type rounds. */
static int product_entry(size_t i, size_t j)
{
    return (int)((7 * i + 3 * j) % 11);
}

static double product_side(size_t c, size_t i)
{
    return (double)((5 * i + c) % 7) - 3;
}

static void product_tile(enum klr_precision precision, void *tile)
{
    for (size_t at = 0; at < PRODUCT_MOST * PRODUCT_PITCH; at++) {
        int entry = product_entry(at / PRODUCT_PITCH, at % PRODUCT_PITCH);
        if (precision == KLR_FIXED16)
            ((uint16_t *)tile)[at] = (uint16_t)entry;
        else if (precision == KLR_FLOAT)
            ((float *)tile)[at] = (float)entry;
        else
            ((double *)tile)[at] = entry;
    }
}

/* `size` elements of each vector, zeros up to a multiple of `zeros`, and what
 * is no number. */
static void product_load(double *side, size_t size, size_t zeros)
{
    for (size_t at = 0; at < KLR_SLICE * KLR_TILE; at++) {
        size_t c = at / KLR_TILE, i = at % KLR_TILE;
        side[at] = i < size                                 ? product_side(c, i)
                   : i < (size + zeros - 1) / zeros * zeros ? 0
                                                            : (double)NAN;
    }
}

static bool product_agrees(const struct sides *s, double unit, size_t h,
                           size_t w, size_t m)
{
    bool agrees = true;
    for (size_t c = 0; c < m; c++) {
        for (size_t i = 0; i < h; i++) {
            double sum = 0;
            for (size_t j = 0; j < w; j++)
                sum += product_entry(i, j) * product_side(c, j);
            agrees = agrees && s->forward[c * KLR_TILE + i] == sum * unit;
        }
        for (size_t j = 0; j < w; j++) {
            double sum = 0;
            for (size_t i = 0; i < h; i++)
                sum += product_entry(i, j) * product_side(c, i);
            agrees = agrees && s->backward[c * KLR_TILE + j] == sum * unit;
        }
    }
    return agrees;
}

/* From either side alone and from both. */
static bool product_holds(klr_tile_multiply *multiply, const void *tile,
                          enum klr_precision precision, size_t h, size_t w,
                          size_t m)
{
    static struct sides s, both;
    double unit = precision == KLR_FIXED16 ? 1.0 / FIXED16_UNITS : 1;
    product_load(s.right, w, KLR_GROUP);
    product_load(s.left, h, 1);
    both = s;
    spoil_stack();
    multiply(tile, precision, PRODUCT_PITCH, h, w, m, both.right, both.forward,
             both.left, both.backward);
    spoil_stack();
    multiply(tile, precision, PRODUCT_PITCH, h, w, m, s.right, s.forward, NULL,
             NULL);
    spoil_stack();
    multiply(tile, precision, PRODUCT_PITCH, h, w, m, NULL, NULL, s.left,
             s.backward);
    return product_agrees(&both, unit, h, w, m) &&
           product_agrees(&s, unit, h, w, m);
}

static void check_products(klr_tile_multiply *multiply, const char *name)
{
    static double tile[PRODUCT_MOST * PRODUCT_PITCH];
    static const char *const types[] = {"fixed16", "floats", "doubles"};
    for (int p = KLR_FIXED16; p <= KLR_DOUBLE; p++) {
        bool holds = true;
        product_tile((enum klr_precision)p, tile);
        for (size_t w = 1; w <= PRODUCT_MOST; w++)
            for (size_t h = 1; h <= PRODUCT_MOST; h += 1 + h / 7)
                for (size_t m = 1; m <= KLR_SLICE; m += KLR_SLICE - 1)
                    holds =
                        holds && product_holds(multiply, tile,
                                               (enum klr_precision)p, h, w, m);
        ok(holds, "tiles of %s of all widths times vectors, %s", types[p],
           name);
    }
}

static void test_products(void)
{
    check_products(product_portable, "portable");
#if defined __x86_64__
    if (klr_cpu() >= KLR_CPU_AVX2)
        check_products(product_avx2, "avx2");
#endif
}

int main(void)
{
    test_power();
    test_elementary();
    test_overflow();
    test_psd();
    test_precomputed();
    test_precomputed_refusals();
    test_products();
    return done_testing();
}
