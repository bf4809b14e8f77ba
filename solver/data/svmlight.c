/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tokenizer of svmlight lines. The grammar and what is refused:
 * docs/FORMAT.md, section 1.
 *
 * Lines are parsed where they lie in the input's block; features go straight
 * into the reader's arrays, which klr_reader_next overwrites row by row.
 *
 * The way through a correct line asks as little as possible; what is wrong
 * with a token is found out only once it is known to be wrong.
 */
#include "solver/data/data.h"

#include <limits.h>
#include <stdio.h>

int klr_reader_open(struct klr_reader **out, const char *path, int flags,
                    struct klr_error *err)
{
    *out = NULL;
    struct klr_reader *reader = klr_zalloc(1, sizeof *reader, err);
    if (!reader)
        return KLR_E_MEMORY;
    reader->flags = flags;
    int code = klr_input_open(&reader->input, path, flags & KLR_READ_KEEP, err);
    if (code)
        reader = klr_reader_close(reader);
    *out = reader;
    return code;
}

struct klr_input *klr_reader_input(struct klr_reader *reader)
{
    return reader->input;
}

struct klr_reader *klr_reader_close(struct klr_reader *reader)
{
    if (reader) {
        klr_input_close(reader->input);
        klr_free(reader->rows.index);
        klr_free(reader->rows.value);
        klr_free(reader);
    }
    return NULL;
}

/* ---- Tokens ---- */

/* True if a token may end here: at a blank, a comment, the end. */
static bool line_token_ends(const char *p, const char *end)
{
    return p == end || klr_is_blank(*p) || *p == '#';
}

/* Blank, or of comment only. */
static bool line_is_void(const char *p, const char *end)
{
    p = klr_skip_blanks(p, end);
    return p == end || *p == '#';
}

static const char *line_token_end(const char *p, const char *end)
{
    while (!line_token_ends(p, end))
        p++;
    return p;
}

static bool line_is_name(const char *p, const char *end)
{
    size_t length = 1;
    if (p == end)
        return false;
    for (; p < end && length && !strchr(":,;#", *p); p += length)
        length = klr_printable(p, end);
    return p == end;
}

/* ---- Refusals ---- */

/* KLR_E_DATA at a token: "WHAT 'TOKEN': PROBLEM", either of them may be "". */
static int line_refuse(const struct klr_line *line, const char *token,
                       const char *end, const char *what, const char *problem,
                       struct klr_error *err)
{
    char quoted[KLR_QUOTED_SIZE];
    klr_quote_slice(quoted, token, end);
    return klr_fail_at(err, KLR_E_DATA, line->number,
                       (long)(token - line->text) + 1, "%s%s%s%s%s", what,
                       *what ? " " : "", quoted, *problem ? ": " : "", problem);
}

static bool line_has_prefix(const char *p, const char *end, const char *prefix)
{
    for (; *prefix; prefix++, p++)
        if (p == end || (*p | 32) != *prefix)
            return false;
    return true;
}

/* Why p .. end is not a finite number. */
static const char *line_number_problem(const char *p, const char *end)
{
    double value;
    if (klr_parse_real(p, end, &value) == end)
        return "number out of range";
    if (p < end && (*p == '+' || *p == '-'))
        p++;
    if (line_has_prefix(p, end, "nan") || line_has_prefix(p, end, "inf"))
        return "not a finite number";
    if (line_has_prefix(p, end, "0x"))
        return "hexadecimal numbers are not read";
    return "not a number";
}

static int line_refuse_number(const struct klr_line *line, const char *token,
                              const char *end, struct klr_error *err)
{
    return line_refuse(line, token, end, "", line_number_problem(token, end),
                       err);
}

static const char *line_digits_end(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* "1:0,5", or "0,5" before other tokens, up to line_end: in a CSV file nothing
 * else stands in the line. */
static bool line_is_decimal_comma(const char *token, const char *end,
                                  const char *line_end)
{
    const char *colon = memchr(token, ':', (size_t)(end - token));
    const char *p = colon ? colon + 1 : token;
    if (!colon && line_is_void(end, line_end))
        return false;
    if (p < end && (*p == '+' || *p == '-'))
        p++;
    const char *comma = line_digits_end(p, end);
    return comma > p && end - comma > 1 && *comma == ',' &&
           line_digits_end(comma + 1, end) == end;
}

/* "1,2" or "0,5" before features. */
static bool line_is_list(const char *token, const char *end,
                         const char *line_end)
{
    size_t length = (size_t)(end - token), rest = (size_t)(line_end - end);
    return memchr(token, ',', length) && !memchr(token, ':', length) &&
           memchr(end, ':', rest);
}

/* The first line of models, LIBSVM's and ours. */
static bool line_is_model(const struct klr_line *line)
{
    static const char first[] = "svm_type ";
    size_t length = sizeof first - 1;
    return (size_t)(line->end - line->text) > length &&
           memcmp(line->text, first, length) == 0;
}

/* Troubles of a whole file that show in any token; NULL if there is none. */
static const char *line_file_problem(const struct klr_line *line,
                                     const char *token, const char *end)
{
    size_t length = (size_t)(end - token);
    if (memchr(token, '\0', length))
        return "a NUL byte; is this a binary or UTF-16 file?";
    if (line_is_model(line))
        return "this is a model, not a data set";
    if (line_is_list(token, end, line->end))
        return "a comma; a line has one label, and numbers have a point, 0.5";
    if (line_is_decimal_comma(token, end, line->end))
        return "a decimal comma; numbers have a point, 0.5";
    if (memchr(token, ',', length) || memchr(token, ';', length))
        return "commas or semicolons; is this a CSV file?";
    if (length >= 3 && memcmp(token, "\xEF\xBB\xBF", 3) == 0)
        return "a byte order mark; were files joined?";
    return NULL;
}

/* Why p .. end is not a label that is a number. */
static const char *line_label_problem(const char *p, const char *end)
{
    double value;
    if (klr_parse_real(p, end, &value) == end && isfinite(value))
        return "integers beyond 2^53 fall together";
    return line_number_problem(p, end);
}

static int line_refuse_label(const struct klr_line *line, const char *token,
                             int flags, struct klr_error *err)
{
    char buffer[80];
    const char *end = line_token_end(token, line->end);
    const char *problem = line_file_problem(line, token, end);
    if (problem)
        return line_refuse(line, token, end, "token", problem, err);
    if (memchr(token, ':', (size_t)(end - token)))
        return line_refuse(
            line, token, end, "missing label before",
            flags & KLR_READ_GIVEN ? "--unlabelled reads such rows" : "", err);
    if (flags & KLR_READ_NAMES)
        return line_refuse(line, token, end, "label", "not printable UTF-8",
                           err);
    snprintf(buffer, sizeof buffer, "%s (%s)", line_label_problem(token, end),
             flags & KLR_READ_GIVEN ? "the labels of the model are numbers"
                                    : "--string-labels reads names");
    return line_refuse(line, token, end, "label", buffer, err);
}

static int line_refuse_query(const struct klr_line *line, const char *token,
                             struct klr_error *err)
{
    const char *end = line_token_end(token, line->end);
    return line_refuse(line, token, end, "query id", "not qid:NUMBER", err);
}

/* Refuse the index token .. colon, after the index `previous`, with the
 * reason. */
static const char *line_index_problem(const char *token, const char *colon,
                                      int previous, char buffer[80])
{
    long long index = 0;
    const char *digits = token + (*token == '-' || *token == '+');
    if (colon == token)
        return "missing index";
    if (line_has_prefix(digits, colon, "0x"))
        return "hexadecimal numbers are not read";
    if (klr_parse_integer(token, colon, &index) != colon)
        return "the index is not a whole number";
    if (*token == '+')
        return "a sign before the index";
    if (*token == '-')
        return "negative index";
    if (index > INT_MAX || colon - token > 18)
        return "the index is beyond 2147483647";
    if (index == previous)
        return "repeated index";
    snprintf(buffer, 80, "index after %d, but indices must ascend", previous);
    return index < previous ? buffer : NULL;
}

static int line_refuse_feature(const struct klr_line *line, const char *token,
                               int previous, struct klr_error *err)
{
    char buffer[80];
    const char *end = line_token_end(token, line->end);
    const char *colon = memchr(token, ':', (size_t)(end - token));
    const char *problem = line_file_problem(line, token, end);
    if (problem)
        return line_refuse(line, token, end, "token", problem, err);
    if (!colon)
        return line_refuse(line, token, end, "feature", "not index:value", err);
    if (line_has_prefix(token, end, "qid:"))
        return line_refuse(line, token, end, "query id", "not behind a label",
                           err);
    problem = line_index_problem(token, colon, previous, buffer);
    if (!problem && colon + 1 == end)
        problem = "missing value";
    if (!problem)
        problem = line_number_problem(colon + 1, end);
    return line_refuse(line, token, end, "feature", problem, err);
}

/* ---- Lines ---- */

/* The end of the label at p, NULL where there is none. */
static const char *line_label_end(const char *p, const char *end, int flags,
                                  double *label)
{
    bool right;
    const char *next;
    if (flags & KLR_READ_NAMES) {
        next = line_token_end(p, end);
        right = line_is_name(p, next);
    } else {
        next = klr_parse_real(p, end, label);
        right = next && line_token_ends(next, end) && isfinite(*label) &&
                label_is_told(p, next, *label);
    }
    return right ? next : NULL;
}

/* The label at *at, if there is one. */
static int line_label(const struct klr_line *line, int flags, const char **at,
                      struct klr_row *row, struct klr_error *err)
{
    const char *p = *at, *end = line->end;
    const char *next = line_label_end(p, end, flags, &row->label);
    row->label_text = p;
    row->has_label = next != NULL;
    if (row->has_label) {
        row->label_length = (size_t)(next - p);
        *at = next;
        return 0;
    }
    next = line_token_end(p, end);
    bool may_lack = flags & KLR_READ_UNLABELLED;
    if (may_lack && (next == p || memchr(p, ':', (size_t)(next - p))))
        return 0;
    if (next == p)
        return klr_fail_at(err, KLR_E_DATA, line->number,
                           (long)(p - line->text) + 1, "missing label");
    return line_refuse_label(line, p, flags, err);
}

/* "qid:N" at *at, if it is there. */
static int line_query(const struct klr_line *line, const char **at,
                      struct klr_row *row, struct klr_error *err)
{
    long long id;
    const char *p = *at;
    if (line->end - p < 4 || memcmp(p, "qid:", 4) != 0)
        return 0;
    const char *next = klr_parse_integer(p + 4, line->end, &id);
    if (!next || !line_token_ends(next, line->end))
        return line_refuse_query(line, p, err);
    row->has_qid = true;
    *at = klr_skip_blanks(next, line->end);
    return 0;
}

static int rows_reserve(struct rows *rows, size_t count, struct klr_error *err)
{
    size_t need = rows->count + count;
    int code = KLR_GROW(rows->index, rows->n_index, need, err);
    return code ? code : KLR_GROW(rows->value, rows->n_value, need, err);
}

/* "1:1 " has four bytes. */
static size_t line_most(const char *p, const char *end)
{
    return (size_t)(end - p) / 4 + 1;
}

static int line_features(const struct klr_line *line, const char **at,
                         struct rows *rows, struct klr_error *err)
{
    const char *p = *at, *last = p, *end = line->end;
    int previous = -1;
    if (rows_reserve(rows, line_most(p, end), err))
        return KLR_E_MEMORY;
    int *index = rows->index + rows->count;
    double *value = rows->value + rows->count;
    while (p < end && *p != '#') {
        const char *token = p;
        uint64_t number = 0;
        unsigned digit;
        while (p < end && (digit = (unsigned)(*p - '0')) <= 9) {
            number = number * 10 + digit;
            p++;
        }
        if (p == token || p - token > 18 || p == end || *p != ':' ||
            number > INT_MAX || (int)number <= previous)
            return line_refuse_feature(line, token, previous, err);
        *index++ = previous = (int)number;
        p = klr_parse_real(p + 1, end, value);
        if (!p || !line_token_ends(p, end) || !isfinite(*value))
            return line_refuse_feature(line, token, previous - 1, err);
        value++;
        last = p;
        p = klr_skip_blanks(p, end);
    }
    rows->count = (size_t)(index - rows->index);
    *at = last;
    return 0;
}

static int line_parse(int flags, struct rows *rows, struct klr_row *row,
                      struct klr_error *err)
{
    const struct klr_line *line = &row->line;
    const char *p = klr_skip_blanks(line->text, line->end);
    size_t first = rows->count;
    *row = (struct klr_row){.line = *line, .id = p};
    if (flags & KLR_READ_ID) {
        p = line_token_end(p, line->end);
        row->id_length = (size_t)(p - row->id);
        p = klr_skip_blanks(p, line->end);
    }
    int code = line_label(line, flags, &p, row, err);
    if (code)
        return code;
    p = klr_skip_blanks(p, line->end);
    code = line_query(line, &p, row, err);
    if (code)
        return code;
    row->features = p;
    code = line_features(line, &p, rows, err);
    row->features_length = (size_t)(p - row->features);
    row->count = rows->count - first;
    row->index = rows->index + first;
    row->value = rows->value + first;
    return code;
}

int klr_reader_next(struct klr_reader *reader, struct klr_row *row,
                    struct klr_error *err)
{
    reader->rows.count = 0;
    do {
        int got = klr_input_line(reader->input, &row->line, err);
        if (got != 1)
            return got;
    } while (!(reader->flags & KLR_READ_BLANK) &&
             line_is_void(row->line.text, row->line.end));
    int code = line_parse(reader->flags, &reader->rows, row, err);
    return code ? -code : 1;
}

bool klr_reader_would_block(struct klr_reader *reader)
{
    const char *text, *end;
    struct klr_line passed;
    while (!(reader->flags & KLR_READ_BLANK) &&
           klr_input_peek(reader->input, &text, &end) &&
           line_is_void(text, end))
        klr_input_line(reader->input, &passed, NULL);
    return klr_input_would_block(reader->input);
}
