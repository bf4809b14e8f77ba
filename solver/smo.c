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
 * The logistic psi' is infinite at 0 and C, so alpha is kept in
 * [mu C, (1 - mu) C], the box of Consolo (22) in place of the two loops of
 * Keerthi, section 5. Kernels that are not PSD: a step of negative curvature
 * goes to the end of the segment, Lin & Lin (2003), (27), or to a point below
 * f(alpha); f falls strictly either way.
 *
 * Along a path of C the cached rows stay and each solution is the next start.
 */
#include "solver/internal.h"

#include "solver/smo.h"

enum { SMO_FILL_BYTES = 8 << 20 }; /* for rows that are completed */

static const double smo_margin = 1e-12; /* mu */

/* ---- one example ---- */

static double smo_lower(const struct smo *smo, const struct smo_example *e)
{
    return smo->loss.model == KLR_MODEL_SVM
               ? 0
               : fmax(smo->loss.box, smo_margin * e->cost);
}

static double smo_upper(const struct smo *smo, const struct smo_example *e)
{
    return e->cost - smo_lower(smo, e);
}

/* How far beta_i can go in the direction sign. */
static double smo_room(const struct smo *smo, const struct smo_example *e,
                       double sign)
{
    return e->y * sign > 0 ? smo_upper(smo, e) - e->alpha
                           : e->alpha - smo_lower(smo, e);
}

/* Move beta_i by t, where `room` is as far as it can go; keeps s, hessian and
 * side of that example right but for the term K beta of s. */
static void smo_move(struct smo *smo, size_t i, double t, double room)
{
    struct smo_example *e = &smo->example[i];
    double old = conjugate_slope(&smo->loss, e->alpha, e->cost);
    if (fabs(t) >= room)
        e->alpha = e->y * t > 0 ? smo_upper(smo, e) : smo_lower(smo, e);
    else
        e->alpha += e->y * t;
    smo->s[i] -= e->y * (conjugate_slope(&smo->loss, e->alpha, e->cost) - old);
    smo->hessian[i] =
        e->diagonal + conjugate_curvature(&smo->loss, e->alpha, e->cost);
    smo->side[i] =
        (unsigned char)((smo_room(smo, e, 1) > 0 ? SMO_CAN_RISE : 0) |
                        (smo_room(smo, e, -1) > 0 ? SMO_CAN_FALL : 0));
}

/* (K beta)_i */
static double smo_product(const struct smo *smo, size_t i)
{
    const struct smo_example *e = &smo->example[i];
    return -smo->s[i] - e->y * conjugate_slope(&smo->loss, e->alpha, e->cost);
}

/* ---- a step ---- */

/* Raise beta_i, lower beta_j for i = *next, which becomes the next i. False if
 * rounding leaves no step to make. */
static bool smo_step(struct smo *smo, size_t *next, size_t j, const void *row_i,
                     const void *row_j)
{
    size_t i = *next;
    struct smo_example *ei = &smo->example[i], *ej = &smo->example[j];
    double kij = smo_entry(row_i, smo->precision, j);
    double room_i = smo_room(smo, ei, 1), room_j = smo_room(smo, ej, -1);
    struct smo_line line = {
        .loss = &smo->loss,
        .i = *ei,
        .j = *ej,
        .eta = ei->diagonal + ej->diagonal - 2 * kij,
        .slope = smo_product(smo, i) - smo_product(smo, j),
        .psi_i = conjugate_value(&smo->loss, ei->alpha, ei->cost),
        .psi_j = conjugate_value(&smo->loss, ej->alpha, ej->cost),
    };
    double t = line_step(&line, fmin(room_i, room_j), 0.01 * smo->eps);
    double before_i = ei->alpha, before_j = ej->alpha;
    smo_move(smo, i, t, room_i);
    smo_move(smo, j, -t, room_j);
    if (ei->alpha == before_i && ej->alpha == before_j)
        return false;
    *next = smo_update(smo, t, row_i, row_j);
    return true;
}

/* ---- objectives ---- */

/* Primal and dual objective, and rho, from s of the examples in work; for
 * those set aside s is as it was when they were. */
static void smo_objectives(const struct smo *smo, double *u, double *y,
                           double *cost, struct solution *solution)
{
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
    double rho = smo->loss.model != KLR_MODEL_SVM
                     ? best_rho(&smo->loss, n, y, cost, u)
                 : free_count > 0 ? -free_sum / (double)free_count
                                  : -0.5 * (most + least);
    for (size_t k = 0; k < n; k++)
        loss += loss_value(&smo->loss, y[k] * (u[k] - rho), cost[k]);
    solution->rho = rho;
    solution->primal = 0.5 * quadratic + loss;
    solution->dual = -0.5 * quadratic - conjugate;
}

/* The relative gap as it stands, for progress: spare arrays as workspace. */
static double smo_gap(void *solver)
{
    struct smo *smo = solver;
    struct solution now;
    double *cost = (double *)smo->spare->example;
    smo_objectives(smo, smo->spare->s, smo->spare->hessian, cost, &now);
    return (now.primal - now.dual) / fabs(now.primal);
}

static double smo_no_gap(void *solver)
{
    (void)solver;
    return NAN;
}

static void smo_finish(struct smo *smo, struct solution *solution)
{
    double *cost = (double *)smo->spare->example;
    smo_objectives(smo, smo->spare->s, smo->spare->hessian, cost, solution);
    for (size_t k = 0; k < smo->n; k++)
        solution->beta[k] = smo->example[k].y * smo->example[k].alpha;
    solution->iterations = smo->progress.iterations;
    solution->precision = smo->precision;
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

/* Double rows where the rounding of float entries, carried into s by sums of n
 * terms of size C K, could exceed a tenth of eps. */
static enum klr_precision smo_choose_precision(const struct smo *smo)
{
    double cost = 0, diagonal = 0;
    for (size_t k = 0; k < smo->n; k++) {
        cost = fmax(cost, smo->example[k].cost);
        diagonal = fmax(diagonal, fabs(smo->example[k].diagonal));
    }
    double error = ldexp(cost * diagonal * sqrt((double)smo->n), -24);
    return error > 0.1 * smo->eps ? KLR_DOUBLE : KLR_FLOAT;
}

/* The cost of each example and what follows from it. *kept tells that cached
 * rows, and products, are good for it. */
static int smo_set_cost(struct smo *smo, double c, bool *kept,
                        struct klr_error *err)
{
    const struct binary *problem = smo->problem;
    smo->loss = loss_of(problem->params, c);
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

/* alpha = 0 for the hinge; for the logistic loss near the solution for K = 0,
 * alpha_i = C_i p_i with p the same within a class and sum beta = 0: so far
 * along from lower to upper_i that both classes have the same total. */
static void smo_start(struct smo *smo)
{
    double lower[2] = {0, 0}, upper[2] = {0, 0}, weight[2] = {0, 0}, total;
    bool hinge = smo->loss.model == KLR_MODEL_SVM;
    for (size_t k = 0; k < smo->n; k++) {
        const struct smo_example *e = &smo->example[k];
        lower[e->y > 0] += smo_lower(smo, e);
        upper[e->y > 0] += smo_upper(smo, e);
        weight[e->y > 0] += e->cost;
    }
    total = weight[0] / (weight[0] + weight[1]) * weight[1];
    total =
        fmin(fmax(total, fmax(lower[0], lower[1])), fmin(upper[0], upper[1]));
    for (size_t k = 0; k < smo->n; k++) {
        struct smo_example *e = &smo->example[k];
        size_t side = e->y > 0;
        double low = smo_lower(smo, e), high = smo_upper(smo, e);
        double part = (total - lower[side]) / (upper[side] - lower[side]);
        e->alpha = hinge ? 0 : fmin(low + part * (high - low), high);
    }
}

/* From the solution for another C, times `ratio`: products go with alpha. */
static void smo_scale(struct smo *smo, double ratio)
{
    const double rounding = 1e-14;
    for (size_t k = 0; k < smo->n; k++) {
        struct smo_example *e = &smo->example[k];
        double high = smo_upper(smo, e), alpha = ratio * e->alpha;
        smo->s[k] *= ratio;
        e->alpha = alpha >= high * (1 - rounding)
                       ? high
                       : fmax(alpha, smo_lower(smo, e));
    }
}

/* s = -K beta -> s, and what else belongs to alpha. */
static void smo_begin(struct smo *smo)
{
    for (size_t k = 0; k < smo->n; k++) {
        const struct smo_example *e = &smo->example[k];
        smo->s[k] -= e->y * conjugate_slope(&smo->loss, e->alpha, e->cost);
        smo_move(smo, k, 0, INFINITY);
    }
}

/* s = -K beta, row by row in order, of which some are fetched together, so
 * that the rows come to the cache. */
static enum klr_status smo_products(struct smo *smo)
{
    enum klr_status status = KLR_CONVERGED;
    size_t room = klr_cache_room(smo->cache), index[SMO_FETCH], count = 0;
    size_t most = room < SMO_FETCH ? room : SMO_FETCH;
    memset(smo->s, 0, smo->n * sizeof *smo->s);
    for (size_t i = 0; i < smo->n && status == KLR_CONVERGED; i++) {
        if (smo->example[i].alpha != 0)
            index[count++] = i;
        if (count == 0 || (count < most && i + 1 < smo->n))
            continue;
        smo_put_rows(smo, index, count);
        for (size_t q = 0; q < count; q++) {
            const struct smo_example *e = &smo->example[index[q]];
            const void *row = smo_row(smo, index[q]);
            for (size_t k = 0; k < smo->n; k++)
                smo->s[k] -=
                    e->y * e->alpha * smo_entry(row, smo->precision, k);
        }
        count = 0;
        status = clock_check(smo->problem->clock, smo->problem->params,
                             &smo->progress, smo_no_gap, smo);
    }
    return status;
}

/* Stopped before K beta was known: the solution for K = 0. */
static void smo_finish_at_start(const struct smo *smo,
                                struct solution *solution)
{
    double weight[2] = {0, 0};
    for (size_t k = 0; k < smo->n; k++) {
        weight[smo->example[k].y > 0] += smo->example[k].cost;
        solution->beta[k] = 0;
    }
    solution->rho = log(weight[0] / weight[1]);
    solution->primal = 0;
    for (size_t k = 0; k < smo->n; k++)
        solution->primal +=
            loss_value(&smo->loss, -smo->example[k].y * solution->rho,
                       smo->example[k].cost);
    solution->dual = NAN;
    solution->iterations = 0;
    solution->precision = smo->precision;
}

static int smo_create(struct smo *smo, struct smo *spare,
                      const struct binary *problem, struct klr_error *err)
{
    size_t n = problem->n, k = 0;
    memset(smo, 0, sizeof *smo);
    memset(spare, 0, sizeof *spare);
    smo->problem = problem;
    /* Keerthi's tau bounds half the violation, (3.11). */
    smo->eps = problem->params->eps *
               (problem->params->model != KLR_MODEL_SVM ? 2 : 1);
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
        !(smo->missing_row = klr_alloc(smo->fill * n, sizeof(double), err)))
        return KLR_E_MEMORY;
    operator_diagonal(problem->op, problem->set, smo->s);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(smo->s[i]))
            return klr_fail(err, KLR_E_DATA,
                            "the kernel overflows: scale the features");
    for (size_t r = 0; r < problem->set.count; r++)
        for (size_t p = problem->set.range[r].begin;
             p < problem->set.range[r].end; p++, k++) {
            smo->position[k] = p;
            smo->example[k] = (struct smo_example){
                .local = k,
                .position = p,
                .y = problem->y[k],
                .diagonal = smo->s[k],
            };
        }
    smo->progress.target = smo->eps;
    return 0;
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
    klr_cache_free(smo->cache);
}

/* ---- the loop ---- */

/* The partner j of i; false if no pair in work violates by more than eps. */
static bool smo_choose(struct smo *smo, size_t i, const void **row_i, size_t *j)
{
    double least = INFINITY, most = -INFINITY;
    *j = smo->n;
    if (i < smo->n) {
        most = smo->s[i];
        *row_i = smo_row(smo, i);
        *j = smo_second(smo, i, *row_i, &least);
    }
    smo->most = most;
    smo->least = least;
    smo->progress.violation = most - least;
    return *j < smo->n && most - least > smo->eps;
}

/* Every n steps: set more examples aside; once, near the end, look at all. */
static int smo_regroup(struct smo *smo, bool *resumed, bool *optimal,
                       struct klr_error *err)
{
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
    const struct binary *problem = smo->problem;
    bool shrinking =
        smo->loss.model == KLR_MODEL_SVM && problem->params->shrinking;
    bool resumed = false, optimal = false;
    size_t due = smo->n, i = smo_first(smo), j;
    const void *row_i = NULL;
    int code = 0;
    while (!code && !optimal) {
        if (!smo_choose(smo, i, &row_i, &j)) {
            if (smo->active == smo->n)
                return 0;
            code = smo_resume(smo, &optimal, err);
            i = smo_first(smo);
            continue;
        }
        *status = clock_check(problem->clock, problem->params, &smo->progress,
                              smo_gap, smo);
        if (*status != KLR_CONVERGED)
            return smo_restore(smo, err);
        if (shrinking && --due == 0) {
            due = smo->n;
            code = smo_regroup(smo, &resumed, &optimal, err);
            i = smo_first(smo);
            continue;
        }
        if (!smo_step(smo, &i, j, row_i, smo_row(smo, j))) {
            *status = KLR_PRECISION_LIMIT;
            return smo_restore(smo, err);
        }
        smo->progress.iterations++;
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
    smo_begin(smo);
    code = smo_descend(smo, &solution->status, err);
    if (!code)
        smo_finish(smo, solution);
    return code;
}

/* The hinge's alpha of the last C is taken in proportion to C, so that what was
 * at a bound stays there; the logistic's as it is: away from its bounds it
 * grows far less than C, and in proportion some ten times the steps were
 * needed. */
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
