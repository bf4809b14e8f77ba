/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entries of K as they are: rows, as many together as are asked for, blocks of
 * them within a task, and the diagonal.
 */
#include "solver/gram/gram.h"

/* Rows to be put together, at most KLR_STRIP of them. */
struct row_group {
    struct klr_operator *op;
    const size_t *i;
    size_t count;
    struct klr_set cols;
    enum klr_precision precision;
    void *const *out;
    size_t blocks; /* of columns, for a task */
};

/* The positions of some blocks of columns, and their offset in the set. */
static struct klr_set rows_columns(const struct row_group *r, size_t task,
                                   size_t thread, size_t *offset)
{
    const struct gram_tiles *tiles = &r->op->tiles;
    size_t first = task * r->blocks, end = first + r->blocks;
    struct block_iterator cut = {.set = r->cols, .block = first};
    for (size_t b = first; b < end && b < tiles->blocks; b++) {
        const struct block_slice *piece = &r->op->col[b];
        if (piece->size && !cut.piece)
            cut.piece = piece;
        cut.count += piece->size;
    }
    if (!cut.piece)
        return (struct klr_set){0};
    *offset = cut.piece->offset;
    return block_ranges(cut, tiles->work[thread].cols);
}

/* Before any task begins, so that no count depends on threads. */
static void rows_ask(const struct row_group *r)
{
    struct gram_tiles *tiles = &r->op->tiles;
    for (size_t q = 0; q < r->count; q++) {
        size_t own = r->i[q] / KLR_TILE;
        for (size_t block = 0; block < tiles->blocks; block++)
            if (r->op->col[block].size)
                tiles_ask_row(tiles, r->precision, own > block ? own : block,
                              own > block ? block : own);
    }
}

/* Copy a row's part in a block of columns from a tile that is kept. An operator
 * of whole tiles fills the tile for that; others where many of its rows were
 * asked for. Doubles are never copied from whole tiles, since few rows of
 * doubles are asked for: counts of entries must not depend on what another
 * problem has filled. */
static bool row_copy(const struct row_group *r, size_t i, size_t block,
                     size_t thread, struct klr_set set, char *to)
{
    struct gram_tiles *tiles = &r->op->tiles;
    size_t own = i / KLR_TILE;
    if (!tiles->kept[r->precision].stored ||
        (r->op->fill_whole_tiles && r->precision == KLR_DOUBLE))
        return false;
    size_t high = own > block ? own : block, low = own > block ? block : own;
    if (r->op->fill_whole_tiles ||
        tiles_rows_are_due(tiles, r->precision, high, low))
        tiles_fill(tiles, r->precision, high, low, thread);
    return tiles_copy_row(tiles, r->precision, i, block, set, to);
}

/* Blocks of columns of all the rows: copied, or computed together. */
static void rows_task(void *context, size_t task, size_t thread)
{
    const struct row_group *r = context;
    struct gram_tiles *tiles = &r->op->tiles;
    struct tile_work *work = &tiles->work[thread];
    size_t element = klr_precision_bytes(r->precision);
    size_t missing[KLR_STRIP], left = 0, offset = 0;
    void *to[KLR_STRIP];
    struct klr_set set = rows_columns(r, task, thread, &offset);
    for (size_t q = 0; q < r->count && set.size; q++) {
        char *row = (char *)r->out[q] + offset * element;
        if (row_copy(r, r->i[q], task, thread, set, row))
            continue;
        missing[left] = r->i[q];
        to[left++] = row;
    }
    klr_gram_rows_to(tiles->points, missing, left, tiles->points, set,
                     r->precision, to, work->gram);
    work->evaluations += left * set.size;
}

static bool operator_rows_to(struct klr_operator *op, const size_t *i,
                             size_t count, struct klr_set cols,
                             enum klr_precision precision, void *const *out)
{
    struct row_group r = {.op = op, .cols = cols, .precision = precision};
    bool whole = true;
    tiles_divide(&op->tiles, cols, op->col);
    for (size_t first = 0; first < count && whole; first += r.count) {
        r.i = i + first;
        r.out = out + first;
        r.count = count - first < KLR_STRIP ? count - first : KLR_STRIP;
        r.blocks = KLR_STRIP / r.count;
        if (op->tiles.kept[precision].stored)
            r.blocks = 1;
        else if (r.blocks > KLR_SPAN)
            r.blocks = KLR_SPAN;
        if (op->tiles.rows_patience > 0)
            rows_ask(&r);
        whole =
            klr_pool_run(op->pool, (op->tiles.blocks + r.blocks - 1) / r.blocks,
                         rows_task, &r);
    }
    operator_count(op, count, cols.size);
    return whole;
}

static bool operator_rows(struct klr_operator *op, const size_t *i,
                          size_t count, struct klr_set cols,
                          enum klr_precision precision, void *out,
                          size_t stride)
{
    size_t element = klr_precision_bytes(precision);
    void *row[KLR_STRIP];
    bool whole = true;
    for (size_t first = 0, now; first < count && whole; first += now) {
        now = count - first < KLR_STRIP ? count - first : KLR_STRIP;
        for (size_t q = 0; q < now; q++)
            row[q] = (char *)out + (first + q) * stride * element;
        whole = operator_rows_to(op, i + first, now, cols, precision, row);
    }
    return whole;
}

static bool operator_row(struct klr_operator *op, struct klr_set set, size_t i,
                         double *out)
{
    size_t position = set_position(set, i);
    return operator_rows(op, &position, 1, set, KLR_DOUBLE, out, set.size);
}

static void operator_block(struct klr_operator *op, size_t thread,
                           const size_t *i, size_t count, struct klr_set cols,
                           enum klr_precision precision, void *out,
                           size_t stride)
{
    struct tile_work *work = &op->tiles.work[thread];
    klr_gram_rows(op->points, i, count, op->points, cols, precision, out,
                  stride, work->gram);
    work->evaluations += count * cols.size;
}

static void operator_block_of(struct klr_operator *op, size_t thread,
                              const struct klr_points *left,
                              struct klr_range rows, struct klr_set cols,
                              enum klr_precision precision, void *out,
                              size_t stride)
{
    struct tile_work *work = &op->tiles.work[thread];
    klr_gram(left, rows, op->points, cols, precision, out, stride, work->gram);
    work->evaluations += (rows.end - rows.begin) * cols.size;
}

static void operator_diagonal(const struct klr_operator *op, struct klr_set set,
                              double *out)
{
    klr_gram_diagonal(op->points, set, out, op->tiles.work->gram);
}
