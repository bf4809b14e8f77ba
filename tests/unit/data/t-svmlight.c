/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tokenizer and the input behind it: what is accepted and what it means,
 * and every refusal with its line, column and message.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "solver.h"
#include "tests/tap.h"

static char path[] = "/tmp/klr-svmlight-XXXXXX";

static void put(const char *text, size_t length)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(text, 1, length, file) != length || fclose(file))
        exit(99);
}

/* ---- Accepted ---- */

/* All rows as "label;line|index=value ..." joined by '/', into `shown`. */
static int show(const char *name, int flags, char *shown, size_t size,
                struct klr_error *err)
{
    struct klr_reader *reader;
    struct klr_row row;
    int got = -klr_reader_open(&reader, name, flags, err);
    size_t used = 0;
    *shown = '\0';
    while (!got && (got = klr_reader_next(reader, &row, err)) == 1) {
        used +=
            (size_t)snprintf(shown + used, size - used, "%s", used ? "/" : "");
        if (row.has_label)
            used +=
                (size_t)snprintf(shown + used, size - used, "%g", row.label);
        used += (size_t)snprintf(shown + used, size - used, ";%ld%s|",
                                 row.line.number, row.has_qid ? "q" : "");
        for (size_t i = 0; i < row.count && used < size; i++)
            used += (size_t)snprintf(shown + used, size - used, "%s%d=%g",
                                     i ? " " : "", row.index[i], row.value[i]);
        got = 0;
    }
    klr_reader_close(reader);
    return got;
}

static void check_bytes(const char *what, const char *text, size_t length,
                        int flags, const char *expected)
{
    char shown[1000];
    struct klr_error err = {.code = 0};
    put(text, length);
    int got = show(path, flags, shown, sizeof shown, &err);
    if (!ok(got == 0 && !strcmp(shown, expected), "accepted: %s", what))
        printf("# got %d, %s (%s)\n", got, shown, err.message);
}

static void check_rows(const char *what, const char *text, int flags,
                       const char *expected)
{
    check_bytes(what, text, strlen(text), flags, expected);
}

static void test_accepted(void)
{
    check_rows("a row", "1 1:0.5 3:2\n", 0, "1;1|1=0.5 3=2");
    check_rows("two rows", "+1 1:1\n-1 2:2\n", 0, "1;1|1=1/-1;2|2=2");
    check_rows("no last line feed", "1 1:1\n2 1:3", 0, "1;1|1=1/2;2|1=3");
    check_rows("CRLF", "1 1:1\r\n2 1:3\r\n", 0, "1;1|1=1/2;2|1=3");
    check_rows("CRLF, the last line cut", "1 1:1\r\n2 1:3\r", 0,
               "1;1|1=1/2;2|1=3");
    check_rows("a byte order mark",
               "\xEF\xBB\xBF"
               "1 1:1\n",
               0, "1;1|1=1");
    check_rows("comments behind rows", "1 1:1 # x 9:9\n2 1:3#y\n3#z\n", 0,
               "1;1|1=1/2;2|1=3/3;3|");
    check_rows("lines of comment", "# x\n1 1:1\n  # y\n", 0, "1;2|1=1");
    check_rows("blank lines", "\n1 1:1\n \t\n\n2 1:3\n\n", 0,
               "1;2|1=1/2;5|1=3");
    check_rows("tabs", "1\t1:1\t\t2:2\t\n", 0, "1;1|1=1 2=2");
    check_rows("blanks around", "  1   1:1  2:2  \n", 0, "1;1|1=1 2=2");
    check_rows("a label alone", "1\n-1 \n0\n", 0, "1;1|/-1;2|/0;3|");
    check_rows("decimal labels", "0.5 1:1\n-1e-3\n", 0, "0.5;1|1=1/-0.001;2|");
    check_rows("integers from 2^53 on that are doubles",
               "9007199254740991 1:1\n-9007199254740992\n"
               "+009007199254740994.00 1:1\n1152921504606846976\n1e30\n"
               "9007199254740993e0\n",
               0,
               "9.0072e+15;1|1=1/-9.0072e+15;2|/9.0072e+15;3|1=1/"
               "1.15292e+18;4|/1e+30;5|/9.0072e+15;6|");
    check_rows("exponents and signs", "1 1:1e3 2:-2.5E-1 3:+4 4:.5 5:5.\n", 0,
               "1;1|1=1000 2=-0.25 3=4 4=0.5 5=5");
    check_rows("explicit zeros", "1 1:0 2:-0\n", 0, "1;1|1=0 2=-0");
    check_rows("the largest index", "1 2147483647:1\n", 0, "1;1|2147483647=1");
    check_rows("leading zeros", "01 007:08\n", 0, "1;1|7=8");
    check_rows("query ids", "1 qid:7 1:1\n2 qid:-8\n", 0, "1;1q|1=1/2;2q|");
    check_rows("values too small", "1 1:1e-999\n", 0, "1;1|1=0");
    check_rows("index 0", "1 0:3 1:0.5\n-1 1:2\n2 00:1\n", 0,
               "1;1|0=3 1=0.5/-1;2|1=2/2;3|0=1");
    check_rows("no labels where allowed", "1:1 2:2\n3 1:1\n",
               KLR_READ_UNLABELLED, ";1|1=1 2=2/3;2|1=1");
    check_rows("an empty file", "", 0, "");
    check_rows("other bytes in comments", "1 1:1 # \xC3\xA4,\x01\n", 0,
               "1;1|1=1");
    check_bytes("a NUL byte in a comment", "1 1:1 #\0\n2\n", 11, 0,
                "1;1|1=1/2;2|");
}

/* ---- Refused ---- */

static void check_refused_bytes(const char *text, size_t length, int flags,
                                long line, long column, const char *message)
{
    char shown[1000];
    struct klr_error err = {.code = 0};
    put(text, length);
    int got = show(path, flags, shown, sizeof shown, &err);
    if (!ok(got == -KLR_E_DATA && err.code == KLR_E_DATA && err.line == line &&
                err.column == column && !strcmp(err.message, message),
            "refused: %s", message))
        printf("# got %d, %ld:%ld: %s\n", got, err.line, err.column,
               err.message);
}

static void refused(const char *text, long line, long column,
                    const char *message)
{
    check_refused_bytes(text, strlen(text), 0, line, column, message);
}

#define HINT " (--string-labels reads names)"

static void test_labels_refused(void)
{
    refused(
        "1 1:1\n 9007199254740993 1:1\n", 2, 2,
        "label '9007199254740993': integers beyond 2^53 fall together" HINT);
    refused("-9007199254740993.0 1:1\n", 1, 1,
            "label '-9007199254740993.0': integers beyond 2^53 fall "
            "together" HINT);
    refused("9007199254740992.5 1:1\n", 1, 1,
            "label '9007199254740992.5': integers beyond 2^53 fall "
            "together" HINT);
    refused("123456789012345678901234567890 1:1\n", 1, 1,
            "label '123456789012345678901234567890': integers beyond 2^53 "
            "fall together" HINT);
    refused("1:1 2:2\n", 1, 1, "missing label before '1:1'");
    refused("1 1:1\n 3:4\n", 2, 2, "missing label before '3:4'");
    refused("abc 1:1\n", 1, 1, "label 'abc': not a number" HINT);
    refused("1x 1:1\n", 1, 1, "label '1x': not a number" HINT);
    refused("nan 1:1\n", 1, 1, "label 'nan': not a finite number" HINT);
    refused("-Inf 1:1\n", 1, 1, "label '-Inf': not a finite number" HINT);
    refused("0x10 1:1\n", 1, 1,
            "label '0x10': hexadecimal numbers are not read" HINT);
    refused("1e999 1:1\n", 1, 1, "label '1e999': number out of range" HINT);
    refused("1,2,3\n", 1, 1,
            "token '1,2,3': commas or semicolons; is this a CSV file?");
    refused("1 1:1\n0.5;2;3\n", 2, 1,
            "token '0.5;2;3': commas or semicolons; is this a CSV file?");
    check_refused_bytes("1\0 \0001\0:\0", 8, 0, 1, 1,
                        "token '1\\x00': a NUL byte; is this a binary or "
                        "UTF-16 file?");
    check_refused_bytes("\xFF\xFE"
                        "1\0\n\0",
                        6, 0, 1, 1,
                        "this is UTF-16 or UTF-32 text: convert it to UTF-8");
    check_refused_bytes("\xFE\xFF\0001\0\n", 6, 0, 1, 1,
                        "this is UTF-16 or UTF-32 text: convert it to UTF-8");
    check_refused_bytes("\0\0\xFE\xFF\0\0\0001", 8, 0, 1, 1,
                        "this is UTF-16 or UTF-32 text: convert it to UTF-8");
    check_refused_bytes("x 1:1\n", 6, KLR_READ_UNLABELLED, 1, 1,
                        "label 'x': not a number" HINT);
    refused("\x1b[31m\xC3\xA4 1:1\n", 1, 1,
            "label '\\x1B[31m\xC3\xA4': not a number" HINT);
    refused("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", 1,
            1,
            "label "
            "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...': "
            "not a "
            "number" HINT);
}

static void refused_name(const char *text, const char *message)
{
    check_refused_bytes(text, strlen(text), KLR_READ_NAMES, 1, 1, message);
}

static void test_names_refused(void)
{
    refused_name("1:1\n", "missing label before '1:1'");
    refused_name("a:b 1:1\n", "missing label before 'a:b'");
    refused_name("a,b\n",
                 "token 'a,b': commas or semicolons; is this a CSV file?");
    refused_name("a;b 1:1\n",
                 "token 'a;b': commas or semicolons; is this a CSV file?");
    refused_name("a\x01z 1:1\n", "label 'a\\x01z': not printable UTF-8");
    refused_name("a\x7F 1:1\n", "label 'a\\x7F': not printable UTF-8");
    refused_name("a\rb 1:1\n", "label 'a\\x0Db': not printable UTF-8");
    refused_name("\x0B"
                 "a 1:1\n",
                 "label '\\x0Ba': not printable UTF-8");
    refused_name("\xC2\x85 1:1\n", "label '\\xC2\\x85': not printable UTF-8");
    refused_name("\xE4 1:1\n", "label '\\xE4': not printable UTF-8");
    refused_name("a\xC3 1:1\n", "label 'a\\xC3': not printable UTF-8");
    refused_name("a\xEF\xBB\xBF 1:1\n",
                 "label 'a\\xEF\\xBB\\xBF': not printable UTF-8");
    refused_name("\xE2\x80\x8B"
                 "a 1:1\n",
                 "label '\\xE2\\x80\\x8Ba': not printable UTF-8");
    refused_name("a\xC2\xA0z 1:1\n",
                 "label 'a\\xC2\\xA0z': not printable UTF-8");
    refused("1 1:1\n\xEF\xBB\xBF-1 1:1\n", 2, 1,
            "token '\\xEF\\xBB\\xBF-1': a byte order mark; were files "
            "joined?");
    refused("1 1:1\xE2\x80\x8B\n", 1, 3,
            "feature '1:1\\xE2\\x80\\x8B': not a number");
    check_refused_bytes("a\0b 1:1\n", 8, KLR_READ_NAMES, 1, 1,
                        "token 'a\\x00b': a NUL byte; is this a binary or "
                        "UTF-16 file?");
    check_refused_bytes("a 1:1\n b\x1B 1:1\n", 15, KLR_READ_NAMES, 2, 2,
                        "label 'b\\x1B': not printable UTF-8");
    check_refused_bytes("a 1:x\n", 6, KLR_READ_NAMES, 1, 3,
                        "feature '1:x': not a number");
}

/* Names of the examples of a file, joined by blanks. */
static void check_names(const char *what, const char *text, int flags,
                        const char *expected)
{
    struct klr_problem problem;
    struct klr_error err = {.code = 0};
    char shown[200] = "", number[KLR_REAL_SIZE];
    put(text, strlen(text));
    klr_problem_read(&problem, path, flags | KLR_READ_NAMES, 1, &err);
    for (size_t i = 0; i < problem.n; i++) {
        size_t used = strlen(shown);
        snprintf(shown + used, sizeof shown - used, "%s%s", i ? " " : "",
                 klr_label_text(problem.names, problem.label[i], number));
    }
    if (!ok(!strcmp(shown, expected), "names: %s", what))
        printf("# %s (%s)\n", shown, err.message);
    klr_problem_free(&problem);
}

static void test_names(void)
{
    check_names(
        "words, other scripts, comments behind them",
        "setosa 1:1\n\xC3\xA4\xE2\x82\xAC#x\n-x_y(z)\"\\ # y\nsetosa\r\n", 0,
        "setosa \xC3\xA4\xE2\x82\xAC -x_y(z)\"\\ setosa");
    check_names("numbers as they stand", "+1 1:1\n1\n1.0\nnan\n1e999\n", 0,
                "+1 1 1.0 nan 1e999");
    check_names("qid", "a qid:3 1:1\nb\n", 0, "a b");
    check_names("a mark",
                "\xEF\xBB\xBF"
                "a 1:1\nb\n",
                0, "a b");
}

/* Each has its place among all in ascending order, whatever the order of rows,
 * also where they are many. */
static void test_many_names(void)
{
    enum { COUNT = 5000 };
    struct klr_problem problem;
    struct klr_error err = {.code = 0};
    FILE *file = fopen(path, "w");
    bool good = true;
    for (int i = 0; file && i < 2 * COUNT; i++)
        fprintf(file, "name%04d 1:1\n", (i + 1234) * 7 % COUNT);
    fclose(file);
    klr_problem_read(&problem, path, KLR_READ_NAMES, 1, &err);
    for (size_t i = 0; i < problem.n; i++) {
        char name[20];
        size_t index = (i + 1234) * 7 % COUNT;
        snprintf(name, sizeof name, "name%04zu", index);
        good &=
            problem.label[i] == (double)index &&
            !strcmp(klr_label_text(problem.names, (double)index, NULL), name);
    }
    ok(good && problem.n == 2 * COUNT, "%d names", COUNT);
    klr_problem_free(&problem);
}

static void test_indices_refused(void)
{
    refused("1 1:1 1:2\n", 1, 7, "feature '1:2': repeated index");
    refused("1 3:1  2:2\n", 1, 8,
            "feature '2:2': index after 3, but indices must ascend");
    refused("1 2147483648:1\n", 1, 3,
            "feature '2147483648:1': the index is beyond 2147483647");
    refused("1 99999999999999999999999:1\n", 1, 3,
            "feature '99999999999999999999999:1': the index is beyond "
            "2147483647");
    refused("1 18446744073709551617:1\n", 1, 3,
            "feature '18446744073709551617:1': the index is beyond "
            "2147483647");
    refused("1 0x1:1\n", 1, 3,
            "feature '0x1:1': hexadecimal numbers are not read");
    refused("1 a:1\n", 1, 3, "feature 'a:1': the index is not a whole number");
    refused("1 1.5:1\n", 1, 3,
            "feature '1.5:1': the index is not a whole number");
    refused("1 +1:1\n", 1, 3, "feature '+1:1': a sign before the index");
    refused("1 :1\n", 1, 3, "feature ':1': missing index");
    refused("1 -1:1\n", 1, 3, "feature '-1:1': negative index");
    refused("1 0:1 0:2\n", 1, 7, "feature '0:2': repeated index");
    refused("1 1:1 0:2\n", 1, 7,
            "feature '0:2': index after 1, but indices must ascend");
}

static void test_values_refused(void)
{
    refused("1 1:1 2:nan\n", 1, 7, "feature '2:nan': not a finite number");
    refused("1 1:-inf\n", 1, 3, "feature '1:-inf': not a finite number");
    refused("1 1:1e999\n", 1, 3, "feature '1:1e999': number out of range");
    refused("1 1:-1e309\n", 1, 3, "feature '1:-1e309': number out of range");
    refused("1 1:0x1p3\n", 1, 3,
            "feature '1:0x1p3': hexadecimal numbers are not read");
    refused("1 3:\n", 1, 3, "feature '3:': missing value");
    refused("1 3: 4\n", 1, 3, "feature '3:': missing value");
    refused("1 3:#4\n", 1, 3, "feature '3:': missing value");
    refused("1 3\n", 1, 3, "feature '3': not index:value");
    refused("1 3 :4\n", 1, 3, "feature '3': not index:value");
    refused("1 x\n", 1, 3, "feature 'x': not index:value");
    refused("1 3:4x\n", 1, 3, "feature '3:4x': not a number");
    refused("1 3:4:5\n", 1, 3, "feature '3:4:5': not a number");
    refused("1 3:1e\n", 1, 3, "feature '3:1e': not a number");
    refused("1 3:.\n", 1, 3, "feature '3:.': not a number");
    refused("1 3:--1\n", 1, 3, "feature '3:--1': not a number");
    refused("1 3:1,5\n", 1, 3,
            "token '3:1,5': a decimal comma; numbers have a point, 0.5");
    refused("1 1:1\r2:2\n", 1, 3, "feature '1:1\\x0D2:2': not a number");
    check_refused_bytes("1 1:1\0\n", 7, 0, 1, 3,
                        "token '1:1\\x00': a NUL byte; is this a binary or "
                        "UTF-16 file?");
    refused("1 qid:x 1:1\n", 1, 3, "query id 'qid:x': not qid:NUMBER");
    refused("1 qid:1x 1:1\n", 1, 3, "query id 'qid:1x': not qid:NUMBER");
    refused("1 1:1 qid:3\n", 1, 7, "query id 'qid:3': not behind a label");
    refused("1 1:1\n\n# x\n1 1:2 2:y\n", 4, 7, "feature '2:y': not a number");
    refused("\xEF\xBB\xBF"
            "1 1:x\n",
            1, 3, "feature '1:x': not a number");
}

/* ---- Problems ---- */

/* Where the features of row i stand, or for i = n the end of all. */
static int64_t text_of(const struct klr_problem *p, size_t i)
{
    return p->text[i / KLR_TEXT_ROWS] + p->offset[i];
}

static void test_problem(void)
{
    static const char text[] = "\xEF\xBB\xBF"
                               "# head\r\n"
                               "2 qid:1 1:0.5  3:2  # x\r\n"
                               "\r\n"
                               "-1\r\n"
                               "1\t7:1";
    struct klr_problem p;
    struct klr_error err;
    char buffer[16] = "";
    put(text, sizeof text - 1);
    ok(klr_problem_read(&p, path, KLR_READ_KEEP, 1, &err) == 0 && p.n == 3,
       "three examples");
    ok(p.dimension == 7 && p.has_qid, "dimension and query ids");
    ok(p.label[0] == 2 && p.label[1] == -1 && p.label[2] == 1, "labels");
    ok(p.start[0] == 0 && p.start[1] == 2 && p.start[2] == 2 && p.start[3] == 3,
       "rows");
    ok(p.index[0] == 1 && p.index[1] == 3 && p.index[2] == 7 &&
           p.value[0] == 0.5 && p.value[1] == 2 && p.value[2] == 1,
       "features");
    ok(p.line[0] == 2 && p.line[1] == 4 && p.line[2] == 5, "line numbers");
    struct klr_input *input = klr_reader_input(p.reader);
    ok(klr_input_text(input, text_of(&p, 0), 10, buffer, &err) == 0 &&
           !memcmp(buffer, "1:0.5  3:2", 10),
       "the text of the first row's features");
    ok(text_of(&p, 3) - text_of(&p, 2) == 3 &&
           klr_input_text(input, text_of(&p, 2), 3, buffer, &err) == 0 &&
           !memcmp(buffer, "7:1", 3),
       "the text of the last row's features");
    ok(klr_input_text(input, text_of(&p, 2), 4, buffer, &err) == KLR_E_IO,
       "no text beyond the end: %s", err.message);
    klr_problem_free(&p);
    ok(p.label == NULL && p.reader == NULL && p.n == 0, "freed");
    ok(klr_problem_read(&p, path, 0, 1, &err) == 0 && !p.text && !p.offset &&
           !p.reader && p.n == 3,
       "no text unless asked for");
    klr_problem_free(&p);
}

enum { MANY = 30000 };

/* Names for labels, rows of all lengths, lines that are none; `bad`: a line of
 * the middle and one soon after it are not as they should be. */
static void put_many(bool bad)
{
    static const char *const names[] = {"no", "yes", "perhaps"};
    FILE *file = fopen(path, "wb");
    for (int i = 0; i < MANY; i++) {
        fputs(i % 7 ? "" : " # x:y\n\r\n", file);
        fputs(names[i * i % 3], file);
        for (int k = 1; k <= i % 11; k++)
            fprintf(file, " %d:%.*g", k * (1 + i % 5), k, sqrt(i + k));
        if (bad && (i == MANY / 2 || i == MANY / 2 + 9))
            fprintf(file, " 99:%dx", i);
        fputs(i == MANY - 1 ? "" : i % 3 ? "\n" : " # x\n", file);
    }
    fclose(file);
}

/* The rows of the problem are those that a reader gives one by one. */
static bool has_rows(const struct klr_problem *p)
{
    struct klr_reader *reader;
    struct klr_row row;
    size_t i = 0;
    bool same = !klr_reader_open(&reader, path, KLR_READ_NAMES, NULL);
    for (; same && klr_reader_next(reader, &row, NULL) == 1; i++) {
        size_t first = p->start[i], count = p->start[i + 1] - first;
        char name[16] = "", buffer[KLR_REAL_SIZE];
        memcpy(name, row.label_text, row.label_length);
        same =
            i < p->n && p->line[i] == row.line.number &&
            !strcmp(klr_label_text(p->names, p->label[i], buffer), name) &&
            text_of(p, i) == row.line.offset + (row.features - row.line.text) &&
            (i + 1 < p->n || text_of(p, p->n) - text_of(p, i) ==
                                 (int64_t)row.features_length) &&
            count == row.count &&
            !memcmp(p->index + first, row.index, count * sizeof(int)) &&
            !memcmp(p->value + first, row.value, count * sizeof(double));
    }
    klr_reader_close(reader);
    return same && i == p->n && p->start[0] == 0;
}

/* Files larger than a block, by so many threads. */
static void test_threads(int threads)
{
    const int flags = KLR_READ_NAMES | KLR_READ_KEEP;
    struct klr_problem p;
    struct klr_error err;
    put_many(false);
    ok(!klr_problem_read(&p, path, flags, threads, &err) && p.n == MANY &&
           p.dimension == 50 && has_rows(&p),
       "%d threads: %d rows in order", threads, MANY);
    klr_problem_free(&p);
    put_many(true);
    ok(klr_problem_read(&p, path, flags, threads, &err) == KLR_E_DATA &&
           err.line == MANY / 2 + 1 + 2 * (MANY / 2 / 7 + 1) &&
           strstr(err.message, "99:15000x") && !p.n,
       "%d threads: the first mistake: %ld: %s", threads, err.line,
       err.message);
}

static void check_unread(const char *text, const char *message, int code)
{
    struct klr_problem p;
    struct klr_error err = {.code = 0};
    put(text, strlen(text));
    ok(klr_problem_read(&p, path, KLR_READ_KEEP, 1, &err) == code &&
           !strcmp(err.message, message) && !p.label && !p.reader && p.n == 0,
       "no problem: %s", err.message);
}

static void test_no_problem(void)
{
    struct klr_problem p;
    struct klr_error err;
    check_unread("", "no examples", KLR_E_DATA);
    check_unread("# x\n\n", "no examples", KLR_E_DATA);
    check_unread("1 1:1\n1 x\n", "feature 'x': not index:value", KLR_E_DATA);
    ok(klr_problem_read(&p, "/nonexistent/file", 0, 1, &err) == KLR_E_IO &&
           !strcmp(err.message, "cannot open: No such file or directory"),
       "no file: %s", err.message);
    ok(klr_problem_read(&p, "/tmp", 0, 1, &err) == KLR_E_IO &&
           !strcmp(err.message, "cannot read: Is a directory"),
       "a folder: %s", err.message);
}

/* ---- Input ---- */

/* Lines much longer than a block, and many: each as it was written. */
static void test_long_lines(void)
{
    enum { FEATURES = 200000, ROWS = 3 };
    FILE *file = fopen(path, "wb");
    for (int i = 0; i < ROWS; i++) {
        fprintf(file, "%d", i);
        for (int j = 1; j <= FEATURES; j++)
            fprintf(file, " %d:%d", j, i + j % 7);
        fprintf(file, "%s", i < ROWS - 1 ? "\n" : "");
    }
    fclose(file);
    struct klr_problem p;
    struct klr_error err;
    int bad = 0;
    ok(klr_problem_read(&p, path, 0, 1, &err) == 0 && p.n == ROWS &&
           p.start[ROWS] == (size_t)ROWS * FEATURES,
       "lines of 1.7 MB");
    for (size_t k = 0; k < p.start[p.n]; k++) {
        int i = (int)(k / FEATURES), j = (int)(k % FEATURES) + 1;
        bad += p.index[k] != j || p.value[k] != i + j % 7;
    }
    ok(bad == 0, "their features are in place (%d are not)", bad);
    klr_problem_free(&p);
}

static void write_all(int fd, const char *text)
{
    if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        exit(99);
}

/* A pipe: a complete line comes before anything follows it. */
static void test_pipe(void)
{
    int fd[2];
    char name[32], buffer[8] = "";
    struct klr_input *input;
    struct klr_line line;
    struct klr_error err;
    if (pipe(fd))
        exit(99);
    snprintf(name, sizeof name, "/dev/fd/%d", fd[0]);
    ok(klr_input_open(&input, name, true, &err) == 0, "a pipe is opened");
    ok(klr_input_would_block(input), "nothing is there yet");
    write_all(fd[1], "\xEF\xBB\xBF"
                     "1 1:1\n2 2:2\n3");
    ok(klr_input_line(input, &line, &err) == 1 && line.number == 1 &&
           line.offset == 3 && line.end - line.text == 5 &&
           !memcmp(line.text, "1 1:1", 5),
       "the first line of the pipe");
    ok(!klr_input_would_block(input), "the second is there");
    ok(klr_input_line(input, &line, &err) == 1 && line.number == 2 &&
           line.offset == 9,
       "the second line");
    ok(klr_input_would_block(input), "the third is not complete");
    write_all(fd[1], " 3:3");
    close(fd[1]);
    ok(klr_input_line(input, &line, &err) == 1 && line.number == 3 &&
           line.end - line.text == 5 && !memcmp(line.text, "3 3:3", 5),
       "it comes with the end");
    ok(klr_input_line(input, &line, &err) == 0, "the end");
    ok(klr_input_text(input, 11, 3, buffer, &err) == 0 &&
           !memcmp(buffer, "2:2", 3),
       "text of the pipe is kept");
    ok(klr_input_rewind(input, &err) == 0 &&
           klr_input_line(input, &line, &err) == 1 && line.number == 1 &&
           line.offset == 3 && !memcmp(line.text, "1 1:1", 5),
       "a pipe is read again");
    klr_input_close(input);
    close(fd[0]);
}

/* Rows from a pipe: what lies between them is not waited for, nor missed in the
 * count of lines. */
static void test_waiting(void)
{
    int fd[2];
    char name[32];
    struct klr_reader *reader;
    struct klr_row row;
    struct klr_error err;
    if (pipe(fd))
        exit(99);
    snprintf(name, sizeof name, "/dev/fd/%d", fd[0]);
    klr_reader_open(&reader, name, 0, &err);
    ok(klr_reader_would_block(reader), "nothing is there yet");
    write_all(fd[1], "\xEF\xBB\xBF# first\n1 1:1\n \t\n# x\r\n\r\n# y\n2\n\n3");
    ok(klr_reader_next(reader, &row, &err) == 1 && row.line.number == 2 &&
           !klr_reader_would_block(reader),
       "behind the first row there is another");
    ok(klr_reader_next(reader, &row, &err) == 1 && row.label == 2 &&
           row.line.number == 7 && klr_reader_would_block(reader),
       "the third is not complete");
    write_all(fd[1], " 3:3\n \n# the end");
    ok(klr_reader_next(reader, &row, &err) == 1 && row.label == 3 &&
           row.line.number == 9 && klr_reader_would_block(reader),
       "what follows it is no row");
    close(fd[1]);
    ok(klr_reader_next(reader, &row, &err) == 0 &&
           !klr_reader_would_block(reader),
       "at the end there is nothing to wait for");
    klr_reader_close(reader);
    close(fd[0]);
}

/* Rewound before its end: the rest of the pipe is there too. */
static void test_early_rewind(void)
{
    int fd[2], lines = 0;
    char name[32];
    struct klr_input *input;
    struct klr_line line;
    struct klr_error err;
    if (pipe(fd))
        exit(99);
    snprintf(name, sizeof name, "/dev/fd/%d", fd[0]);
    klr_input_open(&input, name, true, &err);
    write_all(fd[1], "a\n");
    klr_input_line(input, &line, &err);
    write_all(fd[1], "b\nc\n");
    close(fd[1]);
    ok(klr_input_rewind(input, &err) == 0, "rewound before the end");
    while (klr_input_line(input, &line, &err) == 1)
        lines += line.end - line.text == 1 && *line.text == 'a' + lines;
    ok(lines == 3, "all lines come");
    klr_input_close(input);
    close(fd[0]);
}

/* Stdin that is a file of which a part is read already: the rest is the input,
 * with offsets of its own. */
static void test_stdin_in_the_middle(void)
{
    struct klr_input *input;
    struct klr_line line;
    struct klr_error err;
    char buffer[8] = "";
    put("head\n1 1:1\n2 2:2\n", 17);
    int fd = open(path, O_RDONLY), saved = dup(0);
    lseek(fd, 5, SEEK_SET);
    dup2(fd, 0);
    int code = klr_input_open(&input, "-", true, &err);
    ok(code == 0 && klr_input_line(input, &line, &err) == 1 &&
           line.offset == 0 && !memcmp(line.text, "1 1:1", 5),
       "stdin begins where it stands");
    klr_input_line(input, &line, &err);
    ok(line.offset == 6 && klr_input_text(input, 8, 3, buffer, &err) == 0 &&
           !memcmp(buffer, "2:2", 3),
       "its text is found again");
    ok(klr_input_rewind(input, &err) == 0 &&
           klr_input_line(input, &line, &err) == 1 &&
           !memcmp(line.text, "1 1:1", 5),
       "and so is its beginning");
    klr_input_close(input);
    dup2(saved, 0);
    close(fd);
    close(saved);
}

int main(void)
{
    int fd = mkstemp(path);
    if (fd < 0)
        return 99;
    close(fd);
    test_accepted();
    test_labels_refused();
    test_names_refused();
    test_names();
    test_many_names();
    test_indices_refused();
    test_values_refused();
    test_problem();
    for (int threads = 1; threads <= 3; threads++)
        test_threads(threads);
    test_no_problem();
    test_long_lines();
    test_pipe();
    test_waiting();
    test_early_rewind();
    test_stdin_in_the_middle();
    unlink(path);
    return done_testing();
}
