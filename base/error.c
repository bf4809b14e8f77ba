/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Errors, and what they quote (error.h): quoted text is valid UTF-8 without
 * control characters, whatever the bytes are.
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

/* Unicode 15, table 3-7: the first byte tells the length, each of the others
 * adds six bits, the shortest form is the only one. */
size_t klr_printable(const char *text, const char *end)
{
    static const uint32_t least[] = {0, ' ', 0xA0, 0x800, 0x10000};
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
    return code >= least[length] && code != 0x7F && !surrogate &&
                   code <= 0x10FFFF
               ? length
               : 0;
}

const char *klr_quote_slice(char quoted[KLR_QUOTED_SIZE], const char *text,
                            const char *end)
{
    const char *limit = quoted + (KLR_QUOTED_SIZE - sizeof "...'");
    char *q = quoted;
    *q++ = '\'';
    while (text < end) {
        char escape[] = "\\xNN";
        size_t taken = klr_printable(text, end), length = taken;
        const char *shown = text;
        if (!taken) {
            snprintf(escape, sizeof escape, "\\x%02X", (unsigned char)*text);
            shown = escape;
            taken = 1;
            length = sizeof escape - 1;
        }
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
