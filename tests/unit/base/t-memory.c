/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks are aligned, and keep their contents when they grow. What is freed is
 * kept for what is allocated next: its pages come from the system once, and all
 * together where that is asked for.
 */
#include "base/memory.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/tap.h"

#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__
#define IS_KEPT (sizeof(void *) > 4) /* for less there is no room */
#else
#define IS_KEPT false
#endif

enum { BYTES = 8 << 20, ROUNDS = 8 };

/* Pages that the system has made ready for this process so far. */
static long pages(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static bool use(void)
{
    char *block = klr_alloc(BYTES, 1, NULL);
    if (block)
        memset(block, 1, BYTES);
    klr_free(block);
    return block;
}

static void test_grow(void)
{
    double *array = NULL;
    size_t capacity = 0, n = 0;
    bool good = true;
    void *others[30];
    for (size_t i = 0; i < 30; i++) { /* others are in its way */
        good = good && !KLR_GROW(array, capacity, n + i * i, NULL) &&
               (uintptr_t)array % 64 == 0 && capacity >= n + i * i;
        for (size_t last = n + i * i; n < last && good; n++)
            array[n] = (double)n;
        others[i] = klr_alloc(i, 1, NULL);
        good = good && others[i] && (uintptr_t)others[i] % 64 == 0;
    }
    for (size_t i = 0; i < n; i++)
        good = good && array[i] == (double)i;
    ok(good && n == 8555, "an array grows to %zu numbers", n);
    struct klr_error err;
    double *before = array;
    ok(klr_grow(&array, &capacity, SIZE_MAX / 8, 8, &err) == KLR_E_MEMORY &&
           array == before && array[n - 1] == (double)(n - 1),
       "one that cannot stays as it was: %s", err.message);
    for (size_t i = 0; i < 30; i++)
        klr_free(others[i]);
    klr_free(array);
}

/* Blocks of an arena stay until all are freed; valgrind and sanitizers tell
 * whether they are. */
static void test_arena(void)
{
    struct klr_arena arena = {0};
    struct klr_error err;
    double *a = NULL, *b = NULL, *c, *vectors[2] = {0};
    double **const vector[] = {&vectors[0], &vectors[1]};
    bool good = KLR_TAKE(&arena, a, 3, 5, NULL) &&
                KLR_TAKE_ZERO(&arena, b, 1, 7, NULL) &&
                !klr_take_vectors(&arena, 9, vector, 2, NULL);
    good = good && (uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0 &&
           vectors[1] == vectors[0] + 9;
    for (size_t i = 0; i < 15 && good; i++)
        a[i] = 1;
    for (size_t i = 0; i < 7; i++)
        good = good && b[i] == 0;
    for (size_t i = 0; i < 18; i++)
        good = good && vectors[0][i] == 0;
    ok(good, "vectors, those that are to be 0 are");
    ok(!KLR_TAKE(&arena, c, SIZE_MAX / 16, 3, &err) &&
           !KLR_TAKE_ZERO(&arena, c, SIZE_MAX, 1, &err) &&
           klr_take_vectors(&arena, SIZE_MAX / 8, vector, 2, &err) ==
               KLR_E_MEMORY,
       "not more than there is: %s", err.message);
    klr_arena_free(&arena);
    good = !arena.last && KLR_TAKE(&arena, c, 1, 1, NULL);
    klr_arena_free(&arena);
    ok(good && !arena.last, "freed, it begins anew");
}

static void test_keep(void)
{
    klr_keep_freed();
    long start = pages();
    bool there = use();
    long first = pages() - start;
    for (int round = 0; round < ROUNDS; round++)
        there = use() && there;
    long later = pages() - start - first;
    ok(there && (!IS_KEPT || later <= first / 2),
       "%ld pages are made ready, then %ld in %d rounds", first, later, ROUNDS);
    klr_give_back();
    start = pages();
    ok(use() && (!IS_KEPT || pages() - start > first / 2),
       "what was given back is made ready again");
}

/* True if the system can make pages ready. */
static bool may_be_ready(char *block)
{
#ifdef MADV_POPULATE_WRITE
    return !madvise(block - (uintptr_t)block % 65536 + 65536, 65536,
                    MADV_POPULATE_WRITE);
#else
    (void)block;
    return false;
#endif
}

/* From within a page to within another; the system has to make the rest of the
 * block ready page by page. Checkers of memory meet pages of their own. */
static void test_ready(void)
{
    const size_t size = BYTES / 2 + 100;
    char *block = klr_alloc(4 * BYTES, 1, NULL); /* more than is kept */
    if (!block) {
        ok(false, "a block");
        return;
    }
    klr_expect(block, 4 * BYTES, false); /* pages are to be met one by one */
    block[1000] = 7;
    klr_make_ready(block + 1000, size);
    bool kept = block[1000] == 7, can = may_be_ready(block + 2 * BYTES);
    long start = pages();
    memset(block + 1000, 1, size);
    long ready = pages() - start;
    memset(block + 1000 + size, 1, BYTES);
    long rest = pages() - start - ready;
    ok(kept && (!can || ready < rest / 4),
       "%ld pages of a part made ready are met, %ld of as much behind it",
       ready, rest);
    klr_free(block);
}

/* What the system notes of the mapping that an address is in, after "VmFlags:";
 * "" where it tells nothing. */
static const char *flags_of(const void *address)
{
    static char line[1000];
    unsigned long long begin, end, at = (uintptr_t)address;
    bool inside = false;
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%llx-%llx ", &begin, &end) == 2)
            inside = at >= begin && at < end;
        else if (inside && !strncmp(line, "VmFlags:", 8))
            break;
        line[0] = 0;
    }
    if (maps)
        fclose(maps);
    return line;
}

/* A new block asks for large pages, one of which little is expected does not,
 * and neither changes what it holds. */
static void test_expect(void)
{
    const size_t size = (size_t)9 << 20;
    char *block = klr_alloc(size, 1, NULL);
    if (!block) {
        ok(false, "a block");
        return;
    }
    bool can = access("/sys/kernel/mm/transparent_hugepage", F_OK) == 0 &&
               *flags_of(block + size / 2);
    bool asks = strstr(flags_of(block + size / 2), " hg") != NULL, same = true;
    for (size_t i = 0; i < size; i += 1000)
        block[i] = (char)(i / 1000 % 100);
    klr_expect(block, size, false);
    bool ends = strstr(flags_of(block + size / 2), " hg") == NULL;
    for (size_t i = 0; i < size; i += 1000)
        same = same && block[i] == (char)(i / 1000 % 100);
    ok(same, "9 MB are the same, in pages of any size");
    ok(!can || (asks && ends), "large pages are asked for until few are meant");
    klr_free(block);
}

int main(void)
{
    test_ready();
    test_expect();
    test_grow();
    test_arena();
    test_keep();
    return done_testing();
}
