/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scaling within models: a problem is scaled before training, and remembers
 * how; its models take that over, and with them everything they answer. What
 * comes out is what klr-scale --exact writes, number by number: the mathematics
 * is base/features/scaling.c for both.
 */
#include "solver/data/data.h"

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
    double space[KLR_PACKED_COLUMNS];
    struct klr_feature_row row = klr_features_row(x, i, space);
    size_t at = 0, end = row.count;
    if (rows_reserve(out, scaling->columns, err))
        return KLR_E_MEMORY;
    for (size_t c = 0; c < scaling->columns; c++) {
        const struct klr_scaling_column *column = &scaling->column[c];
        while (at < end && row.index[at] < column->index)
            at++;
        bool there = at < end && row.index[at] == column->index;
        double value = there ? row.value[at] : 0;
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
        double space[KLR_PACKED_COLUMNS];
        struct klr_feature_row row = klr_features_row(x, i, space);
        if (klr_scaling_see_row(scaling, row.count, row.index, row.value, err))
            return KLR_E_MEMORY;
    }
    return klr_scaling_settle(scaling, err);
}

/* ---- Problems ---- */

/* Scaled features stand in no text. */
static void problem_set_scaling(struct klr_problem *problem,
                                struct klr_scaling *scaling)
{
    problem->text = klr_free(problem->text);
    problem->offset = klr_free(problem->offset);
    problem->reader = klr_reader_close(problem->reader);
    problem->scaling = scaling;
}

/* True if packed numbers can stay so: all columns are among them, and no number
 * that can be packed is scaled out of range. */
static bool scaling_fits(const struct klr_scaling *scaling,
                         const struct klr_packed *packed)
{
    const struct klr_scaling_column *column = scaling->column;
    size_t columns = scaling->columns;
    double scaled;
    bool fits = packed && columns > 0 && column[0].index >= packed->index[0] &&
                column[columns - 1].index <= packed->index[packed->columns - 1];
    for (size_t c = 0; c < columns && fits; c++)
        fits = !klr_scaling_map(scaling, &column[c], KLR_PACKED_MOST, &scaled,
                                NULL) &&
               !klr_scaling_map(scaling, &column[c], -KLR_PACKED_MOST, &scaled,
                                NULL);
    return fits;
}

static void problem_keep_packed(struct klr_problem *problem,
                                struct klr_scaling *scaling)
{
    struct klr_packed *packed = problem->packed;
    packed->first = packed->index[0];
    packed->scaling = scaling;
    for (size_t c = 0; c < scaling->columns; c++)
        packed->index[c] = scaling->column[c].index;
    problem->dimension = scaling->column[scaling->columns - 1].index;
    problem_set_scaling(problem, scaling);
}

/* Its features become the scaled ones. */
static void problem_take(struct klr_problem *problem, struct rows *rows,
                         size_t *start, struct klr_scaling *scaling)
{
    klr_free(problem->start);
    klr_free(problem->index);
    klr_free(problem->value);
    problem->packed = packed_free(problem->packed);
    problem->start = start;
    problem->index = rows->index;
    problem->value = rows->value;
    problem->dimension = 0;
    problem->has_zero = false;
    for (size_t i = 0; i < rows->count; i++) {
        problem->has_zero |= rows->index[i] == 0;
        if (rows->index[i] > problem->dimension)
            problem->dimension = rows->index[i];
    }
    problem_set_scaling(problem, scaling);
}

/* Zeros that become other values may take more memory than there is: many rare
 * features become full columns. The system may grant that memory and end the
 * process as it is used. Training keeps the values once more. */
static int check_room(const struct klr_scaling *scaling,
                      const struct klr_features *x, struct klr_error *err)
{
    const double value_bytes = sizeof(double) + sizeof(int);
    double shifted = 0, room = (double)klr_memory_limit();
    if (x->packed) /* which has all values */
        return 0;
    for (size_t c = 0; c < scaling->columns; c++) {
        double zero;
        int code = klr_scaling_map(scaling, &scaling->column[c], 0, &zero, err);
        if (code)
            return code;
        shifted += zero != 0;
    }
    double more = shifted * (double)x->n - (double)x->start[x->n];
    if (2 * value_bytes * more < room)
        return 0;
    return klr_fail(err, KLR_E_MEMORY,
                    "scaling makes other values of the zeros of %.0f features, "
                    "which take %.0f MB in %zu rows: leave such sparse "
                    "features as they are",
                    shifted, value_bytes * more / 1e6, x->n);
}

static int problem_apply_scaling(struct klr_problem *problem,
                                 struct klr_scaling *scaling,
                                 struct klr_error *err)
{
    struct klr_features x = problem_features(problem);
    struct rows rows = {0};
    size_t *start = NULL;
    if (scaling_fits(scaling, problem->packed)) {
        problem_keep_packed(problem, scaling);
        return 0;
    }
    int code = check_room(scaling, &x, err);
    if (!code && !(start = klr_alloc(x.n + 1, sizeof *start, err)))
        code = KLR_E_MEMORY;
    if (!code)
        code = scale_features(scaling, &x, &rows, start, err);
    if (!code) {
        problem_take(problem, &rows, start, scaling);
        return 0;
    }
    klr_free(rows.index);
    klr_free(rows.value);
    klr_free(start);
    return code;
}

int klr_problem_scale(struct klr_problem *problem, enum klr_scale how,
                      struct klr_error *err)
{
    struct klr_features x = problem_features(problem);
    if (how == KLR_SCALE_NONE)
        return 0;
    struct klr_scaling *scaling = klr_zalloc(1, sizeof *scaling, err);
    if (!scaling)
        return KLR_E_MEMORY;
    *scaling = (struct klr_scaling){
        .standardize = how == KLR_SCALE_STANDARD,
        .lower = -1,
        .upper = 1,
    };
    int code = scaling_learn(scaling, &x, err);
    if (!code)
        code = problem_apply_scaling(problem, scaling, err);
    if (code)
        scaling_free(scaling);
    return code;
}
