/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A hash of 64 bits (hash.h). A step is a bijection of the state for each word,
 * so that inputs that differ in one word alone never agree.
 */
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u; /* 2^64 over the golden ratio */
    return hash ^ (hash >> 29);
}

uint64_t klr_hash(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t word = 0;
    hash = hash_word(hash, (uint64_t)bytes + 1);
    for (; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = hash_word(hash, word);
    }
    word = 0;
    if (bytes > 0) {
        memcpy(&word, at, bytes);
        hash = hash_word(hash, word);
    }
    return hash;
}

void klr_hash_text(char text[KLR_HASH_SIZE], uint64_t hash)
{
    snprintf(text, KLR_HASH_SIZE, "%016" PRIx64, hash);
}
