/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Points by growing. With g of a fit on the points so far, the objective of all
 * points is at most
 *
 *   1/2 g'(K - Q)g = 1/2 |(1 - Pi) sum_i g_i k_i|^2,   Q = B B'
 *
 * below that of the subspace, Pi being the projection onto it. The next points
 * are to lower this bound most: orthogonal matching pursuit for sum_i g_i k_i
 * among candidates, which are drawn with probabilities in proportion to |g_i|.
 * With h = (K - Q)_cN g and G = (K - Q)_cc of the candidates c, the one that
 * has the largest h_c^2 / G_cc joins, h and G lose what it spans, and so on.
 *
 * For several targets g, those of machines that share points or of columns of a
 * softmax, the bounds are summed: candidates are
 * drawn by the sum of their |g_i|, and chosen by that of their h_c^2 / G_cc.
 *
 * The number of points doubles from round to round.
 */
#include "solver/subspace/subspace_parts.h"

enum {
    GROW_RATIO = 4,         /* candidates for a new point */
    GROW_CANDIDATES = 4096, /* so many at most, but two for a point */
    GROW_SAMPLE = 8,        /* examples of a sample for a point */
    GROW_SAMPLE_LEAST = 512
};
static const double grow_gap = 1e-3;
/* The part of K_cc that must be left of a candidate. */
static const double grow_least = 1e-5;

struct growth {
    struct subspace *s;
    size_t count, pitch;     /* candidates; from row to row */
    size_t *member;          /* (count) local index, ascending */
    size_t *position;        /* (count) */
    struct klr_range *range; /* (count) the same */
    double *h;               /* (targets, pitch) */
    double *diagonal;        /* (count) that of G */
    double *least;           /* (count) where that is no more than rounding */
    float *gram;             /* (pitch, pitch) G */
    float *x;                /* (most, pitch) R^-T K[points, candidates] */
    float *column;           /* (most, pitch) of those that have joined */
    double *part, *sum;      /* (most), (pitch) for growth_column */
    double *coef;            /* (targets, most) R^-1 B'g */
    double *work;            /* (threads, most, KLR_BAND) */
};

static int growth_create(struct growth *g, struct subspace *s, size_t most,
                         struct klr_error *err)
{
    size_t threads = klr_pool_size(s->problem->op->pool);
    size_t pitch = panels_bands(most) * KLR_BAND;
    size_t points = panels_bands(s->most) * KLR_BAND;
    *g = (struct growth){.s = s, .pitch = pitch};
    if (!(g->member = klr_alloc(most, sizeof *g->member, err)) ||
        !(g->position = klr_alloc(most, sizeof *g->position, err)) ||
        !(g->range = klr_alloc(most, sizeof *g->range, err)) ||
        !(g->h = klr_alloc(subspace_targets(s), pitch * sizeof *g->h, err)) ||
        !(g->diagonal = klr_alloc(most, sizeof *g->diagonal, err)) ||
        !(g->least = klr_alloc(most, sizeof *g->least, err)) ||
        !(g->gram = klr_zalloc(pitch + 1, pitch * sizeof(float), err)) ||
        !(g->x = klr_zalloc(points + 1, pitch * sizeof(float), err)) ||
        !(g->column = klr_alloc(s->most, pitch * sizeof(float), err)) ||
        !(g->part = klr_alloc(s->most, sizeof *g->part, err)) ||
        !(g->sum = klr_alloc(pitch, sizeof *g->sum, err)) ||
        !(g->coef =
              klr_alloc(subspace_targets(s), s->most * sizeof *g->coef, err)) ||
        !(g->work =
              klr_alloc(threads * points, KLR_BAND * sizeof(double), err)))
        return KLR_E_MEMORY;
    return 0;
}

static void growth_free(struct growth *g)
{
    klr_free(g->member);
    klr_free(g->position);
    klr_free(g->range);
    klr_free(g->h);
    klr_free(g->diagonal);
    klr_free(g->least);
    klr_free(g->gram);
    klr_free(g->x);
    klr_free(g->column);
    klr_free(g->part);
    klr_free(g->sum);
    klr_free(g->coef);
    klr_free(g->work);
}

/* ---- candidates ---- */

/* size (n) = |g_i|, summed over targets; 0 of points. */
static void growth_sizes(const struct subspace *s, double *size)
{
    memset(size, 0, s->n * sizeof *size);
    for (size_t q = 0; q < subspace_targets(s); q++) {
        const double *target = subspace_target(s, q);
        for (size_t i = 0; i < s->n; i++)
            size[i] += fabs(target[i * s->columns]);
    }
    for (size_t k = 0; k < s->m; k++)
        size[s->member[k]] = 0;
}

/* Draw at most `wanted` examples, one at each of as many equal steps of the sum
 * of |g|; or all that have a g, if these are no more. */
static void growth_draw(struct growth *g, size_t wanted, uint64_t *random)
{
    struct subspace *s = g->s;
    double total = 0, sum = 0;
    double *size = s->du;
    size_t positive = 0;
    growth_sizes(s, size);
    for (size_t i = 0; i < s->n; i++) {
        total += size[i];
        positive += size[i] > 0;
    }
    bool all = positive <= wanted;
    double step = total / (double)wanted;
    double next = random_unit(random) * step;
    g->count = 0;
    for (size_t i = 0; i < s->n && g->count < wanted; i++) {
        sum += size[i];
        if (size[i] == 0 || !(all || sum > next))
            continue;
        size_t at = subspace_place(s, i), k = g->count++;
        g->member[k] = i;
        g->position[k] = at;
        g->range[k] = (struct klr_range){at, at + 1};
        g->least[k] = fmax(grow_least, s->tolerance) * subspace_diagonal(s, i);
        while (!all && next < sum)
            next += step;
    }
}

/* out (targets; stride) = K of the sweep's points times g. False: it was
 * ended. */
static bool growth_gather(const struct subspace *s, struct point_sweep *sweep,
                          double *out, size_t stride)
{
    size_t targets = subspace_targets(s);
    bool whole = true;
    for (size_t q = 0; q < targets && whole; q += sweep->vectors) {
        struct point_sweep_product p = {.sweep = sweep,
                                        .precision = KLR_FLOAT,
                                        .step = s->columns,
                                        .vector = s->vector};
        for (; p.count < sweep->vectors && q + p.count < targets; p.count++)
            s->vector[p.count] =
                (struct sweep_vector){.t = subspace_target(s, q + p.count),
                                      .sum = out + (q + p.count) * stride};
        whole = point_sweep_run(&p);
    }
    return whole;
}

/* h = K_cN g. */
static bool growth_multiply(struct growth *g, struct klr_error *err, int *code)
{
    struct subspace *s = g->s;
    struct point_sweep sweep;
    *code = point_sweep_create(&sweep, s->problem, g->position, g->count,
                               s->sweep.vectors, 0, &s->entries, err);
    sweep.count = g->count;
    sweep.times = s->sweep.times;
    bool whole = !*code && growth_gather(s, &sweep, g->h, g->pitch);
    point_sweep_free(&sweep);
    return whole;
}

/* h of some candidates loses what the points span: x has K there. */
static void candidate_reduce(const struct growth *g, size_t first, size_t rows,
                             const double *x)
{
    const struct subspace *s = g->s;
    for (size_t q = 0; q < subspace_targets(s); q++) {
        const double *coef = g->coef + q * s->most;
        double *h = g->h + q * g->pitch + first;
        for (size_t k = 0; k < s->m; k++)
            for (size_t c = 0; c < rows; c++)
                h[c] -= coef[k] * x[k * KLR_BAND + c];
    }
}

/* Some candidates: h less what the points span, and their columns of x. */
static void candidate_task(void *context, size_t task, size_t thread)
{
    const struct growth *g = context;
    const struct subspace *s = g->s;
    size_t first = task * KLR_BAND, rows = band_rows(g->count, first);
    size_t points = panels_bands(s->m) * KLR_BAND;
    size_t most = panels_bands(s->most) * KLR_BAND;
    double *x = g->work + thread * most * KLR_BAND;
    memset(x, 0, points * KLR_BAND * sizeof *x);
    operator_block(s->problem->op, thread, s->position, s->m,
                   set_of(g->range + first, rows), KLR_DOUBLE, x, KLR_BAND);
    candidate_reduce(g, first, rows, x);
    panels_divide(&s->r, x);
    for (size_t k = 0; k < s->m; k++)
        for (size_t c = 0; c < KLR_BAND; c++)
            g->x[k * g->pitch + first + c] = (float)x[k * KLR_BAND + c];
}

/* A block of G above the diagonal, and below. */
static void residual_task(void *context, size_t index, size_t thread)
{
    const struct growth *g = context;
    const struct subspace *s = g->s;
    double out[KLR_BAND * KLR_BAND];
    float entry[KLR_BAND * KLR_BAND] = {0};
    size_t a, b;
    triangle_bands(index, &a, &b);
    a *= KLR_BAND;
    b *= KLR_BAND;
    size_t rows = band_rows(g->count, a), cols = band_rows(g->count, b);
    s->r.dense->syrk_rounded(s->m, g->x + a, g->x + b, g->pitch, rows, cols,
                             out);
    operator_block(s->problem->op, thread, g->position + a, rows,
                   set_of(g->range + b, cols), KLR_FLOAT, entry, KLR_BAND);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            size_t e = i * KLR_BAND + j;
            g->gram[(a + i) * g->pitch + b + j] =
                g->gram[(b + j) * g->pitch + a + i] =
                    (float)((double)entry[e] - out[e]);
        }
}

/* h, x and G. */
static bool growth_prepare(struct growth *g, struct klr_error *err, int *code)
{
    struct subspace *s = g->s;
    struct klr_pool *pool = s->problem->op->pool;
    size_t bands = panels_bands(g->count);
    *code = 0;
    if (!growth_gather(s, &s->sweep, g->coef, s->most))
        return false;
    for (size_t q = 0; q < subspace_targets(s); q++) {
        panels_forward(&s->r, g->coef + q * s->most);
        panels_backward(&s->r, g->coef + q * s->most);
    }
    bool whole = growth_multiply(g, err, code) &&
                 klr_pool_run(pool, bands, candidate_task, g) &&
                 klr_pool_run(pool, bands * (bands + 1) / 2, residual_task, g);
    operator_count(s->problem->op, 0, 0);
    for (size_t c = 0; c < g->count; c++)
        g->diagonal[c] = (double)g->gram[c * g->pitch + c];
    return whole;
}

/* ---- the pursuit ---- */

/* The candidate that lowers the bound most; g->count: none is left. */
static size_t growth_best(const struct growth *g)
{
    const struct subspace *s = g->s;
    size_t best = g->count;
    double most = 0;
    for (size_t c = 0; c < g->count; c++) {
        double d = g->diagonal[c], fall = 0;
        for (size_t q = 0; q < subspace_targets(s); q++)
            fall += g->h[q * g->pitch + c] * g->h[q * g->pitch + c];
        if (d > g->least[c] && fall > most * d) {
            most = fall / d;
            best = c;
        }
    }
    return best;
}

/* The column of G of candidate a, less what those that have joined span. */
static float *growth_column(struct growth *g, size_t a, size_t joined)
{
    size_t width = panels_bands(g->count) * KLR_BAND;
    const float *from = g->gram + a * g->pitch;
    float *column = g->column + joined * g->pitch;
    for (size_t t = 0; t < joined; t++)
        g->part[t] = -(double)g->column[t * g->pitch + a];
    for (size_t c = 0; c < width; c++)
        g->sum[c] = (double)from[c];
    g->s->r.dense->gemv_t(joined, width, g->column, g->pitch, g->part, g->sum);
    for (size_t c = 0; c < width; c++)
        column[c] = (float)g->sum[c];
    return column;
}

/* Take off h and the diagonal of G what candidate a spans. `column` is its
 * column of G, which is scaled. */
static void growth_remove(struct growth *g, size_t a, float *column)
{
    double root = sqrt(g->diagonal[a]);
    float scale = (float)(1 / root);
    for (size_t c = 0; c < g->count; c++) {
        double v = (double)(column[c] *= scale);
        g->diagonal[c] -= v * v;
    }
    for (size_t q = 0; q < subspace_targets(g->s); q++) {
        double *h = g->h + q * g->pitch, along = h[a] / root;
        for (size_t c = 0; c < g->count; c++)
            h[c] -= along * (double)column[c];
    }
    g->diagonal[a] = 0;
}

/* At most `wanted` candidates join the points. */
static void growth_pursue(struct growth *g, size_t wanted)
{
    struct subspace *s = g->s;
    for (size_t joined = 0; joined < wanted; joined++) {
        size_t a = growth_best(g);
        if (a == g->count)
            return;
        growth_remove(g, a, growth_column(g, a, joined));
        s->member[s->m++] = g->member[a];
    }
}

/* ---- rounds ---- */

/* g of a fit on the points that there are. */
static bool grow_fit(struct subspace *s, struct klr_error *err, int *code)
{
    size_t wanted = GROW_SAMPLE * s->m;
    *code = subspace_draw(
        s, wanted > GROW_SAMPLE_LEAST ? wanted : GROW_SAMPLE_LEAST, err);
    if (*code || !subspace_fit_sample(s, grow_gap))
        return false;
    if (!subspace_multiply(s, KLR_FLOAT, s->w, s->all.u, NULL, NULL))
        return false;
    memcpy(s->all.rho, s->sample.rho, s->columns * sizeof *s->rho);
    subspace_evaluate(s, &s->all);
    return true;
}

/* Such a fit of each machine. */
static bool grow_fit_all(struct subspace *s, struct klr_error *err, int *code)
{
    for (size_t q = 0; q < s->machines; q++) {
        subspace_turn(s, q);
        if (!grow_fit(s, err, code))
            return false;
        subspace_keep(s, q);
    }
    return true;
}

static size_t growth_candidates(size_t wanted, size_t least)
{
    size_t candidates = GROW_RATIO * wanted;
    if (candidates < least)
        candidates = least;
    if (candidates > GROW_CANDIDATES)
        candidates = GROW_CANDIDATES;
    return candidates > 2 * wanted ? candidates : 2 * wanted;
}

/* w of m points, columns side by side, becomes that of s->m, 0 on others. */
static void join_widen(struct subspace *s, size_t m)
{
    for (size_t c = s->columns; c-- > 0;) {
        double *w = s->w + c * s->m;
        memmove(w, s->w + c * m, m * sizeof *w);
        memset(w + m, 0, (s->m - m) * sizeof *w);
    }
}

static bool subspace_join(struct subspace *s, size_t wanted, size_t candidates,
                          uint64_t *random, struct klr_error *err, int *code)
{
    struct growth g = {0};
    size_t m = s->m;
    if (candidates > s->n - m)
        candidates = s->n - m;
    if (candidates == 0)
        return false;
    *code = growth_create(&g, s, candidates, err);
    if (!*code) {
        growth_draw(&g, candidates, random);
        if (g.count > 0 && growth_prepare(&g, err, code))
            growth_pursue(&g, wanted);
    }
    growth_free(&g);
    if (!*code && s->m > m)
        *code = subspace_span(s, m, err);
    if (s->m > m)
        join_widen(s, m);
    return !*code && s->m - m > wanted / 4;
}

static bool subspace_double(struct subspace *s, uint64_t *random,
                            struct klr_error *err, int *code)
{
    size_t left = s->most - s->m, wanted = s->m < left ? s->m : left;
    return subspace_join(s, wanted, growth_candidates(wanted, 0), random, err,
                         code);
}

static int subspace_grow(struct subspace *s, struct klr_error *err)
{
    uint64_t random = (uint64_t)s->problem->params->seed;
    int code = 0;
    while (s->m > 0 && s->m < s->most && subspace_goes_on(s) &&
           grow_fit_all(s, err, &code) &&
           subspace_double(s, &random, err, &code))
        ;
    return code;
}
