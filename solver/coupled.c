/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The preconditioner of the Newton method for the columns of a softmax. For the
 * probabilities p (k) of an example the Hessian of its loss is, with s = sqrt(C
 * p), elementwise, and Pi = I - s s'/C, the projection across s,
 *
 *   C (diag p - p p') = S S',   S = diag(s) Pi
 *
 * so that S v = diag(s) v where Pi v = v. A step has to keep s_i'v_i = 0 for
 * each example i and, with a bias, sum_i s_ic v_ic = 0 for each column c. With
 * Q the orthogonal projection on both, and for each column M_c of precond.c with
 * the weights C p (1 - p), the diagonal of the Hessian,
 *
 *   M^-1 = Q diag(M_1^-1 ... M_k^-1) Q
 *
 * The constraints of the columns are rows of S' 1: projecting on them is to
 * solve with 1'S S'1 = sum_i C_i (diag p_i - p_i p_i'), the Laplacian of the
 * complete graph of the columns with the weights sum_i C_i p_ic p_id. It is
 * factored without subtractions, as stars that become meshes (Grassmann, Taksar
 * & Heyman 1985), so that columns of tiny probabilities keep all digits.
 */
#include "solver/internal.h"

/* ---- Laplacians ---- */

static void laplacian_factor(size_t k, double *w)
{
    for (size_t a = 0; a < k; a++) {
        double degree = 0;
        for (size_t b = a + 1; b < k; b++)
            degree += w[a * k + b];
        w[a * k + a] = degree;
        for (size_t b = a + 1; b < k && degree > 0; b++)
            for (size_t c = b + 1; c < k; c++)
                w[b * k + c] += w[a * k + b] / degree * w[a * k + c];
    }
}

static void laplacian_solve(size_t k, const double *w, double *x)
{
    double sum = 0;
    for (size_t a = 0; a < k; a++)
        for (size_t b = a + 1; b < k && w[a * k + a] > 0; b++)
            x[b] += w[a * k + b] / w[a * k + a] * x[a];
    for (size_t a = k; a-- > 0;) {
        double flow = a + 1 < k ? x[a] : 0;
        for (size_t b = a + 1; b < k; b++)
            flow += w[a * k + b] * x[b];
        x[a] = w[a * k + a] > 0 ? flow / w[a * k + a] : 0;
        sum += x[a];
    }
    for (size_t a = 0; a < k; a++)
        x[a] -= sum / (double)k;
}

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

static void coupled_build(struct coupled *m, const struct binary *problem,
                          const double *s)
{
    m->s = s;
    for (size_t c = 0; c < m->columns; c++) {
        double *root = m->root + c * m->n;
        for (size_t i = 0; i < m->n; i++) {
            double weight = s[i * m->columns + c] * s[i * m->columns + c];
            root[i] = sqrt(weight * fmax(1 - weight / m->cost[i], 0));
        }
        precond_build(&m->column[c], problem, root);
    }
    coupled_weigh(m);
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
    return k * precond_bytes_within(n, coupled_most(n, columns)) +
           (double)n * (2 * k + 2) * sizeof(double);
}

static int coupled_create(struct coupled *m, const struct binary *problem,
                          size_t columns, const double *cost,
                          struct klr_error *err)
{
    size_t n = problem->n, size = sizeof(double);
    int code = 0;
    m->n = n;
    m->columns = columns;
    m->bias = !problem->params->no_bias;
    m->cost = cost;
    if (!(m->column = klr_zalloc(columns, sizeof *m->column, err)) ||
        !(m->root = klr_alloc(n, columns * size, err)) ||
        !(m->projected = klr_alloc(n, columns * size, err)) ||
        !(m->from = klr_alloc(n, size, err)) ||
        !(m->to = klr_alloc(n, size, err)) ||
        !(m->laplacian = klr_alloc(columns, columns * size, err)) ||
        !(m->sum = klr_alloc(columns, size, err)))
        return KLR_E_MEMORY;
    for (size_t c = 0; c < columns && !code; c++)
        code = precond_create_within(&m->column[c], problem,
                                     coupled_most(n, columns), err);
    return code;
}

static void coupled_free(struct coupled *m)
{
    for (size_t c = 0; c < m->columns && m->column; c++)
        precond_free(&m->column[c]);
    klr_free(m->column);
    klr_free(m->root);
    klr_free(m->projected);
    klr_free(m->from);
    klr_free(m->to);
    klr_free(m->laplacian);
    klr_free(m->sum);
}
