/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Weights of linear models. With K(x, z) = x'z the decision value of a machine
 * is w'x - rho, w = sum_j beta_j x_j: features take the place of support
 * vectors. In a file w is one vector with the coefficient 1: of a pair (a, b)
 * it stands among those of class a, whose other pairs have 0 there; of a class
 * against the rest among those of this class.
 */
#include "solver/model/model.h"

/* ---- machines and the rows of their coefficients ---- */

/* The machine of coefficient `row` of a vector of class c. */
static size_t machine_of_row(const struct klr_model *model, size_t c,
                             size_t row)
{
    if (machines_are_classes(model->multiclass))
        return row;
    return row < c ? pair_index(model->k, row, c)
                   : pair_index(model->k, c, row + 1);
}

/* The class that the weights of a machine stand in, and their row there. */
static void machine_place(const struct klr_model *model, size_t machine,
                          size_t *c, size_t *row)
{
    *c = *row = machine;
    if (!machines_are_classes(model->multiclass)) {
        pair_classes(model->k, machine, c, row);
        --*row;
    }
}

static bool model_has_weights(const struct klr_model *model)
{
    size_t n = model->n_sv, place, row;
    if (model->kernel.type != KLR_LINEAR || n != model->machines)
        return false;
    for (size_t c = 0, sv = 0, end = 0; c < model->k; c++)
        for (end += model->class_sv[c]; sv < end; sv++) {
            machine_place(model, sv, &place, &row);
            for (size_t r = 0; r < model->columns; r++)
                if (place != c || model->coef[r * n + sv] != (r == row))
                    return false;
        }
    return true;
}

bool klr_model_has_weights(const struct klr_model *model)
{
    return model_has_weights(model);
}

/* ---- weights ---- */

/* Where the vector's features are in x. */
static size_t vector_row(const struct klr_model *model, size_t sv)
{
    return model->problem ? model->sv_row[sv] : sv;
}

static int weights_index(struct weights *weights, const struct klr_model *model,
                         struct klr_error *err)
{
    struct klr_features x = model_features(model);
    double space[KLR_PACKED_COLUMNS];
    size_t number;
    int code = 0;
    for (size_t sv = 0; sv < model->n_sv; sv++) {
        struct klr_feature_row row =
            klr_features_row(&x, vector_row(model, sv), space);
        for (size_t t = 0; t < row.count && !code; t++)
            if (row.value[t] != 0)
                code = klr_feature_table_add(&weights->features, row.index[t],
                                             &number, err);
    }
    return code;
}

/* The share of a vector of class c. */
static void weights_add(struct weights *weights, const struct klr_model *model,
                        size_t c, size_t sv)
{
    struct klr_features x = model_features(model);
    double space[KLR_PACKED_COLUMNS];
    struct klr_feature_row row =
        klr_features_row(&x, vector_row(model, sv), space);
    for (size_t t = 0; t < row.count; t++) {
        size_t number =
            klr_feature_table_find(&weights->features, row.index[t]);
        double *w = weights->value + number * model->machines;
        for (size_t r = 0; r < model->columns && row.value[t] != 0; r++)
            w[machine_of_row(model, c, r)] +=
                model->coef[r * model->n_sv + sv] * row.value[t];
    }
}

static int weights_create(struct weights *weights,
                          const struct klr_model *model, struct klr_error *err)
{
    *weights = (struct weights){.machines = model->machines};
    int code = weights_index(weights, model, err);
    if (code)
        return code;
    weights->value = klr_zalloc(weights->features.count,
                                model->machines * sizeof(double), err);
    if (!weights->value)
        return KLR_E_MEMORY;
    for (size_t c = 0, sv = 0, end = 0; c < model->k; c++)
        for (end += model->class_sv[c]; sv < end; sv++)
            weights_add(weights, model, c, sv);
    return 0;
}

static void weights_free(struct weights *weights)
{
    klr_feature_table_free(&weights->features);
    klr_free(weights->value);
}

static void weights_decide(const struct weights *weights,
                           const struct klr_features *x, size_t row,
                           double *decision)
{
    size_t machines = weights->machines;
    double space[KLR_PACKED_COLUMNS];
    struct klr_feature_row from = klr_features_row(x, row, space);
    for (size_t t = 0; t < from.count; t++) {
        size_t number =
            klr_feature_table_find(&weights->features, from.index[t]);
        const double *w = weights->value + number * machines;
        for (size_t m = 0; m < machines && number < weights->features.count;
             m++)
            decision[m] += w[m] * from.value[t];
    }
}

/* ---- a model of them ---- */

/* Features of a machine: those of all vectors, of weight 0 where these cancel;
 * of several machines those of other weights. */
static bool weights_have(const struct weights *weights, size_t feature,
                         size_t machine)
{
    return weights->machines == 1 ||
           weights->value[feature * weights->machines + machine] != 0;
}

/* Its vectors, one for each machine. */
static void fold_to_vectors(struct klr_model *folded,
                            const struct weights *weights,
                            const struct klr_numbered_feature *sorted)
{
    size_t n = folded->n_sv, at = 0, c, row;
    for (size_t m = 0; m < n; m++) {
        machine_place(folded, m, &c, &row);
        folded->class_sv[c]++;
        folded->coef[row * n + m] = 1;
        folded->start[m] = at;
        for (size_t f = 0; f < weights->features.count; f++) {
            size_t number = sorted[f].number;
            if (!weights_have(weights, number, m))
                continue;
            folded->index[at] = sorted[f].feature;
            folded->value[at++] = weights->value[number * n + m];
        }
    }
    folded->start[n] = at;
}

static int fold_allocate(struct klr_model *folded, size_t features,
                         struct klr_error *err)
{
    size_t n = folded->n_sv;
    folded->class_sv = klr_zalloc(folded->k, sizeof *folded->class_sv, err);
    folded->coef = klr_zalloc(n, folded->columns * sizeof(double), err);
    folded->start = klr_alloc(n + 1, sizeof *folded->start, err);
    folded->index = klr_alloc(features, n * sizeof *folded->index, err);
    folded->value = klr_alloc(features, n * sizeof *folded->value, err);
    return folded->class_sv && folded->coef && folded->start && folded->index &&
                   folded->value
               ? 0
               : KLR_E_MEMORY;
}

static int fold_weights(struct klr_model *folded, const struct weights *weights,
                        struct klr_error *err)
{
    size_t features = weights->features.count;
    struct klr_numbered_feature *sorted =
        klr_alloc(features, sizeof *sorted, err);
    int code = sorted ? fold_allocate(folded, features, err) : KLR_E_MEMORY;
    if (!code) {
        klr_feature_table_sort(&weights->features, sorted);
        folded->dimension = features ? sorted[features - 1].feature : 0;
        fold_to_vectors(folded, weights, sorted);
    }
    klr_free(sorted);
    return code;
}

static int model_fold(const struct klr_model *model, struct klr_model *folded,
                      struct klr_error *err)
{
    struct weights weights;
    *folded = *model;
    folded->n_sv = model->machines;
    folded->problem = NULL;
    folded->sv_row = folded->class_sv = folded->start = NULL;
    folded->coef = folded->value = NULL;
    folded->index = NULL;
    int code = weights_create(&weights, model, err);
    if (!code)
        code = fold_weights(folded, &weights, err);
    weights_free(&weights);
    return code;
}

static void model_fold_free(struct klr_model *folded)
{
    klr_free(folded->class_sv);
    klr_free(folded->coef);
    klr_free(folded->start);
    klr_free(folded->index);
    klr_free(folded->value);
}
