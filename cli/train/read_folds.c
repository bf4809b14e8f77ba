/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Folds from a file: a whole number for each example, a line each
 * (docs/FORMAT.md, section 4). Different numbers are different folds; in the
 * order of the numbers they are folds 0, 1, 2 ...
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { FOLD_DIGITS = 18 }; /* so many fit a long long */

static const char *parse_fold(const char *text, const char *end, void *value)
{
    return end - text > FOLD_DIGITS ? NULL
                                    : klr_parse_integer(text, end, value);
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
    for (size_t i = 0; i < n; i++)
        folds->name[i] = folds->number[i];
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
    struct cli_values values = {.size = sizeof *folds->number,
                                .what = "a whole number of a fold",
                                .parse = parse_fold};
    *folds = (struct cli_folds){0};
    int code = cli_values_read(&values, path, err);
    folds->number = values.value;
    folds->n = values.n;
    return code ? code : rank(folds, err);
}

void cli_folds_free(struct cli_folds *folds)
{
    klr_free(folds->number);
    klr_free(folds->name);
    klr_free(folds->fold);
}
