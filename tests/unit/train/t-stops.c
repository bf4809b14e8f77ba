/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The limit of time, wherever it falls: the clock of these tests moves on by a
 * second each time it is read, and a run is cut at its k-th look at it, for
 * many k. What is left is a usable model, found without any further look at K.
 */
#include "base/machine/system.h"

static double seconds_now;

static double seconds_counted(void)
{
    return seconds_now++;
}

#define klr_seconds seconds_counted
#include "solver.c"

#include "tests/larger.h"
#include "tests/tap.h"

enum { N = 600, D = 4, LONG = 10000000 }; /* three blocks of tiles */

struct data {
    struct klr_problem problem;
    double label[N], value[N * D];
    size_t start[N + 1];
    int index[N * D];
};

static void data_make(struct data *s)
{
    uint64_t state = 1;
    for (size_t i = 0; i < N; i++) {
        s->label[i] = i % 3 == 0 ? 1 : -1;
        for (size_t d = 0; d < D; d++) {
            double x = (double)(random_next(&state) >> 11) * 0x1p-52 - 1;
            s->value[i * D + d] = x + (d == 0 ? 0.4 * s->label[i] : 0);
            s->index[i * D + d] = (int)d + 1;
        }
        s->start[i + 1] = (i + 1) * D;
    }
    s->problem = (struct klr_problem){.n = N,
                                      .dimension = D,
                                      .label = s->label,
                                      .start = s->start,
                                      .index = s->index,
                                      .value = s->value};
}

static struct klr_params params_of(int model, int solver, double cost)
{
    struct klr_params params;
    klr_params_init(&params);
    params.model = model;
    params.solver = solver;
    params.cost = klr_reals_of(cost);
    params.gamma = klr_reals_of(0.5);
    params.threads = 1;
    return params;
}

struct outcome {
    enum klr_status status;
    double looks; /* at the clock, until it was over and after that */
    bool usable;
    double primal; /* NaN: not known */
};

/* Probabilities of all examples are there, and are some. */
static bool is_usable(const struct klr_model *model,
                      const struct klr_problem *problem)
{
    static double label[N], decision[N * 3], probability[N * 3];
    struct klr_predictor *predictor;
    struct klr_features x = problem_features(problem);
    bool probable = klr_model_has_probabilities(model);
    bool usable = !klr_predictor_create(&predictor, model, 1, NULL) &&
                  !klr_predict(predictor, &x, label, decision,
                               probable ? probability : NULL, NULL);
    size_t k = klr_model_classes(model);
    for (size_t i = 0; i < problem->n && usable; i++) {
        double sum = 0;
        for (size_t c = 0; c < k && probable; c++)
            sum += probability[i * k + c];
        usable = isfinite(decision[i]) && (!probable || fabs(sum - 1) < 1e-9);
    }
    klr_predictor_free(predictor);
    return usable;
}

static struct outcome cut_at(const struct klr_problem *problem,
                             struct klr_params params, double limit)
{
    struct klr_model *model[KLR_REALS_MOST];
    struct klr_report report[KLR_REALS_MOST];
    struct klr_error err;
    struct outcome cut = {.usable = true};
    size_t last = params.cost.count - 1;
    params.time_limit = limit;
    seconds_now = 0;
    if (klr_train(problem, &params, model, report, &err)) {
        printf("Bail out! %s\n", err.message);
        exit(1);
    }
    cut.looks = seconds_now;
    cut.status = report[last].status;
    cut.primal = report[last].primal;
    for (size_t t = 0; t <= last; t++) {
        cut.usable = cut.usable && is_usable(model[t], problem);
        klr_model_free(model[t]);
    }
    return cut;
}

/* What is left of logistic losses is no worse than no coefficients at all; the
 * steps of a svm lower its dual alone. */
static void test_model(const struct klr_problem *problem, const char *name,
                       struct klr_params params)
{
    struct outcome whole = cut_at(problem, params, LONG);
    struct outcome none = cut_at(problem, params, 1e-9);
    double all = whole.looks, step = fmax(floor(all / 12), 1), most = 0;
    bool usable = true, bounded = true, told = true;
    ok(whole.status == KLR_CONVERGED && whole.usable &&
           none.status == KLR_TIME_LIMIT && none.usable,
       "%s: %.0f looks at the clock, %s; at none %s", name, all,
       klr_status_names[whole.status], klr_status_names[none.status]);
    for (double limit = 1; limit < all; limit += step) {
        struct outcome cut = cut_at(problem, params, limit);
        usable = usable && cut.usable;
        bounded = bounded && (params.model == KLR_MODEL_SVM ||
                              !(cut.primal > none.primal * (1 + 1e-6)));
        most = larger_of(most, cut.looks - limit);
        told = told && (cut.status == KLR_TIME_LIMIT || cut.looks <= limit + 4);
        if (!usable || !bounded || !told) {
            printf("# at %g: %s, %d, P %g of %g, %g looks\n", limit,
                   klr_status_names[cut.status], cut.usable, cut.primal,
                   none.primal, cut.looks);
            break;
        }
    }
    ok(usable && bounded && told, "%s: cut anywhere, it leaves a model", name);
    ok(most < 0.05 * all + 40, "%s: at most %g looks after the end", name,
       most);
}

/* Of a grid that is cut, points that are not solved have no values and are not
 * the best; all of it, the validation of the best once more included, ends in
 * the limit. */
static void test_grid(const struct klr_problem *problem)
{
    struct klr_error err;
    struct klr_validation v;
    struct klr_params params = params_of(KLR_MODEL_KLR, KLR_SOLVER_NEWTON, 1);
    bool right = true, late = false, compared = true;
    size_t some = 0;
    params.gamma = (struct klr_reals){.count = 2, .value = {0.1, 1}};
    params.cost = (struct klr_reals){.count = 2, .value = {0.1, 1}};
    params.folds = 3;
    params.time_limit = LONG;
    seconds_now = 0;
    if (klr_cross_validate(problem, &params, false, &v, &err))
        printf("Bail out! %s\n", err.message);
    double all = seconds_now;
    ok(v.solved == 4 && v.metrics, "a grid of %.0f looks", all);
    klr_validation_free(&v);
    for (double limit = 1; limit < all; limit += floor(all / 20)) {
        params.time_limit = limit;
        seconds_now = 0;
        if (klr_cross_validate(problem, &params, false, &v, &err))
            printf("Bail out! %s\n", err.message);
        late = late || seconds_now > limit + 60;
        for (size_t t = 0; t < v.count; t++) {
            bool cut = v.report[t].status == KLR_TIME_LIMIT;
            right = right && cut == (bool)isnan(v.values[t].log_loss) &&
                    !(cut && v.solved > 0 && t == v.best);
        }
        some += v.solved > 0 && v.solved < v.count;
        compared = compared &&
                   (v.metrics ||
                    !memcmp(&v.answer, &v.values[v.best], sizeof v.answer));
        klr_validation_free(&v);
    }
    ok(compared, "without the validation of the best: what it was chosen by");
    ok(right && some > 0, "cut anywhere, %zu times with some points", some);
    ok(!late, "in time for all of it");
}

int main(void)
{
    static struct data s;
    const struct klr_problem *problem = &s.problem;
    struct klr_params params;
    data_make(&s);
    test_model(problem, "newton",
               params_of(KLR_MODEL_KLR, KLR_SOLVER_NEWTON, 10));
    params = params_of(KLR_MODEL_KLR, KLR_SOLVER_NEWTON, 1);
    params.cost = (struct klr_reals){.count = 3, .value = {0.1, 1, 100}};
    test_model(problem, "newton, three costs", params);
    test_grid(problem);
    params = params_of(KLR_MODEL_KLR, KLR_SOLVER_NEWTON, 10);
    params.link = KLR_LINK_PLATT;
    test_model(problem, "newton, with a link", params);
    test_model(problem, "newton, sparse",
               params_of(KLR_MODEL_SKLR, KLR_SOLVER_NEWTON, 10));
    test_model(problem, "smo", params_of(KLR_MODEL_KLR, KLR_SOLVER_SMO, 10));
    test_model(problem, "smo1", params_of(KLR_MODEL_KLR, KLR_SOLVER_SMO1, 1));
    test_model(problem, "svm", params_of(KLR_MODEL_SVM, KLR_SOLVER_SMO, 10));
    params = params_of(KLR_MODEL_SVM, KLR_SOLVER_SMO, 1);
    params.cost = (struct klr_reals){.count = 2, .value = {1, 10}};
    params.link = KLR_LINK_PLATT;
    test_model(problem, "svm, two costs and a link", params);
    params = params_of(KLR_MODEL_KLR, KLR_SOLVER_NEWTON, 10);
    params.regularizer = KLR_REGULARIZER_COEF;
    test_model(problem, "coef", params);
    params.solver = KLR_SOLVER_CG;
    test_model(problem, "cg", params);
    params = params_of(KLR_MODEL_KLR, KLR_SOLVER_TRIRLS, 1);
    params.no_bias = 1;
    test_model(problem, "trirls", params);
    params = params_of(KLR_MODEL_KLR, KLR_SOLVER_NEWTON, 10);
    params.basis = 100;
    test_model(problem, "klr on a basis", params);
    test_model(problem, "ivm", params_of(KLR_MODEL_IVM, KLR_SOLVER_AUTO, 10));
    test_model(problem, "lhalf",
               params_of(KLR_MODEL_LHALF, KLR_SOLVER_AUTO, 10));
    test_model(problem, "kfd", params_of(KLR_MODEL_KFD, KLR_SOLVER_EXACT, 10));
    params = params_of(KLR_MODEL_KFD, KLR_SOLVER_EXACT, 10);
    params.regularizer = KLR_REGULARIZER_COEF;
    test_model(problem, "kfd, coef", params);
    test_model(problem, "greedy kfd",
               params_of(KLR_MODEL_KFD, KLR_SOLVER_GREEDY, 10));
    params = params_of(KLR_MODEL_KFD, KLR_SOLVER_GREEDY, 10);
    params.candidates = N;
    test_model(problem, "greedy kfd, all candidates", params);
    for (size_t i = 0; i < N; i++)
        s.label[i] = (double)(i % 3);
    params = params_of(KLR_MODEL_KLR, KLR_SOLVER_NEWTON, 1);
    params.multiclass = KLR_SOFTMAX;
    test_model(problem, "softmax", params);
    params.basis = 100;
    test_model(problem, "softmax on a basis", params);
    params.basis = 0;
    params.multiclass = KLR_OVO;
    test_model(problem, "pairs", params);
    return done_testing();
}
