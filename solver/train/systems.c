/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The systems of the toolkit, one row each: a model (its loss and expansion),
 * a regularizer, and the solver that trains it, with what that solver asks of
 * the kernel and of the bias. What parameters leave open is the first row that
 * they admit; what they ask in vain is told from the row that comes closest.
 */
#include "solver/basis/basis.h"
#include "solver/fisher/fisher.h"
#include "solver/newton/newton.h"
#include "solver/smo/smo.h"
#include "solver/subspace/subspace.h"
#include "solver/train/train.h"
#include "solver/variants/variants.h"

#include <stdio.h>

#define SYSTEM(name, way, size)                                                \
    .model = KLR_MODEL_##name, .solver = KLR_SOLVER_##way,                     \
    .regularizer = KLR_REGULARIZER_##size

static const struct system systems[] = {
    {SYSTEM(KLR, NEWTON, KERNEL), .needs_psd = true, .merge = MERGE_ALWAYS,
     .bias = BIAS_EITHER, .gap = GAP_IS_EPS, .leave_out = LEAVE_OUT_KERNELS,
     .eps = 1e-6, .grid_eps = 1e-3, .fixed16 = 0.25, .solve = newton_solve,
     .bytes = newton_bytes, .softmax = softmax_solve,
     .softmax_bytes = softmax_bytes},
    {SYSTEM(KLR, NEWTON, KERNEL), .on_basis = true, .needs_psd = true,
     .merge = MERGE_ALWAYS, .leave_out = LEAVE_OUT_SOLVER, .bias = BIAS_EITHER,
     .gap = GAP_IS_EPS, .eps = 1e-6, .grid_eps = 1e-3,
     .solve_all = subspace_solve_all, .choose = subspace_choose_points,
     .softmax = subspace_solve_softmax},
    {SYSTEM(KLR, SMO, KERNEL), .merge = MERGE_ALWAYS, .bias = BIAS_ALWAYS,
     .gap = GAP_STOPS, .leave_out = LEAVE_OUT_KERNELS, .eps = 1e-3,
     .solve = smo_solve},
    {SYSTEM(KLR, SMO1, KERNEL), .merge = MERGE_ALWAYS, .bias = BIAS_EITHER,
     .gap = GAP_STOPS, .leave_out = LEAVE_OUT_KERNELS, .eps = 1e-3,
     .solve = smo_solve},
    {SYSTEM(KLR, NEWTON, COEF), .bias = BIAS_EITHER, .gap = GAP_IS_EPS,
     .eps = 1e-6, .solve = coef_newton_solve, .bytes = coef_bytes},
    {SYSTEM(KLR, CG, COEF), .bias = BIAS_EITHER, .gap = GAP_IS_EPS, .eps = 1e-6,
     .solve = coef_cg_solve, .bytes = coef_bytes},
    {SYSTEM(KLR, TRIRLS, KERNEL), .needs_psd = true, .bias = BIAS_NEVER,
     .eps = 2.5, .solve = trirls_solve, .bytes = trirls_bytes},
    {SYSTEM(SKLR, NEWTON, KERNEL), .needs_psd = true, .merge = MERGE_UNWEIGHTED,
     .bias = BIAS_EITHER, .gap = GAP_IS_EPS, .eps = 1e-6, .grid_eps = 1e-3,
     .fixed16 = 0.25, .solve = newton_solve, .bytes = newton_sparse_bytes},
    {SYSTEM(SKLR, NEWTON, KERNEL), .on_basis = true, .needs_psd = true,
     .merge = MERGE_UNWEIGHTED, .leave_out = LEAVE_OUT_SOLVER,
     .bias = BIAS_EITHER, .gap = GAP_IS_EPS, .eps = 1e-6, .grid_eps = 1e-3,
     .solve_all = subspace_solve_all, .choose = subspace_choose_points},
    {SYSTEM(SKLR, SMO, KERNEL), .merge = MERGE_UNWEIGHTED, .bias = BIAS_ALWAYS,
     .gap = GAP_STOPS, .eps = 1e-3, .solve = smo_solve},
    {SYSTEM(SKLR, SMO1, KERNEL), .merge = MERGE_UNWEIGHTED, .bias = BIAS_EITHER,
     .gap = GAP_STOPS, .eps = 1e-3, .solve = smo_solve},
    {SYSTEM(SVM, SMO, KERNEL), .merge = MERGE_ALWAYS, .bias = BIAS_EITHER,
     .gap = GAP_STOPS, .eps = 1e-3, .solve = smo_solve},
    {SYSTEM(SVM, NEWTON, COEF), .bias = BIAS_EITHER, .gap = GAP_IS_EPS,
     .eps = 1e-6, .solve = coef_newton_solve, .bytes = coef_bytes},
    {SYSTEM(IVM, GREEDY, KERNEL), .needs_psd = true, .bias = BIAS_EITHER,
     .chooses = true, .eps = 1e-3, .solve = ivm_solve},
    {SYSTEM(KFD, EXACT, KERNEL), .needs_psd = true, .bias = BIAS_ALWAYS,
     .gap = GAP_IS_EPS, .eps = 1e-12, .grid_eps = 1e-6, .fixed16 = 1,
     .solve_all = fisher_solve, .bytes = fisher_bytes},
    {SYSTEM(KFD, EXACT, COEF), .bias = BIAS_ALWAYS, .gap = GAP_IS_EPS,
     .eps = 1e-12, .grid_eps = 1e-6, .solve_all = fisher_solve,
     .bytes = fisher_bytes},
    {SYSTEM(KFD, GREEDY, COEF), .bias = BIAS_ALWAYS, .chooses = true,
     .eps = 1e-3, .solve_all = greedy_solve},
    {SYSTEM(KFD, GREEDY, KERNEL), .needs_psd = true, .bias = BIAS_ALWAYS,
     .chooses = true, .eps = 1e-3, .solve_all = greedy_solve},
    {SYSTEM(LHALF, THRESHOLD, HALF), .merge = MERGE_ALWAYS, .bias = BIAS_EITHER,
     .eps = 1e-3, .solve = lhalf_solve, .bytes = lhalf_bytes},
};

enum { SYSTEMS = sizeof systems / sizeof *systems };

static bool system_works_alone(const struct system *system)
{
    return system->chooses || system->on_basis;
}

/* Demands of the parameters on a system, in the order in which they are
 * checked. */
enum demand {
    DEMAND_MODEL,
    DEMAND_SOFTMAX,
    DEMAND_SOLVER,
    DEMAND_BASIS,
    DEMAND_POINTS,
    DEMAND_REGULARIZER,
    DEMAND_KERNEL,
    DEMAND_GAP,
    DEMAND_BIAS,
    DEMANDS
};

static bool system_meets(const struct system *system, enum demand demand,
                         const struct klr_params *params);

/* The one asked for; else that of the first system of the model and solver:
 * no other demand changes it. */
static enum klr_regularizer system_regularizer(const struct klr_params *params)
{
    size_t i = 0;
    if (params->regularizer != KLR_REGULARIZER_AUTO)
        return (enum klr_regularizer)params->regularizer;
    while (i + 1 < SYSTEMS &&
           !(system_meets(&systems[i], DEMAND_MODEL, params) &&
             system_meets(&systems[i], DEMAND_SOLVER, params) &&
             system_meets(&systems[i], DEMAND_BASIS, params) &&
             system_meets(&systems[i], DEMAND_POINTS, params)))
        i++;
    return systems[i].regularizer;
}

static bool system_meets(const struct system *system, enum demand demand,
                         const struct klr_params *params)
{
    struct klr_kernel kernel = params_kernel(params, 1);
    switch (demand) {
    case DEMAND_MODEL:
        return (int)system->model == params->model;
    case DEMAND_SOFTMAX:
        return params->multiclass != KLR_SOFTMAX || system->softmax;
    case DEMAND_SOLVER:
        return params->solver == KLR_SOLVER_AUTO ||
               (int)system->solver == params->solver;
    case DEMAND_BASIS:
        return system->on_basis == params_on_basis(params);
    case DEMAND_POINTS:
        return !params->n_points || system->chooses || system->on_basis;
    case DEMAND_REGULARIZER:
        return system->regularizer == system_regularizer(params);
    case DEMAND_KERNEL:
        return !system->needs_psd || klr_kernel_is_psd(&kernel);
    case DEMAND_GAP:
        return params->gap == 0 ||
               (system->gap != GAP_NONE &&
                (system->regularizer == KLR_REGULARIZER_COEF ||
                 klr_kernel_is_psd(&kernel)));
    default:
        return !params->no_bias || system->bias != BIAS_ALWAYS;
    }
}

/* How many demands in their order it meets before it fails one. */
static int system_met(const struct system *system,
                      const struct klr_params *params)
{
    int met = 0;
    while (met < DEMANDS && system_meets(system, (enum demand)met, params))
        met++;
    return met;
}

enum { SOLVERS_SIZE = 192 };

/* The solvers of the model that meet the demand: "; solvers that do: smo,
 * newton"; or "". One with another regularizer than the default has the option
 * for it beside it. */
static const char *system_solvers(const struct klr_params *params,
                                  enum demand demand, const char *that_do,
                                  char text[SOLVERS_SIZE])
{
    bool listed[KLR_SOLVER_THRESHOLD + 1] = {false};
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < SYSTEMS; i++) {
        const struct system *system = &systems[i];
        bool other = demand > DEMAND_REGULARIZER &&
                     !system_meets(system, DEMAND_REGULARIZER, params);
        if ((int)system->model != params->model || listed[system->solver] ||
            (demand > DEMAND_SOLVER && !system_meets(system, demand, params)) ||
            !system_meets(system, DEMAND_SOFTMAX, params) ||
            (demand > DEMAND_BASIS &&
             !system_meets(system, DEMAND_BASIS, params)) ||
            (demand > DEMAND_KERNEL &&
             !system_meets(system, DEMAND_KERNEL, params)) ||
            (other && params->regularizer != KLR_REGULARIZER_AUTO))
            continue;
        listed[system->solver] = true;
        used += (size_t)snprintf(
            text + used, SOLVERS_SIZE - used, "%s%s%s%s%s%s",
            used ? "" : "; solvers ", used ? "" : that_do, used ? ", " : ": ",
            klr_solver_names[system->solver], other ? " --regularizer " : "",
            other ? klr_regularizer_names[system->regularizer] : "");
    }
    return text;
}

/* `closest` fails the demand. */
static int system_refuse(const struct system *closest, enum demand demand,
                         const struct klr_params *params, struct klr_error *err)
{
    char text[SOLVERS_SIZE];
    const char *solver = klr_solver_names[closest->solver];
    const char *model = params->multiclass == KLR_SOFTMAX
                            ? "a softmax"
                            : klr_model_names[params->model];
    const char *others = system_solvers(
        params, demand,
        demand == DEMAND_KERNEL || demand == DEMAND_BIAS ? "that do not"
                                                         : "that do",
        text);
    switch (demand) {
    case DEMAND_SOFTMAX:
        return klr_fail(err, KLR_E_USAGE,
                        "option --multiclass: softmax is of klr alone, not of "
                        "%s",
                        klr_model_names[params->model]);
    case DEMAND_MODEL:
    case DEMAND_SOLVER:
        return klr_fail(err, KLR_E_USAGE, "option -a: %s does not train %s%s",
                        klr_solver_names[params->solver], model, others);
    case DEMAND_BASIS:
        return klr_fail(err, KLR_E_USAGE,
                        "option --basis: only klr and sklr by newton have one, "
                        "not %s by %s",
                        model, solver);
    case DEMAND_POINTS:
        return klr_fail(err, KLR_E_USAGE,
                        "option --points: %s by %s takes no points%s", model,
                        solver, others);
    case DEMAND_REGULARIZER:
        return klr_fail(err, KLR_E_USAGE,
                        "option --regularizer: %s by %s does not take %s%s",
                        model, solver,
                        klr_regularizer_names[params->regularizer], others);
    case DEMAND_KERNEL:
        return klr_fail(err, KLR_E_USAGE,
                        "option -t: %s needs a positive semidefinite kernel%s",
                        solver, others);
    case DEMAND_GAP:
        return klr_fail(err, KLR_E_USAGE, "option --gap: %s by %s %s%s", model,
                        solver,
                        closest->gap == GAP_NONE
                            ? "does not stop at a gap"
                            : "does not have a dual bound with this kernel",
                        others);
    default:
        return klr_fail(err, KLR_E_USAGE,
                        "option --no-bias: %s always has a bias%s", solver,
                        others);
    }
}

static const struct system *system_of(const struct klr_params *params,
                                      struct klr_error *err)
{
    const struct system *closest = systems;
    int most = -1;
    for (size_t i = 0; i < SYSTEMS; i++) {
        int met = system_met(&systems[i], params);
        if (met == DEMANDS)
            return &systems[i];
        if (met > most) {
            most = met;
            closest = &systems[i];
        }
    }
    system_refuse(closest, (enum demand)most, params, err);
    return NULL;
}
