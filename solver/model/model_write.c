/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writing model files: docs/FORMAT.md, section 2. What LIBSVM's format can
 * express is written in it; what is ours follows the last support vector, where
 * LIBSVM no longer reads.
 */
#include "solver/model/model_keys.h"

#include <limits.h>

static void save_fields(struct klr_output *out, const char *key,
                        const double *first, size_t count, size_t step)
{
    klr_puts(out, key);
    klr_put_reals(out, first, count, step);
    klr_put(out, "\n", 1);
}

static void save_reals(struct klr_output *out, const char *key,
                       const double *value, size_t count)
{
    save_fields(out, key, value, count, sizeof *value);
}

/* Write the names at the places `order` (count); NULL: all in their order. */
static void save_names(struct klr_output *out, const char *key,
                       const struct klr_names *names, size_t count,
                       const double *order)
{
    klr_puts(out, key);
    for (size_t i = 0; i < count; i++) {
        klr_put(out, " ", 1);
        klr_puts(out, klr_names_text(names, order ? (size_t)order[i] : i));
    }
    klr_put(out, "\n", 1);
}

static void save_probabilities(const struct klr_model *model,
                               struct klr_output *out)
{
    const struct link *link = model->link;
    enum link_kind kind = link->kind;
    if (kind != LINK_LOGISTIC)
        klr_putf(out, "link %s\n", model_link_names[kind]);
    save_fields(out, "probA", &link->a, model->machines, sizeof *link);
    save_fields(out, "probB", &link->b, model->machines, sizeof *link);
    if (kind != LINK_LOGISTIC)
        save_fields(out, "probC", &link->c, model->machines, sizeof *link);
}

static void save_text(struct klr_output *out, const char *key, const char *text)
{
    klr_puts(out, key);
    klr_put(out, " ", 1);
    klr_puts(out, text);
    klr_put(out, "\n", 1);
}

/* The classes. */
static void save_labels(const struct klr_model *model, struct klr_output *out)
{
    if (model->names)
        save_names(out, "names", model->names, model->k, model->label);
    else
        save_reals(out, "label", model->label, model->k);
}

/* LIBSVM reads labels as int, and those beyond as other ones, in silence. */
static bool has_int_labels(const struct klr_model *model)
{
    for (size_t c = 0; c < model->k; c++) {
        double label = model->label[c];
        if (!(label >= INT_MIN && label <= INT_MAX) || label != trunc(label))
            return false;
    }
    return true;
}

/* True if LIBSVM may read the model; else its svm_type is klr, which needs a
 * section of our own. So labels that LIBSVM cannot read count only for a model
 * with that section. */
static bool is_for_libsvm(const struct klr_model *model)
{
    return model->multiclass == KLR_OVO && !model->scaling && !model->names &&
           (!model->link || model->link->kind == LINK_LOGISTIC) &&
           (has_int_labels(model) || !model->has_record);
}

static void save_header(const struct klr_model *model, struct klr_output *out)
{
    bool libsvm = is_for_libsvm(model);
    const struct klr_kernel *kernel = &model->kernel;
    bool polynomial = kernel->type == KLR_POLYNOMIAL;
    bool has_coef0 = polynomial || kernel->type == KLR_SIGMOID;
    klr_putf(out, "svm_type %s\nkernel_type %s\n", libsvm ? "c_svc" : "klr",
             klr_kernel_names[kernel->type]);
    if (polynomial)
        klr_putf(out, "degree %d\n", kernel->degree);
    if (kernel->type != KLR_LINEAR && kernel->type != KLR_PRECOMPUTED)
        save_reals(out, "gamma", &kernel->gamma, 1);
    if (has_coef0)
        save_reals(out, "coef0", &kernel->coef0, 1);
    klr_putf(out, "nr_class %zu\ntotal_sv %zu\n", model->k, model->n_sv);
    if (!libsvm)
        klr_putf(out, "multiclass %s\n",
                 klr_multiclass_names[model->multiclass]);
    save_reals(out, "rho", model->rho, model->machines);
    save_labels(model, out);
    if (model->link)
        save_probabilities(model, out);
    klr_puts(out, "nr_sv");
    for (size_t c = 0; c < model->k; c++)
        klr_putf(out, " %zu", model->class_sv[c]);
    klr_puts(out, "\nSV\n");
}

/* A window on the text of the training file: neighbouring rows come with one
 * read. */
struct window {
    char *text;
    size_t capacity;
    size_t end;     /* support vectors before it are in the window ... */
    int64_t offset; /* ... whose first byte stands here in the file */
    bool lost;      /* the file no longer has what was read */
};

enum { WINDOW = 1 << 18 };

/* Where the features of support vector `sv` stand, and the next row's. */
static int64_t text_begin(const struct klr_model *model, size_t sv)
{
    return problem_text(model->problem, model->sv_row[sv]);
}

static int64_t text_end(const struct klr_model *model, size_t sv)
{
    return problem_text(model->problem, model->sv_row[sv] + 1);
}

static bool has_text(const struct klr_model *model, size_t sv)
{
    const struct klr_problem *problem = model->problem;
    return problem && problem->reader && text_begin(model, sv) >= 0 &&
           text_end(model, sv) >= 0;
}

/* The features at `text`, without what else is in their line, or behind it. */
static size_t text_features(const char *text, size_t size)
{
    const char *line = memchr(text, '\n', size);
    const char *last = line ? line : text + size;
    const char *comment = memchr(text, '#', (size_t)(last - text));
    const char *end = comment ? comment : last;
    while (end > text && (klr_is_blank(end[-1]) || end[-1] == '\r'))
        end--;
    return (size_t)(end - text);
}

/* Read the text of support vector `sv` and of those that follow closely. */
static int window_move(struct window *window, const struct klr_model *model,
                       size_t sv, struct klr_error *err)
{
    const struct klr_problem *problem = model->problem;
    int64_t begin = text_begin(model, sv);
    size_t size = (size_t)(text_end(model, sv) - begin), end = sv + 1;
    for (; end < model->n_sv && has_text(model, end); end++) {
        int64_t reach = text_end(model, end) - begin;
        if (text_begin(model, end) < text_begin(model, end - 1) ||
            reach > WINDOW)
            break;
        size = (size_t)reach;
    }
    if (KLR_GROW(window->text, window->capacity, size, err))
        return KLR_E_MEMORY;
    window->end = end;
    window->offset = begin;
    window->lost = klr_input_text(klr_reader_input(problem->reader), begin,
                                  size, window->text, NULL) != 0;
    return 0;
}

static void save_numbers(const struct klr_model *model, size_t sv,
                         struct klr_output *out)
{
    struct klr_features x = model_features(model);
    size_t row = model->problem ? model->sv_row[sv] : sv;
    double space[KLR_PACKED_COLUMNS];
    struct klr_feature_row from = klr_features_row(&x, row, space);
    bool scaled = x.packed && x.packed->scaling; /* of zeros, too */
    if (model->kernel.type == KLR_PRECOMPUTED)
        from.count = 1; /* the serial number; the rest is the matrix */
    for (size_t k = 0; k < from.count; k++) {
        if (scaled && from.value[k] == 0)
            continue;
        klr_putf(out, "%d:", from.index[k]);
        klr_put_real(out, from.value[k]);
        klr_put(out, " ", 1);
    }
}

/* The features of support vector `sv`, as they were spelled if that text is
 * still there. */
static int save_features(struct window *window, const struct klr_model *model,
                         size_t sv, struct klr_output *out,
                         struct klr_error *err)
{
    bool text = model->kernel.type != KLR_PRECOMPUTED && has_text(model, sv);
    if (text && sv >= window->end && window_move(window, model, sv, err))
        return KLR_E_MEMORY;
    if (text && !window->lost) {
        int64_t begin = text_begin(model, sv);
        size_t size = (size_t)(text_end(model, sv) - begin);
        const char *features = window->text + (begin - window->offset);
        klr_put(out, features, text_features(features, size));
    } else {
        save_numbers(model, sv, out);
    }
    return 0;
}

static int save_vectors(const struct klr_model *model, struct klr_output *out,
                        struct klr_error *err)
{
    struct window window = {0};
    int code = 0;
    for (size_t sv = 0; sv < model->n_sv && !code; sv++) {
        for (size_t row = 0; row < model->columns; row++) {
            klr_put_real(out, model->coef[row * model->n_sv + sv]);
            klr_put(out, " ", 1);
        }
        code = save_features(&window, model, sv, out, err);
        klr_put(out, "\n", 1);
    }
    klr_free(window.text);
    return code;
}

static void save_scaling(const struct klr_scaling *scaling,
                         struct klr_output *out)
{
    double limits[2] = {scaling->lower, scaling->upper};
    klr_putf(out, "scaling %s\n", scaling->standardize ? "standard" : "minmax");
    if (!scaling->standardize)
        save_reals(out, "scaling_limits", limits, 2);
    klr_puts(out, "scaling_index");
    for (size_t c = 0; c < scaling->columns; c++)
        klr_putf(out, " %d", scaling->column[c].index);
    klr_puts(out, "\n");
    save_fields(out, "scaling_from", &scaling->column->from, scaling->columns,
                sizeof *scaling->column);
    save_fields(out, "scaling_to", &scaling->column->to, scaling->columns,
                sizeof *scaling->column);
}

static void save_record(const struct klr_model *model, struct klr_output *out,
                        int flags)
{
    const struct record *record = &model->record;
    klr_putf(out, "klr_format %d\nmodel %s\nsolver %s\nstatus %s\n",
             MODEL_FORMAT, klr_model_names[model->type],
             klr_solver_names[record->solver],
             klr_status_names[record->status]);
    save_reals(out, "eps", &record->eps, 1);
    save_reals(out, "cost", &record->cost, 1);
    if (model->type == KLR_MODEL_SKLR) {
        save_reals(out, "lambda", &record->lambda, 1);
        save_reals(out, "box", &record->box, 1);
    }
    if (!record->bias)
        klr_puts(out, "bias 0\n");
    if (isfinite(record->gap)) /* unknown where there is no dual */
        save_reals(out, "gap", &record->gap, 1);
    klr_putf(out, "iterations %lld\n", record->iterations);
    if (record->examples)
        klr_putf(out, "examples %zu\n", record->examples);
    for (int i = 0; i < SAYINGS; i++)
        if (record->says[i])
            save_text(out, load_name((enum key)(KEY_VERSION + i)),
                      record->says[i]);
    if ((flags & KLR_SAVE_SV_INDICES) && model->sv_row) {
        klr_puts(out, "sv_indices");
        for (size_t sv = 0; sv < model->n_sv; sv++)
            klr_putf(out, " %zu", model->sv_row[sv] + 1);
        klr_puts(out, "\n");
    }
    if (model->features)
        save_names(out, "feature_names", model->features,
                   klr_names_count(model->features), NULL);
    if (model->scaling)
        save_scaling(model->scaling, out);
    klr_puts(out, "end\n");
}

static int save_all(const struct klr_model *model, struct klr_output *out,
                    int flags, struct klr_error *err)
{
    save_header(model, out);
    int code = save_vectors(model, out, err);
    if (!code && model->has_record)
        save_record(model, out, flags);
    return code;
}

/* True if support vectors are to be summed up to weights before writing. */
static bool save_folds(const struct klr_model *model, int flags)
{
    return model->kernel.type == KLR_LINEAR &&
           !(flags & (KLR_SAVE_VECTORS | KLR_SAVE_SV_INDICES)) &&
           !model_has_weights(model);
}

/* Sums may overflow where their terms do not. */
static bool save_is_possible(const struct klr_model *folded)
{
    for (size_t t = 0; t < folded->start[folded->n_sv]; t++)
        if (!isfinite(folded->value[t]))
            return false;
    return true;
}

int klr_model_save(const struct klr_model *model, struct klr_output *out,
                   int flags, struct klr_error *err)
{
    struct klr_model folded;
    if (!save_folds(model, flags))
        return save_all(model, out, flags, err);
    int code = model_fold(model, &folded, err);
    if (!code)
        code = save_all(save_is_possible(&folded) ? &folded : model, out, flags,
                        err);
    model_fold_free(&folded);
    return code;
}
