/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The problem on a sample of the examples: B there, Newton's method with the
 * exact Hessian, whose last one preconditions that of all examples. A softmax
 * of k columns has a Hessian of k m rows; those of its columns alone, by the
 * diagonal of W, precondition conjugate gradients on the sample as well. The
 * sum of columns stays 0: their mean is taken away, on which W has no effect.
 *
 * A sample is drawn from each class by itself, one example from each of as many
 * equal parts of the class as are wanted; each stands for the examples of its
 * part. A class of few is in it whole, or makes half as much of the sample as
 * if all classes were equal.
 */
#include "solver/subspace/subspace_parts.h"

enum {
    SAMPLE_ROWS = 1024,   /* that are weighted together */
    SAMPLE_PRODUCTS = 16, /* of a step, after which Hessians are renewed */
    SAMPLE_SHARE = 2      /* of an equal part are of each class, if any */
};

/* ---- drawing ---- */

static bool draw_takes(struct draw *d, uint64_t *random)
{
    if (d->seen == d->end) {
        d->end = ++d->part * d->size / d->wanted;
        d->pick = d->seen + (size_t)(random_next(random) % (d->end - d->seen));
    }
    return d->seen++ == d->pick;
}

static size_t sample_most(size_t wanted, size_t classes, size_t n)
{
    size_t more = (classes - 1) * wanted / (SAMPLE_SHARE * classes);
    size_t most = wanted + more + classes;
    return most < n ? most : n;
}

/* The class of an example. */
static size_t sample_class(const struct subspace *s, size_t i)
{
    return s->columns > 1 ? s->all.softmax.class[i] : s->problem->y[i] > 0;
}

static size_t sample_rows(const struct subspace *s, uint64_t random,
                          const size_t *wanted, size_t *row, double *share)
{
    size_t count = 0;
    for (size_t c = 0; c < s->classes; c++)
        s->draw[c] = (struct draw){.wanted = wanted[c]};
    for (size_t i = 0; i < s->n; i++)
        s->draw[sample_class(s, i)].size++;
    for (size_t i = 0; i < s->n; i++) {
        struct draw *d = &s->draw[sample_class(s, i)];
        if (d->wanted == 0 || !draw_takes(d, &random))
            continue;
        row[count] = i;
        if (share)
            share[count] = (double)d->size / (double)d->wanted;
        count++;
    }
    return count;
}

static void sample_count(const struct subspace *s, size_t *size)
{
    memset(size, 0, s->classes * sizeof *size);
    for (size_t i = 0; i < s->n; i++)
        size[sample_class(s, i)]++;
}

/* Divide about `wanted` rows among the classes, to each half of an equal part
 * at least. */
static void sample_divide(const struct subspace *s, size_t wanted, size_t *part)
{
    double least = (double)wanted / (double)(SAMPLE_SHARE * s->classes);
    sample_count(s, part);
    for (size_t c = 0; c < s->classes; c++) {
        double even = (double)wanted * (double)part[c] / (double)s->n;
        part[c] = (size_t)fmin(fmax(even, least), (double)part[c]);
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
        size_t at = subspace_place(s, row ? row[first + i] : first + i);
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
    s->sample_y = klr_free(s->sample_y);
    s->share = klr_free(s->share);
    s->b = klr_free(s->b);
    s->scaled = klr_free(s->scaled);
}

static int subspace_draw(struct subspace *s, size_t wanted,
                         struct klr_error *err)
{
    size_t most = sample_most(wanted, s->classes, s->n);
    subspace_forget_sample(s);
    if (!(s->row = klr_alloc(most, sizeof *s->row, err)) ||
        !(s->sample_y = klr_alloc(most, sizeof *s->sample_y, err)) ||
        !(s->share = klr_alloc(most, sizeof *s->share, err)))
        return KLR_E_MEMORY;
    int code = fit_create(&s->sample, s->sample_y, most, s->columns, err);
    if (code)
        return code;
    sample_divide(s, wanted < s->n ? wanted : s->n, s->part);
    s->sample.n = sample_rows(s, (uint64_t)s->problem->params->seed, s->part,
                              s->row, s->share);
    s->sample.softmax.n = s->sample.n;
    if (!(s->b = klr_alloc(s->sample.n * sample_pitch(s), sizeof *s->b, err)) ||
        !(s->scaled =
              klr_alloc(SAMPLE_ROWS * sample_pitch(s), sizeof *s->scaled, err)))
        return KLR_E_MEMORY;
    for (size_t i = 0; i < s->sample.n; i++) {
        s->sample_y[i] = s->problem->y[s->row[i]];
        if (s->columns > 1)
            s->sample.softmax.class[i] = s->all.softmax.class[s->row[i]];
    }
    return sample_whiten(s, err);
}

/* ---- the preconditioner ---- */

/* Some rows: s->scaled are roots of their weights, in sample.next, times B. */
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
        float root = (float)sqrt(s->sample.next[w->first + i]);
        for (size_t k = 0; k < pitch; k++)
            s->scaled[i * pitch + k] = root * s->b[(w->first + i) * pitch + k];
    }
}

struct row_square {
    struct panels *h;
    const float *a; /* (rows, pitch) */
    size_t rows, pitch;
};

/* A block of the upper triangle of A'A. */
static void square_task(void *context, size_t index, size_t thread)
{
    const struct row_square *w = context;
    struct panels *h = w->h;
    double out[KLR_BAND * KLR_BAND];
    size_t a, b;
    (void)thread;
    triangle_bands(index, &a, &b);
    const float *left = w->a + a * KLR_BAND, *right = w->a + b * KLR_BAND;
    if (h->n <= SUBSPACE_FEW)
        h->dense->gram(w->rows, left, right, KLR_FLOAT, w->pitch, KLR_BAND,
                       KLR_BAND, out);
    else
        h->dense->syrk_rounded(w->rows, left, right, w->pitch, KLR_BAND,
                               KLR_BAND, out);
    double *to = panels_at(h, a * KLR_BAND, b * KLR_BAND);
    for (size_t e = 0; e < KLR_BAND * KLR_BAND; e++)
        to[e] += out[e];
}

/* h += A'A for A, that many rows of s->scaled. False: the pool's watch ended
 * it. */
static bool hessian_add(struct subspace *s, struct panels *h, size_t rows)
{
    size_t bands = panels_bands(h->n);
    struct row_square square = {h, s->scaled, rows, bands * KLR_BAND};
    return klr_pool_run(s->problem->op->pool, bands * (bands + 1) / 2,
                        square_task, &square);
}

/* h += I - mean mean' / sum W, where there is a bias. */
static void hessian_finish(struct subspace *s, struct panels *h)
{
    const struct fit *fit = &s->sample;
    size_t pitch = sample_pitch(s);
    double total = 0, *mean = s->hq;
    memset(mean, 0, pitch * sizeof *mean);
    for (size_t i = 0; i < fit->n; i++)
        total += fit->next[i];
    if (subspace_has_bias(s) && total > 0)
        h->dense->gemv_t(fit->n, pitch, s->b, pitch, fit->next, mean);
    for (size_t c = 0; c < s->m; c++) {
        for (size_t r = 0; r <= c && total > 0; r++)
            *panels_at(h, r, c) -= mean[r] * (mean[c] / total);
        *panels_at(h, c, c) += 1;
        s->least[c] = 0.5;
    }
}

/* The Hessian of one column, by the weights in sample.next; factored. */
static bool sample_hessian(struct subspace *s, size_t c)
{
    struct klr_pool *pool = s->problem->op->pool;
    size_t n = s->sample.n;
    struct weighing w = {.s = s};
    bool whole = true;
    s->h[c].n = s->m;
    memset(s->h[c].value, 0, panels_size(s->m) * sizeof(double));
    for (; w.first < n && whole; w.first += w.rows) {
        w.rows = n - w.first < SAMPLE_ROWS ? n - w.first : SAMPLE_ROWS;
        whole = klr_pool_run(pool, panels_bands(w.rows), weigh_task, &w) &&
                hessian_add(s, &s->h[c], w.rows);
    }
    if (whole)
        hessian_finish(s, &s->h[c]);
    double m = (double)s->m;
    s->flops += m * m * ((double)n + m / 3);
    return whole && panels_factor(&s->h[c], s->least, NULL);
}

static bool subspace_precondition(struct subspace *s)
{
    bool whole = true;
    s->have_h = false;
    for (size_t c = 0; c < s->columns && whole; c++) {
        for (size_t i = 0; i < s->sample.n; i++)
            s->sample.next[i] = s->functions->curvature(&s->sample, i, c, c);
        whole = sample_hessian(s, c);
    }
    s->have_h = whole;
    s->hessians++;
    return whole;
}

static bool subspace_renew(struct subspace *s)
{
    s->functions->renew(s);
    return subspace_precondition(s);
}

/* Take the mean of the columns away. */
static void columns_center(const struct subspace *s, double *z)
{
    for (size_t k = 0; k < s->m; k++) {
        double mean = 0;
        for (size_t c = 0; c < s->columns; c++)
            mean += z[c * s->m + k] / (double)s->columns;
        for (size_t c = 0; c < s->columns; c++)
            z[c * s->m + k] -= mean;
    }
}

static void subspace_invert(const struct subspace *s, const double *x,
                            double *z)
{
    memcpy(z, x, subspace_length(s) * sizeof *z);
    for (size_t c = 0; c < s->columns && s->have_h; c++) {
        panels_forward(&s->h[c], z + c * s->m);
        panels_backward(&s->h[c], z + c * s->m);
    }
    if (s->columns > 1)
        columns_center(s, z);
}

/* ---- Newton's method ---- */

/* Column by column, in ascending order: what a column of `out` has beyond m is
 * in the next one's place, or is the padding of the last. */
static void sample_gather(struct subspace *s, const double *t, double *out)
{
    size_t pitch = sample_pitch(s), n = s->sample.n, k = s->columns;
    for (size_t c = 0; c < k; c++) {
        const double *column = t;
        for (size_t i = 0; i < n && k > 1; i++)
            s->sample_column[i] = t[i * k + c];
        if (k > 1)
            column = s->sample_column;
        memset(out + c * s->m, 0, pitch * sizeof *out);
        s->r.dense->gemv_t(n, pitch, s->b, pitch, column, out + c * s->m);
    }
}

static void sample_values(struct subspace *s, const double *q, double *u)
{
    size_t pitch = sample_pitch(s), n = s->sample.n, k = s->columns;
    for (size_t c = 0; c < k; c++) {
        double *column = k > 1 ? s->sample_column : u;
        memset(s->v, 0, pitch * sizeof *s->v);
        memcpy(s->v, q + c * s->m, s->m * sizeof *q);
        memset(column, 0, n * sizeof *column);
        s->r.dense->expand(n, pitch, s->b, pitch, s->v, column);
        for (size_t i = 0; i < n && k > 1; i++)
            u[i * k + c] = column[i];
    }
}

/* x, and B x in du: of one column exactly, by the Hessian; of several to a
 * tenth, with Hessians that are formed anew where that took long. False: it was
 * ended. */
static bool sample_direction(struct subspace *s, size_t *products)
{
    const double accuracy = 0.1;
    bool forms = s->columns == 1 || !s->have_h || *products > SAMPLE_PRODUCTS;
    if ((forms && !subspace_precondition(s)) || !subspace_goes_on(s))
        return false;
    if (s->columns > 1)
        return subspace_direction(s, &s->sample, accuracy, INFINITY, products);
    subspace_invert(s, s->slope, s->x);
    for (size_t k = 0; k < s->m; k++)
        s->x[k] = -s->x[k];
    sample_values(s, s->x, s->du);
    return true;
}

static bool subspace_fit_sample(struct subspace *s, double eps)
{
    enum { STEPS = 60 };
    struct fit *fit = &s->sample;
    size_t length = subspace_length(s), products = 0;
    for (size_t i = 0; i < fit->n; i++)
        fit->cost[i] = subspace_cost(s, s->row[i]) * s->share[i];
    sample_values(s, s->w, fit->u);
    for (int step = 0; step < STEPS; step++) {
        subspace_evaluate(s, fit);
        sample_gather(s, fit->g, s->bg);
        for (size_t k = 0; k < length; k++)
            s->slope[k] = s->w[k] - s->bg[k];
        if (!sample_direction(s, &products))
            return false;
        double fall = -0.5 * dot(length, s->slope, s->x);
        double objective = 0.5 * dot(length, s->w, s->w) + fit->losses;
        if (fall <= eps * fabs(objective))
            break;
        subspace_search(s, fit, s->du);
    }
    return true;
}
