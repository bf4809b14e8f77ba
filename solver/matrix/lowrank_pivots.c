/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The columns of L of lowrank.c: a pivoted Cholesky factorisation, in blocks.
 * The examples with the largest residual diagonal are candidates, a small
 * pivoted factorisation of their residual block keeps those that add something,
 * and all rows of L get their new columns in one sweep. Strips of rows are
 * tasks of the pool.
 *
 * The rank grows while a block of pivots is expected to save more in products
 * with K than it costs, or to a limit.
 */
#include "solver/matrix/matrix.h"

enum { PIVOTS_STRIP = 96 }; /* rows of L that get new columns in one task */

/* Costs in the units of precond_pays: of computing an entry of K; of fetching
 * one where K is shared; and of an element of L, for each element before it in
 * its row. */
static const double precond_entry = 12, precond_shared = 4,
                    precond_element = 0.5;

/* ---- choosing pivots ---- */

static int compare_rows(const void *a, const void *b)
{
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    return (i > j) - (i < j);
}

/* The `most` candidates with the largest residual diagonal; fewer if others
 * are too small to matter. Inserted into a short list, descending; then in the
 * order of their rows. */
static size_t precond_candidates(const struct precond *m, size_t most,
                                 size_t *candidate)
{
    size_t count = 0;
    for (size_t i = 0; i < m->n; i++) {
        double value = m->residual[i];
        if (value <= m->least ||
            (count == most && value <= m->residual[candidate[count - 1]]))
            continue;
        size_t at = count < most ? count++ : count - 1;
        for (; at > 0 && m->residual[candidate[at - 1]] < value; at--)
            candidate[at] = candidate[at - 1];
        candidate[at] = i;
    }
    qsort(candidate, count, sizeof *candidate, compare_rows);
    return count;
}

/* One block of pivots and what belongs to it. */
struct pivots {
    size_t candidates, count;
    size_t row[KLR_PANEL]; /* candidates, ascending; then pivots, in order */
    double block[KLR_PANEL][KLR_PANEL]; /* residual; then its factor R' */
};

/* Entries of K between the candidates, (KLR_PANEL, KLR_PANEL). */
static bool pivots_entries(const struct pivots *p, struct submatrix matrix,
                           float *entry)
{
    size_t position[KLR_PANEL], count = 0;
    struct klr_range range[KLR_PANEL];
    for (size_t a = 0; a < p->candidates; a++) {
        size_t i = position[a] = set_position(matrix.set, p->row[a]);
        count = set_append(range, count, (struct klr_range){i, i + 1});
    }
    return operator_rows(matrix.op, position, p->candidates,
                         set_of(range, count), KLR_FLOAT, entry, KLR_PANEL);
}

/* Residual entries of the candidates: s_i K_ij s_j - l_i'l_j. Their rows of L
 * become the columns of m->lines. */
static bool pivots_block(struct precond *m, struct pivots *p)
{
    size_t count = p->candidates;
    float entry[KLR_PANEL * KLR_PANEL];
    double product[KLR_BAND * KLR_BAND];
    if (!pivots_entries(p, m->matrix, entry))
        return false;
    for (size_t a = 0; a < count; a++)
        for (size_t k = 0; k < m->rank; k++)
            m->lines[k * KLR_PANEL + a] = (double)*precond_at(m, p->row[a], k);
    m->dense->gram(m->rank, m->lines, m->lines, KLR_DOUBLE, KLR_PANEL, count,
                   count, product);
    m->flops += (double)(count * count * m->rank);
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b <= a; b++) {
            double scale = m->s[p->row[a]] * m->s[p->row[b]];
            p->block[a][b] = p->block[b][a] =
                scale * (double)entry[b * KLR_PANEL + a] -
                product[b * KLR_BAND + a];
        }
    return true;
}

static void pivots_swap(struct pivots *p, size_t a, size_t b)
{
    size_t row = p->row[a];
    p->row[a] = p->row[b];
    p->row[b] = row;
    for (size_t k = 0; k < p->candidates; k++) {
        double value = p->block[a][k];
        p->block[a][k] = p->block[b][k];
        p->block[b][k] = value;
    }
    for (size_t k = 0; k < p->candidates; k++) {
        double value = p->block[k][a];
        p->block[k][a] = p->block[k][b];
        p->block[k][b] = value;
    }
}

/* Pivoted Cholesky of the block, while a pivot keeps a fair part of what the
 * first one had. The factor is left in the lower triangle. */
static void pivots_factor(struct pivots *p, double least)
{
    const double fair = 0.05;
    for (size_t k = 0; k < p->candidates; k++) {
        size_t best = k;
        for (size_t a = k + 1; a < p->candidates; a++)
            if (p->block[a][a] > p->block[best][best])
                best = a;
        pivots_swap(p, k, best);
        double first = p->block[0][0] * p->block[0][0];
        double pivot = p->block[k][k];
        if (!(pivot > least) || (k > 0 && pivot < fair * first))
            return;
        p->block[k][k] = sqrt(pivot);
        for (size_t a = k + 1; a < p->candidates; a++)
            p->block[a][k] /= p->block[k][k];
        for (size_t a = k + 1; a < p->candidates; a++)
            for (size_t b = k + 1; b <= a; b++)
                p->block[b][a] = p->block[a][b] -=
                    p->block[a][k] * p->block[b][k];
        p->count = k + 1;
    }
}

/* inverse (KLR_PANEL, KLR_PANEL) = R^-1 of the pivots, filled up with zeros:
 * column c solves R x = e_c. */
static void pivots_invert(const struct pivots *p,
                          float inverse[KLR_PANEL][KLR_PANEL])
{
    double x[KLR_PANEL][KLR_PANEL] = {{0}};
    for (size_t c = 0; c < p->count; c++) {
        x[c][c] = 1 / p->block[c][c];
        for (size_t k = c; k-- > 0;) {
            double sum = 0;
            for (size_t j = k + 1; j <= c; j++)
                sum += p->block[j][k] * x[j][c];
            x[k][c] = -sum / p->block[k][k];
        }
    }
    for (size_t k = 0; k < KLR_PANEL; k++)
        for (size_t c = 0; c < KLR_PANEL; c++)
            inverse[k][c] = (float)x[k][c];
}

/* ---- new columns ---- */

struct append {
    struct precond *m;
    const struct pivots *pivots;
    float inverse[KLR_PANEL][KLR_PANEL];
};

/* Row i of L gets its new columns. */
static void row_append(const struct precond *m, size_t i, const float *fresh,
                       size_t count)
{
    for (size_t c = 0, k = m->rank, room; c < count; c += room, k += room) {
        room = KLR_BAND - k % KLR_BAND;
        room = room < count - c ? room : count - c;
        memcpy(precond_at(m, i, k), fresh + c, room * sizeof *fresh);
    }
}

/* The new columns of a strip of rows of L: l_i R = s_i K_ip s_p - L_i L_p'. */
static void append_task(void *context, size_t strip, size_t thread)
{
    const struct append *append = context;
    const struct precond *m = append->m;
    const struct pivots *p = append->pivots;
    size_t begin = strip * PIVOTS_STRIP, left = m->n - begin;
    size_t rows = left < PIVOTS_STRIP ? left : PIVOTS_STRIP;
    _Alignas(64) float x[PIVOTS_STRIP][KLR_PANEL] = {{0}};
    _Alignas(64) float fresh[PIVOTS_STRIP][KLR_PANEL] = {{0}};
    double fall[PIVOTS_STRIP] = {0};
    (void)thread;
    for (size_t c = 0; c < p->count; c++) {
        const float *column = m->column + c * m->n + begin;
        for (size_t i = 0; i < rows; i++)
            x[i][c] = (float)(m->s[begin + i] * m->s[p->row[c]]) * column[i];
    }
    for (size_t k = 0; k < m->rank; k += KLR_BAND)
        m->dense->gemm_32(rows, band_rows(m->rank, k), precond_at(m, begin, k),
                          m->pitch, m->panel + k * KLR_PANEL, *x);
    m->dense->gemm_32(rows, p->count, *x, KLR_PANEL, *append->inverse, *fresh);
    for (size_t c = 0; c < p->count; c++)
        for (size_t i = 0; i < rows; i++)
            fall[i] += (double)fresh[i][c] * (double)fresh[i][c];
    for (size_t i = 0; i < rows; i++) {
        row_append(m, begin + i, fresh[i], p->count);
        m->residual[begin + i] = fmax(m->residual[begin + i] - fall[i], 0);
    }
}

/* New columns for all rows of L. */
static bool precond_append(struct precond *m, const struct pivots *p)
{
    struct append append = {.m = m, .pivots = p};
    pivots_invert(p, append.inverse);
    for (size_t k = 0; k < m->rank; k++)
        for (size_t c = 0; c < KLR_PANEL; c++)
            m->panel[k * KLR_PANEL + c] =
                c < p->count ? -*precond_at(m, p->row[c], k) : 0;
    if (!klr_pool_run(m->pool, (m->n + PIVOTS_STRIP - 1) / PIVOTS_STRIP,
                      append_task, &append))
        return false;
    for (size_t c = 0; c < p->count; c++) {
        m->residual[p->row[c]] = 0;
        m->pivot[m->rank + c] = p->row[c];
    }
    m->flops += 2.0 * (double)m->n * KLR_PANEL * (double)(m->rank + p->count);
    m->rank += p->count;
    return true;
}

static bool precond_columns(struct precond *m, const struct pivots *p)
{
    size_t position[KLR_PANEL];
    for (size_t c = 0; c < p->count; c++)
        position[c] = set_position(m->matrix.set, p->row[c]);
    return operator_rows(m->matrix.op, position, p->count, m->matrix.set,
                         KLR_FLOAT, m->column, m->n);
}

/* True if another block of pivots is expected to save more than it costs. The
 * pivots of the last block lowered the trace by `fall` each, those before by
 * `before`.
 *
 * A pivot takes about the largest eigenvalue away. So S K S - L L' has no
 * eigenvalue much larger than the last fall, and (I + S K S, M) a condition of
 * 1 + fall. To a tenth of the residual conjugate gradients take 1/2 log(20)
 * sqrt(1 + fall) steps, in theory and in fact. The trace is expected to go on
 * falling geometrically. The unit of time is that of reading an entry of K in a
 * symmetric product, on one processor. Times are constants, since the rank must
 * not depend on the computer. To compute an entry of K of a hundred features
 * takes 12 units; where folds share K, 4 serve best. For n examples,
 *
 *   saved  entry n^2 (steps - steps after it)
 *   spent  32 n (3 to fetch K + rank / 2 for new columns and L'L + 3 a step) */
static bool precond_pays(const struct precond *m, double fall, double before)
{
    const double fetch = 3, sweep = 3;
    double next = fall * fmin(fmax(fall / before, 0.5), 0.9);
    double steps = 0.5 * log(20) * sqrt(1 + fall);
    double after = 0.5 * log(20) * sqrt(1 + next);
    double entry = m->shared ? precond_shared : precond_entry;
    double saved =
        m->weight_of_saved_products * entry * (double)m->n * (steps - after);
    double spent =
        KLR_PANEL * (fetch + precond_element * (double)m->rank + sweep * after);
    return saved > spent;
}

static bool precond_is_dear(const struct precond *m)
{
    double rank = (double)m->rank;
    return precond_element / 2 * rank * rank > precond_entry * (double)m->n;
}

static double precond_trace(const struct precond *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->n; i++)
        sum += m->residual[i];
    return sum;
}

/* Columns of L, block by block. */
static bool precond_grow(struct precond *m)
{
    struct pivots p;
    double trace = precond_trace(m), fall = INFINITY, before;
    do {
        size_t room = m->limit - m->rank;
        p.count = 0;
        p.candidates =
            precond_candidates(m, room < KLR_PANEL ? room : KLR_PANEL, p.row);
        if (!pivots_block(m, &p))
            return false;
        pivots_factor(&p, m->least);
        if (!precond_columns(m, &p) || !precond_append(m, &p))
            return false;
        double left = precond_trace(m);
        before = fall;
        fall = (trace - left) / (double)p.count;
        trace = left;
    } while (p.count > 0 && m->rank < m->limit &&
             precond_pays(m, fall, before));
    return true;
}
