/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The row cache: one arena divided into slots of equal size, a doubly linked
 * list of the slots in use from the least to the most recently used row, and a
 * table from keys to slots. Slots are handed out in ascending order, so that
 * the arena becomes resident only as rows come; nothing is allocated after
 * creation.
 *
 * Invariants: slots 0 .. used-1 hold rows; slot_of[key] == s if and only if
 * s < used and key_of[s] == key; there are at least two slots.
 */
#include "kernel/internal.h"

#define CACHE_NONE UINT32_MAX

struct klr_cache {
    char *arena;
    size_t bytes;   /* of the arena */
    size_t element; /* bytes of one */
    size_t length;  /* elements of a row */
    uint32_t keys, slots, used;
    uint32_t least, most;    /* slots: ends of the list; CACHE_NONE if empty */
    uint32_t *older, *newer; /* (keys) by slot; CACHE_NONE at the ends */
    uint32_t *key_of;        /* (keys) by slot */
    uint32_t *slot_of;       /* (keys) or CACHE_NONE */
};

static void cache_divide(struct klr_cache *cache, size_t length)
{
    size_t row = length * cache->element;
    size_t slots = row ? cache->bytes / row : cache->keys;
    cache->length = length;
    cache->slots = slots < cache->keys ? (uint32_t)slots : cache->keys;
}

static void cache_forget(struct klr_cache *cache)
{
    cache->used = 0;
    cache->least = cache->most = CACHE_NONE;
    for (uint32_t key = 0; key < cache->keys; key++)
        cache->slot_of[key] = CACHE_NONE;
}

int klr_cache_create(struct klr_cache **out, size_t keys, size_t length,
                     size_t element, size_t bytes, struct klr_error *err)
{
    int code = KLR_E_MEMORY;
    struct klr_cache *cache = klr_zalloc(1, sizeof *cache, err);
    if (!cache)
        goto done;
    /* two rows are promised, even to a cache of one key */
    double row = (double)length * (double)element;
    double table = 4.0 * sizeof(uint32_t) * (double)keys;
    if (keys >= CACHE_NONE || (double)bytes < table + 2 * row) {
        code = klr_fail(err, KLR_E_LIMIT,
                        "the row cache needs at least %.0f MB (-m)",
                        ceil((table + 2 * row) / 1048576));
        goto done;
    }
    bytes -= (size_t)table;
    cache->keys = (uint32_t)keys;
    cache->element = element;
    cache->bytes =
        (double)keys * row < (double)bytes ? keys * length * element : bytes;
    cache->arena = klr_alloc(cache->bytes, 1, err);
    cache->older = klr_alloc(keys, sizeof(uint32_t), err);
    cache->newer = klr_alloc(keys, sizeof(uint32_t), err);
    cache->key_of = klr_alloc(keys, sizeof(uint32_t), err);
    cache->slot_of = klr_alloc(keys, sizeof(uint32_t), err);
    if (!cache->arena || !cache->older || !cache->newer || !cache->key_of ||
        !cache->slot_of)
        goto done;
    code = 0;
    cache_forget(cache);
    cache_divide(cache, length);
done:
    *out = code ? klr_cache_free(cache) : cache;
    return code;
}

struct klr_cache *klr_cache_free(struct klr_cache *cache)
{
    if (cache) {
        klr_free(cache->arena);
        klr_free(cache->older);
        klr_free(cache->newer);
        klr_free(cache->key_of);
        klr_free(cache->slot_of);
    }
    return klr_free(cache);
}

static void cache_unlink(struct klr_cache *cache, uint32_t slot)
{
    uint32_t older = cache->older[slot], newer = cache->newer[slot];
    *(older == CACHE_NONE ? &cache->least : &cache->newer[older]) = newer;
    *(newer == CACHE_NONE ? &cache->most : &cache->older[newer]) = older;
}

static void cache_append(struct klr_cache *cache, uint32_t slot)
{
    cache->older[slot] = cache->most;
    cache->newer[slot] = CACHE_NONE;
    *(cache->most == CACHE_NONE ? &cache->least : &cache->newer[cache->most]) =
        slot;
    cache->most = slot;
}

void *klr_cache_row(struct klr_cache *cache, size_t key)
{
    uint32_t slot = cache->slot_of[key];
    if (slot != CACHE_NONE) {
        cache_unlink(cache, slot);
    } else if (cache->used < cache->slots) {
        slot = cache->used++;
    } else {
        slot = cache->least;
        cache_unlink(cache, slot);
        cache->slot_of[cache->key_of[slot]] = CACHE_NONE;
    }
    cache_append(cache, slot);
    cache->key_of[slot] = (uint32_t)key;
    cache->slot_of[key] = slot;
    return cache->arena + slot * cache->length * cache->element;
}

bool klr_cache_holds(const struct klr_cache *cache, size_t key)
{
    return cache->slot_of[key] != CACHE_NONE;
}

size_t klr_cache_room(const struct klr_cache *cache)
{
    return cache->slots;
}

/* The row of slot `from` moves to the free slot `to`. */
static void cache_move(struct klr_cache *cache, uint32_t from, uint32_t to)
{
    size_t row = cache->length * cache->element;
    uint32_t older = cache->older[from], newer = cache->newer[from];
    memcpy(cache->arena + to * row, cache->arena + from * row, row);
    *(older == CACHE_NONE ? &cache->least : &cache->newer[older]) = to;
    *(newer == CACHE_NONE ? &cache->most : &cache->older[newer]) = to;
    cache->older[to] = older;
    cache->newer[to] = newer;
    cache->key_of[to] = cache->key_of[from];
    cache->slot_of[cache->key_of[to]] = to;
}

static void cache_drop_least(struct klr_cache *cache)
{
    uint32_t slot = cache->least;
    cache_unlink(cache, slot);
    cache->slot_of[cache->key_of[slot]] = CACHE_NONE;
    if (slot != --cache->used)
        cache_move(cache, cache->used, slot);
}

/* Pack the columns that stay: elements and rows move down, so going upwards
 * nothing is overwritten before it has moved. Returns how many stay. */
static size_t cache_pack(struct klr_cache *cache, const size_t *from,
                         size_t length)
{
    size_t element = cache->element, stay = 0;
    char *to = cache->arena;
    for (size_t t = 0; t < length; t++)
        stay += from[t] != KLR_NO_COLUMN;
    for (size_t slot = 0; slot < cache->used; slot++) {
        const char *row = cache->arena + slot * cache->length * element;
        for (size_t t = 0, run; t < length; t += run) {
            run = 1;
            if (from[t] == KLR_NO_COLUMN)
                continue;
            while (t + run < length && from[t + run] == from[t] + run)
                run++;
            memmove(to, row + from[t] * element, run * element);
            to += run * element;
        }
    }
    return stay;
}

/* Make room for new columns in packed rows of `stay` elements: everything moves
 * up, so going downwards nothing is overwritten before it has moved. */
static void cache_spread(struct klr_cache *cache, const size_t *from,
                         size_t length, size_t stay)
{
    size_t element = cache->element;
    const char *packed = cache->arena + cache->used * stay * element;
    for (size_t slot = cache->used; slot-- > 0;) {
        char *row = cache->arena + slot * length * element;
        for (size_t t = length; t-- > 0;)
            if (from[t] != KLR_NO_COLUMN) {
                packed -= element;
                memmove(row + t * element, packed, element);
            }
    }
}

static void cache_fill(struct klr_cache *cache, klr_cache_fill *fill,
                       void *context)
{
    size_t row = cache->length * cache->element, key[KLR_CACHE_FILL];
    void *to[KLR_CACHE_FILL];
    for (size_t slot = 0, count; slot < cache->used; slot += count) {
        for (count = 0; count < KLR_CACHE_FILL && slot + count < cache->used;
             count++) {
            key[count] = cache->key_of[slot + count];
            to[count] = cache->arena + (slot + count) * row;
        }
        fill(context, key, to, count);
    }
}

void klr_cache_remap(struct klr_cache *cache, const size_t *from, size_t length,
                     klr_cache_fill *fill, void *context)
{
    size_t row = length * cache->element;
    while (cache->used > 0 && cache->used * row > cache->bytes)
        cache_drop_least(cache);
    size_t stay = cache_pack(cache, from, length);
    if (stay < length)
        cache_spread(cache, from, length, stay);
    cache_divide(cache, length);
    if (stay < length)
        cache_fill(cache, fill, context);
}
