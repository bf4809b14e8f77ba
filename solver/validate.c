/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stratified cross validation: all folds, class pairs and values of C work on
 * one operator, whose positions are sorted by class and fold, so that a
 * training set is two ranges per class and its complement one. Examples of a
 * fold are predicted for all values of C in one product, whose columns are the
 * coefficients of all of them: some examples at a time, so that the decision
 * values of many classes take little memory.
 */
#include "solver/internal.h"

enum { VALIDATE_BYTES = 8 << 20 }; /* of decision values, if a tile's do */

struct validation {
    struct training training;
    struct pair pair;
    size_t count; /* values of C */
    struct klr_model
        *model; /* (count) of one fold: labels, rho, probabilities */
    struct klr_metrics **metrics; /* (count) */
    struct klr_range *held;       /* (k) positions of the fold */
    size_t batch;                 /* examples predicted together, at most */
    double *coef;        /* (n, count, k - 1) as struct klr_model, transposed */
    double *product;     /* (batch, count, k - 1) */
    double *decision;    /* (batch, count, pairs) */
    double *diagonal;    /* (n) |K_ii| */
    double scale;        /* max of sum_j beta_j^2 |K_jj| over pairs and C */
    double *probability; /* (k) */
    double *work;        /* as model_answer wants it */
};

/* Whole tiles as far as there are so many examples. */
static size_t batch_size(size_t n, size_t values)
{
    size_t tiles = VALIDATE_BYTES / sizeof(double) / KLR_TILE / values;
    size_t batch = (tiles > 1 ? tiles : 1) * KLR_TILE;
    return batch < n ? batch : n;
}

/* What is kept for each C. */
static int validation_values(struct validation *v, struct klr_error *err)
{
    const struct klr_params *params = v->training.params;
    const struct layout *layout = v->training.layout;
    size_t pairs = layout->k * (layout->k - 1) / 2;
    if (!(v->model = klr_zalloc(v->count, sizeof *v->model, err)) ||
        !(v->metrics = klr_zalloc(v->count, sizeof *v->metrics, err)))
        return KLR_E_MEMORY;
    for (size_t t = 0; t < v->count; t++) {
        struct klr_model *model = &v->model[t];
        double shift = loss_of(params, params->cost.value[t]).shift;
        model->type = (enum klr_model_type)params->model;
        model->k = layout->k;
        model->pairs = pairs;
        model->label = layout->label;
        if (!(model->rho = klr_alloc(pairs, sizeof *model->rho, err)) ||
            (model_has_link(model->type) &&
             model_add_probabilities(model, shift, err)) ||
            klr_metrics_create(&v->metrics[t], layout->k, layout->label, err))
            return KLR_E_MEMORY;
    }
    return 0;
}

static int validation_create(struct validation *v, struct klr_operator *op,
                             const struct klr_params *params,
                             const struct layout *layout, struct klr_error *err)
{
    size_t n = layout->n, k = layout->k, count = params->cost.count;
    size_t pairs = k * (k - 1) / 2, values = count * pairs;
    struct klr_range all = {0, n};
    int code = training_create(&v->training, op, params, layout, err);
    v->count = count;
    v->batch = batch_size(n, values);
    if (code || (code = pair_alloc(&v->pair, n, count, err)) ||
        (code = validation_values(v, err)))
        return code;
    if (!(v->held = klr_alloc(k, sizeof *v->held, err)) ||
        !(v->coef = klr_alloc(n * count * (k - 1), sizeof(double), err)) ||
        !(v->product =
              klr_alloc(v->batch * count * (k - 1), sizeof(double), err)) ||
        !(v->decision = klr_alloc(v->batch * values, sizeof(double), err)) ||
        !(v->diagonal = klr_alloc(n, sizeof(double), err)) ||
        !(v->probability = klr_alloc(k, sizeof(double), err)) ||
        !(v->work = klr_alloc(model_answer_work(k), sizeof(double), err)))
        return KLR_E_MEMORY;
    operator_diagonal(op, set_of(&all, 1), v->diagonal);
    for (size_t i = 0; i < n; i++)
        v->diagonal[i] = fabs(v->diagonal[i]);
    return 0;
}

static void validation_free(struct validation *v)
{
    training_free(&v->training);
    pair_free(&v->pair);
    for (size_t t = 0; v->model && t < v->count; t++) {
        klr_free(v->model[t].rho);
        klr_free(v->model[t].prob_a);
        klr_free(v->model[t].prob_b);
    }
    for (size_t t = 0; v->metrics && t < v->count; t++)
        klr_metrics_free(v->metrics[t]);
    klr_free(v->model);
    klr_free(v->metrics);
    klr_free(v->held);
    klr_free(v->coef);
    klr_free(v->product);
    klr_free(v->decision);
    klr_free(v->diagonal);
    klr_free(v->probability);
    klr_free(v->work);
}

/* The coefficients of classes (a, b) at the t-th C, which v->pair holds. */
static void fold_keep(struct validation *v, size_t a, size_t b, size_t t)
{
    const struct layout *layout = v->training.layout;
    const struct pair *pair = &v->pair;
    const double *beta = pair->solution[t].beta;
    size_t k = layout->k;
    double scale = 0;
    for (size_t r = 0; r < pair->set.count; r++)
        for (size_t p = pair->set.range[r].begin; p < pair->set.range[r].end;
             p++, beta++) {
            bool first = p < layout->begin[(a + 1) * layout->folds];
            size_t row = p * v->count + t;
            v->coef[row * (k - 1) + (first ? b - 1 : a)] = *beta;
            scale += *beta * *beta * v->diagonal[p];
        }
    v->model[t].rho[pair_index(k, a, b)] = pair->solution[t].rho;
    v->scale = fmax(v->scale, scale);
}

/* Solve every pair without fold f. */
static int fold_train(struct validation *v, size_t f, struct klr_report *report,
                      struct klr_error *err)
{
    size_t k = v->training.layout->k;
    v->scale = 0;
    for (size_t a = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++) {
            int code = pair_solve(&v->training, a, b, f, &v->pair, err);
            if (code)
                return code;
            for (size_t t = 0; t < v->count; t++) {
                fold_keep(v, a, b, t);
                report_add(&report[t], &v->pair.solution[t]);
            }
        }
    return 0;
}

/* Float entries err by some 2^-22 sqrt(K_ii K_jj), independently of each other,
 * hence a decision value by 2^-22 sqrt(K_ii sum_j beta_j^2 K_jj). That must be
 * less than what solvers leave undecided, and than what the metrics show. */
static enum klr_precision fold_precision(const struct validation *v)
{
    double most = 0, allowed = fmin(1e-5, 10 * v->training.params->eps);
    for (size_t i = 0; i < v->training.layout->n; i++)
        most = fmax(most, v->diagonal[i]);
    return ldexp(sqrt(most * v->scale), -22) <= allowed ? KLR_FLOAT
                                                        : KLR_DOUBLE;
}

/* Decision values of the positions `held`: class by class, since class c's
 * examples have coefficients in the k - 1 problems with c only. */
static void fold_decide(struct validation *v, size_t f, struct klr_set held)
{
    const struct layout *layout = v->training.layout;
    size_t k = layout->k, pairs = k * (k - 1) / 2;
    enum klr_precision precision = fold_precision(v);
    for (size_t i = 0; i < held.size * v->count; i++)
        for (size_t p = 0; p < pairs; p++)
            v->decision[i * pairs + p] = -v->model[i % v->count].rho[p];
    for (size_t c = 0; c < k; c++) {
        struct klr_range range[2];
        size_t count = 0;
        layout_class(layout, c, f, range, &count);
        for (size_t r = 0; r < count; r++) {
            operator_apply(v->training.op, held, set_of(&range[r], 1),
                           v->coef + range[r].begin * v->count * (k - 1),
                           v->count * (k - 1), precision, v->product);
            add_class_products(k, c, held.size * v->count, v->product,
                               v->decision);
        }
    }
}

/* Count the answers for one example, whose decision values (count, pairs) are
 * given. */
static int fold_answer(struct validation *v, double label,
                       const double *decision, struct klr_error *err)
{
    int code = 0;
    for (size_t t = 0; t < v->count && !code; t++) {
        const struct klr_model *model = &v->model[t];
        double *probability = model->prob_a ? v->probability : NULL;
        double answer = model_answer(model, decision, probability, v->work);
        code = klr_metrics_add(v->metrics[t], label, answer, probability,
                               decision[0], err);
        decision += model->pairs;
    }
    return code;
}

/* Examples of fold f from its `first` on, as many as make a batch. */
static struct klr_set fold_batch(struct validation *v, size_t f, size_t first)
{
    const struct layout *layout = v->training.layout;
    size_t count = 0, left = v->batch;
    for (size_t c = 0; c < layout->k && left > 0; c++) {
        const size_t *begin = layout->begin + c * layout->folds + f;
        size_t size = begin[1] - begin[0], skip = first < size ? first : size;
        size_t width = size - skip < left ? size - skip : left;
        size_t from = begin[0] + skip;
        v->held[count++] = (struct klr_range){from, from + width};
        first -= skip;
        left -= width;
    }
    return set_of(v->held, count);
}

static int fold_predict(struct validation *v, const struct klr_problem *problem,
                        size_t f, struct klr_error *err)
{
    const struct layout *layout = v->training.layout;
    struct klr_set held;
    int code = 0;
    for (size_t first = 0; (held = fold_batch(v, f, first)).size > 0;
         first += held.size) {
        const double *decision = v->decision;
        fold_decide(v, f, held);
        for (size_t r = 0; r < held.count; r++)
            for (size_t p = held.range[r].begin; p < held.range[r].end && !code;
                 p++) {
                code = fold_answer(v, problem->label[layout->order[p]],
                                   decision, err);
                decision += v->count * v->model->pairs;
            }
    }
    return code;
}

int klr_cross_validate(const struct klr_problem *problem,
                       const struct klr_params *given,
                       struct klr_metrics **metrics, struct klr_report *report,
                       struct klr_error *err)
{
    const struct klr_params settled = params_settle(given), *params = &settled;
    struct layout layout = {0};
    struct klr_pool *pool = NULL;
    struct klr_operator op = {0};
    struct validation v = {0};
    struct klr_kernel kernel = params_kernel(params, problem->dimension);
    int code = klr_params_check(given, err);
    for (size_t t = 0; t < params->cost.count; t++) {
        report_start(&report[t]);
        metrics[t] = NULL;
    }
    if (code ||
        (code = layout_create(&layout, problem, params->positive,
                              (size_t)params->folds, (uint64_t)params->seed,
                              err)) ||
        (code = klr_pool_create(&pool, params->threads, err)) ||
        (code = problem_operator(&op, problem, params, &kernel, layout.order,
                                 pool, err)) ||
        (code = validation_create(&v, &op, params, &layout, err)) ||
        (code = metric_check((enum klr_metric)params->metric, layout.k,
                             v.model->prob_a, err)))
        goto done;
    for (size_t f = 0; f < layout.folds; f++)
        if ((code = fold_train(&v, f, report, err)) ||
            (code = fold_predict(&v, problem, f, err)))
            goto done;
    for (size_t t = 0; t < v.count; t++) {
        report_finish(&report[t], &v.training);
        metrics[t] = v.metrics[t];
        v.metrics[t] = NULL;
    }
done:
    validation_free(&v);
    operator_free(&op);
    klr_pool_free(pool);
    layout_free(&layout);
    return code;
}
