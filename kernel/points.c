/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Examples made ready for one kernel. Two choices are made here, from the
 * features and the kernel alone: how to store them, and how to keep the
 * accuracy that kernel.h promises.
 *
 * Errors, with u = 2^-53, at most t features in a row and R the largest |x|
 * (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1):
 *   - an inner product is off by at most t u |x| |z|. That serves the linear
 *     kernel, and the polynomial one while K_ii cannot cancel; polynomials that
 *     can, and tanh where gamma t u |x| |z| is not small, take compensated
 *     sums;
 *   - |x|^2 + |z|^2 - 2 x'z is off by at most (t + 4) u (|x| + |z|)^2, so that
 *     exp(-gamma ..) is good while gamma 4 R^2 (t + 4) u is small. A left row
 *     from elsewhere with |x| > 2 R does no harm, since then exp(-gamma D) D is
 *     small by itself;
 *   - sums of (u-v)^2 and |u-v| have a relative error of (t + 4) u, and
 *     exp(-D) D <= 1/e: these serve where the bound above fails.
 */
#include "kernel/parts.h"

/* Error of an entry up to which the faster way is taken. Far below what is
 * promised, for the sake of objectives with large costs. */
#define ERROR_ALLOWED 1e-10
#define ROUNDING      0x1p-53

/* Work for one nonzero of a sparse row in units of one dense element: when many
 * rows are spread out side by side, when few are, and when two rows are merged
 * or when it goes in double but would go in float if it were dense. */
enum { SPREAD_COST = 4, FEW_COST = 8, MERGE_COST = 16 };
/* Dense form may take this much more memory than sparse form, or so much. */
enum { DENSE_MEMORY_RATIO = 4, DENSE_MEMORY_SMALL = 16 << 20 };
/* Each thread has a block of left rows, 48 bytes a feature: 2 MB at most. */
enum { DENSE_FEATURES = 43690 };

const char *const klr_kernel_names[KLR_KERNEL_TYPES + 1] = {
    "linear",      "polynomial", "rbf",         "sigmoid",
    "precomputed", "laplacian",  "exponential", NULL,
};

static bool kernel_is_distance(const struct klr_kernel *kernel)
{
    return kernel->type == KLR_RBF || kernel->type == KLR_LAPLACIAN ||
           kernel->type == KLR_EXPONENTIAL;
}

bool klr_kernel_is_psd(const struct klr_kernel *kernel)
{
    switch (kernel->type) {
    case KLR_POLYNOMIAL: /* a power series in u'v with coefficients >= 0 */
        return kernel->degree == 0 ||
               (kernel->gamma >= 0 && kernel->coef0 >= 0);
    case KLR_RBF:
    case KLR_LAPLACIAN:
    case KLR_EXPONENTIAL:
        return kernel->gamma >= 0;
    default:
        return kernel->type != KLR_SIGMOID;
    }
}

/* base^degree by repeated squaring; overflow gives an infinity. */
static double kernel_power(double base, int degree)
{
    double power = 1;
    for (; degree > 0; degree /= 2) {
        if (degree % 2)
            power *= base;
        if (degree > 1)
            base *= base;
    }
    return power;
}

static struct formula kernel_formula(const struct klr_kernel *kernel,
                                     double gamma)
{
    if (kernel_is_distance(kernel) && gamma == 0) /* 1 at any distance */
        return (struct formula){KLR_POLYNOMIAL, 0, 0, 0};
    if (kernel_is_distance(kernel))
        return (struct formula){KLR_RBF, 0, -gamma * LOG2_E, 0};
    return (struct formula){kernel->type, kernel->degree, gamma, kernel->coef0};
}

/* ---- measuring ---- */

/* A feature's share of the row's size. */
static double term_size(enum term term, double v)
{
    return term == PRODUCT || term == SQUARE ? v * v : fabs(v);
}

static bool term_is_difference(enum term term)
{
    return term == SQUARE || term == ABSOLUTE;
}

/* Sizes of rows, by shares of all. */
struct measuring {
    const struct klr_features *x;
    enum term term;
    struct klr_shares shares;
    struct {
        double largest;         /* size of a row; all features count */
        size_t terms, nonzeros; /* the most of a row; of all */
        double common;          /* value of all nonzeros; NaN: they differ */
    } part[ROW_SHARES];
};

/* The value of all features that have the values a and b; 0 is that of none. */
static double common_value(double a, double b)
{
    if (a == b || b == 0)
        return a;
    return a == 0 ? b : (double)NAN;
}

static void measure_task(void *context, size_t part, size_t thread)
{
    struct measuring *m = context;
    const struct klr_features *x = m->x;
    size_t i, end = klr_share(m->shares, part, &i);
    for (; i < end; i++) {
        double size = 0, space[KLR_PACKED_COLUMNS];
        size_t terms = 0;
        struct klr_feature_row row = klr_features_row(x, i, space);
        for (size_t k = 0; k < row.count; k++) {
            size += term_size(m->term, row.value[k]);
            terms += row.value[k] != 0;
            m->part[part].common =
                common_value(m->part[part].common, row.value[k]);
        }
        m->part[part].nonzeros += terms;
        if (m->part[part].terms < terms)
            m->part[part].terms = terms;
        if (!(size <= m->part[part].largest))
            m->part[part].largest = size;
    }
    (void)thread;
}

/* The largest size of a row, and how many features are not 0. */
struct measured {
    double largest;
    size_t nonzeros;
};

/* The term that serves unless differences are needed. */
static enum term sparse_term(const struct klr_points *points)
{
    return points->kernel.type == KLR_LAPLACIAN ? OVERLAP : PRODUCT;
}

/* Sets `term`, of which sizes are, `terms` and `common`. */
static struct measured points_measure(struct klr_points *points)
{
    const struct klr_features *x = &points->origin.x;
    points->term = sparse_term(points);
    struct measuring m = {.x = x,
                          .term = points->term,
                          .shares = klr_shares_of(x->n, 1, ROW_SHARES)};
    struct measured all = {0, 0};
    klr_pool_run_all(points->pool, m.shares.count, measure_task, &m);
    for (size_t part = 0; part < m.shares.count; part++) {
        all.nonzeros += m.part[part].nonzeros;
        points->common = common_value(points->common, m.part[part].common);
        if (points->terms < m.part[part].terms)
            points->terms = m.part[part].terms;
        if (!(m.part[part].largest <= all.largest))
            all.largest = m.part[part].largest;
    }
    return all;
}

/* A bound of the error of gamma times a distance or inner product of points
 * with the product of sizes `square`. */
static double points_error(const struct klr_points *points, double square)
{
    return fabs(points->kernel.gamma) * ((double)points->terms + 4) * ROUNDING *
           square;
}

static bool points_compensate(const struct klr_points *a, size_t i,
                              const struct klr_points *b)
{
    return b->compensated ||
           (b->kernel.type == KLR_SIGMOID &&
            points_error(b, sqrt(a->size[i]) * b->radius) > ERROR_ALLOWED);
}

/* ---- choosing ---- */

static enum form choose_form(size_t n, size_t width, size_t nonzeros,
                             size_t cost)
{
    size_t rows = (n + SPAN - 1) / SPAN * SPAN; /* that there is room for */
    double dense = (double)n * (double)width, sparse = (double)nonzeros;
    double bytes = (double)rows * (double)width * sizeof(double);
    double sparse_bytes = sparse * (sizeof(double) + sizeof(int));
    return dense <= (double)cost * sparse && width <= DENSE_FEATURES &&
                   (bytes <= DENSE_MEMORY_RATIO * sparse_bytes ||
                    bytes <= DENSE_MEMORY_SMALL)
               ? DENSE
               : SPARSE;
}

/* True if sums of products in double may not keep the accuracy. Of polynomials
 * whose K_ii = (gamma |x|^2 + coef0)^degree may vanish that is so for any
 * row. */
static bool choose_compensation(const struct klr_points *points)
{
    const struct klr_kernel *kernel = &points->kernel;
    double square = points->radius * points->radius;
    if (kernel->type == KLR_SIGMOID)
        return !(points_error(points, square) <= ERROR_ALLOWED);
    return kernel->type == KLR_POLYNOMIAL && kernel->gamma * kernel->coef0 < 0;
}

/* `cost`: what a feature of sparse form takes beside one of dense form. */
static void points_choose(struct klr_points *points,
                          const struct measured *measured, size_t cost)
{
    const double largest = measured->largest;
    bool distance = kernel_is_distance(&points->kernel);
    bool cancels =
        distance && !(points_error(points, 4 * largest) <= ERROR_ALLOWED);
    points->form = choose_form(points->origin.x.n, points->width,
                               measured->nonzeros, cancels ? MERGE_COST : cost);
    points->term = sparse_term(points);
    if (points->term == OVERLAP && (cancels || points->form == DENSE))
        points->term = ABSOLUTE;
    else if (cancels)
        points->term = SQUARE;
    else if (distance)
        points->rounding = points_error(points, 4 * largest);
    if (!distance) {
        points->radius = sqrt(largest);
        points->compensated = choose_compensation(points);
    }
}

/* ---- storing ---- */

static size_t points_turns(const struct klr_points *points)
{
    return (points->n + TURN_ROWS - 1) / TURN_ROWS;
}

static struct klr_range points_task(const struct klr_points *points,
                                    size_t index)
{
    size_t begin = index * TURN_ROWS, left = points->n - begin;
    return (struct klr_range){begin,
                              begin + (left < TURN_ROWS ? left : TURN_ROWS)};
}

/* Times SPAN: elements of `panel`, the rows of it rounded up to SPAN; left rows
 * are copied with what follows them. */
static size_t panel_spans(const struct klr_points *points)
{
    return (points->n + SPAN - 1) / SPAN * points->width + 1;
}

/* Elements of the room of a thread: a row, and what it is unpacked to. */
static size_t origin_room(const struct klr_points *points)
{
    return points->width + KLR_PACKED_COLUMNS;
}

/* True if the value of all features is enough: where tiles alone ask for it. */
static bool points_share_value(const struct klr_points *points)
{
    return points->form == SPARSE && points->term == PRODUCT &&
           kernel_is_distance(&points->kernel) && fabs(points->common) > 0;
}

static int points_allocate(struct klr_points *points, struct klr_error *err)
{
    const bool share = points_share_value(points);
    const struct klr_features *x = &points->origin.x;
    size_t n = (x->n + SPAN - 1) / SPAN * SPAN;
    size_t nonzeros = klr_features_count(x);
    points->n = x->n;
    /* tiles read a span of them from any column on */
    points->size = klr_zalloc(n + SPAN, sizeof(double), err);
    points->outside = klr_zalloc(x->n, sizeof(double), err);
    if (!points->size || !points->outside)
        return KLR_E_MEMORY;
    if (points->form == DENSE) {
        points->origin.room =
            klr_alloc(klr_pool_size(points->pool),
                      origin_room(points) * sizeof(double), err);
        return points->origin.room ? 0 : KLR_E_MEMORY;
    }
    points->start = klr_zalloc(x->n + 1, sizeof(size_t), err);
    points->column = klr_alloc(nonzeros, sizeof(int), err);
    if (!share)
        points->value = klr_alloc(nonzeros, sizeof(double), err);
    return points->start && points->column && (share || points->value)
               ? 0
               : KLR_E_MEMORY;
}

static struct klr_feature_row origin_row(const struct klr_points *points,
                                         size_t p, double *space)
{
    const struct origin *origin = &points->origin;
    return klr_features_row(&origin->x, origin->order ? origin->order[p] : p,
                            space);
}

static const double *origin_dense(const struct klr_points *points, size_t p,
                                  size_t thread)
{
    const struct map *map = points->origin.map;
    double *dense = points->origin.room + thread * origin_room(points);
    struct klr_feature_row from = origin_row(points, p, dense + points->width);
    size_t number = 0;
    if (from.count > 0 && from.count == map->count &&
        memcmp(from.index, map->feature, from.count * sizeof(int)) == 0)
        return from.value;
    memset(dense, 0, points->width * sizeof *dense);
    for (size_t k = 0; k < from.count; k++) {
        if (from.value[k] == 0)
            continue;
        number = map_seek(map->feature, number, map->count, from.index[k]);
        if (number < map->count && map->feature[number] == from.index[k])
            dense[number] = from.value[k];
    }
    return dense;
}

/* Feature `number` of position p becomes `value`; rows come in order. */
static void points_put(struct klr_points *points, size_t p, int number,
                       double value)
{
    size_t at = points->start[p + 1]++;
    points->column[at] = number;
    if (points->value)
        points->value[at] = value;
}

/* The size of position p, and its features in sparse form. */
static void points_fill(struct klr_points *points, size_t p)
{
    const struct map *map = points->origin.map;
    double inside = 0; /* the map */
    double space[KLR_PACKED_COLUMNS];
    struct klr_feature_row from = origin_row(points, p, space);
    size_t number = 0;
    if (points->form == SPARSE)
        points->start[p + 1] = points->start[p];
    for (size_t k = 0; k < from.count; k++) {
        int index = from.index[k];
        if (from.value[k] == 0)
            continue;
        number = map_seek(map->feature, number, map->count, index);
        double size = term_size(points->term, from.value[k]);
        if (number == map->count || map->feature[number] != index) {
            points->outside[p] += size;
            continue;
        }
        if (points->form == SPARSE)
            points_put(points, p, (int)number, from.value[k]);
        /* in the order of the sums, so that D(x, x) = 0 comes out exactly;
         * of the overlap with itself, 2 |x|_1, that holds too */
        inside += size;
    }
    points->size[p] = term_is_difference(points->term) ? 0 : inside;
    if (kernel_is_distance(&points->kernel))
        points->size[p] += points->outside[p];
}

static int points_overflow(const struct klr_points *points, size_t row,
                           struct klr_error *err)
{
    return klr_fail_at(err, KLR_E_DATA, (long)row + 1, 0,
                       "the features are so large that the %s kernel "
                       "overflows; scale the data",
                       klr_kernel_names[points->kernel.type]);
}

/* Inner products must stay finite: where infinities meet, NaN is near. By
 * Cauchy and Schwarz it is enough to look at |x_i|^2 and, of rows from
 * elsewhere that are larger than those of the base, at |x| times its radius. */
static int points_check(const struct klr_points *points, size_t p, size_t row,
                        struct klr_error *err)
{
    const struct klr_kernel *kernel = &points->kernel;
    const double growth_most = 44; /* e^88 is a float */
    double length = sqrt(points->size[p]);
    double most = length * fmin(length, points->radius);
    if (kernel->type != KLR_LINEAR)
        most = fabs(kernel->gamma) * most + fabs(kernel->coef0);
    if (kernel->type == KLR_POLYNOMIAL)
        most = kernel_power(most, kernel->degree);
    bool good = kernel_is_distance(kernel)
                    ? !points->growth || points->growth[p] <= exp(growth_most)
                    : isfinite(length) && isfinite(most);
    return good ? 0 : points_overflow(points, row, err);
}

/* exp(2 gamma u'v) is exp(-gamma |u-v|^2) between exp(gamma |u|^2) and that of
 * v. */
static int points_grow(struct klr_points *points, struct klr_error *err)
{
    if (points->kernel.type != KLR_EXPONENTIAL)
        return 0;
    if (!(points->growth = klr_alloc(points->n, sizeof *points->growth, err)))
        return KLR_E_MEMORY;
    for (size_t p = 0; p < points->n; p++) {
        double square = 0, space[KLR_PACKED_COLUMNS];
        struct klr_feature_row row = origin_row(points, p, space);
        for (size_t k = 0; k < row.count; k++)
            square += row.value[k] * row.value[k];
        points->growth[p] = exp(points->kernel.gamma * square);
    }
    return 0;
}

static int points_positions(size_t **out, const size_t *order, size_t n,
                            struct klr_error *err)
{
    size_t *position = *out =
        order ? klr_alloc(n, sizeof *position, err) : NULL;
    if (order && !position)
        return KLR_E_MEMORY;
    for (size_t p = 0; order && p < n; p++)
        position[order[p]] = p;
    return 0;
}

/* The first one of the rows of x, as they come there, is refused. */
static int points_check_all(const struct klr_points *points,
                            struct klr_error *err)
{
    size_t *position;
    int code =
        points_positions(&position, points->origin.order, points->n, err);
    for (size_t row = 0; row < points->n && !code; row++)
        code = points_check(points, position ? position[row] : row, row, err);
    klr_free(position);
    return code;
}

static void fill_task(void *context, size_t index, size_t thread)
{
    struct klr_points *points = context;
    struct klr_range rows = points_task(points, index);
    for (size_t p = rows.begin; p < rows.end; p++)
        points_fill(points, p);
    (void)thread;
}

/* Sparse rows begin where those before them end: one thread stores them. */
static int points_store(struct klr_points *points, struct klr_error *err)
{
    int code = points_allocate(points, err);
    if (!code)
        klr_pool_run(points->form == DENSE ? points->pool : NULL,
                     points_turns(points), fill_task, points);
    if (!code)
        code = points_grow(points, err);
    return code ? code : points_check_all(points, err);
}

static void panel_task(void *context, size_t index, size_t thread)
{
    struct klr_points *points = context;
    struct klr_range rows = points_task(points, index);
    size_t width = points->width, begin = rows.begin * width;
    size_t end =
        rows.end < points->n ? rows.end * width : panel_spans(points) * SPAN;
    memset(points->panel + begin, 0, (end - begin) * sizeof(double));
    for (size_t p = rows.begin; p < rows.end; p++) {
        const double *dense = origin_dense(points, p, thread);
        double *to = points->panel + p / PANEL * PANEL * width + p % PANEL;
        for (size_t k = 0; k < width; k++)
            to[k * PANEL] = dense[k];
    }
}

/* The doubles of dense form. */
static int points_panel(struct klr_points *points, struct klr_error *err)
{
    if (points->form != DENSE)
        return 0;
    if (points->width > SIZE_MAX / (SPAN * sizeof(double)))
        return klr_fail(err, KLR_E_MEMORY, "too many features");
    points->panel = klr_alloc(panel_spans(points), SPAN * sizeof(double), err);
    if (points->panel)
        klr_pool_run(points->pool, points_turns(points), panel_task, points);
    return points->panel ? 0 : KLR_E_MEMORY;
}

/* Keep the origin of points that are `lean`, and in others the doubles. */
static int points_settle(struct klr_points *points, bool lean,
                         struct klr_error *err)
{
    int code = 0;
    points->lean = lean && lean_serves(points);
    if (!points->lean)
        code = points_panel(points, err);
    points->origin.room = klr_free(points->origin.room);
    if (!points->lean) {
        points->origin = (struct origin){0};
        return code;
    }
    points->outside = klr_free(points->outside);
    return 0;
}

/* ---- creating ---- */

static void points_discard(struct klr_points *points)
{
    points->origin.room = klr_free(points->origin.room);
    points->size = klr_free(points->size);
    points->outside = klr_free(points->outside);
    points->growth = klr_free(points->growth);
    points->panel = klr_free(points->panel);
    points->start = klr_free(points->start);
    points->column = klr_free(points->column);
    points->value = klr_free(points->value);
    points->nibble = klr_free(points->nibble);
    narrow_free(&points->narrow);
}

/* Dense form is worth more where floats serve in no other, and to few rows at a
 * time; nothing where features are binary. */
static size_t points_cost(const struct klr_points *points, bool few)
{
    if (points->nibble)
        return 0;
    if (!points->narrow.tiles && kernel_is_distance(&points->kernel))
        return MERGE_COST;
    return few ? FEW_COST : SPREAD_COST;
}

/* `cost` as above; 0 if features may be looked up. */
static int points_prepare(struct klr_points *points,
                          const struct measured *measured, size_t cost,
                          bool few, struct klr_error *err)
{
    points_choose(points, measured, cost);
    int code = points_store(points, err);
    if (!code)
        code = narrow_create(points, err);
    if (!code && cost == 0 && binary_serves(points))
        code = binary_create(points, err);
    if (code || points->form == DENSE || points_cost(points, few) <= cost)
        return code;
    cost = points_cost(points, few);
    points_choose(points, measured, cost);
    if (points->form == SPARSE)
        return 0;
    points_discard(points);
    return points_prepare(points, measured, cost, few, err);
}

/* Uses that points are made ready for. */
struct purpose {
    bool few;  /* rows at a time */
    bool lean; /* their doubles may be left where they are */
};

static int points_create(struct klr_points **out,
                         const struct klr_kernel *kernel,
                         struct purpose purpose, const struct klr_features *x,
                         const size_t *order, struct klr_pool *pool,
                         struct klr_error *err)
{
    int code = KLR_E_MEMORY;
    struct klr_points *points = klr_zalloc(1, sizeof *points, err);
    if (!points)
        goto done;
    points->kernel = *kernel;
    points->tiles = tiles_choose(KLR_DOUBLE);
    if (kernel->type == KLR_PRECOMPUTED) {
        code = matrix_create(points, NULL, x, order, err);
        goto done;
    }
    points->pool = pool;
    code = map_create(&points->map, x, err);
    if (code)
        goto done;
    points->width = points->map.count;
    points->origin =
        (struct origin){.x = *x, .order = order, .map = &points->map};
    struct measured measured = points_measure(points);
    bool binary = binary_pays(points, measured.nonzeros, purpose.few);
    code = points_prepare(points, &measured, binary ? 0 : SPREAD_COST,
                          purpose.few, err);
    if (!code)
        code = points_settle(points, purpose.lean, err);
    points->pool = NULL;
done:
    *out = code ? klr_points_free(points) : points;
    return code;
}

int klr_points_create(struct klr_points **out, const struct klr_kernel *kernel,
                      const struct klr_features *x, const size_t *order,
                      struct klr_pool *pool, struct klr_error *err)
{
    const struct purpose any = {.few = false};
    return points_create(out, kernel, any, x, order, pool, err);
}

int klr_points_create_for_rows(struct klr_points **out,
                               const struct klr_kernel *kernel,
                               const struct klr_features *x,
                               const size_t *order, struct klr_pool *pool,
                               struct klr_error *err)
{
    const struct purpose few = {.few = true};
    return points_create(out, kernel, few, x, order, pool, err);
}

int klr_points_create_lean(struct klr_points **out,
                           const struct klr_kernel *kernel,
                           const struct klr_features *x, const size_t *order,
                           struct klr_pool *pool, struct klr_error *err)
{
    const struct purpose lean = {.lean = true};
    return points_create(out, kernel, lean, x, order, pool, err);
}

int klr_points_create_like(struct klr_points **out,
                           const struct klr_points *base,
                           const struct klr_features *x, struct klr_pool *pool,
                           struct klr_error *err)
{
    int code = KLR_E_MEMORY;
    struct klr_points *points = klr_zalloc(1, sizeof *points, err);
    if (!points)
        goto done;
    points->kernel = base->kernel;
    if (base->form == MATRIX) {
        code = matrix_create(points, base, x, NULL, err);
        goto done;
    }
    points->pool = pool;
    points->form = base->form;
    points->term = base->term;
    points->radius = base->radius;
    points->width = base->width;
    points->origin = (struct origin){.x = *x, .map = &base->map};
    code = points_store(points, err);
    if (!code)
        code = narrow_create_like(points, base, err);
    if (!code)
        code = points_settle(points, false, err);
    points->pool = NULL;
done:
    *out = code ? klr_points_free(points) : points;
    return code;
}

struct klr_points *klr_points_free(struct klr_points *points)
{
    if (points) {
        map_free(&points->map);
        points_discard(points);
        klr_free(points->serial);
        klr_free(points->matrix);
    }
    return klr_free(points);
}

double klr_points_rounding(const struct klr_points *points)
{
    return fmax(points->rounding, ROUNDING);
}

size_t klr_points_count(const struct klr_points *points)
{
    return points->n;
}

/* In nanoseconds: 6 for a float on a page that the system must clear first, 1
 * to 10 as machines go; for an entry of floats in a tile 0.35, and for a
 * hundred features 1.8 if they are dense, 3 if their differences are summed, 6
 * if they are sparse, 3 if they are binary. Doubles take six times as long,
 * compensated products ten times. */
double klr_points_price(const struct klr_points *points)
{
    bool dense = points->form == DENSE;
    double features = (double)(dense ? points->width : points->terms);
    double feature = points->nibble ? 0.03 : 0.06;
    if (dense)
        feature = term_is_difference(points->narrow.term) ? 0.03 : 0.018;
    double entry = 0.35 + feature * features;
    if (points->compensated)
        entry *= 10;
    else if (!points->narrow.tiles)
        entry *= 6;
    return 6 / entry;
}
