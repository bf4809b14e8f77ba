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
 * inverted, is summed and factored in double.
 *
 * The rank grows until what is left cannot slow conjugate gradients down (the
 * residual trace bounds the largest eigenvalue), or to a limit: a build takes
 * some 2 n rank^2 operations, so that beyond a rank of some hundred it costs
 * more time than the products with K that it saves, unless the problem is hard.
 * Where the first limit does not do, the solver raises it.
 */
#include "solver/internal.h"

enum { PRECOND_BLOCK = 32, PRECOND_MOST = 1024 };

/* L takes 32 MB at most. */
static size_t precond_most(size_t n)
{
    double rank = 32.0 * 1048576 / (sizeof(float) * (double)n);
    rank = fmin(fmin(rank, PRECOND_MOST), (double)n);
    return rank > 1 ? (size_t)rank : 1;
}

static size_t precond_first(size_t n, size_t most)
{
    const double affordable = 200;
    return (size_t)fmin(fmin(4 * sqrt((double)n) + 1, affordable),
                        (double)most);
}

static void precond_raise(struct precond *m)
{
    m->limit = 2 * m->limit < m->most ? 2 * m->limit : m->most;
}

static int precond_create(struct precond *m, const struct binary *problem,
                          struct klr_error *err)
{
    size_t n = problem->n, most = precond_most(n);
    memset(m, 0, sizeof *m);
    m->n = n;
    m->most = most;
    m->limit = precond_first(n, most);
    if (!(m->l = klr_alloc(n * most, sizeof *m->l, err)) ||
        !(m->factor = klr_alloc(most * most, sizeof *m->factor, err)) ||
        !(m->work = klr_alloc(most, sizeof *m->work, err)) ||
        !(m->residual = klr_alloc(n, sizeof *m->residual, err)) ||
        !(m->zs = klr_alloc(n, sizeof *m->zs, err)) ||
        !(m->column = klr_alloc(PRECOND_BLOCK * n, sizeof *m->column, err)) ||
        !(m->diagonal = klr_alloc(n, sizeof *m->diagonal, err)))
        return KLR_E_MEMORY;
    operator_diagonal(problem->op, problem->set, m->diagonal);
    return 0;
}

static void precond_free(struct precond *m)
{
    klr_free(m->l);
    klr_free(m->factor);
    klr_free(m->work);
    klr_free(m->residual);
    klr_free(m->zs);
    klr_free(m->column);
    klr_free(m->diagonal);
}

/* ---- solving ---- */

/* w = L'x */
static void precond_project(const struct precond *m, const double *x)
{
    double *restrict w = m->work;
    memset(w, 0, m->rank * sizeof *w);
    for (size_t i = 0; i < m->n; i++) {
        const float *restrict row = m->l + i * m->stride;
        for (size_t k = 0; k < m->rank; k++)
            w[k] += x[i] * (double)row[k];
    }
}

/* w = (I + L'L)^-1 w, by its Cholesky factor. */
static void precond_back(const struct precond *m)
{
    size_t r = m->rank;
    double *w = m->work;
    for (size_t k = 0; k < r; k++) {
        const double *row = m->factor + k * m->stride;
        for (size_t j = 0; j < k; j++)
            w[k] -= row[j] * w[j];
        w[k] /= row[k];
    }
    for (size_t k = r; k-- > 0;) {
        const double *row = m->factor + k * m->stride;
        w[k] /= row[k];
        for (size_t j = 0; j < k; j++)
            w[j] -= row[j] * w[k];
    }
}

/* out = M^-1 in */
static void precond_invert(const struct precond *m, const double *in,
                           double *out)
{
    precond_project(m, in);
    precond_back(m);
    const double *restrict w = m->work;
    for (size_t i = 0; i < m->n; i++) {
        const float *restrict row = m->l + i * m->stride;
        double sum[4] = {0, 0, 0, 0};
        size_t k = 0;
        for (; k + 4 <= m->rank; k += 4)
            for (size_t j = 0; j < 4; j++)
                sum[j] += (double)row[k + j] * w[k + j];
        for (; k < m->rank; k++)
            sum[0] += (double)row[k] * w[k];
        out[i] = in[i] - ((sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}

static void precond_solve(const struct precond *m, const double *in,
                          double *out)
{
    precond_invert(m, in, out);
    double f = 0;
    for (size_t i = 0; i < m->n; i++)
        f += m->s[i] * out[i];
    f /= m->szs;
    for (size_t i = 0; i < m->n; i++)
        out[i] -= f * m->zs[i];
}

/* ---- building ---- */

/* The `most` candidates with the largest residual diagonal; fewer if others
 * are too small to matter. Descending: insertion into a short list. */
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
    return count;
}

/* One block of pivots and what belongs to it. */
struct pivots {
    size_t candidates, count;
    size_t row[PRECOND_BLOCK];    /* candidates, then pivots, in order */
    size_t column[PRECOND_BLOCK]; /* which column of m->column each has */
    double block[PRECOND_BLOCK][PRECOND_BLOCK]; /* residual; then its factor */
};

/* Residual entries of the candidates: s_i K_ij s_j - l_i'l_j. */
static void pivots_block(const struct precond *m, struct pivots *p)
{
    for (size_t a = 0; a < p->candidates; a++)
        for (size_t b = 0; b <= a; b++) {
            size_t i = p->row[a], j = p->row[b];
            const float *li = m->l + i * m->stride, *lj = m->l + j * m->stride;
            double sum = m->s[i] * m->s[j] * (double)m->column[b * m->n + i];
            for (size_t k = 0; k < m->rank; k++)
                sum -= (double)li[k] * (double)lj[k];
            p->block[a][b] = p->block[b][a] = sum;
        }
}

static void pivots_swap(struct pivots *p, size_t a, size_t b)
{
    size_t row = p->row[a], column = p->column[a];
    p->row[a] = p->row[b];
    p->row[b] = row;
    p->column[a] = p->column[b];
    p->column[b] = column;
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

/* The new columns of every row of L: R l_i = s_i K_ip s_p - L_i L_p'. */
static void precond_append(struct precond *m, const struct pivots *p)
{
    size_t count = p->count, rank = m->rank;
    float lp[PRECOND_MOST][PRECOND_BLOCK], inverse[PRECOND_BLOCK];
    for (size_t c = 0; c < count; c++) {
        inverse[c] = (float)(1 / p->block[c][c]);
        for (size_t k = 0; k < rank; k++)
            lp[k][c] = m->l[p->row[c] * m->stride + k];
    }
    for (size_t i = 0; i < m->n; i++) {
        float *li = m->l + i * m->stride, *fresh = li + rank,
              x[PRECOND_BLOCK] = {0};
        for (size_t k = 0; k < rank; k++)
            for (size_t c = 0; c < PRECOND_BLOCK; c++)
                x[c] += li[k] * lp[k][c];
        for (size_t c = 0; c < count; c++) {
            float value = (float)(m->s[i] * m->s[p->row[c]]) *
                              m->column[p->column[c] * m->n + i] -
                          x[c];
            for (size_t b = 0; b < c; b++)
                value -= (float)p->block[c][b] * fresh[b];
            fresh[c] = value * inverse[c];
            m->residual[i] -= (double)fresh[c] * (double)fresh[c];
        }
    }
    for (size_t i = 0; i < m->n; i++)
        m->residual[i] = fmax(m->residual[i], 0);
    for (size_t c = 0; c < count; c++)
        m->residual[p->row[c]] = 0;
    m->rank += count;
}

/* factor = I + L'L, lower triangle, eight rows of L at a time. */
static void precond_gram(struct precond *m)
{
    enum { ROWS = 8 };
    size_t r = m->rank;
    double rows[ROWS][PRECOND_MOST];
    for (size_t k = 0; k < r; k++)
        for (size_t j = 0; j <= k; j++)
            m->factor[k * m->stride + j] = k == j;
    for (size_t i = 0; i < m->n; i += ROWS) {
        for (size_t a = 0; a < ROWS; a++)
            for (size_t k = 0; k < r; k++)
                rows[a][k] =
                    i + a < m->n ? (double)m->l[(i + a) * m->stride + k] : 0;
        for (size_t k = 0; k < r; k++) {
            double *restrict to = m->factor + k * m->stride;
            for (size_t j = 0; j <= k; j++) {
                double sum = 0;
                for (size_t a = 0; a < ROWS; a++)
                    sum += rows[a][k] * rows[a][j];
                to[j] += sum;
            }
        }
    }
}

/* In place: the lower Cholesky factor. I + L'L has no pivot below 1. */
static void precond_factor(struct precond *m)
{
    for (size_t k = 0; k < m->rank; k++) {
        double *row = m->factor + k * m->stride;
        for (size_t j = 0; j <= k; j++) {
            const double *other = m->factor + j * m->stride;
            double sum = row[j];
            for (size_t c = 0; c < j; c++)
                sum -= row[c] * other[c];
            row[j] = j == k ? sqrt(fmax(sum, 1)) : sum / other[j];
        }
    }
}

static void precond_columns(struct precond *m, const struct binary *problem,
                            struct pivots *p)
{
    size_t position[PRECOND_BLOCK];
    for (size_t c = 0; c < p->candidates; c++) {
        p->column[c] = c;
        position[c] = set_position(problem->set, p->row[c]);
    }
    operator_rows(problem->op, position, p->candidates, problem->set, KLR_FLOAT,
                  m->column, m->n);
}

static void precond_build(struct precond *m, const struct binary *problem,
                          const double *s)
{
    const double least = 1e-2;
    struct pivots p;
    double trace;
    m->s = s;
    m->rank = 0;
    m->stride = m->limit;
    for (size_t i = 0; i < m->n; i++)
        m->residual[i] = s[i] * s[i] * m->diagonal[i];
    do {
        size_t room = m->limit - m->rank;
        p.count = 0;
        p.candidates = precond_candidates(
            m, least, room < PRECOND_BLOCK ? room : PRECOND_BLOCK, p.row);
        precond_columns(m, problem, &p);
        pivots_block(m, &p);
        pivots_factor(&p, least);
        precond_append(m, &p);
        trace = 0;
        for (size_t i = 0; i < m->n; i++)
            trace += m->residual[i];
    } while (p.count > 0 && m->rank < m->limit && trace > 0.5);
    precond_gram(m);
    precond_factor(m);
    precond_invert(m, s, m->zs);
    m->szs = 0;
    for (size_t i = 0; i < m->n; i++)
        m->szs += s[i] * m->zs[i];
}
