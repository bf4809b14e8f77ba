/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Costs of errors, from the command line or a file: docs/FORMAT.md, section 4.
 */
#include "cli/cli.h"

#include <math.h>
#include <string.h>

#include "base/files/input.h"
#include "base/memory.h"

static const char *parse_cost(const char *text, const char *end, double *cost)
{
    const char *next = klr_parse_real(text, end, cost);
    return next && *cost >= 0 && isfinite(*cost) ? next : NULL;
}

bool cli_costs_parse(const char *text, double cost[2])
{
    const char *end = text + strlen(text), *comma = strchr(text, ',');
    return comma && parse_cost(text, comma, &cost[0]) == comma &&
           parse_cost(comma + 1, end, &cost[1]) == end && cost[0] + cost[1] > 0;
}

/* The two costs as a matrix: true classes in rows, answers in columns. */
static void costs_of_two(const double error[2], double cost[4])
{
    cost[0] = cost[3] = 0;
    cost[1] = error[1];
    cost[2] = error[0];
}

/* ---- A file ---- */

/* A matrix while it is read. */
struct matrix {
    const struct cli_answers *answers;
    size_t *order; /* (classes) the class of each column of the file */
    size_t rows;   /* that have been read */
    double *cost;  /* (classes, classes) */
};

/* The next token of a line, from *text on, which moves behind it; NULL where
 * there is none. */
static const char *take_token(const char **text, const char *end)
{
    const char *token = klr_skip_blanks(*text, end);
    for (*text = token; *text < end && !klr_is_blank(**text);)
        ++*text;
    return token < end ? token : NULL;
}

static int refuse(const struct klr_line *line, const char *token,
                  const char *end, const char *why, struct klr_error *err)
{
    char quoted[KLR_QUOTED_SIZE];
    return klr_fail_at(err, KLR_E_DATA, line->number,
                       (long)(token - line->text) + 1, "%s is %s",
                       klr_quote_slice(quoted, token, end), why);
}

static int take_label(struct matrix *matrix, size_t column,
                      const struct klr_line *line, const char *token,
                      const char *end, struct klr_error *err)
{
    const struct cli_answers *answers = matrix->answers;
    size_t length = (size_t)(end - token), c = 0;
    while (c < answers->classes &&
           (strncmp(answers->text[c], token, length) != 0 ||
            answers->text[c][length]))
        c++;
    if (c == answers->classes)
        return refuse(line, token, end, "no label of the model", err);
    for (size_t i = 0; i < column; i++)
        if (matrix->order[i] == c)
            return refuse(line, token, end, "a repeated label", err);
    matrix->order[column] = c;
    return 0;
}

static int take_cell(struct matrix *matrix, size_t column,
                     const struct klr_line *line, const char *token,
                     const char *end, struct klr_error *err)
{
    size_t k = matrix->answers->classes;
    size_t row = matrix->order[matrix->rows - 1];
    double *cost = &matrix->cost[row * k + matrix->order[column]];
    if (parse_cost(token, end, cost) != end)
        return refuse(line, token, end, "not a cost, a number from 0 on", err);
    return 0;
}

/* The line of labels, then a row of costs for each. */
static int take_costs(struct matrix *matrix, const struct klr_line *line,
                      struct klr_error *err)
{
    size_t k = matrix->answers->classes, count = 0;
    const char *text = line->text, *token = take_token(&text, line->end);
    bool titles = matrix->rows == 0;
    if (titles && (text - token != 6 || memcmp(token, "labels", 6) != 0))
        return refuse(line, token, text, "not the word labels", err);
    if (titles)
        token = take_token(&text, line->end);
    int code = 0;
    for (; token && count < k && !code; count++) {
        code = (titles ? take_label : take_cell)(matrix, count, line, token,
                                                 text, err);
        token = take_token(&text, line->end);
    }
    matrix->rows++;
    if (!code && (token || count < k || matrix->rows > k + 1))
        code = klr_fail_at(err, KLR_E_DATA, line->number, 0,
                           "the costs of %zu classes are %zu labels and as "
                           "many rows of as many numbers",
                           k, k);
    return code;
}

static int read_matrix(struct matrix *matrix, const char *path,
                       struct klr_error *err)
{
    struct klr_input *input;
    struct klr_line line;
    size_t k = matrix->answers->classes;
    int code = klr_input_open(&input, path, false, err), got = 0;
    while (!code && (got = klr_input_line(input, &line, err)) == 1) {
        klr_line_trim(&line);
        if (line.text < line.end)
            code = take_costs(matrix, &line, err);
    }
    code = code ? code : -got;
    size_t rows = matrix->rows ? matrix->rows - 1 : 0;
    if (!code && rows < k)
        code = klr_fail(err, KLR_E_DATA, "%zu row%s of costs, but %zu classes",
                        rows, klr_plural(rows), k);
    klr_input_close(input);
    return code;
}

int cli_costs_read(double **cost, const char *given,
                   const struct cli_answers *answers, struct klr_error *err)
{
    size_t k = answers->classes;
    double error[2];
    bool two = cli_costs_parse(given, error);
    if (two && k != 2)
        return klr_fail(err, KLR_E_USAGE,
                        "option --cost: FP,FN is of two classes; the model has "
                        "%zu: a file has their costs",
                        k);
    struct matrix matrix = {
        .answers = answers,
        .order = klr_zalloc(k + 1, sizeof *matrix.order, err),
        .cost = *cost = klr_zalloc(k, k * sizeof **cost, err),
    };
    int code = matrix.order && matrix.cost ? 0 : KLR_E_MEMORY;
    if (!code && two)
        costs_of_two(error, matrix.cost);
    else if (!code)
        code = read_matrix(&matrix, given, err);
    klr_free(matrix.order);
    return code;
}

double cli_mean_cost(const struct klr_metrics *metrics, const double *cost)
{
    size_t k = klr_metrics_classes(metrics);
    const unsigned long long *count = klr_metrics_confusion(metrics);
    double sum = 0, all = 0;
    for (size_t cell = 0; cell < k * k; cell++) {
        sum += cost[cell] * (double)count[cell];
        all += (double)count[cell];
    }
    return all > 0 ? sum / all : (double)NAN;
}
