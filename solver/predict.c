/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prediction: decision values of all binary problems, from them pairwise and
 * class probabilities, or votes. One operator has all support vectors; those of
 * class c have coefficients in the k - 1 problems with c only, so products are
 * formed class by class, each from a range of columns. Test rows are taken in
 * blocks, so that memory does not depend on how many there are.
 *
 * Entries of K are floats where decision values are none the worse for it,
 * which is measured: a few support vectors are decided both ways, as if they
 * were test rows. So the choice depends on the model alone, and the answer to a
 * row on the model and the row, not on its neighbours or on threads.
 */
#include "solver/internal.h"

enum {
    PREDICT_ROWS = 1024,       /* of a block, at most, or so many that they */
    PREDICT_VALUES = 1 << 20,  /* have at most so many decision values */
    PREDICT_CHUNK = 64,        /* rows that a thread answers in one turn */
    PREDICT_SAMPLE = 4,        /* support vectors decided both ways at each */
    PREDICT_PLACES = 4,        /* of these places */
    PREDICT_FLOATS = KLR_TILE, /* support vectors from which floats pay */
};

/* Solvers stop at 1e-3 in the log-odds or in the margin, so that a tenth of it
 * is no loss. Among many rows the largest change is some three times that of
 * the sample; ten are allowed for. */
#define PREDICT_CHANGE 1e-5

/* ---- Answers from decision values ---- */

static void add_class_products(size_t k, size_t c, size_t n,
                               const double *product, double *decision)
{
    size_t pairs = k * (k - 1) / 2;
    for (size_t i = 0; i < n; i++, product += k - 1, decision += pairs)
        for (size_t row = 0; row + 1 < k; row++) {
            size_t pair =
                row < c ? pair_index(k, row, c) : pair_index(k, c, row + 1);
            decision[pair] += product[row];
        }
}

/* Probabilities or votes (k), pairwise probabilities (k, k), and what
 * couple_pairwise needs. */
static size_t model_answer_work(size_t k)
{
    return k + k * k + (k + 1) * (k + 2);
}

static void answer_probable(const struct klr_model *model,
                            const double *decision, double *probability,
                            double *work)
{
    size_t k = model->k;
    for (size_t a = 0, pair = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++, pair++) {
            double z =
                model->prob_a[pair] * decision[pair] + model->prob_b[pair];
            work[a * k + b] = sigmoid(-z);
            work[b * k + a] = sigmoid(z);
        }
    couple_pairwise(k, work, probability, work + k * k);
}

static void answer_votes(size_t k, const double *decision, double *votes)
{
    memset(votes, 0, k * sizeof *votes);
    for (size_t a = 0, pair = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++, pair++)
            votes[decision[pair] > 0 ? a : b]++;
}

static double model_answer(const struct klr_model *model,
                           const double *decision, double *probability,
                           double *work)
{
    double *score = model->prob_a && probability ? probability : work;
    size_t best = 0;
    if (model->prob_a)
        answer_probable(model, decision, score, work + model->k);
    else
        answer_votes(model->k, decision, score);
    for (size_t c = 1; c < model->k; c++)
        if (score[c] > score[best])
            best = c;
    return model->label[best];
}

/* ---- The predictor ---- */

struct klr_predictor {
    const struct klr_model *model;
    struct klr_pool *pool;
    struct klr_operator op;  /* over all support vectors */
    struct klr_range *range; /* (k) the vectors of each class */
    enum klr_precision precision;
    size_t rows;      /* of a block */
    double *coef;     /* (n_sv, k - 1) */
    double *product;  /* (rows, k - 1) */
    double *decision; /* (rows, pairs) where the caller wants none */
    size_t work_size;
    double *work; /* (threads, work_size) of model_answer */
};

static bool predictor_alloc(struct klr_predictor *p, struct klr_error *err)
{
    size_t k = p->model->k, pairs = p->model->pairs, n = p->model->n_sv;
    size_t rows = PREDICT_VALUES / pairs, size = sizeof(double);
    p->rows = rows > PREDICT_ROWS ? PREDICT_ROWS : rows ? rows : 1;
    p->work_size = model_answer_work(k);
    return (p->range = klr_alloc(k, sizeof *p->range, err)) &&
           (p->coef = klr_alloc(n, (k - 1) * size, err)) &&
           (p->product = klr_alloc(p->rows, (k - 1) * size, err)) &&
           (p->decision = klr_alloc(p->rows, pairs * size, err)) &&
           (p->work =
                klr_alloc(klr_pool_size(p->pool), p->work_size * size, err));
}

/* Classes become ranges of columns, coefficients rows. */
static void predictor_arrange(struct klr_predictor *p)
{
    const struct klr_model *model = p->model;
    size_t rows = model->k - 1, first = 0;
    for (size_t c = 0; c < model->k; c++) {
        size_t end = first + model->class_sv[c];
        p->range[c] = (struct klr_range){first, end};
        first = end;
    }
    for (size_t sv = 0; sv < model->n_sv; sv++)
        for (size_t row = 0; row < rows; row++)
            p->coef[sv * rows + row] = model->coef[row * model->n_sv + sv];
}

/* decision (x.n, pairs) of prepared rows. */
static void predictor_decide(struct klr_predictor *p,
                             const struct klr_points *x,
                             enum klr_precision precision, double *decision)
{
    const struct klr_model *model = p->model;
    size_t k = model->k, pairs = model->pairs, n = klr_points_count(x);
    for (size_t i = 0; i < n; i++)
        for (size_t pair = 0; pair < pairs; pair++)
            decision[i * pairs + pair] = -model->rho[pair];
    for (size_t c = 0; c < k; c++) {
        struct klr_set cols = set_of(&p->range[c], 1);
        if (!cols.size)
            continue;
        operator_cross(&p->op, x, cols, p->coef + cols.range->begin * (k - 1),
                       k - 1, precision, p->product);
        add_class_products(k, c, n, p->product, decision);
    }
}

static struct klr_features model_vectors(const struct klr_model *model)
{
    return (struct klr_features){
        .n = model->n_sv,
        .dimension = model->dimension,
        .start = model->start,
        .index = model->index,
        .value = model->value,
    };
}

/* ---- Floats or doubles ---- */

/* Whether floats change the decision values of `count` support vectors, from
 * the first-th on, or the log-odds that follow from them, too much. */
static int predictor_compare(struct klr_predictor *p, size_t first,
                             size_t count, bool *too_much,
                             struct klr_error *err)
{
    const struct klr_model *model = p->model;
    struct klr_features x = model_vectors(model);
    struct klr_points *points = NULL;
    size_t size = count * model->pairs;
    double *exact = klr_alloc(size, sizeof *exact, err);
    int code = KLR_E_MEMORY;
    if (!exact)
        goto done;
    x.n = count;
    x.start += first;
    code = klr_points_create_like(&points, p->op.points, &x, err);
    if (code)
        goto done;
    predictor_decide(p, points, KLR_DOUBLE, exact);
    predictor_decide(p, points, KLR_FLOAT, p->decision);
    for (size_t i = 0; i < size; i++) {
        double change = fabs(p->decision[i] - exact[i]);
        if (model->prob_a)
            change *= fmax(1, fabs(model->prob_a[i % model->pairs]));
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
    bool doubles = n < PREDICT_FLOATS || p->op.groups ||
                   p->model->kernel.type == KLR_PRECOMPUTED;
    int code = 0;
    for (size_t place = 0; place < PREDICT_PLACES && !doubles && !code; place++)
        code = predictor_compare(p, n * place / PREDICT_PLACES, count, &doubles,
                                 err);
    p->precision = doubles ? KLR_DOUBLE : KLR_FLOAT;
    return code;
}

/* ---- Making ready ---- */

int klr_predictor_create(struct klr_predictor **out,
                         const struct klr_model *model, long long threads,
                         struct klr_error *err)
{
    struct klr_predictor *p = klr_zalloc(1, sizeof *p, err);
    struct klr_features vectors = model_vectors(model);
    int code = KLR_E_MEMORY;
    *out = NULL;
    if (!p)
        return code;
    p->model = model;
    code = klr_pool_create(&p->pool, threads, err);
    if (code)
        goto done;
    code = KLR_E_MEMORY;
    if (!predictor_alloc(p, err))
        goto done;
    predictor_arrange(p);
    code = operator_create(&p->op, &model->kernel, &vectors, NULL, p->pool, 0,
                           err);
    if (!code)
        code = predictor_choose_precision(p, err);
done:
    *out = code ? klr_predictor_free(p) : p;
    return code;
}

struct klr_predictor *klr_predictor_free(struct klr_predictor *p)
{
    if (!p)
        return NULL;
    operator_free(&p->op);
    klr_pool_free(p->pool);
    klr_free(p->range);
    klr_free(p->coef);
    klr_free(p->product);
    klr_free(p->decision);
    klr_free(p->work);
    return klr_free(p);
}

/* ---- Predicting ---- */

/* decision (n, pairs) of at most p->rows rows. */
static int predict_block(struct klr_predictor *p, const struct klr_features *x,
                         double *decision, struct klr_error *err)
{
    size_t pairs = p->model->pairs;
    struct klr_points *points;
    int code = klr_points_create_like(&points, p->op.points, x, err);
    if (code)
        return code;
    predictor_decide(p, points, p->precision, decision);
    klr_points_free(points);
    for (size_t i = 0; i < x->n * pairs; i++)
        if (!isfinite(decision[i]))
            return klr_fail_at(err, KLR_E_DATA, (long)(i / pairs) + 1, 0,
                               "the decision value overflows");
    return 0;
}

/* The answers to a block. */
struct answers {
    const struct klr_predictor *predictor;
    size_t n;
    const double *decision; /* (n, pairs) */
    double *label;          /* (n) or NULL */
    double *probability;    /* (n, k) or NULL */
};

static void answer_turn(void *context, size_t index, size_t thread)
{
    const struct answers *a = context;
    const struct klr_predictor *p = a->predictor;
    const struct klr_model *model = p->model;
    size_t end = (index + 1) * PREDICT_CHUNK;
    for (size_t i = index * PREDICT_CHUNK; i < end && i < a->n; i++) {
        double label =
            model_answer(model, a->decision + i * model->pairs,
                         a->probability ? a->probability + i * model->k : NULL,
                         p->work + thread * p->work_size);
        if (a->label)
            a->label[i] = label;
    }
}

int klr_predict(struct klr_predictor *p, const struct klr_features *x,
                double *label, double *decision, double *probability,
                struct klr_error *err)
{
    size_t pairs = p->model->pairs, k = p->model->k;
    if (probability && !p->model->prob_a)
        return klr_fail(err, KLR_E_USAGE, "the model has no probabilities");
    for (size_t first = 0; first < x->n; first += p->rows) {
        struct klr_features block = *x;
        size_t left = x->n - first;
        block.n = left < p->rows ? left : p->rows;
        block.start = x->start + first;
        double *values = decision ? decision + first * pairs : p->decision;
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
                     answer_turn, &answers);
    }
    return 0;
}
