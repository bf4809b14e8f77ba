/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Limits as the kernel tells them. A control group binds together with all its
 * parents, so that the least limit on the way to the root counts; inside a
 * container the group's own path need not exist, the root always does.
 */
#include "base/machine/system.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { TEXT = 4096 };

/* The beginning of a small file as a string; empty if it cannot be read. */
static void system_read(const char *path, char text[TEXT])
{
    size_t length = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        ssize_t got;
        while (length < TEXT - 1 &&
               (got = read(file, text + length, TEXT - 1 - length)) > 0)
            length += (size_t)got;
        close(file);
    }
    text[length] = '\0';
}

/* The number in `path`; SIZE_MAX for "max" and where there is none. */
static size_t system_limit(const char *path)
{
    char text[TEXT], *end;
    system_read(path, text);
    unsigned long long limit = strtoull(text, &end, 10);
    return end == text || limit > SIZE_MAX ? SIZE_MAX : (size_t)limit;
}

/* Processors that `quota` out of `period` microseconds make, rounded up. */
static size_t system_share(long long quota, long long period)
{
    return quota <= 0 || period <= 0 ? SIZE_MAX
                                     : (size_t)((quota - 1) / period + 1);
}

/* "quota period" of version 2; "max" is no quota. */
static size_t system_quota(const char *path)
{
    char text[TEXT];
    long long quota, period;
    system_read(path, text);
    return sscanf(text, "%lld %lld", &quota, &period) == 2
               ? system_share(quota, period)
               : SIZE_MAX;
}

/* Version 1 has the two in files; -1 is no quota, and ends as SIZE_MAX here. */
static size_t system_old_quota(const char *path)
{
    char name[TEXT + 128];
    long long quota = 0, period = 0;
    char text[TEXT];
    system_read(path, text);
    sscanf(text, "%lld", &quota);
    snprintf(name, sizeof name, "%.*s/cpu.cfs_period_us",
             (int)(strrchr(path, '/') - path), path);
    system_read(name, text);
    sscanf(text, "%lld", &period);
    return system_share(quota, period);
}

/* A limit of control groups: the file that tells it, in both versions. */
struct system_resource {
    const char *file, *controller, *old_file;
    size_t (*read)(const char *path), (*read_old)(const char *path);
};

/* The least limit in `file` from the group `root``group` up to `root`. */
static size_t system_group(const char *root, char *group, const char *file,
                           size_t (*limit_of)(const char *path))
{
    size_t least = SIZE_MAX;
    for (;;) {
        char path[TEXT + 128];
        snprintf(path, sizeof path, "%s%s/%s", root, group, file);
        size_t limit = limit_of(path);
        if (limit < least)
            least = limit;
        char *slash = strrchr(group, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

/* True if `name` is one of the names in `list`, between commas. */
static bool system_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

/* Lines of /proc/self/cgroup are "number:controllers:/group"; version 2 has
 * the number 0 and no controllers. */
static size_t system_groups(const struct system_resource *resource)
{
    char text[TEXT], root[64], *rest = text, *line;
    size_t least = SIZE_MAX, limit = SIZE_MAX;
    system_read("/proc/self/cgroup", text);
    snprintf(root, sizeof root, "/sys/fs/cgroup/%s", resource->controller);
    while ((line = strsep(&rest, "\n")) != NULL) {
        strsep(&line, ":");
        char *controllers = strsep(&line, ":");
        if (!controllers || !line)
            continue;
        if (!*controllers)
            limit = system_group("/sys/fs/cgroup", line, resource->file,
                                 resource->read);
        else if (system_listed(controllers, resource->controller))
            limit = system_group(root, line, resource->old_file,
                                 resource->read_old);
        if (limit < least)
            least = limit;
    }
    return least;
}

/* The limit of groups is read once: it would take longer than to solve a small
 * problem, of which there may be many. */
static size_t memory_of_groups(void)
{
    static const struct system_resource memory = {
        .file = "memory.max",
        .controller = "memory",
        .old_file = "memory.limit_in_bytes",
        .read = system_limit,
        .read_old = system_limit,
    };
    static _Atomic size_t known; /* 0: not yet */
    size_t least = atomic_load(&known);
    if (!least) {
        least = system_groups(&memory);
        atomic_store(&known, least);
    }
    return least;
}

size_t klr_memory_limit(void)
{
    size_t least = memory_of_groups();
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0 && (size_t)pages < least / (size_t)page)
        least = (size_t)pages * (size_t)page;
    struct rlimit space;
    if (!getrlimit(RLIMIT_AS, &space) && space.rlim_cur != RLIM_INFINITY &&
        space.rlim_cur < least)
        least = (size_t)space.rlim_cur;
    return least;
}

size_t klr_processors(void)
{
    static const struct system_resource processor = {
        .file = "cpu.max",
        .controller = "cpu",
        .old_file = "cpu.cfs_quota_us",
        .read = system_quota,
        .read_old = system_old_quota,
    };
    size_t least = system_groups(&processor);
    cpu_set_t set;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    /* a set too small for the machine is an error: then all are allowed */
    if (!sched_getaffinity(0, sizeof set, &set))
        online = CPU_COUNT(&set);
    if (online > 0 && (size_t)online < least)
        least = (size_t)online;
    return least < SIZE_MAX && least > 0 ? least : 1;
}

int klr_mount_of(const char *path)
{
    int number = -1;
#ifdef O_PATH
    char name[64], text[TEXT];
    int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0)
        return -1;
    snprintf(name, sizeof name, "/proc/self/fdinfo/%d", file);
    system_read(name, text);
    close(file);
    const char *line = strstr(text, "mnt_id:");
    if (!line || sscanf(line, "mnt_id: %d", &number) != 1)
        return -1;
#else
    (void)path;
#endif
    return number;
}

double klr_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
