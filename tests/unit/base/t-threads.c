/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pool: every turn is taken once, in ascending order, whatever the number
 * of turns and threads; and how many threads there are.
 */
#include <dirent.h>
#include <malloc.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/machine/system.h"
#include "base/memory.h"
#include "base/threads.h"
#include "tests/tap.h"

enum { MOST = 3000 };

struct tally {
    size_t size, count;
    unsigned char taken[MOST]; /* plain: a turn has it to itself */
    atomic_int bad;
    atomic_int started; /* turns whose predecessor was handed out */
    atomic_uint seen;   /* threads, as bits */
};

static void take(void *context, size_t index, size_t thread)
{
    struct tally *tally = context;
    if (index >= tally->count || thread >= tally->size)
        atomic_fetch_add(&tally->bad, 1);
    else
        tally->taken[index]++;
    atomic_fetch_or(&tally->seen, 1u << thread);
}

static void test_all_taken(void)
{
    static const size_t counts[] = {0, 1, 2, 3, 7, 64, MOST};
    for (long long threads = 1; threads <= 8; threads++) {
        struct klr_pool *pool;
        bool right = !klr_pool_create(&pool, threads, NULL) &&
                     klr_pool_size(pool) == (size_t)threads;
        for (int round = 0; right && round < 50; round++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
                static struct tally tally;
                memset(&tally, 0, sizeof tally);
                tally.size = klr_pool_size(pool);
                tally.count = counts[c];
                klr_pool_run(pool, tally.count, take, &tally);
                right = right && !tally.bad;
                for (size_t i = 0; i < MOST; i++)
                    right = right && tally.taken[i] == (i < tally.count);
            }
        ok(right, "%lld threads take every turn once, run after run", threads);
        klr_pool_free(pool);
    }
}

/* A turn that waits for the one before it: ends only if turns are handed out
 * in ascending order. */
static void wait_for_previous(void *context, size_t index, size_t thread)
{
    struct tally *tally = context;
    while ((size_t)atomic_load(&tally->started) != index)
        sched_yield();
    atomic_store(&tally->started, (int)index + 1);
    (void)thread;
}

/* A turn that ends only when every thread is in one. */
static void meet(void *context, size_t index, size_t thread)
{
    struct tally *tally = context;
    atomic_fetch_or(&tally->seen, 1u << thread);
    while (atomic_load(&tally->seen) != (1u << tally->size) - 1)
        sched_yield();
    (void)index;
}

static void test_order(void)
{
    static struct tally tally;
    struct klr_pool *pool;
    ok(!klr_pool_create(&pool, 4, NULL), "a pool of four");
    klr_pool_run(pool, 1000, wait_for_previous, &tally);
    ok(tally.started == 1000, "turns may wait for earlier ones");
    tally.size = klr_pool_size(pool);
    klr_pool_run(pool, tally.size, meet, &tally);
    ok(tally.seen == 15, "all threads work at the same time");
    klr_pool_free(pool);

    memset(&tally, 0, sizeof tally);
    tally.size = tally.count = 5;
    klr_pool_run(NULL, 5, take, &tally);
    ok(klr_pool_size(NULL) == 1 && tally.seen == 1 && tally.taken[4] == 1,
       "no pool: the caller alone");
    ok(!klr_pool_free(NULL), "free accepts NULL");
}

/* How many threads of this process sleep, as the system says. */
static size_t count_asleep(void)
{
    size_t count = 0;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        char name[300], state = 0;
        snprintf(name, sizeof name, "/proc/self/task/%s/stat", entry->d_name);
        FILE *file = fopen(name, "r");
        if (file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1)
            count += state == 'S';
        if (file)
            fclose(file);
    }
    if (threads)
        closedir(threads);
    return count;
}

/* Threads that all sleep are all woken, where there is a turn for each. The
 * alarm ends a test that would wait for ever. */
static void test_wake(void)
{
    static struct tally tally;
    struct klr_pool *pool;
    bool right = !klr_pool_create(&pool, 12, NULL);
    alarm(60);
    for (int round = 0; round < 20; round++) {
        while (count_asleep() < 11)
            sched_yield();
        memset(&tally, 0, sizeof tally);
        tally.size = klr_pool_size(pool);
        klr_pool_run(pool, tally.size, meet, &tally);
        right = right && tally.seen == (1u << 12) - 1;
    }
    alarm(0);
    ok(right, "threads that sleep are woken, each of them");
    klr_pool_free(pool);
}

/* Shares are whole units, in their order, and have each item once. */
static void test_shares(void)
{
    static const size_t sizes[] = {0, 1, 255, 256, 257, 4096, 70000, 1000003};
    static const size_t most[] = {1, 3, 64, SIZE_MAX};
    for (size_t m = 0; m < sizeof most / sizeof *most; m++)
        for (size_t least = 1; least < 10000; least += 4999) {
            bool right = true;
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                struct klr_shares shares =
                    klr_shares_of(sizes[s], least, most[m]);
                size_t end = 0, begin;
                for (size_t k = 0; k < shares.count && right; k++) {
                    size_t last = end;
                    end = klr_share(shares, k, &begin);
                    right = begin == last && end > begin &&
                            (end - begin == shares.size || end == sizes[s]);
                }
                right = right && end == sizes[s] && shares.count <= most[m] &&
                        shares.size >= least &&
                        shares.size % KLR_SHARE_UNIT == 0;
            }
            ok(right, "at most %zu shares, of at least %zu", most[m], least);
        }
}

static bool always(void *context)
{
    (void)context;
    return true;
}

/* A watch ends the runs that it may end, and those alone. */
static void test_watch(void)
{
    static struct tally tally;
    struct klr_pool *pool;
    for (long long threads = 1; threads <= 3; threads++) {
        size_t taken = 0;
        bool made = !klr_pool_create(&pool, threads, NULL);
        klr_pool_watch(pool, always, NULL);
        memset(&tally, 0, sizeof tally);
        tally.size = klr_pool_size(pool);
        tally.count = MOST;
        klr_pool_run_all(pool, MOST, take, &tally);
        for (size_t i = 0; i < MOST; i++)
            taken += tally.taken[i] == 1;
        ok(made && taken == MOST, "%lld threads: a run that nothing ends",
           threads);
        ok(klr_pool_asks(pool, 0) && !klr_pool_run(pool, MOST, take, &tally),
           "... and the watch has its say after it");
        klr_pool_free(pool);
    }
}

static size_t size_of(long long threads)
{
    struct klr_pool *pool;
    size_t size =
        klr_pool_create(&pool, threads, NULL) ? 0 : klr_pool_size(pool);
    klr_pool_free(pool);
    return size;
}

static void test_number(void)
{
    static const char *const bad[] = {"0", "-1", "x", "2x", "1025", " 2"};
    struct klr_pool *pool;
    struct klr_error err;
    unsetenv("KLR_THREADS");
    unsetenv("OMP_NUM_THREADS");
    ok(klr_processors() >= 1, "%zu processors", klr_processors());
    ok(size_of(0) == klr_processors(), "as many threads as processors");
    setenv("OMP_NUM_THREADS", "3,2", 1);
    ok(size_of(0) == 3, "OMP_NUM_THREADS, its first number");
    setenv("KLR_THREADS", "2", 1);
    ok(size_of(0) == 2, "KLR_THREADS comes first");
    ok(size_of(5) == 5, "a number given comes before both");
    for (size_t t = 0; t < sizeof bad / sizeof *bad; t++) {
        setenv("KLR_THREADS", bad[t], 1);
        ok(klr_pool_create(&pool, 0, &err) == KLR_E_USAGE && !pool &&
               strstr(err.message, "KLR_THREADS") &&
               strstr(err.message, bad[t]),
           "refused: %s", err.message);
    }
    ok(size_of(2) == 2, "but only where it counts");
    setenv("KLR_THREADS", "", 1);
    setenv("OMP_NUM_THREADS", "many", 1);
    ok(size_of(0) == klr_processors(), "what says nothing is ignored");
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && !CPU_COUNT(&one))
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    ok(klr_processors() == 1, "bound to one processor");
}

/* Bytes of the block that the system holds in memory. */
static size_t resident(const char *block, size_t bytes)
{
    static unsigned char page[1 << 16];
    size_t size = (size_t)sysconf(_SC_PAGESIZE), count = 0;
    uintptr_t begin = (uintptr_t)block / size * size;
    if (mincore((void *)begin, bytes, page)) /* no longer mapped */
        return 0;
    for (size_t i = 0; i < bytes / size; i++)
        count += page[i] & 1;
    return count * size;
}

/* Neighbours of the block's pages stay, also where the allocator has it between
 * others. */
static void test_release(void)
{
    static const size_t sizes[] = {0, 1, 4097, 8 << 20, (24 << 20) + 12345};
    struct klr_pool *pool;
    bool freed = true, kept = true;
    klr_pool_create(&pool, 3, NULL);
#ifdef __GLIBC__
    mallopt(M_MMAP_MAX, 0); /* all from one heap */
#endif
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        char *before = klr_alloc(5000, 1, NULL);
        char *block = klr_alloc(sizes[s], 1, NULL);
        char *after = klr_alloc(5000, 1, NULL);
        memset(before, 1, 5000);
        memset(block, 2, sizes[s]);
        memset(after, 3, 5000);
        freed = freed && !klr_pool_release(pool, block, sizes[s]);
        if (sizes[s] >> 20)
            freed = freed && resident(block, sizes[s]) < 1 << 20;
        for (size_t i = 0; i < 5000; i++)
            kept = kept && before[i] == 1 && after[i] == 3;
        klr_free(before);
        klr_free(after);
    }
    ok(freed, "memory goes back");
    ok(kept, "and no other");
    ok(!klr_pool_release(pool, NULL, 0) && !klr_pool_release(NULL, NULL, 0),
       "release accepts NULL");
    klr_pool_free(pool);
}

int main(void)
{
    test_all_taken();
    test_order();
    test_wake();
    test_watch();
    test_shares();
    test_number();
    test_release();
    return done_testing();
}
