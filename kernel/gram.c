/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of the Gram matrix: BLOCK left rows (or one at a time, where fewer are
 * left) by at most CHUNK columns. How a block is cut into these has no
 * influence on an entry.
 */
#include "kernel/internal.h"

/* out[at .. at + width) = values, as float or double. */
static void store_values(const double *values, size_t width,
                         enum klr_precision precision, void *out, size_t at)
{
    if (precision == KLR_DOUBLE) {
        memcpy((double *)out + at, values, width * sizeof(double));
        return;
    }
    float *to = (float *)out + at;
    for (size_t c = 0; c < width; c++)
        to[c] = (float)values[c];
}

/* The kernel of `count` rows of a, loaded, and the columns begin + c. Returns
 * where in each row of `sums` they begin. */
static size_t gram_chunk(const struct klr_points *a, const size_t *row,
                         size_t count, const struct klr_points *b, size_t begin,
                         size_t width, double sums[BLOCK][PITCH], double *work)
{
    size_t skip = b->form == DENSE ? begin % PANEL : 0;
    block_sums(a, row, count, b, begin - skip, skip + width, sums, work);
    for (size_t r = 0; r < count; r++) {
        double *values = sums[r] + skip;
        memset(values + width, 0, LANES * sizeof(double));
        if (kernel_is_distance(&b->kernel)) {
            values_of_distances(a, row[r], b, begin, width, values);
        } else if (points_compensate(a, row[r], b)) {
            for (size_t c = 0; c < width; c++)
                values[c] = compensated_argument(b, count, r, begin + c, work);
            values_of_arguments(&b->kernel, width, values);
        } else {
            values_of_products(&b->kernel, width, values);
        }
    }
    return skip;
}

/* `count` rows of a against all of `cols`; out is the first row's. */
static void gram_rows(const struct klr_points *a, const size_t *row,
                      size_t count, const struct klr_points *b,
                      struct klr_set cols, enum klr_precision precision,
                      void *out, size_t stride, double *work)
{
    double sums[BLOCK][PITCH];
    size_t at = 0, width;
    left_load(a, row, count, b, work);
    for (size_t q = 0; q < cols.count; q++) {
        size_t end = cols.range[q].end;
        for (size_t j = cols.range[q].begin; j < end; j += width, at += width) {
            width = CHUNK - j % PANEL;
            if (width > end - j)
                width = end - j;
            size_t skip = gram_chunk(a, row, count, b, j, width, sums, work);
            for (size_t r = 0; r < count; r++)
                store_values(sums[r] + skip, width, precision, out,
                             r * stride + at);
        }
    }
    left_clear(a, row, count, b, work);
}

static void gram_matrix(const struct klr_points *a, const size_t *row,
                        size_t count, struct klr_set cols,
                        enum klr_precision precision, void *out, size_t stride)
{
    static const double missing[CHUNK];
    for (size_t r = 0; r < count; r++) {
        const double *matrix = a->matrix + row[r] * a->width;
        size_t at = r * stride, width;
        for (size_t q = 0; q < cols.count; q++) {
            size_t end = cols.range[q].end;
            for (size_t j = cols.range[q].begin; j < end;
                 j += width, at += width) {
                width = end - j < CHUNK ? end - j : CHUNK;
                store_values(a->width ? matrix + j : missing, width, precision,
                             out, at);
            }
        }
    }
}

/* How many of the first `left` rows are computed together: as floats, at most
 * a tile, or in double. A row that floats do not serve for goes alone. */
static size_t rows_together(const struct klr_points *a, const size_t *row,
                            size_t left, const struct klr_points *b,
                            bool in_float)
{
    size_t count = 0;
    if (!in_float)
        return left < BLOCK ? 1 : BLOCK;
    while (count < left && count < narrow_rows(b) && a->narrow.fits[row[count]])
        count++;
    return count ? count : 1;
}

size_t klr_gram_workspace(const struct klr_points *b)
{
    size_t bytes = b->form == MATRIX ? 0 : b->width * BLOCK * sizeof(double);
    size_t narrow = b->narrow.tiles ? narrow_workspace(b) : 0;
    return ((bytes > narrow ? bytes : narrow) + 63) / 64 * 64;
}

void klr_gram_rows(const struct klr_points *a, const size_t *row, size_t count,
                   const struct klr_points *b, struct klr_set cols,
                   enum klr_precision precision, void *out, size_t stride,
                   void *workspace)
{
    size_t element = precision == KLR_FLOAT ? sizeof(float) : sizeof(double);
    bool in_float = precision == KLR_FLOAT && b->narrow.tiles;
    if (b->form == MATRIX) {
        gram_matrix(a, row, count, cols, precision, out, stride);
        return;
    }
    for (size_t r = 0, now; r < count; r += now) {
        void *to = (char *)out + r * stride * element;
        now = rows_together(a, row + r, count - r, b, in_float);
        if (in_float && a->narrow.fits[row[r]])
            narrow_gram(a, row + r, now, b, cols, to, stride, workspace);
        else
            gram_rows(a, row + r, now, b, cols, precision, to, stride,
                      workspace);
    }
}

void klr_gram(const struct klr_points *a, struct klr_range rows,
              const struct klr_points *b, struct klr_set cols,
              enum klr_precision precision, void *out, size_t stride,
              void *workspace)
{
    size_t element = precision == KLR_FLOAT ? sizeof(float) : sizeof(double);
    size_t row[PACKED_ROWS], most = PACKED_ROWS;
    if (precision == KLR_FLOAT && b->narrow.tiles)
        most = narrow_rows(b);
    for (size_t i = rows.begin, count; i < rows.end; i += count) {
        count = rows.end - i < most ? rows.end - i : most;
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
    for (size_t q = 0; q < set.count; q++)
        for (size_t i = set.range[q].begin; i < set.range[q].end; i++) {
            struct klr_range one = {i, i + 1};
            klr_gram(points, one, points, (struct klr_set){&one, 1, 1},
                     KLR_DOUBLE, out++, 1, workspace);
        }
}
