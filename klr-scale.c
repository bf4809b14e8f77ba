/* SPDX-License-Identifier: BSD-3-Clause
 *
 * klr-scale: map every feature linearly to common limits, or to zero mean and
 * unit deviation. Files and output are svm-scale's, byte for byte; range files
 * are described in docs/FORMAT.md, section 3.
 *
 * Two passes over the data, the first one replaced by a range file with -r.
 * Memory is that of the features, whatever the length of the file. A feature
 * that a row lacks is 0; one that never changes is left out.
 */
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "cli/cli.h"
#include "solver.h"

struct scale_options {
    double lower, upper; /* NaN: not given */
    const char *save, *restore;
    int standardize, exact, unlabelled;
};

/* From [min, max] to [lower, upper]. */
struct limits {
    double lower, upper, min, max;
};

/* What is seen of a feature. */
struct feature {
    bool known;             /* by the first pass or the range file */
    size_t count;           /* rows that have it */
    double min, max;        /* over those rows */
    double mean, deviation; /* deviation: sum of squares until all is seen */
    size_t column;          /* its place from 1; 0: it is not written */
};

/* Features by index: pages that exist where an index was seen. */
enum { PAGE = 1024 };
struct table {
    struct feature **page;
    size_t pages, capacity;
};

/* A feature that is written. */
struct column {
    int index;
    double from, to; /* min and max, or mean and deviation */
    char name[16];   /* "index:" */
    size_t length;
    size_t zero;     /* where what is written for 0 begins in `zeros` */
    size_t nonzeros; /* columns before this one that write something for 0 */
};

/* A label and how it is written; few labels come again and again. */
struct label_text {
    double label;
    int length;
    char text[KLR_REAL_SIZE];
};
enum { LABELS = 64 };

struct scale {
    struct scale_options options;
    const char *data; /* the data set */
    const char *file; /* which an error is about; NULL: the command line */
    double label_limit[2];
    int label_limits;    /* values of -y so far */
    bool standardize;    /* by the option or by the range file */
    double lower, upper; /* of the features */
    bool has_y;
    struct limits y;
    size_t rows;
    struct table table;
    struct column *column; /* (columns + 1), ascending; the last is an end */
    size_t columns, columns_capacity;
    char *zeros; /* what is written for 0, column after column */
    size_t zeros_length, zeros_capacity;
    struct label_text label[LABELS];
    size_t nonzeros_read, nonzeros_written;
    bool has_qid;
};

static const struct klr_option scale_table[] = {
    {.type = KLR_REAL,
     .letter = 'l',
     .name = "lower",
     .argument = "LOWER",
     .offset = offsetof(struct scale_options, lower),
     .preset = NAN,
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .group = "Scaling",
     .help = "lower limit of the features (default -1)"},
    {.type = KLR_REAL,
     .letter = 'u',
     .name = "upper",
     .argument = "UPPER",
     .offset = offsetof(struct scale_options, upper),
     .preset = NAN,
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .help = "upper limit of the features (default 1)"},
    {.type = KLR_REPEATED,
     .letter = 'y',
     .name = "labels",
     .argument = "LOWER UPPER",
     .values = 2,
     .help = "limits of the labels (default: labels stay)"},
    {.type = KLR_FLAG,
     .name = "standardize",
     .offset = offsetof(struct scale_options, standardize),
     .help = "to zero mean and unit deviation instead of limits"},
    {.type = KLR_STRING,
     .letter = 's',
     .name = "save",
     .argument = "FILE",
     .offset = offsetof(struct scale_options, save),
     .group = "Range files",
     .help = "write the ranges of features and labels to FILE"},
    {.type = KLR_STRING,
     .letter = 'r',
     .name = "restore",
     .argument = "FILE",
     .offset = offsetof(struct scale_options, restore),
     .help = "scale as FILE says, in one pass"},
    {.type = KLR_FLAG,
     .name = "exact",
     .offset = offsetof(struct scale_options, exact),
     .group = "Files",
     .help = "all digits that tell numbers apart (default: six)"},
    {.type = KLR_FLAG,
     .name = "unlabelled",
     .offset = offsetof(struct scale_options, unlabelled),
     .help = "rows may lack the label"},
    {.name = NULL},
};

static const char scale_examples[] =
    "Examples\n"
    "  klr-scale -s ranges train > train.scaled\n"
    "  klr-scale -r ranges test > test.scaled    as the training set\n"
    "  klr-scale -l 0 counts > counts.scaled     zeros stay zeros\n";

/* ---- Features by index ---- */

static struct feature *table_find(const struct table *table, int index)
{
    size_t page = (size_t)index / PAGE;
    if (page >= table->pages || !table->page[page])
        return NULL;
    return &table->page[page][index % PAGE];
}

/* The feature, which is created where it is new; NULL without memory. */
static struct feature *table_add(struct table *table, int index,
                                 struct klr_error *err)
{
    size_t page = (size_t)index / PAGE;
    if (page >= table->pages) {
        struct feature **grown = klr_grow(table->page, &table->capacity,
                                          page + 1, sizeof *grown, err);
        if (!grown)
            return NULL;
        table->page = grown;
        while (table->pages <= page)
            table->page[table->pages++] = NULL;
    }
    if (!table->page[page])
        table->page[page] = klr_zalloc(PAGE, sizeof(struct feature), err);
    return table->page[page] ? table_find(table, index) : NULL;
}

static void table_free(struct table *table)
{
    for (size_t i = 0; i < table->pages; i++)
        klr_free(table->page[i]);
    klr_free(table->page);
}

/* ---- The first pass ---- */

/* One more value; mean and sum of squares after Welford (1962). */
static void learn_value(struct feature *feature, double value, bool moments)
{
    if (feature->count++ == 0) {
        feature->min = feature->max = value;
    } else {
        feature->min = value < feature->min ? value : feature->min;
        feature->max = value > feature->max ? value : feature->max;
    }
    if (moments) {
        double distance = value - feature->mean;
        feature->mean += distance / (double)feature->count;
        feature->deviation += distance * (value - feature->mean);
    }
}

static int learn_row(struct scale *scale, const struct klr_row *row,
                     struct klr_error *err)
{
    bool moments = scale->standardize;
    for (size_t i = 0; i < row->count; i++) {
        struct feature *feature = table_find(&scale->table, row->index[i]);
        if (!feature)
            feature = table_add(&scale->table, row->index[i], err);
        if (!feature)
            return KLR_E_MEMORY;
        learn_value(feature, row->value[i], moments);
    }
    if (row->has_label) {
        scale->y.min = fmin(scale->y.min, row->label);
        scale->y.max = fmax(scale->y.max, row->label);
    }
    scale->rows++;
    return 0;
}

/* The rows that lack a feature have a 0: `rows` values in all. */
static void learn_zeros(struct feature *feature, size_t rows)
{
    double n = (double)rows, count = (double)feature->count;
    if (feature->count < rows) {
        feature->min = fmin(feature->min, 0);
        feature->max = fmax(feature->max, 0);
        feature->deviation +=
            feature->mean * feature->mean * count * (n - count) / n;
        feature->mean *= count / n;
    }
    feature->deviation = sqrt(feature->deviation / n);
}

/* A feature to be written, behind those so far. */
static int add_column(struct scale *scale, int index, double from, double to,
                      struct klr_error *err)
{
    struct column *grown = klr_grow(scale->column, &scale->columns_capacity,
                                    scale->columns + 2, sizeof *grown, err);
    if (!grown)
        return KLR_E_MEMORY;
    scale->column = grown;
    struct column *column = &scale->column[scale->columns++];
    *column = (struct column){.index = index, .from = from, .to = to};
    column->length = (size_t)sprintf(column->name, "%d:", index);
    table_find(&scale->table, index)->column = scale->columns;
    return 0;
}

/* Columns of the features that were seen to change. */
static int learn_columns(struct scale *scale, struct klr_error *err)
{
    int code = 0;
    for (size_t i = 0; i < scale->table.pages && !code; i++)
        for (int j = 0; scale->table.page[i] && j < PAGE && !code; j++) {
            struct feature *f = &scale->table.page[i][j];
            if (f->count == 0)
                continue;
            f->known = true;
            learn_zeros(f, scale->rows);
            if (f->min < f->max && !scale->standardize)
                code =
                    add_column(scale, (int)i * PAGE + j, f->min, f->max, err);
            else if (f->min < f->max && f->deviation > 0)
                code = add_column(scale, (int)i * PAGE + j, f->mean,
                                  f->deviation, err);
        }
    return code;
}

static int learn(struct scale *scale, struct klr_reader *reader,
                 struct klr_error *err)
{
    struct klr_row row;
    int got, code;
    scale->y.min = HUGE_VAL;
    scale->y.max = -HUGE_VAL;
    while ((got = klr_reader_next(reader, &row, err)) == 1) {
        code = learn_row(scale, &row, err);
        if (code)
            return code;
    }
    if (got < 0)
        return -got;
    if (scale->rows == 0)
        return klr_fail(err, KLR_E_DATA, "no examples");
    if (scale->has_y && scale->y.min > scale->y.max)
        return klr_fail(err, KLR_E_DATA, "no labels to scale");
    code = learn_columns(scale, err);
    return code ? code : klr_input_rewind(klr_reader_input(reader), err);
}

/* ---- Range files: docs/FORMAT.md, section 3 ---- */

static int ranges_save(const struct scale *scale, struct klr_error *err)
{
    struct klr_output *out;
    int code = klr_output_open(&out, scale->options.save, err);
    if (code)
        return code;
    if (scale->has_y)
        klr_putf(out, "y\n%.17g %.17g\n%.17g %.17g\n", scale->y.lower,
                 scale->y.upper, scale->y.min, scale->y.max);
    if (scale->standardize)
        klr_puts(out, "z\n");
    else
        klr_putf(out, "x\n%.17g %.17g\n", scale->lower, scale->upper);
    for (size_t i = 0; i < scale->columns; i++)
        klr_putf(out, "%d %.17g %.17g\n", scale->column[i].index,
                 scale->column[i].from, scale->column[i].to);
    return klr_output_commit(out, err);
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

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The next line that is not blank, without blanks around it: 1, 0 or minus a
 * code. */
static int ranges_line(struct ranges *in)
{
    int got;
    do {
        got = klr_input_line(in->input, &in->line, in->err);
        if (got != 1)
            return got;
        while (in->line.text < in->line.end && is_blank(*in->line.text))
            in->line.text++;
        while (in->line.text < in->line.end && is_blank(in->line.end[-1]))
            in->line.end--;
    } while (in->line.text == in->line.end);
    return 1;
}

/* The line consists of `count` finite numbers. */
static bool ranges_numbers(const struct ranges *in, int count, double *number)
{
    const char *p = in->line.text, *end = in->line.end;
    for (int i = 0; i < count; i++) {
        p = klr_parse_real(p, end, &number[i]);
        if (!p || !isfinite(number[i]) || (p < end && !is_blank(*p)))
            return false;
        while (p < end && is_blank(*p))
            p++;
    }
    return p == end;
}

/* The letter of a section; 0 with *err at another line, or at the end. */
static char ranges_letter(struct ranges *in)
{
    int got = ranges_line(in);
    if (got == 1 && in->line.end - in->line.text == 1)
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

static int ranges_y(struct ranges *in, struct scale *scale)
{
    struct limits *y = &scale->y;
    int code = ranges_limits(in, &y->lower, &y->upper);
    if (!code)
        code = ranges_pair(in, "least and largest label", &y->min, &y->max);
    if (!code && y->min > y->max)
        code = ranges_fail(in, "the least label is above the largest");
    scale->has_y = true;
    return code;
}

/* A line "index min max" or "index mean deviation". */
static int ranges_feature(struct ranges *in, struct scale *scale)
{
    double number[3];
    if (!ranges_numbers(in, 3, number))
        return ranges_fail(in, "three numbers expected: a feature's index and "
                               "its range");
    if (number[0] < 1 || number[0] > INT_MAX || number[0] != floor(number[0]))
        return ranges_fail(in, "the index is not a whole number from 1 to "
                               "2147483647");
    int index = (int)number[0];
    if (scale->columns && index <= scale->column[scale->columns - 1].index)
        return ranges_fail(in, "indices must ascend");
    if (scale->standardize ? number[2] <= 0 : number[1] > number[2])
        return ranges_fail(in, scale->standardize
                                   ? "the deviation is not above 0"
                                   : "the minimum is above the maximum");
    struct feature *feature = table_add(&scale->table, index, in->err);
    if (!feature)
        return KLR_E_MEMORY;
    feature->known = true;
    if (!scale->standardize && number[1] == number[2])
        return 0; /* it never changed: not written */
    return add_column(scale, index, number[1], number[2], in->err);
}

static int ranges_sections(struct ranges *in, struct scale *scale)
{
    int code = 0, got;
    char letter = ranges_letter(in);
    if (letter == 'y') {
        code = ranges_y(in, scale);
        if (code)
            return code;
        letter = ranges_letter(in);
    }
    if (letter != 'x' && letter != 'z')
        return letter ? ranges_fail(in, "not a section: y, x or z")
                      : in->err->code;
    scale->standardize = letter == 'z';
    if (letter == 'x')
        code = ranges_limits(in, &scale->lower, &scale->upper);
    while (!code && (got = ranges_line(in)) != 0)
        code = got < 0 ? -got : ranges_feature(in, scale);
    return code;
}

static int ranges_restore(struct scale *scale, struct klr_error *err)
{
    struct ranges in = {.err = err};
    int code = klr_input_open(&in.input, scale->options.restore, false, err);
    if (!code)
        code = ranges_sections(&in, scale);
    klr_input_close(in.input);
    return code;
}

/* ---- Numbers as text ---- */

/* Six digits d.ddddd 10^exponent, -4 <= exponent <= 5, with a point among them
 * or before them and without zeros at their end. */
static int put_digits(char *text, bool negative, unsigned six, int exponent)
{
    char digit[6], *p = text;
    int count = 6, point = exponent + 1; /* digits before the point */
    for (int i = 5; i >= 0; i--, six /= 10)
        digit[i] = (char)('0' + six % 10);
    while (digit[count - 1] == '0')
        count--;
    if (negative)
        *p++ = '-';
    if (point <= 0) {
        memcpy(p, "0.000", 5);
        p += 2 - point;
    }
    for (int i = 0; i < count || i < point; i++) {
        if (i == point && i > 0)
            *p++ = '.';
        *p++ = digit[i];
    }
    return (int)(p - text);
}

/* What "%g" prints, by construction: v 10^k is rounded to six digits. The
 * rounded product lies on the same side of a tie as the exact one, or on the
 * tie; then its rounding error, which fma gives exactly, decides. */
static int format_six(char text[KLR_REAL_SIZE], double v)
{
    static const double power[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e0,
                                   1e1,  1e2,  1e3,  1e4,  1e5};
    static const double scale[] = {1e9, 1e8, 1e7, 1e6, 1e5,
                                   1e4, 1e3, 1e2, 1e1, 1e0};
    double a = fabs(v);
    if (!(a >= 1e-4 && a < 999999.5))
        return snprintf(text, KLR_REAL_SIZE, "%g", v);
    int e = 3; /* power[e] <= a */
    while (e > 0 && a < power[e])
        e--;
    while (e < 9 && a >= power[e + 1])
        e++;
    double product = a * scale[e];
    unsigned six = (unsigned)product;
    double rest = product - six;
    if (rest == 0.5) {
        double error = fma(a, scale[e], -product);
        six += error > 0 || (error == 0 && six % 2);
    } else {
        six += rest > 0.5;
    }
    if (six == 1000000) {
        six = 100000;
        e++;
    }
    return put_digits(text, v < 0, six, e - 4);
}

static int format_feature(const struct scale *scale, char text[KLR_REAL_SIZE],
                          double v)
{
    return scale->options.exact ? klr_format_real(text, v)
                                : format_six(text, v);
}

/* "%.17g", as svm-scale writes labels. */
static const struct label_text *format_label(struct scale *scale, double label)
{
    uint64_t bits;
    memcpy(&bits, &label, sizeof bits);
    struct label_text *text =
        &scale->label[(bits * 0x9E3779B97F4A7C15) >> 58]; /* of 64 */
    if (text->length == 0 || memcmp(&text->label, &label, sizeof label) != 0) {
        text->label = label;
        text->length =
            scale->options.exact
                ? klr_format_real(text->text, label)
                : snprintf(text->text, sizeof text->text, "%.17g", label);
    }
    return text;
}

/* ---- The second pass ---- */

/* In the order of svm-scale's operations; halved where they overflow. */
static double map_limits(struct limits to, double v)
{
    if (v == to.min)
        return to.lower;
    if (v == to.max)
        return to.upper;
    double mapped =
        to.lower + (to.upper - to.lower) * (v - to.min) / (to.max - to.min);
    if (!isfinite(mapped)) {
        double part = (v / 2 - to.min / 2) / (to.max / 2 - to.min / 2);
        mapped = to.lower * (1 - part) + to.upper * part;
    }
    return mapped;
}

static double map_feature(const struct scale *scale,
                          const struct column *column, double v)
{
    struct limits to = {scale->lower, scale->upper, column->from, column->to};
    return scale->standardize ? (v - column->from) / column->to
                              : map_limits(to, v);
}

/* Write down for every column what stands for a 0. */
static int prepare_zeros(struct scale *scale, struct klr_error *err)
{
    char text[KLR_REAL_SIZE];
    size_t nonzeros = 0;
    for (size_t i = 0; i < scale->columns; i++) {
        struct column *column = &scale->column[i];
        double zero = map_feature(scale, column, 0);
        column->zero = scale->zeros_length;
        column->nonzeros = nonzeros;
        if (zero == 0)
            continue;
        int length = format_feature(scale, text, zero);
        size_t need = column->zero + column->length + (size_t)length + 1;
        char *zeros =
            klr_grow(scale->zeros, &scale->zeros_capacity, need, 1, err);
        if (!zeros)
            return KLR_E_MEMORY;
        scale->zeros = zeros;
        memcpy(zeros + column->zero, column->name, column->length);
        memcpy(zeros + column->zero + column->length, text, (size_t)length);
        zeros[need - 1] = ' ';
        scale->zeros_length = need;
        nonzeros++;
    }
    if (scale->columns > 0) {
        scale->column[scale->columns].zero = scale->zeros_length;
        scale->column[scale->columns].nonzeros = nonzeros;
    }
    return 0;
}

/* Columns begin <= i < end, which the row lacks. */
static void put_zeros(struct scale *scale, struct klr_output *out, size_t begin,
                      size_t end)
{
    if (begin == end)
        return;
    const struct column *from = &scale->column[begin];
    const struct column *to = &scale->column[end];
    klr_put(out, scale->zeros + from->zero, to->zero - from->zero);
    scale->nonzeros_written += to->nonzeros - from->nonzeros;
}

static int put_feature(struct scale *scale, struct klr_output *out,
                       const struct column *column, double v, long line,
                       struct klr_error *err)
{
    char text[sizeof column->name + KLR_REAL_SIZE];
    double mapped = map_feature(scale, column, v);
    if (mapped == 0)
        return 0;
    if (!isfinite(mapped))
        return klr_fail_at(err, KLR_E_DATA, line, 0,
                           "feature %d: the value %g is scaled out of range",
                           column->index, v);
    memcpy(text, column->name, sizeof column->name);
    size_t length = column->length;
    length += (size_t)format_feature(scale, text + length, mapped);
    text[length++] = ' ';
    klr_put(out, text, length);
    scale->nonzeros_written++;
    return 0;
}

/* The place of a feature from 1, or 0: it is not written. One that the range
 * file lacks is watched: whether it changes. */
static int find_column(struct scale *scale, int index, double v, size_t *place,
                       struct klr_error *err)
{
    struct feature *feature = table_find(&scale->table, index);
    if (!feature)
        feature = table_add(&scale->table, index, err);
    if (!feature)
        return KLR_E_MEMORY;
    if (!feature->known)
        learn_value(feature, v, false);
    *place = feature->column;
    return 0;
}

static int put_features(struct scale *scale, struct klr_output *out,
                        const struct klr_row *row, struct klr_error *err)
{
    size_t next = 0; /* column */
    for (size_t i = 0; i < row->count; i++) {
        size_t place;
        double v = row->value[i];
        int code = find_column(scale, row->index[i], v, &place, err);
        if (!code && place > 0) {
            const struct column *column = &scale->column[place - 1];
            put_zeros(scale, out, next, place - 1);
            code = put_feature(scale, out, column, v, row->line.number, err);
            next = place;
        }
        if (code)
            return code;
    }
    put_zeros(scale, out, next, scale->columns);
    scale->nonzeros_read += row->count;
    return 0;
}

static int put_row(struct scale *scale, struct klr_output *out,
                   const struct klr_row *row, struct klr_error *err)
{
    if (row->has_label) {
        double label =
            scale->has_y ? map_limits(scale->y, row->label) : row->label;
        const struct label_text *text = format_label(scale, label);
        klr_put(out, text->text, (size_t)text->length);
        klr_put(out, " ", 1);
    }
    scale->has_qid |= row->has_qid;
    int code = put_features(scale, out, row, err);
    klr_put(out, "\n", 1);
    return code;
}

/* All rows; what is written leaves before waiting for more to read. */
static int put_rows(struct scale *scale, struct klr_reader *reader,
                    struct klr_output *out, struct klr_error *err)
{
    struct klr_row row;
    size_t rows = 0;
    int got;
    scale->file = scale->data;
    while ((got = klr_reader_next(reader, &row, err)) == 1) {
        int code = put_row(scale, out, &row, err);
        if (code)
            return code;
        if (klr_reader_would_block(reader) && klr_output_flush(out, err))
            return scale->file = "stdout", KLR_E_IO;
        rows++;
    }
    scale->rows = rows;
    if (got == 0 && rows == 0)
        return klr_fail(err, KLR_E_DATA, "no examples");
    return -got;
}

/* ---- The program ---- */

/* -y LOWER UPPER, one after the other. */
static int take_label_limit(const char *name, const char *value, void *context,
                            struct klr_error *err)
{
    struct scale *scale = context;
    char quoted[KLR_QUOTED_SIZE];
    double *limit = &scale->label_limit[scale->label_limits % 2];
    if (!klr_read_real(value, limit))
        return klr_fail(err, KLR_E_USAGE, "option -%s: %s is not a number",
                        name, klr_quote(quoted, value));
    scale->label_limits++;
    return 0;
}

static int refuse_pair(const char *option, const char *other,
                       struct klr_error *err)
{
    return klr_fail(err, KLR_E_USAGE, "options %s and %s exclude each other",
                    option, other);
}

static int check_exclusions(const struct scale *scale, struct klr_error *err)
{
    const struct scale_options *options = &scale->options;
    bool lower = !isnan(options->lower), upper = !isnan(options->upper);
    const char *rest = options->restore       ? "-r"
                       : options->standardize ? "--standardize"
                                              : NULL;
    if (rest && (lower || upper))
        return refuse_pair(rest, lower ? "-l" : "-u", err);
    if (options->restore && scale->label_limits)
        return refuse_pair("-r", "-y", err);
    if (options->restore && options->save)
        return refuse_pair("-r", "-s", err);
    if (options->restore && options->standardize)
        return refuse_pair("-r", "--standardize", err);
    if (options->save && strcmp(options->save, "-") == 0)
        return klr_fail(err, KLR_E_USAGE,
                        "the ranges (-s) cannot go to stdout");
    return 0;
}

static int check_limits(const char *option, double lower, double upper,
                        struct klr_error *err)
{
    if (lower < upper)
        return 0;
    return klr_fail(err, KLR_E_USAGE,
                    "%s: the lower limit %g is not below the upper limit %g",
                    option, lower, upper);
}

/* svm-scale keeps the limits of its command line in single precision, which
 * shows in its files: 0.9 is 0.89999997615814209. So it is here, but for
 * --exact. */
static double settle_limit(const struct scale *scale, double limit)
{
    float single = (float)limit;
    return scale->options.exact || !isfinite(single) ? limit : single;
}

static int settle_options(struct scale *scale, struct klr_error *err)
{
    const struct scale_options *options = &scale->options;
    int code = check_exclusions(scale, err);
    scale->lower =
        isnan(options->lower) ? -1 : settle_limit(scale, options->lower);
    scale->upper =
        isnan(options->upper) ? 1 : settle_limit(scale, options->upper);
    scale->standardize = options->standardize;
    scale->has_y = scale->label_limits > 0;
    scale->y.lower = settle_limit(scale, scale->label_limit[0]);
    scale->y.upper = settle_limit(scale, scale->label_limit[1]);
    if (!code)
        code = check_limits("options -l, -u", scale->lower, scale->upper, err);
    if (!code && scale->has_y)
        code = check_limits("option -y", scale->y.lower, scale->y.upper, err);
    return code;
}

/* Features of the data that the range file lacks, as it does those that never
 * changed when it was made; here they do. */
static void warn_unknown(struct scale *scale, const struct cli_program *program)
{
    size_t unknown = 0;
    int first = 0;
    for (size_t i = 0; i < scale->table.pages; i++)
        for (int j = 0; scale->table.page[i] && j < PAGE; j++) {
            struct feature *f = &scale->table.page[i][j];
            if (f->known || f->count == 0)
                continue;
            learn_zeros(f, scale->rows);
            if (f->min < f->max && unknown++ == 0)
                first = (int)i * PAGE + j;
        }
    if (unknown)
        cli_warn(program,
                 "features left out because %s lacks them: %zu, the first is "
                 "%d",
                 scale->options.restore, unknown, first);
}

static void warn(struct scale *scale, const struct cli_program *program)
{
    if (scale->has_qid)
        cli_warn(program, "query ids (qid:) are left out");
    if (scale->options.restore)
        warn_unknown(scale, program);
    if (scale->nonzeros_written > scale->nonzeros_read && !scale->standardize)
        cli_warn(program,
                 "zeros are scaled too: %zu features become %zu; with -l 0 "
                 "zeros stay zeros where no feature is negative",
                 scale->nonzeros_read, scale->nonzeros_written);
}

/* The ranges, from their file or from the data, which may have to be saved. */
static int find_ranges(struct scale *scale, struct klr_reader *reader,
                       struct klr_error *err)
{
    if (scale->options.restore) {
        scale->file = scale->options.restore;
        return ranges_restore(scale, err);
    }
    scale->file = scale->data;
    int code = learn(scale, reader, err);
    if (code || !scale->options.save)
        return code;
    scale->file = scale->options.save;
    return ranges_save(scale, err);
}

static int write_scaled(struct scale *scale, struct klr_reader *reader,
                        struct klr_error *err)
{
    struct klr_output *out;
    scale->file = "stdout";
    int code = klr_output_open(&out, "-", err);
    if (!code)
        code = prepare_zeros(scale, err);
    if (!code)
        code = put_rows(scale, reader, out, err);
    if (code) {
        klr_output_abandon(out);
        return code;
    }
    scale->file = "stdout";
    return klr_output_commit(out, err);
}

static int run(struct scale *scale, struct klr_error *err)
{
    const struct scale_options *options = &scale->options;
    struct klr_reader *reader = NULL;
    int flags = (options->restore ? 0 : KLR_READ_KEEP) |
                (options->unlabelled ? KLR_READ_UNLABELLED : 0);
    int code = settle_options(scale, err);
    if (!code && options->save) {
        scale->file = options->save;
        code = klr_output_check(options->save, err);
    }
    if (!code) {
        scale->file = scale->data;
        code = klr_reader_open(&reader, scale->data, flags, err);
    }
    if (!code)
        code = find_ranges(scale, reader, err);
    if (!code)
        code = write_scaled(scale, reader, err);
    klr_reader_close(reader);
    return code;
}

static void scale_free(struct scale *scale)
{
    table_free(&scale->table);
    klr_free(scale->column);
    klr_free(scale->zeros);
}

int main(int argc, char **argv)
{
    struct scale scale = {.rows = 0};
    struct klr_error err;
    const char *operand[2];
    const struct cli_program program = {
        .name = "klr-scale",
        .purpose = "Scale the features of a data set.",
        .operands = "data",
        .min_operands = 1,
        .max_operands = 1,
        .tables = (const struct klr_option *const[]){scale_table, NULL},
        .bases = (void *const[]){&scale.options},
        .repeated = take_label_limit,
        .context = &scale,
        .examples = scale_examples,
    };
    cli_catch_signals();
    int status = cli_parse(&program, argc, argv, operand);
    if (status >= 0)
        return status;
    scale.data = operand[0];
    int code = run(&scale, &err);
    if (!code)
        warn(&scale, &program);
    status = code ? cli_fail(&program, scale.file, &err) : CLI_OK;
    scale_free(&scale);
    return cli_finish(&program, status);
}
