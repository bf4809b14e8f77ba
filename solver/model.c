/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Models in memory: what is told of them.
 */
#include "solver/internal.h"

#include "solver/model.h"

struct klr_model *klr_model_free(struct klr_model *model)
{
    if (!model)
        return NULL;
    klr_free(model->label);
    names_free(model->names);
    klr_free(model->rho);
    klr_free(model->link);
    klr_free(model->class_sv);
    klr_free(model->coef);
    klr_free(model->start);
    klr_free(model->index);
    klr_free(model->value);
    klr_free(model->sv_row);
    scaling_free(model->scaling);
    return klr_free(model);
}

static struct klr_features model_features(const struct klr_model *model)
{
    if (model->problem)
        return problem_features(model->problem);
    return (struct klr_features){
        .n = model->n_sv,
        .dimension = model->dimension,
        .start = model->start,
        .index = model->index,
        .value = model->value,
    };
}

size_t klr_model_classes(const struct klr_model *model)
{
    return model->k;
}

const double *klr_model_labels(const struct klr_model *model)
{
    return model->label;
}

const struct klr_names *klr_model_label_names(const struct klr_model *model)
{
    return model->names;
}

double klr_model_label_of(const struct klr_model *model,
                          const struct klr_row *row)
{
    size_t index;
    if (!row->has_label)
        return (double)NAN;
    if (!model->names)
        return row->label;
    return names_find(model->names, row->label_text, row->label_length, &index)
               ? (double)index
               : -1;
}

size_t klr_model_machines(const struct klr_model *model)
{
    return model->machines;
}

size_t klr_model_n_sv(const struct klr_model *model)
{
    return model->n_sv;
}

bool klr_model_has_probabilities(const struct klr_model *model)
{
    return model->link != NULL;
}

int klr_model_last_serial(const struct klr_model *model)
{
    struct klr_features x = model_features(model);
    double last = 0;
    if (model->kernel.type != KLR_PRECOMPUTED)
        return 0;
    for (size_t i = 0; i < model->n_sv; i++) {
        size_t row = model->problem ? model->sv_row[i] : i;
        last = fmax(last, x.value[x.start[row]]);
    }
    return (int)last;
}

int klr_model_reader_flags(const struct klr_model *model)
{
    return (model->kernel.type == KLR_PRECOMPUTED ? KLR_READ_INDEX_ZERO : 0) |
           (model->names ? KLR_READ_NAMES : 0);
}
