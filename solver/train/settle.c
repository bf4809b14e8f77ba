/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters settled: what they leave open, by the table of systems, and what
 * they must not be together.
 */
#include "solver/train/train.h"

#include <limits.h>

/* A prior that is given is one of densities. */
static int params_default_link(const struct klr_params *params)
{
    switch (params->model) {
    case KLR_MODEL_SVM:
        return params->probability ? KLR_LINK_PLATT : KLR_LINK_NONE;
    case KLR_MODEL_SKLR:
        return KLR_LINK_FITTED;
    case KLR_MODEL_KFD:
        return isnan(params->prior) ? KLR_LINK_CHECKED : KLR_LINK_GAUSSIAN;
    default:
        return KLR_LINK_SIGMA;
    }
}

static struct klr_params params_settle(const struct klr_params *params)
{
    struct klr_params settled = *params;
    klr_params_fill(&settled);
    const struct system *system = system_of(params, NULL);
    if (!system)
        return settled;
    settled.solver = (int)system->solver;
    settled.regularizer = (int)system->regularizer;
    if (system->bias == BIAS_NEVER)
        settled.no_bias = true;
    if (isnan(params->eps))
        settled.eps = system->eps;
    if (params->gap > 0 && system->gap == GAP_IS_EPS)
        settled.eps = params->gap;
    if (params->basis == KLR_BASIS_AUTO && isnan(params->basis_tol))
        settled.basis_tol = 1e-3;
    if (params->candidates < 0)
        settled.candidates = 59;
    if (params->candidates == 0)
        settled.candidates = LLONG_MAX;
    if (!params->window && params->model == KLR_MODEL_KFD)
        settled.window = 5;
    else if (!params->window && !isnan(params->eps))
        settled.window = 1;
    if (params->link == KLR_LINK_AUTO)
        settled.link = params_default_link(params);
    return settled;
}

/* The closed form of leave-one-out holds at the optimum, and the last steps to
 * it cost little beside the form. Far from the optimum an sklr has more support
 * vectors. */
static double params_grid_eps(const struct klr_params *params)
{
    bool given = !isnan(params->eps) || params->gap > 0;
    return given || params->loo || params->sparsest
               ? 0
               : system_of(params, NULL)->grid_eps;
}

/* Links of a loss belong to the models that minimise it. */
static int params_check_link(const struct klr_params *params,
                             struct klr_error *err)
{
    bool logistic =
        params->model != KLR_MODEL_SVM && params->model != KLR_MODEL_KFD;
    bool shifted =
        params->link == KLR_LINK_SHRUNK || params->link == KLR_LINK_CONSISTENT;
    if ((shifted && params->model != KLR_MODEL_SKLR) ||
        (params->link == KLR_LINK_SIGMA && !logistic) ||
        (params->link == KLR_LINK_CHECKED && params->model == KLR_MODEL_SVM))
        return klr_fail(
            err, KLR_E_USAGE, "option --link: %s is not a link of %s",
            klr_link_names[params->link], klr_model_names[params->model]);
    if (params->multiclass == KLR_SOFTMAX && params->link > KLR_LINK_SIGMA)
        return klr_fail(err, KLR_E_USAGE,
                        "option --link: %s is not a link of a softmax",
                        klr_link_names[params->link]);
    return 0;
}

/* A prior needs densities, and a correction a constant in the log-odds. */
static int params_check_prior(const struct klr_params *params,
                              struct klr_error *err)
{
    int link = params_settle(params).link;
    bool prior = !isnan(params->prior);
    if (prior && !(params->prior < 1))
        return klr_fail(err, KLR_E_USAGE,
                        "option --prior: must be below 1, got %.15g",
                        params->prior);
    if (prior && link != KLR_LINK_GAUSSIAN)
        return klr_fail(err, KLR_E_USAGE,
                        "option --prior: only the link gaussian has one, not "
                        "%s",
                        klr_link_names[link]);
    if (prior && params->prior_correct)
        return klr_fail(err, KLR_E_USAGE,
                        "--prior and --prior-correct exclude each other: a "
                        "prior that is given has no weights in it");
    if (params->prior_correct &&
        (link == KLR_LINK_NONE || link == KLR_LINK_CONSISTENT))
        return klr_fail(err, KLR_E_USAGE,
                        "option --prior-correct: the link %s has no constant "
                        "to correct",
                        klr_link_names[link]);
    return 0;
}

/* Points are chosen for a basis, unless they are given; without one there is
 * nothing to choose, or to bound. */
static int params_check_basis(const struct klr_params *params,
                              struct klr_error *err)
{
    bool on_basis = params_on_basis(params);
    bool given = on_basis && params->n_points > 0;
    if (given && (params->basis || params->basis_choice))
        return klr_fail(err, KLR_E_USAGE,
                        "option --points: nothing is left to choose by --%s",
                        params->basis ? "basis" : "basis-choice");
    if (on_basis && (params->keep_bounded || params->lambda_bound))
        return klr_fail(err, KLR_E_USAGE, "option --%s: %s",
                        params->keep_bounded ? "keep-bounded" : "lambda-bound",
                        params->keep_bounded
                            ? "coefficients on a basis have no box"
                            : "it is of all examples, not of a basis");
    if (!on_basis && (params->basis_choice || params->basis_bound))
        return klr_fail(err, KLR_E_USAGE,
                        "option --basis-%s: there is no basis (--basis)",
                        params->basis_choice ? "choice" : "bound");
    if (params->basis != KLR_BASIS_AUTO && !isnan(params->basis_tol))
        return klr_fail(err, KLR_E_USAGE,
                        "option --basis-tol: only --basis auto has a "
                        "tolerance");
    if (params->basis == KLR_BASIS_AUTO && params->basis_choice)
        return klr_fail(err, KLR_E_USAGE,
                        "option --basis-choice: --basis auto chooses points by "
                        "growing");
    return 0;
}

/* Options that mean nothing to the model, or that no solver of it honours. */
static int params_check_model(const struct klr_params *params,
                              struct klr_error *err)
{
    if (params->model != KLR_MODEL_SKLR && !isnan(params->lambda.value[0]))
        return klr_fail(err, KLR_E_USAGE,
                        "option -l: only an sklr model has a lambda");
    if (params->model != KLR_MODEL_SKLR &&
        (params->keep_bounded || params->lambda_bound))
        return klr_fail(err, KLR_E_USAGE,
                        "option --%s: only an sklr model has a %s",
                        params->keep_bounded ? "keep-bounded" : "lambda-bound",
                        params->keep_bounded ? "box" : "lambda");
    int code = params_check_link(params, err);
    const struct system *system = code ? NULL : system_of(params, err);
    if (!system)
        return KLR_E_USAGE;
    bool greedy = system->chooses;
    if (params_check_basis(params, err))
        return KLR_E_USAGE;
    if (params->n_points && greedy &&
        (params->max_basis || params->window || params->candidates >= 0 ||
         params->selection || !isnan(params->eps)))
        return klr_fail(err, KLR_E_USAGE,
                        "option --points: nothing is left to choose or to stop "
                        "by --max-basis, --window, --candidates, --selection "
                        "or -e");
    if (!greedy &&
        (params->max_basis || params->window || params->candidates >= 0))
        return klr_fail(err, KLR_E_USAGE,
                        "option --%s: only greedy solvers choose points",
                        params->max_basis ? "max-basis"
                        : params->window  ? "window"
                                          : "candidates");
    if (params->threshold && params->model != KLR_MODEL_KFD)
        return klr_fail(err, KLR_E_USAGE,
                        "option --threshold: only a kfd model has a choice");
    if (params->calibration && !link_is_fitted(params_settle(params).link))
        return klr_fail(err, KLR_E_USAGE,
                        "option --calibrate: the link %s is not fitted",
                        klr_link_names[params_settle(params).link]);
    if (params->selection && (params->model != KLR_MODEL_KFD || !greedy))
        return klr_fail(err, KLR_E_USAGE,
                        "option --selection: only kfd by greedy has rules");
    return 0;
}

/* Products may have either sign, a distance has none; 0 asks for the default,
 * as in LIBSVM. */
static int params_check_gamma(const struct klr_params *params,
                              struct klr_error *err)
{
    bool either =
        params->kernel == KLR_POLYNOMIAL || params->kernel == KLR_SIGMOID;
    for (size_t i = 0; i < params->gamma.count; i++) {
        double gamma = params->gamma.value[i];
        if (gamma < 0 && !either)
            return klr_fail(err, KLR_E_USAGE,
                            "option -g: must be greater than 0, got %.15g",
                            gamma);
    }
    return 0;
}

/* Only a validation can choose among models that differ in more than C, and
 * only kernels that have a gamma differ by it. */
static int params_check_grid(const struct klr_params *params,
                             struct klr_error *err)
{
    bool gammas = params->gamma.count > 1, lambdas = params->lambda.count > 1;
    double largest = params->lambda.value[params->lambda.count - 1];
    if (params->lambda.in_unit &&
        isinf(largest * params->cost.value[params->cost.count - 1]))
        return klr_fail(err, KLR_E_USAGE,
                        "option -l: %.15g times C is too large", largest);
    if (gammas &&
        (params->kernel == KLR_LINEAR || params->kernel == KLR_PRECOMPUTED))
        return klr_fail(err, KLR_E_USAGE,
                        "option -g: several values, but the kernel %s has no "
                        "gamma",
                        klr_kernel_names[params->kernel]);
    if (params->sparsest &&
        (!klr_params_validate(params) || klr_params_points(params) == 1))
        return klr_fail(err, KLR_E_USAGE,
                        "option --sparsest: there is no choice without -v and "
                        "several values of -c, -g or -l");
    if (klr_params_validate(params) || (!gammas && !lambdas))
        return 0;
    return klr_fail(err, KLR_E_USAGE,
                    "option -%c: to compare several values, validate them: -v",
                    gammas ? 'g' : 'l');
}

/* Refuse parameters for which leave-one-out has no closed form. */
static int params_check_loo(const struct klr_params *params,
                            struct klr_error *err)
{
    const struct klr_params settled = params_settle(params);
    const struct system *system = system_of(params, NULL);
    struct klr_kernel kernel = params_kernel(params, 1);
    if (!params->loo)
        return 0;
    if (params->folds)
        return klr_fail(err, KLR_E_USAGE,
                        "option --loo: it takes the place of folds (-v)");
    if (system->leave_out == LEAVE_OUT_NONE)
        return klr_fail(err, KLR_E_USAGE,
                        "option --loo: only klr with the regularizer kernel, "
                        "by newton, smo or smo1, and sklr on a basis have a "
                        "closed form");
    if (params->multiclass == KLR_SOFTMAX &&
        system->leave_out == LEAVE_OUT_KERNELS)
        return klr_fail(err, KLR_E_USAGE,
                        "option --loo: a softmax has no closed form but on a "
                        "basis (--basis); ovo, ova and ddag have one");
    if (!klr_kernel_is_psd(&kernel))
        return klr_fail(err, KLR_E_USAGE,
                        "option --loo: the kernel must be positive "
                        "semidefinite");
    if (link_is_fitted(settled.link))
        return klr_fail(err, KLR_E_USAGE,
                        "option --loo: a %s link is fitted on all examples; "
                        "sigma%s and none are not fitted",
                        klr_link_names[settled.link],
                        params->model == KLR_MODEL_SKLR ? ", shrunk, consistent"
                                                        : "");
    return 0;
}

static int params_check_label(const struct klr_params *params,
                              const char *option, const char *text,
                              struct klr_error *err)
{
    double ignored;
    char quoted[KLR_QUOTED_SIZE];
    if (params->string_labels ? *text != 0 : klr_read_real(text, &ignored))
        return 0;
    return klr_fail(err, KLR_E_USAGE, "option %s: %s is not %s", option,
                    klr_quote(quoted, text),
                    params->string_labels
                        ? "a name"
                        : "a number (--string-labels reads names)");
}

static int params_check_weights(const struct klr_params *params,
                                struct klr_error *err)
{
    for (size_t i = 0; i < params->n_weights; i++) {
        if (params_check_label(params, "-w", params->weight[i].label, err))
            return KLR_E_USAGE;
        double weight = params->weight[i].weight;
        if (!(weight > 0) || isinf(weight))
            return klr_fail(err, KLR_E_USAGE,
                            "option -w%.40s: must be greater than 0, got %.15g",
                            params->weight[i].label, weight);
    }
    return 0;
}

int klr_params_check(const struct klr_params *params, struct klr_error *err)
{
    int code = klr_options_check(klr_train_options, params, err);
    if (code)
        return code;
    if (params->positive &&
        params_check_label(params, "--positive", params->positive, err))
        return KLR_E_USAGE;
    if (params->metric != KLR_METRIC_AUTO && !klr_params_validate(params))
        return klr_fail(err, KLR_E_USAGE,
                        "option --metric: only validation (-v) looks at it");
    if ((code = params_check_gamma(params, err)) ||
        (code = params_check_grid(params, err)) ||
        (code = params_check_model(params, err)) ||
        (code = params_check_prior(params, err)) ||
        (code = params_check_loo(params, err)))
        return code;
    return params_check_weights(params, err);
}
