/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prediction: decision values f = K(x, vectors) V - rho of all binary problems
 * at once, V (n_sv, pairs), from them pairwise and class probabilities, or
 * votes. Test rows are taken in blocks, so that memory does not depend on how
 * many there are.
 */
#include "solver/internal.h"

enum { PREDICT_BLOCK = 256 };

struct klr_predictor {
    const struct klr_model *model;
    struct operator op;  /* over the support vectors */
    double *expansion;   /* (n_sv, pairs) */
    double *decision;    /* (PREDICT_BLOCK, pairs) */
    double *probability; /* (k) */
    double *pairwise;    /* (k, k) */
    double *work;        /* couple_pairwise */
    size_t *votes;       /* (k) */
};

static bool predictor_alloc(struct klr_predictor *p, struct klr_error *err)
{
    size_t k = p->model->k, pairs = p->model->pairs, n_sv = p->model->n_sv;
    if (n_sv > SIZE_MAX / pairs) {
        klr_fail(err, KLR_E_MEMORY, "out of memory");
        return false;
    }
    return (p->expansion = klr_alloc(n_sv * pairs, sizeof(double), err)) &&
           (p->decision =
                klr_alloc(PREDICT_BLOCK * pairs, sizeof(double), err)) &&
           (p->probability = klr_alloc(k, sizeof(double), err)) &&
           (p->pairwise = klr_alloc(k * k, sizeof(double), err)) &&
           (p->work = klr_alloc((k + 1) * (k + 2), sizeof(double), err)) &&
           (p->votes = klr_alloc(k, sizeof(size_t), err));
}

int klr_predictor_create(struct klr_predictor **out,
                         const struct klr_model *model, struct klr_error *err)
{
    int code = KLR_E_MEMORY;
    struct klr_predictor *p = klr_zalloc(1, sizeof *p, err);
    *out = NULL;
    if (!p)
        return code;
    p->model = model;
    if (!predictor_alloc(p, err))
        goto done;
    model_expansions(model, p->expansion);
    struct klr_features vectors = {
        .n = model->n_sv,
        .dimension = model->dimension,
        .start = model->start,
        .index = model->index,
        .value = model->value,
    };
    code = operator_create(&p->op, &model->kernel, &vectors, NULL, err);
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
    operator_free(&p->op);
    klr_free(p->expansion);
    klr_free(p->decision);
    klr_free(p->probability);
    klr_free(p->pairwise);
    klr_free(p->work);
    klr_free(p->votes);
    return klr_free(p);
}

/* f (n, pairs) of at most PREDICT_BLOCK rows. */
static int predict_decisions(struct klr_predictor *p,
                             const struct klr_features *x, double *f,
                             struct klr_error *err)
{
    const struct klr_model *model = p->model;
    size_t count = x->n * model->pairs;
    memset(f, 0, count * sizeof *f);
    if (model->n_sv) {
        struct klr_points *points;
        int code = klr_points_create_like(&points, p->op.points, x, err);
        if (code)
            return code;
        operator_cross(&p->op, points, p->expansion, model->pairs, KLR_DOUBLE,
                       f);
        klr_points_free(points);
    }
    for (size_t i = 0; i < count; i++) {
        f[i] -= model->rho[i % model->pairs];
        if (!isfinite(f[i]))
            return klr_fail_at(err, KLR_E_DATA, (long)(i / model->pairs) + 1, 0,
                               "the decision value overflows");
    }
    return 0;
}

/* Class probabilities (k) from the decision values of one row. */
static void predict_probability(struct klr_predictor *p, const double *f,
                                double *probability)
{
    const struct klr_model *model = p->model;
    size_t k = model->k;
    for (size_t a = 0, pair = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++, pair++) {
            double z = model->prob_a[pair] * f[pair] + model->prob_b[pair];
            p->pairwise[a * k + b] = sigmoid(-z);
            p->pairwise[b * k + a] = sigmoid(z);
        }
    couple_pairwise(k, p->pairwise, probability, p->work);
}

static double most_probable(const struct klr_model *model,
                            const double *probability)
{
    size_t best = 0;
    for (size_t c = 1; c < model->k; c++)
        if (probability[c] > probability[best])
            best = c;
    return model->label[best];
}

static double most_voted(struct klr_predictor *p, const double *f)
{
    size_t k = p->model->k, best = 0;
    memset(p->votes, 0, k * sizeof *p->votes);
    for (size_t a = 0, pair = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++, pair++)
            p->votes[f[pair] > 0 ? a : b]++;
    for (size_t c = 1; c < k; c++)
        if (p->votes[c] > p->votes[best])
            best = c;
    return p->model->label[best];
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
        int code = predict_decisions(p, &block, p->decision, err);
        if (code) {
            if (err && err->line)
                err->line += (long)first; /* a row of x, not of the block */
            return code;
        }
        if (decision)
            memcpy(decision + first * pairs, p->decision,
                   block.n * pairs * sizeof *decision);
        for (size_t i = 0; i < block.n; i++) {
            const double *f = p->decision + i * pairs;
            double *q =
                probability ? probability + (first + i) * k : p->probability;
            if (model->prob_a && (probability || label))
                predict_probability(p, f, q);
            if (label)
                label[first + i] =
                    model->prob_a ? most_probable(model, q) : most_voted(p, f);
        }
    }
    return 0;
}
