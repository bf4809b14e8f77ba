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
 * orthogonalised, and what the other functions find in the rest is subtracted,
 * too: of the first line, which may be known from a judgement by floats,
 * rounding leaves too much.
 *
 * U is the sum of two floats: both make some 48 bits, for what is taken; the
 * higher one serves candidates.
 */
#include "solver/fisher/fisher_basis.h"

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

static void basis_create(struct basis *basis,
                         const struct binary_problem *problem, double penalty,
                         const double *ridge, bool recalls)
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
    klr_free(basis->pending_correction);
    klr_free(basis->coef);
}

static double basis_bytes(const struct basis *basis)
{
    double wide = (double)((basis->bands + 1) * KLR_BAND);
    double groups = (double)scan_groups(basis->problem->n);
    double rows = (double)basis->width + wide / 2 + groups * CANDIDATES;
    rows += basis->recalls ? (double)basis->problem->n / 2 : 0;
    return rows * wide * sizeof(double);
}

static int basis_grow(struct basis *basis, struct klr_error *err)
{
    size_t bands = basis->bands + 1, wide = bands * KLR_BAND;
    if (basis->count < basis->bands * KLR_BAND)
        return 0;
    if (KLR_GROW(basis->part, basis->part_room, wide, err) ||
        KLR_GROW(basis->line, basis->line_room, wide, err) ||
        KLR_GROW(basis->pending_correction, basis->pending_room, wide, err) ||
        KLR_GROW(basis->coef, basis->coef_room, wide * (wide + 1) / 2, err) ||
        KLR_GROW(basis->band, basis->band_room, bands, err) ||
        KLR_GROW(basis->met, basis->met_room, bands, err))
        return KLR_E_MEMORY;
    float *band = klr_zalloc(2 * KLR_BAND * basis->width, sizeof(float), err);
    float *met = klr_alloc(basis->recalls ? KLR_BAND * basis->problem->n : 0,
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

/* l of the last function, which is rough, from that of what becomes it. */
static double basis_smoothed(const struct basis *basis, size_t kernel, double l)
{
    for (size_t k = 0; k + 1 < basis->count; k++)
        l +=
            basis->pending_correction[k] * (double)*basis_met(basis, kernel, k);
    return basis->scale * l;
}

static void judgement_meet(const struct basis *basis, size_t kernel, size_t k,
                           double l, struct judgement *j)
{
    if (basis->kernel)
        l += basis->penalty * basis_value(basis, k, kernel);
    if (basis->pending && k + 1 == basis->count)
        l = basis_smoothed(basis, kernel, l);
    if (basis->recalls)
        *basis_met(basis, kernel, k) = (float)l;
    j->residual -= l * l;
    j->gradient -= l * basis->part[k].z;
    j->count = k + 1;
}

static int basis_judge_exact(struct scan *s, size_t q, size_t kernel,
                             struct judgement *judgement, struct klr_error *err)
{
    const struct basis *basis = s->basis;
    int code = scan_grow(s, err);
    if (code)
        return code;
    scan_kernel(s, q, kernel);
    *judgement = (struct judgement){.norm = s->norm,
                                    .residual = s->norm,
                                    .gradient = s->mean[0] - s->mean[1],
                                    .known = true,
                                    .exact = true};
    if (basis->count > 0 && !scan_all(&s, 1, s->c->op->pool))
        return 0;
    for (size_t k = 0; k < basis->count; k++)
        judgement_meet(basis, kernel, k, s->sum[k], judgement);
    s->row = NULL;
    return 0;
}

/* The column of A that reaches as far as kernel k. */
static double *basis_coefs(const struct basis *basis, size_t k)
{
    return basis->coef + k * (k + 1) / 2;
}

/* coef (count + 1) += A line, and the means of the function with it. */
static void basis_combine(const struct basis *basis, const double *line,
                          double *coef, double *mean)
{
    for (size_t k = 0; k < basis->count; k++) {
        const double *a = basis_coefs(basis, k);
        for (size_t i = 0; i <= k; i++)
            coef[i] += line[k] * a[i];
        mean[0] += line[k] * basis->part[k].mean[0];
        mean[1] += line[k] * basis->part[k].mean[1];
    }
}

/* line = -(work + C A'line): less the products of a function with those of the
 * basis, for work = U'(u / w) and line = R a. */
static void basis_products(const struct basis *basis, const double *work,
                           double *line)
{
    for (size_t k = basis->count; k-- > 0;) {
        const double *a = basis_coefs(basis, k);
        double sum = 0;
        for (size_t i = 0; i <= k; i++)
            sum += a[i] * line[i];
        line[k] = -(work[k] + basis->penalty * sum);
    }
}

/* The norm of the rest of a kernel, after subtracting its line. */
static double basis_left(const struct basis *basis, const double *line,
                         double norm)
{
    for (size_t k = 0; k < basis->count; k++)
        norm -= line[k] * line[k];
    return norm;
}

/* line = -l of a kernel that was judged by floats; false where it is not kept,
 * or too coarse. */
static bool basis_recall(const struct basis *basis, size_t kernel, double norm)
{
    for (size_t k = 0; k < basis->count && basis->recalls; k++)
        basis->line[k] = -(double)*basis_met(basis, kernel, k);
    return basis->count == 0 ||
           (basis->recalls &&
            basis_left(basis, basis->line, norm) > 1e-4 * norm);
}

/* The kernel and its line over the root of what the line leaves, lest floats
 * overflow. */
static void basis_scale(struct scan *s)
{
    double left = basis_left(s->basis, s->basis->line, s->norm);
    s->scale = 1 / sqrt(fmax(left, 1e-12 * s->norm));
    s->joins = true;
    for (size_t k = 0; k < s->basis->count; k++)
        s->basis->line[k] *= s->scale;
}

static bool basis_begin(struct scan *s)
{
    if (!basis_recall(s->basis, s->kernel, s->norm))
        return false;
    basis_scale(s);
    return true;
}

static void basis_begin_exact(struct scan *s)
{
    const struct basis *basis = s->basis;
    for (size_t k = 0; k < basis->count; k++)
        basis->line[k] = basis->kernel ? s->row[basis->part[k].kernel] : 0;
    basis_products(basis, s->sum, basis->line);
    basis_scale(s);
}

/* For the rest of the kernel, that is the function a with the coefficients coef
 * (count + 1): put R a (count) into `rest`, and return C a'R a. */
static double basis_penalised(const struct basis *basis, const double *coef)
{
    size_t m = basis->count;
    double sum = 0;
    for (size_t i = 0; i <= m; i++) {
        double value = basis->kernel
                           ? basis_value(basis, m, basis->part[i].kernel)
                           : coef[i];
        sum += coef[i] * value;
        if (i < m)
            basis->pending_correction[i] = value;
    }
    return basis->penalty * sum;
}

static bool basis_join(struct scan *s)
{
    struct basis *basis = s->basis;
    size_t m = basis->count;
    struct basis_part *part = &basis->part[m];
    double *coef = basis_coefs(basis, m), *mean = basis->smooth;
    *part = (struct basis_part){
        .kernel = s->kernel,
        .mean = {s->scale * s->mean[0], s->scale * s->mean[1]},
    };
    memset(coef, 0, m * sizeof *coef);
    coef[m] = s->scale;
    basis_combine(basis, basis->line, coef, part->mean);
    double left =
        s->sum[basis->bands * KLR_BAND] + basis_penalised(basis, coef);
    basis_products(basis, s->sum, basis->pending_correction);
    left = basis_left(basis, basis->pending_correction, left);
    if (!basis_adds(left, s->scale * s->scale * s->norm))
        return false;
    memcpy(mean, part->mean, sizeof part->mean);
    basis_combine(basis, basis->pending_correction, coef, mean);
    basis->scale = 1 / sqrt(left);
    for (size_t i = 0; i <= m; i++)
        coef[i] *= basis->scale;
    mean[0] *= basis->scale;
    mean[1] *= basis->scale;
    part->z = mean[0] - mean[1];
    basis->sum += part->z * part->z;
    basis->pending = true;
    basis->count++;
    return true;
}

static void basis_drop(struct basis *basis)
{
    if (!basis->pending)
        return;
    double z = basis->part[--basis->count].z;
    basis->sum = basis->count > 0 ? basis->sum - z * z : 0;
    basis->pending = false;
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
    const struct binary_problem *problem = basis->problem;
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
