/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exact kernel Fisher discriminants, Mika, Smola & Schoelkopf (2001), (3):
 *
 *   minimise  P(a) = 1/2 sum_i w_i xi_i^2 + 1/(2c) R(a)
 *   s.t.      K a + b = y + xi,  sum w_i xi_i = 0 over each class
 *
 * with R = a'Ka or |a|^2; an example of weight w_i stands for w_i equal ones.
 * Let Q = K or K^2 and D = diag(1 / (c w_i)). With multipliers v of the first
 * constraint, what is optimal has w_i xi_i = l w_i - v_i, l of the class, and
 * 1'v = 0, and a = c v or c K v. So v is a multiple of the e with
 *
 *   (Q + D) e = 1+ - mu 1,  1'e = 0,
 *
 * 1+ being 1 on the positive class: a quadratic form is minimal on a subspace,
 * which is for conjugate gradients with projection (Gould, Hribar & Nocedal
 * 2001), as the step of the Newton method is. Whatever their accuracy, with the
 * class means m+, m- of f = Q e,
 *
 *   t = 2 / (m+ - m-),  a = t e or t K e,  b = 1 - t m+
 *
 * keep all constraints. Each e with 1'e = 0 gives a lower bound of P as well,
 * by the dual point v = t e / c at its best l. With the residual r of e, and
 * r_y its mean over a class, weighted, the gap between them is
 *
 *   P - D = t^2 / 2 sum_i w_i (r_i - r_y)^2
 *
 * a sum of squares, which loses no digits, and no decision value is farther
 * from the optimal one than sqrt(2 (P - D) / w_i).
 *
 * Machines, which differ in y and weights alone, go side by side: a pass over K
 * serves all of them. M ~ I + S K S of cholesky.c or, of low rank, precond.c
 * preconditions: with S^2 = c W, K + D ~ S^-1 M S^-1. K^2 + D is taken as if D
 * were d^2 I: with S^4 = c W, and u = (2 t - 1)^2 for an eigenvalue t of M^-1,
 * those of K^2 + D are d^2 (1 + u) / (2 t^2), 0 <= u <= 1, and
 *
 *   (1 + u) (32 u^2 - 80 u + 98) = 99 + T_3(2 u - 1)
 *
 * is within 1 of 99, T_3 being the Chebyshev polynomial. So with p the second
 * factor, (S M^-1 S) S p S (S M^-1 S) is within 2 % of a multiple of the
 * inverse.
 *
 * Products of conjugate gradients are of float entries. The residual is carried
 * along in them, and formed anew from double ones, an anchor, before what they
 * spoil could be seen. How much that is the first anchor measures: errors grow
 * with the way that was gone. Where R = |a|^2, K e is carried along as well: it
 * is the solution, so that errors of it are none, but that K e - ke adds
 * |K e - ke|^2 t^2 / (2c) to the gap. Where an anchor tells that floats lead
 * nowhere, products are of doubles, too.
 */
#include "solver/internal.h"

enum {
    FISHER_MACHINES = 12, /* side by side, at most */
    FISHER_VECTORS = 6,   /* of a machine; four more where R = |a|^2 */
    FISHER_FULL = 10000,  /* examples with a preconditioner of full rank */
    FISHER_WORTH = 8,     /* of a product saved, for the preconditioner */
    FISHER_STEPS = 1000   /* of conjugate gradients before an anchor */
};

struct exact {
    const struct binary *problem;
    double *e;          /* (n) sum 0: the solution up to its scale */
    double *ke;         /* (n) K e; of R = |a|^2 alone */
    double *r;          /* (n) residual 1+ - shift - (Q + D) e */
    double *p, *kp;     /* (n) direction, and K p */
    double *q;          /* (n) Q p; then the residual preconditioned, z */
    double weight;      /* of all examples */
    double shift;       /* multiple of 1 taken out of r, which tends to mu */
    double rz, start;   /* r'z, and at the last anchor */
    double way, way_e;  /* from there, of what makes r: e, or ke; and of e
                           where that makes ke */
    double noise;       /* errors of floats, over 2^-24 max |K_ii| */
    double scale, rho;  /* t, -b */
    double primal, gap; /* of e */
    double form;        /* e'Q e */
    double anchored;    /* gap at the last anchor */
    bool indefinite;    /* a direction of negative curvature was met */
    long long products;
};

struct fisher {
    const struct binary *problem; /* the first machine's */
    size_t n, machines;
    bool coef; /* R = |a|^2 */
    double c;  /* of this step of the path */
    double eps;
    bool indefinite;              /* so it was in double, too */
    enum klr_precision precision; /* of conjugate gradients */
    bool measured;                /* noise is */
    bool full;                    /* cholesky is what preconditions */
    struct cholesky cholesky;     /* of few examples, or empty */
    struct precond precond;
    double largest;   /* |K_ii| */
    double *s;        /* (n) S */
    double *ones;     /* (n) N^-1 1, N the preconditioner */
    double total;     /* 1'N^-1 1 */
    double *in, *out; /* (n, columns) of products */
    double *store;    /* all vectors */
    struct exact machine[FISHER_MACHINES];
    struct klr_progress progress;
};

/* ---- products ---- */

/* y[i] = K x[i], (n) each. */
static void fisher_product(struct fisher *f, size_t count, double *const *x,
                           double *const *y, enum klr_precision precision)
{
    const struct binary *b = f->problem;
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < f->n; i++)
            f->in[i * count + c] = x[c][i];
    operator_apply(b->op, b->set, b->set, f->in, count, precision, f->out);
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < f->n; i++)
            y[c][i] = f->out[i * count + c];
    f->progress.iterations++;
}

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

/* x = p(u) x, u = (2 M^-1 - I)^2, from the head of this file; out serves as
 * workspace, which has room for it where R = |a|^2. */
static void fisher_correct(struct fisher *f, size_t count, double *const *x)
{
    static const double p[] = {32, -80, 98};
    double *y[FISHER_MACHINES], *z[FISHER_MACHINES];
    size_t n = f->n;
    for (size_t c = 0; c < count; c++) {
        y[c] = f->out + c * n;
        z[c] = f->out + (count + c) * n;
        memset(y[c], 0, n * sizeof *y[c]);
    }
    for (size_t k = 0; k < sizeof p / sizeof *p; k++) {
        for (int turn = 0; turn < (k > 0 ? 2 : 0); turn++) {
            for (size_t c = 0; c < count; c++)
                memcpy(z[c], y[c], n * sizeof *y[c]);
            fisher_divide(f, count, z);
            for (size_t c = 0; c < count; c++)
                for (size_t i = 0; i < n; i++)
                    y[c][i] = 2 * z[c][i] - y[c][i];
        }
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

/* z = N^-1 r on 1'z = 0, into q. The part of r that this takes away stays away,
 * or it would drown the rest. */
static void fisher_precondition(struct fisher *f, size_t count,
                                struct exact *const *machine)
{
    double *z[FISHER_MACHINES] = {NULL};
    for (size_t k = 0; k < count; k++) {
        struct exact *m = machine[k];
        double shift = dot(f->n, f->ones, m->r) / f->total;
        for (size_t i = 0; i < f->n; i++)
            m->q[i] = m->r[i] -= shift;
        m->shift += shift;
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

/* ---- what e amounts to ---- */

static double exact_penalty(const struct fisher *f, const struct exact *m,
                            size_t i)
{
    return 1 / (f->c * m->problem->weight[i]);
}

/* (Q e)_i, which the residual tells. */
static double exact_value(const struct fisher *f, const struct exact *m,
                          size_t i)
{
    double positive = m->problem->y[i] > 0;
    return positive - m->shift - m->r[i] - exact_penalty(f, m, i) * m->e[i];
}

/* The objectives for scale and threshold given; mean[y > 0] of the residual. */
static void exact_objectives(const struct fisher *f, struct exact *m,
                             const double *mean)
{
    double errors = 0, form = 0, gap = 0;
    for (size_t i = 0; i < f->n; i++) {
        double y = m->problem->y[i], w = m->problem->weight[i];
        double value = exact_value(f, m, i), off = m->r[i] - mean[y > 0];
        double xi = m->scale * value - m->rho - y;
        errors += w * xi * xi;
        form += f->coef ? m->ke[i] * m->ke[i] : m->e[i] * value;
        gap += w * off * off;
    }
    double square = m->scale * m->scale;
    m->primal = 0.5 * (errors + square * form / f->c);
    m->gap = 0.5 * square * gap;
    m->form = form;
}

/* Scale, threshold and objectives. Where the means of Q e have not parted there
 * are none. */
static void exact_judge(const struct fisher *f, struct exact *m)
{
    double weight[2] = {0, 0}, value[2] = {0, 0}, mean[2] = {0, 0};
    for (size_t i = 0; i < f->n; i++) {
        size_t class = m->problem->y[i] > 0;
        double w = m->problem->weight[i];
        weight[class] += w;
        value[class] += w * exact_value(f, m, i);
        mean[class] += w * m->r[i];
    }
    for (size_t class = 0; class < 2; class ++) {
        value[class] /= weight[class];
        mean[class] /= weight[class];
    }
    m->primal = m->gap = INFINITY;
    m->scale = m->rho = m->form = 0;
    if (value[1] > value[0]) {
        m->scale = 2 / (value[1] - value[0]);
        m->rho = m->scale * value[1] - 1;
        exact_objectives(f, m, mean);
    }
}

static double exact_gap(const struct exact *m)
{
    return isinf(m->primal) ? INFINITY : m->gap / m->primal;
}

/* The largest. */
static double fisher_gap(void *solver)
{
    const struct fisher *f = solver;
    double most = -INFINITY;
    for (size_t k = 0; k < f->machines; k++)
        most = fmax(most, exact_gap(&f->machine[k]));
    return most;
}

/* What products of a way from the anchor may have done to an element, in the
 * mean: entries err by some 2^-24 of the largest, independently of each other.
 */
static double exact_error(const struct fisher *f, const struct exact *m,
                          double way)
{
    bool floats = f->precision == KLR_FLOAT;
    double error = m->scale * way * (floats ? m->noise : 1);
    return ldexp(f->largest * error, floats ? -24 : -53);
}

/* The part of P that this hides from the gap: errors of decision values, and
 * K e - ke, which is not 0 any more. */
static double exact_hidden(const struct fisher *f, const struct exact *m)
{
    double value = exact_error(f, m, m->way);
    double off = exact_error(f, m, m->way_e);
    return 0.5 * (m->weight * value * value + (double)f->n / f->c * off * off) /
           m->primal;
}

/* The least gap that is worth while. The first anchor is sure to come: that is
 * what it will find with K e in place of ke. */
static double exact_floor(const struct fisher *f, const struct exact *m)
{
    double spread = f->largest * sqrt((double)f->n);
    double off = exact_error(f, m, m->way + spread * m->way_e);
    return f->measured ? exact_hidden(f, m)
                       : 0.5 * m->weight * off * off / m->primal;
}

/* ---- conjugate gradients ---- */

/* e without a part that it must not have; what K is to be multiplied by, and
 * where to. Of R = |a|^2 that are e and what K e is so far, of which K knows
 * most already. */
static size_t exact_columns(const struct fisher *f, struct exact *m, double **x,
                            double **y)
{
    double sum = 0;
    for (size_t i = 0; i < f->n; i++)
        sum += m->e[i];
    for (size_t i = 0; i < f->n; i++)
        m->e[i] -= sum / (double)f->n;
    x[0] = m->e;
    y[0] = m->q;
    if (!f->coef)
        return 1;
    x[1] = m->ke;
    y[1] = m->kp;
    return 2;
}

/* K K e from K e, in q, and K ke: their difference p is small, so that floats
 * do for it. */
static void fisher_square(struct fisher *f)
{
    double *p[FISHER_MACHINES], *q[FISHER_MACHINES];
    for (size_t k = 0; k < f->machines; k++) {
        struct exact *m = &f->machine[k];
        for (size_t i = 0; i < f->n; i++) {
            m->p[i] = m->q[i] - m->ke[i];
            m->ke[i] = m->q[i];
        }
        p[k] = m->p;
        q[k] = m->q;
    }
    fisher_product(f, f->machines, p, q, KLR_FLOAT);
    for (size_t k = 0; k < f->machines; k++)
        for (size_t i = 0; i < f->n; i++)
            f->machine[k].q[i] += f->machine[k].kp[i];
}

/* The errors of r, given Q e as it should be. */
static void exact_measure(const struct fisher *f, struct exact *m,
                          const double *value)
{
    double square = 0, sum[2] = {0, 0}, weight[2] = {0, 0};
    for (size_t i = 0; i < f->n; i++) {
        size_t class = m->problem->y[i] > 0;
        double w = m->problem->weight[i];
        double off = value[i] - exact_value(f, m, i);
        square += w * off * off;
        sum[class] += w * off;
        weight[class] += w;
    }
    square -= sum[0] * sum[0] / weight[0] + sum[1] * sum[1] / weight[1];
    double most = ldexp(f->largest * m->way, -24);
    m->noise = fmax(m->noise, 1.5 * sqrt(fmax(square, 0) / m->weight) / most);
    m->noise = fmin(m->noise, 1);
}

/* r, from Q e in q. */
static void exact_anchor(const struct fisher *f, struct exact *m)
{
    for (size_t i = 0; i < f->n; i++)
        m->r[i] =
            (m->problem->y[i] > 0) - m->q[i] - exact_penalty(f, m, i) * m->e[i];
    m->shift = 0;
    m->products += 1 + f->coef;
    exact_judge(f, m);
}

/* r formed anew, and with it a new beginning. */
static void fisher_anchor(struct fisher *f, enum klr_precision precision)
{
    double *x[2 * FISHER_MACHINES], *y[2 * FISHER_MACHINES];
    bool exact = precision == KLR_DOUBLE;
    size_t count = 0;
    for (size_t k = 0; k < f->machines; k++)
        count += exact_columns(f, &f->machine[k], x + count, y + count);
    fisher_product(f, count, x, y, precision);
    for (size_t k = 0; k < f->machines && exact && !f->measured; k++) {
        struct exact *m = &f->machine[k];
        exact_measure(f, m, f->coef ? m->kp : m->q);
    }
    f->measured = f->measured || exact;
    if (f->coef)
        fisher_square(f);
    for (size_t k = 0; k < f->machines; k++) {
        struct exact *m = &f->machine[k];
        double way = exact ? 0 : sqrt(dot(f->n, m->e, m->e));
        exact_anchor(f, m);
        m->way_e = f->coef ? way : 0;
        m->way = f->coef ? sqrt(dot(f->n, m->p, m->p)) : way;
    }
}

/* Along p, whose products are there. */
static void exact_step(const struct fisher *f, struct exact *m)
{
    double curvature = 0;
    for (size_t i = 0; i < f->n; i++) {
        m->q[i] += exact_penalty(f, m, i) * m->p[i];
        curvature += m->p[i] * m->q[i];
    }
    m->products += 1 + f->coef;
    m->indefinite = curvature <= 0;
    if (m->indefinite)
        return;
    double a = m->rz / curvature;
    for (size_t i = 0; i < f->n; i++) {
        m->e[i] += a * m->p[i];
        m->r[i] -= a * m->q[i];
    }
    for (size_t i = 0; i < f->n && f->coef; i++)
        m->ke[i] += a * m->kp[i];
    double way = a * sqrt(dot(f->n, m->p, m->p));
    m->way += f->coef ? a * sqrt(dot(f->n, m->kp, m->kp)) : way;
    m->way_e += f->coef ? way : 0;
    exact_judge(f, m);
}

/* Whether it is to go on until its gap is `target`, or what can be seen. */
static bool exact_active(const struct fisher *f, const struct exact *m,
                         double target)
{
    const double rounding = 1e-28;
    return exact_gap(m) > fmax(target, exact_floor(f, m)) && !m->indefinite &&
           m->rz > rounding * m->start;
}

static size_t fisher_active(struct fisher *f, double target,
                            struct exact **active)
{
    size_t count = 0;
    for (size_t k = 0; k < f->machines; k++)
        if (exact_active(f, &f->machine[k], target))
            active[count++] = &f->machine[k];
    return count;
}

/* A step of all machines that are active; false: none is any more. */
static bool fisher_step(struct fisher *f, double target)
{
    double *p[FISHER_MACHINES], *kp[FISHER_MACHINES], *q[FISHER_MACHINES];
    double before[FISHER_MACHINES];
    struct exact *active[FISHER_MACHINES];
    size_t count = fisher_active(f, target, active);
    for (size_t k = 0; k < count; k++) {
        p[k] = active[k]->p;
        q[k] = active[k]->q;
        kp[k] = f->coef ? active[k]->kp : q[k];
    }
    fisher_product(f, count, p, kp, f->precision);
    if (f->coef)
        fisher_product(f, count, kp, q, f->precision);
    for (size_t k = 0; k < count; k++)
        exact_step(f, active[k]);
    count = fisher_active(f, target, active);
    for (size_t k = 0; k < count; k++)
        before[k] = active[k]->rz;
    if (count == 0)
        return false;
    fisher_precondition(f, count, active);
    for (size_t k = 0; k < count; k++) {
        struct exact *m = active[k];
        for (size_t i = 0; i < f->n; i++)
            m->p[i] = m->q[i] + m->rz / before[k] * m->p[i];
    }
    return fisher_active(f, target, active) > 0;
}

static enum klr_status fisher_check(struct fisher *f)
{
    f->progress.violation = fisher_gap(f);
    return clock_check(f->problem->clock, f->problem->params, &f->progress,
                       fisher_gap, f);
}

/* Steps from where the residuals are, until all gaps are `target`. */
static enum klr_status fisher_descend(struct fisher *f, double target)
{
    enum klr_status status = KLR_CONVERGED;
    struct exact *active[FISHER_MACHINES];
    for (size_t k = 0; k < f->machines; k++)
        f->machine[k].rz = f->machine[k].start = 1; /* until they are known */
    size_t count = fisher_active(f, target, active);
    bool more = count > 0;
    fisher_precondition(f, count, active);
    for (size_t k = 0; k < count; k++) {
        active[k]->start = active[k]->rz;
        memcpy(active[k]->p, active[k]->q, f->n * sizeof(double));
    }
    for (int step = 0; more && step < FISHER_STEPS; step++) {
        more = fisher_step(f, target);
        status = fisher_check(f);
        if (status != KLR_CONVERGED)
            break;
    }
    return status;
}

/* ---- the path ---- */

/* True if the last anchor found a gap much smaller than the one before it for
 * all that have not arrived. */
static bool fisher_gains(struct fisher *f)
{
    bool gains = true;
    for (size_t k = 0; k < f->machines; k++) {
        struct exact *m = &f->machine[k];
        double gap = exact_gap(m);
        gains = gains && !m->indefinite &&
                (gap <= f->eps || gap < 0.25 * m->anchored);
        f->indefinite =
            f->indefinite || (m->indefinite && f->precision == KLR_DOUBLE);
        m->indefinite = false;
        m->anchored = gap;
    }
    return gains;
}

/* The preconditioner at the present c. One of low rank follows where none of
 * full rank can be had. */
static int fisher_prepare(struct fisher *f, struct klr_error *err)
{
    for (size_t i = 0; i < f->n; i++) {
        double s = sqrt(f->c * f->problem->weight[i]);
        f->s[i] = f->coef ? sqrt(s) : s;
        f->ones[i] = 1;
    }
    f->full =
        f->cholesky.n > 0 && cholesky_factor(&f->cholesky, f->problem, f->s);
    if (!f->full && f->precond.n == 0) {
        int code = precond_create(&f->precond, f->problem, err);
        if (code)
            return code;
        f->precond.limit = f->precond.most;
        f->precond.worth = FISHER_WORTH;
    }
    if (!f->full)
        precond_build(&f->precond, f->problem, f->s);
    fisher_invert(f, 1, &f->ones);
    f->total = 0;
    for (size_t i = 0; i < f->n; i++)
        f->total += f->ones[i];
    return 0;
}

/* Whether gaps and what they hide are small enough, and class means right. */
static bool fisher_arrived(const struct fisher *f)
{
    const double drift = 1e-11; /* of decision values that are about 1 */
    bool arrived = f->measured;
    for (size_t k = 0; k < f->machines; k++) {
        const struct exact *m = &f->machine[k];
        arrived = arrived && exact_gap(m) + exact_hidden(f, m) <= f->eps &&
                  exact_error(f, m, m->way) <= drift;
    }
    return arrived;
}

/* At the present c, preconditioned, unless the status says to stop already. */
static enum klr_status fisher_solve_one(struct fisher *f,
                                        enum klr_status status)
{
    f->precision = KLR_FLOAT;
    for (size_t k = 0; k < f->machines; k++)
        f->machine[k].anchored = INFINITY;
    for (;;) {
        if (status == KLR_CONVERGED)
            status = fisher_descend(f, 0.25 * f->eps);
        if (!fisher_arrived(f))
            fisher_anchor(f, KLR_DOUBLE);
        if (status != KLR_CONVERGED || fisher_gap(f) <= f->eps)
            return status;
        if (!fisher_gains(f)) {
            if (f->precision == KLR_DOUBLE)
                return KLR_PRECISION_LIMIT;
            f->precision = KLR_DOUBLE;
        }
    }
}

/* From the solution at another c: the best multiple of e. The caller has put
 * Q e into q. */
static void exact_set(const struct fisher *f, struct exact *m)
{
    double form = 0, along = 0;
    for (size_t i = 0; i < f->n; i++) {
        m->q[i] += exact_penalty(f, m, i) * m->e[i];
        form += m->e[i] * m->q[i];
        along += m->problem->y[i] > 0 ? m->e[i] : 0;
    }
    double t = form > 0 ? along / form : 1;
    for (size_t i = 0; i < f->n; i++) {
        m->e[i] *= t;
        if (f->coef)
            m->ke[i] *= t;
        m->r[i] = (m->problem->y[i] > 0) - t * m->q[i];
    }
    m->shift = 0;
    m->way *= t;
    m->way_e *= t;
    exact_judge(f, m);
}

static void fisher_set(struct fisher *f, double c)
{
    for (size_t k = 0; k < f->machines; k++)
        for (size_t i = 0; i < f->n; i++)
            f->machine[k].q[i] = exact_value(f, &f->machine[k], i);
    f->c = c;
    for (size_t k = 0; k < f->machines; k++)
        exact_set(f, &f->machine[k]);
}

/* Large values of a kernel have lost the digits that tell the classes apart,
 * where there were any. */
static int fisher_fail(const struct fisher *f, struct klr_error *err)
{
    if (f->largest > 1e8)
        return klr_fail(err, KLR_E_DATA,
                        "no discriminant: kernel values of %.0e lose what "
                        "tells the means of two classes apart; scale the "
                        "features",
                        f->largest);
    return klr_fail(err, KLR_E_DATA,
                    "no discriminant: the kernel does not tell the means of "
                    "two classes apart");
}

/* Where a kernel does not tell the classes apart, rounding alone parts the
 * means. */
static int exact_finish(const struct fisher *f, const struct exact *m,
                        struct solution *solution, struct klr_error *err)
{
    const double *a = f->coef ? m->ke : m->e;
    double sum = 0;
    for (size_t i = 0; i < f->n; i++) {
        sum += fabs(a[i]);
        solution->beta[i] = m->scale * a[i];
        f->out[i] = m->scale * exact_value(f, m, i);
    }
    if (!(m->scale > 0) || m->scale * sum * f->largest > 1e14)
        return fisher_fail(f, err);
    solution->rho = m->rho;
    solution->primal = m->primal;
    solution->dual = m->primal * (1 - exact_hidden(f, m)) - m->gap;
    solution->iterations = m->products;
    solution->precision = KLR_DOUBLE;
    return fisher_threshold(m->problem, f->out, &solution->rho, err);
}

static int fisher_path(struct fisher *f, struct solution *const *solution,
                       struct klr_error *err)
{
    const struct klr_reals *cost = &f->problem->params->cost;
    int code = 0;
    fisher_anchor(f, KLR_FLOAT); /* all tiles of K are there now */
    for (size_t t = 0; t < cost->count && !code; t++) {
        fisher_set(f, cost->value[t]);
        enum klr_status status = fisher_check(f);
        if (status == KLR_CONVERGED && (code = fisher_prepare(f, err)))
            return code; /* factoring may take the longest */
        status = fisher_solve_one(f, status);
        for (size_t k = 0; k < f->machines; k++)
            f->indefinite = f->indefinite || f->machine[k].form < 0;
        if (f->indefinite)
            return klr_fail(err, KLR_E_DATA,
                            "the kernel matrix is not positive semidefinite: "
                            "use --regularizer coef");
        for (size_t k = 0; k < f->machines && !code; k++) {
            code = exact_finish(f, &f->machine[k], &solution[k][t], err);
            solution[k][t].status = status;
            solution[k][t].flops =
                k == 0 ? f->precond.flops + f->cholesky.flops : 0;
        }
    }
    return code;
}

/* ---- start and end ---- */

static size_t fisher_vectors(bool coef)
{
    return FISHER_VECTORS + (coef ? 4 : 0);
}

static double fisher_bytes(size_t n)
{
    double vectors = (double)fisher_vectors(true) * FISHER_MACHINES + 2;
    return (double)n * vectors * sizeof(double) + precond_bytes(n) +
           cholesky_bytes(n < FISHER_FULL ? n : FISHER_FULL); /* of a pair */
}

/* e begins as the difference of the class means. */
static void exact_create(struct fisher *f, struct exact *m,
                         const struct binary *problem, double *store)
{
    size_t n = f->n;
    double weight[2] = {0, 0};
    *m = (struct exact){.problem = problem,
                        .e = store,
                        .r = store + n,
                        .p = store + 2 * n,
                        .q = store + 3 * n,
                        .ke = f->coef ? store + 4 * n : NULL,
                        .kp = f->coef ? store + 5 * n : NULL,
                        .noise = 0.25};
    for (size_t i = 0; i < n; i++)
        weight[problem->y[i] > 0] += problem->weight[i];
    m->weight = weight[0] + weight[1];
    for (size_t i = 0; i < n; i++)
        m->e[i] =
            problem->y[i] * problem->weight[i] / weight[problem->y[i] > 0];
}

static int fisher_create(struct fisher *f, const struct binary *problems,
                         size_t machines, struct klr_error *err)
{
    const struct klr_params *params = problems->params;
    size_t n = problems->n;
    *f = (struct fisher){
        .problem = problems,
        .n = n,
        .machines = machines,
        .coef = params->regularizer == KLR_REGULARIZER_COEF,
        .c = params->cost.value[0],
        .eps = params->eps,
    };
    f->progress.target = f->eps;
    size_t columns = f->coef ? 2 : 1; /* of a product, for each machine */
    size_t all = fisher_vectors(f->coef), own = all - 2 * columns;
    if (!(f->store =
              klr_zalloc(all * machines * n + 2 * n, sizeof(double), err)))
        return KLR_E_MEMORY;
    double *next = f->store;
    for (size_t k = 0; k < machines; k++, next += own * n)
        exact_create(f, &f->machine[k], &problems[k], next);
    f->in = next;
    f->out = f->in + columns * machines * n;
    f->s = f->out + columns * machines * n;
    f->ones = f->s + n;
    operator_diagonal(problems->op, problems->set, f->in);
    for (size_t i = 0; i < n; i++)
        f->largest = fmax(f->largest, fabs(f->in[i]));
    /* the linear kernel of few features is of low rank */
    if (n <= FISHER_FULL && problems->op->groups == 0 &&
        klr_kernel_is_psd(&problems->op->kernel))
        return cholesky_create(&f->cholesky, problems, err);
    return 0;
}

static int fisher_solve_all(const struct binary *problems, size_t machines,
                            struct solution *const *solution,
                            struct klr_error *err)
{
    struct fisher f;
    int code = 0;
    for (size_t first = 0, now; first < machines && !code; first += now) {
        now = machines - first;
        now = now < FISHER_MACHINES ? now : FISHER_MACHINES;
        code = fisher_create(&f, problems + first, now, err);
        if (!code)
            code = fisher_path(&f, solution + first, err);
        cholesky_free(&f.cholesky);
        precond_free(&f.precond);
        klr_free(f.store);
    }
    return code;
}

static int fisher_solve(const struct binary *problem, struct solution *solution,
                        struct klr_error *err)
{
    return fisher_solve_all(problem, 1, &solution, err);
}
