/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An orthonormal basis of kernels for one kernel Fisher discriminant: Mika,
 * Smola & Schoelkopf (2001), whose growing inverse of H, section 4.1, loses
 * its digits where a kernel is nearly a combination of others.
 *
 * With D the weights, W the subtraction of the means of both classes, weighted,
 * C = 1/c and R = K or the identity, functions f = sum_i a_i k_i have the inner
 * product
 *
 *   (f, g) = sum_i w_i (W f)_i (W g)_i + C a'R b
 *
 * of which the objective of (3) is 1/2 (f, f): its constraints make the means
 * of f + b equal to y, and W f the errors xi. The basis q_1, q_2 .. is
 * orthonormal; z_k = mean+ q_k - mean- q_k, S = z'z; of the functions of the
 * basis with mean+ f - mean- f = 2 the one of the smallest objective, which is
 * 2 / S, is f = (2 / S) sum_k z_k q_k.
 *
 * Of q_k are kept U_k = D W q_k, the means of both classes, and the
 * coefficients A_k, which reach as far as the kernel that came with it. Since
 * U_k has the sum 0 in each class, U'k is what (D W q)'W k is. A candidate k_j
 * is judged by the formulas of Gram & Schmidt,
 *
 *   l = U'k_j + C q(x_j)             the second term for R = K alone
 *   residual = (k_j, k_j) - l'l,     gradient = mean+ k_j - mean- k_j - l'z
 *
 * and S would grow by gradient^2 / residual; one that is taken is
 * orthogonalised, and once more if little is left of it. Where its l is known
 * from a judgement by floats, that is subtracted, and then what the functions
 * find in the rest: a sweep through U serves both, and half of one the second.
 *
 * U is the sum of two floats: both make some 48 bits, for what is taken; the
 * higher one serves fisher_candidates.c. Examples are divided into groups by n
 * alone, and sums over them are added in order: no bit depends on threads.
 */
#include "solver/internal.h"

#include "solver/fisher_basis.h"

enum {
    BASIS_GROUPS = 16, /* of examples, at most, */
    BASIS_GROUP = 512  /* of so many, at least */
};

static size_t basis_group(size_t n)
{
    size_t size = (n / BASIS_GROUPS / BASIS_STRIP + 1) * BASIS_STRIP;
    return size < BASIS_GROUP ? BASIS_GROUP : size;
}

static size_t basis_groups(size_t n)
{
    return (n + basis_group(n) - 1) / basis_group(n);
}

static size_t basis_width(size_t n)
{
    return (n + BASIS_STRIP - 1) / BASIS_STRIP * BASIS_STRIP;
}

static float *basis_block(const struct basis *basis, size_t t, size_t i)
{
    return basis->band[t] + i / BASIS_STRIP * 2 * BASIS_BLOCK;
}

/* U_k at example i. */
static double basis_entry(const struct basis *basis, size_t k, size_t i)
{
    const float *u = basis_block(basis, k / KLR_BAND, i) +
                     k % KLR_BAND * BASIS_STRIP + i % BASIS_STRIP;
    return (double)u[0] + (double)u[BASIS_BLOCK];
}

static size_t basis_class(const struct basis *basis, size_t i)
{
    return basis->problem->y[i] < 0;
}

/* ---- memory ---- */

static void basis_create(struct basis *basis, const struct binary *problem,
                         double penalty, const double *ridge, bool recalls)
{
    *basis = (struct basis){
        .problem = problem,
        .width = basis_width(problem->n),
        .penalty = penalty,
        .ridge = ridge,
        .recalls = recalls,
        .kernel = problem->params->regularizer == KLR_REGULARIZER_KERNEL,
    };
    for (size_t i = 0; i < problem->n; i++)
        basis->total[basis_class(basis, i)] += problem->weight[i];
}

static void basis_free(struct basis *basis)
{
    for (size_t t = 0; t < basis->bands; t++) {
        klr_free(basis->band[t]);
        klr_free(basis->met[t]);
    }
    klr_free(basis->band);
    klr_free(basis->met);
    klr_free(basis->part);
    klr_free(basis->line);
    klr_free(basis->coef);
}

static double basis_bytes(const struct basis *basis)
{
    double wide = (double)((basis->bands + 1) * KLR_BAND);
    double groups = (double)basis_groups(basis->problem->n);
    double rows = (double)basis->width + wide / 2 + groups * CANDIDATES;
    rows += basis->recalls ? (double)basis->problem->n / 2 : 0;
    return rows * wide * sizeof(double);
}

/* Room for one more function. */
static int basis_grow(struct basis *basis, struct klr_error *err)
{
    size_t wide = (basis->bands + 1) * KLR_BAND, count = wide * (wide + 1) / 2;
    void *part, *line, *coef, *band, *met;
    if (basis->count < basis->bands * KLR_BAND)
        return 0;
    if (!(part = klr_grow(basis->part, &basis->part_room, wide,
                          sizeof *basis->part, err)))
        return KLR_E_MEMORY;
    basis->part = part;
    if (!(line = klr_grow(basis->line, &basis->line_room, wide,
                          sizeof *basis->line, err)))
        return KLR_E_MEMORY;
    basis->line = line;
    if (!(coef = klr_grow(basis->coef, &basis->coef_room, count,
                          sizeof *basis->coef, err)))
        return KLR_E_MEMORY;
    basis->coef = coef;
    if (!(band = klr_grow(basis->band, &basis->band_room, basis->bands + 1,
                          sizeof *basis->band, err)))
        return KLR_E_MEMORY;
    basis->band = band;
    if (!(met = klr_grow(basis->met, &basis->met_room, basis->bands + 1,
                         sizeof *basis->met, err)))
        return KLR_E_MEMORY;
    basis->met = met;
    band = klr_zalloc(2 * KLR_BAND * basis->width, sizeof(float), err);
    met = klr_alloc(basis->recalls ? KLR_BAND * basis->problem->n : 0,
                    sizeof(float), err);
    basis->band[basis->bands] = band;
    basis->met[basis->bands++] = met;
    return band && met ? 0 : KLR_E_MEMORY;
}

/* Less of a kernel's norm is rounding. */
static bool basis_adds(double residual, double norm)
{
    return residual > 1e-11 * norm;
}

/* ---- judging and taking one ---- */

/* l of a kernel and function k. */
static float *basis_met(const struct basis *basis, size_t kernel, size_t k)
{
    return basis->met[k / KLR_BAND] + kernel * KLR_BAND + k % KLR_BAND;
}

/* The value of q_k at x_i. */
static double basis_value(const struct basis *basis, size_t k, size_t i)
{
    return basis_entry(basis, k, i) / basis->problem->weight[i] +
           basis->part[k].mean[basis_class(basis, i)];
}

static void judgement_meet(const struct basis *basis, size_t kernel, size_t k,
                           double l, struct judgement *j)
{
    if (basis->kernel)
        l += basis->penalty * basis_value(basis, k, kernel);
    if (basis->recalls)
        *basis_met(basis, kernel, k) = (float)l;
    j->residual -= l * l;
    j->gradient -= l * basis->part[k].z;
    j->count = k + 1;
}

/* u += U line, over groups of examples, and U'(u / w) of what is left. */
struct reduction {
    const struct basis *basis;
    const struct klr_dense *dense;
    size_t parts;    /* of U that are subtracted, the high one first */
    bool last;       /* the projection is not needed any more */
    double *u;       /* zeros behind its n elements */
    double *partial; /* (groups, bands * KLR_BAND + 1): U'(u / w), u'(u / w) */
};

/* The functions of a band. */
static size_t band_count(const struct basis *basis, size_t t)
{
    size_t begin = t * KLR_BAND;
    size_t left = basis->count > begin ? basis->count - begin : 0;
    return left < KLR_BAND ? left : KLR_BAND;
}

static void reduction_subtract(const struct reduction *r, size_t i)
{
    const struct basis *basis = r->basis;
    for (size_t t = 0; t < basis->bands; t++)
        for (size_t low = 0; low < r->parts; low++)
            r->dense->project(band_count(basis, t), BASIS_STRIP,
                              basis_block(basis, t, i) + low * BASIS_BLOCK,
                              BASIS_STRIP, basis->line + t * KLR_BAND,
                              r->u + i);
}

static void reduction_project(const struct reduction *r, size_t i,
                              const double *v, double *out)
{
    const struct basis *basis = r->basis;
    double sum[KLR_BAND];
    for (size_t t = 0; t < basis->bands; t++)
        for (size_t low = 0; low < 2; low++) {
            size_t rows = band_count(basis, t);
            r->dense->expand(rows, BASIS_STRIP,
                             basis_block(basis, t, i) + low * BASIS_BLOCK,
                             BASIS_STRIP, v, sum);
            for (size_t k = 0; k < rows; k++)
                out[t * KLR_BAND + k] += sum[k];
        }
}

static void reduction_turn(void *context, size_t group, size_t thread)
{
    const struct reduction *r = context;
    const struct binary *problem = r->basis->problem;
    size_t n = problem->n, wide = r->basis->bands * KLR_BAND;
    size_t begin = group * basis_group(n), end = begin + basis_group(n);
    double *out = r->partial + group * (wide + 1), v[BASIS_STRIP];
    (void)thread;
    memset(out, 0, (wide + 1) * sizeof *out);
    for (size_t i = begin; i < end && i < n; i += BASIS_STRIP) {
        reduction_subtract(r, i);
        for (size_t k = 0; k < BASIS_STRIP; k++) {
            v[k] = i + k < n ? r->u[i + k] / problem->weight[i + k] : 0;
            out[wide] += r->u[i + k] * v[k];
        }
        if (!r->last)
            reduction_project(r, i, v, out);
    }
}

/* u += U line, by that many parts of U, the high one first; c->work (count) =
 * U'(u / w) of the new u, unless it is the last one; and u'(u / w) is returned.
 */
static double basis_reduce(const struct basis *basis, struct candidates *c,
                           double *u, size_t parts, bool last)
{
    struct reduction r = {basis, klr_dense(), parts, last, u, c->work};
    size_t wide = basis->bands * KLR_BAND;
    klr_pool_run(c->op->pool, c->groups, reduction_turn, &r);
    for (size_t g = 1; g < c->groups; g++)
        for (size_t k = 0; k <= wide; k++)
            c->work[k] += c->work[g * (wide + 1) + k];
    return c->work[wide];
}

/* u = D W k, and the means that W took away; (W k)'D W k. */
static double basis_centre(const struct basis *basis, const double *row,
                           double *u, double *mean)
{
    const struct binary *problem = basis->problem;
    double norm = 0;
    mean[0] = mean[1] = 0;
    for (size_t i = 0; i < problem->n; i++)
        mean[basis_class(basis, i)] += problem->weight[i] * row[i];
    mean[0] /= basis->total[0];
    mean[1] /= basis->total[1];
    for (size_t i = 0; i < problem->n; i++) {
        double x = row[i] - mean[basis_class(basis, i)];
        u[i] = problem->weight[i] * x;
        norm += u[i] * x;
    }
    return norm;
}

static int basis_judge_exact(const struct basis *basis, struct candidates *c,
                             size_t q, size_t kernel, double *u,
                             struct judgement *judgement, struct klr_error *err)
{
    double mean[2];
    int code =
        candidates_work(c, c->groups * (basis->bands * KLR_BAND + 1), err);
    if (code)
        return code;
    double norm = basis_centre(basis, c->exact + q * c->n, u, mean) +
                  basis->ridge[kernel];
    *judgement = (struct judgement){.norm = norm,
                                    .residual = norm,
                                    .gradient = mean[0] - mean[1],
                                    .known = true,
                                    .exact = true};
    if (basis->count > 0)
        basis_reduce(basis, c, u, 0, false);
    for (size_t k = 0; k < basis->count; k++)
        judgement_meet(basis, kernel, k, c->work[k], judgement);
    return 0;
}

/* The column of A that reaches as far as kernel k. */
static double *basis_coefs(const struct basis *basis, size_t k)
{
    return basis->coef + k * (k + 1) / 2;
}

/* coef (count + 1) -= A l, and the means of the function with it. */
static void basis_combine(const struct basis *basis, const double *line,
                          double *coef, double *mean)
{
    for (size_t k = 0; k < basis->count; k++) {
        const double *a = basis_coefs(basis, k);
        for (size_t i = 0; i <= k; i++)
            coef[i] -= line[k] * a[i];
        mean[0] -= line[k] * basis->part[k].mean[0];
        mean[1] -= line[k] * basis->part[k].mean[1];
    }
}

/* Entry i of R a for the function u of the coefficients a; R = K: its value
 * at the i-th kernel's example, the last one being that of the new kernel. */
static double basis_penalised(const struct basis *basis, const double *u,
                              const double *coef, const double *mean, size_t i,
                              size_t last)
{
    if (!basis->kernel)
        return coef[i];
    size_t at = i < basis->count ? basis->part[i].kernel : last;
    return u[at] / basis->problem->weight[at] + mean[basis_class(basis, at)];
}

/* The line of a function: U'(u / w), in work, and C A'R a. */
static void basis_line(const struct basis *basis, const double *work,
                       const double *u, const double *coef, const double *mean,
                       size_t last)
{
    double *line = basis->line;
    for (size_t i = 0; i < basis->count; i++)
        line[i] = basis_penalised(basis, u, coef, mean, i, last);
    for (size_t k = basis->count; k-- > 0;) {
        const double *a = basis_coefs(basis, k);
        double sum = 0;
        for (size_t i = 0; i <= k; i++)
            sum += a[i] * line[i];
        line[k] = work[k] + basis->penalty * sum;
    }
}

/* The new function is u and coef over the root of its norm. */
static void basis_append(struct basis *basis, double *u, double *coef,
                         const double *mean, size_t kernel, double norm)
{
    size_t m = basis->count;
    struct basis_part *part = &basis->part[m];
    double f = 1 / sqrt(norm);
    for (size_t i = 0; i < basis->problem->n; i++) {
        float *to = basis_block(basis, m / KLR_BAND, i) +
                    m % KLR_BAND * BASIS_STRIP + i % BASIS_STRIP;
        u[i] *= f;
        to[0] = (float)u[i];
        to[BASIS_BLOCK] = (float)(u[i] - (double)to[0]);
    }
    for (size_t i = 0; i <= m; i++)
        coef[i] *= f;
    *part = (struct basis_part){
        .kernel = kernel,
        .z = f * (mean[0] - mean[1]),
        .mean = {f * mean[0], f * mean[1]},
    };
    basis->sum += part->z * part->z;
    basis->count++;
}

/* What the line leaves of the norm. */
static double basis_left(const struct basis *basis, double norm)
{
    for (size_t k = 0; k < basis->count; k++)
        norm -= basis->line[k] * basis->line[k];
    return norm;
}

/* The line of a kernel that was judged by floats; false where it is not kept,
 * or too coarse. */
static bool basis_recall(const struct basis *basis, size_t kernel, double norm)
{
    for (size_t k = 0; k < basis->count && basis->recalls; k++)
        basis->line[k] = (double)*basis_met(basis, kernel, k);
    return basis->recalls && basis_left(basis, norm) > 1e-4 * norm;
}

/* The line of a kernel as it is, and how often it is orthogonalised: where
 * little is left of it, what rounding leaves of the other functions counts for
 * more, and so does what floats leave of them. */
static int basis_begin(const struct basis *basis, struct candidates *c,
                       double *u, const double *coef, const double *mean,
                       size_t kernel, double norm)
{
    if (basis->count == 0)
        return 0;
    if (basis_recall(basis, kernel, norm))
        return 2;
    basis_reduce(basis, c, u, 0, false);
    basis_line(basis, c->work, u, coef, mean, kernel);
    return basis_left(basis, norm) > 1e-2 * norm ? 1 : 2;
}

static int basis_take(struct basis *basis, struct candidates *c, size_t q,
                      size_t kernel, double *u, bool *taken,
                      struct klr_error *err)
{
    size_t m = basis->count;
    int code = basis_grow(basis, err);
    if (!code)
        code =
            candidates_work(c, c->groups * (basis->bands * KLR_BAND + 1), err);
    if (code)
        return code;
    double mean[2], *coef = basis_coefs(basis, m), *line = basis->line;
    double norm = basis_centre(basis, c->exact + q * c->n, u, mean);
    double left = norm;
    norm += basis->ridge[kernel];
    memset(coef, 0, m * sizeof *coef);
    coef[m] = 1;
    int passes = basis_begin(basis, c, u, coef, mean, kernel, norm);
    for (int pass = 1; pass <= passes; pass++) {
        basis_combine(basis, line, coef, mean);
        for (size_t k = 0; k < m; k++)
            line[k] = -line[k];
        /* of what is left the line is small: the high parts do */
        left = basis_reduce(basis, c, u, pass == 1 ? 2 : 1, pass == passes);
        if (pass < passes)
            basis_line(basis, c->work, u, coef, mean, kernel);
    }
    for (size_t i = 0; i <= m; i++)
        left += basis->penalty * coef[i] *
                basis_penalised(basis, u, coef, mean, i, kernel);
    *taken = basis_adds(left, norm);
    if (*taken)
        basis_append(basis, u, coef, mean, kernel, left);
    return 0;
}

/* ---- the discriminant ---- */

/* f = sum_k z_k U_k */
static void basis_sum(const struct basis *basis, double *f)
{
    size_t n = basis->problem->n;
    memset(f, 0, n * sizeof *f);
    for (size_t k = 0; k < basis->count; k++)
        for (size_t i = 0; i < n; i++)
            f[i] += basis->part[k].z * basis_entry(basis, k, i);
}

static void basis_outputs(const struct basis *basis, double *f)
{
    const struct binary *problem = basis->problem;
    double mean[2] = {0, 0};
    basis_sum(basis, f);
    for (size_t k = 0; k < basis->count; k++)
        for (size_t side = 0; side < 2; side++)
            mean[side] += basis->part[k].z * basis->part[k].mean[side];
    for (size_t i = 0; i < problem->n; i++)
        f[i] = f[i] / problem->weight[i] + mean[basis_class(basis, i)];
}

static void basis_dual(const struct basis *basis, double *s)
{
    basis_sum(basis, s);
    for (size_t i = 0; i < basis->problem->n; i++) {
        size_t side = basis_class(basis, i);
        double delta = basis->problem->weight[i] / basis->total[side];
        s[i] = (side == 0 ? delta : -delta) - s[i];
    }
}

static void basis_coefficients(const struct basis *basis, double *beta)
{
    memset(beta, 0, basis->problem->n * sizeof *beta);
    for (size_t k = 0; k < basis->count; k++) {
        const double *a = basis_coefs(basis, k);
        for (size_t i = 0; i <= k; i++)
            beta[basis->part[i].kernel] += basis->part[k].z * a[i];
    }
}
