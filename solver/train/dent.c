/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Solvers take a precomputed K to be positive semidefinite, and some of them
 * take any kernel. Whether K is so, on vectors of sum 0 where there is a bias,
 * is found by all its eigenvalues where they are few. Else Lanczos iterations
 * look at a precomputed K. Other kernels that may not be so, sigmoid ones and
 * polynomials, are smooth, K has few large eigenvalues, and a bound of what is
 * below 0 does. An eigenvalue of -d, the dent, leaves the dual of a loss not
 * concave, and a point g of it where it seems largest is within
 *
 *   d/2 |h - g|^2 <= d/2 sum_i C_i^2
 *
 * of the largest one, h. In a softmax |h_i - g_i|^2 may be 2 C_i^2; for a
 * discriminant, whose coefficients have no bounds, |beta|^2 stands for the sum.
 * The gap grows by that; where it is more than half of the objective, there is
 * no gap.
 */
#include "solver/matrix/matrix.h"
#include "solver/train/train.h"

enum {
    DENT_EXACT = 500,
    DENT_STEPS = 201,
    DENT_MOST = 10000 /* examples whose bound takes parts of a second */
};

static bool is_precomputed(const struct klr_operator *op)
{
    return op->kernel.type == KLR_PRECOMPUTED;
}

static bool training_may_dent(const struct training *training)
{
    return training->system->regularizer == KLR_REGULARIZER_KERNEL &&
           (is_precomputed(training->op) ||
            !klr_kernel_is_psd(&training->op->kernel));
}

static bool dent_goes_on(void *context)
{
    const struct training *training = context;
    return clock_status(&training->clock, training->params) == KLR_CONVERGED;
}

/* K in floats has a random matrix of norm 2^-23 sqrt n max |K_ij| beside it. */
static double dent_rounding(const struct training *training, double *row)
{
    struct klr_range all = {0, training->partition->n};
    struct binary_problem whole = {.op = training->op,
                                   .set = set_of(&all, 1),
                                   .n = training->partition->n,
                                   .params = training->params};
    return ldexp(kernel_size(&whole, row) * sqrt((double)whole.n), -22);
}

/* How far the least eigenvalue is below 0, beyond rounding, or 0; NaN: not
 * known, as the clock ended the look, or K overflows. */
static int dent_measure(struct training *training, double *dent,
                        struct klr_error *err)
{
    size_t n = training->partition->n, first = !training->params->no_bias;
    struct klr_range all = {0, n};
    struct submatrix k = {training->op, set_of(&all, 1)};
    struct klr_arena arena = {0};
    double *work[3], *d, *e;
    int code = KLR_E_MEMORY;
    *dent = (double)NAN;
    if (KLR_TAKE(&arena, work[0], n, n, err) &&
        KLR_TAKE(&arena, work[1], n, 1, err) &&
        KLR_TAKE(&arena, work[2], n, 1, err) &&
        KLR_TAKE(&arena, d, n, 1, err) && KLR_TAKE(&arena, e, n, 1, err)) {
        if (tridiagonalise(&k, work, d, e, dent_goes_on, training)) {
            struct tridiagonal t = {n - first, d + first, e + first};
            double least = tridiagonal_extremes(&t).least;
            *dent = least >= -tridiagonal_rounding(&t) ? 0 : -least;
        }
        code = 0;
    }
    klr_arena_free(&arena);
    return code;
}

/* Likewise, by what Lanczos iterations find. */
static int dent_look(struct training *training, double *dent,
                     struct klr_error *err)
{
    size_t n = training->partition->n;
    struct klr_range all = {0, n};
    struct klr_arena arena = {0};
    struct lanczos l = {.k = {training->op, set_of(&all, 1)},
                        .centred = !training->params->no_bias,
                        .steps = DENT_STEPS,
                        .share = 0.01,
                        .goes_on = dent_goes_on,
                        .context = training};
    int code = KLR_E_MEMORY;
    if (KLR_TAKE(&arena, l.d, DENT_STEPS, 1, err) &&
        KLR_TAKE(&arena, l.e, DENT_STEPS, 1, err) &&
        KLR_TAKE(&arena, l.q, n, 1, err) && KLR_TAKE(&arena, l.w, n, 1, err) &&
        KLR_TAKE(&arena, l.before, n, 1, err)) {
        l.tolerance = dent_rounding(training, l.w);
        double least = lanczos(&l).least;
        bool whole = dent_goes_on(training);
        *dent = least < -l.tolerance ? -least : whole ? 0 : (double)NAN;
        code = 0;
    }
    klr_arena_free(&arena);
    return code;
}

/* Likewise a bound of it. A limit of time is left to training. Folds may do so
 * at once. */
static int dent_bound(struct training *training, double *dent,
                      struct klr_error *err)
{
    const double bytes = 8 << 20;
    const struct klr_params *params = training->params;
    double folds = fmax((double)params->folds, 1);
    size_t n = training->partition->n;
    struct klr_range all = {0, n};
    struct submatrix k = {training->op, set_of(&all, 1)};
    *dent = (double)NAN;
    return n > DENT_MOST || params->time_limit > 0
               ? 0
               : shortfall_bound(k, !params->no_bias, bytes / folds, dent, err);
}

/* All trainings with K, of folds and of values of C, share what one of them has
 * found. If the solver keeps no tiles the look keeps them, in the memory in
 * which rows of K will be. */
static int training_find_dent(struct training *training, struct klr_error *err)
{
    struct klr_operator *op = training->op;
    _Atomic double *known = op->origin ? &op->origin->dent : &op->dent;
    double passes = op->passes, dent = *known;
    unsigned long long evaluations = op->evaluations;
    size_t n = training->partition->n;
    int code = 0;
    if (!training_may_dent(training) || n < 2)
        return 0;
    if (isnan(dent) && n <= DENT_EXACT) {
        code = dent_measure(training, &dent, err);
    } else if (isnan(dent) && is_precomputed(op)) {
        bool keeps = !op->origin && tiles_bytes(&op->tiles) == 0;
        if (keeps)
            operator_keep(op, KLR_FLOAT, params_budget(training->params));
        code = dent_look(training, &dent, err);
        if (keeps)
            operator_keep(op, KLR_FLOAT, 0);
    } else if (isnan(dent)) {
        code = dent_bound(training, &dent, err);
    }
    *known = dent;
    training->dent = isnan(dent) && is_precomputed(op) ? 0 : dent;
    op->passes = passes; /* those of solvers are told */
    op->evaluations = evaluations;
    return code;
}

/* sum_i C_i^2, or |beta|^2. */
static double dent_squares(const struct binary_problem *binary, double cost,
                           const double *beta)
{
    double sum = 0;
    for (size_t i = 0; i < binary->n; i++)
        sum += binary->params->model == KLR_MODEL_KFD
                   ? beta[i] * beta[i]
                   : pow(cost * binary->weight[i], 2);
    return sum;
}

/* Points of a basis have a positive semidefinite matrix of their own. */
static void dent_judge(const struct training *training,
                       const struct binary_problem *binary, double cost,
                       struct solution *s)
{
    const struct klr_params *params = training->params;
    bool softmax = training->multiclass == KLR_SOFTMAX;
    bool by_gap = params->gap > 0 || training->system->gap == GAP_IS_EPS;
    double asked = params->gap > 0 ? params->gap : params->eps;
    double size = fabs(s->primal), bound;
    if (!training_may_dent(training) || size == 0)
        return;
    if (s->doubt == KLR_DOUBT_INDEFINITE || /* it is worse than a constant */
        isnan(training->dent))
        s->dual = (double)NAN;
    if (!(training->dent > 0))
        return;
    if (params_on_basis(params)) {
        s->basis.full_gap = NAN;
        return;
    }
    bound = (softmax ? 1 : 0.5) * training->dent *
            dent_squares(binary, cost, s->beta);
    bool known = bound < size / 2;
    s->dual = known ? s->dual - bound : (double)NAN;
    if (s->status == KLR_CONVERGED && by_gap &&
        !(s->primal - s->dual <= asked * size)) {
        s->status = KLR_PRECISION_LIMIT;
        s->doubt = KLR_DOUBT_INDEFINITE;
    } else if (s->status == KLR_PRECISION_LIMIT && !known) {
        s->doubt = KLR_DOUBT_INDEFINITE;
    }
}
