/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

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
