/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel logistic regression with an l1/2 regularizer, after Xu, Peng & Jing,
 * Applied Intelligence 38 (2013), by the half thresholding of Xu, Chang, Xu &
 * Zhang, IEEE Transactions on Neural Networks and Learning Systems 23 (2012):
 *
 *   P(beta, rho) = sum_i C_i log(1 + e^(-y_i f_i)) + sum_j |beta_j|^(1/2),
 *   f = K beta - rho,  for any symmetric K; 1 / C is their lambda.
 *
 * rho is optimal for beta throughout, so the loss is a function of beta with
 * the gradient -K g, g_i = C_i y_i sigma(-y_i f_i). A step of half thresholding
 * takes each coefficient to the minimum over b of
 *
 *   (b - z)^2 / (2 eta) + |b|^(1/2),   z = beta + eta K g,
 *
 * which has a closed form and is 0 for |z| <= 54^(1/3) / 4 (2 eta)^(2/3). eta
 * is that of Barzilai and Borwein, halved until P falls by what a step of that
 * length must bring (Gong et al., ICML 2013). It begins at beta = 0.
 *
 * Thresholding finds a support long before the coefficients are right, since
 * the loss is as badly conditioned as K^2. So every hundred steps Newton's
 * method fits the largest coefficients that are not 0, in terms of
 * c_j = beta_j / d_j, d_j = 2^(1/2) |beta_j|^(3/4), where the regularizer has
 * the curvature -1/2, or, of the parabola in beta_j that touches it from above,
 * 1: whichever gives a direction that lowers P. Coefficients that would change
 * their sign become 0, and then those that P does not tell from 0. P never
 * rises. At the end
 *
 *   |1 + 2 |beta_j|^(1/2) sign(beta_j) (-K g)_j| <= eps   where beta_j != 0
 *
 * and thresholding and Newton's method change P no more. A coefficient of 0 is
 * stationary whatever the gradient.
 *
 * Most points that a step tries have few coefficients that are not 0: K times
 * these is a sum of columns of K, kept where the fits have the same in double.
 */
#include "solver/basis/basis.h"
#include "solver/matrix/matrix.h"

enum {
    LHALF_STEPS = 100, /* of thresholding, between fits */
    LHALF_FIT = 30,    /* steps of Newton's method */
    LHALF_MOST = 512,  /* coefficients that it fits, at most */
    LHALF_VECTORS = 10
};

struct lhalf {
    const struct binary_problem *problem;
    size_t n;
    struct loss loss;
    enum klr_precision precision; /* of products with K */
    struct klr_arena arena;       /* of all vectors below, (n) each */
    double *cost;                 /* C_i */
    double *beta, *u, *slope;     /* u = K beta; gradient -K g of the loss */
    double *next, *knext;         /* a step from beta, and K of it */
    double *last, *old;           /* beta and slope before */
    double *g, *root;             /* g; roots of the weights W */
    double *scale, *gradient;     /* (h.room) D; minus the gradient in c */
    double *direction;            /* (h.room) the Newton step in c */
    double *row;                  /* (h.room, n) 1 for rho, K of the support */
    size_t *member;               /* (h.room) local indices of its functions */
    struct columns columns;       /* of K, in the place of row */
    struct hessian h;             /* of the support */
    double rho;                   /* for beta */
    double eta;
    double fall; /* of P in the last round, relative to it */
    struct klr_progress progress;
};

/* ---- half thresholding ---- */

/* The minimum over b of (b - z)^2 / (2 eta) + |b|^(1/2): Xu et al. (2012), (16)
 * with lambda mu = 2 eta. */
static double half_threshold(double z, double eta)
{
    double lambda = 2 * eta, size = fabs(z), root = cbrt(lambda);
    if (!(size > 0.25 * cbrt(54) * root * root))
        return 0;
    double phi = acos(lambda / 8 * pow(size / 3, -1.5));
    return 2.0 / 3 * z * (1 + cos(2.0 / 3 * (acos(-1) - phi)));
}

/* P for beta and u, with the best rho. */
static double lhalf_objective(const struct lhalf *l, const double *beta,
                              const double *u, double *rho)
{
    struct losses all = problem_losses(l->problem, &l->loss, l->cost);
    *rho = l->h.unpenalised ? best_rho(&all, u, l->rho) : 0;
    double sum = losses_sum(&all, u, *rho);
    for (size_t i = 0; i < l->n; i++)
        sum += sqrt(fabs(beta[i]));
    return sum;
}

static bool lhalf_apply(struct lhalf *l, const double *v, double *out)
{
    const struct binary_problem *b = l->problem;
    return operator_apply(b->op, b->set, b->set, v, 1, l->precision, out);
}

/* g and the roots of W. */
static void lhalf_weigh(struct lhalf *l)
{
    struct losses all = problem_losses(l->problem, &l->loss, l->cost);
    losses_gradient(&all, l->u, l->rho, l->g, l->root);
    for (size_t i = 0; i < l->n; i++)
        l->root[i] = sqrt(l->root[i]);
}

static bool lhalf_slope(struct lhalf *l)
{
    lhalf_weigh(l);
    bool whole = lhalf_apply(l, l->g, l->slope);
    for (size_t i = 0; i < l->n; i++)
        l->slope[i] = -l->slope[i];
    return whole;
}

/* By how much a coefficient that is not 0 violates stationarity, where the loss
 * has that slope; relative to the slope of the regularizer. */
static double lhalf_excess(double beta, double slope)
{
    return fabs(1 + 2 * sqrt(fabs(beta)) * copysign(slope, beta * slope));
}

static double lhalf_violation(const struct lhalf *l)
{
    double most = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->beta[i] != 0)
            most = fmax(most, lhalf_excess(l->beta[i], l->slope[i]));
    return most;
}

/* The point that was tried becomes beta; u there is known. */
static void lhalf_accept(struct lhalf *l, double objective, double rho)
{
    size_t bytes = l->n * sizeof *l->beta;
    memcpy(l->last, l->beta, bytes);
    memcpy(l->old, l->slope, bytes);
    memcpy(l->beta, l->next, bytes);
    memcpy(l->u, l->knext, bytes);
    l->progress.objective = objective;
    l->rho = rho;
}

/* False where no step moves beta and lowers P, or the clock ends a product. */
static bool lhalf_step(struct lhalf *l)
{
    const double share = 1e-4, least = 1e-18;
    for (double first = l->eta; l->eta > least * first; l->eta /= 2) {
        double change = 0, rho;
        for (size_t i = 0; i < l->n; i++) {
            double z = l->beta[i] - l->eta * l->slope[i];
            l->next[i] = half_threshold(z, l->eta);
            change += (l->next[i] - l->beta[i]) * (l->next[i] - l->beta[i]);
        }
        if (change == 0)
            return false;
        if (!columns_multiply(&l->columns, l->next, l->knext) &&
            !lhalf_apply(l, l->next, l->knext))
            return false;
        double objective = lhalf_objective(l, l->next, l->knext, &rho);
        if (objective <=
            l->progress.objective - share * change / (2 * l->eta)) {
            lhalf_accept(l, objective, rho);
            return true;
        }
    }
    return false;
}

/* Barzilai & Borwein, from the last step. */
static void lhalf_lengthen(struct lhalf *l)
{
    double square = 0, product = 0;
    for (size_t i = 0; i < l->n; i++) {
        double d = l->beta[i] - l->last[i];
        square += d * d;
        product += d * (l->slope[i] - l->old[i]);
    }
    l->eta = product > 0 ? square / product : 2 * l->eta;
}

/* next = slope over a power of 2, near 1: squares of large ones overflow. */
static void lhalf_direct(struct lhalf *l)
{
    double most = 0;
    int exponent;
    for (size_t i = 0; i < l->n; i++)
        most = fmax(most, fabs(l->slope[i]));
    frexp(most, &exponent);
    for (size_t i = 0; i < l->n; i++)
        l->next[i] = ldexp(l->slope[i], -exponent);
}

/* Choose the first step: a good many times the one to the minimum of the loss
 * along its gradient. The longest that lowers P will be taken. */
static bool lhalf_begin(struct lhalf *l)
{
    const double times = 64;
    double curvature = 0;
    if (!lhalf_slope(l))
        return false;
    lhalf_direct(l);
    if (!lhalf_apply(l, l->next, l->knext))
        return false;
    for (size_t i = 0; i < l->n; i++)
        curvature += (l->root[i] * l->knext[i]) * (l->root[i] * l->knext[i]);
    l->eta = times * dot(l->n, l->next, l->next) / curvature;
    return true;
}

/* ---- the fit of the support ---- */

static size_t lhalf_room(size_t n)
{
    return 1 + (n < LHALF_MOST ? n : LHALF_MOST);
}

/* The bytes of the functions of the fit, without that of rho. */
static size_t lhalf_functions_bytes(size_t n)
{
    return (lhalf_room(n) - 1) * n * sizeof(double);
}

static int compare_sizes(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left < right) - (left > right);
}

/* The size from which on there is room for coefficients in a fit. */
static double lhalf_least(struct lhalf *l)
{
    double *size = l->next;
    if (l->h.room - l->h.unpenalised >= l->n)
        return 0;
    for (size_t i = 0; i < l->n; i++)
        size[i] = fabs(l->beta[i]);
    qsort(size, l->n, sizeof *size, compare_sizes);
    return size[l->h.room - l->h.unpenalised - 1];
}

/* The functions of the fit: of the largest coefficients that are not 0. */
static bool lhalf_collect(struct lhalf *l)
{
    const struct binary_problem *b = l->problem;
    double least = lhalf_least(l);
    l->h.rank = l->h.unpenalised;
    for (size_t i = 0; i < l->n && l->h.rank < l->h.room; i++)
        if (l->beta[i] != 0 && fabs(l->beta[i]) >= least)
            l->member[l->h.rank++] = i;
    for (size_t k = l->h.unpenalised; k < l->h.rank; k++)
        if (!operator_row(b->op, b->set, l->member[k], l->row + k * l->n))
            return false;
    return true;
}

/* knext = K next, which differs from beta on the functions of the fit. */
static void lhalf_combine(const struct lhalf *l)
{
    memcpy(l->knext, l->u, l->n * sizeof *l->u);
    for (size_t k = l->h.unpenalised; k < l->h.rank; k++) {
        size_t member = l->member[k];
        const double *row = l->row + k * l->n;
        double change = l->next[member] - l->beta[member];
        for (size_t i = 0; i < l->n; i++)
            l->knext[i] += change * row[i];
    }
}

/* Functions whose coefficient has become 0 are left out. */
static void lhalf_compress(struct lhalf *l)
{
    size_t kept = l->h.unpenalised;
    for (size_t k = l->h.unpenalised; k < l->h.rank; k++) {
        if (l->beta[l->member[k]] == 0)
            continue;
        if (k > kept)
            memcpy(l->row + kept * l->n, l->row + k * l->n,
                   l->n * sizeof *l->row);
        l->member[kept++] = l->member[k];
    }
    l->h.rank = kept;
}

/* Weights, D, minus the gradient in terms of c, and how far beta is from
 * stationary. */
static double lhalf_gradient(struct lhalf *l)
{
    double most = 0;
    lhalf_weigh(l);
    for (size_t k = 0; k < l->h.rank; k++) {
        double slope = -dot(l->n, l->row + k * l->n, l->g), beta;
        l->scale[k] = 1;
        l->gradient[k] = -slope;
        if (k < l->h.unpenalised)
            continue;
        beta = l->beta[l->member[k]];
        most = fmax(most, lhalf_excess(beta, slope));
        l->scale[k] = sqrt(2) * pow(fabs(beta), 0.75);
        slope += copysign(0.5 / sqrt(fabs(beta)), beta);
        l->gradient[k] = -l->scale[k] * slope;
    }
    return most;
}

/* The first of t = 1, 1/2, 1/4 ... that lowers P. */
static bool lhalf_search(struct lhalf *l)
{
    memcpy(l->next, l->beta, l->n * sizeof *l->beta);
    for (double t = 1; t > 1e-6; t /= 2) {
        double rho;
        for (size_t k = l->h.unpenalised; k < l->h.rank; k++) {
            size_t i = l->member[k];
            double next = l->beta[i] + t * l->scale[k] * l->direction[k];
            l->next[i] = next * l->beta[i] > 0 ? next : 0;
        }
        lhalf_combine(l);
        double objective = lhalf_objective(l, l->next, l->knext, &rho);
        if (objective < l->progress.objective) {
            lhalf_accept(l, objective, rho);
            return true;
        }
    }
    return false;
}

/* A step with the curvature `shift` of the regularizer; false if there is none
 * that lowers P. */
static bool lhalf_newton(struct lhalf *l, double shift)
{
    if (!hessian_factor(&l->h, shift))
        return false;
    memcpy(l->direction, l->gradient, l->h.rank * sizeof *l->gradient);
    hessian_forward(&l->h, l->direction);
    hessian_backward(&l->h, l->direction);
    return lhalf_search(l);
}

/* Coefficients of the fit that shrink towards 0 become 0 where P cannot tell.
 */
static void lhalf_drop(struct lhalf *l)
{
    const double rounding = 1e-15, objective = l->progress.objective;
    double rho;
    memcpy(l->next, l->beta, l->n * sizeof *l->beta);
    for (size_t k = l->h.unpenalised; k < l->h.rank; k++) {
        double *next = &l->next[l->member[k]];
        if (sqrt(fabs(*next)) < rounding * objective)
            *next = 0;
    }
    lhalf_combine(l);
    double dropped = lhalf_objective(l, l->next, l->knext, &rho);
    if (dropped <= objective * (1 + rounding))
        lhalf_accept(l, dropped, rho);
}

/* Newton's method on the support. The slope is not up to date afterwards. */
static void lhalf_fit(struct lhalf *l)
{
    if (!lhalf_collect(l))
        return;
    for (int step = 0; step < LHALF_FIT && l->h.rank > l->h.unpenalised;
         step++) {
        if (lhalf_gradient(l) <= 0.01 * l->progress.target)
            break;
        if (!hessian_form(&l->h))
            break;
        if (!lhalf_newton(l, -0.5) && !lhalf_newton(l, 1))
            break;
        lhalf_compress(l);
    }
    lhalf_drop(l);
}

/* ---- rounds ---- */

static enum klr_status lhalf_steps(struct lhalf *l)
{
    enum klr_status status = KLR_CONVERGED;
    columns_forget(&l->columns);
    bool begun = lhalf_begin(l);
    for (int step = 0; step < LHALF_STEPS && begun; step++) {
        status = clock_check(l->problem->clock, l->problem->params,
                             &l->progress, NULL, NULL);
        if (status != KLR_CONVERGED || !lhalf_step(l))
            break;
        l->progress.iterations++;
        if (!lhalf_slope(l))
            break;
        lhalf_lengthen(l);
    }
    return gravest(status, l->problem->clock->status);
}

/* u of the entries of the precision, unless the clock ends that. */
static bool lhalf_refresh(struct lhalf *l)
{
    if (!lhalf_apply(l, l->beta, l->knext))
        return false;
    memcpy(l->u, l->knext, l->n * sizeof *l->u);
    return true;
}

/* Until a round lowers P no more. */
static enum klr_status lhalf_descend(struct lhalf *l)
{
    const double idle = 1e-7, nothing = 1e-12;
    for (;;) {
        double before = l->progress.objective;
        enum klr_status status = lhalf_steps(l);
        if (status != KLR_CONVERGED)
            return status;
        l->precision = KLR_DOUBLE; /* u has gathered the errors of floats */
        if (!lhalf_refresh(l))
            return l->problem->clock->status;
        l->progress.objective = lhalf_objective(l, l->beta, l->u, &l->rho);
        lhalf_fit(l);
        if (!lhalf_slope(l))
            return l->problem->clock->status;
        l->precision = KLR_FLOAT;
        l->progress.violation = lhalf_violation(l);
        double fall = before - l->progress.objective;
        l->fall = fall / before;
        bool well = l->progress.violation <= l->progress.target;
        if (well && fall <= idle * before)
            return KLR_CONVERGED;
        if (fall <= nothing * before)
            return KLR_PRECISION_LIMIT;
    }
}

/* ---- start and end ---- */

static double lhalf_bytes(size_t n)
{
    size_t room = lhalf_room(n);
    return hessian_bytes(n, room) + columns_bytes(n, lhalf_functions_bytes(n)) +
           ((double)n * (double)(room + LHALF_VECTORS) + 3.0 * (double)room) *
               sizeof(double);
}

static int lhalf_create(struct lhalf *l, const struct binary_problem *problem,
                        struct klr_error *err)
{
    struct klr_arena *arena = &l->arena;
    size_t n = problem->n, room = lhalf_room(n);
    *l = (struct lhalf){.problem = problem, .n = n};
    double **const vector[LHALF_VECTORS] = {
        &l->cost,  &l->beta, &l->u,   &l->slope, &l->next,
        &l->knext, &l->last, &l->old, &l->g,     &l->root};
    double **const fit[] = {&l->scale, &l->gradient, &l->direction};
    if (klr_take_vectors(arena, n, vector, LHALF_VECTORS, err) ||
        klr_take_vectors(arena, room, fit, 3, err) ||
        !KLR_TAKE(arena, l->row, room, n, err) ||
        !KLR_TAKE(arena, l->member, room, 1, err))
        return KLR_E_MEMORY;
    l->h = (struct hessian){.n = n,
                            .unpenalised = !problem->params->no_bias,
                            .basis = l->row,
                            .pitch = n,
                            .root = l->root,
                            .scale = l->scale,
                            .pool = problem->op->pool,
                            .dense = klr_dense()};
    for (size_t i = 0; i < n; i++)
        l->row[i] = 1;
    int code = hessian_alloc(&l->h, room, err);
    if (!code)
        code = columns_alloc(&l->columns, problem_matrix(problem),
                             lhalf_functions_bytes(n), arena, err);
    l->columns.value = (float *)(void *)(l->row + n);
    return code;
}

static void lhalf_free(struct lhalf *l)
{
    hessian_free(&l->h);
    klr_arena_free(&l->arena);
}

/* At 0, whatever came before. */
static void lhalf_start(struct lhalf *l, double c)
{
    const struct binary_problem *b = l->problem;
    l->loss = loss_of(b->params, c);
    l->precision = KLR_FLOAT;
    l->progress =
        (struct klr_progress){.target = b->params->eps, .violation = INFINITY};
    for (size_t i = 0; i < l->n; i++) {
        l->cost[i] = c * b->weight[i];
        l->beta[i] = l->u[i] = 0;
    }
    l->rho = 0;
    l->fall = NAN;
    l->progress.objective = lhalf_objective(l, l->beta, l->u, &l->rho);
}

static int lhalf_finish(const struct lhalf *l, double c, enum klr_status status,
                        struct solution *solution, struct klr_error *err)
{
    struct point point = {
        .c = c,
        .status = status,
        .iterations = l->progress.iterations,
        .fall = l->fall,
        .beta = l->beta,
        .rho = l->rho,
        .u = clock_stopped(l->problem->clock) ? l->u : NULL,
        .precision = KLR_DOUBLE,
        .dual = DUAL_NONE,
        .least = NAN,
        .bound = INFINITY,
    };
    return point_finish(l->problem, &point, solution, err);
}

/* Each C begins at 0: supports of another C would linger. */
static int lhalf_solve(const struct binary_problem *problem,
                       struct solution *solution, struct klr_error *err)
{
    const struct klr_reals *cost = &problem->params->cost;
    struct lhalf l;
    int code = lhalf_create(&l, problem, err);
    for (size_t t = 0; t < cost->count && !code; t++) {
        clock_path(problem->clock, t, cost->count);
        lhalf_start(&l, cost->value[t]);
        enum klr_status status = lhalf_descend(&l);
        code = lhalf_finish(&l, cost->value[t], status, &solution[t], err);
    }
    lhalf_free(&l);
    return code;
}
