/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Models in memory: what is told of them.
 */
#include "solver/model/model.h"

struct klr_model *klr_model_free(struct klr_model *model)
{
    if (!model)
        return NULL;
    klr_free(model->label);
    klr_names_free(model->names);
    klr_names_free(model->features);
    klr_free(model->rho);
    klr_free(model->link);
    klr_free(model->class_sv);
    klr_free(model->coef);
    klr_free(model->start);
    klr_free(model->index);
    klr_free(model->value);
    klr_free(model->sv_row);
    for (int i = 0; i < SAYINGS; i++)
        klr_free(model->record.says[i]);
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

static int model_say(struct klr_model *model, enum model_saying saying,
                     const char *text, struct klr_error *err)
{
    char *copy = klr_strdup(text, err);
    if (!copy)
        return KLR_E_MEMORY;
    klr_free(model->record.says[saying]);
    model->record.says[saying] = copy;
    return 0;
}

int klr_model_stamp(struct klr_model *model, const char *date,
                    const char *command, struct klr_error *err)
{
    int code = model_say(model, SAYS_DATE, date, err);
    return code ? code : model_say(model, SAYS_COMMAND, command, err);
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

const struct klr_names *klr_model_features(const struct klr_model *model)
{
    return model->features;
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

struct klr_features klr_model_vectors(const struct klr_model *model)
{
    if (model->scaling || model->kernel.type == KLR_PRECOMPUTED)
        return (struct klr_features){.n = 0};
    return model_features(model);
}

const char *klr_model_kernel(const struct klr_model *model)
{
    return klr_kernel_names[model->kernel.type];
}

const char *klr_model_multiclass(const struct klr_model *model)
{
    return klr_multiclass_names[model->multiclass];
}

bool klr_model_is_local(const struct klr_model *model)
{
    return model->kernel.type == KLR_RBF || model->kernel.type == KLR_LAPLACIAN;
}

int klr_model_last_serial(const struct klr_model *model)
{
    struct klr_features x = model_features(model);
    double last = 0;
    if (model->kernel.type != KLR_PRECOMPUTED)
        return 0;
    for (size_t i = 0; i < model->n_sv; i++) {
        size_t row = model->problem ? model->sv_row[i] : i;
        double space[KLR_PACKED_COLUMNS];
        last = fmax(last, klr_features_row(&x, row, space).value[0]);
    }
    return (int)last;
}

int klr_model_reader_flags(const struct klr_model *model)
{
    return model->names ? KLR_READ_NAMES : 0;
}

int klr_model_scaled(const struct klr_model *model, int **index, size_t *count,
                     struct klr_error *err)
{
    const struct klr_scaling *scaling = model->scaling;
    *index = NULL;
    *count = scaling ? scaling->columns : 0;
    if (*count == 0)
        return 0;
    if (!(*index = klr_alloc(*count, sizeof **index, err)))
        return KLR_E_MEMORY;
    for (size_t c = 0; c < *count; c++)
        (*index)[c] = scaling->column[c].index;
    return 0;
}
