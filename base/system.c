/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Limits as the kernel tells them. A control group binds together with all its
 * parents, so that the least limit on the way to the root counts; inside a
 * container the group's own path need not exist, the root always does.
 */
#include "base/system.h"

#include <fcntl.h>
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

/* The least limit in `file` from the group `root``group` up to `root`. */
static size_t system_group(const char *root, char *group, const char *file)
{
    size_t least = SIZE_MAX;
    for (;;) {
        char path[TEXT + 128];
        snprintf(path, sizeof path, "%s%s/%s", root, group, file);
        size_t limit = system_limit(path);
        if (limit < least)
            least = limit;
        char *slash = strrchr(group, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

/* Lines of /proc/self/cgroup are "number:controllers:/group"; version 2 has
 * the number 0 and no controllers. */
static size_t system_groups(void)
{
    char text[TEXT], *rest = text, *line;
    size_t least = SIZE_MAX, limit = SIZE_MAX;
    system_read("/proc/self/cgroup", text);
    while ((line = strsep(&rest, "\n")) != NULL) {
        strsep(&line, ":");
        char *controllers = strsep(&line, ":");
        if (!controllers || !line)
            continue;
        if (!*controllers)
            limit = system_group("/sys/fs/cgroup", line, "memory.max");
        else if (strstr(controllers, "memory"))
            limit = system_group("/sys/fs/cgroup/memory", line,
                                 "memory.limit_in_bytes");
        if (limit < least)
            least = limit;
    }
    return least;
}

size_t klr_memory_limit(void)
{
    size_t least = system_groups();
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0 && (size_t)pages < least / (size_t)page)
        least = (size_t)pages * (size_t)page;
    struct rlimit space;
    if (!getrlimit(RLIMIT_AS, &space) && space.rlim_cur != RLIM_INFINITY &&
        space.rlim_cur < least)
        least = (size_t)space.rlim_cur;
    return least;
}

double klr_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
