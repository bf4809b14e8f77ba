/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Models and their files: docs/FORMAT.md, section 2. What LIBSVM's format can
 * express is written in it; what is ours follows the last support vector, where
 * LIBSVM no longer reads.
 *
 * Reading trusts nothing: memory grows with the lines that were there, never by
 * a count that the file claims; counts are compared with what was found.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "solver/internal.h"

enum { MODEL_FORMAT = 1 };

static const char *const svm_types[] = {"c_svc"};

/* ---- The model in memory ---- */

struct klr_model *klr_model_free(struct klr_model *model)
{
    if (!model)
        return NULL;
    klr_free(model->label);
    klr_free(model->rho);
    klr_free(model->prob_a);
    klr_free(model->prob_b);
    klr_free(model->class_sv);
    klr_free(model->coef);
    klr_free(model->start);
    klr_free(model->index);
    klr_free(model->value);
    klr_free(model->sv_row);
    return klr_free(model);
}

size_t klr_model_classes(const struct klr_model *model)
{
    return model->k;
}

const double *klr_model_labels(const struct klr_model *model)
{
    return model->label;
}

size_t klr_model_pairs(const struct klr_model *model)
{
    return model->pairs;
}

size_t klr_model_n_sv(const struct klr_model *model)
{
    return model->n_sv;
}

bool klr_model_has_probabilities(const struct klr_model *model)
{
    return model->prob_a != NULL;
}

int klr_model_reader_flags(const struct klr_model *model)
{
    return model->kernel.type == KLR_PRECOMPUTED ? KLR_READ_INDEX_ZERO : 0;
}

static size_t pair_index(size_t k, size_t a, size_t b)
{
    return a * (2 * k - a - 1) / 2 + b - a - 1;
}

/* ---- Saving ---- */

static void save_reals(struct klr_output *out, const char *key,
                       const double *value, size_t count)
{
    klr_puts(out, key);
    for (size_t i = 0; i < count; i++) {
        klr_put(out, " ", 1);
        klr_put_real(out, value[i]);
    }
    klr_put(out, "\n", 1);
}

static void save_header(const struct klr_model *model, struct klr_output *out)
{
    const struct klr_kernel *kernel = &model->kernel;
    bool polynomial = kernel->type == KLR_POLYNOMIAL;
    bool has_coef0 = polynomial || kernel->type == KLR_SIGMOID;
    klr_putf(out, "svm_type %s\nkernel_type %s\n", svm_types[0],
             klr_kernel_names[kernel->type]);
    if (polynomial)
        klr_putf(out, "degree %d\n", kernel->degree);
    if (has_coef0 || kernel->type == KLR_RBF || kernel->type == KLR_LAPLACIAN)
        save_reals(out, "gamma", &kernel->gamma, 1);
    if (has_coef0)
        save_reals(out, "coef0", &kernel->coef0, 1);
    klr_putf(out, "nr_class %zu\ntotal_sv %zu\n", model->k, model->n_sv);
    save_reals(out, "rho", model->rho, model->pairs);
    save_reals(out, "label", model->label, model->k);
    if (model->prob_a) {
        save_reals(out, "probA", model->prob_a, model->pairs);
        save_reals(out, "probB", model->prob_b, model->pairs);
    }
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
};

enum { WINDOW = 1 << 18 };

static bool has_text(const struct klr_model *model, size_t sv)
{
    const struct klr_problem *problem = model->problem;
    return problem && problem->text && problem->reader &&
           problem->length[model->sv_row[sv]] != UINT32_MAX;
}

/* The features of support vector `sv` as text; NULL after a failure. */
static const char *window_text(struct window *window,
                               const struct klr_model *model, size_t sv,
                               struct klr_error *err)
{
    const struct klr_problem *problem = model->problem;
    const int64_t *text = problem->text;
    const size_t *row = model->sv_row;
    if (sv >= window->end) {
        int64_t begin = text[row[sv]];
        size_t size = problem->length[row[sv]];
        size_t end = sv + 1;
        for (; end < model->n_sv && has_text(model, end); end++) {
            int64_t reach = text[row[end]] - begin + problem->length[row[end]];
            if (text[row[end]] < text[row[end - 1]] || reach > WINDOW)
                break;
            size = (size_t)reach;
        }
        char *grown = klr_grow(window->text, &window->capacity, size, 1, err);
        if (!grown)
            return NULL;
        window->text = grown;
        window->end = end;
        window->offset = begin;
        if (klr_input_text(klr_reader_input(problem->reader), begin, size,
                           grown, err))
            return NULL;
    }
    return window->text + (text[row[sv]] - window->offset);
}

static void save_numbers(const struct klr_model *model, size_t sv,
                         struct klr_output *out)
{
    size_t begin = model->start[sv], end = model->start[sv + 1];
    if (model->kernel.type == KLR_PRECOMPUTED)
        end = begin + 1; /* the serial number; the rest is the matrix */
    for (size_t i = begin; i < end; i++) {
        klr_putf(out, "%d:", model->index[i]);
        klr_put_real(out, model->value[i]);
        klr_put(out, " ", 1);
    }
}

static int save_vectors(const struct klr_model *model, struct klr_output *out,
                        struct klr_error *err)
{
    struct window window = {0};
    int code = 0;
    for (size_t sv = 0; sv < model->n_sv; sv++) {
        for (size_t row = 0; row + 1 < model->k; row++) {
            klr_put_real(out, model->coef[row * model->n_sv + sv]);
            klr_put(out, " ", 1);
        }
        if (model->kernel.type == KLR_PRECOMPUTED || !has_text(model, sv)) {
            save_numbers(model, sv, out);
        } else {
            struct klr_error lost;
            const char *text = window_text(&window, model, sv, &lost);
            if (!text) {
                code =
                    klr_fail(err, lost.code, "training file: %s", lost.message);
                break;
            }
            klr_put(out, text, model->problem->length[model->sv_row[sv]]);
        }
        klr_put(out, "\n", 1);
    }
    klr_free(window.text);
    return code;
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
    if (isfinite(record->gap)) /* unknown where there is no dual */
        save_reals(out, "gap", &record->gap, 1);
    klr_putf(out, "iterations %lld\n", record->iterations);
    if ((flags & KLR_SAVE_SV_INDICES) && model->sv_row) {
        klr_puts(out, "sv_indices");
        for (size_t sv = 0; sv < model->n_sv; sv++)
            klr_putf(out, " %zu", model->sv_row[sv] + 1);
        klr_puts(out, "\n");
    }
    klr_puts(out, "end\n");
}

int klr_model_save(const struct klr_model *model, struct klr_output *out,
                   int flags, struct klr_error *err)
{
    save_header(model, out);
    int code = save_vectors(model, out, err);
    if (!code && model->has_record)
        save_record(model, out, flags);
    return code;
}

/* ---- Loading: lines, tokens, messages ---- */

struct reals {
    double *item;
    size_t count, capacity;
};

struct counts {
    size_t *item;
    size_t count, capacity;
};

/* Keys of the header, in LIBSVM's order, then those of our own section. */
enum key {
    KEY_SVM_TYPE,
    KEY_KERNEL_TYPE,
    KEY_DEGREE,
    KEY_GAMMA,
    KEY_COEF0,
    KEY_NR_CLASS,
    KEY_TOTAL_SV,
    KEY_RHO,
    KEY_LABEL,
    KEY_PROB_A,
    KEY_PROB_B,
    KEY_NR_SV,
    KEY_SV,
    KEY_FORMAT,
    KEY_MODEL,
    KEY_SOLVER,
    KEY_STATUS,
    KEY_EPS,
    KEY_COST,
    KEY_GAP,
    KEY_ITERATIONS,
    KEY_SV_INDICES,
    KEY_END,
    KEYS
};

/* What a model file holds, as it was read. */
struct loader {
    struct klr_input *input;
    struct klr_error *err;
    struct klr_line line;
    const char *at;     /* what of the line is still to be read */
    long line_of[KEYS]; /* where a key stood; 0: it has not come yet */
    int svm_type, kernel_type, model, solver, status;
    size_t degree, nr_class, total_sv, format, iterations;
    double gamma, coef0, eps, cost, gap;
    struct reals rho, label, prob_a, prob_b;
    struct counts nr_sv, sv_indices;
    struct reals coef; /* (total_sv, nr_class - 1), row-major */
    struct counts start;
    struct reals value;
    int *index;
    size_t index_capacity;
    int dimension;
};

/* How the values of a key are read, and where they go. */
enum field_kind {
    FIELD_NONE,
    FIELD_CHOICE, /* one of names: int */
    FIELD_COUNT,  /* size_t */
    FIELD_REAL,   /* double */
    FIELD_REALS,  /* struct reals */
    FIELD_COUNTS  /* struct counts */
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset; /* in struct loader */
    const char *const *choices;
    size_t n_choices;
};

#define FIELD_OF(name, kind, member)                                           \
    {                                                                          \
        name, kind, offsetof(struct loader, member), NULL, 0                   \
    }
#define FIELD_NAMES(name, member, choices, n)                                  \
    {                                                                          \
        name, FIELD_CHOICE, offsetof(struct loader, member), choices, n        \
    }

static const struct field model_fields[KEYS] = {
    [KEY_SVM_TYPE] = FIELD_NAMES("svm_type", svm_type, svm_types, 1),
    [KEY_KERNEL_TYPE] = FIELD_NAMES("kernel_type", kernel_type,
                                    klr_kernel_names, KLR_KERNEL_TYPES),
    [KEY_DEGREE] = FIELD_OF("degree", FIELD_COUNT, degree),
    [KEY_GAMMA] = FIELD_OF("gamma", FIELD_REAL, gamma),
    [KEY_COEF0] = FIELD_OF("coef0", FIELD_REAL, coef0),
    [KEY_NR_CLASS] = FIELD_OF("nr_class", FIELD_COUNT, nr_class),
    [KEY_TOTAL_SV] = FIELD_OF("total_sv", FIELD_COUNT, total_sv),
    [KEY_RHO] = FIELD_OF("rho", FIELD_REALS, rho),
    [KEY_LABEL] = FIELD_OF("label", FIELD_REALS, label),
    [KEY_PROB_A] = FIELD_OF("probA", FIELD_REALS, prob_a),
    [KEY_PROB_B] = FIELD_OF("probB", FIELD_REALS, prob_b),
    [KEY_NR_SV] = FIELD_OF("nr_sv", FIELD_COUNTS, nr_sv),
    [KEY_SV] = {"SV", FIELD_NONE, 0, NULL, 0},
    [KEY_FORMAT] = FIELD_OF("klr_format", FIELD_COUNT, format),
    [KEY_MODEL] =
        FIELD_NAMES("model", model, klr_model_names, KLR_MODEL_SVM + 1),
    [KEY_SOLVER] = FIELD_NAMES("solver", solver, klr_solver_names, KLR_SOLVERS),
    [KEY_STATUS] = FIELD_NAMES("status", status, klr_status_names,
                               KLR_PRECISION_LIMIT + 1),
    [KEY_EPS] = FIELD_OF("eps", FIELD_REAL, eps),
    [KEY_COST] = FIELD_OF("cost", FIELD_REAL, cost),
    [KEY_GAP] = FIELD_OF("gap", FIELD_REAL, gap),
    [KEY_ITERATIONS] = FIELD_OF("iterations", FIELD_COUNT, iterations),
    [KEY_SV_INDICES] = FIELD_OF("sv_indices", FIELD_COUNTS, sv_indices),
    [KEY_END] = {"end", FIELD_NONE, 0, NULL, 0},
};

/* A slice of the line between blanks. */
struct load_slice {
    const char *text, *end;
};

static bool load_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool load_token(struct loader *in, struct load_slice *token)
{
    while (in->at < in->line.end && load_is_blank(*in->at))
        in->at++;
    token->text = in->at;
    while (in->at < in->line.end && !load_is_blank(*in->at))
        in->at++;
    token->end = in->at;
    return token->end > token->text;
}

/* KLR_E_MODEL at `at` in the line; the message quotes the text at..end
 * between `before` and `after`. */
static int load_refuse(struct loader *in, const char *at, const char *end,
                       const char *before, const char *after)
{
    char quoted[KLR_QUOTED_SIZE];
    return klr_fail_at(in->err, KLR_E_MODEL, in->line.number,
                       at - in->line.text + 1, "%s%s%s", before,
                       klr_quote_slice(quoted, at, end), after);
}

/* KLR_E_MODEL at the values of a key of an earlier line. */
KLR_PRINTF(3, 4)
static int load_refuse_key(struct loader *in, enum key key, const char *format,
                           ...)
{
    char message[200];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return klr_fail_at(in->err, KLR_E_MODEL, in->line_of[key],
                       (long)strlen(model_fields[key].name) + 2, "%s", message);
}

/* KLR_E_MODEL for what should stand at the cursor, where the line ends. */
static int load_refuse_end(struct loader *in, const char *what, const char *of)
{
    return klr_fail_at(in->err, KLR_E_MODEL, in->line.number,
                       in->line.end - in->line.text + 1,
                       "%s%s is missing at the end of the line", what, of);
}

/* 1: a line, 0: the end of the file, or minus a code. */
static int load_line(struct loader *in)
{
    int got = klr_input_line(in->input, &in->line, in->err);
    in->at = in->line.text;
    return got;
}

/* ---- Loading: values ---- */

static int load_real(struct loader *in, struct load_slice token, double *value)
{
    const char *end = klr_parse_real(token.text, token.end, value);
    if (end != token.end)
        return load_refuse(in, token.text, token.end, "", " is not a number");
    if (!isfinite(*value))
        return load_refuse(in, token.text, token.end, "", " is out of range");
    return 0;
}

static int load_count(struct loader *in, struct load_slice token, size_t *value)
{
    long long number = 0;
    const char *end = klr_parse_integer(token.text, token.end, &number);
    if (end != token.end || number < 0 || *token.text == '-')
        return load_refuse(in, token.text, token.end, "", " is not a count");
    *value = (size_t)number;
    return 0;
}

static int reals_add(struct loader *in, struct reals *list, double value)
{
    double *item = klr_grow(list->item, &list->capacity, list->count + 1,
                            sizeof *item, in->err);
    if (!item)
        return KLR_E_MEMORY;
    list->item = item;
    item[list->count++] = value;
    return 0;
}

static int counts_add(struct loader *in, struct counts *list, size_t value)
{
    size_t *item = klr_grow(list->item, &list->capacity, list->count + 1,
                            sizeof *item, in->err);
    if (!item)
        return KLR_E_MEMORY;
    list->item = item;
    item[list->count++] = value;
    return 0;
}

static int load_choice(struct loader *in, const struct field *field,
                       struct load_slice token, int *value)
{
    size_t length = (size_t)(token.end - token.text), used;
    char known[160] = " is not supported here; known:";
    for (size_t i = 0; i < field->n_choices; i++)
        if (strlen(field->choices[i]) == length &&
            !memcmp(field->choices[i], token.text, length)) {
            *value = (int)i;
            return 0;
        }
    for (size_t i = 0; i < field->n_choices; i++) {
        used = strlen(known);
        snprintf(known + used, sizeof known - used, " %s", field->choices[i]);
    }
    char before[32];
    snprintf(before, sizeof before, "%s ", field->name);
    return load_refuse(in, token.text, token.end, before, known);
}

static int load_list(struct loader *in, const struct field *field, void *list)
{
    struct load_slice token;
    int code = 0;
    while (!code && load_token(in, &token)) {
        double real = 0;
        size_t count = 0;
        if (field->kind == FIELD_REALS) {
            code = load_real(in, token, &real);
            code = code ? code : reals_add(in, list, real);
        } else {
            code = load_count(in, token, &count);
            code = code ? code : counts_add(in, list, count);
        }
    }
    return code;
}

/* The values that follow a key, to the end of the line. */
static int load_field(struct loader *in, const struct field *field)
{
    void *place = (char *)in + field->offset;
    struct load_slice token;
    int code = 0;
    if (field->kind == FIELD_REALS || field->kind == FIELD_COUNTS)
        return load_list(in, field, place);
    if (field->kind != FIELD_NONE) {
        if (!load_token(in, &token))
            return load_refuse_end(in, "the value of ", field->name);
        if (field->kind == FIELD_CHOICE)
            code = load_choice(in, field, token, place);
        else if (field->kind == FIELD_REAL)
            code = load_real(in, token, place);
        else
            code = load_count(in, token, place);
    }
    if (!code && load_token(in, &token))
        return load_refuse(in, token.text, token.end, "unexpected ",
                           " at the end of the line");
    return code;
}

/* Read lines "key values" with keys first..last until `last` came, which ends
 * them. */
static int load_section(struct loader *in, enum key first, enum key last)
{
    while (!in->line_of[last]) {
        struct load_slice token;
        enum key key = first;
        int got = load_line(in);
        if (got < 0)
            return -got;
        if (!got)
            return klr_fail_at(in->err, KLR_E_MODEL, in->line.number, 0,
                               "the file ends before its line '%s'",
                               model_fields[last].name);
        if (!load_token(in, &token))
            return klr_fail_at(in->err, KLR_E_MODEL, in->line.number, 0,
                               "a line of the model is blank");
        size_t length = (size_t)(token.end - token.text);
        while (key <= last &&
               (strlen(model_fields[key].name) != length ||
                memcmp(model_fields[key].name, token.text, length)))
            key++;
        if (key > last)
            return load_refuse(in, token.text, token.end, "unknown key ", "");
        if (in->line_of[key])
            return load_refuse(in, token.text, token.end, "key ",
                               " is repeated");
        in->line_of[key] = in->line.number;
        int code = load_field(in, &model_fields[key]);
        if (code)
            return code;
    }
    return 0;
}

static int load_require(struct loader *in, enum key key)
{
    if (in->line_of[key])
        return 0;
    return klr_fail_at(in->err, KLR_E_MODEL, in->line.number, 0,
                       "key '%s' is missing before this line",
                       model_fields[key].name);
}

static int load_require_all(struct loader *in, const enum key *key,
                            size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (load_require(in, key[i]))
            return KLR_E_MODEL;
    return 0;
}

static int load_require_length(struct loader *in, enum key key, size_t have,
                               size_t need)
{
    if (have == need)
        return 0;
    return load_refuse_key(in, key, "%s has %zu values, nr_class %zu needs %zu",
                           model_fields[key].name, have, in->nr_class, need);
}

static int load_check_kernel(struct loader *in)
{
    bool radial =
        in->kernel_type == KLR_RBF || in->kernel_type == KLR_LAPLACIAN;
    bool polynomial = in->kernel_type == KLR_POLYNOMIAL;
    bool has_coef0 = polynomial || in->kernel_type == KLR_SIGMOID;
    if ((polynomial && load_require(in, KEY_DEGREE)) ||
        ((radial || has_coef0) && load_require(in, KEY_GAMMA)) ||
        (has_coef0 && load_require(in, KEY_COEF0)))
        return KLR_E_MODEL;
    if (in->degree > INT_MAX)
        return load_refuse_key(in, KEY_DEGREE, "degree is too large");
    if (radial && in->gamma <= 0)
        return load_refuse_key(in, KEY_GAMMA, "gamma must be above 0");
    return 0;
}

static int load_check_labels(struct loader *in)
{
    const double *label = in->label.item;
    for (size_t i = 0; i < in->label.count; i++)
        for (size_t j = 0; j < i; j++)
            if (label[i] == label[j])
                return load_refuse_key(in, KEY_LABEL, "label %.17g is repeated",
                                       label[i]);
    return 0;
}

static int load_check_counts(struct loader *in)
{
    size_t left = in->total_sv;
    for (size_t i = 0; i < in->nr_sv.count; i++) {
        if (in->nr_sv.item[i] > left)
            return load_refuse_key(in, KEY_NR_SV,
                                   "nr_sv adds up to more than total_sv %zu",
                                   in->total_sv);
        left -= in->nr_sv.item[i];
    }
    if (left)
        return load_refuse_key(in, KEY_NR_SV,
                               "nr_sv adds up to %zu, total_sv is %zu",
                               in->total_sv - left, in->total_sv);
    return 0;
}

/* The header as a whole, once its last line has come. */
static int load_check_header(struct loader *in)
{
    static const enum key needed[] = {
        KEY_SVM_TYPE, KEY_KERNEL_TYPE, KEY_NR_CLASS, KEY_TOTAL_SV,
        KEY_RHO,      KEY_LABEL,       KEY_NR_SV};
    size_t k = in->nr_class;
    if (load_require_all(in, needed, sizeof needed / sizeof *needed) ||
        load_check_kernel(in))
        return KLR_E_MODEL;
    if (k < 2)
        return load_refuse_key(in, KEY_NR_CLASS,
                               "nr_class is %zu: a classifier has at least 2",
                               k);
    if (load_require_length(in, KEY_LABEL, in->label.count, k))
        return KLR_E_MODEL; /* from here k is small enough to be squared */
    size_t pairs = k * (k - 1) / 2;
    if (load_require_length(in, KEY_RHO, in->rho.count, pairs) ||
        load_require_length(in, KEY_NR_SV, in->nr_sv.count, k) ||
        load_check_labels(in) || load_check_counts(in))
        return KLR_E_MODEL;
    if (!in->line_of[KEY_PROB_A] && !in->line_of[KEY_PROB_B])
        return 0;
    if (load_require(in, KEY_PROB_A) || load_require(in, KEY_PROB_B) ||
        load_require_length(in, KEY_PROB_A, in->prob_a.count, pairs) ||
        load_require_length(in, KEY_PROB_B, in->prob_b.count, pairs))
        return KLR_E_MODEL;
    return 0;
}

/* ---- Loading: support vectors ---- */

static int load_add_feature(struct loader *in, long long index, double value)
{
    size_t count = in->value.count;
    int *grown = klr_grow(in->index, &in->index_capacity, count + 1,
                          sizeof *grown, in->err);
    if (!grown)
        return KLR_E_MEMORY;
    in->index = grown;
    grown[count] = (int)index;
    if (index > in->dimension)
        in->dimension = (int)index;
    return reals_add(in, &in->value, value);
}

/* "index:value"; *last is the index before it on the line, and becomes this
 * one. */
static int load_feature(struct loader *in, struct load_slice token,
                        long long *last)
{
    bool precomputed = in->kernel_type == KLR_PRECOMPUTED;
    long long index = 0;
    double value = 0;
    const char *colon = klr_parse_integer(token.text, token.end, &index);
    if (!colon || colon == token.end || *colon != ':')
        return load_refuse(in, token.text, token.end, "",
                           " is not of the form index:value");
    if (index < (precomputed ? 0 : 1) || index > INT_MAX)
        return load_refuse(in, token.text, colon, "index ", " is out of range");
    if (index <= *last)
        return load_refuse(in, token.text, colon, "index ",
                           " is not above the one before it");
    struct load_slice number = {colon + 1, token.end};
    int code = load_real(in, number, &value);
    if (code)
        return code;
    *last = index;
    return load_add_feature(in, index, value);
}

/* A support vector of a precomputed kernel is "0:serial" and nothing else. */
static int load_check_serial(struct loader *in, const struct load_slice *token)
{
    size_t begin = in->start.item[in->start.count - 1];
    if (in->value.count != begin + 1 || in->index[begin] != 0)
        return klr_fail_at(in->err, KLR_E_MODEL, in->line.number, 0,
                           "a support vector of a precomputed kernel must be "
                           "0:serial alone");
    double serial = in->value.item[begin];
    if (serial < 1 || serial > INT_MAX || serial != floor(serial))
        return load_refuse(in, token->text, token->end, "",
                           " is not a serial number from 1");
    return 0;
}

static int load_vector(struct loader *in)
{
    struct load_slice token, feature = {NULL, NULL};
    long long last = -1;
    int code = counts_add(in, &in->start, in->value.count);
    for (size_t i = 0; !code && i + 1 < in->nr_class; i++) {
        double coef = 0;
        if (!load_token(in, &token))
            return load_refuse_end(in, "a coefficient", "");
        code = load_real(in, token, &coef);
        code = code ? code : reals_add(in, &in->coef, coef);
    }
    while (!code && load_token(in, &token)) {
        feature = token;
        code = load_feature(in, token, &last);
    }
    if (!code && in->kernel_type == KLR_PRECOMPUTED)
        code = load_check_serial(in, &feature);
    return code;
}

static int load_vectors(struct loader *in)
{
    for (size_t i = 0; i < in->total_sv; i++) {
        int got = load_line(in);
        if (got < 0)
            return -got;
        if (!got)
            return klr_fail_at(in->err, KLR_E_MODEL, in->line.number, 0,
                               "the file ends after %zu of %zu support vectors",
                               i, in->total_sv);
        int code = load_vector(in);
        if (code)
            return code;
    }
    return counts_add(in, &in->start, in->value.count);
}

/* ---- Loading: our own section ---- */

/* The next line that is not blank. 1, 0 at the end, or minus a code. */
static int load_text_line(struct loader *in, struct load_slice *token)
{
    for (;;) {
        int got = load_line(in);
        if (got <= 0 || load_token(in, token))
            return got;
    }
}

static int load_check_record(struct loader *in)
{
    static const enum key needed[] = {KEY_MODEL, KEY_SOLVER, KEY_STATUS,
                                      KEY_EPS,   KEY_COST,   KEY_ITERATIONS};
    if (load_require_all(in, needed, sizeof needed / sizeof *needed))
        return KLR_E_MODEL;
    if (in->model == KLR_MODEL_KLR && !in->line_of[KEY_PROB_A])
        return load_refuse_key(
            in, KEY_MODEL, "a klr model needs probA and probB in its header");
    if (!in->line_of[KEY_SV_INDICES])
        return 0;
    if (in->sv_indices.count != in->total_sv)
        return load_refuse_key(in, KEY_SV_INDICES,
                               "sv_indices has %zu values, total_sv is %zu",
                               in->sv_indices.count, in->total_sv);
    for (size_t i = 0; i < in->total_sv; i++)
        if (!in->sv_indices.item[i]--)
            return load_refuse_key(in, KEY_SV_INDICES,
                                   "sv_indices are counted from 1");
    return 0;
}

/* Without our section nothing tells that the last number is whole but the end
 * of its line. */
static int load_check_end(struct loader *in)
{
    char feed;
    int64_t end = in->line.offset + (in->line.end - in->line.text);
    int code = klr_input_text(in->input, end, 1, &feed, in->err);
    if (!code)
        return 0;
    return klr_fail_at(in->err, KLR_E_MODEL, in->line.number, 0,
                       "the file ends within a line: it may be truncated");
}

/* What follows the last support vector: nothing, or klr_format ... end. */
static int load_record(struct loader *in)
{
    struct load_slice token;
    int got = load_text_line(in, &token);
    if (got < 0)
        return -got;
    if (!got)
        return load_check_end(in);
    const struct field *format = &model_fields[KEY_FORMAT];
    if ((size_t)(token.end - token.text) != strlen(format->name) ||
        memcmp(token.text, format->name, strlen(format->name)))
        return load_refuse(in, token.text, token.end, "unexpected ",
                           " after the last support vector");
    in->line_of[KEY_FORMAT] = in->line.number;
    int code = load_field(in, format);
    if (code)
        return code;
    if (in->format != MODEL_FORMAT)
        return load_refuse_key(in, KEY_FORMAT,
                               "format %zu is not known to this version, which "
                               "reads format %d",
                               in->format, MODEL_FORMAT);
    if ((code = load_section(in, KEY_MODEL, KEY_END)) ||
        (code = load_check_record(in)))
        return code;
    got = load_text_line(in, &token);
    if (got > 0)
        return load_refuse(in, token.text, token.end, "unexpected ",
                           " after the line 'end'");
    return -got;
}

/* ---- Loading: the model ---- */

static double *reals_take(struct reals *list)
{
    double *item = list->item;
    list->item = NULL;
    return item;
}

static size_t *counts_take(struct counts *list)
{
    size_t *item = list->item;
    list->item = NULL;
    return item;
}

/* Hand over what was read; the lists are empty afterwards. */
static int load_build(struct loader *in, struct klr_model *model)
{
    size_t n_sv = in->total_sv, rows = in->nr_class - 1;
    model->coef = klr_alloc(rows * n_sv, sizeof *model->coef, in->err);
    if (!model->coef)
        return KLR_E_MEMORY;
    for (size_t sv = 0; sv < n_sv; sv++)
        for (size_t row = 0; row < rows; row++)
            model->coef[row * n_sv + sv] = in->coef.item[sv * rows + row];
    model->type = KLR_MODEL_SVM;
    model->kernel.type = (enum klr_kernel_type)in->kernel_type;
    model->kernel.degree = (int)in->degree;
    model->kernel.gamma = in->gamma;
    model->kernel.coef0 = in->coef0;
    model->k = in->nr_class;
    model->pairs = in->rho.count;
    model->n_sv = n_sv;
    model->dimension = in->dimension;
    model->label = reals_take(&in->label);
    model->rho = reals_take(&in->rho);
    model->prob_a = reals_take(&in->prob_a);
    model->prob_b = reals_take(&in->prob_b);
    model->class_sv = counts_take(&in->nr_sv);
    model->start = counts_take(&in->start);
    model->sv_row = counts_take(&in->sv_indices);
    model->value = reals_take(&in->value);
    model->index = in->index;
    in->index = NULL;
    model->has_record = in->line_of[KEY_END] != 0;
    if (model->has_record) {
        model->type = (enum klr_model_type)in->model;
        model->record = (struct record){
            .solver = (enum klr_solver_type)in->solver,
            .status = (enum klr_status)in->status,
            .eps = in->eps,
            .cost = in->cost,
            .gap = in->line_of[KEY_GAP] ? in->gap : (double)NAN,
            .iterations = (long long)in->iterations,
        };
    }
    return 0;
}

static void loader_free(struct loader *in)
{
    klr_input_close(in->input);
    klr_free(in->rho.item);
    klr_free(in->label.item);
    klr_free(in->prob_a.item);
    klr_free(in->prob_b.item);
    klr_free(in->nr_sv.item);
    klr_free(in->sv_indices.item);
    klr_free(in->coef.item);
    klr_free(in->start.item);
    klr_free(in->value.item);
    klr_free(in->index);
}

int klr_model_load(struct klr_model **out, const char *path,
                   struct klr_error *err)
{
    struct loader in = {.err = err};
    struct klr_model *model = NULL;
    *out = NULL;
    int code = klr_input_open(&in.input, path, true, err);
    if (code || (code = load_section(&in, KEY_SVM_TYPE, KEY_SV)) ||
        (code = load_check_header(&in)) || (code = load_vectors(&in)) ||
        (code = load_record(&in)))
        goto done;
    model = klr_zalloc(1, sizeof *model, err);
    code = model ? load_build(&in, model) : KLR_E_MEMORY;
    if (code)
        klr_model_free(model);
    else
        *out = model;
done:
    loader_free(&in);
    return code;
}
