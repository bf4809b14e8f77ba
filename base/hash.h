/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A hash of 64 bits that tells inputs apart: of words of 8 bytes, each mixed by
 * a multiplication and a shift into one of four states by turns. It resists no
 * one who wants equal ones.
 */
#ifndef KLR_BASE_HASH_H
#define KLR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* That of `hash`, the one of what came before, 0 at first, followed by so many
 * bytes and their number. */
uint64_t klr_hash(uint64_t hash, const void *data, size_t bytes);

/* That of `hash` and one word more, in less time. */
uint64_t klr_hash_word(uint64_t hash, uint64_t word);

/* 16 hexadecimal digits. */
enum { KLR_HASH_SIZE = 17 };
void klr_hash_text(char text[KLR_HASH_SIZE], uint64_t hash);

#endif
