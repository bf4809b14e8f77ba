/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading model files: docs/FORMAT.md, section 2. Nothing in them is trusted:
 * memory grows with the lines that were there, never by a count that the file
 * claims; counts are compared with what was found. Only a file that was read to
 * its end becomes a model.
 *
 * Support vectors are rows of the svmlight reader behind their coefficients.
 */
#include "solver/model/model_keys.h"

#include <limits.h>

/* The values of the keys "svm_type" and "scaling". */
enum { LOAD_C_SVC, LOAD_KLR, LOAD_NU_SVC };
enum { LOAD_MINMAX, LOAD_STANDARD };

/* ---- The header as a whole ---- */

static int load_require(struct loader *in, enum key key)
{
    if (in->line_of[key])
        return 0;
    return LOAD_FAIL_LINE(in, "key '%s' is missing before this line",
                          load_name(key));
}

static int load_require_all(struct loader *in, const enum key *key,
                            size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (load_require(in, key[i]))
            return KLR_E_MODEL;
    return 0;
}

/* A list has as many values as the count of another key asks for. */
static int load_require_length(struct loader *in, enum key key, size_t have,
                               enum key counter, size_t count, size_t need)
{
    if (have == need)
        return 0;
    return LOAD_FAIL_KEY(in, key, "%s has %zu value%s, %s %zu needs %zu",
                         load_name(key), have, klr_plural(have),
                         load_name(counter), count, need);
}

static int load_check_kernel(struct loader *in)
{
    bool radial = in->kernel_type == KLR_RBF ||
                  in->kernel_type == KLR_LAPLACIAN ||
                  in->kernel_type == KLR_EXPONENTIAL;
    bool polynomial = in->kernel_type == KLR_POLYNOMIAL;
    bool has_coef0 = polynomial || in->kernel_type == KLR_SIGMOID;
    if ((polynomial && load_require(in, KEY_DEGREE)) ||
        ((radial || has_coef0) && load_require(in, KEY_GAMMA)) ||
        (has_coef0 && load_require(in, KEY_COEF0)))
        return KLR_E_MODEL;
    if (in->degree > INT_MAX)
        return LOAD_FAIL_KEY(in, KEY_DEGREE, "degree is too large");
    if (radial && in->gamma < 0)
        return LOAD_FAIL_KEY(in, KEY_GAMMA, "gamma must not be below 0");
    return 0;
}

static int load_check_labels(struct loader *in)
{
    size_t k = in->label.count, i = 1;
    if (k == 0) /* there are names */
        return 0;
    double *label = klr_alloc(k, sizeof *label, in->err);
    if (!label)
        return KLR_E_MEMORY;
    memcpy(label, in->label.item, k * sizeof *label);
    qsort(label, k, sizeof *label, compare_labels);
    while (i < k && label[i] != label[i - 1])
        i++;
    int code = i < k ? LOAD_FAIL_KEY(in, KEY_LABEL, "label %.17g is repeated",
                                     label[i])
                     : 0;
    klr_free(label);
    return code;
}

static int load_check_counts(struct loader *in)
{
    size_t left = in->total_sv;
    for (size_t i = 0; i < in->nr_sv.count; i++) {
        if (in->nr_sv.item[i] > left)
            return LOAD_FAIL_KEY(in, KEY_NR_SV,
                                 "nr_sv adds up to more than total_sv %zu",
                                 in->total_sv);
        left -= in->nr_sv.item[i];
    }
    if (left)
        return LOAD_FAIL_KEY(in, KEY_NR_SV,
                             "nr_sv adds up to %zu, total_sv is %zu",
                             in->total_sv - left, in->total_sv);
    return 0;
}

static int load_check_classes(struct loader *in)
{
    enum klr_multiclass multiclass = (enum klr_multiclass)in->multiclass;
    const size_t k = in->nr_class, machines = machine_count(multiclass, k);
    const struct {
        enum key key;
        size_t have, need;
    } list[] = {{KEY_RHO, in->rho.count, machines},
                {KEY_NR_SV, in->nr_sv.count, k},
                {KEY_PROB_A, in->prob_a.count, machines},
                {KEY_PROB_B, in->prob_b.count, machines},
                {KEY_PROB_C, in->prob_c.count, machines}};
    bool probable = in->line_of[KEY_PROB_A] || in->line_of[KEY_PROB_B] ||
                    in->line_of[KEY_LINK];
    size_t lists = !probable ? 2 : in->link == LINK_LOGISTIC ? 4 : 5;
    in->columns = machine_columns(multiclass, k);
    for (size_t i = 0; i < lists; i++)
        if (load_require(in, list[i].key) ||
            load_require_length(in, list[i].key, list[i].have, KEY_NR_CLASS, k,
                                list[i].need))
            return KLR_E_MODEL;
    return 0;
}

/* Refuse keys that LIBSVM's own type does not have. */
static int load_check_type(struct loader *in)
{
    static const enum key ours[] = {KEY_MULTICLASS, KEY_NAMES, KEY_LINK,
                                    KEY_PROB_C};
    bool own = in->svm_type == LOAD_KLR;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (in->line_of[ours[i]] && !own)
            return LOAD_FAIL(in, in->line_of[ours[i]], 1,
                             "key '%s' needs svm_type klr", load_name(ours[i]));
    if (in->line_of[KEY_PROB_C] && in->link == LINK_LOGISTIC)
        return LOAD_FAIL(in, in->line_of[KEY_PROB_C], 1,
                         "key 'probC' needs another link than logistic");
    return own ? load_require(in, KEY_MULTICLASS) : 0;
}

/* Once its last line has come. */
static int load_check_header(struct loader *in)
{
    static const enum key needed[] = {KEY_SVM_TYPE, KEY_KERNEL_TYPE,
                                      KEY_NR_CLASS, KEY_TOTAL_SV,
                                      KEY_RHO,      KEY_NR_SV};
    size_t k = in->nr_class;
    enum key labels = in->line_of[KEY_NAMES] ? KEY_NAMES : KEY_LABEL;
    if (load_require_all(in, needed, sizeof needed / sizeof *needed) ||
        load_require(in, labels) || load_check_kernel(in) ||
        load_check_type(in))
        return KLR_E_MODEL;
    if (labels == KEY_NAMES && in->line_of[KEY_LABEL])
        return LOAD_FAIL(in, in->line_of[KEY_NAMES], 1,
                         "keys 'label' and 'names' exclude each other");
    if (k < 2)
        return LOAD_FAIL_KEY(in, KEY_NR_CLASS,
                             "nr_class is %zu: a classifier has at least 2", k);
    /* With as many labels k is small enough to be squared. */
    if (load_require_length(in, labels,
                            in->label.count + klr_names_count(in->names),
                            KEY_NR_CLASS, k, k) ||
        load_check_classes(in) || load_check_counts(in))
        return KLR_E_MODEL;
    return load_check_labels(in);
}

/* ---- Support vectors ---- */

/* A support vector of a precomputed kernel is "0:serial" and nothing else. */
static int load_check_serial(struct loader *in, size_t first)
{
    struct load_slice token;
    const struct rows *rows = &in->rows;
    if (rows->count != first + 1 || rows->index[first] != 0)
        return LOAD_FAIL_LINE(in, "a support vector of a precomputed kernel "
                                  "must be 0:serial alone");
    double serial = rows->value[first];
    if (serial >= 1 && serial <= INT_MAX && serial == floor(serial))
        return 0;
    load_token(in, &token);
    return load_refuse(in, token, "", " is not a serial number from 1");
}

/* Features from the cursor to the end of the line. */
static int load_features(struct loader *in)
{
    struct rows *rows = &in->rows;
    size_t first = rows->count;
    const char *at = in->at = klr_skip_blanks(in->at, in->line.end);
    int code = line_features(&in->line, &at, rows, in->err);
    if (!code && in->kernel_type == KLR_PRECOMPUTED)
        code = load_check_serial(in, first);
    if (rows->count > first && rows->index[rows->count - 1] > in->dimension)
        in->dimension = rows->index[rows->count - 1];
    in->at = at;
    return code ? code : load_line_end(in);
}

static int load_vector(struct loader *in)
{
    struct load_slice token;
    int code = counts_add(in, &in->start, in->rows.count);
    for (size_t i = 0; !code && i < in->columns; i++) {
        double coef = 0;
        if (!load_token(in, &token))
            return load_refuse_end(in, "a coefficient", "");
        code = load_real(in, token, &coef);
        code = code ? code : reals_add(in, &in->coef, coef);
    }
    return code ? code : load_features(in);
}

static int load_vectors(struct loader *in, klr_rows_fn *told, void *context)
{
    for (size_t i = 0; i < in->total_sv; i++) {
        int got = load_line(in);
        if (got < 0)
            return -got;
        if (!got)
            return LOAD_FAIL_LINE(
                in, "the file ends after %zu of %zu support vectors", i,
                in->total_sv);
        int code = load_vector(in);
        if (code)
            return code;
        if (told)
            told(i + 1, context);
    }
    return counts_add(in, &in->start, in->rows.count);
}

/* ---- Our own section ---- */

static int load_check_indices(struct loader *in)
{
    struct counts *list = &in->sv_indices;
    if (!in->line_of[KEY_SV_INDICES])
        return 0;
    if (load_require_length(in, KEY_SV_INDICES, list->count, KEY_TOTAL_SV,
                            in->total_sv, in->total_sv))
        return KLR_E_MODEL;
    for (size_t i = 0; i < list->count; i++)
        if (!list->item[i]--)
            return LOAD_FAIL_KEY(in, KEY_SV_INDICES,
                                 "sv_indices are counted from 1");
    return 0;
}

static int load_check_column(struct loader *in, size_t c)
{
    const size_t *index = in->scaling_index.item;
    const double *from = in->scaling_from.item, *to = in->scaling_to.item;
    if (index[c] > INT_MAX)
        return LOAD_FAIL_KEY(in, KEY_SCALING_INDEX, "indices are from 0 to %d",
                             INT_MAX);
    if (c > 0 && index[c] <= index[c - 1])
        return LOAD_FAIL_KEY(in, KEY_SCALING_INDEX, "indices must ascend");
    if (in->scaling == LOAD_STANDARD ? to[c] <= 0 : from[c] >= to[c])
        return LOAD_FAIL_KEY(in, KEY_SCALING_TO, "feature %zu: %s", index[c],
                             in->scaling == LOAD_STANDARD
                                 ? "the deviation is not above 0"
                                 : "the maximum is not above the minimum");
    return 0;
}

/* It says how rows become those of the support vectors, which LIBSVM would not
 * do. */
static int load_check_scaling(struct loader *in)
{
    static const enum key needed[] = {KEY_SCALING, KEY_SCALING_INDEX,
                                      KEY_SCALING_FROM, KEY_SCALING_TO};
    size_t columns = in->scaling_index.count;
    const double *limit = in->scaling_limits.item;
    bool minmax = in->scaling == LOAD_MINMAX;
    enum key key = KEY_SCALING;
    while (key <= KEY_SCALING_TO && !in->line_of[key])
        key++;
    if (key > KEY_SCALING_TO)
        return 0;
    if (in->svm_type != LOAD_KLR || in->kernel_type == KLR_PRECOMPUTED)
        return LOAD_FAIL(
            in, in->line_of[key], 1, "key '%s' needs %s", load_name(key),
            in->svm_type != LOAD_KLR ? "svm_type klr" : "features");
    if (load_require_all(in, needed, sizeof needed / sizeof *needed) ||
        (minmax && load_require(in, KEY_SCALING_LIMITS)) ||
        load_require_length(in, KEY_SCALING_FROM, in->scaling_from.count,
                            KEY_SCALING_INDEX, columns, columns) ||
        load_require_length(in, KEY_SCALING_TO, in->scaling_to.count,
                            KEY_SCALING_INDEX, columns, columns))
        return KLR_E_MODEL;
    if (minmax && (in->scaling_limits.count != 2 || !(limit[0] < limit[1])))
        return LOAD_FAIL_KEY(in, KEY_SCALING_LIMITS,
                             "they are a lower and an upper limit");
    for (size_t c = 0; c < columns; c++)
        if (load_check_column(in, c))
            return KLR_E_MODEL;
    return 0;
}

/* Each feature of a support vector has a name, if any has. */
static int load_check_features(struct loader *in)
{
    size_t count = klr_names_count(in->feature_names);
    if (!in->line_of[KEY_FEATURE_NAMES])
        return 0;
    if (in->kernel_type == KLR_PRECOMPUTED)
        return LOAD_FAIL(in, in->line_of[KEY_FEATURE_NAMES], 1,
                         "key 'feature_names' needs features");
    if (count < (size_t)in->dimension)
        return LOAD_FAIL_KEY(in, KEY_FEATURE_NAMES,
                             "they are %zu, but there is a feature %d", count,
                             in->dimension);
    return 0;
}

static int load_check_record(struct loader *in)
{
    static const enum key needed[] = {KEY_MODEL, KEY_SOLVER, KEY_STATUS,
                                      KEY_EPS,   KEY_COST,   KEY_ITERATIONS};
    if (load_require_all(in, needed, sizeof needed / sizeof *needed))
        return KLR_E_MODEL;
    if (in->model == KLR_MODEL_SKLR &&
        (load_require(in, KEY_LAMBDA) || load_require(in, KEY_BOX)))
        return KLR_E_MODEL;
    if (in->lambda < 0 || in->box < 0)
        return LOAD_FAIL_KEY(in, in->lambda < 0 ? KEY_LAMBDA : KEY_BOX,
                             "it must not be below 0");
    if (load_check_scaling(in) || load_check_features(in))
        return KLR_E_MODEL;
    return load_check_indices(in);
}

/* Without our section, which only LIBSVM's type may lack, nothing but the end
 * of its line tells that the last number is whole. */
static int load_check_end(struct loader *in)
{
    if (in->svm_type == LOAD_KLR)
        return LOAD_FAIL_LINE(in, "the file ends before its line '%s'",
                              load_name(KEY_FORMAT));
    if (in->line.whole)
        return 0;
    return LOAD_FAIL_LINE(in,
                          "the file ends within a line: it may be truncated");
}

/* Read the end of the file after the last support vector: nothing, or
 * klr_format ... end. */
static int load_record(struct loader *in)
{
    struct load_slice token;
    int code, got = load_text_line(in, &token);
    if (got < 0)
        return -got;
    if (!got)
        return load_check_end(in);
    if (!load_is(token, load_name(KEY_FORMAT)))
        return load_refuse(in, token, "unexpected ",
                           " after the last support vector");
    code = load_field(in, KEY_FORMAT);
    if (code)
        return code;
    if (in->format != MODEL_FORMAT)
        return LOAD_FAIL_KEY(in, KEY_FORMAT,
                             "format %zu is not known to this version, which "
                             "reads format %d",
                             in->format, MODEL_FORMAT);
    if ((code = load_section(in, KEY_MODEL, KEY_END)) ||
        (code = load_check_record(in)))
        return code;
    got = load_text_line(in, &token);
    if (got > 0)
        return load_refuse(in, token, "unexpected ", " after the line 'end'");
    return -got;
}

/* ---- The model ---- */

static struct record load_take_record(const struct loader *in)
{
    struct record record = {
        .solver = (enum klr_solver_type)in->solver,
        .status = (enum klr_status)in->status,
        .eps = in->eps,
        .cost = in->cost,
        .lambda = in->lambda,
        .box = in->box,
        .bias = in->bias || !in->line_of[KEY_BIAS],
        .gap = in->line_of[KEY_GAP] ? in->gap : (double)NAN,
        .iterations = in->iterations,
        .examples = in->examples,
    };
    memcpy(record.says, in->says, sizeof record.says);
    return record;
}

static int load_build_links(struct loader *in, struct klr_model *model)
{
    if (!in->line_of[KEY_PROB_A])
        return 0;
    model->link = klr_alloc(in->rho.count, sizeof *model->link, in->err);
    if (!model->link)
        return KLR_E_MEMORY;
    for (size_t m = 0; m < in->rho.count; m++)
        model->link[m] = (struct link){
            .kind = (enum link_kind)in->link,
            .a = in->prob_a.item[m],
            .b = in->prob_b.item[m],
            .c = in->link == LINK_LOGISTIC ? 0 : in->prob_c.item[m],
        };
    return 0;
}

static int load_build_scaling(struct loader *in, struct klr_model *model)
{
    size_t columns = in->scaling_index.count;
    struct klr_scaling *scaling;
    if (!in->line_of[KEY_SCALING])
        return 0;
    model->scaling = scaling = klr_zalloc(1, sizeof *scaling, in->err);
    if (!scaling)
        return KLR_E_MEMORY;
    scaling->column = klr_alloc(columns, sizeof *scaling->column, in->err);
    if (!scaling->column)
        return KLR_E_MEMORY;
    scaling->columns = columns;
    scaling->standardize = in->scaling == LOAD_STANDARD;
    if (!scaling->standardize) {
        scaling->lower = in->scaling_limits.item[0];
        scaling->upper = in->scaling_limits.item[1];
    }
    for (size_t c = 0; c < columns; c++)
        scaling->column[c] = (struct klr_scaling_column){
            (int)in->scaling_index.item[c], in->scaling_from.item[c],
            in->scaling_to.item[c]};
    return 0;
}

/* Names are in the order of the classes. */
static int load_build_labels(struct loader *in, struct klr_model *model)
{
    int code = 0;
    for (size_t c = 0; c < klr_names_count(in->names) && !code; c++)
        code = reals_add(in, &in->label, (double)c);
    model->label = in->label.item;
    model->names = in->names;
    model->features = in->feature_names;
    in->label = (struct reals){0};
    in->names = in->feature_names = NULL;
    return code;
}

/* Hand over what was read; the lists are empty afterwards. */
static int load_build(struct loader *in, struct klr_model *model)
{
    size_t n_sv = in->total_sv, rows = in->columns;
    if (load_build_links(in, model) || load_build_scaling(in, model) ||
        load_build_labels(in, model))
        return KLR_E_MEMORY;
    model->coef = klr_alloc(rows * n_sv, sizeof *model->coef, in->err);
    if (!model->coef)
        return KLR_E_MEMORY;
    for (size_t sv = 0; sv < n_sv; sv++)
        for (size_t row = 0; row < rows; row++)
            model->coef[row * n_sv + sv] = in->coef.item[sv * rows + row];
    model->kernel.type = (enum klr_kernel_type)in->kernel_type;
    model->kernel.degree = (int)in->degree;
    model->kernel.gamma = in->gamma;
    model->kernel.coef0 = in->coef0;
    model->k = in->nr_class;
    model->multiclass = (enum klr_multiclass)in->multiclass;
    model->machines = in->rho.count;
    model->columns = rows;
    model->n_sv = n_sv;
    model->dimension = in->dimension;
    model->rho = in->rho.item;
    model->class_sv = in->nr_sv.item;
    model->start = in->start.item;
    model->sv_row = in->sv_indices.item;
    model->value = in->rows.value;
    model->index = in->rows.index;
    in->rho = (struct reals){0};
    in->nr_sv = in->start = in->sv_indices = (struct counts){0};
    in->rows = (struct rows){0};
    model->has_record = in->line_of[KEY_END] != 0;
    model->type =
        model->has_record ? (enum klr_model_type)in->model : KLR_MODEL_SVM;
    if (model->has_record)
        model->record = load_take_record(in);
    memset(in->says, 0, sizeof in->says);
    return 0;
}

static void loader_free(struct loader *in)
{
    klr_input_close(in->input);
    klr_free(in->rho.item);
    klr_free(in->label.item);
    klr_names_free(in->names);
    klr_names_free(in->feature_names);
    for (int i = 0; i < SAYINGS; i++)
        klr_free(in->says[i]);
    klr_free(in->prob_a.item);
    klr_free(in->prob_b.item);
    klr_free(in->prob_c.item);
    klr_free(in->nr_sv.item);
    klr_free(in->sv_indices.item);
    klr_free(in->scaling_limits.item);
    klr_free(in->scaling_index.item);
    klr_free(in->scaling_from.item);
    klr_free(in->scaling_to.item);
    klr_free(in->coef.item);
    klr_free(in->start.item);
    klr_free(in->rows.value);
    klr_free(in->rows.index);
}

int klr_model_load(struct klr_model **out, const char *path,
                   struct klr_error *err)
{
    return klr_model_load_told(out, path, NULL, NULL, err);
}

int klr_model_load_told(struct klr_model **out, const char *path,
                        klr_rows_fn *told, void *context, struct klr_error *err)
{
    struct klr_error unheard = {0};
    struct loader in = {.err = err ? err : &unheard};
    struct klr_model *model = NULL;
    *out = NULL;
    int code = klr_input_open(&in.input, path, false, in.err);
    if (code || (code = load_section(&in, KEY_SVM_TYPE, KEY_SV)) ||
        (code = load_check_header(&in)) ||
        (code = load_vectors(&in, told, context)) || (code = load_record(&in)))
        goto done;
    model = klr_zalloc(1, sizeof *model, in.err);
    code = model ? load_build(&in, model) : KLR_E_MEMORY;
    if (code)
        klr_model_free(model);
    else
        *out = model;
done:
    if (code == KLR_E_DATA) /* as the readers of lines and features call it */
        code = in.err->code = KLR_E_MODEL;
    loader_free(&in);
    return code;
}
