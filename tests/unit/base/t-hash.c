/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A hash tells apart what differs in a bit, in the number of bytes, in what
 * came before, or in its order.
 */
#include "base/hash.h"

#include "tests/tap.h"

enum { BYTES = 75 }; /* turns of the states, words and a part of one */

static unsigned char data[BYTES];

/* How many of the hashes agree with another. */
static size_t agreements(const uint64_t *hash, size_t count)
{
    size_t agree = 0;
    for (size_t a = 0; a < count; a++)
        for (size_t b = a + 1; b < count; b++)
            agree += hash[a] == hash[b];
    return agree;
}

static void test_bits(void)
{
    static uint64_t hash[8 * BYTES + 1];
    for (size_t bit = 0; bit < (size_t)8 * BYTES; bit++) {
        data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        hash[bit] = klr_hash(7, data, BYTES);
        data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    hash[8 * BYTES] = klr_hash(7, data, BYTES);
    ok(!agreements(hash, 8 * BYTES + 1), "a bit more or less");
}

static void test_rest(void)
{
    const uint64_t word[] = {1, 2, 3, 4, 5, 6}, other[] = {5, 2, 3, 4, 1, 6};
    const unsigned char zero[BYTES] = {0};
    uint64_t hash[BYTES + 6];
    for (size_t i = 0; i <= BYTES; i++)
        hash[i] = klr_hash(0, zero, i);
    hash[BYTES + 1] = klr_hash(klr_hash(0, word, 8), zero, 1);
    hash[BYTES + 2] = klr_hash(0, word, sizeof word);
    hash[BYTES + 3] = klr_hash(0, other, sizeof other);
    hash[BYTES + 4] = klr_hash_word(klr_hash_word(0, 1), 2);
    hash[BYTES + 5] = klr_hash_word(klr_hash_word(0, 2), 1);
    ok(!agreements(hash, BYTES + 6), "lengths, beginnings and orders");
}

int main(void)
{
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(37 * i + 11);
    test_bits();
    test_rest();
    return done_testing();
}
