/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { ALIGNMENT = 64, LARGE = 32 << 20 };

static void *out_of_memory(struct klr_error *err, size_t count, size_t size)
{
    klr_fail(err, KLR_E_MEMORY, "out of memory (%.1f MB more were needed)",
             (double)count * (double)size / 1048576.0);
    return NULL;
}

/* Blocks are aligned by hand: what aligned_alloc cuts off in front of a block may
 * keep it, once freed, from serving the same request again. The address that
 * malloc gave lies in front of the block; its own alignment leaves room for it. */
static char *aligned(char *base)
{
    return base + ALIGNMENT - (uintptr_t)base % ALIGNMENT;
}

static void set_base(char *block, char *base)
{
    memcpy(block - sizeof base, &base, sizeof base);
}

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

void *klr_alloc(size_t count, size_t size, struct klr_error *err)
{
    char *base = fits(count, size) ? malloc(count * size + ALIGNMENT) : NULL;
    if (!base)
        return out_of_memory(err, count, size);
    char *block = aligned(base);
    set_base(block, base);
    return block;
}

void *klr_zalloc(size_t count, size_t size, struct klr_error *err)
{
    void *block = klr_alloc(count, size, err);
    return block ? memset(block, 0, count * size) : NULL;
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
    char *base = base_of(block);
    size_t offset = base ? (size_t)(block - base) : 0;
    base = fits(grown, size) ? realloc(base, grown * size + ALIGNMENT) : NULL;
    if (!base) {
        out_of_memory(err, grown, size);
        return KLR_E_MEMORY;
    }
    block = aligned(base);
    memmove(block, base + offset, *capacity * size);
    set_base(block, base);
    memcpy(array, &block, sizeof block);
    *capacity = grown;
    return 0;
}

void klr_keep_freed(void)
{
#ifdef M_TRIM_THRESHOLD
    if (mallopt(M_MMAP_THRESHOLD, LARGE)) /* 32 bits have no room for that */
        mallopt(M_TRIM_THRESHOLD, LARGE);
#endif
}

void *klr_free(void *block)
{
    free(base_of(block));
    return NULL;
}
