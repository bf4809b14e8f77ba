/* SPDX-License-Identifier: BSD-3-Clause
 *
 * M = I + S K S = L L' in floats, and its inverse, as a preconditioner where
 * one of low rank would not do: without rounding M would be all of the matrix.
 *
 * L is kept in tiles of KLR_TILE positions, the lower triangle row by row. A
 * column of tiles gets what is left of the matrix there, less what the columns
 * before it contribute, in products of float panels; the tile of the diagonal
 * is factored and inverted in double, and takes the place of L with its
 * inverse; the tiles below are multiplied by that. Tiles of a column are tasks
 * of the pool, so that no bit depends on threads.
 *
 * No pivot of M is below 1. Where one falls to half of that, K is not positive
 * semidefinite, or floats are too coarse for the weights.
 */
#include "solver/matrix/matrix.h"

enum {
    CHOLESKY_AREA = KLR_TILE * KLR_TILE,
    CHOLESKY_PANELS = KLR_TILE / KLR_PANEL,
    CHOLESKY_STRIP = KLR_TILE * KLR_PANEL, /* elements of a tile's panel, */
    CHOLESKY_SLAB = KLR_TILE * CHOLESKY_VECTORS /* and of a block of vectors */
};

static size_t cholesky_blocks(size_t n)
{
    return (n + KLR_TILE - 1) / KLR_TILE;
}

/* The number of rows or columns in a block. */
static size_t cholesky_size(const struct cholesky *m, size_t block)
{
    size_t left = m->n - block * KLR_TILE;
    return left < KLR_TILE ? left : KLR_TILE;
}

static float *cholesky_tile(const struct cholesky *m, size_t i, size_t j)
{
    return m->tile + (i * (i + 1) / 2 + j) * CHOLESKY_AREA;
}

static double cholesky_bytes(size_t n)
{
    double blocks = (double)cholesky_blocks(n), area = CHOLESKY_AREA;
    return sizeof(float) * area * (blocks * (blocks + 1) / 2 + blocks + 1) +
           sizeof(double) * area * (blocks + 2) +
           sizeof(float) * (blocks + 1) * CHOLESKY_SLAB;
}

static int cholesky_create(struct cholesky *m, struct submatrix matrix,
                           struct klr_arena *arena, struct klr_error *err)
{
    size_t blocks = cholesky_blocks(matrix.set.size);
    *m = (struct cholesky){.n = matrix.set.size,
                           .matrix = matrix,
                           .blocks = blocks,
                           .dense = klr_dense(),
                           .pool = matrix.op->pool};
    if (!KLR_TAKE(arena, m->tile, blocks * (blocks + 1) / 2, CHOLESKY_AREA,
                  err) ||
        !KLR_TAKE(arena, m->range, matrix.set.count, 1, err) ||
        !KLR_TAKE(arena, m->row, blocks, CHOLESKY_AREA, err) ||
        !KLR_TAKE(arena, m->panel, blocks, CHOLESKY_AREA, err) ||
        !KLR_TAKE(arena, m->block, 2, CHOLESKY_AREA, err) ||
        !KLR_TAKE(arena, m->fresh, klr_pool_size(m->pool), CHOLESKY_AREA,
                  err) ||
        !KLR_TAKE(arena, m->vector, blocks + 1, CHOLESKY_SLAB, err))
        return KLR_E_MEMORY;
    return 0;
}

/* ---- factoring ---- */

/* panel = -L(j, 0..j)', in panels of KLR_PANEL columns for each tile. */
static void column_task(void *context, size_t k, size_t thread)
{
    const struct cholesky *m = context;
    const float *from = cholesky_tile(m, m->column, k);
    float *to = m->panel + k * CHOLESKY_AREA;
    (void)thread;
    for (size_t p = 0; p < CHOLESKY_PANELS; p++)
        for (size_t c = 0; c < KLR_PANEL; c++)
            for (size_t t = 0; t < KLR_TILE; t++)
                to[p * CHOLESKY_STRIP + t * KLR_PANEL + c] =
                    -from[(p * KLR_PANEL + c) * KLR_TILE + t];
}

/* The entries of I + S K S in the tile, one panel behind the other. */
static void cholesky_fill(const struct cholesky *m, size_t i, float *tile)
{
    size_t j = m->column, h = cholesky_size(m, i), w = cholesky_size(m, j);
    const double *down = m->s + i * KLR_TILE, *across = m->s + j * KLR_TILE;
    memset(tile, 0, CHOLESKY_AREA * sizeof *tile);
    for (size_t c = 0; c < w; c++) {
        const double *k = m->row + c * m->n + (i - j) * KLR_TILE;
        float *to = tile + c / KLR_PANEL * CHOLESKY_STRIP + c % KLR_PANEL;
        for (size_t r = 0; r < h; r++)
            to[r * KLR_PANEL] = (float)(across[c] * down[r] * k[r]);
        if (i == j)
            to[c * KLR_PANEL] += 1;
    }
}

/* A tile of the column less the products of those before it; of the tile of the
 * diagonal, panels from their own first row on. */
static void update_task(void *context, size_t task, size_t thread)
{
    const struct cholesky *m = context;
    size_t j = m->column, i = j + task, rows = cholesky_size(m, i);
    float *tile = cholesky_tile(m, i, j);
    (void)thread;
    cholesky_fill(m, i, tile);
    for (size_t k = 0; k < j; k++)
        for (size_t p = 0; p < CHOLESKY_PANELS; p++) {
            size_t skip = i > j ? 0 : p * KLR_PANEL;
            if (skip < rows)
                m->dense->gemm_32(
                    rows - skip, KLR_TILE,
                    cholesky_tile(m, i, k) + skip * KLR_TILE, KLR_TILE,
                    m->panel + k * CHOLESKY_AREA + p * CHOLESKY_STRIP,
                    tile + p * CHOLESKY_STRIP + skip * KLR_PANEL);
        }
}

/* The tile of the diagonal becomes the inverse of its factor; the first tile of
 * m->panel that inverse transposed, in panels. */
static bool cholesky_diagonal(struct cholesky *m)
{
    size_t n = cholesky_size(m, m->column);
    float *tile = cholesky_tile(m, m->column, m->column);
    double *a = m->block, *inverse = m->block + CHOLESKY_AREA;
    for (size_t r = 0; r < n; r++)
        for (size_t c = r; c < n; c++)
            a[r * KLR_TILE + c] = /* of the lower triangle */
                (double)tile[r / KLR_PANEL * CHOLESKY_STRIP + c * KLR_PANEL +
                             r % KLR_PANEL];
    if (!triangle_factor(m->dense, n, KLR_TILE, a, 0.5))
        return false;
    memset(inverse, 0, CHOLESKY_AREA * sizeof *inverse);
    triangle_invert(m->dense, n, KLR_TILE, a, inverse);
    for (size_t r = 0; r < KLR_TILE; r++)
        for (size_t c = 0; c < KLR_TILE; c++) {
            float value = (float)inverse[r * KLR_TILE + c];
            tile[r * KLR_TILE + c] = value;
            m->panel[r / KLR_PANEL * CHOLESKY_STRIP + c * KLR_PANEL +
                     r % KLR_PANEL] = value;
        }
    return true;
}

/* A tile below: what is left of it times the inverse transposed. */
static void divide_task(void *context, size_t task, size_t thread)
{
    const struct cholesky *m = context;
    size_t j = m->column, i = j + 1 + task, rows = cholesky_size(m, i);
    float *tile = cholesky_tile(m, i, j);
    float *out = m->fresh + thread * CHOLESKY_AREA;
    memset(out, 0, CHOLESKY_AREA * sizeof *out);
    for (size_t p = 0; p < CHOLESKY_PANELS; p++)
        for (size_t q = 0; q <= p; q++)
            m->dense->gemm_32(
                rows, KLR_PANEL, tile + q * CHOLESKY_STRIP, KLR_PANEL,
                m->panel + p * CHOLESKY_STRIP + q * KLR_PANEL * KLR_PANEL,
                out + p * CHOLESKY_STRIP);
    for (size_t r = 0; r < KLR_TILE; r++)
        for (size_t p = 0; p < CHOLESKY_PANELS; p++)
            memcpy(tile + r * KLR_TILE + p * KLR_PANEL,
                   out + p * CHOLESKY_STRIP + r * KLR_PANEL,
                   KLR_PANEL * sizeof *tile);
}

/* Operations on the first columns of a matrix. */
static double column_flops(const struct cholesky *m, size_t columns)
{
    double n = (double)m->n, first = (double)columns;
    return first * first * (n - 2 * first / 3);
}

static bool cholesky_factor(struct cholesky *m, const double *s, size_t j)
{
    size_t position[KLR_TILE], size = cholesky_size(m, j), at = j * KLR_TILE;
    struct klr_set below = set_after(m->matrix.set, at, m->range);
    m->s = s;
    m->column = j;
    for (size_t c = 0; c < size; c++)
        position[c] = set_position(m->matrix.set, at + c);
    if (!operator_rows(m->matrix.op, position, size, below, KLR_DOUBLE, m->row,
                       m->n) ||
        !klr_pool_run(m->pool, j, column_task, m) ||
        !klr_pool_run(m->pool, m->blocks - j, update_task, m))
        return false;
    m->flops += column_flops(m, at + size) - column_flops(m, at);
    if (!cholesky_diagonal(m))
        return false;
    return klr_pool_run(m->pool, m->blocks - j - 1, divide_task, m);
}

/* ---- solving ---- */

/* The rows of a block; behind the last one what of a block others take. */
static float *cholesky_vector(const struct cholesky *m, size_t block)
{
    return m->vector + block * CHOLESKY_SLAB;
}

/* to += T from, or T' from. */
static void cholesky_apply(const struct cholesky *m, size_t i, size_t j,
                           bool transposed, const float *from, float *to)
{
    size_t h = cholesky_size(m, i), w = cholesky_size(m, j);
    m->dense->gemm_16(transposed ? w : h, transposed ? h : w,
                      cholesky_tile(m, i, j), KLR_TILE, transposed, from, to);
}

/* The vectors of block m->column by its factor, and their negatives, which the
 * other blocks take. */
static void cholesky_divide(const struct cholesky *m, bool transposed)
{
    float *x = cholesky_vector(m, m->column);
    float *taken = cholesky_vector(m, m->blocks);
    memcpy(taken, x, CHOLESKY_SLAB * sizeof *x);
    memset(x, 0, CHOLESKY_SLAB * sizeof *x);
    cholesky_apply(m, m->column, m->column, transposed, taken, x);
    for (size_t i = 0; i < CHOLESKY_SLAB; i++)
        taken[i] = -x[i];
}

/* Subtract the part of block m->column from the vectors of later blocks, */
static void forward_task(void *context, size_t task, size_t thread)
{
    const struct cholesky *m = context;
    size_t i = m->column + 1 + task;
    (void)thread;
    cholesky_apply(m, i, m->column, false, cholesky_vector(m, m->blocks),
                   cholesky_vector(m, i));
}

/* and, transposed, from those of earlier ones. */
static void backward_task(void *context, size_t task, size_t thread)
{
    const struct cholesky *m = context;
    (void)thread;
    cholesky_apply(m, m->column, task, true, cholesky_vector(m, m->blocks),
                   cholesky_vector(m, task));
}

/* A power of 2 near the largest element: floats have no room for all. */
static double vector_scale(size_t n, const double *x)
{
    double largest = 0;
    int exponent = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(x[i]));
    frexp(largest, &exponent);
    return ldexp(1, exponent);
}

static void cholesky_solve(struct cholesky *m, size_t count, double *const *x)
{
    double scale[CHOLESKY_VECTORS];
    memset(m->vector, 0, m->blocks * CHOLESKY_SLAB * sizeof *m->vector);
    for (size_t c = 0; c < count; c++) {
        scale[c] = vector_scale(m->n, x[c]);
        for (size_t i = 0; i < m->n; i++)
            m->vector[i * CHOLESKY_VECTORS + c] = (float)(x[c][i] / scale[c]);
    }
    for (size_t j = 0; j < m->blocks; j++) {
        m->column = j;
        cholesky_divide(m, false);
        klr_pool_run(m->pool, m->blocks - j - 1, forward_task, m);
    }
    for (size_t j = m->blocks; j-- > 0;) {
        m->column = j;
        cholesky_divide(m, true);
        klr_pool_run(m->pool, j, backward_task, m);
    }
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < m->n; i++)
            x[c][i] = scale[c] * (double)m->vector[i * CHOLESKY_VECTORS + c];
    m->flops += 2.0 * (double)count * (double)m->n * (double)m->n;
}
