/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sparse greedy kernel Fisher discriminants: Mika, Smola & Schoelkopf (2001),
 * figure 1, for the problem (3) with P = |a|^2 or a'Ka and C = 1/c,
 *
 *   minimise  1/2 sum_i w_i xi_i^2 + C/2 P(a)
 *   s.t.      K a + b = y + xi,  of each class the mean of xi is 0
 *
 * over expansions in few kernels, which join one by one; w, the weights of the
 * classes, are 1 in the paper. In each step candidates are drawn from the
 * kernels left, 59 of which hold one of the best 5 % with probability 0.95
 * (section 4.1.2), and the one that lowers the objective most joins, or the one
 * that violates the dual constraint (8a) most. The basis of fisher_basis.c
 * gives both: the objective is 2 / S, which a candidate turns into
 * 2 / (S + gradient^2 / residual), and its violation is 2 / S |gradient|.
 *
 * It ends when over a window of steps, five of them, the objective fell by less
 * than eps of itself a step, or when the gradients, relative to the first one,
 * were less than eps on average: 2 / S is the multiplier of the constraint that
 * they are part of.
 *
 * Several machines, problems that differ in y and weights alone, draw the same
 * candidates, whose kernels are computed once. A candidate that is drawn again
 * goes on from its last judgement. Where all kernels are candidates
 * their residuals and gradients are kept, and a new function changes them by
 * its product with K, one for all machines: tiles of K are kept in what the
 * bases leave of the memory. Then there is a lower bound of the objective over
 * all expansions as well: with v = A z, the gradients r of all kernels, s =
 * delta - U z, where delta'f = mean+ f - mean- f, and N the matrix of the inner
 * products of all kernels, the optimum has S* = S + r'N^-1 r and
 *
 *   P = |a|^2:  r = K s - C v,  N >= C I,  S* <= S + r'r / C
 *   P = a'Ka:   r = K (s - C v), N >= C K,  S* <= S + (s - C v)'r / C
 */
#include "solver/fisher/fisher_greedy.h"

static bool greedy_stopped(const struct greedy *g)
{
    return clock_stopped(g->problems->clock);
}

/* ---- steps ---- */

static void greedy_task(void *context, size_t k, size_t thread)
{
    struct greedy *g = context;
    struct greedy_machine *m = &g->machine[k];
    (void)thread;
    m->fresh = !m->done && m->scan.row && basis_join(&m->scan);
    if (!m->done && m->scan.judges)
        candidates_judge(&m->scan, m->judgement);
}

/* Scan each basis once: the kernel that is to join it joins, and the candidates
 * loaded are judged. */
static int greedy_scan(struct greedy *g, struct klr_error *err)
{
    struct klr_pool *pool = g->candidates.op->pool;
    size_t count = 0;
    int code = 0;
    for (size_t k = 0; k < g->machines; k++) {
        struct greedy_machine *m = &g->machine[k];
        if (m->done)
            continue;
        candidates_ask(&m->scan, m->judgement);
        g->list[count++] = &m->scan;
    }
    if (!scan_all(g->list, count, pool) ||
        !klr_pool_run(pool, g->machines, greedy_task, g))
        return 0;
    for (size_t k = 0; k < g->machines && !code; k++) {
        struct greedy_machine *m = &g->machine[k];
        if (!m->done && m->scan.row)
            code = greedy_taken(g, m, err);
        m->scan.row = NULL;
        if (!code && !m->done)
            code = greedy_choose(g, m, err);
    }
    return code;
}

/* Take what was chosen in the step before, and choose again. */
static int greedy_step(struct greedy *g, struct klr_error *err)
{
    size_t first = 0, most = g->all ? 0 : (size_t)g->params->candidates;
    most = g->given ? 1 : most;
    int code = greedy_begin(g, err);
    if (code || greedy_stopped(g))
        return code;
    g->drawn = random_choose(&g->random, g->left, g->count, most);
    do {
        size_t more = g->drawn - first;
        more = more < CANDIDATES ? more : CANDIDATES;
        greedy_order(g, g->left + first, more);
        if (candidates_load(&g->candidates, g->left + first, more))
            code = greedy_scan(g, err);
        first += more;
    } while (!code && first < g->drawn && !greedy_stopped(g));
    if (code || greedy_stopped(g))
        return code;
    if (g->all) {
        greedy_update(g);
        greedy_choose_all(g);
    }
    for (size_t k = 0; k < g->machines; k++)
        if (g->machine[k].best.found)
            g->machine[k].gone[g->machine[k].best.kernel] = 1;
    if (!g->all)
        greedy_forget(g);
    return code;
}

/* False if all machines are done. */
static bool greedy_goes_on(struct greedy *g)
{
    bool on = false;
    g->progress.violation = g->progress.objective = 0;
    for (size_t k = 0; k < g->machines; k++) {
        const struct greedy_machine *m = &g->machine[k];
        g->progress.objective += 2 / m->basis.sum;
        if (m->done)
            continue;
        on = true;
        g->progress.violation = fmax(g->progress.violation, m->measure);
    }
    return on;
}

/* Check that the bases may grow by another band each, which comes off the
 * tiles. Without that room the run fails if they are empty, and else ends. */
static int greedy_check_memory(struct greedy *g, struct klr_error *err)
{
    double budget = (double)params_budget(g->params);
    double bytes = g->fixed - params_beside;
    bool empty = true;
    for (size_t k = 0; k < g->machines; k++) {
        const struct basis *basis = &g->machine[k].basis;
        bytes += basis_bytes(basis);
        empty = empty && basis->count == 0;
    }
    if (g->all)
        operator_keep(g->problems->op, g->precision,
                      (size_t)fmin(budget, fmax(budget - bytes, 0)));
    else
        operator_yield(g->problems->op, bytes, budget);
    if (bytes <= budget)
        return 0;
    g->status = KLR_MEMORY_LIMIT;
    return empty ? params_refuse_budget(g->n, bytes, err) : 0;
}

static int greedy_descend(struct greedy *g, struct klr_error *err)
{
    struct klr_progress *progress = &g->progress;
    int code = greedy_check_memory(g, err);
    if (!code && g->all)
        code = greedy_judge_all(g, err);
    progress->target = g->params->eps;
    progress->iterations = -1; /* the first step chooses only */
    while (!code && greedy_goes_on(g)) {
        if (progress->iterations > 0)
            g->status = clock_check(g->problems->clock, g->params, progress,
                                    NULL, NULL);
        g->status = gravest(g->status, g->problems->clock->status);
        if (g->status == KLR_CONVERGED)
            code = greedy_check_memory(g, err);
        if (code || g->status != KLR_CONVERGED)
            break;
        code = greedy_step(g, err);
        progress->iterations++;
    }
    return code;
}

/* ---- solutions ---- */

/* The most that r can add to S, by the head of this file. */
static double greedy_extra(const struct greedy *g, size_t k)
{
    const struct greedy_machine *m = &g->machine[k];
    const double *v = m->solution->beta;
    double extra = 0;
    for (size_t i = 0; i < g->n; i++) {
        size_t at = i * g->machines + k;
        double r = g->product[at] - (m->basis.kernel ? 0 : g->penalty * v[i]);
        extra += r * (m->basis.kernel ? g->vector[at] : r);
    }
    return fmax(extra, 0) / g->penalty;
}

/* Room for products, if there is none yet. */
static bool greedy_vectors(struct greedy *g, struct klr_error *err)
{
    struct klr_arena *arena = &g->arena;
    return g->vector || (KLR_TAKE(arena, g->vector, g->n, g->machines, err) &&
                         KLR_TAKE(arena, g->product, g->n, g->machines, err));
}

/* The bounds of the objective of all expansions, which are the duals of the
 * solutions; these have v. */
static int greedy_bound(struct greedy *g, struct klr_error *err)
{
    struct klr_set set = g->problems->set;
    size_t machines = g->machines;
    if (!greedy_vectors(g, err))
        return KLR_E_MEMORY;
    for (size_t k = 0; k < machines; k++) {
        const struct greedy_machine *m = &g->machine[k];
        const double *v = m->solution->beta;
        basis_dual(&m->basis, g->column);
        for (size_t i = 0; i < g->n; i++)
            g->vector[i * machines + k] =
                g->column[i] - (m->basis.kernel ? g->penalty * v[i] : 0);
    }
    bool known = operator_apply(g->problems->op, set, set, g->vector, machines,
                                KLR_DOUBLE, g->product);
    for (size_t k = 0; k < machines && known; k++)
        g->machine[k].bound =
            2 / (g->machine[k].basis.sum + greedy_extra(g, k));
    return 0;
}

/* f (n) = K beta for the coefficients beta of the discriminant; if the clock
 * ends the product, f is what the basis has. */
static int greedy_outputs(const struct greedy *g, const struct basis *basis,
                          const double *beta, double *f, struct klr_error *err)
{
    int code = support_product(basis->problem, beta, KLR_DOUBLE, f, err);
    if (code || !greedy_stopped(g))
        return code;
    basis_outputs(basis, f);
    for (size_t i = 0; i < g->n; i++)
        f[i] *= 2 / basis->sum;
    return 0;
}

/* Fill in the solution of a machine. Its decision values, and the threshold,
 * are computed from the coefficients, as the model has them. A basis that ended
 * for want of a kernel has the optimum of all kernels, or the rank that
 * rounding leaves. */
static int greedy_finish(struct greedy *g, struct greedy_machine *m,
                         struct klr_error *err)
{
    const struct binary_problem *problem = m->basis.problem;
    struct solution *solution = m->solution;
    double mean = 0, *beta = solution->beta, *f = g->column;
    solution->status = m->ranked ? KLR_PRECISION_LIMIT
                       : m->done ? KLR_CONVERGED
                                 : g->status;
    if (!(m->basis.sum > 0) && greedy_stopped(g)) {
        fisher_share(problem, solution);
        return 0;
    }
    for (size_t i = 0; i < g->n; i++)
        beta[i] *= 2 / m->basis.sum;
    if (!fisher_tells(problem, m->basis.sum, g->largest, solution))
        return 0;
    int code = greedy_outputs(g, &m->basis, beta, f, err);
    if (code)
        return code;
    for (size_t i = 0; i < g->n; i++)
        mean += problem->y[i] > 0 ? problem->weight[i] * f[i] : 0;
    *solution = (struct solution){
        .beta = beta,
        .rho = mean / m->basis.total[0] - 1,
        .iterations = (long long)m->basis.count,
        .fall = m->measure,
        .precision = KLR_DOUBLE,
        .status = gravest(solution->status, problem->clock->status),
        .doubt = m->ranked ? KLR_DOUBT_RANK : KLR_DOUBT_NONE,
    };
    fisher_certify(problem, 1 / g->penalty, f, g->largest, 0, m->bound,
                   m->ranked ? fmax(g->params->eps, certificate_exact) : 0,
                   solution);
    return fisher_threshold(problem, f, &solution->rho, err);
}

static int greedy_finish_all(struct greedy *g, struct klr_error *err)
{
    bool bound = g->all;
    int code = 0;
    for (size_t k = 0; k < g->machines; k++) {
        struct greedy_machine *m = &g->machine[k];
        scan_smooth(&m->scan);
        basis_coefficients(&m->basis, m->solution->beta);
        m->bound = (double)NAN;
        bound = bound || m->ranked;
    }
    if (bound)
        code = greedy_bound(g, err);
    for (size_t k = 0; k < g->machines && !code; k++)
        code = greedy_finish(g, &g->machine[k], err);
    return code;
}

/* ---- start ---- */

/* Float entries err by some 2^-24 of K_ii, hence U'k by as much, and residuals
 * by twice that times |k| a step; with P = |a|^2 they are C at least. */
static enum klr_precision greedy_precision(const struct greedy *g,
                                           double diagonal)
{
    double norm = diagonal * sqrt((double)g->n);
    bool coef = g->params->regularizer == KLR_REGULARIZER_COEF;
    return coef && ldexp(diagonal * norm, -23) < 0.01 * g->penalty ? KLR_FLOAT
                                                                   : KLR_DOUBLE;
}

static int greedy_start(struct greedy *g, struct klr_error *err)
{
    const bool kernel = g->params->regularizer == KLR_REGULARIZER_KERNEL;
    operator_diagonal(g->problems->op, g->problems->set, g->ridge);
    for (size_t i = 0; i < g->n; i++) {
        if (!isfinite(g->ridge[i]))
            return klr_fail(err, KLR_E_DATA,
                            "the kernel overflows: scale the features");
        g->largest = fmax(g->largest, fabs(g->ridge[i]));
        g->ridge[i] = g->penalty * (kernel ? g->ridge[i] : 1);
        if (!g->given || g->problems->given[i])
            g->left[g->count++] = i;
    }
    g->precision = greedy_precision(g, g->largest);
    return 0;
}

static int machine_create(struct greedy *g, struct greedy_machine *m,
                          const struct binary_problem *problem,
                          struct solution *solution, struct klr_error *err)
{
    basis_create(&m->basis, problem, g->penalty, g->ridge, !g->all);
    m->solution = solution;
    m->measure = INFINITY;
    if (!KLR_TAKE_ZERO(&g->arena, m->gone, g->n, 1, err) ||
        !KLR_TAKE_ZERO(&g->arena, m->judgement, g->n, 1, err))
        return KLR_E_MEMORY;
    return scan_create(&m->scan, &m->basis, &g->candidates, err);
}

static void machine_free(struct greedy_machine *m)
{
    basis_free(&m->basis);
    scan_free(&m->scan);
    klr_free(m->past);
}

/* For value t of the path of C. */
static int greedy_create(struct greedy *g,
                         const struct binary_problem *problems, size_t machines,
                         size_t t, struct solution *const *solution,
                         struct klr_error *err)
{
    struct klr_arena *arena = &g->arena;
    const struct klr_params *params = problems->params;
    size_t n = problems->n;
    *g = (struct greedy){
        .problems = problems,
        .params = params,
        .n = n,
        .machines = machines,
        .penalty = 1 / params->cost.value[t],
        .given = problems->given,
        .all = !problems->given && (size_t)params->candidates >= n,
        .random = (uint64_t)params->seed,
    };
    size_t each = sizeof(double) + 1;
    each += sizeof(struct judgement) + (g->all ? 2 * sizeof(double) : 0);
    g->fixed = candidates_bytes(n) + (double)(each * machines * n);
    int code =
        candidates_create(&g->candidates, problems, machines, arena, err);
    if (code || !KLR_TAKE(arena, g->ridge, n, 1, err) ||
        !KLR_TAKE(arena, g->left, n, 1, err) ||
        !KLR_TAKE_ZERO(arena, g->met, n, 1, err) ||
        (g->all && !greedy_vectors(g, err)) ||
        !KLR_TAKE(arena, g->chosen, machines, 1, err) ||
        !KLR_TAKE(arena, g->column, n, 1, err) ||
        !KLR_TAKE(arena, g->list, machines, 1, err) ||
        !KLR_TAKE_ZERO(arena, g->machine, machines, 1, err))
        return KLR_E_MEMORY;
    code = greedy_start(g, err);
    for (size_t k = 0; k < machines && !code; k++)
        code = machine_create(g, &g->machine[k], &problems[k], &solution[k][t],
                              err);
    return code;
}

static void greedy_free(struct greedy *g)
{
    for (size_t k = 0; k < g->machines && g->machine; k++)
        machine_free(&g->machine[k]);
    klr_arena_free(&g->arena);
}

/* Each C begins anew: which kernels are worth taking depends on it. */
static int greedy_solve(const struct binary_problem *problems, size_t machines,
                        struct solution *const *solution, struct klr_error *err)
{
    int code = 0;
    for (size_t t = 0; t < problems->params->cost.count && !code; t++) {
        struct greedy g;
        clock_path(problems->clock, t, problems->params->cost.count);
        code = greedy_create(&g, problems, machines, t, solution, err);
        if (!code)
            code = greedy_descend(&g, err);
        if (!code)
            code = greedy_finish_all(&g, err);
        greedy_free(&g);
    }
    return code;
}
