/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links: their log-odds, and their fits against brute force.
 */
#include "kernel.h"

/* How many terms of objectives were formed. */
static size_t terms;

static void counted_logistic(size_t n, const double *z, double *p, double *rest,
                             double *loss)
{
    terms += n;
    klr_logistic(n, z, p, rest, loss);
}

#define klr_logistic counted_logistic
#define SOLVER_FLOOR 1
#include "solver.c"

#include "tests/larger.h"
#include "tests/tap.h"

static uint64_t state = 20240601;

static double uniform(void)
{
    return (double)(random_next(&state) >> 11) / 9007199254740992.0;
}

enum { N = 120 };

/* Decision values that overlap, more negative sides than positive ones. */
static void make_sides(double *f, double *y, double *weight)
{
    for (size_t i = 0; i < N; i++) {
        y[i] = i % 3 == 0 ? 1 : -1;
        f[i] = 0.7 * y[i] + 3 * (uniform() - 0.5);
        weight[i] = y[i] > 0 ? 5 : 1; /* both sides weigh different sums */
    }
}

/* Sides of one model, without weights of classes. */
static struct sides sides_of(size_t n, double *f, double *y, double *weight)
{
    return (struct sides){n, f, y, weight, f, 0};
}

/* The link of all sides, without shares of others. */
static struct link link_for(int kind, const struct sides *sides, double prior)
{
    struct klr_params params;
    double size[2];
    klr_params_init(&params);
    params.link = kind;
    params.prior = prior;
    sides_sizes(sides, size);
    return link_fit(&params, sides, size, 0);
}

static void test_log_odds(void)
{
    struct link link = {LINK_LOGISTIC, -2, 0.5, 0};
    ok(link_log_odds(&link, 3) == 5.5, "logistic");
    link = (struct link){LINK_CONSISTENT, -1, 0, 1.5};
    double f = 0.8,
           p = sigmoid(1.5 + f) / (sigmoid(1.5 + f) + sigmoid(1.5 - f));
    ok(fabs(sigmoid(link_log_odds(&link, f)) - p) < 1e-14, "consistent");
    ok(isfinite(link_log_odds(&link, 1e5)), "far away, too");
    ok(link_neutral(KLR_LINK_GAUSSIAN).kind == LINK_GAUSSIAN &&
           link_neutral(KLR_LINK_CONSISTENT).kind == LINK_CONSISTENT,
       "neutral links are of their kind");
    for (int l = KLR_LINK_SIGMA; l <= KLR_LINK_GAUSSIAN; l++) {
        link = link_neutral(l);
        ok(fabs(link_log_odds(&link, -1.25) + 1.25) < 1e-15, "neutral %d", l);
    }
}

/* Platt's objective: the definition. */
static double platt_loss(const double *f, const double *y, const double *weight,
                         double a, double b)
{
    double size[2] = {0, 0}, sum = 0;
    for (size_t i = 0; i < N; i++)
        size[y[i] > 0] += weight[i];
    for (size_t i = 0; i < N; i++) {
        double t = y[i] > 0 ? (size[1] + 1) / (size[1] + 2) : 1 / (size[0] + 2);
        double p = 1 / (1 + exp(a * f[i] + b));
        sum -= weight[i] * (t * log(p) + (1 - t) * log(1 - p));
    }
    return sum;
}

/* No neighbour is better. */
static void test_platt(void)
{
    double f[N], y[N], weight[N];
    make_sides(f, y, weight);
    struct sides sides = sides_of(N, f, y, weight);
    for (int intercept = 0; intercept < 2; intercept++) {
        struct link link = link_fit_platt(&sides, intercept);
        double best = platt_loss(f, y, weight, link.a, link.b);
        bool least = link.a < -0.1 && (intercept || link.b == 0);
        for (int da = -1; da <= 1; da++)
            for (int db = -1; db <= 1; db++)
                if ((da || db) && (intercept || !db))
                    least =
                        least && platt_loss(f, y, weight, link.a + 1e-3 * da,
                                            link.b + 1e-3 * db) > best;
        ok(least, "a = %g, b = %g", link.a, link.b);
    }
    for (size_t i = 0; i < N; i++) {
        f[i] = -f[i];
        weight[i] = 1;
    }
    for (int kind = KLR_LINK_FITTED; kind <= KLR_LINK_GAUSSIAN; kind++) {
        struct link falling = link_for(kind, &sides, NAN);
        ok(falling.a == 0 && !signbit(falling.a), "a slope never falls");
        ok(fabs(sigmoid(-falling.b) - 40.0 / 120) < 1e-12,
           "and the shares remain: %g", sigmoid(-falling.b));
    }
}

/* By which part of itself a Newton step in long double would move the slope. */
static double platt_error(const struct sides *s, const struct link *link,
                          bool intercept)
{
    double size[2];
    long double g[2] = {0, 0}, h[3] = {0, 0, 0};
    sides_sizes(s, size);
    for (size_t i = 0; i < s->n; i++) {
        double t =
            s->y[i] > 0 ? (size[1] + 1) / (size[1] + 2) : 1 / (size[0] + 2);
        long double f = s->f[i], q = 1 / (1 + expl(link->a * f + link->b));
        g[0] += s->weight[i] * (q - t) * f;
        g[1] += s->weight[i] * (q - t);
        h[0] += s->weight[i] * q * (1 - q) * f * f;
        h[1] += s->weight[i] * q * (1 - q) * f;
        h[2] += s->weight[i] * q * (1 - q);
    }
    if (!intercept)
        g[1] = h[1] = 0;
    return (double)fabsl((h[2] * g[0] - h[1] * g[1]) /
                         (h[0] * h[2] - h[1] * h[1]) / link->a);
}

/* The rounding of a sum of many terms neither stops a fit early nor lets it go
 * on in vain. */
static void test_many(void)
{
    enum { MANY = 3000, FITS = 40 };
    static double f[MANY], y[MANY], weight[MANY];
    double most = 0, error = 0;
    for (int fit = 0; fit < FITS; fit++) {
        for (size_t i = 0; i < MANY; i++) {
            y[i] = i % 4 == 0 ? 1 : -1;
            f[i] = 0.3 * y[i] + uniform() + uniform() + uniform() - 1.5;
            weight[i] = 1;
        }
        struct sides sides = sides_of(MANY, f, y, weight);
        terms = 0;
        struct link link = link_fit_platt(&sides, fit % 2);
        most = larger_of(most, (double)terms / MANY);
        error = larger_of(error, platt_error(&sides, &link, fit % 2));
    }
    ok(most <= 10, "%g sums a fit, at most", most);
    ok(error < 1e-10, "slopes are off by %g, at most", error);
}

/* Normal densities whose variances are those of a side, S / l, and 1 / l of the
 * pooled one. */
static void test_gaussian(void)
{
    double f[N], y[N], weight[N], mean[2] = {0}, var[2] = {0}, n[2] = {0};
    make_sides(f, y, weight);
    struct sides sides = sides_of(N, f, y, weight);
    struct link link = link_fit_gaussian(&sides);
    for (size_t i = 0; i < N; i++) {
        n[y[i] > 0] += weight[i];
        mean[y[i] > 0] += weight[i] * f[i];
    }
    for (int s = 0; s < 2; s++)
        mean[s] /= n[s];
    for (size_t i = 0; i < N; i++)
        var[y[i] > 0] += weight[i] * pow(f[i] - mean[y[i] > 0], 2);
    double count[2] = {80, 40}; /* equal weights on either side */
    for (int s = 0; s < 2; s++)
        var[s] /= n[s];
    double pooled = (80 * var[0] + 40 * var[1]) / 118;
    for (double z = -2; z < 3; z += 0.7) {
        double density[2];
        for (int s = 0; s < 2; s++)
            density[s] =
                n[s] / sqrt(var[s] + pooled / count[s]) *
                exp(-pow(z - mean[s], 2) / (2 * (var[s] + pooled / count[s])));
        double p = density[1] / (density[0] + density[1]);
        ok(fabs(sigmoid(link_log_odds(&link, z)) - p) < 1e-12,
           "density at %g: %g", z, p);
    }
}

/* Two examples that are close to each other by chance have half the pooled
 * variance, whatever the weight of their class. */
static void test_two_examples(void)
{
    double f[12], y[12], weight[12];
    for (int class_weight = 1; class_weight < 100; class_weight += 49) {
        for (size_t i = 0; i < 12; i++) {
            y[i] = i < 2 ? 1 : -1;
            f[i] = i < 2 ? 0.9 + 1e-9 * (double)i : -1 + 0.02 * (double)i;
            weight[i] = i < 2 ? class_weight : 1;
        }
        double squares = 0.0004 * 82.5; /* of 2 .. 11 about 6.5 */
        struct sides sides = sides_of(12, f, y, weight);
        struct link link = link_fit_gaussian(&sides);
        double var[2] = {squares * 1.1 / 10, squares / 10 / 2};
        ok(fabs(link.c / (0.5 / var[1] - 0.5 / var[0]) - 1) < 1e-6,
           "two examples of weight %d: c = %g", class_weight, link.c);
    }
}

/* Whatever their unit and, where there is an intercept, their origin, decision
 * values get the same log-odds; where rounding alone tells them apart, none but
 * the shares. */
static void test_units(void)
{
    static const struct {
        double unit, origin;
    } at[] = {{1e-9, 0}, {1e-200, 0}, {1e9, 0}, {1e200, 0}, {1e-8, -1}};
    double f[N], y[N], weight[N], from[N];
    make_sides(f, y, weight);
    struct sides sides = sides_of(N, f, y, weight);
    struct link plain[2] = {link_fit_platt(&sides, false),
                            link_fit_platt(&sides, true)};
    memcpy(from, f, sizeof f);
    for (size_t k = 0; k < sizeof at / sizeof *at; k++)
        for (int intercept = at[k].origin != 0; intercept < 2; intercept++) {
            double worst = 0;
            for (size_t i = 0; i < N; i++)
                f[i] = at[k].origin + at[k].unit * from[i];
            struct link link = link_fit_platt(&sides, intercept);
            for (size_t i = 0; i < N; i++)
                worst = larger_of(
                    worst, fabs(link_log_odds(&link, f[i]) -
                                link_log_odds(&plain[intercept], from[i])));
            ok(worst < 1e-6, "in units of %g from %g on%s: %.1e off",
               at[k].unit, at[k].origin, intercept ? ", intercept" : "", worst);
        }
    for (size_t i = 0; i < N; i++)
        f[i] = 0.3 + (double)(i % 3) * 0x1p-54;
    struct link link = link_fit_platt(&sides, true);
    ok(link.a == 0 && isfinite(link.b), "no slope from roundings: %g", link.a);
    for (size_t i = 0; i < N; i++)
        f[i] = 0.3 + (y[i] > 0) * 0x1p-44;
    link = link_for(KLR_LINK_GAUSSIAN, &sides, 0.2);
    ok(link.a == 0 && link.c == 0 && fabs(link.b - log(4)) < 1e-14,
       "and no densities: %g, %g", link.a, link.c);
    for (size_t i = 0; i < N; i++)
        f[i] = 0.3 + 1e-10 * y[i] + (double)(i / 3 % 3) * 0x1p-44;
    f[0] -= 0x1p-44;
    link = link_fit_gaussian(&sides);
    ok(link.a < 0 && link.c == 0, "nor variances: %g, %g", link.a, link.c);
}

/* The definition: sum_i w_i log(1 + e^(-y_i z_i)), z = constant + slope f +
 * square f^2. */
static double log_loss(const double *f, const double *y, const double *weight,
                       double square, double slope, double constant)
{
    double sum = 0;
    for (size_t i = 0; i < N; i++)
        sum += weight[i] * log(1 + exp(-y[i] * (constant + slope * f[i] +
                                                square * f[i] * f[i])));
    return sum;
}

/* f itself, unless the log loss of Platt's link is less by more than two: at
 * some size of f it is less by less. */
static void test_checked(void)
{
    double f[N], y[N], weight[N], parameters;
    size_t count[3] = {0, 0, 0};
    struct klr_params params;
    make_sides(f, y, weight);
    struct sides sides = sides_of(N, f, y, weight);
    klr_params_init(&params);
    for (size_t i = 0; i < N; i++)
        f[i] = f[i] / 64 + 0.01 * y[i];
    for (int k = 0; k < 60; k++) {
        struct link platt = link_fit_platt(&sides, true);
        struct link link = link_fit_checked(&params, &sides, &parameters);
        double gain = log_loss(f, y, weight, 0, 1, 0) -
                      log_loss(f, y, weight, 0, -platt.a, -platt.b);
        struct link want = gain > 2 ? platt : link_neutral(KLR_LINK_SIGMA);
        if (link.a == want.a && link.b == want.b &&
            parameters == (gain > 2 ? 2 : 0))
            count[gain > 2 ? 2 : gain > 0]++;
        for (size_t i = 0; i < N; i++)
            f[i] *= 1.2;
    }
    ok(count[0] + count[1] + count[2] == 60 && count[1] > 0 && count[2] > 0,
       "checked: platt worse %zu times, not better by two %zu, better %zu",
       count[0], count[1], count[2]);
}

/* Of a kfd: the densities, of four parameters, unless Platt's two lose less
 * than two more: where one side is much wider than the other, a sigmoid will
 * not do. */
static void test_checked_densities(void)
{
    double f[N], y[N], weight[N], parameters;
    size_t count[2] = {0, 0};
    struct klr_params params;
    make_sides(f, y, weight);
    struct sides sides = sides_of(N, f, y, weight);
    klr_params_init(&params);
    params.model = KLR_MODEL_KFD;
    for (int k = 0; k < 40; k++) {
        make_sides(f, y, weight);
        for (size_t i = 0; i < N; i++)
            f[i] = y[i] > 0 ? f[i] : (f[i] + 0.7) * (1 + 0.1 * k) - 0.7;
        struct link platt = link_fit_platt(&sides, true);
        struct link normal = link_fit_gaussian(&sides);
        struct link link = link_fit_checked(&params, &sides, &parameters);
        double gain = log_loss(f, y, weight, -normal.c, -normal.a, -normal.b) -
                      log_loss(f, y, weight, 0, -platt.a, -platt.b);
        struct link want = gain > -2 ? platt : normal;
        want.kind = LINK_GAUSSIAN;
        if (link_log_odds(&link, 0.7) == link_log_odds(&want, 0.7) &&
            link.kind == want.kind && parameters == (gain > -2 ? 2 : 4))
            count[gain > -2]++;
    }
    ok(count[0] + count[1] == 40 && count[0] > 0 && count[1] > 0,
       "checked of kfd: densities %zu times, platt %zu", count[0], count[1]);
}

/* Priors whose quotient underflows have logarithms. */
static void test_shares(void)
{
    double f[N], y[N], weight[N];
    make_sides(f, y, weight);
    struct sides sides = sides_of(N, f, y, weight);
    struct link plain = link_fit_gaussian(&sides);
    for (size_t i = 0; i < N; i++)
        weight[i] *= y[i] > 0 ? 1e-200 : 1e200;
    struct link link = link_fit_gaussian(&sides);
    ok(fabs(link.b - plain.b - 400 * log(10)) < 1e-9 &&
           fabs(link.a - plain.a) < 1e-12,
       "shares of 1 : 1e400: b = %g", link.b);
}

/* Decision values whose squares overflow are as good as others. */
static void test_huge(void)
{
    const double unit = 0x1p700;
    double f[N], y[N], weight[N];
    make_sides(f, y, weight);
    struct sides sides = sides_of(N, f, y, weight);
    struct link plain = link_fit_gaussian(&sides);
    for (size_t i = 0; i < N; i++)
        f[i] *= unit;
    struct link huge = link_fit_gaussian(&sides);
    ok(fabs(huge.a * unit / plain.a - 1) < 1e-12 &&
           fabs(huge.b / plain.b - 1) < 1e-12,
       "the densities of huge values: %g, %g", huge.a * unit, huge.b);
}

/* Sides that have no densities to speak of. */
static void test_few(void)
{
    double f[4] = {0.5, -1, -2, -1.5}, weight[4] = {1, 1, 1, 1};
    double y[4] = {1, -1, -1, -1};
    struct sides sides = sides_of(4, f, y, weight);
    struct link link = link_fit_gaussian(&sides);
    double var[2] = {0.5 / 3 + 0.25 / 3, 0.25};
    ok(fabs(link.c) < 1e-15 && fabs(link.a + 2 / var[1]) < 1e-12 &&
           var[0] == 0.25 && fabs(link_log_odds(&link, -0.5) + log(3)) < 1e-12,
       "a single example has the pooled variance");
    sides.n = 2;
    link = link_for(KLR_LINK_GAUSSIAN, &sides, NAN);
    ok(link.a == 0 && link.c == 0 && link.b == 0,
       "two of them have no variance: the shares");
    f[0] = -3;
    sides.n = 4;
    for (int given = 0; given < 2; given++) {
        link = link_for(KLR_LINK_GAUSSIAN, &sides, given ? 0.2 : NAN);
        ok(link.a == 0 && link.c == 0 &&
               fabs(link.b - log(given ? 4 : 3)) < 1e-15,
           "means in the wrong order say nothing but the prior");
    }
    sides.n = 1;
    link = link_fit(&(struct klr_params){.link = KLR_LINK_PLATT, .prior = NAN},
                    &sides, (const double[2]){6, 2}, 0.5);
    ok(link.a == 0 && fabs(link.b - log(3) - 0.5) < 1e-15,
       "one side alone: the shares of all, and the excess");
}

/* Where values differ no more than models do in level, they tell nothing of the
 * model that gets the link. */
static void test_level(void)
{
    double f[N], y[N], weight[N], aligned[N];
    make_sides(f, y, weight);
    struct sides sides = sides_of(N, f, y, weight);
    sides.aligned = aligned;
    for (int kind = KLR_LINK_FITTED; kind <= KLR_LINK_GAUSSIAN; kind++) {
        if (kind == KLR_LINK_CHECKED)
            continue;
        for (size_t i = 0; i < N; i++)
            aligned[i] = i % 2 ? 0.5 : -0.5;
        sides.shift = 0.47; /* of 0.5 or, since sides weigh apart, less */
        ok(link_for(kind, &sides, NAN).a < 0,
           "%s: a level less than the spread", klr_link_names[kind]);
        sides.shift = 0.51;
        ok(link_for(kind, &sides, NAN).a == 0, "%s: a level beyond it",
           klr_link_names[kind]);
    }
}

/* No link has a log loss above that of the shares, whatever the sides. */
static void test_never_worse(void)
{
    double f[N], y[N], weight[N];
    size_t worse = 0, slopes = 0;
    struct sides sides = sides_of(N, f, y, weight);
    for (int turn = 0; turn < 4000; turn++) {
        sides.n = 2 + (size_t)(uniform() * 20);
        double apart = 4 * uniform() - 1, heavy = exp(6 * uniform() - 3);
        double rare = 0.5 * uniform();
        for (size_t i = 0; i < sides.n; i++) {
            y[i] = i == 0 || (i > 1 && uniform() < rare) ? 1 : -1;
            weight[i] = y[i] > 0 ? heavy : 0.5 + uniform();
            f[i] = apart * y[i] + uniform() - (turn % 3 == 0) / uniform();
        }
        struct link shares;
        double size[2];
        sides_sizes(&sides, size);
        for (int kind = KLR_LINK_FITTED; kind <= KLR_LINK_GAUSSIAN; kind++) {
            struct link link = link_for(kind, &sides, NAN);
            double loss[2] = {0, 0};
            shares = (struct link){link.kind, 0, log(size[0] / size[1]), 0};
            for (size_t i = 0; i < sides.n; i++) {
                double z = link_log_odds(&link, f[i]);
                loss[0] += weight[i] * log1p(exp(-y[i] * z));
                loss[1] += weight[i] * log1p(exp(y[i] * shares.b));
            }
            worse += !(loss[0] <= loss[1] * (1 + 1e-12));
            slopes += link.a != 0;
        }
    }
    ok(worse == 0 && slopes > 4000,
       "of 16000 links %zu are worse than the shares, %zu have a slope", worse,
       slopes);
}

/* A slope that separates two examples is chance, one that separates forty is
 * not: the sum of log losses has to fall by the parameters that a link has more
 * than the shares. */
static void test_chance(void)
{
    double f[N], y[N], weight[N];
    struct sides sides = sides_of(N, f, y, weight);
    for (size_t i = 0; i < N; i++) {
        y[i] = i % 2 ? 1 : -1;
        f[i] = y[i] + 0.01 * (double)(i / 2);
        weight[i] = 1;
    }
    for (int kind = KLR_LINK_PLATT; kind <= KLR_LINK_GAUSSIAN; kind++) {
        sides.n = kind == KLR_LINK_GAUSSIAN ? 4 : 2;
        if (kind != KLR_LINK_CHECKED)
            ok(link_for(kind, &sides, NAN).a == 0, "%s: %zu examples",
               klr_link_names[kind], sides.n);
        sides.n = 40;
        ok(link_for(kind, &sides, NAN).a < 0, "%s: %zu examples",
           klr_link_names[kind], sides.n);
    }
}

/* A part that has drawn as many of both sides does not make them equal: with
 * shares of 1 : 3 it counts like one that has these. */
static void test_drawn(void)
{
    const double size[2] = {60, 20};
    double f[N], y[N], weight[N];
    struct klr_params params = {.link = KLR_LINK_PLATT, .prior = NAN};
    struct sides sides = sides_of(40, f, y, weight);
    make_sides(f, y, weight);
    for (size_t i = 0; i < 40; i++) {
        y[i] = i % 2 ? 1 : -1;
        f[i] = fabs(f[i]) * y[i];
        weight[i] = y[i] > 0 ? 0.5 : 1.5;
    }
    struct link want = link_fit(&params, &sides, size, 0);
    for (size_t i = 0; i < 40; i++)
        weight[i] = 1;
    struct link link = link_fit(&params, &sides, size, 0);
    ok(want.a < 0 && fabs(link.a - want.a) < 1e-12 &&
           fabs(link.b - want.b) < 1e-12,
       "as many of both: a = %g, b = %g", link.a, link.b);
    sides.n = 2;
    link = link_fit(&params, &sides, size, 0);
    ok(link.a == 0 && fabs(link.b - log(3)) < 1e-14,
       "one of each: the shares of all, b = %g", link.b);
}

/* What the loss itself estimates: the risk p loss(f) + (1 - p) loss(-f) is
 * least at f; or f alone, or what is left of it where the shift is taken back.
 */
static void test_link_of_loss(void)
{
    struct klr_params params;
    const double lambda = 1.7;
    klr_params_init(&params);
    params.model = KLR_MODEL_SKLR;
    params.lambda = klr_reals_of(lambda);
    params.link = KLR_LINK_CONSISTENT;
    struct link link = link_of_loss(&params, 10, 0);
    double worst = 0;
    for (double f = -4; f < 4; f += 0.3) {
        double p = sigmoid(link_log_odds(&link, f));
        worst = larger_of(worst, fabs(p * sigmoid(lambda - f) -
                                      (1 - p) * sigmoid(lambda + f)));
    }
    ok(worst < 1e-14, "consistent: the risk has the slope %.1e", worst);
    params.link = KLR_LINK_SHRUNK;
    link = link_of_loss(&params, 10, 0);
    ok(fabs(link_log_odds(&link, 2) - 2 / (1 + lambda / 2)) < 1e-15, "shrunk");
    params.link = KLR_LINK_SIGMA;
    link = link_of_loss(&params, 10, 0.25);
    ok(link_log_odds(&link, 2) == 2 - 0.25, "sigma, less an excess");
}

int main(void)
{
    test_log_odds();
    test_platt();
    test_many();
    test_units();
    test_checked();
    test_checked_densities();
    test_shares();
    test_gaussian();
    test_huge();
    test_few();
    test_two_examples();
    test_level();
    test_never_worse();
    test_chance();
    test_drawn();
    test_link_of_loss();
    return done_testing();
}
