/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scaling: what is learnt against the definitions in long double, problems that
 * are scaled in memory, and models that keep a scaling through a file.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include <unistd.h>

#include "tests/larger.h"
#include "tests/sample.h"
#include "tests/tap.h"

/* Row i has the feature 3 d with a probability of about 1 / (d + 1), but 0
 * always and the last one with the same value in all rows. */
enum { N = 300, D = 6 };

static struct klr_problem sparse_problem(void)
{
    struct klr_error err;
    struct klr_problem p = {.n = N, .dimension = 3 * D};
    p.label = klr_alloc(N, sizeof *p.label, &err);
    p.start = klr_alloc(N + 1, sizeof *p.start, &err);
    p.index = klr_alloc(N * D, sizeof *p.index, &err);
    p.value = klr_alloc(N * D, sizeof *p.value, &err);
    size_t at = p.start[0] = 0;
    for (size_t i = 0; i < N; i++) {
        p.label[i] = i % 2 ? 1 : -1;
        for (int d = 1; d <= D; d++) {
            if (d < D && uniform() * d > 1)
                continue;
            p.index[at] = 3 * d;
            p.value[at++] = d == D ? 42 : 1000 * d + uniform() - 0.3 * d;
        }
        p.start[i + 1] = at;
    }
    return p;
}

/* The value of a feature in row i: 0 where it is missing. */
static double value_of(const struct klr_problem *p, size_t i, int index)
{
    for (size_t at = p->start[i]; at < p->start[i + 1]; at++)
        if (p->index[at] == index)
            return p->value[at];
    return 0;
}

/* The value v of the feature in the raw problem, scaled by the definition. */
static long double defined(const struct klr_problem *raw, int index, double v,
                           bool standardize)
{
    long double low = INFINITY, high = -INFINITY, mean = 0, square = 0;
    for (size_t i = 0; i < N; i++) {
        long double x = value_of(raw, i, index);
        low = fminl(low, x);
        high = fmaxl(high, x);
        mean += x / N;
    }
    for (size_t i = 0; i < N; i++) {
        long double x = value_of(raw, i, index) - mean;
        square += x * x / N;
    }
    return standardize ? (v - mean) / sqrtl(square)
                       : -1 + 2 * (v - low) / (high - low);
}

static void test_problem(enum klr_scale how)
{
    struct klr_error err;
    uint64_t same = state;
    struct klr_problem raw = sparse_problem(), scaled;
    state = same;
    scaled = sparse_problem();
    ok(!klr_problem_scale(&scaled, how, &err), "%s", klr_scale_names[how]);
    double worst = 0;
    size_t zeros = 0;
    for (int d = 1; d < D; d++)
        for (size_t i = 0; i < N; i++) {
            long double v = defined(&raw, 3 * d, value_of(&raw, i, 3 * d),
                                    how == KLR_SCALE_STANDARD);
            worst = larger_of(worst,
                              (double)fabsl(v - value_of(&scaled, i, 3 * d)));
        }
    for (size_t at = 0; at < scaled.start[N]; at++)
        zeros += scaled.value[at] == 0;
    ok(worst < 1e-11, "as defined: %.2g", worst);
    ok(zeros == 0 && scaled.scaling->columns == D - 1 &&
           scaled.dimension == 3 * (D - 1),
       "without zeros, and what never changes: %d", scaled.dimension);
    ok(!scaled.text && !scaled.reader, "which stands in no text");
    klr_problem_free(&raw);
    klr_problem_free(&scaled);
}

static void test_none(void)
{
    struct klr_error err;
    struct klr_problem p = sparse_problem();
    const double *value = p.value;
    ok(!klr_problem_scale(&p, KLR_SCALE_NONE, &err) && !p.scaling &&
           p.value == value,
       "none leaves all as it is");
    klr_problem_free(&p);
}

/* ---- Models ---- */

static struct klr_model *round_trip(const struct klr_model *model)
{
    struct klr_error err = {0};
    struct klr_output *out;
    struct klr_model *back = NULL;
    char path[] = "/tmp/klr-scaling-XXXXXX";
    close(mkstemp(path));
    if (klr_output_open(&out, path, &err) ||
        klr_model_save(model, out, 0, &err) || klr_output_commit(out, &err) ||
        klr_model_load(&back, path, &err))
        printf("Bail out! %s\n", err.message);
    unlink(path);
    return back;
}

/* Decision values of raw rows; the error's line if there is one. */
static long decide(const struct klr_model *model, const struct klr_features *x,
                   double *decision)
{
    struct klr_error err = {0};
    struct klr_predictor *predictor;
    if (klr_predictor_create(&predictor, model, 1, &err))
        printf("Bail out! %s\n", err.message);
    int code = klr_predict(predictor, x, NULL, decision, NULL, &err);
    klr_predictor_free(predictor);
    return code ? err.line : 0;
}

static bool same_scaling(const struct klr_scaling *a,
                         const struct klr_scaling *b)
{
    bool same = a && b && a->standardize == b->standardize &&
                a->columns == D - 1 && b->columns == D - 1;
    if (same && !a->standardize)
        same = a->lower == b->lower && a->upper == b->upper;
    for (size_t c = 0; same && c < D - 1; c++)
        same = a->column[c].index == b->column[c].index &&
               a->column[c].from == b->column[c].from &&
               a->column[c].to == b->column[c].to;
    return same;
}

static void test_model(enum klr_scale how)
{
    static double first[N], again[N], apart[N];
    struct klr_error err;
    struct klr_params params;
    struct klr_model *model = NULL, *back;
    struct klr_report report;
    uint64_t same = state;
    struct klr_problem raw = sparse_problem(), scaled;
    state = same;
    scaled = sparse_problem();
    klr_params_init(&params);
    ok(!klr_problem_scale(&scaled, how, &err) &&
           !klr_train(&scaled, &params, &model, &report, &err),
       "%s: trained", klr_scale_names[how]);
    struct klr_features x = problem_features(&raw),
                        y = problem_features(&scaled);
    decide(model, &x, first);
    back = round_trip(model);
    decide(back, &x, again);
    ok(memcmp(first, again, sizeof first) == 0, "the same from a file");
    ok(same_scaling(model->scaling, back->scaling), "the scaling as well");
    back->scaling = scaling_free(back->scaling);
    decide(back, &y, apart);
    ok(memcmp(first, apart, sizeof first) == 0, "as if rows had been scaled");
    decide(back, &x, apart);
    ok(memcmp(first, apart, sizeof first) != 0, "which they have to be");
    klr_model_free(model);
    klr_model_free(back);
    klr_problem_free(&raw);
    klr_problem_free(&scaled);
}

/* More columns than a block of rows may have features. */
static void test_wide(void)
{
    enum { WIDE = 3000, ROWS = 700 };
    static size_t start[ROWS + 1];
    static int index[ROWS];
    static double value[ROWS], decision[ROWS], single[1];
    struct klr_error err;
    struct klr_params params;
    struct klr_model *model;
    struct klr_report report;
    struct klr_problem p = {.n = 4, .dimension = WIDE};
    p.label = klr_alloc(4, sizeof *p.label, &err);
    p.start = klr_zalloc(5, sizeof *p.start, &err);
    p.index = klr_alloc(WIDE, sizeof *p.index, &err);
    p.value = klr_alloc(WIDE, sizeof *p.value, &err);
    for (int i = 0; i < WIDE; i++) {
        p.index[i] = i + 1;
        p.value[i] = i % 7 - 3.5;
    }
    for (size_t i = 0; i < 4; i++) {
        p.label[i] = i % 2 ? 1 : -1;
        p.start[i + 1] = (i + 1) * (WIDE / 4);
    }
    klr_params_init(&params);
    ok(!klr_problem_scale(&p, KLR_SCALE_STANDARD, &err) &&
           !klr_train(&p, &params, &model, &report, &err),
       "%d features", WIDE);
    for (int i = 0; i < ROWS; i++) {
        index[i] = 4 * i + 1;
        value[i] = 1 + i % 5;
        start[i + 1] = (size_t)i + 1;
    }
    struct klr_features x = {ROWS, WIDE, start, index, value, NULL};
    decide(model, &x, decision);
    size_t differ = 0;
    for (size_t i = 0; i < ROWS; i += 11) {
        struct klr_features one = {1, WIDE, start + i, index, value, NULL};
        decide(model, &one, single);
        differ += single[0] != decision[i];
    }
    ok(differ == 0, "rows are decided alike, alone or among many");
    value[500] = 1.7e308;
    struct klr_scaling_column *far = &model->scaling->column[2000];
    ok(far->index == 2001, "the column of row 501");
    far->to = 1e-3;
    ok(decide(model, &x, decision) == 501, "a value out of range has its row");
    klr_model_free(model);
    klr_problem_free(&p);
}

int main(void)
{
    (void)evaluate; /* nothing is solved here */
    (void)solve;
    (void)sample_make;
    test_problem(KLR_SCALE_MINMAX);
    test_problem(KLR_SCALE_STANDARD);
    test_none();
    test_model(KLR_SCALE_MINMAX);
    test_model(KLR_SCALE_STANDARD);
    test_wide();
    return done_testing();
}
