/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Import vector machines: Zhu & Hastie, Kernel Logistic Regression and the
 * Import Vector Machine, JCGS 14 (2005), section 4. Kernel logistic regression
 *
 *   H(S) = min over beta with support S, and rho, of
 *          1/2 beta'K beta + sum_i C_i log(1 + e^(-y_i f_i)), f = K beta - rho
 *
 * on a set S of import points that grows by one each round: of the candidates,
 * the one whose H is smallest after one Newton step from the fit on S. Then
 * Newton's method fits S and that point. Rounds end when H has fallen by less
 * than eps, relatively, over the last `window`; when S has max_basis points; or
 * when no candidate is left that would add to the span of S.
 *
 * Functions of S are written in an orthonormal basis of the feature space, the
 * partial Cholesky factorisation of K: b_k(x_i), k in S, with K[:, S] = B L',
 * L = B[S, :] lower triangular, so that f = B w and beta'K beta = w'w. The
 * Hessian I + B'WB is then never worse conditioned than the weights. The bias
 * is one more basis function, 1, without penalty. The residual, K_ii less
 * |b(x_i)|^2, is what the span of S lacks of a candidate.
 *
 * With the Hessian's factor at the fit, candidate j with the basis function v =
 * (k_j - B b(x_j)) / root of its residual takes the Newton step
 *
 *   d = v'g / (1 + v'Wv - |z|^2) along v - B y,  F z = B'Wv,  F'y = z
 *
 * where B'g = w holds already. All of a batch together are three products of
 * matrices, of O(n |S|) operations for each.
 */
#include "solver/internal.h"

#include "solver/hessian.h"
#include "solver/systems.h"
#include "solver/triangle.h"

enum {
    IVM_STEPS = 50, /* of Newton's method, a round */
    IVM_ROOM = 32   /* import points at first */
};

struct ivm {
    const struct binary *problem;
    size_t n;
    struct loss loss;
    double *cost;             /* (n) C_i */
    struct hessian h;         /* of the fit; h.free: the bias is a function */
    double *basis;            /* (room, h.pitch) b_k(x_i), and KLR_BAND more */
    size_t *member;           /* (room) local index of import points */
    double *w, *slope, *step; /* (room) coefficients, gradient, Newton step */
    double *past;             /* (2 room) the objective of so many points */
    size_t *left;             /* (n) candidates */
    size_t candidates;        /* how many */
    double *residual;         /* (n) K_ii - |b(x_i)|^2 */
    double *diagonal;         /* (n) K_ii */
    double *f, *g, *root;     /* (n) f; g; root of W */
    double *df;               /* (n) change of f */
    double *row;              /* (KLR_BAND, n) v of a batch */
    double *mixed;            /* (room, KLR_BAND) B'WV */
    double *partial;          /* (blocks, KLR_BAND) losses of a batch */
    struct klr_progress progress;
};

/* Candidates whose H is looked for together. */
struct batch {
    struct ivm *ivm;
    const size_t *candidate; /* (count) local indices */
    size_t count;
    double d[KLR_BAND]; /* the step along v */
    double objective[KLR_BAND];
};

/* ---- the fit on S ---- */

static double ivm_loss(const struct ivm *ivm, size_t i, double f)
{
    return ivm->cost[i] * softplus(-ivm->problem->y[i] * f);
}

/* w'w / 2, for coefficients w + t step, without that of the bias. */
static double ivm_penalty(const struct ivm *ivm, double t)
{
    double sum = 0;
    for (size_t k = ivm->h.free; k < ivm->h.rank; k++) {
        double w = ivm->w[k] + t * ivm->step[k];
        sum += w * w;
    }
    return 0.5 * sum;
}

/* g, the roots of the weights, and the gradient w - B'g, at f. */
static void ivm_gradient(struct ivm *ivm)
{
    loss_gradient(&ivm->loss, ivm->n, ivm->problem->y, ivm->cost, ivm->f, 0,
                  ivm->g, ivm->root);
    for (size_t i = 0; i < ivm->n; i++)
        ivm->root[i] = sqrt(ivm->root[i]);
    for (size_t k = 0; k < ivm->h.rank; k++)
        ivm->slope[k] = (k < ivm->h.free ? 0 : ivm->w[k]) -
                        dot(ivm->n, ivm->basis + k * ivm->h.pitch, ivm->g);
}

/* Of the fit: I + B'WB has no pivot that is not positive, but for rounding. */
static bool ivm_factor(struct ivm *ivm)
{
    hessian_form(&ivm->h);
    return hessian_factor(&ivm->h, 1);
}

/* The first of t = 1, 1/2, 1/4 ... that lowers the objective is taken; false if
 * there is none. */
static bool ivm_search(struct ivm *ivm)
{
    memset(ivm->df, 0, ivm->n * sizeof *ivm->df);
    for (size_t k = 0; k < ivm->h.rank; k++) {
        const double *basis = ivm->basis + k * ivm->h.pitch;
        for (size_t i = 0; i < ivm->n; i++)
            ivm->df[i] += ivm->step[k] * basis[i];
    }
    for (double t = 1; t > 1e-8; t /= 2) {
        double objective = ivm_penalty(ivm, t);
        for (size_t i = 0; i < ivm->n; i++)
            objective += ivm_loss(ivm, i, ivm->f[i] + t * ivm->df[i]);
        if (!(objective < ivm->progress.objective))
            continue;
        ivm->progress.objective = objective;
        for (size_t i = 0; i < ivm->n; i++)
            ivm->f[i] += t * ivm->df[i];
        for (size_t k = 0; k < ivm->h.rank; k++)
            ivm->w[k] += t * ivm->step[k];
        return true;
    }
    return false;
}

/* Newton's method from a point with gradient and factor to one with both; false
 * where the factor has no digits left. */
static bool ivm_fit(struct ivm *ivm)
{
    const double accuracy = 1e-10;
    for (int step = 0; step < IVM_STEPS; step++) {
        for (size_t k = 0; k < ivm->h.rank; k++)
            ivm->step[k] = -ivm->slope[k];
        hessian_forward(&ivm->h, ivm->step);
        double fall = 0.5 * dot(ivm->h.rank, ivm->step, ivm->step);
        if (fall <= accuracy * fabs(ivm->progress.objective))
            return true;
        hessian_backward(&ivm->h, ivm->step);
        if (!ivm_search(ivm))
            return true;
        ivm_gradient(ivm);
        if (!ivm_factor(ivm))
            return false;
    }
    return true;
}

/* ---- candidates ---- */

/* B times the coefficients behind the basis, on the rows of a block: `out`
 * (rows, KLR_BAND). Returns how many. */
static size_t ivm_combine(const struct batch *batch, size_t block, double *out)
{
    const struct ivm *ivm = batch->ivm;
    size_t begin = block * KLR_BAND, rows = band_rows(ivm->n, begin);
    ivm->h.dense->gram(ivm->h.rank, ivm->basis + begin, ivm->basis + ivm->n,
                       KLR_DOUBLE, ivm->h.pitch, rows, batch->count, out);
    return rows;
}

/* v of the batch, and S V behind S B, on some rows. */
static void ivm_column_turn(void *context, size_t block, size_t thread)
{
    const struct batch *batch = context;
    struct ivm *ivm = batch->ivm;
    double out[KLR_BAND * KLR_BAND];
    size_t begin = block * KLR_BAND, rows = ivm_combine(batch, block, out);
    (void)thread;
    for (size_t q = 0; q < batch->count; q++) {
        double scale = 1 / sqrt(ivm->residual[batch->candidate[q]]);
        double *v = ivm->row + q * ivm->n + begin;
        double *to =
            ivm->h.scaled + begin * hessian_stride(&ivm->h) + ivm->h.rank + q;
        for (size_t i = 0; i < rows; i++) {
            v[i] = (v[i] - out[i * KLR_BAND + q]) * scale;
            to[i * hessian_stride(&ivm->h)] = v[i] * ivm->root[begin + i];
        }
    }
}

/* B'WV, some rows of it. */
static void ivm_mixed_turn(void *context, size_t band, size_t thread)
{
    const struct batch *batch = context;
    struct ivm *ivm = batch->ivm;
    double out[KLR_BAND * KLR_BAND];
    size_t begin = band * KLR_BAND, rows = band_rows(ivm->h.rank, begin);
    (void)thread;
    ivm->h.dense->gram(ivm->n, ivm->h.scaled + begin,
                       ivm->h.scaled + ivm->h.rank, KLR_DOUBLE,
                       hessian_stride(&ivm->h), rows, batch->count, out);
    memcpy(ivm->mixed + begin * KLR_BAND, out,
           rows * KLR_BAND * sizeof *ivm->mixed);
}

/* The step of one candidate: d, and d y behind the basis. */
static void ivm_step(struct batch *batch, size_t q)
{
    struct ivm *ivm = batch->ivm;
    const double *v = ivm->row + q * ivm->n;
    double curvature = 1, slope = 0, *y = ivm->step;
    for (size_t i = 0; i < ivm->n; i++) {
        double scaled = v[i] * ivm->root[i];
        curvature += scaled * scaled;
        slope += v[i] * ivm->g[i];
    }
    for (size_t k = 0; k < ivm->h.rank; k++)
        y[k] = ivm->mixed[k * KLR_BAND + q];
    hessian_forward(&ivm->h, y);
    double d = slope / (curvature - dot(ivm->h.rank, y, y));
    hessian_backward(&ivm->h, y);
    batch->d[q] = d;
    batch->objective[q] = ivm_penalty(ivm, -d) + 0.5 * d * d;
    for (size_t k = 0; k < ivm->h.rank; k++)
        ivm->basis[k * ivm->h.pitch + ivm->n + q] = d * y[k];
}

/* The losses of some rows after the steps. */
static void ivm_loss_turn(void *context, size_t block, size_t thread)
{
    const struct batch *batch = context;
    struct ivm *ivm = batch->ivm;
    double out[KLR_BAND * KLR_BAND];
    size_t begin = block * KLR_BAND, rows = ivm_combine(batch, block, out);
    (void)thread;
    for (size_t q = 0; q < batch->count; q++) {
        const double *v = ivm->row + q * ivm->n + begin;
        double sum = 0;
        for (size_t i = 0; i < rows; i++) {
            double df = batch->d[q] * v[i] - out[i * KLR_BAND + q];
            sum += ivm_loss(ivm, begin + i, ivm->f[begin + i] + df);
        }
        ivm->partial[block * KLR_BAND + q] = sum;
    }
}

/* batch->objective of its candidates. */
static void ivm_try(struct batch *batch)
{
    struct ivm *ivm = batch->ivm;
    const struct binary *b = ivm->problem;
    size_t blocks = (ivm->n + KLR_BAND - 1) / KLR_BAND;
    size_t bands = (ivm->h.rank + KLR_BAND - 1) / KLR_BAND;
    size_t position[KLR_BAND];
    for (size_t q = 0; q < batch->count; q++) {
        position[q] = set_position(b->set, batch->candidate[q]);
        for (size_t k = 0; k < ivm->h.rank; k++) {
            double *row = ivm->basis + k * ivm->h.pitch;
            row[ivm->n + q] = k < ivm->h.free ? 0 : row[batch->candidate[q]];
        }
    }
    operator_rows(b->op, position, batch->count, b->set, KLR_DOUBLE, ivm->row,
                  ivm->n);
    klr_pool_run(b->op->pool, blocks, ivm_column_turn, batch);
    klr_pool_run(b->op->pool, bands, ivm_mixed_turn, batch);
    for (size_t q = 0; q < batch->count; q++)
        ivm_step(batch, q);
    klr_pool_run(b->op->pool, blocks, ivm_loss_turn, batch);
    for (size_t q = 0; q < batch->count; q++)
        for (size_t block = 0; block < blocks; block++)
            batch->objective[q] += ivm->partial[block * KLR_BAND + q];
}

static enum klr_status ivm_clock(struct ivm *ivm)
{
    return clock_check(ivm->problem->clock, ivm->problem->params,
                       &ivm->progress, NULL, NULL);
}

/* Of the candidates drawn, which stand first in ivm->left, *best becomes the
 * one whose step reaches the smallest objective. */
static enum klr_status ivm_choose(struct ivm *ivm, size_t drawn, size_t *best)
{
    double least = INFINITY;
    enum klr_status status = KLR_CONVERGED;
    *best = ivm->left[0];
    for (size_t q = 0; q < drawn && status == KLR_CONVERGED; q += KLR_BAND) {
        struct batch batch = {.ivm = ivm, .candidate = ivm->left + q};
        batch.count = drawn - q < KLR_BAND ? drawn - q : KLR_BAND;
        ivm_try(&batch);
        for (size_t c = 0; c < batch.count; c++)
            if (batch.objective[c] < least) {
                least = batch.objective[c];
                *best = batch.candidate[c];
            }
        status = ivm_clock(ivm);
    }
    return status;
}

/* ---- growth ---- */

/* The basis and what belongs to it are kept, other arrays begin anew. */
static int ivm_reallocate(struct ivm *ivm, size_t room, struct klr_error *err)
{
    double **vector[] = {&ivm->basis, &ivm->w, &ivm->slope, &ivm->step,
                         &ivm->past};
    const size_t size[] = {ivm->h.pitch, 1, 1, 1, 2};
    size_t capacity = ivm->h.room, old = capacity;
    hessian_free(&ivm->h);
    ivm->mixed = klr_free(ivm->mixed);
    if (KLR_GROW(ivm->member, capacity, room, err))
        return KLR_E_MEMORY;
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
        capacity = old * size[i];
        if (KLR_GROW(*vector[i], capacity, room * size[i], err))
            return KLR_E_MEMORY;
    }
    ivm->h.basis = ivm->basis;
    ivm->mixed = klr_alloc(room * KLR_BAND, sizeof(double), err);
    return ivm->mixed ? hessian_alloc(&ivm->h, room, err) : KLR_E_MEMORY;
}

static double ivm_bytes(size_t n, size_t room)
{
    return hessian_bytes(n, room) +
           (double)n * (double)(room + KLR_BAND) * sizeof(double);
}

/* Room for one basis function more, and for as many as there are, where -m has
 * it; an error where it has none for the first. */
static int ivm_grow(struct ivm *ivm, struct klr_error *err)
{
    const double budget = (double)params_budget(ivm->problem->params);
    size_t n = ivm->n, old = ivm->h.room, room = old ? 2 * old : IVM_ROOM;
    size_t least = old ? old : ivm->h.free + 1;
    size_t most = (size_t)ivm->problem->params->max_basis;
    if (ivm->h.rank < old)
        return 0;
    if (old == 0 && ivm_bytes(n, least) > budget)
        return params_refuse_budget(n, ivm_bytes(n, least), err);
    most = ivm->h.free + (most > 0 && most < n ? most : n);
    room = room < most ? room : most;
    while (room > least && ivm_bytes(n, room) > budget)
        room--;
    if (room == old)
        return 0;
    int code = ivm_reallocate(ivm, room, err);
    if (!code)
        ivm_factor(ivm);
    return code;
}

/* What is spanned already is no candidate: it would add rounding errors. */
static void ivm_shorten(struct ivm *ivm)
{
    const double least = 1e-10;
    size_t kept = 0;
    for (size_t q = 0; q < ivm->candidates; q++) {
        size_t i = ivm->left[q];
        if (ivm->residual[i] > least * ivm->diagonal[i])
            ivm->left[kept++] = i;
    }
    ivm->candidates = kept;
}

/* Function v, behind the others, becomes one of them, with coefficient 0; false
 * as hessian_extend. */
static bool ivm_extend(struct ivm *ivm, const double *v)
{
    size_t r = ivm->h.rank;
    double *line = ivm->h.factor + r * ivm->h.room, square = 1;
    for (size_t i = 0; i < ivm->n; i++) {
        ivm->df[i] = ivm->root[i] * ivm->root[i] * v[i];
        square += ivm->df[i] * v[i];
    }
    for (size_t k = 0; k < r; k++)
        line[k] = dot(ivm->n, ivm->basis + k * ivm->h.pitch, ivm->df);
    ivm->w[r] = 0;
    ivm->slope[r] = -dot(ivm->n, v, ivm->g);
    return hessian_extend(&ivm->h, square);
}

/* Example i joins S: a step of the partial Cholesky factorisation of K, and the
 * fit. False where the Hessian's factor has no digits left. */
static bool ivm_admit(struct ivm *ivm, size_t i)
{
    const struct binary *b = ivm->problem;
    double *v = ivm->basis + ivm->h.rank * ivm->h.pitch;
    double scale = 1 / sqrt(ivm->residual[i]);
    operator_row(b->op, b->set, i, v);
    for (size_t k = ivm->h.free; k < ivm->h.rank; k++) {
        const double *basis = ivm->basis + k * ivm->h.pitch;
        double part = basis[i];
        for (size_t j = 0; j < ivm->n; j++)
            v[j] -= part * basis[j];
    }
    for (size_t j = 0; j < ivm->n; j++) {
        v[j] *= scale;
        ivm->residual[j] -= v[j] * v[j];
    }
    ivm->residual[i] = 0;
    ivm->member[ivm->h.rank] = i;
    ivm_shorten(ivm);
    return ivm_extend(ivm, v) && ivm_fit(ivm);
}

static bool ivm_full(const struct ivm *ivm)
{
    size_t most = (size_t)ivm->problem->params->max_basis;
    return ivm->candidates == 0 ||
           (most > 0 && ivm->h.rank - ivm->h.free >= most);
}

/* What H has fallen by of late. */
static void ivm_measure(struct ivm *ivm)
{
    size_t m = ivm->h.rank - ivm->h.free;
    size_t window = (size_t)ivm->problem->params->window;
    ivm->past[m] = ivm->progress.objective;
    ivm->progress.iterations = (long long)m;
    ivm->progress.violation =
        m < window
            ? INFINITY
            : (ivm->past[m - window] - ivm->past[m]) / fabs(ivm->past[m]);
}

/* Rounds until H falls by less than eps. */
static int ivm_rounds(struct ivm *ivm, enum klr_status *status,
                      struct klr_error *err)
{
    const size_t wanted = (size_t)ivm->problem->params->candidates;
    uint64_t random = (uint64_t)ivm->problem->params->seed;
    struct klr_progress *progress = &ivm->progress;
    *status = ivm_clock(ivm);
    while (*status == KLR_CONVERGED && !ivm_full(ivm) &&
           progress->violation >= progress->target) {
        size_t best,
            drawn = random_choose(&random, ivm->left, ivm->candidates, wanted);
        int code = ivm_grow(ivm, err);
        if (code)
            return code;
        *status = ivm->h.rank < ivm->h.room ? ivm_choose(ivm, drawn, &best)
                                            : KLR_MEMORY_LIMIT;
        if (*status != KLR_CONVERGED)
            break;
        bool well = ivm_admit(ivm, best);
        ivm_measure(ivm);
        *status = well ? ivm_clock(ivm) : KLR_PRECISION_LIMIT;
    }
    return 0;
}

/* ---- start and end ---- */

/* No import points: the bias alone. */
static int ivm_start(struct ivm *ivm, double c, struct klr_error *err)
{
    const struct binary *b = ivm->problem;
    ivm->loss = loss_of(b->params, c);
    ivm->h.rank = 0;
    ivm->progress =
        (struct klr_progress){.target = b->params->eps, .violation = INFINITY};
    int code = ivm_grow(ivm, err);
    if (code)
        return code;
    memset(ivm->f, 0, ivm->n * sizeof *ivm->f);
    for (size_t i = 0; i < ivm->n; i++) {
        ivm->cost[i] = c * b->weight[i];
        ivm->residual[i] = ivm->diagonal[i];
        ivm->left[i] = i;
        if (ivm->h.free)
            ivm->basis[i] = 1;
    }
    ivm->candidates = ivm->n;
    ivm_shorten(ivm);
    if (ivm->h.free) {
        ivm->h.rank = 1;
        ivm->w[0] = -best_rho(&ivm->loss, ivm->n, b->y, ivm->cost, ivm->f, 0);
    }
    for (size_t i = 0; i < ivm->n; i++) {
        ivm->f[i] = ivm->h.free ? ivm->w[0] : 0;
        ivm->progress.objective += ivm_loss(ivm, i, ivm->f[i]);
    }
    ivm_measure(ivm);
    ivm_gradient(ivm);
    ivm_factor(ivm);
    return 0;
}

/* beta = L^-T w on the import points. */
static void ivm_coefficients(const struct ivm *ivm, double *beta)
{
    memset(beta, 0, ivm->n * sizeof *beta);
    for (size_t k = ivm->h.rank; k-- > ivm->h.free;) {
        const double *basis = ivm->basis + k * ivm->h.pitch;
        double rest = ivm->w[k];
        for (size_t l = k + 1; l < ivm->h.rank; l++)
            rest -= basis[ivm->member[l]] * beta[ivm->member[l]];
        beta[ivm->member[k]] = rest / basis[ivm->member[k]];
    }
}

/* The answer and, since sum g = 0 where rho is optimal, a dual point of the
 * problem with all examples in S: its objectives bound what sparsity costs. */
static void ivm_finish(struct ivm *ivm, struct solution *solution)
{
    const struct binary *b = ivm->problem;
    double *beta = solution->beta, *pair = ivm->row;
    double *u = ivm->row + 2 * ivm->n, *kg = u + ivm->n, *out = kg + ivm->n;
    double bias = ivm->h.free ? ivm->w[0] : 0;
    ivm_coefficients(ivm, beta);
    for (size_t i = 0; i < ivm->n; i++)
        u[i] = ivm->f[i] - bias;
    solution->rho =
        ivm->h.free ? best_rho(&ivm->loss, ivm->n, b->y, ivm->cost, u, -bias)
                    : 0;
    struct loss_sums sums = loss_gradient(&ivm->loss, ivm->n, b->y, ivm->cost,
                                          u, solution->rho, ivm->g, ivm->root);
    for (size_t i = 0; i < ivm->n; i++) {
        pair[2 * i] = beta[i];
        pair[2 * i + 1] = ivm->g[i];
    }
    operator_apply(b->op, b->set, b->set, pair, 2, KLR_DOUBLE, out);
    for (size_t i = 0; i < ivm->n; i++) {
        u[i] = out[2 * i];
        kg[i] = out[2 * i + 1];
    }
    solution->primal = primal_value(&ivm->loss, ivm->n, b->y, ivm->cost, beta,
                                    u, solution->rho);
    solution->dual = -0.5 * dot(ivm->n, ivm->g, kg) - sums.conjugates;
    solution->iterations = ivm->progress.iterations;
    solution->precision = KLR_DOUBLE;
}

static int ivm_create(struct ivm *ivm, const struct binary *problem,
                      struct klr_error *err)
{
    size_t n = problem->n, blocks = (n + KLR_BAND - 1) / KLR_BAND;
    *ivm = (struct ivm){.problem = problem, .n = n};
    ivm->h = (struct hessian){.n = n,
                              .free = !problem->params->no_bias,
                              .pitch = n + KLR_BAND,
                              .pool = problem->op->pool,
                              .dense = klr_dense()};
    double **vector[] = {&ivm->cost, &ivm->residual, &ivm->diagonal, &ivm->f,
                         &ivm->g,    &ivm->root,     &ivm->df};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        if (!(*vector[i] = klr_alloc(n, sizeof(double), err)))
            return KLR_E_MEMORY;
    if (!(ivm->left = klr_alloc(n, sizeof *ivm->left, err)) ||
        !(ivm->row = klr_alloc(n * KLR_BAND, sizeof(double), err)) ||
        !(ivm->partial = klr_alloc(blocks * KLR_BAND, sizeof(double), err)))
        return KLR_E_MEMORY;
    ivm->h.root = ivm->root;
    operator_diagonal(problem->op, problem->set, ivm->diagonal);
    return 0;
}

static void ivm_free(struct ivm *ivm)
{
    double *vector[] = {ivm->basis, ivm->w,     ivm->slope,    ivm->step,
                        ivm->past,  ivm->cost,  ivm->residual, ivm->diagonal,
                        ivm->f,     ivm->g,     ivm->root,     ivm->df,
                        ivm->row,   ivm->mixed, ivm->partial};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        klr_free(vector[i]);
    hessian_free(&ivm->h);
    klr_free(ivm->member);
    klr_free(ivm->left);
}

/* Each C begins without import points: those of another C would stay. */
static int ivm_solve(const struct binary *problem, struct solution *solution,
                     struct klr_error *err)
{
    const struct klr_reals *cost = &problem->params->cost;
    struct ivm ivm;
    int code = ivm_create(&ivm, problem, err);
    for (size_t t = 0; t < cost->count && !code; t++) {
        code = ivm_start(&ivm, cost->value[t], err);
        if (!code)
            code = ivm_rounds(&ivm, &solution[t].status, err);
        if (!code)
            ivm_finish(&ivm, &solution[t]);
    }
    ivm_free(&ivm);
    return code;
}
