/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The coupling of pairwise probabilities into class probabilities by the second
 * method of T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability Estimates for
 * Multi-class Classification by Pairwise Coupling", JMLR 5 (2004):
 *
 *   min_p sum_{i<j} (r_ji p_i - r_ij p_j)^2   s.t.  sum_i p_i = 1
 *
 * that is 1/2 p'Qp with Q_ii = sum_{j != i} r_ji^2, Q_ij = -r_ji r_ij, and
 * p >= 0 comes by itself. If z sums to 0, some z_i and z_j have opposite signs,
 * and (r_ji z_i - r_ij z_j)^2 >= min(|z_i|, |z_j|)^2: Q is positive definite on
 * the constraint for all r, 0 and 1 included, with a condition that depends on
 * k alone, so the KKT system is solved directly.
 */
#include "solver/loss/loss.h"

/* A (m, m) x = b by Gaussian elimination with partial pivoting; x replaces
 * b. */
static void couple_solve(size_t m, double *a, double *b)
{
    for (size_t c = 0; c < m; c++) {
        size_t pivot = c;
        for (size_t i = c + 1; i < m; i++)
            if (fabs(a[i * m + c]) > fabs(a[pivot * m + c]))
                pivot = i;
        for (size_t j = c; j < m && pivot != c; j++) {
            double swap = a[c * m + j];
            a[c * m + j] = a[pivot * m + j];
            a[pivot * m + j] = swap;
        }
        double swap = b[c];
        b[c] = b[pivot];
        b[pivot] = swap;
        for (size_t i = c + 1; i < m; i++) {
            double factor = a[i * m + c] / a[c * m + c];
            for (size_t j = c + 1; j < m; j++)
                a[i * m + j] -= factor * a[c * m + j];
            b[i] -= factor * b[c];
        }
    }
    for (size_t c = m; c-- > 0;) {
        for (size_t j = c + 1; j < m; j++)
            b[c] -= a[c * m + j] * b[j];
        b[c] /= a[c * m + c];
    }
}

/* The system [Q e; e' 0] [p; -mu] = [0; 1], (k + 1)^2 and (k + 1). */
static void couple_system(size_t k, const double *r, double *a, double *b)
{
    size_t m = k + 1;
    for (size_t i = 0; i < k; i++) {
        double diagonal = 0;
        for (size_t j = 0; j < k; j++) {
            if (j == i)
                continue;
            diagonal += r[j * k + i] * r[j * k + i];
            a[i * m + j] = -r[j * k + i] * r[i * k + j];
        }
        a[i * m + i] = diagonal;
        a[i * m + k] = a[k * m + i] = 1;
        b[i] = 0;
    }
    a[k * m + k] = 0;
    b[k] = 1;
}

/* p'Qp, as a sum of squares. */
static double couple_value(size_t k, const double *r, const double *p)
{
    double sum = 0;
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++) {
            double d = r[j * k + i] * p[i] - r[i * k + j] * p[j];
            sum += d * d;
        }
    return sum;
}

/* p_i = (sum_j r_ij r_ji p_j + p'Qp) / Q_ii, which holds at the optimum and has
 * positive terms only, for the small components. */
static void couple_sweep(size_t k, const double *r, double *p)
{
    double value = couple_value(k, r, p);
    for (size_t i = 0; i < k; i++) {
        double sum = value, diagonal = 0;
        for (size_t j = 0; j < k; j++) {
            if (j == i)
                continue;
            sum += r[i * k + j] * r[j * k + i] * p[j];
            diagonal += r[j * k + i] * r[j * k + i];
        }
        if (sum < 1e-3 * diagonal)
            p[i] = sum / diagonal;
    }
    normalise(k, p);
}

/* Elimination leaves small components without their digits, or with a wrong
 * sign. A few sweeps, in which they follow from larger ones, restore them. */
static void couple_polish(size_t k, const double *r, double *p)
{
    for (size_t i = 0; i < k; i++)
        p[i] = fmax(p[i], 0);
    normalise(k, p);
    for (int sweep = 0; sweep < 4; sweep++)
        couple_sweep(k, r, p);
}

static void couple_pairwise(size_t k, const double *r, double *p, double *work)
{
    if (k == 2) {
        p[0] = r[1]; /* r_01, and r_10 in its own accuracy */
        p[1] = r[2];
        return;
    }
    double *b = work + (k + 1) * (k + 1);
    couple_system(k, r, work, b);
    couple_solve(k + 1, work, b);
    for (size_t i = 0; i < k; i++)
        p[i] = b[i];
    couple_polish(k, r, p);
}
