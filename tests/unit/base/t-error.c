/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Errors are filled in and cut; what messages quote is printable, whole
 * characters, and as short as promised.
 */
#include "base/error.h"

#include <string.h>

#include "tests/tap.h"

static void test_errors(void)
{
    struct klr_error err = {0};
    ok(klr_fail_at(&err, KLR_E_DATA, 3, 4, "%s %d", "number", 5) ==
               KLR_E_DATA &&
           err.code == KLR_E_DATA && err.line == 3 && err.column == 4 &&
           !strcmp(err.message, "number 5"),
       "an error with its place");
    ok(klr_fail(&err, KLR_E_IO, "%300d", 1) == KLR_E_IO && err.line == 0 &&
           err.column == 0 && strlen(err.message) == sizeof err.message - 1,
       "one without, cut");
    ok(klr_fail(NULL, KLR_E_LIMIT, "x") == KLR_E_LIMIT, "nobody listens");
}

static void quotes(const char *text, size_t length, const char *expected)
{
    char quoted[KLR_QUOTED_SIZE];
    klr_quote_slice(quoted, text, text + length);
    if (!ok(!strcmp(quoted, expected), "quoted as %s", expected))
        printf("# got %s\n", quoted);
}

static void test_characters(void)
{
    quotes("a b", 3, "'a b'");
    quotes("", 0, "''");
    quotes("a\n\x7f\x1b[\0", 6, "'a\\x0A\\x7F\\x1B[\\x00'");
    quotes("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9,
           "'\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80'");
    quotes("\xC2\x9B", 2, "'\\xC2\\x9B'");          /* control sequence */
    quotes("\xC1\xA1", 2, "'\\xC1\\xA1'");          /* 'a' in two bytes */
    quotes("\xE0\x82\xAC", 3, "'\\xE0\\x82\\xAC'"); /* too long a form */
    quotes("\xED\xA0\x80", 3, "'\\xED\\xA0\\x80'"); /* a surrogate */
    quotes("\xF4\x90\x80\x80", 4, "'\\xF4\\x90\\x80\\x80'"); /* > 10FFFF */
    quotes("\xF8x", 2, "'\\xF8x'");
    quotes("\x82x", 2, "'\\x82x'");
    quotes("\xE2\x82z", 3, "'\\xE2\\x82z'");
    quotes("\xE2\x82", 2, "'\\xE2\\x82'"); /* ends within a character */
}

/* `code` in UTF-8, which has it in three bytes or four; returns its length. */
static size_t encode(unsigned code, char text[4])
{
    unsigned shift = code < 0x800 ? 6 : code < 0x10000 ? 12 : 18;
    unsigned mark = shift == 6 ? 0xC0 : shift == 12 ? 0xE0 : 0xF0;
    size_t length = 0;
    text[length++] = (char)(mark | code >> shift);
    while (shift > 0) {
        shift -= 6;
        text[length++] = (char)(0x80 | (code >> shift & 0x3F));
    }
    return length;
}

static void test_invisible(void)
{
    static const unsigned hidden[] = {
        0x80,   0xA0,   0xAD,   0x34F,  0x61C,  0x115F,  0x1160,  0x1680,
        0x17B4, 0x180B, 0x180E, 0x2000, 0x2003, 0x200A,  0x200B,  0x200C,
        0x200D, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A,  0x202E,  0x202F,
        0x205F, 0x2060, 0x2066, 0x2069, 0x206F, 0x2800,  0x3000,  0x3164,
        0xFE0F, 0xFEFF, 0xFFA0, 0xFFF9, 0xFFFB, 0x1D173, 0xE0001, 0xE01EF};
    static const unsigned shown[] = {
        0xA1,   0xAC,   0xAE,   0x34E,  0x350,  0x1161, 0x167F,  0x1FFF,
        0x2010, 0x2014, 0x2027, 0x2030, 0x205E, 0x2070, 0x27FF,  0x2801,
        0x3001, 0x3165, 0xFDFF, 0xFE10, 0xFF01, 0xFFFC, 0x1F600, 0x20000};
    char text[4];
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        ok(!klr_printable(text, text + encode(hidden[i], text)),
           "U+%04X cannot be seen", hidden[i]);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        size_t length = encode(shown[i], text);
        ok(klr_printable(text, text + length) == length, "U+%04X can",
           shown[i]);
    }
    quotes("a\xEF\xBB\xBF"
           "b",
           5, "'a\\xEF\\xBB\\xBFb'");
}

/* Long texts of one character of `size` bytes, after `shift` others, shown by
 * `shown` bytes each. */
static void check_cut(const char *character, size_t size, size_t shift,
                      size_t shown)
{
    char text[200], quoted[KLR_QUOTED_SIZE];
    memset(text, 'x', sizeof text);
    for (size_t i = 0; i + size < sizeof text - shift; i++)
        text[shift + i] = character[i % size];
    klr_quote_slice(quoted, text, text + sizeof text);
    size_t length = strlen(quoted), inner = length - strlen("'...'");
    ok(length < KLR_QUOTED_SIZE && length + shown >= KLR_QUOTED_SIZE &&
           !strcmp(quoted + length - 4, "...'") && (inner - shift) % shown == 0,
       "cut behind a whole character: %s", quoted);
}

int main(void)
{
    char quoted[KLR_QUOTED_SIZE];
    test_errors();
    test_characters();
    test_invisible();
    ok(!strcmp(klr_quote(quoted, "one"), "'one'"), "a string");
    for (size_t shift = 0; shift < 4; shift++) {
        check_cut("y", 1, shift, 1);
        check_cut("\xE2\x82\xAC", 3, shift, 3);
        check_cut("\1", 1, shift, 4);
    }
    return done_testing();
}
