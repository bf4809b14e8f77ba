/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Grids that are kept and recalled gamma by gamma or fold by fold, grids in
 * parts, and standard errors over folds, against those of the held-out answers.
 */
#include <string.h>

#define SOLVER_FLOOR 1
#include "solver.c"
#include "solver/validate/validate.h"

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
    struct klr_journal journal = {
        .recall = recall, .keep = keep, .context = &shelf};
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

/* Results of the folds, of which some are known. */
struct drawer {
    struct klr_part_result result[GAMMAS][FOLDS][COSTS];
    bool known[GAMMAS][FOLDS];
    size_t kept;
};

static bool recall_none(double gamma, struct klr_results results, void *context)
{
    (void)gamma;
    (void)results;
    (void)context;
    return false;
}

static int keep_none(double gamma, struct klr_results results, void *context,
                     struct klr_error *err)
{
    (void)err;
    return recall_none(gamma, results, context);
}

static bool recall_fold(double gamma, size_t lambda, size_t fold,
                        const struct klr_part_result **results, void *context)
{
    struct drawer *drawer = context;
    (void)lambda;
    *results = drawer->result[place(gamma)][fold];
    return drawer->known[place(gamma)][fold];
}

static int keep_fold(double gamma, size_t lambda, size_t fold,
                     const struct klr_part_result *results, void *context,
                     struct klr_error *err)
{
    struct drawer *drawer = context;
    struct klr_part_result *place_of = drawer->result[place(gamma)][fold];
    (void)lambda;
    for (size_t t = 0; t < COSTS; t++) {
        place_of[t] = results[t];
        place_of[t].number =
            klr_alloc(results[t].count, sizeof *results[t].number, err);
        memcpy(place_of[t].number, results[t].number,
               results[t].count * sizeof *results[t].number);
    }
    drawer->known[place(gamma)][fold] = true;
    drawer->kept++;
    return 0;
}

/* Folds that were validated alone have the results of one validation, and none
 * is done again; nor is one that is known when it is asked for once more. */
static void test_folds(const struct klr_problem *problem, int model)
{
    struct klr_params params = grid_of(model);
    struct klr_validation plain, v;
    struct drawer drawer = {0};
    struct klr_journal journal = {.recall = recall_none,
                                  .keep = keep_none,
                                  .context = &drawer,
                                  .recall_fold = recall_fold,
                                  .keep_fold = keep_fold};
    run(problem, &params, &plain);
    params.journal = &journal;
    params.part = 1;
    for (size_t again = 0; again < 2; again++)
        for (journal.only = FOLDS; journal.only > 0; journal.only--) {
            run(problem, &params, &v);
            ok(v.solved == v.count && isnan(v.values[0].log_loss),
               "fold %zu alone: no values", journal.only);
            klr_validation_free(&v);
        }
    ok(drawer.kept == (size_t)GAMMAS * FOLDS, "each fold is kept once");
    params.part = 0;
    run(problem, &params, &v);
    ok(v.best == plain.best && v.solved == plain.solved &&
           same(v.values, plain.values, v.count) &&
           same(v.error, plain.error, v.count) &&
           drawer.kept == (size_t)GAMMAS * FOLDS,
       "%s: folds make the same results", klr_model_names[model]);
    klr_validation_free(&v);
    klr_validation_free(&plain);
    for (size_t g = 0; g < GAMMAS; g++)
        for (size_t i = 0; i < (size_t)FOLDS * COSTS; i++)
            klr_free(drawer.result[g][i / COSTS][i % COSTS].number);
}

/* A time limit leaves nothing of a fold that was not solved. */
static void test_cut(const struct klr_problem *problem)
{
    struct klr_params params = grid_of(KLR_MODEL_KLR);
    struct klr_validation v;
    struct drawer drawer = {0};
    struct klr_journal journal = {.recall = recall_none,
                                  .keep = keep_none,
                                  .context = &drawer,
                                  .only = 2,
                                  .keep_fold = keep_fold};
    params.journal = &journal;
    params.part = 1;
    params.time_limit = 1e-9;
    run(problem, &params, &v);
    ok(drawer.kept == 0 && v.solved == 0, "no time: no fold");
    klr_validation_free(&v);
}

/* Metrics of k classes from their numbers, and from what are not. */
static void test_numbers(size_t k)
{
    const double label[] = {3, 2, 1}, p[] = {0.2, 0.7, 0.1};
    const double score[] = {INFINITY, -2, 0.5, -INFINITY, 0.5, 1};
    struct klr_metrics *one, *more;
    struct klr_metric_values a, b;
    struct klr_error err;
    double *number;
    size_t count;
    klr_metrics_create(&one, k, label, &err);
    klr_metrics_create(&more, k, label, &err);
    for (size_t i = 0; i < 6; i++)
        klr_metrics_add(one, label[i % k], label[i / 2 % k], p, score[i], &err);
    klr_metrics_numbers(one, &number, &count, &err);
    klr_metrics_values(one, &a);
    bool finite = true;
    for (size_t i = 0; i < count; i++)
        finite = finite && isfinite(number[i]);
    ok(!klr_metrics_add_numbers(more, number, count, &err) && finite,
       "%zu classes: metrics as numbers", k);
    klr_metrics_values(more, &b);
    ok(same(&a, &b, 1) && a.count == b.count && a.correct == b.correct,
       "and numbers as metrics");
    ok(klr_metrics_add_numbers(more, number, count - 1, &err) == KLR_E_DATA,
       "a number is missing");
    ok(klr_metrics_add_numbers(more, number, 5, &err) == KLR_E_DATA,
       "most are");
    number[0] += 0.5;
    ok(klr_metrics_add_numbers(more, number, count, &err) == KLR_E_DATA,
       "a count that is none");
    klr_free(number);
    klr_metrics_free(one);
    klr_metrics_free(more);
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
    test_folds(&s.problem, KLR_MODEL_KLR);
    test_folds(&s.problem, KLR_MODEL_KFD);
    test_cut(&s.problem);
    test_numbers(2);
    test_numbers(3);
    test_parts(&s.problem);
    test_errors(&s.problem);
    return done_testing();
}
