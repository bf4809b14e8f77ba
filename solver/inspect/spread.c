/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a model can make anything of a kernel, by the mean of k(x_i, x_j)
 * over pairs of examples: docs/ALGORITHMS.md, "Are features and gamma of one
 * scale?". klr-check has the same rule, on fewer pairs.
 */
#include <float.h>

#include "solver/train/train.h"

/* Pairs are those of a few examples with all others, or with so many. Fewer
 * examples than SPREAD_LEAST are judged as if they were so many. */
enum { SPREAD_ROWS = 20, SPREAD_OTHERS = 200000, SPREAD_LEAST = 20 };

/* |u - v|^2, or |u - v|_1, of the rows i and j. */
static double spread_distance(const struct klr_features *x, size_t i, size_t j,
                              bool squared)
{
    double space[2][KLR_PACKED_COLUMNS], sum = 0;
    struct klr_feature_row a = klr_features_row(x, i, space[0]);
    struct klr_feature_row b = klr_features_row(x, j, space[1]);
    size_t u = 0, v = 0;
    while (u < a.count || v < b.count) {
        int64_t left = u < a.count ? a.index[u] : INT64_MAX;
        int64_t right = v < b.count ? b.index[v] : INT64_MAX;
        double d = left <= right ? a.value[u++] : 0;
        d -= right <= left ? b.value[v++] : 0;
        sum += squared ? d * d : fabs(d);
    }
    return sum;
}

/* u'v of the rows i and j. */
static double spread_product(const struct klr_features *x, size_t i, size_t j)
{
    double space[2][KLR_PACKED_COLUMNS], sum = 0;
    struct klr_feature_row a = klr_features_row(x, i, space[0]);
    struct klr_feature_row b = klr_features_row(x, j, space[1]);
    size_t u = 0, v = 0;
    while (u < a.count && v < b.count) {
        int left = a.index[u], right = b.index[v];
        if (left == right)
            sum += a.value[u] * b.value[v];
        u += left <= right;
        v += right <= left;
    }
    return sum;
}

/* Means over pairs, as sums that grow pair by pair: of K_ij at the smallest
 * gamma, and of (K_ii + K_jj) / 2 - K_ij at the largest one, which is half the
 * squared distance in feature space. */
struct spread {
    const struct klr_params *params; /* settled */
    struct klr_features x;
    struct klr_kernel kernel;
    double largest_gamma;
    double n, cost; /* examples; sum_i C_i at the largest C */
    uint64_t rows, others;
    double pairs, close, apart;
    bool differ; /* examples of a pair */
};

/* The mean of C_i at the largest C, if all classes had the largest weight. */
static double spread_mean_cost(const struct klr_problem *problem,
                               const struct klr_params *params)
{
    double weights = 0, most = 1;
    for (size_t i = 0; i < problem->n; i++)
        weights += params->example_weight ? params->example_weight[i] : 1;
    for (size_t i = 0; i < params->n_weights; i++)
        most = fmax(most, params->weight[i].weight);
    return most * weights / (double)problem->n *
           params->cost.value[params->cost.count - 1];
}

/* A kernel of products, at the largest gamma. */
static double spread_kernel(const struct spread *s, size_t i, size_t j)
{
    double product = s->largest_gamma * spread_product(&s->x, i, j);
    if (s->kernel.type == KLR_EXPONENTIAL)
        return exp(2 * product);
    product += s->kernel.coef0;
    return s->kernel.type == KLR_SIGMOID ? tanh(product)
                                         : pow(product, s->kernel.degree);
}

static bool spread_has_product(const struct spread *s)
{
    return s->kernel.type == KLR_POLYNOMIAL || s->kernel.type == KLR_SIGMOID ||
           s->kernel.type == KLR_EXPONENTIAL;
}

static void spread_see(struct spread *s, size_t i, size_t j)
{
    if (spread_has_product(s)) {
        double own = spread_kernel(s, i, i) + spread_kernel(s, j, j);
        s->close = HUGE_VAL;
        s->apart += fabs(own / 2 - spread_kernel(s, i, j));
        s->apart += DBL_EPSILON * fabs(own / 2); /* what rounding may hide */
        return;
    }
    bool squared = s->kernel.type != KLR_LAPLACIAN;
    double distance = spread_distance(&s->x, i, j, squared);
    if (s->kernel.type == KLR_LINEAR) {
        s->close = HUGE_VAL;
        s->apart += distance / 2;
    } else {
        s->close += exp(-s->kernel.gamma * distance);
        s->apart -= expm1(-s->largest_gamma * distance);
    }
}

/* That |u - v|^2 is 0 may come of underflow; |u - v|_1 is only if u = v. */
static void spread_see_row(struct spread *s, uint64_t row)
{
    uint64_t n = s->x.n, i = row * n / s->rows;
    for (uint64_t k = 0; k < s->others; k++) {
        uint64_t j = k * n / s->others;
        if (i == j)
            continue;
        spread_see(s, (size_t)i, (size_t)j);
        s->differ = s->differ ||
                    spread_distance(&s->x, (size_t)i, (size_t)j, false) > 0;
    }
}

/* K is nearly the identity. Where no pair is close, 3 may have been missed. */
static bool spread_is_far(const struct spread *s)
{
    const double missed = 3, alone = 1;
    return s->n * (s->close + missed) / s->pairs < alone;
}

/* By how much decision values can differ, about: sum_i |beta_i| times that of
 * rows of K. */
static double spread_reach(const struct spread *s)
{
    double apart = s->apart / s->pairs;
    if (s->params->model == KLR_MODEL_KFD)
        return HUGE_VAL; /* the means of the classes differ by 2 */
    if (s->params->model == KLR_MODEL_LHALF)
        return s->cost * sqrt(apart); /* beta = 1 / apart is worth its price */
    if (s->params->regularizer == KLR_REGULARIZER_COEF)
        return s->cost * apart * s->n * apart; /* beta = K alpha */
    return s->cost * apart;                    /* |beta_i| <= C_i */
}

/* K is nearly constant, for these C and n. */
static bool spread_is_near(const struct spread *s)
{
    const double equal = 0.5;
    return spread_reach(s) < equal;
}

/* The largest in size: some kernels take negative ones. */
static double spread_gamma(const struct klr_reals *gamma)
{
    double first = gamma->value[0], last = gamma->value[gamma->count - 1];
    return fabs(first) > fabs(last) ? first : last;
}

enum klr_spread klr_problem_spread(const struct klr_problem *problem,
                                   const struct klr_params *params)
{
    struct klr_params settled = params_settle(params);
    uint64_t n = problem->n;
    struct spread s = {
        .params = &settled,
        .x = problem_features(problem),
        .kernel = params_kernel(params, problem->dimension),
        .largest_gamma = spread_gamma(&params->gamma),
        .n = fmax((double)n, SPREAD_LEAST),
        .rows = n < SPREAD_ROWS ? n : SPREAD_ROWS,
        .others = n < SPREAD_OTHERS ? n : SPREAD_OTHERS,
    };
    if (isnan(s.largest_gamma) || s.largest_gamma == 0)
        s.largest_gamma = s.kernel.gamma;
    s.cost = s.n * spread_mean_cost(problem, &settled);
    if (n < 2 || s.kernel.type == KLR_PRECOMPUTED)
        return KLR_SPREAD_WELL;
    s.pairs = (double)(s.rows * (s.others - 1));
    for (uint64_t row = 0;
         row < s.rows && (spread_is_far(&s) || spread_is_near(&s)); row++)
        spread_see_row(&s, row);
    if (spread_is_far(&s))
        return KLR_SPREAD_FAR;
    if (!spread_is_near(&s))
        return KLR_SPREAD_WELL;
    return s.differ ? KLR_SPREAD_NEAR : KLR_SPREAD_SAME;
}

double klr_problem_unit_gamma(const struct klr_problem *problem,
                              enum klr_kernel_type kernel)
{
    const struct klr_features x = problem_features(problem);
    const uint64_t n = problem->n, others = 1000;
    uint64_t rows = n < SPREAD_ROWS ? n : SPREAD_ROWS;
    uint64_t columns = n < others ? n : others;
    double sum = 0, pairs = 0;
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t k = 0; k < columns; k++) {
            size_t i = (size_t)(r * n / rows), j = (size_t)(k * n / columns);
            sum += spread_distance(&x, i, j, kernel != KLR_LAPLACIAN);
            pairs += i != j;
        }
    return sum > 0 && isfinite(sum) ? pairs / sum : 1;
}
