/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prediction: decision values of all binary problems, from them pairwise and
 * class probabilities, or votes. The vectors of class c have coefficients in
 * the k - 1 problems with c only, so products are formed class by class: one
 * operator each. Test rows are taken in blocks, so that memory does not depend
 * on how many there are.
 */
#include "solver/internal.h"

enum { PREDICT_BLOCK = 256 };

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
    struct klr_operator *op; /* (k) over the vectors of each class */
    double *coef;            /* (n_sv, k - 1) */
    double *product;         /* (PREDICT_BLOCK, k - 1) */
    double *decision;        /* (PREDICT_BLOCK, pairs) */
    double *work;            /* of model_answer */
};

static bool predictor_alloc(struct klr_predictor *p, struct klr_error *err)
{
    size_t k = p->model->k, pairs = p->model->pairs;
    return (p->op = klr_zalloc(k, sizeof *p->op, err)) &&
           (p->coef =
                klr_alloc(p->model->n_sv * (k - 1), sizeof(double), err)) &&
           (p->product =
                klr_alloc(PREDICT_BLOCK * (k - 1), sizeof(double), err)) &&
           (p->decision =
                klr_alloc(PREDICT_BLOCK * pairs, sizeof(double), err)) &&
           (p->work = klr_alloc(model_answer_work(k), sizeof(double), err));
}

/* The operator of class c, whose vectors begin with `first`. */
static int predictor_pack(struct klr_predictor *p, size_t c, size_t first,
                          struct klr_error *err)
{
    const struct klr_model *model = p->model;
    struct klr_features vectors = {
        .n = model->class_sv[c],
        .dimension = model->dimension,
        .start = model->start + first,
        .index = model->index,
        .value = model->value,
    };
    return operator_create(&p->op[c], &model->kernel, &vectors, NULL, p->pool,
                           0, err);
}

int klr_predictor_create(struct klr_predictor **out,
                         const struct klr_model *model, long long threads,
                         struct klr_error *err)
{
    int code = KLR_E_MEMORY;
    size_t rows = model->k - 1, first = 0;
    struct klr_predictor *p = klr_zalloc(1, sizeof *p, err);
    *out = NULL;
    if (!p)
        return code;
    p->model = model;
    code = klr_pool_create(&p->pool, threads, err);
    if (!code && !predictor_alloc(p, err))
        code = KLR_E_MEMORY;
    if (code)
        goto done;
    for (size_t sv = 0; sv < model->n_sv; sv++)
        for (size_t row = 0; row < rows; row++)
            p->coef[sv * rows + row] = model->coef[row * model->n_sv + sv];
    for (size_t c = 0; !code && c < model->k; first += model->class_sv[c++])
        if (model->class_sv[c])
            code = predictor_pack(p, c, first, err);
done:
    if (code)
        klr_predictor_free(p);
    else
        *out = p;
    return code;
}

struct klr_predictor *klr_predictor_free(struct klr_predictor *p)
{
    if (!p)
        return NULL;
    for (size_t c = 0; p->op && c < p->model->k; c++)
        operator_free(&p->op[c]);
    klr_free(p->op);
    klr_pool_free(p->pool);
    klr_free(p->coef);
    klr_free(p->product);
    klr_free(p->decision);
    klr_free(p->work);
    return klr_free(p);
}

/* decision (n, pairs) += the part of class c, whose vectors begin with
 * `first`. */
static int predict_class(struct klr_predictor *p, size_t c, size_t first,
                         const struct klr_features *x, struct klr_error *err)
{
    size_t k = p->model->k;
    struct klr_points *points;
    int code = klr_points_create_like(&points, p->op[c].points, x, err);
    if (code)
        return code;
    operator_cross(&p->op[c], points, p->coef + first * (k - 1), k - 1,
                   KLR_DOUBLE, p->product);
    add_class_products(k, c, x->n, p->product, p->decision);
    klr_points_free(points);
    return 0;
}

/* p->decision (n, pairs) of at most PREDICT_BLOCK rows. */
static int predict_block(struct klr_predictor *p, const struct klr_features *x,
                         struct klr_error *err)
{
    const struct klr_model *model = p->model;
    size_t pairs = model->pairs, first = 0;
    for (size_t i = 0; i < x->n * pairs; i++)
        p->decision[i] = -model->rho[i % pairs];
    for (size_t c = 0; c < model->k; first += model->class_sv[c++]) {
        int code = model->class_sv[c] ? predict_class(p, c, first, x, err) : 0;
        if (code)
            return code;
    }
    for (size_t i = 0; i < x->n * pairs; i++)
        if (!isfinite(p->decision[i]))
            return klr_fail_at(err, KLR_E_DATA, (long)(i / pairs) + 1, 0,
                               "the decision value overflows");
    return 0;
}

int klr_predict(struct klr_predictor *p, const struct klr_features *x,
                double *label, double *decision, double *probability,
                struct klr_error *err)
{
    const struct klr_model *model = p->model;
    size_t pairs = model->pairs, k = model->k;
    if (probability && !model->prob_a)
        return klr_fail(err, KLR_E_USAGE, "the model has no probabilities");
    for (size_t first = 0; first < x->n; first += PREDICT_BLOCK) {
        struct klr_features block = *x;
        size_t left = x->n - first;
        block.n = left < PREDICT_BLOCK ? left : PREDICT_BLOCK;
        block.start = x->start + first;
        int code = predict_block(p, &block, err);
        if (code && err && err->line)
            err->line += (long)first; /* a row of x, not of the block */
        if (code)
            return code;
        if (decision)
            memcpy(decision + first * pairs, p->decision,
                   block.n * pairs * sizeof *decision);
        for (size_t i = first; i < first + block.n; i++) {
            double answer =
                model_answer(model, p->decision + (i - first) * pairs,
                             probability ? probability + i * k : NULL, p->work);
            if (label)
                label[i] = answer;
        }
    }
    return 0;
}
