/* SPDX-License-Identifier: BSD-3-Clause
 *
 * By how much the objective is above that of all points, at most. A point g of
 * the subspace's dual is one of that of all points, where it has
 *
 *   D_all(t g) = -t^2/2 (|B'g|^2 + g'(K - Q)g) - sum_i psi_i(t alpha_i),
 *
 * the largest over 0 <= t <= 1 being the bound. g'(K - Q)g = sum_i g_i q_i, q =
 * (K - Q)g, takes all of K. An estimate takes some rows i, drawn with
 * probabilities in proportion to |g_i|: the mean of y_i q_i over them, times
 * sum_i |g_i|; their deviation tells its standard error.
 *
 * In a box t alpha may be below its lower end. Then the points are b + t (alpha
 * - b), where b of an example has one value for each class, the box for the
 * larger one, and sum y b = 0. Sum_i y_i b_i k_i is no longer than sum_i b_i
 * max K_ii^1/2.
 */
#include "solver/subspace/subspace_parts.h"

enum { BOUND_ROWS = 480, BOUND_ALONG = 20 };

struct bound {
    struct subspace *s;
    size_t position[BOUND_ROWS], row[BOUND_ROWS];
    double times[BOUND_ROWS]; /* a row was drawn, or |g_i| */
    double size[BOUND_ROWS];  /* |g_i|, summed over columns */
    double *q;                /* (columns, BOUND_ROWS) */
    size_t count;
    struct point_sweep sweep;
    double *coef;       /* (columns, m) R^-1 B'g */
    double *x;          /* (m, KLR_BAND) */
    double sum, square; /* of times y q, and of q squared */
    double drawn;       /* of times */
    double base[2];     /* b of y = -1 and 1, of one example */
    double length;      /* its sum in the space of the kernel, at most */
    bool shrinks;       /* b is feasible */
};

/* ---- rows ---- */

/* q of the rows loses what the points span. */
static void bound_reduce(struct bound *b, size_t first, size_t rows)
{
    const struct subspace *s = b->s;
    struct klr_range range[KLR_BAND];
    for (size_t r = 0; r < rows; r++) {
        size_t at = b->position[first + r];
        range[r] = (struct klr_range){at, at + 1};
    }
    operator_block(s->problem->op, 0, s->position, s->m, set_of(range, rows),
                   KLR_DOUBLE, b->x, KLR_BAND);
    for (size_t e = 0; e < subspace_length(s); e++) {
        double *q = b->q + e / s->m * BOUND_ROWS + first;
        for (size_t r = 0; r < rows; r++)
            q[r] -= b->coef[e] * b->x[e % s->m * KLR_BAND + r];
    }
}

/* (g_i / |g_i|)'q of row r. */
static double bound_value(const struct bound *b, size_t r)
{
    const struct subspace *s = b->s;
    const double *g = s->dual + b->row[r] * s->columns;
    double value = 0;
    for (size_t c = 0; c < s->columns; c++)
        value += g[c] / b->size[r] * b->q[c * BOUND_ROWS + r];
    return value;
}

/* q of the rows, which join the sums. False: it was ended. */
static bool bound_rows(struct bound *b)
{
    struct subspace *s = b->s;
    struct point_sweep_product p = {&b->sweep,  KLR_DOUBLE, s->columns,
                                    s->columns, s->vector,  NULL};
    b->sweep.count = b->count;
    for (size_t c = 0; c < s->columns; c++)
        s->vector[c] = (struct sweep_vector){.t = s->dual + c,
                                             .sum = b->q + c * BOUND_ROWS};
    if (!point_sweep_run(&p))
        return false;
    for (size_t first = 0; first < b->count; first += KLR_BAND)
        bound_reduce(b, first, band_rows(b->count, first));
    for (size_t r = 0; r < b->count; r++) {
        double value = bound_value(b, r);
        b->sum += b->times[r] * value;
        b->square += b->times[r] * value * value;
        b->drawn += b->times[r];
    }
    b->count = 0;
    return true;
}

/* |g_i|, summed over columns. */
static double bound_size(const struct subspace *s, size_t i)
{
    double size = 0;
    for (size_t c = 0; c < s->columns; c++)
        size += fabs(s->dual[i * s->columns + c]);
    return size;
}

/* All rows, or those at equal steps of the sum of |g|, from the middle of the
 * first one. */
static bool bound_sum(struct bound *b, bool all, double total)
{
    struct subspace *s = b->s;
    double step = total / BOUND_ROWS, next = 0.5 * step, sum = 0;
    bool whole = true;
    for (size_t i = 0; i < s->n && whole; i++) {
        double size = bound_size(s, i), times = 0;
        sum += size;
        for (; !all && next < sum; next += step)
            times++;
        if (all)
            times = size;
        if (times == 0)
            continue;
        b->row[b->count] = i;
        b->size[b->count] = size;
        b->position[b->count] = subspace_place(s, i);
        b->times[b->count++] = times;
        if (b->count == BOUND_ROWS)
            whole = bound_rows(b);
    }
    return whole && (b->count == 0 || bound_rows(b));
}

/* ---- the bound ---- */

/* b, which needs examples of C_i > 0 alone. */
static void bound_base(struct bound *b)
{
    const struct subspace *s = b->s;
    double box = s->loss.box, least = INFINITY, count[2] = {0, 0};
    for (size_t i = 0; i < s->n; i++) {
        double cost = s->all.cost[i];
        if (cost == 0)
            continue;
        double examples = loss_examples(&s->loss, cost);
        count[s->problem->y[i] > 0] += examples;
        least = fmin(least, cost / examples);
    }
    double most = fmax(count[0], count[1]);
    for (size_t q = 0; q < 2; q++)
        b->base[q] = box == 0               ? 0
                     : subspace_has_bias(s) ? box * (most / count[q])
                                            : box;
    b->length = (b->base[0] * count[0] + b->base[1] * count[1]) * sqrt(s->size);
    b->shrinks = box == 0 || fmax(b->base[0], b->base[1]) <= least - box;
}

/* At t, the square of the bound on |sum_i g_i k_i| but for t^2 form; *slope is
 * half of its slope but for t form. */
static double bound_rest(const struct bound *b, double form, double t,
                         double *slope)
{
    double far = sqrt(form), near = (1 - t) * b->length;
    *slope = b->length * ((1 - 2 * t) * far - near);
    return near * (2 * t * far + near);
}

/* (P - D_all) / |P| for the t at which D_all is largest, and *t. Without a box
 * D_all is 0 at t = 0, far from the optimum of all points. */
static double bound_gap(const struct bound *b, double residual, double *t)
{
    const struct subspace *s = b->s;
    double form = s->bdual + residual, low = 0, high = 1, slope, bend;
    double size = fabs(s->objective);
    *t = 1;
    s->functions->conjugate(s, b->base, *t, &slope);
    bound_rest(b, form, *t, &bend);
    if (slope >= form + bend || !b->shrinks)
        return s->gap + 0.5 * residual / size;
    for (int step = 0; step < BOUND_ALONG; step++) {
        *t = 0.5 * (low + high);
        s->functions->conjugate(s, b->base, *t, &slope);
        bound_rest(b, form, *t, &bend);
        if (slope >= *t * form + bend)
            low = *t;
        else
            high = *t;
    }
    double rest = bound_rest(b, form, *t, &bend);
    double dual = -0.5 * (*t * *t * form + rest) -
                  s->functions->conjugate(s, b->base, *t, &slope);
    if (s->loss.box == 0 && !(dual > 0))
        *t = dual = 0;
    return (s->objective - dual) / size;
}

static int bound_create(struct bound *b, struct subspace *s,
                        struct klr_error *err)
{
    *b = (struct bound){.s = s};
    size_t length = subspace_length(s);
    size_t room = s->n < BOUND_ROWS ? s->n : BOUND_ROWS; /* no row twice */
    if (!(b->coef = klr_alloc(length, sizeof *b->coef, err)) ||
        !(b->q = klr_alloc(BOUND_ROWS, s->columns * sizeof *b->q, err)) ||
        !(b->x = klr_alloc(s->m, KLR_BAND * sizeof *b->x, err)))
        return KLR_E_MEMORY;
    memcpy(b->coef, s->z, length * sizeof *b->coef);
    for (size_t c = 0; c < s->columns; c++)
        panels_backward(&s->r, b->coef + c * s->m);
    bound_base(b);
    return point_sweep_create(&b->sweep, s->problem, b->position, room,
                              s->columns, 0, &s->entries, err);
}

static void bound_free(struct bound *b)
{
    klr_free(b->coef);
    klr_free(b->q);
    klr_free(b->x);
    point_sweep_free(&b->sweep);
}

static int subspace_bound(struct subspace *s, bool all,
                          struct klr_basis_report *report,
                          struct klr_error *err)
{
    struct bound *b = klr_alloc(1, sizeof *b, err);
    double total = 0, t;
    all = all || s->n <= BOUND_ROWS;
    if (!b)
        return KLR_E_MEMORY;
    int code = bound_create(b, s, err);
    for (size_t i = 0; i < s->n; i++)
        total += bound_size(s, i);
    if (!code && bound_sum(b, all, total) && b->drawn > 0) {
        double mean = b->sum / b->drawn;
        double spread = b->square / b->drawn - mean * mean;
        double residual = all ? b->sum : total * mean;
        report->full_gap = bound_gap(b, fmax(residual, 0), &t);
        report->full_gap_error = all ? 0
                                     : 0.5 * t * t * total *
                                           sqrt(fmax(spread, 0) / b->drawn) /
                                           fabs(s->objective);
    }
    operator_count(s->problem->op, 0, 0);
    bound_free(b);
    klr_free(b);
    return code;
}
