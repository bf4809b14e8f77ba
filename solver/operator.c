/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Gram matrix as solvers see it: products with vectors, rows, the diagonal.
 * Products are formed tile by tile, each tile computed where it is needed. A sum
 * over columns runs in the order of the set, with one accumulator: neither the
 * tiles nor the ranges into which a set is divided have an influence on it.
 */
#include "solver/internal.h"

enum { TILE_ROWS = 64, TILE_COLS = 256 }; /* at most 128 KB */

static struct klr_set set_of(const struct klr_range *range, size_t count)
{
    struct klr_set set = {range, count, 0};
    for (size_t q = 0; q < count; q++)
        set.size += range[q].end - range[q].begin;
    return set;
}

static int operator_create(struct klr_operator *op,
                           const struct klr_kernel *kernel,
                           const struct klr_features *x, const size_t *order,
                           struct klr_error *err)
{
    *op = (struct klr_operator){.kernel = *kernel, .n = x->n};
    op->tile = klr_alloc(TILE_ROWS * TILE_COLS, sizeof(double), err);
    int code = op->tile ? klr_points_create(&op->points, kernel, x, order, err)
                        : KLR_E_MEMORY;
    if (!code) {
        op->workspace = klr_zalloc(1, klr_gram_workspace(op->points), err);
        code = op->workspace ? KLR_OK : KLR_E_MEMORY;
    }
    if (code)
        operator_free(op);
    return code;
}

static void operator_free(struct klr_operator *op)
{
    op->points = klr_points_free(op->points);
    op->tile = klr_free(op->tile);
    op->workspace = klr_free(op->workspace);
}

/* ---- products ---- */

/* Cut the next TILE_COLS positions, or what is left, from the set. `cut` holds
 * the rest and is changed; piece has room for TILE_COLS ranges. */
static struct klr_set cut_piece(struct klr_range *cut, size_t *next,
                                struct klr_set set, struct klr_range *piece)
{
    size_t count = 0, size = 0;
    while (size < TILE_COLS) {
        if (cut->begin == cut->end) {
            if (*next == set.count)
                break;
            *cut = set.range[(*next)++];
            continue;
        }
        size_t width = cut->end - cut->begin;
        if (width > TILE_COLS - size)
            width = TILE_COLS - size;
        piece[count++] = (struct klr_range){cut->begin, cut->begin + width};
        cut->begin += width;
        size += width;
    }
    return (struct klr_set){piece, count, size};
}

/* out (h, w; pitch m) += tile (h, cols; pitch TILE_COLS) v (cols, w; pitch m).
 * Sums that go side by side hide each other's latency. */
static inline __attribute__((always_inline)) void
block_product(const void *tile, enum klr_precision precision, const size_t h,
              const size_t w, size_t cols, const double *v, size_t m,
              double *out)
{
    double sum[4][4];
    for (size_t r = 0; r < h; r++)
        for (size_t c = 0; c < w; c++)
            sum[r][c] = out[r * m + c];
    for (size_t j = 0; j < cols; j++)
        for (size_t r = 0; r < h; r++) {
            size_t at = r * TILE_COLS + j;
            double k = precision == KLR_FLOAT
                           ? (double)((const float *)tile)[at]
                           : ((const double *)tile)[at];
            for (size_t c = 0; c < w; c++)
                sum[r][c] += k * v[j * m + c];
        }
    for (size_t r = 0; r < h; r++)
        for (size_t c = 0; c < w; c++)
            out[r * m + c] = sum[r][c];
}

/* out (rows, m) += tile (rows, cols) V (cols, m). */
static inline __attribute__((always_inline)) void
tile_product(const void *tile, enum klr_precision precision, size_t rows,
             size_t cols, const double *v, size_t m, double *out)
{
    size_t element = precision == KLR_FLOAT ? sizeof(float) : sizeof(double);
    for (size_t r = 0, h; r < rows; r += h)
        for (size_t c = 0, w; c < m; c += w) {
            const void *block = (const char *)tile + r * TILE_COLS * element;
            double *to = out + r * m + c;
            h = rows - r >= 4 ? 4 : 1;
            w = m - c >= 4 ? 4 : 1;
            if (h == 4 && w == 4)
                block_product(block, precision, 4, 4, cols, v + c, m, to);
            else if (h == 4)
                block_product(block, precision, 4, 1, cols, v + c, m, to);
            else if (w == 4)
                block_product(block, precision, 1, 4, cols, v + c, m, to);
            else
                block_product(block, precision, 1, 1, cols, v + c, m, to);
        }
}

/* out (rows, m) = K[rows of left, cols] V. */
static void rows_product(struct klr_operator *op, const struct klr_points *left,
                         struct klr_range rows, struct klr_set cols,
                         const double *v, size_t m,
                         enum klr_precision precision, double *out)
{
    struct klr_range cut = {0, 0}, range[TILE_COLS];
    size_t height = rows.end - rows.begin, next = 0;
    memset(out, 0, height * m * sizeof *out);
    for (;;) {
        struct klr_set piece = cut_piece(&cut, &next, cols, range);
        if (!piece.size)
            break;
        klr_gram(left, rows, op->points, piece, precision, op->tile, TILE_COLS,
                 op->workspace);
        op->evaluations += height * piece.size;
        if (precision == KLR_FLOAT)
            tile_product(op->tile, KLR_FLOAT, height, piece.size, v, m, out);
        else
            tile_product(op->tile, KLR_DOUBLE, height, piece.size, v, m, out);
        v += piece.size * m;
    }
}

/* out (|rows|, m) = K[rows of left, cols] V. */
static void set_product(struct klr_operator *op, const struct klr_points *left,
                        struct klr_set rows, struct klr_set cols,
                        const double *v, size_t m, enum klr_precision precision,
                        double *out)
{
    for (size_t q = 0; q < rows.count; q++)
        for (size_t i = rows.range[q].begin, h; i < rows.range[q].end; i += h) {
            h = rows.range[q].end - i;
            if (h > TILE_ROWS)
                h = TILE_ROWS;
            rows_product(op, left, (struct klr_range){i, i + h}, cols, v, m,
                         precision, out);
            out += h * m;
        }
}

static void operator_apply(struct klr_operator *op, struct klr_set rows,
                           struct klr_set cols, const double *v, size_t m,
                           enum klr_precision precision, double *out)
{
    set_product(op, op->points, rows, cols, v, m, precision, out);
}

static void operator_cross(struct klr_operator *op, const struct klr_points *x,
                           const double *v, size_t m,
                           enum klr_precision precision, double *out)
{
    struct klr_range rows = {0, klr_points_count(x)}, cols = {0, op->n};
    set_product(op, x, set_of(&rows, 1), set_of(&cols, 1), v, m, precision,
                out);
}

/* ---- entries ---- */

static void operator_row(struct klr_operator *op, size_t i, struct klr_set cols,
                         enum klr_precision precision, void *out)
{
    klr_gram(op->points, (struct klr_range){i, i + 1}, op->points, cols,
             precision, out, cols.size, op->workspace);
    op->evaluations += cols.size;
}

static void operator_diagonal(const struct klr_operator *op, struct klr_set set,
                              double *out)
{
    klr_gram_diagonal(op->points, set, out, op->workspace);
}
