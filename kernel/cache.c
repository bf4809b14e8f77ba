/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The row cache: one arena divided into slots of equal size, a doubly linked
 * list of the slots in use from the least to the most recently used row, and a
 * table from keys to slots. Slots are handed out in ascending order, so that
 * the arena becomes resident only as rows come; nothing is allocated after
 * creation.
 *
 * Invariants: slots 0 .. used-1 hold rows; slot_of[key] == s if and only if
 * s < used and key_of[s] == key; there are at least two slots, and the arena
 * has room for most_slots.
 */
#include "kernel/parts.h"

#define CACHE_NONE UINT32_MAX
#define CACHE_GONE (UINT32_MAX - 1) /* there was such a row */

struct klr_cache {
    char *arena;
    size_t bytes;                           /* of the arena */
    size_t element;                         /* bytes of one */
    size_t length;                          /* elements of a row */
    uint32_t keys, used, slots, most_slots; /* slots: at present, and ever */
    uint32_t again;                         /* rows that came again of late */
    double price;
    uint32_t least, most;    /* slots: ends of the list; CACHE_NONE if empty */
    uint32_t *older, *newer; /* (keys) by slot; CACHE_NONE at the ends */
    uint32_t *key_of;        /* (keys) by slot */
    uint32_t *slot_of;       /* (keys) or CACHE_NONE, CACHE_GONE */
};

static void cache_forget(struct klr_cache *cache)
{
    cache->used = 0;
    cache->least = cache->most = CACHE_NONE;
    for (uint32_t key = 0; key < cache->keys; key++)
        cache->slot_of[key] = CACHE_NONE;
}

static uint32_t cache_slots(const struct klr_cache *cache)
{
    double row = (double)cache->length * (double)cache->element;
    return (uint32_t)fmin((double)cache->bytes / row, cache->keys);
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
    if (keys >= CACHE_GONE || (double)bytes < table + 2 * row) {
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
    cache->length = length;
    cache->slots = cache->most_slots = cache_slots(cache);
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

void klr_cache_reshape(struct klr_cache *cache, size_t length)
{
    double elements = (double)cache->slots * (double)cache->length;
    cache_forget(cache);
    cache->length = length;
    cache->most_slots = cache_slots(cache);
    cache->slots =
        (uint32_t)fmin(ceil(elements / (double)length), cache->most_slots);
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

/* Double the room once rows that came again have cost as much as that. */
static void cache_weigh(struct klr_cache *cache)
{
    if (cache->used < cache->slots || cache->slots == cache->most_slots ||
        ++cache->again < cache->price * cache->slots)
        return;
    cache->again = 0;
    cache->slots = cache->slots < cache->most_slots / 2 ? 2 * cache->slots
                                                        : cache->most_slots;
}

void *klr_cache_row(struct klr_cache *cache, size_t key)
{
    uint32_t slot = cache->slot_of[key];
    if (slot == CACHE_GONE)
        cache_weigh(cache);
    if (slot < CACHE_GONE) {
        cache_unlink(cache, slot);
    } else if (cache->used < cache->slots) {
        slot = cache->used++;
    } else {
        slot = cache->least;
        cache_unlink(cache, slot);
        cache->slot_of[cache->key_of[slot]] = CACHE_GONE;
    }
    cache_append(cache, slot);
    cache->key_of[slot] = (uint32_t)key;
    cache->slot_of[key] = slot;
    return cache->arena + slot * cache->length * cache->element;
}

bool klr_cache_holds(const struct klr_cache *cache, size_t key)
{
    return cache->slot_of[key] < CACHE_GONE;
}

size_t klr_cache_room(const struct klr_cache *cache)
{
    return cache->slots;
}

void klr_cache_begin(struct klr_cache *cache, size_t rows, double price)
{
    cache->price = price;
    if (rows < cache->slots)
        cache->slots = (uint32_t)(rows < 2 ? 2 : rows);
}
