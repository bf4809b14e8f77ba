/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A pool of threads for loops whose tasks are independent, or wait for earlier
 * tasks only.
 */
#ifndef KLR_BASE_THREADS_H
#define KLR_BASE_THREADS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* One task; `thread` < klr_pool_size tells whose workspace to use. */
typedef void klr_pool_task(void *context, size_t index, size_t thread);

/* Take all tasks 0 .. count-1, then return. They are handed out in ascending
 * order, each to whichever thread is free, the caller's among them: so a task
 * may wait for one of a smaller index. What was written before is seen by the
 * tasks, and what they wrote by the caller. One run at a time; tasks start
 * none. With one thread, or pool NULL, the tasks are a plain loop.
 *
 * False: the pool's watch has ended the run, and tasks are left. */
bool klr_pool_run(struct klr_pool *pool, size_t count, klr_pool_task *task,
                  void *context);

/* Likewise, whatever the watch says. */
void klr_pool_run_all(struct klr_pool *pool, size_t count, klr_pool_task *task,
                      void *context);

/* n items, divided into `count` shares of `size`, a multiple of KLR_SHARE_UNIT;
 * the last one may have less. */
enum { KLR_SHARE_UNIT = 256 };
struct klr_shares {
    size_t n, size, count;
};
/* At most `most` shares, of `least` items or more. */
struct klr_shares klr_shares_of(size_t n, size_t least, size_t most);
/* The items of a share are *begin <= i < the value. */
size_t klr_share(struct klr_shares shares, size_t index, size_t *begin);

/* A watch over all later runs: before each of its tasks the caller's thread
 * asks ends(context), and once that is true no thread begins another one. NULL:
 * no watch. */
typedef bool klr_pool_ends(void *context);
void klr_pool_watch(struct klr_pool *pool, klr_pool_ends *ends, void *context);
/* Ask the watch within a long task, or while a task waits: true if this run
 * ends. `thread` is the task's. */
bool klr_pool_asks(struct klr_pool *pool, size_t thread);

/* klr_free of a block of that many bytes, from all threads: what it takes to
 * give memory back grows with it. Returns NULL. */
void *klr_pool_release(struct klr_pool *pool, void *block, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
