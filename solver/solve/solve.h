/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every solver is given a binary problem and fills in solutions, within the
 * limits of a clock.
 */
#ifndef KLR_SOLVER_SOLVE_H
#define KLR_SOLVER_SOLVE_H

#include "solver/gram/gram.h"
#include "solver/loss/loss.h"

/* ---- binary problems ---- */

/* min 1/2 beta'K beta + sum_i loss_i(y_i f_i), over the examples `set` of the
 * operator, local index 0..n-1 in their order; for each C of params->cost. */
struct binary_problem {
    struct klr_operator *op;
    struct klr_set set;
    size_t n;
    const double *y;      /* (n) +1 or -1 */
    const double *weight; /* (n) C_i / C */
    const bool *given;    /* (n) its kernel is in the expansion; NULL: greedy
                             solvers choose */
    const struct klr_params *params;
    struct clock *clock;
    bool whole; /* of the training set, not of folds or parts of it */
    bool part;  /* without a part, whose decision values a link is fitted to */
};

/* The losses of its examples, of C_i in cost (n). */
static struct losses problem_losses(const struct binary_problem *problem,
                                    const struct loss *loss,
                                    const double *cost);
/* KLR_E_USAGE if the box admits no alpha with sum beta = 0, at the value `c` of
 * C. */
static int problem_check_box(const struct binary_problem *problem,
                             const struct loss *loss, double c,
                             struct klr_error *err);
/* K of its examples. */
static struct submatrix problem_matrix(const struct binary_problem *problem);
/* True where K is taken to be at hand: folds share it, and it is of so few
 * examples that its tiles take 100 MB. Whatever -m says: the rank must not
 * depend on it. */
static bool problem_shares_tiles(const struct binary_problem *problem);

struct solution {
    double *beta;  /* (n), owned by the caller */
    double *shift; /* (n) the caller's, or NULL: not wanted. What leaving out an
                      example changes its decision value by, of solvers with
                      LEAVE_OUT_SOLVER */
    double rho;
    double primal, dual;
    double lambda_bound; /* where params ask for it */
    long long iterations;
    double flops;                 /* of preconditioners */
    double fall;                  /* of the objective in the last step,
                                     relative to it; NaN: not known */
    double size;                  /* max |K_ij| */
    enum klr_precision precision; /* of the entries behind the objectives */
    enum klr_status status;
    enum klr_doubt doubt;          /* why it is not KLR_CONVERGED */
    enum klr_status link_status;   /* of what its link is fitted to */
    struct klr_basis_report basis; /* points: 0 but for klr on a basis */
    enum klr_note_kind note; /* why it is the shares of both sides, if so */
    enum klr_note_kind link_note; /* the same of what its link is fitted to */
};

/* Time, interruption and progress of a whole run. */
struct clock {
    double begin, next_report;
    size_t problem, problems;
    size_t unit;            /* of these are reported as one, all of a softmax;
                               0: each */
    double work, total;     /* of the problems begun, and of all, in squares of
                           their examples; 0: not known */
    enum klr_status status; /* why to stop: the present problem, or all */
    bool between;           /* problems: the limit is that of all */
    double own, part;       /* work of the problem; the share that is done */
    double first, span;     /* work before a fold, and in it: for reports */
    struct klr_progress last;        /* what the solver told last */
    bool gap_is_old;                 /* its gap: it was reported */
    const struct klr_params *params; /* of the watch */
};

static void clock_start(struct clock *clock, size_t problems);
/* The more severe of two statuses: the later one in their enumeration. */
static enum klr_status gravest(enum klr_status a, enum klr_status b);
/* Begin so many problems, each of n examples. Where the total work is known,
 * they may use a quarter of the time limit; of the other three quarters they
 * may use the share of the work that they and the problems before them have. So
 * time is left for later problems. */
static void clock_next(struct clock *clock, size_t problems, size_t n);
/* The present problem is at the t-th of so many values of C, from 0. */
static void clock_path(struct clock *clock, size_t t, size_t count);
/* Until then, what is done between problems has all the time that is left; the
 * phase is told in its reports. */
static void clock_between(struct clock *clock, const char *phase);
/* The status of the whole run: KLR_TIME_LIMIT, KLR_INTERRUPTED, or
 * KLR_CONVERGED to go on. */
static enum klr_status clock_status(const struct clock *clock,
                                    const struct klr_params *params);
/* KLR_CONVERGED: go on; else why to stop. All but KLR_ITERATION_LIMIT stop the
 * whole problem. The solver keeps `iterations`, `violation`, `target` and, if
 * it knows it, `objective` of its progress. The rest is filled in when a report
 * is due; gap(solver) gives the relative gap, and a NULL gap means that it is
 * not known. */
static enum klr_status clock_check(struct clock *clock,
                                   const struct klr_params *params,
                                   struct klr_progress *progress,
                                   double (*gap)(void *), void *solver);
/* From now on the clock is asked before each task of the pool, unless that is
 * NULL, and ends its runs: both must stay until clock_leave. */
static void clock_watch(struct clock *clock, const struct klr_params *params,
                        struct klr_pool *pool);
static void clock_leave(struct klr_pool *pool);
/* True if the present problem is to end: a product did, or the next one will.
 */
static bool clock_stopped(const struct clock *clock);

/* ---- solvers ---- */

/* Solve by the model and options of problem->params, for each C of its path;
 * solution (cost.count): beta (n) of each is the caller's, the rest is filled
 * in; dual is NaN where there is none. */
typedef int solve_fn(const struct binary_problem *problem,
                     struct solution *solution, struct klr_error *err);

/* As solve_fn for problems[0..machines-1], which differ in y and weight alone;
 * solution[m] (cost.count) is that of problem m. */
typedef int solve_all_fn(const struct binary_problem *problems, size_t machines,
                         struct solution *const *solution,
                         struct klr_error *err);

/* Choose points that machines are to share, at the only C of their params:
 * chosen (n) is true of them. *passes is what that took, in products of all
 * examples with them. */
typedef int choose_fn(const struct binary_problem *problems, size_t machines,
                      bool *chosen, double *passes, struct klr_error *err);

/* ---- certificates, the verdict: see certificate.c ---- */

/* Objectives of a model are right to this part of them. */
static const double certificate_exact = 1e-6;

/* Facts about a solution, in units of its objective. */
struct certificate {
    double primal;
    double gap;      /* primal - dual; NaN: there is no dual */
    double target;   /* of the gap; infinite: none is asked for */
    double effect;   /* what rounding of decision values may add to the gap */
    double blur;     /* ... and to the objective */
    double constant; /* the objective of the best constant model; infinite:
                        an optimum may be above it */
    bool indefinite; /* K may be: a small gap is no proof of an optimum */
    double least;    /* no objective is below; -infinite: it may be */
    bool asked;      /* the gap is what the user asks for */
};

/* Objectives, status and doubt of a solution that ended with s->status. */
static void certify(struct solution *s, const struct certificate *c);

/* ---- ... decision values ---- */

/* By how much they may err with coefficients beta (n), where entries of K are
 * of that precision and at most `size`: an estimate. */
static double decision_rounding(const struct binary_problem *problem,
                                const double *beta, double size,
                                enum klr_precision precision);
/* By how much the objective may be off with u (n, columns), K beta of coarse
 * entries: those that hardly differ are rounded alike, so that errors of u are
 * not independent. A few rows of double entries tell, and how uncertain their
 * mean is; row (n) is workspace. */
static double objective_bias(const struct binary_problem *problem,
                             size_t columns, const double *beta,
                             const double *u, double *row);
/* By how much these are rounded themselves: u (n), K beta, and rho. */
static double value_rounding(size_t n, const double *u, double rho);
/* The largest |K_ij| of the examples, or nearly; row (n) is workspace. */
static double kernel_size(const struct binary_problem *problem, double *row);
/* out (n) = K beta, by the columns of its support where these are few; of no
 * use where the clock has stopped then. */
static int support_product(const struct binary_problem *problem,
                           const double *beta, enum klr_precision precision,
                           double *out, struct klr_error *err);

/* ---- ... the problems of loss.c ---- */

/* Points of the dual. */
enum dual_point {
    DUAL_BETA,     /* beta itself; where it is none, D = 0 */
    DUAL_GRADIENT, /* g of loss_gradient() at the point */
    DUAL_NONE      /* but a bound */
};

/* The last point of a solver at one C. */
struct point {
    double c; /* C */
    enum klr_status status;
    enum klr_doubt doubt; /* the solver's own */
    long long iterations;
    double fall;                  /* of the objective in the last step,
                                     relative to it; NaN: not known */
    const double *beta;           /* (n) */
    double rho;                   /* near the best */
    const double *u;              /* (n) K beta; NULL: not known */
    double drift;                 /* how far u may be off, beside entries */
    const double *g, *kg;         /* (n) of DUAL_GRADIENT, and K g; or NULL */
    enum klr_precision precision; /* of entries behind u and kg, or, where u is
                                     NULL, the coarsest that may do */
    enum dual_point dual;
    double least;  /* of DUAL_NONE: no P is below; NaN: not known */
    double target; /* relative gap that is asked for; 0: none ... */
    double bound;  /* ... but the gap, not relative, is below this where the
                      solver stops; infinite: any gap */
};

/* *solution becomes the point: its beta (n), without the examples at the lower
 * end of an sklr's box, the rest as of these coefficients. Where the clock has
 * stopped or does so, its status stands, and objectives are NaN whose products
 * are not known. KLR_E_MEMORY. */
static int point_finish(const struct binary_problem *problem,
                        const struct point *point, struct solution *solution,
                        struct klr_error *err);
/* The bytes that point_finish allocates for n examples. */
static double point_bytes(size_t n);

/* ---- a bound on lambda: see lambda_bound.c ---- */

/* solution[t].lambda_bound becomes (36) of Consolo for each C: about from that
 * lambda on the smaller class is all at the upper end of the box. `solve`
 * trains the problem. */
static int lambda_bound(const struct binary_problem *problem, solve_fn *solve,
                        struct solution *solution, struct klr_error *err);

#endif
