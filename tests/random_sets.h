/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small random sets, of 2 to 40 examples of 1 to 4 classes, whose features are
 * normal, 0 and 1, constant, duplicated or far from 0: what every model, link
 * and way to take several classes has to keep on them. Probabilities are finite
 * and sum to 1, the label is the most probable class, and no fitted link has a
 * larger log loss on the values that it was fitted on than the shares of both
 * sides have. To be included after solver.c.
 */
#ifndef KLR_TESTS_RANDOM_SETS_H
#define KLR_TESTS_RANDOM_SETS_H

#include "tests/larger.h"
#include "tests/tap.h"

enum { SET_ROWS = 40, SET_FEATURES = 3, SET_CLASSES = 4 };

struct random_set {
    struct klr_problem problem;
    size_t classes;
    double label[SET_ROWS], value[SET_ROWS * SET_FEATURES];
    size_t start[SET_ROWS + 1];
    int index[SET_ROWS * SET_FEATURES];
};

static uint64_t set_state;

static double set_uniform(void)
{
    return (double)(random_next(&set_state) >> 11) / 9007199254740992.0;
}

static size_t set_below(size_t n)
{
    return (size_t)(set_uniform() * (double)n);
}

enum set_kind { NORMAL, BOOLEAN, CONSTANT, DUPLICATED, OFFSET, SET_KINDS };

static double set_feature(enum set_kind kind, double c, double apart)
{
    double x = apart * c;
    if (kind == CONSTANT)
        return 1;
    if (kind == BOOLEAN)
        return set_uniform() < 0.3 + 0.1 * apart * c;
    for (int i = 0; i < 12; i++)
        x += set_uniform() - 0.5;
    return kind == OFFSET ? 1000 + x : x;
}

static void set_make(struct random_set *s, uint64_t seed)
{
    set_state = seed;
    size_t n = 2 + set_below(SET_ROWS - 1), k = 1 + set_below(SET_CLASSES);
    enum set_kind kind = (enum set_kind)set_below(SET_KINDS);
    double apart = 2 * set_uniform(), rare = set_uniform();
    k = k < n ? k : n;
    for (size_t i = 0; i < n; i++) {
        size_t c = i < k ? i : set_uniform() < rare ? 0 : set_below(k);
        size_t twin = kind == DUPLICATED && i > 0 ? set_below(i) : i;
        s->label[i] = (double)c;
        s->start[i] = i * SET_FEATURES;
        for (size_t d = 0; d < SET_FEATURES; d++) {
            size_t at = i * SET_FEATURES + d;
            s->index[at] = (int)d + 1;
            s->value[at] = twin < i ? s->value[twin * SET_FEATURES + d]
                                    : set_feature(kind, (double)c, apart);
        }
    }
    s->start[n] = n * SET_FEATURES;
    s->classes = k;
    s->problem = (struct klr_problem){.n = n,
                                      .dimension = SET_FEATURES,
                                      .label = s->label,
                                      .start = s->start,
                                      .index = s->index,
                                      .value = s->value};
}

/* ---- what is tried ---- */

/* A row of the table of systems, with a link that its model has. */
struct way {
    const struct system *system;
    int link;
};

enum { WAYS_MOST = SYSTEMS * (KLR_LINK_GAUSSIAN + 1) };

/* Ways to take several classes that were tried with a model and link. */
static bool way_seen[KLR_MODEL_LHALF + 1][KLR_LINK_GAUSSIAN + 1]
                    [KLR_SOFTMAX + 1];

static struct klr_params way_start(const struct way *way)
{
    struct klr_params params;
    klr_params_init(&params);
    params.model = (int)way->system->model;
    params.solver = (int)way->system->solver;
    params.link = way->link;
    if (params.model != KLR_MODEL_LHALF) /* its regularizer has no name */
        params.regularizer = (int)way->system->regularizer;
    params.basis = way->system->on_basis ? 4 : 0;
    return params;
}

/* How many there are. */
static size_t ways_of(struct way ways[WAYS_MOST])
{
    size_t count = 0;
    struct klr_error err;
    for (size_t i = 0; i < SYSTEMS; i++)
        for (int link = KLR_LINK_NONE; link <= KLR_LINK_GAUSSIAN; link++) {
            struct way way = {&systems[i], link};
            struct klr_params params = way_start(&way);
            if (!klr_params_check(&params, &err))
                ways[count++] = way;
        }
    return count;
}

static struct klr_params way_params(const struct way *way)
{
    static const double costs[] = {0.01, 1, 100};
    static const int kernels[] = {KLR_RBF, KLR_LINEAR, KLR_LAPLACIAN,
                                  KLR_SIGMOID};
    struct klr_params params = way_start(way);
    struct klr_error err;
    params.kernel = kernels[set_below(way->system->needs_psd ? 3 : 4)];
    params.cost = klr_reals_of(costs[set_below(3)]);
    params.no_bias =
        way->system->bias == BIAS_EITHER && set_below(3) == 0 ? 1 : 0;
    params.multiclass = (int)set_below(KLR_SOFTMAX + 1);
    if (klr_params_check(&params, &err)) /* a softmax */
        params.multiclass = KLR_OVO;
    params.balance = set_below(2) == 1;
    if (link_is_fitted(way->link))
        params.calibration = (int)set_below(3);
    params.seed = (long long)set_below(1000);
    params.threads = 1;
    params.cache_mb = 16;
    params.max_iter = 300;
    way_seen[params.model][params.link][params.multiclass] = true;
    return params;
}

/* ---- what is kept ---- */

static bool answers_hold(const struct random_set *s, struct klr_model *model)
{
    static double label[SET_ROWS], p[SET_ROWS * SET_CLASSES];
    struct klr_predictor *predictor = NULL;
    struct klr_error err;
    struct klr_features x = problem_features(&s->problem);
    const double *labels = klr_model_labels(model);
    size_t k = s->classes;
    bool probable = klr_model_has_probabilities(model);
    bool good =
        !klr_predictor_create(&predictor, model, 1, &err) &&
        !klr_predict(predictor, &x, label, NULL, probable ? p : NULL, &err);
    for (size_t i = 0; i < s->problem.n && good && probable; i++) {
        double sum = 0, most = 0, answer = -1;
        for (size_t c = 0; c < k; c++) {
            double q = p[i * k + c];
            good = good && q >= 0 && q <= 1;
            sum += q;
            most = larger_of(most, q);
            answer = labels[c] == label[i] ? q : answer;
        }
        good = good && fabs(sum - 1) < 1e-12 && answer == most;
    }
    klr_predictor_free(predictor);
    return good;
}

/* True if the links of a group, one for each machine and C, are no worse than
 * the shares on the values in `f`, where these count in the shares that both
 * sides have in training. */
static bool links_hold(const struct machine_group *group,
                       struct training *training, size_t fold,
                       const struct fitting *f)
{
    size_t m = group->machines * group->count;
    bool good = true;
    for (size_t s = 0; s < m; s++) {
        double loss[2] = {0, 0}, size[2] = {0, 0}, all[2];
        for (size_t p = 0; p < (f->decided ? f->decided : 1); p++) {
            struct klr_set set =
                f->decided ? group_held(group, training->partition,
                                        (struct held_out){fold, p}, f->range)
                           : group->set;
            if (f->decided && isnan(f->level[p * m + s]))
                continue;
            for (size_t i = 0; i < set.size; i++) {
                size_t at = set_position(set, i), c = 0;
                while (partition_begin(training->partition, c + 1) <= at)
                    c++;
                double y = group_sign(group, s / group->count, c);
                double z =
                    link_log_odds(&group->link[s], f->output[at * m + s]);
                loss[y > 0] += training->weight[at] * softplus(-y * z);
                size[y > 0] += training->weight[at];
            }
        }
        group_sizes(group, s / group->count, all);
        double total = all[0] + all[1], mean = 0, shares = 0;
        for (int side = 0; side < 2; side++) {
            mean += all[side] / total * (loss[side] / size[side]);
            shares += all[side] / total * log(total / all[side]);
        }
        bool fitted = group->solution[s].note == KLR_NOTE_NONE;
        if (fitted && size[0] > 0 && size[1] > 0)
            good = good && mean <= (1 + 1e-9) * shares;
    }
    return good;
}

/* The way of group_train_fitted, of which the values are kept. */
static bool groups_hold(struct training *training)
{
    struct machine_group group;
    struct klr_error err;
    size_t fold = training->partition->folds;
    bool good = !group_create(&group, training, &err);
    for (size_t g = 0; g < group_count(training) && good; g++) {
        struct fitting f;
        struct held_out held_out = {fold, training->partition->parts};
        group_choose(&group, training, g);
        good = !fitting_create(&f, &group, training->partition, &err) &&
               !group_solve(&group, training, held_out, &err) &&
               !group_decide_fitted(&group, training, fold, &f, &err);
        if (good)
            group_fit(&group, training, fold, &f);
        good = good && links_hold(&group, training, fold, &f);
        klr_arena_free(&f.arena);
    }
    group_free(&group);
    return good;
}

static bool fits_hold(const struct random_set *s,
                      const struct klr_params *given)
{
    const struct klr_params params = params_settle(given);
    struct fold_plan plan = {1, calibration_parts(&params),
                             (uint64_t)params.seed, NULL};
    struct partition partition = {0};
    struct klr_operator op = {0};
    struct training training = {0};
    struct klr_error err;
    bool good =
        !partition_create(&partition, &s->problem, NULL, plan, &err) &&
        !problem_operator(&op, &s->problem, &params, &partition, NULL, &err) &&
        !training_create(&training, &op, &params, &partition, &err) &&
        groups_hold(&training);
    training_free(&training);
    operator_free(&op);
    partition_free(&partition);
    return good;
}

static void test_way(const struct random_set *s, unsigned long long seed,
                     const struct way *way)
{
    struct klr_params params = way_params(way);
    struct klr_model *model = NULL;
    struct klr_report report;
    struct klr_error err = {0};
    int code = klr_train(&s->problem, &params, &model, &report, &err);
    bool good =
        s->classes == 1 ? code == KLR_E_DATA : !code && answers_hold(s, model);
    if (good && s->classes > 1 && link_is_fitted(way->link))
        good = fits_hold(s, &params);
    klr_model_free(model);
    if (!good)
        printf("# set %llu, %s by %s, %s, link %s, %s, %s, C = %g: %s\n", seed,
               klr_model_names[params.model], klr_solver_names[params.solver],
               klr_regularizer_names[params.regularizer],
               klr_link_names[params.link],
               klr_multiclass_names[params.multiclass],
               klr_kernel_names[params.kernel], params.cost.value[0],
               code ? err.message : "");
    tap_failed += !good;
}

/* Sets first .. first + count - 1, each by so many of all ways, in turn. */
static void test_random_sets(unsigned long long first, size_t count,
                             size_t each)
{
    static struct way ways[WAYS_MOST];
    int failed = tap_failed;
    size_t all = ways_of(ways), next = 0;
    for (unsigned long long seed = first; seed < first + count; seed++) {
        static struct random_set s;
        set_make(&s, seed);
        for (size_t w = 0; w < (each < all ? each : all); w++)
            test_way(&s, seed, &ways[next++ % all]);
    }
    failed = tap_failed - failed;
    tap_failed -= failed;
    ok(failed == 0, "%zu random sets by some of %zu ways: %d fail", count, all,
       failed);
}

/* Every model was tried by each of its links and ways to take classes. */
static void test_ways_seen(void)
{
    static struct way ways[WAYS_MOST];
    struct klr_error err;
    size_t all = ways_of(ways), missing = 0;
    for (size_t w = 0; w < all; w++)
        for (int m = KLR_OVO; m <= KLR_SOFTMAX; m++) {
            struct klr_params params = way_start(&ways[w]);
            params.multiclass = m;
            missing += !klr_params_check(&params, &err) &&
                       !way_seen[params.model][params.link][m];
        }
    ok(missing == 0, "all models, links and ways with classes: %zu missing",
       missing);
}

#endif
