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

static double softmax_primal(const struct newton *nt, const double *beta,
                             const double *u, const double *rho)
{
    return 0.5 * dot(nt->size, beta, u) + softmax_losses(nt->softmax, u, rho);
}

static void softmax_thresholds(const struct newton *nt, const double *u,
                               double *rho)
{
    softmax_rho(nt->softmax, u, rho);
}

/* ---- the dual point ---- */

static void softmax_gradient(struct newton *nt)
{
    const struct softmax *sm = nt->softmax;
    size_t k = nt->columns;
    nt->conjugate = 0;
    for (size_t i = 0; i < nt->n; i++) {
        double cost = nt->cost[i], loss = softmax_row(sm, i, nt->u, nt->rho);
        const double *u = nt->u + i * k;
        size_t y = sm->class[i];
        nt->conjugate -= cost * loss;
        for (size_t c = 0, at = i * k; c < k; c++, at++) {
            nt->g[at] = cost * softmax_residual(sm, i, c);
            nt->s[at] = sqrt(cost * sm->p[c]);
            nt->e[at] = nt->beta[at] - nt->g[at];
            nt->conjugate -=
                nt->g[at] * (u[c] - u[y] - (nt->rho[c] - nt->rho[y]));
        }
    }
}

/* ---- the answer ---- */

/* The loss of i changes by C_i d^2 / 2 at most where it was least, if all of
 * its decision values err by d. Sums of K G, `error_g` off, are in the gap by
 * themselves if the answer is not G. */
static struct certificate softmax_certificate(const struct newton *nt,
                                              double error, double error_g)
{
    bool dual = newton_answer_is_dual(nt);
    const double *beta = dual ? nt->g : nt->beta;
    double primal = dual ? nt->primal_g : nt->primal, total = 0;
    double apart = dual ? 0 : error_g * sqrt(dot(nt->size, nt->g, nt->g));
    for (size_t i = 0; i < nt->n; i++)
        total += nt->cost[i];
    return (struct certificate){
        .primal = primal,
        .gap = primal - nt->dual,
        .target = nt->eps * fabs(primal),
        .effect = 0.5 * total * error * error + apart,
        .blur =
            nt->problem->whole ? error * sqrt(dot(nt->size, beta, beta)) : 0,
        .constant = softmax_constant(nt->softmax, nt->bias),
        .asked = true,
    };
}

static void softmax_column(const struct newton *nt, const double *from,
                           size_t c, double *out)
{
    for (size_t i = 0; i < nt->n; i++)
        out[i] = from[i * nt->columns + c];
}

static int softmax_finish(const struct newton *nt, size_t t,
                          enum klr_status status,
                          struct solution *const *solution,
                          struct klr_error *err)
{
    bool dual = newton_answer_is_dual(nt);
    const double *from = dual ? nt->g : nt->beta;
    const double *u = dual ? nt->kg : nt->u;
    enum klr_precision precision =
        operator_precision(nt->problem->op, nt->coarsest_reliable);
    double size = kernel_size(nt->problem, nt->x), error = 0, error_g = 0;
    (void)err;
    for (size_t c = 0; c < nt->columns; c++) {
        struct solution *s = &solution[c][t];
        softmax_column(nt, nt->g, c, s->beta);
        error_g = fmax(
            error_g, decision_rounding(nt->problem, s->beta, size, KLR_DOUBLE));
        softmax_column(nt, from, c, s->beta);
        *s = (struct solution){
            .beta = s->beta,
            .rho = dual ? nt->rho_g[c] : nt->rho[c],
            .fall = NAN,
            .precision = precision,
            .status = status,
        };
        error = fmax(error,
                     decision_rounding(nt->problem, s->beta, size, precision) +
                         value_rounding(nt->size, u, s->rho));
    }
    struct certificate certificate = softmax_certificate(nt, error, error_g);
    struct solution *first = &solution[0][t];
    first->iterations = nt->progress.iterations;
    first->fall = nt->fall / nt->primal;
    first->size = size;
    certify(first, &certificate);
    return 0;
}

static const struct newton_functions softmax_functions = {
    softmax_primal, softmax_thresholds, softmax_gradient, NULL, softmax_finish};

/* ---- start and end ---- */

static double softmax_bytes(size_t n, size_t columns)
{
    double size = (double)n * (double)columns * NEWTON_VECTORS * sizeof(double);
    return size + (double)n * sizeof(size_t) + direction_bytes(n, columns);
}

static int softmax_solve(const struct binary_problem *problems, size_t columns,
                         struct solution *const *solution,
                         struct klr_error *err)
{
    struct newton nt;
    struct softmax sm;
    int code = softmax_create(&sm, problems->n, columns, err);
    int failed = newton_create(&nt, problems, columns, err);
    if (code || (code = failed))
        goto done;
    for (size_t c = 0; c < columns; c++)
        softmax_set_class(&sm, c, problems[c].y);
    sm.cost = nt.cost;
    nt.functions = &softmax_functions;
    nt.softmax = &sm;
    code = newton_run(&nt, solution, err);
done:
    newton_free(&nt);
    softmax_free(&sm);
    return code;
}
