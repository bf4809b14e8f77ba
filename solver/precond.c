/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The preconditioner of the Newton engine: M = I + L L' with S K S ~ L L', L
 * (n, rank) from a pivoted Cholesky factorisation of the weighted matrix, and
 * its inverse on the subspace s'v = 0 (Gould, Hribar & Nocedal 2001):
 *
 *   M^-1 = I - L (I + L'L)^-1 L',   z = M^-1 r - M^-1 s (s'M^-1 r)/(s'M^-1 s)
 *
 * Pivots are taken in blocks: the examples with the largest residual diagonal
 * are candidates, a small pivoted factorisation of their residual block keeps
 * those that add something, and all rows of L get their new columns in one
 * sweep. Any L gives a positive definite M, so L is float; I + L'L, which is
 * inverted, is factored in double, and summed so where floats would not do.
 *
 * Strips of rows, tiles of I + L'L and groups of rows in L'x are turns of the
 * pool; they follow from the size of L, so that no bit depends on threads.
 *
 * While weights change by some factors only, L and I + L'L stay and are scaled;
 * by more, rows of L are scaled, and pivots stay, as long as L leaves little.
 *
 * The rank grows while a block of pivots is expected to save more in products
 * with K than it costs, or to a limit. Where the first limit does not do, the
 * solver raises it.
 */
#include "solver/internal.h"

#include "solver/precond.h"
#include "solver/triangle.h"

enum {
    PRECOND_MOST = 1024,    /* columns of L */
    PRECOND_STRIP = 96,     /* rows of L that get new columns in one turn */
    PRECOND_GROUPS = 16,    /* partial sums of L'x, at most, */
    PRECOND_GROUP = 1 << 15 /* of so many entries, at least */
};

/* Of diagonal elements that matter, beside the 1 of I. */
static const double precond_least = 1e-2;

/* What an entry of K may take to be computed, and an element of L for each one
 * before it in its row: see precond_pays. */
static const double precond_entry = 12, precond_element = 0.5;

/* L takes 32 MB at most. */
static size_t precond_most(size_t n)
{
    double rank = 32.0 * 1048576 / (sizeof(float) * (double)n);
    rank = fmin(fmin(rank, PRECOND_MOST), (double)n);
    return rank > 1 ? (size_t)rank : 1;
}

/* At first L may take as long to build as some four products with K. */
static size_t precond_first(size_t n, size_t most)
{
    return (size_t)fmin(4 * sqrt((double)n) + 1, (double)most);
}

static void precond_raise(struct precond *m)
{
    m->built = false;
    if (m->stale)
        return;
    m->limit = 2 * m->limit < m->most ? 2 * m->limit : m->most;
    m->worth *= 4;
}

/* Room for so many columns of floats and of doubles; an odd number of cache
 * lines, which spreads rows over the sets of a cache. */
static size_t precond_stride(size_t rank)
{
    return (rank + 15) / 16 * 16 | 16;
}

static double precond_bytes_within(size_t n, size_t most)
{
    size_t wide = precond_stride(most);
    return sizeof(float) * KLR_BAND +
           (double)n * (sizeof(float) * (double)(wide + KLR_PANEL) +
                        6 * sizeof(double)) +
           sizeof(double) * (double)(most + PRECOND_GROUPS) * (double)wide +
           (sizeof(double) + sizeof(size_t)) * (double)most;
}

static double precond_bytes(size_t n)
{
    return precond_bytes_within(n, precond_most(n));
}

static int precond_create_within(struct precond *m,
                                 const struct binary *problem, size_t most,
                                 struct klr_error *err)
{
    size_t n = problem->n;
    size_t wide = precond_stride(most);
    memset(m, 0, sizeof *m);
    m->n = n;
    m->most = most;
    m->limit = precond_first(n, most);
    m->worth = 1;
    m->dense = klr_dense();
    m->pool = problem->op->pool;
    if (!(m->l = klr_alloc(n * wide + KLR_BAND, sizeof *m->l, err)) ||
        !(m->pivot = klr_alloc(most, sizeof *m->pivot, err)) ||
        !(m->fs = klr_alloc(most, sizeof *m->fs, err)) ||
        !(m->factor = klr_alloc(most * wide, sizeof *m->factor, err)) ||
        !(m->work = klr_alloc(PRECOND_GROUPS * wide, sizeof *m->work, err)) ||
        !(m->panel = klr_alloc(most * KLR_PANEL, sizeof *m->panel, err)) ||
        !(m->lines = klr_alloc(most * KLR_PANEL, sizeof *m->lines, err)) ||
        !(m->residual = klr_alloc(n, sizeof *m->residual, err)) ||
        !(m->zs = klr_alloc(n, sizeof *m->zs, err)) ||
        !(m->root = klr_alloc(n, sizeof *m->root, err)) ||
        !(m->scale = klr_alloc(n, sizeof *m->scale, err)) ||
        !(m->scaled = klr_alloc(n, sizeof *m->scaled, err)) ||
        !(m->column = klr_alloc(KLR_PANEL * n, sizeof *m->column, err)) ||
        !(m->diagonal = klr_alloc(n, sizeof *m->diagonal, err)))
        return KLR_E_MEMORY;
    operator_diagonal(problem->op, problem->set, m->diagonal);
    return 0;
}

static int precond_create(struct precond *m, const struct binary *problem,
                          struct klr_error *err)
{
    return precond_create_within(m, problem, precond_most(problem->n), err);
}

static void precond_free(struct precond *m)
{
    klr_free(m->l);
    klr_free(m->pivot);
    klr_free(m->fs);
    klr_free(m->factor);
    klr_free(m->work);
    klr_free(m->panel);
    klr_free(m->lines);
    klr_free(m->residual);
    klr_free(m->zs);
    klr_free(m->root);
    klr_free(m->scale);
    klr_free(m->scaled);
    klr_free(m->column);
    klr_free(m->diagonal);
}

/* ---- solving ---- */

/* The columns of L, filled up with zeros to a multiple of 8. */
static size_t precond_width(const struct precond *m)
{
    return (m->rank + 7) / 8 * 8;
}

/* The rows of L are divided into groups by its size alone. */
static size_t precond_groups(const struct precond *m)
{
    size_t groups = m->n * m->rank / PRECOND_GROUP + 1;
    return groups < PRECOND_GROUPS ? groups : PRECOND_GROUPS;
}

struct sweep {
    const struct precond *m;
    size_t groups, width;
    const double *in;
    double *out;
};

/* The group's part of w = L'x. */
static void sweep_project(void *context, size_t group, size_t thread)
{
    const struct sweep *sweep = context;
    const struct precond *m = sweep->m;
    size_t begin = m->n * group / sweep->groups;
    size_t end = m->n * (group + 1) / sweep->groups;
    double *w = m->work + group * sweep->width;
    (void)thread;
    memset(w, 0, sweep->width * sizeof *w);
    m->dense->project(end - begin, sweep->width, m->l + begin * m->stride,
                      m->stride, sweep->in + begin, w);
}

/* out = D^-1 (in - L w) */
static void sweep_expand(void *context, size_t group, size_t thread)
{
    const struct sweep *sweep = context;
    const struct precond *m = sweep->m;
    size_t begin = m->n * group / sweep->groups;
    size_t end = m->n * (group + 1) / sweep->groups;
    (void)thread;
    m->dense->expand(end - begin, sweep->width, m->l + begin * m->stride,
                     m->stride, m->work, sweep->out + begin);
    for (size_t i = begin; i < end; i++)
        sweep->out[i] = (sweep->in[i] - sweep->out[i]) * m->scale[i];
}

/* w = (I + L'L)^-1 w = R^-1 R^-T w */
static void precond_back(const struct precond *m)
{
    size_t r = m->rank;
    double *restrict w = m->work;
    for (size_t k = 0; k < r; k++) {
        const double *restrict row = m->factor + k * m->stride;
        w[k] /= row[k];
        for (size_t j = k + 1; j < r; j++)
            w[j] -= row[j] * w[k];
    }
    for (size_t k = r; k-- > 0;) {
        const double *row = m->factor + k * m->stride;
        double sum[4] = {0, 0, 0, 0};
        size_t j = k + 1;
        for (; j + 4 <= r; j += 4)
            for (size_t q = 0; q < 4; q++)
                sum[q] += row[j + q] * w[j + q];
        for (; j < r; j++)
            sum[0] += row[j] * w[j];
        w[k] = (w[k] - ((sum[0] + sum[1]) + (sum[2] + sum[3]))) / row[k];
    }
}

/* work = L'in */
static void precond_project(struct precond *m, struct sweep *sweep)
{
    klr_pool_run(m->pool, sweep->groups, sweep_project, sweep);
    for (size_t g = 1; g < sweep->groups; g++)
        for (size_t k = 0; k < sweep->width; k++)
            m->work[k] += m->work[g * sweep->width + k];
}

/* out = M^-1 in */
static void precond_invert(struct precond *m, const double *in, double *out)
{
    struct sweep sweep = {m, precond_groups(m), precond_width(m), m->scaled,
                          out};
    double n = (double)m->n, rank = (double)m->rank;
    for (size_t i = 0; i < m->n; i++)
        m->scaled[i] = in[i] * m->scale[i];
    precond_project(m, &sweep);
    precond_back(m);
    klr_pool_run(m->pool, sweep.groups, sweep_expand, &sweep);
    m->flops += 4 * n * rank + 2 * rank * rank;
}

static void precond_solve(struct precond *m, const double *in, double *out)
{
    precond_invert(m, in, out);
    double f = m->szs > 0 ? dot(m->n, m->s, out) / m->szs : 0;
    for (size_t i = 0; i < m->n; i++)
        out[i] -= f * m->zs[i];
}

/* t (rank) = S_p T^-T t, with T the rows of L of the pivots, a lower triangle:
 * from coordinates in the span of their kernels to coefficients. */
static void precond_coefficients(const struct precond *m, double *t)
{
    for (size_t k = m->rank; k-- > 0;) {
        const float *row = m->l + m->pivot[k] * m->stride;
        t[k] /= (double)row[k];
        for (size_t j = 0; j < k; j++)
            t[j] -= (double)row[j] * t[k];
        t[k] *= m->s[m->pivot[k]];
    }
}

static double precond_function(struct precond *m, bool bias, const double *x,
                               double *t)
{
    struct sweep sweep = {m, precond_groups(m), precond_width(m), x, NULL};
    size_t r = m->rank;
    double norm = 0;
    precond_project(m, &sweep);
    memcpy(t, m->work, r * sizeof *t);
    precond_back(m);
    double f = bias && m->szs > 0 ? dot(r, m->fs, t) / m->szs : 0;
    for (size_t k = 0; k < r; k++) {
        double solved = m->work[k] + f * m->fs[k];
        norm += solved * t[k];
        t[k] = solved - t[k];
    }
    precond_coefficients(m, t);
    for (size_t i = 0; i < m->n; i++)
        norm += m->residual[i] * x[i] * x[i];
    m->flops += 2.0 * (double)m->n * (double)r + 3.0 * (double)(r * r);
    return norm;
}

/* ---- choosing pivots ---- */

static int compare_rows(const void *a, const void *b)
{
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    return (i > j) - (i < j);
}

/* The `most` candidates with the largest residual diagonal; fewer if others
 * are too small to matter. Inserted into a short list, descending; then in the
 * order of their rows. */
static size_t precond_candidates(const struct precond *m, double least,
                                 size_t most, size_t *candidate)
{
    size_t count = 0;
    for (size_t i = 0; i < m->n; i++) {
        double value = m->residual[i];
        if (value <= least ||
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
static void pivots_entries(const struct pivots *p, const struct binary *problem,
                           float *entry)
{
    size_t position[KLR_PANEL], count = 0;
    struct klr_range range[KLR_PANEL];
    for (size_t a = 0; a < p->candidates; a++) {
        size_t i = position[a] = set_position(problem->set, p->row[a]);
        count = set_append(range, count, (struct klr_range){i, i + 1});
    }
    operator_rows(problem->op, position, p->candidates, set_of(range, count),
                  KLR_FLOAT, entry, KLR_PANEL);
}

/* Residual entries of the candidates: s_i K_ij s_j - l_i'l_j. Their rows of L
 * become the columns of m->lines. */
static void pivots_block(struct precond *m, const struct binary *problem,
                         struct pivots *p)
{
    size_t count = p->candidates;
    float entry[KLR_PANEL * KLR_PANEL];
    double product[KLR_BAND * KLR_BAND];
    pivots_entries(p, problem, entry);
    for (size_t a = 0; a < count; a++) {
        const float *l = m->l + p->row[a] * m->stride;
        for (size_t k = 0; k < m->rank; k++)
            m->lines[k * KLR_PANEL + a] = (double)l[k];
    }
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

/* ---- building ---- */

struct append {
    struct precond *m;
    const struct pivots *pivots;
    float inverse[KLR_PANEL][KLR_PANEL];
};

/* The new columns of a strip of rows of L: l_i R = s_i K_ip s_p - L_i L_p'. */
static void append_turn(void *context, size_t strip, size_t thread)
{
    const struct append *append = context;
    const struct precond *m = append->m;
    const struct pivots *p = append->pivots;
    size_t begin = strip * PRECOND_STRIP, left = m->n - begin;
    size_t rows = left < PRECOND_STRIP ? left : PRECOND_STRIP;
    _Alignas(64) float x[PRECOND_STRIP][KLR_PANEL] = {{0}};
    _Alignas(64) float fresh[PRECOND_STRIP][KLR_PANEL] = {{0}};
    (void)thread;
    for (size_t c = 0; c < p->count; c++) {
        const float *column = m->column + c * m->n + begin;
        for (size_t i = 0; i < rows; i++)
            x[i][c] = (float)(m->s[begin + i] * m->s[p->row[c]]) * column[i];
    }
    m->dense->panel(rows, m->rank, m->l + begin * m->stride, m->stride,
                    m->panel, *x);
    m->dense->panel(rows, p->count, *x, KLR_PANEL, *append->inverse, *fresh);
    for (size_t i = 0; i < rows; i++) {
        double fall = 0;
        for (size_t c = 0; c < p->count; c++)
            fall += (double)fresh[i][c] * (double)fresh[i][c];
        memcpy(m->l + (begin + i) * m->stride + m->rank, fresh[i],
               p->count * sizeof(float));
        m->residual[begin + i] = fmax(m->residual[begin + i] - fall, 0);
    }
}

/* New columns for all rows of L. */
static void precond_append(struct precond *m, const struct pivots *p)
{
    struct append append = {.m = m, .pivots = p};
    pivots_invert(p, append.inverse);
    for (size_t k = 0; k < m->rank; k++)
        for (size_t c = 0; c < KLR_PANEL; c++)
            m->panel[k * KLR_PANEL + c] =
                c < p->count ? -m->l[p->row[c] * m->stride + k] : 0;
    klr_pool_run(m->pool, (m->n + PRECOND_STRIP - 1) / PRECOND_STRIP,
                 append_turn, &append);
    for (size_t c = 0; c < p->count; c++) {
        m->residual[p->row[c]] = 0;
        m->pivot[m->rank + c] = p->row[c];
    }
    m->flops += 2.0 * (double)m->n * KLR_PANEL * (double)(m->rank + p->count);
    m->rank += p->count;
}

/* A tile of I + L'L, bands a <= b. */
static void gram_tile(const struct precond *m, size_t a, size_t b, bool fine)
{
    double tile[KLR_BAND * KLR_BAND];
    size_t top = a * KLR_BAND, rows = band_rows(m->rank, top);
    size_t left = b * KLR_BAND, cols = band_rows(m->rank, left);
    if (fine)
        m->dense->gram(m->n, m->l + top, m->l + left, KLR_FLOAT, m->stride,
                       rows, cols, tile);
    else
        m->dense->cross(m->n, m->l + top, m->l + left, m->stride, rows, cols,
                        tile);
    for (size_t k = 0; k < rows; k++) {
        double *to = m->factor + (top + k) * m->stride + left;
        for (size_t j = 0; j < cols; j++)
            to[j] = tile[k * KLR_BAND + j] + (top + k == left + j);
    }
}

static void gram_diagonal(void *context, size_t band, size_t thread)
{
    (void)thread;
    gram_tile(context, band, band, true);
}

/* The squared lengths of a band's columns of L, summed up, and 1 for each. */
static double gram_size(const struct precond *m, size_t band)
{
    double sum = 0;
    size_t begin = band * KLR_BAND, rows = band_rows(m->rank, begin);
    for (size_t k = begin; k < begin + rows; k++)
        sum += m->factor[k * m->stride + k];
    return sum;
}

/* Beside the diagonal floats will do where they are off by far less than I:
 * columns x and y have products within some 2^-22 |x| |y|. */
static void gram_turn(void *context, size_t index, size_t thread)
{
    const struct precond *m = context;
    size_t a = 0, b = 1;
    (void)thread;
    for (; index >= b; b++)
        index -= b;
    a = index;
    gram_tile(m, a, b, gram_size(m, a) * gram_size(m, b) > ldexp(1, 32));
}

/* factor = I + L'L, upper triangle. */
static void precond_gram(struct precond *m)
{
    size_t bands = (m->rank + KLR_BAND - 1) / KLR_BAND;
    klr_pool_run(m->pool, bands, gram_diagonal, m);
    klr_pool_run(m->pool, bands * (bands - 1) / 2, gram_turn, m);
    m->flops += (double)m->n * (double)m->rank * (double)m->rank;
}

/* In place: the upper Cholesky factor R, R'R = I + L'L, which has no pivot
 * below 1. */
static void precond_factor(struct precond *m)
{
    double r = (double)m->rank;
    triangle_factor(m->dense, m->rank, m->stride, m->factor, 1);
    m->flops += r * r * r / 3;
}

static void precond_columns(struct precond *m, const struct binary *problem,
                            const struct pivots *p)
{
    size_t position[KLR_PANEL];
    for (size_t c = 0; c < p->count; c++)
        position[c] = set_position(problem->set, p->row[c]);
    operator_rows(problem->op, position, p->count, problem->set, KLR_FLOAT,
                  m->column, m->n);
}

/* Whether another block of pivots is expected to save more than it costs, after
 * one whose pivots lowered the trace by `fall` each, those before by `before`.
 *
 * A pivot takes about the largest eigenvalue away, so that S K S - L L' has
 * none much larger than the last fall, and (I + S K S, M) a condition of
 * 1 + fall; to a tenth of the residual conjugate gradients take
 * 1/2 log(20) sqrt(1 + fall) steps, and are seen to take so many. The trace is
 * expected to go on falling geometrically. Times are those of one processor, in
 * units of what reading an entry of K in a symmetric product takes, and
 * constants, since the rank must not depend on the machine. K may have to be
 * computed: of a hundred features, in 12 units. For n examples,
 *
 *   saved  12 n^2 (steps - steps after it)
 *   spent  32 n (3 to fetch K + rank / 2 for new columns and L'L + 3 a step) */
static bool precond_pays(const struct precond *m, double fall, double before)
{
    const double fetch = 3, sweep = 3;
    double next = fall * fmin(fmax(fall / before, 0.5), 0.9);
    double steps = 0.5 * log(20) * sqrt(1 + fall);
    double after = 0.5 * log(20) * sqrt(1 + next);
    double saved = m->worth * precond_entry * (double)m->n * (steps - after);
    double spent =
        KLR_PANEL * (fetch + precond_element * (double)m->rank + sweep * after);
    return saved > spent;
}

static double precond_trace(const struct precond *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->n; i++)
        sum += m->residual[i];
    return sum;
}

/* Columns of L, block by block. */
static void precond_grow(struct precond *m, const struct binary *problem)
{
    struct pivots p;
    double trace = precond_trace(m), fall = INFINITY, before;
    do {
        size_t room = m->limit - m->rank;
        p.count = 0;
        p.candidates = precond_candidates(
            m, precond_least, room < KLR_PANEL ? room : KLR_PANEL, p.row);
        pivots_block(m, problem, &p);
        pivots_factor(&p, precond_least);
        precond_columns(m, problem, &p);
        precond_append(m, &p);
        double left = precond_trace(m);
        before = fall;
        fall = (trace - left) / (double)p.count;
        trace = left;
    } while (p.count > 0 && m->rank < m->limit &&
             precond_pays(m, fall, before));
}

/* What the subspace s'v = 0 takes. */
static void precond_constrain(struct precond *m)
{
    precond_invert(m, m->s, m->zs);
    memcpy(m->fs, m->work, m->rank * sizeof *m->fs);
    m->szs = dot(m->n, m->s, m->zs);
}

/* More columns of L, if they pay, and what follows from L. */
static void precond_complete(struct precond *m, const struct binary *problem,
                             const double *s)
{
    m->s = s;
    for (size_t i = 0; i < m->n; i++) {
        m->root[i] = s[i];
        m->scale[i] = 1;
    }
    if (m->rank < m->limit)
        precond_grow(m, problem);
    for (size_t i = 0; i < m->n; i++)
        memset(m->l + i * m->stride + m->rank, 0,
               (precond_width(m) - m->rank) * sizeof *m->l);
    precond_gram(m);
    precond_factor(m);
    precond_constrain(m);
}

static void precond_build(struct precond *m, const struct binary *problem,
                          const double *s)
{
    m->built = true;
    m->stale = false;
    m->rank = 0;
    m->stride = precond_stride(m->limit);
    for (size_t i = 0; i < m->n; i++)
        m->residual[i] = s[i] * s[i] * m->diagonal[i];
    precond_complete(m, problem, s);
    m->left = precond_trace(m);
}

/* S'/S, 0 where weights were too small for rows of L to mean anything. */
static double precond_ratio(const struct precond *m, const double *s, size_t i)
{
    const double most = 1e6;
    return s[i] < most * m->root[i] ? s[i] / m->root[i] : 0;
}

/* The diagonal of S'K S' - L L' for L = (S'/S) L. */
static double precond_rest(const struct precond *m, const double *s, size_t i)
{
    double ratio = precond_ratio(m, s, i);
    return ratio > 0 ? ratio * ratio * m->residual[i]
                     : s[i] * s[i] * m->diagonal[i];
}

/* L = (S'/S) L, with pivots that were chosen for other weights. False, and
 * nothing is done, if it would leave much more than those did then, or building
 * L takes no longer than a product with K: the step may take one more. */
static bool precond_rescale(struct precond *m, const double *s)
{
    const double much = 1.5;
    double n = (double)m->n, rank = (double)m->rank, rest = 0;
    if (!m->built || precond_element / 2 * rank * rank <= precond_entry * n)
        return false;
    for (size_t i = 0; i < m->n; i++)
        rest += precond_rest(m, s, i);
    if (!(rest <= much * m->left))
        return false;
    for (size_t i = 0; i < m->n; i++) {
        float ratio = (float)precond_ratio(m, s, i);
        m->residual[i] = precond_rest(m, s, i);
        for (size_t k = 0; k < m->rank; k++)
            m->l[i * m->stride + k] *= ratio;
    }
    return true;
}

/* M becomes D M D with D = S'/S for the roots S' of the present weights, but 1
 * where both weights are too small to matter. Without rounding, I + S'K S' is
 * between 1 / max(1, D^2) and 1 / min(1, D^2) times that. False if this is too
 * far, or M is to be built anyway. */
static bool precond_adapt(struct precond *m, const double *s)
{
    const double far = 4;
    double low = 1, high = 1;
    m->stale = m->built;
    for (size_t i = 0; i < m->n && m->built; i++) {
        double old = m->root[i] * m->root[i], now = s[i] * s[i];
        bool matters = fmax(old, now) * m->diagonal[i] > precond_least;
        m->scale[i] = matters ? m->root[i] / s[i] : 1;
        low = matters ? fmin(low, now / old) : low;
        high = matters ? fmax(high, now / old) : high;
    }
    return m->built && high <= far * low;
}

static void precond_prepare(struct precond *m, const struct binary *problem,
                            const double *s)
{
    if (precond_adapt(m, s)) {
        m->s = s;
        precond_constrain(m);
    } else if (precond_rescale(m, s)) {
        precond_complete(m, problem, s);
    } else {
        precond_build(m, problem, s);
    }
}
