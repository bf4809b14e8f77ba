/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: blocks of the Gram matrix in float arithmetic for one instruction
 * set. Whoever includes it defines
 *
 *   NAME(x)          x with the suffix of the instruction set
 *   TARGET           the function attribute that admits its instructions
 *   BYTES            of a vector: 16, 32 or 64
 *   ROWS             left rows of a register block, beside two vectors
 *   FMA(a, b, c)     a * b + c, in vectors, with one rounding if possible
 *   MOST(a, b)       the larger one of each two elements
 *   LOOKUP(table, v) table[v_i] for each of SPAN bytes v_i < 16, if the
 *                    processor has such an instruction, and then also
 *   WIDEN(bytes)     a vector of as many bytes
 *
 * A register block has ROWS * 2 accumulators. Its products run over RUN
 * features at a time; the sums of the runs are added up in memory, which makes
 * errors grow with RUN + width / RUN rather than with the width.
 */
#define LOCAL static inline __attribute__((always_inline)) TARGET
#define WIDE  (BYTES / (int)sizeof(float))
#define GROUP (SPAN / WIDE < 4 ? SPAN / WIDE : 4) /* vectors side by side */
/* Statements for all of them, not loops around them. */
#define EACH(q) _Pragma("GCC unroll 4") for (int q = 0; q < GROUP; q++)

typedef float NAME(floats)
    __attribute__((vector_size(BYTES), aligned(4), __may_alias__));
typedef int32_t NAME(ints)
    __attribute__((vector_size(BYTES), aligned(4), __may_alias__));
#define floats NAME(floats)
#define ints   NAME(ints)

LOCAL floats NAME(all)(float x)
{
    return x - (floats){0};
}

LOCAL floats NAME(abs)(floats x)
{
    return (floats)((ints)x & INT32_MAX);
}

/* a where the mask is set, else b */
LOCAL floats NAME(choose)(ints mask, floats a, floats b)
{
    return (floats)(((ints)a & mask) | ((ints)b & ~mask));
}

/* ---- elementary functions ---- */

/* 2^x for x <= 0, within 2 units in the last place; 2^0 = 1 exactly, and 0
 * below 2^-125.5. x = n + r with |r| <= 1/2; 2 2^r = 2 + r p(r), where p
 * interpolates 2 (2^r - 1) / r at the Chebyshev points, good to 1e-8, meets
 * 2^(n-1), whose exponent n + 126 is what rounding x to integers leaves in the
 * last bits of a float; n = -126 leaves 0. GROUP vectors go side by side: one
 * alone would wait for each of its operations. */
LOCAL void NAME(powers)(floats x[GROUP])
{
    static const float coefficients[] = {0x1.5f089p-9f,  0x1.3b2a54p-6f,
                                         0x1.c6af6cp-4f, 0x1.ebfbep-2f,
                                         0x1.62e43p+0f,  2.0f};
    const float to_integer = 0x1.8p23f + 126;
    floats n[GROUP], scale[GROUP], p[GROUP];
    EACH(q) x[q] = MOST(x[q], NAME(all)(POWER_LEAST));
    EACH(q) n[q] = x[q] + to_integer;
    EACH(q) scale[q] = (floats)((ints)n[q] << 23);
    EACH(q) x[q] -= n[q] - to_integer;
    EACH(q) p[q] = NAME(all)(0x1.44138ap-12f);
#pragma GCC unroll 6
    for (int c = 0; c < 6; c++)
        EACH(q) p[q] = FMA(p[q], x[q], NAME(all)(coefficients[c]));
    EACH(q) x[q] = p[q] * scale[q];
}

/* tanh within 2 units in the last place: x + x^3 q(x^2) up to 0.65, with q from
 * Chebyshev points as above, then (1 - e) / (1 + e); e is e^(-2 |x|). */
LOCAL floats NAME(tanh)(floats x, floats e)
{
    floats size = NAME(abs)(x), square = x * x;
    floats far = (1.0f - e) / (1.0f + e);
    floats q = NAME(all)(0x1.224fcep-9f);
    q = FMA(q, square, NAME(all)(-0x1.0f1266p-7f));
    q = FMA(q, square, NAME(all)(0x1.644a1ep-6f));
    q = FMA(q, square, NAME(all)(-0x1.ba02aap-5f));
    q = FMA(q, square, NAME(all)(0x1.1110d8p-3f));
    q = FMA(q, square, NAME(all)(-0x1.555556p-2f));
    floats near = FMA(size * square, q, size);
    floats value = NAME(choose)(size < 0.65f, near, far);
    return (floats)((ints)value | ((ints)x & INT32_MIN));
}

LOCAL floats NAME(power)(floats base, int degree)
{
    floats power = NAME(all)(1);
    for (; degree > 0; degree /= 2) {
        if (degree % 2)
            power *= base;
        if (degree > 1)
            base *= base;
    }
    return power;
}

/* ---- from sums to the kernel ---- */

/* The distances of examples of sizes u and v, see enum term. Where the examples
 * are close, u - sum and v - sum are exact. */
LOCAL floats NAME(distance)(enum term term, floats u, floats v, floats sum)
{
    if (term == SQUARE || term == ABSOLUTE)
        return (u + v) + sum;
    if (term == OVERLAP)
        sum *= 0.5f;
    return MOST((u - sum) + (v - sum), (floats){0});
}

/* GROUP vectors of sums become the kernel; vector q belongs to row[q] and to
 * the columns from column[q] on. */
LOCAL void NAME(group)(const struct tile *t, const size_t row[GROUP],
                       const size_t column[GROUP], floats sum[GROUP])
{
    const struct narrow *narrow = &t->b->narrow;
    floats gamma = NAME(all)(t->value.gamma);
    floats coef0 = NAME(all)(t->value.coef0), e[GROUP];
    switch (t->value.type) {
    case KLR_RBF:
        EACH(q)
        sum[q] =
            gamma *
            NAME(distance)(narrow->term, NAME(all)(t->a->narrow.size[row[q]]),
                           *(const floats *)(narrow->size + column[q]), sum[q]);
        NAME(powers)(sum);
        break;
    case KLR_LINEAR:
        EACH(q) sum[q] *= gamma;
        break;
    case KLR_SIGMOID:
        EACH(q) sum[q] = FMA(gamma, sum[q], coef0);
        EACH(q) e[q] = TANH_RATE * NAME(abs)(sum[q]);
        NAME(powers)(e);
        EACH(q) sum[q] = NAME(tanh)(sum[q], e[q]);
        break;
    default:
        EACH(q)
        sum[q] = NAME(power)(FMA(gamma, sum[q], coef0), t->value.degree);
    }
}

/* out (rows of `t`) = the kernel of `rows` left rows from the first on and
 * `span` columns, of sums (rows, span); rows * span is a multiple of GROUP *
 * WIDE. Rows that stand in for missing ones are computed as the last one, and
 * they and columns that are not asked for end in place of their sums. */
LOCAL void NAME(values)(const struct tile *t, size_t first, const size_t rows,
                        size_t begin, const size_t span, float *sums)
{
    size_t last = t->count - 1;
    bool inside = begin >= t->begin && begin + span <= t->end;
#pragma GCC unroll 8
    for (size_t at = 0; at < rows * span; at += GROUP * WIDE) {
        size_t row[GROUP], column[GROUP];
        floats sum[GROUP];
        EACH(q)
        {
            size_t to = at + (size_t)q * WIDE;
            row[q] =
                t->row[first + to / span < last ? first + to / span : last];
            column[q] = begin + to % span;
            sum[q] = *(const floats *)(sums + to);
        }
        NAME(group)(t, row, column, sum);
        EACH(q)
        {
            size_t to = at + (size_t)q * WIDE, r = first + to / span;
            float *place =
                inside && r <= last
                    ? t->out + r * t->stride + (begin - t->begin) + to % span
                    : sums + to;
            *(floats *)place = sum[q];
        }
    }
    if (inside)
        return;
    size_t from = begin < t->begin ? t->begin : begin;
    size_t to = begin + span < t->end ? begin + span : t->end;
    for (size_t r = 0; r < rows && first + r <= last; r++)
        memcpy(t->out + (first + r) * t->stride + (from - t->begin),
               sums + r * span + (from - begin), (to - from) * sizeof *sums);
}

/* Of one row and SPAN columns. */
static __attribute__((noinline)) TARGET void
NAME(row_values)(const struct tile *t, size_t row, size_t begin, float *sums)
{
    NAME(values)(t, row, 1, begin, SPAN, sums);
}

/* ---- dense ---- */

LOCAL floats NAME(add_term)(enum term term, floats u, floats v, floats sum)
{
    floats d = u - v;
    if (term == SQUARE)
        return FMA(d, d, sum);
    if (term == ABSOLUTE)
        return sum + NAME(abs)(d);
    if (term == OVERLAP)
        return sum + ((NAME(abs)(u) + NAME(abs)(v)) - NAME(abs)(d));
    return FMA(u, v, sum);
}

/* sums (rows, vectors * WIDE) of left (width, rows) and the columns from that
 * of `panel` on. */
LOCAL void NAME(block)(enum term term, const size_t rows, const size_t vectors,
                       size_t width, const float *left, const float *panel,
                       float *sums)
{
    floats *total = (floats *)sums;
    size_t k = 0;
    do {
        floats sum[2 * ROWS > SPAN / WIDE ? 2 * ROWS : SPAN / WIDE] = {{0}};
        size_t end = width - k < RUN ? width : k + RUN;
        bool first = k == 0;
        for (; k < end; k++) {
            const float *line = panel + k * FLOAT_PANEL;
            floats v[SPAN / WIDE];
#pragma GCC unroll 8
            for (size_t c = 0; c < vectors; c++) {
                size_t at = c * WIDE;
                v[c] =
                    *(const floats *)(line +
                                      at / FLOAT_PANEL * FLOAT_PANEL * width +
                                      at % FLOAT_PANEL);
            }
#pragma GCC unroll 16
            for (size_t r = 0; r < rows; r++) {
                floats u = NAME(all)(left[k * rows + r]);
#pragma GCC unroll 8
                for (size_t c = 0; c < vectors; c++)
                    sum[r * vectors + c] =
                        NAME(add_term)(term, u, v[c], sum[r * vectors + c]);
            }
        }
#pragma GCC unroll 32
        for (size_t q = 0; q < rows * vectors; q++)
            if (first)
                total[q] = sum[q];
            else
                total[q] += sum[q];
    } while (k < width);
}

LOCAL void NAME(dense_block)(const struct tile *t, const size_t rows,
                             const size_t vectors, size_t row, size_t column)
{
    const size_t span = vectors * WIDE;
    size_t width = t->b->width;
    _Alignas(64) float sums[2 * ROWS * WIDE > SPAN ? 2 * ROWS * WIDE : SPAN];
    const float *left = t->work + row * width;
    const float *panel = t->b->narrow.panel +
                         column / FLOAT_PANEL * FLOAT_PANEL * width +
                         column % FLOAT_PANEL;
    if (t->b->narrow.term == PRODUCT)
        NAME(block)(PRODUCT, rows, vectors, width, left, panel, sums);
    else if (t->b->narrow.term == SQUARE)
        NAME(block)(SQUARE, rows, vectors, width, left, panel, sums);
    else
        NAME(block)(ABSOLUTE, rows, vectors, width, left, panel, sums);
    NAME(values)(t, row, rows, column, span, sums);
}

/* Left rows, packed, pass by each panel while it is at hand. */
static TARGET void NAME(dense)(const struct tile *t)
{
    const size_t span = t->count == 1 ? SPAN : 2 * WIDE;
    for (size_t j = t->begin / span * span; j < t->end; j += span)
        if (t->count == 1)
            NAME(dense_block)(t, 1, SPAN / WIDE, 0, j);
        else
            for (size_t i = 0; i < t->count; i += ROWS)
                NAME(dense_block)(t, ROWS, 2, i, j);
}

/* ---- sparse ---- */

/* sums (vectors * WIDE) of left (width, stride) and column j; of a single left
 * row only the first one has a meaning. */
LOCAL void NAME(column)(enum term term, const size_t vectors,
                        const size_t stride, const struct klr_points *b,
                        size_t j, const float *left, float *sums)
{
    floats sum[SPREAD / WIDE] = {{0}};
    for (size_t q = b->start[j]; q < b->start[j + 1]; q++) {
        const float *line = left + (size_t)b->column[q] * stride;
        floats v = NAME(all)(b->narrow.values[q]);
#pragma GCC unroll 8
        for (size_t r = 0; r < vectors; r++)
            sum[r] = NAME(add_term)(term, *(const floats *)(line + r * WIDE), v,
                                    sum[r]);
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < vectors; r++)
        *(floats *)(sums + r * WIDE) = sum[r];
}

/* A block (4, 4) of `to` becomes that of `from`, transposed. */
LOCAL void NAME(turn)(const float *from, size_t from_pitch, float *to,
                      size_t to_pitch)
{
    const four a = *(const four *)from;
    const four b = *(const four *)(from + from_pitch);
    const four c = *(const four *)(from + 2 * from_pitch);
    const four d = *(const four *)(from + 3 * from_pitch);
    const four ac0 = __builtin_shuffle(a, c, (four_bits){0, 4, 1, 5});
    const four ac2 = __builtin_shuffle(a, c, (four_bits){2, 6, 3, 7});
    const four bd0 = __builtin_shuffle(b, d, (four_bits){0, 4, 1, 5});
    const four bd2 = __builtin_shuffle(b, d, (four_bits){2, 6, 3, 7});
    *(four *)to = __builtin_shuffle(ac0, bd0, (four_bits){0, 4, 1, 5});
    to += to_pitch;
    *(four *)to = __builtin_shuffle(ac0, bd0, (four_bits){2, 6, 3, 7});
    to += to_pitch;
    *(four *)to = __builtin_shuffle(ac2, bd2, (four_bits){0, 4, 1, 5});
    to += to_pitch;
    *(four *)to = __builtin_shuffle(ac2, bd2, (four_bits){2, 6, 3, 7});
}

LOCAL void NAME(sparse_block)(const struct tile *t, enum term term,
                              const size_t stride, size_t column, size_t span)
{
    const size_t vectors = stride == 1 ? 1 : stride / WIDE;
    _Alignas(64) float sums[SPAN][SPREAD], values[SPREAD][SPAN];
    for (size_t c = 0; c < span; c++)
        NAME(column)(term, vectors, stride, t->b, column + c, t->work, sums[c]);
    if (span < SPAN)
        memset(sums + span, 0, (SPAN - span) * sizeof *sums);
    for (size_t c = 0; c < SPAN; c += 4)
        for (size_t r = 0; r < stride; r += 4)
            NAME(turn)(&sums[c][r], SPREAD, &values[r][c], SPAN);
    for (size_t r = 0; r < t->count; r++)
        NAME(row_values)(t, r, column, values[r]);
}

static TARGET void NAME(sparse)(const struct tile *t)
{
    for (size_t j = t->begin, span; j < t->end; j += span) {
        span = t->end - j < SPAN ? t->end - j : SPAN;
        bool product = t->b->narrow.term == PRODUCT;
        if (t->left == 1 && product)
            NAME(sparse_block)(t, PRODUCT, 1, j, span);
        else if (t->left == 1)
            NAME(sparse_block)(t, OVERLAP, 1, j, span);
        else if (t->left == SPREAD && product)
            NAME(sparse_block)(t, PRODUCT, SPREAD, j, span);
        else if (t->left == SPREAD)
            NAME(sparse_block)(t, OVERLAP, SPREAD, j, span);
        else if (product)
            NAME(sparse_block)(t, PRODUCT, SPREAD / 2, j, span);
        else
            NAME(sparse_block)(t, OVERLAP, SPREAD / 2, j, span);
    }
}

/* ---- binary ---- */

#ifdef LOOKUP
typedef uint8_t NAME(bytes)
    __attribute__((vector_size(SPAN), aligned(1), __may_alias__));

/* sums (rows, SPAN) = unit times the features that left rows, in `table`
 * (groups, rows, 16), share with the columns of `nibble` (groups, SPAN). */
LOCAL void NAME(shared)(const size_t rows, size_t groups, const uint8_t *table,
                        const uint8_t *nibble, float unit, float *sums)
{
    NAME(bytes) sum[LOOKUP_ROWS] = {{0}};
    for (size_t g = 0; g < groups; g++, nibble += SPAN) {
        NAME(bytes) v = *(const NAME(bytes) *)nibble;
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++, table += 16)
            sum[r] += (NAME(bytes))LOOKUP(table, v);
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < SPAN; c += WIDE)
            *(floats *)(sums + r * SPAN + c) =
                unit * WIDEN((const uint8_t *)&sum[r] + c);
}

static TARGET void NAME(binary)(const struct tile *t)
{
    const struct narrow *narrow = &t->b->narrow;
    size_t groups = binary_groups(t->b);
    float unit = narrow->common * narrow->common;
    _Alignas(64) float sums[LOOKUP_ROWS * SPAN];
    for (size_t j = t->begin / SPAN * SPAN; j < t->end; j += SPAN)
        for (size_t i = 0; i < t->count; i += t->left) {
            const uint8_t *table = (const uint8_t *)t->table + i * groups * 16;
            const uint8_t *nibble = narrow->nibble + j * groups;
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

static const struct tiles NAME(tiles) = {ROWS, NAME(dense), NAME(sparse),
                                         BINARY};

#undef LOCAL
#undef WIDE
#undef GROUP
#undef EACH
#undef floats
#undef ints
#undef NAME
#undef TARGET
#undef BYTES
#undef ROWS
#undef FMA
#undef MOST
#undef BINARY
