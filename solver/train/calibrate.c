/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Training with links. Those that are fitted need decision values of examples
 * that the machine was not trained on: each part of the training set is decided
 * by machines trained on the other parts, on the same operator, after the
 * machine itself has been trained on all of it.
 */
#include "solver/train/train.h"

static bool link_is_fitted(int link)
{
    return link == KLR_LINK_FITTED || link == KLR_LINK_PLATT ||
           link == KLR_LINK_CHECKED || link == KLR_LINK_GAUSSIAN;
}

static size_t calibration_parts(const struct klr_params *params)
{
    return link_is_fitted(params->link) &&
                   params->calibration != KLR_CALIBRATION_TRAINING
               ? CALIBRATION_PARTS
               : 1;
}

static size_t calibration_solves(const struct klr_params *params)
{
    size_t parts = calibration_parts(params);
    if (parts == 1)
        return 0;
    return params->calibration == KLR_CALIBRATION_CV ? parts : 1;
}

/* A fit of two parameters to m examples adds about 1 / m to the mean log loss,
 * much the same at all points. */
static void calibration_compare(struct klr_params *params,
                                const struct partition *partition)
{
    const double enough = 1000; /* examples of a pair of classes in a part */
    double folds = (double)partition->folds, k = (double)partition->k;
    double kept = (double)partition->examples * (1 - 1 / folds);
    if (calibration_solves(params) > 1 &&
        2 / k * kept / CALIBRATION_PARTS >= enough)
        params->calibration = KLR_CALIBRATION_HOLDOUT;
}

/* ---- Weights of classes ---- */

/* Training and fits see each class as often as its weight says. That adds
 * log(w_a / w_b) to the log-odds of class a against b, and log w_c to the score
 * of class c among all: the excess, which z is to lose. */
static double group_excess(const struct machine_group *group,
                           const struct training *training, size_t machine)
{
    const double *weight = training->class_weight;
    if (!training->params->prior_correct)
        return 0;
    if (training->multiclass == KLR_SOFTMAX)
        return log(weight[group->class[machine]]);
    return log(weight[group->class[0]]) - log(weight[group->class[1]]);
}

/* ---- Decision values of a group ---- */

/* values (held.size, machines, count), which are the caller's in any case. */
static int group_values(const struct machine_group *group,
                        struct training *training, struct klr_set held,
                        double **values, struct klr_error *err)
{
    size_t n = group->set.size, m = group->machines * group->count;
    double *v = klr_alloc(n * m, sizeof *v, err), scale = 0;
    double *out = *values = klr_alloc(held.size * m, sizeof *out, err);
    int code = v && out ? 0 : KLR_E_MEMORY;
    for (size_t s = 0; s < m && !code; s++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            double beta = v[i * m + s] = group->solution[s].beta[i];
            sum += beta * beta;
        }
        scale = fmax(scale, sum * training->most);
    }
    bool whole = true;
    if (!code && held.size > 0)
        code = operator_apply_sparse(training->op, held, group->set, v, m,
                                     training_precision(training, scale), out,
                                     &whole, err);
    if (!code && !whole)
        memset(out, 0, held.size * m * sizeof *out); /* cut: of no use */
    for (size_t i = 0; i < held.size * m && !code; i++)
        out[i] -= group->solution[i % m].rho;
    klr_free(v);
    return code;
}

static int group_decide(const struct machine_group *group,
                        struct training *training, struct klr_set held,
                        double *output, struct klr_error *err)
{
    size_t size = group->machines * group->count * sizeof *output;
    double *values;
    int code = group_values(group, training, held, &values, err);
    const char *from = (const char *)values;
    for (size_t r = 0; r < held.count && !code; r++) {
        struct klr_range range = held.range[r];
        size_t bytes = (range.end - range.begin) * size;
        memcpy((char *)output + range.begin * size, from, bytes);
        from += bytes;
    }
    klr_free(values);
    return code;
}

/* mean (machines, count) of the values of a set. */
static int group_means(const struct machine_group *group,
                       struct training *training, struct klr_set set,
                       double *mean, struct klr_error *err)
{
    size_t m = group->machines * group->count;
    double *values;
    int code = group_values(group, training, set, &values, err);
    memset(mean, 0, m * sizeof *mean);
    for (size_t i = 0; i < set.size * m && !code; i++)
        mean[i % m] += values[i] / (double)set.size;
    klr_free(values);
    return code;
}

/* ---- Calibration ---- */

/* The group's examples that are held out, their ranges in `range`. */
static struct klr_set group_held(const struct machine_group *group,
                                 const struct partition *partition,
                                 struct held_out held_out,
                                 struct klr_range *range)
{
    size_t count = 0;
    for (size_t j = 0; j < group->classes; j++)
        partition_held(partition, group->class[j], held_out, range, &count);
    return set_of(range, count);
}

/* Workspace of group_train_fitted. */
struct fitting {
    struct klr_range *range;   /* (k (folds + 1)) */
    double *output;            /* (n, machines, count) */
    double *side;              /* (SIDES_ARRAYS, n) */
    double *beta;              /* (machines, count, n) of */
    struct solution *solution; /* (machines, count) without a part */
    double *level;  /* (parts, machines, count) by how much the mean decision
                      value of what a part is trained on is higher by its
                      solutions; NaN: that is one class, and its values tell
                      nothing */
    size_t decided; /* parts; 0: by the group's own solutions */
    bool cut;       /* not even by these */
    enum klr_status status; /* the gravest of theirs */
    struct klr_arena arena; /* all that is allocated */
};

static int fitting_create(struct fitting *f, const struct machine_group *group,
                          const struct partition *partition,
                          struct klr_error *err)
{
    struct klr_arena *arena = &f->arena;
    size_t n = partition->n, m = group->machines * group->count;
    *f = (struct fitting){0};
    if (!KLR_TAKE(arena, f->range, partition->k, partition->folds + 1, err) ||
        !KLR_TAKE(arena, f->output, n, m, err) ||
        !KLR_TAKE(arena, f->side, n, SIDES_ARRAYS, err) ||
        !KLR_TAKE_ZERO(arena, f->level, partition->parts, m, err) ||
        !KLR_TAKE(arena, f->beta, n, m, err) ||
        !KLR_TAKE_ZERO(arena, f->solution, m, 1, err))
        return KLR_E_MEMORY;
    for (size_t s = 0; s < m; s++)
        f->solution[s].beta = f->beta + s * n;
    return 0;
}

/* A few of the examples that a training has. */
static struct klr_set group_sample(const struct machine_group *group,
                                   const struct partition *partition,
                                   struct held_out held_out,
                                   struct klr_range *range)
{
    size_t count = 0;
    for (size_t j = 0; j < group->classes; j++)
        partition_kept(partition, group->class[j], held_out, range, &count);
    count = count < CALIBRATION_SAMPLE ? count : CALIBRATION_SAMPLE;
    for (size_t r = 0; r < count; r++)
        if (range[r].end - range[r].begin > CALIBRATION_SAMPLE / count)
            range[r].end = range[r].begin + CALIBRATION_SAMPLE / count;
    return set_of(range, count);
}

/* The decision values of a part, by solutions without it, if there is time.
 * Notes of these solutions are noted of the group's own. */
static int group_decide_part(struct machine_group *group,
                             struct training *training,
                             struct held_out held_out, struct fitting *f,
                             struct solution *own, struct klr_error *err)
{
    const struct klr_params *params = training->params;
    enum klr_status over = clock_status(&training->clock, params);
    int code = over ? 0 : group_solve(group, training, held_out, err);
    for (size_t s = 0; !code && s < group->machines * group->count; s++) {
        f->status = gravest(f->status, group->solution[s].status);
        if (!over && group->solution[s].note != KLR_NOTE_NONE)
            own[s].link_note = group->solution[s].note;
    }
    clock_between(&training->clock, "links");
    over = gravest(over, clock_status(&training->clock, params));
    f->status = gravest(f->status, over);
    if (code || over)
        return code;
    code =
        group_decide(group, training,
                     group_held(group, training->partition, held_out, f->range),
                     f->output, err);
    f->decided += !clock_stopped(&training->clock);
    return code;
}

/* The level of a part, of which f->level has the means by the group's own
 * solutions. */
static int group_raise(struct machine_group *group, struct training *training,
                       struct held_out held_out, struct fitting *f,
                       struct klr_error *err)
{
    size_t m = group->machines * group->count;
    double *level = f->level + held_out.part * m, *mean = f->side;
    struct klr_set sample =
        group_sample(group, training->partition, held_out, f->range);
    int code = group_means(group, training, sample, mean, err);
    for (size_t s = 0; s < m && !code; s++) {
        size_t machine = s / group->count;
        level[s] = single_class_sign(group, training->params, machine) != 0
                       ? (double)NAN
                       : mean[s] - level[s];
    }
    return code;
}

/* Decide the examples of each part; without parts, the group's solutions decide
 * their own examples. If parts are cut off, their status becomes that of all
 * links. */
static int group_decide_fitted(struct machine_group *group,
                               struct training *training, size_t fold,
                               struct fitting *f, struct klr_error *err)
{
    size_t m = group->machines * group->count;
    size_t parts = calibration_solves(training->params);
    struct solution *own = group->solution;
    int code = 0;
    for (size_t p = 0; p < parts && !code; p++)
        code = group_means(group, training,
                           group_sample(group, training->partition,
                                        (struct held_out){fold, p}, f->range),
                           f->level + p * m, err);
    group->solution = f->solution;
    for (size_t p = 0; p < parts && f->decided == p && !code; p++) {
        struct held_out held_out = {fold, p};
        code = group_decide_part(group, training, held_out, f, own, err);
        if (!code && f->decided > p)
            code = group_raise(group, training, held_out, f, err);
    }
    group->solution = own;
    group_fill(group, training,
               (struct held_out){fold, training->partition->parts});
    clock_between(&training->clock, "links");
    if (!code && f->decided == 0)
        code = group_decide(group, training, group->set, f->output, err);
    f->cut = f->decided == 0 && clock_stopped(&training->clock);
    f->status = gravest(f->status, training->clock.status);
    for (size_t s = 0; s < m; s++)
        own[s].link_status =
            f->status >= KLR_TIME_LIMIT ? f->status : KLR_CONVERGED;
    return code;
}

/* The examples of a set, to the sides of solution s. */
static void sides_add(struct sides *sides, const struct machine_group *group,
                      const struct training *training, struct klr_set set,
                      size_t s, const double *output, double level)
{
    size_t m = group->machines * group->count, c = 0;
    for (size_t r = 0; r < set.count; r++) {
        struct klr_range range = set.range[r];
        while (partition_begin(training->partition, c + 1) <= range.begin)
            c++;
        for (size_t p = range.begin; p < range.end; p++) {
            size_t i = sides->n++;
            sides->f[i] = output[p * m + s];
            sides->aligned[i] = sides->f[i] - level;
            sides->y[i] = group_sign(group, s / group->count, c);
            sides->weight[i] = training->weight[p];
        }
    }
}

/* Fit the links to the decision values of parts, or of all; without any,
 * decision values stand for themselves. A machine that is the shares of its
 * sides has no use for values. */
static void group_fit(struct machine_group *group,
                      const struct training *training, size_t fold,
                      const struct fitting *f)
{
    size_t m = group->machines * group->count, n = group->set.size;
    for (size_t s = 0; s < m; s++) {
        size_t machine = s / group->count;
        bool shares = group->solution[s].note != KLR_NOTE_NONE;
        double size[2], square = 0;
        struct sides sides = {
            0, f->side, f->side + n, f->side + 2 * n, f->side + 3 * n, 0};
        if (f->decided == 0 && !shares)
            sides_add(&sides, group, training, group->set, s, f->output, 0);
        for (size_t p = 0; p < f->decided && !shares; p++) {
            double level = f->level[p * m + s];
            struct held_out held_out = {fold, p};
            if (isnan(level))
                continue;
            sides_add(
                &sides, group, training,
                group_held(group, training->partition, held_out, f->range), s,
                f->output, level);
            square += level * level / (double)f->decided;
        }
        sides.shift = sqrt(square);
        group_sizes(group, machine, size);
        group->link[s] = f->cut
                             ? link_neutral(link_form(training->params))
                             : link_fit(training->params, &sides, size,
                                        group_excess(group, training, machine));
    }
}

/* The machines first: if the time is too short for all, it is better spent on
 * them. */
static int group_train_fitted(struct machine_group *group,
                              struct training *training, size_t fold,
                              struct klr_error *err)
{
    struct held_out held_out = {fold, training->partition->parts};
    struct fitting f;
    int code = fitting_create(&f, group, training->partition, err);
    if (!code)
        code = group_solve(group, training, held_out, err);
    if (!code)
        code = group_decide_fitted(group, training, fold, &f, err);
    if (!code)
        group_fit(group, training, fold, &f);
    klr_arena_free(&f.arena);
    return code;
}

static int group_train(struct machine_group *group, struct training *training,
                       size_t fold, struct klr_error *err)
{
    const struct klr_params *params = training->params;
    if (link_is_fitted(params->link))
        return group_train_fitted(group, training, fold, err);
    for (size_t s = 0; s < group->machines * group->count; s++)
        group->link[s] =
            link_of_loss(params, params->cost.value[s % group->count],
                         group_excess(group, training, s / group->count));
    struct held_out held_out = {fold, training->partition->parts};
    return group_solve(group, training, held_out, err);
}
