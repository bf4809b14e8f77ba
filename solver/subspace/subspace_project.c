/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An expansion f = sum_i beta_i k_i on few of its kernels: points are chosen by
 * the pursuit that grows a basis, with beta in place of g, and f is projected
 * onto their span. In the space of the kernel that is the nearest function:
 *
 *   Pi f = sum_k v_k k_k,   v = R^-1 w,   w = B'beta,
 *   |f - Pi f|^2 = (beta - v)'K (beta - v), with v = 0 but on the points,
 *
 * and it bounds decision values: |(f - Pi f)(x)| <= |f - Pi f| sqrt k(x, x).
 */
#include "solver/subspace/subspace_parts.h"

enum {
    PROJECT_POINTS = 2048, /* that join together, at most, */
    PROJECT_LEAST = 1024   /* of so many candidates, at least */
};

static size_t expansion_size(size_t n, const double *beta)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += beta[i] != 0;
    return count;
}

/* Points for all.g. */
static int project_choose(struct subspace *s, struct klr_error *err)
{
    uint64_t random = (uint64_t)s->problem->params->seed;
    bool more = true;
    int code = 0;
    s->progress.phase = "points";
    while (!code && more && s->m < s->most && subspace_goes_on(s)) {
        size_t left = s->most - s->m;
        size_t wanted = left < PROJECT_POINTS ? left : PROJECT_POINTS;
        more =
            subspace_join(s, wanted, growth_candidates(wanted, PROJECT_LEAST),
                          &random, err, &code);
    }
    return code;
}

/* v. False: it was ended. */
static bool project_solve(struct subspace *s)
{
    const struct sweep_vector vector = {.t = s->all.g, .sum = s->v};
    bool whole = subspace_sweep(s, KLR_DOUBLE, 1, &vector);
    panels_forward(&s->r, s->v);
    panels_backward(&s->r, s->v);
    return whole;
}

/* |f|^2 and |f - Pi f|^2, by entries that are doubles. False: it was ended. */
static bool project_measure(struct subspace *s, struct projection *out)
{
    const struct binary_problem *b = s->problem;
    double *u = s->all.u, *difference = s->all.next;
    const struct sweep_vector vector = {.v = s->v, .u = s->du};
    if (!operator_apply(b->op, b->set, b->set, s->all.g, 1, KLR_DOUBLE, u) ||
        !subspace_sweep(s, KLR_DOUBLE, 1, &vector))
        return false;
    out->square = dot(s->n, s->all.g, u);
    memcpy(difference, s->all.g, s->n * sizeof *difference);
    for (size_t k = 0; k < s->m; k++)
        difference[s->member[k]] -= s->v[k];
    for (size_t i = 0; i < s->n; i++)
        u[i] -= s->du[i];
    out->distance = fmax(dot(s->n, difference, u), 0);
    return true;
}

static int project_onto_few(const struct binary_problem *problem, double *beta,
                            struct projection *out, struct klr_error *err)
{
    struct subspace s;
    int code = subspace_create(&s, problem, 1, 1, err);
    if (!code) {
        memcpy(s.all.g, beta, s.n * sizeof *beta);
        code = project_choose(&s, err);
    }
    if (!code && !clock_stopped(problem->clock) && project_solve(&s) &&
        project_measure(&s, out)) {
        memset(beta, 0, s.n * sizeof *beta);
        for (size_t k = 0; k < s.m; k++)
            beta[s.member[k]] = s.v[k];
        out->points = s.m;
    }
    operator_count(problem->op, 0, 0);
    subspace_free(&s);
    return code;
}

static int subspace_project(const struct binary_problem *problem, double *beta,
                            struct projection *out, struct klr_error *err)
{
    size_t points = expansion_size(problem->n, beta);
    *out = (struct projection){.points = points, .square = NAN};
    if (points <= (size_t)problem->params->basis)
        return 0;
    return project_onto_few(problem, beta, out, err);
}
