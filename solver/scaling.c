/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scaling within models: a problem is scaled before training, and remembers
 * how; its models take that over, and with them everything they answer. What
 * comes out is what klr-scale --exact writes, number by number: the mathematics
 * is base/scaling.c for both.
 */
#include "solver/internal.h"

/* In the order of enum klr_scale. */
const char *const klr_scale_names[] = {"none", "minmax", "standard", NULL};

/* ---- Rows ---- */

/* A value of 0 is as good as none. */
static void rows_add(struct rows *rows, int index, double value)
{
    if (value == 0)
        return;
    rows->index[rows->count] = index;
    rows->value[rows->count++] = value;
}

/* Append the row i of x, scaled. KLR_E_DATA, without a line, where a value
 * overflows. */
static int scale_row(const struct klr_scaling *scaling,
                     const struct klr_features *x, size_t i, struct rows *out,
                     struct klr_error *err)
{
    size_t at = x->start[i], end = x->start[i + 1];
    if (rows_reserve(out, scaling->columns, err))
        return KLR_E_MEMORY;
    for (size_t c = 0; c < scaling->columns; c++) {
        const struct klr_scaling_column *column = &scaling->column[c];
        while (at < end && x->index[at] < column->index)
            at++;
        bool there = at < end && x->index[at] == column->index;
        double value = there ? x->value[at] : 0;
        double scaled;
        int code = klr_scaling_map(scaling, column, value, &scaled, err);
        if (code)
            return code;
        rows_add(out, column->index, scaled);
    }
    return 0;
}

static int scale_features(const struct klr_scaling *scaling,
                          const struct klr_features *x, struct rows *out,
                          size_t *start, struct klr_error *err)
{
    out->count = start[0] = 0;
    for (size_t i = 0; i < x->n; i++) {
        int code = scale_row(scaling, x, i, out, err);
        if (code == KLR_E_DATA && err)
            err->line = (long)i + 1;
        if (code)
            return code;
        start[i + 1] = out->count;
    }
    return 0;
}

/* ---- Scalings ---- */

static struct klr_scaling *scaling_free(struct klr_scaling *scaling)
{
    if (scaling)
        klr_scaling_free(scaling);
    return klr_free(scaling);
}

/* The columns alone. */
static int scaling_copy(struct klr_scaling **out,
                        const struct klr_scaling *scaling,
                        struct klr_error *err)
{
    struct klr_scaling *copy = *out = klr_zalloc(1, sizeof *copy, err);
    if (!copy)
        return KLR_E_MEMORY;
    copy->standardize = scaling->standardize;
    copy->lower = scaling->lower;
    copy->upper = scaling->upper;
    copy->columns = scaling->columns;
    copy->column = klr_alloc(scaling->columns, sizeof *copy->column, err);
    if (!copy->column)
        return KLR_E_MEMORY;
    for (size_t c = 0; c < scaling->columns; c++)
        copy->column[c] = scaling->column[c];
    return 0;
}

static int scaling_learn(struct klr_scaling *scaling,
                         const struct klr_features *x, struct klr_error *err)
{
    for (size_t i = 0; i < x->n; i++) {
        size_t at = x->start[i];
        if (klr_scaling_see_row(scaling, x->start[i + 1] - at, x->index + at,
                                x->value + at, err))
            return KLR_E_MEMORY;
    }
    return klr_scaling_settle(scaling, err);
}

/* ---- Problems ---- */

/* Its features become the scaled ones, which stand in no text. */
static void problem_take(struct klr_problem *problem, struct rows *rows,
                         size_t *start, struct klr_scaling *scaling)
{
    klr_free(problem->start);
    klr_free(problem->index);
    klr_free(problem->value);
    problem->start = start;
    problem->index = rows->index;
    problem->value = rows->value;
    problem->text = klr_free(problem->text);
    problem->length = klr_free(problem->length);
    problem->reader = klr_reader_close(problem->reader);
    problem->scaling = scaling;
    problem->dimension = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->index[i] > problem->dimension)
            problem->dimension = rows->index[i];
}

int klr_problem_scale(struct klr_problem *problem, enum klr_scale how,
                      struct klr_error *err)
{
    struct klr_features x = problem_features(problem);
    struct rows rows = {0};
    size_t *start = NULL;
    struct klr_scaling *scaling = NULL;
    if (how == KLR_SCALE_NONE)
        return 0;
    scaling = klr_zalloc(1, sizeof *scaling, err);
    start = klr_alloc(x.n + 1, sizeof *start, err);
    int code = scaling && start ? 0 : KLR_E_MEMORY;
    if (!code) {
        *scaling = (struct klr_scaling){
            .standardize = how == KLR_SCALE_STANDARD,
            .lower = -1,
            .upper = 1,
        };
        code = scaling_learn(scaling, &x, err);
    }
    if (!code)
        code = scale_features(scaling, &x, &rows, start, err);
    if (!code) {
        problem_take(problem, &rows, start, scaling);
        return 0;
    }
    klr_free(rows.index);
    klr_free(rows.value);
    klr_free(start);
    scaling_free(scaling);
    return code;
}

/* ---- Problems that want it ---- */

/* |u - v|^2, or |u - v|_1, of the rows i and j. */
static double row_distance(const struct klr_features *x, size_t i, size_t j,
                           bool squared)
{
    size_t u = x->start[i], v = x->start[j];
    double sum = 0;
    while (u < x->start[i + 1] || v < x->start[j + 1]) {
        int64_t left = u < x->start[i + 1] ? x->index[u] : INT64_MAX;
        int64_t right = v < x->start[j + 1] ? x->index[v] : INT64_MAX;
        double d = left <= right ? x->value[u++] : 0;
        d -= right <= left ? x->value[v++] : 0;
        sum += squared ? d * d : fabs(d);
    }
    return sum;
}

/* Whether `count` rows over the whole set, but for row i itself, are all
 * farther from it than `far`. */
static bool row_is_far(const struct klr_features *x, size_t i, size_t count,
                       bool squared, double far)
{
    bool is_far = true;
    for (size_t k = 0; k < count && is_far; k++) {
        size_t j = k * x->n / count;
        is_far = j == i || row_distance(x, i, j, squared) > far;
    }
    return is_far;
}

/* The largest distance of those rows from row i, up to the first above `near`.
 */
static double row_reach(const struct klr_features *x, size_t i, size_t count,
                        bool squared, double near)
{
    double most = 0;
    for (size_t k = 0; k < count && most <= near; k++)
        most = fmax(most, row_distance(x, i, k * x->n / count, squared));
    return most;
}

enum klr_spread klr_problem_spread(const struct klr_problem *problem,
                                   const struct klr_params *params)
{
    enum { ROWS = 20, OTHERS = 1000, FAR = 5 };
    const double near = 1e-6;
    struct klr_features x = problem_features(problem);
    struct klr_kernel kernel = params_kernel(params, x.dimension);
    bool squared = kernel.type == KLR_RBF;
    size_t others = x.n < OTHERS ? x.n : OTHERS, far = 0;
    double reach = 0;
    if (params->gamma.value[0] > 0 || x.n < ROWS ||
        !(squared || kernel.type == KLR_LAPLACIAN))
        return KLR_SPREAD_WELL;
    for (size_t k = 0; k < ROWS; k++) {
        size_t i = k * (x.n / ROWS);
        far += row_is_far(&x, i, others, squared, FAR / kernel.gamma);
        if (reach <= near / kernel.gamma)
            reach = fmax(
                reach, row_reach(&x, i, others, squared, near / kernel.gamma));
    }
    if (far > ROWS / 2)
        return KLR_SPREAD_FAR;
    return reach > 0 && reach <= near / kernel.gamma ? KLR_SPREAD_NEAR
                                                     : KLR_SPREAD_WELL;
}
