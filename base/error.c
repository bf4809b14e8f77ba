/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Errors, and what they quote (error.h): quoted text is valid UTF-8 that can be
 * seen, whatever the bytes are.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int fail(struct klr_error *err, int code, long line, long column,
                const char *format, va_list args)
{
    if (err) {
        err->code = code;
        err->line = line;
        err->column = column;
        vsnprintf(err->message, sizeof err->message, format, args);
    }
    return code;
}

int klr_fail(struct klr_error *err, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(err, code, 0, 0, format, args);
    va_end(args);
    return code;
}

int klr_fail_at(struct klr_error *err, int code, long line, long column,
                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(err, code, line, column, format, args);
    va_end(args);
    return code;
}

/* Characters that cannot be told from nothing or from a blank, ascending:
 * controls, White_Space but the space itself, Default_Ignorable_Code_Point,
 * annotations, and the empty Braille pattern (Unicode 15, PropList.txt,
 * DerivedCoreProperties.txt). */
static const uint32_t invisible[][2] = {
    {0x7F, 0xA0},       {0xAD, 0xAD},       {0x34F, 0x34F},
    {0x61C, 0x61C},     {0x115F, 0x1160},   {0x1680, 0x1680},
    {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x2000, 0x200F},
    {0x2028, 0x202F},   {0x205F, 0x206F},   {0x2800, 0x2800},
    {0x3000, 0x3000},   {0x3164, 0x3164},   {0xFE00, 0xFE0F},
    {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},
    {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

static bool is_visible(uint32_t code)
{
    size_t i = 0;
    while (i < sizeof invisible / sizeof *invisible && code > invisible[i][1])
        i++;
    return code >= ' ' && (i == sizeof invisible / sizeof *invisible ||
                           code < invisible[i][0]);
}

/* Unicode 15, table 3-7: the first byte tells the length, each of the others
 * adds six bits, the shortest form is the only one. */
size_t klr_printable(const char *text, const char *end)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t code = (unsigned char)*text;
    size_t length = code < 0x80 ? 1 : code < 0xE0 ? 2 : code < 0xF0 ? 3 : 4;
    if ((code >= 0x80 && code < 0xC0) || code >= 0xF8 ||
        (size_t)(end - text) < length)
        return 0;
    code &= length == 1 ? 0x7Fu : 0x7Fu >> length;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3F);
    }
    bool surrogate = code >= 0xD800 && code < 0xE000;
    bool encoded = code >= least[length] && !surrogate && code <= 0x10FFFF;
    return encoded && is_visible(code) ? length : 0;
}

size_t klr_visible(const char *text, const char *end,
                   char shown[KLR_VISIBLE_SIZE])
{
    size_t length = klr_printable(text, end);
    if (!length) {
        snprintf(shown, KLR_VISIBLE_SIZE, "\\x%02X", (unsigned char)*text);
        return 1;
    }
    memcpy(shown, text, length);
    shown[length] = '\0';
    return length;
}

const char *klr_quote_slice(char quoted[KLR_QUOTED_SIZE], const char *text,
                            const char *end)
{
    const char *limit = quoted + (KLR_QUOTED_SIZE - sizeof "...'");
    char *q = quoted;
    *q++ = '\'';
    while (text < end) {
        char shown[KLR_VISIBLE_SIZE];
        size_t taken = klr_visible(text, end, shown), length = strlen(shown);
        if (length > (size_t)(limit - q))
            break;
        memcpy(q, shown, length);
        q += length;
        text += taken;
    }
    strcpy(q, text < end ? "...'" : "'");
    return quoted;
}

const char *klr_plural(size_t count)
{
    return count == 1 ? "" : "s";
}

const char *klr_quote(char quoted[KLR_QUOTED_SIZE], const char *text)
{
    return klr_quote_slice(quoted, text, text + strlen(text));
}
