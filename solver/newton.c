/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exact kernel logistic regression by a truncated Newton method, the modern
 * form of Maalouf, Trafalis & Adrianto (2011):
 *
 *   minimise  P(beta, rho) = 1/2 beta'K beta + sum_i C_i g(-y_i (u_i - rho)),
 *             u = K beta, g(z) = log(1 + e^z)
 *
 * At (beta, rho), rho optimal, let p_i = sigma(-y_i (u_i - rho)), g_i = C_i y_i
 * p_i, W_i = C_i p_i (1 - p_i), S = diag(sqrt W). Since rho is optimal, sum g_i
 * = 0: |g| is a feasible point of the dual, Keerthi et al. (2005), (2.8), and
 * gives a rigorous duality gap at the price of one product, q = K (beta - g).
 * The Newton point is g + S v, where v solves
 *
 *   min_v  1/2 v'(I + S K S) v - (S q)'v   subject to  s'v = 0,  s = diag S,
 *
 * by conjugate gradients with the constraint kept by projection (Gould, Hribar
 * & Nocedal 2001) and the preconditioner M = I + L L', S K S ~ L L' by a pivoted
 * Cholesky factorisation of the WEIGHTED matrix: precond.c. K is linear along
 * the line to the Newton point, so the line search needs no product.
 *
 * C is reached along a path, ten times larger each step, warm started: from
 * zero at a large C the steps would shrink to nothing. Products are summed in
 * double over float entries; u and q, and with them the gap, are formed from
 * double entries as soon as floats could spoil a tenth of the gap to reach.
 * The answer is the dual point g: 0 < |g_i| < C_i and sum g = 0 hold exactly.
 */
#include "solver/internal.h"

struct newton {
    const struct binary *problem;
    struct loss loss;
    size_t n;
    double eps;      /* relative duality gap to reach */
    double accuracy; /* of conjugate gradients: fall of the residual */
    enum klr_precision precision; /* of u and q */
    enum klr_precision hessian;   /* of products in conjugate gradients */
    bool indefinite; /* a direction of negative curvature was met */
    struct precond precond;
    double *store;              /* all vectors below, (n) each */
    double *cost;               /* C_i of this step of the path */
    double *beta, *u;           /* the point, u = K beta */
    double *g, *kg;             /* the dual point, K g */
    double *s, *e, *q;          /* sqrt W; beta - g; K e */
    double *v, *kv;             /* v, and K S v */
    double *r, *z, *p, *kp, *t; /* of conjugate gradients */
    double rho;                 /* optimal for u */
    double rho_g;               /* optimal for K g */
    double primal;              /* P(beta, rho) */
    double primal_g, dual;      /* P(g, rho_g) and D(|g|) */
    double conjugate;           /* the part of -D without K */
    struct klr_progress progress;
};

enum {
    NEWTON_VECTORS = 15,
    NEWTON_STEPS = 100,    /* at one C */
    NEWTON_CG_STEPS = 500, /* in one of these */
    NEWTON_PATIENCE = 5,   /* steps after which to try harder */
};

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* ---- objectives ---- */

static double newton_primal(const struct newton *nt, const double *beta,
                            const double *u, double rho)
{
    const double *y = nt->problem->y;
    double loss = 0;
    for (size_t i = 0; i < nt->n; i++)
        loss += nt->cost[i] * softplus(-y[i] * (u[i] - rho));
    return 0.5 * dot(nt->n, beta, u) + loss;
}

/* rho and P for the present beta, u and costs. */
static void newton_evaluate(struct newton *nt)
{
    nt->rho = best_rho(&nt->loss, nt->n, nt->problem->y, nt->cost, nt->u);
    nt->primal = newton_primal(nt, nt->beta, nt->u, nt->rho);
}

/* Of the dual point, which is the answer. */
static double newton_gap(void *solver)
{
    const struct newton *nt = solver;
    return (nt->primal_g - nt->dual) / fabs(nt->primal_g);
}

static void newton_product(struct newton *nt, const double *x,
                           enum klr_precision precision, double *out)
{
    const struct binary *b = nt->problem;
    operator_apply(b->op, b->set, b->set, x, 1, precision, out);
    nt->progress.iterations++;
}

/* g, the weights, e and the part of the dual objective without K. */
static void newton_gradient(struct newton *nt)
{
    const double *y = nt->problem->y;
    nt->conjugate = 0;
    for (size_t i = 0; i < nt->n; i++) {
        double z = -y[i] * (nt->u[i] - nt->rho), p = sigmoid(z);
        nt->g[i] = nt->cost[i] * y[i] * p;
        nt->s[i] = sqrt(nt->cost[i] * p * sigmoid(-z));
        nt->e[i] = nt->beta[i] - nt->g[i];
        /* C G(p) at p = sigma(z) is C (p z - g(z)), Keerthi (2.4) */
        nt->conjugate += nt->cost[i] * (p * z - softplus(z));
    }
}

/* u = K beta has been carried along in float products: once more, exactly, and
 * for a sum of beta that is 0 to rounding. */
static void newton_refresh(struct newton *nt)
{
    double sum = 0;
    for (size_t i = 0; i < nt->n; i++)
        sum += nt->beta[i];
    for (size_t i = 0; i < nt->n; i++)
        nt->beta[i] -= sum / (double)nt->n;
    newton_product(nt, nt->beta, nt->precision, nt->u);
    newton_evaluate(nt);
}

/* sum_i x_i^2 K_ii */
static double newton_scale(const struct newton *nt, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < nt->n; i++)
        sum += x[i] * x[i] * nt->precond.diagonal[i];
    return sum;
}

/* Float entries err by some 2^-22 sqrt(K_ii K_jj), independently of each other,
 * hence (K g)_i by h_i with h_i^2 = 2^-44 K_ii sum_j g_j^2 K_jj. Near the
 * optimum the first-order terms of P and of D cancel in the gap, which errs by
 * 1/2 sum W_i h_i^2. */
static enum klr_precision newton_choose_precision(const struct newton *nt)
{
    double error =
        0.5 * ldexp(newton_scale(nt, nt->g) * newton_scale(nt, nt->s), -44);
    return error > 0.1 * nt->progress.target * nt->primal ? KLR_DOUBLE
                                                          : KLR_FLOAT;
}

/* rho, P and D of the dual point, given its product. */
static void newton_judge(struct newton *nt)
{
    nt->rho_g = best_rho(&nt->loss, nt->n, nt->problem->y, nt->cost, nt->kg);
    nt->primal_g = newton_primal(nt, nt->g, nt->kg, nt->rho_g);
    nt->dual = -0.5 * dot(nt->n, nt->g, nt->kg) - nt->conjugate;
}

/* The dual point of (beta, rho), its product, both objectives. */
static void newton_dual_point(struct newton *nt)
{
    newton_gradient(nt);
    nt->precision = newton_choose_precision(nt);
    if (nt->precision == KLR_DOUBLE) {
        newton_refresh(nt);
        newton_gradient(nt);
    }
    newton_product(nt, nt->e, nt->precision, nt->q);
    for (size_t i = 0; i < nt->n; i++)
        nt->kg[i] = nt->u[i] - nt->q[i];
    newton_judge(nt);
}

/* ---- conjugate gradients ---- */

/* Start from v = 0, the point g, with residual S q, or from v = S^-1 e, the
 * point beta, with residual -S^-1 e: whichever is smaller in the norm of M^-1.
 * The second exists only if e = 0 wherever W = 0. Returns that norm squared. */
static double newton_start(struct newton *nt)
{
    size_t n = nt->n;
    double *other = nt->t, *z_other = nt->kp;
    bool exists = true;
    for (size_t i = 0; i < n; i++) {
        nt->r[i] = nt->s[i] * nt->q[i];
        nt->v[i] = nt->kv[i] = 0;
        exists = exists && (nt->s[i] > 0 || nt->e[i] == 0);
        other[i] = nt->s[i] > 0 ? -nt->e[i] / nt->s[i] : 0;
    }
    precond_solve(&nt->precond, nt->r, nt->z);
    double norm = dot(n, nt->r, nt->z);
    if (!exists)
        return norm;
    precond_solve(&nt->precond, other, z_other);
    double norm_other = dot(n, other, z_other);
    if (!(norm_other < norm))
        return norm;
    for (size_t i = 0; i < n; i++) {
        nt->r[i] = other[i];
        nt->z[i] = z_other[i];
        nt->v[i] = -other[i];
        nt->kv[i] = nt->q[i];
    }
    return norm_other;
}

/* v to a fraction of the starting residual; then beta+ = g + S v into p and
 * K beta+ into kp. */
static enum klr_status newton_direction(struct newton *nt)
{
    size_t n = nt->n;
    const double *s = nt->s;
    enum klr_status status = KLR_CONVERGED;
    double rz = newton_start(nt), goal = nt->accuracy * nt->accuracy * rz;
    memcpy(nt->p, nt->z, n * sizeof *nt->p);
    for (int step = 0; step < NEWTON_CG_STEPS && rz > goal; step++) {
        status = clock_check(nt->problem->clock, nt->problem->params,
                             &nt->progress, newton_gap, nt);
        if (status != KLR_CONVERGED)
            break;
        for (size_t i = 0; i < n; i++)
            nt->t[i] = s[i] * nt->p[i];
        newton_product(nt, nt->t, nt->hessian, nt->kp);
        double curvature = dot(n, nt->p, nt->p) + dot(n, nt->t, nt->kp);
        double a = rz / curvature, old = rz;
        if (!(curvature > 0)) {
            nt->indefinite = true;
            break;
        }
        for (size_t i = 0; i < n; i++) {
            nt->v[i] += a * nt->p[i];
            nt->kv[i] += a * nt->kp[i];
            nt->r[i] -= a * (nt->p[i] + s[i] * nt->kp[i]);
        }
        precond_solve(&nt->precond, nt->r, nt->z);
        rz = dot(n, nt->r, nt->z);
        for (size_t i = 0; i < n; i++)
            nt->p[i] = nt->z[i] + rz / old * nt->p[i];
    }
    for (size_t i = 0; i < n; i++) {
        nt->p[i] = nt->g[i] + s[i] * nt->v[i];
        nt->kp[i] = nt->kg[i] + nt->kv[i];
    }
    return status;
}

/* The first of t = 1, 1/2, 1/4 ... with a smaller P on the line from beta to
 * the Newton point (p, kp), rho optimal at each; false if there is none. */
static bool newton_line_search(struct newton *nt)
{
    size_t n = nt->n;
    for (double t = 1; t > 1e-8; t /= 2) {
        for (size_t i = 0; i < n; i++) {
            nt->r[i] = nt->beta[i] + t * (nt->p[i] - nt->beta[i]);
            nt->z[i] = nt->u[i] + t * (nt->kp[i] - nt->u[i]);
        }
        double rho = best_rho(&nt->loss, n, nt->problem->y, nt->cost, nt->z);
        double primal = newton_primal(nt, nt->r, nt->z, rho);
        if (primal < nt->primal) {
            memcpy(nt->beta, nt->r, n * sizeof *nt->beta);
            memcpy(nt->u, nt->z, n * sizeof *nt->u);
            nt->rho = rho;
            nt->primal = primal;
            return true;
        }
    }
    return false;
}

/* ---- steps and path ---- */

/* Newton steps at the present costs until the relative gap reaches the target:
 * that of beta on the way, of the dual point at the end of the path. Where it
 * takes many, the preconditioner is too weak for conjugate gradients to come
 * near the Newton point: more rank, and more accuracy. Where no step lowers P,
 * float products have led astray: double ones from then on. */
static enum klr_status newton_descend(struct newton *nt, bool last)
{
    nt->accuracy = 0.1;
    newton_evaluate(nt);
    for (int step = 1; step <= NEWTON_STEPS; step++) {
        newton_dual_point(nt);
        nt->progress.violation = newton_gap(nt);
        double primal = last ? nt->primal_g : nt->primal;
        if (primal - nt->dual <= nt->progress.target * primal)
            return KLR_CONVERGED;
        if (step % NEWTON_PATIENCE == 0) {
            precond_raise(&nt->precond);
            nt->accuracy *= 0.1;
        }
        precond_build(&nt->precond, nt->problem, nt->s);
        enum klr_status status = newton_direction(nt);
        if (status != KLR_CONVERGED)
            return status;
        bool lower = newton_line_search(nt);
        if (nt->indefinite || (!lower && nt->hessian == KLR_DOUBLE))
            return KLR_PRECISION_LIMIT;
        if (!lower) {
            nt->hessian = KLR_DOUBLE;
            newton_refresh(nt);
        }
    }
    return KLR_ITERATION_LIMIT;
}

/* The largest power of ten times C, at most C, at which K hardly bends the
 * solution: C_0 max C_i (mean K_ii - mean K_ij) <= 1. (C, K) and (C/s, s K) are
 * one problem. The means are taken over a few rows. */
static double newton_first_scale(const struct newton *nt, double *row)
{
    enum { ROWS = 16 };
    const struct binary *b = nt->problem;
    double most = 0, diagonal = 0, off = 0, scale = 1;
    size_t rows = nt->n < ROWS ? nt->n : ROWS;
    operator_diagonal(b->op, b->set, row);
    for (size_t i = 0; i < nt->n; i++) {
        diagonal += row[i] / (double)nt->n;
        most = fmax(most, b->params->cost.value[0] * b->weight[i]);
    }
    for (size_t i = 0; i < rows; i++) {
        operator_row(b->op, set_position(b->set, i * nt->n / rows), b->set,
                     KLR_DOUBLE, row);
        for (size_t k = 0; k < nt->n; k++)
            off += row[k] / (double)(nt->n * rows);
    }
    while (scale * most * (diagonal - off) > 1)
        scale /= 10;
    return scale;
}

static enum klr_status newton_path(struct newton *nt)
{
    const double loose = 1e-2;
    enum klr_status status = KLR_CONVERGED;
    double scale = newton_first_scale(nt, nt->t);
    bool last = false, stopped = false;
    for (; !last && !stopped && !nt->indefinite; scale *= 10) {
        last = scale > 0.5;
        for (size_t i = 0; i < nt->n; i++)
            nt->cost[i] = nt->problem->params->cost.value[0] *
                          nt->problem->weight[i] * (last ? 1 : scale);
        nt->progress.target = last ? nt->eps : fmax(nt->eps, loose);
        status = newton_descend(nt, last);
        stopped = !last &&
                  clock_check(nt->problem->clock, nt->problem->params,
                              &nt->progress, newton_gap, nt) != KLR_CONVERGED;
    }
    if (stopped) { /* what was reached, as a point of the whole problem */
        for (size_t i = 0; i < nt->n; i++)
            nt->cost[i] =
                nt->problem->params->cost.value[0] * nt->problem->weight[i];
        newton_evaluate(nt);
        newton_dual_point(nt);
    }
    return status;
}

/* ---- start and end ---- */

static int newton_create(struct newton *nt, const struct binary *problem,
                         struct klr_error *err)
{
    size_t n = problem->n;
    memset(nt, 0, sizeof *nt);
    nt->problem = problem;
    nt->n = n;
    nt->eps = problem->params->eps;
    nt->store = klr_zalloc(NEWTON_VECTORS * n, sizeof(double), err);
    if (!nt->store)
        return KLR_E_MEMORY;
    double **vector[NEWTON_VECTORS] = {
        &nt->cost, &nt->beta, &nt->u, &nt->g, &nt->kg, &nt->s,  &nt->e, &nt->q,
        &nt->v,    &nt->kv,   &nt->r, &nt->z, &nt->p,  &nt->kp, &nt->t};
    for (int i = 0; i < NEWTON_VECTORS; i++)
        *vector[i] = nt->store + (size_t)i * n;
    return precond_create(&nt->precond, problem, err);
}

/* The objectives themselves err to first order, by 2^-23 sum g_i^2 K_ii: where
 * that is more than eps, they are formed once more from double entries. */
static void newton_finish(struct newton *nt, struct solution *solution)
{
    double error = ldexp(newton_scale(nt, nt->g), -23);
    if (nt->precision == KLR_FLOAT && error > nt->eps * nt->primal_g) {
        newton_product(nt, nt->g, KLR_DOUBLE, nt->kg);
        newton_judge(nt);
    }
    memcpy(solution->beta, nt->g, nt->n * sizeof *nt->g);
    solution->rho = nt->rho_g;
    solution->primal = nt->primal_g;
    solution->dual = nt->dual;
    solution->iterations = nt->progress.iterations;
}

static int newton_solve(const struct binary *problem, struct solution *solution,
                        struct klr_error *err)
{
    struct newton nt;
    int code = newton_create(&nt, problem, err);
    if (!code) {
        solution->status = newton_path(&nt);
        newton_finish(&nt, solution);
        if (nt.indefinite || newton_gap(&nt) < -1e-4)
            code = klr_fail(err, KLR_E_DATA,
                            "the kernel matrix is not positive semidefinite: "
                            "use -a smo");
    }
    precond_free(&nt.precond);
    klr_free(nt.store);
    return code;
}
