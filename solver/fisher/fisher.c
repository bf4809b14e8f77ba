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
 * keep all constraints: f is the sum of products, as what r tells of it has no
 * digits where c K is tiny. Each e with 1'e = 0 gives a lower bound of P as
 * well, by the dual point v = t e / c at its best l. With the residual r of e,
 * and r_y its mean over a class, weighted, the gap between them is
 *
 *   P - D = t^2 / 2 sum_i w_i (r_i - r_y)^2
 *
 * a sum of squares, which loses no digits, and no decision value is farther
 * from the optimal one than sqrt(2 (P - D) / w_i).
 *
 * Machines, which differ in y and weights alone, go side by side. Conjugate
 * gradients (fisher_descent.c) with a preconditioner (fisher_inverse.c) go from
 * anchor to anchor until the gap (fisher_gap.c) is small enough, at each c from
 * the best multiple of the e before it. Their products are of doubles, as those
 * of anchors, where the preconditioner is of full rank and steps are few; else
 * of floats or 16-bit entries, and of doubles from where an anchor tells that
 * these lead nowhere.
 */
#include <float.h>

#include "solver/fisher/fisher_exact.h"

/* Steps go on to this part of the gap asked for; the rest is for the rounding
 * of objectives. */
static const double fisher_room = 0.9;
/* The gap of a part times c |K_ii|, and the gap at most: links are fitted to
 * decision values that are known to some 1e-4. */
static const double fisher_part = 1e-2, fisher_most = 1e-8;

enum { FISHER_VECTORS = 7 }; /* of a machine; four more where R = |a|^2 */

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
                (gap <= f->goal || gap < 0.25 * m->anchored);
        m->indefinite = false;
        m->anchored = gap;
    }
    return gains;
}

/* True unless floats have made a regularizer negative. */
static bool fisher_sound(const struct fisher *f)
{
    bool sound = true;
    for (size_t k = 0; k < f->machines; k++)
        sound = sound && !(f->machine[k].form < 0);
    return sound || f->anchor == KLR_DOUBLE;
}

/* True if all gaps, with the part that rounding hides, are small enough, and
 * decision values right: errors of theirs move the objective by sqrt(2 P) times
 * as much, as a rule, which is to be a tenth of the gap, and of what makes a
 * certificate doubt. */
static bool fisher_arrived(const struct fisher *f)
{
    const double least = 1e-11; /* of decision values that are about 1 */
    double gap = fmin(f->goal, certificate_exact);
    bool arrived = true;
    for (size_t k = 0; k < f->machines; k++) {
        const struct exact *m = &f->machine[k];
        double drift = fmax(least, 0.1 * gap * sqrt(m->primal / 2));
        arrived = arrived && exact_gap(m) + exact_hidden(f, m) <= f->goal &&
                  exact_error(f, m, m->drift_bound) <= drift;
    }
    return arrived;
}

/* Steps are as exact as anchors from now on, and nothing stays of what others
 * may have done, unless the clock ends that. */
static void fisher_be_exact(struct fisher *f)
{
    enum klr_precision before = f->precision;
    double way = 0;
    for (size_t k = 0; k < f->machines; k++)
        way =
            fmax(way, f->machine[k].drift_bound + f->machine[k].drift_bound_e);
    f->precision = f->exact;
    bool off = f->anchor < f->exact || (before < f->exact && way > 0);
    if (off && !fisher_anchor(f))
        f->precision = before;
}

/* Floats may leave an e that is worth less than 0, and so large that doubles
 * have no digits beside it: it is 0 again. */
static void fisher_restart(struct fisher *f)
{
    size_t bytes = f->n * sizeof(double);
    for (size_t k = 0; k < f->machines; k++) {
        struct exact *m = &f->machine[k];
        if (exact_gap(m) < 1)
            continue;
        memset(m->e, 0, bytes);
        memset(m->value, 0, bytes);
        if (f->coef)
            memset(m->ke, 0, bytes);
        for (size_t i = 0; i < f->n; i++)
            m->r[i] = m->problem->y[i] > 0;
        m->drift_bound = m->drift_bound_e = 0;
        exact_judge(f, m);
    }
}

/* Steps lead nowhere: false if no others are left. */
static bool fisher_raise(struct fisher *f, enum klr_status *status)
{
    if (f->precision == KLR_DOUBLE)
        return false;
    if (f->completes)
        *status = fisher_complete(f);
    if (f->precision == f->exact)
        f->exact = KLR_DOUBLE;
    fisher_be_exact(f);
    fisher_restart(f);
    return true;
}

/* Steps from the last anchor, by the preconditioner that takes the least time.
 */
static enum klr_status fisher_go(struct fisher *f, enum klr_status status)
{
    const double target = 0.25 * f->goal;
    if (status == KLR_CONVERGED)
        status = fisher_descend(f, target);
    if (status != KLR_CONVERGED || !f->lags)
        return status;
    status = fisher_complete(f);
    if (f->full)
        fisher_be_exact(f);
    return status == KLR_CONVERGED ? fisher_descend(f, target) : status;
}

/* At the present c, preconditioned, unless the status says to stop already. */
static enum klr_status fisher_solve_one(struct fisher *f,
                                        enum klr_status status)
{
    if (status == KLR_CONVERGED && !f->full)
        f->precision = f->rounded;
    else
        fisher_be_exact(f);
    for (size_t k = 0; k < f->machines; k++)
        f->machine[k].anchored = INFINITY;
    for (;;) {
        status = fisher_go(f, status);
        if (!fisher_arrived(f))
            fisher_anchor(f);
        status = gravest(status, f->problem->clock->status);
        bool sound = fisher_sound(f);
        if (status != KLR_CONVERGED || (sound && fisher_gap(f) <= f->goal))
            return status;
        if (!(sound && fisher_gains(f)) && !fisher_raise(f, &status))
            return KLR_PRECISION_LIMIT;
    }
}

/* The best multiple of the e of another c. */
static void exact_set(const struct fisher *f, struct exact *m)
{
    double form = 0, along = 0;
    for (size_t i = 0; i < f->n; i++) {
        m->q[i] = m->value[i] + exact_penalty(f, m, i) * m->e[i];
        form += m->e[i] * m->q[i];
        along += m->problem->y[i] > 0 ? m->e[i] : 0;
    }
    double t = form > 0 ? along / form : 1;
    for (size_t i = 0; i < f->n; i++) {
        m->e[i] *= t;
        m->value[i] *= t;
        if (f->coef)
            m->ke[i] *= t;
        m->r[i] = (m->problem->y[i] > 0) - t * m->q[i];
    }
    m->drift_bound *= t;
    m->drift_bound_e *= t;
    exact_judge(f, m);
}

/* True where errors of floats in K, of a norm of some sqrt(n) times one of
 * them, are not small beside D: anchors are of doubles then. */
static bool fisher_drowns(const struct fisher *f, double c)
{
    const double little = 0.01;
    double error = ldexp(f->largest, -24) * sqrt((double)f->n);
    return f->coef || c * f->heaviest * error > little;
}

/* The gap asked for. Decision values of other examples, such as those held out,
 * err by sqrt(2 c K_ii (P - D)) at most. */
static double fisher_asked(const struct fisher *f, double c)
{
    double eps = f->problem->params->eps;
    double part = fmin(fisher_most, fisher_part / (c * f->largest));
    return f->problem->part ? fmax(eps, part) : eps;
}

static void fisher_set(struct fisher *f, double c)
{
    f->c = c;
    f->eps = fisher_asked(f, c);
    f->progress.target = f->goal = fisher_room * f->eps;
    if (fisher_drowns(f, c))
        f->exact = KLR_DOUBLE;
    for (size_t k = 0; k < f->machines; k++)
        exact_set(f, &f->machine[k]);
}

/* Beside a large c the regularizer has lost its digits. */
static int fisher_fail(const struct fisher *f, struct klr_error *err)
{
    return klr_fail(err, KLR_E_DATA,
                    "no discriminant: rounding errors leave nothing of the "
                    "regularizer at C = %g; choose a smaller -c",
                    f->c);
}

/* No discriminant came out: an error where not even doubles have digits beside
 * c; for the reason of c where floats, as the preconditioner has, have none. */
static int exact_lacks(const struct fisher *f, struct solution *solution,
                       struct klr_error *err)
{
    if (f->c * fmin(f->largest, 1) > 1 / DBL_EPSILON)
        return fisher_fail(f, err);
    if (f->c * f->largest > 1 / FLT_EPSILON && solution->note == KLR_NOTE_MEANS)
        solution->note = KLR_NOTE_COST;
    return 0;
}

static int exact_finish(const struct fisher *f, const struct exact *m,
                        enum klr_status status, struct solution *solution,
                        struct klr_error *err)
{
    const double *a = f->coef ? m->ke : m->e;
    for (size_t i = 0; i < f->n; i++) {
        solution->beta[i] = m->scale * a[i];
        f->out[i] = m->scale * m->value[i];
    }
    solution->status = status;
    solution->iterations = m->products;
    if (!(m->scale > 0) && clock_stopped(m->problem->clock)) {
        fisher_share(m->problem, solution);
        return 0;
    }
    if (!fisher_tells(m->problem, m->scale, f->largest, solution))
        return exact_lacks(f, solution, err);
    if (m->form < 0)
        return operator_refuse(f->problem->op, "--regularizer coef", err);
    *solution = (struct solution){.beta = solution->beta,
                                  .rho = m->rho,
                                  .primal = m->primal,
                                  .dual = NAN,
                                  .iterations = m->products,
                                  .fall = NAN,
                                  .precision = f->exact,
                                  .status = status};
    double dual = m->primal * (1 - exact_hidden(f, m)) - m->gap;
    if (isfinite(m->primal)) /* else it has overflowed, or is not known */
        fisher_certify(m->problem, f->c, f->out, f->largest,
                       exact_error(f, m, m->drift_bound), dual, f->eps,
                       solution);
    return fisher_threshold(m->problem, f->out, &solution->rho, err);
}

/* Time is up before the first step: e is the difference of the class means. */
static void exact_guess(struct exact *m)
{
    const struct binary_problem *b = m->problem;
    double weight[2] = {0, 0};
    for (size_t i = 0; i < b->n; i++)
        weight[b->y[i] > 0] += b->weight[i];
    for (size_t i = 0; i < b->n; i++)
        m->e[i] = b->y[i] * b->weight[i] / weight[b->y[i] > 0];
}

static int fisher_path(struct fisher *f, struct solution *const *solution,
                       struct klr_error *err)
{
    const struct klr_reals *cost = &f->problem->params->cost;
    int code = 0;
    operator_fill(f->problem->op, f->problem->set,
                  fisher_begins_full(f) ? f->exact : f->rounded);
    for (size_t t = 0; t < cost->count && !code; t++) {
        clock_path(f->problem->clock, t, cost->count);
        fisher_set(f, cost->value[t]);
        enum klr_status status = fisher_check(f);
        if (status == KLR_CONVERGED && (code = fisher_prepare(f, &status, err)))
            return code;
        for (size_t k = 0; k < f->machines; k++)
            if (status != KLR_CONVERGED && t == 0)
                exact_guess(&f->machine[k]);
        status = fisher_solve_one(f, status);
        if (f->indefinite)
            return operator_refuse(f->problem->op, "--regularizer coef", err);
        for (size_t k = 0; k < f->machines && !code; k++) {
            code =
                exact_finish(f, &f->machine[k], status, &solution[k][t], err);
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
    return (double)n * vectors * sizeof(double) +
           precond_bytes(n, precond_more(n)) +
           cholesky_bytes(n < FISHER_FULL ? n : FISHER_FULL); /* of a pair */
}

static void exact_create(struct fisher *f, struct exact *m,
                         const struct binary_problem *problem, double *store)
{
    size_t n = f->n;
    *m = (struct exact){.problem = problem,
                        .e = store,
                        .r = store + n,
                        .p = store + 2 * n,
                        .q = store + 3 * n,
                        .value = store + 4 * n,
                        .ke = f->coef ? store + 5 * n : NULL,
                        .kp = f->coef ? store + 6 * n : NULL};
    for (size_t i = 0; i < n; i++) {
        m->weight += problem->weight[i];
        f->heaviest = fmax(f->heaviest, problem->weight[i]);
        m->r[i] = problem->y[i] > 0;
    }
}

static int fisher_create(struct fisher *f,
                         const struct binary_problem *problems, size_t machines,
                         struct klr_error *err)
{
    const struct klr_params *params = problems->params;
    size_t n = problems->n;
    *f = (struct fisher){
        .problem = problems,
        .n = n,
        .machines = machines,
        .coef = params->regularizer == KLR_REGULARIZER_COEF,
        .c = params->cost.value[0],
        .exact = problems->part ? KLR_FLOAT : KLR_DOUBLE,
        .anchor = KLR_DOUBLE, /* 0 is exact */
        .rounded = problems->op->fixed16 ? KLR_FIXED16 : KLR_FLOAT,
    };
    size_t columns = f->coef ? 2 : 1; /* of a product, for each machine */
    size_t all = fisher_vectors(f->coef), own = all - 2 * columns;
    double *next;
    if (!KLR_TAKE_ZERO(&f->arena, next, all * machines + 2, n, err))
        return KLR_E_MEMORY;
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
        return cholesky_create(&f->cholesky, problem_matrix(problems),
                               &f->arena, err);
    return 0;
}

static int fisher_solve(const struct binary_problem *problems, size_t machines,
                        struct solution *const *solution, struct klr_error *err)
{
    struct fisher f;
    int code = 0;
    for (size_t first = 0, now; first < machines && !code; first += now) {
        now = machines - first;
        now = now < FISHER_MACHINES ? now : FISHER_MACHINES;
        code = fisher_create(&f, problems + first, now, err);
        if (!code)
            code = fisher_path(&f, solution + first, err);
        klr_arena_free(&f.arena);
    }
    return code;
}
