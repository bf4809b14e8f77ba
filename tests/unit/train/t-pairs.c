/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairs of classes. Points that all of them share: those that machines of one
 * against the rest have, none of examples that are held out, chosen without
 * these, and one at least for each pair. And a journal: what it keeps, of all
 * pairs or of one alone, makes the same model again; a pair alone has the time
 * of all.
 */
#define SOLVER_FLOOR 7
#include "solver.c"

#include "tests/sample.h"
#include "tests/tap.h"

enum { N = 210, CLASSES = 3, PAIRS = 3, POINTS = 40, FOLDS = 2, PARTS = 2 };

static struct klr_params pairs_params(long long points)
{
    struct klr_params params;
    klr_params_init(&params);
    params.gamma = klr_reals_of(0.5);
    params.cost = klr_reals_of(3);
    params.basis = points;
    return params;
}

/* NULL, and a line, where there is no model. */
static struct klr_model *train(const struct sample *s,
                               const struct klr_params *params)
{
    struct klr_model *model;
    struct klr_report report;
    struct klr_error err = {0};
    if (klr_train(&s->problem, params, &model, &report, &err))
        printf("# %s\n", err.message);
    return model;
}

/* ---- points ---- */

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

static void test_models(const struct sample *s)
{
    struct klr_params params = pairs_params(POINTS);
    struct klr_model *pairs = train(s, &params);
    params.multiclass = KLR_OVA;
    struct klr_model *rest = train(s, &params);
    ok(pairs->n_sv == POINTS && rest->n_sv == POINTS &&
           !memcmp(pairs->sv_row, rest->sv_row, POINTS * sizeof(size_t)),
       "pairs have the points of one against the rest");
    klr_model_free(pairs);
    klr_model_free(rest);
    params = pairs_params(1);
    pairs = train(s, &params);
    ok(pairs->n_sv >= CLASSES - 1 && pairs->n_sv <= CLASSES,
       "one point asked for: one for each class, %zu", pairs->n_sv);
    klr_model_free(pairs);
}

/* The points by position, without a fold and a part. */
static void choose(const struct sample *s, struct held_out held_out,
                   struct partition *partition, bool *chosen)
{
    const struct klr_params given = pairs_params(POINTS),
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

/* ---- a journal ---- */

/* Results of pairs, in memory. */
struct shelf {
    struct klr_part_result result[PAIRS];
    int kept, recalled;
    bool right; /* what it was called with */
};

static int keep(double gamma, size_t pair, size_t pairs,
                const struct klr_part_result *results, void *context,
                struct klr_error *err)
{
    struct shelf *shelf = context;
    struct klr_part_result *place = &shelf->result[pair];
    shelf->kept++;
    shelf->right = shelf->right && gamma == 0.5 && pairs == PAIRS;
    *place = *results;
    place->number = klr_alloc(place->count, sizeof(double), err);
    memcpy(place->number, results->number, place->count * sizeof(double));
    return 0;
}

static bool recall(double gamma, size_t pair,
                   const struct klr_part_result **results, void *context)
{
    struct shelf *shelf = context;
    shelf->right = shelf->right && gamma == 0.5 && pair < PAIRS;
    *results = &shelf->result[pair];
    shelf->recalled += shelf->result[pair].number != NULL;
    return shelf->result[pair].number;
}

static struct klr_model *train_with(const struct sample *s,
                                    const struct klr_journal *journal)
{
    struct klr_params params = pairs_params(0);
    params.journal = journal;
    return train(s, &params);
}

static bool are_equal(const struct klr_model *a, const struct klr_model *b)
{
    return a && b && a->n_sv == b->n_sv &&
           !memcmp(a->coef, b->coef, a->n_sv * a->columns * sizeof *a->coef) &&
           !memcmp(a->rho, b->rho, PAIRS * sizeof *a->rho);
}

/* The work of one pair, and of all. */
static void test_work(const struct sample *s)
{
    struct klr_params params;
    struct partition partition;
    struct klr_journal journal = {.recall_pair = recall};
    klr_params_init(&params);
    partition_create(&partition, &s->problem, NULL,
                     (struct fold_plan){1, 1, 1, NULL}, NULL);
    struct training training = {.params = &params,
                                .partition = &partition,
                                .multiclass = KLR_OVO,
                                .journal = &journal};
    double all = training_work(&training), sum = 0;
    for (journal.only_pair = 1; journal.only_pair <= PAIRS; journal.only_pair++)
        sum += training_work(&training);
    ok(all == PAIRS * pow(2 * N / 3, 2) && sum == all,
       "a pair has its own work: %g of %g", sum / PAIRS, all);
    partition_free(&partition);
}

static void test_journal(const struct sample *s)
{
    static struct shelf all = {.right = true}, each = {.right = true};
    struct klr_journal journal = {
        .recall_pair = recall, .keep_pair = keep, .context = &all};
    struct klr_model *plain = train_with(s, NULL);
    struct klr_model *kept = train_with(s, &journal);
    ok(all.kept == PAIRS && all.recalled == 0 && are_equal(plain, kept),
       "a training whose pairs are kept");
    struct klr_model *again = train_with(s, &journal);
    ok(all.kept == PAIRS && all.recalled == PAIRS && are_equal(plain, again),
       "... and recalled");
    journal.context = &each;
    for (journal.only_pair = PAIRS; journal.only_pair > 0; journal.only_pair--)
        ok(!train_with(s, &journal), "pair %zu alone: no model",
           journal.only_pair);
    klr_model_free(again);
    again = train_with(s, &journal);
    ok(each.kept == PAIRS && are_equal(plain, again), "together they are one");
    ok(all.right && each.right, "gamma and pairs are told");
    journal.only_pair = PAIRS + 1;
    ok(!train_with(s, &journal), "there is no such pair");
    klr_model_free(plain);
    klr_model_free(kept);
    klr_model_free(again);
    for (size_t p = 0; p < PAIRS; p++) {
        klr_free(all.result[p].number);
        klr_free(each.result[p].number);
    }
}

int main(void)
{
    static struct sample s;
    sample_classes(&s);
    test_models(&s);
    test_held_out(&s, (struct held_out){0, PARTS}, "without a fold");
    test_held_out(&s, (struct held_out){FOLDS, 1}, "without a part");
    test_held_out(&s, (struct held_out){1, 0}, "without both");
    for (size_t i = 0; i < N; i++)
        s.label[i] = (double)(i % CLASSES);
    test_journal(&s);
    test_work(&s);
    return done_testing();
}
