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
#include "solver/internal.h"

#include "solver/fisher_basis.h"

/* A candidate and what speaks for it. */
struct greedy_choice {
    bool found;
    size_t kernel;
    double value, gradient;
};

struct greedy_machine {
    struct basis basis;
    struct scan scan; /* through it */
    struct solution *solution;
    bool done, fresh;    /* at its end; with a new function */
    bool exact;          /* what it takes wants a line of doubles */
    unsigned char *gone; /* (n) kernels that are taken or add nothing */
    struct greedy_choice best;
    double *past; /* (kernels) S, or the gradients that they had */
    size_t past_room;
    double measure;              /* what eps is compared with */
    struct judgement *judgement; /* (n) of kernels that have been drawn */
};

struct greedy {
    const struct binary *problems;
    const struct klr_params *params;
    size_t n, machines;
    double penalty; /* C = 1/c */
    double *ridge;  /* (n) C R_jj */
    struct greedy_machine *machine;
    struct candidates candidates;
    enum klr_precision precision; /* of products, if all are candidates */
    double *vector, *product;     /* (n, machines) */
    double *column;               /* (n) of a solution */
    bool all;
    size_t *left, count; /* kernels that some machine may take, */
    size_t drawn;        /* the first of them, in this step */
    size_t *met;         /* (n) the step that drew a kernel last; 0: none */
    size_t *chosen;      /* (machines) */
    struct scan **list;  /* (machines) those that are made together */
    uint64_t random;
    double fixed; /* bytes */
    struct klr_progress progress;
    enum klr_status status;
};

/* ---- choosing ---- */

/* What it gains by the rule of selection. */
static double greedy_value(const struct greedy *g, const struct judgement *j)
{
    double value = fabs(j->gradient);
    if (g->params->selection != KLR_SELECTION_OBJECTIVE)
        return value;
    return j->residual > 0 ? value * value / j->residual : INFINITY;
}

/* The kernel becomes the best if it is better than the best so far. */
static void greedy_consider(const struct greedy *g, struct greedy_machine *m,
                            size_t kernel, const struct judgement *j)
{
    if (m->gone[kernel])
        return;
    if (!basis_adds(j->residual, j->norm)) {
        m->gone[kernel] = 1;
        return;
    }
    double value = greedy_value(g, j);
    if (!m->best.found || value > m->best.value)
        m->best = (struct greedy_choice){true, kernel, value, j->gradient};
}

/* Judge a candidate again that floats do not tell enough of. */
static int greedy_judge_again(struct greedy *g, struct greedy_machine *m,
                              size_t kernel, struct klr_error *err)
{
    struct candidates *c = &g->candidates;
    candidates_load_exact(c, g->machines, &kernel, 1);
    int code = basis_judge_exact(&m->scan, g->machines, kernel,
                                 &m->judgement[kernel], err);
    if (!code)
        greedy_consider(g, m, kernel, &m->judgement[kernel]);
    return code;
}

/* Of the candidates that floats do not tell enough of, the one that promises
 * most; false if that is not more than what the best has. */
static bool greedy_doubts(const struct greedy *g,
                          const struct greedy_machine *m, size_t *kernel)
{
    const struct candidates *c = &g->candidates;
    double most = m->best.found ? m->best.value : -1;
    bool doubts = false;
    for (size_t q = 0; q < c->count; q++) {
        const struct judgement *j = &m->judgement[c->index[q]];
        if (m->gone[c->index[q]] || judgement_is_clear(j))
            continue;
        struct judgement promise = judgement_promise(&m->basis, j);
        if (greedy_value(g, &promise) > most) {
            most = greedy_value(g, &promise);
            *kernel = c->index[q];
            doubts = true;
        }
    }
    return doubts;
}

/* Consider the candidates loaded, which have been judged. */
static int greedy_choose(struct greedy *g, struct greedy_machine *m,
                         struct klr_error *err)
{
    const struct candidates *c = &g->candidates;
    size_t kernel;
    int code = 0;
    for (size_t q = 0; q < c->count; q++)
        if (judgement_is_clear(&m->judgement[c->index[q]]))
            greedy_consider(g, m, c->index[q], &m->judgement[c->index[q]]);
    while (!code && greedy_doubts(g, m, &kernel))
        code = greedy_judge_again(g, m, kernel, err);
    return code;
}

/* ---- the end of a machine ---- */

/* After the step that took the best candidate. */
static int greedy_measure(const struct greedy *g, struct greedy_machine *m,
                          struct klr_error *err)
{
    size_t count = m->basis.count, window = (size_t)g->params->window;
    double sum = 0;
    if (KLR_GROW(m->past, m->past_room, count, err))
        return KLR_E_MEMORY;
    double *past = m->past;
    if (g->params->selection == KLR_SELECTION_OBJECTIVE) {
        past[count - 1] = m->basis.sum;
        if (count > window)
            m->measure =
                (m->basis.sum / past[count - 1 - window] - 1) / (double)window;
        return 0;
    }
    past[count - 1] = fabs(m->best.gradient);
    for (size_t k = count; k > 0 && k + window > count; k--)
        sum += past[k - 1];
    if (count >= window)
        m->measure = sum / (past[0] * (double)window);
    return 0;
}

/* ---- taking what was chosen ---- */

/* Exact rows of what machines have chosen; of others, some row. */
static void greedy_fetch(struct greedy *g)
{
    for (size_t k = 0; k < g->machines; k++)
        g->chosen[k] = g->machine[k].best.kernel;
    candidates_load_exact(&g->candidates, 0, g->chosen, g->machines);
}

static bool greedy_takes(const struct greedy_machine *m)
{
    return !m->done && m->best.found;
}

static void greedy_begin_turn(void *context, size_t k, size_t thread)
{
    struct greedy *g = context;
    struct greedy_machine *m = &g->machine[k];
    (void)thread;
    m->exact = false;
    if (!greedy_takes(m))
        return;
    scan_kernel(&m->scan, k, m->best.kernel);
    m->exact = !basis_begin(&m->scan);
}

/* What machines have chosen is ready to join. */
static int greedy_begin(struct greedy *g, struct klr_error *err)
{
    struct klr_pool *pool = g->candidates.op->pool;
    size_t count = 0;
    greedy_fetch(g);
    for (size_t k = 0; k < g->machines; k++)
        if ((greedy_takes(&g->machine[k]) &&
             basis_grow(&g->machine[k].basis, err)) ||
            scan_grow(&g->machine[k].scan, err))
            return KLR_E_MEMORY;
    klr_pool_run(pool, g->machines, greedy_begin_turn, g);
    for (size_t k = 0; k < g->machines; k++)
        if (g->machine[k].exact)
            g->list[count++] = &g->machine[k].scan;
    scan_all(g->list, count, pool);
    for (size_t k = 0; k < count; k++)
        basis_begin_exact(g->list[k]);
    return 0;
}

static int greedy_taken(struct greedy *g, struct greedy_machine *m,
                        struct klr_error *err)
{
    const struct klr_params *params = g->params;
    int code = m->fresh ? greedy_measure(g, m, err) : 0;
    m->best.found = false;
    m->done =
        m->measure < params->eps ||
        (params->max_basis > 0 && m->basis.count >= (size_t)params->max_basis);
    return code;
}

/* ---- a step with candidates that are drawn ---- */

/* Of kernels drawn, those first that were drawn least recently: panels of them
 * have about the same functions to meet. */
static void greedy_order(struct greedy *g, size_t *kernel, size_t count)
{
    for (size_t k = 1; k < count; k++) {
        size_t moved = kernel[k], to = k;
        for (; to > 0 && g->met[kernel[to - 1]] > g->met[moved]; to--)
            kernel[to] = kernel[to - 1];
        kernel[to] = moved;
    }
    for (size_t k = 0; k < count; k++)
        g->met[kernel[k]] = (size_t)(g->progress.iterations + 2);
}

/* Forget those drawn that no machine can take any more. */
static void greedy_forget(struct greedy *g)
{
    for (size_t drawn = g->drawn; drawn-- > 0;) {
        bool gone = true;
        for (size_t k = 0; k < g->machines && gone; k++)
            gone = g->machine[k].done || g->machine[k].gone[g->left[drawn]];
        if (gone)
            g->left[drawn] = g->left[--g->count];
    }
    for (size_t k = 0; k < g->machines && g->count == 0; k++)
        g->machine[k].done = g->machine[k].done || !g->machine[k].best.found;
}

/* ---- a step with all kernels as candidates ---- */

/* All kernels, judged by the empty bases. */
static int greedy_judge_all(struct greedy *g, struct klr_error *err)
{
    struct candidates *c = &g->candidates;
    int code = 0;
    for (size_t first = 0, count; first < g->n && !code; first += count) {
        count = g->n - first < CANDIDATES ? g->n - first : CANDIDATES;
        candidates_load_exact(c, 0, g->left + first, count);
        for (size_t k = 0; k < g->machines && !code; k++)
            for (size_t q = 0; q < count && !code; q++) {
                struct greedy_machine *m = &g->machine[k];
                code = basis_judge_exact(&m->scan, q, first + q,
                                         &m->judgement[first + q], err);
            }
    }
    return code;
}

/* New functions of the machines change what is known of all kernels. */
static void greedy_update(struct greedy *g)
{
    struct klr_set set = g->problems->set;
    size_t fresh = 0, at = 0;
    for (size_t k = 0; k < g->machines; k++)
        fresh += g->machine[k].fresh;
    if (fresh == 0)
        return;
    for (size_t k = 0; k < g->machines; at += g->machine[k++].fresh) {
        struct greedy_machine *m = &g->machine[k];
        scan_smooth(&m->scan);
        for (size_t i = 0; m->fresh && i < g->n; i++)
            g->vector[i * fresh + at] =
                basis_entry(&m->basis, m->basis.count - 1, i);
    }
    operator_apply(g->problems->op, set, set, g->vector, fresh, g->precision,
                   g->product);
    at = 0;
    for (size_t k = 0; k < g->machines; at += g->machine[k++].fresh)
        for (size_t i = 0; g->machine[k].fresh && i < g->n; i++)
            judgement_meet(
                &g->machine[k].basis, i, g->machine[k].basis.count - 1,
                g->product[i * fresh + at], &g->machine[k].judgement[i]);
}

static void greedy_choose_all(struct greedy *g)
{
    for (size_t k = 0; k < g->machines; k++) {
        struct greedy_machine *m = &g->machine[k];
        for (size_t i = 0; i < g->n && !m->done; i++)
            greedy_consider(g, m, i, &m->judgement[i]);
        m->done = m->done || !m->best.found;
    }
}

/* ---- steps ---- */

static void greedy_turn(void *context, size_t k, size_t thread)
{
    struct greedy *g = context;
    struct greedy_machine *m = &g->machine[k];
    (void)thread;
    m->fresh = !m->done && m->scan.row && basis_join(&m->scan);
    if (!m->done && m->scan.judges)
        candidates_judge(&m->scan, m->judgement);
}

/* One scan through each basis: what is to join it does, and the candidates
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
    scan_all(g->list, count, pool);
    klr_pool_run(pool, g->machines, greedy_turn, g);
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
    int code = greedy_begin(g, err);
    if (code)
        return code;
    g->drawn = random_choose(&g->random, g->left, g->count, most);
    do {
        size_t more = g->drawn - first;
        more = more < CANDIDATES ? more : CANDIDATES;
        greedy_order(g, g->left + first, more);
        candidates_load(&g->candidates, g->left + first, more);
        code = greedy_scan(g, err);
        first += more;
    } while (!code && first < g->drawn);
    if (!code && g->all) {
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

/* Whether the bases may grow by another band each, which comes off the tiles;
 * where they hold nothing yet, an error if not. */
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

/* The bounds of the objective of all expansions, from the head of this file;
 * the solutions have v. */
static void greedy_bound(struct greedy *g)
{
    struct klr_set set = g->problems->set;
    size_t machines = g->machines;
    for (size_t k = 0; k < machines; k++) {
        const struct greedy_machine *m = &g->machine[k];
        const double *v = m->solution->beta;
        basis_dual(&m->basis, g->column);
        for (size_t i = 0; i < g->n; i++)
            g->vector[i * machines + k] =
                g->column[i] - (m->basis.kernel ? g->penalty * v[i] : 0);
    }
    operator_apply(g->problems->op, set, set, g->vector, machines, KLR_DOUBLE,
                   g->product);
    for (size_t k = 0; k < machines; k++) {
        const struct greedy_machine *m = &g->machine[k];
        const double *v = m->solution->beta;
        double extra = 0;
        for (size_t i = 0; i < g->n; i++) {
            size_t at = i * machines + k;
            double r =
                g->product[at] - (m->basis.kernel ? 0 : g->penalty * v[i]);
            extra += r * (m->basis.kernel ? g->vector[at] : r);
        }
        m->solution->dual = 2 / (m->basis.sum + fmax(extra, 0) / g->penalty);
    }
}

static int greedy_finish(struct greedy *g, struct greedy_machine *m,
                         struct klr_error *err)
{
    const struct basis *basis = &m->basis;
    struct solution *solution = m->solution;
    double scale = 2 / basis->sum, mean = 0, *f = g->column;
    if (!(basis->sum > 0))
        return klr_fail(err, KLR_E_DATA,
                        "no kernel tells the means of the classes apart");
    solution->primal = scale;
    solution->iterations = (long long)basis->count;
    solution->precision = KLR_DOUBLE;
    solution->status = m->done ? KLR_CONVERGED : g->status;
    basis_outputs(basis, f);
    for (size_t i = 0; i < g->n; i++) {
        solution->beta[i] *= scale;
        f[i] *= scale;
    }
    for (size_t k = 0; k < basis->count; k++)
        mean += scale * basis->part[k].z * basis->part[k].mean[0];
    solution->rho = mean - 1;
    return fisher_threshold(basis->problem, f, &solution->rho, err);
}

static int greedy_finish_all(struct greedy *g, struct klr_error *err)
{
    int code = 0;
    for (size_t k = 0; k < g->machines; k++) {
        struct greedy_machine *m = &g->machine[k];
        scan_smooth(&m->scan);
        basis_coefficients(&m->basis, m->solution->beta);
        m->solution->dual = (double)NAN;
    }
    if (g->all)
        greedy_bound(g);
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
    double most = 0;
    operator_diagonal(g->problems->op, g->problems->set, g->ridge);
    for (size_t i = 0; i < g->n; i++) {
        if (!isfinite(g->ridge[i]))
            return klr_fail(err, KLR_E_DATA,
                            "the kernel overflows: scale the features");
        most = fmax(most, fabs(g->ridge[i]));
        g->ridge[i] = g->penalty * (kernel ? g->ridge[i] : 1);
        g->left[i] = i;
    }
    g->precision = greedy_precision(g, most);
    return 0;
}

static int machine_create(const struct greedy *g, struct greedy_machine *m,
                          const struct binary *problem,
                          struct solution *solution, struct klr_error *err)
{
    basis_create(&m->basis, problem, g->penalty, g->ridge, !g->all);
    m->solution = solution;
    m->measure = INFINITY;
    if (!(m->gone = klr_zalloc(g->n, sizeof *m->gone, err)) ||
        !(m->judgement = klr_zalloc(g->n, sizeof *m->judgement, err)))
        return KLR_E_MEMORY;
    return scan_create(&m->scan, &m->basis, &g->candidates, err);
}

static void machine_free(struct greedy_machine *m)
{
    basis_free(&m->basis);
    scan_free(&m->scan);
    klr_free(m->past);
    klr_free(m->gone);
    klr_free(m->judgement);
}

/* For value t of the path of C. */
static int greedy_create(struct greedy *g, const struct binary *problems,
                         size_t machines, size_t t,
                         struct solution *const *solution,
                         struct klr_error *err)
{
    const struct klr_params *params = problems->params;
    size_t n = problems->n;
    *g = (struct greedy){
        .problems = problems,
        .params = params,
        .n = n,
        .machines = machines,
        .penalty = 1 / params->cost.value[t],
        .all = (size_t)params->candidates >= n,
        .count = n,
        .random = (uint64_t)params->seed,
    };
    size_t wide = g->all ? machines : 0, each = sizeof(double) + 1;
    each += sizeof(struct judgement) + (g->all ? 2 * sizeof(double) : 0);
    g->fixed = candidates_bytes(n) + (double)(each * machines * n);
    int code = candidates_create(&g->candidates, problems, machines, err);
    if (code || !(g->ridge = klr_alloc(n, sizeof *g->ridge, err)) ||
        !(g->left = klr_alloc(n, sizeof *g->left, err)) ||
        !(g->met = klr_zalloc(n, sizeof *g->met, err)) ||
        !(g->vector = klr_alloc(n * wide, sizeof *g->vector, err)) ||
        !(g->product = klr_alloc(n * wide, sizeof *g->product, err)) ||
        !(g->chosen = klr_alloc(machines, sizeof *g->chosen, err)) ||
        !(g->column = klr_alloc(n, sizeof *g->column, err)) ||
        !(g->list = klr_alloc(machines, sizeof *g->list, err)) ||
        !(g->machine = klr_zalloc(machines, sizeof *g->machine, err)))
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
    klr_free(g->machine);
    candidates_free(&g->candidates);
    klr_free(g->ridge);
    klr_free(g->left);
    klr_free(g->met);
    klr_free(g->chosen);
    klr_free(g->list);
    klr_free(g->column);
    klr_free(g->vector);
    klr_free(g->product);
}

/* Each C begins anew: which kernels are worth taking depends on it. */
static int greedy_solve(const struct binary *problems, size_t machines,
                        struct solution *const *solution, struct klr_error *err)
{
    int code = 0;
    for (size_t t = 0; t < problems->params->cost.count && !code; t++) {
        struct greedy g;
        code = greedy_create(&g, problems, machines, t, solution, err);
        if (!code)
            code = greedy_descend(&g, err);
        if (!code)
            code = greedy_finish_all(&g, err);
        greedy_free(&g);
    }
    return code;
}
