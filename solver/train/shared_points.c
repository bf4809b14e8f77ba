/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Points that all pairs of classes share. Pairs have different examples, and so
 * they cannot choose together; machines of one against the rest can, on all
 * examples, and tell the same classes apart. Each pair takes the points among
 * its examples. The choice is made anew without each fold, and without each
 * part that links are fitted on; all pairs come back to it.
 */
#include "solver/train/train.h"

static int shared_points_create(struct training *training,
                                struct klr_error *err)
{
    const struct klr_params *params = training->params;
    const struct partition *partition = training->partition;
    struct klr_arena *arena = &training->arena;
    size_t choices = partition->parts + 1;
    if (!training->system->choose || params->basis <= 0 ||
        machines_are_classes(training->multiclass) || partition->k == 2)
        return 0;
    return KLR_TAKE(arena, training->chosen, choices, partition->n, err) &&
                   KLR_TAKE_ZERO(arena, training->is_chosen, choices, 1, err)
               ? 0
               : KLR_E_MEMORY;
}

/* Machines of the group that tell two classes apart, on the examples it has;
 * returns how many. */
static size_t shared_problems(const struct machine_group *group,
                              struct training *training, struct clock *clock,
                              struct binary_problem *binary)
{
    size_t count = 0;
    for (size_t m = 0; m < group->machines; m++) {
        if (single_class_sign(group, training->params, m) != 0)
            continue;
        binary[count] = group_binary(group, training, m);
        binary[count++].clock = clock;
    }
    return count;
}

/* member (n) of the group's examples become those by position. */
static void shared_keep(const struct machine_group *group, const bool *member,
                        bool *chosen)
{
    for (size_t r = 0; r < group->set.count; r++)
        for (size_t p = group->range[r].begin; p < group->range[r].end; p++)
            chosen[p] = *member++;
}

/* Every class has a point, if it has examples. */
static struct klr_params shared_params(const struct training *training)
{
    struct klr_params params = *training->params;
    size_t k = training->partition->k;
    params.cost = klr_reals_of(params.cost.value[params.cost.count / 2]);
    if ((size_t)params.basis < k)
        params.basis = (long long)k;
    return params;
}

static int shared_points_choose(struct training *training,
                                struct held_out held_out, double *passes,
                                struct klr_error *err)
{
    const struct klr_params params = shared_params(training);
    size_t n = training->partition->n;
    struct training all = *training;
    struct machine_group group = {0};
    *passes = 0;
    if (!training->chosen || training->is_chosen[held_out.part])
        return 0;
    all.params = &params;
    all.multiclass = KLR_OVA;
    all.chosen = NULL;
    all.leave_out = false;
    bool *chosen = training->chosen + held_out.part * n;
    bool *member = klr_zalloc(n, sizeof *member, err);
    struct binary_problem *binary =
        klr_alloc(training->partition->k, sizeof *binary, err);
    int code =
        member && binary ? group_create(&group, &all, err) : KLR_E_MEMORY;
    if (!code) {
        group_choose(&group, &all, 0);
        group_fill(&group, &all, held_out);
        size_t count = shared_problems(&group, &all, &training->clock, binary);
        if (count > 0)
            code = training->system->choose(binary, count, member, passes, err);
        memset(chosen, 0, n * sizeof *chosen);
        shared_keep(&group, member, chosen);
        training->is_chosen[held_out.part] = !code;
    }
    group_free(&group);
    klr_free(member);
    klr_free(binary);
    return code;
}
