/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An expansion projected onto few of its kernels, against the system of linear
 * equations K_MM v = K_M beta in long double; and the choice of the kernels,
 * against random ones.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include "tests/eliminate.h"
#include "tests/sample.h"
#include "tests/tap.h"

static long double kernel[MOST][MOST];

static void fill_kernel(const struct sample *s, double gamma)
{
    for (size_t i = 0; i < s->problem.n; i++)
        for (size_t j = 0; j < s->problem.n; j++) {
            long double square = 0;
            for (int d = 0; d < FEATURES; d++) {
                long double x = s->value[i * FEATURES + (size_t)d];
                x -= s->value[j * FEATURES + (size_t)d];
                square += x * x;
            }
            kernel[i][j] = expl(-gamma * square);
        }
}

static long double form(size_t n, const long double *x)
{
    long double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            sum += x[i] * x[j] * kernel[i][j];
    return sum;
}

/* rest (n) = beta - v, v being the coefficients of the projection onto the
 * kernels of point (m). Returns the square of its norm. */
static long double judge(size_t n, const double *beta, size_t m,
                         const size_t *point, long double *rest)
{
    static long double matrix[MOST][MOST], v[MOST];
    for (size_t k = 0; k < m; k++) {
        v[k] = 0;
        for (size_t i = 0; i < n; i++)
            v[k] += kernel[point[k]][i] * beta[i];
        for (size_t l = 0; l < m; l++)
            matrix[k][l] = kernel[point[k]][point[l]];
    }
    eliminate(m, MOST, *matrix, 1, v);
    for (size_t i = 0; i < n; i++)
        rest[i] = beta[i];
    for (size_t k = 0; k < m; k++)
        rest[point[k]] -= v[k];
    return form(n, rest);
}

/* Coefficients of very different sizes, a tenth of them 0. */
static void make_beta(const struct sample *s, double *beta)
{
    for (size_t i = 0; i < s->problem.n; i++)
        beta[i] = i % 10 == 3 ? 0 : s->label[i] * pow(10, 2 * uniform() - 1);
}

/* A binary problem of all rows in their order, and what it refers to. */
struct whole {
    struct binary_problem binary;
    struct klr_params params;
    struct klr_operator op;
    struct klr_range all;
    struct clock clock;
};

static void whole_create(struct whole *w, const struct sample *s, double gamma,
                         long long points)
{
    struct klr_error err;
    struct klr_features x = problem_features(&s->problem);
    *w = (struct whole){.params = sample_params(gamma, 1), .all = {0, x.n}};
    w->params.basis = points;
    struct klr_kernel k = params_kernel(&w->params, FEATURES);
    clock_start(&w->clock, 1);
    if (operator_create(&w->op, &k, &x, NULL, NULL, 0, &err))
        printf("Bail out! %s\n", err.message);
    w->binary = (struct binary_problem){.op = &w->op,
                                        .set = set_of(&w->all, 1),
                                        .n = x.n,
                                        .y = s->label,
                                        .weight = s->label,
                                        .params = &w->params,
                                        .clock = &w->clock};
}

/* subspace_project on them, by a clock of that status. */
static struct projection project(const struct sample *s, double gamma,
                                 long long points, enum klr_status status,
                                 double *beta)
{
    static struct whole w;
    struct klr_error err;
    struct projection out;
    whole_create(&w, s, gamma, points);
    w.clock.status = status;
    if (subspace_project(&w.binary, beta, &out, &err))
        printf("Bail out! %s\n", err.message);
    operator_free(&w.op);
    return out;
}

/* The mean square of what random kernels leave, and the least of 20 draws. */
static long double random_least(size_t n, const double *beta, size_t m,
                                long double *rest)
{
    size_t item[MOST];
    long double least = INFINITY;
    for (int draw = 0; draw < 20; draw++) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
            if (beta[i] != 0)
                item[count++] = i;
        random_choose(&state, item, count, m);
        least = fminl(least, judge(n, beta, m, item, rest));
    }
    return least;
}

static void test_projection(const struct sample *s, double gamma, size_t m)
{
    double beta[MOST], found[MOST];
    size_t n = s->problem.n, point[MOST], count = 0;
    long double rest[MOST], whole[MOST], off[MOST], other[MOST];
    fill_kernel(s, gamma);
    make_beta(s, beta);
    memcpy(found, beta, sizeof found);
    struct projection p = project(s, gamma, (long long)m, KLR_CONVERGED, found);
    for (size_t i = 0; i < n; i++) {
        whole[i] = beta[i];
        if (found[i] != 0)
            point[count++] = i;
    }
    long double distance = judge(n, beta, count, point, rest);
    long double square = form(n, whole);
    for (size_t i = 0; i < n; i++)
        off[i] = beta[i] - found[i] - rest[i];
    long double random = random_least(n, beta, m, other);
    ok(count == m && p.points == m, "gamma %g: %zu points of %zu", gamma, m, n);
    ok(fabsl(p.square / square - 1) < 1e-12L, "|f|^2 is %.6g", p.square);
    ok(fabsl(p.distance - distance) < 1e-12L * square,
       "... of which %.6g is lost", p.distance);
    ok(form(n, off) < 1e-18L * square,
       "... the coefficients are those of the projection");
    ok(distance < 0.9L * random, "... best of 20 random choices: %.6g",
       (double)random);
}

/* What is small enough stays, bit by bit; so does what there is no time for. */
static void test_all(const struct sample *s)
{
    double beta[MOST], found[MOST];
    size_t n = s->problem.n, count = 0;
    make_beta(s, beta);
    for (size_t i = 0; i < n; i++)
        count += beta[i] != 0;
    memcpy(found, beta, sizeof found);
    struct projection p = project(s, 1, (long long)count, KLR_CONVERGED, found);
    ok(p.points == count && p.distance == 0 && isnan(p.square) &&
           !memcmp(beta, found, n * sizeof *beta),
       "as many points as there are coefficients leave all as it is");
    p = project(s, 1, (long long)count - 1, KLR_CONVERGED, found);
    ok(p.points == count - 1 && p.distance > 0, "one less does not");
    memcpy(found, beta, sizeof found);
    p = project(s, 1, 10, KLR_INTERRUPTED, found);
    ok(p.points == count && p.distance == 0 &&
           !memcmp(beta, found, n * sizeof *beta),
       "an interruption does");
}

/* Copies of an example are one kernel. */
static void test_copies(struct sample *s)
{
    double beta[MOST];
    size_t n = s->problem.n;
    for (size_t i = 8; i < n; i++)
        memcpy(s->value + i * FEATURES, s->value + i % 8 * FEATURES,
               FEATURES * sizeof *s->value);
    for (size_t i = 0; i < n; i++)
        beta[i] = 1 + (double)(i % 7);
    struct projection p = project(s, 1, 20, KLR_CONVERGED, beta);
    ok(p.points == 8 && p.distance < 1e-12 * p.square,
       "copies of 8 examples are 8 points: %zu, of %.2g they lose %.2g",
       p.points, p.square, p.distance);
}

/* ---- points that machines share ---- */

enum { MACHINES = 3, FIRST = 4, JOINED = 8 };

/* The point that lowers the sum of the squares most, of the machines' functions
 * less their projections onto the m points and it. */
static size_t best_point(size_t n, double target[MACHINES][MOST],
                         const size_t *point, size_t m)
{
    size_t all[FIRST + JOINED], best = n;
    long double rest[MOST], least = INFINITY;
    memcpy(all, point, m * sizeof *all);
    for (size_t c = 0; c < n; c++) {
        long double sum = 0;
        bool known = false;
        for (size_t k = 0; k < m; k++)
            known = known || point[k] == c;
        all[m] = c;
        for (size_t q = 0; q < MACHINES && !known; q++)
            sum += judge(n, target[q], m + 1, all, rest);
        if (!known && sum < least) {
            least = sum;
            best = c;
        }
    }
    return best;
}

static void test_shared(const struct sample *s, double gamma)
{
    static struct whole w;
    struct binary_problem problems[MACHINES];
    double target[MACHINES][MOST];
    struct subspace sub;
    struct klr_error err;
    size_t n = s->problem.n;
    uint64_t random = 1;
    int code = 0;
    fill_kernel(s, gamma);
    whole_create(&w, s, gamma, 40);
    for (size_t q = 0; q < MACHINES; q++)
        problems[q] = w.binary;
    if (subspace_create(&sub, problems, MACHINES, 1, &err))
        printf("Bail out! %s\n", err.message);
    for (sub.m = 0; sub.m < FIRST; sub.m++)
        sub.member[sub.m] = 3 * sub.m;
    if (subspace_span(&sub, 0, &err))
        printf("Bail out! %s\n", err.message);
    for (size_t q = 0; q < MACHINES; q++) {
        make_beta(s, target[q]);
        for (size_t i = 0; i < n; i++)
            target[q][i] += 1e-3; /* none is 0: all are candidates */
        memcpy(sub.shared[q].g, target[q], n * sizeof(double));
    }
    subspace_join(&sub, JOINED, n, &random, &err, &code);
    size_t best = 0;
    while (best < JOINED && !code &&
           sub.member[FIRST + best] ==
               best_point(n, target, sub.member, FIRST + best))
        best++;
    ok(!code && sub.m == FIRST + JOINED && best == JOINED,
       "gamma %g: points join that lower the sum most: %zu of %d", gamma, best,
       JOINED);
    subspace_free(&sub);
    operator_free(&w.op);
}

int main(void)
{
    static struct sample s;
    sample_make(&s, MOST);
    test_projection(&s, 0.5, 1);
    test_projection(&s, 0.5, 12);
    test_projection(&s, 0.5, 60);
    test_projection(&s, 2, 100);
    test_all(&s);
    test_copies(&s);
    for (int turn = 0; turn < 5; turn++) {
        sample_make(&s, 60);
        test_shared(&s, turn + 0.5);
    }
    return done_testing();
}
