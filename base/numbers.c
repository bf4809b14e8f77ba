/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decimal to double and back, correctly rounded. A number is read in one pass
 * as m * 10^e with a 64-bit m; then the first of these that is exact decides:
 *
 *   1. m <= 2^53 and |e| <= 22: m and 10^|e| are doubles, so that one product
 *      or quotient is rounded once;
 *   2. m < 10^19 and |e| <= 27: m 5^e, or m / 5^-e with a sticky bit for the
 *      remainder, in 128-bit integers, rounded to nearest even;
 *   3. strtod on the digits and the exponent, spelled without a point, which
 *      alone depends on the locale.
 *
 * More than 768 digits cannot move the result (the exact midpoint between two
 * doubles has no more), but for whether some later digit is not zero.
 */
#include "base/numbers.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANTISSA_DIGITS = 19, /* 10^19 - 1 < 2^64 */
    KEPT_DIGITS = 800,    /* > 768 */
    REAL_DIGITS = 17,     /* tell any double */
    SHORT_DIGITS = 15,    /* are told by any double */
    SIX_DIGITS = 6,
    EXPONENT_LIMIT = 20000, /* beyond it, 800 digits give 0 or infinity */
};

/* The parts of a spelling. */
struct spelling {
    bool negative;
    const char *first, *end; /* digits, perhaps with one point among them */
    size_t fraction;         /* digits after the point */
    uint64_t mantissa;       /* all digits, if they are no more than 19 */
    long long exponent;      /* as written, saturated at +-10^17 */
};

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define EIGHT_DIGITS
static const uint32_t tens[9] = {1,      10,      100,      1000,     10000,
                                 100000, 1000000, 10000000, 100000000};

/* Up to eight digits at once, first byte lowest: find how many bytes are
 * digits, shift them to the top so that zeros lead, and join neighbours:
 * 8 x 1 digit -> 4 x 2 -> 2 x 4 -> 1 x 8. */
static const char *eight_digits(const char *text, uint64_t *mantissa)
{
    const uint64_t ones = 0x0101010101010101, low = 0x000000FF000000FF;
    uint64_t bytes;
    memcpy(&bytes, text, 8);
    uint64_t digits = bytes - ones * '0';
    uint64_t others = ((bytes + ones * (127 - '9')) | digits) & (ones * 128);
    int count = others ? __builtin_ctzll(others) / 8 : 8;
    if (count == 0)
        return text;
    digits <<= 64 - 8 * count;
    digits = digits * 10 + (digits >> 8);
    digits = ((digits & low) * (100 + (1000000ULL << 32)) +
              ((digits >> 16) & low) * (1 + (10000ULL << 32))) >>
             32;
    *mantissa = *mantissa * tens[count] + digits;
    return text + count;
}
#endif

/* Appends digits to *mantissa, modulo 2^64; returns what follows them. */
static const char *read_digits(const char *text, const char *end,
                               uint64_t *mantissa)
{
#ifdef EIGHT_DIGITS
    while (end - text >= 8) {
        const char *next = eight_digits(text, mantissa);
        if (next != text + 8)
            return next;
        text = next;
    }
#endif
    for (; text < end && is_digit(*text); text++)
        *mantissa = *mantissa * 10 + (uint64_t)(*text - '0');
    return text;
}

/* "e" or "E", a sign and digits; otherwise `text` is the end of the number. */
static const char *read_exponent(const char *text, const char *end,
                                 long long *exponent)
{
    const long long limit = 100000000000000000;
    const char *p = text + 1;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '+' || *p == '-'))
        p++;
    if (p >= end || !is_digit(*p))
        return text;
    long long sum = 0;
    for (; p < end && is_digit(*p); p++)
        sum = sum < limit ? sum * 10 + (*p - '0') : sum;
    *exponent = negative ? -sum : sum;
    return p;
}

static const char *spell(const char *text, const char *end,
                         struct spelling *spelling)
{
    *spelling = (struct spelling){0};
    spelling->negative = text < end && *text == '-';
    if (text < end && (*text == '-' || *text == '+'))
        text++;
    spelling->first = text;
    const char *p = read_digits(text, end, &spelling->mantissa);
    size_t count = (size_t)(p - text);
    if (p < end && *p == '.') {
        text = ++p;
        p = read_digits(p, end, &spelling->mantissa);
        spelling->fraction = (size_t)(p - text);
        count += spelling->fraction;
    }
    spelling->end = p;
    if (count == 0)
        return NULL;
    if (p < end && (*p == 'e' || *p == 'E'))
        p = read_exponent(p, end, &spelling->exponent);
    return p;
}

static const double exact_power[23] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 wide;

static int bit_length(wide x)
{
    uint64_t high = (uint64_t)(x >> 64);
    return high ? 128 - __builtin_clzll(high)
                : 64 - __builtin_clzll((uint64_t)x | 1);
}

/* x 2^power rounded, where, if `sticky`, something less than 1 was cut off from
 * x; x > 0 has at least 55 bits then. The result is a normal number. */
static double round_wide(wide x, int power, bool sticky)
{
    int drop = bit_length(x) - 53;
    if (drop <= 0)
        return ldexp((double)(uint64_t)x, power);
    wide rest = x & (((wide)1 << drop) - 1), half = (wide)1 << (drop - 1);
    uint64_t kept = (uint64_t)(x >> drop);
    if (rest > half || (rest == half && (sticky || (kept & 1))))
        kept++;
    return ldexp((double)kept, power + drop);
}

/* m 10^e for 0 < m < 2^64, |e| <= 27: 5^27 < 2^63. A quotient of a 128-bit
 * number without leading zeros by 5^27 has at least 65 bits. */
static bool exact_wide(uint64_t m, long long e, double *value)
{
    if (e < -27 || e > 27)
        return false;
    uint64_t five = 1;
    for (long long i = e < 0 ? -e : e; i > 0; i--)
        five *= 5;
    if (e >= 0) {
        *value = round_wide((wide)m * five, (int)e, false);
        return true;
    }
    int shift = 128 - bit_length(m);
    wide dividend = (wide)m << shift, quotient = dividend / five;
    *value = round_wide(quotient, (int)e - shift, quotient * five != dividend);
    return true;
}
#else
static bool exact_wide(uint64_t m, long long e, double *value)
{
    return (void)m, (void)e, (void)value, false;
}
#endif

/* The digits of a spelling from the first that is not zero: at most `room` of
 * them and the mantissa that they form if they are no more than 19. */
struct digits {
    size_t count;
    uint64_t mantissa;
    long long exponent; /* of ten, for the number that `count` digits form */
    bool sticky;        /* a digit that was left out is not zero */
};

static struct digits collect(const struct spelling *spelling, char *text,
                             size_t room)
{
    struct digits digits = {0};
    size_t dropped = 0;
    for (const char *p = spelling->first; p < spelling->end; p++) {
        if (*p == '.' || (*p == '0' && digits.count == 0))
            continue;
        if (digits.count < room) {
            text[digits.count++] = *p;
            digits.mantissa = digits.mantissa * 10 + (uint64_t)(*p - '0');
        } else {
            dropped++;
            digits.sticky |= *p != '0';
        }
    }
    digits.exponent =
        spelling->exponent - (long long)spelling->fraction + (long long)dropped;
    return digits;
}

/* For more than 19 digits, leading zeros included, or a far exponent. */
static double convert_slowly(const struct spelling *spelling)
{
    char text[KEPT_DIGITS + 32];
    double value = 0;
    struct digits digits = collect(spelling, text, KEPT_DIGITS);
    if (digits.count == 0)
        return 0;
    if (digits.count <= MANTISSA_DIGITS &&
        exact_wide(digits.mantissa, digits.exponent, &value))
        return value;
    if (digits.sticky) {
        text[digits.count++] = '1';
        digits.exponent--;
    }
    if (digits.exponent > EXPONENT_LIMIT)
        digits.exponent = EXPONENT_LIMIT;
    if (digits.exponent < -EXPONENT_LIMIT)
        digits.exponent = -EXPONENT_LIMIT;
    snprintf(text + digits.count, sizeof text - digits.count, "e%d",
             (int)digits.exponent);
    return strtod(text, NULL);
}

static double convert(const struct spelling *spelling)
{
    double value = 0;
    uint64_t m = spelling->mantissa;
    long long e = spelling->exponent - (long long)spelling->fraction;
    size_t length = (size_t)(spelling->end - spelling->first);
    if (length > MANTISSA_DIGITS)
        return convert_slowly(spelling);
    if (m <= 1ULL << 53 && e >= -22 && e <= 22)
        return e < 0 ? (double)m / exact_power[-e] : (double)m * exact_power[e];
    if (m && exact_wide(m, e, &value))
        return value;
    return convert_slowly(spelling);
}

static const char *parse_any(const char *text, const char *end, double *value)
{
    struct spelling spelling;
    const char *next = spell(text, end, &spelling);
    if (next) {
        double magnitude = convert(&spelling);
        *value = spelling.negative ? -magnitude : magnitude;
    }
    return next;
}

/* The common spellings, [-]digits[.digits] with m <= 2^53, in a few
 * instructions; signs and digits of the fraction without branches. */
const char *klr_parse_real(const char *text, const char *end, double *value)
{
    static const double divisor[2][20] = {
        {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
         1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19},
        {-1e0,  -1e1,  -1e2,  -1e3,  -1e4,  -1e5,  -1e6,  -1e7,  -1e8,  -1e9,
         -1e10, -1e11, -1e12, -1e13, -1e14, -1e15, -1e16, -1e17, -1e18, -1e19}};
    bool negative = text < end && *text == '-';
    const char *first = text + negative, *p = first;
    uint64_t m = 0;
    size_t fraction = 0, digits;
    for (; p < end && is_digit(*p); p++)
        m = m * 10 + (uint64_t)(*p - '0');
    digits = (size_t)(p - first);
    if (p < end && *p == '.') {
        const char *point = p++;
        p = read_digits(p, end, &m);
        fraction = (size_t)(p - point) - 1;
        digits += fraction;
    }
    if (digits - 1 < MANTISSA_DIGITS && m <= 1ULL << 53 &&
        (p == end || (*p | 32) != 'e')) {
        *value = (double)m / divisor[negative][fraction];
        return p;
    }
    return parse_any(text, end, value);
}

const char *klr_parse_integer(const char *text, const char *end,
                              long long *value)
{
    bool negative = text < end && *text == '-';
    if (text < end && (*text == '-' || *text == '+'))
        text++;
    if (text >= end || !is_digit(*text))
        return NULL;
    /* Negative numbers reach one further: sum those. */
    long long sum = 0;
    for (; text < end && is_digit(*text); text++) {
        int digit = *text - '0';
        sum = sum < (LLONG_MIN + digit) / 10 ? LLONG_MIN : sum * 10 - digit;
    }
    *value = negative ? sum : sum == LLONG_MIN ? LLONG_MAX : -sum;
    return text;
}

bool klr_read_real(const char *text, double *value)
{
    const char *end = text + strlen(text);
    return klr_parse_real(text, end, value) == end && isfinite(*value);
}

bool klr_read_integer(const char *text, long long *value)
{
    const char *end = text + strlen(text);
    return klr_parse_integer(text, end, value) == end;
}

/* Put a point where the locale has something else. */
static int unlocalise(char *text, int length)
{
    size_t plain = strspn(text, "+-0123456789e");
    if (text[plain] == '\0' || text[plain] == '.')
        return length;
    size_t foreign = strcspn(text + plain, "0123456789e");
    text[plain] = '.';
    memmove(text + plain + 1, text + plain + foreign,
            (size_t)length - plain - foreign + 1);
    return length - (int)foreign + 1;
}

/* A number of `count` digits, d.ddd 10^exponent, as %.*g has it: without zeros
 * at its end, and with an exponent where the point would be far from them. One
 * more digit is that of a power of ten. */
static inline __attribute__((always_inline)) int
put_digits(char *text, bool negative, uint64_t number, const int count,
           int exponent)
{
    char digit[REAL_DIGITS] = {0}, *p = text;
    int last = count;
    for (int i = count - 1; i >= 0; i--, number /= 10)
        digit[i] = (char)('0' + number % 10);
    if (number > 0) {
        digit[0] = '1';
        exponent++;
    }
    bool scientific = exponent < -4 || exponent >= count;
    int point = scientific ? 1 : exponent + 1; /* digits before the point */
    while (digit[last - 1] == '0')
        last--;
    if (negative)
        *p++ = '-';
    if (point <= 0) {
        memcpy(p, "0.000", 5);
        p += 2 - point;
    }
    for (int i = 0; i < last || i < point; i++) {
        if (i == point && i > 0)
            *p++ = '.';
        *p++ = digit[i];
    }
    if (scientific) {
        *p++ = 'e';
        *p++ = exponent < 0 ? '-' : '+';
        *p++ = (char)('0' + abs(exponent) / 10);
        *p++ = (char)('0' + abs(exponent) % 10);
    }
    *p = '\0';
    return (int)(p - text);
}

/* a 10^power, 0 <= power <= 44, as a sum of two doubles: exact up to 10^22,
 * else within 2^-104 of it. */
static void scale_up(double a, int power, double *high, double *low)
{
    double first = exact_power[power < 22 ? power : 22];
    double second = exact_power[power < 22 ? 0 : power - 22];
    double product = a * first, error = fma(a, first, -product);
    *high = product * second;
    *low = fma(product, second, -*high) + error * second;
}

/* *up = whether the rest of a number, between 0 and 1, rounds it up; false if
 * that is not sure. */
static bool rounds_up(double rest, bool *up)
{
    const double doubt = 1e-6;
    *up = rest > 0.5;
    return fabs(rest - 0.5) > doubt;
}

/* The 17 digits of a: *number, which is less than a 10^(16 - *exponent) by
 * *rest, between 0 and 1. False if a is too large or too small for that. */
static bool find_digits(double a, uint64_t *number, double *rest, int *exponent)
{
    const uint64_t least = UINT64_C(10000000000000000);
    int binary;
    if (!(a >= 1e-27 && a < 1e17))
        return false;
    frexp(a, &binary);
    *exponent =
        (int)floor((binary - 1) * 0.30102999566398120); /* or one more */
    for (int turn = 0; turn < 2; turn++, ++*exponent) {
        double high, low;
        scale_up(a, REAL_DIGITS - 1 - *exponent, &high, &low);
        double below = floor(low);
        *number = (uint64_t)high + (uint64_t)(int64_t)below;
        *rest = low - below;
        if (*number < 10 * least)
            return *number >= least;
    }
    return false;
}

/* 15 digits if these are read as the same number, else 17; 0: not known. */
static int format_digits(char *text, double value)
{
    double rest, a = fabs(value);
    uint64_t number;
    int exponent, binary;
    bool up;
    if (!find_digits(a, &number, &rest, &exponent))
        return 0;
    /* half of the distance to the next double, in the last of the digits; no
     * power of two, where that below is nearer, lies between the two */
    double half, none;
    frexp(a, &binary);
    scale_up(ldexp(1, binary - 54), REAL_DIGITS - 1 - exponent, &half, &none);
    double beyond = (double)(number % 100) + rest;
    if (!rounds_up(beyond / 100, &up))
        return 0;
    double change = up ? 100 - beyond : beyond;
    if (change < 0.99 * half)
        return put_digits(text, value < 0, number / 100 + up, SHORT_DIGITS,
                          exponent);
    if (change < 1.01 * half || !rounds_up(rest, &up))
        return 0;
    return put_digits(text, value < 0, number + up, REAL_DIGITS, exponent);
}

int klr_format_real(char text[KLR_REAL_SIZE], double value)
{
    double back = 0;
    int length = format_digits(text, value);
    if (length > 0)
        return length;
    length = unlocalise(text, snprintf(text, KLR_REAL_SIZE, "%.15g", value));
    if (klr_parse_real(text, text + length, &back) && back == value)
        return length;
    return unlocalise(text, snprintf(text, KLR_REAL_SIZE, "%.17g", value));
}

/* value 10^k is rounded to six digits. The rounded product lies on the same
 * side of a tie as the exact one, or on the tie; then its rounding error, which
 * fma gives exactly, decides. */
int klr_format_six(char text[KLR_REAL_SIZE], double value)
{
    static const double power[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e0,
                                   1e1,  1e2,  1e3,  1e4,  1e5};
    static const double scale[] = {1e9, 1e8, 1e7, 1e6, 1e5,
                                   1e4, 1e3, 1e2, 1e1, 1e0};
    double a = fabs(value);
    if (!(a >= 1e-4 && a < 999999.5))
        return unlocalise(text, snprintf(text, KLR_REAL_SIZE, "%g", value));
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
    return put_digits(text, value < 0, six, SIX_DIGITS, e - 4);
}
