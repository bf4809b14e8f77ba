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
 *   checked     sigma, of kfd gaussian, unless platt is better by more than
 *               chance
 *   gaussian    f is normally distributed on either side: Mika et al. (2001),
 *               section 5
 *
 * Fits count an example as often as its weight says, as its machine does. A
 * link that is fitted has a log loss on these examples which is not above that
 * of the shares of both sides, or is these shares.
 */
#include "solver/train/train.h"

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
static double group_excess(const struct machine_group *group,
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

/* Examples of two sides with their decision values. Models of several parts
 * differ in the level of their values from the one that is to have the link: by
 * `shift`, the root of the mean square; `aligned` are values less that. */
struct sides {
    size_t n;
    double *f, *y, *weight, *aligned; /* (n) */
    double shift;
};

enum { SIDES_ARRAYS = 4 };

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

/* The model's own link, f itself or the densities of a kfd, or Platt's:
 * whichever has the lesser sum of log loss and parameters, fitted on these very
 * examples: H. Akaike, "A new look at the statistical model identification"
 * (1974). A sigmoid has the form of the densities, too, without f^2. */
static struct link link_fit_checked(const struct klr_params *params,
                                    const struct sides *s)
{
    bool kfd = params->model == KLR_MODEL_KFD;
    struct link own = kfd ? link_fit_gaussian(s) : link_neutral(KLR_LINK_SIGMA);
    struct link platt = link_fit_platt(s, true);
    double size[2], spared = kfd ? -2 : 2; /* parameters that own lacks */
    sides_sizes(s, size);
    platt.kind = own.kind;
    double gain = sides_log_loss(s, &own) - sides_log_loss(s, &platt);
    return gain * (size[0] + size[1]) > spared ? platt : own;
}

static int link_form(const struct klr_params *params)
{
    return params->link == KLR_LINK_CHECKED && params->model == KLR_MODEL_KFD
               ? KLR_LINK_GAUSSIAN
               : params->link;
}

/* By the decision values of both sides. */
static struct link link_fit_values(const struct klr_params *params,
                                   const struct sides *s)
{
    if (params->link == KLR_LINK_GAUSSIAN)
        return link_fit_gaussian(s);
    if (params->link == KLR_LINK_CHECKED)
        return link_fit_checked(params, s);
    return link_fit_platt(s, params->link == KLR_LINK_PLATT);
}

/* Fit a link; it becomes the shares of both sides where the values leave it
 * open or speak against it. Where a side has no values, the shares are `size`,
 * those of the examples that the machine is trained on. Where a side has no
 * examples at all, the link is neutral. */
static struct link link_fit(const struct klr_params *params,
                            const struct sides *s, const double size[2],
                            double excess)
{
    double known[2], prior = params->prior;
    struct link link = link_neutral(link_form(params));
    sides_sizes(s, known);
    bool both = known[0] > 0 && known[1] > 0;
    if (size[0] > 0 && size[1] > 0) {
        struct link shares = link_of_shares(both ? known : size, link.kind);
        if (both && sides_differ(s))
            link = link_fit_values(params, s);
        else if (link_form(params) != KLR_LINK_CHECKED)
            link = shares;
        if (both && !(sides_log_loss(s, &link) <= sides_log_loss(s, &shares)))
            link = shares;
        if (!isnan(prior))
            link.b -= shares.b + log(prior) - log1p(-prior);
    }
    link.b += excess;
    return link;
}

/* ---- Decision values of a group ---- */

/* values (held.size, machines, count), which are the caller's in any case. */
static int group_values(const struct machine_group *group,
                        struct training *training, struct klr_set held,
                        double **values, struct klr_error *err)
{
    size_t n = group->set.size, m = group->machines * group->count;
    double *v = klr_alloc(n * m, sizeof *v, err), scale = 0;
    double *out = *values = klr_alloc(held.size * m, sizeof *out, err);
    int code = v && out ? 0 : KLR_E_MEMORY;
    for (size_t s = 0; s < m && !code; s++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            double beta = v[i * m + s] = group->solution[s].beta[i];
            sum += beta * beta;
        }
        scale = fmax(scale, sum * training->most);
    }
    if (!code && held.size > 0 &&
        !operator_apply(training->op, held, group->set, v, m,
                        training_precision(training, scale), out))
        memset(out, 0, held.size * m * sizeof *out); /* cut: of no use */
    for (size_t i = 0; i < held.size * m && !code; i++)
        out[i] -= group->solution[i % m].rho;
    klr_free(v);
    return code;
}

static int group_decide(const struct machine_group *group,
                        struct training *training, struct klr_set held,
                        double *output, struct klr_error *err)
{
    size_t size = group->machines * group->count * sizeof *output;
    double *values;
    int code = group_values(group, training, held, &values, err);
    const char *from = (const char *)values;
    for (size_t r = 0; r < held.count && !code; r++) {
        struct klr_range range = held.range[r];
        size_t bytes = (range.end - range.begin) * size;
        memcpy((char *)output + range.begin * size, from, bytes);
        from += bytes;
    }
    klr_free(values);
    return code;
}

/* mean (machines, count) of the values of a set. */
static int group_means(const struct machine_group *group,
                       struct training *training, struct klr_set set,
                       double *mean, struct klr_error *err)
{
    size_t m = group->machines * group->count;
    double *values;
    int code = group_values(group, training, set, &values, err);
    memset(mean, 0, m * sizeof *mean);
    for (size_t i = 0; i < set.size * m && !code; i++)
        mean[i % m] += values[i] / (double)set.size;
    klr_free(values);
    return code;
}

/* ---- Calibration ---- */

/* The group's examples that are held out, their ranges in `range`. */
static struct klr_set group_held(const struct machine_group *group,
                                 const struct partition *partition,
                                 struct held_out held_out,
                                 struct klr_range *range)
{
    size_t count = 0;
    for (size_t j = 0; j < group->classes; j++)
        partition_held(partition, group->class[j], held_out, range, &count);
    return set_of(range, count);
}

/* Workspace of group_train_fitted. */
struct fitting {
    struct klr_range *range;   /* (k (folds + 1)) */
    double *output;            /* (n, machines, count) */
    double *side;              /* (SIDES_ARRAYS, n) */
    double *beta;              /* (machines, count, n) of */
    struct solution *solution; /* (machines, count) without a part */
    double *level;  /* (parts, machines, count) by how much the mean decision
                      value of what a part is trained on is higher by its
                      solutions; NaN: that is one class, and its values tell
                      nothing */
    size_t decided; /* parts; 0: by the group's own solutions */
    bool cut;       /* not even by these */
    enum klr_status status; /* the gravest of theirs */
    struct klr_arena arena; /* all that is allocated */
};

static int fitting_create(struct fitting *f, const struct machine_group *group,
                          const struct partition *partition,
                          struct klr_error *err)
{
    struct klr_arena *arena = &f->arena;
    size_t n = partition->n, m = group->machines * group->count;
    *f = (struct fitting){0};
    if (!KLR_TAKE(arena, f->range, partition->k, partition->folds + 1, err) ||
        !KLR_TAKE(arena, f->output, n, m, err) ||
        !KLR_TAKE(arena, f->side, n, SIDES_ARRAYS, err) ||
        !KLR_TAKE_ZERO(arena, f->level, partition->parts, m, err) ||
        !KLR_TAKE(arena, f->beta, n, m, err) ||
        !KLR_TAKE_ZERO(arena, f->solution, m, 1, err))
        return KLR_E_MEMORY;
    for (size_t s = 0; s < m; s++)
        f->solution[s].beta = f->beta + s * n;
    return 0;
}

/* A few of the examples that a training has. */
static struct klr_set group_sample(const struct machine_group *group,
                                   const struct partition *partition,
                                   struct held_out held_out,
                                   struct klr_range *range)
{
    size_t count = 0;
    for (size_t j = 0; j < group->classes; j++)
        partition_kept(partition, group->class[j], held_out, range, &count);
    count = count < CALIBRATION_SAMPLE ? count : CALIBRATION_SAMPLE;
    for (size_t r = 0; r < count; r++)
        if (range[r].end - range[r].begin > CALIBRATION_SAMPLE / count)
            range[r].end = range[r].begin + CALIBRATION_SAMPLE / count;
    return set_of(range, count);
}

/* The decision values of a part by solutions without it, if there is time. What
 * these have for a note is noted of the own ones. */
static int group_decide_part(struct machine_group *group,
                             struct training *training,
                             struct held_out held_out, struct fitting *f,
                             struct solution *own, struct klr_error *err)
{
    const struct klr_params *params = training->params;
    enum klr_status over = clock_status(&training->clock, params);
    int code = over ? 0 : group_solve(group, training, held_out, err);
    for (size_t s = 0; !code && s < group->machines * group->count; s++) {
        f->status = gravest(f->status, group->solution[s].status);
        if (!over && group->solution[s].note != KLR_NOTE_NONE)
            own[s].link_note = group->solution[s].note;
    }
    clock_between(&training->clock, "links");
    over = gravest(over, clock_status(&training->clock, params));
    f->status = gravest(f->status, over);
    if (code || over)
        return code;
    code =
        group_decide(group, training,
                     group_held(group, training->partition, held_out, f->range),
                     f->output, err);
    f->decided += !clock_stopped(&training->clock);
    return code;
}

/* The level of a part, of which f->level has the means by the group's own
 * solutions. */
static int group_raise(struct machine_group *group, struct training *training,
                       struct held_out held_out, struct fitting *f,
                       struct klr_error *err)
{
    size_t m = group->machines * group->count;
    double *level = f->level + held_out.part * m, *mean = f->side;
    struct klr_set sample =
        group_sample(group, training->partition, held_out, f->range);
    int code = group_means(group, training, sample, mean, err);
    for (size_t s = 0; s < m && !code; s++) {
        size_t machine = s / group->count;
        level[s] = single_class_sign(group, training->params, machine) != 0
                       ? (double)NAN
                       : mean[s] - level[s];
    }
    return code;
}

/* Decide the examples of each part. Without parts, the group's solutions decide
 * their own examples. A status that cuts off parts becomes that of all
 * links. */
static int group_decide_fitted(struct machine_group *group,
                               struct training *training, size_t fold,
                               struct fitting *f, struct klr_error *err)
{
    size_t m = group->machines * group->count;
    size_t parts = calibration_solves(training->params);
    struct solution *own = group->solution;
    int code = 0;
    for (size_t p = 0; p < parts && !code; p++)
        code = group_means(group, training,
                           group_sample(group, training->partition,
                                        (struct held_out){fold, p}, f->range),
                           f->level + p * m, err);
    group->solution = f->solution;
    for (size_t p = 0; p < parts && f->decided == p && !code; p++) {
        struct held_out held_out = {fold, p};
        code = group_decide_part(group, training, held_out, f, own, err);
        if (!code && f->decided > p)
            code = group_raise(group, training, held_out, f, err);
    }
    group->solution = own;
    group_fill(group, training,
               (struct held_out){fold, training->partition->parts});
    clock_between(&training->clock, "links");
    if (!code && f->decided == 0)
        code = group_decide(group, training, group->set, f->output, err);
    f->cut = f->decided == 0 && clock_stopped(&training->clock);
    f->status = gravest(f->status, training->clock.status);
    for (size_t s = 0; s < m; s++)
        own[s].link_status =
            f->status >= KLR_TIME_LIMIT ? f->status : KLR_CONVERGED;
    return code;
}

/* The examples of a set, to the sides of solution s. */
static void sides_add(struct sides *sides, const struct machine_group *group,
                      const struct training *training, struct klr_set set,
                      size_t s, const double *output, double level)
{
    size_t m = group->machines * group->count, c = 0;
    for (size_t r = 0; r < set.count; r++) {
        struct klr_range range = set.range[r];
        while (partition_begin(training->partition, c + 1) <= range.begin)
            c++;
        for (size_t p = range.begin; p < range.end; p++) {
            size_t i = sides->n++;
            sides->f[i] = output[p * m + s];
            sides->aligned[i] = sides->f[i] - level;
            sides->y[i] = group_sign(group, s / group->count, c);
            sides->weight[i] = training->weight[p];
        }
    }
}

/* The weights of both sides of a machine. */
static void group_sizes(const struct machine_group *group, size_t machine,
                        double size[2])
{
    const double *y = group->y + machine * group->stride;
    size[0] = size[1] = 0;
    for (size_t i = 0; i < group->set.size; i++)
        size[y[i] > 0] += group->weight[i];
}

/* The links from the decision values of parts, or of all; from none the
 * decision values stand for themselves. A machine that is the shares of its
 * sides has no use for values. */
static void group_fit(struct machine_group *group,
                      const struct training *training, size_t fold,
                      const struct fitting *f)
{
    size_t m = group->machines * group->count, n = group->set.size;
    for (size_t s = 0; s < m; s++) {
        size_t machine = s / group->count;
        bool shares = group->solution[s].note != KLR_NOTE_NONE;
        double size[2], square = 0;
        struct sides sides = {
            0, f->side, f->side + n, f->side + 2 * n, f->side + 3 * n, 0};
        if (f->decided == 0 && !shares)
            sides_add(&sides, group, training, group->set, s, f->output, 0);
        for (size_t p = 0; p < f->decided && !shares; p++) {
            double level = f->level[p * m + s];
            struct held_out held_out = {fold, p};
            if (isnan(level))
                continue;
            sides_add(
                &sides, group, training,
                group_held(group, training->partition, held_out, f->range), s,
                f->output, level);
            square += level * level / (double)f->decided;
        }
        sides.shift = sqrt(square);
        group_sizes(group, machine, size);
        group->link[s] = f->cut
                             ? link_neutral(link_form(training->params))
                             : link_fit(training->params, &sides, size,
                                        group_excess(group, training, machine));
    }
}

/* The machines first: if the time is too short for all, it is better spent on
 * them. */
static int group_train_fitted(struct machine_group *group,
                              struct training *training, size_t fold,
                              struct klr_error *err)
{
    struct held_out held_out = {fold, training->partition->parts};
    struct fitting f;
    int code = fitting_create(&f, group, training->partition, err);
    if (!code)
        code = group_solve(group, training, held_out, err);
    if (!code)
        code = group_decide_fitted(group, training, fold, &f, err);
    if (!code)
        group_fit(group, training, fold, &f);
    klr_arena_free(&f.arena);
    return code;
}

static int group_train(struct machine_group *group, struct training *training,
                       size_t fold, struct klr_error *err)
{
    const struct klr_params *params = training->params;
    if (link_is_fitted(params->link))
        return group_train_fitted(group, training, fold, err);
    for (size_t s = 0; s < group->machines * group->count; s++)
        group->link[s] =
            link_of_loss(params, params->cost.value[s % group->count],
                         group_excess(group, training, s / group->count));
    struct held_out held_out = {fold, training->partition->parts};
    return group_solve(group, training, held_out, err);
}
