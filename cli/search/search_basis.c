/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The training that follows a search: of all examples, or on a basis where that
 * would take long. It is the same for any number of threads and any memory,
 * since the forecast is one for a single thread and a fixed memory.
 */
#include "cli/search/search_parts.h"

#include <stdio.h>

static const double basis_longest = 60; /* seconds, of all examples */
static const double basis_less = 0.5;   /* of that, at most, on a basis */
enum { BASIS_MEMORY = 4096 };           /* MB */

static int forecast(const struct cli_train *train, struct klr_forecast *out,
                    struct klr_error *err)
{
    struct klr_params params = train->params;
    params.threads = 1;
    params.cache_mb = BASIS_MEMORY;
    return klr_train_forecast(&train->problem, &params, out, err);
}

static bool allows_basis(const struct klr_params *given)
{
    struct klr_params params = *given;
    struct klr_error err;
    params.basis = KLR_BASIS_AUTO;
    return klr_params_check(&params, &err) == 0;
}

int cli_search_basis(struct search *s, struct klr_error *err)
{
    struct klr_params *params = &s->train->params;
    struct klr_forecast seconds;
    char all[CLI_TIME_SIZE], basis[CLI_TIME_SIZE];
    if (!s->count || s->ended == KLR_INTERRUPTED || !allows_basis(params))
        return 0;
    int code = forecast(s->train, &seconds, err);
    if (code || !(seconds.all > basis_longest &&
                  seconds.basis < basis_less * seconds.all))
        return code;
    params->basis = KLR_BASIS_AUTO;
    if (!s->train->options.quiet)
        fprintf(stderr,
                "%s: auto: --basis auto, which takes about %s on a thread; %s "
                "of all %zu examples would take about %s\n",
                s->program->name, cli_train_time(seconds.basis, basis),
                klr_model_names[params->model], s->train->problem.n,
                cli_train_time(seconds.all, all));
    return 0;
}
