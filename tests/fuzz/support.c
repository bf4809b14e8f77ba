/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the targets share: files in memory, parameters, and the promises that
 * are the same for all.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint64_t fuzz_sparing = 1;

/* ---- Files in memory ---- */

/* Descriptors of one input, and some more: one that is left open by every input
 * shows soon. */
enum { AT_ONCE = 8 };

void memory_file_create(struct memory_file *file, const void *data, size_t size)
{
    static int usual = -1;
    file->fd = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_CHECK(file->fd >= 0, "no file in memory");
    if (usual < 0)
        usual = file->fd;
    FUZZ_CHECK(file->fd < usual + AT_ONCE, "files are left open");
    FUZZ_CHECK(write(file->fd, data, size) == (ssize_t)size, "%zu", size);
    snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->fd);
}

void memory_file_close(struct memory_file *file)
{
    close(file->fd);
}

char *fuzz_save(const struct klr_model *model, size_t *size)
{
    struct memory_file file;
    struct klr_output *out;
    struct klr_error err;
    memory_file_create(&file, "", 0);
    FUZZ_CHECK(!klr_output_open(&out, file.path, &err), "%s", err.message);
    FUZZ_CHECK(!klr_model_save(model, out, KLR_SAVE_SV_INDICES, &err), "%s",
               err.message);
    FUZZ_CHECK(!klr_output_commit(out, &err), "%s", err.message);
    off_t length = lseek(file.fd, 0, SEEK_END);
    FUZZ_CHECK(length > 0, "an empty model");
    char *text = malloc((size_t)length);
    FUZZ_CHECK(text && pread(file.fd, text, (size_t)length, 0) == length, "%ld",
               (long)length);
    memory_file_close(&file);
    *size = (size_t)length;
    return text;
}

/* ---- Choices ---- */

uint64_t fuzz_hash(const uint8_t *data, size_t size)
{
    uint64_t hash = 14695981039346656037ULL; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * 1099511628211ULL;
    hash = (hash ^ (hash >> 31)) * 0x94d049bb133111eb;
    return hash ^ (hash >> 29);
}

void fuzz_option(struct klr_params *params, const char *name, const char *value)
{
    const struct klr_option *option = klr_train_options;
    struct klr_error err;
    while (option->name && strcmp(option->name, name) != 0)
        option++;
    FUZZ_CHECK(option->name, "no option --%s", name);
    FUZZ_CHECK(!klr_option_read(option, value, params, &err), "%s",
               err.message);
}

void fuzz_options(struct klr_params *params, const char *list)
{
    char name[32], value[32];
    for (int used; sscanf(list, "%31s %31s%n", name, value, &used) == 2;
         list += used)
        fuzz_option(params, name, value);
}

void fuzz_params(struct klr_params *params)
{
    klr_params_init(params);
    fuzz_option(params, "threads", "1");
    fuzz_option(params, "max-iter", "100");
}

/* ---- Promises ---- */

void fuzz_check_error(const struct klr_error *err, int code, bool line,
                      const uint8_t *data, size_t size)
{
    long lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    FUZZ_CHECK(err->code == code, "%d is not %d", err->code, code);
    FUZZ_CHECK(code == KLR_E_USAGE || code == KLR_E_DATA || code == KLR_E_MODEL,
               "%d: %s", code, err->message);
    const char *end = memchr(err->message, 0, sizeof err->message);
    FUZZ_CHECK(end && end > err->message, "an empty or endless message");
    for (const char *c = err->message; c < end; c++)
        FUZZ_CHECK((unsigned char)*c >= ' ' && *c != 127, "%s", err->message);
    FUZZ_CHECK(err->line >= line && err->line <= lines, "%ld: %s", err->line,
               err->message);
    FUZZ_CHECK(err->column >= 0 && err->column <= (long)size + 1, "%ld: %s",
               err->column, err->message);
}

struct klr_model *fuzz_reload(const struct klr_model *model)
{
    struct memory_file file;
    struct klr_model *back;
    struct klr_error err;
    size_t size;
    char *text = fuzz_save(model, &size);
    memory_file_create(&file, text, size);
    int code = klr_model_load(&back, file.path, &err);
    FUZZ_CHECK(!code, "a saved model is refused: %ld:%ld: %s", err.line,
               err.column, err.message);
    memory_file_close(&file);
    free(text);
    return back;
}

void fuzz_check_round_trip(const struct klr_model *model)
{
    struct klr_model *back = fuzz_reload(model);
    size_t size, back_size;
    char *text = fuzz_save(model, &size);
    char *back_text = fuzz_save(back, &back_size);
    FUZZ_CHECK(size == back_size && !memcmp(text, back_text, size),
               "a model changes when it is saved and loaded");
    klr_model_free(back);
    free(text);
    free(back_text);
}
