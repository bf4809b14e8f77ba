/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of the Gram matrix, by tiles: some left rows that are spread out in
 * the workspace, and the columns asked for. How a block is cut into these has
 * no influence on an entry.
 */
#include "kernel/parts.h"

/* Doubles that are rounded to another precision, at once. */
enum { ROUND_ROWS = 16, ROUND_COLS = 64 };

/* out[at .. at + width) = values, in that precision. */
static void store_values(const double *values, size_t width,
                         enum klr_precision precision, void *out, size_t at)
{
    if (precision == KLR_DOUBLE) {
        memcpy((double *)out + at, values, width * sizeof(double));
        return;
    }
    for (size_t c = 0; c < width; c++)
        if (precision == KLR_FLOAT)
            ((float *)out)[at + c] = (float)values[c];
        else /* in doubles: tiny floats take long to multiply */
            ((uint16_t *)out)[at + c] =
                (uint16_t)(int)(values[c] * FIXED16_UNITS + 0.5);
}

static void gram_matrix(const struct klr_points *a, const size_t *row,
                        size_t count, struct klr_set cols,
                        enum klr_precision precision, void *const *out)
{
    static const double missing[ROUND_COLS];
    for (size_t r = 0; r < count; r++) {
        const double *matrix = a->matrix + row[r] * a->width;
        size_t at = 0, width;
        for (size_t q = 0; q < cols.count; q++) {
            size_t end = cols.range[q].end;
            for (size_t j = cols.range[q].begin; j < end;
                 j += width, at += width) {
                width = end - j < ROUND_COLS ? end - j : ROUND_COLS;
                store_values(a->width ? matrix + j : missing, width, precision,
                             out[r], at);
            }
        }
    }
}

/* ---- tiles ---- */

/* How a row is computed: all rows of a tile alike. */
enum way { IN_FLOAT, IN_DOUBLE, CAREFULLY };

static enum way row_way(const struct klr_points *a, size_t i,
                        const struct klr_points *b,
                        enum klr_precision precision)
{
    if (precision != KLR_DOUBLE && b->narrow.tiles && a->narrow.fit[i] != UNFIT)
        return IN_FLOAT;
    return sums_are_careful(a, i, b) ? CAREFULLY : IN_DOUBLE;
}

static const struct gram_tiles *way_tiles(const struct klr_points *b,
                                          enum way way)
{
    return way == IN_FLOAT ? b->narrow.tiles : b->tiles;
}

static size_t way_element(enum way way)
{
    return way == IN_FLOAT ? sizeof(float) : sizeof(double);
}

/* What a left row takes in the workspace. */
static size_t way_lines(const struct klr_points *b, enum way way)
{
    return way == IN_FLOAT ? b->narrow.lines : b->width;
}

/* Sparse left rows side by side, at most. */
static size_t tile_spread(const struct klr_points *b, enum way way)
{
    size_t spread = way_tiles(b, way)->spread;
    return lines_are_mapped(b) ||
                   b->width * spread * way_element(way) <= SPREAD_BYTES
               ? spread
               : spread / 2;
}

/* The most left rows of a tile. */
static size_t tile_rows(const struct klr_points *b, enum way way)
{
    size_t rows = way_tiles(b, way)->rows;
    size_t fit =
        PACKED_BYTES / (way_lines(b, way) * rows * way_element(way) + 1);
    size_t most = PACKED_ROWS / rows;
    if (way == CAREFULLY)
        return 1;
    if (b->form == SPARSE)
        return tile_spread(b, way);
    return (fit < 1 ? 1 : fit < most ? fit : most) * rows;
}

/* Sparse left rows side by side, for `count` of them. */
static size_t tile_left(const struct klr_points *b, enum way way, size_t count)
{
    size_t left = way_tiles(b, way)->spread;
    if (count == 1)
        return 1;
    while (left / 2 >= count && left > way_tiles(b, way)->spread / 4)
        left /= 2;
    return left;
}

/* Bytes of left rows spread out; vectors may end behind the last row. */
static size_t spread_bytes(const struct klr_points *b, enum way way)
{
    size_t bytes = lines_are_mapped(b) ? SPREAD_BYTES
                                       : tile_rows(b, way) * way_lines(b, way) *
                                             way_element(way);
    return (bytes + SPAN * sizeof(double) + 63) / 64 * 64;
}

static size_t tile_workspace(const struct klr_points *b, enum way way)
{
    size_t rows = (tile_rows(b, way) + LOOKUP_ROWS - 1) / LOOKUP_ROWS;
    size_t table = b->nibble ? rows * LOOKUP_ROWS * binary_groups(b) * 16 : 0;
    return spread_bytes(b, way) + table + lines_map_bytes(b) + lean_bytes(b);
}

/* Where the workspace begins that tiles of any way leave alone. */
static size_t apart_begin(const struct klr_points *b)
{
    size_t bytes = tile_workspace(b, IN_DOUBLE);
    size_t narrow = b->narrow.tiles ? tile_workspace(b, IN_FLOAT) : 0;
    return ((bytes > narrow ? bytes : narrow) + 63) / 64 * 64;
}

/* True if there are lines enough for the features of `count` left rows. */
static bool lines_suffice(const struct klr_points *a, const size_t *row,
                          size_t count, const struct klr_points *b,
                          enum way way)
{
    size_t features = 0;
    if (!lines_are_mapped(b))
        return true;
    for (size_t r = 0; r < count; r++)
        features += a->start[row[r] + 1] - a->start[row[r]];
    return features * tile_left(b, way, count) * way_element(way) <=
           SPREAD_BYTES;
}

static enum lookup tile_lookup(const struct klr_points *a, const size_t *row,
                               size_t count, const struct klr_points *b,
                               enum way way)
{
    if (!lines_are_mapped(b))
        return DIRECT;
    return way == CAREFULLY || !lines_suffice(a, row, count, b, way) ? SEARCHED
                                                                     : MAPPED;
}

size_t klr_gram_workspace(const struct klr_points *b)
{
    if (b->form == MATRIX)
        return 0;
    return apart_begin(b) + (apart_bytes(b) + 63) / 64 * 64;
}

/* The columns t->begin to t->end, in the numbers of `way`. */
static void tile_compute(struct tile *t, enum way way, bool binary)
{
    const struct gram_tiles *tiles = way_tiles(t->b, way);
    if (way == CAREFULLY)
        careful_tile(t);
    else if (binary)
        tiles->binary(t);
    else if (way == IN_DOUBLE && t->b->lean)
        lean_tile(t);
    else if (t->b->form == DENSE)
        tiles->dense(t);
    else
        tiles->sparse(t);
}

/* Where a tile's entries go, and how. */
struct tile_columns {
    struct tile *t;
    enum way way;
    bool binary;
    bool rounds; /* doubles to the precision */
    enum klr_precision precision;
    void *const *out;
    size_t at;                    /* in rows of out */
    size_t position[SPAN], count; /* columns that lie apart, for the next */
};

/* `width` columns from `begin` on, or those that lie apart. */
static void columns_compute(struct tile_columns *c, size_t begin, size_t width)
{
    _Alignas(64) double exact[ROUND_ROWS][ROUND_COLS];
    void *rounded[ROUND_ROWS];
    struct tile *t = c->t;
    for (size_t r = 0; c->rounds && r < ROUND_ROWS; r++)
        rounded[r] = exact[r];
    t->out = c->rounds ? rounded : c->out;
    t->at = c->rounds ? 0 : c->at;
    t->begin = begin;
    t->end = begin + width;
    if (c->count > 0)
        apart_tile(t, c->way == IN_FLOAT, c->binary, c->position, c->count);
    else
        tile_compute(t, c->way, c->binary);
    for (size_t r = 0; c->rounds && r < t->count; r++)
        store_values(exact[r], width, c->precision, c->out[r], c->at);
    c->at += width;
    c->count = 0;
}

/* A range as it lies. */
static void columns_run(struct tile_columns *c, struct klr_range range)
{
    for (size_t j = range.begin, width; j < range.end; j += width) {
        width = range.end - j;
        if (c->rounds && width > ROUND_COLS)
            width = ROUND_COLS - j % ROUND_COLS;
        columns_compute(c, j, width);
    }
}

/* All of `cols`, in the numbers of `way` or rounded from them. */
static void tile_columns(struct tile *t, enum way way, bool binary,
                         struct klr_set cols, enum klr_precision precision,
                         void *const *out)
{
    struct tile_columns c = {.t = t,
                             .way = way,
                             .binary = binary,
                             .rounds =
                                 precision != KLR_DOUBLE && way != IN_FLOAT,
                             .precision = precision,
                             .out = out};
    bool apart = way != CAREFULLY && apart_pays(t, binary, cols);
    for (size_t q = 0; q < cols.count; q++) {
        struct klr_range range = cols.range[q];
        if (!apart)
            columns_run(&c, range);
        for (; apart && range.begin < range.end; range.begin++) {
            c.position[c.count++] = range.begin;
            if (c.count == SPAN)
                columns_compute(&c, 0, SPAN);
        }
    }
    if (c.count > 0)
        columns_compute(&c, 0, c.count);
}

/* The terms that are summed, and the sizes that go with them; points made like
 * others have no rough ones. */
static void tile_terms(struct tile *t, enum way way)
{
    const struct narrow *a = &t->a->narrow, *b = &t->b->narrow;
    bool rough = t->fixed16 && a->rough && b->rough;
    t->term = rough ? PRODUCT : way == IN_FLOAT ? b->term : t->b->term;
    t->left_size = t->a->size;
    t->right_size = t->b->size;
    if (way == IN_FLOAT) {
        t->left_size = rough ? a->rough : a->size;
        t->right_size = rough ? b->rough : b->size;
    }
}

/* `count` rows of a that are computed in one way, at most tile_rows. */
static void gram_tile(const struct klr_points *a, const size_t *row,
                      size_t count, const struct klr_points *b, enum way way,
                      struct klr_set cols, enum klr_precision precision,
                      void *const *out, void *workspace)
{
    const struct gram_tiles *tiles = way_tiles(b, way);
    bool binary = way != CAREFULLY && rows_are_binary(a, row, count, b);
    bool lean = way == IN_DOUBLE && a->lean;
    struct lean_rows rows;
    double gamma = b->kernel.type == KLR_LINEAR ? 1 : b->kernel.gamma;
    char *behind = (char *)workspace + spread_bytes(b, way);
    struct tile t = {.a = a,
                     .b = b,
                     .formula = way == IN_FLOAT
                                    ? b->narrow.formula
                                    : kernel_formula(&b->kernel, gamma),
                     .row = row,
                     .count = count,
                     .work = workspace,
                     .table = (uint64_t *)(void *)behind,
                     .columns = (double *)(void *)behind,
                     .apart = (char *)workspace + apart_begin(b),
                     .left = tile_left(b, way, count),
                     .lookup = tile_lookup(a, row, count, b, way),
                     .fixed16 = precision == KLR_FIXED16 && way == IN_FLOAT};
    tile_terms(&t, way);
    lines_place_map(&t, behind);
    if (binary)
        t.left = count == 1 ? 1 : LOOKUP_ROWS;
    if (lean)
        lean_rows(&t, &rows, t.columns);
    (binary ? binary_load : tiles->load)(&t);
    tile_columns(&t, way, binary, cols, precision, out);
    if (!binary)
        tiles->clear(&t);
    if (lean)
        lean_clear(&rows, count);
}

/* The entries by doubles of a row that stands out, in place of those by floats.
 */
static void gram_mend(const struct klr_points *a, size_t row,
                      const struct klr_points *b, struct klr_set cols,
                      enum klr_precision precision, char *out, void *workspace)
{
    const struct outlier *left = narrow_outlier(a, row);
    const struct outlier *right = b->narrow.outlier;
    const struct outlier *end = right + b->narrow.outliers;
    const size_t element = klr_precision_bytes(precision);
    enum way way = row_way(a, row, b, KLR_DOUBLE);
    for (size_t q = 0; q < cols.count; q++) {
        struct klr_range range = cols.range[q];
        for (; right < end && right->position < range.end; right++) {
            struct klr_range one = {right->position, right->position + 1};
            void *to = out + (one.begin - range.begin) * element;
            if (one.begin >= range.begin &&
                outliers_meet(&b->narrow, left, right))
                gram_tile(a, &row, 1, b, way, (struct klr_set){&one, 1, 1},
                          precision, &to, workspace);
        }
        out += (range.end - range.begin) * element;
    }
}

/* How many of the first `left` rows make a tile. */
static size_t rows_together(const struct klr_points *a, const size_t *row,
                            size_t left, const struct klr_points *b,
                            enum way way, enum klr_precision precision)
{
    size_t count = 1, most = tile_rows(b, way);
    if (precision != KLR_DOUBLE && way != IN_FLOAT && most > ROUND_ROWS)
        most = ROUND_ROWS;
    while (count < left && count < most &&
           row_way(a, row[count], b, precision) == way &&
           lines_suffice(a, row, count + 1, b, way))
        count++;
    return count;
}

/* RBF entries become those of the exponential kernel. */
static void gram_grow(const struct klr_points *a, const size_t *row,
                      size_t count, const struct klr_points *b,
                      struct klr_set cols, enum klr_precision precision,
                      void *const *out)
{
    for (size_t r = 0; r < count; r++) {
        size_t at = 0;
        for (size_t q = 0; q < cols.count; q++)
            for (size_t j = cols.range[q].begin; j < cols.range[q].end;
                 j++, at++) {
                double growth = a->growth[row[r]] * b->growth[j];
                if (precision == KLR_DOUBLE)
                    ((double *)out[r])[at] *= growth;
                else
                    ((float *)out[r])[at] =
                        (float)(growth * (double)((float *)out[r])[at]);
            }
    }
}

void klr_gram_rows_to(const struct klr_points *a, const size_t *row,
                      size_t count, const struct klr_points *b,
                      struct klr_set cols, enum klr_precision precision,
                      void *const *out, void *workspace)
{
    if (b->form == MATRIX) {
        gram_matrix(a, row, count, cols, precision, out);
        return;
    }
    for (size_t r = 0, now; r < count; r += now) {
        enum way way = row_way(a, row[r], b, precision);
        now = rows_together(a, row + r, count - r, b, way, precision);
        gram_tile(a, row + r, now, b, way, cols, precision, out + r, workspace);
        for (size_t i = r; i < r + now && way == IN_FLOAT; i++)
            if (a->narrow.fit[row[i]] == OUTLYING)
                gram_mend(a, row[i], b, cols, precision, out[i], workspace);
    }
    if (b->growth)
        gram_grow(a, row, count, b, cols, precision, out);
}

void klr_gram_rows(const struct klr_points *a, const size_t *row, size_t count,
                   const struct klr_points *b, struct klr_set cols,
                   enum klr_precision precision, void *out, size_t stride,
                   void *workspace)
{
    size_t bytes = stride * klr_precision_bytes(precision);
    void *to[PACKED_ROWS];
    for (size_t r = 0, now; r < count; r += now) {
        now = count - r < PACKED_ROWS ? count - r : PACKED_ROWS;
        for (size_t q = 0; q < now; q++)
            to[q] = (char *)out + (r + q) * bytes;
        klr_gram_rows_to(a, row + r, now, b, cols, precision, to, workspace);
    }
}

void klr_gram(const struct klr_points *a, struct klr_range rows,
              const struct klr_points *b, struct klr_set cols,
              enum klr_precision precision, void *out, size_t stride,
              void *workspace)
{
    size_t element = klr_precision_bytes(precision);
    size_t row[PACKED_ROWS];
    for (size_t i = rows.begin, count; i < rows.end; i += count) {
        count = rows.end - i < PACKED_ROWS ? rows.end - i : PACKED_ROWS;
        for (size_t r = 0; r < count; r++)
            row[r] = i + r;
        klr_gram_rows(a, row, count, b, cols, precision,
                      (char *)out + (i - rows.begin) * stride * element, stride,
                      workspace);
    }
}

void klr_gram_diagonal(const struct klr_points *points, struct klr_set set,
                       double *out, void *workspace)
{
    if (kernel_is_distance(&points->kernel) && !points->growth) {
        for (size_t i = 0; i < set.size; i++)
            out[i] = 1; /* D(x, x) = 0, exactly: see points.c */
        return;
    }
    for (size_t q = 0; q < set.count; q++)
        for (size_t i = set.range[q].begin; i < set.range[q].end; i++) {
            struct klr_range one = {i, i + 1};
            klr_gram(points, one, points, (struct klr_set){&one, 1, 1},
                     KLR_DOUBLE, out++, 1, workspace);
        }
}
