/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Points that all pairs of classes share: those that machines of one against
 * the rest have, none of examples that are held out, chosen without these, and
 * one at least for each pair.
 */
#include "solver.c"

#include "tests/sample.h"
#include "tests/tap.h"

enum { N = 200, CLASSES = 3, POINTS = 40, FOLDS = 2, PARTS = 2 };

static struct klr_params shared_params_of(long long points)
{
    struct klr_params params;
    klr_params_init(&params);
    params.gamma = klr_reals_of(0.5);
    params.cost = klr_reals_of(3);
    params.basis = points;
    return params;
}

/* Classes that overlap, in the first two features. */
static void sample_classes(struct sample *s)
{
    sample_make(s, N);
    for (size_t i = 0; i < N; i++) {
        size_t c = i * i % 7 % CLASSES;
        s->label[i] = (double)c;
        s->value[i * FEATURES] += c == 1;
        s->value[i * FEATURES + 1] += c == 2;
    }
}

static struct klr_model *train(const struct sample *s,
                               const struct klr_params *params)
{
    struct klr_model *model;
    struct klr_report report;
    struct klr_error err;
    if (klr_train(&s->problem, params, &model, &report, &err))
        printf("Bail out! %s\n", err.message);
    return model;
}

static void test_models(const struct sample *s)
{
    struct klr_params params = shared_params_of(POINTS);
    struct klr_model *pairs = train(s, &params);
    params.multiclass = KLR_OVA;
    struct klr_model *rest = train(s, &params);
    ok(pairs->n_sv == POINTS && rest->n_sv == POINTS &&
           !memcmp(pairs->sv_row, rest->sv_row, POINTS * sizeof(size_t)),
       "pairs have the points of one against the rest");
    klr_model_free(pairs);
    klr_model_free(rest);
    params = shared_params_of(1);
    pairs = train(s, &params);
    ok(pairs->n_sv >= CLASSES - 1 && pairs->n_sv <= CLASSES,
       "one point asked for: one for each class, %zu", pairs->n_sv);
    klr_model_free(pairs);
}

/* The points by position, without a fold and a part. */
static void choose(const struct sample *s, struct held_out held_out,
                   struct partition *partition, bool *chosen)
{
    const struct klr_params given = shared_params_of(POINTS),
                            params = params_settle(&given);
    struct fold_plan plan = {FOLDS, PARTS, 1, NULL};
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    struct klr_features x = problem_features(&s->problem);
    struct klr_operator op = {0};
    struct training training = {0};
    struct klr_error err;
    double passes = 0, again;
    if (partition_create(partition, &s->problem, NULL, plan, &err) ||
        operator_create(&op, &kernel, &x, partition->order, NULL, 0, &err) ||
        training_create(&training, &op, &params, partition, &err) ||
        shared_points_choose(&training, held_out, &passes, &err) ||
        shared_points_choose(&training, held_out, &again, &err))
        printf("Bail out! %s\n", err.message);
    ok(passes > 0 && again == 0, "chosen once");
    memcpy(chosen, training.chosen + held_out.part * N, N * sizeof *chosen);
    training_free(&training);
    operator_free(&op);
}

/* Points of some classes, those that are held out or the others. */
static size_t chosen_points(const struct partition *partition,
                            struct held_out held_out, bool held,
                            const bool *chosen)
{
    struct klr_range range[CLASSES * (FOLDS + PARTS + 1)];
    size_t count = 0, points = 0;
    for (size_t c = 0; c < CLASSES; c++)
        if (held)
            partition_held(partition, c, held_out, range, &count);
        else
            partition_kept(partition, c, held_out, range, &count);
    for (size_t r = 0; r < count; r++)
        for (size_t p = range[r].begin; p < range[r].end; p++)
            points += chosen[p];
    return points;
}

/* Labels of examples that are held out change nothing. */
static void test_held_out(struct sample *s, struct held_out held_out,
                          const char *name)
{
    static struct sample other;
    struct partition partition;
    struct klr_range range[CLASSES * (FOLDS + PARTS + 1)];
    bool chosen[N], changed[N];
    size_t count = 0;
    choose(s, held_out, &partition, chosen);
    ok(chosen_points(&partition, held_out, true, chosen) == 0 &&
           chosen_points(&partition, held_out, false, chosen) == POINTS,
       "%s: no point of those held out", name);
    other = *s;
    sample_close(&other, N);
    for (size_t c = 0; c < CLASSES; c++)
        partition_held(&partition, c, held_out, range, &count);
    for (size_t r = 0; r < count; r++)
        for (size_t p = range[r].begin; p < range[r].end; p++)
            for (int d = 0; d < FEATURES; d++)
                other.value[partition.order[p] * FEATURES + (size_t)d] = 0.1;
    partition_free(&partition);
    choose(&other, held_out, &partition, changed);
    ok(!memcmp(chosen, changed, sizeof chosen),
       "%s: they have no part in the choice", name);
    partition_free(&partition);
}

int main(void)
{
    static struct sample s;
    sample_classes(&s);
    test_models(&s);
    test_held_out(&s, (struct held_out){0, PARTS}, "without a fold");
    test_held_out(&s, (struct held_out){FOLDS, 1}, "without a part");
    test_held_out(&s, (struct held_out){1, 0}, "without both");
    return done_testing();
}
