/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel logistic regression in the span of the kernels of m points: points are
 * chosen, a sample of the examples tells where to begin and preconditions, and
 * Newton's method ends at a duality gap. Along several C all have the points
 * that are chosen at the middle one.
 */
#include "solver/subspace/subspace_parts.h"

enum {
    SAMPLE_POINT = 16,     /* examples of the sample for a point, */
    SAMPLE_FEW = 4,        /* at least, where they are too many: */
    SAMPLE_MOST = 1 << 27, /* entries of B */
    SAMPLE_LEAST = 1024,
    KEPT_UNASKED = 1 << 30
};

/* ---- making ready ---- */

/* The least pivot of K_MM. With products of floats pivots err by about 2^-24
 * K_ii, which becomes C n / pivot times as much in H; it is to stay below a
 * tenth of the 1 in H. */
static double pivot_tolerance(const struct binary_problem *problem)
{
    const struct klr_reals *cost = &problem->params->cost;
    double most = 0, least = 1e-7, largest = 1e-2;
    for (size_t i = 0; i < problem->n; i++)
        most = fmax(most, problem->weight[i]);
    most *= cost->value[cost->count - 1];
    return fmin(fmax(least, 25 * ldexp(most * (double)problem->n, -48)),
                largest);
}

static size_t sample_wanted(size_t m)
{
    size_t most = SAMPLE_MOST / (m + 1), few = SAMPLE_FEW * m;
    size_t wanted = SAMPLE_POINT * m;
    if (wanted > most)
        wanted = most > few ? most : few;
    return wanted > SAMPLE_LEAST ? wanted : SAMPLE_LEAST;
}

/* Points at most; of a basis that finds its size, those it begins with. */
static size_t points_most(const struct binary_problem *problem)
{
    size_t given = 0, most = (size_t)problem->params->basis;
    for (size_t i = 0; i < problem->n && problem->given; i++)
        given += problem->given[i];
    if (problem->given)
        return given;
    if (problem->params->basis == KLR_BASIS_AUTO)
        most = SUBSPACE_START;
    return most < problem->n ? most : problem->n;
}

/* Vectors that a sweep has at most. */
static size_t sweep_vectors(const struct subspace *s)
{
    return s->columns > SWEEP_VECTORS ? s->columns : SWEEP_VECTORS;
}

/* All that is allocated, but for entries of K that are kept. */
static double subspace_bytes(const struct subspace *s, size_t most)
{
    const struct binary_problem *problem = s->problem;
    double n = (double)problem->n, k = (double)s->columns;
    double growth =
        k > 1
            ? point_sweep_bytes(problem, growth_candidates(most, 0), s->columns)
            : 0;
    return growth + point_sweep_bytes(problem, most, sweep_vectors(s)) +
           (1 + k) * (double)panels_size(most) * sizeof(double) +
           sample_bytes(s, most) + (3 + 10 * k) * n * sizeof(double) +
           share_bytes(s->machines, problem->n, most) +
           (problem->params->loo ? leave_out_bytes(problem, most, s->columns)
                                 : 0);
}

static bool subspace_fits(const struct subspace *s, size_t most)
{
    double need = subspace_bytes(s, most) - params_beside;
    return need <= (double)params_budget(s->problem->params);
}

/* The vectors; w stays as far as there are points. */
static int room_vectors(struct subspace *s, size_t most, struct klr_error *err)
{
    double **vector[SUBSPACE_VECTORS] = {&s->w,  &s->slope, &s->bg, &s->bw,
                                         &s->x,  &s->rest,  &s->z,  &s->q,
                                         &s->hq, &s->v};
    size_t length = panels_bands(most + 1) * KLR_BAND * s->columns;
    double *store = klr_zalloc(SUBSPACE_VECTORS * length, sizeof(double), err);
    double *least = klr_alloc(most + 1, sizeof *least, err);
    klr_free(s->least);
    s->least = least;
    if (s->store && store)
        memcpy(store, s->w, subspace_length(s) * sizeof *store);
    klr_free(s->store);
    s->store = store;
    if (!store || !least)
        return KLR_E_MEMORY;
    for (size_t i = 0; i < SUBSPACE_VECTORS; i++)
        *vector[i] = store + i * length;
    return 0;
}

/* *array for `most` points; those that there are stay. */
static int room_points(const struct subspace *s, size_t **array, size_t most,
                       struct klr_error *err)
{
    size_t *longer = klr_alloc(most, sizeof *longer, err);
    if (!longer)
        return KLR_E_MEMORY;
    if (*array)
        memcpy(longer, *array, s->m * sizeof *longer);
    klr_free(*array);
    *array = longer;
    return 0;
}

/* R and the preconditioner, which is lost. */
static int room_triangles(struct subspace *s, size_t most,
                          struct klr_error *err)
{
    double *r = klr_alloc(panels_size(most), sizeof *r, err);
    if (!r)
        return KLR_E_MEMORY;
    if (s->r.value)
        memcpy(r, s->r.value, panels_size(s->m) * sizeof *r);
    klr_free(s->r.value);
    s->r.value = r;
    s->have_h = false;
    for (size_t c = 0; c < s->columns; c++) {
        klr_free(s->h[c].value);
        s->h[c].value = klr_alloc(panels_size(most), sizeof *r, err);
        if (!s->h[c].value)
            return KLR_E_MEMORY;
    }
    return 0;
}

/* The bytes of entries of K that are kept. Keeping them saves less than half
 * the time, so that without -m they take no more than KEPT_UNASKED. */
static double kept_budget(const struct subspace *s, double need)
{
    const struct klr_params *params = s->problem->params;
    double budget = (double)params_budget(params) - fmax(need, 0);
    return params->cache_mb > 0 ? budget : fmin(budget, KEPT_UNASKED);
}

static int subspace_make_room(struct subspace *s, size_t most,
                              struct klr_error *err)
{
    double need = subspace_bytes(s, most) - params_beside;
    int code = 0;
    if (!subspace_fits(s, most))
        return params_refuse_budget(s->n, need, err);
    subspace_forget_sample(s);
    point_sweep_free(&s->sweep);
    if ((code = room_points(s, &s->member, most, err)) ||
        (code = room_points(s, &s->position, most, err)) ||
        (code = room_triangles(s, most, err)) ||
        (code = room_vectors(s, most, err)) ||
        (code = share_room(s, most, err)))
        return code;
    s->most = most;
    code = point_sweep_create(&s->sweep, s->problem, s->position, most,
                              sweep_vectors(s), kept_budget(s, need),
                              &s->entries, err);
    s->sweep.count = s->m;
    return code;
}

/* Arrays of columns or classes. */
static int create_columns(struct subspace *s, struct klr_error *err)
{
    size_t k = s->columns;
    if (!(s->h = klr_zalloc(k, sizeof *s->h, err)) ||
        !(s->rho = klr_zalloc(3 * k, sizeof *s->rho, err)) ||
        !(s->vector = klr_alloc(sweep_vectors(s), sizeof *s->vector, err)) ||
        !(s->draw = klr_alloc(s->classes, sizeof *s->draw, err)) ||
        !(s->part = klr_alloc(s->classes, sizeof *s->part, err)))
        return KLR_E_MEMORY;
    s->all.rho = s->rho;
    s->sample.rho = s->rho + k;
    s->next_rho = s->rho + 2 * k;
    s->r.pool = s->problem->op->pool;
    s->r.dense = klr_dense();
    for (size_t c = 0; c < k; c++)
        s->h[c] = s->r;
    return 0;
}

static size_t subspace_place(const struct subspace *s, size_t i)
{
    return set_position(s->problem->set, i);
}

static double subspace_diagonal(const struct subspace *s, size_t i)
{
    size_t at = subspace_place(s, i);
    struct klr_range one = {at, at + 1};
    double diagonal;
    operator_diagonal(s->problem->op, set_of(&one, 1), &diagonal);
    return diagonal;
}

/* Arrays of examples. */
static int create_examples(struct subspace *s, struct klr_error *err)
{
    const struct binary_problem *problem = s->problem;
    size_t n = s->n, k = s->columns;
    int code = fit_create(&s->all, problem->y, n, k, err);
    if (code)
        return code;
    if (!(s->sample_column = klr_alloc(n, sizeof(double), err)) ||
        !(s->du = klr_alloc(n, k * sizeof *s->du, err)) ||
        !(s->dual = klr_alloc(n, k * sizeof *s->dual, err)))
        return KLR_E_MEMORY;
    for (size_t c = 0; c < k && k > 1; c++)
        softmax_set_class(&s->all.softmax, c, problem[c].y);
    for (size_t i = 0; i < n; i++)
        s->size = fmax(s->size, fabs(subspace_diagonal(s, i)));
    return 0;
}

static int subspace_create(struct subspace *s,
                           const struct binary_problem *problem,
                           size_t machines, size_t columns,
                           struct klr_error *err)
{
    *s = (struct subspace){.problem = problem,
                           .functions = columns > 1 ? &subspace_softmax
                                                    : &subspace_two_classes,
                           .machines = machines,
                           .columns = columns,
                           .classes = columns > 1 ? columns : 2,
                           .n = problem->n,
                           .tolerance = pivot_tolerance(problem)};
    s->excess = s->excess_error = NAN;
    int code = create_columns(s, err);
    if (!code)
        code = subspace_make_room(s, points_most(problem), err);
    if (!code)
        code = create_examples(s, err);
    return code ? code : subspace_share(s, problem, machines, err);
}

static void subspace_free(struct subspace *s)
{
    subspace_forget_sample(s);
    fit_free(&s->all);
    point_sweep_free(&s->sweep);
    klr_free(s->member);
    klr_free(s->position);
    klr_free(s->r.value);
    for (size_t c = 0; c < s->columns && s->h; c++)
        klr_free(s->h[c].value);
    klr_free(s->h);
    klr_free(s->rho);
    klr_free(s->vector);
    klr_free(s->draw);
    klr_free(s->part);
    klr_free(s->least);
    klr_free(s->sample_column);
    klr_free(s->du);
    klr_free(s->dual);
    klr_free(s->store);
    klr_free(s->level);
    share_free(s);
}

/* ---- start and end ---- */

static void subspace_start(struct subspace *s, double c)
{
    s->loss = loss_of(s->problem->params, c);
    s->c = c;
    level_costs(s, s->sweep.times != NULL);
    memset(s->all.u, 0, s->n * s->columns * sizeof *s->all.u);
    subspace_evaluate(s, &s->all);
    s->objective = s->gap = NAN;
    s->progress.iterations = 0;
}

/* beta = R^-1 w on the points, and rho, of column c. */
static void finish_column(struct subspace *s, size_t c, enum klr_status status,
                          struct solution *solution)
{
    const double *rho = isfinite(s->objective) ? s->all.rho : s->sample.rho;
    *solution = (struct solution){.beta = solution->beta,
                                  .rho = rho[c],
                                  .status = status,
                                  .fall = NAN,
                                  .shift = solution->shift,
                                  .precision = KLR_DOUBLE};
    memcpy(s->v, s->w + c * s->m, s->m * sizeof *s->w);
    panels_backward(&s->r, s->v);
    memset(solution->beta, 0, s->n * sizeof *solution->beta);
    for (size_t k = 0; k < s->m; k++)
        solution->beta[s->member[k]] = s->v[k];
}

/* All columns at the t-th C, and the verdict, with the first one's. */
static void subspace_finish(struct subspace *s, enum klr_status status,
                            size_t t, struct solution *const *solution)
{
    const struct binary_problem *problem = s->problem;
    struct solution *first = &solution[0][t];
    double error = 0, size = fabs(s->objective);
    struct certificate certificate = {.primal = s->objective,
                                      .gap = s->gap * size,
                                      .target = problem->params->eps * size,
                                      .constant = INFINITY,
                                      .least = least_dual(&s->loss),
                                      .asked = true};
    for (size_t c = 0; c < s->columns; c++) {
        finish_column(s, c, status, &solution[c][t]);
        error = fmax(error, decision_rounding(problem, solution[c][t].beta,
                                              s->size, KLR_DOUBLE) +
                                value_rounding(s->n * s->columns, s->all.u,
                                               solution[c][t].rho));
    }
    first->iterations = s->progress.iterations;
    first->flops = s->flops;
    first->size = s->size;
    if (isfinite(s->objective) && status < KLR_TIME_LIMIT) {
        certificate.constant = s->functions->constant(s);
        s->functions->rounding(s, error, &certificate);
    }
    certify(first, &certificate);
}

/* ---- the method ---- */

/* At the t-th C, from w on. */
static int subspace_at(struct subspace *s, size_t t,
                       struct solution *const *solution, struct klr_error *err)
{
    const struct klr_params *params = s->problem->params;
    struct klr_basis_report report = {.full_gap = NAN, .full_gap_error = NAN};
    double entries = s->entries, own = (double)s->n * (double)s->m;
    enum klr_status status = s->problem->clock->status;
    subspace_start(s, params->cost.value[t]);
    s->hessians = 0;
    if (!status && subspace_fit_sample(s, sample_gap) && subspace_refresh(s)) {
        memcpy(s->all.rho, s->sample.rho, s->columns * sizeof *s->rho);
        status = level_approach(s) ? subspace_newton(s, params->eps)
                                   : s->problem->clock->status;
    } else if (!status) {
        status = s->problem->clock->status;
    }
    report.points = s->m;
    report.passes = own > 0 ? (s->entries - entries) / own : 0;
    report.choice_passes = own > 0 ? s->chosen_entries / own : 0;
    report.sample = s->sample.n;
    report.hessians = s->hessians;
    report.end = s->end;
    report.excess = s->excess;
    report.excess_error = s->excess_error;
    if (s->end == KLR_BASIS_MEMORY)
        status = gravest(status, KLR_MEMORY_LIMIT);
    int code = 0;
    if (s->problem->whole && params->basis_bound != KLR_BOUND_NONE &&
        status < KLR_TIME_LIMIT && isfinite(s->objective))
        code = subspace_bound(s, params->basis_bound == KLR_BOUND_EXACT,
                              &report, err);
    s->progress.phase = "leave-one-out";
    if (!code && solution[0][t].shift)
        code = subspace_leave_out(s, t, solution, err);
    s->progress.phase = NULL;
    if (!code)
        subspace_finish(s, gravest(status, s->problem->clock->status), t,
                        solution);
    solution[0][t].basis = report;
    return code;
}

/* At each C, from the w of the points' growth on. */
static int subspace_path(struct subspace *s, size_t q,
                         struct solution *const *solution,
                         struct klr_error *err)
{
    const struct klr_reals *cost = &s->problem->params->cost;
    subspace_turn(s, q);
    int code = subspace_draw(s, sample_wanted(s->m), err);
    for (size_t t = 0; t < cost->count && !code; t++) {
        clock_path(s->problem->clock, q * cost->count + t,
                   s->machines * cost->count);
        code = subspace_at(s, t, solution, err);
    }
    return code;
}

/* The box must leave each problem a point of its dual. */
static int subspace_check(const struct binary_problem *problems,
                          size_t machines, struct klr_error *err)
{
    const struct klr_params *params = problems->params;
    int code = 0;
    for (size_t q = 0; q < machines && !code; q++)
        for (size_t t = 0; t < params->cost.count && !code; t++) {
            double c = params->cost.value[t];
            struct loss loss = loss_of(params, c);
            code = problem_check_box(&problems[q], &loss, c, err);
        }
    return code;
}

/* The points, at the middle C. */
static int subspace_begin(struct subspace *s,
                          const struct binary_problem *problems,
                          size_t machines, size_t columns,
                          struct klr_error *err)
{
    const struct klr_reals *cost = &problems->params->cost;
    int code = subspace_create(s, problems, machines, columns, err);
    if (!code)
        code = subspace_check(problems, machines, err);
    s->progress.phase = "points";
    if (!code)
        code = subspace_choose(s, cost->value[cost->count / 2], err);
    s->progress.phase = NULL;
    s->chosen_entries = s->entries;
    return code;
}

static int subspace_choose_points(const struct binary_problem *problems,
                                  size_t machines, bool *chosen, double *passes,
                                  struct klr_error *err)
{
    struct subspace s;
    int code = subspace_begin(&s, problems, machines, 1, err);
    memset(chosen, 0, problems->n * sizeof *chosen);
    for (size_t k = 0; k < s.m && !code; k++)
        chosen[s.member[k]] = true;
    *passes = s.m > 0 ? s.entries / ((double)s.n * (double)s.m) : 0;
    subspace_free(&s);
    return code;
}

static int subspace_solve_all(const struct binary_problem *problems,
                              size_t machines, struct solution *const *solution,
                              struct klr_error *err)
{
    struct subspace s;
    int code = subspace_begin(&s, problems, machines, 1, err);
    for (size_t q = 0; q < machines && !code; q++) {
        code = subspace_path(&s, q, solution + q, err);
        s.chosen_entries = s.flops = 0; /* of the first machine's report */
    }
    subspace_free(&s);
    return code;
}

static int subspace_solve_softmax(const struct binary_problem *problems,
                                  size_t columns,
                                  struct solution *const *solution,
                                  struct klr_error *err)
{
    struct subspace s;
    int code = subspace_begin(&s, problems, 1, columns, err);
    if (!code)
        code = subspace_path(&s, 0, solution, err);
    subspace_free(&s);
    return code;
}
