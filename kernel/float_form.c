/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Examples as floats, where float arithmetic keeps the accuracy that kernel.h
 * promises. That is decided from the features and the kernel alone.
 *
 * Features of distances are centred (dense form) and scaled by a power of 2, so
 * that gamma is near 1; features of products so that the largest |x| is. Let
 * u = 2^-24. An operation with the result s rounds by less than u |s|, and by
 * 0.43 u |s| in the root mean square over the mantissas of s. A sum of products
 * of x and z is, at each of its terms, at most p_k(x)^1/2 p_k(z)^1/2 with
 * p_k(x) the sum of squares so far; errors of different terms are independent
 * as far as that matters, hence the error of the sum has a deviation of at most
 * 0.43 u (A(x) A(z))^1/4, where A = sum p_k^2, the sums of runs included
 * (Higham & Mary, SIAM J. Sci. Comput. 41, 2019, A2815). Four deviations are
 * allowed for. The rounding of features to floats, N(x) = |x - float(x)|,
 * is measured. For
 *   - inner products: 1.7 u A^1/2 + 2 |x| N;
 *   - distances by products: 4.2 u A^1/2 (three sums, one of them twice), and
 *     of N 2 D^1/2 (N(x) + N(z)), of which exp(-gamma D) leaves
 *     0.43 / gamma^1/2 for D^1/2. Where they are formed run by run, A has no
 *     sums of runs, and the roundings between runs are relative to D;
 *   - sums of differences: relative to D, and exp(-D) D <= 1/e.
 * Among many features the second part of distances is far from its bound, where
 * x - z would have to follow their roundings. Centres with random last digits
 * make these independent: four deviations of the sum of (x_k - z_k) times them,
 * each at most M, are no more than 2 D^1/2 4 2^1/2 M, instead of 4 D^1/2 N.
 * For fixed16, distances by products serve beside sums of differences where
 * their bound is a quarter of a unit.
 * Where all features are multiples of 2^grid, few and small enough, as binary
 * ones are, nothing is rounded at all.
 */
#include "kernel/parts.h"

#define FLOAT_ROUNDING 0x1p-24
/* Error of an entry, in units of kernel.h's clause, without that of exp. */
#define FLOAT_ALLOWED 8e-7
/* Error of distances that are rounded to fixed16: a quarter of its unit. */
#define ROUGH_ALLOWED (0.25 / FIXED16_UNITS)
/* Rows that may stand out are one of so many: pairs of them are computed in
 * doubles, which takes a hundred times as long and more. */
enum { OUTLIERS = 32 };
/* Sizes beyond these would leave the range of floats in some operation. */
#define FLOAT_SIZE_MOST  0x1p80
#define FLOAT_SIZE_LEAST 0x1p-80

/* The quantities that the error of a row depends on; see above. */
struct measure {
    double size, spread, loss; /* |x|^2, A, N^2; or |x|_1, A, N in the 1-norm */
    double most;               /* rounding of a feature */
    double run, runs;          /* sums while measuring */
};

/* ---- features ---- */

static bool term_is_absolute(enum term term)
{
    return term == ABSOLUTE || term == OVERLAP;
}

/* Features of a row in the form of the points: `step` apart, 0 where they are
 * one. */
struct row {
    const double *value;
    size_t count, step;
};

/* Dense ones are put together in the room of `thread`. */
static struct row points_row(const struct klr_points *points, size_t p,
                             size_t thread)
{
    size_t count = points->width;
    if (points->form == DENSE)
        return (struct row){origin_dense(points, p, thread), count, 1};
    count = points->start[p + 1] - points->start[p];
    if (!points->value)
        return (struct row){&points->common, count, 0};
    return (struct row){points->value + points->start[p], count, 1};
}

static double row_value(struct row row, size_t k)
{
    return row.value[k * row.step];
}

static double narrow_feature(const struct narrow *narrow, struct row row,
                             size_t k)
{
    double centre = narrow->centre ? narrow->centre[k] : 0;
    return (row_value(row, k) - centre) * narrow->scale;
}

/* fmax, but in line; a `b` that is no number is passed over. */
static double larger(double a, double b)
{
    return b > a ? b : a;
}

struct centring {
    const struct klr_points *points;
    struct klr_shares shares;
    bool sums;    /* are to be formed, of `unit`; else what is largest is */
    double *unit; /* (width) of centres: eight bits below the largest value */
    double *part; /* (shares, width) of zeros at first */
};

static const double centre_share = 0x1p-12; /* of a unit */

static void centre_task(void *context, size_t index, size_t thread)
{
    const struct centring *c = context;
    size_t width = c->points->width, begin;
    size_t end = klr_share(c->shares, index, &begin);
    double *part = c->part + index * width;
    for (size_t p = begin; p < end; p++) {
        struct row row = points_row(c->points, p, thread);
        for (size_t k = 0; k < width && c->sums; k++)
            part[k] += nearbyint(row.value[k] / c->unit[k] / centre_share);
        for (size_t k = 0; k < width && !c->sums; k++)
            part[k] = larger(part[k], fabs(row.value[k]));
    }
}

/* Means of the features, rounded to 8 bits of the largest value: what floats
 * can hold before, they mostly can after, integers for example. Sums are of
 * integers, so that the order of the examples has no influence. */
static int centre_features(struct klr_points *points, struct klr_error *err)
{
    double *centre = points->narrow.centre;
    struct centring c = {.points = points,
                         .shares = klr_shares_of(points->n, 1, ROW_SHARES)};
    size_t width = points->width, parts = c.shares.count * width;
    c.unit = klr_zalloc(width + parts, sizeof *c.unit, err);
    if (!c.unit)
        return KLR_E_MEMORY;
    c.part = c.unit + width;
    klr_pool_run_all(points->pool, c.shares.count, centre_task, &c);
    for (size_t k = 0; k < width; k++) {
        int exponent;
        double most = 0;
        for (size_t q = k; q < parts; q += width) {
            most = larger(most, c.part[q]);
            c.part[q] = 0;
        }
        frexp(most, &exponent);
        c.unit[k] = ldexp(1, exponent - 8);
    }
    c.sums = true;
    klr_pool_run_all(points->pool, c.shares.count, centre_task, &c);
    for (size_t k = 0; k < width; k++) {
        double sum = 0;
        for (size_t q = k; q < parts; q += width)
            sum += c.part[q];
        double mean = sum * centre_share / (double)points->n;
        centre[k] = isfinite(mean) ? c.unit[k] * nearbyint(mean) : 0;
    }
    klr_free(c.unit);
    return 0;
}

/* Uniform in [0, 1), independent for all practical purposes. */
static double hash_uniform(uint64_t k)
{
    k = (k + 1) * UINT64_C(0x9e3779b97f4a7c15);
    k = (k ^ k >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return (double)((k ^ k >> 32) >> 11) * 0x1p-53;
}

/* Move centres by up to 1/256 of a unit of the scaled features. */
static void dither_centres(struct klr_points *points)
{
    struct narrow *narrow = &points->narrow;
    for (size_t k = 0; k < points->width; k++)
        narrow->centre[k] += hash_uniform(k) * 0x1p-8 / narrow->scale;
    narrow->dithered = true;
}

/* ---- exactness ---- */

/* The largest e such that value is a multiple of 2^e; value is not 0. */
static int value_grid(double value)
{
    int exponent, last; /* of the last bit that is set, from 1 */
    int64_t digits = (int64_t)ldexp(frexp(value, &exponent), 53);
    frexp((double)(digits & -digits), &last);
    return exponent - 54 + last;
}

static bool row_is_exact(const struct klr_points *points, struct row row)
{
    const int grid = points->narrow.grid;
    bool absolute = term_is_absolute(points->narrow.term);
    double size = 0, last = 0, value = 0;
    for (size_t k = 0; k < row.count; k++) {
        if (row_value(row, k) != last) /* features are often alike */
            value = ldexp(last = row_value(row, k), -grid);
        if (!(fabs(value) < 0x1p24) || value != nearbyint(value))
            return false;
        size += absolute ? 2 * fabs(value) : value * value;
    }
    return size <= 0x1p24;
}

/* Sets `grid`, and `exact` if all rows are. */
static void find_grid(struct klr_points *points)
{
    struct narrow *narrow = &points->narrow;
    narrow->grid = INT32_MAX;
    narrow->exact = !narrow->centre && !term_is_difference(narrow->term);
    double last = 0;
    for (size_t p = 0; p < points->n && narrow->exact; p++) {
        struct row row = points_row(points, p, 0);
        for (size_t k = 0; k < row.count; k++) {
            double value = row_value(row, k);
            if (value == last || value == 0) /* they are often alike */
                continue;
            int grid = value_grid(last = value);
            narrow->grid = grid < narrow->grid ? grid : narrow->grid;
            narrow->exact &= fabs(value) <= ldexp(0x1p24, narrow->grid);
        }
    }
    for (size_t p = 0; p < points->n && narrow->exact; p++)
        narrow->exact = row_is_exact(points, points_row(points, p, 0));
}

/* ---- errors ---- */

/* `cancels`: the sums of runs are not added up. */
static void measure_end_run(struct measure *m, bool cancels)
{
    m->runs += m->run;
    if (!cancels)
        m->spread += m->runs * m->runs;
    m->run = 0;
}

static struct measure measure_row(const struct klr_points *points,
                                  struct row row)
{
    const struct narrow *narrow = &points->narrow;
    struct measure m = {0};
    for (size_t k = 0; k < row.count; k++) {
        double value = narrow_feature(narrow, row, k);
        double lost = value - (double)(float)value;
        double term = term_size(narrow->term, value);
        m.run += term;
        m.spread += m.run * m.run + term * term;
        m.loss += term_size(narrow->term, lost);
        m.most = larger(m.most, fabs(lost));
        if (points->form == DENSE && k % RUN == RUN - 1)
            measure_end_run(&m, narrow->cancels);
    }
    measure_end_run(&m, narrow->cancels);
    m.size = m.runs;
    return m;
}

static struct row_error distance_error(const struct klr_points *points,
                                       struct measure m)
{
    const struct narrow *narrow = &points->narrow;
    const double u = FLOAT_ROUNDING, gamma = narrow->gamma;
    double runs = (double)points->width / RUN;
    double terms = term_is_difference(narrow->term) ? RUN + runs + 4
                   : narrow->cancels                ? runs + 4
                                                    : 0;
    double spread = term_is_difference(narrow->term) ? 0 : sqrt(m.spread);
    double loss = sqrt(m.loss);
    if (narrow->dithered)
        loss = fmin(loss, 2.83 * m.most);
    loss = points->kernel.type == KLR_LAPLACIAN ? 2 * gamma * m.loss
                                                : 1.72 * sqrt(gamma) * loss;
    return (struct row_error){loss + 0.63 * u * sqrt(terms),
                              4.2 * u * gamma * spread};
}

static struct row_error measure_error(const struct klr_points *points,
                                      struct measure m)
{
    const struct narrow *narrow = &points->narrow;
    const double u = FLOAT_ROUNDING;
    double spread = sqrt(m.spread), gamma = narrow->gamma;
    double coef0 = fabs((double)narrow->formula.coef0);
    double product = 1.7 * u * spread + 2 * sqrt(m.size * m.loss);
    double size = gamma * m.size + coef0; /* the argument of K_ii */
    switch (points->kernel.type) {
    case KLR_RBF:
    case KLR_EXPONENTIAL:
    case KLR_LAPLACIAN:
        return distance_error(points, m);
    case KLR_SIGMOID:
        return (struct row_error){gamma * product + 2 * u * size, 0};
    case KLR_LINEAR:
        return (struct row_error){m.size > 0 ? product / m.size : 0, 0};
    default:
        if (size > 0)
            size = points->kernel.degree * (gamma * product / size + 3 * u);
        return (struct row_error){size, 0};
    }
}

/* A bound of the error of K_ij. Deviations, of dithered centres, add up to less
 * than their mean may be, but not than the larger one. */
static double pair_error(const struct narrow *narrow, struct row_error x,
                         struct row_error z)
{
    double mean =
        narrow->dithered ? larger(x.mean, z.mean) : (x.mean + z.mean) / 2;
    return mean + sqrt(x.product * z.product);
}

static struct row_error row_error(const struct klr_points *points, size_t p,
                                  size_t thread)
{
    const struct narrow *narrow = &points->narrow;
    const struct row_error none = {0, 0}, too_large = {INFINITY, 0};
    struct row row = points_row(points, p, thread);
    struct measure m = measure_row(points, row);
    bool distance = kernel_is_distance(&points->kernel);
    if (!(m.size <= FLOAT_SIZE_MOST) ||
        !(distance || m.size == 0 || m.size >= FLOAT_SIZE_LEAST))
        return too_large;
    if (narrow->exact)
        return row_is_exact(points, row) ? none : too_large;
    return measure_error(points, m);
}

/* True if none of these points stands out. */
static bool all_fit(const struct narrow *narrow)
{
    return pair_error(narrow, narrow->worst, narrow->worst) <= FLOAT_ALLOWED;
}

static enum fit row_fit(const struct klr_points *points, size_t p,
                        size_t thread)
{
    struct row_error worst = points->narrow.worst;
    struct row_error error = row_error(points, p, thread);
    if (pair_error(&points->narrow, error, worst) <= FLOAT_ALLOWED)
        return FITS;
    return error.mean <= worst.mean && error.product <= worst.product ? OUTLYING
                                                                      : UNFIT;
}

/* ---- choosing ---- */

/* The power of 2 by which features are multiplied. */
static double choose_scale(const struct klr_points *points)
{
    int exponent;
    switch (points->kernel.type) {
    case KLR_RBF:
    case KLR_EXPONENTIAL:
        frexp(points->kernel.gamma, &exponent);
        return ldexp(1, (exponent - (exponent % 2 != 0)) / 2);
    case KLR_LAPLACIAN:
        frexp(points->kernel.gamma, &exponent);
        return ldexp(1, exponent);
    default:
        frexp(points->radius, &exponent);
        return ldexp(1, -exponent);
    }
}

/* False if the parameters leave the range of floats. */
static bool choose_formula(struct klr_points *points)
{
    const struct klr_kernel *kernel = &points->kernel;
    double scale = points->narrow.scale;
    double gamma = kernel->type == KLR_LINEAR ? 1 : kernel->gamma;
    gamma /= kernel->type == KLR_LAPLACIAN ? scale : scale * scale;
    points->narrow.formula = kernel_formula(kernel, gamma);
    points->narrow.gamma = fabs(gamma);
    return (gamma == 0 || (fabs(gamma) >= FLOAT_SIZE_LEAST &&
                           fabs(gamma) <= FLOAT_SIZE_MOST)) &&
           fabs(kernel->coef0) <= FLOAT_SIZE_MOST;
}

/* The rows of points, looked at by turns. */
struct fitting {
    struct klr_points *points;
    struct row_error *worst; /* (turns) */
    atomic_size_t outliers;
};

static void worst_task(void *context, size_t index, size_t thread)
{
    struct fitting *f = context;
    struct klr_range rows = points_task(f->points, index);
    struct row_error worst = {0, 0};
    for (size_t p = rows.begin; p < rows.end; p++) {
        struct row_error error = row_error(f->points, p, thread);
        worst.mean = larger(worst.mean, error.mean);
        worst.product = larger(worst.product, error.product);
    }
    f->worst[index] = worst;
}

static void outlier_task(void *context, size_t index, size_t thread)
{
    struct fitting *f = context;
    struct klr_range rows = points_task(f->points, index);
    size_t most = f->points->n / OUTLIERS;
    for (size_t p = rows.begin;
         p < rows.end && atomic_load(&f->outliers) <= most; p++)
        if (row_fit(f->points, p, thread) != FITS)
            atomic_fetch_add(&f->outliers, 1);
}

static struct row_error worst_of_rows(struct fitting *f)
{
    struct row_error worst = {0, 0};
    size_t turns = points_turns(f->points);
    klr_pool_run(f->points->pool, turns, worst_task, f);
    for (size_t t = 0; t < turns; t++) {
        worst.mean = larger(worst.mean, f->worst[t].mean);
        worst.product = larger(worst.product, f->worst[t].product);
    }
    return worst;
}

/* Sets what of `narrow` tells which rows stand out. False if these are many, or
 * a row is not for floats at all. */
static bool rows_fit(struct fitting *f)
{
    struct klr_points *points = f->points;
    points->narrow.worst = worst_of_rows(f);
    f->outliers = 0;
    if (!all_fit(&points->narrow))
        klr_pool_run(points->pool, points_turns(points), outlier_task, f);
    return f->outliers <= points->n / OUTLIERS;
}

/* Sizes of all rows, and of those that tiles read behind them. */
static float *sizes_create(const struct klr_points *points,
                           struct klr_error *err)
{
    size_t n = (points->n + SPAN - 1) / SPAN * SPAN;
    return klr_zalloc(n + SPAN, sizeof(float), err);
}

/* True if distances by products are accurate enough for fixed16. */
static bool rough_serves(struct fitting *f)
{
    struct narrow *narrow = &f->points->narrow;
    narrow->term = PRODUCT;
    struct row_error worst = worst_of_rows(f);
    narrow->term = SQUARE;
    return pair_error(narrow, worst, worst) <= ROUGH_ALLOWED;
}

/* True if floats serve for points that stand on the right. */
static int narrow_choose(struct klr_points *points, bool *serve,
                         struct klr_error *err)
{
    struct narrow *narrow = &points->narrow;
    bool distance = kernel_is_distance(&points->kernel);
    bool differences = term_is_difference(points->term);
    *serve = points->n > 0 && !points->compensated &&
             !(differences && points->form == SPARSE);
    if (!*serve)
        return 0;
    narrow->term = points->term;
    narrow->cancels = distance && points->form == DENSE &&
                      narrow->term == PRODUCT && points->width > RUN;
    narrow->scale = choose_scale(points);
    narrow->common = (float)(points->common * narrow->scale);
    if (distance && points->form == DENSE) {
        narrow->centre = klr_alloc(points->width, sizeof(double), err);
        if (!narrow->centre || centre_features(points, err))
            return KLR_E_MEMORY;
    }
    find_grid(points);
    struct fitting f = {.points = points};
    f.worst = klr_alloc(points_turns(points), sizeof *f.worst, err);
    if (!f.worst)
        return KLR_E_MEMORY;
    bool in_range = choose_formula(points);
    *serve = in_range && rows_fit(&f);
    if (in_range && !*serve && narrow->centre && narrow->term == PRODUCT) {
        narrow->term = SQUARE;
        narrow->cancels = false;
        *serve = rows_fit(&f);
    }
    if (in_range && !*serve && narrow->term == SQUARE) {
        dither_centres(points);
        *serve = rows_fit(&f);
    }
    bool rough = *serve && narrow->term == SQUARE && rough_serves(&f);
    klr_free(f.worst);
    return rough && !(narrow->rough = sizes_create(points, err)) ? KLR_E_MEMORY
                                                                 : 0;
}

/* ---- storing ---- */

static void narrow_put(struct klr_points *points, size_t p, size_t thread)
{
    struct narrow *narrow = &points->narrow;
    struct row row = points_row(points, p, thread);
    float *to = narrow->value;
    size_t step = points->form == DENSE ? FLOAT_PANEL : 1;
    size_t run = narrow->cancels ? RUN : SIZE_MAX;
    if (points->form == DENSE)
        to = narrow->panel + p / FLOAT_PANEL * FLOAT_PANEL * narrow->lines +
             p % FLOAT_PANEL;
    else
        to += points->start[p];
    double size = 0;
    for (size_t k = 0; k < row.count; k++) {
        float value = (float)narrow_feature(narrow, row, k);
        to[(k + k / run) * step] = value;
        size += (double)value * (double)value;
    }
    if (narrow->rough)
        narrow->rough[p] = (float)size;
}

/* Sizes in the same arithmetic as products, so that distances of equal rows
 * are 0; then what features outside the base add. */
static void narrow_sizes(struct klr_points *points)
{
    struct narrow *narrow = &points->narrow;
    double unit = term_is_absolute(points->term)
                      ? narrow->scale
                      : narrow->scale * narrow->scale;
    if (!kernel_is_distance(&points->kernel))
        return;
    if (!term_is_difference(narrow->term))
        narrow->tiles->sizes(points);
    for (size_t p = 0; p < points->n; p++) {
        if (narrow->term == OVERLAP)
            narrow->size[p] *= 0.5f;
        narrow->size[p] += (float)(unit * points->outside[p]);
    }
}

static int narrow_allocate(struct klr_points *points, struct klr_error *err)
{
    struct narrow *narrow = &points->narrow;
    size_t n = (points->n + SPAN - 1) / SPAN * SPAN;
    size_t sizes = narrow->cancels ? (points->width - 1) / RUN : 0;
    size_t lines = narrow->lines = points->width + sizes;
    size_t last = n > SPAN ? (n - SPAN) * lines : 0;
    size_t end = n * lines + FLOAT_PANEL;
    narrow->fit = klr_zalloc(points->n, sizeof *narrow->fit, err);
    narrow->size = sizes_create(points, err);
    if (!narrow->fit || !narrow->size)
        return KLR_E_MEMORY;
    if (points->form == SPARSE && !points->value)
        return 0;
    if (points->form == SPARSE) {
        narrow->value = klr_alloc(points->start[points->n], sizeof(float), err);
        return narrow->value ? 0 : KLR_E_MEMORY;
    }
    narrow->panel = klr_alloc(end, sizeof(float), err);
    if (!narrow->panel)
        return KLR_E_MEMORY;
    /* rows there are none of */
    memset(narrow->panel + last, 0, (end - last) * sizeof(float));
    return 0;
}

static void put_task(void *context, size_t index, size_t thread)
{
    struct klr_points *points = context;
    struct klr_range rows = points_task(points, index);
    for (size_t p = rows.begin; p < rows.end; p++)
        narrow_put(points, p, thread);
}

static void fit_task(void *context, size_t index, size_t thread)
{
    struct klr_points *points = context;
    struct klr_range rows = points_task(points, index);
    for (size_t p = rows.begin; p < rows.end; p++)
        points->narrow.fit[p] = (uint8_t)row_fit(points, p, thread);
}

/* The rows that stand out. */
static int narrow_list(struct klr_points *points, struct klr_error *err)
{
    struct narrow *narrow = &points->narrow;
    size_t count = 0;
    for (size_t p = 0; p < points->n; p++)
        count += narrow->fit[p] == OUTLYING;
    narrow->outlier = klr_alloc(count, sizeof *narrow->outlier, err);
    if (!narrow->outlier)
        return KLR_E_MEMORY;
    for (size_t p = 0; p < points->n; p++)
        if (narrow->fit[p] == OUTLYING)
            narrow->outlier[narrow->outliers++] =
                (struct outlier){p, row_error(points, p, 0)};
    return 0;
}

/* `known`: that all rows fit. */
static int narrow_store(struct klr_points *points, bool known,
                        struct klr_error *err)
{
    const struct narrow *narrow = &points->narrow;
    int code = narrow_allocate(points, err);
    if (code)
        return code;
    if (narrow->panel || narrow->value)
        klr_pool_run(points->pool, points_turns(points), put_task, points);
    if (!known)
        klr_pool_run(points->pool, points_turns(points), fit_task, points);
    narrow_sizes(points);
    return narrow_list(points, err);
}

static int narrow_create(struct klr_points *points, struct klr_error *err)
{
    bool serve = false;
    int code = narrow_choose(points, &serve, err);
    points->narrow.tiles = tiles_choose(KLR_FLOAT);
    if (!code && serve)
        code = narrow_store(points, all_fit(&points->narrow), err);
    if (!serve)
        narrow_free(&points->narrow);
    return code;
}

static int narrow_create_like(struct klr_points *points,
                              const struct klr_points *base,
                              struct klr_error *err)
{
    struct narrow *narrow = &points->narrow;
    if (!base->narrow.tiles)
        return 0;
    *narrow = base->narrow;
    narrow->fit = NULL;
    narrow->outlier = NULL;
    narrow->outliers = 0;
    narrow->size = narrow->rough = narrow->panel = narrow->value = NULL;
    int code = narrow_store(points, false, err);
    narrow->centre = NULL; /* the base's */
    return code;
}

static void narrow_free(struct narrow *narrow)
{
    klr_free(narrow->centre);
    klr_free(narrow->fit);
    klr_free(narrow->outlier);
    klr_free(narrow->size);
    klr_free(narrow->rough);
    klr_free(narrow->panel);
    klr_free(narrow->value);
    *narrow = (struct narrow){0};
}

static const struct outlier *narrow_outlier(const struct klr_points *points,
                                            size_t p)
{
    const struct outlier *list = points->narrow.outlier;
    size_t low = 0, high = points->narrow.outliers;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(list[middle].position <= p ? &low : &high) = middle;
    }
    return list + low;
}

static bool outliers_meet(const struct narrow *narrow, const struct outlier *x,
                          const struct outlier *z)
{
    return !(pair_error(narrow, x->error, z->error) <= FLOAT_ALLOWED);
}
