/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sequential minimal optimisation: the dual of loss.c, two variables a step.
 *
 *   minimise  f(alpha) = 1/2 beta'K beta + sum_i psi_i(alpha_i)
 *   s.t.      sum_i beta_i = 0,  lower_i <= alpha_i <= upper_i
 *
 * With s_i = -y_i df/dalpha_i = -(K beta)_i - y_i psi_i'(alpha_i), alpha is
 * optimal if and only if no beta_i that can rise and beta_j that can fall have
 * s_i > s_j. Each step raises beta_i and lowers beta_j by the same t: i has the
 * largest s_i, j promises the largest decrease to second order (hinge: Fan,
 * Chen & Lin 2005; logistic: Consolo et al., (32)-(35)), and t minimises f
 * along that line (Keerthi et al. 2005, section 4; Consolo (30)).
 *
 * smo1 takes the j of the smallest s_j, the pair that violates most, Keerthi,
 * section 4. Without bias beta may have any sum: one variable moves alone, the
 * one that violates most, Keerthi (7.1), Lin & Lin (2003), (19).
 *
 * The logistic psi' is infinite at 0 and C, so alpha is kept in
 * [mu min(C, 1), (1 - mu) C], a box as Consolo's (22): optimal alphas do not
 * grow with C, but digits of C - alpha are lost; for klr by smo1 with the two
 * loops of Keerthi, section 5, see smo_keerthi.c. Kernels that are not PSD: a
 * step of negative curvature goes to the end of the segment, Lin & Lin (2003),
 * (27), or to a point below f(alpha); f falls strictly either way.
 *
 * Along a path of C the cached rows stay and each solution is the next start.
 * Hinges with a linear kernel come near theirs by w alone: see smo_linear.c.
 */
#include "solver/smo/smo_parts.h"

static const double smo_least_eps = 1e-14; /* a gap asks for no less */

/* ---- start ---- */

static bool smo_arrays(struct smo *smo, size_t n, struct klr_arena *arena,
                       struct klr_error *err)
{
    return KLR_TAKE(arena, smo->example, n, 1, err) &&
           KLR_TAKE(arena, smo->s, n, 1, err) &&
           KLR_TAKE(arena, smo->hessian, n, 1, err) &&
           KLR_TAKE_ZERO(arena, smo->side, n, 1, err);
}

static bool smo_is_hinge(const struct smo *smo)
{
    return smo->loss.model == KLR_MODEL_SVM;
}

/* The rounding error of s from float entries, in units of the tolerance. It
 * adds up over terms alpha_k K; alpha is taken `ratio` times as large as it is
 * or, for ratio = 0, as large as it can be. */
static double smo_rounding(const struct smo *smo, double ratio)
{
    double squares = 0;
    for (size_t k = 0; k < smo->n; k++) {
        const struct smo_example *e = &smo->example[k];
        squares += pow(ratio > 0 ? ratio * e->alpha : e->cost, 2);
    }
    return ldexp(smo->size * sqrt(squares), -24) /
           smo_tolerance(smo->problem->params);
}

/* True if float entries do no harm: the two worst of all examples, off by some
 * six standard deviations, stay within a third of the tolerance. It is enough
 * if that holds for the largest alpha, or for a hinge's present alpha times
 * `ratio`. */
static bool smo_serves_float(const struct smo *smo, double ratio)
{
    return smo_rounding(smo, 0) <= 0.1 ||
           (smo_is_hinge(smo) && ratio > 0 && smo_rounding(smo, ratio) <= 0.05);
}

/* Float entries are tried at first for a hinge, as many alpha will stay 0,
 * unless the bound says that they might be far off. */
static enum klr_precision smo_choose_precision(const struct smo *smo,
                                               double ratio)
{
    const double promising = 10;
    bool tries =
        smo_is_hinge(smo) && ratio == 0 && smo_rounding(smo, 0) <= promising;
    return tries || smo_serves_float(smo, ratio) ? KLR_FLOAT : KLR_DOUBLE;
}

/* Rows of 2 MB together, which stay in a cache of the processor, but never so
 * few that no row could be fetched ahead. */
static size_t smo_first_rows(const struct smo *smo)
{
    size_t rows = (2 << 20) / (smo->n * smo_element(smo));
    return rows > 4 * SMO_FETCH ? rows : 4 * SMO_FETCH;
}

/* A cache for rows of the columns in work, from a part of the budget; two whole
 * rows are left for others. Gathering an entry costs a quarter of what the
 * memory of a new one may. */
static int smo_create_gathered(struct smo *smo, size_t *budget,
                               struct klr_error *err)
{
    const size_t most = 64 << 20, table = 4 * sizeof(uint32_t) * smo->n;
    const double price = 4;
    size_t part = *budget / 4 < most ? *budget / 4 : most;
    size_t pair = 2 * smo->n * smo_element(smo);
    part = part > pair ? part - pair : 0;
    *budget -= part;
    smo->gathered = klr_cache_free(smo->gathered);
    int code = klr_cache_create(&smo->gathered, smo->n, smo->n,
                                smo_element(smo), table + pair + part, err);
    if (!code)
        klr_cache_begin(smo->gathered, smo_first_rows(smo), price);
    return code;
}

/* Rows are cached in that precision from now on. */
static int smo_set_precision(struct smo *smo, enum klr_precision precision,
                             struct klr_error *err)
{
    const struct binary_problem *problem = smo->problem;
    smo->precision = precision;
    size_t budget = params_budget(problem->params);
    smo->cache = klr_cache_free(smo->cache);
    smo_set_active(smo, smo->n);
    int code = smo_create_gathered(smo, &budget, err);
    if (!code)
        code = klr_cache_create(&smo->cache, smo->n, smo->n, smo_element(smo),
                                budget, err);
    if (!code)
        klr_cache_begin(
            smo->cache, smo_first_rows(smo),
            0.4 * klr_points_price(problem->op->points)); /* rows, not tiles */
    return code;
}

/* No step has been looked at. */
static void smo_advance_begin(struct smo *smo)
{
    smo->advance = (struct smo_advance){.last = smo->progress.iterations,
                                        .dual = -INFINITY,
                                        .growth = NAN,
                                        .violation = INFINITY};
}

/* Nothing is known of violations. */
static void smo_restart(struct smo *smo)
{
    smo->eps = smo_tolerance(smo->problem->params);
    smo->most = INFINITY;
    smo->least = -INFINITY;
    smo_advance_begin(smo);
}

/* Set the cost of each example, and what follows from it; alpha is about to
 * become `ratio` times as large. *kept tells if cached rows and products stay
 * good. */
static int smo_set_cost(struct smo *smo, double c, double ratio, bool *kept,
                        struct klr_error *err)
{
    const struct binary_problem *problem = smo->problem;
    smo->loss = loss_of(problem->params, c);
    int code = problem_check_box(problem, &smo->loss, c, err);
    for (size_t k = 0; k < smo->n; k++)
        smo->example[k].cost = c * problem->weight[k];
    enum klr_precision precision = smo_choose_precision(smo, ratio);
    *kept = smo->cache && precision == smo->precision;
    smo->steps += smo->progress.iterations;
    smo->progress.iterations = 0;
    smo_restart(smo);
    return code || *kept ? code : smo_set_precision(smo, precision, err);
}

/* The examples, with all but their costs and alpha. */
static int smo_load(struct smo *smo, struct klr_error *err)
{
    const struct binary_problem *problem = smo->problem;
    const struct klr_set set = problem->set;
    double *diagonal = smo->s;
    size_t k = 0;
    operator_diagonal(problem->op, set, diagonal);
    for (size_t i = 0; i < smo->n; i++)
        if (!isfinite(diagonal[i]))
            return klr_fail(err, KLR_E_DATA,
                            "the kernel overflows: scale the features");
    smo->size = kernel_size(problem, smo->spare->s);
    for (size_t r = 0; r < set.count; r++)
        for (size_t p = set.range[r].begin; p < set.range[r].end; p++, k++) {
            smo->example[k] = (struct smo_example){
                .local = k,
                .position = p,
                .y = problem->y[k],
                .diagonal = diagonal[k],
            };
        }
    return 0;
}

static int smo_create(struct smo *smo, struct smo *spare,
                      const struct binary_problem *problem,
                      struct klr_error *err)
{
    size_t n = problem->n;
    memset(smo, 0, sizeof *smo);
    memset(spare, 0, sizeof *spare);
    smo->problem = problem;
    smo->single = problem->params->no_bias;
    smo->first_order =
        smo->single || problem->params->solver == KLR_SOLVER_SMO1;
    smo->loops = smo->first_order && problem->params->model == KLR_MODEL_KLR;
    smo->n = n;
    smo->cpu = klr_cpu();
    smo->spare = spare;
    struct klr_arena *arena = &smo->arena;
    if (!smo_arrays(smo, n, arena, err) || !smo_arrays(spare, n, arena, err) ||
        !KLR_TAKE_ZERO(arena, smo->unused, n, 1, err) ||
        !(smo->zero = klr_take_zero(arena, n, sizeof(double), err)))
        return KLR_E_MEMORY;
    return smo_load(smo, err);
}

static void smo_free(struct smo *smo)
{
    klr_arena_free(&smo->arena);
    klr_cache_free(smo->cache);
    klr_cache_free(smo->gathered);
}

/* ---- the loop ---- */

/* Choose the partner j of i. Without a bias only one of the two moves, the one
 * farther from s = 0, Keerthi (7.1), as if against a mirror image with -s.
 * False if no pair in work violates by more than eps. */
static bool smo_choose(struct smo *smo, size_t *i, size_t *j,
                       const void **row_i)
{
    size_t n = smo->n, first = smo->single ? n : *i;
    double least = INFINITY, most = *i < n ? smo->s[*i] : -INFINITY;
    *j = n;
    *row_i = NULL;
    if (*i < n && !smo->first_order)
        *row_i = smo_row(smo, *i);
    if (*i < n || smo->single)
        *j = smo_second(smo, first, *row_i, &least);
    if (smo->single) {
        *(most < -least ? i : j) = n;
        most = fmax(most, -least);
        least = -most;
    }
    smo->most = most;
    smo->least = least;
    smo->progress.violation = most - least;
    smo->progress.target = smo->eps;
    return (*j < n || smo->single) && most - least > smo->eps;
}

/* If the caller sets no limit, it is the number of steps that LIBSVM takes: a
 * problem that needs more has a C that is too large for the scale of its
 * features. */
static enum klr_status smo_clock(struct smo *smo)
{
    const struct klr_params *params = smo->problem->params;
    double steps = (double)smo->progress.iterations;
    double most = fmax(1e7, 100 * (double)smo->n);
    if (params->max_iter == 0 && steps >= most)
        return KLR_ITERATION_LIMIT;
    return clock_check(smo->problem->clock, params, &smo->progress, smo_gap,
                       smo);
}

/* Asked when all examples are in work and none violates by more than eps: true
 * if that is the end. If the gap is what counts, eps falls until the gap is
 * reached. */
static bool smo_settled(struct smo *smo, enum klr_status *status)
{
    if (smo_gap_reached(smo))
        return true;
    bool changed = smo->loops && smo_outer(smo, status);
    if (!changed && smo->problem->params->gap > 0) {
        smo->eps /= 10;
        changed = true;
    }
    if (smo->eps < smo_least_eps && *status == KLR_CONVERGED)
        *status = KLR_PRECISION_LIMIT;
    return !changed || *status != KLR_CONVERGED;
}

/* Count the looks since the violation got smaller. */
static void smo_count_idle(struct smo *smo)
{
    const double less = 0.9;
    struct smo_advance *a = &smo->advance;
    a->last = smo->progress.iterations;
    a->idle++;
    if (smo->progress.violation < less * a->violation) {
        a->violation = smo->progress.violation;
        a->idle = 0;
    }
}

/* True if steps have come to nothing: the dual grows by rounding alone, and the
 * violation does not fall. So it ends if an alpha next to an end of its box, or
 * beside much larger ones, has no digits left. The dual is known only with all
 * examples in work, so examples set aside come back when the violation has been
 * idle for long. */
static bool smo_is_stuck(struct smo *smo, int *code, struct klr_error *err)
{
    enum { STEPS = 1000, LOOKS = 20 };
    const double rounding = 1e-15;
    struct smo_advance *a = &smo->advance;
    long long apart = smo->n < STEPS ? STEPS : (long long)smo->n;
    if (smo->progress.iterations - a->last < apart)
        return false;
    smo_count_idle(smo);
    if (smo->active < smo->n) {
        if (a->idle <= LOOKS)
            return false;
        *code = smo_restore(smo, err);
        if (*code || clock_stopped(smo->problem->clock))
            return false;
        smo_extremes(smo, &smo->most, &smo->least);
    }
    double dual = smo_objectives(smo).dual, size = fabs(dual);
    a->growth = (dual - a->dual) / size;
    if (!(dual - a->dual <= rounding * size))
        a->idle = 0;
    a->dual = fmax(a->dual, dual);
    return a->idle > LOOKS;
}

static bool smo_shrinks(const struct smo *smo)
{
    return smo_is_hinge(smo) && smo->problem->params->shrinking;
}

/* Set more examples aside; once, near the end, look at all. */
static int smo_regroup(struct smo *smo, bool *resumed, bool *optimal,
                       struct klr_error *err)
{
    if (*resumed || smo->most - smo->least > 10 * smo->eps)
        return smo_shrink(smo, smo->most, smo->least, err);
    *resumed = true;
    return smo_resume(smo, optimal, err);
}

/* Counters of what is due from time to time between steps. */
struct smo_due {
    size_t look, regroup; /* steps until then */
    bool resumed;         /* all have been looked at near the end */
};

static void smo_set_due(const struct smo *smo, struct smo_due *due)
{
    size_t n = smo->n > 1 ? smo->n : 2, often = n < SMO_OFTEN ? n : SMO_OFTEN;
    if (due->look == 0)
        due->look = n;
    if (due->regroup == 0)
        due->regroup = smo_shrinks(smo) ? often : SIZE_MAX;
}

/* Every n steps look if the gap is reached, or if steps come to nothing; more
 * often look which examples can be set aside. False if a step is due instead.
 */
static bool smo_pauses(struct smo *smo, struct smo_due *due,
                       enum klr_status *status, bool *optimal, int *code,
                       struct klr_error *err)
{
    due->look--;
    due->regroup--;
    if (due->look > 0 && due->regroup > 0)
        return false;
    if (due->look == 0 && smo_is_stuck(smo, code, err))
        *status = KLR_PRECISION_LIMIT;
    else if (due->look == 0 && smo->active == smo->n && !*code)
        *optimal = smo_gap_reached(smo);
    if (due->regroup == 0 && !*optimal && !*code && *status == KLR_CONVERGED)
        *code = smo_regroup(smo, &due->resumed, optimal, err);
    smo_set_due(smo, due);
    return true;
}

/* Until nothing violates by more than eps. */
static int smo_descend(struct smo *smo, enum klr_status *status,
                       struct klr_error *err)
{
    const struct clock *clock = smo->problem->clock;
    struct smo_due due = {0};
    bool end = false;
    size_t i = smo_first(smo), j;
    const void *row;
    int code = 0;
    smo_set_due(smo, &due);
    while (!code && !end && !clock_stopped(clock)) {
        bool optimal = false, chosen = smo_choose(smo, &i, &j, &row);
        if (clock_stopped(clock))
            break;
        if (!chosen) {
            if (!(smo->progress.violation <= smo->eps)) {
                *status = KLR_PRECISION_LIMIT; /* no gain is a number */
                break;
            }
            optimal = smo->active == smo->n;
            if (!optimal)
                code = smo_resume(smo, &optimal, err);
        } else if (!smo_pauses(smo, &due, status, &optimal, &code, err)) {
            *status = smo_clock(smo);
            if (*status == KLR_CONVERGED && !smo_step(smo, &i, j, row))
                *status = KLR_PRECISION_LIMIT;
            if (*status != KLR_CONVERGED)
                break;
            continue;
        } else if (*status != KLR_CONVERGED) {
            break;
        }
        end = !code && optimal && smo_settled(smo, status);
        i = smo_first(smo);
    }
    if (code || end)
        return code;
    *status = gravest(*status, clock->status);
    return smo_restore(smo, err);
}

/* s = -K beta. */
static enum klr_status smo_recompute(struct smo *smo)
{
    memset(smo->s, 0, smo->n * sizeof *smo->s);
    return smo_products(smo, true, smo->s);
}

/* If floats were tried and do harm, go on with doubles. */
static int smo_refine(struct smo *smo, enum klr_status *status,
                      struct klr_error *err)
{
    bool ended = *status == KLR_CONVERGED || *status == KLR_PRECISION_LIMIT;
    if (!ended || smo->precision == KLR_DOUBLE || smo_serves_float(smo, 1))
        return 0;
    int code = smo_set_precision(smo, KLR_DOUBLE, err);
    if (code)
        return code;
    *status = smo_recompute(smo);
    smo->stale = *status != KLR_CONVERGED;
    if (smo->stale)
        return 0;
    smo_advance_begin(smo);
    smo_begin(smo);
    return smo_descend(smo, status, err);
}

/* Solve for C = c, starting from `ratio` times the present alpha and s, or, for
 * ratio = 0, from the beginning. */
static int smo_solve_at(struct smo *smo, double c, double ratio,
                        struct solution *solution, struct klr_error *err)
{
    bool kept;
    for (size_t k = 0; k < smo->n && ratio > 0; k++)
        smo->s[k] = -smo_product(smo, k);
    int code = smo_set_cost(smo, c, ratio, &kept, err);
    if (code)
        return code;
    if (ratio > 0) {
        smo_scale(smo, ratio);
    } else {
        smo_start(smo);
    }
    enum klr_status status = KLR_CONVERGED;
    if (smo_starts_linear(smo))
        code = smo_start_linear(smo, err);
    else if (!(ratio > 0 && kept))
        status = smo_recompute(smo);
    if (code)
        return code;
    if (status != KLR_CONVERGED)
        return smo_finish_at_start(smo, c, status, solution, err);
    if (!smo->first_order && !smo_is_hinge(smo))
        smo_stretch(smo);
    smo_begin(smo);
    code = smo_descend(smo, &status, err);
    if (!code)
        code = smo_refine(smo, &status, err);
    return code ? code : smo_finish(smo, c, status, solution, err);
}

/* The next C starts from the last one's alpha. For the hinge alpha grows in
 * proportion to C, so that it stays at its bounds. For the logistic loss alpha
 * away from its bounds grows far less than C, and smo_stretch finds the length.
 */
static int smo_solve(const struct binary_problem *problem,
                     struct solution *solution, struct klr_error *err)
{
    const struct klr_reals *cost = &problem->params->cost;
    bool hinge = problem->params->model == KLR_MODEL_SVM, known = false;
    struct smo smo, spare;
    int code = smo_create(&smo, &spare, problem, err);
    for (size_t t = 0; t < cost->count && !code; t++) {
        double c = cost->value[t];
        clock_path(problem->clock, t, cost->count);
        double ratio = !known ? 0 : hinge ? c / cost->value[t - 1] : 1;
        code = smo_solve_at(&smo, c, ratio, &solution[t], err);
        known = isfinite(solution[t].dual) || smo.stale;
    }
    smo_free(&smo);
    return code;
}
