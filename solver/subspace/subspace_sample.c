/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The problem on a sample of the examples: B there, Newton's method with the
 * exact Hessian, whose last one preconditions that of all examples.
 *
 * A sample is drawn from each class by itself, one example from each of as many
 * equal parts of the class as are wanted; each stands for the examples of its
 * part. A class of few is in it whole, or makes a quarter of the sample.
 */
#include "solver/subspace/subspace_parts.h"

enum {
    SAMPLE_ROWS = 1024, /* that are weighted together */
    SAMPLE_SHARE = 4    /* of a sample are of either class, at least, if any */
};

/* ---- drawing ---- */

/* Draws one example from each of `wanted` equal parts of a class. */
struct draw {
    size_t size, wanted;
    size_t seen, part, pick, end;
};

static bool draw_takes(struct draw *d, uint64_t *random)
{
    if (d->seen == d->end) {
        d->end = ++d->part * d->size / d->wanted;
        d->pick = d->seen + (size_t)(random_next(random) % (d->end - d->seen));
    }
    return d->seen++ == d->pick;
}

static size_t sample_most(size_t wanted, size_t n)
{
    size_t most = wanted + wanted / SAMPLE_SHARE + 2;
    return most < n ? most : n;
}

static size_t sample_rows(const struct subspace *s, uint64_t random,
                          const size_t wanted[2], size_t *row, double *share)
{
    struct draw draw[2] = {{.wanted = wanted[0]}, {.wanted = wanted[1]}};
    size_t count = 0;
    for (size_t i = 0; i < s->n; i++)
        draw[s->problem->y[i] > 0].size++;
    for (size_t i = 0; i < s->n; i++) {
        struct draw *d = &draw[s->problem->y[i] > 0];
        if (d->wanted == 0 || !draw_takes(d, &random))
            continue;
        row[count] = i;
        if (share)
            share[count] = (double)d->size / (double)d->wanted;
        count++;
    }
    return count;
}

/* Divide about `wanted` rows between the classes, to each a quarter at least.
 */
static void sample_divide(const struct subspace *s, size_t wanted,
                          size_t part[2])
{
    size_t size[2] = {0, 0};
    for (size_t i = 0; i < s->n; i++)
        size[s->problem->y[i] > 0]++;
    for (size_t c = 0; c < 2; c++) {
        double even = (double)wanted * (double)size[c] / (double)s->n;
        part[c] = (size_t)fmin(fmax(even, (double)wanted / SAMPLE_SHARE),
                               (double)size[c]);
    }
}

/* Elements from row to row of B: all of a panel's columns are there. */
static size_t sample_pitch(const struct subspace *s)
{
    return panels_bands(s->m) * KLR_BAND;
}

struct whitening {
    struct subspace *s;
    double *x; /* (threads, pitch, KLR_BAND) */
};

static void subspace_whiten(const struct subspace *s, size_t thread,
                            const size_t *row, size_t first, size_t rows,
                            double *x)
{
    struct klr_range range[KLR_BAND];
    size_t ranges = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t at = s->place[row ? row[first + i] : first + i];
        ranges = set_append(range, ranges, (struct klr_range){at, at + 1});
    }
    memset(x, 0, sample_pitch(s) * KLR_BAND * sizeof *x);
    operator_block(s->problem->op, thread, s->position, s->m,
                   set_of(range, ranges), KLR_DOUBLE, x, KLR_BAND);
    panels_divide(&s->r, x);
}

/* Some rows of B. */
static void whiten_task(void *context, size_t task, size_t thread)
{
    struct whitening *whitening = context;
    struct subspace *s = whitening->s;
    size_t first = task * KLR_BAND, pitch = sample_pitch(s);
    size_t rows = band_rows(s->sample.n, first);
    double *x = whitening->x + thread * pitch * KLR_BAND;
    subspace_whiten(s, thread, s->row, first, rows, x);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < pitch; k++)
            s->b[(first + i) * pitch + k] =
                k < s->m ? (float)x[k * KLR_BAND + i] : 0;
}

static int sample_whiten(struct subspace *s, struct klr_error *err)
{
    struct klr_pool *pool = s->problem->op->pool;
    struct whitening whitening = {.s = s};
    whitening.x = klr_alloc(klr_pool_size(pool) * sample_pitch(s),
                            KLR_BAND * sizeof(double), err);
    if (!whitening.x)
        return KLR_E_MEMORY;
    klr_pool_run(pool, panels_bands(s->sample.n), whiten_task, &whitening);
    operator_count(s->problem->op, 0, 0);
    klr_free(whitening.x);
    return 0;
}

static void subspace_forget_sample(struct subspace *s)
{
    fit_free(&s->sample);
    s->row = klr_free(s->row);
    s->share = klr_free(s->share);
    s->b = klr_free(s->b);
    s->scaled = klr_free(s->scaled);
}

static int subspace_draw(struct subspace *s, size_t wanted,
                         struct klr_error *err)
{
    size_t most = sample_most(wanted, s->n), part[2];
    double rho = s->sample.rho; /* as w, of the last fit */
    subspace_forget_sample(s);
    if (!(s->row = klr_alloc(most, sizeof *s->row, err)) ||
        !(s->share = klr_alloc(most, sizeof *s->share, err)))
        return KLR_E_MEMORY;
    int code = fit_create(&s->sample, most, err);
    if (code)
        return code;
    s->sample.rho = rho;
    sample_divide(s, wanted < s->n ? wanted : s->n, part);
    s->sample.n = sample_rows(s, (uint64_t)s->problem->params->seed, part,
                              s->row, s->share);
    if (!(s->b = klr_alloc(s->sample.n * sample_pitch(s), sizeof *s->b, err)) ||
        !(s->scaled =
              klr_alloc(SAMPLE_ROWS * sample_pitch(s), sizeof *s->scaled, err)))
        return KLR_E_MEMORY;
    for (size_t i = 0; i < s->sample.n; i++)
        s->sample.y[i] = s->problem->y[s->row[i]];
    return sample_whiten(s, err);
}

/* ---- the preconditioner ---- */

/* Some rows: s->scaled are roots of their weights times B. */
struct weighing {
    struct subspace *s;
    size_t first, rows;
};

static void weigh_task(void *context, size_t task, size_t thread)
{
    const struct weighing *w = context;
    const struct subspace *s = w->s;
    size_t pitch = sample_pitch(s), end = (task + 1) * KLR_BAND;
    (void)thread;
    for (size_t i = task * KLR_BAND; i < end && i < w->rows; i++) {
        float root = (float)sqrt(s->sample.curve[w->first + i]);
        for (size_t k = 0; k < pitch; k++)
            s->scaled[i * pitch + k] = root * s->b[(w->first + i) * pitch + k];
    }
}

struct row_square {
    struct subspace *s;
    const void *a; /* (rows, pitch) */
    size_t rows, pitch;
    enum klr_precision precision;
};

/* A block of the upper triangle of A'A. */
static void square_task(void *context, size_t index, size_t thread)
{
    const struct row_square *w = context;
    struct subspace *s = w->s;
    double out[KLR_BAND * KLR_BAND];
    size_t a = index, b = 0, bytes = klr_precision_bytes(w->precision);
    (void)thread;
    for (; a > b; b++)
        a -= b + 1;
    const void *left = (const char *)w->a + a * KLR_BAND * bytes;
    const void *right = (const char *)w->a + b * KLR_BAND * bytes;
    if (w->precision == KLR_DOUBLE || s->h.n <= SUBSPACE_FEW)
        s->h.dense->gram(w->rows, left, right, w->precision, w->pitch, KLR_BAND,
                         KLR_BAND, out);
    else
        s->h.dense->syrk_rounded(w->rows, left, right, w->pitch, KLR_BAND,
                                 KLR_BAND, out);
    double *to = panels_at(&s->h, a * KLR_BAND, b * KLR_BAND);
    for (size_t e = 0; e < KLR_BAND * KLR_BAND; e++)
        to[e] += out[e];
}

static bool subspace_add_square(struct subspace *s, const void *a, size_t rows,
                                enum klr_precision precision)
{
    size_t bands = panels_bands(s->h.n);
    struct row_square square = {s, a, rows, bands * KLR_BAND, precision};
    return klr_pool_run(s->problem->op->pool, bands * (bands + 1) / 2,
                        square_task, &square);
}

static void subspace_start_hessian(struct subspace *s, size_t size)
{
    s->h.n = size;
    s->have_h = false;
    memset(s->h.value, 0, panels_size(size) * sizeof(double));
}

/* h += I - mean mean' / sum W, where there is a bias. */
static void hessian_finish(struct subspace *s)
{
    const struct fit *fit = &s->sample;
    size_t pitch = sample_pitch(s);
    double total = 0, *mean = s->hq;
    memset(mean, 0, pitch * sizeof *mean);
    for (size_t i = 0; i < fit->n; i++)
        total += fit->curve[i];
    if (subspace_has_bias(s) && total > 0)
        s->h.dense->gemv_t(fit->n, pitch, s->b, pitch, fit->curve, mean);
    for (size_t c = 0; c < s->m; c++) {
        for (size_t r = 0; r <= c && total > 0; r++)
            *panels_at(&s->h, r, c) -= mean[r] * (mean[c] / total);
        *panels_at(&s->h, c, c) += 1;
        s->least[c] = 0.5;
    }
}

static bool subspace_precondition(struct subspace *s)
{
    struct klr_pool *pool = s->problem->op->pool;
    size_t n = s->sample.n;
    struct weighing w = {.s = s};
    bool whole = true;
    subspace_start_hessian(s, s->m);
    for (; w.first < n && whole; w.first += w.rows) {
        w.rows = n - w.first < SAMPLE_ROWS ? n - w.first : SAMPLE_ROWS;
        whole = klr_pool_run(pool, panels_bands(w.rows), weigh_task, &w) &&
                subspace_add_square(s, s->scaled, w.rows, KLR_FLOAT);
    }
    if (whole)
        hessian_finish(s);
    s->have_h = whole && panels_factor(&s->h, s->least, NULL);
    double m = (double)s->m;
    s->flops += m * m * ((double)n + m / 3);
    s->hessians++;
    return s->have_h;
}

static bool subspace_renew(struct subspace *s)
{
    for (size_t i = 0; i < s->sample.n; i++)
        s->sample.curve[i] = s->all.curve[s->row[i]] * s->share[i];
    return subspace_precondition(s);
}

static void subspace_invert(const struct subspace *s, const double *x,
                            double *z)
{
    memcpy(z, x, s->m * sizeof *z);
    if (!s->have_h)
        return;
    panels_forward(&s->h, z);
    panels_backward(&s->h, z);
}

/* ---- Newton's method ---- */

/* B'g, in the order of the rows. */
static void sample_gradient(struct subspace *s, double *bg)
{
    size_t pitch = sample_pitch(s);
    memset(bg, 0, pitch * sizeof *bg);
    s->h.dense->gemv_t(s->sample.n, pitch, s->b, pitch, s->sample.g, bg);
}

static void sample_values(struct subspace *s, const double *w, double *u)
{
    size_t pitch = sample_pitch(s);
    memset(s->v, 0, pitch * sizeof *s->v);
    memcpy(s->v, w, s->m * sizeof *w);
    s->h.dense->expand(s->sample.n, pitch, s->b, pitch, s->v, u);
}

static bool subspace_fit_sample(struct subspace *s, double eps)
{
    enum { STEPS = 60 };
    struct fit *fit = &s->sample;
    for (size_t i = 0; i < fit->n; i++)
        fit->cost[i] = subspace_cost(s, s->row[i]) * s->share[i];
    sample_values(s, s->w, fit->u);
    for (int step = 0; step < STEPS; step++) {
        subspace_evaluate(s, fit);
        sample_gradient(s, s->bg);
        for (size_t k = 0; k < s->m; k++)
            s->slope[k] = s->w[k] - s->bg[k];
        if (!subspace_precondition(s) || !subspace_goes_on(s))
            return false;
        subspace_invert(s, s->slope, s->x);
        double fall = 0.5 * dot(s->m, s->slope, s->x);
        double objective = 0.5 * dot(s->m, s->w, s->w) + fit->losses;
        for (size_t k = 0; k < s->m; k++)
            s->x[k] = -s->x[k];
        if (fall <= eps * objective)
            break;
        sample_values(s, s->x, s->du);
        subspace_search(s, fit, s->du);
    }
    return true;
}
