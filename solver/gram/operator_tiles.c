/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products of K with vectors, tile by tile.
 *
 * Where rows and columns are the same set, each tile below the diagonal serves
 * twice, T v_J into out_I and T' v_I into out_J. Of the b blocks that the set
 * meets, the tiles (I, J), I >= J, are taken in waves (I + J) mod b = 0, 1, ..:
 * a block takes part once in each, so that its contributions can come in the
 * order of the waves whoever computes them, and there is no waiting but for the
 * two blocks of a tile. Elsewhere a thread has rows of the result to itself.
 * Either way sums run in an order that the sets alone determine.
 */
#include "solver/gram/operator_parts.h"

/* Compute a whole tile, to keep it, if at least an eighth of it is used, and so
 * many products have computed it that keeping it pays: as a rule other products
 * follow, those of other folds among them. If the caller wants whole tiles, all
 * of each will be used in the end, and it does not matter who meets it first.
 */
static void product_fill(const struct product *p, size_t i, size_t j,
                         size_t used, size_t thread)
{
    struct gram_tiles *tiles = &p->op->tiles;
    if (p->op->fill_whole_tiles ||
        (used >= tiles_size(tiles, i, j) / 8 &&
         (p->at_once || tiles_are_due(tiles, p->precision, i, j))))
        tiles_fill(tiles, p->precision, i, j, thread);
}

/* Rows of a strip. A whole tile of 16-bit entries stays in the nearer
 * caches. */
static size_t strip_height(enum klr_precision precision)
{
    return precision == KLR_FIXED16 ? KLR_TILE : KLR_STRIP;
}

/* ---- products with rows = columns ---- */

/* The tile (i, j) in place `index` of the blocks that are in use. A wave has
 * places for i + j = wave and for i + j = wave + b. False if the place is
 * empty. */
static bool product_place(size_t b, size_t index, size_t *wave, size_t *i,
                          size_t *j)
{
    size_t place = index % (b / 2 + 1), w = *wave = index / (b / 2 + 1);
    if (place <= w / 2) {
        *j = place;
        *i = w - place;
        return true;
    }
    place -= w / 2 + 1;
    *j = w + 1 + place;
    *i = b - 1 - place;
    return *i >= *j && *i < b;
}

/* Earlier tiles are in other threads' hands. False where the run ends. */
static bool product_wait(struct product *p, atomic_size_t *turn, size_t wave,
                         size_t thread)
{
    for (unsigned spin = 1;
         atomic_load_explicit(turn, memory_order_acquire) != wave; spin++) {
        if (klr_pool_asks(p->op->pool, thread))
            return false;
        if (spin % 1024 == 0)
            sched_yield();
    }
    return true;
}

static void symmetric_task(void *context, size_t index, size_t thread)
{
    struct product *p = context;
    struct klr_operator *op = p->op;
    size_t wave, a, b;
    if (!product_place(p->met, index, &wave, &a, &b))
        return;
    size_t i = op->active_blocks[a], j = op->active_blocks[b];
    const struct block_slice *row = &op->row[i], *col = &op->row[j];
    const double *right = p->v + col->offset * p->m;
    double *below = p->out + col->offset * p->m;
    product_fill(p, i, j, row->size * col->size, thread);
    if (!product_wait(p, &op->turn[i], wave, thread) ||
        !product_wait(p, &op->turn[j], wave, thread))
        return;
    struct block_iterator rows = block_start(p->rows, i, row);
    while (block_next(&rows, p->height)) {
        size_t at = (row->offset + rows.first) * p->m;
        struct block_iterator cols = block_start(p->rows, j, col);
        while (block_next(&cols, KLR_TILE)) {
            size_t skip = cols.first * p->m;
            struct strip strip =
                tiles_strip(&op->tiles, thread, NULL, rows, cols, p->precision);
            strip_multiply(&op->tiles, thread, &strip, p->m, right + skip,
                           p->out + at, i > j ? p->v + at : NULL, below + skip);
        }
    }
    /* once each: a second store could undo one of the next wave */
    atomic_store_explicit(&op->turn[i], wave + 1, memory_order_release);
    if (i != j)
        atomic_store_explicit(&op->turn[j], wave + 1, memory_order_release);
}

static bool product_symmetric(struct product *p)
{
    struct klr_operator *op = p->op;
    p->met = 0;
    for (size_t block = 0; block < op->tiles.blocks; block++) {
        atomic_init(&op->turn[block], 0);
        if (op->row[block].size)
            op->active_blocks[p->met++] = block;
    }
    p->height = strip_height(p->precision);
    return klr_pool_run(op->pool, p->met * (p->met / 2 + 1), symmetric_task, p);
}

/* ---- other products ---- */

/* Fill tiles before any task multiplies, since several tasks may read one.
 * Those with the longest rows come first, so that threads end together. */
static void fill_task(void *context, size_t index, size_t thread)
{
    const struct product *p = context;
    const struct klr_operator *op = p->op;
    size_t i = op->tiles.blocks - 1 - index;
    for (size_t j = 0; j <= i && !klr_pool_asks(op->pool, thread); j++) {
        size_t below = op->row[i].size * op->col[j].size;
        size_t above = op->row[j].size * op->col[i].size;
        product_fill(p, i, j, below > above ? below : above, thread);
    }
}

static bool product_fill_all(struct product *p)
{
    return klr_pool_run(p->op->pool, p->op->tiles.blocks, fill_task, p);
}

/* out (rows of the cut) += K[rows, block j] v: the tile as it is. */
static void rows_below(const struct product *p, size_t thread,
                       struct block_iterator rows, size_t j)
{
    struct gram_tiles *tiles = &p->op->tiles;
    const struct block_slice *col = &p->op->col[j];
    struct block_iterator cols = {p->cols, j, col, 0, col->size};
    struct strip strip =
        tiles_strip(tiles, thread, p->left, rows, cols, p->precision);
    strip_multiply(tiles, thread, &strip, p->m, p->v + col->offset * p->m,
                   p->out + (rows.piece->offset + rows.first) * p->m, NULL,
                   NULL);
}

/* Products with a tile whose transpose alone is among the tiles. */
static void rows_above(const struct product *p, size_t thread,
                       struct block_iterator rows, size_t j)
{
    struct gram_tiles *tiles = &p->op->tiles;
    const struct block_slice *col = &p->op->col[j];
    size_t height = strip_height(p->precision);
    for (size_t r = 0, h; r < col->size; r += h) {
        h = col->size - r < height ? col->size - r : height;
        struct block_iterator cols = {p->cols, j, col, r, h};
        struct strip strip =
            tiles_strip(tiles, thread, NULL, cols, rows, p->precision);
        strip_multiply(tiles, thread, &strip, p->m, NULL, NULL,
                       p->v + (col->offset + r) * p->m,
                       p->out + (rows.piece->offset + rows.first) * p->m);
    }
}

/* A strip of rows against all columns, block by block. */
static void general_task(void *context, size_t index, size_t thread)
{
    const struct product *p = context;
    const struct klr_operator *op = p->op;
    size_t i = index / p->strips, first = index % p->strips * p->height;
    const struct block_slice *row = &op->row[i];
    if (first >= row->size)
        return;
    size_t left = row->size - first;
    struct block_iterator rows = {p->rows, i, row, first,
                                  left < p->height ? left : p->height};
    for (size_t j = 0; j < op->tiles.blocks && !klr_pool_asks(op->pool, thread);
         j++)
        if (op->col[j].size && (p->left || i >= j))
            rows_below(p, thread, rows, j);
        else if (op->col[j].size)
            rows_above(p, thread, rows, j);
}

/* Strips of rows as high as leaves work for all threads: rows are independent,
 * their number has no influence on the result. */
static bool product_general(struct product *p, size_t blocks)
{
    struct klr_operator *op = p->op;
    size_t threads = klr_pool_size(op->pool);
    if (!p->left && op->tiles.kept[p->precision].stored && !product_fill_all(p))
        return false;
    p->height = strip_height(p->precision);
    while (threads > 1 && p->height > 8 &&
           p->rows.size / p->height < 4 * threads)
        p->height /= 2;
    p->strips = (KLR_TILE + p->height - 1) / p->height;
    return klr_pool_run(op->pool, blocks * p->strips, general_task, p);
}
