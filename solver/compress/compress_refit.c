/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A model trained again on points: these are examples of its training set,
 * found there by their class and their features, which a model keeps to the
 * last bit.
 */
#include "solver/compress/compress.h"

/* The rows of a problem by their features and labels. */
struct row_index {
    const struct klr_problem *problem;
    size_t *slot; /* (mask + 1) rows, from 1; 0: free */
    size_t mask;
};

static int row_index_create(struct row_index *rows,
                            const struct klr_problem *problem,
                            struct klr_error *err)
{
    struct klr_features x = problem_features(problem);
    size_t slots = 64;
    while (slots < 2 * x.n)
        slots *= 2;
    *rows = (struct row_index){.problem = problem, .mask = slots - 1};
    if (!(rows->slot = klr_zalloc(slots, sizeof *rows->slot, err)))
        return KLR_E_MEMORY;
    for (size_t row = 0; row < x.n; row++) {
        size_t s = (size_t)features_hash(&x, row) & rows->mask;
        while (rows->slot[s])
            s = (s + 1) & rows->mask;
        rows->slot[s] = row + 1;
    }
    return 0;
}

/* Among equal rows the first; n: there is none. */
static size_t row_index_find(const struct row_index *rows,
                             const struct klr_features *z, size_t vector,
                             double label)
{
    struct klr_features x = problem_features(rows->problem);
    size_t s = (size_t)features_hash(z, vector) & rows->mask, row = x.n;
    for (; rows->slot[s]; s = (s + 1) & rows->mask) {
        size_t at = rows->slot[s] - 1;
        if (at < row && rows->problem->label[at] == label &&
            features_equal(&x, at, z, vector))
            row = at;
    }
    return row;
}

/* The label of class c among those of the problem. */
static double problem_label(const struct compression *c, size_t class)
{
    const struct klr_model *model = c->model;
    double label = model->label[class];
    size_t index;
    if (!model->names)
        return label;
    const char *name = klr_names_text(model->names, (size_t)label);
    return names_find(c->problem->names, name, strlen(name), &index)
               ? (double)index
               : -1;
}

/* The rows of the vectors that are used; *count of them. */
static int compress_find(const struct compression *c, size_t *row,
                         size_t *count, struct klr_error *err)
{
    const struct klr_model *model = c->model;
    struct klr_features z = model_features(model);
    struct row_index rows;
    int code = row_index_create(&rows, c->problem, err);
    for (size_t class = 0, sv = 0, end = 0; class < model->k; class ++)
        for (end += model->class_sv[class]; sv < end && !code; sv++) {
            if (!model_uses(model, c->coef, sv))
                continue;
            size_t at = row_index_find(&rows, &z, sv, problem_label(c, class));
            if (at == c->problem->n)
                code = klr_fail(err, KLR_E_DATA,
                                "this is not the training set of the model "
                                "(--from), by which %s is trained again: "
                                "support vector %zu is none of its examples",
                                klr_model_names[c->model->type], sv + 1);
            row[(*count)++] = at;
        }
    klr_free(rows.slot);
    return code;
}

static int compress_refit(struct compression *c, struct klr_model **model,
                          struct klr_report *report, struct klr_error *err)
{
    struct klr_params params = c->params;
    size_t count = 0, *row = klr_alloc(c->model->n_sv, sizeof *row, err);
    int code = row ? compress_find(c, row, &count, err) : KLR_E_MEMORY;
    params.basis = 0;
    params.points = row;
    params.n_points = count;
    if (params.time_limit > 0)
        params.time_limit =
            fmax(params.time_limit - (klr_seconds() - c->clock.begin), 1e-9);
    if (!code)
        code = klr_train(c->problem, &params, model, report, err);
    klr_free(row);
    return code;
}
