/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All machines of a model, for each C, group by group. Pairs of classes do not
 * depend on each other: where that pays, and memory allows for it, threads have
 * a pair each, and share the tiles of K; else one group comes after the other,
 * by all threads. That does not change a result, nor what is counted: as all of
 * K is used by some pair, tiles are computed whole by whoever meets them first.
 */
#include "solver/train/train.h"

static int ensemble_create(struct trained_machines *ensemble,
                           const struct training *training,
                           struct klr_error *err)
{
    struct klr_arena *arena = &ensemble->arena;
    const struct partition *partition = training->partition;
    size_t count = training->params->cost.count;
    memset(ensemble, 0, sizeof *ensemble);
    ensemble->count = count;
    ensemble->machines = machine_count(training->multiclass, partition->k);
    ensemble->columns = machine_columns(training->multiclass, partition->k);
    if (!KLR_TAKE_ZERO(arena, ensemble->coef, partition->n * count,
                       ensemble->columns, err) ||
        !KLR_TAKE(arena, ensemble->rho, count, ensemble->machines, err) ||
        !KLR_TAKE(arena, ensemble->link, count, ensemble->machines, err) ||
        (training->leave_out &&
         !KLR_TAKE_ZERO(arena, ensemble->shift, partition->n * count,
                        ensemble->columns, err)))
        return KLR_E_MEMORY;
    return 0;
}

static void ensemble_free(struct trained_machines *ensemble)
{
    klr_arena_free(&ensemble->arena);
}

static bool ensemble_uses(const struct trained_machines *ensemble,
                          size_t position, size_t t)
{
    size_t columns = ensemble->columns;
    const double *coef =
        ensemble->coef + (position * ensemble->count + t) * columns;
    for (size_t c = 0; c < columns; c++)
        if (coef[c] != 0)
            return true;
    return false;
}

static size_t ensemble_vectors(const struct trained_machines *ensemble,
                               size_t n, size_t t)
{
    size_t count = 0;
    for (size_t p = 0; p < n; p++)
        count += ensemble_uses(ensemble, p, t);
    return count;
}

/* ---- what a group adds ---- */

/* The column of the coefficients of class c in a machine: of a pair that of the
 * other class among the k - 1 others. */
static size_t machine_column(const struct machine_group *group, size_t machine,
                             size_t c)
{
    if (group->machines > 1)
        return machine;
    return c == group->class[0] ? group->class[1] - 1 : group->class[0];
}

/* Returns sum_j beta_j^2 |K_jj|. */
static double ensemble_keep_one(struct trained_machines *ensemble,
                                const struct machine_group *group,
                                size_t machine, size_t t,
                                const struct training *training)
{
    const struct partition *partition = training->partition;
    size_t s = machine * group->count + t;
    const double *beta = group->solution[s].beta;
    const double *shift =
        group->shift ? group->shift + s * group->stride : NULL;
    double scale = 0;
    size_t c = 0;
    for (size_t r = 0; r < group->set.count; r++) {
        struct klr_range range = group->range[r];
        while (partition_begin(partition, c + 1) <= range.begin)
            c++;
        size_t column = machine_column(group, machine, c);
        for (size_t p = range.begin; p < range.end; p++, beta++) {
            size_t at = (p * ensemble->count + t) * ensemble->columns + column;
            ensemble->coef[at] = *beta + 0.0; /* 0 for -0, as a log has it */
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

/* ---- members ---- */

struct member {
    struct klr_operator op; /* shares tiles, where others work beside it */
    struct training training;
    struct machine_group group;
};

struct machine_team {
    struct team team; /* a unit is a group; its lock is of the clock, too */
    struct trained_machines *ensemble;
    struct training *training;
    size_t fold, count;
    struct member *member; /* (count) */
    struct klr_params params;
    struct klr_report *report; /* (units, values of C) what groups add */
    double *scale;             /* (units) max over machines and C */
    struct klr_arena arena;    /* all that is allocated */
};

static int members_progress(const struct klr_progress *now, void *context)
{
    struct team *team = context;
    pthread_mutex_lock(&team->lock);
    bool stopped = team_tell(team, now);
    pthread_mutex_unlock(&team->lock);
    return stopped;
}

/* The bytes of a pair beside the tiles that all share: its solver, or a cache
 * of all rows; a group; and the workspace of a thread, some 0.5 MB. */
static double pair_bytes(const struct training *training, size_t n)
{
    const struct klr_params *params = training->params;
    double rows = (double)n * (double)n * sizeof(double);
    double solver = solver_bytes(params, n, 2);
    double group = (double)(2 + params->cost.count) * sizeof(double);
    double work = 0x1p19 + (double)klr_gram_workspace(training->op->points);
    return (solver > 0 ? solver : rows) +
           group * (double)training->partition->n + work;
}

/* How many threads have a group each: if there are some groups for each thread,
 * so that threads end together, or if products are so small that several
 * threads gain nothing by them. The linear kernel has one sum of features,
 * which may be many. */
static size_t members_wanted(const struct training *training, size_t groups)
{
    const struct klr_operator *op = training->op;
    const size_t small = (size_t)8 * KLR_TILE;
    size_t n = group_largest(training->multiclass, training->partition);
    size_t threads = klr_pool_size(op->pool);
    double kept = tiles_bytes(&op->tiles);
    double room =
        fmax((double)params_budget(training->params) - kept, params_beside) -
        training->taken;
    if (groups == 1 || op->groups || training->leave_out ||
        system_works_alone(training->system) ||
        (groups < 2 * threads && n > small))
        return 1;
    if (threads > groups)
        threads = groups;
    while (threads > 1 && (double)threads * pair_bytes(training, n) > room)
        threads--;
    return threads;
}

/* ---- tasks ---- */

/* Solve it, unless the journal recalls it. */
static int member_solve(struct member *member, struct machine_team *team,
                        bool *recalled, struct klr_error *err)
{
    struct training *training = &member->training;
    struct machine_group *group = &member->group;
    pthread_mutex_lock(&team->team.lock);
    int code = pair_recall(group, training, recalled, err);
    pthread_mutex_unlock(&team->team.lock);
    if (!code && !*recalled)
        code = group_train(group, training, team->fold, err);
    if (!code && training->leave_out &&
        training->system->leave_out == LEAVE_OUT_KERNELS)
        code = group_leave_out(group, training, err);
    return code;
}

static int member_train(struct member *member, struct machine_team *team,
                        size_t unit, struct klr_error *err)
{
    struct training *training = &member->training;
    struct machine_group *group = &member->group;
    struct klr_report *report = team->report + unit * group->count;
    size_t only = training_only_pair(training);
    bool recalled;
    training->op->passes = 0;
    training->op->evaluations = 0;
    group_choose(group, training, only ? only - 1 : unit);
    int code = member_solve(member, team, &recalled, err);
    for (size_t t = 0; t < group->count && !code; t++) {
        report_start(&report[t]);
        for (size_t m = 0; m < group->machines; m++) {
            double scale =
                ensemble_keep_one(team->ensemble, group, m, t, training);
            team->scale[unit] = fmax(team->scale[unit], scale);
            report_add(&report[t], group, training, team->fold,
                       m * group->count + t);
        }
    }
    if (!code && !recalled) {
        pthread_mutex_lock(&team->team.lock);
        code = pair_keep(group, training, report, err);
        pthread_mutex_unlock(&team->team.lock);
    }
    report->passes = training->op->passes;
    report->kernel_evals = training->op->evaluations;
    return code;
}

/* A unit of the team, a group, or the only one. The clock is that of all groups
 * which have ended. */
static int member_group(void *context, size_t g, size_t index,
                        struct klr_error *err)
{
    struct machine_team *team = context;
    struct member *member = &team->member[index];
    struct clock *clock = &team->training->clock;
    struct clock *own = &member->training.clock;
    pthread_mutex_lock(&team->team.lock);
    const struct clock begin = *own = *clock;
    pthread_mutex_unlock(&team->team.lock);
    clock_watch(own, member->training.params, member->training.op->pool);
    int code = member_train(member, team, g, err);
    pthread_mutex_lock(&team->team.lock);
    clock->problem += own->problem - begin.problem;
    clock->work += own->work - begin.work;
    if (own->status == KLR_INTERRUPTED)
        clock->status = KLR_INTERRUPTED;
    clock->next_report = fmax(clock->next_report, own->next_report);
    pthread_mutex_unlock(&team->team.lock);
    return code;
}

/* ---- all of them ---- */

static int member_create(struct member *member, struct machine_team *team,
                         struct klr_error *err)
{
    int code = 0;
    member->training = *team->training;
    if (team->count > 1) {
        code = operator_share(&member->op, team->training->op, err);
        member->training.op = &member->op;
        member->training.params = &team->params;
    }
    return code ? code : group_create(&member->group, team->training, err);
}

static int machine_team_create(struct machine_team *team, struct klr_error *err)
{
    struct klr_arena *arena = &team->arena;
    const struct klr_params *params = team->training->params;
    size_t costs = params->cost.count;
    size_t units =
        training_only_pair(team->training) ? 1 : group_count(team->training);
    team->team = (struct team){.params = params,
                               .units = units,
                               .unit = member_group,
                               .context = team};
    team->count = members_wanted(team->training, units);
    team->params = *params;
    team->params.context = &team->team;
    if (params->progress)
        team->params.progress = members_progress;
    int code = KLR_E_MEMORY;
    if (!KLR_TAKE_ZERO(arena, team->member, team->count, 1, err) ||
        !KLR_TAKE(arena, team->report, units, costs, err) ||
        !KLR_TAKE_ZERO(arena, team->scale, units, 1, err))
        return code;
    code = 0;
    for (size_t w = 0; w < team->count && !code; w++)
        code = member_create(&team->member[w], team, err);
    return code;
}

static void machine_team_free(struct machine_team *team)
{
    for (size_t w = 0; team->member && w < team->count; w++) {
        operator_free(&team->member[w].op);
        group_free(&team->member[w].group);
    }
    klr_arena_free(&team->arena);
}

/* In the order of the groups, whoever had them. */
static void machine_team_join(const struct machine_team *team, double passes,
                              unsigned long long evaluations,
                              struct klr_report *report)
{
    struct klr_operator *op = team->training->op;
    size_t costs = team->ensemble->count;
    op->passes = passes;
    op->evaluations = evaluations;
    team->ensemble->scale = 0;
    for (size_t g = 0; g < team->team.units; g++) {
        const struct klr_report *more = team->report + g * costs;
        op->passes += more->passes;
        op->evaluations += more->kernel_evals;
        team->ensemble->scale = fmax(team->ensemble->scale, team->scale[g]);
        for (size_t t = 0; t < costs; t++)
            report_join(&report[t], &more[t]);
    }
}

static int ensemble_train(struct trained_machines *ensemble,
                          struct training *training, size_t fold,
                          struct klr_report *report, struct klr_error *err)
{
    struct machine_team team = {
        .ensemble = ensemble, .training = training, .fold = fold};
    struct klr_operator *op = training->op;
    double passes = op->passes;
    unsigned long long evaluations = op->evaluations;
    op->fill_whole_tiles = group_count(training) > 1 &&
                           !training_only_pair(training) &&
                           !system_works_alone(training->system);
    int code = machine_team_create(&team, err);
    if (!code) {
        clock_leave(op->pool); /* members have clocks of their own */
        code = team_run(&team.team, team.count > 1 ? op->pool : NULL,
                        team.count, err);
    }
    clock_watch(&training->clock, training->params, op->pool);
    if (!code)
        machine_team_join(&team, passes, evaluations, report);
    machine_team_free(&team);
    return code;
}
