/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The logistic function, its integral, and their kin for several classes.
 */
#include "solver/loss/loss.h"

#include <float.h>

static double sigmoid(double z)
{
    double e = exp(-fabs(z)); /* in [0, 1]: nothing overflows */
    return z >= 0 ? 1 / (1 + e) : e / (1 + e);
}

static void sigmoids(double z, double *p, double *rest)
{
    double e = exp(-fabs(z)), more = 1 / (1 + e), less = e / (1 + e);
    *p = z >= 0 ? more : less;
    *rest = z >= 0 ? less : more;
}

static double softplus(double z)
{
    return fmax(z, 0) + log1p(exp(-fabs(z)));
}

static double softmax(size_t k, const double *f, double *p)
{
    size_t top = 0;
    double rest = 0;
    for (size_t c = 1; c < k; c++)
        if (f[c] > f[top])
            top = c;
    double most = f[top];
    for (size_t c = 0; c < k; c++) {
        p[c] = exp(f[c] - most);
        rest += c == top ? 0 : p[c];
    }
    for (size_t c = 0; c < k; c++)
        p[c] /= 1 + rest;
    return most + log1p(rest);
}

static void normalise(size_t k, double *p)
{
    double sum = 0;
    for (size_t i = 0; i < k; i++)
        sum += p[i];
    for (size_t i = 0; i < k; i++)
        p[i] /= sum;
}

static struct link link_neutral(int link)
{
    enum link_kind kind = link == KLR_LINK_GAUSSIAN     ? LINK_GAUSSIAN
                          : link == KLR_LINK_CONSISTENT ? LINK_CONSISTENT
                                                        : LINK_LOGISTIC;
    return (struct link){kind, -1, 0, 0};
}

static double link_log_odds(const struct link *link, double f)
{
    double c = link->kind == LINK_GAUSSIAN ? link->c : 0;
    double z = -((link->a + c * f) * f + link->b);
    if (link->kind == LINK_CONSISTENT)
        z = softplus(z - link->c) - softplus(-z - link->c);
    return fmax(fmin(z, DBL_MAX), -DBL_MAX);
}

static double link_slope(const struct link *link, double f)
{
    double step = 1e-6 * fmax(1, fabs(f));
    double rise = link_log_odds(link, f + step) - link_log_odds(link, f - step);
    return fabs(rise) / (2 * step);
}
