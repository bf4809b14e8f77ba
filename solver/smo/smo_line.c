/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The step of SMO along a line: the t that minimises the dual when beta_i rises
 * and beta_j falls by t, Keerthi et al. (2005), section 4; Consolo et al. (30).
 * Of a dual that is not convex there, a t that lowers it.
 */
#include "solver/smo/smo_parts.h"

/* psi, psi' and psi'' of the example e with beta moved by t. */
typedef double line_conjugate(const struct loss *, double, double);

static double line_end(const struct smo_line *line, line_conjugate *of,
                       const struct smo_example *e, double t)
{
    return e->cost > 0 ? of(line->loss, e->alpha + e->y * t, e->cost) : 0;
}

static double line_slope(const struct smo_line *line, double t)
{
    const struct smo_example *i = &line->i, *j = &line->j;
    return line->slope + t * line->eta +
           i->y * line_end(line, conjugate_slope, i, t) -
           j->y * line_end(line, conjugate_slope, j, -t);
}

static double line_curvature(const struct smo_line *line, double t)
{
    return line->eta + line_end(line, conjugate_curvature, &line->i, t) +
           line_end(line, conjugate_curvature, &line->j, -t);
}

static double line_value(const struct smo_line *line, double t)
{
    return t * (line->slope + 0.5 * t * line->eta) - line->psi_i - line->psi_j +
           line_end(line, conjugate_value, &line->i, t) +
           line_end(line, conjugate_value, &line->j, -t);
}

/* A root of the slope in (0, high), given slope(0) < 0 < slope(high):
 * Newton-Raphson, Keerthi (5.1), with bisection where it leaves the bracket or
 * does not halve the slope. */
static double line_root(const struct smo_line *line, double high,
                        double accuracy)
{
    double low = 0, t = 0, slope = line_slope(line, 0), last = INFINITY;
    for (int step = 0; step < 200 && fabs(slope) > accuracy; step++) {
        double curvature = line_curvature(line, t),
               next = t - slope / curvature;
        if (!(curvature > 0 && next > low && next < high) ||
            fabs(slope) > 0.5 * last)
            next = 0.5 * (low + high);
        if (next == t || next <= low || next >= high)
            break;
        t = next;
        last = fabs(slope);
        slope = line_slope(line, t);
        *(slope < 0 ? &low : &high) = t;
    }
    return t;
}

static double line_step(const struct smo_line *line, double room,
                        double accuracy)
{
    for (double t = room; t > 0; t /= 2) {
        if (line_slope(line, t) > 0)
            t = line_root(line, t, accuracy);
        if (line->eta >= 0 || line_value(line, t) < 0)
            return t;
    }
    return 0;
}
