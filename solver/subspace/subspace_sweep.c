/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweeps over K[points, examples]: the entries of SHEET examples with all
 * points are computed, or kept, as rows of floats; both products are taken of
 * them while they are near. Sums over examples are divided into tasks of a
 * fixed number of sheets, and added in their order: no bit depends on threads,
 * or on what is kept.
 */
#include "solver/subspace/subspace_parts.h"

static size_t sheet_count(size_t n)
{
    return (n + SHEET - 1) / SHEET;
}

static size_t task_count(size_t n)
{
    return (sheet_count(n) + SHEETS - 1) / SHEETS;
}

static size_t point_sweep_threads(const struct binary_problem *problem)
{
    return klr_pool_size(problem->op->pool);
}

/* A thread's sheet of doubles. */
static size_t point_sweep_pitch(size_t room)
{
    return (room + 1) * SHEET * sizeof(double);
}

static double point_sweep_bytes(const struct binary_problem *problem,
                                size_t room, size_t vectors)
{
    return (double)point_sweep_threads(problem) *
               (double)point_sweep_pitch(room) +
           (double)task_count(problem->n) * (double)vectors * (double)room *
               sizeof(double);
}

static double point_sweep_kept_bytes(const struct binary_problem *problem,
                                     size_t room)
{
    return (double)sheet_count(problem->n) * SHEET * (double)room *
           sizeof(float);
}

static int point_sweep_create(struct point_sweep *s,
                              const struct binary_problem *problem,
                              const size_t *position, size_t room,
                              size_t vectors, double budget, double *entries,
                              struct klr_error *err)
{
    size_t threads = point_sweep_threads(problem);
    *s = (struct point_sweep){.problem = problem,
                              .room = room,
                              .vectors = vectors,
                              .position = position,
                              .pitch = point_sweep_pitch(room),
                              .entries = entries};
    if (!(s->work = klr_zalloc(threads, s->pitch, err)) ||
        !(s->range =
              klr_alloc(threads * problem->set.count, sizeof *s->range, err)) ||
        !(s->partial = klr_alloc(task_count(problem->n) * vectors,
                                 room * sizeof(double), err)))
        return KLR_E_MEMORY;
    if (point_sweep_kept_bytes(problem, room) <= budget)
        s->kept = klr_alloc(sheet_count(problem->n) * SHEET,
                            room * sizeof(float), NULL);
    s->filled = klr_zalloc(sheet_count(problem->n), sizeof *s->filled, err);
    return s->filled ? 0 : KLR_E_MEMORY;
}

static void point_sweep_free(struct point_sweep *s)
{
    klr_free(s->work);
    klr_free(s->range);
    klr_free(s->partial);
    klr_free(s->kept);
    klr_free(s->filled);
    *s = (struct point_sweep){0};
}

/* ---- a sheet ---- */

/* Positions begin .. begin + count - 1 of a set. */
static struct klr_set set_part(struct klr_set set, size_t begin, size_t count,
                               struct klr_range *range)
{
    struct klr_set part = {range, 0, count};
    for (size_t q = 0; q < set.count && count > 0; q++) {
        struct klr_range next = set.range[q];
        size_t size = next.end - next.begin, skip = begin < size ? begin : size;
        next.begin += skip;
        begin -= skip;
        if (next.end - next.begin > count)
            next.end = next.begin + count;
        count -= next.end - next.begin;
        if (next.begin < next.end)
            range[part.count++] = next;
    }
    return part;
}

/* Entries of the points from `first` on. */
static void sheet_compute(const struct point_sweep *s, size_t first,
                          struct klr_set set, enum klr_precision precision,
                          size_t thread, void *out)
{
    struct klr_operator *op = s->problem->op;
    struct klr_range rows = {first, s->count};
    if (s->left)
        operator_block_of(op, thread, s->left, rows, set, precision, out,
                          SHEET);
    else
        operator_block(op, thread, s->position + first, s->count - first, set,
                       precision, out, SHEET);
}

/* The entries (count, SHEET) of a sheet: those kept, or in the thread's
 * workspace. */
static const void *sheet_entries(const struct point_sweep *s, size_t sheet,
                                 enum klr_precision precision, size_t thread)
{
    const struct binary_problem *b = s->problem;
    bool kept = s->kept && precision == KLR_FLOAT;
    size_t begin = sheet * SHEET, first = kept ? s->filled[sheet] : 0;
    size_t count = b->n - begin < SHEET ? b->n - begin : SHEET;
    size_t element = klr_precision_bytes(precision) * SHEET;
    void *out = kept ? (void *)(s->kept + sheet * s->room * SHEET)
                     : s->work + thread * s->pitch;
    char *more = (char *)out + first * element;
    struct klr_set set =
        set_part(b->set, begin, count, s->range + thread * b->set.count);
    if (first < s->count) {
        if (count < SHEET) /* what is left of others may be no numbers */
            memset(more, 0, (s->count - first) * element);
        sheet_compute(s, first, set, precision, thread, more);
    }
    if (kept)
        s->filled[sheet] = s->count;
    return out;
}

/* out (SHEET) = K'v */
static void sheet_project(const struct point_sweep *s, const void *entries,
                          enum klr_precision precision, const double *v,
                          double *out)
{
    memset(out, 0, SHEET * sizeof *out);
    if (precision == KLR_FLOAT) {
        klr_dense()->gemv_t(s->count, SHEET, entries, SHEET, v, out);
        return;
    }
    for (size_t k = 0; k < s->count; k++) {
        const double *row = (const double *)entries + k * SHEET;
        for (size_t i = 0; i < SHEET; i++)
            out[i] += v[k] * row[i];
    }
}

/* sum (count) += K t for t (SHEET). */
static void sheet_expand(const struct point_sweep *s, const void *entries,
                         enum klr_precision precision, const double *t,
                         double *sum)
{
    if (precision == KLR_FLOAT) {
        klr_dense()->expand(s->count, SHEET, entries, SHEET, t, sum);
        return;
    }
    for (size_t k = 0; k < s->count; k++)
        sum[k] += dot(SHEET, (const double *)entries + k * SHEET, t);
}

/* ---- all of them ---- */

/* One vector with the entries of a sheet. */
static void sheet_vector(const struct point_sweep_product *p,
                         const struct sweep_vector *vector, size_t sheet,
                         const void *entries, double *sum)
{
    const struct point_sweep *s = p->sweep;
    size_t begin = sheet * SHEET, n = s->problem->n;
    size_t count = n - begin < SHEET ? n - begin : SHEET;
    double u[SHEET], t[SHEET] = {0};
    if (vector->v) {
        sheet_project(s, entries, p->precision, vector->v, u);
        for (size_t i = 0; i < count; i++)
            vector->u[(begin + i) * p->step] = u[i];
    }
    if (!vector->sum)
        return;
    for (size_t i = 0; i < count; i++)
        t[i] = vector->t ? vector->t[(begin + i) * p->step]
                         : p->weight[begin + i] * u[i];
    sheet_expand(s, entries, p->precision, t, sum);
}

/* u = 0 of the examples that are passed over. */
static void sheet_pass_over(const struct point_sweep_product *p, size_t sheet)
{
    size_t begin = sheet * SHEET, n = p->sweep->problem->n;
    size_t end = n - begin < SHEET ? n : begin + SHEET;
    for (size_t q = 0; q < p->count; q++)
        for (size_t i = begin; i < end && p->vector[q].v; i++)
            p->vector[q].u[i * p->step] = 0;
}

static void point_sweep_task(void *context, size_t task, size_t thread)
{
    const struct point_sweep_product *p = context;
    const struct point_sweep *s = p->sweep;
    double *partial = s->partial + task * s->vectors * s->room;
    size_t sheets = sheet_count(s->problem->n), end = (task + 1) * SHEETS;
    memset(partial, 0, s->vectors * s->room * sizeof *partial);
    for (size_t sheet = task * SHEETS; sheet < end && sheet < sheets; sheet++) {
        if (s->times && s->times[sheet] == 0) {
            sheet_pass_over(p, sheet);
            continue;
        }
        const void *entries = sheet_entries(s, sheet, p->precision, thread);
        for (size_t q = 0; q < p->count; q++)
            sheet_vector(p, &p->vector[q], sheet, entries,
                         partial + q * s->room);
    }
}

/* The partial sums of vector q, in their order. */
static void point_sweep_join(const struct point_sweep *s, size_t q, double *sum)
{
    size_t tasks = task_count(s->problem->n);
    for (size_t k = 0; k < s->count; k++) {
        sum[k] = 0;
        for (size_t task = 0; task < tasks; task++)
            sum[k] += s->partial[(task * s->vectors + q) * s->room + k];
    }
}

/* Examples that are not passed over. */
static size_t sweep_rows(const struct point_sweep *s)
{
    size_t n = s->problem->n, rows = n;
    for (size_t sheet = 0; s->times && sheet < sheet_count(n); sheet++)
        if (s->times[sheet] == 0)
            rows -= n - sheet * SHEET < SHEET ? n - sheet * SHEET : SHEET;
    return rows;
}

static bool point_sweep_run(struct point_sweep_product *p)
{
    struct point_sweep *s = p->sweep;
    struct klr_operator *op = s->problem->op;
    klr_points_pick(&s->left, op->points, s->position, s->count, NULL);
    bool whole =
        klr_pool_run(op->pool, task_count(s->problem->n), point_sweep_task, p);
    s->left = klr_points_free(s->left);
    size_t rows = sweep_rows(s);
    operator_count(op, s->count, rows);
    *s->entries += ((p->vector->v ? 0.5 : 0) + (p->vector->sum ? 0.5 : 0)) *
                   (double)s->count * (double)rows;
    for (size_t q = 0; q < p->count; q++)
        if (p->vector[q].sum)
            point_sweep_join(s, q, p->vector[q].sum);
    return whole;
}
