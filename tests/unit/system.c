/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the process may use: limits that are set are seen, the least counts, and
 * a control group is bound by its parents. Folders stand in for the groups.
 */
#include "base/system.c"

#include <sys/stat.h>

#include "tests/tap.h"

static void put(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

static void test_groups(void)
{
    char root[] = "/tmp/klr-system-XXXXXX", a[64], b[64], group[16] = "/a/b";
    bool made = mkdtemp(root) != NULL;
    snprintf(a, sizeof a, "%s/a", root);
    snprintf(b, sizeof b, "%s/a/b", root);
    if (!ok(made && !mkdir(a, 0700) && !mkdir(b, 0700), "folders"))
        return;
    put(root, "limit", "9000\n");
    put(b, "limit", "max\n");
    ok(system_group(root, group, "limit") == 9000, "the root's limit");
    put(a, "limit", "3000\n");
    strcpy(group, "/a/b");
    ok(system_group(root, group, "limit") == 3000, "a parent's limit");
    put(b, "limit", "2000\n");
    strcpy(group, "/a/b");
    ok(system_group(root, group, "limit") == 2000, "the group's own limit");
    strcpy(group, "/not/here");
    ok(system_group(root, group, "limit") == 9000,
       "a group that is not there: the root's");
    strcpy(group, "/a/b");
    ok(system_group(root, group, "none") == SIZE_MAX, "no limit at all");
    for (int t = 0; t < 3; t++) {
        char path[128];
        const char *folder = t == 0 ? b : t == 1 ? a : root;
        snprintf(path, sizeof path, "%s/limit", folder);
        unlink(path);
        rmdir(folder);
    }
}

int main(void)
{
    size_t before = klr_memory_limit();
    double first = klr_seconds(), second = klr_seconds();
    ok(before > 1 << 20, "%zu MB may be used", before >> 20);
    ok(second >= first, "the clock goes forward");
    test_groups();
    struct rlimit space = {0}, old = {0};
    if (getrlimit(RLIMIT_AS, &old) == 0) {
        space = old;
        space.rlim_cur = before / 2;
        bool set = !setrlimit(RLIMIT_AS, &space);
        size_t after = klr_memory_limit();
        setrlimit(RLIMIT_AS, &old); /* sanitizers need more */
        ok(set && after == before / 2, "half of it after RLIMIT_AS");
    }
    return done_testing();
}
