/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links are fitted on decision values of examples that were held out; and the
 * clock knows the work of a run beforehand, with these trainings.
 */
/* The solver's clock: a second later whenever it is asked, so that progress is
 * reported each time. */
#define klr_seconds  ticking_seconds
#define SOLVER_FLOOR 7
#include "solver.c"

#include "tests/sample.h"
#include "tests/tap.h"

enum { N = 120 };

/* A link is fitted on decision values of the parts, of all or of the first
 * alone, by models of the others. */
static void test_held_out(const struct klr_problem *problem, int calibration)
{
    struct klr_error err;
    struct klr_params params;
    struct klr_model *model;
    struct klr_report report;
    struct partition partition;
    static double f[MOST], out[MOST], y[MOST], weight[MOST];
    size_t folds = calibration == KLR_CALIBRATION_CV ? CALIBRATION_PARTS : 1;
    size_t n = 0;
    klr_params_init(&params);
    params.model = KLR_MODEL_SVM;
    params.probability = 1;
    params.calibration = calibration;
    params.gamma = klr_reals_of(0.5);
    params.eps = 1e-9;
    params.seed = 5;
    if (klr_train(problem, &params, &model, &report, &err) ||
        partition_create(&partition, problem, NULL,
                         (struct fold_plan){CALIBRATION_PARTS, 1, 5, NULL},
                         &err))
        printf("Bail out! %s\n", err.message);
    params.link = KLR_LINK_NONE;
    for (size_t fold = 0; fold < folds; fold++) {
        double violation =
            sample_decide(problem, &partition, fold, &params, out);
        ok(violation < 1e-7, "without fold %zu: solved to %g", fold, violation);
        for (size_t c = 0; c < 2; c++)
            for (size_t p = partition.begin[c * partition.folds + fold];
                 p < partition.begin[c * partition.folds + fold + 1];
                 p++, n++) {
                f[n] = out[partition.order[p]];
                y[n] = problem->label[partition.order[p]];
                weight[n] = 1;
            }
    }
    const struct sides sides = {n, f, y, weight, f, 0};
    struct link link = link_fit_platt(&sides, true);
    ok(fabs(link.a - model->link[0].a) < 1e-4 * fabs(link.a) &&
           fabs(link.b - model->link[0].b) < 1e-4,
       "%s: a = %g, b = %g by hand: %g, %g", klr_calibration_names[calibration],
       model->link[0].a, model->link[0].b, link.a, link.b);
    partition_free(&partition);
    klr_model_free(model);
}

double ticking_seconds(void)
{
    static double now;
    return ++now;
}

/* Interrupts at the problem with the number *context. */
static int stop_at(const struct klr_progress *now, void *context)
{
    return now->problem >= *(const size_t *)context;
}

static struct klr_model *train_to(const struct klr_problem *problem,
                                  int calibration, size_t stop,
                                  enum klr_status *status)
{
    struct klr_error err;
    struct klr_params params;
    struct klr_model *model;
    struct klr_report report;
    klr_params_init(&params);
    params.link = KLR_LINK_PLATT;
    params.calibration = calibration;
    params.gamma = klr_reals_of(0.5);
    params.eps = 1e-9;
    params.progress = stop > 0 ? stop_at : NULL;
    params.context = &stop;
    if (klr_train(problem, &params, &model, &report, &err))
        printf("Bail out! %s\n", err.message);
    *status = report.status;
    return model;
}

/* The machine comes first: an interruption after it costs but links. In the
 * second part they are fitted as by what is held out of the first one; in the
 * first part decision values stand for themselves. */
static void test_interrupted(const struct klr_problem *problem, size_t part)
{
    const int calibration = KLR_CALIBRATION_HOLDOUT;
    const struct link neutral = link_neutral(KLR_LINK_PLATT);
    enum klr_status stopped, whole;
    struct klr_model *model =
        train_to(problem, KLR_CALIBRATION_CV, part + 1, &stopped);
    struct klr_model *other = train_to(problem, calibration, 0, &whole);
    ok(stopped == KLR_INTERRUPTED && whole == KLR_CONVERGED,
       "interrupted in part %zu: the status", part);
    const struct link *link = model->link;
    const struct link *by = part > 1 ? other->link : &neutral;
    ok(fabs(model->rho[0] - other->rho[0]) < 1e-4,
       "the machine is whole: rho = %g, %g", model->rho[0], other->rho[0]);
    ok(fabs(link->a - by->a) < 1e-4 && fabs(link->b - by->b) < 1e-4,
       "a = %g, b = %g, by what is left: %g, %g", link->a, link->b, by->a,
       by->b);
    klr_model_free(model);
    klr_model_free(other);
}

/* ---- the work of a run ---- */

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

static void test_totals(struct sample *s)
{
    const int ovo = KLR_OVO, ova = KLR_OVA, softmax = KLR_SOFTMAX;
    const int cv = KLR_CALIBRATION_CV, platt = KLR_LINK_PLATT;
    sample_make(s, N);
    for (size_t i = 0; i < N; i++)
        s->label[i] = i < 20 ? 1 : i < 50 ? 2 : 3;
    test_total(s, ovo, 1, KLR_LINK_AUTO, cv);
    test_total(s, ova, 1, KLR_LINK_AUTO, cv);
    test_total(s, softmax, 1, KLR_LINK_AUTO, cv);
    test_total(s, ovo, 5, KLR_LINK_AUTO, cv);
    test_total(s, ova, 4, platt, cv);
    test_total(s, ovo, 1, platt, KLR_CALIBRATION_HOLDOUT);
    test_total(s, ovo, 1, platt, KLR_CALIBRATION_TRAINING);
}

int main(void)
{
    static struct sample s;
    sample_make(&s, N);
    test_held_out(&s.problem, KLR_CALIBRATION_CV);
    test_held_out(&s.problem, KLR_CALIBRATION_HOLDOUT);
    test_interrupted(&s.problem, 1);
    test_interrupted(&s.problem, 2);
    test_totals(&s);
    return done_testing();
}
