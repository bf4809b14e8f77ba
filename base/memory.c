/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

enum {
    ALIGNMENT = 64,
    LARGE = 32 << 20,  /* bytes of a block that the system gives by itself */
    SPACIOUS = 4 << 20 /* of one that large pages are asked for */
};

static void *out_of_memory(struct klr_error *err, size_t count, size_t size)
{
    klr_fail(err, KLR_E_MEMORY, "out of memory (%.1f MB more were needed)",
             (double)count * (double)size / 1048576.0);
    return NULL;
}

/* Blocks are aligned by hand: what aligned_alloc cuts off in front of a block
 * may keep it, once freed, from serving the same request again. The address
 * that malloc gave lies in front of the block, where its alignment leaves room
 * for it. */
static char *base_of(const char *block)
{
    char *base = NULL;
    if (block)
        memcpy(&base, block - sizeof base, sizeof base);
    return base;
}

static bool fits(size_t count, size_t size)
{
    return !size || count <= (SIZE_MAX / 2 - ALIGNMENT) / size;
}

/* The block of `bytes` in what malloc gave, of which `kept` from `offset` on
 * stay. */
static char *place(char *base, size_t bytes, size_t offset, size_t kept)
{
    char *block = base + ALIGNMENT - (uintptr_t)base % ALIGNMENT;
    klr_expect(base, bytes, true);
    if (block != base + offset)
        memmove(block, base + offset, kept);
    memcpy(block - sizeof base, &base, sizeof base);
    return block;
}

/* realloc, of which the first `kept` bytes matter; NULL: there is no room. */
static char *resize(char *block, size_t kept, size_t count, size_t size)
{
    char *was = base_of(block), *base = NULL;
    size_t offset = block && was ? (size_t)(block - was) : 0;
    if (fits(count, size))
        base = realloc(was, count * size + ALIGNMENT);
    return base ? place(base, count * size, offset, kept) : NULL;
}

void *klr_alloc(size_t count, size_t size, struct klr_error *err)
{
    char *block = resize(NULL, 0, count, size);
    return block ? block : out_of_memory(err, count, size);
}

void *klr_zalloc(size_t count, size_t size, struct klr_error *err)
{
    char *base = NULL; /* calloc leaves alone what nobody has written to */
    if (fits(count, size))
        base = calloc(count * size + ALIGNMENT, 1);
    return base ? place(base, count * size, 0, 0)
                : out_of_memory(err, count, size);
}

char *klr_strdup(const char *text, struct klr_error *err)
{
    size_t size = strlen(text) + 1;
    char *copy = klr_alloc(size, 1, err);
    return copy ? memcpy(copy, text, size) : NULL;
}

int klr_grow(void *array, size_t *capacity, size_t need, size_t size,
             struct klr_error *err)
{
    char *block; /* of whatever type: pointers are alike */
    memcpy(&block, array, sizeof block);
    if (block && need <= *capacity)
        return 0;
    size_t grown = *capacity + *capacity / 2 + 16;
    if (grown < need)
        grown = need;
    block = resize(block, *capacity * size, grown, size);
    if (!block) {
        out_of_memory(err, grown, size);
        return KLR_E_MEMORY;
    }
    memcpy(array, &block, sizeof block);
    *capacity = grown;
    return 0;
}

/* ---- arenas ---- */

/* The address of the block before stands in front of what is given away. */
void *klr_take(struct klr_arena *arena, size_t count, size_t size,
               struct klr_error *err)
{
    char *block = NULL;
    if (fits(count, size))
        block = resize(NULL, 0, count * size + ALIGNMENT, 1);
    if (!block)
        return out_of_memory(err, count, size);
    memcpy(block, &arena->last, sizeof arena->last);
    arena->last = block;
    return block + ALIGNMENT;
}

void *klr_take_zero(struct klr_arena *arena, size_t count, size_t size,
                    struct klr_error *err)
{
    void *block = klr_take(arena, count, size, err);
    return block ? memset(block, 0, count * size) : NULL;
}

int klr_take_vectors(struct klr_arena *arena, size_t n, double **const *vector,
                     size_t count, struct klr_error *err)
{
    double *first = klr_take_zero(arena, n, count * sizeof *first, err);
    for (size_t k = 0; k < count && first; k++)
        *vector[k] = first + k * n;
    return first ? 0 : KLR_E_MEMORY;
}

void klr_arena_free(struct klr_arena *arena)
{
    while (arena->last) {
        void *block = arena->last;
        memcpy(&arena->last, block, sizeof arena->last);
        klr_free(block);
    }
}

/* ---- the system ---- */

void klr_keep_freed(void)
{
#ifdef M_TRIM_THRESHOLD
    if (mallopt(M_MMAP_THRESHOLD, LARGE)) /* 32 bits have no room for that */
        mallopt(M_TRIM_THRESHOLD, LARGE);
#endif
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 1); /* what one thread has freed serves the others */
#endif
}

void klr_give_back(void)
{
#ifdef M_TRIM_THRESHOLD
    malloc_trim(0);
#endif
}

void klr_make_ready(void *begin, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t before = (uintptr_t)begin % page;
    madvise((char *)begin - before, before + bytes, MADV_POPULATE_WRITE);
#else
    (void)begin;
    (void)bytes;
#endif
}

void klr_expect(void *begin, size_t bytes, bool all)
{
#ifdef MADV_HUGEPAGE
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t before = (uintptr_t)begin % page;
    if (bytes >= SPACIOUS)
        madvise((char *)begin - before, before + bytes,
                all ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#else
    (void)begin;
    (void)bytes;
    (void)all;
#endif
}

void *klr_free(void *block)
{
    free(base_of(block));
    return NULL;
}
