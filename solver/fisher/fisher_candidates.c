/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels that may join a basis of fisher_basis.c, many of them judged at once:
 * U'k for all of them is a product of matrices, of float entries and the higher
 * parts of U, which are summed in double over short runs of examples. Those of
 * which that cannot tell enough are the caller's to judge again. Judgements are
 * kept: a candidate meets the functions that have joined since it was judged
 * last.
 */
#include "solver/fisher/fisher_basis.h"

/* ---- candidates ---- */

static int candidates_create(struct candidates *c,
                             const struct binary_problem *problem,
                             size_t machines, struct klr_arena *arena,
                             struct klr_error *err)
{
    size_t n = problem->n;
    size_t rows = (machines < CANDIDATES ? CANDIDATES : machines) + 1;
    c->op = problem->op;
    c->set = problem->set;
    c->n = n;
    if (!KLR_TAKE(arena, c->row, n, CANDIDATES, err) ||
        !KLR_TAKE(arena, c->column, n, CANDIDATES, err) ||
        !KLR_TAKE(arena, c->exact, n, rows, err))
        return KLR_E_MEMORY;
    return 0;
}

static double candidates_bytes(size_t n)
{
    return (2.0 * sizeof(float) + sizeof(double)) * CANDIDATES * (double)n;
}

static bool candidates_fetch(struct candidates *c, const size_t *index,
                             size_t count, enum klr_precision precision,
                             void *out)
{
    size_t position[CANDIDATES], now;
    size_t element = klr_precision_bytes(precision);
    bool whole = true;
    for (size_t first = 0; first < count && whole; first += now) {
        now = count - first < CANDIDATES ? count - first : CANDIDATES;
        for (size_t q = 0; q < now; q++)
            position[q] = set_position(c->set, index[first + q]);
        whole = operator_rows(c->op, position, now, c->set, precision,
                              (char *)out + first * c->n * element, c->n);
    }
    return whole;
}

static void candidates_shift(void *context, size_t q, size_t thread)
{
    struct candidates *c = context;
    const float *row = c->row + q * c->n;
    double sum = 0;
    (void)thread;
    for (size_t i = 0; i < c->n; i++)
        sum += (double)row[i];
    c->shift[q] = (float)(sum / (double)c->n);
}

/* Rows become columns, less the mean of each: the moments keep more digits. */
static void candidates_task(void *context, size_t strip, size_t thread)
{
    const struct candidates *c = context;
    size_t begin = strip * BASIS_STRIP, end = begin + BASIS_STRIP;
    (void)thread;
    end = end < c->n ? end : c->n;
    for (size_t panel = 0; panel < c->panels; panel++)
        for (size_t i = begin; i < end; i++) {
            float *to = c->column + (panel * c->n + i) * KLR_SLIM;
            for (size_t k = 0, q = panel * KLR_SLIM; k < KLR_SLIM; k++, q++)
                to[k] = q < c->count ? c->row[q * c->n + i] - c->shift[q] : 0;
        }
}

static bool candidates_load(struct candidates *c, const size_t *index,
                            size_t count)
{
    c->index = index;
    c->count = count;
    c->panels = (count + KLR_SLIM - 1) / KLR_SLIM;
    return candidates_fetch(c, index, count, KLR_FLOAT, c->row) &&
           klr_pool_run(c->op->pool, count, candidates_shift, c) &&
           klr_pool_run(c->op->pool, (c->n + BASIS_STRIP - 1) / BASIS_STRIP,
                        candidates_task, c);
}

static bool candidates_load_exact(struct candidates *c, size_t row,
                                  const size_t *index, size_t count)
{
    return candidates_fetch(c, index, count, KLR_DOUBLE, c->exact + row * c->n);
}

/* ---- judging ---- */

static void judgement_begin(const struct scan *s, size_t q, struct judgement *j)
{
    const struct basis *basis = s->basis;
    const struct moment *moment = s->moment;
    double mean[2], norm = moment->square[q];
    for (size_t side = 0; side < 2; side++) {
        mean[side] = moment->sum[side][q] / basis->total[side];
        norm -= mean[side] * moment->sum[side][q];
    }
    j->norm = j->residual = fmax(norm, 0) + basis->ridge[s->c->index[q]];
    j->gradient = mean[0] - mean[1];
    j->known = true;
}

static void candidates_ask(struct scan *s, const struct judgement *judgement)
{
    s->judges = s->c->count > 0;
    for (size_t panel = 0; panel < PANELS; panel++) {
        s->met[panel] = SIZE_MAX;
        s->fresh[panel] = false;
    }
    for (size_t q = 0; q < s->c->count; q++) {
        const struct judgement *old = &judgement[s->c->index[q]];
        size_t panel = q / KLR_SLIM;
        s->met[panel] = old->count < s->met[panel] ? old->count : s->met[panel];
        s->fresh[panel] = s->fresh[panel] || !old->known;
    }
}

static void candidates_judge(const struct scan *s, struct judgement *judgement)
{
    const struct basis *basis = s->basis;
    const struct candidates *c = s->c;
    for (size_t q = 0; q < c->count; q++) {
        struct judgement *of = &judgement[c->index[q]];
        const double *line =
            s->product + q / KLR_SLIM * SCAN_PANEL + q % KLR_SLIM;
        if (!of->known)
            judgement_begin(s, q, of);
        of->exact = of->exact && of->count == basis->count;
        for (size_t k = of->count; k < basis->count; k++)
            judgement_meet(
                basis, c->index[q], k,
                line[k / KLR_BAND * SCAN_BAND + k % KLR_BAND * KLR_SLIM], of);
    }
}

static bool judgement_is_clear(const struct judgement *j)
{
    return j->exact || j->residual > 1e-4 * j->norm;
}

static struct judgement judgement_promise(const struct basis *basis,
                                          const struct judgement *j)
{
    const double blur = 0x1p-19; /* three times the most that was met */
    struct judgement promise = *j;
    promise.residual = fmax(j->residual - blur * j->norm, 0);
    promise.gradient = fabs(j->gradient) + blur * sqrt(j->norm * basis->sum);
    return promise;
}
