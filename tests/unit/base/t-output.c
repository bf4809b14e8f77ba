/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output appears whole or not at all: renaming, links, modes, devices, failures
 * and what is left behind.
 */
#include "base/files/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

static struct klr_error err;

/* The test runs in a fresh folder of its own. */
static int entries(const char *folder)
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; (e = readdir(dir));)
        count += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(dir);
    return count;
}

static void spit(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static bool holds(const char *path, const char *text)
{
    char buffer[256];
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    size_t length = fread(buffer, 1, sizeof buffer - 1, file);
    fclose(file);
    buffer[length] = '\0';
    return !strcmp(buffer, text);
}

static unsigned mode_of(const char *path)
{
    struct stat status;
    return stat(path, &status) ? 0 : status.st_mode & 07777;
}

/* Write `text` to `path`; 0 or the code. */
static int put(const char *path, const char *text)
{
    struct klr_output *out;
    int code = klr_output_open(&out, path, &err);
    if (code)
        return code;
    klr_puts(out, text);
    return klr_output_commit(out, &err);
}

static void test_files(void)
{
    struct klr_output *out;
    umask(027);
    ok(!put("new", "one\n") && holds("new", "one\n"), "a new file");
    ok(mode_of("new") == 0640, "its mode follows the umask: %o",
       mode_of("new"));
    chmod("new", 0604);
    klr_output_open(&out, "new", &err);
    klr_puts(out, "two\n");
    ok(!klr_output_flush(out, &err) && holds("new", "one\n"),
       "nothing is seen before the end");
    ok(entries(".") == 2, "a temporary file beside it");
    ok(!klr_output_commit(out, &err) && holds("new", "two\n"), "then all is");
    ok(mode_of("new") == 0604 && entries(".") == 1,
       "the mode is kept, nothing is left");

    klr_output_open(&out, "new", &err);
    klr_puts(out, "three\n");
    ok(!klr_output_finish(out, &err) && holds("new", "two\n") &&
           entries(".") == 2,
       "a finished output has not replaced the old file yet");
    ok(!klr_output_commit(out, &err) && holds("new", "three\n") &&
           entries(".") == 1,
       "commit does");
    spit("new", "two\n");
    klr_output_open(&out, "new", &err);
    klr_puts(out, "three\n");
    ok(!klr_output_finish(out, &err) && !klr_output_abandon(out) &&
           holds("new", "two\n") && entries(".") == 1,
       "or it is abandoned");

    klr_output_open(&out, "new", &err);
    klr_puts(out, "three\n");
    ok(!klr_output_abandon(out) && holds("new", "two\n") && entries(".") == 1,
       "an abandoned output leaves the old file alone");
    ok(!klr_output_commit(NULL, &err) && !klr_output_abandon(NULL),
       "NULL is accepted");
}

/* True if err tells of that fault, in the words of the C library. */
static bool says(int fault)
{
    char expected[128];
    snprintf(expected, sizeof expected, "cannot write: %s", strerror(fault));
    return strcmp(err.message, expected) == 0;
}

static void test_links(void)
{
    mkdir("sub", 0777);
    spit("sub/file", "old");
    ok(!symlink("sub/link", "outer") && !symlink("file", "sub/link"), "links");
    ok(!put("outer", "through") && holds("sub/file", "through"),
       "through two links");
    struct stat status;
    ok(!lstat("outer", &status) && S_ISLNK(status.st_mode) &&
           !lstat("sub/link", &status) && S_ISLNK(status.st_mode),
       "which stay links");
    ok(!symlink("sub/absent", "dangling") && !put("dangling", "made") &&
           holds("sub/absent", "made"),
       "the target of a dangling link is made");
    ok(!symlink("loop", "loop") && put("loop", "x") == KLR_E_IO && says(ELOOP),
       "a link to itself: %s", err.message);
    ok(entries("sub") == 3, "no temporary file is left");
}

static void refused(const char *path, int fault)
{
    err.message[0] = '\0';
    ok(klr_output_check(path, NULL, 0, &err) == KLR_E_IO && says(fault),
       "check refuses '%s': %s", path, err.message);
    err.message[0] = '\0';
    ok(put(path, "x") == KLR_E_IO && says(fault), "and so does open");
}

static void test_refusals(void)
{
    refused("sub", EISDIR);
    refused("", ENOENT);
    refused("nowhere/file", ENOENT);
    refused("new/file", ENOTDIR);
    refused("nowhere/", EISDIR);
    mkdir("closed", 0555);
    spit("fixed", "x");
    chmod("fixed", 0444);
    if (geteuid()) {
        refused("closed/file", EACCES);
        refused("fixed", EACCES);
    }
    if (!geteuid()) {
        mkdir("shared", 01777);
        chmod("shared", 01777);
        spit("shared/ours", "x");
        chmod("shared/ours", 0666);
        ok(!chmod(".", 0755) && !seteuid(65534), "as somebody else");
        refused("shared/ours", EPERM);
        ok(!put("shared/theirs", "x") && !put("shared/theirs", "y"),
           "but their own file they replace");
        ok(!seteuid(0), "as before");
    }
    int before = entries(".");
    ok(!klr_output_check("fresh", NULL, 0, &err) &&
           !klr_output_check("new", NULL, 0, &err) &&
           !klr_output_check("-", NULL, 0, &err) &&
           !klr_output_check("/dev/null", NULL, 0, &err),
       "check accepts what can be written");
    ok(entries(".") == before, "and makes nothing");
}

static bool replaces(const char *path, const char *other)
{
    const char *const others[] = {NULL, "-", other};
    return klr_output_check(path, others, 3, &err) == KLR_E_USAGE;
}

static void test_replaced(void)
{
    spit("read", "x");
    ok(!symlink("read", "name") && !symlink("later", "earlier"), "links");
    ok(replaces("read", "read") && replaces("./read", "read") &&
           replaces("name", "read") && replaces("read", "name"),
       "a file that is read would be replaced, whatever its name");
    ok(!replaces("read", "fresh") && !replaces("fresh", "read"),
       "another one would not");
    ok(replaces("later", "later") && replaces("earlier", "later") &&
           replaces("later", "./later") && replaces("later", "sub/../later") &&
           !replaces("later", "latest") && !replaces("later", "sub/later"),
       "nor would two results go to one file that is not there yet");
    ok(!replaces("/dev/null", "/dev/null") && !replaces("-", "-"),
       "devices and streams are not replaced");
}

static void test_direct(void)
{
    struct klr_output *out;
    char text[64] = "";
    ok(!put("/dev/null", "x"), "a device");
    if (access("/dev/full", W_OK) == 0) {
        ok(put("/dev/full", "x") == KLR_E_IO &&
               !strcmp(err.message, "cannot write: No space left on device"),
           "a full device: %s", err.message);
        klr_output_open(&out, "/dev/full", &err);
        for (int i = 0; i < 100000; i++)
            klr_puts(out, "more than the buffer holds\n");
        ok(klr_output_flush(out, &err) == KLR_E_IO &&
               klr_output_finish(out, &err) == KLR_E_IO &&
               klr_output_commit(out, &err) == KLR_E_IO,
           "the first failure sticks");
    }
    ok(!mkfifo("fifo", 0600), "a named pipe");
    int reader = open("fifo", O_RDONLY | O_NONBLOCK);
    ok(!put("fifo", "through") && read(reader, text, sizeof text) == 7,
       "is written directly: %s", text);
    close(reader);

    struct stat before, after;
    int open_file = open("opened", O_RDWR | O_CREAT, 0600);
    snprintf(text, sizeof text, "/dev/fd/%d", open_file);
    ok(!fstat(open_file, &before) && !put(text, "x") &&
           !stat("opened", &after) && before.st_ino == after.st_ino &&
           after.st_size == 1,
       "a regular file that is open, by its descriptor: not replaced");
    snprintf(text, sizeof text, "/proc/self/fd/%d", open_file);
    ok(!put(text, "yz") && write(open_file, "!", 1) == 1 &&
           holds("opened", "xyz!"),
       "written where others who have it go on");
    close(open_file);
    refused(text, EBADF);
    open_file = open("opened", O_RDONLY);
    refused(text, EBADF);
    close(open_file);

    int ends[2];
    ok(!pipe(ends) && signal(SIGPIPE, SIG_IGN) != SIG_ERR, "a pipe");
    snprintf(text, sizeof text, "/dev/fd/%d", ends[1]);
    ok(!put(text, "x") && read(ends[0], text, sizeof text) == 1,
       "by its descriptor");
    snprintf(text, sizeof text, "/dev/fd/%d", ends[1]);
    klr_output_open(&out, text, &err);
    close(ends[0]);
    klr_puts(out, "x");
    ok(klr_output_commit(out, &err) == KLR_E_PIPE &&
           !strcmp(err.message, "cannot write: Broken pipe"),
       "whose reader left: %s", err.message);
    close(ends[1]);
}

/* A file upon another one, as containers have them. */
static void test_mounted(void)
{
    int status;
    spit("under", "old, and longer than what comes");
    spit("mount", "hidden");
    pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
            mount("under", "mount", NULL, MS_BIND, NULL))
            _exit(2);
        _exit(klr_output_check("mount", NULL, 0, &err) || put("mount", "new"));
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        ok(true, "a mount # SKIP not root");
    else
        ok(!status && holds("under", "new") && holds("mount", "hidden"),
           "a file that is a mount is written directly");
}

/* A reader slower than the writer of a pipe that does not block. */
static void *read_slowly(void *context)
{
    static char block[4096];
    size_t *sum = context;
    int fd = (int)*sum;
    ssize_t got;
    for (*sum = 0; (got = read(fd, block, sizeof block)) > 0;)
        *sum += (size_t)got;
    return NULL;
}

static void test_nonblocking(void)
{
    int ends[2], saved = dup(STDOUT_FILENO);
    struct klr_output *out;
    pthread_t thread;
    if (pipe2(ends, O_NONBLOCK))
        return;
    fcntl(ends[0], F_SETFL, 0);
    size_t sum = (size_t)ends[0], want = 0;
    fflush(stdout);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    pthread_create(&thread, NULL, read_slowly, &sum);
    klr_output_open(&out, "-", &err);
    for (int i = 0; i < 100000; i++, want += 10)
        klr_puts(out, "ten bytes\n");
    int code = klr_output_commit(out, &err);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    pthread_join(thread, NULL);
    close(ends[0]);
    ok(!code && sum == want, "a pipe that does not block: %zu bytes", sum);
}

/* A handler that is about to exit removes temporary files. */
static void test_handler(void)
{
    int before = entries(".");
    pid_t child = fork();
    if (child == 0) {
        struct klr_output *a, *b;
        if (klr_output_open(&a, "sub/file", &err) ||
            klr_output_open(&b, "new", &err))
            _exit(1);
        klr_puts(a, "never");
        klr_output_abandon_all();
        _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    ok(!status && entries(".") == before && entries("sub") == 3 &&
           holds("new", "two\n"),
       "abandon_all removes all temporary files");
}

static void test_formats(void)
{
    struct klr_output *out;
    klr_output_open(&out, "formats", &err);
    klr_putf(out, "%s %d ", "text", 42);
    klr_put_real(out, 0.1);
    klr_put(out, "\n\0", 2);
    ok(!klr_output_commit(out, &err) && holds("formats", "text 42 0.1\n"),
       "formatted text and numbers");
}

int main(void)
{
    char folder[] = "/tmp/klr-output-XXXXXX", command[128];
    if (!mkdtemp(folder) || chdir(folder))
        return 1;
    test_files();
    test_links();
    test_refusals();
    test_replaced();
    test_direct();
    test_mounted();
    test_nonblocking();
    test_handler();
    test_formats();
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", folder,
             folder);
    ok(!chdir("/") && !system(command), "cleaned up");
    return done_testing();
}
