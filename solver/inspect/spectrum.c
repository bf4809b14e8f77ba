/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether the kernel matrix of all examples is positive semidefinite, is so on
 * the vectors v with sum v = 0 only (conditionally, which suffices for a model
 * with a bias), or neither: Lin & Lin (2003), sections 2 and 3.
 *
 * Up to SPECTRUM_EXACT examples all of K is reduced to a tridiagonal T, which
 * has its eigenvalues, and without its first row and column those of K on
 * sum v = 0: see tridiagonal.c.
 *
 * Beyond: Lanczos iterations with float entries, for K and for P K P, P = I -
 * 1 1'/n. The smallest Ritz value is never below the smallest eigenvalue but
 * for rounding: that K is indefinite is then certain, that it is not is an
 * estimate.
 */
#include "solver/matrix/matrix.h"
#include "solver/train/train.h"

enum {
    SPECTRUM_EXACT = 2000,
    SPECTRUM_STEPS = 500 /* of Lanczos, at most */
};

const char *const klr_definiteness_names[] = {
    "positive definite",
    "positive semidefinite",
    "conditionally positive definite",
    "conditionally positive semidefinite",
    "indefinite",
    NULL,
};

/* ---- all of K ---- */

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

static bool spectrum_watch(void *context)
{
    return spectrum_goes_on(context);
}

static void spectrum_exact(struct spectrum *s)
{
    struct klr_spectrum *out = s->out;
    struct submatrix k = {&s->op, set_of(&s->all, 1)};
    double *work[] = {s->a, s->v, s->p};
    bool done = tridiagonalise(&k, work, s->d, s->e, spectrum_watch, s);
    if (!done && out->status == KLR_CONVERGED)
        out->status = s->clock.status;
    if (!done)
        return;
    struct tridiagonal whole = {s->op.n, s->d, s->e};
    struct tridiagonal centred = {s->op.n - 1, s->d + 1, s->e + 1};
    out->tolerance = tridiagonal_rounding(&whole);
    out->whole = tridiagonal_extremes(&whole);
    out->centred = tridiagonal_extremes(&centred);
    out->negative = tridiagonal_count(&whole, -out->tolerance);
}

/* ---- estimates ---- */

static struct klr_extremes spectrum_lanczos(struct spectrum *s, bool centred)
{
    struct lanczos l = {.k = {&s->op, set_of(&s->all, 1)},
                        .centred = centred,
                        .steps = SPECTRUM_STEPS,
                        .tolerance = s->out->tolerance,
                        .share = 1e-6,
                        .d = s->d,
                        .e = s->e,
                        .q = s->q,
                        .w = s->w,
                        .before = s->before,
                        .goes_on = spectrum_watch,
                        .context = s};
    struct klr_extremes found = lanczos(&l);
    if (l.cut && s->out->status == KLR_CONVERGED)
        s->out->status = s->clock.status;
    return found;
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
    out->whole = spectrum_lanczos(s, false);
    if (out->status == KLR_CONVERGED)
        out->centred = spectrum_lanczos(s, true);
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
