/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options as data: presets, values, lists, ranges, names, and the sentences.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/option.h"
#include "solver.h"
#include "tests/tap.h"

struct fields {
    int flag, kind, digit;
    long long count, size;
    double ratio, missing;
    const char *text;
    struct klr_reals list;
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
    {.type = KLR_INTEGER,
     .name = "size",
     AT(size),
     .min = 1,
     .max = 9,
     .word = "auto",
     .word_value = -1},
    {.type = KLR_REALS,
     .letter = 'l',
     .name = "list",
     AT(list),
     .preset = 3,
     .min = 0,
     .max = 1e6},
    {.type = KLR_REALS,
     .name = "lengths",
     AT(list),
     .preset = 3,
     .max = 1e6,
     .unit = 'm'},
    {.name = NULL},
};
enum { FLAG, KIND, COUNT, RATIO, MISSING, TEXT, SIZE, LIST, LENGTHS };

static struct fields fields;

static void presets(void)
{
    char text[KLR_PRESET_SIZE];
    memset(&fields, 0xff, sizeof fields);
    klr_options_preset(table, &fields);
    ok(fields.flag == 0 && fields.kind == 1 && fields.count == 0 &&
           fields.ratio == 0.25 && isnan(fields.missing) && !fields.text &&
           fields.list.count == 1 && fields.list.value[0] == 3,
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
    accepted(SIZE, "auto");
    struct klr_text shown = {0};
    klr_option_put(&table[SIZE], &fields, &shown);
    ok(fields.size == -1 && klr_options_check(table, &fields, NULL) == 0 &&
           shown.text && strcmp(shown.text, "auto") == 0,
       "a word in place of an integer, read and shown");
    klr_free(shown.text);
    accepted(SIZE, "7");
    ok(fields.size == 7, "and an integer");
    accepted(KIND, "smooth");
    ok(fields.kind == 0, "a choice by its name");
    accepted(KIND, "0");
    ok(fields.kind == 1, "a choice by its alias");
    accepted(KIND, "poly");
    ok(fields.kind == 2, "a choice by the beginning of its name");
}

/* The list is read as these values, bit by bit. */
static void listed(const char *text, size_t count, const double *expected)
{
    bool same;
    accepted(LIST, text);
    same = fields.list.count == count;
    for (size_t i = 0; i < count && same; i++)
        same = fields.list.value[i] == expected[i];
    ok(same, "%s: %zu values, the first %.17g, the last %.17g", text,
       fields.list.count, fields.list.value[0],
       fields.list.value[fields.list.count - 1]);
}

static void lists(void)
{
    double many[KLR_REALS_MOST];
    listed("0.5", 1, (double[]){0.5});
    listed("10,0.1,1", 3, (double[]){0.1, 1, 10});
    listed("1,2,1.0,2,1e0", 2, (double[]){1, 2});
    listed("0.01:1000:x10", 6, (double[]){0.01, 0.1, 1, 10, 100, 1000});
    listed("1e-9:1e6:x10", 16,
           (double[]){1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1,
                      10, 1e2, 1e3, 1e4, 1e5, 1e6});
    listed("0.3:300:x10", 4, (double[]){0.3, 3, 30, 300});
    listed("0.7:1:x1.1", 4, (double[]){0.7, 0.77, 0.847, 0.9317});
    listed("1:50:x10", 2, (double[]){1, 10});
    listed("5:5:x2", 1, (double[]){5});
    listed("1:4:x4^0.99999999999", 2, (double[]){1, 4}); /* met but for 1e-11 */
    listed("0.1:0.8:x2,0.2,7", 5, (double[]){0.1, 0.2, 0.4, 0.8, 7});
    listed(
        "2^-5:2^15:x4", 11,
        (double[]){0.03125, 0.125, 0.5, 2, 8, 32, 128, 512, 2048, 8192, 32768});
    listed("2^-3,2^3,10^-2", 3, (double[]){0.01, 0.125, 8});
    accepted(LIST, "0.01:10:x10^0.5");
    ok(fields.list.count == 7 && fields.list.value[2] == 0.1 &&
           fields.list.value[4] == 1 && fields.list.value[6] == 10,
       "rounding does not add up");
    for (int i = 0; i < KLR_REALS_MOST; i++)
        many[i] = ldexp(1, i - 44);
    listed("2^-44:2^19:x2", KLR_REALS_MOST, many);
    accepted(RATIO, "2^-3");
    ok(fields.ratio == 0.125, "a number may be a power");
}

static void no_lists(void)
{
    refused(LIST, "", "option -l: '' is not a number");
    refused(LIST, "1,,2", "option -l: '1,,2' has an empty item");
    refused(LIST, ",1", "option -l: ',1' has an empty item");
    refused(LIST, "1,", "option -l: '1,' has an empty item");
    refused(LIST, "1,b", "option -l: 'b' is not a number");
    refused(LIST, "1, 2", "option -l: ' 2' is not a number");
    refused(LIST, "1;2", "option -l: '1;2' is not a number");
    refused(LIST, "2^", "option -l: '2^' is not a number");
    refused(LIST, "2^x", "option -l: '2^x' is not a number");
    refused(LIST, "-8^0.5", "option -l: '-8^0.5' is not a number");
    refused(LIST, "2^9999", "option -l: '2^9999' is too large");
    refused(LIST, "1,1e999", "option -l: '1e999' is too large");
    refused(LIST, "1,-2,3",
            "option -l: must be at least 0 and at most 1000000, got -2");
    refused(LIST, "1:1e7:x10",
            "option -l: must be at least 0 and at most 1000000, got 1e7");
    refused(LIST, "-1:1:x10",
            "option -l: must be at least 0 and at most 1000000, got -1");
    refused(LIST, "1:10", "option -l: '1:10' is not FIRST:LAST:xFACTOR");
    refused(LIST, "1:10:", "option -l: '1:10:' is not FIRST:LAST:xFACTOR");
    refused(LIST, "1:10:2", "option -l: '1:10:2' is not FIRST:LAST:xFACTOR");
    refused(LIST, "1:10:x", "option -l: '1:10:x' is not FIRST:LAST:xFACTOR");
    refused(LIST, "1:9:x2:3",
            "option -l: '1:9:x2:3' is not FIRST:LAST:xFACTOR");
    refused(LIST, "a:10:x2", "option -l: 'a' is not a number");
    refused(LIST, "1::x2", "option -l: '' is not a number");
    refused(LIST, "1:10:x1",
            "option -l: '1:10:x1' needs a factor greater than 1");
    refused(LIST, "1:10:x-2",
            "option -l: '1:10:x-2' needs a factor greater than 1");
    refused(LIST, "0:10:x2",
            "option -l: '0:10:x2' needs a first value greater than 0");
    refused(LIST, "10:1:x2", "option -l: '10:1:x2' ends before it begins");
    refused(LIST, "1:10:x1.001", "option -l: more than 64 values");
    refused(LIST, "1:1.1:x1.0000000000000002",
            "option -l: more than 64 values");
    refused(LIST, "2^-44:2^19:x2,3", "option -l: more than 64 values");
}

/* Numbers of a list have the unit, or none has. */
static void units(void)
{
    accepted(LENGTHS, "0.5m");
    ok(fields.list.in_unit && fields.list.count == 1 &&
           fields.list.value[0] == 0.5,
       "a number in the unit");
    accepted(LENGTHS, "7m,0.01m:1m:x10,0m");
    ok(fields.list.in_unit && fields.list.count == 5 &&
           fields.list.value[0] == 0 && fields.list.value[1] == 0.01 &&
           fields.list.value[3] == 1 && fields.list.value[4] == 7,
       "a list and a range in the unit");
    accepted(LENGTHS, "1,2");
    ok(!fields.list.in_unit && fields.list.count == 2, "a list without");
    refused(LENGTHS, "1m,2",
            "option --lengths: '2' has no 'm' behind it, as others have");
    refused(LENGTHS, "1,2m",
            "option --lengths: '1' has no 'm' behind it, as others have");
    refused(LENGTHS, "1m:2:x10",
            "option --lengths: '2' has no 'm' behind it, as others have");
    refused(LENGTHS, "m", "option --lengths: '' is not a number");
    refused(LENGTHS, "1mm", "option --lengths: '1m' is not a number");
    refused(LENGTHS, "1m:2m:x10m",
            "option --lengths: '1m:2m:x10m' is not FIRST:LAST:xFACTOR");
    refused(LENGTHS, "-1m",
            "option --lengths: must be at least 0 and at most 1000000, got -1");
    refused(LIST, "1m", "option -l: '1m' is not a number");
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
    refused(SIZE, "aut", "option --size: 'aut' is neither an integer nor auto");
    refused(SIZE, "-1",
            "option --size: must be at least 1 and at most 9, got -1");
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
    accepted(LIST, "1,2");
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
    fields.kind = 0;
    ok(klr_options_check(table, &fields, &err) == 0, "all in range");
    fields.list.value[1] = fields.list.value[0];
    ok(klr_options_check(table, &fields, &err) == KLR_E_USAGE, "%s",
       err.message);
    fields.list.count = 0;
    ok(klr_options_check(table, &fields, &err) == KLR_E_USAGE &&
           strcmp(err.message, "option -l: needs from 1 to 64 ascending "
                               "values") == 0,
       "%s", err.message);
    fields.list.count = KLR_REALS_MOST + 1;
    ok(klr_options_check(table, &fields, &err) == KLR_E_USAGE, "too many");
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
    near("COST", "cost");          /* capitals are no edits */
    near("Max_Iter", "max-iter");
    near("cats", NULL); /* two edits of four letters */
    near("x", NULL);
    near("", NULL);
    near("a-name-that-is-longer-than-any-name-there-is", NULL);
}

/* -c is filled in by model, and only where it is not given. */
static void costs(void)
{
    struct klr_params params;
    klr_params_init(&params);
    params.model = KLR_MODEL_SVM;
    klr_params_fill(&params);
    ok(params.cost.count == 1 && params.cost.value[0] == 1, "svm: LIBSVM's C");
    params.model = KLR_MODEL_LHALF;
    klr_params_fill(&params);
    ok(params.cost.value[0] == 1, "a C that is there stays");
    params.cost = klr_reals_of(NAN);
    klr_params_fill(&params);
    ok(params.cost.count == 1 && params.cost.value[0] == 3, "lhalf: 3");
    klr_params_init(&params);
    klr_params_fill(&params);
    ok(params.cost.count == 1 && params.cost.value[0] == 30, "klr: 30");
}

static void parameters(void)
{
    struct klr_error err;
    struct klr_params params;
    klr_params_init(&params);
    ok(isnan(params.cost.value[0]), "C is left open");
    ok(isnan(params.eps) && params.shrinking == 1 && params.kernel == KLR_RBF &&
           params.degree == 3 && isnan(params.gamma.value[0]) &&
           params.model == KLR_MODEL_KLR,
       "LIBSVM's defaults, and klr");
    ok(klr_params_check(&params, &err) == 0, "defaults pass");
    params.positive = "one";
    ok(klr_params_check(&params, &err) == KLR_E_USAGE, "%s", err.message);
    params.positive = NULL;
    struct klr_weight weight = {"1", -1};
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
    params.link = KLR_LINK_SIGMA;
    ok(klr_params_check(&params, &err) == KLR_E_USAGE, "%s", err.message);
    klr_params_init(&params);
    params.no_bias = 1;
    ok(klr_params_check(&params, &err) == 0, "newton needs no bias");
    params.kernel = KLR_SIGMOID;
    params.solver = KLR_SOLVER_NEWTON;
    ok(klr_params_check(&params, &err) == KLR_E_USAGE, "%s", err.message);
    klr_params_init(&params);
    params.lambda = klr_reals_of(0);
    ok(klr_params_check(&params, &err) == KLR_E_USAGE, "%s", err.message);
    params.model = KLR_MODEL_SKLR;
    ok(klr_params_check(&params, &err) == 0, "an sklr has a lambda");
}

int main(void)
{
    presets();
    values();
    sentences();
    lists();
    no_lists();
    units();
    checks();
    names();
    parameters();
    costs();
    return done_testing();
}
