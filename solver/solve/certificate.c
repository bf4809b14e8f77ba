/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Certificates: what is said of a solution holds for the coefficients in its
 * file. f = K beta - rho is formed anew of these, in double entries, unless the
 * solver has that, or coarser entries tell as much. For a point g of the dual
 *
 *   P(beta, rho) - D(g) = 1/2 (beta - g)'K (beta - g)
 *                         + sum_i excess_i(y_i g_i, y_i f_i) + rho sum_i g_i,
 *
 *   excess(alpha, z) = loss(z) + psi(alpha) + alpha z >= 0   (Fenchel, Young)
 *
 * a sum of terms that are not negative, as sum g = 0: nothing cancels in it.
 * With the regularizer beta'beta the first term is 1/2 |beta - K g|^2.
 *
 * Sums of products with entries of K round f_i by some d = 2^-53 max|K| |beta|
 * times a few, or more where entries of distances have lost digits, and by as
 * much as u_i and rho are rounded. Each excess is convex in z, so that with
 * z - d and z + d it bounds what rounding can hide of the gap. A g that was
 * formed of f errs with it. Errors of f that are independent blur the
 * objective. Entries that hardly differ are rounded alike, and their errors are
 * not: a few rows of double entries tell what these do.
 *
 * Nothing is called converged whose objective is not a number, below 0 or
 * blurred by rounding, or whose gap, or what rounding hides of it, is above
 * what was asked for; what rounding hides makes a model useless only beyond
 * what is usually asked for, 1e-6 of the objective. Where no gap is asked for,
 * rounding must not hide more than the objective, which must not be above that
 * of the best constant model.
 * Where K is not positive semidefinite it must not in any case: however small
 * its gap, a stationary point may be anywhere.
 */
#include "solver/solve/solve.h"

/* ---- the verdict ---- */

/* Rounding error of a gap that is a difference of objectives, relative to
 * them. */
static const double certificate_noise = 1e-12;

/* True if the objective is above that of a constant by more than `above`. */
static bool is_above_constant(const struct certificate *c, double above)
{
    const double slack = 1e-9;
    return !(c->primal <= c->constant * (1 + slack) + above);
}

static enum klr_doubt certificate_doubt(const struct certificate *c)
{
    double size = fabs(c->primal);
    double most = isinf(c->target) ? size : c->target;
    if (!(c->effect <= fmax(most, certificate_exact * size)) ||
        !(c->blur <= certificate_exact * size) || c->primal < c->least ||
        c->gap < -certificate_noise * size)
        return KLR_DOUBT_ROUNDING;
    bool small = c->gap <= c->target + 1e-15 * size && c->effect <= most;
    double above = isfinite(c->target) ? c->target : 0;
    if (small && isfinite(c->target) && !c->indefinite)
        return KLR_DOUBT_NONE; /* the constant is no more than the gap below */
    if (is_above_constant(c, above))
        return c->indefinite ? KLR_DOUBT_INDEFINITE : KLR_DOUBT_CONSTANT;
    return small || isinf(c->target) ? KLR_DOUBT_NONE : KLR_DOUBT_GAP;
}

/* More doubt of a solution that a limit ended: it is lost in rounding, unless
 * the clock kept finer entries from telling; or a constant is better. */
static enum klr_doubt cut_doubt(const struct certificate *c,
                                enum klr_status status, enum klr_doubt doubt)
{
    if (doubt == KLR_DOUBT_ROUNDING && status < KLR_TIME_LIMIT)
        return doubt;
    return !isnan(c->primal) && is_above_constant(c, 0) ? KLR_DOUBT_CONSTANT
                                                        : KLR_DOUBT_NONE;
}

static void certify(struct solution *s, const struct certificate *c)
{
    enum klr_doubt doubt = certificate_doubt(c);
    bool noise = c->gap < 0 && c->gap >= -certificate_noise * fabs(c->primal);
    s->primal = c->primal;
    s->dual = noise           ? c->primal
              : isnan(c->gap) ? c->gap
                              : fmax(c->primal - c->gap, c->least);
    if (s->status == KLR_CONVERGED && doubt)
        s->status = KLR_PRECISION_LIMIT;
    else if (s->status == KLR_PRECISION_LIMIT && c->asked && !doubt)
        s->status = KLR_CONVERGED;
    if (s->status == KLR_CONVERGED)
        s->doubt = KLR_DOUBT_NONE;
    else if (s->status != KLR_PRECISION_LIMIT)
        s->doubt = cut_doubt(c, s->status, doubt);
    else if (doubt > s->doubt)
        s->doubt = doubt;
}

/* ---- decision values ---- */

/* Entries err independently of each other, and so do the products of a sum. */
static double decision_rounding(const struct binary_problem *problem,
                                const double *beta, double size,
                                enum klr_precision precision)
{
    const double several = 4; /* standard deviations */
    const double entry[] = {[KLR_FIXED16] = KLR_FIXED16_ERROR,
                            [KLR_FLOAT] = ldexp(1, -23),
                            [KLR_DOUBLE] = 0};
    double exact = several * klr_points_rounding(problem->op->points);
    return size * (exact + entry[precision]) *
           sqrt(dot(problem->n, beta, beta));
}

/* The objective changes by half of sum_i beta_i'du_i. */
static double objective_bias(const struct binary_problem *problem,
                             size_t columns, const double *beta,
                             const double *u, double *row)
{
    enum { ROWS = 16 }; /* and no more than a sixteenth of them */
    size_t n = problem->n, rows = n < ROWS * ROWS ? n / ROWS + 1 : ROWS;
    double sum = 0, squares = 0;
    if (operator_precision(problem->op, KLR_FLOAT) == KLR_DOUBLE)
        return 0; /* a linear kernel has no entries */
    for (size_t q = 0; q < rows; q++) {
        size_t i = q * n / rows;
        double change = 0;
        if (!operator_row(problem->op, problem->set, i, row))
            break;
        for (size_t c = 0; c < columns; c++) {
            double exact = 0;
            for (size_t k = 0; k < n; k++)
                exact += row[k] * beta[k * columns + c];
            change += beta[i * columns + c] * (u[i * columns + c] - exact);
        }
        sum += change;
        squares += change * change;
    }
    return 0.5 * (double)n / (double)rows * (fabs(sum) + sqrt(squares));
}

static double value_rounding(size_t n, const double *u, double rho)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(u[i]));
    return ldexp(most + fabs(rho), -53);
}

/* The largest |K_ij|: it is on the diagonal where K is positive semidefinite.
 * Other diagonals may even be 0: there a few rows are looked at. */
static double kernel_size(const struct binary_problem *problem, double *row)
{
    enum { ROWS = 16 };
    const struct klr_kernel *kernel = &problem->op->kernel;
    const size_t n = problem->n;
    bool psd = klr_kernel_is_psd(kernel) && kernel->type != KLR_PRECOMPUTED;
    double size = 0;
    operator_diagonal(problem->op, problem->set, row);
    for (size_t k = 0; k < n; k++)
        size = fmax(size, fabs(row[k]));
    for (size_t q = 0; q < ROWS && !psd; q++) {
        if (!operator_row(problem->op, problem->set, q * n / ROWS, row))
            break;
        for (size_t k = 0; k < n; k++)
            size = fmax(size, fabs(row[k]));
    }
    return size;
}

/* False if a minor of example i and another one shows that K is not positive
 * semidefinite or, with a bias, not so on vectors of sum 0. A precomputed K is
 * taken to be rounded to a thousandth. */
static bool minors_agree(const struct binary_problem *problem, size_t i,
                         const double *row, const double *diagonal)
{
    const double slack = 1e-3;
    for (size_t k = 0; k < problem->n; k++) {
        double ii = diagonal[i], kk = diagonal[k], ik = row[k];
        double most = fabs(ii) + fabs(kk) + 2 * fabs(ik);
        if (problem->params->no_bias ? kk < 0 || ii * kk < ik * ik * (1 - slack)
                                     : ii + kk - 2 * ik < -slack * most)
            return false;
    }
    return true;
}

/* True if nothing shows that the dual is no bound. A precomputed K is trusted,
 * but a few of its rows are looked at. `room` has 2 n elements. */
static bool dual_is_trusted(const struct binary_problem *problem, double *room)
{
    enum { ROWS = 16 };
    double *diagonal = room, *row = room + problem->n;
    bool agree = true;
    if (problem->op->kernel.type != KLR_PRECOMPUTED ||
        problem->params->regularizer != KLR_REGULARIZER_KERNEL)
        return true;
    operator_diagonal(problem->op, problem->set, diagonal);
    for (size_t q = 0; q < ROWS && agree; q++) {
        size_t i = q * problem->n / ROWS;
        if (!operator_row(problem->op, problem->set, i, row))
            break;
        agree = minors_agree(problem, i, row, diagonal);
    }
    return agree;
}

static int support_product(const struct binary_problem *problem,
                           const double *beta, enum klr_precision precision,
                           double *out, struct klr_error *err)
{
    bool whole; /* or the clock tells */
    return operator_apply_sparse(problem->op, problem->set, problem->set, beta,
                                 1, precision, out, &whole, err);
}

/* ---- the problems of loss.c ---- */

enum { APPRAISAL_VECTORS = 6 };

/* A point with what is found of it. */
struct appraisal {
    const struct binary_problem *problem;
    const struct point *point;
    size_t n;
    struct loss loss;
    bool psd;             /* P is convex */
    bool anew;            /* u and kg are formed, though known */
    const double *coarse; /* (n) u that is off by `error`, to be
                                     refined; or NULL */
    double error;
    double *store;                /* all vectors: */
    double *cost;                 /* (n) C_i */
    double *room;                 /* (n) */
    double *own[4];               /* (n) u, g, K g and W, if formed */
    const double *beta, *u;       /* (n), K beta; NULL: the clock ended that */
    const double *g, *kg;         /* (n) the dual point, K g; NULL: none */
    double size, rho, constant;   /* max |K_ij|; the best; see certificate */
    enum klr_precision precision; /* of u and kg */
    struct certificate c;
};

static bool appraisal_has_kernel(const struct appraisal *a)
{
    return a->problem->params->regularizer == KLR_REGULARIZER_KERNEL;
}

static struct losses appraisal_losses(const struct appraisal *a)
{
    return problem_losses(a->problem, &a->loss, a->cost);
}

static double appraisal_rho(const struct appraisal *a, const double *u,
                            double start)
{
    struct losses all = appraisal_losses(a);
    if (a->problem->params->no_bias)
        return 0;
    if (a->loss.model == KLR_MODEL_SVM)
        return appraisal_has_kernel(a) ? hinge_rho(&all, a->beta, u, start)
                                       : start;
    return best_rho(&all, u, start);
}

/* The objective of the best constant f = -rho, whatever the kernel; with the
 * hinge it is -1, 0 or 1. */
static double appraisal_constant(const struct appraisal *a)
{
    struct losses all = appraisal_losses(a);
    double weight[2] = {0, 0}, *zero = a->room;
    for (size_t i = 0; i < a->n; i++) {
        weight[a->problem->y[i] > 0] += a->cost[i];
        zero[i] = 0;
    }
    if (a->loss.model == KLR_MODEL_SVM)
        return a->problem->params->no_bias ? weight[0] + weight[1]
                                           : 2 * fmin(weight[0], weight[1]);
    return losses_sum(&all, zero, appraisal_rho(a, zero, 0));
}

static int appraisal_create(struct appraisal *a,
                            const struct binary_problem *problem,
                            const struct point *point, struct klr_error *err)
{
    const size_t n = problem->n;
    *a = (struct appraisal){.problem = problem,
                            .point = point,
                            .n = n,
                            .loss = loss_of(problem->params, point->c),
                            .precision = point->precision,
                            .beta = point->beta};
    a->store = klr_alloc(APPRAISAL_VECTORS * n, sizeof *a->store, err);
    if (!a->store)
        return KLR_E_MEMORY;
    a->cost = a->store;
    a->room = a->cost + n;
    for (size_t v = 0; v < 4; v++)
        a->own[v] = a->room + (v + 1) * n;
    for (size_t i = 0; i < n; i++)
        a->cost[i] = point->c * problem->weight[i];
    a->psd = !appraisal_has_kernel(a) ||
             (klr_kernel_is_psd(&problem->op->kernel) &&
              problem->op->kernel.type != KLR_PRECOMPUTED);
    a->size = kernel_size(problem, a->room);
    a->constant = appraisal_constant(a);
    return 0;
}

static double point_bytes(size_t n)
{
    return (double)n * APPRAISAL_VECTORS * sizeof(double);
}

static bool appraisal_is_cut(const struct appraisal *a)
{
    return clock_stopped(a->problem->clock);
}

/* True if u_i must be known more exactly: its error, with what is left of the
 * slack for rho, could change the objective. */
static bool appraisal_matters(const struct appraisal *a, size_t i)
{
    const double slack = 1e-3 + 8 * a->error;
    double z = a->problem->y[i] * (a->coarse[i] - a->rho);
    return a->beta[i] != 0 || loss_value(&a->loss, z - slack, a->cost[i]) !=
                                  loss_value(&a->loss, z + slack, a->cost[i]);
}

/* Form u of double entries where it matters. For a hinge that is at a few
 * examples, and these are all that have coefficients. */
static int appraisal_refine(struct appraisal *a, struct klr_error *err)
{
    struct chosen chosen = {0};
    size_t some = 0;
    bool *wanted = klr_alloc(a->n, sizeof *wanted, err);
    int code = wanted ? 0 : KLR_E_MEMORY;
    for (size_t i = 0; i < a->n && !code; i++)
        some += wanted[i] = appraisal_matters(a, i);
    if (!code && 2 * some > a->n)
        code = support_product(a->problem, a->beta, KLR_DOUBLE, a->own[0], err);
    else if (!code)
        code = chosen_create(&chosen, a->problem->set, wanted, a->beta, 1, err);
    if (!code && chosen.v) {
        operator_apply(a->problem->op, chosen.set, chosen.set, chosen.v, 1,
                       KLR_DOUBLE, a->room);
        for (size_t i = 0, k = 0; i < a->n; i++)
            a->own[0][i] = wanted[i] ? a->room[k++] : a->coarse[i];
    }
    chosen_free(&chosen);
    klr_free(wanted);
    return code;
}

/* u as it is to be known. */
static int appraisal_product(struct appraisal *a, struct klr_error *err)
{
    if (a->coarse && appraisal_has_kernel(a) && a->point->dual == DUAL_BETA)
        return appraisal_refine(a, err);
    return support_product(a->problem, a->beta, a->precision, a->own[0], err);
}

/* Compute P. The solver's u is used if its precision is enough; else u is
 * formed anew, if the clock allows it. */
static int appraisal_primal(struct appraisal *a, struct klr_error *err)
{
    const struct point *point = a->point;
    struct losses all = appraisal_losses(a);
    const double tiny = 1e-9; /* no violation asks for a smaller gap */
    bool known = point->u && !a->anew;
    int code = known ? 0 : appraisal_product(a, err);
    a->u = known ? point->u : appraisal_is_cut(a) ? NULL : a->own[0];
    a->rho = point->rho;
    a->c = (struct certificate){
        .primal = NAN, .gap = NAN, .target = INFINITY, .constant = INFINITY};
    if (!a->u || code)
        return code;
    a->rho = appraisal_rho(a, a->u, point->rho);
    double losses = losses_sum(&all, a->u, a->rho);
    double penalty = 0;
    for (size_t i = 0; i < a->n; i++)
        penalty += a->loss.model == KLR_MODEL_LHALF ? sqrt(fabs(a->beta[i]))
                   : appraisal_has_kernel(a)        ? 0.5 * a->beta[i] * a->u[i]
                                             : 0.5 * a->beta[i] * a->beta[i];
    a->c = (struct certificate){
        .primal = penalty + losses,
        .gap = NAN,
        .target = point->target > 0
                      ? point->target * fabs(penalty + losses)
                      : fmax(point->bound, tiny * (penalty + losses)),
        .constant = a->constant,
        .indefinite = !a->psd,
        .least = a->psd ? least_dual(&a->loss) : -INFINITY,
        .asked = point->target > 0,
    };
    return 0;
}

/* The point of the dual, and K times it if that differs from beta. */
static int appraisal_dual(struct appraisal *a, struct klr_error *err)
{
    const struct point *point = a->point;
    bool known = point->kg && !a->anew;
    a->g = point->dual == DUAL_BETA ? a->beta : known ? point->g : a->own[1];
    a->kg = point->dual == DUAL_BETA ? a->u : known ? point->kg : a->own[2];
    if (point->dual != DUAL_GRADIENT || known) {
        a->g = point->dual == DUAL_NONE ? NULL : a->g;
        return 0;
    }
    struct losses all = appraisal_losses(a);
    losses_gradient(&all, a->u, a->rho, a->own[1], a->own[3]);
    int code = support_product(a->problem, a->g, a->precision, a->own[2], err);
    a->g = appraisal_is_cut(a) ? NULL : a->g;
    return code;
}

/* The part of the gap that e = beta - g makes, with what rounding may add: to K
 * g itself, and to g, which follows decision values that err by `error`, so
 * that each g_i errs by |g_i| error at most, independently. The latter adds e'K
 * dg, where K e is known, and dg'K dg / 2. */
static double appraisal_distance(const struct appraisal *a, double error,
                                 double *effect)
{
    bool kernel = appraisal_has_kernel(a);
    double n = (double)a->n, sum = 0, squares = 0, slopes = 0, along = 0;
    for (size_t i = 0; i < a->n; i++) {
        double e = a->beta[i] - (kernel ? a->g[i] : a->kg[i]);
        double ke = a->u[i] - a->kg[i];
        sum += kernel ? e * ke : e * e;
        squares += e * e;
        slopes += a->g[i] * a->g[i];
        along += a->g[i] * a->g[i] * ke * ke;
    }
    double own = decision_rounding(a->problem, a->g, a->size, a->precision);
    double moved = a->size * error * sqrt(slopes), far = sqrt(n * squares);
    if (kernel)
        *effect = far * (own + error) + error * sqrt(along) +
                  0.5 * moved * error * sqrt(slopes);
    else
        *effect = far * (own + moved) + 0.5 * n * pow(own + moved, 2);
    return 0.5 * sum;
}

/* How far off decision values may be. */
static double appraisal_error(const struct appraisal *a)
{
    return decision_rounding(a->problem, a->beta, a->size, a->precision) +
           value_rounding(a->n, a->u, a->rho) + (a->anew ? 0 : a->point->drift);
}

static void appraisal_gap(struct appraisal *a)
{
    double error = appraisal_error(a);
    struct losses all = appraisal_losses(a);
    struct losses_gap found = losses_gap(&all, a->u, a->rho, a->g, error);
    double form =
        appraisal_has_kernel(a) ? sqrt(dot(a->n, a->beta, a->beta)) : 0;
    a->c.blur = found.blur + 0.5 * error * form; /* of beta'K beta, too */
    if (a->problem->whole && a->precision != KLR_DOUBLE)
        a->c.blur += objective_bias(a->problem, 1, a->beta, a->u, a->room);
    if (!a->g) {
        a->c.gap = a->c.primal - a->point->least;
        return;
    }
    double gap = found.excess, effect = 0;
    a->c.effect = found.effect;
    if (a->g != a->beta) {
        gap += appraisal_distance(a, error, &effect);
        a->c.effect += effect;
    }
    if (isinf(a->c.target) && !(a->c.effect <= certificate_exact * a->c.primal))
        gap += a->c.effect; /* no more than a bound */
    if (a->c.least == 0)
        gap = gap < a->c.primal ? gap : a->c.primal; /* not a number, too */
    a->c.gap = gap;
}

static int appraisal_all(struct appraisal *a, struct klr_error *err)
{
    int code = appraisal_primal(a, err);
    if (code || !a->u)
        return code;
    code = appraisal_dual(a, err);
    if (!code)
        appraisal_gap(a);
    return code;
}

/* Appraise again with double entries, unless the clock ends that. */
static int appraisal_again(struct appraisal *a, struct klr_error *err)
{
    struct appraisal exact = *a;
    exact.coarse = a->u;
    exact.error = appraisal_error(a);
    exact.precision = KLR_DOUBLE;
    exact.anew = true;
    int code = appraisal_all(&exact, err);
    if (!appraisal_is_cut(a))
        *a = exact;
    return code;
}

/* True if entries are too coarse to certify the gap or, for a model, the
 * objective. Cross validation does not use objectives. */
static bool appraisal_is_blurred(const struct appraisal *a)
{
    return a->u && (a->precision != KLR_DOUBLE || a->point->drift > 0) &&
           !appraisal_is_cut(a) &&
           (!(a->c.effect <= a->c.target) ||
            (a->problem->whole &&
             !(a->c.blur <= certificate_exact * fabs(a->c.primal))));
}

/* K times what is kept of beta, from K beta or by itself, whichever takes fewer
 * columns of K. */
static int kept_product(const struct appraisal *a, const double *kept,
                        size_t dropped, double *u, struct klr_error *err)
{
    if (2 * dropped > a->n)
        return support_product(a->problem, kept, a->precision, u, err);
    double *left = a->own[1];
    for (size_t i = 0; i < a->n; i++)
        left[i] = a->beta[i] - kept[i];
    int code = support_product(a->problem, left, a->precision, u, err);
    for (size_t i = 0; i < a->n && !code; i++)
        u[i] = a->u[i] - u[i];
    return code;
}

/* Leave out of a sparse model the examples at the lower end of the box, which
 * Newton steps come near: Consolo, section 3. A primal point may lie beyond
 * that end, far from 0; such examples stay. rho and P are those of what is
 * left; the dual point keeps all. If the examples matter, as K or the box is
 * large, all of them stay. */
static int point_drop(struct appraisal *a, struct solution *solution,
                      struct klr_error *err)
{
    const double near = 1.001, much = 0.1;
    struct losses all = appraisal_losses(a);
    double *kept = a->own[3], *u = a->own[2];
    size_t dropped = 0;
    for (size_t i = 0; i < a->n; i++) {
        bool ends = fabs(a->beta[i]) <= near * loss_box(&a->loss, a->cost[i]);
        dropped += ends;
        kept[i] = ends ? 0 : a->beta[i];
    }
    if (dropped == 0 || !a->u)
        return 0;
    int code = kept_product(a, kept, dropped, u, err);
    if (code || appraisal_is_cut(a))
        return code;
    double rho = appraisal_rho(a, u, a->rho);
    double primal = primal_value(&all, kept, u, rho);
    if (!(primal - a->c.primal <= much * fabs(a->c.primal)) ||
        primal > a->constant)
        return 0;
    memcpy(solution->beta, kept, a->n * sizeof *kept);
    solution->rho = rho;
    solution->primal = primal;
    return 0;
}

static int point_finish(const struct binary_problem *problem,
                        const struct point *point, struct solution *solution,
                        struct klr_error *err)
{
    struct appraisal a;
    int code = appraisal_create(&a, problem, point, err);
    if (!code)
        code = appraisal_all(&a, err);
    if (!code && appraisal_is_blurred(&a))
        code = appraisal_again(&a, err);
    if (code)
        goto done;
    if (!problem->whole)
        a.c.blur = 0;
    if (solution->beta != point->beta)
        memcpy(solution->beta, point->beta, a.n * sizeof *point->beta);
    *solution = (struct solution){
        .beta = solution->beta,
        .rho = a.rho,
        .status = gravest(point->status, problem->clock->status),
        .doubt = point->doubt,
        .iterations = point->iterations,
        .fall = point->fall,
        .size = a.size,
        .precision = a.precision};
    certify(solution, &a.c);
    if (!dual_is_trusted(problem, a.own[2]))
        solution->dual = NAN;
    if (a.loss.model == KLR_MODEL_SKLR && !problem->params->keep_bounded)
        code = point_drop(&a, solution, err);
done:
    klr_free(a.store);
    return code;
}
