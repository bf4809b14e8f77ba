/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What klr-train warns of after a validation: a choice that was none, that the
 * grid cut short, or that tells no classes apart.
 */
#include "cli/train/training_run.h"

#include <math.h>
#include <stdio.h>

/* Append "C = 10 is the largest" where the best is the first or last of three
 * values or more: of two, one is the best. Below a lambda of 0 there are none.
 */
static size_t add_edge(const char *name, const struct klr_reals *grid,
                       double best, size_t used, char text[CLI_POINT_SIZE])
{
    char number[KLR_REAL_SIZE];
    bool largest = best == grid->value[grid->count - 1];
    if (grid->count < 3 || best == 0 || (!largest && best != grid->value[0]))
        return used;
    klr_format_real(number, best);
    return used + (size_t)snprintf(text + used, CLI_POINT_SIZE - used,
                                   "%s%s = %s is the %s", used ? ", " : "",
                                   name, number,
                                   largest ? "largest" : "smallest");
}

static void warn_edges(const struct klr_params *params, size_t best,
                       const struct cli_program *program)
{
    struct klr_params one = klr_params_point(params, best);
    char text[CLI_POINT_SIZE];
    size_t used = 0;
    used = add_edge("gamma", &params->gamma, one.gamma.value[0], used, text);
    used = add_edge("lambda", &params->lambda, one.lambda.value[0], used, text);
    used = add_edge("C", &params->cost, one.cost.value[0], used, text);
    if (used)
        cli_warn(program,
                 "the best point is at the edge of the grid: %s; a better one "
                 "may lie beyond",
                 text);
}

/* By itself the best point has about the metric that it was chosen by, unless
 * the metric depends on what eps leaves open. */
static void warn_apart(const struct klr_validation *validation,
                       enum klr_metric metric,
                       const struct cli_program *program)
{
    double compared =
        klr_metric_value(metric, &validation->values[validation->best]);
    double alone = klr_metric_value(metric, &validation->answer);
    double error = klr_metric_value(metric, &validation->answer_error);
    double little = fmax(error / 2, fabs(alone) / 100); /* NaN: no error */
    if (validation->count > 1 && fabs(alone - compared) > little)
        cli_warn(program,
                 "the %s of the best point is %.3g where points are "
                 "compared, and %.3g by itself: a smaller -e may choose "
                 "another one",
                 klr_metric_names[metric], compared, alone);
}

void cli_train_warn_validation(const struct cli_train *train,
                               const struct cli_program *program,
                               const struct klr_validation *validation,
                               const struct cli_answers *answers)
{
    enum klr_metric asked = (enum klr_metric)train->params.metric;
    enum klr_metric metric =
        klr_metric_among(asked, validation->values, validation->count);
    const char *single = cli_single_answer(validation->metrics, answers);
    if (validation->count > 1)
        cli_warn_metric(program, asked, metric);
    if (!train->options.quiet)
        warn_edges(&train->params, validation->best, program);
    warn_apart(validation, metric, program);
    if (single)
        cli_warn(program, CLI_SINGLE_ANSWER, single);
}
