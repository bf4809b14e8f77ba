/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What klr-train tells of a run: warnings, a summary, the results of a
 * validation, in lines or as JSON.
 */
#include "cli/train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PREFIX_SIZE = CLI_POINT_SIZE + 3 };

/* "C = 10: " where there are several, else "". */
static const char *point_prefix(const struct cli_train *train, size_t t,
                                char prefix[PREFIX_SIZE])
{
    size_t length = cli_point_text(&train->params, t, prefix);
    if (length > 0)
        memcpy(prefix + length, ": ", 3);
    return prefix;
}

void cli_train_warn(const struct cli_train *train,
                    const struct cli_program *program,
                    const struct klr_report *report, size_t count,
                    const char *what)
{
    static const char *const reasons[] = {
        [KLR_ITERATION_LIMIT] = "the limit of iterations was reached",
        [KLR_MEMORY_LIMIT] = "the memory (-m) holds no larger basis",
        [KLR_TIME_LIMIT] = "the limit of time was reached",
        [KLR_INTERRUPTED] = "training was interrupted",
        [KLR_PRECISION_LIMIT] = "rounding errors allow no smaller violation",
    };
    enum { IN_FULL = 10 };
    size_t warnings = 0;
    for (size_t t = 0; t < count; t++) {
        char prefix[PREFIX_SIZE], gap[48] = "";
        if (report[t].status == KLR_CONVERGED || ++warnings > IN_FULL)
            continue;
        if (isfinite(report[t].gap) && report[t].status != KLR_PRECISION_LIMIT)
            snprintf(gap, sizeof gap, " (relative duality gap %.2g)",
                     report[t].gap);
        cli_warn(program, "%s%s: %s%s", point_prefix(train, t, prefix),
                 reasons[report[t].status],
                 report[t].machines == KLR_CONVERGED
                     ? "the probabilities alone are not fitted in full"
                     : what,
                 gap);
    }
    if (warnings > IN_FULL)
        cli_warn(program, "and %zu more like these", warnings - IN_FULL);
}

bool cli_train_unwanted(const char *path)
{
    return strcmp(path, "/dev/null") == 0;
}

void cli_train_summary(const struct cli_train *train,
                       const struct cli_program *program)
{
    const char *end = train->models > 1 ? ", " : "\n";
    char name[64] = "", prefix[PREFIX_SIZE];
    if (train->models == 1)
        snprintf(name, sizeof name, "%s: ", program->name);
    for (size_t t = 0; t < train->models; t++) {
        const struct klr_report *report = &train->report[t];
        fprintf(stderr, "%s: %s", program->name,
                point_prefix(train, t, prefix));
        if (train->models == 1)
            fprintf(stderr, "%zu examples, %d feature%s: ", train->problem.n,
                    train->problem.dimension,
                    klr_plural((size_t)train->problem.dimension));
        fprintf(stderr, "%s after %lld iteration%s%s%sobjective %.10g, ",
                klr_status_names[report->status], report->iterations,
                klr_plural((size_t)report->iterations), end, name,
                report->primal);
        if (isfinite(report->gap))
            fprintf(stderr, "relative duality gap %.2g, ", report->gap);
        fprintf(stderr, "%zu support vector%s", report->n_sv,
                klr_plural(report->n_sv));
        if (!cli_train_unwanted(train->path[t])) {
            fprintf(stderr, "%s%smodel saved to ", end, name);
            cli_print_visibly(stderr, cli_output_name(train->path[t]));
        }
        fputc('\n', stderr);
    }
}

void cli_train_bounds(const struct cli_train *train)
{
    for (size_t t = 0; t < train->models && train->params.lambda_bound; t++) {
        char prefix[PREFIX_SIZE];
        printf("%slambda bound = %.10g\n", point_prefix(train, t, prefix),
               train->report[t].lambda_bound);
    }
}

/* gamma and lambda where they are given; `before` each key, such as "best_". */
static void json_parameters(const struct klr_params *one, const char *before)
{
    char key[32];
    snprintf(key, sizeof key, "%sc", before);
    cli_json_real(key, one->cost.value[0], ", ");
    snprintf(key, sizeof key, "%sgamma", before);
    if (one->gamma.value[0] > 0)
        cli_json_real(key, one->gamma.value[0], ", ");
    snprintf(key, sizeof key, "%slambda", before);
    if (!isnan(one->lambda.value[0]))
        cli_json_real(key, one->lambda.value[0], ", ");
}

/* The keys that training and validation share; the caller closes the brace. */
static void json_begin(const struct cli_train *train,
                       const struct klr_report *report,
                       const struct klr_params *one)
{
    printf("{\"model\": \"%s\", \"solver\": \"%s\", \"status\": \"%s\", ",
           klr_model_names[train->params.model],
           klr_solver_names[report->solver], klr_status_names[report->status]);
    json_parameters(one, "");
    cli_json_real("objective", report->primal, ", ");
    cli_json_real("dual", report->dual, ", ");
    cli_json_real("gap", report->gap, ", ");
    printf("\"iterations\": %lld, ", report->iterations);
    cli_json_real("passes", report->passes, ", ");
    cli_json_real("precond_flops", report->precond_flops, ", ");
    printf("\"kernel_evals\": %llu, \"n\": %zu, ", report->kernel_evals,
           train->problem.n);
}

void cli_train_json_end(const struct cli_train *train)
{
    printf("\"seconds\": {\"read\": %.6f, \"train\": %.6f, \"write\": %.6f}}",
           train->seconds.read, train->seconds.train, train->seconds.write);
}

void cli_train_json_model(const struct cli_train *train, size_t t)
{
    struct klr_params one = klr_params_point(&train->params, t);
    json_begin(train, &train->report[t], &one);
    printf("\"n_sv\": %zu", train->report[t].n_sv);
    if (train->params.lambda_bound) {
        fputs(", ", stdout);
        cli_json_real("lambda_bound", train->report[t].lambda_bound, "");
    }
}

void cli_train_json_models(const struct cli_train *train)
{
    for (size_t t = 0; t < train->models; t++) {
        fputs(t > 0 ? ", " : train->models > 1 ? "[" : "", stdout);
        cli_train_json_model(train, t);
        fputs(", ", stdout);
        cli_train_json_end(train);
    }
    puts(train->models > 1 ? "]" : "");
}

static void json_table(const struct cli_train *train,
                       const struct klr_validation *validation)
{
    fputs("\"values\": [", stdout);
    for (size_t t = 0; t < validation->count; t++) {
        struct klr_params one = klr_params_point(&train->params, t);
        printf("%s{\"status\": \"%s\", ", t ? ", " : "",
               klr_status_names[validation->report[t].status]);
        json_parameters(&one, "");
        cli_json_metrics(&validation->values[t], "}");
    }
    fputs("], ", stdout);
}

void cli_train_json_validation(const struct cli_train *train,
                               const struct klr_validation *validation,
                               const struct cli_answers *answers)
{
    const struct klr_metric_values *values =
        &validation->values[validation->best];
    struct klr_params one = klr_params_point(&train->params, validation->best);
    enum klr_metric metric =
        klr_metric_settle((enum klr_metric)train->params.metric, values);
    json_begin(train, &validation->report[validation->best], &one);
    printf("\"folds\": %lld, \"loo\": %s, \"metric\": \"%s\", ",
           train->params.loo ? (long long)train->problem.n
                             : train->params.folds,
           train->params.loo ? "true" : "false", klr_metric_names[metric]);
    cli_json_metrics(values, ", ");
    cli_json_confusion(validation->metrics, answers, ", ");
    if (validation->count > 1) {
        json_table(train, validation);
        json_parameters(&one, "best_");
    }
}

void cli_train_validation(const struct cli_train *train,
                          const struct klr_validation *validation,
                          const struct cli_answers *answers)
{
    const struct klr_metric_values *values =
        &validation->values[validation->best];
    bool all = train->options.metrics;
    if (validation->count > 1)
        cli_print_table(stdout, &train->params, validation, all);
    printf("Cross Validation Accuracy = %g%%\n", 100 * values->accuracy);
    cli_print_metrics(stdout, values, all);
    if (all)
        cli_print_confusion(stdout, validation->metrics, answers);
}
