/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A model from a file with other coefficients: what these leave of its support
 * vectors, and a copy of the rest.
 */
#include "solver/model/model.h"

static bool model_uses(const struct klr_model *model, const double *coef,
                       size_t sv)
{
    for (size_t row = 0; row < model->columns; row++)
        if (coef[row * model->n_sv + sv] != 0)
            return true;
    return false;
}

/* Its classes, and the room for so many vectors of so many features. */
static int subset_allocate(struct klr_model *out, const struct klr_model *model,
                           size_t features, struct klr_error *err)
{
    size_t n = out->n_sv, k = model->k, m = model->machines;
    if (!(out->label = klr_alloc(k, sizeof *out->label, err)) ||
        !(out->rho = klr_alloc(m, sizeof *out->rho, err)) ||
        (model->link && !(out->link = klr_alloc(m, sizeof *out->link, err))) ||
        !(out->class_sv = klr_zalloc(k, sizeof *out->class_sv, err)) ||
        !(out->coef = klr_alloc(n, out->columns * sizeof *out->coef, err)) ||
        !(out->start = klr_alloc(n + 1, sizeof *out->start, err)) ||
        !(out->index = klr_alloc(features, sizeof *out->index, err)) ||
        !(out->value = klr_alloc(features, sizeof *out->value, err)))
        return KLR_E_MEMORY;
    memcpy(out->label, model->label, k * sizeof *out->label);
    memcpy(out->rho, model->rho, m * sizeof *out->rho);
    if (model->link)
        memcpy(out->link, model->link, m * sizeof *out->link);
    return 0;
}

/* Its vectors: class by class, as they are. */
static void subset_fill(struct klr_model *out, const struct klr_model *model,
                        const double *coef)
{
    size_t at = 0, n = 0;
    for (size_t c = 0, sv = 0, end = 0; c < model->k; c++)
        for (end += model->class_sv[c]; sv < end; sv++) {
            size_t from = model->start[sv], size = model->start[sv + 1] - from;
            if (!model_uses(model, coef, sv))
                continue;
            for (size_t row = 0; row < model->columns; row++)
                out->coef[row * out->n_sv + n] = coef[row * model->n_sv + sv];
            out->class_sv[c]++;
            out->start[n++] = at;
            memcpy(out->index + at, model->index + from,
                   size * sizeof *out->index);
            memcpy(out->value + at, model->value + from,
                   size * sizeof *out->value);
            at += size;
        }
    out->start[n] = at;
}

/* Names, scaling, and what the model says of itself; but a gap, which was that
 * of its own coefficients. */
static int subset_describe(struct klr_model *out, const struct klr_model *model,
                           struct klr_error *err)
{
    int code = names_copy(&out->names, model->names, err);
    if (!code)
        code = names_copy(&out->features, model->features, err);
    if (!code && model->scaling)
        code = scaling_copy(&out->scaling, model->scaling, err);
    out->has_record = model->has_record;
    out->record = model->record;
    out->record.gap = NAN;
    memset(out->record.says, 0, sizeof out->record.says);
    for (int i = 0; i < SAYINGS && !code; i++)
        if (model->record.says[i])
            code = model_say(out, (enum model_saying)i, model->record.says[i],
                             err);
    return code;
}

static int model_subset(struct klr_model **out, const struct klr_model *model,
                        const double *coef, struct klr_error *err)
{
    struct klr_model *subset = *out = klr_zalloc(1, sizeof *subset, err);
    size_t features = 0;
    if (!subset)
        return KLR_E_MEMORY;
    subset->type = model->type;
    subset->multiclass = model->multiclass;
    subset->kernel = model->kernel;
    subset->k = model->k;
    subset->machines = model->machines;
    subset->columns = model->columns;
    subset->dimension = model->dimension;
    for (size_t sv = 0; sv < model->n_sv; sv++)
        if (model_uses(model, coef, sv)) {
            subset->n_sv++;
            features += model->start[sv + 1] - model->start[sv];
        }
    int code = subset_allocate(subset, model, features, err);
    if (!code) {
        subset_fill(subset, model, coef);
        code = subset_describe(subset, model, err);
    }
    if (code)
        *out = klr_model_free(subset);
    return code;
}
