/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sparse greedy Fisher discriminants against problem (3) of Mika, Smola &
 * Schoelkopf (2001) as it is defined: its KKT system, of any subset of the
 * kernels, solved by elimination in long double.
 */
#define SOLVER_FLOOR 5
#include "solver.c"

#include "tests/larger.h"
#include "tests/eliminate.h"
#include "tests/stop.h"
#include "tests/tap.h"

/* ---- a problem, and its matrices ---- */

/* Matrices are for few rows only. */
enum {
    MOST_ROWS = 270,
    MANY_ROWS = 1100,
    UNKNOWNS = MOST_ROWS + 3,
    ALL = 1000
};

struct dense {
    size_t n;
    double y[MANY_ROWS], weight[MANY_ROWS];
    long double k[MOST_ROWS][MOST_ROWS];   /* K */
    long double kdk[MOST_ROWS][MOST_ROWS]; /* K D K, D the weights */
    long double side[2][MOST_ROWS];        /* sum over a class of K_ij */
    struct klr_operator op;
    struct klr_range all;
    struct clock clock;
};

static void dense_open(struct dense *d, const struct klr_problem *problem,
                       const struct klr_kernel *kernel, double weight,
                       struct klr_pool *pool)
{
    struct klr_features x = problem_features(problem);
    struct klr_error err;
    size_t n = d->n = problem->n;
    for (size_t i = 0; i < n; i++) {
        d->y[i] = problem->label[i] > 0 ? 1 : -1;
        d->weight[i] = d->y[i] > 0 ? weight : 1;
    }
    d->all = (struct klr_range){0, n};
    clock_start(&d->clock, 1);
    if (operator_create(&d->op, kernel, &x, NULL, pool, 0, &err))
        printf("Bail out! %s\n", err.message);
}

static void dense_make(struct dense *d, const struct klr_problem *problem,
                       const struct klr_kernel *kernel, double weight,
                       struct klr_pool *pool)
{
    static double feature[MOST_ROWS][32];
    size_t n = problem->n;
    dense_open(d, problem, kernel, weight, pool);
    memset(feature, 0, sizeof feature);
    for (size_t i = 0; i < n; i++)
        for (size_t q = problem->start[i]; q < problem->start[i + 1]; q++)
            feature[i][problem->index[q]] = problem->value[q];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double square = 0;
            for (size_t q = 0; q < 32; q++)
                square += (feature[i][q] - feature[j][q]) *
                          (feature[i][q] - feature[j][q]);
            d->k[i][j] = expl(-(long double)kernel->gamma * square);
        }
    memset(d->side, 0, sizeof d->side);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            d->side[d->y[i] < 0][j] += d->k[i][j];
            d->kdk[i][j] = 0;
            for (size_t q = 0; q < n; q++)
                d->kdk[i][j] += d->k[q][i] * d->weight[q] * d->k[q][j];
        }
}

static struct binary_problem dense_binary(struct dense *d,
                                          const struct klr_params *params)
{
    return (struct binary_problem){.op = &d->op,
                                   .set = set_of(&d->all, 1),
                                   .n = d->n,
                                   .y = d->y,
                                   .weight = d->weight,
                                   .params = params,
                                   .clock = &d->clock};
}

/* ---- the definition ---- */

/* x (m + 3): coefficients of the kernels, b and both multipliers, by the
 * stationarity of 1/2 sum_i w_i xi_i^2 + C/2 P(a) + mu_s'sum xi over class s
 * (weighted means are means, weights being the same within a class). */
static void kkt_solve(const struct dense *d, const struct klr_params *params,
                      const size_t *kernel, size_t m, long double *x)
{
    static long double a[UNKNOWNS][UNKNOWNS];
    long double c = 1 / (long double)params->cost.value[0];
    long double count[2] = {0, 0}, weight[2] = {0, 0};
    bool coef = params->regularizer == KLR_REGULARIZER_COEF;
    for (size_t i = 0; i < d->n; i++) {
        count[d->y[i] < 0]++;
        weight[d->y[i] < 0] = d->weight[i];
    }
    for (size_t p = 0; p < m; p++) {
        size_t i = kernel[p];
        for (size_t q = 0; q < m; q++) {
            long double r = coef ? i == kernel[q] : d->k[i][kernel[q]];
            a[p][q] = d->kdk[i][kernel[q]] + c * r;
        }
        long double plus = d->side[0][i], minus = d->side[1][i];
        a[p][m] = a[m][p] = weight[0] * plus + weight[1] * minus;
        a[p][m + 1] = a[m + 1][p] = plus;
        a[p][m + 2] = a[m + 2][p] = minus;
        x[p] = weight[0] * plus - weight[1] * minus;
    }
    a[m][m] = weight[0] * count[0] + weight[1] * count[1];
    a[m][m + 1] = a[m + 1][m] = count[0];
    a[m][m + 2] = a[m + 2][m] = count[1];
    a[m + 1][m + 1] = a[m + 2][m + 2] = a[m + 1][m + 2] = a[m + 2][m + 1] = 0;
    x[m] = weight[0] * count[0] - weight[1] * count[1];
    x[m + 1] = count[0];
    x[m + 2] = -count[1];
    eliminate(m + 3, UNKNOWNS, *a, 1, x);
}

/* 1/2 sum w xi^2 + C/2 P(a) */
static long double kkt_objective(const struct dense *d,
                                 const struct klr_params *params,
                                 const size_t *kernel, size_t m,
                                 const long double *x)
{
    long double sum = 0, c = 1 / (long double)params->cost.value[0];
    for (size_t i = 0; i < d->n; i++) {
        long double xi = x[m] - (long double)d->y[i];
        for (size_t q = 0; q < m; q++)
            xi += d->k[i][kernel[q]] * x[q];
        sum += 0.5L * d->weight[i] * xi * xi;
    }
    for (size_t p = 0; p < m; p++)
        for (size_t q = 0; q < m; q++)
            if (params->regularizer == KLR_REGULARIZER_KERNEL)
                sum += 0.5L * c * x[p] * x[q] * d->k[kernel[p]][kernel[q]];
            else if (p == q)
                sum += 0.5L * c * x[p] * x[p];
    return sum;
}

/* |(8a)| of kernel j, for the solution in m kernels. */
static long double kkt_violation(const struct dense *d,
                                 const struct klr_params *params,
                                 const size_t *kernel, size_t m,
                                 const long double *x, size_t j)
{
    long double sum = 0, c = 1 / (long double)params->cost.value[0];
    for (size_t i = 0; i < d->n; i++) {
        long double xi = x[m] - (long double)d->y[i];
        for (size_t q = 0; q < m; q++)
            xi += d->k[i][kernel[q]] * x[q];
        sum += d->k[i][j] * (d->weight[i] * xi + x[m + 1 + (d->y[i] < 0)]);
    }
    for (size_t q = 0; q < m; q++)
        if (params->regularizer == KLR_REGULARIZER_KERNEL)
            sum += c * d->k[kernel[q]][j] * x[q];
    return fabsl(sum);
}

/* ---- tests ---- */

/* Each step takes a kernel or forgets one: what goes on for longer never ends.
 */
enum { MOST_STEPS = MOST_ROWS + 2 };

static int greedy_one(const struct binary_problem *problem,
                      struct solution *solution, struct klr_error *err)
{
    return greedy_solve(problem, 1, &solution, err);
}

static struct klr_params greedy_params(double cost, int regularizer,
                                       int selection, long long candidates)
{
    struct klr_params params;
    klr_params_init(&params);
    params.model = KLR_MODEL_KFD;
    params.solver = KLR_SOLVER_GREEDY;
    params.regularizer = regularizer;
    params.selection = selection;
    params.candidates = candidates;
    params.window = 5;
    params.cost.value[0] = cost;
    params.eps = 1e-300;
    params.max_iter = MOST_STEPS;
    return params;
}

static const char *name_of(const struct klr_params *params)
{
    static char text[96];
    snprintf(text, sizeof text, "P %s, c %g, %s, %lld candidates",
             klr_regularizer_names[params->regularizer], params->cost.value[0],
             params->selection ? "infeasibility" : "objective",
             params->candidates);
    return text;
}

/* Objective and constraints of a solution by its coefficients. */
static void check_solution(const struct dense *d,
                           const struct klr_params *params,
                           const struct solution *s, long double optimum)
{
    static long double x[UNKNOWNS];
    static size_t kernel[MOST_ROWS];
    size_t m = 0;
    long double mean[2] = {0, 0}, count[2] = {0, 0};
    for (size_t i = 0; i < d->n; i++)
        if (s->beta[i] != 0) {
            x[m] = s->beta[i];
            kernel[m++] = i;
        }
    x[m] = -s->rho;
    for (size_t i = 0; i < d->n; i++) {
        size_t side = d->y[i] < 0;
        count[side]++;
        mean[side] += x[m];
        for (size_t q = 0; q < m; q++)
            mean[side] += d->k[i][kernel[q]] * x[q];
    }
    long double value = kkt_objective(d, params, kernel, m, x);
    double off = (double)fmaxl(fabsl(mean[0] / count[0] - 1),
                               fabsl(mean[1] / count[1] + 1));
    double far = (double)(value / optimum - 1);
    ok(off < 1e-9, "%s: class means off by %.1e", name_of(params), off);
    ok(far > -1e-8 && far < 1e-8 && fabs(s->primal / (double)value - 1) < 1e-9,
       "%s: objective %.9g, off by %.1e", name_of(params), s->primal, far);
    ok(isnan(s->dual) ? params->candidates < ALL
                      : s->dual <= (double)optimum * (1 + 1e-12),
       "%s: bound %.9g", name_of(params), s->dual);
}

/* Without a limit the objective is that of all kernels. */
static void test_exact(struct dense *d, double cost, int regularizer,
                       long long candidates)
{
    static long double x[UNKNOWNS];
    static size_t kernel[MOST_ROWS];
    static double beta[MOST_ROWS];
    struct klr_params params =
        greedy_params(cost, regularizer, KLR_SELECTION_OBJECTIVE, candidates);
    struct binary_problem binary = dense_binary(d, &params);
    struct solution solution = {.beta = beta};
    struct klr_error err = {0};
    for (size_t i = 0; i < d->n; i++)
        kernel[i] = i;
    kkt_solve(d, &params, kernel, d->n, x);
    if (greedy_one(&binary, &solution, &err))
        printf("Bail out! %s\n", err.message);
    check_solution(d, &params, &solution,
                   kkt_objective(d, &params, kernel, d->n, x));
}

/* In the kernels of given points, every third. */
static void test_given(struct dense *d, double cost, int regularizer)
{
    static long double x[UNKNOWNS];
    static size_t kernel[MOST_ROWS];
    static double beta[MOST_ROWS];
    static bool given[MOST_ROWS];
    struct klr_params params =
        greedy_params(cost, regularizer, KLR_SELECTION_OBJECTIVE, 59);
    struct binary_problem binary = dense_binary(d, &params);
    struct solution solution = {.beta = beta};
    struct klr_error err = {0};
    size_t m = 0, others = 0;
    binary.given = given;
    for (size_t i = 0; i < d->n; i++)
        if ((given[i] = i % 3 == 1))
            kernel[m++] = i;
    kkt_solve(d, &params, kernel, m, x);
    params.eps = 1; /* does not matter */
    if (greedy_one(&binary, &solution, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t i = 0; i < d->n; i++)
        others += beta[i] != 0 && !given[i];
    ok(others == 0 && solution.status == KLR_CONVERGED,
       "%zu points that are given, and no others", m);
    check_solution(d, &params, &solution,
                   kkt_objective(d, &params, kernel, m, x));
}

/* The kernel that brute force takes next. */
static size_t best_by_force(const struct dense *d,
                            const struct klr_params *params, size_t *kernel,
                            size_t m)
{
    static long double x[UNKNOWNS];
    bool objective = params->selection == KLR_SELECTION_OBJECTIVE;
    long double best = -INFINITY;
    size_t found = 0;
    long double count[2] = {0, 0};
    for (size_t i = 0; i < d->n; i++)
        count[d->y[i] < 0]++;
    if (m > 0)
        kkt_solve(d, params, kernel, m, x);
    for (size_t j = 0; j < d->n; j++) {
        bool taken = false;
        for (size_t q = 0; q < m; q++)
            taken = taken || kernel[q] == j;
        if (taken)
            continue;
        long double value;
        kernel[m] = j;
        if (objective) {
            kkt_solve(d, params, kernel, m + 1, x);
            value = -kkt_objective(d, params, kernel, m + 1, x);
        } else if (m > 0) {
            value = kkt_violation(d, params, kernel, m, x, j);
        } else {
            value = fabsl(d->side[0][j] / count[0] - d->side[1][j] / count[1]);
        }
        if (value > best) {
            best = value;
            found = j;
        }
    }
    return found;
}

static void test_picks(struct dense *d, int regularizer, int selection,
                       size_t steps)
{
    static double beta[MOST_ROWS];
    static size_t kernel[MOST_ROWS];
    struct klr_params params = greedy_params(1, regularizer, selection, ALL);
    struct binary_problem binary = dense_binary(d, &params);
    struct solution solution = {.beta = beta}, *all = &solution;
    struct klr_error err = {0};
    struct greedy g;
    params.max_basis = (long long)steps;
    if (greedy_create(&g, &binary, 1, 0, &all, &err) ||
        greedy_descend(&g, &err))
        printf("Bail out! %s\n", err.message);
    size_t same = 0;
    for (size_t m = 0; m < steps; m++) {
        kernel[m] = best_by_force(d, &params, kernel, m);
        same += g.machine->basis.part[m].kernel == kernel[m];
    }
    ok(same == steps && g.machine->basis.count == steps,
       "%s: %zu of %zu picks are those of brute force", name_of(&params), same,
       steps);
    greedy_free(&g);
}

/* By doubles, beside the functions that there are. */
static struct judgement truth_of(struct greedy *g, size_t kernel)
{
    struct greedy_machine *m = g->machine;
    struct judgement truth;
    struct klr_error err;
    candidates_load_exact(&g->candidates, 0, &kernel, 1);
    if (basis_judge_exact(&m->scan, 0, kernel, &truth, &err))
        printf("Bail out! %s\n", err.message);
    return truth;
}

/* How far l of a kernel, as its judgement left it, is from that of doubles,
 * relative to the root of its norm. */
static double line_error(struct greedy *g, size_t kernel,
                         struct judgement *truth)
{
    static double line[MANY_ROWS];
    const struct basis *basis = &g->machine->basis;
    double worst = 0;
    basis_recall(basis, kernel, 0);
    memcpy(line, basis->line, basis->count * sizeof *line);
    *truth = truth_of(g, kernel); /* that is kept now */
    basis_recall(basis, kernel, 0);
    for (size_t k = 0; k < basis->count; k++)
        worst = larger_of(worst, fabs(line[k] - basis->line[k]));
    return worst / sqrt(truth->norm);
}

/* What is known of kernels that were drawn, some of them once and again, is
 * what doubles tell of them beside as many functions; of those that floats do
 * not tell enough of, no less than that. */
static void test_judgements(struct dense *d, int regularizer, double cost)
{
    static double beta[MANY_ROWS];
    struct klr_params params =
        greedy_params(cost, regularizer, KLR_SELECTION_OBJECTIVE, 59);
    struct binary_problem binary = dense_binary(d, &params);
    struct solution solution = {.beta = beta}, *all = &solution;
    struct klr_error err = {0};
    struct greedy g;
    double worst = 0, off = 0;
    size_t clear = 0, doubtful = 0, kept = 0;
    params.max_basis = 80;
    if (greedy_create(&g, &binary, 1, 0, &all, &err) ||
        greedy_descend(&g, &err))
        printf("Bail out! %s\n", err.message);
    struct greedy_machine *m = g.machine;
    size_t count = m->basis.count;
    scan_smooth(&m->scan);
    for (size_t i = 0; i < d->n; i++) {
        const struct judgement *j = &m->judgement[i];
        if (m->gone[i] || !j->known)
            continue;
        m->basis.count = j->count;
        struct judgement truth;
        off = larger_of(off, line_error(&g, i, &truth));
        struct judgement promise = judgement_promise(&m->basis, j);
        if (!judgement_is_clear(j)) {
            doubtful++;
            kept += promise.residual <= truth.residual &&
                    promise.gradient >= fabs(truth.gradient);
            continue;
        }
        worst = larger_of(worst, fabs(j->residual / truth.residual - 1));
        worst = larger_of(worst, fabs(j->gradient - truth.gradient) /
                                     sqrt(truth.residual * m->basis.sum));
        clear++;
    }
    m->basis.count = count;
    ok(clear + doubtful > 100 && worst < 1e-2 && kept == doubtful,
       "%s: judgements of %zu kernels within %.1e, %zu of %zu promises kept",
       name_of(&params), clear, worst, kept, doubtful);
    ok(off > 0 && off < 1e-6, "%s: their products within %.1e",
       name_of(&params), off);
    greedy_free(&g);
}

/* No kernel that was drawn would have been a better choice, but for what floats
 * take for granted. */
static void test_choices(struct dense *d, double cost, int selection)
{
    static double beta[MOST_ROWS];
    struct klr_params params =
        greedy_params(cost, KLR_REGULARIZER_COEF, selection, 59);
    struct binary_problem binary = dense_binary(d, &params);
    struct solution solution = {.beta = beta}, *all = &solution;
    struct klr_error err = {0};
    struct greedy g;
    size_t drawn = 0, better = 0, doubtful = 0;
    params.max_basis = 80;
    greedy_create(&g, &binary, 1, 0, &all, &err);
    struct greedy_machine *m = g.machine;
    for (g.progress.iterations = -1;
         g.progress.iterations < MOST_STEPS && greedy_goes_on(&g) && !err.code;
         g.progress.iterations++) {
        greedy_step(&g, &err);
        if (!m->best.found)
            continue;
        struct judgement best = truth_of(&g, m->best.kernel);
        doubtful += best.residual <= 1e-4 * best.norm;
        for (size_t i = 0; i < d->n; i++) {
            if (m->gone[i] || g.met[i] != (size_t)(g.progress.iterations + 2))
                continue;
            struct judgement other = truth_of(&g, i);
            better += greedy_value(&g, &other) > 1.02 * greedy_value(&g, &best);
            drawn++;
        }
    }
    ok(drawn > 2000 && better == 0,
       "%s: %zu of %zu kernels are better than those taken, %zu of them too "
       "small for floats",
       name_of(&params), better, drawn, doubtful);
    greedy_free(&g);
}

/* The objective after each step, of one machine of several. */
static void test_falls(struct dense *d)
{
    static double beta[MOST_ROWS];
    struct klr_params params =
        greedy_params(1e5, KLR_REGULARIZER_KERNEL, KLR_SELECTION_OBJECTIVE, 20);
    struct binary_problem binary = dense_binary(d, &params);
    struct solution solution = {.beta = beta}, *all = &solution;
    struct klr_error err = {0};
    struct greedy g;
    double last = 0;
    bool falls = true;
    greedy_create(&g, &binary, 1, 0, &all, &err);
    for (size_t step = 0;
         step < MOST_STEPS && greedy_goes_on(&g) && !greedy_step(&g, &err);
         step++) {
        falls = falls && g.machine->basis.sum >= last;
        last = g.machine->basis.sum;
    }
    ok(falls && g.count == 0, "the objective never rises, in %zu steps",
       g.machine->basis.count);
    greedy_free(&g);
}

/* Machines that differ in y, together and each alone; and by threads. */
static void test_machines(struct dense *d, struct dense *threaded,
                          long long candidates)
{
    enum { MACHINES = 3 };
    static double y[MACHINES][MOST_ROWS], beta[3 * MACHINES][MOST_ROWS];
    struct klr_params params = greedy_params(
        10, KLR_REGULARIZER_COEF, KLR_SELECTION_OBJECTIVE, candidates);
    struct binary_problem problem[2 * MACHINES];
    struct solution solution[3 * MACHINES], *all[3 * MACHINES];
    struct klr_error err = {0};
    params.max_basis = 60;
    for (size_t k = 0; k < 3 * MACHINES; k++) {
        solution[k] = (struct solution){.beta = beta[k]};
        all[k] = &solution[k];
    }
    for (size_t k = 0; k < 2 * MACHINES; k++) {
        problem[k] = dense_binary(k < MACHINES ? d : threaded, &params);
        problem[k].y = y[k % MACHINES];
        for (size_t i = 0; i < d->n; i++)
            y[k % MACHINES][i] = i % MACHINES == k % MACHINES ? 1 : -1;
    }
    greedy_solve(problem, MACHINES, all, &err);
    greedy_solve(problem + MACHINES, MACHINES, all + MACHINES, &err);
    ok(memcmp(beta, beta + MACHINES, sizeof beta / 3) == 0 &&
           solution[0].primal != solution[1].primal,
       "%s: three machines, the same bits by three threads", name_of(&params));
    for (size_t k = 0; k < MACHINES; k++) {
        greedy_one(&problem[k], &solution[2 * MACHINES + k], &err);
        double off = solution[2 * MACHINES + k].primal / solution[k].primal;
        /* drawn candidates are not the same ones */
        ok(fabs(off - 1) < (candidates < ALL ? 0.1 : 1e-10),
           "%s: machine %zu alone has %.12g of the objective", name_of(&params),
           k, off);
        off = solution[2 * MACHINES + k].dual / solution[k].dual;
        ok(candidates < ALL ? isnan(off) : fabs(off - 1) < 1e-9,
           "%s: ... and %.12g of the bound", name_of(&params), off);
    }
}

/* The bytes that tiles have and bases ask for. */
static double bytes_claimed(const struct greedy *g)
{
    double bytes = g->fixed;
    for (size_t k = 0; k < g->machines; k++)
        bytes += basis_bytes(&g->machine[k].basis);
    return bytes + (double)(g->problems->op->tiles.kept[KLR_FLOAT].stored *
                            KLR_TILE * KLR_TILE * sizeof(float));
}

/* Bases of many machines take memory from the tiles: both stay within it, and
 * the results are those of much memory. */
static void test_memory(struct dense *d)
{
    enum { MACHINES = 64, KERNELS = 3, ALL_TILES = 15 };
    static double y[MACHINES][MANY_ROWS], beta[2][MACHINES][MANY_ROWS];
    struct klr_params params =
        greedy_params(1, KLR_REGULARIZER_COEF, KLR_SELECTION_OBJECTIVE, 2000);
    struct binary_problem problem[MACHINES];
    struct solution solution[MACHINES], *all[MACHINES];
    struct klr_error err = {0};
    struct greedy g;
    size_t tiles[2][KERNELS + 1], over = 0;
    params.max_basis = KERNELS;
    for (size_t k = 0; k < MACHINES; k++) {
        problem[k] = dense_binary(d, &params);
        problem[k].y = y[k];
        for (size_t i = 0; i < d->n; i++)
            y[k][i] = i % MACHINES == k ? 1 : -1;
        all[k] = &solution[k];
    }
    for (size_t t = 0; t < 2; t++) {
        params.cache_mb = t == 0 ? 25 : 1000;
        for (size_t k = 0; k < MACHINES; k++)
            solution[k] = (struct solution){.beta = beta[t][k]};
        greedy_create(&g, problem, MACHINES, 0, all, &err);
        for (size_t step = 0; step <= KERNELS && !err.code; step++) {
            greedy_check_memory(&g, &err);
            tiles[t][step] = d->op.tiles.kept[KLR_FLOAT].stored;
            over += bytes_claimed(&g) > (params.cache_mb + 48) * 1048576;
            if (step == 0)
                greedy_judge_all(&g, &err);
            greedy_step(&g, &err);
        }
        greedy_finish_all(&g, &err);
        greedy_free(&g);
    }
    ok(tiles[0][0] == ALL_TILES && 0 < tiles[0][KERNELS] &&
           tiles[0][KERNELS] < ALL_TILES && tiles[1][KERNELS] == ALL_TILES,
       "bases leave %zu, then %zu of %d tiles; of much memory %zu", tiles[0][0],
       tiles[0][KERNELS], ALL_TILES, tiles[1][KERNELS]);
    ok(over == 0 && !err.code && solution[0].status == KLR_CONVERGED,
       "... within the memory");
    ok(memcmp(beta[0], beta[1], sizeof beta[0]) == 0,
       "... with the same results");
}

static void test_stops(struct dense *d)
{
    static double beta[MOST_ROWS];
    struct klr_params params =
        greedy_params(10, KLR_REGULARIZER_COEF, KLR_SELECTION_OBJECTIVE, 59);
    struct binary_problem binary = dense_binary(d, &params);
    struct solution s = {.beta = beta};
    struct klr_error err = {0};
    long long count[4];
    for (size_t k = 0; k < 4; k++) {
        params.selection = (int)(k / 2);
        params.eps = k % 2 ? 1e-3 : 1e-2;
        greedy_one(&binary, &s, &err);
        count[k] = s.iterations;
    }
    ok(5 < count[0] && count[0] < count[1] && count[1] < (long long)d->n &&
           4 < count[2] && count[2] < count[3] && count[3] < (long long)d->n,
       "kernels by tolerance: %lld, %lld; %lld, %lld", count[0], count[1],
       count[2], count[3]);
    params.max_basis = 4;
    greedy_one(&binary, &s, &err);
    ok(s.iterations == 4 && s.status == KLR_CONVERGED, "as many as asked for");
    params.max_iter = 3;
    greedy_one(&binary, &s, &err);
    ok(s.iterations == 3 && s.status == KLR_ITERATION_LIMIT, "iteration limit");
    params.progress = stop_at_once;
    greedy_one(&binary, &s, &err);
    ok(s.iterations == 1 && s.status == KLR_INTERRUPTED && s.primal > 0,
       "interrupted, with a usable solution");
}

/* Identical examples: no kernel tells the classes apart. */
static void test_nothing(void)
{
    double label[] = {1, -1, 1, -1};
    size_t start[] = {0, 0, 0, 0, 0};
    struct klr_problem problem = {
        .n = 4, .dimension = 1, .label = label, .start = start};
    struct klr_params params =
        greedy_params(1, KLR_REGULARIZER_COEF, KLR_SELECTION_OBJECTIVE, 59);
    struct klr_model *model;
    struct klr_report report;
    struct klr_error err = {0};
    int code = klr_train(&problem, &params, &model, &report, &err);
    ok(code == 0 && report.note->kind == KLR_NOTE_MEANS && report.n_sv == 0,
       "nothing to learn: noted %zu times", report.notes);
    klr_model_free(model);
}

/* Five features, one of which tells the classes apart a little. */
static struct klr_problem sample_make(size_t rows)
{
    enum { FEATURES = 5 };
    static double label[MANY_ROWS], value[MANY_ROWS * FEATURES];
    static size_t start[MANY_ROWS + 1];
    static int index[MANY_ROWS * FEATURES];
    uint64_t state = 20240601;
    for (size_t i = 0; i < rows * FEATURES; i++) {
        size_t row = i / FEATURES, column = i % FEATURES;
        label[row] = row % 3 == 0 ? 1 : -1;
        start[row + 1] = i + 1;
        index[i] = (int)column + 1;
        value[i] = ldexp((double)(random_next(&state) >> 11), -52) - 1 +
                   0.4 * label[row] * (column == 0);
    }
    return (struct klr_problem){.n = rows,
                                .dimension = FEATURES,
                                .label = label,
                                .start = start,
                                .index = index,
                                .value = value};
}

/* Several groups of examples. */
static void test_many(void)
{
    static struct dense d;
    struct klr_kernel kernel = {.type = KLR_RBF, .gamma = 0.5};
    struct klr_problem problem = sample_make(MANY_ROWS);
    dense_open(&d, &problem, &kernel, 1, NULL);
    test_judgements(&d, KLR_REGULARIZER_COEF, 1);
    test_memory(&d);
    operator_free(&d.op);
}

static void test_small(void)
{
    static struct dense d, threaded;
    struct klr_kernel kernel = {.type = KLR_RBF, .gamma = 0.5};
    struct klr_problem problem = sample_make(200);
    struct klr_pool *pool;
    struct klr_error err = {0};
    dense_make(&d, &problem, &kernel, 1, NULL);
    for (int regularizer = KLR_REGULARIZER_KERNEL;
         regularizer <= KLR_REGULARIZER_COEF; regularizer++)
        for (double cost = 0.1; cost < 2e5; cost *= 100)
            test_exact(&d, cost > 1e4 ? 1e5 : cost, regularizer,
                       cost < 1 ? 59 : ALL);
    test_falls(&d);
    if (klr_pool_create(&pool, 3, &err))
        printf("Bail out! %s\n", err.message);
    dense_make(&threaded, &problem, &kernel, 1, pool);
    test_machines(&d, &threaded, ALL);
    test_machines(&d, &threaded, 20);
    operator_free(&threaded.op);
    klr_pool_free(pool);
    test_stops(&d);
    operator_free(&d.op);
    dense_make(&d, &problem, &kernel, 3, NULL);
    test_exact(&d, 10, KLR_REGULARIZER_COEF, 59);
    test_exact(&d, 10, KLR_REGULARIZER_KERNEL, ALL);
    test_given(&d, 10, KLR_REGULARIZER_COEF);
    test_given(&d, 1e4, KLR_REGULARIZER_COEF);
    test_given(&d, 10, KLR_REGULARIZER_KERNEL);
    operator_free(&d.op);
}

static void test_heart(void)
{
    static struct dense d;
    struct klr_problem heart;
    struct klr_error err = {0};
    struct klr_kernel kernel = {.type = KLR_RBF, .gamma = 1.0 / 13};
    if (klr_problem_read(&heart, "heart_scale", 0, 1, &err))
        printf("Bail out! %s\n", err.message);
    dense_make(&d, &heart, &kernel, 1, NULL);
    test_picks(&d, KLR_REGULARIZER_COEF, KLR_SELECTION_OBJECTIVE, 30);
    test_picks(&d, KLR_REGULARIZER_COEF, KLR_SELECTION_INFEASIBILITY, 30);
    test_picks(&d, KLR_REGULARIZER_KERNEL, KLR_SELECTION_OBJECTIVE, 30);
    test_picks(&d, KLR_REGULARIZER_KERNEL, KLR_SELECTION_INFEASIBILITY, 30);
    test_judgements(&d, KLR_REGULARIZER_COEF, 1);
    test_judgements(&d, KLR_REGULARIZER_COEF, 1e5);
    test_judgements(&d, KLR_REGULARIZER_KERNEL, 10);
    test_choices(&d, 1e5, KLR_SELECTION_OBJECTIVE);
    test_choices(&d, 1e5, KLR_SELECTION_INFEASIBILITY);
    operator_free(&d.op);
    klr_problem_free(&heart);
}

int main(void)
{
    test_many();
    test_small();
    test_heart();
    test_nothing();
    return done_testing();
}
