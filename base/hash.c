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

struct klr_hashing klr_hash_begin(uint64_t hash, size_t bytes)
{
    return (struct klr_hashing){hash_word(hash, (uint64_t)bytes + 1), 0, 0};
}

void klr_hash_more(struct klr_hashing *h, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (; h->filled == 0 && bytes >= sizeof h->word;
         bytes -= sizeof h->word, at += sizeof h->word) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        h->hash = hash_word(h->hash, word);
    }
    while (bytes > 0) {
        size_t take = sizeof h->word - h->filled;
        if (take > bytes)
            take = bytes;
        memcpy((unsigned char *)&h->word + h->filled, at, take);
        at += take;
        bytes -= take;
        h->filled += take;
        if (h->filled == sizeof h->word) {
            h->hash = hash_word(h->hash, h->word);
            h->word = h->filled = 0;
        }
    }
}

uint64_t klr_hash_end(const struct klr_hashing *h)
{
    return h->filled > 0 ? hash_word(h->hash, h->word) : h->hash;
}

uint64_t klr_hash(uint64_t hash, const void *data, size_t bytes)
{
    struct klr_hashing h = klr_hash_begin(hash, bytes);
    klr_hash_more(&h, data, bytes);
    return klr_hash_end(&h);
}

void klr_hash_text(char text[KLR_HASH_SIZE], uint64_t hash)
{
    snprintf(text, KLR_HASH_SIZE, "%016" PRIx64, hash);
}
