/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/memory.h"

#include <limits.h>
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

void *klr_alloc(size_t count, size_t size, struct klr_error *err)
{
    if (size && count > (SIZE_MAX / 2 - ALIGNMENT) / size)
        return out_of_memory(err, count, size);
    size_t bytes = (count * size + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    void *block = aligned_alloc(ALIGNMENT, bytes);
    return block ? block : out_of_memory(err, count, size);
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
    void *block; /* of whatever type: pointers are alike */
    memcpy(&block, array, sizeof block);
    if (block && need <= *capacity)
        return 0;
    size_t grown = *capacity + *capacity / 2 + 16;
    if (grown < need)
        grown = need;
    bool fits = grown <= SIZE_MAX / 2 / size;
    block = fits ? realloc(block, grown * size) : NULL;
    if (!block) {
        out_of_memory(err, fits ? grown : need, size);
        return KLR_E_MEMORY;
    }
    memcpy(array, &block, sizeof block);
    *capacity = grown;
    return 0;
}

void klr_keep_freed(void)
{
#ifdef M_TRIM_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

void *klr_free(void *block)
{
    free(block);
    return NULL;
}
