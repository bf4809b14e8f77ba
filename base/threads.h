/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A pool of threads for loops whose turns are independent, or wait for earlier
 * turns only.
 */
#ifndef KLR_BASE_THREADS_H
#define KLR_BASE_THREADS_H

#include <stddef.h>

#include "base/error.h"

enum { KLR_THREADS_MAX = 1024 };

struct klr_pool; /* opaque; freed by klr_pool_free */

/* A pool of `threads` threads, the caller's among them; 0: KLR_THREADS, else
 * the first number of OMP_NUM_THREADS, else klr_processors(). Fewer where the
 * system gives no more. Signals go to other threads than those of the pool.
 * KLR_E_MEMORY; KLR_E_USAGE if KLR_THREADS is not a number from 1 to
 * KLR_THREADS_MAX. */
int klr_pool_create(struct klr_pool **out, long long threads,
                    struct klr_error *err);
struct klr_pool *klr_pool_free(struct klr_pool *pool); /* NULL */

/* Threads that work, the caller's included; 1 if pool is NULL. */
size_t klr_pool_size(const struct klr_pool *pool);

/* One turn; `thread` < klr_pool_size tells whose workspace to use. */
typedef void klr_pool_turn(void *context, size_t index, size_t thread);

/* Take all turns 0 .. count-1, then return. They are handed out in ascending
 * order, each to whichever thread is free, the caller's among them: so a turn
 * may wait for one of a smaller index. What was written before is seen by the
 * turns, and what they wrote by the caller. One run at a time; turns start
 * none. With one thread, or pool NULL, the turns are a plain loop. */
void klr_pool_run(struct klr_pool *pool, size_t count, klr_pool_turn *turn,
                  void *context);

/* klr_free of a block of that many bytes, from all threads: what it takes to
 * give memory back grows with it. Returns NULL. */
void *klr_pool_release(struct klr_pool *pool, void *block, size_t bytes);

#endif
