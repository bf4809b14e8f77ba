/* SPDX-License-Identifier: BSD-3-Clause
 *
 * klr-predict makes ready: the model, with all that depends on it, and the
 * files of rows and answers.
 */
#include "cli/predict/predict_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/machine/system.h"
#include "base/memory.h"

static int check_model(struct cli_predict *predict, struct klr_error *err)
{
    bool probable = klr_model_has_probabilities(predict->model);
    int *wanted = &predict->options.probability;
    if (*wanted == PREDICT_PROBABILITIES && !probable)
        return klr_fail(err, KLR_E_USAGE,
                        "-b 1: the model has no probabilities");
    if (*wanted == PREDICT_AUTO)
        *wanted = probable && !predict->options.decision ? PREDICT_PROBABILITIES
                                                         : PREDICT_LABELS;
    return 0;
}

/* Read the costs of --cost, or see that the model can do with --threshold. */
static int read_costs(struct cli_predict *predict, struct klr_error *err)
{
    const struct cli_predict_options *options = &predict->options;
    size_t classes = klr_model_classes(predict->model);
    if (isnan(options->threshold) && !options->cost)
        return 0;
    if (!klr_model_has_probabilities(predict->model))
        return klr_fail(err, KLR_E_USAGE,
                        "option --%s: the model has no probabilities",
                        options->cost ? "cost" : "threshold");
    if (options->cost)
        return cli_costs_read(&predict->cost, options->cost, &predict->answers,
                              err);
    if (classes != 2)
        return klr_fail(err, KLR_E_USAGE,
                        "option --threshold: the model has %zu classes, not "
                        "two",
                        classes);
    return 0;
}

/* True of a file that begins as models do. */
static bool is_model(const char *path)
{
    static const char first[] = "svm_type ";
    char begin[sizeof first] = "";
    struct stat status;
    FILE *file = stat(path, &status) == 0 && S_ISREG(status.st_mode)
                     ? fopen(path, "r")
                     : NULL;
    if (file) {
        bool whole = fread(begin, sizeof first - 1, 1, file) == 1;
        fclose(file);
        return whole && strcmp(begin, first) == 0;
    }
    return false;
}

static int fail_load(const struct cli_predict *predict,
                     const struct klr_error *err)
{
    struct klr_error order = *err;
    if (err->code == KLR_E_MODEL && is_model(predict->data))
        klr_fail_at(&order, err->code, err->line, err->column,
                    "%s (%.40s is a model; the order is %s)", err->message,
                    predict->data, predict->program->operands);
    return cli_fail(predict->program, predict->model_path, &order);
}

/* Add the features of the support vectors, or those of the scaling if there is
 * one. Neither weights nor a scaling tell how many examples had a feature. */
static int add_known(struct cli_predict *predict, struct klr_error *err)
{
    struct klr_features vectors = klr_model_vectors(predict->model);
    int *index;
    size_t count;
    if (vectors.n && klr_model_has_weights(predict->model))
        return cli_feature_use_know(&predict->use, vectors.index,
                                    vectors.start[vectors.n], err);
    if (vectors.n)
        return cli_feature_use_add(&predict->use, &vectors, true, err);
    int code = klr_model_scaled(predict->model, &index, &count, err);
    if (!code)
        code = cli_feature_use_know(&predict->use, index, count, err);
    klr_free(index);
    return code;
}

/* `context` is a struct cli_predict. */
static void tell_vectors(unsigned long long vectors, void *context)
{
    struct cli_predict *predict = context;
    cli_progress_rows(&predict->progress, "support vectors read", vectors,
                      klr_seconds() - predict->begin);
}

static int read_model(struct cli_predict *predict, struct klr_error *err)
{
    predict->begin = klr_seconds();
    predict->progress = (struct cli_progress){
        .name = predict->program->name,
        .quiet = predict->options.quiet,
    };
    int code = klr_model_load_told(&predict->model, predict->model_path,
                                   tell_vectors, predict, err);
    cli_progress_end(&predict->progress);
    return code;
}

int cli_predict_load(struct cli_predict *predict)
{
    struct klr_error err;
    int code = read_model(predict, &err);
    if (code)
        return fail_load(predict, &err);
    const struct klr_model *model = predict->model;
    if ((code = check_model(predict, &err)) ||
        (code = klr_predictor_create(&predict->predictor, model,
                                     predict->options.threads, &err)) ||
        (code = klr_metrics_create(&predict->metrics, klr_model_classes(model),
                                   klr_model_labels(model), &err)) ||
        (code = cli_answers_create(&predict->answers, klr_model_classes(model),
                                   klr_model_labels(model),
                                   klr_model_label_names(model), &err)) ||
        (code = add_known(predict, &err)) ||
        (code = cli_batch_create(&predict->batch, model, &err)))
        return cli_fail(predict->program, NULL, &err);
    if ((code = read_costs(predict, &err)))
        return cli_fail(predict->program,
                        code == KLR_E_USAGE ? NULL : predict->options.cost,
                        &err);
    return -1;
}

int cli_predict_open(struct cli_predict *predict)
{
    struct klr_error err;
    int flags = klr_model_reader_flags(predict->model) | KLR_READ_GIVEN;
    if (predict->options.unlabelled)
        flags |= KLR_READ_UNLABELLED;
    if (predict->options.keep_going)
        flags |= KLR_READ_BLANK;
    if (predict->options.id == PREDICT_FIRST)
        flags |= KLR_READ_ID;
    if (klr_reader_open(&predict->reader, predict->data, flags, &err))
        return cli_fail(predict->program, predict->data, &err);
    if (klr_output_open(&predict->out, predict->output, &err))
        return cli_fail(predict->program, cli_output_name(predict->output),
                        &err);
    return -1;
}
