/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A text that grows.
 */
#ifndef KLR_BASE_TEXT_H
#define KLR_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The formatted arguments of a function that ends with (format, ...), in the
 * array `text`; what it has no room for is cut off. */
#define KLR_FORMAT(text, format)                                               \
    do {                                                                       \
        va_list klr_arguments;                                                 \
        va_start(klr_arguments, format);                                       \
        vsnprintf(text, sizeof(text), format, klr_arguments);                  \
        va_end(klr_arguments);                                                 \
    } while (0)

/* All zero at first: "". */
struct klr_text {
    char *text; /* to be freed; NULL: nothing was put */
    size_t length, capacity;
    bool failed; /* for want of memory: some of it is missing */
};

void klr_text_put(struct klr_text *text, const char *more);
/* Its first `length` bytes. */
void klr_text_put_some(struct klr_text *text, const char *more, size_t length);
/* At most 511 bytes. */
void klr_text_putf(struct klr_text *text, const char *format, ...)
    KLR_PRINTF(2, 3);
/* Between quotes, escaped as JSON has it; other bytes than of control
 * characters stay. */
void klr_text_put_json(struct klr_text *text, const char *more);
/* As messages show it: klr_visible. */
void klr_text_put_visible(struct klr_text *text, const char *more);
/* A blank and a word of a shell's command line; control characters as \xNN. */
void klr_text_put_shell(struct klr_text *text, const char *word);

#ifdef __cplusplus
}
#endif

#endif
