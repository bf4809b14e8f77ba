/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links: from the decision value of a machine to the log-odds of its two sides.
 * Some follow from the loss; others are fitted on decision values of examples
 * that the machine was not trained on: each part of the training set is decided
 * by machines trained on the other parts, on the same operator, after the
 * machine itself has been trained on all of it.
 *
 *   sigma       f: what the logistic loss estimates
 *   shrunk      f / (1 + lambda/2): beyond the boundary an S-KLR decision value
 *               lies further out by some lambda
 *   consistent  log sigma(lambda + f) - log sigma(lambda - f): what the loss
 *               shifted by lambda estimates
 *   fitted      a slope times f
 *   platt       a slope times f, and an intercept
 *   checked     sigma, unless platt is better by more than chance
 *   gaussian    f is normally distributed on either side: Mika et al. (2001),
 *               section 5
 *
 * Fits count an example as often as its weight says, as its machine does.
 */
#include "solver/internal.h"

#include "solver/multiclass.h"

#include <float.h>

static bool link_is_fitted(int link)
{
    return link == KLR_LINK_FITTED || link == KLR_LINK_PLATT ||
           link == KLR_LINK_CHECKED || link == KLR_LINK_GAUSSIAN;
}

static size_t calibration_parts(const struct klr_params *params)
{
    return link_is_fitted(params->link) &&
                   params->calibration != KLR_CALIBRATION_TRAINING
               ? CALIBRATION_PARTS
               : 1;
}

static size_t calibration_solves(const struct klr_params *params)
{
    size_t parts = calibration_parts(params);
    if (parts == 1)
        return 0;
    return params->calibration == KLR_CALIBRATION_CV ? parts : 1;
}

/* ---- Weights of classes ---- */

/* Training and fits see each class as often as its weight says, which adds
 * log(w_a / w_b) to the log-odds of class a against b, log w_c to the score of
 * class c among all: what z is to lose. */
static double group_excess(const struct group *group,
                           const struct training *training, size_t machine)
{
    const double *weight = training->class_weight;
    if (!training->params->prior_correct)
        return 0;
    if (training->multiclass == KLR_SOFTMAX)
        return log(weight[group->class[machine]]);
    return log(weight[group->class[0]]) - log(weight[group->class[1]]);
}

/* ---- Links of the loss ---- */

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

/* Examples of two sides with their decision values. */
struct sides {
    size_t n;
    const double *f, *y, *weight; /* (n) */
};

/* Of decision values: a part of the largest by which they may differ from
 * rounding alone, and which tells nothing of the sides. */
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

static void platt_evaluate(struct platt *p)
{
    const struct sides *s = p->sides;
    p->value = 0;
    memset(p->gradient, 0, sizeof p->gradient);
    memset(p->hessian, 0, sizeof p->hessian);
    for (size_t i = 0; i < s->n; i++) {
        double x = (s->f[i] / p->unit - p->mean) / p->spread;
        double t = p->target[s->y[i] > 0];
        double u = p->slope * x + p->intercept, q = sigmoid(u);
        double g = s->weight[i] * (q - t), h = s->weight[i] * q * sigmoid(-u);
        p->value += s->weight[i] * (softplus(u) - t * u);
        p->gradient[0] += g * x;
        p->gradient[1] += g;
        p->hessian[0] += h * x * x;
        p->hessian[1] += h * x;
        p->hessian[2] += h;
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

/* Newton's method with step halving on a strictly convex function. */
static void platt_minimise(struct platt *p, bool intercept)
{
    platt_evaluate(p);
    for (int round = 0; round < 100; round++) {
        double step[2], t = 1;
        struct platt next = *p;
        platt_step(p, intercept, step);
        double fall = p->gradient[0] * step[0] + p->gradient[1] * step[1];
        for (; t > 1e-10; t /= 2) {
            next.slope = p->slope + t * step[0];
            next.intercept = p->intercept + t * step[1];
            platt_evaluate(&next);
            if (next.value <= p->value + 1e-4 * t * fall)
                break;
        }
        if (t <= 1e-10 || -fall <= 1e-14 * fabs(p->value))
            return;
        *p = next;
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
    double size[2] = {0, 0};
    for (size_t i = 0; i < s->n; i++)
        size[s->y[i] > 0] += s->weight[i];
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

static double sides_log_loss(const struct sides *s, const struct link *link)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += s->weight[i] *
               softplus(-copysign(1, s->y[i]) * link_log_odds(link, s->f[i]));
    return sum;
}

/* f itself, unless Platt's two parameters, fitted on these very examples, make
 * the log loss less by more than two: H. Akaike, "A new look at the statistical
 * model identification" (1974). */
static struct link link_fit_checked(const struct sides *s)
{
    struct link own = link_neutral(KLR_LINK_SIGMA);
    struct link platt = link_fit_platt(s, true);
    bool better = sides_log_loss(s, &platt) + 2 < sides_log_loss(s, &own);
    return better ? platt : own;
}

/* What there is to know of normal densities, of either side. */
struct moments {
    double size[2], mean[2], var[2];
};

/* Of decision values over `unit`. */
static struct moments sides_moments(const struct sides *s, double unit)
{
    struct moments m = {{0, 0}, {0, 0}, {0, 0}};
    for (size_t i = 0; i < s->n; i++) {
        m.size[s->y[i] > 0] += s->weight[i];
        m.mean[s->y[i] > 0] += s->weight[i] * (s->f[i] / unit);
    }
    for (int side = 0; side < 2; side++)
        m.mean[side] /= m.size[side];
    for (size_t i = 0; i < s->n; i++) {
        double d = s->f[i] / unit - m.mean[s->y[i] > 0];
        m.var[s->y[i] > 0] += s->weight[i] * d * d;
    }
    for (int side = 0; side < 2; side++)
        m.var[side] /= m.size[side];
    return m;
}

/* The log-odds of two normal densities times the priors, of which the positive
 * side has `prior`, or its share of the examples if that is NaN. Means in the
 * wrong order, of few examples held out, or that rounding alone tells apart
 * leave the priors; a side without a variance, of one example, has that of the
 * other. */
static struct link link_fit_gaussian(const struct sides *s, double prior)
{
    double unit = sides_unit(s);
    struct moments m = sides_moments(s, unit);
    const double *mean = m.mean;
    double *var = m.var, apart = mean[1] - mean[0];
    double odds = isnan(prior) ? log(m.size[1]) - log(m.size[0])
                               : log(prior) - log1p(-prior);
    double rounding = sides_rounding * fmax(fabs(mean[0]), fabs(mean[1]));
    if (!(apart > rounding))
        return (struct link){LINK_GAUSSIAN, 0, -odds, 0};
    double least = fmax(1e-12 * apart * apart, rounding * rounding) + 1e-300;
    for (int side = 0; side < 2; side++)
        if (!(var[side] > least))
            var[side] = fmax(var[!side], least);
    double b = odds - 0.5 * log(var[1] / var[0]) -
               mean[1] * mean[1] / (2 * var[1]) +
               mean[0] * mean[0] / (2 * var[0]);
    return (struct link){
        .kind = LINK_GAUSSIAN,
        .a = (mean[0] / var[0] - mean[1] / var[1]) / unit,
        .b = -b,
        .c = (0.5 / var[1] - 0.5 / var[0]) / unit / unit,
    };
}

/* Of one side alone, since no decision value of the other is known, there is
 * nothing to fit. */
static struct link link_fit(const struct klr_params *params,
                            const struct sides *sides, double excess)
{
    struct link link = link_neutral(params->link);
    bool both[2] = {false, false};
    for (size_t i = 0; i < sides->n; i++)
        both[sides->y[i] > 0] = true;
    if (both[0] && both[1]) {
        if (params->link == KLR_LINK_GAUSSIAN)
            link = link_fit_gaussian(sides, params->prior);
        else if (params->link == KLR_LINK_CHECKED)
            link = link_fit_checked(sides);
        else
            link = link_fit_platt(sides, params->link == KLR_LINK_PLATT);
    }
    link.b += excess;
    return link;
}

/* ---- Decision values of a group ---- */

static int group_decide(const struct group *group, struct training *training,
                        struct klr_set held, double *output,
                        struct klr_error *err)
{
    size_t n = group->set.size, m = group->machines * group->count;
    double *v = klr_alloc(n * m, sizeof *v, err), scale = 0;
    double *product = klr_alloc(held.size * m, sizeof *product, err);
    int code = v && product ? 0 : KLR_E_MEMORY;
    for (size_t s = 0; s < m && !code; s++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            double beta = v[i * m + s] = group->solution[s].beta[i];
            sum += beta * beta;
        }
        scale = fmax(scale, sum * training->most);
    }
    if (!code && held.size > 0) {
        operator_apply(training->op, held, group->set, v, m,
                       training_precision(training, scale), product);
        const double *from = product;
        for (size_t r = 0; r < held.count; r++)
            for (size_t p = held.range[r].begin; p < held.range[r].end; p++)
                for (size_t s = 0; s < m; s++)
                    output[p * m + s] = *from++ - group->solution[s].rho;
    }
    klr_free(v);
    klr_free(product);
    return code;
}

/* ---- Calibration ---- */

/* The group's examples in the hole, their ranges in `range`. */
static struct klr_set group_held(const struct group *group,
                                 const struct layout *layout, struct hole hole,
                                 struct klr_range *range)
{
    size_t count = 0;
    for (size_t j = 0; j < group->classes; j++)
        layout_held(layout, group->class[j], hole, range, &count);
    return set_of(range, count);
}

/* The links from the decision values that are known; side (3, n) is workspace
 * for them, signs and weights. */
static void group_fit(struct group *group, const struct training *training,
                      const double *output, double *side)
{
    const struct layout *layout = training->layout;
    size_t m = group->machines * group->count, n = group->set.size;
    double *f = side, *y = f + n, *weight = y + n;
    for (size_t s = 0; s < m; s++) {
        size_t i = 0, c = 0;
        for (size_t r = 0; r < group->set.count; r++) {
            struct klr_range range = group->range[r];
            while (layout_begin(layout, c + 1) <= range.begin)
                c++;
            for (size_t p = range.begin; p < range.end; p++) {
                if (isnan(output[p * m + s]))
                    continue;
                f[i] = output[p * m + s];
                y[i] = group_sign(group, s / group->count, c);
                weight[i++] = training->weight[p];
            }
        }
        struct sides sides = {i, f, y, weight};
        group->link[s] =
            link_fit(training->params, &sides,
                     group_excess(group, training, s / group->count));
    }
}

/* What group_train_fitted works with. */
struct fitting {
    struct klr_range *range;   /* (k (folds + 1)) */
    double *output;            /* (n, machines, count); NaN: not known */
    double *side;              /* (3, n) */
    double *beta;              /* (machines, count, n) of */
    struct solution *solution; /* (machines, count) without a part */
    size_t decided;            /* parts */
    enum klr_status status;    /* the gravest of theirs */
};

static int fitting_create(struct fitting *f, const struct group *group,
                          const struct layout *layout, struct klr_error *err)
{
    size_t n = layout->n, m = group->machines * group->count;
    *f = (struct fitting){0};
    if (!(f->range = klr_alloc(layout->k,
                               (layout->folds + 1) * sizeof *f->range, err)) ||
        !(f->output = klr_alloc(n, m * sizeof(double), err)) ||
        !(f->side = klr_alloc(n, 3 * sizeof(double), err)) ||
        !(f->beta = klr_alloc(n, m * sizeof(double), err)) ||
        !(f->solution = klr_zalloc(m, sizeof *f->solution, err)))
        return KLR_E_MEMORY;
    for (size_t i = 0; i < n * m; i++)
        f->output[i] = NAN;
    for (size_t s = 0; s < m; s++)
        f->solution[s].beta = f->beta + s * n;
    return 0;
}

static void fitting_free(struct fitting *f)
{
    klr_free(f->range);
    klr_free(f->output);
    klr_free(f->side);
    klr_free(f->beta);
    klr_free(f->solution);
}

/* The decision values of a part by solutions without it, if there is time. */
static int group_decide_part(struct group *group, struct training *training,
                             struct hole hole, struct fitting *f,
                             struct klr_error *err)
{
    const struct klr_params *params = training->params;
    enum klr_status over = clock_status(&training->clock, params);
    int code = over ? 0 : group_solve(group, training, hole, err);
    for (size_t s = 0; !code && s < group->machines * group->count; s++)
        f->status = gravest(f->status, group->solution[s].status);
    over = gravest(over, clock_status(&training->clock, params));
    f->status = gravest(f->status, over);
    if (code || over)
        return code;
    f->decided++;
    return group_decide(group, training,
                        group_held(group, training->layout, hole, f->range),
                        f->output, err);
}

/* The decision values of parts; without any, those of the group's solutions for
 * their own examples. A status that cut parts off is that of all links. */
static int group_decide_fitted(struct group *group, struct training *training,
                               size_t fold, struct fitting *f,
                               struct klr_error *err)
{
    struct hole all = {fold, training->layout->parts};
    struct solution *own = group->solution;
    int code = 0;
    group->solution = f->solution;
    for (size_t p = 0;
         p < calibration_solves(training->params) && f->decided == p && !code;
         p++)
        code =
            group_decide_part(group, training, (struct hole){fold, p}, f, err);
    group->solution = own;
    group_fill(group, training, all);
    if (!code && f->decided == 0)
        code = group_decide(group, training, group->set, f->output, err);
    for (size_t s = 0; s < group->machines * group->count; s++)
        own[s].link_status =
            f->status >= KLR_TIME_LIMIT ? f->status : KLR_CONVERGED;
    return code;
}

/* The machines first: if the time is too short for all, it is better spent on
 * them. */
static int group_train_fitted(struct group *group, struct training *training,
                              size_t fold, struct klr_error *err)
{
    struct hole hole = {fold, training->layout->parts};
    struct fitting f;
    int code = fitting_create(&f, group, training->layout, err);
    if (!code)
        code = group_solve(group, training, hole, err);
    if (!code)
        code = group_decide_fitted(group, training, fold, &f, err);
    if (!code)
        group_fit(group, training, f.output, f.side);
    fitting_free(&f);
    return code;
}

static int group_train(struct group *group, struct training *training,
                       size_t fold, struct klr_error *err)
{
    const struct klr_params *params = training->params;
    if (link_is_fitted(params->link))
        return group_train_fitted(group, training, fold, err);
    for (size_t s = 0; s < group->machines * group->count; s++)
        group->link[s] =
            link_of_loss(params, params->cost.value[s % group->count],
                         group_excess(group, training, s / group->count));
    struct hole hole = {fold, training->layout->parts};
    return group_solve(group, training, hole, err);
}
