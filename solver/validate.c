/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stratified cross validation: all folds and class pairs work on one operator,
 * whose positions are sorted by class and fold, so that a training set is two
 * ranges per class and its complement one.
 */
#include "solver/internal.h"

struct validation {
    struct training training;
    struct pair pair;
    struct klr_model model; /* of one fold: labels, rho, probabilities */
    struct klr_range *held; /* (k) positions of the fold */
    double *coef;           /* (n, k - 1) as struct klr_model, transposed */
    double *product;        /* (largest fold, k - 1) */
    double *decision;       /* (largest fold, pairs) */
    double *probability;    /* (k) */
    double *work;           /* as model_answer wants it */
    struct klr_metrics *metrics;
};

static size_t largest_fold(const struct layout *layout)
{
    size_t largest = 0;
    for (size_t f = 0; f < layout->folds; f++) {
        size_t size = 0;
        for (size_t c = 0; c < layout->k; c++) {
            const size_t *begin = layout->begin + c * layout->folds + f;
            size += begin[1] - begin[0];
        }
        largest = size > largest ? size : largest;
    }
    return largest;
}

static int validation_create(struct validation *v, struct klr_operator *op,
                             const struct klr_params *params,
                             const struct layout *layout, struct klr_error *err)
{
    size_t k = layout->k, pairs = k * (k - 1) / 2;
    size_t largest = largest_fold(layout);
    struct klr_model *model = &v->model;
    int code = training_create(&v->training, op, params, layout, err);
    if (code || (code = pair_alloc(&v->pair, layout->n, err)) ||
        (code = klr_metrics_create(&v->metrics, k, layout->label, err)))
        return code;
    model->type = (enum klr_model_type)params->model;
    model->k = k;
    model->pairs = pairs;
    model->label = layout->label;
    if (!(model->rho = klr_alloc(pairs, sizeof(double), err)) ||
        (model->type != KLR_MODEL_SVM && model_add_probabilities(model, err)) ||
        !(v->held = klr_alloc(k, sizeof *v->held, err)) ||
        !(v->coef = klr_alloc(layout->n * (k - 1), sizeof(double), err)) ||
        !(v->product = klr_alloc(largest * (k - 1), sizeof(double), err)) ||
        !(v->decision = klr_alloc(largest * pairs, sizeof(double), err)) ||
        !(v->probability = klr_alloc(k, sizeof(double), err)) ||
        !(v->work = klr_alloc(model_answer_work(k), sizeof(double), err)))
        return KLR_E_MEMORY;
    return 0;
}

static void validation_free(struct validation *v)
{
    training_free(&v->training);
    pair_free(&v->pair);
    klr_free(v->model.rho);
    klr_free(v->model.prob_a);
    klr_free(v->model.prob_b);
    klr_free(v->held);
    klr_free(v->coef);
    klr_free(v->product);
    klr_free(v->decision);
    klr_free(v->probability);
    klr_free(v->work);
    klr_metrics_free(v->metrics);
}

/* Solve every pair without fold f. */
static int fold_train(struct validation *v, size_t f, struct klr_report *report,
                      struct klr_error *err)
{
    const struct layout *layout = v->training.layout;
    size_t k = layout->k;
    for (size_t a = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++) {
            struct pair *pair = &v->pair;
            int code = pair_solve(&v->training, a, b, f, pair, err);
            if (code)
                return code;
            const double *beta = pair->solution.beta;
            for (size_t r = 0; r < pair->set.count; r++)
                for (size_t p = pair->set.range[r].begin;
                     p < pair->set.range[r].end; p++) {
                    bool first = p < layout->begin[(a + 1) * layout->folds];
                    v->coef[p * (k - 1) + (first ? b - 1 : a)] = *beta++;
                }
            v->model.rho[pair_index(k, a, b)] = pair->solution.rho;
            report_add(report, &pair->solution);
        }
    return 0;
}

/* Decision values of the positions `held`: class by class, since class c's
 * examples have coefficients in the k - 1 problems with c only. */
static void fold_decide(struct validation *v, size_t f, struct klr_set held)
{
    const struct layout *layout = v->training.layout;
    size_t k = layout->k, pairs = v->model.pairs;
    for (size_t i = 0; i < held.size; i++)
        for (size_t p = 0; p < pairs; p++)
            v->decision[i * pairs + p] = -v->model.rho[p];
    for (size_t c = 0; c < k; c++) {
        struct klr_range range[2];
        size_t count = 0;
        layout_class(layout, c, f, range, &count);
        for (size_t r = 0; r < count; r++) {
            operator_apply(v->training.op, held, set_of(&range[r], 1),
                           v->coef + range[r].begin * (k - 1), k - 1,
                           KLR_DOUBLE, v->product);
            add_class_products(k, c, held.size, v->product, v->decision);
        }
    }
}

static int fold_predict(struct validation *v, const struct klr_problem *problem,
                        size_t f, struct klr_error *err)
{
    const struct layout *layout = v->training.layout;
    bool probable = v->model.prob_a != NULL;
    size_t row = 0;
    for (size_t c = 0; c < layout->k; c++) {
        const size_t *begin = layout->begin + c * layout->folds + f;
        v->held[c] = (struct klr_range){begin[0], begin[1]};
    }
    fold_decide(v, f, set_of(v->held, layout->k));
    for (size_t c = 0; c < layout->k; c++)
        for (size_t p = v->held[c].begin; p < v->held[c].end; p++, row++) {
            const double *decision = v->decision + row * v->model.pairs;
            double label = model_answer(
                &v->model, decision, probable ? v->probability : NULL, v->work);
            int code = klr_metrics_add(
                v->metrics, problem->label[layout->order[p]], label,
                probable ? v->probability : NULL, decision[0], err);
            if (code)
                return code;
        }
    return 0;
}

int klr_cross_validate(const struct klr_problem *problem,
                       const struct klr_params *given,
                       struct klr_metric_values *values,
                       struct klr_report *report, struct klr_error *err)
{
    const struct klr_params settled = params_settle(given), *params = &settled;
    struct layout layout = {0};
    struct klr_pool *pool = NULL;
    struct klr_operator op = {0};
    struct validation v = {0};
    struct klr_kernel kernel = params_kernel(params, problem->dimension);
    int code = klr_params_check(given, err);
    report_start(report);
    if (code ||
        (code = layout_create(&layout, problem, params->positive,
                              (size_t)params->folds, (uint64_t)params->seed,
                              err)) ||
        (code = klr_pool_create(&pool, params->threads, err)) ||
        (code = problem_operator(&op, problem, &kernel, layout.order, pool,
                                 tile_budget(params), err)) ||
        (code = validation_create(&v, &op, params, &layout, err)))
        goto done;
    for (size_t f = 0; f < layout.folds; f++)
        if ((code = fold_train(&v, f, report, err)) ||
            (code = fold_predict(&v, problem, f, err)))
            goto done;
    if (!klr_kernel_is_psd(&kernel))
        report->gap = NAN;
    report->solver = (enum klr_solver_type)params->solver;
    report->passes = op.passes;
    report->kernel_evals = op.evaluations;
    report->seconds = klr_seconds() - v.training.clock.begin;
    klr_metrics_values(v.metrics, values);
done:
    validation_free(&v);
    operator_free(&op);
    klr_pool_free(pool);
    layout_free(&layout);
    return code;
}
