/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels against sums in extended precision over the raw features: accuracy
 * for every entry whatever the scale, and bits that depend on nothing but the
 * two examples.
 */
#include "kernel.c"

#include <stdio.h>

#include "solver.h"
#include "tests/entries.h"

/* ---- every entry, by every instruction set ---- */

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
/* Distances for fixed16, of floats: by products, and as those for floats. */
static bool seen_rough, seen_rounded;

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

/* Fixed16 is the nearest to entries of the same arithmetic; those of distances
 * by products are a quarter of a unit off before they are rounded. */
static void check_rounding(const struct sample *s, const struct klr_points *p)
{
    static double units[MOST_ROWS * MOST_ROWS], single[MOST_ROWS * MOST_ROWS];
    struct klr_range all = {0, s->n};
    double worst = 0, most = p->narrow.rough ? 0.754 : 0.504;
    entries(p, all, p, whole(&all), KLR_FIXED16, units, s->n);
    entries(p, all, p, whole(&all), KLR_FLOAT, single, s->n);
    for (size_t t = 0; t < s->n * s->n; t++)
        worst = larger_of(worst, 65535 * fabs(units[t] - single[t]));
    ok(worst <= most, "fixed16: %.4f of a unit from floats, at most %.3f",
       worst, most);
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
        if (!ok(!klr_points_create(&p, kernel, &s->view, NULL, NULL, NULL),
                "%s, %s", what, cpus[level]))
            return;
        seen[p->form == SPARSE][p->term][p->compensated] = true;
        seen_float[p->form == SPARSE][p->narrow.term] |= !!p->narrow.tiles;
        seen_binary |= p->nibble != NULL;
        seen_fallback |= !p->narrow.tiles;
        check_doubles(kernel, s, p, level);
        check_precision(kernel, s, p, KLR_FLOAT,
                        p->narrow.tiles ? "float" : "rounded double");
        if (kernel->type == KLR_RBF || kernel->type == KLR_LAPLACIAN) {
            check_precision(kernel, s, p, KLR_FIXED16, "fixed16");
            check_rounding(s, p);
        }
        seen_rough |= p->narrow.rough != NULL;
        seen_rounded |=
            p->narrow.tiles && p->narrow.term == SQUARE && !p->narrow.rough;
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

/* exp(2 gamma u'v) with gamma |u|^2 up to `most`; beyond 44 it is refused. */
static void check_exponential(const char *name, const struct sample *s,
                              double most)
{
    struct klr_kernel kernel = {KLR_EXPONENTIAL, 0, 1, 0};
    struct klr_points *p;
    struct klr_error err = {0};
    double largest = 0;
    for (size_t i = 0; i < s->n; i++) {
        double square = 0;
        for (size_t k = 0; k < s->d; k++)
            square += s->x[i * s->d + k] * s->x[i * s->d + k];
        largest = larger_of(largest, square);
    }
    kernel.gamma = most / largest;
    if (!(largest > 0 && isfinite(largest) && kernel.gamma > 0))
        return;
    check(name, &kernel, s);
    kernel.gamma = 45 / largest;
    ok(klr_points_create(&p, &kernel, &s->view, NULL, NULL, &err) ==
               KLR_E_DATA &&
           !p,
       "%s: %s", name, err.message);
}

static void test_accuracy(void)
{
    for (size_t q = 0; q < KINDS; q++) {
        struct sample s;
        sample_make(&s, &kinds[q]);
        for (size_t t = 0; t < KERNELS; t++)
            check(kinds[q].name, &kernels[t], &s);
        check_exponential(kinds[q].name, &s, 0.5);
        check_exponential(kinds[q].name, &s, 40);
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
    ok(seen_rough && seen_rounded, "differences that products replace, or not");
}

/* More features than have lines of their own. Rows 3 and 5 have more than there
 * are lines for, and are searched; some have a few hundred features, others a
 * few. -1 and the squares nearly cancel. */
static void test_long_rows(void)
{
    const struct klr_kernel long_kernels[] = {
        {KLR_RBF, 0, 1, 0},
        {KLR_LAPLACIAN, 0, 1e-3, 0},
        {KLR_LINEAR, 0, 0, 0},
        {KLR_POLYNOMIAL, 3, 1, -1},
    };
    const size_t d = SPREAD_BYTES / sizeof(float) + 1000;
    struct sample s;
    sample_alloc(&s, 14, d);
    for (size_t i = 0; i < s.n; i++)
        for (size_t k = 0; k < d; k++)
            if (i == 3 || i == 5 || k % (i % 2 ? 500 : 20000) == i)
                s.x[i * d + k] = sign() * (1 + 1e-6 * uniform()) / sqrt(d);
    sample_pack(&s);
    for (size_t t = 0; t < sizeof long_kernels / sizeof *long_kernels; t++)
        check("long rows", &long_kernels[t], &s);
    sample_free(&s);
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
        equal = !klr_points_create_like(&r, p, &x, NULL, NULL);
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
        int code = klr_points_create(&p, kernel, &base.view, NULL, NULL, NULL);
        code = code ? code : klr_points_create_like(&q, p, &s.view, NULL, NULL);
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

/* A base of sums that floats hold, which left rows near it have not. */
static void test_off_grid(void)
{
    static double gram[MOST_ROWS * MOST_ROWS];
    const struct klr_kernel kernel = {KLR_RBF, 0, 1, 0};
    struct klr_range all = {0, 40};
    struct klr_points *p = NULL, *q = NULL;
    struct sample base, s;
    sample_alloc(&base, 40, 200);
    sample_alloc(&s, 40, 200);
    for (size_t t = 0; t < base.n * base.d; t++)
        if (t % base.d % 50 == t / base.d % 20) {
            base.x[t] = 62 + floor(16 * uniform()) / 16;
            s.x[t] = base.x[t] + uniform() / 16;
        }
    sample_pack(&base);
    sample_pack(&s);
    refer(&kernel, &s, &base);
    int code = klr_points_create(&p, &kernel, &base.view, NULL, NULL, NULL);
    ok(!code && !klr_points_create_like(&q, p, &s.view, NULL, NULL) &&
           p->narrow.exact,
       "left rows beside the grid of a base");
    entries(q, all, p, whole(&all), KLR_FLOAT, gram, base.n);
    double most = worst(&kernel, gram, KLR_FLOAT);
    ok(most <= 1, "%.2g of the allowed error", most);
    klr_points_free(p);
    klr_points_free(q);
    sample_free(&base);
    sample_free(&s);
}

/* Rows of which one in 40 is large, and near the others like it: as floats
 * their products cancel. One of `every` features is there. */
static void outliers_make(struct sample *s, size_t every, double large)
{
    sample_alloc(s, MOST_ROWS, 60);
    for (size_t t = 0; t < s->n * s->d; t++)
        if (t % s->d % every == t / s->d % every)
            s->x[t] =
                t / s->d % 40 == 3 ? large + 0.1 * uniform() : 0.02 * uniform();
    sample_pack(s);
}

/* Left rows, too: row 4 is larger than any of the base. */
static void check_outliers(enum form form, size_t every, double large)
{
    const struct klr_kernel kernel = {KLR_RBF, 0, 1, 0};
    struct klr_points *p = NULL, *q = NULL;
    struct sample base, s;
    outliers_make(&base, every, large);
    outliers_make(&s, every, large);
    for (size_t k = 0; k < s.d; k++) {
        s.x[3 * s.d + k] = base.x[3 * s.d + k];
        s.x[4 * s.d + k] = 2 * base.x[3 * s.d + k];
    }
    sample_pack(&s);
    for (int level = 0; level < 3 && choose_cpu(level); level++) {
        int code = klr_points_create(&p, &kernel, &base.view, NULL, NULL, NULL);
        ok(!code && p->form == form && p->narrow.tiles &&
               p->narrow.term == PRODUCT && p->narrow.outliers == 4,
           "rows that stand out, %s", cpus[level]);
        refer(&kernel, &base, &base);
        check_precision(&kernel, &base, p, KLR_FLOAT, "float");
        check_precision(&kernel, &base, p, KLR_FIXED16, "fixed16");
        code = klr_points_create_like(&q, p, &s.view, NULL, NULL);
        ok(!code && q->narrow.fit[3] == OUTLYING && q->narrow.fit[4] == UNFIT &&
               q->narrow.fit[5] == FITS,
           "left rows that stand out");
        refer(&kernel, &s, &base);
        check_left(q, &s, p, KLR_FLOAT);
        p = klr_points_free(p);
        q = klr_points_free(q);
    }
    sample_free(&base);
    sample_free(&s);
}

/* Features so many and large that sums of all their products cancel too far as
 * floats, those of runs do not. Some rows are equal. */
static void test_runs(void)
{
    const struct klr_kernel kernel = {KLR_RBF, 0, 1, 0};
    struct klr_points *p = NULL;
    struct sample s;
    sample_alloc(&s, 120, 500);
    for (size_t i = 0; i < s.n; i++)
        for (size_t k = 0; k < s.d; k++)
            s.x[i * s.d + k] = i % 30 == 29 ? s.x[(i - 1) * s.d + k]
                               : i % 10
                                   ? s.x[(i - 1) * s.d + k] + 0.02 * uniform()
                                   : 0.1 * uniform();
    sample_pack(&s);
    refer(&kernel, &s, &s);
    for (int level = 0; level < 3 && choose_cpu(level); level++) {
        int code = klr_points_create(&p, &kernel, &s.view, NULL, NULL, NULL);
        ok(!code && p->narrow.tiles && p->narrow.cancels &&
               p->narrow.lines == 500 + 499 / RUN && !p->narrow.outliers,
           "distances run by run, %s", cpus[level]);
        check_precision(&kernel, &s, p, KLR_FLOAT, "float");
        p = klr_points_free(p);
    }
    sample_free(&s);
}

/* One of `every` features is there. Unless features are looked up, rows are
 * dense where every second is, and few at a time where every sixth is. Every
 * 24th is looked up by few. */
static void test_for_rows(size_t every, bool binary)
{
    static double gram[MOST_ROWS * MOST_ROWS];
    const struct klr_kernel kernel = {KLR_RBF, 0, 1, 0};
    const bool rare = every > 6, looks = binary && klr_cpu() >= KLR_CPU_AVX2;
    const bool sparse = looks || every >= 6;
    struct klr_range all = {0, MOST_ROWS};
    struct klr_points *many = NULL, *few = NULL;
    struct sample s;
    sample_alloc(&s, MOST_ROWS, 60);
    for (size_t t = 0; t < s.n * s.d; t++)
        if (t % s.d % every == t / s.d % every)
            s.x[t] = binary ? 0.125 : 0.3 * uniform();
    sample_pack(&s);
    refer(&kernel, &s, &s);
    int code = klr_points_create(&many, &kernel, &s.view, NULL, NULL, NULL);
    if (ok(!code &&
               !klr_points_create_for_rows(&few, &kernel, &s.view, NULL, NULL,
                                           NULL) &&
               many->form == (sparse ? SPARSE : DENSE) &&
               (many->nibble != NULL) == (looks && !rare) &&
               few->form == (looks || rare ? SPARSE : DENSE) &&
               (few->nibble != NULL) == looks,
           "points for few rows at a time")) {
        entries(few, all, few, whole(&all), KLR_FLOAT, gram, s.n);
        ok(worst(&kernel, gram, KLR_FLOAT) <= 1, "are as good");
    }
    klr_points_free(many);
    klr_points_free(few);
    sample_free(&s);
}

/* True if sums are found to be exact in floats. All features are eighths, and
 * one is that many. */
static bool is_exact(enum klr_kernel_type type, double eighths)
{
    const struct klr_kernel kernel = {type, 0, 0x1p-20, 0};
    struct klr_points *p = NULL;
    struct sample s;
    sample_alloc(&s, 40, 200);
    for (size_t t = 0; t < s.n * s.d; t++)
        if (t % s.d % 50 == t / s.d % 20)
            s.x[t] = t / s.d == 7 && t % s.d < 50 ? eighths / 8 : 0.125;
    sample_pack(&s);
    bool exact = !klr_points_create(&p, &kernel, &s.view, NULL, NULL, NULL) &&
                 p->form == SPARSE && p->narrow.exact;
    klr_points_free(p);
    sample_free(&s);
    return exact;
}

/* Floats hold sums up to 2^24 times what all features are multiples of. */
static void test_grid(void)
{
    const double square = 0x1p12, absolute = 0x1p23;
    ok(is_exact(KLR_RBF, square - 1) && !is_exact(KLR_RBF, square + 1) &&
           !is_exact(KLR_RBF, square - 0.5) && is_exact(KLR_RBF, 3),
       "squares are exact up to 2^24 units");
    ok(is_exact(KLR_LAPLACIAN, absolute - 4) &&
           !is_exact(KLR_LAPLACIAN, absolute + 1) &&
           !is_exact(KLR_LAPLACIAN, 0.3),
       "and so are absolute values");
}

/* A left row much larger than the base, whose large products cancel. */
static void test_large_left_row(void)
{
    double z[6] = {0.5, 1, 1, 0.25, 1, 1}, x[3] = {1, 1e17, -1e17}, out[2];
    int index[6] = {1, 2, 3, 1, 2, 3};
    size_t start[3] = {0, 3, 6};
    struct klr_kernel kernel = {KLR_SIGMOID, 0, 1, -0.125};
    struct klr_features base = {2, 3, start, index, z, NULL};
    struct klr_features left = {1, 3, start, index, x, NULL};
    struct klr_range pair = {0, 2}, one = {0, 1};
    struct klr_points *p = NULL, *q = NULL;
    int code = klr_points_create(&p, &kernel, &base, NULL, NULL, NULL);
    ok(!code && !klr_points_create_like(&q, p, &left, NULL, NULL),
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
    test_off_grid();
    test_grid();
    test_runs();
    test_for_rows(6, false);
    test_for_rows(6, true);
    test_for_rows(2, false);
    test_for_rows(2, true);
    test_for_rows(24, false);
    test_for_rows(24, true);
    check_outliers(SPARSE, 20, 7);
    check_outliers(DENSE, 1, 0.5);
    for (size_t k = 0; k < KINDS; k++)
        for (size_t t = 0; t < KERNELS && kinds[k].d > 7; t++)
            check_like(&kinds[k], &kernels[t]);
}

/* ---- threads ---- */

static bool are_equal(const struct klr_points *p, const struct klr_points *q)
{
    size_t elements = panel_spans(p) * SPAN, n = p->n;
    if (p->form != q->form || !p->narrow.tiles || !q->narrow.tiles ||
        memcmp(p->size, q->size, n * sizeof *p->size))
        return false;
    if (p->form == DENSE)
        return !memcmp(p->panel, q->panel, elements * sizeof *p->panel) &&
               !memcmp(p->narrow.panel, q->narrow.panel,
                       n * p->narrow.lines * sizeof *p->narrow.panel);
    return !memcmp(p->start, q->start, (n + 1) * sizeof *p->start) &&
           !memcmp(p->column, q->column, p->start[n] * sizeof *p->column) &&
           !memcmp(p->value, q->value, p->start[n] * sizeof *p->value) &&
           !memcmp(p->narrow.value, q->narrow.value,
                   p->start[n] * sizeof *p->narrow.value);
}

/* Rows enough for all threads to have some, of `every`-th features. */
static void test_threads(enum form form, size_t every)
{
    enum { ROWS = 20000 - 3, FEATURES = 30 };
    static double value[ROWS * FEATURES];
    static int index[ROWS * FEATURES];
    static size_t start[ROWS + 1], order[ROWS];
    struct klr_kernel rbf = {KLR_RBF, 0, 0.5, 0};
    struct klr_points *one = NULL, *three = NULL;
    struct klr_pool *pool = NULL;
    size_t count = 0;
    for (size_t i = 0; i < ROWS; start[++i] = count) {
        order[i] = ROWS - 1 - i;
        for (size_t k = i % every; k < FEATURES; k += every, count++) {
            index[count] = (int)k + 1;
            value[count] = uniform();
        }
    }
    struct klr_features x = {ROWS, FEATURES, start, index, value, NULL};
    bool equal = !klr_pool_create(&pool, 3, NULL) &&
                 !klr_points_create(&one, &rbf, &x, order, NULL, NULL) &&
                 one->form == form;
    for (int round = 0; round < 50 && equal; round++) {
        equal = !klr_points_create(&three, &rbf, &x, order, pool, NULL) &&
                are_equal(one, three);
        three = klr_points_free(three);
    }
    ok(equal, "the same points from three threads, 1 of %zu features", every);
    klr_points_free(one);
    klr_pool_free(pool);
}

/* ---- real data ---- */

static void check_file(const char *folder, const char *name)
{
    enum { ROWS = 100 };
    char path[1024];
    struct klr_problem data;
    struct sample s;
    snprintf(path, sizeof path, "%s/%s.svm", folder, name);
    if (klr_problem_read(&data, path, 0, 1, NULL)) {
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
    test_long_rows();
    test_like();
    test_threads(DENSE, 2);
    test_threads(SPARSE, 10);
    test_files();
    return done_testing();
}
