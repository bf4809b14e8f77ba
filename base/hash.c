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

enum { STATES = KLR_HASH_STATES, TURN = STATES * sizeof(uint64_t) };

static uint64_t hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u; /* 2^64 over the golden ratio */
    return hash ^ (hash >> 29);
}

struct klr_hashing klr_hash_begin(uint64_t hash, size_t bytes)
{
    hash = hash_word(hash, (uint64_t)bytes + 1);
    return (struct klr_hashing){.state = {hash, hash, hash, hash}};
}

/* Whole turns of the states. */
static void hashing_turns(struct klr_hashing *h, const unsigned char *at,
                          size_t turns)
{
    uint64_t state[STATES], word[STATES];
    memcpy(state, h->state, TURN);
    for (size_t t = 0; t < turns; t++, at += TURN) {
        memcpy(word, at, TURN);
        for (size_t s = 0; s < STATES; s++)
            state[s] = hash_word(state[s], word[s]);
    }
    memcpy(h->state, state, TURN);
}

/* Bytes of the next word. */
static void hashing_fill(struct klr_hashing *h, const unsigned char *at,
                         size_t bytes)
{
    memcpy((unsigned char *)&h->word + h->filled, at, bytes);
    h->filled += bytes;
    if (h->filled < sizeof h->word)
        return;
    uint64_t *state = &h->state[h->words++ % STATES];
    *state = hash_word(*state, h->word);
    h->word = h->filled = 0;
}

void klr_hash_more(struct klr_hashing *h, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t take; bytes > 0; at += take, bytes -= take) {
        if (h->filled == 0 && h->words % STATES == 0 && bytes >= TURN) {
            take = bytes / TURN * TURN;
            hashing_turns(h, at, bytes / TURN);
        } else {
            take = sizeof h->word - h->filled;
            take = take < bytes ? take : bytes;
            hashing_fill(h, at, take);
        }
    }
}

uint64_t klr_hash_end(const struct klr_hashing *h)
{
    uint64_t hash = 0;
    for (size_t s = 0; s < STATES; s++)
        hash = hash_word(hash, h->state[s]);
    return h->filled > 0 ? hash_word(hash, h->word) : hash;
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
