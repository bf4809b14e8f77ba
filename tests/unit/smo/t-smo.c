/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses, the step along a line, and whole solutions, against evaluations that
 * are written out here from the definitions.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/larger.h"
#include "tests/solve_inside.h"
#include "tests/stop.h"
#include "tests/tap.h"

static const struct loss logistic = {.model = KLR_MODEL_KLR};

/* ---- losses ---- */

/* psi(alpha) = max over z of -alpha z - C loss(z), at alpha = -C loss'(z). */
static void test_conjugates(void)
{
    double worst = 0, below = 0;
    for (int i = 0; i < 1000; i++) {
        double z = 20 * uniform() - 10, cost = 5 * uniform() + 0.01;
        double alpha = cost / (1 + exp(z));
        double value = conjugate_value(&logistic, alpha, cost);
        double line = -alpha * z - cost * log1p(exp(-z));
        double other = 20 * uniform() - 10;
        worst = larger_of(worst, fabs(value - line) / (1 + fabs(line)));
        below = larger_of(below,
                          -alpha * other - cost * log1p(exp(-other)) - value);
    }
    ok(worst < 1e-12 && below < 1e-12, "the logistic conjugate: %g %g", worst,
       below);
    double h = 1e-6, a = 0.3, c = 2;
    double slope = (conjugate_value(&logistic, a + h, c) -
                    conjugate_value(&logistic, a - h, c)) /
                   (2 * h);
    double curvature = (conjugate_slope(&logistic, a + h, c) -
                        conjugate_slope(&logistic, a - h, c)) /
                       (2 * h);
    ok(fabs(slope - conjugate_slope(&logistic, a, c)) < 1e-8 &&
           fabs(curvature - conjugate_curvature(&logistic, a, c)) < 1e-6,
       "its derivatives");
}

/* The slope there is that of rounding, wherever the search starts. */
static void test_best_rho(void)
{
    enum { N = 300 };
    double y[N], cost[N], u[N], scale[] = {1e-3, 1, 1e3};
    double start[] = {0, -1e9, 1e9, NAN};
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < N; i++) {
            y[i] = i < 30 ? 1 : -1;
            cost[i] = i < 30 ? 0.01 : 7;
            u[i] = scale[round] * (uniform() - 0.5);
        }
        struct losses all = {&logistic, N, y, cost, NULL};
        double most = 0, rho = 0;
        for (int s = 0; s < 5; s++) { /* and where it ended */
            rho = best_rho(&all, u, s < 4 ? start[s] : rho);
            double slope = 0, size = 0;
            for (size_t i = 0; i < N; i++) {
                double alpha = cost[i] * sigmoid(-y[i] * (u[i] - rho));
                slope += y[i] * alpha;
                size += alpha * (1 + fabs(rho));
            }
            most = larger_of(most, fabs(slope) / size);
        }
        ok(most < 1e-14, "best rho at scale %g: slope within %.1e",
           scale[round], most);
    }
}

/* ---- the step along a line ---- */

static void test_line(void)
{
    int falls = 0, steps = 0, flat = 0, convex = 0;
    for (int round = 0; round < 2000; round++) {
        double c = 0.1 + 10 * uniform();
        struct smo_line line = {
            .loss = &logistic,
            .i = {.y = uniform() < 0.5 ? 1 : -1, .cost = c},
            .j = {.y = uniform() < 0.5 ? 1 : -1, .cost = c},
            .eta = 40 * uniform() - 20,
        };
        struct smo smo = {.loss = logistic};
        line.i.alpha = c * (0.001 + 0.998 * uniform());
        line.j.alpha = c * (0.001 + 0.998 * uniform());
        line.psi_i = conjugate_value(&logistic, line.i.alpha, c);
        line.psi_j = conjugate_value(&logistic, line.j.alpha, c);
        line.slope = -line_slope(&line, 0) - 5 * uniform() - 1e-3;
        double room =
            fmin(smo_room(&smo, &line.i, 1), smo_room(&smo, &line.j, -1));
        double t = line_step(&line, room, 1e-10);
        steps++;
        falls += t > 0 && t <= room && line_value(&line, t) < 0;
        if (line.eta >= 0) {
            convex++;
            flat += t == room ? line_slope(&line, t) <= 0
                              : fabs(line_slope(&line, t)) < 1e-9;
        }
    }
    ok(falls == steps, "every step lowers the dual: %d of %d", falls, steps);
    ok(flat == convex && convex > 500, "convex lines: exact minimisers");
}

/* ---- the start ---- */

/* The dual from the definition, at r alpha, alpha the same within a class. */
static double ray_dual(size_t n, const double *y, const double *alpha,
                       double kernel, double cost, double shift, double r)
{
    double value = 0;
    for (size_t i = 0; i < n; i++) {
        double a = r * alpha[i], d = a / cost;
        value += cost * (d * log(d) + (1 - d) * log(1 - d)) - shift * a;
        for (size_t j = 0; j < n; j++)
            value += 0.5 * y[i] * a * y[j] * r * alpha[j] *
                     (i == j         ? 1
                      : y[i] == y[j] ? kernel
                                     : 0);
    }
    return value;
}

/* K_ij is 1 on the diagonal, `kernel` within a class, 0 between them. */
static void test_stretch(double cost, double kernel, double shift, double box)
{
    enum { N = 9, POSITIVE = 3 };
    double y[N], alpha[N], s[N];
    struct smo_example example[N];
    struct smo smo = {
        .loss = {.model = KLR_MODEL_SKLR, .shift = shift, .box = box},
        .n = N,
        .example = example,
        .s = s};
    for (size_t i = 0; i < N; i++) {
        y[i] = i < POSITIVE ? 1 : -1;
        example[i] = (struct smo_example){.y = y[i], .cost = cost};
    }
    smo_start(&smo);
    for (size_t i = 0; i < N; i++) {
        size_t others = (i < POSITIVE ? POSITIVE : N - POSITIVE) - 1;
        alpha[i] = example[i].alpha;
        s[i] = -y[i] * alpha[i] * (1 + kernel * (double)others);
    }
    double before = s[0];
    smo_stretch(&smo);
    double r = example[0].alpha / alpha[0], sum = 0, near = 1.003, lowest;
    bool scaled = fabs(s[0] - r * before) <= 1e-12 * fabs(before);
    for (size_t i = 0; i < N; i++) {
        sum += y[i] * example[i].alpha;
        scaled = scaled && example[i].alpha >= box;
    }
    lowest = fmin(ray_dual(N, y, alpha, kernel, cost, shift, r / near),
                  r * near > 1
                      ? INFINITY
                      : ray_dual(N, y, alpha, kernel, cost, shift, r * near));
    bool least = ray_dual(N, y, alpha, kernel, cost, shift, r) <= lowest ||
                 example[N - 1].alpha < near * box;
    ok(least && scaled && fabs(sum) < 1e-12 * cost,
       "the start for C = %g, K_ij = %g: best at %g of that for K = 0", cost,
       kernel, r);
}

/* ---- loops over a row ---- */

enum { LONG = 1030, WIDE = 20000 }; /* threads divide the latter */

/* With a pool of three. */
static struct klr_operator sweep_operator;
static struct binary_problem sweep_problem = {.op = &sweep_operator};

struct sweep_case {
    double s[WIDE], hessian[WIDE], rows[2][WIDE];
    float narrow[2][WIDE];
    unsigned char side[WIDE];
};

/* Few distinct values, so that many are equal. */
static void sweep_fill(struct sweep_case *c, size_t n, int values)
{
    for (size_t k = 0; k < n; k++) {
        c->s[k] = floor(values * uniform()) / values;
        c->hessian[k] = 1 + floor(values * uniform()) / values;
        c->side[k] = (unsigned char)(4 * uniform());
        for (int r = 0; r < 2; r++)
            c->rows[r][k] = c->narrow[r][k] =
                (float)(floor(values * uniform()) / values);
    }
}

/* One step's loops as in the definitions, first come first served, against
 * those for the instruction set; true if all values are the same bits. */
static bool sweep_same(struct sweep_case *c, size_t n, enum klr_cpu cpu,
                       enum klr_precision precision)
{
    static double expected[WIDE];
    struct smo smo = {.problem = &sweep_problem,
                      .n = WIDE,
                      .active = n,
                      .eps = 0.2,
                      .cpu = cpu,
                      .precision = precision,
                      .s = c->s,
                      .hessian = c->hessian,
                      .side = c->side};
    double t = uniform(), least, smallest = INFINITY, best = 0,
           most = -INFINITY;
    const void *row[2] = {c->rows[0], c->rows[1]};
    if (precision == KLR_FLOAT) {
        row[0] = c->narrow[0];
        row[1] = c->narrow[1];
    }
    size_t i = WIDE, j = WIDE;
    for (size_t k = 0; k < n; k++) {
        expected[k] = c->s[k] - t * (c->rows[0][k] - c->rows[1][k]);
        if (c->side[k] % 2 && expected[k] > most) {
            most = expected[k];
            i = k;
        }
    }
    bool same = smo_update(&smo, t, row[0], row[1]) == i &&
                smo_first(&smo) == i &&
                !memcmp(c->s, expected, n * sizeof *expected);
    if (i == WIDE)
        return same;
    for (size_t k = 0; k < n; k++) {
        double v = c->s[i] - c->s[k];
        double q = c->hessian[i] + c->hessian[k] - 2 * c->rows[0][k];
        double gain = v * v / (q > 1e-12 ? q : 1e-12);
        if (c->side[k] < 2)
            continue;
        smallest = fmin(smallest, c->s[k]);
        if (v > smo.eps && gain > best) {
            best = gain;
            j = k;
        }
    }
    return smo_second(&smo, i, row[0], &least) == j && least == smallest &&
           same;
}

/* The next example beyond random bounds, from each, is that of the
 * definition. */
static bool violators_same(struct sweep_case *c, size_t n, enum klr_cpu cpu)
{
    struct smo smo = {.n = WIDE, .cpu = cpu, .s = c->s, .side = c->side};
    struct smo_bounds bounds = {c->s[0], c->s[1]};
    bool same = true;
    for (size_t k = n, next = n; k-- > 0;) {
        int sides = (c->s[k] > bounds.rise && c->side[k] % 2) +
                    (c->s[k] < bounds.fall && c->side[k] > 1 ? 2 : 0);
        int found = -1;
        next = sides ? k : next;
        same = smo_violator(&smo, k, n, &bounds, &found) == next && same;
        same = (next == k ? found == sides : next < n || !found) && same;
    }
    return same;
}

static void test_sweeps(void)
{
    static const char *const name[] = {"portable", "AVX2"};
    static struct sweep_case c;
    klr_pool_create(&sweep_operator.pool, 3, NULL);
    for (enum klr_cpu cpu = KLR_CPU_PORTABLE; cpu <= KLR_CPU_AVX2; cpu++) {
        bool same = true;
        for (int round = 0; round < 400 && cpu <= klr_cpu(); round++) {
            size_t n = round < 20         ? (size_t)round
                       : round % 13 == 12 ? WIDE - (size_t)(round % 5)
                                          : LONG - (size_t)(round % 5);
            sweep_fill(&c, n, round % 2 ? 3 : 1000000);
            if (round % 50 == 1)
                memset(c.side, round % 100 == 1 ? SMO_CAN_RISE : 0, n);
            same = sweep_same(&c, n, cpu,
                              round % 4 < 2 ? KLR_FLOAT : KLR_DOUBLE) &&
                   same;
            same = violators_same(&c, n < LONG ? n : LONG, cpu) && same;
        }
        ok(same, "loops over a row: %s%s", name[cpu],
           cpu <= klr_cpu() ? "" : " # SKIP not here");
    }
    klr_pool_free(sweep_operator.pool);
}

/* ---- rows ahead ---- */

/* How often rows come ahead in so many misses, if so many tenths of them are
 * asked for later. */
static size_t times_ahead(size_t misses, size_t tenths)
{
    struct smo smo = {0};
    size_t times = 0;
    klr_cache_create(&smo.cache, LONG, LONG, sizeof(float), 8 << 20, NULL);
    for (size_t k = 0; k < misses; k++)
        if (smo_looks_ahead(&smo)) {
            times++;
            smo.ahead.fetched += 10;
            smo.ahead.used += tenths;
        }
    klr_cache_free(smo.cache);
    return times;
}

/* Where most are asked for, always; where few are, ever more rarely. */
static void test_ahead(void)
{
    ok(times_ahead(1000, 6) == 1000, "rows of use come ahead each time");
    size_t few = times_ahead(1000, 5), more = times_ahead(100000, 0);
    ok(few >= 6 && few <= 10, "others %zu times in 1000", few);
    ok(more >= 190 && more <= 210, "and once in 512 at last: %zu times", more);
}

/* ---- whole solutions ---- */

static void test_solution(struct sample *s, int model, double cost, double eps,
                          double gap)
{
    struct klr_params params;
    double beta[MOST];
    klr_params_init(&params);
    params.solver = KLR_SOLVER_SMO;
    params.model = model;
    params.cost.value[0] = cost;
    params.eps = eps;
    params.gamma = klr_reals_of(0.5);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    struct solution solution = solve(s, &params, beta);
    struct truth truth = evaluate(s, beta, solution.rho, &params, &kernel);
    const char *name = klr_model_names[model];
    double relative = (truth.primal - truth.dual) / truth.primal;
    ok(solution.status == KLR_CONVERGED && relative >= -1e-9 && relative < gap,
       "%s C = %g: gap %.2g", name, cost, relative);
    ok(fabs(truth.primal - solution.primal) < 1e-6 * truth.primal &&
           fabs(truth.dual - solution.dual) < 1e-6 * truth.primal,
       "%s C = %g: objectives as reported", name, cost);
    ok(truth.violation < 2 * eps + 1e-5 && fabs(truth.sum) < 1e-9 * cost,
       "%s C = %g: KKT conditions within %.2g", name, cost, truth.violation);
}

/* Shrinking and the size of the cache change no result but by rounding, the
 * cache not one bit. */
static void test_variants(struct sample *s)
{
    struct klr_params params;
    double beta[MOST], other[MOST], least[MOST];
    klr_params_init(&params);
    params.solver = KLR_SOLVER_SMO;
    params.model = KLR_MODEL_SVM;
    params.cost.value[0] = 10;
    params.eps = 1e-5;
    params.gamma = klr_reals_of(0.5);
    double dual = solve(s, &params, beta).dual;
    params.cache_mb = 0.01; /* a few rows */
    solve(s, &params, least);
    ok(memcmp(beta, least, s->problem.n * sizeof *beta) == 0,
       "the same bits with a small cache");
    params.shrinking = 0;
    double without = solve(s, &params, other).dual;
    ok(fabs(dual - without) < 1e-6 * dual, "the same without shrinking: %g",
       dual - without);
}

/* It ended at a stationary point. One that is worse than a constant is not
 * called converged: see t-nonpsd.c. */
static bool is_stationary(const struct solution *solution)
{
    return solution->status == KLR_CONVERGED ||
           (solution->status == KLR_PRECISION_LIMIT &&
            solution->doubt == KLR_DOUBT_INDEFINITE);
}

/* Lin & Lin, section 6: a stationary point for any symmetric kernel. */
static void test_indefinite(struct sample *s)
{
    static const double coef0[] = {-2, 0.5, 2};
    struct klr_params params;
    double beta[MOST];
    klr_params_init(&params);
    params.solver = KLR_SOLVER_SMO;
    params.kernel = KLR_SIGMOID;
    params.gamma = klr_reals_of(1);
    params.cost.value[0] = 10;
    for (int model = KLR_MODEL_KLR; model <= KLR_MODEL_SVM; model += 2)
        for (int r = 0; r < 3; r++) {
            params.model = model;
            params.coef0 = coef0[r];
            struct klr_kernel kernel = params_kernel(&params, FEATURES);
            struct solution solution = solve(s, &params, beta);
            struct truth truth =
                evaluate(s, beta, solution.rho, &params, &kernel);
            ok(is_stationary(&solution) && truth.violation < 3e-3,
               "%s, sigmoid kernel with r = %g: stationary within %.2g",
               klr_model_names[model], coef0[r], truth.violation);
        }
}

/* Without bias, Lin & Lin (19): no sum of beta is asked for. */
static void test_biasless(struct sample *s, double cost, bool psd)
{
    struct klr_params params;
    double beta[MOST];
    klr_params_init(&params);
    params.model = KLR_MODEL_SVM;
    params.no_bias = 1;
    params.kernel = psd ? KLR_RBF : KLR_SIGMOID;
    params.gamma = klr_reals_of(psd ? 0.5 : 1);
    params.coef0 = psd ? 0 : -0.5;
    params.cost.value[0] = cost;
    params.eps = 1e-6;
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    for (params.shrinking = 0; params.shrinking < 2; params.shrinking++) {
        struct solution solution = solve(s, &params, beta);
        struct truth truth = evaluate(s, beta, 0, &params, &kernel);
        double gap = (truth.primal - truth.dual) / truth.primal;
        ok((psd ? solution.status == KLR_CONVERGED
                : is_stationary(&solution)) &&
               solution.rho == 0 && truth.violation < 1.1e-6 &&
               (!psd || fabs(gap) < 1e-4),
           "%s, C = %g: svm without bias, KKT conditions within %.2g, gap %.2g",
           psd ? "rbf" : "sigmoid", cost, truth.violation, gap);
        ok(fabs(truth.sum) > 1e-3 * cost &&
               fabs(truth.primal - solution.primal) < 1e-7 * truth.primal &&
               (psd ? fabs(truth.dual - solution.dual) < 1e-7 * truth.primal
                    : !(solution.dual > truth.dual)),
           "objectives as reported, sum of beta %.2g", truth.sum);
    }
}

/* ---- paths of C, threads, memory, and the box ---- */

enum { COSTS = 3 };

/* The solutions for each C of the path, with `threads` threads; the class of
 * y = +1 first, as the partition has them. */
struct course {
    double beta[COSTS][MOST];
    struct solution solution[COSTS];
    unsigned long long evaluations;
    double weight; /* of the positive class; 0 stands for 1 */
    int code;
    struct klr_error err;
};

static void solve_path(const struct sample *s, const struct klr_params *params,
                       int threads, struct course *path)
{
    struct klr_kernel kernel = params_kernel(params, FEATURES);
    struct klr_features x = problem_features(&s->problem);
    struct klr_range all;
    double weight[MOST];
    struct klr_operator op = {0};
    struct klr_pool *pool = NULL;
    struct clock clock;
    struct klr_error *err = &path->err;
    struct klr_params own = *params;
    if (path->weight > 0)
        own.example_weight = weight;
    struct binary_problem binary =
        sample_binary(s, &own, &op, &all, weight, &clock);
    for (size_t i = 0; i < s->problem.n && path->weight > 0; i++)
        weight[i] = s->label[i] > 0 ? path->weight : 1;
    for (size_t t = 0; t < COSTS; t++)
        path->solution[t] = (struct solution){.beta = path->beta[t]};
    if (klr_pool_create(&pool, threads, err) ||
        operator_create(&op, &kernel, &x, NULL, pool, 0, err))
        printf("Bail out! %s\n", err->message);
    path->code = smo_solve(&binary, path->solution, err);
    path->evaluations = op.evaluations;
    operator_free(&op);
    klr_pool_free(pool);
}

static void path_params(struct klr_params *params, int model)
{
    klr_params_init(params);
    params->solver = KLR_SOLVER_SMO;
    params->regularizer = KLR_REGULARIZER_KERNEL;
    params->model = model;
    params->gamma = klr_reals_of(0.5);
    params->eps = 1e-4;
    params->cost = (struct klr_reals){.count = COSTS, .value = {0.3, 3, 100}};
}

/* Each C of a path is solved as well as by itself, without computing rows
 * again, and in fewer steps; of a sparse model, where both starts are about as
 * good, in hardly more. */
static void test_path(const struct sample *s, int model, int shrinking)
{
    static struct course path, alone;
    struct klr_params params;
    long long steps = 0, steps_alone = 0;
    bool right = true;
    path_params(&params, model);
    params.eps = 1e-3; /* floats serve for all C */
    params.keep_bounded = true;
    params.shrinking = shrinking;
    params.lambda = klr_reals_of(0.5);
    solve_path(s, &params, 1, &path);
    for (size_t t = 0; t < COSTS; t++) {
        struct klr_params one = params;
        one.cost =
            (struct klr_reals){.count = 1, .value = {params.cost.value[t]}};
        solve_path(s, &one, 1, &alone);
        double gap = path.solution[t].primal - path.solution[t].dual;
        double dual = alone.solution[0].dual - path.solution[t].dual;
        right = right && path.solution[t].status == KLR_CONVERGED &&
                fabs(dual) <= 1e-4 * alone.solution[0].dual && gap >= 0 &&
                gap <= 1e-3 * alone.solution[0].dual;
        steps += path.solution[t].iterations;
        steps_alone += alone.solution[0].iterations;
    }
    ok(right && !path.code, "%s: a path of C, each solved",
       klr_model_names[model]);
    ok(path.evaluations <= s->problem.n * s->problem.n,
       "%s: rows are kept along the path: %llu entries", klr_model_names[model],
       path.evaluations);
    double most = model == KLR_MODEL_SKLR ? 1.05 : 1;
    ok((double)steps < most * (double)steps_alone,
       "%s: %lld steps, %lld from the beginning", klr_model_names[model], steps,
       steps_alone);
}

/* What is set aside is made up for by rows that steps have asked for: it costs
 * no entry where the cache has room for them. Rows are computed once, or
 * `times`: as floats, and then as doubles. */
static void test_shrinking(const struct sample *s, double c, size_t times)
{
    static struct course with, without;
    struct klr_params params;
    path_params(&params, KLR_MODEL_SVM);
    params.cost = (struct klr_reals){.count = 1, .value = {c}};
    solve_path(s, &params, 1, &with);
    params.shrinking = 0;
    solve_path(s, &params, 1, &without);
    double dual = with.solution[0].dual, error = 0, norm = 0;
    for (size_t i = 0; i < s->problem.n; i++) {
        error += pow(with.beta[0][i] - without.beta[0][i], 2);
        norm += pow(without.beta[0][i], 2);
    }
    ok(with.evaluations <= without.evaluations &&
           with.evaluations <= times * s->problem.n * s->problem.n,
       "C = %g: %llu entries with shrinking, %llu without", c, with.evaluations,
       without.evaluations);
    ok(with.solution[0].status == KLR_CONVERGED && error < 1e-4 * norm &&
           fabs(dual - without.solution[0].dual) < 1e-6 * dual,
       "and the same solution but for %.2g", sqrt(error / norm));
}

/* Not one bit depends on the threads or on the rows that there is room for. */
static void test_same_bits(const struct sample *s, int model)
{
    static struct course first, other;
    static const double megabytes[] = {0, 0.009, 0.03, 0.15};
    struct klr_params params;
    bool same = true;
    path_params(&params, model);
    solve_path(s, &params, 1, &first);
    for (int t = 0; t < 12; t++) {
        params.cache_mb = megabytes[t % 4];
        solve_path(s, &params, 1 + t / 4, &other);
        same = same && !other.code &&
               !memcmp(first.beta, other.beta, sizeof first.beta);
        for (size_t c = 0; c < COSTS; c++)
            same = same && first.solution[c].rho == other.solution[c].rho &&
                   first.solution[c].iterations == other.solution[c].iterations;
    }
    ok(same, "%s: the same bits with 1, 2 and 3 threads, few rows and all",
       klr_model_names[model]);
}

/* Primal and dual of Consolo (22) from the definitions: the loss is the largest
 * value of a (lambda - z) - C G(a / C) over the box, found by bisection. */
/* -K beta + y of example i, in exact features. */
static double sample_slope(const struct sample *s, const double *beta,
                           double gamma, size_t i)
{
    double slope = s->label[i];
    for (size_t j = 0; j < s->problem.n; j++) {
        double x[FEATURES] = {0}, square = 0;
        for (size_t t = s->start[i]; t < s->start[i + 1]; t++)
            x[s->index[t] - 1] += s->value[t];
        for (size_t t = s->start[j]; t < s->start[j + 1]; t++)
            x[s->index[t] - 1] -= s->value[t];
        for (size_t k = 0; k < FEATURES; k++)
            square += x[k] * x[k];
        slope -= beta[j] * exp(-gamma * square);
    }
    return slope;
}

/* Where the tolerance is below the rounding of floats, steps with them are
 * followed by steps with doubles: no pair violates by more than it. */
static void test_refined(const struct sample *s, double eps)
{
    static struct course path;
    struct klr_params params;
    double most = -INFINITY, least = INFINITY;
    path_params(&params, KLR_MODEL_SVM);
    params.eps = eps;
    params.cost = (struct klr_reals){.count = 1, .value = {3}};
    solve_path(s, &params, 1, &path);
    for (size_t i = 0; i < s->problem.n; i++) {
        double slope = sample_slope(s, path.beta[0], 0.5, i);
        double alpha = s->label[i] * path.beta[0][i];
        if (s->label[i] > 0 ? alpha < 3 : alpha > 0)
            most = fmax(most, slope);
        if (s->label[i] > 0 ? alpha > 0 : alpha < 3)
            least = fmin(least, slope);
    }
    ok(path.solution[0].status == KLR_CONVERGED && !(most - least > 1.01 * eps),
       "a violation of %.2g, %.2g asked for", most - least, eps);
    ok(path.evaluations <= 2 * s->problem.n * s->problem.n, "for %llu entries",
       path.evaluations);
}

static double boxed_loss(double z, double c, double lambda, double box)
{
    double low = box, high = c - box;
    for (int step = 0; step < 200; step++) {
        double a = 0.5 * (low + high);
        *(lambda - z - log(a / (c - a)) > 0 ? &low : &high) = a;
    }
    double a = 0.5 * (low + high);
    return a * (lambda - z) - a * log(a / c) - (c - a) * log(1 - a / c);
}

static void test_box(const struct sample *s, double all, double weight,
                     double lambda, double box)
{
    static struct course path;
    path.weight = weight;
    struct klr_params params;
    size_t n = s->problem.n;
    path_params(&params, KLR_MODEL_SKLR);
    params.cost = (struct klr_reals){.count = 1, .value = {all}};
    params.lambda = klr_reals_of(lambda);
    params.box = box;
    solve_path(s, &params, 1, &path);
    struct klr_kernel kernel = params_kernel(&params, FEATURES);
    double primal = 0, dual = 0, sum = 0, outside = 0;
    for (size_t i = 0; i < n; i++) {
        const double *beta = path.beta[0];
        double u = 0, y = s->label[i], a = y * beta[i];
        double cost = y > 0 ? all * weight : all;
        for (size_t j = 0; j < n; j++)
            u += beta[j] * kernel_of(&kernel, s->value + i * FEATURES,
                                     s->value + j * FEATURES);
        sum += beta[i];
        outside = larger_of(outside, fmax(box - a, a - (cost - box)));
        primal += 0.5 * beta[i] * u +
                  boxed_loss(y * (u - path.solution[0].rho), cost, lambda, box);
        dual -= 0.5 * beta[i] * u + a * log(a / cost) +
                (cost - a) * log(1 - a / cost) - lambda * a;
    }
    ok(path.solution[0].status == KLR_CONVERGED && outside <= 1e-14 * all &&
           fabs(sum) < 1e-9 * all && primal - dual >= -1e-9 * primal &&
           primal - dual < 1e-5 * primal,
       "sklr C = %g * %g, lambda = %g, box %g: gap %.2g", all, weight, lambda,
       box, (primal - dual) / primal);
    ok(fabs(primal - path.solution[0].primal) < 1e-5 * primal &&
           fabs(dual - path.solution[0].dual) < 1e-5 * primal,
       "objectives as reported");
}

/* A third of the examples is positive: 2 n/3 box > n/3 (1 - box) beyond 1/3. */
static void test_empty_box(const struct sample *s)
{
    static struct course path;
    static const double box[] = {0.33, 0.34, 0.5, 0.7};
    struct klr_params params;
    path_params(&params, KLR_MODEL_SKLR);
    params.cost = (struct klr_reals){.count = 1, .value = {1}};
    for (int t = 0; t < 4; t++) {
        params.box = box[t];
        path.err.message[0] = 0;
        solve_path(s, &params, 1, &path);
        ok(path.code == (t ? KLR_E_USAGE : 0) &&
               (path.err.message[0] != 0) == (t > 0),
           "box %g: %s", box[t], path.err.message);
    }
}

static void test_stops(struct sample *s)
{
    struct klr_params params;
    struct klr_progress seen = {0};
    double beta[MOST];
    klr_params_init(&params);
    params.solver = KLR_SOLVER_SMO;
    params.max_iter = 10;
    struct solution solution = solve(s, &params, beta);
    ok(solution.status == KLR_ITERATION_LIMIT && solution.iterations == 10 &&
           solution.primal >= solution.dual,
       "iteration limit");
    params.max_iter = 0;
    params.time_limit = 1e-9;
    solution = solve(s, &params, beta);
    ok(solution.status == KLR_TIME_LIMIT && isfinite(solution.rho),
       "time limit");
    params.time_limit = 0;
    params.progress = stop_at_once;
    params.context = &seen;
    solution = solve(s, &params, beta);
    ok(solution.status == KLR_INTERRUPTED && seen.problem == 1 &&
           seen.problems == 1,
       "interrupted by progress()");
}

/* At a C far too large for the features, which never ended. */
static void test_patience(const struct sample *s)
{
    struct klr_params params;
    double beta[MOST];
    klr_params_init(&params);
    params.model = KLR_MODEL_SVM;
    params.kernel = KLR_LINEAR;
    params.cost.value[0] = 1e9;
    struct solution solution = solve(s, &params, beta);
    ok(solution.status == KLR_ITERATION_LIMIT &&
           solution.iterations == 10000000,
       "without a limit: %lld steps", solution.iterations);
}

int main(void)
{
    static struct sample sample, few;
    test_conjugates();
    test_line();
    sample_make(&sample, MOST);
    test_solution(&sample, KLR_MODEL_SVM, 0.5, 1e-4, 1e-4);
    test_solution(&sample, KLR_MODEL_SVM, 50, 1e-4, 1e-3);
    test_solution(&sample, KLR_MODEL_KLR, 0.5, 1e-5, 1e-9);
    test_solution(&sample, KLR_MODEL_KLR, 50, 1e-5, 1e-9);
    sample_make(&few, 20);
    test_solution(&few, KLR_MODEL_KLR, 1e14, 1e-5, 1e-9);
    test_patience(&few);
    test_variants(&sample);
    test_indefinite(&sample);
    test_biasless(&sample, 1, true);
    test_biasless(&sample, 100, true);
    test_biasless(&sample, 10, false);
    for (int model = KLR_MODEL_KLR; model <= KLR_MODEL_SVM; model++) {
        test_path(&sample, model, 0);
        test_same_bits(&sample, model);
    }
    test_path(&sample, KLR_MODEL_SVM, 1);
    test_shrinking(&sample, 3, 1);
    test_shrinking(&sample, 300, 2);
    test_box(&sample, 10, 1, 1, 1e-5);
    test_box(&sample, 1, 1, 30, 1e-3);
    test_box(&sample, 2, 1, 0, 0.3);
    test_box(&sample, 1, 20, 0.1, 0.4); /* C p would be outside */
    test_empty_box(&sample);
    test_refined(&sample, 1e-6);
    test_refined(&sample, 1e-9);
    test_stops(&sample);
    test_stretch(0.1, 0.5, 0, 0);
    test_stretch(10, 0.5, 0, 0);
    test_stretch(1e4, 0.9, 3, 0);
    test_stretch(10, -0.9, 0, 0);
    test_stretch(100, 0.5, 0, 20);
    test_stretch(1, 0.1, 5, 1e-5);
    test_sweeps();
    test_ahead();
    test_best_rho();
    return done_testing();
}
