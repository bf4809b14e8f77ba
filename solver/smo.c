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
 * section 4; without bias one variable moves alone, (7.1).
 *
 * The logistic psi' is infinite at 0 and C, so alpha is kept in
 * [mu min(C, 1), (1 - mu) C], a box as Consolo's (22): optimal alphas do not
 * grow with C, but digits of C - alpha are lost; for klr by smo1 with the two
 * loops of Keerthi, section 5, see smo1.c. Kernels that are not PSD: a step of
 * negative curvature goes to the end of the segment, Lin & Lin (2003), (27), or
 * to a point below f(alpha); f falls strictly either way.
 *
 * Along a path of C the cached rows stay and each solution is the next start.
 */
#include "solver/internal.h"

#include "solver/smo.h"

enum { SMO_FILL_BYTES = 8 << 20 }; /* for rows that are completed */

static const double smo_margin = 1e-12;    /* mu */
static const double smo_near = 1e-7;       /* of C: see smo_curvature ... */
static const double smo_near_most = 1e-5;  /* ... from 0 */
static const double smo_least_eps = 1e-14; /* a gap asks for no less */

/* ---- one example ---- */

/* What alpha keeps from an end of its range, with numbers of `size` there. */
static double smo_kept(const struct smo *smo, double size)
{
    return smo->loss.model == KLR_MODEL_SVM
               ? 0
               : fmax(smo->loss.box, smo_margin * size);
}

static double smo_lower(const struct smo *smo, const struct smo_example *e)
{
    return smo_kept(smo, fmin(e->cost, 1));
}

static double smo_upper(const struct smo *smo, const struct smo_example *e)
{
    return e->cost - smo_kept(smo, e->cost);
}

static double smo_room(const struct smo *smo, const struct smo_example *e,
                       double sign)
{
    if (e->cost == 0)
        return INFINITY;
    return e->y * sign > 0 ? smo_upper(smo, e) - e->alpha
                           : e->alpha - smo_lower(smo, e);
}

static unsigned char smo_side(const struct smo *smo,
                              const struct smo_example *e)
{
    int side = (smo_room(smo, e, 1) > 0 ? SMO_CAN_RISE : 0) |
               (smo_room(smo, e, -1) > 0 ? SMO_CAN_FALL : 0);
    if (smo->loops && side != (SMO_CAN_RISE | SMO_CAN_FALL))
        side = 0;
    return (unsigned char)side;
}

/* psi'' as the choice of j takes it. Nearer to 0 or C than smo_near it is so
 * large that an example which should leave promises hardly anything, and would
 * wait until all others are optimal. Alphas that belong next to 0 do not grow
 * with C: where a part of a large C is much more, they promise much, and are
 * chosen again and again for steps that hardly move them. */
static double smo_curvature(const struct smo *smo, const struct smo_example *e)
{
    double low = fmin(smo_near * e->cost, smo_near_most);
    double high = (1 - smo_near) * e->cost;
    return conjugate_curvature(&smo->loss, fmin(fmax(e->alpha, low), high),
                               e->cost);
}

static bool smo_move(struct smo *smo, size_t i, double t, double room)
{
    if (i == smo->n)
        return false;
    struct smo_example *e = &smo->example[i];
    double before = e->alpha,
           old = conjugate_slope(&smo->loss, e->alpha, e->cost);
    if (fabs(t) >= room)
        e->alpha = e->y * t > 0 ? smo_upper(smo, e) : smo_lower(smo, e);
    else
        e->alpha += e->y * t;
    smo->s[i] -= e->y * (conjugate_slope(&smo->loss, e->alpha, e->cost) - old);
    smo->hessian[i] = e->diagonal + smo_curvature(smo, e);
    smo->side[i] = smo_side(smo, e);
    return e->alpha != before;
}

/* (K beta)_i */
static double smo_product(const struct smo *smo, size_t i)
{
    if (i == smo->n)
        return 0;
    const struct smo_example *e = &smo->example[i];
    return -smo->s[i] - e->y * conjugate_slope(&smo->loss, e->alpha, e->cost);
}

/* ---- a step ---- */

/* smo1: a tenth of tau, Keerthi, after (5.1). */
static double smo_accuracy(const struct smo *smo)
{
    return (smo->first_order ? 0.05 : 0.01) * smo->eps;
}

static bool smo_step(struct smo *smo, size_t *next, size_t j, const void *row_i)
{
    size_t i = *next, n = smo->n;
    const struct smo_example none = {.cost = 0};
    const struct smo_example ei = i < n ? smo->example[i] : none;
    const struct smo_example ej = j < n ? smo->example[j] : none;
    if (!row_i)
        row_i = smo_row(smo, i);
    const void *row_j = smo_row(smo, j);
    double kij = j < n ? smo_entry(row_i, smo->precision, j) : 0;
    double room_i = smo_room(smo, &ei, 1), room_j = smo_room(smo, &ej, -1);
    struct smo_line line = {
        .loss = &smo->loss,
        .i = ei,
        .j = ej,
        .eta = ei.diagonal + ej.diagonal - 2 * kij,
        .slope = smo_product(smo, i) - smo_product(smo, j),
        .psi_i = conjugate_value(&smo->loss, ei.alpha, ei.cost),
        .psi_j = conjugate_value(&smo->loss, ej.alpha, ej.cost),
    };
    double t = line_step(&line, fmin(room_i, room_j), smo_accuracy(smo));
    bool moved = smo_move(smo, i, t, room_i);
    moved |= smo_move(smo, j, -t, room_j);
    if (moved) {
        *next = smo_update(smo, t, row_i, row_j);
        smo->progress.iterations++;
    }
    return moved;
}

/* ---- objectives ---- */

/* Primal and dual objective, and rho, from s of the examples in work; for
 * those set aside s is as it was when they were. Spare arrays are workspace. */
static void smo_objectives(const struct smo *smo, struct solution *solution)
{
    double *u = smo->spare->s, *y = smo->spare->hessian;
    double *cost = (double *)smo->spare->example;
    double quadratic = 0, conjugate = 0, loss = 0;
    double most, least, free_sum = 0;
    size_t n = smo->n, free_count = 0;
    for (size_t k = 0; k < n; k++) {
        const struct smo_example *e = &smo->example[k];
        u[k] = smo_product(smo, k);
        y[k] = e->y;
        cost[k] = e->cost;
        quadratic += e->y * e->alpha * u[k];
        conjugate += conjugate_value(&smo->loss, e->alpha, e->cost);
        if (smo->side[k] == (SMO_CAN_RISE | SMO_CAN_FALL)) {
            free_sum += smo->s[k];
            free_count++;
        }
    }
    smo_extremes(smo, &most, &least);
    /* svm: on the margin y f = 1, that is rho = -s; between them otherwise */
    double rho = smo->single ? 0
                 : smo->loss.model != KLR_MODEL_SVM
                     ? best_rho(&smo->loss, n, y, cost, u, 0)
                 : free_count > 0 ? -free_sum / (double)free_count
                                  : -0.5 * (most + least);
    for (size_t k = 0; k < n; k++)
        loss += loss_value(&smo->loss, y[k] * (u[k] - rho), cost[k]);
    solution->rho = rho;
    solution->primal = 0.5 * quadratic + loss;
    solution->dual = -0.5 * quadratic - conjugate;
}

/* The relative gap as it stands, for progress. */
static double smo_gap(void *solver)
{
    struct solution now;
    smo_objectives(solver, &now);
    return (now.primal - now.dual) / fabs(now.primal);
}

/* Keerthi (3.13), where a gap is asked for */
static bool smo_gap_reached(struct smo *smo)
{
    double gap = smo->problem->params->gap;
    return gap > 0 && smo_gap(smo) <= gap;
}

static void smo_finish(struct smo *smo, struct solution *solution)
{
    smo_objectives(smo, solution);
    for (size_t k = 0; k < smo->n; k++)
        solution->beta[k] = smo->example[k].y * smo->example[k].alpha;
    solution->iterations = smo->progress.iterations;
    solution->precision = smo->precision;
    if (solution->status == KLR_PRECISION_LIMIT && smo_gap_reached(smo))
        solution->status = KLR_CONVERGED;
}

/* ---- start ---- */

static bool smo_arrays(struct smo *smo, size_t n, struct klr_error *err)
{
    return (smo->example = klr_alloc(n, sizeof *smo->example, err)) &&
           (smo->s = klr_alloc(n, sizeof *smo->s, err)) &&
           (smo->hessian = klr_alloc(n, sizeof *smo->hessian, err)) &&
           (smo->side = klr_alloc(n, sizeof *smo->side, err));
}

static void smo_free_arrays(struct smo *smo)
{
    klr_free(smo->example);
    klr_free(smo->s);
    klr_free(smo->hessian);
    klr_free(smo->side);
}

/* The largest |K_ij|: on the diagonal where K is positive semidefinite; else it
 * may even be 0 there, and a few rows are looked at. `row` (n) is workspace. */
static double smo_size(const struct smo *smo, const double *diagonal,
                       double *row)
{
    enum { ROWS = 16 };
    const struct binary *b = smo->problem;
    const struct klr_kernel *kernel = &b->op->kernel;
    bool psd = klr_kernel_is_psd(kernel) && kernel->type != KLR_PRECOMPUTED;
    double size = 0;
    for (size_t k = 0; k < smo->n; k++)
        size = fmax(size, fabs(diagonal[k]));
    for (size_t q = 0; q < ROWS && !psd; q++) {
        operator_row(b->op, b->set, q * smo->n / ROWS, row);
        for (size_t k = 0; k < smo->n; k++)
            size = fmax(size, fabs(row[k]));
    }
    return size;
}

/* Double rows where the rounding of float entries, carried into s by sums of n
 * terms of size C K, could exceed a tenth of eps. */
static enum klr_precision smo_choose_precision(const struct smo *smo)
{
    double cost = 0;
    for (size_t k = 0; k < smo->n; k++)
        cost = fmax(cost, smo->example[k].cost);
    double error = ldexp(cost * smo->size * sqrt((double)smo->n), -24);
    return error > 0.1 * smo->eps ? KLR_DOUBLE : KLR_FLOAT;
}

/* Keerthi's tau bounds half the violation, (3.11). A gap goes with about its
 * root, since it is of second order in the violation, but for the hinge. */
static double smo_tolerance(const struct klr_params *params)
{
    bool hinge = params->model == KLR_MODEL_SVM;
    double eps = params->eps;
    if (params->gap > 0)
        eps = fmin(eps, hinge ? params->gap : sqrt(params->gap));
    return hinge ? eps : 2 * eps;
}

/* The cost of each example and what follows from it. *kept tells that cached
 * rows, and products, are good for it. */
static int smo_set_cost(struct smo *smo, double c, bool *kept,
                        struct klr_error *err)
{
    const struct binary *problem = smo->problem;
    smo->loss = loss_of(problem->params, c);
    smo->eps = smo_tolerance(problem->params);
    int code = loss_check(&smo->loss, problem, c, err);
    for (size_t k = 0; k < smo->n; k++)
        smo->example[k].cost = c * problem->weight[k];
    enum klr_precision precision = smo_choose_precision(smo);
    *kept = smo->cache && precision == smo->precision;
    smo->progress.iterations = 0;
    smo->most = INFINITY;
    smo->least = -INFINITY;
    if (code || *kept)
        return code;
    smo->precision = precision;
    smo->cache = klr_cache_free(smo->cache);
    smo_set_columns(smo, smo->n);
    return klr_cache_create(&smo->cache, smo->n, smo->n, smo_element(smo),
                            params_budget(problem->params), err);
}

/* The examples, with all but their costs and alpha. */
static int smo_load(struct smo *smo, struct klr_error *err)
{
    const struct binary *problem = smo->problem;
    const struct klr_set set = problem->set;
    double *diagonal = smo->s;
    size_t k = 0;
    operator_diagonal(problem->op, set, diagonal);
    for (size_t i = 0; i < smo->n; i++)
        if (!isfinite(diagonal[i]))
            return klr_fail(err, KLR_E_DATA,
                            "the kernel overflows: scale the features");
    smo->size = smo_size(smo, diagonal, smo->spare->s);
    for (size_t r = 0; r < set.count; r++)
        for (size_t p = set.range[r].begin; p < set.range[r].end; p++, k++) {
            smo->position[k] = p;
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
                      const struct binary *problem, struct klr_error *err)
{
    size_t n = problem->n;
    memset(smo, 0, sizeof *smo);
    memset(spare, 0, sizeof *spare);
    smo->problem = problem;
    smo->first_order = problem->params->solver == KLR_SOLVER_SMO1;
    smo->loops = smo->first_order && problem->params->model == KLR_MODEL_KLR;
    smo->single = problem->params->no_bias;
    smo->n = n;
    smo->fill = 1 + SMO_FILL_BYTES / (n * sizeof(double));
    smo->cpu = klr_cpu();
    smo->spare = spare;
    if (!smo_arrays(smo, n, err) || !smo_arrays(spare, n, err) ||
        !(smo->range = klr_alloc(n, sizeof *smo->range, err)) ||
        !(smo->position = klr_alloc(n, sizeof *smo->position, err)) ||
        !(smo->unused = klr_zalloc(n, 1, err)) ||
        !(smo->column = klr_alloc(n, sizeof *smo->column, err)) ||
        !(smo->missing_range = klr_alloc(n, sizeof *smo->missing_range, err)) ||
        !(smo->missing_row = klr_alloc(smo->fill * n, sizeof(double), err)) ||
        !(smo->zero = klr_zalloc(n, sizeof(double), err)))
        return KLR_E_MEMORY;
    return smo_load(smo, err);
}

static void smo_free(struct smo *smo)
{
    smo_free_arrays(smo);
    smo_free_arrays(smo->spare);
    klr_free(smo->range);
    klr_free(smo->position);
    klr_free(smo->unused);
    klr_free(smo->column);
    klr_free(smo->missing_range);
    klr_free(smo->missing_row);
    klr_free(smo->zero);
    klr_cache_free(smo->cache);
}

/* ---- the loop ---- */

/* The partner j of i, the first; without bias the one of both that is farther
 * from s = 0 moves alone, Keerthi (7.1), as if its mirror image had -s. False
 * if no pair in work violates by more than eps. */
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

/* Without a limit of the caller's as many steps as LIBSVM makes: where it needs
 * more, C is too large for the scale of the features. */
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

/* Where nothing violates by more than eps, with all in work: whether that is
 * the end. If it is the gap that counts, eps falls until that is reached. */
static bool smo_settled(struct smo *smo, enum klr_status *status)
{
    if (smo_gap_reached(smo))
        return true;
    bool changed = smo->loops && smo_outer(smo, status);
    if (!changed && smo->problem->params->gap > 0) {
        smo_restore_rows(smo);
        smo->eps /= 10;
        changed = true;
    }
    if (smo->eps < smo_least_eps && *status == KLR_CONVERGED)
        *status = KLR_PRECISION_LIMIT;
    return !changed || *status != KLR_CONVERGED;
}

/* Every n steps: see whether the gap is reached; set more examples aside; once,
 * near the end, look at all. */
static int smo_regroup(struct smo *smo, bool *resumed, bool *optimal,
                       struct klr_error *err)
{
    const struct klr_params *params = smo->problem->params;
    if (smo->active == smo->n)
        *optimal = smo_gap_reached(smo);
    if (*optimal || smo->loss.model != KLR_MODEL_SVM || !params->shrinking)
        return 0;
    if (!*resumed && smo->most - smo->least <= 10 * smo->eps) {
        *resumed = true;
        return smo_resume(smo, optimal, err);
    }
    smo_shrink(smo, smo->most, smo->least);
    return 0;
}

/* Until nothing violates by more than eps. */
static int smo_descend(struct smo *smo, enum klr_status *status,
                       struct klr_error *err)
{
    bool resumed = false, end = false;
    size_t due = smo->n, i = smo_first(smo), j;
    const void *row;
    int code = 0;
    while (!code && !end) {
        bool optimal = false;
        if (!smo_choose(smo, &i, &j, &row)) {
            if (!(smo->progress.violation <= smo->eps)) {
                *status = KLR_PRECISION_LIMIT; /* no gain is a number */
                return smo_restore(smo, err);
            }
            optimal = smo->active == smo->n;
            if (!optimal)
                code = smo_resume(smo, &optimal, err);
        } else if (--due == 0) {
            due = smo->n;
            code = smo_regroup(smo, &resumed, &optimal, err);
        } else {
            *status = smo_clock(smo);
            if (*status == KLR_CONVERGED && !smo_step(smo, &i, j, row))
                *status = KLR_PRECISION_LIMIT;
            if (*status != KLR_CONVERGED)
                return smo_restore(smo, err);
            continue;
        }
        end = !code && optimal && smo_settled(smo, status);
        i = smo_first(smo);
    }
    return code;
}

/* For C = c, from alpha in proportion to `ratio` and its s, or, if that is 0,
 * from the beginning. */
static int smo_solve_at(struct smo *smo, double c, double ratio,
                        struct solution *solution, struct klr_error *err)
{
    bool kept;
    for (size_t k = 0; k < smo->n && ratio > 0; k++)
        smo->s[k] = -smo_product(smo, k);
    int code = smo_set_cost(smo, c, &kept, err);
    if (code)
        return code;
    if (ratio > 0) {
        smo_scale(smo, ratio);
        smo_restore_rows(smo);
    } else {
        smo_start(smo);
    }
    solution->status = ratio > 0 && kept ? KLR_CONVERGED : smo_products(smo);
    if (solution->status != KLR_CONVERGED) {
        smo_finish_at_start(smo, solution);
        return 0;
    }
    if (!smo->first_order && smo->loss.model != KLR_MODEL_SVM)
        smo_stretch(smo);
    smo_begin(smo);
    code = smo_descend(smo, &solution->status, err);
    if (!code)
        smo_finish(smo, solution);
    return code;
}

/* The hinge's alpha of the last C is taken in proportion to C, so that what was
 * at a bound stays there; the logistic's goes through smo_stretch: away
 * from its bounds it grows far less than C. */
static int smo_solve(const struct binary *problem, struct solution *solution,
                     struct klr_error *err)
{
    const struct klr_reals *cost = &problem->params->cost;
    bool hinge = problem->params->model == KLR_MODEL_SVM, known = false;
    struct smo smo, spare;
    int code = smo_create(&smo, &spare, problem, err);
    for (size_t t = 0; t < cost->count && !code; t++) {
        double c = cost->value[t];
        double ratio = !known ? 0 : hinge ? c / cost->value[t - 1] : 1;
        code = smo_solve_at(&smo, c, ratio, &solution[t], err);
        known = isfinite(solution[t].dual);
    }
    smo_free(&smo);
    return code;
}
