/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Range files, svm-scale's and our own: docs/FORMAT.md, section 3.
 */
#include "cli/scale/scale_run.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/files/input.h"
#include "base/numbers.h"

void cli_ranges_write(const struct cli_scaling *scaling, struct klr_output *out)
{
    const struct klr_scaling *features = &scaling->features;
    const struct klr_limits *y = &scaling->y;
    if (scaling->has_y)
        klr_putf(out, "y\n%.17g %.17g\n%.17g %.17g\n", y->lower, y->upper,
                 y->min, y->max);
    if (features->standardize)
        klr_puts(out, "z\n");
    else
        klr_putf(out, "x\n%.17g %.17g\n", features->lower, features->upper);
    for (size_t i = 0; i < features->columns; i++)
        klr_putf(out, "%d %.17g %.17g\n", features->column[i].index,
                 features->column[i].from, features->column[i].to);
}

struct ranges {
    struct klr_input *input;
    struct klr_line line;
    struct klr_error *err;
};

static int ranges_fail(const struct ranges *in, const char *problem)
{
    return klr_fail_at(in->err, KLR_E_DATA, in->line.number, 0, "%s", problem);
}

/* The next line that is not blank, without blanks around it: 1, 0 or minus a
 * code. Numbers of a line without an end may have lost digits. */
static int ranges_line(struct ranges *in)
{
    const char *begin;
    do {
        int got = klr_input_line(in->input, &in->line, in->err);
        if (got != 1)
            return got;
        begin = in->line.text;
        klr_line_trim(&in->line);
    } while (in->line.text == in->line.end);
    if (in->line.whole)
        return 1;
    return -klr_fail_at(in->err, KLR_E_DATA, in->line.number,
                        (long)(in->line.end - begin) + 1,
                        "the file ends within a line: it may be truncated");
}

/* The line consists of `count` finite numbers. */
static bool ranges_numbers(const struct ranges *in, int count, double *number)
{
    const char *p = in->line.text, *end = in->line.end;
    for (int i = 0; i < count; i++) {
        p = klr_parse_real(p, end, &number[i]);
        if (!p || !isfinite(number[i]) || (p < end && !klr_is_blank(*p)))
            return false;
        p = klr_skip_blanks(p, end);
    }
    return p == end;
}

/* The letter of a section, one of those wanted; 0 with *err at another line, or
 * at the end. */
static char ranges_letter(struct ranges *in, const char *wanted)
{
    int got = ranges_line(in);
    if (got == 1 && in->line.end - in->line.text == 1 &&
        memchr(wanted, *in->line.text, strlen(wanted)))
        return *in->line.text;
    if (got == 0)
        ranges_fail(in, "the file ends before the section x or z");
    if (got == 1)
        ranges_fail(in, "not a section: y, x or z");
    return 0;
}

/* A line with two numbers, `what`. */
static int ranges_pair(struct ranges *in, const char *what, double *low,
                       double *high)
{
    double number[2];
    char problem[80];
    int got = ranges_line(in);
    if (got < 0)
        return -got;
    if (got == 1 && ranges_numbers(in, 2, number)) {
        *low = number[0];
        *high = number[1];
        return 0;
    }
    snprintf(problem, sizeof problem, "two numbers expected: %s", what);
    return ranges_fail(in, problem);
}

/* Lower and upper limit, in this order. */
static int ranges_limits(struct ranges *in, double *lower, double *upper)
{
    int code = ranges_pair(in, "lower and upper limit", lower, upper);
    if (!code && !(*lower < *upper))
        code = ranges_fail(in, "the lower limit is not below the upper one");
    return code;
}

static int ranges_y(struct ranges *in, struct cli_scaling *scaling)
{
    struct klr_limits *y = &scaling->y;
    int code = ranges_limits(in, &y->lower, &y->upper);
    if (!code)
        code = ranges_pair(in, "least and largest label", &y->min, &y->max);
    if (!code && y->min > y->max)
        code = ranges_fail(in, "the least label is above the largest");
    scaling->has_y = true;
    return code;
}

/* A line "index min max" or "index mean deviation". */
static int ranges_feature(struct ranges *in, struct klr_scaling *scaling)
{
    double number[3];
    if (!ranges_numbers(in, 3, number))
        return ranges_fail(in, "three numbers expected: a feature's index and "
                               "its range");
    if (number[0] < 0 || number[0] > INT_MAX || number[0] != floor(number[0]))
        return ranges_fail(in, "the index is not a whole number from 0 to "
                               "2147483647");
    int index = (int)number[0];
    if (scaling->columns &&
        index <= scaling->column[scaling->columns - 1].index)
        return ranges_fail(in, "indices must ascend");
    if (scaling->standardize ? number[2] <= 0 : number[1] > number[2])
        return ranges_fail(in, scaling->standardize
                                   ? "the deviation is not above 0"
                                   : "the minimum is above the maximum");
    struct klr_scaling_feature *feature =
        klr_scaling_feature(scaling, index, in->err);
    if (!feature)
        return KLR_E_MEMORY;
    feature->known = true;
    if (!scaling->standardize && number[1] == number[2])
        return 0; /* it never changed: not written */
    return klr_scaling_add(scaling, index, number[1], number[2], in->err);
}

static int ranges_sections(struct ranges *in, struct cli_scaling *scaling)
{
    struct klr_scaling *features = &scaling->features;
    int code = 0, got;
    char letter = ranges_letter(in, "yxz");
    if (letter == 'y') {
        code = ranges_y(in, scaling);
        if (code)
            return code;
        letter = ranges_letter(in, "xz");
    }
    if (!letter)
        return in->err->code;
    features->standardize = letter == 'z';
    if (letter == 'x')
        code = ranges_limits(in, &features->lower, &features->upper);
    while (!code && (got = ranges_line(in)) != 0)
        code = got < 0 ? -got : ranges_feature(in, features);
    return code;
}

int cli_ranges_restore(struct cli_scaling *scaling, const char *path,
                       struct klr_error *err)
{
    struct klr_error unheard = {0};
    struct ranges in = {.err = err ? err : &unheard};
    int code = klr_input_open(&in.input, path, false, in.err);
    if (!code)
        code = ranges_sections(&in, scaling);
    klr_input_close(in.input);
    return code;
}
