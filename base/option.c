/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options as data (option.h). A value is read, checked and shown by what its
 * table entry says of it; a field never holds a value out of its range, but
 * for the preset.
 */
#include "base/option.h"

#include <ctype.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/numbers.h"

enum {
    LABEL_SIZE = 40,    /* "option --name" */
    NAME_LONGEST = 32,  /* names that klr_nearest compares */
    PREFIX_SHORTEST = 4 /* of a choice */
};

struct klr_reals klr_reals_of(double value)
{
    return (struct klr_reals){.count = 1, .value = {value}};
}

static void *field_of(const struct klr_option *option, void *base)
{
    return (char *)base + option->offset;
}

const void *klr_option_field(const struct klr_option *option, const void *base)
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

/* ---- Names ---- */

const struct klr_option *klr_option_find(const struct klr_option *table,
                                         const char *name)
{
    while (table->name && strcmp(table->name, name) != 0)
        table++;
    return table->name ? table : NULL;
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
            *(struct klr_reals *)field = klr_reals_of(table->preset);
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

bool klr_option_is_preset(const struct klr_option *option, double value)
{
    return value == option->preset || (isnan(value) && isnan(option->preset));
}

static bool in_range(const struct klr_option *option, double value)
{
    if (klr_option_is_preset(option, value) ||
        (option->word && value == option->word_value))
        return true;
    return (option->above_min ? value > option->min : value >= option->min) &&
           value <= option->max;
}

/* "option -c: must be greater than 0, got -3"; the -3 ends at `end`. */
static int fail_range(const struct klr_option *option, const char *got,
                      const char *end, struct klr_error *err)
{
    char label[LABEL_SIZE], low[64] = "", high[64] = "";
    if (option->min > -HUGE_VAL)
        snprintf(low, sizeof low, " %s %.15g",
                 option->above_min ? "greater than" : "at least", option->min);
    if (option->max < HUGE_VAL)
        snprintf(high, sizeof high, "%s at most %.15g", low[0] ? " and" : "",
                 option->max);
    return klr_fail(err, KLR_E_USAGE, "%s: must be%s%s, got %.*s",
                    label_of(option, label), low, high, (int)(end - got), got);
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
    int length = snprintf(got, sizeof got, "%.15g", value);
    return fail_range(option, got, got + length, err);
}

static int check_reals(const struct klr_option *option,
                       const struct klr_reals *reals, struct klr_error *err)
{
    char label[LABEL_SIZE];
    bool valid = reals->count >= 1 && reals->count <= KLR_REALS_MOST;
    int code = 0;
    for (size_t i = 0; valid && i < reals->count && !code; i++) {
        valid = i == 0 || !(reals->value[i] <= reals->value[i - 1]);
        code = check_number(option, reals->value[i], err);
    }
    return valid ? code
                 : klr_fail(err, KLR_E_USAGE,
                            "%s: needs from 1 to %d ascending values",
                            label_of(option, label), KLR_REALS_MOST);
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
        const void *field = klr_option_field(table, base);
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
 * than there are letters; or a beginning of at least two. Names have no
 * capitals. */
const char *klr_nearest(const char *text, const char *const *names)
{
    const char *nearest = NULL;
    char small[NAME_LONGEST + 1] = "";
    size_t n = strlen(text), least = n < 3 ? 2 : n / 3 + 1;
    if (n < 2 || n > NAME_LONGEST)
        return NULL;
    for (size_t i = 0; i < n; i++)
        small[i] = (char)tolower((unsigned char)text[i]);
    for (; *names; names++) {
        size_t m = strlen(*names);
        if (m == 0 || m > NAME_LONGEST)
            continue;
        size_t distance = edit_distance(small, n, *names, m);
        if (strncmp(small, *names, n) == 0)
            distance = 1;
        if (distance < least) {
            least = distance;
            nearest = *names;
        }
    }
    return nearest;
}

bool klr_option_is_called(const struct klr_option *option, const char *name)
{
    size_t length = strlen(name);
    for (const char *p = option->also; p && *p; p += strspn(p, " ")) {
        size_t word = strcspn(p, " ");
        if (word == length && strncasecmp(p, name, length) == 0)
            return true;
        p += word;
    }
    return false;
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

/* "option -c: 'abc' is not a number" */
static int fail_value(const struct klr_option *option, const char *text,
                      const char *end, const char *what, struct klr_error *err)
{
    char label[LABEL_SIZE], quoted[KLR_QUOTED_SIZE];
    return klr_fail(err, KLR_E_USAGE, "%s: %s %s", label_of(option, label),
                    klr_quote_slice(quoted, text, end), what);
}

/* A number or a power of numbers, 2^-5; as klr_parse_real. */
static const char *parse_power(const char *text, const char *end, double *value)
{
    double exponent;
    const char *rest = klr_parse_real(text, end, value);
    if (!rest || rest == end || *rest != '^')
        return rest;
    rest = klr_parse_real(rest + 1, end, &exponent);
    if (rest)
        *value = pow(*value, exponent);
    return rest;
}

static int read_real(const struct klr_option *option, const char *text,
                     const char *end, double *field, struct klr_error *err)
{
    double value;
    if (parse_power(text, end, &value) != end || isnan(value))
        return fail_value(option, text, end, "is not a number", err);
    if (isinf(value))
        return fail_value(option, text, end, "is too large", err);
    if (!in_range(option, value))
        return fail_range(option, text, end, err);
    *field = value;
    return 0;
}

static int read_integer(const struct klr_option *option, const char *text,
                        long long *field, struct klr_error *err)
{
    long long value;
    const char *end = text + strlen(text);
    char what[64] = "is not an integer";
    if (option->word && strcmp(text, option->word) == 0) {
        *field = (long long)option->word_value;
        return 0;
    }
    if (option->word)
        snprintf(what, sizeof what, "is neither an integer nor %s",
                 option->word);
    if (!klr_read_integer(text, &value))
        return fail_value(option, text, end, what, err);
    if (!in_range(option, (double)value) ||
        (option->word && value == (long long)option->word_value))
        return fail_range(option, text, end, err);
    if (value == LLONG_MIN || value == LLONG_MAX) /* saturated */
        return fail_value(option, text, end, "is too large", err);
    *field = value;
    return 0;
}

/* ---- Lists ---- */

static int fail_many(const struct klr_option *option, struct klr_error *err)
{
    char label[LABEL_SIZE];
    return klr_fail(err, KLR_E_USAGE, "%s: more than %d values",
                    label_of(option, label), KLR_REALS_MOST);
}

/* Keep the list ascending, and without repetition. */
static int add_real(const struct klr_option *option, double value,
                    struct klr_reals *list, struct klr_error *err)
{
    size_t at = list->count;
    while (at > 0 && list->value[at - 1] > value)
        at--;
    if (at > 0 && list->value[at - 1] == value)
        return 0;
    if (list->count == KLR_REALS_MOST)
        return fail_many(option, err);
    memmove(list->value + at + 1, list->value + at,
            (list->count - at) * sizeof *list->value);
    list->value[at] = value;
    list->count++;
    return 0;
}

/* The double nearest to a decimal of 12 digits, where that is `value` up to
 * the rounding of a product; else `value`. 12 leave room enough that a power of
 * two is not taken for a decimal by chance. Powers of ten up to 22 are exact,
 * and with them the result is. */
static double to_decimal(double value)
{
    double shift = 11 - floor(log10(value)), power = pow(10, fabs(shift));
    double digits = nearbyint(shift > 0 ? value * power : value / power);
    double decimal = shift > 0 ? digits / power : digits * power;
    return fabs(decimal - value) <= 4 * DBL_EPSILON * value ? decimal : value;
}

/* From `first` by `factor` to `last`, which belongs to it if it is met up to
 * rounding. */
static int add_range(const struct klr_option *option, double first, double last,
                     double factor, struct klr_reals *list,
                     struct klr_error *err)
{
    const double tolerance = 1e-9;
    double value = first;
    int code = 0;
    for (int i = 0; i < KLR_REALS_MOST && !code; i++) {
        bool met = fabs(value - last) <= tolerance * last;
        if (!met && !(value < last))
            return 0;
        code = add_real(option, met ? last : value, list, err);
        value = to_decimal(value * factor);
    }
    return code || value > last * (1 + tolerance) ? code
                                                  : fail_many(option, err);
}

/* A number of the list, in the unit if the list is. */
static int read_member(const struct klr_option *option, const char *text,
                       const char *end, const struct klr_reals *list,
                       double *value, struct klr_error *err)
{
    char what[48];
    if (!list->in_unit)
        return read_real(option, text, end, value, err);
    snprintf(what, sizeof what, "has no '%c' behind it, as others have",
             option->unit);
    if (end == text || end[-1] != option->unit)
        return fail_value(option, text, end, what, err);
    return read_real(option, text, end - 1, value, err);
}

/* FIRST:LAST:xFACTOR */
static int read_range(const struct klr_option *option, const char *text,
                      const char *end, struct klr_reals *list,
                      struct klr_error *err)
{
    double first = 0, last = 0, factor;
    const char *colon = memchr(text, ':', (size_t)(end - text));
    const char *second = memchr(colon + 1, ':', (size_t)(end - colon - 1));
    if (!second || second + 1 == end || second[1] != 'x' ||
        parse_power(second + 2, end, &factor) != end)
        return fail_value(option, text, end, "is not FIRST:LAST:xFACTOR", err);
    int code = read_member(option, text, colon, list, &first, err);
    if (!code)
        code = read_member(option, colon + 1, second, list, &last, err);
    if (code)
        return code;
    if (!(factor > 1))
        return fail_value(option, text, end, "needs a factor greater than 1",
                          err);
    if (!(first > 0))
        return fail_value(option, text, end,
                          "needs a first value greater than 0", err);
    if (first > last)
        return fail_value(option, text, end, "ends before it begins", err);
    return add_range(option, first, last, factor, list, err);
}

/* Numbers and ranges, between commas. */
static int read_reals(const struct klr_option *option, const char *text,
                      struct klr_reals *field, struct klr_error *err)
{
    struct klr_reals list = {.count = 0};
    list.in_unit = option->unit && strchr(text, option->unit);
    const char *item = text, *end;
    double value = 0;
    int code = 0;
    do {
        end = item + strcspn(item, ",");
        if (end == item && *text)
            code = fail_value(option, text, text + strlen(text),
                              "has an empty item", err);
        else if (memchr(item, ':', (size_t)(end - item)))
            code = read_range(option, item, end, &list, err);
        else if (!(code = read_member(option, item, end, &list, &value, err)))
            code = add_real(option, value, &list, err);
        item = end + 1;
    } while (!code && *end);
    if (!code)
        *field = list;
    return code;
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
        return read_real(option, text, text + strlen(text), field, err);
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
