/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Hessians of fits on few columns, H = D B'WB D + shift I, formed from the
 * functions B of a basis, factored as F F', F lower triangular, and solved
 * with. The first `free` functions are not penalised: no shift for them.
 *
 * H without its shift stands in the upper triangle of `factor`, F below it,
 * with its diagonal in `pivot`: another shift needs no other products. F can
 * grow by a row at a time.
 */
#include "solver/matrix/matrix.h"

#include <float.h>

static size_t hessian_stride(const struct hessian *h)
{
    return h->room + KLR_BAND;
}

static int hessian_alloc(struct hessian *h, size_t room, struct klr_error *err)
{
    h->room = room;
    if (!(h->scaled =
              klr_alloc(h->n * hessian_stride(h), sizeof(double), err)) ||
        !(h->factor = klr_alloc(room * room, sizeof(double), err)) ||
        !(h->pivot = klr_alloc(room, sizeof(double), err)))
        return KLR_E_MEMORY;
    return 0;
}

static void hessian_free(struct hessian *h)
{
    h->scaled = klr_free(h->scaled);
    h->factor = klr_free(h->factor);
    h->pivot = klr_free(h->pivot);
}

static double hessian_bytes(size_t n, size_t room)
{
    return ((double)n + (double)room) * (double)(room + KLR_BAND) *
           sizeof(double);
}

/* S B D, some rows of it. */
static void hessian_scale_task(void *context, size_t block, size_t thread)
{
    const struct hessian *h = context;
    size_t begin = block * KLR_BAND, stride = hessian_stride(h);
    size_t end = begin + KLR_BAND < h->n ? begin + KLR_BAND : h->n;
    (void)thread;
    for (size_t k = 0; k < h->rank; k++) {
        double scale = h->scale ? h->scale[k] : 1;
        for (size_t i = begin; i < end; i++)
            h->scaled[i * stride + k] =
                h->root[i] * scale * h->basis[k * h->pitch + i];
    }
}

/* A block of the upper triangle. */
static void hessian_gram_task(void *context, size_t index, size_t thread)
{
    const struct hessian *h = context;
    double out[KLR_BAND * KLR_BAND];
    size_t a, b;
    (void)thread;
    triangle_bands(index, &a, &b);
    a *= KLR_BAND;
    b *= KLR_BAND;
    size_t rows = band_rows(h->rank, a), cols = band_rows(h->rank, b);
    h->dense->gram(h->n, h->scaled + a, h->scaled + b, KLR_DOUBLE,
                   hessian_stride(h), rows, cols, out);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = a == b ? i : 0; j < cols; j++)
            h->factor[(a + i) * h->room + b + j] = out[i * KLR_BAND + j];
}

static bool hessian_form(struct hessian *h)
{
    size_t blocks = (h->n + KLR_BAND - 1) / KLR_BAND;
    size_t bands = (h->rank + KLR_BAND - 1) / KLR_BAND;
    return klr_pool_run(h->pool, blocks, hessian_scale_task, h) &&
           klr_pool_run(h->pool, bands * (bands + 1) / 2, hessian_gram_task, h);
}

static bool hessian_factor(struct hessian *h, double shift)
{
    for (size_t i = 0; i < h->rank; i++) {
        double *line = h->factor + i * h->room;
        for (size_t j = 0; j < i; j++) {
            const double *other = h->factor + j * h->room;
            line[j] = (other[i] - dot(j, line, other)) / h->pivot[j];
        }
        double square = line[i] + (i < h->unpenalised ? 0 : shift);
        double pivot = square - dot(i, line, line);
        if (!(pivot > DBL_EPSILON * square))
            return false;
        h->pivot[i] = sqrt(pivot);
    }
    return true;
}

static void hessian_forward(const struct hessian *h, double *x)
{
    for (size_t k = 0; k < h->rank; k++) {
        const double *line = h->factor + k * h->room;
        x[k] = (x[k] - dot(k, line, x)) / h->pivot[k];
    }
}

static void hessian_backward(const struct hessian *h, double *x)
{
    for (size_t k = h->rank; k-- > 0;) {
        const double *line = h->factor + k * h->room;
        x[k] /= h->pivot[k];
        for (size_t j = 0; j < k; j++)
            x[j] -= line[j] * x[k];
    }
}

static bool hessian_extend(struct hessian *h, double square)
{
    double *line = h->factor + h->rank * h->room;
    hessian_forward(h, line);
    double pivot = square - dot(h->rank, line, line);
    h->pivot[h->rank] = sqrt(pivot);
    h->rank++;
    return pivot > 0;
}
