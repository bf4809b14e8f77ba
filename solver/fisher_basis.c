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
 * Of q_k are kept U_k = D W q_k, by bands of columns; the means of both
 * classes; and the coefficients, A_k, which reach as far as the kernel that
 * came with it. Since U_k has the sum 0 in each class, U'k is what (D W q)'W k
 * is. A candidate k_j is judged by the formulas of Gram & Schmidt,
 *
 *   l = U'k_j + C q(x_j)             the second term for R = K alone
 *   residual = (k_j, k_j) - l'l,     gradient = mean+ k_j - mean- k_j - l'z
 *
 * and S would grow by gradient^2 / residual; one that is taken is
 * orthogonalised twice. Rows are divided into groups by n alone, and sums over
 * them are added in order: no bit depends on threads.
 */
#include "solver/internal.h"

#include "solver/fisher_basis.h"

enum {
    BASIS_GROUPS = 16, /* of rows, at most, */
    BASIS_ROWS = 512,  /* of so many, at least */
    BASIS_STRIP = 64   /* rows that stay in the nearer caches */
};

static size_t basis_rows(size_t n)
{
    size_t rows = (n + BASIS_GROUPS - 1) / BASIS_GROUPS;
    return rows < BASIS_ROWS ? BASIS_ROWS : rows;
}

static size_t basis_groups(size_t n)
{
    return (n + basis_rows(n) - 1) / basis_rows(n);
}

/* Class 0 is the positive one. */
static size_t basis_class(const struct basis *basis, size_t i)
{
    return basis->problem->y[i] < 0;
}

/* ---- memory ---- */

static void basis_create(struct basis *basis, const struct binary *problem,
                         double penalty, const double *ridge)
{
    *basis = (struct basis){
        .problem = problem,
        .penalty = penalty,
        .ridge = ridge,
        .kernel = problem->params->regularizer == KLR_REGULARIZER_KERNEL,
    };
    for (size_t i = 0; i < problem->n; i++)
        basis->total[basis_class(basis, i)] += problem->weight[i];
}

static void basis_free(struct basis *basis)
{
    for (size_t t = 0; t < basis->bands; t++)
        klr_free(basis->band[t]);
    klr_free(basis->band);
    klr_free(basis->part);
    klr_free(basis->line);
    klr_free(basis->coef);
}

static double basis_bytes(const struct basis *basis)
{
    double wide = (double)((basis->bands + 1) * KLR_BAND);
    double groups = (double)basis_groups(basis->problem->n);
    double rows = (double)basis->problem->n + wide / 2 + groups * KLR_BAND;
    return rows * wide * sizeof(double);
}

/* Room for one more function. */
static int basis_grow(struct basis *basis, struct klr_error *err)
{
    size_t m = basis->count, wide = (basis->bands + 1) * KLR_BAND;
    void *grown;
    if (m < basis->bands * KLR_BAND)
        return 0;
    grown = klr_grow(basis->part, &basis->part_room, wide, sizeof *basis->part,
                     err);
    if (!grown)
        return KLR_E_MEMORY;
    basis->part = grown;
    grown = klr_grow(basis->line, &basis->line_room, 2 * wide,
                     sizeof *basis->line, err);
    if (!grown)
        return KLR_E_MEMORY;
    basis->line = grown;
    grown = klr_grow(basis->coef, &basis->coef_room, wide * (wide + 1) / 2,
                     sizeof *basis->coef, err);
    if (!grown)
        return KLR_E_MEMORY;
    basis->coef = grown;
    grown = klr_grow(basis->band, &basis->band_room, basis->bands + 1,
                     sizeof *basis->band, err);
    if (!grown)
        return KLR_E_MEMORY;
    basis->band = grown;
    basis->band[basis->bands] =
        klr_zalloc(basis->problem->n * KLR_BAND, sizeof(double), err);
    if (!basis->band[basis->bands])
        return KLR_E_MEMORY;
    basis->bands++;
    return 0;
}

/* Less of a kernel's norm is rounding. */
static bool basis_adds(double residual, double norm)
{
    return residual > 1e-11 * norm;
}

/* ---- candidates ---- */

static int candidates_create(struct candidates *c, const struct binary *problem,
                             struct klr_error *err)
{
    size_t n = problem->n;
    c->op = problem->op;
    c->set = problem->set;
    c->n = n;
    c->groups = basis_groups(n);
    if (!(c->row = klr_alloc(n * KLR_BAND, sizeof *c->row, err)) ||
        !(c->column = klr_alloc(n * KLR_BAND, sizeof *c->column, err)) ||
        !(c->moment = klr_alloc(c->groups, sizeof *c->moment, err)))
        return KLR_E_MEMORY;
    return 0;
}

static void candidates_free(struct candidates *c)
{
    klr_free(c->row);
    klr_free(c->column);
    klr_free(c->moment);
    klr_free(c->product);
}

static double candidates_bytes(size_t n)
{
    return 2.0 * KLR_BAND * sizeof(double) * (double)n;
}

/* Moments are formed of what is left without the mean of all rows. */
static void candidates_shift(void *context, size_t q, size_t thread)
{
    struct candidates *c = context;
    const double *row = c->row + q * c->n;
    double sum = 0;
    (void)thread;
    for (size_t i = 0; i < c->n; i++)
        sum += row[i];
    c->shift[q] = sum / (double)c->n;
}

/* Candidates `first` .. first + used - 1 of the rows become columns. */
static void candidates_turn(void *context, size_t group, size_t thread)
{
    const struct candidates *c = context;
    size_t rows = basis_rows(c->n), begin = group * rows;
    size_t end = begin + rows < c->n ? begin + rows : c->n;
    (void)thread;
    memset(c->column + begin * KLR_BAND, 0,
           (end - begin) * KLR_BAND * sizeof *c->column);
    for (size_t i = begin; i < end; i++)
        for (size_t q = 0; q < c->used; q++)
            c->column[i * KLR_BAND + q] =
                c->row[(c->first + q) * c->n + i] - c->shift[c->first + q];
}

static void candidates_use(struct candidates *c, size_t first, size_t used)
{
    c->first = first;
    c->used = used;
    klr_pool_run(c->op->pool, c->groups, candidates_turn, c);
}

static void candidates_load(struct candidates *c, const size_t *index,
                            size_t count)
{
    size_t position[KLR_BAND];
    c->count = count;
    for (size_t q = 0; q < count; q++) {
        c->index[q] = index[q];
        position[q] = set_position(c->set, index[q]);
    }
    operator_rows(c->op, position, count, c->set, KLR_DOUBLE, c->row, c->n);
    klr_pool_run(c->op->pool, count, candidates_shift, c);
}

/* ---- judging candidates ---- */

struct judging {
    const struct basis *basis;
    const struct candidates *c;
    const struct klr_dense *dense;
};

static void judging_moments(const struct judging *j, size_t begin, size_t end,
                            struct moment *moment)
{
    const struct binary *problem = j->basis->problem;
    memset(moment, 0, sizeof *moment);
    for (size_t i = begin; i < end; i++) {
        const double *restrict x = j->c->column + i * KLR_BAND;
        double *restrict sum = moment->sum[basis_class(j->basis, i)];
        double *restrict square = moment->square, w = problem->weight[i];
        for (size_t q = 0; q < KLR_BAND; q++) {
            double wx = w * x[q];
            sum[q] += wx;
            square[q] += wx * x[q];
        }
    }
}

/* Sums over a group of rows: U'k of a band, or behind the last one moments. */
static void judging_turn(void *context, size_t index, size_t thread)
{
    const struct judging *j = context;
    const struct candidates *c = j->c;
    size_t bands = j->basis->bands, n = c->n;
    size_t group = index / (bands + 1), t = index % (bands + 1);
    size_t begin = group * basis_rows(n), end = begin + basis_rows(n);
    (void)thread;
    if (end > n)
        end = n;
    if (t == bands) {
        judging_moments(j, begin, end, &c->moment[group]);
        return;
    }
    size_t left = j->basis->count - t * KLR_BAND;
    j->dense->gram(end - begin, j->basis->band[t] + begin * KLR_BAND,
                   c->column + begin * KLR_BAND, KLR_DOUBLE, KLR_BAND,
                   left < KLR_BAND ? left : KLR_BAND, c->used,
                   c->product + (group * bands + t) * KLR_BAND * KLR_BAND);
}

/* The sums of all groups come to the first. */
static void judging_add(const struct judging *j)
{
    const struct candidates *c = j->c;
    size_t size = j->basis->bands * KLR_BAND * KLR_BAND;
    double *moment = (double *)c->moment;
    for (size_t g = 1; g < c->groups; g++) {
        const double *from = c->product + g * size;
        for (size_t k = 0; k < size; k++)
            c->product[k] += from[k];
        from = (const double *)&c->moment[g];
        for (size_t k = 0; k < sizeof *c->moment / sizeof *moment; k++)
            moment[k] += from[k];
    }
}

/* The value of q_k at x_i. */
static double basis_value(const struct basis *basis, size_t k, size_t i)
{
    double u = basis->band[k / KLR_BAND][i * KLR_BAND + k % KLR_BAND];
    return u / basis->problem->weight[i] +
           basis->part[k].mean[basis_class(basis, i)];
}

static void judging_one(const struct judging *j, size_t q,
                        struct judgement *judgement)
{
    const struct basis *basis = j->basis;
    const struct moment *moment = j->c->moment;
    size_t i = j->c->index[j->c->first + q];
    double mean[2], norm = moment->square[q];
    for (size_t side = 0; side < 2; side++) {
        mean[side] = moment->sum[side][q] / basis->total[side];
        norm -= mean[side] * moment->sum[side][q];
    }
    norm = fmax(norm, 0) + basis->ridge[i];
    double residual = norm, gradient = mean[0] - mean[1];
    double *line = j->c->product + q;
    for (size_t k = 0; k < basis->count; k++, line += KLR_BAND) {
        if (basis->kernel)
            *line += basis->penalty * basis_value(basis, k, i);
        residual -= *line * *line;
        gradient -= *line * basis->part[k].z;
    }
    *judgement = (struct judgement){
        .norm = norm, .residual = residual, .gradient = gradient};
}

static int basis_judge(const struct basis *basis, struct candidates *c,
                       struct judgement *judgement, struct klr_error *err)
{
    struct judging j = {basis, c, klr_dense()};
    size_t size = c->groups * basis->bands * KLR_BAND * KLR_BAND;
    double *product =
        klr_grow(c->product, &c->product_room, size, sizeof *product, err);
    if (!product)
        return KLR_E_MEMORY;
    c->product = product;
    klr_pool_run(c->op->pool, c->groups * (basis->bands + 1), judging_turn, &j);
    judging_add(&j);
    for (size_t q = 0; q < c->used; q++)
        judging_one(&j, q, &judgement[q]);
    return 0;
}

/* ---- taking one ---- */

static void basis_remember(struct basis *basis, const struct candidates *c,
                           size_t q, double *column)
{
    for (size_t k = 0; k < basis->count; k++)
        basis->line[k] = c->product[k * KLR_BAND + q];
    memcpy(column, c->row + (c->first + q) * c->n, c->n * sizeof *column);
}

/* u less U l, and U'(u / w) of what is left, over groups of rows. */
struct reduction {
    const struct basis *basis;
    const double *line; /* l, zeros behind it */
    double *u;
    double *partial; /* (groups, bands * KLR_BAND + 1): U'(u / w), then
                        u'(u / w) */
};

static void reduction_subtract(size_t rows, const double *band,
                               const double *line, double *u)
{
    for (size_t i = 0; i < rows; i++, band += KLR_BAND) {
        double sum[8] = {0};
        for (size_t k = 0; k < KLR_BAND; k += 8)
            for (size_t p = 0; p < 8; p++)
                sum[p] += band[k + p] * line[k + p];
        u[i] -= ((sum[0] + sum[1]) + (sum[2] + sum[3])) +
                ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    }
}

static void reduction_project(size_t rows, const double *band, const double *u,
                              const double *weight, double *restrict out)
{
    for (size_t i = 0; i < rows; i++, band += KLR_BAND) {
        double f = u[i] / weight[i];
        for (size_t k = 0; k < KLR_BAND; k++)
            out[k] += f * band[k];
    }
}

static void reduction_turn(void *context, size_t group, size_t thread)
{
    const struct reduction *r = context;
    const struct basis *basis = r->basis;
    const double *weight = basis->problem->weight;
    size_t n = basis->problem->n, bands = basis->bands;
    size_t begin = group * basis_rows(n), end = begin + basis_rows(n), rows;
    double *out = r->partial + group * (bands * KLR_BAND + 1);
    (void)thread;
    memset(out, 0, (bands * KLR_BAND + 1) * sizeof *out);
    end = end < n ? end : n;
    for (size_t i = begin; i < end; i += rows) {
        rows = end - i < BASIS_STRIP ? end - i : BASIS_STRIP;
        for (size_t t = 0; t < bands; t++)
            reduction_subtract(rows, basis->band[t] + i * KLR_BAND,
                               r->line + t * KLR_BAND, r->u + i);
        for (size_t t = 0; t < bands; t++)
            reduction_project(rows, basis->band[t] + i * KLR_BAND, r->u + i,
                              weight + i, out + t * KLR_BAND);
        for (size_t k = i; k < i + rows; k++)
            out[bands * KLR_BAND] += r->u[k] * r->u[k] / weight[k];
    }
}

/* u -= U l; partial [0..count) = U'(u / w); returns u'(u / w). */
static double basis_reduce(const struct basis *basis, double *u,
                           const double *line, double *partial)
{
    struct reduction r = {basis, line, u, partial};
    size_t width = basis->bands * KLR_BAND, n = basis->problem->n;
    klr_pool_run(basis->problem->op->pool, basis_groups(n), reduction_turn, &r);
    for (size_t g = 1; g < basis_groups(n); g++)
        for (size_t k = 0; k <= width; k++)
            partial[k] += partial[g * (width + 1) + k];
    return partial[width];
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

/* The second line: what the inner products with the basis still are. */
static void basis_again(const struct basis *basis, const double *u,
                        const double *coef, const double *mean, size_t last,
                        const double *partial, double *line)
{
    size_t m = basis->count;
    for (size_t i = 0; i < m; i++)
        line[i] = basis_penalised(basis, u, coef, mean, i, last);
    for (size_t k = m; k-- > 0;) {
        const double *a = basis_coefs(basis, k);
        double sum = 0;
        for (size_t i = 0; i <= k; i++)
            sum += a[i] * line[i];
        line[k] = partial[k] + basis->penalty * sum;
    }
}

/* u = D W k, and the means that W took away. */
static void basis_centre(const struct basis *basis, double *u, double *mean)
{
    const struct binary *problem = basis->problem;
    mean[0] = mean[1] = 0;
    for (size_t i = 0; i < problem->n; i++)
        mean[basis_class(basis, i)] += problem->weight[i] * u[i];
    mean[0] /= basis->total[0];
    mean[1] /= basis->total[1];
    for (size_t i = 0; i < problem->n; i++)
        u[i] = problem->weight[i] * (u[i] - mean[basis_class(basis, i)]);
}

/* The new function is u and coef over the root of its norm. */
static void basis_append(struct basis *basis, double *u, double *coef,
                         const double *mean, size_t kernel, double norm)
{
    size_t m = basis->count, n = basis->problem->n;
    double f = 1 / sqrt(norm), *band = basis->band[m / KLR_BAND];
    struct basis_part *part = &basis->part[m];
    for (size_t i = 0; i < n; i++)
        band[i * KLR_BAND + m % KLR_BAND] = u[i] *= f;
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

static int basis_take(struct basis *basis, struct candidates *c, size_t kernel,
                      double *u, double norm, bool *taken,
                      struct klr_error *err)
{
    size_t m = basis->count, wide;
    double mean[2], *line, *again, *coef, *partial;
    int code = basis_grow(basis, err);
    if (code)
        return code;
    wide = basis->bands * KLR_BAND;
    partial = klr_grow(c->product, &c->product_room, c->groups * (wide + 1),
                       sizeof *partial, err);
    if (!partial)
        return KLR_E_MEMORY;
    c->product = partial;
    line = basis->line;
    again = line + wide;
    coef = basis_coefs(basis, m);
    memset(line + m, 0, (wide - m) * sizeof *line);
    memset(again, 0, wide * sizeof *again);
    memset(coef, 0, m * sizeof *coef);
    coef[m] = 1;
    basis_centre(basis, u, mean);
    basis_reduce(basis, u, line, partial);
    basis_combine(basis, line, coef, mean);
    basis_again(basis, u, coef, mean, kernel, partial, again);
    double left = basis_reduce(basis, u, again, partial);
    basis_combine(basis, again, coef, mean);
    for (size_t i = 0; i <= m; i++)
        left += basis->penalty * coef[i] *
                basis_penalised(basis, u, coef, mean, i, kernel);
    *taken = basis_adds(left, norm);
    if (*taken)
        basis_append(basis, u, coef, mean, kernel, left);
    return 0;
}

static void basis_downdate(const struct basis *basis, size_t i, double l,
                           struct judgement *judgement)
{
    size_t last = basis->count - 1;
    if (basis->kernel)
        l += basis->penalty * basis_value(basis, last, i);
    judgement->residual -= l * l;
    judgement->gradient -= l * basis->part[last].z;
}

/* ---- the discriminant ---- */

/* f = sum_k z_k U_k */
static void basis_sum(const struct basis *basis, double *f)
{
    size_t n = basis->problem->n;
    memset(f, 0, n * sizeof *f);
    for (size_t k = 0; k < basis->count; k++) {
        const double *u = basis->band[k / KLR_BAND] + k % KLR_BAND;
        for (size_t i = 0; i < n; i++)
            f[i] += basis->part[k].z * u[i * KLR_BAND];
    }
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
