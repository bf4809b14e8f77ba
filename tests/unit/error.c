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
    ok(!strcmp(klr_quote(quoted, "one"), "'one'"), "a string");
    for (size_t shift = 0; shift < 4; shift++) {
        check_cut("y", 1, shift, 1);
        check_cut("\xE2\x82\xAC", 3, shift, 3);
        check_cut("\1", 1, shift, 4);
    }
    return done_testing();
}
