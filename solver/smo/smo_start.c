/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where SMO begins: alpha and its products with K, at the first C of a path and
 * from the solution at the C before.
 */
#include "solver/smo/smo_parts.h"

/* The total of alpha of each class to start with, given that of C_i: at the
 * solution for K = 0, see smo_stretch; for smo1 as printed, C of Keerthi,
 * section 6, or 1 of Consolo, section 5.1. */
static double smo_total(const struct smo *smo, const double *weight, double c)
{
    double least = fmin(weight[0], weight[1]);
    if (!smo->first_order)
        return weight[0] / (weight[0] + weight[1]) * weight[1];
    return fmin(smo->loops ? c : 1, 0.5 * least);
}

/* alpha = 0 for the hinge; for the logistic loss the same within a class and
 * sum beta = 0: so far along from lower to upper_i that both classes have the
 * same total. One class alone, without a bias, is as if the other mirrored it.
 */
static void smo_start(struct smo *smo)
{
    double lower[2] = {0, 0}, upper[2] = {0, 0}, weight[2] = {0, 0};
    double total, least = INFINITY;
    bool hinge = smo->loss.model == KLR_MODEL_SVM;
    for (size_t k = 0; k < smo->n; k++) {
        const struct smo_example *e = &smo->example[k];
        lower[e->y > 0] += smo_lower(smo, e);
        upper[e->y > 0] += smo_upper(smo, e);
        weight[e->y > 0] += e->cost;
        least = fmin(least, e->cost);
    }
    for (int side = 0; side < 2; side++)
        if (weight[side] == 0) {
            lower[side] = lower[!side];
            upper[side] = upper[!side];
            weight[side] = weight[!side];
        }
    total = smo_total(smo, weight, least);
    total =
        fmin(fmax(total, fmax(lower[0], lower[1])), fmin(upper[0], upper[1]));
    for (size_t k = 0; k < smo->n; k++) {
        struct smo_example *e = &smo->example[k];
        size_t side = e->y > 0;
        double low = smo_lower(smo, e), high = smo_upper(smo, e);
        double part = (total - lower[side]) / (upper[side] - lower[side]);
        e->alpha = hinge ? 0 : fmin(low + part * (high - low), high);
    }
}

static void smo_scale(struct smo *smo, double ratio)
{
    const double rounding = 1e-14;
    for (size_t k = 0; k < smo->n; k++) {
        struct smo_example *e = &smo->example[k];
        double high = smo_upper(smo, e), alpha = ratio * e->alpha;
        smo->s[k] *= ratio;
        e->alpha = alpha >= high * (1 - rounding)
                       ? high
                       : fmax(alpha, smo_lower(smo, e));
    }
}

/* The slope of the dual at r alpha along r, where s = -K beta. */
static double smo_ray_slope(const struct smo *smo, double r)
{
    double slope = 0;
    for (size_t k = 0; k < smo->n; k++) {
        const struct smo_example *e = &smo->example[k];
        slope +=
            e->alpha * (conjugate_slope(&smo->loss, r * e->alpha, e->cost) -
                        r * e->y * smo->s[k]);
    }
    return slope;
}

/* Multiply alpha, and s = -K beta, by nearly the r that is best for the dual.
 * Where C K is large, the solution for K = 0 is far too long, and that of a
 * smaller C too short; single steps would take long to mend it. */
static void smo_stretch(struct smo *smo)
{
    const double close = 1.001;
    double low = 0, high = INFINITY;
    for (size_t k = 0; k < smo->n; k++) {
        const struct smo_example *e = &smo->example[k];
        low = fmax(low, smo_lower(smo, e) / e->alpha);
        high = fmin(high, smo_upper(smo, e) / e->alpha);
    }
    low = fmin(low, 1);
    while (high > close * low) {
        double r = sqrt(low * high);
        if (r <= low || r >= high) /* the product underflows */
            break;
        *(smo_ray_slope(smo, r) > 0 ? &high : &low) = r;
    }
    smo_scale(smo, low);
}

static void smo_begin(struct smo *smo)
{
    for (size_t k = 0; k < smo->n; k++) {
        const struct smo_example *e = &smo->example[k];
        smo->s[k] -= e->y * conjugate_slope(&smo->loss, e->alpha, e->cost);
        smo_move(smo, k, 0, INFINITY);
    }
}

/* By the features of a linear kernel. */
static enum klr_status smo_products_linear(struct smo *smo, double *s)
{
    const struct binary_problem *problem = smo->problem;
    double *beta = smo->spare->s, *product = smo->spare->hessian;
    for (size_t k = 0; k < smo->n; k++) {
        const struct smo_example *e = &smo->example[k];
        beta[e->local] = e->y * e->alpha;
    }
    if (!operator_apply(problem->op, problem->set, problem->set, beta, 1,
                        KLR_DOUBLE, product))
        return problem->clock->status;
    for (size_t k = 0; k < smo->n; k++)
        s[k] -= product[k];
    return KLR_CONVERGED;
}

static enum klr_status smo_products(struct smo *smo, bool may_stop, double *s)
{
    if (smo->problem->op->groups)
        return smo_products_linear(smo, s);
    enum klr_status status = KLR_CONVERGED;
    size_t room = klr_cache_room(smo->cache), index[SMO_FETCH], count = 0;
    size_t most = room < SMO_FETCH ? room : SMO_FETCH;
    for (size_t i = 0; i < smo->n && status == KLR_CONVERGED; i++) {
        if (smo->example[i].alpha != 0)
            index[count++] = i;
        if (count == 0 || (count < most && i + 1 < smo->n))
            continue;
        if (!smo_have_rows(smo, index, count))
            return smo->problem->clock->status;
        for (size_t q = 0; q < count; q++) {
            const struct smo_example *e = &smo->example[index[q]];
            smo_subtract(smo, e->y * e->alpha, smo_row(smo, index[q]), s);
        }
        count = 0;
        if (klr_pool_asks(smo->problem->op->pool, 0))
            status = smo->problem->clock->status;
        else if (may_stop)
            status = clock_check(smo->problem->clock, smo->problem->params,
                                 &smo->progress, NULL, NULL);
    }
    return status;
}

static int smo_finish_at_start(struct smo *smo, double c,
                               enum klr_status status,
                               struct solution *solution, struct klr_error *err)
{
    double weight[2] = {0, 0}, *zero = smo->spare->s;
    for (size_t k = 0; k < smo->n; k++) {
        weight[smo->example[k].y > 0] += smo->example[k].cost;
        zero[k] = 0;
    }
    struct point point = {
        .c = c,
        .status = status,
        .iterations = smo->progress.iterations,
        .fall = NAN,
        .beta = zero,
        .rho = smo->single ? 0 : log(weight[0]) - log(weight[1]),
        .u = zero,
        .precision = smo->precision,
        .dual = DUAL_NONE,
        .least = NAN,
        .bound = INFINITY,
    };
    return point_finish(smo->problem, &point, solution, err);
}
