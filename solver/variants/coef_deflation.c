/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The preconditioner of coef.c. Its Hessian H = I + K V K, V = W - w w' /
 * sum W or, without a bias, W, is nearly the identity but for the few
 * directions in which K is large. With an orthonormal basis Q of these and
 * Z = K Q,
 *
 *   M = I + Q Z'V Z Q',   M^-1 = I + Q ((I + Z'V Z)^-1 - I) Q'
 *
 * is H on the span of Q and the identity beside it, for any symmetric K.
 *
 * Q is made of the directions of conjugate gradients, whose products with K are
 * known anyway. Neither depends on the weights: new ones, of another step or
 * another C, ask for Z'V Z alone, which takes no product.
 *
 * Q and Z are floats, which bounds M, not the solution. Their rows are in bands
 * of KLR_BAND columns, so that both grow by new memory and nothing moves.
 */
#include "solver/variants/coef.h"

enum {
    DEFLATION_GROUPS = 16,     /* partial sums of Q'x, at most, */
    DEFLATION_GROUP = 1 << 15, /* of so many entries, at least */
    DEFLATION_CHUNK = 64       /* rows of S Z at once */
};

static const double deflation_megabytes = 64; /* of Q and Z */
/* A direction adds nothing if less than that of its length is new; a column of
 * K, whose weight may be large, if its entries' rounding is as much. */
static const double deflation_least = 1e-4, deflation_least_column = 1e-6;

static size_t deflation_room(size_t n, size_t most)
{
    double bytes = deflation_megabytes * 1048576;
    double columns = bytes / (2 * sizeof(float) * (double)n);
    size_t bands = (size_t)fmin(columns, (double)most) / KLR_BAND;
    size_t all = (n + KLR_BAND - 1) / KLR_BAND;
    return (bands < all ? bands : all) * KLR_BAND;
}

static double deflation_bytes(size_t n, size_t most)
{
    double room = (double)deflation_room(n, most);
    return 2 * sizeof(float) * (double)n * room +
           sizeof(double) * ((double)n + (room + DEFLATION_GROUPS + 3) * room);
}

static int deflation_create(struct deflation *m,
                            const struct binary_problem *problem, size_t most,
                            struct klr_arena *arena, struct klr_error *err)
{
    size_t n = problem->n, room = deflation_room(n, most);
    *m = (struct deflation){.n = n,
                            .room = room,
                            .bias = !problem->params->no_bias,
                            .pool = problem->op->pool,
                            .dense = klr_dense()};
    if (room == 0)
        return 0;
    return KLR_TAKE(arena, m->q, room, n, err) &&
                   KLR_TAKE(arena, m->z, room, n, err) &&
                   KLR_TAKE(arena, m->x, n, 1, err) &&
                   KLR_TAKE(arena, m->factor, room, room, err) &&
                   KLR_TAKE(arena, m->sum, DEFLATION_GROUPS, room, err) &&
                   KLR_TAKE(arena, m->part, room, 1, err) &&
                   KLR_TAKE(arena, m->solved, room, 1, err) &&
                   KLR_TAKE(arena, m->mean, room, 1, err)
               ? 0
               : KLR_E_MEMORY;
}

/* ---- A'x and out + A w, A being Q or Z ---- */

/* Its row i in the band that column k begins. */
static float *deflation_at(const struct deflation *m, const float *a, size_t i,
                           size_t k)
{
    return (float *)a + k * m->n + i * KLR_BAND;
}

/* The columns of the last band are filled up with zeros. */
static size_t deflation_width(const struct deflation *m)
{
    return (m->rank + KLR_BAND - 1) / KLR_BAND * KLR_BAND;
}

/* The rows are divided into groups by the size of A alone. */
static size_t deflation_groups(const struct deflation *m)
{
    size_t groups = m->n * m->rank / DEFLATION_GROUP + 1;
    return groups < DEFLATION_GROUPS ? groups : DEFLATION_GROUPS;
}

struct deflation_sweep {
    const struct deflation *m;
    const float *a;
    const double *in;
    double *out;
};

static void deflation_project_task(void *context, size_t group, size_t thread)
{
    const struct deflation_sweep *sweep = context;
    const struct deflation *m = sweep->m;
    size_t groups = deflation_groups(m), width = deflation_width(m);
    size_t begin = m->n * group / groups, end = m->n * (group + 1) / groups;
    double *out = m->sum + group * m->room;
    (void)thread;
    memset(out, 0, width * sizeof *out);
    for (size_t k = 0; k < width; k += KLR_BAND)
        m->dense->gemv_t(end - begin, KLR_BAND,
                         deflation_at(m, sweep->a, begin, k), KLR_BAND,
                         sweep->in + begin, out + k);
}

static void deflation_expand_task(void *context, size_t group, size_t thread)
{
    const struct deflation_sweep *sweep = context;
    const struct deflation *m = sweep->m;
    size_t groups = deflation_groups(m), width = deflation_width(m);
    size_t begin = m->n * group / groups, end = m->n * (group + 1) / groups;
    (void)thread;
    for (size_t k = 0; k < width; k += KLR_BAND)
        m->dense->expand(end - begin, KLR_BAND,
                         deflation_at(m, sweep->a, begin, k), KLR_BAND,
                         sweep->in + k, sweep->out + begin);
}

/* out (width) = A'x */
static void deflation_project(const struct deflation *m, const float *a,
                              const double *x, double *out)
{
    struct deflation_sweep sweep = {m, a, x, NULL};
    size_t groups = deflation_groups(m), width = deflation_width(m);
    klr_pool_run_all(m->pool, groups, deflation_project_task, &sweep);
    for (size_t k = 0; k < width; k++) {
        out[k] = 0;
        for (size_t g = 0; g < groups; g++)
            out[k] += m->sum[g * m->room + k];
    }
}

/* out (n) += A w */
static void deflation_expand(const struct deflation *m, const float *a,
                             const double *w, double *out)
{
    struct deflation_sweep sweep = {m, a, w, out};
    klr_pool_run_all(m->pool, deflation_groups(m), deflation_expand_task,
                     &sweep);
}

/* ---- M ---- */

/* Some of its rows that are not 0 of S (Z - 1 mean'), in the band that column k
 * begins. */
static void deflation_scale(const struct deflation *m, size_t first,
                            size_t rows, size_t k, double *out)
{
    for (size_t i = 0; i < rows; i++) {
        size_t row = m->place ? m->place[first + i] : first + i;
        const float *z = deflation_at(m, m->z, row, k);
        double s = sqrt(m->weight[row]);
        for (size_t c = 0; c < KLR_BAND; c++)
            out[i * KLR_BAND + c] = s * ((double)z[c] - m->mean[k + c]);
    }
}

/* A tile of I + Z'V Z: with the weighted mean of Z's rows taken from each, W
 * does for V. */
static void deflation_gram_task(void *context, size_t index, size_t thread)
{
    const struct deflation *m = context;
    double left[DEFLATION_CHUNK * KLR_BAND], right[DEFLATION_CHUNK * KLR_BAND];
    double tile[KLR_BAND * KLR_BAND];
    size_t a, b;
    (void)thread;
    triangle_bands(index, &a, &b);
    a *= KLR_BAND;
    b *= KLR_BAND;
    for (size_t i = 0; i < KLR_BAND; i++)
        for (size_t j = 0; j < KLR_BAND; j++)
            m->factor[(a + i) * m->room + b + j] = a + i == b + j;
    size_t all = m->place ? m->rows : m->n;
    for (size_t i = 0, rows; i < all; i += rows) {
        rows = all - i < DEFLATION_CHUNK ? all - i : DEFLATION_CHUNK;
        deflation_scale(m, i, rows, a, left);
        if (a != b)
            deflation_scale(m, i, rows, b, right);
        m->dense->gram(rows, left, a == b ? left : right, KLR_DOUBLE, KLR_BAND,
                       KLR_BAND, KLR_BAND, tile);
        for (size_t r = 0; r < KLR_BAND; r++)
            for (size_t c = a == b ? r : 0; c < KLR_BAND; c++)
                m->factor[(a + r) * m->room + b + c] += tile[r * KLR_BAND + c];
    }
}

static bool deflation_weigh(struct deflation *m, const double *weight)
{
    size_t bands = deflation_width(m) / KLR_BAND;
    double total = 0;
    m->ready = 0;
    if (m->rank == 0)
        return true;
    m->weight = weight;
    memset(m->mean, 0, m->room * sizeof *m->mean);
    for (size_t i = 0; i < m->n && m->bias; i++)
        total += weight[i];
    if (total > 0)
        deflation_project(m, m->z, weight, m->mean);
    for (size_t k = 0; k < m->rank && total > 0; k++)
        m->mean[k] /= total;
    if (!klr_pool_run(m->pool, bands * (bands + 1) / 2, deflation_gram_task, m))
        return false;
    if (triangle_factor(m->dense, m->rank, m->room, m->factor, 0.5))
        m->ready = m->rank;
    return true;
}

/* w = Q'x and x -= Q w, over the columns of M. */
static void deflation_part(const struct deflation *m, double *x, double *w)
{
    deflation_project(m, m->q, x, w);
    for (size_t k = 0; k < deflation_width(m); k++)
        m->mean[k] = k < m->ready ? -w[k] : 0;
    deflation_expand(m, m->q, m->mean, x);
}

/* out = x - Q w + Q (I + Z'V Z)^-1 w, w = Q'x. What Q, of floats, lacks of
 * being orthonormal would leave more of a large w in x - Q w than belongs
 * there: so its part in the span is taken out twice. */
static void deflation_solve(struct deflation *m, const double *x, double *out)
{
    double *w = m->part, *rest = m->solved;
    memcpy(out, x, m->n * sizeof *out);
    if (m->ready == 0)
        return;
    deflation_part(m, out, w);
    deflation_part(m, out, rest);
    for (size_t k = 0; k < deflation_width(m); k++)
        w[k] = k < m->ready ? w[k] + rest[k] : 0;
    triangle_solve(m->ready, m->room, m->factor, w);
    deflation_expand(m, m->q, w, out);
}

/* ---- growing ---- */

/* m->x / length becomes the last column of A. */
static void deflation_append(const struct deflation *m, float *a, double length)
{
    size_t band = m->rank / KLR_BAND * KLR_BAND, column = m->rank - band;
    if (column == 0)
        memset(deflation_at(m, a, 0, band), 0, m->n * KLR_BAND * sizeof *a);
    for (size_t i = 0; i < m->n; i++)
        deflation_at(m, a, i, band)[column] = (float)(m->x[i] / length);
}

/* m->x -= Q w for w = Q'm->x, and w is taken from m->part. */
static void deflation_orthogonalise(struct deflation *m)
{
    double *w = m->solved;
    deflation_project(m, m->q, m->x, w);
    for (size_t k = 0; k < m->rank; k++) {
        w[k] = -w[k];
        m->part[k] += w[k];
    }
    deflation_expand(m, m->q, w, m->x);
}

/* m->x = x without its part in the span; returns the length of what is left. */
static double deflation_new_part(struct deflation *m, const double *x)
{
    memcpy(m->x, x, m->n * sizeof *x);
    memset(m->part, 0, m->room * sizeof *m->part);
    deflation_orthogonalise(m);
    deflation_orthogonalise(m); /* of what rounding has left */
    return sqrt(dot(m->n, m->x, m->x));
}

static void deflation_add(struct deflation *m, const double *x,
                          const double *kx)
{
    if (m->rank == m->room)
        return;
    double length = deflation_new_part(m, x);
    if (!(length > deflation_least * sqrt(dot(m->n, x, x))))
        return;
    deflation_append(m, m->q, length);
    memcpy(m->x, kx, m->n * sizeof *kx);
    deflation_expand(m, m->z, m->part, m->x);
    deflation_append(m, m->z, length);
    m->rank++;
}

static void deflation_add_column(struct deflation *m, size_t i, const double *k)
{
    double length = deflation_new_part(m, k);
    if (m->rank < m->room &&
        length > deflation_least_column * sqrt(dot(m->n, k, k))) {
        deflation_append(m, m->q, length);
        memset(m->x, 0, m->n * sizeof *m->x);
        deflation_append(m, m->z, 1);
        m->part[m->rank++] = -length;
    }
    m->place[m->rows++] = i;
    for (size_t c = 0; c < m->rank; c++)
        deflation_at(m, m->z, i, c / KLR_BAND * KLR_BAND)[c % KLR_BAND] =
            (float)-m->part[c];
}

static void deflation_drop(struct deflation *m)
{
    m->rank = m->ready = m->room = 0;
}
