/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cross validation and training along several C, against models trained on the
 * folds by hand, the batches of a fold, folds that lack a class, and the
 * probabilities of shifted losses.
 */
#include <pthread.h>

/* Waits, which a test looks into. */
static int wait_for(pthread_cond_t *condition, pthread_mutex_t *lock);

#define pthread_cond_wait wait_for
#include "solver.c"
#undef pthread_cond_wait

#include "tests/larger.h"
#include "tests/sample.h"
#include "tests/tap.h"

enum { N = 90, FOLDS = 3, COSTS = 3 };

static struct klr_params path_params(int model, double eps)
{
    struct klr_params params;
    klr_params_init(&params);
    params.model = model;
    params.gamma = klr_reals_of(0.5);
    params.eps = eps;
    params.folds = FOLDS;
    params.cost = (struct klr_reals){.count = COSTS, .value = {0.1, 2, 30}};
    return params;
}

/* The sum of -log p over the fold, of a model trained at one C without it; of a
 * model without probabilities, its errors. */
static double fold_loss(const struct klr_problem *problem,
                        const struct partition *partition, size_t f,
                        const struct klr_params *params)
{
    static struct sample train, test;
    static double answer[MOST], probability[MOST * 3];
    struct klr_error err;
    struct klr_report report;
    struct klr_model *model;
    struct klr_predictor *predictor = NULL;
    sample_fold(&train, problem, partition, f, false);
    sample_fold(&test, problem, partition, f, true);
    struct klr_features x = problem_features(&test.problem);
    bool probable = params->model != KLR_MODEL_SVM;
    double sum = 0;
    if (klr_train(&train.problem, params, &model, &report, &err) ||
        klr_predictor_create(&predictor, model, 1, &err) ||
        klr_predict(predictor, &x, answer, NULL, probable ? probability : NULL,
                    &err))
        printf("Bail out! %s\n", err.message);
    for (size_t i = 0; i < test.problem.n; i++) {
        size_t c = partition_class_of(partition, test.label[i]);
        sum += probable ? -log(probability[i * partition->k + c])
                        : answer[i] != test.label[i];
    }
    klr_predictor_free(predictor);
    klr_model_free(model);
    return sum;
}

/* The metrics of a cross validation at each C. */
static void validate(const struct klr_problem *problem,
                     const struct klr_params *params,
                     struct klr_metric_values *values,
                     struct klr_report *report)
{
    struct klr_error err;
    struct klr_validation v;
    if (klr_cross_validate(problem, params, false, &v, &err))
        printf("Bail out! %s\n", err.message);
    memcpy(values, v.values, v.count * sizeof *values);
    memcpy(report, v.report, v.count * sizeof *report);
    klr_validation_free(&v);
}

static void test_validation(const struct klr_problem *problem, const char *name,
                            struct klr_params params)
{
    struct klr_error err;
    struct klr_metric_values values[COSTS];
    struct klr_report report[COSTS];
    struct partition partition;
    validate(problem, &params, values, report);
    if (partition_create(
            &partition, problem, NULL,
            (struct fold_plan){FOLDS, 1, (uint64_t)params.seed, NULL}, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t t = 0; t < COSTS; t++) {
        struct klr_params alone = params;
        double loss = 0, found = params.model == KLR_MODEL_SVM
                                     ? 1 - values[t].accuracy
                                     : values[t].log_loss;
        alone.cost =
            (struct klr_reals){.count = 1, .value = {params.cost.value[t]}};
        for (size_t f = 0; f < FOLDS; f++)
            loss += fold_loss(problem, &partition, f, &alone) / N;
        ok(fabs(loss - found) < 2e-6, "%s, C = %g: loss %.7f, by hand %.7f",
           name, alone.cost.value[0], found, loss);
        ok(values[t].count == N && report[t].status == KLR_CONVERGED,
           "%s: all are predicted", name);
    }
    partition_free(&partition);
}

/* Where coefficients are large, products of floats would show. */
static void test_large(const struct klr_problem *problem)
{
    struct klr_error err;
    struct klr_params params = path_params(KLR_MODEL_SVM, 1e-11);
    struct klr_validation v;
    struct partition partition;
    static double found[MOST];
    double most = 0, worst = 0;
    params.cost = klr_reals_of(1e5);
    if (klr_cross_validate(problem, &params, true, &v, &err) ||
        partition_create(
            &partition, problem, NULL,
            (struct fold_plan){FOLDS, 1, (uint64_t)params.seed, NULL}, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t f = 0; f < FOLDS; f++)
        worst = larger_of(
            worst, sample_decide(problem, &partition, f, &params, found));
    for (size_t i = 0; i < N; i++)
        most = larger_of(most, fabs(found[i] - v.held_out.decision[i]));
    ok(worst < 1e-7, "C = 1e5: solved to %g", worst);
    ok(most < 2e-6, "C = 1e5: decision values within %.1e", most);
    partition_free(&partition);
    klr_validation_free(&v);
}

/* The objectives along the path are, up to the gap, those that the definitions
 * give for the solution at each C alone. */
static void test_path(const struct sample *s)
{
    struct klr_error err;
    struct klr_params params = path_params(KLR_MODEL_KLR, 1e-11);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    struct klr_model *model[COSTS];
    struct klr_report report[COSTS];
    double beta[MOST];
    if (klr_train(&s->problem, &params, model, report, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t t = 0; t < COSTS; t++) {
        struct klr_params alone = params;
        alone.cost =
            (struct klr_reals){.count = 1, .value = {params.cost.value[t]}};
        struct solution solution = solve(s, &alone, beta);
        struct truth truth = evaluate(s, beta, solution.rho, &alone, &kernel);
        ok(fabs(report[t].primal / truth.primal - 1) < 1e-8 &&
               report[t].gap <= 1e-11 && report[t].status == KLR_CONVERGED,
           "C = %g: objective %.10g, alone %.10g, gap %.1g",
           alone.cost.value[0], report[t].primal, truth.primal, report[t].gap);
        ok(model[t]->record.cost == params.cost.value[t] &&
               report[t].n_sv == s->problem.n,
           "C = %g: the model says so", params.cost.value[t]);
        klr_model_free(model[t]);
    }
}

/* The slope of the link of a model of each C. */
static void test_shrunk_link(const struct klr_problem *problem)
{
    struct klr_error err;
    struct klr_params params = path_params(KLR_MODEL_SKLR, 1e-6);
    params.link = KLR_LINK_SHRUNK;
    struct klr_model *model[COSTS];
    struct klr_report report[COSTS];
    double lambda[COSTS] = {0.01, 0.2, 3}; /* C / 10 */
    for (int given = 0; given < 2; given++) {
        if (klr_train(problem, &params, model, report, &err))
            printf("Bail out! %s\n", err.message);
        for (size_t t = 0; t < COSTS; t++) {
            double slope = model[t]->link[0].a;
            double l = given ? params.lambda.value[0] : lambda[t];
            ok(fabs(slope * (1 + l / 2) + 1) < 1e-15 &&
                   model[t]->link[0].b == 0 &&
                   fabs(model[t]->record.lambda - l) < 1e-15,
               "lambda %g gives a slope of %g", l, slope);
            klr_model_free(model[t]);
        }
        params.lambda = klr_reals_of(0.75);
    }
}

/* A fold's examples come each once, class by class, in batches of any size. */
static void test_batches(const struct klr_problem *problem, size_t batch)
{
    struct klr_error err;
    struct partition partition;
    struct klr_range held[3];
    if (partition_create(&partition, problem, NULL,
                         (struct fold_plan){FOLDS, 1, 1, NULL}, &err))
        printf("Bail out! %s\n", err.message);
    struct fold v = {
        .training.partition = &partition, .held = held, .batch = batch};
    bool each = true, full = true;
    for (size_t f = 0; f < FOLDS; f++) {
        size_t first = 0, c = 0, p = partition.begin[f];
        struct klr_set set;
        for (; (set = fold_batch(&v, f, first)).size > 0; first += set.size) {
            each = each && full;
            full = set.size == batch;
            for (size_t i = 0; i < set.size; i++) {
                while (c < partition.k &&
                       p == partition.begin[c * FOLDS + f + 1])
                    p = partition.begin[++c * FOLDS + f];
                each = each && set_position(set, i) == p++;
            }
        }
        full = true;
        each = each && c == partition.k - 1 &&
               p == partition.begin[c * FOLDS + f + 1];
    }
    ok(each, "batches of %zu", batch);
    partition_free(&partition);
}

/* A class of one example, which one fold lacks in training: there the answer
 * is the rule of succession, whatever the link, and the gap stays known. */
static void test_lone(struct sample *s, int model, int link)
{
    struct klr_params params = path_params(model, 1e-6);
    struct klr_metric_values values[COSTS];
    struct klr_report report[COSTS];
    double loss = 0;
    params.link = link;
    for (size_t i = 0; i < N; i++)
        s->label[i] = i == 0 ? 2 : 1;
    validate(&s->problem, &params, values, report);
    for (size_t t = 0; t < COSTS; t++) {
        ok(report[t].gap >= 0 && report[t].gap < 0.1, "gap %g", report[t].gap);
        loss = larger_of(loss, values[t].log_loss);
    }
    ok(values[0].correct == N - 1 && loss < 0.3, "log loss at most %g", loss);
}

/* A failed training hands out no model, also where it fails late: for lack of
 * memory for rows. */
static void test_failure(const struct klr_problem *problem)
{
    struct klr_error err;
    struct klr_params params = path_params(KLR_MODEL_SVM, 1e-3);
    struct klr_model *model[COSTS];
    struct klr_report report[COSTS];
    params.cache_mb = 1e-6;
    ok(klr_train(problem, &params, model, report, &err) == KLR_E_LIMIT &&
           !model[0] && !model[1] && !model[2],
       "no models after a failure: %s", err.message);
}

/* A metric that has no value is refused, and leaves no metrics behind. */
static void test_metric(const struct klr_problem *problem, int model,
                        enum klr_metric metric, int expected)
{
    struct klr_error err = {.message = ""};
    struct klr_params params = path_params(model, 1e-3);
    struct klr_validation v;
    params.metric = (int)metric;
    int code = klr_cross_validate(problem, &params, true, &v, &err);
    ok(code == expected && (code ? !v.metrics : v.metrics != NULL) &&
           (code == 0) == (v.held_out.n == N) && v.count == (code ? 0 : COSTS),
       "--metric %s for %s: %s", klr_metric_names[metric],
       klr_model_names[model], err.message);
    klr_validation_free(&v);
}

/* Parameters that ask for nothing, or for what there is not. */
static void test_refused(const struct klr_problem *problem)
{
    struct klr_params params = path_params(KLR_MODEL_KLR, 1e-6);
    struct klr_validation v;
    struct klr_error err;
    params.folds = 0;
    ok(klr_cross_validate(problem, &params, false, &v, &err) == KLR_E_USAGE &&
           !v.values,
       "no folds: %s", err.message);
    params.model = 99;
    params.folds = 2;
    ok(klr_cross_validate(problem, &params, false, &v, &err) == KLR_E_USAGE &&
           !v.values,
       "no model: %s", err.message);
}

/* The metrics of predictions. */
static struct klr_metric_values again(const struct klr_problem *problem,
                                      const struct klr_held_out *h,
                                      const double *labels)
{
    struct klr_error err;
    struct klr_metrics *metrics;
    struct klr_metric_values values;
    const double *p = h->probability;
    klr_metrics_create(&metrics, h->classes, labels, &err);
    for (size_t i = 0; i < N; i++)
        klr_metrics_add(metrics, problem->label[i], h->label[i],
                        p ? p + i * h->classes : NULL,
                        h->decision[i * h->decisions], &err);
    klr_metrics_values(metrics, &values);
    klr_metrics_free(metrics);
    return values;
}

/* The predictions that are handed out are those that were measured, at each C,
 * and answers to the folds. */
static void test_held_out(const struct klr_problem *problem, int model)
{
    struct klr_error err;
    struct klr_params params = path_params(model, 1e-6);
    size_t fold[MOST];
    for (size_t i = 0; i < N; i++)
        fold[i] = i / 3 % FOLDS;
    params.fold = fold;
    for (size_t t = 0; t < COSTS; t++) {
        struct klr_params one = klr_params_point(&params, t);
        struct klr_validation v;
        if (klr_cross_validate(problem, &one, true, &v, &err))
            printf("Bail out! %s\n", err.message);
        const struct klr_held_out *h = &v.held_out;
        ok(h->n == N && !h->probability == (model == KLR_MODEL_SVM) &&
               memcmp(h->fold, fold, N * sizeof *fold) == 0,
           "predictions of %zu examples, %zu classes", h->n, h->classes);
        struct klr_metric_values other =
            again(problem, h, klr_metrics_labels(v.metrics));
        ok(v.values->accuracy == other.accuracy && v.values->f1 == other.f1 &&
               (!h->probability ||
                fabs(v.values->log_loss - other.log_loss) < 1e-12) &&
               (h->classes > 2 || v.values->auc == other.auc),
           "have the metrics: accuracy %g", other.accuracy);
        klr_validation_free(&v);
    }
}

/* Every point of a grid is what it is alone, up to the gap, and the best to the
 * bit, for any number of threads; it has its predictions. */
static void test_grid(const struct klr_problem *problem)
{
    struct klr_error err;
    struct klr_params params = path_params(KLR_MODEL_SKLR, 1e-9);
    struct klr_validation v, w, alone;
    params.gamma = (struct klr_reals){.count = 3, .value = {0.05, 0.5, 3}};
    params.lambda = (struct klr_reals){.count = 2, .value = {0, 0.2}};
    params.link = KLR_LINK_SHRUNK;
    params.threads = 1;
    int code = klr_cross_validate(problem, &params, true, &v, &err);
    params.threads = 3;
    if (code || klr_cross_validate(problem, &params, false, &w, &err))
        printf("Bail out! %s\n", err.message);
    ok(v.count == 18 && w.count == 18 && v.best == w.best &&
           memcmp(v.values, w.values, 18 * sizeof *v.values) == 0,
       "a grid of 18 points, by one thread and by three");
    ok(v.best == klr_best_values(KLR_METRIC_AUTO, v.values, 18),
       "the best is point %zu", v.best);
    double most = 0;
    bool same = false;
    for (size_t t = 0; t < 18; t++) {
        struct klr_params one = klr_params_point(&params, t);
        if (klr_cross_validate(problem, &one, false, &alone, &err))
            printf("Bail out! %s\n", err.message);
        most = larger_of(most,
                         fabs(alone.values->log_loss - v.values[t].log_loss));
        if (t == v.best)
            same = memcmp(alone.values, &v.answer, sizeof v.answer) == 0 &&
                   memcmp(&alone.answer, &v.answer, sizeof v.answer) == 0 &&
                   memcmp(alone.error, &v.answer_error,
                          sizeof v.answer_error) == 0;
        klr_validation_free(&alone);
    }
    ok(most < 1e-5, "log loss differs from that of a point alone by %g", most);
    ok(same, "the best is what it is alone");
    struct klr_metric_values best =
        again(problem, &v.held_out, klr_metrics_labels(v.metrics));
    ok(fabs(best.log_loss - v.answer.log_loss) < 1e-12,
       "predictions are those of the best");
    klr_validation_free(&v);
    klr_validation_free(&w);
    params.folds = 0;
    ok(klr_params_check(&params, &err) == KLR_E_USAGE, "%s", err.message);
}

/* A lambda over C is that many C, at every point, and in the model. */
static void test_shares(const struct klr_problem *problem)
{
    struct klr_error err;
    struct klr_params params = path_params(KLR_MODEL_SKLR, 1e-9);
    struct klr_validation v, alone;
    struct klr_model *model;
    struct klr_report report;
    double most = 0;
    params.lambda =
        (struct klr_reals){.count = 2, .value = {0.05, 0.5}, .in_unit = true};
    params.link = KLR_LINK_SIGMA;
    if (klr_cross_validate(problem, &params, false, &v, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t t = 0; t < v.count; t++) {
        struct klr_params one = klr_params_point(&params, t);
        one.lambda =
            klr_reals_of(one.cost.value[0] * params.lambda.value[t / COSTS]);
        if (klr_cross_validate(problem, &one, false, &alone, &err))
            printf("Bail out! %s\n", err.message);
        most = larger_of(most,
                         fabs(alone.values->log_loss - v.values[t].log_loss));
        klr_validation_free(&alone);
    }
    ok(v.count == 2 * COSTS && most < 1e-5,
       "%zu lambdas over C: log loss differs from that of lambdas by %g",
       v.count, most);
    struct klr_params best = klr_params_point(&params, 4);
    if (klr_train(problem, &best, &model, &report, &err))
        printf("Bail out! %s\n", err.message);
    ok(model->record.lambda == 0.5 * 2, "the model has lambda = C / 2 = %g",
       model->record.lambda);
    klr_model_free(model);
    klr_validation_free(&v);
    params.lambda.value[1] = params.cost.value[2] = 1e200;
    ok(klr_params_check(&params, &err) == KLR_E_USAGE, "%s", err.message);
}

/* Support vectors of a model trained without the fold. */
static size_t fold_vectors(const struct klr_problem *problem,
                           const struct partition *partition, size_t f,
                           const struct klr_params *params)
{
    static struct sample train;
    struct klr_error err;
    struct klr_report report;
    struct klr_model *model;
    sample_fold(&train, problem, partition, f, false);
    if (klr_train(&train.problem, params, &model, &report, &err))
        printf("Bail out! %s\n", err.message);
    size_t count = klr_model_n_sv(model);
    klr_model_free(model);
    return count;
}

/* Points better than the t-th: by accuracy, then by fewer support vectors, then
 * by their order. */
static size_t points_before(const struct klr_validation *v, size_t t)
{
    size_t before = 0;
    for (size_t s = 0; s < v->count; s++) {
        double more = v->values[s].accuracy - v->values[t].accuracy;
        size_t a = v->report[s].n_sv, b = v->report[t].n_sv;
        before += more > 0 || (more == 0 && (a < b || (a == b && s < t)));
    }
    return before;
}

/* Support vectors are those of the folds' models; the point taken of the best K
 * has the fewest, and if others have as many it is better. */
static void test_sparsest(const struct klr_problem *problem)
{
    struct klr_error err;
    struct klr_params params = path_params(KLR_MODEL_SVM, 1e-9);
    struct klr_validation v;
    struct partition partition;
    params.gamma = (struct klr_reals){.count = 3, .value = {0.05, 0.5, 3}};
    if (partition_create(
            &partition, problem, NULL,
            (struct fold_plan){FOLDS, 1, (uint64_t)params.seed, NULL}, &err))
        printf("Bail out! %s\n", err.message);
    for (int k = 0; k <= 9; k += 3) {
        params.sparsest = k;
        if (klr_cross_validate(problem, &params, false, &v, &err))
            printf("Bail out! %s\n", err.message);
        size_t rank = points_before(&v, v.best), fewer = 0, differ = 0;
        for (size_t t = 0; t < v.count; t++) {
            struct klr_params one = klr_params_point(&params, t);
            size_t count = 0, before = points_before(&v, t);
            for (size_t f = 0; f < FOLDS; f++)
                count += fold_vectors(problem, &partition, f, &one);
            differ += count != v.report[t].n_sv;
            fewer +=
                before < (size_t)k && before != rank &&
                (v.report[t].n_sv < v.report[v.best].n_sv ||
                 (v.report[t].n_sv == v.report[v.best].n_sv && before < rank));
        }
        ok(differ == 0, "%zu points: support vectors of their folds", v.count);
        ok(k ? rank < (size_t)k && fewer == 0
             : v.best == klr_best_values(KLR_METRIC_AUTO, v.values, 9),
           "--sparsest %d: the best is number %zu of all, of %zu", k, rank,
           v.report[v.best].n_sv);
        klr_validation_free(&v);
    }
    partition_free(&partition);
    params.gamma.count = params.cost.count = 1;
    ok(klr_params_check(&params, &err) == KLR_E_USAGE, "%s", err.message);
}

static int stop(const struct klr_progress *now, void *context)
{
    (void)now;
    ++*(int *)context;
    return 1;
}

/* What comes after the cell where it is stopped, the last one being the first
 * to come, is left out. */
static void test_stopped_grid(const struct klr_problem *problem)
{
    struct klr_error err;
    struct klr_params params = path_params(KLR_MODEL_KLR, 1e-9);
    struct klr_validation v;
    int calls = 0;
    params.gamma = (struct klr_reals){.count = 3, .value = {0.05, 0.5, 3}};
    params.threads = 1;
    params.progress = stop;
    params.context = &calls;
    if (klr_cross_validate(problem, &params, false, &v, &err))
        printf("Bail out! %s\n", err.message);
    ok(calls == 1 && !v.metrics && v.solved == 0 &&
           v.report[2 * COSTS - 1].status == KLR_INTERRUPTED &&
           v.report[0].status == KLR_INTERRUPTED,
       "a grid is stopped by one call");
    const struct klr_metric_values *left = &v.values[2 * COSTS - 1];
    ok(!left->count && !left->correct && isnan(left->accuracy) &&
           isnan(left->balanced) && isnan(left->log_loss) &&
           isnan(left->brier) && isnan(left->auc) && isnan(left->f1) &&
           isnan(left->mcc) && isnan(left->ece),
       "no metric of what is left out is known");
    klr_validation_free(&v);
}

/* Whether a grid is divided does not change a result: not among more threads
 * than rows may be at work, and not where memory does for one fold. */
static void test_apart(const struct klr_problem *problem, int model,
                       int multiclass)
{
    enum { GAMMAS = 6, POINTS = GAMMAS * COSTS };
    static const struct {
        int threads;
        double mb;
    } run[] = {{1, 100}, {2, 100}, {8, 100}, {3, 0.3}};
    struct klr_error err;
    struct klr_params params = path_params(model, 1e-4);
    struct klr_validation v[4];
    params.multiclass = multiclass;
    params.gamma = (struct klr_reals){.count = GAMMAS,
                                      .value = {0.01, 0.05, 0.2, 0.5, 1, 3}};
    for (size_t r = 0; r < 4; r++) {
        params.threads = run[r].threads;
        params.cache_mb = run[r].mb;
        if (klr_cross_validate(problem, &params, false, &v[r], &err))
            printf("Bail out! %s\n", err.message);
        ok(v[r].best == v->best &&
               !memcmp(v->values, v[r].values, POINTS * sizeof *v->values),
           "%s: %d threads, %g MB", klr_model_names[model], run[r].threads,
           run[r].mb);
    }
    for (size_t r = 0; r < 4; r++)
        klr_validation_free(&v[r]);
}

/* Folds are divided where half of the threads have one, or where they are
 * small, but those of one point are not. */
static void test_divides(void)
{
    static const struct {
        size_t n, cells, costs, abreast, threads;
        bool divides;
    } one[] = {{5000, 2, 2, 1, 1, false}, {90, 1, 1, 4, 4, false},
               {5000, 1, 2, 5, 10, true}, {5000, 1, 2, 5, 11, false},
               {2048, 1, 2, 5, 99, true}, {5000, 2, 1, 8, 16, true},
               {2048, 2, 2, 1, 2, false}};
    for (size_t t = 0; t < sizeof one / sizeof *one; t++) {
        struct klr_params params = path_params(KLR_MODEL_KLR, 1e-4);
        struct partition partition = {.n = one[t].n};
        struct grid grid = {.params = &params,
                            .partition = &partition,
                            .cells = one[t].cells,
                            .costs = one[t].costs,
                            .folds = 5};
        ok(grid_divides(&grid, one[t].abreast, one[t].threads) ==
               one[t].divides,
           "%zu examples, %zu folds at once, %zu threads", one[t].n,
           one[t].abreast, one[t].threads);
        params.model = KLR_MODEL_IVM;
        ok(!grid_divides(&grid, one[t].abreast, one[t].threads),
           "not of a greedy solver");
        params.model = KLR_MODEL_KLR;
        params.kernel = KLR_LINEAR;
        ok(!grid_divides(&grid, one[t].abreast, one[t].threads),
           "nor of the linear kernel");
    }
}

/* While a row waits, the one that is at work ends. */
static struct grid *watched;
static size_t waits;

static int wait_for(pthread_cond_t *condition, pthread_mutex_t *lock)
{
    if (!watched)
        return pthread_cond_wait(condition, lock);
    waits++;
    pthread_mutex_unlock(lock);
    grid_leave(watched, 1, 0, false, NULL, NULL);
    pthread_mutex_lock(lock);
    return 0;
}

/* Rows wait for memory, which rows that end leave to them. */
static void test_rows(const struct klr_problem *problem)
{
    struct klr_error err;
    struct klr_params params = path_params(KLR_MODEL_KLR, 1e-4);
    struct partition partition;
    struct klr_pool *pool = NULL;
    params.gamma = (struct klr_reals){.count = 2, .value = {0.1, 1}};
    params = params_settle(&params);
    struct grid grid = {.problem = problem,
                        .params = &params,
                        .partition = &partition,
                        .lambdas = 1,
                        .costs = COSTS,
                        .folds = FOLDS,
                        .cells = 2,
                        .team = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                 .ended = PTHREAD_COND_INITIALIZER}};
    if (partition_create(&partition, problem, NULL,
                         (struct fold_plan){FOLDS, 1, 1, NULL}, &err) ||
        klr_pool_create(&pool, 3, &err) || grid_create(&grid, &err))
        printf("Bail out! %s\n", err.message);
    grid_divide(&grid, pool);
    ok(!grid.pool && grid.threads == 3 && grid.rows_most == 3,
       "three threads, with three folds, have room for %zu rows",
       grid.rows_most);
    double tiles = N * (N + KLR_TILE) * sizeof(float) / 2;
    double each = tiles + solver_bytes(&params, N, partition.k);
    double mb = (each + fold_bytes(&params, &partition)) / 1048576;
    for (size_t threads = 3; threads > 0; threads--) {
        params.cache_mb = (double)threads * mb;
        grid_divide(&grid, pool);
        ok(threads == 1 ? grid.pool == pool
                        : !grid.pool && grid.threads == threads,
           "%g MB will do for %zu folds", params.cache_mb, threads);
        params.cache_mb -= 1e-3;
        grid_divide(&grid, pool);
        ok(threads > 2 ? grid.threads == threads - 1 : grid.pool == pool,
           "less will not");
    }
    params.cache_mb = 0;
    grid_divide(&grid, pool);
    grid.rows_most = 1;
    watched = &grid;
    grid.row[0].left = grid.row[1].left = 1;
    bool go;
    ok(!grid_enter(&grid, 1, &go, &err) && go && waits == 0 &&
           grid.rows_at_work == 1,
       "the first row is at work");
    ok(!grid_enter(&grid, 0, &go, &err) && go && waits == 1 &&
           grid.rows_at_work == 1 && !grid.row[1].op.points &&
           grid.row[0].op.points,
       "the second one is when that is over");
    watched = NULL;
    grid_leave(&grid, 0, 0, false, NULL, NULL);
    ok(grid.rows_at_work == 0 && grid.folds_done == 2, "and ends");
    grid_free(&grid);
    klr_pool_free(pool);
    partition_free(&partition);
}

/* A cell has the time that those before it left, the first one first, and never
 * no limit: without one the last comes first. A fold has its part of the
 * problems and of their work. */
static void test_time_left(void)
{
    struct klr_params params;
    klr_params_init(&params);
    params.time_limit = 60;
    struct grid_cell cell = {.begin = klr_seconds()};
    size_t todo[] = {0, 1, 2};
    struct grid grid = {.params = &params,
                        .share = params,
                        .todo = todo,
                        .tasks = 3,
                        .cells = 3,
                        .cell = &cell,
                        .begin = cell.begin - 50};
    double left = grid_params(&grid, 0).time_limit;
    ok(fabs(left - 10) < 1e-6, "of 60 seconds 50 are over: %g left", left);
    grid.begin -= 50;
    left = grid_params(&grid, 0).time_limit;
    ok(left > 0 && left < 1e-6, "all of them: %g left", left);
    ok(grid_order(&grid, 0) == 0 && grid_order(&grid, 2) == 2, "in order");
    params.time_limit = 0;
    ok(grid_order(&grid, 0) == 2 && grid_order(&grid, 2) == 0,
       "without a limit the other way round");
    struct clock clock = {.problems = 12, .total = 10, .span = 10};
    fold_clock(&clock, (struct fold_task){3, 1, 5.5}, 4);
    double after = clock.total - clock.work;
    ok(clock.begin == 5.5 && clock.problem == 9 && clock.span == 2.5 &&
           fabs(clock.work / 3 - after) < 1e-12 && after > clock.span,
       "the clock of the last of four folds, with time for predictions");
    clock = (struct clock){.problems = 12, .total = 10, .span = 10};
    fold_clock(&clock, (struct fold_task){3, 3, 5.5}, 4);
    ok(clock.problem == 9 && fabs(clock.total - 2 * clock.work) < 1e-12,
       "the same after three side by side");
}

int main(void)
{
    static struct sample s;
    test_time_left();
    test_divides();
    sample_make(&s, N);
    test_path(&s);
    test_validation(&s.problem, "klr", path_params(KLR_MODEL_KLR, 1e-11));
    struct klr_params shrunk = path_params(KLR_MODEL_SKLR, 1e-11);
    shrunk.link = KLR_LINK_SHRUNK;
    test_validation(&s.problem, "sklr", shrunk);
    test_validation(&s.problem, "svm", path_params(KLR_MODEL_SVM, 1e-9));
    test_large(&s.problem);
    test_shrunk_link(&s.problem);
    test_grid(&s.problem);
    test_shares(&s.problem);
    test_sparsest(&s.problem);
    test_stopped_grid(&s.problem);
    for (int model = KLR_MODEL_KLR; model <= KLR_MODEL_SVM; model++)
        test_apart(&s.problem, model, KLR_OVO);
    test_rows(&s.problem);
    test_held_out(&s.problem, KLR_MODEL_KLR);
    test_held_out(&s.problem, KLR_MODEL_SVM);
    for (size_t i = 0; i < N; i++)
        s.label[i] = (double)(i % 3);
    test_validation(&s.problem, "three classes",
                    path_params(KLR_MODEL_KLR, 1e-11));
    for (int multiclass = KLR_OVO; multiclass <= KLR_SOFTMAX; multiclass++)
        test_apart(&s.problem, KLR_MODEL_KLR, multiclass);
    test_metric(&s.problem, KLR_MODEL_KLR, KLR_METRIC_AUC, KLR_E_USAGE);
    test_metric(&s.problem, KLR_MODEL_KLR, KLR_METRIC_ECE, 0);
    test_metric(&s.problem, KLR_MODEL_SVM, KLR_METRIC_ECE, KLR_E_USAGE);
    test_metric(&s.problem, KLR_MODEL_SVM, KLR_METRIC_MCC, 0);
    test_held_out(&s.problem, KLR_MODEL_KLR);
    for (size_t batch = 1; batch < N; batch = 3 * batch + 1)
        test_batches(&s.problem, batch);
    test_lone(&s, KLR_MODEL_KLR, KLR_LINK_AUTO);
    test_lone(&s, KLR_MODEL_SKLR, KLR_LINK_SHRUNK);
    test_lone(&s, KLR_MODEL_SKLR, KLR_LINK_CONSISTENT);
    test_lone(&s, KLR_MODEL_SKLR, KLR_LINK_AUTO);
    sample_make(&s, N);
    test_failure(&s.problem);
    test_refused(&s.problem);
    return done_testing();
}
