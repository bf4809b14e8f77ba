/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of classes, and of features. Labels are numbers everywhere; where they
 * are names in the files, a label is the index of its name. Once a problem is
 * read, the names of its classes are in ascending order: so labels do not
 * depend on the order of its rows.
 *
 * Invariants: name i begins at text[start[i]] and ends with a 0. Of the slots,
 * a power of 2 and at least twice as many as names, each name has one, index +
 * 1: that which its hash tells, or the first free one behind it.
 */
#include "solver/data/data.h"

#include <stdio.h>

struct klr_names {
    size_t count, slots, length; /* length: of all texts, in bytes */
    size_t start_capacity, text_capacity;
    size_t *start; /* (count) */
    size_t *slot;  /* (slots) */
    char *text;    /* (length) */
};

struct klr_names *klr_names_free(struct klr_names *names)
{
    if (names) {
        klr_free(names->start);
        klr_free(names->slot);
        klr_free(names->text);
    }
    return klr_free(names);
}

size_t klr_names_count(const struct klr_names *names)
{
    return names ? names->count : 0;
}

/* ---- Looking up ---- */

static size_t names_hash(const char *text, size_t length)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return (size_t)(hash ^ hash >> 32);
}

static bool names_is(const struct klr_names *names, size_t index,
                     const char *text, size_t length)
{
    const char *name = names->text + names->start[index];
    return strncmp(name, text, length) == 0 && !name[length];
}

/* The slot of the name, or the free one where it belongs. */
static size_t *names_slot(const struct klr_names *names, const char *text,
                          size_t length)
{
    size_t at = names_hash(text, length) & (names->slots - 1);
    while (names->slot[at] &&
           !names_is(names, names->slot[at] - 1, text, length))
        at = (at + 1) & (names->slots - 1);
    return &names->slot[at];
}

static bool names_find(const struct klr_names *names, const char *text,
                       size_t length, size_t *index)
{
    size_t slot = names->slots ? *names_slot(names, text, length) : 0;
    *index = slot - 1;
    return slot > 0;
}

/* ---- Adding ---- */

/* Twice as many slots, at least. */
static int names_spread(struct klr_names *names, struct klr_error *err)
{
    size_t slots = names->slots ? 2 * names->slots : 16;
    size_t *slot = klr_zalloc(slots, sizeof *slot, err);
    if (!slot)
        return KLR_E_MEMORY;
    klr_free(names->slot);
    names->slot = slot;
    names->slots = slots;
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->text + names->start[i];
        *names_slot(names, name, strlen(name)) = i + 1;
    }
    return 0;
}

static int names_append(struct klr_names *names, const char *text,
                        size_t length, struct klr_error *err)
{
    if (KLR_GROW(names->start, names->start_capacity, names->count + 1, err) ||
        KLR_GROW(names->text, names->text_capacity, names->length + length + 1,
                 err))
        return KLR_E_MEMORY;
    memcpy(names->text + names->length, text, length);
    names->text[names->length + length] = '\0';
    names->start[names->count++] = names->length;
    names->length += length + 1;
    return 0;
}

static int names_add(struct klr_names **at, const char *text, size_t length,
                     size_t *index, struct klr_error *err)
{
    struct klr_names *names = *at;
    if (!names && !(names = *at = klr_zalloc(1, sizeof *names, err)))
        return KLR_E_MEMORY;
    if (names_find(names, text, length, index))
        return 0;
    if ((2 * (names->count + 1) > names->slots && names_spread(names, err)) ||
        names_append(names, text, length, err))
        return KLR_E_MEMORY;
    *names_slot(names, text, length) = names->count;
    *index = names->count - 1;
    return 0;
}

static int names_copy(struct klr_names **out, const struct klr_names *names,
                      struct klr_error *err)
{
    size_t index;
    int code = 0;
    for (size_t i = 0; i < klr_names_count(names) && !code; i++) {
        const char *name = names->text + names->start[i];
        code = names_add(out, name, strlen(name), &index, err);
    }
    return code;
}

/* ---- Sorting ---- */

struct sorted_name {
    const char *text;
    size_t index;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct sorted_name *)a)->text,
                  ((const struct sorted_name *)b)->text);
}

static int names_sort(struct klr_names *names, size_t n, double *label,
                      struct klr_error *err)
{
    size_t count = names->count;
    struct sorted_name *sorted = klr_alloc(count, sizeof *sorted, err);
    size_t *rank = klr_alloc(count, sizeof *rank, err);
    int code = sorted && rank ? 0 : KLR_E_MEMORY;
    for (size_t i = 0; i < count && !code; i++)
        sorted[i] = (struct sorted_name){names->text + names->start[i], i};
    if (!code) {
        qsort(sorted, count, sizeof *sorted, compare_names);
        for (size_t i = 0; i < count; i++) {
            rank[sorted[i].index] = i;
            names->start[i] = (size_t)(sorted[i].text - names->text);
        }
        for (size_t s = 0; s < names->slots; s++)
            if (names->slot[s])
                names->slot[s] = rank[names->slot[s] - 1] + 1;
        for (size_t i = 0; i < n; i++)
            label[i] = (double)rank[(size_t)label[i]];
    }
    klr_free(sorted);
    klr_free(rank);
    return code;
}

/* ---- Names of features ---- */

const char *klr_names_text(const struct klr_names *names, size_t i)
{
    return names->text + names->start[i];
}

/* The name of a line, which may be none. */
static int names_take(struct klr_names **names, const struct klr_line *line,
                      struct klr_error *err)
{
    char quoted[KLR_QUOTED_SIZE];
    struct klr_line name = *line;
    size_t index, before = klr_names_count(*names);
    klr_line_trim(&name);
    long column = (long)(name.text - line->text) + 1;
    size_t length = (size_t)(name.end - name.text);
    if (!length)
        return 0;
    klr_quote_slice(quoted, name.text, name.end);
    if (!line_is_name(name.text, name.end) || memchr(name.text, ' ', length))
        return klr_fail_at(err, KLR_E_DATA, line->number, column,
                           "%s is not a name of a feature", quoted);
    int code = names_add(names, name.text, length, &index, err);
    if (!code && klr_names_count(*names) == before)
        code = klr_fail_at(err, KLR_E_DATA, line->number, column,
                           "name %s is repeated", quoted);
    return code;
}

int klr_names_read(struct klr_names **names, const char *path,
                   struct klr_error *err)
{
    struct klr_input *input;
    struct klr_line line;
    *names = NULL;
    int code = klr_input_open(&input, path, false, err), got = 0;
    while (!code && (got = klr_input_line(input, &line, err)) == 1)
        code = names_take(names, &line, err);
    if (!code && !got && !*names)
        code = klr_fail(err, KLR_E_DATA, "no names");
    klr_input_close(input);
    code = code ? code : -got;
    if (code)
        *names = klr_names_free(*names);
    return code;
}

/* ---- Labels ---- */

/* With an exponent a number was rounded before it was written. */
static bool label_is_told(const char *text, const char *end, double label)
{
    char exact[320]; /* the digits of DBL_MAX */
    size_t left = (size_t)(end - text);
    if (fabs(label) < 0x1p53 || memchr(text, 'e', left) ||
        memchr(text, 'E', left))
        return true;
    while (text < end && (*text == '+' || *text == '-' || *text == '0'))
        text++;
    size_t length = (size_t)snprintf(exact, sizeof exact, "%.0f", fabs(label));
    left = (size_t)(end - text);
    if (left < length || memcmp(text, exact, length) != 0)
        return false;
    for (text += length; text < end && (*text == '.' || *text == '0');)
        text++;
    return text == end;
}

static bool label_read(const struct klr_names *names, const char *text,
                       double *label)
{
    size_t index;
    if (!names)
        return klr_read_real(text, label) &&
               label_is_told(text, text + strlen(text), *label);
    bool known = names_find(names, text, strlen(text), &index);
    *label = known ? (double)index : -1;
    return known;
}

const char *klr_label_text(const struct klr_names *names, double label,
                           char number[KLR_REAL_SIZE])
{
    if (names)
        return klr_names_text(names, (size_t)label);
    klr_format_real(number, label);
    return number;
}
