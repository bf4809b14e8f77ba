/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One binary problem per pair of classes (a, b), a before b in the model's
 * order, with y = +1 for a; two classes are the case of one pair. All pairs
 * share one operator: a pair is a set of positions of the layout. A pair is
 * solved for all values of C in one go; each value makes a model.
 */
#include "solver/internal.h"

static int class_weights(const struct klr_params *params,
                         const struct layout *layout, double *weight,
                         struct klr_error *err)
{
    for (size_t c = 0; c < layout->k; c++)
        weight[c] = 1;
    for (size_t w = 0; w < params->n_weights; w++) {
        bool found = false;
        for (size_t c = 0; c < layout->k; c++)
            if (layout->label[c] == params->weight[w].label) {
                weight[c] = params->weight[w].weight;
                found = true;
            }
        if (!found)
            return klr_fail(err, KLR_E_USAGE,
                            "option -w%g: no example has the label %g",
                            params->weight[w].label, params->weight[w].label);
    }
    return 0;
}

static int training_create(struct training *training, struct klr_operator *op,
                           const struct klr_params *params,
                           const struct layout *layout, struct klr_error *err)
{
    training->params = params;
    training->system = system_of(params, NULL);
    training->layout = layout;
    training->op = op;
    training->weight = klr_alloc(layout->k, sizeof *training->weight, err);
    if (!training->weight)
        return KLR_E_MEMORY;
    clock_start(&training->clock, layout->k * (layout->k - 1) / 2 *
                                      (layout->folds > 1 ? layout->folds : 1));
    return class_weights(params, layout, training->weight, err);
}

static void training_free(struct training *training)
{
    training->weight = klr_free(training->weight);
}

/* ---- reports ---- */

static void report_start(struct klr_report *report)
{
    memset(report, 0, sizeof *report);
    report->lambda_bound = -INFINITY;
}

/* The first reason to stop early stands for all. With one class alone there is
 * nothing to gain: both objectives are 0, and so is the gap. */
static void report_add(struct klr_report *report,
                       const struct solution *solution)
{
    double gap = solution->primal - solution->dual;
    if (gap != 0)
        gap /= fabs(solution->primal);
    if (report->status == KLR_CONVERGED)
        report->status = solution->status;
    report->primal += solution->primal;
    report->dual += solution->dual;
    report->iterations += solution->iterations;
    report->precond_flops += solution->flops;
    report->lambda_bound = fmax(report->lambda_bound, solution->lambda_bound);
    if (gap > report->gap || isnan(gap))
        report->gap = gap;
}

/* ---- pairs ---- */

static int pair_alloc(struct pair *pair, size_t n, size_t count,
                      struct klr_error *err)
{
    memset(pair, 0, sizeof *pair);
    pair->count = count;
    if (!(pair->y = klr_alloc(n, sizeof *pair->y, err)) ||
        !(pair->weight = klr_alloc(n, sizeof *pair->weight, err)) ||
        !(pair->beta = klr_alloc(n * count, sizeof *pair->beta, err)) ||
        !(pair->solution = klr_zalloc(count, sizeof *pair->solution, err)))
        return KLR_E_MEMORY;
    for (size_t t = 0; t < count; t++)
        pair->solution[t].beta = pair->beta + t * n;
    return 0;
}

static void pair_free(struct pair *pair)
{
    klr_free(pair->y);
    klr_free(pair->weight);
    klr_free(pair->beta);
    klr_free(pair->solution);
}

/* With one class alone no finite threshold is optimal: the answer is the rule
 * of succession, (n + 1) : 1 for that class, through the model's link. */
static void pair_one_sided(struct pair *pair, const struct klr_params *params)
{
    double sign = pair->size[0] > 0 ? 1 : -1;
    for (size_t t = 0; t < pair->count; t++) {
        double *beta = pair->solution[t].beta;
        double shift = loss_of(params, params->cost.value[t]).shift;
        memset(beta, 0, pair->set.size * sizeof *beta);
        pair->solution[t] = (struct solution){
            .beta = beta,
            .rho = -sign * log((double)pair->set.size + 1) * (1 + shift / 2),
        };
    }
}

/* The model of a sparse solution leaves out the examples at the lower end of
 * the box: Consolo, section 3. rho and the primal objective are then those of
 * what is left; the dual point stays. Entries are as before, so that terms of
 * first order cancel in the gap. u and cost (n) are workspace. */
static void pair_drop(const struct binary *binary, double c,
                      struct solution *solution, double *u, double *cost)
{
    struct loss loss = loss_of(binary->params, c);
    double *beta = solution->beta;
    for (size_t i = 0; i < binary->n; i++) {
        if (binary->y[i] * beta[i] <= loss.box)
            beta[i] = 0;
        cost[i] = c * binary->weight[i];
    }
    operator_apply(binary->op, binary->set, binary->set, beta, 1,
                   solution->precision, u);
    if (!binary->params->no_bias)
        solution->rho = best_rho(&loss, binary->n, binary->y, cost, u);
    solution->primal =
        primal_value(&loss, binary->n, binary->y, cost, beta, u, solution->rho);
}

static int pair_drop_all(const struct binary *binary, struct solution *solution,
                         struct klr_error *err)
{
    const struct klr_reals *path = &binary->params->cost;
    double *work = klr_alloc(2 * binary->n, sizeof *work, err);
    if (!work)
        return KLR_E_MEMORY;
    for (size_t t = 0; t < path->count; t++)
        pair_drop(binary, path->value[t], &solution[t], work, work + binary->n);
    klr_free(work);
    return 0;
}

static int pair_solve(struct training *training, size_t a, size_t b,
                      size_t leave_out, struct pair *pair,
                      struct klr_error *err)
{
    const struct layout *layout = training->layout;
    size_t count = 0;
    pair->size[0] = layout_class(layout, a, leave_out, pair->range, &count);
    pair->size[1] = layout_class(layout, b, leave_out, pair->range, &count);
    pair->set = set_of(pair->range, count);
    training->clock.problem++;
    if (pair->size[0] == 0 || pair->size[1] == 0) {
        pair_one_sided(pair, training->params);
        return 0;
    }
    for (size_t i = 0; i < pair->set.size; i++) {
        bool first = i < pair->size[0];
        pair->y[i] = first ? 1 : -1;
        pair->weight[i] = training->weight[first ? a : b];
    }
    struct binary binary = {
        .op = training->op,
        .set = pair->set,
        .n = pair->set.size,
        .y = pair->y,
        .weight = pair->weight,
        .params = training->params,
        .clock = &training->clock,
    };
    int code = training->system->solve(&binary, pair->solution, err);
    if (!code && training->params->lambda_bound && leave_out >= layout->folds)
        code =
            lambda_bound(&binary, training->system->solve, pair->solution, err);
    if (!code && training->params->model == KLR_MODEL_SKLR &&
        !training->params->keep_bounded)
        code = pair_drop_all(&binary, pair->solution, err);
    for (size_t t = 0; !code && t < training->params->cost.count; t++)
        if (!isfinite(pair->solution[t].primal))
            code = klr_fail(err, KLR_E_DATA,
                            "the objective overflows: scale the features");
    return code;
}

/* ---- models ---- */

/* A model whose coefficients have a column for every position: coef is
 * (k - 1, n), n_sv = n until model_keep_support drops the zero columns. */
static struct klr_model *model_create(const struct klr_params *params,
                                      const struct klr_kernel *kernel,
                                      const struct layout *layout,
                                      struct klr_error *err)
{
    size_t k = layout->k, pairs = k * (k - 1) / 2;
    struct klr_model *model = klr_zalloc(1, sizeof *model, err);
    if (!model)
        return NULL;
    model->type = (enum klr_model_type)params->model;
    model->kernel = *kernel;
    model->k = k;
    model->pairs = pairs;
    if (!(model->label = klr_alloc(k, sizeof *model->label, err)) ||
        !(model->rho = klr_alloc(pairs, sizeof *model->rho, err)) ||
        !(model->class_sv = klr_zalloc(k, sizeof *model->class_sv, err)) ||
        !(model->sv_row = klr_alloc(layout->n, sizeof *model->sv_row, err)) ||
        !(model->coef =
              klr_zalloc((k - 1) * layout->n, sizeof *model->coef, err)))
        return klr_model_free(model);
    memcpy(model->label, layout->label, k * sizeof *model->label);
    return model;
}

/* The decision value of klr is its log-odds, p = 1/(1 + exp(-f)). Where the
 * loss is shifted by lambda, f lies beyond +-lambda for examples that are not
 * near the boundary, and is shrunk by 1 + lambda/2. */
static int model_add_probabilities(struct klr_model *model, double shift,
                                   struct klr_error *err)
{
    if (!(model->prob_a = klr_alloc(model->pairs, sizeof(double), err)) ||
        !(model->prob_b = klr_alloc(model->pairs, sizeof(double), err)))
        return KLR_E_MEMORY;
    for (size_t p = 0; p < model->pairs; p++) {
        model->prob_a[p] = -1 / (1 + shift / 2);
        model->prob_b[p] = 0;
    }
    return 0;
}

/* Class a's coefficients in the problem (a, b) stand in row b - 1, class b's
 * in row a. */
static void model_set_pair(struct klr_model *model, const struct layout *layout,
                           size_t a, size_t b, const struct pair *pair,
                           const struct solution *solution)
{
    size_t n = layout->n;
    memcpy(model->coef + (b - 1) * n + layout->begin[a], solution->beta,
           pair->size[0] * sizeof *model->coef);
    memcpy(model->coef + a * n + layout->begin[b],
           solution->beta + pair->size[0], pair->size[1] * sizeof *model->coef);
    model->rho[pair_index(layout->k, a, b)] = solution->rho;
}

static bool is_support(const struct klr_model *model, size_t n, size_t position)
{
    for (size_t row = 0; row + 1 < model->k; row++)
        if (model->coef[row * n + position] != 0)
            return true;
    return false;
}

/* Keep the columns with a coefficient other than zero: the support vectors. */
static void model_keep_support(struct klr_model *model,
                               const struct layout *layout)
{
    size_t n = layout->n, count = 0;
    for (size_t c = 0; c < layout->k; c++)
        for (size_t p = layout->begin[c]; p < layout->begin[c + 1]; p++)
            if (is_support(model, n, p)) {
                model->sv_row[count++] = p;
                model->class_sv[c]++;
            }
    for (size_t row = 0; row + 1 < model->k; row++)
        for (size_t i = 0; i < count; i++)
            model->coef[row * count + i] =
                model->coef[row * n + model->sv_row[i]];
    for (size_t i = 0; i < count; i++)
        model->sv_row[i] = layout->order[model->sv_row[i]];
    model->n_sv = count;
}

/* The support vectors' features, copied from the problem. */
static int model_copy_features(struct klr_model *model,
                               const struct klr_problem *problem,
                               struct klr_error *err)
{
    size_t total = 0, *start;
    start = klr_alloc(model->n_sv + 1, sizeof *start, err);
    if (!(model->start = start))
        return KLR_E_MEMORY;
    start[0] = 0;
    for (size_t i = 0; i < model->n_sv; i++) {
        size_t row = model->sv_row[i];
        total += problem->start[row + 1] - problem->start[row];
        start[i + 1] = total;
    }
    if (!(model->index = klr_alloc(total, sizeof *model->index, err)) ||
        !(model->value = klr_alloc(total, sizeof *model->value, err)))
        return KLR_E_MEMORY;
    for (size_t i = 0; i < model->n_sv; i++) {
        size_t from = problem->start[model->sv_row[i]];
        size_t count = start[i + 1] - start[i];
        memcpy(model->index + start[i], problem->index + from,
               count * sizeof *model->index);
        memcpy(model->value + start[i], problem->value + from,
               count * sizeof *model->value);
    }
    model->dimension = problem->dimension;
    model->problem = problem;
    return 0;
}

/* model, report (cost.count) */
static int train_pairs(struct training *training, struct klr_model **model,
                       struct klr_report *report, struct klr_error *err)
{
    const struct layout *layout = training->layout;
    struct pair pair;
    int code = pair_alloc(&pair, layout->n, training->params->cost.count, err);
    for (size_t a = 0; !code && a < layout->k; a++)
        for (size_t b = a + 1; !code && b < layout->k; b++) {
            code = pair_solve(training, a, b, layout->folds, &pair, err);
            for (size_t t = 0; !code && t < pair.count; t++) {
                model_set_pair(model[t], layout, a, b, &pair,
                               &pair.solution[t]);
                report_add(&report[t], &pair.solution[t]);
            }
        }
    pair_free(&pair);
    return code;
}

/* What the report has besides the sums over the problems. */
static void report_finish(struct klr_report *report,
                          const struct training *training)
{
    if (training->system->regularizer == KLR_REGULARIZER_KERNEL &&
        !klr_kernel_is_psd(&training->op->kernel))
        report->gap = NAN;
    report->solver = (enum klr_solver_type)training->params->solver;
    report->passes = training->op->passes;
    report->precond_flops /= 2.0 * (double)training->op->n;
    report->precond_flops /= (double)training->op->n;
    report->kernel_evals = training->op->evaluations;
    report->seconds = klr_seconds() - training->clock.begin;
}

/* The model of one C, once its coefficients are there. */
static int model_finish(struct klr_model *model, double cost,
                        const struct training *training,
                        const struct klr_problem *problem,
                        struct klr_report *report, struct klr_error *err)
{
    const struct klr_params *params = training->params;
    double shift = loss_of(params, cost).shift;
    model_keep_support(model, training->layout);
    int code = model_copy_features(model, problem, err);
    if (!code && model_has_link(model->type))
        code = model_add_probabilities(model, shift, err);
    report_finish(report, training);
    report->n_sv = model->n_sv;
    model->has_record = true;
    model->record = (struct record){
        .solver = report->solver,
        .status = report->status,
        .eps = params->eps,
        .cost = cost,
        .lambda = shift,
        .box = params->box,
        .bias = !params->no_bias,
        .gap = report->gap,
        .iterations = report->iterations,
    };
    return code;
}

static struct klr_features problem_features(const struct klr_problem *problem)
{
    return (struct klr_features){
        .n = problem->n,
        .dimension = problem->dimension,
        .start = problem->start,
        .index = problem->index,
        .value = problem->value,
    };
}

/* Some solvers keep tiles of K, others a cache of its rows. What the former
 * allocate beyond what -m leaves to a program comes off the tiles. */
static int tile_budget(const struct klr_params *params, size_t n,
                       size_t *budget, struct klr_error *err)
{
    const struct system *system = system_of(params, NULL);
    const double room = 48 * 1048576.0;
    double bytes = (double)params_budget(params);
    double beyond = system->bytes ? fmax(system->bytes(n) - room, 0) : bytes;
    *budget = 0;
    if (bytes < beyond)
        return klr_fail(err, KLR_E_LIMIT,
                        "%zu examples need at least %.0f MB (-m)", n,
                        ceil(beyond / 1048576));
    *budget = (size_t)(bytes - beyond);
    return 0;
}

static int problem_operator(struct klr_operator *op,
                            const struct klr_problem *problem,
                            const struct klr_params *params,
                            const struct klr_kernel *kernel,
                            const size_t *order, struct klr_pool *pool,
                            struct klr_error *err)
{
    struct klr_features x = problem_features(problem);
    size_t budget;
    int code = tile_budget(params, problem->n, &budget, err);
    if (!code)
        code = operator_create(op, kernel, &x, order, pool, budget, err);
    if (code && err && err->line > 0 && problem->line)
        err->line = problem->line[err->line - 1];
    return code;
}

int klr_train(const struct klr_problem *problem, const struct klr_params *given,
              struct klr_model **model, struct klr_report *report,
              struct klr_error *err)
{
    const struct klr_params settled = params_settle(given), *params = &settled;
    struct klr_kernel kernel = params_kernel(params, problem->dimension);
    struct layout layout = {0};
    struct klr_pool *pool = NULL;
    struct klr_operator op = {0};
    struct training training = {0};
    size_t count = params->cost.count;
    for (size_t t = 0; t < count; t++) {
        model[t] = NULL;
        report_start(&report[t]);
    }
    int code = klr_params_check(given, err);
    if (code ||
        (code = layout_create(&layout, problem, params->positive, 1, 0, err)) ||
        (code = klr_pool_create(&pool, params->threads, err)) ||
        (code = problem_operator(&op, problem, params, &kernel, layout.order,
                                 pool, err)) ||
        (code = training_create(&training, &op, params, &layout, err)))
        goto done;
    for (size_t t = 0; t < count && !code; t++)
        if (!(model[t] = model_create(params, &kernel, &layout, err)))
            code = KLR_E_MEMORY;
    if (!code)
        code = train_pairs(&training, model, report, err);
    for (size_t t = 0; t < count && !code; t++)
        code = model_finish(model[t], params->cost.value[t], &training, problem,
                            &report[t], err);
done:
    training_free(&training);
    operator_free(&op);
    klr_pool_free(pool);
    layout_free(&layout);
    for (size_t t = 0; t < count && code; t++)
        model[t] = klr_model_free(model[t]);
    return code;
}
