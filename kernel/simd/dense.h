/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: products with dense matrices for one instruction set. Whoever
 * includes it defines
 *
 *   NAME(x)              x with the suffix of the instruction set
 *   TARGET               the function attribute that admits its instructions
 *   BYTES                of a vector: 16, 32 or 64
 *   ROWS                 of a register block of floats, beside two vectors
 *   DOWN, ACROSS         rows and vectors of a register block of doubles
 *   FMA(a, b, c)         a * b + c in floats, with one rounding if possible
 *   FMA_DOUBLE(a, b, c)  the same in doubles
 *   DOUBLED(p)           the doubles of a vector of the floats at p, if
 *                        compilers, which convert by halves, need to be told
 *
 * Every element of a result has one accumulator, which takes its terms in the
 * order of the inner dimension; or one of floats for each DENSE_CHUNK terms and
 * one of doubles for their sums. So neither the width of vectors nor the number
 * of rows taken at once changes a result. */
#define LOCAL    static inline __attribute__((always_inline)) TARGET
#define WIDE     (BYTES / (int)sizeof(float))
#define LANES_OF (BYTES / (int)sizeof(double))
#define PARTS    (DENSE_PARTS / LANES_OF) /* vectors of a row's partial sums */

typedef float NAME(dense_floats)
    __attribute__((vector_size(BYTES), aligned(4), __may_alias__));
typedef float NAME(dense_half_vector)
    __attribute__((vector_size(BYTES / 2), aligned(4), __may_alias__));
typedef double NAME(dense_doubles)
    __attribute__((vector_size(BYTES), aligned(8), __may_alias__));
#define floats      NAME(dense_floats)
#define half_vector NAME(dense_half_vector)
#define doubles     NAME(dense_doubles)

#ifndef DOUBLED
#define DOUBLED(p)                                                             \
    __builtin_convertvector(*(const half_vector *)(const void *)(p), doubles)
#endif

LOCAL doubles NAME(widen)(const float *from)
{
    return DOUBLED(from);
}

/* Prefetch the element `ahead` elements after `at`; it may lie beyond the
 * matrix. */
LOCAL void NAME(fetch)(const float *at, size_t ahead)
{
    __builtin_prefetch((const void *)((uintptr_t)at + ahead * sizeof(float)));
}

/* ---- floats: out += A B ---- */

/* `rows` rows of A, `down` apart with elements `across` apart, and `vectors`
 * vectors of columns, in registers; rows of B and out are `wide`. */
LOCAL void NAME(append_block)(const size_t rows, const size_t vectors,
                              size_t inner, const float *a, size_t down,
                              size_t across, const float *b, const size_t wide,
                              float *out)
{
    floats sum[ROWS][2];
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < vectors; c++)
            sum[r][c] = *(floats *)(out + r * wide + c * WIDE);
    for (size_t k = 0; k < inner; k++) {
        const float *line = b + k * wide;
        floats first = *(const floats *)line;
        floats second = *(const floats *)(line + (vectors - 1) * WIDE);
        if (across > 1) /* the rows of the next turn, */
            NAME(fetch)(a + k * across, DENSE_LINE * across);
        else if (k % DENSE_LINE == 0) /* or the next block */
#pragma GCC unroll 16
            for (size_t r = 0; r < rows; r++)
                NAME(fetch)(a + r * down + k, rows * down);
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; r++) {
            floats u = a[r * down + k * across] - (floats){0};
            sum[r][0] = FMA(u, first, sum[r][0]);
            if (vectors == 2)
                sum[r][1] = FMA(u, second, sum[r][1]);
        }
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < vectors; c++)
            *(floats *)(out + r * wide + c * WIDE) = sum[r][c];
}

LOCAL void NAME(append)(size_t rows, size_t inner, const float *a, size_t down,
                        size_t across, const float *b, const size_t wide,
                        float *out)
{
    const size_t vectors = wide < 2 * WIDE ? 1 : 2;
    size_t i = 0;
    for (; i + ROWS <= rows; i += ROWS)
        for (size_t c = 0; c < wide; c += vectors * WIDE)
            NAME(append_block)
    (ROWS, vectors, inner, a + i * down, down, across, b + c, wide,
     out + i * wide + c);
    for (; i < rows; i++)
        for (size_t c = 0; c < wide; c += vectors * WIDE)
            NAME(append_block)
    (1, vectors, inner, a + i * down, down, across, b + c, wide,
     out + i * wide + c);
}

static TARGET void NAME(dense_gemm_32)(size_t rows, size_t inner,
                                       const float *a, size_t pitch,
                                       const float *b, float *out)
{
    NAME(append)(rows, inner, a, pitch, 1, b, KLR_PANEL, out);
}

/* A transposed goes by a few of its rows, as they lie in memory. */
static TARGET void NAME(dense_gemm_16)(size_t rows, size_t inner,
                                       const float *a, size_t pitch,
                                       bool transposed, const float *b,
                                       float *out)
{
    if (!transposed) {
        NAME(append)(rows, inner, a, pitch, 1, b, KLR_SLIM, out);
        return;
    }
    for (size_t k = 0, turn; k < inner; k += turn) {
        turn = inner - k < DENSE_LINE ? inner - k : DENSE_LINE;
        NAME(append)
        (rows, turn, a + k * pitch, 1, pitch, b + k * KLR_SLIM, KLR_SLIM, out);
    }
}

/* ---- doubles: out = A'B ---- */

/* The rows of a band as doubles, filled up with zeros. */
LOCAL void NAME(band_load)(const void *from, enum klr_precision precision,
                           size_t pitch, size_t rows, size_t cols, double *band)
{
    for (size_t k = 0; k < rows; k++, band += KLR_BAND) {
        const float *narrow = (const float *)from + k * pitch;
        const double *wide = (const double *)from + k * pitch;
        size_t c = 0;
        for (; c + LANES_OF <= cols; c += LANES_OF)
            *(doubles *)(band + c) = precision == KLR_FLOAT
                                         ? NAME(widen)(narrow + c)
                                         : *(const doubles *)(wide + c);
        for (; c < cols; c++)
            band[c] = precision == KLR_FLOAT ? (double)narrow[c] : wide[c];
        for (; c < KLR_BAND; c++)
            band[c] = 0;
    }
}

LOCAL void NAME(gram_block)(size_t inner, const double *a, const double *b,
                            double *out)
{
    doubles sum[DOWN][ACROSS];
#pragma GCC unroll 8
    for (size_t r = 0; r < DOWN; r++)
#pragma GCC unroll 4
        for (size_t c = 0; c < ACROSS; c++)
            sum[r][c] = *(doubles *)(out + r * KLR_BAND + c * LANES_OF);
    for (size_t k = 0; k < inner; k++) {
        doubles v[ACROSS];
#pragma GCC unroll 4
        for (size_t c = 0; c < ACROSS; c++)
            v[c] = *(const doubles *)(b + k * KLR_BAND + c * LANES_OF);
#pragma GCC unroll 8
        for (size_t r = 0; r < DOWN; r++) {
            doubles u = a[k * KLR_BAND + r] - (doubles){0};
#pragma GCC unroll 4
            for (size_t c = 0; c < ACROSS; c++)
                sum[r][c] = FMA_DOUBLE(u, v[c], sum[r][c]);
        }
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < DOWN; r++)
#pragma GCC unroll 4
        for (size_t c = 0; c < ACROSS; c++)
            *(doubles *)(out + r * KLR_BAND + c * LANES_OF) = sum[r][c];
}

static TARGET void NAME(dense_gram)(size_t inner, const void *a, const void *b,
                                    enum klr_precision precision, size_t pitch,
                                    size_t rows, size_t cols, double *out)
{
    enum { SPAN_OF = ACROSS * LANES_OF };
    _Alignas(64) double left[DENSE_CHUNK * KLR_BAND];
    _Alignas(64) double right[DENSE_CHUNK * KLR_BAND];
    size_t element = klr_precision_bytes(precision);
    memset(out, 0, KLR_BAND * KLR_BAND * sizeof *out);
    for (size_t k = 0, count; k < inner; k += count) {
        size_t at = k * pitch * element;
        count = inner - k < DENSE_CHUNK ? inner - k : DENSE_CHUNK;
        NAME(band_load)
        ((const char *)a + at, precision, pitch, count, rows, left);
        if (a != b)
            NAME(band_load)
        ((const char *)b + at, precision, pitch, count, cols, right);
        for (size_t j = 0; j < cols; j += SPAN_OF)
            for (size_t i = 0; i < rows; i += DOWN)
                if (a != b || i < j + SPAN_OF)
                    NAME(gram_block)
        (count, left + i, (a == b ? left : right) + j, out + i * KLR_BAND + j);
    }
}

/* ---- floats, then doubles: out = A'B ---- */

LOCAL void NAME(syrk_block)(const size_t vectors, size_t inner, const float *a,
                            const float *b, size_t pitch, double *out)
{
    floats sum[ROWS][2] = {{{0}}};
    float line[2 * WIDE];
    for (size_t k = 0; k < inner; k++, a += pitch, b += pitch) {
        floats first = *(const floats *)b;
        floats second = *(const floats *)(b + (vectors - 1) * WIDE);
        NAME(fetch)(a, DENSE_CHUNK * pitch);
        NAME(fetch)(b, DENSE_CHUNK * pitch);
        NAME(fetch)(b + (vectors - 1) * WIDE, DENSE_CHUNK * pitch);
#pragma GCC unroll 16
        for (size_t r = 0; r < ROWS; r++) {
            floats u = a[r] - (floats){0};
            sum[r][0] = FMA(u, first, sum[r][0]);
            if (vectors == 2)
                sum[r][1] = FMA(u, second, sum[r][1]);
        }
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < ROWS; r++) {
        memcpy(line, sum[r], sizeof line);
#pragma GCC unroll 4
        for (size_t c = 0; c < vectors * WIDE; c += LANES_OF)
            *(doubles *)(out + r * KLR_BAND + c) += NAME(widen)(line + c);
    }
}

LOCAL void NAME(syrk_rows)(const size_t vectors, size_t inner, const float *a,
                           size_t rows, const float *b, size_t pitch,
                           double *out)
{
    for (size_t i = 0; i < rows; i += ROWS)
        NAME(syrk_block)(vectors, inner, a + i, b, pitch, out + i * KLR_BAND);
}

static TARGET void NAME(dense_syrk_rounded)(size_t inner, const float *a,
                                            const float *b, size_t pitch,
                                            size_t rows, size_t cols,
                                            double *out)
{
    memset(out, 0, KLR_BAND * KLR_BAND * sizeof *out);
    for (size_t k = 0, count; k < inner; k += count) {
        const float *left = a + k * pitch, *right = b + k * pitch;
        count = inner - k < DENSE_CHUNK ? inner - k : DENSE_CHUNK;
        for (size_t j = 0; j < cols; j += 2 * WIDE) {
            if (KLR_BAND - j < 2 * WIDE) {
                NAME(syrk_rows)
                (1, count, left, rows, right + j, pitch, out + j);
            } else {
                NAME(syrk_rows)
                (2, count, left, rows, right + j, pitch, out + j);
            }
        }
    }
}

/* ---- doubles: x = R^-T x ---- */

/* DENSE_WIDE columns in registers, row by row, for left (rows, KLR_BAND) = -R',
 * whose diagonal is not used. */
LOCAL void NAME(divide_block)(size_t rows, const double *left,
                              const double *pivot, double *x)
{
    enum { VECTORS = DENSE_WIDE / LANES_OF };
    for (size_t i = 0; i < rows; i++) {
        doubles *to = (doubles *)(x + i * DENSE_WIDE), sum[VECTORS];
        memcpy(sum, to, sizeof sum);
        for (size_t k = 0; k < i; k++) {
            const doubles *from = (const doubles *)(x + k * DENSE_WIDE);
            doubles u = left[i * KLR_BAND + k] - (doubles){0};
#pragma GCC unroll 8
            for (size_t c = 0; c < VECTORS; c++)
                sum[c] = FMA_DOUBLE(u, from[c], sum[c]);
        }
#pragma GCC unroll 8
        for (size_t c = 0; c < VECTORS; c++)
            to[c] = sum[c] / pivot[i];
    }
}

static TARGET void NAME(dense_divide)(size_t rows, const double *r,
                                      size_t pitch, size_t cols, double *x,
                                      size_t to)
{
    double left[KLR_BAND * KLR_BAND], pivot[KLR_BAND];
    _Alignas(64) double block[KLR_BAND * DENSE_WIDE] = {0};
    for (size_t k = 0; k < rows; k++) {
        pivot[k] = r[k * pitch + k];
        for (size_t i = k + 1; i < rows; i++)
            left[i * KLR_BAND + k] = -r[k * pitch + i];
    }
    for (size_t c = 0; c < cols; c += DENSE_WIDE) {
        size_t width = cols - c < DENSE_WIDE ? cols - c : DENSE_WIDE;
        for (size_t i = 0; i < rows; i++)
            memcpy(block + i * DENSE_WIDE, x + i * to + c,
                   width * sizeof *block);
        NAME(divide_block)(rows, left, pivot, block);
        for (size_t i = 0; i < rows; i++)
            memcpy(x + i * to + c, block + i * DENSE_WIDE,
                   width * sizeof *block);
    }
}

/* ---- sweeps: a matrix of floats, vectors of doubles ---- */

/* While `cols` columns of some rows are taken, a part of the next rows is to
 * come that is as large, in the order of memory: several rows at once, of some
 * hundred columns maybe, are no stream that the processor would notice. */
LOCAL void NAME(fetch_rows)(const size_t rows, const size_t cols,
                            const float *at, size_t pitch)
{
#pragma GCC unroll 4
    for (size_t k = 0; k < rows * cols; k += DENSE_LINE)
        NAME(fetch)(at + k, rows * pitch);
}

LOCAL void NAME(gemv_t_rows)(const size_t rows, size_t cols, const float *a,
                             size_t pitch, const double *x, double *out)
{
    for (size_t k = 0; k < cols; k += LANES_OF) {
        doubles sum = *(doubles *)(out + k);
        NAME(fetch_rows)(rows, LANES_OF, a + k * rows, pitch);
#pragma GCC unroll 4
        for (size_t r = 0; r < rows; r++)
            sum += x[r] * NAME(widen)(a + r * pitch + k);
        *(doubles *)(out + k) = sum;
    }
}

static TARGET void NAME(dense_gemv_t)(size_t rows, size_t cols, const float *a,
                                      size_t pitch, const double *x,
                                      double *out)
{
    size_t i = 0;
    for (; i + DENSE_ROWS <= rows; i += DENSE_ROWS)
        NAME(gemv_t_rows)(DENSE_ROWS, cols, a + i * pitch, pitch, x + i, out);
    for (; i < rows; i++)
        NAME(gemv_t_rows)(1, cols, a + i * pitch, pitch, x + i, out);
}

LOCAL void NAME(expand_rows)(const size_t rows, size_t cols, const float *a,
                             size_t pitch, const double *w, double *out)
{
    doubles sum[DENSE_ROWS][PARTS] = {{{0}}};
    for (size_t k = 0; k < cols; k += DENSE_PARTS) {
        NAME(fetch_rows)(rows, DENSE_PARTS, a + k * rows, pitch);
#pragma GCC unroll 4
        for (size_t p = 0; p < PARTS; p++) {
            size_t at = k + p * LANES_OF;
            doubles v = *(const doubles *)(w + at);
#pragma GCC unroll 4
            for (size_t r = 0; r < rows; r++)
                sum[r][p] += v * NAME(widen)(a + r * pitch + at);
        }
    }
    for (size_t r = 0; r < rows; r++) {
        double part[DENSE_PARTS];
        memcpy(part, sum[r], sizeof part);
        out[r] += ((part[0] + part[4]) + (part[2] + part[6])) +
                  ((part[1] + part[5]) + (part[3] + part[7]));
    }
}

static TARGET void NAME(dense_expand)(size_t rows, size_t cols, const float *a,
                                      size_t pitch, const double *w,
                                      double *out)
{
    size_t i = 0;
    for (; i + DENSE_ROWS <= rows; i += DENSE_ROWS)
        NAME(expand_rows)(DENSE_ROWS, cols, a + i * pitch, pitch, w, out + i);
    for (; i < rows; i++)
        NAME(expand_rows)(1, cols, a + i * pitch, pitch, w, out + i);
}

static const struct klr_dense NAME(dense_products) = {
    NAME(dense_gemm_32),      NAME(dense_gemm_16), NAME(dense_gram),
    NAME(dense_syrk_rounded), NAME(dense_divide),  NAME(dense_gemv_t),
    NAME(dense_expand)};

#undef LOCAL
#undef WIDE
#undef LANES_OF
#undef PARTS
#undef floats
#undef half_vector
#undef doubles
#undef NAME
#undef TARGET
#undef BYTES
#undef ROWS
#undef DOWN
#undef ACROSS
#undef FMA
#undef FMA_DOUBLE
#undef DOUBLED
