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
#include "solver/internal.h"

#include "solver/model.h"
#include "solver/multiclass.h"
#include "solver/validate.h"

enum { VALIDATE_BYTES = 8 << 20 }; /* of decision values, if a tile's do */

struct fold {
    struct training training;
    struct ensemble ensemble;
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
};

/* Whole tiles as far as there are so many examples. */
static size_t batch_size(size_t n, size_t values)
{
    size_t tiles = VALIDATE_BYTES / sizeof(double) / KLR_TILE / values;
    size_t batch = (tiles > 1 ? tiles : 1) * KLR_TILE;
    return batch < n ? batch : n;
}

/* What is kept for each C. */
static int fold_models(struct fold *v, struct klr_error *err)
{
    const struct layout *layout = v->training.layout;
    const struct ensemble *e = &v->ensemble;
    bool none = v->training.params->link == KLR_LINK_NONE;
    if (!(v->model = klr_zalloc(e->count, sizeof *v->model, err)) ||
        !(v->report = klr_alloc(e->count, sizeof *v->report, err)))
        return KLR_E_MEMORY;
    for (size_t t = 0; t < e->count; t++) {
        report_start(&v->report[t]);
        v->model[t] = (struct klr_model){
            .multiclass = v->training.multiclass,
            .k = layout->k,
            .machines = e->machines,
            .label = layout->label,
            .rho = e->rho + t * e->machines,
            .link = none ? NULL : e->link + t * e->machines,
        };
        if (klr_metrics_create(&v->points[t].metrics, layout->k, layout->label,
                               err))
            return KLR_E_MEMORY;
    }
    return 0;
}

static int fold_create(struct fold *v, struct klr_operator *op,
                       const struct klr_params *params,
                       const struct layout *layout, struct klr_error *err)
{
    size_t k = layout->k, count = params->cost.count;
    int code = training_create(&v->training, op, params, layout, err);
    v->training.leave_out = params->loo;
    if (code || (code = ensemble_create(&v->ensemble, &v->training, err)) ||
        (code = fold_models(v, err)))
        return code;
    size_t values = count * v->ensemble.machines;
    v->batch = batch_size(layout->n / layout->folds + k, values);
    if (!(v->held = klr_alloc(k, sizeof *v->held, err)) ||
        !(v->kept = klr_alloc(layout->folds + 1, sizeof *v->kept, err)) ||
        !(v->product = klr_alloc(v->batch * count,
                                 v->ensemble.columns * sizeof(double), err)) ||
        !(v->decision = klr_alloc(v->batch, values * sizeof(double), err)) ||
        !(v->probability = klr_alloc(k, sizeof(double), err)) ||
        !(v->work = klr_alloc(model_answer_work(k), sizeof(double), err)))
        return KLR_E_MEMORY;
    return 0;
}

static void fold_free(struct fold *v)
{
    training_free(&v->training);
    ensemble_free(&v->ensemble);
    klr_free(v->model);
    klr_free(v->report);
    klr_free(v->held);
    klr_free(v->kept);
    klr_free(v->product);
    klr_free(v->decision);
    klr_free(v->probability);
    klr_free(v->work);
}

/* What leaving them out changes the examples of fold_batch by: a range for each
 * class. */
static void fold_leave_out(struct fold *v, struct klr_set held)
{
    const struct ensemble *e = &v->ensemble;
    double *decision = v->decision;
    for (size_t c = 0; c < held.count; c++) {
        struct klr_range range = held.range[c];
        size_t rows = (range.end - range.begin) * e->count;
        add_products(v->training.multiclass, v->training.layout->k, c, rows,
                     e->shift + range.begin * e->count * e->columns, decision);
        decision += rows * e->machines;
    }
}

/* Decision values of the positions `held`, by machines without fold f: class by
 * class, since an example has coefficients in the machines with its class only.
 */
static void fold_decide(struct fold *v, size_t f, struct klr_set held)
{
    const struct layout *layout = v->training.layout;
    const struct ensemble *e = &v->ensemble;
    size_t rows = held.size * e->count;
    enum klr_precision precision = training_precision(&v->training, e->scale);
    for (size_t i = 0; i < rows; i++)
        for (size_t m = 0; m < e->machines; m++)
            v->decision[i * e->machines + m] = -v->model[i % e->count].rho[m];
    for (size_t c = 0; c < layout->k; c++) {
        size_t count = 0;
        struct hole hole = {f, layout->parts};
        struct klr_range *range = v->kept;
        layout_kept(layout, c, hole, range, &count);
        for (size_t r = 0; r < count; r++) {
            operator_apply(v->training.op, held, set_of(&range[r], 1),
                           e->coef + range[r].begin * e->count * e->columns,
                           e->count * e->columns, precision, v->product);
            add_products(v->training.multiclass, layout->k, c, rows, v->product,
                         v->decision);
        }
    }
    if (e->shift)
        fold_leave_out(v, held);
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

/* Count the answers for one example, whose decision values (count, machines)
 * are given. */
static int fold_answer(struct fold *v, const struct klr_problem *problem,
                       size_t row, const double *decision,
                       struct klr_error *err)
{
    int code = 0;
    for (size_t t = 0; t < v->ensemble.count && !code; t++) {
        const struct klr_model *model = &v->model[t];
        double *probability = model->link ? v->probability : NULL;
        double answer = model_answer(model, decision, probability, v->work);
        code = klr_metrics_add(v->points[t].metrics, problem->label[row],
                               answer, probability, decision[0], err);
        if (v->held_out)
            held_out_keep(v->held_out, row, answer, decision, probability);
        decision += model->machines;
    }
    return code;
}

/* Examples of fold f from its `first` on, as many as make a batch. */
static struct klr_set fold_batch(struct fold *v, size_t f, size_t first)
{
    const struct layout *layout = v->training.layout;
    size_t count = 0, left = v->batch;
    for (size_t c = 0; c < layout->k && left > 0; c++) {
        size_t cell = (c * layout->folds + f) * layout->parts;
        size_t begin = layout->begin[cell];
        size_t size = layout->begin[cell + layout->parts] - begin;
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
    const struct layout *layout = v->training.layout;
    bool loo = v->training.leave_out;
    struct klr_set held;
    int code = 0;
    for (size_t first = 0; (held = fold_batch(v, f, first)).size > 0;
         first += held.size) {
        const double *decision = v->decision;
        fold_decide(v, loo ? layout->folds : f, held);
        for (size_t r = 0; r < held.count; r++)
            for (size_t p = held.range[r].begin; p < held.range[r].end && !code;
                 p++) {
                size_t row = layout->order[p];
                if (v->held_out)
                    v->held_out->fold[row] = loo ? row : f;
                code = fold_answer(v, problem, row, decision, err);
                decision += v->ensemble.count * v->model->machines;
            }
    }
    return code;
}

static int held_out_create(struct klr_held_out *held_out,
                           const struct klr_params *params,
                           const struct layout *layout, struct klr_error *err)
{
    size_t n = layout->n, k = layout->k, size = sizeof(double);
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

/* The clock of all folds, at this one. Of those side by side each has the time
 * of all. */
static void fold_clock(struct clock *clock, struct fold_turn turn, size_t folds)
{
    size_t rounds = (folds + turn.abreast - 1) / turn.abreast;
    size_t round = turn.fold / turn.abreast;
    clock->begin = turn.begin;
    clock->problem = clock->problems / folds * turn.fold;
    clock->total /= (double)folds;
    clock->work = clock->total * (double)round;
    clock->total *= (double)rounds;
}

static int fold_validate(struct klr_operator *op,
                         const struct klr_problem *problem,
                         const struct klr_params *params,
                         const struct layout *layout, struct fold_turn turn,
                         struct fold_point *points,
                         struct klr_held_out *held_out, struct klr_error *err)
{
    struct fold v = {.points = points, .held_out = held_out};
    size_t count = params->cost.count;
    int code = fold_create(&v, op, params, layout, err);
    if (!code) {
        fold_clock(&v.training.clock, turn, layout->folds);
        code = ensemble_train(&v.ensemble, &v.training,
                              params->loo ? layout->folds : turn.fold, v.report,
                              err);
    }
    if (!code)
        code = fold_predict(&v, problem, turn.fold, err);
    for (size_t t = 0; t < count && !code; t++) {
        report_finish(&v.report[t], &v.training);
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
                         const struct layout *layout)
{
    enum klr_multiclass multiclass = multiclass_of(params, layout->k);
    size_t k = layout->k, count = params->cost.count;
    size_t columns = machine_columns(multiclass, k);
    size_t machines = machine_count(multiclass, k);
    size_t group = group_machines(multiclass, k);
    size_t batch = batch_size(layout->n / layout->folds + k, count * machines);
    double found = (double)(count * (columns + group)) * (double)layout->n;
    double decided = (double)(count * (columns + machines)) * (double)batch;
    return sizeof(double) * (found * (params->loo ? 2 : 1) + decided);
}
