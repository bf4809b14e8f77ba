/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Grids that are kept and recalled gamma by gamma, grids in parts, and standard
 * errors over folds, against those of the held-out answers.
 */
#include <string.h>

#include "solver.c"

#include "tests/sample.h"
#include "tests/tap.h"

enum { N = 90, FOLDS = 3, COSTS = 2, GAMMAS = 3 };

static struct klr_params grid_of(int model)
{
    struct klr_params params;
    klr_params_init(&params);
    params.model = model;
    params.folds = FOLDS;
    params.threads = 2;
    params.gamma = (struct klr_reals){.count = GAMMAS, .value = {0.1, 0.5, 2}};
    params.cost = (struct klr_reals){.count = COSTS, .value = {0.5, 5}};
    return params;
}

/* Results of all gammas, of which some are known. */
struct shelf {
    bool known[GAMMAS];
    size_t kept;
    struct klr_metric_values values[GAMMAS * COSTS], error[GAMMAS * COSTS];
    struct klr_report report[GAMMAS * COSTS];
};

static size_t place(double gamma)
{
    return gamma == 0.1 ? 0 : gamma == 0.5 ? 1 : 2;
}

static bool recall(double gamma, struct klr_results results, void *context)
{
    struct shelf *shelf = context;
    size_t row = place(gamma), first = row * COSTS;
    if (!shelf->known[row])
        return false;
    memcpy(results.values, shelf->values + first,
           COSTS * sizeof *results.values);
    memcpy(results.error, shelf->error + first, COSTS * sizeof *results.error);
    memcpy(results.report, shelf->report + first,
           COSTS * sizeof *results.report);
    return true;
}

static int keep(double gamma, struct klr_results results, void *context,
                struct klr_error *err)
{
    struct shelf *shelf = context;
    size_t row = place(gamma), first = row * COSTS;
    (void)err;
    memcpy(shelf->values + first, results.values,
           COSTS * sizeof *results.values);
    memcpy(shelf->error + first, results.error, COSTS * sizeof *results.error);
    memcpy(shelf->report + first, results.report,
           COSTS * sizeof *results.report);
    shelf->known[row] = true;
    shelf->kept++;
    return 0;
}

static void run(const struct klr_problem *problem,
                const struct klr_params *params, struct klr_validation *v)
{
    struct klr_error err;
    if (klr_cross_validate(problem, params, false, v, &err))
        printf("Bail out! %s\n", err.message);
}

static bool same(const struct klr_metric_values *a,
                 const struct klr_metric_values *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int m = KLR_METRIC_ACCURACY; m < METRICS; m++) {
            double x = klr_metric_value((enum klr_metric)m, &a[i]);
            double y = klr_metric_value((enum klr_metric)m, &b[i]);
            if (x != y && !(isnan(x) && isnan(y)))
                return false;
        }
    return true;
}

/* However many gammas are recalled, results are those of a run that recalls
 * none, and it keeps the others. */
static void test_recall(const struct klr_problem *problem, int model)
{
    struct klr_params params = grid_of(model);
    struct klr_validation plain, v;
    struct shelf shelf = {0};
    struct klr_journal journal = {recall, keep, &shelf};
    run(problem, &params, &plain);
    params.journal = &journal;
    run(problem, &params, &v);
    ok(shelf.kept == GAMMAS, "all gammas are kept");
    klr_validation_free(&v);
    for (size_t known = 0; known <= GAMMAS; known++) {
        shelf.kept = 0;
        for (size_t g = 0; g < GAMMAS; g++)
            shelf.known[g] = (g + 1) % GAMMAS < known;
        run(problem, &params, &v);
        ok(shelf.kept == GAMMAS - known && v.best == plain.best &&
               v.solved == plain.solved &&
               same(v.values, plain.values, v.count) &&
               same(v.error, plain.error, v.count),
           "%s: %zu recalled: the same results", klr_model_names[model], known);
        klr_validation_free(&v);
    }
    params.part = 1;
    run(problem, &params, &v);
    ok(!v.metrics && same(v.values, shelf.values, v.count),
       "a part: what was kept, no answer");
    klr_validation_free(&v);
    klr_validation_free(&plain);
}

/* Each point as part of its own has the results that it has in the grid. */
static void test_parts(const struct klr_problem *problem)
{
    struct klr_params params = grid_of(KLR_MODEL_KLR);
    struct klr_validation whole, v;
    params.part = 1;
    params.cost = klr_reals_of(5);
    run(problem, &params, &whole);
    for (size_t g = 0; g < GAMMAS; g++) {
        struct klr_params one = klr_params_point(&params, g);
        run(problem, &one, &v);
        ok(v.solved == 1 && same(v.values, whole.values + g, 1),
           "point %zu by itself", g);
        klr_validation_free(&v);
    }
    klr_validation_free(&whole);
}

static void test_errors(const struct klr_problem *problem)
{
    struct klr_params params = grid_of(KLR_MODEL_KLR);
    struct klr_validation v;
    struct klr_error err;
    double right[FOLDS] = {0}, loss[FOLDS] = {0}, size[FOLDS] = {0};
    double mean[2] = {0}, square[2] = {0};
    params.gamma = klr_reals_of(0.5);
    params.cost = klr_reals_of(5);
    if (klr_cross_validate(problem, &params, true, &v, &err))
        printf("Bail out! %s\n", err.message);
    const double *label = klr_metrics_labels(v.metrics);
    for (size_t i = 0; i < N; i++) {
        size_t f = v.held_out.fold[i];
        size[f]++;
        right[f] += v.held_out.label[i] == problem->label[i];
        loss[f] -= log(
            v.held_out.probability[2 * i + (problem->label[i] != label[0])]);
    }
    for (size_t f = 0; f < FOLDS; f++) {
        mean[0] += right[f] / size[f] / FOLDS;
        mean[1] += loss[f] / size[f] / FOLDS;
    }
    for (size_t f = 0; f < FOLDS; f++) {
        square[0] += pow(right[f] / size[f] - mean[0], 2);
        square[1] += pow(loss[f] / size[f] - mean[1], 2);
    }
    ok(fabs(v.error[0].accuracy - sqrt(square[0] / FOLDS / (FOLDS - 1))) <
           1e-12,
       "the standard error of the accuracy: %g", v.error[0].accuracy);
    ok(fabs(v.error[0].log_loss - sqrt(square[1] / FOLDS / (FOLDS - 1))) <
           1e-12,
       "and of the log loss: %g", v.error[0].log_loss);
    klr_validation_free(&v);
    params.loo = 1;
    params.folds = 0;
    run(problem, &params, &v);
    ok(isnan(v.error[0].accuracy), "none without folds");
    klr_validation_free(&v);
}

int main(void)
{
    static struct sample s;
    sample_make(&s, N);
    test_recall(&s.problem, KLR_MODEL_KLR);
    test_recall(&s.problem, KLR_MODEL_SVM);
    test_parts(&s.problem);
    test_errors(&s.problem);
    return done_testing();
}
