/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A library for LD_PRELOAD that makes memory allocations fail and finds blocks
 * that were never freed. The program runs soundly, as run 0, and then once for
 * each allocation that it made: in run N allocation number N fails. Runs are
 * children of the process, which forks before main begins: nothing is loaded
 * and linked again. Controlled by the environment:
 *
 *   FAILALLOC_EACH    folder for what the runs leave. Run N works in its folder
 *                     N, where it finds a file `old`, and writes to its N.out
 *                     and N.err. `runs` gets a line for each run: how it ended
 *                     (exit status, or minus the signal), how many allocations
 *                     it made, how many failed, and how many blocks the program
 *                     itself has not freed
 *   FAILALLOC_EVER    set: all allocations after it fail too
 *   FAILALLOC_LIBC    set: allocations that libraries make on their own
 *                     (stdio's buffers) count and fail, in place of the
 *                     program's
 *
 * An allocation is the program's if its caller's address lies in the program.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_aligned)(size_t, size_t);
static void (*next_free)(void *);

static uintptr_t program_begin, program_end;
static unsigned long fail_at; /* 0: none fails */
static bool fail_ever, fail_libc;

/* Counted by a run, in memory that its parent has, too. */
struct counts {
    unsigned long allocations, failed, live;
};

static struct counts *counts;

/* Live blocks of the program: open addressing, deletion by moving back. */
enum { SLOTS = 1 << 12 };
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

    if (++counts->live > SLOTS / 2)
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
    counts->live--;
    block[s] = NULL;
    for (s = (s + 1) % SLOTS; block[s]; s = (s + 1) % SLOTS) {
        void *moved = block[s];

        block[s] = NULL;
        counts->live--;
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
    unsigned long number = ++counts->allocations;
    bool fail =
        fail_at && (number == fail_at || (number > fail_at && fail_ever));
    counts->failed += fail;
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

/* A test tool that cannot do its work ends it. */
static void require(bool done)
{
    if (!done)
        abort();
}

/* `path` for writing, as the descriptor `file`. */
static void write_as(int file, const char *path)
{
    int opened = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    require(opened >= 0 && dup2(opened, file) == file);
    close(opened);
}

/* Goes on as run `number` in the folder, and ends with its parent. */
static void become_run(unsigned long number)
{
    char name[32];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(name, sizeof name, "%lu.err", number);
    write_as(STDERR_FILENO, name);
    snprintf(name, sizeof name, "%lu.out", number);
    write_as(STDOUT_FILENO, name);
    snprintf(name, sizeof name, "%lu", number);
    require(!mkdir(name, 0700) && !chdir(name));
    int old = open("old", O_WRONLY | O_CREAT, 0600);
    require(old >= 0 && write(old, "old\n", 4) == 4);
    close(old);
    fail_at = number;
}

/* How a child ends: its exit status, or minus the signal. */
static int end_of(pid_t child)
{
    int status = 0;

    require(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Returns in the runs; their parent ends here. */
static void run_each(const char *folder)
{
    unsigned long last = 0;

    require(!chdir(folder));
    int runs = open("runs", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(runs >= 0);
    for (unsigned long number = 0; number <= last; number++) {
        *counts = (struct counts){0};
        pid_t child = fork();
        if (child == 0) {
            close(runs);
            become_run(number);
            return;
        }
        int end = end_of(child);
        if (number == 0)
            last = counts->allocations;
        dprintf(runs, "%d %lu %lu %lu\n", end, counts->allocations,
                counts->failed, counts->live);
    }
    _exit(0);
}

__attribute__((constructor)) static void begin(void)
{
    const char *folder = getenv("FAILALLOC_EACH");

    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(counts != MAP_FAILED);
    find("free", &next_free);
    find("aligned_alloc", &next_aligned);
    find("realloc", &next_realloc);
    find("calloc", &next_calloc);
    find("malloc", &next_malloc);
    dl_iterate_phdr(find_program, NULL);
    fail_ever = getenv("FAILALLOC_EVER") != NULL;
    fail_libc = getenv("FAILALLOC_LIBC") != NULL;
    if (folder)
        run_each(folder);
}
