/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pool: threads sleep until a run is posted, join it, take tasks until none
 * is left, and sleep again. A run ends when its tasks have ended, not when all
 * threads have woken: one that comes too late finds nothing posted.
 *
 * To wake a thread takes longer than a short run. So threads look out for the
 * next run for a while before they sleep, and so does the caller for the end of
 * one; whatever else is to run on their processors goes first. Only as many are
 * woken as have a task.
 *
 * Invariants, under the lock: task is NULL unless a run is posted; `joined`
 * threads work on it besides the caller; `sleeping` ones wait for a signal. A
 * thread is on its way to look for a run if it is neither. Without the lock
 * atomics alone are touched.
 */
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/option.h"
#include "base/system.h"

enum {
    THREAD_STACK = 1 << 20,
    LOOKS = 100, /* before sleep: tens of microseconds */
    RELEASED = 8 << 20
};

struct pool_thread {
    struct klr_pool *pool;
    size_t number; /* from 1; 0 is the caller */
    pthread_t id;
};

struct klr_pool {
    size_t size; /* threads, the caller included */
    struct pool_thread *thread;
    pthread_mutex_t lock;
    pthread_cond_t posted, left;
    atomic_bool closing;
    atomic_ulong run; /* how many have been posted */
    klr_pool_task *task;
    void *context;
    size_t sleeping;
    atomic_size_t joined, count, next;
    klr_pool_ends *ends; /* or NULL */
    void *watch;
    atomic_bool ended; /* the present run */
};

/* ---- how many ---- */

static int threads_wanted(long long threads, size_t *out, struct klr_error *err)
{
    const char *own = getenv("KLR_THREADS"),
               *openmp = getenv("OMP_NUM_THREADS");
    long long number = threads;
    if (number == 0 && own && *own) {
        char quoted[KLR_QUOTED_SIZE];
        if (!klr_read_integer(own, &number) || number < 1 ||
            number > KLR_THREADS_MAX)
            return klr_fail(err, KLR_E_USAGE,
                            "KLR_THREADS: %s is not a number from 1 to %d",
                            klr_quote(quoted, own), KLR_THREADS_MAX);
    }
    /* another program's variable, a list for it: taken where it makes sense */
    if (number == 0 && openmp)
        number = strtoll(openmp, NULL, 10);
    if (number < 1)
        number = (long long)klr_processors();
    *out = (size_t)(number < KLR_THREADS_MAX ? number : KLR_THREADS_MAX);
    return 0;
}

/* ---- threads ---- */

static void pool_take_tasks(struct klr_pool *pool, klr_pool_task *task,
                            void *context, size_t count, size_t number)
{
    size_t index;
    while (!klr_pool_asks(pool, number) &&
           (index = atomic_fetch_add(&pool->next, 1)) < count)
        task(context, index, number);
}

/* Wait for a run after the one that was seen, which has tasks left. */
static void pool_look_out(struct klr_pool *pool, unsigned long seen)
{
    for (int look = 0; look < LOOKS && !atomic_load(&pool->closing); look++) {
        if (atomic_load(&pool->run) != seen &&
            atomic_load(&pool->next) < atomic_load(&pool->count))
            break;
        sched_yield();
    }
}

static void *pool_thread_main(void *argument)
{
    const struct pool_thread *self = argument;
    struct klr_pool *pool = self->pool;
    unsigned long seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->closing && (!pool->task || pool->run == seen)) {
            pool->sleeping++;
            pthread_cond_wait(&pool->posted, &pool->lock);
            pool->sleeping--;
        }
        if (pool->closing)
            break;
        seen = pool->run;
        klr_pool_task *task = pool->task;
        void *context = pool->context;
        size_t count = pool->count;
        pool->joined++;
        pthread_mutex_unlock(&pool->lock);
        pool_take_tasks(pool, task, context, count, self->number);
        pthread_mutex_lock(&pool->lock);
        if (--pool->joined == 0)
            pthread_cond_signal(&pool->left);
        pthread_mutex_unlock(&pool->lock);
        pool_look_out(pool, seen);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Start what the system gives of `threads`, with all signals blocked. */
static void pool_start(struct klr_pool *pool, size_t threads)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    if (threads < 2 || pthread_attr_init(&attributes))
        return;
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->size < threads) {
        struct pool_thread *thread = &pool->thread[pool->size];
        *thread = (struct pool_thread){.pool = pool, .number = pool->size};
        if (pthread_create(&thread->id, &attributes, pool_thread_main, thread))
            break;
        pool->size++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

int klr_pool_create(struct klr_pool **out, long long threads,
                    struct klr_error *err)
{
    size_t wanted = 1;
    *out = NULL;
    int code = threads_wanted(threads, &wanted, err);
    if (code)
        return code;
    struct klr_pool *pool = klr_zalloc(1, sizeof *pool, err);
    if (!pool)
        return KLR_E_MEMORY;
    pool->thread = klr_alloc(wanted, sizeof *pool->thread, err);
    if (!pool->thread) {
        klr_free(pool);
        return KLR_E_MEMORY;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->posted, NULL);
    pthread_cond_init(&pool->left, NULL);
    pool->size = 1;
    pool_start(pool, wanted);
    *out = pool;
    return 0;
}

struct klr_pool *klr_pool_free(struct klr_pool *pool)
{
    if (!pool)
        return NULL;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->lock);
    for (size_t t = 1; t < pool->size; t++)
        pthread_join(pool->thread[t].id, NULL);
    pthread_cond_destroy(&pool->left);
    pthread_cond_destroy(&pool->posted);
    pthread_mutex_destroy(&pool->lock);
    klr_free(pool->thread);
    return klr_free(pool);
}

size_t klr_pool_size(const struct klr_pool *pool)
{
    return pool ? pool->size : 1;
}

/* ---- shares ---- */

struct klr_shares klr_shares_of(size_t n, size_t least, size_t most)
{
    size_t size = n / most + (n % most > 0);
    size = size > least ? size : least;
    size = (size + KLR_SHARE_UNIT - 1) / KLR_SHARE_UNIT * KLR_SHARE_UNIT;
    return (struct klr_shares){n, size, (n + size - 1) / size};
}

size_t klr_share(struct klr_shares shares, size_t index, size_t *begin)
{
    *begin = index * shares.size;
    size_t left = shares.n - *begin;
    return *begin + (left < shares.size ? left : shares.size);
}

/* ---- runs ---- */

void klr_pool_watch(struct klr_pool *pool, klr_pool_ends *ends, void *context)
{
    pool->ends = ends;
    pool->watch = context;
}

bool klr_pool_asks(struct klr_pool *pool, size_t thread)
{
    if (!pool || !pool->ends)
        return false;
    if (thread == 0 && pool->ends(pool->watch))
        atomic_store(&pool->ended, true);
    return atomic_load(&pool->ended);
}

/* With the lock: as many threads as have a task are on their way, or woken. */
static void pool_wake(struct klr_pool *pool, size_t count)
{
    size_t wanted = (count < pool->size ? count : pool->size) - 1;
    for (size_t awake = pool->size - 1 - pool->sleeping; awake < wanted;
         awake++)
        pthread_cond_signal(&pool->posted);
}

static void pool_share(struct klr_pool *pool, size_t count, klr_pool_task *task,
                       void *context)
{
    pthread_mutex_lock(&pool->lock);
    pool->task = task;
    pool->context = context;
    atomic_store(&pool->count, count);
    atomic_store(&pool->next, 0);
    atomic_fetch_add(&pool->run, 1);
    pool_wake(pool, count);
    pthread_mutex_unlock(&pool->lock);
    pool_take_tasks(pool, task, context, count, 0);
    pthread_mutex_lock(&pool->lock);
    pool->task = NULL;
    pthread_mutex_unlock(&pool->lock);
    for (int look = 0; look < LOOKS && atomic_load(&pool->joined) > 0; look++)
        sched_yield();
    pthread_mutex_lock(&pool->lock);
    while (pool->joined > 0)
        pthread_cond_wait(&pool->left, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

bool klr_pool_run(struct klr_pool *pool, size_t count, klr_pool_task *task,
                  void *context)
{
    if (pool)
        atomic_store(&pool->ended, false);
    if (klr_pool_size(pool) > 1 && count > 1) {
        pool_share(pool, count, task, context);
        return !atomic_load(&pool->ended);
    }
    for (size_t index = 0; index < count; index++) {
        if (klr_pool_asks(pool, 0))
            return false;
        task(context, index, 0);
    }
    return !pool || !atomic_load(&pool->ended);
}

void klr_pool_run_all(struct klr_pool *pool, size_t count, klr_pool_task *task,
                      void *context)
{
    klr_pool_ends *ends = pool ? pool->ends : NULL;
    if (pool)
        pool->ends = NULL;
    klr_pool_run(pool, count, task, context);
    if (pool)
        pool->ends = ends;
}

/* ---- memory ---- */

/* Whole pages of a block. */
struct pages {
    char *begin;
    size_t bytes;
};

/* A part of them; the addresses stay the block's. */
static void release_task(void *context, size_t index, size_t thread)
{
    const struct pages *pages = context;
    size_t at = index * RELEASED, left = pages->bytes - at;
    madvise(pages->begin + at, left < RELEASED ? left : RELEASED,
            MADV_DONTNEED);
    (void)thread;
}

void *klr_pool_release(struct klr_pool *pool, void *block, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t skip = (page - (uintptr_t)block % page) % page;
    if (klr_pool_size(pool) > 1 && block && bytes >= RELEASED) {
        struct pages pages = {(char *)block + skip,
                              (bytes - skip) / page * page};
        klr_pool_run(pool, (pages.bytes + RELEASED - 1) / RELEASED,
                     release_task, &pages);
    }
    return klr_free(block);
}
