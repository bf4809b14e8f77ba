/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A library for LD_PRELOAD that makes memory allocations fail and finds blocks
 * that were never freed. Controlled by the environment:
 *
 *   FAILALLOC_AT      number (from 1) of the allocation that fails; 0: none
 *   FAILALLOC_EVER    set: all allocations after it fail too
 *   FAILALLOC_LIBC    set: allocations that libraries make on their own
 *                     (stdio's buffers) count and fail, in place of the
 *                     program's
 *   FAILALLOC_REPORT  file that gets "allocations N failed N live N" at exit;
 *                     live: blocks that the program itself has not freed
 *
 * An allocation is the program's if its caller's address lies in the program.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_aligned)(size_t, size_t);
static void (*next_free)(void *);

static uintptr_t program_begin, program_end;
static unsigned long fail_at, allocations, failed, live;
static bool fail_ever, fail_libc;

/* Live blocks of the program: open addressing, deletion by moving back. */
enum { SLOTS = 1 << 16 };
static void *block[SLOTS];

/* Guards all of the above, and is held for a few instructions. */
static atomic_flag busy = ATOMIC_FLAG_INIT;

static void enter(void)
{
    while (atomic_flag_test_and_set(&busy))
        ;
}

static void leave(void)
{
    atomic_flag_clear(&busy);
}

/* dlsym may allocate before the next allocator is known. */
static _Alignas(64) char early[8192];
static size_t early_used;

static void *early_alloc(size_t size)
{
    void *p = early + early_used;

    early_used += (size + 63) / 64 * 64;
    if (early_used > sizeof early)
        abort();
    return p;
}

static bool is_early(const void *p)
{
    return (const char *)p >= early && (const char *)p < early + sizeof early;
}

static size_t slot_of(const void *p)
{
    return (uintptr_t)p / 16 * 2654435761u % SLOTS;
}

static void remember(void *p)
{
    size_t s = slot_of(p);

    if (++live > SLOTS / 2)
        abort();
    while (block[s])
        s = (s + 1) % SLOTS;
    block[s] = p;
}

/* Nothing if it is a library's block. */
static void forget(const void *p)
{
    size_t s = slot_of(p);

    while (block[s] != p) {
        if (!block[s])
            return;
        s = (s + 1) % SLOTS;
    }
    live--;
    block[s] = NULL;
    for (s = (s + 1) % SLOTS; block[s]; s = (s + 1) % SLOTS) {
        void *moved = block[s];

        block[s] = NULL;
        live--;
        remember(moved);
    }
}

static bool from_program(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;

    return at >= program_begin && at < program_end;
}

static bool fails(const void *caller)
{
    if (fail_libc == from_program(caller))
        return false;
    enter();
    allocations++;
    bool fail = fail_at && (allocations == fail_at ||
                            (allocations > fail_at && fail_ever));
    failed += fail;
    leave();
    if (fail)
        errno = ENOMEM;
    return fail;
}

static void *made(void *p, const void *caller)
{
    if (!p || !from_program(caller))
        return p;
    enter();
    remember(p);
    leave();
    return p;
}

void *malloc(size_t size)
{
    const void *caller = __builtin_return_address(0);

    if (!next_malloc)
        return early_alloc(size);
    return fails(caller) ? NULL : made(next_malloc(size), caller);
}

void *calloc(size_t count, size_t size)
{
    const void *caller = __builtin_return_address(0);

    if (!next_calloc)
        return early_alloc(count * size); /* static storage: zero */
    return fails(caller) ? NULL : made(next_calloc(count, size), caller);
}

void *realloc(void *old, size_t size)
{
    const void *caller = __builtin_return_address(0);

    if (!next_realloc || is_early(old))
        abort();
    if (fails(caller))
        return NULL;
    enter(); /* before another thread is given the old block */
    if (old)
        forget(old);
    void *p = next_realloc(old, size);
    if (old && !p && size && from_program(caller))
        remember(old);
    leave();
    return made(p, caller);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    const void *caller = __builtin_return_address(0);

    return fails(caller) ? NULL : made(next_aligned(alignment, size), caller);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    const void *caller = __builtin_return_address(0);

    if (fails(caller))
        return ENOMEM;
    *out = made(next_aligned(alignment, size), caller);
    return *out ? 0 : ENOMEM;
}

void free(void *p)
{
    if (!p || is_early(p))
        return;
    enter();
    forget(p);
    leave();
    next_free(p);
}

/* The first object is the program. */
static int find_program(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    program_begin = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t end = begin + info->dlpi_phdr[i].p_memsz;

        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        program_begin = begin < program_begin ? begin : program_begin;
        program_end = end > program_end ? end : program_end;
    }
    return 1;
}

/* ISO C has no cast from object to function pointer; POSIX promises it. */
static void find(const char *name, void *function)
{
    void *symbol = dlsym(RTLD_NEXT, name);

    memcpy(function, &symbol, sizeof symbol);
}

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAILALLOC_AT");

    find("free", &next_free);
    find("aligned_alloc", &next_aligned);
    find("realloc", &next_realloc);
    find("calloc", &next_calloc);
    find("malloc", &next_malloc);
    dl_iterate_phdr(find_program, NULL);
    fail_ever = getenv("FAILALLOC_EVER") != NULL;
    fail_libc = getenv("FAILALLOC_LIBC") != NULL;
    fail_at = at ? strtoul(at, NULL, 10) : 0;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAILALLOC_REPORT");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

    if (file >= 0) {
        dprintf(file, "allocations %lu failed %lu live %lu\n", allocations,
                failed, live);
        close(file);
    }
}
