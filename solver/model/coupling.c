/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The coupling of pairwise probabilities into class probabilities by the second
 * method of T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability Estimates for
 * Multi-class Classification by Pairwise Coupling", JMLR 5 (2004):
 *
 *   min_p sum_{i<j} (r_ji p_i - r_ij p_j)^2   s.t.  sum_i p_i = 1
 *
 * that is p'Qp with Q_ii = sum_{j != i} r_ji^2, Q_ij = -r_ji r_ij, and p >= 0
 * comes by itself. If z sums to 0, some z_i and z_j have opposite signs,
 * and (r_ji z_i - r_ij z_j)^2 >= min(|z_i|, |z_j|)^2: Q is positive definite on
 * the constraint for all r, 0 and 1 included, with a condition that depends on
 * k alone. There e'p = 1, so that Q + ee', which is positive definite, has the
 * same minimiser, and p is a multiple of its inverse applied to e.
 */
#include <float.h>

#include "solver/matrix/matrix.h"
#include "solver/model/model.h"

static size_t couple_work(size_t k)
{
    return k * k + 2 * k;
}

/* The upper triangle of Q + ee' (k, k), and the diagonal of Q. */
static void couple_system(size_t k, const double *first, const double *second,
                          double *a, double *diagonal)
{
    memset(diagonal, 0, k * sizeof *diagonal);
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++, first++, second++) {
            a[i * k + j] = 1 - *first * *second;
            diagonal[i] += *second * *second;
            diagonal[j] += *first * *first;
        }
    for (size_t i = 0; i < k; i++)
        a[i * k + i] = 1 + diagonal[i];
}

static void couple_solve(size_t k, double *a, double *p)
{
    for (size_t i = 0; i < k; i++)
        p[i] = 1;
    triangle_factor(klr_dense(), k, k, a, DBL_MIN);
    triangle_solve(k, k, a, p);
}

/* p_i = (sum_j r_ij r_ji p_j + p'Qp) / Q_ii, which holds at the optimum and has
 * positive terms only, for the small components; false if they stay as they
 * are. `sum` (k) is workspace. */
static bool couple_sweep(size_t k, const double *first, const double *second,
                         const double *diagonal, double *sum, double *p)
{
    double value = 0;
    bool moved = false;
    memset(sum, 0, k * sizeof *sum);
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++, first++, second++) {
            double d = *second * p[i] - *first * p[j];
            double q = *first * *second;
            value += d * d;
            sum[i] += q * p[j];
            sum[j] += q * p[i];
        }
    for (size_t i = 0; i < k; i++)
        if (sum[i] + value < 1e-3 * diagonal[i]) {
            double old = p[i];
            p[i] = (sum[i] + value) / diagonal[i];
            moved = moved || fabs(p[i] - old) > 8 * DBL_EPSILON * p[i];
        }
    normalise(k, p);
    return moved;
}

/* Rounding leaves small components without their digits, or with a wrong sign.
 * A few sweeps, in which they follow from larger ones, restore them. */
static void couple_polish(size_t k, const double *first, const double *second,
                          const double *diagonal, double *sum, double *p)
{
    enum { SWEEPS = 8 };
    for (size_t i = 0; i < k; i++)
        p[i] = fmax(p[i], 0);
    normalise(k, p);
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        if (!couple_sweep(k, first, second, diagonal, sum, p))
            break;
}

static void couple_pairwise(size_t k, const double *first, const double *second,
                            double *p, double *work)
{
    double *diagonal = work + k * k, *sum = diagonal + k;
    if (k == 2) {
        p[0] = *first; /* each in its own accuracy */
        p[1] = *second;
        return;
    }
    couple_system(k, first, second, work, diagonal);
    couple_solve(k, work, p);
    couple_polish(k, first, second, diagonal, sum, p);
}
