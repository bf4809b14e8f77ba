/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as a data file: read row by row, read as a problem, trained on,
 * saved, loaded. Flags, model, kernel and solver follow from the bytes.
 */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>

enum { MOST_EXAMPLES = 48, MOST_FEATURES = 4000 };

const char *const fuzz_stages[FUZZ_STAGES] = {"read", "trained"};
unsigned long fuzz_reached[FUZZ_STAGES];
const bool fuzz_is_slow = true;
const char fuzz_folder[] = "tests/fuzz/corpus/data";

void fuzz_add_specimens(struct corpus *corpus)
{
    (void)corpus;
}

struct input {
    const uint8_t *data;
    size_t size;
    uint64_t hash; /* what is left of it for choices */
    bool spared;
    struct memory_file file;
};

static size_t choose(struct input *in, size_t limit)
{
    size_t choice = (size_t)(in->hash % limit);
    in->hash /= limit;
    return choice;
}

/* ---- The tokenizer ---- */

/* Nothing in a name needs more than quotes and backslashes to be escaped. */
static void check_name(const struct klr_row *row)
{
    const char *p = row->label_text, *end = p + row->label_length;
    FUZZ_CHECK(p < end, "an empty name");
    for (; p < end; p++)
        FUZZ_CHECK((unsigned char)*p > ' ' && !strchr(":,;#\x7F", *p), "%.*s",
                   (int)row->label_length, row->label_text);
}

static void check_row(const struct klr_row *row, int flags)
{
    const struct klr_line *line = &row->line;
    const char *end = row->features + row->features_length;
    int previous = -1;
    FUZZ_CHECK(row->has_label || flags & KLR_READ_UNLABELLED, "no label");
    if (row->has_label)
        FUZZ_CHECK(isfinite(row->label) && row->label_text >= line->text &&
                       row->label_text + row->label_length <= line->end,
                   "label %g", row->label);
    if (row->has_label && (flags & KLR_READ_NAMES))
        check_name(row);
    FUZZ_CHECK(row->features >= line->text && end <= line->end, "line %ld",
               line->number);
    for (size_t i = 0; i < row->count; previous = row->index[i++])
        FUZZ_CHECK(row->index[i] > previous && isfinite(row->value[i]),
                   "%d:%g after %d", row->index[i], row->value[i], previous);
}

/* Rows until the end or an error; how many there were. */
static size_t check_rows(const struct input *in, int flags)
{
    struct klr_error err = {.code = -1, .line = -1, .column = -1};
    struct klr_reader *reader;
    struct klr_row row;
    size_t count = 0;
    int got;
    FUZZ_CHECK(!klr_reader_open(&reader, in->file.path, flags, &err), "%s",
               err.message);
    while ((got = klr_reader_next(reader, &row, &err)) == 1) {
        check_row(&row, flags);
        count++;
    }
    if (got < 0)
        fuzz_check_error(&err, -got, true, in->data, in->size);
    klr_reader_close(reader);
    return got < 0 ? 0 : count;
}

/* ---- Training ---- */

static const char *const systems[] = {
    "model klr",
    "model klr algorithm smo",
    "model klr algorithm smo1",
    "model klr algorithm trirls",
    "model klr regularizer coef",
    "model klr regularizer coef algorithm cg",
    "model sklr",
    "model sklr algorithm smo",
    "model svm",
    "model svm link platt",
    "model kfd",
    "model kfd regularizer coef",
    "model kfd algorithm greedy",
    "model kfd algorithm greedy regularizer kernel threshold svm",
    "model ivm",
    "model lhalf",
};

static void choose_params(struct input *in, struct klr_params *params,
                          bool precomputed, bool named)
{
    static const char *const kernels[] = {
        "linear", "polynomial", "rbf", "sigmoid", "laplacian", "exponential"};
    static const char *const costs[] = {"1", "0.001", "100", "1e6"};
    fuzz_params(params);
    fuzz_options(params, systems[choose(in, sizeof systems / sizeof *systems)]);
    fuzz_option(params, "kernel",
                precomputed ? "precomputed" : kernels[choose(in, 5)]);
    fuzz_option(params, "cost", costs[choose(in, 4)]);
    fuzz_option(params, "multiclass", klr_multiclass_names[choose(in, 3)]);
    if (choose(in, 2))
        fuzz_option(params, "gamma", choose(in, 2) ? "0.5" : "20");
    if (choose(in, 8) == 0)
        fuzz_option(params, "positive", "1");
    if (named)
        fuzz_option(params, "string-labels", "");
    if (choose(in, 4) == 0)
        fuzz_option(params, "balance", "");
}

static void check_validation(const struct input *in,
                             const struct klr_problem *problem,
                             struct klr_params params)
{
    struct klr_error err = {.code = -1, .line = -1, .column = -1};
    struct klr_validation v;
    fuzz_options(&params, "validate 2 gamma 0.5,20 cost 0.1,10");
    int code = klr_cross_validate(problem, &params, false, &v, &err);
    if (code) {
        fuzz_check_error(&err, code, false, in->data, in->size);
        return;
    }
    FUZZ_CHECK(v.count == 4 && v.best < v.count, "point %zu", v.best);
    for (size_t t = 0; t < v.count; t++) {
        const struct klr_metric_values *now = &v.values[t];
        const struct klr_report *report = &v.report[t];
        bool lost = report->status >= KLR_PRECISION_LIMIT &&
                    report->doubt >= KLR_DOUBT_ROUNDING && t != v.best;
        bool answered = now->count == problem->n && now->accuracy >= 0 &&
                        now->accuracy <= 1;
        FUZZ_CHECK(answered || (now->count == 0 && lost),
                   "%llu rows, accuracy %g", now->count, now->accuracy);
    }
    klr_validation_free(&v);
}

static void check_training(const struct input *in,
                           const struct klr_problem *problem,
                           const struct klr_params *params)
{
    struct klr_error err = {.code = -1, .line = -1, .column = -1};
    struct klr_model *model;
    struct klr_report report;
    int code = klr_train(problem, params, &model, &report, &err);
    if (code) {
        fuzz_check_error(&err, code, false, in->data, in->size);
        return;
    }
    fuzz_reached[1]++;
    FUZZ_CHECK(report.n_sv == klr_model_n_sv(model) &&
                   isfinite(report.primal) && !(report.gap < -1e-6),
               "%zu vectors, objective %g, gap %g", report.n_sv, report.primal,
               report.gap);
    struct klr_model *back = fuzz_reload(model);
    fuzz_check_round_trip(back);
    klr_model_free(back);
    klr_model_free(model);
}

/* Precomputed kernels have no features. */
static enum klr_scale choose_scale(struct input *in, bool precomputed)
{
    return (enum klr_scale)choose(in, precomputed ? 1 : 3);
}

static void check_problem(struct input *in, int flags, size_t rows)
{
    bool precomputed =
        memmem(in->data, in->size, " 0:", 3) && choose(in, 4) > 0;
    struct klr_error err = {.code = -1, .line = -1, .column = -1};
    struct klr_problem problem;
    struct klr_params params;
    int code = klr_problem_read(&problem, in->file.path, flags, 1, &err);
    FUZZ_CHECK(code ? rows == 0 : rows == problem.n, "%zu rows, then %zu", rows,
               problem.n);
    if (code) {
        bool some = strcmp(err.message, "no examples") != 0;
        fuzz_check_error(&err, code, some, in->data, in->size);
        FUZZ_CHECK(problem.n == 0 && !problem.label, "what failed is there");
        return;
    }
    fuzz_reached[0]++;
    choose_params(in, &params, precomputed, flags & KLR_READ_NAMES);
    code = klr_problem_scale(&problem, choose_scale(in, precomputed), &err);
    if (code)
        fuzz_check_error(&err, code, false, in->data, in->size);
    else if (!in->spared && rows <= MOST_EXAMPLES &&
             problem.start[rows] <= MOST_FEATURES) {
        if (choose(in, 8) == 0)
            check_validation(in, &problem, params);
        else
            check_training(in, &problem, &params);
    }
    klr_problem_free(&problem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size, fuzz_hash(data, size), false, {0}};
    int flags = choose(&in, 4) ? KLR_READ_KEEP : 0;
    if (memmem(data, size, "names", 5))
        flags |= KLR_READ_NAMES;
    /* By bits that choices do not reach: they are the same without sparing. */
    in.spared = (in.hash >> 40) % fuzz_sparing != 0;
    memory_file_create(&in.file, data, size);
    check_rows(&in, KLR_READ_UNLABELLED | (flags & KLR_READ_NAMES));
    check_problem(&in, flags, check_rows(&in, flags));
    memory_file_close(&in.file);
    return 0;
}
