/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SMO from a point that another solver has come to.
 */
#include "solver/smo/smo_parts.h"

static double smo_improve_bytes(size_t n)
{
    double arrays = sizeof(struct smo_example) + 2 * sizeof(double) + 1;
    return (double)n * (2 * arrays + sizeof(double) + 1);
}

/* A quarter of a cache is for rows of the columns in work. */
static double smo_rows_bytes(size_t n, size_t rows)
{
    double tables = 64,
           whole = (double)n * ((double)rows * sizeof(double) + tables);
    return whole * 4 / 3;
}

static void improve_begin(struct smo *smo, const struct smo_point *point)
{
    smo->loss = point->loss;
    smo_restart(smo);
    for (size_t k = 0; k < smo->n; k++) {
        struct smo_example *e = &smo->example[k];
        e->cost = point->cost[k];
        e->alpha = fmin(fmax(e->y * point->beta[k], smo_lower(smo, e)),
                        smo_upper(smo, e));
        smo->s[k] = -point->u[k];
    }
    smo_begin(smo);
}

static void improve_end(const struct smo *smo, struct smo_point *point)
{
    point->steps = smo->progress.iterations;
    for (size_t k = 0; k < smo->n; k++) {
        const struct smo_example *e = &smo->example[k];
        point->beta[e->local] = e->y * e->alpha;
        point->u[e->local] = smo_product(smo, k);
    }
}

static int smo_improve(const struct binary_problem *problem,
                       struct smo_point *point, struct klr_error *err)
{
    struct klr_params params = *problem->params;
    struct binary_problem own = *problem;
    struct smo smo, spare;
    enum klr_status status = KLR_CONVERGED;
    params.eps = 1e-3;
    params.gap = point->gap;
    params.max_iter = point->most;
    params.cache_mb = point->cache / 1048576;
    own.params = &params;
    int code = smo_create(&smo, &spare, &own, err);
    if (!code)
        code = smo_set_precision(&smo, KLR_DOUBLE, err);
    if (!code) {
        improve_begin(&smo, point);
        code = smo_descend(&smo, &status, err);
    }
    point->reached =
        !code && status == KLR_CONVERGED && !clock_stopped(problem->clock);
    if (point->reached)
        improve_end(&smo, point);
    smo_free(&smo);
    return code;
}
