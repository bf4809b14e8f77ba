/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Eigenvalues at the ends of the spectrum of K, by Lanczos iterations with
 * float entries (Golub & Van Loan, Matrix Computations, chapter 9). Copies of
 * eigenvalues, which appear as orthogonality is lost, do not change the
 * extremes.
 */
#include "solver/matrix/matrix.h"

/* ---- K ---- */

static void lanczos_centre(size_t n, double *v)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++)
        mean += v[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        v[i] -= mean;
}

/* One step: w = A q - e before, A being K or P K P; its diagonal into d. False:
 * the clock ended it. */
static bool lanczos_step(struct lanczos *l, size_t step)
{
    size_t n = l->k.set.size;
    if (!operator_apply(l->k.op, l->k.set, l->k.set, l->q, 1, KLR_FLOAT, l->w))
        return false;
    l->d[step] = dot(n, l->q, l->w);
    for (size_t i = 0; i < n; i++)
        l->w[i] -= l->d[step] * l->q[i] +
                   (step > 0 ? l->e[step - 1] * l->before[i] : 0);
    if (l->centred)
        lanczos_centre(n, l->w);
    l->e[step] = sqrt(dot(n, l->w, l->w));
    return true;
}

/* The first vector, whose norm is returned. */
static double lanczos_begin(struct lanczos *l)
{
    size_t n = l->k.set.size;
    uint64_t random = 1;
    for (size_t i = 0; i < n; i++)
        l->w[i] = random_next(&random) >> 63 ? 1 : -1;
    if (l->centred)
        lanczos_centre(n, l->w);
    memset(l->q, 0, n * sizeof *l->q);
    return sqrt(dot(n, l->w, l->w));
}

/* Until the extremes move by less than the tolerance, or a share of the
 * smallest, from one look to the next. */
static struct klr_extremes lanczos(struct lanczos *l)
{
    enum { LOOK = 10 }; /* steps from one look at the extremes to the next */
    size_t n = l->k.set.size;
    struct klr_extremes now = {NAN, NAN}, last;
    double norm = lanczos_begin(l);
    for (size_t k = 0; k < l->steps && l->goes_on(l->context); k++) {
        memcpy(l->before, l->q, n * sizeof *l->q);
        for (size_t i = 0; i < n; i++)
            l->q[i] = l->w[i] / norm;
        l->cut = !lanczos_step(l, k);
        if (l->cut)
            break;
        norm = l->e[k];
        bool invariant = norm <= 1e-3 * l->tolerance;
        if (k % LOOK != 0 && !invariant)
            continue;
        last = now;
        now = tridiagonal_extremes(&(struct tridiagonal){k + 1, l->d, l->e});
        double small = fmax(0.1 * l->tolerance, l->share * fabs(now.least));
        if (invariant || (fabs(now.least - last.least) <= small &&
                          fabs(now.most - last.most) <= l->share * now.most))
            break;
    }
    return now;
}
