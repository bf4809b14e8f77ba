/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several classes as binary problems, here called machines: one for each pair
 * of classes (a, b), a before b in the model's order, y = +1 for a; or one for
 * each class, y = +1, against all the others. Two classes are one pair.
 *
 * Machines that work on the same examples form a group and are solved together:
 * a pair is a group of its own, the machines of one against the rest are one
 * group, and so are those of a softmax, which are one problem together. All
 * share one operator. A machine is solved for all values of C in one go.
 */
#include "solver/train/train.h"

/* ---- What all machines share ---- */

/* Refuse options that the number of classes rules out. */
static int check_classes(const struct klr_params *params, size_t k,
                         struct klr_error *err)
{
    if (!isnan(params->prior) && k > 2)
        return klr_fail(err, KLR_E_USAGE,
                        "option --prior: the data have %zu classes, not two",
                        k);
    if (params->prior_correct && multiclass_of(params, k) == KLR_OVA)
        return klr_fail(err, KLR_E_USAGE,
                        "option --prior-correct: a rest of several classes "
                        "has no weight; ovo, ddag and softmax have no rest");
    return 0;
}

/* The pairs of classes with n_c examples have sum (n_a + n_b)^2 = (k - 2)
 * sum n_c^2 + n^2. */
static double training_work(const struct training *training)
{
    const struct partition *partition = training->partition;
    double n = (double)partition->n, k = (double)partition->k, squares = 0;
    double parts = (double)calibration_parts(training->params);
    double kept = 1 - 1 / (double)partition->folds, left = 1 - 1 / parts;
    size_t a, b, only = training_only_pair(training);
    for (size_t c = 0; c < partition->k; c++)
        squares += pow((double)partition_size(partition, c), 2);
    double work = machines_are_classes(training->multiclass)
                      ? k * n * n
                      : (k - 2) * squares + n * n;
    if (only > 0) {
        pair_classes(partition->k, only - 1, &a, &b);
        n = (double)partition_size(partition, a) +
            (double)partition_size(partition, b);
        work = n * n;
    }
    if (partition->folds > 1)
        work *= (double)partition->folds * kept * kept;
    return work *
           (1 + (double)calibration_solves(training->params) * left * left);
}

/* By position. */
static int given_points(struct training *training, struct klr_error *err)
{
    const struct klr_params *params = training->params;
    const struct partition *partition = training->partition;
    size_t n = partition->examples;
    bool *row = klr_zalloc(n, sizeof *row, err);
    KLR_TAKE(&training->arena, training->given, partition->n, 1, err);
    int code = row && training->given ? 0 : KLR_E_MEMORY;
    for (size_t i = 0; i < params->n_points && !code; i++) {
        if (params->points[i] >= n)
            code = klr_fail(err, KLR_E_USAGE,
                            "option --points: there is no example %zu of %zu",
                            params->points[i] + 1, n);
        else
            row[params->points[i]] = true;
    }
    for (size_t p = 0; p < partition->n && !code; p++) {
        const size_t *rows;
        size_t count = partition_rows(partition, p, &rows);
        training->given[p] = false;
        for (size_t i = 0; i < count; i++)
            training->given[p] |= row[rows[i]];
    }
    klr_free(row);
    return code;
}

static int training_create(struct training *training, struct klr_operator *op,
                           const struct klr_params *params,
                           const struct partition *partition,
                           struct klr_error *err)
{
    struct klr_arena *arena = &training->arena;
    struct klr_range all = {0, partition->n};
    training->params = params;
    training->system = system_of(params, err);
    training->partition = partition;
    training->op = op;
    training->multiclass = multiclass_of(params, partition->k);
    if (!training->system)
        return KLR_E_USAGE;
    int code = check_classes(params, partition->k, err);
    if (!code)
        code = pair_check(training, err);
    if (code)
        return code;
    if (!KLR_TAKE(arena, training->class_weight, partition->k, 1, err) ||
        !KLR_TAKE(arena, training->weight, partition->n, 1, err) ||
        !KLR_TAKE(arena, training->diagonal, partition->n, 1, err))
        return KLR_E_MEMORY;
    operator_diagonal(op, set_of(&all, 1), training->diagonal);
    for (size_t i = 0; i < partition->n; i++)
        training->most = fmax(training->most, fabs(training->diagonal[i]));
    size_t machines = training_only_pair(training)
                          ? 1
                          : machine_count(training->multiclass, partition->k);
    clock_start(&training->clock,
                machines * partition->folds * (calibration_solves(params) + 1));
    if (training->multiclass == KLR_SOFTMAX)
        training->clock.unit = partition->k;
    training->clock.span = training_work(training);
    if (!params->loo)
        training->clock.total = training->clock.span;
    clock_watch(&training->clock, params, op->pool);
    code = training_find_dent(training, err);
    if (!code)
        code = class_weights(params, partition, training->class_weight, err);
    if (!code && params->n_points)
        code = given_points(training, err);
    else if (!code)
        code = shared_points_create(training, err);
    return code ? code
                : example_weights(params, partition, training->class_weight,
                                  training->weight, err);
}

static void training_free(struct training *training)
{
    clock_leave(training->op ? training->op->pool : NULL);
    klr_arena_free(&training->arena);
}

/* Float entries err by some 2^-22 sqrt(K_ii K_jj), independently of each other,
 * hence a decision value by 2^-22 sqrt(K_ii sum_j beta_j^2 K_jj). That must be
 * less than what solvers leave undecided, and than what the metrics show. */
static enum klr_precision training_precision(const struct training *training,
                                             double scale)
{
    double allowed = fmin(1e-5, 10 * training->params->eps);
    return ldexp(sqrt(training->most * scale), -22) <= allowed ? KLR_FLOAT
                                                               : KLR_DOUBLE;
}

/* ---- Groups ---- */

static size_t group_machines(enum klr_multiclass multiclass, size_t k)
{
    return machines_are_classes(multiclass) ? k : 1;
}

/* The largest pair is that of the two largest classes. */
static size_t group_largest(enum klr_multiclass multiclass,
                            const struct partition *partition)
{
    size_t first = 0, second = 0;
    if (machines_are_classes(multiclass))
        return partition->n;
    for (size_t c = 0; c < partition->k; c++) {
        size_t size = partition_size(partition, c);
        if (size > first) {
            second = first;
            first = size;
        } else if (size > second) {
            second = size;
        }
    }
    return first + second;
}

static size_t group_count(const struct training *training)
{
    size_t k = training->partition->k;
    return machine_count(training->multiclass, k) /
           group_machines(training->multiclass, k);
}

static int group_create(struct machine_group *group,
                        const struct training *training, struct klr_error *err)
{
    struct klr_arena *arena = &group->arena;
    const struct partition *partition = training->partition;
    size_t n = partition->n, k = partition->k;
    memset(group, 0, sizeof *group);
    group->machines = group_machines(training->multiclass, k);
    group->count = training->params->cost.count;
    group->stride = n;
    size_t solutions = group->machines * group->count;
    if (!KLR_TAKE(arena, group->class, k, 1, err) ||
        !KLR_TAKE(arena, group->range, k, partition->folds + 1, err) ||
        !KLR_TAKE(arena, group->y, n, group->machines, err) ||
        !KLR_TAKE(arena, group->weight, n, 1, err) ||
        ((training->given || training->chosen) &&
         !KLR_TAKE(arena, group->given, n, 1, err)) ||
        !KLR_TAKE(arena, group->beta, n, solutions, err) ||
        !KLR_TAKE_ZERO(arena, group->solution, solutions, 1, err) ||
        !KLR_TAKE_ZERO(arena, group->link, solutions, 1, err) ||
        (training->leave_out &&
         !KLR_TAKE(arena, group->shift, n, solutions, err)))
        return KLR_E_MEMORY;
    for (size_t s = 0; s < solutions; s++)
        group->solution[s].beta = group->beta + s * n;
    return 0;
}

static void group_free(struct machine_group *group)
{
    klr_arena_free(&group->arena);
}

/* Work on the g-th group of the model. */
static void group_choose(struct machine_group *group,
                         const struct training *training, size_t g)
{
    size_t k = training->partition->k;
    bool all = machines_are_classes(training->multiclass);
    group->first = all ? 0 : g;
    group->classes = all ? k : 2;
    if (all)
        for (size_t c = 0; c < k; c++)
            group->class[c] = c;
    else
        pair_classes(k, g, group->class, group->class + 1);
}

static double group_sign(const struct machine_group *group, size_t machine,
                         size_t c)
{
    return c == group->class[machine] ? 1 : -1;
}

static void group_fill(struct machine_group *group,
                       const struct training *training,
                       struct held_out held_out)
{
    const bool *given = training->given;
    size_t count = 0, n = 0;
    bool any = false;
    if (training->chosen)
        given = training->chosen + held_out.part * training->partition->n;
    for (size_t j = 0; j < group->classes; j++) {
        size_t c = group->class[j], r = count;
        partition_kept(training->partition, c, held_out, group->range, &count);
        for (; r < count; r++)
            for (size_t p = group->range[r].begin; p < group->range[r].end;
                 p++, n++) {
                group->weight[n] = training->weight[p];
                if (given) {
                    group->given[n] = given[p];
                    any = any || given[p];
                }
                for (size_t m = 0; m < group->machines; m++)
                    group->y[m * group->stride + n] = group_sign(group, m, c);
            }
    }
    group->set = set_of(group->range, count);
    if (training->chosen && n > 0 && !any)
        group->given[0] = true; /* others have the kernels of all there is */
}

static double single_class_sign(const struct machine_group *group,
                                const struct klr_params *params, size_t machine)
{
    const double *y = group->y + machine * group->stride;
    if (group->set.size == 0)
        return 1;
    if (params->no_bias)
        return 0;
    for (size_t i = 1; i < group->set.size; i++)
        if (y[i] != y[0])
            return 0;
    return y[0];
}

/* With one class alone no finite threshold is optimal: the answer is the rule
 * of succession, (n + 1) : 1 for that class. */
static void single_class_solution(struct machine_group *group,
                                  const struct partition *partition,
                                  size_t machine, double sign, int link)
{
    size_t n = 0;
    for (size_t r = 0; r < group->set.count; r++)
        n += partition_examples(partition, group->set.range[r]);
    for (size_t t = 0; t < group->count; t++) {
        size_t s = machine * group->count + t;
        double *beta = group->solution[s].beta;
        memset(beta, 0, group->set.size * sizeof *beta);
        if (group->solution[s].shift)
            memset(group->solution[s].shift, 0, group->set.size * sizeof *beta);
        group->solution[s] = (struct solution){
            .beta = beta,
            .rho = -sign * log((double)n + 1),
            .fall = NAN,
        };
        group->link[s] = link_neutral(link);
    }
}

static void group_sizes(const struct machine_group *group, size_t machine,
                        double size[2])
{
    const double *y = group->y + machine * group->stride;
    size[0] = size[1] = 0;
    for (size_t i = 0; i < group->set.size; i++)
        size[y[i] > 0] += group->weight[i];
}

/* True if points are given, but none of the examples is one. */
static bool group_lacks_points(const struct machine_group *group)
{
    size_t n = group->set.size, i = 0;
    while (group->given && i < n && !group->given[i])
        i++;
    return group->given && n > 0 && i == n;
}

/* Without a kernel only a threshold is left: the log-odds of the shares, or of
 * a softmax the logarithm of one. */
static void shares_solution(struct machine_group *group,
                            const struct training *training, size_t machine)
{
    double size[2];
    group_sizes(group, machine, size);
    if (training->multiclass == KLR_SOFTMAX)
        size[0] += size[1];
    double rho = log(size[0]) - log(size[1]);
    for (size_t t = 0; t < group->count; t++) {
        struct solution *solution =
            &group->solution[machine * group->count + t];
        *solution = (struct solution){
            .beta = solution->beta,
            .shift = solution->shift,
            .rho = training->params->no_bias ? 0 : rho,
            .fall = NAN,
            .lambda_bound = -INFINITY,
            .note = KLR_NOTE_POINTS,
        };
        memset(solution->beta, 0, group->set.size * sizeof(double));
        if (solution->shift)
            memset(solution->shift, 0, group->set.size * sizeof(double));
    }
}

/* The solution of a machine that leaves nothing to a solver; false: of others.
 */
static bool constant_solution(struct machine_group *group,
                              struct training *training, size_t machine)
{
    const struct klr_params *params = training->params;
    double sign = single_class_sign(group, params, machine);
    bool lacks_points = group_lacks_points(group);
    if (sign != 0)
        single_class_solution(group, training->partition, machine, sign,
                              link_form(params));
    else if (lacks_points)
        shares_solution(group, training, machine);
    else
        return false;
    clock_next(&training->clock, 1, group->set.size);
    return true;
}

/* A discriminant weighs its regularizer by 1 / C. */
static int system_overflows(const struct system *system, double cost,
                            struct klr_error *err)
{
    bool reciprocal = system->model == KLR_MODEL_KFD && cost < 1;
    return klr_fail(err, KLR_E_DATA,
                    "the objective overflows at C = %g: scale the features, or "
                    "choose a %s -c or %s weights",
                    cost, reciprocal ? "larger" : "smaller",
                    reciprocal ? "larger" : "smaller");
}

/* Add the bound of lambda to the solutions of a problem, for each C, and check
 * that they are finite. */
static int system_finish(const struct training *training,
                         const struct binary_problem *binary,
                         struct solution *solution, struct klr_error *err)
{
    const struct klr_params *params = training->params;
    const struct system *system = training->system;
    int code = 0;
    if (params->lambda_bound && binary->whole)
        code = lambda_bound(binary, system->solve, solution, err);
    for (size_t t = 0; !code && t < params->cost.count; t++)
        if ((!isfinite(solution[t].primal) &&
             solution[t].status < KLR_TIME_LIMIT) ||
            !isfinite(solution[t].rho))
            code = system_overflows(system, params->cost.value[t], err);
        else
            dent_judge(training, binary, params->cost.value[t], &solution[t]);
    return code;
}

/* How machines of a group are solved together, or NULL. */
static solve_all_fn *system_together(const struct training *training)
{
    const struct system *system = training->system;
    return training->multiclass == KLR_SOFTMAX ? system->softmax
                                               : system->solve_all;
}

/* `count` binary problems on the same examples, for each C. */
static int system_solve(const struct training *training,
                        const struct binary_problem *binary,
                        struct solution **solution, size_t count,
                        struct klr_error *err)
{
    const struct system *system = training->system;
    solve_all_fn *solve_all = system_together(training);
    size_t together = solve_all ? count : 1;
    int code = 0;
    for (size_t m = 0; m < count && !code; m += together) {
        clock_next(binary->clock, together, binary->n);
        code = solve_all ? solve_all(binary, count, solution, err)
                         : system->solve(&binary[m], solution[m], err);
        for (size_t i = m; i < m + together && !code; i++)
            code = system_finish(training, &binary[i], solution[i], err);
    }
    return code;
}

/* Where the solver is to put the shift of solution s. */
static double *group_shift(const struct machine_group *group,
                           const struct training *training, size_t s)
{
    return group->shift && training->system->leave_out == LEAVE_OUT_SOLVER
               ? group->shift + s * group->stride
               : NULL;
}

static struct binary_problem group_binary(const struct machine_group *group,
                                          struct training *training,
                                          size_t machine)
{
    return (struct binary_problem){
        .op = training->op,
        .set = group->set,
        .n = group->set.size,
        .y = group->y + machine * group->stride,
        .weight = group->weight,
        .given = group->given,
        .params = training->params,
        .clock = &training->clock,
    };
}

static int group_solve(struct machine_group *group, struct training *training,
                       struct held_out held_out, struct klr_error *err)
{
    struct binary_problem *binary =
        klr_alloc(group->machines, sizeof *binary, err);
    struct solution **solution =
        klr_alloc(group->machines, sizeof *solution, err);
    size_t count = 0;
    double passes;
    int code = KLR_E_MEMORY;
    if (!binary || !solution ||
        (code = shared_points_choose(training, held_out, &passes, err)))
        goto done;
    group_fill(group, training, held_out);
    for (size_t s = 0; s < group->machines * group->count; s++)
        group->solution[s] =
            (struct solution){.beta = group->solution[s].beta,
                              .shift = group_shift(group, training, s),
                              .fall = NAN};
    for (size_t m = 0; m < group->machines; m++) {
        if (constant_solution(group, training, m))
            continue;
        solution[count] = group->solution + m * group->count;
        binary[count] = group_binary(group, training, m);
        binary[count].part = held_out.part < training->partition->parts;
        binary[count].whole =
            held_out.fold == training->partition->folds && !binary[count].part;
        count++;
    }
    code = system_solve(training, binary, solution, count, err);
    for (size_t t = 0; t < group->count && count > 0; t++)
        solution[0][t].basis.choice_passes += passes;
done:
    klr_free(binary);
    klr_free(solution);
    return code;
}
