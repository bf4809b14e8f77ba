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
 * preconditions: with S^2 = c W, K + D ~ S^-1 M S^-1; with S^4 = c W, K^2 + D ~
 * (K + D^1/2)^2 ~ (S^-1 M S^-1)^2.
 *
 * Products of conjugate gradients are of float entries. The residual is carried
 * along in them, and formed anew from double ones before what they spoil could
 * be seen: an anchor. Where an anchor tells that floats lead nowhere, products
 * are of doubles, too.
 */
#include "solver/internal.h"

enum {
    FISHER_MACHINES = 12, /* side by side, at most */
    FISHER_VECTORS = 6,   /* of a machine; two more where R = |a|^2 */
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
    double shift;       /* multiple of 1 taken out of r, which tends to mu */
    double rz, start;   /* r'z, and at the last anchor */
    double moved;       /* length of the way from there, */
    double moved_k;     /* and of its image under K */
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
    bool full;                    /* cholesky is what preconditions */
    struct cholesky cholesky;     /* of few examples, or empty */
    struct precond precond;
    double largest;   /* |K_ii| */
    double *s;        /* (n) S */
    double *ones;     /* (n) N^-1 1, N the preconditioner */
    double total;     /* 1'N^-1 1 */
    double *in, *out; /* (n, machines) of products */
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

/* N^-1 x, in place: S M^-1 S, for K^2 + D twice. */
static void fisher_invert(struct fisher *f, size_t count, double *const *x)
{
    for (int turn = 0; turn < (f->coef ? 2 : 1); turn++) {
        for (size_t c = 0; c < count; c++)
            for (size_t i = 0; i < f->n; i++)
                x[c][i] *= f->s[i];
        if (f->full)
            cholesky_solve(&f->cholesky, count, x);
        for (size_t c = 0; c < count && !f->full; c++) {
            memcpy(f->in, x[c], f->n * sizeof *f->in);
            precond_invert(&f->precond, f->in, x[c]);
        }
        for (size_t c = 0; c < count; c++)
            for (size_t i = 0; i < f->n; i++)
                x[c][i] *= f->s[i];
    }
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

/* What float products can have done to a decision value since the anchor:
 * entries err by some 2^-24 of the largest, independently of each other. */
static double fisher_drift(const struct fisher *f)
{
    double most = 0, bits = f->precision == KLR_FLOAT ? -24 : -53;
    for (size_t k = 0; k < f->machines; k++) {
        const struct exact *m = &f->machine[k];
        double way = m->moved;
        if (f->coef)
            way = m->moved_k + way * f->largest * sqrt((double)f->n);
        most = fmax(most, m->scale * way);
    }
    return ldexp(f->largest * most, (int)bits);
}

/* ---- conjugate gradients ---- */

/* r formed anew, and with it a new beginning. */
static void fisher_anchor(struct fisher *f, enum klr_precision precision)
{
    double *e[FISHER_MACHINES], *ke[FISHER_MACHINES], *q[FISHER_MACHINES];
    for (size_t k = 0; k < f->machines; k++) {
        struct exact *m = &f->machine[k];
        double sum = 0;
        for (size_t i = 0; i < f->n; i++)
            sum += m->e[i];
        for (size_t i = 0; i < f->n; i++)
            m->e[i] -= sum / (double)f->n;
        e[k] = m->e;
        q[k] = m->q;
        ke[k] = f->coef ? m->ke : m->q;
    }
    fisher_product(f, f->machines, e, ke, precision);
    if (f->coef)
        fisher_product(f, f->machines, ke, q, precision);
    for (size_t k = 0; k < f->machines; k++) {
        struct exact *m = &f->machine[k];
        for (size_t i = 0; i < f->n; i++)
            m->r[i] = (m->problem->y[i] > 0) - m->q[i] -
                      exact_penalty(f, m, i) * m->e[i];
        m->shift = 0;
        m->moved = precision == KLR_DOUBLE ? 0 : sqrt(dot(f->n, m->e, m->e));
        m->moved_k = f->coef && precision == KLR_FLOAT
                         ? sqrt(dot(f->n, m->ke, m->ke))
                         : 0;
        m->products += 1 + f->coef;
        exact_judge(f, m);
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
    m->moved += a * sqrt(dot(f->n, m->p, m->p));
    if (f->coef)
        m->moved_k += a * sqrt(dot(f->n, m->kp, m->kp));
    exact_judge(f, m);
}

/* Whether it is to go on until its gap is `target`. */
static bool exact_active(const struct exact *m, double target)
{
    const double rounding = 1e-28;
    return exact_gap(m) > target && !m->indefinite &&
           m->rz > rounding * m->start;
}

static size_t fisher_active(struct fisher *f, double target,
                            struct exact **active)
{
    size_t count = 0;
    for (size_t k = 0; k < f->machines; k++)
        if (exact_active(&f->machine[k], target))
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

/* At the present c, preconditioned, unless the status says to stop already. */
static enum klr_status fisher_solve_one(struct fisher *f,
                                        enum klr_status status)
{
    const double drift = 1e-10; /* of decision values that are about 1 */
    double target = fmax(f->eps, 1e-9);
    f->precision = KLR_FLOAT;
    for (size_t k = 0; k < f->machines; k++)
        f->machine[k].anchored = INFINITY;
    for (;;) {
        if (status == KLR_CONVERGED)
            status = fisher_descend(f, target);
        bool drifted = fisher_drift(f) > drift;
        if (drifted || fisher_gap(f) > f->eps)
            fisher_anchor(f, KLR_DOUBLE);
        if (status != KLR_CONVERGED || fisher_gap(f) <= f->eps)
            return status;
        target = f->eps;
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
    m->moved *= t;
    m->moved_k *= t;
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
    solution->dual = m->primal - m->gap;
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
    return FISHER_VECTORS + (coef ? 2 : 0);
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
                        .kp = f->coef ? store + 5 * n : NULL};
    for (size_t i = 0; i < n; i++)
        weight[problem->y[i] > 0] += problem->weight[i];
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
    size_t own = fisher_vectors(f->coef) - 2;
    if (!(f->store = klr_zalloc((own + 2) * machines * n + 2 * n,
                                sizeof(double), err)))
        return KLR_E_MEMORY;
    double *next = f->store;
    for (size_t k = 0; k < machines; k++, next += own * n)
        exact_create(f, &f->machine[k], &problems[k], next);
    f->in = next;
    f->out = f->in + machines * n;
    f->s = f->out + machines * n;
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
