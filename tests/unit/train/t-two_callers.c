/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads of a program that train and predict at the same time, each with
 * objects of its own and then with predictors of one model, answer as one does
 * alone. make check-threads runs it under the thread sanitizer.
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "solver.h"
#include "tests/tap.h"

enum { ROWS = 120, COLUMNS = 3, CALLERS = 2 };

static double x[CALLERS][ROWS * COLUMNS], label[CALLERS][ROWS];

struct caller {
    size_t number;
    long long threads;
    int model;                     /* enum klr_model_type */
    const struct klr_model *given; /* to predict by, or NULL: it trains one */
    int code;
    double probability[ROWS * 2];
};

static void make_rows(size_t number)
{
    uint32_t state = (uint32_t)number + 1;
    for (size_t i = 0; i < ROWS * COLUMNS; i++) {
        state = state * 1664525 + 1013904223;
        x[number][i] = (double)(state >> 8) / 8388608 - 1;
    }
    for (size_t i = 0; i < ROWS; i++)
        label[number][i] =
            x[number][i * COLUMNS] * x[number][i * COLUMNS + 1] > 0 ? 1 : -1;
}

static int train(const struct caller *c, const struct klr_problem *problem,
                 struct klr_model **model)
{
    struct klr_params params;
    struct klr_report report;
    klr_params_init(&params);
    params.model = c->model;
    params.probability = 1;
    params.gamma = klr_reals_of(1);
    params.threads = c->threads;
    return klr_train(problem, &params, model, &report, NULL);
}

static void *work(void *context)
{
    struct caller *c = context;
    struct klr_problem p;
    struct klr_model *model = NULL;
    struct klr_predictor *predictor = NULL;
    c->code = klr_problem_dense(&p, ROWS, COLUMNS, x[c->number], 1,
                                label[c->number], NULL);
    if (!c->code && !c->given)
        c->code = train(c, &p, &model);
    if (!c->code)
        c->code = klr_predictor_create(&predictor, c->given ? c->given : model,
                                       c->threads, NULL);
    if (!c->code) {
        struct klr_features rows = {p.n,     p.dimension, p.start,
                                    p.index, p.value,     NULL};
        c->code =
            klr_predict(predictor, &rows, NULL, NULL, c->probability, NULL);
    }
    klr_predictor_free(predictor);
    klr_model_free(model);
    klr_problem_free(&p);
    return NULL;
}

/* Both at once, against each alone. */
static void test_both(int model, const struct klr_model *given,
                      const char *what)
{
    struct caller alone[CALLERS], both[CALLERS];
    pthread_t thread[CALLERS];
    for (size_t i = 0; i < CALLERS; i++) {
        alone[i] = both[i] = (struct caller){
            .number = i, .threads = 2, .model = model, .given = given};
        work(&alone[i]);
    }
    for (size_t i = 0; i < CALLERS; i++)
        if (pthread_create(&thread[i], NULL, work, &both[i]))
            abort();
    for (size_t i = 0; i < CALLERS; i++) {
        pthread_join(thread[i], NULL);
        ok(!alone[i].code && !both[i].code &&
               memcmp(alone[i].probability, both[i].probability,
                      sizeof both[i].probability) == 0,
           "%s: caller %zu", what, i + 1);
    }
}

int main(void)
{
    static const int models[] = {KLR_MODEL_KLR, KLR_MODEL_SKLR, KLR_MODEL_SVM,
                                 KLR_MODEL_KFD, KLR_MODEL_IVM};
    struct klr_problem p;
    struct klr_model *model = NULL;
    for (size_t i = 0; i < CALLERS; i++)
        make_rows(i);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        test_both(models[i], NULL, klr_model_names[models[i]]);
    struct caller c = {.threads = 1, .model = KLR_MODEL_KLR};
    ok(!klr_problem_dense(&p, ROWS, COLUMNS, x[0], 1, label[0], NULL) &&
           !train(&c, &p, &model),
       "a model");
    test_both(KLR_MODEL_KLR, model, "one model");
    klr_model_free(model);
    klr_problem_free(&p);
    return done_testing();
}
