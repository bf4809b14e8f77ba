/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file with a value for each example, a line each (docs/FORMAT.md, section
 * 4): folds, weights; or as many as there are: points. Blanks around the value,
 * blank lines, and comments from # on are passed over.
 */
#include "cli/cli.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/files/input.h"
#include "base/memory.h"

/* The value of a line, which may be none. */
static int take_line(struct cli_values *values, const struct klr_line *line,
                     size_t *capacity, struct klr_error *err)
{
    char quoted[KLR_QUOTED_SIZE];
    struct klr_line value = *line;
    const char *mark =
        memchr(line->text, '#', (size_t)(line->end - line->text));
    value.end = mark ? mark : line->end;
    klr_line_trim(&value);
    if (value.text == value.end)
        return 0;
    if (klr_grow(&values->value, capacity, values->n + 1, values->size, err))
        return KLR_E_MEMORY;
    char *next = (char *)values->value + values->n * values->size;
    if (values->parse(value.text, value.end, next) != value.end)
        return klr_fail_at(err, KLR_E_DATA, line->number,
                           (long)(value.text - line->text) + 1, "%s is not %s",
                           klr_quote_slice(quoted, value.text, value.end),
                           values->what);
    values->n++;
    return 0;
}

int cli_values_read(struct cli_values *values, const char *path,
                    struct klr_error *err)
{
    struct klr_input *input;
    struct klr_line line;
    size_t capacity = 0;
    int code = klr_input_open(&input, path, false, err), got = 0;
    while (!code && (got = klr_input_line(input, &line, err)) == 1)
        code = take_line(values, &line, &capacity, err);
    klr_input_close(input);
    return code ? code : -got;
}

/* ---- Weights ---- */

static const char *parse_weight(const char *text, const char *end, void *value)
{
    double *weight = value;
    const char *next = klr_parse_real(text, end, weight);
    return next && *weight > 0 && isfinite(*weight) ? next : NULL;
}

int cli_weights_read(struct cli_values *weights, const char *path,
                     struct klr_error *err)
{
    *weights = (struct cli_values){.size = sizeof(double),
                                   .what = "a number above 0",
                                   .parse = parse_weight};
    return cli_values_read(weights, path, err);
}

/* ---- Points ---- */

/* Rows are counted from 1 in files. */
static const char *parse_point(const char *text, const char *end, void *value)
{
    long long row;
    const char *next = klr_parse_integer(text, end, &row);
    if (!next || row < 1 || row > INT32_MAX)
        return NULL;
    *(size_t *)value = (size_t)row - 1;
    return next;
}

int cli_points_read(struct cli_values *points, const char *path,
                    struct klr_error *err)
{
    *points = (struct cli_values){.size = sizeof(size_t),
                                  .what = "the number of a row, from 1",
                                  .parse = parse_point};
    int code = cli_values_read(points, path, err);
    return code || points->n > 0
               ? code
               : klr_fail(err, KLR_E_DATA, "there are no rows in it");
}
