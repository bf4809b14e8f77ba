/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Errors: every function that can fail returns 0 or one of these codes and
 * describes the failure in a struct klr_error that its caller owns.
 */
#ifndef KLR_BASE_ERROR_H
#define KLR_BASE_ERROR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum klr_code {
    KLR_E_USAGE = 1, /* an option value or a call that cannot be honoured */
    KLR_E_MEMORY,    /* an allocation failed, or a size overflowed */
    KLR_E_LIMIT,     /* too little memory (-m), or time, for the problem */
    KLR_E_IO,        /* a file cannot be opened, read or written */
    KLR_E_PIPE,      /* nobody reads any more what is written */
    KLR_E_DATA,      /* a data or range file is malformed */
    KLR_E_MODEL,     /* a model file is malformed */
};

/* `message` is one line without file name and without final newline; it is
 * to be printed as "FILE:line:column: message", leaving out what is 0. */
struct klr_error {
    int code;
    long line, column; /* from 1; 0 where the error has no position */
    char message[256];
};

#if defined(__GNUC__)
#define KLR_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define KLR_PRINTF(text, first)
#endif

/* Fill *err (unless NULL) and return `code`; messages too long are cut. */
int klr_fail(struct klr_error *err, int code, const char *format, ...)
    KLR_PRINTF(3, 4);
int klr_fail_at(struct klr_error *err, int code, long line, long column,
                const char *format, ...) KLR_PRINTF(5, 6);

/* Quote a string, or the bytes from `text` to `end`, for a message. Long texts
 * are cut; each byte that is not printable UTF-8 becomes \xNN. Returns
 * `quoted`. */
enum { KLR_QUOTED_SIZE = 64 };
const char *klr_quote(char quoted[KLR_QUOTED_SIZE], const char *text);
const char *klr_quote_slice(char quoted[KLR_QUOTED_SIZE], const char *text,
                            const char *end);

const char *klr_plural(size_t count); /* "s", or "" where there is one */

/* Bytes of the printable UTF-8 character at `text`, before `end`; 0 if there is
 * none. A space is one; other blanks and what cannot be seen are not. */
size_t klr_printable(const char *text, const char *end);

/* How messages show what is at `text`, before `end`: that character, or a byte
 * that is not of one as \xNN. Returns how many bytes of the text it is. */
enum { KLR_VISIBLE_SIZE = 5 };
size_t klr_visible(const char *text, const char *end,
                   char shown[KLR_VISIBLE_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
