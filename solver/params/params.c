/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of training beside their table: what they leave open, and what
 * they must not be together.
 */
#include "solver/params/params.h"

#include <limits.h>

const char *klr_version(void)
{
    return KLR_VERSION;
}

void klr_params_init(struct klr_params *params)
{
    memset(params, 0, sizeof *params);
    klr_options_preset(klr_train_options, params);
}

int klr_params_set(struct klr_params *params, const char *name,
                   const char *text, struct klr_error *err)
{
    const struct klr_option *option = klr_option_find(klr_train_options, name);
    if (option)
        return klr_option_read(option, text, params, err);
    char quoted[KLR_QUOTED_SIZE];
    return klr_fail(err, KLR_E_USAGE, "there is no parameter %s",
                    klr_quote(quoted, name));
}

void klr_params_fill(struct klr_params *params)
{
    if (params->cost.count == 1 && isnan(params->cost.value[0]))
        params->cost = klr_reals_of(params_model_costs[params->model]);
}

static struct klr_kernel params_kernel(const struct klr_params *params,
                                       int dimension)
{
    double gamma = params->gamma.value[0];
    if (isnan(gamma) || gamma == 0)
        gamma = 1.0 / (dimension > 0 ? dimension : 1);
    return (struct klr_kernel){
        .type = (enum klr_kernel_type)params->kernel,
        .degree = (int)params->degree,
        .gamma = gamma,
        .coef0 = params->coef0,
    };
}

static bool params_on_basis(const struct klr_params *params)
{
    bool has =
        params->model == KLR_MODEL_KLR || params->model == KLR_MODEL_SKLR;
    return params->basis != 0 || (has && params->n_points > 0);
}

static bool params_have_weights(const struct klr_params *params)
{
    return params->n_weights > 0 || params->example_weight || params->balance;
}

static size_t params_budget(const struct klr_params *params)
{
    double bytes = params->cache_mb * 1048576.0;
    if (bytes == 0)
        bytes = 0.25 * (double)klr_memory_limit();
    return (size_t)fmin(bytes, (double)(SIZE_MAX / 2));
}

static int params_refuse_budget(size_t n, double bytes, struct klr_error *err)
{
    return klr_fail(err, KLR_E_LIMIT, "%zu examples need at least %.0f MB (-m)",
                    n, ceil(bytes / 1048576));
}

bool klr_params_validate(const struct klr_params *params)
{
    return params->folds > 0 || params->loo;
}

size_t klr_params_points(const struct klr_params *params)
{
    return params->gamma.count * params->lambda.count * params->cost.count;
}

struct klr_params klr_params_point(const struct klr_params *params,
                                   size_t point)
{
    struct klr_params one = *params;
    size_t cell = point / params->cost.count;
    one.gamma = klr_reals_of(params->gamma.value[cell / params->lambda.count]);
    one.lambda =
        klr_reals_of(params->lambda.value[cell % params->lambda.count]);
    one.lambda.in_unit = params->lambda.in_unit;
    one.cost = klr_reals_of(params->cost.value[point % params->cost.count]);
    one.sparsest = 0;
    return one;
}

double klr_params_lambda(const struct klr_params *params, double cost)
{
    double lambda = params->lambda.value[0];
    return isnan(lambda) ? cost / 10
                         : lambda * (params->lambda.in_unit ? cost : 1);
}
