/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Doubles in four bytes: +-N 10^-s with N < 2^26 and -9 <= s <= 22, which has
 * all decimals of up to seven digits that are neither huge nor tiny. N and the
 * power of ten are exact, so that one division, rounded once, gives the double
 * that the decimal is read as.
 */
#ifndef KLR_BASE_PACKED_H
#define KLR_BASE_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KLR_PACKED_MOST 36028797e9 /* the largest, below 2^55 */

#ifdef __cplusplus
extern "C" {
#endif

/* False if no such number is `value`, bit by bit. */
bool klr_pack(double value, uint32_t *word);
void klr_unpack(size_t count, const uint32_t *word, double *value);

#ifdef __cplusplus
}
#endif

#endif
