/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The step of the Newton method: with weights W = S^2, s = diag S, and q = K e,
 *
 *   min_v  1/2 v'(I + S K S) v - (S q)'v   subject to  s'v = 0  (with a bias)
 *
 * by conjugate gradients with the constraint kept by projection (Gould, Hribar
 * & Nocedal 2001) and the preconditioner M = I + L L', S K S ~ L L', of
 * lowrank.c. The step is S v.
 *
 * v_i = 0 where s_i = 0, and rows of small weight are taken for such: those
 * left out, with sum W_i (K_ii + 1 / sum W) <= a, would change the step by at
 * most the a-th part of what they lack. Products of conjugate gradients are
 * then of the other rows alone; K S v takes a product of its own.
 *
 * Several columns are solved for so only where floats have turned out to be too
 * coarse for the form of softmax_precond.c.
 */
#include "solver/newton/newton_step.h"

enum {
    DIRECTION_STEPS = 500, /* of conjugate gradients */
    DIRECTION_VECTORS = 8,
    WEIGHT_BINS = 64
};

/* ---- whether to foresee: see newton_foresee.c ---- */

/* An L that foresees has to know more: products saved count for more, and
 * smaller pivots matter. */
static const double foresight_worth = 4, foresight_least = 3e-5;

/* Nanoseconds of an entry of a product with K, about: where all is kept at
 * once, those of memory. */
static double direction_entry(const struct binary_problem *problem)
{
    const double kept = 0.3, computed = 6, dear = 5;
    double price = klr_points_price(problem->op->points);
    return price < dear || !problem->whole ? kept : computed / price;
}

/* True if a product takes long beside some twenty sweeps over L. */
static bool direction_foresees(const struct binary_problem *problem,
                               size_t rank)
{
    const double sweeps = 7; /* in the same nanoseconds */
    const struct klr_operator *op = problem->op;
    double entry = direction_entry(problem);
    return !op->fixed16 && !op->groups && problem->n <= FORESIGHT_MOST &&
           (double)problem->n * entry > sweeps * (double)rank;
}

static void direction_foresee(struct direction *d, bool foresees)
{
    struct precond *m = &d->precond;
    d->foresees = foresees;
    m->weight_of_saved_products = foresees ? foresight_worth : 1;
    m->least = foresees ? foresight_least : precond_least;
}

static void direction_distrust(struct direction *d)
{
    if (d->foresees)
        direction_foresee(d, false);
    d->distrusted = true;
}

/* ---- rows of negligible weight ---- */

/* In powers of two: bin 0 has all from 1/2, the last all from 0. */
static int weight_bin(double weight)
{
    int exponent;
    frexp(weight, &exponent);
    if (!(weight > 0) ||
        -exponent >= WEIGHT_BINS) /* no number where all are 0 */
        return WEIGHT_BINS - 1;
    return exponent > 0 ? 0 : -exponent;
}

/* W_i; of several columns the diagonal element of a column. */
static double direction_curvature(const struct direction *d, size_t i, size_t c)
{
    const double *s = d->s + i * d->columns;
    return d->columns > 1 ? coupled_weight(d->columns, s, d->cost[i], c)
                          : s[0] * s[0];
}

/* W_i K_ii, and the weight of the row in the constraint; sums over all columns.
 */
static double direction_weight(const struct direction *d, size_t i)
{
    double sum = 0;
    for (size_t c = 0; c < d->columns; c++)
        sum +=
            direction_curvature(d, i, c) * (d->diagonal[i] + 1 / d->total[c]);
    return sum;
}

/* The sums of W; infinite without a constraint. */
static void direction_totals(struct direction *d)
{
    for (size_t c = 0; c < d->columns; c++) {
        d->total[c] = d->problem->params->no_bias ? INFINITY : 0;
        for (size_t i = 0; i < d->n; i++)
            d->total[c] += direction_curvature(d, i, c);
    }
}

/* The first bin of rows to be left out. */
static int direction_bin(const struct direction *d)
{
    double sum[WEIGHT_BINS] = {0}, left = 0;
    int bin = WEIGHT_BINS;
    for (size_t i = 0; i < d->n; i++) {
        double weight = direction_weight(d, i);
        sum[weight_bin(weight)] += weight;
    }
    while (bin > 0 && left + sum[bin - 1] <= d->accuracy)
        left += sum[--bin];
    return bin;
}

/* True if enough rows are left out to be worth the one more product that takes.
 */
static bool direction_is_part(const struct direction *d, size_t kept)
{
    return (double)kept <= 0.6 * (double)d->n;
}

static bool direction_leaves_out(struct direction *d, double *s)
{
    size_t kept = 0;
    d->s = s;
    direction_totals(d);
    int bin = direction_bin(d);
    for (size_t i = 0; i < d->n; i++)
        kept += weight_bin(direction_weight(d, i)) < bin;
    return direction_is_part(d, kept);
}

/* The rows kept, and their positions. */
static void direction_restrict(struct direction *d)
{
    const struct klr_set all = d->problem->set;
    struct klr_range *range = d->range;
    size_t count = 0, kept = 0, out = d->n, i = 0;
    direction_totals(d);
    int bin = direction_bin(d);
    for (size_t r = 0; r < all.count; r++)
        for (size_t p = all.range[r].begin; p < all.range[r].end; p++, i++) {
            if (weight_bin(direction_weight(d, i)) >= bin) {
                d->row[--out] = i;
                continue;
            }
            d->row[kept++] = i;
            count = set_append(range, count, (struct klr_range){p, p + 1});
        }
    d->partial = direction_is_part(d, kept);
    if (!d->partial)
        kept = d->n; /* d->row has them all */
    d->in = (struct klr_set){range, count, kept};
    for (size_t k = kept; k < d->n; k++)
        memset(d->s + d->row[k] * d->columns, 0, d->columns * sizeof *d->s);
}

/* ---- products ---- */

static bool direction_apply(struct direction *d, struct klr_set rows,
                            struct klr_set cols, const double *v, double *out)
{
    bool whole = operator_apply(d->problem->op, rows, cols, v, d->columns,
                                d->precision, out);
    d->progress->iterations += whole;
    return whole;
}

/* packed: the rows kept. */
static void direction_pack(struct direction *d, const double *from)
{
    size_t row = d->columns * sizeof *from;
    for (size_t k = 0; k < d->in.size; k++)
        memcpy(d->packed + k * d->columns, from + d->row[k] * d->columns, row);
}

static bool direction_goes_on(struct direction *d)
{
    d->status = clock_check(d->problem->clock, d->problem->params, d->progress,
                            d->gap, d->solver);
    return d->status == KLR_CONVERGED;
}

static bool direction_product(struct direction *d, const double *x, double *out)
{
    if (!d->partial)
        return direction_apply(d, d->problem->set, d->problem->set, x, out);
    size_t row = d->columns * sizeof *x;
    direction_pack(d, x);
    if (!direction_apply(d, d->in, d->in, d->packed, d->t))
        return false;
    memset(out, 0, d->size * sizeof *out);
    for (size_t k = 0; k < d->in.size; k++)
        memcpy(out + d->row[k] * d->columns, d->t + k * d->columns, row);
    return true;
}

static void direction_precondition(struct direction *d, const double *in,
                                   double *out)
{
    if (d->columns > 1)
        coupled_solve(&d->coupled, in, out);
    else if (d->problem->params->no_bias)
        precond_invert(&d->precond, in, out);
    else
        precond_solve(&d->precond, in, out);
}

/* ---- the start ---- */

/* The start at beta: v = S^-1 x, with x = e on the rows kept. If other rows are
 * left out, x = e - W a, so that s'v = 0 still. The residual is S q - v - S K
 * x. Only one column leaves rows out. */
static void direction_other(struct direction *d, double *v, double *residual)
{
    double sum = 0, total = 0;
    memset(v, 0, d->size * sizeof *v);
    memset(residual, 0, d->size * sizeof *residual);
    for (size_t k = 0; k < d->in.size && d->partial; k++) {
        sum += d->e[d->row[k]];
        total += d->s[d->row[k]] * d->s[d->row[k]];
    }
    double a = isinf(d->total[0]) || !d->partial ? 0 : sum / total;
    for (size_t k = 0; k < d->in.size * d->columns; k++) {
        size_t i = d->partial ? d->row[k] : k;
        d->t[i] = d->e[i] - a * d->s[i] * d->s[i];
        v[i] = d->t[i] / d->s[i];
        residual[i] = -v[i];
    }
    if (!d->partial) /* K x is q */
        return;
    direction_pack(d, d->t);
    direction_apply(d, d->in, d->in, d->packed, d->kp);
    for (size_t k = 0; k < d->in.size; k++) {
        size_t i = d->row[k];
        residual[i] += d->s[i] * (d->q[i] - d->kp[k]);
    }
}

/* True if the columns of e have sum 0 to rounding. */
static bool direction_balanced(const struct direction *d)
{
    bool balanced = true;
    for (size_t c = 0; c < d->columns; c++) {
        double sum = 0, size = 0;
        for (size_t i = c; i < d->size; i += d->columns) {
            sum += d->e[i];
            size += fabs(d->e[i]);
        }
        balanced = balanced && fabs(sum) <= 1e-9 * size;
    }
    return balanced || isinf(d->total[0]);
}

/* Start from v = 0, the point g, with residual S q, or from beta as far as the
 * rows kept go: whichever residual is smaller in the norm of M^-1. The second
 * exists only where all rows kept have a weight, and, of several columns, where
 * beta was not found for functions. Returns that norm squared. */
static double direction_start(struct direction *d)
{
    size_t size = d->size;
    double *other = d->p, *z_other = d->kv;
    bool exists = d->columns == 1 || (!d->partial && direction_balanced(d));
    for (size_t i = 0; i < size && exists; i++)
        exists = d->partial || d->s[i] > 0;
    if (!d->known && (d->partial || !exists)) {
        direction_apply(d, d->problem->set, d->problem->set, d->e, d->q);
        d->known = true;
    }
    double norm = INFINITY, norm_other = INFINITY;
    if (d->known) {
        for (size_t i = 0; i < size; i++)
            d->r[i] = d->s[i] * d->q[i];
        direction_precondition(d, d->r, d->z);
        norm = dot(size, d->r, d->z);
    }
    if (exists) {
        direction_other(d, d->v, other);
        direction_precondition(d, other, z_other);
        norm_other = dot(size, other, z_other);
    }
    bool far = norm_other < norm;
    if (!far) {
        memset(d->v, 0, size * sizeof *d->v);
        memset(d->kv, 0, size * sizeof *d->kv);
    } else {
        memcpy(d->r, other, size * sizeof *other);
        memcpy(d->z, z_other, size * sizeof *other);
        memcpy(d->kv, d->q, size * sizeof *d->kv);
    }
    memcpy(d->p, d->z, size * sizeof *d->p);
    return far ? norm_other : norm;
}

/* ---- conjugate gradients ---- */

/* One step; rz is r'z before and after. False: a direction of negative
 * curvature, or the clock ended it. */
static bool direction_step(struct direction *d, double *rz)
{
    size_t n = d->size;
    const double *s = d->s;
    for (size_t i = 0; i < n; i++)
        d->t[i] = s[i] * d->p[i];
    if (!direction_product(d, d->t, d->kp))
        return false;
    double curvature = dot(n, d->p, d->p);
    for (size_t i = 0; i < n; i++)
        curvature += s[i] * d->p[i] * d->kp[i];
    if (!(curvature > 0))
        return false;
    double a = *rz / curvature, old = *rz;
    for (size_t i = 0; i < n; i++) {
        d->v[i] += a * d->p[i];
        d->kv[i] += a * d->kp[i];
        d->r[i] -= a * (d->p[i] + s[i] * d->kp[i]);
    }
    direction_precondition(d, d->r, d->z);
    *rz = dot(n, d->r, d->z);
    for (size_t i = 0; i < n; i++)
        d->p[i] = d->z[i] + *rz / old * d->p[i];
    return true;
}

/* The slope of P along the step D = S v - e from beta, e'K D; for functions the
 * step is v - e. */
static double direction_slope(const struct direction *d)
{
    double slope = 0;
    for (size_t i = 0; i < d->size; i++)
        slope += d->e[i] * (d->kv[i] - d->q[i]);
    return slope;
}

/* True if P falls along the step, by much more than the error of the step. As M
 * leaves out a part of S K S, r'M^-1 r is at least the energy of the error.
 * Where the start was far off, or M is poor, a small part of its first value is
 * still much; such a step would have to be cut short. */
static bool direction_descends(const struct direction *d, double rz)
{
    return d->partial || rz < -0.05 * direction_slope(d);
}

/* Twice the gap that is left, to second order. With A = S K S and v off by x, r
 * is (I + A) x. P lacks x'(A + A^2)x / 2 and D, of the Newton point, x'(I + A)x
 * / 2: together |r|^2 / 2, without the part along s, which rho takes. For
 * several columns it is r'z, a part of that. */
static double direction_left(const struct direction *d, double rz)
{
    if (d->columns > 1)
        return rz;
    double square = dot(d->n, d->r, d->r), along = dot(d->n, d->s, d->r);
    return isinf(d->total[0]) ? square
                              : square - along * along / dot(d->n, d->s, d->s);
}

/* True if the residual is small enough: as small as was asked for, or so small
 * that what is left cannot matter. */
static bool direction_arrived(const struct direction *d, double rz, double goal)
{
    const double tiny = 1e-8;
    if (d->steps > 0 && d->enough > 0 && direction_left(d, rz) <= d->enough)
        return true;
    return rz <= goal && (direction_descends(d, rz) || rz <= tiny * goal);
}

/* On the rows kept; rz is r'z or, for functions, about <r, z>. */
static void direction_descend(struct direction *d)
{
    double rz = d->functions ? coupled_start(d) : direction_start(d);
    double goal = d->accuracy * d->accuracy * rz;
    for (d->steps = 0; d->steps < DIRECTION_STEPS; d->steps++) {
        if (direction_arrived(d, rz, goal) || !direction_goes_on(d))
            break;
        if (!(d->functions ? coupled_step(d, &rz) : direction_step(d, &rz))) {
            d->indefinite = !clock_stopped(d->problem->clock) && rz > goal;
            break;
        }
    }
    for (size_t i = 0; i < d->size && !d->functions; i++)
        d->v[i] *= d->s[i];
}

static bool direction_prepare(struct direction *d)
{
    if (d->columns > 1)
        return coupled_build(&d->coupled, d->s);
    return precond_prepare(&d->precond, d->s);
}

static enum klr_status direction_solve(struct direction *d, double *s,
                                       const double *e, double *q, bool known)
{
    d->s = s;
    d->e = e;
    d->q = q;
    d->known = known;
    direction_restrict(d);
    d->functions = d->columns > 1 && d->precision != KLR_DOUBLE &&
                   !leading_serves(d->problem->op);
    d->status = KLR_CONVERGED;
    if (direction_prepare(d))
        direction_descend(d);
    if (d->partial && d->status == KLR_CONVERGED) {
        direction_pack(d, d->v);
        direction_apply(d, d->problem->set, d->in, d->packed, d->kv);
    }
    return gravest(d->status, d->problem->clock->status);
}

/* ---- start and end ---- */

static void direction_raise(struct direction *d)
{
    if (d->columns > 1)
        coupled_raise(&d->coupled);
    else
        precond_raise(&d->precond);
}

static double direction_flops(const struct direction *d)
{
    return d->columns > 1 ? coupled_flops(&d->coupled) : d->precond.flops;
}

static int direction_create(struct direction *d,
                            const struct binary_problem *problem,
                            size_t columns, const double *cost,
                            struct klr_arena *arena, struct klr_error *err)
{
    size_t n = problem->n, size = n * columns;
    d->problem = problem;
    d->n = n;
    d->columns = columns;
    d->size = size;
    d->cost = cost;
    d->precision = problem->op->fixed16 ? KLR_FIXED16 : KLR_FLOAT;
    double **const vector[DIRECTION_VECTORS] = {
        &d->v, &d->kv, &d->r, &d->z, &d->p, &d->kp, &d->t, &d->packed};
    if (klr_take_vectors(arena, size, vector, DIRECTION_VECTORS, err) ||
        !KLR_TAKE(arena, d->total, columns, 1, err) ||
        !KLR_TAKE(arena, d->diagonal, n, 1, err) ||
        !KLR_TAKE(arena, d->row, n, 1, err) ||
        !KLR_TAKE(arena, d->range, n, 1, err))
        return KLR_E_MEMORY;
    operator_diagonal(problem->op, problem->set, d->diagonal);
    if (columns > 1)
        return coupled_create(&d->coupled, problem, columns, cost, arena, err);
    int code =
        precond_create(&d->precond, problem_matrix(problem), precond_more(n),
                       problem_shares_tiles(problem), arena, err);
    direction_foresee(d, direction_foresees(problem, d->precond.limit));
    return code;
}

static double direction_bytes(size_t n, size_t columns)
{
    double row = (double)columns * DIRECTION_VECTORS * sizeof(double);
    row += sizeof(double) + sizeof(size_t) + sizeof(struct klr_range);
    return (double)n * row + (columns > 1 ? coupled_bytes(n, columns)
                                          : precond_bytes(n, precond_more(n)));
}
