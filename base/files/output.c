/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output that appears whole or not at all: see base/files/output.h.
 *
 * Invariants: `fault` holds the errno of the first failure, after which
 * nothing more is written; while `temp` exists on the disk its name stands in
 * the table `pending`, so that a signal handler can remove it.
 */
#include "base/files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/machine/system.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/text.h"

enum { BUFFER = 65536, PENDING = 16, LINKS = 40 };

struct klr_output {
    int fd;
    bool close;   /* the descriptor is ours */
    int fault;    /* errno of the first failure, or 0 */
    char *target; /* where `temp` goes; NULL: written directly */
    char *temp;   /* NULL: written directly */
    int slot;     /* of `temp` in `pending` */
    size_t used;
    char buffer[BUFFER];
};

/* Names of the temporary files that exist now. */
static _Atomic(const char *) pending[PENDING];
static atomic_uint serial; /* makes their names unique within the process */

static int pending_add(const char *path)
{
    for (int i = 0; i < PENDING; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&pending[i], &none, path))
            return i;
    }
    return -1;
}

void klr_output_abandon_all(void)
{
    for (int i = 0; i < PENDING; i++) {
        const char *path = atomic_load(&pending[i]);
        if (path)
            unlink(path);
    }
}

static int io_error(struct klr_error *err, int fault)
{
    return klr_fail(err, fault == EPIPE ? KLR_E_PIPE : KLR_E_IO,
                    "cannot write: %s", strerror(fault));
}

/* ---- Where a path leads ---- */

/* Length of the folder part of `path`, with its last slash; 0: none. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Which of the process's own descriptors a path names; -1: none. */
static int descriptor_number(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    long long number;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t length = strlen(folders[i]);
        if (!strncmp(path, folders[i], length) &&
            klr_read_integer(path + length, &number) && number >= 0 &&
            number <= INT_MAX)
            return (int)number;
    }
    return -1;
}

/* Open descriptors: links there lead to names that are not to be replaced. */
static bool is_descriptor(const char *path)
{
    return !strncmp(path, "/proc/", 6) || !strncmp(path, "/dev/fd/", 8);
}

/* Follow the links at the end of `path`, also to what does not exist yet.
 * 0 or errno. */
static int resolve(const char *path, char target[PATH_MAX])
{
    char link[PATH_MAX];
    if (strlen(path) >= PATH_MAX)
        return ENAMETOOLONG;
    strcpy(target, path);
    for (int i = 0; i < LINKS; i++) {
        ssize_t length = readlink(target, link, PATH_MAX - 1);
        if (is_descriptor(target) || (length < 0 && errno == EINVAL))
            return 0;
        if (length < 0)
            return errno == ENOENT ? 0 : errno;
        size_t folder = link[0] == '/' ? 0 : folder_length(target);
        if (folder + (size_t)length >= PATH_MAX)
            return ENAMETOOLONG;
        memcpy(target + folder, link, (size_t)length);
        target[folder + (size_t)length] = '\0';
    }
    return ELOOP;
}

bool klr_output_is_stdout(const char *path)
{
    char target[PATH_MAX];
    return !strcmp(path, "-") || (!resolve(path, target) &&
                                  descriptor_number(target) == STDOUT_FILENO);
}

struct place {
    char target[PATH_MAX];
    int descriptor; /* that is open, and its number; or -1 */
    bool direct;    /* it, a pipe, a device, a mount: written as it is */
    bool exists;
    mode_t mode; /* permissions of what exists */
};

/* The folder that `target` is in. */
static void folder_name(const char *target, char folder[PATH_MAX])
{
    size_t length = folder_length(target);
    strcpy(folder, ".");
    if (length) {
        memcpy(folder, target, length);
        folder[length] = '\0';
    }
}

static int folder_writable(const char *target)
{
    char folder[PATH_MAX];
    folder_name(target, folder);
    return access(folder, W_OK | X_OK) ? errno : 0;
}

/* In a folder with the sticky bit a file is replaced by its owner, or that of
 * the folder, alone. */
static int folder_replaceable(const char *target, uid_t owner)
{
    char folder[PATH_MAX];
    struct stat status;
    uid_t user = geteuid();
    folder_name(target, folder);
    if (user == 0 || user == owner || stat(folder, &status))
        return 0;
    return (status.st_mode & S_ISVTX) && user != status.st_uid ? EPERM : 0;
}

static int descriptor_writable(int number)
{
    int flags = fcntl(number, F_GETFL);
    if (flags < 0)
        return errno;
    return (flags & O_ACCMODE) == O_RDONLY ? EBADF : 0;
}

/* A file that is mounted by itself, as containers have them: no other one can
 * be renamed over it. */
static bool is_mounted(const char *target)
{
    char folder[PATH_MAX];
    folder_name(target, folder);
    int own = klr_mount_of(target), around = klr_mount_of(folder);
    return own >= 0 && around >= 0 && own != around;
}

/* 0 or the errno that says why `path` cannot be written. */
static int place_find(struct place *place, const char *path)
{
    struct stat status;
    int fault = resolve(path, place->target);
    if (fault)
        return fault;
    place->descriptor = descriptor_number(place->target);
    if (place->descriptor >= 0) {
        place->exists = place->direct = true;
        return descriptor_writable(place->descriptor);
    }
    place->exists = stat(place->target, &status) == 0;
    if (!place->exists) {
        size_t length = strlen(place->target);
        if (errno != ENOENT || !length)
            return errno;
        if (place->target[length - 1] == '/')
            return EISDIR;
        place->direct = false;
        return folder_writable(place->target);
    }
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    if (access(place->target, W_OK))
        return errno;
    place->mode = status.st_mode & 07777;
    place->direct = !S_ISREG(status.st_mode) || is_descriptor(place->target) ||
                    is_mounted(place->target);
    if (place->direct)
        return 0;
    fault = folder_writable(place->target);
    return fault ? fault : folder_replaceable(place->target, status.st_uid);
}

static bool same_file(const char *a, const char *b)
{
    struct stat here, there;
    return !stat(a, &here) && !stat(b, &there) && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

static bool is_file(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISREG(status.st_mode);
}

/* True if `path` is the file of the place or, where that does not exist yet,
 * has its name in its folder. */
static bool place_is(const struct place *place, const char *path)
{
    char target[PATH_MAX], here[PATH_MAX], there[PATH_MAX];
    if (place->exists)
        return is_file(place->target) && same_file(place->target, path);
    if (resolve(path, target) ||
        strcmp(place->target + folder_length(place->target),
               target + folder_length(target)) != 0)
        return false;
    folder_name(place->target, here);
    folder_name(target, there);
    return same_file(here, there);
}

static int fail_same(const struct place *place, const char *other,
                     struct klr_error *err)
{
    return klr_fail(err, KLR_E_USAGE, "the same file as %s%s", other,
                    place->direct ? "" : ", and would be replaced");
}

int klr_output_check(const char *path, const char *const *others, size_t count,
                     struct klr_error *err)
{
    static const char in[] = "/dev/fd/0", out[] = "/dev/fd/1";
    struct place place;
    int fault = place_find(&place, strcmp(path, "-") == 0 ? out : path);
    if (fault)
        return io_error(err, fault);
    for (size_t i = 0; i < count; i++) {
        bool standard = others[i] && strcmp(others[i], "-") == 0;
        if (others[i] && place_is(&place, standard ? in : others[i]))
            return fail_same(&place, standard ? "stdin" : others[i], err);
    }
    if (!place.direct && place_is(&place, out))
        return fail_same(&place, "stdout", err);
    return 0;
}

/* ---- Opening ---- */

static int open_retried(const char *path, int flags, mode_t mode)
{
    int fd;
    do {
        fd = open(path, flags | O_WRONLY | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

/* Create the temporary file beside the target; 0 or errno. */
static int create_temp(struct klr_output *out, const struct place *place)
{
    mode_t mode = place->exists ? place->mode & 0666 : 0666;
    size_t folder = folder_length(place->target);
    memcpy(out->temp, place->target, folder);
    out->temp[folder] = '\0';
    out->slot = pending_add(out->temp);
    if (out->slot < 0)
        return EMFILE;
    do {
        snprintf(out->temp + folder, NAME_MAX, ".klr-%ld-%u.tmp",
                 (long)getpid(), atomic_fetch_add(&serial, 1));
        out->fd = open_retried(out->temp, O_CREAT | O_EXCL, mode);
    } while (out->fd < 0 && errno == EEXIST);
    if (out->fd < 0)
        return errno;
    if (place->exists && fchmod(out->fd, place->mode))
        return errno;
    return 0;
}

static int open_place(struct klr_output *out, const struct place *place,
                      struct klr_error *err)
{
    int fault = 0;
    out->close = true;
    if (place->direct) {
        out->fd = place->descriptor >= 0
                      ? fcntl(place->descriptor, F_DUPFD_CLOEXEC, 0)
                      : open_retried(place->target, O_TRUNC, 0);
        fault = out->fd < 0 ? errno : 0;
    } else {
        out->target = klr_strdup(place->target, err);
        out->temp = klr_alloc(folder_length(place->target) + NAME_MAX, 1, err);
        if (!out->target || !out->temp)
            return KLR_E_MEMORY;
        fault = create_temp(out, place);
    }
    return fault ? io_error(err, fault) : 0;
}

int klr_output_open(struct klr_output **result, const char *path,
                    struct klr_error *err)
{
    struct place place;
    bool standard = !strcmp(path, "-");
    int code = standard ? 0 : place_find(&place, path);
    *result = NULL;
    if (code)
        return io_error(err, code);
    struct klr_output *out = klr_alloc(1, sizeof *out, err);
    if (!out)
        return KLR_E_MEMORY;
    memset(out, 0, offsetof(struct klr_output, buffer));
    out->fd = standard ? STDOUT_FILENO : -1;
    out->slot = -1;
    if (!standard && (code = open_place(out, &place, err))) {
        klr_output_abandon(out);
        return code;
    }
    *result = out;
    return 0;
}

/* ---- Writing ---- */

/* write() that waits where the descriptor would not block; -1 and errno. */
static ssize_t write_some(int fd, const char *text, size_t length)
{
    for (;;) {
        ssize_t written = write(fd, text, length);
        if (written >= 0 || (errno != EINTR && errno != EAGAIN))
            return written;
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        if (errno == EAGAIN && poll(&wait, 1, -1) < 0 && errno != EINTR)
            return -1;
    }
}

static void drain(struct klr_output *out)
{
    size_t done = 0;
    while (!out->fault && done < out->used) {
        ssize_t written =
            write_some(out->fd, out->buffer + done, out->used - done);
        if (written < 0)
            out->fault = errno;
        else
            done += (size_t)written;
    }
    out->used = 0;
}

void klr_put(struct klr_output *out, const char *text, size_t length)
{
    while (length) {
        if (out->used == BUFFER)
            drain(out);
        size_t part = BUFFER - out->used;
        if (part > length)
            part = length;
        memcpy(out->buffer + out->used, text, part);
        out->used += part;
        text += part;
        length -= part;
    }
}

void klr_puts(struct klr_output *out, const char *text)
{
    klr_put(out, text, strlen(text));
}

void klr_put_real(struct klr_output *out, double value)
{
    char text[KLR_REAL_SIZE];
    klr_put(out, text, (size_t)klr_format_real(text, value));
}

void klr_put_reals(struct klr_output *out, const double *first, size_t count,
                   size_t step)
{
    const char *place = (const char *)first;
    for (size_t i = 0; i < count; i++, place += step) {
        double value;
        memcpy(&value, place, sizeof value);
        klr_put(out, " ", 1);
        klr_put_real(out, value);
    }
}

void klr_putf(struct klr_output *out, const char *format, ...)
{
    char text[1024];
    KLR_FORMAT(text, format);
    klr_puts(out, text);
}

int klr_output_flush(struct klr_output *out, struct klr_error *err)
{
    drain(out);
    return out->fault ? io_error(err, out->fault) : 0;
}

/* ---- The end ---- */

/* Make a rename durable. The file is in place whatever comes of it: some file
 * systems cannot synchronise a folder. */
static void sync_folder(const char *target)
{
    char folder[PATH_MAX];
    folder_name(target, folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

static int put_in_place(struct klr_output *out, struct klr_error *err)
{
    if (rename(out->temp, out->target))
        return io_error(err, errno);
    atomic_store(&pending[out->slot], NULL);
    out->slot = -1;
    sync_folder(out->target);
    return 0;
}

int klr_output_finish(struct klr_output *out, struct klr_error *err)
{
    int code = klr_output_flush(out, err);
    if (!out->close)
        return code;
    /* EINVAL: a file system without fsync. */
    if (!code && out->temp && fsync(out->fd) && errno != EINVAL)
        out->fault = errno;
    out->close = false;
    if (close(out->fd) && !out->fault)
        out->fault = errno;
    return out->fault ? io_error(err, out->fault) : 0;
}

int klr_output_commit(struct klr_output *out, struct klr_error *err)
{
    if (!out)
        return 0;
    int code = klr_output_finish(out, err);
    if (!code && out->temp)
        code = put_in_place(out, err);
    klr_output_abandon(out);
    return code;
}

struct klr_output *klr_output_abandon(struct klr_output *out)
{
    if (!out)
        return NULL;
    if (out->close && out->fd >= 0)
        close(out->fd);
    if (out->temp && out->slot >= 0) {
        unlink(out->temp);
        atomic_store(&pending[out->slot], NULL);
    }
    klr_free(out->target);
    klr_free(out->temp);
    return klr_free(out);
}
