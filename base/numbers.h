/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one strict parser of numbers, for files and for options, and the one
 * printer. Neither depends on the locale.
 */
#ifndef KLR_BASE_NUMBERS_H
#define KLR_BASE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Text starting at `text`, ending before `end` (no final 0 needed):
 *   [+-] digits [. digits] [e|E [+-] digits], with digits on at least one side
 *   of the point. No blanks, no hexadecimal, no "nan" or "inf".
 * Returns the first byte after the longest such number, NULL if there is none
 * at `text`. *value is correctly rounded (to nearest, ties to even). A
 * magnitude beyond the range of double gives an infinity, which the caller
 * refuses; tiny numbers give subnormals or a signed zero. */
const char *klr_parse_real(const char *text, const char *end, double *value);

/* [+-] digits. Returns as above; saturates at the ends of long long. */
const char *klr_parse_integer(const char *text, const char *end,
                              long long *value);

/* The whole string is a finite number / an integer: for option values. */
bool klr_read_real(const char *text, double *value);
bool klr_read_integer(const char *text, long long *value);

/* The shortest of "%.15g" and "%.17g" that reads back as `value`; returns its
 * length. `value` is finite. */
enum { KLR_REAL_SIZE = 32 };
int klr_format_real(char text[KLR_REAL_SIZE], double value);

/* Format `value` like "%g" in the C locale: six digits, no trailing zeros.
 * Returns its length. */
int klr_format_six(char text[KLR_REAL_SIZE], double value);

#ifdef __cplusplus
}
#endif

#endif
