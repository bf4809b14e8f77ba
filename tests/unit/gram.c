/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels against sums in quadruple precision over the raw features: accuracy
 * for every entry whatever the scale, and bits that depend on nothing but the
 * two examples. Examples are kept here as full rows, zeros included.
 */
#include "kernel.c"

#include <float.h>
#include <stdio.h>

#include "solver.h"
#include "tests/tap.h"

#ifdef __SIZEOF_FLOAT128__
typedef __float128 wide;
#else
typedef long double wide;
#endif

enum { MOST_ROWS = 160, MOST_DIMENSION = 400 };

/* ---- examples ---- */

struct sample {
    size_t n, d;
    double *x;          /* (n, d) */
    const int *feature; /* (d) ascending indices, or NULL: 1 .. d */
    struct klr_features view;
    size_t *start;
    int *index;
    double *value;
};

static void sample_alloc(struct sample *s, size_t n, size_t d)
{
    *s = (struct sample){.n = n, .d = d};
    s->x = klr_zalloc(n * d, sizeof(double), NULL);
    s->start = klr_zalloc(n + 1, sizeof(size_t), NULL);
    s->index = klr_alloc(n * d, sizeof(int), NULL);
    s->value = klr_alloc(n * d, sizeof(double), NULL);
}

static void sample_free(struct sample *s)
{
    klr_free(s->x);
    klr_free(s->start);
    klr_free(s->index);
    klr_free(s->value);
}

static void sample_pack(struct sample *s)
{
    size_t at = 0;
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < s->d; k++)
            if (s->x[i * s->d + k] != 0) {
                s->index[at] = s->feature ? s->feature[k] : (int)k + 1;
                s->value[at++] = s->x[i * s->d + k];
            }
        s->start[i + 1] = at;
    }
    int last = s->feature ? s->feature[s->d - 1] : (int)s->d;
    s->view = (struct klr_features){s->n, last, s->start, s->index, s->value};
}

static uint64_t random_state = 1;

static double uniform(void) /* [0, 1) */
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695041;
    return (double)(random_state >> 11) * 0x1p-53;
}

static double sign(void)
{
    return uniform() < 0.5 ? -1 : 1;
}

typedef double make_fn(size_t i, size_t k, const double *row_above);

static double make_dense(size_t i, size_t k, const double *above)
{
    (void)i, (void)k, (void)above;
    return 2 * uniform() - 1;
}
static double make_sparse(size_t i, size_t k, const double *above)
{
    (void)k, (void)above; /* row 3 is empty */
    return uniform() < 0.05 && i != 3 ? 2 * uniform() - 1 : 0;
}
static double make_binary(size_t i, size_t k, const double *above)
{
    (void)i, (void)k, (void)above;
    return uniform() < 0.1;
}
static double make_even(size_t i, size_t k, const double *above)
{
    (void)i, (void)k, (void)above;
    return uniform() < 0.5;
}
static double make_hundred(size_t i, size_t k, const double *above)
{
    (void)i, (void)above;
    return 100 + (double)k + uniform();
}
static double make_wild(size_t i, size_t k, const double *above)
{
    (void)i, (void)k, (void)above;
    return sign() * pow(10, 15 * uniform() - 6);
}
static double make_wild_sparse(size_t i, size_t k, const double *above)
{
    return uniform() < 0.05 ? make_wild(i, k, above) : 0;
}
static double make_offset(size_t i, size_t k, const double *above)
{
    (void)i, (void)k, (void)above;
    return 1e8 + uniform();
}
static double make_clusters(size_t i, size_t k, const double *above)
{
    (void)k, (void)above;
    return (i % 2 ? 1e9 : -1e9) + floor(4 * uniform());
}
static double make_sparse_clusters(size_t i, size_t k, const double *above)
{
    return k % 13 == i % 2 ? make_clusters(i, k, above) : 0;
}
static double make_twins(size_t i, size_t k, const double *above)
{
    (void)k;
    return i % 2 ? above[k] * (1 + 1e-9 * uniform()) : 100 * uniform();
}
/* Rows (h, +-h, .. , small), whose large products cancel. */
static double make_cancelling(size_t i, size_t k, const double *above)
{
    (void)above;
    double h = 3e8 + (double)(k / 2);
    return k == 6 ? uniform() : k % 2 && i % 2 ? -h : h;
}

/* One row is large, where no other has a value. */
static double make_large_row(size_t i, size_t k, const double *above)
{
    (void)above;
    return k == 0 ? (i == 5 ? 1e4 : 0) : 0.3 * (2 * uniform() - 1);
}
/* All features of a row are one number: their roundings would be one too. */
static double make_level(size_t i, size_t k, const double *above)
{
    static double level;
    (void)above;
    if (k == 0)
        level = i == 0 ? 0 : 4 * uniform();
    return level;
}
/* |x|^2 - 1, hence K_ii of (x'z - 1)^d, is some 1e-13. */
static double make_sphere(size_t i, size_t k, const double *above)
{
    (void)i, (void)k, (void)above;
    return 0.25 * (1 + 1e-12 * uniform());
}

static const int far_feature[] = {1,        2,          1000,      65536,
                                  99999999, 2147483646, 2147483647};

static const struct kind {
    const char *name;
    size_t n, d;
    make_fn *make;
    const int *feature;
} kinds[] = {
    {"dense", 61, 37, make_dense, NULL},
    {"one feature", 9, 1, make_dense, NULL},
    {"long dense", 37, 300, make_dense, NULL},
    {"many rows", 110, 40, make_dense, NULL},
    {"offset 100", 40, 33, make_hundred, NULL},
    {"binary dense", 40, 20, make_even, NULL},
    {"sparse", 50, 400, make_sparse, NULL},
    {"binary", 50, 123, make_binary, NULL},
    {"far features", 21, 7, make_dense, far_feature},
    {"wild", 50, 23, make_wild, NULL},
    {"wild sparse", 50, 300, make_wild_sparse, NULL},
    {"offset 1e8", 40, 11, make_offset, NULL},
    {"clusters at +-1e9", 40, 9, make_clusters, NULL},
    {"sparse clusters", 40, 130, make_sparse_clusters, NULL},
    {"near duplicates", 40, 17, make_twins, NULL},
    {"cancelling products", 30, 7, make_cancelling, NULL},
    {"one large row", 30, 21, make_large_row, NULL},
    {"unit sphere", 30, 16, make_sphere, NULL},
    {"equal features", 40, 300, make_level, NULL},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void sample_make(struct sample *s, const struct kind *kind)
{
    sample_alloc(s, kind->n, kind->d);
    s->feature = kind->feature;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->d; k++)
            s->x[i * s->d + k] =
                kind->make(i, k, s->x + (i ? i - 1 : 0) * s->d);
    sample_pack(s);
}

/* ---- truth ---- */

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
    if (isinf(value)) /* a float that is too large to be one */
        return fabsl((long double)exact) >= FLT_MAX ? 0 : INFINITY;
    wide error = value - exact;
    long double allowed = fmaxl(1, fabsl((long double)exact));
    if (kernel->type == KLR_LINEAR || kernel->type == KLR_POLYNOMIAL)
        allowed = fmaxl(norm, (precision == KLR_FLOAT ? 0.06L : 1e-8L) *
                                  fabsl((long double)exact));
    if (precision == KLR_FLOAT)
        allowed = fmaxl(allowed, 1e6L * FLT_TRUE_MIN);
    if (error == 0)
        return 0;
    double ratio = (double)(fabsl((long double)error) / (1e-6L * allowed));
    return isnan(ratio) ? INFINITY : ratio;
}

/* ---- checks ---- */

/* The workspace of a single caller, zeroed for every call. */
static void *room_for(const struct klr_points *p)
{
    static _Alignas(64) char room[1 << 20];
    size_t bytes = klr_gram_workspace(p);
    if (bytes > sizeof room)
        abort();
    return memset(room, 0, bytes);
}

/* klr_gram; floats are widened. */
static void entries(const struct klr_points *a, struct klr_range rows,
                    const struct klr_points *b, struct klr_set cols,
                    enum klr_precision precision, double *out, size_t stride)
{
    static float floats[MOST_ROWS * (MOST_ROWS + 3)];
    size_t room = (rows.end - rows.begin) * stride;
    if (precision == KLR_DOUBLE) {
        klr_gram(a, rows, b, cols, precision, out, stride, room_for(b));
        return;
    }
    for (size_t t = 0; t < room; t++)
        floats[t] = (float)out[t];
    klr_gram(a, rows, b, cols, precision, floats, stride, room_for(b));
    for (size_t t = 0; t < room; t++)
        out[t] = (double)floats[t];
}

static struct klr_set whole(const struct klr_range *range)
{
    return (struct klr_set){range, 1, range->end - range->begin};
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
            most = fmax(most, excess(kernel, gram[i * columns + j],
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
    static float single[MOST_ROWS * MOST_ROWS];
    static double out[MOST_ROWS * MOST_ROWS];
    size_t row[MOST_ROWS], n = p->n;
    struct klr_range all = {0, n};
    for (size_t r = 0; r < n; r++)
        row[r] = (size_t)(uniform() * (double)n);
    klr_gram_rows(p, row, n, p, whole(&all), precision,
                  precision == KLR_FLOAT ? (void *)single : out, n,
                  room_for(p));
    for (size_t t = 0; t < n * n; t++) {
        double got = precision == KLR_FLOAT ? (double)single[t] : out[t];
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
    if (klr_points_create(&p, kernel, &s->view, order, NULL))
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

/* ---- instruction sets ---- */

static const char *const cpus[] = {"portable", "avx2", "avx512"};

/* Compute with one of them; false if it is not there. */
static bool choose_cpu(int level)
{
    unsetenv("KLR_CPU");
    if (level > (int)klr_cpu())
        return false;
    setenv("KLR_CPU", cpus[level], 1);
    return true;
}

static void test_cpu(void)
{
    unsetenv("KLR_CPU");
    enum klr_cpu most = klr_cpu();
    for (int level = 0; level < 3; level++) {
        setenv("KLR_CPU", cpus[level], 1);
        int expected = level < (int)most ? level : (int)most;
        ok((int)klr_cpu() == expected, "KLR_CPU=%s lowers only", cpus[level]);
    }
    setenv("KLR_CPU", "", 1);
    ok(klr_cpu() == most, "other values are nothing");
    unsetenv("KLR_CPU");
}

/* The ways of computing that some test has gone through: by form, term, and
 * whether sums are compensated; in float arithmetic by form and term. */
static bool seen[2][4][2], seen_float[2][4], seen_binary, seen_fallback;

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

/* Doubles are the same by every instruction set. */
static void check_doubles(const struct klr_kernel *kernel,
                          const struct sample *s, const struct klr_points *p,
                          int level)
{
    static double gram[MOST_ROWS * MOST_ROWS], first[MOST_ROWS * MOST_ROWS];
    struct klr_range all = {0, s->n};
    if (level == 0) {
        check_precision(kernel, s, p, KLR_DOUBLE, "double");
        entries(p, all, p, whole(&all), KLR_DOUBLE, first, s->n);
        return;
    }
    entries(p, all, p, whole(&all), KLR_DOUBLE, gram, s->n);
    ok(!memcmp(gram, first, s->n * s->n * sizeof *gram),
       "the same doubles by every instruction set");
    ok(partition_is_free(p, gram, KLR_DOUBLE), "blocks have no influence");
    ok(rows_are_free(p, gram, KLR_DOUBLE), "nor have the other rows");
}

static void check(const char *name, const struct klr_kernel *kernel,
                  const struct sample *s)
{
    struct klr_points *p = NULL;
    char what[128];
    snprintf(what, sizeof what, "%s, %s, gamma %g, coef0 %g, degree %d", name,
             klr_kernel_names[kernel->type], kernel->gamma, kernel->coef0,
             kernel->degree);
    refer(kernel, s, s);
    for (int level = 0; level < 3 && choose_cpu(level); level++) {
        if (!ok(!klr_points_create(&p, kernel, &s->view, NULL, NULL), "%s, %s",
                what, cpus[level]))
            return;
        seen[p->form == SPARSE][p->term][p->compensated] = true;
        seen_float[p->form == SPARSE][p->narrow.term] |= !!p->narrow.tiles;
        seen_binary |= p->nibble != NULL;
        seen_fallback |= !p->narrow.tiles;
        check_doubles(kernel, s, p, level);
        check_precision(kernel, s, p, KLR_FLOAT,
                        p->narrow.tiles ? "float" : "rounded double");
        p = klr_points_free(p);
    }
}

static const struct klr_kernel kernels[] = {
    {KLR_LINEAR, 0, 0, 0},         {KLR_POLYNOMIAL, 3, 0.5, 1},
    {KLR_POLYNOMIAL, 0, 1, 0},     {KLR_POLYNOMIAL, 7, 0.01, 0},
    {KLR_POLYNOMIAL, 2, 0.3, -1},  {KLR_POLYNOMIAL, 3, 1, -1},
    {KLR_RBF, 0, 0.03, 0},         {KLR_RBF, 0, 1, 0},
    {KLR_RBF, 0, 1e-18, 0},        {KLR_RBF, 0, 1e9, 0},
    {KLR_SIGMOID, 0, 0.05, -0.5},  {KLR_SIGMOID, 0, 1, 0},
    {KLR_SIGMOID, 0, 1e-17, 0.25}, {KLR_LAPLACIAN, 0, 0.03, 0},
    {KLR_LAPLACIAN, 0, 1, 0},      {KLR_LAPLACIAN, 0, 1e-9, 0},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static void test_accuracy(void)
{
    for (size_t q = 0; q < KINDS; q++) {
        struct sample s;
        sample_make(&s, &kinds[q]);
        for (size_t t = 0; t < KERNELS; t++)
            check(kinds[q].name, &kernels[t], &s);
        sample_free(&s);
    }
    for (int sparse = 0; sparse < 2; sparse++) {
        const char *form = sparse ? "sparse" : "dense";
        ok(seen[sparse][PRODUCT][0], "%s products were tested", form);
        ok(seen[sparse][PRODUCT][1], "%s compensated products", form);
        ok(seen[sparse][SQUARE][0], "%s squared differences", form);
        ok(seen[sparse][ABSOLUTE][0], "%s absolute differences", form);
        ok(seen_float[sparse][PRODUCT], "%s products of floats", form);
    }
    ok(seen[1][OVERLAP][0] && seen_float[1][OVERLAP], "sparse overlaps");
    ok(seen_float[0][SQUARE] && seen_float[0][ABSOLUTE],
       "dense differences of floats");
    unsetenv("KLR_CPU");
    ok(seen_binary == (klr_cpu() >= KLR_CPU_AVX2), "binary features");
    ok(seen_fallback, "data for which floats do not serve");
}

/* Left rows q of s beside the base p. Row by row they give the same bits as
 * together, and row 3, which is row 3 of the base, those that it has there. */
static void check_left(const struct klr_points *q, const struct sample *s,
                       const struct klr_points *p, enum klr_precision precision)
{
    static double gram[MOST_ROWS * MOST_ROWS], one[MOST_ROWS];
    struct klr_range all = {0, s->n}, row = {0, 1}, third = {3, 4};
    struct klr_points *r = NULL;
    bool equal = true;
    entries(q, all, p, whole(&all), precision, gram, s->n);
    double most = worst(&p->kernel, gram, precision);
    ok(most <= 1, "%.2g of the allowed error", most);
    for (size_t i = 0; i < s->n && equal; i++) {
        struct klr_features x = s->view;
        x.n = 1;
        x.start += i;
        equal = !klr_points_create_like(&r, p, &x, NULL);
        entries(r, row, p, whole(&all), precision, one, s->n);
        equal = equal && !memcmp(one, gram + i * s->n, s->n * sizeof *one);
        r = klr_points_free(r);
    }
    ok(equal, "alone or together: the same bits");
    entries(p, third, p, whole(&all), precision, one, s->n);
    ok(!memcmp(one, gram + 3 * s->n, s->n * sizeof *one),
       "a row of the base has the bits that it has there");
}

/* Base: the even features up to d - 20. Left rows: all features, row 0 much
 * larger, row 1 much smaller, row 2 without a common feature, row 3 as base
 * row 3. */
static void check_like(const struct kind *kind, const struct klr_kernel *kernel)
{
    struct sample s, base;
    struct klr_points *p = NULL, *q = NULL;
    sample_make(&s, kind);
    sample_alloc(&base, s.n, s.d);
    base.feature = kind->feature;
    for (size_t t = 0; t < s.n * s.d; t++)
        base.x[t] = t % s.d % 2 || t % s.d + 20 > s.d + s.d % 20 ? 0 : s.x[t];
    for (size_t k = 0; k < s.d; k++) {
        s.x[k] *= 1e6;
        s.x[s.d + k] *= 1e-6;
        s.x[2 * s.d + k] = k % 2 ? s.x[2 * s.d + k] : 0;
        s.x[3 * s.d + k] = base.x[3 * s.d + k];
    }
    sample_pack(&s);
    sample_pack(&base);
    refer(kernel, &s, &base);
    for (int level = 0; level < 3 && choose_cpu(level); level++) {
        int code = klr_points_create(&p, kernel, &base.view, NULL, NULL);
        code = code ? code : klr_points_create_like(&q, p, &s.view, NULL);
        if (ok(!code, "left rows: %s, %s, gamma %g, %s", kind->name,
               klr_kernel_names[kernel->type], kernel->gamma, cpus[level])) {
            if (level == 0)
                check_left(q, &s, p, KLR_DOUBLE);
            check_left(q, &s, p, KLR_FLOAT);
        }
        p = klr_points_free(p);
        q = klr_points_free(q);
    }
    sample_free(&s);
    sample_free(&base);
}

/* A left row much larger than the base, whose large products cancel. */
static void test_large_left_row(void)
{
    double z[6] = {0.5, 1, 1, 0.25, 1, 1}, x[3] = {1, 1e17, -1e17}, out[2];
    int index[6] = {1, 2, 3, 1, 2, 3};
    size_t start[3] = {0, 3, 6};
    struct klr_kernel kernel = {KLR_SIGMOID, 0, 1, -0.125};
    struct klr_features base = {2, 3, start, index, z};
    struct klr_features left = {1, 3, start, index, x};
    struct klr_range pair = {0, 2}, one = {0, 1};
    struct klr_points *p = NULL, *q = NULL;
    int code = klr_points_create(&p, &kernel, &base, NULL, NULL);
    ok(!code && !klr_points_create_like(&q, p, &left, NULL),
       "a large left row");
    klr_gram(q, one, p, whole(&pair), KLR_DOUBLE, out, 2, room_for(p));
    ok(fabs(out[0] - tanh(0.375)) < 1e-15 && fabs(out[1] - tanh(0.125)) < 1e-15,
       "its products do not cancel away: %g %g", out[0], out[1]);
    klr_points_free(p);
    klr_points_free(q);
}

static void test_like(void)
{
    test_large_left_row();
    for (size_t k = 0; k < KINDS; k++)
        for (size_t t = 0; t < KERNELS && kinds[k].d > 7; t++)
            check_like(&kinds[k], &kernels[t]);
}

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
            reals_##real##_##suffix a[GROUP_], b[GROUP_], e[GROUP_];           \
            for (int q = 0; q < GROUP_; q++)                                   \
                for (int c = 0; c < LANES_; c++)                               \
                    a[q][c] = b[q][c] =                                        \
                        (real)x[at + (size_t)(q * LANES_ + c)];                \
            for (int q = 0; q < GROUP_; q++)                                   \
                e[q] = (real)TANH_RATE * abs_##real##_##suffix(b[q]);          \
            powers_##real##_##suffix(a);                                       \
            powers_##real##_##suffix(e);                                       \
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
            most_tanh = fmax(most_tanh, ulps(numbers, tanhs[q], exact));
            exact = exp2l((long double)x[q]);
            if (x[q] <= 0)
                most_power = fmax(most_power, ulps(numbers, powers[q], exact));
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
    struct klr_features view = {2, 2, start, index, x};
    static const struct klr_kernel bad[] = {{KLR_LINEAR, 0, 0, 0},
                                            {KLR_POLYNOMIAL, 3, 1e-200, 0},
                                            {KLR_SIGMOID, 0, 1e-200, 0}};
    struct klr_points *p;
    struct klr_error err;
    for (int t = 0; t < 3; t++) {
        int code = klr_points_create(&p, &bad[t], &view, NULL, &err);
        ok(code == KLR_E_DATA && err.line == 2 && !p, "%s", err.message);
    }
    x[2] = 1e60, x[3] = 1;
    struct klr_kernel cubic = {KLR_POLYNOMIAL, 3, 1, 0};
    ok(klr_points_create(&p, &cubic, &view, NULL, &err) == KLR_E_DATA,
       "a polynomial that overflows: %s", err.message);
    x[2] = 1e200;
    struct klr_kernel rbf = {KLR_RBF, 0, 1, 0};
    struct klr_range all = {0, 2};
    ok(!klr_points_create(&p, &rbf, &view, NULL, &err), "rbf takes 1e200");
    klr_gram(p, all, p, whole(&all), KLR_DOUBLE, gram, 2, room_for(p));
    ok(gram[0] == 1 && gram[1] == 0 && gram[2] == 0 && gram[3] == 1,
       "infinite distances vanish, equal points do not");
    klr_points_free(p);
    struct klr_features none = {0, 0, start, index, x};
    ok(!klr_points_create(&p, &rbf, &none, NULL, &err) &&
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
    struct klr_features x = {3, 3, start, index, value};
    const double expected[9] = {.2, .3, .1, .3, .4, 0, .1, 0, .5};
    const size_t order[] = {2, 0, 1};
    struct klr_points *p, *left, *bare;
    struct klr_range all = {0, 3}, last = {1, 3}, row = {0, 1};
    double gram[9], diagonal[2];
    float part[2];

    ok(!klr_points_create(&p, &given, &x, NULL, NULL), "a given kernel");
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

    ok(!klr_points_create(&p, &given, &x, order, NULL), "in another order");
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
    struct klr_features sv = {2, 0, bare_start, bare_index, bare_value};
    struct klr_features test = {1, 3, test_start, test_index, test_value};
    struct klr_range pair = {0, 2};
    ok(!klr_points_create(&bare, &given, &sv, NULL, NULL), "serials alone");
    ok(!klr_points_create_like(&left, bare, &test, NULL), "a row to test");
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
        {0, 0, "serial number 0 is not an integer from 1 to 2"},
        {0, -1, "serial number -1 is not an integer from 1 to 2"},
        {0, 1.5, "serial number 1.5 is not an integer from 1 to 2"},
        {0, 3, "serial number 3 is not an integer from 1 to 2"},
        {0, 1e300, "serial number 1e+300 is not an integer from 1 to 2"},
    };
    for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
        int index[] = {0, 1, cases[t].first, 2};
        double value[] = {1, 1, cases[t].serial, 1};
        struct klr_features x = {2, 2, start, index, value};
        struct klr_points *p;
        struct klr_error err;
        int code = klr_points_create(&p, &given, &x, NULL, &err);
        ok(code == KLR_E_DATA && err.line == 2 && !p &&
               !strcmp(err.message, cases[t].message),
           "refused: %s", err.message);
    }
}

/* ---- real data ---- */

static void check_file(const char *folder, const char *name)
{
    enum { ROWS = 100 };
    char path[1024];
    struct klr_problem data;
    struct sample s;
    snprintf(path, sizeof path, "%s/%s.svm", folder, name);
    if (klr_problem_read(&data, path, 0, NULL)) {
        printf("# no %s\n", path);
        return;
    }
    size_t n = data.n < ROWS ? data.n : ROWS;
    sample_alloc(&s, n, (size_t)data.dimension);
    for (size_t i = 0; i < n; i++) {
        size_t row = i * data.n / n;
        for (size_t t = data.start[row]; t < data.start[row + 1]; t++)
            s.x[i * s.d + (size_t)data.index[t] - 1] = data.value[t];
    }
    klr_problem_free(&data);
    sample_pack(&s);
    double d = (double)s.d;
    struct klr_kernel real[] = {
        {KLR_LINEAR, 0, 0, 0},        {KLR_POLYNOMIAL, 3, 1 / d, 1},
        {KLR_RBF, 0, 1 / d, 0},       {KLR_RBF, 0, 1e-4, 0},
        {KLR_RBF, 0, 2, 0},           {KLR_SIGMOID, 0, 1 / d, -0.5},
        {KLR_LAPLACIAN, 0, 1 / d, 0},
    };
    for (size_t t = 0; t < sizeof real / sizeof *real; t++)
        check(name, &real[t], &s);
    sample_free(&s);
}

static void test_files(void)
{
    static const char *const names[] = {"magic", "coil2000", "german.numer",
                                        "wdbc",  "usps",     "a9a"};
    const char *folder = getenv("KLR_DATA");
    if (!folder)
        ok(true, "unscaled files # SKIP KLR_DATA is not set");
    for (size_t t = 0; folder && t < sizeof names / sizeof *names; t++)
        check_file(folder, names[t]);
}

int main(void)
{
    test_cpu();
    test_accuracy();
    test_like();
    test_power();
    test_elementary();
    test_overflow();
    test_psd();
    test_precomputed();
    test_precomputed_refusals();
    test_files();
    return done_testing();
}
