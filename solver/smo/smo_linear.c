/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A start for SMO where the kernel is linear, the loss is the hinge and rows
 * are sparse: coordinate descent that keeps w = sum_i beta_i x_i, so that a
 * step takes the features of one row (Hsieh et al. 2008). The constraint
 * sum beta = 0 has a multiplier b and a penalty, as the method of multipliers
 * (Hestenes 1969) has it:
 *
 *   1/2 |w|^2 - sum alpha + b sum beta + m/2 (sum beta)^2,  0 <= alpha <= C_i
 *
 * with m = mean K_ii; after each round b grows by m sum beta. What the rounds
 * leave of the sum is taken from examples that have room. SMO goes on from
 * there, with K beta as X w, and says when it ends.
 */
#include "solver/matrix/matrix.h"
#include "solver/smo/smo_parts.h"

enum { LINEAR_ROUNDS = 300 };

struct smo_linear {
    struct smo *smo;
    const size_t *start; /* rows of X */
    const int *feature;
    const double *x;
    size_t width;
    double *w;        /* (width) */
    size_t *order;    /* (n) of the examples in a round */
    double sum, b, m; /* sum beta; multiplier; penalty */
    double violation; /* the largest slope that was met in the round */
    uint64_t chance;
};

static bool smo_starts_linear(const struct smo *smo)
{
    return smo->loss.model == KLR_MODEL_SVM && leading_serves(smo->problem->op);
}

/* w += t x for the row at a position. */
static void linear_add(struct smo_linear *l, size_t row, double t)
{
    for (size_t q = l->start[row]; q < l->start[row + 1]; q++)
        l->w[l->feature[q]] += t * l->x[q];
}

static double linear_product(const struct smo_linear *l, size_t row)
{
    double sum = 0;
    for (size_t q = l->start[row]; q < l->start[row + 1]; q++)
        sum += l->w[l->feature[q]] * l->x[q];
    return sum;
}

/* The best alpha_i for those of all others. */
static void linear_step(struct smo_linear *l, struct smo_example *e)
{
    double u = linear_product(l, e->position) + l->b + l->m * l->sum;
    double slope = e->y * u - 1, curvature = e->diagonal + l->m;
    bool ends =
        (e->alpha <= 0 && slope >= 0) || (e->alpha >= e->cost && slope <= 0);
    if (ends || !(curvature > 0))
        return;
    l->violation = fmax(l->violation, fabs(slope));
    double alpha = fmin(fmax(e->alpha - slope / curvature, 0), e->cost);
    double t = e->y * (alpha - e->alpha);
    if (t == 0)
        return;
    e->alpha = alpha;
    l->sum += t;
    l->smo->progress.iterations++;
    linear_add(l, e->position, t);
}

/* Each example once, in random order. */
static void linear_round(struct smo_linear *l)
{
    const struct klr_progress *progress = &l->smo->progress;
    size_t n = l->smo->n;
    long long most = l->smo->problem->params->max_iter;
    l->violation = 0;
    for (size_t i = 0; i < n; i++) {
        if (most > 0 && progress->iterations >= most)
            break;
        size_t j = i + (size_t)(random_next(&l->chance) % (n - i)),
               k = l->order[j];
        l->order[j] = l->order[i];
        l->order[i] = k;
        linear_step(l, &l->smo->example[k]);
    }
    l->b += l->m * l->sum;
}

/* alpha of those with room, one by one, until sum beta = 0. */
static void linear_balance(struct smo_linear *l)
{
    for (size_t k = 0; k < l->smo->n && l->sum != 0; k++) {
        struct smo_example *e = &l->smo->example[k];
        double way = l->sum > 0 ? -1 : 1, room = smo_room(l->smo, e, way);
        double t = fmin(fabs(l->sum), room);
        if (t < room)
            e->alpha += e->y * way * t;
        else
            e->alpha = e->y * way > 0 ? e->cost : 0;
        l->sum += way * t;
    }
}

/* w for the alpha there are. */
static void linear_weights(struct smo_linear *l)
{
    memset(l->w, 0, l->width * sizeof *l->w);
    for (size_t k = 0; k < l->smo->n; k++) {
        const struct smo_example *e = &l->smo->example[k];
        if (e->alpha != 0)
            linear_add(l, e->position, e->y * e->alpha);
    }
}

static void linear_begin(struct smo_linear *l)
{
    const struct smo *smo = l->smo;
    for (size_t k = 0; k < smo->n; k++) {
        const struct smo_example *e = &smo->example[k];
        l->order[k] = k;
        l->sum += e->y * e->alpha;
        l->m += smo->single ? 0 : e->diagonal / (double)smo->n;
    }
    linear_weights(l);
}

/* Descend until no slope is larger than a quarter of what SMO allows for and
 * the sum is small, or the clock ends it. */
static void linear_descend(struct smo_linear *l)
{
    struct smo *smo = l->smo;
    const struct binary_problem *problem = smo->problem;
    bool near = false;
    for (int round = 0; round < LINEAR_ROUNDS && !near; round++) {
        if (clock_check(problem->clock, problem->params, &smo->progress, NULL,
                        NULL) != KLR_CONVERGED)
            break;
        linear_round(l);
        smo->progress.violation = l->violation;
        near = l->violation + fabs(l->m * l->sum) <= 0.25 * smo->eps;
    }
    if (!smo->single)
        linear_balance(l);
}

/* s = -X w, formed anew: no step has rounded it. */
static void linear_finish(struct smo_linear *l)
{
    struct smo *smo = l->smo;
    linear_weights(l);
    for (size_t k = 0; k < smo->n; k++)
        smo->s[k] = -linear_product(l, smo->example[k].position);
    smo->steps = -smo->progress.iterations;
}

static int smo_start_linear(struct smo *smo, struct klr_error *err)
{
    const struct klr_operator *op = smo->problem->op;
    struct smo_linear l = {.smo = smo, .width = klr_points_width(op->points)};
    klr_points_rows(op->points, &l.start, &l.feature, &l.x);
    l.w = klr_alloc(l.width, sizeof *l.w, err);
    l.order = klr_alloc(smo->n, sizeof *l.order, err);
    int code = l.w && l.order ? 0 : KLR_E_MEMORY;
    if (!code) {
        linear_begin(&l);
        linear_descend(&l);
        linear_finish(&l);
    }
    klr_free(l.w);
    klr_free(l.order);
    return code;
}
