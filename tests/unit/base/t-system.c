/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the process may use: limits that are set are seen, the least counts, and
 * a control group is bound by its parents. Folders stand in for the groups.
 */
#include "base/machine/system.c"

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

static const char *const files[] = {"limit", "cpu.max", "cpu.cfs_quota_us",
                                    "cpu.cfs_period_us"};

/* Processor quotas of both versions, rounded up. */
static void test_quotas(const char *root, const char *a, const char *b)
{
    char group[16] = "/a/b";
    put(root, "cpu.max", "max 100000\n");
    put(a, "cpu.max", "250000 100000\n");
    put(b, "cpu.max", "400000 100000\n");
    ok(system_group(root, group, "cpu.max", system_quota) == 3,
       "a quota of two and a half processors");
    strcpy(group, "");
    ok(system_group(root, group, "cpu.max", system_quota) == SIZE_MAX,
       "no quota");
    put(root, "cpu.cfs_quota_us", "-1\n");
    put(root, "cpu.cfs_period_us", "100000\n");
    put(a, "cpu.cfs_quota_us", "50000\n");
    put(a, "cpu.cfs_period_us", "100000\n");
    strcpy(group, "/a/b");
    ok(system_group(root, group, "cpu.cfs_quota_us", system_old_quota) == 1,
       "half a processor, as version 1 has it");
    strcpy(group, "");
    ok(system_group(root, group, "cpu.cfs_quota_us", system_old_quota) ==
           SIZE_MAX,
       "no quota in version 1");
    ok(system_listed("cpuset,cpu,cpuacct", "cpu") &&
           !system_listed("cpuset,cpuacct", "cpu"),
       "controllers are found by their whole name");
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
    ok(system_group(root, group, "limit", system_limit) == 9000,
       "the root's limit");
    put(a, "limit", "3000\n");
    strcpy(group, "/a/b");
    ok(system_group(root, group, "limit", system_limit) == 3000,
       "a parent's limit");
    put(b, "limit", "2000\n");
    strcpy(group, "/a/b");
    ok(system_group(root, group, "limit", system_limit) == 2000,
       "the group's own limit");
    strcpy(group, "/not/here");
    ok(system_group(root, group, "limit", system_limit) == 9000,
       "a group that is not there: the root's");
    strcpy(group, "/a/b");
    ok(system_group(root, group, "none", system_limit) == SIZE_MAX,
       "no limit at all");
    test_quotas(root, a, b);
    for (int t = 0; t < 3; t++) {
        char path[128];
        const char *folder = t == 0 ? b : t == 1 ? a : root;
        for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
            snprintf(path, sizeof path, "%s/%s", folder, files[f]);
            unlink(path);
        }
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
