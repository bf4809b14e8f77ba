/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which kernel joins the basis of a machine next, of those that are drawn or of
 * all, and how it does.
 */
#include "solver/fisher/fisher_greedy.h"

/* ---- choosing ---- */

/* The gain of a candidate by the rule of selection. */
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
    if (!candidates_load_exact(c, g->machines, &kernel, 1))
        return 0;
    int code = basis_judge_exact(&m->scan, g->machines, kernel,
                                 &m->judgement[kernel], err);
    if (!code)
        greedy_consider(g, m, kernel, &m->judgement[kernel]);
    return code;
}

/* Set *kernel to the candidate that promises most, among those that floats do
 * not judge well enough. False if none promises more than the best has. */
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

static int greedy_choose(struct greedy *g, struct greedy_machine *m,
                         struct klr_error *err)
{
    const struct candidates *c = &g->candidates;
    size_t kernel = 0;
    int code = 0;
    for (size_t q = 0; q < c->count; q++)
        if (judgement_is_clear(&m->judgement[c->index[q]]))
            greedy_consider(g, m, c->index[q], &m->judgement[c->index[q]]);
    while (!code && !greedy_stopped(g) && greedy_doubts(g, m, &kernel))
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

/* The machine is at its end, as no kernel was found that adds to its basis: if
 * points are given, all of them are taken. */
static void greedy_end_without(struct greedy_machine *m, bool given)
{
    m->ranked = m->ranked || (!given && !m->done && !m->best.found);
    m->done = m->done || !m->best.found;
}

/* ---- taking what was chosen ---- */

/* Exact rows of what machines have chosen; of others, some row. */
static bool greedy_fetch(struct greedy *g)
{
    for (size_t k = 0; k < g->machines; k++)
        g->chosen[k] = g->machine[k].best.kernel;
    return candidates_load_exact(&g->candidates, 0, g->chosen, g->machines);
}

static bool greedy_takes(const struct greedy_machine *m)
{
    return !m->done && m->best.found;
}

static void greedy_begin_task(void *context, size_t k, size_t thread)
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

static int greedy_begin(struct greedy *g, struct klr_error *err)
{
    struct klr_pool *pool = g->candidates.op->pool;
    size_t count = 0;
    if (!greedy_fetch(g))
        return 0;
    for (size_t k = 0; k < g->machines; k++)
        if ((greedy_takes(&g->machine[k]) &&
             basis_grow(&g->machine[k].basis, err)) ||
            scan_grow(&g->machine[k].scan, err))
            return KLR_E_MEMORY;
    klr_pool_run(pool, g->machines, greedy_begin_task, g);
    for (size_t k = 0; k < g->machines; k++)
        if (g->machine[k].exact)
            g->list[count++] = &g->machine[k].scan;
    bool whole = scan_all(g->list, count, pool);
    for (size_t k = 0; k < count && whole; k++)
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
        (!g->given && m->measure < params->eps) ||
        (params->max_basis > 0 && m->basis.count >= (size_t)params->max_basis);
    return code;
}

/* ---- a step with candidates that are drawn ---- */

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
        greedy_end_without(&g->machine[k], g->given);
}

/* ---- a step with all kernels as candidates ---- */

static int greedy_judge_all(struct greedy *g, struct klr_error *err)
{
    struct candidates *c = &g->candidates;
    int code = 0;
    for (size_t first = 0, count; first < g->n && !code; first += count) {
        count = g->n - first < CANDIDATES ? g->n - first : CANDIDATES;
        if (!candidates_load_exact(c, 0, g->left + first, count))
            return 0;
        for (size_t k = 0; k < g->machines && !code; k++)
            for (size_t q = 0; q < count && !code; q++) {
                struct greedy_machine *m = &g->machine[k];
                code = basis_judge_exact(&m->scan, q, first + q,
                                         &m->judgement[first + q], err);
            }
    }
    return code;
}

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
        if (greedy_stopped(g))
            return;
        for (size_t i = 0; m->fresh && i < g->n; i++)
            g->vector[i * fresh + at] =
                basis_entry(&m->basis, m->basis.count - 1, i);
    }
    if (!operator_apply(g->problems->op, set, set, g->vector, fresh,
                        g->precision, g->product))
        return;
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
        greedy_end_without(m, g->given);
    }
}
