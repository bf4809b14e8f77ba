/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses with their conjugates, and links from decision values to
 * probabilities.
 */
#ifndef KLR_SOLVER_LOSS_H
#define KLR_SOLVER_LOSS_H

#include "solver/params/params.h"

/* ---- losses and their conjugates: see loss.c ---- */

struct loss {
    enum klr_model_type model;
    double shift; /* lambda */
    double box;   /* box <= alpha_i <= C_i - box, of one example */
    double unit;  /* C_i of one example: one that stands for several has that
                     many times it; 0: each is one, whatever its C_i */
};

/* At the value `cost` of C. Where the parameters have no weights, one in a
 * sparse model's problem tells how many examples its example stands for. */
static struct loss loss_of(const struct klr_params *params, double cost);
/* How many examples one of C_i = cost stands for; their boxes together. */
static double loss_examples(const struct loss *loss, double cost);
static double loss_box(const struct loss *loss, double cost);
/* The lower end of alpha: the box, which a solver refuses where it is not less
 * than C_i / 2. An example of C_i = 0, which is left out, has alpha = 0. */
static double loss_least(const struct loss *loss, double cost);
/* D of alpha = 0, a bound of P; none with a box, which 0 is not in. */
static double least_dual(const struct loss *loss);
/* The loss at the margin y f of an example with C_i = cost; the alpha where its
 * dual is reached, for logistic losses. */
static double loss_value(const struct loss *loss, double margin, double cost);
static double loss_alpha(const struct loss *loss, double margin, double cost);
static double conjugate_value(const struct loss *loss, double alpha,
                              double cost);
static double conjugate_slope(const struct loss *loss, double alpha,
                              double cost);
static double conjugate_curvature(const struct loss *loss, double alpha,
                                  double cost);
/* An example of C_i = cost at a margin: of a logistic loss z = shift - margin,
 * log(1 + e^z) and log(1 + e^-z), which share a logarithm. */
struct loss_at {
    double cost, margin, z, up, down;
};
static struct loss_at loss_at(const struct loss *loss, double margin,
                              double cost);
/* Its loss_value. */
static double value_at(const struct loss *loss, const struct loss_at *at);
/* Its alpha: both shares, alpha and cost - alpha, and the logarithms of these
 * over the cost. */
struct dual_at {
    double alpha, rest, log_alpha, log_rest;
};
static struct dual_at dual_at(const struct loss *loss, double alpha,
                              double cost);
/* loss(margin) + psi(alpha) + alpha margin >= 0, without cancellation; infinite
 * for an alpha that psi is infinite for. */
static double excess_at(const struct loss *loss, const struct dual_at *d,
                        const struct loss_at *at);

/* ---- sums over examples, and losses of all of them: see losses.c ---- */

/* Adds to the first PART_SUMS of sum (PART_VALUES) what the examples begin <= i
 * < end are worth, and raises the others, which are maxima, -infinity at
 * first. */
enum { PART_SUMS = 4, PART_VALUES = 8 };
typedef void part_fn(const void *context, size_t begin, size_t end,
                     double *sum);
/* Over n examples, by the pool's threads or, where that is NULL, by this one:
 * the same bits. Nothing ends that early. */
static void sum_parts(struct klr_pool *pool, size_t n, part_fn *part,
                      const void *context, double *sum);

/* In such parts out = x + t y, (n) each; out may be x. */
static void add_parts(struct klr_pool *pool, size_t n, const double *x,
                      double t, const double *y, double *out);

/* n examples; u, g and the like of the following functions are (n) too. */
struct losses {
    const struct loss *loss;
    size_t n;
    const double *y, *cost; /* (n) C_i */
    struct klr_pool *pool;  /* as sum_parts has it */
};

/* sum_i loss_i(y_i (u_i - rho)); with 1/2 beta'u, u = K beta, P. */
static double losses_sum(const struct losses *all, const double *u, double rho);
static double primal_value(const struct losses *all, const double *beta,
                           const double *u, double rho);
/* The sums of the losses and of their conjugates at alpha. */
struct loss_sums {
    double losses, conjugates;
};
/* At u and rho, for logistic losses: g_i = y_i alpha_i and the curvature W_i of
 * the loss, 0 where the box cuts alpha off and the loss is linear. */
static struct loss_sums losses_gradient(const struct losses *all,
                                        const double *u, double rho, double *g,
                                        double *w);
/* argmin over rho of losses_sum, u = K beta, for logistic losses; `start` may
 * be near it. */
static double best_rho(const struct losses *all, const double *u, double start);
/* The threshold of a support vector machine from the dual point beta: the mean
 * over the examples on the margin. Without any, the middle of the range that
 * the other examples leave open, or `start` where beta is 0. */
static double hinge_rho(const struct losses *all, const double *beta,
                        const double *u, double start);
/* The losses at u and rho against their conjugates at g: the part of the gap
 * without K, and what it loses if each u_i is off by up to `error`. */
struct losses_gap {
    double excess; /* sum of excess_at, and |rho sum g|: 0 or more */
    double effect; /* how much more that may be */
    double blur;   /* deviation of losses_sum, for independent errors */
};
/* g NULL: blur alone. */
static struct losses_gap losses_gap(const struct losses *all, const double *u,
                                    double rho, const double *g, double error);

/* ---- links: from decision values to probabilities ---- */

static double sigmoid(double z); /* 1 / (1 + e^-z) */
/* That of z and of -z, each in its own accuracy. */
static void sigmoids(double z, double *p, double *rest);
static double softplus(double z); /* log(1 + e^z) */
/* p (k) = e^f / sum e^f; f may be p. Returns log sum e^f. */
static double softmax(size_t k, const double *f, double *p);
static void normalise(size_t k, double *p); /* to a sum of 1 */

enum link_kind { LINK_LOGISTIC, LINK_CONSISTENT, LINK_GAUSSIAN };

/* The log-odds of decision value f, with z = -(a f + b):
 *   logistic    z, so that p = 1 / (1 + exp(a f + b)), as LIBSVM has it
 *   consistent  log sigma(c + z) - log sigma(c - z)
 *   gaussian    z - c f^2 */
struct link {
    enum link_kind kind;
    double a, b, c;
};

/* As model files call them: "logistic", ..., NULL */
static const char *const model_link_names[] = {"logistic", "consistent",
                                               "gaussian", NULL};
/* The log-odds themselves, in the kind of an enum klr_link. */
static struct link link_neutral(int link);
/* Finite where f is, so that differences are numbers. */
static double link_log_odds(const struct link *link, double f);
/* How fast they change with f, about. */
static double link_slope(const struct link *link, double f);

/* ---- links that are fitted: see link_fit.c ---- */

/* Examples of two sides with their decision values. Models of several parts
 * differ in the level of their values from the one that is to have the link: by
 * `shift`, the root of the mean square; `aligned` are values less that. */
struct sides {
    size_t n;
    double *f, *y, *weight, *aligned; /* (n) */
    double shift;
};

enum { SIDES_ARRAYS = 4 };

/* A link that follows from the loss at that C; z loses `excess`. */
static struct link link_of_loss(const struct klr_params *params, double cost,
                                double excess);
/* Fit a link; it becomes the shares of both sides where the values leave it
 * open or speak against it. Where a side has no values, the shares are `size`,
 * those of the examples that the machine is trained on. Where a side has no
 * examples at all, the link is neutral. */
static struct link link_fit(const struct klr_params *params,
                            const struct sides *s, const double size[2],
                            double excess);

/* ---- the loss of a softmax: see softmax_loss.c ---- */

/* The losses of n examples, of decision values u - 1 rho', u (n, columns). */
struct softmax {
    size_t n, columns;
    const double *cost;          /* (n) C_i, the caller's */
    size_t *class;               /* (n) the column of y(i) */
    double *p;                   /* (columns) probabilities */
    double *slope, *step, *best; /* (columns) workspace of softmax_rho */
    double *w;                   /* (columns, columns) likewise */
};

/* All but the costs; free it in any case. */
static int softmax_create(struct softmax *sm, size_t n, size_t columns,
                          struct klr_error *err);
static void softmax_free(struct softmax *sm);
/* Examples with y > 0 are of class c. */
static void softmax_set_class(const struct softmax *sm, size_t c,
                              const double *y);
/* p of example i; returns its loss over C_i. */
static double softmax_row(const struct softmax *sm, size_t i, const double *u,
                          const double *rho);
/* [c = y(i)] - p_c, without cancellation. */
static double softmax_residual(const struct softmax *sm, size_t i, size_t c);
/* Their sum; the same with the best constant probabilities, which are the
 * shares of the classes in the costs, or equal ones without a bias. */
static double softmax_losses(const struct softmax *sm, const double *u,
                             const double *rho);
static double softmax_constant(const struct softmax *sm, bool bias);
/* rho (columns), from which the search may start, becomes the best for u. */
static void softmax_rho(const struct softmax *sm, const double *u, double *rho);

/* ---- Laplacians: see laplacian.c ---- */

/* Factor in place the Laplacian of a graph of k nodes with the symmetric
 * weights w (k, k) >= 0, whose diagonal is ignored; then solve with it. x (k),
 * of sum 0, becomes the solution of sum 0, which is 0 at isolated nodes. */
static void laplacian_factor(size_t k, double *w);
static void laplacian_solve(size_t k, const double *w, double *x);

#endif
