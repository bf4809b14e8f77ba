/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Folds from a file: a whole number for each example, a line each
 * (docs/FORMAT.md, section 4). Different numbers are different folds; in the
 * order of the numbers they are folds 0, 1, 2 ...
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "base/memory.h"

enum { FOLD_DIGITS = 18 }; /* so many fit a long long */

static int refuse(const struct klr_line *line, const char *text,
                  const char *end, struct klr_error *err)
{
    char quoted[KLR_QUOTED_SIZE];
    klr_quote_slice(quoted, text, end);
    return klr_fail_at(err, KLR_E_DATA, line->number,
                       (long)(text - line->text) + 1,
                       "%s is not a whole number of a fold", quoted);
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

/* 1 and the number of the line, 0 if there is none, or minus a code. */
static int parse(const struct klr_line *line, long long *number,
                 struct klr_error *err)
{
    const char *end = memchr(line->text, '#', (size_t)(line->end - line->text));
    end = end ? end : line->end;
    const char *text = skip_blanks(line->text, end);
    if (text == end)
        return 0;
    const char *next = klr_parse_integer(text, end, number);
    if (!next || skip_blanks(next, end) != end || next - text > FOLD_DIGITS)
        return -refuse(line, text, end, err);
    return 1;
}

static int read_numbers(struct cli_folds *folds, struct klr_input *input,
                        struct klr_error *err)
{
    struct klr_line line;
    size_t capacity = 0;
    long long number;
    int got;
    while ((got = klr_input_line(input, &line, err)) == 1) {
        got = parse(&line, &number, err);
        if (got < 0)
            return -got;
        if (!got)
            continue;
        long long *grown = klr_grow(folds->number, &capacity, folds->n + 1,
                                    sizeof *grown, err);
        if (!grown)
            return KLR_E_MEMORY;
        folds->number = grown;
        grown[folds->n++] = number;
    }
    return -got;
}

static int compare(const void *a, const void *b)
{
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

/* Distinct numbers ascending, and which of them each example has. */
static int rank(struct cli_folds *folds, struct klr_error *err)
{
    size_t n = folds->n;
    if (!(folds->name = klr_alloc(n, sizeof *folds->name, err)) ||
        !(folds->fold = klr_alloc(n, sizeof *folds->fold, err)))
        return KLR_E_MEMORY;
    memcpy(folds->name, folds->number, n * sizeof *folds->name);
    qsort(folds->name, n, sizeof *folds->name, compare);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || folds->name[i] != folds->name[folds->count - 1])
            folds->name[folds->count++] = folds->name[i];
    for (size_t i = 0; i < n; i++) {
        const long long *found = bsearch(&folds->number[i], folds->name,
                                         folds->count, sizeof *found, compare);
        folds->fold[i] = (size_t)(found - folds->name);
    }
    if (folds->count < 2)
        return klr_fail(err, KLR_E_DATA, "two folds are needed, not %zu",
                        folds->count);
    return 0;
}

int cli_folds_read(struct cli_folds *folds, const char *path,
                   struct klr_error *err)
{
    struct klr_input *input;
    *folds = (struct cli_folds){0};
    int code = klr_input_open(&input, path, false, err);
    if (!code)
        code = read_numbers(folds, input, err);
    klr_input_close(input);
    return code ? code : rank(folds, err);
}

void cli_folds_free(struct cli_folds *folds)
{
    klr_free(folds->number);
    klr_free(folds->name);
    klr_free(folds->fold);
}
