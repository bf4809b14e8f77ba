/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums over the features of two examples where a tile of products does not
 * serve: sparse differences, where every feature of either row counts, merge
 * the rows; products that may cancel are summed with their rounding errors.
 */
#include "kernel/parts.h"

/* ---- merged ---- */

static double term_difference(enum term term, double u, double v)
{
    return term == SQUARE ? (u - v) * (u - v) : fabs(u - v);
}

/* The features of both rows in ascending order. */
static double merge_sum(const struct klr_points *a, size_t i,
                        const struct klr_points *b, size_t j)
{
    size_t p = a->start[i], p_end = a->start[i + 1];
    size_t q = b->start[j], q_end = b->start[j + 1];
    double sum = 0;
    while (p < p_end && q < q_end) {
        int left = a->column[p], right = b->column[q];
        double u = left <= right ? a->value[p] : 0;
        double v = right <= left ? b->value[q] : 0;
        p += left <= right;
        q += right <= left;
        sum += term_difference(b->term, u, v);
    }
    for (; p < p_end; p++)
        sum += term_difference(b->term, a->value[p], 0);
    for (; q < q_end; q++)
        sum += term_difference(b->term, b->value[q], 0);
    return sum;
}

/* ---- compensated ---- */

/* The unevaluated sum high + low. */
struct pair {
    double high, low;
};

/* a + b exactly (Knuth) */
static struct pair pair_sum(double a, double b)
{
    double sum = a + b, part = sum - a;
    return (struct pair){sum, (a - (sum - part)) + (b - part)};
}

/* a * b exactly but for underflow */
static struct pair pair_product(double a, double b)
{
    double product = a * b;
    return (struct pair){product, fma(a, b, -product)};
}

/* dot + u v */
INLINE struct pair pair_add(struct pair dot, double u, double v)
{
    struct pair product = pair_product(u, v);
    struct pair sum = pair_sum(dot.high, product.high);
    return (struct pair){sum.high, dot.low + (sum.low + product.low)};
}

/* The product of the left row, which stands in the workspace, and column j of
 * panels. */
static struct pair dense_product(const struct tile *t, size_t j)
{
    const struct klr_points *b = t->b;
    const double *x = t->work;
    const double *z = b->panel + j / PANEL * PANEL * b->width + j % PANEL;
    struct pair dot = {0, 0};
    for (size_t k = 0; k < b->width; k++)
        dot = pair_add(dot, x[k], z[k * PANEL]);
    return dot;
}

/* As dense_product, for sparse points. */
static struct pair sparse_product(const struct tile *t, size_t j)
{
    const struct klr_points *b = t->b;
    const double *x = t->work;
    struct pair dot = {0, 0};
    for (size_t q = b->start[j]; q < b->start[j + 1]; q++)
        dot = pair_add(dot, x[b->column[q]], b->value[q]);
    return dot;
}

/* The sum over the features that both rows have. */
static struct pair searched_product(const struct tile *t, size_t j)
{
    const struct klr_points *a = t->a, *b = t->b;
    size_t p = a->start[t->row[0]], end = a->start[t->row[0] + 1];
    struct pair dot = {0, 0};
    for (size_t q = b->start[j]; q < b->start[j + 1] && p < end; q++) {
        p = map_seek(a->column, p, end, b->column[q]);
        if (p < end && a->column[p] == b->column[q])
            dot = pair_add(dot, a->value[p], b->value[q]);
    }
    return dot;
}

/* gamma x'z + coef0 with the error of one rounding, for the left row x and
 * column j: algorithm Dot2 of Ogita, Rump & Oishi (2005), carried through to
 * the sum with coef0, where the inner product may cancel. */
static double compensated_argument(const struct tile *t, size_t j)
{
    const struct klr_kernel *kernel = &t->b->kernel;
    struct pair dot = t->b->form == DENSE     ? dense_product(t, j)
                      : t->lookup == SEARCHED ? searched_product(t, j)
                                              : sparse_product(t, j);
    struct pair scaled = pair_product(kernel->gamma, dot.high);
    struct pair sum = pair_sum(scaled.high, kernel->coef0);
    return sum.high + (sum.low + (scaled.low + kernel->gamma * dot.low));
}

/* ---- tiles ---- */

static bool sums_are_careful(const struct klr_points *a, size_t i,
                             const struct klr_points *b)
{
    if (kernel_is_distance(&b->kernel))
        return b->form == SPARSE && term_is_difference(b->term);
    return points_compensate(a, i, b);
}

static void careful_tile(struct tile *t)
{
    struct formula formula = t->formula;
    bool merge = kernel_is_distance(&t->b->kernel);
    if (!merge)
        t->formula = (struct formula){formula.type, formula.degree, 1, 0};
    for (size_t j = t->begin / SPAN * SPAN; j < t->end; j += SPAN) {
        _Alignas(64) double sums[SPAN] = {0};
        size_t first = j < t->begin ? t->begin : j;
        size_t end = j + SPAN < t->end ? j + SPAN : t->end;
        for (size_t c = first; c < end; c++)
            sums[c - j] = merge ? merge_sum(t->a, t->row[0], t->b, c)
                                : compensated_argument(t, c);
        t->b->tiles->values(t, 0, j, sums);
    }
    t->formula = formula;
}
