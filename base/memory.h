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

/* Make `block`, which holds *capacity elements of `size` bytes, hold at least
 * `need`, growing geometrically; contents are kept. Returns the block, which
 * may be another one than before; NULL on failure, and then the old one is
 * still valid and owned. A block starts as NULL with *capacity 0. */
void *klr_grow(void *block, size_t *capacity, size_t need, size_t size,
               struct klr_error *err);

/* Accepts NULL; returns NULL, so that `p = klr_free(p)` leaves no dangling. */
void *klr_free(void *block);

#endif
