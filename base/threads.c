/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pool: threads sleep until a run is posted, take tasks until none is left,
 * and sleep again. A run ends when its tasks are done, not when all threads
 * have woken: one that comes too late finds no task. Thread t takes part if
 * there are more than t tasks, so short runs are left to a few.
 *
 * To wake a thread takes longer than a short run. So threads look out for the
 * next run for a while before they sleep, and so does the caller for the end of
 * one; whatever else is to run on their processors goes first. Who posts a run
 * wakes two that sleep, and these two more each as long as tasks are left: to
 * wake many takes the time of many.
 *
 * No lock is held to post, take or end a task. `left` counts the tasks of the
 * present run that nobody has taken, and is 0 between runs. Who counts it down
 * by one has taken a task, and may read what the run is: it cannot end before
 * that task is done. The lock is for those who sleep. Whoever is about to, says
 * so before it looks a last time, and whoever has news brings them before it
 * asks who sleeps: so one of both sees the other.
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

#include "base/machine/system.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/option.h"

enum {
    THREAD_STACK = 1 << 20,
    LOOKS = 160, /* before sleep: tens of microseconds, ... */
    PAUSES = 60, /* ... the first of which, one or two, give nothing up */
    WAKES = 2,   /* threads that one wakes */
    LINE = 64,   /* bytes of a cache line */
    RELEASED = 8 << 20
};

struct pool_thread {
    struct klr_pool *pool;
    size_t number; /* from 1; 0 is the caller */
    pthread_t id;
    pthread_cond_t wake;
    atomic_bool asleep;
};

struct klr_pool {
    size_t size; /* threads, the caller included */
    struct pool_thread *thread;
    pthread_mutex_t lock;
    pthread_cond_t over; /* the caller waits for the last tasks ... */
    atomic_bool waiting; /* ... if this says so */
    atomic_bool closing;
    klr_pool_ends *ends; /* or NULL */
    void *watch;
    atomic_bool ended; /* the present run */
    klr_pool_task *task;
    void *context;
    atomic_size_t count; /* tasks of the present run, ... */
    /* all threads change the last two, which share no line with others */
    char before_left[LINE];
    atomic_size_t left; /* ... not taken, ... */
    char before_done[LINE];
    atomic_size_t done; /* ... done */
    char after_done[LINE];
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

/* True if the present run has a task for that thread. */
static bool pool_has_task(const struct klr_pool *pool, size_t number)
{
    return atomic_load(&pool->left) > 0 && number < atomic_load(&pool->count) &&
           !atomic_load(&pool->ended);
}

static bool pool_take(struct klr_pool *pool, size_t *index)
{
    size_t left = atomic_load(&pool->left);
    while (left > 0 &&
           !atomic_compare_exchange_weak(&pool->left, &left, left - 1))
        ;
    *index = atomic_load(&pool->count) - left;
    return left > 0;
}

static void pool_do(struct klr_pool *pool, size_t index, size_t number)
{
    pool->task(pool->context, index, number);
    atomic_fetch_add(&pool->done, 1);
    if (!atomic_load(&pool->waiting))
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->over);
    pthread_mutex_unlock(&pool->lock);
}

/* A moment between two looks, in which others may run on this processor, but
 * for the first few. */
static void pool_pause(int look)
{
    if (look >= PAUSES)
        sched_yield();
#if defined __x86_64__ || defined __i386__
    else
        __builtin_ia32_pause();
#endif
}

/* Look out for a task. */
static bool pool_sees_task(const struct pool_thread *self)
{
    const struct klr_pool *pool = self->pool;
    for (int look = 0; look < LOOKS && !atomic_load(&pool->closing); look++) {
        if (pool_has_task(pool, self->number))
            return true;
        pool_pause(look);
    }
    return false;
}

/* Wake some of those that would take one of so many tasks. */
static void pool_wake(struct klr_pool *pool, size_t count, size_t some)
{
    for (size_t t = 1; t < count && t < pool->size && some > 0; t++) {
        struct pool_thread *thread = &pool->thread[t];
        if (!atomic_load(&thread->asleep))
            continue;
        pthread_mutex_lock(&pool->lock);
        atomic_store(&thread->asleep, false);
        pthread_cond_signal(&thread->wake);
        pthread_mutex_unlock(&pool->lock);
        some--;
    }
}

/* Until there is a task, or the pool closes. */
static void pool_sleep(struct pool_thread *self)
{
    struct klr_pool *pool = self->pool;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&self->asleep, true);
    if (pool_has_task(pool, self->number) || atomic_load(&pool->closing))
        atomic_store(&self->asleep, false);
    while (atomic_load(&self->asleep))
        pthread_cond_wait(&self->wake, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static void *pool_thread_main(void *argument)
{
    struct pool_thread *self = argument;
    struct klr_pool *pool = self->pool;
    size_t index;
    while (!atomic_load(&pool->closing)) {
        while (pool_has_task(pool, self->number) && pool_take(pool, &index))
            pool_do(pool, index, self->number);
        if (pool_sees_task(self))
            continue;
        pool_sleep(self);
        if (pool_has_task(pool, self->number))
            pool_wake(pool, atomic_load(&pool->count), WAKES);
    }
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
        pthread_cond_init(&thread->wake, NULL);
        if (pthread_create(&thread->id, &attributes, pool_thread_main,
                           thread)) {
            pthread_cond_destroy(&thread->wake);
            break;
        }
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
    pthread_cond_init(&pool->over, NULL);
    pool->size = 1;
    pool_start(pool, wanted);
    *out = pool;
    return 0;
}

struct klr_pool *klr_pool_free(struct klr_pool *pool)
{
    if (!pool)
        return NULL;
    atomic_store(&pool->closing, true);
    pool_wake(pool, pool->size, pool->size);
    for (size_t t = 1; t < pool->size; t++) {
        pthread_join(pool->thread[t].id, NULL);
        pthread_cond_destroy(&pool->thread[t].wake);
    }
    pthread_cond_destroy(&pool->over);
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

/* Until the tasks that were taken are done. */
static void pool_await(struct klr_pool *pool, size_t taken)
{
    for (int look = 0; look < LOOKS; look++) {
        if (atomic_load(&pool->done) == taken)
            return;
        pool_pause(look);
    }
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->waiting, true);
    while (atomic_load(&pool->done) < taken)
        pthread_cond_wait(&pool->over, &pool->lock);
    atomic_store(&pool->waiting, false);
    pthread_mutex_unlock(&pool->lock);
}

static void pool_share(struct klr_pool *pool, size_t count, klr_pool_task *task,
                       void *context)
{
    size_t index;
    pool->task = task;
    pool->context = context;
    atomic_store(&pool->done, 0);
    atomic_store(&pool->count, count);
    atomic_store(&pool->left, count);
    pool_wake(pool, count, WAKES);
    while (!klr_pool_asks(pool, 0) && pool_take(pool, &index))
        pool_do(pool, index, 0);
    pool_await(pool, count - atomic_exchange(&pool->left, 0));
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
