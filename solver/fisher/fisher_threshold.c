/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The threshold of a kernel Fisher discriminant: that of the constraints, or
 * where params->threshold asks for it that of a linear support vector machine
 * on the outputs u of the training examples (Mika, Smola & Schoelkopf 2001,
 * section 6),
 *
 *   minimise  F(w, b) = 1/2 w^2 + sum_i C_i max(0, 1 - y_i (w u_i + b))
 *
 * with C_i the weight of example i, its own times that of its class: the paper
 * names no C, and the means of u in both classes differ by 2. The threshold is
 * u = -b / w.
 *
 * For w > 0 the slope of F in b begins with -T, T the sum of C_i over positive
 * examples, and rises by C_i where b passes y_i - w u_i: so the best b is the
 * first of these values with T of the C_i up to it. Sorted by u, both classes
 * are in the order of these values for every w, and one walk through them gives
 * b and the slope there of the minimum over b,
 *
 *   w - sum_+ C_i u_i + sum C_i u_i of the first T,
 *
 * which rises with w: its root is found by bisection.
 */
#include "solver/fisher/fisher.h"

struct threshold_point {
    double u, cost;
};

struct threshold {
    struct threshold_point *point[2]; /* by class, u descending */
    size_t count[2];
    double total; /* T */
    double sum;   /* sum_+ C_i u_i */
    double b;     /* the best for the last w */
};

static int compare_points(const void *a, const void *b)
{
    const struct threshold_point *x = a, *y = b;
    return (x->u < y->u) - (x->u > y->u);
}

/* Where b passes the next point of a class, the positive one first. */
static double threshold_kink(const struct threshold *t, double w, size_t side,
                             size_t next)
{
    if (next == t->count[side])
        return INFINITY;
    return (side == 0 ? 1 : -1) - w * t->point[side][next].u;
}

/* The slope of F at w, with the best b there. If T is reached between two
 * points, all b between them are best, and the middle one is taken. T may be
 * reached at the last of all points, where the negative ones weigh nothing
 * beside it. */
static double threshold_slope(struct threshold *t, double w)
{
    size_t next[2] = {0, 0};
    double left = t->total, slope = -t->sum, kink = 0;
    while (left > 1e-12 * t->total &&
           (next[0] < t->count[0] || next[1] < t->count[1])) {
        double a = threshold_kink(t, w, 0, next[0]);
        double b = threshold_kink(t, w, 1, next[1]);
        size_t side = b < a;
        const struct threshold_point *p = &t->point[side][next[side]++];
        double cost = fmin(p->cost, left);
        slope += cost * p->u;
        left = p->cost > left * (1 + 1e-12) ? -1 : fmax(left - p->cost, 0);
        kink = side == 0 ? a : b;
    }
    t->b = kink;
    double after = fmin(threshold_kink(t, w, 0, next[0]),
                        threshold_kink(t, w, 1, next[1]));
    if (left >= 0 && isfinite(after))
        t->b = 0.5 * (kink + after);
    return slope + w;
}

/* The threshold; as it was where the best w is 0, as F says nothing then. */
static double threshold_search(struct threshold *t, double rho)
{
    double spread =
        fmax(t->point[0][0].u, t->point[1][0].u) -
        fmin(t->point[0][t->count[0] - 1].u, t->point[1][t->count[1] - 1].u);
    double low = 1e-6 / spread, high = 2 * low, middle;
    if (!(spread > 0) || threshold_slope(t, low) >= 0)
        return rho;
    while (threshold_slope(t, high) < 0) {
        low = high;
        high *= 2;
    }
    while (low < (middle = low + 0.5 * (high - low)) && middle < high)
        if (threshold_slope(t, middle) < 0)
            low = middle;
        else
            high = middle;
    threshold_slope(t, high);
    return -t->b / high;
}

static int fisher_threshold(const struct binary_problem *problem,
                            const double *u, double *rho, struct klr_error *err)
{
    struct threshold t = {0};
    size_t n = problem->n, at = 0;
    if (problem->params->threshold != KLR_THRESHOLD_SVM)
        return 0;
    struct threshold_point *point = klr_alloc(n, sizeof *point, err);
    if (!point)
        return KLR_E_MEMORY;
    for (size_t side = 0; side < 2; side++) {
        t.point[side] = point + at;
        for (size_t i = 0; i < n; i++)
            if ((problem->y[i] < 0) == side)
                point[at++] =
                    (struct threshold_point){u[i], problem->weight[i]};
        t.count[side] = (size_t)(point + at - t.point[side]);
        qsort(t.point[side], t.count[side], sizeof *point, compare_points);
    }
    for (size_t i = 0; i < t.count[0]; i++) {
        t.total += t.point[0][i].cost;
        t.sum += t.point[0][i].cost * t.point[0][i].u;
    }
    *rho = threshold_search(&t, *rho);
    klr_free(point);
    return 0;
}

/* ---- no discriminant ---- */

/* beta becomes 0; size: the weights of the sides y = -1 and y = +1. */
static void fisher_forget(const struct binary_problem *problem,
                          struct solution *solution, double size[2])
{
    size[0] = size[1] = 0;
    for (size_t i = 0; i < problem->n; i++) {
        size[problem->y[i] > 0] += problem->weight[i];
        solution->beta[i] = 0;
    }
    solution->precision = KLR_DOUBLE;
}

static void fisher_share(const struct binary_problem *problem,
                         struct solution *solution)
{
    double size[2];
    fisher_forget(problem, solution, size);
    solution->rho = log(size[0]) - log(size[1]);
    solution->primal = solution->dual = (double)NAN;
}

static bool fisher_tells(const struct binary_problem *problem, double scale,
                         double largest, struct solution *solution)
{
    double size[2], sum = 0;
    for (size_t i = 0; i < problem->n; i++)
        sum += fabs(solution->beta[i]);
    if (scale > 0 && !(sum * largest > 1e14))
        return true;
    fisher_forget(problem, solution, size);
    solution->rho = (size[0] - size[1]) / (size[0] + size[1]);
    solution->primal = solution->dual = 0;
    if (solution->status == KLR_PRECISION_LIMIT)
        solution->status = KLR_CONVERGED;
    /* large values have lost the digits that tell, where there were any */
    solution->note = largest > 1e8 ? KLR_NOTE_DIGITS : KLR_NOTE_MEANS;
    return false;
}
