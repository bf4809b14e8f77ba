/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scans through the functions U of a basis of fisher_basis.c, strip by strip
 * of examples. Memory limits them: so of each strip, which stays in the nearer
 * caches, all is taken at once that a step of the greedy method needs,
 *
 *   the last function, as far as it is still rough,
 *   a kernel that joins, less what its line says, and U' of what is left,
 *   U'k of candidates, and of the kernel that joins.
 *
 * U' of what is left is known when the scan is over: what that says is to be
 * subtracted waits for the next scan, and until then for whoever asks for
 * products with the function.
 *
 * Candidates are multiplied by the higher parts of U, in float over a strip;
 * examples are divided into groups by n alone, and sums over them are added in
 * order: no bit depends on threads.
 */
#include "solver/fisher/fisher_basis.h"

enum {
    SCAN_GROUPS = 8,  /* of examples, at most, */
    SCAN_GROUP = 512, /* of so many, at least */
    SCAN_ROWS = 12    /* functions that a product takes at once */
};

/* Examples of a group, a multiple of BASIS_STRIP. */
static size_t scan_group(size_t n)
{
    size_t size = (n / SCAN_GROUPS / BASIS_STRIP + 1) * BASIS_STRIP;
    return size < SCAN_GROUP ? SCAN_GROUP : size;
}

static size_t scan_groups(size_t n)
{
    return (n + scan_group(n) - 1) / scan_group(n);
}

/* Sums of a kernel. */
static size_t scan_wide(const struct scan *s)
{
    return s->basis->bands * KLR_BAND + 1;
}

/* ---- memory ---- */

static int scan_create(struct scan *s, struct basis *basis,
                       const struct candidates *c, struct klr_error *err)
{
    s->basis = basis;
    s->c = c;
    s->dense = klr_dense();
    s->moment = klr_alloc(scan_groups(c->n), sizeof *s->moment, err);
    return s->moment ? 0 : KLR_E_MEMORY;
}

static void scan_free(struct scan *s)
{
    klr_free(s->sum);
    klr_free(s->product);
    klr_free(s->moment);
}

static int scan_grow(struct scan *s, struct klr_error *err)
{
    size_t groups = scan_groups(s->c->n), wide = scan_wide(s);
    size_t products = s->basis->recalls ? s->basis->bands * SCAN_BAND : 0;
    int code = KLR_GROW(s->sum, s->sum_room, groups * wide, err);
    return code ? code
                : KLR_GROW(s->product, s->product_room, groups * products, err);
}

/* ---- a kernel ---- */

static void scan_kernel(struct scan *s, size_t q, size_t kernel)
{
    const struct basis *basis = s->basis;
    const double *row = s->c->exact + q * s->c->n;
    const double *weight = basis->problem->weight;
    s->row = row;
    s->kernel = kernel;
    s->scale = 1;
    s->joins = s->judges = false;
    s->norm = basis->ridge[kernel];
    s->mean[0] = s->mean[1] = 0;
    for (size_t i = 0; i < s->c->n; i++)
        s->mean[basis_class(basis, i)] += weight[i] * row[i];
    s->mean[0] /= basis->total[0];
    s->mean[1] /= basis->total[1];
    for (size_t i = 0; i < s->c->n; i++) {
        double x = row[i] - s->mean[basis_class(basis, i)];
        s->norm += weight[i] * x * x;
    }
}

/* ---- a strip, of examples from i on ---- */

/* u += U line, of the first functions, in their high parts or both. */
static void strip_subtract(const struct scan *s, size_t count, size_t parts,
                           const double *line, size_t i, double *u)
{
    for (size_t t = 0, left; t * KLR_BAND < count; t++)
        for (size_t low = 0; low < parts; low++) {
            left = count - t * KLR_BAND;
            s->dense->gemv_t(left < KLR_BAND ? left : KLR_BAND, BASIS_STRIP,
                             basis_block(s->basis, t, i) + low * BASIS_BLOCK,
                             BASIS_STRIP, line + t * KLR_BAND, u);
        }
}

/* out (count) += U v */
static void strip_project(const struct scan *s, size_t i, const double *v,
                          double *out)
{
    for (size_t t = 0, left; t * KLR_BAND < s->basis->count; t++)
        for (size_t low = 0; low < 2; low++) {
            left = s->basis->count - t * KLR_BAND;
            s->dense->expand(left < KLR_BAND ? left : KLR_BAND, BASIS_STRIP,
                             basis_block(s->basis, t, i) + low * BASIS_BLOCK,
                             BASIS_STRIP, v, out + t * KLR_BAND);
        }
}

/* Column k of U. */
static float *strip_column(const struct basis *basis, size_t k, size_t i)
{
    return basis_block(basis, k / KLR_BAND, i) + k % KLR_BAND * BASIS_STRIP;
}

static void strip_store(const double *u, float *column)
{
    for (size_t k = 0; k < BASIS_STRIP; k++) {
        column[k] = (float)u[k];
        column[k + BASIS_BLOCK] = (float)(u[k] - (double)column[k]);
    }
}

/* The rest is small: the high parts do. */
static void strip_smooth(const struct scan *s, size_t i)
{
    const struct basis *basis = s->basis;
    size_t last = basis->count - 1;
    float *column = strip_column(basis, last, i);
    _Alignas(64) double u[BASIS_STRIP];
    for (size_t k = 0; k < BASIS_STRIP; k++)
        u[k] = (double)column[k] + (double)column[k + BASIS_BLOCK];
    strip_subtract(s, last, 1, basis->pending_correction, i, u);
    for (size_t k = 0; k < BASIS_STRIP; k++)
        u[k] *= basis->scale;
    strip_store(u, column);
}

static void strip_reduce(const struct scan *s, size_t i, double *out)
{
    const struct basis *basis = s->basis;
    const double *weight = basis->problem->weight;
    size_t n = s->c->n, end = n - i < BASIS_STRIP ? n - i : BASIS_STRIP;
    _Alignas(64) double u[BASIS_STRIP] = {0}, v[BASIS_STRIP] = {0};
    for (size_t k = 0; k < end; k++) {
        size_t class = basis_class(basis, i + k);
        v[k] = s->scale * (s->row[i + k] - s->mean[class]);
        u[k] = weight[i + k] * v[k];
    }
    if (s->joins) {
        strip_subtract(s, basis->count, 2, basis->line, i, u);
        strip_store(u, strip_column(basis, basis->count, i));
        for (size_t k = 0; k < end; k++)
            v[k] = u[k] / weight[i + k];
    }
    strip_project(s, i, v, out);
    for (size_t k = 0; k < end; k++)
        out[scan_wide(s) - 1] += u[k] * v[k];
}

static void strip_moments(const struct scan *s, size_t panel, size_t begin,
                          size_t end, struct moment *moment)
{
    const struct binary_problem *problem = s->basis->problem;
    const float *column = s->c->column + panel * s->c->n * KLR_SLIM;
    for (size_t i = begin; i < end; i++) {
        const float *restrict from = column + i * KLR_SLIM;
        double *restrict sum =
            moment->sum[basis_class(s->basis, i)] + panel * KLR_SLIM;
        double *restrict square = moment->square + panel * KLR_SLIM;
        double w = problem->weight[i];
        for (size_t q = 0; q < KLR_SLIM; q++) {
            double x = (double)from[q], wx = w * x;
            sum[q] += wx;
            square[q] += wx * x;
        }
    }
}

/* Functions that candidates may meet: the one that joins is not counted yet. */
static size_t scan_count(const struct scan *s)
{
    return s->basis->count + s->joins;
}

/* True if a panel has not met all functions of a band. */
static bool scan_needs(const struct scan *s, size_t t, size_t panel)
{
    size_t end = (t + 1) * KLR_BAND, count = scan_count(s);
    return panel < s->c->panels && s->met[panel] < (end < count ? end : count);
}

/* U'k of a band and a panel, but for functions that it has met: full register
 * blocks take a dozen rows. */
static void strip_products(const struct scan *s, size_t t, size_t panel,
                           size_t i, double *out)
{
    const struct basis *basis = s->basis;
    size_t n = s->c->n, met = s->met[panel], top = t * KLR_BAND;
    size_t from = met > top ? (met - top) / SCAN_ROWS * SCAN_ROWS : 0;
    size_t rows = (scan_count(s) - top + SCAN_ROWS - 1) / SCAN_ROWS * SCAN_ROWS;
    _Alignas(64) float sum[SCAN_PANEL];
    rows = (rows < KLR_BAND ? rows : KLR_BAND) - from;
    memset(sum, 0, rows * KLR_SLIM * sizeof *sum);
    s->dense->gemm_16(rows, n - i < BASIS_STRIP ? n - i : BASIS_STRIP,
                      basis_block(basis, t, i) + from * BASIS_STRIP,
                      BASIS_STRIP, false,
                      s->c->column + (panel * n + i) * KLR_SLIM, sum);
    out += from * KLR_SLIM;
    for (size_t k = 0; k < rows * KLR_SLIM; k++)
        out[k] += (double)sum[k];
}

/* ---- scans ---- */

struct scans {
    struct scan *const *list;
    size_t groups;
};

/* The products of a group. */
static double *scan_products(const struct scan *s, size_t group, size_t t,
                             size_t panel)
{
    return s->product + (group * s->basis->bands + t) * SCAN_BAND +
           panel * SCAN_PANEL;
}

static void group_clear(const struct scan *s, size_t group)
{
    memset(s->sum + group * scan_wide(s), 0, scan_wide(s) * sizeof *s->sum);
    if (s->judges)
        memset(&s->moment[group], 0, sizeof *s->moment);
    for (size_t t = 0; s->judges && t < s->basis->bands; t++)
        for (size_t panel = 0; panel < s->c->panels; panel++)
            if (scan_needs(s, t, panel))
                memset(scan_products(s, group, t, panel), 0,
                       SCAN_PANEL * sizeof *s->product);
}

static void group_judge(const struct scan *s, size_t group, size_t i)
{
    size_t n = s->c->n, end = n - i < BASIS_STRIP ? n : i + BASIS_STRIP;
    for (size_t panel = 0; panel < s->c->panels; panel++)
        if (s->fresh[panel])
            strip_moments(s, panel, i, end, &s->moment[group]);
    for (size_t t = 0; t < s->basis->bands; t++)
        for (size_t panel = 0; panel < s->c->panels; panel++)
            if (scan_needs(s, t, panel))
                strip_products(s, t, panel, i,
                               scan_products(s, group, t, panel));
}

static void scan_task(void *context, size_t index, size_t thread)
{
    const struct scans *all = context;
    const struct scan *s = all->list[index / all->groups];
    size_t n = s->c->n, group = index % all->groups;
    size_t begin = group * scan_group(n), end = begin + scan_group(n);
    (void)thread;
    group_clear(s, group);
    for (size_t i = begin; i < end && i < n; i += BASIS_STRIP) {
        if (s->basis->pending)
            strip_smooth(s, i);
        if (s->row)
            strip_reduce(s, i, s->sum + group * scan_wide(s));
        if (s->judges)
            group_judge(s, group, i);
    }
}

static void sums_add(size_t count, const double *from, double *to)
{
    for (size_t k = 0; k < count; k++)
        to[k] += from[k];
}

/* The sums of all groups come to the first. */
static void scan_add(void *context, size_t index, size_t thread)
{
    const struct scans *all = context;
    struct scan *s = all->list[index];
    struct basis *basis = s->basis;
    (void)thread;
    for (size_t g = 1; g < all->groups; g++)
        sums_add(scan_wide(s), s->sum + g * scan_wide(s), s->sum);
    for (size_t g = 1; s->judges && g < all->groups; g++) {
        sums_add(sizeof *s->moment / sizeof(double),
                 (const double *)&s->moment[g], (double *)s->moment);
        for (size_t t = 0; t < basis->bands; t++)
            for (size_t panel = 0; panel < s->c->panels; panel++)
                if (scan_needs(s, t, panel))
                    sums_add(SCAN_PANEL, scan_products(s, g, t, panel),
                             scan_products(s, 0, t, panel));
    }
    if (basis->pending)
        memcpy(basis->part[basis->count - 1].mean, basis->smooth,
               sizeof basis->smooth);
    basis->pending = false;
}

static bool scan_all(struct scan *const *s, size_t count, struct klr_pool *pool)
{
    if (count == 0)
        return true;
    struct scans all = {s, scan_groups(s[0]->c->n)};
    bool whole = klr_pool_run(pool, count * all.groups, scan_task, &all) &&
                 klr_pool_run(pool, count, scan_add, &all);
    for (size_t k = 0; k < count && !whole; k++)
        basis_drop(s[k]->basis);
    return whole;
}

static void scan_smooth(struct scan *s)
{
    s->row = NULL;
    s->judges = false;
    if (s->basis->pending)
        scan_all(&s, 1, s->c->op->pool);
}
