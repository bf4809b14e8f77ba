/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A preconditioner N of Q + D for exact kernel Fisher discriminants, see
 * fisher.c. M ~ I + S K S of cholesky.c or, of low rank, lowrank.c gives it:
 * with S^2 = c W, K + D ~ S^-1 M S^-1. K^2 + D is taken as if D were d^2 I:
 * with S^4 = c W, and u = (2 t - 1)^2 for an eigenvalue t of M^-1, those of
 * K^2 + D are d^2 (1 + u) / (2 t^2), 0 <= u <= 1, and
 *
 *   (1 + u) (32 u^2 - 80 u + 98) = 99 + T_3(2 u - 1)
 *
 * is within 1 of 99, T_3 being the Chebyshev polynomial. So with p the second
 * factor, (S M^-1 S) S p S (S M^-1 S) is within 2 % of a multiple of the
 * inverse.
 */
#include "solver/fisher/fisher_exact.h"

enum {
    FISHER_PART = 12, /* of the full rank */
    FISHER_ROWS = 30, /* factored in the time of a step of one machine, */
    FISHER_MORE = 80, /* and of each other one, whatever n is */
    FISHER_LEAST = 12 /* steps worth a trial */
};

/* x = M^-1 x. */
static void fisher_divide(struct fisher *f, size_t count, double *const *x)
{
    if (f->full) {
        cholesky_solve(&f->cholesky, count, x);
        return;
    }
    for (size_t c = 0; c < count; c++) {
        memcpy(f->in, x[c], f->n * sizeof *f->in);
        precond_invert(&f->precond, f->in, x[c]);
    }
}

static void fisher_scale(const struct fisher *f, size_t count, double *const *x)
{
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < f->n; i++)
            x[c][i] *= f->s[i];
}

/* y = (2 M^-1 - I) y, where z is workspace. */
static void fisher_reflect(struct fisher *f, size_t count, double *const *y,
                           double *const *z)
{
    for (size_t c = 0; c < count; c++)
        memcpy(z[c], y[c], f->n * sizeof *y[c]);
    fisher_divide(f, count, z);
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < f->n; i++)
            y[c][i] = 2 * z[c][i] - y[c][i];
}

/* x = p(u) x by Horner's rule, with p and u = (2 M^-1 - I)^2 from the head of
 * this file. f->out is workspace, which has room for it where R = |a|^2. */
static void fisher_correct(struct fisher *f, size_t count, double *const *x)
{
    static const double p[] = {32, -80, 98}; /* of u^2, u and 1 */
    double *y[FISHER_MACHINES], *z[FISHER_MACHINES];
    size_t n = f->n;
    for (size_t c = 0; c < count; c++) {
        y[c] = f->out + c * n;
        z[c] = f->out + (count + c) * n;
        memset(y[c], 0, n * sizeof *y[c]);
    }
    for (size_t k = 0; k < sizeof p / sizeof *p; k++) {
        for (int half = 0; half < 2 && k > 0; half++)
            fisher_reflect(f, count, y, z);
        for (size_t c = 0; c < count; c++)
            for (size_t i = 0; i < n; i++)
                y[c][i] += p[k] * x[c][i];
    }
    for (size_t c = 0; c < count; c++)
        memcpy(x[c], y[c], n * sizeof *y[c]);
}

/* N^-1 x, in place. */
static void fisher_invert(struct fisher *f, size_t count, double *const *x)
{
    fisher_scale(f, count, x);
    fisher_divide(f, count, x);
    fisher_scale(f, count, x);
    if (!f->coef)
        return;
    fisher_correct(f, count, x);
    fisher_scale(f, count, x);
    fisher_divide(f, count, x);
    fisher_scale(f, count, x);
}

static void fisher_precondition(struct fisher *f, size_t count,
                                struct exact *const *machine)
{
    double *z[FISHER_MACHINES] = {NULL};
    for (size_t k = 0; k < count; k++) {
        struct exact *m = machine[k];
        double shift = dot(f->n, f->ones, m->r) / f->total;
        for (size_t i = 0; i < f->n; i++)
            m->q[i] = m->r[i] -= shift;
        z[k] = m->q;
    }
    fisher_invert(f, count, z);
    for (size_t k = 0; k < count; k++) {
        struct exact *m = machine[k];
        double sum = 0;
        for (size_t i = 0; i < f->n; i++)
            sum += m->q[i];
        for (size_t i = 0; i < f->n; i++)
            m->q[i] -= sum / f->total * f->ones[i];
        m->rz = dot(f->n, m->r, m->q);
    }
}

/* M of full rank, where there can be one. */
static enum klr_status fisher_factor(struct fisher *f)
{
    enum klr_status status = KLR_CONVERGED;
    f->full = true;
    for (size_t j = 0; j < f->cholesky.blocks && f->full; j++) {
        f->full = cholesky_factor(&f->cholesky, f->s, j);
        status = fisher_check(f);
        if (status != KLR_CONVERGED)
            break;
    }
    return status;
}

/* N^-1 1 */
static void fisher_sum_up(struct fisher *f)
{
    f->total = 0;
    for (size_t i = 0; i < f->n; i++)
        f->ones[i] = 1;
    fisher_invert(f, 1, &f->ones);
    for (size_t i = 0; i < f->n; i++)
        f->total += f->ones[i];
}

/* M of low rank: of little where all of it may follow. */
static void fisher_approximate(struct fisher *f)
{
    size_t little = f->n / FISHER_PART;
    f->precond.limit = f->precond.most;
    if (f->completes && f->precond.limit > little)
        f->precond.limit = little;
    precond_build(&f->precond, f->s);
}

static enum klr_status fisher_complete(struct fisher *f)
{
    f->completes = false;
    f->hard = true;
    enum klr_status status = fisher_factor(f);
    if (status != KLR_CONVERGED)
        return status;
    if (!f->full)
        fisher_approximate(f);
    fisher_sum_up(f);
    return f->problem->clock->status;
}

/* Steps that take as long as a factorisation. */
static double fisher_worth(const struct fisher *f)
{
    return (double)f->n /
           (double)(FISHER_ROWS + FISHER_MORE * (f->machines - 1));
}

static bool fisher_begins_full(const struct fisher *f)
{
    return f->cholesky.n > 0 &&
           (fisher_worth(f) < FISHER_LEAST || f->coef || f->hard);
}

/* One of low rank follows where none of full rank can be had. */
static int fisher_prepare(struct fisher *f, enum klr_status *status,
                          struct klr_error *err)
{
    bool full = fisher_begins_full(f);
    for (size_t i = 0; i < f->n; i++) {
        double s = sqrt(f->c * f->problem->weight[i]);
        f->s[i] = f->coef ? sqrt(s) : s;
    }
    f->full = false;
    f->completes = f->cholesky.n > 0 && !full;
    *status = full ? fisher_factor(f) : KLR_CONVERGED;
    if (*status != KLR_CONVERGED)
        return 0;
    if (!f->full && f->precond.n == 0) {
        int code = precond_create(
            &f->precond, problem_matrix(f->problem), precond_more(f->n),
            problem_shares_tiles(f->problem), &f->arena, err);
        if (code)
            return code;
    }
    if (!f->full)
        fisher_approximate(f);
    fisher_sum_up(f);
    *status = f->problem->clock->status;
    return 0;
}
