/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prediction: decision values of all machines, from which model_answer.c makes
 * the answers. One operator has all support vectors; those of class c have
 * coefficients in the k - 1 problems with c only, so products are formed class
 * by class, each from a range of columns. Test rows are taken in blocks, so
 * that memory does not depend on how many there are.
 *
 * Entries of K are floats where decision values are none the worse for it,
 * which is measured: a few support vectors are decided both ways, as if they
 * were test rows. So the choice depends on the model alone, and the answer to a
 * row on the model and the row, not on its neighbours or on threads.
 *
 * A linear model answers by the weights of its machines.
 */
#include "solver/gram/gram.h"
#include "solver/model/model.h"

enum {
    PREDICT_ROWS = 1024,       /* of a block, at most, or so many that they */
    PREDICT_VALUES = 1 << 20,  /* have at most so many decision values, and
                                  features that are scaled */
    PREDICT_CHUNK = 64,        /* rows that a thread answers in one task */
    PREDICT_SAMPLE = 4,        /* support vectors decided both ways at each */
    PREDICT_PLACES = 4,        /* of these places */
    PREDICT_FLOATS = KLR_TILE, /* support vectors from which floats pay */
};

/* Solvers stop at 1e-3 in the log-odds or in the margin, so that a tenth of it
 * is no loss. Among many rows the largest change is some three times that of
 * the sample; ten are allowed for. */
#define PREDICT_CHANGE 1e-5

/* ---- The predictor ---- */

struct klr_predictor {
    const struct klr_model *model;
    struct klr_pool *pool;
    bool linear;
    struct weights weights;      /* of a linear model; of others */
    struct klr_operator op;      /* over all support vectors, */
    struct klr_features vectors; /* the model's */
    struct klr_range *range;     /* (k) the vectors of each class */
    enum klr_precision precision;
    size_t rows;        /* of a block */
    size_t *start;      /* (rows + 1) of a block that is scaled, */
    struct rows scaled; /* and its features */
    double *coef;       /* (n_sv, columns) */
    double *product;    /* (rows, columns) */
    double *decision;   /* (rows, machines) where the caller wants none */
    size_t work_size;
    double *work; /* (threads, work_size) of model_answer */
    void *gram;   /* workspace of klr_gram, for klr_predictor_is_far */
    struct klr_arena arena; /* all that is allocated */
};

/* Rows of a block, whose features may become many when they are scaled. */
static size_t predictor_rows(const struct klr_model *model)
{
    size_t features = model->scaling ? model->scaling->columns : 0;
    size_t values = features > model->machines ? features : model->machines;
    size_t rows = PREDICT_VALUES / values;
    return rows > PREDICT_ROWS ? PREDICT_ROWS : rows ? rows : 1;
}

static bool predictor_alloc(struct klr_predictor *p, struct klr_error *err)
{
    struct klr_arena *arena = &p->arena;
    p->rows = predictor_rows(p->model);
    p->work_size = model_answer_work(p->model->k);
    return KLR_TAKE(arena, p->start, p->rows + 1, 1, err) &&
           KLR_TAKE(arena, p->decision, p->rows, p->model->machines, err) &&
           KLR_TAKE(arena, p->work, klr_pool_size(p->pool), p->work_size, err);
}

static bool vectors_alloc(struct klr_predictor *p, struct klr_error *err)
{
    struct klr_arena *arena = &p->arena;
    size_t columns = p->model->columns;
    return KLR_TAKE(arena, p->range, p->model->k, 1, err) &&
           KLR_TAKE(arena, p->coef, p->model->n_sv, columns, err) &&
           KLR_TAKE(arena, p->product, p->rows, columns, err);
}

/* The support vectors one behind the other, as those of a trained model are
 * not. */
static int predictor_gather(struct klr_predictor *p, struct klr_error *err)
{
    const struct klr_model *model = p->model;
    struct klr_features x = p->vectors = model_features(model);
    p->vectors.n = model->n_sv;
    return model->problem ? klr_features_pick(&p->vectors, &x, model->sv_row,
                                              model->n_sv, &p->arena, err)
                          : 0;
}

/* Classes become ranges of columns, coefficients rows. */
static void predictor_arrange(struct klr_predictor *p)
{
    const struct klr_model *model = p->model;
    size_t rows = model->columns, first = 0;
    for (size_t c = 0; c < model->k; c++) {
        size_t end = first + model->class_sv[c];
        p->range[c] = (struct klr_range){first, end};
        first = end;
    }
    for (size_t sv = 0; sv < model->n_sv; sv++)
        for (size_t row = 0; row < rows; row++)
            p->coef[sv * rows + row] = model->coef[row * model->n_sv + sv];
}

/* Add products with a range of vectors: those of class c, or all of them where
 * each has a coefficient in every machine. */
static void predictor_add(struct klr_predictor *p, const struct klr_points *x,
                          struct klr_range range, size_t c,
                          enum klr_precision precision, double *decision)
{
    const struct klr_model *model = p->model;
    if (range.begin == range.end)
        return;
    operator_cross(&p->op, x, set_of(&range, 1),
                   p->coef + range.begin * model->columns, model->columns,
                   precision, p->product);
    add_products(model->multiclass, model->k, c, klr_points_count(x),
                 p->product, decision);
}

/* decision (x.n, machines) of prepared rows. */
static void predictor_decide(struct klr_predictor *p,
                             const struct klr_points *x,
                             enum klr_precision precision, double *decision)
{
    const struct klr_model *model = p->model;
    size_t machines = model->machines, n = klr_points_count(x);
    for (size_t i = 0; i < n; i++)
        for (size_t m = 0; m < machines; m++)
            decision[i * machines + m] = -model->rho[m];
    if (model->columns == machines)
        predictor_add(p, x, (struct klr_range){0, model->n_sv}, 0, precision,
                      decision);
    else
        for (size_t c = 0; c < model->k; c++)
            predictor_add(p, x, p->range[c], c, precision, decision);
}

/* ---- Linear models ---- */

struct linear_decisions {
    const struct klr_predictor *predictor;
    const struct klr_features *x;
    double *decision; /* (x.n, machines) */
};

static void linear_task(void *context, size_t index, size_t thread)
{
    const struct linear_decisions *d = context;
    const struct klr_model *model = d->predictor->model;
    size_t machines = model->machines, end = (index + 1) * PREDICT_CHUNK;
    (void)thread;
    for (size_t i = index * PREDICT_CHUNK; i < end && i < d->x->n; i++) {
        double *decision = d->decision + i * machines;
        for (size_t m = 0; m < machines; m++)
            decision[m] = -model->rho[m];
        weights_decide(&d->predictor->weights, d->x, i, decision);
    }
}

static void linear_decide(const struct klr_predictor *p,
                          const struct klr_features *x, double *decision)
{
    struct linear_decisions d = {p, x, decision};
    klr_pool_run(p->pool, (x->n + PREDICT_CHUNK - 1) / PREDICT_CHUNK,
                 linear_task, &d);
}

/* ---- Floats or doubles ---- */

/* Set *too_much if floats change the decision values, or log-odds, of `count`
 * support vectors from the first-th on by too much. */
static int predictor_compare(struct klr_predictor *p, size_t first,
                             size_t count, bool *too_much,
                             struct klr_error *err)
{
    const struct klr_model *model = p->model;
    struct klr_features x = p->vectors;
    struct klr_points *points = NULL;
    size_t size = count * model->machines;
    double *exact = klr_alloc(size, sizeof *exact, err);
    int code = KLR_E_MEMORY;
    if (!exact)
        goto done;
    x.n = count;
    x.start += first;
    code = klr_points_create_like(&points, p->op.points, &x, p->pool, err);
    if (code)
        goto done;
    predictor_decide(p, points, KLR_DOUBLE, exact);
    predictor_decide(p, points, KLR_FLOAT, p->decision);
    for (size_t i = 0; i < size; i++) {
        double change = fabs(p->decision[i] - exact[i]);
        if (model->link)
            change *= fmax(
                1, link_slope(&model->link[i % model->machines], exact[i]));
        *too_much = *too_much || !(change <= PREDICT_CHANGE);
    }
done:
    klr_points_free(points);
    klr_free(exact);
    return code;
}

static int predictor_choose_precision(struct klr_predictor *p,
                                      struct klr_error *err)
{
    size_t n = p->model->n_sv;
    size_t count = p->rows < PREDICT_SAMPLE ? p->rows : PREDICT_SAMPLE;
    bool doubles =
        n < PREDICT_FLOATS || p->model->kernel.type == KLR_PRECOMPUTED;
    int code = 0;
    for (size_t place = 0; place < PREDICT_PLACES && !doubles && !code; place++)
        code = predictor_compare(p, n * place / PREDICT_PLACES, count, &doubles,
                                 err);
    p->precision = doubles ? KLR_DOUBLE : KLR_FLOAT;
    return code;
}

/* ---- Making ready ---- */

/* The support vectors. */
static int predictor_prepare(struct klr_predictor *p, struct klr_error *err)
{
    int code = predictor_gather(p, err);
    if (code)
        return code;
    if (!vectors_alloc(p, err))
        return KLR_E_MEMORY;
    predictor_arrange(p);
    code = operator_create(&p->op, &p->model->kernel, &p->vectors, NULL,
                           p->pool, 0, err);
    return code ? code : predictor_choose_precision(p, err);
}

int klr_predictor_create(struct klr_predictor **out,
                         const struct klr_model *model, long long threads,
                         struct klr_error *err)
{
    struct klr_predictor *p = klr_zalloc(1, sizeof *p, err);
    *out = NULL;
    if (!p)
        return KLR_E_MEMORY;
    p->model = model;
    p->linear = model->kernel.type == KLR_LINEAR;
    p->precision = KLR_DOUBLE;
    int code = klr_pool_create(&p->pool, threads, err);
    if (!code && !predictor_alloc(p, err))
        code = KLR_E_MEMORY;
    if (!code)
        code = p->linear ? weights_create(&p->weights, model, err)
                         : predictor_prepare(p, err);
    *out = code ? klr_predictor_free(p) : p;
    return code;
}

struct klr_predictor *klr_predictor_free(struct klr_predictor *p)
{
    if (!p)
        return NULL;
    operator_free(&p->op);
    weights_free(&p->weights);
    klr_pool_free(p->pool);
    klr_arena_free(&p->arena);
    klr_free(p->scaled.index);
    klr_free(p->scaled.value);
    return klr_free(p);
}

/* ---- Predicting ---- */

/* The block as the support vectors are, into the predictor's memory. */
static int predict_scale(struct klr_predictor *p, struct klr_features *x,
                         struct klr_error *err)
{
    const struct klr_scaling *scaling = p->model->scaling;
    int code = scale_features(scaling, x, &p->scaled, p->start, err);
    *x = (struct klr_features){
        .n = x->n,
        .dimension =
            scaling->columns ? scaling->column[scaling->columns - 1].index : 0,
        .start = p->start,
        .index = p->scaled.index,
        .value = p->scaled.value,
    };
    return code;
}

/* decision (n, machines) of rows that are scaled, if any are. */
static int predict_scaled(struct klr_predictor *p, const struct klr_features *x,
                          double *decision, struct klr_error *err)
{
    struct klr_points *points;
    if (p->linear) {
        linear_decide(p, x, decision);
        return 0;
    }
    int code = klr_points_create_like(&points, p->op.points, x, p->pool, err);
    if (code)
        return code;
    predictor_decide(p, points, p->precision, decision);
    klr_points_free(points);
    return 0;
}

/* decision (n, machines) of at most p->rows rows. */
static int predict_block(struct klr_predictor *p, const struct klr_features *x,
                         double *decision, struct klr_error *err)
{
    size_t machines = p->model->machines;
    struct klr_features features = *x;
    int code = p->model->scaling ? predict_scale(p, &features, err) : 0;
    if (!code)
        code = predict_scaled(p, &features, decision, err);
    if (code)
        return code;
    for (size_t i = 0; i < x->n * machines; i++)
        if (!isfinite(decision[i]))
            return klr_fail_at(err, KLR_E_DATA, (long)(i / machines) + 1, 0,
                               "the decision value overflows");
    return 0;
}

/* The answers to a block. */
struct answers {
    const struct klr_predictor *predictor;
    size_t n;
    const double *decision; /* (n, machines) */
    double *label;          /* (n) or NULL */
    double *probability;    /* (n, k) or NULL */
};

static void answer_task(void *context, size_t index, size_t thread)
{
    const struct answers *a = context;
    const struct klr_predictor *p = a->predictor;
    const struct klr_model *model = p->model;
    size_t end = (index + 1) * PREDICT_CHUNK;
    for (size_t i = index * PREDICT_CHUNK; i < end && i < a->n; i++) {
        double label =
            model_answer(model, a->decision + i * model->machines,
                         a->probability ? a->probability + i * model->k : NULL,
                         p->work + thread * p->work_size);
        if (a->label)
            a->label[i] = label;
    }
}

/* Rows first .. first + n - 1. */
static struct klr_features features_from(const struct klr_features *x,
                                         size_t first, size_t n,
                                         struct klr_packed *packed)
{
    struct klr_features part = *x;
    part.n = n;
    if (!x->packed) {
        part.start += first;
        return part;
    }
    *packed = *x->packed;
    packed->value += first * packed->columns;
    part.packed = packed;
    return part;
}

int klr_predict(struct klr_predictor *p, const struct klr_features *x,
                double *label, double *decision, double *probability,
                struct klr_error *err)
{
    size_t machines = p->model->machines, k = p->model->k;
    if (probability && !p->model->link)
        return klr_fail(err, KLR_E_USAGE, "the model has no probabilities");
    for (size_t first = 0; first < x->n; first += p->rows) {
        struct klr_packed packed;
        size_t left = x->n - first;
        struct klr_features block =
            features_from(x, first, left < p->rows ? left : p->rows, &packed);
        double *values = decision ? decision + first * machines : p->decision;
        int code = predict_block(p, &block, values, err);
        if (code && err && err->line)
            err->line += (long)first; /* a row of x, not of the block */
        if (code)
            return code;
        struct answers answers = {
            .predictor = p,
            .n = block.n,
            .decision = values,
            .label = label ? label + first : NULL,
            .probability = probability ? probability + first * k : NULL,
        };
        klr_pool_run(p->pool, (block.n + PREDICT_CHUNK - 1) / PREDICT_CHUNK,
                     answer_task, &answers);
    }
    return 0;
}

/* ---- Far rows ---- */

enum { FAR_BLOCK = 256 }; /* support vectors that are compared at once */

/* True if the row of `points` is far from the support vectors of a range. */
static bool far_from(const struct klr_predictor *p,
                     const struct klr_points *points, struct klr_range range)
{
    const float near = 0.006737947f; /* e^-5 */
    float kernel[FAR_BLOCK];
    size_t count = range.end - range.begin, i = 0;
    klr_gram(points, (struct klr_range){0, 1}, p->op.points, set_of(&range, 1),
             KLR_FLOAT, kernel, FAR_BLOCK, p->gram);
    while (i < count && kernel[i] < near)
        i++;
    return i == count;
}

int klr_predictor_is_far(struct klr_predictor *p, const struct klr_features *x,
                         bool *far, struct klr_error *err)
{
    struct klr_points *points;
    struct klr_features row = *x;
    *far = false;
    if (!klr_model_is_local(p->model))
        return 0;
    size_t bytes = klr_gram_workspace(p->op.points);
    if (!p->gram && !(p->gram = klr_take_zero(&p->arena, bytes, 1, err)))
        return KLR_E_MEMORY;
    int code = p->model->scaling ? predict_scale(p, &row, err) : 0;
    if (!code)
        code =
            klr_points_create_like(&points, p->op.points, &row, p->pool, err);
    if (code)
        return code;
    *far = true;
    for (size_t i = 0; i < p->model->n_sv && *far; i += FAR_BLOCK) {
        size_t end = i + FAR_BLOCK;
        end = end < p->model->n_sv ? end : p->model->n_sv;
        *far = far_from(p, points, (struct klr_range){i, end});
    }
    klr_points_free(points);
    return 0;
}
