/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What klr-train tells of a run: warnings, a summary, the results of a
 * validation, in lines or as JSON.
 */
#include "cli/train/training_run.h"

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

static const char *const status_reasons[] = {
    [KLR_ITERATION_LIMIT] = "the limit of iterations was reached",
    [KLR_MEMORY_LIMIT] = "the memory (-m) holds no larger basis",
    [KLR_TIME_LIMIT] = "the limit of time was reached",
    [KLR_INTERRUPTED] = "training was interrupted",
};

/* Why a model is not what was asked for. */
static const char *point_reason(const struct klr_report *report)
{
    static const char *const doubts[] = {
        [KLR_DOUBT_NONE] = "rounding errors allow no smaller violation",
        [KLR_DOUBT_GAP] = "rounding errors allow no smaller duality gap",
        [KLR_DOUBT_RANK] = "rounding errors alone tell the kernels that are "
                           "left from those that were taken",
        [KLR_DOUBT_ROUNDING] = "decision values are lost in rounding errors",
        [KLR_DOUBT_CONSTANT] = "rounding errors make the model worse than a "
                               "constant",
        [KLR_DOUBT_INDEFINITE] = "the kernel matrix is not positive "
                                 "semidefinite, and may hide a better model",
    };
    return report->status == KLR_PRECISION_LIMIT
               ? doubts[report->doubt]
               : status_reasons[report->status];
}

/* From here on a gap tells nothing of a model. */
static const double gap_worthless = 0.5;

/* Objectives are compared with that of a constant, but not of discriminants,
 * whose constraints no constant keeps. */
static bool point_is_unknown(const struct klr_report *report)
{
    return isnan(report->primal) ||
           (report->solver == KLR_SOLVER_EXACT && report->gap >= gap_worthless);
}

/* A kernel matrix that is nearly positive semidefinite leaves a gap that tells
 * how good the model is. */
static const char *point_consequence(const struct klr_report *report,
                                     const char *what)
{
    bool known = report->doubt == KLR_DOUBT_INDEFINITE &&
                 isfinite(report->gap) && report->gap < gap_worthless;
    if (report->doubt >= KLR_DOUBT_ROUNDING && !known)
        return "do not rely on its answers";
    if (point_is_unknown(report))
        return "nothing tells how good the model is";
    return report->machines == KLR_CONVERGED
               ? "the probabilities alone are not fitted in full"
               : what;
}

/* Advice against rounding errors: "; scale the features", or "". */
static const char *point_advice(const struct klr_params *params,
                                const struct klr_report *report)
{
    const double large = 1e3;
    double degree = (double)params->degree;
    if (report->status != KLR_PRECISION_LIMIT)
        return "";
    if (report->doubt == KLR_DOUBT_INDEFINITE)
        return params->model == KLR_MODEL_KLR ||
                       params->model == KLR_MODEL_SVM ||
                       params->model == KLR_MODEL_KFD
                   ? "; --regularizer coef takes any kernel"
                   : "; choose another kernel";
    if (params->kernel == KLR_POLYNOMIAL && report->size > large &&
        pow(2 * fabs(params->coef0), degree) > report->size)
        return "; choose a smaller coef0 (-r)";
    if (report->size > large)
        return params->kernel == KLR_PRECOMPUTED ? "; scale the kernel matrix"
                                                 : "; scale the features";
    return "; choose a smaller -c, or a larger -e";
}

enum { GAP_SIZE = 160 };

/* Say how far a solution is from the optimum: " (relative duality gap 0.01)";
 * by its last step where the gap tells nothing; or "". */
static const char *point_distance(const struct klr_report *report,
                                  char text[GAP_SIZE])
{
    int length = 0;
    text[0] = 0;
    if (isfinite(report->gap) && report->gap < gap_worthless)
        snprintf(text, GAP_SIZE, " (relative duality gap %.2g)", report->gap);
    else if (isfinite(report->gap))
        length = snprintf(text, GAP_SIZE,
                          " (relative duality gap %.2g, which tells nothing "
                          "of the model%s",
                          report->gap, isfinite(report->fall) ? "" : ")");
    if (length > 0 && isfinite(report->fall))
        snprintf(text + length, GAP_SIZE - (size_t)length,
                 "; its last step lowered the objective by %.2g of itself)",
                 fmax(report->fall, 0));
    return text;
}

void cli_train_warn(const struct cli_train *train,
                    const struct cli_program *program,
                    const struct klr_report *report, size_t count,
                    enum klr_status most, const char *what)
{
    enum { IN_FULL = 10 };
    size_t warnings = 0;
    for (size_t t = 0; t < count; t++) {
        char prefix[PREFIX_SIZE], gap[GAP_SIZE];
        if (report[t].status == KLR_CONVERGED || report[t].status > most ||
            ++warnings > IN_FULL)
            continue;
        cli_warn(program, "%s%s: %s%s%s", point_prefix(train, t, prefix),
                 point_reason(&report[t]), point_consequence(&report[t], what),
                 point_advice(&train->params, &report[t]),
                 point_distance(&report[t], gap));
    }
    if (warnings > IN_FULL)
        cli_warn(program, "and %zu more like these", warnings - IN_FULL);
}

/* At a large C -e may allow a gap of the size of the objective. */
static bool report_is_far(const struct klr_report *report)
{
    return report->status == KLR_CONVERGED && report->gap > gap_worthless &&
           (report->solver == KLR_SOLVER_SMO ||
            report->solver == KLR_SOLVER_SMO1);
}

void cli_train_warn_far(const struct cli_train *train,
                        const struct cli_program *program)
{
    for (size_t t = 0; t < train->models; t++) {
        char prefix[PREFIX_SIZE];
        if (report_is_far(&train->report[t]))
            cli_warn(program,
                     "%sthe violation that -e allows leaves a relative duality "
                     "gap of %.2g, which tells nothing of the model: choose a "
                     "smaller -c, or --gap",
                     point_prefix(train, t, prefix), train->report[t].gap);
    }
}

void cli_train_warn_empty(const struct cli_train *train,
                          const struct cli_program *program)
{
    bool empty = false;
    for (size_t t = 0; t < train->models; t++)
        empty = empty || (train->report[t].n_sv == 0 &&
                          train->report[t].status >= KLR_TIME_LIMIT);
    if (empty)
        cli_warn(program, "a model without support vectors answers with the "
                          "shares of the classes");
}

void cli_train_warn_cut(const struct cli_train *train,
                        const struct cli_program *program,
                        const struct klr_validation *validation)
{
    size_t count = validation->count, solved = validation->solved;
    bool alone = count == 1 && validation->metrics;
    bool answers = !train->options.part;
    const char *reason =
        status_reasons[cli_signal() ? KLR_INTERRUPTED : KLR_TIME_LIMIT];
    cli_train_warn(train, program, validation->report, count,
                   alone ? KLR_INTERRUPTED : KLR_MEMORY_LIMIT,
                   "the models are not optimal");
    if (alone)
        return;
    if (solved == 0)
        cli_warn(program, "%s: no results", reason);
    else if (solved < count)
        cli_warn(program, "%s: %zu of %zu points are not solved", reason,
                 count - solved, count);
    else if (!validation->metrics && answers)
        cli_warn(program, "%s: the best point is not validated once more",
                 reason);
}

static const char *no_discriminant(enum klr_note_kind kind)
{
    switch (kind) {
    case KLR_NOTE_DIGITS:
        return "large values of the kernel lose what tells their means apart; "
               "scale the features";
    case KLR_NOTE_COST:
        return "C is so large that rounding errors leave nothing of the "
               "regularizer; choose a smaller -c";
    default:
        return "the kernel does not tell their means apart";
    }
}

static void warn_note(const struct cli_train *train,
                      const struct cli_program *program, const char *prefix,
                      const struct klr_note *note)
{
    char first[KLR_REAL_SIZE], second[KLR_REAL_SIZE], fold[32] = "";
    const struct klr_names *names = train->problem.names;
    const char *a = klr_label_text(names, note->first, first);
    const char *b = isnan(note->second)
                        ? "the others"
                        : klr_label_text(names, note->second, second);
    if (note->fold > 0)
        snprintf(fold, sizeof fold, "fold %zu: ", note->fold);
    if (note->kind == KLR_NOTE_SINGLE)
        cli_warn(program,
                 "%sclass %s has one example, so that no decision value of it "
                 "can be held out: its probabilities against other classes are "
                 "constant",
                 prefix, a);
    else if (note->kind == KLR_NOTE_POINTS)
        cli_warn(program,
                 "%s%snone of the points (--points) is among the examples of "
                 "class %s and %s%s, which are answered by their shares%s",
                 prefix, fold, a, isnan(note->second) ? "" : "class ", b,
                 note->part ? " in a part that is held out for the link" : "");
    else
        cli_warn(program,
                 "%s%sno discriminant for class %s and %s%s, which are "
                 "answered by their shares%s: %s",
                 prefix, fold, a, isnan(note->second) ? "" : "class ", b,
                 note->part ? " in a part that is held out for the link" : "",
                 no_discriminant(note->kind));
}

/* The first of the reports whose basis is not small enough. */
static void warn_basis(const struct cli_train *train,
                       const struct cli_program *program,
                       const struct klr_report *report, size_t count)
{
    char prefix[PREFIX_SIZE];
    size_t t = 0, points;
    while (t < count && report[t].basis.end != KLR_BASIS_LARGE)
        t++;
    if (t == count)
        return;
    points = report[t].basis.points;
    point_prefix(train, t, prefix);
    if (isnan(report[t].basis.excess))
        cli_warn(program, "%sno small model exists: train without --basis",
                 prefix);
    else
        cli_warn(program,
                 "%sno small model exists: over %zu point%s all examples would "
                 "still gain about %.2g +- %.1g log loss: train without "
                 "--basis",
                 prefix, points, klr_plural(points), report[t].basis.excess,
                 report[t].basis.excess_error);
}

void cli_train_notes(const struct cli_train *train,
                     const struct cli_program *program,
                     const struct klr_report *report, size_t count)
{
    enum { IN_FULL = 10 };
    size_t shown = 0, notes = 0;
    warn_basis(train, program, report, count);
    for (size_t t = 0; t < count; t++) {
        char prefix[PREFIX_SIZE];
        point_prefix(train, t, prefix);
        for (size_t i = 0; i < report[t].notes && i < KLR_NOTES; i++)
            if (shown < IN_FULL) {
                warn_note(train, program, prefix, &report[t].note[i]);
                shown++;
            }
        notes += report[t].notes;
    }
    if (notes > shown)
        cli_warn(program, "and %zu more like these", notes - shown);
}

bool cli_train_unwanted(const char *path)
{
    return strcmp(path, "/dev/null") == 0;
}

/* The size of the data. */
static void print_size(const struct cli_train *train,
                       const struct klr_report *report)
{
    size_t n = train->problem.n;
    size_t features =
        (size_t)train->problem.dimension + train->problem.has_zero;
    fprintf(stderr, "%zu examples", n);
    if (report->different < n)
        fprintf(stderr, " (%zu different)", report->different);
    fprintf(stderr, ", %zu feature%s: ", features, klr_plural(features));
}

/* How much smaller the objective of all examples may be, and their loss. */
static void summarise_basis(const struct klr_report *report)
{
    const struct klr_basis_report *basis = &report->basis;
    if (basis->points && isfinite(basis->excess))
        fprintf(stderr, "log loss of all examples about %.2g +- %.1g less, ",
                basis->excess, basis->excess_error);
    if (!basis->points || isnan(basis->full_gap))
        return;
    fprintf(stderr, "that of all examples at most %.2g%%",
            100 * basis->full_gap);
    if (basis->full_gap_error > 0)
        fprintf(stderr, " +- %.1g%%", 100 * basis->full_gap_error);
    fprintf(stderr, " less, ");
}

/* How much points keep of the model that they are from. */
static void summarise_projection(const struct klr_report *report)
{
    const struct klr_projection_report *p = &report->projection;
    if (!p->vectors)
        return;
    if (p->distance > 0)
        fprintf(stderr, "all but %.2g%% of |f|^2 kept, ",
                100 * p->distance / p->square);
    if (p->compared)
        fprintf(stderr, "%zu of %zu answer%s changed, ", p->changed,
                p->compared, klr_plural(p->compared));
}

/* How training ended; but for klr nothing is trained on points of a model. */
static void print_end(const struct klr_report *report)
{
    bool projected = report->projection.vectors && isnan(report->primal) &&
                     report->status == KLR_CONVERGED;
    if (projected)
        fputs("projected", stderr);
    else
        fprintf(stderr, "%s after %lld iteration%s",
                klr_status_names[report->status], report->iterations,
                klr_plural((size_t)report->iterations));
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
            print_size(train, report);
        print_end(report);
        fprintf(stderr, "%s%s", end, name);
        if (isfinite(report->primal))
            fprintf(stderr, "objective %.10g, ", report->primal);
        if (isfinite(report->gap))
            fprintf(stderr, "relative duality gap %.2g, ", report->gap);
        summarise_basis(report);
        summarise_projection(report);
        fprintf(stderr, "%zu support vector%s", report->n_sv,
                klr_plural(report->n_sv));
        if (report->projection.vectors)
            fprintf(stderr, " of %zu", report->projection.vectors);
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

static void write_parameter(FILE *out, const char *before, const char *name,
                            double value)
{
    char key[32];
    snprintf(key, sizeof key, "%s%s", before, name);
    cli_write_json_real(out, key, value, ", ");
}

void cli_train_write_parameters(FILE *out, const struct klr_params *one,
                                const char *before, bool known)
{
    const double none = (double)NAN;
    double c = one->cost.value[0], lambda = one->lambda.value[0];
    write_parameter(out, before, "c", known ? c : none);
    if (!isnan(one->gamma.value[0]) && one->gamma.value[0] != 0)
        write_parameter(out, before, "gamma",
                        known ? one->gamma.value[0] : none);
    if (!isnan(lambda))
        write_parameter(out, before, "lambda",
                        known ? klr_params_lambda(one, c) : none);
    if (one->lambda.in_unit)
        write_parameter(out, before, "lambda_over_c", known ? lambda : none);
}

static void json_basis(const struct klr_basis_report *basis)
{
    if (!basis->points)
        return;
    printf("\"basis\": {\"points\": %zu, ", basis->points);
    cli_json_real("passes", basis->passes, ", ");
    cli_json_real("choice_passes", basis->choice_passes, ", ");
    printf("\"sample\": %zu, \"hessians\": %zu, ", basis->sample,
           basis->hessians);
    cli_json_real("full_gap", basis->full_gap, ", ");
    cli_json_real("full_gap_error", basis->full_gap_error, ", ");
    printf("\"end\": \"%s\", ", klr_basis_end_names[basis->end]);
    cli_json_real("excess", basis->excess, ", ");
    cli_json_real("excess_error", basis->excess_error, "}, ");
}

static void json_projection(const struct klr_projection_report *p)
{
    if (!p->vectors)
        return;
    printf("\"projection\": {\"vectors\": %zu, \"points\": %zu, ", p->vectors,
           p->points);
    cli_json_real("norm_squared", p->square, ", ");
    cli_json_real("distance_squared", p->distance, ", ");
    printf("\"compared\": %zu, \"changed\": %zu}, ", p->compared, p->changed);
}

/* The keys that training and validation share; the caller closes the brace. */
static void json_begin(const struct cli_train *train,
                       const struct klr_report *report,
                       const struct klr_params *one)
{
    printf("{\"model\": \"%s\", \"solver\": \"%s\", \"status\": \"%s\", ",
           klr_model_names[train->params.model],
           klr_solver_names[report->solver], klr_status_names[report->status]);
    cli_train_write_parameters(stdout, one, "", true);
    cli_json_real("objective", report->primal, ", ");
    cli_json_real("dual", report->dual, ", ");
    cli_json_real("gap", report->gap, ", ");
    cli_json_real("last_fall", report->fall, ", ");
    printf("\"iterations\": %lld, ", report->iterations);
    cli_json_real("passes", report->passes, ", ");
    cli_json_real("precond_flops", report->precond_flops, ", ");
    json_basis(&report->basis);
    json_projection(&report->projection);
    printf("\"kernel_evals\": %llu, \"n\": %zu, \"n_different\": %zu, ",
           report->kernel_evals, train->problem.n, report->different);
}

void cli_train_json_end(const struct cli_train *train,
                        const struct cli_program *program)
{
    cli_json_warnings(program, ", ");
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

void cli_train_json_models(const struct cli_train *train,
                           const struct cli_program *program)
{
    for (size_t t = 0; t < train->models; t++) {
        fputs(t > 0 ? ", " : train->models > 1 ? "[" : "", stdout);
        cli_train_json_model(train, t);
        fputs(", ", stdout);
        if (train->search_text.text)
            fputs(train->search_text.text, stdout);
        cli_train_json_end(train, program);
    }
    puts(train->models > 1 ? "]" : "");
}

static void json_vectors(const struct cli_train *train,
                         const struct klr_report *report, bool known)
{
    double mean = cli_mean_vectors(&train->params, report);
    cli_json_real("n_sv", known ? mean : (double)NAN, ", ");
}

void cli_train_write_point(FILE *out, const struct klr_params *one,
                           const struct klr_report *report,
                           const struct klr_metric_values *values,
                           const struct klr_metric_values *error)
{
    fprintf(out, "{\"status\": \"%s\", ", klr_status_names[report->status]);
    cli_train_write_parameters(out, one, "", true);
    cli_write_json_real(out, "n_sv",
                        isnan(values->accuracy) ? (double)NAN
                                                : cli_mean_vectors(one, report),
                        ", ");
    cli_write_json_metrics(out, values, ", \"standard_error\": {");
    cli_write_json_metrics(out, error, "}");
}

static void json_table(const struct cli_train *train,
                       const struct klr_validation *validation)
{
    fputs("\"values\": [", stdout);
    for (size_t t = 0; t < validation->count; t++) {
        struct klr_params one = klr_params_point(&train->params, t);
        fputs(t ? ", " : "", stdout);
        cli_train_write_point(stdout, &one, &validation->report[t],
                              &validation->values[t], &validation->error[t]);
        fputs("}", stdout);
    }
    fputs("], ", stdout);
}

void cli_train_json_validation(const struct cli_train *train,
                               const struct klr_validation *validation,
                               const struct cli_answers *answers)
{
    const struct klr_metric_values *values = &validation->answer;
    struct klr_params one = klr_params_point(&train->params, validation->best);
    enum klr_metric metric =
        klr_metric_settle((enum klr_metric)train->params.metric, values);
    json_begin(train, &validation->report[validation->best], &one);
    printf("\"problem\": {%s}, \"files\": {%s}, ", train->problem_text.text,
           train->files_text.text);
    printf("\"folds\": %lld, \"loo\": %s, \"metric\": \"%s\", ",
           train->params.loo ? (long long)train->problem.n
                             : train->params.folds,
           train->params.loo ? "true" : "false", klr_metric_names[metric]);
    json_vectors(train, &validation->report[validation->best],
                 validation->metrics);
    cli_json_metrics(values, ", \"standard_error\": {");
    cli_json_metrics(&validation->answer_error, "}, ");
    if (validation->metrics)
        cli_json_confusion(validation->metrics, answers, ", ");
    if (validation->count > 1) {
        json_table(train, validation);
        cli_train_write_parameters(stdout, &one, "best_",
                                   validation->solved > 0);
    }
}

void cli_train_validation(const struct cli_train *train,
                          const struct klr_validation *validation,
                          const struct cli_answers *answers)
{
    const struct klr_metric_values *values = &validation->answer;
    bool all = train->options.metrics;
    if (!validation->metrics && validation->solved == 0)
        return;
    if (validation->count > 1)
        cli_print_table(stdout, &train->params, validation, all);
    printf("Cross Validation Accuracy = %g%%\n", 100 * values->accuracy);
    cli_print_metrics(stdout, values, all);
    if (all && validation->metrics)
        cli_print_confusion(stdout, validation->metrics, answers);
}
