/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Triangles in panels, against products in long double.
 */
#define SOLVER_FLOOR 4
#include "solver.c"

#include "tests/larger.h"
#include "tests/tap.h"

enum { MOST = 150 };

static uint64_t state = 7;

static double normal(void)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)(random_next(&state) >> 11) * 0x1p-53 - 0.5;
    return sum;
}

/* a (n, n) = X X', of rank n but for rows of X that are those `back` before
 * them, all but 1e-5: a sixth, with one that a band begins with. */
static void matrix_make(size_t n, size_t back, double a[MOST][MOST])
{
    static double x[MOST][MOST + 8];
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < MOST + 8; k++)
            x[i][k] = back && i >= back && i % 6 == 0
                          ? x[i - back][k] + 1e-5 * normal()
                          : normal();
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i][j] = dot(MOST + 8, x[i], x[j]);
}

static void panels_make(struct panels *p, size_t n, double a[MOST][MOST])
{
    *p = (struct panels){.n = n, .dense = klr_dense()};
    p->value = klr_zalloc(panels_size(n), sizeof *p->value, NULL);
    for (size_t c = 0; c < n; c++)
        for (size_t r = 0; r <= c; r++)
            *panels_at(p, r, c) = a[r][c];
}

/* The largest |R'R - A| over the rows kept; the largest error of solving. */
static void test_factor(size_t n, size_t back)
{
    static double a[MOST][MOST], block[192 * KLR_BAND];
    static double least[MOST], x[MOST], b[MOST];
    bool drop[MOST] = {false};
    size_t row[MOST], m = 0;
    struct panels p;
    double error = 0, forward = 0, backward = 0, divide = 0;
    matrix_make(n, back, a);
    panels_make(&p, n, a);
    for (size_t i = 0; i < n; i++)
        least[i] = 1e-9 * a[i][i];
    bool whole = panels_factor(&p, least, drop);
    for (size_t i = 0; i < n; i++)
        if (!drop[i])
            row[m++] = i;
    memset(block, 0, sizeof block);
    for (size_t i = 0; i < m; i++) {
        x[i] = normal();
        block[i * KLR_BAND + 3] = x[i];
    }
    memcpy(b, x, sizeof b);
    panels_forward(&p, x);
    panels_divide(&p, block);
    for (size_t i = 0; i < m; i++) {
        long double sum = 0;
        for (size_t j = 0; j < m; j++) {
            long double product = 0;
            for (size_t k = 0; k <= (i < j ? i : j); k++)
                product +=
                    (long double)*panels_at(&p, k, i) * *panels_at(&p, k, j);
            error = larger_of(error, fabs((double)product - a[row[i]][row[j]]));
        }
        for (size_t k = 0; k <= i; k++)
            sum += (long double)*panels_at(&p, k, i) * x[k];
        forward = larger_of(forward, fabs((double)sum - b[i]));
        divide = larger_of(divide, fabs(block[i * KLR_BAND + 3] - x[i]));
    }
    memcpy(b, x, sizeof b);
    panels_backward(&p, x);
    for (size_t i = 0; i < m; i++) {
        long double sum = 0;
        for (size_t j = i; j < m; j++)
            sum += (long double)*panels_at(&p, i, j) * x[j];
        backward = larger_of(backward, fabs((double)sum - b[i]));
    }
    size_t copies = 0;
    for (size_t i = back; back && i < n; i++)
        copies += i % 6 == 0;
    ok(whole && !p.raised && p.n == m && m + copies == n,
       "%zu rows, %zu copies dropped", n, copies);
    ok(error < 1e-11, "R'R, to %.1g", error);
    ok(forward < 1e-11 && backward < 1e-11 && divide < 1e-12,
       "solved with, to %.1g, %.1g, %.1g", forward, backward, divide);
    klr_free(p.value);
}

static void test_raised(void)
{
    static double a[MOST][MOST] = {{4, 4}, {4, 4}};
    double least[2] = {0.5, 0.5};
    struct panels p;
    panels_make(&p, 2, a);
    ok(panels_factor(&p, least, NULL) && p.raised &&
           fabs(*panels_at(&p, 1, 1) - sqrt(0.5)) < 1e-15,
       "a pivot is raised");
    klr_free(p.value);
}

int main(void)
{
    static const size_t sizes[] = {1, 47, 48, 49, 96, 100, 150};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        test_factor(sizes[i], 0);
    test_factor(100, 3);
    test_factor(150, 59);
    test_raised();
    return done_testing();
}
