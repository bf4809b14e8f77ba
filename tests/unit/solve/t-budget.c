/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parts of the limit of time for one problem after the other.
 */
#include "solver.c"

#include "tests/sample.h"
#include "tests/tap.h"

/* The status of the clock at that share of the time limit. */
static enum klr_status check_at(struct clock *clock, double share)
{
    struct klr_params params;
    struct klr_progress progress = {0};
    klr_params_init(&params);
    params.time_limit = 1e6;
    clock->begin = klr_seconds() - share * params.time_limit;
    return clock_check(clock, &params, &progress, NULL, NULL);
}

static void test_shares(void)
{
    struct clock clock;
    const double end[] = {0.25 + 0.75 * 1 / 6, 0.25 + 0.75 * 3 / 6, 1};
    const size_t problems[] = {1, 2, 3};
    clock_start(&clock, 6);
    clock.total = 6 * 4.0;
    for (int p = 0; p < 3; p++) {
        clock_next(&clock, problems[p], 2);
        ok(check_at(&clock, end[p] - 0.001) == KLR_CONVERGED &&
               check_at(&clock, end[p] + 0.001) == KLR_TIME_LIMIT,
           "the problems up to %zu of 6 end at %g of the limit", clock.problem,
           end[p]);
    }
    clock_start(&clock, 6);
    clock_next(&clock, 1, 2);
    ok(check_at(&clock, 0.999) == KLR_CONVERGED &&
           check_at(&clock, 1.001) == KLR_TIME_LIMIT,
       "without a total each has all of it");
}

static int train_folds(struct training *training,
                       struct trained_machines *ensemble, struct klr_error *err)
{
    const struct partition *partition = training->partition;
    struct klr_report report;
    int code = ensemble_create(ensemble, training, err);
    report_start(&report);
    if (partition->folds == 1)
        return code ? code
                    : ensemble_train(ensemble, training, 1, &report, err);
    for (size_t f = 0; f < partition->folds && !code; f++)
        code = ensemble_train(ensemble, training, f, &report, err);
    return code;
}

/* With classes of 20, 30 and 70 examples the work begun is the total. */
static void test_total(struct sample *s, int multiclass, size_t folds, int link,
                       int calibration)
{
    struct klr_error err;
    struct klr_params given, params;
    struct klr_pool *pool = NULL;
    struct partition partition;
    struct klr_operator op;
    struct training training = {0};
    struct trained_machines ensemble;
    klr_params_init(&given);
    given.multiclass = multiclass;
    given.link = link;
    given.calibration = calibration;
    given.eps = 0.1;
    given.gamma = klr_reals_of(0.5);
    params = params_settle(&given);
    if (partition_create(
            &partition, &s->problem, NULL,
            (struct fold_plan){folds, calibration_parts(&params), 1, NULL},
            &err) ||
        klr_pool_create(&pool, 1, &err) ||
        problem_operator(&op, &s->problem, &params, &partition, pool, &err) ||
        training_create(&training, &op, &params, &partition, &err) ||
        train_folds(&training, &ensemble, &err))
        printf("Bail out! %s\n", err.message);
    const struct clock *clock = &training.clock;
    ok(clock->problem == clock->problems &&
           fabs(clock->work / clock->total - 1) < 0.01,
       "%s, %zu folds, %s: %zu of %zu problems, %.0f of %.0f",
       klr_multiclass_names[multiclass], folds,
       klr_calibration_names[calibration], clock->problem, clock->problems,
       clock->work, clock->total);
    ensemble_free(&ensemble);
    training_free(&training);
    operator_free(&op);
    klr_pool_free(pool);
    partition_free(&partition);
}

int main(void)
{
    const int ovo = KLR_OVO, ova = KLR_OVA, softmax = KLR_SOFTMAX;
    const int cv = KLR_CALIBRATION_CV, platt = KLR_LINK_PLATT;
    static struct sample s;
    test_shares();
    sample_make(&s, 120);
    for (size_t i = 0; i < 120; i++)
        s.label[i] = i < 20 ? 1 : i < 50 ? 2 : 3;
    test_total(&s, ovo, 1, KLR_LINK_AUTO, cv);
    test_total(&s, ova, 1, KLR_LINK_AUTO, cv);
    test_total(&s, softmax, 1, KLR_LINK_AUTO, cv);
    test_total(&s, ovo, 5, KLR_LINK_AUTO, cv);
    test_total(&s, ova, 4, platt, cv);
    test_total(&s, ovo, 1, platt, KLR_CALIBRATION_HOLDOUT);
    test_total(&s, ovo, 1, platt, KLR_CALIBRATION_TRAINING);
    return done_testing();
}
