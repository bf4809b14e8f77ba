/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The only module that allocates. Sizes are checked for overflow; a failure
 * fills *err with KLR_E_MEMORY and returns NULL.
 */
#ifndef KLR_BASE_MEMORY_H
#define KLR_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* count * size bytes, aligned to 64; never NULL on success, also for 0 bytes.
 * klr_alloc leaves them uninitialised, klr_zalloc sets them to zero. */
void *klr_alloc(size_t count, size_t size, struct klr_error *err);
void *klr_zalloc(size_t count, size_t size, struct klr_error *err);

/* A copy of a string. */
char *klr_strdup(const char *text, struct klr_error *err);

/* Make `array`, a variable that points to room for `capacity` elements, hold at
 * least `need`, growing geometrically; contents are kept, and it may point
 * elsewhere then. 0, or KLR_E_MEMORY, and then both are as they were. An array
 * starts as NULL with a capacity of 0. */
#define KLR_GROW(array, capacity, need, err)                                   \
    klr_grow(&(array), &(capacity), (need), sizeof *(array), (err))
/* As KLR_GROW, for elements of `size` bytes; `array` is the variable's
 * address. */
int klr_grow(void *array, size_t *capacity, size_t need, size_t size,
             struct klr_error *err);

/* Keep up to 32 MB of freed memory for the next allocations, where the C
 * library would give it back to the system. This serves programs that allocate
 * the same again and again: the system need not clear every page anew. From
 * then on large arrays that grow are copied, where the system could have moved
 * their pages; so read files first. */
void klr_keep_freed(void);

/* Give it back now, since what follows needs blocks of other sizes. */
void klr_give_back(void);

/* `bytes` bytes of a block are about to be written to, all of them: have the
 * system make their pages ready together, rather than one by one as each is
 * met. Changes nothing but the time that takes; does nothing where the system
 * has no way of it. */
void klr_make_ready(void *begin, size_t bytes);

/* Says whether a block is going to be written to all over, or from its begin
 * on, as a new one is taken to be, or here and there. In the first case the
 * system may give it larger pages, which cost less for each byte, but are
 * resident as soon as any byte of them is. Nothing else changes. */
void klr_expect(void *begin, size_t bytes, bool all);

/* Blocks that are freed together. All zero at first; of copies one alone may
 * take and free. */
struct klr_arena {
    void *last;
};

/* As klr_alloc and klr_zalloc, but klr_arena_free frees the block; and then the
 * arena is as at first. */
void *klr_take(struct klr_arena *arena, size_t count, size_t size,
               struct klr_error *err);
void *klr_take_zero(struct klr_arena *arena, size_t count, size_t size,
                    struct klr_error *err);
void klr_arena_free(struct klr_arena *arena);

/* Make `array`, a variable, point to (rows, columns) elements. NULL: there is
 * no memory. */
#define KLR_TAKE(arena, array, rows, columns, err)                             \
    ((array) = klr_take((arena), (rows), (columns) * sizeof *(array), (err)))
#define KLR_TAKE_ZERO(arena, array, rows, columns, err)                        \
    ((array) =                                                                 \
         klr_take_zero((arena), (rows), (columns) * sizeof *(array), (err)))

/* Make each of `count` variables, vector (count), point to n numbers that are
 * 0, one behind the other. KLR_E_MEMORY. */
int klr_take_vectors(struct klr_arena *arena, size_t n, double **const *vector,
                     size_t count, struct klr_error *err);

/* Accepts NULL; returns NULL, so that `p = klr_free(p)` leaves no dangling. */
void *klr_free(void *block);

#ifdef __cplusplus
}
#endif

#endif
