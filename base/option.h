/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options as data: one table describes each option once; parsing, checking and
 * help read it.
 */
#ifndef KLR_BASE_OPTION_H
#define KLR_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

enum klr_option_type {
    KLR_FLAG,    /* int; no value: becomes 1 */
    KLR_INTEGER, /* long long */
    KLR_REAL,    /* double */
    KLR_REALS,   /* struct klr_reals; its preset is one value; written as
                    numbers and ranges FIRST:LAST:xFACTOR between commas */
    KLR_CHOICE,  /* int: index into `choices` */
    KLR_STRING,  /* const char *; NULL by default */
    KLR_REPEATED /* handled by the program: -wLABEL WEIGHT */
};

/* Ascending values without repetition. */
enum { KLR_REALS_MOST = 64 };
struct klr_reals {
    size_t count; /* at least 1 */
    double value[KLR_REALS_MOST];
    bool in_unit; /* each was written with the unit of the option behind it */
};

struct klr_reals klr_reals_of(double value);

struct klr_option {
    enum klr_option_type type;
    char letter;                /* 'c' for -c; 0: none */
    const char *name;           /* "cost" for --cost */
    const char *argument;       /* "C", shown in help; NULL for flags */
    size_t offset;              /* of the field in its struct */
    double preset;              /* default of a number, flag or choice; itself
                                  allowed even out of range; NaN: not given */
    double min, max;            /* closed range of a number */
    bool above_min;             /* the range is open at min */
    const char *word;           /* KLR_INTEGER: this word is a value, too, */
    double word_value;          /* ... namely this one, out of the range */
    const char *const *choices; /* names, ended by NULL */
    const char *const *aliases; /* beside each choice another spelling, such as
                                   LIBSVM's number, or ""; NULL: none */
    int values;                 /* KLR_REPEATED: it takes so many, handed to
                                   the program one by one; 0 stands for 1 */
    const char *also;           /* what other programs call it, words between
                                   blanks, to be suggested; or NULL */
    char unit;                  /* KLR_REALS: all numbers may have this letter
                                   behind them; 0: none */
    const char *group;          /* heading in help; NULL: as before */
    const char *help;           /* "%s" stands for the live default */
};

/* Set every field that the table (ended by name NULL) describes. */
void klr_options_preset(const struct klr_option *table, void *base);

/* The option of this name, or NULL. */
const struct klr_option *klr_option_find(const struct klr_option *table,
                                         const char *name);

/* 0, or KLR_E_USAGE with a sentence about the first value out of range. */
int klr_options_check(const struct klr_option *table, const void *base,
                      struct klr_error *err);

/* Read `text` as the value of `option` into its field (a flag ignores it);
 * KLR_E_USAGE with a sentence that quotes it, suggests a near name, or gives
 * the range; the field is then as it was. A choice is a name, an alias, or the
 * beginning of one name only, of four letters or more. A real may be a power,
 * 2^-5. The values of a range are doubles nearest to decimals where they are
 * decimals of at most 12 digits; LAST is among them if it is met up to
 * rounding. */
int klr_option_read(const struct klr_option *option, const char *text,
                    void *base, struct klr_error *err);

/* The field in the struct at `base`. */
const void *klr_option_field(const struct klr_option *option, const void *base);

/* True if that value of its field is the default. */
bool klr_option_is_preset(const struct klr_option *option, double value);

/* True if its field has another value than the default. */
bool klr_option_is_given(const struct klr_option *option, const void *base);

/* That value, as klr_option_read takes it; nothing of KLR_REPEATED, and of a
 * string that is NULL; of a flag 1. */
void klr_option_put(const struct klr_option *option, const void *base,
                    struct klr_text *text);

/* True if `name` is among the option's other names, whatever its
 * capitals. */
bool klr_option_is_called(const struct klr_option *option, const char *name);

/* The default in words, for help: "0.001", "rbf"; "" where there is none. */
enum { KLR_PRESET_SIZE = 40 };
void klr_option_preset_text(const struct klr_option *option,
                            char text[KLR_PRESET_SIZE]);

/* The name in `names` (ended by NULL) nearest to `text` by edit distance, if
 * near enough to be meant; else NULL. */
const char *klr_nearest(const char *text, const char *const *names);

#ifdef __cplusplus
}
#endif

#endif
