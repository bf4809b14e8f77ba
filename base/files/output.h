/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output that appears whole or not at all. A regular or new file is written to
 * a temporary file beside it, flushed to the disk and renamed over it; symbolic
 * links are followed, the mode is kept. Pipes, devices, stdout ("-"), open
 * descriptors (/dev/fd/3) and files that are mounts are written directly.
 * Errors stick: they are reported once, by commit. */
#ifndef KLR_BASE_OUTPUT_H
#define KLR_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct klr_output; /* opaque; freed by klr_output_commit or _abandon */

/* True if `path` is stdout, by any of its names: "-", /dev/stdout, /dev/fd/1.
 */
bool klr_output_is_stdout(const char *path);

/* Tells, before any work is done, whether `path` could be written: its folder
 * exists and is writable, it is no folder itself: KLR_E_IO. And whether it
 * would replace a file of `others` (count), of which NULL is none and "-" is
 * stdin, or that of stdout, or be written into one of `others`: KLR_E_USAGE.
 * Creates nothing. */
int klr_output_check(const char *path, const char *const *others, size_t count,
                     struct klr_error *err);

/* Refuses what klr_output_check does, but for `others`. KLR_E_MEMORY. */
int klr_output_open(struct klr_output **out, const char *path,
                    struct klr_error *err);

void klr_put(struct klr_output *out, const char *text, size_t length);
void klr_puts(struct klr_output *out, const char *text);
void klr_put_real(struct klr_output *out, double value); /* klr_format_real */
/* A blank and the number for each of `count`, `step` bytes from one to the
 * next: sizeof(double), or the size of the structures that they are in. */
void klr_put_reals(struct klr_output *out, const double *first, size_t count,
                   size_t step);
void klr_putf(struct klr_output *out, const char *format, ...)
    KLR_PRINTF(2, 3); /* at most 1023 bytes a call */

/* Hand what is buffered to the system (for pipes). 0 or KLR_E_IO. */
int klr_output_flush(struct klr_output *out, struct klr_error *err);

/* Flush, make durable and close: all that can fail for want of room. The old
 * file is there until commit, which may wait for something else to be done;
 * nothing is put any more. 0 or KLR_E_IO. */
int klr_output_finish(struct klr_output *out, struct klr_error *err);

/* Finish, rename into place and free. On failure the old file is as it was, the
 * temporary file is gone, and *err says why. Accepts NULL. */
int klr_output_commit(struct klr_output *out, struct klr_error *err);

/* Drop the temporary file and free. Accepts NULL; returns NULL. */
struct klr_output *klr_output_abandon(struct klr_output *out);

/* Remove the temporary files of all open outputs: async-signal-safe, for a
 * handler that is about to _exit. */
void klr_output_abandon_all(void);

#ifdef __cplusplus
}
#endif

#endif
