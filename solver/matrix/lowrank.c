/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The preconditioner of the Newton engine: M = I + L L' with S K S ~ L L', L
 * (n, rank) from a pivoted Cholesky factorisation of the weighted matrix, and
 * its inverse on the subspace s'v = 0 (Gould, Hribar & Nocedal 2001):
 *
 *   M^-1 = I - L (I + L'L)^-1 L',   z = M^-1 r - M^-1 s (s'M^-1 r)/(s'M^-1 s)
 *
 * L grows by the pivots of lowrank_pivots.c. Any L gives a positive definite M,
 * so L is float; I + L'L, which is inverted, is factored in double, and summed
 * so where floats would not do.
 *
 * Tiles of I + L'L and groups of rows in L'x are tasks of the pool; they follow
 * from the size of L, so that no bit depends on threads.
 *
 * While weights change by some factors only, L and I + L'L stay and are scaled;
 * by more, rows of L are scaled, and pivots stay, as long as L leaves little.
 * Where the first limit of the rank does not do, the solver raises it.
 */
#include "solver/matrix/matrix.h"

enum {
    PRECOND_MOST = 1024,    /* columns of L */
    PRECOND_GROUPS = 16,    /* partial sums of L'x, at most, */
    PRECOND_GROUP = 1 << 15 /* of so many entries, at least */
};

/* Diagonal elements of S K S that are less may change by any factor. */
static const double precond_light = 1e-2;

static size_t precond_rank(size_t n, double megabytes)
{
    double rank = megabytes * 1048576 / (sizeof(float) * (double)n);
    rank = fmin(fmin(rank, PRECOND_MOST), (double)n);
    return rank > 1 ? (size_t)rank : 1;
}

static size_t precond_most(size_t n)
{
    return precond_rank(n, 32);
}

/* At first L may take as long to build as some four products with K. */
static size_t precond_first(size_t n, size_t most)
{
    return (size_t)fmin(4 * sqrt((double)n) + 1, (double)most);
}

/* More columns than that do not pay at first: 3 n^1/2 of them take as long to
 * build as some two products with K. For very many examples the memory of
 * vectors counts, too. */
static size_t precond_more(size_t n)
{
    double megabytes = fmin(fmax(96 - (double)n / 2048, 32), 64);
    size_t most = precond_most(n), more = precond_rank(n, megabytes);
    more = (size_t)fmin(3 * sqrt((double)n), (double)more);
    return more > most ? more : most;
}

static void precond_raise(struct precond *m)
{
    m->built = false;
    if (m->stale || m->leading)
        return;
    m->limit = 2 * m->limit < m->most ? 2 * m->limit : m->most;
    m->weight_of_saved_products *= 4;
}

/* Room for so many columns of floats and of doubles; an odd number of cache
 * lines, which spreads rows over the sets of a cache. */
static size_t precond_stride(size_t rank)
{
    return (rank + 15) / 16 * 16 | 16;
}

/* Bands of columns: L grows by new memory alone, and nothing moves. */
static size_t precond_bands(size_t rank)
{
    return (rank + KLR_BAND - 1) / KLR_BAND;
}

static size_t precond_pitch(size_t most)
{
    size_t wide = precond_stride(most);
    return wide < KLR_BAND ? wide : KLR_BAND;
}

static float *precond_at(const struct precond *m, size_t i, size_t k)
{
    return m->l + (k / KLR_BAND * m->n + i) * m->pitch + k % KLR_BAND;
}

static double precond_bytes(size_t n, size_t most)
{
    size_t wide = precond_stride(most);
    size_t across = precond_bands(most) * precond_pitch(most);
    return sizeof(float) * KLR_BAND +
           (double)n * (sizeof(float) * (double)(across + KLR_PANEL) +
                        6 * sizeof(double)) +
           sizeof(double) * (double)(most + PRECOND_GROUPS) * (double)wide +
           (sizeof(double) + sizeof(size_t)) * (double)most +
           (sizeof(double) + sizeof(float)) * KLR_PANEL * (double)most;
}

/* A linear kernel has a sparse L. */
static int precond_create_linear(struct precond *m, struct klr_arena *arena,
                                 struct klr_error *err)
{
    size_t n = m->n, wide;
    int code = leading_create(&m->leading, m->matrix, arena, err);
    if (code)
        return code;
    m->stride = wide = precond_stride(m->leading->most);
    KLR_TAKE(arena, m->fs, wide, 1, err);
    KLR_TAKE(arena, m->factor, wide, wide, err);
    KLR_TAKE(arena, m->work, PRECOND_GROUPS, wide, err);
    KLR_TAKE(arena, m->zs, n, 1, err);
    KLR_TAKE(arena, m->scale, n, 1, err);
    KLR_TAKE(arena, m->scaled, n, 1, err);
    return m->fs && m->factor && m->work && m->zs && m->scale && m->scaled
               ? 0
               : KLR_E_MEMORY;
}

static int precond_create(struct precond *m, struct submatrix matrix,
                          size_t most, bool shared, struct klr_arena *arena,
                          struct klr_error *err)
{
    size_t n = matrix.set.size, wide = precond_stride(most);
    memset(m, 0, sizeof *m);
    m->n = n;
    m->matrix = matrix;
    m->most = most;
    m->limit = precond_first(n, most);
    m->pitch = precond_pitch(most);
    m->weight_of_saved_products = 1;
    m->least = precond_least;
    m->shared = shared;
    m->dense = klr_dense();
    m->pool = matrix.op->pool;
    if (leading_serves(matrix.op))
        return precond_create_linear(m, arena, err);
    size_t across = precond_bands(most) * m->pitch;
    if (!KLR_TAKE(arena, m->l, n * across + KLR_BAND, 1, err) ||
        !KLR_TAKE(arena, m->pivot, most, 1, err) ||
        !KLR_TAKE(arena, m->fs, most, 1, err) ||
        !KLR_TAKE(arena, m->factor, most, wide, err) ||
        !KLR_TAKE(arena, m->work, PRECOND_GROUPS * wide, 1, err) ||
        !KLR_TAKE(arena, m->panel, most, KLR_PANEL, err) ||
        !KLR_TAKE(arena, m->lines, most, KLR_PANEL, err) ||
        !KLR_TAKE(arena, m->residual, n, 1, err) ||
        !KLR_TAKE(arena, m->zs, n, 1, err) ||
        !KLR_TAKE(arena, m->root, n, 1, err) ||
        !KLR_TAKE(arena, m->scale, n, 1, err) ||
        !KLR_TAKE(arena, m->scaled, n, 1, err) ||
        !KLR_TAKE(arena, m->column, KLR_PANEL, n, err) ||
        !KLR_TAKE(arena, m->diagonal, n, 1, err))
        return KLR_E_MEMORY;
    operator_diagonal(matrix.op, matrix.set, m->diagonal);
    return 0;
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

/* The rows of the group. */
static size_t group_rows(const struct sweep *sweep, size_t group, size_t *end)
{
    *end = sweep->m->n * (group + 1) / sweep->groups;
    return sweep->m->n * group / sweep->groups;
}

/* The group's part of w = L'x. */
static void sweep_project(void *context, size_t group, size_t thread)
{
    const struct sweep *sweep = context;
    const struct precond *m = sweep->m;
    size_t end, begin = group_rows(sweep, group, &end);
    double *w = m->work + group * sweep->width;
    (void)thread;
    memset(w, 0, sweep->width * sizeof *w);
    if (m->leading)
        leading_project(m->leading, m->s, begin, end, sweep->in, w);
    else
        for (size_t k = 0; k < sweep->width; k += KLR_BAND)
            m->dense->gemv_t(end - begin, band_rows(sweep->width, k),
                             precond_at(m, begin, k), m->pitch,
                             sweep->in + begin, w + k);
}

/* Rows begin .. end - 1: out = L w */
static void rows_expand(const struct precond *m, size_t begin, size_t end,
                        const double *w, double *out)
{
    size_t width = precond_width(m);
    memset(out + begin, 0, (end - begin) * sizeof *out);
    for (size_t k = 0; k < width; k += KLR_BAND)
        m->dense->expand(end - begin, band_rows(width, k),
                         precond_at(m, begin, k), m->pitch, w + k, out + begin);
}

/* out = D^-1 (in - L w) */
static void sweep_expand(void *context, size_t group, size_t thread)
{
    const struct sweep *sweep = context;
    const struct precond *m = sweep->m;
    size_t end, begin = group_rows(sweep, group, &end);
    (void)thread;
    if (m->leading)
        leading_expand(m->leading, m->s, begin, end, m->work, sweep->out);
    else
        rows_expand(m, begin, end, m->work, sweep->out);
    for (size_t i = begin; i < end; i++)
        sweep->out[i] = (sweep->in[i] - sweep->out[i]) * m->scale[i];
}

/* w = (I + L'L)^-1 w = R^-1 R^-T w */
static void precond_back(const struct precond *m)
{
    triangle_solve(m->rank, m->stride, m->factor, m->work);
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

/* out = S^-1 L w */
static void sweep_form(void *context, size_t group, size_t thread)
{
    const struct sweep *sweep = context;
    const struct precond *m = sweep->m;
    size_t end, begin = group_rows(sweep, group, &end);
    (void)thread;
    rows_expand(m, begin, end, sweep->in, sweep->out);
    for (size_t i = begin; i < end; i++)
        sweep->out[i] = m->root[i] > 0 ? sweep->out[i] / m->root[i] : 0;
}

static void precond_expand(struct precond *m, const double *w, double *out)
{
    struct sweep sweep = {m, precond_groups(m), precond_width(m), w, out};
    klr_pool_run_all(m->pool, sweep.groups, sweep_form, &sweep);
    m->flops += 2.0 * (double)m->n * (double)m->rank;
}

static void precond_gather(struct precond *m, const double *x, double *w)
{
    struct sweep sweep = {m, precond_groups(m), precond_width(m), m->scaled,
                          NULL};
    for (size_t i = 0; i < m->n; i++)
        m->scaled[i] = m->root[i] > 0 ? x[i] / m->root[i] : 0;
    precond_project(m, &sweep);
    memcpy(w, m->work, m->rank * sizeof *w);
    m->flops += 2.0 * (double)m->n * (double)m->rank;
}

/* m->work = (I + L'L - L's s'L / s's)^-1 m->work; without a bias the last term
 * is absent. */
static void precond_reduce(const struct precond *m, bool bias)
{
    size_t r = m->rank;
    double f = bias && m->szs > 0 ? dot(r, m->fs, m->work) / m->szs : 0;
    precond_back(m);
    for (size_t k = 0; k < r; k++)
        m->work[k] += f * m->fs[k];
}

static void precond_solve_small(struct precond *m, bool bias, const double *in,
                                double *out)
{
    memcpy(m->work, in, m->rank * sizeof *in);
    precond_reduce(m, bias);
    memcpy(out, m->work, m->rank * sizeof *out);
    m->flops += 2.0 * (double)m->rank * (double)m->rank;
}

/* t (rank) = S_p T^-T t, with T the rows of L of the pivots, a lower triangle:
 * from coordinates in the span of their kernels to coefficients. */
static void precond_coefficients(const struct precond *m, double *t)
{
    for (size_t k = m->rank; k-- > 0;) {
        size_t i = m->pivot[k];
        t[k] /= (double)*precond_at(m, i, k);
        for (size_t j = 0; j < k; j++)
            t[j] -= (double)*precond_at(m, i, j) * t[k];
        t[k] *= m->s[i];
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
    precond_reduce(m, bias);
    for (size_t k = 0; k < r; k++) {
        norm += m->work[k] * t[k];
        t[k] = m->work[k] - t[k];
    }
    precond_coefficients(m, t);
    for (size_t i = 0; i < m->n; i++)
        norm += m->residual[i] * x[i] * x[i];
    m->flops += 2.0 * (double)m->n * (double)r + 3.0 * (double)(r * r);
    return norm;
}

/* ---- building ---- */

/* A tile of I + L'L, bands a <= b. */
static void gram_tile(const struct precond *m, size_t a, size_t b, bool fine)
{
    double tile[KLR_BAND * KLR_BAND];
    size_t top = a * KLR_BAND, rows = band_rows(m->rank, top);
    size_t left = b * KLR_BAND, cols = band_rows(m->rank, left);
    const float *la = precond_at(m, 0, top), *lb = precond_at(m, 0, left);
    if (fine)
        m->dense->gram(m->n, la, lb, KLR_FLOAT, m->pitch, rows, cols, tile);
    else
        m->dense->syrk_rounded(m->n, la, lb, m->pitch, rows, cols, tile);
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
static void gram_task(void *context, size_t index, size_t thread)
{
    const struct precond *m = context;
    size_t a, b;
    (void)thread;
    triangle_bands(index, &a, &b);
    b++; /* without the diagonal */
    gram_tile(m, a, b, gram_size(m, a) * gram_size(m, b) > ldexp(1, 32));
}

/* factor = I + L'L, upper triangle. */
static bool precond_gram(struct precond *m)
{
    size_t bands = precond_bands(m->rank);
    m->stride = precond_stride(m->rank);
    if (!klr_pool_run(m->pool, bands, gram_diagonal, m) ||
        !klr_pool_run(m->pool, bands * (bands - 1) / 2, gram_task, m))
        return false;
    m->flops += (double)m->n * (double)m->rank * (double)m->rank;
    return true;
}

/* In place: the upper Cholesky factor R, R'R = I + L'L, which has no pivot
 * below 1. */
static void precond_factor(struct precond *m)
{
    double r = (double)m->rank;
    triangle_factor(m->dense, m->rank, m->stride, m->factor, 1);
    m->flops += r * r * r / 3;
}

/* Prepare the projection on the subspace s'v = 0: M^-1 s and s'M^-1 s. */
static void precond_constrain(struct precond *m)
{
    precond_invert(m, m->s, m->zs);
    memcpy(m->fs, m->work, m->rank * sizeof *m->fs);
    m->szs = dot(m->n, m->s, m->zs);
}

/* More columns of L, if they pay, and what follows from L. */
static bool precond_complete(struct precond *m, const double *s)
{
    m->s = s;
    for (size_t i = 0; i < m->n; i++) {
        m->root[i] = s[i];
        m->scale[i] = 1;
    }
    if (m->rank < m->limit && !precond_grow(m))
        return false;
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = m->rank; k < precond_width(m); k++)
            *precond_at(m, i, k) = 0;
    if (!precond_gram(m))
        return false;
    precond_factor(m);
    precond_constrain(m);
    return true;
}

static void leading_task(void *context, size_t band, size_t thread)
{
    const struct precond *m = context;
    size_t first = band * LEADING_BAND, end = first + LEADING_BAND;
    leading_gram(m->leading, m->n, m->s, first, end < m->rank ? end : m->rank,
                 m->factor, m->stride);
    (void)thread;
}

static bool precond_build_linear(struct precond *m, const double *s)
{
    m->s = s;
    leading_build(m->leading, m->matrix.set, s);
    m->rank = m->leading->count;
    for (size_t i = 0; i < m->n; i++)
        m->scale[i] = 1;
    if (!klr_pool_run(m->pool, (m->rank + LEADING_BAND - 1) / LEADING_BAND,
                      leading_task, m))
        return false;
    precond_factor(m);
    precond_constrain(m);
    return true;
}

static bool precond_build(struct precond *m, const double *s)
{
    if (m->leading)
        return precond_build_linear(m, s);
    m->stale = false;
    m->rank = 0;
    for (size_t i = 0; i < m->n; i++)
        m->residual[i] = s[i] * s[i] * m->diagonal[i];
    m->built = precond_complete(m, s);
    m->left = precond_trace(m);
    return m->built;
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
 * nothing is done, if it would leave much more than those did then, or if K may
 * have to be computed and building L takes no longer than a product: the step
 * may take one more. */
static bool precond_rescale(struct precond *m, const double *s)
{
    const double much = 1.5;
    double rest = 0;
    if (!m->built || !(m->shared || precond_is_dear(m)))
        return false;
    for (size_t i = 0; i < m->n; i++)
        rest += precond_rest(m, s, i);
    if (!(rest <= much * m->left))
        return false;
    for (size_t i = 0; i < m->n; i++)
        m->residual[i] = precond_rest(m, s, i);
    for (size_t k = 0; k < m->rank; k += KLR_BAND)
        for (size_t i = 0; i < m->n; i++) {
            float ratio = (float)precond_ratio(m, s, i);
            for (size_t c = 0; c < band_rows(m->rank, k); c++)
                precond_at(m, i, k)[c] *= ratio;
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
        bool matters = fmax(old, now) * m->diagonal[i] > precond_light;
        m->scale[i] = matters ? m->root[i] / s[i] : 1;
        low = matters ? fmin(low, now / old) : low;
        high = matters ? fmax(high, now / old) : high;
    }
    return m->built && high <= far * low;
}

static bool precond_prepare(struct precond *m, const double *s)
{
    if (m->leading)
        return precond_build_linear(m, s);
    if (precond_adapt(m, s)) {
        m->s = s;
        precond_constrain(m);
        return true;
    }
    if (precond_rescale(m, s))
        return m->built = precond_complete(m, s);
    return precond_build(m, s);
}
