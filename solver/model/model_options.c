/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options that a model was trained with: those that its file has keys of
 * their own for, and those that it says.
 */
#include "solver/model/model.h"

static void put_word(struct klr_text *text, const char *name, const char *value)
{
    klr_text_putf(text, "%s%s=", text->length ? " " : "", name);
    klr_text_put(text, value);
}

static void put_number(struct klr_text *text, const char *name, double value)
{
    char number[KLR_REAL_SIZE];
    klr_format_real(number, value);
    put_word(text, name, number);
}

static void put_kernel(struct klr_text *text, const struct klr_kernel *kernel)
{
    bool polynomial = kernel->type == KLR_POLYNOMIAL;
    put_word(text, "kernel", klr_kernel_names[kernel->type]);
    if (polynomial)
        put_number(text, "degree", kernel->degree);
    if (kernel->type != KLR_LINEAR && kernel->type != KLR_PRECOMPUTED)
        put_number(text, "gamma", kernel->gamma);
    if (polynomial || kernel->type == KLR_SIGMOID)
        put_number(text, "coef0", kernel->coef0);
}

int klr_model_options(const struct klr_model *model, struct klr_text *text,
                      struct klr_error *err)
{
    const struct record *record = &model->record;
    const char *said = record->says[SAYS_OPTIONS];
    put_word(text, "model", klr_model_names[model->type]);
    put_kernel(text, &model->kernel);
    if (model->names)
        put_word(text, "string-labels", "1");
    if (model->has_record) {
        put_number(text, "cost", record->cost);
        if (model->type == KLR_MODEL_SKLR) {
            put_number(text, "lambda", record->lambda);
            put_number(text, "box", record->box);
        }
        if (!record->bias)
            put_word(text, "no-bias", "1");
        if (said) {
            klr_text_put(text, " ");
            klr_text_put(text, said);
        }
    }
    return text->failed ? klr_fail(err, KLR_E_MEMORY, "out of memory") : 0;
}
