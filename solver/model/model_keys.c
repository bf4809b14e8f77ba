/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines "key values" of model files: the table model_fields tells how each is
 * read into a struct loader.
 */
#include "solver/model/model_keys.h"

#include <limits.h>
#include <stdio.h>

/* How the values of a key are read, and where they go. */
enum field_kind {
    FIELD_NONE,
    FIELD_CHOICE, /* one of names: int */
    FIELD_COUNT,  /* size_t */
    FIELD_LONG,   /* long long */
    FIELD_REAL,   /* double */
    FIELD_REALS,  /* struct reals */
    FIELD_COUNTS, /* struct counts */
    FIELD_WORDS,  /* struct klr_names * */
    FIELD_TEXT    /* char *, all that is left of the line */
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;              /* in struct loader */
    const char *const *choices; /* names, ended by NULL */
};

static const char *const load_svm_types[] = {"c_svc", "klr", "nu_svc", NULL};
static const char *const load_scalings[] = {"minmax", "standard", NULL};
static const char *const load_switch[] = {"0", "1", NULL};

/* clang-format off */
#define FIELD_OF(name, kind, member) \
    {name, kind, offsetof(struct loader, member), NULL}
#define FIELD_NAMES(name, member, choices) \
    {name, FIELD_CHOICE, offsetof(struct loader, member), choices}

static const struct field model_fields[KEYS] = {
    [KEY_SVM_TYPE] = FIELD_NAMES("svm_type", svm_type, load_svm_types),
    [KEY_KERNEL_TYPE] = FIELD_NAMES("kernel_type", kernel_type,
                                    klr_kernel_names),
    [KEY_DEGREE] = FIELD_OF("degree", FIELD_COUNT, degree),
    [KEY_GAMMA] = FIELD_OF("gamma", FIELD_REAL, gamma),
    [KEY_COEF0] = FIELD_OF("coef0", FIELD_REAL, coef0),
    [KEY_NR_CLASS] = FIELD_OF("nr_class", FIELD_COUNT, nr_class),
    [KEY_TOTAL_SV] = FIELD_OF("total_sv", FIELD_COUNT, total_sv),
    [KEY_MULTICLASS] = FIELD_NAMES("multiclass", multiclass,
                                   klr_multiclass_names),
    [KEY_RHO] = FIELD_OF("rho", FIELD_REALS, rho),
    [KEY_LABEL] = FIELD_OF("label", FIELD_REALS, label),
    [KEY_NAMES] = FIELD_OF("names", FIELD_WORDS, names),
    [KEY_LINK] = FIELD_NAMES("link", link, model_link_names),
    [KEY_PROB_A] = FIELD_OF("probA", FIELD_REALS, prob_a),
    [KEY_PROB_B] = FIELD_OF("probB", FIELD_REALS, prob_b),
    [KEY_PROB_C] = FIELD_OF("probC", FIELD_REALS, prob_c),
    [KEY_NR_SV] = FIELD_OF("nr_sv", FIELD_COUNTS, nr_sv),
    [KEY_SV] = {"SV", FIELD_NONE, 0, NULL},
    [KEY_FORMAT] = FIELD_OF("klr_format", FIELD_COUNT, format),
    [KEY_MODEL] = FIELD_NAMES("model", model, klr_model_names),
    [KEY_SOLVER] = FIELD_NAMES("solver", solver, klr_solver_names),
    [KEY_STATUS] = FIELD_NAMES("status", status, klr_status_names),
    [KEY_EPS] = FIELD_OF("eps", FIELD_REAL, eps),
    [KEY_COST] = FIELD_OF("cost", FIELD_REAL, cost),
    [KEY_LAMBDA] = FIELD_OF("lambda", FIELD_REAL, lambda),
    [KEY_BOX] = FIELD_OF("box", FIELD_REAL, box),
    [KEY_BIAS] = FIELD_NAMES("bias", bias, load_switch),
    [KEY_GAP] = FIELD_OF("gap", FIELD_REAL, gap),
    [KEY_ITERATIONS] = FIELD_OF("iterations", FIELD_LONG, iterations),
    [KEY_EXAMPLES] = FIELD_OF("examples", FIELD_COUNT, examples),
    [KEY_VERSION] = FIELD_OF("version", FIELD_TEXT, says[SAYS_VERSION]),
    [KEY_DATA] = FIELD_OF("data", FIELD_TEXT, says[SAYS_DATA]),
    [KEY_WEIGHTS] = FIELD_OF("weights", FIELD_TEXT, says[SAYS_WEIGHTS]),
    [KEY_OPTIONS] = FIELD_OF("options", FIELD_TEXT, says[SAYS_OPTIONS]),
    [KEY_DATE] = FIELD_OF("date", FIELD_TEXT, says[SAYS_DATE]),
    [KEY_COMMAND] = FIELD_OF("command", FIELD_TEXT, says[SAYS_COMMAND]),
    [KEY_SV_INDICES] = FIELD_OF("sv_indices", FIELD_COUNTS, sv_indices),
    [KEY_FEATURE_NAMES] = FIELD_OF("feature_names", FIELD_WORDS, feature_names),
    [KEY_SCALING] = FIELD_NAMES("scaling", scaling, load_scalings),
    [KEY_SCALING_LIMITS] = FIELD_OF("scaling_limits", FIELD_REALS,
                                    scaling_limits),
    [KEY_SCALING_INDEX] = FIELD_OF("scaling_index", FIELD_COUNTS,
                                   scaling_index),
    [KEY_SCALING_FROM] = FIELD_OF("scaling_from", FIELD_REALS, scaling_from),
    [KEY_SCALING_TO] = FIELD_OF("scaling_to", FIELD_REALS, scaling_to),
    [KEY_END] = {"end", FIELD_NONE, 0, NULL},
};
/* clang-format on */

/* ---- Tokens ---- */

static int load_line(struct loader *in)
{
    int got = klr_input_line(in->input, &in->line, in->err);
    in->at = in->line.text;
    return got;
}

static bool load_token(struct loader *in, struct load_slice *token)
{
    token->text = in->at = klr_skip_blanks(in->at, in->line.end);
    while (in->at < in->line.end && !klr_is_blank(*in->at))
        in->at++;
    token->end = in->at;
    return token->end > token->text;
}

static int load_text_line(struct loader *in, struct load_slice *token)
{
    for (;;) {
        int got = load_line(in);
        if (got <= 0 || load_token(in, token))
            return got;
    }
}

static bool load_is(struct load_slice token, const char *name)
{
    size_t length = (size_t)(token.end - token.text);
    return strlen(name) == length && memcmp(name, token.text, length) == 0;
}

/* ---- Refusals ---- */

static int load_refuse(struct loader *in, struct load_slice token,
                       const char *before, const char *after)
{
    char quoted[KLR_QUOTED_SIZE];
    return LOAD_FAIL(in, in->line.number, token.text - in->line.text + 1,
                     "%s%s%s", before,
                     klr_quote_slice(quoted, token.text, token.end), after);
}

static int load_refuse_end(struct loader *in, const char *what, const char *of)
{
    return LOAD_FAIL(in, in->line.number, in->line.end - in->line.text + 1,
                     "%s%s is missing at the end of the line", what, of);
}

/* ---- Values ---- */

static int load_real(struct loader *in, struct load_slice token, double *value)
{
    const char *end = klr_parse_real(token.text, token.end, value);
    if (end == token.end && isfinite(*value))
        return 0;
    return line_refuse_number(&in->line, token.text, token.end, in->err);
}

/* A count below `most`. */
static int load_long(struct loader *in, struct load_slice token, long long most,
                     long long *value)
{
    const char *end = klr_parse_integer(token.text, token.end, value);
    if (end != token.end || *value < 0 || *token.text == '-')
        return load_refuse(in, token, "", " is not a count");
    if (*value >= most)
        return load_refuse(in, token, "", " is out of range");
    return 0;
}

static int load_count(struct loader *in, struct load_slice token, size_t *value)
{
    long long number = 0;
    int code = load_long(in, token,
                         SIZE_MAX < LLONG_MAX ? (long long)SIZE_MAX : LLONG_MAX,
                         &number);
    *value = (size_t)number;
    return code;
}

static int reals_add(struct loader *in, struct reals *list, double value)
{
    if (KLR_GROW(list->item, list->capacity, list->count + 1, in->err))
        return KLR_E_MEMORY;
    list->item[list->count++] = value;
    return 0;
}

static int counts_add(struct loader *in, struct counts *list, size_t value)
{
    if (KLR_GROW(list->item, list->capacity, list->count + 1, in->err))
        return KLR_E_MEMORY;
    list->item[list->count++] = value;
    return 0;
}

static int load_word(struct loader *in, struct load_slice token,
                     struct klr_names **names)
{
    size_t index, before = klr_names_count(*names);
    if (!line_is_name(token.text, token.end))
        return load_refuse(in, token, "", " is not a name");
    int code = names_add(names, token.text, (size_t)(token.end - token.text),
                         &index, in->err);
    if (!code && klr_names_count(*names) == before)
        code = load_refuse(in, token, "name ", " is repeated");
    return code;
}

static int load_choice(struct loader *in, const struct field *field,
                       struct load_slice token, int *value)
{
    char before[32], known[160] = " is not supported here; known:";
    for (int i = 0; field->choices[i]; i++)
        if (load_is(token, field->choices[i])) {
            *value = i;
            return 0;
        }
    for (int i = 0; field->choices[i]; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, " %s", field->choices[i]);
    }
    snprintf(before, sizeof before, "%s ", field->name);
    return load_refuse(in, token, before, known);
}

static int load_list(struct loader *in, const struct field *field, void *list)
{
    struct load_slice token;
    int code = 0;
    while (!code && load_token(in, &token)) {
        double real = 0;
        size_t count = 0;
        if (field->kind == FIELD_WORDS) {
            code = load_word(in, token, list);
        } else if (field->kind == FIELD_REALS) {
            code = load_real(in, token, &real);
            code = code ? code : reals_add(in, list, real);
        } else {
            code = load_count(in, token, &count);
            code = code ? code : counts_add(in, list, count);
        }
    }
    return code;
}

/* From the next token to the end of the line. */
static int load_text(struct loader *in, const struct field *field, char **text)
{
    struct load_slice rest;
    if (!load_token(in, &rest))
        return load_refuse_end(in, "the value of ", field->name);
    rest.end = in->at = in->line.end;
    while (klr_is_blank(rest.end[-1]))
        rest.end--;
    for (const char *p = rest.text; p < rest.end; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7F)
            return load_refuse(in, rest, "", " has control characters");
    size_t length = (size_t)(rest.end - rest.text);
    if (!(*text = klr_alloc(length + 1, 1, in->err)))
        return KLR_E_MEMORY;
    memcpy(*text, rest.text, length);
    (*text)[length] = '\0';
    return 0;
}

static int load_line_end(struct loader *in)
{
    struct load_slice token;
    if (!load_token(in, &token))
        return 0;
    return load_refuse(in, token, "unexpected ", " at the end of the line");
}

/* ---- Keys ---- */

static const char *load_name(enum key key)
{
    return model_fields[key].name;
}

static int load_field(struct loader *in, enum key key)
{
    const struct field *field = &model_fields[key];
    void *place = (char *)in + field->offset;
    struct load_slice token;
    int code = 0;
    in->line_of[key] = in->line.number;
    if (field->kind == FIELD_REALS || field->kind == FIELD_COUNTS ||
        field->kind == FIELD_WORDS)
        return load_list(in, field, place);
    if (field->kind == FIELD_TEXT)
        return load_text(in, field, place);
    if (field->kind != FIELD_NONE) {
        if (!load_token(in, &token))
            return load_refuse_end(in, "the value of ", field->name);
        if (field->kind == FIELD_CHOICE)
            code = load_choice(in, field, token, place);
        else if (field->kind == FIELD_REAL)
            code = load_real(in, token, place);
        else if (field->kind == FIELD_LONG)
            code = load_long(in, token, LLONG_MAX, place);
        else
            code = load_count(in, token, place);
    }
    return code ? code : load_line_end(in);
}

static int load_section(struct loader *in, enum key first, enum key last)
{
    static const char foreign[] = ": not a model of klr-train or svm-train";
    while (!in->line_of[last]) {
        struct load_slice token;
        enum key key = first;
        int got = load_line(in);
        if (got < 0)
            return -got;
        if (!got)
            return LOAD_FAIL_LINE(in, "the file ends before its line '%s'",
                                  load_name(last));
        if (!load_token(in, &token))
            return LOAD_FAIL_LINE(in, "a line of the model is blank");
        while (key <= last && !load_is(token, load_name(key)))
            key++;
        if (key > last)
            return load_refuse(in, token, "unknown key ",
                               in->line.number == 1 ? foreign : "");
        if (in->line_of[key])
            return load_refuse(in, token, "key ", " is repeated");
        int code = load_field(in, key);
        if (code)
            return code;
    }
    return 0;
}
