/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether the kernel matrix of all examples is positive semidefinite, is so on
 * the vectors v with sum v = 0 only (conditionally, which suffices for a model
 * with a bias), or neither: Lin & Lin (2003), sections 2 and 3.
 *
 * Up to SPECTRUM_EXACT examples: Householder tridiagonalisation of K with
 * double entries (Golub & Van Loan, Matrix Computations, 8.3), begun with the
 * reflection that takes the vector of ones to the first axis. Then T = Q'K Q
 * has the eigenvalues of K, and without its first row and column those of K on
 * sum v = 0. Eigenvalues of tridiagonal matrices by bisection on the number of
 * negative pivots of T - x.
 *
 * Beyond: Lanczos iterations with float entries, for K and for P K P, P = I -
 * 1 1'/n. The smallest Ritz value is never below the smallest eigenvalue but
 * for rounding: that K is indefinite is then certain, that it is not is an
 * estimate. Copies of eigenvalues, which appear as orthogonality is lost, do
 * not change the extremes.
 */
#include <float.h>

#include "solver/train/train.h"

enum {
    SPECTRUM_EXACT = 2000,
    SPECTRUM_STEPS = 500, /* of Lanczos, at most */
    SPECTRUM_LOOK = 10    /* steps from one look at the extremes to the next */
};

const char *const klr_definiteness_names[] = {
    "positive definite",
    "positive semidefinite",
    "conditionally positive definite",
    "conditionally positive semidefinite",
    "indefinite",
    NULL,
};

/* ---- tridiagonal matrices ---- */

/* diagonal d (n), beside it e (n - 1) */
struct tridiagonal {
    size_t n;
    const double *d, *e;
};

/* How many eigenvalues are less than x. */
static size_t tridiagonal_count(const struct tridiagonal *t, double x)
{
    size_t count = 0;
    double pivot = 1;
    for (size_t i = 0; i < t->n; i++) {
        double e = i > 0 ? t->e[i - 1] : 0;
        pivot = t->d[i] - x - (e == 0 ? 0 : e * e / pivot);
        if (pivot == 0)
            pivot = -1e-300;
        count += pivot < 0;
    }
    return count;
}

/* A bound on the absolute eigenvalues: Gershgorin's. */
static double tridiagonal_bound(const struct tridiagonal *t)
{
    double bound = 0;
    for (size_t i = 0; i < t->n; i++) {
        double sum = fabs(t->d[i]);
        sum += i > 0 ? fabs(t->e[i - 1]) : 0;
        sum += i + 1 < t->n ? fabs(t->e[i]) : 0;
        bound = fmax(bound, sum);
    }
    return bound;
}

/* The eigenvalue that `below` others are less than, in ascending order. */
static double tridiagonal_value(const struct tridiagonal *t, size_t below)
{
    double high = tridiagonal_bound(t), low = -high;
    for (int step = 0; step < 200; step++) {
        double x = 0.5 * (low + high);
        if (x <= low || x >= high)
            break;
        *(tridiagonal_count(t, x) > below ? &high : &low) = x;
    }
    return 0.5 * (low + high);
}

static struct klr_extremes tridiagonal_extremes(const struct tridiagonal *t)
{
    if (t->n == 0)
        return (struct klr_extremes){NAN, NAN};
    return (struct klr_extremes){tridiagonal_value(t, 0),
                                 tridiagonal_value(t, t->n - 1)};
}

/* ---- all of K ---- */

/* p (n) = A v from `first` on, A symmetric, its lower triangle row-major. */
static void dense_multiply(size_t n, size_t first, const double *a,
                           const double *v, double *p)
{
    enum { PARTS = 4 };
    memset(p + first, 0, (n - first) * sizeof *p);
    for (size_t i = first; i < n; i++) {
        const double *restrict row = a + i * n;
        double sum[PARTS] = {0}, own = v[i];
        size_t j = first;
        for (; j + PARTS <= i; j += PARTS)
            for (size_t q = 0; q < PARTS; q++) {
                sum[q] += row[j + q] * v[j + q];
                p[j + q] += row[j + q] * own;
            }
        for (; j < i; j++) {
            sum[0] += row[j] * v[j];
            p[j] += row[j] * own;
        }
        p[i] += (sum[0] + sum[1]) + (sum[2] + sum[3]) + row[i] * own;
    }
}

/* A = H A H from `first` on, H = I - 2 v v'/v'v the reflection that takes x =
 * v + r e_first to r e_first: r = -sign(x_first) |x|. v holds x, then v, or a
 * multiple, since what roundings leave of a column may be so small that its
 * square is 0. p (n) is workspace. Returns r. */
static double dense_reflect(size_t n, size_t first, double *a, double *v,
                            double *p)
{
    size_t left = n - first;
    double largest = 0;
    int exponent;
    for (size_t i = first; i < n; i++)
        largest = fmax(largest, fabs(v[i]));
    frexp(largest, &exponent);
    for (size_t i = first; i < n && exponent < 0; i++)
        v[i] = ldexp(v[i], -exponent);
    double norm = sqrt(dot(left, v + first, v + first));
    double r = v[first] > 0 ? -norm : norm;
    if (norm == 0)
        return 0;
    v[first] -= r;
    double scale = 2 / dot(left, v + first, v + first);
    dense_multiply(n, first, a, v, p);
    double half = 0.5 * scale * scale * dot(left, p + first, v + first);
    for (size_t i = first; i < n; i++)
        p[i] = scale * p[i] - half * v[i];
    for (size_t i = first; i < n; i++) {
        double *restrict row = a + i * n, vi = v[i], pi = p[i];
        for (size_t j = first; j <= i; j++)
            row[j] -= vi * p[j] + pi * v[j];
    }
    return exponent < 0 ? ldexp(r, exponent) : r;
}

/* Workspace of a computation of the spectrum. */
struct spectrum {
    struct klr_operator op;
    struct klr_range all;
    const struct klr_params *params;
    struct clock clock;
    struct klr_progress progress;
    double *a;              /* (n, n) K, where all of it is there */
    double *d, *e, *v, *p;  /* (n) */
    double *q, *w, *before; /* (n) */
    struct klr_spectrum *out;
    struct klr_arena arena; /* all that is allocated */
};

/* False: to be stopped. */
static bool spectrum_goes_on(struct spectrum *s)
{
    s->out->status =
        clock_check(&s->clock, s->params, &s->progress, NULL, NULL);
    s->progress.iterations++;
    return s->out->status == KLR_CONVERGED;
}

static bool spectrum_fill(struct spectrum *s)
{
    size_t n = s->op.n, row[KLR_STRIP];
    bool whole = true;
    for (size_t i = 0, count; i < n && whole; i += count) {
        count = n - i < KLR_STRIP ? n - i : KLR_STRIP;
        for (size_t k = 0; k < count; k++)
            row[k] = i + k;
        whole = operator_rows(&s->op, row, count, set_of(&s->all, 1),
                              KLR_DOUBLE, s->a + i * n, n);
    }
    return whole;
}

/* The reflection of the ones, then those of the columns. */
static void spectrum_reduce(struct spectrum *s)
{
    size_t n = s->op.n;
    if (!spectrum_fill(s)) {
        s->out->status = s->clock.status;
        return;
    }
    for (size_t i = 0; i < n; i++)
        s->v[i] = 1;
    dense_reflect(n, 0, s->a, s->v, s->p);
    for (size_t k = 0; k + 1 < n && spectrum_goes_on(s); k++) {
        for (size_t i = k + 1; i < n; i++)
            s->v[i] = s->a[i * n + k];
        s->e[k] = dense_reflect(n, k + 1, s->a, s->v, s->p);
    }
    for (size_t i = 0; i < n; i++)
        s->d[i] = s->a[i * n + i];
}

/* Rounding moves eigenvalues by some n 2^-53 times the largest; and the zeros
 * of a zero matrix are not negative either. */
static void spectrum_exact(struct spectrum *s)
{
    struct klr_spectrum *out = s->out;
    spectrum_reduce(s);
    if (out->status != KLR_CONVERGED)
        return;
    struct tridiagonal whole = {s->op.n, s->d, s->e};
    struct tridiagonal centred = {s->op.n - 1, s->d + 1, s->e + 1};
    out->tolerance =
        ldexp((double)s->op.n * tridiagonal_bound(&whole), -52) + DBL_MIN;
    out->whole = tridiagonal_extremes(&whole);
    out->centred = tridiagonal_extremes(&centred);
    out->negative = tridiagonal_count(&whole, -out->tolerance);
}

/* ---- estimates ---- */

static void spectrum_centre(size_t n, double *v)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++)
        mean += v[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        v[i] -= mean;
}

/* One step: w = A q - e before, A being K or P K P; its diagonal into d. False:
 * the clock ended it. */
static bool lanczos_step(struct spectrum *s, size_t k, bool centred)
{
    size_t n = s->op.n;
    struct klr_set all = set_of(&s->all, 1);
    if (!operator_apply(&s->op, all, all, s->q, 1, KLR_FLOAT, s->w))
        return false;
    s->d[k] = dot(n, s->q, s->w);
    for (size_t i = 0; i < n; i++)
        s->w[i] -= s->d[k] * s->q[i] + (k > 0 ? s->e[k - 1] * s->before[i] : 0);
    if (centred)
        spectrum_centre(n, s->w);
    s->e[k] = sqrt(dot(n, s->w, s->w));
    return true;
}

/* Until the extremes move by less than the tolerance, or a millionth of the
 * smallest, from one look to the next. */
static struct klr_extremes lanczos(struct spectrum *s, bool centred)
{
    size_t n = s->op.n;
    uint64_t random = 1;
    struct klr_extremes now = {NAN, NAN}, last;
    double tolerance = s->out->tolerance;
    for (size_t i = 0; i < n; i++)
        s->w[i] = random_next(&random) >> 63 ? 1 : -1;
    if (centred)
        spectrum_centre(n, s->w);
    double norm = sqrt(dot(n, s->w, s->w));
    for (size_t k = 0; k < SPECTRUM_STEPS && spectrum_goes_on(s); k++) {
        memcpy(s->before, s->q, n * sizeof *s->q);
        for (size_t i = 0; i < n; i++)
            s->q[i] = s->w[i] / norm;
        if (!lanczos_step(s, k, centred)) {
            s->out->status = s->clock.status;
            break;
        }
        norm = s->e[k];
        bool invariant = norm <= 1e-3 * tolerance;
        if (k % SPECTRUM_LOOK != 0 && !invariant)
            continue;
        last = now;
        now = tridiagonal_extremes(&(struct tridiagonal){k + 1, s->d, s->e});
        double small = fmax(0.1 * tolerance, 1e-6 * fabs(now.least));
        if (invariant || (fabs(now.least - last.least) <= small &&
                          fabs(now.most - last.most) <= 1e-6 * now.most))
            break;
    }
    return now;
}

/* Roundings of float entries are a random matrix, of norm 2^-24 max |K_ij| (2
 * n^1/2); the maximum is taken over a few rows. */
static void spectrum_estimate(struct spectrum *s)
{
    enum { ROWS = 16 };
    struct klr_spectrum *out = s->out;
    size_t n = s->op.n;
    double most = 0;
    for (size_t k = 0; k < ROWS; k++) {
        if (!operator_row(&s->op, set_of(&s->all, 1), k * n / ROWS, s->w))
            break;
        for (size_t i = 0; i < n; i++)
            most = fmax(most, fabs(s->w[i]));
    }
    out->tolerance = ldexp(most * sqrt((double)n), -22);
    out->whole = lanczos(s, false);
    if (out->status == KLR_CONVERGED)
        out->centred = lanczos(s, true);
}

/* ---- the answer ---- */

static enum klr_definiteness spectrum_kind(const struct klr_spectrum *s)
{
    double t = s->tolerance;
    if (s->whole.least > t)
        return KLR_DEFINITE;
    if (s->whole.least >= -t)
        return KLR_SEMIDEFINITE;
    if (!(s->centred.least <= t)) /* there is no such vector if n = 1 */
        return KLR_CONDITIONALLY_DEFINITE;
    return s->centred.least >= -t ? KLR_CONDITIONALLY_SEMIDEFINITE
                                  : KLR_INDEFINITE;
}

static int spectrum_alloc(struct spectrum *s, struct klr_error *err)
{
    struct klr_arena *arena = &s->arena;
    size_t n = s->op.n;
    double **const vector[] = {&s->d, &s->e, &s->v,     &s->p,
                               &s->q, &s->w, &s->before};
    size_t room = n > SPECTRUM_STEPS ? n : SPECTRUM_STEPS;
    if (s->out->exact && !KLR_TAKE(arena, s->a, n, n, err))
        return KLR_E_MEMORY;
    return klr_take_vectors(arena, room, vector, sizeof vector / sizeof *vector,
                            err);
}

static void spectrum_free(struct spectrum *s)
{
    klr_arena_free(&s->arena);
    operator_free(&s->op);
}

/* The parameters that count. Products are those of klr by newton with the
 * regularizer coef: the system that stores tiles of any K. */
static struct klr_params spectrum_settle(const struct klr_params *given)
{
    struct klr_params params;
    klr_params_init(&params);
    params.solver = KLR_SOLVER_NEWTON;
    params.regularizer = KLR_REGULARIZER_COEF;
    params.kernel = given->kernel;
    params.degree = given->degree;
    params.gamma = given->gamma;
    params.coef0 = given->coef0;
    params.cache_mb = given->cache_mb;
    params.threads = given->threads;
    params.time_limit = given->time_limit;
    params.progress = given->progress;
    params.context = given->context;
    return params;
}

static int spectrum_find(const struct klr_problem *problem,
                         const struct klr_params *given, bool exact,
                         struct klr_spectrum *out, struct klr_error *err)
{
    struct klr_params params = spectrum_settle(given);
    struct spectrum s = {.all = {0, problem->n}, .params = &params, .out = out};
    struct klr_pool *pool = NULL;
    *out = (struct klr_spectrum){.n = problem->n,
                                 .exact = exact,
                                 .whole = {NAN, NAN},
                                 .centred = {NAN, NAN}};
    int code = klr_params_check(&params, err);
    if (!code)
        code = klr_pool_create(&pool, params.threads, err);
    if (!code)
        code = problem_operator(&s.op, problem, &params, NULL, pool, err);
    if (!code)
        code = spectrum_alloc(&s, err);
    if (code)
        goto done;
    clock_start(&s.clock, 1);
    clock_watch(&s.clock, &params, pool);
    if (out->exact)
        spectrum_exact(&s);
    else
        spectrum_estimate(&s);
    if (!isfinite(out->whole.least) && out->status == KLR_CONVERGED)
        code = klr_fail(err, KLR_E_DATA,
                        "the kernel overflows: scale the features");
    out->kind = spectrum_kind(out);
    out->steps = s.progress.iterations;
    out->seconds = klr_seconds() - s.clock.begin;
done:
    clock_leave(pool);
    spectrum_free(&s);
    klr_pool_free(pool);
    return code;
}

int klr_kernel_spectrum(const struct klr_problem *problem,
                        const struct klr_params *params,
                        struct klr_spectrum *out, struct klr_error *err)
{
    return spectrum_find(problem, params, problem->n <= SPECTRUM_EXACT, out,
                         err);
}
