/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Gram matrix in tiles: positions are divided into blocks of KLR_TILE, and
 * of the lower triangle of tiles the first ones, row by row, are kept while the
 * budget lasts: of floats, and of doubles where all of those fit; where 16-bit
 * entries were asked for, of these, and of others where all of them fit. Work
 * goes by strips of a tile's rows, which point into a tile that is kept, or are
 * gathered from it where a set has many short ranges, or are computed. All
 * three give the same entries, and what is done with a strip does not depend on
 * which it was: so neither the budget nor what has been computed before changes
 * a result.
 *
 * A tile is filled by one thread before others read it. Several operators may
 * share tiles: what is filled by one is there for all.
 */
#include "solver/gram/gram.h"

enum { TILE_AREA = KLR_TILE * KLR_TILE };
enum fill { FILL_NONE, FILL_BEGUN, FILL_DONE };

/* ---- tiles kept ---- */

static bool tile_work_create(struct tile_work *work,
                             const struct klr_points *points,
                             struct klr_error *err)
{
    return (work->gram = klr_zalloc(1, klr_gram_workspace(points), err)) &&
           (work->strip =
                klr_alloc(KLR_STRIP * KLR_TILE, sizeof(double), err)) &&
           (work->across =
                klr_alloc(KLR_STRIP * KLR_TILE, sizeof(double), err)) &&
           (work->side = klr_alloc((size_t)4 * KLR_SLICE * KLR_TILE,
                                   sizeof(double), err)) &&
           (work->rows = klr_alloc(KLR_TILE, sizeof *work->rows, err)) &&
           (work->cols = klr_alloc((size_t)KLR_SPAN * KLR_TILE,
                                   sizeof *work->cols, err));
}

static size_t store_bytes(const struct tile_store *kept,
                          enum klr_precision precision)
{
    return kept->stored * TILE_AREA * klr_precision_bytes(precision);
}

/* Allocate as many of `all` tiles as the budget has room for, and take them off
 * the budget. A tile becomes resident when it is filled; with `at_once` it is
 * filled when it is first asked for. */
static bool store_create(struct tile_store *kept, enum klr_precision precision,
                         size_t all, bool at_once, size_t *budget,
                         struct klr_error *err)
{
    const size_t bytes = TILE_AREA * klr_precision_bytes(precision);
    size_t room = *budget / bytes;
    kept->stored = room < all ? room : all;
    *budget -= kept->stored * bytes;
    if (!kept->stored)
        return true;
    if (!(kept->tile = klr_alloc(kept->stored, bytes, err)))
        return false;
    klr_expect(kept->tile, store_bytes(kept, precision), at_once);
    return (kept->slot = klr_alloc(kept->stored, sizeof *kept->slot, err)) &&
           (kept->state = klr_zalloc(kept->stored, sizeof *kept->state, err)) &&
           (kept->asked = klr_zalloc(kept->stored, sizeof *kept->asked, err));
}

static void store_forget(struct tile_store *kept, enum klr_precision precision,
                         struct klr_pool *pool)
{
    klr_pool_release(pool, kept->tile, store_bytes(kept, precision));
    klr_free(kept->slot);
    klr_free(kept->state);
    klr_free(kept->asked);
    *kept = (struct tile_store){0};
}

static void tiles_forget(struct gram_tiles *tiles, struct klr_pool *pool)
{
    for (int p = KLR_FIXED16; p <= KLR_DOUBLE; p++)
        store_forget(&tiles->kept[p], (enum klr_precision)p, pool);
}

/* True if tiles are filled one after the other as soon as they are asked for.
 */
static bool tiles_expect(const struct gram_tiles *tiles,
                         enum klr_precision precision)
{
    unsigned patience = tiles->patience[precision];
    return patience == 0 || patience == TILES_MEASURED;
}

static int tiles_keep(struct gram_tiles *tiles, enum klr_precision first,
                      size_t budget, struct klr_error *err)
{
    size_t all = tiles->blocks * (tiles->blocks + 1) / 2;
    tiles_forget(tiles, NULL);
    for (int p = (int)first; p <= KLR_DOUBLE; p++) {
        enum klr_precision precision = (enum klr_precision)p;
        size_t bytes = all * TILE_AREA * klr_precision_bytes(precision);
        /* beside 16-bit entries, floats are for a look or two */
        if (first == KLR_FIXED16 && p > KLR_FIXED16 && budget < bytes)
            break;
        if (!store_create(&tiles->kept[p], precision, all,
                          tiles_expect(tiles, precision), &budget, err))
            return KLR_E_MEMORY;
    }
    return 0;
}

static void tiles_keep_only(struct gram_tiles *tiles,
                            enum klr_precision precision, size_t budget)
{
    size_t all = tiles->blocks * (tiles->blocks + 1) / 2;
    for (int p = KLR_FIXED16; p <= KLR_DOUBLE; p++) {
        struct tile_store *kept = &tiles->kept[p];
        size_t bytes = TILE_AREA * klr_precision_bytes((enum klr_precision)p);
        size_t left = p == (int)precision ? budget : 0, room = left / bytes;
        if (kept->stored == (room < all ? room : all))
            continue;
        store_forget(kept, (enum klr_precision)p, NULL);
        if (!store_create(kept, (enum klr_precision)p, all,
                          tiles_expect(tiles, (enum klr_precision)p), &left,
                          NULL))
            store_forget(kept, (enum klr_precision)p, NULL);
    }
}

static int tiles_work_create(struct gram_tiles *tiles, size_t threads,
                             struct klr_error *err)
{
    tiles->threads = threads;
    tiles->work = klr_zalloc(threads, sizeof *tiles->work, err);
    if (!tiles->work)
        return KLR_E_MEMORY;
    for (size_t t = 0; t < threads; t++)
        if (!tile_work_create(&tiles->work[t], tiles->points, err))
            return KLR_E_MEMORY;
    return 0;
}

/* Neither the cost of new memory nor the number of products to come is known.
 * So a tile is kept once computing it has cost as much as its memory, which
 * costs at most twice the best choice. Floats serve five products at least, as
 * a rule: where these cost more than the memory, a tile is kept at once.
 * Doubles may be asked for once only. Tiles are for rows where an entry costs
 * more than new memory: a row that lies across a tile is copied from there
 * element by element. Fixed16 is for so many examples that measuring pays. */
static void tiles_set_patience(struct gram_tiles *tiles)
{
    const double least = 5, most = 8, rows_least = 1;
    double price = klr_points_price(tiles->points);
    unsigned patience = price < least ? 0 : (unsigned)fmin(price, most);
    tiles->patience[KLR_FIXED16] = TILES_MEASURED;
    tiles->patience[KLR_FLOAT] = patience;
    tiles->patience[KLR_DOUBLE] = 1 + patience / 2;
    if (price < rows_least)
        tiles->rows_patience = (unsigned)((1 + price) * KLR_TILE);
}

/* Nanoseconds of computing beside which the cost of memory is measured. */
enum { TILES_MEASURE = 2000000 };

/* That rule by what the memory of the last tiles has cost: on a virtual
 * machine that which another program has had costs little, and then comes what
 * is new to the machine. Where it is dear the patience is twice that: what is
 * kept is read back at a third of the cost of computing it, and most trainings
 * end after some ten products. */
static unsigned store_patience(const struct tile_store *kept)
{
    const double least = 5, twice = 2, most = TILES_MEASURED - 1;
    unsigned long long spent = atomic_load(&kept->spent);
    if (spent < TILES_MEASURE)
        return 0;
    double price = (double)atomic_load(&kept->ready) / (double)spent;
    return price < least ? 0 : (unsigned)fmin(twice * price, most);
}

/* A tile has cost that; earlier ones count less and less. */
static void store_measure(struct tile_store *kept, unsigned long long ready,
                          unsigned long long spent)
{
    if (atomic_load(&kept->spent) > 2 * TILES_MEASURE) {
        atomic_fetch_sub(&kept->ready, atomic_load(&kept->ready) / 2);
        atomic_fetch_sub(&kept->spent, atomic_load(&kept->spent) / 2);
    }
    atomic_fetch_add(&kept->ready, ready);
    atomic_fetch_add(&kept->spent, spent);
}

static unsigned tiles_patience(const struct gram_tiles *tiles,
                               enum klr_precision precision)
{
    unsigned patience = tiles->patience[precision];
    return patience == TILES_MEASURED ? store_patience(&tiles->kept[precision])
                                      : patience;
}

static void tiles_keep_at_once(struct gram_tiles *tiles)
{
    memset(tiles->patience, 0, sizeof tiles->patience);
    for (int p = KLR_FIXED16; p <= KLR_DOUBLE; p++)
        klr_expect(tiles->kept[p].tile,
                   store_bytes(&tiles->kept[p], (enum klr_precision)p), true);
}

static int tiles_create(struct gram_tiles *tiles,
                        const struct klr_points *points, size_t threads,
                        size_t budget, struct klr_error *err)
{
    size_t n = klr_points_count(points), blocks = (n + KLR_TILE - 1) / KLR_TILE;
    *tiles = (struct gram_tiles){
        .points = points,
        .n = n,
        .blocks = blocks,
        .multiply = klr_tile_multiplier(),
    };
    tiles_set_patience(tiles);
    int code = tiles_work_create(tiles, threads, err);
    if (code || !(tiles->kept = klr_zalloc(3, sizeof *tiles->kept, err)))
        return KLR_E_MEMORY;
    return tiles_keep(tiles, KLR_FLOAT, budget, err);
}

static int tiles_share(struct gram_tiles *share, const struct gram_tiles *tiles,
                       struct klr_error *err)
{
    *share = *tiles;
    share->shared = true;
    return tiles_work_create(share, 1, err);
}

static double tiles_bytes(const struct gram_tiles *tiles)
{
    double bytes = 0;
    for (int p = KLR_FIXED16; p <= KLR_DOUBLE; p++)
        bytes += (double)tiles->kept[p].stored * TILE_AREA *
                 (double)klr_precision_bytes((enum klr_precision)p);
    return bytes;
}

static void tiles_free(struct gram_tiles *tiles, struct klr_pool *pool)
{
    for (size_t t = 0; tiles->work && t < tiles->threads; t++) {
        klr_free(tiles->work[t].gram);
        klr_free(tiles->work[t].strip);
        klr_free(tiles->work[t].across);
        klr_free(tiles->work[t].side);
        klr_free(tiles->work[t].rows);
        klr_free(tiles->work[t].cols);
    }
    tiles->work = klr_free(tiles->work);
    if (tiles->kept && !tiles->shared) {
        tiles_forget(tiles, pool);
        klr_free(tiles->kept);
    }
    tiles->kept = NULL;
}

static size_t tile_number(size_t i, size_t j)
{
    return i * (i + 1) / 2 + j;
}

static bool tiles_filled(const struct gram_tiles *tiles,
                         enum klr_precision precision, size_t i, size_t j)
{
    const struct tile_store *kept = &tiles->kept[precision];
    size_t number = tile_number(i, j);
    return number < kept->stored &&
           atomic_load_explicit(&kept->state[number], memory_order_acquire) ==
               FILL_DONE;
}

/* Where the tile is, one that is kept. */
static char *tiles_at(const struct gram_tiles *tiles,
                      enum klr_precision precision, size_t i, size_t j)
{
    const struct tile_store *kept = &tiles->kept[precision];
    return kept->tile + kept->slot[tile_number(i, j)] * TILE_AREA *
                            klr_precision_bytes(precision);
}

static struct klr_range block_range(const struct gram_tiles *tiles,
                                    size_t block)
{
    size_t begin = block * KLR_TILE, end = begin + KLR_TILE;
    return (struct klr_range){begin, end < tiles->n ? end : tiles->n};
}

static size_t tiles_size(const struct gram_tiles *tiles, size_t i, size_t j)
{
    struct klr_range rows = block_range(tiles, i), cols = block_range(tiles, j);
    return (rows.end - rows.begin) * (cols.end - cols.begin);
}

/* The positions of rows[at ..], KLR_TILE at most, into row; how many. */
static size_t tiles_rows(struct klr_set rows, size_t at, size_t *row)
{
    size_t count = 0;
    for (size_t q = 0; q < rows.count && count < KLR_TILE; q++) {
        size_t size = rows.range[q].end - rows.range[q].begin;
        for (size_t i = at; i < size && count < KLR_TILE; i++)
            row[count++] = rows.range[q].begin + i;
        at = at > size ? at - size : 0;
    }
    return count;
}

/* K of the rows, KLR_TILE entries apart in `out`. They are computed together
 * wherever they lie. */
static void tiles_gram(const struct gram_tiles *tiles, struct tile_work *work,
                       const struct klr_points *left, struct klr_set rows,
                       struct klr_set cols, enum klr_precision precision,
                       void *out)
{
    size_t row[KLR_TILE], element = klr_precision_bytes(precision);
    work->evaluations += rows.size * cols.size;
    for (size_t i = 0, count; i < rows.size; i += count) {
        char *to = (char *)out + i * KLR_TILE * element;
        count = tiles_rows(rows, i, row);
        klr_gram_rows(left, row, count, tiles->points, cols, precision, to,
                      KLR_TILE, work->gram);
    }
}

static unsigned long long nanoseconds(void)
{
    return (unsigned long long)(1e9 * klr_seconds());
}

/* True if this thread is to fill the tile; false once another has filled it. */
static bool fill_begin(atomic_uchar *state)
{
    unsigned char now = FILL_NONE;
    if (atomic_compare_exchange_strong(state, &now, FILL_BEGUN))
        return true;
    while (atomic_load_explicit(state, memory_order_acquire) != FILL_DONE)
        sched_yield();
    return false;
}

static bool tiles_are_due(struct gram_tiles *tiles,
                          enum klr_precision precision, size_t i, size_t j)
{
    const struct tile_store *kept = &tiles->kept[precision];
    size_t number = tile_number(i, j);
    if (number >= kept->stored || tiles_filled(tiles, precision, i, j))
        return false;
    return atomic_fetch_add_explicit(&kept->asked[number], KLR_TILE,
                                     memory_order_relaxed) >=
           tiles_patience(tiles, precision) * KLR_TILE;
}

static void tiles_ask_row(struct gram_tiles *tiles,
                          enum klr_precision precision, size_t i, size_t j)
{
    const struct tile_store *kept = &tiles->kept[precision];
    size_t number = tile_number(i, j);
    if (number < kept->stored && !tiles_filled(tiles, precision, i, j))
        atomic_fetch_add_explicit(&kept->asked[number], 1,
                                  memory_order_relaxed);
}

static bool tiles_rows_are_due(const struct gram_tiles *tiles,
                               enum klr_precision precision, size_t i, size_t j)
{
    const struct tile_store *kept = &tiles->kept[precision];
    size_t number = tile_number(i, j);
    return tiles->rows_patience > 0 && number < kept->stored &&
           atomic_load_explicit(&kept->asked[number], memory_order_relaxed) >=
               tiles->rows_patience;
}

static void tiles_fill(struct gram_tiles *tiles, enum klr_precision precision,
                       size_t i, size_t j, size_t thread)
{
    struct tile_store *kept = &tiles->kept[precision];
    size_t number = tile_number(i, j);
    if (number >= kept->stored || !fill_begin(&kept->state[number]))
        return;
    struct klr_range rows = block_range(tiles, i), cols = block_range(tiles, j);
    kept->slot[number] = atomic_fetch_add(&kept->filled, 1);
    char *tile = tiles_at(tiles, precision, i, j);
    unsigned long long begin = nanoseconds();
    klr_make_ready(tile, (rows.end - rows.begin) * KLR_TILE *
                             klr_precision_bytes(precision));
    unsigned long long ready = nanoseconds();
    tiles_gram(tiles, &tiles->work[thread], tiles->points, set_of(&rows, 1),
               set_of(&cols, 1), precision, tile);
    store_measure(kept, ready - begin, nanoseconds() - ready);
    atomic_store_explicit(&kept->state[number], FILL_DONE,
                          memory_order_release);
}

/* ---- sets in blocks ---- */

static void tiles_divide(const struct gram_tiles *tiles, struct klr_set set,
                         struct block_slice *piece)
{
    size_t offset = 0;
    memset(piece, 0, tiles->blocks * sizeof *piece);
    for (size_t q = 0; q < set.count; q++) {
        struct klr_range range = set.range[q];
        for (size_t p = range.begin, width; p < range.end; p += width) {
            size_t block = p / KLR_TILE, end = (block + 1) * KLR_TILE;
            width = (end < range.end ? end : range.end) - p;
            if (!piece[block].size)
                piece[block] = (struct block_slice){0, q, p, offset};
            piece[block].size += width;
            offset += width;
        }
    }
}

static struct block_iterator block_start(struct klr_set set, size_t block,
                                         const struct block_slice *piece)
{
    return (struct block_iterator){.set = set, .block = block, .piece = piece};
}

/* How many positions from `at` on lie in one range. If the piece has more than
 * RANGES ranges: all that follow, which are gathered. */
static size_t slice_run(const struct block_slice *piece, struct klr_set set,
                        size_t at)
{
    enum { RANGES = 3 };
    size_t p = piece->begin, end = 0, found = 0;
    for (size_t q = piece->range, count = 0; end < piece->size; q++, count++) {
        if (count == RANGES)
            return piece->size - at;
        end += set.range[q].end - p;
        if (!found && end > at)
            found = end < piece->size ? end : piece->size;
        if (q + 1 < set.count)
            p = set.range[q + 1].begin;
    }
    return found - at;
}

static bool block_next(struct block_iterator *cut, size_t most)
{
    cut->first += cut->count;
    if (cut->first == cut->piece->size)
        return false;
    size_t run = slice_run(cut->piece, cut->set, cut->first);
    cut->count = run < most ? run : most;
    return true;
}

/* The ranges of a cut, into `range`. */
static struct klr_set block_ranges(struct block_iterator cut,
                                   struct klr_range *range)
{
    size_t q = cut.piece->range, p = cut.piece->begin, count = 0;
    size_t skip = cut.first, left = cut.count;
    while (left > 0) {
        size_t width = cut.set.range[q].end - p;
        if (width > skip) {
            p += skip;
            width -= skip;
            skip = 0;
            width = width < left ? width : left;
            range[count++] = (struct klr_range){p, p + width};
            left -= width;
        } else {
            skip -= width;
        }
        if (left > 0)
            p = cut.set.range[++q].begin;
    }
    return (struct klr_set){range, count, cut.count};
}

/* ---- strips ---- */

/* Entries of a tile, whose first positions are row and col. */
static struct strip strip_gather(struct klr_set rows, struct klr_set cols,
                                 enum klr_precision precision, const char *tile,
                                 size_t row, size_t col, char *room)
{
    struct strip strip = {tile, precision, rows.size, cols.size};
    size_t element = klr_precision_bytes(precision), pitch = KLR_TILE * element;
    if (rows.count == 1 && cols.count == 1) {
        strip.entry = tile + (rows.range[0].begin - row) * pitch +
                      (cols.range[0].begin - col) * element;
        return strip;
    }
    strip.entry = room;
    for (size_t r = 0; r < rows.count; r++)
        for (size_t i = rows.range[r].begin; i < rows.range[r].end; i++) {
            char *to = room;
            for (size_t q = 0; q < cols.count; q++) {
                size_t begin = cols.range[q].begin;
                size_t width = (cols.range[q].end - begin) * element;
                memcpy(to, tile + (i - row) * pitch + (begin - col) * element,
                       width);
                to += width;
            }
            room += pitch;
        }
    return strip;
}

/* Every KLR_TILE-th of the elements from `from` on. */
static void column_copy(enum klr_precision precision, const void *from,
                        size_t count, void *to)
{
    if (precision == KLR_DOUBLE)
        for (size_t k = 0; k < count; k++)
            ((double *)to)[k] = ((const double *)from)[k * KLR_TILE];
    else if (precision == KLR_FLOAT)
        for (size_t k = 0; k < count; k++)
            ((float *)to)[k] = ((const float *)from)[k * KLR_TILE];
    else
        for (size_t k = 0; k < count; k++)
            ((uint16_t *)to)[k] = ((const uint16_t *)from)[k * KLR_TILE];
}

/* to (cols, rows; KLR_TILE) = from (rows, cols; KLR_TILE) transposed. */
static void strip_transpose(const char *from, size_t rows, size_t cols,
                            enum klr_precision precision, char *to)
{
    size_t element = klr_precision_bytes(precision);
    for (size_t j = 0; j < cols; j++)
        column_copy(precision, from + j * element, rows,
                    to + j * KLR_TILE * element);
}

/* Columns are computed fast if they lie side by side, whole panels of them;
 * rows may lie anywhere. So a few scattered columns are computed as rows. */
static struct strip strip_compute(struct gram_tiles *tiles,
                                  struct tile_work *work,
                                  const struct klr_points *left,
                                  struct klr_set rows, struct klr_set cols,
                                  enum klr_precision precision)
{
    if (tiles->symmetric && left == tiles->points && cols.size <= KLR_STRIP &&
        cols.count > rows.count) {
        tiles_gram(tiles, work, left, cols, rows, precision, work->across);
        strip_transpose(work->across, cols.size, rows.size, precision,
                        work->strip);
    } else {
        tiles_gram(tiles, work, left, rows, cols, precision, work->strip);
    }
    return (struct strip){work->strip, precision, rows.size, cols.size};
}

static struct strip tiles_strip(struct gram_tiles *tiles, size_t thread,
                                const struct klr_points *left,
                                struct block_iterator rows,
                                struct block_iterator cols,
                                enum klr_precision precision)
{
    struct tile_work *work = &tiles->work[thread];
    struct klr_set row_set = block_ranges(rows, work->rows);
    struct klr_set col_set = block_ranges(cols, work->cols);
    size_t i = rows.block, j = cols.block;
    if (!left && i >= j && tiles_filled(tiles, precision, i, j))
        return strip_gather(row_set, col_set, precision,
                            tiles_at(tiles, precision, i, j), i * KLR_TILE,
                            j * KLR_TILE, work->strip);
    return strip_compute(tiles, work, left ? left : tiles->points, row_set,
                         col_set, precision);
}

static bool tiles_copy_row(const struct gram_tiles *tiles,
                           enum klr_precision precision, size_t i, size_t block,
                           struct klr_set cols, char *out)
{
    const size_t element = klr_precision_bytes(precision);
    size_t own = i / KLR_TILE, in = i % KLR_TILE, begin = block * KLR_TILE;
    bool below = own >= block; /* else a column of the tile */
    size_t high = below ? own : block, low = below ? block : own;
    if (!tiles_filled(tiles, precision, high, low))
        return false;
    const char *row = tiles_at(tiles, precision, high, low) +
                      in * (below ? KLR_TILE : 1) * element;
    for (size_t q = 0; q < cols.count; q++) {
        size_t first = cols.range[q].begin - begin;
        size_t count = cols.range[q].end - cols.range[q].begin;
        if (below)
            memcpy(out, row + first * element, count * element);
        else
            column_copy(precision, row + first * KLR_TILE * element, count,
                        out);
        out += count * element;
    }
    return true;
}

/* ---- products ---- */

/* side (m, KLR_TILE) = the columns of v (size, pitch), with zeros behind. */
static void side_load(const double *v, size_t size, size_t pitch, size_t m,
                      double *side)
{
    for (size_t c = 0; c < m; c++, side += KLR_TILE) {
        if (pitch == 1) /* the usual one, in a twentieth less of all time */
            memcpy(side, v, size * sizeof *side);
        else
            for (size_t i = 0; i < size; i++)
                side[i] = v[i * pitch + c];
        for (size_t i = size; i % KLR_GROUP; i++)
            side[i] = 0;
    }
}

static void side_add(const double *side, size_t size, size_t pitch, size_t m,
                     double *out)
{
    for (size_t c = 0; c < m; c++, side += KLR_TILE)
        for (size_t i = 0; i < size; i++)
            out[i * pitch + c] += side[i];
}

static void strip_multiply(const struct gram_tiles *tiles, size_t thread,
                           const struct strip *strip, size_t m, const double *v,
                           double *forward, const double *w, double *backward)
{
    double *right = tiles->work[thread].side,
           *left = right + KLR_SLICE * KLR_TILE;
    double *right_sum = left + KLR_SLICE * KLR_TILE;
    double *left_sum = right_sum + KLR_SLICE * KLR_TILE;
    for (size_t c = 0, count; c < m; c += count) {
        /* one at a time, or a slice with what stands in the rest of it */
        count = m - c < KLR_SLICE - 1 ? 1 : m - c;
        count = count < KLR_SLICE ? count : KLR_SLICE;
        size_t taken = count == 1 ? 1 : KLR_SLICE;
        if (v)
            side_load(v + c, strip->cols, m, count, right);
        if (w)
            side_load(w + c, strip->rows, m, count, left);
        tiles->multiply(strip->entry, strip->precision, KLR_TILE, strip->rows,
                        strip->cols, taken, v ? right : NULL,
                        v ? left_sum : NULL, w ? left : NULL,
                        w ? right_sum : NULL);
        if (v)
            side_add(left_sum, strip->rows, m, count, forward + c);
        if (w)
            side_add(right_sum, strip->cols, m, count, backward + c);
    }
}
