/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rows of K that SMO works with, and its loops over them.
 */
#include "solver/internal.h"

#include "solver/smo.h"

static size_t smo_element(const struct smo *smo)
{
    return smo->precision == KLR_FLOAT ? sizeof(float) : sizeof(double);
}

static const void *smo_row(struct smo *smo, size_t i)
{
    const struct smo_example *e = &smo->example[i];
    bool hit;
    void *row = klr_cache_row(smo->cache, e->local, &hit);
    if (!hit)
        operator_row(smo->problem->op, e->position, smo->columns,
                     smo->precision, row);
    return row;
}

static inline double smo_entry(const void *row, enum klr_precision precision,
                               size_t k)
{
    return precision == KLR_FLOAT ? (double)((const float *)row)[k]
                                  : ((const double *)row)[k];
}

static size_t smo_first(const struct smo *smo)
{
    size_t best = smo->n;
    double largest = -INFINITY;
    for (size_t k = 0; k < smo->active; k++)
        if ((smo->side[k] & SMO_CAN_RISE) && smo->s[k] > largest) {
            largest = smo->s[k];
            best = k;
        }
    return best;
}

/* The partner of i with the largest (s_i - s_j)^2 / curvature, Consolo (34),
 * (35), among those that violate by more than eps: near 0 and C the logistic
 * curvature is so large that a pair at its optimum could promise more. n if
 * there is none. *least is the smallest s that can fall. */
static inline size_t smo_second_of(const struct smo *smo, size_t i,
                                   const void *row,
                                   enum klr_precision precision, double *least)
{
    const double tiny = 1e-12;
    const double *s = smo->s, *hessian = smo->hessian;
    const unsigned char *side = smo->side;
    double si = s[i], hi = hessian[i], smallest = INFINITY, eps = smo->eps;
    double best_gain = 0, best_curvature = 1; /* a gain is gain/curvature */
    size_t best = smo->n;
    for (size_t k = 0; k < smo->active; k++) {
        if (!(side[k] & SMO_CAN_FALL))
            continue;
        smallest = s[k] < smallest ? s[k] : smallest;
        double v = si - s[k];
        double q = hi + hessian[k] - 2 * smo_entry(row, precision, k);
        q = q > tiny ? q : tiny;
        if (v > eps && v * v * best_curvature > best_gain * q) {
            best_gain = v * v;
            best_curvature = q;
            best = k;
        }
    }
    *least = smallest;
    return best;
}

static size_t smo_second(const struct smo *smo, size_t i, const void *row,
                         double *least)
{
    return smo->precision == KLR_FLOAT
               ? smo_second_of(smo, i, row, KLR_FLOAT, least)
               : smo_second_of(smo, i, row, KLR_DOUBLE, least);
}

static inline void smo_update_of(struct smo *smo, double t, const void *row_i,
                                 const void *row_j,
                                 enum klr_precision precision)
{
    double *restrict s = smo->s;
    for (size_t k = 0; k < smo->active; k++)
        s[k] -= t * (smo_entry(row_i, precision, k) -
                     smo_entry(row_j, precision, k));
}

static void smo_update(struct smo *smo, double t, const void *row_i,
                       const void *row_j)
{
    if (smo->precision == KLR_FLOAT)
        smo_update_of(smo, t, row_i, row_j, KLR_FLOAT);
    else
        smo_update_of(smo, t, row_i, row_j, KLR_DOUBLE);
}

static void smo_extremes(const struct smo *smo, double *most, double *least)
{
    *most = -INFINITY;
    *least = INFINITY;
    for (size_t k = 0; k < smo->active; k++) {
        if (smo->side[k] & SMO_CAN_RISE)
            *most = fmax(*most, smo->s[k]);
        if (smo->side[k] & SMO_CAN_FALL)
            *least = fmin(*least, smo->s[k]);
    }
}
