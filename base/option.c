/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options as data (option.h). A value is read, checked and shown by what its
 * table entry says of it; a field never holds a value out of its range, but
 * for the preset.
 */
#include "base/option.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"

enum {
    LABEL_SIZE = 40,    /* "option --name" */
    NAME_LONGEST = 32,  /* names that klr_nearest compares */
    PREFIX_SHORTEST = 4 /* of a choice */
};

static void *field_of(const struct klr_option *option, void *base)
{
    return (char *)base + option->offset;
}

static const void *field_in(const struct klr_option *option, const void *base)
{
    return (const char *)base + option->offset;
}

/* "option -c", or "option --max-iter" where there is no letter. */
static const char *label_of(const struct klr_option *option,
                            char label[LABEL_SIZE])
{
    if (option->letter)
        snprintf(label, LABEL_SIZE, "option -%c", option->letter);
    else
        snprintf(label, LABEL_SIZE, "option --%s", option->name);
    return label;
}

/* ---- Presets ---- */

void klr_options_preset(const struct klr_option *table, void *base)
{
    for (; table->name; table++) {
        void *field = field_of(table, base);
        switch (table->type) {
        case KLR_FLAG:
        case KLR_CHOICE:
            *(int *)field = (int)table->preset;
            break;
        case KLR_INTEGER:
            *(long long *)field = (long long)table->preset;
            break;
        case KLR_REAL:
            *(double *)field = table->preset;
            break;
        case KLR_REALS:
            *(struct klr_reals *)field =
                (struct klr_reals){.count = 1, .value = {table->preset}};
            break;
        case KLR_STRING:
            *(const char **)field = NULL;
            break;
        case KLR_REPEATED:
            break;
        }
    }
}

void klr_option_preset_text(const struct klr_option *option,
                            char text[KLR_PRESET_SIZE])
{
    text[0] = '\0';
    if (option->type == KLR_CHOICE)
        snprintf(text, KLR_PRESET_SIZE, "%s",
                 option->choices[(int)option->preset]);
    else if ((option->type == KLR_INTEGER || option->type == KLR_REAL ||
              option->type == KLR_REALS) &&
             !isnan(option->preset))
        snprintf(text, KLR_PRESET_SIZE, "%g", option->preset);
}

/* ---- Ranges ---- */

static bool in_range(const struct klr_option *option, double value)
{
    if (value == option->preset || (isnan(value) && isnan(option->preset)))
        return true;
    return (option->above_min ? value > option->min : value >= option->min) &&
           value <= option->max;
}

/* "option -c: must be greater than 0, got -3" */
static int fail_range(const struct klr_option *option, const char *got,
                      struct klr_error *err)
{
    char label[LABEL_SIZE], low[64] = "", high[64] = "";
    if (option->min > -HUGE_VAL)
        snprintf(low, sizeof low, " %s %.15g",
                 option->above_min ? "greater than" : "at least", option->min);
    if (option->max < HUGE_VAL)
        snprintf(high, sizeof high, "%s at most %.15g", low[0] ? " and" : "",
                 option->max);
    return klr_fail(err, KLR_E_USAGE, "%s: must be%s%s, got %s",
                    label_of(option, label), low, high, got);
}

static int check_number(const struct klr_option *option, double value,
                        struct klr_error *err)
{
    char got[32], label[LABEL_SIZE];
    if (isinf(value) || (isnan(value) && !isnan(option->preset)))
        return klr_fail(err, KLR_E_USAGE, "%s: must be a finite number",
                        label_of(option, label));
    if (in_range(option, value))
        return 0;
    snprintf(got, sizeof got, "%.15g", value);
    return fail_range(option, got, err);
}

static int check_reals(const struct klr_option *option,
                       const struct klr_reals *reals, struct klr_error *err)
{
    int code = 0;
    for (size_t i = 0; i < reals->count && !code; i++)
        code = check_number(option, reals->value[i], err);
    return code;
}

static int check_choice(const struct klr_option *option, int value,
                        struct klr_error *err)
{
    char label[LABEL_SIZE];
    for (int i = 0; option->choices[i]; i++)
        if (i == value)
            return 0;
    return klr_fail(err, KLR_E_USAGE, "%s: there is no choice number %d",
                    label_of(option, label), value);
}

int klr_options_check(const struct klr_option *table, const void *base,
                      struct klr_error *err)
{
    int code = 0;
    for (; table->name && !code; table++) {
        const void *field = field_in(table, base);
        if (table->type == KLR_INTEGER)
            code = check_number(table, (double)*(const long long *)field, err);
        else if (table->type == KLR_CHOICE)
            code = check_choice(table, *(const int *)field, err);
        else if (table->type == KLR_REAL)
            code = check_number(table, *(const double *)field, err);
        else if (table->type == KLR_REALS)
            code = check_reals(table, field, err);
    }
    return code;
}

/* ---- Names ---- */

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Insertions, deletions, substitutions and swaps of neighbours that make `a`
 * out of `b`; both at most NAME_LONGEST long. Only three rows of the table of
 * all prefixes are kept. */
static size_t edit_distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t rows[3][NAME_LONGEST + 1];
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = smallest(above[j] + 1, row[j - 1] + 1,
                              above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smallest(row[j], row[j], second[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

/* Near enough: one edit for every three letters, but at least one, and fewer
 * than there are letters; or a beginning of at least two. */
const char *klr_nearest(const char *text, const char *const *names)
{
    const char *nearest = NULL;
    size_t n = strlen(text), least = n < 3 ? 2 : n / 3 + 1;
    if (n < 2 || n > NAME_LONGEST)
        return NULL;
    for (; *names; names++) {
        size_t m = strlen(*names);
        if (m == 0 || m > NAME_LONGEST)
            continue;
        size_t distance = edit_distance(text, n, *names, m);
        if (strncmp(text, *names, n) == 0)
            distance = 1;
        if (distance < least) {
            least = distance;
            nearest = *names;
        }
    }
    return nearest;
}

/* ---- Reading ---- */

static int fail_choice(const struct klr_option *option, const char *text,
                       struct klr_error *err)
{
    char label[LABEL_SIZE], quoted[KLR_QUOTED_SIZE], list[160], hint[64] = "";
    size_t length = 0;
    list[0] = '\0';
    for (size_t i = 0; option->choices[i] && length < sizeof list; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s",
                                   i ? ", " : "", option->choices[i]);
    const char *near = klr_nearest(text, option->choices);
    if (near)
        snprintf(hint, sizeof hint, " (did you mean '%s'?)", near);
    return klr_fail(err, KLR_E_USAGE, "%s: %s is not one of %s%s",
                    label_of(option, label), klr_quote(quoted, text), list,
                    hint);
}

static int read_choice(const struct klr_option *option, const char *text,
                       int *field, struct klr_error *err)
{
    size_t length = strlen(text);
    int found = 0, last = 0; /* choices that begin with the text */
    for (int i = 0; option->choices[i]; i++) {
        if (strcmp(text, option->choices[i]) == 0 ||
            (option->aliases && *text && !strcmp(text, option->aliases[i]))) {
            *field = i;
            return 0;
        }
        if (strncmp(text, option->choices[i], length) == 0) {
            found++;
            last = i;
        }
    }
    if (found != 1 || length < PREFIX_SHORTEST)
        return fail_choice(option, text, err);
    *field = last;
    return 0;
}

static int fail_number(const struct klr_option *option, const char *text,
                       const char *what, struct klr_error *err)
{
    char label[LABEL_SIZE], quoted[KLR_QUOTED_SIZE];
    return klr_fail(err, KLR_E_USAGE, "%s: %s is %s", label_of(option, label),
                    klr_quote(quoted, text), what);
}

static int read_real(const struct klr_option *option, const char *text,
                     double *field, struct klr_error *err)
{
    double value;
    const char *end = text + strlen(text);
    if (klr_parse_real(text, end, &value) != end)
        return fail_number(option, text, "not a number", err);
    if (isinf(value))
        return fail_number(option, text, "too large", err);
    if (!in_range(option, value))
        return fail_range(option, text, err);
    *field = value;
    return 0;
}

static int read_reals(const struct klr_option *option, const char *text,
                      struct klr_reals *field, struct klr_error *err)
{
    double value;
    int code = read_real(option, text, &value, err);
    if (!code)
        *field = (struct klr_reals){.count = 1, .value = {value}};
    return code;
}

static int read_integer(const struct klr_option *option, const char *text,
                        long long *field, struct klr_error *err)
{
    long long value;
    if (!klr_read_integer(text, &value))
        return fail_number(option, text, "not an integer", err);
    if (!in_range(option, (double)value))
        return fail_range(option, text, err);
    if (value == LLONG_MIN || value == LLONG_MAX) /* saturated */
        return fail_number(option, text, "too large", err);
    *field = value;
    return 0;
}

int klr_option_read(const struct klr_option *option, const char *text,
                    void *base, struct klr_error *err)
{
    void *field = field_of(option, base);
    switch (option->type) {
    case KLR_FLAG:
        *(int *)field = 1;
        return 0;
    case KLR_INTEGER:
        return read_integer(option, text, field, err);
    case KLR_REAL:
        return read_real(option, text, field, err);
    case KLR_CHOICE:
        return read_choice(option, text, field, err);
    case KLR_REALS:
        return read_reals(option, text, field, err);
    case KLR_STRING:
        *(const char **)field = text;
        return 0;
    case KLR_REPEATED:
        break;
    }
    return 0;
}
