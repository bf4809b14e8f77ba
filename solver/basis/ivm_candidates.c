/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The candidate of an import vector machine that lowers H most.
 *
 * With the Hessian's factor at the fit, candidate j with the basis function v =
 * (k_j - B b(x_j)) / root of its residual takes the Newton step
 *
 *   d = v'g / (1 + v'Wv - |z|^2) along v - B y,  F z = B'Wv,  F'y = z
 *
 * where B'g = w holds already. All of a batch together are three products of
 * matrices, of O(n |S|) operations for each.
 */
#include "solver/basis/ivm_parts.h"

/* Candidates whose H is looked for together. */
struct batch {
    struct ivm *ivm;
    const size_t *candidate; /* (count) local indices */
    size_t count;
    double d[KLR_BAND]; /* the step along v */
    double objective[KLR_BAND];
};

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
static void ivm_column_task(void *context, size_t block, size_t thread)
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
            to[i * hessian_stride(&ivm->h)] = v[i] * ivm->factored[begin + i];
        }
    }
}

/* B'WV, some rows of it. */
static void ivm_mixed_task(void *context, size_t band, size_t thread)
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
        double scaled = v[i] * ivm->factored[i];
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
static void ivm_loss_task(void *context, size_t block, size_t thread)
{
    const struct batch *batch = context;
    struct ivm *ivm = batch->ivm;
    double out[KLR_BAND * KLR_BAND], f[KLR_BAND];
    size_t begin = block * KLR_BAND, rows = ivm_combine(batch, block, out);
    struct losses all = ivm_losses(ivm, ivm->cost);
    all.n = rows;
    all.y += begin;
    all.cost += begin;
    (void)thread;
    for (size_t q = 0; q < batch->count; q++) {
        const double *v = ivm->row + q * ivm->n + begin;
        for (size_t i = 0; i < rows; i++)
            f[i] =
                ivm->f[begin + i] + batch->d[q] * v[i] - out[i * KLR_BAND + q];
        ivm->partial[block * KLR_BAND + q] = losses_sum(&all, f, 0);
    }
}

/* batch->objective of its candidates; false where the clock ends that. */
static bool ivm_try(struct batch *batch)
{
    struct ivm *ivm = batch->ivm;
    const struct binary_problem *b = ivm->problem;
    size_t blocks = (ivm->n + KLR_BAND - 1) / KLR_BAND;
    size_t bands = (ivm->h.rank + KLR_BAND - 1) / KLR_BAND;
    size_t position[KLR_BAND];
    for (size_t q = 0; q < batch->count; q++) {
        position[q] = set_position(b->set, batch->candidate[q]);
        for (size_t k = 0; k < ivm->h.rank; k++) {
            double *row = ivm->basis + k * ivm->h.pitch;
            row[ivm->n + q] =
                k < ivm->h.unpenalised ? 0 : row[batch->candidate[q]];
        }
    }
    if (!operator_rows(b->op, position, batch->count, b->set, KLR_DOUBLE,
                       ivm->row, ivm->n) ||
        !klr_pool_run(b->op->pool, blocks, ivm_column_task, batch) ||
        !klr_pool_run(b->op->pool, bands, ivm_mixed_task, batch))
        return false;
    for (size_t q = 0; q < batch->count; q++)
        ivm_step(batch, q);
    if (!klr_pool_run(b->op->pool, blocks, ivm_loss_task, batch))
        return false;
    for (size_t q = 0; q < batch->count; q++)
        for (size_t block = 0; block < blocks; block++)
            batch->objective[q] += ivm->partial[block * KLR_BAND + q];
    return true;
}

static enum klr_status ivm_choose(struct ivm *ivm, size_t drawn, size_t *best)
{
    double least = INFINITY;
    enum klr_status status = KLR_CONVERGED;
    *best = ivm->left[0];
    for (size_t q = 0; q < drawn && status == KLR_CONVERGED; q += KLR_BAND) {
        struct batch batch = {.ivm = ivm, .candidate = ivm->left + q};
        batch.count = drawn - q < KLR_BAND ? drawn - q : KLR_BAND;
        if (!ivm_try(&batch))
            return ivm->problem->clock->status;
        for (size_t c = 0; c < batch.count; c++)
            if (batch.objective[c] < least) {
                least = batch.objective[c];
                *best = batch.candidate[c];
            }
        status = ivm_clock(ivm);
    }
    return status;
}
