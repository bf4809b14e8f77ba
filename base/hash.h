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

/* That hash of `bytes` bytes that come in parts. */
enum { KLR_HASH_STATES = 4 };
struct klr_hashing {
    uint64_t state[KLR_HASH_STATES], word;
    size_t words, filled; /* words mixed one by one; bytes of word */
};
struct klr_hashing klr_hash_begin(uint64_t hash, size_t bytes);
void klr_hash_more(struct klr_hashing *h, const void *data, size_t bytes);
uint64_t klr_hash_end(const struct klr_hashing *h);

/* 16 hexadecimal digits. */
enum { KLR_HASH_SIZE = 17 };
void klr_hash_text(char text[KLR_HASH_SIZE], uint64_t hash);

#endif
