/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Approximate leave-one-out decision values of kernel logistic regression in
 * closed form: G. C. Cawley, N. L. C. Talbot, "Efficient approximate
 * leave-one-out cross-validation for kernel logistic regression", Machine
 * Learning 71 (2008).
 *
 * With q_i = sigma(-y_i f_i) and W_i = C_i q_i (1 - q_i) the last Newton step
 * solves weighted least squares,
 *
 *   [ K + W^-1  1 ] [ beta ]   [ z ]
 *   [    1'     0 ] [ -rho ] = [ 0 ],   z_i = f_i + beta_i / W_i
 *
 * where at the optimum beta_i = C_i y_i q_i. Of these leaving out is exact: f_i
 * without example i is z_i - beta_i / h_i', h' the diagonal of the inverse of
 * that matrix. With S^2 = W and M = I + S K S, h_i' = W_i h_i,
 *
 *   h_i = (M^-1)_ii - (M^-1 s)_i^2 / s'M^-1 s,
 *
 * the latter term with a bias only, so that an output moves by
 *
 *   shift_i = -(beta_i / W_i) (1 - h_i) / h_i
 *
 * M = R'R is factored in double: an output loses the digits of the condition of
 * M, which grows with C. R stands in panels. The columns of R^-T, whose squares
 * sum to the diagonal of M^-1, are formed each for itself, in blocks, which are
 * tasks of the pool: no bit depends on threads. Behind the examples M is I.
 */
#include "solver/matrix/matrix.h"
#include "solver/train/train.h"

enum { LOO_AREA = KLR_BAND * KLR_BAND };

/* The least 1 - q, of an example that is wrong beyond doubt, and the least h:
 * smaller ones have lost all digits in (beta / W) (1 - h) / h. So has 1 - h if
 * beta is many times as large as C q, far from an optimum. */
static const double loo_least = 0x1p-40, loo_most = 1000;
static const double loo_rounding = 1e-13; /* of a decision value */

struct loo {
    struct training *training;
    struct klr_set set;
    size_t n, blocks;
    struct panels r;
    double *row;    /* (KLR_BAND, n) of K */
    double *column; /* (threads, blocks, LOO_AREA) of R^-T */
    double *s;      /* (blocks, KLR_BAND) roots of the weights */
    double *ms;     /* (blocks, KLR_BAND) the least pivots; M^-1 s */
    double *h;      /* (blocks, KLR_BAND) */
    double *output; /* (positions, machines, count) decision values */
    size_t at;      /* the first column of blocks that is worked on */
    struct klr_progress progress;
    struct klr_arena arena; /* all that is allocated */
};

/* ---- start and end ---- */

static double loo_bytes(const struct klr_params *params,
                        const struct partition *partition, size_t threads)
{
    enum klr_multiclass multiclass = multiclass_of(params, partition->k);
    size_t n = group_largest(multiclass, partition);
    double blocks = (double)panels_bands(n);
    if (system_of(params, NULL)->leave_out != LEAVE_OUT_KERNELS)
        return 0;
    double areas = blocks * (blocks + 1) / 2 + (double)threads * blocks;
    double outputs =
        (double)(params->cost.count * group_machines(multiclass, partition->k));
    return sizeof(double) * (areas * LOO_AREA + (KLR_BAND + 4) * (double)n +
                             2 * outputs * (double)partition->n);
}

static int loo_create(struct loo *l, const struct machine_group *group,
                      struct training *training, struct klr_error *err)
{
    struct klr_arena *arena = &l->arena;
    size_t blocks = panels_bands(group->set.size);
    size_t vector = blocks * KLR_BAND;
    struct klr_pool *pool = training->op->pool;
    *l = (struct loo){
        .training = training,
        .set = group->set,
        .n = group->set.size,
        .blocks = blocks,
        .r = {group->set.size, .pool = pool, .dense = klr_dense()}};
    if (!KLR_TAKE(arena, l->r.value, panels_size(l->n), 1, err) ||
        !KLR_TAKE(arena, l->row, l->n, KLR_BAND, err) ||
        !KLR_TAKE(arena, l->column, klr_pool_size(pool) * blocks, LOO_AREA,
                  err) ||
        !KLR_TAKE_ZERO(arena, l->s, vector, 1, err) ||
        !KLR_TAKE(arena, l->ms, vector, 1, err) ||
        !KLR_TAKE_ZERO(arena, l->h, vector, 1, err) ||
        !KLR_TAKE(arena, l->output, training->partition->n,
                  group->machines * group->count, err))
        return KLR_E_MEMORY;
    return 0;
}

/* ---- M = R'R ---- */

/* M in a panel. */
static void loo_fill(struct loo *l, size_t block)
{
    size_t first = block * KLR_BAND, position[KLR_BAND];
    double *panel = panels_at(&l->r, 0, first);
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

static enum klr_status loo_clock(struct loo *l)
{
    return clock_check(&l->training->clock, l->training->params, &l->progress,
                       NULL, NULL);
}

/* *definite: false if M is not so, as far as the status has let it be told. */
static enum klr_status loo_factor(struct loo *l, bool *definite)
{
    enum klr_status status = KLR_CONVERGED;
    *definite = true;
    for (size_t i = 0; i < l->blocks && status == KLR_CONVERGED; i++) {
        loo_fill(l, i);
        status = loo_clock(l);
    }
    for (size_t i = 0; i < l->n; i++)
        l->ms[i] = 0.5;
    if (status == KLR_CONVERGED && !panels_factor(&l->r, l->ms, NULL))
        return l->training->clock.status;
    *definite = status != KLR_CONVERGED || !l->r.raised;
    return status;
}

/* ---- what is wanted of M^-1 ---- */

/* A column of blocks of R^-T, from the diagonal on, and its squares. */
static void loo_column_task(void *context, size_t task, size_t thread)
{
    const struct loo *l = context;
    size_t j = l->at + task;
    double *column = l->column + thread * l->blocks * LOO_AREA;
    double *h = l->h + j * KLR_BAND;
    memset(h, 0, KLR_BAND * sizeof *h);
    memset(column, 0, (l->blocks - j) * LOO_AREA * sizeof *column);
    for (size_t c = 0; c < KLR_BAND; c++)
        column[c * KLR_BAND + c] = 1;
    struct klr_pool *pool = l->r.pool;
    const struct klr_dense *dense = l->r.dense;
    for (size_t i = j; i < l->blocks && !klr_pool_asks(pool, thread); i++) {
        const double *panel = panels_at(&l->r, 0, i * KLR_BAND);
        double *to = column + (i - j) * LOO_AREA;
        band_reduce(dense, (i - j) * KLR_BAND, panel + j * LOO_AREA, column,
                    KLR_BAND, KLR_BAND, KLR_BAND, to);
        dense->divide(KLR_BAND, panel + i * LOO_AREA, KLR_BAND, KLR_BAND, to,
                      KLR_BAND);
        for (size_t e = 0; e < LOO_AREA; e++)
            h[e % KLR_BAND] += to[e] * to[e];
    }
}

/* h, of M in its factored form. */
static enum klr_status loo_diagonal(struct loo *l)
{
    struct klr_pool *pool = l->r.pool;
    size_t tasks = 4 * klr_pool_size(pool); /* between looks at the clock */
    enum klr_status status = KLR_CONVERGED;
    for (l->at = 0; l->at < l->blocks && status == KLR_CONVERGED;
         l->at += tasks) {
        size_t left = l->blocks - l->at;
        klr_pool_run(pool, left < tasks ? left : tasks, loo_column_task, l);
        status = loo_clock(l);
    }
    if (l->training->params->no_bias || status != KLR_CONVERGED)
        return status;
    memcpy(l->ms, l->s, l->n * sizeof *l->ms);
    panels_forward(&l->r, l->ms);
    panels_backward(&l->r, l->ms);
    double total = dot(l->n, l->s, l->ms);
    for (size_t i = 0; i < l->n; i++)
        l->h[i] -= l->ms[i] * l->ms[i] / total;
    return status;
}

/* ---- outputs ---- */

/* The decision value of example i by solution s. */
static double loo_output(const struct loo *l, const struct machine_group *group,
                         size_t s, size_t i)
{
    size_t stride = group->machines * group->count;
    return l->output[set_position(l->set, i) * stride + s];
}

/* Compute the shifts of solution s of the group. */
static enum klr_status loo_shift(struct loo *l,
                                 const struct machine_group *group, size_t s,
                                 bool *definite)
{
    const double *y = group->y + s / group->count * group->stride;
    double cost = l->training->params->cost.value[s % group->count];
    const double *beta = group->solution[s].beta;
    double *shift = group->shift + s * group->stride;
    for (size_t i = 0; i < l->n; i++) {
        double f = loo_output(l, group, s, i);
        double q = sigmoid(-y[i] * f);
        double alpha = fabs(beta[i]), g = cost * group->weight[i] * q;
        double w =
            fmax(g, alpha / loo_most) * fmax(sigmoid(y[i] * f), loo_least);
        shift[i] = w > 0 ? -beta[i] / w : 0;
        l->s[i] = sqrt(w);
    }
    enum klr_status status = loo_factor(l, definite);
    if (status == KLR_CONVERGED && *definite)
        status = loo_diagonal(l);
    for (size_t i = 0; i < l->n; i++) {
        double h = fmin(fmax(l->h[i], loo_least), 1);
        double f = loo_output(l, group, s, i);
        shift[i] *= status == KLR_CONVERGED ? (1 - h) / h : 0;
        if (fabs(f + shift[i]) <= loo_rounding * fabs(f))
            shift[i] = -f; /* whose sign would tell what nobody knows */
    }
    return status;
}

/* M is not positive definite to rounding, so that nothing is known without an
 * example. If K was given, K is to blame: it is not semidefinite. */
static void loo_lose(const struct loo *l, const struct machine_group *group,
                     size_t s)
{
    struct solution *solution = &group->solution[s];
    if (l->training->params->kernel == KLR_PRECOMPUTED) {
        solution->status = gravest(solution->status, KLR_PRECISION_LIMIT);
        solution->doubt = KLR_DOUBT_INDEFINITE;
    }
    for (size_t i = 0; i < l->n; i++)
        group->shift[s * group->stride + i] = (double)NAN;
}

static int group_leave_out(struct machine_group *group,
                           struct training *training, struct klr_error *err)
{
    struct loo l;
    int code = loo_create(&l, group, training, err);
    clock_between(&training->clock, "leave-one-out");
    if (!code)
        code = group_decide(group, training, group->set, l.output, err);
    for (size_t s = 0; s < group->machines * group->count && !code; s++) {
        bool definite = true;
        enum klr_status status = training->clock.status;
        if (status == KLR_CONVERGED)
            status = loo_shift(&l, group, s, &definite);
        else
            memset(group->shift + s * group->stride, 0,
                   l.n * sizeof *group->shift);
        if (!definite)
            loo_lose(&l, group, s);
        group->solution[s].status = gravest(group->solution[s].status, status);
    }
    klr_arena_free(&l.arena);
    return code;
}
