/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multinomial kernel logistic regression: the machines of all classes c as one
 * problem, by the Newton method of newton.c on a column of coefficients each,
 *
 *   minimise  P(B, rho) = 1/2 sum_c b_c'K b_c
 *                         + sum_i C_i [log sum_c exp(f_ic) - f_i,y(i)],
 *             F = K B - 1 rho',  B (n, k), rho (k)
 *
 * With p_i the probabilities of example i, g_ic = C_i ([c = y(i)] - p_ic) and
 * P' = K (B - G) where rho is optimal: then sum_i g_ic = 0 for all c, and G is
 * a feasible point of the dual,
 *
 *   maximise  D(G) = -1/2 sum_c g_c'K g_c - sum_i C_i sum_c p_ic log p_ic
 *
 * over p_i in the simplex, P* = D*. Numbers added to all f_ic of an example
 * change nothing in the loss: the regularizer makes sum_c b_c = 0, which G has
 * in exact arithmetic, and sum_c rho_c = 0 is chosen.
 *
 * For two classes f_1 - f_2 = 2 K b_1 - (rho_1 - rho_2) and P is half the
 * objective of ordinary kernel logistic regression at 2 C.
 */
#include "solver/newton/newton_parts.h"

/* Data that the columns share. */
struct softmax {
    const size_t *class;             /* (n) the column of y(i) */
    double *p;                       /* (columns) probabilities */
    double *slope, *step, *best, *w; /* of softmax_rho: (columns); w squared */
};

enum {
    SOFTMAX_VECTORS = 4,
    SOFTMAX_FAR = 10 /* thresholds change by no more at once, at first */
};

/* p_i, and the loss of i over C_i: from decision values less that of y(i), so
 * that a small loss has all its digits. */
static double softmax_row(const struct newton *nt, size_t i, const double *u,
                          const double *rho)
{
    const struct softmax *sm = nt->softmax;
    size_t k = nt->columns, y = sm->class[i];
    const double *row = u + i * k;
    for (size_t c = 0; c < k; c++)
        sm->p[c] = row[c] - row[y] - (rho[c] - rho[y]);
    return softmax(k, sm->p, sm->p);
}

/* g_ic from p, without cancellation. */
static double softmax_residual(const struct softmax *sm, size_t k, size_t i,
                               size_t c)
{
    double sum = 0;
    if (c != sm->class[i])
        return -sm->p[c];
    for (size_t b = 0; b < k; b++)
        sum += b == c ? 0 : sm->p[b];
    return sum;
}

static double softmax_primal(const struct newton *nt, const double *beta,
                             const double *u, const double *rho)
{
    double sum = 0;
    for (size_t i = 0; i < nt->n; i++)
        sum += nt->cost[i] * softmax_row(nt, i, u, rho);
    return 0.5 * dot(nt->size, beta, u) + sum;
}

/* ---- thresholds ---- */

/* The loss at rho, its slope and Hessian, a Laplacian. Returns the largest
 * element of the slope. */
static double softmax_slope(const struct newton *nt, const double *u,
                            const double *rho, double *loss)
{
    const struct softmax *sm = nt->softmax;
    size_t k = nt->columns;
    double most = 0;
    memset(sm->slope, 0, k * sizeof *sm->slope);
    memset(sm->w, 0, k * k * sizeof *sm->w);
    *loss = 0;
    for (size_t i = 0; i < nt->n; i++) {
        double cost = nt->cost[i];
        *loss += cost * softmax_row(nt, i, u, rho);
        for (size_t a = 0; a < k; a++) {
            double weight = cost * sm->p[a];
            sm->slope[a] += cost * softmax_residual(sm, k, i, a);
            for (size_t b = a + 1; b < k; b++)
                sm->w[a * k + b] += weight * sm->p[b];
        }
    }
    for (size_t c = 0; c < k; c++)
        most = fmax(most, fabs(sm->slope[c]));
    return most;
}

/* The Newton step of a Laplacian with a little more weight on all edges: far
 * from the optimum, where probabilities are 0 and 1 and the loss is all but
 * linear, it is `far` at most; near it the weight vanishes with the slope. */
static void softmax_newton(const struct softmax *sm, size_t k, double slope,
                           double far)
{
    for (size_t a = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++)
            sm->w[a * k + b] += slope / (far * (double)k);
    laplacian_factor(k, sm->w);
    memcpy(sm->step, sm->slope, k * sizeof *sm->step);
    laplacian_solve(k, sm->w, sm->step);
}

/* By Newton's method with halved steps. The loss is convex in rho; near the
 * optimum, where it changes no more, the slope tells whether a step is good. */
static void softmax_rho(const struct newton *nt, const double *u, double *rho)
{
    enum { STEPS = 200, HALVINGS = 30 };
    const struct softmax *sm = nt->softmax;
    size_t k = nt->columns;
    double far = SOFTMAX_FAR, total = 0;
    double loss, slope = softmax_slope(nt, u, rho, &loss);
    for (size_t i = 0; i < nt->n; i++)
        total += nt->cost[i];
    for (int step = 0; step < STEPS && slope > 1e-15 * total; step++) {
        double length = 2, next = INFINITY, change = 0, old = loss;
        softmax_newton(sm, k, slope, far);
        memcpy(sm->best, rho, k * sizeof *rho);
        for (int half = 0; half < HALVINGS; half++) {
            length /= 2;
            for (size_t c = 0; c < k; c++)
                rho[c] = sm->best[c] - length * sm->step[c];
            next = softmax_slope(nt, u, rho, &loss);
            change = loss - old;
            if (change < 0 || next < slope)
                break;
        }
        if (!(change < 0 || next < slope)) {
            memcpy(rho, sm->best, k * sizeof *rho);
            break;
        }
        slope = next;
        far *= length == 1 ? 2 : length;
    }
}

/* ---- the dual point ---- */

static void softmax_gradient(struct newton *nt)
{
    const struct softmax *sm = nt->softmax;
    size_t k = nt->columns;
    nt->conjugate = 0;
    for (size_t i = 0; i < nt->n; i++) {
        double cost = nt->cost[i], loss = softmax_row(nt, i, nt->u, nt->rho);
        const double *u = nt->u + i * k;
        size_t y = sm->class[i];
        nt->conjugate -= cost * loss;
        for (size_t c = 0, at = i * k; c < k; c++, at++) {
            nt->g[at] = cost * softmax_residual(sm, k, i, c);
            nt->s[at] = sqrt(cost * sm->p[c]);
            nt->e[at] = nt->beta[at] - nt->g[at];
            nt->conjugate -=
                nt->g[at] * (u[c] - u[y] - (nt->rho[c] - nt->rho[y]));
        }
    }
}

/* ---- the answer ---- */

/* Without a kernel the best probabilities are the shares of the classes in the
 * costs, or equal ones without a bias. */
static double softmax_constant(const struct newton *nt)
{
    const struct softmax *sm = nt->softmax;
    double *share = sm->slope, total = 0, sum = 0;
    memset(share, 0, nt->columns * sizeof *share);
    for (size_t i = 0; i < nt->n; i++) {
        share[sm->class[i]] += nt->cost[i];
        total += nt->cost[i];
    }
    if (!nt->bias)
        return total * log((double)nt->columns);
    for (size_t c = 0; c < nt->columns; c++)
        sum -= share[c] > 0 ? share[c] * log(share[c] / total) : 0;
    return sum;
}

/* The loss of i changes by C_i d^2 / 2 at most where it was least, if all of
 * its decision values err by d. */
static struct certificate softmax_certificate(const struct newton *nt,
                                              double error)
{
    bool dual = newton_answer_is_dual(nt);
    const double *beta = dual ? nt->g : nt->beta;
    double primal = dual ? nt->primal_g : nt->primal, total = 0;
    for (size_t i = 0; i < nt->n; i++)
        total += nt->cost[i];
    return (struct certificate){
        .primal = primal,
        .gap = primal - nt->dual,
        .target = nt->eps * fabs(primal),
        .effect = 0.5 * total * error * error,
        .blur =
            nt->problem->whole ? error * sqrt(dot(nt->size, beta, beta)) : 0,
        .constant = softmax_constant(nt),
        .asked = true,
    };
}

static int softmax_finish(const struct newton *nt, size_t t,
                          enum klr_status status,
                          struct solution *const *solution,
                          struct klr_error *err)
{
    bool dual = newton_answer_is_dual(nt);
    const double *from = dual ? nt->g : nt->beta;
    double size = kernel_size(nt->problem, nt->x), error = 0;
    (void)err;
    for (size_t c = 0; c < nt->columns; c++) {
        struct solution *s = &solution[c][t];
        for (size_t i = 0; i < nt->n; i++)
            s->beta[i] = from[i * nt->columns + c];
        *s = (struct solution){
            .beta = s->beta,
            .rho = dual ? nt->rho_g[c] : nt->rho[c],
            .fall = NAN,
            .precision = nt->coarsest_reliable,
            .status = status,
        };
        error = fmax(error, decision_rounding(nt->problem, s->beta, size,
                                              nt->coarsest_reliable));
    }
    struct certificate certificate = softmax_certificate(nt, error);
    struct solution *first = &solution[0][t];
    first->iterations = nt->progress.iterations;
    first->fall = nt->fall / nt->primal;
    first->size = size;
    certify(first, &certificate);
    return 0;
}

static const struct newton_functions softmax_functions = {
    softmax_primal, softmax_rho, softmax_gradient, NULL, softmax_finish};

/* ---- start and end ---- */

static double softmax_bytes(size_t n, size_t columns)
{
    double size = (double)n * (double)columns * NEWTON_VECTORS * sizeof(double);
    return size + (double)n * sizeof(size_t) + direction_bytes(n, columns);
}

/* The column in which each example is positive. */
static void softmax_classes(const struct binary_problem *problems,
                            size_t columns, size_t *class)
{
    for (size_t c = 0; c < columns; c++)
        for (size_t i = 0; i < problems->n; i++)
            if (problems[c].y[i] > 0)
                class[i] = c;
}

static int softmax_solve(const struct binary_problem *problems, size_t columns,
                         struct solution *const *solution,
                         struct klr_error *err)
{
    struct newton nt;
    size_t *class = klr_zalloc(problems->n, sizeof *class, err);
    double *store =
        klr_alloc((columns + SOFTMAX_VECTORS) * columns, sizeof *store, err);
    int code = newton_create(&nt, problems, columns, err);
    if (!class || !store)
        code = KLR_E_MEMORY;
    if (code)
        goto done;
    struct softmax sm = {
        .class = class,
        .p = store,
        .slope = store + columns,
        .step = store + 2 * columns,
        .best = store + 3 * columns,
        .w = store + SOFTMAX_VECTORS * columns,
    };
    softmax_classes(problems, columns, class);
    nt.functions = &softmax_functions;
    nt.softmax = &sm;
    code = newton_run(&nt, solution, err);
done:
    newton_free(&nt);
    klr_free(class);
    klr_free(store);
    return code;
}
