/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A hash is the same however its bytes are divided; it tells apart what differs
 * in a bit, in the number of bytes, in what came before, or in its order.
 */
#include "base/hash.h"

#include "tests/tap.h"

enum { BYTES = 75 }; /* turns of the states, words and a part of one */

static unsigned char data[BYTES];

static uint64_t in_parts(size_t first, size_t second)
{
    struct klr_hashing h = klr_hash_begin(7, BYTES);
    klr_hash_more(&h, data, first);
    klr_hash_more(&h, data + first, second - first);
    klr_hash_more(&h, data + second, BYTES - second);
    return klr_hash_end(&h);
}

static void test_parts(void)
{
    uint64_t whole = klr_hash(7, data, BYTES);
    bool same = true;
    for (size_t first = 0; first <= BYTES; first++)
        for (size_t second = first; second <= BYTES; second++)
            same = same && in_parts(first, second) == whole;
    ok(same, "in three parts as in one");
}

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
    uint64_t hash[BYTES + 4];
    for (size_t i = 0; i <= BYTES; i++)
        hash[i] = klr_hash(0, zero, i);
    hash[BYTES + 1] = klr_hash(klr_hash(0, word, 8), zero, 1);
    hash[BYTES + 2] = klr_hash(0, word, sizeof word);
    hash[BYTES + 3] = klr_hash(0, other, sizeof other);
    ok(!agreements(hash, BYTES + 4), "lengths, beginnings and orders");
}

int main(void)
{
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(37 * i + 11);
    test_parts();
    test_bits();
    test_rest();
    return done_testing();
}
