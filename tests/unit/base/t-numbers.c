/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers: each way of converting against strtod, the grammar, the printer.
 */
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "tests/tap.h"

static bool same(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* The whole text is a number, equal to strtod's to the last bit. The text lies
 * in a block of its size, so that a sanitizer sees reads beyond it. */
static void check_value(const char *text)
{
    size_t length = strlen(text);
    char *copy = malloc(length + 1);
    double value = -77;
    memcpy(copy, text, length);
    copy[length] = '9';
    const char *next = klr_parse_real(copy, copy + length, &value);
    ok(next == copy + length && same(value, strtod(text, NULL)),
       "%.60s is %.17g", text, value);
    free(copy);
}

/* Only the first `length` bytes are a number, `value`; 0: there is none. */
static void check_prefix(const char *text, size_t length, double value)
{
    double got = value;
    const char *next = klr_parse_real(text, text + strlen(text), &got);
    const char *expected = length ? text + length : NULL;
    ok(next == expected && same(got, value), "\"%s\": %zu bytes are a number",
       text, length);
}

static void test_values(void)
{
    static const char *const text[] = {
        "0", "-0", "+1", "1", "-1.5", ".5", "5.", "00012", "0.1", "1e2", "1E+2",
        "1e-2", "1234567", "12345678", "123456789", "1234567890123456",
        /* m = 2^53 - 1, 2^53, 2^53 + 1 (a tie), 2^53 + 3 (a tie to above) */
        "9007199254740991", "9007199254740992", "9007199254740993",
        "9007199254740995", "9007199254740993.000000000000000000000000000001",
        "9007199254740992.999999999999999999999999999999",
        /* the ends of 10^22, 5^27 and 19 digits */
        "1e22", "1e23", "1e-22", "1e-23", "9007199254740991e22",
        "9007199254740991e-22", "9999999999999999999", "9999999999999999999e27",
        "9999999999999999999e28", "9999999999999999999e-27",
        "9999999999999999999e-28", "18446744073709551615",
        "18446744073709551616", "0.3333333333333333333",
        "0.33333333333333333333333333333333333333", "8.5e-27",
        /* quotients by 5^27 and 5^26 that are a tie but for their remainder */
        "6401771493178648847e-27", "1880976855146663840e-26",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124",
        "1.00000000000000011102230246251565404236316680908203126",
        /* subnormals: least, half of it (a tie to 0), above the tie; the
           greatest; the least normal */
        "4.9406564584124654e-324", "2.4703282292062327e-324",
        "2.4703282292062328e-324", "2.2250738585072011e-308",
        "2.2250738585072014e-308", "1e-400", "-1e-400", "1e-320",
        /* overflow: the greatest double, the tie to infinity, beyond */
        "1.7976931348623157e308", "1.7976931348623158e308",
        "1.7976931348623159e308", "1e309", "-1e999",
        "1e99999999999999999999999", "1e-99999999999999999999999",
        "0e99999999999999999999999",
        "0.000000000000000000000000000000000000000000000000001e51",
        "100000000000000000000000000000000000000000000000000e-50"};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        check_value(text[i]);
}

/* Digits far behind still decide: a tie of 2 is 1 + 2^-53 written out, then
 * zeros, then perhaps a one. */
static void test_long_spellings(void)
{
    static const char tie[] =
        "1.00000000000000011102230246251565404236316680908203125";
    enum { LENGTH = 5000 };
    static char text[LENGTH + 32];
    memset(text, '0', LENGTH);
    memcpy(text, tie, sizeof tie - 1);
    text[LENGTH] = '\0';
    check_value(text);
    text[LENGTH - 1] = '1';
    check_value(text);
    memset(text, '0', LENGTH);
    strcpy(text + LENGTH, "17e4000");
    text[1] = '.';
    check_value(text);
    memset(text, '9', LENGTH);
    strcpy(text + LENGTH, "e-5000");
    check_value(text);
    strcpy(text + LENGTH, "e-5320");
    check_value(text);
}

/* (2^54 - 1) 2^-1075, the tie with the most digits there are, and what differs
 * from it in the last one. */
static void test_longest_tie(void)
{
    enum { DIGITS = 768 };
    int digit[DIGITS + 1] = {0}; /* the lowest first */
    char text[DIGITS + 8];
    uint64_t m = ((uint64_t)1 << 54) - 1;
    for (size_t i = 0; m > 0; i++, m /= 10)
        digit[i] = (int)(m % 10);
    for (int power = 0, carry = 0; power < 1075; power++)
        for (size_t i = 0; i <= DIGITS; i++) {
            carry += 5 * digit[i];
            digit[i] = carry % 10;
            carry /= 10;
        }
    for (size_t i = 0; i < DIGITS; i++)
        text[i] = (char)('0' + digit[DIGITS - 1 - i]);
    strcpy(text + DIGITS, "e-1075");
    ok(digit[DIGITS] == 0 && digit[DIGITS - 1] > 0 && digit[0] == 5,
       "%d digits", DIGITS);
    for (char last = '4'; last <= '6'; last++) {
        text[DIGITS - 1] = last;
        check_value(text);
    }
}

static void test_grammar(void)
{
    static const char *const none[] = {
        "",    ".", "e5", "nan", "inf",  "Infinity", "+",   "-",    "+-1",
        "--1", "x", " 1", "+.",  "-.e1", ".e1",      "NAN", "-inf", ",5"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        check_prefix(none[i], 0, -77);
    check_prefix("0x10", 1, 0);
    check_prefix("1e", 1, 1);
    check_prefix("1e+", 1, 1);
    check_prefix("1e-x", 1, 1);
    check_prefix("1.e", 2, 1);
    check_prefix("1..2", 2, 1);
    check_prefix("2.5.1", 3, 2.5);
    check_prefix("1:2", 1, 1);
    check_prefix("3,5", 1, 3);
    check_prefix("1e5 ", 3, 1e5);
    check_prefix("12345678:", 8, 12345678);
    check_prefix("1234567\xb2\xff", 7, 1234567);
}

static void check_integer(const char *text, bool valid, long long value)
{
    long long got = value;
    bool read = klr_read_integer(text, &got);
    ok(read == valid && got == value, "integer \"%s\"", text);
}

static void test_integers(void)
{
    check_integer("0", true, 0);
    check_integer("+7", true, 7);
    check_integer("-0012", true, -12);
    check_integer("9223372036854775807", true, LLONG_MAX);
    check_integer("9223372036854775808", true, LLONG_MAX);
    check_integer("99999999999999999999999", true, LLONG_MAX);
    check_integer("-9223372036854775807", true, -LLONG_MAX);
    check_integer("-9223372036854775808", true, LLONG_MIN);
    check_integer("-9223372036854775809", true, LLONG_MIN);
    check_integer("", false, 0);
    check_integer("-", false, 0);
    check_integer("x", false, 0);
    check_integer("1.5", false, 1);
    check_integer("0x5", false, 0);
}

static void test_options(void)
{
    double value = 0;
    ok(klr_read_real("2.5e1", &value) && value == 25, "a whole string");
    ok(!klr_read_real("1x", &value), "junk behind is refused");
    ok(!klr_read_real("", &value), "an empty string is refused");
    ok(!klr_read_real("1e999", &value), "an infinity is refused");
    ok(!klr_read_real("nan", &value), "nan is refused");
    ok(!klr_read_real("0x10", &value), "hexadecimal is refused");
}

static void check_format(double value, const char *expected)
{
    char text[KLR_REAL_SIZE];
    int length = klr_format_real(text, value);
    ok(!strcmp(text, expected) && length == (int)strlen(expected),
       "%s is printed %s", expected, text);
}

static void test_format(void)
{
    check_format(0.1, "0.1");
    check_format(-2, "-2");
    check_format(1.0 / 3, "0.33333333333333331");
    check_format(100000, "100000");
    check_format(1e300, "1e+300");
    check_format(4.9406564584124654e-324, "4.94065645841247e-324");
    check_format(-1.7976931348623157e308, "-1.7976931348623157e+308");
}

/* True if its text is the C library's, where the point is one. */
static bool prints_like(double value)
{
    char text[KLR_REAL_SIZE], expected[KLR_REAL_SIZE];
    int length = klr_format_real(text, value);
    snprintf(expected, sizeof expected, "%.15g", value);
    if (strtod(expected, NULL) != value)
        snprintf(expected, sizeof expected, "%.17g", value);
    return length == (int)strlen(expected) && !strcmp(text, expected);
}

static uint64_t random_bits(void)
{
    static uint64_t bits = 88172645463325252;
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
    return bits;
}

/* Numbers near powers of two and of ten, of few digits, of all that there are,
 * and just below where 17 digits would become 18. */
static double some_number(int kind)
{
    int power = (int)(random_bits() % 50) - 30;
    double part = ldexp((double)(random_bits() >> 11), -53);
    double value = kind % 2 ? ldexp(1, 3 * power) : pow(10, power);
    switch (kind) {
    case 0:
    case 1:
        for (uint64_t steps = random_bits() % 4; steps > 0; steps--)
            value = nextafter(value, random_bits() % 2 ? 0 : 1e300);
        return value;
    case 2:
        return (double)(random_bits() % 1000000) * pow(10, power);
    case 3:
        return part * pow(10, power);
    default:
        return (1 - 0x1p-30 * part * part * part) * pow(10, power);
    }
}

static void test_digits(void)
{
    int bad = 0;
    for (int i = 0; i < 200000; i++) {
        double value = some_number(i % 5);
        bad += !prints_like(i % 2 ? value : -value);
    }
    ok(bad == 0, "200000 numbers have the C library's digits (%d have not)",
       bad);
}

static bool round_trip(uint64_t bits)
{
    char text[KLR_REAL_SIZE];
    double value, back = 0;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value))
        return true;
    const char *end = text + klr_format_real(text, value);
    return klr_parse_real(text, end, &back) == end && same(value, back);
}

static void test_round_trip(void)
{
    int bad = 0;
    for (int i = 0; i < 200000; i++)
        bad += !round_trip(random_bits());
    ok(bad == 0, "200000 random doubles print and read back (%d did not)", bad);
}

/* Everything again where the decimal point is a comma, if such is installed. */
static void test_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8",
                                        "fr_FR.UTF-8", "nl_NL.UTF-8", "de_DE"};
    size_t i = 0;
    while (i < sizeof names / sizeof *names && !setlocale(LC_ALL, names[i]))
        i++;
    if (i == sizeof names / sizeof *names) {
        ok(true, "a locale with a comma # SKIP none is installed");
        return;
    }
    double value = 0;
    static const char text[] = "0.333333333333333333333333333333e-50";
    const char *end = text + sizeof text - 1;
    check_format(0.5, "0.5");
    check_format(1.0 / 3, "0.33333333333333331");
    ok(klr_parse_real(text, end, &value) == end && value == 1e-50 / 3,
       "the locale does not change what is read");
    setlocale(LC_ALL, "C");
}

int main(void)
{
    test_values();
    test_long_spellings();
    test_longest_tie();
    test_grammar();
    test_integers();
    test_options();
    test_format();
    test_digits();
    test_round_trip();
    test_locale();
    return done_testing();
}
