/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The link of a machine: from its decision value f to the log-odds of its two
 * sides. Some follow from the loss, others are fitted on decision values.
 *
 *   sigma       f: what the logistic loss estimates
 *   shrunk      f / (1 + lambda/2): beyond the boundary an S-KLR decision value
 *               lies further out by some lambda
 *   consistent  log sigma(lambda + f) - log sigma(lambda - f): what the loss
 *               shifted by lambda estimates
 *   fitted      a slope times f
 *   platt       a slope times f, and an intercept
 *   checked     sigma, of kfd gaussian, unless platt is better by more than
 *               chance
 *   gaussian    f is normally distributed on either side: Mika et al. (2001),
 *               section 5
 *
 * Fits count an example as often as its weight says, as its machine does. A
 * link that is fitted has a log loss on these examples which is below that of
 * the shares of both sides, by more than chance, or is these shares.
 */
#include "solver/loss/loss.h"

/* Parameters that are fitted. */
enum {
    OF_SIGMA = 0,
    OF_SHARES = 1,
    OF_SLOPE = 1,
    OF_PLATT = 2,
    OF_GAUSSIAN = 4
};

static struct link link_of_loss(const struct klr_params *params, double cost,
                                double excess)
{
    double shift = loss_of(params, cost).shift;
    struct link link = link_neutral(params->link);
    link.b = excess;
    if (params->link == KLR_LINK_SHRUNK)
        link.a = -1 / (1 + shift / 2);
    if (params->link == KLR_LINK_CONSISTENT)
        link.c = shift;
    return link;
}

/* ---- Fits ---- */

/* The weights of the negative and of the positive side. */
static void sides_sizes(const struct sides *s, double size[2])
{
    size[0] = size[1] = 0;
    for (size_t i = 0; i < s->n; i++)
        size[s->y[i] > 0] += s->weight[i];
}

/* False if values differ no more from each other than models do in level: of
 * the model that gets the link they tell nothing then. */
static bool sides_differ(const struct sides *s)
{
    double size[2], mean = 0, square = 0, unit = fmax(s->shift, 1e-290);
    sides_sizes(s, size);
    for (size_t i = 0; i < s->n; i++)
        mean += s->weight[i] / (size[0] + size[1]) * (s->aligned[i] / unit);
    for (size_t i = 0; i < s->n; i++) {
        double d = s->aligned[i] / unit - mean;
        square += s->weight[i] / (size[0] + size[1]) * (d * d);
    }
    return square > 1;
}

/* Decision values may differ by this part of the largest from rounding alone;
 * such differences tell nothing of the sides. */
static const double sides_rounding = 1e-12;

/* A power of 2, at least 1, by which decision values are of a size that can be
 * squared. */
static double sides_unit(const struct sides *s)
{
    double most = 1;
    for (size_t i = 0; i < s->n; i++)
        most = fmax(most, fabs(s->f[i]));
    return ldexp(1, ilogb(most));
}

/* u = slope x + intercept are the log-odds, x = (f / unit - mean) / spread, t
 * the targets of Platt (1999), which H.-T. Lin, C.-J. Lin & R. C. Weng, "A note
 * on Platt's probabilistic outputs for support vector machines" (2007) keep:
 * minimise sum_i w_i (log(1 + e^u_i) - t_i u_i). At a small C, decision values
 * differ little from each other: x are of a size that Newton's method sees. */
struct platt {
    const struct sides *sides;
    double unit, mean, spread;
    double target[2]; /* of the negative and the positive side */
    double slope, intercept, value;
    double gradient[2], hessian[3];
};

enum { PLATT_BLOCK = 256 };

/* Some examples: x, u and klr_logistic of u. */
struct platt_block {
    double x[PLATT_BLOCK], u[PLATT_BLOCK];
    double q[PLATT_BLOCK], rest[PLATT_BLOCK], loss[PLATT_BLOCK];
};

/* Fill the block with the examples from `first` on; returns how many. */
static size_t platt_fill(struct platt_block *b, const struct platt *p,
                         size_t first)
{
    size_t left = p->sides->n - first;
    size_t count = left < PLATT_BLOCK ? left : PLATT_BLOCK;
    for (size_t k = 0; k < count; k++) {
        double f = p->sides->f[first + k];
        b->x[k] = (f / p->unit - p->mean) / p->spread;
        b->u[k] = p->slope * b->x[k] + p->intercept;
    }
    klr_logistic(count, b->u, b->q, b->rest, b->loss);
    return count;
}

static void platt_evaluate(struct platt *p)
{
    const struct sides *s = p->sides;
    struct platt_block b;
    p->value = 0;
    memset(p->gradient, 0, sizeof p->gradient);
    memset(p->hessian, 0, sizeof p->hessian);
    for (size_t i = 0, count; i < s->n; i += count) {
        count = platt_fill(&b, p, i);
        for (size_t k = 0; k < count; k++) {
            double w = s->weight[i + k], t = p->target[s->y[i + k] > 0];
            double g = w * (b.q[k] - t), h = w * b.q[k] * b.rest[k];
            p->value += w * (b.loss[k] - t * b.u[k]);
            p->gradient[0] += g * b.x[k];
            p->gradient[1] += g;
            p->hessian[0] += h * b.x[k] * b.x[k];
            p->hessian[1] += h * b.x[k];
            p->hessian[2] += h;
        }
    }
}

/* The Newton step; of the slope alone without an intercept. */
static void platt_step(const struct platt *p, bool intercept, double step[2])
{
    const double *g = p->gradient, *h = p->hessian;
    double ridge = 1e-12 * (h[0] + h[2]) + 1e-300;
    double det = (h[0] + ridge) * (h[2] + ridge) - h[1] * h[1];
    step[0] = -g[0] / (h[0] + ridge);
    step[1] = 0;
    if (intercept) {
        step[0] = -((h[2] + ridge) * g[0] - h[1] * g[1]) / det;
        step[1] = -((h[0] + ridge) * g[1] - h[1] * g[0]) / det;
    }
}

/* Newton's method with step halving on a strictly convex function. Steps are
 * not halved for what the sum may have lost in rounding. */
static void platt_minimise(struct platt *p, bool intercept)
{
    const double rounding = 1e-12;
    platt_evaluate(p);
    for (int round = 0; round < 100; round++) {
        double step[2], t = 1;
        struct platt next = *p;
        platt_step(p, intercept, step);
        double fall = p->gradient[0] * step[0] + p->gradient[1] * step[1];
        double lost = rounding * fabs(p->value);
        for (; t > 1e-10; t /= 2) {
            next.slope = p->slope + t * step[0];
            next.intercept = p->intercept + t * step[1];
            platt_evaluate(&next);
            if (next.value <= p->value + 1e-4 * t * fall + lost)
                break;
        }
        if (t <= 1e-10)
            return;
        *p = next;
        if (-fall <= 10 * lost)
            return;
    }
}

/* mean and spread; the mean of weights of that sum, or 0 where that is 0. False
 * if decision values differ by rounding alone, or so little that a slope might
 * overflow. */
static bool platt_measure(struct platt *p, double total)
{
    const double least = 1e-290;
    const struct sides *s = p->sides;
    double most = 0;
    for (size_t i = 0; i < s->n && total > 0; i++)
        p->mean += s->weight[i] / total * (s->f[i] / p->unit);
    for (size_t i = 0; i < s->n; i++) {
        most = fmax(most, fabs(s->f[i] / p->unit));
        p->spread = fmax(p->spread, fabs(s->f[i] / p->unit - p->mean));
    }
    return p->spread > fmax(sides_rounding * most, least);
}

/* The slope is not negative: more of f is never less of the class. */
static struct link link_fit_platt(const struct sides *s, bool intercept)
{
    double size[2];
    sides_sizes(s, size);
    double prior = intercept ? log((size[1] + 1) / (size[0] + 1)) : 0;
    struct platt p = {
        .sides = s,
        .unit = sides_unit(s),
        .target = {1 / (size[0] + 2), (size[1] + 1) / (size[1] + 2)},
        .slope = 1,
        .intercept = prior,
    };
    if (platt_measure(&p, intercept ? size[0] + size[1] : 0)) {
        platt_minimise(&p, intercept);
        double a = p.slope / p.spread;
        if (a > 0)
            return (struct link){LINK_LOGISTIC, -a / p.unit,
                                 a * p.mean - p.intercept, 0};
    }
    return (struct link){LINK_LOGISTIC, 0, -prior, 0};
}

/* The mean log loss. */
static double sides_log_loss(const struct sides *s, const struct link *link)
{
    double size[2], sum = 0;
    sides_sizes(s, size);
    for (size_t i = 0; i < s->n; i++)
        sum += s->weight[i] / (size[0] + size[1]) *
               softplus(-copysign(1, s->y[i]) * link_log_odds(link, s->f[i]));
    return sum;
}

/* The parameters of the normal densities of both sides. */
struct moments {
    double size[2], mean[2], var[2];
    double count[2]; /* of examples */
};

/* Moments of decision values over `unit`. The count of a side is the effective
 * number of examples: as many of equal weight would tell as much, L. Kish,
 * "Survey Sampling" (1965). */
static struct moments sides_moments(const struct sides *s, double unit)
{
    struct moments m = {.size = {0, 0}};
    double square[2] = {0, 0};
    sides_sizes(s, m.size);
    for (size_t i = 0; i < s->n; i++) {
        int side = s->y[i] > 0;
        double share = s->weight[i] / m.size[side];
        m.mean[side] += share * (s->f[i] / unit);
        square[side] += share * share;
    }
    for (size_t i = 0; i < s->n; i++) {
        int side = s->y[i] > 0;
        double d = s->f[i] / unit - m.mean[side];
        m.var[side] += s->weight[i] / m.size[side] * (d * d);
    }
    for (int side = 0; side < 2; side++)
        m.count[side] = 1 / square[side];
    return m;
}

/* The variances that densities take. With the sum S of the squares of a side of
 * l examples, S / (l - 1) is S / l + v / l for the side's own v = S / (l - 1);
 * v is that of both sides in its place. So a side has its own variance and, as
 * if by one example more, the pooled one: of few examples that are close to
 * each other by chance it is not small. False if no side has two examples. */
static bool moments_shrink(struct moments *m, double least)
{
    double freedom = m->count[0] + m->count[1] - 2;
    double squares = m->count[0] * m->var[0] + m->count[1] * m->var[1];
    if (!(freedom > 1e-9))
        return false;
    for (int side = 0; side < 2; side++) {
        m->var[side] += squares / freedom / m->count[side];
        m->var[side] = fmax(m->var[side], least);
    }
    return true;
}

static struct link link_of_shares(const double size[2], enum link_kind kind)
{
    return (struct link){kind, 0, log(size[0]) - log(size[1]), 0};
}

/* The log-odds of two normal densities times the shares. Means in the wrong
 * order, of few examples held out, or that rounding alone tells apart, and
 * sides of one example each leave the shares. */
static struct link link_fit_gaussian(const struct sides *s)
{
    double unit = sides_unit(s);
    struct moments m = sides_moments(s, unit);
    const double *mean = m.mean, *var = m.var;
    double apart = mean[1] - mean[0];
    double rounding = sides_rounding * fmax(fabs(mean[0]), fabs(mean[1]));
    double least = fmax(1e-12 * apart * apart, rounding * rounding) + 1e-300;
    struct link link = link_of_shares(m.size, LINK_GAUSSIAN);
    if (!(apart > rounding) || !moments_shrink(&m, least))
        return link;
    link.a = (mean[0] / var[0] - mean[1] / var[1]) / unit;
    link.b += 0.5 * log(var[1] / var[0]) + mean[1] * mean[1] / (2 * var[1]) -
              mean[0] * mean[0] / (2 * var[0]);
    link.c = (0.5 / var[1] - 0.5 / var[0]) / unit / unit;
    return link;
}

/* The sum of log losses on these very examples, and of parameters: what a link
 * is chosen by, after H. Akaike, "A new look at the statistical model
 * identification" (1974). */
static double link_total(const struct sides *s, const struct link *link,
                         double parameters)
{
    double size[2];
    sides_sizes(s, size);
    return sides_log_loss(s, link) * (size[0] + size[1]) + parameters;
}

/* The model's own link, f itself or the densities of a kfd, or Platt's:
 * whichever has the lesser total; its parameters. A sigmoid has the form of the
 * densities, too, without f^2. */
static struct link link_fit_checked(const struct klr_params *params,
                                    const struct sides *s, double *parameters)
{
    bool kfd = params->model == KLR_MODEL_KFD;
    struct link own = kfd ? link_fit_gaussian(s) : link_neutral(KLR_LINK_SIGMA);
    struct link platt = link_fit_platt(s, true);
    platt.kind = own.kind;
    *parameters = kfd ? OF_GAUSSIAN : OF_SIGMA;
    if (link_total(s, &own, *parameters) <= link_total(s, &platt, OF_PLATT))
        return own;
    *parameters = OF_PLATT;
    return platt;
}

static int link_form(const struct klr_params *params)
{
    return params->link == KLR_LINK_CHECKED && params->model == KLR_MODEL_KFD
               ? KLR_LINK_GAUSSIAN
               : params->link;
}

/* By the decision values of both sides. */
static struct link link_fit_values(const struct klr_params *params,
                                   const struct sides *s, double *parameters)
{
    if (params->link == KLR_LINK_CHECKED)
        return link_fit_checked(params, s, parameters);
    *parameters = params->link == KLR_LINK_GAUSSIAN ? OF_GAUSSIAN
                  : params->link == KLR_LINK_PLATT  ? OF_PLATT
                                                    : OF_SLOPE;
    return params->link == KLR_LINK_GAUSSIAN
               ? link_fit_gaussian(s)
               : link_fit_platt(s, params->link == KLR_LINK_PLATT);
}

/* A part that is held out may have drawn more of one side than there is. So
 * sides weigh as in training, and all of them as before. */
static void sides_balance(const struct sides *s, const double size[2])
{
    double known[2];
    sides_sizes(s, known);
    double all = (known[0] + known[1]) / (size[0] + size[1]);
    for (size_t i = 0; i < s->n; i++) {
        int side = s->y[i] > 0;
        s->weight[i] *= size[side] / known[side] * all;
    }
}

/* A link of one parameter that is better than the shares by more than chance,
 * or the shares. f itself, which has no parameter, must not be worse than
 * these. */
static struct link link_fit_sides(const struct klr_params *params,
                                  const struct sides *s,
                                  const struct link *shares)
{
    struct link link = *shares;
    double parameters = OF_SHARES;
    if (sides_differ(s))
        link = link_fit_values(params, s, &parameters);
    else if (link_form(params) == KLR_LINK_CHECKED)
        link = link_neutral(KLR_LINK_SIGMA);
    parameters = fmax(parameters, OF_SHARES);
    return link_total(s, &link, parameters) <= link_total(s, shares, OF_SHARES)
               ? link
               : *shares;
}

static struct link link_fit(const struct klr_params *params,
                            const struct sides *s, const double size[2],
                            double excess)
{
    double known[2], prior = params->prior;
    struct link link = link_neutral(link_form(params));
    sides_sizes(s, known);
    if (size[0] > 0 && size[1] > 0) {
        struct link shares = link_of_shares(size, link.kind);
        if (known[0] > 0 && known[1] > 0) {
            sides_balance(s, size);
            link = link_fit_sides(params, s, &shares);
        } else if (link_form(params) != KLR_LINK_CHECKED) {
            link = shares;
        }
        if (!isnan(prior))
            link.b -= shares.b + log(prior) - log1p(-prior);
    }
    link.b += excess;
    return link;
}
