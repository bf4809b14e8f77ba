/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Approximate leave-one-out decision values of kernel logistic regression in
 * closed form: G. C. Cawley, N. L. C. Talbot, "Efficient approximate
 * leave-one-out cross-validation for kernel logistic regression", Machine
 * Learning 71 (2008).
 *
 * At the optimum beta_i = g_i = C_i y_i q_i, q_i = sigma(-y_i f_i), and with
 * W_i = C_i q_i (1 - q_i) the last Newton step solves weighted least squares,
 *
 *   [ K + W^-1  1 ] [ beta ]   [ z ]
 *   [    1'     0 ] [ -rho ] = [ 0 ],   z_i = f_i + g_i / W_i
 *
 * of which leaving out is exact: f_i without example i is z_i - beta_i / h_i',
 * h' the diagonal of the inverse of that matrix. With S^2 = W and M = I + S K
 * S, h_i' = W_i h_i, h_i = (M^-1)_ii - (M^-1 s)_i^2 / s'M^-1 s, the latter term
 * with a bias only, so that an output moves by
 *
 *   shift_i = -(g_i / W_i) (1 - h_i) / h_i
 *
 * M = R'R is factored in double: an output loses the digits of the condition of
 * M, which grows with C.
 * R stands in panels of KLR_BAND columns, each down to its diagonal. A row of
 * blocks is finished from those above it; then the columns of R^-T, whose
 * squares sum to the diagonal of M^-1, are formed each for itself. Both are
 * products A'B of panels; the blocks of a row, and the columns, are turns of
 * the pool: no bit depends on threads. Behind the examples M is I.
 */
#include "solver/internal.h"

#include "solver/multiclass.h"
#include "solver/triangle.h"

enum { LOO_AREA = KLR_BAND * KLR_BAND };

/* Of q (1 - q), where an example is right or wrong beyond doubt, and of h: what
 * is less has lost all its digits in (g / W) (1 - h) / h. */
static const double loo_least = 0x1p-40;

struct loo {
    struct training *training;
    struct klr_set set;
    size_t n, blocks;
    double *panel;  /* R: (I + 1, LOO_AREA) for each block I of columns */
    double *row;    /* (KLR_BAND, n) of K */
    double *column; /* (threads, blocks, LOO_AREA) of R^-T */
    double *s;      /* (blocks, KLR_BAND) roots of the weights */
    double *ms;     /* (blocks, KLR_BAND) M^-1 s */
    double *h;      /* (blocks, KLR_BAND) */
    double *output; /* (positions, machines, count) decision values */
    size_t at;      /* row of blocks, or first column, that is worked on */
    const struct klr_dense *dense;
    struct klr_progress progress;
};

static size_t loo_blocks(size_t n)
{
    return (n + KLR_BAND - 1) / KLR_BAND;
}

static double *loo_panel(const struct loo *l, size_t block)
{
    return l->panel + block * (block + 1) / 2 * LOO_AREA;
}

/* ---- start and end ---- */

static double loo_bytes(const struct klr_params *params,
                        const struct layout *layout, size_t threads)
{
    enum klr_multiclass multiclass = multiclass_of(params, layout->k);
    size_t n = group_largest(multiclass, layout);
    double blocks = (double)loo_blocks(n);
    double areas = blocks * (blocks + 1) / 2 + (double)threads * blocks;
    double outputs =
        (double)(params->cost.count * group_machines(multiclass, layout->k));
    return sizeof(double) * (areas * LOO_AREA + (KLR_BAND + 4) * (double)n +
                             2 * outputs * (double)layout->n);
}

static int loo_create(struct loo *l, const struct group *group,
                      struct training *training, struct klr_error *err)
{
    size_t blocks = loo_blocks(group->set.size), size = sizeof(double);
    size_t vector = blocks * KLR_BAND;
    size_t threads = klr_pool_size(training->op->pool);
    *l = (struct loo){.training = training,
                      .set = group->set,
                      .n = group->set.size,
                      .blocks = blocks,
                      .dense = klr_dense()};
    if (!(l->panel =
              klr_alloc(blocks * (blocks + 1) / 2, LOO_AREA * size, err)) ||
        !(l->row = klr_alloc(l->n, KLR_BAND * size, err)) ||
        !(l->column = klr_alloc(threads * blocks, LOO_AREA * size, err)) ||
        !(l->s = klr_zalloc(vector, size, err)) ||
        !(l->ms = klr_alloc(vector, size, err)) ||
        !(l->h = klr_zalloc(vector, size, err)) ||
        !(l->output = klr_alloc(training->layout->n,
                                group->machines * group->count * size, err)))
        return KLR_E_MEMORY;
    return 0;
}

static void loo_free(struct loo *l)
{
    klr_free(l->panel);
    klr_free(l->row);
    klr_free(l->column);
    klr_free(l->s);
    klr_free(l->ms);
    klr_free(l->h);
    klr_free(l->output);
}

/* ---- M = R'R ---- */

/* M in a panel. */
static void loo_fill(struct loo *l, size_t block)
{
    double *panel = loo_panel(l, block);
    size_t first = block * KLR_BAND, position[KLR_BAND];
    size_t size = band_rows(l->n, first), rows = first + size;
    for (size_t c = 0; c < size; c++)
        position[c] = set_position(l->set, first + c);
    operator_rows(l->training->op, position, size, l->set, KLR_DOUBLE, l->row,
                  l->n);
    memset(panel, 0, (block + 1) * LOO_AREA * sizeof *panel);
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < size; c++)
            panel[i * KLR_BAND + c] =
                l->s[i] * l->s[first + c] * l->row[c * l->n + i];
    for (size_t c = 0; c < KLR_BAND; c++)
        panel[(first + c) * KLR_BAND + c] += 1;
}

/* to (LOO_AREA) -= A'B for A and B (rows, KLR_BAND). */
static void loo_reduce(const struct loo *l, size_t rows, const double *a,
                       const double *b, double *to)
{
    band_reduce(l->dense, rows, a, b, KLR_BAND, KLR_BAND, KLR_BAND, to);
}

/* to (KLR_BAND, cols) = R_II^-T to for a block r of the diagonal. */
static void loo_divide(const struct loo *l, const double *r, size_t cols,
                       double *to)
{
    l->dense->divide(KLR_BAND, r, KLR_BAND, cols, to, cols);
}

/* The block of R at row l->at and the turn-th column behind the diagonal. */
static void loo_row_turn(void *context, size_t turn, size_t thread)
{
    const struct loo *l = context;
    const double *diagonal = loo_panel(l, l->at);
    double *panel = loo_panel(l, l->at + 1 + turn);
    double *to = panel + l->at * LOO_AREA;
    (void)thread;
    loo_reduce(l, l->at * KLR_BAND, diagonal, panel, to);
    loo_divide(l, diagonal + l->at * LOO_AREA, KLR_BAND, to);
}

static enum klr_status loo_clock(struct loo *l)
{
    return clock_check(&l->training->clock, l->training->params, &l->progress,
                       NULL, NULL);
}

/* *definite: false if M is not so. */
static enum klr_status loo_factor(struct loo *l, bool *definite)
{
    enum klr_status status = KLR_CONVERGED;
    *definite = true;
    for (size_t i = 0; i < l->blocks && status == KLR_CONVERGED; i++) {
        loo_fill(l, i);
        status = loo_clock(l);
    }
    for (size_t i = 0; i < l->blocks && status == KLR_CONVERGED; i++) {
        double *panel = loo_panel(l, i), *block = panel + i * LOO_AREA;
        l->at = i;
        loo_reduce(l, i * KLR_BAND, panel, panel, block);
        *definite = triangle_factor(l->dense, KLR_BAND, KLR_BAND, block, 0.5);
        if (!*definite)
            return KLR_CONVERGED;
        klr_pool_run(l->training->op->pool, l->blocks - i - 1, loo_row_turn, l);
        status = loo_clock(l);
    }
    return status;
}

/* ---- what is wanted of M^-1 ---- */

/* A column of blocks of R^-T, from the diagonal on, and its squares. */
static void loo_column_turn(void *context, size_t turn, size_t thread)
{
    const struct loo *l = context;
    size_t j = l->at + turn;
    double *column = l->column + thread * l->blocks * LOO_AREA;
    double *h = l->h + j * KLR_BAND;
    memset(h, 0, KLR_BAND * sizeof *h);
    memset(column, 0, (l->blocks - j) * LOO_AREA * sizeof *column);
    for (size_t c = 0; c < KLR_BAND; c++)
        column[c * KLR_BAND + c] = 1;
    for (size_t i = j; i < l->blocks; i++) {
        const double *panel = loo_panel(l, i);
        double *to = column + (i - j) * LOO_AREA;
        loo_reduce(l, (i - j) * KLR_BAND, panel + j * LOO_AREA, column, to);
        loo_divide(l, panel + i * LOO_AREA, KLR_BAND, to);
        for (size_t e = 0; e < LOO_AREA; e++)
            h[e % KLR_BAND] += to[e] * to[e];
    }
}

/* ms = M^-1 s, by R'x = s and R ms = x. */
static void loo_solve(struct loo *l)
{
    double *x = l->ms;
    memcpy(x, l->s, l->blocks * KLR_BAND * sizeof *x);
    for (size_t i = 0; i < l->blocks; i++) {
        const double *panel = loo_panel(l, i);
        double *to = x + i * KLR_BAND;
        for (size_t k = 0; k < i * KLR_BAND; k++)
            for (size_t c = 0; c < KLR_BAND; c++)
                to[c] -= panel[k * KLR_BAND + c] * x[k];
        loo_divide(l, panel + i * LOO_AREA, 1, to);
    }
    for (size_t i = l->blocks; i-- > 0;) {
        const double *panel = loo_panel(l, i);
        double *from = x + i * KLR_BAND;
        for (size_t r = KLR_BAND; r-- > 0;) {
            const double *line = panel + (i * KLR_BAND + r) * KLR_BAND;
            from[r] -= dot(KLR_BAND - r - 1, line + r + 1, from + r + 1);
            from[r] /= line[r];
        }
        for (size_t k = 0; k < i * KLR_BAND; k++)
            x[k] -= dot(KLR_BAND, panel + k * KLR_BAND, from);
    }
}

/* h, of M in its factored form. */
static enum klr_status loo_diagonal(struct loo *l)
{
    struct klr_pool *pool = l->training->op->pool;
    size_t turns = 4 * klr_pool_size(pool); /* between looks at the clock */
    enum klr_status status = KLR_CONVERGED;
    for (l->at = 0; l->at < l->blocks && status == KLR_CONVERGED;
         l->at += turns) {
        size_t left = l->blocks - l->at;
        klr_pool_run(pool, left < turns ? left : turns, loo_column_turn, l);
        status = loo_clock(l);
    }
    if (l->training->params->no_bias)
        return status;
    loo_solve(l);
    double total = dot(l->n, l->s, l->ms);
    for (size_t i = 0; i < l->n; i++)
        l->h[i] -= l->ms[i] * l->ms[i] / total;
    return status;
}

/* ---- outputs ---- */

/* Of solution s of the group. */
static enum klr_status loo_shift(struct loo *l, const struct group *group,
                                 size_t s, bool *definite)
{
    const double *y = group->y + s / group->count * group->stride;
    double cost = l->training->params->cost.value[s % group->count];
    double *shift = group->shift + s * group->stride;
    size_t stride = group->machines * group->count;
    for (size_t i = 0; i < l->n; i++) {
        double f = l->output[set_position(l->set, i) * stride + s];
        double q = sigmoid(-y[i] * f);
        double w = fmax(q * sigmoid(y[i] * f), loo_least);
        shift[i] = -y[i] * q / w;
        l->s[i] = sqrt(cost * group->weight[i] * w);
    }
    enum klr_status status = loo_factor(l, definite);
    if (status == KLR_CONVERGED && *definite)
        status = loo_diagonal(l);
    for (size_t i = 0; i < l->n; i++) {
        double h = fmin(fmax(l->h[i], loo_least), 1);
        shift[i] *= status == KLR_CONVERGED ? (1 - h) / h : 0;
    }
    return status;
}

static int group_leave_out(struct group *group, struct training *training,
                           struct klr_error *err)
{
    struct loo l;
    int code = loo_create(&l, group, training, err);
    if (!code)
        code = group_decide(group, training, group->set, l.output, err);
    for (size_t s = 0; s < group->machines * group->count && !code; s++) {
        bool definite;
        enum klr_status status = loo_shift(&l, group, s, &definite);
        if (!definite)
            code = klr_fail(err, KLR_E_DATA,
                            "option --loo: the kernel matrix is not positive "
                            "semidefinite to rounding at C = %g",
                            training->params->cost.value[s % group->count]);
        else if (status == KLR_TIME_LIMIT)
            code = klr_fail(err, KLR_E_LIMIT,
                            "option --loo: the limit of time was reached");
        else if (status != KLR_CONVERGED)
            group->solution[s].status = status;
    }
    loo_free(&l);
    return code;
}
