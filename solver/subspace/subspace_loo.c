/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Approximate leave-one-out in closed form. With a_i = (b_i, 1) for the row b_i
 * of B, or b_i alone where there is no bias, the Hessian of P in w and -rho is,
 * of k columns, one after the other,
 *
 *   F = I (x) diag(1, .., 1, 0) + sum_i W_i (x) a_i a_i'
 *
 * where W_i (k, k) is the curvature of the loss of example i, a number for two
 * classes. The gradient of the problem without example i is g_i (x) a_i at the
 * optimum of all, and its Hessian F - W_i (x) a_i a_i'. With A_i = I (x) a_i,
 * H = A_i'F^-1 A_i and L = (I - H W_i)^-1 its Newton step moves the k decision
 * values by
 *
 *   shift_i = -L H g_i
 *
 * An example that is a point takes its kernel with it: with C_k = I (x) (R^-T
 * e_k, 0) the coefficients of point k are beta_k = C_k'(w, -rho), which the
 * step has to make 0. For Q = A_i'F^-1 C_k and R_k = C_k'F^-1 C_k that adds
 *
 *   -L Q (R_k + Q'W_i L Q)^-1 (beta_k - Q'L'g_i)
 *
 * The other points stay as they are. With S S' = W_i and M = I - S'H S, whose
 * eigenvalues are above 0, L = I + H S M^-1 S' and W_i L = S M^-1 S'.
 *
 * F = R_F'R_F is formed of all examples, a few at a time, and factored, in
 * double; H is the squares and products of the columns of R_F^-T A_i. Adding
 * the same to all rho of a softmax changes nothing: F has a term that holds it.
 */
#include "solver/subspace/subspace_parts.h"

#include <float.h>

enum {
    LEAVE_BANDS = 20,  /* of examples that join F together */
    LEAVE_SQUARES = 7, /* (k, k) workspace of an example */
    LEAVE_VECTORS = 3  /* (k) likewise */
};

/* The least pivot of M: smaller ones have lost all digits. */
static const double leave_least = 0x1p-40;

struct leave_out {
    struct subspace *s;
    size_t k, size, pitch; /* columns; rows of F for each; in whole bands */
    size_t first, rows;    /* examples that join it */
    size_t c, d;           /* columns of the block that they join, c <= d */
    struct panels f;       /* (k pitch) F; R_F */
    double *least;         /* (k pitch) */
    double *columns;       /* (threads, 2, leave_length) some A_i; some C_k */
    double *squares;       /* (threads, LEAVE_SQUARES, k, k), vectors */
    double *a;             /* (LEAVE_BANDS KLR_BAND, pitch) some a_i' */
    double *weighted;      /* the same times W_cd */
    struct solution *const *solution; /* (k) whose shift is filled in, ... */
    size_t t;                         /* ... at this C */
};

/* ---- workspace ---- */

static size_t leave_pitch(size_t size)
{
    return panels_bands(size) * KLR_BAND;
}

/* Column c of some A_i is 0 above the c-th block, where it begins. */
static size_t leave_offset(size_t k, size_t pitch, size_t c)
{
    return (c * k - c * (c - 1) / 2) * pitch * KLR_BAND;
}

static size_t leave_squares(size_t k)
{
    return (LEAVE_SQUARES * k + LEAVE_VECTORS) * k;
}

static double leave_out_bytes(const struct binary_problem *problem, size_t m,
                              size_t k)
{
    size_t pitch = leave_pitch(m + 1);
    double threads = (double)klr_pool_size(problem->op->pool);
    return sizeof(double) *
           (threads * (2 * (double)leave_offset(k, pitch, k) +
                       (double)leave_squares(k)) +
            2.0 * LEAVE_BANDS * KLR_BAND * (double)pitch +
            (double)panels_size(k * pitch) + (double)(k * pitch));
}

static int leave_out_create(struct leave_out *l, struct subspace *s,
                            struct klr_error *err)
{
    size_t threads = klr_pool_size(s->problem->op->pool), k = s->columns;
    size_t size = s->m + subspace_has_bias(s), pitch = leave_pitch(size);
    size_t some = LEAVE_BANDS * KLR_BAND;
    *l = (struct leave_out){.s = s,
                            .k = k,
                            .size = size,
                            .pitch = pitch,
                            .f = {.n = k * pitch,
                                  .pool = s->problem->op->pool,
                                  .dense = klr_dense()}};
    l->f.value = klr_zalloc(panels_size(k * pitch), sizeof(double), err);
    l->least = klr_alloc(k * pitch, sizeof(double), err);
    l->columns =
        klr_alloc(threads * 2, leave_offset(k, pitch, k) * sizeof(double), err);
    l->squares = klr_alloc(threads, leave_squares(k) * sizeof(double), err);
    l->a = klr_alloc(some * pitch, sizeof(double), err);
    l->weighted = klr_alloc(some * pitch, sizeof(double), err);
    return l->f.value && l->least && l->columns && l->squares && l->a &&
                   l->weighted
               ? 0
               : KLR_E_MEMORY;
}

static void leave_out_free(struct leave_out *l)
{
    klr_free(l->f.value);
    klr_free(l->least);
    klr_free(l->columns);
    klr_free(l->squares);
    klr_free(l->a);
    klr_free(l->weighted);
}

/* A thread's A_i, or C_k, of some examples: all zeros. */
static double *leave_workspace(const struct leave_out *l, size_t thread,
                               bool points)
{
    size_t length = leave_offset(l->k, l->pitch, l->k);
    double *x = l->columns + (2 * thread + points) * length;
    memset(x, 0, length * sizeof *x);
    return x;
}

/* The first block of the first column becomes that of all, and R_F^-T divides
 * them. */
static void leave_divide(const struct leave_out *l, double *x)
{
    size_t block = l->pitch * KLR_BAND;
    for (size_t c = 1; c < l->k; c++)
        memcpy(x + leave_offset(l->k, l->pitch, c), x, block * sizeof *x);
    for (size_t c = 0; c < l->k; c++)
        panels_divide_from(&l->f, c * l->pitch,
                           x + leave_offset(l->k, l->pitch, c));
}

/* a_i of some examples, side by side. */
static void leave_examples(const struct leave_out *l, size_t thread,
                           size_t first, size_t rows, double *a)
{
    subspace_whiten(l->s, thread, NULL, first, rows, a);
    for (size_t i = 0; i < rows && l->size > l->s->m; i++)
        a[l->s->m * KLR_BAND + i] = 1;
}

/* ---- F ---- */

static void leave_fill_task(void *context, size_t task, size_t thread)
{
    const struct leave_out *l = context;
    size_t begin = task * KLR_BAND, rows = band_rows(l->rows, begin);
    double *a = leave_workspace(l, thread, false);
    leave_examples(l, thread, l->first + begin, rows, a);
    for (size_t i = 0; i < rows; i++)
        for (size_t e = 0; e < l->pitch; e++)
            l->a[(begin + i) * l->pitch + e] = a[e * KLR_BAND + i];
}

static void leave_weigh_task(void *context, size_t task, size_t thread)
{
    const struct leave_out *l = context;
    size_t begin = task * KLR_BAND, end = begin + band_rows(l->rows, begin);
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        double w =
            l->s->functions->curvature(&l->s->all, l->first + i, l->c, l->d);
        for (size_t e = 0; e < l->pitch; e++)
            l->weighted[i * l->pitch + e] = w * l->a[i * l->pitch + e];
    }
}

/* Bands p <= q of the block (c, d), which is symmetric. */
static void leave_join_task(void *context, size_t index, size_t thread)
{
    struct leave_out *l = context;
    double out[KLR_BAND * KLR_BAND];
    size_t p, q;
    (void)thread;
    triangle_bands(index, &p, &q);
    p *= KLR_BAND;
    q *= KLR_BAND;
    l->f.dense->gram(l->rows, l->a + p, l->weighted + q, KLR_DOUBLE, l->pitch,
                     KLR_BAND, KLR_BAND, out);
    size_t row = l->c * l->pitch, column = l->d * l->pitch;
    for (size_t e = 0; e < KLR_BAND * KLR_BAND; e++) {
        size_t i = e / KLR_BAND, j = e % KLR_BAND;
        panels_at(&l->f, row + p, column + q)[e] += out[e];
        if (l->c < l->d && p < q)
            *panels_at(&l->f, row + q + j, column + p + i) += out[e];
    }
}

/* Add to F its part without examples, and set the least pivots: above the
 * rounding of the diagonal, and 1/2 but for rho, as F is at least I there. */
static void leave_regularise(struct leave_out *l)
{
    size_t m = l->s->m;
    double held = 0;
    for (size_t at = 0; at < l->f.n; at++) {
        double *pivot = panels_at(&l->f, at, at);
        if (l->size > m && at % l->pitch == m)
            held += *pivot;
        else
            *pivot += 1;
    }
    for (size_t c = 0; c < l->k && l->k > 1 && l->size > m; c++)
        for (size_t d = c; d < l->k; d++)
            *panels_at(&l->f, c * l->pitch + m, d * l->pitch + m) +=
                held > 0 ? held : 1;
    for (size_t at = 0; at < l->f.n; at++) {
        bool rho = l->size > m && at % l->pitch == m;
        l->least[at] =
            fmax(rho ? DBL_MIN : 0.5, DBL_EPSILON * *panels_at(&l->f, at, at));
    }
}

/* False: it was ended. */
static bool leave_factor(struct leave_out *l)
{
    const size_t most = LEAVE_BANDS * KLR_BAND, n = l->s->n;
    size_t bands = panels_bands(l->pitch);
    bool whole = true;
    for (l->first = 0; l->first < n && whole; l->first += l->rows) {
        l->rows = n - l->first < most ? n - l->first : most;
        size_t tasks = panels_bands(l->rows);
        whole = klr_pool_run(l->f.pool, tasks, leave_fill_task, l);
        for (size_t b = 0; b < l->k * l->k && whole; b++) {
            l->c = b / l->k;
            l->d = b % l->k;
            if (l->c > l->d)
                continue;
            whole = klr_pool_run(l->f.pool, tasks, leave_weigh_task, l) &&
                    klr_pool_run(l->f.pool, bands * (bands + 1) / 2,
                                 leave_join_task, l);
        }
    }
    leave_regularise(l);
    return whole && panels_factor(&l->f, l->least, NULL);
}

/* ---- small matrices (k, k) ---- */

/* out = A B, or A'B. */
static void small_multiply(size_t k, const double *a, bool transposed,
                           const double *b, double *out)
{
    memset(out, 0, k * k * sizeof *out);
    for (size_t i = 0; i < k; i++)
        for (size_t e = 0; e < k; e++) {
            double v = transposed ? a[e * k + i] : a[i * k + e];
            for (size_t j = 0; j < k; j++)
                out[i * k + j] += v * b[e * k + j];
        }
}

static void small_apply(size_t k, const double *a, bool transposed,
                        const double *x, double *out)
{
    memset(out, 0, k * sizeof *out);
    for (size_t e = 0; e < k * k; e++)
        out[transposed ? e % k : e / k] += a[e] * x[transposed ? e / k : e % k];
}

/* ---- what is left out ---- */

/* out (k, k) = the products of columns of x with those of y, of example i among
 * some. */
static void leave_product(const struct leave_out *l, const double *x,
                          const double *y, size_t i, double *out)
{
    size_t k = l->k, pitch = l->pitch;
    for (size_t e = 0; e < k * k; e++) {
        size_t c = e / k, d = e % k, from = c > d ? c : d;
        const double *u = x + leave_offset(k, pitch, c) + i;
        const double *v = y + leave_offset(k, pitch, d) + i;
        double sum = 0;
        u += (from - c) * pitch * KLR_BAND;
        v += (from - d) * pitch * KLR_BAND;
        for (size_t r = 0; r < (k - from) * pitch * KLR_BAND; r += KLR_BAND)
            sum += u[r] * v[r];
        out[e] = sum;
    }
}

/* A thread's workspace for leaving out an example. */
struct leaving {
    size_t k;
    double *root, *h, *hs; /* S, H, H S */
    double *factor;        /* of M */
    double *q, *r, *z;     /* Q, R_k; L Q or others */
    double *x, *y, *shift; /* (k) */
};

/* S, H S and the factor of M; A are the columns of R_F^-T A_i. */
static struct leaving leaving_begin(const struct leave_out *l, size_t thread,
                                    const double *a, size_t i, size_t example)
{
    size_t k = l->k, square = k * k;
    double *at = l->squares + thread * leave_squares(k);
    struct leaving v = {k,
                        at,
                        at + square,
                        at + 2 * square,
                        at + 3 * square,
                        at + 4 * square,
                        at + 5 * square,
                        at + 6 * square,
                        at + 7 * square,
                        at + 7 * square + k,
                        at + 7 * square + 2 * k};
    l->s->functions->root(&l->s->all, example, v.root);
    leave_product(l, a, a, i, v.h);
    small_multiply(k, v.h, false, v.root, v.hs);
    small_multiply(k, v.root, true, v.hs, v.factor);
    for (size_t e = 0; e < square; e++)
        v.factor[e] = (e % (k + 1) == 0) - v.factor[e];
    band_factor(k, k, v.factor, leave_least);
    return v;
}

/* x (k) becomes L x. */
static void leaving_enlarge(const struct leaving *v, double *x)
{
    small_apply(v->k, v->root, true, x, v->y);
    triangle_solve(v->k, v->k, v->factor, v->y);
    for (size_t c = 0; c < v->k; c++)
        x[c] += dot(v->k, v->hs + c * v->k, v->y);
}

/* -L H g */
static void leaving_example(const struct leaving *v, const double *g)
{
    small_apply(v->k, v->h, false, g, v->shift);
    leaving_enlarge(v, v->shift);
    for (size_t c = 0; c < v->k; c++)
        v->shift[c] = -v->shift[c];
}

static void leave_put(const struct leave_out *l, size_t example,
                      const double *shift)
{
    for (size_t c = 0; c < l->k; c++)
        l->solution[c][l->t].shift[example] = shift[c];
}

static void leave_examples_task(void *context, size_t task, size_t thread)
{
    const struct leave_out *l = context;
    size_t first = task * KLR_BAND, rows = band_rows(l->s->n, first);
    double *a = leave_workspace(l, thread, false);
    leave_examples(l, thread, first, rows, a);
    leave_divide(l, a);
    for (size_t i = 0; i < rows; i++) {
        struct leaving v = leaving_begin(l, thread, a, i, first + i);
        leaving_example(&v, l->s->all.g + (first + i) * l->k);
        leave_put(l, first + i, v.shift);
    }
}

/* Adds the part of the kernel of a point; beta (k) is in v->x. */
static void leaving_kernel(const struct leaving *v, const double *g)
{
    size_t k = v->k;
    /* R_k + (S'Q)'M^-1 S'Q, by columns of M^-1 S'Q, the rows of z */
    small_multiply(k, v->q, true, v->root, v->z);
    for (size_t c = 0; c < k; c++) {
        memcpy(v->y, v->z + c * k, k * sizeof *v->y);
        triangle_solve(k, k, v->factor, v->y);
        for (size_t d = 0; d < k; d++)
            v->r[d * k + c] += dot(k, v->z + d * k, v->y);
    }
    /* the columns of L Q, as rows of z */
    for (size_t c = 0; c < k; c++) {
        for (size_t d = 0; d < k; d++)
            v->z[c * k + d] = v->q[d * k + c];
        leaving_enlarge(v, v->z + c * k);
        v->x[c] -= dot(k, v->z + c * k, g);
    }
    band_factor(k, k, v->r, DBL_MIN);
    triangle_solve(k, k, v->r, v->x);
    for (size_t c = 0; c < k; c++)
        for (size_t d = 0; d < k; d++)
            v->shift[d] -= v->x[c] * v->z[c * k + d];
}

/* a_i of some points: B has R there; and their C_k. */
static void leave_points(const struct leave_out *l, size_t first, size_t rows,
                         double *a, double *c)
{
    const struct subspace *s = l->s;
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j <= first + i; j++)
            a[j * KLR_BAND + i] = *panels_at(&s->r, j, first + i);
        if (l->size > s->m)
            a[s->m * KLR_BAND + i] = 1;
        c[(first + i) * KLR_BAND + i] = 1;
    }
    panels_divide(&s->r, c);
}

/* After all examples: those that are points; beta is in s->v. */
static void leave_points_task(void *context, size_t task, size_t thread)
{
    const struct leave_out *l = context;
    const struct subspace *s = l->s;
    size_t first = task * KLR_BAND, rows = band_rows(s->m, first);
    double *a = leave_workspace(l, thread, false);
    double *c = leave_workspace(l, thread, true);
    leave_points(l, first, rows, a, c);
    leave_divide(l, a);
    leave_divide(l, c);
    for (size_t i = 0; i < rows; i++) {
        size_t example = s->member[first + i];
        const double *g = s->all.g + example * l->k;
        struct leaving v = leaving_begin(l, thread, a, i, example);
        leaving_example(&v, g);
        leave_product(l, a, c, i, v.q);
        leave_product(l, c, c, i, v.r);
        for (size_t e = 0; e < l->k; e++)
            v.x[e] = s->v[e * s->m + first + i];
        leaving_kernel(&v, g);
        leave_put(l, example, v.shift);
    }
}

static int subspace_leave_out(struct subspace *s, size_t t,
                              struct solution *const *solution,
                              struct klr_error *err)
{
    struct klr_pool *pool = s->problem->op->pool;
    struct leave_out l;
    int code = leave_out_create(&l, s, err);
    l.solution = solution;
    l.t = t;
    bool whole = !code && !clock_stopped(s->problem->clock) && leave_factor(&l);
    /* Rounding has left nothing of a pivot: no answer is known. */
    double unknown = whole && l.f.raised ? (double)NAN : 0;
    whole = whole && !l.f.raised;
    memcpy(s->v, s->w, subspace_length(s) * sizeof *s->v);
    for (size_t c = 0; c < s->columns; c++)
        panels_backward(&s->r, s->v + c * s->m);
    whole = whole &&
            klr_pool_run(pool, panels_bands(s->n), leave_examples_task, &l) &&
            klr_pool_run(pool, panels_bands(s->m), leave_points_task, &l);
    for (size_t e = 0; e < s->columns * s->n && !whole; e++)
        solution[e / s->n][t].shift[e % s->n] = unknown;
    operator_count(s->problem->op, 0, 0);
    leave_out_free(&l);
    return code;
}
