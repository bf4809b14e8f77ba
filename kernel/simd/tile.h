/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: blocks of the Gram matrix for one instruction set, in floats or
 * doubles. Whoever includes it defines for the type of the numbers
 *
 *   REAL, INTEGER    the type, and integers of its size
 *   STORE(points)    where features are stored as such, and their sizes
 *   COLUMNS          side by side in its panels
 *   LINES(points)    of these, features and sizes
 *   ABREAST          left rows side by side in sparse form, at most
 *   TURN             features summed up before they are added on
 *   POINT, LOWEST    bits after the point, the lowest normal exponent
 *   POWERS, TANHS    coefficients of elementary functions, see elementary.h
 *   LOGS             of another one, for a type that has logistic functions
 *   FIXED16          if entries may be rounded to it
 *
 * and for the instruction set
 *
 *   NAME(x)          x with suffixes
 *   TARGET           the function attribute that admits its instructions
 *   BYTES            of a vector: 16, 32 or 64
 *   ROWS             left rows of a register block, beside two vectors
 *   FMA(a, b, c)     a * b + c, in vectors, with one rounding where all of
 *                    the code for this type has it
 *   MOST(a, b)       the larger of each two elements, b if one is no number.
 *   HALVES(units)    integers below 2^16 as halves, if there is an instruction
 *   LOOKUP(table, v) table[v_i] for each of SPAN bytes v_i < 16, if the
 *                    processor has such an instruction, and then also
 *   WIDEN(bytes)     a vector of as many bytes
 *
 * A register block has ROWS * 2 accumulators. Its products run over TURN
 * features at a time; the sums of the runs are added up in memory, which makes
 * errors grow with TURN + width / TURN rather than with the width. Distances
 * by products are formed run by run: what cancels is a run's, not the whole.
 */
#define LOCAL static inline __attribute__((always_inline)) TARGET
#define WIDE  (BYTES / (int)sizeof(REAL))
#define GROUP 4 /* vectors side by side, at most */
/* Statements for all of those `beside`, not loops around them. */
#define EACH(q) _Pragma("GCC unroll 4") for (size_t q = 0; q < beside; q++)
/* Vectors of a register block of one row or of ROWS: in all a multiple of
 * GROUP, or less than it. */
#define AT_MOST(most, count) ((count) < (most) ? (count) : (most))
#define ALONE                AT_MOST(8, SPAN / WIDE)
#define VECTORS(rows)        ((size_t)((rows) == 1 ? ALONE : 2))

typedef REAL NAME(reals)
    __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), __may_alias__));
typedef INTEGER NAME(bits)
    __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), __may_alias__));
typedef REAL NAME(four) __attribute__((vector_size(4 * sizeof(REAL)),
                                       aligned(sizeof(REAL)), __may_alias__));
typedef INTEGER NAME(places) __attribute__((vector_size(4 * sizeof(REAL))));
#ifdef FIXED16
typedef uint16_t NAME(halves)
    __attribute__((vector_size(BYTES / 2), aligned(2), __may_alias__));
#endif
#ifndef HALVES
#define HALVES(units) CONVERT(units, NAME(halves))
#endif
#define reals  NAME(reals)
#define bits   NAME(bits)
#define four   NAME(four)
#define places NAME(places)

/* Masks: all bits but the sign, and the sign. */
#define SIZE_BITS ((INTEGER)(~(uint64_t)0 >> 1 >> (64 - 8 * sizeof(REAL))))
#define SIGN_BIT  (-SIZE_BITS - 1)

LOCAL reals NAME(all)(REAL x)
{
    return x - (reals){0};
}

LOCAL reals NAME(abs)(reals x)
{
    return (reals)((bits)x & SIZE_BITS);
}

/* a where the mask is set, else b */
LOCAL reals NAME(choose)(bits mask, reals a, reals b)
{
    return (reals)(((bits)a & mask) | ((bits)b & ~mask));
}

#include "kernel/simd/elementary.h"

/* ---- sizes ---- */

/* The q-th feature of sparse form. */
LOCAL REAL NAME(stored)(const struct klr_points *points, size_t q)
{
    const REAL *value = STORE(points).value;
    return value ? value[q] : STORE(points).common;
}

LOCAL reals NAME(add_term)(enum term term, reals u, reals v, reals sum)
{
    reals d = u - v;
    if (term == SQUARE)
        return FMA(d, d, sum);
    if (term == ABSOLUTE)
        return sum + NAME(abs)(d);
    if (term == OVERLAP)
        return sum + ((NAME(abs)(u) + NAME(abs)(v)) - NAME(abs)(d));
    return FMA(u, v, sum);
}

/* The sums of COLUMNS dense rows from p on with themselves, in the same order
 * as any others. Those of runs go where their lines are. */
LOCAL void NAME(dense_sizes)(const struct klr_points *points, size_t p)
{
    size_t width = points->width;
    for (size_t c = 0; c < COLUMNS; c += WIDE) {
        REAL *line = STORE(points).panel + p * LINES(points) + c;
        reals total = {0};
        for (size_t k = 0; k < width;) {
            size_t end = width - k < TURN ? width : k + TURN;
            reals sum = {0};
            for (; k < end; k++, line += COLUMNS) {
                reals v = *(const reals *)line;
                sum = NAME(add_term)(STORE(points).term, v, v, sum);
            }
            if (LINES(points) > width && k < width) {
                *(reals *)line = sum;
                line += COLUMNS;
            } else {
                total += sum;
            }
        }
        *(reals *)(STORE(points).size + p + c) = total;
    }
}

static TARGET void NAME(sizes)(const struct klr_points *points)
{
    if (points->form == DENSE) {
        for (size_t p = 0; p < points->n; p += COLUMNS)
            NAME(dense_sizes)(points, p);
        return;
    }
    for (size_t p = 0; p < points->n; p++) {
        reals sum = {0};
        for (size_t q = points->start[p]; q < points->start[p + 1]; q++) {
            reals v = NAME(all)(NAME(stored)(points, q));
            sum = NAME(add_term)(STORE(points).term, v, v, sum);
        }
        STORE(points).size[p] = sum[0];
    }
}

/* ---- left rows ---- */

/* A register block of left rows from the first-th on, the last one repeated
 * where there are no more. Rows that stand side by side in their panel are
 * copied together, with what follows them, which later copies correct. */
LOCAL void NAME(pack)(const struct tile *t, size_t first, size_t rows)
{
    size_t lines = LINES(t->b), runs = 0, last = t->count - 1, i = 0;
    const REAL *from[COLUMNS];
    REAL *to[COLUMNS], *block = (REAL *)t->work + first * lines;
    for (size_t r = 0; r < rows; r++) {
        size_t before = i;
        i = t->row[first + r < last ? first + r : last];
        if (r > 0 && i == before + 1 && i % COLUMNS != 0)
            continue;
        to[runs] = block + r;
        from[runs++] =
            STORE(t->a).panel + i / COLUMNS * COLUMNS * lines + i % COLUMNS;
    }
    for (size_t k = 0; k < lines; k++)
        for (size_t q = 0; q < runs; q++)
            memcpy(to[q] + k * rows, from[q] + k * COLUMNS,
                   COLUMNS * sizeof(REAL));
}

/* Row r of a sparse tile becomes what it is, or zeros. */
LOCAL void NAME(spread)(const struct tile *t, size_t r, bool zero)
{
    const struct klr_points *a = t->a;
    for (size_t q = a->start[t->row[r]]; q < a->start[t->row[r] + 1]; q++) {
        size_t line = t->lookup == MAPPED ? lines_find(t, a->column[q])
                                          : (size_t)a->column[q];
        ((REAL *)t->work)[line * t->left + r] = zero ? 0 : NAME(stored)(a, q);
    }
}

/* Dense left rows in register blocks, the last of which may be filled in part.
 * A few beyond whole ones come one by one: that is as fast as a block of three
 * times as many. */
LOCAL size_t NAME(in_blocks)(size_t count)
{
    size_t rest = count % ROWS;
    return rest <= ROWS / 3 ? count - rest : count;
}

/* Sparse rows find zeros in the workspace, */
static TARGET void NAME(load)(const struct tile *t)
{
    size_t blocks = NAME(in_blocks)(t->count);
    if (t->b->form == DENSE)
        for (size_t r = 0, rows; r < t->count; r += rows) {
            rows = r < blocks ? ROWS : 1;
            NAME(pack)(t, r, rows);
        }
    if (t->lookup == MAPPED)
        lines_map(t);
    if (t->b->form == SPARSE && t->lookup != SEARCHED)
        for (size_t r = 0; r < t->count; r++)
            NAME(spread)(t, r, false);
}

/* and leave them there. */
static TARGET void NAME(clear)(const struct tile *t)
{
    if (t->b->form == SPARSE && t->lookup != SEARCHED)
        for (size_t r = 0; r < t->count; r++)
            NAME(spread)(t, r, true);
    if (t->lookup == MAPPED)
        lines_unmap(t);
}

/* ---- from sums to the kernel ---- */

/* The distances of examples of sizes u and v, see enum term. Where the examples
 * are close, u - sum and v - sum are exact. What is beyond all numbers stays
 * there, and is not taken for 0. */
LOCAL reals NAME(distance)(enum term term, reals u, reals v, reals sum)
{
    if (term == SQUARE || term == ABSOLUTE)
        return (u + v) + sum;
    if (term == OVERLAP)
        sum *= (REAL)0.5;
    return MOST((reals){0}, (u - sum) + (v - sum));
}

/* Vectors of sums become the kernel, of examples of sizes u and v. */
LOCAL void NAME(group)(const struct formula *f, const enum klr_kernel_type type,
                       const enum term term, const size_t beside,
                       const reals u[GROUP], const reals v[GROUP],
                       reals sum[GROUP])
{
    reals gamma = NAME(all)((REAL)f->gamma);
    reals coef0 = NAME(all)((REAL)f->coef0), e[GROUP];
    switch (type) {
    case KLR_RBF:
        EACH(q) sum[q] = gamma * NAME(distance)(term, u[q], v[q], sum[q]);
        NAME(powers)(beside, sum);
        break;
    case KLR_LINEAR:
        EACH(q) sum[q] *= gamma;
        break;
    case KLR_SIGMOID:
        EACH(q) sum[q] = FMA(gamma, sum[q], coef0);
        EACH(q) e[q] = (REAL)TANH_RATE * NAME(abs)(sum[q]);
        NAME(powers)(beside, e);
        EACH(q) sum[q] = NAME(tanh)(sum[q], e[q]);
        break;
    default:
        EACH(q)
        sum[q] = NAME(power)(FMA(gamma, sum[q], coef0), f->degree);
    }
}

/* A vector of entries to where it belongs. */
LOCAL void NAME(store)(bool fixed16, void *out, size_t at, reals entries)
{
#ifdef FIXED16
    if (fixed16) {
        bits units = CONVERT(entries * (REAL)FIXED16_UNITS + (REAL)0.5, bits);
        *(NAME(halves) *)((uint16_t *)out + at) = HALVES(units);
        return;
    }
#endif
    (void)fixed16;
    *(reals *)((REAL *)out + at) = entries;
}

/* Copies what the tile asks for of `rows` left rows and `span` columns, at most
 * SPAN. */
LOCAL void NAME(values_copy)(const struct tile *t, size_t first, size_t rows,
                             size_t begin, size_t span, const REAL *sums)
{
    size_t from = begin < t->begin ? t->begin : begin;
    size_t to = begin + span < t->end ? begin + span : t->end;
    size_t element = t->fixed16 ? sizeof(uint16_t) : sizeof(REAL);
    REAL values[SPAN];
    for (size_t r = 0; r < rows && from < to; r++) {
        for (size_t c = 0; c < span; c += WIDE)
            NAME(store)
        (t->fixed16, values, c, *(const reals *)(sums + r * span + c));
        memcpy((char *)t->out[first + r] +
                   (t->at + (from - t->begin)) * element,
               (const char *)values + (from - begin) * element,
               (to - from) * element);
    }
}

/* out (rows of `t`) = the kernel of `rows` left rows from the first on and
 * `vectors` vectors of columns, of sums (rows, vectors). Rows that stand in for
 * missing ones are computed as the last one, and they and columns that are not
 * asked for end in place of their sums. What the loop asks of `t` it has at
 * hand: for all that the compiler knows, vectors might be stored there. */
LOCAL void NAME(values_of)(const enum klr_kernel_type type,
                           const enum term term, const struct tile *t,
                           size_t first, const size_t rows, size_t begin,
                           const size_t vectors, REAL *sums)
{
    const size_t span = vectors * WIDE;
    const size_t beside = rows * vectors < GROUP ? rows * vectors : GROUP;
    const size_t down = vectors < beside ? beside / vectors : 1;
    const struct formula formula = t->formula;
    const bool fixed16 = t->fixed16;
    const REAL *left = t->left_size,
               *right = (const REAL *)t->right_size + begin;
    const size_t *row = t->row + first;
    const size_t last = t->count - 1 - first;
    const bool inside = begin >= t->begin && begin + span <= t->end;
    const size_t at = t->at + (inside ? begin - t->begin : 0);
    void *const *out = t->out + first;
    reals size[SPAN / WIDE];
    for (size_t c = 0; c < vectors; c++)
        size[c] = *(const reals *)(right + c * WIDE);
    for (size_t r = 0; r < rows; r += down)
        for (size_t c = 0; c < vectors; c += beside) {
            reals u[GROUP], v[GROUP], sum[GROUP];
            REAL *from = sums + r * span + c * WIDE;
            EACH(q)
            {
                size_t i = r + q / vectors;
                u[q] = NAME(all)(left[row[i < last ? i : last]]);
                v[q] = size[c + q % vectors];
                sum[q] = ((const reals *)from)[q];
            }
            NAME(group)(&formula, type, term, beside, u, v, sum);
            EACH(q)
            {
                size_t i = r + q / vectors;
                size_t column = (c + q % vectors) * WIDE;
                if (inside && i <= last)
                    NAME(store)(fixed16, out[i], at + column, sum[q]);
                else
                    *(reals *)(sums + i * span + column) = sum[q];
            }
        }
    if (!inside)
        NAME(values_copy)
    (t, first, last + 1 < rows ? last + 1 : rows, begin, span, sums);
}

/* The kernel that is used most has loops of its own. */
LOCAL void NAME(values)(const struct tile *t, size_t first, const size_t rows,
                        size_t begin, const size_t vectors, REAL *sums)
{
    const enum klr_kernel_type type = t->formula.type;
    const enum term term = t->term;
    if (type == KLR_RBF && term == PRODUCT)
        NAME(values_of)(KLR_RBF, PRODUCT, t, first, rows, begin, vectors, sums);
    else if (type == KLR_RBF && term != OVERLAP) /* of differences */
        NAME(values_of)(KLR_RBF, SQUARE, t, first, rows, begin, vectors, sums);
    else
        NAME(values_of)(type, term, t, first, rows, begin, vectors, sums);
}

/* Kernel values of one row and SPAN columns from their sums. */
static __attribute__((noinline)) TARGET void
NAME(row_values)(const struct tile *t, size_t row, size_t begin, void *sums)
{
    NAME(values)(t, row, 1, begin, SPAN / WIDE, sums);
}

/* ---- dense ---- */

/* A term of each sum, of a line of the left rows and one of the columns. That
 * of sizes makes of a run's products half the distance in its features, with
 * the sign of products. */
LOCAL void NAME(add_line)(enum term term, const bool sizes, const size_t rows,
                          const size_t vectors, size_t lines, const REAL *left,
                          const REAL *line, reals *sum)
{
    reals v[2 * ROWS];
#pragma GCC unroll 8
    for (size_t c = 0; c < vectors; c++) {
        size_t at = c * WIDE;
        v[c] = *(const reals *)(line + at / COLUMNS * COLUMNS * lines +
                                at % COLUMNS);
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++) {
        reals u = NAME(all)(left[r]);
#pragma GCC unroll 8
        for (size_t c = 0; c < vectors; c++) {
            reals *to = sum + r * vectors + c;
            if (sizes)
                *to = (REAL)0.5 * ((*to - u) + (*to - v[c]));
            else
                *to = NAME(add_term)(term, u, v[c], *to);
        }
    }
}

/* sums (rows, vectors * WIDE) of left (lines, rows) and the columns from that
 * of `panel` on. */
LOCAL void NAME(block)(enum term term, const bool cancels, const size_t rows,
                       const size_t vectors, size_t lines, const REAL *left,
                       const REAL *panel, REAL *sums)
{
    reals *total = (reals *)sums;
    size_t k = 0;
    do {
        reals sum[2 * ROWS] = {{0}};
        size_t end = lines - k < TURN ? lines : k + TURN;
        bool first = k == 0;
        for (; k < end; k++)
            NAME(add_line)
        (term, false, rows, vectors, lines, left + k * rows,
         panel + k * COLUMNS, sum);
        if (cancels && k < lines) {
            NAME(add_line)
            (term, true, rows, vectors, lines, left + k * rows,
             panel + k * COLUMNS, sum);
            k++;
        }
#pragma GCC unroll 32
        for (size_t q = 0; q < rows * vectors; q++)
            if (first)
                total[q] = sum[q];
            else
                total[q] += sum[q];
    } while (k < lines);
}

/* Left rows from the first on, in register blocks of `rows`, pass by each panel
 * while it is at hand. */
LOCAL void NAME(sweep)(const struct tile *t, size_t first, size_t end,
                       const size_t rows)
{
    const size_t vectors = VECTORS(rows), span = vectors * WIDE;
    const size_t lines = LINES(t->b);
    const enum term term = t->term;
    const bool cancels = lines > t->b->width;
    _Alignas(64) REAL sums[2 * ROWS * WIDE];
    for (size_t j = t->begin / span * span; j < t->end; j += span) {
        const REAL *panel =
            STORE(t->b).panel + j / COLUMNS * COLUMNS * lines + j % COLUMNS;
        for (size_t i = first; i < end; i += rows) {
            const REAL *left = (const REAL *)t->work + i * lines;
            if (cancels)
                NAME(block)
            (PRODUCT, true, rows, vectors, lines, left, panel, sums);
            else if (term == PRODUCT) NAME(block)(PRODUCT, false, rows, vectors,
                                                  lines, left, panel, sums);
            else if (term == SQUARE) NAME(block)(SQUARE, false, rows, vectors,
                                                 lines, left, panel, sums);
            else NAME(block)(ABSOLUTE, false, rows, vectors, lines, left, panel,
                             sums);
            if (rows == 1 && span == SPAN)
                NAME(row_values)(t, i, j, sums);
            else
                NAME(values)(t, i, rows, j, vectors, sums);
        }
    }
}

static TARGET void NAME(dense)(const struct tile *t)
{
    size_t blocks = NAME(in_blocks)(t->count);
    if (blocks)
        NAME(sweep)(t, 0, blocks, ROWS);
    if (blocks < t->count)
        NAME(sweep)(t, blocks, t->count, 1);
}

/* ---- sparse ---- */

/* sums (vectors * WIDE) of the left rows and column j; of those beyond the
 * stride none has a meaning. */
LOCAL void NAME(column)(const struct tile *t, enum term term,
                        const size_t vectors, const size_t stride,
                        const bool mapped, size_t j, REAL *sums)
{
    const struct klr_points *b = t->b;
    const REAL *left = t->work;
    reals sum[ABREAST / WIDE] = {{0}};
    for (size_t q = b->start[j]; q < b->start[j + 1]; q++) {
        size_t at = (size_t)b->column[q];
        if (mapped && (at = lines_find(t, b->column[q])) == NO_LINE)
            continue;
        const REAL *line = left + at * stride;
        reals v = NAME(all)(NAME(stored)(b, q));
#pragma GCC unroll 8
        for (size_t r = 0; r < vectors; r++)
            sum[r] = NAME(add_term)(term, *(const reals *)(line + r * WIDE), v,
                                    sum[r]);
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < vectors; r++)
        *(reals *)(sums + r * WIDE) = sum[r];
}

/* A block (4, 4) of `to` becomes that of `from`, transposed. */
LOCAL void NAME(turn)(const REAL *from, size_t from_pitch, REAL *to,
                      size_t to_pitch)
{
    const four a = *(const four *)from;
    const four b = *(const four *)(from + from_pitch);
    const four c = *(const four *)(from + 2 * from_pitch);
    const four d = *(const four *)(from + 3 * from_pitch);
    const four ac0 = SHUFFLE(places, a, c, 0, 4, 1, 5);
    const four ac2 = SHUFFLE(places, a, c, 2, 6, 3, 7);
    const four bd0 = SHUFFLE(places, b, d, 0, 4, 1, 5);
    const four bd2 = SHUFFLE(places, b, d, 2, 6, 3, 7);
    *(four *)to = SHUFFLE(places, ac0, bd0, 0, 4, 1, 5);
    *(four *)(to + to_pitch) = SHUFFLE(places, ac0, bd0, 2, 6, 3, 7);
    *(four *)(to + 2 * to_pitch) = SHUFFLE(places, ac2, bd2, 0, 4, 1, 5);
    *(four *)(to + 3 * to_pitch) = SHUFFLE(places, ac2, bd2, 2, 6, 3, 7);
}

LOCAL void NAME(sparse_block)(const struct tile *t, enum term term,
                              const size_t stride, const bool mapped,
                              size_t column, size_t span)
{
    const size_t vectors = stride < WIDE ? 1 : stride / WIDE;
    _Alignas(64) REAL sums[SPAN][ABREAST], values[ABREAST][SPAN];
    for (size_t c = 0; c < span; c++)
        NAME(column)(t, term, vectors, stride, mapped, column + c, sums[c]);
    if (span < SPAN)
        memset(sums + span, 0, (SPAN - span) * sizeof *sums);
    for (size_t c = 0; c < SPAN; c += 4)
        for (size_t r = 0; r < stride; r += 4)
            NAME(turn)(&sums[c][r], ABREAST, &values[r][c], SPAN);
    for (size_t r = 0; r < t->count; r++)
        NAME(row_values)(t, r, column, values[r]);
}

LOCAL void NAME(sparse_sweep)(const struct tile *t, const size_t stride,
                              const bool mapped)
{
    for (size_t j = t->begin, span; j < t->end; j += span) {
        span = t->end - j < SPAN ? t->end - j : SPAN;
        if (t->term == PRODUCT)
            NAME(sparse_block)(t, PRODUCT, stride, mapped, j, span);
        else
            NAME(sparse_block)(t, OVERLAP, stride, mapped, j, span);
    }
}

LOCAL void NAME(sparse_rows)(const struct tile *t, const bool mapped)
{
    if (t->left == 1)
        NAME(sparse_sweep)(t, 1, mapped);
    else if (t->left == ABREAST / 4)
        NAME(sparse_sweep)(t, ABREAST / 4, mapped);
    else if (t->left == ABREAST / 2)
        NAME(sparse_sweep)(t, ABREAST / 2, mapped);
    else
        NAME(sparse_sweep)(t, ABREAST, mapped);
}

/* The sum of column j and the one left row, which is searched. */
LOCAL REAL NAME(searched)(const struct tile *t, size_t j)
{
    const struct klr_points *a = t->a, *b = t->b;
    size_t p = a->start[t->row[0]], end = a->start[t->row[0] + 1];
    reals sum = {0};
    for (size_t q = b->start[j]; q < b->start[j + 1] && p < end; q++) {
        p = map_seek(a->column, p, end, b->column[q]);
        if (p < end && a->column[p] == b->column[q])
            sum = NAME(add_term)(t->term, NAME(all)(NAME(stored)(a, p)),
                                 NAME(all)(NAME(stored)(b, q)), sum);
    }
    return sum[0];
}

static TARGET void NAME(search)(const struct tile *t)
{
    for (size_t j = t->begin; j < t->end; j += SPAN) {
        REAL sums[SPAN] = {0};
        for (size_t c = 0; c < SPAN && j + c < t->end; c++)
            sums[c] = NAME(searched)(t, j + c);
        NAME(row_values)(t, 0, j, sums);
    }
}

static TARGET void NAME(sparse)(const struct tile *t)
{
    if (t->lookup == SEARCHED)
        NAME(search)(t);
    else if (t->lookup == MAPPED)
        NAME(sparse_rows)(t, true);
    else
        NAME(sparse_rows)(t, false);
}

/* ---- binary ---- */

#ifdef LOOKUP
typedef uint8_t NAME(bytes)
    __attribute__((vector_size(SPAN), aligned(1), __may_alias__));

/* sums (rows, SPAN) = unit times the features that left rows, in `table`
 * (groups, rows, 16), share with the columns of `nibble` (groups, SPAN): by
 * runs of groups whose sums fit in bytes. */
LOCAL void NAME(shared)(const size_t rows, size_t groups, const uint8_t *table,
                        const uint8_t *nibble, REAL unit, REAL *sums)
{
    for (size_t g = 0; g < groups;) {
        NAME(bytes) sum[LOOKUP_ROWS] = {{0}};
        const bool first = g == 0;
        size_t run = UINT8_MAX / LOOKUP_BITS;
        size_t end = groups - g < run ? groups : g + run;
        for (; g < end; g++, nibble += SPAN) {
            NAME(bytes) v = *(const NAME(bytes) *)nibble;
#pragma GCC unroll 8
            for (size_t r = 0; r < rows; r++, table += 16)
                sum[r] += (NAME(bytes))LOOKUP(table, v);
        }
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < SPAN; c += WIDE) {
                reals *to = (reals *)(sums + r * SPAN + c);
                reals more = unit * WIDEN((const uint8_t *)&sum[r] + c);
                if (first)
                    *to = more;
                else
                    *to += more;
            }
    }
}

static TARGET void NAME(binary)(const struct tile *t)
{
    size_t groups = binary_groups(t->b);
    REAL unit = STORE(t->b).common * STORE(t->b).common;
    _Alignas(64) REAL sums[LOOKUP_ROWS * SPAN];
    for (size_t j = t->begin / SPAN * SPAN; j < t->end; j += SPAN)
        for (size_t i = 0; i < t->count; i += t->left) {
            const uint8_t *table = (const uint8_t *)t->table + i * groups * 16;
            const uint8_t *nibble = t->b->nibble + j * groups;
            if (t->left == 1)
                NAME(shared)(1, groups, table, nibble, unit, sums);
            else
                NAME(shared)
            (LOOKUP_ROWS, groups, table, nibble, unit, sums);
            for (size_t r = 0; r < t->left && i + r < t->count; r++)
                NAME(row_values)(t, i + r, j, sums + r * SPAN);
        }
}
#undef LOOKUP
#undef WIDEN
#define BINARY NAME(binary)
#else
#define BINARY NULL
#endif

static const struct gram_tiles NAME(tiles) = {
    ROWS,        ABREAST,      NAME(sizes), NAME(load),       NAME(clear),
    NAME(dense), NAME(sparse), BINARY,      NAME(row_values), LOGISTIC};

#undef LOCAL
#undef WIDE
#undef GROUP
#undef EACH
#undef AT_MOST
#undef VECTORS
#undef ALONE
#undef SIZE_BITS
#undef SIGN_BIT
#undef reals
#undef bits
#undef four
#undef places
#undef NAME
#undef TARGET
#undef BYTES
#undef ROWS
#undef FMA
#undef MOST
#undef HALVES
#undef BINARY
#undef LOGISTIC
#undef TO_INTEGER
