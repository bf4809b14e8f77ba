/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines of a file, sliced from one block that is refilled by read(2).
 *
 * Invariants: block[begin .. end) is read and not delivered yet, its first
 * byte has offset `base + begin` in the input; block[begin .. scanned) has no
 * line feed. With `keep`, every byte read from something that is no regular
 * file stands in the spool, at its offset in the input.
 */
#include "base/files/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { BLOCK_SIZE = 256 << 10 };

struct klr_input {
    int fd;      /* what lines are read from */
    int spool;   /* unlinked file with what a pipe gave, or -1 */
    bool opened; /* fd is ours to close */
    bool keep;
    bool at_end;        /* read(2) has told so */
    int64_t start;      /* of the input in fd: not 0 if stdin was partly read */
    struct stat status; /* when it was opened */
    int64_t base;       /* offset of block[0] in the input */
    long number;        /* of the last line delivered */
    char *block;
    size_t capacity, begin, scanned, end;
};

static int fail_errno(struct klr_error *err, const char *doing)
{
    return klr_fail(err, KLR_E_IO, "cannot %s: %s", doing, strerror(errno));
}

static int create_spool(struct klr_input *input, struct klr_error *err)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    if (!folder || !*folder)
        folder = "/tmp";
    int length = snprintf(path, sizeof path, "%s/klr-XXXXXX", folder);
    if (length >= (int)sizeof path)
        return klr_fail(err, KLR_E_IO, "TMPDIR is too long");
    input->spool = mkostemp(path, O_CLOEXEC);
    if (input->spool < 0)
        return klr_fail(err, KLR_E_IO, "cannot create a temporary file %s: %s",
                        path, strerror(errno));
    unlink(path);
    return 0;
}

static int examine(struct klr_input *input, struct klr_error *err)
{
    const struct stat *status = &input->status;
    if (fstat(input->fd, &input->status) != 0)
        return fail_errno(err, "read");
    if (S_ISDIR(status->st_mode)) {
        errno = EISDIR;
        return fail_errno(err, "read");
    }
    if (S_ISREG(status->st_mode)) {
        input->start = lseek(input->fd, 0, SEEK_CUR);
        return input->start < 0 ? fail_errno(err, "read") : 0;
    }
    return input->keep ? create_spool(input, err) : 0;
}

static int open_path(struct klr_input *input, const char *path,
                     struct klr_error *err)
{
    input->fd = STDIN_FILENO;
    if (strcmp(path, "-") != 0) {
        do
            input->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        while (input->fd < 0 && errno == EINTR);
        if (input->fd < 0)
            return fail_errno(err, "open");
        input->opened = true;
    }
    return examine(input, err);
}

int klr_input_open(struct klr_input **out, const char *path, bool keep,
                   struct klr_error *err)
{
    int code = KLR_E_MEMORY;
    struct klr_input *input = klr_zalloc(1, sizeof *input, err);
    *out = NULL;
    if (!input)
        return code;
    input->spool = -1;
    input->keep = keep;
    code = KLR_GROW(input->block, input->capacity, BLOCK_SIZE, err);
    if (!code)
        code = open_path(input, path, err);
    if (code)
        goto done;
    *out = input;
    input = NULL;
done:
    klr_input_close(input);
    return code;
}

struct klr_input *klr_input_close(struct klr_input *input)
{
    if (input) {
        if (input->opened)
            close(input->fd);
        if (input->spool >= 0)
            close(input->spool);
        klr_free(input->block);
        klr_free(input);
    }
    return NULL;
}

/* True while reading what only the file descriptor has, not the spool. */
static bool is_spooling(const struct klr_input *input)
{
    return input->spool >= 0 && input->fd != input->spool;
}

static int spool(struct klr_input *input, const char *text, size_t length,
                 struct klr_error *err)
{
    while (length > 0) {
        ssize_t written = write(input->spool, text, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fail_errno(err, "write a temporary file");
        text += written;
        length -= (size_t)written;
    }
    return 0;
}

/* Read once, behind what the block holds. */
static int read_more(struct klr_input *input, struct klr_error *err)
{
    ssize_t count;
    char *free_space = input->block + input->end;
    do
        count = read(input->fd, free_space, input->capacity - input->end);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return fail_errno(err, "read");
    input->at_end = count == 0;
    input->end += (size_t)count;
    return is_spooling(input) ? spool(input, free_space, (size_t)count, err)
                              : 0;
}

/* Move what is left to the front, make room, and read. */
static int refill(struct klr_input *input, struct klr_error *err)
{
    size_t left = input->end - input->begin;
    if (input->begin > 0) {
        memmove(input->block, input->block + input->begin, left);
        input->base += (int64_t)input->begin;
        input->begin = 0;
        input->end = input->scanned = left;
    }
    if (KLR_GROW(input->block, input->capacity, left + BLOCK_SIZE / 2, err))
        return KLR_E_MEMORY;
    return read_more(input, err);
}

#define OTHER_UTF      "UTF-16 or UTF-32 text: convert it to UTF-8"
#define COMPRESSED(BY) "compressed by " BY ": read - behind '" BY " -dc FILE |'"

/* How files begin that are no text as it is read here; the 9 of bzip2 is its
 * default. */
static const struct {
    size_t length;
    const char *bytes, *what;
} foreign_marks[] = {
    {2, "\xFF\xFE", OTHER_UTF},
    {2, "\xFE\xFF", OTHER_UTF},
    {4, "\0\0\xFE\xFF", OTHER_UTF},
    {2, "\x1F\x8B", COMPRESSED("gzip")},
    {10, "BZh91AY&SY", COMPRESSED("bzip2")},
    {6, "\xFD\x37zXZ\0", COMPRESSED("xz")},
    {4, "\x28\xB5\x2F\xFD", COMPRESSED("zstd")},
};

static bool begins(const struct klr_line *line, const char *bytes,
                   size_t length)
{
    return (size_t)(line->end - line->text) >= length &&
           memcmp(line->text, bytes, length) == 0;
}

/* Pass over UTF-8's byte order mark at the beginning of the first line; refuse
 * other marks. */
static int skip_mark(struct klr_line *line, struct klr_error *err)
{
    if (begins(line, "\xEF\xBB\xBF", 3)) {
        line->text += 3;
        line->offset += 3;
        return 0;
    }
    for (size_t i = 0; i < sizeof foreign_marks / sizeof *foreign_marks; i++)
        if (begins(line, foreign_marks[i].bytes, foreign_marks[i].length))
            return klr_fail_at(err, KLR_E_DATA, line->number, 1, "this is %s",
                               foreign_marks[i].what);
    return 0;
}

/* Deliver block[begin .. stop) without its carriage return, and go on behind
 * the line feed, if it is `whole`. */
static int deliver(struct klr_input *input, struct klr_line *line, size_t stop,
                   bool whole, struct klr_error *err)
{
    line->text = input->block + input->begin;
    line->end = input->block + stop;
    if (line->end > line->text && line->end[-1] == '\r')
        line->end--;
    line->whole = whole;
    line->offset = input->base + (int64_t)input->begin;
    line->number = ++input->number;
    input->begin = input->scanned = stop + whole;
    int code = line->number == 1 ? skip_mark(line, err) : 0;
    return code ? -code : 1;
}

static const char *next_feed(const struct klr_input *input)
{
    return memchr(input->block + input->scanned, '\n',
                  input->end - input->scanned);
}

int klr_input_line(struct klr_input *input, struct klr_line *line,
                   struct klr_error *err)
{
    for (;;) {
        const char *feed = next_feed(input);
        if (feed)
            return deliver(input, line, (size_t)(feed - input->block), true,
                           err);
        input->scanned = input->end;
        if (input->at_end) {
            if (input->begin == input->end)
                return 0;
            return deliver(input, line, input->end, false, err);
        }
        int code = refill(input, err);
        if (code)
            return -code;
    }
}

bool klr_input_peek(const struct klr_input *input, const char **text,
                    const char **end)
{
    *text = input->block + input->begin;
    *end = next_feed(input);
    if (!*end)
        return false;
    if (*end > *text && (*end)[-1] == '\r')
        --*end;
    return true;
}

bool klr_input_would_block(const struct klr_input *input)
{
    return !input->at_end && !next_feed(input);
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* True if nobody has written to the file since it was opened. The time of a
 * change of its contents can be set back; that of its state cannot. */
static bool is_as_opened(const struct klr_input *input)
{
    const struct stat *then = &input->status;
    struct stat now;
    return fstat(input->fd, &now) == 0 && now.st_size == then->st_size &&
           is_same_time(now.st_mtim, then->st_mtim) &&
           is_same_time(now.st_ctim, then->st_ctim);
}

int klr_input_text(struct klr_input *input, int64_t offset, size_t length,
                   char *buffer, struct klr_error *err)
{
    int fd = input->spool >= 0 ? input->spool : input->fd;
    while (length > 0) {
        ssize_t count = pread(fd, buffer, length, input->start + offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fail_errno(err, "read again");
        if (count == 0)
            return klr_fail(err, KLR_E_IO,
                            "the file has become shorter while it was read");
        buffer += count;
        offset += count;
        length -= (size_t)count;
    }
    if (input->spool >= 0 || is_as_opened(input))
        return 0;
    return klr_fail(err, KLR_E_IO, "the file has changed since it was opened");
}

/* Read a pipe to its end into the spool, and from the spool from now on. */
static int spool_rest(struct klr_input *input, struct klr_error *err)
{
    int code = 0;
    while (!code && !input->at_end) {
        input->end = 0;
        code = read_more(input, err);
    }
    if (!code) {
        if (input->opened)
            close(input->fd);
        input->opened = false;
        input->fd = input->spool;
    }
    return code;
}

int klr_input_rewind(struct klr_input *input, struct klr_error *err)
{
    int code = is_spooling(input) ? spool_rest(input, err) : 0;
    if (code)
        return code;
    if (lseek(input->fd, input->start, SEEK_SET) < 0)
        return fail_errno(err, "read again");
    input->base = 0;
    input->number = 0;
    input->at_end = false;
    input->begin = input->scanned = input->end = 0;
    return 0;
}
