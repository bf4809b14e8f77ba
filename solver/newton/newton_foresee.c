/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Points that the preconditioner foresees, before any conjugate gradients.
 *
 * Its L says what K nearly is: Q = F F' with F = S^-1 L, see lowrank.c. With Q
 * for K in all that changes, the dual at beta + D is
 *
 *   1/2 D'Q D + u'D + 1/2 beta'u + sum_i psi_i,   least where beta + D = g(v)
 *
 * for decision values v = u + Q D = u + F z, z = F'D. These minimise
 *
 *   V(z, rho) = 1/2 z'z + beta'F z + sum_i loss_i(y_i (v_i - rho))
 *
 * a logistic regression on as many features as L has columns. It takes sweeps
 * over L, by Newton steps with conjugate gradients preconditioned by I + L'L,
 * but no product with K. Then one product, q = K (beta - g(v)), tells D and P
 * of the dual point g(v), and leads to where P is least along g(v) - beta and
 * the last movement: near the optimum these are conjugate gradients with M for
 * preconditioner. Far from it a Newton step would spend products on weights
 * that change with the next one; here they change while only L is asked.
 *
 * The n-vectors of a step by conjugate gradients are free meanwhile:
 *   direction   v            kv    z     r     t         p, kp
 *   here        F z + u = v  F p   F dz  W     workspace  beta, u before
 */
#include "solver/newton/newton_parts.h"

enum {
    FORESIGHT_STEPS = 8,  /* Newton steps to the least V, */
    FORESIGHT_INNER = 4,  /* of so many conjugate gradients, at most */
    FORESIGHT_COLUMNS = 7 /* vectors (rank) of struct foresight */
};

/* Pivots are chosen for weights of at least this part of C_i: which examples
 * will have small ones is not known yet. Later the second part does, so that L
 * tells of the examples, too, whose alpha the box has cut off. */
static const double foresight_weight = 0.03, foresight_later = 1e-6;

/* ---- the least V ---- */

/* V at z, decision values v, with the best rho, from f->rho on. */
static double foresight_value(const struct newton *nt, const double *z,
                              const double *v, double *rho)
{
    struct losses all = problem_losses(nt->problem, &nt->loss, nt->cost);
    size_t rank = nt->direction.precond.rank;
    double value = 0.5 * dot(rank, z, z);
    if (nt->bias)
        *rho = best_rho(&all, v, *rho);
    for (size_t i = 0; i < nt->n; i++)
        value += nt->beta[i] * (v[i] - nt->u[i]);
    return value + losses_sum(&all, v, *rho);
}

/* g, e and the part of D without K, at v; the weights W. */
static void foresight_gradient(struct newton *nt)
{
    struct direction *d = &nt->direction;
    struct losses all = problem_losses(nt->problem, &nt->loss, nt->cost);
    nt->conjugate =
        losses_gradient(&all, d->v, nt->foresight.rho, nt->g, d->r).conjugates;
    for (size_t i = 0; i < nt->n; i++)
        nt->e[i] = nt->beta[i] - nt->g[i];
}

/* image = (I + F'(W - w w'/ sum W)F) p, and F p. */
static void foresight_image(struct newton *nt, double total)
{
    struct foresight *f = &nt->foresight;
    struct direction *d = &nt->direction;
    precond_expand(&d->precond, f->p, d->kv);
    double mean = nt->bias ? dot(nt->n, d->r, d->kv) / total : 0;
    for (size_t i = 0; i < nt->n; i++)
        d->t[i] = d->r[i] * (d->kv[i] - mean);
    precond_gather(&d->precond, d->t, f->image);
    for (size_t k = 0; k < d->precond.rank; k++)
        f->image[k] += f->p[k];
}

/* step = about -H^-1 slope, and F step, from r = -slope and solved; rr is the
 * product of both. */
static void foresight_step(struct newton *nt, double rr)
{
    struct foresight *f = &nt->foresight;
    struct direction *d = &nt->direction;
    const size_t rank = d->precond.rank;
    const double goal = 1e-2 * rr;
    double total = 0;
    for (size_t i = 0; i < nt->n; i++)
        total += d->r[i];
    memset(f->step, 0, rank * sizeof *f->step);
    memset(d->z, 0, nt->n * sizeof *d->z);
    memcpy(f->p, f->solved, rank * sizeof *f->p);
    for (int k = 0; k < FORESIGHT_INNER && rr > goal; k++) {
        foresight_image(nt, total);
        double a = rr / dot(rank, f->p, f->image), old = rr;
        for (size_t j = 0; j < rank; j++) {
            f->step[j] += a * f->p[j];
            f->r[j] -= a * f->image[j];
        }
        for (size_t i = 0; i < nt->n; i++)
            d->z[i] += a * d->kv[i];
        precond_solve_small(&d->precond, nt->bias, f->r, f->solved);
        rr = dot(rank, f->r, f->solved);
        for (size_t j = 0; j < rank; j++)
            f->p[j] = f->solved[j] + rr / old * f->p[j];
    }
}

/* To the first of t = 1, 1/2, 1/4 ... with a smaller V; false if there is none.
 */
static bool foresight_move(struct newton *nt)
{
    struct foresight *f = &nt->foresight;
    struct direction *d = &nt->direction;
    const size_t rank = d->precond.rank;
    for (double t = 1; t > 1e-3; t /= 2) {
        double rho = f->rho;
        for (size_t k = 0; k < rank; k++)
            f->p[k] = f->z[k] + t * f->step[k];
        for (size_t i = 0; i < nt->n; i++)
            d->t[i] = d->v[i] + t * d->z[i];
        double value = foresight_value(nt, f->p, d->t, &rho);
        if (value < f->value) {
            memcpy(f->z, f->p, rank * sizeof *f->z);
            memcpy(d->v, d->t, nt->n * sizeof *d->v);
            f->rho = rho;
            f->value = value;
            return true;
        }
    }
    return false;
}

/* The dual point g(v), and e. What V lacks, half of rr about, is in P of this
 * point many times over. */
static void foresight_solve(struct newton *nt)
{
    const double part = 1e-7;
    const double enough = part * nt->progress.target * fabs(nt->primal);
    struct foresight *f = &nt->foresight;
    struct direction *d = &nt->direction;
    const size_t rank = d->precond.rank;
    memset(f->z, 0, rank * sizeof *f->z);
    memcpy(d->v, nt->u, nt->n * sizeof *d->v);
    f->rho = nt->rho[0];
    f->first = f->value = foresight_value(nt, f->z, d->v, &f->rho);
    foresight_gradient(nt);
    for (int step = 0; step < FORESIGHT_STEPS; step++) {
        precond_gather(&d->precond, nt->e, f->slope);
        for (size_t k = 0; k < rank; k++)
            f->r[k] = -(f->slope[k] + f->z[k]);
        precond_solve_small(&d->precond, nt->bias, f->r, f->solved);
        double rr = dot(rank, f->r, f->solved);
        if (!(rr > enough) || newton_clock(nt) != KLR_CONVERGED)
            break;
        foresight_step(nt, rr);
        if (!foresight_move(nt))
            break;
        foresight_gradient(nt);
    }
}

/* ---- products with K ---- */

/* to = x - y, Kx - Ky. */
static void foresight_direct(struct known *to, size_t n, const double *x,
                             const double *y, const double *u, const double *v)
{
    for (size_t i = 0; i < n; i++) {
        to->beta[i] = x[i] - y[i];
        to->u[i] = u[i] - v[i];
    }
}

/* To where P is least along both directions; or to g, if its own gap is small
 * enough. The new point is evaluated, and so is its gradient. */
static void foresight_descend(struct newton *nt)
{
    const double enough = 1e-3 * nt->progress.target;
    struct foresight *f = &nt->foresight;
    struct direction *d = &nt->direction;
    double start = nt->primal;
    bool good = newton_dual_is_good(nt);
    memcpy(d->p, nt->beta, nt->n * sizeof *d->p);
    memcpy(d->kp, nt->u, nt->n * sizeof *d->kp);
    foresight_direct(&f->move[0], nt->n, nt->g, nt->beta, nt->kg, nt->u);
    if (nt->primal_g < nt->primal) {
        memcpy(nt->beta, nt->g, nt->n * sizeof *nt->beta);
        memcpy(nt->u, nt->kg, nt->n * sizeof *nt->u);
        newton_copy(nt, nt->rho, nt->rho_g);
        nt->primal = nt->primal_g;
    }
    if (!good)
        span_descend(nt, f->move, 1 + f->moves, enough);
    nt->functions->gradient(nt);
    nt->fall = start - nt->primal;
    foresight_direct(&f->move[1], nt->n, nt->beta, d->p, nt->u, d->kp);
    f->moves = 1;
}

/* True if what L leaves out of K, by its diagonal, matters little: 1/2 D'(K -
 * Q)D beside what V has fallen by. */
static bool foresight_holds(const struct newton *nt)
{
    const double little = 0.05;
    const struct precond *m = &nt->direction.precond;
    double sum = 0;
    for (size_t i = 0; i < nt->n; i++) {
        double square = m->root[i] * m->root[i];
        double left = square > 0 ? m->residual[i] / square : m->diagonal[i];
        sum += left * (nt->e[i] * nt->e[i]);
    }
    return 0.5 * sum <= little * (nt->foresight.first - nt->foresight.value);
}

/* Foresee a point, and confirm it by one product with K. False if L does not
 * hold, if the product shows that K is not positive semidefinite, or if the
 * clock ended it. */
static bool foresight_round(struct newton *nt)
{
    struct direction *d = &nt->direction;
    foresight_solve(nt);
    if (!foresight_holds(nt)) {
        direction_distrust(d);
        return false;
    }
    if (!newton_product(nt, nt->e, d->precision, nt->q) ||
        dot(nt->n, nt->e, nt->q) < 0)
        return false;
    for (size_t i = 0; i < nt->n; i++)
        nt->kg[i] = nt->u[i] - nt->q[i];
    nt->dual_is_evaluated = true;
    nt->precision = nt->coarsest_reliable = d->precision;
    newton_judge(nt);
    nt->bound = nt->dual;
    foresight_descend(nt);
    return true;
}

/* Not for what has several columns. */
static bool foresight_serves(const struct newton *nt)
{
    return nt->direction.foresees && nt->columns == 1 &&
           nt->direction.precision == KLR_FLOAT;
}

/* True if the gap at the present gradient is still to be closed, and by steps
 * that leave out no row. */
static bool foresight_is_due(struct newton *nt)
{
    struct direction *d = &nt->direction;
    double enough = nt->progress.target * fabs(nt->primal);
    d->accuracy = nt->plan.accuracy;
    return newton_excess(nt) > enough && !direction_leaves_out(d, nt->s);
}

/* L for the present weights, of at least `least` C_i. */
static bool foresight_prepare(struct newton *nt, double least)
{
    for (size_t i = 0; i < nt->n; i++)
        nt->s[i] = fmax(nt->s[i], sqrt(least * nt->cost[i]));
    return precond_prepare(&nt->direction.precond, nt->s);
}

/* Take the dual point of the last round again, as the present point is none
 * that is good enough. True if their gap can be told from rounding. */
static bool foresight_returns(struct newton *nt)
{
    foresight_gradient(nt);
    for (size_t i = 0; i < nt->n; i++)
        nt->s[i] = sqrt(nt->direction.r[i]);
    return !newton_blurred(nt, nt->direction.precision, newton_gap(nt));
}

static bool newton_foresee(struct newton *nt)
{
    const double slow = 0.1, target = nt->progress.target;
    double gap = 1, before, own;
    if (!foresight_serves(nt))
        return false;
    nt->functions->gradient(nt);
    if (!foresight_is_due(nt) || !foresight_prepare(nt, foresight_weight))
        return false;
    nt->foresight.moves = 0;
    do {
        before = gap;
        if (!foresight_round(nt))
            return false;
        own = newton_excess(nt) / fabs(nt->primal);
        gap = nt->progress.violation = fmin(own, newton_gap(nt));
    } while (gap > target && gap <= 0.5 * before &&
             newton_clock(nt) == KLR_CONVERGED &&
             (gap <= slow * before || foresight_prepare(nt, foresight_later)));
    nt->plan.from_subset = false;
    nt->beta_is_dual = own <= target;
    return own > target && gap <= target && foresight_returns(nt);
}

static int foresight_create(struct newton *nt, struct klr_error *err)
{
    struct foresight *f = &nt->foresight;
    const struct precond *m = &nt->direction.precond;
    double **const vector[FORESIGHT_COLUMNS] = {
        &f->z, &f->slope, &f->r, &f->solved, &f->p, &f->image, &f->step};
    double **const move[] = {&f->move[0].beta, &f->move[0].u, &f->move[1].beta,
                             &f->move[1].u};
    if (!nt->direction.foresees)
        return 0;
    int code = klr_take_vectors(&nt->arena, nt->n, move, 4, err);
    return code ? code
                : klr_take_vectors(&nt->arena, m->most + 8, vector,
                                   FORESIGHT_COLUMNS, err);
}
