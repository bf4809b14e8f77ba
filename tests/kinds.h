/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Examples of many kinds, on which kernels are hard to compute. They are kept
 * as full rows, zeros included. To be included after kernel.c.
 */
#ifndef KLR_TESTS_KINDS_H
#define KLR_TESTS_KINDS_H

#include "tests/kernels.h"

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
    s->view =
        (struct klr_features){s->n, last, s->start, s->index, s->value, NULL};
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
/* Multiples of 2^-8 that floats hold, as they do not the sums of squares. */
static double make_grid(size_t i, size_t k, const double *above)
{
    (void)above;
    return k % 13 == i % 2 ? 30 + floor(8 * uniform()) / 256 : 0;
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
    {"binary, long rows", 34, 1100, make_even, NULL},
    {"far features", 21, 7, make_dense, far_feature},
    {"wild", 50, 23, make_wild, NULL},
    {"wild sparse", 50, 300, make_wild_sparse, NULL},
    {"offset 1e8", 40, 11, make_offset, NULL},
    {"clusters at +-1e9", 40, 9, make_clusters, NULL},
    {"sparse clusters", 40, 130, make_sparse_clusters, NULL},
    {"sparse grid", 40, 130, make_grid, NULL},
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

#endif
