/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an SMO step does to all examples: s -= t (K_i - K_j), Keerthi (5.2),
 * which finds the next i on its way, and the choice of j for an i. Both find
 * the largest value part by part, then the first example of that part which has
 * it: ties go to the lowest index. Threads divide the parts of many examples.
 */
#include "solver/smo/smo_parts.h"

enum {
    SMO_PART = KLR_SHARE_UNIT,
    SMO_SHARED = 4 * SMO_SHARE, /* from so many on they are divided, ... */
    SMO_SHARES = 64             /* ... in so many, at most */
};

static const double smo_tiny = 1e-12; /* least curvature */

/* The i for which a partner is sought. */
struct smo_pick {
    double s, hessian, eps;
};

static inline double smo_entry(const void *row, enum klr_precision precision,
                               size_t k)
{
    return precision == KLR_FLOAT ? (double)((const float *)row)[k]
                                  : ((const double *)row)[k];
}

/* The gain that the pair (i, k) promises: (s_i - s_k)^2 / curvature, Consolo
 * (34), (35), or, without a row, s_i - s_k, (32). 0 if the pair violates by no
 * more than eps: a pair at its optimum could promise more than others near 0
 * and C, where the logistic curvature is large. */
static inline double smo_gain(const struct smo_pick *pick, double s,
                              double hessian, const void *row,
                              enum klr_precision precision, size_t k)
{
    double v = pick->s - s;
    if (!(v > pick->eps))
        return 0;
    if (!row)
        return v;
    double q = pick->hessian + hessian - 2 * smo_entry(row, precision, k);
    return v * v / (q > smo_tiny ? q : smo_tiny);
}

/* The sides to which an s violates by more than the bounds. */
static inline int smo_side_beyond(const struct smo_bounds *bounds, double s,
                                  unsigned char side)
{
    return side & ((s > bounds->rise ? SMO_CAN_RISE : 0) |
                   (s < bounds->fall ? SMO_CAN_FALL : 0));
}

/* Instructions by names that gcc and clang know without <immintrin.h>, which
 * takes longer to parse than the whole solver. */
#if defined __x86_64__
#define NAME(x)   x##_avx2
#define TARGET    __attribute__((target("avx2")))
#define BYTES     32
#define SIDES(p)  ((integers){(p)[0], (p)[1], (p)[2], (p)[3]})
#define MAX(a, b) __builtin_ia32_maxpd256((a), (b))
#define ANY(m)    __builtin_ia32_movmskpd256((doubles)(m))
#include "solver/smo/smo_sweep.h"

#define MAX(a, b) __builtin_ia32_maxpd((a), (b))
#elif defined __aarch64__
#include <arm_neon.h>
#define MAX(a, b) vmaxq_f64((a), (b))
#endif

#define NAME(x) x##_portable
#define TARGET
#define BYTES    16
#define SIDES(p) ((integers){(p)[0], (p)[1]})
#define ANY(m)   ((m)[0] | (m)[1])
#ifndef MAX
#define MAX(a, b)                                                              \
    (((integers)(a) & ((a) > (b))) | ((integers)(b) & ~((a) > (b))))
#endif
#include "solver/smo/smo_sweep.h"

struct smo_sweep {
    double (*update)(size_t count, double t, const void *row_i,
                     const void *row_j, enum klr_precision precision, double *s,
                     const unsigned char *side);
    double (*gain)(const struct smo_pick *pick, size_t count, const void *row,
                   enum klr_precision precision, const double *s,
                   const double *hessian, const unsigned char *side,
                   double *least);
    size_t (*violator)(const struct smo_bounds *bounds, size_t count,
                       const double *s, const unsigned char *side);
};

static struct smo_sweep smo_sweeps(const struct smo *smo)
{
#if defined __x86_64__
    if (smo->cpu >= KLR_CPU_AVX2)
        return (struct smo_sweep){sweep_update_avx2, sweep_gain_avx2,
                                  sweep_violator_avx2};
#endif
    (void)smo;
    return (struct smo_sweep){sweep_update_portable, sweep_gain_portable,
                              sweep_violator_portable};
}

static size_t smo_first(const struct smo *smo)
{
    size_t best = smo->n;
    double largest = -INFINITY;
    for (size_t k = 0; k < smo->active; k++)
        if ((smo->side[k] & SMO_CAN_RISE) && smo->s[k] > largest) {
            largest = smo->s[k];
            best = k;
        }
    return best;
}

/* ---- shares of the examples in work ---- */

/* The largest value that a part has, and which part it is. */
struct smo_found {
    double most, least;
    size_t part;
};

struct smo_scan {
    const struct smo *smo;
    struct smo_sweep sweep;
    double t;                    /* of the update */
    const struct smo_pick *pick; /* of the choice; NULL: it is the update */
    const char *row_i, *row_j;
    struct klr_shares shares;
    struct smo_found *found; /* (shares) */
};

static struct smo_found scan_none(const struct smo_scan *scan)
{
    return (struct smo_found){scan->pick ? 0 : -INFINITY, INFINITY,
                              scan->smo->active};
}

static double scan_part(const struct smo_scan *scan, size_t k, size_t count,
                        double *least)
{
    const struct smo *smo = scan->smo;
    size_t at = k * smo_element(smo);
    if (scan->pick)
        return scan->sweep.gain(
            scan->pick, count, scan->row_i ? scan->row_i + at : NULL,
            smo->precision, smo->s + k, smo->hessian + k, smo->side + k, least);
    return scan->sweep.update(count, scan->t, scan->row_i + at,
                              scan->row_j + at, smo->precision, smo->s + k,
                              smo->side + k);
}

static void share_task(void *context, size_t task, size_t thread)
{
    struct smo_scan *scan = context;
    size_t begin, end = klr_share(scan->shares, task, &begin);
    struct smo_found found = scan_none(scan);
    for (size_t k = begin; k < end; k += SMO_PART) {
        size_t count = end - k < SMO_PART ? end - k : SMO_PART;
        double here = scan_part(scan, k, count, &found.least);
        if (here > found.most) {
            found.most = here;
            found.part = k;
        }
    }
    scan->found[task] = found;
    (void)thread;
}

/* All shares. Of equal ones the first is found. */
static struct smo_found scan_run(struct smo_scan *scan)
{
    size_t n = scan->smo->active;
    struct smo_found found[SMO_SHARES];
    scan->found = found;
    scan->shares = klr_shares_of(n, SMO_SHARE, SMO_SHARES);
    size_t shares = scan->shares.count;
    struct klr_pool *pool = scan->smo->problem->op->pool;
    klr_pool_run_all(n < SMO_SHARED ? NULL : pool, shares, share_task, scan);
    struct smo_found all = scan_none(scan);
    for (size_t task = 0; task < shares; task++) {
        const struct smo_found *more = &scan->found[task];
        double least = fmin(all.least, more->least);
        all = more->most > all.most ? *more : all;
        all.least = least;
    }
    return all;
}

static size_t smo_update(struct smo *smo, double t, const void *row_i,
                         const void *row_j)
{
    struct smo_scan scan = {.smo = smo,
                            .sweep = smo_sweeps(smo),
                            .t = t,
                            .row_i = row_i,
                            .row_j = row_j};
    struct smo_found found = scan_run(&scan);
    size_t n = smo->active, best = found.part;
    while (best < n &&
           !((smo->side[best] & SMO_CAN_RISE) && smo->s[best] == found.most))
        best++;
    return best < n ? best : smo->n;
}

static void smo_subtract(const struct smo *smo, double t, const void *row_i,
                         double *s)
{
    smo_sweeps(smo).update(smo->n, t, row_i, smo->zero, smo->precision, s,
                           smo->side);
}

static size_t smo_second(const struct smo *smo, size_t i, const void *row,
                         double *least)
{
    struct smo_pick pick = {0, 0, 0.5 * smo->eps};
    if (i < smo->n)
        pick = (struct smo_pick){smo->s[i], smo->hessian[i], smo->eps};
    struct smo_scan scan = {
        .smo = smo, .sweep = smo_sweeps(smo), .pick = &pick, .row_i = row};
    struct smo_found found = scan_run(&scan);
    size_t n = smo->active, best = found.part;
    *least = found.least;
    while (best < n && !((smo->side[best] & SMO_CAN_FALL) &&
                         smo_gain(&pick, smo->s[best], smo->hessian[best], row,
                                  smo->precision, best) == found.most))
        best++;
    return best < n ? best : smo->n;
}

static size_t smo_violator(const struct smo *smo, size_t begin, size_t end,
                           const struct smo_bounds *bounds, int *sides)
{
    size_t k =
        begin + smo_sweeps(smo).violator(bounds, end - begin, smo->s + begin,
                                         smo->side + begin);
    *sides = k < end ? smo_side_beyond(bounds, smo->s[k], smo->side[k]) : 0;
    return k;
}

static void smo_extremes(const struct smo *smo, double *most, double *least)
{
    *most = -INFINITY;
    *least = INFINITY;
    for (size_t k = 0; k < smo->active; k++) {
        if (smo->side[k] & SMO_CAN_RISE)
            *most = fmax(*most, smo->s[k]);
        if (smo->side[k] & SMO_CAN_FALL)
            *least = fmin(*least, smo->s[k]);
    }
    if (smo->single) {
        *most = fmax(*most, -*least);
        *least = -*most;
    }
}
