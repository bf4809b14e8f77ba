/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conjugate gradients for exact kernel Fisher discriminants, see fisher.c: all
 * machines step together, so that a pass over K serves them all.
 *
 * Products of conjugate gradients are of float entries, as a rule, or of 16-bit
 * ones. They update the residual, which is formed anew from double entries, or
 * from floats for a part that a link is fitted without, at an anchor, before
 * their errors can be seen; these grow with the length of the steps since the
 * last anchor. Where R = |a|^2, they update K e as well, as ke: this is the
 * solution itself, so that its errors only add |K e - ke|^2 t^2 / (2c) to the
 * gap.
 */
#include "solver/fisher/fisher_exact.h"

enum {
    FISHER_STEPS = 1000, /* before an anchor */
    FISHER_TRIAL = 10,   /* before it is told how many are to come, or */
    FISHER_SHARE = 6     /* such a part of those that a factorisation takes */
};

/* y[i] = K x[i], (n) each; false where the clock ends it: y is as it was. */
static bool fisher_product(struct fisher *f, size_t count, double *const *x,
                           double *const *y, enum klr_precision precision)
{
    const struct binary_problem *b = f->problem;
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < f->n; i++)
            f->in[i * count + c] = x[c][i];
    f->progress.iterations++;
    if (!operator_apply(b->op, b->set, b->set, f->in, count, precision, f->out))
        return false;
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < f->n; i++)
            y[c][i] = f->out[i * count + c];
    return true;
}

/* ---- anchors ---- */

/* The vectors x that an anchor multiplies by K, and where the products y go;
 * returns how many. The first is e, with its sum made 0 again. For R = |a|^2
 * the second is ke, since value is K K e there. */
static size_t exact_columns(const struct fisher *f, struct exact *m, double **x,
                            double **y)
{
    double sum = 0;
    for (size_t i = 0; i < f->n; i++)
        sum += m->e[i];
    for (size_t i = 0; i < f->n; i++)
        m->e[i] -= sum / (double)f->n;
    x[0] = m->e;
    y[0] = f->coef ? m->q : m->value;
    if (!f->coef)
        return 1;
    x[1] = m->ke;
    y[1] = m->kp;
    return 2;
}

/* value = K K e, from K e, in q, and from K ke. The difference p of q and ke is
 * small, so that floats are good enough for its product wherever they are for
 * steps. */
static bool fisher_square(struct fisher *f)
{
    double *p[FISHER_MACHINES], *value[FISHER_MACHINES];
    for (size_t k = 0; k < f->machines; k++) {
        struct exact *m = &f->machine[k];
        for (size_t i = 0; i < f->n; i++)
            m->p[i] = m->q[i] - m->ke[i];
        p[k] = m->p;
        value[k] = m->value;
    }
    if (!fisher_product(f, f->machines, p, value, f->precision))
        return false;
    for (size_t k = 0; k < f->machines; k++) {
        struct exact *m = &f->machine[k];
        memcpy(m->ke, m->q, f->n * sizeof *m->ke);
        for (size_t i = 0; i < f->n; i++)
            m->value[i] += m->kp[i];
    }
    return true;
}

/* r, from Q e. */
static void exact_anchor(const struct fisher *f, struct exact *m)
{
    for (size_t i = 0; i < f->n; i++)
        m->r[i] = (m->problem->y[i] > 0) - m->value[i] -
                  exact_penalty(f, m, i) * m->e[i];
    m->products += 1 + f->coef;
    exact_judge(f, m);
}

static bool fisher_anchor(struct fisher *f)
{
    double *x[2 * FISHER_MACHINES], *y[2 * FISHER_MACHINES];
    size_t count = 0;
    for (size_t k = 0; k < f->machines; k++)
        count += exact_columns(f, &f->machine[k], x + count, y + count);
    if (!fisher_product(f, count, x, y, f->exact) ||
        (f->coef && !fisher_square(f)))
        return false;
    f->anchor = f->exact;
    for (size_t k = 0; k < f->machines; k++) {
        struct exact *m = &f->machine[k];
        exact_anchor(f, m);
        m->drift_bound_e = 0;
        m->drift_bound = f->coef ? sqrt(dot(f->n, m->p, m->p)) : 0;
    }
    return true;
}

/* ---- steps ---- */

/* Along p, whose products are there. */
static void exact_step(const struct fisher *f, struct exact *m)
{
    double curvature = 0;
    for (size_t i = 0; i < f->n; i++)
        curvature += m->p[i] * (m->q[i] + exact_penalty(f, m, i) * m->p[i]);
    m->products += 1 + f->coef;
    m->indefinite = curvature <= 0;
    if (m->indefinite)
        return;
    double a = m->rz / curvature;
    for (size_t i = 0; i < f->n; i++) {
        m->e[i] += a * m->p[i];
        m->value[i] += a * m->q[i];
        m->r[i] -= a * (m->q[i] + exact_penalty(f, m, i) * m->p[i]);
    }
    for (size_t i = 0; i < f->n && f->coef; i++)
        m->ke[i] += a * m->kp[i];
    double way = a * sqrt(dot(f->n, m->p, m->p));
    m->drift_bound += f->coef ? a * sqrt(dot(f->n, m->kp, m->kp)) : way;
    m->drift_bound_e += f->coef ? way : 0;
    exact_judge(f, m);
}

/* True if the machine is to go on: its gap is above `target` and above the part
 * that rounding hides. */
static bool exact_active(const struct fisher *f, const struct exact *m,
                         double target)
{
    const double rounding = 1e-28;
    return exact_gap(m) > fmax(target, exact_hidden(f, m)) && !m->indefinite &&
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

/* A step of all machines that are active. False if none is, or if the clock
 * ended a product. */
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
    if (!fisher_product(f, count, p, kp, f->precision) ||
        (f->coef && !fisher_product(f, count, kp, q, f->precision)))
        return false;
    for (size_t k = 0; k < count; k++) {
        exact_step(f, active[k]);
        f->indefinite = f->indefinite ||
                        (active[k]->indefinite && f->precision == KLR_DOUBLE);
    }
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

/* True if these steps, after which the gaps were gap[0 .. steps], take longer
 * than a factorisation; or if those to come do, going on as the later half of
 * them went. The gap falls slowly at first. */
static bool fisher_lags(const struct fisher *f, const double *gap, int steps,
                        double target)
{
    double now = gap[steps], worth = fisher_worth(f);
    if (!f->completes || steps < fmax(FISHER_TRIAL, worth / FISHER_SHARE))
        return false;
    double rate = log(gap[steps / 2] / now) / (steps - steps / 2);
    return steps > worth || !(rate * worth > log(now / target));
}

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
    double gap[FISHER_STEPS];
    f->lags = false;
    for (int step = 0; more && !f->lags && step < FISHER_STEPS; step++) {
        more = fisher_step(f, target);
        status = fisher_check(f);
        gap[step] = fisher_gap(f);
        f->lags = more && fisher_lags(f, gap, step, target);
        if (status != KLR_CONVERGED)
            break;
    }
    return status;
}
