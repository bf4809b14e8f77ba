/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long klr or sklr of all examples takes, and on a basis: from counts of
 * entries of K that are typical, and the nanoseconds of each.
 */
#include "solver/newton/newton.h"
#include "solver/train/train.h"

enum {
    FORECAST_ROWS = 1000,  /* that tell what an entry of K costs */
    FORECAST_PASSES = 12,  /* of all entries, to the gap of 1e-6 */
    FORECAST_SPARSE = 2,   /* times as many of sklr */
    FORECAST_POINTS = 1000 /* of a basis */
};
static const double forecast_entry = 6; /* ns, over klr_points_price */
static const double forecast_kept = 0.35, forecast_computed = 0.35; /* ns, to
                                multiply one that is kept, or was computed */
static const double forecast_path = 0.5; /* of the passes, for each further C */
/* To find the size of a basis takes so many entries for each pair of a point
 * and an example, and so many seconds for Hessians of a sample. */
static const double forecast_rounds = 60, forecast_hessians = 4;

/* Nanoseconds that an entry takes. */
static int forecast_price(const struct klr_problem *problem,
                          const struct klr_params *params, double *ns,
                          struct klr_error *err)
{
    struct klr_kernel kernel = params_kernel(params, problem->dimension);
    struct klr_features x = problem_features(problem);
    struct klr_points *points;
    if (x.n > FORECAST_ROWS)
        x.n = FORECAST_ROWS;
    int code = klr_points_create(&points, &kernel, &x, NULL, NULL, err);
    if (!code)
        *ns = forecast_entry / klr_points_price(points);
    klr_points_free(points);
    return code;
}

/* The problems there are, their examples and squares of these. */
struct forecast_work {
    double problems, examples, squares;
};

/* params become those with which several points are compared. */
static int forecast_count(const struct klr_problem *problem,
                          struct klr_params *params, struct forecast_work *work,
                          struct klr_error *err)
{
    struct fold_plan plan = {params->folds ? (size_t)params->folds : 1, 1,
                             (uint64_t)params->seed, params->fold};
    struct partition partition;
    int code =
        partition_create(&partition, problem, params->positive, plan, err);
    if (!code && klr_params_points(params) > 1)
        calibration_compare(params, &partition);
    if (!code) {
        size_t k = partition.k;
        struct training training = {.params = params,
                                    .partition = &partition,
                                    .multiclass = multiclass_of(params, k)};
        double rows = machines_are_classes(training.multiclass) ? (double)k
                                                                : (double)k - 1;
        double times =
            (double)partition.folds * (1 + (double)calibration_solves(params));
        work->problems = times * (double)machine_count(training.multiclass, k);
        work->examples = times * rows * (double)partition.n;
        work->squares = training_work(&training);
    }
    partition_free(&partition);
    return code;
}

static bool forecast_is_of(const struct klr_params *params)
{
    const struct system *system = system_of(params, NULL);
    return system && system->solve == newton_solve &&
           params->kernel != KLR_LINEAR && params->kernel != KLR_PRECOMPUTED &&
           !params->loo && params->multiclass != KLR_SOFTMAX;
}

int klr_train_forecast(const struct klr_problem *problem,
                       const struct klr_params *given, struct klr_forecast *out,
                       struct klr_error *err)
{
    struct klr_params settled = params_settle(given), *params = &settled;
    struct forecast_work work = {0};
    struct klr_pool *pool = NULL;
    double ns = 0, n = (double)problem->n;
    *out = (struct klr_forecast){.all = NAN, .basis = NAN};
    if (!forecast_is_of(given))
        return 0;
    int code = forecast_price(problem, params, &ns, err);
    if (!code)
        code = forecast_count(problem, params, &work, err);
    if (!code)
        code = klr_pool_create(&pool, params->threads, err);
    if (code)
        return code;
    double grid =
        1e-9 * (double)params->gamma.count / (double)klr_pool_size(pool);
    double passes = FORECAST_PASSES *
                    (1 + forecast_path * (double)(params->cost.count - 1));
    if (params->model == KLR_MODEL_SKLR)
        passes *= FORECAST_SPARSE;
    bool kept = n * n <= (double)params_budget(params); /* 16 bits, half of K */
    double pass = kept ? forecast_kept : ns + forecast_computed;
    double rounds = forecast_rounds * (ns + forecast_computed);
    out->all = grid * work.squares * (ns + passes * pass);
    out->basis = grid * (work.examples * FORECAST_POINTS * rounds +
                         1e9 * forecast_hessians * work.problems *
                             fmin(1, n / (16 * FORECAST_POINTS)));
    klr_pool_free(pool);
    return 0;
}
