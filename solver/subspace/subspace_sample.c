/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The problem on a sample of the examples: B there, and Newton's method by
 * conjugate gradients. Its Hessian, formed now and then, preconditions them, on
 * all examples as well. A softmax of k columns has a Hessian of k m rows: those
 * of its columns alone, by the diagonal of W, precondition. The sum of columns
 * stays 0: their mean is taken away, on which W has no effect.
 *
 * A sample is drawn from each class by itself, one example from each of as many
 * equal parts of the class as are wanted; each stands for the examples of its
 * part. A class of few is in it whole, or makes half as much of the sample as
 * if all classes were equal.
 *
 * At a large C most of W is on few examples, of which an even sample has too
 * few: its Hessian lacks what W_i b_i b_i' of the others are. Where a new one
 * does not do, half of the sample is drawn by leverage, W_i b_i'h^-1 b_i, each
 * standing for as many as its chance says. Then the Hessian has what counts,
 * whatever C is.
 */
#include "solver/subspace/subspace_parts.h"

#include <float.h>

enum {
    SAMPLE_ROWS = 1024,  /* that are multiplied together */
    SAMPLE_SHARE = 2,    /* of an equal part are of each class, if any */
    SAMPLE_PRODUCT = 80, /* a Hessian costs m / 80 products with the sample; */
    SAMPLE_PASSES = 160, /* where s m < 160 n, less than four with all */
    LEVERAGE_PROBES = 8  /* vectors that scores are estimated by */
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

static void draw_begin(const struct subspace *s, const size_t *wanted)
{
    for (size_t c = 0; c < s->classes; c++)
        s->draw[c] = (struct draw){.wanted = wanted[c]};
    for (size_t i = 0; i < s->n; i++)
        s->draw[sample_class(s, i)].size++;
}

static size_t sample_rows(const struct subspace *s, uint64_t random,
                          const size_t *wanted, size_t *row, double *share)
{
    size_t count = 0;
    draw_begin(s, wanted);
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

/* Products with B are divided into so many. */
static size_t sample_parts(size_t rows)
{
    return (rows + SAMPLE_ROWS - 1) / SAMPLE_ROWS;
}

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
    struct subspace *s = context;
    size_t first = task * KLR_BAND, pitch = sample_pitch(s);
    size_t rows = band_rows(s->sample.n, first);
    double *x = s->white + thread * pitch * KLR_BAND;
    subspace_whiten(s, thread, s->row, first, rows, x);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < pitch; k++)
            s->b[(first + i) * pitch + k] =
                k < s->m ? (float)x[k * KLR_BAND + i] : 0;
}

static void subspace_forget_sample(struct subspace *s)
{
    fit_free(&s->sample);
    s->row = klr_free(s->row);
    s->sample_y = klr_free(s->sample_y);
    s->share = klr_free(s->share);
    s->b = klr_free(s->b);
    s->scaled = klr_free(s->scaled);
    s->gathered = klr_free(s->gathered);
    s->white = klr_free(s->white);
}

static double sample_bytes(const struct subspace *s, size_t m)
{
    double threads = (double)klr_pool_size(s->problem->op->pool);
    double pitch = (double)(panels_bands(m) * KLR_BAND);
    double rows = (double)sample_most(sample_wanted(m), s->classes, s->n);
    return (rows + SAMPLE_ROWS) * pitch * sizeof(float) +
           threads * pitch * KLR_BAND * sizeof(double) +
           pitch * (rows / SAMPLE_ROWS + 1) * sizeof(double) +
           rows * (4 + 4 * (double)s->columns) * sizeof(double);
}

/* For up to `most` rows, none of which is drawn. */
static int sample_create(struct subspace *s, size_t most, struct klr_error *err)
{
    size_t threads = klr_pool_size(s->problem->op->pool);
    size_t pitch = sample_pitch(s);
    subspace_forget_sample(s);
    if (!(s->row = klr_alloc(most, sizeof *s->row, err)) ||
        !(s->sample_y = klr_alloc(most, sizeof *s->sample_y, err)) ||
        !(s->share = klr_alloc(most, sizeof *s->share, err)) ||
        !(s->b = klr_alloc(most * pitch, sizeof *s->b, err)) ||
        !(s->scaled = klr_alloc(SAMPLE_ROWS * pitch, sizeof *s->scaled, err)) ||
        !(s->gathered = klr_alloc(sample_parts(most) * pitch,
                                  sizeof *s->gathered, err)) ||
        !(s->white =
              klr_alloc(threads * pitch, KLR_BAND * sizeof *s->white, err)))
        return KLR_E_MEMORY;
    return fit_create(&s->sample, s->sample_y, most, s->columns, err);
}

/* The first n of s->row are the sample. False: the pool's watch ended it. */
static bool sample_take(struct subspace *s, size_t n)
{
    s->sample.n = s->sample.softmax.n = n;
    for (size_t i = 0; i < n; i++) {
        s->sample_y[i] = s->problem->y[s->row[i]];
        if (s->columns > 1)
            s->sample.softmax.class[i] = s->all.softmax.class[s->row[i]];
    }
    bool whole =
        klr_pool_run(s->problem->op->pool, panels_bands(n), whiten_task, s);
    operator_count(s->problem->op, 0, 0);
    return whole;
}

static int subspace_draw(struct subspace *s, size_t wanted,
                         struct klr_error *err)
{
    int code = sample_create(s, sample_most(wanted, s->classes, s->n), err);
    if (code)
        return code;
    s->have_h = false; /* it may be another machine's */
    s->wanted = wanted;
    sample_divide(s, wanted < s->n ? wanted : s->n, s->part);
    sample_take(s, sample_rows(s, (uint64_t)s->problem->params->seed, s->part,
                               s->row, s->share));
    return 0;
}

/* ---- drawing anew, by leverage ---- */

/* score (n) is about W_i b_i'h^-1 b_i, summed over columns: W_i times the mean
 * of (b_i'h^(-1/2) z)^2 over z of random signs. False: it was ended. */
static bool leverage_scores(struct subspace *s, uint64_t *random, double *score)
{
    size_t k = s->columns, size = s->n * k;
    double *square = score; /* (n, columns) */
    memset(square, 0, size * sizeof *square);
    for (int probe = 0; probe < LEVERAGE_PROBES; probe++) {
        for (size_t e = 0; e < subspace_length(s); e++)
            s->q[e] = random_next(random) >> 63 ? 1 : -1;
        for (size_t c = 0; c < k; c++)
            panels_backward(&s->h[c], s->q + c * s->m);
        if (!subspace_multiply(s, KLR_FLOAT, s->q, s->du, NULL, NULL))
            return false;
        for (size_t e = 0; e < size; e++)
            square[e] += s->du[e] * s->du[e] / LEVERAGE_PROBES;
    }
    for (size_t i = 0; i < s->n; i++) {
        double sum = 0;
        for (size_t c = 0; c < k; c++)
            sum +=
                s->functions->curvature(&s->all, i, c, c) * square[i * k + c];
        score[i] = sum; /* i <= i k */
    }
    return true;
}

/* The chance of an example to be drawn where scores count `times`. */
static double draw_chance(const struct subspace *s, const double *score,
                          double times, size_t i)
{
    const struct draw *d = &s->draw[sample_class(s, i)];
    return fmin((double)d->wanted / (double)d->size + times * score[i], 1);
}

/* `times` for which the sum of chances, a concave function, is s->wanted: by
 * Newton's method from below. */
static double draw_times(const struct subspace *s, const double *score)
{
    enum { STEPS = 50 };
    const double wanted = (double)s->wanted, enough = 0.999 * wanted;
    double times = 0;
    for (int step = 0; step < STEPS; step++) {
        double sum = 0, slope = 0;
        for (size_t i = 0; i < s->n; i++) {
            double chance = draw_chance(s, score, times, i);
            sum += chance;
            slope += chance < 1 ? score[i] : 0;
        }
        if (sum >= enough || !(slope > 0))
            break;
        times += (wanted - sum) / slope;
    }
    return times;
}

/* s->row and s->share, by chances, one example of a class at each step of 1 of
 * their sum over it. Half as many as at first are drawn evenly. Returns how
 * many they are. */
static size_t leverage_rows(struct subspace *s, uint64_t *random,
                            const double *score)
{
    size_t count = 0, most = sample_most(s->wanted, s->classes, s->n);
    sample_divide(s, s->wanted / 2, s->part);
    draw_begin(s, s->part);
    for (size_t c = 0; c < s->classes; c++)
        s->draw[c].next = random_unit(random);
    double times = draw_times(s, score);
    for (size_t i = 0; i < s->n && count < most; i++) {
        struct draw *d = &s->draw[sample_class(s, i)];
        double chance = draw_chance(s, score, times, i);
        d->sum += chance;
        if (!(d->sum > d->next))
            continue;
        d->next++;
        s->row[count] = i;
        s->share[count++] = 1 / chance;
    }
    return count;
}

/* C_i times what example i stands for. */
static void sample_costs(struct subspace *s)
{
    for (size_t i = 0; i < s->sample.n; i++)
        s->sample.cost[i] = subspace_cost(s, s->row[i]) * s->share[i];
}

/* Another sample, for W of all examples. False: it was ended. */
static bool sample_redraw(struct subspace *s)
{
    uint64_t random = (uint64_t)s->problem->params->seed;
    double *score = s->dual;
    if (s->sample.n == s->n || !s->have_h)
        return true;
    return leverage_scores(s, &random, score) &&
           sample_take(s, leverage_rows(s, &random, score));
}

/* ---- the preconditioner ---- */

/* Some rows: s->scaled = A, the roots of their weights times B. The roots take
 * the place of the weights in sample.next. */
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
        double *next = s->sample.next + w->first + i;
        float root = (float)sqrt(*next);
        *next = root;
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

/* h += I - A's (A's)' / s's, where there is a bias, for the roots s and the
 * rows A as they were rounded: then only sums are, and h is I at least but for
 * that. A pivot that is nothing but such rounding is raised to it: else what is
 * right of it in its row, rounding too, would grow beyond measure. */
static void hessian_finish(struct subspace *s, struct panels *h,
                           const double *mean)
{
    const struct fit *fit = &s->sample;
    double rounding = h->n <= SUBSPACE_FEW ? DBL_EPSILON : FLT_EPSILON;
    double total = dot(fit->n, fit->next, fit->next);
    bool bias = subspace_has_bias(s) && total > 0;
    for (size_t c = 0; c < s->m; c++) {
        s->least[c] = fmax(0.5, rounding * *panels_at(h, c, c));
        for (size_t r = 0; r <= c && bias; r++)
            *panels_at(h, r, c) -= mean[r] * (mean[c] / total);
        *panels_at(h, c, c) += 1;
    }
}

/* The Hessian of one column, by the weights in sample.next; factored. */
static bool sample_hessian(struct subspace *s, size_t c)
{
    struct klr_pool *pool = s->problem->op->pool;
    size_t n = s->sample.n, pitch = sample_pitch(s);
    struct weighing w = {.s = s};
    double *mean = s->hq; /* A's */
    bool whole = true;
    memset(mean, 0, pitch * sizeof *mean);
    s->h[c].n = s->m;
    memset(s->h[c].value, 0, panels_size(s->m) * sizeof(double));
    for (; w.first < n && whole; w.first += w.rows) {
        w.rows = n - w.first < SAMPLE_ROWS ? n - w.first : SAMPLE_ROWS;
        whole = klr_pool_run(pool, panels_bands(w.rows), weigh_task, &w) &&
                hessian_add(s, &s->h[c], w.rows);
        if (subspace_has_bias(s))
            s->h[c].dense->gemv_t(w.rows, pitch, s->scaled, pitch,
                                  s->sample.next + w.first, mean);
    }
    if (whole)
        hessian_finish(s, &s->h[c], mean);
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

static bool subspace_refresh(struct subspace *s)
{
    double hessian = (double)s->sample.n * (double)s->m;
    bool dear = hessian > SAMPLE_PASSES * (double)s->n;
    return s->formed || dear || subspace_precondition(s);
}

static bool subspace_renew(struct subspace *s)
{
    if (s->renewed && !sample_redraw(s))
        return false;
    sample_costs(s);
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

/* B of the sample and a vector; SAMPLE_ROWS rows at a time. */
struct sample_product {
    const struct subspace *s;
    const double *from;
    double *to;
};

static size_t part_rows(const struct subspace *s, size_t part)
{
    size_t left = s->sample.n - part * SAMPLE_ROWS;
    return left < SAMPLE_ROWS ? left : SAMPLE_ROWS;
}

/* to (parts, pitch) = B' from, of these rows alone. */
static void gather_task(void *context, size_t part, size_t thread)
{
    const struct sample_product *p = context;
    const struct subspace *s = p->s;
    size_t pitch = sample_pitch(s), first = part * SAMPLE_ROWS;
    double *to = p->to + part * pitch;
    (void)thread;
    memset(to, 0, pitch * sizeof *to);
    s->r.dense->gemv_t(part_rows(s, part), pitch, s->b + first * pitch, pitch,
                       p->from + first, to);
}

/* to (n) = B from. */
static void values_task(void *context, size_t part, size_t thread)
{
    const struct sample_product *p = context;
    const struct subspace *s = p->s;
    size_t pitch = sample_pitch(s), first = part * SAMPLE_ROWS;
    size_t rows = part_rows(s, part);
    (void)thread;
    memset(p->to + first, 0, rows * sizeof *p->to);
    s->r.dense->expand(rows, pitch, s->b + first * pitch, pitch, p->from,
                       p->to + first);
}

static void sample_gather(struct subspace *s, const double *t, double *out)
{
    size_t n = s->sample.n, k = s->columns, parts = sample_parts(n);
    size_t pitch = sample_pitch(s);
    struct sample_product p = {s, k > 1 ? s->sample_column : t, s->gathered};
    for (size_t c = 0; c < k; c++) {
        double *to = out + c * s->m;
        for (size_t i = 0; i < n && k > 1; i++)
            s->sample_column[i] = t[i * k + c];
        klr_pool_run_all(s->problem->op->pool, parts, gather_task, &p);
        memset(to, 0, s->m * sizeof *to);
        for (size_t part = 0; part < parts; part++)
            for (size_t q = 0; q < s->m; q++)
                to[q] += s->gathered[part * pitch + q];
    }
}

static void sample_values(struct subspace *s, const double *q, double *u)
{
    size_t n = s->sample.n, k = s->columns;
    struct sample_product p = {s, s->v, k > 1 ? s->sample_column : u};
    for (size_t c = 0; c < k; c++) {
        memset(s->v, 0, sample_pitch(s) * sizeof *s->v);
        memcpy(s->v, q + c * s->m, s->m * sizeof *q);
        klr_pool_run_all(s->problem->op->pool, sample_parts(n), values_task,
                         &p);
        for (size_t i = 0; i < n && k > 1; i++)
            u[i * k + c] = p.to[i];
    }
}

/* x, and B x in du, to a tenth, with a Hessian that is formed anew where an old
 * one took long. False: it was ended. */
static bool sample_direction(struct subspace *s, size_t *products)
{
    const double accuracy = 0.1;
    size_t enough = s->m / SAMPLE_PRODUCT; /* cost what a Hessian does */
    bool forms = !s->have_h || (*products > enough && !s->formed);
    s->formed = forms;
    if ((forms && !subspace_precondition(s)) || !subspace_goes_on(s))
        return false;
    return subspace_direction(s, &s->sample, accuracy, INFINITY, products);
}

static bool subspace_fit_sample(struct subspace *s, double eps)
{
    enum { STEPS = 60 };
    struct fit *fit = &s->sample;
    size_t length = subspace_length(s), products = 0;
    s->formed = false;
    if (clock_stopped(s->problem->clock))
        return false; /* B may not be whole */
    sample_costs(s);
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
