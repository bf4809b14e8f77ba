/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Approximate leave-one-out in closed form. With a_i = (b_i, 1) for the row b_i
 * of B, or b_i alone where there is no bias, the Hessian of P in w and -rho is
 *
 *   F = diag(1, .., 1, 0) + sum_i W_i a_i a_i'
 *
 * The gradient of the problem without example i is g_i a_i at the optimum of
 * all, and its Hessian F - W_i a_i a_i'. With h = a_i'F^-1 a_i its Newton step
 * moves the decision value by
 *
 *   shift_i = -g_i h / (1 - W_i h)
 *
 * An example that is a point takes its kernel with it: with c_k = (R^-T e_k, 0)
 * the coefficient of point k is beta_k = c_k'(w, -rho), which the step has to
 * make 0. For q = a_i'F^-1 c_k and r = c_k'F^-1 c_k that adds to the shift
 *
 *   -q (beta_k - g_i q / (1 - W_i h)) / (r (1 - W_i h) + W_i q^2)
 *
 * The other points stay as they are. F = R_F'R_F is formed of all examples, a
 * few at a time, and factored, in double; h is the square of R_F^-T a_i.
 */
#include "solver/subspace/subspace_parts.h"

#include <float.h>

enum { LEAVE_BANDS = 20 }; /* of examples that join F together */

/* The least 1 - W_i h: smaller ones have lost all digits. */
static const double leave_least = 0x1p-40;

struct leave_out {
    struct subspace *s;
    size_t size, pitch; /* of F; in whole bands */
    size_t first, rows; /* examples that join it */
    double *columns;    /* (threads, 2, pitch, KLR_BAND) some a_i; some c_k */
    double *scaled;     /* (LEAVE_BANDS KLR_BAND, pitch) roots of W times a' */
    double *shift;      /* (n) */
};

static double leave_out_bytes(const struct binary_problem *problem, size_t m)
{
    double columns = 2 * (double)klr_pool_size(problem->op->pool);
    double pitch = (double)(panels_bands(m + 1) * KLR_BAND);
    return (columns + LEAVE_BANDS) * pitch * KLR_BAND * sizeof(double);
}

static int leave_out_create(struct leave_out *l, struct subspace *s,
                            double *shift, struct klr_error *err)
{
    size_t columns = 2 * klr_pool_size(s->problem->op->pool);
    size_t size = s->m + subspace_has_bias(s);
    size_t pitch = panels_bands(size) * KLR_BAND;
    *l = (struct leave_out){
        .s = s, .size = size, .pitch = pitch, .shift = shift};
    if (!(l->columns =
              klr_zalloc(columns * pitch, KLR_BAND * sizeof(double), err)) ||
        !(l->scaled =
              klr_alloc(LEAVE_BANDS * KLR_BAND, pitch * sizeof(double), err)))
        return KLR_E_MEMORY;
    return 0;
}

static void leave_out_free(struct leave_out *l)
{
    klr_free(l->columns);
    klr_free(l->scaled);
}

static double *leave_workspace(const struct leave_out *l, size_t thread)
{
    return l->columns + 2 * thread * l->pitch * KLR_BAND;
}

/* A thread's columns a_i of some examples. */
static double *leave_columns(const struct leave_out *l, size_t thread,
                             size_t first, size_t rows)
{
    const struct subspace *s = l->s;
    double *a = leave_workspace(l, thread);
    subspace_whiten(s, thread, NULL, first, rows, a);
    for (size_t i = 0; i < rows && l->size > s->m; i++)
        a[s->m * KLR_BAND + i] = 1;
    return a;
}

/* ---- F ---- */

static void leave_scale_task(void *context, size_t task, size_t thread)
{
    const struct leave_out *l = context;
    size_t begin = task * KLR_BAND, rows = band_rows(l->rows, begin);
    size_t first = l->first + begin;
    const double *a = leave_columns(l, thread, first, rows);
    for (size_t i = 0; i < rows; i++) {
        double root = sqrt(l->s->all.curve[first + i]);
        double *to = l->scaled + (begin + i) * l->pitch;
        for (size_t k = 0; k < l->pitch; k++)
            to[k] = k < l->size ? root * a[k * KLR_BAND + i] : 0;
    }
}

/* False: it was ended. */
static bool leave_factor(struct leave_out *l)
{
    const size_t most = LEAVE_BANDS * KLR_BAND;
    struct subspace *s = l->s;
    bool whole = true;
    subspace_start_hessian(s, l->size);
    for (l->first = 0; l->first < s->n && whole; l->first += l->rows) {
        l->rows = s->n - l->first < most ? s->n - l->first : most;
        whole = klr_pool_run(s->problem->op->pool, panels_bands(l->rows),
                             leave_scale_task, l) &&
                subspace_add_square(s, 0, l->scaled, l->rows, KLR_DOUBLE);
    }
    for (size_t k = 0; k < l->size; k++) {
        *panels_at(s->h, k, k) += k < s->m;
        s->least[k] = k < s->m ? 0.5 : DBL_MIN;
    }
    return whole && panels_factor(s->h, s->least, NULL);
}

/* ---- what is left out ---- */

static void leave_examples_task(void *context, size_t task, size_t thread)
{
    const struct leave_out *l = context;
    const struct subspace *s = l->s;
    size_t first = task * KLR_BAND, rows = band_rows(s->n, first);
    double *a = leave_columns(l, thread, first, rows);
    double h[KLR_BAND] = {0};
    panels_divide(s->h, a);
    for (size_t e = 0; e < l->size * KLR_BAND; e++)
        h[e % KLR_BAND] += a[e] * a[e];
    for (size_t i = 0; i < rows; i++) {
        double left = fmax(1 - s->all.curve[first + i] * h[i], leave_least);
        l->shift[first + i] = -s->all.g[first + i] * h[i] / left;
    }
}

/* Column k of R_F^-T a and of R_F^-T c: what point k, example i, adds. */
static double leave_kernel(const struct leave_out *l, const double *a,
                           const double *c, size_t i, double beta)
{
    const struct subspace *s = l->s;
    double h = 0, q = 0, r = 0;
    for (size_t e = 0; e < l->size * KLR_BAND; e += KLR_BAND) {
        h += a[e] * a[e];
        q += a[e] * c[e];
        r += c[e] * c[e];
    }
    double left = fmax(1 - s->all.curve[i] * h, leave_least);
    return -q * (beta - s->all.g[i] * q / left) /
           (r * left + s->all.curve[i] * q * q);
}

/* After all examples: those that are points; beta is in s->v. B has R there. */
static void leave_points_task(void *context, size_t task, size_t thread)
{
    const struct leave_out *l = context;
    const struct subspace *s = l->s;
    size_t first = task * KLR_BAND, rows = band_rows(s->m, first);
    double *a = leave_workspace(l, thread), *c = a + l->pitch * KLR_BAND;
    memset(a, 0, 2 * l->pitch * KLR_BAND * sizeof *a);
    for (size_t k = 0; k < rows; k++) {
        for (size_t j = 0; j <= first + k; j++)
            a[j * KLR_BAND + k] = *panels_at(&s->r, j, first + k);
        if (l->size > s->m)
            a[s->m * KLR_BAND + k] = 1;
        c[(first + k) * KLR_BAND + k] = 1;
    }
    panels_divide(&s->r, c);
    panels_divide(s->h, a);
    panels_divide(s->h, c);
    for (size_t k = 0; k < rows; k++) {
        size_t i = s->member[first + k];
        l->shift[i] += leave_kernel(l, a + k, c + k, i, s->v[first + k]);
    }
}

static int subspace_leave_out(struct subspace *s, double *shift,
                              struct klr_error *err)
{
    struct klr_pool *pool = s->problem->op->pool;
    struct leave_out l;
    int code = leave_out_create(&l, s, shift, err);
    bool whole = !code && !clock_stopped(s->problem->clock) && leave_factor(&l);
    memcpy(s->v, s->w, s->m * sizeof *s->v);
    panels_backward(&s->r, s->v);
    whole = whole &&
            klr_pool_run(pool, panels_bands(s->n), leave_examples_task, &l) &&
            klr_pool_run(pool, panels_bands(s->m), leave_points_task, &l);
    if (!whole)
        memset(shift, 0, s->n * sizeof *shift);
    s->have_h = false;
    operator_count(s->problem->op, 0, 0);
    leave_out_free(&l);
    return code;
}
