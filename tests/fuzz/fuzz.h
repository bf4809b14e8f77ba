/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is fuzzed: a target takes one input and aborts if the toolkit breaks a
 * promise. libFuzzer and AFL++ call targets as well as main.c does.
 */
#ifndef KLR_TESTS_FUZZ_FUZZ_H
#define KLR_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "solver.h"
#include "tests/fuzz/mutate.h"

/* ---- A target ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How far inputs come: so many of them reached each of two stages. */
enum { FUZZ_STAGES = 2 };
extern const char *const fuzz_stages[FUZZ_STAGES];
extern unsigned long fuzz_reached[FUZZ_STAGES];

/* True if the second stage takes long: a target spares it all inputs but one of
 * `fuzz_sparing`, by their hash. That is 1 but in large campaigns. */
extern const bool fuzz_is_slow;
extern uint64_t fuzz_sparing;

/* The folder of its corpus, whose files reach the first stage unchanged; and a
 * way to add to what is found there. */
extern const char fuzz_folder[];
void fuzz_add_specimens(struct corpus *corpus);

/* ---- What targets share ---- */

#define FUZZ_CHECK(condition, ...)                                             \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__,         \
                    #condition);                                               \
            fprintf(stderr, __VA_ARGS__);                                      \
            fputc('\n', stderr);                                               \
            abort();                                                           \
        }                                                                      \
    } while (0)

/* A file in memory, with a path that can be opened. */
struct memory_file {
    int fd;
    char path[32];
};

void memory_file_create(struct memory_file *file, const void *data,
                        size_t size);
void memory_file_close(struct memory_file *file);

/* Save the model and return the text, `*size` bytes, to be freed by free. */
char *fuzz_save(const struct klr_model *model, size_t *size);

/* Numbers that depend on the bytes alone: choices of a target. */
uint64_t fuzz_hash(const uint8_t *data, size_t size);

/* The parameters become the defaults on one thread, with as few iterations as
 * tell something. */
void fuzz_params(struct klr_params *params);
/* An option by its long name; several, as names and values between blanks. */
void fuzz_option(struct klr_params *params, const char *name,
                 const char *value);
void fuzz_options(struct klr_params *params, const char *list);

/* A failure is described as base/error.h promises, is neither of memory nor of
 * files, and has, if `line` is set, a line within the input. */
void fuzz_check_error(const struct klr_error *err, int code, bool line,
                      const uint8_t *data, size_t size);

/* Save and load. */
struct klr_model *fuzz_reload(const struct klr_model *model);
/* Check that a loaded model saves, loads and saves again to the same bytes. */
void fuzz_check_round_trip(const struct klr_model *model);

#endif
