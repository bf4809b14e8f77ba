/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Problems of arrays in memory, dense or sparse. They are checked as a file is:
 * a problem has finite numbers and ascending indices only.
 */
#include "solver/data/data.h"

#include <limits.h>

/* Room for n examples with `count` features in all. */
static int arrays_reserve(struct klr_problem *problem, size_t n, size_t count,
                          struct klr_error *err)
{
    *problem = (struct klr_problem){.n = n};
    if (n == 0)
        return klr_fail(err, KLR_E_DATA, "no examples");
    problem->label = klr_zalloc(n, sizeof *problem->label, err);
    problem->start = klr_zalloc(n + 1, sizeof *problem->start, err);
    problem->index = klr_alloc(count, sizeof *problem->index, err);
    problem->value = klr_alloc(count, sizeof *problem->value, err);
    return problem->label && problem->start && problem->index && problem->value
               ? 0
               : KLR_E_MEMORY;
}

/* -0 becomes 0, as in files. `label` may be NULL. */
static int arrays_take_labels(struct klr_problem *problem, const double *label,
                              struct klr_error *err)
{
    for (size_t i = 0; i < problem->n && label; i++) {
        if (!isfinite(label[i]))
            return klr_fail_at(err, KLR_E_DATA, (long)i + 1, 0,
                               "the label is NaN or infinite");
        problem->label[i] = label[i] == 0 ? 0 : label[i];
    }
    return 0;
}

/* Append a feature of row i, the j-th of the row that was given, from 0. */
static int arrays_add(struct klr_problem *problem, size_t i, size_t j,
                      int index, double value, struct klr_error *err)
{
    size_t *end = &problem->start[i + 1];
    bool later = *end > problem->start[i];
    if (!isfinite(value))
        return klr_fail_at(err, KLR_E_DATA, (long)i + 1, (long)j + 1,
                           "the value is NaN or infinite");
    if (index < 0 || (later && index <= problem->index[*end - 1]))
        return klr_fail_at(err, KLR_E_DATA, (long)i + 1, (long)j + 1,
                           "index %d: indices ascend from 0 or 1", index);
    problem->has_zero |= index == 0;
    if (index > problem->dimension)
        problem->dimension = index;
    problem->index[*end] = index;
    problem->value[(*end)++] = value;
    return 0;
}

/* The problem, or an empty one after a failure. */
static int arrays_end(struct klr_problem *problem, int code)
{
    if (code)
        klr_problem_free(problem);
    return code;
}

int klr_problem_dense(struct klr_problem *problem, size_t n, size_t columns,
                      const double *x, int first, const double *label,
                      struct klr_error *err)
{
    size_t count = 0;
    *problem = (struct klr_problem){0};
    if (first < 0 || columns > (size_t)(INT_MAX - first) ||
        (columns && n > SIZE_MAX / sizeof *x / columns))
        return klr_fail(err, KLR_E_USAGE, "%zu columns are too many", columns);
    for (size_t at = 0; at < n * columns; at++)
        count += x[at] != 0;
    int code = arrays_reserve(problem, n, count, err);
    if (!code)
        code = arrays_take_labels(problem, label, err);
    for (size_t i = 0; i < n && !code; i++) {
        problem->start[i + 1] = problem->start[i];
        for (size_t j = 0; j < columns && !code; j++)
            if (x[i * columns + j] != 0)
                code = arrays_add(problem, i, j, first + (int)j,
                                  x[i * columns + j], err);
    }
    if (!code && columns)
        problem->dimension = first + (int)columns - 1;
    return arrays_end(problem, code);
}

int klr_problem_sparse(struct klr_problem *problem,
                       const struct klr_features *x, const double *label,
                       struct klr_error *err)
{
    int code = arrays_reserve(problem, x->n,
                              x->n ? x->start[x->n] - x->start[0] : 0, err);
    if (!code)
        code = arrays_take_labels(problem, label, err);
    for (size_t i = 0; i < x->n && !code; i++) {
        size_t begin = x->start[i];
        problem->start[i + 1] = problem->start[i];
        for (size_t at = begin; at < x->start[i + 1] && !code; at++)
            code = arrays_add(problem, i, at - begin, x->index[at],
                              x->value[at], err);
    }
    if (!code && x->dimension > problem->dimension)
        problem->dimension = x->dimension;
    return arrays_end(problem, code);
}
