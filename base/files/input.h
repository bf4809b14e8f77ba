/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Input as lines: a file, a pipe or stdin ("-"), read in large blocks. Lines
 * are slices of the block, without their end (LF or CRLF); a UTF-8 byte order
 * mark before the first one is skipped.
 */
#ifndef KLR_BASE_INPUT_H
#define KLR_BASE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct klr_input; /* opaque; freed by klr_input_close */

/* Open `path`; "-" is stdin. With `keep`, the text of lines already read stays
 * readable through klr_input_text: a regular file by reading it again, anything
 * else through an unlinked temporary file in $TMPDIR or /tmp. Directories are
 * refused. KLR_E_IO, KLR_E_MEMORY. */
int klr_input_open(struct klr_input **out, const char *path, bool keep,
                   struct klr_error *err);

struct klr_line {
    const char *text, *end; /* valid until the next call */
    bool whole;             /* a line feed ended it, not the end of the input */
    long number;            /* from 1 */
    int64_t offset;         /* of `text` in the input, in bytes */
};

static inline bool klr_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The first of text .. end that is no blank, or the end. */
static inline const char *klr_skip_blanks(const char *text, const char *end)
{
    while (text < end && klr_is_blank(*text))
        text++;
    return text;
}

/* Leave off the blanks on both sides. */
static inline void klr_line_trim(struct klr_line *line)
{
    line->text = klr_skip_blanks(line->text, line->end);
    while (line->end > line->text && klr_is_blank(line->end[-1]))
        line->end--;
}

/* 1 and *line, 0 at the end, or a negative KLR_E code (-KLR_E_IO...). Blocks
 * only while no complete line is buffered. A NUL byte in a line is left to the
 * caller. A UTF-16 or UTF-32 byte order mark is KLR_E_DATA, and so is the mark
 * of a compressed file. */
int klr_input_line(struct klr_input *input, struct klr_line *line,
                   struct klr_error *err);

/* True if the next klr_input_line will have to read from the file: the moment
 * to flush one's own output. */
bool klr_input_would_block(const struct klr_input *input);

/* The text of that line, from *text to *end, without taking it; false if it is
 * not complete yet. */
bool klr_input_peek(const struct klr_input *input, const char **text,
                    const char **end);

/* Copy `length` bytes at `offset` into `buffer`; needs `keep`. KLR_E_IO, also
 * when the file has been written to since it was opened. */
int klr_input_text(struct klr_input *input, int64_t offset, size_t length,
                   char *buffer, struct klr_error *err);

/* Start again at the first line; needs `keep`. */
int klr_input_rewind(struct klr_input *input, struct klr_error *err);

struct klr_input *klr_input_close(struct klr_input *input); /* NULL */

#ifdef __cplusplus
}
#endif

#endif
