/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Machines that share their points: those of one against the rest, which have
 * all examples. K of points and examples, R and the choice are one for all; w,
 * rho and g are each machine's own. The solver works on one machine at a time.
 * What is kept of the others is here.
 */
#include "solver/subspace/subspace_parts.h"

static double share_bytes(size_t machines, size_t n, size_t most)
{
    double vectors = machines > 1 ? (double)machines : 0;
    return vectors * ((double)n + (double)most) * sizeof(double);
}

static int subspace_share(struct subspace *s,
                          const struct binary_problem *problems,
                          size_t machines, struct klr_error *err)
{
    s->problems = problems;
    s->machines = machines;
    if (machines == 1)
        return 0;
    if (!(s->shared = klr_zalloc(machines, sizeof *s->shared, err)))
        return KLR_E_MEMORY;
    for (size_t q = 0; q < machines; q++)
        if (!(s->shared[q].w = klr_zalloc(s->most, sizeof(double), err)) ||
            !(s->shared[q].g = klr_zalloc(s->n, sizeof(double), err)))
            return KLR_E_MEMORY;
    return 0;
}

static int share_room(struct subspace *s, size_t most, struct klr_error *err)
{
    for (size_t q = 0; s->shared && q < s->machines; q++) {
        double *w = klr_zalloc(most, sizeof *w, err);
        if (!w)
            return KLR_E_MEMORY;
        memcpy(w, s->shared[q].w, s->m * sizeof *w);
        klr_free(s->shared[q].w);
        s->shared[q].w = w;
    }
    return 0;
}

static void share_free(struct subspace *s)
{
    for (size_t q = 0; s->shared && q < s->machines; q++) {
        klr_free(s->shared[q].w);
        klr_free(s->shared[q].g);
    }
    klr_free(s->shared);
}

static void subspace_turn(struct subspace *s, size_t q)
{
    if (!s->shared)
        return;
    s->problem = &s->problems[q];
    s->all.y = s->problem->y;
    memcpy(s->w, s->shared[q].w, s->most * sizeof *s->w);
    *s->all.rho = s->shared[q].rho;
    *s->sample.rho = s->shared[q].sample_rho;
}

static void subspace_keep(struct subspace *s, size_t q)
{
    if (!s->shared)
        return;
    memcpy(s->shared[q].w, s->w, s->m * sizeof *s->w);
    memcpy(s->shared[q].g, s->all.g, s->n * sizeof *s->all.g);
    s->shared[q].rho = *s->all.rho;
    s->shared[q].sample_rho = *s->sample.rho;
}

static size_t subspace_targets(const struct subspace *s)
{
    return s->shared ? s->machines : s->columns;
}

static const double *subspace_target(const struct subspace *s, size_t q)
{
    return s->shared ? s->shared[q].g : s->all.g + q;
}
