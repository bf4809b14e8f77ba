/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses of all examples: their sum, gradient and best rho. Sums and maxima are
 * made of parts, whose examples depend on n alone, and which are added in their
 * order: no bit depends on threads. These divide the parts of many examples; of
 * fewer one thread is done before another one is awake.
 */
#include "solver/loss/loss.h"

enum {
    LOGISTIC_BLOCK = 128,
    SUM_ROWS = 4096, /* examples of a part, at least */
    SUM_PARTS = 256, /* at most */
    SUM_SHARED = 8   /* parts from which on threads divide them */
};

/* ---- sums in parts ---- */

struct part_run {
    part_fn *part;
    const void *context;
    struct klr_shares parts;
    double (*sum)[PART_VALUES];
};

static void part_begin(double *sum)
{
    for (size_t k = 0; k < PART_VALUES; k++)
        sum[k] = k < PART_SUMS ? 0 : -INFINITY;
}

static void part_raise(double *most, double value)
{
    *most = value > *most ? value : *most;
}

static void part_task(void *context, size_t task, size_t thread)
{
    struct part_run *run = context;
    size_t begin, end = klr_share(run->parts, task, &begin);
    part_begin(run->sum[task]);
    run->part(run->context, begin, end, run->sum[task]);
    (void)thread;
}

static void sum_parts(struct klr_pool *pool, size_t n, part_fn *part,
                      const void *context, double *sum)
{
    double sums[SUM_PARTS][PART_VALUES];
    struct part_run run = {part, context, klr_shares_of(n, SUM_ROWS, SUM_PARTS),
                           sums};
    size_t parts = run.parts.count;
    klr_pool_run_all(parts < SUM_SHARED ? NULL : pool, parts, part_task, &run);
    part_begin(sum);
    for (size_t t = 0; t < parts; t++)
        for (size_t k = 0; k < PART_VALUES; k++)
            if (k < PART_SUMS)
                sum[k] += sums[t][k];
            else
                part_raise(&sum[k], sums[t][k]);
}

struct addition {
    const double *x, *y;
    double t, *out;
};

static void add_part(const void *context, size_t begin, size_t end, double *sum)
{
    const struct addition *a = context;
    (void)sum;
    for (size_t i = begin; i < end; i++)
        a->out[i] = a->x[i] + a->t * a->y[i];
}

static void add_parts(struct klr_pool *pool, size_t n, const double *x,
                      double t, const double *y, double *out)
{
    const struct addition a = {x, y, t, out};
    double sum[PART_VALUES];
    sum_parts(pool, n, add_part, &a, sum);
}

/* ---- losses at u and rho ---- */

/* A point, and what comes out there. */
struct losses_at {
    const struct losses *all;
    const double *u;
    double rho;
    const double *g;      /* a point of the dual, or NULL */
    double *gradient, *w; /* (n) what comes out */
    double error;         /* of u */
};

/* A block of examples: z = shift - margin, and klr_logistic of it. */
struct logistic {
    double z[LOGISTIC_BLOCK], p[LOGISTIC_BLOCK], rest[LOGISTIC_BLOCK];
    double value[LOGISTIC_BLOCK];
};

/* Fill the block with the examples from `first` on; returns how many. */
static size_t logistic_fill(struct logistic *l, const struct losses_at *at,
                            size_t first, size_t end, bool values)
{
    const double *y = at->all->y, shift = at->all->loss->shift;
    size_t count = end - first < LOGISTIC_BLOCK ? end - first : LOGISTIC_BLOCK;
    for (size_t k = 0; k < count; k++)
        l->z[k] = shift - y[first + k] * (at->u[first + k] - at->rho);
    klr_logistic(count, l->z, l->p, l->rest, values ? l->value : NULL);
    return count;
}

/* sum: of the losses. */
static void losses_part(const void *context, size_t begin, size_t end,
                        double *sum)
{
    const struct losses_at *at = context;
    const struct losses *all = at->all;
    struct logistic l;
    if (all->loss->model == KLR_MODEL_SVM) {
        for (size_t i = begin; i < end; i++)
            sum[0] += loss_value(all->loss, all->y[i] * (at->u[i] - at->rho),
                                 all->cost[i]);
        return;
    }
    for (size_t i = begin, count; i < end; i += count) {
        count = logistic_fill(&l, at, i, end, true);
        for (size_t k = 0; k < count; k++) {
            double c = all->cost[i + k], alpha = c * l.p[k];
            sum[0] += loss_of_alpha(alpha, loss_cut(all->loss, alpha, c),
                                    l.z[k], l.value[k], c);
        }
    }
}

static double losses_sum(const struct losses *all, const double *u, double rho)
{
    struct losses_at at = {.all = all, .u = u, .rho = rho};
    double sum[PART_VALUES];
    sum_parts(all->pool, all->n, losses_part, &at, sum);
    return sum[0];
}

static double primal_value(const struct losses *all, const double *beta,
                           const double *u, double rho)
{
    return 0.5 * dot(all->n, beta, u) + losses_sum(all, u, rho);
}

/* sum: of losses, of conjugates. */
static void gradient_part(const void *context, size_t begin, size_t end,
                          double *sum)
{
    const struct losses_at *at = context;
    const struct loss *loss = at->all->loss;
    struct logistic l;
    for (size_t i = begin, count; i < end; i += count) {
        count = logistic_fill(&l, at, i, end, true);
        for (size_t k = 0; k < count; k++) {
            double c = at->all->cost[i + k], alpha = c * l.p[k];
            double cut = loss_cut(loss, alpha, c);
            double value = loss_of_alpha(alpha, cut, l.z[k], l.value[k], c);
            sum[0] += value;
            /* psi(alpha) from what the loss is, the largest -alpha margin -
             * psi: C G(p) would lose all digits near its ends */
            sum[1] -= cut * (loss->shift - l.z[k]) + value;
            at->gradient[i + k] = at->all->y[i + k] * cut;
            at->w[i + k] = cut == alpha ? alpha * l.rest[k] : 0;
        }
    }
}

static struct loss_sums losses_gradient(const struct losses *all,
                                        const double *u, double rho, double *g,
                                        double *w)
{
    struct losses_at at = {all, u, rho, NULL, g, w, 0};
    double sum[PART_VALUES];
    sum_parts(all->pool, all->n, gradient_part, &at, sum);
    return (struct loss_sums){sum[0], sum[1]};
}

/* ---- rho ---- */

/* sum: of y_i alpha_i, the derivative of the losses by rho, and its own. */
static void slope_part(const void *context, size_t begin, size_t end,
                       double *sum)
{
    const struct losses_at *at = context;
    const struct losses *all = at->all;
    struct logistic l;
    for (size_t i = begin, count; i < end; i += count) {
        count = logistic_fill(&l, at, i, end, false);
        for (size_t k = 0; k < count; k++) {
            double alpha = all->cost[i + k] * l.p[k];
            double cut = loss_cut(all->loss, alpha, all->cost[i + k]);
            sum[0] += all->y[i + k] * cut;
            sum[1] += cut == alpha ? alpha * l.rest[k] : 0;
        }
    }
}

/* sum: of C_i by class. Maxima: of -u, of u, of C_i. */
static void bracket_part(const void *context, size_t begin, size_t end,
                         double *sum)
{
    const struct losses_at *at = context;
    const struct losses *all = at->all;
    double *most = sum + PART_SUMS;
    for (size_t i = begin; i < end; i++) {
        sum[all->y[i] > 0] += all->cost[i];
        part_raise(&most[0], -at->u[i]);
        part_raise(&most[1], at->u[i]);
        part_raise(&most[2], all->cost[i]);
    }
}

/* Where the optimal rho is: with alpha_i = C_i sigma(shift - y_i (u_i - rho))
 * within the box, the slope grows with rho. At rho = min u - t it is negative
 * and at max u + t positive, once t outweighs the shift, the ratio of the class
 * weights, and the box. Keerthi et al. (2005), below (3.14). */
static void rho_bracket(const struct losses_at *at, double *low, double *high)
{
    const struct loss *loss = at->all->loss;
    double sum[PART_VALUES], *most = sum + PART_SUMS;
    sum_parts(at->all->pool, at->all->n, bracket_part, at, sum);
    double room = 1 + loss->shift + fabs(log(sum[0]) - log(sum[1]));
    if (loss->box > 0)
        room += log(most[2] / loss->box);
    *low = -most[0] - room;
    *high = most[1] + room;
}

/* By Newton's method. A step of d leaves d^2 / 2 at most, since no logistic
 * curvature changes faster than by its own size; where d is larger than 1 it is
 * kept inside the bracket, and where there is a box, which can make that wrong.
 * A step from a slope that is more than half of the one before may go in
 * circles: the bracket is halved instead. */
static double best_rho(const struct losses *all, const double *u, double start)
{
    double low = -INFINITY, high = INFINITY, sum[PART_VALUES];
    double before = INFINITY; /* the slope of the last step */
    struct losses_at at = {.all = all, .u = u, .rho = start};
    for (int step = 0; step < 200; step++) {
        sum_parts(all->pool, all->n, slope_part, &at, sum);
        double slope = sum[0], curvature = sum[1];
        double next = at.rho - slope / curvature, last = at.rho;
        double enough = 1e-15 * (1 + fabs(last));
        if (fabs(next - last) <= (all->loss->box == 0 ? 1e-8 : enough))
            return next;
        bool near = fabs(next - last) <= 1 && all->loss->box == 0;
        bool falls = fabs(slope) <= 0.5 * before;
        if (isinf(low - high) && !(near && falls))
            rho_bracket(&at, &low, &high);
        if (slope > 0)
            high = fmin(high, last);
        else
            low = fmax(low, last);
        before = fabs(slope);
        at.rho = falls && next > low && next < high ? next : 0.5 * (low + high);
        if (fabs(at.rho - last) <= enough)
            break;
    }
    return at.rho;
}

/* A point of the dual and K times it. */
struct hinge_at {
    const struct losses *all;
    const double *beta, *u;
};

/* sum: of support vectors, of the rho of those on the margin, and their number.
 * Maxima: of -rho of what can rise, of rho of what can fall. */
static void hinge_part(const void *context, size_t begin, size_t end,
                       double *sum)
{
    const struct hinge_at *at = context;
    double *most = sum + PART_SUMS;
    for (size_t i = begin; i < end; i++) {
        double y = at->all->y[i], cost = at->all->cost[i];
        double alpha = y * at->beta[i], rho = at->u[i] - y;
        bool rises = y > 0 ? alpha < cost : alpha > 0;
        bool falls = y > 0 ? alpha > 0 : alpha < cost;
        sum[0] += at->beta[i] != 0;
        sum[1] += rises && falls ? rho : 0;
        sum[2] += rises && falls;
        if (rises)
            part_raise(&most[0], -rho);
        if (falls)
            part_raise(&most[1], rho);
    }
}

static double hinge_rho(const struct losses *all, const double *beta,
                        const double *u, double start)
{
    const struct hinge_at at = {all, beta, u};
    double sum[PART_VALUES], *most = sum + PART_SUMS;
    sum_parts(all->pool, all->n, hinge_part, &at, sum);
    if (sum[0] == 0)
        return start;
    return sum[2] > 0 ? sum[1] / sum[2] : 0.5 * (most[1] - most[0]);
}

/* ---- the gap ---- */

/* sum: of the excesses, of what `error` adds to each, of the squares of what it
 * changes the losses by, and of g. */
static void gap_part(const void *context, size_t begin, size_t end, double *sum)
{
    const struct losses_at *at = context;
    const struct loss *loss = at->all->loss;
    for (size_t i = begin; i < end; i++) {
        double y = at->all->y[i], c = at->all->cost[i];
        double z = y * (at->u[i] - at->rho), excess = 0;
        struct dual_at dual = {0};
        if (at->g) {
            struct loss_at here = loss_at(loss, z, c);
            dual = dual_at(loss, y * at->g[i], c);
            excess = excess_at(loss, &dual, &here);
            sum[0] += excess;
            sum[3] += at->g[i];
        }
        if (at->error == 0)
            continue;
        struct loss_at low = loss_at(loss, z - at->error, c);
        struct loss_at high = loss_at(loss, z + at->error, c);
        double off = value_at(loss, &low) - value_at(loss, &high);
        sum[2] += 0.25 * off * off;
        if (at->g)
            sum[1] += fmax(excess_at(loss, &dual, &low),
                           excess_at(loss, &dual, &high)) -
                      excess;
    }
}

static struct losses_gap losses_gap(const struct losses *all, const double *u,
                                    double rho, const double *g, double error)
{
    struct losses_at at = {all, u, rho, g, NULL, NULL, error};
    double sum[PART_VALUES];
    sum_parts(all->pool, all->n, gap_part, &at, sum);
    return (struct losses_gap){sum[0] + fabs(rho * sum[3]), sum[1],
                               sqrt(sum[2])};
}
