/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums over the features of two examples, for a block of left rows and many
 * columns. The left rows stand in a workspace, feature by feature, with
 * `stride` of them side by side. Dense columns come in panels of PANEL, lanes
 * hold neighbouring columns; sparse columns come one after the other, lanes
 * hold left rows; sparse differences, where every feature of either row counts,
 * merge the rows.
 */
#include "kernel/internal.h"

INLINE vector term_vector(enum term term, vector u, vector v)
{
    vector d = u - v;
    switch (term) {
    case SQUARE:
        return d * d;
    case ABSOLUTE:
        return vector_abs(d);
    case OVERLAP:
        return (vector_abs(u) + vector_abs(v)) - vector_abs(d);
    default:
        return u * v;
    }
}

/* ---- left rows ---- */

/* Left rows side by side; a single sparse row fills a vector with itself and
 * zeros. */
static size_t left_stride(const struct klr_points *b, size_t count)
{
    return b->form == SPARSE && count < LANES ? LANES : count;
}

static void left_load(const struct klr_points *a, const size_t *row,
                      size_t count, const struct klr_points *b, double *work)
{
    size_t stride = left_stride(b, count);
    for (size_t r = 0; r < count; r++, work++) {
        size_t i = row[r];
        if (b->form == DENSE) {
            const double *x = a->panel + i / PANEL * PANEL * b->width;
            for (size_t k = 0; k < b->width; k++)
                work[k * stride] = x[k * PANEL + i % PANEL];
        } else {
            for (size_t t = a->start[i]; t < a->start[i + 1]; t++)
                work[(size_t)a->column[t] * stride] = a->value[t];
        }
    }
}

/* Dense rows overwrite all of the workspace, sparse ones clean up after
 * themselves. */
static void left_clear(const struct klr_points *a, const size_t *row,
                       size_t count, const struct klr_points *b, double *work)
{
    size_t stride = left_stride(b, count);
    if (b->form == SPARSE)
        for (size_t r = 0; r < count; r++)
            for (size_t t = a->start[row[r]]; t < a->start[row[r] + 1]; t++)
                work[(size_t)a->column[t] * stride + r] = 0;
}

/* ---- dense ---- */

/* sums (rows, PITCH): `rows` left rows and `span` columns of a panel. */
INLINE void panel_sums(enum term term, const size_t rows, const size_t span,
                       size_t width, const double *left, const double *panel,
                       double *sums)
{
    vector sum[BLOCK * PANEL / LANES / 2] = {{0}};
    const size_t vectors = span / LANES;
    for (size_t k = 0; k < width; k++) {
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
            vector u = vector_all(left[k * rows + r]);
#pragma GCC unroll 8
            for (size_t c = 0; c < vectors; c++)
                sum[r * vectors + c] += term_vector(
                    term, u, ((const vector *)(panel + k * PANEL))[c]);
        }
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (size_t c = 0; c < vectors; c++)
            ((vector *)(sums + r * PITCH))[c] = sum[r * vectors + c];
}

/* As many accumulators as the smallest register file holds: 4 x 4 or 1 x 8. */
INLINE void dense_sums(enum term term, size_t count, const struct klr_points *b,
                       size_t begin, size_t width, double sums[BLOCK][PITCH],
                       const double *work)
{
    for (size_t c = 0; c < width; c += PANEL) {
        const double *panel = b->panel + (begin + c) * b->width;
        double *out = sums[0] + c;
        if (count == 1) {
            panel_sums(term, 1, PANEL, b->width, work, panel, out);
        } else {
            const size_t half = PANEL / 2;
            panel_sums(term, BLOCK, half, b->width, work, panel, out);
            panel_sums(term, BLOCK, half, b->width, work, panel + half,
                       out + half);
        }
    }
}

/* ---- sparse ---- */

/* `vectors` vectors of left rows, of which `count` are in use. */
INLINE void spread_sums(enum term term, const size_t vectors, size_t count,
                        const struct klr_points *b, size_t begin, size_t width,
                        double sums[BLOCK][PITCH], const double *work)
{
    for (size_t c = 0; c < width; c++) {
        vector sum[BLOCK / LANES] = {{0}};
        size_t end = b->start[begin + c + 1];
        for (size_t t = b->start[begin + c]; t < end; t++) {
            size_t at = (size_t)b->column[t] * vectors;
            vector v = vector_all(b->value[t]);
#pragma GCC unroll 8
            for (size_t r = 0; r < vectors; r++)
                sum[r] += term_vector(term, ((const vector *)work)[at + r], v);
        }
        for (size_t r = 0; r < count; r++)
            sums[r][c] = sum[r / LANES][r % LANES];
    }
}

INLINE void sparse_sums(enum term term, size_t count,
                        const struct klr_points *b, size_t begin, size_t width,
                        double sums[BLOCK][PITCH], const double *work)
{
    if (count == 1)
        spread_sums(term, 1, 1, b, begin, width, sums, work);
    else
        spread_sums(term, BLOCK / LANES, BLOCK, b, begin, width, sums, work);
}

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

/* ---- all of them ---- */

static void block_sums(const struct klr_points *a, const size_t *row,
                       size_t count, const struct klr_points *b, size_t begin,
                       size_t width, double sums[BLOCK][PITCH],
                       const double *work)
{
    if (b->form == SPARSE && b->term == PRODUCT)
        sparse_sums(PRODUCT, count, b, begin, width, sums, work);
    else if (b->form == SPARSE && b->term == OVERLAP)
        sparse_sums(OVERLAP, count, b, begin, width, sums, work);
    else if (b->form == SPARSE)
        for (size_t r = 0; r < count; r++)
            for (size_t c = 0; c < width; c++)
                sums[r][c] = merge_sum(a, row[r], b, begin + c);
    else if (b->term == PRODUCT)
        dense_sums(PRODUCT, count, b, begin, width, sums, work);
    else if (b->term == SQUARE)
        dense_sums(SQUARE, count, b, begin, width, sums, work);
    else
        dense_sums(ABSOLUTE, count, b, begin, width, sums, work);
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

/* a * b exactly but for underflow (Dekker) */
static struct pair pair_product(double a, double b)
{
    double product = a * b, s = 0x1p27 + 1;
    double ah = s * a - (s * a - a), al = a - ah;
    double bh = s * b - (s * b - b), bl = b - bh;
    return (struct pair){product,
                         al * bl - (((product - ah * bh) - al * bh) - ah * bl)};
}

/* Algorithm Dot2 of Ogita, Rump & Oishi (2005), carried through to the sum
 * with coef0, where the inner product may cancel. */
static double compensated_argument(const struct klr_points *b, size_t count,
                                   size_t r, size_t j, const double *work)
{
    bool dense = b->form == DENSE;
    size_t stride = left_stride(b, count), step = dense ? PANEL : 1;
    size_t begin = dense ? 0 : b->start[j];
    size_t end = dense ? b->width : b->start[j + 1];
    const double *value =
        dense ? b->panel + j / PANEL * PANEL * b->width + j % PANEL : b->value;
    struct pair dot = {0, 0};
    for (size_t t = begin; t < end; t++) {
        size_t k = dense ? t : (size_t)b->column[t];
        struct pair product =
            pair_product(work[k * stride + r], value[t * step]);
        struct pair sum = pair_sum(dot.high, product.high);
        dot = (struct pair){sum.high, dot.low + (sum.low + product.low)};
    }
    struct pair scaled = pair_product(b->kernel.gamma, dot.high);
    struct pair sum = pair_sum(scaled.high, b->kernel.coef0);
    return sum.high + (sum.low + (scaled.low + b->kernel.gamma * dot.low));
}
