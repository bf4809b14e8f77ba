/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mutants: texts made from the texts of a corpus by a few random edits. The
 * seed and the corpus alone decide what a mutant is.
 */
#ifndef KLR_TESTS_FUZZ_MUTATE_H
#define KLR_TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

enum { MUTANT_MOST = 1 << 17 };

struct specimen {
    char *name;
    char *text;
    size_t length;
};

struct corpus {
    struct specimen *item;
    size_t count;
};

struct mutant {
    char text[MUTANT_MOST];
    size_t length;
    const struct corpus *corpus;
    uint64_t state;          /* of the random numbers */
    char spare[MUTANT_MOST]; /* what an edit moves from one place to another */
};

/* Make mutant number `seed`. No specimen is longer than MUTANT_MOST, and the
 * corpus is not empty. */
void mutate(struct mutant *mutant, const struct corpus *corpus, uint64_t seed);

#endif
