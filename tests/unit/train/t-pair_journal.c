/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A journal of pairs of classes: what it keeps, of all or of one alone, makes
 * the same model again; and a pair alone has the time of all.
 */
#define SOLVER_FLOOR 7
#include "solver.c"

#include "tests/sample.h"
#include "tests/tap.h"

enum { N = 60, PAIRS = 3 };

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

static struct klr_model *train(const struct sample *s,
                               const struct klr_journal *journal)
{
    struct klr_params params;
    struct klr_model *model;
    struct klr_report report;
    struct klr_error err = {0};
    klr_params_init(&params);
    params.gamma = klr_reals_of(0.5);
    params.journal = journal;
    if (klr_train(&s->problem, &params, &model, &report, &err))
        printf("# %s\n", err.message);
    return model;
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

int main(void)
{
    static struct sample s;
    static struct shelf all = {.right = true}, each = {.right = true};
    sample_make(&s, N);
    for (size_t i = 0; i < N; i++)
        s.label[i] = (double)(i % 3);
    struct klr_journal journal = {
        .recall_pair = recall, .keep_pair = keep, .context = &all};
    struct klr_model *plain = train(&s, NULL);
    struct klr_model *kept = train(&s, &journal);
    ok(all.kept == PAIRS && all.recalled == 0 && are_equal(plain, kept),
       "a training whose pairs are kept");
    struct klr_model *again = train(&s, &journal);
    ok(all.kept == PAIRS && all.recalled == PAIRS && are_equal(plain, again),
       "... and recalled");
    journal.context = &each;
    for (journal.only_pair = PAIRS; journal.only_pair > 0; journal.only_pair--)
        ok(!train(&s, &journal), "pair %zu alone: no model", journal.only_pair);
    klr_model_free(again);
    again = train(&s, &journal);
    ok(each.kept == PAIRS && are_equal(plain, again), "together they are one");
    ok(all.right && each.right, "gamma and pairs are told");
    journal.only_pair = PAIRS + 1;
    ok(!train(&s, &journal), "there is no such pair");
    test_work(&s);
    klr_model_free(plain);
    klr_model_free(kept);
    klr_model_free(again);
    for (size_t p = 0; p < PAIRS; p++) {
        klr_free(all.result[p].number);
        klr_free(each.result[p].number);
    }
    return done_testing();
}
