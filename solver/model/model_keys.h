/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A model file while it is read: what model_keys.c and model_read.c share.
 * Functions return 0 or a code; KLR_E_MODEL names the line.
 */
#ifndef KLR_SOLVER_MODEL_KEYS_H
#define KLR_SOLVER_MODEL_KEYS_H

#include "solver/model/model.h"

struct reals {
    double *item;
    size_t count, capacity;
};

struct counts {
    size_t *item;
    size_t count, capacity;
};

/* Keys of the header, in LIBSVM's order, then those of our own section. Some
 * of the header are ours: they come with svm_type klr only. */
enum key {
    KEY_SVM_TYPE,
    KEY_KERNEL_TYPE,
    KEY_DEGREE,
    KEY_GAMMA,
    KEY_COEF0,
    KEY_NR_CLASS,
    KEY_TOTAL_SV,
    KEY_MULTICLASS,
    KEY_RHO,
    KEY_LABEL,
    KEY_NAMES,
    KEY_LINK,
    KEY_PROB_A,
    KEY_PROB_B,
    KEY_PROB_C,
    KEY_NR_SV,
    KEY_SV,
    KEY_FORMAT,
    KEY_MODEL,
    KEY_SOLVER,
    KEY_STATUS,
    KEY_EPS,
    KEY_COST,
    KEY_LAMBDA,
    KEY_BOX,
    KEY_BIAS,
    KEY_GAP,
    KEY_ITERATIONS,
    KEY_EXAMPLES,
    KEY_VERSION, /* these in the order of enum model_saying */
    KEY_DATA,
    KEY_WEIGHTS,
    KEY_OPTIONS,
    KEY_DATE,
    KEY_COMMAND,
    KEY_SV_INDICES,
    KEY_FEATURE_NAMES,
    KEY_SCALING,
    KEY_SCALING_LIMITS,
    KEY_SCALING_INDEX,
    KEY_SCALING_FROM,
    KEY_SCALING_TO,
    KEY_END,
    KEYS
};

/* The contents of a model file, as they are read. */
struct loader {
    struct klr_input *input;
    struct klr_error *err;
    struct klr_line line;
    const char *at;     /* what of the line is still to be read */
    long line_of[KEYS]; /* where a key stood; 0: it has not come yet */
    int svm_type, kernel_type, multiclass, link, model, solver, status, bias;
    int scaling;
    size_t degree, nr_class, total_sv, format, examples;
    char *says[SAYINGS];
    long long iterations;
    double gamma, coef0, eps, cost, lambda, box, gap;
    struct reals rho, label, prob_a, prob_b, prob_c;
    struct reals scaling_limits, scaling_from, scaling_to;
    struct klr_names *names, *feature_names;
    struct counts nr_sv, sv_indices, scaling_index;
    size_t columns;
    struct reals coef; /* (total_sv, columns), row-major */
    struct counts start;
    struct rows rows; /* features of the support vectors */
    int dimension;
};

/* A slice of the line between blanks. */
struct load_slice {
    const char *text, *end;
};

/* ---- Lines and tokens ---- */

/* 1: a line, 0: the end of the file, or minus a code. */
static int load_line(struct loader *in);
/* As load_line, for the next line that is not blank, and its first token. */
static int load_text_line(struct loader *in, struct load_slice *token);
/* The next token of the line; false if there is none. */
static bool load_token(struct loader *in, struct load_slice *token);
static bool load_is(struct load_slice token, const char *name);

/* ---- Values ---- */

static int load_real(struct loader *in, struct load_slice token, double *value);
static int reals_add(struct loader *in, struct reals *list, double value);
static int counts_add(struct loader *in, struct counts *list, size_t value);
/* Nothing but blanks is left of the line. */
static int load_line_end(struct loader *in);

/* ---- Keys ---- */

static const char *load_name(enum key key);
/* The values that follow a key, to the end of the line. */
static int load_field(struct loader *in, enum key key);
/* Read lines "key values" with keys first..last until `last` came, which ends
 * them. */
static int load_section(struct loader *in, enum key first, enum key last);

/* ---- Refusals ---- */

/* KLR_E_MODEL at a line and column with what `format` says. */
#define LOAD_FAIL(in, line, column, ...)                                       \
    klr_fail_at((in)->err, KLR_E_MODEL, line, column, __VA_ARGS__)
/* ... at the line that was read last, */
#define LOAD_FAIL_LINE(in, ...) LOAD_FAIL(in, (in)->line.number, 0, __VA_ARGS__)
/* ... or at the values of a key that came before. */
#define LOAD_FAIL_KEY(in, key, ...)                                            \
    LOAD_FAIL(in, (in)->line_of[key], (long)strlen(load_name(key)) + 2,        \
              __VA_ARGS__)

/* At a token, which the message quotes between `before` and `after`. */
static int load_refuse(struct loader *in, struct load_slice token,
                       const char *before, const char *after);
/* Where the line ends: what should stand there. */
static int load_refuse_end(struct loader *in, const char *what, const char *of);

#endif
