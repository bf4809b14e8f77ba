/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All machines of a model, for each C, group by group. Pairs of classes do not
 * depend on each other: where that pays, and memory allows for it, threads have
 * a pair each, and share the tiles of K; else one group comes after the other,
 * by all threads. That does not change a result, nor what is counted: as all of
 * K is used by some pair, tiles are computed whole by whoever meets them first.
 */
#include "solver/internal.h"

#include "solver/multiclass.h"
#include "solver/systems.h"

#include <pthread.h>
#include <stdatomic.h>

static int ensemble_create(struct ensemble *ensemble,
                           const struct training *training,
                           struct klr_error *err)
{
    const struct layout *layout = training->layout;
    size_t count = training->params->cost.count;
    memset(ensemble, 0, sizeof *ensemble);
    ensemble->count = count;
    ensemble->machines = machine_count(training->multiclass, layout->k);
    ensemble->columns = machine_columns(training->multiclass, layout->k);
    if (!(ensemble->coef = klr_zalloc(
              layout->n * count, ensemble->columns * sizeof(double), err)) ||
        !(ensemble->rho =
              klr_alloc(count, ensemble->machines * sizeof(double), err)) ||
        !(ensemble->link = klr_alloc(
              count, ensemble->machines * sizeof *ensemble->link, err)) ||
        (training->leave_out &&
         !(ensemble->shift = klr_zalloc(
               layout->n * count, ensemble->columns * sizeof(double), err))))
        return KLR_E_MEMORY;
    return 0;
}

static void ensemble_free(struct ensemble *ensemble)
{
    klr_free(ensemble->coef);
    klr_free(ensemble->rho);
    klr_free(ensemble->link);
    klr_free(ensemble->shift);
}

/* ---- what a group adds ---- */

/* The column of the coefficients of class c in a machine: of a pair that of the
 * other class among the k - 1 others. */
static size_t machine_column(const struct group *group, size_t machine,
                             size_t c)
{
    if (group->machines > 1)
        return machine;
    return c == group->class[0] ? group->class[1] - 1 : group->class[0];
}

/* Returns sum_j beta_j^2 |K_jj|. */
static double ensemble_keep_one(struct ensemble *ensemble,
                                const struct group *group, size_t machine,
                                size_t t, const struct training *training)
{
    const struct layout *layout = training->layout;
    size_t s = machine * group->count + t;
    const double *beta = group->solution[s].beta;
    const double *shift =
        group->shift ? group->shift + s * group->stride : NULL;
    double scale = 0;
    size_t c = 0;
    for (size_t r = 0; r < group->set.count; r++) {
        struct klr_range range = group->range[r];
        while (layout_begin(layout, c + 1) <= range.begin)
            c++;
        size_t column = machine_column(group, machine, c);
        for (size_t p = range.begin; p < range.end; p++, beta++) {
            size_t at = (p * ensemble->count + t) * ensemble->columns + column;
            ensemble->coef[at] = *beta;
            if (shift)
                ensemble->shift[at] = *shift++;
            scale += *beta * *beta * fabs(training->diagonal[p]);
        }
    }
    size_t at = t * ensemble->machines + group->first + machine;
    ensemble->rho[at] = group->solution[s].rho;
    ensemble->link[at] = group->link[s];
    return scale;
}

/* ---- workers ---- */

struct worker {
    struct klr_operator op; /* shares tiles, where others work beside it */
    struct training training;
    struct group group;
};

struct crew {
    struct ensemble *ensemble;
    struct training *training;
    size_t fold, groups, count;
    struct worker *worker; /* (count) */
    struct klr_params params;
    struct klr_report *report; /* (groups, values of C) what groups add */
    double *scale;             /* (groups) max over machines and C */
    atomic_size_t begun;       /* groups */
    pthread_mutex_t lock;      /* of the following, and of the clock */
    bool stopped;
    int code; /* of the first failure */
    struct klr_error err;
};

static int crew_progress(const struct klr_progress *now, void *context)
{
    struct crew *crew = context;
    const struct klr_params *params = crew->training->params;
    pthread_mutex_lock(&crew->lock);
    if (!crew->stopped)
        crew->stopped = params->progress(now, params->context);
    bool stopped = crew->stopped;
    pthread_mutex_unlock(&crew->lock);
    return stopped;
}

/* What a pair takes beside the tiles that all share: its solver, or a cache of
 * all rows, and a group. */
static double pair_bytes(const struct training *training, size_t n)
{
    const struct klr_params *params = training->params;
    double rows = (double)n * (double)n * sizeof(double);
    double solver = solver_bytes(params, n, 2);
    double group = (double)(2 + params->cost.count) * sizeof(double);
    return (solver > 0 ? solver : rows) + group * (double)training->layout->n;
}

/* How many threads have a group each: some for each thread, so that they end
 * together, or products so small that several threads gain nothing by them. A
 * greedy solver, whose model ends where its memory does, has all there is, and
 * the linear kernel one sum of features, which may be many. */
static size_t crew_size(const struct training *training, size_t groups)
{
    const struct klr_operator *op = training->op;
    const size_t small = (size_t)8 * KLR_TILE;
    size_t n = group_largest(training->multiclass, training->layout);
    size_t threads = klr_pool_size(op->pool);
    double kept = tiles_bytes(&op->tiles);
    double room =
        fmax((double)params_budget(training->params) - kept, params_beside);
    if (groups == 1 || op->groups || training->leave_out ||
        training->params->solver == KLR_SOLVER_GREEDY ||
        (groups < 2 * threads && n > small))
        return 1;
    if (threads > groups)
        threads = groups;
    while (threads > 1 && (double)threads * pair_bytes(training, n) > room)
        threads--;
    return threads;
}

static int worker_create(struct worker *worker, struct crew *crew,
                         struct klr_error *err)
{
    int code = 0;
    worker->training = *crew->training;
    if (crew->count > 1) {
        code = operator_share(&worker->op, crew->training->op, err);
        worker->training.op = &worker->op;
        worker->training.params = &crew->params;
    }
    return code ? code : group_create(&worker->group, crew->training, err);
}

static int crew_create(struct crew *crew, struct klr_error *err)
{
    const struct klr_params *params = crew->training->params;
    size_t costs = params->cost.count;
    crew->groups = group_count(crew->training);
    crew->count = crew_size(crew->training, crew->groups);
    crew->params = *params;
    crew->params.context = crew;
    if (params->progress)
        crew->params.progress = crew_progress;
    int code = KLR_E_MEMORY;
    if (!(crew->worker = klr_zalloc(crew->count, sizeof *crew->worker, err)) ||
        !(crew->report =
              klr_alloc(crew->groups, costs * sizeof *crew->report, err)) ||
        !(crew->scale = klr_zalloc(crew->groups, sizeof *crew->scale, err)))
        return code;
    code = 0;
    for (size_t w = 0; w < crew->count && !code; w++)
        code = worker_create(&crew->worker[w], crew, err);
    return code;
}

static void crew_free(struct crew *crew)
{
    for (size_t w = 0; crew->worker && w < crew->count; w++) {
        operator_free(&crew->worker[w].op);
        group_free(&crew->worker[w].group);
    }
    klr_free(crew->worker);
    klr_free(crew->report);
    klr_free(crew->scale);
}

/* ---- turns ---- */

static int worker_train(struct worker *worker, struct crew *crew, size_t g,
                        struct klr_error *err)
{
    struct training *training = &worker->training;
    struct group *group = &worker->group;
    struct klr_report *report = crew->report + g * group->count;
    training->op->passes = 0;
    training->op->evaluations = 0;
    group_choose(group, training, g);
    int code = group_train(group, training, crew->fold, err);
    if (!code && training->leave_out)
        code = group_leave_out(group, training, err);
    for (size_t t = 0; t < group->count && !code; t++) {
        report_start(&report[t]);
        for (size_t m = 0; m < group->machines; m++) {
            double scale =
                ensemble_keep_one(crew->ensemble, group, m, t, training);
            crew->scale[g] = fmax(crew->scale[g], scale);
            report_add(&report[t], &group->solution[m * group->count + t]);
        }
    }
    report->passes = training->op->passes;
    report->kernel_evals = training->op->evaluations;
    return code;
}

/* The clock is that of all groups which have ended. */
static void crew_turn(struct crew *crew, struct worker *worker, size_t g)
{
    struct clock *clock = &crew->training->clock;
    struct clock *own = &worker->training.clock;
    struct klr_error err;
    pthread_mutex_lock(&crew->lock);
    const struct clock begin = *own = *clock;
    bool go = !crew->code;
    pthread_mutex_unlock(&crew->lock);
    int code = go ? worker_train(worker, crew, g, &err) : 0;
    pthread_mutex_lock(&crew->lock);
    clock->problem += own->problem - begin.problem;
    clock->work += own->work - begin.work;
    clock->interrupted = clock->interrupted || own->interrupted;
    clock->next_report = fmax(clock->next_report, own->next_report);
    if (code && !crew->code) {
        crew->code = code;
        crew->err = err;
    }
    pthread_mutex_unlock(&crew->lock);
}

/* What a worker does: the next group, as long as there is one. */
static void crew_work(void *context, size_t index, size_t thread)
{
    struct crew *crew = context;
    size_t g = 0;
    while ((g = atomic_fetch_add(&crew->begun, 1)) < crew->groups)
        crew_turn(crew, &crew->worker[index], g);
    (void)thread;
}

/* In the order of the groups, whoever had them. */
static void crew_join(const struct crew *crew, double passes,
                      unsigned long long evaluations, struct klr_report *report)
{
    struct klr_operator *op = crew->training->op;
    size_t costs = crew->ensemble->count;
    op->passes = passes;
    op->evaluations = evaluations;
    crew->ensemble->scale = 0;
    for (size_t g = 0; g < crew->groups; g++) {
        const struct klr_report *more = crew->report + g * costs;
        op->passes += more->passes;
        op->evaluations += more->kernel_evals;
        crew->ensemble->scale = fmax(crew->ensemble->scale, crew->scale[g]);
        for (size_t t = 0; t < costs; t++)
            report_join(&report[t], &more[t]);
    }
}

static int ensemble_train(struct ensemble *ensemble, struct training *training,
                          size_t fold, struct klr_report *report,
                          struct klr_error *err)
{
    struct crew crew = {
        .ensemble = ensemble, .training = training, .fold = fold};
    struct klr_operator *op = training->op;
    double passes = op->passes;
    unsigned long long evaluations = op->evaluations;
    op->eager = group_count(training) > 1;
    int code = crew_create(&crew, err);
    if (!code) {
        pthread_mutex_init(&crew.lock, NULL);
        klr_pool_run(crew.count > 1 ? op->pool : NULL, crew.count, crew_work,
                     &crew);
        pthread_mutex_destroy(&crew.lock);
        code = crew.code;
        if (code && err)
            *err = crew.err;
    }
    if (!code)
        crew_join(&crew, passes, evaluations, report);
    crew_free(&crew);
    return code;
}
