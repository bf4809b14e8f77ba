/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entries of K beside sums in extended precision over the raw features: their
 * errors, and that their bits depend on nothing but the two examples. To be
 * included after kernel.c.
 */
#ifndef KLR_TESTS_ENTRIES_H
#define KLR_TESTS_ENTRIES_H

#include <float.h>
#include <stdio.h>

#include "tests/kinds.h"
#include "tests/larger.h"
#include "tests/tap.h"

/* Sums with 64 bits at least, where the code under test has 53: their rounding
 * is a two thousandth of its own. */
#if LDBL_MANT_DIG < 64 && defined(__SIZEOF_FLOAT128__)
typedef __float128 wide;
#else
typedef long double wide;
#endif

enum { MOST_ROWS = 160 };

static wide wide_power(wide base, int degree)
{
    wide power = 1;
    while (degree-- > 0)
        power *= base;
    return power;
}

static wide truth(const struct klr_kernel *kernel, const double *x,
                  const double *z, size_t d)
{
    bool distance = kernel->type == KLR_RBF,
         city = kernel->type == KLR_LAPLACIAN;
    wide dot = 0, square = 0, absolute = 0;
    for (size_t k = 0; k < d; k++) {
        wide u = x[k], v = z[k], w = u - v;
        if (x[k] == 0 && z[k] == 0)
            continue;
        if (distance)
            square += w * w;
        else if (city)
            absolute += w < 0 ? -w : w;
        else
            dot += u * v;
    }
    wide argument = kernel->gamma * dot + kernel->coef0;
    switch (kernel->type) {
    case KLR_LINEAR:
        return dot;
    case KLR_POLYNOMIAL:
        return wide_power(argument, kernel->degree);
    case KLR_RBF:
        return expl((long double)(-kernel->gamma * square));
    case KLR_LAPLACIAN:
        return expl((long double)(-kernel->gamma * absolute));
    case KLR_EXPONENTIAL:
        return expl((long double)(2 * kernel->gamma * dot));
    default:
        return tanhl((long double)argument);
    }
}

/* |K - K_exact| in units of what kernel.h allows; `norm` = sqrt(K_ii K_jj).
 * Where a kernel is not semidefinite, that may be less than the rounding of
 * K_ij itself; then a relative error of 1e-14 is asked for, or of half a unit
 * in the last place of a float. */
static double excess(const struct klr_kernel *kernel, double value, wide exact,
                     long double norm, enum klr_precision precision)
{
    if (precision == KLR_FIXED16)
        return fabs((double)(value - exact)) / (0.75 / 65535);
    if (isinf(value)) /* a float that is too large to be one */
        return fabsl((long double)exact) >= FLT_MAX ? 0 : INFINITY;
    wide error = value - exact;
    long double allowed = fmaxl(1, fabsl((long double)exact));
    if (kernel->type == KLR_LINEAR || kernel->type == KLR_POLYNOMIAL ||
        kernel->type == KLR_EXPONENTIAL)
        allowed = fmaxl(norm, (precision == KLR_FLOAT ? 0.06L : 1e-8L) *
                                  fabsl((long double)exact));
    if (precision == KLR_FLOAT)
        allowed = fmaxl(allowed, 1e6L * FLT_TRUE_MIN);
    if (error == 0)
        return 0;
    double ratio = (double)(fabsl((long double)error) / (1e-6L * allowed));
    return isnan(ratio) ? INFINITY : ratio;
}

/* Entries that are not doubles. */
union narrower {
    float floats[MOST_ROWS * (MOST_ROWS + 3)];
    uint16_t fixed16[MOST_ROWS * (MOST_ROWS + 3)];
};

static double widened(const union narrower *from, size_t at,
                      enum klr_precision precision)
{
    return precision == KLR_FLOAT ? (double)from->floats[at]
                                  : from->fixed16[at] / 65535.0;
}

/* True if each byte is 77. */
static bool untouched(const union narrower *from, size_t at,
                      enum klr_precision precision)
{
    static const char before[] = {77, 77, 77, 77};
    const size_t bytes = klr_precision_bytes(precision);
    return !memcmp((const char *)from + at * bytes, before, bytes);
}

/* klr_gram; what is not double is widened, but for the gaps of rows. */
static void entries(const struct klr_points *a, struct klr_range rows,
                    const struct klr_points *b, struct klr_set cols,
                    enum klr_precision precision, double *out, size_t stride)
{
    static union narrower got;
    size_t room = (rows.end - rows.begin) * stride;
    if (precision == KLR_DOUBLE) {
        klr_gram(a, rows, b, cols, precision, out, stride, room_for(b));
        return;
    }
    memset(&got, 77, sizeof got);
    klr_gram(a, rows, b, cols, precision, &got, stride, room_for(b));
    for (size_t t = 0; t < room; t++)
        if (t % stride < cols.size || !untouched(&got, t, precision))
            out[t] = widened(&got, t, precision);
}

/* out[i] = sqrt |K_ii| */
static void norms(const struct klr_kernel *kernel, const struct sample *s,
                  long double *out)
{
    for (size_t i = 0; i < s->n; i++) {
        const double *x = s->x + i * s->d;
        out[i] = sqrtl(fabsl((long double)truth(kernel, x, x, s->d)));
    }
}

/* The kernel of a and b, exactly, and the units of its errors. */
static struct {
    size_t n, columns;
    wide exact[MOST_ROWS * MOST_ROWS];
    long double left[MOST_ROWS], right[MOST_ROWS];
} reference;

static void refer(const struct klr_kernel *kernel, const struct sample *a,
                  const struct sample *b)
{
    reference.n = a->n;
    reference.columns = b->n;
    norms(kernel, a, reference.left);
    norms(kernel, b, reference.right);
    for (size_t i = 0; i < a->n; i++)
        for (size_t j = 0; j < b->n; j++)
            reference.exact[i * b->n + j] =
                a == b && j < i /* symmetric, to the bit */
                    ? reference.exact[j * b->n + i]
                    : truth(kernel, a->x + i * a->d, b->x + j * b->d, b->d);
}

static double worst(const struct klr_kernel *kernel, const double *gram,
                    enum klr_precision precision)
{
    double most = 0;
    size_t columns = reference.columns;
    for (size_t i = 0; i < reference.n; i++)
        for (size_t j = 0; j < columns; j++)
            most =
                larger_of(most, excess(kernel, gram[i * columns + j],
                                       reference.exact[i * columns + j],
                                       reference.left[i] * reference.right[j],
                                       precision));
    return most;
}

static bool same(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool is_symmetric(const double *gram, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (!same(gram[i * n + j], gram[j * n + i]))
                return false;
    return true;
}

/* Random row ranges, random sets of column ranges, a stride with a gap. */
static bool partition_is_free(const struct klr_points *p, const double *gram,
                              enum klr_precision precision)
{
    static double out[MOST_ROWS * (MOST_ROWS + 3)];
    for (int trial = 0; trial < 20; trial++) {
        struct klr_range rows, range[MOST_ROWS];
        struct klr_set cols = {range, 0, 0};
        rows.begin = (size_t)(uniform() * (double)p->n);
        rows.end =
            rows.begin + (size_t)(uniform() * (double)(p->n - rows.begin + 1));
        for (size_t j = (size_t)(3 * uniform()); j < p->n;) {
            size_t end = j + (size_t)(12 * uniform());
            end = end < p->n ? end : p->n;
            range[cols.count++] = (struct klr_range){j, end};
            cols.size += end - j;
            j = end + (size_t)(3 * uniform());
        }
        size_t stride = cols.size + 3;
        for (size_t t = 0; t < sizeof out / sizeof *out; t++)
            out[t] = -77;
        entries(p, rows, p, cols, precision, out, stride);
        for (size_t i = rows.begin; i < rows.end; i++) {
            const double *got = out + (i - rows.begin) * stride;
            for (size_t q = 0; q < cols.count; q++)
                for (size_t j = range[q].begin; j < range[q].end; j++)
                    if (!same(*got++, gram[i * p->n + j]))
                        return false;
            if (*got != -77) /* the gap is nobody's */
                return false;
        }
    }
    return true;
}

/* Rows in any order, some of them twice. */
static bool rows_are_free(const struct klr_points *p, const double *gram,
                          enum klr_precision precision)
{
    static union narrower narrow;
    static double out[MOST_ROWS * MOST_ROWS];
    size_t row[MOST_ROWS], n = p->n;
    struct klr_range all = {0, n};
    for (size_t r = 0; r < n; r++)
        row[r] = (size_t)(uniform() * (double)n);
    klr_gram_rows(p, row, n, p, whole(&all), precision,
                  precision == KLR_DOUBLE ? (void *)out : &narrow, n,
                  room_for(p));
    for (size_t t = 0; t < n * n; t++) {
        double got =
            precision == KLR_DOUBLE ? out[t] : widened(&narrow, t, precision);
        if (!same(got, gram[row[t / n] * n + t % n]))
            return false;
    }
    return true;
}

static bool diagonal_agrees(const struct klr_points *p, const double *gram)
{
    double out[MOST_ROWS];
    struct klr_range range[2] = {{0, p->n / 2}, {p->n / 2 + 1, p->n}};
    struct klr_set set = {range, 2, p->n - 1};
    size_t at = 0;
    klr_gram_diagonal(p, set, out, room_for(p));
    for (size_t i = 0; i < p->n; i++)
        if (i != p->n / 2 && !same(out[at++], gram[i * p->n + i]))
            return false;
    return at == set.size;
}

static bool order_is_free(const struct klr_kernel *kernel,
                          const struct sample *s, const double *gram,
                          enum klr_precision precision)
{
    size_t order[MOST_ROWS];
    static double out[MOST_ROWS * MOST_ROWS];
    struct klr_points *p = NULL;
    for (size_t i = 0; i < s->n; i++)
        order[i] = s->n - 1 - i;
    if (klr_points_create(&p, kernel, &s->view, order, NULL, NULL))
        return false;
    struct klr_range all = {0, s->n};
    entries(p, all, p, whole(&all), precision, out, s->n);
    klr_points_free(p);
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->n; j++)
            if (!same(out[i * s->n + j], gram[order[i] * s->n + order[j]]))
                return false;
    return true;
}

/* All of that, for the entries of p among each other. */
static void check_precision(const struct klr_kernel *kernel,
                            const struct sample *s, const struct klr_points *p,
                            enum klr_precision precision, const char *how)
{
    static double gram[MOST_ROWS * MOST_ROWS];
    struct klr_range all = {0, s->n};
    entries(p, all, p, whole(&all), precision, gram, s->n);
    double most = worst(kernel, gram, precision);
    ok(most <= 1, "%s: %.2g of the allowed error", how, most);
    ok(is_symmetric(gram, s->n), "symmetric to the last bit");
    ok(partition_is_free(p, gram, precision), "blocks have no influence");
    ok(rows_are_free(p, gram, precision), "nor have the other rows");
    ok(order_is_free(kernel, s, gram, precision),
       "positions have no influence");
    if (precision == KLR_DOUBLE)
        ok(diagonal_agrees(p, gram), "the diagonal agrees");
}

#endif
