/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decomposition of the dual: sequential minimal optimisation.
 */
#ifndef KLR_SOLVER_SMO_H
#define KLR_SOLVER_SMO_H

#include "solver/solve/solve.h"

/* KLR_E_USAGE where the box of an sklr is empty. */
static solve_fn smo_solve;

/* A point of the dual, |beta_i| within its box, sum beta = 0 with a bias. */
struct smo_point {
    struct loss loss;
    const double *cost; /* (n) C_i */
    double *beta, *u;   /* (n) u = K beta, of double entries */
    double gap;         /* the relative one to reach */
    long long most;     /* steps that it may take */
    double cache;       /* bytes for rows of K, which come in double */
    long long steps;    /* taken, if it is reached: the output */
    bool reached;       /* else the clock, or their number, ended them */
};

/* Steps from the point, until it has its gap. Where that is not reached, or
 * with KLR_E_MEMORY, the point is as it was. */
static int smo_improve(const struct binary_problem *problem,
                       struct smo_point *point, struct klr_error *err);
/* The bytes that this allocates for n examples, the cache aside. */
static double smo_improve_bytes(size_t n);
/* The bytes of a cache that has so many of their rows. */
static double smo_rows_bytes(size_t n, size_t rows);

/* A bound of the gap at C where nothing violates by more than the tolerance. */
static double smo_bound(const struct binary_problem *problem, double c);

#endif
