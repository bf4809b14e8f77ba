/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that are read into packed rows by three threads, against the same files
 * read into arrays by one: the same features, labels, lines and hash; and files
 * that cannot be packed, from the first row on or from some other one.
 */
#define SOLVER_FLOOR 1
#include "solver.c"

#include "tests/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/klr-packed-XXXXXX";

static void put(const char *text)
{
    FILE *file = fopen(path, "wb");
    if (!file || fputs(text, file) < 0 || fclose(file))
        exit(99);
}

static bool equal_features(const struct klr_problem *a,
                           const struct klr_problem *b)
{
    struct klr_features x = problem_features(a), z = problem_features(b);
    bool equal = x.n == z.n && x.dimension == z.dimension &&
                 klr_features_count(&x) == klr_features_count(&z);
    for (size_t i = 0; i < x.n && equal; i++)
        equal = features_equal(&x, i, &z, i) && a->label[i] == b->label[i];
    return equal;
}

/* True if line numbers that are left out are those of the rows. */
static bool equal_lines(const struct klr_problem *packed,
                        const struct klr_problem *plain)
{
    bool equal = true;
    for (size_t i = 0; i < plain->n; i++)
        equal = equal && plain->line[i] ==
                             (packed->line ? packed->line[i] : (long)i + 1);
    return equal;
}

/* The hash of arrays, row by row. */
static uint64_t hash_of(const struct klr_problem *plain)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < plain->n; i++) {
        size_t at = plain->start[i], count = plain->start[i + 1] - at;
        hash = klr_hash_word(
            hash, row_hash(count, plain->index + at, plain->value + at));
    }
    return klr_hash(hash, plain->label, plain->n * sizeof *plain->label);
}

static void check(const char *what, const char *text, bool packs)
{
    struct klr_problem plain, packed;
    struct klr_error err = {0};
    put(text);
    int code = klr_problem_read(&plain, path, 0, 1, &err);
    ok(!code && plain.start && !plain.packed, "%s: arrays unless asked", what);
    code = klr_problem_read(&packed, path, KLR_READ_PACKED, 3, &err);
    ok(!code && !packed.start == packs && !packed.packed == !packs,
       packs ? "%s: packed" : "%s: not packed", what);
    ok(equal_features(&packed, &plain), "... the same features");
    ok(equal_lines(&packed, &plain), "... and lines");
    ok(packed.hash == plain.hash && plain.hash == hash_of(&plain),
       "... and hash");
    klr_problem_free(&plain);
    klr_problem_free(&packed);
}

/* Rows of 3 features in several batches; row `odd` ends as given. */
static void check_many(const char *what, size_t odd, const char *end,
                       bool packs)
{
    enum { ROWS = 20000, ROW = 64 };
    char *text = malloc(ROWS * ROW), *at = text;
    for (size_t i = 0; i < ROWS && text; i++)
        at += snprintf(at, ROW, "%zu 1:%g 2:%zu.%zu 3:-%zue-4%s\n", i % 2,
                       (double)i / 7, i % 10, i % 1000, i, i == odd ? end : "");
    if (!text)
        exit(99);
    check(what, text, packs);
    free(text);
}

/* Rows of so many features; as many as fit are packed. */
static void check_wide(size_t columns)
{
    enum { MOST = 2000, ENTRY = 16 };
    static char text[2 * MOST * ENTRY];
    char *at = text, what[32];
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k <= columns; k++)
            at += k == 0 ? sprintf(at, "%d", i)
                         : sprintf(at, " %zu:%zu%s", k, (k + (size_t)i) % 9,
                                   k == columns ? "\n" : "");
    snprintf(what, sizeof what, "%zu columns", columns);
    check(what, text, columns <= KLR_PACKED_COLUMNS);
}

/* Made of packed rows: samples, scaled rows, models' features. */
static void check_uses(void)
{
    struct klr_problem plain, packed, some[2];
    struct klr_error err = {0};
    put("1 2:0.5 3:-1 4:7\n0 2:1 3:0 4:8.25\n1 2:3 3:1 4:0\n0 2:4 3:2 4:2\n");
    int code = klr_problem_read(&plain, path, 0, 1, &err) ||
               klr_problem_read(&packed, path, KLR_READ_PACKED, 1, &err) ||
               klr_problem_sample(&some[0], &plain, 3, 1, &err) ||
               klr_problem_sample(&some[1], &packed, 3, 1, &err);
    ok(!code && packed.packed && equal_features(&some[0], &some[1]),
       "the same sample");
    enum klr_feature_kind kind[2];
    ok(!klr_problem_feature_kind(&plain, &kind[0], &err) &&
           !klr_problem_feature_kind(&packed, &kind[1], &err) &&
           kind[0] == kind[1],
       "the same kind of features");
    ok(klr_problem_unit_gamma(&plain, KLR_RBF) ==
           klr_problem_unit_gamma(&packed, KLR_RBF),
       "the same distances");
    klr_problem_free(&plain);
    klr_problem_free(&packed);
    klr_problem_free(&some[0]);
    klr_problem_free(&some[1]);
}

/* Decision values of a model of one problem for the rows of another. */
static bool decide(const struct klr_problem *problem,
                   const struct klr_params *params,
                   const struct klr_problem *other, double *decision)
{
    struct klr_model *model = NULL;
    struct klr_predictor *predictor = NULL;
    struct klr_report report;
    struct klr_error err = {0};
    struct klr_features x = problem_features(other);
    bool right = !klr_train(problem, params, &model, &report, &err) &&
                 !klr_predictor_create(&predictor, model, 1, &err) &&
                 !klr_predict(predictor, &x, NULL, decision, NULL, &err);
    if (!right)
        printf("# %s\n", err.message);
    klr_predictor_free(predictor);
    klr_model_free(model);
    return right;
}

/* The features that are not 0. */
static struct klr_feature_row without_zeros(struct klr_feature_row row,
                                            int *index, double *value)
{
    size_t count = 0;
    for (size_t k = 0; k < row.count; k++)
        if (row.value[k] != 0) {
            index[count] = row.index[k];
            value[count++] = row.value[k];
        }
    return (struct klr_feature_row){count, index, value};
}

static bool equal_but_zeros(const struct klr_problem *a,
                            const struct klr_problem *b)
{
    enum { MOST = 8 };
    int index[2][MOST];
    double value[2][MOST], space[2][KLR_PACKED_COLUMNS];
    struct klr_features x = problem_features(a), z = problem_features(b);
    bool equal = x.n == z.n && x.dimension == z.dimension;
    for (size_t i = 0; i < x.n && equal; i++) {
        struct klr_feature_row r =
            without_zeros(klr_features_row(&x, i, space[0]), *index, *value);
        struct klr_feature_row s = without_zeros(
            klr_features_row(&z, i, space[1]), index[1], value[1]);
        equal = r.count == s.count &&
                !memcmp(r.index, s.index, r.count * sizeof *r.index) &&
                !memcmp(r.value, s.value, r.count * sizeof *r.value);
    }
    return equal;
}

/* Feature 2 never changes, some others are scaled to 0. */
static const char scaled_text[] = "1 1:0 2:7 3:-1 4:70000\n"
                                  "0 1:1 2:7 3:0.25 4:-0.3\n"
                                  "1 1:2 2:7 3:0 4:9e9\n"
                                  "0 1:1 2:7 3:1 4:2\n";

/* The file of a model of the problem, which has less than `size` bytes. */
static size_t save(const struct klr_problem *problem,
                   const struct klr_params *params, char *bytes, size_t size)
{
    struct klr_model *model = NULL;
    struct klr_output *out;
    struct klr_report report;
    struct klr_error err = {0};
    if (klr_train(problem, params, &model, &report, &err) ||
        klr_output_open(&out, path, &err) ||
        klr_model_save(model, out, 0, &err) || klr_output_commit(out, &err))
        printf("# %s\n", err.message);
    klr_model_free(model);
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(bytes, 1, size, file) : 0;
    if (file)
        fclose(file);
    return length;
}

/* How the rows are scaled, and what comes of it. */
static void check_scaled(enum klr_scale how)
{
    struct klr_problem plain, packed, raw, like;
    struct klr_params params;
    struct klr_model *model = NULL;
    struct klr_report report;
    struct klr_error err = {0};
    put(scaled_text);
    int code = klr_problem_read(&plain, path, 0, 1, &err) ||
               klr_problem_read(&raw, path, 0, 1, &err) ||
               klr_problem_read(&packed, path, KLR_READ_PACKED, 1, &err) ||
               klr_problem_read(&like, path, KLR_READ_PACKED, 1, &err) ||
               klr_problem_scale(&plain, how, &err) ||
               klr_problem_scale(&packed, how, &err);
    ok(!code && packed.packed && !packed.start, "%s: scaled rows stay packed",
       klr_scale_names[how]);
    ok(equal_but_zeros(&plain, &packed), "... and are the same");
    double decision[2][4];
    klr_params_init(&params);
    ok(decide(&plain, &params, &raw, decision[0]) &&
           decide(&packed, &params, &raw, decision[1]) &&
           !memcmp(decision[0], decision[1], sizeof *decision),
       "... their models answer the same");
    static char file[2][1 << 13];
    size_t length = save(&plain, &params, file[0], sizeof *file);
    ok(length > 0 && length < sizeof *file &&
           length == save(&packed, &params, file[1], sizeof *file) &&
           !memcmp(file[0], file[1], length),
       "... in the same bytes");
    code = klr_train(&plain, &params, &model, &report, &err) ||
           klr_problem_scale_as(&like, model, &err);
    ok(!code && like.packed && equal_but_zeros(&plain, &like),
       "... also scaled as by a model");
    klr_problem_free(&like);
    put("1 2:3 3:4\n0 2:1 3:2\n");
    code = klr_problem_read(&like, path, KLR_READ_PACKED, 1, &err) ||
           klr_problem_scale_as(&like, model, &err);
    ok(!code && !like.packed && like.start[1] == 3,
       "... which makes features of zeros: not packed");
    klr_model_free(model);
    klr_problem_free(&plain);
    klr_problem_free(&packed);
    klr_problem_free(&raw);
    klr_problem_free(&like);
}

/* Models, and rows that they answer, packed and not. */
static void check_models(void)
{
    enum { ROWS = 3000, ROW = 64 };
    static char text[ROWS * ROW];
    static double decision[2][ROWS];
    struct klr_problem plain, packed;
    struct klr_params params;
    struct klr_error err = {0};
    char *at = text;
    for (int i = 0; i < ROWS; i++)
        at += snprintf(at, ROW, "%d 1:%d.%02d 2:%d 3:-0.%03d\n", i % 3 == 0,
                       i % 7 - 3, i % 89, i % 11 - 5, i % 997);
    put(text);
    int code = klr_problem_read(&plain, path, 0, 1, &err) ||
               klr_problem_read(&packed, path, KLR_READ_PACKED, 1, &err);
    static const char *const option[][2] = {
        {"basis", "20"},         {"kernel", "linear"}, {"kernel", "polynomial"},
        {"kernel", "laplacian"}, {"model", "svm"},
    };
    for (size_t k = 0; k < sizeof option / sizeof *option && !code; k++) {
        klr_params_init(&params);
        code = klr_params_set(&params, option[k][0], option[k][1], &err) ||
               klr_params_set(&params, "gap", "1e-2", &err);
        bool right = !code && decide(&plain, &params, &plain, decision[0]) &&
                     decide(&packed, &params, &packed, decision[1]);
        ok(right && !memcmp(decision[0], decision[1], sizeof *decision),
           "%s %s: the same decision values", option[k][0], option[k][1]);
    }
    klr_params_init(&params);
    params.kernel = KLR_PRECOMPUTED;
    struct klr_model *model = NULL;
    struct klr_report report;
    ok(klr_train(&packed, &params, &model, &report, &err) == KLR_E_DATA &&
           err.line == 1,
       "no precomputed kernel: %s", err.message);
    klr_problem_free(&plain);
    klr_problem_free(&packed);
}

int main(void)
{
    int file = mkstemp(path);
    if (file < 0 || close(file))
        return 99;
    check("dense rows", "1 1:0.5 2:-0.25\n-1 1:3 2:1e-5\n", true);
    check("from 7 on", "1 7:1 8:2 9:3\n0 7:-0 8:0 9:0\n", true);
    check("blank lines", "# head\n1 1:1\n\n0 1:2\n0 1:3\n", true);
    check("a blank line later", "1 1:1\n0 1:2\n\n0 1:3\n", true);
    check("all bits", "1 1:0.1234567890123456 2:1\n0 1:1 2:2\n", false);
    check("all bits later", "1 1:1 2:1\n0 1:0.3333333333333333 2:2\n", false);
    check("a gap", "1 1:1 3:1\n0 1:2 3:2\n", false);
    check("a gap later", "1 1:1 2:1 3:1\n0 1:2 3:2\n1 1:5 2:6 3:7\n", false);
    check("a longer row", "1 1:1 2:1\n0 1:2 2:2 3:4\n", false);
    check("a row of none", "1 1:1 2:1\n0\n1 1:3 2:2\n", false);
    check("rows of none", "1\n0\n", false);
    check("index 0", "1 0:1 1:1\n0 0:2 1:1\n", false);
    check_many("many rows", SIZE_MAX, "", true);
    check_many("a row with more among them", 12345, " 4:1", false);
    check_many("a last row with more", 19999, " 4:1", false);
    check_wide(KLR_PACKED_COLUMNS);
    check_wide(KLR_PACKED_COLUMNS + 1);
    check_uses();
    check_scaled(KLR_SCALE_MINMAX);
    check_scaled(KLR_SCALE_STANDARD);
    check_models();
    unlink(path);
    return done_testing();
}
