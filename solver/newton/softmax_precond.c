/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the Newton method solves for the step of the columns of a softmax with.
 * For the probabilities p (k) of an example the Hessian of its loss is, with
 * s = sqrt(C p), elementwise, and Pi = I - s s'/C, the projection across s,
 *
 *   C (diag p - p p') = S S',   S = diag(s) Pi
 *
 * so that S v = diag(s) v where Pi v = v. A step has to keep s_i'v_i = 0 for
 * each example i and, with a bias, sum_i s_ic v_ic = 0 for each column c; Q is
 * the orthogonal projection on both. M_c is that of lowrank.c, of each column,
 * with the weights C p (1 - p), the diagonal of the Hessian.
 *
 * The form for functions. The step from G to the Newton point is D (n, k) with
 *
 *   (I + U K) D = U q,   U = diag(s) Q diag(s),  q = K (B - G)
 *
 * It is solved by conjugate gradients in the inner product of the functions
 * that the coefficients stand for, <A, B> = sum_c a_c'K b_c, where I + U K is
 * symmetric. The preconditioner is J diag(P_1 ... P_k) J, P_c the inverse of
 * M_c for functions, precond_function(), and J takes the mean of the columns
 * away, which D has not: the Hessian of an example is the Laplacian of a graph
 * of the columns, its diagonal the degrees, its null space 1 for each of them,
 * whatever K makes of the examples. So J keeps apart what I + U K does.
 *
 * The form of newton_step.c, for v. The preconditioner is
 *
 *   M^-1 = Q diag(M_1^-1 ... M_k^-1) Q
 *
 * where Q differs from example to example: projecting the inverse is not
 * inverting the projection, and it is wrong by as many large eigenvalues as K
 * has there. But it subtracts nothing that floats do not hold. P_c does, on the
 * span of its kernels, once S_c K S_c has eigenvalues near 2^24: then conjugate
 * gradients meet a negative <r, z>, or lead nowhere, and the solver turns to
 * products in double, and to this form.
 *
 * The constraints of the columns are rows of S' 1: projecting on them is to
 * solve with 1'S S'1 = sum_i C_i (diag p_i - p_i p_i'), the Laplacian of the
 * complete graph of the columns with the weights sum_i C_i p_ic p_id.
 */
#include "solver/newton/newton_step.h"

/* Roots for which floats still hold the rows of L. */
static const double coupled_least = 1e-30;

/* ---- the projection ---- */

/* The Laplacian of the rows that are kept. */
static void coupled_weigh(struct coupled *m)
{
    size_t k = m->columns;
    memset(m->laplacian, 0, k * k * sizeof *m->laplacian);
    for (size_t i = 0; i < m->n; i++) {
        const double *s = m->s + i * k;
        for (size_t a = 0; a < k; a++) {
            double share = s[a] * s[a] / m->cost[i];
            for (size_t b = a + 1; b < k; b++)
                m->laplacian[a * k + b] += share * s[b] * s[b];
        }
    }
    laplacian_factor(k, m->laplacian);
}

/* x_i = Pi x_i; sum_c = sum_i s_ic x_ic. */
static void coupled_project_rows(struct coupled *m, double *x)
{
    size_t k = m->columns;
    memset(m->sum, 0, k * sizeof *m->sum);
    for (size_t i = 0; i < m->n; i++) {
        const double *s = m->s + i * k;
        double *row = x + i * k, along = dot(k, s, row) / m->cost[i];
        for (size_t c = 0; c < k; c++) {
            row[c] -= s[c] * along;
            m->sum[c] += s[c] * row[c];
        }
    }
}

/* x = Q x */
static void coupled_project(struct coupled *m, double *x)
{
    size_t k = m->columns;
    coupled_project_rows(m, x);
    if (!m->bias)
        return;
    laplacian_solve(k, m->laplacian, m->sum);
    for (size_t i = 0; i < m->n; i++) {
        const double *s = m->s + i * k;
        double mean = 0;
        for (size_t c = 0; c < k; c++)
            mean += s[c] * s[c] / m->cost[i] * m->sum[c];
        for (size_t c = 0; c < k; c++)
            x[i * k + c] -= s[c] * (m->sum[c] - mean);
    }
}

/* ---- the preconditioner ---- */

/* 1 - p_c is the sum of the others: what is near 0 keeps its digits. */
static double coupled_weight(size_t k, const double *s, double cost, size_t c)
{
    double others = 0;
    for (size_t d = 0; d < k; d++)
        others += d == c ? 0 : s[d] * s[d];
    return s[c] * s[c] * others / cost;
}

static bool coupled_build(struct coupled *m, const double *s)
{
    m->s = s;
    for (size_t c = 0; c < m->columns; c++) {
        double *root = m->root + c * m->n;
        for (size_t i = 0; i < m->n; i++)
            root[i] = sqrt(
                coupled_weight(m->columns, s + i * m->columns, m->cost[i], c));
        if (!precond_build(&m->column[c], root))
            return false;
    }
    coupled_weigh(m);
    return true;
}

static void coupled_solve(struct coupled *m, const double *in, double *out)
{
    size_t k = m->columns;
    memcpy(m->projected, in, m->n * k * sizeof *in);
    coupled_project(m, m->projected);
    for (size_t c = 0; c < k; c++) {
        for (size_t i = 0; i < m->n; i++)
            m->from[i] = m->projected[i * k + c];
        precond_invert(&m->column[c], m->from, m->to);
        for (size_t i = 0; i < m->n; i++)
            out[i * k + c] = m->to[i];
    }
    coupled_project(m, out);
}

static void coupled_raise(struct coupled *m)
{
    for (size_t c = 0; c < m->columns; c++)
        precond_raise(&m->column[c]);
}

static double coupled_flops(const struct coupled *m)
{
    double sum = 0;
    for (size_t c = 0; c < m->columns; c++)
        sum += m->column[c].flops;
    return sum;
}

/* ---- the step for functions ---- */

/* out = U x */
static void coupled_multiply(struct coupled *m, const double *x, double *out)
{
    size_t size = m->n * m->columns;
    for (size_t i = 0; i < size; i++)
        out[i] = m->s[i] * x[i];
    coupled_project(m, out);
    for (size_t i = 0; i < size; i++)
        out[i] *= m->s[i];
}

/* z = J diag(P_1 ... P_k) r, for r of sum 0 over the columns. Returns about <r,
 * z>. */
static double coupled_functions(struct coupled *m, const double *r, double *z)
{
    size_t k = m->columns;
    double norm = 0;
    memcpy(z, r, m->n * k * sizeof *z);
    for (size_t c = 0; c < k; c++) {
        struct precond *column = &m->column[c];
        const double *root = m->root + c * m->n;
        for (size_t i = 0; i < m->n; i++)
            m->from[i] = root[i] > 0 ? r[i * k + c] / root[i] : 0;
        norm += precond_function(column, m->bias, m->from, m->to);
        for (size_t j = 0; j < column->rank; j++)
            z[column->pivot[j] * k + c] += m->to[j];
    }
    for (size_t i = 0; i < m->n; i++) {
        double mean = 0;
        for (size_t c = 0; c < k; c++)
            mean += z[i * k + c] / (double)k;
        for (size_t c = 0; c < k; c++)
            z[i * k + c] -= mean;
    }
    return norm;
}

/* Start from D = 0, the point G, with residual U q, or from B, with residual
 * -e, whichever is smaller; the second exists only where all rows have a weight
 * in all columns. */
static double coupled_start(struct direction *d)
{
    struct coupled *m = &d->coupled;
    size_t size = d->size;
    bool exists = true;
    for (size_t i = 0; i < size; i++)
        exists = exists && m->root[i] > coupled_least;
    coupled_multiply(m, d->q, d->r);
    double norm = coupled_functions(m, d->r, d->z);
    double other = exists ? coupled_functions(m, d->e, d->p) : INFINITY;
    bool far = other < norm;
    for (size_t i = 0; i < size; i++) {
        d->v[i] = far ? d->e[i] : 0;
        d->kv[i] = far ? d->q[i] : 0;
        d->r[i] = far ? -d->e[i] : d->r[i];
        d->z[i] = far ? -d->p[i] : d->z[i];
    }
    memset(d->p, 0, size * sizeof *d->p);
    memset(d->kp, 0, size * sizeof *d->kp);
    d->rz = INFINITY;
    return far ? other : norm;
}

static bool coupled_step(struct direction *d, double *norm)
{
    struct coupled *m = &d->coupled;
    size_t size = d->size;
    double *kz = d->packed, *up = d->t;
    if (!direction_product(d, d->z, kz))
        return false;
    double rz = dot(size, d->r, kz), turn = rz / d->rz;
    d->rz = rz;
    for (size_t i = 0; i < size; i++) {
        d->p[i] = d->z[i] + turn * d->p[i];
        d->kp[i] = kz[i] + turn * d->kp[i];
    }
    coupled_multiply(m, d->kp, up);
    double curvature = dot(size, d->p, d->kp) + dot(size, d->kp, up);
    if (!(curvature > 0 && rz > 0))
        return false;
    double a = rz / curvature;
    for (size_t i = 0; i < size; i++) {
        d->v[i] += a * d->p[i];
        d->kv[i] += a * d->kp[i];
        d->r[i] -= a * (d->p[i] + up[i]);
    }
    *norm = coupled_functions(m, d->r, d->z);
    return true;
}

/* ---- start and end ---- */

/* All columns together take what four would. */
static size_t coupled_most(size_t n, size_t columns)
{
    size_t most = precond_most(n);
    size_t share = columns > 4 ? 4 * most / columns : most;
    return share > 1 ? share : 1;
}

static double coupled_bytes(size_t n, size_t columns)
{
    double k = (double)columns;
    return k * precond_bytes(n, coupled_most(n, columns)) +
           (double)n * (2 * k + 2) * sizeof(double);
}

static int coupled_create(struct coupled *m,
                          const struct binary_problem *problem, size_t columns,
                          const double *cost, struct klr_arena *arena,
                          struct klr_error *err)
{
    size_t n = problem->n;
    int code = 0;
    m->n = n;
    m->columns = columns;
    m->bias = !problem->params->no_bias;
    m->cost = cost;
    if (!KLR_TAKE_ZERO(arena, m->column, columns, 1, err) ||
        !KLR_TAKE(arena, m->root, n, columns, err) ||
        !KLR_TAKE(arena, m->projected, n, columns, err) ||
        !KLR_TAKE(arena, m->from, n, 1, err) ||
        !KLR_TAKE(arena, m->to, n, 1, err) ||
        !KLR_TAKE(arena, m->laplacian, columns, columns, err) ||
        !KLR_TAKE(arena, m->sum, columns, 1, err))
        return KLR_E_MEMORY;
    for (size_t c = 0; c < columns && !code; c++)
        code = precond_create(&m->column[c], problem_matrix(problem),
                              coupled_most(n, columns),
                              problem_shares_tiles(problem), arena, err);
    return code;
}
