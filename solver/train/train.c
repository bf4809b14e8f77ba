/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Training: from a problem to a model for each C.
 */
#include "solver/newton/newton.h"
#include "solver/smo/smo.h"
#include "solver/train/train.h"

/* A model without support vectors and links. */
static struct klr_model *model_create(const struct training *training,
                                      const struct trained_machines *ensemble,
                                      size_t t, struct klr_error *err)
{
    const struct partition *partition = training->partition;
    size_t k = partition->k, machines = ensemble->machines;
    struct klr_model *model = klr_zalloc(1, sizeof *model, err);
    if (!model)
        return NULL;
    model->type = (enum klr_model_type)training->params->model;
    model->multiclass = training->multiclass;
    model->kernel = training->op->kernel;
    model->k = k;
    model->machines = machines;
    model->columns = ensemble->columns;
    if (!(model->label = klr_alloc(k, sizeof(double), err)) ||
        !(model->rho = klr_alloc(machines, sizeof(double), err)) ||
        !(model->class_sv = klr_zalloc(k, sizeof *model->class_sv, err)) ||
        !(model->sv_row = klr_alloc(partition->n, sizeof *model->sv_row, err)))
        return klr_model_free(model);
    if (names_copy(&model->names, partition->names, err))
        return klr_model_free(model);
    memcpy(model->label, partition->label, k * sizeof(double));
    memcpy(model->rho, ensemble->rho + t * machines, machines * sizeof(double));
    return model;
}

static int model_add_links(struct klr_model *model,
                           const struct trained_machines *ensemble, size_t t,
                           struct klr_error *err)
{
    size_t size = model->machines * sizeof *model->link;
    if (!(model->link = klr_alloc(size, 1, err)))
        return KLR_E_MEMORY;
    memcpy(model->link, ensemble->link + t * model->machines, size);
    return 0;
}

/* A support vector: its row in the problem, its position. */
struct vector {
    size_t row, position;
};

static int compare_vectors(const void *a, const void *b)
{
    const struct vector *v = a, *w = b;
    return (v->row > w->row) - (v->row < w->row);
}

/* The examples of class c with a coefficient other than zero, by row. */
static size_t model_list_class(const struct trained_machines *ensemble,
                               size_t t, const struct partition *partition,
                               size_t c, struct vector *vector)
{
    size_t count = 0, end = partition_begin(partition, c + 1);
    for (size_t p = partition_begin(partition, c); p < end; p++)
        if (ensemble_uses(ensemble, p, t))
            vector[count++] = (struct vector){partition->order[p], p};
    qsort(vector, count, sizeof *vector, compare_vectors);
    return count;
}

static int model_add_vectors(struct klr_model *model,
                             const struct trained_machines *ensemble, size_t t,
                             const struct partition *partition,
                             struct klr_error *err)
{
    size_t columns = model->columns, n = 0;
    struct vector *vector = klr_alloc(partition->n, sizeof *vector, err);
    if (!vector)
        return KLR_E_MEMORY;
    for (size_t c = 0; c < model->k; c++) {
        model->class_sv[c] =
            model_list_class(ensemble, t, partition, c, vector + n);
        n += model->class_sv[c];
    }
    model->n_sv = n;
    model->coef = klr_alloc(n, columns * sizeof *model->coef, err);
    for (size_t i = 0; i < n && model->coef; i++) {
        const double *coef =
            ensemble->coef +
            (vector[i].position * ensemble->count + t) * columns;
        model->sv_row[i] = vector[i].row;
        for (size_t j = 0; j < columns; j++)
            model->coef[j * n + i] = coef[j];
    }
    klr_free(vector);
    return model->coef ? 0 : KLR_E_MEMORY;
}

/* The model of the t-th C. */
static int model_build(struct klr_model **out, const struct training *training,
                       const struct trained_machines *ensemble, size_t t,
                       const struct klr_problem *problem,
                       struct klr_report *report, struct klr_error *err)
{
    const struct klr_params *params = training->params;
    double cost = params->cost.value[t];
    struct klr_model *model = *out = model_create(training, ensemble, t, err);
    int code = KLR_E_MEMORY;
    if (!model || (code = model_add_vectors(model, ensemble, t,
                                            training->partition, err)))
        return code;
    model->problem = problem;
    if (problem->scaling &&
        (code = scaling_copy(&model->scaling, problem->scaling, err)))
        return code;
    if ((code = names_copy(&model->features, problem->features, err)))
        return code;
    if (params->link != KLR_LINK_NONE &&
        (code = model_add_links(model, ensemble, t, err)))
        return code;
    report->n_sv = model->n_sv;
    model->has_record = true;
    model->record = (struct record){
        .solver = report->solver,
        .status = report->status,
        .eps = params->eps,
        .cost = cost,
        .lambda = loss_of(params, cost).shift,
        .box = params->box,
        .bias = !params->no_bias,
        .gap = report->gap,
        .iterations = report->iterations,
    };
    return model_describe(model, problem, params, err);
}

static double solver_bytes(const struct klr_params *params, size_t n, size_t k)
{
    const struct system *system = system_of(params, NULL);
    if (multiclass_of(params, k) == KLR_SOFTMAX)
        return system->softmax_bytes ? system->softmax_bytes(n, k) : 0;
    return system->bytes ? system->bytes(n) + point_bytes(n) : 0;
}

/* Some solvers keep tiles of K, others a cache of its rows. What the former
 * allocate beyond what -m leaves to a program comes off the tiles. Where points
 * are chosen one by one, a part of -m is for tiles until the solver needs it.
 */
static int tile_budget(const struct klr_params *params, size_t n, size_t k,
                       size_t *budget, struct klr_error *err)
{
    const double rows_share = 0.25;
    double bytes = (double)params_budget(params);
    double need = solver_bytes(params, n, k);
    double beyond = need > 0 ? fmax(need - params_beside, 0) : bytes;
    if (system_of(params, NULL)->chooses)
        beyond = (1 - rows_share) * bytes;
    *budget = 0;
    if (bytes < beyond)
        return params_refuse_budget(n, beyond, err);
    *budget = (size_t)(bytes - beyond);
    return 0;
}

enum { HALVES_LEAST = 32768 };

/* True if products of 16-bit entries pay and serve. They pay where products of
 * floats wait for memory, or memory is short. Their errors have a norm of about
 * 2 sqrt n times what each is. They serve if W_i times this norm is small
 * against the 1 of I + S K S. */
static bool fixed16_serves(const struct klr_params *params, size_t n, size_t k)
{
    double most = 0;
    for (size_t t = 0; t < params->cost.count; t++)
        most = fmax(most, params->cost.value[t]);
    double curvature = system_of(params, NULL)->fixed16;
    double error = 2 * KLR_FIXED16_ERROR * sqrt((double)n);
    return n >= HALVES_LEAST && curvature > 0 &&
           most * curvature * error <= 0.1 &&
           (params->kernel == KLR_RBF || params->kernel == KLR_LAPLACIAN) &&
           multiclass_of(params, k) != KLR_SOFTMAX;
}

static bool may_merge(const struct klr_params *params)
{
    enum system_merge merge = system_of(params, NULL)->merge;
    return (merge == MERGE_ALWAYS ||
            (merge == MERGE_UNWEIGHTED && !params_have_weights(params))) &&
           !params->loo && params->kernel != KLR_PRECOMPUTED;
}

static int training_partition(struct partition *partition,
                              const struct klr_problem *problem,
                              const struct klr_params *params,
                              struct fold_plan plan, struct klr_pool *pool,
                              struct klr_error *err)
{
    int code =
        partition_create(partition, problem, params->positive, plan, err);
    if (!code && may_merge(params))
        code = partition_merge(partition, problem, pool, err);
    return code;
}

/* True if doubles of features take much memory and are asked for rarely. */
static bool doubles_are_dear(const struct klr_params *params,
                             const struct klr_features *x)
{
    const size_t many = 1000000;
    return system_of(params, NULL)->solve == newton_solve && !params->folds &&
           !params->loo && klr_features_count(x) >= many;
}

/* operator_create as the system will use it. `stay`: the features will. */
static int system_operator(struct klr_operator *op,
                           const struct klr_params *params,
                           const struct klr_kernel *kernel,
                           const struct klr_features *x, const size_t *order,
                           bool stay, struct klr_pool *pool, size_t budget,
                           struct klr_error *err)
{
    if (system_of(params, NULL)->solve == smo_solve)
        return operator_create_for_rows(op, kernel, x, order, pool, budget,
                                        err);
    if (stay && (params->basis || doubles_are_dear(params, x)))
        return operator_create_lean(op, kernel, x, order, pool, budget, err);
    return operator_create(op, kernel, x, order, pool, budget, err);
}

/* By positions, of which several examples may share one. */
static int positions_operator(struct klr_operator *op,
                              const struct klr_problem *problem,
                              const struct klr_params *params,
                              const struct klr_kernel *kernel,
                              const struct partition *partition,
                              struct klr_pool *pool, size_t budget,
                              struct klr_error *err)
{
    struct klr_features x = problem_features(problem);
    struct klr_arena arena = {0};
    if (!partition || !partition->first)
        return system_operator(op, params, kernel, &x,
                               partition ? partition->order : NULL, true, pool,
                               budget, err);
    int code = partition_features(partition, problem, &x, &arena, err);
    if (!code) {
        code = system_operator(op, params, kernel, &x, NULL, false, pool,
                               budget, err);
        if (code && err && err->line > 0)
            err->line = (long)partition->order[err->line - 1] + 1;
    }
    klr_arena_free(&arena);
    return code;
}

/* A solver that draws its candidates asks for rows. */
static bool products_are_many(const struct klr_params *params, size_t n)
{
    return system_of(params, NULL)->chooses
               ? (size_t)params->candidates >= n
               : params->folds || params->loo || params->cost.count > 1;
}

static int problem_operator(struct klr_operator *op,
                            const struct klr_problem *problem,
                            const struct klr_params *params,
                            const struct partition *partition,
                            struct klr_pool *pool, struct klr_error *err)
{
    struct klr_kernel kernel = params_kernel(params, problem->dimension);
    size_t budget, n = partition ? partition->n : problem->n;
    size_t k = partition ? partition->k : 0;
    int code = tile_budget(params, n, k, &budget, err);
    if (!code)
        code = positions_operator(op, problem, params, &kernel, partition, pool,
                                  budget, err);
    if (!code && products_are_many(params, n))
        tiles_keep_at_once(&op->tiles);
    if (!code && system_of(params, NULL)->chooses && !op->tiles.rows_patience)
        operator_keep(op, KLR_DOUBLE, 0);
    if (!code && partition && fixed16_serves(params, n, k))
        code = operator_prefer_fixed16(op, budget, err);
    if (code && err && err->line > 0 && problem->line)
        err->line = problem->line[err->line - 1];
    return code;
}

int klr_train(const struct klr_problem *problem, const struct klr_params *given,
              struct klr_model **model, struct klr_report *report,
              struct klr_error *err)
{
    size_t count = given->cost.count;
    for (size_t t = 0; t < count; t++) {
        model[t] = NULL;
        report_start(&report[t]);
    }
    int code = klr_params_check(given, err);
    if (code)
        return code;
    const struct klr_params settled = params_settle(given), *params = &settled;
    struct fold_plan plan = {1, calibration_parts(params),
                             (uint64_t)params->seed, NULL};
    struct partition partition = {0};
    struct klr_pool *pool = NULL;
    struct klr_operator op = {0};
    struct training training = {.journal = params->journal};
    struct trained_machines ensemble = {0};
    if ((code = klr_pool_create(&pool, params->threads, err)) ||
        (code = training_partition(&partition, problem, params, plan, pool,
                                   err)) ||
        (code =
             problem_operator(&op, problem, params, &partition, pool, err)) ||
        (code = training_create(&training, &op, params, &partition, err)) ||
        (code = ensemble_create(&ensemble, &training, err)))
        goto done;
    code = ensemble_train(&ensemble, &training, partition.folds, report, err);
    for (size_t t = 0; t < count && !code; t++) {
        report_finish(&report[t], &training);
        report_note_classes(&report[t], params, &partition);
        if (!training_only_pair(&training))
            code = model_build(&model[t], &training, &ensemble, t, problem,
                               &report[t], err);
    }
done:
    ensemble_free(&ensemble);
    training_free(&training);
    operator_free(&op);
    klr_pool_free(pool);
    partition_free(&partition);
    for (size_t t = 0; t < count && code; t++)
        model[t] = klr_model_free(model[t]);
    return code;
}
