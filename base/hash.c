/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A hash of 64 bits (hash.h). A step is a bijection of the state for each word,
 * so that inputs that differ in one word alone never agree. A multiplication
 * takes longer than the next can be begun: so there are several states.
 */
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STATES = 4, TURN = STATES * sizeof(uint64_t) };

uint64_t klr_hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u; /* 2^64 over the golden ratio */
    return hash ^ (hash >> 29);
}

/* The next words into the states. */
static void hash_turn(uint64_t state[STATES], const void *words)
{
    uint64_t word[STATES];
    memcpy(word, words, TURN);
    for (size_t s = 0; s < STATES; s++)
        state[s] = klr_hash_word(state[s], word[s]);
}

uint64_t klr_hash(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    unsigned char rest[TURN] = {0};
    uint64_t state[STATES];
    hash = klr_hash_word(hash, (uint64_t)bytes + 1);
    for (size_t s = 0; s < STATES; s++)
        state[s] = hash;
    for (; bytes >= TURN; at += TURN, bytes -= TURN)
        hash_turn(state, at);
    if (bytes > 0) {
        memcpy(rest, at, bytes);
        hash_turn(state, rest);
    }
    for (size_t s = 0; s < STATES; s++)
        hash = klr_hash_word(hash, state[s]);
    return hash;
}

void klr_hash_text(char text[KLR_HASH_SIZE], uint64_t hash)
{
    snprintf(text, KLR_HASH_SIZE, "%016" PRIx64, hash);
}
