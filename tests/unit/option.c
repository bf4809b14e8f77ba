/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options as data: presets, values, ranges, names, and the sentences.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/option.h"
#include "solver.h"
#include "tests/tap.h"

struct fields {
    int flag, kind, digit;
    long long count;
    double ratio, missing;
    const char *text;
};

static const char *const kinds[] = {"smooth", "smart", "polynomial", NULL};
static const char *const numbers[] = {"", "0", "2", NULL};

#define AT(field) .offset = offsetof(struct fields, field)

static const struct klr_option table[] = {
    {.type = KLR_FLAG, .name = "flag", AT(flag)},
    {.type = KLR_CHOICE,
     .letter = 'k',
     .name = "kind",
     AT(kind),
     .preset = 1,
     .choices = kinds,
     .aliases = numbers},
    {.type = KLR_INTEGER,
     .letter = 'n',
     .name = "count",
     AT(count),
     .preset = 0,
     .min = 2,
     .max = 10},
    {.type = KLR_REAL,
     .name = "ratio",
     AT(ratio),
     .preset = 0.25,
     .min = 0,
     .above_min = true,
     .max = HUGE_VAL},
    {.type = KLR_REAL,
     .letter = 'm',
     .name = "missing",
     AT(missing),
     .preset = NAN,
     .min = -HUGE_VAL,
     .max = 1},
    {.type = KLR_STRING, .name = "text", AT(text)},
    {.name = NULL},
};
enum { FLAG, KIND, COUNT, RATIO, MISSING, TEXT };

static struct fields fields;

static void presets(void)
{
    char text[KLR_PRESET_SIZE];
    memset(&fields, 0xff, sizeof fields);
    klr_options_preset(table, &fields);
    ok(fields.flag == 0 && fields.kind == 1 && fields.count == 0 &&
           fields.ratio == 0.25 && isnan(fields.missing) && !fields.text,
       "every field gets its preset");
    ok(klr_options_check(table, &fields, NULL) == 0,
       "presets are allowed, also out of range and NaN");
    klr_option_preset_text(&table[KIND], text);
    ok(strcmp(text, "smart") == 0, "the default of a choice is its name");
    klr_option_preset_text(&table[RATIO], text);
    ok(strcmp(text, "0.25") == 0, "the default of a number");
    klr_option_preset_text(&table[MISSING], text);
    ok(strcmp(text, "") == 0, "no default");
}

static void accepted(int option, const char *text)
{
    struct klr_error err = {.code = 0};
    ok(klr_option_read(&table[option], text, &fields, &err) == 0, "--%s %s: %s",
       table[option].name, text, err.message);
}

/* Refused with this sentence, and no field has changed. */
static void refused(int option, const char *text, const char *sentence)
{
    struct klr_error err = {.code = 0};
    struct fields before = fields;
    int code = klr_option_read(&table[option], text, &fields, &err);
    ok(code == KLR_E_USAGE && err.code == code &&
           strcmp(err.message, sentence) == 0 &&
           memcmp(&before, &fields, sizeof fields) == 0,
       "%s (%s)", sentence, err.message);
}

static void values(void)
{
    accepted(FLAG, NULL);
    accepted(COUNT, "+10");
    accepted(RATIO, "1e-3");
    accepted(MISSING, "-.5");
    accepted(TEXT, "");
    ok(fields.flag == 1 && fields.count == 10 && fields.ratio == 0.001 &&
           fields.missing == -0.5 && fields.text[0] == '\0',
       "values are stored");
    accepted(COUNT, "0");
    ok(fields.count == 0, "the preset may be asked for");
    accepted(KIND, "smooth");
    ok(fields.kind == 0, "a choice by its name");
    accepted(KIND, "0");
    ok(fields.kind == 1, "a choice by its alias");
    accepted(KIND, "poly");
    ok(fields.kind == 2, "a choice by the beginning of its name");
}

static void sentences(void)
{
    refused(COUNT, "x", "option -n: 'x' is not an integer");
    refused(COUNT, "", "option -n: '' is not an integer");
    refused(COUNT, "3.5", "option -n: '3.5' is not an integer");
    refused(COUNT, "1", "option -n: must be at least 2 and at most 10, got 1");
    refused(COUNT, "99999999999999999999",
            "option -n: must be at least 2 and at most 10, got "
            "99999999999999999999");
    refused(RATIO, "abc", "option --ratio: 'abc' is not a number");
    refused(RATIO, "1x", "option --ratio: '1x' is not a number");
    refused(RATIO, " 1", "option --ratio: ' 1' is not a number");
    refused(RATIO, "0x1p3", "option --ratio: '0x1p3' is not a number");
    refused(RATIO, "nan", "option --ratio: 'nan' is not a number");
    refused(RATIO, "1e999", "option --ratio: '1e999' is too large");
    refused(RATIO, "-3", "option --ratio: must be greater than 0, got -3");
    refused(RATIO, "0", "option --ratio: must be greater than 0, got 0");
    refused(RATIO, "1e-999",
            "option --ratio: must be greater than 0, got 1e-999");
    refused(MISSING, "2", "option -m: must be at most 1, got 2");
    refused(KIND, "smoth",
            "option -k: 'smoth' is not one of smooth, smart, polynomial "
            "(did you mean 'smooth'?)");
    refused(KIND, "7",
            "option -k: '7' is not one of smooth, smart, polynomial");
    refused(KIND, "", "option -k: '' is not one of smooth, smart, polynomial");
    refused(KIND, "pol",
            "option -k: 'pol' is not one of smooth, smart, polynomial "
            "(did you mean 'polynomial'?)");
    refused(KIND, "sm",
            "option -k: 'sm' is not one of smooth, smart, polynomial "
            "(did you mean 'smooth'?)");
}

static void checks(void)
{
    struct klr_error err;
    klr_options_preset(table, &fields);
    fields.ratio = NAN;
    ok(klr_options_check(table, &fields, &err) == KLR_E_USAGE &&
           strcmp(err.message, "option --ratio: must be a finite number") == 0,
       "NaN is no value: %s", err.message);
    fields.ratio = INFINITY;
    ok(klr_options_check(table, &fields, &err) == KLR_E_USAGE, "infinity");
    fields.ratio = 1;
    fields.count = 11;
    ok(klr_options_check(table, &fields, &err) == KLR_E_USAGE &&
           strcmp(err.message, "option -n: must be at least 2 and at most 10, "
                               "got 11") == 0,
       "%s", err.message);
    fields.count = 2;
    fields.kind = 3;
    ok(klr_options_check(table, &fields, &err) == KLR_E_USAGE,
       "a choice beyond the last");
}

static void near(const char *text, const char *expected)
{
    static const char *const names[] = {
        "gamma", "cost", "max-iter", "positive", "precision", "", NULL};
    const char *found = klr_nearest(text, names);
    ok(expected ? found && strcmp(found, expected) == 0 : !found,
       "'%s' is near %s, not %s", text, expected ? expected : "nothing",
       found ? found : "nothing");
}

static void names(void)
{
    near("gama", "gamma");   /* one letter left out */
    near("gmama", "gamma");  /* two swapped */
    near("gammma", "gamma"); /* one too many */
    near("kost", "cost");    /* one changed */
    near("maxiter", "max-iter");
    near("maximiter", "max-iter"); /* two edits of nine letters */
    near("pos", "positive");       /* the beginning */
    near("cats", NULL);            /* two edits of four letters */
    near("x", NULL);
    near("", NULL);
    near("a-name-that-is-longer-than-any-name-there-is", NULL);
}

static void parameters(void)
{
    struct klr_error err;
    struct klr_params params;
    klr_params_init(&params);
    ok(params.cost.value[0] == 1 && params.cost.count == 1 &&
           isnan(params.eps) && params.shrinking == 1 &&
           params.kernel == KLR_RBF && params.degree == 3 &&
           params.gamma == 0 && params.model == KLR_MODEL_KLR,
       "LIBSVM's defaults, and klr");
    ok(klr_params_check(&params, &err) == 0, "defaults pass");
    params.positive = "one";
    ok(klr_params_check(&params, &err) == KLR_E_USAGE, "%s", err.message);
    params.positive = NULL;
    struct klr_weight weight = {1, -1};
    params.weight = &weight;
    params.n_weights = 1;
    ok(klr_params_check(&params, &err) == KLR_E_USAGE &&
           strcmp(err.message, "option -w1: must be greater than 0, got -1") ==
               0,
       "%s", err.message);
    weight.weight = NAN;
    ok(klr_params_check(&params, &err) == KLR_E_USAGE, "%s", err.message);
    params.n_weights = 0;
    params.model = KLR_MODEL_SVM;
    params.probability = 1;
    ok(klr_params_check(&params, &err) == KLR_E_USAGE, "%s", err.message);
}

int main(void)
{
    presets();
    values();
    sentences();
    checks();
    names();
    parameters();
    return done_testing();
}
