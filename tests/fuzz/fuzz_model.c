/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as a model file: loaded, made ready, asked for predictions, saved,
 * loaded again.
 */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>

const char *const fuzz_stages[FUZZ_STAGES] = {"loaded", "predicted"};
unsigned long fuzz_reached[FUZZ_STAGES];
const bool fuzz_is_slow = false;
const char fuzz_folder[] = "tests/fuzz/corpus/model";

/* ---- Models of this build ---- */

/* The model that the options ask for, if they may, on one data file of the
 * corpus, scaled or not. */
static void add_model(struct corpus *corpus, const char *data,
                      const char *options, enum klr_scale scale)
{
    char path[64];
    struct klr_error err;
    struct klr_problem problem;
    struct klr_params params;
    struct klr_report report;
    struct klr_model *model;
    fuzz_params(&params);
    fuzz_options(&params, options);
    if (klr_params_check(&params, &err))
        return;
    int flags = KLR_READ_KEEP | (params.string_labels ? KLR_READ_NAMES : 0);
    snprintf(path, sizeof path, "tests/fuzz/corpus/data/%s", data);
    FUZZ_CHECK(!klr_problem_read(&problem, path, flags, 1, &err), "%s: %s",
               path, err.message);
    FUZZ_CHECK(!klr_problem_scale(&problem, scale, &err), "%s", err.message);
    FUZZ_CHECK(!klr_train(&problem, &params, &model, &report, &err),
               "%s %s: %s", options, data, err.message);
    struct specimen *grown =
        realloc(corpus->item, (corpus->count + 1) * sizeof *grown);
    FUZZ_CHECK(grown, "no memory");
    corpus->item = grown;
    struct specimen *added = &grown[corpus->count++];
    added->text = fuzz_save(model, &added->length);
    FUZZ_CHECK(asprintf(&added->name, "%s %s", options, data) > 0, "%s",
               options);
    klr_model_free(model);
    klr_problem_free(&problem);
}

/* Each model with every kernel that it takes. */
static void add_kernels(struct corpus *corpus, const char *model)
{
    static const char *const cases[][2] = {
        {"linear", "dense"},       {"polynomial", "dense"},
        {"rbf", "dense"},          {"sigmoid", "dense"},
        {"laplacian", "dense"},    {"precomputed", "precomputed"},
        {"rbf", "sparse"},         {"rbf", "classes"},
        {"polynomial", "classes"}, {"laplacian", "classes"},
        {"exponential", "sparse"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char options[80];
        snprintf(options, sizeof options, "model %s kernel %s", model,
                 cases[i][0]);
        add_model(corpus, cases[i][1], options, KLR_SCALE_NONE);
    }
}

void fuzz_add_specimens(struct corpus *corpus)
{
    static const struct {
        const char *data, *options;
        enum klr_scale scale;
    } cases[] = {
        {"dense", "model kfd regularizer coef kernel sigmoid", KLR_SCALE_NONE},
        {"dense", "model sklr link consistent", KLR_SCALE_MINMAX},
        {"dense", "model svm link platt", KLR_SCALE_STANDARD},
        {"classes", "model klr multiclass ova", KLR_SCALE_NONE},
        {"classes", "model svm multiclass ddag", KLR_SCALE_NONE},
        {"classes", "model svm multiclass ova", KLR_SCALE_STANDARD},
        {"classes", "model kfd multiclass ddag", KLR_SCALE_NONE},
        {"classes", "model sklr multiclass ova link consistent",
         KLR_SCALE_NONE},
        {"classes", "model kfd multiclass ova algorithm greedy",
         KLR_SCALE_MINMAX},
        {"names", "model klr string-labels 1", KLR_SCALE_NONE},
        {"names", "model svm link platt multiclass ddag string-labels 1",
         KLR_SCALE_MINMAX},
    };
    for (size_t m = 0; klr_model_names[m]; m++)
        add_kernels(corpus, klr_model_names[m]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        add_model(corpus, cases[i].data, cases[i].options, cases[i].scale);
}

/* ---- Predictions ---- */

/* Rows that are dense, empty, sparse, scaled badly; for precomputed kernels
 * their feature 0 is a serial number. */
static const size_t row_start[] = {0, 3, 3, 5, 8};
static const int row_index[] = {0, 1, 2, 1, 2147483647, 2, 3, 5};
static const double row_value[] = {1, 0.5, -1, 0.25, 1, 1e3, -1e-3, 7};
enum { ROWS = 4 };

static void check_answers(const struct klr_model *model, const double *label,
                          const double *decision, const double *probability)
{
    size_t k = klr_model_classes(model), pairs = klr_model_machines(model);
    for (size_t i = 0; i < ROWS * pairs; i++)
        FUZZ_CHECK(isfinite(decision[i]), "decision %g", decision[i]);
    for (size_t i = 0; i < ROWS; i++) {
        double sum = 0;
        size_t c = 0;
        while (c < k && klr_model_labels(model)[c] != label[i])
            c++;
        FUZZ_CHECK(c < k, "%g is no label of the model", label[i]);
        for (size_t j = 0; probability && j < k; j++) {
            double p = probability[i * k + j];
            FUZZ_CHECK(p >= 0 && p <= 1 && p <= probability[i * k + c],
                       "probabilities %g and %g", p, probability[i * k + c]);
            sum += p;
        }
        FUZZ_CHECK(!probability || fabs(sum - 1) < 1e-9, "sum %.17g", sum);
    }
}

static void *doubles(size_t count)
{
    void *block = malloc(count * sizeof(double));
    FUZZ_CHECK(block, "no memory for %zu numbers", count);
    return block;
}

static void check_predictions(const struct klr_model *model,
                              struct klr_predictor *predictor)
{
    static const uint8_t rows[] = "\n\n\n";
    struct klr_error err = {.code = -1, .line = -1, .column = -1};
    size_t k = klr_model_classes(model), pairs = klr_model_machines(model);
    struct klr_features x = {ROWS,      2147483647, row_start,
                             row_index, row_value,  NULL};
    double *label = doubles(ROWS), *decision = doubles(ROWS * pairs);
    double *probability =
        klr_model_has_probabilities(model) ? doubles(ROWS * k) : NULL;
    int code = klr_predict(predictor, &x, label, decision, probability, &err);
    if (code) {
        fuzz_check_error(&err, code, true, rows, sizeof rows - 1);
    } else {
        fuzz_reached[1]++;
        check_answers(model, label, decision, probability);
    }
    free(label);
    free(decision);
    free(probability);
}

static void check_model(const struct klr_model *model, const uint8_t *data,
                        size_t size)
{
    struct klr_error err = {.code = -1, .line = -1, .column = -1};
    struct klr_predictor *predictor;
    int code = klr_predictor_create(&predictor, model, 1, &err);
    if (code)
        fuzz_check_error(&err, code, false, data, size);
    else
        check_predictions(model, predictor);
    klr_predictor_free(code ? NULL : predictor);
    fuzz_check_round_trip(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct klr_error err = {.code = -1, .line = -1, .column = -1};
    struct memory_file file;
    struct klr_model *model;
    memory_file_create(&file, data, size);
    int code = klr_model_load(&model, file.path, &err);
    memory_file_close(&file);
    if (code) {
        fuzz_check_error(&err, code, size > 0, data, size);
        FUZZ_CHECK(!model, "a model that is refused is there");
        return 0;
    }
    fuzz_reached[0]++;
    check_model(model, data, size);
    klr_model_free(model);
    return 0;
}
