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
#include "solver/internal.h"

#include "solver/multiclass.h"
#include "solver/systems.h"

#include <float.h>

/* ---- Machines and classes ---- */

/* Else pairs of them. */
static bool machines_are_classes(enum klr_multiclass multiclass)
{
    return multiclass == KLR_OVA || multiclass == KLR_SOFTMAX;
}

static size_t machine_count(enum klr_multiclass multiclass, size_t k)
{
    return machines_are_classes(multiclass) ? k : k * (k - 1) / 2;
}

static size_t machine_columns(enum klr_multiclass multiclass, size_t k)
{
    return machines_are_classes(multiclass) ? k : k - 1;
}

static enum klr_multiclass multiclass_of(const struct klr_params *params,
                                         size_t k)
{
    return k > 2 ? (enum klr_multiclass)params->multiclass : KLR_OVO;
}

static size_t pair_index(size_t k, size_t a, size_t b)
{
    return a * (2 * k - a - 1) / 2 + b - a - 1;
}

/* The classes of the pair with that index. */
static void pair_classes(size_t k, size_t index, size_t *a, size_t *b)
{
    *a = 0;
    while (index >= k - 1 - *a)
        index -= k - 1 - (*a)++;
    *b = *a + 1 + index;
}

/* ---- What all machines share ---- */

/* -wLABEL, times n / (k n_c) where classes are balanced. */
static int class_weights(const struct klr_params *params,
                         const struct layout *layout, double *weight,
                         struct klr_error *err)
{
    for (size_t c = 0; c < layout->k; c++)
        weight[c] = 1;
    for (size_t w = 0; w < params->n_weights; w++) {
        size_t c;
        if (layout_find(layout, "-w", params->weight[w].label, &c, err))
            return KLR_E_USAGE;
        weight[c] = params->weight[w].weight;
    }
    for (size_t c = 0; c < layout->k && params->balance; c++) {
        size_t size = layout_size(layout, c);
        weight[c] *= (double)layout->n / (double)layout->k / (double)size;
    }
    return 0;
}

/* A normal number, as divisions by it and its parts want, and n of them have a
 * sum. */
static bool has_range(double x, size_t n)
{
    return x >= DBL_MIN && x <= DBL_MAX / (double)n;
}

/* The weight of an example, and each C_i with it. */
static int check_cost(const struct klr_params *params, size_t n, size_t row,
                      double weight, struct klr_error *err)
{
    const struct klr_reals *cost = &params->cost;
    if (!has_range(weight, n))
        return klr_fail(err, KLR_E_USAGE,
                        "option -w: the weight of example %zu, %g in all, is "
                        "out of range",
                        row + 1, weight);
    for (size_t t = 0; t < cost->count; t++) {
        double c = weight * cost->value[t];
        if (!has_range(c, n))
            return klr_fail(err, KLR_E_USAGE,
                            "option -c: C of example %zu, %g with its weights, "
                            "is out of range",
                            row + 1, c);
    }
    return 0;
}

/* By position. */
static int example_weights(const struct klr_params *params,
                           const struct layout *layout,
                           const double *class_weight, double *weight,
                           struct klr_error *err)
{
    const double *given = params->example_weight;
    for (size_t c = 0; c < layout->k; c++)
        for (size_t p = layout_begin(layout, c);
             p < layout_begin(layout, c + 1); p++) {
            size_t row = layout->order[p];
            weight[p] = class_weight[c] * (given ? given[row] : 1);
            if (check_cost(params, layout->n, row, weight[p], err))
                return KLR_E_USAGE;
        }
    return 0;
}

/* What the number of classes decides. */
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
                        "has no weight; what has: ovo, ddag, softmax");
    return 0;
}

/* What all problems cost, in squares of their examples. The pairs of classes
 * with n_c examples have sum (n_a + n_b)^2 = (k - 2) sum n_c^2 + n^2. */
static double training_work(const struct training *training)
{
    const struct layout *layout = training->layout;
    double n = (double)layout->n, k = (double)layout->k, squares = 0;
    double parts = (double)calibration_parts(training->params);
    double kept = 1 - 1 / (double)layout->folds, left = 1 - 1 / parts;
    for (size_t c = 0; c < layout->k; c++)
        squares += pow((double)layout_size(layout, c), 2);
    double work = machines_are_classes(training->multiclass)
                      ? k * n * n
                      : (k - 2) * squares + n * n;
    if (layout->folds > 1)
        work *= (double)layout->folds * kept * kept;
    return work *
           (1 + (double)calibration_solves(training->params) * left * left);
}

static int training_create(struct training *training, struct klr_operator *op,
                           const struct klr_params *params,
                           const struct layout *layout, struct klr_error *err)
{
    struct klr_range all = {0, layout->n};
    training->params = params;
    training->system = system_of(params, err);
    training->layout = layout;
    training->op = op;
    training->multiclass = multiclass_of(params, layout->k);
    if (!training->system)
        return KLR_E_USAGE;
    int code = check_classes(params, layout->k, err);
    if (code)
        return code;
    if (!(training->class_weight = klr_alloc(layout->k, sizeof(double), err)) ||
        !(training->weight = klr_alloc(layout->n, sizeof(double), err)) ||
        !(training->diagonal = klr_alloc(layout->n, sizeof(double), err)))
        return KLR_E_MEMORY;
    operator_diagonal(op, set_of(&all, 1), training->diagonal);
    for (size_t i = 0; i < layout->n; i++)
        training->most = fmax(training->most, fabs(training->diagonal[i]));
    clock_start(&training->clock,
                machine_count(training->multiclass, layout->k) * layout->folds *
                    (calibration_solves(params) + 1));
    if (!params->loo)
        training->clock.total = training_work(training);
    code = class_weights(params, layout, training->class_weight, err);
    return code ? code
                : example_weights(params, layout, training->class_weight,
                                  training->weight, err);
}

static void training_free(struct training *training)
{
    klr_free(training->class_weight);
    klr_free(training->weight);
    klr_free(training->diagonal);
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

/* ---- Reports ---- */

static void report_start(struct klr_report *report)
{
    memset(report, 0, sizeof *report);
    report->lambda_bound = -INFINITY;
}

static void report_join(struct klr_report *report,
                        const struct klr_report *more)
{
    report->solver = more->solver;
    report->machines = gravest(report->machines, more->machines);
    report->status = gravest(report->status, more->status);
    report->primal += more->primal;
    report->dual += more->dual;
    report->iterations += more->iterations;
    report->passes += more->passes;
    report->precond_flops += more->precond_flops;
    report->kernel_evals += more->kernel_evals;
    report->lambda_bound = fmax(report->lambda_bound, more->lambda_bound);
    report->seconds = fmax(report->seconds, more->seconds);
    if (more->gap > report->gap || isnan(more->gap))
        report->gap = more->gap;
}

/* With one class alone there is nothing to gain: both objectives are 0, and so
 * is the gap. */
static void report_add(struct klr_report *report,
                       const struct solution *solution)
{
    struct klr_report more = {
        .machines = solution->status,
        .status = gravest(solution->status, solution->link_status),
        .primal = solution->primal,
        .dual = solution->dual,
        .gap = solution->primal - solution->dual,
        .iterations = solution->iterations,
        .precond_flops = solution->flops,
        .lambda_bound = solution->lambda_bound,
    };
    if (more.gap != 0)
        more.gap /= fabs(more.primal);
    report_join(report, &more);
}

/* What the report has besides the sums over the problems. */
static void report_finish(struct klr_report *report,
                          const struct training *training)
{
    if (training->system->regularizer == KLR_REGULARIZER_KERNEL &&
        !klr_kernel_is_psd(&training->op->kernel))
        report->gap = NAN;
    report->solver = (enum klr_solver_type)training->params->solver;
    report->passes = training->op->passes;
    report->precond_flops /= 2.0 * (double)training->op->n;
    report->precond_flops /= (double)training->op->n;
    report->kernel_evals = training->op->evaluations;
    report->seconds = klr_seconds() - training->clock.begin;
}

/* ---- Groups ---- */

static size_t group_machines(enum klr_multiclass multiclass, size_t k)
{
    return machines_are_classes(multiclass) ? k : 1;
}

/* Of pairs that of the two largest classes. */
static size_t group_largest(enum klr_multiclass multiclass,
                            const struct layout *layout)
{
    size_t first = 0, second = 0;
    if (machines_are_classes(multiclass))
        return layout->n;
    for (size_t c = 0; c < layout->k; c++) {
        size_t size = layout_size(layout, c);
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
    size_t k = training->layout->k;
    return machine_count(training->multiclass, k) /
           group_machines(training->multiclass, k);
}

static int group_create(struct group *group, const struct training *training,
                        struct klr_error *err)
{
    const struct layout *layout = training->layout;
    size_t n = layout->n, k = layout->k;
    memset(group, 0, sizeof *group);
    group->machines = group_machines(training->multiclass, k);
    group->count = training->params->cost.count;
    group->stride = n;
    size_t solutions = group->machines * group->count;
    if (!(group->class = klr_alloc(k, sizeof *group->class, err)) ||
        !(group->range =
              klr_alloc(k, (layout->folds + 1) * sizeof *group->range, err)) ||
        !(group->y = klr_alloc(n, group->machines * sizeof(double), err)) ||
        !(group->weight = klr_alloc(n, sizeof(double), err)) ||
        !(group->beta = klr_alloc(n, solutions * sizeof(double), err)) ||
        !(group->solution =
              klr_zalloc(solutions, sizeof *group->solution, err)) ||
        !(group->link = klr_zalloc(solutions, sizeof *group->link, err)) ||
        (training->leave_out &&
         !(group->shift = klr_alloc(n, solutions * sizeof(double), err))))
        return KLR_E_MEMORY;
    for (size_t s = 0; s < solutions; s++)
        group->solution[s].beta = group->beta + s * n;
    return 0;
}

static void group_free(struct group *group)
{
    klr_free(group->class);
    klr_free(group->range);
    klr_free(group->y);
    klr_free(group->weight);
    klr_free(group->beta);
    klr_free(group->solution);
    klr_free(group->link);
    klr_free(group->shift);
}

/* Work on the g-th group of the model. */
static void group_choose(struct group *group, const struct training *training,
                         size_t g)
{
    size_t k = training->layout->k;
    bool all = machines_are_classes(training->multiclass);
    group->first = all ? 0 : g;
    group->classes = all ? k : 2;
    if (all)
        for (size_t c = 0; c < k; c++)
            group->class[c] = c;
    else
        pair_classes(k, g, group->class, group->class + 1);
}

static double group_sign(const struct group *group, size_t machine, size_t c)
{
    return c == group->class[machine] ? 1 : -1;
}

static void group_fill(struct group *group, const struct training *training,
                       struct hole hole)
{
    size_t count = 0, n = 0;
    for (size_t j = 0; j < group->classes; j++) {
        size_t c = group->class[j], r = count;
        layout_kept(training->layout, c, hole, group->range, &count);
        for (; r < count; r++)
            for (size_t p = group->range[r].begin; p < group->range[r].end;
                 p++, n++) {
                group->weight[n] = training->weight[p];
                for (size_t m = 0; m < group->machines; m++)
                    group->y[m * group->stride + n] = group_sign(group, m, c);
            }
    }
    group->set = set_of(group->range, count);
}

/* The sign that all examples of the machine have; 0 if they differ. */
static double group_lone_sign(const struct group *group, size_t machine)
{
    const double *y = group->y + machine * group->stride;
    for (size_t i = 1; i < group->set.size; i++)
        if (y[i] != y[0])
            return 0;
    return group->set.size > 0 ? y[0] : 1;
}

/* With one class alone no finite threshold is optimal: the answer is the rule
 * of succession, (n + 1) : 1 for that class. */
static void group_succeed(struct group *group, size_t machine, double sign,
                          int link)
{
    for (size_t t = 0; t < group->count; t++) {
        size_t s = machine * group->count + t;
        double *beta = group->solution[s].beta;
        memset(beta, 0, group->set.size * sizeof *beta);
        group->solution[s] = (struct solution){
            .beta = beta,
            .rho = -sign * log((double)group->set.size + 1),
        };
        group->link[s] = link_neutral(link);
    }
}

/* The model of a sparse solution leaves out the examples at the lower end of
 * the box, which Newton steps come near: Consolo, section 3. A primal point may
 * be beyond that end, far from 0: such examples stay. rho and the primal
 * objective are then those of what is left; the dual point stays. Entries are
 * as before, so that terms of first order cancel in the gap. Where these
 * examples matter, if K is large or the box, all stay. room (3, n) is
 * workspace. */
static void solution_drop(const struct binary *binary, double c,
                          struct solution *solution, double *room)
{
    const double near = 1.001, much = 0.1;
    const size_t n = binary->n;
    struct loss loss = loss_of(binary->params, c);
    double *beta = room, *u = room + n, *cost = room + 2 * n;
    double rho = solution->rho;
    for (size_t i = 0; i < n; i++) {
        bool ends = fabs(solution->beta[i]) <= near * loss.box;
        beta[i] = ends ? 0 : solution->beta[i];
        cost[i] = c * binary->weight[i];
    }
    operator_apply(binary->op, binary->set, binary->set, beta, 1,
                   solution->precision, u);
    if (!binary->params->no_bias)
        rho = best_rho(&loss, n, binary->y, cost, u, rho);
    double primal = primal_value(&loss, n, binary->y, cost, beta, u, rho);
    if (!(primal - solution->primal <= much * fabs(solution->primal)))
        return;
    memcpy(solution->beta, beta, n * sizeof *beta);
    solution->rho = rho;
    solution->primal = primal;
}

static int solution_drop_all(const struct binary *binary,
                             struct solution *solution, struct klr_error *err)
{
    const struct klr_reals *path = &binary->params->cost;
    double *room = klr_alloc(3 * binary->n, sizeof *room, err);
    if (!room)
        return KLR_E_MEMORY;
    for (size_t t = 0; t < path->count; t++)
        solution_drop(binary, path->value[t], &solution[t], room);
    klr_free(room);
    return 0;
}

/* What the solutions of a problem, for each C, want besides: the bound of
 * lambda, examples dropped; and whether they are finite. */
static int system_finish(const struct training *training,
                         const struct binary *binary, struct solution *solution,
                         struct klr_error *err)
{
    const struct klr_params *params = training->params;
    const struct system *system = training->system;
    int code = 0;
    if (params->lambda_bound && binary->whole)
        code = lambda_bound(binary, system->solve, solution, err);
    if (!code && system->model == KLR_MODEL_SKLR && !params->keep_bounded)
        code = solution_drop_all(binary, solution, err);
    for (size_t t = 0; !code && t < params->cost.count; t++)
        if (!isfinite(solution[t].primal) || !isfinite(solution[t].rho))
            code = klr_fail(err, KLR_E_DATA,
                            "the objective overflows: scale the "
                            "features, or choose a smaller -c or smaller "
                            "weights");
    return code;
}

/* `count` binary problems on the same examples, for each C. */
static int system_solve(const struct training *training,
                        const struct binary *binary, struct solution **solution,
                        size_t count, struct klr_error *err)
{
    const struct system *system = training->system;
    solve_all_fn *solve_all = training->multiclass == KLR_SOFTMAX
                                  ? system->softmax
                                  : system->solve_all;
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

static int group_solve(struct group *group, struct training *training,
                       struct hole hole, struct klr_error *err)
{
    struct binary *binary = klr_alloc(group->machines, sizeof *binary, err);
    struct solution **solution =
        klr_alloc(group->machines, sizeof *solution, err);
    size_t count = 0;
    int code = KLR_E_MEMORY;
    if (!binary || !solution)
        goto done;
    group_fill(group, training, hole);
    for (size_t m = 0; m < group->machines; m++) {
        double sign = group_lone_sign(group, m);
        if (sign != 0) {
            clock_next(&training->clock, 1, group->set.size);
            group_succeed(group, m, sign, training->params->link);
            continue;
        }
        solution[count] = group->solution + m * group->count;
        binary[count++] = (struct binary){
            .op = training->op,
            .set = group->set,
            .n = group->set.size,
            .y = group->y + m * group->stride,
            .weight = group->weight,
            .params = training->params,
            .clock = &training->clock,
            .whole = hole.fold == training->layout->folds &&
                     hole.part == training->layout->parts,
        };
    }
    code = system_solve(training, binary, solution, count, err);
done:
    klr_free(binary);
    klr_free(solution);
    return code;
}
