/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The only module that allocates. Sizes are checked for overflow; a failure
 * fills *err with KLR_E_MEMORY and returns NULL.
 */
#ifndef KLR_BASE_MEMORY_H
#define KLR_BASE_MEMORY_H

#include <stddef.h>

#include "base/error.h"

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
/* The same of elements of `size` bytes, with the address of the variable. */
int klr_grow(void *array, size_t *capacity, size_t need, size_t size,
             struct klr_error *err);

/* Keep up to 32 MB of what is freed for what is allocated next, where the C
 * library would give it back to the system: for programs that allocate the same
 * again and again, and would have each page of it cleared anew. Large arrays
 * that grow are copied from then on, where the system could move their pages:
 * what reads a file comes before. */
void klr_keep_freed(void);

/* `bytes` bytes of a block are about to be written to, all of them: have the
 * system make their pages ready together, rather than one by one as each is
 * met. Changes nothing but the time that takes; does nothing where the system
 * has no way of it. */
void klr_make_ready(void *begin, size_t bytes);

/* Accepts NULL; returns NULL, so that `p = klr_free(p)` leaves no dangling. */
void *klr_free(void *block);

#endif
