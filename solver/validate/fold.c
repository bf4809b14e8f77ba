/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One fold of a stratified cross validation, at one gamma and lambda for all
 * values of C. All folds, machines and values of C share the tiles of K, whose
 * positions are sorted by class and fold, so that a training set is a few
 * ranges. Examples of a fold are predicted for all values of C in one product,
 * whose columns are the coefficients of all of them: some examples at a time,
 * so that the decision values of many classes take little memory.
 *
 * Leave-one-out in closed form has all examples in one fold, which no training
 * is without; what each would change by without itself is added: see loo.c.
 */
#include "solver/validate/validate.h"

enum { VALIDATE_BYTES = 8 << 20 }; /* of decision values, if a tile's do */

struct fold {
    struct training training;
    struct trained_machines ensemble;
    struct klr_model *model;       /* (count) labels, rho and links */
    struct klr_report *report;     /* (count) */
    struct fold_point *points;     /* (count) the caller's */
    struct klr_held_out *held_out; /* the caller's, or NULL */
    struct klr_range *held;        /* (k) of a batch: positions by class */
    struct klr_range *kept;        /* (folds + 1) of a class beside the fold */
    size_t batch;                  /* examples predicted together, at most */
    double *product;               /* (batch, count, columns) */
    double *decision;              /* (batch, count, machines) */
    double *probability;           /* (k) */
    double *work;                  /* as model_answer wants it */
    struct klr_arena arena;        /* all that is allocated */
};

/* Whole tiles as far as there are so many examples. */
static size_t batch_size(size_t n, size_t values)
{
    size_t tiles = VALIDATE_BYTES / sizeof(double) / KLR_TILE / values;
    size_t batch = (tiles > 1 ? tiles : 1) * KLR_TILE;
    return batch < n ? batch : n;
}

/* Models and reports for each C. */
static int fold_models(struct fold *v, struct klr_error *err)
{
    struct klr_arena *arena = &v->arena;
    const struct partition *partition = v->training.partition;
    const struct trained_machines *e = &v->ensemble;
    bool none = v->training.params->link == KLR_LINK_NONE;
    if (!KLR_TAKE_ZERO(arena, v->model, e->count, 1, err) ||
        !KLR_TAKE(arena, v->report, e->count, 1, err))
        return KLR_E_MEMORY;
    for (size_t t = 0; t < e->count; t++) {
        report_start(&v->report[t]);
        v->model[t] = (struct klr_model){
            .multiclass = v->training.multiclass,
            .k = partition->k,
            .machines = e->machines,
            .label = partition->label,
            .rho = e->rho + t * e->machines,
            .link = none ? NULL : e->link + t * e->machines,
        };
        if (klr_metrics_create(&v->points[t].metrics, partition->k,
                               partition->label, err))
            return KLR_E_MEMORY;
    }
    return 0;
}

static int fold_create(struct fold *v, struct klr_operator *op,
                       const struct klr_params *params,
                       const struct partition *partition, struct klr_error *err)
{
    struct klr_arena *arena = &v->arena;
    size_t k = partition->k, count = params->cost.count;
    int code = training_create(&v->training, op, params, partition, err);
    v->training.leave_out = params->loo;
    v->training.taken = fmin(fold_bytes(params, partition), fold_beside);
    if (code || (code = ensemble_create(&v->ensemble, &v->training, err)) ||
        (code = fold_models(v, err)))
        return code;
    size_t values = count * v->ensemble.machines;
    v->batch = batch_size(partition->n / partition->folds + k, values);
    if (!KLR_TAKE(arena, v->held, k, 1, err) ||
        !KLR_TAKE(arena, v->kept, partition->folds + 1, 1, err) ||
        !KLR_TAKE(arena, v->product, v->batch * count, v->ensemble.columns,
                  err) ||
        !KLR_TAKE(arena, v->decision, v->batch, values, err) ||
        !KLR_TAKE(arena, v->probability, k, 1, err) ||
        !KLR_TAKE(arena, v->work, model_answer_work(k), 1, err))
        return KLR_E_MEMORY;
    return 0;
}

static void fold_free(struct fold *v)
{
    training_free(&v->training);
    ensemble_free(&v->ensemble);
    klr_arena_free(&v->arena);
}

/* Add to the decision values of fold_batch their changes by leaving each
 * example out; `held` has a range for each class. */
static void fold_leave_out(struct fold *v, struct klr_set held)
{
    const struct trained_machines *e = &v->ensemble;
    double *decision = v->decision;
    for (size_t c = 0; c < held.count; c++) {
        struct klr_range range = held.range[c];
        size_t rows = (range.end - range.begin) * e->count;
        add_products(v->training.multiclass, v->training.partition->k, c, rows,
                     e->shift + range.begin * e->count * e->columns, decision);
        decision += rows * e->machines;
    }
}

/* Decision values of the positions `held`, by machines without fold f. It goes
 * class by class, as an example has coefficients only in the machines with its
 * class. *whole is false if the clock ended it. */
static int fold_decide(struct fold *v, size_t f, struct klr_set held,
                       bool *whole, struct klr_error *err)
{
    const struct partition *partition = v->training.partition;
    const struct trained_machines *e = &v->ensemble;
    size_t rows = held.size * e->count;
    enum klr_precision precision = training_precision(&v->training, e->scale);
    *whole = true;
    for (size_t i = 0; i < rows; i++)
        for (size_t m = 0; m < e->machines; m++)
            v->decision[i * e->machines + m] = -v->model[i % e->count].rho[m];
    for (size_t c = 0; c < partition->k; c++) {
        size_t count = 0;
        struct held_out held_out = {f, partition->parts};
        struct klr_range *range = v->kept;
        partition_kept(partition, c, held_out, range, &count);
        for (size_t r = 0; r < count; r++) {
            size_t columns = e->count * e->columns;
            int code = operator_apply_sparse(
                v->training.op, held, set_of(&range[r], 1),
                e->coef + range[r].begin * columns, columns, precision,
                v->product, whole, err);
            if (code || !*whole)
                return code;
            add_products(v->training.multiclass, partition->k, c, rows,
                         v->product, v->decision);
        }
    }
    if (e->shift)
        fold_leave_out(v, held);
    return 0;
}

static void held_out_keep(struct klr_held_out *held_out, size_t row,
                          double answer, const double *decision,
                          const double *probability)
{
    held_out->label[row] = answer;
    memcpy(held_out->decision + row * held_out->decisions, decision,
           held_out->decisions * sizeof *decision);
    if (probability)
        memcpy(held_out->probability + row * held_out->classes, probability,
               held_out->classes * sizeof *probability);
}

/* Answer an example by the model at point t, given its decision values, and add
 * the answer to the metrics of the point. */
static int fold_answer_at(struct fold *v, size_t t,
                          const struct klr_problem *problem, size_t row,
                          const double *decision, struct klr_error *err)
{
    const struct klr_model *model = &v->model[t];
    double *probability = model->link ? v->probability : NULL;
    for (size_t m = 0; m < model->machines; m++)
        v->points[t].lost |= isnan(decision[m]);
    if (v->points[t].lost)
        return 0;
    double answer = model_answer(model, decision, probability, v->work);
    if (v->held_out)
        held_out_keep(v->held_out, row, answer, decision, probability);
    return klr_metrics_add(v->points[t].metrics, problem->label[row], answer,
                           probability, klr_model_score(model, decision), err);
}

/* By the model of each C; decision values (count, machines). */
static int fold_answer(struct fold *v, const struct klr_problem *problem,
                       size_t row, const double *decision,
                       struct klr_error *err)
{
    int code = 0;
    for (size_t t = 0; t < v->ensemble.count && !code; t++) {
        code = fold_answer_at(v, t, problem, row, decision, err);
        decision += v->model[t].machines;
    }
    return code;
}

/* Examples of fold f from its `first` on, as many as make a batch. */
static struct klr_set fold_batch(struct fold *v, size_t f, size_t first)
{
    const struct partition *partition = v->training.partition;
    size_t count = 0, left = v->batch;
    for (size_t c = 0; c < partition->k && left > 0; c++) {
        size_t cell = (c * partition->folds + f) * partition->parts;
        size_t begin = partition->begin[cell];
        size_t size = partition->begin[cell + partition->parts] - begin;
        size_t skip = first < size ? first : size;
        size_t width = size - skip < left ? size - skip : left;
        size_t from = begin + skip;
        v->held[count++] = (struct klr_range){from, from + width};
        first -= skip;
        left -= width;
    }
    return set_of(v->held, count);
}

static int fold_predict(struct fold *v, const struct klr_problem *problem,
                        size_t f, struct klr_error *err)
{
    const struct partition *partition = v->training.partition;
    bool loo = v->training.leave_out, whole;
    struct klr_set held;
    int code = 0;
    for (size_t first = 0; !code && (held = fold_batch(v, f, first)).size > 0;
         first += held.size) {
        const double *decision = v->decision;
        code = fold_decide(v, loo ? partition->folds : f, held, &whole, err);
        if (code || !whole)
            return code;
        for (size_t r = 0; r < held.count; r++)
            for (size_t p = held.range[r].begin; p < held.range[r].end && !code;
                 p++) {
                const size_t *row;
                size_t count = partition_rows(partition, p, &row);
                for (size_t i = 0; i < count && !code; i++) {
                    if (v->held_out)
                        v->held_out->fold[row[i]] = loo ? row[i] : f;
                    code = fold_answer(v, problem, row[i], decision, err);
                }
                decision += v->ensemble.count * v->model->machines;
            }
    }
    return code;
}

static int held_out_create(struct klr_held_out *held_out,
                           const struct klr_params *params,
                           const struct partition *partition,
                           struct klr_error *err)
{
    size_t n = partition->examples, k = partition->k, size = sizeof(double);
    *held_out = (struct klr_held_out){
        .n = n,
        .classes = k,
        .decisions = machine_count(multiclass_of(params, k), k),
    };
    if (!(held_out->fold = klr_alloc(n, sizeof *held_out->fold, err)) ||
        !(held_out->label = klr_alloc(n, size, err)) ||
        !(held_out->decision = klr_alloc(n, held_out->decisions * size, err)) ||
        (params->link != KLR_LINK_NONE &&
         !(held_out->probability = klr_alloc(n, k * size, err))))
        return KLR_E_MEMORY;
    return 0;
}

static void held_out_free(struct klr_held_out *held_out)
{
    klr_free(held_out->fold);
    klr_free(held_out->label);
    klr_free(held_out->decision);
    klr_free(held_out->probability);
    *held_out = (struct klr_held_out){0};
}

/* The clock of all folds becomes that of this one. Each of the folds side by
 * side has the time of all. A little is left for predictions. */
static void fold_clock(struct clock *clock, struct fold_task task, size_t folds)
{
    const double predictions = 0.05;
    size_t rounds = (folds + task.abreast - 1) / task.abreast;
    size_t round = task.fold / task.abreast;
    clock->begin = task.begin;
    clock->problem = clock->problems / folds * task.fold;
    clock->span /= (double)folds;
    clock->total *= (1 + predictions) / (double)folds;
    clock->first = clock->work = clock->total * (double)round;
    clock->total *= (double)rounds;
}

static int fold_validate(struct klr_operator *op,
                         const struct klr_problem *problem,
                         const struct klr_params *params,
                         const struct partition *partition,
                         struct fold_task task, struct fold_point *points,
                         struct klr_held_out *held_out, struct klr_error *err)
{
    struct fold v = {.points = points, .held_out = held_out};
    size_t count = params->cost.count;
    int code = fold_create(&v, op, params, partition, err);
    if (!code) {
        fold_clock(&v.training.clock, task, partition->folds);
        code = ensemble_train(&v.ensemble, &v.training,
                              params->loo ? partition->folds : task.fold,
                              v.report, err);
    }
    clock_between(&v.training.clock, "predicting");
    if (!code)
        code = fold_predict(&v, problem, task.fold, err);
    for (size_t t = 0; t < count && !code; t++) {
        report_finish(&v.report[t], &v.training);
        v.report[t].n_sv = ensemble_vectors(&v.ensemble, partition->n, t);
        v.report[t].status =
            gravest(v.report[t].status, v.training.clock.status);
        if (points[t].lost)
            report_lose(&v.report[t]);
        points[t].report = v.report[t];
    }
    fold_free(&v);
    return code;
}

static int fold_join(struct fold_point *points, const struct fold_point *more,
                     size_t count, struct klr_error *err)
{
    for (size_t t = 0; t < count; t++) {
        report_join(&points[t].report, &more[t].report);
        points[t].lost |= more[t].lost;
        if (metrics_join(points[t].metrics, more[t].metrics, err))
            return KLR_E_MEMORY;
    }
    return 0;
}

static struct fold_point *fold_points_free(struct fold_point *points,
                                           size_t count)
{
    for (size_t t = 0; points && t < count; t++)
        klr_metrics_free(points[t].metrics);
    return klr_free(points);
}

static double fold_bytes(const struct klr_params *params,
                         const struct partition *partition)
{
    enum klr_multiclass multiclass = multiclass_of(params, partition->k);
    size_t k = partition->k, count = params->cost.count;
    size_t columns = machine_columns(multiclass, k);
    size_t machines = machine_count(multiclass, k);
    size_t group = group_machines(multiclass, k);
    size_t batch =
        batch_size(partition->n / partition->folds + k, count * machines);
    double found = (double)(count * (columns + group)) * (double)partition->n;
    double decided = (double)(count * (columns + machines)) * (double)batch;
    return sizeof(double) * (found * (params->loo ? 2 : 1) + decided);
}
