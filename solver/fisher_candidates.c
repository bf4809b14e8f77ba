/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels that may join a basis of fisher_basis.c, many of them judged at once:
 * U'k for all of them is a product of matrices, of float entries and the higher
 * parts of U, which are summed in double over short runs of examples. Those of
 * which that cannot tell enough are the caller's to judge again. Judgements are
 * kept: a candidate meets the functions that have joined since it was judged
 * last.
 */
#include "solver/internal.h"

#include "solver/fisher_basis.h"

enum {
    JUDGING_CHUNK = 2 * BASIS_STRIP, /* examples that float sums run over */
    JUDGING_PANELS = CANDIDATES / KLR_SLIM,
    JUDGING_PANEL_SUMS = KLR_BAND * KLR_SLIM,
    JUDGING_BAND_SUMS = JUDGING_PANELS * JUDGING_PANEL_SUMS,
    JUDGING_ROWS = 12 /* functions that a product takes at once */
};

/* ---- candidates ---- */

static int candidates_create(struct candidates *c, const struct binary *problem,
                             size_t machines, struct klr_error *err)
{
    size_t n = problem->n;
    size_t rows = (machines < CANDIDATES ? CANDIDATES : machines) + 1;
    c->op = problem->op;
    c->set = problem->set;
    c->n = n;
    c->groups = basis_groups(n);
    if (!(c->row = klr_alloc(n * CANDIDATES, sizeof *c->row, err)) ||
        !(c->column = klr_alloc(n * CANDIDATES, sizeof *c->column, err)) ||
        !(c->exact = klr_alloc(n * rows, sizeof *c->exact, err)) ||
        !(c->moment = klr_alloc(c->groups, sizeof *c->moment, err)))
        return KLR_E_MEMORY;
    return 0;
}

static void candidates_free(struct candidates *c)
{
    klr_free(c->row);
    klr_free(c->column);
    klr_free(c->exact);
    klr_free(c->moment);
    klr_free(c->work);
}

static double candidates_bytes(size_t n)
{
    return (2.0 * sizeof(float) + sizeof(double)) * CANDIDATES * (double)n;
}

static int candidates_work(struct candidates *c, size_t size,
                           struct klr_error *err)
{
    double *work = klr_grow(c->work, &c->work_room, size, sizeof *work, err);
    if (!work)
        return KLR_E_MEMORY;
    c->work = work;
    return 0;
}

static void candidates_fetch(struct candidates *c, const size_t *index,
                             size_t count, enum klr_precision precision,
                             void *out)
{
    size_t position[CANDIDATES], now;
    size_t element = klr_precision_bytes(precision);
    for (size_t first = 0; first < count; first += now) {
        now = count - first < CANDIDATES ? count - first : CANDIDATES;
        for (size_t q = 0; q < now; q++)
            position[q] = set_position(c->set, index[first + q]);
        operator_rows(c->op, position, now, c->set, precision,
                      (char *)out + first * c->n * element, c->n);
    }
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
static void candidates_turn(void *context, size_t group, size_t thread)
{
    const struct candidates *c = context;
    size_t begin = group * basis_group(c->n), end = begin + basis_group(c->n);
    (void)thread;
    end = end < c->n ? end : c->n;
    for (size_t panel = 0; panel < c->panels; panel++)
        for (size_t i = begin; i < end; i++) {
            float *to = c->column + (panel * c->n + i) * KLR_SLIM;
            for (size_t k = 0, q = panel * KLR_SLIM; k < KLR_SLIM; k++, q++)
                to[k] = q < c->count ? c->row[q * c->n + i] - c->shift[q] : 0;
        }
}

static void candidates_load(struct candidates *c, const size_t *index,
                            size_t count)
{
    c->index = index;
    c->count = count;
    c->panels = (count + KLR_SLIM - 1) / KLR_SLIM;
    candidates_fetch(c, index, count, KLR_FLOAT, c->row);
    klr_pool_run(c->op->pool, count, candidates_shift, c);
    klr_pool_run(c->op->pool, c->groups, candidates_turn, c);
}

static void candidates_load_exact(struct candidates *c, size_t row,
                                  const size_t *index, size_t count)
{
    candidates_fetch(c, index, count, KLR_DOUBLE, c->exact + row * c->n);
}

/* ---- judging many ---- */

struct judging {
    const struct basis *basis;
    const struct candidates *c;
    const struct klr_dense *dense;
    size_t met[JUDGING_PANELS]; /* functions that all of a panel have met */
    bool fresh[JUDGING_PANELS]; /* some of a panel have met none */
};

static void judging_moments(const struct judging *j, size_t panel, size_t begin,
                            size_t end, struct moment *moment)
{
    const struct binary *problem = j->basis->problem;
    const float *column = j->c->column + panel * j->c->n * KLR_SLIM;
    for (size_t i = begin; i < end; i++) {
        const float *restrict from = column + i * KLR_SLIM;
        double *restrict sum =
            moment->sum[basis_class(j->basis, i)] + panel * KLR_SLIM;
        double *restrict square = moment->square + panel * KLR_SLIM;
        double w = problem->weight[i];
        for (size_t q = 0; q < KLR_SLIM; q++) {
            double x = (double)from[q], wx = w * x;
            sum[q] += wx;
            square[q] += wx * x;
        }
    }
}

/* True if a panel has not met all functions of a band. */
static bool judging_needs(const struct judging *j, size_t t, size_t panel)
{
    size_t end = (t + 1) * KLR_BAND, count = j->basis->count;
    return panel < j->c->panels && j->met[panel] < (end < count ? end : count);
}

/* U'k of a band and a panel over some examples, but for functions that it has
 * met: full register blocks take a dozen rows. */
static void judging_products(const struct judging *j, size_t t, size_t panel,
                             size_t begin, size_t end, double *out)
{
    const struct basis *basis = j->basis;
    const float *column = j->c->column + panel * j->c->n * KLR_SLIM;
    size_t met = j->met[panel], top = t * KLR_BAND;
    size_t from = met > top ? (met - top) / JUDGING_ROWS * JUDGING_ROWS : 0;
    size_t rows =
        (basis->count - top + JUDGING_ROWS - 1) / JUDGING_ROWS * JUDGING_ROWS;
    _Alignas(64) float sum[JUDGING_PANEL_SUMS];
    rows = (rows < KLR_BAND ? rows : KLR_BAND) - from;
    memset(sum, 0, rows * KLR_SLIM * sizeof *sum);
    for (size_t i = begin; i < end; i += BASIS_STRIP)
        j->dense->slim(rows, end - i < BASIS_STRIP ? end - i : BASIS_STRIP,
                       basis_block(basis, t, i) + from * BASIS_STRIP,
                       BASIS_STRIP, false, column + i * KLR_SLIM, sum);
    out += from * KLR_SLIM;
    for (size_t k = 0; k < rows * KLR_SLIM; k++)
        out[k] += (double)sum[k];
}

/* Sums over a group of examples: U'k of a band, or behind the last the
 * moments. */
static void judging_turn(void *context, size_t index, size_t thread)
{
    const struct judging *j = context;
    const struct candidates *c = j->c;
    size_t bands = j->basis->bands, n = c->n;
    size_t group = index / (bands + 1), t = index % (bands + 1);
    size_t begin = group * basis_group(n), end = begin + basis_group(n);
    double *out = c->work + (group * bands + t) * JUDGING_BAND_SUMS;
    (void)thread;
    end = end < n ? end : n;
    if (t == bands) {
        memset(&c->moment[group], 0, sizeof *c->moment);
        for (size_t panel = 0; panel < c->panels; panel++)
            if (j->fresh[panel])
                judging_moments(j, panel, begin, end, &c->moment[group]);
        return;
    }
    for (size_t panel = 0; panel < c->panels; panel++)
        if (judging_needs(j, t, panel))
            memset(out + panel * JUDGING_PANEL_SUMS, 0,
                   JUDGING_PANEL_SUMS * sizeof *out);
    for (size_t i = begin; i < end; i += JUDGING_CHUNK)
        for (size_t panel = 0; panel < c->panels; panel++)
            if (judging_needs(j, t, panel))
                judging_products(j, t, panel, i,
                                 end - i < JUDGING_CHUNK ? end
                                                         : i + JUDGING_CHUNK,
                                 out + panel * JUDGING_PANEL_SUMS);
}

static void sums_add(size_t count, const double *from, double *to)
{
    for (size_t k = 0; k < count; k++)
        to[k] += from[k];
}

/* The sums of all groups come to the first: of a band, or the moments. */
static void judging_add(void *context, size_t t, size_t thread)
{
    const struct judging *j = context;
    const struct candidates *c = j->c;
    size_t bands = j->basis->bands;
    (void)thread;
    for (size_t g = 1; g < c->groups && t == bands; g++)
        sums_add(sizeof *c->moment / sizeof(double),
                 (const double *)&c->moment[g], (double *)c->moment);
    for (size_t panel = 0; panel < c->panels && t < bands; panel++) {
        double *to =
            c->work + t * JUDGING_BAND_SUMS + panel * JUDGING_PANEL_SUMS;
        for (size_t g = 1; g < c->groups && judging_needs(j, t, panel); g++)
            sums_add(JUDGING_PANEL_SUMS, to + g * bands * JUDGING_BAND_SUMS,
                     to);
    }
}

static void judgement_begin(const struct basis *basis,
                            const struct candidates *c, size_t q,
                            struct judgement *j)
{
    const struct moment *moment = c->moment;
    double mean[2], norm = moment->square[q];
    for (size_t side = 0; side < 2; side++) {
        mean[side] = moment->sum[side][q] / basis->total[side];
        norm -= mean[side] * moment->sum[side][q];
    }
    j->norm = j->residual = fmax(norm, 0) + basis->ridge[c->index[q]];
    j->gradient = mean[0] - mean[1];
    j->known = true;
}

static struct judging judging_of(const struct basis *basis,
                                 const struct candidates *c,
                                 const struct judgement *judgement)
{
    struct judging j = {.basis = basis, .c = c, .dense = klr_dense()};
    for (size_t panel = 0; panel < JUDGING_PANELS; panel++)
        j.met[panel] = basis->count;
    for (size_t q = 0; q < c->count; q++) {
        const struct judgement *old = &judgement[c->index[q]];
        size_t panel = q / KLR_SLIM;
        j.met[panel] = old->count < j.met[panel] ? old->count : j.met[panel];
        j.fresh[panel] = j.fresh[panel] || !old->known;
    }
    return j;
}

static int candidates_judge(struct candidates *c, const struct basis *basis,
                            struct judgement *judgement, struct klr_error *err)
{
    struct judging j = judging_of(basis, c, judgement);
    int code =
        candidates_work(c, c->groups * basis->bands * JUDGING_BAND_SUMS, err);
    if (code)
        return code;
    klr_pool_run(c->op->pool, c->groups * (basis->bands + 1), judging_turn, &j);
    klr_pool_run(c->op->pool, basis->bands + 1, judging_add, &j);
    for (size_t q = 0; q < c->count; q++) {
        struct judgement *of = &judgement[c->index[q]];
        const double *line =
            c->work + q / KLR_SLIM * JUDGING_PANEL_SUMS + q % KLR_SLIM;
        if (!of->known)
            judgement_begin(basis, c, q, of);
        of->exact = of->exact && of->count == basis->count;
        for (size_t k = of->count; k < basis->count; k++)
            judgement_meet(basis, c->index[q], k,
                           line[k / KLR_BAND * JUDGING_BAND_SUMS +
                                k % KLR_BAND * KLR_SLIM],
                           of);
    }
    return 0;
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
