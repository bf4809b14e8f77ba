/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What klr-predict tells at the end: metrics, in lines or as JSON, and warnings
 * of rows unlike those of the training set.
 */
#include "cli/predict/predict_run.h"

#include <math.h>
#include <stdio.h>

/* The share of rows that are far from all support vectors; NaN: of none is it
 * known. */
static double far_share(const struct cli_predict *predict)
{
    return predict->asked ? (double)predict->far / (double)predict->asked
                          : (double)NAN;
}

/* That rows are not like those of the training set. */
static void warn_strange(const struct cli_predict *predict, const char *data)
{
    int feature = predict->unseen.feature;
    const struct klr_names *names = klr_model_features(predict->model);
    bool named = feature > 0 && (size_t)feature <= klr_names_count(names);
    if (predict->unseen.rows && !predict->use.vectors) /* else it is told */
        cli_warn(predict->program,
                 "%s: rows with features that the model lacks: %llu, the first "
                 "in line %ld: %d%s%s%s",
                 data, predict->unseen.rows, predict->unseen.line, feature,
                 named ? " (" : "",
                 named ? klr_names_text(names, (size_t)feature - 1) : "",
                 named ? ")" : "");
    if (predict->far)
        cli_warn(predict->program,
                 "%s: rows far from all support vectors: %.3g%%", data,
                 100 * far_share(predict));
}

static void print_metrics(struct cli_predict *predict)
{
    struct klr_metric_values values;
    FILE *stream = klr_output_is_stdout(predict->output) ? stderr : stdout;
    klr_metrics_values(predict->metrics, &values);
    double cost = predict->options.cost
                      ? cli_mean_cost(predict->metrics, predict->cost)
                      : (double)NAN;
    if (predict->options.json) {
        printf("{\"rows\": %llu, \"labelled\": %llu, \"correct\": %llu, ",
               predict->rows, values.count, values.correct);
        cli_json_metrics(&values, ", ");
        if (predict->options.cost)
            cli_json_real("cost", cost, ", ");
        if (predict->options.keep_going)
            printf("\"bad\": %llu, ", predict->bad);
        printf("\"unseen_rows\": %llu, ", predict->unseen.rows);
        cli_json_real("far", far_share(predict), ", ");
        cli_json_confusion(predict->metrics, &predict->answers, ", ");
        cli_json_warnings(predict->program, "}\n");
    } else if (values.count) {
        fprintf(stream, "Accuracy = %g%% (%llu/%llu) (classification)\n",
                100 * values.accuracy, values.correct, values.count);
        cli_print_metrics(stream, &values, predict->options.metrics);
        if (predict->options.cost && !isnan(cost))
            fprintf(stream, "Cost = %.6g\n", cost);
        if (predict->options.metrics)
            cli_print_confusion(stream, predict->metrics, &predict->answers);
    }
}

static void warn_features(const struct cli_predict *predict, const char *data)
{
    struct cli_some_features missing, unseen;
    if (!predict->use.vectors)
        return;
    cli_feature_use_compare(&predict->use, &missing, &unseen);
    if (missing.count)
        cli_warn(predict->program,
                 "%s: no row has features that the model knows: %zu, the first "
                 "is %zu",
                 data, missing.count, missing.first);
    if (unseen.count)
        cli_warn(predict->program,
                 "%s: rows have features that the model does not know: %zu, "
                 "the first is %zu",
                 data, unseen.count, unseen.first);
}

int cli_predict_finish(struct cli_predict *predict)
{
    struct klr_error err;
    const char *data = cli_input_name(predict->data);
    int code = klr_output_commit(predict->out, &err);
    predict->out = NULL;
    if (code)
        return cli_fail(predict->program, cli_output_name(predict->output),
                        &err);
    if (predict->has_qid)
        cli_warn(predict->program, "%s: qid is ignored", data);
    if (!predict->rows)
        cli_warn(predict->program, "%s: no rows", data);
    warn_features(predict, data);
    int last = klr_model_last_serial(predict->model);
    if (predict->rows && predict->dimension < last)
        cli_warn(predict->program,
                 "%s: no row has a column beyond %d, but the model asks for "
                 "those up to %d: they count as 0",
                 data, predict->dimension, last);
    unsigned long long others = cli_count_others(predict->metrics);
    if (others && !predict->options.quiet && !predict->options.json)
        cli_warn(predict->program,
                 "%s: examples with a label that the model lacks: %llu", data,
                 others);
    const char *single = cli_single_answer(predict->metrics, &predict->answers);
    if (single && !predict->options.quiet)
        cli_warn(predict->program, "%s: " CLI_SINGLE_ANSWER, data, single);
    if (!predict->options.quiet && !predict->options.json)
        warn_strange(predict, data);
    if (!predict->options.quiet || predict->options.json)
        print_metrics(predict);
    return predict->bad ? CLI_FAILURE : CLI_OK;
}
