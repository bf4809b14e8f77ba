/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Import vector machines: Zhu & Hastie, Kernel Logistic Regression and the
 * Import Vector Machine, JCGS 14 (2005), section 4. Kernel logistic regression
 *
 *   H(S) = min over beta with support S, and rho, of
 *          1/2 beta'K beta + sum_i C_i log(1 + e^(-y_i f_i)), f = K beta - rho
 *
 * on a set S of import points that grows by one each round: of the candidates,
 * the one whose H is smallest after one Newton step from the fit on S. Then
 * Newton's method fits S and that point. Rounds end when H has fallen by less
 * than eps, relatively, over the last `window`; when S has max_basis points; or
 * when no candidate is left that would add to the span of S.
 *
 * Functions of S are written in an orthonormal basis of the feature space, the
 * partial Cholesky factorisation of K: b_k(x_i), k in S, with K[:, S] = B L',
 * L = B[S, :] lower triangular, so that f = B w and beta'K beta = w'w. The
 * Hessian I + B'WB is then never worse conditioned than the weights. The bias
 * is one more basis function, 1, without penalty. The residual, K_ii less
 * |b(x_i)|^2, is what the span of S lacks of a candidate.
 */
#include "solver/basis/basis.h"
#include "solver/basis/ivm_parts.h"

enum {
    IVM_STEPS = 50, /* of Newton's method, a round */
    IVM_ROOM = 32,  /* import points at first */
    IVM_MANY = 500, /* examples of which some are held out */
    IVM_QUARTER = 8 /* import points: at least so many are a quarter */
};

/* A round's last step may be by a factor whose weights differ by so much. */
static const double ivm_share = 0.1;

/* ---- the fit on S ---- */

static struct losses ivm_losses(const struct ivm *ivm, const double *cost)
{
    return problem_losses(ivm->problem, &ivm->loss, cost);
}

static double ivm_penalty(const struct ivm *ivm, double t)
{
    double sum = 0;
    for (size_t k = ivm->h.unpenalised; k < ivm->h.rank; k++) {
        double w = ivm->w[k] + t * ivm->step[k];
        sum += w * w;
    }
    return 0.5 * sum;
}

/* g, the roots of the weights, and the gradient w - B'g, at f. */
static void ivm_gradient(struct ivm *ivm)
{
    struct losses all = ivm_losses(ivm, ivm->cost);
    losses_gradient(&all, ivm->f, 0, ivm->g, ivm->root);
    for (size_t i = 0; i < ivm->n; i++)
        ivm->root[i] = sqrt(ivm->root[i]);
    for (size_t k = 0; k < ivm->h.rank; k++)
        ivm->slope[k] = (k < ivm->h.unpenalised ? 0 : ivm->w[k]) -
                        dot(ivm->n, ivm->basis + k * ivm->h.pitch, ivm->g);
}

/* The objective at w and f. */
static void ivm_judge(struct ivm *ivm)
{
    struct losses all = ivm_losses(ivm, ivm->cost);
    ivm->progress.objective = ivm_penalty(ivm, 0) + losses_sum(&all, ivm->f, 0);
}

/* Factor I + B'WB of the fit, whose pivots are positive but for rounding. False
 * if one is not, or if the clock ends it. */
static bool ivm_factor(struct ivm *ivm)
{
    memcpy(ivm->factored, ivm->root, ivm->n * sizeof *ivm->root);
    return hessian_form(&ivm->h) && hessian_factor(&ivm->h, 1);
}

/* Take the first of t = 1, 1/2, 1/4 ... that lowers the objective; false if
 * there is none. */
static bool ivm_search(struct ivm *ivm)
{
    struct losses all = ivm_losses(ivm, ivm->cost);
    memset(ivm->df, 0, ivm->n * sizeof *ivm->df);
    for (size_t k = 0; k < ivm->h.rank; k++) {
        const double *basis = ivm->basis + k * ivm->h.pitch;
        for (size_t i = 0; i < ivm->n; i++)
            ivm->df[i] += ivm->step[k] * basis[i];
    }
    for (double t = 1; t > 1e-8; t /= 2) {
        add_parts(all.pool, ivm->n, ivm->f, t, ivm->df, ivm->tried);
        double objective =
            ivm_penalty(ivm, t) + losses_sum(&all, ivm->tried, 0);
        if (!(objective < ivm->progress.objective))
            continue;
        ivm->progress.objective = objective;
        memcpy(ivm->f, ivm->tried, ivm->n * sizeof *ivm->f);
        for (size_t k = 0; k < ivm->h.rank; k++)
            ivm->w[k] += t * ivm->step[k];
        return true;
    }
    return false;
}

/* F^-1 of minus the gradient; returns by how much the objective will fall. */
static double ivm_descend(struct ivm *ivm)
{
    for (size_t k = 0; k < ivm->h.rank; k++)
        ivm->step[k] = -ivm->slope[k];
    hessian_forward(&ivm->h, ivm->step);
    return 0.5 * dot(ivm->h.rank, ivm->step, ivm->step);
}

/* True if the weights have changed by no more than that share of their sum
 * since they were factored. */
static bool ivm_factor_serves(const struct ivm *ivm, double share)
{
    double sum = 0, change = 0;
    for (size_t i = 0; i < ivm->n; i++) {
        double w = ivm->root[i] * ivm->root[i];
        sum += w;
        change += fabs(w - ivm->factored[i] * ivm->factored[i]);
    }
    return change <= share * sum;
}

/* Newton's method, from a point with gradient and factor to one with both. The
 * factor of a point serves as long as steps by it bring what remains down by a
 * factor of `slow`; that of the last step is of weights that differ by no more
 * than `share`. False if the factor has no digits left. */
static bool ivm_fit(struct ivm *ivm, double share)
{
    const double accuracy = 1e-10, slow = 0.1;
    bool own = ivm_factor_serves(ivm, share); /* it is of this point */
    bool near = false;                        /* the step is the last one */
    double last = INFINITY;
    for (int step = 0; step < IVM_STEPS && !near; step++) {
        double fall = ivm_descend(ivm);
        near = fall <= accuracy * fabs(ivm->progress.objective);
        own = own || (near && ivm_factor_serves(ivm, share));
        if (near && own)
            break;
        if (!own && (near || fall > slow * last)) {
            own = ivm_factor(ivm);
            if (!own)
                return false;
            fall = ivm_descend(ivm);
        }
        last = fall;
        hessian_backward(&ivm->h, ivm->step);
        if (ivm_search(ivm)) {
            ivm_gradient(ivm);
            own = false;
        } else if (own)
            break;
        else
            last = 0; /* the factor of another point leads nowhere */
    }
    return own || near || ivm_factor(ivm);
}

static enum klr_status ivm_clock(struct ivm *ivm)
{
    return clock_check(ivm->problem->clock, ivm->problem->params,
                       &ivm->progress, NULL, NULL);
}

/* ---- growth ---- */

/* The basis and what belongs to it are kept, other arrays begin anew. */
static int ivm_reallocate(struct ivm *ivm, size_t room, struct klr_error *err)
{
    double **vector[] = {&ivm->basis, &ivm->w,    &ivm->slope,
                         &ivm->step,  &ivm->past, &ivm->lost};
    const size_t size[] = {ivm->h.pitch, 1, 1, 1, 2, 2};
    size_t capacity = ivm->h.room, old = capacity;
    hessian_free(&ivm->h);
    ivm->mixed = klr_free(ivm->mixed);
    if (KLR_GROW(ivm->member, capacity, room, err))
        return KLR_E_MEMORY;
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
        capacity = old * size[i];
        if (KLR_GROW(*vector[i], capacity, room * size[i], err))
            return KLR_E_MEMORY;
    }
    ivm->h.basis = ivm->basis;
    ivm->mixed = klr_alloc(room * KLR_BAND, sizeof(double), err);
    return ivm->mixed ? hessian_alloc(&ivm->h, room, err) : KLR_E_MEMORY;
}

static double ivm_bytes(size_t n, size_t room)
{
    return hessian_bytes(n, room) +
           (double)n * (double)(room + KLR_BAND) * sizeof(double);
}

/* Make room for one basis function more or, if -m has it, for as many again. It
 * is an error if there is none for the first. */
static int ivm_grow(struct ivm *ivm, struct klr_error *err)
{
    size_t n = ivm->n, old = ivm->h.room, room = old ? 2 * old : IVM_ROOM;
    size_t least = old ? old : ivm->h.unpenalised + 1;
    size_t most = (size_t)ivm->problem->params->max_basis;
    if (ivm->h.rank < old)
        return 0;
    const double budget = (double)params_budget(ivm->problem->params);
    if (old == 0 && ivm_bytes(n, least) > budget)
        return params_refuse_budget(n, ivm_bytes(n, least), err);
    most = ivm->h.unpenalised + (most > 0 && most < n ? most : n);
    room = room < most ? room : most;
    operator_yield(ivm->problem->op, ivm_bytes(n, room), budget);
    while (room > least && ivm_bytes(n, room) > budget)
        room--;
    if (room == old)
        return 0;
    int code = ivm_reallocate(ivm, room, err);
    if (!code)
        ivm_factor(ivm);
    return code;
}

/* Drop candidates that the basis spans already: they would add rounding
 * errors. */
static void ivm_shorten(struct ivm *ivm)
{
    const double least = 1e-10;
    size_t kept = 0;
    for (size_t q = 0; q < ivm->candidates; q++) {
        size_t i = ivm->left[q];
        if (ivm->residual[i] > least * ivm->diagonal[i])
            ivm->left[kept++] = i;
    }
    ivm->candidates = kept;
}

/* The function v behind the others becomes one of them, with coefficient 0.
 * False as hessian_extend. */
static bool ivm_extend(struct ivm *ivm, const double *v)
{
    size_t r = ivm->h.rank;
    double *line = ivm->h.factor + r * ivm->h.room, square = 1;
    for (size_t i = 0; i < ivm->n; i++) {
        double scaled = ivm->factored[i] * v[i];
        ivm->h.scaled[i * hessian_stride(&ivm->h) + r] = scaled;
        ivm->df[i] = ivm->factored[i] * scaled;
        square += scaled * scaled;
    }
    for (size_t k = 0; k < r; k++)
        line[k] = dot(ivm->n, ivm->basis + k * ivm->h.pitch, ivm->df);
    ivm->w[r] = 0;
    ivm->slope[r] = -dot(ivm->n, v, ivm->g);
    return hessian_extend(&ivm->h, square);
}

/* Example i joins S: a step of the partial Cholesky factorisation of K. False
 * where the Hessian's factor has no digits left, or the clock ends it. */
static bool ivm_admit(struct ivm *ivm, size_t i)
{
    const struct binary_problem *b = ivm->problem;
    double *v = ivm->basis + ivm->h.rank * ivm->h.pitch;
    double scale = 1 / sqrt(ivm->residual[i]);
    if (!operator_row(b->op, b->set, i, v))
        return false;
    for (size_t k = ivm->h.unpenalised; k < ivm->h.rank; k++) {
        const double *basis = ivm->basis + k * ivm->h.pitch;
        double part = basis[i];
        for (size_t j = 0; j < ivm->n; j++)
            v[j] -= part * basis[j];
    }
    for (size_t j = 0; j < ivm->n; j++) {
        v[j] *= scale;
        ivm->residual[j] -= v[j] * v[j];
    }
    ivm->residual[i] = 0;
    ivm->member[ivm->h.rank] = i;
    ivm_shorten(ivm);
    return ivm_extend(ivm, v);
}

static bool ivm_full(const struct ivm *ivm)
{
    size_t most = (size_t)ivm->problem->params->max_basis;
    return ivm->candidates == 0 ||
           (most > 0 && ivm->h.rank - ivm->h.unpenalised >= most);
}

/* The relative fall of the held-out loss over the last quarter of m points. The
 * loss is not monotonous, and falls slowly for long: so the best of these
 * points is compared with the best before. */
static double ivm_held_fall(struct ivm *ivm, size_t m)
{
    size_t window = m / 4 > IVM_QUARTER ? m / 4 : IVM_QUARTER;
    double before = INFINITY, now = INFINITY;
    struct losses held = ivm_losses(ivm, ivm->held);
    ivm->lost[m] = losses_sum(&held, ivm->f, 0);
    for (size_t k = 0; k <= m; k++) {
        double *least = k + window <= m ? &before : &now;
        *least = fmin(*least, ivm->lost[k]);
    }
    return (before - now) / now;
}

/* Set the violation to the relative fall of H over the rounds of a window, or
 * to that of the held-out loss if this is larger, and more than a little. */
static void ivm_measure_fall(struct ivm *ivm)
{
    const double little = 2e-3;
    size_t m = ivm->h.rank - ivm->h.unpenalised; /* points */
    size_t window = (size_t)ivm->problem->params->window;
    window = window > 0 ? window : 1;
    ivm->past[m] = ivm->progress.objective;
    ivm->progress.iterations = (long long)m;
    ivm->progress.violation =
        m < window
            ? INFINITY
            : (ivm->past[m - window] - ivm->past[m]) / fabs(ivm->past[m]);
    double fall = ivm->held_total > 0 ? ivm_held_fall(ivm, m) : 0;
    if (fall > little)
        ivm->progress.violation = fmax(ivm->progress.violation, fall);
}

/* Hold out one of every ten examples of each class, drawn at random but never
 * the first of a ten. With few examples none is held out. */
static void ivm_hold_out(struct ivm *ivm)
{
    enum { PART = 10 };
    const struct binary_problem *b = ivm->problem;
    uint64_t random = (uint64_t)b->params->seed;
    size_t drawn[2] = {0, 0}, count[2] = {0, 0};
    ivm->held_total = 0;
    for (size_t i = 0; i < ivm->n; i++) {
        size_t class = b->y[i] > 0, at = count[class]++ % PART;
        bool out = b->params->window == 0 && !b->given && ivm->n >= IVM_MANY;
        if (at == 0)
            drawn[class] = 1 + (size_t)(random_next(&random) % (PART - 1));
        ivm->held[i] = out && at == drawn[class] ? ivm->cost[i] : 0;
        ivm->cost[i] -= ivm->held[i];
        ivm->held_total += ivm->held[i];
    }
}

/* The fit on S with all examples, of which none is held out any more. */
static bool ivm_release(struct ivm *ivm)
{
    if (ivm->held_total == 0)
        return ivm_fit(ivm, 0);
    ivm->held_total = 0;
    for (size_t i = 0; i < ivm->n; i++)
        ivm->cost[i] += ivm->held[i];
    ivm_judge(ivm);
    ivm_gradient(ivm);
    return ivm_factor(ivm) && ivm_fit(ivm, 0);
}

/* Go on until what counts falls by less than eps. If the rounds end for want of
 * a candidate, the model has the optimum of all points, or as much rank as
 * rounding leaves. */
static int ivm_rounds(struct ivm *ivm, enum klr_status *status,
                      struct klr_error *err)
{
    const size_t wanted = (size_t)ivm->problem->params->candidates;
    uint64_t random = (uint64_t)ivm->problem->params->seed;
    struct klr_progress *progress = &ivm->progress;
    *status = ivm_clock(ivm);
    while (*status == KLR_CONVERGED && !ivm_full(ivm) &&
           progress->violation >= progress->target) {
        size_t best,
            drawn = random_choose(&random, ivm->left, ivm->candidates, wanted);
        int code = ivm_grow(ivm, err);
        if (code)
            return code;
        *status = ivm->h.rank < ivm->h.room ? ivm_choose(ivm, drawn, &best)
                                            : KLR_MEMORY_LIMIT;
        if (*status != KLR_CONVERGED)
            break;
        bool well = ivm_admit(ivm, best) && ivm_fit(ivm, ivm_share);
        ivm_measure_fall(ivm);
        *status =
            well ? ivm_clock(ivm)
                 : gravest(KLR_PRECISION_LIMIT, ivm->problem->clock->status);
    }
    if (*status < KLR_TIME_LIMIT && !ivm_release(ivm))
        *status = gravest(*status, KLR_PRECISION_LIMIT);
    return 0;
}

/* The candidate that the span of S lacks most of: so the basis keeps its
 * digits. */
static size_t ivm_widest(const struct ivm *ivm)
{
    size_t widest = ivm->left[0];
    for (size_t q = 1; q < ivm->candidates; q++)
        if (ivm->residual[ivm->left[q]] > ivm->residual[widest])
            widest = ivm->left[q];
    return widest;
}

/* All candidates, of points that are given, and one fit. */
static int ivm_take_all(struct ivm *ivm, enum klr_status *status,
                        struct klr_error *err)
{
    bool well = true;
    *status = ivm_clock(ivm);
    while (*status == KLR_CONVERGED && ivm->candidates > 0 && well) {
        int code = ivm_grow(ivm, err);
        if (code)
            return code;
        if (ivm->h.rank == ivm->h.room)
            *status = KLR_MEMORY_LIMIT;
        else {
            well = ivm_admit(ivm, ivm_widest(ivm));
            *status = ivm_clock(ivm);
        }
        ivm_measure_fall(ivm);
    }
    if (!ivm_fit(ivm, 0) || !well)
        *status = gravest(*status, KLR_PRECISION_LIMIT);
    ivm_measure_fall(ivm);
    return 0;
}

/* ---- start and end ---- */

/* No import points: the bias alone. */
static int ivm_start(struct ivm *ivm, double c, struct klr_error *err)
{
    const struct binary_problem *b = ivm->problem;
    struct losses all = ivm_losses(ivm, ivm->cost);
    ivm->loss = loss_of(b->params, c);
    ivm->h.rank = 0;
    ivm->progress =
        (struct klr_progress){.target = b->params->eps, .violation = INFINITY};
    int code = ivm_grow(ivm, err);
    if (code)
        return code;
    memset(ivm->f, 0, ivm->n * sizeof *ivm->f);
    ivm->candidates = 0;
    for (size_t i = 0; i < ivm->n; i++) {
        ivm->cost[i] = c * b->weight[i];
        ivm->residual[i] = ivm->diagonal[i];
        if (!b->given || b->given[i])
            ivm->left[ivm->candidates++] = i;
        if (ivm->h.unpenalised)
            ivm->basis[i] = 1;
    }
    ivm_hold_out(ivm);
    ivm_shorten(ivm);
    if (ivm->h.unpenalised) {
        ivm->h.rank = 1;
        ivm->w[0] = -best_rho(&all, ivm->f, 0);
    }
    for (size_t i = 0; i < ivm->n; i++)
        ivm->f[i] = ivm->h.unpenalised ? ivm->w[0] : 0;
    ivm_judge(ivm);
    ivm_measure_fall(ivm);
    ivm_gradient(ivm);
    ivm_factor(ivm);
    return 0;
}

/* beta = L^-T w on the import points. */
static void ivm_coefficients(const struct ivm *ivm, double *beta)
{
    memset(beta, 0, ivm->n * sizeof *beta);
    for (size_t k = ivm->h.rank; k-- > ivm->h.unpenalised;) {
        const double *basis = ivm->basis + k * ivm->h.pitch;
        double rest = ivm->w[k];
        for (size_t l = k + 1; l < ivm->h.rank; l++)
            rest -= basis[ivm->member[l]] * beta[ivm->member[l]];
        beta[ivm->member[k]] = rest / basis[ivm->member[k]];
    }
}

/* Since sum g = 0 where rho is optimal, g is a dual point of the problem with
 * all examples in S: its objectives bound what sparsity costs. */
static int ivm_finish(struct ivm *ivm, double c, enum klr_status status,
                      struct solution *solution, struct klr_error *err)
{
    const struct klr_params *params = ivm->problem->params;
    const struct clock *clock = ivm->problem->clock;
    double bias = ivm->h.unpenalised ? ivm->w[0] : 0, *u = ivm->row;
    bool ranked = status == KLR_CONVERGED && ivm->candidates == 0 &&
                  !ivm->problem->given &&
                  !(ivm->progress.violation < ivm->progress.target);
    ivm_coefficients(ivm, solution->beta);
    for (size_t i = 0; i < ivm->n; i++)
        u[i] = ivm->f[i] - bias;
    struct point point = {
        .c = c,
        .status = ranked ? KLR_PRECISION_LIMIT : status,
        .doubt = ranked ? KLR_DOUBT_RANK : KLR_DOUBT_NONE,
        .iterations = ivm->progress.iterations,
        .fall = ivm->progress.violation,
        .beta = solution->beta,
        .rho = -bias,
        .u = clock_stopped(clock) ? u : NULL,
        .precision = KLR_DOUBLE,
        .dual = DUAL_GRADIENT,
        .least = NAN,
        .target = ranked ? fmax(params->eps, certificate_exact) : 0,
        .bound = INFINITY,
    };
    return point_finish(ivm->problem, &point, solution, err);
}

static int ivm_create(struct ivm *ivm, const struct binary_problem *problem,
                      struct klr_error *err)
{
    struct klr_arena *arena = &ivm->arena;
    size_t n = problem->n, blocks = (n + KLR_BAND - 1) / KLR_BAND;
    *ivm = (struct ivm){.problem = problem, .n = n};
    ivm->h = (struct hessian){.n = n,
                              .unpenalised = !problem->params->no_bias,
                              .pitch = n + KLR_BAND,
                              .pool = problem->op->pool,
                              .dense = klr_dense()};
    double **const vector[] = {
        &ivm->cost, &ivm->held, &ivm->residual, &ivm->diagonal, &ivm->f,
        &ivm->g,    &ivm->root, &ivm->df,       &ivm->tried,    &ivm->factored};
    if (klr_take_vectors(arena, n, vector, sizeof vector / sizeof *vector,
                         err) ||
        !KLR_TAKE(arena, ivm->left, n, 1, err) ||
        !KLR_TAKE(arena, ivm->row, n, KLR_BAND, err) ||
        !KLR_TAKE(arena, ivm->partial, blocks, KLR_BAND, err))
        return KLR_E_MEMORY;
    ivm->h.root = ivm->factored;
    operator_diagonal(problem->op, problem->set, ivm->diagonal);
    return 0;
}

static void ivm_free(struct ivm *ivm)
{
    double *grown[] = {ivm->basis, ivm->w,    ivm->slope, ivm->step,
                       ivm->past,  ivm->lost, ivm->mixed};
    for (size_t i = 0; i < sizeof grown / sizeof *grown; i++)
        klr_free(grown[i]);
    klr_free(ivm->member);
    klr_arena_free(&ivm->arena);
    hessian_free(&ivm->h);
}

/* Each C begins without import points: those of another C would stay. */
static int ivm_solve(const struct binary_problem *problem,
                     struct solution *solution, struct klr_error *err)
{
    const struct klr_reals *cost = &problem->params->cost;
    struct ivm ivm;
    int code = ivm_create(&ivm, problem, err);
    for (size_t t = 0; t < cost->count && !code; t++) {
        enum klr_status status = KLR_CONVERGED;
        clock_path(problem->clock, t, cost->count);
        code = ivm_start(&ivm, cost->value[t], err);
        if (!code)
            code = (problem->given ? ivm_take_all : ivm_rounds)(&ivm, &status,
                                                                err);
        if (!code)
            code = ivm_finish(&ivm, cost->value[t], status, &solution[t], err);
    }
    ivm_free(&ivm);
    return code;
}
