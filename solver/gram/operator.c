/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Gram matrix as solvers see it: products with vectors, rows, the diagonal.
 *
 * Where rows and columns are the same set, each tile below the diagonal serves
 * twice, T v_J into out_I and T' v_I into out_J. Of the b blocks that the set
 * meets, the tiles (I, J), I >= J, are taken in waves (I + J) mod b = 0, 1, ..:
 * a block takes part once in each, so that its contributions can come in the
 * order of the waves whoever computes them, and there is no waiting but for the
 * two blocks of a tile. Elsewhere a thread has rows of the result to itself.
 * Either way sums run in an order that the sets alone determine.
 *
 * The linear kernel takes K V = X (X'V), unless to read X twice takes more than
 * to read half of K; sums over examples are divided into a fixed number of
 * groups.
 */
#include "solver/gram/gram.h"

enum { GROUPS_MOST = 16, GROUPS_BYTES = 8 << 20 };

/* ---- making ready ---- */

/* X (X'V) reads X twice, a product reads n^2 / 2 floats or computes them. */
static size_t choose_groups(const struct klr_operator *op)
{
    if (op->kernel.type != KLR_LINEAR ||
        4.0 * (double)klr_points_stored(op->points) >
            (double)op->n * (double)op->n)
        return 0;
    size_t bytes =
        klr_points_width(op->points) * KLR_SLICE * sizeof(double) + 1;
    size_t groups = GROUPS_BYTES / bytes + 1;
    return groups < GROUPS_MOST ? groups : GROUPS_MOST;
}

/* Allocate what an operator does not share, its threads' workspaces aside. */
static int operator_allocate(struct klr_operator *op, struct klr_error *err)
{
    size_t blocks = op->tiles.blocks;
    if (!(op->row = klr_alloc(blocks, sizeof *op->row, err)) ||
        !(op->col = klr_alloc(blocks, sizeof *op->col, err)) ||
        !(op->active_blocks =
              klr_alloc(blocks, sizeof *op->active_blocks, err)) ||
        !(op->turn = klr_alloc(blocks, sizeof *op->turn, err)) ||
        (op->groups &&
         !(op->partial = klr_alloc(op->groups * klr_points_width(op->points),
                                   KLR_SLICE * sizeof *op->partial, err))))
        return KLR_E_MEMORY;
    return 0;
}

static int operator_settle(struct klr_operator *op, size_t budget,
                           struct klr_error *err)
{
    op->groups = choose_groups(op);
    int code = tiles_create(&op->tiles, op->points, klr_pool_size(op->pool),
                            op->groups ? 0 : budget, err);
    op->tiles.symmetric = op->kernel.type != KLR_PRECOMPUTED;
    return code ? code : operator_allocate(op, err);
}

static int operator_create(struct klr_operator *op,
                           const struct klr_kernel *kernel,
                           const struct klr_features *x, const size_t *order,
                           struct klr_pool *pool, size_t budget,
                           struct klr_error *err)
{
    *op = (struct klr_operator){.kernel = *kernel, .n = x->n, .pool = pool};
    int code = klr_points_create(&op->points, kernel, x, order, pool, err);
    if (!code)
        code = operator_settle(op, budget, err);
    if (code)
        operator_free(op);
    return code;
}

static int operator_create_lean(struct klr_operator *op,
                                const struct klr_kernel *kernel,
                                const struct klr_features *x,
                                const size_t *order, struct klr_pool *pool,
                                size_t budget, struct klr_error *err)
{
    *op = (struct klr_operator){.kernel = *kernel, .n = x->n, .pool = pool};
    int code = klr_points_create_lean(&op->points, kernel, x, order, pool, err);
    if (!code)
        code = operator_settle(op, budget, err);
    if (code)
        operator_free(op);
    return code;
}

static int operator_share(struct klr_operator *share,
                          const struct klr_operator *op, struct klr_error *err)
{
    *share = (struct klr_operator){.shares = true,
                                   .kernel = op->kernel,
                                   .points = op->points,
                                   .n = op->n,
                                   .groups = op->groups,
                                   .fixed16 = op->fixed16,
                                   .fill_whole_tiles = op->fill_whole_tiles};
    int code = klr_pool_create(&share->pool, 1, err);
    if (!code)
        code = tiles_share(&share->tiles, &op->tiles, err);
    return code ? code : operator_allocate(share, err);
}

static int operator_prefer_fixed16(struct klr_operator *op, size_t budget,
                                   struct klr_error *err)
{
    op->fixed16 = true;
    return tiles_keep(&op->tiles, KLR_FIXED16, budget, err);
}

static void operator_keep(struct klr_operator *op, enum klr_precision precision,
                          size_t budget)
{
    tiles_keep_only(&op->tiles, precision, op->groups ? 0 : budget);
}

static void operator_free(struct klr_operator *op)
{
    op->points = op->shares ? NULL : klr_points_free(op->points);
    tiles_free(&op->tiles, op->pool);
    op->pool = op->shares ? klr_pool_free(op->pool) : op->pool;
    op->row = klr_free(op->row);
    op->col = klr_free(op->col);
    op->active_blocks = klr_free(op->active_blocks);
    op->turn = klr_free(op->turn);
    op->partial = klr_free(op->partial);
}

static int operator_refuse(const struct klr_operator *op, const char *instead,
                           struct klr_error *err)
{
    if (op->kernel.type == KLR_PRECOMPUTED)
        return klr_fail(err, KLR_E_DATA,
                        "the kernel matrix is not positive semidefinite to "
                        "rounding: use %s",
                        instead);
    return klr_fail(err, KLR_E_DATA,
                    "rounding errors of the kernel matrix are too large: scale "
                    "the features%s",
                    op->kernel.type == KLR_POLYNOMIAL
                        ? ", or choose a smaller -g or -r"
                        : "");
}

/* Add up the evaluations that threads have counted, and the entries multiplied
 * or produced. */
static void operator_count(struct klr_operator *op, size_t rows, size_t cols)
{
    double n = (double)op->n;
    for (size_t t = 0; t < op->tiles.threads; t++) {
        op->evaluations += op->tiles.work[t].evaluations;
        op->tiles.work[t].evaluations = 0;
    }
    if (n > 0)
        op->passes += (double)rows / n * ((double)cols / n);
}

/* ---- products ---- */

struct product {
    struct klr_operator *op;
    const struct klr_points *left; /* NULL: the operator's own */
    struct klr_set rows, cols;
    size_t met, strips, height; /* blocks met; strips of a block, their rows */
    const double *v;
    size_t m;
    enum klr_precision precision;
    bool at_once; /* tiles are kept before they have been computed often */
    double *out;
};

/* A tile is computed whole, to be kept, where at least an eighth of it is used,
 * and so many products have computed it that keeping it pays: as a rule, more
 * will come, and of other folds. Where all of it will be used by and by, it
 * does not matter who meets it first. */
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

/* The tile at `index`, of the blocks met: its wave has places for I + J = wave
 * and for I + J = wave + b. False: the place is empty. */
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

/* Fill tiles first, since several tasks may read one; the longest rows of them
 * before the others, so that threads end together. */
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
    if (!p->left && op->tiles.kept[p->precision].stored &&
        !klr_pool_run(op->pool, op->tiles.blocks, fill_task, p))
        return false;
    p->height = strip_height(p->precision);
    while (threads > 1 && p->height > 8 &&
           p->rows.size / p->height < 4 * threads)
        p->height /= 2;
    p->strips = (KLR_TILE + p->height - 1) / p->height;
    return klr_pool_run(op->pool, blocks * p->strips, general_task, p);
}

/* ---- products of the linear kernel ---- */

struct linear {
    struct klr_operator *op;
    const struct klr_points *left;
    const struct block_slice *piece; /* of the tasks */
    struct klr_set set;
    const double *v;
    double *out;
    size_t m, pitch;
};

/* partial (group) = X' V over blocks of columns. */
static void multiply_task(void *context, size_t group, size_t thread)
{
    const struct linear *l = context;
    const struct klr_operator *op = l->op;
    size_t size = klr_points_width(op->points) * l->m;
    size_t blocks = op->tiles.blocks;
    double *z = op->partial + group * size;
    memset(z, 0, size * sizeof *z);
    for (size_t b = blocks * group / op->groups;
         b < blocks * (group + 1) / op->groups; b++) {
        struct block_iterator all = {l->set, b, &l->piece[b], 0,
                                     l->piece[b].size};
        struct klr_set set = block_ranges(all, op->tiles.work[thread].cols);
        const double *v = l->v + l->piece[b].offset * l->pitch;
        for (size_t q = 0; q < set.count; q++) {
            klr_points_multiply(op->points, set.range[q], v, l->pitch, l->m, z);
            v += (set.range[q].end - set.range[q].begin) * l->pitch;
        }
    }
}

/* out = X z over a block of rows. */
static void expand_task(void *context, size_t b, size_t thread)
{
    const struct linear *l = context;
    const struct klr_operator *op = l->op;
    struct block_iterator all = {l->set, b, &l->piece[b], 0, l->piece[b].size};
    struct klr_set set = block_ranges(all, op->tiles.work[thread].rows);
    double *out = l->out + l->piece[b].offset * l->pitch;
    for (size_t q = 0; q < set.count; q++) {
        klr_points_expand(l->left, set.range[q], op->partial, l->m, out,
                          l->pitch);
        out += (set.range[q].end - set.range[q].begin) * l->pitch;
    }
}

/* z = X'V for columns c .. c + m - 1 of V, in the first of the partial sums. */
static bool linear_columns(struct linear *l, const struct product *p, size_t c)
{
    struct klr_operator *op = l->op;
    size_t size = klr_points_width(op->points) * l->m;
    l->set = p->cols;
    l->piece = op->col;
    l->v = p->v + c;
    if (!klr_pool_run(op->pool, op->groups, multiply_task, l))
        return false;
    for (size_t g = 1; g < op->groups; g++)
        for (size_t t = 0; t < size; t++)
            op->partial[t] += op->partial[g * size + t];
    return true;
}

static bool product_linear(const struct product *p, size_t blocks)
{
    struct linear l = {
        .op = p->op, .left = p->left ? p->left : p->op->points, .pitch = p->m};
    for (size_t c = 0; c < p->m; c += l.m) {
        l.m = p->m - c < KLR_SLICE ? p->m - c : KLR_SLICE;
        if (!linear_columns(&l, p, c))
            return false;
        l.set = p->rows;
        l.piece = p->op->row;
        l.out = p->out + c;
        if (!klr_pool_run(p->op->pool, blocks, expand_task, &l))
            return false;
    }
    return true;
}

/* ---- all of them ---- */

static bool sets_equal(struct klr_set a, struct klr_set b)
{
    if (a.count != b.count || a.size != b.size)
        return false;
    for (size_t q = 0; q < a.count; q++)
        if (a.range[q].begin != b.range[q].begin ||
            a.range[q].end != b.range[q].end)
            return false;
    return true;
}

static bool product_form(struct product *p)
{
    struct klr_operator *op = p->op;
    bool whole;
    memset(p->out, 0, p->rows.size * p->m * sizeof *p->out);
    tiles_divide(&op->tiles, p->rows, op->row);
    tiles_divide(&op->tiles, p->cols, op->col);
    if (op->groups)
        whole = product_linear(p, op->tiles.blocks);
    else if (sets_equal(p->rows, p->cols))
        whole = product_symmetric(p);
    else
        whole = product_general(p, op->tiles.blocks);
    operator_count(op, p->rows.size, p->cols.size);
    return whole;
}

static bool operator_apply(struct klr_operator *op, struct klr_set rows,
                           struct klr_set cols, const double *v, size_t m,
                           enum klr_precision precision, double *out)
{
    struct product p = {
        .op = op,
        .rows = rows,
        .cols = cols,
        .v = v,
        .m = m,
        .precision = precision,
        .out = out,
    };
    return product_form(&p);
}

static bool operator_fill(struct klr_operator *op, struct klr_set set,
                          enum klr_precision precision)
{
    struct product p = {.op = op,
                        .rows = set,
                        .cols = set,
                        .precision = precision,
                        .at_once = true};
    tiles_divide(&op->tiles, set, op->row);
    tiles_divide(&op->tiles, set, op->col);
    bool whole = op->groups > 0 ||
                 klr_pool_run(op->pool, op->tiles.blocks, fill_task, &p);
    operator_count(op, 0, 0);
    return whole;
}

/* Other examples come in batches of as many blocks as there are pieces for. */
static void operator_cross(struct klr_operator *op, const struct klr_points *x,
                           struct klr_set cols, const double *v, size_t m,
                           enum klr_precision precision, double *out)
{
    size_t n = klr_points_count(x), blocks = op->tiles.blocks;
    memset(out, 0, n * m * sizeof *out);
    tiles_divide(&op->tiles, cols, op->col);
    for (size_t first = 0, count; blocks && first < n; first += count) {
        count = n - first < blocks * KLR_TILE ? n - first : blocks * KLR_TILE;
        struct klr_range batch = {first, first + count};
        struct product p = {
            .op = op,
            .left = x,
            .rows = set_of(&batch, 1),
            .cols = cols,
            .v = v,
            .m = m,
            .precision = precision,
            .out = out + first * m,
        };
        size_t used = (count + KLR_TILE - 1) / KLR_TILE;
        for (size_t b = 0; b < used; b++) {
            size_t at = b * KLR_TILE, left = count - at;
            op->row[b] = (struct block_slice){left < KLR_TILE ? left : KLR_TILE,
                                              0, first + at, at};
        }
        if (op->groups)
            product_linear(&p, used);
        else
            product_general(&p, used);
    }
    operator_count(op, n, cols.size);
}

/* ---- entries ---- */

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

/* A row's part in a block of columns, from a tile that is kept. Where tiles are
 * computed whole, so is this one, but of doubles, of which few rows are asked
 * for, none is looked at: what is counted depends on no other problem. */
static bool row_copy(const struct row_group *r, size_t i, size_t block,
                     size_t thread, struct klr_set set, char *to)
{
    struct gram_tiles *tiles = &r->op->tiles;
    size_t own = i / KLR_TILE;
    if (!tiles->kept[r->precision].stored ||
        (r->op->fill_whole_tiles && r->precision == KLR_DOUBLE))
        return false;
    if (r->op->fill_whole_tiles)
        tiles_fill(tiles, r->precision, own > block ? own : block,
                   own > block ? block : own, thread);
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
    char *to[KLR_STRIP], *from = work->strip;
    struct klr_set set = rows_columns(r, task, thread, &offset);
    for (size_t q = 0; q < r->count && set.size; q++) {
        char *row = (char *)r->out[q] + offset * element;
        if (row_copy(r, r->i[q], task, thread, set, row))
            continue;
        missing[left] = r->i[q];
        to[left++] = row;
    }
    klr_gram_rows(tiles->points, missing, left, tiles->points, set,
                  r->precision, from, set.size, work->gram);
    for (size_t q = 0; q < left; q++, from += set.size * element)
        memcpy(to[q], from, set.size * element);
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
